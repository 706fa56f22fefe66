"""Mutation testing: changes the code in small ways, and lists changes that no test notices.

Usage: mutants.py [--sample N] [--seed S] [--minutes M] [--again] [MODULE...]
(MODULE as src/kodec/log/writing/guard.py)

Each mutant is one change in one place: a comparison, an operator, a number, a condition, a call that is left
out. It is made in a copy of the clone, and the tests that execute its line run there, the quickest first,
until one fails. A run of all tests under coverage (some twenty minutes) finds which tests these are; `--map`
repeats it after tests have changed. Each result is a line of out/mutants.jsonl, and is kept as long as the
module is unchanged; `--again` retries the survivors. At the end the tool prints a table, and the survivors.

Not mutmut (3.8): it finds no test for `runtime/varint.py`, as `kodec.runtime` is a link to that folder. Not
cosmic-ray (8.7): it makes 1,845 mutants of those 196 lines, and starts pytest for each, in 2.5 s. Here
they are 332, each judged in a fork of a process that has imported the tests.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "out" / "mutants.jsonl"
MAP = ROOT / "out" / "mutants-map.json"
NEEDED = (
    "src",
    "README.md",
    "CHANGELOG.md",
    "Makefile",
    "docs",
    "tools",
    "runtime",
    "generated",
    "generator",
    "schemas",
    "tests",
    "pyproject.toml",
)

# Their errors lose data or return wrong records.
FOLDERS = ("src/kodec/log", "runtime")
TESTS = (
    "tests/log",
    "tests/runtime",
    "tests/formats",
    "tests/cli",
    "tests/generated",
    "tests/generator/test_streams.py",
    "tests/generator/test_formats.py",
    "tests/test_api.py",
)
# Seconds of tests for a mutant: first the quickest, and then, if it lives, more of those that execute it.
FIRST, ALL = 10.0, 40.0
# Processor time, independent of other load: a mutant that uses it up has an endless loop.
MOST = int(2 * ALL)
Map = dict[str, dict[str, list[str]]]
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
    """The places where a module can be changed: the number of a node, and of its change."""
    nodes = list(ast.walk(tree))
    notes = {id(each) for node in nodes for each in _annotations(node)}
    return [
        (number, change)
        for number, node in enumerate(nodes)
        if id(node) not in notes
        for change in range(len(list(_of(node))))
    ]


def changed(tree: ast.Module, number: int, change: int) -> tuple[str, int, str]:
    """The code with one change, the line, and a description."""
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
    """The changes of a node: a description, and a call that makes it."""

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


def lines_of(tree: ast.Module, number: int) -> range:
    """The lines of a node, from where its statement begins."""
    node = list(ast.walk(tree))[number]
    if isinstance(node, (ast.If, ast.While)):
        return range(node.lineno, (node.test.end_lineno or node.lineno) + 1)
    last = getattr(node, "end_lineno", 0)
    first = max(
        (each.lineno for each in ast.walk(tree) if isinstance(each, ast.stmt) and _holds(each, node)),
        default=last,
    )
    return range(first, last + 1)


def _holds(statement: ast.stmt, node: ast.AST) -> bool:
    at, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return statement.lineno <= at and end <= (statement.end_lineno or statement.lineno)


class Tests:
    """Which tests execute a line, and how long each takes."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._lines: Map = found["lines"]
        self._seconds: dict[str, float] = found["seconds"]

    def of(self, module: str, lines: range) -> tuple[list[str], list[str]]:
        """Those that execute one of the lines, the quickest first: some seconds of them, and more."""
        known = self._lines.get(module, {})
        found = {test for line in lines for test in known.get(str(line), ())}
        if not found:
            # What runs at import, or only in processes that coverage does not follow.
            found = {test for tests in known.values() for test in tests}
        first: list[str] = []
        more: list[str] = []
        spent = 0.0
        for test in sorted(found, key=lambda each: (self._seconds.get(each, 0.0), each)):
            spent += self._seconds.get(test, 0.0)
            if spent <= FIRST:
                first.append(test)
            elif spent <= ALL or not first:
                more.append(test)
        # Of a hundred similar cases of a test class or file, some are enough.
        return _spread(first, 60), _spread(more, 200)


def _spread(tests: list[str], most: int) -> list[str]:
    if len(tests) <= most:
        return tests
    # Each test function in turn, a case at a time.
    cases = defaultdict(list)
    for test in tests:
        cases[test.partition("[")[0]].append(test)
    chosen: list[str] = []
    for turn in range(max(map(len, cases.values()))):
        chosen += [of[turn] for of in cases.values() if turn < len(of)]
    return chosen[:most]


def mapped(anew: bool) -> Tests:
    """Which test executes which line, from an earlier run or a new one."""
    if anew or not MAP.is_file():
        print("which test executes which line: running all of them under coverage ...", flush=True)
        environment = {
            **os.environ,
            "CI": "1",
            "KODEC_MUTANTS_MAP": str(MAP),
            "PYTHONPATH": str(ROOT / "tools"),
        }
        words = [
            "-q",
            "--no-header",
            "-p",
            "mutants_map",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            *TESTS,
        ]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, check=False
        )
        if not MAP.is_file():
            raise SystemExit(f"pytest ended with {done.returncode} and left no {MAP}")
    return Tests(json.loads(MAP.read_text("utf-8")))


