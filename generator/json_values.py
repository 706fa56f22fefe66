"""Values as JSON has them, the same for all languages: what vectors and the testee protocol hold.

Whole numbers that JSON readers would round are decimal strings; bytes are lowercase hexadecimal; text that is
not UTF-8 is `{"raw": bytes}`; a UUID is its canonical string; an unknown tagged field is
`{"number", "data"}`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isinf, isnan
from typing import Any
from uuid import UUID

from kodec.generator.code.objects import Object, absent_value
from kodec.generator.plan.steps import Program
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
)

__all__ = ["EXACT", "JsonValues", "lacking", "to_json"]

EXACT = (1 << 53) - 1
"""The largest whole number that every JSON reader keeps."""


def to_json(value: Any) -> Any:
    """A value as `Machine` reads it, for JSON."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) <= EXACT else str(value)
        case float():
            return "nan" if isnan(value) else str(value) if isinf(value) else value
        case bytes():
            return value.hex()
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return {"raw": value.encode("utf-8", "surrogateescape").hex()}
            return value
        case UUID():
            return str(value)
        case tuple((number, data)):
            return {"number": number, "data": data.hex()}
        case list():
            return [to_json(each) for each in value]
        case dict():
            return {name: to_json(each) for name, each in value.items()}
    raise TypeError(type(value).__name__)


def lacking(value: Any, path: str = "") -> list[str]:
    """The paths of the fields that no version of their object has; answers may leave them out."""
    if isinstance(value, list):
        return [each for index, item in enumerate(value) for each in lacking(item, f"{path}[{index}]")]
    found: list[str] = []
    for name, item in value.items() if isinstance(value, Object) else ():
        below = f"{path}.{name}".removeprefix(".")
        found += [below] if name in value.lacking else lacking(item, below)
    return found


Make = Callable[[str, dict[str, Any]], Any]


class JsonValues:
    """JSON to values, by the types of a program.

    `make` gives the object of a unit from its fields; without it they stay what `Writer` takes.
    """

    def __init__(self, program: Program, make: Make = lambda unit, fields: Object(fields)) -> None:
        self._program = program
        self._make = make

    def of(self, unit: str, value: Any) -> Any:
        """The object of a unit; fields that are not given have their defaults. Raises ValueError."""
        found = self._program.units[unit]
        if not isinstance(value, dict):
            raise ValueError(f"not an object: {value!r}")
        kept = {each.name: each for each in found.fields if each.kept}
        if unknown := value.keys() - kept.keys():
            raise ValueError(f"{unit} has no {', '.join(sorted(unknown))}")
        return self._make(
            unit,
            {
                name: self._of(each.type, value[name])
                if name in value
                else self._of(each.type, to_json(absent_value(self._program, each.type, each.default)))
                for name, each in kept.items()
            },
        )

    def _of(self, kind: Type, value: Any) -> Any:
        match kind:
            case Maybe(of):
                return None if value is None else self._of(of, value)
            case _ if value is None:
                return None
            case Whole() | EnumOf():
                if isinstance(value, bool) or not isinstance(value, (int, str)):
                    raise ValueError(f"not a whole number: {value!r}")
                return int(value)
            case Real():
                if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                    raise ValueError(f"not a number: {value!r}")
                return float(value)
            case ListOf(item):
                if not isinstance(value, list):
                    raise ValueError(f"not a list: {value!r}")
                return [self._of(item, each) for each in value]
            case ObjectOf(unit):
                return self.of(unit, value)
            case OneOf(types):
                return self._one(types, value)
            case _:
                return _SIMPLE[kind](value)

    def _one(self, types: tuple[Type, ...], value: Any) -> Any:
        """By its form: an object is of the first type that has all of its fields."""
        for kind in types:
            try:
                return self._of(kind, value)
            except ValueError:
                continue
        raise ValueError(f"none of the types has such a value: {value!r}")


def _text(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"raw"}:
        return bytes.fromhex(value["raw"]).decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        raise ValueError(f"not text: {value!r}")
    return value


def _octets(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"not bytes in hexadecimal: {value!r}")
    return bytes.fromhex(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"neither true nor false: {value!r}")
    return value


_SIMPLE: dict[Type, Callable[[Any], Any]] = {
    FLAG: _flag,
    TEXT: _text,
    OCTETS: _octets,
    IDENTITY: lambda value: UUID(value),
    SECTION: lambda value: [(int(each["number"]), bytes.fromhex(each["data"])) for each in value],
}
