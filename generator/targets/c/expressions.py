"""Types and values of the plan as C; whole numbers are computed as int64_t."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kodec.generator.plan.spelling import Computed, Precedence, Spelling
from kodec.generator.plan.steps import Program
from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OBJECT,
    OCTETS,
    SECTION,
    STREAM,
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
from kodec.generator.targets.c.names import PREFIX, Names, member

__all__ = ["Expressions", "Member", "Types", "is_null", "literal", "text", "whole"]

_PLAIN = {
    FLAG: "bool",
    TEXT: "kodec_bytes",
    OCTETS: "kodec_bytes",
    IDENTITY: "kodec_uuid",
    SECTION: "kodec_tags",
    STREAM: "kodec_stream *",
    OBJECT: "kodec_object *",
}


@dataclass(frozen=True, slots=True)
class Member:
    """One type of a union: its number, its constant, and its member."""

    type: Type
    constant: str
    name: str


def whole(kind: Whole) -> str:
    """The narrowest type that holds a range."""
    signed, bits = narrowest(kind)
    return f"{'' if signed else 'u'}int{bits}_t"


class Types:
    """The C types of values, and the lists and unions among them.

    Args: streamed are the units whose objects are read from streams; there are only pointers to these.
    """

    def __init__(self, names: Names, program: Program, streamed: Collection[str] = ()) -> None:
        self.names = names
        self.streamed = streamed
        self._is_streamed = False
        self.lists: dict[str, str] = {}
        """The type of a list's elements, by the list's."""
        self.unions: dict[str, tuple[Member, ...]] = {}
        self._named: dict[OneOf, str] = {}
        self.conversions: dict[str, tuple[Type, Type]] = {}
        """Functions that return a value of one type as one of another, each of several types or an object."""
        for unit in program.units.values():
            self.add(unit.name, ((spec.name, spec.type) for spec in unit.fields))
            for each in unit.parameters:
                self.of(each.type)

    def add(self, unit: str, members: Iterable[tuple[str, Type]]) -> None:
        """The types of a unit's members."""
        self._is_streamed = unit in self.streamed
        for name, kind in members:
            self._name(kind, f"{self.names.type(unit)}_{name}".removeprefix(PREFIX))
            self.of(kind)

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
            spelled = self.key(held)
            if spelled not in found:
                part = self._part(own, each)
                used = {known.name for known in found.values()}
                label = part if part not in used else f"{part}_{len(found) + 1}"
                found[spelled] = Member(held, self.names.constant(short, label), member(label))
        self.unions[own] = tuple(found.values())

    def key(self, kind: Type) -> str:
        """What distinguishes the types of a switch: of streamed units also whether bytes are text."""
        return "kodec_text" if self._is_streamed and kind == TEXT else self.of(kind)

    def _part(self, own: str, kind: Type) -> str:
        if isinstance(kind, ListOf):
            return f"{self._part(own, kind.item)}_list"
        if isinstance(kind, ObjectOf):
            return kind.unit.rpartition("::")[2]
        return self.key(kind).removesuffix("_t").removeprefix(PREFIX).replace(" ", "_").replace("*", "p")

    def of(self, kind: Type) -> str:
        """The type of a value in a struct; a value that may be null is a pointer, or has a null of its
        own."""
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
                return f"{self.names.type(unit)}{' *' if unit in self.streamed else ''}"
            case ListOf(item):
                held = self.of(item)
                pointed = self.is_pointer(item)
                name = held.removeprefix("const ").rstrip(" *").removesuffix("_t").removeprefix(PREFIX)
                found = f"{PREFIX}{'maybe_' if pointed else ''}{name}_list"
                self.lists[found] = held
                return found
            case OneOf():
                if kind not in self._named:
                    self._name(kind, "value")
                return self._named[kind]
        return _PLAIN[kind]

    def says_null(self, kind: Type) -> bool:
        """Whether a null needs no pointer."""
        kind = bare(kind)
        if isinstance(kind, ObjectOf):
            return kind.unit in self.streamed
        return isinstance(kind, (ListOf, OneOf)) or kind in (TEXT, OCTETS, SECTION, STREAM, OBJECT)

    def is_pointer(self, kind: Type) -> bool:
        return isinstance(kind, Maybe) and not self.says_null(kind)

    def part(self, kind: OneOf, held: Type) -> Member | None:
        """The member of a switch for a type."""
        held = Maybe(held) if isinstance(held, ObjectOf) else held
        found = [each for each in self.members(kind) if self.of(each.type) == self.of(held)]
        return next(
            (each for each in found if (each.type == TEXT) == (held == TEXT)), found[0] if found else None
        )

    def conversion(self, have: Type, want: Type, value: str) -> str:
        """A value as one of another type that may have it."""
        names = (self.of(each).removeprefix(PREFIX).removesuffix(" *") for each in (want, have))
        call = "ks_{}_of_{}".format(*names)
        self.conversions[call] = have, want
        return f"{call}({value})"

    def converted(self) -> Iterator[dict[str, Any]]:
        """The functions of `conversions`: name, types, and (test, result) of each case."""
        for call, (have, want) in self.conversions.items():
            cases = []
            if isinstance(have, OneOf):
                for each in self.members(have):
                    place = f"v.as.{each.name}"
                    if not isinstance(want, OneOf):
                        if isinstance(bare(each.type), ObjectOf):
                            cases.append((each.constant, f"(kodec_object *){place}"))
                    elif (part := self.part(want, bare(each.type))) is not None:
                        cases.append((each.constant, self.held_in(want, part, place)))
            else:
                assert isinstance(want, OneOf)
                for part in self.members(want):
                    kind = bare(part.type)
                    if isinstance(kind, ObjectOf):
                        place = f"({self.of(kind)})v"
                        cases.append((self.names.kind(kind.unit), self.held_in(want, part, place)))
            yield {
                "name": call,
                "have": self.of(have),
                "want": self.of(want),
                "cases": cases,
                "on": "v.kind" if isinstance(have, OneOf) else "v == NULL ? 0 : v->type",
                "none": f"({self.of(want)}){{0}}" if isinstance(want, OneOf) else "NULL",
            }

    def held_in(self, kind: OneOf, part: Member, value: str) -> str:
        """A value as a member of a switch."""
        return f"({self.of(kind)}){{.kind = {part.constant}, .as = {{.{part.name} = {value}}}}}"

    def members(self, kind: Type) -> tuple[Member, ...]:
        """The types of a switch."""
        return self.unions[self.of(bare(kind))]


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


