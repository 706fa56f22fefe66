"""Builds a program of the Go that is generated of schemas, and asks it what it makes of bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kodec.generator.driver import generate, load
from kodec.generator.plan.build import program_of
from kodec.generator.targets.go.expressions import Types
from kodec.generator.targets.go.names import Names, exported

from .cases import Case

HERE = Path(__file__).resolve().parent / "go"


def build(schemas: Path, folder: Path) -> Path:
    """The program; Go's own checks of it have passed."""
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
    return folder / "testee"


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


def ask(program: Path, asked: Iterable[Case]) -> Iterator[Case]:
    """What it makes of the bytes of each case."""
    told = list(asked)
    requests = [{"type": each.type, "bytes": each.data.hex(), "version": each.version or 0} for each in told]
    text = "".join(json.dumps(each) + "\n" for each in requests)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for case, line in zip(told, done.stdout.splitlines(), strict=True):
        yield _answer(case, json.loads(line))


def _answer(case: Case, answer: dict[str, Any]) -> Case:
    if "code" in answer:
        error = answer["code"], answer["path"], answer["at"]
        return Case(case.type, case.data, case.version, error=error)
    written = bytes.fromhex(answer["written"]) if "written" in answer else None
    return Case(case.type, case.data, case.version, answer["value"], written)
