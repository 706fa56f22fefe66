"""The columns of the `kafka-log` source as schemas of Spark's, and these as Arrow's."""

from __future__ import annotations

from collections.abc import Iterable

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

from kodec.pipeline.columns import ARROW_TYPES, QUARANTINE, SparkColumn, chosen_columns

__all__ = ["arrow_schema", "quarantine_schema", "schema"]

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


def _struct(columns: Iterable[SparkColumn]) -> StructType:
    return StructType([StructField(column.name, _TYPES[column.type]) for column in columns])


def schema(
    *,
    headers: bool = False,
    decoded: bool = False,
    batch: bool = False,
    names: Iterable[str] | None = None,
) -> StructType:
    """The columns of the source, all nullable, as Spark's Kafka source has them; see `chosen_columns`.

    Args:
        headers: with the column `headers`.
        decoded: with those of Kafka's own messages.
        batch: with those of the batch's header.
        names: only these, in this order; None for all.

    Returns: a type of Spark's.
    Raises: MissingDependency without pyspark.

    Example:
        >>> from kodec.pipeline import schema
        >>> schema().names
        ['key', 'value', 'topic', 'partition', 'offset', 'timestamp', 'timestampType']
    """
    return _struct(chosen_columns(headers=headers, decoded=decoded, batch=batch, names=names))


def quarantine_schema(names: Iterable[str] | None = None) -> StructType:
    """The columns of a load with `mode=quarantine`, or these alone, in this order."""
    found = {column.name: column for column in QUARANTINE}
    return _struct(found[name] for name in (found if names is None else names))


def arrow_schema(wanted: StructType) -> pa.Schema:
    """The Arrow schema that Spark demands of a batch with these columns: what its `to_arrow_schema` gives."""
    return pa.schema(
        [
            pa.field(column.name, ARROW_TYPES[column.dataType.simpleString()], column.nullable)
            for column in wanted
        ]
    )
