"""Resolves a user's path: log directories, topic-partitions' folders, segments, remote storage.

The one place for this, so that every command, job and data source agrees. Java's
planner, which lists object stores too, must agree as well: `tests/log_paths.py` has the cases.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypeAlias

from kodec.log.files.listing import (
    PartitionFolder,
    ReplicaFolder,
    ReplicaKind,
    find_replicas,
    parse_folder_name,
    parse_segment_name,
)
from kodec.log.files.paths import (
    PartitionPath,
    holds_kafkas_files,
    is_log_directory,
    partition_path,
    resolved,
)
from kodec.log.files.tier_view import TierPath, as_segment
from kodec.log.files.tiered import TieredFolder, tiered_folders
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import ReadFailed
from kodec.stores.storage import StorePath, entries, one_look, path_of, readable

__all__ = [
    "LogDirectoryPath",
    "LogPath",
    "NotALog",
    "RemoteStoragePath",
    "SegmentPath",
    "find_logs",
    "named_paths",
    "resolve",
]


_PATTERN = re.compile(r"[*?\[{]")


class NotALog(ValueError):
    """A path without a log."""


@dataclass(frozen=True, slots=True)
class LogDirectoryPath:
    """An entry of `log.dirs`.

    Attributes:
        replicas: the replicas' folders in it, by topic and partition.
    """

    path: Path
    replicas: tuple[ReplicaFolder, ...]

    @property
    def partitions(self) -> list[PartitionFolder]:
        """The folders of live replicas."""
        live = (each for each in self.replicas if each.kind is ReplicaKind.LIVE)
        return [PartitionFolder(each.topic_partition, each.path) for each in live]


@dataclass(frozen=True, slots=True)
class SegmentPath:
    """A segment's log."""

    path: Path
    base_offset: int


@dataclass(frozen=True, slots=True)
class RemoteStoragePath:
    """A folder of remote storage (KIP-405): its root, a topic's, or a topic-partition's."""

    path: Path
    folders: tuple[TieredFolder, ...]


LogPath: TypeAlias = LogDirectoryPath | PartitionPath | SegmentPath | RemoteStoragePath


def resolve(path: str | os.PathLike[str]) -> LogDirectoryPath | PartitionPath | SegmentPath:
    """The one thing at a path on a broker's disk.

    Remote storage is one as well: a `TierPath`, under which it can be read as a log directory.

    Raises: as `find_logs`; NotALog also for a folder that holds log directories.
    """
    found = find_logs(path)
    first = found[0]
    if isinstance(first, LogDirectoryPath) and first.path != readable(path):
        names = ", ".join(each.path.name for each in found[:4])
        raise NotALog(f"{path}: not a log directory, but a folder of such: {names}")
    if isinstance(first, RemoteStoragePath):
        return _as_logs(first)
    return first


def _as_logs(found: RemoteStoragePath) -> LogDirectoryPath | PartitionPath:
    """Remote storage as a log directory, or as a topic-partition's folder in one."""
    if [each.path for each in found.folders] == [found.path]:
        return partition_path(found.path)
    view = TierPath.of(found.path)
    return LogDirectoryPath(view, tuple(find_replicas(view)))


def find_logs(path: str | os.PathLike[str]) -> list[LogPath]:
    """Everything at a path: one thing, or the contents of a folder of log directories and remote storage.

    A folder that holds topic-partitions' folders, or the files that brokers leave in a log directory, is a
    log directory, whatever its name; another folder with the name of a topic-partition's folder is one of
    those. Names alone do not count: a broker must have left a file there (`holds_kafkas_files`).

    Raises: NotALog for anything else; OSError if nothing is there, or if it cannot be listed.
    """
    with one_look():
        return _find_logs(path)


