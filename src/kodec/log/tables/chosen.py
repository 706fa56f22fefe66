"""Resolves a reader's source to logs: one file, or the segments of one or many topic-partitions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from kodec.log.backends.scan import EVERY, Range
from kodec.log.batches.options import LogReadOptions
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.losses import require_end, require_start
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import (
    SegmentFiles,
    TopicPartition,
    parse_folder_name,
    parse_segment_name,
    topic_partition_of,
)
from kodec.log.files.names import LOG_START_OFFSETS
from kodec.log.files.paths import real_path
from kodec.log.omissions import Omissions
from kodec.log.reading.source import Source
from kodec.log.remote.opening import open_location
from kodec.log.remote.resolve import (
    LogDirectoryPath,
    NotALog,
    RemoteStoragePath,
    SegmentPath,
    find_logs,
    named_paths,
)
from kodec.log.remote.tier import Remote, as_segment
from kodec.log.selection import Selection
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import ArgumentError, FormatError, NoSuchPartition
from kodec.runtime.near import meant
from kodec.stores.storage import StorePath, one_look

__all__ = ["ChosenLogs", "LogSource", "LogsSource", "Piece", "chosen_list", "chosen_logs", "one_file"]

_MOST_NAMES = 10
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
        omissions: what at the source is in no log.
    """

    logs: tuple[PartitionLog | Piece, ...]
    several: bool
    omissions: Omissions

    def pieces(self, offsets: Range, options: LogReadOptions, omissions: Omissions) -> Iterator[Piece]:
        """The segments that may have such offsets, by topic, partition and offset.

        Raises: OSError, FormatError and OffsetsMissing for a log that cannot be listed, and for what is known
        to be missing of one without a segment, or to be in remote storage, as far as `options` has no place
        for it in `omissions`.
        """
        for log in self.logs:
            if isinstance(log, Piece):
                yield log
                continue
            try:
                yield from _listed(log, offsets, options, omissions)
            except OSError as error:
                if not options.skips_unreachable:
                    raise
                omissions.failed(log.path, error)


def _listed(log: PartitionLog, offsets: Range, options: LogReadOptions, omissions: Omissions) -> list[Piece]:
    try:
        pieces = list(pieces_of(log, offsets))
    except FormatError as error:
        if not options.skips:
            raise
        # as a broker, which begins with the first segment then
        omissions.failed(log.root / LOG_START_OFFSETS, error)
        log = PartitionLog(log.path, log_start_offset=0, limits=log.limits)
        pieces = list(pieces_of(log, offsets))
    if log.remote_offsets:
        require_start(log, offsets.first, offsets.last, omissions if options.skips_unreachable else None)
    if not log.files.segments and offsets.last == EVERY.last and not isinstance(log.path, StorePath):
        require_end(log, omissions if options.skips else None)
    return pieces


def pieces_of(log: PartitionLog, offsets: Range) -> Iterator[Piece]:
    """The segments of a log that may have such offsets, from its start offset on. Raises OSError."""
    segments = log.files.segments
    start = log.start_offset
    for files, after in zip_longest(segments, segments[1:]):
        behind = after is not None and after.base_offset <= max(start, offsets.first)
        if not behind and files.base_offset <= offsets.last:
            yield Piece(files, log, log.topic_partition, after, start)


def chosen_logs(source: LogsSource, selection: Selection, options: LogReadOptions) -> ChosenLogs | Source:
    """The logs of a source; the source itself, or the path of a segment, if it is one file.

    Internal topics of a log directory are left out unless the selection names them.

    Raises: NotALog, OSError; ArgumentError for a topic-partition in two places, and for an invalid
    source; NoSuchPartition for a missing topic or partition; Unsupported for a folder in a log directory that
    holds segments and has no topic-partition's name, Malformed for a checkpoint, unless `options` skips them.
    """
    if isinstance(source, Segment):
        source = source.path
    with ExitStack() as looks:
        if isinstance(source, (str, os.PathLike)):
            # what is listed to see that it is several is not listed again
            source = looks.enter_context(one_look(open_location(source)))
        if not _is_one(source):
            finder = _Finder(selection.topics, selection.partitions, options)
            several = finder.add_all(source)
            return ChosenLogs(finder.logs(), several, finder.omissions)
    if (selection.topics, selection.partitions) != (None, None):
        raise ArgumentError("topics and partitions select from several logs; this is one file")
    return source


