"""The quarantine folder: data that a repair removes from a log is kept there, durable before its removal."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

from kodec.log.files.descriptors import keep_owner, make_folders, open_file, require_regular
from kodec.log.files.durable import sync_folder, write_all
from kodec.log.files.paths import is_log_directory, require_no_link
from kodec.runtime.system import NONBLOCK

__all__ = ["copy_from", "default_quarantine", "keep_part", "move_away", "quarantine_of"]

_BLOCK = 1 << 20


def default_quarantine(root: Path) -> Path:
    """The default folder for truncated data: `<log directory>.quarantine`, next to the log directory.

    Not inside: a broker does not start with a folder in its log directory that is not a replica's, and treats
    files with an offset in their names as parts of a log.
    """
    root = root.absolute()
    return root.with_name(root.name + ".quarantine")


def quarantine_of(folder: Path, quarantine: Path | None) -> Path:
    """The folder for data removed from a topic-partition's folder; None: the default one.

    Raises ValueError for a folder in a log directory, and for a symbolic link.
    """
    root = folder.parent
    if quarantine is not None and (quarantine.resolve().is_relative_to(root) or is_log_directory(quarantine)):
        raise ValueError(f"{quarantine}: the quarantine folder must be outside log directories")
    folder_there = (default_quarantine(root) if quarantine is None else quarantine.absolute()) / folder.name
    require_no_link(folder_there)
    return folder_there


def move_away(path: Path, place: Path) -> Path:
    """Move a file, or a folder of files, into a quarantine folder; return its new path. Raises OSError."""
    make_folders(place, path.parent.stat())
    target = _free(place, path.name)
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        if path.is_dir():
            for each in sorted(path.iterdir()):
                move_away(each, target)
            path.rmdir()
        else:
            copy_from(path, 0, target)
            path.unlink()
    sync_folder(place)
    sync_folder(path.parent)
    return target


def keep_part(path: Path, position: int, place: Path) -> Path:
    """Copy a file from a position on into a quarantine folder; return the copy's path. Raises OSError."""
    make_folders(place, path.parent.stat())
    target = _free(place, f"{path.name}.cut-{position}")
    copy_from(path, position, target)
    sync_folder(place)
    return target


def _free(target: Path, name: str) -> Path:
    for number in count():
        path = target / (f"{name}.{number}" if number else name)
        if not path.exists():
            return path
    raise AssertionError("some number is free")


def copy_from(path: Path, start: int, target: Path, passed: Callable[[int], None] | None = None) -> None:
    """Copy a file from a position on, under a name that it receives once it is durable.

    The name is not fsynced. `passed` is called with the bytes of each block. Raises OSError: then nothing is
    left.
    """
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    try:
        with (
            open_file(path, os.O_RDONLY | NONBLOCK) as source,
            open_file(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) as out,
        ):
            require_regular(os.fstat(source), path)
            os.lseek(source, start, os.SEEK_SET)
            copied = 0
            while block := os.read(source, _BLOCK):
                write_all(out, block, copied)
                copied += len(block)
                if passed is not None:
                    passed(len(block))
            keep_owner(out, os.fstat(source))
            os.fsync(out)
        shutil.copystat(path, part, follow_symlinks=False)
        part.rename(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
