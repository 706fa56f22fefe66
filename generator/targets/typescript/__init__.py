"""TypeScript: a module for each record schema, with a reader and a writer for all versions of each type."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import ClassVar

from kodec.generator.code.printing import StreamPackage, Writers
from kodec.generator.code.typed import LayoutCode, Style
from kodec.generator.code.typed_layout_write import layouts_of
from kodec.generator.plan.build import program_of
from kodec.generator.plan.printing import Package, collisions, strict_texts
from kodec.generator.plan.steps import Program, Unit, values_of
from kodec.generator.plan.values import ObjectOf, OneOf
from kodec.generator.problems import SchemaProblem
from kodec.generator.reserved import Taken
from kodec.generator.schema.model import Enum, Field, Instance, Model, Param, Schema
from kodec.generator.target import File, Request, documentation, mark
from kodec.generator.targets.typescript.names import EXPORTED, RUNTIME, Names, member
from kodec.generator.targets.typescript.printer import TypeScriptPrinter
from kodec.generator.targets.typescript.streams import StreamPrinter
from kodec.generator.targets.typescript.types import Types
from kodec.generator.templates import Templates
from kodec.generator.text import Text, block_comment

__all__ = ["TARGET"]

FOLDER = "typescript"
_NAME = re.compile(r"(?=.{1,214}\Z)(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")
_TEMPLATES = Templates("kodec.generator.targets.typescript")
_STYLE = Style(built=True, narrow=True, checked=True)
_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*(?s:.*?)\*/')


class _TypeScript:
    """An npm package: a module for each schema, the runtime and its tests next to them."""

    name = "typescript"
    files = ("*.ts", "package.json", "tsconfig.json")
    options: ClassVar[dict[str, str]] = {"package": "the name of the npm package; `kodec-formats`"}

    def lacks(self, request: Request) -> Iterator[SchemaProblem]:
        """Streamed schemas, texts that are neither UTF-8 nor ASCII, names that collide."""
        plan = self.plan(request)
        if _NAME.fullmatch(plan.name) is None:
            text = "letters, digits, `-`, `.`, `_` and `~`, in lower case, `@scope/` in front or not"
            raise ValueError(f"`{plan.name}` is no name of an npm package: {text}")
        streams = StreamPackage.of(plan.model)
        yield from streams.problems("TypeScript")
        names = Names(plan.model)
        for program in (plan.program, streams.program):
            yield from collisions(plan.model, program, "TypeScript", names.declared, member)
        for unit in streams.program.units.values():
            struct = plan.model.struct(unit.name)
            members: list[Field | Param | Instance] = [*struct.fields, *struct.params, *struct.instances]
            for each in members:
                if member(each.id) == "constructor":
                    path = f"{unit.name.replace('::', '.')}.{each.id}"
                    yield SchemaProblem(each.place, path, "no member of a TypeScript class has this name")
        yield from strict_texts(plan.model, plan.program, "TypeScript")

    def notes(self, request: Request) -> Iterator[SchemaProblem]:
        """The types that are only read."""
        return StreamPackage.of(request.model).unwritten("TypeScript")

    def plan(self, request: Request) -> Package:
        name = request.option("typescript", "package", "kodec-formats")
        return Package(request.model, program_of(request.model), name)

    def emit(self, plan: Package) -> Iterator[File]:
        names = Names(plan.model)
        streams, layouts = StreamPackage.of(plan.model), layouts_of(plan.program, _STYLE)
        writers = streams.writers()
        without = (*(() if plan.packed else ("codecs",)), *(() if streams.codes else ("streams",)))
        own = [
            f"{folder}/{each.name}"
            for folder in ("src", "test")
            for each in RUNTIME.joinpath(folder).iterdir()
        ]
        for name in sorted(own):
            if name.endswith(".ts") and not name.partition("/")[2].startswith(without):
                text = RUNTIME.joinpath(*name.split("/")).read_text("utf-8")
                yield File(f"{FOLDER}/{name}", f"// {mark()}\n\n{text}")
        values = {"mark": mark(), "package": plan.name, "packed": plan.packed}
        for name in ("package.json", "tsconfig.json"):
            yield File(f"{FOLDER}/{name}", _TEMPLATES.render(f"{name}.j2", **values))
        modules = ["runtime"]
        for schema in plan.model.schemas:
            uses: set[str] = set()
            streamed = self._streams(streams, writers, names, schema)
            body = self._body(plan, layouts, names, schema, uses) + streamed
            if not body:
                continue
            module = schema.module
            modules.append(module)
            classes = {names.type(name) for name in streams.codes}
            imports = list(_imports(names, module, uses, streamed, classes))
            if streams.program.units_of(schema):
                imports.append(f'import * as streams from "{_path("streams", module)}";')
                if "writing." in body:
                    imports.append(f'import * as writing from "{_path("streams_writing", module)}";')
            text = _TEMPLATES.render("file.ts.j2", mark=mark(schema), imports=imports, body=body)
            yield File(f"{FOLDER}/src/{module}.ts", text, schema)
        index = "".join(f'export * from "./{module}.js";\n' for module in modules)
        yield File(f"{FOLDER}/src/index.ts", f"// {mark()}\n\n{index}")

    @staticmethod
    def _body(
        plan: Package, layouts: dict[str, LayoutCode], names: Names, schema: Schema, uses: set[str]
    ) -> str:
        """The types of a schema, each after an empty line; nothing if it has none."""
        units = plan.program.units_of(schema)
        body = (
            "".join(_enum(names, schema, each) for each in schema.enums) if units or schema.streamed else ""
        )
        marked = _marked_types(plan.program)
        for unit in units:
            comments, code = _comments(plan.model, unit), layouts[unit.name]
            printer = TypeScriptPrinter(names, Types(names), code, comments, plan.program, marked)
            body += "\n" + _TEMPLATES.render("layout.ts.j2", p=printer).lstrip("\n")
            uses |= printer.uses
        return body

    @staticmethod
    def _streams(streams: StreamPackage, writers: Writers, names: Names, schema: Schema) -> str:
        """The streamed types of a schema, likewise."""
        body = ""
        for unit in streams.program.units_of(schema):
            struct = streams.model.struct(unit.name)
            comments = _comments(streams.model, unit)
            for each in struct.params:
                comments[each.id] = block_comment(each.doc or Text(f"`{each.id}` is given."), "  ")
            for instance in struct.instances:
                about = instance.doc or Text(f"`{instance.id}` of the schema.")
                comments[f"{instance.id}()"] = block_comment(about, "  ")
            code, writer = streams.codes[unit.name], writers.codes.get(unit.name)
            printer = StreamPrinter(names, code, writer, comments, seeks=streams.seeks(unit.name))
            body += "\n" + _TEMPLATES.render("stream.ts.j2", p=printer).lstrip("\n")
        return body


def _marked_types(program: Program) -> frozenset[str]:
    """The units whose objects have a tag of their type, as a switch has them beside others."""
    return frozenset(
        kind.unit
        for unit in program.units.values()
        for field in unit.fields
        for each in values_of(field.type)
        if isinstance(each, OneOf)
        for kind in each.types
        if isinstance(kind, ObjectOf)
    )


def _enum(names: Names, schema: Schema, enum: Enum) -> str:
    name = names.enum(enum.name)
    lines = [f"/** Numbers of {schema.id}; others are possible. */", f"export const {name} = {{"]
    # `gsm_610` and `gsm610` are two
    taken = Taken()
    lines += [f"  {taken.claim(member(each.id))}: {each.value}," for each in enum.items]
    return "\n".join(["", *lines, "} as const;", f"export type {name} = number;", ""])


def _imports(names: Names, module: str, uses: set[str], streamed: str, classes: set[str]) -> Iterator[str]:
    """The imports of a module's code; those of `classes` are values, too."""
    found_in = set(re.findall(r"[A-Za-z_]\w*", _CODE.sub(" ", streamed)))
    words = sorted(uses | found_in, key=str.lower)
    wanted: dict[str, list[str]] = {}
    for word in words:
        where = "runtime" if word in EXPORTED else names.modules.get(word, module)
        if where != module:
            wanted.setdefault(where, []).append(word)
    for where, found in sorted(wanted.items()):
        kinds = [
            EXPORTED.get(each, not each.startswith(("read", "write", "new")) and each not in classes)
            for each in found
        ]
        types_only = all(kinds)
        shown = ", ".join(
            f"type {each}" if kind and not types_only else each
            for each, kind in zip(found, kinds, strict=True)
        )
        yield f'import {"type " if types_only else ""}{{ {shown} }} from "{_path(where, module)}";'


def _path(where: str, module: str) -> str:
    """The file of a module, as another imports it; a folder may be called like the file."""
    path = posixpath.relpath(f"{where}.js", posixpath.dirname(module) or ".")
    return path if path.startswith(".") else f"./{path}"


def _comments(model: Model, unit: Unit) -> dict[str, str]:
    """The comment of a type, and those of its fields, from the schema's documentation."""
    found = documentation(model, model.struct(unit.name))
    return {name: block_comment(doc, "  " if name else "") for name, doc in found}


TARGET = _TypeScript()
