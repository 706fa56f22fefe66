"""Types and values of the plan as Rust; whole numbers are computed as i64."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import get_args

from kodec.generator.plan.steps import Program
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
from kodec.generator.targets.rust.names import Names, camel, member

__all__ = ["Expressions", "Types", "bare", "beyond", "is_number", "literal", "rust_whole"]

_PLAIN = {FLAG: "bool", TEXT: "rt::Text", OCTETS: "&[u8]", IDENTITY: "rt::Uuid", SECTION: "Vec<rt::RawTag>"}
_BORROWED = (TEXT, OCTETS, SECTION)
_BINDS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3),
    "|": 4,
    "^": 5,
    "&": 6,
    **dict.fromkeys(("<<", ">>"), 7),
    **dict.fromkeys(("+", "-"), 8),
    "*": 9,
}
_COMPARED, _SIGN, _ATOM = 3, 10, 11
_WORDS = {"or": "||", "and": "&&"}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_WIDTHS = {
    f"{sign}{bits}": (0, (1 << bits) - 1) if sign == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    for bits in (8, 16, 32, 64)
    for sign in "ui"
}


def rust_whole(kind: Whole) -> str:
    """The narrowest type that holds a range."""
    sign = "u" if kind.low >= 0 else "i"
    return next(
        (
            name
            for name, (low, high) in _WIDTHS.items()
            if name[0] == sign and low <= kind.low and kind.high <= high
        ),
        "i64",
    )


def bare(kind: Type) -> Type:
    """A type that is not null."""
    return kind.of if isinstance(kind, Maybe) else kind


def is_number(kind: Type) -> bool:
    return isinstance(bare(kind), (Whole, EnumOf))


def beyond(part: object) -> bool:
    """Whether a value can be beyond what i64 holds. That a field is only kept so is no matter."""
    if isinstance(part, Constant):
        return isinstance(part.value, int) and Whole(part.value, part.value).wide
    return isinstance(part, get_args(Value)) and isinstance(part.type, Whole) and part.type.wide


def literal(value: object) -> str:
    """A constant."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return "[" + ", ".join(f"0x{each:02x}" for each in value) + "]"
    return repr(value)


