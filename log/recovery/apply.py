"""Carries out the steps of a recovery, so that a crash at any of them loses nothing.

The steps are done in the order of the plan. What is removed is moved to the quarantine folder and what is
truncated is copied there, and both are durable, before they are gone from the log. Segments after the end of
a log go from the last to the first, and before the log is truncated: were it truncated first, those that a
crash leaves would be taken for the log. Derived files are replaced whole. So after an interrupted recovery, a
new plan leads to the same result.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from kodec.log.files.checkpoints import read_offsets, write_offsets
from kodec.log.files.descriptors import keep_owner, make_folders, open_file
from kodec.log.files.durable import replace_file, sync_file, sync_folder, write_all
from kodec.log.files.exclusive import changing
from kodec.log.files.names import CLEAN_SHUTDOWN, INDEXES
from kodec.log.files.paths import is_log_directory, require_no_link
from kodec.log.recovery.steps import LowerRecoveryPoint, Quarantine, Rename, Step, Truncate, Write
from kodec.runtime.errors import Malformed

__all__ = ["apply_steps", "default_quarantine"]

_BLOCK = 1 << 20


def default_quarantine(root: Path) -> Path:
    """Where what is truncated goes by default: `<log directory>.quarantine`, beside the log directory.

    Not inside: a broker does not start with a folder in its log directory that is no replica's, and takes
    files with an offset in their names for parts of a log.
    """
    root = root.absolute()
    return root.with_name(root.name + ".quarantine")


def apply_steps(
    folder: Path,
    steps: Sequence[Step],
    scanned: Sequence[Path],
    seen: Mapping[Path, tuple[int, int]],
    quarantine: Path | None,
) -> list[Path]:
    """Do the steps of a plan; arguments and errors as of `RecoveryPlan` and its `apply`."""
    root = folder.parent
    if quarantine is not None and (quarantine.resolve().is_relative_to(root) or is_log_directory(quarantine)):
        raise ValueError(f"{quarantine}: the quarantine folder has to be outside of log directories")
    place = (default_quarantine(root) if quarantine is None else quarantine.absolute()) / folder.name
    require_no_link(place)
    kept: list[Path] = []
    with changing(folder):
        for path, known in seen.items():
            status = path.lstat()
            if (status.st_size, status.st_mtime_ns) != known:
                raise Malformed("", "the log has changed since the plan was made", at=0).in_source(str(path))
        if steps:
            (root / CLEAN_SHUTDOWN).unlink(missing_ok=True)
        # The plan relies on the checkpoints: one that was replaced and not fsynced since could come back.
        sync_folder(root)
        for step in steps:
            kept += _do(step, folder, place)
        for path in scanned:
            for each in (path, *(path.with_suffix(f".{kind}") for kind in INDEXES)):
                if each.exists():
                    sync_file(each)
        sync_folder(folder)
    return kept


def _do(step: Step, folder: Path, place: Path) -> list[Path]:
    if isinstance(step, Quarantine):
        return [_move(step.path, place)]
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


def _free(place: Path, name: str) -> Path:
    for number in count():
        path = place / (f"{name}.{number}" if number else name)
        if not path.exists():
            return path
    raise AssertionError("some number is free")


def _move(path: Path, place: Path) -> Path:
    make_folders(place, path.parent.stat())
    target = _free(place, path.name)
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(path, 0, target)
        path.unlink()
    sync_folder(place)
    sync_folder(path.parent)
    return target


def _truncate(step: Truncate, place: Path) -> list[Path]:
    kept = []
    if not step.zeros:
        make_folders(place, step.path.parent.stat())
        target = _free(place, f"{step.path.name}.cut-{step.position}")
        _copy(step.path, step.position, target)
        sync_folder(place)
        kept.append(target)
    with open_file(step.path, os.O_WRONLY) as fd:
        os.ftruncate(fd, step.position)
        os.fsync(fd)
    return kept


def _copy(path: Path, start: int, target: Path) -> None:
    """Copy a file from a position on, under a name that it gets when all of it is durable."""
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    with (
        open_file(path, os.O_RDONLY) as source,
        open_file(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) as out,
    ):
        os.lseek(source, start, os.SEEK_SET)
        done = 0
        while block := os.read(source, _BLOCK):
            write_all(out, block, done)
            done += len(block)
        keep_owner(out, os.fstat(source))
        os.fsync(out)
    shutil.copystat(path, part, follow_symlinks=False)
    part.rename(target)
