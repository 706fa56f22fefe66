"""Files opened by descriptor, never through a symbolic link, and given the owner that another has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kodec.log.files.durable import sync_folder, sync_name

__all__ = ["keep_owner", "make_folders", "open_file"]


@contextmanager
def open_file(path: Path, flags: int, mode: int = 0o600) -> Iterator[int]:
    """A descriptor of a file, closed at the end.

    Raises OSError, with ELOOP where the last name of the path is a symbolic link.
    """
    # Windows has no such flags, nor links that everybody may make.
    extra = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(path, flags | extra, mode)
    try:
        yield fd
    finally:
        os.close(fd)


def make_folders(path: Path, like: os.stat_result) -> None:
    """Make a folder and those around it where they are not there, and make their names durable.

    New ones get the owner, group and permissions of another folder. Raises OSError.
    """
    for each in reversed([path, *path.parents]):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
            with open_file(each, os.O_RDONLY) as fd:
                keep_owner(fd, like)
            sync_folder(each.parent)
    for each in (path.parent, path):
        sync_name(each)


def keep_owner(fd: int, like: os.stat_result, mode: int | None = None) -> None:
    """Give a file the owner, group and permissions of another, as far as this user may.

    `mode` stands for the permissions where they are not to be the same. Raises OSError.
    """
    if not hasattr(os, "fchown"):
        return
    # Who is not root can give a file to none but groups of his own.
    for owner, group in ((like.st_uid, -1), (-1, like.st_gid)):
        with suppress(PermissionError):
            os.fchown(fd, owner, group)
    # Last: a change of the owner clears set-id bits.
    os.fchmod(fd, (like.st_mode if mode is None else mode) & 0o7777)
