"""Data for the templates of a kernel besides the steps of the plan: its columns and the C for their values.

A template asks a step or a column for its `kind`. `field` is the constant by which a stop names a field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kodec.generator.plan.values import Value

if TYPE_CHECKING:
    from kodec.generator.targets.native.writing import Writer

# -- columns ---------------------------------------------------------------------------------------

_MEMORY = {"c": "b", "s": "h", "i": "i", "l": "q", "C": "B", "S": "H", "I": "I", "L": "Q", "f": "f", "g": "d"}
"""Arrow's format of a number to that of Python's memoryview."""


@dataclass(frozen=True, slots=True)
class Number:
    """A column of numbers.

    Attributes:
        name, c_name, constant: what it is called in tables, as a member, and as an index.
        value: C that gives it, of type `value_type`; `checked` where that may not fit `c_type`.
        format: Arrow's; `width` in bytes.
        filtered: whether rows can be left out by its value.
        path: the field that it is, `stored` as i, u, f or d; empty if it is computed by `expression`.
        within: in heads, where in the unit's struct it is.
        computed: in heads, whether it is reported about the rows rather than stored.
    """

    kind: ClassVar[str] = "number"
    name: str
    c_name: str
    value: str
    c_type: str
    format: str
    width: int
    value_type: str = "int64_t"
    checked: bool = False
    filtered: bool = False
    path: str = ""
    stored: str = "i"
    expression: Value | None = None
    within: str = ""
    computed: bool = False
    index: int = -1
    constant: str = ""

    @property
    def memory(self) -> str:
        return _MEMORY.get(self.format, "q")

    @property
    def accepted(self) -> str:
        """A C string of the Arrow formats that it is written from, each after a blank."""
        return _formats(self.format, *((self.format[:4], "l") if self.format.startswith("ts") else ()))


@dataclass(frozen=True, slots=True)
class Flag:
    """A column of booleans."""

    kind: ClassVar[str] = "flag"
    filtered: ClassVar[bool] = False
    computed: ClassVar[bool] = False
    name: str
    c_name: str
    value: str
    path: str
    stored: ClassVar[str] = "i"
    c_type: str = "uint8_t"
    width: int = 1
    within: str = ""
    index: int = -1
    constant: str = ""


@dataclass(frozen=True, slots=True)
class Bytes:
    """A column of bytes, or of `text`; a text of the schema has an `encoding`."""

    kind: ClassVar[str] = "blob"
    filtered: ClassVar[bool] = False
    name: str
    c_name: str
    source: str
    format: str
    nullable: bool
    text: bool
    path: str
    encoding: str
    index: int = -1
    constant: str = ""

    @property
    def accepted(self) -> str:
        return _formats("z", "u")


@dataclass(frozen=True, slots=True)
class Lists:
    """A column of lists: of the elements of list number `list`."""

    kind: ClassVar[str] = "list"
    filtered: ClassVar[bool] = False
    name: str
    c_name: str
    list: int
    children: tuple[Flat, ...]
    path: str
    index: int = -1
    constant: str = ""

    @property
    def accepted(self) -> str:
        return _formats("+l")


Flat = Number | Flag | Bytes
ColumnPlan = Flat | Lists


def _formats(*formats: str) -> str:
    return '"' + "".join(f" {each}" for each in dict.fromkeys(formats)) + '"'


# -- the whole -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CodecValue:
    """A value of the codec's enum, its name, and the name that replaces it."""

    value: int
    name: str
    other: str


@dataclass(frozen=True, slots=True)
class CodecPlan:
    """The compression of content: `by` is C for the codec, `content` the bytes, `none` the value for
    uncompressed bytes."""

    by: str
    field: str
    content: str
    values: tuple[CodecValue, ...]
    none: int
    when: str | None


@dataclass(frozen=True, slots=True)
class BoundPlan:
    """A unit's facts about a column of its rows."""

    constant: str
    column: str
    first: str | None
    last: str | None


@dataclass(frozen=True, slots=True)
class RowsInside:
    """The rows inside a unit: `count` of them, in `payload`."""

    count: str
    count_field: str
    payload: str
    optional: bool


@dataclass(frozen=True, slots=True)
class DerivedPlan:
    """A field of a head that is derived from its rows: the last or the largest (`how`) of one of their
    fields."""

    name: str
    c_name: str
    how: str
    value: str
    result: str
    when: str | None


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """How rows are written from columns and, where rows are inside, units around them.

    Attributes:
        row, unit: what spells their steps.
        before: how many bytes of a unit are before its content; None if that is not always the same.
    """

    inputs: tuple[ColumnPlan, ...]
    row: Writer
    unit: Writer | None
    derived: tuple[DerivedPlan, ...]
    before: int | None = None


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """The data that a kernel is printed from, besides the plan of its rows.

    Attributes:
        inside: the rows in a unit; None if a unit is itself a row.
        codec: of its compressible field.
        columns, heads: of rows, and of the numbers in a unit's head.
        object_columns: the columns that the objects of rows have too, the first ones.
        unless: where it holds, a unit's rows are not for users.
        bounds: what a unit reports about the columns of its rows.
        write: None if the kernel cannot write.
        objects: whether rows are given as objects too.
    """

    inside: RowsInside | None
    codec: CodecPlan | None
    columns: tuple[ColumnPlan, ...]
    object_columns: tuple[ColumnPlan, ...]
    heads: tuple[Number | Flag, ...]
    unless: str | None
    bounds: tuple[BoundPlan, ...]
    write: WritingPlan | None
    objects: bool
