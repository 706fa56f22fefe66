"""Code in the types of languages: statements and typed operations that a target only has to spell.

Statements of `ir` have values of the plan, which a machine computes with as they are. Here each value has the
type in which a static language keeps it, and `convert` stands wherever one becomes another: `typed_read.py`
makes one of the other. A target prints it (`printing.py`), and has a runtime with the functions of `call`.

Whole numbers are computed in 64 bits: signed ones fail where they do not fit. Numbers are stored in the type
of their field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    Named,
    ObjectOf,
    OneOf,
    Real,
    Type,
    Whole,
    bare,
)
from kodec.generator.wire import VARINTS

__all__ = [
    "LONG",
    "PLACE",
    "REAL",
    "ULONG",
    "Bytes",
    "Code",
    "Do",
    "Each",
    "Elements",
    "If",
    "InstanceCode",
    "Items",
    "Lacking",
    "LayoutCode",
    "Let",
    "Run",
    "Section",
    "Set",
    "Statement",
    "Switch",
    "Tags",
    "UnitCode",
    "Unpacked",
    "Walk",
    "Within",
    "codes_in",
    "is_number",
    "is_reference",
    "is_scalar",
    "opposite",
    "stored",
]

LONG, ULONG, REAL = Whole(-(1 << 63), (1 << 63) - 1), Whole(0, (1 << 64) - 1), Real(64)
SAFE = Whole(1 - (1 << 53), (1 << 53) - 1)
"""Whole numbers that a floating-point number of 64 bits holds exactly."""
PLACE = Named("place")
"""A place in the bytes that are read or written."""


# NAME is what errors call the field, AT a place
FUNCTIONS: Mapping[str, str] = {
    "take": "the next bytes, which start with SIZE: NAME, SIZE",
    "octets": "SIZE bytes: NAME, SIZE",
    "rest": "all bytes that are left",
    "peek": "SIZE bytes that stay the next: NAMES, SIZE",
    "enter": "only the next SIZE bytes are there: gives the limit before: NAME, SIZE",
    "leave": "the limit before; these bytes must have been read: NAME, LIMIT",
    "ended": "all bytes must have been read: NAME",
    "contents": "an error unless bytes are others: NAME, AT, NEED, HAVE",
    "refuse": "a value that breaks a rule: NAME, AT, NEED, HAVE",
    "no_case": "a value for which a switch has no case: NAME, ON",
    "unknown_version": "NAME, AT, VERSIONS, HAVE",
    "unknown_codec": "NAME, AT, HAVE",
    "covers": "an error unless a length is another: NAME, AT, HAVE, NEED",
    "checksum": "an error unless a number is that of bytes: NAME, AT, HAVE, FUNCTION, START, END",
    "exactly": "an error unless a number is another: NAME, AT, HAVE, NEED",
    "at_least": "the same, or more",
    "verifies": "whether what follows from the elements of a list is compared",
    **dict.fromkeys(VARINTS, "a number of variable width: NAME"),
    "size_of": "how many elements or bytes a value has",
    "characters": "how many characters a text has",
    "floor_div": "a quotient, rounded down",
    "floor_mod": "what is left then",
    "bits_of": "the number in bytes of which there is no such type: BYTES, whether they are LITTLE-endian",
}
"""The functions of a runtime that readers and writers of layouts call."""


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
    | member | the name of a field, as the language has it |
    | place | the object, its unit and the name of a field; nothing if that is no field |
    | no_size | the size of what may have any |
    | put_number | the stream, wire type, order, value, name |
    | put_object | the stream, unit, value, name, index or None, parent, root or None, (parameter, value) of
      each that is given, (parameter, ways) of those that follow |
    | choice | the stream, name, object, what chooses its case, (unit, value) of the cases that one has
      alone, ways |
    | lazy | a function of a value |
    | ways | the type of what is wanted, and each way to have it |
    | way | flags that must hold, the object, the name and whether it is a field, what it becomes, an index or
      None, and ways that go with it |

    Functions for `-derive`: `mark` notes where a field begins or ends, `between` and `position` have the
    bytes of such fields, `differs` is an error.

    Of layouts, whose readers have one source, and whose writers append to one buffer:

    | op | args |
    |---|---|
    | held | a value that may be null, where it is not; the field's name for errors |
    | make | an object: its unit, (field, value) of each |
    | return | what a reader gives |
    | text | the stream, name, size or None, encoding |
    | fit | a number that must fit a width: the field's name, value, width |
    | sign | `-` or `~`, and a number |
    | zero | of a UUID |
    | new | an object with its defaults |
    | is_of, cast | a value of one of several types: whether it is of `kind`, or it as one |
    | edge | `last` or `most`: of the elements of a list the number at this path |
    | nth | what errors call the element of a list of this name |
    | put | a number: wire type, order, value |
    | put_varint | wire type, value |
    | bits_of_parts | (number, by how much it is shifted) of each part |
    | put_bits | a number of this many bytes, its order, value |
    | append | bytes, or text in an encoding: these, the field's name, the encoding or nothing |
    | patch | a number at a place: that, wire type, order, value |
    | write | an object of a unit, arguments, the field's name for errors |
    | pack | bytes compressed: the field's name, the codec's, the bytes |
    | checksum | of what was written from a place to another one, or to here: function, both |
    | fail | ends the writer: the field's name, the reason, the value or None |
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


@dataclass(frozen=True, slots=True)
class Run:
    """The bytes of a run as a new local; else an error for the first of (name, width) that is cut off."""

    name: str
    size: int
    fields: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """The statements of the case whose value equals `on`, which is a number."""

    on: Code
    cases: tuple[tuple[Code, tuple[Statement, ...]], ...]
    other: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Within:
    """Errors inside are of the field `name`; after an error nothing is done."""

    name: str
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Elements:
    """A list that is read into `target`: `body` sets the element, errors in it are of `name` and its index.

    There are `count` of them, or as many as there are until `until` holds of one, or up to the end; then
    elements without bytes are an error. `declares`: the list is a new local.
    """

    target: Code
    name: str
    least: int
    count: Code | None
    until: Code | None
    body: tuple[Statement, ...]
    declares: bool = False


@dataclass(frozen=True, slots=True)
class Walk:
    """The elements of the list `name` that is written."""

    target: Code
    name: str
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Tags:
    """A tagged section that is read: (number, test, statements) of each known tag, the rest into `target`."""

    target: Code
    name: str
    cases: tuple[tuple[int, Code | None, tuple[Statement, ...]], ...]


@dataclass(frozen=True, slots=True)
class Bytes:
    """What `body` writes, as a local, which is a new one unless it is `declared`."""

    name: str
    body: tuple[Statement, ...]
    declared: bool


@dataclass(frozen=True, slots=True)
class Items:
    """The elements of a list that is written: `body` has the local `item`, and its number if `is_indexed`."""

    items: Code
    item: Type
    body: tuple[Statement, ...]
    is_indexed: bool


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Compressed bytes, which start `at` a place: `body` reads from `inner` all that they hold."""

    name: str
    codec: Code
    data: Code
    at: Code
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A tagged section that is written: unknown tags, and (number, test, checks, statements) of each."""

    name: str
    unknown: Code
    tags: tuple[tuple[int, Code, tuple[Statement, ...], tuple[Statement, ...]], ...]


Statement = (
    Let
    | Set
    | Do
    | If
    | Each
    | Run
    | Switch
    | Within
    | Elements
    | Walk
    | Tags
    | Bytes
    | Unpacked
    | Section
    | Items
)


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


@dataclass(frozen=True, slots=True)
class Style:
    """What a language has its own way for.

    Attributes:
        built: objects are made of locals when all is read; else they are filled where they are kept.
        narrow: numbers are computed in `SAFE` where that holds them; else all in 64 bits.
        checked: what writes a number refuses one that does not fit.
    """

    built: bool = False
    narrow: bool = False
    checked: bool = False


@dataclass(frozen=True, slots=True)
class LayoutCode:
    """A unit of a layout: what it is given, what it has, how it is read and written.

    Attributes:
        new: sets the fields of a new object; languages leave out what is nothing in them anyway.
        absent: the same before one is read.
        result: what it gives where it stands for a field.
    """

    unit: Unit
    parameters: tuple[tuple[str, Type], ...]
    fields: tuple[tuple[str, Type], ...]
    new: tuple[Set, ...]
    absent: tuple[Set, ...]
    read: tuple[Statement, ...]
    write: tuple[Statement, ...]
    result: Type | None


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
