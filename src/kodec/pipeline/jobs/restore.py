"""Restores a log directory from Parquet or Arrow IPC, as `export` writes it, here or in Spark's workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kodec.log.arguments import chosen_names
from kodec.log.backends.header_keys import restored
from kodec.log.batches.batch import CODECS
from kodec.log.files.durable import sync_folder
from kodec.log.files.listing import TopicPartition, parse_partition_dir
from kodec.log.files.paths import require_apart
from kodec.log.omissions import Cause, Omissions
from kodec.log.remote.resolve import NotALog
from kodec.log.selection import Topics
from kodec.log.writing.add_segments import FinishedSegment, note_epoch
from kodec.pipeline.segments import Cut, PartitionRows, log_columns
from kodec.pipeline.staging import Staging, require_free, staged
from kodec.pipeline.workers import Engine, workers
from kodec.runtime.errors import EncodeError
from kodec.runtime.near import meant
from kodec.stores.storage import files_below, on_this_machine

__all__ = ["RestoreSummary", "RestoredPartition", "check_restore", "restore"]

_COLUMNS = ("key", "value", "headers", "offset", "timestamp", "timestampType")
_TYPES: tuple[tuple[str, Callable[[pa.DataType], bool], str], ...] = (
    ("offset", pa.types.is_integer, "a whole number"),
    ("timestamp", pa.types.is_timestamp, "a timestamp"),
    ("timestampType", pa.types.is_integer, "a whole number"),
)
_ROWS = 65_536
_SUFFIXES = (".parquet", ".arrow")
# The name that Hive and Spark give the partition of rows with a null value.
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class RestoredPartition:
    """The written part of one topic-partition; offsets are None where there is no row.

    Attributes:
        topic_partition: which one.
        records, first_offset, last_offset: how many, and their offsets.
        segments, bytes: of its log.

    Example: see `restore`.
    """

    topic_partition: TopicPartition
    records: int
    first_offset: int | None
    last_offset: int | None
    segments: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RestoreSummary:
    """The result of a restore: the log directory, a row for each topic-partition, and the time it took.

    Attributes:
        out: the log directory.
        partitions: by topic and partition.
        seconds: how long it took.
        omissions: what is in the folder and was not read.

    Example: see `restore`.
    """

    out: Path
    partitions: list[RestoredPartition]
    seconds: float
    omissions: Omissions

    @property
    def records(self) -> int:
        """The number of records written."""
        return sum(row.records for row in self.partitions)


@dataclass(frozen=True, slots=True)
class _Source:
    owner: TopicPartition
    files: list[Path]


@dataclass(frozen=True, slots=True)
class _Restore:
    cut: Cut
    staging: Staging

    def __call__(self, source: _Source) -> tuple[Path, list[FinishedSegment]]:
        folder = self.staging.attempt() / str(source.owner)
        rows = PartitionRows(source.owner, folder, self.cut, keep_offsets=True)
        try:
            for path in _in_order(source.files):
                for batch in _batches(path):
                    if batch.num_rows:
                        rows.add(log_columns(_with_keys(batch), -1))
            segments = rows.close()
        except BaseException:
            rows.abandon()
            raise
        if segments:
            note_epoch(folder)
        sync_folder(folder)
        return folder, segments


def _with_keys(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with the bytes that an export has written as characters."""
    index = batch.schema.get_field_index("headers")
    if index < 0:
        return batch
    return batch.set_column(index, "headers", restored(batch.column(index)))


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile | pa.RecordBatchFileReader]:
    """A file of Parquet or Arrow IPC. Raises OSError, also if it is damaged."""
    try:
        if path.suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                yield file
        else:
            with pa.OSFile(str(path)) as stream, pa.ipc.open_file(stream) as reader:
                yield reader
    except (OSError, pa.ArrowException) as error:
        raise OSError(f"{path}: {error}") from error


def _schema(file: pq.ParquetFile | pa.RecordBatchFileReader) -> pa.Schema:
    return file.schema_arrow if isinstance(file, pq.ParquetFile) else file.schema


def _batches(path: Path, columns: Iterable[str] = _COLUMNS) -> Iterator[pa.RecordBatch]:
    """The rows of a file, of these columns those that it has. Raises OSError, also if it is damaged."""
    with _opened(path) as file:
        there = _schema(file).names
        names = [name for name in columns if name in there]
        if isinstance(file, pq.ParquetFile):
            yield from file.iter_batches(_ROWS, columns=names)
            return
        for number in range(file.num_record_batches):
            batch = file.get_batch(number).select(names)
            batch.validate(full=True)
            yield from (batch.slice(start, _ROWS) for start in range(0, batch.num_rows, _ROWS))


