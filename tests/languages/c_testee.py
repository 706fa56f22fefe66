"""Builds a program of the C that is generated of schemas, which speaks the testee protocol."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kodec.generator.code.printing import StreamPackage
from kodec.generator.code.typed import UnitCode
from kodec.generator.driver import generate, load
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Program, Tagged, Unit, steps_in
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
    bare,
    is_number,
)
from kodec.generator.targets.c.expressions import Types, is_null
from kodec.generator.targets.c.names import Names, member
from kodec.generator.targets.c.printer import Printer
from kodec.generator.targets.c.streams import types_of

HERE = Path(__file__).resolve().parent / "c"
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion")
SANITIZED = ("-g0", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CODECS = ("-DKODEC_WITH_ZLIB", "-DKODEC_WITH_ZSTD")
LIBRARIES = ("-lz", "-lzstd", "-lm")


def build(schemas: Path, folder: Path, compiler: str = "cc", flags: Sequence[str] = SANITIZED) -> list[str]:
    """The command that runs the program; the compiler had nothing to say of the library."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("testee.c", "testee.h"):
        shutil.copyfile(HERE / name, folder / name)
    (folder / "types.c").write_text(table(schemas))
    return linked(schemas, folder, [folder / "types.c", folder / "testee.c"], compiler, flags)


def linked(
    schemas: Path,
    folder: Path,
    sources: Sequence[Path],
    compiler: str = "cc",
    flags: Sequence[str] = SANITIZED,
) -> list[str]:
    """The command that runs a program of some sources with the library that is generated of schemas."""
    generate(schemas, folder, targets=["c"])
    made = folder / "c"
    includes = [f"-I{made / 'include'}", f"-I{made / 'src'}", f"-I{folder}"]
    have = [part for part in (*CODECS, *LIBRARIES) if "ZSTD" not in part.upper() or _has_zstd()]
    codecs, libraries = ([each for each in have if each.startswith(start)] for start in ("-D", "-l"))
    objects = folder / "objects"
    objects.mkdir()
    own = [*sorted((made / "src").glob("*.c")), *sources]
    commands = [
        [
            compiler,
            *WARNINGS,
            *codecs,
            *flags,
            *includes,
            "-c",
            str(each),
            "-o",
            str(objects / f"{each.stem}.o"),
        ]
        for each in own
    ]
    _run_all(commands)
    program = folder / sources[-1].stem
    parts = [str(objects / f"{each.stem}.o") for each in own]
    _run_all([[compiler, *flags, *parts, "-o", str(program), *libraries]])
    return [str(program)]


def _has_zstd() -> bool:
    return any(Path(folder, "zstd.h").exists() for folder in ("/usr/include", "/usr/local/include"))


def _run_all(commands: list[list[str]]) -> None:
    """Run compilers, as many at once as there are processors."""

    def run(command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-4000:]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, commands))


