"""Random histories of failures and crashes: a few; `python -m tests.log.histories` takes ten thousand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data import ROOT

pytestmark = pytest.mark.thorough

# How many run here: some twenty seconds of work.
FEW = 50

# Of each change, the number of a history soon after which one breaks: those before it take a minute.
_WITHOUT = {
    "the fsync of a flush": (
        0,
        "from kodec.log.writing import segment_writer as m; m.SegmentWriter._flush = f",
    ),
    "the fsync of what was renamed": (130, "from kodec.log.cleaning import swap as m; m.sync_folder = f"),
    "the fsync of what was recovered": (90, "from kodec.log.recovery import plan as m; m.sync_file = f"),
}
_CODE = """
import sys
from tests.log import histories
f = lambda *given, **named: None
{change}
sys.argv = sys.argv[:1] + ["--seed", "5", "--histories", "600", "--first", "{first}"]
sys.exit(histories.main())
"""


def run(*arguments: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as it forks: threads of other tests would be lost in the children."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_durable_is_lost_and_nothing_is_invented(tmp_path: Path) -> None:
    done = run("-m", "tests.log.histories", "--seed", "3", "--histories", str(FEW), tmp_path=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{FEW} histories" in done.stdout and "0 broken" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", _WITHOUT)
def test_the_model_finds_what_is_left_out(what: str, tmp_path: Path) -> None:
    first, change = _WITHOUT[what]
    done = run("-c", _CODE.format(first=first, change=change), tmp_path=tmp_path)
    assert done.returncode == 1
    assert "history '5 " in done.stdout, done.stderr
