"""Go: a type for each type of record schemas, with a reader and a writer for all versions, in one package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar

from kodec.generator.passes import read_from_streams
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Chars, Program, Unit, values_of
from kodec.generator.problems import Problem
from kodec.generator.schema.model import Field, Model, Ref, Schema, Tag
from kodec.generator.schema.roles import section_tags
from kodec.generator.target import File, Request, mark
from kodec.generator.targets.go.expressions import beyond
from kodec.generator.targets.go.names import WORDS, Names, exported
from kodec.generator.targets.go.printer import Printer
from kodec.generator.templates import Templates
from kodec.generator.text import Text, line_comment
from kodec.generator.wire import ENCODINGS

__all__ = ["TARGET"]

FOLDER = "go"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TEMPLATES = Templates("kodec.generator.targets.go")
_IMPORTS = {
    "binary.": "encoding/binary",
    "bytes.": "bytes",
    "math.": "math",
    "reflect.": "reflect",
    "strconv.": "strconv",
}


@dataclass(frozen=True, slots=True)
class _Plan:
    model: Model
    program: Program
    package: str


def _package(request: Request) -> str:
    return request.option("go", "package", "formats")


class _Go:
    """A file for each schema, and the runtime beside them."""

    name = "go"
    files = ("*.go",)
    options: ClassVar[dict[str, str]] = {"package": "the name of the Go package; `formats`"}

    def lacks(self, request: Request) -> Iterator[Problem]:
        """Streamed schemas, texts that are no UTF-8, numbers beyond 64 bits."""
        package = _package(request)
        if _NAME.fullmatch(package) is None or package in WORDS.split():
            raise ValueError(f"`{package}` is no name of a Go package: letters, digits, `_`, in lower case")
        yield from read_from_streams(request.model, request.model.schemas, "Go types yet")
        program = program_of(request.model)
        yield from _collisions(request.model, program)
        for unit in program.units.values():
            place = request.model.struct(unit.name).place
            for each in values_of((unit.steps, unit.derived)):
                if isinstance(each, Chars) and ENCODINGS[each.encoding].errors == "strict":
                    # a string of Go holds the bytes of the others as they are
                    yield Problem(place, unit.name, f"its text in {each.encoding} cannot be read in Go yet")
                elif hasattr(each, "type") and beyond(each):
                    yield Problem(place, unit.name, "it computes beyond 64 bits, which Go types do not")
                    break

    def plan(self, request: Request) -> _Plan:
        return _Plan(request.model, program_of(request.model), _package(request))

    def emit(self, plan: _Plan) -> Iterator[File]:
        names = Names(plan.model)
        runtime = files("kodec.runtime").joinpath("go")
        packed = any(unit.packed is not None for unit in plan.program.units.values())
        for name in ("runtime.go", *(("codecs.go",) if packed else ())):
            text = runtime.joinpath(name).read_text("utf-8")
            text = text.replace("package kodec", f"package {plan.package}", 1)
            yield File(f"{FOLDER}/{name}", f"// {mark()}\n\n{text}")
        for schema in plan.model.schemas:
            units = [
                plan.program.units[each.name] for each in schema.structs if each.name in plan.program.units
            ]
            if not units:
                continue
            body = self._enums(names, schema)
            for unit in units:
                comments = _comments(plan.model, unit, names)
                read, write = (
                    Printer(names, plan.program, unit, comments, writing=way) for way in (False, True)
                )
                body += "\n" + _TEMPLATES.render("body.go.j2", r=read, w=write)
            code = re.sub(r"(?m)^\s*//.*$", "", body)
            imports = sorted(
                path for word, path in _IMPORTS.items() if re.search(rf"\b{re.escape(word)}", code)
            )
            text = _TEMPLATES.render(
                "file.go.j2", mark=mark(schema), package=plan.package, imports=imports, body=body
            )
            path = schema.path.removesuffix(".ksy").replace("/", "_")
            yield File(f"{FOLDER}/{path}.go", text, schema)

    @staticmethod
    def _enums(names: Names, schema: Schema) -> str:
        found = ""
        for enum in schema.enums:
            name = names.type(enum.name)
            found += f"\n// {name} names numbers of {schema.id}.\ntype {name} int64\n\nconst (\n"
            members = [f"{name}{exported(item.id)}" for item in enum.items]
            width = max(map(len, members), default=0)
            found += "".join(
                f"\t{member:<{width}} {name} = {item.value}\n"
                for member, item in zip(members, enum.items, strict=True)
            )
            found += ")\n"
        return found


def _collisions(model: Model, program: Program) -> Iterator[Problem]:
    """Names that Go cannot tell apart."""
    names = Names(model)
    taken: dict[str, str] = {}
    for schema in model.schemas:
        own = [each.name for each in schema.structs if each.name in program.units]
        for name in [*own, *(each.name for each in schema.enums)]:
            text = names.type(name)
            for word in (text, f"New{text}", f"Read{text}"):
                other = taken.setdefault(word, name)
                if other != name:
                    yield Problem(schema.root.place, name, f"it would be `{word}` in Go, as would `{other}`")
        for unit in (program.units[each] for each in own):
            fields: dict[str, str] = {}
            for field in unit.fields:
                other = fields.setdefault(exported(field.name), field.name)
                if other != field.name:
                    text = f"`{other}` and `{field.name}` are both `{exported(field.name)}` in Go"
                    yield Problem(model.struct(unit.name).place, unit.name, text)


def _comments(model: Model, unit: Unit, names: Names) -> dict[str, str]:
    """The comment of a type, and those of its fields, from the schema's documentation."""
    struct = model.struct(unit.name)
    name = names.type(unit.name)
    about = struct.doc or Text(f"`{struct.id}` of {struct.name.partition('::')[0]}.")
    found = {"": line_comment(Text.of(f"{name}: ", about), "// ")}
    for spec in struct.fields:
        target = model.struct(spec.type.target) if isinstance(spec.type, Ref) else None
        section = section_tags(model, target) if target is not None and target.wire == "tags" else None
        documented: list[Field | Tag] = [spec, *(() if section is None else section.tags)]
        for each in documented:
            found[each.id] = line_comment(each.doc or Text(f"`{each.id}` of the schema."), "\t// ")
    return found


TARGET = _Go()
