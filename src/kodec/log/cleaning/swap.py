"""Replaces old segments with new ones, so that a crash at any step leaves the old log or the new one.

Followed: `LocalLog.replaceSegments` of `org.apache.kafka.storage.internals.log`, Kafka 4; what it leaves if
it is interrupted, `LogLoader` completes or rolls back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kodec.log.files.durable import NO_SPACE, sync_folder
from kodec.log.files.listing import LeftoverKind
from kodec.log.files.names import INDEXES, file_name

__all__ = ["CLEANED", "delete_files", "remove_cleaned", "replace_segments", "segment_files"]

CLEANED = f".{LeftoverKind.CLEANED.value}"
_SWAP = f".{LeftoverKind.SWAP.value}"
_DELETED = f".{LeftoverKind.DELETED.value}"
# The log first, so that once a segment exists, so does its log.
_KINDS = ("log", *INDEXES)


def segment_files(folder: Path, base_offset: int, suffix: str = "") -> list[Path]:
    """The existing files of a segment, the log first."""
    found = (folder / file_name(base_offset, kind, suffix) for kind in _KINDS)
    return [path for path in found if path.is_file()]


def _renamed(paths: Iterable[Path], old: str, new: str) -> list[Path]:
    names = []
    for path in paths:
        target = path.with_name(path.name.removesuffix(old) + new)
        names.append(path.replace(target))
    return names


def delete_files(folder: Path, paths: Sequence[Path]) -> None:
    """Delete files that belong together: first all are renamed as deleted, then they are deleted.

    A crash leaves them in place, or with `.deleted` appended, or gone; a program that has one open can
    go on reading it. Raises OSError.
    """
    if not paths:
        return
    try:
        deleted = _renamed(paths, "", _DELETED)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        # A longer name may need a block of its own. The log is first: without it the others are ignored.
        deleted = [each for path in paths for each in (path, path.with_name(path.name + _DELETED))]
    sync_folder(folder)
    for path in deleted:
        path.unlink(missing_ok=True)
    sync_folder(folder)


def replace_segments(
    folder: Path, new: Sequence[int], old: Sequence[int], *, decided: Callable[[], None] = lambda: None
) -> None:
    """Put the segments `new`, written durably with the suffix `.cleaned`, in place of `old`.

    Both are base offsets in ascending order. The producer snapshots of old segments whose base offset no new
    one has are deleted too. The steps, each durable before the next:

    1. `.cleaned` becomes `.swap`, the last segment first. Before all are renamed, a starting broker deletes
       the new ones: a `.cleaned` shows that the later ones are incomplete. From then on it completes the
       swap, and `decided` is called.
    2. The old ones get `.deleted`.
    3. The suffix `.swap` is removed.
    4. The old ones are deleted.

    Raises OSError.
    """
    swapped: list[list[Path]] = []
    for base_offset in reversed(new):
        swapped.insert(0, _renamed(segment_files(folder, base_offset, CLEANED), CLEANED, _SWAP))
        sync_folder(folder)
    decided()
    doomed: list[Path] = []
    for base_offset in old:
        doomed += _renamed(segment_files(folder, base_offset), "", _DELETED)
    sync_folder(folder)
    for paths in swapped:
        _renamed(paths, _SWAP, "")
    sync_folder(folder)
    gone = (folder / file_name(base, "snapshot") for base in old if base not in set(new))
    doomed += _renamed((path for path in gone if path.is_file()), "", _DELETED)
    for path in doomed:
        path.unlink()
    sync_folder(folder)


def remove_cleaned(folder: Path, base_offsets: Iterable[int]) -> None:
    """Delete what was written with the suffix `.cleaned`. Raises OSError."""
    for base_offset in base_offsets:
        for path in segment_files(folder, base_offset, CLEANED):
            path.unlink()
