"""The Spark data source `kafka-log`: a log directory as the table that Spark's Kafka source would give.

Columns, in the order and with the types of Spark's own Kafka source: key binary, value binary, topic string,
partition int, offset long, timestamp timestamp, timestampType int; with the option includeHeaders also
headers array<struct<key string, value binary>>. What the options are is in `kodec.pipeline.options`, what
they choose in `plan`, and how it is read in `rows`; here is what Spark calls.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import NoReturn

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

from kodec.pipeline.columns import arrow_schema, quarantine_schema, schema
from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.plan import Bounds, SourceSegment, Task, list_segments, shown, tasks_of
from kodec.pipeline.rows import FIRST_ROWS, SegmentRows

__all__ = ["KafkaLogDataSource", "LogReader", "arrow_schema", "schema"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def check_columns(wanted: StructType, there: StructType) -> None:
    """Refuse a schema that names other columns, or other types, than the source has.

    Raises: OptionError.
    """
    types = {field.name: field.dataType.simpleString() for field in there}
    wrong = [
        f"{field.name} {field.dataType.simpleString()}"
        for field in wanted
        if types.get(field.name) != field.dataType.simpleString()
    ]
    if wrong:
        known = ", ".join(f"{name} {kind}" for name, kind in types.items())
        raise OptionError("schema", f"no such column: {', '.join(wrong)}; there are {known}")


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
        check_columns(wanted, _all_columns(options))
        self.wanted = wanted
        self.options = options
        self.bounds = Bounds()

    def partitions(self) -> list[InputPartition]:
        """The tasks of the query; Spark makes an empty one where there are none."""
        tasks = tasks_of(self.options, list_segments(self.options, self.bounds))
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Decode the segments of one task, a small batch first."""
        if not isinstance(partition, TaskPartition):
            return
        freeze_imports_once()
        if self.options.mode == "quarantine":
            yield from self._quarantine(partition.task)
            return
        columns = arrow_schema(self.wanted)
        first_rows: int | None = FIRST_ROWS
        for part in partition.task:
            for batch in self._rows(part, columns).batches(first_rows):
                yield batch
                first_rows = None

    def _rows(self, part: SourceSegment, columns: pa.Schema) -> SegmentRows:
        return SegmentRows(
            part,
            columns,
            bounds=self.bounds,
            options=self.options.reading,
            committed=self.options.committed,
            fail_on_loss=self.options.fail_on_data_loss,
        )

    def _quarantine(self, task: Task) -> Iterator[pa.RecordBatch]:
        """What is not among the rows: they are decoded as for a query, and counted only."""
        columns = arrow_schema(self.wanted)
        for part in task:
            rows = self._rows(part, pa.schema([]))
            for _ in rows.batches():
                pass
            owner = part.topic_partition
            found = [
                {
                    "topic": owner.topic,
                    "partition": owner.partition,
                    "file": shown(left.path),
                    "position": left.position,
                    "size": left.size,
                    "firstOffset": left.first_offset,
                    "lastOffset": left.last_offset,
                    "kind": left.kind,
                    "message": left.message,
                }
                for left in rows.left
            ]
            if found:
                yield pa.RecordBatch.from_pylist(found, schema=columns)


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
        """The columns that the options name."""
        options = Options.parse(self.options)
        if options.mode == "quarantine":
            return quarantine_schema(options.columns)
        return schema(headers=options.include_headers, batch=options.include_batch, names=options.columns)

    def reader(self, schema: StructType) -> LogReader:
        """A reader for the columns of `schema`, which may be fewer than there are."""
        # With spark.sql.python.filterPushdown.enabled off, Spark refuses a reader that has pushFilters.
        # With it on, this is called from the module that pushes filters; nothing else distinguishes the two.
        caller = sys._getframe(1).f_globals.get("__name__", "")
        kind = PruningLogReader if caller.endswith("data_source_pushdown_filters") else LogReader
        return kind(schema, Options.parse(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        """There is none yet. Raises OptionError."""
        raise OptionError("write", _NO_WRITER)

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:
        """There is none yet. Raises OptionError."""
        raise OptionError("writeStream", _NO_WRITER)


_NO_WRITER = (
    "this source reads only; write segments with kodec.LogDirectoryWriter, or Parquet with df.write.parquet"
)


def _all_columns(options: Options) -> StructType:
    if options.mode == "quarantine":
        return quarantine_schema()
    return schema(headers=True, batch=True)
