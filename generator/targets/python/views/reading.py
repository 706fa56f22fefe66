"""Steps that read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kodec.generator.targets.python.expressions import Operand
from kodec.generator.targets.python.views.checks import After, Check

__all__ = [
    "Place",
    "ReadBytes",
    "ReadCase",
    "ReadElement",
    "ReadField",
    "ReadNumbers",
    "ReadOne",
    "ReadPrim",
    "ReadRepeat",
    "ReadRun",
    "ReadStep",
    "ReadStruct",
    "ReadSwitch",
    "ReadTag",
    "ReadTags",
    "ReadText",
    "ReadWire",
    "Stored",
]


@dataclass(frozen=True, slots=True)
class ReadPrim:
    kind: ClassVar[str] = "prim"
    number: int
    width: int


@dataclass(frozen=True, slots=True)
class ReadBytes:
    kind: ClassVar[str] = "bytes"


@dataclass(frozen=True, slots=True)
class ReadText:
    kind: ClassVar[str] = "str"
    encoding: str
    errors: str


@dataclass(frozen=True, slots=True)
class ReadWire:
    """`short` where values of one byte are read without the call."""

    kind: ClassVar[str] = "wire"
    call: str
    short: bool


@dataclass(frozen=True, slots=True)
class ReadStruct:
    kind: ClassVar[str] = "struct"
    call: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadCase:
    value: str
    element: ReadElement


@dataclass(frozen=True, slots=True)
class ReadSwitch:
    kind: ClassVar[str] = "switch"
    on: str
    branches: tuple[ReadCase, ...]
    other: ReadElement | None
    left_out: bool


@dataclass(frozen=True, slots=True)
class ReadElement:
    """One value, read into `var`: in `size` bytes, to the end (`eos`), or as many as it takes."""

    var: str
    path: str
    size: Operand | None
    eos: bool
    enum: str | None
    how: ReadPrim | ReadBytes | ReadText | ReadWire | ReadStruct | ReadSwitch


@dataclass(frozen=True, slots=True)
class Place:
    """A field and its distance, in bytes, from where a run starts."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class ReadRun:
    """Neighbours of fixed width: unpacked into `targets`, from which the lines `made` make their values."""

    kind: ClassVar[str] = "run"
    number: int
    size: int
    targets: tuple[str, ...]
    made: tuple[str, ...]
    checks: tuple[Check, ...]
    starts: tuple[Place, ...]
    after: tuple[After, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes of a compressible field, as they are stored."""

    kind: ClassVar[str] = "stored"
    size: Operand | None


@dataclass(frozen=True, slots=True)
class ReadNumbers:
    """A list of `count` whole numbers, read by one call; `code` is that of `struct`, with the byte order."""

    kind: ClassVar[str] = "numbers"
    count: str
    code: str
    width: int


@dataclass(frozen=True, slots=True)
class ReadRepeat:
    """A list; `mode` is expr (`count` of them), eos, or until (`until` holds).

    `least` is the fewest bytes that an element takes.
    """

    kind: ClassVar[str] = "repeat"
    mode: str
    count: str | None
    until: str | None
    element: ReadElement
    least: int
    item_type: str
    item: str


@dataclass(frozen=True, slots=True)
class ReadTag:
    number: int
    var: str
    type: str
    default: str
    element: ReadElement
    unset: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class ReadTags:
    kind: ClassVar[str] = "tags"
    known: tuple[ReadTag, ...]


@dataclass(frozen=True, slots=True)
class ReadOne:
    kind: ClassVar[str] = "one"
    element: ReadElement


@dataclass(frozen=True, slots=True)
class ReadField:
    """A field that is read by itself, where `guard` holds; else it is `absent`, which `unset` may refuse."""

    kind: ClassVar[str] = "field"
    id: str
    var: str
    path: str
    annotation: str
    guard: str | None
    absent: str
    start: bool
    checks: tuple[Check, ...]
    unset: tuple[Check, ...]
    after: tuple[After, ...]
    body: Stored | ReadRepeat | ReadNumbers | ReadTags | ReadOne


ReadStep = ReadRun | ReadField
