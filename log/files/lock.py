"""Keeps two from writing into one log directory: the lock that a broker holds while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["locked"]

_NAME = ".lock"
# A lock of this kind belongs to the process, and is lost when any descriptor of its file is closed.
_held: dict[Path, tuple[int, int]] = {}


@contextmanager
def locked(root: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of an entry of `log.dirs` that exists; within a process as often as wanted.

    A broker takes the same one. Where the system has no such locks (Windows), nothing is held.
    Raises: BlockingIOError where a broker or another process holds it; OSError.
    Source: org.apache.kafka.server.util.FileLock.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = Path(root).resolve() / _NAME
    if path not in _held:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            raise BlockingIOError(
                error.errno, "in use: a broker, or another program that writes, holds the lock", str(path)
            ) from None
        _held[path] = fd, 0
    fd, times = _held[path]
    _held[path] = fd, times + 1
    try:
        yield
    finally:
        fd, times = _held[path]
        if times > 1:
            _held[path] = fd, times - 1
        else:
            del _held[path]
            os.close(fd)