def _require_columns(path: Path) -> None:
    """Raises EncodeError for a file without the required columns, or with one of another type."""
    with _opened(path) as file:
        columns = _schema(file)
    for name in ("offset", "value"):
        if name not in columns.names:
            raise EncodeError(str(path), f"no column {name}", have=", ".join(columns.names))
    for name, is_right, need in _TYPES:
        if name in columns.names and not is_right(kind := columns.field(name).type):
            raise EncodeError(str(path), f"the column {name} has another type", need=need, have=str(kind))


def _in_order(paths: Iterable[Path]) -> Iterator[Path]:
    """The files by their offsets. Raises EncodeError if these overlap, or one is null or negative."""
    bounds = []
    for path in paths:
        _require_columns(path)
        of_batches = []
        for batch in _batches(path, ["offset"]):
            if batch["offset"].null_count:
                raise EncodeError(str(path), "an offset is null")
            if batch.num_rows:
                of_batches.append(pc.min_max(batch["offset"]).as_py())
        if of_batches:
            first, last = (
                min(statistics["min"] for statistics in of_batches),
                max(statistics["max"] for statistics in of_batches),
            )
            if first < 0:
                raise EncodeError(str(path), "an offset is negative", need="at least 0", have=first)
            bounds.append((first, last, path))
    end = 0
    for first, last, path in sorted(bounds):
        if first < end:
            raise EncodeError(str(path), "offsets overlap", need=f"at least {end}", have=first)
        end = last + 1
        yield path


