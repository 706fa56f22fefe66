"""Why the next segment of a log is not deleted: the inputs of a broker's retention, from the disk.

Followed: `UnifiedLog.deleteOldSegments`, `LogSegment.largestTimestamp`, `TimeIndex.lastEntry` and
`LogConfig.localRetentionMs` of `org.apache.kafka.storage.internals.log`, Kafka 4.3.
"""

from __future__ import annotations

import time
from itertools import takewhile
from typing import Literal, NamedTuple

from kodec.log.arguments import require
from kodec.log.cleaning.retention import DeletableSegment, TrimOptions, trim_of
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.offline import high_watermark, modified, require_live
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.index_files import IndexFile
from kodec.log.files.listing import TopicPartition
from kodec.log.views.metadata import ClusterMetadata
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import ArgumentError
from kodec.runtime.near import meant

__all__ = ["KeptSegment", "Retention", "SegmentTime", "Setting", "explain_retention"]

# A topic's setting, what a broker calls it, and Kafka's default.
_SETTINGS = (
    ("cleanup.policy", "log.cleanup.policy", "delete"),
    ("retention.ms", "log.retention.ms", "604800000"),
    ("retention.bytes", "log.retention.bytes", "-1"),
    ("remote.storage.enable", None, "false"),
    ("local.retention.ms", "log.local.retention.ms", "-2"),
    ("local.retention.bytes", "log.local.retention.bytes", "-2"),
)
_AS_THE_OTHER = -2
_NEWEST = {
    "records": "its newest record is",
    "index": "the last entry of its time index is",
    "file": "its file was written",
}


class Setting(NamedTuple):
    """A setting and its source: `option`, `topic`, `broker` (its own), `cluster` (for all brokers), or
    `default` (Kafka's). A broker's own server.properties is not in its log directories."""

    value: str
    source: str


class SegmentTime(NamedTuple):
    """What a broker takes as the largest timestamp of a segment.

    That is the last entry of the time index, whatever the records say, and without an entry the time when the
    file was written. Of the active segment, and of one whose offset index is missing, the broker has read the
    records.

    Attributes:
        base_offset: of the segment.
        timestamp: in ms since 1970-01-01 UTC.
        source: where that is from: `records`, if they say the same; `index`; `file`.
        records: the largest timestamp of the records; None: they have none.

    Example: see `explain_retention`.
    """

    base_offset: int
    timestamp: int
    source: Literal["records", "index", "file"]
    records: int | None

    @property
    def is_wrong(self) -> bool:
        """Whether the records say something else."""
        return self.source != "records" and self.records is not None


@dataclass(frozen=True, slots=True)
class KeptSegment:
    """The oldest segment that stays, and why.

    Attributes:
        base_offset, end_offset: its first offset, and the next segment's.
        bytes: of its log.
        active: whether it is the newest one.
        largest_timestamp: as a broker sees it; if `by_file`, when its file was last written.
        due: when it expires by time, in ms since 1970-01-01 UTC; None: not by time.
        missing_bytes: how much the log must grow before it expires by size; None: not by size.
        reasons: for people.
        behind: how many segments behind it are old enough, and wait for it.

    Example: see `explain_retention`.
    """

    base_offset: int
    end_offset: int
    bytes: int
    active: bool
    largest_timestamp: int
    by_file: bool
    due: int | None
    missing_bytes: int | None
    reasons: list[str]
    behind: int


@dataclass(frozen=True, slots=True)
class Retention:
    """What retention would do to a topic-partition now.

    Attributes:
        settings: those that decide, by their topic-level name.
        segments, bytes: of the log. high_watermark: None if no checkpoint has it.
        deletable: the segments that a broker would delete, oldest first.
        next: the first that stays; None where none does.
        wrong_times: of the segments that time decided about, those whose records say something else.
        topic_partition: which one.
        start_offset, end_offset: of the log.

    Example: see `explain_retention`.
    """

    topic_partition: TopicPartition
    settings: dict[str, Setting]
    segments: int
    bytes: int
    start_offset: int
    end_offset: int
    high_watermark: int | None
    deletable: tuple[DeletableSegment, ...]
    next: KeptSegment | None
    wrong_times: tuple[SegmentTime, ...] = ()


