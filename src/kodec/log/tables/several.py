"""The records of many segments as one stream: in order, read ahead in threads, past deleted segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from kodec.log.backends.scan import EVERY, Range
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import SkippedRange, SkippedRanges, TornTail
from kodec.log.directories.losses import report_gap, require_end
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import SegmentFiles
from kodec.log.omissions import Omissions
from kodec.log.reading.ahead import Ahead
from kodec.log.reading.order import Order
from kodec.log.reading.reader import Reader
from kodec.log.tables.chosen import ChosenLogs, Piece, pieces_of
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError
from kodec.stores.storage import StorePath, known_as

__all__ = ["FileEnd", "Part", "SeveralLogs", "part_of", "report_end"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileEnd:
    """How far one file was read, as in `Reader`."""

    path: Path
    position: int
    torn_tail: TornTail | None
    skipped: SkippedRanges


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a segment to read.

    Attributes:
        offsets: the selected ones.
        order: the order that its offsets are compared with.
        start, stop: the bytes to read; `stop` is None for the end of the file.
        last: the offset that `stop` stands for.
    """

    path: Path
    offsets: Range
    order: Order
    start: int = 0
    stop: int | None = None
    last: int | None = None


def part_of(
    files: SegmentFiles,
    offsets: Range,
    options: LogReadOptions,
    *,
    after: int | None = None,
    ends: bool = False,
) -> Part:
    """The place of the offsets in a segment, by its index; all of it if the index does not help.

    The first offset may become that of a batch whose checksum is wrong where this may have hidden the one
    that was requested, so that it is not skipped. Raises OSError.

    Args: after is the base offset of the segment after it, if that is known; with `ends` the last offset
    is also looked up, else the file is read to its end.
    """
    start, stop, before, (first, last) = 0, None, None, offsets
    if first > files.base_offset or ends:
        try:
            with Segment(files, options.limits) as segment:
                if first > files.base_offset:
                    location, before, known = segment.find_behind(first)
                    start = 0 if location is None else location.position
                    if location is not None and not known and options.check_crc:
                        first = location.offset
                if ends and (location := segment.find(last)) is not None:
                    stop = location.position + location.size
                    # the next batch shows whether an end that is not sure can be right
                    if (
                        not segment.is_dense(location)
                        and (following := segment.whole_frame(stop)) is not None
                    ):
                        stop += following.size
        except FormatError:
            # Reading from the start raises the error, if it concerns the selection: with an end
            # `Walk` stops as soon as a good batch has it.
            start, stop, before = 0, 0 if ends and first <= last else None, None
    order = Order(files.base_offset, known_as(files.log), after)
    if before is not None:
        order.passed(before)
    return Part(files.log, Range(first, last), order, start, stop, last if ends else None)


def report_end(
    piece: Piece,
    end: FileEnd,
    last: int | None,
    offsets: Range,
    options: LogReadOptions,
    omissions: Omissions,
) -> None:
    """Report what a segment lacks that was read to the end of the selection: the rule of all tables.

    These are skipped ranges, a torn tail, and selected offsets between its `last` one and the next segment,
    or the end of the log.

    Raises: OffsetsMissing, Truncated, FormatError, OSError, unless `options` skips them.
    """
    log, lost = piece.log, omissions if options.skips else None
    following = None if piece.after is None else piece.after.base_offset
    is_last = following is None or (last is not None and last + 1 >= following)
    omissions.end(end.path, end.skipped, end.torn_tail, is_last=is_last)
    if log is None or last is None:
        return
    first = max(last + 1, piece.first, offsets.first)
    if following is None:
        # of a store each checkpoint is a request
        if offsets.last == EVERY.last and not isinstance(log.path, StorePath):
            require_end(log, lost)
    elif first <= min(offsets.last, following - 1) and not (end.skipped and end.skipped.end >= end.position):
        report_gap(log, end.path, None if options.skips else end.torn_tail, first, following - 1, lost)


