"""Logs as Arrow tables, and Arrow tables as the bytes of a log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from kodec.log import kernel
from kodec.log.arguments import require_integer
from kodec.log.backends.arrow import DECODED, batch_schema, columns_of, decoded_schema, pyarrow, row_schema
from kodec.log.backends.scan import BATCH_BYTES, BATCH_ROWS, Scan
from kodec.log.batches.options import EncodeOptions, LogReadOptions, OnError
from kodec.log.batches.records import Limits
from kodec.log.keywords import as_keywords
from kodec.log.omissions import Omissions
from kodec.log.reading.ahead import cores
from kodec.log.reading.source import Source
from kodec.log.remote.topics import topic_of
from kodec.log.selection import Bounds, Isolation, Keys, Partitions, Selection, TimeBounds, Topics
from kodec.log.tables.chosen import ChosenLogs, LogsSource, chosen_logs, one_file
from kodec.log.tables.committed import Committed
from kodec.log.tables.normalized import normalized_batches
from kodec.log.tables.reader import TableReader, scan_headers, scan_rows
from kodec.log.tables.stream import PLACE, placed_schema, scan_logs
from kodec.runtime.dataclass import replace

if TYPE_CHECKING:
    import pyarrow as pa

    from kodec.log.values.decoder import ValueDecoder

__all__ = [
    "SupportsArrowArray",
    "SupportsArrowStream",
    "TableReader",
    "encode_table",
    "read_batch_table",
    "read_table",
    "row_schema",
    "scan_batch_table",
    "scan_selected",
    "scan_table",
]

# A column counts its bytes in 31 bits; a character of a header's key may take four.
_MOST_BYTES = 128 << 20
# Names and JSON take up to 25 times the size of the decoded bytes.
_MOST_BYTES_DECODED = 16 << 20


class SupportsArrowStream(Protocol):
    """A table of any library: a stream by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object: ...


