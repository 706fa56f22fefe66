"""Stops what changes a log at each of its steps, and starts the log again as a broker and `recover` do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kodec.log.recovery.planning import plan_recovery
from tests.log import made


class Stopped(Exception):
    """The process ends here."""


def stopping(monkeypatch: pytest.MonkeyPatch, after: int) -> list[str]:
    """Let so many changes of files happen, then none; gives the list of those that did."""
    done: list[str] = []

    def wrap(owner: Any, name: str) -> None:
        plain = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            if len(done) >= after:
                raise Stopped
            done.append(name)
            return plain(*args, **options)

        monkeypatch.setattr(owner, name, call)

    for name in ("replace", "rename", "unlink", "fsync", "ftruncate"):
        wrap(os, name)
    return done


def recovered(folder: Path) -> None:
    """What `kodec recover` does."""
    plan_recovery(folder).apply()


STARTS = pytest.mark.parametrize("start", [made.broker_start, recovered], ids=["broker", "recover"])