def judge(folder: Path, module: str, code: str, tests: tuple[list[str], list[str]]) -> str:
    """Whether one of the tests sees that a module has this code."""
    if not tests[0] and not tests[1]:
        return "untested"
    path = folder / module
    was = path.read_text("utf-8")
    path.write_text(code, "utf-8")
    try:
        for some in tests:
            if some and (verdict := run(folder, some)) != "lived":
                return verdict
    finally:
        path.write_text(was, "utf-8")
    return "lived"


def run(folder: Path, tests: list[str]) -> str:
    """The result of these tests, in a child that has already imported pytest and slow libraries."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _test(folder, tests)
    end = time.monotonic() + 10 * MOST
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            if code == -signal.SIGXCPU:
                return "timeout"
            if code in (0, 1, 2) or code < 0:
                return "lived" if code == 0 else "killed"
            said = (folder / "said.txt").read_text()
            if "while loading conftest" in said or "\nERROR tests/" in said:
                return "killed"
            raise SystemExit(f"pytest ended with {code}: {said[-3000:]}")
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _test(folder: Path, tests: list[str]) -> NoReturn:
    code = 3
    try:
        os.setsid()
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (MOST, MOST + 5))
        said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.environ.update(PYTHONPATH=str(folder / "src"), PYTHONDONTWRITEBYTECODE="1", CI="1")
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(folder / "src"))
        spec = importlib.util.find_spec("kodec")
        if spec is None or not str(spec.origin).startswith(str(folder)):
            raise SystemExit(f"kodec is imported from {spec and spec.origin}")
        import pytest

        words = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly"]
        # hypothesis is there before pytest could rewrite its assertions.
        words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = int(pytest.main([*words, f"--rootdir={folder}", *tests]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


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
    parser.add_argument("--again", action="store_true", help="try those that lived once more")
    parser.add_argument("--map", action="store_true", help="find out anew which test executes which line")
    given = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    tests = mapped(given.map)
    began = time.monotonic()
    before = known()
    asked: list[dict[str, object]] = []
    for slow in ("pytest", "hypothesis", "pyarrow.parquet", "zstandard", "cramjam"):
        importlib.import_module(slow)
    with tempfile.TemporaryDirectory(prefix="kodec-mutants-") as base:
        folder = Path(base).resolve()
        for name in NEEDED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(
                    source, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(source, folder / name)
        work = [(module, *each) for module in given.modules or modules() for each in drawn(module, given)]
        # In turn, so that each module had some mutants when the time is over.
        work.sort(key=lambda each: each[1])
        for module, _, lines, code, line, told in work:
            digest = hashlib.sha256(f"{module}\n{code}".encode()).hexdigest()[:16]
            found = before.get(digest)
            if found is None or (given.again and found["verdict"] != "killed"):
                if time.monotonic() - began > 60 * given.minutes:
                    continue
                verdict = judge(folder, module, code, tests.of(module, lines))
                found = {"id": digest, "module": module, "line": line, "change": told, "verdict": verdict}
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
                print(f"{verdict:8} {module}:{line}: {told}", flush=True)
            asked.append(found)
    show(asked)
    return 0


def modules() -> list[str]:
    found = (path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.py")))
    return [str(path.relative_to(ROOT)) for path in found]


def drawn(module: str, given: argparse.Namespace) -> list[tuple[int, range, str, int, str]]:
    """The mutants of a module to be tried: their number, lines, code, line and change."""
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    all_of_it = places(tree)
    random.Random(f"{given.seed} {module}").shuffle(all_of_it)
    chosen = all_of_it[: given.sample] if given.sample else all_of_it
    return [(number, lines_of(tree, each[0]), *changed(tree, *each)) for number, each in enumerate(chosen)]


def show(found: list[dict[str, object]]) -> None:
    table: dict[object, Counter[object]] = defaultdict(Counter)
    for each in found:
        table[each["module"]][each["verdict"]] += 1
    print(f"\n{'module':36} {'mutants':>8} {'killed':>7} {'lived':>6} {'untested':>9} {'timeout':>8}")
    rows = [*table.items(), ("all", sum(table.values(), Counter()))]
    for module, counts in rows:
        # Anyone who runs the tests notices a mutant that times out.
        row = (sum(counts.values()), counts["killed"], counts["lived"], counts["untested"], counts["timeout"])
        print("{!s:36} {:8} {:7} {:6} {:9} {:8}".format(module, *row))
    for each in found:
        if each["verdict"] in ("lived", "untested"):
            print(f"{each['verdict']}: {each['module']}:{each['line']}: {each['change']}")


if __name__ == "__main__":
    sys.exit(main())
