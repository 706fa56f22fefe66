"""Lists the files of a Kafka log directory by topic-partition; opens none of them.

Follows `org.apache.kafka.storage.internals.log.UnifiedLog.parseTopicPartitionName` for folders and
`LogFileUtils` for files.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

from kodec.log.batches.format import KAFKA
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.files.descriptors import require_no_dangling_link
from kodec.log.files.names import INDEXES, OFFSET
from kodec.log.omissions import Cause, Omission
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import ReadFailed
from kodec.stores.storage import Entry, Listed, StorePath, entries, entry_path, path_of

__all__ = [
    "FolderName",
    "Leftover",
    "LeftoverKind",
    "PartitionFiles",
    "PartitionFolder",
    "ReplicaFolder",
    "ReplicaKind",
    "SegmentFiles",
    "TopicPartition",
    "entries_of",
    "find_partitions",
    "find_replicas",
    "is_segment_or_left",
    "left_out_of",
    "list_partition",
    "parse_file_name",
    "parse_folder_name",
    "parse_partition_dir",
    "parse_segment_name",
    "parse_snapshot_name",
    "segment_offsets",
    "topic_partition_of",
]

_MAX_INT32 = 2**31 - 1
_MAX_INT64 = 2**63 - 1

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}")
_LOG = KAFKA.files.log
_OFFSET = re.compile(OFFSET)
_SEGMENT = re.compile(rf"({OFFSET})\.{_LOG}")

_QUORUM_SNAPSHOT = re.compile(rf"({OFFSET})-([0-9]{{10}})\.checkpoint")
# Deleted, moving and stray replicas end in one of these, after a dot and 32 hex digits.
_NOT_LIVE = ("-delete", "-future", "-stray")
# What belongs to a segment, and what belongs to an offset.
_SEGMENT_OR_LEFT = re.compile(rf"({OFFSET})\.{_LOG}(\.({'|'.join(KAFKA.files.leftovers)}))?")
_FILE = re.compile(rf"({OFFSET})\.({_LOG}|{'|'.join(INDEXES)}|{KAFKA.files.snapshot})")


class TopicPartition(NamedTuple):
    """A topic's name and a partition's number; sorts by name, then by number.

    Attributes:
        topic: its name.
        partition: its number.

    Example:
        >>> import kodec
        >>> kodec.TopicPartition("orders", 0).topic, str(kodec.TopicPartition("orders", 0))
        ('orders', 'orders-0')
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def is_internal(self) -> bool:
        """Whether the topic is one of Kafka's own, by the two leading underscores of its name."""
        return self.topic.startswith("__")


class PartitionFolder(NamedTuple):
    """The folder that holds one live replica of a topic-partition."""

    topic_partition: TopicPartition
    path: Path


class ReplicaKind(enum.Enum):
    """The kind of a replica's folder; the value is the end of its name."""

    LIVE = ""
    DELETED = "delete"
    FUTURE = "future"
    STRAY = "stray"


class ReplicaFolder(NamedTuple):
    """A replica's folder of any kind; see `FolderName` for a topic that may be cut short."""

    topic_partition: TopicPartition
    kind: ReplicaKind
    path: Path


class FolderName(NamedTuple):
    """The contents of the name of a replica's folder.

    The topic of a DELETED or STRAY replica may be cut short, so that the whole name fits in 255 characters;
    `id` is "" for a LIVE one.
    """

    topic_partition: TopicPartition
    kind: ReplicaKind
    id: str


class LeftoverKind(enum.Enum):
    """Why a file of a segment is not part of the log; the value is the end of its name.

    DELETED: marked for deletion. CLEANED: the output of an unfinished compaction or split.
    SWAP: a finished replacement that is not yet in place, which the next start completes.
    """

    DELETED = "deleted"
    CLEANED = "cleaned"
    SWAP = "swap"


class Leftover(NamedTuple):
    """A file that is not part of the log; `base_offset` is None if its name does not start with one."""

    path: Path
    kind: LeftoverKind
    base_offset: int | None


@dataclass(slots=True)
class SegmentFiles:
    """The files of one segment, by their names: `size` is that of the log in bytes, None: missing."""

    base_offset: int
    log: Path
    size: int
    index: Path | None = None
    timeindex: Path | None = None
    txnindex: Path | None = None

    @classmethod
    def beside(cls, base_offset: int, log: Path) -> Self:
        """The log, of any name, with the indexes of that name next to it. Raises OSError."""
        files = cls(base_offset, log, log.stat().st_size)
        for kind in INDEXES:
            index = log.with_suffix(f".{kind}")
            setattr(files, kind, index if index.is_file() else None)
        return files

    @property
    def paths(self) -> list[Path]:
        """The existing files, the log first."""
        paths = (getattr(self, kind) for kind in INDEXES)
        return [self.log, *(path for path in paths if path is not None)]


