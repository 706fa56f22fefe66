"""Offsets that no segment holds are lost, unless something shows that they were left out; for every reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kodec
from kodec.log.verification.verify import plan_readings, verify_partition

from .gaps import CAUSES, OWNER, Cause

every = pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)


def lost_in(text: str) -> tuple[int, int]:
    first, last = re.findall(r"(\d+) to (\d+)", text)[0]
    return int(first), int(last)


@every
def test_verify_reports_what_is_lost(cause: Cause, tmp_path: Path) -> None:
    cause.make(tmp_path / OWNER)
    problems = [each for each in kodec.verify(tmp_path / OWNER) if not each.note]
    found = [lost_in(str(each.have)) for each in problems if each.what == "offsets"]
    assert tuple(found) == cause.lost
    assert cause.damaged or len(found) == len(problems), problems
    with kodec.PartitionLog(tmp_path / OWNER) as log:
        readings = [each.read() for each in plan_readings(log)]
        assert [each for each in verify_partition(log, readings=readings) if not each.note] == problems


@pytest.mark.parametrize("cause", [each for each in CAUSES if not each.damaged], ids=lambda cause: cause.name)
def test_a_reader_of_records_reports_what_is_lost(
    cause: Cause, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cause.make(tmp_path / OWNER)
    with kodec.PartitionLog(tmp_path / OWNER) as log:
        for _ in log.records():
            pass
    assert tuple(lost_in(each) for each in caplog.messages) == cause.lost
