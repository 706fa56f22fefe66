"""A model and its program with their Python names: which types give classes, and what these are called."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.passes import layouts_needed
from kodec.generator.plan.build import program_of
from kodec.generator.plan.places import Places
from kodec.generator.plan.printing import packing
from kodec.generator.plan.steps import (
    Checksum,
    Choice,
    Fixed,
    Many,
    One,
    Program,
    Size,
    Stored,
    Tagged,
    Unit,
    When,
    values_of,
)
from kodec.generator.schema.model import Model, Schema
from kodec.generator.targets.python.names import ClassNames

__all__ = ["ModelIndex"]


class ModelIndex(ClassNames):
    """The Python names of the parts of a model, its program, and the folder for a copy of the runtime."""

    def __init__(self, model: Model, runtime: str = "") -> None:
        super().__init__(model)
        self.runtime = runtime
        self.program: Program = program_of(model)
        self.places = Places(self.program)
        self.settled = frozenset(self._settled())
        self.unpacking = packing(self.program)
        # elsewhere a new object lacks what is not given, in layouts and in streams
        self.zeroed = layouts_needed(model)

    def _settled(self) -> Iterator[str]:
        """The types of objects in which a writer computes numbers that do not fit what they are about."""
        asking = {
            unit.name
            for unit in self.program.units.values()
            if any(isinstance(part, (Choice, Size, When)) and part.solved for part in values_of(unit.steps))
        }
        found: dict[str, bool] = {}

        def holds(name: str) -> bool:
            if name not in found:
                found[name] = False
                unit = self.program.units.get(name)
                found[name] = name in asking or (unit is not None and any(map(holds, unit.holds)))
            return found[name]

        yield from filter(holds, self.program.units)

    def units(self, schema: Schema) -> list[Unit]:
        """The types of a schema that its module reads: the runtime has numbers, and tagged sections."""
        found = self.program.units
        return [found[struct.name] for struct in schema.structs if struct.name in found]

    def wanted(self, schema: Schema) -> bool:
        """Whether a module is generated for the schema."""
        return schema.streamed or bool(self.units(schema))

    def checksum(self, unit: Unit) -> tuple[str, dict[int, tuple[int, int]]] | None:
        """(function, by form: position, start of the covered bytes) of a checksum over all bytes to the end.

        Its position is fixed, at least in each form; a type without forms has one place, of form 0.
        """
        if unit.versions or unit.parameters:
            return None
        for step in reversed(unit.steps):
            match step:
                case Checksum(name, function, first, None):
                    found = {}
                    for form in unit.forms or (0,):
                        known = {unit.form: form} if unit.forms else {}
                        places = {each.path: each.offset for each in self.places.of(unit.steps, known)}
                        at, start = places.get(name), places.get(first)
                        if at is None or start is None:
                            return None
                        found[form] = at, start
                    return function, found
                case Fixed() | One() | Many() | Tagged() | Stored() | When():
                    return None
        return None
