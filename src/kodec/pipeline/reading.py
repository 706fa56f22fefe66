"""What the readers of a query and of a stream have in common: tasks, and the rows of one."""

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

from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.plan import SourceSegment, Task, shown
from kodec.pipeline.rows import FIRST_ROWS, SegmentRows
from kodec.pipeline.spark_schema import arrow_schema, quarantine_schema, schema
from kodec.pipeline.typed_source import TypedSource
from kodec.runtime.errors import KodecError

__all__ = ["TaskPartition", "TaskReader", "freeze_imports_once"]


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
    """What one Spark task reads: some segments, in order."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task


_frozen = False


def freeze_imports_once() -> None:
    """In a worker of Spark's, keep the objects that exist now out of later garbage collections.

    It collects after each task, which costs some 30 ms with pyspark and pyarrow loaded. To collect here first
    does not pay: imports leave little behind. Any other process has objects of its own, which are not ours to
    keep.
    """
    global _frozen
    if not _frozen and TaskContext.get() is not None:
        _frozen = True
        gc.freeze()


@contextmanager
def _left_in_silence() -> Iterator[None]:
    """While a worker of Spark's hands a batch over, let it end without a word where nobody takes it.

    Spark closes the connection once a `limit` is met. Python has the worker go on to an error then, which it
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
        found = self._quarantine if self.options.mode == "quarantine" else self._read
        try:
            for batch in found(partition.task):
                with _left_in_silence():
                    yield batch
        except KodecError as error:
            # Spark shows the way there too, and before what is wrong.
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
