"""Finds programs that have a log open for writing, by whatever path.

The lock of a log directory shows a broker only if the log directory is known. A folder that a broker
reaches by a symbolic link or another mount lies elsewhere; its open files are found all the same.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kodec.stores.storage import StorePath

__all__ = ["require_unused", "writing_processes"]

_PROCESSES = Path("/proc")


def writing_processes(folder: Path) -> list[int]:
    """The ids of other processes that have a file of a folder open for writing.

    Only Linux reports it, and only for processes that this user may inspect; otherwise the list is empty. A
    broker has the log of its active segment open. Raises OSError if the folder cannot be listed.
    """
    if isinstance(folder, StorePath):
        return []
    with os.scandir(folder) as entries:
        files = {entry.name: entry.stat() for entry in entries if entry.is_file()}
    inodes = {(status.st_dev, status.st_ino) for status in files.values()}
    if not inodes or not (_PROCESSES / "self" / "fd").is_dir():
        return []
    processes = []
    for process in _PROCESSES.iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            # gone meanwhile, or another user's
            with suppress(OSError):
                if any(_is_writing(process, fd.name, inodes) for fd in (process / "fd").iterdir()):
                    processes.append(int(process.name))
    return processes


def _is_writing(process: Path, fd: str, inodes: set[tuple[int, int]]) -> bool:
    status = (process / "fd" / fd).stat()
    if (status.st_dev, status.st_ino) not in inodes:
        return False
    for line in (process / "fdinfo" / fd).read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "flags":
            return int(value, 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def require_unused(folder: Path) -> None:
    """Refuse a folder in which another process has files open for writing. Raises BlockingIOError."""
    processes = writing_processes(folder)
    if processes:
        raise BlockingIOError(
            f"{folder}: in use: process {processes[0]} has files of this log open for writing"
        )
