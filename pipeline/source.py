"""The Spark data source `kafka-log`: a log directory as the table that Spark's Kafka source would give.

Columns, in the order and with the types of Spark's own Kafka source: key binary, value binary, topic string,
partition int, offset long, timestamp timestamp, timestampType int; with the option includeHeaders also
headers array<struct<key string, value binary>>.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, MutableMapping
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import StructType

from kodec.pipeline.columns import arrow_schema, schema
from kodec.pipeline.plan import Bounds, Options, Task, list_segments, pack
from kodec.pipeline.rows import FIRST_ROWS, SegmentRows

__all__ = ["KafkaLogDataSource", "LogReader", "arrow_schema", "schema"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def check_columns(wanted: StructType) -> None:
    """Refuse a schema that names other columns, or other types, than the source has.

    Raises: ValueError.
    """
    types = {field.name: field.dataType.simpleString() for field in schema(headers=True)}
    wrong = [
        f"{field.name} {field.dataType.simpleString()}"
        for field in wanted
        if types.get(field.name) != field.dataType.simpleString()
    ]
    if wrong:
        known = ", ".join(f"{name} {kind}" for name, kind in types.items())
        raise ValueError(f"kafka-log: no such column: {', '.join(wrong)}; there are {known}")


class TaskPartition(InputPartition):
    """What one Spark task reads: some segments, in order."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task


_frozen = False


def freeze_imports_once() -> None:
    """Keep the objects that exist now out of later garbage collections of this process.

    Spark's worker collects before each task, which costs some 30 ms with pyspark and pyarrow loaded.
    """
    global _frozen
    if not _frozen:
        _frozen = True
        gc.collect()
        gc.freeze()


class LogReader(DataSourceReader):
    """Lists the segments, packs them into tasks, and decodes those of one task."""

    def __init__(self, wanted: StructType, options: Options) -> None:
        check_columns(wanted)
        self.wanted = wanted
        self.options = options
        self.bounds = Bounds()

    def partitions(self) -> list[InputPartition]:
        """The tasks of the query; Spark makes an empty one where there are none."""
        listed = list_segments(self.options, self.bounds)
        return [TaskPartition(task) for task in pack(listed, self.options.task_bytes)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Decode the segments of one task, a small batch first."""
        if not isinstance(partition, TaskPartition):
            return
        freeze_imports_once()
        columns = arrow_schema(self.wanted)
        first_rows: int | None = FIRST_ROWS
        for part in partition.task:
            rows = SegmentRows(part, columns, bounds=self.bounds, options=self.options.reading)
            for batch in rows.batches(first_rows):
                yield batch
                first_rows = None


def _around(time: datetime) -> tuple[int, int]:
    """The last ms since 1970-01-01 UTC that is not after `time`, and the first that is not before it."""
    since = time - _EPOCH
    return since // _MILLISECOND, -(-since // _MILLISECOND)


class PruningLogReader(LogReader):
    """A reader that leaves out segments, batches and rows that a query's filters do not want."""

    # Spark's annotation says List; what is needed is an iterable.
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Note the filters that can leave something out. Spark still applies every filter to the rows."""
        for one in filters:
            match one:
                case EqualTo(("topic",), value):
                    self.bounds.limit_topics([value])
                case In(("topic",), values):
                    self.bounds.limit_topics(values)
                case EqualTo(("partition",), value):
                    self.bounds.limit_partitions([value])
                case In(("partition",), values):
                    self.bounds.limit_partitions(values)
                case EqualTo(("offset",), value):
                    self.bounds.limit_offsets(first=value, last=value)
                case GreaterThan(("offset",), value):
                    self.bounds.limit_offsets(first=value + 1)
                case GreaterThanOrEqual(("offset",), value):
                    self.bounds.limit_offsets(first=value)
                case LessThan(("offset",), value):
                    self.bounds.limit_offsets(last=value - 1)
                case LessThanOrEqual(("offset",), value):
                    self.bounds.limit_offsets(last=value)
                case EqualTo(("timestamp",), datetime() as value):
                    before, after = _around(value)
                    self.bounds.limit_timestamps(first=after, last=before)
                case GreaterThan(("timestamp",), datetime() as value):
                    self.bounds.limit_timestamps(first=_around(value)[0] + 1)
                case GreaterThanOrEqual(("timestamp",), datetime() as value):
                    self.bounds.limit_timestamps(first=_around(value)[1])
                case LessThan(("timestamp",), datetime() as value):
                    self.bounds.limit_timestamps(last=_around(value)[1] - 1)
                case LessThanOrEqual(("timestamp",), datetime() as value):
                    self.bounds.limit_timestamps(last=_around(value)[0])
        return filters


class KafkaLogDataSource(DataSource):
    """`spark.read.format("kafka-log").load(path)`; docs/spark.md has the options."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "kafka-log"

    def schema(self) -> StructType:
        """The columns, with headers when includeHeaders is true."""
        return schema(headers=Options.parse(self.options).include_headers)

    def reader(self, schema: StructType) -> LogReader:
        """A reader for the columns of `schema`, which may be fewer than there are."""
        # With spark.sql.python.filterPushdown.enabled off, Spark refuses a reader that has pushFilters.
        # With it on, this is called from the module that pushes filters; nothing else distinguishes the two.
        caller = sys._getframe(1).f_globals.get("__name__", "")
        kind = PruningLogReader if caller.endswith("data_source_pushdown_filters") else LogReader
        return kind(schema, Options.parse(self.options))
