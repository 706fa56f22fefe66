"""Waits for changes of schemas."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["changes_of"]

_SECONDS = 0.25
_State = dict[Path, tuple[int, int, int]]


def changes_of(folder: Path, wait: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Yields at once, and then whenever a schema in the folder was written, added or removed.

    Files are checked four times a second: this works on every system and file system, and also finds files
    that an editor saves by renaming. It waits for files that are still being written.
    """
    while True:
        before = _state(folder)
        yield
        while (now := _state(folder)) == before:
            wait(_SECONDS)
        while True:
            wait(_SECONDS / 5)
            before, now = now, _state(folder)
            if now == before:
                break


def _state(folder: Path) -> _State:
    found: _State = {}
    try:
        for path in (*folder.rglob("*.ksy"), *folder.rglob("*.overlay.yaml")):
            try:
                stat = path.stat()
            except OSError:
                continue  # it was deleted meanwhile
            found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    except OSError:
        return found
    return found
