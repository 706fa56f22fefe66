"""Eight formats as Arrow columns, beside a loop over ksc's objects: `python -m benchmarks.columns`.

    python -m benchmarks.columns [--formats PATH_OR_URL] [--rounds N] [--runtimes PATH] [FORMAT...]

The files are those of `tests.foreign.objects`. The loop is generated for each format: it appends what has a
value in the file to one list for each column, asks for each attribute once, and for a type where columns
depend on it. So it does no more than a program that wants these columns. Both must have as many values in
each column.
CPU time of one file, from bytes, the median of some rounds by turns; kodec makes all columns of the schema.
It makes the columns of a file in some milliseconds, so it makes them five times in a row. *First row* is what
it takes to begin a file and read one row: of a much shorter file that would be all.
For scale there are kodec's objects, and the objects of ksc's C++ and Rust, where a compiler and a runtime are
there (`benchmarks.ksc_languages`): these are not asked for their values.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import itertools
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kodec
from benchmarks.ksc_languages import Readers, prepared
from kodec.formats.shapes import Column
from tests.foreign.objects import FILES, objects_of
from tests.foreign.run import URL, fetched
from tests.ksc import oracle

ROWS = {
    "archive/cpio_old_le": "files",
    "archive/zip": "sections",
    "database/dbf": "records",
    "image/gif": "blocks",
    "image/png": "chunks",
    "media/ogg": "pages",
    "media/standard_midi_file": "tracks.events.event",
    "network/pcap": "packets",
}
_HERE = "here"
TIMES = 5


def main(arguments: list[str]) -> int:
    """Print a table with a row for each format."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runtimes", type=Path, default=oracle.CACHE / "ksc-runtimes")
    parser.add_argument("names", nargs="*", metavar="FORMAT", help=", ".join(FILES))
    given = parser.parse_args(arguments)
    if wrong := [name for name in given.names if name not in FILES]:
        parser.error(f"no such file: {', '.join(wrong)}")
    formats = fetched(given.formats)
    ratios, objects = [], []
    with tempfile.TemporaryDirectory() as folder:
        oracle.compile_schemas(Path(folder), ("python",), formats)
        others = prepared(Path(folder), given.runtimes, formats)
        sys.path.insert(0, f"{folder}/python")
        heads = ["format", "KiB", "rows", "columns", "in use", "first row", "as columns", "as objects"]
        heads += ["ksc", "ksc with the loop", "ratio", "ratio of objects"]
        heads += [f"ksc in {each.language.name}" for each in others]
        print(f"| {' | '.join(heads)} |")
        print(f"|---|{'--:|' * (len(heads) - 1)}")
        for name in given.names or FILES:
            line, ratio, of_objects = _measured(formats, name, given.rounds, others)
            ratios.append(ratio)
            objects.append(of_objects)
            print(line, flush=True)
    means = (math.exp(statistics.mean(map(math.log, each))) for each in (ratios, objects))
    print("\nMilliseconds. Geometric mean of the ratios: {:.1f}, of objects {:.1f}".format(*means))
    for each in others:
        if each.absent:
            print(f"{each.language.name} is absent: {each.absent}")
        for name, reason in each.refused.items():
            print(f"{each.language.name} has no {name}: {reason}")
    return 0


