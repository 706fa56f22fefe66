"""Finds the good batches of a log, segment by segment, and reports exactly what is missing between them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from kodec.log.batches.batch import Batch
from kodec.log.batches.frame import Frame
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import SkippedRanges
from kodec.log.batches.sizes import HEADS, MAX_RELATIVE, MOST_HEAD
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.losses import checkpointed_end
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import marker_of
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import LeftoverKind
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.reading.foreign import is_foreign
from kodec.log.reading.reader import batch_reader
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, LimitExceeded, ReadFailed, Unsupported

__all__ = ["GoodBatches", "LogScan", "MissingRange"]

_ENOUGH = 4 << 20
# How many different reasons a missing range may have.
_MOST_REASONS = 10


@dataclass(frozen=True, slots=True)
class MissingRange:
    """Bytes of a segment that are not in the new log, and the offsets that may have been there.

    Attributes:
        path: of the segment. start, end: the bytes, `end` not included; empty for offsets that no segment
            before this one holds.
        first_offset, last_offset: between the good batches around; `last_offset` is None where nothing bounds
            it, at the end of the log. Both are None where the batches around leave no offset between them.
        reasons: why, in the order of the bytes; of many different ones the first.
        cause: what kind of loss it is.

    Example: see `plan_salvage`.
    """

    path: Path
    start: int
    end: int
    first_offset: int | None
    last_offset: int | None
    reasons: tuple[str, ...]
    cause: Cause = Cause.DAMAGED

    @property
    def omission(self) -> Omission:
        """The same in the account of what a result lacks."""
        size = self.end - self.start
        what = f"bytes {self.start} to {self.end}, {self.offsets}" if size else self.offsets
        text = f"{what}: {'; '.join(self.reasons)}"
        position = self.start if size else None
        return Omission(
            self.cause, self.path, text, position, size or None, self.first_offset, self.last_offset
        )

    @property
    def offsets(self) -> str:
        """The offsets for people."""
        if self.first_offset is None:
            return "no offsets"
        if self.last_offset is None:
            return f"offsets from {self.first_offset} on"
        return f"offsets {self.first_offset} to {self.last_offset}"


class _Reason(NamedTuple):
    """Why the data at a byte is not kept."""

    position: int
    text: str


class GoodBatches:
    """The good batches of a segment, which may have tens of millions: 20 bytes for each.

    Attributes:
        positions, sizes: in bytes. firsts, lasts: offsets, counted from `base`, the first that fits.
        end: the end of the identified bytes.
        reasons: why others are not good, ascending; limited in number.
        unreachable: why the file cannot be read at all; "" otherwise.
        tail: where a torn tail begins; None if there is none.
    """

    def __init__(self, base: int) -> None:
        self.base = base
        self.positions, self.sizes = array("q"), array("I")
        self.firsts, self.lasts = array("I"), array("I")
        self.end = 0
        self.reasons: list[_Reason] = []
        self.unreachable = ""
        self.tail: int | None = None

    def __len__(self) -> int:
        return len(self.positions)

    def add(self, batch: Batch, first: int) -> None:
        self.positions.append(batch.position)
        self.sizes.append(batch.size)
        self.firsts.append(first - self.base)
        self.lasts.append(batch.last_offset - self.base)

    def first(self, number: int) -> int:
        """The first offset of a batch; of a wrapper the last, which alone its header has."""
        return self.base + self.firsts[number]

    def last(self, number: int) -> int:
        return self.base + self.lasts[number]

    def explain(self, position: int, text: str) -> None:
        if len(self.reasons) < SkippedRanges.MOST:
            self.reasons.append(_Reason(position, text))


class LogScan:
    """The good batches of a log: an iterator of segments, what was found in each, and which of it fits.

    Attributes:
        missing: ranges without a good batch, in the order of the log.
        omissions: what else was not read: files that are not part of the log, and batches that are good, and
            whose records this version does not read.
        segments: how many were read.
        reached: the offset after the last one that fits, or could have fitted.
        foreign: why a segment is not a Kafka log; None if all are.

    Args:
        log: the log.
        progress: called with the bytes of good batches.
        on_batch: called with each batch that may fit.
        starts: of the segments that are read, the byte to begin at and the offset reached there; None: all.
    """

    def __init__(
        self,
        log: PartitionLog,
        progress: Callable[[int], None] | None = None,
        on_batch: Callable[[Batch], None] | None = None,
        starts: Mapping[Path, tuple[int, int]] | None = None,
    ) -> None:
        self._log = log
        self._starts = starts
        self._progress = progress
        self._on_batch = on_batch
        self._unreported = 0
        self.segments = 0
        self.reached = log.segments[0].base_offset if log.segments else 0
        self.missing: list[MissingRange] = []
        self.foreign: FormatError | ReadFailed | None = None
        self.omissions = Omissions()
        read = {segment.path for segment in log.segments}
        for leftover in log.leftovers:
            if leftover.kind is not LeftoverKind.DELETED and leftover.path not in read:
                text = "not read: left by an interrupted replacement of segments"
                self.omissions.lose(leftover.path, text, Cause.UNFINISHED)

    def __iter__(self) -> Iterator[tuple[Segment, GoodBatches, Sequence[int]]]:
        segments = self._log.segments
        for number, segment in enumerate(segments):
            before = segments[number + 1].base_offset if number + 1 < len(segments) else None
            if self._starts is not None:
                if segment.path not in self._starts:
                    continue
                self.reached = max(self.reached, self._starts[segment.path][1])
            self.segments += 1
            self._report_gap(segment)
            self.reached = max(self.reached, segment.base_offset)
            most = segment.base_offset + MAX_RELATIVE + 1
            batches = self._read(segment, most if before is None else min(before, most))
            numbers = _in_order(batches)
            self._report_missing(segment, batches, numbers, before)
            if numbers:
                self.reached = batches.last(numbers[-1]) + 1
            yield segment, batches, numbers

    def report_end(self) -> None:
        """Report the offsets that a checkpoint shows to have been there, unless damage may be them.

        After the last segment; among replicas another one may have them.
        """
        log = self._log
        end, reason = checkpointed_end(log, self.omissions)
        reached = max(self.reached, log.start_offset)
        if end > reached and not (self.missing and self.missing[-1].last_offset is None):
            path = log.segments[-1].path if log.segments else log.path
            self.missing.append(MissingRange(path, 0, 0, reached, end - 1, (reason,), Cause.MISSING))

    def _read(self, segment: Segment, most: int) -> GoodBatches:
        """The good batches with offsets from the one reached on, below `most`."""
        batches = GoodBatches(self.reached)
        options = LogReadOptions(on_error="skip", limits=self._log.limits)
        start, _ = (self._starts or {}).get(segment.path, (0, 0))
        try:
            reader = batch_reader(segment.path, options, start=start)
        except OSError as error:
            batches.unreachable = _error_text(error)
            return batches
        for batch in reader:
            self._report_progress(batch.size)
            try:
                marker_of(batch)
                # A wrapper of old messages has only its last offset: it is decompressed.
                first = batch.base_offset
                self._read_records(segment, batch)
            except FormatError as error:
                batches.explain(batch.position, _error_text(error))
                continue
            if batches.base <= first <= batch.last_offset < most:
                batches.add(batch, first)
                if self._on_batch is not None:
                    self._on_batch(batch)
            else:
                batches.explain(batch.position, f"offsets {first} to {batch.last_offset} do not fit")
        for skipped in reader.skipped:
            batches.explain(skipped.start, _error_text(skipped.error))
            if is_foreign(skipped.error):
                self.foreign = skipped.error
        batches.end = reader.position
        if (tail := reader.torn_tail) is not None:
            batches.tail = tail.position
            batches.explain(tail.position, f"torn tail: {tail.reason}")
            batches.end += tail.size
        batches.reasons.sort()
        return batches

    def _read_records(self, segment: Segment, batch: Batch) -> None:
        """Read all records: a right checksum is no proof that they can be. Raises FormatError."""
        try:
            for _ in batch.record_parts(control=True)[1]:
                pass
        except (Unsupported, LimitExceeded) as error:
            span = f"bytes {batch.position} to {batch.position + batch.size}"
            text = f"{span} are kept unread: {_error_text(error)}"
            self.omissions.add(
                Omission(
                    Cause.UNKNOWN,
                    segment.path,
                    text,
                    batch.position,
                    batch.size,
                    batch.base_offset,
                    batch.last_offset,
                )
            )

    def _report_gap(self, segment: Segment) -> None:
        """Report the offsets before a segment that are missing without an explanation."""
        last_missing = self.missing[-1].last_offset if self.missing else None
        if self.reached < segment.base_offset and (last_missing is None or last_missing < self.reached):
            gap = explain_gap(self._log, self.reached, segment.base_offset - 1)
            if not gap.is_explained:
                reasons = ("in no segment, and not for compaction",)
                self.missing.append(
                    MissingRange(segment.path, 0, 0, gap.lost, gap.last, reasons, Cause.MISSING)
                )

    def _report_missing(
        self, segment: Segment, batches: GoodBatches, numbers: Sequence[int], before: int | None
    ) -> None:
        """Report the bytes between the batches that are kept; `before` is the next segment's base offset."""
        if batches.unreachable:
            none = before is not None and before <= self.reached
            first = None if none else self.reached
            last = None if none or before is None else before - 1
            because = (batches.unreachable,)
            self.missing.append(
                MissingRange(segment.path, 0, segment.size, first, last, because, Cause.UNREACHABLE)
            )
            return
        reasons = iter([*batches.reasons, _Reason(batches.end, "")])
        reason = next(reasons)
        position, expected, number = 0, self.reached, 0
        for current in chain(numbers, [None]):
            start = batches.end if current is None else batches.positions[current]
            texts: dict[str, None] = {}
            dropped = number
            number = len(batches) if current is None else current + 1
            for other in range(dropped, len(batches) if current is None else current):
                _note(texts, f"offsets {batches.first(other)} to {batches.last(other)} do not fit")
            while reason.position < start:
                _note(texts, reason.text)
                reason = next(reasons)
            if start > position:
                end_offset = before if current is None else batches.first(current)
                if end_offset is None and (last := _stated(segment, position, start, expected)) is not None:
                    stated = f"offsets {expected} to {last}"
                    _note(texts, f"the headers there state {stated}, and nothing shows later ones")
                    end_offset = last + 1
                none = end_offset is not None and end_offset <= expected
                # a broker was writing there
                is_unfinished = before is None and current is None and position == batches.tail
                self.missing.append(
                    MissingRange(
                        segment.path,
                        position,
                        start,
                        None if none else expected,
                        None if none or end_offset is None else end_offset - 1,
                        tuple(texts) or ("damaged",),
                        Cause.UNFINISHED if is_unfinished else Cause.DAMAGED,
                    )
                )
            if current is not None:
                position, expected = start + batches.sizes[current], batches.last(current) + 1

    def _report_progress(self, size: int) -> None:
        self._unreported += size
        if self._progress is not None and self._unreported >= _ENOUGH:
            unreported, self._unreported = self._unreported, 0
            self._progress(unreported)


