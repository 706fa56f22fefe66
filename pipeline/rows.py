"""Gives the records of a segment as Arrow batches with the columns of Spark's Kafka source.

Follows `org.apache.spark.sql.kafka010.KafkaRecordToRowConverter`: a record without headers has null for
headers, and one without a timestamp (v0) has -1 ms, which is one millisecond before 1970.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kodec.log.batches.options import ReadOptions
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import SegmentFiles
from kodec.log.tables.reader import TableReader
from kodec.log.tables.table import scan_table
from kodec.pipeline.columns import made_of
from kodec.pipeline.plan import Bounds, SourceSegment, shown
from kodec.runtime.errors import FormatError, KodecError, ReadFailed

__all__ = ["FIRST_ROWS", "SegmentRows", "TimestampOutOfRange"]

# Spark closes the source once a `limit` is met, so the first batch is small.
FIRST_ROWS = 1_000

_DEFAULT = ReadOptions()
_log = logging.getLogger("kodec")


class TimestampOutOfRange(KodecError):
    """A record's timestamp, in ms, does not fit Spark's type, which counts microseconds in 64 bits."""


class SegmentRows:
    """The rows of one segment as the Arrow batches of `scan_table`.

    Control records are not rows. Those of open and aborted transactions are, as in Kafka's read_uncommitted.

    Args: schema has any of the source's columns; only rows within the offsets and timestamps of `bounds` are
    given; of `options`, `on_error` and `limits` count, as in `read_records`.
    Where a broker has replaced or deleted the segment since it was listed, its offsets are read from the
    segments that are there now.

    Attributes: readers are the table readers, mostly one, whose `torn_tail` and `skipped` are known after the
    iteration; unread is why nothing is read, where the file has gone or cannot be opened, else None.
    Raises: with `on_error="raise"` kodec.errors.FormatError at a corrupt batch, and ReadFailed where the file
    has gone or cannot be read; TimestampOutOfRange.
    """

    def __init__(
        self,
        part: SourceSegment,
        schema: pa.Schema,
        *,
        bounds: Bounds | None = None,
        options: ReadOptions = _DEFAULT,
    ) -> None:
        bounds = bounds or Bounds()
        wanted = dict.fromkeys(name for column in schema.names for name in made_of(column))
        self.part = part
        self.schema = schema
        self.readers: list[TableReader] = []
        self.unread: ReadFailed | None = None
        self._scan = partial(
            scan_table,
            columns=wanted,
            timestamps=(bounds.first_timestamp, bounds.last_timestamp),
            on_error=options.on_error,
            limits=options.limits,
        )
        self._bounds = bounds
        try:
            self.readers = self._open()
        except OSError as error:
            # A broker deletes segments, and disks die: the other segments go on, where that is wanted.
            self.unread = ReadFailed.of(error, source=shown(part.segment.log))
            if options.on_error == "raise":
                raise self.unread from error
            _log.warning("skipped: %s", self.unread)

    def _open(self) -> list[TableReader]:
        """The reader of the segment; of others, where a broker has replaced or deleted it since."""
        part = self.part
        path = part.segment.log
        try:
            # One that has another size now is of the cleaner: it holds records of the segments behind it too.
            replaced = part.after is not None and path.stat().st_size != part.segment.size
            return [self._reader(path, within=replaced)]
        except FileNotFoundError as error:
            return [self._reader(each.log, within=True) for each in self._now(error)]

    def _reader(self, path: Path, *, within: bool) -> TableReader:
        """The reader of a file; with `within`, of the offsets alone that the segment was listed with."""
        bounds, part = self._bounds, self.part
        first, last = bounds.first_offset, bounds.last_offset
        if within:
            base, end = part.segment.base_offset, part.after
            first = base if first is None else max(first, base)
            if end is not None:
                last = end - 1 if last is None else min(last, end - 1)
        return self._scan(path, offsets=(first, last))

    def _now(self, error: FileNotFoundError) -> list[SegmentFiles]:
        """The segments that may hold now what was in the one that has gone.

        None where retention has deleted it. Raises the error where neither retention nor compaction can have.
        """
        base, end = self.part.segment.base_offset, self.part.after
        log = PartitionLog(self.part.segment.log.parent)
        segments = log.files.segments
        following = [each.base_offset for each in segments[1:]]
        found = [
            each
            for each, after in zip(segments, [*following, None][: len(segments)], strict=True)
            if (end is None or each.base_offset < end) and (after is None or after > base)
        ]
        if found and found[-1].base_offset < base and Segment(found[-1]).next_offset <= base:
            # Compaction may have left nothing of it; nobody else deletes from the middle of a log.
            if self.part.topic_partition not in LogRoot(log.root).cleaner_offsets():
                raise error
            return []
        return found

    def batches(self, first_rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Decode; the first batch has at most `first_rows` rows."""
        try:
            yield from self._batches(first_rows)
        except (FormatError, ReadFailed) as error:
            raise error.in_source(shown(self.part.segment.log)) from None

    def _batches(self, first_rows: int | None) -> Iterator[pa.RecordBatch]:
        for reader in self.readers:
            with reader:
                for found in reader:
                    batch = self._batch(found)
                    if first_rows is not None and batch.num_rows > first_rows:
                        yield batch.slice(0, first_rows)
                        batch = batch.slice(first_rows)
                    first_rows = None
                    yield batch

    def _batch(self, found: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [self._column(field, found) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, field: pa.Field, found: pa.RecordBatch) -> pa.Array:
        match field.name:
            case "topic":
                return pa.repeat(pa.scalar(self.part.topic_partition.topic, field.type), found.num_rows)
            case "partition":
                return pa.repeat(pa.scalar(self.part.topic_partition.partition, field.type), found.num_rows)
            case "timestamp":
                return self._micros(found, field.type)
            case "headers":
                return _headers(found["headers"], field.type)
            case name:
                return found[made_of(name)[0]]

    def _micros(self, found: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        try:
            return found["timestamp"].cast(kind)
        except pa.ArrowInvalid:
            millis = found["timestamp"].cast(pa.int64())
        most = (2**63 - 1) // 1000
        at = pc.index(pc.or_(pc.less(millis, -most), pc.greater(millis, most)), True).as_py()
        raise TimestampOutOfRange(
            f"{shown(self.part.segment.log)}: the timestamp {millis[at]} ms at offset {found['offset'][at]} "
            "is outside what Spark can hold"
        )


def _headers(lists: pa.Array, kind: pa.DataType) -> pa.Array:
    bounds = lists.offsets
    if lists.offset:
        bounds = pc.add(bounds, 0)
    return pa.ListArray.from_arrays(
        bounds, lists.values.cast(kind.value_type), type=kind, mask=pc.equal(pc.list_value_length(lists), 0)
    )
