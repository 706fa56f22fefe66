"""Go: a type for each type of record schemas, with a reader and a writer for all versions, in one package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import ClassVar

from kodec.generator.code.printing import StreamPackage
from kodec.generator.code.typed_layout_write import layouts_of
from kodec.generator.plan.build import program_of
from kodec.generator.plan.printing import Package, collisions, lacking, strict_texts, wide_bits
from kodec.generator.plan.steps import Unit
from kodec.generator.plan.values import Value, exceeds_64_bits
from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.model import Model
from kodec.generator.target import File, Request, documentation, mark
from kodec.generator.targets.go.names import WORDS, Names, exported
from kodec.generator.targets.go.printer import GoPrinter
from kodec.generator.targets.go.streams import StreamPrinter, StreamTypes
from kodec.generator.targets.go.types import Types
from kodec.generator.templates import Templates
from kodec.generator.text import Text, line_comment

__all__ = ["TARGET"]

FOLDER = "go"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


_TEMPLATES = Templates("kodec.generator.targets.go", exported=exported)


class _Go:
    """A file for each schema, and the runtime next to them."""

    name = "go"
    no_stream_writers = "Go"
    files = ("*.go",)
    options: ClassVar[dict[str, str]] = {"package": "the name of the Go package; `formats`"}

    def lacks(self, request: Request) -> Iterator[SchemaProblem]:
        """Streamed schemas, texts that are not UTF-8, numbers beyond 64 bits."""
        plan = self.plan(request)
        if _NAME.fullmatch(plan.name) is None or plan.name in WORDS.split():
            raise ValueError(f"`{plan.name}` is no name of a Go package: letters, digits, `_`, in lower case")
        streams = StreamPackage.of(plan.model)
        yield from streams.problems("Go")
        for program in (plan.program, streams.program):
            yield from collisions(plan.model, program, "Go", Names(plan.model).declared, exported)
        # a string of Go holds the bytes of other encodings as they are
        yield from strict_texts(plan.model, plan.program, "Go")
        yield from wide_bits(plan.model, plan.program, "Go")
        for unit in plan.program.units.values():
            yield from lacking(plan.model, unit, _beyond)

    def plan(self, request: Request) -> Package:
        name = request.option("go", "package", "formats")
        return Package(request.model, program_of(request.model), name)

    def emit(self, plan: Package) -> Iterator[File]:
        names = Names(plan.model)
        runtime = files("kodec.runtime").joinpath("go")
        streams, layouts = StreamPackage.of(plan.model), layouts_of(plan.program)
        types, stream_types = Types(names), StreamTypes(names)
        more = [*(("codecs.go",) if plan.packed else ()), *(("streams.go",) if streams.codes else ())]
        for name in ("runtime.go", *more):
            text = runtime.joinpath(name).read_text("utf-8")
            text = text.replace("package kodec", f"package {plan.name}", 1)
            yield File(f"{FOLDER}/{name}", f"// {mark()}\n\n{text}")
        for schema in plan.model.schemas:
            printers: list[GoPrinter] = []
            body = ""
            for unit in plan.program.units_of(schema):
                about = dict(_comments(plan.model, unit, names))
                printers.append(GoPrinter(names, types, layouts[unit.name], about, plan.program))
                body += "\n" + _TEMPLATES.render("layout.go.j2", p=printers[-1]).lstrip("\n")
            for unit in streams.program.units_of(schema):
                about, code = dict(_comments(plan.model, unit, names)), streams.codes[unit.name]
                printers.append(StreamPrinter(names, stream_types, code, about, streams.program))
                held = unit.name in streams.held
                body += "\n" + _TEMPLATES.render("stream.go.j2", p=printers[-1], is_held=held).lstrip("\n")
            if not body:
                continue
            imports = sorted(set().union(*(each.imports for each in printers)))
            head = {"mark": mark(schema), "package": plan.name, "imports": imports, "names": names}
            text = _TEMPLATES.render("file.go.j2", id=schema.id, enums=schema.enums, body=body, **head)
            # go leaves out files whose names begin with `_`
            path = schema.module.replace("/", "_").removeprefix("_")
            yield File(f"{FOLDER}/{path}.go", text, schema)


def _beyond(part: object) -> str:
    """Why a part of a unit cannot be printed; nothing if it can."""
    beyond = isinstance(part, Value) and exceeds_64_bits(part)
    return "it computes beyond 64 bits, which Go types do not" if beyond else ""


def _comments(model: Model, unit: Unit, names: Names) -> Iterator[tuple[str, str]]:
    """The comment of a type, and those of its fields, from the schema's documentation."""
    for name, doc in documentation(model, model.struct(unit.name)):
        about = doc if name else Text.of(f"{names.type(unit.name)}: ", doc)
        yield name, _comment(about, "\t// " if name else "// ")
    for each in model.struct(unit.name).params:
        yield each.id, _comment(each.doc or Text(f"`{each.id}` is given."), "\t// ")
    for instance in model.struct(unit.name).instances:
        about = Text.of(f"{exported(instance.id)}: ", instance.doc or Text(f"`{instance.id}` of the schema."))
        yield f"{instance.id}()", _comment(about, "// ")


def _comment(text: Text, start: str) -> str:
    """Lines of a comment, none of them a constraint (`+build`), which go vet refuses wherever it stands."""
    return re.sub(r"(?m)^(\s*// )\+(?=build\b)", r"\1+ ", line_comment(text, start))


TARGET = _Go()
