"""What reading and writing a unit does, in order: seven statements, and the operations on bytes.

Expressions are values of the plan. What touches bytes is an `Op`, whose result goes into a local or a field.
Bytes are read from a source: the stream of the unit, or the part of it that was entered last; they are
written to a sink: that of the unit, or the one that was opened last. Layouts and streams have the same
statements; the differences are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, NamedTuple

from kodec.generator.plan import steps as plan
from kodec.generator.plan.solve import asked
from kodec.generator.plan.values import FLAG, Binary, IsNull, Type, Unary, Value

__all__ = [
    "OPS",
    "Do",
    "Each",
    "EachTag",
    "If",
    "Let",
    "Local",
    "Op",
    "Part",
    "Set",
    "UnitCode",
    "Within",
    "do",
    "equal",
    "present",
    "sized",
]


@dataclass(frozen=True, slots=True)
class Local:
    """The value of a local; `item` is the element of a list, or the value that a rule speaks of."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Op:
    """An operation of `OPS`, and its arguments."""

    name: str
    args: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        takes = OPS[self.name].takes
        if len(takes) != len(self.args) or not all(map(isinstance, self.args, takes)):
            raise TypeError(f"{self.name} takes {takes}: {self.args}")


Expression = Value | Local | Op
_Optional = Expression | None
_Check = plan.CheckCount | plan.CheckLast | plan.CheckMost


class Operation(NamedTuple):
    """What an operation does, the types of its arguments, and whether it has a result."""

    does: str
    takes: tuple[type | UnionType, ...]
    gives: bool


def _op(does: str, *takes: type | UnionType) -> Operation:
    return Operation(does, takes, gives=True)


def _act(does: str, *takes: type | UnionType) -> Operation:
    return Operation(does, takes, gives=False)


