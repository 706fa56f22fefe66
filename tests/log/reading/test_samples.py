"""Logs that other software wrote are read as the rows and batches that they are known to hold."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kodec

pytestmark = pytest.mark.usefixtures("backend")

if TYPE_CHECKING:
    from tests.log.conftest import Sample


UNSEEN = {"brokerRewrote", "lz4HeaderChecksum"}


def row(record: kodec.Record) -> tuple[Any, ...]:
    kind = str(record.timestamp_type)
    return (record.offset, record.timestamp, kind, record.key, record.value, record.headers)


def rows(source: Any, **options: Any) -> list[tuple[Any, ...]]:
    reader = kodec.read_records(source, **options)
    found = [row(record) for record in reader]
    assert reader.torn_tail is None
    assert reader.skipped == []
    return found


class Pipe(io.RawIOBase):
    """A stream that cannot seek and gives a few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self._rest, self._step = io.BytesIO(data), step

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._rest.read(min(size, self._step) if size >= 0 else self._step)


class Sluggish(io.BytesIO):
    """A file that can seek and gives fewer bytes than it is asked for."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size, 100) if size is not None and size >= 0 else 100)


def test_there_are_twenty(samples: list[Sample]) -> None:
    assert len(samples) == 20
    assert sum(len(sample.rows) for sample in samples) == 893


@pytest.mark.parametrize("check_crc", [True, False])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_records_are_the_expected_rows(sample: Sample, check_crc: bool, on_error: str) -> None:
    assert rows(sample.data, check_crc=check_crc, on_error=on_error) == sample.rows


def test_batches_are_as_described(sample: Sample) -> None:
    reader = kodec.read_batches(sample.path)
    found = list(reader)
    assert reader.torn_tail is None and reader.position == len(sample.data)
    assert len(found) == len(sample.batches)
    for batch, facts in zip(found, sample.batches, strict=True):
        mine = {
            "position": batch.position,
            "size": batch.size,
            "magic": batch.magic,
            "codec": batch.codec,
            "attributes": batch.attributes,
            "leaderEpoch": batch.partition_leader_epoch,
            "baseOffset": batch.base_offset,
            "lastOffset": batch.last_offset,
            "lastOffsetDelta": batch.last_offset - batch.base_offset,
            "baseTimestamp": batch.base_timestamp,
            "maxTimestamp": batch.max_timestamp,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "baseSequence": batch.base_sequence,
            "count": batch.count,
            "offset": batch.last_offset,
        }
        # what the capture changed, and a fact of the LZ4 frame, are not shown
        facts = {name: value for name, value in facts.items() if name not in UNSEEN}
        if "innerOffsets" in facts:
            mine["innerOffsets"] = [record.offset for record in batch.records()][: len(facts["innerOffsets"])]
        assert facts.keys() <= mine.keys()
        assert {name: mine[name] for name in facts} == facts
        assert batch.crc_ok
        assert batch.data == sample.data[batch.position : batch.position + batch.size]
        assert batch.next_offset == batch.last_offset + 1
        assert len(batch.records()) == batch.count
        assert not batch.is_control and batch.control_type is None and batch.delete_horizon is None
        assert batch.is_transactional == ("txn" in sample.name)
    assert [row(record) for batch in found for record in batch.records()] == sample.rows


SOURCES: dict[str, Callable[[Path], Any]] = {
    "str path": str,
    "path": Path,
    "bytes": lambda path: path.read_bytes(),
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "memoryview of words": lambda path: memoryview(path.read_bytes() + bytes(-path.stat().st_size % 2)).cast(
        "H"
    ),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "file": lambda path: path.open("rb"),
    "unbuffered file": lambda path: path.open("rb", buffering=0),
    "slow file": lambda path: Sluggish(path.read_bytes()),
    "stream": lambda path: Pipe(path.read_bytes(), 1 << 16),
    "slow stream": lambda path: Pipe(path.read_bytes(), 7),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source(sample: Sample, kind: str) -> None:
    source = SOURCES[kind](sample.path)
    with closing(source) if hasattr(source, "close") else nullcontext():
        reader = kodec.read_records(source)
        assert [row(record) for record in reader] == sample.rows
    odd = kind == "memoryview of words" and len(sample.data) % 2
    assert (reader.torn_tail is not None) == odd


def test_a_real_pipe(sample: Sample) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as end:
        end.write(sample.data)
    with os.fdopen(reading, "rb") as stream:
        assert rows(stream) == sample.rows


@pytest.mark.parametrize("kind", ["file", "BytesIO"])
def test_a_file_is_read_from_where_it_stands(sample: Sample, kind: str) -> None:
    cut = sample.batches[1]["position"]
    with SOURCES[kind](sample.path) as file:
        file.seek(cut)
        reader = kodec.read_batches(file)
        positions = [batch.position for batch in reader]
    assert positions == [facts["position"] - cut for facts in sample.batches[1:]]


def test_a_given_file_stays_open_and_a_path_does_not(sample: Sample) -> None:
    with sample.path.open("rb") as file:
        list(kodec.read_records(file))
        assert not file.closed
    with kodec.read_records(sample.path) as reader:
        next(reader)
    opened = reader._walk._source._file
    assert opened.closed


def test_all_samples_in_one_log(samples: list[Sample], tmp_path: Path) -> None:
    whole = b"".join(sample.data for sample in samples)
    expected = [row for sample in samples for row in sample.rows]
    assert {batch.magic for batch in kodec.read_batches(whole)} == {0, 1, 2}
    assert rows(whole) == expected
    assert rows(Pipe(whole, 1000)) == expected
    (tmp_path / "all.log").write_bytes(whole)
    assert rows(tmp_path / "all.log") == expected


def test_more_than_one_window_of_a_file(tmp_path: Path, samples: list[Sample]) -> None:
    part = b"".join(sample.data for sample in samples)
    times = (3 << 20) // len(part)
    path = tmp_path / "large.log"
    path.write_bytes(part * times)
    sizes = [batch.size for batch in kodec.read_batches(path)]
    assert sum(sizes) == len(part) * times
    with path.open("rb") as file:
        assert [batch.size for batch in kodec.read_batches(Pipe(file.read(), 1 << 20))] == sizes


def test_nothing_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(b"")
    for source in (b"", tmp_path / "empty.log", io.BytesIO(), Pipe(b"", 1)):
        assert rows(source) == []


def test_what_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="not int"):
        kodec.read_records(7)
    with pytest.raises(TypeError, match="mode 'rb'"):
        kodec.read_records(io.StringIO("x"))
    with pytest.raises(FileNotFoundError):
        kodec.read_records(tmp_path / "missing.log")
    with pytest.raises(ValueError, match="on_error='ignore'"):
        kodec.read_records(b"", on_error="ignore")
