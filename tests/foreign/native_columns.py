"""Columns of public schemas, natively and from objects: `python -m tests.foreign.native_columns`.

    python -m tests.foreign.native_columns [--tests PATH] [--formats PATH] [--cuts N] [SCHEMA...]

Every schema of the tests with its own file, and the eight formats of `tests.foreign.objects` with generated
ones: the file as one row, and the rows of each list, flat and nested. Values and errors have to equal those
of pure Python, also where the file is cut, and where bytes of it are changed. It prints what differs, and how
many rows were filled natively.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kodec
from kodec.runtime.errors import KodecError
from kodec.runtime.fields import DEFAULT_READ
from tests.foreign.objects import FILES
from tests.foreign.run import URL, fetched

SHORT = 4000


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", default=URL.format("kaitai_struct_tests"))
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--cuts", type=int, default=40)
    parser.add_argument("names", nargs="*", metavar="SCHEMA")
    given = parser.parse_args(arguments)
    found = Counter[str]()
    for path, data in _samples(fetched(given.tests), fetched(given.formats)):
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
                _compare(format, rows, nested, data, given.cuts if not nested else 0, found)
        found["schemas"] += 1
        found["schemas that differ"] += found["differ"] > before
    for what, count in sorted(found.items()):
        print(f"{what}: {count:,}")
    return 1 if found["differ"] else 0


def _samples(tests: Path, formats: Path) -> Iterator[tuple[Path, bytes]]:
    for spec in sorted((tests / "spec" / "ks").glob("*.kst")):
        named = re.search(r"^data: *(\S+)", spec.read_text(), re.MULTILINE)
        path, source = tests / "formats" / f"{spec.stem}.ksy", tests / "src" / (named[1] if named else "")
        if named and path.is_file() and source.is_file():
            yield path, source.read_bytes()
    for name, make in FILES.items():
        yield formats / f"{name}.ksy", make(random.Random(1))[:SHORT]


def _compare(
    format: kodec.formats.Format, rows: str, nested: bool, data: bytes, cuts: int, found: Counter[str]
) -> None:
    try:
        plan: Any = format._planned(rows, None, None, nested, "names")
    except ValueError as error:
        found[f"not planned: {str(error)[:40]}"] += 1
        return
    data = data[:SHORT]
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
        got = _outcome(lambda each=each: format.scan(each, rows, nested=nested))
        native = plan.filling.rows(each, DEFAULT_READ)
        status, count, *_ = native.run(1 << 20, 1 << 30)
        found[f"inputs {status} natively" if number else f"whole files {status} natively"] += 1
        found["rows natively"] += count
        if want != got:
            found["differ"] += 1
            form = "nested" if nested else "flat"
            print(f"{format.id} {rows} {form} input {number}: {_difference(want, got)}")
            return
        if status == "stopped" and not isinstance(want[1], str):
            found["read by objects"] += 1
            if not number:
                found[f"  {format.id} is read by objects"] += 1


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
