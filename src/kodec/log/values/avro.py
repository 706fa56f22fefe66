"""Avro: decodes data by its writer's schema, and resolves it to a reader's schema."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from kodec.log.values.plain import MOST_NESTING, nesting_of
from kodec.log.values.schemas import BadSchema, Schema
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["AvroReader", "AvroSchema", "fastavro", "parse"]

_MOST_NODES = 100_000
_MOST_EMPTY = 100


def fastavro() -> Any:
    """The module fastavro. Raises MissingDependency if it is not installed."""
    try:
        import fastavro
    except ImportError as missing:
        text = f"Avro needs `{missing.name}`: {install_command('values')}"
        raise MissingDependency(text, name=missing.name) from missing
    return fastavro


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A schema, parsed.

    Attributes:
        parsed: the form for fastavro; a named type is complete at its first use, then only its full name.
        named: the named types, by full name.
        recursive: whether a type contains itself.
    """

    parsed: Any
    named: dict[str, Any]
    recursive: bool


def parse(schema: Schema, references: Mapping[str, Schema]) -> AvroSchema:
    """Parse a schema with the types of others, and check that its data is bounded.

    Raises BadSchema for a text that is not a schema, that nests deeper than 100 or expands to more than
    100,000 types, that has more than 100 types without bytes, or an array of such items, which no input would
    bound.
    """
    named: dict[str, Any] = {}
    parsed = _parse(schema, references, named, ())
    walk = _Walk(named)
    size = walk.size(parsed, 0)
    if size.nodes > _MOST_NODES or size.empty > _MOST_EMPTY:
        raise BadSchema(f"{schema}: it expands to more types than are supported")
    return AvroSchema(parsed, named, walk.recursive)


class AvroReader:
    """Decodes data of one schema, resolved to the reader's schema if given.

    Logical types become Python's: Decimal, date, time, datetime (in UTC; local timestamps without a zone) and
    UUID; nanoseconds, and logical types unknown to Avro 1.12, stay numbers or bytes. A union is the value
    alone; with `named`, a value of a named type in a union is its name and the value.
    """

    def __init__(self, writer: AvroSchema, reader: AvroSchema | None = None, *, named: bool = False) -> None:
        self.writer, self.reader = writer, reader
        self._named = named
        self._bounded = not writer.recursive and (reader is None or not reader.recursive)
        library = fastavro()
        if self._bounded:
            self._read: Callable[..., Any] = library.schemaless_reader
        else:
            # The compiled version recurses as deep as the data nests, past the end of the stack.
            from fastavro import _read_py

            self._read = _read_py.schemaless_reader

    def decode(self, payload: bytes) -> Any:
        """The value. Raises any Exception, as the library does, for data that it cannot decode."""
        value = self._read(
            io.BytesIO(payload),
            self.writer.parsed,
            self.reader and self.reader.parsed,
            return_named_type=self._named,
        )
        if not self._bounded and nesting_of(value) > MOST_NESTING:
            raise ValueError(f"nested deeper than {MOST_NESTING}")
        return value


def _parse(
    schema: Schema, references: Mapping[str, Schema], named: dict[str, Any], loading: tuple[str, ...]
) -> Any:
    """Parse a schema, and first the schemas that it needs; types are added to `named`."""
    library = fastavro()
    try:
        tree = json.loads(schema.text)
    except (ValueError, RecursionError) as error:
        # a registry has primitive types as bare names too
        if not schema.text.strip().isidentifier():
            raise BadSchema(f"{schema}: not JSON: {error}") from None
        tree = schema.text.strip()
    # Types are in objects in lists in objects: each level of a schema is two levels of JSON.
    if nesting_of(tree) > 3 * MOST_NESTING:
        raise BadSchema(f"{schema}: nested deeper than {MOST_NESTING}")
    while True:
        types = dict(named)
        try:
            parsed = library.parse_schema(tree, types)
        except library.schema.UnknownType as error:
            name = str(error.name)
            if name in loading or name in named or name not in references:
                raise BadSchema(f"{schema}: type {name} is unknown") from None
            _parse(references[name], references, named, (*loading, name))
            if name not in named:
                raise BadSchema(f"{references[name]}: it has no type {name}") from None
        except Exception as error:
            # any error of the library for a tree that is not a schema
            raise BadSchema(f"{schema}: {type(error).__name__}: {error}") from None
        else:
            named.update(types)
            return parsed


@dataclass(frozen=True, slots=True)
class _Size:
    """The number of types in a type, counted as often as they occur, and of those without bytes."""

    nodes: int
    empty: int
    takes_bytes: bool


@dataclass(slots=True)
class _Walk:
    """A walk through a schema, each named type once."""

    named: Mapping[str, Any]
    recursive: bool = False
    known: dict[str, _Size] = field(default_factory=dict)
    inside: set[str] = field(default_factory=set)

    def size(self, schema: Any, depth: int) -> _Size:
        if depth > MOST_NESTING:
            raise BadSchema(f"types are nested deeper than {MOST_NESTING}")
        if isinstance(schema, list):
            found = [self.size(each, depth + 1) for each in schema]
            # a byte selects one of the types, and null has no other bytes
            empty = max((each.empty for each in found if each.nodes > 1), default=0)
            return _Size(1 + sum(each.nodes for each in found), empty, True)
        if isinstance(schema, str):
            if schema not in self.named:
                return _Size(1, int(schema == "null"), schema != "null")
            schema = self.named[schema]
        kind, name = schema["type"], schema.get("name")
        match kind:
            case "record" | "error":
                if name in self.known:
                    return self.known[name]
                if name in self.inside:
                    self.recursive = True
                    return _Size(1, 0, True)
                self.inside.add(name)
                found = [self.size(each["type"], depth + 1) for each in schema["fields"]]
                self.inside.remove(name)
                takes = any(each.takes_bytes for each in found)
                nodes, empty = sum(each.nodes for each in found), sum(each.empty for each in found)
                self.known[name] = _Size(1 + nodes, empty + (not takes), takes)
                return self.known[name]
            case "array":
                items = self.size(schema["items"], depth + 1)
                if not items.takes_bytes:
                    raise BadSchema("an array of items without bytes has no bound")
                return _Size(1 + items.nodes, items.empty, True)
            case "map":
                values = self.size(schema["values"], depth + 1)
                return _Size(1 + values.nodes, values.empty, True)
            case "fixed":
                return _Size(1, int(schema["size"] == 0), schema["size"] > 0)
            case "enum":
                return _Size(1, 0, True)
            case str() if kind in self.named or kind == "null":
                return self.size(kind, depth + 1)
            case dict() | list():
                return self.size(kind, depth + 1)
        return _Size(1, 0, True)
