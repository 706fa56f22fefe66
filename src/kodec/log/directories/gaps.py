"""Offsets that no segment of a log holds, and their explanation: nothing is explained without evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from kodec.log.directories.segment import BatchHeader, Segment
from kodec.log.files.checkpoints import read_offset_ranges, read_offsets
from kodec.log.files.listing import LeftoverKind, ReplicaKind
from kodec.log.files.names import CLEANER_OFFSETS, OMITTED_OFFSETS, file_name
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, OffsetsMissing

if TYPE_CHECKING:
    from pathlib import Path

    from kodec.log.directories.searchable import Searchable

__all__ = [
    "Gap",
    "cleaned_up_to",
    "compacted_up_to",
    "explain_gap",
    "find_gaps",
    "joined_ranges",
    "lost_gaps",
    "omitted_offsets",
    "read_omitted",
    "require_no_gaps",
]


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


def explain_gap(log: Searchable, first: int, last: int) -> Gap:
    """Explain why the offsets from `first` to `last` are in no segment of a log: the rule of all readers.

    An offset is explained if one of these shows that it was left out, not lost:

    - it lies below the log start offset;
    - it lies below the log's entry in `cleaner-offset-checkpoint`, unless that lies above the end of the
      log: Kafka's cleaner, too, then treats it as of another log;
    - a file marked for deletion (`.deleted`) has it: a broker has just replaced the segment;
    - kodec has left it out, in a conversion, a redaction or a load of edited lines, and lists it in
      `kodec-omitted-offsets`;
    - a batch above it shows that compaction came at least this far, because it processes a log from its
      start. That is one of magic 2 with a right checksum and fewer records than offsets; or one after a gap
      inside its segment, if the next one continues above it, because no checksum covers an offset. A
      log with `kodec-omitted-offsets` has such batches for other reasons: there this does not count.

    A segment without a batch, or of magic 0 or 1, shows nothing. Reads headers, at most from the gap to the
    end of the log. Raises OSError.
    """
    gap = Gap(first, last, first)
    for start, stop, reason in _explanations(log, last):
        if start <= gap.lost < stop:
            gap = Gap(first, last, min(stop, last + 1), reason)
            if gap.is_explained:
                break
    return gap


def find_gaps(log: Searchable) -> Iterator[Gap]:
    """The gaps between the segments, by their last headers. Raises OSError.

    After a segment that is damaged or has a torn tail, the unreadable part may hold the offsets: no gap.
    """
    for segment, following in pairwise(log.segments):
        with suppress(FormatError), segment:
            expected = segment.next_offset
            if expected < following.base_offset and segment.torn_tail is None:
                yield explain_gap(log, expected, following.base_offset - 1)


def lost_gaps(log: Searchable) -> list[Gap]:
    """The gaps between the segments that nothing explains. Raises OSError."""
    return [gap for gap in find_gaps(log) if not gap.is_explained]


def require_no_gaps(log: Searchable, gaps: Sequence[Gap], what: str) -> None:
    """Refuse to rewrite a log that has lost offsets.

    Args:
        log: the log.
        gaps: those that nothing explains.
        what: the option with which it goes on.

    Raises: OffsetsMissing, which has the first gap, and the others in its reason.
    """
    if gaps:
        others = "".join(f", {gap.lost} to {gap.last}" for gap in gaps[1:])
        more = f"; so are{others[1:]}" if others else ""
        reason = f"they are in no segment{more}: refused without {what}"
        raise OffsetsMissing(gaps[0].lost, gaps[0].last, str(log.path), reason)


def omitted_offsets(log: Searchable) -> list[tuple[int, int]]:
    """The offsets that a log lacks on purpose, as ranges, for the `kodec-omitted-offsets` of a rewritten one.

    Those that its own file lists; without one, all in no batch below the last that compaction has left:
    beside the file such a batch shows nothing. Raises OSError, FormatError.
    """
    omitted = read_omitted(log.path)
    if omitted is not None:
        return omitted
    end = compacted_up_to(log)
    ranges: list[tuple[int, int]] = []
    reached = log.segments[0].base_offset if log.segments else end
    for segment in log.segments:
        if segment.base_offset >= end:
            break
        for head in segment.headers():
            # where a wrapper begins only its content shows
            first = head.first_known if head.base_offset is None else head.base_offset
            if reached < min(first, end) and head.base_offset is not None:
                ranges.append((reached, min(first, end) - 1))
            reached = max(reached, head.last_offset + 1)
        segment.close()
    return ranges


def compacted_up_to(log: Searchable) -> int:
    """The offset after the last batch that compaction has left with holes, or behind one; 0: there is none.

    Raises OSError.
    """
    segments = log.segments
    for number in range(len(segments) - 1, -1, -1):
        following = segments[number + 1] if number + 1 < len(segments) else None
        last = max(
            (head.last_offset for head in _left_by_compaction(segments[number], following)), default=-1
        )
        if last >= 0:
            return last + 1
    return 0


def joined_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of offsets, ascending, neighbours as one.

    Args:
        ranges: in any order; they may overlap.
    """
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def cleaned_up_to(log: Searchable) -> int:
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


