"""The sink: DataFrames and streams as log directories, each row once.

The columns are those of Spark's Kafka sink (`org.apache.spark.sql.kafka010.KafkaWriteTask`): key, value,
headers, topic, partition; and offset, timestamp and timestampType, for restored logs. Tasks write
segments into a staging folder next to the log directory, each attempt into a folder of its own; the driver
adds those of the attempts that Spark accepted (`kodec.log.writing.add_segments`), under the lock of a broker.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from kodec.log import kernel
from kodec.log.batches.batch import CODECS
from kodec.log.files.listing import TopicPartition, parse_partition_dir
from kodec.log.files.paths import require_no_link
from kodec.log.remote.opening import require_outside_logs
from kodec.log.writing.add_segments import (
    FinishedSegment,
    add_segments,
    finish_additions,
    is_unfinished,
    staging_folder,
)
from kodec.pipeline.options import SIZE, TEXT, Kind, Option, OptionError, local_path
from kodec.pipeline.segments import Cut, PartitionRows, log_columns
from kodec.runtime.errors import KodecError
from kodec.runtime.near import meant

__all__ = ["WRITE_OPTIONS", "BatchSink", "StreamSink", "WriteOptions"]

_TYPES = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "topic": ("string",),
    "partition": ("int", "bigint", "smallint", "tinyint"),
    "offset": ("bigint", "int"),
    "timestamp": ("timestamp",),
    "timestampType": ("int",),
}
# As many rows without a key stay together.
_RUN = 1_000
_SIZE = re.compile(r"([0-9]{1,12})([kmg]?)b?", re.IGNORECASE)
_PLAIN = Cut()


def _number(values: str, most: int) -> Kind:
    def read(name: str, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > most:
            raise OptionError(name, f"{text!r}: expected a number from 0 to {most}")
        return int(text)

    return Kind(values, read)


def _size(most: int) -> Kind:
    def read(name: str, text: str) -> int:
        match = _SIZE.fullmatch(text)
        size = int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[match[2].lower()] if match else 0
        if not 0 < size <= most:
            raise OptionError(name, f"{text!r}: expected a size up to {most} bytes, like 64k or 1m")
        return size

    return Kind(SIZE.values, read, SIZE.shown)


def _codec(name: str, text: str) -> str:
    if text not in CODECS:
        near = meant(text, CODECS)
        raise OptionError("compression", f"{text!r}: expected one of {', '.join(CODECS)}{near}")
    return text


WRITE_OPTIONS: Mapping[str, Option] = {
    "topic": Option(
        TEXT._replace(values="a topic"),
        None,
        "the topic of all rows; overrides the column",
    ),
    "partition": Option(
        _number("whole number", 2**31 - 1),
        None,
        "the partition of all rows; overrides the column",
    ),
    "partitions": Option(
        _number("whole number above 0", 2**31 - 1),
        None,
        "the number of partitions of a topic. A row without a partition (no column, or null) "
        "goes where Kafka's producers send its key. Rows without a key go to each partition in "
        "turn, 1,000 at a time. A row whose partition is not below this number is an error",
    ),
    "compression": Option(
        Kind(", ".join(f"`{codec}`" for codec in CODECS), _codec),
        _PLAIN.compression,
        "the codec of batches",
    ),
    "kafka.compression.type": Option(
        Kind("as `compression`", _codec),
        _PLAIN.compression,
        "the same, by Kafka's name",
    ),
    "batchBytes": Option(
        _size(64 << 20),
        _PLAIN.batch_bytes,
        "a batch ends before it exceeds this size, before compression",
    ),
    "segmentBytes": Option(
        _size(2**31 - 1),
        _PLAIN.segment_bytes,
        "a segment ends before it exceeds this size (`segment.bytes`)",
    ),
    "queryId": Option(
        TEXT,
        None,
        "for `foreachBatch`, not for a stream's own writes. A batch whose number is not above "
        "the last one of its query is already written and is left out",
    ),
    "batchId": Option(
        _number("whole number", 2**63 - 1),
        None,
        "for `foreachBatch`, not for a stream's own writes. A batch whose number is not above "
        "the last one of its query is already written and is left out",
    ),
}
# What Spark itself adds.
_OF_SPARK = ("queryname", "provider", "owner")
_SOME_OFFSETS = "kafka-log: offset is null in some rows: leave the column out, or give them all"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a write; docs/spark-options.md describes each.

    Attributes:
        root: the log directory.
        topic, partition: of all rows, regardless of their columns; None: from the rows.
        partitions: how many partitions a topic has, for rows without one; None: all rows have one.
        cut: how rows become batches and segments.
        batch: the query and the number of its batch, if the caller counts them.
        checkpoint: where Spark keeps a stream's state, if the stream reports it.
    """

    root: Path
    topic: str | None
    partition: int | None
    partitions: int | None
    cut: Cut
    batch: tuple[str, int] | None
    checkpoint: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        """Read the options of a query. Raises OptionError for one that is not known or cannot be followed."""
        known = {name.lower(): name for name in (*WRITE_OPTIONS, "path")}
        values: dict[str, str] = {}
        checkpoint = None
        for name, text in options.items():
            if (lower := name.lower()) in known:
                values[known[lower]] = text
            elif lower == "checkpointlocation":
                checkpoint = text
            elif lower not in _OF_SPARK and not lower.startswith("kafka."):
                hint = meant(lower, known.values()) or f"; there are {', '.join(WRITE_OPTIONS)}"
                raise OptionError(name, f"there is no such option of writing{hint}")
        if "path" not in values:
            raise OptionError("path", "say where the log directory is: .save(path), or .start(path)")
        root = Path(local_path(values["path"], "written"))
        try:
            require_no_link(root)
            require_outside_logs(root)
        except ValueError as error:
            raise OptionError("path", str(error)) from None
        if root.exists() and not root.is_dir():
            raise OptionError("path", f"{root} is a file")
        if parse_partition_dir(root.name) is not None:
            text = (
                f"{root} is named like a topic-partition's folder; give the log directory that it is to be in"
            )
            raise OptionError("path", text)

        def value(name: str) -> Any:
            option = WRITE_OPTIONS[name]
            return option.kind.read(name, values[name]) if name in values else option.default

        topic, partition, partitions = value("topic"), value("partition"), value("partitions")
        if partitions == 0:
            raise OptionError("partitions", "a topic has at least one")
        if partition is not None and partitions is not None:
            raise OptionError("partitions", "it is for rows without a partition of their own")
        if topic is not None:
            _require_name(topic, partition or 0)
        cut = Cut(
            compression=value("compression" if "compression" in values else "kafka.compression.type"),
            batch_bytes=value("batchBytes"),
            segment_bytes=value("segmentBytes"),
        )
        query, number = value("queryId"), value("batchId")
        if (query is None) != (number is None):
            raise OptionError("queryId", "it goes with batchId: give both or none")
        batch = None if query is None or number is None else (query, number)
        return cls(root, topic, partition, partitions, cut, batch, checkpoint)

    def staging(self, name: str) -> Path:
        """The folder in which one write, of this name, is made."""
        return staging_folder(self.root, name)