def explain_retention(
    log: PartitionLog,
    metadata: ClusterMetadata | None = None,
    *,
    options: dict[str, str] | None = None,
    remote_offset: int | None = None,
    now: int | None = None,
) -> Retention:
    """Find the segments of a log that a broker's retention would delete, and why the next one stays.

    Args:
        log: of a live replica.
        metadata: has the configs of the topic and of brokers, see `read_metadata`.
        options: settings that override them, as in {"retention.ms": "1000"}.
        remote_offset: for a topic with remote storage, the highest offset there; None: unknown.
        now: ms since 1970-01-01 UTC; the current time by default.

    A broker may be running: its cleaner's output (`.cleaned`) is not part of the log, and a replacement that
    is complete (`.swap`) counts as in place.

    Returns: the segments that would go, and the first that stays.
    Raises: FormatError for a batch that is damaged; ValueError for a replica that is not live, an unknown
    setting, and one that is no number; OSError.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/segments-0")
        >>> settings = {"retention.ms": "-1", "retention.bytes": "20000"}
        >>> found = kodec.operations.explain_retention(log, options=settings)
        >>> len(found.deletable), found.segments
        (3, 6)
        >>> found.next.missing_bytes
        4323
    """
    require("log", log, PartitionLog, "a kodec.PartitionLog is needed, as PartitionLog(path)")
    if metadata is not None:
        require("metadata", metadata, ClusterMetadata, "pass the result of read_metadata(path)")
    known = [name for name, _, _ in _SETTINGS]
    if unknown := [name for name in options or {} if name not in known]:
        near = meant(unknown[0], known)
        raise ArgumentError(f"options: {unknown[0]!r} is none of {', '.join(known)}{near}")
    moment = time.time_ns() // 1_000_000 if now is None else now
    settings = _settings(log, metadata, options or {})
    deletes = "delete" in settings["cleanup.policy"].value.split(",")
    tiered = settings["remote.storage.enable"].value == "true"
    most_ms, most_bytes = (_limit(settings, name, tiered) for name in ("retention.ms", "retention.bytes"))
    require_live(log)
    limits = (most_bytes, most_ms) if deletes else (None, None)
    trim_options = TrimOptions(None, *limits, moment, log.limits)
    times = _Times()
    plan = trim_of(log, trim_options, Fingerprint.of(log.path), times.of)
    copied = -1 if remote_offset is None else remote_offset
    gone = tuple(takewhile(lambda segment: not tiered or segment.end_offset - 1 <= copied, plan.deleted))
    remaining = log.segments[len(gone) :]
    watermark = high_watermark(log)
    first_kept = None
    if remaining:
        size = sum(segment.size for segment in remaining)
        about = _Decision(deletes, tiered, most_ms, most_bytes, moment, watermark, remote_offset, times)
        first_kept = about.first_kept(remaining, size, log.end_offset)
    log.close()
    return Retention(
        log.topic_partition,
        settings,
        len(log.segments),
        log.size,
        log.start_offset,
        log.end_offset,
        watermark,
        gone,
        first_kept,
        times.wrong(remaining[0].base_offset if remaining else log.end_offset),
    )


