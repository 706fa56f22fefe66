"""The columns of the `kafka-log` source, each with what it is made of: the one list of them."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

__all__ = ["COLUMNS", "Column", "arrow_schema", "made_of", "schema"]

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


class Column(NamedTuple):
    """A column as Spark has it.

    Attributes:
        made_of: the columns of `scan_table` that it needs, the first of which has its values; none where it
            is the same for a whole segment.
        optional: whether it is there only where the option includeHeaders says so.
    """

    name: str
    type: DataType
    made_of: tuple[str, ...] = ()
    optional: bool = False


COLUMNS = (
    Column("key", BinaryType(), ("key",)),
    Column("value", BinaryType(), ("value",)),
    Column("topic", StringType()),
    Column("partition", IntegerType()),
    Column("offset", LongType(), ("offset",)),
    # the offset says which record has a timestamp that does not fit
    Column("timestamp", TimestampType(), ("timestamp", "offset")),
    Column("timestampType", IntegerType(), ("timestamp_type",)),
    Column("headers", ArrayType(_HEADER), ("headers",), optional=True),
)
"""In the order and with the types of Spark's own Kafka source."""

_MADE_OF = {column.name: column.made_of for column in COLUMNS}
_ARROW = {
    "binary": pa.binary(),
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<struct<key:string,value:binary>>": pa.list_(
        pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))
    ),
}


def made_of(name: str) -> tuple[str, ...]:
    """The columns of `scan_table` that a column needs."""
    return _MADE_OF[name]


def schema(*, headers: bool = False) -> StructType:
    """The columns of the source, all nullable, as Spark's Kafka source has them."""
    return StructType(
        [StructField(column.name, column.type) for column in COLUMNS if headers or not column.optional]
    )


def arrow_schema(wanted: StructType) -> pa.Schema:
    """The Arrow schema that Spark demands of a batch with these columns: what its `to_arrow_schema` gives."""
    return pa.schema(
        [pa.field(column.name, _ARROW[column.dataType.simpleString()], column.nullable) for column in wanted]
    )
