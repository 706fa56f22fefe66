"""The optional library pyarrow, and the columns of tables."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from kodec.generated.log.record_batch import HEAD_OF_RECORD_BATCH_ROWS
from kodec.log.batches.header import EXTRA
from kodec.runtime.errors import ArgumentError, MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.near import meant

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DECODED",
    "OF_BATCH",
    "SEQUENCE",
    "batch_schema",
    "columns_of",
    "decoded_schema",
    "headed_schema",
    "is_dense",
    "pyarrow",
    "row_schema",
    "scan_schema",
]

OF_BATCH = (
    "position",
    "size",
    "magic",
    "codec",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "is_transactional",
    "is_control",
    *(field.name for field in EXTRA),
)
"""Columns of `batch_schema` that a table of records can also have."""
SEQUENCE = "sequence"
DECODED = ("key_decoded", "value_decoded")
"""Columns of messages by name; if one is selected, each record is decoded in Python."""


def pyarrow() -> Any:
    """The module pyarrow. Raises MissingDependency if it is not installed."""
    try:
        import pyarrow
    except ImportError as missing:
        text = f"tables need `pyarrow`: {install_command('arrow')}"
        raise MissingDependency(text, name=missing.name) from missing
    return pyarrow


@cache
def row_schema() -> pa.Schema:
    """The columns of a table of records, a `pyarrow.Schema`.

    offset int64 | timestamp timestamp[ms, UTC], -1 ms = none | timestamp_type int32: 0 CreateTime,
    1 LogAppendTime, -1 none | key binary, null = none | value binary, null = tombstone
    | headers list<struct<key: string, value: binary>>, empty = none, a value may be null.
    """
    pa = pyarrow()
    header = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
    return pa.schema(
        [
            pa.field("offset", pa.int64(), nullable=False),
            pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
            pa.field("timestamp_type", pa.int32(), nullable=False),
            pa.field("key", pa.binary()),
            pa.field("value", pa.binary()),
            pa.field("headers", pa.list_(pa.field("item", header, nullable=False)), nullable=False),
        ]
    )


def is_dense(heads: Any) -> Any:
    """Which batches, by headers, have as many records as offsets: the end of others is not sure.

    Compaction has removed records, or a writer has set a wrong last offset. That of a wrapper is sure.
    """
    import pyarrow.compute as pc

    offsets = pc.subtract(heads["last_offset"], heads["base_offset"])
    return pc.fill_null(pc.equal(offsets, pc.subtract(heads["count"].cast("int64"), 1)), True)


def scan_schema() -> pa.Schema:
    """All columns that a scan of records supports: `row_schema`, and those of `head` of the schema's `-row`.

    The latter apply to all records of a batch; null for v0 and v1.
    """
    pa = pyarrow()
    more = HEAD_OF_RECORD_BATCH_ROWS.items()
    return pa.schema([*row_schema(), *(pa.field(name, pa.type_for_alias(kind)) for name, (kind, _) in more)])


def decoded_schema() -> pa.Schema:
    """`scan_schema`, and the messages of Kafka's own topics and of control records: `DECODED`, each a string.

    JSON, as in `Decoded.text`; null if there are not bytes, and in other topics.
    """
    pa = pyarrow()
    return pa.schema([*scan_schema(), *(pa.field(name, pa.string()) for name in DECODED)])


def headed_schema() -> pa.Schema:
    """`decoded_schema`, and the batch of each record: `OF_BATCH`, and its sequence int32, -1 = none."""
    pa = pyarrow()
    heads = batch_schema()
    more = [pa.field(name, pa.string()) if name == "codec" else heads.field(name) for name in OF_BATCH]
    return pa.schema([*decoded_schema(), *more, pa.field(SEQUENCE, pa.int32())])


def batch_schema() -> pa.Schema:
    """The columns of a table of batches, a `pyarrow.Schema`; with the names of `Batch` and its `extra`."""
    pa = pyarrow()
    time = pa.timestamp("ms", tz="UTC")
    some = {
        "position": pa.int64(),
        "size": pa.int64(),
        "magic": pa.int8(),
        "codec": pa.dictionary(pa.int8(), pa.string()),
        "base_offset": pa.int64(),
        "last_offset": pa.int64(),
        "count": pa.int32(),
        "base_timestamp": time,
        "max_timestamp": time,
        "timestamp_type": pa.int32(),
        "partition_leader_epoch": pa.int32(),
        "producer_id": pa.int64(),
        "producer_epoch": pa.int16(),
        "base_sequence": pa.int32(),
        "is_transactional": pa.bool_(),
        "is_control": pa.bool_(),
        "delete_horizon": time,
        "crc": pa.uint32(),
        "crc_ok": pa.bool_(),
    }
    widths = {"?": "bool", "b": "int8", "h": "int16", "i": "int32", "q": "int64"}
    widths |= {code.upper(): f"u{name}" for code, name in widths.items() if code != "?"}
    widths |= {"f": "float", "d": "double"}
    if clashes := sorted(some.keys() & {field.name for field in EXTRA}):
        raise ImportError(f"fields of a batch's header are named as other columns: {', '.join(clashes)}")
    some |= {field.name: pa.type_for_alias(widths.get(field.code, "binary")) for field in EXTRA}
    unknown = ("base_offset", "count", "delete_horizon", "crc_ok", *(field.name for field in EXTRA))
    return pa.schema([pa.field(name, kind, nullable=name in unknown) for name, kind in some.items()])


def columns_of(schema: pa.Schema, columns: Iterable[str] | None) -> pa.Schema:
    """The schema with these columns, in this order; all of them for None.

    Raises: ValueError for a name that is unknown or repeated.
    """
    if columns is None:
        return schema
    pa = pyarrow()
    names = [columns] if isinstance(columns, str) else list(columns)
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        near = meant(unknown[0], schema.names, f"the columns are {', '.join(schema.names)}")
        raise ArgumentError(f"no such column: {', '.join(map(repr, unknown))}{near}")
    if len(set(names)) < len(names):
        raise ArgumentError(f"a column is selected twice: {', '.join(names)}")
    return pa.schema([schema.field(name) for name in names])
