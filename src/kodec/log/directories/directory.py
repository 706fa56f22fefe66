"""A broker's log directories: their topic-partitions, and the files next to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kodec.log.batches.records import Limits, Record
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.files.checkpoints import (
    CleanShutdown,
    MetaProperties,
    read_clean_shutdown,
    read_meta_properties,
    read_offsets,
)
from kodec.log.files.listing import (
    ReplicaFolder,
    ReplicaKind,
    TopicPartition,
    find_replicas,
    left_out_of,
    list_partition,
    parse_folder_name,
)
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import resolved
from kodec.log.omissions import Omission, Omissions
from kodec.log.remote.opening import open_location
from kodec.log.selection import Partitions, Selection, Topics
from kodec.runtime.cached import cached_property
from kodec.runtime.errors import ArgumentError, FormatError, NoSuchPartition, Unsupported
from kodec.runtime.near import meant
from kodec.runtime.shown import table
from kodec.stores.storage import if_there

if TYPE_CHECKING:
    from kodec.log.directories.search_report import SearchReport

__all__ = ["LogDirectory", "LogRoot"]


class LogRoot:
    """One entry of `log.dirs`: the folders of its replicas and its other files, each read on demand.

    A missing checkpoint is empty. Reading one raises OSError, or Malformed with file and line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = open_location(path)

    def __repr__(self) -> str:
        return f"<LogRoot {self.path}>"

    @cached_property
    def replicas(self) -> list[ReplicaFolder]:
        """The replicas' folders, by topic and partition.

        Raises: OSError if the folder cannot be listed; ArgumentError for a topic-partition's folder; NotALog
        for a folder of log directories.
        """
        folders = find_replicas(self.path)
        if not folders and (tier := _as_logs(self.path)) is not None:
            self.path, folders = tier, find_replicas(tier)
        if not folders and parse_folder_name(resolved(self.path).name) and list_partition(self.path).segments:
            raise ArgumentError(
                f"{self.path} is a topic-partition's folder, which kodec.PartitionLog reads; its log "
                f"directory is {resolved(self.path).parent}"
            )
        return folders

    def _offsets(self, name: str) -> dict[TopicPartition, int]:
        path = self.path / name
        return if_there(read_offsets, path, {})

    def recovery_points(self) -> dict[TopicPartition, int]:
        """The recovery points: the first offset of each topic-partition that may not be durable yet."""
        return self._offsets(RECOVERY_POINTS)

    @cached_property
    def log_start_offsets(self) -> dict[TopicPartition, int]:
        """The start offsets of logs that do not start with their first segment."""
        return self._offsets(LOG_START_OFFSETS)

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """The offset up to which each topic-partition was replicated."""
        return self._offsets(HIGH_WATERMARKS)

    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        """The first offset of each compacted topic-partition that is not yet compacted."""
        return self._offsets(CLEANER_OFFSETS)

    def meta_properties(self) -> MetaProperties | None:
        """The contents of `meta.properties`; None if missing."""
        path = self.path / META_PROPERTIES
        return if_there(read_meta_properties, path, None)

    def clean_shutdown(self) -> CleanShutdown | None:
        """The clean-shutdown marker of the broker; None if missing: the broker runs or was killed."""
        path = self.path / CLEAN_SHUTDOWN
        return if_there(read_clean_shutdown, path, None)


def _as_logs(path: Path) -> Path | None:
    """Remote storage as a log directory; None for a folder without logs, or an empty log directory.

    Raises NotALog for a folder of log directories, OSError.
    """
    from kodec.log.remote.resolve import LogDirectoryPath, NotALog, find_logs, resolve

    try:
        find_logs(path)
    except NotALog:
        return None
    what = resolve(path)
    return what.path if isinstance(what, LogDirectoryPath) and what.path != path else None