def _find_logs(path: str | os.PathLike[str]) -> list[LogPath]:
    try:
        given = readable(path)
    except ValueError as error:
        raise NotALog(str(error)) from None
    if not given.is_dir():
        given.stat()
        base_offset = parse_segment_name(given.name)
        if base_offset is None and (stored := as_segment(given)) is not None:
            given, base_offset = stored, parse_segment_name(stored.name)
        if base_offset is None:
            raise NotALog(f"{path}: not a segment: those are named like 00000000000000000000.log")
        return [SegmentPath(given, base_offset)]
    replicas = find_replicas(given)
    if is_log_directory(given):
        # a broker's folder holds no other log directory
        return [LogDirectoryPath(given, tuple(replicas))]
    inside: list[LogPath] | None = None
    if any(holds_kafkas_files(each.path) for each in replicas):
        # a folder of log directories may look as if it were one: `kafka-logs-1`
        inside = _inside(given)
        inner = {each.path for each in inside}
        own = tuple(each for each in replicas if each.path not in inner)
        return [LogDirectoryPath(given, own), *inside]
    is_partition = parse_folder_name(resolved(given).name) is not None
    if is_partition and holds_kafkas_files((found := partition_path(given)).path):
        return [found]
    tiered = tiered_folders(given)
    if tiered:
        return [RemoteStoragePath(given, tuple(tiered))]
    inside = _inside(given)
    if inside:
        return inside
    if replicas or is_partition:
        names = ", ".join(each.path.name for each in replicas[:4]) or resolved(given).name
        raise NotALog(f"{path}: no file of Kafka's is in {names}")
    raise NotALog(
        f"{path}: neither a log directory, which holds folders named like orders-0, nor such a folder"
    )


def _inside(path: Path) -> list[LogPath]:
    """The log directories and the remote storage in a folder."""
    with entries(path) as there:
        folders = sorted(path_of(entry.path) for entry in there if entry.is_dir())
    found: list[LogPath] = []
    for folder in folders:
        try:
            replicas = find_replicas(folder)
        except ReadFailed:
            # a server that does not answer, and not a folder that is closed to this user
            raise
        except OSError:
            # listing it raises the error
            continue
        if is_log_directory(folder) or any(
            each.kind is ReplicaKind.LIVE and holds_kafkas_files(each.path) for each in replicas
        ):
            found.append(LogDirectoryPath(folder, tuple(replicas)))
        elif parse_folder_name(folder.name) is None and (tiered := tiered_folders(folder)):
            found.append(RemoteStoragePath(folder, tuple(tiered)))
    return found


def named_paths(path: str | os.PathLike[str]) -> list[Path]:
    """The paths that a glob (`*`, `?`, `[a-z]`, `{a,b}`) matches, sorted; none if nothing matches.

    An existing path is not a glob, and neither is one without such characters, whether it exists or not.
    """
    given = path_of(path)
    if isinstance(given, StorePath):
        return _named_objects(given)
    text = os.fspath(given)
    if not _PATTERN.search(text) or given.exists():
        return [given]
    import glob

    return [Path(each) for each in sorted({each for one in _without_braces(text) for each in glob.glob(one)})]  # noqa: PTH207


def _named_objects(path: StorePath) -> list[Path]:
    """The same in a store: folder by folder, those whose names match are listed."""
    if not _PATTERN.search(str(path)):
        return [path]
    found: set[Path] = set()
    for text in _without_braces(str(path)):
        whole = path_of(text)
        level: list[Path] = [type(whole)(*whole.parts[:2])]
        for number, part in enumerate(whole.parts[2:], 3):
            is_last = number == len(whole.parts)
            if not _PATTERN.search(part):
                level = [each / part for each in level if not is_last or (each / part).exists()]
            else:
                level = [each for folder in level for each in folder.glob(part)]
        found.update(level)
    return sorted(found)


def _without_braces(text: str) -> list[str]:
    """A glob of Hadoop's, with `{a,b}`, as globs without them."""
    match = re.search(r"\{([^{}]*)\}", text)
    if match is None:
        return [text]
    before, after = text[: match.start()], text[match.end() :]
    return [whole for each in match[1].split(",") for whole in _without_braces(f"{before}{each}{after}")]
