"""Builds the Go testee of a folder of schemas, and asks it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from kodec.generator.driver import generate, load
from kodec.generator.plan.build import program_of
from kodec.generator.targets.go.expressions import Types
from kodec.generator.targets.go.names import Names

HERE = Path(__file__).resolve().parent
MODULE = """module kodec.test/formats

go 1.23

require (
	github.com/klauspost/compress v1.18.0
	github.com/pierrec/lz4/v4 v4.1.22
)
"""


def build(schemas: Path, folder: Path) -> Path:
    """The program, made of the schemas' Go."""
    generate(schemas, folder, targets=["go"])
    module = folder / "go"
    (module / "go.mod").write_text(MODULE)
    command = module / "testee"
    command.mkdir()
    (command / "main.go").write_text((HERE / "go" / "testee.go").read_text())
    (command / "codecs.go").write_text(_codecs(schemas))
    for step in (["go", "mod", "tidy"], ["go", "vet", "./..."], ["go", "build", "-o", str(folder / "testee"), "./testee"]):
        subprocess.run(step, cwd=module, check=True, capture_output=True, text=True)
    return folder / "testee"


def _codecs(schemas: Path) -> str:
    """The table of types that are told nothing but their version."""
    model = load(schemas)
    program = program_of(model)
    names = Names(model)
    types = Types(names)
    lines = ["package main", "", 'import "kodec.test/formats"', "", "var codecs = map[string]codec{"]
    for unit in program.units.values():
        told = [each.name for each in unit.parameters]
        if unit.stands_for is not None or told not in ([], [unit.version_name]):
            continue
        name, version = names.type(unit.name), f", {types.of(unit.parameters[0].type)}(version)" if told else ""
        lines += [
            f'\t"{unit.name}": func(data []byte, version int16) (any, int, []byte, error, error) {{',
            f"\t\tv, size, err := formats.Read{name}(data{version}, formats.Options{{}})",
            "\t\tif err != nil {",
            "\t\t\treturn nil, 0, nil, err, nil",
            "\t\t}",
            f"\t\twritten, wrong := v.Append(nil{version})",
            "\t\treturn v, size, written, nil, wrong",
            "\t},",
        ]
    return "\n".join([*lines, "}", ""])


def ask(program: Path, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers, in order."""
    text = "".join(json.dumps(each) + "\n" for each in requests)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
