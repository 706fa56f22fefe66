"""What the template of a streamed module prints."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.names import RUNTIME
from kodec.generator.targets.python.views.modules import Attribute, EnumClass

__all__ = ["Block", "ClassView", "Code", "Property", "StreamModule"]


@dataclass(frozen=True, slots=True)
class Block:
    """A line that ends with a colon, and what stands below it."""

    head: str
    body: tuple[Code, ...]


Code = str | Block
"""A line of Python, or a block of them."""


@dataclass(frozen=True, slots=True)
class Property:
    """An instance: `result` computes it, or `read` reads it; then it can be given, and `write` writes it."""

    name: str
    id: str
    type: str
    doc: str
    result: str
    read: tuple[Code, ...]
    write: tuple[Code, ...]


@dataclass(frozen=True, slots=True)
class ClassView:
    """A type: its parameters come first, then its fields. A `part` is read and written in its root only.

    `each` are its lists whose elements can be read one by one (by `read_each`), and objects that hold such.
    """

    name: str
    doc: str
    part: bool
    params: tuple[Attribute, ...]
    attrs: tuple[Attribute, ...]
    properties: tuple[Property, ...]
    read: tuple[Code, ...]
    write: tuple[Code, ...]
    each: tuple[str, ...] = ()
    read_each: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamModule:
    """A module; `fields` are the runs of fixed fields: a format, and a name for each.

    `late` says that it and a sibling need each other, so that its imports come last.
    """

    schema: Schema
    path: str
    doc: str
    siblings: tuple[tuple[str, list[str]], ...]
    fields: tuple[tuple[str, tuple[str, ...]], ...]
    enums: tuple[EnumClass, ...]
    classes: tuple[ClassView, ...]
    exports: tuple[str, ...]
    late: bool = False
    uses: frozenset[str] = frozenset()

    @property
    def runtime(self) -> list[tuple[str, list[str]]]:
        """What is imported of kodec.runtime, by module."""
        found = [(name, sorted(set(names) & self.uses)) for name, names in RUNTIME.items()]
        return [(name, names) for name, names in found if names]
