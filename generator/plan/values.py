"""Typed expressions of a plan: every name is bound, every operation knows what it gives.

A whole number has a range instead of a width. Where the range of an operation is wider than what a language
computes in, its printer has to guard the operation; `wide` says whether 64 bits are enough.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from kodec.generator.schema.versions import VersionRange

__all__ = [
    "FLAG",
    "IDENTITY",
    "OCTETS",
    "SECTION",
    "TEXT",
    "Binary",
    "Choose",
    "Constant",
    "EnumOf",
    "FieldOf",
    "IsNull",
    "Item",
    "ListOf",
    "Maybe",
    "MemberOf",
    "Named",
    "Number",
    "ObjectOf",
    "OneOf",
    "Peeked",
    "Real",
    "SizeOf",
    "Type",
    "Unary",
    "Value",
    "Whole",
    "arithmetic",
    "in_versions",
    "known",
    "names_in",
    "rebuilt",
    "text_of",
    "values_in",
]

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_ENDLESS = 1 << 128


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` to `high`."""

    low: int
    high: int

    @property
    def wide(self) -> bool:
        """Whether signed 64 bits cannot hold all of it."""
        return self.low < _LEAST or self.high > _MOST


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point number of `bits` bits."""

    bits: int


@dataclass(frozen=True, slots=True)
class Named:
    """A type without parameters: a flag, text, bytes, a UUID, a section of unknown tagged fields."""

    name: str


@dataclass(frozen=True, slots=True)
class EnumOf:
    """A number with names for some of its values; `enum` is the full name."""

    enum: str
    number: Whole


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object of a unit, by its full name."""

    unit: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """Several of a type, in order."""

    item: Type


@dataclass(frozen=True, slots=True)
class OneOf:
    """What a switch gives: one of several types."""

    types: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Maybe:
    """A type, or null."""

    of: Type


Type = Whole | Real | Named | EnumOf | ObjectOf | ListOf | OneOf | Maybe
FLAG, TEXT, OCTETS, IDENTITY = Named("flag"), Named("text"), Named("octets"), Named("identity")
SECTION = Named("section")


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; None is null."""

    value: int | float | bool | str | bytes | None
    type: Type


@dataclass(frozen=True, slots=True)
class FieldOf:
    """A field or a parameter of the unit itself."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Peeked:
    """A number `offset` bytes after the start of the unit, which is looked at before anything is read."""

    name: str
    offset: int
    wire: str
    order: str
    type: Type


@dataclass(frozen=True, slots=True)
class Item:
    """The element of a list, or the value that a rule speaks of."""

    type: Type


@dataclass(frozen=True, slots=True)
class MemberOf:
    """A field of another object."""

    of: Value
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class SizeOf:
    """The number of elements, bytes or characters."""

    of: Value
    type: Whole


@dataclass(frozen=True, slots=True)
class Number:
    """A flag or a member of an enum as a number, a text of decimal digits as one."""

    of: Value
    type: Whole


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether there is no value."""

    of: Value
    type: Type = FLAG


@dataclass(frozen=True, slots=True)
class Unary:
    """`not`, `-` or `~`."""

    op: str
    of: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right`; `/` rounds down, and `%` has the sign of the right side."""

    op: str
    left: Value
    right: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Choose:
    """`yes` where the test holds, else `no`; the other one is not computed."""

    test: Value
    yes: Value
    no: Value
    type: Type


Value = Constant | FieldOf | Peeked | Item | MemberOf | SizeOf | Number | IsNull | Unary | Binary | Choose

_VALUES = get_args(Value)

_CORNERS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def arithmetic(op: str, left: Whole, right: Whole) -> Whole:
    """The range of an operation on whole numbers."""
    if op in _CORNERS:
        return _between(_CORNERS[op](a, b) for a in (left.low, left.high) for b in (right.low, right.high))
    most = max(abs(left.low), abs(left.high))
    match op:
        case "/":
            return Whole(-most if left.low < 0 or right.low < 0 else 0, most)
        case "%":
            return Whole(min(right.low + 1, 0), max(right.high - 1, 0))
        case "<<":
            shift = min(max(right.high, 0), 128)
            return _between((left.low << shift, left.high << shift, left.low, left.high))
        case ">>":
            return _between((left.low, left.high, 0))
        case "&" if left.low >= 0 or right.low >= 0:
            return Whole(0, min(each.high for each in (left, right) if each.low >= 0))
        case "&" | "|" | "^":
            bits = max(each.bit_length() for side in (left, right) for each in (side.low, side.high))
            return Whole(-(1 << bits) if left.low < 0 or right.low < 0 else 0, (1 << bits) - 1)
    raise ValueError(op)


