"""Builds a program of the Rust that is generated of schemas, to be asked what it makes of bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from kodec.generator.code.printing import StreamPackage
from kodec.generator.code.typed import UnitCode
from kodec.generator.driver import generate, load
from kodec.generator.plan.build import program_of
from kodec.generator.plan.printing import packing
from kodec.generator.plan.steps import Unit
from kodec.generator.plan.values import STREAM, EnumOf, ListOf, Maybe, ObjectOf, OneOf, Type
from kodec.generator.targets.rust.expressions import Types
from kodec.generator.targets.rust.names import Names, member, method
from kodec.generator.targets.rust.streams import StreamTypes

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent / "rust"
TARGET = ROOT / ".cache" / "cargo"


def cargo(*arguments: str, folder: Path) -> str:
    """Runs Cargo; what it builds of others' crates is kept in `.cache`."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    command = ["cargo", "--quiet", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    return done.stdout


def build(schemas: Path, folder: Path, *, release: bool = False) -> list[str]:
    """The command that runs the program."""
    generate(schemas, folder, targets=["rust"])
    program = folder / "testee"
    shutil.copytree(HERE, program)
    (program / "src" / "types.rs").write_text(_types(schemas))
    shutil.copyfile(HERE / "Cargo.lock", folder / "rust" / "Cargo.lock")
    cargo("build", *(["--release"] if release else []), folder=program)
    made = TARGET / ("release" if release else "debug") / "testee"
    shutil.copyfile(made, folder / "program")
    (folder / "program").chmod(0o755)
    return [str(folder / "program")]


def _types(schemas: Path) -> str:
    """Each type as JSON and back, and the table of those that are given nothing but their version."""
    model = load(schemas)
    program = program_of(model)
    names = Names(model)
    types = Types(names, program)
    lines = ["#![allow(non_snake_case, unused)]"]
    lines += [
        "use crate::{decoded, encoded, failed, hear_into, is_of, object, Codec, Reader, Spoken, Wrong};"
    ]
    lines += ["use formats::Arena;", "use serde_json::{Map, Value};"]
    enums: dict[str, None] = {}
    for unit in program.units.values():
        for field in unit.fields:
            for kind in types.declare(field.type, unit.name, field.name):
                lines += _one_of(types, kind)
            enums |= dict.fromkeys(_enums(field.type))
    lines += [line for enum in enums for line in _enum(types.names.enum(enum))]
    units = [each for each in program.units.values() if each.stands_for is None]
    lines += [line for unit in units for line in _object(types, unit)]
    told = [each for each in units if [p.name for p in each.parameters] in ([], [each.version_name])]
    unpacking = packing(program)
    lines += ["pub static CODECS: &[Codec] = &[", *(_codec(types, unit, unpacking) for unit in told), "];"]
    streams = StreamPackage.of(model)
    stream_types = StreamTypes(names, streams)
    for choice in (each for several in stream_types.declared.values() for each in several):
        lines += _stream_choice(stream_types, choice)
    lines += [line for code in streams.codes.values() for line in _stream(stream_types, code)]
    lines += ["pub static READERS: &[Reader] = &["]
    for code in streams.codes.values():
        assert code.unit.streamed is not None
        if not code.parameters and not code.unit.streamed.part:
            name = names.type(code.unit.name)
            lines += [
                f'    Reader {{ name: "{code.unit.name}", read: |data, options, deep| {{',
                "        let objects = formats::Objects::new();",
                f"        let (found, size) = formats::{name}::read(data, &objects, options)?;",
                f"        Ok((show_{name}(found, deep), size))",
                "    }},",
            ]
    lines += ["];"]
    return "\n".join([*lines, ""])


def _stream(types: StreamTypes, code: UnitCode) -> list[str]:
    """The function that makes JSON of an object, with instances in `deep` instances."""
    name = types.names.type(code.unit.name)
    lines = [
        f"fn show_{name}<'a>(x: &'a formats::{name}<'a>, deep: i32) -> Value {{",
        "    let mut found = Map::new();",
    ]
    for field in code.unit.fields:
        kind = dict(code.fields)[field.name]
        text = _shown(types, kind, f"x.{method(field.name)}()")
        lines.append(f'    found.insert("{field.name}".to_owned(), {text});')
    if code.instances:
        lines += ["    if deep > 0 {", "        let deep = deep - 1;"]
        for each in code.instances:
            text = f"match x.{method(each.name)}() {{ Ok(x) => {_shown(types, each.type, 'x')}, "
            lines.append(
                f'        found.insert("{each.name}".to_owned(), {text}Err(error) => failed(&error) }});'
            )
        lines += ["    }"]
    return [*lines, "    Value::Object(found)", "}"]


