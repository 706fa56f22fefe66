"""Where the fields of a unit stand in each of its versions: for pages, and for constants of classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from kodec.generator.plan.steps import (
    Chars,
    Choice,
    Element,
    Fixed,
    FixedNumber,
    Many,
    Nested,
    Octets,
    One,
    Program,
    Size,
    Step,
    Stored,
    Tagged,
    Unit,
    When,
)
from kodec.generator.plan.values import FLAG, Constant, known
from kodec.generator.wire import WIRE

__all__ = ["Extent", "Known", "Places"]

Known = Mapping[str, int | bool]
"""The version, and parameters, that are known."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a field stands.

    Attributes:
        path: the field's name, after those of the fixed types that it is in: `attributes.compression`.
        offset: bytes from the start of the type; None if that varies.
        size: its bytes, where it is there; None if that varies. Of bit fields: all that share it.
        bits: of a bit field, how far it is from the right of those bytes, and its width.
        number: of one number of fixed width, its wire type and order.
    """

    path: str
    offset: int | None
    size: int | None
    bits: tuple[int, int] | None = None
    number: tuple[str, str] | None = None


class Places:
    """The places of fields in the units of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        # Of units that are given nothing, found once: types that hold two of another double the work.
        self._sizes: dict[str, int | None] = {}

    @staticmethod
    def known(unit: Unit) -> list[Known]:
        """All that a unit can be told: each version, and each combination of its flags."""
        flags = [each.name for each in unit.parameters if each.type == FLAG]
        versions = [{unit.version_name: version} for version in unit.versions or ()] or [{}]
        return [
            dict(zip(flags, values, strict=True)) | version
            for values in product((False, True), repeat=len(flags))
            for version in versions
        ]

    def layouts(self, unit: Unit) -> list[tuple[Known, tuple[int, ...], tuple[Extent, ...]]]:
        """The distinct layouts of a unit: the flags that it is given, the versions of it, and its fields."""
        found: dict[tuple[object, ...], tuple[Known, list[int], tuple[Extent, ...]]] = {}
        for names in self.known(unit):
            flags = {name: value for name, value in names.items() if name != unit.version_name}
            fields = tuple(self.of(unit.steps, names))
            made = found.setdefault((*flags.items(), fields), (flags, [], fields))
            made[1].extend([names[unit.version_name]] if unit.versions else [])
        return [(flags, tuple(versions), fields) for flags, versions, fields in found.values()]

    def of(self, steps: Iterable[Step], names: Known | None = None) -> list[Extent]:
        """The fields that the steps set, in order."""
        return self._walk(steps, 0, names or {})[0]

    def size(self, unit: Unit, names: Known | None = None) -> int | None:
        """The bytes of a unit; None if they vary."""
        return self._walk(unit.steps, 0, names or {})[1]

    def extent(self, steps: Iterable[Step]) -> int | None:
        """The bytes of steps; None if they vary."""
        return self._walk(steps, 0, {})[1]

    def _walk(self, steps: Iterable[Step], at: int | None, names: Known) -> tuple[list[Extent], int | None]:
        """The fields, and where they end; None if that varies."""
        found: list[Extent] = []
        for step in steps:
            match step:
                case When(test, inside):
                    holds = known(test, names)
                    if isinstance(holds, Constant) and not holds.value:
                        continue
                    fields, end = self._walk(inside, at, names)
                    found += fields
                    at = end if isinstance(holds, Constant) else None
                case Fixed():
                    found += _in_run(step, at)
                    at = None if at is None else at + step.size
                case One(name, _, element):
                    size = self._size(element, names)
                    number = (element.wire, element.order) if isinstance(element, FixedNumber) else None
                    found.append(Extent(name, at, size, None, number))
                    at = None if at is None or size is None else at + size
                case Many(name, element=element, count=count):
                    found.append(Extent(name, at, None))
                    many, one = _constant(count, names), self._size(element, names)
                    at = None if at is None or many is None or one is None else at + many * one
                case Tagged(name):
                    found.append(Extent(name, at, None))
                    at = None
                case Stored(name, content):
                    found.append(Extent(name, at, _constant(content, names)))
                    at = None
        return found, at

    def _size(self, element: Element, names: Known) -> int | None:
        """The bytes of a value; None if they vary."""
        match element:
            case FixedNumber(wire):
                return WIRE[wire].size
            case Nested(unit, (), None, False):
                if unit not in self._sizes:
                    self._sizes[unit] = self.size(self._program.units[unit])
                return self._sizes[unit]
            case Octets(size) | Chars(size) | Nested(size=size) | Choice(size=size):
                return _constant(size, names)
        return None


def _constant(size: Size | None, names: Known) -> int | None:
    value = None if size is None else known(size.value, names)
    return value.value if isinstance(value, Constant) and isinstance(value.value, int) else None


def _in_run(run: Fixed, start: int | None) -> Iterator[Extent]:
    """The fields of a run, each object before what is in it."""
    seen: set[tuple[str, ...]] = set()
    for slot in run.slots:
        at = None if start is None else start + slot.offset
        for depth in range(1, len(slot.path)):
            path = slot.path[:depth]
            if path not in seen:
                seen.add(path)
                size = sum(each[0].size for each in run.groups if each[0].path[:depth] == path)
                yield Extent(".".join(path), at, size)
        number = None if slot.wire is None else (slot.wire, slot.order)
        yield Extent(".".join(slot.path), at, slot.size, slot.bits, number)
