"""Exclusive access to a topic-partition's folder while it is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kodec.log.files.in_use import require_unused
from kodec.log.files.lock import claimed
from kodec.log.files.paths import PartitionPath
from kodec.log.remote.opening import writable_partition

__all__ = ["changing"]


@contextmanager
def changing(path: str | os.PathLike[str]) -> Iterator[PartitionPath]:
    """Hold an existing topic-partition's folder for changes; see `writable_partition`.

    Raises: ValueError for a symbolic link and for a name that is not a topic-partition's; BlockingIOError
    if a broker or another program holds the log directory's lock, or has files of the folder open for
    writing, or if another part of this process writes the folder; OSError.
    """
    folder = writable_partition(path)
    with claimed(folder.path):
        require_unused(folder.path)
        yield folder
