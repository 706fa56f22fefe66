"""What the templates of all languages ask of a unit of the plan."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kodec.generator.plan.steps import (
    Case,
    Choice,
    FieldPlan,
    Fixed,
    Packed,
    Program,
    Slot,
    Unit,
    values_of,
)
from kodec.generator.plan.values import FieldOf, ListOf, ObjectOf, OneOf, Peeked, Type, bare
from kodec.generator.wire import WIRE

__all__ = ["UnitPrinter"]


class UnitPrinter(ABC):
    """A unit while it is read, or while it is written; a target's printer adds how all of it is spelled.

    Attributes:
        kept: the fields of its object; none where it stands for the value of one.
        ranged: lengths and checksums of what is there, which a writer knows when that is written.
        computed: fields that a writer computes where they are not given.
    """

    def __init__(self, program: Program, unit: Unit, *, writing: bool) -> None:
        self.program = program
        self.unit = unit
        self.writing = writing
        self.kept = {each.name for each in unit.fields if each.kept and unit.stands_for is None}
        self.ranged = {each.name for each in unit.ranges}
        self.computed = [each.name for each in unit.derived if each.kind in ("last", "most")]
        parts = values_of((unit.steps, unit.packed))
        self.used = {each.name for each in parts if isinstance(each, (FieldOf, Peeked))}

    @abstractmethod
    def literal(self, value: object) -> str:
        """A constant."""

    def kind(self, part: object) -> str:
        """The name of a step or an element, by which a template chooses its macro."""
        return type(part).__name__

    # -- fields -----------------------------------------------------------------------------------

    def kept_fields(self) -> list[FieldPlan]:
        return [each for each in self.unit.fields if each.name in self.kept]

    def locals(self) -> list[FieldPlan]:
        """The fields that are no part of the object, and that a reader needs for another one."""
        apart = self.kept | {self.unit.stands_for}
        return [each for each in self.unit.fields if each.name not in apart and self.is_used(each.name)]

    def is_used(self, name: str) -> bool:
        """Whether what was read is needed: in the object, or for another field."""
        return name in self.kept or name == self.unit.stands_for or name in self.used or name in self.ranged

    def droppable(self, name: str) -> bool:
        return self.unit.field(name).droppable

    def measured(self) -> list[str]:
        """Fields whose bytes are made first, as a length in front of them says how many there are.

        Not what may be compressed, which is `stored`.
        """
        packed = None if self.unit.packed is None else self.unit.packed.name
        lengths = dict.fromkeys(each.of for each in self.unit.derived if each.kind == "length")
        parsed = (ObjectOf, ListOf, OneOf)
        return [
            each
            for each in lengths
            if each != packed and isinstance(bare(self.unit.field(each).type), parsed)
        ]

    # -- types ------------------------------------------------------------------------------------

    def bare(self, kind: Type) -> Type:
        return bare(kind)

    def item(self, kind: Type) -> Type:
        """The type of a list's elements."""
        found = bare(kind)
        assert isinstance(found, ListOf)
        return found.item

    def is_object(self, unit: str) -> bool:
        """Whether a unit gives an object, no value of a field."""
        return self.program.units[unit].stands_for is None

    def content(self, packed: Packed) -> Type:
        """The type of what is compressed."""
        inner = self.program.units[packed.unit]
        return ObjectOf(inner.name) if inner.stands_for is None else inner.field(inner.stands_for).type

    def cases_of(self, choice: Choice) -> list[Case]:
        """All cases, with the one for all other values."""
        return [*choice.cases, *(() if choice.other is None else (choice.other,))]

    # -- places -----------------------------------------------------------------------------------

    def width(self, wire: str) -> int:
        return WIRE[wire].least

    def before_version(self) -> list[Slot]:
        """The slots of the first run as far as the version."""
        where, first = self.unit.version, self.unit.steps[0]
        assert where is not None
        assert isinstance(first, Fixed)
        return [each for each in first.slots if each.offset <= where.offset]

    def peeked_size(self) -> int:
        """How many bytes are needed for what is looked at before."""
        return max(each.offset + self.width(each.wire) for each in self.unit.peeks)

    def peeked_names(self) -> str:
        """A literal of what is looked at before."""
        peeks = sorted(self.unit.peeks, key=lambda each: each.offset)
        return self.literal(", ".join(each.name for each in peeks))
