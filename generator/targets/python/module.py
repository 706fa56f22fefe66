"""One schema to the view of its module."""

from __future__ import annotations

import keyword
from typing import Any

from kodec.generator.layout import Run, Variant
from kodec.generator.schema.model import Enum, Field, Prim, Ref, Struct
from kodec.generator.schema.roles import codec_field, transparent
from kodec.generator.targets.python.context import CODES
from kodec.generator.targets.python.facts import targets_of
from kodec.generator.targets.python.names import attribute, camel, local
from kodec.generator.targets.python.reader import Reader
from kodec.generator.targets.python.rows import rows_view
from kodec.generator.targets.python.units import units_view
from kodec.generator.targets.python.views import ModuleView, View
from kodec.generator.targets.python.writer import Writer
from kodec.generator.text import Text, docstring, python_literal

__all__ = ["Module"]


class Module(Reader):
    """The view of a module: its classes and functions."""

    def build(self) -> ModuleView:
        structs = [self.struct(struct) for struct in self.ordered() if not self.back.in_runtime(struct)]
        enums = [self.enum(enum) for enum in self.schema.enums]
        exports = sorted(name for view in structs for name in view.exports)
        exports += [view.name for view in enums]
        siblings = sorted(
            (self.relative(schema), sorted(names)) for schema, names in self.sibling_names.items()
        )
        head = self.schema.title or Text(camel(self.schema.id))
        doc = self.schema.root.doc
        return ModuleView(
            self.schema,
            self.path,
            docstring(Text.of(head, ".\n\n", doc) if doc else Text.of(head, "."), ""),
            siblings,
            list(self.runs.values()),
            enums,
            structs,
            sorted(exports),
        )

    def ordered(self) -> list[Struct]:
        """Types before those that hold them."""
        done: dict[str, Struct] = {}

        def visit(struct: Struct, trail: tuple[str, ...]) -> None:
            if struct.name in done or struct.name in trail:
                return
            for name in targets_of(struct):
                if name.partition("::")[0] == self.schema.id:
                    visit(self.model.struct(name), (*trail, struct.name))
            done[struct.name] = struct

        for struct in self.schema.structs:
            visit(struct, ())
        return list(done.values())

    def enum(self, enum: Enum) -> View:
        items = [
            {
                "name": item.id.upper() + ("_" if keyword.iskeyword(item.id.upper()) else ""),
                "value": item.value,
                "doc": docstring(item.doc, "    "),
            }
            for item in enum.items
        ]
        return View(
            "enum",
            {"name": self.back.enum_class(enum.name), "items": items, "id": enum.name.replace("::", ".")},
        )

    def attrs(self, struct: Struct) -> list[View]:
        views = []
        for spec in struct.fields:
            section = self.back.tag_section(spec)
            if section is not None:
                for tag in section.tags:
                    made = Field(
                        tag.id, tag.type, spec.place, orig_id=tag.orig_id, doc=tag.doc, default=tag.default
                    )
                    views.append(self.attr(struct, made))
                views.append(
                    View(
                        "attr",
                        {
                            "name": attribute(spec.id),
                            "type": "list[tuple[int, bytes]]",
                            "default": "field(default_factory=list)",
                            "doc": docstring(
                                spec.doc
                                or Text("Tagged fields that the schema does not know: (tag, bytes)."),
                                "    ",
                            ),
                        },
                    )
                )
                continue
            if self.stored(struct, spec):
                views.append(self.attr(struct, spec))
        return views

    def attr(self, struct: Struct, spec: Field) -> View:
        default = self.default(struct, spec)
        return View(
            "attr",
            {
                "name": attribute(spec.id),
                "type": self.annotation(struct, spec),
                "default": default,
                "doc": docstring(spec.doc, "    "),
            },
        )

    def struct(self, struct: Struct) -> View:
        name = self.back.classes[struct.name]
        function = self.back.function(struct)
        inner = transparent(struct)
        peeks = [each for each in struct.instances if each.peek_at is not None]
        dynamic = [param for param in struct.params if param.type != "bool"]
        returns = self.py_type(Ref(struct.name)) if inner is not None else name
        flags = [param for param in struct.params if param.type == "bool"]
        readers: list[View] = []
        writers: list[View] = []
        exports: list[str] = [] if inner is not None else [name]
        for known in self.layouts.bindings(struct):
            suffix = "".join(f"_{key}" for key, value in known.items() if value)
            variants = self.layouts.variants(struct, known)
            exports += [f"read_{function}{suffix}", f"write_{function}{suffix}"]
            readers.append(self.reader(struct, function, suffix, variants, dynamic, returns))
            writers.append(self.writer(struct, function, suffix, variants, dynamic, returns))
        head = codec_field(struct)
        if head is not None:
            exports += [f"read_{function}_head"]
        rows = rows_view(self, struct, function)
        if rows is not None:
            exports += [rows.reader, rows.writer]
        units = units_view(self, struct, function)
        if units is not None:
            exports += [units.reader]
        peek = None
        if peeks:
            peek = self.peek(function, struct)
            exports += [peek.name, f"PEEK_{function.upper()}_AT", f"PEEK_{function.upper()}_SIZE"]
            exports += [f"{peek.name}_{value['name']}" for value in peek.values_]
        checksum = self.checksum(struct)
        if checksum is not None:
            exports.append(checksum.name)
        methods = inner is None and not flags
        facts = {
            "name": name,
            "function": function,
            "doc": self.class_doc(struct),
            "attrs": self.attrs(struct) if inner is None else [],
            "transparent": inner is not None,
            "readers": readers,
            "writers": writers,
            "head": head is not None,
            "peek": peek,
            "dynamic": [View("param", {"name": local(param.id)}) for param in dynamic],
            "rows": rows,
            "units": units,
            "checksum": checksum,
            "exports": exports,
            "methods": methods,
            "constants": self.constants(struct) if inner is None else [],
            "returns": returns,
        }
        return View("struct", facts)

    def checksum(self, struct: Struct) -> View | None:
        found = self.back.checksum(struct)
        if found is None:
            return None
        kind, at, start = found
        name = f"checksum_of_{self.back.function(struct)}"
        return View("checksum", {"name": name, "at": at, "start": start, "function": kind})

    def class_doc(self, struct: Struct) -> str:
        doc = struct.doc or Text(f"`{struct.id}` of {self.schema.path}.")
        for index, source in enumerate(struct.doc_ref):
            doc = Text.of(doc, "; " if index else "\n\nSource: ", source)
        return docstring(doc, "    ")

    def constants(self, struct: Struct) -> list[tuple[str, str]]:
        found = []
        if struct.versions:
            found.append(("VERSIONS", f"range({struct.versions.first}, {struct.versions.last + 1})"))
        if struct.flexible is not None:
            flexible = struct.flexible if not struct.versions else struct.flexible.intersect(struct.versions)
            found.append(
                ("FLEXIBLE", f"range({flexible.first}, {flexible.last + 1})" if flexible else "range(0)")
            )
        if struct.topic:
            found.append(("TOPIC", python_literal(struct.topic)))
        return found

    def reader(
        self,
        struct: Struct,
        function: str,
        suffix: str,
        variants: list[Variant],
        dynamic: list[Any],
        returns: str,
    ) -> View:
        bodies = []
        for variant in variants:
            many = len(variants) > 1
            tail = f"_v{variant.versions[0]}" if many else ""
            bodies.append(
                View(
                    "body",
                    {
                        "name": f"_read_{function}{suffix}{tail}"
                        if struct.versions
                        else f"read_{function}{suffix}",
                        "versions": variant.versions,
                        **self.read_body(struct, variant.layout, returns),
                    },
                )
            )
        dispatch = self.dispatch(struct, variants, f"_read_{function}{suffix}") if struct.versions else None
        return View("reader", {"name": f"read_{function}{suffix}", "bodies": bodies, "dispatch": dispatch})

    def dispatch(self, struct: Struct, variants: list[Variant], stem: str) -> View:
        assert struct.versions
        table = {}
        for variant in variants:
            tail = f"_v{variant.versions[0]}" if len(variants) > 1 else ""
            table.update(dict.fromkeys(variant.versions, f"{stem}{tail}"))
        name = struct.version_field
        field_ = struct.field(name)
        facts: dict[str, Any] = {
            "table": table,
            "known": str(struct.versions),
            "field": name,
            "single": len(variants) == 1,
            "target": f"{stem}",
            "peek": None,
            "local": local(name),
        }
        if field_ is not None:
            first = variants[0].layout.steps[0]
            if not isinstance(first, Run):
                raise TypeError("the version must stand at a fixed place")
            at = next(f for f in first.fields if f.field is not None and f.field.id == name)
            assert isinstance(at.what, Prim)
            order = ">" if at.what.endian == "be" else "<"
            facts["peek"] = {"offset": at.offset, "size": at.size, "format": order + CODES[at.what.name]}
            facts["run"] = self.run_id(first)
        return View("dispatch", facts)

    def writer(
        self,
        struct: Struct,
        function: str,
        suffix: str,
        variants: list[Variant],
        dynamic: list[Any],
        returns: str,
    ) -> View:
        bodies = []
        for variant in variants:
            tail = f"_v{variant.versions[0]}" if len(variants) > 1 else ""
            bodies.append(
                View(
                    "body",
                    {
                        "name": f"_write_{function}{suffix}{tail}"
                        if struct.versions
                        else f"write_{function}{suffix}",
                        "versions": variant.versions,
                        **Writer(self, struct, variant.layout, returns, variant.versions).body(),
                    },
                )
            )
        dispatch = self.dispatch(struct, variants, f"_write_{function}{suffix}") if struct.versions else None
        return View("writer", {"name": f"write_{function}{suffix}", "bodies": bodies, "dispatch": dispatch})
