"""The columns of the `kafka-log` source, each with what it is made of: the one list of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

__all__ = [
    "COLUMNS",
    "QUARANTINE",
    "SparkColumn",
    "arrow_schema",
    "quarantine_schema",
    "schema",
    "source_columns",
]

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


class SparkColumn(NamedTuple):
    """A column as Spark has it.

    Attributes:
        source_columns: the columns of `scan_table` that it needs, the first of which has its values; none
            where it is the same for a whole segment.
        option: the option without which it is there only where it is asked for by name; "" for always.
    """

    name: str
    type: DataType
    source_columns: tuple[str, ...] = ()
    option: str = ""


_HEADERS, _DECODED, _BATCH = "includeHeaders", "includeDecoded", "includeBatchMetadata"

COLUMNS = (
    SparkColumn("key", BinaryType(), ("key",)),
    SparkColumn("value", BinaryType(), ("value",)),
    SparkColumn("topic", StringType()),
    SparkColumn("partition", IntegerType()),
    SparkColumn("offset", LongType(), ("offset",)),
    # the offset says which record has a timestamp that does not fit
    SparkColumn("timestamp", TimestampType(), ("timestamp", "offset")),
    SparkColumn("timestampType", IntegerType(), ("timestamp_type",)),
    SparkColumn("headers", ArrayType(_HEADER), ("headers",), _HEADERS),
    SparkColumn("keyDecoded", StringType(), ("key_decoded",), _DECODED),
    SparkColumn("valueDecoded", StringType(), ("value_decoded",), _DECODED),
    SparkColumn("leaderEpoch", IntegerType(), ("partition_leader_epoch",), _BATCH),
    SparkColumn("producerId", LongType(), ("producer_id",), _BATCH),
    SparkColumn("producerEpoch", IntegerType(), ("producer_epoch",), _BATCH),
    SparkColumn("sequence", IntegerType(), ("sequence",), _BATCH),
    SparkColumn("isTransactional", BooleanType(), ("is_transactional",), _BATCH),
    SparkColumn("isControl", BooleanType(), ("is_control",), _BATCH),
    SparkColumn("codec", StringType(), ("codec",), _BATCH),
    SparkColumn("magic", IntegerType(), ("magic",), _BATCH),
    SparkColumn("batchPosition", LongType(), ("position",), _BATCH),
    SparkColumn("batchSize", LongType(), ("size",), _BATCH),
    SparkColumn("file", StringType(), (), _BATCH),
)
"""The first eight in the order and with the types of Spark's own Kafka source."""

QUARANTINE = (
    SparkColumn("topic", StringType()),
    SparkColumn("partition", IntegerType()),
    SparkColumn("file", StringType()),
    SparkColumn("position", LongType()),
    SparkColumn("size", LongType()),
    SparkColumn("firstOffset", LongType()),
    SparkColumn("lastOffset", LongType()),
    SparkColumn("kind", StringType()),
    SparkColumn("message", StringType()),
)
"""What `mode=quarantine` gives: a row for each range of bytes, or of offsets, that is not among the rows."""

_SOURCE_COLUMNS = {column.name: column.source_columns for column in COLUMNS}
_ARROW = {
    "binary": pa.binary(),
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<struct<key:string,value:binary>>": pa.list_(
        pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))
    ),
}


def source_columns(name: str) -> tuple[str, ...]:
    """The columns of `scan_table` that a column needs."""
    return _SOURCE_COLUMNS[name]


def schema(
    *,
    headers: bool = False,
    decoded: bool = False,
    batch: bool = False,
    names: Iterable[str] | None = None,
) -> StructType:
    """The columns of the source, all nullable, as Spark's Kafka source has them.

    Args: headers, decoded, batch: those of includeHeaders, includeDecoded and includeBatchMetadata too;
    names: these alone, in their order.
    """
    options = {""} | {
        name for name, there in ((_HEADERS, headers), (_DECODED, decoded), (_BATCH, batch)) if there
    }
    found = {c.name: StructField(c.name, c.type) for c in COLUMNS if names is not None or c.option in options}
    return StructType([found[name] for name in (found if names is None else names)])


def quarantine_schema(names: Iterable[str] | None = None) -> StructType:
    """The columns of a load with `mode=quarantine`, or these alone, in this order."""
    found = {c.name: StructField(c.name, c.type) for c in QUARANTINE}
    return StructType([found[name] for name in (found if names is None else names)])


def arrow_schema(wanted: StructType) -> pa.Schema:
    """The Arrow schema that Spark demands of a batch with these columns: what its `to_arrow_schema` gives."""
    return pa.schema(
        [pa.field(column.name, _ARROW[column.dataType.simpleString()], column.nullable) for column in wanted]
    )
