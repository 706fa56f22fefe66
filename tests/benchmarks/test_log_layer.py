"""The benchmark of the log layer runs and prints a line for each thing it measures."""

import subprocess
import sys
from pathlib import Path

from tests.data import ROOT


def test_it_runs_with_little(tmp_path: Path) -> None:
    sizes = ["--size", "1", "--batches", "5", "--flushed", "2", "--lookups", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.log_layer", *sizes, "--folder", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 16
    for what in ("records/s", " us ", "MiB/s"):
        assert any(what in line for line in lines)
    assert list(tmp_path.iterdir()) == []