def one_file(source: Source, options: LogReadOptions) -> ChosenLogs:
    """The same for one segment, or another file, by its path. Raises ArgumentError for bytes and streams."""
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentError("topic and partition are columns of files in a topic-partition's folder")
    finder = _Finder(None, None, options)
    finder.add_all(source)
    return ChosenLogs(finder.logs(), False, finder.omissions)


def chosen_list(
    source: LogsSource,
    selection: Selection,
    options: LogReadOptions,
    omissions: Omissions | None = None,
) -> list[tuple[TopicPartition | None, LogSource]]:
    """The logs of a source, each with its topic-partition, as a list that readers accept.

    Args:
        omissions: takes what at the source is in no log.

    Raises: as `chosen_logs`; ArgumentError for bytes and open files.
    """
    selected = chosen_logs(source, selection, options)
    logs = selected if isinstance(selected, ChosenLogs) else one_file(selected, options)
    if omissions is not None:
        omissions.extend(logs.omissions)
    return [
        (log.owner, log.files.log) if isinstance(log, Piece) else (log.topic_partition, log)
        for log in logs.logs
    ]


def _is_one(source: LogsSource) -> TypeGuard[Source]:
    """Whether a source is one file, or anything invalid, which is refused when opened."""
    if isinstance(source, (str, os.PathLike)):
        path = open_location(source)
        return named_paths(path) == [path] and not path.is_dir()
    if isinstance(source, (PartitionLog, LogDirectory)):
        return False
    return _is_bytes_or_file(source) or not isinstance(source, Iterable)


def _is_bytes_or_file(source: object) -> bool:
    return isinstance(source, (bytes, bytearray, memoryview)) or hasattr(source, "read")


def _shortened(names: Collection[Any]) -> str:
    shown = ", ".join(map(str, sorted(names)[:_MOST_NAMES]))
    more = len(names) - _MOST_NAMES
    return (f"{shown} and {more} more" if more > 0 else shown) or "none"