class _Table:
    """Functions that show a value as JSON, and take one of it."""

    def __init__(self, types: Types, program: Program) -> None:
        self.types = types
        self.program = program

    def show(self, kind: Type, place: str, indent: str = "  ") -> Iterator[str]:
        inner = bare(kind)
        if isinstance(kind, Maybe):
            yield f"{indent}if ({is_null(kind, place)}) {{"
            yield f'{indent}  printf("null");'
            yield f"{indent}}} else {{"
            yield from self.show(
                inner, f"(*{place})" if self.types.is_pointer(kind) else place, indent + "  "
            )
            yield f"{indent}}}"
        elif isinstance(inner, ObjectOf) and inner.unit in self.types.streamed:
            yield f"{indent}show_{self.types.names.type(inner.unit)}({place}, deep);"
        elif inner == STREAM:
            yield f'{indent}printf("\\"stream\\"");'
        elif isinstance(inner, ObjectOf):
            yield f"{indent}show_{self.types.of(inner)}(&{place});"
        elif isinstance(inner, ListOf):
            at = f"i{len(indent)}"
            yield f'{indent}printf("[");'
            yield f"{indent}for (size_t {at} = 0; {at} < {place}.count; {at}++) {{"
            yield f'{indent}  if ({at} != 0) printf(",");'
            yield from self.show(inner.item, f"{place}.items[{at}]", indent + "  ")
            yield f"{indent}}}"
            yield f'{indent}printf("]");'
        elif isinstance(inner, OneOf):
            yield f'{indent}if ({place}.kind == 0) printf("null");'
            for part in self.types.members(inner):
                yield f"{indent}if ({place}.kind == {part.constant}) {{"
                yield from self.show(part.type, f"{place}.as.{part.name}", indent + "  ")
                yield f"{indent}}}"
        else:
            yield f"{indent}show_{self._plain(inner)}({place});"

    def take(self, kind: Type, place: str, indent: str = "  ") -> Iterator[str]:
        """Statements that set a place of the value `from`."""
        inner = bare(kind)
        if self.types.is_pointer(kind):
            spelled = self.types.of(inner)
            yield f"{indent}if (from->kind != 'n') {{"
            yield f"{indent}  {spelled} *const made = kodec_arena_alloc(arena, sizeof *made);"
            yield f"{indent}  if (made == NULL) abort();"
            yield from self.take(inner, "(*made)", indent + "  ")
            yield f"{indent}  {place} = made;"
            yield f"{indent}}} else {{"
            yield f"{indent}  {place} = NULL;"
            yield f"{indent}}}"
        elif isinstance(inner, ObjectOf):
            spelled = self.types.of(inner)
            yield f"{indent}{spelled}_init(&{place});"
            yield f"{indent}take_{spelled}(from, &{place}, arena);"
        elif isinstance(inner, ListOf):
            yield f"{indent}{place}.items = from->kind == 'n' ? NULL : (void *)kodec_empty;"
            yield f"{indent}{place}.count = 0;"
            yield f"{indent}if (from->size != 0 && from->kind != 'n') {{"
            yield f"{indent}  {place}.items = kodec_arena_alloc(arena, from->size * sizeof *{place}.items);"
            yield f"{indent}  for (const json *each = from->first; each != NULL; each = each->next) {{"
            yield f"{indent}    const json *const list = from;"
            yield f"{indent}    {{"
            yield f"{indent}      const json *from = each;"
            yield from self.take(inner.item, f"{place}.items[{place}.count]", indent + "      ")
            yield f"{indent}    }}"
            yield f"{indent}    (void)list;"
            yield f"{indent}    {place}.count++;"
            yield f"{indent}  }}"
            yield f"{indent}}}"
        elif isinstance(inner, OneOf):
            yield f"{indent}{place}.kind = 0;"
            for part in self.types.members(inner):
                yield f"{indent}if ({place}.kind == 0 && {self._is(part.type)}) {{"
                yield f"{indent}  {place}.kind = {part.constant};"
                yield from self.take(part.type, f"{place}.as.{part.name}", indent + "  ")
                yield f"{indent}}}"
        elif inner in (TEXT, OCTETS, SECTION):
            yield f"{indent}{place} = {self._plain(inner)}_in(from, arena);"
        else:
            cast = "" if inner == IDENTITY else f"({self.types.of(inner)})"
            yield f"{indent}{place} = {cast}{self._plain(inner)}_in(from{self._range(inner)});"

    def _is(self, kind: Type) -> str:
        """The test that `from` can be a value of a type."""
        inner = bare(kind)
        if isinstance(inner, ObjectOf):
            names = "".join(f'"{each.name}", ' for each in self.program.units[inner.unit].fields if each.kept)
            return f"has_only(from, (const char *const[]){{{names}NULL}})"
        if isinstance(inner, ListOf):
            return "from->kind == '['"
        return "from->kind == '0'" if is_number(inner) else "from->kind == 's'"

    def _range(self, kind: Type) -> str:
        """The arguments that say of a whole number what its C type holds."""
        if not is_number(kind):
            return ""
        name = self.types.of(kind).removesuffix("_t").upper()
        low = "" if name == "UINT64" else ", 0" if name.startswith("U") else f", {name}_MIN"
        return f"{low}, {name}_MAX"

    def _plain(self, kind: Type) -> str:
        if is_number(kind):
            return "uint" if self.types.of(kind) == "uint64_t" else "int"
        if isinstance(kind, Real):
            return "real"
        plain: dict[Type, str] = {
            FLAG: "flag",
            TEXT: "text",
            OCTETS: "bytes",
            IDENTITY: "uuid",
            SECTION: "tags",
        }
        return plain[kind]

    def functions(self, unit: Unit) -> Iterator[str]:
        printer = Printer(self.types, self.program, unit, writing=False, circular=False)
        name = printer.type
        yield f"static void show_{name}(const {name} *v) {{"
        yield "  (void)v;"
        yield '  printf("{");'
        for index, each in enumerate(each for each in unit.fields if each.kept):
            yield f'  printf("{"," if index else ""}\\"{each.name}\\":");'
            yield from self.show(printer.field_type(each.name), f"v->{member(each.name)}")
        yield '  printf("}");'
        yield "}"
        yield f"static void take_{name}(const json *object, {name} *v, kodec_arena *arena) {{"
        yield "  const json *from = object;"
        yield "  (void)from, (void)v, (void)arena;"
        computed = {each.name for each in (*unit.derived, *unit.ranges)}
        tagged = {tag.name for step in steps_in(unit.steps) if isinstance(step, Tagged) for tag in step.tags}
        for each in unit.fields:
            if each.kept:
                given = " && from->kind != 'n'" if each.name in computed else ""
                yield f'  if ((from = member_of(object, "{each.name}")) != NULL{given}) {{'
                yield from self.take(printer.field_type(each.name), f"v->{member(each.name)}", "    ")
                if each.name in tagged:
                    yield "    of_version(from);"
                yield "  }"
        yield "}"

    def streamed(self, code: UnitCode) -> Iterator[str]:
        """The functions of a type that is read from streams."""
        name = self.types.names.type(code.unit.name)
        yield f"static void show_{name}({name} *v, int deep) {{"
        yield "  if (v == NULL) {"
        yield '    printf("null");'
        yield "    return;"
        yield "  }"
        yield "  (void)deep;"
        yield '  printf("{");'
        for index, (each, kind) in enumerate(code.fields):
            yield f'  printf("{"," if index else ""}\\"{each}\\":");'
            yield from self.show(kind, f"v->{member(each)}")
        for index, instance in enumerate(code.instances):
            shown = self.types.of(instance.type)
            comma = "," if index or code.fields else ""
            yield "  if (deep < most_instances) {"
            yield f"    {shown}{'' if shown.endswith('*') else ' '}found;"
            yield "    kodec_error error;"
            yield f'    printf("{comma}\\"{instance.name}\\":");'
            getter = self.types.names.getter(code.unit.name, instance.name)
            yield f"    if ({getter}(v, &found, &error) != KODEC_OK) {{"
            yield "      show_failed(&error);"
            yield "    } else {"
            yield "      const int around = deep;"
            yield "      {"
            yield "        const int deep = around + 1;"
            yield "        (void)deep;"
            yield from self.show(instance.type, "found", "        ")
            yield "      }"
            yield "    }"
            yield "  }"
        yield '  printf("}");'
        yield "}"
        if code.parameters or code.unit.streamed is None or code.unit.streamed.part:
            return
        yield f"static void print_{name}(const void *value) {{ show_{name}(*({name} *const *)value, 0); }}"
        yield (
            f"static kodec_code read_{name}(void *value, const uint8_t *data, size_t size, int64_t version, "
            "const kodec_options *options, kodec_arena *arena, size_t *used, kodec_error *error) {"
        )
        yield "  (void)version;"
        yield f"  {name} **const found = value;"
        yield f"  return {name}_read(found, data, size, options, arena, used, error);"
        yield "}"

    def asked(self, unit: Unit) -> Iterator[str]:
        """The functions of the table, for a type that is given nothing but its version."""
        name = self.types.names.type(unit)
        told = f", ({self.types.of(unit.parameters[0].type)})version" if unit.parameters else ""
        yield f"static void start_{name}(void *value) {{ {name}_init(value); }}"
        yield f"static void print_{name}(const void *value) {{ show_{name}(value); }}"
        yield (
            f"static void fill_{name}(const json *from, void *value, kodec_arena *arena) "
            f"{{ take_{name}(from, value, arena); }}"
        )
        yield (
            f"static kodec_code read_{name}(void *value, const uint8_t *data, size_t size, int64_t version, "
            "const kodec_options *options, kodec_arena *arena, size_t *used, kodec_error *error) {"
        )
        yield "  (void)version;"
        yield f"  return {name}_read(value, data, size{told}, options, arena, used, error);"
        yield "}"
        yield (
            f"static kodec_code write_{name}(const void *value, int64_t version, kodec_buffer *out, "
            "kodec_error *error) {"
        )
        yield "  (void)version;"
        yield f"  return {name}_write(value{told}, out, error);"
        yield "}"