def _measured(formats: Path, name: str, count: int, others: list[Readers]) -> tuple[str, float, float]:
    """The line of a format, and how many times as fast kodec's columns and objects are."""
    data = FILES[name](random.Random(1))
    format = kodec.formats.load_schema(formats / f"{name}.ksy")
    table = format.scan(data, ROWS[name]).read_all()
    used = [each for each in table.schema.names if table[each].null_count < table.num_rows]
    plan: Any = format._planned(ROWS[name], None, None, False, "names")
    columns = [each for each in plan.columns if each.name in used]
    theirs: Any = getattr(importlib.import_module(name.rpartition("/")[2]), _camel(name))
    loop = _loop(ROWS[name].split("."), columns, table)
    for column, values in zip(columns, loop(theirs.from_bytes(data)), strict=True):
        there = table.num_rows - table[column.name].null_count
        assert len(values) == there, (name, column.name, len(values), there)
    ours_as_objects = objects_of(formats, name, natively=True)
    calls = (
        lambda: next(iter(format.scan(data, ROWS[name], batch_rows=1))),
        lambda: format.scan(data, ROWS[name]).read_all(),
        lambda: ours_as_objects(data),
        lambda: theirs.from_bytes(data),
        lambda: loop(theirs.from_bytes(data)),
    )
    times = (TIMES, TIMES, 1, 1, 1)
    rounds = [[_cpu(call, n) for call, n in zip(calls, times, strict=True)] for _ in range(count)]
    first, ours, objects, reading, looped = (
        statistics.median(each) * 1000 for each in zip(*rounds, strict=True)
    )
    facts = f"{len(data) >> 10:,} | {table.num_rows:,} | {table.num_columns} | {len(used)}"
    taken = f"{first:.2f} | {ours:.2f} | {objects:.1f} | {reading:.0f} | {looped:.0f}"
    parts = [name, facts, taken, f"{looped / ours:.0f}", f"{reading / objects:.1f}"]
    for each in others:
        reading_there = each.milliseconds(name, data, count)
        parts.append("" if reading_there is None else f"{reading_there:.1f}")
    return f"| {' | '.join(parts)} |", looped / ours, reading / objects


def _loop(path: list[str], columns: list[Column], table: Any) -> Callable[[Any], list[list[Any]]]:
    """A function that appends the values of columns to lists, with a test for columns of a type."""
    lines = ["def loop(root):"]
    lines += [f"    c{number} = []" for number in range(len(columns))]
    indent = "    "
    at = "root"
    for depth, name in enumerate(path):
        lines.append(
            f"{indent}for r{depth} in {at}.{name}:"
            if _is_list(path, depth)
            else f"{indent}r{depth} = {at}.{name}"
        )
        indent += "    " * _is_list(path, depth)
        at = f"r{depth}"
    tree: dict[Any, Any] = {}
    for number, column in enumerate(columns):
        inner = tree
        for step in column.steps:
            inner = inner.setdefault(step, {})
        inner[_HERE] = number
    lines += _values(tree, at, indent, columns, table, itertools.count())
    lines.append(f"    return [{', '.join(f'c{number}' for number in range(len(columns)))}]")
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    found: Callable[[Any], list[list[Any]]] = scope["loop"]
    return found


def _values(
    tree: dict[Any, Any], at: str, indent: str, columns: list[Column], table: Any, numbers: Iterator[int]
) -> Iterator[str]:
    """Lines that append what an object has: each attribute is asked for once, each type too."""
    for step, inner in tree.items():
        if step == _HERE:
            continue
        leaf = inner.get(_HERE)
        native = None if leaf is None else columns[leaf].native
        if native is not None and native.kind == "name":
            yield f"{indent}c{leaf}.append(type({at}).__name__)"
        elif step.guard is not None and step.member is None:
            yield f"{indent}if type({at}).__name__ == {step.guard.__name__!r}:"
            yield from _values(inner, at, f"{indent}    ", columns, table, numbers)
        elif step.member is None:
            yield f"{indent}if isinstance({at}, {step.accepts[0] if step.accepts else 'object'}):"
            yield f"{indent}    c{leaf}.append({at})"
        elif leaf is not None and not table[columns[leaf].name].null_count:
            yield f"{indent}c{leaf}.append({at}.{step.member})"
        else:
            value = f"v{next(numbers)}"
            yield f"{indent}{value} = getattr({at}, {step.member!r}, None)"
            yield f"{indent}if {value} is not None:"
            if leaf is not None:
                yield f"{indent}    c{leaf}.append({value})"
            yield from _values(inner, value, f"{indent}    ", columns, table, numbers)


def _is_list(path: list[str], depth: int) -> bool:
    """In a MIDI file a track has one object with its events; all else on the paths is a list."""
    return not (len(path) > 1 and path[depth] == "events")


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.rpartition("/")[2].split("_"))


def _cpu(call: Callable[[], Any], times: int) -> float:
    gc.collect()
    start = time.process_time()
    for _ in range(times):
        held = call()
    taken = (time.process_time() - start) / times
    del held
    return taken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
