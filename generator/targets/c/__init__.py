"""C: a library with a struct for each type of record schemas, and a reader and a writer for all versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from kodec.generator.code.printing import StreamPackage
from kodec.generator.plan.build import program_of
from kodec.generator.plan.printing import lacking, wide_bits
from kodec.generator.plan.rows import RowPlan, rows_of
from kodec.generator.plan.steps import Chars, Nested, Program, TagPlan, Unit, When, steps_in, values_of
from kodec.generator.plan.values import (
    FLAG,
    TEXT,
    Binary,
    Number,
    ObjectOf,
    SizeOf,
    Whole,
    bare,
    exceeds_64_bits,
    is_number,
)
from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.model import Model, Schema
from kodec.generator.target import VERSION, File, Request, documentation, mark
from kodec.generator.targets.c.expressions import Types, literal
from kodec.generator.targets.c.folding import folded
from kodec.generator.targets.c.names import PREFIX, Names, member
from kodec.generator.targets.c.printer import Defaults, Printer
from kodec.generator.targets.c.stream_values import characters, table_of
from kodec.generator.targets.c.streams import StreamPrinter, types_of
from kodec.generator.templates import Templates
from kodec.generator.text import Text, line_comment
from kodec.generator.wire import ENCODINGS

__all__ = ["TARGET"]

FOLDER = "c"
_TEMPLATES = Templates("kodec.generator.targets.c")
_HEADERS = ("c/kodec_runtime.h",)
_SOURCES = ("c/kodec_generated.h", "native/kodec_bytes.h", "native/kodec_core.h", "c/kodec_runtime.c")
_CODECS = ("native/kodec_codecs.h", "c/kodec_codecs.c")
_STREAM_HEADERS = ("c/kodec_stream.h",)
_STREAM_SOURCES = ("c/kodec_reading.h", "c/kodec_stream.c")
_ROW_HEADERS = ("native/kodec_arrow_abi.h", "c/kodec_columns.h")
_ROW_SOURCES = ("native/kodec_arrow.h", "c/kodec_rows.h")
_VALUES = (Binary, Number, SizeOf)


@dataclass(frozen=True, slots=True)
class _Plan:
    """`rows` are the kernels that columns are read by, of the schemas that are named."""

    model: Model
    program: Program
    streams: StreamPackage
    rows: tuple[tuple[Schema, RowPlan], ...]


class _C:
    """A header of all types, a source for each schema, the runtime, and how all is built."""

    name = "c"
    no_stream_writers = "C"
    files = tuple(f"{FOLDER}/*{end}" for end in (".c", ".h", "CMakeLists.txt", ".pc.in"))

    def lacks(self, request: Request) -> Iterator[SchemaProblem]:
        """In layouts non-UTF-8 text, numbers beyond 64 bits, objects that hold themselves."""
        yield from StreamPackage.of(request.model).problems("C", digests=False)
        program = program_of(request.model)
        circles = _circles(program, by_value=True)
        yield from wide_bits(request.model, program, "C")
        for unit in program.units.values():
            place = request.model.struct(unit.name).place
            yield from lacking(request.model, unit, _lacking)
            if unit.name in circles:
                yield SchemaProblem(
                    place, unit.name, "it contains itself without a list or a null between; a C struct cannot"
                )

    def plan(self, request: Request) -> _Plan:
        program = program_of(request.model)
        found = [
            (schema, rows_of(request.model, program, schema))
            for schema in request.model.schemas
            if schema.id in request.kernels and not schema.streamed
        ]
        chosen = tuple((schema, rows) for schema, rows in found if rows is not None)
        return _Plan(request.model, program, StreamPackage.of(request.model), chosen)

    def emit(self, plan: _Plan) -> Iterator[File]:
        names = Names(plan.model)
        codes = plan.streams.codes
        types = types_of(names, plan.program, codes)
        defaults = Defaults(types, plan.program)
        units = plan.program.units
        packed = any(unit.packed is not None for unit in units.values())
        circular = _circles(plan.program, by_value=False)
        compared = _compared(plan.program)
        runtime = files("kodec.runtime")
        sources = []
        headers = (
            *_HEADERS,
            *(_STREAM_HEADERS if codes else ()),
            *(_ROW_HEADERS if plan.rows else ()),
        )
        rest = (
            *_SOURCES,
            *(_CODECS if packed else ()),
            *(_STREAM_SOURCES if codes else ()),
            *(_ROW_SOURCES if plan.rows else ()),
        )
        for name in (*headers, *rest):
            short = name.rpartition("/")[2]
            sources += [short] if short.endswith(".c") else []
            folder = "include" if name in headers else "src"
            text = runtime.joinpath(name).read_text("utf-8")
            yield File(f"{FOLDER}/{folder}/{short}", f"/* {mark()} */\n{text}")
        readers = []
        tables: set[str] = set()
        for schema in plan.model.schemas:
            own = [units[each.name] for each in schema.structs if each.name in units]
            streamed = [
                StreamPrinter(
                    types,
                    codes[each.name],
                    _comments(plan.model, each.name),
                    is_held=each.name in plan.streams.held,
                )
                for each in schema.structs
                if each.name in codes
            ]
            if not own and not streamed:
                continue
            readers += streamed
            parts = []
            for unit in own:
                read, write = (
                    Printer(types, plan.program, unit, writing=way, circular=unit.name in circular)
                    for way in (False, True)
                )
                tests = list(defaults.compared(unit)) if unit.name in compared else None
                parts.append({"read": read, "write": write, "compared": tests})
            text = _TEMPLATES.render("source.c.j2", mark=mark(schema), parts=parts, streamed=streamed)
            text = folded(text)
            tables |= {name for reader in streamed for name in reader.tables}
            path = schema.module.replace("/", "_") + ".c"
            sources.append(path)
            yield File(f"{FOLDER}/src/{path}", text, schema)
        columns = [_columns(plan.program, names, schema, rows) for schema, rows in plan.rows]
        for (schema, _), each in zip(plan.rows, columns, strict=True):
            text = folded(_TEMPLATES.render("columns.c.j2", mark=mark(schema), k=each))
            sources.append(f"columns_{schema.id}.c")
            yield File(f"{FOLDER}/src/columns_{schema.id}.c", text, schema)
        printers = [
            Printer(types, plan.program, each, writing=False, circular=False) for each in units.values()
        ]
        made = {
            "include/kodec.h": {
                **self._header(plan, types, printers),
                "columns": columns,
                "streamed": readers,
            },
            "src/kodec_types.h": {
                "units": [
                    {
                        "type": each.type,
                        "value": each.value_type,
                        "written": each.written_type,
                        "parameters": each.parameters,
                        "is_object": each.unit.stands_for is None,
                    }
                    for each in printers
                ],
                "compared": [names.type(name) for name in units if name in compared],
                "streamed": readers,
                "converted": list(types.converted()),
                "tables": [(table_of(each), characters(each)) for each in sorted(tables)],
            },
            "CMakeLists.txt": {
                "sources": sorted(sources),
                "packed": packed,
                "streamed": bool(codes),
                "columns": columns,
                "version": VERSION,
            },
            "kodec.pc.in": {"packed": packed or bool(codes), "streamed": bool(codes)},
            "test/defaults.c": {"types": list(_tested(printers, types)), "streamed": readers},
        }
        for path, of in made.items():
            text = _TEMPLATES.render(f"{path.rpartition('/')[2]}.j2", mark=mark(), **of)
            yield File(f"{FOLDER}/{path}", folded(text) if path.endswith((".h", ".c")) else text)

    @staticmethod
    def _header(plan: _Plan, types: Types, printers: list[Printer]) -> dict[str, Any]:
        """The data for the template of the header; types that are parts of others come first."""
        names = types.names
        objects = {each.unit.name: each for each in printers if each.unit.stands_for is None}
        enums = [
            {
                "name": enum.name,
                "members": [
                    (names.constant(names.enum(enum.name).removeprefix(PREFIX), item.id), item.value)
                    for item in enum.items
                ],
                "is_wide": any(not -(1 << 31) <= item.value < 1 << 31 for item in enum.items),
            }
            for schema in plan.model.schemas
            for enum in schema.enums
        ]
        shown = []
        for name in _parts_first(plan.program):
            if name not in objects:
                continue
            comments = _comments(plan.model, name)
            fields = [each for each in objects[name].unit.fields if each.kept]
            kinds = [types.of(objects[name].field_type(each.name)) for each in fields]
            shown.append(
                {
                    "type": objects[name].type,
                    "comment": comments[""],
                    "members": [
                        (comments.get(each.name, ""), kind, member(each.name))
                        for each, kind in zip(fields, kinds, strict=True)
                    ],
                }
            )
        return {
            "objects": [
                *(each.type for each in objects.values()),
                *(types.names.type(name) for name in plan.streams.codes),
            ],
            "literal": literal,
            "unions": types.unions,
            "lists": sorted(types.lists.items(), key=lambda each: (each[0].count("_list"), each[0])),
            "spelled": types.of,
            "enums": enums,
            "structs": shown,
            "functions": [{"type": each.type, "parameters": each.parameters} for each in objects.values()],
        }


def _tested(printers: list[Printer], types: Types) -> Iterator[dict[str, Any]]:
    """The types of objects without parameters other than their version."""
    for each in printers:
        unit, told = each.unit, each.unit.parameters
        if unit.stands_for is not None or [part.name for part in told] not in ([], [unit.version_name]):
            continue
        assert not told or unit.versions is not None
        yield {
            "type": each.type,
            "told": types.of(told[0].type) if told else None,
            "first": unit.versions.first if told and unit.versions else 0,
            "last": unit.versions.last if told and unit.versions else 0,
        }


def _columns(program: Program, names: Names, schema: Schema, rows: RowPlan) -> dict[str, Any]:
    """The data for the template of a kernel's columns."""
    return {
        "name": schema.id,
        "type": names.type(rows.unit),
        "columns": [each.name for each in rows.columns],
        "contains": rows.element is not None and rows.packed is not None,
        "content": rows.packed_at,
        "head": list(_numbers(program, program.units[rows.unit])),
    }


