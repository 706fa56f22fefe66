"""Builds a program of the Java that is generated of schemas, to be asked what it makes of bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from kodec.generator.driver import generate, load
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Program, Unit
from kodec.generator.plan.values import Whole
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
    line = ["javac", *options, "-cp", jars(), "-d", classes, *files, HERE / "Testee.java"]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    java = shutil.which("java")
    assert java is not None
    path = f"{classes}{os.pathsep}{jars()}"
    return [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, "Testee"]


def _types(schemas: Path) -> str:
    """The table of types that are told nothing but their version, and the names of all fields."""
    model = load(schemas)
    program = program_of(model)
    names = Names(model, PACKAGE)
    codecs, fields = [], []
    for unit in program.units.values():
        if unit.stands_for is not None:
            continue
        name = _class(names, model, unit)
        fields.append(f"        FIELDS.put({name}.class, {_fields(names, program, model, unit)});")
        told = [each.name for each in unit.parameters]
        if told not in ([], [unit.version_name]):
            continue
        version = ", version" if told else ""
        codecs += [
            f'        CODECS.put("{unit.name}", new Testee.Codec() {{',
            "            public Record read(Input in, int version) {",
            f"                return {name}.read(in{version});",
            "            }",
            "",
            "            public void write(Record value, Output out, int version) {",
            f"                (({name}) value).write(out{version});",
            "            }",
            "        });",
        ]
    return "\n".join(
        [
            "import java.util.HashMap;",
            "import java.util.Map;",
            "import org.kodec.runtime.Input;",
            "import org.kodec.runtime.Output;",
            "",
            "final class Types {",
            "    static final Map<String, Testee.Codec> CODECS = new HashMap<>();",
            "    static final Map<Class<?>, String[][]> FIELDS = new HashMap<>();",
            "",
            "    static {",
            *codecs,
            *fields,
            "    }",
            "}",
            "",
        ]
    )


def _class(names: Names, model: Model, unit: Unit) -> str:
    schema = model.schema_of(unit.name)
    top = f"{names.package(schema)}.{names.tops[schema.id]}"
    return top if unit.name == schema.root.name else f"{top}.{names.types[unit.name]}"


def _fields(names: Names, program: Program, model: Model, unit: Unit) -> str:
    """(field, component, how it differs) of each component."""
    printer = Printer(names, program, unit, model.schema_of(unit.name), {})
    found = []
    for each in unit.fields:
        if not each.kept:
            continue
        name, more = component(each.name), ""
        if unit.packed is not None and unit.packed.name == each.name:
            name, more = printer.packed_names(unit.packed)
        elif isinstance(each.type, Whole) and each.type.wide:
            more = "unsigned"
        found.append(f'{{"{each.name}", "{name}", "{more}"}}')
    return f"new String[][] {{{', '.join(found)}}}"
