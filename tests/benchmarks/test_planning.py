"""The simulation behind docs/scale.md runs, and counts what it made."""

import pytest

from benchmarks.planning import main


def test_the_planner_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--segments", "60", "--partitions", "3", "--files", "20", "--task-bytes", "4g"])
    out = capsys.readouterr().out
    # the weight of opening a file leaves room for three segments of 1 GiB
    assert "60 segments, 20 tasks" in out
    assert "committed 20 files" in out
