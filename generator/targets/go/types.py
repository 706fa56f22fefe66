"""Types and constants of Go."""

from __future__ import annotations

import json

from kodec.generator.code.typed import PLACE
from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    TEXT,
    EnumOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Real,
    Type,
    Whole,
    narrowest,
)
from kodec.generator.targets.go.names import Names

__all__ = ["Types", "literal", "whole"]

_PLAIN = {FLAG: "bool", TEXT: "string", OCTETS: "[]byte", IDENTITY: "UUID", SECTION: "[]RawTag", PLACE: "int"}


class Types:
    """The Go types of values."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, kind: Type) -> str:
        if isinstance(kind, Maybe):
            text = self.of(kind.of)
            return text if text.startswith("[]") or text == "any" else f"*{text}"
        match kind:
            case Whole():
                return whole(kind)
            case Real(bits):
                return f"float{bits}"
            case EnumOf(enum):
                return self.names.enum(enum)
            case ObjectOf(unit):
                return self.names.type(unit)
            case ListOf(item):
                return f"[]{self.of(item)}"
            case OneOf():
                return "any"
        return _PLAIN[kind]


def whole(kind: Whole) -> str:
    """The narrowest type that holds a range."""
    signed, bits = narrowest(kind)
    return f"{'' if signed else 'u'}int{bits}"


def literal(value: object) -> str:
    """A constant."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # those of JSON have halves of a character, which Go does not take
        wide = {sign: f"\\U{ord(sign):08x}" for sign in value if ord(sign) > 0xFFFF}
        return f'"{"".join(wide.get(sign) or json.dumps(sign)[1:-1] for sign in value)}"'
    if isinstance(value, bytes):
        return "[]byte{" + ", ".join(f"0x{each:02x}" for each in value) + "}"
    if value is None:
        return "nil"
    return repr(value)
