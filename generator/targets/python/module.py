"""One schema to the view of its module."""

from __future__ import annotations

import keyword

from kodec.generator.plan.steps import Program
from kodec.generator.schema.model import Enum, Field, Ref, Schema, Struct
from kodec.generator.schema.roles import transparent
from kodec.generator.targets.python.expressions import value_text
from kodec.generator.targets.python.facts import Facts, of_tag, targets_of
from kodec.generator.targets.python.names import attribute, camel, local
from kodec.generator.targets.python.printer import Printer
from kodec.generator.targets.python.rows import rows_view
from kodec.generator.targets.python.tables import is_of_messages, message_tables
from kodec.generator.targets.python.types import Types
from kodec.generator.targets.python.units import units_view
from kodec.generator.targets.python.views.modules import (
    Attribute,
    Checksum,
    Constant,
    EnumClass,
    EnumMember,
    ModuleView,
    Peek,
    PeekValue,
    StructView,
)
from kodec.generator.targets.python.views.rows import Place
from kodec.generator.targets.python.writer import Holder, Writer
from kodec.generator.text import Text, docstring, python_literal
from kodec.generator.wire import WIRE

__all__ = ["Module"]


class Module(Types):
    """The view of a module: its classes and functions."""

    def __init__(self, back: Facts, program: Program, schema: Schema) -> None:
        super().__init__(back, schema)
        self.program = program

    def build(self) -> ModuleView:
        structs = [self._struct(struct) for struct in self._ordered() if not self.back.in_runtime(struct)]
        enums = [self._enum(enum) for enum in self.schema.enums]
        exports = [name for view in structs for name in view.exports] + [view.name for view in enums]
        head = self.schema.title or Text(camel(self.schema.id))
        doc = self.schema.root.doc
        return ModuleView(
            self.schema,
            self.path,
            docstring(Text.of(head, ".\n\n", doc) if doc else Text.of(head, "."), ""),
            self,
            tuple(enums),
            tuple(structs),
            tuple(sorted(exports)),
            message_tables(self.back, self.program, self.schema),
        )

    def _ordered(self) -> list[Struct]:
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

    def _enum(self, enum: Enum) -> EnumClass:
        members = [
            EnumMember(
                item.id.upper() + ("_" if keyword.iskeyword(item.id.upper()) else ""),
                item.value,
                docstring(item.doc, "    "),
            )
            for item in enum.items
        ]
        return EnumClass(self.back.enum_class(enum.name), enum.name.replace("::", "."), tuple(members))

    # -- classes ----------------------------------------------------------------------------------

    def _attributes(self, struct: Struct) -> list[Attribute]:
        found = []
        for spec in struct.fields:
            section = self.back.tag_section(spec)
            if section is not None:
                found += [self._attribute(struct, of_tag(tag, spec)) for tag in section.tags]
                doc = spec.doc or Text("Tagged fields that the schema does not know: (tag, bytes).")
                found.append(
                    Attribute(
                        attribute(spec.id),
                        "list[tuple[int, bytes]]",
                        "field(default_factory=list)",
                        docstring(doc, "    "),
                    )
                )
            elif self.stored(struct, spec):
                found.append(self._attribute(struct, spec))
        return found

    def _attribute(self, struct: Struct, spec: Field) -> Attribute:
        default = self.default(struct, spec)
        annotation = self.annotation(struct, spec)
        return Attribute(attribute(spec.id), annotation, default, docstring(spec.doc, "    "))

    def _struct(self, struct: Struct) -> StructView:
        name = self.back.classes[struct.name]
        function = self.back.function(struct)
        inner = transparent(struct)
        unit = self.program.units[struct.name]
        printer = Printer(self, unit, struct)
        exports: list[str] = [] if inner is not None else [name]
        exports += [f"read_{function}", f"write_{function}"]
        if printer.unit.packed is not None:
            exports.append(f"read_{function}_head")
        rows = rows_view(self, struct, function)
        if rows is not None:
            exports += [rows.reader, rows.writer, rows.head_types, rows.head_values]
        units = units_view(self, struct, function)
        if units is not None:
            exports += [units.reader]
        peek = None
        if printer.unit.peeks:
            peek = self.peek(struct)
            exports += [peek.name, f"PEEK_{function.upper()}_AT", f"PEEK_{function.upper()}_SIZE"]
            exports += [f"{peek.name}_{value.name}" for value in peek.derived]
        checksum = self._checksum(struct)
        if checksum is not None:
            exports.append(checksum.name)
        return StructView(
            name=name,
            function=function,
            doc=self._class_doc(struct),
            transparent=inner is not None,
            returns=self.py_type(Ref(struct.name)) if inner is not None else name,
            attrs=() if inner is not None else tuple(self._attributes(struct)),
            constants=() if inner is not None else tuple(self._constants(struct)),
            params=tuple(self.parameters(struct)),
            printer=printer,
            writer=Writer(self, unit, struct),
            holder=Holder(self, unit, struct),
            peek=peek,
            checksum=checksum,
            rows=rows,
            units=units,
            exports=tuple(exports),
            base="" if inner is not None else self._base(struct),
        )

    def _base(self, struct: Struct) -> str:
        """The class that has the methods; empty where the parameters are others."""
        return {(): "Message", (("version", "int"),): "VersionedMessage"}.get(
            tuple(self.parameters(struct)), ""
        )

    def peek(self, struct: Struct) -> Peek:
        """The numbers looked at before the type is read, as one call, and what follows from them alone."""
        peeks = sorted(self.program.units[struct.name].peeks, key=lambda each: each.offset)
        codes = ""
        at = 0
        for each in peeks:
            codes += f"{each.offset - at}x" * (each.offset > at) + WIRE[each.wire].python.code
            at = each.offset + WIRE[each.wire].least
        order = "<" if any(each.order == "le" for each in peeks) else ">"
        docs = {each.id: each.doc for each in struct.instances}
        derived = [
            PeekValue(
                name,
                value_text(value, local),
                docstring(docs[name] or Text(f"`{name}`, from what was peeked."), "    "),
            )
            for name, value in self.program.units[struct.name].peeked
        ]
        return Peek(
            f"peek_{self.back.function(struct)}",
            order + codes,
            tuple(local(each.name) for each in peeks),
            at,
            tuple(Place(each.name, each.offset) for each in peeks),
            tuple(derived),
        )

    def _checksum(self, struct: Struct) -> Checksum | None:
        found = self.back.checksum(struct)
        if found is None:
            return None
        kind, at, start = found
        return Checksum(f"checksum_of_{self.back.function(struct)}", at, start, kind)

    def _class_doc(self, struct: Struct) -> str:
        doc = struct.doc or Text(f"`{struct.id}` of {self.schema.path}.")
        for index, source in enumerate(struct.doc_ref):
            doc = Text.of(doc, "; " if index else "\n\nSource: ", source)
        return docstring(doc, "    ")

    def _constants(self, struct: Struct) -> list[Constant]:
        """What holds for every object of a class: its versions, its topic, where its fields stand."""
        found = []
        if struct.versions:
            found.append(
                Constant("VERSIONS", "range", f"range({struct.versions.first}, {struct.versions.last + 1})")
            )
        if struct.flexible is not None:
            flexible = struct.flexible if not struct.versions else struct.flexible.intersect(struct.versions)
            text = f"range({flexible.first}, {flexible.last + 1})" if flexible else "range(0)"
            found.append(Constant("FLEXIBLE", "range", text))
        if struct.topic:
            found.append(Constant("TOPIC", "str", python_literal(struct.topic)))
        if struct.message is not None:
            found.append(Constant("KIND", "str", python_literal(struct.message.kind)))
            found.append(Constant("NUMBER", "int", str(struct.message.number)))
        return found + self._of_fields(struct) + self._places(struct)

    def _of_fields(self, struct: Struct) -> list[Constant]:
        """Of messages: what the format calls fields, which versions have them, which of them are tagged."""
        schema = self.schema.root
        if not schema.versions and schema.message is None:
            return []
        names: dict[str, str] = {}
        versions: dict[str, str] = {}
        tags: dict[str, str] = {}

        def add(name: str, text: Text, since: int | None, until: int | None) -> None:
            if text:
                names[name] = python_literal(text)
            if struct.versions and (since is not None or until is not None):
                first = struct.versions.first if since is None else since
                versions[name] = f"range({first}, {(struct.versions.last if until is None else until) + 1})"

        for spec in struct.fields:
            section = self.back.tag_section(spec)
            if section is None and self.stored(struct, spec):
                add(attribute(spec.id), spec.orig_id, spec.since, spec.until)
            for tag in () if section is None else section.tags:
                since = spec.since if tag.since is None else tag.since
                add(attribute(tag.id), tag.orig_id, since, spec.until if tag.until is None else tag.until)
                tags[attribute(tag.id)] = str(tag.number)
        made = (
            ("NAMES", "str", names, "What the format itself calls fields."),
            ("IN_VERSIONS", "range", versions, "Fields that not all versions have."),
            ("TAGS", "int", tags, "Tagged fields."),
        )
        return [
            Constant(
                name,
                f"dict[str, {kind}]",
                "{" + ", ".join(f'"{k}": {v}' for k, v in found.items()) + "}",
                doc,
            )
            for name, kind, found, doc in made
            if found
        ]

    def _places(self, struct: Struct) -> list[Constant]:
        """Sizes and places that hold in every layout."""
        found = []
        shape = self.back.shape(struct)
        if shape.size is not None:
            found.append(Constant("SIZE", "int", str(shape.size), "Bytes that one takes."))
        else:
            found.append(Constant("MIN_SIZE", "int", str(shape.least), "The fewest bytes that one can take."))
        if is_of_messages(self.schema):
            return found
        names = dict.fromkeys((*shape.offsets, *shape.formats))
        items = ", ".join(
            f'"{name}": ({shape.offsets.get(name, -1)}, "{shape.formats.get(name, "")}")' for name in names
        )
        if items:
            doc = "Where fields start, in bytes, -1 where that varies; and how `struct` says one number."
            found.append(Constant("PLACES", "dict[str, tuple[int, str]]", f"{{{items}}}", doc))
        return found
