"""Testees of the readers that the stock Kaitai compiler makes of schemas: decode only, as they come.

Each language has a `dump` program in `ksc/`, which shows what a reader gives; `ksc/bridge.py` puts that into
the form of vectors by a table, which is made of the schemas here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kodec.generator.code.objects import absent_value
from kodec.generator.driver import load
from kodec.generator.json_values import to_json
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Program
from kodec.generator.plan.values import Maybe
from kodec.generator.schema.model import Bits, Bytes, Field, Model, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.schema.type_roles import tagged_section, transparent
from kodec.generator.wire import INTRINSICS, WIRE
from tests.ksc.oracle import CACHE, Failure, compile_schemas, node, schemas
from tests.labs.differential import jvm

HERE = Path(__file__).resolve().parent / "ksc"
RUNTIMES = Path(os.environ.get("KSC_RUNTIMES", CACHE / "ksc-runtimes"))
"""Clones of Kaitai's runtimes of Lua, Perl, PHP and Ruby, each under its repository's name."""
_KINDS = {"integer": "number", "float": "float", "boolean": "flag"}
_LETTERS = {"number": "n", "flag": "n", "float": "f", "bytes": "b", "text": "b", "uuid": "b"}


class Missing(Exception):
    """A runtime that is not here, by name."""


@dataclass(frozen=True)
class Ksc:
    """How a language of ksc's spells names, and runs a `dump` program.

    `needs` are programs; `command` gets the folder of readers, which it may add to, and the path of rows.txt,
    and raises Missing.
    """

    shown: str
    class_name: Callable[[list[str]], str]
    field_name: Callable[[str], str]
    command: Callable[[Path, str], list[str]]
    needs: tuple[str, ...] = ()


def build(folder_of_schemas: Path, folder: Path, language: str) -> tuple[list[str], list[Failure]]:
    """The command that runs the testee in a language of `LANGUAGES`, and the schemas that ksc refuses.

    Raises: Missing; CalledProcessError if a compiler refuses the readers.
    """
    ksc = LANGUAGES[language]
    failures = compile_schemas(folder, (language,), folder_of_schemas)
    table = _table(load(folder_of_schemas))
    rows = [[ksc.class_name(each["class"]), *_fields_of(ksc, each)] for each in table["types"].values()]
    listed = folder / "rows.txt"
    listed.write_text("".join(f"{' '.join(row)}\n" for row in rows))
    named = {"name": f"ksc-{language}", "language": ksc.shown, "rows": list(table["types"])}
    (folder / "table.json").write_text(json.dumps(table | named))
    bridge = [sys.executable, str(HERE / "bridge.py"), str(folder / "table.json")]
    return [*bridge, *ksc.command(folder / language, str(listed))], failures


def _fields_of(ksc: Ksc, kind: dict[str, Any]) -> Iterator[str]:
    return (f"{letter}:{ksc.field_name(name)}" for name, letter in kind["fields"].items())


def _upper(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _lower(name: str) -> str:
    return name[:1] + _upper(name)[1:]


def _joined(by: str) -> Callable[[list[str]], str]:
    return lambda path: by.join(map(_upper, path))


def _in_module(path: list[str]) -> str:
    return ".".join((path[0], *map(_upper, path)))


def _runtime(language: str) -> Path:
    """The clone with the runtime of a language. Raises Missing."""
    repository = f"kaitai_struct_{language}_runtime"
    if not (RUNTIMES / repository).is_dir():
        raise Missing(f"{repository} in {RUNTIMES} (or in KSC_RUNTIMES)")
    return (RUNTIMES / repository).resolve()


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def _python(folder: Path, rows: str) -> list[str]:
    names = {path.stem for path in folder.glob("*.py")}
    package = folder.with_name("readers")
    folder.rename(package)
    for path in package.glob("*.py"):
        # ksc writes `import uuid` for our uuid.ksy, which would find the standard library's
        text = re.sub(
            r"^import (\w+)$",
            lambda match: f"from . import {match[1]}" if match[1] in names else match[0],
            path.read_text(encoding="utf-8"),
            flags=re.MULTILINE,
        )
        path.write_text(text, encoding="utf-8")
    return [sys.executable, str(HERE / "dump.py"), rows, str(folder.parent)]


def _javascript(folder: Path, rows: str) -> list[str]:
    program, modules = node()
    return ["env", f"NODE_PATH={modules}", program, str(HERE / "dump.js"), rows, str(folder)]


def _java(folder: Path, rows: str) -> list[str]:
    version = "0.11"
    path = os.pathsep.join((str(jvm.jars(version, HERE) / "*"), str(folder / "classes")))
    sources = [str(each) for each in (*folder.rglob("*.java"), HERE / "Dump.java")]
    _run(["javac", "-nowarn", "-encoding", "UTF-8", "-d", "classes", "-cp", path, *sources], folder)
    return [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xmx1g",
        "-cp",
        path,
        "Dump",
        rows,
        version,
    ]


def _go(folder: Path, rows: str) -> list[str]:
    for path in folder.glob("*.go"):
        # ksc's Go has no `package` line without an option of its command line
        path.write_text("package main\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    names = [line.split(" ")[0] for line in Path(rows).read_text().splitlines()]
    made = "".join(f"\tNew{name},\n" for name in names)
    (folder / "made.go").write_text(f"package main\n\nvar made = []any{{\n{made}}}\n")
    for name in ("dump.go", "go.mod", "go.sum"):
        shutil.copyfile(HERE / name, folder / name)
    _run(["go", "build", "-o", "dump", "."], folder)
    return [str(folder / "dump"), rows]


def _lua(folder: Path, rows: str) -> list[str]:
    path = f"LUA_PATH={_runtime('lua')}/?.lua;{folder}/?.lua"
    return ["env", path, "lua5.3", str(HERE / "dump.lua"), rows]


def _perl(folder: Path, rows: str) -> list[str]:
    return ["perl", "-I", str(_runtime("perl") / "lib"), "-I", str(folder), str(HERE / "dump.pl"), rows]


def _php(folder: Path, rows: str) -> list[str]:
    return ["php", str(HERE / "dump.php"), rows, str(folder), str(_runtime("php") / "lib")]


def _ruby(folder: Path, rows: str) -> list[str]:
    return ["ruby", "-I", str(_runtime("ruby") / "lib"), str(HERE / "dump.rb"), rows, str(folder)]


LANGUAGES = {
    "python": Ksc("Python", _in_module, str, _python),
    "javascript": Ksc("JavaScript", _joined("."), _lower, _javascript),
    "java": Ksc("Java", _joined("$"), _lower, _java, ("javac", "java", "mvn")),
    "go": Ksc("Go", _joined("_"), _upper, _go, ("go",)),
    "lua": Ksc("Lua", _in_module, str, _lua, ("lua5.3",)),
    "perl": Ksc("Perl", _joined("::"), str, _perl, ("perl",)),
    "php": Ksc("PHP", _joined("\\"), _lower, _php, ("php",)),
    "ruby": Ksc("Ruby", _joined("::"), str, _ruby, ("ruby",)),
}


def count(folder_of_schemas: Path) -> int:
    """How many schemas there are to compile."""
    return len(schemas(folder_of_schemas))


def _table(model: Model) -> dict[str, Any]:
    """Each type by its name: its class, what it is given, its shape; and the types that can be asked for."""
    program = program_of(model)
    types = {
        struct.name: {
            "class": [model.schema_of(struct.name).id, *struct.name.split("::")[1:]],
            "told": [each.id for each in struct.params],
            "fields": {},
            "shape": _of_struct(model, program, struct),
        }
        for schema in model.schemas
        if not schema.streamed
        for struct in schema.structs
    }
    for each in types.values():
        each["fields"] |= _named(each["shape"])
        for spec in each["shape"].get("fields", {}).values():
            if "section" in spec:
                types[spec["of"]]["fields"] = {spec["section"]: "o"}
                types[spec["element"]]["fields"] = {spec["number"][0]: "o", spec["body"]: "o"}
    asked = [
        name
        for name, unit in program.units.items()
        if unit.stands_for is None and [each.name for each in unit.parameters] in ([], [unit.version_name])
    ]
    return {"types": types, "asked": asked}


def _named(shape: dict[str, Any]) -> dict[str, str]:
    """The fields that a shape is made of, each with the letter of what it holds."""
    if "at" in shape:
        return {shape["at"]: _letter(shape["of"])}
    return {name: _letter(each) for name, each in shape.get("fields", {}).items()}


def _letter(shape: dict[str, Any]) -> str:
    return _letter(shape["list"]) if "list" in shape else _LETTERS.get(shape.get("kind", ""), "o")


def _of_struct(model: Model, program: Program, struct: Struct) -> dict[str, Any]:
    if struct.wire in INTRINSICS:
        form = WIRE[struct.wire]
        return {"at": "value", "of": {"kind": _KINDS.get(form.kind, "uuid")}}
    inner = transparent(struct)
    if inner is not None:
        return {"at": inner.id, "of": _of_field(model, inner)}
    if struct.wire == "tags" or struct.name not in program.units:
        return {"kind": "none"}
    unit = program.units[struct.name]
    fields: dict[str, Any] = {}
    for spec in struct.fields:
        if tagged_section(model, spec) is not None:
            fields[spec.id] = _section(model, spec)
        elif unit.field(spec.id).kept:
            fields[spec.id] = _of_field(model, spec)
    kept = [each for each in unit.fields if each.kept]
    defaults = {each.name: to_json(absent_value(program, each.type, each.absent)) for each in kept}
    nullable = [each.name for each in kept if isinstance(each.type, Maybe)]
    return {"fields": fields, "defaults": defaults, "nullable": nullable}


def _section(model: Model, spec: Field) -> dict[str, Any]:
    """A section of tagged fields: its list, and of each element the number, the bytes, and known fields."""
    assert isinstance(spec.type, Ref)
    listed = next(each for each in model.struct(spec.type.target).fields if each.repeat is not None)
    tags = tagged_section(model, spec) or ()
    assert isinstance(listed.type, Ref)
    element = model.struct(listed.type.target)
    body = next(each for each in element.fields if (each.tags if tags else isinstance(each.type, Bytes)))
    number = element.fields[0]
    return {
        "of": spec.type.target,
        "element": element.name,
        "section": listed.id,
        "number": [number.id, _of_field(model, number)],
        "body": body.id,
        "known": {each.number: [each.id, _of_type(model, each.type)] for each in tags},
    }


def _of_field(model: Model, spec: Field) -> dict[str, Any]:
    shape = {"kind": "number"} if spec.enum is not None else _of_type(model, spec.type)
    return {"list": shape} if spec.repeat is not None else shape


def _of_type(model: Model, kind: TypeRef) -> dict[str, Any]:
    match kind:
        case Prim(name):
            return {"kind": _KINDS[WIRE[name].kind]}
        case Bits(1):
            return {"kind": "flag"}
        case Bits():
            return {"kind": "number"}
        case Bytes():
            return {"kind": "bytes"}
        case Str():
            return {"kind": "text"}
        case Ref(target):
            return {"type": target}
        case Switch():
            return {"kind": "any"}
    raise TypeError(kind)
