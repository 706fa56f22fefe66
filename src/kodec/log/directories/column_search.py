"""Which batches of a segment have records that are wanted: by columns of many batches at once."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from kodec.log import kernel
from kodec.log.backends.arrow import batch_schema, columns_of, is_dense, row_schema
from kodec.log.backends.scan import EVERY, Range, Scan
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import TimestampType
from kodec.log.batches.sizes import HEADS
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.segment import Position, Segment
from kodec.log.directories.transactions import Transactions
from kodec.log.reading.order import Order
from kodec.log.reading.walk import Walk
from kodec.log.selection import chosen_keys, time_range
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError
from kodec.stores.storage import StorePath

if TYPE_CHECKING:
    from kodec.log.backends.native.headers import FileHeaders
    from kodec.log.directories.search_report import SearchReport

__all__ = ["ColumnSearch", "Part", "load_columns"]

# Below that, loading pyarrow takes longer than it saves; and of a segment, looking at columns.
_MOST_WITHOUT, LEAST = 64 << 20, 1 << 20
# The headers of so many batches are checked together: few at first, as the caller may want one record.
FIRST_HEADS, MOST_HEADS = 64, 4096
# Batches at most this number of bytes apart are read together.
_BRIDGED = 256 << 10
_HEADS = (
    *("position", "size", "magic", "base_offset", "last_offset", "count", "max_timestamp", "timestamp_type"),
    *("producer_id", "is_transactional", "is_control"),
)


def _head_sizes(magics: Any) -> Any:
    """The sizes of headers, for an array of their magics."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = pa.array([head.size for head in HEADS.values()], pa.int64())
    return sizes.take(pc.index_in(magics, pa.array(list(HEADS), magics.type)))


def load_columns(criteria: RecordFilter, counting: bool, sizes: Iterable[int]) -> None:
    """Load what makes columns, where it is installed, and of use for logs of these sizes, in bytes."""
    if _narrows(criteria, counting) and kernel.backend() == "native" and sum(sizes) >= _MOST_WITHOUT:
        with suppress(ImportError):
            import pyarrow.compute  # noqa: F401


def _narrows(criteria: RecordFilter, counting: bool) -> bool:
    """Whether headers and columns may leave out more than the offsets do."""
    conditions = criteria.keys, criteria.value_contains, criteria.producer_ids
    return counting or criteria.asks_for_time or any(condition is not None for condition in conditions)


class Part(NamedTuple):
    """What a part of a segment has: whole batches, one behind the other.

    Attributes:
        end: the byte after it; last: its last offset.
        counted: how many records are wanted, where only these are counted, without those in `batches`.
        batches: those that have, or may have, records that are wanted.
    """

    end: int
    last: int
    counted: int
    batches: list[Position]


class _Batch(NamedTuple):
    location: Position
    last: int
    records: int
    is_candidate: bool