class _Finder:
    def __init__(
        self, topics: frozenset[str] | None, partitions: frozenset[int] | None, options: LogReadOptions
    ) -> None:
        self.omissions = Omissions()
        self._topics = topics
        self._partitions = partitions
        self._options = options
        self._limits = options.limits
        self._owners: set[TopicPartition] = set()
        self._places: dict[Path, PartitionLog | Piece] = {}

    def logs(self) -> tuple[PartitionLog | Piece, ...]:
        """The results, in order."""
        owners: dict[TopicPartition, Path] = {}
        partitions: list[TopicPartition] = []
        for path, log in self._places.items():
            if isinstance(log, Piece):
                partitions += [] if log.owner is None else [log.owner]
                continue
            partitions.append(log.topic_partition)
            if (other := owners.setdefault(log.topic_partition, path)) != path:
                raise ArgumentError(f"{log.topic_partition} is in both {other} and {path}: name one")
        # none is missing of a selection of none
        if self._topics == frozenset() or self._partitions == frozenset():
            return ()
        self._require({*partitions} | self._owners)
        return tuple(sorted(self._places.values(), key=_sort_key))

    def _require(self, owners: set[TopicPartition]) -> None:
        """Raise NoSuchPartition if a selected topic or partition is missing."""
        topics = {owner.topic for owner in owners}
        if self._topics is not None and (lost := self._topics - topics):
            text = ", ".join(sorted(lost))
            raise NoSuchPartition(f"no topic {text}{meant(text, topics, f'topics: {_shortened(topics)}')}")
        selected = [owner for owner in owners if self._topics is None or owner.topic in self._topics]
        partitions = {owner.partition for owner in selected}
        if self._partitions is not None and (missing := self._partitions - partitions):
            of = "" if self._topics is None else f" of {', '.join(sorted(self._topics))}"
            raise NoSuchPartition(
                f"no partition {_shortened(missing)}{of}; there are {_shortened(partitions)}"
            )

    def add_all(self, source: LogsSource) -> bool:
        """Resolve a source; return whether it can have more than one topic-partition."""
        if isinstance(source, PartitionLog):
            self._add(source, asked_for=True)
            return False
        if isinstance(source, LogDirectory):
            self._directory(source)
            return True
        if isinstance(source, Segment):
            self._file(source.path)
            return False
        if isinstance(source, (str, os.PathLike)):
            paths = named_paths(source)
            if not paths:
                raise FileNotFoundError(f"{source}: nothing has this name")
            is_named = paths == [open_location(source)]
            many = [self._path(path, is_named=is_named) for path in paths]
            return any(many) or not is_named
        if _is_bytes_or_file(source) or not isinstance(source, Iterable):
            have = type(source).__name__
            raise ArgumentError(f"a list may hold paths, logs, log directories and segments, not {have}")
        for item in source:
            self.add_all(item)  # type: ignore[arg-type]  # of a file, which is refused
        return True

    def _path(self, path: Path, *, is_named: bool) -> bool:
        if path.is_file():
            if not is_named and _is_none_of_its_log(path):
                raise NotALog(f"{path}: not a segment: those are named like 00000000000000000000.log")
            self._file(path)
            return False
        unreachable = self.omissions if self._options.skips_unreachable else None
        try:
            paths = find_logs(path, unreachable)
        except OSError as error:
            # what the caller has named must exist
            if is_named or unreachable is None:
                raise
            unreachable.failed(path, error)
            return True
        for what in paths:
            if isinstance(what, LogDirectoryPath):
                self._directory(LogDirectory(what.path, limits=self._limits))
            elif isinstance(what, RemoteStoragePath):
                self._directory(LogDirectory(Remote.at(what.path).path, limits=self._limits))
            else:
                assert not isinstance(what, SegmentPath)
                self._add(PartitionLog(what.path, limits=self._limits), asked_for=True)
                return False
        return True

    def _directory(self, directory: LogDirectory) -> None:
        options = self._options
        directory.report_left_out(self._topics, self.omissions, raises=not options.skips)
        caught = (FormatError, OSError) if options.skips_unreachable else (FormatError,)
        directory.require_starts(self.omissions if options.skips else None, caught)
        for log in directory:
            self._add(log)

    def _add(self, log: PartitionLog, *, asked_for: bool = False) -> None:
        owner = log.topic_partition
        self._owners.add(owner)
        named = asked_for if self._topics is None else owner.topic in self._topics
        if (named or (self._topics is None and not owner.is_internal)) and self._has(owner.partition):
            self._places.setdefault(real_path(log.path), log)

    def _has(self, partition: int) -> bool:
        return self._partitions is None or partition in self._partitions

    def _file(self, path: Path) -> None:
        path = as_segment(path) or path
        owner = topic_partition_of(path)
        if owner is not None:
            self._owners.add(owner)
        is_selected = self._topics is None or (owner is not None and owner.topic in self._topics)
        if is_selected and (self._partitions is None or (owner is not None and self._has(owner.partition))):
            base = parse_segment_name(path.name)
            files = SegmentFiles.beside(0 if base is None else base, path)
            self._places.setdefault(real_path(path), Piece(files, owner=owner))


def _is_none_of_its_log(path: Path) -> bool:
    """Whether a file in a topic-partition's folder is no part of its log: `00000000000000000000.log.bak`."""
    is_inside = parse_folder_name(path.absolute().parent.name) is not None
    return is_inside and parse_segment_name((as_segment(path) or path).name) is None


def _sort_key(log: PartitionLog | Piece) -> tuple[str, int, int, str]:
    """By topic and partition, files by their offsets."""
    if isinstance(log, PartitionLog):
        return (*log.topic_partition, 0, str(log.path))
    topic, partition = ("", -1) if log.owner is None else log.owner
    return topic, partition, log.files.base_offset, str(log.files.log)
