"""Writers and recoveries are killed at random moments, a few times; the harness does it a thousand times."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kodec.log import segment_writer
from kodec.runtime.errors import KodecError


@pytest.fixture(scope="module")
def harness() -> ModuleType:
    path = Path(__file__).with_name("kill_harness.py")
    spec = importlib.util.spec_from_file_location("kill_harness", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up by name.
    sys.modules["kill_harness"] = module
    spec.loader.exec_module(module)
    return module


def test_nothing_acknowledged_is_lost(harness: ModuleType, tmp_path: Path) -> None:
    report = harness.run(30, 20261121, tmp_path)
    assert sum(report.kills.values()) >= 30
    assert report.losses and report.records


def test_the_harness_finds_a_writer_that_does_not_flush(
    harness: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(segment_writer.SegmentWriter, "flush", lambda self: None)
    # What it finds first: records that are gone, or damage in a segment that should be on the disk.
    with pytest.raises((AssertionError, KodecError)):
        harness.run(300, 20261121, tmp_path)
