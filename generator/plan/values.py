"""Typed expressions of a plan: every name is bound, every operation knows what it gives.

A whole number has a range instead of a width. Where the range of an operation is wider than what a language
computes in, its printer has to guard the operation; `wide` shows whether 64 bits are enough.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, get_args

from kodec.generator.parts import fields_of
from kodec.generator.schema.versions import VersionRange

__all__ = [
    "ANY",
    "COMPARISONS",
    "FLAG",
    "IDENTITY",
    "MISSING",
    "OBJECT",
    "OCTETS",
    "OPPOSITE",
    "SECTION",
    "STREAM",
    "TEXT",
    "UNBOUNDED",
    "Around",
    "Binary",
    "Cast",
    "Choose",
    "Computed",
    "Constant",
    "Counter",
    "Decoded",
    "Digits",
    "EdgeOf",
    "ElementOf",
    "EnumOf",
    "Enumerated",
    "FieldOf",
    "Grouped",
    "IsNull",
    "Item",
    "ListOf",
    "Listed",
    "Maybe",
    "MemberOf",
    "Named",
    "Number",
    "ObjectOf",
    "OneOf",
    "Peeked",
    "Real",
    "Required",
    "Reversed",
    "Shown",
    "SizeOf",
    "StreamAsked",
    "StreamOf",
    "Substring",
    "This",
    "Type",
    "Unary",
    "Value",
    "Whole",
    "any_of",
    "arithmetic",
    "bare",
    "exceeds_64_bits",
    "in_versions",
    "is_number",
    "known",
    "names_in",
    "narrowest",
    "opposite_of",
    "parts_of",
    "rebuilt",
    "replaced",
    "scalar",
    "text_of",
    "values_in",
    "whole_of",
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
# of streamed schemas: a stream, an object of which nothing more is known, a value of which nothing is
STREAM, OBJECT, ANY = Named("stream"), Named("object"), Named("any")
MISSING = "an expression needs it, and it is not there"
"""The text of an error about a value that an expression needs."""
UNBOUNDED = Whole(-_ENDLESS, _ENDLESS)
"""A whole number of which no bound is known."""


def bare(kind: Type) -> Type:
    """A type without null."""
    return kind.of if isinstance(kind, Maybe) else kind


def scalar(kind: Type) -> Type:
    """A type without null, and of an enum its number."""
    kind = bare(kind)
    return kind.number if isinstance(kind, EnumOf) else kind


def whole_of(kind: Type) -> Whole | None:
    """The range of a type whose values are whole numbers."""
    found = scalar(kind)
    return found if isinstance(found, Whole) else None


def is_number(kind: Type) -> bool:
    """Whether values of a type are whole numbers."""
    return whole_of(kind) is not None


def narrowest(kind: Whole) -> tuple[bool, int]:
    """(signed, bits) of the narrowest integer that holds a range; of a signed 64-bit one where none does."""
    signed = kind.low < 0
    for bits in (8, 16, 32, 64):
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if low <= kind.low and kind.high <= high:
            return signed, bits
    return True, 64


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; None is null."""

    value: int | float | bool | str | bytes | None
    type: Type


