"""Who may read an output: at most those who may read all of its sources.

One rule for every writer: a copy, an export or a page has in it what its sources have, so whoever may not
read one of them may not read the output either. Sources without modes, as objects of a store, restrict
nothing.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kodec.stores.storage import StorePath, path_of

__all__ = ["excluded", "narrow", "readable_as"]

# The classes of users besides the owner, by their bits.
_CLASSES = (0o070, 0o007)
_lock = threading.Lock()
_inside: list[int] = []
_before = 0


@contextmanager
def readable_as(*sources: str | os.PathLike[str] | os.stat_result) -> Iterator[None]:
    """What this process creates inside is for at most those who may read the sources.

    Args:
        sources: files, log directories (their folders and the files in these count too), or what `stat` has
            returned. What is missing restricts nothing: reading it raises its own error.

    It sets the mask of the process (umask), for all of its threads; contexts may overlap. Raises: nothing.
    """
    global _before
    mask = 0
    for path in sources:
        for facts in (path,) if isinstance(path, os.stat_result) else _facts(_local(path_of(path))):
            mask |= _mask_of(facts)
    with _lock:
        previous = os.umask(0o777)
        if not _inside:
            _before = previous
        _inside.append(mask)
        os.umask(_before | excluded())
    try:
        yield
    finally:
        with _lock:
            _inside.remove(mask)
            os.umask(_before | excluded())


def excluded() -> int:
    """The bits that no mode has inside of `readable_as`, for those who set modes themselves."""
    mode = 0
    for mask in list(_inside):
        mode |= mask
    return mode


def narrow(fd: int) -> None:
    """Take those bits from a file that may have been there before. Raises OSError."""
    if hasattr(os, "fchmod"):
        os.fchmod(fd, stat.S_IMODE(os.fstat(fd).st_mode) & ~excluded())


def _local(path: Path) -> Path | None:
    """The path of this machine that a path is, or is a view of."""
    if not isinstance(path, StorePath):
        return path
    return None if path.origin is None else _local(path.origin)


def _facts(path: Path | None) -> Iterable[os.stat_result]:
    """Those of a file, or of a log directory: of folders up to topic-partitions, and of files in them."""
    if path is None:
        return
    with suppress(OSError):
        status = path.stat()
        yield status
        if stat.S_ISDIR(status.st_mode):
            for depth in range(2):
                for each in sorted(path.glob("/".join("*" * (depth + 1)))):
                    with suppress(OSError):
                        yield each.stat()


def _mask_of(facts: os.stat_result) -> int:
    if not stat.S_ISREG(facts.st_mode) and not stat.S_ISDIR(facts.st_mode):
        # a pipe: who may read what is written to it is unknown
        return 0o077
    need = 0o055 if stat.S_ISDIR(facts.st_mode) else 0o044
    mask = 0o022 & ~facts.st_mode
    for mode_class in _CLASSES:
        if need & mode_class & ~facts.st_mode:
            mask |= mode_class
    return mask
