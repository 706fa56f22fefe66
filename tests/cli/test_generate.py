"""`kodec generate` runs where the modules that it made do not: it is what makes them right again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = [
    "cli",
    "formats",
    "generated",
    "generator",
    "log",
    "pipeline",
    "runtime",
    "schemas",
    "src",
    "tests/generated",
]
MODULE = "generated/log/record_batch.py"
BROKEN = {
    "no Python": "def (:\n",
    "names that are not there": "from kodec.runtime.varint import nothing\n",
    "raises": "raise RuntimeError('broken')\n",
    "without its names": "",
    "missing": None,
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "face.c")
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
    checked = run(copy, "generate", "--check")
    assert checked.returncode == 1 and MODULE in checked.stdout
    done = run(copy, "generate")
    assert (done.returncode, done.stderr) == (0, "") and MODULE in done.stdout
    assert module.read_text("utf-8") == right
    assert run(copy, "generate", "--check").returncode == 0