def _numbers(program: Program, unit: Unit, to: str = "", at: str = "") -> Iterator[tuple[str, str]]:
    """(place in the head of a kernel, place in an object) of each number that an object holds itself."""
    for each in unit.fields:
        if not each.kept or unit.derivation(each.name) is not None:
            continue
        if isinstance(each.type, ObjectOf):
            inner = program.units[each.type.unit]
            if inner.stands_for is None:
                yield from _numbers(program, inner, f"{to}{each.name}.", f"{at}{member(each.name)}.")
        elif is_number(each.type) or each.type == FLAG:
            yield f"{to}{each.name}", f"{at}{member(each.name)}"


def _lacking(part: object) -> str:
    """Why a part of a unit cannot be printed; nothing if it can."""
    if isinstance(part, Chars) and ENCODINGS[part.encoding].errors == "strict":
        # the bytes of the others are kept as they are
        return f"its text in {part.encoding} cannot be read in C yet"
    if isinstance(part, _VALUES) and exceeds_64_bits(part):
        return "it computes beyond 64 bits, which C types do not"
    if isinstance(part, (Number, SizeOf)) and bare(part.of.type) == TEXT:
        return "it computes with the characters or the digits of a text, which C has as bytes"
    if isinstance(part, Binary) and part.op in ("/", "%"):
        by = bare(part.right.type)
        if not isinstance(by, Whole) or by.low <= 0 <= by.high:
            return "it divides by what may be 0"
    return ""


