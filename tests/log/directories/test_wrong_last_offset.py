"""A header with a right checksum and a wrong last offset: the records count, however they are read.

The rule: a header's last offset is a hint, unless the header has as many records as offsets. What a read by
offset returns is what a read of all records has of these offsets; where the next batch contradicts a header,
both raise.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from crc32c import crc32c

import kodec
from kodec.errors import KodecError

ALL = range(200)
BOUNDS = [(135, 135), (135, None), (None, 135), (133, 133), (139, 139), (140, 140), (131, 138), (None, None)]


def batch(offsets: range, delta: int | None = None, compression: str = "none") -> bytes:
    records = [kodec.Record(offset=n, timestamp=n, key=b"k", value=b"value %d" % n) for n in offsets]
    data = kodec.encode(records, compression=compression)
    if delta is None:
        return data
    # kodec's writer refuses to write it
    body = data[21:23] + struct.pack(">i", delta) + data[27:]
    return data[:17] + struct.pack(">I", crc32c(body)) + body


def write(root: Path, low: bytes, *others: bytes, index: bool, end: int = 200) -> Path:
    """The offsets to `end`, in batches of ten; those from 130 on are as they are given."""
    folder = root / "t-0"
    folder.mkdir()
    made = [*(batch(range(n, n + 10)) for n in range(0, 130, 10)), low, *others]
    made += [batch(range(n, n + 10)) for n in range(140, end, 10)]
    (folder / f"{0:020d}.log").write_bytes(b"".join(made))
    if index:
        at = sum(map(len, made[:13]))
        entries = [(59, sum(map(len, made[:5]))), (133, at), (149, at + len(made[13]))]
        data = b"".join(struct.pack(">ii", *each) for each in entries)
        (folder / f"{0:020d}.index").write_bytes(data)
    return folder


def found(folder: Path, first: int | None, last: int | None) -> list[int]:
    wanted = kodec.RecordFilter(offsets=(first, last))
    return [each.offset for each in kodec.PartitionLog(folder).find_records(wanted)]


def counted(folder: Path, first: int | None, last: int | None) -> int:
    return kodec.PartitionLog(folder).count_records(kodec.RecordFilter(offsets=(first, last)))


def in_table(folder: Path, first: int | None, last: int | None) -> list[int]:
    return kodec.read_table(folder, ["offset"], offsets=(first, last))["offset"].to_pylist()


def in_file(folder: Path, first: int | None, last: int | None) -> list[int]:
    (log,) = folder.glob("*.log")
    return kodec.read_table(log, ["offset"], offsets=(first, last))["offset"].to_pylist()


def rows(folder: Path, first: int | None, last: int | None) -> int:
    return kodec.count_rows(folder, offsets=(first, last))


def from_offset(folder: Path, first: int | None, last: int | None) -> list[int]:
    records = kodec.PartitionLog(folder).records(first)
    return [each.offset for each in records if last is None or each.offset <= last]


READS = [found, counted, in_table, in_file, rows, from_offset]


pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("index", [False, True])
def test_an_end_that_is_too_low(
    tmp_path: Path,
    index: bool,
    compression: str,
    read: Callable[..., list[int] | int],
    bounds: tuple[int | None, int | None],
) -> None:
    folder = write(tmp_path, batch(range(130, 140), 3, compression), index=index)
    first, last = bounds
    wanted = list(range(first or 0, 200 if last is None else last + 1))
    assert read(folder, first, last) in (wanted, len(wanted))


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("bounds", [(135, 135), (135, None), (None, None)], ids=str)
def test_an_end_that_is_too_low_in_the_last_batch(
    tmp_path: Path, read: Callable[..., list[int] | int], bounds: tuple[int | None, int | None]
) -> None:
    folder = write(tmp_path, batch(range(130, 140), 3), index=False, end=140)
    assert kodec.PartitionLog(folder).end_offset == 140
    first, last = bounds
    wanted = list(range(first or 0, 140 if last is None else last + 1))
    assert read(folder, first, last) in (wanted, len(wanted))


@pytest.mark.parametrize("bounds", [(135, 135), (135, None), (None, 135), (139, 139), (None, None)], ids=str)
@pytest.mark.parametrize("read", [each for each in READS if each is not rows])
@pytest.mark.parametrize("index", [False, True])
def test_an_end_that_is_too_high(
    tmp_path: Path, index: bool, read: Callable[..., object], bounds: tuple[int | None, int | None]
) -> None:
    folder = write(tmp_path, batch(range(130, 134), 9), batch(range(134, 140)), index=index)
    with pytest.raises(KodecError, match="offsets ascend"):
        read(folder, *bounds)


def test_the_last_records_first(tmp_path: Path) -> None:
    folder = write(tmp_path, batch(range(130, 140), 3), index=False)
    logs = kodec.LogDirectory(tmp_path)
    wanted = kodec.RecordFilter(offsets=(135, 141))
    assert [each.offset for each in logs.find_records(wanted, last=4)] == [138, 139, 140, 141]
    assert kodec.PartitionLog(folder).count_records(wanted) == 7
