"""What templates see: bags of ready-made text, in which nothing is left to decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.names import RUNTIME

__all__ = ["ModuleView", "View"]


@dataclass(slots=True)
class View:
    """A bag of ready-made text for a template."""

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.facts[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(slots=True)
class ModuleView:
    schema: Schema
    path: str
    doc: str
    siblings: list[tuple[str, list[str]]]
    runs: list[tuple[str, str, list[tuple[str, int]], list[tuple[str, str]]]]
    enums: list[View]
    structs: list[View]
    exports: list[str]
    uses: set[str] = field(default_factory=set)
    """Every name that the module's text uses: known when it is rendered, and imported then."""

    @property
    def runtime(self) -> list[tuple[str, list[str]]]:
        """What is imported from kodec.runtime, by module."""
        found = [(module, sorted(self.uses.intersection(names))) for module, names in RUNTIME.items()]
        return [(module, names) for module, names in found if names]
