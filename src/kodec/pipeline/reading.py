"""Shared parts of the readers of a query and of a stream: tasks, and the rows of one."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from kodec.log.files.tier_keys import use_tier_keys
from kodec.pipeline.hadoop import use_hadoop_settings
from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.plan import SourceSegment, Task, shown
from kodec.pipeline.rows import FIRST_ROWS, SegmentRows
from kodec.pipeline.spark_schema import arrow_schema, quarantine_schema, schema
from kodec.pipeline.typed_source import TypedSource
from kodec.runtime.errors import KodecError

__all__ = ["TaskPartition", "TaskReader", "freeze_imports_once", "use_settings"]


def use_settings(options: Options) -> None:
    """Open stores, and encrypted segments, in this process as the options say."""
    use_hadoop_settings(options.hadoop)
    use_tier_keys(options.keys)


def _all_columns(options: Options, typed: TypedSource | None) -> StructType:
    if options.mode == "quarantine":
        return quarantine_schema()
    types = None if typed is None else typed.spark_types
    return schema(headers=True, decoded=True, batch=True, typed=types)


def _check_columns(wanted: StructType, there: StructType) -> None:
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
    """The input of one Spark task: some segments, in order."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task


_frozen = False


def freeze_imports_once() -> None:
    """In a worker of Spark's, keep the objects that exist now out of later garbage collections.

    It collects after each task, which costs some 30 ms with pyspark and pyarrow loaded. Collecting here first
    is not worthwhile: imports leave little garbage. Any other process has its own objects, which we must not
    touch.
    """
    global _frozen
    if not _frozen and TaskContext.get() is not None:
        _frozen = True
        gc.freeze()


@contextmanager
def _left_in_silence() -> Iterator[None]:
    """While a Spark worker hands over a batch, let it end silently if nobody reads it.

    Spark closes the connection once a `limit` is met. Python then continues the worker to an error, which it
    prints when it ends.
    """
    in_worker = TaskContext.get() is not None and threading.current_thread() is threading.main_thread()
    ours = in_worker and hasattr(signal, "SIGPIPE")
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL) if ours else None
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGPIPE, before)


class TaskReader:
    """Decodes the segments of one task."""

    def __init__(self, wanted: StructType, options: Options) -> None:
        self.typed = TypedSource.of(options)
        _check_columns(wanted, _all_columns(options, self.typed))
        self.wanted = wanted
        self.options = options

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Decode the segments of one task, a small batch first."""
        if not isinstance(partition, TaskPartition):
            return
        freeze_imports_once()
        use_settings(self.options)
        found = self._quarantine if self.options.mode == "quarantine" else self._read
        try:
            for batch in found(partition.task):
                with _left_in_silence():
                    yield batch
        except KodecError as error:
            # Spark also shows the traceback, and before the error.
            raise error.with_traceback(None) from None

    def _read(self, task: Task) -> Iterator[pa.RecordBatch]:
        columns = arrow_schema(self.wanted, None if self.typed is None else self.typed.types)
        first_rows: int | None = FIRST_ROWS
        for part in task:
            for batch in self._rows(part, columns).batches(first_rows):
                yield batch
                first_rows = None

    def _rows(self, part: SourceSegment, columns: pa.Schema) -> SegmentRows:
        return SegmentRows(
            part,
            columns,
            typed=None if self.typed is None else self.typed.columns,
            options=self.options.reading,
            committed=self.options.committed,
            fail_on_loss=self.options.fail_on_data_loss,
        )

    def _quarantine(self, task: Task) -> Iterator[pa.RecordBatch]:
        """The ranges not among the rows, which are decoded as for a query but only counted."""
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