class _Times:
    """The times of segments, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[int, SegmentTime] = {}

    def of(self, segment: Segment, after: int | None) -> int:
        """The largest timestamp to a broker; `after` is where the next segment begins."""
        return self.time_of(segment, is_active=after is None).timestamp

    def time_of(self, segment: Segment, *, is_active: bool) -> SegmentTime:
        base = segment.base_offset
        if base not in self._known:
            largest = segment.largest_timestamp()
            segment.close()
            records = None if largest is None else largest[0]
            # a broker has the records in mind, or reads them when it starts
            timestamp = records if is_active or segment.index is None else _last_indexed(segment)
            if timestamp is None or timestamp < 0:
                self._known[base] = SegmentTime(base, modified(segment), "file", records)
            else:
                source: Literal["records", "index"] = "records" if timestamp == records else "index"
                self._known[base] = SegmentTime(base, timestamp, source, records)
        return self._known[base]

    def wrong(self, last: int) -> tuple[SegmentTime, ...]:
        """Those up to a base offset that contradict the records."""
        return tuple(time for base, time in sorted(self._known.items()) if time.is_wrong and base <= last)


def _last_indexed(segment: Segment) -> int | None:
    """The timestamp in the last slot of a time index, be it padding; None without any."""
    if segment.timeindex is None:
        return None
    try:
        index = IndexFile.of_times(segment.timeindex)
    except FileNotFoundError:
        return None
    try:
        return index.last_timestamp()
    finally:
        index.close()


def _settings(
    log: PartitionLog, metadata: ClusterMetadata | None, options: dict[str, str]
) -> dict[str, Setting]:
    configs = {} if metadata is None else metadata.configs
    properties = LogRoot(log.root).meta_properties()
    node = "" if properties is None or properties.node_id is None else str(properties.node_id)
    settings = {}
    for name, of_broker, default in _SETTINGS:
        places = [
            (options, name, "option"),
            (configs.get(("topic", log.topic_partition.topic), {}), name, "topic"),
            (configs.get(("broker", node), {}) if node else {}, of_broker, "broker"),
            (configs.get(("broker", ""), {}), of_broker, "cluster"),
        ]
        candidates = (Setting(values[key], source) for values, key, source in places if key in values)
        settings[name] = next(candidates, Setting(default, "default"))
    return settings


def _limit(settings: dict[str, Setting], name: str, tiered: bool) -> int | None:
    """A limit in ms or bytes; None: none. For a tiered topic the local one applies, if it is stricter."""
    local = _number(settings, f"local.{name}") if tiered else _AS_THE_OTHER
    value = _number(settings, name) if local == _AS_THE_OTHER else local
    return None if value < 0 else value


def _number(settings: dict[str, Setting], name: str) -> int:
    try:
        return int(settings[name].value)
    except ValueError:
        raise ValueError(f"{name}={settings[name].value}: not a number") from None


@dataclass(frozen=True, slots=True)
class _Decision:
    """The inputs of the decision about a segment."""

    deletes: bool
    tiered: bool
    most_ms: int | None
    most_bytes: int | None
    now: int
    watermark: int | None
    remote_offset: int | None
    times: _Times

    def first_kept(self, segments: list[Segment], size: int, end: int) -> KeptSegment:
        """Why the first of these stays; together they have this many bytes."""
        segment = segments[0]
        active = len(segments) == 1
        empty = active and not segment.size
        upper = end if active else segments[1].base_offset
        _, newest, source, _ = self.times.time_of(segment, is_active=active)
        due = missing = None
        if self.most_ms is not None and self.deletes and not empty:
            due = newest + self.most_ms + 1
        if self.most_bytes is not None and self.deletes and not empty:
            missing = max(0, self.most_bytes - (size - segment.size))
        reasons = (
            ["the active segment is empty"] if empty else self._reasons(upper, newest, source, due, missing)
        )
        behind = 0
        if self.most_ms is not None and self.deletes:
            times = (self.times.time_of(later, is_active=later is segments[-1]) for later in segments[1:])
            behind = sum(time.timestamp < self.now - self.most_ms for time in times)
        return KeptSegment(
            segment.base_offset,
            upper,
            segment.size,
            active,
            newest,
            source == "file",
            due,
            missing,
            reasons,
            behind,
        )

    def _reasons(
        self, upper: int, newest: int, source: str, due: int | None, missing: int | None
    ) -> list[str]:
        if not self.deletes:
            return ["cleanup.policy has no delete: neither time nor size deletes segments"]
        reasons = []
        if self.watermark is not None and upper > self.watermark:
            reasons.append(f"it goes up to offset {upper}, above the high watermark {self.watermark}")
        if self.tiered and self.remote_offset is None:
            reasons.append("it must be in remote storage first, and the state of that is unknown here")
        elif self.tiered and self.remote_offset is not None and upper - 1 > self.remote_offset:
            reasons.append(f"remote storage only has offsets up to {self.remote_offset}")
        if due is None:
            reasons.append("no time limit")
        elif due > self.now:
            what = _NEWEST[source]
            reasons.append(f"{what} {self.now - newest} ms old, not more than {self.most_ms}")
            if newest > self.now:
                reasons.append("a timestamp in the future keeps it")
        if missing is None:
            reasons.append("no size limit")
        elif missing > 0:
            reasons.append(
                f"without it the log would have {missing} bytes less than the {self.most_bytes} to keep"
            )
        return reasons
