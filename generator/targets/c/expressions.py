"""Types and values of the plan as C; whole numbers are computed as int64_t."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

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
    values_in,
)
from kodec.generator.targets.c.names import PREFIX, Names, member

__all__ = [
    "Computed",
    "Member",
    "Types",
    "bare",
    "beyond",
    "expression",
    "is_null",
    "is_number",
    "literal",
    "text",
    "whole",
]

_PLAIN = {
    FLAG: "bool",
    TEXT: "kodec_bytes",
    OCTETS: "kodec_bytes",
    IDENTITY: "kodec_uuid",
    SECTION: "kodec_tags",
}
_BINDS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("==", "!="), 6),
    **dict.fromkeys(("<", "<=", ">", ">="), 7),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("|", "^", "&"), 9),
    "*": 10,
}
_WORDS = {"or": "||", "and": "&&"}
_CALLS = {"/": "kd_floor_div", "%": "kd_floor_mod", "<<": "kd_left", ">>": "kd_right"}
_ATOM, _SIGN = 12, 11
# operators beside which a compiler wants parentheses
_ALONE = ("|", "^", "&", "or", "and", "==", "!=", "<", "<=", ">", ">=")


class Computed(str):
    """Text of a place that holds an int64_t already."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Member:
    """One type of a union: its number, its constant, and its member."""

    type: Type
    constant: str
    name: str


def bare(kind: Type) -> Type:
    return kind.of if isinstance(kind, Maybe) else kind


def is_number(kind: Type) -> bool:
    return isinstance(bare(kind), (Whole, EnumOf))


def whole(kind: Whole) -> str:
    """The narrowest type that holds a range."""
    sign = "u" if kind.low >= 0 else ""
    for bits in (8, 16, 32, 64):
        low, high = (0, (1 << bits) - 1) if sign else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if low <= kind.low and kind.high <= high:
            return f"{sign}int{bits}_t"
    return "int64_t"


class Types:
    """The C types of values, and the lists and unions among them."""

    def __init__(self, names: Names, program: Program) -> None:
        self.names = names
        self.lists: dict[str, str] = {}
        """The type of a list's elements, by the list's."""
        self.unions: dict[str, tuple[Member, ...]] = {}
        self._named: dict[OneOf, str] = {}
        for unit in program.units.values():
            for spec in unit.fields:
                self._name(spec.type, f"{names.type(unit)}_{spec.name}".removeprefix(PREFIX))
                self.of(spec.type)
            for each in unit.parameters:
                self.of(each.type)

    def _name(self, kind: Type, name: str) -> None:
        """Give every switch in a field's type a name, and its types theirs."""
        kind = bare(kind)
        if isinstance(kind, ListOf):
            self._name(kind.item, f"{name}_item")
        if not isinstance(kind, OneOf) or kind in self._named:
            return
        own = self._named[kind] = self.names.claim(name)
        short = own.removeprefix(PREFIX)
        found: dict[str, Member] = {}
        for each in kind.types:
            self._name(each, f"{name}_{len(found) + 1}")
            # an object can hold itself in a switch, so that it is pointed to
            held = Maybe(each) if isinstance(each, ObjectOf) else each
            spelled = self.of(held)
            if spelled not in found:
                part = self._part(own, each)
                used = {known.name for known in found.values()}
                label = part if part not in used else f"{part}_{len(found) + 1}"
                found[spelled] = Member(held, self.names.constant(short, label), member(label))
        self.unions[own] = tuple(found.values())

    def _part(self, own: str, kind: Type) -> str:
        if isinstance(kind, ListOf):
            return f"{self._part(own, kind.item)}_list"
        if isinstance(kind, ObjectOf):
            return kind.unit.rpartition("::")[2]
        return self.of(kind).removesuffix("_t").removeprefix(PREFIX).replace(" ", "_").replace("*", "p")

    def of(self, kind: Type) -> str:
        """The type of a value as a struct has it; what may be null is pointed to, or can say so itself."""
        if isinstance(kind, Maybe):
            text = self.of(kind.of)
            return text if self.says_null(kind) else f"const {text} *"
        match kind:
            case Whole():
                return whole(kind)
            case Real(bits):
                return "float" if bits == 32 else "double"
            case EnumOf(_, number):
                return whole(number)
            case ObjectOf(unit):
                return self.names.type(unit)
            case ListOf(item):
                held = self.of(item)
                pointed = held.endswith("*")
                name = held.removeprefix("const ").rstrip(" *").removesuffix("_t").removeprefix(PREFIX)
                found = f"{PREFIX}{'maybe_' if pointed else ''}{name}_list"
                self.lists[found] = held
                return found
            case OneOf():
                return self._named[kind]
        return _PLAIN[kind]

    def says_null(self, kind: Type) -> bool:
        """Whether a null needs no pointer."""
        return isinstance(bare(kind), (ListOf, OneOf)) or bare(kind) in (TEXT, OCTETS, SECTION)

    def is_pointer(self, kind: Type) -> bool:
        return isinstance(kind, Maybe) and not self.says_null(kind)

    def members(self, kind: Type) -> tuple[Member, ...]:
        """The types of a switch."""
        return self.unions[self.of(bare(kind))]


