"""Builds a program of the Go that is generated of schemas, to be asked what it makes of bytes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from kodec.generator.code.printing import StreamPackage
from kodec.generator.driver import generate, load
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import FieldPlan
from kodec.generator.plan.values import Constant, ListOf, Maybe, OneOf, Type, bare
from kodec.generator.targets.go.names import Names, exported
from kodec.generator.targets.go.streams import StreamTypes
from kodec.generator.targets.go.types import Types

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
    """The tables of types that are given nothing but their version, and of the fields of all structs."""
    model = load(schemas)
    program = program_of(model)
    names = Names(model)
    types = Types(names)
    head = 'package main\n\nimport (\n\t"reflect"\n\n\t"kodec.test/formats"\n)\n'
    codecs, made, fields = [], [], []
    for unit in program.units.values():
        if unit.stands_for is not None:
            continue
        name = names.type(unit.name)
        kind = f"reflect.TypeFor[formats.{name}]()"
        made.append(f"\t{kind}: func() any {{ return formats.New{name}() }},")
        fields += [f"\t{kind}: {{", *(_field(types, each) for each in unit.fields if each.kept), "\t},"]
        told = [each.name for each in unit.parameters]
        if told not in ([], [unit.version_name]):
            continue
        version = f", {types.of(unit.parameters[0].type)}(version)" if told else ""
        codecs += [
            f'\t"{unit.name}": {{',
            "\t\tfunc(data []byte, version int64, opt formats.Options) (any, int, error) {",
            f"\t\t\treturn formats.Read{name}(data{version}, opt)",
            "\t\t},",
            "\t\tfunc(value any, version int64) ([]byte, error) {",
            f"\t\t\tv := value.(formats.{name})",
            f"\t\t\treturn v.Append(nil{version})",
            "\t\t},",
            f"\t\tfunc() any {{ return formats.New{name}() }},",
            "\t},",
        ]
    instances = []
    streams = StreamPackage.of(model)
    types = StreamTypes(names)
    for code in streams.codes.values():
        name = names.type(code.unit.name)
        kind = f"reflect.TypeFor[formats.{name}]()"
        fields += [f"\t{kind}: {{", *(_field(types, each) for each in code.unit.fields), "\t},"]
        shown = ", ".join(
            f'{{"{exported(each.name)}", "{each.name}", true, {_is_list(each.type)}, nil}}'
            for each in code.instances
        )
        instances.append(f"\t{kind}: {{{shown}}},")
        assert code.unit.streamed is not None
        if code.parameters or code.unit.streamed.part:
            continue
        codecs += [
            f'\t"{code.unit.name}": {{',
            "\t\tfunc(data []byte, _ int64, opt formats.Options) (any, int, error) {",
            f"\t\t\treturn formats.Read{name}(data, opt)",
            "\t\t}, nil, nil,",
            "\t},",
        ]
    tag = ["\treflect.TypeFor[formats.RawTag](): {", *map(_plain_field, ("number", "data")), "\t},"]
    return "\n".join(
        [
            head,
            "var codecs = map[string]codec{",
            *codecs,
            "}\n\nvar newOf = map[reflect.Type]func() any{",
            *made,
            "}\n\nvar fieldsOf = map[reflect.Type][]field{",
            *fields,
            *tag,
            "}\n\nvar instancesOf = map[reflect.Type][]field{",
            *instances,
            "}\n",
        ]
    )


def _field(types: Types, field: FieldPlan) -> str:
    kind = field.type
    nullable = isinstance(kind, Maybe) or (isinstance(field.absent, Constant) and field.absent.value is None)
    inner = kind.of if isinstance(kind, Maybe) else kind
    forms = ", ".join(
        f"reflect.TypeFor[{_qualified(types.of(each))}]()"
        for each in (inner.types if isinstance(inner, OneOf) and not isinstance(types, StreamTypes) else ())
    )
    shown = f"[]reflect.Type{{{forms}}}" if forms else "nil"
    flags = f"{str(nullable).lower()}, {_is_list(kind)}"
    return f'\t\t{{"{exported(field.name)}", "{field.name}", {flags}, {shown}}},'


def _is_list(kind: Type) -> str:
    return str(isinstance(bare(kind), ListOf)).lower()


def _plain_field(name: str) -> str:
    return f'\t\t{{"{exported(name)}", "{name}", false, false, nil}},'


def _qualified(kind: str) -> str:
    head = "[]" if kind.startswith("[]") else ""
    name = kind.removeprefix("[]")
    return f"{head}formats.{name}" if name[:1].isupper() else kind
