"""Replaces old segments with new ones, so that a crash at any step leaves the old log or the new one.

Followed: `LocalLog.replaceSegments` of `org.apache.kafka.storage.internals.log`, Kafka 4; what it leaves if
it is interrupted, `LogLoader` completes or rolls back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.directories.segment import Segment
from kodec.log.files.durable import NO_SPACE, sync_folder
from kodec.log.files.listing import Leftover, LeftoverKind, PartitionFiles
from kodec.log.files.names import INDEXES, file_name
from kodec.runtime.dataclass import dataclass, field

__all__ = [
    "CLEANED",
    "Unfinished",
    "delete_files",
    "remove_cleaned",
    "replace_segments",
    "segment_files",
]

CLEANED = f".{LeftoverKind.CLEANED.value}"
_SWAP = f".{LeftoverKind.SWAP.value}"
_DELETED = f".{LeftoverKind.DELETED.value}"
# The log first, so that once a segment exists, so does its log.
_KINDS = ("log", *INDEXES)


def segment_files(folder: Path, base_offset: int, suffix: str = "") -> list[Path]:
    """The existing files of a segment, the log first."""
    paths = (folder / file_name(base_offset, kind, suffix) for kind in _KINDS)
    return [path for path in paths if path.is_file()]


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
        deleted = [file for path in paths for file in (path, path.with_name(path.name + _DELETED))]
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


@dataclass(slots=True)
class Unfinished:
    """What ends an interrupted replacement of segments, as a starting broker ends it.

    Attributes:
        deleted: files that are deleted, in this order: those marked for deletion, those of an incomplete
            replacement, and the segments that a complete one replaces.
        renamed: the files of a complete replacement, and their final names.
    """

    deleted: list[Path] = field(default_factory=list)
    renamed: list[tuple[Path, Path]] = field(default_factory=list)

    @classmethod
    def of(cls, files: PartitionFiles, limits: Limits) -> Unfinished:
        """What is left in a folder; `files` as it is listed. Raises OSError, FormatError.

        Source: org.apache.kafka.storage.internals.log.LogLoader.removeTempFilesAndCollectSwapFiles.
        """
        kinds: dict[LeftoverKind, list[Leftover]] = {kind: [] for kind in LeftoverKind}
        for leftover in files.leftovers:
            kinds[leftover.kind].append(leftover)
        cleaned = kinds[LeftoverKind.CLEANED]
        least = min((_offset(leftover) for leftover in cleaned), default=_NO_OFFSET)
        swaps = [leftover for leftover in kinds[LeftoverKind.SWAP] if _offset(leftover) < least]
        incomplete = [leftover for leftover in kinds[LeftoverKind.SWAP] if _offset(leftover) >= least]
        # the .cleaned last: they show that the others are incomplete
        unfinished = cls(
            [leftover.path for leftover in (*kinds[LeftoverKind.DELETED], *incomplete, *cleaned)]
        )
        logs = [swap for swap in swaps if swap.path.name.endswith(f".log{_SWAP}")]
        if logs:
            first = min(map(_offset, logs))
            end = max(Segment.of(log.path, _offset(log), limits=limits).next_offset for log in logs)
            new = {_offset(log) for log in logs}
            folder = logs[0].path.parent
            for old in files.segments:
                if first <= old.base_offset < end:
                    unfinished.deleted += old.paths
                    snapshot = folder / file_name(old.base_offset, "snapshot")
                    unfinished.deleted += (
                        [snapshot] if old.base_offset not in new and snapshot.is_file() else []
                    )
        swaps.sort(key=lambda swap: (f".log{_SWAP}" not in swap.path.name, swap.path.name))
        unfinished.renamed = [
            (swap.path, swap.path.with_name(swap.path.name.removesuffix(_SWAP))) for swap in swaps
        ]
        return unfinished

    def end(self, folder: Path) -> None:
        """Do it; a crash at any step leaves something that can be ended in the same way. Raises OSError."""
        for path in self.deleted:
            path.unlink(missing_ok=True)
        if self.deleted:
            sync_folder(folder)
        for path, target in self.renamed:
            path.replace(target)
        if self.renamed:
            sync_folder(folder)


_NO_OFFSET = 2**63


def _offset(leftover: Leftover) -> int:
    return _NO_OFFSET if leftover.base_offset is None else leftover.base_offset
