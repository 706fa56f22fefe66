"""Features that only some systems have: flags of open, locks, fsync of folders.

Reading works wherever Python runs, and so does all output except log directories: exports, pages, generated
code. Log directories are changed only on POSIX, where a lock keeps brokers out and fsync makes names durable.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl as _fcntl
except ImportError:  # Windows
    POSIX = False
else:
    POSIX = hasattr(_fcntl, "lockf")

__all__ = [
    "BINARY",
    "CLOEXEC",
    "DIRECTORY",
    "NOFOLLOW",
    "NONBLOCK",
    "POSIX",
    "locked_folder",
    "require_posix",
]

# 0 where the system has no such flag: then it lacks links that any user may create, or a text mode.
BINARY = getattr(os, "O_BINARY", 0)
CLOEXEC = getattr(os, "O_CLOEXEC", 0)
DIRECTORY = getattr(os, "O_DIRECTORY", 0)
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def require_posix(path: str | os.PathLike[str]) -> None:
    """Refuse to change a log directory on systems where this is not safe.

    Raises: OSError with ENOTSUP if the system has no POSIX locks and no fsync of folders.
    """
    if not POSIX:
        reason = "log directories are changed on Linux and macOS only: no lock keeps brokers out here"
        raise OSError(errno.ENOTSUP, reason, os.fspath(path))


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make a folder, and exclude others who do so; where the system has no such locks, only make it.

    Raises: BlockingIOError if another process or thread has it; OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not POSIX:
        yield
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        try:
            _fcntl.flock(fd, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, "another program changes it", str(folder)) from None
        yield
    finally:
        os.close(fd)
