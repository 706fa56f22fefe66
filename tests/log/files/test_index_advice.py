"""An offset index that leads into a record's value, where something looks like a batch."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import kodec
from kodec.log.directories.partition import PartitionLog
from kodec.log.reading.reader import read_batches
from kodec.log.writing.segment_writer import SegmentWriter

pytestmark = pytest.mark.quick

LOOKS_RIGHT = 3


def make(folder: Path) -> None:
    """Batches at the offsets 0, 5 and 9; in the first one's value is what looks like one up to the last."""
    inner = kodec.encode([kodec.Record(value=b"inner", timestamp=1)], base_offset=LOOKS_RIGHT)
    first = kodec.encode([kodec.Record(value=inner + bytes(100), timestamp=1)])
    others = [kodec.encode([kodec.Record(value=b"%d" % at, timestamp=1)], base_offset=at) for at in (5, 9)]
    # It says that it ends where the last batch begins, and so hides the second.
    size = len(first) + len(others[0]) - first.index(inner)
    hiding = inner[:8] + struct.pack(">i", size - 12) + inner[12:]
    first = kodec.encode([kodec.Record(value=hiding + bytes(100), timestamp=1)])
    folder.mkdir()
    with SegmentWriter(folder, 0) as writer:
        for data in (first, *others):
            writer.append_all(data, list(read_batches(data)))
    index = folder / f"{0:020d}.index"
    index.write_bytes(struct.pack(">ii", LOOKS_RIGHT, first.index(hiding)))


@pytest.mark.parametrize(("offset", "batch"), [(4, 5), (5, 5), (6, 9), (9, 9)])
def test_a_place_is_not_believed_without_its_checksum(offset: int, batch: int, tmp_path: Path) -> None:
    make(tmp_path / "t-0")
    with PartitionLog(tmp_path / "t-0") as log:
        segment = log.segments[0]
        place = segment.find(offset)
        assert place is not None
        assert segment.batch_at(place).base_offset == batch
        assert [each.offset for each in log.records(offset)] == [each for each in (5, 9) if each >= offset]
