"""Durable files, whole or absent: data has reached the disk when a call returns.

A crash of the machine may lose data written without fsync, and a file's new name may be
lost until its folder is fsynced. Each function states which of both it does.

The writing user may not own the files, for example an administrator who repairs the logs of a stopped
broker. A file that is replaced keeps its owner, group and mode, or is not replaced. A new one gets the owner
and group of its folder, as far as permitted, and the mode of a file next to it (a segment's log,
if there is one). No file is created or opened through a symbolic link of its name.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from kodec.runtime.system import BINARY, DIRECTORY, NOFOLLOW, POSIX, require_posix
from kodec.stores.modes import excluded

__all__ = [
    "NO_SPACE",
    "create_file",
    "drop_cached",
    "exchange",
    "make_folder",
    "make_root",
    "replace_file",
    "sync_file",
    "sync_folder",
    "sync_name",
    "write_all",
]

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""The system's errors for a full disk or quota."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY


def sync_file(path: str | os.PathLike[str]) -> None:
    """Make the contents of a file durable. Raises OSError."""
    # Windows flushes only what may be written
    fd = os.open(path, os.O_RDONLY if POSIX else os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Make the names in a folder (created, renamed, removed) durable; Windows cannot. Raises OSError.

    Source: org.apache.kafka.common.utils.Utils.flushDir, which leaves it out there too.
    """
    if POSIX:
        sync_file(path)


def drop_cached(path: str | os.PathLike[str], *, sync: bool = True) -> None:
    """Fsync a file and drop it from the page cache, so that the disk is read next.

    After a failed fsync, memory may still hold data that the disk lacks, and no later fsync reports it.
    Without `sync` nothing is written: the system keeps unwritten data, because writing it can still fail.
    Systems without the call, and pages mapped by others, are left alone. Raises OSError.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        if sync:
            os.fsync(fd)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes | bytearray | memoryview, position: int) -> None:
    """Write all of `data` at a position. Raises OSError; a part may then have been written."""
    view = memoryview(data)
    while view:
        if hasattr(os, "pwrite"):
            written = os.pwrite(fd, view, position)
        else:
            os.lseek(fd, position, os.SEEK_SET)
            written = os.write(fd, view)
        view, position = view[written:], position + written


def create_file(path: str | os.PathLike[str], *, folder: int | None = None) -> int:
    """Create a file with the owner, group and mode of a new one; return a descriptor to write it.

    Neither the file nor its name is fsynced. With `folder`, a descriptor, `path` is a name in there.
    Raises: FileExistsError, also for a symbolic link; OSError.
    """
    require_posix(path)
    around = Path(path).parent.stat() if folder is None else os.fstat(folder)
    mode = _mode_beside(Path(path).parent if folder is None else folder)
    return _create(path, around.st_uid, around.st_gid, mode, folder=folder)


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder with the owner and group of its parent; its name is not fsynced.

    Raises: OSError.
    """
    require_posix(path)
    target = Path(path)
    around = target.parent.stat()
    try:
        target.mkdir()
    except FileExistsError:
        if target.is_dir():
            return
        raise
    fd = os.open(target, os.O_RDONLY | DIRECTORY | NOFOLLOW)
    try:
        _give(fd, around.st_uid, around.st_gid, target, must=False)
    finally:
        os.close(fd)


def make_root(path: str | os.PathLike[str]) -> None:
    """Create a folder and its missing parents, with durable names; see `sync_name`.

    Each gets the owner and group of its parent. Raises: OSError.
    """
    require_posix(path)
    target = Path(path).absolute()
    for folder in reversed((target, *target.parents)):
        if not folder.is_dir():
            make_folder(folder)
            sync_folder(folder.parent)
    sync_name(target)


def sync_name(path: Path) -> None:
    """Make the name of a folder durable: its creator may have crashed before doing so.

    A parent that may not be opened is skipped: creating folders there is up to others. Raises OSError.
    """
    with suppress(PermissionError):
        sync_folder(path.parent)