def _require_name(topic: object, partition: object) -> TopicPartition:
    if isinstance(topic, str) and isinstance(partition, int):
        owner = TopicPartition(topic, partition)
        if parse_partition_dir(str(owner)) == owner:
            return owner
    hint = "; the option partitions chooses one" if partition is None else ""
    raise KodecError(f"kafka-log: {topic!r}, partition {partition!r}: not a topic-partition{hint}")


def _check_columns(columns: StructType, options: WriteOptions) -> None:
    """Refuse columns that the sink does not know, and rows without a topic or partition.

    Raises OptionError.
    """
    types = {field.name: field.dataType.simpleString() for field in columns}
    for name, kind in types.items():
        if name not in _TYPES:
            raise OptionError("columns", f"{name}: not one of {', '.join(_TYPES)}; leave it out")
        if kind not in _TYPES[name]:
            raise OptionError("columns", f"{name} is {kind}; expected {' or '.join(_TYPES[name])}")
    if "value" not in types:
        raise OptionError("columns", "there is no column value")
    if "topic" not in types and options.topic is None:
        raise OptionError("topic", "there is no column topic: name one with this option")
    if "partition" not in types and options.partition is None and options.partitions is None:
        text = "there is no column partition: name one, or say with the option partitions how many there are"
        raise OptionError("partition", text)
    if "offset" in types and options.partitions is not None:
        raise OptionError("partitions", "rows with offsets have a partition: there is nothing to choose")
    if "timestampType" in types and "timestamp" not in types:
        raise OptionError("columns", "timestampType goes with timestamp")


