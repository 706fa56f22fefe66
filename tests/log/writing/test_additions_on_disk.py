"""Segments that are added to logs, and a machine that goes down: all of them are there, or none, and once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kodec
from kodec.log.writing.add_segments import FinishedSegment, add_segments, finish_additions
from tests.log.faults import Faults
from tests.log.writing.test_addition import finished, offsets
from tests.log.writing.test_changes_on_disk import lose
from tests.log.writing.test_order_on_disk import each_call


def paid(root: Path) -> list[int]:
    if not (root / "paid-0").is_dir():
        return []
    return [record.offset for record in kodec.LogDirectory(root).partition("paid", 0).records()]


def made(base: Path) -> list[FinishedSegment]:
    """A log of two records, and segments to be added: one to it, one to a log that is new."""
    base.mkdir()
    add_segments(base / "logs", [finished(base / "first", 2)])
    return [finished(base / "a", 4), finished(base / "b", 3, topic="paid")]


def test_whenever_the_machine_goes_down_all_or_nothing_is_added(tmp_path: Path) -> None:
    base, source = tmp_path / "base", tmp_path / "source"
    parts = made(base)
    shutil.copytree(base, source)
    root = base / "logs"
    added = []
    for number, faults in enumerate(
        each_call(base, source, lambda: add_segments(root, parts, batch=("q", 3)))
    ):
        lose(faults, number)
        finish_additions(root)
        found = len(offsets(root)), len(paid(root))
        assert found in ((2, 0), (6, 3)), number
        assert faults.failed is not None or found == (6, 3), "it returned, and is not durable"
        assert [str(each) for each in kodec.repair.verify(root) if not each.note] == [], number
        added.append(found)
    assert {(2, 0), (6, 3)} == set(added) and len(added) > 20


def test_what_goes_on_after_a_crash_is_durable(tmp_path: Path) -> None:
    """The moves that were left are made by the next one, and are there when the machine goes down again."""
    base, source = tmp_path / "base", tmp_path / "source"
    parts = made(base)
    root = base / "logs"
    shutil.copytree(base, source)
    # amid the moves
    with Faults(0, calls=("rename",), root=base), pytest.raises(OSError, match="Input/output"):
        add_segments(root, parts)
    for _ in each_call(base, source, lambda: None):
        break
    with Faults(root=base) as faults:
        add_segments(root, parts)
        faults.lose()
    assert (len(offsets(root)), len(paid(root))) == (6, 3)
