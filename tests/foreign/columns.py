"""Three formats of the public gallery as columns, beside ksc's Python: `python -m tests.foreign.columns`.

    python -m tests.foreign.columns [--formats PATH_OR_URL] FORMAT FILE [ROWS [COLUMN...]]

FORMAT is a schema of the gallery by its path without .ksy (`network/pcap`), FILE any file of it. Both readers
give the same rows: ours as Arrow columns, ksc's as objects of which the same columns are taken. CPU time, the
best of some runs.
"""

from __future__ import annotations

import argparse
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

ROUNDS = 3


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("format")
    parser.add_argument("file", type=Path)
    parser.add_argument("rows", nargs="?")
    parser.add_argument("columns", nargs="*")
    given = parser.parse_args(arguments)
    formats = fetched(given.formats)
    ours = kodec.schema(formats / f"{given.format}.ksy")
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
                found = [
                    each
                    for holder in found
                    for each in (lambda v: v if isinstance(v, list) else [v])(getattr(holder, name))
                ]
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
        best = {which: min(_cpu(which) for _ in range(ROUNDS)) for which in (columns, stock)}
    mib = len(data) / 2**20
    print(f"{given.format}: {table.num_rows:,} rows, {mib:.1f} MiB, {plain} of {len(names)} columns compared")
    for what, which in (("ours to Arrow", columns), ("ksc to objects", stock)):
        seconds = best[which]
        rate = table.num_rows / seconds
        print(f"  {what:15} {seconds * 1000:8.0f} ms  {rate:12,.0f} rows/s  {mib / seconds:6.1f} MiB/s")
    return 0


def _value(row: Any, path: str) -> Any:
    for name in path.split("."):
        row = getattr(row, name, None)
    return row


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
