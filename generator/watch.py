"""Waits for changes of schemas."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

__all__ = ["changes_of"]

_SECONDS = 0.25
_State = dict[Path, tuple[int, int, int]]


def changes_of(*folders: Path, wait: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Yields at once, and then whenever a schema in the folders was written, added or removed.

    Files are checked four times a second: this works on every system and file system, and also finds files
    that an editor saves by renaming. It waits for files that are still being written.
    """
    while True:
        before = _state(folders)
        yield
        while (now := _state(folders)) == before:
            wait(_SECONDS)
        while True:
            wait(_SECONDS / 5)
            before, now = now, _state(folders)
            if now == before:
                break


def _state(folders: Iterable[Path]) -> _State:
    found: _State = {}
    try:
        patterns = ("*.ksy", "*.overlay.yaml")
        for path in (path for folder in folders for each in patterns for path in folder.rglob(each)):
            try:
                stat = path.stat()
            except OSError:
                continue  # it was deleted meanwhile
            found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    except OSError:
        return found
    return found
