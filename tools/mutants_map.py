"""A pytest plugin for mutants.py: writes which test executes which line, and how long each test takes.

Lines that a child made by fork executes count for the test that made it, as long as the child ends by
`os._exit`; those of other programs that a test starts do not.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).resolve().parent.parent
# Not a TemporaryDirectory: the child of a test would delete it when it ends.
_folder = tempfile.mkdtemp(prefix="kodec-map-")
_measured = coverage.Coverage(
    data_file=str(Path(_folder) / "data"),
    data_suffix=True,
    config_file=False,
    source=[str(ROOT / "log"), str(ROOT / "runtime")],
)
_measured.set_option("run:patch", ["_exit"])
_seconds: dict[str, float] = defaultdict(float)


def pytest_configure(config: pytest.Config) -> None:
    _measured.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _measured.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    _measured.stop()
    _measured.save()
    _measured.combine([_folder], keep=True)
    data = _measured.get_data()
    lines = {}
    for name in data.measured_files():
        found = data.contexts_by_lineno(name)
        tests = {line: sorted(filter(None, contexts)) for line, contexts in found.items()}
        lines[str(Path(name).relative_to(ROOT))] = {line: some for line, some in tests.items() if some}
    written = Path(os.environ["KODEC_MUTANTS_MAP"])
    written.write_text(json.dumps({"lines": lines, "seconds": _seconds}), "utf-8")
    shutil.rmtree(_folder)