# NAME is what errors call the field; ORDER is `be`, `le`, `by` or empty
OPS: Mapping[str, Operation] = {
    "run": _op("the place of SIZE bytes, or an error for the first of FIELDS that is cut off", int, tuple),
    "load": _op("a number of RUN: WIRE, ORDER, OFFSET", Local, str, str, int),
    "slice": _op("bytes of RUN: OFFSET, SIZE", Local, int, int),
    "bits": _op("bits of RUN: OFFSET, SIZE, SHIFT, WIDTH, ORDER", Local, int, int, int, int, str),
    "contents": _act("an error unless RUN has BYTES at OFFSET: NAME", Local, int, bytes, str),
    "new": _op("an object of values of a run: (field, value) of each that it keeps", tuple),
    "number": _op("a number: WIRE, ORDER, NAME", str, str, str),
    "varint": _op("a number of variable width: WIRE, NAME", str, str),
    "next_bits": _op("bits, from within a byte: WIDTH, ORDER, NAME", int, str, str),
    "flag": _op("whether BITS are not 0", Op),
    "align": _act("drops the bits that are left of a byte"),
    "order": _act("numbers `by` order are LITTLE-endian, big-endian, or unknown", bool | None),
    "ordered": _act("an error unless the order of numbers is known"),
    "bytes": _op("SIZE bytes, or all that are left: NAME", _Optional, str),
    "until": _op("bytes up to the terminator of BOUNDS: NAME", plan.Bounds, str),
    "fixed": _op("BYTES, or an error: NAME", bytes, str),
    "trim": _op("DATA without what fills it up: BOUNDS", Op, plan.Bounds),
    "process": _op("what PROCESS makes of DATA: ARGUMENTS, NAME", Op, str, tuple, str),
    "text": _op("DATA as text: ENCODING, NAME; whether errors are AT_END of it", Op, str, str, bool),
    "object": _op(
        "what UNIT reads: ARGUMENTS, PARENT, ROOTED; PATH, INDEXED",
        *(str, tuple, Local | None, bool, str, bool),
    ),
    "deeper": _act("an error where objects nest too deep"),
    "enter": _act("the source is the next SIZE bytes, or all that are left: NAME", _Optional, str),
    "inside": _act("the source is DATA", Op),
    "leave": _act("the source is the one around; STRICT: this one must have been read: NAME", str, bool),
    "ended": _act("an error unless the source was read to its end: NAME", str),
    "pos": _op("the position, and PLUS", int),
    "span": _act("the bytes of NAME begin at the position and PLUS, or END there", str, bool, int),
    "peek": _act("numbers ahead, in SIZE bytes: (name, offset, wire, order), NAMES", tuple, int, str),
    "version": _act("an error unless UNIT has the version; FIELDS before it, as of `run`", plan.Unit, tuple),
    "covers": _act("an error unless a field is the length of a range, and PLUS", plan.CheckLength, _Optional),
    "checksum": _act("an error unless a field of SIZE bytes is the checksum of a range", plan.Checksum, int),
    "follows": _act("an error unless a field follows from a list: PLUS, WHEN", _Check, _Optional, _Optional),
    "derived": _act("the same of fields that follow from bytes: now if LOCAL, or with the root", bool),
    "lacks": _act("NAMES are not read, because OF_VERSION or of others", tuple, bool),
    "unpack": _op("what is in bytes: PACKED, its BY, PLACE, WHEN", plan.Packed, Value, Value, _Optional),
    "refuse": _act("that `item` breaks a rule: NAME, REASON, AT, NEED", str, str, Local | Op, object),
    "no_case": _act("that a switch has no case: NAME, ON", str, Local),
    # writing: what is not of its field's type is an error; SOLVED are the ways in which a value follows, and
    # SIZE is a value, its SOLVED, or without these the fields that it is computed of, as errors have them
    "known": _act("an error unless the version is one of UNIT", plan.Unit),
    "is_object": _act("an error unless VALUE is one of UNIT: NAME", Value, str, str),
    "is_content": _op("whether VALUE is content, not bytes that are stored", Value),
    "is_of": _op("whether an object is of UNIT: VALUE", str, Value | Local),
    "pack": _op("DATA, compressed: PACKED, its BY, WHEN", plan.Packed, Value, _Optional, Op),
    "follow": _op(
        "what DERIVED is of OF, or of its bytes MADE: PLUS, WHEN",
        *(plan.Derived, Value, _Optional, _Optional, _Optional),
    ),
    "open": _act("what follows is written elsewhere"),
    "close": _op("the bytes since the last `open`"),
    "since": _op("how many bytes were written since START", Local),
    "length_of": _op("the size of DATA", Local),
    "count_of": _op("the number of elements of VALUE: NAME", Value, str),
    "put": _act("a number: WIRE, ORDER, VALUE, NAME", str, str, Value | Local, str),
    "put_varint": _act("a number of variable width: WIRE, VALUE, NAME", str, Value | Local, str),
    "as_bits": _op("a number in its place: SHIFT, WIDTH, VALUE, NAME", int, int, Value, str),
    "put_bits": _act("SIZE bytes of bits: ORDER, PARTS", int, str, tuple),
    "encoded": _op("the bytes of VALUE: ENCODING, or none, NAME", Value | Local, str, str),
    "sized": _op("VALUE, which must be SIZE bytes: NAME", int, Value, str),
    "append": _act("bytes: VALUE, NAME", Expression, str),
    "write": _act("an object of UNIT: VALUE, ARGUMENTS, SOLVED of each", str, Value | Local, tuple, tuple),
    "otherwise": _act(
        "what is no case of a switch, VALUE: bytes if STORED, or nothing if LACKING: NAME",
        *(Value | Local, bool, bool, str),
    ),
    "require": _act("an error unless TEST holds of `item`, now or when all is settled: NAME", Value, str),
    "missing": _act(
        "an error if VALUE is no default of FIELD, nor null if NULLABLE", Value, plan.FieldPlan, bool
    ),
    "settle": _act("SIZE has to be HAVE: NAME, REASON, UNIT", Op, tuple, str, str, str),
    "want": _act(
        "TEST is whether one of FIELDS is given: whether they may be LACKING a case, SOLVED",
        *(tuple, Value, bool, tuple),
    ),
    "choose": _act(
        "ON is the one case of an object: NAME, VALUE, ON, CASES, SOLVED",
        *(str, Value | Local, Value | Local, tuple, tuple),
    ),
    "distance": _op("how many bytes there are from START to END, and PLUS", Local, Expression, _Optional),
    "checksum_of": _op("the checksum FUNCTION of the bytes from START to END", str, Local, Expression),
    "late": _act(
        "an error unless HELD is VALUE, or null: NAME, HELD, VALUE, COUNTED", str, Local, Value, bool
    ),
    "patch": _act("a number at PLACE: WIRE, ORDER, VALUE, NAME", Local, str, str, Local, str),
    # writing of streams
    "put_next_bits": _act("bits, from within a byte: WIDTH, ORDER, VALUE, NAME", int, str, Local, str),
    "put_fixed": _act("VALUE, which must be BYTES: NAME", Expression, bytes, str),
    "put_ended": _act("DATA, as BOUNDS say that it ends: NAME", Local, plan.Bounds, str),
    "put_bytes": _act("DATA of SIZE, or any: NAME", Local, tuple, str),
    "put_filled": _act(
        "DATA, as BOUNDS fill it up to SIZE: whether it is a field's OWN, NAME",
        *(Local, plan.Bounds, tuple, bool, str),
    ),
    "processed": _op("what stands in the place of DATA: PROCESS, ARGUMENTS, NAME", Local, str, tuple, str),
    "part": _op("a sink for VALUE, of SIZE or any: NAME", Local, _Optional, str),
    "put_part": _act("PART with VALUE, of SIZE or any: NAME", Local, Local, tuple, str),
    "whole": _op("the bytes of PART with VALUE: NAME", Local, Local, str),
    "write_object": _act(
        "an object into PART, or next: UNIT, VALUE, ARGUMENTS, SOLVED of each, PARENT, ROOTED; NAME, INDEXED",
        *(Local | None, str, Local, tuple, tuple, Local | None, bool, str, bool),
    ),
    "late_argument": _act(
        "the argument INDEX of VALUE, of UNIT, is ARGUMENT: NAME", Local, str, int, Value, str
    ),
    "instance": _act("an instance, which is at a POSITION, as SIZE: PLAN", plan.InstancePlan, tuple),
    "counted": _act("LIST has SIZE elements: NAME", Value, tuple, str),
    "not_empty": _act("an error unless LIST has an element: NAME", Value, str),
    "last": _act("an error unless UNTIL holds of the last element of LIST alone: NAME", Value, Value, str),
    "ends": _act("NAME ends where the stream does", str),
    "is_written": _op("whether NAME, which follows from others, is there: TEST", str, Value),
    "wanted": _op(
        "whether VALUE is there: NAME, TEST, SOLVED, those of its size, whether it may be LACKING a case",
        *(Value, str, Value, tuple, tuple, bool),
    ),
    "refuse_value": _act("that VALUE is wrong: NAME, REASON, NEED", str, str, object, Value | Local),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """What of the plan a value is, for searches and explanations; what executes may ignore it.

    Attributes:
        path: the field, with those that hold its object inside the same run.
        indexed: whether it is an element of that list.
        unit: the unit that has the field, if it is an object of a run.
        run: the run that it is in, from the first of `bits` to before the second from its start.
    """

    path: tuple[str, ...]
    what: plan.Element | plan.Slot | plan.Step
    indexed: bool = False
    unit: str = ""
    run: Local | None = None
    bits: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Let:
    """A local."""

    name: str
    value: Expression
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Set:
    """A field of the object."""

    name: str
    value: Expression
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Do:
    """An operation without a result."""

    op: Op


@dataclass(frozen=True, slots=True)
class If:
    """The statements of the first test that holds, or `other`."""

    cases: tuple[tuple[Value, tuple[Statement, ...]], ...]
    other: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """A list: `body` reads one element into `item`, `count` times, until `until` holds of it, or to the end.

    A writer has the elements; `body` writes `item`.

    Attributes:
        field: where the list goes; errors call it `name`.
        least: the fewest bytes of an element.
        shared: whether elements without bytes share a room; else each counts as a byte in `count`.
        indexed: whether all errors inside are of the element; else they name the field themselves.
    """

    field: str
    name: str
    body: tuple[Statement, ...]
    least: int
    count: Value | None
    until: Value | None
    shared: bool
    indexed: bool


@dataclass(frozen=True, slots=True)
class EachTag:
    """A tagged section: what is known is read, and the rest goes into the field; or both are written."""

    section: plan.Tagged
    tags: tuple[tuple[plan.TagPlan, tuple[Statement, ...]], ...]


@dataclass(frozen=True, slots=True)
class Within:
    """Errors inside are of the field `name`; of its element, where `indexed`."""

    name: str
    body: tuple[Statement, ...]
    indexed: bool = False


Statement = Let | Set | Do | If | Each | EachTag | Within


def do(name: str, *args: object) -> Do:
    return Do(Op(name, args))


def present(value: Value | Local) -> Value:
    """That a value is not null."""
    return Unary("not", IsNull(value), FLAG)  # type: ignore[arg-type]


def equal(value: Value, local: Local) -> Value:
    return Binary("==", value, local, FLAG)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class UnitCode:
    """How a unit is read, and those of its instances that are."""

    unit: plan.Unit
    read: tuple[Statement, ...]
    instances: Mapping[str, tuple[Statement, ...]]


def sized(
    value: Value | None, solved: Iterable[plan.Solution]
) -> tuple[Value | None, tuple[plan.Solution, ...], str]:
    """A size, and what it follows from: the ways to change it, or the fields that it is computed of."""
    ways = tuple(solved)
    names = "" if ways or value is None else ", ".join(f"`{each}`" for each in asked(value))
    return value, ways, names