def _stated(segment: Segment, position: int, end: int, expected: int) -> int | None:
    """The last offset that the headers from a byte on state; None unless they follow each other."""
    while position < end:
        try:
            data = segment.read_bytes(position, min(MOST_HEAD, end - position))
        except OSError:
            return None
        frame = Frame.peek(data)
        head = None if frame is None else HEADS.get(frame.magic)
        if frame is None or head is None or len(data) < head.size or frame.offset != expected:
            return None
        delta = head.last_delta.get(data)
        if frame.size < head.size or not 0 <= delta <= segment.base_offset + MAX_RELATIVE - expected:
            return None
        expected += delta + 1
        position += frame.size
    return expected - 1


def _error_text(error: FormatError | OSError) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return f"{type(error).__name__}: {': '.join(part for part in (error.path, error.reason) if part)}"


def _note(reasons: dict[str, None], text: str) -> None:
    """Add a reason to those of a missing range."""
    if len(reasons) < _MOST_REASONS:
        reasons[text] = None
    elif text not in reasons:
        reasons["and others"] = None


def _in_order(batches: GoodBatches) -> Sequence[int]:
    """The largest number of batches, in file order, whose offsets ascend.

    Source: the longest increasing subsequence, by patience sorting.
    """
    if all(last < first for last, first in zip(batches.lasts, islice(batches.firsts, 1, None), strict=False)):
        return range(len(batches))
    # tails[n]: the smallest last offset with which n + 1 batches can end
    tails, at_end, came_from = array("I"), array("q"), array("q")
    for number, first in enumerate(batches.firsts):
        last = batches.lasts[number]
        length = bisect_left(tails, first)
        came_from.append(at_end[length - 1] if length else -1)
        if length == len(tails):
            tails.append(last)
            at_end.append(number)
        elif last < tails[length]:
            tails[length] = last
            at_end[length] = number
    numbers = array("q")
    number = at_end[-1]
    while number >= 0:
        numbers.append(number)
        number = came_from[number]
    numbers.reverse()
    return numbers
