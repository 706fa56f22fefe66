"""Types and values of the plan as Go; whole numbers are computed as int64."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from kodec.generator.plan.spelling import Computed, Precedence, Spelling
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
    is_number,
    narrowest,
)
from kodec.generator.targets.go.names import Names, exported
from kodec.generator.wire import WIRE

__all__ = ["ORDER", "Expressions", "Types", "literal", "load", "whole"]

ORDER = {"be": "binary.BigEndian", "le": "binary.LittleEndian", "": "binary.BigEndian", "by": "x.byteOrder()"}
_KEPT = (FieldOf, Peeked, Item, MemberOf)
_PLAIN = {FLAG: "bool", TEXT: "string", OCTETS: "[]byte", IDENTITY: "UUID", SECTION: "[]RawTag"}


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


def load(wire: str, order: str, x: str, offset: int = 0) -> str:
    """The value of a wire type in the bytes of `x`."""
    form = WIRE[wire]
    at, bits = f"{x}[{offset}:]" if offset else x, 8 * form.least
    if form.kind == "UUID":
        return f"UUID({at})"
    raw = f"{x}[{offset}]" if bits == 8 else f"{ORDER[order]}.Uint{bits}({at})"
    if form.kind == "boolean":
        return f"{raw} != 0"
    if form.kind == "float":
        return f"math.Float{bits}frombits({raw})"
    return f"int{bits}({raw})" if form.signed else raw


def _fits(other: Value, kind: Type) -> bool:
    """Whether a value is a constant that a number of a type can be compared with as it is."""
    if not (isinstance(kind, Whole) and isinstance(other, Constant) and isinstance(other.value, int)):
        return False
    low, high = min(kind.low, other.value), max(kind.high, other.value)
    return narrowest(kind) == narrowest(Whole(low, high))


@dataclass(frozen=True, kw_only=True)
class Expressions(Spelling):
    """Values of one unit: of a whole number an int64.

    Attributes:
        depth: how deep an expression is in others, by which gofmt decides where space is; 2 for an argument
            among several.
    """

    binds = Precedence("or", "and", "== != < <= > >=", "+ - | ^", "* & << >>")
    words: ClassVar[Mapping[str, str]] = {**Spelling.words, "~": "^"}
    calls: ClassVar[Mapping[str, str]] = {"/": "floorDiv", "%": "floorMod"}

    depth: int = 1

    def __call__(self, value: Value, binds: int = 0) -> str:
        own, text = self.spelled(value)
        return text if own >= binds else f"({replace(self, depth=max(self.depth - 1, 1)).spelled(value)[1]})"

    def constant(self, value: Constant) -> str:
        return literal(value.value)

    def member(self, of: Value, name: str) -> str:
        return f".{exported(name)}"

    def kept(self, value: FieldOf | Peeked | Item | MemberOf) -> tuple[int, str]:
        """A number stored in a narrower type, as int64."""
        place, kind = self.place(value), value.type
        if is_number(kind) and not isinstance(place, Computed):
            place = f"int64({'*' if isinstance(kind, Maybe) else ''}{place})"
        return self.binds.atom, place

    def size(self, of: Value) -> tuple[int, str]:
        return self.binds.atom, f"int64(len({self.place(of)}))"

    def of_flag(self, of: Value) -> tuple[int, str]:
        return self.binds.atom, f"pick[int64]({self(of)}, 1, 0)"

    def is_null(self, of: Value) -> tuple[int, str]:
        return self.binds["=="], f"{self.place(of)} == nil"

    def operator(self, of: Binary) -> str:
        """gofmt leaves no space around sums and products inside others, nor around products beside sums."""
        found = super().operator(of)
        levels = set(self._levels(of))
        mixed = {self.binds["+"], self.binds["*"]} <= levels
        spaced = self.binds["=="] if self.depth > 1 else self.binds["+"] if mixed else self.binds["*"]
        return found if self.binds[of.op] <= spaced else found.strip()

    def _levels(self, of: Binary) -> Iterator[int]:
        """How tightly the operators bind that are in an operation without parentheses."""
        own = self.binds[of.op]
        yield own
        for part, least in ((of.left, own), (of.right, own + 1)):
            if isinstance(part, Binary) and self.binds.get(part.op, 0) >= least:
                yield from self._levels(part)

    def side(self, part: Value, of: Binary, binds: int) -> str:
        own, other = self.binds[of.op], of.left if part is of.right else of.right
        if own == self.binds.compared and isinstance(part, _KEPT) and _fits(other, part.type):
            return self.place(part)
        chained = binds == own and isinstance(part, Binary) and self.binds.get(part.op) == own
        return replace(self, depth=self.depth + (not chained))(part, self.beside(part, of, binds))

    def argument(self, part: Value, of: Binary) -> str:
        return replace(self, depth=self.depth + 1)(part)

    def choice(self, value: Choose) -> tuple[int, str]:
        kind = "[int64]" if isinstance(value.type, Whole) else ""
        parts = map(replace(self, depth=self.depth + 1), (value.test, value.yes, value.no))
        return self.binds.atom, f"pick{kind}({', '.join(parts)})"