@dataclass(slots=True)
class PartitionFiles:
    """The contents of a topic-partition's folder.

    Attributes:
        segments: by ascending base offset.
        snapshots: producer snapshots, (offset, path) by ascending offset.
        leftovers: files that are deleted, incomplete or not yet in place, by name.
        orphans: index files without a log, by name. A broker deletes them when it starts.
        irregular: folders, pipes, sockets, devices or dangling links with the name of a file, by name.
            A broker ignores them; readers must not, because of the name.
    """

    segments: list[SegmentFiles] = field(default_factory=list)
    snapshots: list[tuple[int, Path]] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    orphans: list[Path] = field(default_factory=list)
    irregular: list[Path] = field(default_factory=list)


def parse_folder_name(name: str) -> FolderName | None:
    """Read the name of a replica's folder of any kind; None for anything else."""
    live = parse_partition_dir(name)
    if live is not None:
        return FolderName(live, ReplicaKind.LIVE, "")
    if not name.endswith(_NOT_LIVE):
        return None
    stem, _, kind = name.rpartition("-")
    folder, dot, unique = stem.rpartition(".")
    topic_partition = parse_partition_dir(folder) if dot and unique else None
    return None if topic_partition is None else FolderName(topic_partition, ReplicaKind(kind), unique)


def topic_partition_of(path: str | os.PathLike[str]) -> TopicPartition | None:
    """The topic-partition of a file in a replica's folder, by the folder's name; None in another folder."""
    folder = path_of(path).absolute().parent
    name = parse_folder_name(folder.name) or parse_folder_name(folder.resolve().name)
    return None if name is None else name.topic_partition


def parse_partition_dir(name: str) -> TopicPartition | None:
    """Read the name of a folder in a log directory.

    Returns: the topic-partition of a live replica (``orders-0``); None for a replica that is deleted
    (``orders-0.<id>-delete``), moving (``-future``) or stray (``-stray``), and for anything else.
    """
    if name.endswith(_NOT_LIVE):
        return None
    topic, dash, partition = name.rpartition("-")
    if not dash or not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        return None
    if not _PARTITION.fullmatch(partition) or int(partition) > _MAX_INT32:
        return None
    return TopicPartition(topic, int(partition))


def parse_file_name(name: str) -> tuple[int, str] | None:
    """The offset and the kind in the name of a segment's file or a snapshot; None for any other name."""
    match = _FILE.fullmatch(name)
    if match is None or int(match[1]) > _MAX_INT64:
        return None
    return int(match[1]), match[2]


def parse_segment_name(name: str) -> int | None:
    """The base offset in ``<20 digits>.log``; None for any other name, ``<20 digits>.log.deleted`` too."""
    match = _SEGMENT.fullmatch(name)
    if match is None or int(match[1]) > _MAX_INT64:
        return None
    return int(match[1])


def parse_snapshot_name(name: str) -> tuple[int, int] | None:
    """The end offset and the epoch in ``<20 digits>-<10 digits>.checkpoint``, a KRaft snapshot's name."""
    match = _QUORUM_SNAPSHOT.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]))


def is_segment_or_left(name: str) -> bool:
    """Whether a name is that of a segment's log, even one that is not, or not yet, part of a log."""
    return _SEGMENT_OR_LEFT.fullmatch(name) is not None


def segment_offsets(path: Path | None) -> range:
    """The offsets that the segment with this name can have: from its base offset to the next segment's.

    All offsets, for any other name.
    """
    everything = range(_MAX_INT64)
    match = None if path is None else _SEGMENT_OR_LEFT.fullmatch(path.name)
    if path is None or match is None or (base := int(match[1])) > _MAX_INT64:
        return everything
    try:
        with entries(path.absolute().parent) as listing:
            names = [entry.name for entry in listing]
    except ReadFailed:
        raise
    except OSError:
        names = []
    later = [offset for name in names if (offset := parse_segment_name(name)) is not None and offset > base]
    return range(base, min([*later, base + MAX_RELATIVE + 1, _MAX_INT64]))


def list_partition(folder: str | os.PathLike[str]) -> PartitionFiles:
    """List a topic-partition's folder: names, and the sizes of logs; opens nothing.

    Raises: OSError if the folder cannot be listed; ReadFailed if something else has its name. A log that
    disappears meanwhile, for example because of retention, is left out.
    """
    files = PartitionFiles()
    logs: dict[int, SegmentFiles] = {}
    beside: list[tuple[int, str, Path]] = []
    with entries_of(path_of(folder)) as listing:
        for entry in listing:
            parsed = parse_file_name(entry.name)
            if parsed is None:
                leftover = _leftover(entry)
                if leftover is not None:
                    files.leftovers.append(leftover)
                continue
            offset, kind = parsed
            try:
                if not _is_file(entry):
                    files.irregular.append(entry_path(entry))
                    continue
                if kind == KAFKA.files.log:
                    logs[offset] = SegmentFiles(offset, entry_path(entry), entry.stat().st_size)
                    continue
            except FileNotFoundError:
                continue
            if kind == KAFKA.files.snapshot:
                files.snapshots.append((offset, entry_path(entry)))
            else:
                beside.append((offset, kind, entry_path(entry)))
    for offset, kind, path in beside:
        if offset in logs:
            setattr(logs[offset], kind, path)
        else:
            files.orphans.append(path)
    files.segments = [logs[offset] for offset in sorted(logs)]
    for after, segment in pairwise(reversed(files.segments)):
        if isinstance(segment.log, StorePath) and isinstance(after.log, StorePath):
            segment.log = segment.log.followed_by(after.log)
    files.snapshots.sort()
    files.leftovers.sort(key=lambda leftover: leftover.path)
    files.orphans.sort()
    files.irregular.sort()
    return files


