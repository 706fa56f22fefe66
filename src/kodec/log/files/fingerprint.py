"""The state that a plan was made from; the plan is carried out only if nothing has changed since."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Self

from kodec.log.files.checkpoints import read_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS
from kodec.log.files.paths import partition_path
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, StalePlan
from kodec.stores.storage import Entry, StorePath, entries

__all__ = ["Fingerprint"]

_CHECKPOINTS = (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS, CLEANER_OFFSETS)

# Device, inode, type and mode, size, times of modification and of change (ns): for different content
# one of them differs, even if a program has reset the time of modification.
_Identity = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A topic-partition's folder at a moment: its files, and its entries in the checkpoints.

    A `plan_...` function takes one before it reads anything, and `apply` calls `require` when it holds the
    lock: changes by a broker, another program or another `apply` make the plan stale.

    Attributes:
        folder: the folder; topic_partition: from its name.
        files: by name; None if the folder is missing.
        offsets: the topic-partition's entry in each checkpoint; None if there is none, or for a checkpoint
            that cannot be read. Entries of others may change: other plans do that.
    """

    folder: Path
    topic_partition: TopicPartition
    files: dict[str, _Identity] | None
    offsets: tuple[tuple[str, int | None], ...]

    @classmethod
    def of(cls, folder: str | os.PathLike[str]) -> Self:
        """Record it. Raises OSError if the folder cannot be listed; ValueError for the name of another."""
        partition = partition_path(folder)
        offsets = tuple(
            (name, _offset(partition.root / name, partition.topic_partition)) for name in _CHECKPOINTS
        )
        return cls(partition.path, partition.topic_partition, _files(partition.path), offsets)

    def require(self) -> None:
        """Raises StalePlan, which names the first difference, if anything has changed since; OSError."""
        now = Fingerprint.of(self.folder)
        if now == self:
            return
        if now.files is None or self.files is None:
            raise StalePlan(str(self.folder), "was deleted" if now.files is None else "was made")
        for name in sorted(self.files.keys() | now.files.keys()):
            before, after = self.files.get(name), now.files.get(name)
            if before != after:
                what = "was made" if before is None else "was deleted" if after is None else "has changed"
                raise StalePlan(str(self.folder / name), what)
        for (name, old), (_, new) in zip(self.offsets, now.offsets, strict=True):
            if old != new:
                what = f"the offset of {self.topic_partition} has changed from {old} to {new}"
                raise StalePlan(str(self.folder.parent / name), what)


def _files(folder: Path) -> dict[str, _Identity] | None:
    if isinstance(folder, StorePath):
        try:
            with entries(folder) as listing:
                return {entry.name: _listed(entry) for entry in listing if entry.is_file()}
        except FileNotFoundError:
            return None
    if not folder.exists():
        return None
    files = {}
    with os.scandir(folder) as listing:
        for entry in listing:
            # One that goes meanwhile is gone.
            with suppress(FileNotFoundError):
                files[entry.name] = _identity(os.lstat(entry.path))
    return files


def _listed(entry: Entry) -> _Identity:
    """Of an object its tag is enough, where it has one."""
    path = entry.path
    assert isinstance(path, StorePath)
    return (path.listed,)


def _identity(status: os.stat_result) -> _Identity:
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _offset(checkpoint: Path, topic_partition: TopicPartition) -> int | None:
    try:
        if isinstance(checkpoint, StorePath):
            return read_offsets(checkpoint).get(topic_partition)
        return _offsets(checkpoint, _identity(os.lstat(checkpoint))).get(topic_partition)
    except (OSError, FormatError):
        return None


@lru_cache(maxsize=8)
def _offsets(checkpoint: Path, identity: _Identity) -> dict[TopicPartition, int]:
    # A log directory has a plan for each of its thousands of topic-partitions.
    return read_offsets(checkpoint)
