"""Files that are whole or not there: what is written here has reached the disk when the call returns.

A crash of the machine may lose what was written and not followed by fsync, and a new name of a file may be
lost while its folder was not fsynced. Each function says which of both it does.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["replace_file", "sync_file", "sync_folder", "write_all"]


def sync_file(path: str | os.PathLike[str]) -> None:
    """Wait until the contents of a file are on the disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Wait until the names in a folder (created, renamed, removed) are on the disk. Raises OSError."""
    sync_file(path)


def write_all(fd: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of `data` where the file stands. Raises OSError; a part may then have been written."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def replace_file(path: str | os.PathLike[str], data: bytes | bytearray, *, folder: bool = True) -> None:
    """Give a file new contents, so that after a crash it has the old ones or the new ones, never a part.

    Writes `<name>.tmp`, fsyncs it, renames it over `path`, and fsyncs the folder unless `folder` is false:
    then the caller does, after several of them. Raises OSError.
    Source: org.apache.kafka.server.common.CheckpointFile.write.
    """
    target = Path(path)
    temporary = target.with_name(target.name + ".tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    temporary.replace(target)
    if folder:
        sync_folder(target.parent)
