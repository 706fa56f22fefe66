"""Code in the types of languages: statements and typed operations that a target only has to spell.

Statements of `ir` have values of the plan, which a machine computes with as they are. Here each value has the
type in which a static language keeps it, and `convert` stands wherever one becomes another: `typed_read.py`
makes one of the other. A target prints it (`printing.py`), and has a runtime with the functions of `call`.

Whole numbers are computed in 64 bits: signed ones fail where they do not fit. Numbers are stored in the type
of their field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kodec.generator.parts import fields_of
from kodec.generator.plan.steps import Unit
from kodec.generator.plan.values import (
    FLAG,
    OBJECT,
    OPPOSITE,
    TEXT,
    EnumOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Real,
    Type,
    Whole,
    bare,
)

__all__ = [
    "LONG",
    "REAL",
    "ULONG",
    "Code",
    "Do",
    "Each",
    "If",
    "InstanceCode",
    "Lacking",
    "Let",
    "Set",
    "Statement",
    "UnitCode",
    "codes_in",
    "is_number",
    "is_reference",
    "is_scalar",
    "opposite",
    "stored",
]

LONG, ULONG, REAL = Whole(-(1 << 63), (1 << 63) - 1), Whole(0, (1 << 64) - 1), Real(64)


class Lacking(Exception):
    """A construct that has no typed code; its text names it."""


@dataclass(frozen=True, slots=True)
class Code:
    """An operation that gives a value of `type`; `args` are operations, names and constants.

    | op | args |
    |---|---|
    | const | the value; None is null |
    | var | the name of a local: `io`, `part`, `item`, `walk`, ... |
    | index | that of the list's element that is read |
    | this | |
    | field, instance | the object, its unit, the name |
    | parent, root, stream | the object |
    | pos, size, eof | the stream |
    | convert | a value of another type that stands for the same |
    | required | a value that may be null, the name for the error, its text |
    | asked | as `field`, then a name and a text: an error unless the field was read already |
    | as | an object of the type, or null for any other |
    | not, is | a flag; a value, which is there or null |
    | op | one of `== != < <= > >= and or`, and two values of one type |
    | choose | a flag, and two values of which one is computed |
    | list | the elements |
    | read | the unit, the stream, name, index or None, parent, root or None, arguments |
    | number | the stream, wire type, order (`by` is the one that bytes said), name |
    | load | the local of a run, wire type, order, offset |
    | slice | the local of a run, offset, size |
    | bits | the local of a group, shift, width |
    | walk | the stream, name, kind (`count`, `until`, `eos`), least bytes of an element, count or None,
      whether elements without bytes are counted |
    | seen | notes that a field was read: the number of its bit |
    | call | the name of a function of the runtime, and what it is given after the object |
    | on | the same of a function of a stream, which is the first argument |

    Functions for `-derive`: `mark` notes where a field begins or ends, `between` and `position` have the
    bytes of such fields, `differs` is an error.
    """

    op: str
    args: tuple[Any, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Let:
    """A new local."""

    name: str
    value: Code


@dataclass(frozen=True, slots=True)
class Set:
    """A field of the object, or a local, takes a value of its type."""

    target: Code
    value: Code


@dataclass(frozen=True, slots=True)
class Do:
    """An operation for what it does."""

    value: Code


@dataclass(frozen=True, slots=True)
class If:
    """Either of two lists of statements."""

    test: Code
    then: tuple[Statement, ...]
    other: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """Elements into the list `target` while `walk` goes on: `body` sets `item`, `until` ends it."""

    target: Code
    item: Type
    walk: Code
    body: tuple[Statement, ...]
    until: Code | None


Statement = Let | Set | Do | If | Each


@dataclass(frozen=True, slots=True)
class InstanceCode:
    """An instance: a function that gives its value.

    Attributes:
        absent: it is null where this holds.
        value: what is computed; else `body` reads it into the local `value`, from the local `io`.
        kept: whether the object keeps the value: what is read, and what depends on where a stream stands.
        stream: the stream that it is read from; at `position`, or where that stands.
    """

    name: str
    type: Type
    kept: bool = True
    absent: Code | None = None
    value: Code | None = None
    stream: Code | None = None
    position: Code | None = None
    body: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitCode:
    """A unit: what it is given, what it has, how it is read.

    Attributes:
        checks: compare what follows from bytes (`-derive`) with what was read: at the end of the object if
            `is_local`, else when the outermost one was read.
    """

    unit: Unit
    parameters: tuple[tuple[str, Type], ...]
    fields: tuple[tuple[str, Type], ...]
    body: tuple[Statement, ...]
    instances: tuple[InstanceCode, ...]
    checks: tuple[Statement, ...] = ()
    is_local: bool = True


def codes_in(part: object) -> Iterator[Code]:
    """The operations of statements, of instances or of an operation, this one first."""
    if isinstance(part, Code):
        yield part
    if isinstance(part, (Code, Statement, InstanceCode)):
        part = tuple(getattr(part, name) for name in fields_of(type(part)) or ())
    if isinstance(part, tuple):
        for each in part:
            yield from codes_in(each)


def opposite(test: Code) -> Code:
    """The test that another one does not hold."""
    op, *parts = test.args
    if test.op == "not":
        return op  # type: ignore[no-any-return]
    # NaN is neither at least nor at most anything
    if test.op == "op" and op in OPPOSITE and not isinstance(parts[0].type, Real):
        return Code("op", (OPPOSITE[op], *parts), FLAG)
    return Code("not", (test,), FLAG)


def stored(kind: Type) -> Type:
    """The type in which a value is kept: numbers that 64 bits cannot hold in 64 bits."""
    match kind:
        case Maybe(of):
            return Maybe(stored(of))
        case ListOf(item):
            return ListOf(stored(item))
        case EnumOf(enum, number):
            found = stored(number)
            return EnumOf(enum, found if isinstance(found, Whole) else number)
        case Whole(low, high) if kind.wide:
            return ULONG if low >= 0 and high <= ULONG.high else LONG
    return kind


def is_number(kind: Type) -> bool:
    """Whether the values of a type are numbers, or flags, which become numbers."""
    return isinstance(kind, (Whole, Real, EnumOf)) or kind == FLAG


def is_scalar(kind: Type) -> bool:
    """Whether a language has to box a value of the type so that it can be null."""
    return is_number(kind) or kind == TEXT


def is_reference(kind: Type) -> bool:
    """Whether the values of a type are objects of units, one way or the other."""
    kind = bare(kind)
    if isinstance(kind, OneOf):
        return all(map(is_reference, kind.types))
    return isinstance(kind, ObjectOf) or kind == OBJECT
