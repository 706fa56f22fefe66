"""Builds a program of the Java that is generated of schemas, to be asked what it makes of bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from kodec.generator.code.objects import absent_value
from kodec.generator.code.printing import StreamPackage
from kodec.generator.driver import generate, load
from kodec.generator.json_values import to_json
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Program, Unit
from kodec.generator.plan.values import OCTETS, TEXT, ListOf, Maybe, ObjectOf, OneOf, Type, Whole, bare
from kodec.generator.schema.model import Model
from kodec.generator.targets.java.names import Names, component
from kodec.generator.targets.java.printer import Printer

HERE = Path(__file__).resolve().parent / "java"
RUNTIME = Path(__file__).resolve().parents[2] / "runtime" / "java"
PACKAGE = "formats"


def jars() -> str:
    """The class path of Spark's jars, the codecs' among them."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent / "jars" / "*")


def build(schemas: Path, folder: Path) -> list[str]:
    """The command that runs the program; javac has no warning about it."""
    generate(schemas, folder, targets=["java"], options={"package": PACKAGE})
    (folder / "Types.java").write_text(_types(schemas))
    files = [*RUNTIME.rglob("*.java"), *(folder / "java").rglob("*.java"), folder / "Types.java"]
    options = [
        "--release",
        "17",
        "-Xlint:all,-path,-classfile",
        "-Werror",
        "-proc:none",
        "-encoding",
        "UTF-8",
    ]
    classes = folder / "classes"
    line = ["javac", *options, "-cp", jars(), "-d", classes, *files, *HERE.glob("*.java")]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    java = shutil.which("java")
    assert java is not None
    path = f"{classes}{os.pathsep}{jars()}"
    return [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, "Testee"]


def _types(schemas: Path) -> str:
    """The tables of types that are given nothing but their version, and of the fields of all records."""
    model = load(schemas)
    program = program_of(model)
    names = Names(model, PACKAGE)
    codecs, fields = [], []
    for unit in program.units.values():
        if unit.stands_for is not None:
            continue
        name = _class(names, model, unit.name)
        fields.append(f"        FIELDS.put({name}.class, List.of(")
        fields.append(",\n".join(_fields(names, program, model, unit)) + "));")
        told = [each.name for each in unit.parameters]
        if told not in ([], [unit.version_name]):
            continue
        version = ", version" if told else ""
        codecs += [
            f'        CODECS.put("{unit.name}", new Testee.Codec({name}.class) {{',
            "            @Override",
            "            public Record read(Input in, int version) {",
            f"                return {name}.read(in{version});",
            "            }",
            "",
            "            @Override",
            "            public void write(Object value, Output out, int version) {",
            f"                (({name}) value).write(out{version});",
            "            }",
            "        });",
        ]
    parts: list[str] = []
    for number, code in enumerate(StreamPackage.of(model).codes.values()):
        name = _class(names, model, code.unit.name)
        own: list[str] = []
        for table, members in (
            ("FIELDS", code.fields),
            ("INSTANCES", [(e.name, e.type) for e in code.instances]),
        ):
            shown = ",\n".join(
                f'            new Testee.Field("{each}", "{component(each)}", "", {_unsigned(kind)}, "null")'
                for each, kind in members
            )
            own.append(f"        {table}.put({name}.class, List.of(\n{shown}));")
        assert code.unit.streamed is not None
        if not code.parameters and not code.unit.streamed.part:
            own += [
                f'        CODECS.put("{code.unit.name}", new Testee.Codec(null) {{',
                "            @Override",
                "            public Object read(Input in, int version) {",
                f"                return {name}.read(in);",
                "            }",
                "        });",
            ]
        # what a method may hold is limited
        parts += ["", f"    private static void part{number}() {{", *own, "    }"]
        fields.append(f"        part{number}();")
    return "\n".join(
        [
            "import java.util.HashMap;",
            "import java.util.List;",
            "import java.util.Map;",
            "import org.kodec.runtime.Input;",
            "import org.kodec.runtime.Output;",
            "",
            "final class Types {",
            "    static final Map<String, Testee.Codec> CODECS = new HashMap<>();",
            "    static final Map<Class<?>, List<Testee.Field>> FIELDS = new HashMap<>();",
            "    static final Map<Class<?>, List<Testee.Field>> INSTANCES = new HashMap<>();",
            "",
            "    static {",
            *codecs,
            *fields,
            "    }",
            *parts,
            "}",
            "",
        ]
    )


def _unsigned(kind: Type) -> str:
    """Whether a value, or each of a list, is a number of 64 bits without a sign."""
    kind = bare(kind)
    kind = bare(kind.item) if isinstance(kind, ListOf) else kind
    return str(isinstance(kind, Whole) and kind.wide).lower()


def _class(names: Names, model: Model, unit: str) -> str:
    schema = model.schema_of(unit)
    top = f"{names.package(schema)}.{names.tops[schema.id]}"
    return top if unit == schema.root.name else f"{top}.{names.types[unit]}"


def _fields(names: Names, program: Program, model: Model, unit: Unit) -> Iterator[str]:
    """A `Field` for each component, or the two of a field that may be compressed."""
    printer = Printer(names, program, unit, model.schema_of(unit.name), {})
    ranges = {each.name for each in unit.ranges}
    if unit.packed is not None:
        ranges |= {each.name for each in unit.derived if each.kind in ("length", "count")}
    for each in unit.fields:
        if not each.kept:
            continue
        name, stored = component(each.name), ""
        if unit.packed is not None and unit.packed.name == each.name:
            name, stored = printer.packed_names(unit.packed)
        kind = each.type.of if isinstance(each.type, Maybe) else each.type
        wide = isinstance(kind, Whole) and kind.wide
        absent = absent_value(program, each.type, each.default)
        if absent is None and isinstance(each.type, Whole) and each.name in ranges:
            absent = 0  # computed, whatever it is
        default = json.dumps(json.dumps(to_json(absent)))
        forms = kind.types if isinstance(kind, OneOf) else ()
        classes = "".join(f", {_form(names, model, form)}.class" for form in forms)
        more = f'"{stored}", {str(wide).lower()}, {default}{classes}'
        yield f'            new Testee.Field("{each.name}", "{name}", {more})'


def _form(names: Names, model: Model, kind: Type) -> str:
    if isinstance(kind, ObjectOf):
        return _class(names, model, kind.unit)
    if isinstance(kind, ListOf):
        return "java.util.List"
    return {OCTETS: "byte[]", TEXT: "String"}.get(kind, "Object")