def replace_file(path: str | os.PathLike[str], data: bytes | bytearray, *, folder: bool = True) -> None:
    """Give a file new contents, so that after a crash it has the old or the new ones, never a part.

    Writes `<name>.tmp`, fsyncs it, renames it over `path`, and fsyncs the folder unless `folder` is false:
    then the caller does, after several of them. Anything named `<name>.tmp`, a link or the remains of a
    crash, is removed, not written to. If `path` is a symbolic link, the link is replaced.

    Raises: PermissionError if the new file cannot have the owner and group of the old one; OSError. The
    old file is then unchanged, and `<name>.tmp` gone.
    Source: org.apache.kafka.server.common.CheckpointFile.write.
    """
    target = Path(path)
    temporary = target.with_name(target.name + ".tmp")
    temporary.unlink(missing_ok=True)
    fd = _create_like(temporary, target)
    try:
        try:
            write_all(fd, data, 0)
            os.fsync(fd)
        finally:
            os.close(fd)
        temporary.replace(target)
    except BaseException:
        _remove(temporary)
        raise
    if folder:
        sync_folder(target.parent)


def exchange(first: Path, other: Path) -> bool:
    """Exchange two names in one step; return whether the system and the file system support it.

    If not, nothing is changed. The parent folders are not fsynced. Raises OSError.
    """
    error = _swap(os.fsencode(first), os.fsencode(other))
    if error in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV):
        return False
    if error:
        raise OSError(error, os.strerror(error), os.fspath(first), None, os.fspath(other))
    return True


def _swap(first: bytes, other: bytes) -> int:
    """Call the system; return 0 or its error number.

    Source: renameat2(2) of Linux with RENAME_EXCHANGE, renamex_np(2) of macOS with RENAME_SWAP.
    """
    import ctypes

    library: Any = ctypes.CDLL(None, use_errno=True) if sys.platform in ("linux", "darwin") else None
    if hasattr(library, "renameat2"):
        current_folder, exchanged = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        failed = library.renameat2(current_folder, first, current_folder, other, ctypes.c_uint(exchanged))
    elif hasattr(library, "renamex_np"):
        failed = library.renamex_np(first, other, ctypes.c_uint(2))  # RENAME_SWAP
    else:
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0


def _create_like(path: Path, model: Path) -> int:
    """Create a file with the owner, group and mode of another; if that is not a file, those of a new one."""
    if not POSIX:
        return os.open(path, _NEW, 0o644)
    try:
        status = model.lstat()
    except FileNotFoundError:
        return create_file(path)
    if not stat.S_ISREG(status.st_mode):
        return create_file(path)
    return _create(path, status.st_uid, status.st_gid, status.st_mode & 0o777, must=True)


def _create(
    path: str | os.PathLike[str],
    owner: int,
    group: int,
    mode: int | None,
    *,
    must: bool = False,
    folder: int | None = None,
) -> int:
    # Nobody else can open it before it has its final mode.
    fd = os.open(path, _NEW, 0o644 if mode is None else 0o600, dir_fd=folder)
    try:
        _give(fd, owner, group, path, must=must)
        if mode is not None:
            os.fchmod(fd, mode & ~excluded())
    except BaseException:
        os.close(fd)
        _remove(path, folder)
        raise
    return fd


def _give(fd: int, owner: int, group: int, path: str | os.PathLike[str], *, must: bool) -> None:
    """Give a file to an owner and a group; without `must`, as far as permitted."""
    status = os.fstat(fd)
    if (status.st_uid, status.st_gid) == (owner, group):
        return
    try:
        os.fchown(fd, owner, group)
    except OSError as error:
        if must:
            raise PermissionError(
                error.errno,
                f"user {os.geteuid()} cannot give it the old file's owner {owner} and group {group}",
                os.fspath(path),
            ) from error
        with suppress(OSError):
            os.fchown(fd, -1, group)


def _mode_beside(folder: Path | int) -> int | None:
    """The mode of a file in a folder: of the newest segment's log, else of any file, or None."""
    with os.scandir(folder) as entries:
        names = [
            entry.name
            for entry in entries
            if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)
        ]
    logs = [name for name in names if name.endswith(".log")]
    for name in sorted(logs or names, reverse=True):
        # It may be gone meanwhile; and a read-only copy must be written to all the same.
        with suppress(FileNotFoundError):
            if isinstance(folder, int):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            else:
                status = (folder / name).lstat()
            return stat.S_IMODE(status.st_mode) & 0o777 | 0o600
    return None


def _remove(path: str | os.PathLike[str], folder: int | None = None) -> None:
    with suppress(OSError):
        os.unlink(path, dir_fd=folder)
