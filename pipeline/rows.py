"""Gives the records of a segment as Arrow batches with the columns of Spark's Kafka source.

Follows `org.apache.spark.sql.kafka010.KafkaRecordToRowConverter`: a record without headers has null for
headers, and one without a timestamp (v0) has -1 ms, which is one millisecond before 1970.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from kodec.log.batches.options import ReadOptions
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
    Attributes: reader is the table reader, whose `torn_tail` and `skipped` are known after the iteration;
    unread is why nothing is read, where the file has gone or cannot be opened; None where it is read.
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
        self.unread: ReadFailed | None = None
        scan = partial(
            scan_table,
            columns=wanted,
            offsets=(bounds.first_offset, bounds.last_offset),
            timestamps=(bounds.first_timestamp, bounds.last_timestamp),
            on_error=options.on_error,
            limits=options.limits,
        )
        try:
            self.reader = scan(part.segment.log)
        except OSError as error:
            # A broker deletes segments, and disks die: the other segments go on, where that is wanted.
            self.unread = ReadFailed.of(error, source=shown(part.segment.log))
            if options.on_error == "raise":
                raise self.unread from error
            _log.warning("skipped: %s", self.unread)
            self.reader = scan(b"")

    def batches(self, first_rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Decode; the first batch has at most `first_rows` rows."""
        try:
            yield from self._batches(first_rows)
        except (FormatError, ReadFailed) as error:
            raise error.in_source(shown(self.part.segment.log)) from None

    def _batches(self, first_rows: int | None) -> Iterator[pa.RecordBatch]:
        with self.reader:
            for found in self.reader:
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