def _between(ends: Iterable[int]) -> Whole:
    found = [max(-_ENDLESS, min(each, _ENDLESS)) for each in ends]
    return Whole(min(found), max(found))


def in_versions(version: Value, versions: VersionRange) -> Value:
    """Whether a version is one of these."""
    assert isinstance(version.type, Whole)

    def compared(op: str, bound: int) -> Value:
        return Binary(op, version, Constant(bound, Whole(bound, bound)), FLAG)

    if not versions:
        return Constant(False, FLAG)
    first, last = versions.first, versions.last
    if first == last:
        return compared("==", first)
    tests = [compared(">=", first)] if first > version.type.low else []
    tests += [compared("<=", last)] if last < version.type.high else []
    if not tests:
        return Constant(True, FLAG)
    return tests[0] if len(tests) == 1 else Binary("and", tests[0], tests[1], FLAG)


def values_in(value: Value) -> Iterable[Value]:
    """A value and all that it is made of."""
    yield value
    match value:
        case MemberOf(of=of) | SizeOf(of=of) | Number(of=of) | IsNull(of=of) | Unary(of=of):
            yield from values_in(of)
        case Binary(left=left, right=right):
            yield from values_in(left)
            yield from values_in(right)
        case Choose(test=test, yes=yes, no=no):
            for each in (test, yes, no):
                yield from values_in(each)


def names_in(value: Value | None) -> set[str]:
    """The fields and parameters that a value names."""
    return set() if value is None else {each.name for each in values_in(value) if isinstance(each, FieldOf)}


def rebuilt(value: Value, change: Callable[[Value], Value]) -> Value:
    """The same with the values that it is made of changed."""
    parts: dict[str, Any] = {
        each.name: change(part)
        for each in dataclasses.fields(value)
        if isinstance(part := getattr(value, each.name), _VALUES)
    }
    return dataclasses.replace(value, **parts) if parts else value


def known(value: Value, names: Mapping[str, int | bool]) -> Value:
    """A value where some fields and parameters are known; what follows from them is a constant."""
    match value:
        case FieldOf(name) if name in names:
            return _constant(names[name])
        case Unary("not", of):
            inner = known(of, names)
            return (
                Constant(not inner.value, FLAG) if isinstance(inner, Constant) else Unary("not", inner, FLAG)
            )
        case Choose(test, yes, no, kind):
            chosen = known(test, names)
            if isinstance(chosen, Constant):
                return known(yes if chosen.value else no, names)
            return Choose(chosen, known(yes, names), known(no, names), kind)
        case Binary(op, left, right, kind):
            first, second = known(left, names), known(right, names)
            if op in ("and", "or"):
                for one, other in ((first, second), (second, first)):
                    if isinstance(one, Constant):
                        return other if bool(one.value) == (op == "and") else one
            elif op in _DECIDED and isinstance(first, Constant) and isinstance(second, Constant):
                return _constant(_DECIDED[op](first.value, second.value))
            return Binary(op, first, second, kind)
    return value


def _constant(value: int | bool) -> Constant:
    return Constant(value, FLAG if isinstance(value, bool) else Whole(value, value))


_DECIDED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
}


_LOOSEST = (("or",), ("and",), ("==", "!=", "<", "<=", ">", ">="), ("|",), ("^",), ("&",))
_BINDS = {
    op: level
    for level, ops in enumerate((*_LOOSEST, ("<<", ">>"), ("+", "-"), ("*", "/", "%")))
    for op in ops
}


def text_of(value: Value, binds: int = -1) -> str:
    """A value as an error message has it."""
    match value:
        case Constant(found):
            return repr(found)
        case FieldOf(name) | Peeked(name=name):
            return name
        case MemberOf(of, name):
            return f"{text_of(of, 9)}.{name}"
        case SizeOf(of):
            return f"len({text_of(of)})"
        case Number(of):
            return f"int({text_of(of)})"
        case Unary(op, of):
            return f"{op} {text_of(of, 3)}" if op == "not" else f"{op}{text_of(of, 9)}"
        case Binary(op, left, right):
            own = _BINDS[op]
            text = f"{text_of(left, own)} {'//' if op == '/' else op} {text_of(right, own + 1)}"
            return text if own >= binds else f"({text})"
        case Choose(test, yes, no):
            text = f"{text_of(yes, 0)} if {text_of(test, 0)} else {text_of(no)}"
            return text if binds < 0 else f"({text})"
    return "null"
