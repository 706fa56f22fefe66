"""Steps that write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kodec.generator.targets.python.expressions import Operand
from kodec.generator.targets.python.views.checks import Check
from kodec.generator.targets.python.views.reading import Place

__all__ = [
    "Absent",
    "Aggregate",
    "Compress",
    "Copy",
    "CountOf",
    "Encode",
    "Let",
    "Measure",
    "Patch",
    "Prepare",
    "WriteBytes",
    "WriteCase",
    "WriteElement",
    "WriteField",
    "WriteNumbers",
    "WriteOne",
    "WritePrim",
    "WriteRepeat",
    "WriteRun",
    "WriteStep",
    "WriteStruct",
    "WriteSwitch",
    "WriteTag",
    "WriteTags",
    "WriteWire",
]


@dataclass(frozen=True, slots=True)
class WritePrim:
    kind: ClassVar[str] = "prim"
    number: int
    catch: str


@dataclass(frozen=True, slots=True)
class WriteBytes:
    kind: ClassVar[str] = "bytes"


@dataclass(frozen=True, slots=True)
class WriteWire:
    kind: ClassVar[str] = "wire"
    call: str


@dataclass(frozen=True, slots=True)
class WriteStruct:
    kind: ClassVar[str] = "struct"
    call: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WriteCase:
    test: str
    element: WriteElement


@dataclass(frozen=True, slots=True)
class WriteSwitch:
    """`on` is None where the type of the value itself says which case it is.

    Where there is no case, and no `other`: bytes if `raw` holds; or nothing, unless `left_out` holds.
    """

    kind: ClassVar[str] = "switch"
    on: str | None
    branches: tuple[WriteCase, ...]
    other: WriteElement | None
    raw: str | None
    left_out: str | None


@dataclass(frozen=True, slots=True)
class WriteElement:
    """One value, appended to `out`; it must take `size` bytes, where that is said."""

    value: str
    path: str
    out: str
    size: Operand | None
    how: WritePrim | WriteBytes | WriteWire | WriteStruct | WriteSwitch


@dataclass(frozen=True, slots=True)
class WriteRun:
    kind: ClassVar[str] = "run"
    number: int
    values: tuple[str, ...]
    checks: tuple[Check, ...]
    catch: str
    marks: tuple[Place, ...]
    end_marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Bytes that were made before."""

    kind: ClassVar[str] = "copy"
    value: str


@dataclass(frozen=True, slots=True)
class WriteRepeat:
    kind: ClassVar[str] = "repeat"
    value: str
    item: str
    count: Operand | None
    until: str | None
    element: WriteElement
    maybe_empty: bool


@dataclass(frozen=True, slots=True)
class WriteNumbers:
    """A list of whole numbers, written by one call; `code` is that of `struct`, with the byte order."""

    kind: ClassVar[str] = "numbers"
    value: str
    count: Operand | None
    code: str


@dataclass(frozen=True, slots=True)
class WriteTag:
    number: int
    value: str
    default: str
    element: WriteElement


@dataclass(frozen=True, slots=True)
class WriteTags:
    kind: ClassVar[str] = "tags"
    value: str
    known: tuple[WriteTag, ...]


@dataclass(frozen=True, slots=True)
class WriteOne:
    kind: ClassVar[str] = "one"
    element: WriteElement


@dataclass(frozen=True, slots=True)
class WriteField:
    """A field that is written by itself, where `guard` holds; else `original` must be `dropped`.

    `required` must not be None where the field is written.
    """

    kind: ClassVar[str] = "field"
    path: str
    out: str
    guard: str | None
    original: str
    required: str | None
    dropped: str | None
    checks: tuple[Check, ...]
    marks: tuple[Place, ...]
    end_marks: tuple[str, ...]
    body: Copy | WriteRepeat | WriteNumbers | WriteTags | WriteOne


WriteStep = WriteRun | WriteField


@dataclass(frozen=True, slots=True)
class Encode:
    """The bytes of a text, before anything is written."""

    kind: ClassVar[str] = "encode"
    var: str
    value: str
    path: str
    encoding: str
    errors: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class Measure:
    """The bytes of a field whose length is written before it."""

    kind: ClassVar[str] = "measure"
    var: str
    step: WriteField


@dataclass(frozen=True, slots=True)
class Compress:
    kind: ClassVar[str] = "compress"
    var: str
    function: str


@dataclass(frozen=True, slots=True)
class Let:
    """A derived value that follows from the content."""

    kind: ClassVar[str] = "let"
    var: str
    value: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class CountOf:
    """How many there are in content that may be bytes already; whoever gives those says it."""

    kind: ClassVar[str] = "count"
    var: str
    value: str
    text: str
    given: str
    path: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The last or the largest of something, unless it is given."""

    kind: ClassVar[str] = "aggregate"
    var: str
    given: str
    target: str
    text: str
    when: str
    path: str
    codec: bool
    checks: tuple[Check, ...]


Prepare = Encode | Measure | Compress | Let | CountOf | Aggregate


@dataclass(frozen=True, slots=True)
class Patch:
    """A checksum (`crc` is its function) or a length, put in when the bytes that it is of are there."""

    start_name: str
    end_name: str
    field_name: str
    crc: str | None
    number: int
    plus: str
    to_end: bool
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """A value that is not written must be the default."""

    path: str
    value: str
    default: str