class SupportsArrowArray(Protocol):
    """A batch of any library: an array by Arrow's PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None, /) -> tuple[object, object]: ...


def scan_table(
    source: LogsSource,
    columns: Iterable[str] | None = None,
    *,
    topics: Topics = None,
    partitions: Partitions = None,
    offsets: Bounds = None,
    timestamps: TimeBounds = None,
    isolation: Isolation = "read_uncommitted",
    keys: Keys = None,
    check_crc: bool = True,
    control: bool = False,
    source_topic: str | None = None,
    values: ValueDecoder | None = None,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    threads: int | None = None,
) -> TableReader:
    """Read the records of logs, of formats v0, v1 and v2 in any mix, as Arrow batches, one after another.

    A row is a record, in stored order. The columns are those of `row_schema`: offset int64,
    timestamp timestamp[ms, UTC] (-1 ms: none), timestamp_type int32 (0 CreateTime, 1 LogAppendTime, -1
    none), key and value binary (null: none), headers list<struct<key: string, value: binary>> (never null).
    Before these, if the rows may be of more than one topic-partition: topic string and partition int32.
    Bytes of a header's key that are not UTF-8 are U+FFFD, as Kafka shows them.

    Args:
        source: a path, bytes-like, or a file opened for reading in binary (read from its current position):
            one segment, or any file with batches. Or many: the path of a log directory or of a
            topic-partition's folder, a glob, a `LogDirectory`, a `PartitionLog`, a `Segment`, or a list of
            these. They are read by topic, partition and offset, each log from its start offset; a log
            directory's internal topics only if `topics` names them.
        columns: the columns, in this order; others are not built. None: all of the above.
            On request only: `key_decoded` and `value_decoded`, strings. They are the messages of Kafka's own
            topics and control records as JSON, {"name", "type", "version", "data"}; unknown messages and
            those that do not decode have "reason" and "bytes" (base64) instead of "data". Null if there are
            no bytes, and for records of other topics. With `values`, three more;
            `topic` and `partition` are available for one topic-partition, too; null for a file outside such a
            folder.
        topics, partitions, offsets, timestamps, isolation, keys: as in `read_records`. A batch of v2 whose
            header has no row in the ranges is skipped: not decompressed, and its checksum not verified.
        check_crc, on_error, limits: as in `read_records`; with damage, the rows before it come first.
        control: also yield the rows of control records.
        source_topic: the topic of the records of one file, for the decoded columns; None: from the folder
            of a path.
        values: decodes values, in three more columns (docs/values.md): `value_typed`, of the type of the
            reader's schema, or JSON on one line if it has none; `value_schema` and `value_reason`,
            strings: the id of the value's schema, and why it is not decoded (then it is
            null).
        batch_rows, batch_bytes: the approximate size of the Arrow batches: one is complete once it has this
            many rows, or this many bytes (128 MiB at most) in keys, values and headers, of which each counts
            for 16 more. It ends where a batch of the log ends, unless it would be more than twice as large.
        threads: how many segments are read at once (None: one per core); each has
            at most two batches waiting.

    Returns: an iterator of `pyarrow.RecordBatch` that also is an Arrow stream. Its `schema` is that of all
        batches; `position`, `torn_tail` and `skipped` as in `read_records`, of several files together, and in
        `ends` for each. Batches own their memory.
    Raises: ValueError for unknown columns or invalid ranges, for a datetime without a zone, and for decoded
        columns if the topic is unknown; MissingDependency without pyarrow; then what
        `read_records` raises, and Malformed for an offset or timestamp that does not fit 64 bits.

    Example:
        >>> import kodec
        >>> reader = kodec.scan_table("/data/kafka-logs/orders-0", ["offset", "key"])
        >>> sum(batch.num_rows for batch in reader)
        421
        >>> reader.torn_tail
    """
    if batch_rows < 1 or batch_bytes < 1:
        raise ValueError(f"batch_rows={batch_rows}, batch_bytes={batch_bytes}: expected at least 1")
    if threads is not None:
        require_integer("threads", threads, 1)
    options = LogReadOptions(check_crc=check_crc, control=control, on_error=on_error, limits=limits)
    selection = Selection.of(topics, partitions, offsets, timestamps, isolation, keys)
    logs = chosen_logs(source, selection, options)
    names = None if columns is None else [columns] if isinstance(columns, str) else list(columns)

    def stored(names: list[str] | None) -> TableReader:
        scan = Scan(row_schema(), batch_rows=batch_rows, batch_bytes=batch_bytes, topic=source_topic or "")
        return scan_selected(logs, names, selection, scan, options, threads or cores())

    if values is None:
        return stored(names)
    from kodec.log.tables.typed import scan_typed

    if isinstance(logs, ChosenLogs):
        return scan_typed(names, values, stored, source_topic, ("topic",))
    if source_topic is None and isinstance(logs, (str, os.PathLike)):
        source_topic = topic_of(logs)
    return scan_typed(names, values, stored, source_topic or "", ())


def scan_selected(
    logs: ChosenLogs | Source,
    names: list[str] | None,
    selection: Selection,
    scan: Scan,
    options: LogReadOptions,
    threads: int,
) -> TableReader:
    """The selected rows of what was chosen, with these columns; None: all.

    `scan` has the size of batches, and the topic, "" if it is that of the folder. Raises as `scan_table`.
    """
    if names is None:
        schema = placed_schema() if isinstance(logs, ChosenLogs) and logs.several else row_schema()
    else:
        schema = columns_of(placed_schema(decoded_schema()), names)
    if selection.keys is not None:
        inner = list(dict.fromkeys([*schema.names, "key"]))
        others = replace(selection, keys=None)
        reader = scan_selected(logs, inner, others, scan, options, threads)
        return _with_keys(reader, schema, selection.keys)
    decoded = not set(DECODED).isdisjoint(schema.names)
    topic = scan.topic or None
    if decoded and not isinstance(logs, ChosenLogs):
        topic = _topic(logs, topic)
    scan = Scan(
        schema,
        selection.offsets,
        selection.timestamps,
        scan.batch_rows,
        min(scan.batch_bytes, _MOST_BYTES_DECODED if decoded else _MOST_BYTES),
        topic or "",
    )
    committed = Committed(selection, options)
    if isinstance(logs, ChosenLogs):
        return scan_logs(logs, scan, options, committed, threads)
    if set(PLACE).isdisjoint(schema.names):
        stable = committed.of_source(logs)
        scan = replace(scan, offsets=stable.within(scan.offsets))
        return scan_rows(logs, scan, options, drops=stable.drops)
    return scan_logs(one_file(logs, options), scan, options, committed, 1)


def _with_keys(inner: TableReader, schema: pa.Schema, keys: frozenset[bytes]) -> TableReader:
    """The rows of a reader that have one of these keys, with these of its columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    key_array = pa.array(sorted(keys), pa.binary())

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in inner:
            if (matching := batch.filter(pc.is_in(batch["key"], key_array))).num_rows:
                yield matching.select(schema.names)

    reader = TableReader(inner._walk, batches())
    reader.schema, reader.ends = schema, inner.ends
    return reader


def _topic(source: Source, topic: str | None) -> str:
    """The topic of a source. Raises ValueError if that is unknown."""
    if topic is None and isinstance(source, (str, os.PathLike)):
        topic = topic_of(source)
    if topic is None:
        raise ValueError(
            f"{' and '.join(DECODED)} depend on the topic, which is unknown here: give source_topic="
        )
    return topic


