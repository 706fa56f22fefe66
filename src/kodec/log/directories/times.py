"""Lookup of records by time, in a segment and in a log, with a time index that is never trusted unchecked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Record
from kodec.log.directories.headers import BatchHeader, Position, TimestampOffset
from kodec.log.files.index_files import IndexFile
from kodec.log.remote.view import view_file
from kodec.runtime.errors import FormatError
from kodec.stores.storage import WHOLE, StorePath

__all__ = ["TimeLookup", "first_since", "newest_of"]

_MOST_AT_ONCE = 16
T = TypeVar("T")


class _Segment(Protocol):
    """What a lookup by time needs of a segment."""

    base_offset: int
    path: Path
    size: int
    timeindex: Path | None

    @property
    def needs_index(self) -> bool: ...
    def headers(self, position: int = 0) -> Iterator[BatchHeader]: ...
    def find(self, offset: int) -> Position | None: ...
    def batch_at(self, place: BatchHeader) -> Batch: ...
    def records_of(self, batch: Batch, *, control: bool) -> list[Record]: ...
    def batches(self) -> Iterator[Batch]: ...
    def largest_timestamp(self, *, use_index: bool) -> tuple[int, int] | None: ...
    def is_older(self, timestamp: int, after: int | None, *, use_index: bool) -> bool: ...
    def find_timestamp(
        self, timestamp: int, *, start_offset: int = 0, use_index: bool
    ) -> TimestampOffset | None: ...


class TimeLookup:
    """What is known of the times of a segment; its file is opened on demand.

    The segment has one, and gives itself to each call: the other way too, it would be freed late. `lock` is
    held for one read at a time.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._index: IndexFile | None = None
        self._largest: tuple[int, int] | None = None
        self._largest_known = False
        self._newest: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the time index is open."""
        return self._index is not None

    def close(self) -> None:
        """Close the time index."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def find(
        self, segment: _Segment, timestamp: int, start_offset: int, *, use_index: bool
    ) -> TimestampOffset | None:
        """As `Segment.find_timestamp`."""
        head = self._after(segment, timestamp) if use_index else None
        for header in segment.headers(0 if head is None else head.position):
            if header.max_timestamp < timestamp or header.last_offset < start_offset:
                continue
            batch = segment.batch_at(header)
            for record in segment.records_of(batch, control=True):
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return TimestampOffset(record.timestamp, record.offset, batch.partition_leader_epoch)
        return None

    def largest(self, segment: _Segment, *, use_index: bool) -> tuple[int, int] | None:
        """As `Segment.largest_timestamp`."""
        if self._largest_known and use_index:
            return self._largest
        head = self._after(segment, 2**63) if use_index else None
        best = None if head is None else (head.max_timestamp, head.position)
        for header in segment.headers(0 if head is None else head.position):
            if header.max_timestamp >= 0 and (best is None or header.max_timestamp > best[0]):
                best = header.max_timestamp, header.position
        if use_index:
            self._largest, self._largest_known = best, True
        return best

    def is_older(self, segment: _Segment, timestamp: int, after: int | None, *, use_index: bool) -> bool:
        """As `Segment.is_older`."""
        path = segment.path
        if use_index and after is not None and isinstance(path, StorePath):
            file = view_file(path)
            if file is not None and file.largest is not None and file.largest < timestamp:
                # of the whole segment, of which this may be a part
                return True
            if self._newest is None:
                self._newest = self._last_indexed(segment, after, timestamp)
            if self._newest is not None:
                return self._newest < timestamp
        largest = self.largest(segment, use_index=use_index)
        return largest is None or largest[0] < timestamp

    def _after(self, segment: _Segment, timestamp: int) -> BatchHeader | None:
        """A batch with the largest timestamp up to it, and that below `timestamp`; None: unknown."""
        if segment.timeindex is None or not segment.needs_index:
            return None
        with self._lock:
            if self._index is None:
                try:
                    self._index = IndexFile.of_times(segment.timeindex)
                except FileNotFoundError:
                    return None
            entry = self._index.last_below(timestamp)
        if entry is None or entry[1] < 0:
            return None
        try:
            location = segment.find(segment.base_offset + entry[1])
        except FormatError:
            return None
        head = None if location is None else next(segment.headers(location.position), None)
        if head is None or head.max_timestamp != entry[0] or head.timestamp_type.value < 0:
            return None
        return head

    def _last_indexed(self, segment: _Segment, after: int, timestamp: int) -> int | None:
        """The timestamp at the end of the time index, if it is that of the last offset below `after`.

        The lock is not held: several segments are asked about at once.
        """
        if segment.timeindex is None or segment.size <= WHOLE:
            return None
        try:
            times = IndexFile.of_times(segment.timeindex)
            entries = times.ending()
        except FileNotFoundError:
            return None
        entry = entries[-1] if entries and segment.base_offset + entries[-1][1] == after - 1 else None
        if entry is None or entry[0] < timestamp:
            times.close()
        else:
            # the lookup in this segment follows
            with self._lock:
                if self._index is None:
                    self._index = times
        return None if entry is None else entry[0]


