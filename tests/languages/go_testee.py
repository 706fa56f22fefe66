"""Builds a program of the Go that is generated of schemas, to be asked what it makes of bytes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from kodec.generator.driver import generate, load
from kodec.generator.plan.build import program_of
from kodec.generator.targets.go.expressions import Types
from kodec.generator.targets.go.names import Names, exported

HERE = Path(__file__).resolve().parent / "go"


def build(schemas: Path, folder: Path) -> list[str]:
    """The command that runs the program; Go's own checks of it have passed."""
    generate(schemas, folder, targets=["go"])
    module = folder / "go"
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(HERE / name, module / name)
    command = module / "testee"
    command.mkdir()
    shutil.copyfile(HERE / "testee.go", command / "main.go")
    (command / "types.go").write_text(_types(schemas))
    for step in (["go", "vet", "./..."], ["go", "build", "-o", str(folder / "testee"), "./testee"]):
        done = subprocess.run(step, cwd=module, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return [str(folder / "testee")]


def _types(schemas: Path) -> str:
    """The table of types that are told nothing but their version, and the names of all fields."""
    model = load(schemas)
    program = program_of(model)
    names = Names(model)
    types = Types(names)
    lines = ["package main", "", 'import "kodec.test/formats"', "", "var codecs = map[string]codec{"]
    fields = {exported(each.name): each.name for unit in program.units.values() for each in unit.fields}
    for unit in program.units.values():
        told = [each.name for each in unit.parameters]
        if unit.stands_for is not None or told not in ([], [unit.version_name]):
            continue
        name = names.type(unit.name)
        version = f", {types.of(unit.parameters[0].type)}(version)" if told else ""
        lines += [
            f'\t"{unit.name}": func(data []byte, version int16) (any, []byte, error, error) {{',
            f"\t\tv, _, err := formats.Read{name}(data{version}, formats.Options{{}})",
            "\t\tif err != nil {",
            "\t\t\treturn nil, nil, err, nil",
            "\t\t}",
            f"\t\twritten, wrong := v.Append(nil{version})",
            "\t\treturn v, written, nil, wrong",
            "\t},",
        ]
    lines += ["}", "", "var fieldNames = map[string]string{"]
    lines += [
        f'\t"{name}": "{field}",'
        for name, field in sorted({**fields, "Number": "number", "Data": "data"}.items())
    ]
    return "\n".join([*lines, "}", ""])
