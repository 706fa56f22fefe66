"""Columns of public schemas, natively and from objects: `python -m tests.foreign.native_columns`.

    python -m tests.foreign.native_columns [--tests PATH] [--formats PATH] [--cuts N] [SCHEMA...]

Schemas of the tests with their own files, eight formats of the gallery with generated ones
(`tests.foreign.objects`), and those of the lab of edits with files of other tools, as far as these are
installed: the file as one row, and the rows of each list, flat and nested, and with all instances. Values
and errors have to equal those of pure Python, also where the file is cut, and where bytes of it are changed.
Where kodec has overlays, columns have to be the same with them, and to be filled natively too.

It prints what differs, how many rows were filled natively, the types of each corpus that have parts for
objects, and why rows were made of objects.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kodec
from kodec.formats.collect import collect
from kodec.generator.schema.overlay import BUNDLED, SUFFIX
from kodec.runtime.errors import KodecError
from kodec.runtime.fields import DEFAULT_READ
from tests.foreign.objects import FILES
from tests.foreign.run import URL, fetched
from tests.labs.edits.case import NotInstalled
from tests.labs.edits.cases import CASES

SHORT = 4000


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", default=URL.format("kaitai_struct_tests"))
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--cuts", type=int, default=40)
    parser.add_argument("names", nargs="*", metavar="SCHEMA")
    given = parser.parse_args(arguments)
    found = Counter[str]()
    tests, formats = fetched(given.tests), fetched(given.formats)
    for path, data, cuts in _samples(tests, formats, given.cuts, found):
        if given.names and path.stem not in given.names:
            continue
        try:
            format = kodec.formats.load_schema(path)
        except KodecError:
            found["schemas refused"] += 1
            continue
        before = found["differ"]
        for rows in (*format.lists, "."):
            for nested in (False, True):
                _compare(format, rows, nested, data, cuts if not nested else 0, found)
            _compare(format, rows, False, data, 0, found, _with_instances(format, rows))
        if overlays := _overlays(path):
            _same_with(overlays, path, format, data, found)
        found["schemas"] += 1
        found["schemas that differ"] += found["differ"] > before
    for what, count in sorted(found.items()):
        print(f"{what}: {count:,}")
    if not given.names:
        for name, root in (("gallery", formats), ("tests", tests / "formats")):
            _types(name, root)
    return 1 if found["differ"] else 0


def _samples(tests: Path, formats: Path, cuts: int, found: Counter[str]) -> Iterator[tuple[Path, bytes, int]]:
    for spec in sorted((tests / "spec" / "ks").glob("*.kst")):
        named = re.search(r"^data: *(\S+)", spec.read_text(), re.MULTILINE)
        path, source = tests / "formats" / f"{spec.stem}.ksy", tests / "src" / (named[1] if named else "")
        if named and path.is_file() and source.is_file():
            yield path, source.read_bytes()[:SHORT], cuts
    for name, make in FILES.items():
        yield formats / f"{name}.ksy", make(random.Random(1))[:SHORT], cuts
    for name, case in sorted(CASES.items()):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"sample.{case.suffix}"
            try:
                case.make(file)
            except (NotInstalled, subprocess.SubprocessError):
                found["samples without their tool"] += 1
                continue
            if case.kind is None:
                yield formats / f"{name}.ksy", file.read_bytes(), 0


def _with_instances(format: kodec.formats.Format, rows: str) -> list[str] | None:
    """All columns of rows, and the instances that can be one; None if there is none."""
    shapes = format._shapes("names")
    try:
        target = shapes.rows(format._schema.root, rows).shape.target
    except ValueError:
        return None
    found = []
    for each in format._model.struct(target).instances if target else ():
        try:
            format.schema_of(rows, [each.id])
        except ValueError:
            continue
        found.append(each.id)
    return ["*", *found] if found else None


def _overlays(path: Path) -> list[str]:
    """The overlays that kodec has for a schema and its imports."""
    idents = [Path(each).stem for each in collect(path)[1]]
    return [each for each in idents if (BUNDLED / f"{each}{SUFFIX}").is_file()]


def _same_with(
    overlays: list[str], path: Path, format: kodec.formats.Format, data: bytes, found: Counter[str]
) -> None:
    """Columns with overlays against those without: the same, and none of objects."""
    other = kodec.formats.load_schema(path, overlays)
    found["schemas with overlays"] += 1
    for rows in (*format.lists, "."):
        for columns in (None, _with_instances(format, rows)):
            tables = []
            for each in (format, other):
                reader = each.scan(data, rows, columns)
                try:
                    tables.append((_outcome(lambda reader=reader: reader), reader.through_objects))
                except ValueError:
                    tables.append((([], "not planned"), ""))
            if tables[0] != tables[1] or tables[1][1]:
                found["differ"] += 1
                print(f"{format.id} {rows} with overlays: {tables[1][1] or 'other columns'}")


def _types(corpus: str, root: Path) -> None:
    """Why types of a corpus have parts for objects, as a table."""
    reasons, types, schemas = Counter[str](), 0, 0
    for path in sorted(root.rglob("*.ksy")):
        try:
            format = kodec.formats.load_schema(path)
        except KodecError:
            continue
        schemas += 1
        types += sum(len(each.structs) for each in format._model.schemas)
        reasons.update(format.fallbacks.values())
    print(f"\n{corpus}: {types:,} types of {schemas} schemas with their imports\n")
    print("| types | read through objects because |\n|--:|---|")
    for reason, count in reasons.most_common() or [("nothing", 0)]:
        print(f"| {count} | {reason} |")


def _compare(
    format: kodec.formats.Format,
    rows: str,
    nested: bool,
    data: bytes,
    cuts: int,
    found: Counter[str],
    columns: list[str] | None = None,
) -> None:
    try:
        plan: Any = format._planned(rows, columns, None, nested, "names")
    except ValueError as error:
        found[f"not planned: {str(error)[:40]}"] += 1
        return
    rng = random.Random(2)
    inputs = [data, *(data[: len(data) * cut // max(cuts, 1)] for cut in range(cuts))]
    for _ in range(cuts):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            if changed:
                changed[rng.randrange(len(changed))] = rng.randrange(256)
        inputs.append(bytes(changed))
    for number, each in enumerate(inputs):
        want = _outcome(lambda each=each: _pure(format, plan, each))
        reader = format.scan(each, rows, columns, nested=nested)
        got = _outcome(lambda reader=reader: reader)
        native = plan.filling.rows(each, DEFAULT_READ)
        status, count, *_ = native.run(1 << 20, 1 << 30)
        found[f"inputs {status} natively" if number else f"whole files {status} natively"] += 1
        found["rows natively"] += count
        if want != got:
            found["differ"] += 1
            form = "nested" if nested else "flat"
            print(f"{format.id} {rows} {form} input {number}: {_difference(want, got)}")
            return
        if reader.through_objects:
            found["files read by objects" if not number else "changed files read by objects"] += 1
            found[f"  {reader.through_objects}"] += 1


def _pure(format: kodec.formats.Format, plan: Any, data: bytes) -> Iterator[Any]:
    from kodec.formats.schema import _pure

    return _pure(lambda: format._objects(plan, data, DEFAULT_READ), plan.columns, None, 8192)


def _outcome(read: Any) -> tuple[list[Any], str | None]:
    rows: list[Any] = []
    try:
        for batch in read():
            batch.validate(full=True)
            rows += batch.to_pylist()
    except KodecError as error:
        return [], f"{type(error).__name__}: {error}"
    return [_plain(each) for each in rows], None


def _plain(value: Any) -> Any:
    """A value that equals itself."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def _difference(want: tuple[list[Any], Any], got: tuple[list[Any], Any]) -> str:
    if want[1] != got[1] or len(want[0]) != len(got[0]):
        return f"{len(want[0])} rows, {want[1]}; natively {len(got[0])} rows, {got[1]}"
    for first, second in zip(want[0], got[0], strict=True):
        if first != second:
            return str({name: (first[name], second[name]) for name in first if first[name] != second[name]})[
                :300
            ]
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