def first_since(
    segments: Sequence[_Segment], timestamp: int, start_offset: int, *, use_index: bool
) -> TimestampOffset | None:
    """As `PartitionLog.find_timestamp`, in the segments from the log start offset on."""
    for segment in _not_older(segments, timestamp, use_index):
        first = segment.find_timestamp(timestamp, start_offset=start_offset, use_index=use_index)
        if first is not None:
            return first
    return None


def _not_older(segments: Sequence[_Segment], timestamp: int, use_index: bool) -> Iterator[_Segment]:
    """The segments that may have a record as new, and the last one.

    Timestamps need not ascend, so none can be left out. In a store requests take long: first one segment
    is asked about, then two at once, then four.
    """

    def is_older(number: int) -> bool:
        after = segments[number + 1].base_offset
        return segments[number].is_older(timestamp, after, use_index=use_index)

    start, width, last = 0, 1, len(segments) - 1
    while start < last:
        numbers = range(start, min(start + width, last))
        for number, older in zip(numbers, _all_at_once(is_older, numbers), strict=True):
            if not older:
                yield segments[number]
        start = numbers.stop
        if isinstance(segments[0].path, StorePath):
            width = min(2 * width, _MOST_AT_ONCE)
    yield from segments[-1:]


def _all_at_once(ask: Callable[[int], T], numbers: range) -> list[T]:
    """The answers about all numbers, each asked for in a thread. Raises what one of them raises."""
    if len(numbers) == 1:
        return [ask(numbers[0])]
    # needed for object stores alone
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(numbers)) as threads:
        return list(threads.map(ask, numbers))


def newest_of(segments: Sequence[_Segment], start_offset: int, *, use_index: bool) -> TimestampOffset | None:
    """As `PartitionLog.find_max_timestamp`, in the segments from the log start offset on."""
    best: TimestampOffset | None = None
    for segment in segments:
        newest = _newest_in(segment, start_offset, use_index)
        if newest is not None and (best is None or newest.timestamp > best.timestamp):
            best = newest
    return best


def _newest_in(segment: _Segment, start_offset: int, use_index: bool) -> TimestampOffset | None:
    if segment.base_offset >= start_offset:
        largest = segment.largest_timestamp(use_index=use_index)
        if largest is None:
            return None
        first = segment.find_timestamp(largest[0], use_index=use_index)
        if first is not None:
            return first
    # A part of the segment is deleted, or the batch with the largest timestamp lacks it because compaction
    # has emptied it.
    best: TimestampOffset | None = None
    for batch in segment.batches():
        for record in segment.records_of(batch, control=True):
            if record.offset >= start_offset and record.timestamp > (best.timestamp if best else -1):
                best = TimestampOffset(record.timestamp, record.offset, batch.partition_leader_epoch)
    return best
