"""Messages of v0 and v1 that follow one another are read in a row, as the careful reader reads each."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

import kodec
from kodec.generated.log import message_set as legacy
from kodec.log import kernel
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions
from tests.log.wire import log_of

pytestmark = pytest.mark.quick

VALUES = [b"a", b"", b"c" * 20, b"last"]


@pytest.fixture(autouse=True)
def pure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "backend", lambda: "pure")


def carefully(data: bytes, options: ReadOptions) -> Iterator[tuple[legacy.EntryRow, int]]:
    """What `read_entry_rows` should give: entries that are whole, not compressed, and right."""
    pos = 0
    while pos < len(data):
        try:
            entry, pos = legacy.read_entry(data, pos, len(data), options)
        except FormatError:
            return
        message = entry.message
        if message.attributes.compression:
            return
        kind = int(message.attributes.timestamp_type) if message.magic else -1
        assert not isinstance(message.value, legacy.MessageSet)
        yield legacy.EntryRow(entry.offset, message.timestamp, kind, message.key, message.value), pos


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("check_crc", [True, False])
def test_rows_are_what_the_careful_reader_gives(magic: int, check_crc: bool) -> None:
    options = ReadOptions(check_crc=check_crc)
    whole = log_of(magic, "none", VALUES) + log_of(magic, "gzip", VALUES)
    broken = [whole[:at] for at in range(len(whole))]
    for at in range(len(whole)):
        for bit in (0x01, 0x10, 0x80):
            data = bytearray(whole)
            data[at] ^= bit
            broken.append(bytes(data))
    counts = set()
    for data in (whole, *broken):
        found = list(legacy.read_entry_rows(data, 0, len(data), opt=options))
        assert found == list(carefully(data, options))
        counts.add(len(found))
    assert counts >= {0, 1, 2, 3, 4}


def test_rows_end_where_they_are_told_to() -> None:
    data = log_of(1, "none", VALUES)
    ends = [stop for _, stop in legacy.read_entry_rows(data, 0, len(data))]
    assert len(ends) == 4 and ends[-1] == len(data)
    for end in range(len(data)):
        stops = [stop for _, stop in legacy.read_entry_rows(data, 0, end)]
        assert stops == [stop for stop in ends if stop <= end]
    assert [stop for _, stop in legacy.read_entry_rows(data, ends[1], len(data))] == ends[2:]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_over_many_blocks(magic: int) -> None:
    sizes = [0, 10, 1000, 70_000, 10, 65_000, 3, 200_000, 5] + [100] * 2000
    parts = [log_of(magic, "none", [bytes(size)], base=at) for at, size in enumerate(sizes)]
    data = b"".join(parts)
    for source in (data, io.BytesIO(data), io.BufferedReader(Pipe(data))):
        reader = kodec.read_records(source)
        at = 0
        for number, (record, part) in enumerate(zip(reader, parts, strict=True)):
            at += len(part)
            assert (reader.position, record.offset) == (at, number)
        assert reader.torn_tail is None


class Pipe(io.RawIOBase):
    """A file that cannot seek, and gives little at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        return self._data.readinto(buffer[:5000])


def test_a_message_larger_than_allowed_is_refused_after_smaller_ones() -> None:
    data = log_of(1, "none", [b"a", b"b"]) + log_of(1, "none", [bytes(500)], base=2)
    reader = kodec.read_records(data, limits=kodec.Limits(batch_bytes=300))
    assert [next(reader).offset, next(reader).offset] == [0, 1]
    with pytest.raises(kodec.errors.LimitExceeded):
        next(reader)


def test_damage_after_messages_in_a_row_is_told_at_its_place() -> None:
    parts = [log_of(1, "none", [b"%d" % at], base=at) for at in range(10)]
    data = bytearray(b"".join(parts))
    at = len(b"".join(parts[:7]))
    data[at + 20] ^= 1
    reader = kodec.read_records(bytes(data))
    found = []
    with pytest.raises(kodec.errors.CrcMismatch) as caught:
        found.extend(record.offset for record in reader)
    reader = kodec.read_records(bytes(data), on_error="skip")
    assert [record.offset for record in reader] == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    (skipped,) = reader.skipped
    assert (skipped.start, skipped.end) == (at, at + len(parts[7]))
    assert at < (caught.value.at or 0) < at + len(parts[7])
