"""The types of the public API, as mypy and Pyright see them in a user's program, both at their strictest."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM, WRONG = "user_program.py", "wrong_uses.py"


def mypy(folder: Path) -> str:
    """mypy on the files of a folder that is not ours; of kodec only the types count, not its own text."""
    options = ["--config-file=", "--strict", "--follow-imports=silent", "--no-error-summary", "--no-pretty"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, f"--cache-dir={folder / 'cache'}", PROGRAM, WRONG],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def pyright(folder: Path) -> str:
    """Pyright on the same, as tools/node locks it."""
    # the tests are no package
    spec = importlib.util.spec_from_file_location("kodec_ksc_oracle", ROOT / "tests" / "ksc" / "oracle.py")
    assert spec is not None and spec.loader is not None
    oracle = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = oracle
    spec.loader.exec_module(oracle)
    try:
        node, modules = oracle.node()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    config = {"include": ["."], "typeCheckingMode": "strict"}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    done = subprocess.run(
        [node, str(modules / "pyright" / "index.js"), "--pythonpath", sys.executable],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


each_checker = pytest.mark.parametrize("said", [mypy, pyright], indirect=True)


@pytest.fixture(scope="module")
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a checker reports about both files."""
    folder = tmp_path_factory.mktemp("typing")
    for name in (PROGRAM, WRONG):
        shutil.copy(HERE / name, folder)
    check: Callable[[Path], str] = request.param
    return check(folder)


def errors(said: str, name: str) -> dict[int, str]:
    """The lines of a file in which something is wrong."""
    found = re.findall(rf"{re.escape(name)}:(\d+):(?:\d+ -)? error: ?(.*)", said)
    return {int(line): text for line, text in found}


@each_checker
def test_a_program_has_the_types_that_it_says(said: str) -> None:
    assert errors(said, PROGRAM) == {}


@each_checker
def test_each_wrong_use_is_reported_and_no_right_one(said: str) -> None:
    lines = (HERE / WRONG).read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    found = errors(said, WRONG)
    assert len(wrong) > 30
    assert {lines[number - 1]: text for number, text in found.items() if number not in wrong} == {}
    assert [lines[number - 1] for number in wrong - set(found)] == []


def test_the_program_runs(tmp_path: Path) -> None:
    # what it asserts of types is of no meaning if it is no program
    command = [sys.executable, "-W", "error", str(HERE / PROGRAM)]
    logs = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
    done = subprocess.run([*command, logs, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