@dataclass
class Types:
    """The Rust types of values."""

    names: Names
    program: Program
    _choices: dict[OneOf, str] = field(default_factory=dict)
    _borrows: dict[str, bool] = field(default_factory=dict)

    def of(self, kind: Type, lifetime: str = "'a") -> str:
        """The type of a value that is kept; what it borrows lives for `lifetime`."""
        match kind:
            case Maybe(of):
                return f"Option<{self.of(of, lifetime)}>"
            case ListOf(item):
                return f"Vec<{self.of(item, lifetime)}>"
            case Whole():
                return rust_whole(kind)
            case Real(bits):
                return f"f{bits}"
            case EnumOf(enum):
                return f"crate::{self.names.type(enum)}"
            case ObjectOf(unit):
                inner = self.inner(unit)
                return (
                    f"crate::{self.names.type(unit)}{self.suffix(kind, lifetime)}"
                    if inner is None
                    else (self.of(inner, lifetime))
                )
            case OneOf():
                return f"crate::{self._choices[kind]}{self.suffix(kind, lifetime)}"
        text = _PLAIN[kind]
        if kind == OCTETS:
            return "&[u8]" if lifetime == "'_" else f"&{lifetime} [u8]"
        return text.replace("rt::Text", f"rt::Text<{lifetime}>").replace("RawTag", f"RawTag<{lifetime}>")

    def inner(self, unit: str) -> Type | None:
        """The type of what a unit stands for; None of one with fields."""
        found = self.program.units[unit]
        return None if found.stands_for is None else found.field(found.stands_for).type

    def suffix(self, kind: Type, lifetime: str = "'a") -> str:
        return f"<{lifetime}>" if self.borrows(kind) else ""

    def borrows(self, kind: Type) -> bool:
        """Whether a value holds a part of the input."""
        match kind:
            case Maybe(of) | ListOf(of):
                return self.borrows(of)
            case OneOf(types):
                return any(map(self.borrows, types))
            case ObjectOf(unit):
                if unit not in self._borrows:
                    self._borrows[unit] = False  # a circle borrows where something else in it does
                    found = self.program.units[unit]
                    kinds = (each.type for each in found.fields if each.kept or each.name == found.stands_for)
                    self._borrows[unit] = any(map(self.borrows, kinds))
                return self._borrows[unit]
        return kind in _BORROWED

    def is_copy(self, kind: Type) -> bool:
        """Whether a value is as small as a reference to it."""
        kind = bare(kind)
        if isinstance(kind, ObjectOf):
            inner = self.inner(kind.unit)
            return inner is not None and self.is_copy(inner)
        return kind != SECTION and not isinstance(kind, (ListOf, OneOf))

    def passed(self, kind: Type) -> str:
        """The type of an argument that is only looked at."""
        if self.is_copy(kind):
            return self.of(kind, "'_")
        if isinstance(kind, Maybe):
            return f"Option<{self.passed(kind.of)}>"
        of = self.of(kind.item if isinstance(kind, ListOf) else kind, "'_")
        return f"&[{of}]" if isinstance(kind, ListOf) else f"&{of}"

    # -- one of several ---------------------------------------------------------------------------

    def declare(self, kind: Type, unit: str, name: str) -> Iterable[OneOf]:
        """The enums that a field brings in."""
        kind = bare(kind)
        while isinstance(kind, ListOf):
            kind = bare(kind.item)
        if isinstance(kind, OneOf) and kind not in self._choices:
            self._choices[kind] = self.names.choices.claim(self.names.type(unit) + camel(name))
            yield kind

    def choice(self, kind: OneOf) -> str:
        return self._choices[kind]

    def variants(self, kind: OneOf) -> dict[str, Type]:
        """Each of several types by its name."""
        found: dict[str, Type] = {}
        for each in kind.types:
            found.setdefault(self.variant(each), each)
        return found

    def variant(self, kind: Type) -> str:
        match kind:
            case Maybe(of):
                return f"Optional{self.variant(of)}"
            case ListOf(item):
                return f"{self.variant(item)}List"
            case ObjectOf(unit):
                inner = self.inner(unit)
                return self.names.type(unit) if inner is None else self.variant(inner)
            case EnumOf(enum):
                return self.names.type(enum)
            case OneOf():
                return self._choices[kind]
            case Whole() | Real():
                return self.of(kind).upper()
        return {FLAG: "Flag", TEXT: "Characters", OCTETS: "Bytes", IDENTITY: "Id", SECTION: "Tags"}[kind]

    def boxed(self, kind: Type) -> bool:
        """Whether it stands in a box, as one of several: they differ in size, and may hold each other."""
        return isinstance(bare(kind), ObjectOf) and not self.is_copy(kind)

    # -- values that are there without being read -------------------------------------------------

    def initial(self, kind: Type, constant: Constant | None) -> str:
        """What a new object has."""
        if isinstance(kind, Maybe):
            if constant is not None and constant.value is None:
                return "None"
            return f"Some({self.initial(kind.of, constant)})"
        if constant is not None and constant.value is not None:
            return self.constant(kind, constant.value)
        return self.zero(kind)

    def constant(self, kind: Type, value: object) -> str:
        match kind:
            case EnumOf():
                return f"{self.of(kind)}({literal(value)})"
            case Real():
                assert isinstance(value, (int, float))
                return literal(float(value))
        if isinstance(value, str):
            text = literal(value)
            return f"rt::Text(b{text})" if value.isascii() else f"rt::Text({text}.as_bytes())"
        return f"&{literal(value)}" if isinstance(value, bytes) else literal(value)

    def zero(self, kind: Type) -> str:
        """The default of a type."""
        match kind:
            case Whole():
                return "0"
            case Real():
                return "0.0"
            case Maybe():
                return "None"
            case ListOf():
                return "Vec::new()"
            case ObjectOf(unit):
                inner = self.inner(unit)
                return f"crate::{self.names.type(unit)}::default()" if inner is None else self.zero(inner)
            case OneOf():
                return f"crate::{self._choices[kind]}::default()"
            case EnumOf():
                return f"{self.of(kind)}(0)"
        plain = {FLAG: "false", TEXT: "rt::Text(&[])", OCTETS: "&[]", SECTION: "Vec::new()"}
        return plain.get(kind, "rt::Uuid([0; 16])")


