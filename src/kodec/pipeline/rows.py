"""Yields the records of a segment as Arrow batches with the columns of Spark's Kafka source.

Follows `org.apache.spark.sql.kafka010.KafkaRecordToRowConverter`: a record without headers has null for
headers, and one without a timestamp (v0) has -1 ms, which is one millisecond before 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kodec.log.backends.arrow import columns_of, headed_schema
from kodec.log.backends.scan import Range, Scan
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.directories.transactions import Transactions, find_transactions
from kodec.log.files.listing import SegmentFiles
from kodec.log.files.tier_view import TierPath, list_tiered
from kodec.log.files.tiered import tiered_folders
from kodec.log.tables.reader import TableReader, scan_rows
from kodec.log.tables.several import part_of
from kodec.pipeline.columns import source_columns
from kodec.pipeline.plan import MOST_LISTINGS, DataLoss, SourceSegment, relisted, shown
from kodec.pipeline.typed import TypedColumns
from kodec.runtime.errors import FormatError, KodecError, ReadFailed
from kodec.runtime.logger import logger

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "FIRST_ROWS",
    "QuarantinedRange",
    "SegmentRows",
    "TimestampOutOfRange",
]

# Spark closes the source once a `limit` is met, so the first batch is small.
FIRST_ROWS = 1_000
# Larger than elsewhere: after each one Spark's JVM has the processor, and its caches, for a while.
BATCH_ROWS = 65_536
BATCH_BYTES = 8 << 20
_DEFAULT = LogReadOptions()


class TimestampOutOfRange(KodecError):
    """A record's timestamp, in ms, does not fit Spark's type, which counts microseconds in 64 bits."""


class QuarantinedRange(NamedTuple):
    """A range that is not among the rows of a segment.

    Attributes:
        kind: `damaged` or `unreadable` (bytes), `torn tail` (the end of the file), `missing` (offsets that no
            segment holds, and that compaction does not explain).
        position, size: in the file, in bytes; None if it is not bytes.
        first_offset, last_offset: of missing ranges, otherwise None.
    """

    path: Path
    kind: str
    message: str
    position: int | None = None
    size: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None

    def __str__(self) -> str:
        place = "" if self.size is None else f": bytes {self.position} to {(self.position or 0) + self.size}"
        return f"{shown(self.path)}{place}: {self.message}"


class SegmentRows:
    """The rows of a piece of a segment as the Arrow batches of `scan_table`.

    Args:
        schema: has any of the source's columns.
        typed: decodes keys and values, if the schema has columns for them.
        options: as in `read_records`.
        committed: leave out the records of aborted transactions (Kafka's read_committed).
        fail_on_loss: raise for missing offsets that compaction does not explain, else log a warning.

    If a broker has replaced or deleted the segment since it was listed, its offsets are read from the
    current segments.

    Raises: with `on_error="raise"` kodec.errors.FormatError at a corrupt batch, and ReadFailed if the file
    has gone or cannot be read; DataLoss; TimestampOutOfRange.
    """

    def __init__(
        self,
        part: SourceSegment,
        schema: pa.Schema,
        *,
        typed: TypedColumns | None = None,
        options: LogReadOptions = _DEFAULT,
        committed: bool = False,
        fail_on_loss: bool = True,
    ) -> None:
        self.part = part
        self.schema = schema
        self._typed = typed
        self._options = options
        self._fail_on_loss = fail_on_loss
        # Data after the end of a piece with a tail is left out by its offsets, after it was checked.
        more = ("offset",) if part.tail and schema.names else ()
        wanted = dict.fromkeys(chain(more, chain.from_iterable(map(source_columns, schema.names))))
        self._scan = Scan(
            columns_of(headed_schema(), wanted),
            _range(part),
            batch_rows=BATCH_ROWS,
            batch_bytes=BATCH_BYTES,
            topic=part.topic_partition.topic,
        )
        self._filled: dict[str, pa.Array] = {}
        self._left: list[QuarantinedRange] = []
        self._readers: list[TableReader] = []
        # A file whose size has changed since, and segments that replaced a missing one.
        self._replaced = self._relisted = False
        try:
            self._drops = self._aborted() if committed else None
            self._open()
        except OSError as error:
            # A broker deletes segments, and disks die: the other segments are still read, if so configured.
            failed = ReadFailed.of(error, source=shown(part.segment.log))
            if options.on_error == "raise":
                raise failed from error
            self._leave(QuarantinedRange(part.segment.log, "unreadable", str(failed)))

    # -- opening ----------------------------------------------------------------------------------

    def _open(self) -> None:
        part = self.part
        try:
            # One with another size comes from the cleaner: it may hold records of those after it too.
            size = part.segment.log.stat().st_size
            self._replaced = part.after is not None and size != part.segment.size and not part.tiered
            self._readers = [self._reader(part.segment)]
            return
        except FileNotFoundError as error:
            if part.tiered:
                raise
            gone = error
        self._replaced = self._relisted = True
        for _ in range(MOST_LISTINGS):
            try:
                found = self._now()
                if found is None:
                    break
                self._readers = [self._reader(each) for each in found]
                return
            except FileNotFoundError:
                # Deleted since it was listed a moment ago.
                continue
        raise gone

    def _require_start(self, found: list[SegmentFiles]) -> None:
        """If offsets were requested by number, report those that a broker has deleted. Raises DataLoss."""
        part = self.part
        start = min((each.base_offset for each in found), default=part.stop or part.start + 1)
        if part.is_requested and start > part.start:
            text = f"offsets {part.start} to {start - 1} of {part.topic_partition} were deleted meanwhile"
            self._lose(text, part.start, start - 1)

    def _lose(self, text: str, first: int, last: int) -> None:
        path = self.part.segment.log
        if self._fail_on_loss:
            raise DataLoss(f"{shown(path)}: {text}; failOnDataLoss=false reads on")
        self._leave(QuarantinedRange(path, "missing", text, first_offset=first, last_offset=last))

    def _reader(self, files: SegmentFiles, lowest: int = 0) -> TableReader:
        """The reader of a file; limited to the offsets that belong to the piece, and not below `lowest`."""
        part, scan = self.part, self._scan
        first, last = scan.offsets
        if self._replaced or lowest:
            first = max(first, part.segment.base_offset, lowest)
            last = last if part.stop is None else min(last, part.stop - 1)
        # A tail is checked for damage, as far as the segment went when it was listed.
        tail = part.tail and files is part.segment
        # A file that replaces the listed one may contain the records of the next one.
        after = part.after if files is part.segment and not (self._replaced or part.tiered) else None
        ends = self.part.end is not None
        found = part_of(files, Range(first, last), self._options, after=after, ends=ends)
        return scan_rows(
            files.log,
            replace(scan, offsets=found.offsets),
            self._options,
            order=found.order,
            start=found.start,
            stop=files.size if tail else found.stop,
            last=None if tail else last,
            drops=self._drops,
        )

    def _now(self) -> list[SegmentFiles] | None:
        """The segments that may now hold the records of one that is gone.

        [] if retention has deleted it, None if neither retention nor compaction can have.
        """
        base = self.part.segment.base_offset
        log = PartitionLog(self.part.segment.log.parent)
        found = _covering(log, base, self.part.after)
        if found and found[-1].base_offset < base and Segment(found[-1]).next_offset <= base:
            # Compaction may have left nothing of it, but not of the last one; nothing else deletes from the
            # middle of a log.
            after = min(
                (each.base_offset for each in log.files.segments if each.base_offset > base), default=None
            )
            if after is None or self.part.after is None:
                return None
            with log:
                return [] if explain_gap(log, base, after - 1).is_explained else None
        self._require_start(found)
        return found

    # -- rows -------------------------------------------------------------------------------------

    def batches(self, first_rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Decode; the first batch has at most `first_rows` rows."""
        try:
            for found in self._found():
                batch = self._batch(found)
                if first_rows is not None and batch.num_rows > first_rows:
                    yield batch.slice(0, first_rows)
                    batch = batch.slice(first_rows)
                first_rows = None
                yield batch
        except (FormatError, ReadFailed) as error:
            raise error.in_source(shown(error.source or self.part.segment.log)) from None

    def _found(self) -> Iterator[pa.RecordBatch]:
        for reader in self._readers:
            with reader:
                yield from reader
            self._note(reader)
            for more in self._late(reader):
                with more:
                    yield from more
                self._note(more)

    def _aborted(self) -> Callable[[Batch], bool] | None:
        """A function that tests whether a batch is of an aborted transaction; None if none is."""
        part = self.part
        found = _transactions(part.segment.log.parent, part.tiered, part.start, part.stop, self._options)
        stop = 2**63 if part.stop is None else part.stop
        if not any(each.first_offset < stop and each.last_offset >= part.start for each in found.aborted):
            return None

        def drops(batch: Batch) -> bool:
            data = batch.is_transactional and not batch.is_control
            return data and found.drops(batch.producer_id, batch.base_offset)

        return drops

    def _batch(self, found: pa.RecordBatch) -> pa.RecordBatch:
        if not self.schema.names:
            return found
        if self.part.tail and (last := pc.max(found["offset"]).as_py()) is not None and last >= self.part.end:
            found = found.filter(pc.less(found["offset"], self.part.end))
        topic = self.part.topic_partition.topic
        typed = {} if self._typed is None else self._typed.of(found, topic, self.schema.names)
        arrays = [
            typed[field.name] if field.name in typed else self._column(field, found) for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, field: pa.Field, found: pa.RecordBatch) -> pa.Array:
        match field.name:
            case "topic":
                return self._same(field, self.part.topic_partition.topic, found.num_rows)
            case "partition":
                return self._same(field, self.part.topic_partition.partition, found.num_rows)
            case "file":
                return self._same(field, shown(self.part.segment.log), found.num_rows)
            case "timestamp":
                return self._micros(found, field.type)
            case "headers":
                return _headers(found["headers"], field.type)
            case name:
                values = found[source_columns(name)[0]]
                return values if values.type == field.type else values.cast(field.type)

    def _same(self, field: pa.Field, value: str | int, rows: int) -> pa.Array:
        """A column with the same value in all rows: it is filled once, and each batch has a slice of it."""
        filled = self._filled.get(field.name)
        if filled is None or len(filled) < rows:
            filled = self._filled[field.name] = pa.repeat(pa.scalar(value, field.type), rows)
        return filled.slice(0, rows)

    def _micros(self, found: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        try:
            return found["timestamp"].cast(kind)
        except pa.ArrowInvalid:
            millis = found["timestamp"].cast(pa.int64())
        most = (2**63 - 1) // 1000
        at = pc.index(pc.or_(pc.less(millis, -most), pc.greater(millis, most)), True).as_py()
        raise TimestampOutOfRange(
            f"{shown(self.part.segment.log)}: the timestamp {millis[at]} ms at offset {found['offset'][at]} "
            "is outside Spark's range of timestamps"
        )

    # -- ranges that are not among the rows -------------------------------------------------------

    @property
    def left(self) -> list[QuarantinedRange]:
        """The omitted ranges, known after the iteration."""
        return self._left

    def _leave(self, left: QuarantinedRange) -> None:
        self._left.append(left)
        logger().warning("skipped: %s", left)

    def _note(self, reader: TableReader) -> None:
        path = self.part.segment.log
        for lost in reader.skipped:
            kind = "unreadable" if isinstance(lost.error, ReadFailed) else "damaged"
            self._left.append(
                QuarantinedRange(path, kind, str(lost.error), lost.start, lost.end - lost.start)
            )
        if (more := reader.skipped.omitted) > 0:
            text = f"{more} more ranges, {reader.skipped.omitted_bytes} bytes"
            self._left.append(QuarantinedRange(path, "damaged", text))
        if (tail := reader.torn_tail) is not None:
            self._left.append(QuarantinedRange(path, "torn tail", tail.reason, tail.position, tail.size))

    @relisted
    def _late(self, reader: TableReader) -> list[TableReader]:
        """The readers of segments with the offsets missing after this one, if a broker has created them
        since.

        If there are none, reports which of the offsets up to the next segment, or the requested end,
        are missing. Damage skipped at the end explains missing offsets, as does compaction. Raises
        DataLoss.
        """
        part, order, skipped = self.part, reader.order, reader.skipped
        if part.stop is None or order is None or self._relisted:
            return []
        if skipped and skipped.end >= reader.position:
            return []
        wanted = self._scan.offsets
        first, last = max(order.last + 1, part.start, wanted.first), min(part.stop - 1, wanted.last)
        if first > last:
            return []
        tail = reader.torn_tail
        if not part.tiered:
            # A listing of a folder that changes is not of one moment: it may have a segment, and not the one
            # before.
            log = PartitionLog(part.segment.log.parent)
            base = part.segment.base_offset
            if found := [each for each in _covering(log, first, last + 1) if each.base_offset > base]:
                return [self._reader(each, first) for each in found]
            if not part.is_requested and all(each.base_offset > last for each in log.files.segments):
                return []
            # An end moves back by truncation alone: compaction leaves the last segment as it is.
            shrunk = part.after is None and all(each.base_offset <= base for each in log.files.segments)
            if tail is None and not shrunk:
                with log:
                    first = explain_gap(log, first, last).lost
                if first > last:
                    return []
        owner = part.topic_partition
        if tail is not None:
            text = f"offsets {first} to {last} of {owner} are missing: it ends in a torn tail, {tail.reason}"
        else:
            text = f"offsets {first} to {last} of {owner} are in no segment, and not for compaction"
        self._lose(text, first, last)
        return []


def _covering(log: PartitionLog, first: int, stop: int | None) -> list[SegmentFiles]:
    """The segments that may hold offsets from `first` on and below `stop`."""
    segments = log.files.segments
    following = [*(each.base_offset for each in segments[1:]), None]
    return [
        each
        for each, after in zip(segments, following, strict=False)
        if (stop is None or each.base_offset < stop) and (after is None or after > first)
    ]


def _range(part: SourceSegment) -> Range:
    """The selected offsets of a segment: as a range only if it may have others, which is faster."""
    first = part.first if part.first > part.segment.base_offset else None
    return Range.of("offsets", (first, None if part.end is None or part.tail else part.end - 1))


@relisted
def _transactions(
    folder: Path, tiered: bool, start: int, stop: int | None, options: LogReadOptions
) -> Transactions:
    """The aborted transactions with records from `start` on and below `stop`. Raises FormatError."""
    if tiered:
        files = list_tiered(tiered_folders(folder.tier if isinstance(folder, TierPath) else folder)[0])
        snapshots: dict[int, Path] = {}
    else:
        listed = PartitionLog(folder, limits=options.limits).files
        files, snapshots = listed.segments, dict(listed.snapshots)
    segments = [Segment(each, options.limits) for each in files]
    number = max(sum(each.base_offset <= start for each in segments) - 1, 0)
    try:
        return find_transactions(
            segments, snapshots, number, 2**63 - 1, until=2**63 - 1 if stop is None else stop
        )
    finally:
        for segment in segments:
            segment.close()


def _headers(lists: pa.Array, kind: pa.DataType) -> pa.Array:
    bounds = lists.offsets
    if lists.offset:
        bounds = pc.add(bounds, 0)
    return pa.ListArray.from_arrays(
        bounds, lists.values.cast(kind.value_type), type=kind, mask=pc.equal(pc.list_value_length(lists), 0)
    )
