"""Resolves a user's path: log directories, topic-partitions' folders, segments, remote storage.

The one place for this, so that every command, job and data source agrees. Java's
planner, which lists object stores too, must agree as well: `tests/log_paths.py` has the cases.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Collection, Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

from kodec.log.files.descriptors import require_no_dangling_link
from kodec.log.files.listing import (
    PartitionFolder,
    ReplicaFolder,
    ReplicaKind,
    find_replicas,
    parse_folder_name,
    parse_segment_name,
    topic_partition_of,
)
from kodec.log.files.paths import (
    PartitionPath,
    holds_kafkas_files,
    is_log_directory,
    resolved,
)
from kodec.log.omissions import Omissions
from kodec.log.remote.names import TieredFolder, tiered_folders
from kodec.log.remote.opening import open_location, open_partition
from kodec.log.remote.tier import Remote, as_segment
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import NoSuchPartition, ReadFailed
from kodec.stores.storage import (
    Listed,
    Location,
    StorePath,
    archive_note,
    context_of,
    entries,
    entry_path,
    one_look,
)

__all__ = [
    "LogDirectoryPath",
    "LogPath",
    "NotALog",
    "RemoteStoragePath",
    "SegmentPath",
    "find_logs",
    "is_of_topics",
    "named_paths",
    "require_topics",
    "resolve",
]


_MOST_FOLDERS = 100
_MOST_NAMED = 3
_PATTERN = re.compile(r"[*?\[{]")
# The folder that a file system makes for itself, and lets root alone list.
_OF_FILE_SYSTEMS = ("lost+found",)


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
        live = (replica for replica in self.replicas if replica.kind is ReplicaKind.LIVE)
        return [PartitionFolder(replica.topic_partition, replica.path) for replica in live]


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

    Remote storage is one as well, and its path one under which it is read as a log directory. The path may be
    that of a folder that holds nothing else, as the one that brokers are configured with.

    Raises: as `find_logs`; NotALog also for a folder that holds log directories, or several remote storages.
    """
    locations = find_logs(path)
    first = locations[0]
    is_inside = isinstance(first, LogDirectoryPath) and first.path != open_location(path)
    if is_inside or (len(locations) > 1 and isinstance(first, RemoteStoragePath)):
        names = ", ".join(what.path.name for what in locations[:4])
        raise NotALog(f"{path}: not a log directory, but a folder of such: {names}")
    if isinstance(first, RemoteStoragePath):
        return _as_logs(first)
    return first


def require_topics(topics: Collection[str] | None, *paths: str | os.PathLike[str]) -> None:
    """Raise NoSuchPartition for a topic of which no path has a replica; None requires nothing.

    Raises: as `resolve`.
    """
    known: set[str] = set()
    for path in paths if topics else ():
        what = resolve(path)
        if isinstance(what, LogDirectoryPath):
            known |= {replica.topic_partition.topic for replica in what.replicas}
        elif isinstance(what, PartitionPath):
            known.add(what.topic_partition.topic)
        elif (owner := topic_partition_of(what.path)) is not None:
            known.add(owner.topic)
    for topic in sorted(topics or ()):
        if topic not in known:
            from difflib import get_close_matches

            near = get_close_matches(topic, sorted(known), n=1)
            meant = f": did you mean {near[0]}?" if near else ""
            raise NoSuchPartition(f"{', '.join(map(str, paths))}: no topic {topic}{meant}")


def is_of_topics(what: PartitionPath | SegmentPath, topics: Collection[str] | None) -> bool:
    """Whether a folder of a topic-partition, or a segment, is of one of these topics; None: of any."""
    if topics is None:
        return True
    owner = topic_partition_of(what.path) if isinstance(what, SegmentPath) else what.topic_partition
    return owner is not None and owner.topic in topics


def _as_logs(remote: RemoteStoragePath) -> LogDirectoryPath | PartitionPath:
    """Remote storage as a log directory, or as a topic-partition's folder in one."""
    if [folder.path for folder in remote.folders] == [remote.path]:
        return open_partition(remote.path)
    view = Remote.at(remote.path).path
    return LogDirectoryPath(view, tuple(find_replicas(view)))