def beyond(value: Value) -> bool:
    """Whether something in a value can be beyond what int64_t holds."""
    return any(isinstance(each.type, Whole) and each.type.wide for each in values_in(value))


def text(data: str | bytes) -> str:
    """A literal of a string."""
    shown = ""
    for byte in data.encode() if isinstance(data, str) else data:
        sign = chr(byte)
        shown += sign if " " <= sign <= "~" and sign not in '"\\?' else f"\\{byte:03o}"
    return f'"{shown}"'


def literal(value: object) -> str:
    """A constant."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, bytes)):
        size = len(value.encode() if isinstance(value, str) else value)
        return f"(kodec_bytes){{(const uint8_t *){text(value)}, {size}}}"
    if isinstance(value, int):
        if value == -(1 << 63):
            return "INT64_MIN"
        suffix = "" if -(1 << 31) < value < 1 << 31 else "INT64_C" if value < 1 << 63 else "UINT64_C"
        return f"{suffix}({value})" if suffix else repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"({'-' if value < 0 else ''}1.0 / 0.0)"
    raise TypeError(value)


def expression(value: Value, field: Callable[[str], str], item: str = "item", binds: int = 0) -> str:
    """A value: of a whole number an int64_t. `field` says how a field of the unit is spelled."""
    own, shown = _text(value, field, item)
    return shown if own >= binds else f"({shown})"


def _text(value: Value, field: Callable[[str], str], item: str) -> tuple[int, str]:
    def sub(part: Value, binds: int = 0) -> str:
        return expression(part, field, item, binds)

    match value:
        case Constant(found):
            return (_SIGN if isinstance(found, (int, float)) and found < 0 else _ATOM), literal(found)
        case MemberOf(of, name) if isinstance(of.type, Maybe) and is_number(value.type):
            held = _object(of, field, item)
            return _ATOM, f"({held} != NULL ? (int64_t){held}->{member(name)} : 0)"
        case FieldOf() | Peeked() | Item() | MemberOf():
            return _number(_object(value, field, item), value.type)
        case SizeOf(of):
            size = "size" if bare(of.type) == OCTETS else "count"
            return _SIGN, f"(int64_t){_object(of, field, item)}.{size}"
        case Number(of):
            return (_ATOM, f"({sub(of)} ? 1 : 0)") if of.type == FLAG else _text(of, field, item)
        case IsNull(of):
            return _BINDS["=="], is_null(of.type, _object(of, field, item))
        case Unary("not", of):
            return _SIGN, f"!{sub(of, _ATOM)}"
        case Unary(op, of):
            return _SIGN, f"{op}{sub(of, _ATOM)}"
        case Binary(op, left, right) if op in _CALLS:
            return _ATOM, f"{_CALLS[op]}({sub(left)}, {sub(right)})"
        case Binary(op, left, right) if bare(left.type) in (TEXT, OCTETS):
            both = f"{sub(left)}, {sub(right)}"
            if op in ("==", "!="):
                return _SIGN, f"{'!' if op == '!=' else ''}kd_same({both})"
            return _BINDS["<"], f"kd_compare({both}) {op} 0"
        case Binary(op, left, right):
            own = _BINDS[op]
            sides = [sub(left, own), sub(right, own + 1)]
            for at, side in enumerate((left, right)):
                if isinstance(side, Binary) and side.op in _ALONE and side.op != op and sides[at][0] != "(":
                    sides[at] = f"({sides[at]})"
            return own, f"{sides[0]} {_WORDS.get(op, op)} {sides[1]}"
        case Choose(test, yes, no):
            return _ATOM, f"({sub(test, 4)} ? {sub(yes, 4)} : {sub(no, 4)})"
    raise TypeError(value)


def is_null(kind: Type, place: str) -> str:
    """The test that a place of a type that may be null is."""
    kind = bare(kind)
    if isinstance(kind, OneOf):
        return f"{place}.kind == 0"
    if isinstance(kind, ListOf) or kind == SECTION:
        return f"{place}.items == NULL"
    return f"{place}.data == NULL" if kind in (TEXT, OCTETS) else f"{place} == NULL"


def _object(value: Value, field: Callable[[str], str], item: str) -> str:
    """A value as it is kept."""
    match value:
        case FieldOf(name) | Peeked(name=name):
            return field(name)
        case Item():
            return item
        case MemberOf(of, name):
            arrow = "->" if isinstance(of.type, Maybe) else "."
            return f"{_object(of, field, item)}{arrow}{member(name)}"
    raise TypeError(value)


def _number(place: str, kind: Type) -> tuple[int, str]:
    """What is kept as a narrower number as int64_t; a null as 0, which no condition asks for."""
    if isinstance(place, Computed):
        return _ATOM, place
    if isinstance(kind, Maybe) and (is_number(kind) or isinstance(kind.of, Real) or kind.of == FLAG):
        shown = f"*{place}" if not is_number(kind) else f"(int64_t)*{place}"
        return _ATOM, f"({place} != NULL ? {shown} : 0)"
    return (_SIGN, f"(int64_t){place}") if is_number(kind) else (_ATOM, place)
