"""Types and values of the plan as TypeScript: a whole number is `number`, or `bigint` beyond 53 bits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kodec.generator.plan.spelling import Precedence, Spelling
from kodec.generator.plan.values import (
    COMPARISONS,
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    TEXT,
    Binary,
    Choose,
    Constant,
    EnumOf,
    FieldOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Peeked,
    Real,
    Type,
    Unary,
    Value,
    Whole,
    bare,
    is_number,
    whole_of,
)
from kodec.generator.targets.typescript.names import Names, member

__all__ = ["Expressions", "Types", "constant", "is_big"]

_PLAIN = {FLAG: "boolean", TEXT: "string", OCTETS: "Uint8Array", IDENTITY: "string", SECTION: "RawTag[]"}
_SAFE = (1 << 53) - 1
_LOGICAL = ("or", "and")
_BITWISE = ("|", "^", "&", "<<", ">>")


def is_big(kind: Type) -> bool:
    """Whether values of a type are `bigint`."""
    found = whole_of(kind)
    return found is not None and (found.low < -_SAFE or found.high > _SAFE)


class Types:
    """The TypeScript types of values."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, kind: Type) -> str:
        match kind:
            case Maybe(inner):
                text = self.of(inner)
                return text if text.endswith(" | null") else f"{text} | null"
            case Whole():
                return "bigint" if is_big(kind) else "number"
            case EnumOf(enum):
                return "bigint" if is_big(kind) else self.names.enum(enum)
            case Real():
                return "number"
            case ObjectOf(unit):
                return self.names.type(unit)
            case ListOf(item):
                text = self.of(item)
                return f"({text})[]" if "|" in text else f"{text}[]"
            case OneOf(kinds):
                texts = dict.fromkeys(part for each in kinds for part in self.of(each).split(" | "))
                return " | ".join([*(each for each in texts if each != "null"), "null"])
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


@dataclass(frozen=True, kw_only=True)
class Expressions(Spelling):
    """Values of one unit.

    Attributes:
        stored: the type with which a field is kept, which may be wider than what a value reports about it.
    """

    binds = Precedence("or and", "== != < <= > >=", " ".join(_BITWISE), "+ -", "*")
    words: ClassVar[Mapping[str, str]] = {**Spelling.words, "==": "===", "!=": "!=="}
    calls: ClassVar[Mapping[str, str]] = {"/": "floorDiv", "%": "floorMod"}
    apart = frozenset((*_LOGICAL, *_BITWISE))

    stored: Callable[[str, Type], Type]

    def __call__(self, value: Value, binds: int = 0, big: bool | None = None) -> str:
        """A value; an integer as `bigint` or as `number`, if specified."""
        have = self.is_big(value)
        if big in (None, have) or not is_number(value.type):
            return super().__call__(value, binds)
        if isinstance(value, Constant):
            return constant(value.value, not have)
        return f"{'Number' if have else 'BigInt'}({super().__call__(value)})"

    def is_big(self, value: Value) -> bool:
        """Whether a value is spelled as `bigint`."""
        match value:
            case FieldOf(name, kind) | Peeked(name=name, type=kind):
                return is_big(self.stored(name, kind))
            case Unary("-" | "~", of):
                return self.is_big(of) or is_big(value.type)
            case Binary(op, left, right, kind) if is_number(kind):
                if is_big(kind) or self.is_big(left) or self.is_big(right):
                    return True
                return op in _BITWISE and not all(map(_in_32_bits, (left.type, right.type, kind)))
            case Choose(_, yes, no):
                return self.is_big(yes) or self.is_big(no)
        return is_big(value.type)

    def constant(self, value: Constant) -> str:
        return constant(value.value, self.is_big(value))

    def member(self, of: Value, name: str) -> str:
        return f".{member(name)}"

    def size(self, of: Value) -> tuple[int, str]:
        text = self.place(of)
        # characters, not units of UTF-16
        return self.binds.atom, f"Array.from({text}).length" if bare(of.type) == TEXT else f"{text}.length"

    def of_flag(self, of: Value) -> tuple[int, str]:
        return self.binds.atom, f"Number({self(of)})"

    def is_null(self, of: Value) -> tuple[int, str]:
        return self.binds["=="], f"{self.place(of)} === null"

    def unary(self, value: Unary) -> tuple[int, str]:
        if value.op == "not":
            return super().unary(value)
        return self.binds.sign, f"{value.op}{self(value.of, self.binds.atom, self.is_big(value))}"

    def binary(self, value: Binary) -> tuple[int, str]:
        if value.op not in COMPARISONS or OCTETS not in (bare(value.left.type), bare(value.right.type)):
            return super().binary(value)
        text = f"sameBytes({self(value.left)}, {self(value.right)})"
        return (self.binds.atom, text) if value.op == "==" else (self.binds.sign, f"!{text}")

    def side(self, part: Value, of: Binary, binds: int) -> str:
        return self(part, self.beside(part, of, binds), self._has_big_sides(of))

    def argument(self, part: Value, of: Binary) -> str:
        return self(part, big=self._has_big_sides(of))

    def _has_big_sides(self, of: Binary) -> bool | None:
        """Whether both sides of an operation are spelled as `bigint`; None if that is no matter."""
        if of.op in COMPARISONS:
            numbers = is_number(of.left.type) and is_number(of.right.type)
            return self.is_big(of.left) or self.is_big(of.right) if numbers else None
        return None if of.op in _LOGICAL else self.is_big(of)

    def choice(self, value: Choose) -> tuple[int, str]:
        big = self.is_big(value) if is_number(value.type) else None
        test, yes, no = self(value.test, 1), self(value.yes, 1, big), self(value.no, 1, big)
        return 0, f"{test} ? {yes} : {no}"


def _in_32_bits(kind: Type) -> bool:
    found = whole_of(kind)
    return found is not None and found.low >= -(1 << 31) and found.high < 1 << 31
