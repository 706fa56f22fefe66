"""The topic-partitions that the paths on a command line select."""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from pathlib import Path

from kodec.cli.outcome import Missing
from kodec.cli.parser import Argument, BadParameter, Option
from kodec.log.files.listing import SegmentFiles, TopicPartition, list_partition
from kodec.log.files.paths import PartitionPath, resolved
from kodec.log.remote.resolve import LogDirectoryPath, SegmentPath, is_of_topics, resolve
from kodec.runtime.near import meant
from kodec.stores.storage import archive_note

__all__ = [
    "DIRECTORIES",
    "ISOLATION",
    "LOGS",
    "ON_ERROR",
    "PARTITION",
    "PARTITIONS",
    "READ_DIRECTORIES",
    "READ_LOGS",
    "READ_PARTITIONS",
    "TOPICS",
    "IsolationChoice",
    "OnErrorChoice",
    "folders",
    "logs_at",
    "refuse_archives",
    "replicas_at",
    "size_of_logs",
]

DIRECTORIES = Argument(
    metavar="DIR...", exists=True, file_okay=False, help="log.dirs folders, or topic-partitions' folders."
)
READ_DIRECTORIES = Argument(
    metavar="DIR...",
    exists=True,
    file_okay=False,
    help="log.dirs folders, or topic-partitions' folders.",
    urls=True,
)
LOGS = Argument(
    metavar="PATH...",
    exists=True,
    help="log.dirs folders, topic-partitions' folders, or segments (.log).",
)
READ_LOGS = Argument(
    metavar="PATH...",
    exists=True,
    help="log.dirs folders, topic-partitions' folders, or segments (.log).",
    urls=True,
)
PARTITIONS = Argument(
    metavar="PATH...",
    exists=True,
    file_okay=False,
    help="Topic-partitions' folders, or log.dirs folders with --topic.",
)
READ_PARTITIONS = Argument(
    metavar="PATH...",
    exists=True,
    file_okay=False,
    help="Topic-partitions' folders, or log.dirs folders with --topic.",
    urls=True,
)
ISOLATION = Option("--isolation", help="read_committed: leave out aborted and undecided records.")
ON_ERROR = Option(
    "--on-error",
    help="At what is damaged or missing: stop (raise), or go on and report it (skip); skip-unreachable: also "
    "where something cannot be read.",
)
TOPICS = Option("--topic", help="Only this topic; repeatable.")
PARTITION = Option("--partition", help="Only this partition; repeatable.", min=0)


class IsolationChoice(enum.Enum):
    """`kodec.log.directories.record_filter.Isolation` for the command line."""

    read_uncommitted = "read_uncommitted"
    read_committed = "read_committed"


class OnErrorChoice(enum.Enum):
    """`kodec.log.batches.options.OnError` for the command line."""

    stop = "raise"
    skip = "skip"
    skip_unreachable = "skip-unreachable"


def folders(paths: list[Path], topics: list[str]) -> list[Path]:
    """Folders of topic-partitions as given; of log directories, those of the topics.

    Raises: Missing; NotALog, OSError; BadParameter if no topic is given.
    """
    selected = []
    for path in paths:
        what = resolve(path)
        if isinstance(what, PartitionPath):
            selected.append(path)
            continue
        assert not isinstance(what, SegmentPath)
        partitions = [partition for partition in what.partitions if partition.topic_partition.topic in topics]
        for topic in topics:
            if not any(partition.topic_partition.topic == topic for partition in partitions):
                known = {partition.topic_partition.topic for partition in what.partitions}
                raise Missing(f"{path} has no topic {topic}{meant(topic, known)}")
        if not topics:
            raise BadParameter(f"{path} is a log directory: choose a topic of it with --topic")
        selected += [partition.path for partition in partitions]
    return selected


def replicas_at(paths: list[Path], topics: list[str]) -> dict[TopicPartition, list[Path]]:
    """Folders of topic-partitions at paths, in lists of replicas; without topics, of all.

    Raises: Missing for a topic that no path has; NotALog, OSError.
    """
    replica_folders: dict[TopicPartition, list[Path]] = {}
    resolved_paths: set[Path] = set()
    for path in paths:
        what = resolve(path)
        if isinstance(what, PartitionPath):
            replicas = [(what.topic_partition, path)]
        else:
            assert not isinstance(what, SegmentPath)
            replicas = [
                (partition.topic_partition, partition.path)
                for partition in what.partitions
                if not topics or partition.topic_partition.topic in topics
            ]
        for owner, folder in replicas:
            if (real_path := resolved(folder)) not in resolved_paths:
                resolved_paths.add(real_path)
                replica_folders.setdefault(owner, []).append(folder)
    for topic in topics:
        if not any(owner.topic == topic for owner in replica_folders):
            raise Missing(f"{', '.join(map(str, paths))}: no topic {topic}")
    return dict(sorted(replica_folders.items()))


def refuse_archives(paths: Sequence[Path]) -> None:
    """Raise BadParameter for a tarball or a zip file, whose bytes would all be damage."""
    for path in paths:
        if (note := archive_note(path)) and path.is_file():
            raise BadParameter(f"{path} is {note}")


def size_of_logs(folder: Path) -> int:
    """The bytes of a topic-partition's logs; 0 if they cannot be listed."""
    return sum(segment.size for segment in _segments(folder))


def _segments(folder: Path) -> list[SegmentFiles]:
    try:
        return list_partition(folder).segments
    except OSError:
        # the reader reports it and continues with the next topic-partition
        return []


def logs_at(path: Path, topics: Collection[str] | None = None) -> tuple[int, int]:
    """The number of segments at a path and their bytes, as far as they can be listed; of these topics.

    Raises NotALog; OSError for the path itself.
    """
    what = resolve(path)
    if isinstance(what, LogDirectoryPath):
        folders = [
            partition
            for partition in what.partitions
            if not topics or partition.topic_partition.topic in topics
        ]
        segments = [segment for folder in folders for segment in _segments(folder.path)]
    elif not is_of_topics(what, topics or None):
        return 0, 0
    elif isinstance(what, SegmentPath):
        return 1, path.stat().st_size
    else:
        segments = _segments(path)
    return len(segments), sum(segment.size for segment in segments)
