"""Decides which segments of a log directory one Spark task reads; lists folders and opens no file."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from kodec.log.batches.options import OnError, ReadOptions
from kodec.log.batches.records import Limits
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import SegmentFiles, TopicPartition, find_partitions
from kodec.log.files.paths import partition_path
from kodec.log.files.resolve import LogDirectoryPath, SegmentPath, resolve
from kodec.runtime.errors import ReadFailed

__all__ = ["Bounds", "Options", "SourceSegment", "Task", "list_segments", "pack", "shown"]

_log = logging.getLogger("kodec")

# A task costs some 30 ms whatever it does; this much log keeps a Python decoder busy for about a second.
DEFAULT_TASK_BYTES = 32 * 2**20
# What opening a file weighs, in bytes, so that a thousand empty segments do not all land in one task.
_OPEN_COST = 64 * 2**10

_UNITS = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}

# The words of Spark's own file sources for what becomes of damage.
_MODES: dict[str, OnError] = {"failfast": "raise", "permissive": "skip"}

# Options of Spark's own Kafka source that choose rows. Not knowing one must not mean ignoring it.
_ROW_OPTIONS = (
    "subscribepattern",
    "startingtimestamp",
    "endingtimestamp",
    "startingoffsetsbytimestamp",
    "endingoffsetsbytimestamp",
)


class SourceSegment(NamedTuple):
    """A segment as it was listed, and the topic-partition that it belongs to.

    `after` is the base offset of the segment listed after it; None for the last one.
    """

    topic_partition: TopicPartition
    segment: SegmentFiles
    after: int | None = None


Task = tuple[SourceSegment, ...]


@dataclass(slots=True)
class Bounds:
    """What a query's filters leave of the log: None means any; both ends are included.

    Offsets as Kafka has them, timestamps in ms since 1970-01-01 UTC.
    """

    topics: set[str] | None = None
    partitions: set[int] | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None

    def limit_topics(self, topics: Iterable[str]) -> None:
        """Keep only these topics of those that were left."""
        self.topics = set(topics) if self.topics is None else self.topics & set(topics)

    def limit_partitions(self, partitions: Iterable[int]) -> None:
        """Keep only these partition numbers of those that were left."""
        self.partitions = set(partitions) if self.partitions is None else self.partitions & set(partitions)

    def limit_offsets(self, first: int | None = None, last: int | None = None) -> None:
        """Keep only offsets from `first` to `last` of those that were left."""
        self.first_offset = _chosen(max, self.first_offset, first)
        self.last_offset = _chosen(min, self.last_offset, last)

    def limit_timestamps(self, first: int | None = None, last: int | None = None) -> None:
        """Keep only timestamps from `first` to `last` of those that were left."""
        self.first_timestamp = _chosen(max, self.first_timestamp, first)
        self.last_timestamp = _chosen(min, self.last_timestamp, last)

    def holds(self, topic_partition: TopicPartition) -> bool:
        """Whether rows of this topic-partition may be wanted."""
        return (self.topics is None or topic_partition.topic in self.topics) and (
            self.partitions is None or topic_partition.partition in self.partitions
        )

    def overlap(self, base_offset: int, next_base_offset: int | None) -> bool:
        """Whether a segment that starts at `base_offset`, before `next_base_offset`, may hold wanted rows."""
        if self.last_offset is not None and base_offset > self.last_offset:
            return False
        return self.first_offset is None or next_base_offset is None or next_base_offset > self.first_offset


def _chosen(choose: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else choose(one, other)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the `kafka-log` source, read and checked; `parse` says what each means."""

    paths: tuple[Path, ...]
    subscribe: frozenset[str] | None = None
    assign: frozenset[TopicPartition] | None = None
    include_internal: bool = False
    include_headers: bool = False
    reading: ReadOptions = field(default=ReadOptions())
    task_bytes: int = field(default=DEFAULT_TASK_BYTES)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Options:
        """Read the options of `spark.read.format("kafka-log")`; names are case-insensitive.

        Raises: ValueError for a value that cannot be read, and for an option of Spark's Kafka source that
        would choose other rows and that is not supported here.
        """
        given = {name.lower(): value for name, value in options.items()}
        unsupported = [name for name in _ROW_OPTIONS if name in given]
        unsupported += [
            name
            for name, harmless in (("startingoffsets", "earliest"), ("endingoffsets", "latest"))
            if given.get(name, harmless).lower() != harmless
        ]
        if given.get("kafka.isolation.level", "read_uncommitted") != "read_uncommitted":
            unsupported.append("kafka.isolation.level=read_committed")
        if unsupported:
            raise ValueError(f"kafka-log: not supported: {', '.join(unsupported)}")
        if "subscribe" in given and "assign" in given:
            raise ValueError("kafka-log: give `subscribe` or `assign`, not both")
        return cls(
            paths=_paths(given),
            subscribe=_names(given["subscribe"]) if "subscribe" in given else None,
            assign=_assignment(given["assign"]) if "assign" in given else None,
            include_internal=_flag(given, "includeInternal"),
            include_headers=_flag(given, "includeHeaders"),
            reading=ReadOptions(on_error=_on_error(given), limits=_limits(given)),
            task_bytes=_size(given, "maxPartitionBytes", DEFAULT_TASK_BYTES),
        )

    def wants(self, topic_partition: TopicPartition) -> bool:
        """Whether `subscribe`, `assign` and `includeInternal` let this topic-partition in."""
        if self.subscribe is not None:
            return topic_partition.topic in self.subscribe
        if self.assign is not None:
            return topic_partition in self.assign
        return self.include_internal or not topic_partition.is_internal