def find_logs(path: str | os.PathLike[str], omissions: Omissions | None = None) -> list[LogPath]:
    """Everything at a path: one thing, or the contents of a folder of log directories and remote storage.

    A folder that holds topic-partitions' folders, or the files that brokers leave in a log directory, is a
    log directory, whatever its name; another folder with the name of a topic-partition's folder is one of
    those. Names alone do not count: a broker must have left a file there (`holds_kafkas_files`).

    Args:
        omissions: takes the folders in a folder of log directories that cannot be listed; without it, the
            first of them raises an error.

    Raises: NotALog for anything else; OSError if nothing is there, or if it cannot be listed.
    """
    try:
        opened = open_location(path)
    except ValueError as error:
        raise NotALog(str(error)) from None
    with one_look(opened) as opened_path:
        return _find_logs(path, opened_path, omissions)


def _find_logs(path: str | os.PathLike[str], opened: Path, omissions: Omissions | None) -> list[LogPath]:
    if not opened.is_dir():
        opened.stat()
        base_offset = parse_segment_name(opened.name)
        if base_offset is None and (stored := as_segment(opened)) is not None:
            opened, base_offset = stored, parse_segment_name(stored.name)
        if base_offset is None and opened.name.endswith("-v1.log"):
            raise NotALog(
                f"{path}: a segment of Redpanda is read in its own folder, as orders/0_12/{opened.name}: "
                "its topic-partition and the segments before it are needed for Kafka's offsets"
            )
        if base_offset is None:
            what = archive_note(opened) or "not a segment: those are named like 00000000000000000000.log"
            raise NotALog(f"{path}: {what}")
        return [SegmentPath(opened, base_offset)]
    replicas = find_replicas(opened)
    if is_log_directory(opened):
        # a broker's folder holds no other log directory
        return [LogDirectoryPath(opened, tuple(replicas))]
    inside: list[LogPath] | None = None
    if any(holds_kafkas_files(replica.path) for replica in replicas):
        # a folder of log directories may look as if it were one: `kafka-logs-1`
        inside = _inside(opened, omissions, is_log_directory=True)
        inner = {location.path for location in inside}
        own_replicas = tuple(replica for replica in replicas if replica.path not in inner)
        return [LogDirectoryPath(opened, own_replicas), *inside]
    is_partition = parse_folder_name(resolved(opened).name) is not None
    if is_partition and holds_kafkas_files((partition := open_partition(opened)).path):
        return [partition]
    unlisted: OSError | None = None
    try:
        if tiered := tiered_folders(opened):
            return [RemoteStoragePath(opened, tuple(tiered))]
    except ReadFailed:
        raise
    except OSError as error:
        # no remote storage; among log directories that folder is one that cannot be listed
        unlisted = error
    inside = _inside(opened, omissions)
    if inside:
        return inside
    if unlisted is not None:
        raise unlisted
    if replicas or is_partition:
        names = ", ".join(replica.path.name for replica in replicas[:4]) or resolved(opened).name
        raise NotALog(f"{path}: no file of Kafka's is in {names}")
    if not isinstance(opened, StorePath) and (below := _below(opened)):
        raise NotALog(f"{path}: not a log directory; give {' or '.join(map(str, below))}")
    raise NotALog(
        f"{path}: neither a log directory, which holds folders named like orders-0, nor such a folder"
    )


def _below(path: Path) -> list[Path]:
    """Log directories two levels below a folder, for an error: at most three, in the first folders only."""
    folders: list[Path] = []
    for folder in sorted(_folders(path))[:_MOST_FOLDERS]:
        try:
            inside = [what.path for what in _inside(folder, Omissions())]
        except OSError:
            continue
        folders += inside if len(inside) == 1 else [folder] * bool(inside)
        if len(folders) >= _MOST_NAMED:
            break
    return folders[:_MOST_NAMED]


def _folders(path: Path) -> list[Path]:
    with entries(path) as listing:
        return [
            Path(entry.path)
            for entry in islice(listing, _MOST_FOLDERS)
            if entry.is_dir(follow_symlinks=False)
        ]


