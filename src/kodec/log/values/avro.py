"""Avro's schemas: parsed, with the types of others, and checked for bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kodec.log.values.plain import MOST_NESTING
from kodec.log.values.schemas import BadSchema, Schema
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.foreign_json import read_json

__all__ = ["AvroSchema", "fastavro", "parse"]

_MOST_NODES = 100_000
_MOST_EMPTY = 100
_MOST_VALUES = 1_000_000
_MOST_IN_UNION = 1_000


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
        parsed: as fastavro has it; a named type is complete at its first use, then only its full name.
        named: the named types, by full name.
        recursive: whether a type contains itself.
    """

    parsed: Any
    named: dict[str, Any]
    recursive: bool


def parse(schema: Schema, references: Mapping[str, Schema]) -> AvroSchema:
    """Parse a schema with the types of others, and check that its data is bounded.

    Raises BadSchema for a text that is not a schema, that nests deeper than 100 or expands to more than
    100,000 types, that has a union of more than 1,000, more than 100 types without bytes, or an array of such
    items, which no input would bound.
    """
    named: dict[str, Any] = {}
    parsed = _parse(schema, references, named, ())
    walk = _Walk(named)
    size = walk.size(parsed, 0)
    if size.nodes > _MOST_NODES or size.empty > _MOST_EMPTY:
        raise BadSchema(f"{schema}: it expands to more types than are supported")
    return AvroSchema(parsed, named, walk.recursive)


def _parse(
    schema: Schema, references: Mapping[str, Schema], named: dict[str, Any], loading: tuple[str, ...]
) -> Any:
    """Parse a schema, and first the schemas that it needs; types are added to `named`."""
    library = fastavro()
    try:
        # types are in objects in lists in objects: each level of a schema is up to three of JSON
        most = 3 * MOST_NESTING
        tree = read_json(schema.text.encode(), most_values=_MOST_VALUES, most_depth=most)
    except ValueError as error:
        # a registry has primitive types as bare names too
        if not schema.text.strip().isidentifier():
            raise BadSchema(f"{schema}: not JSON: {error}") from None
        tree = schema.text.strip()
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


def _check_names(record: object, names: list[object]) -> None:
    """Refuse fields whose names are not text, and fields that would hide another."""
    for name in names:
        if not isinstance(name, str):
            raise BadSchema(f"{record}: the name of a field is no text: {name!r:.100}")
    if len({*names}) < len(names):
        raise BadSchema(f"{record}: fields of the same name: {', '.join(map(str, names)):.100}")


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
            if len(schema) > _MOST_IN_UNION:
                raise BadSchema(f"a union of more than {_MOST_IN_UNION:,} types")
            sizes = [self.size(branch, depth + 1) for branch in schema]
            # a byte selects one of the types, and null has no other bytes
            empty = max((size.empty for size in sizes if size.nodes > 1), default=0)
            return _Size(1 + sum(size.nodes for size in sizes), empty, True)
        if isinstance(schema, str):
            if schema not in self.named:
                return _Size(1, int(schema == "null"), schema != "null")
            schema = self.named[schema]
        kind, name = schema["type"], schema.get("name")
        if name not in self.known and name not in self.inside:
            fields = schema["fields"] if kind in ("record", "error") else []
            _check_names(name, [field["name"] for field in fields])
            for definition in (schema, *fields):
                names = definition.get("aliases", [])
                if not isinstance(names, list) or not all(isinstance(alias, str) for alias in names):
                    raise BadSchema(f"{definition.get('name')}: aliases are no list of names: {names!r:.100}")
        match kind:
            case "record" | "error":
                if name in self.known:
                    return self.known[name]
                if name in self.inside:
                    self.recursive = True
                    return _Size(1, 0, True)
                self.inside.add(name)
                sizes = [self.size(field["type"], depth + 1) for field in schema["fields"]]
                self.inside.remove(name)
                takes = any(size.takes_bytes for size in sizes)
                nodes, empty = sum(size.nodes for size in sizes), sum(size.empty for size in sizes)
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
                if type(schema["size"]) is not int or schema["size"] < 0:
                    raise BadSchema(f"fixed {name}: the size {schema['size']!r:.100}")
                return _Size(1, int(schema["size"] == 0), schema["size"] > 0)
            case "enum":
                return _Size(1, 0, True)
            case str() if kind in self.named or kind == "null":
                return self.size(kind, depth + 1)
            case dict() | list():
                return self.size(kind, depth + 1)
        return _Size(1, 0, True)