def _paths(given: Mapping[str, str]) -> tuple[Path, ...]:
    if "path" in given:
        texts = [given["path"]]
    elif "paths" in given:
        texts = json.loads(given["paths"])
    else:
        raise ValueError('kafka-log: say what to read: .load("/path/of/a/log/directory")')
    return tuple(_path(text) for text in texts)


def _path(text: str) -> Path:
    url = urlsplit(text)
    # One letter is a drive, not a scheme.
    if len(url.scheme) < 2:
        return Path(text).absolute()
    if url.scheme != "file" or url.netloc not in ("", "localhost"):
        raise ValueError(f"kafka-log: {text}: only local paths can be read")
    return Path(unquote(url.path, errors="surrogateescape"))


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def _assignment(text: str) -> frozenset[TopicPartition]:
    try:
        return frozenset(TopicPartition(topic, int(p)) for topic, ps in json.loads(text).items() for p in ps)
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f'kafka-log: assign is JSON like {{"orders":[0,1]}}, not {text}') from None


def _flag(given: Mapping[str, str], name: str) -> bool:
    value = given.get(name.lower(), "false").lower()
    if value not in ("true", "false"):
        raise ValueError(f"kafka-log: {name} is true or false, not {value!r}")
    return value == "true"


def _on_error(given: Mapping[str, str]) -> OnError:
    """Spark's word for what becomes of damage in kodec's."""
    mode = given.get("mode", "failfast").lower()
    if mode not in _MODES:
        raise ValueError(f"kafka-log: mode is {' or '.join(_MODES)}, not {mode!r}")
    return _MODES[mode]


def _limits(given: Mapping[str, str]) -> Limits:
    default = Limits()
    return Limits(
        batch_bytes=_size(given, "maxBatchBytes", default.batch_bytes),
        decompressed_bytes=_size(given, "maxDecompressedBytes", default.decompressed_bytes),
        elements=_size(given, "maxElements", default.elements),
    )


