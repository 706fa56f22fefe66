"""The columns of the `kafka-log` source as Spark schemas, and Spark schemas as Arrow schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
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
    VariantType,
)

from kodec.log.values.framing import Part
from kodec.pipeline.columns import ARROW_TYPES, QUARANTINE, SparkColumn, chosen_columns
from kodec.pipeline.typed import VARIANT

__all__ = ["arrow_schema", "arrow_type", "quarantine_schema", "schema", "spark_type"]

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_KINDS: tuple[DataType, ...] = (
    ArrayType(_HEADER),
    BinaryType(),
    BooleanType(),
    IntegerType(),
    LongType(),
    StringType(),
    TimestampType(),
)
_TYPES = {kind.simpleString(): kind for kind in _KINDS}


def _struct(columns: Iterable[SparkColumn], typed: Mapping[str, DataType]) -> StructType:
    return StructType(
        [StructField(column.name, typed.get(column.name, _TYPES[column.type])) for column in columns]
    )


def schema(
    *,
    headers: bool = False,
    decoded: bool = False,
    batch: bool = False,
    typed: Mapping[str, DataType] | None = None,
    names: Iterable[str] | None = None,
) -> StructType:
    """The columns of the source, all nullable, as Spark's Kafka source has them; see `chosen_columns`.

    Args:
        headers: with the column `headers`.
        decoded: with those of Kafka's own messages.
        batch: with those of the batch's header.
        typed: the types of those of keyFormat and valueFormat, by their names.
        names: only these, in this order; None for all.

    Returns: a type of Spark's.
    Raises: MissingDependency without pyspark.

    Example:
        >>> from kodec.pipeline import schema
        >>> schema().names
        ['key', 'value', 'topic', 'partition', 'offset', 'timestamp', 'timestampType']
    """
    typed = typed or {}
    parts = [part for part in get_args(Part) if f"{part}Typed" in typed]
    columns = chosen_columns(headers=headers, decoded=decoded, batch=batch, typed=parts, names=names)
    return _struct(columns, typed)


def quarantine_schema(names: Iterable[str] | None = None) -> StructType:
    """The columns of a load with `mode=quarantine`, or these alone, in this order."""
    by_name = {column.name: column for column in QUARANTINE}
    return _struct([by_name[name] for name in (by_name if names is None else names)], {})


def arrow_schema(schema: StructType, typed: Mapping[str, pa.DataType] | None = None) -> pa.Schema:
    """The Arrow schema that Spark requires of a batch with these columns: the result of its
    `to_arrow_schema`.

    `typed`: as of `schema`, by `arrow_type`.
    """
    known = typed or {}
    return pa.schema(
        [
            pa.field(
                column.name,
                known[column.name] if column.name in known else ARROW_TYPES[column.dataType.simpleString()],
                column.nullable,
            )
            for column in schema
        ]
    )


def spark_type(kind: pa.DataType) -> DataType:
    """The type of Spark's for one of `arrow_type`."""
    return VariantType() if kind == VARIANT else from_arrow_type(kind, prefer_timestamp_ntz=True)


def arrow_type(kind: pa.DataType) -> pa.DataType:
    """The type for all values of another one that Spark has, as it has it.

    It has no numbers without a sign, no decimals of more than 38 digits, one unit of moments, and its own
    names in lists and maps. Times of a day, and moments in nanoseconds, are numbers, as in its `from_avro`.
    """
    types = pa.types
    if types.is_struct(kind):
        return (
            kind if kind == VARIANT else pa.struct([(field.name, arrow_type(field.type)) for field in kind])
        )
    if types.is_map(kind):
        return pa.map_(arrow_type(kind.key_type), arrow_type(kind.item_type))
    if types.is_list(kind):
        return pa.list_(pa.field("element", arrow_type(kind.value_type)))
    if types.is_unsigned_integer(kind):
        return pa.decimal128(20) if kind == pa.uint64() else pa.int64()
    if types.is_decimal256(kind):
        return pa.string()
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_timestamp(kind):
        return pa.int64() if kind.unit == "ns" else pa.timestamp("us", kind.tz)
    if types.is_time(kind):
        return pa.int32() if types.is_time32(kind) else pa.int64()
    return kind
