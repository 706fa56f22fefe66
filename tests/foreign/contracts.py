"""The generated tests of every taken schema of the public Kaitai corpora, run as they are.

    python -m tests.foreign.contracts [--tests DIR] [--formats DIR] [--every N] [NAME...]

For each schema: the tests that `kodec generate --tests` gives, how many there are, and which of them fail.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import shutil
import sys
import tempfile
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaError
from tests.foreign.run import URL, closure, fetched
from tests.ksc import oracle

PATIENCE = 120.0


class _Outcomes:
    """A pytest plugin that counts, and keeps what failed."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1]
            self.failed.append(f"{report.nodeid.rpartition('/')[2]}: {last[:150]}")
        elif report.when == "call" and report.passed:
            self.passed += 1


def run(files: dict[str, Path], name: str) -> tuple[str, int, list[str]]:
    """Generate and run, in this process: taken or refused, tests that passed, tests that failed."""
    with tempfile.TemporaryDirectory() as folder:
        schemas = Path(folder) / "schemas"
        for each in closure(files, name):
            place = schemas / f"{each}.ksy"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(files[each], place)
        package = Path(folder) / "made_here"
        try:
            output = render_all(schemas, package=package.name, targets=("python",), formatted=False)
        except SchemaError:
            return "refused", 0, []
        tests = Path(folder) / "tests"
        for root, texts in ((package, output.modules), (tests, output.tests)):
            for path, text in texts.items():
                place = root / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, "utf-8")
        if not output.tests:
            return "without tests", 0, []
        sys.path.insert(0, folder)
        outcomes = _Outcomes()
        options = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly"]
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main([*options, f"--rootdir={folder}", "-c", "/dev/null", str(tests)], plugins=[outcomes])
        return "taken", outcomes.passed, outcomes.failed


def _send(pipe: Connection, files: dict[str, Path], name: str) -> None:
    try:
        pipe.send(run(files, name))
    except Exception as error:
        pipe.send(("crash", 0, [f"{type(error).__name__}: {error}"]))


def alone(files: dict[str, Path], name: str) -> tuple[str, int, list[str]]:
    """`run` in a process of its own, which is ended where it takes too long."""
    mine, other = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_send, args=(other, files, name))
    process.start()
    try:
        if mine.poll(PATIENCE):
            found: tuple[str, int, list[str]] = mine.recv()
            return found
        return "too slow", 0, []
    except EOFError:
        return "crash", 0, ["the process ended"]
    finally:
        process.kill()
        process.join()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", default=URL.format("kaitai_struct_tests"))
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--every", type=int, default=1, help="only each Nth schema")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args(arguments)
    bad = 0
    for corpus, root in (("tests", fetched(given.tests) / "formats"), ("gallery", fetched(given.formats))):
        files = oracle.schemas(root)
        verdicts: Counter[str] = Counter()
        passed = failed = 0
        for name in [each for each in sorted(files) if not given.names or each in given.names][
            :: given.every
        ]:
            verdict, good, wrong = alone(files, name)
            verdicts[verdict] += 1
            passed += good
            failed += len(wrong)
            if wrong or verdict in ("crash", "too slow"):
                bad += 1
                print(f"{corpus} {name}: {verdict}", *wrong[:3], sep="\n    ", flush=True)
        counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        print(f"{corpus}: {counted}; {passed} tests pass, {failed} fail", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
