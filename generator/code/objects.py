"""What reading makes of bytes: objects and streams, and a record of what was read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kodec.generator.plan.steps import Bounds, Element, Program, Slot, Step, Unit
from kodec.generator.plan.values import Constant, ListOf, Maybe, ObjectOf, Type
from kodec.runtime.errors import Malformed, Truncated, Unsupported

if TYPE_CHECKING:
    from kodec.generator.code.machine import Machine

__all__ = ["Content", "Defaults", "Enough", "Node", "Object", "Read", "Stream", "absent_value", "member_of"]

_FORGOTTEN = -1


class Enough(Exception):
    """A machine has recorded as many parts as it was asked for."""


class Object(dict[str, Any]):
    """An object of a layout: the fields that are kept, by name.

    Attributes:
        lacking: those that its version does not have; they hold their defaults.
        unset: those that other conditions leave out.
    """

    lacking: frozenset[str] = frozenset()
    unset: frozenset[str] = frozenset()


class Defaults(dict[str, Any]):
    """Values of a layout's fields by name; a missing one is made as that of a field that is never read."""

    def __init__(self, program: Program, unit: Unit, values: dict[str, Any]) -> None:
        super().__init__(values)
        self._program = program
        self._unit = unit

    def __missing__(self, name: str) -> Any:
        spec = next((each for each in self._unit.fields if each.name == name), None)
        if spec is None:
            raise KeyError(name)
        self[name] = absent_value(self._program, spec.type, spec.absent)
        return self[name]


def absent_value(program: Program, kind: Type, absent: Constant | None) -> Any:
    """A field that is missing: a constant, an empty list, a new object, or nothing of its type."""
    if absent is not None:
        return absent.value
    match kind.of if isinstance(kind, Maybe) else kind:
        case ListOf():
            return []
        case ObjectOf(unit):
            fields = (each for each in program.units[unit].fields if each.kept)
            return Object((each.name, absent_value(program, each.type, each.absent)) for each in fields)
        case other:
            empty = {"text": "", "octets": b"", "identity": UUID(int=0), "section": []}
            return empty.get(getattr(other, "name", ""))


def member_of(item: Any, path: Iterable[str]) -> Any:
    """What objects of layouts hold at a path."""
    for name in path:
        item = item[name]
    return item


@dataclass(eq=False, slots=True)
class Stream:
    """Bytes that are read: `buf[base:end]`. The sources of one stream know which is read at the moment."""

    buf: bytes
    base: int
    end: int
    at: int
    bits: int = 0
    left: int = 0
    stand: list[Stream] = field(default_factory=list)

    @property
    def current(self) -> Stream:
        return self.stand[0] if self.stand else self

    @property
    def ended(self) -> bool:
        return self.at >= self.end and self.left <= 0

    def seek(self, pos: int, name: str) -> Stream:
        """Another source of the stream, at a position, which is then the one that is read."""
        stand = self.stand = self.stand or [self]
        if stand[0].left:
            stand[0].bits, stand[0].left = 0, _FORGOTTEN
        if pos < 0:
            raise Malformed(name, "negative position", at=self.base, need="at least 0", have=pos)
        stand[0] = Stream(self.buf, self.base, self.end, self.base + pos, stand=stand)
        return stand[0]

    def take(self, size: int, name: str) -> bytes:
        if size < 0:
            raise Malformed(name, "negative size", at=self.at, need="at least 0", have=size)
        if size and size > self.end - self.at:
            raise Truncated(name, at=self.at, need=size, have=max(0, self.end - self.at))
        start, self.at = self.at, self.at + size
        return self.buf[start : self.at]

    def rest(self) -> bytes:
        start, self.at = self.at, max(self.at, self.end)
        return self.buf[start : self.end]

    def until(self, bounds: Bounds, name: str) -> bytes:
        end = bounds.terminator or b""
        unit = len(end)
        for stop in range(self.at, self.end - unit + 1, unit):
            if self.buf[stop : stop + unit] == end:
                value = self.buf[self.at : stop + unit * bounds.include]
                self.at = stop + unit * bounds.consume
                return value
        if bounds.needed:
            raise Truncated(name, "no terminator", at=self.at, need=unit, have=0)
        return self.rest()

    def number_of_bits(self, width: int, order: str, name: str) -> int:
        size = (width - self.left + 7) // 8
        if size > 0:
            if self.left == _FORGOTTEN:
                raise Unsupported(
                    name, "bits of the byte before were left when an instance was read", at=self.at
                )
            data = self.take(size, name)
            if order == "be":
                self.bits = self.bits << 8 * size | int.from_bytes(data, "big")
            else:
                self.bits |= int.from_bytes(data, "little") << self.left
            self.left += 8 * size
        self.left -= width
        if order == "be":
            value, self.bits = self.bits >> self.left, self.bits & (1 << self.left) - 1
        else:
            value, self.bits = self.bits & (1 << width) - 1, self.bits >> width
        return value


@dataclass(eq=False, repr=False, slots=True)
class Node:
    """An object while it is read, and one of a stream ever after: fields that were not read are missing.

    Attributes:
        instances: the values of those that were read; `marks` those that depend on when they were asked for.
        spans: the stream of fields and instances, where they begin and end.
        lacking, unset: as of `Object`.
    """

    unit: Unit
    stream: Stream
    parent: Node | None
    start: int
    depth: int
    values: dict[str, Any]
    path: tuple[str | int, ...] = ()
    root: Node = None  # type: ignore[assignment]  # itself, unless it is set
    little: bool | None = None
    instances: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, Any] = field(default_factory=dict)
    spans: dict[str, tuple[Stream, int, int]] = field(default_factory=dict)
    stop: int = 0
    lacking: set[str] = field(default_factory=set)
    unset: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.root is None:
            self.root = self if self.parent is None else self.parent.root
        if self.parent is not None:
            self.little = self.parent.little

    def __repr__(self) -> str:
        """As errors show it: `part(size=1)`, without objects among its parameters, which may hold it."""
        parameters = {each.name for each in self.unit.parameters}
        shown = ", ".join(
            f"{name}={value!r}"
            for name, value in self.values.items()
            if name not in parameters or not isinstance(value, (Node, list, Stream))
        )
        return f"{self.unit.name.rpartition('::')[2]}({shown})"


@dataclass(frozen=True, slots=True)
class Read:
    """A value that was read from `bits` of `buf`, the first one and the one after the last.

    Attributes:
        path: the fields and indexes that lead to it, an instance's too.
        what: the element, slot, or step; of a checksum `covers` are the bytes that it covers.
        unit: the name of the unit that has the field.
        depth: how many units it is in.
    """

    path: tuple[str | int, ...]
    what: Element | Slot | Step
    buf: bytes
    bits: tuple[int, int]
    value: Any
    unit: str = ""
    depth: int = 0
    covers: tuple[int, int] = (0, 0)

    @property
    def start(self) -> int:
        return self.bits[0] // 8

    @property
    def end(self) -> int:
        return (self.bits[1] + 7) // 8


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes from `start` to `end`, and how what is inside was read; `codec` is "none" where they are it."""

    path: tuple[str | int, ...]
    start: int
    end: int
    codec: str
    machine: Machine
