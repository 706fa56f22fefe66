"""The data of the template of a streamed module."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.generator.plan.steps import InstancePlan
from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.names import RUNTIME
from kodec.generator.targets.python.runtime import inside
from kodec.generator.targets.python.streams.printer import Printer
from kodec.generator.targets.python.streams.tables import NativeUnit
from kodec.generator.targets.python.views.modules import Attribute, Constant, EnumClass

__all__ = ["ClassView", "Property", "StreamModule"]


@dataclass(frozen=True, slots=True)
class Property:
    """An instance, which is computed or read; one that is read can be set, and is written."""

    name: str
    type: str
    doc: str
    plan: InstancePlan


@dataclass(frozen=True, slots=True)
class ClassView:
    """A type: its fields come first, then its parameters; `told` are these as arguments, with their types."""

    name: str
    doc: str
    printer: Printer
    told: tuple[tuple[str, str], ...]
    params: tuple[Attribute, ...]
    attrs: tuple[Attribute, ...]
    properties: tuple[Property, ...]
    native: NativeUnit
    constants: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class StreamModule:
    """A module; its runs and what it imports are known when its classes are printed.

    `late` says that it and a sibling need each other, so that its imports come last.
    """

    schema: Schema
    context: Context
    doc: str
    enums: tuple[EnumClass, ...]
    classes: tuple[ClassView, ...]
    exports: tuple[str, ...]
    late: bool = False
    uses: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        return self.context.path

    @property
    def units(self) -> list[NativeUnit]:
        """The table of the native reader."""
        return [each.native for each in self.classes]

    @property
    def siblings(self) -> list[tuple[str, list[str]]]:
        """The imports from other modules."""
        found = self.context.sibling_names.items()
        return sorted((self.context.relative(schema), sorted(names)) for schema, names in found)

    @property
    def runtime(self) -> list[tuple[str, list[str]]]:
        """The imports from the runtime, by module."""
        package = self.context.runtime
        found = [(inside(package, name), sorted(set(names) & self.uses)) for name, names in RUNTIME.items()]
        return [(name, names) for name, names in found if names]
