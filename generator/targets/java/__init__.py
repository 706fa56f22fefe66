"""Java classes that read and write: a record for each type, and the columns of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from kodec.generator.code.printing import StreamPackage
from kodec.generator.plan.build import program_of
from kodec.generator.plan.printing import lacking, wide_bits
from kodec.generator.plan.rows import rows_of
from kodec.generator.plan.steps import Program, Unit, When, steps_in
from kodec.generator.plan.values import OCTETS, Maybe
from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.model import Field, Instance, Model, Param, Ref, Schema, Struct, Tag
from kodec.generator.schema.type_roles import tagged_section
from kodec.generator.target import File, Request, mark
from kodec.generator.targets.java.expressions import beyond, bit_field, codecs, literal
from kodec.generator.targets.java.names import Names, component, constant, lower
from kodec.generator.targets.java.printer import Printer, deeper, filled
from kodec.generator.targets.java.rows import RowsPrinter
from kodec.generator.targets.java.streams import StreamPrinter
from kodec.generator.templates import Templates
from kodec.generator.text import Text, java_literal, javadoc, one_line
from kodec.generator.wire import WIRE

__all__ = ["TARGET"]

FOLDER = "java"
_TEMPLATES = Templates(
    "kodec.generator.targets.java",
    bit_field=bit_field,
    bytes_of=lambda data: literal(data, OCTETS),
    codecs=codecs,
    component=component,
    deeper=deeper,
    filled=filled,
    kind=lambda part: type(part).__name__,
    known_codecs=lambda packed: ", ".join(f"{number} ({name})" for number, name in packed.codecs),
    literal=java_literal,
    wire=WIRE,
)
_PACKAGE = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*")
MOST_COMPONENTS = 120
# what the method that makes them has room for
MOST_MEMBERS = 3000
_RUNTIME = """
    Buffer Checksums Codecs FormatException Input Load Output ReadOptions Source Stored StreamedObject Streams
    TaggedField Values Varints
