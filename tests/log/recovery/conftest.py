"""What the tests of recovery share: a log, and no waiting for the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.log.recovery.recovered import make


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here nothing depends on the disk; the kill harness and the tests of the writer look at fsync."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A log of three segments with transactions of two producers, closed in order; the folder."""
    folder = tmp_path / "logs" / "t-0"
    folder.parent.mkdir()
    make(folder)
    return folder