def read_table(
    source: LogsSource,
    columns: Iterable[str] | None = None,
    *,
    topics: Topics = None,
    partitions: Partitions = None,
    offsets: Bounds = None,
    timestamps: TimeBounds = None,
    isolation: Isolation = "read_uncommitted",
    keys: Keys = None,
    check_crc: bool = True,
    control: bool = False,
    source_topic: str | None = None,
    values: ValueDecoder | None = None,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
    threads: int | None = None,
    omissions: Omissions | None = None,
) -> pa.Table:
    """Read the records of logs as one `pyarrow.Table`; arguments, columns and errors as in `scan_table`.

    Args:
        omissions: takes what is not in the table, as `scan_table`'s reader has it.
        others: as in `scan_table`.

    Returns: all rows in one table, which owns its memory.
    Raises: as `scan_table`.

    Example:
        >>> import kodec
        >>> table = kodec.read_table("/data/kafka-logs", ["offset", "value"], topics="orders")
        >>> table.num_rows, table.column_names
        (1200, ['offset', 'value'])
    """
    reader = scan_table(
        source,
        columns,
        topics=topics,
        partitions=partitions,
        offsets=offsets,
        timestamps=timestamps,
        isolation=isolation,
        keys=keys,
        check_crc=check_crc,
        control=control,
        source_topic=source_topic,
        values=values,
        on_error=on_error,
        limits=limits,
        threads=threads,
    )
    table = reader.read_all()
    if omissions is not None:
        omissions.extend(reader.omissions)
    return table


def scan_batch_table(
    source: Source,
    *,
    check_crc: bool = False,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
) -> TableReader:
    """Read the headers of a log's batches as Arrow batches, a row for each batch or message.

    Columns: position and size int64, bytes | magic int8 | codec dictionary of string | base_offset int64,
    null for a compressed v0 or v1 message | last_offset int64 | count int32, null as base_offset |
    base_timestamp, max_timestamp timestamp[ms, UTC], -1 ms = none | timestamp_type int32 |
    partition_leader_epoch int32, producer_id int64, producer_epoch int16, base_sequence int32, -1 = none |
    is_transactional, is_control bool | delete_horizon timestamp[ms, UTC], null = none | crc uint32, as stored
    | crc_ok bool, null unless `check_crc`. The names are those of `Batch`.

    Nothing is decompressed, and a wrong checksum is no error: `check_crc` only fills `crc_ok`. The rest is as
    in `scan_table`.

    Args:
        source: a path, bytes-like, or a file opened for reading in binary: one file with batches.
        check_crc: verify checksums, into the column `crc_ok`.
        others: as in `read_records`.

    Returns: an iterator of `pyarrow.RecordBatch`.
    Raises: as `read_batches`; MissingDependency without pyarrow.

    Example:
        >>> import kodec
        >>> segment = "/data/kafka-logs/orders-0/00000000000000000000.log"
        >>> for batches in kodec.scan_batch_table(segment):
        ...     print(batches["base_offset"][0], batches["count"][0])
        0 10
    """
    options = LogReadOptions(check_crc=check_crc, on_error=on_error, limits=limits)
    return scan_headers(source, Scan(batch_schema()), options)


def read_batch_table(
    source: Source,
    *,
    check_crc: bool = False,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
) -> pa.Table:
    """Read the headers of a log's batches as one `pyarrow.Table`; see `scan_batch_table`.

    Args:
        all: as in `scan_batch_table`.

    Returns: a row for each batch; the columns of `scan_batch_table`.
    Raises: as `scan_batch_table`.

    Example:
        >>> import kodec
        >>> segment = "/data/kafka-logs/orders-0/00000000000000000000.log"
        >>> table = kodec.read_batch_table(segment, check_crc=True)
        >>> table["codec"][0].as_py(), table["crc_ok"].to_pylist().count(False)
        ('none', 0)
    """
    return scan_batch_table(source, check_crc=check_crc, on_error=on_error, limits=limits).read_all()


@as_keywords(EncodeOptions)
def encode_table(table: SupportsArrowStream | SupportsArrowArray, options: EncodeOptions) -> bytes:
    """Encode the rows of a table as a log, like `encode` with the same records.

    Args:
        table: a `pyarrow.Table` or `RecordBatch`, or any object with `__arrow_c_stream__` or
            `__arrow_c_array__`, with some of the columns of `row_schema`. For missing columns, and for
            a null offset, timestamp or timestamp_type, the default of `Record` is used. Other types are
            cast: keys and values may be strings, timestamps have any unit or be integers of ms, headers be
            maps.
        lossy: as in `encode`; also cuts timestamps to whole milliseconds.
        The rest as in `encode`.

    Returns: bytes that Kafka reads; empty for no rows.
    Raises: EncodeError naming the record and the field, or the column; TypeError for anything but a table;
        MissingDependency without pyarrow.

    Example:
        >>> import kodec
        >>> import pyarrow as pa
        >>> table = pa.table({"key": ["a", "b"], "value": ["1", "2"]})
        >>> data = kodec.encode_table(table, compression="lz4")
        >>> [(record.key, record.value) for record in kodec.read_records(data)]
        [(b'a', b'1'), (b'b', b'2')]
    """
    pyarrow()
    return kernel.encode_rows(list(normalized_batches(table, lossy=options.lossy)), options)
