"""Rust: a crate with a type for each type of record schemas, with a reader and a writer for all versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.resources import files
from typing import ClassVar

from kodec.generator.code.printing import StreamPackage
from kodec.generator.plan.build import program_of
from kodec.generator.plan.printing import Package, collisions, lacking, packing, wide_bits
from kodec.generator.plan.steps import Chars, Checksum, Choice, Nested, Program, Unit, values_of
from kodec.generator.plan.values import Maybe, MemberOf, ObjectOf, OneOf, is_number
from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.model import EnumItem, Model, Schema
from kodec.generator.target import File, Request, documentation, mark
from kodec.generator.targets.rust.expressions import Types, beyond
from kodec.generator.targets.rust.names import Names
from kodec.generator.targets.rust.printer import Printer
from kodec.generator.targets.rust.streams import StreamPrinter, StreamTypes, lacking_of, processes_of
from kodec.generator.templates import Templates
from kodec.generator.text import Text, markdown
from kodec.generator.wire import ENCODINGS

__all__ = ["TARGET"]

FOLDER = "rust"
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_TEMPLATES = Templates("kodec.generator.targets.rust")
_USED = ("runtime as rt", "streams as st")
_CODECS = {
    "gzip": ('flate2 = { version = "1.1", optional = true }',),
    "lz4": (
        'lz4_flex = { version = "0.14", optional = true, default-features = false, '
        'features = ["frame", "safe-decode", "safe-encode", "std"] }',
        'twox-hash = { version = "2.1", optional = true, default-features = false, features = ["xxhash32"] }',
    ),
    "snappy": ('snap = { version = "1.1", optional = true }',),
    "zstd": ('zstd = { version = "0.14", optional = true, default-features = false }',),
}
_CHECKSUMS = {"crc32": 'crc32fast = "1.5"', "crc32c": 'crc32c = "0.6"'}


def _lacking(part: object) -> str:
    """Why a part of a unit cannot be printed; nothing if it can."""
    match part:
        case Chars(_, encoding) if ENCODINGS[encoding].errors == "strict":
            # a `Text` holds the bytes of the others as they are
            return f"its text in {encoding} cannot be read in Rust yet"
        case MemberOf(of) if isinstance(of.type, Maybe):
            return "it asks for a part of what may be null, as Rust does not yet"
        case Choice(on) if not is_number(on.type):
            return "it chooses by no number, as Rust types do not yet"
    return "it computes beyond 64 bits, which Rust types do not" if beyond(part) else ""


class _Rust:
    """A module for each schema, the runtime next to them, and what Cargo asks for."""

    name = "rust"
    no_stream_writers = "Rust"
    files = ("*.rs", "Cargo.toml")
    options: ClassVar[dict[str, str]] = {"crate": "the name of the Rust crate; `formats`"}

    def lacks(self, request: Request) -> Iterator[SchemaProblem]:
        """Texts that are not UTF-8, numbers beyond 64 bits, parts of what may be null; what streams lack."""
        plan = self.plan(request)
        if _NAME.fullmatch(plan.name) is None:
            text = "letters, digits, `_` and `-`, in lower case"
            raise ValueError(f"`{plan.name}` is no name of a Rust crate: {text}")
        streams = StreamPackage.of(plan.model)
        names = Names(plan.model)
        if found := [*streams.problems("Rust", digests=False)]:
            yield from found
        else:
            more = replace(streams, lacking=list(lacking_of(StreamTypes(names, streams), streams)))
            yield from more.problems("Rust")
        for program in (plan.program, streams.program):
            yield from collisions(plan.model, program, "Rust", names.declared)
        yield from wide_bits(plan.model, plan.program, "Rust")
        for unit in plan.program.units.values():
            yield from lacking(plan.model, unit, _lacking)

    def plan(self, request: Request) -> Package:
        return Package(request.model, program_of(request.model), request.option("rust", "crate", "formats"))

    def emit(self, plan: Package) -> Iterator[File]:
        names = Names(plan.model)
        types = Types(names, plan.program)
        choices: dict[str, list[OneOf]] = {}
        for unit in plan.program.units.values():
            for field in unit.fields:
                choices.setdefault(unit.name, []).extend(types.declare(field.type, unit.name, field.name))
        streams = StreamPackage.of(plan.model)
        stream_types = StreamTypes(names, streams)
        called, unpacking = _called(plan.program), packing(plan.program)
        modules = []
        for schema in plan.model.schemas:
            units = plan.program.units_of(schema)
            body = "".join(_enum(names, each.name, schema.id, each.items) for each in schema.enums)
            body += self._streams(streams, stream_types, schema)
            for unit in units:
                if unit.stands_for is not None and unit.name not in called:
                    continue
                body += "".join(_choice(types, each, unit.name) for each in choices.get(unit.name, ()))
                read, write = (
                    Printer(types, unit, _comments(plan.model, unit), unpacking, writing=way)
                    for way in (False, True)
                )
                body += "\n" + _TEMPLATES.render("body.rs.j2", r=read, w=write)
            if not body:
                continue
            module = names.module(schema)
            shown = any(each.stands_for is None for each in units) or bool(schema.enums) or schema.streamed
            modules.append((module, shown, schema.streamed))
            used = [each for each in _USED if re.search(rf"\b{each.rpartition(' ')[2]}::", body)]
            text = _TEMPLATES.render("file.rs.j2", mark=mark(schema), used=used, body=body.lstrip("\n"))
            yield File(f"{FOLDER}/src/{module}.rs", text, schema)
        yield from self._frame(plan, modules, streams, names)

    @staticmethod
    def _streams(streams: StreamPackage, types: StreamTypes, schema: Schema) -> str:
        """The streamed types of a schema, each after an empty line; nothing if it has none."""
        body = ""
        for unit in streams.program.units_of(schema):
            body += "".join(_stream_choice(types, each, unit.name) for each in types.declared[unit.name])
            struct = streams.model.struct(unit.name)
            comments = _comments(streams.model, unit)
            about = [(each.id, each.doc or Text(f"`{each.id}` is given.")) for each in struct.params]
            for each in struct.instances:
                about.append((f"{each.id}()", each.doc or Text(f"`{each.id}` of the schema.")))
            comments |= {name: _doc(doc, "    ") for name, doc in about}
            code, is_held = streams.codes[unit.name], unit.name in streams.held
            printer = StreamPrinter(types, code, comments, is_held=is_held)
            body += _TEMPLATES.render("stream.rs.j2", p=printer, several=len(streams.codes) > 1)
        return body

    @staticmethod
    def _frame(
        plan: Package, modules: list[tuple[str, bool, bool]], streams: StreamPackage, names: Names
    ) -> Iterator[File]:
        parts = [*values_of([(each.steps, each.packed) for each in plan.program.units.values()])]
        checksums = sorted({each.function for each in parts if isinstance(each, Checksum)})
        packed = [each.packed for each in plan.program.units.values() if each.packed is not None]
        used = {name for each in packed for _, name in each.codecs}
        codecs = _CODECS if packed else {}
        runtime = files("kodec.runtime").joinpath("rust")
        text = runtime.joinpath("runtime.rs").read_text("utf-8")
        for name in checksums:
            call = "crc32fast::hash(data)" if name == "crc32" else "crc32c::crc32c(data)"
            text += f"\npub(crate) fn {name}(data: &[u8]) -> u32 {{\n    {call}\n}}\n"
        yield File(f"{FOLDER}/src/runtime.rs", f"// {mark()}\n\n{text}")
        if packed:
            text = runtime.joinpath("codecs.rs").read_text("utf-8")
            yield File(f"{FOLDER}/src/codecs.rs", f"// {mark()}\n\n{text}")
        if streams.codes:
            text = runtime.joinpath("streams.rs").read_text("utf-8")
            if processes_of(streams) & {"unpacked", "zlib"}:
                text += runtime.joinpath("zlib.rs").read_text("utf-8")
                codecs, used = codecs | {"zlib": _CODECS["gzip"]}, used | {"zlib"}
            yield File(f"{FOLDER}/src/streams.rs", f"// {mark()}\n\n{text}")
            units = [names.type(name) for name in streams.codes]
            later = [name for name, each in streams.codes.items() if each.checks and not each.is_local]
            checked = [names.type(name) for name in later]
            text = _TEMPLATES.render("objects.rs.j2", mark=mark(), units=units, checked=checked)
            yield File(f"{FOLDER}/src/objects.rs", text)
        told = {
            "mark": mark(),
            "crate": plan.name,
            "modules": sorted(modules),
            "packed": bool(packed),
            "streamed": bool(streams.codes),
        }
        yield File(f"{FOLDER}/src/lib.rs", _TEMPLATES.render("lib.rs.j2", **told))
        lines = {line for each in codecs.values() for line in each} | {_CHECKSUMS[name] for name in checksums}
        features = {
            name: [f"dep:{line.partition(' ')[0]}" for line in found] for name, found in codecs.items()
        }
        default = [name for name in codecs if name in used]
        told |= {"dependencies": sorted(lines), "features": features, "default": default}
        yield File(f"{FOLDER}/Cargo.toml", _TEMPLATES.render("Cargo.toml.j2", **told))


def _called(program: Program) -> set[str]:
    """Units that others hold."""
    units = program.units.values()
    parts = values_of([(each.steps, each.packed) for each in units])
    found = {each.unit for each in parts if isinstance(each, (Nested, ObjectOf))}
    return found | {each.packed.unit for each in units if each.packed is not None}


def _enum(names: Names, name: str, schema: str, items: Iterable[EnumItem]) -> str:
    """A number with constants: others than these are kept as they are."""
    text = names.enum(name)
    lines = [
        "",
        f"/// Numbers of `{schema}` that have names.",
        "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]",
        f"pub struct {text}(pub i64);",
        "",
        f"impl {text} {{",
        *(
            f"    /// `{item.id}`\n    pub const {item.id.upper()}: Self = Self({item.value});"
            for item in items
        ),
        "}",
        "",
    ]
    return "\n".join(lines)


def _choice(types: Types, kind: OneOf, unit: str) -> str:
    """An enum for a value of one of several types."""
    name, lifetime = types.choice(kind), types.suffix(kind)
    variants = types.variants(kind)
    first = "Bytes" if "Bytes" in variants else next(iter(variants))
    lines = ["", f"/// What a field of `{unit}` may be.", "#[derive(Clone, Debug, PartialEq)]"]
    lines.append(f"pub enum {name}{lifetime} {{")
    for variant, each in variants.items():
        text = types.of(each)
        lines += [
            f"    /// {'Bytes that nothing more is known of' if variant == 'Bytes' else f'`{variant}`'}.",
            f"    {variant}({f'Box<{text}>' if types.boxed(each) else text}),",
        ]
    zero = types.zero(variants[first])
    zero = "Box::default()" if types.boxed(variants[first]) else zero
    lines += ["}", "", f"impl Default for {name}{'<' + chr(39) + '_>' if lifetime else ''} {{"]
    lines += ["    fn default() -> Self {", f"        Self::{first}({zero})", "    }", "}", ""]
    return "\n".join(lines)


def _stream_choice(types: StreamTypes, kind: OneOf, unit: str) -> str:
    """The same for a value that is read from streams: it owns nothing."""
    name, lifetime = types.choice(kind), types.suffix(kind)
    variants = types.variants(kind)
    lines = ["", f"/// What a field of `{unit}` may be."]
    lines += ["#[derive(Clone, Copy, Debug)]", f"pub enum {name}{lifetime} {{"]
    for variant, each in variants.items():
        lines += [f"    /// `{variant}`.", f"    {variant}({types.of(each)}),"]
    lines.append("}")
    if objects := {variant: each for variant, each in variants.items() if isinstance(each, ObjectOf)}:
        rest = [] if len(objects) == len(variants) else ["            _ => None,"]
        lines += ["", f"impl<'a> {name}<'a> {{"]
        lines += ["    pub(crate) fn _node(self) -> Option<crate::Node<'a>> {", "        match self {"]
        for variant in objects:
            lines.append(f"            Self::{variant}(found) => Some(crate::Node::{variant}(found)),")
        lines += [*rest, "        }", "    }", ""]
        lines += ["    pub(crate) fn _of(node: crate::Node<'a>) -> Option<Self> {", "        match node {"]
        for variant in objects:
            lines.append(f"            crate::Node::{variant}(found) => Some(Self::{variant}(found)),")
        lines += ["            _ => None,", "        }", "    }", "}"]
    return "\n".join([*lines, ""])


def _comments(model: Model, unit: Unit) -> dict[str, str]:
    """The comment of a type, and those of its fields, from the schema's documentation."""
    found = documentation(model, model.struct(unit.name))
    return {name: _doc(doc, "    " if name else "") for name, doc in found}


def _doc(text: Text, space: str) -> str:
    return "\n".join(f"{space}/// {line}".rstrip() for line in markdown(text).splitlines())


TARGET = _Rust()