@dataclass(frozen=True, slots=True)
class FieldOf:
    """A field, a parameter or an instance of the unit itself."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Peeked:
    """A number `offset` bytes after the start of the unit, which is checked before anything is read."""

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
class Counter:
    """The number of the element of a list that is being read, from 0; 0 outside of lists."""

    type: Whole = Whole(0, _MOST)


@dataclass(frozen=True, slots=True)
class This:
    """The object itself."""

    type: Type


@dataclass(frozen=True, slots=True)
class Around:
    """The `parent` or the `root` of an object; `of` is None for the object itself."""

    of: Value | None
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class StreamOf:
    """The stream that an object was read from; `of` is None for the object itself.

    `at_hand` says that it is the one that is read or written where the value stands.
    """

    of: Value | None
    at_hand: bool = False
    type: Type = STREAM


@dataclass(frozen=True, slots=True)
class StreamAsked:
    """What a stream is asked for: `pos`, `size` (both in bytes) or `eof`."""

    of: Value
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Required:
    """A value that must not be missing, or an error that names it.

    Attributes:
        reading: it can be missing only while the object is read: a field that was not read yet.
        argument: it is given to a type.
    """

    of: Value
    name: str
    reading: bool
    argument: bool
    type: Type

    @property
    def reason(self) -> str:
        return "an argument is not there" if self.argument else MISSING


@dataclass(frozen=True, slots=True)
class MemberOf:
    """A field, a parameter or an instance of another object."""

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
    """A flag, a member of an enum or a real number (without its fraction) as a number, or a text of digits.

    Digits are decimal, or to `base`. Fails for other text, and for a real number that is none.
    """

    of: Value
    type: Whole
    base: Value | None = None


@dataclass(frozen=True, slots=True)
class Enumerated:
    """A number as a member of an enum, where it has a name there."""

    of: Value
    type: EnumOf


@dataclass(frozen=True, slots=True)
class Shown:
    """A number as decimal text; text stays what it is."""

    of: Value
    type: Type = TEXT


@dataclass(frozen=True, slots=True)
class Decoded:
    """Bytes as text; `encoding` is a name of `wire.ENCODINGS`. Fails for bytes that are none."""

    of: Value
    encoding: str
    type: Type = TEXT


@dataclass(frozen=True, slots=True)
class Digits:
    """A number as text of digits to `base`, in as many characters as the text `like` has."""

    of: Value
    base: int
    like: Value
    type: Type = TEXT


@dataclass(frozen=True, slots=True)
class Grouped:
    """A number as a list of objects of `unit`: of each the field `number` has `bits` bits of it, and `flag`
    is true if another one follows. The instance `member` of what has the list gives the number back, which
    decides the order.
    """

    of: Value
    unit: str
    flag: str
    number: str
    bits: int
    list: str
    member: str
    type: Type


@dataclass(frozen=True, slots=True)
class Computed:
    """What a `-derive` computes: `function` of the bytes from the start of `first` to the end of `last`.

    These are fields or instances of `of` (the object itself, if None).

    Attributes:
        function: length_of, count_of, position_of, or the name of a checksum.
        own: the field that is derived, whose bytes count as `byte` where they are among them.
        unpack: how the bytes are decompressed first; empty where they are not.
        where: `first` is a list, and this is the condition for its `Item`.
    """

    function: str
    of: Value | None
    first: str
    last: str
    own: str
    byte: int | None
    unpack: str
    type: Type
    where: Value | None = None


@dataclass(frozen=True, slots=True)
class Reversed:
    """A text from its end to its start."""

    of: Value
    type: Type = TEXT


@dataclass(frozen=True, slots=True)
class Substring:
    """The characters from `start` to before `stop`."""

    of: Value
    start: Value
    stop: Value
    type: Type = TEXT


@dataclass(frozen=True, slots=True)
class Listed:
    """Bytes, or a list, of these values."""

    items: tuple[Value, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class ElementOf:
    """An element of a list or of bytes. Fails if there is none at that index."""

    of: Value
    at: Value
    type: Type


@dataclass(frozen=True, slots=True)
class EdgeOf:
    """The `last`, `min` or `max` of a list or of bytes. Fails where they are empty."""

    of: Value
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    """A value as one of `type`; fails if it is not one. Errors call it `name`."""

    of: Value
    name: str
    type: Type


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
    """`left op right`; `/` of whole numbers rounds down, and `%` has the sign of the right side.

    In streamed schemas `/` and `%` fail for 0, shifts for more than 128 bits; a negative shift is one to the
    other side. `fails` shows whether that is to be looked at.
    """

    op: str
    left: Value
    right: Value
    type: Type

    @property
    def fails(self) -> bool:
        """Whether the right side is unknown to be one that the operation has a result for."""
        if self.op not in ("/", "%", "<<", ">>"):
            return False
        right = self.right.value if isinstance(self.right, Constant) else None
        if isinstance(self.right.type, Whole) and self.right.type.low == self.right.type.high:
            right = self.right.type.low
        if self.op in ("/", "%"):
            return not right
        return not (isinstance(right, int) and 0 <= right <= 64)


@dataclass(frozen=True, slots=True)
class Choose:
    """`yes` where the test holds, else `no`; the other one is not computed."""

    test: Value
    yes: Value
    no: Value
    type: Type


Value = (
    Constant
    | FieldOf
    | Peeked
    | Item
    | Counter
    | This
    | Around
    | StreamOf
    | StreamAsked
    | Required
    | MemberOf
    | SizeOf
    | Number
    | Enumerated
    | Shown
    | Decoded
    | Digits
    | Grouped
    | Computed
    | Reversed
    | Substring
    | Listed
    | ElementOf
    | EdgeOf
    | Cast
    | IsNull
    | Unary
    | Binary
    | Choose
)

_VALUES = get_args(Value)

_CORNERS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
_EXACT: dict[str, Callable[[int, int], int]] = {
    "/": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def arithmetic(op: str, left: Whole, right: Whole) -> Whole:
    """The range of an operation on whole numbers."""
    if op in _CORNERS:
        return _between(_CORNERS[op](a, b) for a in (left.low, left.high) for b in (right.low, right.high))
    most = max(abs(left.low), abs(left.high))
    exact = op in _EXACT and left.low == left.high and right.low == right.high
    if exact and (0 if op in ("<<", ">>") else 1) <= right.low <= 128:
        return _between((_EXACT[op](left.low, right.low),))
    match op:
        case "/":
            return Whole(-most if left.low < 0 or right.low < 0 else 0, most)
        case "%":
            return Whole(min(right.low + 1, 0), max(right.high - 1, 0))
        case "<<" | ">>":
            # a negative shift is one to the other side
            ahead, back = (right.high, -right.low) if op == "<<" else (-right.low, right.high)
            shift = min(max(ahead, 0), 128)
            ends = left.low << shift, left.high << shift, left.low, left.high
            return _between((*ends, 0) if back > 0 else ends)
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


OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
COMPARISONS = frozenset(OPPOSITE)


def opposite_of(test: Value) -> Value | None:
    """What holds just where a test does not, in as many words; None if that takes a `not`."""
    match test:
        case Unary("not", of):
            return of
        case Binary(op, left, right) if op in ("==", "!=") or (
            # NaN is neither at least nor at most anything
            op in COMPARISONS and not any(isinstance(bare(each.type), Real) for each in (left, right))
        ):
            return Binary(OPPOSITE[op], left, right, FLAG)
    return None


def parts_of(value: Value) -> Iterator[tuple[str, Value | tuple[Value, ...]]]:
    """What a value is directly made of, by the names of its attributes."""
    for name in fields_of(type(value)) or ():
        found = getattr(value, name)
        if isinstance(found, _VALUES) or (
            isinstance(found, tuple) and found and isinstance(found[0], _VALUES)
        ):
            yield name, found


def values_in(value: Value) -> Iterable[Value]:
    """A value and all that it is made of."""
    yield value
    for _, part in parts_of(value):
        for each in part if isinstance(part, tuple) else (part,):
            yield from values_in(each)


def exceeds_64_bits(value: Value) -> bool:
    """Whether something in a value can be beyond what a signed integer of 64 bits holds."""
    return any(isinstance(each.type, Whole) and each.type.wide for each in values_in(value))


def names_in(value: Value | None) -> set[str]:
    """The fields and parameters that a value names."""
    return set() if value is None else {each.name for each in values_in(value) if isinstance(each, FieldOf)}


def rebuilt(value: Value, change: Callable[[Value], Value]) -> Value:
    """The same with the values that it is made of changed."""
    parts: dict[str, Any] = {
        name: tuple(map(change, part)) if isinstance(part, tuple) else change(part)
        for name, part in parts_of(value)
    }
    return dataclasses.replace(value, **parts) if parts else value


def replaced(value: Value, swap: Callable[[Value], Value | None]) -> Value:
    """A copy in which each part for which `swap` gives a value is exchanged, outermost first."""
    new = swap(value)
    return rebuilt(value, lambda part: replaced(part, swap)) if new is None else new


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


_MOST_CHAINED = 32


def any_of(tests: Sequence[Value]) -> Value:
    """The test that any holds. Compilers limit how deep expressions nest, so that many nest in halves."""
    if len(tests) > _MOST_CHAINED:
        half = len(tests) // 2
        return Binary("or", any_of(tests[:half]), any_of(tests[half:]), FLAG)
    return reduce(lambda one, two: Binary("or", one, two, FLAG), tests) if tests else Constant(False, FLAG)


def text_of(value: Value, binds: int = -1) -> str:
    """A value as an error message has it."""
    match value:
        case Constant(found):
            return repr(found)
        case FieldOf(name) | Peeked(name=name):
            return name
        case MemberOf(of, name) | StreamAsked(of, name) | EdgeOf(of, name):
            return f"{text_of(of, 9)}.{name}"
        case Around(of, name):
            return f"_{name}" if of is None else f"{text_of(of, 9)}._{name}"
        case StreamOf(of):
            return "_io" if of is None else f"{text_of(of, 9)}._io"
        case Item():
            return "_"
        case Counter():
            return "_index"
        case Required(of) | Cast(of) | Enumerated(of) | Shown(of) | Decoded(of) | Reversed(of):
            return text_of(of, binds)
        case ElementOf(of, at):
            return f"{text_of(of, 9)}[{text_of(at)}]"
        case Digits(of) | Grouped(of):
            return text_of(of, binds)
        case Computed(function, of, first, last):
            owner = "" if of is None else f"{text_of(of, 9)}."
            return f"{function}({owner}{first}{'' if first == last else f'..{last}'})"
        case Listed(items):
            return f"[{', '.join(map(text_of, items))}]"
        case Substring(of, start, stop):
            return f"{text_of(of, 9)}.substring({text_of(start)}, {text_of(stop)})"
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
