"""Searches logs for records: data excluded by indexes, headers and raw bytes is not decoded."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kodec.log.arguments import require_integer
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Record
from kodec.log.directories.column_search import ColumnSearch, Part, load_columns
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.segment import BatchHeader, Segment
from kodec.log.directories.transactions import Transactions
from kodec.log.files.listing import TopicPartition
from kodec.log.reading.ahead import cores
from kodec.log.reading.order import Order
from kodec.runtime.dataclass import dataclass, field, fields, replace
from kodec.runtime.errors import ArgumentError

if TYPE_CHECKING:
    from kodec.log.directories.partition import PartitionLog

__all__ = [
    "FoundRecord",
    "SearchReport",
    "count_in",
    "count_records",
    "find_records",
    "records_back",
    "records_of",
]

# Records passed from a thread to the caller at once, and how many such lists may wait in each log.
_TOGETHER = 256
_WAITING = 8
# Matches reach the caller within this many seconds, however few there are.
_SOON = 0.1


class FoundRecord(NamedTuple):
    """A record, and its topic-partition.

    Attributes:
        topic_partition: where the record is.
        record: with its offset.

    Example:
        >>> import kodec
        >>> logs = kodec.LogDirectory("/data/kafka-logs")
        >>> found = next(logs.find_records(kodec.RecordFilter(first_offset=5), topics=["orders"]))
        >>> found.topic_partition.topic, found.record.offset
        ('orders', 5)
    """

    topic_partition: TopicPartition
    record: Record


@dataclass(slots=True)
class SearchReport:
    """The progress of a search.

    Attributes:
        partitions: whose search was begun.
        segments_skipped: whose records are all too old, by index or headers.
        batches_skipped: by their headers; `batches_without`: by their bytes, which were read.
        batches_read: whose records were read; `records_read`: how many these are.
        bytes_read: of all batches but those that were skipped, as stored.
        found: the matching records.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> report = kodec.results.SearchReport()
        >>> _ = list(log.find_records(kodec.RecordFilter(first_offset=10, last_offset=19), report=report))
        >>> report.found, report.batches_skipped > 0
        (10, True)
    """

    partitions: int = 0
    segments_skipped: int = 0
    batches_skipped: int = 0
    batches_without: int = 0
    batches_read: int = 0
    records_read: int = 0
    bytes_read: int = 0
    found: int = 0

    def add(self, other: SearchReport) -> None:
        """Count what another one counted too.

        Args:
            other: the other report.
        """
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(slots=True)
class _Search:
    """A search in the log of one topic-partition, as it was listed."""

    log: PartitionLog
    wanted: RecordFilter
    report: SearchReport
    check_crc: bool = True
    use_index: bool = True
    start: int = field(init=False, default=0)
    known: Transactions | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.wanted = self.wanted.of_topic(self.log.topic_partition.topic)

    def begin(self, offset: int) -> bool:
        """Find the offset from which records can match; whether there are any. Raises OffsetOutOfRange."""
        log, since = self.log, self.wanted.since
        log.require_offset(offset)
        self.start = offset
        if since is not None and since > 0:
            first = log.find_timestamp(since, use_index=self.use_index)
            if first is None:
                self.report.segments_skipped += len(log.segments)
                return False
            self.start = max(offset, first.offset)
        if self.wanted.isolation == "read_committed":
            self.known = log.transactions(self.start, use_index=self.use_index)
        return True

    def skips(self, segment: Segment) -> bool:
        """Whether all of a segment is too old."""
        since = self.wanted.since
        if since is None or since <= 0:
            return False
        largest = segment.largest_timestamp(use_index=self.use_index)
        if largest is not None and largest[0] >= since:
            return False
        self.report.segments_skipped += 1
        return True

    def excludes(self, head: BatchHeader) -> bool:
        if self.wanted.excludes(head) or (
            self.known is not None
            and head.is_transactional
            and not head.is_control
            and self.known.drops(head.producer_id, head.first_known)
        ):
            self.report.batches_skipped += 1
            return True
        return False

    @property
    def by_header(self) -> Callable[[BatchHeader], bool] | None:
        """`excludes`; None if no header excludes more than batches without records."""
        alike = replace(RecordFilter(), control=self.wanted.control, first_offset=self.wanted.first_offset)
        return None if self.wanted == alike else self.excludes

    def columns(self, *, counting: bool = False) -> ColumnSearch | None:
        """What looks at the columns of many batches at once; None where that is of no use."""
        found = ColumnSearch(self.wanted, self.start, self.report, self.known, counting, self.check_crc)
        return found if found.is_of_use else None

    def parts(self, *, counting: bool = False) -> Callable[[Segment, int, Order], Iterator[Part]] | None:
        """The same, as `PartitionLog.batches_but` takes it."""
        found = self.columns(counting=counting)
        return None if found is None else found.parts

    def undecided(self, batch: Batch | BatchHeader) -> bool:
        """Whether a batch is not before the last stable offset."""
        return self.known is not None and batch.last_offset >= self.known.last_stable_offset

    def matches(self, segment: Segment, batch: Batch) -> list[Record]:
        """The records of a batch that match."""
        report, wanted = self.report, self.wanted
        report.bytes_read += batch.size
        if any(not batch.may_hold(each) for each in wanted.needles):
            report.batches_without += 1
            return []
        found = segment.records_of(batch, control=wanted.control, check_crc=self.check_crc)
        report.batches_read += 1
        report.records_read += len(found)
        inside = batch.base_offset >= self.start if batch.magic == 2 else False
        if not (inside and wanted.takes_all and wanted.last_offset is None):
            found = [each for each in found if each.offset >= self.start and wanted.matches(each)]
        report.found += len(found)
        return found


def records_of(
    log: PartitionLog, offset: int | None, wanted: RecordFilter, report: SearchReport, **reading: bool
) -> Iterator[Record]:
    """The records of a log that match, from `offset` (None: the start) on.

    Raises OffsetOutOfRange, when the iteration begins; FormatError, OSError.
    """

    def listed(log: PartitionLog, offset: int | None) -> Iterator[tuple[int, Record]]:
        search = _Search(log, wanted, report, **reading)
        if not search.begin(log.start_offset if offset is None else offset):
            return
        found = log.batches_but(search.start, search.by_header, search.skips, parts=search.parts(), **reading)
        for segment, batch in found:
            if search.undecided(batch) or (isinstance(batch, BatchHeader) and wanted.ends_before(batch)):
                return
            if isinstance(batch, Batch):
                for record in search.matches(segment, batch):
                    yield record.offset + 1, record

    report.partitions += 1
    _load_columns([log], wanted)
    return log.whatever_goes(listed, offset)


def records_back(log: PartitionLog, wanted: RecordFilter, report: SearchReport) -> Iterator[Record]:
    """The records of a log that match, the one with the largest offset first.

    Offsets between batches are not compared. Raises FormatError, OSError.
    """
    report.partitions += 1
    _load_columns([log], wanted)
    search = _Search(log, wanted, report)
    if not search.begin(max(log.start_offset, min(wanted.first_offset or 0, log.end_offset))):
        return
    columns = search.columns()
    for segment in reversed(log.segments):
        if segment.base_offset > (2**63 if wanted.last_offset is None else wanted.last_offset):
            continue
        if search.skips(segment):
            continue
        if columns is not None and (parts := columns.parts_back(segment)) is not None:
            for part in parts:
                for place in reversed(part.batches):
                    yield from reversed(search.matches(segment, segment.batch_at(place)))
            segment.close()
            continue
        for head in segment.headers_back():
            if head.last_offset < search.start:
                return
            if not search.undecided(head) and not search.excludes(head):
                yield from reversed(search.matches(segment, segment.batch_at(head)))
        segment.close()


def count_in(log: PartitionLog, wanted: RecordFilter, report: SearchReport) -> int:
    """The number of matching records of a log; from headers alone where possible. Raises as `records_of`."""
    report.partitions += 1
    _load_columns([log], wanted, counting=True)
    search = _Search(log, wanted, report)
    number = 0
    if not search.begin(max(log.start_offset, min(wanted.first_offset or 0, log.end_offset))):
        return 0

    def counted(head: BatchHeader) -> bool:
        nonlocal number
        if search.excludes(head):
            return True
        within = wanted.last_offset is None or head.last_offset <= wanted.last_offset
        if not (
            wanted.takes_all_of(head)
            and within
            and head.first_known >= search.start
            and head.count is not None
        ):
            return False
        if not search.undecided(head):
            number += head.count
            report.found += head.count
        return True

    def in_columns(segment: Segment, position: int, order: Order) -> Iterator[Part]:
        nonlocal number
        for part in columns.parts(segment, position, order) if columns is not None else ():
            number += part.counted
            yield part

    columns = search.columns(counting=True)
    for segment, batch in log.batches_but(search.start, counted, search.skips, parts=in_columns):
        if search.undecided(batch):
            break
        if isinstance(batch, Batch):
            number += len(search.matches(segment, batch))
    return number


def _load_columns(logs: Sequence[PartitionLog], wanted: RecordFilter, *, counting: bool = False) -> None:
    def sizes() -> Iterator[int]:
        for log in logs:
            # whoever reads it reports that
            with suppress(OSError):
                yield from (each.size for each in log.files.segments)

    load_columns(wanted, counting, sizes())


Failed = Callable[["PartitionLog", Exception], None]


def _raise(_: PartitionLog, error: Exception) -> None:
    raise error


def find_records(
    logs: Sequence[PartitionLog],
    wanted: RecordFilter,
    *,
    first: int | None = None,
    last: int | None = None,
    threads: int | None = None,
    report: SearchReport | None = None,
    failed: Failed = _raise,
) -> Iterator[FoundRecord]:
    """The records of several logs that match: log by log, each by offset; several logs are read at once.

    With `first` or `last`, that many of all, by timestamp, the oldest first; within a log the
    order is that of offsets, regardless of timestamps.

    Args:
        threads: how many logs are read at once; None: one per core.
        report: counts what was read; complete once the iteration has ended.
        failed: called with a log that cannot be read further, and the error; the others continue. By default
            the error is raised.
    """
    if first is not None and last is not None:
        raise ArgumentError("give first or last, not both")
    for name, number in (("first", first), ("last", last), ("threads", threads)):
        if number is not None:
            require_integer(name, number, 1)
    _load_columns(logs, wanted)
    search = _Several(logs, wanted, threads or cores(), report or SearchReport(), failed)
    if last is not None:
        return iter(list(islice(search.by_time(newest_first=True), last))[::-1])
    if first is not None:
        return islice(search.by_time(newest_first=False), first)
    return search.one_by_one()


def count_records(
    logs: Sequence[PartitionLog],
    wanted: RecordFilter,
    *,
    threads: int | None = None,
    report: SearchReport | None = None,
    failed: Failed = _raise,
) -> int:
    """How many records of several logs are wanted, of those that can be read; the rest as `find_records`."""
    if threads is not None:
        require_integer("threads", threads, 1)
    _load_columns(logs, wanted, counting=True)
    reports = [SearchReport() for _ in logs]

    def counted(number: int) -> int | Exception:
        try:
            with logs[number] as log:
                return log.count_records(wanted, report=reports[number])
        except Exception as error:
            return error

    from concurrent.futures import ThreadPoolExecutor

    total = 0
    with ThreadPoolExecutor(threads or cores(), "kodec-count") as pool:
        for log, number in zip(logs, pool.map(counted, range(len(logs))), strict=True):
            if isinstance(number, Exception):
                failed(log, number)
            else:
                total += number
    for own in reports:
        (report or SearchReport()).add(own)
    return total


@dataclass(frozen=True, slots=True)
class _Several:
    """A search in several logs, which continues in the others if one fails."""

    logs: Sequence[PartitionLog]
    wanted: RecordFilter
    threads: int
    report: SearchReport
    failed: Failed

    def by_time(self, *, newest_first: bool) -> Iterator[FoundRecord]:
        """Records by timestamp. First, one is searched for in every log, several logs at once."""
        reports = [SearchReport() for _ in self.logs]
        open_logs = [
            (log, log.find_records(self.wanted, newest_first=newest_first, report=own))
            for log, own in zip(self.logs, reports, strict=True)
        ]
        waiting: list[tuple[int, int, Record]] = []

        def following(number: int) -> Record | Exception | None:
            try:
                return next(open_logs[number][1], None)
            except Exception as error:
                return error

        def note(number: int, item: Record | Exception | None) -> None:
            if isinstance(item, Exception):
                self.failed(open_logs[number][0], item)
            elif item is not None:
                at = -item.timestamp if newest_first else item.timestamp
                heapq.heappush(waiting, (at, number, item))

        from concurrent.futures import ThreadPoolExecutor

        try:
            with ThreadPoolExecutor(self.threads, "kodec-find") as pool:
                for number, item in enumerate(pool.map(following, range(len(self.logs)))):
                    note(number, item)
            while waiting:
                _, number, record = heapq.heappop(waiting)
                yield FoundRecord(self.logs[number].topic_partition, record)
                note(number, following(number))
        finally:
            for own in reports:
                self.report.add(own)

    def one_by_one(self) -> Iterator[FoundRecord]:
        """Records log by log; a bounded part of the following logs is read ahead."""
        ended = threading.Event()
        queues: list[queue.Queue[list[Record] | Exception | None]] = [
            queue.Queue(_WAITING) for _ in self.logs
        ]
        reports = [SearchReport() for _ in self.logs]

        def put(number: int, item: list[Record] | Exception | None) -> None:
            while not ended.is_set():
                try:
                    queues[number].put(item, timeout=0.1)
                    return
                except queue.Full:
                    continue

        def read(number: int) -> None:
            some: list[Record] = []
            sent = 0.0
            end: Exception | None = None
            try:
                for record in self.logs[number].find_records(self.wanted, report=reports[number]):
                    some.append(record)
                    if len(some) == _TOGETHER or time.monotonic() - sent > _SOON:
                        put(number, some)
                        some, sent = [], time.monotonic()
                    if ended.is_set():
                        return
            except Exception as error:
                end = error
            put(number, some)
            put(number, end)

        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(self.threads, "kodec-find")
        try:
            for number in range(len(self.logs)):
                pool.submit(read, number)
            for log, waiting in zip(self.logs, queues, strict=True):
                while isinstance(item := waiting.get(), list):
                    for record in item:
                        yield FoundRecord(log.topic_partition, record)
                if item is not None:
                    self.failed(log, item)
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)
            for own in reports:
                self.report.add(own)
