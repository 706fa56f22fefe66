"""What the templates see: typed steps of ready-made text, in which nothing is left to decide.

A template asks a step for its `kind`, and prints it by the macro of that name. All text is Python already;
the words of a schema (`doc`) are docstrings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.names import RUNTIME

# -- rules that are checked ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """A rule of one value: `bad` is true where it is broken; `at`, `need` and `have` are for the error."""

    bad: str
    path: str
    reason: str
    at: str
    need: str
    have: str


@dataclass(frozen=True, slots=True)
class DerivedCheck:
    """What was read (`mine`) against what it is derived from; `op` is between them where they disagree."""

    when: str
    mine: str
    wanted: str
    op: str
    path: str
    need: str
    reason: str


@dataclass(frozen=True, slots=True)
class End:
    """Remember where a range ended."""

    kind: ClassVar[str] = "end"
    name: str


@dataclass(frozen=True, slots=True)
class CrcCheck:
    kind: ClassVar[str] = "crc"
    start: str
    end: str
    mine: str
    path: str
    function: str


@dataclass(frozen=True, slots=True)
class LengthCheck:
    kind: ClassVar[str] = "length"
    start: str
    end: str
    mine: str
    path: str
    plus: str


After = End | CrcCheck | LengthCheck
"""What follows a field at which a range ends."""

# -- reading ---------------------------------------------------------------------------------------


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
    kind: ClassVar[str] = "wire"
    call: str


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


@dataclass(frozen=True, slots=True)
class ReadElement:
    """One value, read into `var`: in `size` bytes, to the end (`eos`), or as many as it takes."""

    var: str
    path: str
    size: str | None
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
    size: str | None


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


@dataclass(frozen=True, slots=True)
class ReadTag:
    number: int
    var: str
    type: str
    default: str
    element: ReadElement


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
    """A field that is read by itself, where `guard` holds; else it is `absent`."""

    kind: ClassVar[str] = "field"
    id: str
    var: str
    path: str
    annotation: str
    guard: str | None
    absent: str
    start: bool
    checks: tuple[Check, ...]
    after: tuple[After, ...]
    body: Stored | ReadRepeat | ReadTags | ReadOne


ReadStep = ReadRun | ReadField

# -- writing ---------------------------------------------------------------------------------------


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
    """`on` is None where the type of the value itself says which case it is."""

    kind: ClassVar[str] = "switch"
    on: str | None
    branches: tuple[WriteCase, ...]
    other: WriteElement | None


@dataclass(frozen=True, slots=True)
class WriteElement:
    """One value, appended to `out`; it must take `size` bytes, where that is said."""

    value: str
    path: str
    out: str
    size: str | None
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
    count: str | None
    until: str | None
    element: WriteElement
    maybe_empty: bool


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
    """A field that is written by itself, where `guard` holds; else `original` must be `dropped`."""

    kind: ClassVar[str] = "field"
    path: str
    out: str
    guard: str | None
    original: str
    dropped: str | None
    checks: tuple[Check, ...]
    marks: tuple[Place, ...]
    end_marks: tuple[str, ...]
    body: Copy | WriteRepeat | WriteTags | WriteOne


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


# -- rows ------------------------------------------------------------------------------------------


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
    head_types: str
    head_values: str
    head: tuple[HeadColumn, ...]


# -- units -----------------------------------------------------------------------------------------


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


# -- modules ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EnumMember:
    name: str
    value: int
    doc: str


@dataclass(frozen=True, slots=True)
class EnumClass:
    name: str
    id: str
    members: tuple[EnumMember, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a class: its name, type and value as Python, and what it says."""

    name: str
    type: str
    value: str
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    type: str
    default: str
    doc: str


@dataclass(frozen=True, slots=True)
class PeekValue:
    name: str
    expr: str
    doc: str


@dataclass(frozen=True, slots=True)
class Peek:
    """Numbers looked at before the type is read, by one call, and what follows from them alone."""

    name: str
    format: str
    names: tuple[str, ...]
    size: int
    places: tuple[Place, ...]
    derived: tuple[PeekValue, ...]


@dataclass(frozen=True, slots=True)
class Checksum:
    name: str
    at: int
    start: int
    function: str


@dataclass(frozen=True, slots=True)
class VersionAt:
    """Where a version stands in the first run, to be looked at before a reader is chosen."""

    offset: int
    size: int
    format: str
    run: int


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Which function reads, or writes, which version."""

    table: dict[int, str]
    known: str
    field: str
    local: str
    peek: VersionAt | None


@dataclass(frozen=True, slots=True)
class Swap:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Decode:
    """How stored content becomes parsed content, and back."""

    field: str
    path: str
    by: str
    by_path: str
    by_place: int
    names: dict[int, str]
    known: str
    swap: tuple[Swap, ...]
    when: str | None
    read: str
    write: str
    parsed_plain: bool
    nullable: bool
    checks: tuple[DerivedCheck, ...]


@dataclass(frozen=True, slots=True)
class ReadBody:
    name: str
    versions: tuple[int, ...]
    returns: str
    steps: tuple[ReadStep, ...]
    checks: tuple[DerivedCheck, ...]
    result: str
    peek: Peek | None


@dataclass(frozen=True, slots=True)
class WriteBody:
    name: str
    versions: tuple[int, ...]
    type: str
    absent: tuple[Absent, ...]
    prepare: tuple[Prepare, ...]
    steps: tuple[WriteStep, ...]
    patches: tuple[Patch, ...]


@dataclass(frozen=True, slots=True)
class Reader:
    name: str
    bodies: tuple[ReadBody, ...]
    dispatch: Dispatch | None


@dataclass(frozen=True, slots=True)
class Writer:
    name: str
    bodies: tuple[WriteBody, ...]
    dispatch: Dispatch | None


@dataclass(frozen=True, slots=True)
class StructView:
    """All that a type gives: a class (unless it is `transparent`), and the functions around it.

    `dynamic` are the parameters that are given when it is read or written; `decode` is there for a container.
    """

    name: str
    function: str
    doc: str
    transparent: bool
    methods: bool
    returns: str
    attrs: tuple[Attribute, ...]
    constants: tuple[Constant, ...]
    dynamic: tuple[str, ...]
    readers: tuple[Reader, ...]
    writers: tuple[Writer, ...]
    peek: Peek | None
    checksum: Checksum | None
    decode: Decode | None
    rows: Rows | None
    units: Units | None
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """The `Struct` of a run of fixed fields: the format, and of each field its size and its code."""

    number: int
    format: str
    sizes: tuple[tuple[str, int], ...]
    codes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ModuleView:
    """A module; `uses` is every name in its text: known when it is rendered, and imported then."""

    schema: Schema
    path: str
    doc: str
    siblings: tuple[tuple[str, list[str]], ...]
    runs: tuple[Run, ...]
    enums: tuple[EnumClass, ...]
    structs: tuple[StructView, ...]
    exports: tuple[str, ...]
    uses: frozenset[str] = frozenset()

    @property
    def runtime(self) -> list[tuple[str, list[str]]]:
        """What is imported from kodec.runtime, by module."""
        found = [(module, sorted(self.uses.intersection(names))) for module, names in RUNTIME.items()]
        return [(module, names) for module, names in found if names]
