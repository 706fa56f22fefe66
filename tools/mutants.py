"""Changes the code in small ways and sees whether a test fails: what lives has no test.

Usage: mutants.py [--sample N] [--seed S] [--minutes M] [MODULE...]   (MODULE as log/writing/guard.py)

Each mutant is one change in one place: a comparison, an operator, a number, a condition, a call that is left
out. It is made in a copy of the clone, and the tests that concern the module run there until one fails. What
came out is a line of out/mutants.jsonl, and is not done again as long as the module stays as it is. At the
end there is a table, and the mutants that lived.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "out" / "mutants.jsonl"
NEEDED = (
    "src",
    "cli",
    "formats",
    "log",
    "runtime",
    "generated",
    "generator",
    "importer",
    "pipeline",
    "schemas",
    "tests",
    "pyproject.toml",
)

# The most dangerous first: what they do wrong loses data; then what reads and verifies. Each with its tests.
MODULES = {
    "log/files/durable.py": ["order_on_disk", "durable"],
    "log/files/lock.py": ["lock"],
    "log/files/checkpoints.py": ["directory", "bad_input", "writer", "recovery"],
    "log/files/paths.py": ["paths"],
    "log/files/in_use.py": ["lock", "paths"],
    "log/writing/guard.py": ["writer", "failed_writer"],
    "log/writing/segment_writer.py": ["order_on_disk", "writer", "durable"],
    "log/writing/segment_scan.py": ["recovery", "writer"],
    "log/writing/writer.py": ["order_on_disk", "writer"],
    "log/writing/opening.py": ["order_on_disk", "writer", "paths"],
    "log/writing/incoming.py": ["writer"],
    "log/writing/directory_writer.py": ["order_on_disk", "writer", "paths"],
    "log/writing/new_folder.py": ["convert", "paths", "salvage"],
    "log/writing/rebuild.py": ["cleaning", "convert", "writer"],
    "log/recovery/apply.py": ["order_on_disk", "recovery", "paths"],
    "log/recovery/checkpoints.py": ["recovery"],
    "log/recovery/draft.py": ["recovery", "paths"],
    "log/recovery/planning.py": ["recovery", "paths"],
    "log/recovery/replacement.py": ["recovery", "cleaning"],
    "log/recovery/salvage.py": ["salvage"],
    "log/recovery/segments.py": ["recovery", "order_on_disk"],
    "log/recovery/snapshots.py": ["recovery"],
    "log/cleaning/swap.py": ["cleaning", "retention"],
    "log/cleaning/retention.py": ["retention", "paths"],
    "log/cleaning/rules.py": ["cleaning", "judged_compaction"],
    "log/cleaning/cleanable.py": ["cleaning", "judged_compaction"],
    "log/cleaning/compaction.py": ["cleaning"],
    "log/cleaning/offset_map.py": ["cleaning"],
    "log/conversion/batches.py": ["convert"],
    "log/conversion/options.py": ["convert"],
    "log/conversion/partition.py": ["convert", "order_on_disk"],
    "log/conversion/report.py": ["convert"],
    "log/files/descriptors.py": ["durable", "writer", "paths"],
    "log/files/exclusive.py": ["lock", "paths"],
    "log/files/index_files.py": ["lookup", "index_advice"],
    "log/files/indexes.py": ["writer", "recovery"],
    "log/files/listing.py": ["layout", "directory", "verification"],
    "log/files/names.py": ["layout", "directory"],
    "log/files/pages.py": ["lookup", "live"],
    "log/files/resolve.py": ["verification", "directory", "paths"],
    "log/recovery/plan.py": ["recovery"],
    "log/recovery/steps.py": ["recovery"],
    "log/directories/directory.py": ["directory", "verification"],
    "log/directories/epochs.py": ["recovery", "writer"],
    "log/directories/offline.py": ["isolation", "directory"],
    "log/directories/partition.py": ["lookup", "isolation", "verification", "live"],
    "log/directories/producer_state.py": ["recovery", "isolation", "writer"],
    "log/directories/segment.py": ["lookup", "index_advice", "live"],
    "log/directories/transactions.py": ["isolation"],
    "log/reading/reader.py": ["damage", "bad_input"],
    "log/reading/chain.py": ["damage", "holes"],
    "log/reading/resume.py": ["damage", "holes", "bad_input"],
    "log/reading/source.py": ["windows_of_sources", "damage", "limits"],
    "log/reading/walk.py": ["damage", "bad_input", "limits"],
    "log/verification/indexes.py": ["verification", "recovery", "writer"],
    "log/verification/producers.py": ["verification", "live", "cleaning"],
    "log/verification/segments.py": ["verification", "live"],
    "log/verification/survey.py": ["directory", "verification", "../cli"],
    "log/verification/verify.py": ["verification", "live"],
    "log/batches/batch.py": ["samples", "messages", "control"],
    "log/batches/control.py": ["control"],
    "log/batches/default_batch.py": ["samples", "damage", "edge_cases"],
    "log/batches/encode.py": ["encode"],
    "log/batches/frame.py": ["damage", "bad_input"],
    "log/batches/legacy_batch.py": ["messages", "edge_cases"],
    "log/batches/opening.py": ["damage", "messages"],
    "log/batches/options.py": ["limits", "bad_input"],
    "log/batches/records.py": ["samples", "messages", "limits"],
    "log/batches/wrapper.py": ["messages", "edge_cases"],
    "log/tables/plain.py": ["encode_table", "table"],
    "log/tables/reader.py": ["table"],
    "log/tables/table.py": ["table", "encode_table", "batch_table"],
    "log/backends/arrow.py": ["table", "encode_table"],
    "log/backends/scan.py": ["table"],
    "runtime/errors.py": ["bad_input", "damage"],
    "runtime/crc.py": ["../runtime/test_crc.py"],
    "runtime/varint.py": ["../runtime/test_varint.py", "edge_cases"],
    "runtime/fields.py": ["../runtime/test_fields.py", "edge_cases", "bad_input"],
}
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def places(tree: ast.Module) -> list[tuple[int, int]]:
    """Where a module can be changed: the number of a node, and of a change of it."""
    nodes = list(ast.walk(tree))
    notes = {id(each) for node in nodes for each in _annotations(node)}
    return [
        (number, change)
        for number, node in enumerate(nodes)
        if id(node) not in notes
        for change in range(len(list(_of(node))))
    ]


def changed(tree: ast.Module, number: int, change: int) -> tuple[str, int, str]:
    """The code with one change, its line, and what it is."""
    other = copy.deepcopy(tree)
    node = list(ast.walk(other))[number]
    told, apply = list(_of(node))[change]
    apply()
    ast.fix_missing_locations(other)
    return ast.unparse(other), getattr(node, "lineno", 0), told


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("annotation", "returns"):
        if (found := getattr(node, name, None)) is not None:
            yield from ast.walk(found)


def _of(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """What can be changed of a node: told, and a call that does it."""

    def set_to(name: str, value: object) -> Callable[[], None]:
        return lambda: setattr(node, name, value)

    if isinstance(node, ast.Compare):
        for at, one in enumerate(node.ops):
            ops = [*node.ops]
            ops[at] = _COMPARED[type(one)]()
            yield f"{type(one).__name__} is {type(ops[at]).__name__}", set_to("ops", ops)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATED:
        op = _OPERATED[type(node.op)]()
        yield f"{type(node.op).__name__} is {type(op).__name__}", set_to("op", op)
    elif isinstance(node, ast.BoolOp):
        for at in range(len(node.values)):
            rest = [each for number, each in enumerate(node.values) if number != at]
            yield f"without `{ast.unparse(node.values[at])}`", set_to("values", rest)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        told = ast.unparse(node.test)
        yield f"`{told}` is never so", set_to("test", ast.Constant(False))
        if not isinstance(node, ast.While):
            yield f"`{told}` is always so", set_to("test", ast.Constant(True))
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, bool)):
        value = node.value
        other = not value if isinstance(value, bool) else value + 1
        yield f"{value} is {other}", set_to("value", other)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "no `not`", set_to("operand", ast.UnaryOp(ast.Not(), node.operand))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield f"without `{ast.unparse(node)}`", set_to("value", ast.Constant(None))
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        kept = ast.Name("_", ast.Store())
        yield f"without `{ast.unparse(node)}`", set_to("targets", [kept])


def tests_of(module: str) -> list[str]:
    """The tests that concern a module."""
    names = MODULES.get(module)
    if names is None:
        return ["tests/runtime"] if module.startswith("runtime/") else ["tests/log"]
    found = []
    for name in names:
        folder = Path("tests/log") / name
        path = folder if (ROOT / folder).exists() else folder.with_name(f"test_{folder.name}.py")
        found.append(os.path.normpath(path))
    return found


def judge(folder: Path, module: str, code: str, seconds: float) -> str:
    """Whether the tests of a module see that it has this code."""
    path = folder / module
    was = path.read_text("utf-8")
    path.write_text(code, "utf-8")
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-B",
                "-m",
                "pytest",
                "-x",
                "-q",
                "--no-header",
                "-p",
                "no:cacheprovider",
                *tests_of(module),
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        path.write_text(was, "utf-8")
    if done.returncode not in (0, 1, 2):
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return "lived" if done.returncode == 0 else "killed"


def known() -> dict[str, dict[str, object]]:
    if not RESULTS.is_file():
        return {}
    return {each["id"]: each for each in map(json.loads, RESULTS.read_text("utf-8").splitlines())}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--sample", type=int, default=10, help="mutants of each module; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=30.0, help="begin no mutant after so long")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for the tests of one")
    given = parser.parse_args()
    began = time.monotonic()
    before = known()
    RESULTS.parent.mkdir(exist_ok=True)
    asked: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="kodec-mutants-") as base:
        folder = Path(base)
        for name in NEEDED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(
                    source, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(source, folder / name)
        work = [(module, *each) for module in given.modules or MODULES for each in drawn(module, given)]
        # In turn, so that each module has had some when the time is over.
        work.sort(key=lambda each: each[1])
        for module, _, code, line, told in work:
            digest = hashlib.sha256(f"{module}\n{code}".encode()).hexdigest()[:16]
            found = before.get(digest)
            if found is None:
                if time.monotonic() - began > 60 * given.minutes:
                    continue
                verdict = judge(folder, module, code, given.timeout)
                found = {"id": digest, "module": module, "line": line, "change": told, "verdict": verdict}
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
                print(f"{verdict:8} {module}:{line}: {told}", flush=True)
            asked.append(found)
    show(asked)
    return 0


def drawn(module: str, given: argparse.Namespace) -> list[tuple[int, str, int, str]]:
    """The mutants of a module that are to be tried: their number, code, line and what was changed."""
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    all_of_it = places(tree)
    random.Random(f"{given.seed} {module}").shuffle(all_of_it)
    chosen = all_of_it[: given.sample] if given.sample else all_of_it
    return [(number, *changed(tree, *each)) for number, each in enumerate(chosen)]


def show(found: list[dict[str, object]]) -> None:
    table: dict[object, Counter[object]] = defaultdict(Counter)
    for each in found:
        table[each["module"]][each["verdict"]] += 1
    print(f"\n{'module':36} {'mutants':>8} {'killed':>7} {'lived':>6} {'timeout':>8}")
    rows = [*table.items(), ("all", sum(table.values(), Counter()))]
    for module, counts in rows:
        # What ran out of time may hang, or the machine has other work: nothing is said of it.
        row = (sum(counts.values()), counts["killed"], counts["lived"], counts["timeout"])
        print("{!s:36} {:8} {:7} {:6} {:8}".format(module, *row))
    for each in found:
        if each["verdict"] == "lived":
            print(f"lived: {each['module']}:{each['line']}: {each['change']}")


if __name__ == "__main__":
    sys.exit(main())