def _inside(path: Path, omissions: Omissions | None, *, is_log_directory: bool = False) -> list[LogPath]:
    """The log directories and the remote storage in a folder.

    Raises OSError for a folder that cannot be listed, or is a link to nothing, without `omissions`. In a log
    directory, what has the name of a topic-partition's folder is one, and raises the error when it is read.
    """
    folders: list[Path] = []
    unlisted: list[tuple[Path, OSError]] = []
    dangling: list[tuple[Path, OSError]] = []
    with entries(path) as listing:
        for entry in listing:
            try:
                if entry.is_dir():
                    folders.append(open_location(entry_path(entry, path)))
                elif not isinstance(entry, Listed) and not entry.is_file():
                    require_no_dangling_link(entry_path(entry))
            except OSError as error:
                dangling.append((entry_path(entry), error))
    locations: list[LogPath] = []
    for folder in sorted(folders):
        try:
            locations += _log_in(folder)
        except ReadFailed:
            # a server that does not answer, and not a folder that is closed to this user
            raise
        except OSError as error:
            unlisted.append((folder, error))
    # Many a folder has links that lead nowhere; among log directories one is a disk that is not mounted.
    for folder, reason in sorted([*unlisted, *(dangling if locations else ())], key=itemgetter(0)):
        # A disk may have the name of a topic-partition, as `broker-1`; so may the folder of any program.
        is_named = parse_folder_name(folder.name) is not None
        if folder.name not in _OF_FILE_SYSTEMS and not (is_named and (is_log_directory or not locations)):
            failed = ReadFailed.of(reason, source=str(folder))
            if omissions is None:
                raise failed from None
            omissions.failed(folder, failed)
    return locations


def _log_in(folder: Path) -> list[LogPath]:
    """The folder, if it is a log directory or remote storage; else nothing. Raises OSError."""
    replicas = find_replicas(folder)
    if is_log_directory(folder) or any(
        replica.kind is ReplicaKind.LIVE and holds_kafkas_files(replica.path) for replica in replicas
    ):
        return [LogDirectoryPath(folder, tuple(replicas))]
    if parse_folder_name(folder.name) is None and (tiered := tiered_folders(folder)):
        return [RemoteStoragePath(folder, tuple(tiered))]
    return []


def named_paths(path: str | os.PathLike[str]) -> list[Path]:
    """The paths that a glob (`*`, `?`, `[a-z]`, `{a,b}`) matches, sorted; none if nothing matches.

    An existing path is not a glob, and neither is one without such characters, whether it exists or not.
    Raises NotALog for one that stands for more than 10,000; OSError for a folder whose names have to be
    compared, and which cannot be listed.
    """
    opened = open_location(path)
    if not _PATTERN.search(str(opened)) or (not isinstance(opened, StorePath) and opened.exists()):
        return [opened]
    paths: set[Path] = set()
    for text in _without_braces(str(opened)):
        whole = open_location(text, context_of(opened) if isinstance(opened, Location) else None)
        # of a store the scheme and the bucket are no folders that can be listed
        first = len(whole.files.root) if isinstance(whole, StorePath) else int(whole.is_absolute())
        level = [
            whole.with_segments(*whole.parts[:first])
            if isinstance(whole, Location)
            else Path(*whole.parts[:first])
        ]
        for number, part in enumerate(whole.parts[first:], first + 1):
            if _PATTERN.search(part):
                level = [match for folder in level for match in _matches(folder, part)]
            else:
                is_last = number == len(whole.parts)
                level = [folder / part for folder in level if not is_last or _has(folder / part)]
        paths.update(level)
    return sorted(paths)


def _matches(folder: Path, pattern: str) -> Iterator[Path]:
    """What is in a folder and has such a name; nothing if it is none. Raises OSError."""
    try:
        with entries(folder) as listing:
            names = [entry.name for entry in listing if fnmatch.fnmatchcase(entry.name, pattern)]
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if pattern.startswith(".") or not name.startswith("."):
            yield folder / name


def _has(path: Path) -> bool:
    """Whether anything has the name, be it a link to nothing. Raises OSError where that cannot be seen."""
    try:
        if isinstance(path, StorePath):
            return path.exists()
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _without_braces(text: str) -> list[str]:
    """A glob of Hadoop's, with `{a,b}`, as globs without them. Raises NotALog for more than 10,000."""
    texts = [text]
    # the innermost first, so that all of them have the same braces
    while (match := _BRACES.search(texts[0])) is not None:
        count = match[1].count(",") + 1
        if len(texts) * count > _MOST_GLOBS:
            raise NotALog(f"{text}: it stands for more than {_MOST_GLOBS:,} paths")
        parts = [(pattern, _BRACES.search(pattern)) for pattern in texts]
        texts = [
            f"{pattern[: brace.start()]}{part}{pattern[brace.end() :]}"
            for pattern, brace in parts
            if brace is not None
            for part in brace[1].split(",")
        ]
    return texts


_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_GLOBS = 10_000