class LogDirectory:
    """The log directories of a broker: all topic-partitions under one or several entries of `log.dirs`.

    Only the folders are opened until data is requested; never writes.

    Args:
        roots: one or several entries of a broker's `log.dirs`, as paths or as URLs of an object store.
        limits: how much may be allocated for one batch.

    Raises: OSError for a folder that cannot be listed; ValueError if a live topic-partition is in two.

    Example:
        >>> import kodec
        >>> logs = kodec.LogDirectory("/data/kafka-logs")
        >>> len(logs.topic_partitions)
        28
        >>> logs.partition("orders", 0).end_offset
        421
    """

    def __init__(
        self,
        *roots: str | os.PathLike[str],
        limits: Limits = Limits(),
    ) -> None:
        if not roots:
            raise ArgumentError("give a log directory")
        self.roots = [LogRoot(root) for root in roots]
        self.limits = limits
        self._live: dict[TopicPartition, tuple[LogRoot, ReplicaFolder]] = {}
        for root in self.roots:
            for replica in root.replicas:
                if replica.kind is not ReplicaKind.LIVE:
                    continue
                if (other := self._live.get(replica.topic_partition)) is not None:
                    raise ValueError(
                        f"{replica.topic_partition} is in both {other[1].path} and {replica.path}"
                    )
                self._live[replica.topic_partition] = root, replica
        self._logs: dict[TopicPartition, PartitionLog] = {}

    def require_starts(
        self,
        omissions: Omissions | None = None,
        caught: tuple[type[Exception], ...] = (FormatError, OSError),
    ) -> None:
        """Read the start offsets of the logs, which are else read with the first of them.

        Args:
            omissions: takes a checkpoint that cannot be read. Then each log begins with its first segment, as
                for a broker, and what was deleted below its start offset is read as well.
            caught: the errors for that.

        Raises: OSError, FormatError.
        """
        for root in self.roots:
            try:
                root.log_start_offsets  # noqa: B018  # keeps them
            except caught as error:
                if omissions is None:
                    raise
                assert isinstance(error, (FormatError, OSError))
                omissions.failed(root.path / LOG_START_OFFSETS, error)
                root.log_start_offsets = {}

    def __repr__(self) -> str:
        count = len(self._live)
        where = ", ".join(str(root.path) for root in self.roots)
        return f"<LogDirectory {where}: {count} topic-partition{'s' * (count != 1)}>"

    def _repr_html_(self) -> str:
        partitions = self.topic_partitions
        rows = ((*owner, self._live[owner][1].path) for owner in partitions)
        return table(("topic", "partition", "path"), rows, repr(self), len(partitions))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        for log in self._logs.values():
            log.close()

    @property
    def topic_partitions(self) -> list[TopicPartition]:
        """The topic-partitions with a live replica, by topic and partition."""
        return sorted(self._live)

    def report_left_out(self, topics: Topics, omissions: Omissions, *, raises: bool = False) -> None:
        """Report what is in the log directories and is read by no reader, if it may be of these topics.

        Args:
            topics: None for all.
            omissions: takes it.
            raises: raise an error for the first loss instead.

        Raises: Unsupported for a folder that holds segments and has not the name of a topic-partition;
            OSError.
        """
        selected = Selection.of(topics).topics
        for omission in (omission for root in self.roots for omission in left_out_of(root.path, selected)):
            if omission.cause.is_loss and raises:
                have = omission.path.name
                error = Unsupported("name", omission.reason, at=0, need="a name like orders-0", have=have)
                raise error.in_source(str(omission.path))
            omissions.add(omission)

    @property
    def left_out(self) -> list[Omission]:
        """What is in the log directories and is read by no reader: see `left_out_of`. Raises OSError."""
        return [omission for root in self.roots for omission in left_out_of(root.path)]

    @property
    def not_live(self) -> list[ReplicaFolder]:
        """Replicas that are deleted, moving in from another directory, or stray."""
        return [
            replica
            for root in self.roots
            for replica in root.replicas
            if replica.kind is not ReplicaKind.LIVE
        ]

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, topic_partition: object) -> bool:
        return topic_partition in self._live

    def __iter__(self) -> Iterator[PartitionLog]:
        for topic, partition in self.topic_partitions:
            yield self.partition(topic, partition)

    def _missing(self, key: TopicPartition) -> str:
        """The error text for an unknown topic-partition."""
        if not isinstance(key.partition, int):
            return f"partition {key.partition!r}: expected a number, as in partition({key.topic!r}, 0)"
        numbers = [owner.partition for owner in self._live if owner.topic == key.topic]
        if numbers:
            return f"{key}: {key.topic} has partitions {', '.join(map(str, sorted(numbers)))}"
        topics = sorted({owner.topic for owner in self._live})
        shown = ", ".join(topics[:10]) + (f" and {len(topics) - 10} more" if len(topics) > 10 else "")
        where = ", ".join(str(root.path) for root in self.roots)
        near = meant(key.topic, topics, f"topics: {shown or 'none'}")
        return f"{key}: no topic {key.topic} in {where}{near}"

    def partition(self, topic: str, partition: int) -> PartitionLog:
        """The log of a topic-partition. Raises NoSuchPartition, a KeyError, if it has no live replica."""
        key = TopicPartition(topic, partition)
        opened = self._logs.get(key)
        if opened is None:
            if key not in self._live:
                raise NoSuchPartition(self._missing(key))
            root, replica = self._live[key]
            start = root.log_start_offsets.get(key, 0)
            log = PartitionLog(replica.path, log_start_offset=start, limits=self.limits)
            # One for all threads, created by the first.
            opened = self._logs.setdefault(key, log)
        return opened

    def find_records(
        self,
        wanted: RecordFilter,
        *,
        topics: Topics = None,
        partitions: Partitions = None,
        first: int | None = None,
        last: int | None = None,
        threads: int | None = None,
        report: SearchReport | None = None,
        omissions: Omissions | None = None,
    ) -> Iterator[Record]:
        """The records of these topics and partitions that match `wanted`, by topic, partition and offset.

        `topics` and `partitions` are as in `kodec.read_records`; without `topics`, internal ones count too.

        With `first` or `last`, that many of all, by timestamp, the oldest first. Several logs are read at
        once, in `threads` (None: one per core). `report` counts what was read; `omissions` takes lost
        offsets, which raise OffsetsMissing without it, and folders with other names than topic-partitions,
        which raise Unsupported if they hold segments. Raises NoSuchPartition, a KeyError, for a topic that
        is missing; FormatError, OSError.
        """
        from kodec.log.directories.search import find_records

        logs = self._selected(topics, partitions, omissions)
        return find_records(
            logs, wanted, first=first, last=last, threads=threads, report=report, omissions=omissions
        )

    def count_records(
        self,
        wanted: RecordFilter,
        *,
        topics: Topics = None,
        partitions: Partitions = None,
        threads: int | None = None,
        report: SearchReport | None = None,
        omissions: Omissions | None = None,
    ) -> int:
        """How many records of these topics and partitions are wanted; the rest as `find_records`."""
        from kodec.log.directories.search import count_records

        logs = self._selected(topics, partitions, omissions)
        return count_records(logs, wanted, threads=threads, report=report, omissions=omissions)

    def _selected(
        self, topics: Topics, partitions: Partitions, omissions: Omissions | None
    ) -> list[PartitionLog]:
        """The logs of these topics and partitions. Raises NoSuchPartition; as `report_left_out`."""
        selection = Selection.of(topics, partitions)
        account = Omissions() if omissions is None else omissions
        self.report_left_out(selection.topics, account, raises=omissions is None)
        for topic in sorted(selection.topics or ()):
            if not any(owner.topic == topic for owner in self._live):
                raise NoSuchPartition(self._missing(TopicPartition(topic, 0)))
        selected = [owner for owner in self.topic_partitions if selection.has(owner)]
        if selection.topics != frozenset():
            for number in sorted(
                (selection.partitions or frozenset()) - {owner.partition for owner in selected}
            ):
                raise NoSuchPartition(f"no partition {number}; there are {_shortened(self.topic_partitions)}")
        return [self.partition(*owner) for owner in selected]


def _shortened(partitions: list[TopicPartition]) -> str:
    return ", ".join(map(str, partitions[:10])) + (
        f" and {len(partitions) - 10} more" if len(partitions) > 10 else ""
    )
