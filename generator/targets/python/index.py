"""A model and its program with their Python names: which types give classes, and what these are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kodec.generator.plan.build import program_of
from kodec.generator.plan.places import Places
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
from kodec.generator.targets.python.names import RUNTIME, camel

__all__ = ["ModelIndex"]

_IMPORTED = frozenset().union(*RUNTIME.values())


class ModelIndex:
    """The Python names of the parts of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.program: Program = program_of(model)
        self.places = Places(self.program)
        self.settled = frozenset(self._settled())
        self._ids = {schema.id: Counter(each.id for each in schema.structs) for schema in model.schemas}
        self.classes = {
            struct.name: camel(self.function(struct.name))
            for schema in model.schemas
            for struct in schema.structs
        }

    def _settled(self) -> Iterator[str]:
        """The types of objects in which a writer computes numbers that do not fit what they are about."""
        asking = {
            unit.name
            for unit in self.program.units.values()
            if any(isinstance(part, (Choice, Size)) and part.solved for part in values_of(unit.steps))
        }
        found: dict[str, bool] = {}

        def holds(name: str) -> bool:
            if name not in found:
                found[name] = False
                unit = self.program.units.get(name)
                found[name] = name in asking or (unit is not None and any(map(holds, unit.holds)))
            return found[name]

        yield from filter(holds, self.program.units)

    def function(self, name: str) -> str:
        """The suffix of `read_` and `write_`: the type's name, or its path if two have that name."""
        schema, *path = name.split("::")
        own = (path or [schema])[-1]
        if self._ids[schema][own] > 1:
            own = "_".join(path or [schema])
        # no schema name ends in `_`
        # two `_`: a field that is called as what is imported has one
        return f"{own}__" if f"read_{own}" in _IMPORTED else own

    def enum_class(self, name: str) -> str:
        """The class of an enum: its name, or its path where another enum or type has that name."""
        schema = self.model.schema_of(name)
        own = camel(name.rpartition("::")[2])
        others = [camel(each.name.rpartition("::")[2]) for each in schema.enums if each.name != name]
        others += [self.classes[each.name] for each in schema.structs]
        return camel(name.replace("::", "_")) if own in others else own

    def units(self, schema: Schema) -> list[Unit]:
        """The types of a schema that its module reads: the runtime has numbers, and tagged sections."""
        found = self.program.units
        return [found[struct.name] for struct in schema.structs if struct.name in found]

    def wanted(self, schema: Schema) -> bool:
        """Whether a module is generated for the schema."""
        return schema.streamed or bool(self.units(schema))

    def checksum(self, unit: Unit) -> tuple[str, int, int] | None:
        """(function, position, start of the covered bytes) of a checksum at a fixed position over all
        bytes to the end."""
        if unit.versions or unit.parameters:
            return None
        places = {each.path: each.offset for each in self.places.of(unit.steps)}
        for step in reversed(unit.steps):
            match step:
                case Checksum(name, function, first, None):
                    at, start = places[name], places[first]
                    return None if at is None or start is None else (function, at, start)
                case Fixed() | One() | Many() | Tagged() | Stored() | When():
                    return None
        return None