class _TaskResult(NamedTuple):
    """What one task has written."""

    staging: Path
    batch: tuple[str, int] | None
    segments: list[FinishedSegment]
    keeps: bool


@dataclass
class _Message(WriterCommitMessage):
    result: _TaskResult


class _Partitioner:
    """Chooses partitions as Kafka's producers do: by keys, and rows without one in turn.

    Those are taken by runs, so that many stay in their order. The same rows of a task get the same ones.

    Args: first: the partition of the first run.
    """

    def __init__(self, partitions: int, first: int) -> None:
        self._partitions = partitions
        self._first = first % partitions
        self._without = 0

    def chosen(self, keys: pa.Array) -> pa.Array:
        """The partition of each row, int64."""
        of_key = kernel.partitions_of(keys.cast(pa.binary()), self._partitions).cast(pa.int64())
        if not keys.null_count:
            return of_key
        so_far = pc.cumulative_sum(keys.is_null().cast(pa.int64()), start=self._without - 1)
        turn = pc.add(pc.divide(so_far, _RUN), self._first)
        self._without += keys.null_count
        count = pa.scalar(self._partitions, pa.int64())
        return pc.coalesce(of_key, pc.subtract(turn, pc.multiply(pc.divide(turn, count), count)))


class _Sink:
    """What writers of queries and of streams have in common."""

    # whether the driver has made the staging folder before the tasks
    _is_staged = False

    def __init__(self, columns: StructType, options: WriteOptions, overwrite: bool) -> None:
        if overwrite:
            raise OptionError("mode", 'segments are added to a log directory: use mode("append")')
        _check_columns(columns, options)
        self.options = options
        self.keep_offsets = "offset" in columns.names
        # One time for all attempts at all tasks, so that each makes the same bytes.
        self.now = time.time_ns() // 1_000_000
        self.name = uuid.uuid4().hex

    def _write(
        self, batches: Iterable[pa.RecordBatch], name: str, batch: tuple[str, int] | None
    ) -> WriterCommitMessage:
        staging = self.options.staging(name)
        attempt = staging / uuid.uuid4().hex
        rows: dict[TopicPartition, PartitionRows] = {}
        context = TaskContext.get()
        first = (0 if context is None else context.partitionId()) + (0 if batch is None else batch[1])
        partitioner = _Partitioner(self.options.partitions or 1, first)
        # created once: a task that continues after `abort` has removed it must not create it again
        try:
            attempt.mkdir(parents=not self._is_staged)
        except FileNotFoundError:
            text = "the write has ended, or this worker does not share the driver's file system"
            raise KodecError(f"kafka-log: there is no {staging}: {text}") from None
        keeps: bool | None = None
        try:
            for input_batch in batches:
                if self.keep_offsets and input_batch.num_rows:
                    # SQL has no way to leave a column out: it is null then
                    some = input_batch["offset"].null_count < input_batch.num_rows
                    keeps = some if keeps is None else keeps
                    if keeps is not some:
                        raise KodecError(_SOME_OFFSETS)
                    input_batch = input_batch if keeps else input_batch.drop_columns(["offset"])
                for owner, part in self._parts(input_batch, partitioner):
                    if owner not in rows:
                        rows[owner] = PartitionRows(
                            owner, attempt / str(owner), self.options.cut, keep_offsets=bool(keeps)
                        )
                    rows[owner].add(part)
            segments = [segment for owner in sorted(rows) for segment in rows[owner].close()]
        except BaseException:
            for open_rows in rows.values():
                open_rows.abandon()
            shutil.rmtree(attempt, ignore_errors=True)
            if not self._is_staged:
                with suppress(OSError):
                    # other attempts are in it, or it has gone
                    staging.rmdir()
            raise
        return _Message(_TaskResult(staging, batch, segments, bool(keeps)))

    def _parts(
        self, batch: pa.RecordBatch, partitioner: _Partitioner
    ) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
        """The rows of each topic-partition, in their order, with the columns that a log has."""
        if not batch.num_rows:
            return
        columns = log_columns(batch, self.now)
        names = set(batch.schema.names)
        options = self.options
        # As in Spark's Kafka sink an option goes before a column.
        if options.topic is not None and options.partition is not None:
            yield _require_name(options.topic, options.partition), columns
            return
        topics = batch["topic"] if options.topic is None else pa.repeat(options.topic, batch.num_rows)
        numbers = (
            batch["partition"].cast(pa.int64())
            if "partition" in names and options.partition is None
            else pa.repeat(pa.scalar(options.partition, pa.int64()), batch.num_rows)
        )
        if options.partitions is not None and numbers.null_count:
            keys = batch["key"] if "key" in names else pa.nulls(batch.num_rows, pa.binary())
            without = keys.filter(numbers.is_null())
            numbers = pc.replace_with_mask(numbers, numbers.is_null(), partitioner.chosen(without))
        most = options.partitions
        if most is not None and (largest := pc.max(numbers).as_py()) is not None and largest >= most:
            raise KodecError(f"kafka-log: partition {largest}: the option partitions says there are {most}")
        owners = pa.table({"topic": topics, "partition": numbers}).group_by(["topic", "partition"])
        topic_partitions = sorted(
            _require_name(row["topic"], row["partition"]) for row in owners.aggregate([]).to_pylist()
        )
        if len(topic_partitions) == 1:
            yield topic_partitions[0], columns
            return
        for owner in topic_partitions:
            mask = pc.and_(pc.equal(topics, owner.topic), pc.equal(numbers, owner.partition))
            yield owner, columns.filter(mask)

    def _commit(self, messages: Iterable[WriterCommitMessage | None]) -> None:
        results = [message.result for message in messages if isinstance(message, _Message)]
        segments = [segment for result in results for segment in result.segments]
        batch = results[0].batch if results else None
        if segments or batch is not None:
            keeps = {result.keeps for result in results if result.segments}
            if len(keeps) > 1:
                raise KodecError(_SOME_OFFSETS)
            add_segments(self.options.root, segments, keep_offsets=keeps == {True}, batch=batch)
        _remove([self.options.staging(self.name), *(result.staging for result in results)])

    def _abort(self, messages: Iterable[WriterCommitMessage | None]) -> None:
        if is_unfinished(self.options.root):
            # The recorded work is completed, here or by the next writer: these folders contain it.
            finish_additions(self.options.root)
        _remove(
            [
                self.options.staging(self.name),
                *(m.result.staging for m in messages if isinstance(m, _Message)),
            ]
        )


