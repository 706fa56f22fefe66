"""The simulation behind docs/scale.md runs, and counts what it made."""

import subprocess
import sys

from tests.data import ROOT


def test_the_planner_is_measured() -> None:
    sizes = ["--segments", "60", "--partitions", "3", "--files", "20", "--task-bytes", "4g"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.planning", *sizes],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # the weight of opening a file leaves room for three segments of 1 GiB
    assert "60 segments, 19 tasks" in done.stdout
    assert "committed 20 files" in done.stdout