@dataclass(slots=True)
class SeveralLogs(Generic[T]):
    """Reads the segments of several logs, one after the other, reading ahead in threads.

    Attributes:
        open: creates the reader of a part of a segment, and its items, each with its last offset.
        ends: how far each file was read, in the order in which they came to their ends.
        omissions: what is not among the items.
    """

    logs: ChosenLogs
    options: LogReadOptions
    open: Callable[[Part, Piece], tuple[Reader[Any], Iterator[tuple[int, T]]]]
    offsets: Range = EVERY
    since: int | None = None
    threads: int = 1
    ends: list[FileEnd] = field(default_factory=list)
    omissions: Omissions = field(default_factory=Omissions)
    _readers: dict[Path, Reader[Any]] = field(default_factory=dict)
    # segments that were not read, with their last offsets
    _too_old: dict[Path, tuple[FileEnd, int]] = field(default_factory=dict)
    _items: Iterator[T] | None = None

    def __post_init__(self) -> None:
        self.omissions.extend(self.logs.omissions)

    def items(self) -> Iterator[T]:
        """The items of all, by topic, partition and offset. Raises what their readers raise; OSError."""
        if self._items is None:
            self._items = self._all()
        return self._items

    def close(self) -> None:
        """End all threads and close all files."""
        self.items().close()  # type: ignore[attr-defined]  # a generator

    def _all(self) -> Iterator[T]:
        pieces = list(self.logs.pieces(self.offsets, self.options, self.omissions))
        if self.threads == 1:
            yield from self._in_turn(pieces, lambda number: self._read(pieces[number], None))
            return
        ahead = Ahead([partial(self._read, piece, None) for piece in pieces], self.threads)
        try:
            yield from self._in_turn(pieces, ahead.items, ahead.drop)
        finally:
            ahead.close()

    def _in_turn(
        self,
        pieces: list[Piece],
        items: Callable[[int], Iterator[tuple[int, T]]],
        drop: Callable[[int], None] = lambda _: None,
    ) -> Iterator[T]:
        number = 0
        while number < len(pieces):
            piece, following = pieces[number], None
            end = number + 1
            while end < len(pieces) and piece.log is not None and pieces[end].log is piece.log:
                end += 1
            try:
                for index in range(number, end):
                    for last, item in items(index):
                        following = last + 1
                        yield item
                    self._ended(pieces[index])
            except (OSError, FormatError) as error:
                log = piece.log
                is_gone = isinstance(error, FileNotFoundError) or (
                    isinstance(error, FormatError) and _is_replaced(pieces[index])
                )
                if log is None or not is_gone:
                    if isinstance(error, FormatError) or not self.options.skips_unreachable:
                        raise
                    self.omissions.failed(pieces[index].files.log, error)
                    drop(index)
                    number = index + 1
                    continue
                # A broker has deleted or merged segments since they were listed: the current ones follow.
                for remaining in range(index, end):
                    drop(remaining)
                yield from log.relisted(self._reread, following)
            number = end

    def _reread(self, log: PartitionLog, start: int | None) -> Iterator[tuple[int, T]]:
        for piece in pieces_of(log, Range(max(self.offsets.first, start or 0), self.offsets.last)):
            try:
                for last, item in self._read(piece, start):
                    yield last + 1, item
            except FormatError:
                if _is_replaced(piece):
                    raise FileNotFoundError(str(piece.files.log)) from None
                raise
            self._ended(piece)

    def _read(self, piece: Piece, start: int | None) -> Iterator[tuple[int, T]]:
        """The items of one segment, in whichever thread."""
        if self._is_too_old(piece):
            return
        offsets = Range(max(self.offsets.first, piece.first, start or 0), self.offsets.last)
        after = None if piece.after is None else piece.after.base_offset
        if offsets.first <= piece.files.base_offset:
            offsets = Range(EVERY.first, offsets.last)
        ends = offsets.last != EVERY.last and (after is None or after > offsets.last + 1)
        part = part_of(piece.files, offsets, self.options, after=after, ends=ends)
        reader, items = self.open(part, piece)
        self._readers[part.path] = reader
        with reader:
            yield from items

    def _is_too_old(self, piece: Piece) -> bool:
        """Whether the headers of a segment show that it has no record that is new enough."""
        if self.since is None or self.since <= 0:
            return False
        path = piece.files.log
        # reading damage reports it
        with suppress(FormatError), Segment(piece.files, self.options.limits) as segment:
            if segment.is_older(self.since, None if piece.after is None else piece.after.base_offset):
                # records lost after it may be new enough; of a store, looking would be a request
                if not isinstance(path, StorePath):
                    last, tail = segment.next_offset - 1, segment.torn_tail
                    self._too_old[path] = FileEnd(path, segment.size, tail, SkippedRanges()), last
                return True
        return False

    def _ended(self, piece: Piece) -> None:
        """Record how far a segment was read, and what is missing after it."""
        path, last = piece.files.log, None
        if path in self._too_old:
            end, last = self._too_old.pop(path)
        elif (reader := self._readers.pop(path, None)) is not None:
            end = FileEnd(path, reader.position, reader.torn_tail, reader.skipped)
            self.ends.append(end)
            last = None if reader.order is None else reader.order.last
        else:
            return
        report_end(piece, end, last, self.offsets, self.options, self.omissions)

    # -- totals of a reader ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Their number."""
        return f"{len(self.logs.logs)} logs"

    @property
    def order(self) -> None:
        """Not available: each file has its own."""

    @property
    def position(self) -> int:
        """The bytes read from all files."""
        return sum(end.position for end in self.ends)

    @property
    def torn_tail(self) -> TornTail | None:
        """The first torn tail; `ends` has each with its file."""
        return next((end.torn_tail for end in self.ends if end.torn_tail is not None), None)

    @property
    def skipped(self) -> SkippedRanges:
        """All skipped ranges; the errors name the files."""
        ranges = SkippedRanges()
        for end in self.ends:
            for part in end.skipped:
                ranges.add(SkippedRange(part.start, part.end, part.error))
            ranges.omitted += end.skipped.omitted
            ranges.omitted_bytes += end.skipped.omitted_bytes
        return ranges


def _is_replaced(piece: Piece) -> bool:
    """Whether a listed segment, or the next one, no longer exists."""
    return not piece.files.log.exists() or (piece.after is not None and not piece.after.log.exists())
