"""Offsets that no segment of a log holds, and their explanation: nothing is explained without evidence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from kodec.log.directories.segment import BatchHeader, Segment
from kodec.log.files.checkpoints import read_offset_ranges, read_offsets
from kodec.log.files.listing import LeftoverKind, ReplicaKind
from kodec.log.files.names import CLEANER_OFFSETS, OMITTED_OFFSETS, file_name
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError
from kodec.runtime.logger import logger

if TYPE_CHECKING:
    from pathlib import Path

    from kodec.log.directories.partition import PartitionLog

__all__ = ["Gap", "cleaned_up_to", "explain_gap", "find_gaps", "warn_of_gaps"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets that no segment of a log holds.

    Attributes:
        first, last: the offsets, both inclusive.
        lost: the first unexplained one; `last + 1` if all are explained.
        why: the explanation of those below `lost`; "" if there is none.
    """

    first: int
    last: int
    lost: int
    why: str = ""

    @property
    def is_explained(self) -> bool:
        """Whether none of the offsets is lost."""
        return self.lost > self.last


def explain_gap(log: PartitionLog, first: int, last: int) -> Gap:
    """Explain why the offsets from `first` to `last` are in no segment of a log: the rule of all readers.

    An offset is explained if one of these shows that it was left out, not lost:

    - it lies below the log start offset;
    - it lies below the log's entry in `cleaner-offset-checkpoint`, unless that lies above the end of the
      log: Kafka's cleaner, too, then treats it as of another log;
    - a file marked for deletion (`.deleted`) has it: a broker has just replaced the segment;
    - `kodec convert` has left it out and lists it in `kodec-omitted-offsets`;
    - a batch above it shows that compaction came at least this far, because it processes a log from its
      start. That is one of magic 2 with a right checksum and fewer records than offsets; or one after a gap
      inside its segment, if the next one continues above it, because no checksum covers an offset. A
      converted log has such gaps too: there this does not count.

    A segment without a batch, or of magic 0 or 1, shows nothing. Reads headers, at most from the gap to the
    end of the log. Raises OSError.
    """
    gap = Gap(first, last, first)
    for start, stop, why in _explanations(log, last):
        if start <= gap.lost < stop:
            gap = Gap(first, last, min(stop, last + 1), why)
            if gap.is_explained:
                break
    return gap


def find_gaps(log: PartitionLog) -> Iterator[Gap]:
    """The gaps between the segments, by their last headers. Raises OSError.

    After a segment that is damaged or has a torn tail, the unreadable part may hold the offsets: no gap.
    """
    for segment, following in pairwise(log.segments):
        with suppress(FormatError), segment:
            expected = segment.next_offset
            if expected < following.base_offset and segment.torn_tail is None:
                yield explain_gap(log, expected, following.base_offset - 1)


def warn_of_gaps(log: PartitionLog, what: str) -> None:
    """Log the offsets lost between segments, before `what` hides the loss. Raises OSError."""
    for gap in find_gaps(log):
        if not gap.is_explained:
            text = "%s: offsets %d to %d are in no segment: %s hides that they are lost"
            logger().warning(text, log.path, gap.lost, gap.last, what)


def cleaned_up_to(log: PartitionLog) -> int:
    """The offset below which a broker's cleaner may have removed records; 0 if its checkpoint has none.

    Raises OSError.
    """
    if log.kind is not ReplicaKind.LIVE:
        # the checkpoint applies to the replica in use
        return 0
    cleaned = 0
    with suppress(FormatError, FileNotFoundError):
        cleaned = read_offsets(log.root / CLEANER_OFFSETS).get(log.topic_partition, 0)
    return cleaned if cleaned <= _end(log) else 0


def _end(log: PartitionLog) -> int:
    try:
        return log.end_offset
    except (FormatError, OSError):
        # the active segment, which this is or was, is not compacted
        return log.segments[-1].base_offset


def _explanations(log: PartitionLog, last: int) -> Iterator[tuple[int, int, str]]:
    """(the first offset, the one after the last, why) of ranges that may have no record."""
    with suppress(FormatError):
        yield 0, log.start_offset, f"below the log start offset {log.start_offset}"
    cleaned = cleaned_up_to(log)
    yield 0, cleaned, f"compacted up to offset {cleaned}, by {CLEANER_OFFSETS}"
    for each in log.leftovers:
        base = each.base_offset
        if base is not None and each.path.name == file_name(base, "log", f".{LeftoverKind.DELETED.value}"):
            with suppress(FormatError, OSError), Segment.of(each.path, base) as segment:
                yield base, segment.next_offset, f"replaced: {each.path.name} waits for its deletion"
    omitted = _omitted(log.path)
    for first, final in omitted or ():
        yield first, final + 1, f"left out by a conversion, by {OMITTED_OFFSETS}"
    if omitted is None:
        closed = [*log.segments[1:], None]
        for segment, following in zip(log.segments, closed, strict=True):
            if segment.base_offset > last and (head := _left_by_compaction(segment, following)) is not None:
                yield 0, head.last_offset + 1, f"compacted: see the batch with offset {head.last_offset}"
                return


def _omitted(folder: Path) -> list[tuple[int, int]] | None:
    """The offsets left out by a conversion; None if there was none, or if they cannot be read."""
    try:
        return read_offset_ranges(folder / OMITTED_OFFSETS)
    except (FormatError, FileNotFoundError):
        return None


def _left_by_compaction(segment: Segment, following: Segment | None) -> BatchHeader | None:
    """The first batch of a segment that shows that records before or in it were removed."""
    before, doubtful = segment.base_offset - 1, None
    try:
        for head in segment.headers():
            if doubtful is not None and head.first_known > doubtful.last_offset:
                return doubtful
            first, count = head.base_offset, head.count
            is_sparse = first is not None and count is not None and count <= head.last_offset - first
            if head.magic == 2 and is_sparse and _has_right_checksum(segment, head):
                return head
            # only the content of a wrapper shows where it begins
            is_behind_gap = first is not None and first > before + 1
            doubtful = head if is_behind_gap and _has_right_checksum(segment, head) else None
            before = max(before, head.last_offset)
        if doubtful is not None and following is not None and doubtful.last_offset < following.base_offset:
            return doubtful
    except (FormatError, OSError):
        # an unreadable batch shows nothing
        pass
    finally:
        segment.close()
    return None


def _has_right_checksum(segment: Segment, head: BatchHeader) -> bool:
    try:
        segment.batch_at(head)
    except FormatError:
        return False
    return True
