"""Tells which files of a Kafka log directory hold which topic-partition's records; opens none of them.

Follows `org.apache.kafka.storage.internals.log.UnifiedLog.parseTopicPartitionName` for folders and
`LogFileUtils` for files.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "PartitionFolder",
    "Segment",
    "TopicPartition",
    "find_partitions",
    "parse_partition_dir",
    "parse_segment_name",
    "segments",
]

_MAX_INT32 = 2**31 - 1
_MAX_INT64 = 2**63 - 1

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}")
_SEGMENT = re.compile(r"([0-9]{20})\.log")

# Deleted, moving and stray replicas end in one of these, behind a dot and 32 hex digits.
_NOT_LIVE = ("-delete", "-future", "-stray")


class TopicPartition(NamedTuple):
    """A topic's name and a partition's number; sorts by name, then by number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def is_internal(self) -> bool:
        """Whether the topic is one of Kafka's own, as its name's two leading underscores say."""
        return self.topic.startswith("__")


class PartitionFolder(NamedTuple):
    """The folder that holds one live replica of a topic-partition."""

    topic_partition: TopicPartition
    path: Path


@dataclass(frozen=True, slots=True)
class Segment:
    """One ``.log`` file: its path, the offset in its name, and its size in bytes when it was listed."""

    path: Path
    base_offset: int
    size: int


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


def parse_segment_name(name: str) -> int | None:
    """The base offset in ``<20 digits>.log``; None for any other name, ``<20 digits>.log.deleted`` too."""
    match = _SEGMENT.fullmatch(name)
    if match is None or int(match[1]) > _MAX_INT64:
        return None
    return int(match[1])


def segments(folder: str | os.PathLike[str]) -> list[Segment]:
    """List the segments of a topic-partition's folder, by ascending base offset.

    Raises: OSError if the folder cannot be listed. A file that disappears meanwhile, as retention
    makes them, is left out.
    """
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            base_offset = parse_segment_name(entry.name)
            if base_offset is None:
                continue
            try:
                if entry.is_file():
                    found.append(Segment(Path(entry.path), base_offset, entry.stat().st_size))
            except FileNotFoundError:
                continue
    return sorted(found, key=lambda segment: segment.base_offset)


def find_partitions(root: str | os.PathLike[str]) -> list[PartitionFolder]:
    """List the folders of live replicas in a log directory, an entry of ``log.dirs``, by topic and partition.

    Raises: OSError if the directory cannot be listed.
    """
    found = []
    with os.scandir(root) as entries:
        for entry in entries:
            topic_partition = parse_partition_dir(entry.name)
            if topic_partition is not None and entry.is_dir():
                found.append(PartitionFolder(topic_partition, Path(entry.path)))
    return sorted(found)
