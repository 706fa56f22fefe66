"""Opens files by descriptor, never through a symbolic link, and copies owners between files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from kodec.log.files.durable import sync_folder, sync_name
from kodec.runtime.errors import ReadFailed
from kodec.runtime.system import BINARY, CLOEXEC, NOFOLLOW, require_posix
from kodec.stores.storage import StorePath, path_of

__all__ = [
    "keep_owner",
    "make_folders",
    "open_file",
    "open_regular",
    "read_regular",
    "require_no_dangling_link",
    "require_owner",
    "require_regular",
]

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def require_regular(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    """Refuse anything but a regular file. Raises ReadFailed."""
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        what = _KINDS.get(kind, "something else")
        raise ReadFailed(f"it is {what}, not a regular file", errno.EINVAL, 0, os.fspath(path))


def open_regular(path: str | os.PathLike[str], *, buffering: int = -1) -> BinaryIO:
    """Open a file of a log to read it.

    A pipe or device, where a reader would wait or read forever, is refused.
    Raises OSError (ReadFailed for anything but a regular file).
    """
    opened = path_of(path)
    if isinstance(opened, StorePath):
        return cast(BinaryIO, opened.open("rb", buffering))
    # Before it is opened: opening a pipe waits for a writer.
    try:
        require_regular(opened.stat(), path)
    except FileNotFoundError:
        require_no_dangling_link(opened)
        raise
    return opened.open("rb", buffering=buffering)


def read_regular(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """The bytes of a file of a log, or the first `most`; see `open_regular`."""
    with open_regular(path) as file:
        return file.read(most)


def require_no_dangling_link(path: Path) -> None:
    """Refuse a link to something missing: unlike a file that is gone, it was not deleted.

    Raises ReadFailed.
    """
    if path.is_symlink():
        text = f"it is a symbolic link to {path.readlink()}, which is not there"
        raise ReadFailed(text, errno.ENOENT, 0, str(path))


@contextmanager
def open_file(path: Path, flags: int, mode: int = 0o600) -> Iterator[int]:
    """A descriptor of a file, closed at the end.

    Raises OSError, with ELOOP if the last name of the path is a symbolic link.
    """
    fd = os.open(path, flags | NOFOLLOW | CLOEXEC | BINARY, mode)
    try:
        yield fd
    finally:
        os.close(fd)


def make_folders(path: Path, like: os.stat_result) -> None:
    """Create a folder and missing parents, and make their names durable.

    New ones get the owner, group and permissions of another folder. Raises OSError.
    """
    require_posix(path)
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            with open_file(folder, os.O_RDONLY) as fd:
                keep_owner(fd, like)
            sync_folder(folder.parent)
    for folder in (path.parent, path):
        sync_name(folder)


def keep_owner(fd: int, like: os.stat_result, mode: int | None = None) -> None:
    """Give a file the owner, group and permissions of another, as far as this user is allowed to.

    `mode` overrides the permissions. Raises OSError.
    """
    # Without root rights, a user can give a file only to their own groups.
    for owner, group in ((like.st_uid, -1), (-1, like.st_gid)):
        with suppress(PermissionError):
            os.fchown(fd, owner, group)
    # Last: a change of the owner clears set-id bits.
    os.fchmod(fd, (like.st_mode if mode is None else mode) & 0o7777)


def require_owner(root: Path) -> None:
    """Refuse a user whose files in a log directory its broker could not read.

    Raises: PermissionError unless this is the broker's user or root; OSError where the system has no locks.
    """
    require_posix(root)
    owner = root.stat().st_uid
    if os.geteuid() not in (0, owner):
        text = f"belongs to the broker's user {owner}; run this as that user or as root"
        raise PermissionError(f"{root} {text}")
