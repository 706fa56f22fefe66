"""How much of a source is in memory at a time, and what is given where it fails."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tracemalloc
from pathlib import Path

import pytest

import kodec
from kodec.log.reading.source import CHUNK, open_source

BATCH = kodec.encode([kodec.Record(value=bytes(60_000), timestamp=1)])


class Pipe:
    """The same batch again and again, as a pipe gives it."""

    def __init__(self, batches: int) -> None:
        self.left = batches * len(BATCH)
        self.at = 0

    def read(self, size: int = -1) -> bytes:
        size = min(size, self.left)
        twice = BATCH * (size // len(BATCH) + 2)
        data = twice[self.at : self.at + size]
        self.at = (self.at + size) % len(BATCH)
        self.left -= size
        return data


@pytest.mark.parametrize("read", [kodec.read_records, kodec.read_batches], ids=["records", "batches"])
def test_a_stream_takes_no_memory_for_what_was_read(read: object, backend: str) -> None:
    count = 24 * CHUNK // len(BATCH)
    tracemalloc.start()
    try:
        for _ in read(Pipe(count)):  # type: ignore[operator]
            count -= 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 0
    assert peak < 10 * CHUNK  # the window before is kept, too


def test_a_batch_that_is_larger_than_allowed_is_not_read(tmp_path: Path, backend: str) -> None:
    """Not even where the file is that large."""
    data = bytearray(BATCH)
    data[8:12] = struct.pack(">i", 64 * CHUNK)
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(BATCH + data)
        file.truncate(80 * CHUNK)
    tracemalloc.start()
    try:
        with pytest.raises(kodec.errors.LimitExceeded):
            list(kodec.read_records(path, limits=kodec.Limits(batch_bytes=CHUNK)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * CHUNK  # the window before is kept, too


class Failing(io.BytesIO):
    """A file of which only the first bytes can be read; the disk is dying."""

    def __init__(self, data: bytes, good: int) -> None:
        super().__init__(data)
        self.good = good

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        have = self.read(len(view))
        view[: len(have)] = have
        return len(have)

    def read(self, size: int | None = -1) -> bytes:
        left = self.good - self.tell()
        if left <= 0:
            raise OSError(5, "Input/output error")
        wanted = left if size is None or size < 0 else size
        return super().read(min(wanted, left))


class FailingPipe:
    def __init__(self, data: bytes, good: int) -> None:
        self.inner = Failing(data, good)

    def read(self, size: int = -1) -> bytes:
        return self.inner.read(min(size, 1000))


@pytest.mark.parametrize("kind", [Failing, FailingPipe])
def test_what_was_read_before_an_error_is_given_first(kind: type[Failing] | type[FailingPipe]) -> None:
    source = open_source(kind(bytes(range(250)) * 40, 7_000))  # type: ignore[arg-type]
    buffer, start, end = source.window(0, 100)
    assert bytes(buffer[start:end]) == (bytes(range(250)) * 40)[:7_000]
    with pytest.raises(kodec.errors.ReadFailed, match="at byte 7000: Input/output"):
        source.read(7_000, 100)


def test_records_before_an_error_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    small = kodec.encode([kodec.Record(value=b"v", timestamp=1)])
    reader = kodec.read_records(Failing(small * 10, 3 * len(small)))
    found = []
    with pytest.raises(OSError, match="Input/output"):
        for record in reader:
            found.append(record.value)
    assert found == [b"v"] * 3


class _Counting(io.FileIO):
    """A file that shows how many bytes were read of it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self.count += len(data)
        return data


def test_what_was_never_written_is_not_read(tmp_path: Path) -> None:
    """A preallocated file, of which a broker has written little."""
    path, size = tmp_path / "preallocated", 64 << 20
    data = kodec.encode([kodec.Record(value=b"v")] * 100)
    path.write_bytes(data)
    os.truncate(path, size)
    if not hasattr(os, "SEEK_HOLE") or path.stat().st_blocks * 512 >= size:
        pytest.skip("the file system has no holes")
    with _Counting(path) as file:
        reader = kodec.read_records(file)
        assert len(list(reader)) == 100
        tail = reader.torn_tail
        assert tail is not None
        assert (tail.position, tail.size, tail.reason) == (len(data), size - len(data), "zeros")
        assert file.count < 4 << 20
    # a hole with something after it is damage
    with path.open("r+b") as written:
        written.seek(size // 2)
        written.write(b"x")
    with path.open("rb") as buffered:
        for opened in (path, buffered):
            with pytest.raises(kodec.errors.Malformed, match="too small for any batch"):
                list(kodec.read_records(opened))


def test_the_holes_of_a_compressed_file_are_not_those_of_what_is_in_it(tmp_path: Path) -> None:
    data = kodec.encode([kodec.Record(value=b"v")] * 100)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(data + bytes(1 << 20) + b"x"))
    with gzip.open(path) as file, pytest.raises(kodec.errors.Malformed, match="too small for any batch"):
        list(kodec.read_records(file))
