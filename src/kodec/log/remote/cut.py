"""A part of a segment as a segment: of those in remote storage that overlap, one counts at each offset."""

from __future__ import annotations

from typing import BinaryIO, NamedTuple

from kodec.generated.log.offset_index import OffsetIndex
from kodec.generated.log.time_index import Entry as TimeEntry
from kodec.generated.log.time_index import TimeIndex
from kodec.generated.log.transaction_index import TransactionIndex
from kodec.log.batches.frame import FRAME_SIZE, Frame
from kodec.log.batches.sizes import HEADS, MOST_HEAD
from kodec.log.remote.manifest import Piece
from kodec.runtime.errors import Truncated
from kodec.stores.positioned import PositionedFile

__all__ = ["Found", "PartOfLog", "cut_index", "find_batch"]

_LOOK = 64 << 10


class PartOfLog(PositionedFile, BinaryIO):
    """A part of a file, for reading at any position; the file is closed with it.

    Args:
        whole: the file.
        piece: the part.
    """

    def __init__(self, whole: BinaryIO, piece: Piece) -> None:
        super().__init__()
        self.size = piece.size
        self._whole, self._start = whole, piece.position

    def _bytes_at(self, position: int, size: int) -> bytes:
        self._whole.seek(self._start + position)
        return self._whole.read(size)

    def close(self) -> None:
        self._whole.close()
        super().close()


class Found(NamedTuple):
    """Where a batch is, and what the batches before it have that the indexes may not show yet.

    Attributes:
        position: of the batch; the size of the log if there is none.
        largest: the largest timestamp of the batches that were passed, and the last offset of the batch that
        has it.
    """

    position: int
    largest: tuple[int, int] | None = None


def find_batch(
    log: BinaryIO, index: bytes, base_offset: int, offset: int, size: int, first: int = 0, start: int = 0
) -> Found:
    """The first batch of a segment that has `offset` or a later one.

    Args:
        log: of the segment; size: in bytes.
        index: its offset index, where to begin; b"" if it has none.
        first: batches below are not among those that were passed. start: the position of a batch before it.

    Raises: OSError; Truncated where no batch is.
    """
    at = start
    for entry in OffsetIndex.from_bytes(index).entries:
        # the offset is the last of a batch: a later one may begin at the next
        if base_offset + entry.relative_offset < offset and entry.ofs_batch < size:
            at = max(at, entry.ofs_batch)
    held, begin = b"", at
    largest: tuple[int, int] | None = None
    while at < size:
        if at - begin + MOST_HEAD > len(held):
            log.seek(at)
            held, begin = log.read(min(_LOOK, size - at)), at
        frame = Frame.peek(held, at - begin)
        if frame is None:
            raise Truncated("batch", at=at, need=FRAME_SIZE, have=len(held))
        if frame.offset >= offset:
            return Found(at, largest)
        if not frame.fits(size - at):
            raise Truncated("batch", at=at, need=frame.size, have=size - at)
        head = HEADS.get(frame.magic)
        if head is not None and frame.offset >= first and at - begin + head.size <= len(held):
            time = head.max_timestamp.get(held, at - begin)
            if largest is None or time > largest[0]:
                largest = time, frame.offset + head.last_delta.get(held, at - begin)
        at += frame.size
    return Found(size, largest)


def cut_index(
    kind: str,
    data: bytes,
    base_offset: int,
    first: int,
    last: int,
    log: Piece,
    largest: tuple[int, int] | None = None,
) -> bytes:
    """The entries of an index that belong to a part of its segment, for that part.

    Args:
        kind: `index`, `timeindex` or `txnindex`.
        base_offset: of the whole segment; first, last: the offsets in the part. log: where the part is.
        largest: the largest timestamp near the end of the part, as `Found` has it.

    Raises: FormatError.
    """
    if kind == "index":
        offsets = OffsetIndex.from_bytes(data)
        offsets.entries = [
            entry
            for entry in offsets.entries
            if first <= base_offset + entry.relative_offset <= last and entry.ofs_batch >= log.position
        ]
        for entry in offsets.entries:
            entry.relative_offset -= first - base_offset
            entry.ofs_batch -= log.position
        return offsets.to_bytes()
    if kind == "timeindex":
        times = TimeIndex.from_bytes(data)
        times.entries = [
            entry for entry in times.entries if first <= base_offset + entry.relative_offset <= last
        ]
        for time in times.entries:
            time.relative_offset -= first - base_offset
        # as a broker does when it closes a segment
        if largest is not None and (not times.entries or times.entries[-1].timestamp < largest[0]):
            times.entries.append(TimeEntry(timestamp=largest[0], relative_offset=largest[1] - first))
        return times.to_bytes()
    aborted = TransactionIndex.from_bytes(data)
    aborted.entries = [entry for entry in aborted.entries if first <= entry.last_offset <= last]
    return aborted.to_bytes()
