"""Rust: a crate with a type for each type of record schemas, with a reader and a writer for all versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import ClassVar

from kodec.generator.passes import read_from_streams
from kodec.generator.plan.build import program_of
from kodec.generator.plan.printing import Package, collisions, lacking, wide_bits
from kodec.generator.plan.steps import Chars, Checksum, Choice, Nested, Program, Unit, values_of
from kodec.generator.plan.values import Maybe, MemberOf, ObjectOf, OneOf, is_number
from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.model import EnumItem, Model
from kodec.generator.target import File, Request, documentation, mark
from kodec.generator.targets.rust.expressions import Types, beyond
from kodec.generator.targets.rust.names import Names
from kodec.generator.targets.rust.printer import Printer, packing
from kodec.generator.templates import Templates
from kodec.generator.text import Text, markdown
from kodec.generator.wire import ENCODINGS

__all__ = ["TARGET"]

FOLDER = "rust"
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_TEMPLATES = Templates("kodec.generator.targets.rust")
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
    files = ("*.rs", "Cargo.toml")
    options: ClassVar[dict[str, str]] = {"crate": "the name of the Rust crate; `formats`"}

    def lacks(self, request: Request) -> Iterator[SchemaProblem]:
        """Streamed schemas, texts that are not UTF-8, numbers beyond 64 bits, parts of what may be null."""
        plan = self.plan(request)
        if _NAME.fullmatch(plan.name) is None:
            text = "letters, digits, `_` and `-`, in lower case"
            raise ValueError(f"`{plan.name}` is no name of a Rust crate: {text}")
        yield from read_from_streams(plan.model, plan.model.schemas, "Rust types yet")
        types = Names(plan.model).type
        yield from collisions(plan.model, plan.program, "Rust", lambda name: [types(name)])
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
        called, unpacking = _called(plan.program), packing(plan.program)
        modules = []
        for schema in plan.model.schemas:
            units = plan.program.units_of(schema)
            body = "".join(_enum(names, each.name, schema.id, each.items) for each in schema.enums)
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
            shown = any(each.stands_for is None for each in units) or bool(schema.enums)
            modules.append((module, shown))
            text = _TEMPLATES.render("file.rs.j2", mark=mark(schema), body=body.lstrip("\n"))
            yield File(f"{FOLDER}/src/{module}.rs", text, schema)
        yield from self._frame(plan, modules)

    @staticmethod
    def _frame(plan: Package, modules: list[tuple[str, bool]]) -> Iterator[File]:
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
        names = {"mark": mark(), "crate": plan.name, "modules": sorted(modules), "packed": bool(packed)}
        yield File(f"{FOLDER}/src/lib.rs", _TEMPLATES.render("lib.rs.j2", **names))
        lines = [line for each in codecs.values() for line in each] + [_CHECKSUMS[name] for name in checksums]
        features = {
            name: [f"dep:{line.partition(' ')[0]}" for line in found] for name, found in codecs.items()
        }
        default = [name for name in codecs if name in used]
        names |= {"dependencies": sorted(lines), "features": features, "default": default}
        yield File(f"{FOLDER}/Cargo.toml", _TEMPLATES.render("Cargo.toml.j2", **names))


def _called(program: Program) -> set[str]:
    """Units that others hold."""
    units = program.units.values()
    parts = values_of([(each.steps, each.packed) for each in units])
    found = {each.unit for each in parts if isinstance(each, (Nested, ObjectOf))}
    return found | {each.packed.unit for each in units if each.packed is not None}


def _enum(names: Names, name: str, schema: str, items: Iterable[EnumItem]) -> str:
    """A number with constants: others than these are kept as they are."""
    text = names.type(name)
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
    zero = f"Box::new({zero})" if types.boxed(variants[first]) else zero
    lines += ["}", "", f"impl Default for {name}{'<' + chr(39) + '_>' if lifetime else ''} {{"]
    lines += ["    fn default() -> Self {", f"        Self::{first}({zero})", "    }", "}", ""]
    return "\n".join(lines)


def _comments(model: Model, unit: Unit) -> dict[str, str]:
    """The comment of a type, and those of its fields, from the schema's documentation."""
    found = documentation(model, model.struct(unit.name))
    return {name: _doc(doc, "    " if name else "") for name, doc in found}


def _doc(text: Text, space: str) -> str:
    return "\n".join(f"{space}/// {line}".rstrip() for line in markdown(text).splitlines())


TARGET = _Rust()
