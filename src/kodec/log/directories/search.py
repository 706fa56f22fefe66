"""Searches logs for records: data excluded by indexes, headers and raw bytes is not decoded."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from typing import Generic, TypeVar

from kodec.log.arguments import require_integer
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Record
from kodec.log.directories.batch_walk import batches_from
from kodec.log.directories.column_search import ColumnSearch, Part, load_columns
from kodec.log.directories.losses import report_gap, require_end, require_start
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.search_report import SearchReport
from kodec.log.directories.searchable import Searchable
from kodec.log.directories.segment import BatchHeader, Segment
from kodec.log.directories.transactions import Transactions
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.reading.ahead import cores
from kodec.log.reading.order import Order
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import ArgumentError, FormatError
from kodec.stores.storage import StorePath

__all__ = [
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


@dataclass(slots=True)
class _Search:
    """A search in the log of one topic-partition, as it was listed."""

    log: Searchable
    criteria: RecordFilter
    report: SearchReport
    omissions: Omissions | None = None
    check_crc: bool = True
    use_index: bool = True
    first: int = 0
    start: int = field(init=False, default=0)
    known: Transactions | None = field(init=False, default=None)
    _counted: list[Segment] = field(init=False, default_factory=list)
    _timeless_before: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.criteria = self.criteria.of_topic(self.log.topic_partition.topic)
        self._timeless_before = self.report.records_timeless

    def begin(self, offset: int) -> bool:
        """Find the offset from which records can match; whether there are any. Raises OffsetOutOfRange."""
        log, since = self.log, self.criteria.since
        log.require_offset(offset)
        self.start = offset
        if since is not None and since > 0:
            first = log.find_timestamp(since, use_index=self.use_index)
            # lost records may have been as new
            self._report_gaps(offset, log.end_offset if first is None else first.offset)
            for segment in log.segments:
                if segment.base_offset < (log.end_offset if first is None else first.offset):
                    self._count_timeless(segment)
            if first is None:
                self.report.segments_skipped += len(log.segments)
                return False
            self.start = max(offset, first.offset)
        if self.criteria.isolation == "read_committed":
            self.known = log.transactions(self.start, use_index=self.use_index)
            last = self.criteria.last_offset
            within = last is None or last >= self.known.last_stable_offset
            if (
                within
                and self.omissions is not None
                and (omission := self.known.undecided(log.path)) is not None
            ):
                self.omissions.add(omission)
        return True

    def _report_gaps(self, start: int, stop: int) -> None:
        """Report offsets that no segment has, from `start` on and below `stop`. Raises OffsetsMissing."""
        segments = [segment for segment in self.log.segments if segment.base_offset < stop]
        for before, segment in pairwise(segments):
            self.report_gap(before, segment, start)

    def report_gap(self, before: Segment, segment: Segment, start: int) -> None:
        """Report offsets between two segments, from `start` on. Raises OffsetsMissing."""
        if segment.base_offset > start and (first := max(before.next_offset, start)) < segment.base_offset:
            last = segment.base_offset - 1
            report_gap(self.log, before.path, before.torn_tail, first, last, self.omissions)

    def skips(self, segment: Segment) -> bool:
        """Whether all of a segment is too old."""
        since = self.criteria.since
        if since is None or since <= 0:
            return False
        largest = segment.largest_timestamp(use_index=self.use_index)
        if largest is not None and largest[0] >= since:
            return False
        self.report.segments_skipped += 1
        self._count_timeless(segment)
        return True

    def _count_timeless(self, segment: Segment) -> None:
        """Count the records of a segment that is too old for the search as none of them has a time."""
        # of a store each header is a request
        if not isinstance(segment.path, StorePath) and segment.size and segment not in self._counted:
            self._counted.append(segment)
            with suppress(FormatError):  # whoever reads it reports that
                if segment.largest_timestamp(use_index=self.use_index) is None:
                    for head in segment.headers():
                        self._take_timeless(head)

    def _take_timeless(self, head: BatchHeader) -> None:
        if head.max_timestamp < 0 and head.last_offset >= self.start and self.criteria.asks_for_time:
            others = replace(self.criteria, timestamps=None)
            if not others.excludes(head):
                # of a wrapper the number of records is not known without its content
                self.report.records_timeless += 1 if head.count is None else head.count

    def excludes(self, head: BatchHeader) -> bool:
        self._take_timeless(head)
        if self.criteria.excludes(head) or (
            self.known is not None
            and head.is_transactional
            and not head.is_control
            and self.known.drops(head.producer_id, head.first_known)
        ):
            self.report.batches_skipped += 1
            return True
        return False

    def report_end(self) -> None:
        """Report offsets that are selected and in no segment: moved before the first, or lost after the last.

        Raises: OffsetsMissing.
        """
        log, last = self.log, self.criteria.last_offset
        require_start(log, self.first, last, self.omissions)
        # of a store each checkpoint is a request
        if (last is None or last >= log.end_offset) and not isinstance(log.path, StorePath):
            require_end(log, self.omissions)
            if self.omissions is not None and log.segments and log.end_offset:
                newest = log.segments[-1]
                if newest.torn_tail is not None:
                    self.omissions.torn_tail(newest.path, newest.torn_tail, is_last=True)

    def report_timeless(self) -> None:
        """Report the records that were left out as no time is known of them, which is no error."""
        number = self.report.records_timeless - self._timeless_before
        if number and self.omissions is not None:
            text = "whether they are in the range of time is not known, as they have no time"
            self.omissions.add(
                Omission(Cause.UNKNOWN, self.log.path, f"records left out: {text}", records=number)
            )

    @property
    def by_header(self) -> Callable[[BatchHeader], bool] | None:
        """`excludes`; None if no header excludes more than batches without records."""
        alike = replace(
            RecordFilter(), control=self.criteria.control, offsets=(self.criteria.first_offset, None)
        )
        return None if self.criteria == alike else self.excludes

    def columns(self, *, counting: bool = False) -> ColumnSearch | None:
        """What looks at the columns of many batches at once; None where that is of no use."""
        search = ColumnSearch(self.criteria, self.start, self.report, self.known, counting, self.check_crc)
        return search if search.is_of_use else None

    def parts(self, *, counting: bool = False) -> Callable[[Segment, int, Order], Iterator[Part]] | None:
        """The same, as `batches_from` takes it."""
        columns = self.columns(counting=counting)
        return None if columns is None else columns.parts

    def undecided(self, batch: Batch | BatchHeader) -> bool:
        """Whether a batch is not before the last stable offset."""
        return self.known is not None and batch.last_offset >= self.known.last_stable_offset

    def matches(self, segment: Segment, batch: Batch) -> list[Record]:
        """The records of a batch that match."""
        report, criteria = self.report, self.criteria
        report.bytes_read += batch.size
        if any(not batch.may_hold(needle) for needle in criteria.needles):
            report.batches_without += 1
            return []
        records = segment.records_of(batch, control=criteria.control, check_crc=self.check_crc)
        report.batches_read += 1
        report.records_read += len(records)
        inside = batch.base_offset >= self.start if batch.is_list else False
        if not (inside and criteria.takes_all and criteria.last_offset is None):
            records = [
                record for record in records if record.offset >= self.start and criteria.matches(record)
            ]
        report.found += len(records)
        return records


def records_of(
    log: Searchable,
    offset: int | None,
    criteria: RecordFilter,
    report: SearchReport,
    omissions: Omissions | None = None,
    **reading: bool,
) -> Iterator[Record]:
    """The records of a log that match, from `offset` (None: the start) on.

    Raises OffsetOutOfRange, when the iteration begins; OffsetsMissing without `omissions`; FormatError,
    OSError.
    """

    def listed(log: Searchable, offset: int | None) -> Iterator[tuple[int, Record]]:
        # `offset` may be the start of what is here
        first_offset = criteria.first_offset if criteria.first_offset is not None else offset or 0
        search = _Search(log, criteria, report, omissions, first=first_offset, **reading)
        if not search.begin(log.start_offset if offset is None else offset):
            search.report_end()
            search.report_timeless()
            return
        batches = batches_from(
            log,
            search.start,
            search.by_header,
            search.skips,
            parts=search.parts(),
            omissions=omissions,
            **reading,
        )
        for segment, batch in batches:
            if search.undecided(batch) or (isinstance(batch, BatchHeader) and criteria.ends_before(batch)):
                return
            if isinstance(batch, Batch):
                for record in search.matches(segment, batch):
                    yield record.offset + 1, record
        search.report_end()
        search.report_timeless()

    report.partitions += 1
    _load_columns([log], criteria)
    return log.relisted(listed, offset)


def records_back(
    log: Searchable, criteria: RecordFilter, report: SearchReport, omissions: Omissions | None = None
) -> Iterator[Record]:
    """The records of a log that match, the one with the largest offset first.

    Offsets between batches are not compared. Raises OffsetsMissing without `omissions`; FormatError, OSError.
    """
    report.partitions += 1
    _load_columns([log], criteria)
    search = _Search(log, criteria, report, omissions, first=criteria.first_offset or 0)
    search.report_end()
    if not search.begin(max(log.start_offset, min(criteria.first_offset or 0, log.end_offset))):
        search.report_timeless()
        return
    columns, after = search.columns(), None
    for segment in reversed(log.segments):
        if after is not None:
            search.report_gap(segment, after, search.start)
        above = 2**63 if after is None else after.base_offset
        after = segment
        if segment.base_offset > (2**63 if criteria.last_offset is None else criteria.last_offset):
            continue
        if search.skips(segment):
            continue
        if columns is not None and (parts := columns.parts_back(segment)) is not None:
            for part in parts:
                for location in reversed(part.batches):
                    yield from reversed(search.matches(segment, segment.batch_at(location)))
            segment.close()
            continue
        for head in segment.headers_back():
            # records of the batch before a gap may be in it
            if head.last_offset < search.start and above <= search.start:
                search.report_timeless()
                return
            above = head.first_known
            if not search.undecided(head) and not search.excludes(head):
                yield from reversed(search.matches(segment, segment.batch_at(head)))
        segment.close()
    search.report_timeless()


def count_in(
    log: Searchable, criteria: RecordFilter, report: SearchReport, omissions: Omissions | None = None
) -> int:
    """The number of matching records of a log; from headers alone where possible. Raises as `records_of`."""
    report.partitions += 1
    _load_columns([log], criteria, counting=True)
    search = _Search(log, criteria, report, omissions, first=criteria.first_offset or 0)
    number = 0
    search.report_end()
    if not search.begin(max(log.start_offset, min(criteria.first_offset or 0, log.end_offset))):
        search.report_timeless()
        return 0

    def counted(head: BatchHeader) -> bool:
        nonlocal number
        if search.excludes(head):
            return True
        within = criteria.last_offset is None or (head.is_dense and head.last_offset <= criteria.last_offset)
        if not (
            criteria.takes_all_of(head)
            and within
            and head.first_known >= search.start
            and head.count is not None
        ):
            return False
        if not search.undecided(head):
            number += head.count
            report.found += head.count
            report.batches_counted += 1
        return True

    def in_columns(segment: Segment, position: int, order: Order) -> Iterator[Part]:
        nonlocal number
        for part in columns.parts(segment, position, order) if columns is not None else ():
            number += part.counted
            yield part

    columns = search.columns(counting=True)
    batches = batches_from(log, search.start, counted, search.skips, parts=in_columns, omissions=omissions)
    for segment, batch in batches:
        if search.undecided(batch):
            break
        if isinstance(batch, Batch):
            number += len(search.matches(segment, batch))
    search.report_timeless()
    return number


def _load_columns(logs: Sequence[Searchable], criteria: RecordFilter, *, counting: bool = False) -> None:
    def sizes() -> Iterator[int]:
        for log in logs:
            # whoever reads it reports that
            with suppress(OSError):
                yield from (segment.size for segment in log.files.segments)

    load_columns(criteria, counting, sizes())


L = TypeVar("L", bound=Searchable)


def _raise(_: Searchable, error: Exception) -> None:
    raise error


def find_records(
    logs: Sequence[L],
    criteria: RecordFilter,
    *,
    first: int | None = None,
    last: int | None = None,
    threads: int | None = None,
    report: SearchReport | None = None,
    omissions: Omissions | None = None,
    failed: Callable[[L, Exception], None] = _raise,
) -> Iterator[Record]:
    """The records of several logs that match: log by log, each by offset; several logs are read at once.

    With `first` or `last`, that many of all, by timestamp, the oldest first; within a log the
    order is that of offsets, regardless of timestamps.

    Args:
        threads: how many logs are read at once; None: one per core.
        report: counts what was read; complete once the iteration has ended.
        omissions: takes lost offsets, which raise OffsetsMissing without it.
        failed: called with a log that cannot be read further, and the error; the others continue. By default
            the error is raised.
    """
    if first is not None and last is not None:
        raise ArgumentError("give first or last, not both")
    for name, number in (("first", first), ("last", last), ("threads", threads)):
        if number is not None:
            require_integer(name, number, 1)
    _load_columns(logs, criteria)
    search = _Several(logs, criteria, threads or cores(), report or SearchReport(), omissions, failed)
    if last is not None:
        return iter(list(islice(search.by_time(newest_first=True), last))[::-1])
    if first is not None:
        return islice(search.by_time(newest_first=False), first)
    return search.one_by_one()


def count_records(
    logs: Sequence[L],
    criteria: RecordFilter,
    *,
    threads: int | None = None,
    report: SearchReport | None = None,
    omissions: Omissions | None = None,
    failed: Callable[[L, Exception], None] = _raise,
) -> int:
    """How many records of several logs are wanted, of those that can be read; the rest as `find_records`."""
    if threads is not None:
        require_integer("threads", threads, 1)
    _load_columns(logs, criteria, counting=True)
    reports = [SearchReport() for _ in logs]

    def counted(number: int) -> int | Exception:
        try:
            with logs[number] as log:
                return log.count_records(criteria, report=reports[number], omissions=omissions)
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
    for log_report in reports:
        (report or SearchReport()).add(log_report)
    return total


@dataclass(frozen=True, slots=True)
class _Several(Generic[L]):
    """A search in several logs, which continues in the others if one fails."""

    logs: Sequence[L]
    criteria: RecordFilter
    threads: int
    report: SearchReport
    omissions: Omissions | None
    failed: Callable[[L, Exception], None]

    def _find(self, log: Searchable, report: SearchReport, *, newest_first: bool = False) -> Iterator[Record]:
        return log.find_records(
            self.criteria, newest_first=newest_first, report=report, omissions=self.omissions
        )

    def by_time(self, *, newest_first: bool) -> Iterator[Record]:
        """Records by timestamp. First, one is searched for in every log, several logs at once."""
        reports = [SearchReport() for _ in self.logs]
        open_logs = [
            (log, self._find(log, log_report, newest_first=newest_first))
            for log, log_report in zip(self.logs, reports, strict=True)
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
                rank = -item.timestamp if newest_first else item.timestamp
                heapq.heappush(waiting, (rank, number, item))

        from concurrent.futures import ThreadPoolExecutor

        try:
            with ThreadPoolExecutor(self.threads, "kodec-find") as pool:
                for number, item in enumerate(pool.map(following, range(len(self.logs)))):
                    note(number, item)
            while waiting:
                _, number, record = heapq.heappop(waiting)
                yield record
                note(number, following(number))
        finally:
            for log_report in reports:
                self.report.add(log_report)

    def one_by_one(self) -> Iterator[Record]:
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
                for record in self._find(self.logs[number], reports[number]):
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
                    yield from item
                if item is not None:
                    self.failed(log, item)
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)
            for log_report in reports:
                self.report.add(log_report)
