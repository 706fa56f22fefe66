"""Writers and recoveries are killed at random moments, a few times; the harness does it a thousand times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.data import TESTS

HARNESS = TESTS / "log/kill_harness.py"
_LYING = """
import runpy, sys
from kodec.log.writing import segment_writer
segment_writer.SegmentWriter.flush = lambda self, *, indexes=True: None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(*arguments: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as it forks: threads of other tests would be lost in the children."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    done = run(str(HARNESS), "--kills", "30", tmp_path=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing acknowledged lost" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_the_harness_finds_a_writer_that_does_not_flush(tmp_path: Path) -> None:
    done = run("-c", _LYING, str(HARNESS), "--kills", "300", tmp_path=tmp_path)
    # What it finds first: records that are gone, or damage in a segment that should be on the disk.
    assert done.returncode == 1
    assert "AssertionError" in done.stderr or "kodec.errors" in done.stderr
    assert "ended by itself" not in done.stderr
