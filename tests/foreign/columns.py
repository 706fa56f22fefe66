"""Three formats of the public gallery as columns, beside ksc's Python: `python -m tests.foreign.columns`.

    python -m tests.foreign.columns [--formats PATH_OR_URL] FORMAT FILE [ROWS [COLUMN...]]

FORMAT is a schema of the gallery by its path without .ksy (`network/pcap`), FILE any file of it. Both readers
give the same rows: ours as Arrow columns, ksc's as objects of which the same columns are taken. CPU time, the
best of some runs, in turns: reading to objects, then all the way to columns, or to the values that these hold
(instances are read only then).
"""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kodec
from tests.foreign.run import URL, fetched
from tests.ksc import oracle

ROUNDS = 5


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("format")
    parser.add_argument("file", type=Path)
    parser.add_argument("rows", nargs="?")
    parser.add_argument("columns", nargs="*")
    given = parser.parse_args(arguments)
    formats = fetched(given.formats)
    ours = kodec.formats.load_schema(formats / f"{given.format}.ksy")
    data = given.file.read_bytes()
    reader = ours.scan(data, given.rows, given.columns or None)
    names = reader.schema.names
    path = reader.rows.split(".")
    with tempfile.TemporaryDirectory() as folder:
        oracle.compile_schemas(Path(folder), ("python",), formats)
        sys.path.insert(0, f"{folder}/python")
        ident = given.format.rpartition("/")[2]
        module = importlib.import_module(ident)
        theirs = getattr(module, "".join(part.capitalize() for part in ident.split("_")))

        def stock() -> list[tuple[Any, ...]]:
            found = [theirs.from_bytes(data)]
            for name in path:
                values = [getattr(holder, name, None) for holder in found]
                found = [each for value in values for each in _listed(value)]
            return [tuple(_value(row, name) for name in names) for row in found]

        def columns() -> Any:
            return ours.scan(data, reader.rows, given.columns or None).read_all()

        table, rows = columns(), stock()
        assert table.num_rows == len(rows), (table.num_rows, len(rows))
        plain = 0
        for index, name in enumerate(names):
            if str(table.schema.field(name).type).startswith(("struct", "list")):
                continue
            plain += 1
            theirs_here = [getattr(row[index], "value", row[index]) for row in rows]
            assert table[name].to_pylist() == theirs_here, name
        del table, rows

        def read() -> Any:
            return ours_class.from_bytes(data)

        def their_objects() -> Any:
            return theirs.from_bytes(data)

        ours_class = ours._plan(reader.rows, given.columns or None).kind
        calls = (read, their_objects, columns, stock)
        rounds = [[_cpu(which) for which in calls] for _ in range(ROUNDS)]
        best = [min(each[index] for each in rounds) for index in range(len(calls))]
        count = ours.scan(data, reader.rows, given.columns or None).read_all().num_rows
    mib = len(data) / 2**20
    print(f"{given.format}: {count:,} rows, {mib:.1f} MiB, {plain} of {len(names)} columns compared")
    said = ("ours, reading", "ksc, reading", "ours, to Arrow", "ksc, the same values")
    for what, seconds in zip(said, best, strict=True):
        print(f"  {what:20} {seconds * 1000:8.1f} ms  {mib / seconds:7.1f} MiB/s")
    return 0


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _value(row: Any, path: str) -> Any:
    for name in path.split("."):
        row = getattr(row, name, None)
    return row


def _cpu(call: Callable[[], Any]) -> float:
    gc.collect()
    start = time.process_time()
    held = call()
    taken = time.process_time() - start
    del held
    return taken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
