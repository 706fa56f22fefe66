"""One schema to the view of its module."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping

from kodec.generator.plan.rows import rows_of
from kodec.generator.plan.steps import Derived, Unit, When, fields_in
from kodec.generator.plan.values import SECTION, Value
from kodec.generator.schema.model import Enum, Struct
from kodec.generator.schema.type_roles import tagged_section
from kodec.generator.targets.python.expressions import BINDS, Expressions, needed_of
from kodec.generator.targets.python.names import argument, attribute, camel, local
from kodec.generator.targets.python.printer import Printer
from kodec.generator.targets.python.rows import rows_printer
from kodec.generator.targets.python.tables import is_of_messages, message_tables
from kodec.generator.targets.python.types import Types
from kodec.generator.targets.python.views.modules import (
    FORMS,
    PLACES,
    ROLES,
    Attribute,
    Checksum,
    Constant,
    EnumClass,
    EnumMember,
    ModuleView,
    Peek,
    PeekValue,
    Property,
    StructView,
)
from kodec.generator.targets.python.writer import Holder, Writer
from kodec.generator.text import Text, docstring, python_literal
from kodec.generator.wire import WIRE

__all__ = ["Module"]


class Module(Types):
    """The view of a module: its classes and functions."""

    def build(self) -> ModuleView:
        structs = [self._struct(unit, self.model.struct(unit.name)) for unit in self._ordered()]
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
            message_tables(self.back, self.schema),
        )

    def _ordered(self) -> list[Unit]:
        """Types before those that hold them."""
        done: dict[str, Unit] = {}

        def visit(unit: Unit, trail: tuple[str, ...]) -> None:
            if unit.name in done or unit.name in trail:
                return
            for name in unit.holds:
                if name.partition("::")[0] == self.schema.id:
                    visit(self.program.units[name], (*trail, unit.name))
            done[unit.name] = unit

        for unit in self.back.units(self.schema):
            visit(unit, ())
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

    def _attributes(self, printer: Printer, struct: Struct) -> Iterator[Attribute]:
        docs = {each.id: each.doc for each in struct.fields}
        for spec in struct.fields:
            docs |= {tag.id: tag.doc for tag in tagged_section(self.model, spec) or ()}
        for each in printer.unit.fields:
            doc = docs[each.name]
            if each.type == SECTION and not doc:
                doc = Text("Tagged fields that the schema does not know: (tag, bytes).")
            text = printer.fields[each.name]
            if each.kept:
                initial = text.initial
                if each.name in printer.ranged:
                    # computed whatever it is
                    initial = f"field(default={initial}, compare=False)"
                yield Attribute(attribute(each.name), text.annotation, initial, docstring(doc, "    "))
        docs |= {each.id: each.doc for each in struct.params}
        initial = "field(default=REQUIRED, compare=False)"
        for param in printer.unit.parameters:
            shown = docstring(docs[param.name], "    ")
            yield Attribute(attribute(param.name), self.annotation(param.type), initial, shown)

    def _properties(self, printer: Printer, struct: Struct) -> Iterator[Property]:
        docs = {each.id: each.doc for each in struct.instances}
        optional = printer.optional | {each.name for each in printer.unit.kept_peeks}

        def of_self(name: str) -> str:
            text = f"self.{attribute(name)}"
            return f'given("{name}", {text})' if name in optional else text

        writer = Writer(self, printer.unit)
        numbers = [
            each for each in (*printer.unit.derived, *printer.unit.ranges) if each.name not in printer.kept
        ]
        for each in numbers:
            tests = [
                Expressions(field=of_self)(test, BINDS["not"])
                for test in _conditions(printer.unit, each.name)
            ]
            if writer.is_noted(each.name):
                given_ = "".join(f", {of_self(param.name)}" for param in printer.unit.parameters)
                text = f'noted(self, "{each.name}", write_{printer.name}{given_})'
            else:
                assert isinstance(each, Derived)
                text = writer.of_content(each)
                if tests:
                    text = f"({text})" if " if " in text else text
                    text = f"{text} if {' and '.join(tests)} else None"
            kind = "int | None" if tests or writer.is_noted(each.name) else "int"
            doc = next(spec.doc for spec in struct.fields if spec.id == each.name)
            yield Property(attribute(each.name), kind, docstring(doc, "        "), text)
        for peek in printer.unit.kept_peeks:
            kind = f"{self.type_text(peek.type)} | None"
            shown = docstring(docs[peek.name], "        ")
            yield Property(attribute(peek.name), kind, shown, f'self._peeked_number("{peek.name}")')
        for name, value in printer.unit.computed:
            text = printer.member(value.type, Expressions(field=of_self)(value))
            shown = docstring(docs[name], "        ")
            kind = self.annotation(value.type)
            yield Property(attribute(name), kind, shown, text, needed_of(value))

    def _struct(self, unit: Unit, struct: Struct) -> StructView:
        name = self.back.classes[unit.name]
        function = self.back.function(unit.name)
        is_class = unit.stands_for is None
        printer = Printer(self, unit)
        exports: list[str] = [name] if is_class else []
        exports += [f"read_{function}", f"write_{function}"]
        if unit.packed is not None:
            exports.append(f"read_{function}_head")
        holder = None if unit.packed is None else struct
        found = rows_of(self.model, self.program, self.schema, holder)
        rows = rows_printer(printer, found) if found is not None and found.unit == unit.name else None
        exports += [] if rows is None else rows.exports
        peek = None
        if unit.peeks:
            peek = self.peek(unit, struct)
            exports += [peek.name, f"PEEK_{function.upper()}_AT", f"PEEK_{function.upper()}_SIZE"]
            exports += [f"{peek.name}_{value.name}" for value in peek.derived]
        base = self._base(unit) if is_class else ""
        told: tuple[tuple[str, str], ...] = ()
        if base == "Parametrized":
            told = tuple((argument(each.name), self.annotation(each.type)) for each in unit.parameters)
        checksum = self._checksum(unit)
        if checksum is not None:
            exports.append(checksum.name)
        return StructView(
            name=name,
            function=function,
            doc=self._class_doc(struct),
            transparent=not is_class,
            returns=name if unit.stands_for is None else printer.fields[unit.stands_for].annotation,
            attrs=tuple(self._attributes(printer, struct)) if is_class else (),
            constants=tuple(self._constants(unit, struct)) if is_class else (),
            params=tuple(self.parameters(unit)),
            printer=printer,
            writer=Writer(self, unit),
            holder=Holder(self, unit),
            peek=peek,
            checksum=checksum,
            rows=rows,
            exports=tuple(exports),
            base=base,
            peeks=bool(unit.kept_peeks) and is_class,
            contents=tuple(self._contents(unit, struct)) if is_class else (),
            properties=tuple(self._properties(printer, struct)) if is_class else (),
            settled=unit.name in self.back.settled and is_class,
            told=told,
            kept=tuple(attribute(each.name) for each in unit.parameters) if told else (),
            computed=tuple(self._always_computed(printer)),
        )

    @staticmethod
    def _always_computed(printer: Printer) -> Iterator[str]:
        for each in printer.unit.derived:
            if not each.given and each.name in printer.kept and printer.fields[each.name].required:
                yield attribute(each.name)

    def _base(self, unit: Unit) -> str:
        """The class that has the methods; with other parameters than a version, the module has them."""
        settled = unit.name in self.back.settled
        if not unit.parameters:
            return "SettledMessage" if settled else "Message"
        versioned = tuple(self.parameters(unit)) == (("version", "int"),) and not settled
        return "VersionedMessage" if versioned else "Parametrized"

    def peek(self, unit: Unit, struct: Struct) -> Peek:
        """The numbers read ahead of the type, as one call, and the values computed from them alone."""
        peeks = sorted(unit.peeks, key=lambda each: each.offset)
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
                Expressions(field=local)(value),
                docstring(docs[name] or Text(f"`{name}`, from what was peeked."), "    "),
            )
            for name, value in unit.peeked
        ]
        return Peek(
            f"peek_{self.back.function(unit.name)}",
            order + codes,
            tuple(local(each.name) for each in peeks),
            at,
            tuple((each.name, each.offset) for each in peeks),
            tuple(derived),
        )

    def _checksum(self, unit: Unit) -> Checksum | None:
        found = self.back.checksum(unit)
        if found is None:
            return None
        kind, places = found
        name = f"checksum_of_{self.back.function(unit.name)}"
        if len(set(places.values())) == 1:
            at, start = next(iter(places.values()))
            return Checksum(name, str(at), str(start), kind)
        form = next(each for each in self.back.places.of(unit.steps) if each.path == unit.form)
        if form.offset is None or form.size is None or form.number is None:
            return None
        order = "little" if form.number[1] == "le" else "big"
        signed = WIRE[form.number[0]].name.startswith("s")
        return Checksum(
            name,
            "at",
            "start",
            kind,
            f'form = int.from_bytes(buf[pos + {form.offset} : pos + {form.offset + form.size}], "{order}", '
            f"signed={signed})",
            f"at, start = {places}[form]",
        )

    def _class_doc(self, struct: Struct) -> str:
        doc = struct.doc or Text(f"`{struct.id}` of {self.schema.path}.")
        for index, source in enumerate(struct.doc_ref):
            doc = Text.of(doc, "; " if index else "\n\nSource: ", source)
        return docstring(doc, "    ")

    def _constants(self, unit: Unit, struct: Struct) -> list[Constant]:
        """The constants of a class: its versions, its topic, the positions of its fields."""
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
        return found + self._of_fields(unit, struct) + self._places(unit)

    def _contents(self, unit: Unit, struct: Struct) -> Iterator[Attribute]:
        """Fields that are the same bytes in every object."""
        docs = {each.id: each.doc for each in struct.fields}
        for name, data in unit.fixed:
            yield Attribute(attribute(name), "ClassVar[bytes]", repr(data), docstring(docs[name], "    "))

    def _of_fields(self, unit: Unit, struct: Struct) -> list[Constant]:
        """For messages: the format's names of fields, the versions that have them, and which are tagged."""
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
            section = tagged_section(self.model, spec)
            if section is None and unit.field(spec.id).kept:
                add(attribute(spec.id), spec.orig_id, spec.since, spec.until)
            for tag in section or ():
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

    def _places(self, unit: Unit) -> list[Constant]:
        """Sizes and places that hold in every layout."""
        found = []
        layouts = [{each.path: each for each in fields} for _, _, fields in self.back.places.layouts(unit)]
        sizes = {self.back.places.size(unit, known) for known in self.back.places.known(unit)}
        if len(sizes) == 1 and (size := sizes.pop()) is not None:
            found.append(Constant("SIZE", "int", str(size), "Bytes that one takes."))
        else:
            found.append(Constant("MIN_SIZE", "int", str(unit.least), "The fewest bytes that one can take."))
        if is_of_messages(self.schema):
            return found
        numbers = [each.number for layout in layouts for each in layout.values() if each.number]
        usual = next((order for _, order in numbers if order), "be")
        places: dict[str, tuple[int, str]] = {}
        for name, first in layouts[0].items():
            if "." in name or first.bits:
                continue
            all_of = [layout.get(name) for layout in layouts]
            same = all(each is not None and each.offset == first.offset for each in all_of)
            offset = first.offset if same and first.offset is not None else -1
            codes = {_code(each.number, usual) for each in all_of if each is not None}
            code = codes.pop() if len(codes) == 1 else ""
            if offset >= 0 or code:
                places[name] = offset, code
        if places:
            found.append(Constant("PLACES", _PLACES_TYPE, _places_text(places), PLACES))
        if unit.roles:
            items = ", ".join(f'"{role}": "{_path(path)}"' for role, path in unit.roles)
            found.append(Constant("ROLES", "dict[str, str]", f"{{{items}}}", ROLES))
        if unit.forms:
            forms = {}
            for form in unit.forms:
                fields = self.back.places.of(unit.steps, {unit.form: form})
                forms[form] = _places_text(
                    {
                        each.path: (-1 if each.offset is None else each.offset, _code(each.number, usual))
                        for each in fields
                        if "." not in each.path and not each.bits
                    }
                )
            items = ", ".join(f"{form}: {text}" for form, text in forms.items())
            about = FORMS.format(attribute(unit.form))
            found.append(Constant("FORMS", f"dict[int, {_PLACES_TYPE}]", f"{{{items}}}", about))
        return found


def _conditions(unit: Unit, name: str) -> Iterator[Value]:
    """The conditions under which a field is written, outer ones first."""
    for step in unit.steps:
        while isinstance(step, When) and name in fields_in((step,)):
            yield step.test
            step = next(each for each in step.steps if name in fields_in((each,)))


_PLACES_TYPE = "dict[str, tuple[int, str]]"


def _places_text(places: Mapping[str, tuple[int, str]]) -> str:
    items = ", ".join(f'"{attribute(name)}": ({at}, "{code}")' for name, (at, code) in places.items())
    return f"{{{items}}}"


def _path(path: str) -> str:
    """The attributes of a path of fields."""
    return ".".join(map(attribute, path.split(".")))


def _code(number: tuple[str, str] | None, usual: str) -> str:
    """The format of a number in `struct`, of one byte in the `usual` order; empty if it does not support
    the number."""
    if number is None or WIRE[number[0]].intrinsic:
        return ""
    return ("<" if (number[1] or usual) == "le" else ">") + WIRE[number[0]].python.code
