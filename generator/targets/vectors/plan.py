"""From samples to vectors: written, read back, and put into plain values; and bytes that must be refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from uuid import UUID

from kodec.generator.modules import Modules
from kodec.generator.plan.layouts import Layouts
from kodec.generator.schema.model import Field, Model, Ref, Schema, Struct, Switch, TypeRef
from kodec.generator.schema.roles import transparent
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.vectors.samples import SAMPLES, NoSample, Samples
from kodec.runtime.errors import EncodeError, FormatError

__all__ = ["Invalid", "SchemaVectors", "TypeVectors", "Valid", "vectors"]


@dataclass(frozen=True, slots=True)
class Valid:
    """Bytes and what they hold; `version` where the type is told its version from outside."""

    data: bytes
    value: Any
    version: int | None


@dataclass(frozen=True, slots=True)
class Invalid:
    """Bytes that must be refused, why, and at which byte that is noticed here."""

    data: bytes
    error: str
    at: int


@dataclass(frozen=True, slots=True)
class TypeVectors:
    valid: tuple[Valid, ...]
    invalid: tuple[Invalid, ...]


@dataclass(frozen=True, slots=True)
class SchemaVectors:
    """The vectors of each type by its full name, and the types without any, each with the reason."""

    schema: Schema
    types: dict[str, TypeVectors]
    without: tuple[tuple[str, str], ...]


def vectors(model: Model, modules: Modules) -> Iterator[SchemaVectors]:
    """The vectors of every schema that has types of its own."""
    back = ModelIndex(model)
    for schema in model.schemas:
        if schema.streamed:
            yield SchemaVectors(
                schema, {}, tuple((each.name, "it is read from a stream") for each in schema.structs)
            )
        elif back.wanted(schema):
            yield _of_schema(back, modules, schema)


def _of_schema(back: ModelIndex, modules: Modules, schema: Schema) -> SchemaVectors:
    samples = Samples(back, modules)
    types: dict[str, TypeVectors] = {}
    without: list[tuple[str, str]] = []
    for struct in schema.structs:
        if back.in_runtime(struct) or transparent(struct) is not None:
            continue
        try:
            found = _of_type(samples, modules, struct)
        except NoSample as reason:
            without.append((struct.name, str(reason)))
            continue
        if found.valid:
            types[struct.name] = found
        else:
            without.append((struct.name, "no values were found that go together"))
    return SchemaVectors(schema, types, tuple(without))


def _of_type(samples: Samples, modules: Modules, struct: Struct) -> TypeVectors:
    told = [param for param in struct.params if param.id != struct.version_field or not struct.versions]
    if told:
        raise NoSample(f"it is told `{told[0].id}` from outside")
    kind = getattr(modules.of(samples.model.schema_of(struct.name)), samples.back.classes[struct.name])
    outside = bool(struct.versions) and struct.param(struct.version_field) is not None
    valid: dict[tuple[bytes, int | None], Valid] = {}
    for version in struct.versions or (None,):
        given = {struct.version_field: version} if outside else {}
        for number in range(SAMPLES):
            try:
                data = samples.sample(struct, number, version).to_bytes(**given)
            except EncodeError:
                continue  # values that do not go together
            value = kind.from_bytes(data, **given)
            key = data, version if outside else None
            valid[key] = Valid(data, _plain(samples.back, struct, value, version), key[1])
    return TypeVectors(tuple(valid.values()), () if outside else tuple(_refused(kind, [*valid.values()])))


def _refused(kind: Any, valid: list[Valid]) -> Iterator[Invalid]:
    """The longest vector cut short, with a byte more, with its last byte changed: where that is noticed."""
    data = max((each.data for each in valid), key=len, default=b"")
    if not data:
        return
    changed = data[:-1] + bytes([data[-1] ^ 0xFF])
    for bad in dict.fromkeys((data[:-1], data[: len(data) // 2], data[:0], data + b"\x00", changed)):
        try:
            kind.from_bytes(bad)
        except FormatError as error:
            yield Invalid(bad, type(error).__name__, error.at)


def _plain(back: ModelIndex, struct: Struct, value: Any, version: int | None) -> dict[str, Any]:
    """The fields of an object by their names in the schema, as values that JSON has."""
    found: dict[str, Any] = {}
    known = {struct.version_field: version} if struct.versions and version is not None else {}
    layout = Layouts(back.model).layout(struct, known) if known else None
    absent = {field.id for field in layout.absent} if layout is not None else set()
    lacking = {tag.id for tag in layout.absent_tags} if layout is not None else set()
    for field in struct.fields:
        if field.id in absent or not hasattr(value, attribute(field.id)):
            continue
        section = back.tag_section(field)
        for tag in section.tags if section is not None else ():
            if tag.id in lacking:
                continue
            made = Field(tag.id, tag.type, field.place)
            found[tag.id] = _value(back, made.type, getattr(value, attribute(tag.id)), version)
        given = getattr(value, attribute(field.id))
        if section is not None:
            found[field.id] = [[number, data.hex()] for number, data in given]
        else:
            kind: TypeRef = Ref(field.codec.inner) if field.codec is not None else field.type
            found[field.id] = _value(back, kind, given, version)
    return found


def _value(back: ModelIndex, kind: TypeRef, value: Any, version: int | None) -> Any:
    if value is None or isinstance(value, (bool, str, float)):
        return value
    if isinstance(value, (int, IntEnum)):
        return int(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        element = kind
        if isinstance(kind, Ref):
            inner = transparent(back.model.struct(kind.target))
            element = kind if inner is None else inner.type
        return [_value(back, element, each, version) for each in value]
    candidates = [kind] if isinstance(kind, Ref) else []
    if isinstance(kind, Switch):
        candidates = [case for _, case in kind.cases if isinstance(case, Ref)]
    for ref in candidates:
        struct = back.model.struct(ref.target)
        inner = transparent(struct)
        if inner is not None:
            return _value(back, inner.type, value, version)
        if type(value).__name__ == back.classes[ref.target]:
            own = getattr(value, attribute(struct.version_field), version) if struct.versions else None
            return _plain(back, struct, value, own)
    raise TypeError(f"{type(value).__name__} is not of {kind}")
