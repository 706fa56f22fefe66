"""The fast paths: operations on rows inside a container, and on units that are rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = [
    "Assign",
    "Blob",
    "HeadColumn",
    "ListOp",
    "Part",
    "Place",
    "RowColumn",
    "RowOp",
    "Rows",
    "Skip",
    "UnitBlob",
    "UnitChecksum",
    "UnitNumber",
    "UnitOp",
    "UnitPart",
    "UnitRun",
    "Units",
    "Varint",
]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field stands, in bytes from the start of what holds it."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Skip:
    kind: ClassVar[str] = "skip"
    size: int
    default: str
    names: str


@dataclass(frozen=True, slots=True)
class Varint:
    kind: ClassVar[str] = "varint"
    var: str
    wire: str
    zigzag: bool


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes, or text in an encoding, behind their length."""

    kind: ClassVar[str] = "blob"
    var: str
    nullable: bool
    encoding: str | None
    errors: str


@dataclass(frozen=True, slots=True)
class ListOp:
    kind: ClassVar[str] = "list"
    var: str
    ops: tuple[RowOp, ...]
    names: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Part:
    """A type behind its length, its operations in place; it ends at `stop`."""

    kind: ClassVar[str] = "part"
    ops: tuple[RowOp, ...]
    stop: str


RowOp = Skip | Varint | Blob | ListOp | Part


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of a row: attribute, type, and the value that it gets while reading."""

    name: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class Assign:
    var: str
    value: str


@dataclass(frozen=True, slots=True)
class HeadColumn:
    """A column of tables of rows that has one value for all rows of a container: `-row: {head}`."""

    name: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The functions that read and write the rows of a container, `hoisted` before the loop."""

    reader: str
    writer: str
    container: str
    name: str
    field: str
    path: str
    count: str
    least: int
    columns: tuple[RowColumn, ...]
    ops: tuple[RowOp, ...]
    hoisted: tuple[Assign, ...]
    inverse: tuple[Assign, ...]
    texts: bool
    lists: bool
    texts_in_lists: bool
    head_types: str
    head_values: str
    head: tuple[HeadColumn, ...]


@dataclass(frozen=True, slots=True)
class UnitRun:
    """Numbers of fixed width, by one call; `made` are bit fields, of which those are taken that are used."""

    kind: ClassVar[str] = "run"
    number: int
    size: int
    targets: tuple[str, ...]
    made: tuple[Assign, ...]
    marks: tuple[Place, ...]
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitNumber:
    """A number, where `guard` holds."""

    kind: ClassVar[str] = "number"
    var: str
    guard: str | None
    absent: str
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class UnitBlob:
    """Bytes, where `guard` holds; `size` is Python that gives how many."""

    kind: ClassVar[str] = "blob"
    var: str
    guard: str | None
    absent: str
    size: str


@dataclass(frozen=True, slots=True)
class UnitPart:
    """A type in `size` bytes, its operations in place; it ends at `stop`."""

    kind: ClassVar[str] = "part"
    size: str
    stop: str
    ops: tuple[UnitOp, ...]


@dataclass(frozen=True, slots=True)
class UnitChecksum:
    """The stored checksum (`mine`) is held against the bytes from the field `start` on."""

    kind: ClassVar[str] = "checksum"
    mine: str
    function: str
    start: str


UnitOp = UnitRun | UnitNumber | UnitBlob | UnitPart | UnitChecksum


@dataclass(frozen=True, slots=True)
class Units:
    """The function that reads a list of units, each a row, one after another.

    `careful` says what is wrong with what it cannot read; `plain` holds where a unit is compressed;
    `used` are the locals that are used.
    """

    reader: str
    careful: str
    name: str
    unit: str
    ops: tuple[UnitOp, ...]
    columns: tuple[RowColumn, ...]
    plain: str | None
    used: frozenset[str]
