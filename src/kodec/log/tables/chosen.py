"""Resolves a reader's source to logs: one file, or the segments of one or many topic-partitions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias, TypeGuard

from kodec.log.backends.scan import Range
from kodec.log.batches.records import Limits
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import (
    SegmentFiles,
    TopicPartition,
    parse_folder_name,
    parse_segment_name,
)
from kodec.log.files.resolve import (
    LogDirectoryPath,
    RemoteStoragePath,
    SegmentPath,
    find_logs,
    named_paths,
)
from kodec.log.files.tier_view import TierPath, as_segment
from kodec.log.reading.source import Source
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import ArgumentError, NoSuchPartition
from kodec.stores.storage import one_look, path_of

__all__ = ["ChosenLogs", "LogSource", "LogsSource", "Piece", "chosen_list", "chosen_logs", "one_file"]

LogSource: TypeAlias = str | os.PathLike[str] | PartitionLog | LogDirectory | Segment
LogsSource: TypeAlias = Source | LogSource | Iterable[LogSource]
"""A reader's source: one log as bytes, a file or a path; or the logs of directories, topic-partitions, globs,
segments, and lists of these."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment to be read.

    Attributes:
        log: its log; None for a single file.
        owner: the topic-partition; None if unknown.
        after: the segment after it; None for the last one, or if that is unknown.
        first: only offsets from there on: those below are deleted.
    """

    files: SegmentFiles
    log: PartitionLog | None = None
    owner: TopicPartition | None = None
    after: SegmentFiles | None = None
    first: int = 0


@dataclass(frozen=True, slots=True)
class ChosenLogs:
    """The logs of a source that is not one file.

    Attributes:
        logs: topic-partitions' logs, and single files; by topic and partition.
        several: whether there can be more than one topic-partition, regardless of the current state.
    """

    logs: tuple[PartitionLog | Piece, ...]
    several: bool

    def pieces(self, offsets: Range) -> Iterator[Piece]:
        """The segments that may have such offsets, by topic, partition and offset. Raises OSError."""
        for log in self.logs:
            if isinstance(log, Piece):
                yield log
            else:
                yield from pieces_of(log, offsets)


def pieces_of(log: PartitionLog, offsets: Range) -> Iterator[Piece]:
    """The segments of a log that may have such offsets, from its start offset on. Raises OSError."""
    segments = log.files.segments
    start = log.start_offset
    for files, after in zip_longest(segments, segments[1:]):
        behind = after is not None and after.base_offset <= max(start, offsets.first)
        if not behind and files.base_offset <= offsets.last:
            yield Piece(files, log, log.topic_partition, after, start)


def chosen_logs(
    source: LogsSource,
    topics: Collection[str] | str | None,
    partitions: Collection[int] | int | None,
    limits: Limits,
) -> ChosenLogs | Source:
    """The logs of a source; the source itself, or the path of a segment, if it is one file.

    Internal topics of a log directory are left out unless `topics` names them.

    Raises: NotALog, OSError; ArgumentError for a topic-partition in two places, and for an invalid
    source; NoSuchPartition for a missing topic or partition.
    """
    if isinstance(source, Segment):
        source = source.path
    with one_look():
        if not _is_one(source):
            finder = _Finder(_as_set(topics), _as_set(partitions), limits)
            several = finder.add_all(source)
            return ChosenLogs(finder.found(), several)
    if (topics, partitions) != (None, None):
        raise ArgumentError("topics and partitions select from several logs; this is one file")
    return source


def one_file(source: Source, limits: Limits) -> ChosenLogs:
    """The same for one segment, or another file, by its path. Raises ArgumentError for bytes and streams."""
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentError("topic and partition are columns of files in a topic-partition's folder")
    finder = _Finder(None, None, limits)
    finder.add_all(source)
    return ChosenLogs(finder.found(), several=False)


def chosen_list(
    source: LogsSource,
    topics: Collection[str] | str | None,
    partitions: Collection[int] | int | None,
    limits: Limits,
) -> list[tuple[TopicPartition | None, LogSource]]:
    """The logs of a source, each with its topic-partition, as a list that readers accept. Raises as
    `chosen_logs`; ArgumentError for bytes and open files."""
    chosen = chosen_logs(source, topics, partitions, limits)
    logs = chosen if isinstance(chosen, ChosenLogs) else one_file(chosen, limits)
    return [
        (log.owner, log.files.log) if isinstance(log, Piece) else (log.topic_partition, log)
        for log in logs.logs
    ]


def _is_one(source: LogsSource) -> TypeGuard[Source]:
    """Whether a source is one file, or anything invalid, which is refused when opened."""
    if isinstance(source, (str, os.PathLike)):
        path = path_of(source)
        return named_paths(path) == [path] and not path.is_dir()
    if isinstance(source, (PartitionLog, LogDirectory)):
        return False
    return _is_bytes_or_file(source) or not isinstance(source, Iterable)


def _is_bytes_or_file(source: object) -> bool:
    return isinstance(source, (bytes, bytearray, memoryview)) or hasattr(source, "read")


def _as_set(given: Collection[str] | Collection[int] | str | int | None) -> frozenset[object] | None:
    if given is None:
        return None
    return frozenset([given] if isinstance(given, (str, int)) else given)


class _Finder:
    def __init__(
        self, topics: frozenset[object] | None, partitions: frozenset[object] | None, limits: Limits
    ) -> None:
        self._topics = topics
        self._partitions = partitions
        self._limits = limits
        self._seen: set[TopicPartition] = set()
        self._places: dict[Path, PartitionLog | Piece] = {}

    def found(self) -> tuple[PartitionLog | Piece, ...]:
        """The results, in order."""
        owners: dict[TopicPartition, Path] = {}
        here: list[TopicPartition] = []
        for place, log in self._places.items():
            if isinstance(log, Piece):
                here += [] if log.owner is None else [log.owner]
                continue
            here.append(log.topic_partition)
            if (other := owners.setdefault(log.topic_partition, place)) != place:
                raise ArgumentError(f"{log.topic_partition} is in both {other} and {place}: name one")
        for what, wanted, there in (
            ("topic", self._topics, {owner.topic for owner in here}),
            ("partition", self._partitions, {owner.partition for owner in here}),
        ):
            if wanted is not None and (missing := wanted - there):
                names = ", ".join(sorted(map(str, self._seen))[:10]) or "none"
                text = ", ".join(sorted(map(str, missing)))
                raise NoSuchPartition(f"no {what} {text}; known: {names}")
        return tuple(sorted(self._places.values(), key=_place))

    def add_all(self, source: LogsSource) -> bool:
        """Resolve a source; return whether it can have more than one topic-partition."""
        if isinstance(source, PartitionLog):
            self._add(source, asked_for=True)
            return False
        if isinstance(source, LogDirectory):
            for log in source:
                self._add(log)
            return True
        if isinstance(source, Segment):
            self._file(source.path)
            return False
        if isinstance(source, (str, os.PathLike)):
            paths = named_paths(source)
            if not paths:
                raise FileNotFoundError(f"{source}: nothing has this name")
            many = [self._path(path) for path in paths]
            return any(many) or paths != [path_of(source)]
        if _is_bytes_or_file(source) or not isinstance(source, Iterable):
            have = type(source).__name__
            raise ArgumentError(f"a list may hold paths, logs, log directories and segments, not {have}")
        for each in source:
            self.add_all(each)  # type: ignore[arg-type]  # of a file, which is refused
        return True

    def _path(self, path: Path) -> bool:
        if path.is_file():
            self._file(path)
            return False
        found = find_logs(path)
        for what in found:
            if isinstance(what, LogDirectoryPath):
                for log in LogDirectory(what.path, limits=self._limits):
                    self._add(log)
            elif isinstance(what, RemoteStoragePath):
                for log in LogDirectory(TierPath.of(what.path), limits=self._limits):
                    self._add(log)
            else:
                assert not isinstance(what, SegmentPath)
                self._add(PartitionLog(what.path, limits=self._limits), asked_for=True)
                return False
        return True

    def _add(self, log: PartitionLog, *, asked_for: bool = False) -> None:
        owner = log.topic_partition
        self._seen.add(owner)
        named = asked_for if self._topics is None else owner.topic in self._topics
        if (named or (self._topics is None and not owner.is_internal)) and self._has(owner.partition):
            self._places.setdefault(log.path.resolve(), log)

    def _has(self, partition: int) -> bool:
        return self._partitions is None or partition in self._partitions

    def _file(self, path: Path) -> None:
        path = as_segment(path) or path
        name = parse_folder_name(path.absolute().parent.name)
        owner = None if name is None else name.topic_partition
        if owner is not None:
            self._seen.add(owner)
        wanted = self._topics is None or (owner is not None and owner.topic in self._topics)
        if wanted and (self._partitions is None or (owner is not None and self._has(owner.partition))):
            base = parse_segment_name(path.name)
            files = SegmentFiles.beside(0 if base is None else base, path)
            self._places.setdefault(path.resolve(), Piece(files, owner=owner))


def _place(log: PartitionLog | Piece) -> tuple[str, int, int, str]:
    """By topic and partition, files by their offsets."""
    if isinstance(log, PartitionLog):
        return (*log.topic_partition, 0, str(log.path))
    topic, partition = ("", -1) if log.owner is None else log.owner
    return topic, partition, log.files.base_offset, str(log.files.log)
