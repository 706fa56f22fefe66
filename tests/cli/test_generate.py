"""`kodec generate` runs where the modules that it made do not: it is what makes them right again."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kodec.cli.main import main
from tests.data import ROOT
from tests.golden import Golden

PARTS = [
    "generated",
    "generator",
    "runtime",
    "schemas",
    "src",
    "tests/generated",
]
MODULE = "generated/log/record_batch.py"
BROKEN = {
    "no Python": "def (:\n",
    "names that are missing": "from kodec.runtime.varint import nothing\n",
    "raises": "raise RuntimeError('broken')\n",
    "without its names": "",
    "missing": None,
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "bindings.c")
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, symlinks=True, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kodec", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_module_is_made_again(how: str, copy: Path) -> None:
    module, text = copy / MODULE, BROKEN[how]
    right = (ROOT / MODULE).read_text("utf-8")
    if text is None:
        module.unlink()
    else:
        # a file without the mark of the generator is not the generator's to overwrite
        module.write_text(right.splitlines(keepends=True)[0] + text, "utf-8")
    broken = run(copy, "dump", "nothing.log")
    assert broken.returncode == 1 and "Traceback" in broken.stderr
    if text is None:
        checked = run(copy, "generate", "--check")
        assert checked.returncode == 1 and MODULE in checked.stdout
    done = run(copy, "generate")
    assert done.returncode == 0 and MODULE in done.stdout
    # languages that only read a schema are noted
    assert all(": note: " in line for line in done.stderr.splitlines())
    assert module.read_text("utf-8") == right


GOOD = "meta: {id: x, endian: be}\nseq:\n- {id: a, type: u2}\n"
BAD = GOOD.replace("u2", "uint16")


@pytest.fixture
def formats(tmp_path: Path) -> Path:
    folder = tmp_path / "app/formats"
    folder.mkdir(parents=True)
    (folder / "x.ksy").write_text(BAD)
    return folder


def generated(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    arguments = ["generate", "--schemas", "app/formats", "--to", "out", *more]
    return subprocess.run(
        [sys.executable, "-m", "kodec", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_problems_in_each_form(formats: Path, tmp_path: Path, golden: Golden) -> None:
    shown = generated(tmp_path)
    assert (shown.returncode, shown.stdout) == (1, "")
    golden(shown.stderr.splitlines())
    for option in (["--report-format", "json"],):
        found = json.loads(generated(tmp_path, *option).stdout)["problems"]
        assert [(each["file"], each["line"]) for each in found] == [("app/formats/x.ksy", 3)]
    assert generated(tmp_path, "--report-format", "github").stdout.startswith(
        "::error file=app/formats/x.ksy,line=3,"
    )
    assert json.loads(generated(tmp_path, "--report-format", "sarif").stdout)["version"] == "2.1.0"
    (formats / "x.ksy").write_text(GOOD)
    stale = generated(tmp_path, "--check", "--report-format", "github")
    assert stale.returncode == 1
    golden(stale.stdout)
    assert json.loads(generated(tmp_path, "--report-format", "json").stdout) == {"problems": []}
    assert (tmp_path / "out/x.py").is_file()


def test_watch_goes_on_until_it_is_interrupted(formats: Path, tmp_path: Path, golden: Golden) -> None:
    command = [
        sys.executable,
        "-m",
        "kodec",
        "generate",
        "--schemas",
        "app/formats",
        "--to",
        "out",
        "--watch",
    ]
    # A shell lets what it starts in the background ignore the signal, and all that is started there too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    signal.signal(signal.SIGINT, before)
    assert process.stderr is not None

    def until_it_waits() -> list[str]:
        assert process.stderr is not None
        lines = []
        while not (line := process.stderr.readline()).startswith("kodec: waiting"):
            assert line, "it ended"
            lines.append(line.rstrip())
        return lines

    try:
        golden(until_it_waits())
        (formats / "x.ksy").write_text(GOOD)
        golden(until_it_waits())
        assert (tmp_path / "out/x.py").is_file()
        (tmp_path / "out/y.py").write_text("mine = 1\n")
        (formats / "y.ksy").write_text(GOOD.replace("x", "y"))
        assert "it would be lost" in until_it_waits()[-1]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_help_names_the_table_of_the_folders() -> None:
    assert "`tool.kodec.generate` in" in run(ROOT, "generate", "--help").stdout


def test_the_dialect_is_printed(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "kodec", "generate", "--dialect"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(shown.stdout)["definitions"]["field"]["properties"]["-derive"]["description"]


def test_what_the_tests_need_is_said_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "x.ksy").write_text("meta: {id: x}\nseq:\n- {id: a, type: u1}\n")
    arguments = ["generate", "--schemas", str(tmp_path / "schemas"), "--to", str(tmp_path / "out")]
    with_tests = [*arguments, "--tests", str(tmp_path / "tests"), "--package", "out"]
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "hypothesis" else real(name)
    )
    assert main(arguments) == 0 and "hypothesis" not in capsys.readouterr().err
    assert main(with_tests) == 0
    golden(capsys.readouterr().err)
    assert main(with_tests) == 0 and "hypothesis" not in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which nothing can be made")
def test_a_folder_that_cannot_be_written(formats: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = formats / "x.ksy"
    schema.write_text(schema.read_text().replace("uint16", "u2"))
    words = ["generate", "--schemas", str(formats), "--to", "/proc/self/nothing", "--target", "model"]
    assert main(words) == 1
    said = capsys.readouterr()
    assert "kodec: " in said.err and "0 of " in said.err and "written" not in said.out
