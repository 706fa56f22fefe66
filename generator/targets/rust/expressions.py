"""Types and values of the plan as Rust; whole numbers are computed as i64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, get_args

from kodec.generator.plan.spelling import Precedence, Spelling
from kodec.generator.plan.steps import Program
from kodec.generator.plan.values import (
    COMPARISONS,
    FLAG,
    IDENTITY,
    OCTETS,
    OPPOSITE,
    SECTION,
    TEXT,
    Binary,
    Choose,
    Constant,
    EnumOf,
    FieldOf,
    Item,
    ListOf,
    Maybe,
    MemberOf,
    ObjectOf,
    OneOf,
    Peeked,
    Real,
    Type,
    Value,
    Whole,
    bare,
    is_number,
    narrowest,
)
from kodec.generator.targets.rust.names import Names, camel, member

__all__ = ["Expressions", "Types", "beyond", "byte_string", "literal", "rust_whole"]

_PLAIN = {FLAG: "bool", TEXT: "rt::Text", OCTETS: "&[u8]", IDENTITY: "rt::Uuid", SECTION: "Vec<rt::RawTag>"}
_BORROWED = (TEXT, OCTETS, SECTION)


def rust_whole(kind: Whole) -> str:
    """The narrowest type that holds a range."""
    signed, bits = narrowest(kind)
    return f"{'i' if signed else 'u'}{bits}"


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
        return f'"{"".join(map(_character, value))}"'
    if isinstance(value, bytes):
        return "[" + ", ".join(f"0x{each:02x}" for each in value) + "]"
    return repr(value)


def byte_string(value: bytes) -> str:
    """A constant of bytes that may be text, as an array."""
    shown = (chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\x{each:02x}" for each in value)
    return f'b"{"".join(shown)}"'


def _character(each: str) -> str:
    if each in '"\\':
        return f"\\{each}"
    return each if each.isprintable() else f"\\u{{{ord(each):x}}}"


@dataclass
class Types:
    """The Rust types of values."""

    names: Names
    program: Program
    _choices: dict[OneOf, str] = field(default_factory=dict)
    _borrows: dict[str, bool] = field(default_factory=dict)

    def of(self, kind: Type, lifetime: str = "'a") -> str:
        """The type of a value that is kept; its borrowed parts live for `lifetime`."""
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
                return f"crate::{self.names.enum(enum)}"
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
        """The type of the value that a unit represents; None for a unit with fields."""
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
        """The type of an argument that is only read."""
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
                return self.names.enum(enum)
            case OneOf():
                return self._choices[kind]
            case Whole() | Real():
                return self.of(kind).upper()
        return {FLAG: "Flag", TEXT: "Characters", OCTETS: "Bytes", IDENTITY: "Id", SECTION: "Tags"}[kind]

    def boxed(self, kind: Type) -> bool:
        """Whether it is boxed, as one of several: they differ in size, and may contain each other."""
        return isinstance(bare(kind), ObjectOf) and not self.is_copy(kind)

    # -- values that are there without being read -------------------------------------------------

    def initial(self, kind: Type, constant: Constant | None) -> str:
        """The value in a new object."""
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
            text = byte_string(value.encode()) if value.isascii() else f"{literal(value)}.as_bytes()"
            return f"rt::Text({text})"
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


@dataclass(frozen=True, kw_only=True)
class Expressions(Spelling):
    """Values of one unit: of a whole number an i64, of an enum its number.

    Attributes:
        wide: whether a field is an i64 already.
        stored: the type with which a field is kept.
    """

    binds = Precedence("or", "and", "== != < <= > >=", "|", "^", "&", "<< >>", "+ -", "*")
    words: ClassVar[Mapping[str, str]] = {**Spelling.words, "~": "!"}
    calls: ClassVar[Mapping[str, str]] = {"/": "rt::floor_div", "%": "rt::floor_mod"}

    types: Types
    wide: Callable[[str], bool]
    stored: Callable[[str, Type], Type]

    def opposite(self, test: Value) -> str:
        match test:
            case Binary("and" | "or" as op, left, right) if not self._within(test):
                sides = [self.opposite(left), self.opposite(right)]
                if op == "and":
                    return " || ".join(sides)
                return " && ".join(f"({each})" if " || " in each else each for each in sides)
            case Binary("<" | "<=" | ">" | ">=" as op, left, right) if isinstance(left.type, Real):
                opposite = self(Binary(OPPOSITE[op], left, right, FLAG))
                return f"{opposite} || {self(left, self.binds.sign)}.is_nan()"
        return super().opposite(test)

    def whole(self, value: Value, kind: Type) -> str:
        """A whole number as the type of a parameter."""
        if isinstance(value, Constant) or not isinstance(kind, Whole):
            return self(value)
        wanted = rust_whole(kind)
        match value:
            case FieldOf(name, Whole() as own) if not self.wide(name) and rust_whole(own) == wanted:
                return self.field(name)
        return self(value) if wanted == "i64" else f"({self(value)}) as {wanted}"

    def constant(self, value: Constant) -> str:
        if isinstance(value.value, str):
            return self.types.constant(value.type, value.value)
        return f"{'*b' if isinstance(value.value, bytes) else ''}{literal(value.value)}"

    def member(self, of: Value, name: str) -> str:
        return f".{member(name)}"

    def kept(self, value: FieldOf | Peeked | Item | MemberOf) -> tuple[int, str]:
        place = self.place(value)
        return self.binds.atom, place if self._is_wide(value) else self.number(place, self._type(value))

    def size(self, of: Value) -> tuple[int, str]:
        text, kind = self.place(of), self._type(of)
        method = "characters" if bare(kind) == TEXT else "len"
        if isinstance(kind, Maybe):
            return self.binds.compared, f"{text}.as_ref().map_or(0, |x| x.{method}()) as i64"
        return self.binds.compared, f"{text}.{method}() as i64"

    def of_flag(self, of: Value) -> tuple[int, str]:
        return self.binds.atom, f"i64::from({self(of)})"

    def is_null(self, of: Value) -> tuple[int, str]:
        return self.binds.atom, f"{self.place(of)}.is_none()"

    def binary(self, value: Binary) -> tuple[int, str]:
        within = self._within(value)
        if within is not None:
            return self.binds.atom, within
        if value.op in COMPARISONS:
            narrow = self._narrow(value.left, value.op, value.right)
            if narrow is not None:
                return self.binds[value.op], self.operator(value).join(narrow)
        return super().binary(value)

    def side(self, part: Value, of: Binary, binds: int) -> str:
        own, tight = self.binds[of.op], self.binds.sign - 1
        if of.op in COMPARISONS:
            other = of.right if part is of.left else of.left
            real = isinstance(other.type, Real) and not isinstance(part.type, Real)
            return f"{self(part, tight)} as f64" if real else super().side(part, of, binds)
        if isinstance(of.type, Real) and not isinstance(part.type, Real):
            return f"({self(part, tight)} as f64)"
        # operands that bind tighter have parentheses too, so that readers need not know the precedence
        alike = binds == own and isinstance(part, Binary) and self.binds.get(part.op) == own
        return self(part, binds if alike or own < self.binds.compared else tight)

    def choice(self, value: Choose) -> tuple[int, str]:
        return 0, f"if {self(value.test)} {{ {self(value.yes)} }} else {{ {self(value.no)} }}"

    def _narrow(self, left: Value, op: str, right: Value) -> tuple[str, str] | None:
        """A field and a constant of its own type, which need no conversion to be compared."""
        if not isinstance(right, Constant) or not isinstance(left, (FieldOf, Peeked, Item, MemberOf)):
            return None
        kind = self._type(left)
        if not isinstance(kind, Whole) or not isinstance(right.value, int) or self._is_wide(left):
            return None
        signed, bits = narrowest(kind)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        inside = low <= right.value <= high if op in ("==", "!=") else low < right.value < high
        return (self.place(left), literal(right.value)) if inside else None

    def _within(self, value: Value) -> str | None:
        """Two comparisons for a number in a range."""
        match value:
            case Binary("and", Binary(">=", first, Constant(low)), Binary("<=", second, Constant(high))):
                if first == second:
                    found = self._narrow(first, ">", Constant(low, first.type))
                    more = self._narrow(first, "<", Constant(high, first.type))
                    text = found[0] if found and more else self(first)
                    return f"({literal(low)}..={literal(high)}).contains(&{text})"
        return None

    def _type(self, value: Value) -> Type:
        kind: Type = value.type
        return self.stored(value.name, kind) if isinstance(value, FieldOf) else kind

    def _is_wide(self, value: Value) -> bool:
        return isinstance(value, (FieldOf, Peeked)) and self.wide(value.name)

    def number(self, text: str, kind: Type) -> str:
        """A number stored in a narrower type, as i64."""
        match kind:
            case Maybe(of) if is_number(of) or isinstance(of, Real) or of == FLAG:
                return self.number(f"{text}.unwrap_or_default()", of)
            case EnumOf():
                return f"{text}.0"
            case Whole():
                name = rust_whole(kind)
                if name in ("i64", "u64"):
                    return text if name == "i64" else f"({text} as i64)"
                return f"i64::from({text})"
            case Real(32):
                return f"f64::from({text})"
        return text