@dataclass(slots=True)
class ColumnSearch:
    """Looks for records in a segment, part by part.

    It only leaves out batches whose records were all read, checksum and all, and are not wanted: where
    anything is unusual, it names the batch as one that may have some, or ends.

    Args:
        start: only offsets from there on.
        known: leave out what is aborted; None: nothing is.
        counting: count the records of a batch where all conditions are checked here.
    """

    criteria: RecordFilter
    start: int
    report: SearchReport
    known: Transactions | None = None
    counting: bool = False
    check_crc: bool = True
    _offsets: Range = field(init=False)
    _times: Range = field(init=False)

    def __post_init__(self) -> None:
        criteria = self.criteria
        first, last = criteria.first_offset or 0, criteria.last_offset
        self._offsets = Range(max(self.start, first), EVERY.last if last is None else last)
        self._times = time_range(criteria.timestamps)

    @property
    def is_of_use(self) -> bool:
        """Whether headers and columns may leave out more than the offsets do."""
        loaded = "pyarrow.compute" in sys.modules and kernel.backend() == "native"
        return loaded and _narrows(self.criteria, self.counting)

    @property
    def _reads(self) -> bool:
        """Whether columns of records say more than headers."""
        criteria = self.criteria
        return self._times != EVERY or (criteria.keys, criteria.value_contains) != (None, None)

    @property
    def _decides(self) -> bool:
        """Whether a record is wanted that is not left out here."""
        return not self.criteria.headers and self.criteria.where is None

    def parts(self, segment: Segment, position: int, order: Order) -> Iterator[Part]:
        """The parts from `position` on, as far as all is as it should be; the last batch is in none.

        Whoever takes a part brings `order` on to its end before asking for the next. Raises OSError.
        """
        if segment.size - position < LEAST or self._times.last < self._times.first:
            return
        reopened = segment.reopened()
        if reopened is None:
            return
        file, end = reopened
        with file:
            number = FIRST_HEADS
            while (heads := self._heads(file, position, end, segment, number)) is not None:
                # a batch after it may contradict the last one
                position, heads = heads["position"][-1].as_py(), heads.slice(0, heads.num_rows - 1)
                count = self._in_order(heads, order)
                if count:
                    yield self._part(file, heads.slice(0, count), segment)
                if count < heads.num_rows:
                    return
                number = min(4 * number, MOST_HEADS)

    def parts_back(self, segment: Segment) -> Iterator[Part] | None:
        """All parts of a segment, the last one first; None where something is unusual. Raises OSError."""
        if segment.size < LEAST or (reopened := segment.reopened()) is None:
            return None
        file, end = reopened
        with ExitStack() as opened:
            opened.enter_context(file)
            heads = self._all_heads(file, end, segment)
            if heads is None:
                return None
            return self._parts_back(opened.pop_all(), file, heads, segment)

    def _all_heads(self, file: BinaryIO, end: int, segment: Segment) -> Any:
        """The headers of all batches; None where they are not all, or not in order."""
        import pyarrow as pa

        gathered = self._gathered(file, 0, end, segment, MOST_HEADS)
        heads = [] if gathered is None else list(gathered)
        if not heads or gathered is None or gathered.position != end:
            return None
        whole = pa.concat_batches(heads)
        count = self._in_order(whole, Order(segment.base_offset, None))
        return (
            whole.slice(0, count) if count or whole["base_offset"][0].as_py() > self._offsets.last else None
        )

    def _parts_back(self, opened: ExitStack, file: BinaryIO, heads: Any, segment: Segment) -> Iterator[Part]:
        with opened:
            stop, number = heads.num_rows, FIRST_HEADS
            first = self._offsets.first
            while stop and (
                heads["last_offset"][stop - 1].as_py() >= first
                # records of the batch before a gap may be in it
                or (stop == heads.num_rows or heads["base_offset"][stop].as_py() > first)
            ):
                start = max(stop - number, 0)
                yield self._part(file, heads.slice(start, stop - start), segment)
                stop, number = start, min(4 * number, MOST_HEADS)

    def _heads(self, file: BinaryIO, position: int, end: int, segment: Segment, number: int) -> Any:
        """The headers of the next batches, at least two; None where there are none."""
        gathered = self._gathered(file, position, end, segment, number)
        heads = None if gathered is None else next(iter(gathered), None)
        return None if heads is None or heads.num_rows < 2 else heads

    @staticmethod
    def _gathered(
        file: BinaryIO, position: int, end: int, segment: Segment, number: int
    ) -> FileHeaders | None:
        if isinstance(segment.path, StorePath):
            # each header would be a request
            return None
        options = LogReadOptions(check_crc=False, limits=segment.limits)
        scan = Scan(columns_of(batch_schema(), _HEADS), batch_rows=number)
        return kernel.file_headers(file.fileno(), position, end, scan, options)

    def _in_order(self, heads: Any, order: Order) -> int:
        """How many of the batches are to be looked at; none where their offsets do not ascend."""
        import pyarrow.compute as pc

        first, last = heads["base_offset"], heads["last_offset"]
        ascend = pc.all(pc.greater_equal(last, first)).as_py() and (
            heads.num_rows == 1 or pc.all(pc.greater(first[1:], last[:-1])).as_py()
        )
        records, bare = heads["count"], pc.equal(heads["size"], _head_sizes(heads["magic"]))
        ascend = (
            ascend and pc.all(pc.or_(pc.greater(records, 0), pc.and_(bare, pc.equal(records, 0)))).as_py()
        )
        if not (ascend and order.last < first[0].as_py() and last[-1].as_py() <= order.most):
            return 0
        mask = pc.less_equal(first, self._offsets.last)
        if self.known is not None:
            mask = pc.and_(mask, pc.less(last, self.known.last_stable_offset))
        number: int = pc.sum(mask).as_py()
        return number

    def _part(self, file: BinaryIO, heads: Any, segment: Segment) -> Part:
        import pyarrow.compute as pc

        possible = self._possible(heads)
        whole = pc.and_(possible, self._whole(heads))
        self.report.batches_skipped += heads.num_rows - pc.sum(possible).as_py()
        number, places = 0, []
        if self.counting and self._decides:
            number = pc.sum(heads["count"].filter(whole)).as_py() or 0
            self.report.batches_counted += pc.sum(whole).as_py() or 0
        else:
            places = [batch.location for batch in _listed(heads, whole) if batch.is_candidate]
        partly = _listed(heads, pc.and_not(possible, whole))
        if self._reads:
            for run in _runs(partly):
                counted, having = self._count_in_run(file, run, segment)
                number += counted
                places += having
        else:
            places += [batch.location for batch in partly if batch.is_candidate]
        self.report.found += number
        size, last = heads["size"][-1].as_py(), heads["last_offset"][-1].as_py()
        return Part(heads["position"][-1].as_py() + size, last, number, sorted(places))

    def _possible(self, heads: Any) -> Any:
        """Which batches may have records that are wanted, by their headers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        possible = pc.or_(
            pc.greater_equal(heads["last_offset"], self._offsets.first), pc.invert(is_dense(heads))
        )
        if not self.criteria.control:
            possible = pc.and_not(possible, heads["is_control"])
        if self.criteria.producer_ids is not None:
            ids = pa.array(sorted(self.criteria.producer_ids), pa.int64())
            possible = pc.and_(possible, pc.is_in(heads["producer_id"], ids))
        if self._times != EVERY:
            newest = heads["max_timestamp"].cast(pa.int64())
            timeless = heads["count"].filter(pc.and_(possible, pc.less(newest, 0)))
            self.report.records_timeless += pc.sum(timeless).as_py() or 0
            older = pc.or_(pc.less_equal(newest, self._times.last), pc.invert(_alike(heads)))
            possible = pc.and_(possible, pc.and_(pc.greater_equal(newest, self._times.first), older))
        if self.known is not None:
            transactional = pc.and_not(heads["is_transactional"], heads["is_control"]).to_pylist()
            owners, firsts = heads["producer_id"].to_pylist(), heads["base_offset"].to_pylist()
            committed = [
                not (flag and self.known.drops(owner, first))
                for flag, owner, first in zip(transactional, owners, firsts, strict=True)
            ]
            possible = pc.and_(possible, pa.array(committed, pa.bool_()))
        return possible

    def _whole(self, heads: Any) -> Any:
        """Which batches have nothing but records that are wanted, as far as this is decided here."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if (self.criteria.keys, self.criteria.value_contains) != (None, None):
            return pa.array([False] * heads.num_rows, pa.bool_())
        whole = pc.and_(
            pc.greater_equal(heads["base_offset"], self._offsets.first),
            pc.less_equal(heads["last_offset"], self._offsets.last),
        )
        if self._offsets.last < EVERY.last:
            whole = pc.and_(whole, is_dense(heads))
        return whole if self._times == EVERY else pc.and_(whole, _alike(heads))

    def _count_in_run(
        self, file: BinaryIO, run: Sequence[_Batch], segment: Segment
    ) -> tuple[int, list[Position]]:
        """How many records of adjacent batches are wanted, and which batches have them.

        Where something is unusual there, these are all of them.
        """
        first, last = run[0].location, run[-1].location
        stop = last.position + last.size
        options = LogReadOptions(
            check_crc=self.check_crc, control=self.criteria.control, limits=segment.limits
        )
        file.seek(0)  # from where a walk counts
        walk = Walk(file, options, start=first.position, stop=stop)
        counts = [0] * len(run)
        candidates = [batch.location for batch in run if batch.is_candidate]
        try:
            for columns in walk.items(kernel.row_decoder(self._scan(), options)):
                if not _assign(self._matching(columns), run, counts):
                    return 0, candidates
        except (FormatError, OSError):
            return 0, candidates
        if walk.position != stop:
            return 0, candidates
        report, rows, having = self.report, 0, []
        for batch, number in zip(run, counts, strict=True):
            if not batch.is_candidate:
                continue
            if number and not (self.counting and self._decides):
                having.append(batch.location)
                continue
            rows += number
            report.bytes_read += batch.location.size
            if number:
                report.batches_read += 1
                report.records_read += batch.records
            else:
                report.batches_without += 1
        return rows, having

    def _scan(self) -> Scan:
        names = ["offset"]
        if self.criteria.keys is not None:
            names.append("key")
        if self.criteria.value_contains is not None:
            names.append("value")
        return Scan(columns_of(row_schema(), names), self._offsets, self._times)

    def _matching(self, columns: Any) -> Any:
        """The offsets of the records that are wanted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        offsets = columns["offset"]
        masks = []
        if (keys := self.criteria.keys) is not None:
            masks.append(pc.is_in(columns["key"], pa.array(sorted(chosen_keys(keys) or ()), pa.binary())))
        if (part := self.criteria.value_contains) is not None:
            masks.append(pc.match_substring(columns["value"], part))
        for mask in masks[1:]:
            masks[0] = pc.and_(masks[0], mask)
        return offsets.filter(masks[0]) if masks else offsets


def _alike(heads: Any) -> Any:
    """Which batches have one time for all records, that of the header."""
    import pyarrow.compute as pc

    stamped = pc.equal(heads["timestamp_type"], TimestampType.LOG_APPEND_TIME.value)
    return pc.or_(stamped, pc.equal(heads["count"], 1))


def _listed(heads: Any, candidates: Any) -> list[_Batch]:
    names = ("base_offset", "position", "size", "last_offset", "count")
    rows = zip(*(heads[name].to_pylist() for name in names), candidates.to_pylist(), strict=True)
    return [_Batch(Position(first, position, size), *remaining) for first, position, size, *remaining in rows]


def _runs(batches: Sequence[_Batch]) -> Iterator[Sequence[_Batch]]:
    """The batches that are asked for, in groups with those between them that are not."""
    start = end = 0
    for number, batch in enumerate(batches):
        if not batch.is_candidate:
            continue
        if start < end:
            before = batches[end - 1].location
            if batch.location.position - before.position - before.size > _BRIDGED:
                yield batches[start:end]
                start = number
        else:
            start = number
        end = number + 1
    if start < end:
        yield batches[start:end]


def _assign(offsets: Any, run: Sequence[_Batch], counts: list[int]) -> bool:
    """Count for each batch the offsets that are its own.

    False where they do not ascend, or one is of no batch.
    """
    import pyarrow.compute as pc

    number = len(offsets)
    if not number:
        return True
    if number > 1 and not pc.all(pc.greater(offsets[1:], offsets[:-1])).as_py():
        return False
    view = memoryview(offsets.buffers()[1]).cast("q")[offsets.offset : offsets.offset + number]
    firsts = [batch.location.offset for batch in run]
    index = 0
    while index < number:
        which = bisect_right(firsts, view[index]) - 1
        if which < 0 or view[index] > run[which].last:
            return False
        following = bisect_left(view, run[which].last + 1, index)
        counts[which] += following - index
        index = following
    return True
