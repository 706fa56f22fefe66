"""Builds a program of the TypeScript that is generated of schemas, to be asked what it makes of bytes.

python -m tests.languages.typescript_testee SCHEMAS OUT    build it there, and print its command
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kodec.generator.code.printing import StreamPackage
from kodec.generator.driver import generate, load
from kodec.generator.plan.build import program_of
from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    STREAM,
    TEXT,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Real,
    Type,
)
from kodec.generator.targets.typescript.names import Names, member
from kodec.generator.targets.typescript.types import is_big

HERE = Path(__file__).resolve().parent / "typescript"
ROOT = HERE.parents[2]
NODE = ROOT / ".cache" / "node" / "node.json"
_PLAIN = {FLAG: "boolean", TEXT: "text", OCTETS: "bytes", IDENTITY: "uuid", SECTION: "tags"}


def node() -> dict[str, str] | None:
    """The node program, and the folder with its modules, where `make node` has put them."""
    found: dict[str, str] | None = json.loads(NODE.read_text()) if NODE.exists() else None
    return found if found is not None and (Path(found["modules"]) / "typescript").is_dir() else None


def run(module: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a script of a node package in the folder of a package, in which its modules are linked."""
    tools = node()
    assert tools is not None
    link = module / "node_modules"
    if not link.exists():
        link.symlink_to(tools["modules"])
    script, *arguments = command
    path = link / script
    line = [tools["node"], str(path) if path.is_file() else script, *arguments]
    return subprocess.run(line, cwd=module, check=False, capture_output=True, text=True)


def compile_(module: Path) -> None:
    """Check and compile what has changed in a package since the last time."""
    done = run(module, "typescript/bin/tsc", "--incremental")
    assert done.returncode == 0, done.stdout[:3000]


def build(schemas: Path, folder: Path) -> list[str]:
    """The command that runs the program, which TypeScript's strict checks have passed."""
    generate(schemas, folder, targets=["typescript"])
    module = folder / "typescript"
    (module / "test").mkdir(exist_ok=True)
    shutil.copyfile(HERE / "testee.ts", module / "test" / "testee.ts")
    (module / "test" / "types.ts").write_text(table(schemas))
    if not (module / "src" / "codecs.ts").exists():
        (module / "src" / "codecs.ts").write_text("export const codecs = {};\n")
    compile_(module)
    tools = node()
    assert tools is not None
    return [tools["node"], str(module / "dist" / "test" / "testee.js")]


def table(schemas: Path) -> str:
    """The types that are given nothing but their version, and what the fields of all of them are."""
    model = load(schemas)
    program = program_of(model)
    names = Names(model)
    lines = [
        'import * as formats from "../src/index.js";',
        'import type { Reader, Writer } from "../src/runtime.js";',
        "",
        'export type Kind = string | ["null" | "list", Kind] | ["one", Kind[]] | ["object", string];',
        "export interface Type {",
        "  make?: (fields: object) => unknown;",
        "  read?: (r: Reader, version: number) => unknown;",
        "  write?: (w: Writer, value: unknown, version: number) => void;",
        "}",
        "export const types: Partial<Record<string, Type>> = {",
    ]
    shapes: dict[str, list[list[Any]]] = {}
    instances: dict[str, list[list[Any]]] = {}
    for unit in program.units.values():
        if unit.stands_for is not None:
            continue
        derived = {each.name for each in unit.derived if each.kind in ("last", "most")}
        shapes[unit.name] = [
            [each.name, member(each.name), _kind(Maybe(each.type) if each.name in derived else each.type)]
            for each in unit.fields
            if each.kept
        ]
        told = [each.name for each in unit.parameters]
        name = names.type(unit.name)
        version = ", version" if told else ""
        refused = "() => { throw new Error('told more than its version'); }"
        plain = told in ([], [unit.version_name])
        read = f"(r, version) => formats.read{name}(r{version})"
        write = f"(w, value, version) => {{ formats.write{name}(w, value as formats.{name}{version}); }}"
        lines.append(f'  "{unit.name}": {{')
        lines.append(f"    make: (fields) => formats.new{name}(fields),")
        lines.append(f"    read: {read if plain else refused},")
        lines.append(f"    write: {write if plain else refused},")
        lines.append("  },")
    streams = StreamPackage.of(model)
    writers = streams.writers().codes
    for code in streams.codes.values():
        name = names.type(code.unit.name)
        shapes[code.unit.name] = [[each, member(each), _kind(kind)] for each, kind in code.fields]
        instances[code.unit.name] = [
            [each.name, member(each.name), _kind(each.type)] for each in code.instances
        ]
        assert code.unit.streamed is not None
        lines.append(f'  "{code.unit.name}": {{')
        if code.unit.name in writers:
            lines.append(f"    make: (fields) => formats.new{name}(fields),")
        if not code.parameters and not code.unit.streamed.part:
            lines.append(f"    read: (r) => formats.read{name}(r),")
            if code.unit.name in writers:
                write = f"formats.write{name}(w, value as formats.{name})"
                lines.append(f"    write: (w, value) => {{ {write}; }},")
        lines.append("  },")
    lines += [
        "};",
        "export type Fields = Partial<Record<string, [string, string, Kind][]>>;",
        f"export const instances: Fields = {json.dumps(instances)};",
        f"export const shapes: Fields = {json.dumps(shapes)};",
    ]
    return "\n".join(lines) + "\n"


def _kind(kind: Type) -> Any:
    match kind:
        case Maybe(of):
            return ["null", _kind(of)]
        case ListOf(item):
            return ["list", _kind(item)]
        case OneOf(kinds):
            return ["one", [_kind(each) for each in kinds]]
        case ObjectOf(unit):
            return ["object", unit]
        case Real():
            return "float"
    if kind == STREAM:
        return "stream"
    return _PLAIN.get(kind) or ("bigint" if is_big(kind) else "number")  # type: ignore[arg-type]


def main(arguments: Iterable[str]) -> None:
    schemas, folder = map(Path, arguments)
    print(json.dumps(build(schemas, folder)))


if __name__ == "__main__":
    main(sys.argv[1:])