def restore(
    parquet: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    topics: Topics = None,
    compression: str = "none",
    segment_bytes: int = 1 << 30,
    engine: Engine = "spark",
    master: str = "local[*]",
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> RestoreSummary:
    """Write the rows of Parquet or Arrow IPC files in folders ``topic=T/partition=N`` as a log directory,
    keeping offsets.

    Each topic-partition is one task. The columns are those of the `kafka-log` source: offset and value are
    required, the others optional. Gaps between offsets stay. Leader epochs, producers and control records
    are not restored: an export does not have them. The log directory appears at the end, complete.

    Args: to is new or empty; compression, segment_bytes as in `LogConfig` and `kodec.encode`; the
    rest as in `export`.

    Returns: a row for each topic-partition.
    Raises: EncodeError for offsets that do not ascend, and records that cannot be written; FileExistsError
    if `to` is not empty; ValueError for bad arguments, for a missing folder, and if `to`
    is `parquet`, in it or above it; OSError; MissingDependency if there is no Java; PySparkException if
    a task fails otherwise.

    Example:
        >>> from kodec.pipeline import ExportOptions, export, restore
        >>> orders = ExportOptions(topics="orders")
        >>> _ = export("/data/kafka-logs", "parquet", orders, engine="local")
        >>> summary = restore("parquet", "logs", engine="local")
        >>> [(str(each.topic_partition), each.records) for each in summary.partitions]
        [('orders-0', 421), ('orders-1', 415), ('orders-2', 364)]
    """
    started = time.monotonic()
    say = progress or (lambda text: None)
    if compression not in CODECS:
        raise ValueError(
            f"compression is one of {', '.join(CODECS)}, not {compression!r}{meant(compression, CODECS)}"
        )
    if not 0 < segment_bytes < 2**31:
        raise ValueError(f"segment_bytes={segment_bytes}: expected a number from 1 to {2**31 - 1}")
    omissions = Omissions()
    source, target, sources = _planned(parquet, to, topics, omissions)
    sizes = [sum(path.stat().st_size for path in rows_of_log.files) for rows_of_log in sources]
    say(f"{len(sources)} topic-partitions, {sum(len(rows_of_log.files) for rows_of_log in sources)} files")
    cut = Cut(compression=compression, segment_bytes=segment_bytes)
    partitions = []
    with (
        staged(target, [source]) as staging,
        workers("restore", engine=engine, master=master, config=config, progress=progress) as crew,
    ):
        for rows_of_log, (folder, segments) in zip(
            sources, crew.run_sized(_Restore(cut, staging), sources, sizes), strict=True
        ):
            staging.take(folder, folder.name)
            partitions.append(_summed(rows_of_log.owner, segments))
        sync_folder(staging.result)
        require_free(target)
        staging.publish(target)
    return RestoreSummary(target, partitions, time.monotonic() - started, omissions)


def check_restore(
    parquet: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    topics: Topics = None,
    omissions: Omissions | None = None,
) -> Iterator[RestoredPartition]:
    """Check the columns and offsets of files for `restore`, and write nothing.

    Args:
        parquet, to, topics: as in `restore`.
        omissions: takes what is in the folder and would not be read.

    Returns: a row for each topic-partition, without segments and bytes.
    Raises: as `restore`.

    Example:
        >>> from kodec.pipeline import ExportOptions, check_restore, export
        >>> orders = ExportOptions(topics="orders", overwrite=True)
        >>> _ = export("/data/kafka-logs", "parquet", orders, engine="local")
        >>> [(str(each.topic_partition), each.records) for each in check_restore("parquet", "new")]
        [('orders-0', 421), ('orders-1', 415), ('orders-2', 364)]
    """
    account = Omissions() if omissions is None else omissions
    for rows_of_log in _planned(parquet, to, topics, account)[2]:
        records, first, last = 0, None, None
        for path in _in_order(rows_of_log.files):
            for batch in _batches(path, ["offset"]):
                if batch.num_rows:
                    bounds = pc.min_max(batch["offset"]).as_py()
                    records += batch.num_rows
                    first = bounds["min"] if first is None else min(first, bounds["min"])
                    last = bounds["max"] if last is None else max(last, bounds["max"])
        yield RestoredPartition(rows_of_log.owner, records, first, last, 0, 0)


def _planned(
    parquet: str | os.PathLike[str], to: str | os.PathLike[str], topics: Topics, omissions: Omissions
) -> tuple[Path, Path, list[_Source]]:
    """The folders, and the files of each topic-partition. Raises as `restore`."""
    source, target = on_this_machine(parquet).resolve(), on_this_machine(to).resolve()
    require_apart(source, target)
    require_free(target)
    names = chosen_names("topics", topics)
    return source, target, list(_sources(source, None if names is None else set(names), omissions))


def _sources(root: Path, topics: set[str] | None, omissions: Omissions) -> Iterator[_Source]:
    """The files of each topic-partition.

    Raises ValueError for files of rows in other places; OSError for a folder that cannot be listed: `glob`
    would leave it out.
    """
    known = set()
    for folder in _folders(root, "topic", omissions):
        topic = folder.name.partition("=")[2]
        is_wanted = topics is None or topic in topics
        known.add(topic)
        for inner in _folders(folder, "partition", omissions) if is_wanted else ():
            owner = parse_partition_dir(f"{topic}-{inner.name.partition('=')[2]}")
            if owner is None or owner.topic != topic or topic == _NULL:
                raise ValueError(f"{inner}: not a topic-partition")
            yield _Source(owner, sorted(_files(inner)))
    if not known:
        raise NotALog(f"{root} has no folder named like topic=orders/partition=0")
    if missing := (topics or set()) - known:
        raise NotALog(f"{root} has no topic {', '.join(sorted(missing))}")


def _folders(around: Path, key: str, omissions: Omissions) -> list[Path]:
    """The folders named `key=...`; what else is there has no rows, and is in the account.

    Spark and Hive read nothing whose name begins with `_` or `.`. Raises ValueError where there are rows.
    """
    folders = []
    for path in sorted(around.iterdir()):
        if path.name.startswith(("_", ".")):
            continue
        if path.name.startswith(f"{key}="):
            folders.append(path)
            continue
        inside = files_below(path, _failed) if path.is_dir() else [path]
        if (rows := next((path for path in inside if path.suffix in _SUFFIXES), None)) is not None:
            raise ValueError(f"{rows}: not in a folder named like topic=orders/partition=0")
        omissions.lose(path, f"not read: it is not named like {key}=...", Cause.ABSENT)
    return folders


def _failed(error: OSError) -> NoReturn:
    raise error


def _files(folder: Path) -> Iterator[Path]:
    """The files to be read; Spark and Hive read none whose names begin with `_` or `.`. Raises ValueError."""
    for path in folder.iterdir():
        if path.name.startswith(("_", ".")):
            continue
        if path.suffix not in _SUFFIXES or not path.is_file():
            raise ValueError(f"{path}: not a file named like 00000000000000000000.parquet")
        yield path


def _summed(owner: TopicPartition, segments: list[FinishedSegment]) -> RestoredPartition:
    return RestoredPartition(
        owner,
        sum(segment.records for segment in segments),
        segments[0].first_offset if segments else None,
        segments[-1].next_offset - 1 if segments else None,
        len(segments),
        sum(segment.bytes for segment in segments),
    )