""".split()  # noqa: SIM905  # the words of one list
_JDK = ("ArrayList", "Arrays", "List", "Objects", "UUID")


@dataclass(frozen=True, slots=True)
class _Plan:
    model: Model
    program: Program
    package: str


@dataclass(frozen=True, slots=True)
class _Enum:
    name: str
    doc: str
    items: tuple[tuple[str, int, str], ...]


@dataclass(slots=True)
class _File:
    """What the template of a file prints."""

    name: str
    package: str
    doc: str
    top: Printer | None
    functions: list[Printer]
    enums: list[_Enum]
    types: list[Printer]
    rows: RowsPrinter | None
    streams: list[StreamPrinter] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    body: str = ""


def _package(request: Request) -> str:
    return request.option("java", "package", "formats")


class _Java:
    """A class for each schema that defines types, in `java/`."""

    name = "java"
    no_stream_writers = "Java"
    files = ("*.java",)
    runtime = "java"
    options: ClassVar[dict[str, str]] = {
        "package": "the package of the classes, with one inside it for each folder of schemas; `formats`"
    }

    def lacks(self, request: Request) -> Iterator[SchemaProblem]:
        """Streamed schemas, names that Java cannot tell apart, values beyond 64 bits."""
        package = _package(request)
        if _PACKAGE.fullmatch(package) is None:
            raise ValueError(f"`{package}` is not the name of a Java package")
        model = request.model
        names = Names(model, package)
        program = program_of(model)
        paths: dict[str, str] = {}
        yield from wide_bits(model, program, "Java")
        streams = StreamPackage.of(model)
        yield from streams.problems("Java", tables_only=False)
        for schema in model.schemas:
            path = f"{names.package(schema)}.{names.tops[schema.id]}".lower()
            if path in paths:
                yield SchemaProblem(
                    schema.root.place, schema.id, f"its Java class would be that of `{paths[path]}`"
                )
            paths[path] = schema.id
            for unit in _units(program, schema):
                yield from _unspeakable(model.struct(unit.name), model, unit)
            for enum in schema.enums:
                if len(enum.items) > MOST_MEMBERS:
                    text = f"more than {MOST_MEMBERS} members for a Java enum"
                    yield SchemaProblem(schema.root.place, enum.name.replace("::", "."), text)
            for unit in _units(streams.program, schema):
                yield from _ambiguous(model.struct(unit.name))

    def plan(self, request: Request) -> _Plan:
        return _Plan(request.model, program_of(request.model), _package(request))

    def emit(self, plan: _Plan) -> Iterator[File]:
        names = Names(plan.model, plan.package)
        streamed = StreamPackage.of(plan.model)
        for schema in plan.model.schemas:
            units = _units(plan.program, schema)
            streams = [
                StreamPrinter(
                    names,
                    streamed.codes[unit.name],
                    schema,
                    _stream_docs(plan.model.struct(unit.name), schema),
                    seeks=streamed.seeks(unit.name),
                )
                for unit in _units(streamed.program, schema)
            ]
            if not units and not streams:
                continue
            printers = [
                Printer(names, plan.program, unit, schema, _docs(plan.model, unit, schema)) for unit in units
            ]
            types = [each for each in printers if each.unit.stands_for is None]
            top = next((each for each in types if each.unit.name == schema.root.name), None)
            rows = rows_of(plan.model, plan.program, schema)
            rows_printer = (
                None
                if rows is None
                else RowsPrinter(names, plan.program, rows, _row_docs(plan.model, rows.unit))
            )
            view = _File(
                name=names.tops[schema.id],
                package=names.package(schema),
                doc=_about(schema, schema.root),
                top=top,
                functions=[each for each in printers if each.unit.stands_for is not None],
                enums=_enums(names, schema),
                types=[each for each in types if each is not top],
                rows=rows_printer if rows_printer is not None and rows_printer.fits() else None,
                streams=streams,
            )
            view.body = _TEMPLATES.render("body.java.j2", v=view)
            words = set(re.findall(r"\w+", re.sub(r"/\*(?s:.*?)\*/", "", view.body)))
            found = [f"org.kodec.runtime.{name}" for name in _RUNTIME if name in words]
            found += names.imports(schema, words)
            view.imports = sorted(found + [f"java.util.{name}" for name in _JDK if name in words])
            text = _TEMPLATES.render("file.java.j2", v=view, mark=mark(schema))
            path = f"{view.package.replace('.', '/')}/{view.name}.java"
            yield File(f"{FOLDER}/{path}", text, schema)


def _units(program: Program, schema: Schema) -> list[Unit]:
    return [program.units[each.name] for each in schema.structs if each.name in program.units]


def _ambiguous(struct: Struct, tags: Sequence[Tag] = ()) -> Iterator[SchemaProblem]:
    """The members of a type that Java cannot tell apart."""
    taken: dict[str, str] = {}
    members: list[Param | Field | Instance | Tag] = [
        *struct.params,
        *struct.fields,
        *struct.instances,
        *tags,
    ]
    for spec in members:
        name = lower(spec.id)
        if name in taken:
            text = f"`{taken[name]}` and `{spec.id}` are both `{component(spec.id)}` in Java"
            yield SchemaProblem(struct.place if isinstance(spec, Tag) else spec.place, struct.name, text)
        taken[name] = spec.id


def _unspeakable(struct: Struct, model: Model, unit: Unit) -> Iterator[SchemaProblem]:
    """The parts of a type that Java cannot express."""
    yield from _ambiguous(
        struct, [tag for spec in struct.fields for tag in tagged_section(model, spec) or ()]
    )
    for name in _optional(unit, struct):
        text = "it may be absent, which a Java class cannot say; give it a `-default`"
        field = struct.field(name)
        yield SchemaProblem(struct.place if field is None else field.place, f"{struct.name}.{name}", text)
    if len(struct.fields) > MOST_COMPONENTS:
        text = f"more than {MOST_COMPONENTS} fields for a Java record"
        yield SchemaProblem(struct.place, struct.name, text)
    yield from lacking(model, unit, _beyond)


def _optional(unit: Unit, struct: Struct) -> Iterator[str]:
    """Fields without a value for an absent field."""
    for when in unit.steps:
        for step in steps_in(when.steps) if isinstance(when, When) else ():
            spec = struct.field(getattr(step, "name", ""))
            if spec is None or spec.derive is not None or spec.nullable is not None or spec.codec is not None:
                continue
            plan = unit.field(spec.id)
            null = plan.absent is not None and plan.absent.value is None
            if null and spec.default is None and not isinstance(plan.type, Maybe):
                yield spec.id


# -- words ----------------------------------------------------------------------------------------


def _enums(names: Names, schema: Schema) -> list[_Enum]:
    return [
        _Enum(
            names.enums[enum.name],
            _words(Text(f"Values of `{enum.name.replace('::', '.')}`.")),
            tuple((constant(item.id), item.value, _words(item.doc)) for item in enum.items),
        )
        for enum in schema.enums
    ]


def _words(doc: Text) -> str:
    """The inside of a Javadoc comment."""
    return javadoc(doc, "")


def _of_component(doc: Text, name: str) -> str:
    """The text after `@param`."""
    return _words(one_line(doc)).replace(" * ", " *     ") or component(name)


def _beyond(part: object) -> str:
    """Why a part of a unit cannot be printed; nothing if it can."""
    value = hasattr(part, "type") and not isinstance(part.type, str)
    return "it computes what Java classes do not" if value and beyond(part) else ""  # type: ignore[arg-type]  # it is a value


def _about(schema: Schema, struct: Struct) -> str:
    """The Javadoc of a class."""
    doc = struct.doc or Text(f"`{struct.id}` of {schema.path}.")
    for index, source in enumerate(struct.doc_ref):
        doc = Text.of(doc, "; " if index else "\n\nSource: ", source)
    return _words(doc)


def _stream_docs(struct: Struct, schema: Schema) -> dict[str, str]:
    """Javadoc of a streamed type (under the empty name) and its members."""
    found = {"": _about(schema, struct)}
    members: list[Param | Field] = [*struct.params, *struct.fields]
    for each in members:
        found[each.id] = _words(each.doc) or f"{{@code {each.id}}}."
    for instance in struct.instances:
        found[f"{instance.id}()"] = _words(instance.doc) or f"{{@code {instance.id}}}, an instance."
    return found


def _docs(model: Model, unit: Unit, schema: Schema) -> dict[str, str]:
    """Javadoc of a type (under the empty name), its components and the fields read ahead."""
    struct = model.struct(unit.name)
    found = {"": _about(schema, struct)}
    if struct.topic:
        found[" topic"] = java_literal(struct.topic)
    if struct.message is not None:
        found[" number"] = str(struct.message.number)
    for each in struct.instances:
        found[each.id] = _words(each.doc) or f"{each.id} of what starts at {{@code at}}."
    for spec in struct.fields:
        doc = spec.doc
        tags = tagged_section(model, spec)
        if tags is not None and not doc:
            doc = Text("Tagged fields that the schema does not know.")
        found |= {tag.id: _of_component(tag.doc, tag.id) for tag in tags or ()}
        found[spec.id] = _of_component(doc, spec.id)
        if spec.codec is None:
            continue
        inside = Text(f"What is in `{spec.id}`, where that is compressed.")
        note = " Null where only the head was read"
        if unit.packed is not None and unit.packed.parsed:
            parsed, stored = (
                Text.of(doc, f"{note}."),
                Text(f"The stored bytes, where `{spec.id}` was not parsed."),
            )
        else:
            parsed = Text.of(inside, f"{note}, or nothing is compressed.")
            stored = Text.of(doc, " Null where what is in it is there.")
        found[f"{spec.id} parsed"] = _of_component(parsed, spec.id)
        found[f"{spec.id} stored"] = _of_component(stored, spec.id)
    return found


def _row_docs(model: Model, name: str, at: str = "") -> dict[str, str]:
    """Javadoc of the fields of a type, and of those inside, by their paths."""
    found = {}
    for spec in model.struct(name).fields:
        found[f"{at}{spec.id}"] = _words(one_line(spec.doc)) or spec.id
        if isinstance(spec.type, Ref) and spec.repeat is None:
            found |= _row_docs(model, spec.type.target, f"{at}{spec.id}.")
    return found


TARGET = _Java()
