"""Shared parts of the readers of a query and of a stream: tasks, and the rows of one."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from kodec.log.files.listing import parse_folder_name
from kodec.log.omissions import Omission, Omissions
from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.plan import SourceSegment, Task, shown, tasks_of
from kodec.pipeline.rows import FIRST_ROWS, SegmentRows
from kodec.pipeline.spark_schema import arrow_schema, quarantine_schema, schema
from kodec.pipeline.typed_source import TypedSource
from kodec.runtime.errors import KodecError

__all__ = ["TaskPartition", "TaskReader", "freeze_imports_once", "warn"]

# Of one task; a disk may have a million damaged batches.
_MOST_WARNINGS = 20


def _all_columns(options: Options, typed: TypedSource | None) -> StructType:
    if options.mode == "quarantine":
        return quarantine_schema()
    types = None if typed is None else typed.spark_types
    return schema(headers=True, decoded=True, batch=True, typed=types)


def _check_columns(schema: StructType, source_columns: StructType) -> None:
    """Refuse a schema that names other columns, or other types, than the source has.

    Raises: OptionError.
    """
    types = {field.name: field.dataType.simpleString() for field in source_columns}
    wrong = [
        f"{field.name} {field.dataType.simpleString()}"
        for field in schema
        if types.get(field.name) != field.dataType.simpleString()
    ]
    if wrong:
        known = ", ".join(f"{name} {kind}" for name, kind in types.items())
        raise OptionError("schema", f"no such column: {', '.join(wrong)}; there are {known}")


class TaskPartition(InputPartition):
    """The input of one Spark task: some segments, in order; for `mode=quarantine` also what planning left
    out."""

    def __init__(self, task: Task, left_out: Iterable[Omission] = ()) -> None:
        super().__init__(task)
        self.task = task
        self.left_out = tuple(left_out)


def warn(omissions: Iterable[Omission], more: int = 0) -> None:
    """Print what a query leaves out, as lines of Spark's log.

    Spark passes on what its Python processes print, and nothing of what they log: the lines are in the
    driver's log for what planning leaves out, and for a task in that of its executor, which with a local
    master is the same.
    """
    remaining = iter(omissions)
    # a name of a file may hold a line's end, after which it would forge lines
    lines = [
        "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in shown(str(omission)))
        for omission in islice(remaining, _MOST_WARNINGS)
    ]
    more += sum(1 for _ in remaining)
    if more:
        lines.append(f"{more} further ranges; a load with mode=quarantine lists them")
    now = time.strftime("%y/%m/%d %H:%M:%S")
    for line in lines:
        print(f"{now} WARN kafka-log: left out: {line}", file=sys.stderr, flush=True)


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

    def __init__(self, schema: StructType, options: Options) -> None:
        self.typed = TypedSource.of(options)
        _check_columns(schema, _all_columns(options, self.typed))
        self.schema = schema
        self.options = options

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Decode the segments of one task, a small batch first."""
        if not isinstance(partition, TaskPartition):
            return
        freeze_imports_once()
        quarantines = self.options.mode == "quarantine"
        try:
            for batch in self._quarantine(partition) if quarantines else self._read(partition.task):
                with _left_in_silence():
                    yield batch
        except KodecError as error:
            # Spark also shows the traceback, and before the error.
            raise error.with_traceback(None) from None

    def planned(self, pieces: list[SourceSegment], omissions: Omissions) -> list[InputPartition]:
        """The tasks for pieces, and for what planning has left out: a row each, or a warning."""
        partitions: list[InputPartition] = [TaskPartition(task) for task in tasks_of(self.options, pieces)]
        lost = omissions.losses
        if self.options.mode != "quarantine":
            warn(lost, omissions.more_losses)
        elif lost:
            partitions.append(TaskPartition((), lost))
        return partitions

    def _read(self, task: Task) -> Iterator[pa.RecordBatch]:
        columns = arrow_schema(self.schema, None if self.typed is None else self.typed.types)
        first_rows: int | None = FIRST_ROWS
        omissions = Omissions()
        for part in task:
            rows = self._rows(part, columns)
            for batch in rows.batches(first_rows):
                yield batch
                first_rows = None
            omissions.extend(rows.omissions)
        warn(omissions, omissions.more)

    def _rows(self, part: SourceSegment, columns: pa.Schema) -> SegmentRows:
        return SegmentRows(
            part,
            columns,
            typed=None if self.typed is None else self.typed.columns,
            options=self.options.reading,
            committed=self.options.committed,
            fail_on_loss=self.options.fail_on_data_loss,
        )

    def _quarantine(self, partition: TaskPartition) -> Iterator[pa.RecordBatch]:
        """What is not among the rows, which are decoded as for a query but only counted."""
        columns = arrow_schema(self.schema)
        if partition.left_out:
            yield _rows_of(partition.left_out, columns)
        for part in partition.task:
            rows = self._rows(part, pa.schema([]))
            for _ in rows.batches():
                pass
            if rows.omissions.items:
                yield _rows_of(rows.omissions.items, columns)
            warn((), rows.omissions.more)


def _rows_of(omissions: Iterable[Omission], columns: pa.Schema) -> pa.RecordBatch:
    rows = []
    for omission in omissions:
        # the path is that of a segment, of a topic-partition's folder, or of another one
        name = parse_folder_name(omission.path.name) or parse_folder_name(omission.path.parent.name)
        rows.append(
            {
                "topic": None if name is None else name.topic_partition.topic,
                "partition": None if name is None else name.topic_partition.partition,
                "file": shown(omission.path),
                "position": omission.position,
                "size": omission.size,
                "firstOffset": omission.first_offset,
                "lastOffset": omission.last_offset,
                "kind": omission.cause.value,
                "message": shown(omission.reason),
            }
        )
    return pa.RecordBatch.from_pylist(rows, schema=columns)
