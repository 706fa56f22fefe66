"""Random contents for definitions, as the JSON that Kafka's converters take, and our objects of it."""

from __future__ import annotations

import base64
import dataclasses
import importlib
import random
import struct
import types
import typing
from functools import cache
from typing import Any
from uuid import UUID

from kodec.generator.schema.versions import VersionRange
from kodec.importer.definitions import FieldDef, MessageDef, StructDef
from kodec.importer.places import place_of
from kodec.importer.schemas import snake
from kodec.log.messages.as_json import UNKNOWN, uuid_text
from kodec.runtime.errors import KodecError
from kodec.runtime.messages import in_python

__all__ = ["class_of", "made", "random_document", "read", "written"]

RANGES = {
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_TEXTS = ("", "a", "group-1", "caf\u00e9", "\u65e5\u672c", "\U0001f600", "x" * 130, '"\\\n\t')


def random_document(rng: random.Random, message: MessageDef, version: int, dropped: bool = False) -> Any:
    """A document with every field of `version`.

    With `dropped`, it is one of the newest version, to be written in this one: fields that `version` lacks
    have other values than their defaults where they may be dropped.
    """
    maker = _Random(rng, message, version, message.valid.last if dropped else version)
    return maker.struct(message.root, message.valid, 0)


class _Random:
    def __init__(self, rng: random.Random, message: MessageDef, version: int, given: int) -> None:
        self.rng = rng
        self.message = message
        self.version = version
        self.given = given
        self.plain = rng.random() < 0.15

    def struct(self, struct: StructDef, reach: VersionRange, depth: int) -> dict[str, Any]:
        found = {}
        own = place_of(self.message).frame == "own" and struct is self.message.root
        for field in struct.fields:
            if self.given not in field.versions:
                continue
            lacking = self.version not in field.versions
            name = field.name[:1].lower() + field.name[1:]
            if own and not found:
                found[name] = self.version
            elif (lacking and not field.ignorable) or (field.tag is not None and self.rng.random() < 0.4):
                if field.tag is None:
                    found[name] = self.default(field, depth)
            else:
                found[name] = self.value(field, depth)
        return found

    def default(self, field: FieldDef, depth: int) -> Any:
        if field.null_default or (field.type == "records" and field.nullable and field.default is None):
            return None
        if field.is_array:
            return []
        if field.type in self.message.structs:
            struct = self.message.structs[field.type]
            return {
                each.name[:1].lower() + each.name[1:]: self.default(each, depth + 1)
                for each in struct.fields
                if self.given in each.versions and each.tag is None
            }
        if field.type == "bool":
            return str(field.default).lower() == "true"
        if field.type in RANGES:
            return int(str(field.default or 0), 0)
        if field.type == "uuid":
            return uuid_text(UUID(int=0))
        return float(field.default or 0) if field.type == "float64" else field.default or ""

    def value(self, field: FieldDef, depth: int) -> Any:
        nullable = self.given in field.nullable and (self.version in field.nullable or field.ignorable)
        if nullable and self.version not in field.versions:
            nullable = True
        if nullable and self.rng.random() < 0.25:
            return None
        if self.plain and self.rng.random() < 0.5:
            found = self.default(field, depth)
            if found is not None:
                return found
        if field.is_array:
            count = self.rng.choice((0, 0, 1, 1, 2, 3)) if depth < 3 else self.rng.choice((0, 1))
            return [self.one(field, depth) for _ in range(count)]
        return self.one(field, depth)

    def one(self, field: FieldDef, depth: int) -> Any:
        rng = self.rng
        if field.type in self.message.structs:
            return self.struct(self.message.structs[field.type], field.versions, depth + 1)
        match field.type:
            case "bool":
                return rng.random() < 0.5
            case "string":
                return rng.choice(_TEXTS)
            case "bytes" | "records":
                return base64.b64encode(rng.randbytes(rng.choice((0, 1, 5, 200)))).decode()
            case "uuid":
                return uuid_text(UUID(int=rng.choice((0, 1, rng.getrandbits(128), 2**128 - 1))))
            case "float64":
                return rng.choice((0.0, -0.0, 1.5, -2.25e300, 5e-324, rng.random()))
        low, high = RANGES[field.type]
        return rng.choice((low, high, 0, max(low, -1), 1, rng.randint(low, high), rng.randint(0, 127)))


def class_of(package: str, message: MessageDef) -> Any:
    """Our class of a message."""
    stem = snake(message.name)
    module = importlib.import_module(f"{package}.{place_of(message).folder}.{stem}")
    return getattr(module, "".join(part.capitalize() for part in stem.split("_")))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def made(kind: Any, document: dict[str, Any], version: int | None = None) -> Any:
    """Our object with what a document says; the rest has its defaults."""
    names = {name[:1].lower() + name[1:]: attribute for attribute, name in getattr(kind, "NAMES", {}).items()}
    values: dict[str, Any] = {}
    for name, value in document.items():
        if name == UNKNOWN:
            values["tagged_fields"] = [(each["tag"], base64.b64decode(each["data"])) for each in value]
        else:
            values[names[name]] = _of(_hints(kind)[names[name]], value)
    if version is not None and "version" in _hints(kind):
        values["version"] = version
    return kind(**values)


def _of(hint: Any, value: Any) -> Any:
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        hint = next(each for each in hint.__args__ if each is not type(None))
    origin = typing.get_origin(hint)
    if origin is list:
        return [_of(typing.get_args(hint)[0], each) for each in value]
    if dataclasses.is_dataclass(hint):
        return made(hint, value)
    if hint is bytes:
        return base64.b64decode(value)
    if hint is UUID:
        return UUID(bytes=base64.urlsafe_b64decode(value + "=="))
    return float(value) if hint is float else value


def written(value: Any, message: MessageDef, version: int) -> bytes:
    """The bytes of our object, written natively and in Python. Raises KodecError if these differ."""
    given = {"version": version} if place_of(message).frame == "given" else {}
    data = bytes(value.to_bytes(**given))
    plain = in_python(type(value).to_bytes)(value, **given)
    if plain != data:
        raise KodecError(f"natively {data.hex()}, in Python {plain.hex()}")
    return data


def read(kind: Any, data: bytes, message: MessageDef, version: int) -> Any:
    """Our object of all of the bytes, read natively and in Python. Raises KodecError if these differ."""
    given = {"version": version} if place_of(message).frame == "given" else {}
    value = kind.from_bytes(data, **given)
    plain = in_python(kind.from_bytes)(data, **given)
    if plain != value:
        raise KodecError(f"natively {value}, in Python {plain}")
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two objects are equal, -0.0 and 0.0 apart."""
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    return bool(one == other)
