"""The only list of the columns of the `kafka-log` source and their sources. Independent of Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from kodec.log.batches.header import EXTRA

__all__ = [
    "ARROW_TYPES",
    "COLUMNS",
    "QUARANTINE",
    "SparkColumn",
    "arrow_columns",
    "chosen_columns",
    "source_columns",
]


class SparkColumn(NamedTuple):
    """A column of Spark.

    Attributes:
        type: its Spark type, by simple name.
        source_columns: the columns of `scan_table` that it needs, the first of which has its values; none
            if it is constant within a segment.
        option: the option that adds it by default; otherwise it must be selected by name; "" for always.
    """

    name: str
    type: str
    source_columns: tuple[str, ...] = ()
    option: str = ""


_HEADERS, _DECODED, _BATCH = "includeHeaders", "includeDecoded", "includeBatchMetadata"
_TYPED_KEY, _TYPED_VALUE = "keyFormat", "valueFormat"

_HEADER_LIST = "array<struct<key:string,value:binary>>"

_TYPES = dict.fromkeys("bhiBH", "int") | dict.fromkeys("Iq", "bigint") | dict.fromkeys("fd", "double")
_TYPES |= {"?": "boolean"}

COLUMNS = (
    SparkColumn("key", "binary", ("key",)),
    SparkColumn("value", "binary", ("value",)),
    SparkColumn("topic", "string"),
    SparkColumn("partition", "int"),
    SparkColumn("offset", "bigint", ("offset",)),
    # for the error of a timestamp that does not fit
    SparkColumn("timestamp", "timestamp", ("timestamp", "offset")),
    SparkColumn("timestampType", "int", ("timestamp_type",)),
    SparkColumn("headers", _HEADER_LIST, ("headers",), _HEADERS),
    SparkColumn("keyDecoded", "string", ("key_decoded",), _DECODED),
    SparkColumn("valueDecoded", "string", ("value_decoded",), _DECODED),
    SparkColumn("keyTyped", "string", ("key", "headers"), _TYPED_KEY),
    SparkColumn("keySchema", "string", ("key", "headers"), _TYPED_KEY),
    SparkColumn("keyReason", "string", ("key", "headers"), _TYPED_KEY),
    SparkColumn("valueTyped", "string", ("value", "headers"), _TYPED_VALUE),
    SparkColumn("valueSchema", "string", ("value", "headers"), _TYPED_VALUE),
    SparkColumn("valueReason", "string", ("value", "headers"), _TYPED_VALUE),
    SparkColumn("leaderEpoch", "int", ("partition_leader_epoch",), _BATCH),
    SparkColumn("producerId", "bigint", ("producer_id",), _BATCH),
    SparkColumn("producerEpoch", "int", ("producer_epoch",), _BATCH),
    SparkColumn("sequence", "int", ("sequence",), _BATCH),
    SparkColumn("isTransactional", "boolean", ("is_transactional",), _BATCH),
    SparkColumn("isControl", "boolean", ("is_control",), _BATCH),
    SparkColumn("codec", "string", ("codec",), _BATCH),
    SparkColumn("magic", "int", ("magic",), _BATCH),
    SparkColumn("batchPosition", "bigint", ("position",), _BATCH),
    SparkColumn("batchSize", "bigint", ("size",), _BATCH),
    SparkColumn("file", "string", (), _BATCH),
    *(SparkColumn(field.label, _TYPES.get(field.code, "binary"), (field.name,), _BATCH) for field in EXTRA),
)
"""The first eight in the order and with the types of Spark's own Kafka source.

keyTyped and valueTyped have the type of a reader's schema, where there is one. The last ones are the fields
of a batch's header that kodec gives no meaning, as a newer format may have.
"""

if len({column.name for column in COLUMNS}) < len(COLUMNS):
    raise ImportError("a field of a batch's header is named as another column")

QUARANTINE = (
    SparkColumn("topic", "string"),
    SparkColumn("partition", "int"),
    SparkColumn("file", "string"),
    SparkColumn("position", "bigint"),
    SparkColumn("size", "bigint"),
    SparkColumn("firstOffset", "bigint"),
    SparkColumn("lastOffset", "bigint"),
    SparkColumn("kind", "string"),
    SparkColumn("message", "string"),
)
"""The columns of `mode=quarantine`: a row for each range of bytes, or of offsets, without rows."""

_SOURCE_COLUMNS = {column.name: column.source_columns for column in COLUMNS}
ARROW_TYPES = {
    "binary": pa.binary(),
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    _HEADER_LIST: pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
}
"""The Arrow type that Spark demands for each of its own: the result of its `to_arrow_schema`."""


def source_columns(name: str) -> tuple[str, ...]:
    """The columns of `scan_table` that a column needs."""
    return _SOURCE_COLUMNS[name]


def chosen_columns(
    *,
    headers: bool = False,
    decoded: bool = False,
    batch: bool = False,
    typed: Iterable[str] = (),
    names: Iterable[str] | None = None,
) -> list[SparkColumn]:
    """The columns of the source.

    Args: headers, decoded, batch: those of includeHeaders, includeDecoded and includeBatchMetadata too;
    typed: `key`, `value` or both: those of keyFormat and valueFormat; names: these alone, in their order.
    """
    options = {"", *(f"{part}Format" for part in typed)} | {
        name
        for name, is_selected in ((_HEADERS, headers), (_DECODED, decoded), (_BATCH, batch))
        if is_selected
    }
    by_name = {c.name: c for c in COLUMNS if names is not None or c.option in options}
    return [by_name[name] for name in (by_name if names is None else names)]


def arrow_columns(columns: Iterable[SparkColumn]) -> pa.Schema:
    """The columns as an Arrow schema, all nullable."""
    return pa.schema([pa.field(column.name, ARROW_TYPES[column.type]) for column in columns])
