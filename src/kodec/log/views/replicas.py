"""The topic-partitions under one or several log directories: the disks of a broker, or of many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import UUID

from kodec.log.batches.records import Limits
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import TopicPartition
from kodec.log.files.paths import PartitionPath
from kodec.log.omissions import Omissions
from kodec.log.remote.resolve import LogDirectoryPath, NotALog, resolve
from kodec.runtime.errors import FormatError
from kodec.runtime.near import meant

__all__ = ["Replicas"]


class Replicas:
    """The live replicas under log directories; if a topic-partition is in several, the newest one.

    That is the one with the latest leader epoch, and of these the longest. Files are opened
    on demand.

    Attributes:
        directories: one for each log directory.
        omissions: what the answers that are made of them lack.

    Raises: NotALog for a path that is not a log directory; OSError.
    """

    def __init__(self, *logs: str | os.PathLike[str], limits: Limits = Limits()) -> None:
        if not logs:
            raise ValueError("give a log directory")
        for path in logs:
            resolved = resolve(path)
            if isinstance(resolved, PartitionPath):
                raise NotALog(
                    f"{path}: the folder of a topic-partition; give the log directory, {resolved.path.parent}"
                )
            if not isinstance(resolved, LogDirectoryPath):
                raise NotALog(f"{path}: not a log directory, which holds folders named like orders-0")
        self.directories = [LogDirectory(path, limits=limits) for path in logs]
        self.omissions = Omissions()
        for directory in self.directories:
            self.omissions.extend(directory.left_out)
        self._names: dict[UUID, str] | None = None

    @property
    def shown(self) -> str:
        """The paths, for people."""
        return ", ".join(str(root.path) for directory in self.directories for root in directory.roots)

    @property
    def topic_partitions(self) -> list[TopicPartition]:
        """By topic and partition, each once."""
        return sorted(
            {
                topic_partition
                for directory in self.directories
                for topic_partition in directory.topic_partitions
            }
        )

    def __iter__(self) -> Iterator[PartitionLog]:
        for topic_partition in self.topic_partitions:
            log = self.log(topic_partition)
            assert log is not None
            yield log

    def log(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """The log of the newest replica; None if there is none."""
        logs = [
            directory.partition(*topic_partition)
            for directory in self.directories
            if topic_partition in directory
        ]
        return logs[0] if len(logs) == 1 else max(logs, key=self._newness, default=None)

    def of_topic(self, topic: str) -> list[PartitionLog]:
        """The logs of a topic, by partition. Raises NotALog if there is none."""
        partitions = [
            topic_partition for topic_partition in self.topic_partitions if topic_partition.topic == topic
        ]
        if not partitions:
            near = meant(topic, {topic_partition.topic for topic_partition in self.topic_partitions})
            raise NotALog(f"{self.shown}: no topic {topic} in it{near}")
        return [log for topic_partition in partitions if (log := self.log(topic_partition)) is not None]

    def names(self) -> dict[UUID, str]:
        """The available topics by id, from `partition.metadata` (since 2.8)."""
        if self._names is None:
            self._names = {}
            for log in self:
                identity = topic_id(log, self.omissions)
                if identity is not None:
                    self._names[identity] = log.topic_partition.topic
        return self._names

    def _newness(self, log: PartitionLog) -> tuple[int, int]:
        """The sort key that finds the newer of two replicas; one that cannot be read counts as old."""
        try:
            head = None if not log.segments else log.segments[-1].last_header()
            epochs = [entry.epoch for entry in log.leader_epochs() if entry.start_offset <= log.end_offset]
            epoch = max([*epochs[-1:], -1 if head is None else head.partition_leader_epoch])
            return epoch, log.end_offset
        except (OSError, FormatError) as error:
            self.omissions.failed(log.path, error)
            return -2, -1
        finally:
            log.close()


def topic_id(log: PartitionLog, omissions: Omissions) -> UUID | None:
    """The id of a log's topic; None if no file has it, and, with a problem, if that is unreadable."""
    try:
        metadata = log.metadata()
    except (OSError, FormatError) as error:
        omissions.failed(log.path, error)
        return None
    return None if metadata is None else metadata.topic_id
