"""Decode keys and values with the schemas of their writers: Avro, Protobuf, JSON Schema."""

from kodec.log.values.decoder import DecodedValue, ValueDecoder
from kodec.log.values.schema_folder import SchemaFolder
from kodec.log.values.schema_registry import SchemaRegistry
from kodec.log.values.schema_topic import SchemaTopic
from kodec.log.values.schemas import (
    BadSchema,
    Reference,
    Schema,
    SchemaSource,
    SchemaSourceFailed,
    UnknownSchema,
)
from kodec.log.values.sources import schema_source

__all__ = [
    "BadSchema",
    "DecodedValue",
    "Reference",
    "Schema",
    "SchemaFolder",
    "SchemaRegistry",
    "SchemaSource",
    "SchemaSourceFailed",
    "SchemaTopic",
    "UnknownSchema",
    "ValueDecoder",
    "schema_source",
]
