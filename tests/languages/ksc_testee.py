"""Testees of the readers that the stock Kaitai compiler makes of schemas: decode only, as they come.

What its readers give is put into the form of vectors by a table, which is made of the schemas here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from kodec.generator.driver import load
from kodec.generator.interpreter.json_values import to_json
from kodec.generator.interpreter.reader import PlanReader
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Program
from kodec.generator.plan.values import Maybe
from kodec.generator.schema.model import Bits, Bytes, Field, Model, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.schema.type_roles import tagged_section, transparent
from kodec.generator.wire import INTRINSICS, WIRE
from tests.ksc.oracle import Failure, compile_schemas, node, schemas

HERE = Path(__file__).resolve().parent / "ksc"
_KINDS = {"integer": "number", "float": "float", "boolean": "flag"}


def build(folder_of_schemas: Path, folder: Path, language: str) -> tuple[list[str], list[Failure]]:
    """The command that runs the testee in python or javascript, and the schemas that ksc refuses."""
    failures = compile_schemas(folder, (language,), folder_of_schemas)
    table = folder / "table.json"
    table.write_text(json.dumps(_table(load(folder_of_schemas))))
    made = folder / language
    if language == "javascript":
        program, modules = node()
        command = [program, str(HERE / "testee.js"), str(table), str(made)]
        return ["env", f"NODE_PATH={modules}", *command], failures
    names = {path.stem for path in made.glob("*.py")}
    package = folder / "readers"
    shutil.rmtree(package, ignore_errors=True)
    made.rename(package)
    for path in package.glob("*.py"):
        # ksc writes `import uuid` for our uuid.ksy, which would find the standard library's
        text = re.sub(
            r"^import (\w+)$",
            lambda match: f"from . import {match[1]}" if match[1] in names else match[0],
            path.read_text(encoding="utf-8"),
            flags=re.MULTILINE,
        )
        path.write_text(text, encoding="utf-8")
    environment = ["env", f"PYTHONPATH={os.pathsep.join((str(folder), os.environ.get('PYTHONPATH', '')))}"]
    return [*environment, sys.executable, str(HERE / "testee.py"), str(table)], failures


def count(folder_of_schemas: Path) -> int:
    """How many schemas there are to compile."""
    return len(schemas(folder_of_schemas))


def _table(model: Model) -> dict[str, Any]:
    """Each type by its name: its class, what it is told, its shape; and the types that can be asked for."""
    program = program_of(model)
    types = {
        struct.name: {
            "class": [model.schema_of(struct.name).id, *struct.name.split("::")[1:]],
            "told": [each.id for each in struct.params],
            "shape": _of_struct(model, program, struct),
        }
        for schema in model.schemas
        if not schema.streamed
        for struct in schema.structs
    }
    asked = [
        name
        for name, unit in program.units.items()
        if unit.stands_for is None and [each.name for each in unit.parameters] in ([], [unit.version_name])
    ]
    return {"types": types, "asked": asked}


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
    values = PlanReader(program, b"")
    fields: dict[str, Any] = {}
    for spec in struct.fields:
        if tagged_section(model, spec) is not None:
            fields[spec.id] = _section(model, spec)
        elif unit.field(spec.id).kept:
            fields[spec.id] = _of_field(model, spec)
    defaults = {
        each.name: to_json(values.absent(each.type, each.absent))
        for each in unit.fields
        if each.kept and not isinstance(each.type, Maybe)
    }
    return {"fields": fields, "defaults": defaults}


def _section(model: Model, spec: Field) -> dict[str, Any]:
    """A section of tagged fields: its list, and of each element the number, the bytes, and known fields."""
    assert isinstance(spec.type, Ref)
    listed = next(each for each in model.struct(spec.type.target).fields if each.repeat is not None)
    body = tagged_section(model, spec)
    assert isinstance(listed.type, Ref)
    element = model.struct(listed.type.target)
    if body is None or not body.tags:
        body = next(each for each in element.fields if isinstance(each.type, Bytes))
    known = {each.number: [each.id, _of_type(model, each.type)] for each in body.tags}
    return {"section": listed.id, "body": body.id, "known": known}


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
