"""Turns the records of a segment into Arrow batches with the columns of Spark's Kafka source.

Follows `org.apache.spark.sql.kafka010.KafkaRecordToRowConverter`: a record without headers has null for
headers, and one without a timestamp (v0) has -1 ms, which is one millisecond before 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

import pyarrow as pa

from kodec import Record, read_records
from kodec.pipeline.plan import SourceSegment
from kodec.runtime.errors import KodecError

__all__ = ["FIRST_ROWS", "MAX_ROWS", "SegmentRows", "TimestampOutOfRange"]

# Spark closes the source once a `limit` is met, so the first batch is small.
FIRST_ROWS = 1_000
MAX_ROWS = 32_768
_BATCH_BYTES = 4 * 2**20
# Rows are weighed this many at a time.
_STRIDE = 64

_MAX_MILLIS = (2**63 - 1) // 1000


class TimestampOutOfRange(KodecError):
    """A record's timestamp, in ms, does not fit Spark's type, which counts microseconds in 64 bits."""


def _timestamps(part: SourceSegment, records: Sequence[Record], kind: pa.DataType) -> pa.Array:
    millis = [record.timestamp for record in records]
    if min(millis) < -_MAX_MILLIS or max(millis) > _MAX_MILLIS:
        record = next(record for record in records if not -_MAX_MILLIS <= record.timestamp <= _MAX_MILLIS)
        raise TimestampOutOfRange(
            f"{part.segment.path}: the timestamp {record.timestamp} ms at offset {record.offset} "
            "is outside what Spark can hold"
        )
    return pa.array([time * 1000 for time in millis], kind)


def _headers(records: Sequence[Record], kind: pa.DataType) -> pa.Array:
    bounds: list[int | None] = []
    total = 0
    for record in records:
        # A null list is told by a null start; the end of the list before it stays what it was.
        bounds.append(total if record.headers else None)
        total += len(record.headers)
    bounds.append(total)
    flat = list(chain.from_iterable(record.headers for record in records))
    keys = [key for key, _ in flat]
    try:
        "".join(keys).encode()
    except UnicodeEncodeError:
        # bytes that are not UTF-8: a string column holds what Kafka makes of them, U+FFFD
        keys = [key.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for key in keys]
    struct = kind.value_type
    items = pa.StructArray.from_arrays(
        [
            pa.array(keys, struct.field(0).type),
            pa.array([value for _, value in flat], struct.field(1).type),
        ],
        fields=list(struct),
    )
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), items, type=kind)


_Column = Callable[[SourceSegment, Sequence[Record], pa.DataType], pa.Array]

_COLUMNS: dict[str, _Column] = {
    "key": lambda _, records, kind: pa.array([record.key for record in records], kind),
    "value": lambda _, records, kind: pa.array([record.value for record in records], kind),
    "topic": lambda part, records, kind: pa.repeat(pa.scalar(part.topic_partition.topic, kind), len(records)),
    "partition": lambda part, records, kind: pa.repeat(
        pa.scalar(part.topic_partition.partition, kind), len(records)
    ),
    "offset": lambda _, records, kind: pa.array([record.offset for record in records], kind),
    "timestamp": _timestamps,
    "timestampType": lambda _, records, kind: pa.array([record.timestamp_type for record in records], kind),
    "headers": lambda _, records, kind: _headers(records, kind),
}


class SegmentRows:
    """The rows of one segment as Arrow batches of at most 32 768 rows and about 4 MiB.

    Control records are not rows. Those of open and aborted transactions are, as in Kafka's read_uncommitted.

    Args: schema has any of the eight columns; with `permissive` corrupt ranges are left out, and
    logged by `kodec.read_records`, instead of raised.
    After the iteration: `torn_tail` and `skipped` are those of `kodec.read_records`.
    Raises: kodec.errors.FormatError at a corrupt batch unless permissive; TimestampOutOfRange; OSError.
    """

    def __init__(self, part: SourceSegment, schema: pa.Schema, *, permissive: bool = False) -> None:
        self.part = part
        self.schema = schema
        self.records = read_records(part.segment.path, on_error="skip" if permissive else "raise")

    def batches(self, first_rows: int = MAX_ROWS) -> Iterator[pa.RecordBatch]:
        """Decode; the first batch has at most `first_rows` rows."""
        most = first_rows
        with self.records:
            while rows := self._take(most):
                yield self._batch(rows)
                most = MAX_ROWS

    def _take(self, most: int) -> list[Record]:
        rows: list[Record] = []
        weight = 0
        while len(rows) < most and weight < _BATCH_BYTES:
            part = list(islice(self.records, min(_STRIDE, most - len(rows))))
            if not part:
                break
            weight += sum([len(record.key or b"") + len(record.value or b"") for record in part])
            rows += part
        return rows

    def _batch(self, rows: list[Record]) -> pa.RecordBatch:
        arrays = [_COLUMNS[field.name](self.part, rows, field.type) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
