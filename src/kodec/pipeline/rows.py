"""Yields the records of a segment as Arrow batches with the columns of Spark's Kafka source.

Follows `org.apache.spark.sql.kafka010.KafkaRecordToRowConverter`: a record without headers has null for
headers, and one without a timestamp (v0) has -1 ms, which is one millisecond before 1970.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kodec.log.backends.arrow import columns_of, headed_schema
from kodec.log.backends.scan import EVERY, Range, Scan
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.directories.transactions import Transactions, find_aborted
from kodec.log.files.listing import SegmentFiles
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.remote.names import tiered_folders
from kodec.log.remote.tier import list_tiered, remote_of
from kodec.log.selection import offset_range
from kodec.log.tables.reader import TableReader, scan_rows
from kodec.log.tables.several import part_of
from kodec.pipeline.columns import source_columns
from kodec.pipeline.plan import MOST_LISTINGS, DataLoss, SourceSegment, read_failed, relisted, shown
from kodec.pipeline.typed import TypedColumns
from kodec.runtime.errors import FormatError, KodecError, ReadFailed
from kodec.stores.storage import StorePath

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "FIRST_ROWS",
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
    """A record's timestamp, in ms, does not fit a column of Spark, Parquet or a table, which counts
    microseconds in 64 bits."""


class SegmentRows:
    """The rows of a piece of a segment as the Arrow batches of `scan_table`.

    Args:
        schema: has any of the source's columns.
        typed: decodes keys and values, if the schema has columns for them.
        options: as in `read_records`.
        committed: leave out the records of aborted transactions (Kafka's read_committed).
        fail_on_loss: raise for missing offsets that compaction does not explain.
        exact_headers: keys of headers that are not UTF-8 keep their bytes, as `header_keys.exact` writes
            them; otherwise characters of them are replaced, as by Kafka's own clients.
        timestamps: only rows with a time in this range, in ms.

    Attributes:
        omissions: what is not among the rows, known after the iteration.

    If a broker has replaced or deleted the segment since it was listed, its offsets are read from the
    current segments.

    Raises: with `on_error="raise"` kodec.errors.FormatError at a corrupt batch; unless it is
    `skip-unreachable`, ReadFailed if the file cannot be read; DataLoss; TimestampOutOfRange with
    `on_error="raise"`, otherwise the record is left out.
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
        exact_headers: bool = False,
        timestamps: Range = EVERY,
    ) -> None:
        self.part = part
        self.schema = schema
        self._typed = typed
        self._options = options
        self._fail_on_loss = fail_on_loss
        # Data after the end of a piece with a tail is left out by its offsets, after it was checked; records
        # that columns cannot hold are named by theirs.
        by_offset = part.tail or "timestamp" in schema.names
        more = ("offset",) if by_offset and schema.names else ()
        source_names = dict.fromkeys(chain(more, chain.from_iterable(map(source_columns, schema.names))))
        self._scan = Scan(
            columns_of(headed_schema(), source_names),
            _range(part),
            timestamps,
            batch_rows=BATCH_ROWS,
            batch_bytes=BATCH_BYTES,
            topic=part.topic_partition.topic,
            exact_keys=exact_headers,
        )
        self._filled: dict[str, pa.Array] = {}
        self.omissions = Omissions()
        self._readers: list[TableReader] = []
        # A file whose size has changed since, and segments that replaced a missing one.
        self._replaced = self._relisted = False
        try:
            self._drops = self._aborted() if committed else None
            self._open()
        except OSError as error:
            self._unreachable(error)

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
                files = self._current_segments()
                if files is None:
                    self._report_missing(gone)
                    return
                self._readers = [self._reader(segment) for segment in files]
                return
            except FileNotFoundError:
                # Deleted since it was listed a moment ago.
                continue
        if isinstance(part.segment.log, StorePath) or os.path.lexists(part.segment.log.parent):
            raise gone
        self._report_missing(gone)

    def _report_missing(self, error: FileNotFoundError) -> None:
        """Report offsets whose segment is gone, and neither for retention nor for compaction."""
        if self._fail_on_loss:
            raise error
        self._lose(f"are missing: {error.strerror}", self.part.start, self._last)

    def _unreachable(self, error: OSError) -> None:
        """Leave out what is there and cannot be read, if so configured; else raise ReadFailed."""
        failed = read_failed(error, self.part.segment.log)
        if not self._options.skips_unreachable:
            raise failed from (None if failed is error else error)
        self.omissions.failed(self.part.segment.log, failed)

    @property
    def _last(self) -> int | None:
        return None if self.part.stop is None else self.part.stop - 1

    def _require_start(self, files: list[SegmentFiles]) -> None:
        """If offsets were requested by number, report those that a broker has deleted. Raises DataLoss."""
        part = self.part
        start = min((segment.base_offset for segment in files), default=part.stop or part.start + 1)
        if part.is_requested and start > part.start:
            self._lose("were deleted meanwhile", part.start, start - 1)

    def _lose(self, what: str, first: int, last: int | None) -> None:
        part = self.part
        which = f"offsets {first} {'on' if last is None else f'to {last}'} of {part.topic_partition}"
        text = f"{which} {what}"
        self._report(Omission(Cause.MISSING, part.segment.log, text, first_offset=first, last_offset=last))

    def _report(self, lost: Omission) -> None:
        if self._fail_on_loss:
            raise DataLoss(f"{shown(str(lost))}; failOnDataLoss=false reads on")
        self.omissions.add(lost)

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
        segment_part = part_of(files, Range(first, last), self._options, after=after, ends=ends)
        return scan_rows(
            files.log,
            replace(scan, offsets=segment_part.offsets),
            self._options,
            order=segment_part.order,
            start=segment_part.start,
            stop=files.size if tail else segment_part.stop,
            last=None if tail else last,
            drops=self._drops,
        )

    def _current_segments(self) -> list[SegmentFiles] | None:
        """The segments that may now hold the records of one that is gone.

        [] if retention has deleted it, None if neither retention nor compaction can have.
        """
        base = self.part.segment.base_offset
        log = PartitionLog(self.part.segment.log.parent)
        files = _covering(log, base, self.part.after)
        if files and files[-1].base_offset < base and Segment(files[-1]).next_offset <= base:
            # Compaction may have left nothing of it, but not of the last one; nothing else deletes from the
            # middle of a log.
            after = min(
                (segment.base_offset for segment in log.files.segments if segment.base_offset > base),
                default=None,
            )
            if after is None or self.part.after is None:
                return None
            with log:
                return [] if explain_gap(log, base, after - 1).is_explained else None
        self._require_start(files)
        return files

    # -- rows -------------------------------------------------------------------------------------

    def batches(self, first_rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Decode; the first batch has at most `first_rows` rows."""
        try:
            for decoded in self._decoded():
                batch = self._batch(decoded)
                if first_rows is not None and batch.num_rows > first_rows:
                    yield batch.slice(0, first_rows)
                    batch = batch.slice(first_rows)
                first_rows = None
                yield batch
            if self.part.lost is not None:
                self._report(self.part.lost)
        except FormatError as error:
            raise error.in_source(shown(error.source or self.part.segment.log)) from None
        except OSError as error:
            if isinstance(error, ReadFailed):
                error.in_source(shown(error.source or self.part.segment.log))
            self._unreachable(error)

    def _decoded(self) -> Iterator[pa.RecordBatch]:
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
        transactions = _transactions(
            part.segment.log.parent, part.tiered, part.start, part.stop, self._options
        )
        stop = 2**63 if part.stop is None else part.stop
        if not any(
            transaction.first_offset < stop and transaction.last_offset >= part.start
            for transaction in transactions.aborted
        ):
            return None

        def drops(batch: Batch) -> bool:
            data = batch.is_transactional and not batch.is_control
            return data and transactions.drops(batch.producer_id, batch.base_offset)

        return drops

    def _batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self.schema.names:
            return batch
        if self.part.tail and (last := pc.max(batch["offset"]).as_py()) is not None and last >= self.part.end:
            batch = batch.filter(pc.less(batch["offset"], self.part.end))
        try:
            times = self._micros(batch) if "timestamp" in self.schema.names else None
        except pa.ArrowInvalid:
            batch = self._in_range(batch)
            times = self._micros(batch)
        topic = self.part.topic_partition.topic
        typed = {} if self._typed is None else self._typed.of(batch, topic, self.schema.names)
        converted = typed if times is None else {**typed, "timestamp": times}
        arrays = [
            converted[field.name] if field.name in converted else self._column(field, batch)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, field: pa.Field, batch: pa.RecordBatch) -> pa.Array:
        match field.name:
            case "topic":
                return self._same(field, self.part.topic_partition.topic, batch.num_rows)
            case "partition":
                return self._same(field, self.part.topic_partition.partition, batch.num_rows)
            case "file":
                return self._same(field, shown(self.part.segment.log), batch.num_rows)
            case "headers":
                return _headers(batch["headers"], field.type)
            case name:
                values = batch[source_columns(name)[0]]
                return values if values.type == field.type else values.cast(field.type)

    def _same(self, field: pa.Field, value: str | int, rows: int) -> pa.Array:
        """A column with the same value in all rows: it is filled once, and each batch has a slice of it."""
        filled = self._filled.get(field.name)
        if filled is None or len(filled) < rows:
            filled = self._filled[field.name] = pa.repeat(pa.scalar(value, field.type), rows)
        return filled.slice(0, rows)

    def _micros(self, batch: pa.RecordBatch) -> pa.Array:
        """The timestamps, in the unit of the column. Raises pa.ArrowInvalid."""
        return batch["timestamp"].cast(self.schema.field("timestamp").type)

    def _in_range(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows whose timestamps can be microseconds. Raises TimestampOutOfRange."""
        millis = batch["timestamp"].cast(pa.int64())
        most = (2**63 - 1) // 1000
        beyond = pc.or_(pc.less(millis, -most), pc.greater(millis, most))
        log = self.part.segment.log
        for offset, time in zip(
            batch["offset"].filter(beyond).to_pylist(), millis.filter(beyond).to_pylist(), strict=True
        ):
            text = f"the timestamp {time} ms at offset {offset} does not fit a column of microseconds"
            if not self._options.skips:
                hint = "leave the record out (mode=permissive, --on-error skip), or write CSV or JSON Lines"
                raise TimestampOutOfRange(f"{shown(log)}: {text}: {hint}")
            self.omissions.add(
                Omission(Cause.UNKNOWN, log, text, first_offset=offset, last_offset=offset, records=1)
            )
        return batch.filter(pc.invert(beyond))

    # -- what is not among the rows ---------------------------------------------------------------

    def _note(self, reader: TableReader) -> None:
        part = self.part
        self.omissions.end(part.segment.log, reader.skipped, reader.torn_tail, is_last=part.after is None)

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
        offsets = self._scan.offsets
        first, last = max(order.last + 1, part.start, offsets.first), min(part.stop - 1, offsets.last)
        if first > last:
            return []
        tail = reader.torn_tail
        if not part.tiered:
            # A listing of a folder that changes is not of one moment: it may have a segment, and not the one
            # before.
            log = PartitionLog(part.segment.log.parent)
            base = part.segment.base_offset
            if later := [
                segment for segment in _covering(log, first, last + 1) if segment.base_offset > base
            ]:
                return [self._reader(segment, first) for segment in later]
            if not part.is_requested and all(segment.base_offset > last for segment in log.files.segments):
                return []
            # An end moves back by truncation alone: compaction leaves the last segment as it is.
            shrunk = part.after is None and all(segment.base_offset <= base for segment in log.files.segments)
            if tail is None and not shrunk:
                with log:
                    first = explain_gap(log, first, last).lost
                if first > last:
                    return []
        if tail is not None:
            self._lose(f"are missing: it ends in a torn tail, {tail.reason}", first, last)
        else:
            self._lose("are in no segment, and not for compaction", first, last)
        return []


def _covering(log: PartitionLog, first: int, stop: int | None) -> list[SegmentFiles]:
    """The segments that may hold offsets from `first` on and below `stop`."""
    segments = log.files.segments
    following = [*(segment.base_offset for segment in segments[1:]), None]
    return [
        segment
        for segment, after in zip(segments, following, strict=False)
        if (stop is None or segment.base_offset < stop) and (after is None or after > first)
    ]


def _range(part: SourceSegment) -> Range:
    """The selected offsets of a segment: as a range only if it may have others, which is faster."""
    first = part.first if part.first > part.segment.base_offset else None
    return offset_range((first, None if part.end is None or part.tail else part.end - 1))


@relisted
def _transactions(
    folder: Path, tiered: bool, start: int, stop: int | None, options: LogReadOptions
) -> Transactions:
    """The aborted transactions with records from `start` on and below `stop`. Raises FormatError."""
    if tiered:
        remote = remote_of(folder)
        files = list_tiered(tiered_folders(folder if remote is None else remote.tier)[0])
    else:
        files = PartitionLog(folder, limits=options.limits).files.segments
    segments = [Segment(file, options.limits) for file in files]
    stop = 2**63 - 1 if stop is None else stop
    try:
        return Transactions(find_aborted(segments, start, stop, options), stop)
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
