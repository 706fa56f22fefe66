"""Every schema of the public Kaitai corpora, given to the targets of other languages.

    python -m tests.foreign.languages [--tests DIR] [--formats DIR] [--table FILE] [NAME...]

A target supports a schema, or refuses it by a problem with a file, a line and a construct. Anything else is a
crash. The generated code is not compiled here: tests/languages does that.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaError
from tests.foreign.run import URL, closure, fetched, put_table
from tests.ksc import oracle

MARKS = ("<!-- languages -->\n", "<!-- end of languages -->")
TARGETS = ("go", "java", "rust", "typescript", "c")


def outcome(files: dict[str, Path], name: str, target: str) -> tuple[str, str]:
    """`supported`, `refused` or `crash` of one schema in a target, and the first reason."""
    with tempfile.TemporaryDirectory() as folder:
        schemas = Path(folder)
        for each in closure(files, name):
            place = schemas / f"{each}.ksy"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(files[each], place)
        try:
            render_all(schemas, targets=(target,))
        except SchemaError as error:
            for each in error.problems:
                if not (each.place.line and each.place.file and each.path and each.text):
                    return "crash", f"a problem without its place: {each}"
            return "refused", str(error.problems[0])
        except Exception as error:
            return "crash", f"{type(error).__name__}: {error}"
    return "supported", ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", default=URL.format("kaitai_struct_tests"))
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--table", type=Path, help="the file whose table is rewritten")
    parser.add_argument("names", nargs="*", help="only these schemas, by their path without .ksy")
    given = parser.parse_args(arguments)
    tests, formats = fetched(given.tests), fetched(given.formats)
    counts: dict[tuple[str, str], Counter[str]] = {}
    for corpus, root in (("tests", tests / "formats"), ("gallery", formats)):
        files = oracle.schemas(root)
        for name in files:
            if given.names and name not in given.names:
                continue
            for target in TARGETS:
                verdict, reason = outcome(files, name, target)
                counts.setdefault((corpus, target), Counter())[verdict] += 1
                if verdict == "crash" or given.names:
                    print(f"{corpus}/{name}: {target}: {verdict} {reason}", flush=True)
    lines = ["| corpus | target | supported | refused by name | crash |", "|---|---|---|---|---|"]
    for (corpus, target), count in counts.items():
        cells = [corpus, target, count["supported"], count["refused"], count["crash"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    table = "\n".join(lines)
    print(table)
    if given.table is not None:
        put_table(given.table, MARKS, table)
    return 1 if any(count["crash"] for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
