"""A pytest plugin for mutants.py: writes which test executes which line, and how long each test takes.

Lines that a child made by fork executes count for the test that made it, as long as the child ends by
`os._exit`; those of other programs that a test starts do not.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

import coverage
import pytest

CASES = 15
ROOT = Path(__file__).resolve().parent.parent
# Not a TemporaryDirectory: the child of a test would delete it when it ends.
_folder = Path(tempfile.mkdtemp(prefix="kodec-map-"))
_parent = os.getpid()
_exit = os._exit
# In memory: tests make files fail.
_measured = coverage.Coverage(
    data_file=None, config_file=False, source=[str(ROOT / "src" / "kodec" / "log"), str(ROOT / "runtime")]
)
_test = ""
_seconds: dict[str, float] = defaultdict(float)


def _leave(status: int) -> NoReturn:
    if os.getpid() != _parent:
        _measured.stop()
        data = _measured.get_data()
        lines = {name: data.lines(name) or [] for name in data.measured_files()}
        (_folder / f"{os.getpid()}-{random.SystemRandom().random()}").write_text(json.dumps([_test, lines]))
    _exit(status)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with hundreds of cases some are enough: those that a mutant needs are alike."""
    seen: Counter[str] = Counter()
    chosen = set()
    for number in random.Random(1).sample(range(len(items)), len(items)):
        name = items[number].nodeid.partition("[")[0]
        seen[name] += 1
        if seen[name] <= CASES:
            chosen.add(number)
    items[:] = [items[number] for number in sorted(chosen)]


def pytest_configure(config: pytest.Config) -> None:
    os._exit = _leave
    _measured.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    global _test
    _test = item.nodeid
    if sys.gettrace() is None:
        # A test that traces for itself has ended the measurement.
        _measured.stop()
        _measured.start()
    _measured.switch_context(_test)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    os._exit = _exit
    _measured.stop()
    data = _measured.get_data()
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name in data.measured_files():
        for line, tests in data.contexts_by_lineno(name).items():
            found[name][line].update(filter(None, tests))
    for path in _folder.iterdir():
        test, lines = json.loads(path.read_text())
        for name, executed in lines.items():
            for line in executed:
                found[name][line].add(test)
    shutil.rmtree(_folder)
    written = {
        str(Path(name).relative_to(ROOT)): {line: sorted(tests) for line, tests in lines.items() if tests}
        for name, lines in found.items()
    }
    text = json.dumps({"lines": written, "seconds": _seconds})
    Path(os.environ["KODEC_MUTANTS_MAP"]).write_text(text, "utf-8")
