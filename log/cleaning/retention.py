"""Deletes the oldest segments of a log by offset, size and time, as a broker's retention does, offline.

Followed: `UnifiedLog.deleteOldSegments` and `maybeIncrementLogStartOffset` of
`org.apache.kafka.storage.internals.log`, Kafka 4.3.
"""

from __future__ import annotations

import enum
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kodec.log.arguments import require_integer
from kodec.log.batches.records import Limits
from kodec.log.cleaning.swap import delete_files, segment_files
from kodec.log.directories.epochs import from_start
from kodec.log.directories.offline import high_watermark, newest_snapshot, newest_time, require_in_order
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import read_offsets, write_leader_epochs, write_offsets
from kodec.log.files.durable import replace_file
from kodec.log.files.exclusive import changing
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import LEADER_EPOCHS, LOG_START_OFFSETS, file_name
from kodec.log.files.paths import partition_path
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.errors import Malformed, OffsetOutOfRange

__all__ = ["DeletableSegment", "Reason", "TrimOptions", "TrimPlan", "plan_trim"]


class Reason(enum.Enum):
    """Why a segment goes: the value is what `kodec trim` says."""

    START_OFFSET = "below the start offset"
    SIZE = "over the size"
    TIME = "too old"


@dataclass(frozen=True, slots=True)
class DeletableSegment:
    """A segment that goes: its base offset, the next one's, its bytes (of the log alone), and why."""

    base_offset: int
    end_offset: int
    bytes: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class TrimOptions:
    """What is to be deleted; see `plan_trim`. `now` is in ms since epoch."""

    before_offset: int | None
    retention_bytes: int | None
    retention_ms: int | None
    now: int
    limits: Limits

    def __post_init__(self) -> None:
        for name in ("retention_bytes", "retention_ms"):
            value = getattr(self, name)
            if value is not None:
                require_integer(name, value)
            if value is not None and value < 0:
                raise ValueError(f"{name}={value}: not negative")


@dataclass(frozen=True, slots=True)
class TrimPlan:
    """What a trim would do; `apply` does it.

    Attributes:
        path: the folder, whose name says which `topic_partition` it holds.
        start_offset, end_offset: of the log before; new_start_offset: the first that can be read afterwards.
        segments, bytes: of the log before.
        deleted: the segments that go, oldest first.
        new_segment: the base offset of the empty segment that is made where all go; None where one stays.
        options: what was asked for.
    """

    path: Path
    topic_partition: TopicPartition
    start_offset: int
    end_offset: int
    new_start_offset: int
    segments: int
    bytes: int
    deleted: tuple[DeletableSegment, ...]
    new_segment: int | None
    options: TrimOptions

    @property
    def has_changes(self) -> bool:
        """Whether `apply` would change anything."""
        return bool(self.deleted) or self.new_start_offset != self.start_offset

    @property
    def bytes_deleted(self) -> int:
        """Bytes of the logs of the segments that go."""
        return sum(each.bytes for each in self.deleted)

    def apply(self) -> None:
        """Delete what the plan says. No broker may run on the log directory.

        Where all segments go, an empty one is made first, so that the offsets go on. A program that has a
        segment open can read on in it. After a crash at any step, the next trim, or the broker, completes it.

        Raises: Malformed where the log has changed since the plan was made; OSError (BlockingIOError where a
        broker holds the directory's lock or has the log open); ValueError for a symbolic link.
        """
        with changing(self.path) as folder, PartitionLog(folder.path, limits=self.options.limits) as log:
            if _planned(log, self.options) != self:
                error = Malformed("", "the log has changed since the plan was made", at=0)
                raise error.in_source(str(self.path))
            # Also where nothing goes: a trim that was interrupted is completed.
            _apply(log, self)


def plan_trim(
    path: str | os.PathLike[str],
    *,
    before_offset: int | None = None,
    retention_bytes: int | None = None,
    retention_ms: int | None = None,
    now: int | None = None,
    limits: Limits = Limits(),
) -> TrimPlan:
    """Find the oldest segments of a topic-partition that a broker's retention would delete; reads only.

    Whole segments go, one at a time, oldest first, and the first that stays ends it; nothing at or above the
    high watermark of `replication-offset-checkpoint` goes. A segment goes with its indexes and the producer
    snapshot of its base offset.

    Args:
        path: the topic-partition's folder.
        before_offset: records below it are deleted, as by DeleteRecords: it becomes the log start offset,
            written to the log directory's `log-start-offset-checkpoint` where it lies inside of a segment.
        retention_bytes: segments go as long as the others together have that many bytes.
        retention_ms: segments go whose largest timestamp is older; where no record has one, the time that
            the file was last written counts. A time to come keeps the segment.
        now: ms since epoch; the clock's time where it is not given.

    Raises: OffsetOutOfRange for a `before_offset` above the high watermark; OSError; FormatError for a batch
    that is damaged; ValueError for a folder that is not that of a live topic-partition, for one with files of
    an interrupted replacement, and for a negative size or time.
    """
    moment = time.time_ns() // 1_000_000 if now is None else now
    options = TrimOptions(before_offset, retention_bytes, retention_ms, moment, limits)
    with PartitionLog(partition_path(path).path, limits=limits) as log:
        return _planned(log, options)


