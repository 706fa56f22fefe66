"""Types and constants of TypeScript: a whole number is `number`, or `bigint` beyond 53 bits."""

from __future__ import annotations

import json

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
    whole_of,
)
from kodec.generator.targets.typescript.names import Names

__all__ = ["Types", "constant", "is_big"]

_PLAIN = {FLAG: "boolean", TEXT: "string", OCTETS: "Uint8Array", IDENTITY: "string", SECTION: "RawTag[]"}
_SAFE = (1 << 53) - 1


def is_big(kind: Type) -> bool:
    """Whether values of a type are `bigint`."""
    found = whole_of(kind)
    return found is not None and (found.low < -_SAFE or found.high > _SAFE)


class Types:
    """The TypeScript types of values; `uses` are those that modules have."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.uses: set[str] = set()

    def of(self, kind: Type) -> str:
        match kind:
            case Maybe(inner):
                text = self.of(inner)
                return text if text.endswith(" | null") else f"{text} | null"
            case Whole():
                return "bigint" if is_big(kind) else "number"
            case EnumOf(enum):
                if is_big(kind):
                    return "bigint"
                self.uses.add(self.names.enum(enum))
                return self.names.enum(enum)
            case Real():
                return "number"
            case ObjectOf(unit):
                self.uses.add(self.names.type(unit))
                return self.names.type(unit)
            case ListOf(item):
                text = self.of(item)
                return f"({text})[]" if "|" in text else f"{text}[]"
            case OneOf(kinds):
                texts = dict.fromkeys(part for each in kinds for part in self.of(each).split(" | "))
                return " | ".join([*(each for each in texts if each != "null"), "null"])
        if kind == SECTION:
            self.uses.add("RawTag")
        return _PLAIN[kind]


def constant(value: object, big: bool = False) -> str:
    """A constant; an integer as `bigint` if required."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}n" if big else str(value)
    if isinstance(value, float):
        return "NaN" if value != value else json.dumps(value).removesuffix(".0")
    if isinstance(value, bytes):
        return f"new Uint8Array([{', '.join(f'0x{each:02x}' for each in value)}])"
    return "null" if value is None else json.dumps(value)