def is_null(kind: Type, place: str) -> str:
    """The test that a place of a type that may be null is."""
    kind = bare(kind)
    if isinstance(kind, OneOf):
        return f"{place}.kind == 0"
    if isinstance(kind, ListOf) or kind == SECTION:
        return f"{place}.items == NULL"
    return f"{place}.data == NULL" if kind in (TEXT, OCTETS) else f"{place} == NULL"


class Expressions(Spelling):
    """Values of one unit: of a whole number an int64_t."""

    binds = Precedence("or", "and", "== != < <= > >=", "+ - | ^ &", "*")
    calls: ClassVar[Mapping[str, str]] = {
        "/": "kd_floor_div",
        "%": "kd_floor_mod",
        "<<": "kd_left",
        ">>": "kd_right",
    }
    # in C a comparison binds tighter than these
    apart = frozenset(("|", "^", "&", "or", "and"))

    def constant(self, value: Constant) -> str:
        return literal(value.value)

    def member(self, of: Value, name: str) -> str:
        return f"{'->' if isinstance(of.type, Maybe) else '.'}{member(name)}"

    def kept(self, value: FieldOf | Peeked | Item | MemberOf) -> tuple[int, str]:
        """A number stored in a narrower type, as int64_t; null as 0, which no condition uses."""
        place, kind = self.place(value), value.type
        if isinstance(value, MemberOf) and isinstance(value.of.type, Maybe) and is_number(kind):
            return self.binds.atom, f"({self.place(value.of)} != NULL ? (int64_t){place} : 0)"
        if isinstance(place, Computed):
            return self.binds.atom, place
        if isinstance(kind, Maybe) and (is_number(kind) or isinstance(kind.of, Real) or kind.of == FLAG):
            shown = f"(int64_t)*{place}" if is_number(kind) else f"*{place}"
            return self.binds.atom, f"({place} != NULL ? {shown} : 0)"
        return (self.binds.sign, f"(int64_t){place}") if is_number(kind) else (self.binds.atom, place)

    def size(self, of: Value) -> tuple[int, str]:
        size = "size" if bare(of.type) == OCTETS else "count"
        return self.binds.sign, f"(int64_t){self.place(of)}.{size}"

    def of_flag(self, of: Value) -> tuple[int, str]:
        return self.binds.atom, f"({self(of)} ? 1 : 0)"

    def is_null(self, of: Value) -> tuple[int, str]:
        return self.binds["=="], is_null(of.type, self.place(of))

    def binary(self, value: Binary) -> tuple[int, str]:
        if bare(value.left.type) not in (TEXT, OCTETS):
            return super().binary(value)
        both = f"{self(value.left)}, {self(value.right)}"
        if value.op in ("==", "!="):
            return self.binds.sign, f"{'!' if value.op == '!=' else ''}kd_same({both})"
        return self.binds["<"], f"kd_compare({both}) {value.op} 0"

    def choice(self, value: Choose) -> tuple[int, str]:
        test, yes, no = (self(each, self.binds["=="]) for each in (value.test, value.yes, value.no))
        return self.binds.atom, f"({test} ? {yes} : {no})"