@contextmanager
def entries_of(folder: Path) -> Iterator[Iterator[Entry]]:
    """What is in a folder. Raises OSError; ReadFailed for a file or a dangling link in its place."""
    try:
        listing = entries(folder)
    except FileNotFoundError:
        require_no_dangling_link(folder)
        raise
    except NotADirectoryError as error:
        text = "it has the name of a topic-partition's folder, and is none"
        raise ReadFailed(text, error.errno, 0, str(folder)) from None
    with listing as listed:
        yield listed


def _is_file(entry: Entry) -> bool:
    """Whether there is a regular file. Raises FileNotFoundError if nothing has the name any more."""
    try:
        if entry.is_file():
            return True
        entry.stat()
    except FileNotFoundError:
        # of a dangling link the name is there
        entry.stat(follow_symlinks=False)
    except OSError:
        # a loop of links, or a link to where this user may not look: reading it raises the error
        pass
    return False


def _leftover(entry: Entry) -> Leftover | None:
    stem, dot, end = entry.name.rpartition(".")
    if not dot or end not in _LEFTOVERS or not entry.is_file():
        return None
    offset = _OFFSET.match(stem)
    return Leftover(entry_path(entry), LeftoverKind(end), int(offset[0]) if offset else None)


_LEFTOVERS = frozenset(kind.value for kind in LeftoverKind)


def find_replicas(root: str | os.PathLike[str]) -> list[ReplicaFolder]:
    """List the replicas of any kind in a log directory, by topic and partition.

    All that has the name of a replica's folder: what is none, as a file or a link to a disk that is not
    mounted, raises the error when it is listed.

    Raises: OSError if the directory cannot be listed.
    """
    replicas = []
    with entries(path_of(root)) as listing:
        for entry in listing:
            name = parse_folder_name(entry.name)
            if name is not None and _exists(entry):
                replicas.append(ReplicaFolder(name.topic_partition, name.kind, entry_path(entry)))
    return sorted(replicas, key=lambda replica: (replica.topic_partition, replica.kind.value, replica.path))


def _exists(entry: Entry) -> bool:
    """Whether anything still has the name, be it a link to nothing."""
    if isinstance(entry, Listed):
        # a store has no links, and each question is a request
        return True
    try:
        entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        # listing it raises the error, and the others are found
        pass
    return True


def left_out_of(root: str | os.PathLike[str], topics: Collection[str] | None = None) -> list[Omission]:
    """What in a log directory is read by no reader, by path.

    These are replicas that are not live, and folders that hold segments and whose names are not those of
    topic-partitions; in a point of a backup, those that were in the log directory. With `topics`, only those
    whose names begin with one of them.

    Raises: OSError if the directory cannot be listed.
    """
    # what a backup left out is not there, and in its account
    folder = path_of(root)
    omissions = list(folder.files.left_out(folder)) if isinstance(folder, StorePath) else []
    with entries(folder) as listing:
        for entry in listing:
            name = parse_folder_name(entry.name)
            path = entry_path(entry)
            if name is None and (segments := _segments_in(entry)):
                counted = f"{segments} segment{'s' * (segments != 1)}"
                text = f"not read: it holds {counted}, and has not the name of a topic-partition"
                omissions.append(Omission(Cause.UNKNOWN, path, text))
            elif name is not None and name.kind is not ReplicaKind.LIVE and _exists(entry):
                text = f"{name.kind.value} replica, not read: it is not part of a log in use"
                omissions.append(Omission(Cause.ABSENT, path, text))
    if topics is not None:
        omissions = [omission for omission in omissions if omission.path.name.startswith(tuple(topics))]
    return sorted(omissions, key=lambda omission: str(omission.path))


def _segments_in(entry: Entry) -> int:
    """How many files with the names of segments are in a folder; 0 if it cannot be listed."""
    try:
        if not entry.is_dir():
            return 0
        with entries(entry_path(entry)) as listing:
            return sum(parse_segment_name(item.name) is not None for item in listing)
    except ReadFailed:
        raise
    except OSError:
        # no name says that it belongs to a log: `lost+found`
        return 0


def find_partitions(root: str | os.PathLike[str]) -> list[PartitionFolder]:
    """List the folders of live replicas in a log directory, an entry of ``log.dirs``, by topic and partition.

    Raises: OSError if the directory cannot be listed.
    """
    live = (replica for replica in find_replicas(root) if replica.kind is ReplicaKind.LIVE)
    return [PartitionFolder(replica.topic_partition, replica.path) for replica in live]
