"""Carries out a recovery plan, so that a crash at any step loses nothing and the next recovery goes on.

The steps are done in the order of the plan. What goes is moved to the side folder and what is cut off is
copied there, and is on the disk, before it is gone from the log. Segments behind the end of a log go from the
last to the first, and before the log is cut: were it cut first, those left behind a crash would be taken for
the log. Derived files are replaced whole. So a recovery that is cut short leaves what a new plan brings to
the same end.
"""

from __future__ import annotations

import errno
import os
import shutil
from itertools import count
from pathlib import Path

from kodec.log.directories.checkpoints import read_offsets, write_offsets
from kodec.log.directories.durable import replace_file, sync_file, sync_folder
from kodec.log.directories.lock import claimed
from kodec.log.directories.names import CLEAN_SHUTDOWN
from kodec.log.repair.recovery import INDEXES, Aside, Cut, Lower, RecoveryPlan, Rename, Step, Write
from kodec.runtime.errors import Malformed

__all__ = ["apply_plan", "default_side"]

_BLOCK = 1 << 20


def default_side(root: Path) -> Path:
    """Where what is cut goes if nothing else is said: `<log directory>.cut`, beside the log directory.

    Not inside: a broker does not start with a folder in its log directory that is no replica's, and takes
    files with an offset in their names for parts of a log.
    """
    root = root.absolute()
    return root.with_name(root.name + ".cut")


def apply_plan(plan: RecoveryPlan, side: Path | None = None) -> list[Path]:
    """Do what a plan says; the files in the side folder that hold what is not part of the log any more.

    All logs that were read for the plan are on the disk afterwards, also where nothing was to be done. Where
    anything is done, the log directory's `.kafka_cleanshutdown` goes, so that a broker looks for itself.

    Args:
        plan: of `plan_recovery`, `plan_root` or `plan_reindex`.
        side: the folder for what is not part of the log; None: see `default_side`. Each topic-partition has
            a folder there. A name that is taken gets a number behind it.

    Raises: ValueError for a plan that was refused, or a side folder in the log directory; Malformed where a
    log has changed since it was read; BlockingIOError where a broker runs there; OSError: then plan again.
    """
    if plan.refused:
        raise ValueError(plan.refused)
    root = plan.path.parent
    if side is not None and side.resolve().is_relative_to(root.resolve()):
        raise ValueError(f"{side}: what is cut has to be outside of the log directory")
    kept: list[Path] = []
    with claimed(plan.path):
        for path, known in plan.seen.items():
            status = path.stat()
            if (status.st_size, status.st_mtime_ns) != known:
                raise Malformed("", "the log has changed since the plan was made", at=0).in_source(str(path))
        if plan.steps and (root / CLEAN_SHUTDOWN).exists():
            (root / CLEAN_SHUTDOWN).unlink()
            sync_folder(root)
        place = (default_side(root) if side is None else side.absolute()) / plan.path.name
        for step in plan.steps:
            kept += _do(step, plan.path, place)
        for path in plan.scanned:
            for each in (path, *(path.with_suffix(f".{kind}") for kind in INDEXES)):
                if each.exists():
                    sync_file(each)
        sync_folder(plan.path)
    return kept


def _do(step: Step, folder: Path, place: Path) -> list[Path]:
    if isinstance(step, Aside):
        return [_move(step.path, place)]
    if isinstance(step, Rename):
        step.path.replace(step.target)
        sync_folder(folder)
    elif isinstance(step, Cut):
        return _cut(step, place)
    elif isinstance(step, Write):
        replace_file(step.path, step.data)
    elif isinstance(step, Lower):
        points = read_offsets(step.path)
        points[step.topic_partition] = step.new
        write_offsets(step.path, points)
    return []


def _made(place: Path) -> None:
    """See to it that a folder is there, and its name on the disk."""
    for each in reversed([place, *place.parents]):
        if not each.exists():
            each.mkdir(exist_ok=True)
            sync_folder(each.parent)


def _free(place: Path, name: str) -> Path:
    for number in count():
        path = place / (f"{name}.{number}" if number else name)
        if not path.exists():
            return path
    raise AssertionError("some number is free")


def _move(path: Path, place: Path) -> Path:
    _made(place)
    target = _free(place, path.name)
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(path, 0, path.stat().st_size, target)
        path.unlink()
    sync_folder(place)
    sync_folder(path.parent)
    return target


def _cut(step: Cut, place: Path) -> list[Path]:
    kept = []
    if not step.zeros:
        _made(place)
        target = _free(place, f"{step.path.name}.cut-{step.position}")
        _copy(step.path, step.position, step.size, target)
        sync_folder(place)
        kept.append(target)
    os.truncate(step.path, step.position)
    sync_file(step.path)
    return kept


def _copy(path: Path, start: int, end: int, target: Path) -> None:
    """Copy a part of a file, under a name that it gets when all is on the disk."""
    part = target.with_name(target.name + ".part")
    with path.open("rb") as source, part.open("wb") as out:
        source.seek(start)
        left = end - start
        while left and (block := source.read(min(left, _BLOCK))):
            out.write(block)
            left -= len(block)
        out.flush()
        os.fsync(out.fileno())
    shutil.copystat(path, part)
    part.rename(target)
