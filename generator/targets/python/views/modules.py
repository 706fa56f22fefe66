"""Modules, classes and functions."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.names import RUNTIME
from kodec.generator.targets.python.views.checks import Check, DerivedCheck
from kodec.generator.targets.python.views.reading import Place, ReadStep
from kodec.generator.targets.python.views.rows import Rows, Units
from kodec.generator.targets.python.views.writing import Absent, Patch, Prepare, WriteStep

__all__ = [
    "Attribute",
    "Checksum",
    "Constant",
    "Decode",
    "Dispatch",
    "EnumClass",
    "EnumMember",
    "ModuleView",
    "Peek",
    "PeekValue",
    "ReadBody",
    "Reader",
    "Run",
    "StructView",
    "Swap",
    "VersionAt",
    "WriteBody",
    "Writer",
]


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
    unset: tuple[Check, ...]
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

    `dynamic` are the parameters that are given when it is read or written, `flags` those that choose the
    function which does it: `reader`, and `writer`. `decode` is there for a container. `base` is the class of
    `kodec.runtime.messages` that has the methods; empty where the class has its own.
    """

    name: str
    function: str
    doc: str
    transparent: bool
    reader: str
    writer: str
    returns: str
    attrs: tuple[Attribute, ...]
    constants: tuple[Constant, ...]
    dynamic: tuple[str, ...]
    flags: tuple[str, ...]
    readers: tuple[Reader, ...]
    writers: tuple[Writer, ...]
    peek: Peek | None
    checksum: Checksum | None
    decode: Decode | None
    rows: Rows | None
    units: Units | None
    exports: tuple[str, ...]
    base: str


@dataclass(frozen=True, slots=True)
class Run:
    """The `Struct` of a run of fixed fields: the format, and of each field its size and its code."""

    number: int
    format: str
    sizes: tuple[tuple[str, int], ...]
    codes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ModuleView:
    """A module; `uses` is every name in its text: known when it is rendered, and imported then.

    `table` is what messages are read and written by natively; empty where nothing is.
    """

    schema: Schema
    path: str
    doc: str
    siblings: tuple[tuple[str, list[str]], ...]
    runs: tuple[Run, ...]
    enums: tuple[EnumClass, ...]
    structs: tuple[StructView, ...]
    exports: tuple[str, ...]
    table: str = ""
    uses: frozenset[str] = frozenset()

    @property
    def runtime(self) -> list[tuple[str, list[str]]]:
        """What is imported from kodec.runtime, by module."""
        found = [(module, sorted(self.uses.intersection(names))) for module, names in RUNTIME.items()]
        return [(module, names) for module, names in found if names]