def _remove(folders: Iterable[Path]) -> None:
    for folder in set(folders):
        # Moved first: a task that continues would put files into the folder being deleted.
        gone = folder.with_name(f"{folder.name}-{uuid.uuid4().hex}")
        try:
            folder.rename(gone)
        except OSError:
            # The output is in its place: if this remains, the write has not failed.
            gone = folder
        shutil.rmtree(gone, ignore_errors=True)


class BatchSink(_Sink, DataSourceArrowWriter):
    """Writes a DataFrame."""

    _is_staged = True

    def __init__(self, columns: StructType, options: WriteOptions, overwrite: bool) -> None:
        super().__init__(columns, options, overwrite)
        # By the driver: a task that starts after `abort` finds none, as where a thread is interrupted.
        self.options.staging(self.name).mkdir(parents=True)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task into its own segments. Raises KodecError, OSError."""
        return self._write(iterator, self.name, self.options.batch)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Add the segments of all tasks, in the order of the DataFrame's partitions."""
        self._commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove the written files."""
        self._abort(messages)


class StreamSink(_Sink, DataSourceStreamArrowWriter):
    """Writes the micro-batches of a stream, each once."""

    def __init__(self, columns: StructType, options: WriteOptions, overwrite: bool) -> None:
        if options.batch is not None:
            raise OptionError("queryId", "a stream's micro-batches are counted by Spark: leave it out")
        super().__init__(columns, options, overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task of a micro-batch. Raises KodecError, OSError."""
        context: Any = TaskContext.get()
        query = context.getLocalProperty("sql.streaming.queryId")
        number = int(context.getLocalProperty("streaming.sql.batchId"))
        return self._write(iterator, self._staged(number) or f"{query}-{number}", (query, number))

    def _staged(self, number: int) -> str | None:
        """The name of a micro-batch's staging folder, which the driver can compute too; None if there is
        none."""
        checkpoint = self.options.checkpoint
        return checkpoint and f"{hashlib.sha256(checkpoint.encode()).hexdigest()[:32]}-{number}"

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Add the segments of a micro-batch; nothing if that was done before."""
        self._commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Remove the written files."""
        self.name = self._staged(batchId) or self.name
        self._abort(messages)
