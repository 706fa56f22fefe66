"""Schemas of keys and values, as registries store them, and the interface of their sources."""

from __future__ import annotations

from typing import Literal, Protocol
from uuid import UUID

from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import KodecError

__all__ = [
    "BadSchema",
    "Reference",
    "Schema",
    "SchemaId",
    "SchemaKind",
    "SchemaSource",
    "SchemaSourceFailed",
    "UnknownSchema",
    "kind_of",
    "references_of",
]

SchemaKind = Literal["avro", "protobuf", "json-schema"]
SchemaId = int | UUID
"""The registry's number of a schema, or its GUID."""

# Limits for hostile schemas: the size of a schema's text, and the number of schemas that it refers to.
MOST_TEXT = 4 << 20
MOST_REFERENCES = 1_000
_KINDS: dict[str, SchemaKind] = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json-schema"}


class UnknownSchema(KodecError, LookupError):
    """A schema that a source does not have; the message names both.

    Example:
        >>> from pathlib import Path
        >>> from kodec.values import SchemaFolder
        >>> Path("schemas").mkdir()
        >>> _ = Path("schemas/orders-value@7.avsc").write_text('"string"')
        >>> from kodec.values import UnknownSchema
        >>> try:
        ...     SchemaFolder("schemas").by_id(8)
        ... except UnknownSchema as error:
        ...     print(type(error).__name__)
        UnknownSchema
    """


class BadSchema(KodecError, ValueError):
    """A schema that cannot be used; the message has the reason.

    Example:
        >>> from pathlib import Path
        >>> from kodec.values import BadSchema, SchemaFolder
        >>> for folder in ("schemas", "schemas/other"):
        ...     Path(folder).mkdir()
        ...     _ = Path(folder, "7.avsc").write_text('"string"')
        >>> try:
        ...     SchemaFolder("schemas")
        ... except BadSchema as error:
        ...     print(type(error).__name__)
        BadSchema
    """


class SchemaSourceFailed(KodecError, OSError):
    """A source that cannot be read: a registry that does not answer, a damaged log.

    Example: see `SchemaRegistry`.
    """


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference from a schema to another one in its source.

    Attributes:
        name: an Avro type's full name, a Protobuf file's import path, a JSON schema's URI.
        subject, version: those of the schema in the source; None: the newest version.

    Example:
        >>> from kodec.values import Reference
        >>> Reference("com.acme.Address", "address-value", 1).subject
        'address-value'
    """

    name: str
    subject: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as it was registered.

    Attributes:
        text: Avro's or JSON Schema's JSON, Protobuf's `.proto` text or a `FileDescriptorProto` in base64.
        id: its number or GUID; None where its source has none.
        subject, version: one under which it was registered; empty and None where its source has none.
        kind: `avro`, `protobuf` or `json-schema`.
        references: the schemas that it refers to.

    Example:
        >>> from kodec.values import Schema
        >>> Schema("avro", '"string"').kind
        'avro'
    """

    kind: SchemaKind
    text: str
    references: tuple[Reference, ...] = ()
    id: SchemaId | None = None
    subject: str = ""
    version: int | None = None

    def __str__(self) -> str:
        return f"schema {self.subject if self.id is None else self.id}"


class SchemaSource(Protocol):
    r"""A source of schemas. Several threads may call its methods.

    Example:
        >>> from kodec.values import Schema, ValueDecoder
        >>> class OneSchema:
        ...     def by_id(self, schema_id, subject=""):
        ...         return self.by_subject(subject)
        ...     def by_subject(self, subject, version=None):
        ...         return Schema("avro", '"string"')
        >>> ValueDecoder(OneSchema()).decode(b"\x00\x00\x00\x00\x07\x04hi").value
        'hi'
    """

    def by_id(self, schema_id: SchemaId, subject: str = "") -> Schema:
        """The schema that a framing names; `subject` is that of the topic, `orders-value`, if known.

        Raises UnknownSchema, BadSchema; SchemaSourceFailed.

        Args:
            schema_id: a number, or a GUID.
        """
        ...

    def by_subject(self, subject: str, version: int | None = None) -> Schema:
        """A version of a subject; None: the newest that is not deleted. Raises as `by_id`."""
        ...


def kind_of(schema_type: str | None) -> SchemaKind:
    """The kind of schema for a registry's `schemaType`; by default Avro. Raises BadSchema."""
    kind = _KINDS.get(schema_type or "AVRO") if isinstance(schema_type, str | None) else None
    if kind is None:
        raise BadSchema(f"schema type {schema_type!r}: there are {', '.join(_KINDS)}")
    return kind


def references_of(source: SchemaSource, schema: Schema) -> dict[str, Schema]:
    """All schemas that a schema refers to, directly and through others, by name. Raises as `SchemaSource`."""
    schemas: dict[str, Schema] = {}
    waiting = list(schema.references)
    while waiting:
        reference = waiting.pop()
        known = schemas.get(reference.name)
        referenced = source.by_subject(reference.subject, reference.version)
        if known is not None:
            if known.text != referenced.text:
                raise BadSchema(f"{schema}: it refers to two schemas named {reference.name}")
            continue
        if len(schemas) == MOST_REFERENCES:
            raise BadSchema(f"{schema}: it refers to more than {MOST_REFERENCES} others")
        schemas[reference.name] = referenced
        waiting += referenced.references
    return schemas
