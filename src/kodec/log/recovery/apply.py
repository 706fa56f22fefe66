"""Carries out the steps of a recovery, so that a crash at any of them loses nothing.

The steps are done in the order of the plan. Removed files are moved to the quarantine folder and
truncated data is copied there; both are durable before they leave the log. Segments after the end of
a log are removed last to first, before the log is truncated: were it truncated first, those that a
crash leaves would be read as part of the log. Derived files are replaced whole. So after an interrupted
recovery, a new plan leads to the same result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from kodec.log.files.checkpoints import read_offsets, write_offsets
from kodec.log.files.descriptors import open_file
from kodec.log.files.durable import replace_file, sync_file, sync_folder
from kodec.log.files.exclusive import changing
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.names import CLEAN_SHUTDOWN, INDEXES
from kodec.log.files.quarantine import keep_part, move_away, quarantine_of
from kodec.log.recovery.steps import LowerRecoveryPoint, Quarantine, Rename, Step, Truncate, Write

__all__ = ["apply_steps"]


def apply_steps(
    fingerprint: Fingerprint,
    steps: Sequence[Step],
    scanned: Sequence[Path],
    quarantine: Path | None,
    done: Callable[[Step], None],
) -> list[Path]:
    """Carry out the steps of a plan; arguments and errors as in `RecoveryPlan` and its `apply`."""
    folder = fingerprint.folder
    root = folder.parent
    place = quarantine_of(folder, quarantine)
    kept: list[Path] = []
    with changing(folder):
        fingerprint.require()
        if steps:
            (root / CLEAN_SHUTDOWN).unlink(missing_ok=True)
        # The plan relies on the checkpoints: one that was replaced without fsync could come back.
        sync_folder(root)
        for number, step in enumerate(steps):
            try:
                kept += _do(step, folder, place)
            except BaseException as error:
                where = f"; removed data is in {place}" if kept else ""
                error.add_note(
                    f"{folder}: {number} of {len(steps)} changes were made, the rest were not{where}"
                )
                raise
            done(step)
        for path in scanned:
            for each in (path, *(path.with_suffix(f".{kind}") for kind in INDEXES)):
                if each.exists():
                    sync_file(each)
        sync_folder(folder)
    return kept


def _do(step: Step, folder: Path, place: Path) -> list[Path]:
    if isinstance(step, Quarantine):
        return [move_away(step.path, place)]
    if isinstance(step, Rename):
        step.path.replace(step.target)
        sync_folder(folder)
    elif isinstance(step, Truncate):
        return _truncate(step, place)
    elif isinstance(step, Write):
        replace_file(step.path, step.data)
    elif isinstance(step, LowerRecoveryPoint):
        points = read_offsets(step.path)
        points[step.topic_partition] = step.new
        write_offsets(step.path, points)
    return []


def _truncate(step: Truncate, place: Path) -> list[Path]:
    kept = [] if step.zeros else [keep_part(step.path, step.position, place)]
    with open_file(step.path, os.O_WRONLY) as fd:
        os.ftruncate(fd, step.position)
        os.fsync(fd)
    return kept
