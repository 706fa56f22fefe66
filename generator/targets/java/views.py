"""What the template prints: classes and methods, in which nothing is left to decide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kodec.generator.schema.model import Schema

__all__ = ["Code", "Component", "EnumView", "Member", "Method", "TopView", "TypeView"]


@dataclass(slots=True)
class Code:
    """Lines of a method, indented as blocks are."""

    lines: list[str] = field(default_factory=list)
    depth: int = 0

    def add(self, *lines: str) -> None:
        self.lines += [
            f"{'    ' * self.depth}{each}" for line in lines for each in _wrapped(line, self.depth)
        ]

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        self.add(f"{head} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.add(end)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    @property
    def text(self) -> tuple[str, ...]:
        return tuple(self.lines)


_WIDTH = 92
"""Of a line in a method, its indent not counted."""


def _wrapped(line: str, depth: int = 0) -> list[str]:
    """A statement in lines that are not too long: broken behind commas that are in no literal."""
    width = _WIDTH - 4 * depth
    if len(line) <= width:
        return [line]
    parts, start, quoted, at = [], 0, False, 0
    while at < len(line):
        if line[at] == "\\":
            at += 1
        elif line[at] == '"':
            quoted = not quoted
        elif line.startswith(", ", at) and not quoted:
            parts.append(line[start : at + 1])
            start = at + 2
        at += 1
    found, rest = [], [*parts, line[start:]]
    current = rest.pop(0)
    for part in rest:
        if len(current) + 1 + len(part) > width:
            found.append(current)
            current = f"        {part}"
        else:
            current = f"{current} {part}"
    return [*found, current]


@dataclass(frozen=True, slots=True)
class Component:
    """A component of a record, with its words for Javadoc."""

    type: str
    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a class, with its words for Javadoc; empty where it has none."""

    text: str
    doc: str = ""

    @property
    def lines(self) -> list[str]:
        return _wrapped(self.text)


@dataclass(frozen=True, slots=True)
class Method:
    """A method; `doc` is the inside of its Javadoc, empty where it is private."""

    head: str
    doc: str
    body: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EnumView:
    name: str
    doc: str
    items: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class TypeView:
    """A record (`components`), or a class of fields and methods where that is None."""

    name: str
    doc: str
    components: tuple[Component, ...] | None
    members: tuple[Member, ...]
    methods: tuple[Method, ...]


@dataclass(frozen=True, slots=True)
class TopView:
    """A file: the class of a schema, and those inside."""

    schema: Schema
    path: str
    package: str
    imports: tuple[str, ...]
    top: TypeView
    types: tuple[TypeView, ...]
    enums: tuple[EnumView, ...]