def _stream_choice(types: StreamTypes, kind: OneOf) -> list[str]:
    name = types.choice(kind)
    arms = [
        f"        formats::{name}::{variant}(x) => {_shown(types, each, 'x')},"
        for variant, each in types.variants(kind).items()
    ]
    head = f"fn show_{name}<'a>(x: formats::{name}{types.suffix(kind)}, deep: i32) -> Value {{"
    return [head, "    match x {", *arms, "    }", "}"]


def _shown(types: StreamTypes, kind: Type, text: str) -> str:
    """A value as JSON. A list of bytes has the type that bytes have."""
    match kind:
        case Maybe(of):
            return f"{text}.map_or(Value::Null, |x| {_shown(types, of, 'x')})"
        case ListOf(item):
            inner = _shown(types, item, "x")
            return f"Value::Array({text}.iter().cloned().map(|x| {inner}).collect())"
        case ObjectOf(unit):
            return f"show_{types.names.type(unit)}({text}, deep)"
        case OneOf():
            return f"show_{types.choice(kind)}({text}, deep)"
        case EnumOf():
            return f"{text}.0.speak()"
    return 'Value::from("stream")' if kind == STREAM else f"{text}.speak()"


def _enums(kind: object) -> list[str]:
    found = [kind.enum] if hasattr(kind, "enum") else []
    inner = [getattr(kind, name) for name in ("of", "item") if hasattr(kind, name)]
    return found + [each for part in (*inner, *getattr(kind, "types", ())) for each in _enums(part)]


def _enum(name: str) -> list[str]:
    return [
        f"impl Spoken<'_> for formats::{name} {{",
        "    fn speak(&self) -> Value { self.0.speak() }",
        "    fn hear(value: &Value, arena: &Arena) -> Result<Self, Wrong> {",
        "        i64::hear(value, arena).map(Self)",
        "    }",
        "}",
    ]


def _object(types: Types, unit: Unit) -> list[str]:
    kind = f"formats::{types.names.type(unit.name)}"
    names = [each.name for each in unit.fields if each.kept]
    return [
        f"impl<'a> Spoken<'a> for {kind}{types.suffix(ObjectOf(unit.name))} {{",
        "    fn speak(&self) -> Value {",
        "        let mut found = Map::new();",
        *(f'        found.insert("{name}".to_owned(), self.{member(name)}.speak());' for name in names),
        "        Value::Object(found)",
        "    }",
        "    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong> {",
        "        let (mut found, parts) = (Self::default(), object(value)?);",
        *(f'        hear_into(&mut found.{member(name)}, parts, "{name}", arena)?;' for name in names),
        "        let _ = (&mut found, parts, arena);",
        "        Ok(found)",
        "    }",
        "}",
    ]


def _one_of(types: Types, kind: OneOf) -> list[str]:
    variants = types.variants(kind)
    speak = [f"            Self::{name}(x) => x.speak()," for name in variants]
    hear = []
    for name, each in variants.items():
        if isinstance(each, ObjectOf) and types.inner(each.unit) is None:
            fields = ", ".join(f'"{f.name}"' for f in types.program.units[each.unit].fields if f.kept)
            hear.append(f"        if is_of(value, &[{fields}]) {{")
            hear.append(f"            return Spoken::hear(value, arena).map(Self::{name});")
        else:
            hear.append("        if let Ok(x) = Spoken::hear(value, arena) {")
            hear.append(f"            return Ok(Self::{name}(x));")
        hear.append("        }")
    return [
        f"impl<'a> Spoken<'a> for formats::{types.choice(kind)}{types.suffix(kind)} {{",
        "    fn speak(&self) -> Value {",
        "        match self {",
        *speak,
        "        }",
        "    }",
        "    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong> {",
        *hear,
        '        Err(format!("none of the types: {value}"))',
        "    }",
        "}",
    ]


def _codec(types: Types, unit: Unit, unpacking: set[str]) -> str:
    kind = f"formats::{types.names.type(unit.name)}"
    version = f", version as {types.of(unit.parameters[0].type)}" if unit.parameters else ""
    arena = ", arena" if unit.name in unpacking else ""
    write = f"|value: &{kind}, out: &mut Vec<u8>| value.write(out{version})"
    return (
        f'    Codec {{ name: "{unit.name}", '
        f"decode: |data, version, arena, options| {{ let _ = (version, arena); "
        f"decoded({kind}::read(data{version}{arena}, options), {write}) }}, "
        f"encode: |value, version, arena| {{ let _ = version; encoded(value, arena, {write}) }} }},"
    )
