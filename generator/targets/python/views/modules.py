"""Modules, classes and functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.names import RUNTIME
from kodec.generator.targets.python.runtime import inside

if TYPE_CHECKING:
    from kodec.generator.targets.python.context import Context
    from kodec.generator.targets.python.printer import Printer
    from kodec.generator.targets.python.rows import RowsPrinter
    from kodec.generator.targets.python.writer import Holder, Writer

__all__ = [
    "FORMS",
    "PLACES",
    "ROLES",
    "Attribute",
    "Checksum",
    "Constant",
    "EnumClass",
    "EnumMember",
    "ModuleView",
    "Peek",
    "PeekValue",
    "Run",
    "StructView",
]


PLACES = "Where fields start, in bytes, -1 where that varies; and how `struct` says one number."
FORMS = "`PLACES` for each value of `{}`, with the fields that there are."
ROLES = "What fields mean to programs: the field of each role."


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
    """A constant of a class: its name, type and value as Python, and its docstring."""

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
    """Numbers read ahead of the type by one call, and the values computed from them alone."""

    name: str
    format: str
    names: tuple[str, ...]
    size: int
    places: tuple[tuple[str, int], ...]
    derived: tuple[PeekValue, ...]


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum at `at` of the bytes from `start`; where the form decides, `form` and `places` find both."""

    name: str
    at: str
    start: str
    function: str
    form: str = ""
    places: str = ""


@dataclass(frozen=True, slots=True)
class Property:
    """A value instance: what it is computed with, of the object `self`, and the `needed` fields."""

    name: str
    type: str
    doc: str
    expr: str
    needed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StructView:
    """All that a type gives: a class (unless it is `transparent`), and the functions around it.

    `params` are what it is given when it is read or written: names and types. `printer` spells what reads it,
    `writer` what writes it, `holder` what opens its compressed content, and `rows` what reads and writes its
    rows. `base` is the class of `kodec.runtime.messages` that has methods. `contents` are the fields that are
    the same bytes in every object. `told` are the parameters of the methods of its own, if it has any: names
    and types; `kept` are their attributes. `computed` are fields that a writer computes whatever they are.
    `settled` tells whether numbers are computed that do not fit, and `peeks` whether objects have peeked
    numbers.
    """

    name: str
    function: str
    doc: str
    transparent: bool
    returns: str
    attrs: tuple[Attribute, ...]
    constants: tuple[Constant, ...]
    params: tuple[tuple[str, str], ...]
    printer: Printer
    writer: Writer
    holder: Holder
    peek: Peek | None
    checksum: Checksum | None
    rows: RowsPrinter | None
    exports: tuple[str, ...]
    base: str
    contents: tuple[Attribute, ...] = ()
    properties: tuple[Property, ...] = ()
    told: tuple[tuple[str, str], ...] = ()
    kept: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    settled: bool = False
    peeks: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A run of fixed fields: its format, as `struct` says it, and their names."""

    number: int
    format: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModuleView:
    """A module; `uses` is every name in its text: known when it is rendered, and imported then.

    What it imports of other modules, and the runs that it reads, are in `context`, and there only when the
    functions are rendered.

    `table` is what messages are read and written by natively, by class; empty if nothing is.
    """

    schema: Schema
    path: str
    doc: str
    context: Context
    enums: tuple[EnumClass, ...]
    structs: tuple[StructView, ...]
    exports: tuple[str, ...]
    table: Mapping[str, list[str]]
    uses: frozenset[str] = frozenset()

    @property
    def runs(self) -> list[Run]:
        return list(self.context.runs.values())

    @property
    def siblings(self) -> list[tuple[str, list[str]]]:
        """The imports from other modules, by module."""
        names = self.context.sibling_names
        return sorted((self.context.relative(schema), sorted(found)) for schema, found in names.items())

    @property
    def standard(self) -> list[tuple[str, list[str]]]:
        """The imports from Python's standard library, by module."""
        return _imported(_STANDARD, self.uses)

    @property
    def runtime(self) -> list[tuple[str, list[str]]]:
        """The imports from the runtime, by module."""
        return [
            (inside(self.context.runtime, module), names) for module, names in _imported(RUNTIME, self.uses)
        ]


_STANDARD = {
    "collections.abc": ("Callable", "Iterable", "Iterator"),
    "enum": ("IntEnum",),
    "struct": ("Struct", "StructError"),
    "typing": ("Any", "ClassVar", "TypeVar"),
}
_ALIASES = {"StructError": "error as StructError"}


def _imported(modules: Mapping[str, Iterable[str]], uses: frozenset[str]) -> list[tuple[str, list[str]]]:
    found = [(module, sorted(uses.intersection(names))) for module, names in modules.items()]
    return [(module, [_ALIASES.get(name, name) for name in names]) for module, names in found if names]
