"""Options that say what keys and values are, the same in every verb."""

from __future__ import annotations

import enum

import typer

__all__ = ["FRAMING", "READER_SCHEMA", "SCHEMAS", "FormatChoice", "FramingChoice"]


class FormatChoice(enum.Enum):
    """`kodec.log.values.formats.ValueFormat` for typer."""

    auto = "auto"
    text = "text"
    json = "json"
    hex = "hex"
    base64 = "base64"
    avro = "avro"
    protobuf = "protobuf"
    json_schema = "json-schema"


class FramingChoice(enum.Enum):
    """`kodec.log.values.framing.Framing` for typer."""

    auto = "auto"
    confluent = "confluent"
    apicurio = "apicurio"
    glue = "glue"
    none = "none"


SCHEMAS = typer.Option(
    "--schemas", help="Where schemas are: a registry's URL, a folder, or a topic here; _schemas by default."
)
FRAMING = typer.Option("--framing", help="Whose serializers framed keys and values; none: nobody's.")
READER_SCHEMA = typer.Option(
    "--reader-schema", help="Give values as this schema has them: an .avsc or .proto file."
)
