"""Types and values of the plan as TypeScript: a whole number is `number`, or `bigint` beyond 53 bits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from kodec.generator.plan.values import (
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
    IsNull,
    Item,
    ListOf,
    Maybe,
    MemberOf,
    Number,
    ObjectOf,
    OneOf,
    Peeked,
    Real,
    SizeOf,
    Type,
    Unary,
    Value,
    Whole,
)
from kodec.generator.targets.typescript.names import Names, member

__all__ = ["Spelling", "Types", "bare", "constant", "is_big", "whole_of"]

_PLAIN = {FLAG: "boolean", TEXT: "string", OCTETS: "Uint8Array", IDENTITY: "string", SECTION: "RawTag[]"}
_SAFE = (1 << 53) - 1
_COMPARED = {"==": "===", "!=": "!==", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_LOGICAL = {"or": "||", "and": "&&"}
_BINDS = {
    **dict.fromkeys(_LOGICAL.values(), 1),
    **dict.fromkeys(_COMPARED.values(), 2),
    **dict.fromkeys(("|", "^", "&", "<<", ">>"), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*", 5),
}
_BITWISE = ("|", "^", "&", "<<", ">>")
_UNARY, _ATOM = 6, 7


def bare(kind: Type) -> Type:
    """A type without null."""
    return kind.of if isinstance(kind, Maybe) else kind


def whole_of(kind: Type) -> Whole | None:
    """The range of a type whose values are whole numbers."""
    kind = bare(kind)
    if isinstance(kind, EnumOf):
        return kind.number
    return kind if isinstance(kind, Whole) else None


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
                return "bigint" if is_big(kind) else self.names.type(enum)
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
    """A constant; a whole number as `bigint`, where it is to be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}n" if big else str(value)
    if isinstance(value, float):
        return "NaN" if value != value else json.dumps(value).removesuffix(".0")
    if isinstance(value, bytes):
        return f"new Uint8Array([{', '.join(f'0x{each:02x}' for each in value)}])"
    return "null" if value is None else json.dumps(value)


@dataclass(frozen=True)
class Spelling:
    """How values are spelled in one place.

    Attributes:
        field: how a field of the unit is spelled.
        stored: the type with which it is kept, which may be wider than what a value says of it.
        item: what the item of a rule is called.
    """

    field: Callable[[str], str]
    stored: Callable[[str, Type], Type]
    item: str = "item"

    def text(self, value: Value, big: bool | None = None) -> str:
        """A value; a whole number as `bigint` or as `number`, where that is said."""
        return self._spelled(value, 0, big)

    def refuted(self, value: Value) -> str:
        """That a test does not hold."""
        match value:
            case Binary(op, left, right) if op in _OPPOSITE and not _real(left) and not _real(right):
                return self.text(Binary(_OPPOSITE[op], left, right, FLAG))
            case Unary("not", of):
                return self.text(of)
        return f"!{self._spelled(value, _ATOM)}"

    def _spelled(self, value: Value, binds: int, big: bool | None = None) -> str:
        own, text = self._text(value)
        have = self._is_big(value)
        if big is not None and whole_of(value.type) is not None and have != big:
            if isinstance(value, Constant):
                return constant(value.value, big)
            return f"{'BigInt' if big else 'Number'}({text})"
        return text if own >= binds else f"({text})"

    def _is_big(self, value: Value) -> bool:
        """Whether a value is spelled as `bigint`."""
        match value:
            case FieldOf(name, kind) | Peeked(name=name, type=kind):
                return is_big(self.stored(name, kind))
            case Unary("-" | "~", of):
                return self._is_big(of) or is_big(value.type)
            case Binary(op, left, right, kind) if whole_of(kind) is not None:
                if is_big(kind) or self._is_big(left) or self._is_big(right):
                    return True
                return op in _BITWISE and not all(map(_in_32_bits, (left.type, right.type, kind)))
            case Choose(_, yes, no):
                return self._is_big(yes) or self._is_big(no)
        return is_big(value.type)

    def _text(self, value: Value) -> tuple[int, str]:
        match value:
            case Constant(found):
                return _ATOM if not isinstance(found, int) or found >= 0 else _UNARY, constant(
                    found, self._is_big(value)
                )
            case FieldOf(name) | Peeked(name=name):
                return _ATOM, self.field(name)
            case Item():
                return _ATOM, self.item
            case MemberOf(of, name):
                return _ATOM, f"{self._spelled(of, _ATOM)}.{member(name)}"
            case SizeOf(of):
                text = self._spelled(of, _ATOM)
                # characters, not units of UTF-16
                return _ATOM, f"Array.from({text}).length" if bare(of.type) == TEXT else f"{text}.length"
            case Number(of):
                return _ATOM, f"Number({self.text(of)})"
            case IsNull(of):
                return _BINDS["==="], f"{self._spelled(of, _ATOM)} === null"
            case Unary("not", of):
                return _UNARY, f"!{self._spelled(of, _ATOM)}"
            case Unary(op, of):
                return _UNARY, f"{op}{self._spelled(of, _ATOM, self._is_big(value))}"
            case Choose(test, yes, no):
                big = self._is_big(value) if whole_of(value.type) is not None else None
                return (
                    0,
                    f"{self._spelled(test, 1)} ? {self._spelled(yes, 1, big)} : {self._spelled(no, 1, big)}",
                )
            case Binary(op, left, right):
                return self._binary(value, op, left, right)
        raise TypeError(value)

    def _binary(self, value: Value, op: str, left: Value, right: Value) -> tuple[int, str]:
        whole = whole_of(left.type) is not None and whole_of(right.type) is not None
        if op in _COMPARED and OCTETS in (bare(left.type), bare(right.type)):
            text = f"sameBytes({self.text(left)}, {self.text(right)})"
            return (_ATOM, text) if op == "==" else (_UNARY, f"!{text}")
        big: bool | None = None
        if op in _COMPARED:
            big = (self._is_big(left) or self._is_big(right)) if whole else None
        elif op not in _LOGICAL:
            big = self._is_big(value)
        if op in ("/", "%"):
            name = "floorDiv" if op == "/" else "floorMod"
            return _ATOM, f"{name}({self.text(left, big)}, {self.text(right, big)})"
        sign = _LOGICAL.get(op) or _COMPARED.get(op, op)
        own = _BINDS[sign]
        first, second = self._side(left, sign, own, big), self._side(right, sign, own + 1, big)
        return own, f"{first} {sign} {second}"

    def _side(self, value: Value, sign: str, binds: int, big: bool | None) -> str:
        """A side of an operation, in the brackets that it needs, or that a reader does."""
        if isinstance(value, Binary) and value.op in _LOGICAL and _LOGICAL[value.op] != sign:
            binds = _ATOM
        if isinstance(value, Binary) and value.op in _BITWISE and value.op != sign:
            binds = _ATOM
        return self._spelled(value, binds, big)


def _real(value: Value) -> bool:
    return isinstance(bare(value.type), Real)


def _in_32_bits(kind: Type) -> bool:
    found = whole_of(kind)
    return found is not None and found.low >= -(1 << 31) and found.high < 1 << 31