def _end(log: Searchable) -> int:
    try:
        return log.end_offset
    except (FormatError, OSError):
        # the active segment, which this is or was, is not compacted
        return log.segments[-1].base_offset


def _explanations(log: Searchable, last: int) -> Iterator[tuple[int, int, str]]:
    """(the first offset, the one after the last, why) of ranges that may have no record."""
    with suppress(FormatError):
        yield 0, log.start_offset, f"below the log start offset {log.start_offset}"
    cleaned = cleaned_up_to(log)
    yield 0, cleaned, f"compacted up to offset {cleaned}, by {CLEANER_OFFSETS}"
    for leftover in log.leftovers:
        base = leftover.base_offset
        if base is not None and leftover.path.name == file_name(
            base, "log", f".{LeftoverKind.DELETED.value}"
        ):
            with suppress(FormatError, OSError), Segment.of(leftover.path, base) as segment:
                yield base, segment.next_offset, f"replaced: {leftover.path.name} waits for its deletion"
    omitted = read_omitted(log.path)
    for first, final in omitted or ():
        yield first, final + 1, f"left out on purpose, by {OMITTED_OFFSETS}"
    if omitted is None:
        closed = [*log.segments[1:], None]
        for segment, following in zip(log.segments, closed, strict=True):
            if segment.base_offset <= last:
                continue
            for head in _left_by_compaction(segment, following):
                yield 0, head.last_offset + 1, f"compacted: see the batch with offset {head.last_offset}"
                return


def read_omitted(folder: Path) -> list[tuple[int, int]] | None:
    """The contents of `kodec-omitted-offsets`; None if there is none; what cannot be read explains nothing.

    Args:
        folder: of the log.

    Raises: OSError.
    """
    try:
        return read_offset_ranges(folder / OMITTED_OFFSETS)
    except FormatError:
        return []
    except FileNotFoundError:
        return None


def _left_by_compaction(segment: Segment, following: Segment | None) -> Iterator[BatchHeader]:
    """The batches of a segment that show that records before or in them were removed."""
    before, doubtful = segment.base_offset - 1, None
    try:
        for head in segment.headers():
            if doubtful is not None and head.first_known > doubtful.last_offset:
                yield doubtful
            first, count = head.base_offset, head.count
            is_sparse = first is not None and count is not None and count <= head.last_offset - first
            # only the content of a wrapper shows where it begins
            is_behind_gap = first is not None and first > before + 1
            doubtful = None
            if head.is_list and is_sparse and _has_right_checksum(segment, head):
                yield head
            elif is_behind_gap and _has_right_checksum(segment, head):
                doubtful = head
            before = max(before, head.last_offset)
        if doubtful is not None and following is not None and doubtful.last_offset < following.base_offset:
            yield doubtful
    except (FormatError, OSError):
        # an unreadable batch shows nothing
        pass
    finally:
        segment.close()


def _has_right_checksum(segment: Segment, head: BatchHeader) -> bool:
    try:
        segment.batch_at(head)
    except FormatError:
        return False
    return True