def _size(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name.lower())
    if text is None:
        return default
    match = re.fullmatch(r"\s*([0-9]{1,18})\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS or int(match[1]) == 0:
        raise ValueError(f"kafka-log: {name} is a size like 64m, not {text!r}")
    return int(match[1]) * _UNITS[match[2]]


def _listed(
    path: Path, options: Options, bounds: Bounds
) -> Iterable[tuple[TopicPartition, Path, list[SegmentFiles]]]:
    """The topic-partitions that a path means, each with its folder and its segments."""
    what = resolve(path)
    if isinstance(what, LogDirectoryPath):
        for folder in find_partitions(path):
            if options.wants(folder.topic_partition) and bounds.holds(folder.topic_partition):
                yield folder.topic_partition, folder.path, _segments(folder.path, options.reading)
        return
    folder_path = partition_path(path.parent if isinstance(what, SegmentPath) else path)
    if not bounds.holds(folder_path.topic_partition):
        return
    if isinstance(what, SegmentPath):
        found = [SegmentFiles(what.base_offset, path, path.stat().st_size)]
    else:
        found = _segments(path, options.reading)
    yield folder_path.topic_partition, folder_path.path, found


def _segments(folder: Path, reading: ReadOptions) -> list[SegmentFiles]:
    """The segments in a folder; none where it cannot be listed, and that is to be skipped."""
    try:
        return PartitionLog(folder).files.segments
    except OSError as error:
        failed = ReadFailed.of(error, source=shown(folder))
        if reading.on_error == "raise":
            raise failed from error
        _log.warning("skipped: %s", failed)
        return []


def shown(path: Path) -> str:
    """A path for messages, which Spark carries as UTF-8: other bytes as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def list_segments(options: Options, bounds: Bounds | None = None) -> list[SourceSegment]:
    """List the segments to read, by topic, partition and base offset.

    A path may be a log directory, the folder of a topic-partition, or one segment. In a log directory
    internal topics are left out unless they are asked for; a path that names a folder or a segment is always
    read. With `on_error="skip"` a topic-partition whose folder cannot be listed, as one that was deleted
    meanwhile, has no segments.

    Raises: OSError where a path cannot be listed; ReadFailed where a folder in it cannot; ValueError where a
    folder's name does not say which topic-partition it is, where two paths hold the same one, or where
    `subscribe` or `assign` names none.
    """
    bounds = bounds or Bounds()
    found: dict[TopicPartition, tuple[Path, list[SegmentFiles]]] = {}
    for path in options.paths:
        for owner, folder, listed in _listed(path, options, bounds):
            if owner in found:
                raise ValueError(f"kafka-log: {owner} is in both {found[owner][0]} and {folder}")
            found[owner] = folder, listed
    _check_all_found(options, bounds, found)
    return [
        SourceSegment(owner, segment, after.base_offset if after else None)
        for owner, (_, listed) in sorted(found.items())
        for segment, after in zip(listed, [*listed[1:], None][: len(listed)], strict=True)
        if bounds.overlap(segment.base_offset, after.base_offset if after else None)
    ]


def _check_all_found(options: Options, bounds: Bounds, found: Iterable[TopicPartition]) -> None:
    here = set(found)
    missing: set[str] = set()
    if options.subscribe is not None and bounds.topics is None and bounds.partitions is None:
        missing = set(options.subscribe - {owner.topic for owner in here})
    if options.assign is not None:
        missing = {str(owner) for owner in options.assign - here if bounds.holds(owner)}
    if missing:
        raise ValueError(f"kafka-log: not in the log directory: {', '.join(sorted(missing))}")


def pack(listed: Iterable[SourceSegment], task_bytes: int) -> list[Task]:
    """Put consecutive segments together into tasks of about `task_bytes`, without splitting any.

    Segments keep their order, so within a task, and from task to task, offsets of a topic-partition ascend.
    """
    tasks: list[Task] = []
    current: list[SourceSegment] = []
    weight = 0
    for item in listed:
        cost = item.segment.size + _OPEN_COST
        if current and weight + cost > task_bytes:
            tasks.append(tuple(current))
            current, weight = [], 0
        current.append(item)
        weight += cost
    if current:
        tasks.append(tuple(current))
    return tasks