@dataclass(frozen=True)
class Expressions:
    """Values of one unit. `spell` is the place of a field, `wide` whether that is an i64 already."""

    types: Types
    spell: Callable[[str], str]
    wide: Callable[[str], bool] = lambda name: False
    nullable: Callable[[str, Type], Type] = lambda name, kind: kind
    item: str = "item"

    def text(self, value: Value, binds: int = 0) -> str:
        """A value: of a whole number an i64, of an enum its number."""
        own, text = self._text(value)
        return text if own >= binds else f"({text})"

    def unless(self, value: Value) -> str:
        """The opposite of a test."""
        match value:
            case Unary("not", of):
                return self.text(of)
            case Binary("and" | "or" as op, left, right) if not self._within(value):
                sides = [self.unless(left), self.unless(right)]
                if op == "and":
                    return " || ".join(sides)
                return " && ".join(f"({each})" if " || " in each else each for each in sides)
            case Binary(op, left, right, FLAG) if op in _OPPOSITE:
                opposite = self.text(Binary(_OPPOSITE[op], left, right, FLAG))
                unordered = isinstance(left.type, Real) and op not in ("==", "!=")
                return f"{opposite} || {self.text(left, _SIGN)}.is_nan()" if unordered else opposite
        return f"!{self.text(value, _SIGN)}"

    def whole(self, value: Value, kind: Type, binds: int = 0) -> str:
        """A whole number as the type of a parameter."""
        if isinstance(value, Constant) or not isinstance(kind, Whole):
            return self.text(value, binds)
        wanted = rust_whole(kind)
        match value:
            case FieldOf(name, Whole() as own) if not self.wide(name) and rust_whole(own) == wanted:
                return self.spell(name)
        text = self.text(value)
        return text if wanted == "i64" else f"({text}) as {wanted}"

    def _text(self, value: Value) -> tuple[int, str]:
        match value:
            case Constant(found, kind):
                if isinstance(found, str):
                    return _ATOM, self.types.constant(kind, found)
                if isinstance(found, bytes):
                    return _ATOM, f"*b{literal(found)}"
                negative = isinstance(found, (int, float)) and found < 0
                return (_SIGN if negative else _ATOM), literal(found)
            case FieldOf() | Peeked() | Item() | MemberOf():
                return _ATOM, self._number(self.place(value), self._type(value), self._is_wide(value))
            case SizeOf(of):
                text, kind = self.place(of), self._type(of)
                method = "characters" if bare(kind) == TEXT else "len"
                if isinstance(kind, Maybe):
                    return _COMPARED, f"{text}.as_ref().map_or(0, |x| x.{method}()) as i64"
                return _COMPARED, f"{text}.{method}() as i64"
            case Number(of):
                return _ATOM, f"i64::from({self.text(of)})" if of.type == FLAG else self.text(of, _ATOM)
            case IsNull(of):
                return _ATOM, f"{self.place(of)}.is_none()"
            case Unary(op, of):
                return _SIGN, f"{'-' if op == '-' else '!'}{self.text(of, _SIGN)}"
            case Binary("/" | "%" as op, left, right):
                name = "floor_div" if op == "/" else "floor_mod"
                return _ATOM, f"rt::{name}({self.text(left)}, {self.text(right)})"
            case Binary(op, left, right):
                return self._binary(value, op, left, right)
            case Choose(test, yes, no):
                return 0, f"if {self.text(test)} {{ {self.text(yes)} }} else {{ {self.text(no)} }}"
        raise TypeError(value)

    def _binary(self, value: Binary, op: str, left: Value, right: Value) -> tuple[int, str]:
        within = self._within(value)
        if within is not None:
            return _ATOM, within
        own = _BINDS[op]
        if own == _COMPARED:
            sides = self._narrow(left, op, right) or (self._side(left, right), self._side(right, left))
            return own, f"{sides[0]} {op} {sides[1]}"
        # what binds tighter stands in brackets too: nobody has to know by how much
        first = own if _op(left) == own or own < _COMPARED else _SIGN - 1
        second = own + 1 if own < _COMPARED else _SIGN - 1
        return (
            own,
            f"{self._real(left, value, first)} {_WORDS.get(op, op)} {self._real(right, value, second)}",
        )

    def _side(self, side: Value, other: Value) -> str:
        """One side of a comparison."""
        real = isinstance(other.type, Real) and not isinstance(side.type, Real)
        text = self.text(side, _SIGN - 1 if real else _COMPARED + 1)
        return f"{text} as f64" if real else text

    def _real(self, side: Value, of: Value, binds: int) -> str:
        if isinstance(of.type, Real) and not isinstance(side.type, Real):
            return f"({self.text(side, _SIGN - 1)} as f64)"
        return self.text(side, binds)

    def _narrow(self, left: Value, op: str, right: Value) -> tuple[str, str] | None:
        """A field and a constant of its own type, which need no conversion to be compared."""
        if not isinstance(right, Constant) or not isinstance(left, (FieldOf, Peeked, Item, MemberOf)):
            return None
        kind = self._type(left)
        if not isinstance(kind, Whole) or not isinstance(right.value, int) or self._is_wide(left):
            return None
        low, high = _WIDTHS[rust_whole(kind)]
        inside = low <= right.value <= high if op in ("==", "!=") else low < right.value < high
        return (self.place(left), literal(right.value)) if inside else None

    def _within(self, value: Value) -> str | None:
        """Two comparisons that say that a number is in a range."""
        match value:
            case Binary("and", Binary(">=", first, Constant(low)), Binary("<=", second, Constant(high))):
                if first == second:
                    found = self._narrow(first, ">", Constant(low, first.type))
                    more = self._narrow(first, "<", Constant(high, first.type))
                    text = found[0] if found and more else self.text(first)
                    return f"({literal(low)}..={literal(high)}).contains(&{text})"
        return None

    def place(self, value: Value) -> str:
        """A value as it is kept."""
        match value:
            case FieldOf(name) | Peeked(name=name):
                return self.spell(name)
            case Item():
                return self.item
            case MemberOf(of, name):
                return f"{self.place(of)}.{member(name)}"
        raise TypeError(value)

    def _type(self, value: Value) -> Type:
        kind: Type = value.type
        return self.nullable(value.name, kind) if isinstance(value, FieldOf) else kind

    def _is_wide(self, value: Value) -> bool:
        return isinstance(value, (FieldOf, Peeked)) and self.wide(value.name)

    def _number(self, text: str, kind: Type, wide: bool) -> str:
        """What is kept as a narrower number, as i64."""
        if wide:
            return text
        match kind:
            case Maybe(of) if isinstance(of, (Whole, EnumOf, Real)) or of == FLAG:
                return self._number(f"{text}.unwrap_or_default()", of, False)
            case EnumOf():
                return f"{text}.0"
            case Whole():
                name = rust_whole(kind)
                return (
                    text if name == "i64" else f"({text} as i64)" if name == "u64" else f"i64::from({text})"
                )
            case Real(32):
                return f"f64::from({text})"
        return text


def _op(value: Value) -> int:
    return _BINDS.get(value.op, _ATOM) if isinstance(value, Binary) else _ATOM
