"""Decode keys and values with the schemas of their writers: Avro, Protobuf, JSON Schema."""

from typing import TYPE_CHECKING

from kodec.log.messages.streams import read_frame
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
from kodec.runtime.public import publish

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
    "read_frame",
    "schema_source",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = publish(__name__, globals())