def _held(program: Program, unit: Unit, *, by_value: bool) -> set[str]:
    """The units that a unit reads; or those whose structs are members of its struct."""
    if not by_value:
        inner = {each.unit for each in values_of(unit.steps) if isinstance(each, Nested)}
        return inner | ({unit.packed.unit} if unit.packed is not None else set())
    return {each.type.unit for each in unit.fields if each.kept and isinstance(each.type, ObjectOf)}


def _parts_first(program: Program) -> list[str]:
    """The names of units, each after those whose structs are members of its struct."""
    found: dict[str, None] = {}

    def add(name: str, around: tuple[str, ...]) -> None:
        for each in sorted(_held(program, program.units[name], by_value=True)):
            if each not in found and each not in around:
                add(each, (*around, name))
        found.setdefault(name)

    for name in program.units:
        add(name, ())
    return list(found)


def _circles(program: Program, *, by_value: bool) -> set[str]:
    """The units that are, over others or not, in themselves."""
    held = {name: _held(program, unit, by_value=by_value) for name, unit in program.units.items()}
    found = set()
    for name in held:
        seen: set[str] = set()
        todo = list(held[name])
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += held.get(at, ())
        if name in seen:
            found.add(name)
    return found


def _compared(program: Program) -> set[str]:
    """The units whose objects are compared with their defaults, and those inside."""
    todo = []
    for unit in program.units.values():
        todo += [each.type for each in values_of(unit.steps) if isinstance(each, TagPlan)]
        for step in steps_in(unit.steps):
            if isinstance(step, When):
                names = {getattr(each, "name", "") for each in steps_in(step.steps)}
                todo += [each.type for each in unit.fields if each.name in names]
    found: set[str] = set()
    while todo:
        kind = bare(todo.pop())
        if isinstance(kind, ObjectOf) and kind.unit not in found:
            found.add(kind.unit)
            todo += [each.type for each in program.units[kind.unit].fields if each.kept]
    return found


def _comments(model: Model, unit: str) -> dict[str, str]:
    """The comments of a type, its fields, parameters and instances, from the schema's documentation."""
    struct = model.struct(unit)
    found = {name: _comment(doc, "  " if name else "") for name, doc in documentation(model, struct)}
    for param in struct.params:
        found[param.id] = _comment(param.doc or Text(f"`{param.id}` is given."), "  ")
    for instance in struct.instances:
        found[f"{instance.id}()"] = _comment(instance.doc or Text(f"`{instance.id}` of the schema."), "")
    return found


def _comment(text: Text, indent: str) -> str:
    """Lines of a comment; no text in it can end it, or continue a line in the next one."""
    lines = line_comment(text, f"{indent}// ").replace("??", "? ?").splitlines()
    return "".join(line.rstrip("\\ ") + "\n" for line in lines)


TARGET = _C()