def _planned(log: PartitionLog, options: TrimOptions) -> TrimPlan:
    require_in_order(log)
    return trim_of(log, options)


def trim_of(log: PartitionLog, options: TrimOptions) -> TrimPlan:
    """As `plan_trim`, of a log as it is read: also while a broker is at work on it. Raises as that."""
    choice = _Choice(log)
    start = log.start_offset
    if (before := options.before_offset) is not None:
        if not 0 <= before <= choice.decided:
            raise OffsetOutOfRange(before, 0, choice.decided, str(log.topic_partition))
        start = max(start, before)
    choice.delete(Reason.START_OFFSET, choice.below(start))
    if options.retention_bytes is not None:
        choice.delete(Reason.SIZE, choice.over(options.retention_bytes))
    if options.retention_ms is not None:
        choice.delete(Reason.TIME, choice.older_than(options.now - options.retention_ms))
    if choice.deleted:
        start = max(start, choice.deleted[-1].end_offset)
    return TrimPlan(
        log.path,
        log.topic_partition,
        log.start_offset,
        log.end_offset,
        start,
        len(log.segments),
        log.size,
        tuple(choice.deleted),
        log.end_offset if choice.deleted and not choice.rest else None,
        options,
    )


class _Choice:
    """Which segments go. `rest` are those that stay so far, `decided` the high watermark or the end."""

    def __init__(self, log: PartitionLog) -> None:
        told = high_watermark(log)
        self.decided = log.end_offset if told is None else min(told, log.end_offset)
        self.rest = deque(log.segments)
        self.deleted: list[DeletableSegment] = []
        self._end = log.end_offset
        self._size = log.size

    def delete(self, reason: Reason, wanted: Callable[[Segment, int | None], bool]) -> None:
        """Take the oldest segments as long as they are `wanted`, each with the next one's offset."""
        while self.rest:
            segment = self.rest[0]
            after = self.rest[1].base_offset if len(self.rest) > 1 else None
            end = self._end if after is None else after
            if (after is None and not segment.size) or end > self.decided or not wanted(segment, after):
                return
            self.deleted.append(DeletableSegment(segment.base_offset, end, segment.size, reason))
            self.rest.popleft()
            self._size -= segment.size

    def below(self, offset: int) -> Callable[[Segment, int | None], bool]:
        return lambda _, after: after is not None and after <= offset

    def over(self, most: int) -> Callable[[Segment, int | None], bool]:
        return lambda segment, _: self._size - segment.size >= most

    def older_than(self, moment: int) -> Callable[[Segment, int | None], bool]:
        return lambda segment, _: newest_time(segment) < moment


def _apply(log: PartitionLog, plan: TrimPlan) -> None:
    """The start offset first: where this is interrupted, the next trim, or the broker, goes on."""
    checkpoint = log.root / LOG_START_OFFSETS
    starts = read_offsets(checkpoint) if checkpoint.is_file() else {}
    key = log.topic_partition
    if plan.new_start_offset > starts.get(key, 0) and plan.new_start_offset > plan.start_offset:
        write_offsets(checkpoint, starts | {key: plan.new_start_offset})
    if plan.new_segment is not None:
        _add_segment(log, plan.new_segment)
    for each in plan.deleted:
        snapshot = log.path / file_name(each.base_offset, "snapshot")
        paths = segment_files(log.path, each.base_offset)
        delete_files(log.path, [*paths, snapshot] if snapshot.is_file() else paths)
    first = plan.new_segment
    for segment in log.segments[len(plan.deleted) :][:1]:
        first = segment.base_offset
    if checkpoint.is_file():
        # As a broker writes it: only where it says more than the name of the first segment.
        starts = read_offsets(checkpoint)
        if key in starts and first is not None and starts[key] <= first:
            del starts[key]
            write_offsets(checkpoint, starts)
    epochs = log.leader_epochs()
    kept = from_start(epochs, plan.new_start_offset)
    if kept != epochs:
        write_leader_epochs(log.path / LEADER_EPOCHS, kept)


def _add_segment(log: PartitionLog, base_offset: int) -> None:
    """Make the empty segment that a broker would roll to, with what is known of the producers there."""
    told_from, state = newest_snapshot(log)
    for segment in log.segments:
        for head in segment.headers():
            if head.producer_id >= 0 and head.first_known >= told_from:
                state.take_batch(segment.batch_at(head))
        segment.close()
    replace_file(log.path / file_name(base_offset, "snapshot"), state.snapshot().to_bytes())
    SegmentWriter(log.path, base_offset).close()