def table(schemas: Path) -> str:
    """The source of the types: how each is shown and taken, and the table of those that can be asked for."""
    model = load(schemas)
    program = program_of(model)
    codes = StreamPackage.of(model).codes
    types = types_of(Names(model), program, codes)
    table = _Table(types, program)
    objects = [unit for unit in program.units.values() if unit.stands_for is None]
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "", '#include "testee.h"', ""]
    for unit in objects:
        name = types.names.type(unit)
        lines.append(f"static void show_{name}(const {name} *v);")
        lines.append(f"static void take_{name}(const json *object, {name} *v, kodec_arena *arena);")
    rows = []
    for unit in objects:
        lines += table.functions(unit)
        if [each.name for each in unit.parameters] in ([], [unit.version_name]):
            lines += table.asked(unit)
            name = types.names.type(unit)
            calls = ", ".join(f"{what}_{name}" for what in ("start", "read", "write", "print", "fill"))
            rows.append(f'    {{"{unit.name}", sizeof({name}), {calls}}},')
    for code in codes.values():
        name = types.names.type(code.unit.name)
        lines.append(f"__attribute__((unused)) static void show_{name}({name} *v, int deep);")
    for code in codes.values():
        lines += table.streamed(code)
        if not code.parameters and code.unit.streamed is not None and not code.unit.streamed.part:
            name = types.names.type(code.unit.name)
            rows.append(
                f'    {{"{code.unit.name}", sizeof(void *), NULL, read_{name}, NULL, print_{name}, NULL}},'
            )
    return "\n".join([*lines, "const type types[] = {", *rows, "    {0},", "};", ""])
