"""What one module needs besides its own code: imports, and the `Struct` of each run of fixed fields."""

from __future__ import annotations

import posixpath

from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import camel, member_names
from kodec.generator.targets.python.runtime import runtime_of
from kodec.generator.targets.python.views.modules import Run as RunView
from kodec.generator.wire import WIRE

__all__ = ["BIT_CODES", "Context"]

BIT_CODES = {size: WIRE[f"u{size}"].python.code for size in (1, 2, 4, 8)}


class Context:
    """The frame of one module: its imports, its name in other modules, its `Struct` constants."""

    def __init__(self, back: ModelIndex, schema: Schema) -> None:
        self.back = back
        self.model = back.model
        self.program = back.program
        self.schema = schema
        self.path = schema.module + ".py"
        self.runtime = runtime_of(back.runtime, self.path)
        self.sibling_names: dict[str, set[str]] = {}
        own = {back.classes[struct.name] for struct in schema.structs}
        own |= {back.enum_class(enum.name) for enum in schema.enums}
        for struct in schema.structs:
            own |= {f"{verb}_{back.function(struct.name)}" for verb in ("read", "write")}
        # which schema each name of the module comes from
        self._imported = dict.fromkeys(own, schema.id)
        self.runs: dict[tuple[str, tuple[str, ...]], RunView] = {}

    def relative(self, schema_id: str) -> str:
        here = posixpath.dirname(self.path)
        there = self.model.schema(schema_id).module
        relative = posixpath.relpath(there, here or ".")
        ups = relative.count("../")
        return "." * (ups + 1) + relative.replace("../", "").replace("/", ".")

    def imported(self, owner: str, name: str) -> str:
        """`name` of the module of type `owner`, imported if that is another module."""
        schema = self.model.schema_of(owner)
        if schema.id == self.schema.id:
            return name
        if self._imported.setdefault(name, schema.id) == schema.id:
            self.sibling_names.setdefault(schema.id, set()).add(name)
            return name
        # this module or another sibling has the name too: take this one in by a longer one
        verb, _, rest = name.partition("_")
        alias = f"{verb}_{schema.id}_{rest}" if rest else camel(schema.id) + name
        self.sibling_names.setdefault(schema.id, set()).add(f"{name} as {alias}")
        return alias

    def enum_names(self, enum: str) -> dict[str, str]:
        """The name of each value of an enum in its class."""
        return member_names(self.model.enum(enum))

    def class_of(self, struct_name: str) -> str:
        return self.imported(struct_name, self.back.classes[struct_name])

    def run(self, form: str, names: tuple[str, ...]) -> int:
        """The number of the run of these fields, which is made when it is first asked for."""
        key = form, names
        if key not in self.runs:
            self.runs[key] = RunView(len(self.runs) + 1, form, names)
        return self.runs[key].number
