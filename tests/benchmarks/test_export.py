"""The comparison of exports runs, and all that it compares write the same rows."""

import subprocess
import sys

import pytest

from tests.data import ROOT


@pytest.mark.thorough
def test_exports_are_compared() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.export", "--rows", "4000", "--rounds", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "4000 rows, lz4 in the log, 2 cores, median of 1" in done.stdout
    assert len([line for line in done.stdout.splitlines() if line.endswith("x")]) == 5
