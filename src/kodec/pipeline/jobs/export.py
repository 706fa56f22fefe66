"""Exports a log directory to files: each task decodes its segments and writes the files itself.

Even with Spark the rows never enter the JVM, which only receives a line of facts for each file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.files.listing import TopicPartition
from kodec.log.files.paths import require_apart
from kodec.log.omissions import Omissions
from kodec.log.reading.ahead import cores
from kodec.log.remote.opening import open_location
from kodec.log.selection import Bounds, Isolation, Keys, Partitions, Selection, TimeBounds, Topics
from kodec.log.values.decoder import TYPED
from kodec.log.values.formats import ValueFormat
from kodec.log.values.framing import Framing, Part
from kodec.log.values.schemas import UnknownSchema
from kodec.log.values.sources import SCHEMAS_TOPIC, ValueRequest
from kodec.pipeline.columns import arrow_columns, chosen_columns
from kodec.pipeline.files import FileFormat, RowFile
from kodec.pipeline.options import Options, size_of
from kodec.pipeline.plan import SourceSegment, Task, list_segments, shown, tasks_of
from kodec.pipeline.rows import SegmentRows
from kodec.pipeline.staging import Staging, require_free, staged
from kodec.pipeline.typed import TypedColumns
from kodec.pipeline.workers import Engine, workers
from kodec.runtime.errors import ArgumentError
from kodec.stores.storage import readable

__all__ = [
    "ExportOptions",
    "ExportSummary",
    "FileWriter",
    "PartitionSummary",
    "TaskResult",
    "export",
    "is_of_an_export",
    "merged",
    "prepared",
    "publish_export",
]

# Rows are written when there are this many bytes: enough to compress well, little enough for many tasks.
_ROW_GROUP_BYTES = 64 * 2**20

# A thread's share of a log; smaller ones are not split.
LEAST_TASK = 16 << 20

# The contents of the files of a finished task.
_FACTS = "facts.json"

# The file that tells Spark and others that all files are complete; empty, if nothing else is left out.
_SUCCESS = "_SUCCESS"
_OF_AN_EXPORT = re.compile(
    r"topic=[^/]+/partition=[0-9]+/[0-9]{20}\.(parquet|arrow|(csv|jsonl)(\.gz|\.zst)?)"
)


@dataclass(slots=True)
class PartitionSummary:
    """The exported part of one topic-partition.

    Offsets and timestamps (ms since 1970) are None if there is no record, timestamps also if no
    record has one. `bytes` counts the segments that were read, `written` the files.

    Attributes:
        topic, partition: which one.
        records: how many were written.
        first_offset, last_offset, min_timestamp, max_timestamp: of the records; see above.
        segments, bytes: what was read.
        files, written: the files, and their bytes.

    Example: see `export`.
    """

    topic: str
    partition: int
    records: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    min_timestamp: int | None = None
    max_timestamp: int | None = None
    segments: int = 0
    bytes: int = 0
    files: list[str] = field(default_factory=list)
    written: int = 0

    def add(self, other: PartitionSummary) -> None:
        """Take in what another task found of the same topic-partition.

        Args:
            other: the other task's summary.
        """
        for name in ("first_offset", "min_timestamp"):
            setattr(self, name, _best(min, getattr(self, name), getattr(other, name)))
        for name in ("last_offset", "max_timestamp"):
            setattr(self, name, _best(max, getattr(self, name), getattr(other, name)))
        for name in ("records", "segments", "bytes", "files", "written"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def note(self, batch: pa.RecordBatch) -> None:
        """Take in rows that have the columns of the `kafka-log` source.

        Args:
            batch: the rows.
        """
        times = batch["timestamp"].cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())
        times = times.filter(pc.not_equal(batch["timestampType"], -1))
        offsets = pc.min_max(batch["offset"]).as_py()
        bounds = pc.min_max(times).as_py()
        part = PartitionSummary(self.topic, self.partition, records=batch.num_rows)
        part.first_offset, part.last_offset = offsets["min"], offsets["max"]
        part.min_timestamp, part.max_timestamp = bounds["min"], bounds["max"]
        self.add(part)

    def note_end(self, part: SourceSegment) -> None:
        """Take in that a piece of a segment was read.

        Args:
            part: the piece of a segment.
        """
        self.segments += 1
        self.bytes += part.segment.size


def _best(choose: Callable[[Iterable[int]], int], *values: int | None) -> int | None:
    return (
        choose([value for value in values if value is not None])
        if any(v is not None for v in values)
        else None
    )


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """The result of an export: a row for each topic-partition, by topic and partition, and the time it took.

    Attributes:
        out: the folder that was written.
        partitions: by topic and partition.
        tasks: how many there were.
        seconds: how long it took.
        omissions: what is not in the files.

    Example: see `export`.
    """

    out: Path
    partitions: list[PartitionSummary]
    tasks: int
    seconds: float
    omissions: Omissions

    @property
    def records(self) -> int:
        """The number of rows written."""
        return sum(row.records for row in self.partitions)


class FileWriter:
    """Writes the rows of one topic-partition that one task reads, to one file in `root`."""

    def __init__(self, root: Path, owner: TopicPartition, columns: pa.Schema, form: FileFormat) -> None:
        self.root = root
        self.columns = _as_in_logs(columns) if form.name in ("csv", "jsonl") else columns
        columns = self.columns
        self.typed = _typed(owner, form)
        # of the file
        self.written = columns if self.typed is None else pa.schema([*columns, *self.typed.fields])
        self.form = form
        self.facts = PartitionSummary(owner.topic, owner.partition)
        self.omissions = Omissions()
        self.folder = Path(f"topic={owner.topic}", f"partition={owner.partition}")
        self.writer: RowFile | None = None
        self.pending: list[pa.RecordBatch] = []
        self.weight = 0

    def add(
        self,
        part: SourceSegment,
        options: Options,
        keep: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
    ) -> None:
        """Decode one segment and write its rows, or those that `keep` keeps."""
        rows = SegmentRows(
            part,
            self.columns,
            options=options.reading,
            committed=options.committed,
            fail_on_loss=options.fail_on_data_loss,
            exact_headers=True,
            timestamps=options.selection.timestamps,
        )
        keys = options.selection.keys
        for batch in rows.batches():
            if keys is not None:
                batch = batch.filter(pc.is_in(batch["key"], pa.array(sorted(keys), pa.binary())))
            if keep is not None:
                batch = keep(batch)
            if not batch.num_rows:
                continue
            self.facts.note(batch)
            if self.typed is not None:
                more = self.typed.of(batch, self.facts.topic)
                batch = pa.RecordBatch.from_arrays([*batch.columns, *more.values()], schema=self.written)
            self.pending.append(batch)
            self.weight += batch.nbytes
            if self.weight >= _ROW_GROUP_BYTES:
                self._flush()
        self.facts.note_end(part)
        self.omissions.extend(rows.omissions)

    def _flush(self) -> None:
        if not self.pending:
            return
        if self.writer is None:
            # File names sort as offsets do.
            name = f"{self.pending[0]['offset'][0].as_py():020d}{self.form.suffix}"
            (self.root / self.folder).mkdir(parents=True, exist_ok=True)
            self.facts.files.append(str(self.folder / name))
            self.writer = self.form.open(self.root / self.folder / name, self.written)
        self.writer.write_table(pa.Table.from_batches(self.pending))
        self.pending, self.weight = [], 0

    def close(self) -> PartitionSummary:
        """Finish the file and return its contents."""
        self._flush()
        if self.writer is not None:
            self.writer.close()
            self.facts.written = sum((self.root / file).stat().st_size for file in self.facts.files)
        return self.facts


def _as_in_logs(columns: pa.Schema) -> pa.Schema:
    """The columns with timestamps in ms, of which text holds any."""
    index = columns.get_field_index("timestamp")
    return columns.set(index, columns.field(index).with_type(pa.timestamp("ms", tz="UTC")))


def _typed(owner: TopicPartition, form: FileFormat) -> TypedColumns | None:
    """What decodes keys and values; None where that is not asked for, or the rows are text anyway."""
    if form.values is None or form.name not in ("parquet", "arrow"):
        return None
    formats: dict[Part, ValueFormat] = {"key": form.key, "value": form.value}
    return TypedColumns(
        {
            part: form.values.table_decoder(value_format, owner.topic, part)
            for part, value_format in formats.items()
            if value_format in TYPED
        }
    )


class TaskResult(NamedTuple):
    """What a task has made.

    Attributes:
        folder: with the files.
        partitions: a summary for each topic-partition of the task.
        omissions: what is not in the files.
    """

    folder: Path
    partitions: list[PartitionSummary]
    omissions: Omissions


@dataclass(frozen=True, slots=True)
class ExportWork:
    """Writes the files of one task, and returns their contents."""

    options: Options
    form: FileFormat
    staging: Staging

    def __call__(self, task: Task) -> TaskResult:
        """What an attempt, or a stopped run, has made."""
        if not self.staging.resumable:
            return self._attempt(task)
        try:
            key = self._key(task)
        except OSError:
            # reading it reports a segment that is gone, or cannot be read
            return self._attempt(task)
        if (known := self._finished(key)) is None:
            known = self._attempt(task)
            # what could not be read may be readable in the next run, which asks again
            if not known.omissions.items:
                (known.folder / _FACTS).write_text(json.dumps([asdict(row) for row in known.partitions]))
                known = known._replace(folder=self.staging.finish(known.folder, key))
        return known

    def _key(self, task: Task) -> str:
        """The inputs of a task's files: the current segments, and how they are read and written."""
        stored = []
        for part in task:
            status = part.segment.log.stat()
            stored.append((*map(str, part), status.st_ino, status.st_size, status.st_mtime_ns))
        # sets have no order, and the task has the topic-partitions
        selected = self.options.selection
        keys = None if selected.keys is None else sorted(selected.keys)
        others = replace(selected, topics=None, partitions=None, keys=None)
        options = replace(self.options, min_tasks=None, task_bytes=None, subscribe=None, selection=others)
        return hashlib.sha256(repr((version("kodec"), options, keys, self.form, stored)).encode()).hexdigest()

    def _finished(self, key: str) -> TaskResult | None:
        """The output of a stopped run for the same task; None if it is incomplete."""
        folder = self.staging.finished(key)
        try:
            summaries = [PartitionSummary(**row) for row in json.loads((folder / _FACTS).read_text())]
        except (OSError, ValueError, TypeError):
            return None
        whole = all((folder / file).is_file() for row in summaries for file in row.files)
        return TaskResult(folder, summaries, Omissions()) if whole else None

    def _attempt(self, task: Task) -> TaskResult:
        options = self.options
        columns = arrow_columns(
            chosen_columns(headers=options.include_headers, decoded=options.include_decoded)
        )
        folder, omissions = self.staging.attempt(), Omissions()
        summaries = []
        for owner, parts in groupby(task, key=lambda part: part.topic_partition):
            writer = FileWriter(folder, owner, columns, self.form)
            for part in parts:
                writer.add(part, self.options)
            summaries.append(writer.close())
            omissions.extend(writer.omissions)
        return TaskResult(folder, summaries, omissions)


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Which records are exported, and to what files.

    Attributes:
        topics, partitions, offsets, timestamps, isolation, keys: as of `kodec.read_records`.
        include_internal: internal topics too, where `topics` is None.
        on_error: "skip" leaves out what is damaged or unknown, and offsets that are missing;
            "skip-unreachable" also files and folders that cannot be read. Both are listed in the summary,
            and in ``_SUCCESS``, which is empty if nothing is lost.
        format, compression: of the files, one of `kodec.pipeline.files.COMPRESSIONS` (None: the first).
        key_format, value_format: how CSV and JSON Lines show bytes; with `avro`, `protobuf` and `json-schema`
            Parquet and Arrow IPC have beside the bytes the columns valueTyped, valueSchema and valueReason: a
            struct of `reader_schema`, or of the newest version of the subject TOPIC-value, or JSON where
            there is neither.
        registry, framing, reader_schema: as of `kodec find`.
        guard_formulas: in CSV, an apostrophe stands before text that a spreadsheet would take as a formula.
        include_headers, include_decoded: columns of headers, and of the messages of Kafka's own topics.
        overwrite: replace an earlier export.
        resume: take over the tasks that a run which was stopped had finished, where their segments are as
            they were, and keep those of this one if it is stopped too.
        task_bytes: the log that a task reads, like 64m.
        threads: of this process; None: one per core.

    Example: see `export`.
    """

    topics: Topics = None
    partitions: Partitions = None
    offsets: Bounds = None
    timestamps: TimeBounds = None
    isolation: Isolation = "read_uncommitted"
    keys: Keys = None
    include_internal: bool = False
    on_error: OnError = "raise"
    format: str = "parquet"
    compression: str | None = None
    key_format: ValueFormat = "auto"
    value_format: ValueFormat = "auto"
    registry: str | None = None
    framing: Framing = "auto"
    reader_schema: str | os.PathLike[str] | None = None
    guard_formulas: bool = False
    include_headers: bool = True
    include_decoded: bool = False
    overwrite: bool = False
    resume: bool = False
    task_bytes: str | None = None
    threads: int | None = None

    def selection(self) -> Selection:
        """The records that are selected. Raises ArgumentError."""
        return Selection.of(
            self.topics, self.partitions, self.offsets, self.timestamps, self.isolation, self.keys
        )


def _source(options: ExportOptions, logs: Path) -> Options:
    """What the tasks read. Raises ArgumentError."""
    return (
        Options(
            paths=(logs,),
            include_headers=options.include_headers,
            include_internal=options.include_internal,
            include_decoded=options.include_decoded,
            task_bytes=None
            if options.task_bytes is None
            else size_of("maxPartitionBytes", str(options.task_bytes)),
        )
        .with_on_error(options.on_error)
        .with_selection(options.selection())
    )


def _values(options: ExportOptions, logs: str | os.PathLike[str]) -> ValueRequest | None:
    """What decodes keys and values; None where they stay bytes. Raises ArgumentError, UnknownSchema."""
    if not {options.key_format, options.value_format} & {*TYPED}:
        return None
    reader = None if options.reader_schema is None else str(Path(options.reader_schema).absolute())
    values = ValueRequest((open_location(logs).absolute(),), options.registry, options.framing, reader)
    if values.decoder().source is None and {options.key_format, options.value_format} & {"avro", "protobuf"}:
        raise UnknownSchema(f"{logs} has no topic {SCHEMAS_TOPIC}: give registry")
    if not options.include_headers:
        raise ArgumentError("headers may name the schemas of values: they cannot be left out")
    return values


def export(
    logs: str | os.PathLike[str],
    to: str | os.PathLike[str],
    options: ExportOptions = ExportOptions(),
    *,
    engine: Engine = "spark",
    master: str = "local[*]",
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> ExportSummary:
    """Write the records of a log directory to files, in folders ``topic=T/partition=N``.

    The files have the columns of the `kafka-log` source; within a folder file names sort as offsets do. All
    is written next to `to` and renamed to it at the end, with an empty file ``_SUCCESS``: a run that fails
    leaves `to` as it was. On a cluster `to` and `logs` must be on a file system that the driver and all
    workers share.

    Args:
        options: which records, and what files.
        engine: "local" runs in threads of this process, without Spark.
        master: Spark's master URL, for where no session runs yet.
        config: settings for a session that is started here, and stopped.
        progress: takes lines of text.

    Returns: a row for each topic-partition.
    Raises: with on_error="raise" FormatError at corrupt bytes, and `kodec.pipeline.plan.DataLoss` for
    offsets that are missing; FileExistsError if `to` is a file, is not empty and overwrite is false, or
    holds files that are not of an export; ValueError for bad options, and if `to` is `logs`, in it,
    in a broker's log directory, or above it; OSError if files cannot be listed or written;
    MissingDependency if there is no Java; PySparkException if a task fails otherwise.

    Example:
        >>> from kodec.pipeline import ExportOptions, export
        >>> orders = ExportOptions(topics="orders")
        >>> summary = export("/data/kafka-logs", "parquet", orders, engine="local")
        >>> summary.records, [(row.partition, row.records) for row in summary.partitions]
        (1200, [(0, 421), (1, 415), (2, 364)])
    """
    started = time.monotonic()
    say = progress or (lambda text: None)
    LogReadOptions(on_error=options.on_error)
    form = FileFormat.of(
        options.format,
        options.compression,
        options.key_format,
        options.value_format,
        _values(options, logs),
        guard_formulas=options.guard_formulas,
    )
    options.selection()
    target, opened = prepared(logs, to, options.overwrite)
    source = _source(options, opened)
    omissions = Omissions()
    listed = list_segments(source, omissions)
    threads = options.threads or cores()
    if engine == "local" and source.task_bytes is None:
        # a thread each, but no tasks that are hardly worth a file
        enough = sum(part.segment.size for part in listed) // LEAST_TASK
        source = replace(source, min_tasks=max(1, min(threads, enough)))
    tasks = tasks_of(source, listed)
    say(_what_there_is(listed, len(tasks)))
    with (
        staged(target, source.paths, resume=options.resume) as staging,
        workers(
            "export", engine=engine, master=master, config=config, progress=progress, threads=threads
        ) as crew,
    ):
        results = crew.run(ExportWork(source, form, staging), tasks)
        # Again: others may have written there while the tasks ran.
        require_free(target, overwrite=options.overwrite, ours=is_of_an_export)
        written = publish_export(staging, target, results, omissions)
    return ExportSummary(target, written, len(tasks), time.monotonic() - started, omissions)


def prepared(logs: str | os.PathLike[str], to: str | os.PathLike[str], overwrite: bool) -> tuple[Path, Path]:
    """The target, and the log directory, of what is exported. Raises as `export`."""
    target, opened = readable(to).resolve(), open_location(logs).absolute()
    require_apart(opened, target)
    if shown(target) != str(target):
        raise ValueError(f"{target} is not UTF-8: Spark and Arrow cannot write there")
    require_free(target, overwrite=overwrite, ours=is_of_an_export)
    return target, opened


def publish_export(
    staging: Staging, target: Path, results: Iterable[TaskResult], omissions: Omissions
) -> list[PartitionSummary]:
    """Publish the files of all tasks, and a marker; return their contents. Raises OSError.

    Args: omissions has what planning left out, and takes what the tasks did.
    """
    published = []
    for folder, summaries, left in results:
        for file in (file for row in summaries for file in row.files):
            staging.take(folder / file, file)
        published += summaries
        omissions.extend(left)
    account = "" if omissions.is_whole else f"{json.dumps(omissions.facts())}\n"
    (staging.result / _SUCCESS).write_text(account)
    staging.publish(target)
    return merged(published)


def is_of_an_export(path: str) -> bool:
    """Whether a file is of an earlier export, by its path in the target.

    Others partition their files by `topic`, too, and mark their success: an export's file has the name of an
    offset.
    """
    return path == _SUCCESS or _OF_AN_EXPORT.fullmatch(path) is not None


def _what_there_is(listed: list[SourceSegment], tasks: int) -> str:
    owners = len({part.topic_partition for part in listed})
    size = sum(part.segment.size for part in listed)
    shown = f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"
    counts = [(owners, "topic-partition"), (len(listed), "segment"), (tasks, "task")]
    return ", ".join([*(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts), shown])


def merged(summaries: Iterable[PartitionSummary]) -> list[PartitionSummary]:
    """One summary for each topic-partition, by topic and partition."""
    rows: dict[tuple[str, int], PartitionSummary] = {}
    for row in summaries:
        key = row.topic, row.partition
        rows.setdefault(key, PartitionSummary(*key)).add(row)
    for row in rows.values():
        row.files.sort()
    return [rows[key] for key in sorted(rows)]
