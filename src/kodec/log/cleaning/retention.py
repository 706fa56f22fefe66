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
from pathlib import Path

from kodec.log.arguments import require_integer
from kodec.log.batches.records import Limits
from kodec.log.cleaning.swap import delete_files, segment_files
from kodec.log.directories.epochs import from_start
from kodec.log.directories.losses import note_missing
from kodec.log.directories.offline import high_watermark, newest_time, require_in_order
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState
from kodec.log.directories.segment import Segment
from kodec.log.directories.snapshots import newest_state
from kodec.log.files.checkpoints import read_offsets, write_leader_epochs, write_offsets
from kodec.log.files.durable import NO_SPACE, replace_file
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition, list_partition
from kodec.log.files.names import LEADER_EPOCHS, LOG_START_OFFSETS, file_name
from kodec.log.omissions import Omissions
from kodec.log.writing.exclusive import changing
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import OffsetOutOfRange
from kodec.runtime.plan import OnStep, Plan, StepReport, ignore

__all__ = ["DeletableSegment", "Reason", "TrimOptions", "TrimPlan", "plan_trim"]


class Reason(enum.Enum):
    """Why a segment is deleted: the value is the text of `kodec trim`."""

    START_OFFSET = "below the start offset"
    SIZE = "over the size"
    TIME = "too old"


@dataclass(frozen=True, slots=True)
class DeletableSegment:
    """A segment to delete: its base offset, the next one's, its bytes (only the log), and why."""

    base_offset: int
    end_offset: int
    bytes: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class TrimOptions:
    """What to delete; see `plan_trim`. `now` is in ms since epoch."""

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
class TrimPlan(Plan[StepReport[DeletableSegment]]):
    """A planned trim; `apply` carries it out.

    Attributes:
        path: the folder, whose name is its `topic_partition`.
        start_offset, end_offset: of the log before; new_start_offset: the first readable one afterwards.
        segments, bytes: of the log before.
        deleted: the segments to delete, oldest first.
        new_segment: the base offset of the empty segment created if all are deleted; None if one stays.
        options: as given. fingerprint: of the files when the plan was made.
        omissions: what the log itself lacks: offsets that are lost, torn closed segments.

    Example: see `plan_trim`.
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
    fingerprint: Fingerprint = field(repr=False)
    omissions: Omissions = field(default_factory=Omissions, repr=False, compare=False)

    @property
    def has_changes(self) -> bool:
        """Whether `apply` would change anything."""
        return bool(self.deleted) or self.new_start_offset != self.start_offset

    @property
    def bytes_deleted(self) -> int:
        """Bytes of the logs of the segments to delete."""
        return sum(segment.bytes for segment in self.deleted)

    def require_current(self) -> None:
        self.fingerprint.require()

    def preview(self) -> StepReport[DeletableSegment]:
        return StepReport(list(self.deleted))

    def apply(self, *, on_step: OnStep = ignore) -> StepReport[DeletableSegment]:
        """Delete the segments; call `on_step` with each. No broker may run on the log directory.

        If all segments are deleted, an empty one is created, so that offsets continue: first, or on a full
        disk before the last one is deleted. A program that has a segment open can go on reading it. After a
        crash at any step, the next trim, or the broker, completes it.

        Raises: StalePlan if the log, or its entries in checkpoints, have changed since the plan was
        made; OSError (BlockingIOError if a broker holds the directory's lock or has the log open), with a
        note of what was deleted before; ValueError for a symbolic link.
        """
        with changing(self.path) as folder, PartitionLog(folder.path, limits=self.options.limits) as log:
            self.require_current()
            # Even if nothing is deleted: an interrupted trim is completed.
            _Trim(log, self, on_step).run()
        return StepReport(list(self.deleted), applied=True)


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

    Whole segments are deleted, oldest first, up to the first that stays; nothing at or above the
    high watermark of `replication-offset-checkpoint` is deleted. A segment is deleted with its indexes and
    the producer snapshot of its base offset.

    Args:
        path: the topic-partition's folder.
        before_offset: records below it are deleted, as by DeleteRecords: it becomes the log start offset,
            written to the log directory's `log-start-offset-checkpoint` if it lies inside a segment.
        retention_bytes: segments are deleted while the others together have this many bytes.
        retention_ms: segments are deleted whose largest timestamp is older; if no record has one, the time
            that the file was last written counts. A time in the future keeps the segment.
        now: ms since epoch; the current time by default.
        limits: how much may be allocated for one batch.

    Returns: a plan; `apply` deletes.
    Raises: OffsetOutOfRange for a `before_offset` above the high watermark; OSError; FormatError for a batch
    that is damaged; ValueError for a folder that is not that of a live topic-partition, for one with files of
    an interrupted replacement, and for a negative size or time.

    Example:
        >>> import shutil
        >>> import kodec
        >>> _ = shutil.copytree("/data/kafka-logs", "logs")
        >>> plan = kodec.operations.plan_trim("logs/segments-0", retention_bytes=20_000)
        >>> len(plan.deleted), plan.new_start_offset
        (3, 207)
        >>> _ = plan.apply()
        >>> kodec.PartitionLog("logs/segments-0").start_offset == plan.new_start_offset
        True
    """
    moment = time.time_ns() // 1_000_000 if now is None else now
    options = TrimOptions(before_offset, retention_bytes, retention_ms, moment, limits)
    fingerprint = Fingerprint.of(path)
    with PartitionLog(fingerprint.folder, limits=limits) as log:
        return _planned(log, options, fingerprint)


def _planned(log: PartitionLog, options: TrimOptions, fingerprint: Fingerprint) -> TrimPlan:
    require_in_order(log)
    plan = trim_of(log, options, fingerprint)
    note_missing(log, plan.omissions)
    return plan


def _by_records(segment: Segment, _: int | None) -> int:
    return newest_time(segment)


def trim_of(
    log: PartitionLog,
    options: TrimOptions,
    fingerprint: Fingerprint,
    time_of: Callable[[Segment, int | None], int] = _by_records,
) -> TrimPlan:
    """Like `plan_trim`, for a log as it is read, even while a broker uses it. Raises the same.

    `time_of` is what counts as the largest timestamp of a segment, given the offset of the next one.
    """
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
        choice.delete(Reason.TIME, _older_than(options.now - options.retention_ms, time_of))
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
        log.end_offset if choice.deleted and not choice.remaining else None,
        options,
        fingerprint,
    )


class _Choice:
    """The segments to delete. `rest` are those that stay so far, `decided` the high watermark or the end."""

    def __init__(self, log: PartitionLog) -> None:
        watermark = high_watermark(log)
        self.decided = log.end_offset if watermark is None else min(watermark, log.end_offset)
        self.remaining = deque(log.segments)
        self.deleted: list[DeletableSegment] = []
        self._end = log.end_offset
        self._size = log.size

    def delete(self, reason: Reason, condition: Callable[[Segment, int | None], bool]) -> None:
        """The oldest segments while `condition` holds for each and the next one's offset."""
        while self.remaining:
            segment = self.remaining[0]
            after = self.remaining[1].base_offset if len(self.remaining) > 1 else None
            end = self._end if after is None else after
            if (after is None and not segment.size) or end > self.decided or not condition(segment, after):
                return
            self.deleted.append(DeletableSegment(segment.base_offset, end, segment.size, reason))
            self.remaining.popleft()
            self._size -= segment.size

    def below(self, offset: int) -> Callable[[Segment, int | None], bool]:
        return lambda _, after: after is not None and after <= offset

    def over(self, most: int) -> Callable[[Segment, int | None], bool]:
        return lambda segment, _: self._size - segment.size >= most


def _older_than(
    moment: int, time_of: Callable[[Segment, int | None], int]
) -> Callable[[Segment, int | None], bool]:
    return lambda segment, after: time_of(segment, after) < moment


class _Trim:
    """Carries a plan out. Segments are deleted before anything is written: that frees room on a full disk."""

    def __init__(self, log: PartitionLog, plan: TrimPlan, on_step: OnStep) -> None:
        self._log = log
        self._plan = plan
        self._on_step = on_step
        self._doomed = deque(plan.deleted)

    def run(self) -> None:
        plan = self._plan
        try:
            if plan.new_segment is not None:
                self._add_segment(plan.new_segment)
            while self._doomed:
                self._delete_first()
            self._note_start()
        except BaseException as error:
            gone = len(plan.deleted) - len(self._doomed)
            error.add_note(f"{plan.path}: {gone} of {len(plan.deleted)} segments were deleted")
            raise

    def _delete_first(self) -> None:
        """Delete the oldest segment: the rest is a log that starts later."""
        folder, base = self._plan.path, self._doomed[0].base_offset
        snapshot = folder / file_name(base, "snapshot")
        delete_files(folder, [*segment_files(folder, base), *([snapshot] if snapshot.is_file() else [])])
        self._on_step(self._doomed.popleft())

    def _add_segment(self, base_offset: int) -> None:
        producers = _producers_at_end(self._log)
        try:
            _add_segment(self._log.path, base_offset, producers)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            # The last one stays until the new one exists: the end of the log must not be lost. A broker
            # rebuilds its indexes.
            while len(self._doomed) > 1:
                self._delete_first()
            last = segment_files(self._log.path, self._doomed[0].base_offset)
            delete_files(self._log.path, [path for path in last if path.suffix in (".index", ".timeindex")])
            _add_segment(self._log.path, base_offset, producers)

    def _note_start(self) -> None:
        log, plan = self._log, self._plan
        checkpoint, key = log.root / LOG_START_OFFSETS, log.topic_partition
        starts = read_offsets(checkpoint) if checkpoint.exists() else {}
        segments = list_partition(log.path).segments
        start = max(plan.new_start_offset, starts.get(key, 0))
        new_starts = {owner: offset for owner, offset in starts.items() if owner != key}
        # As a broker writes it: only if it differs from the name of the first segment.
        if segments and start > segments[0].base_offset:
            new_starts[key] = start
        if new_starts != starts:
            write_offsets(checkpoint, new_starts)
        epochs = log.leader_epochs()
        new_epochs = from_start(epochs, plan.new_start_offset)
        if new_epochs != epochs:
            write_leader_epochs(log.path / LEADER_EPOCHS, new_epochs)


def _producers_at_end(log: PartitionLog) -> ProducerState:
    """The state of the producers at the end of the log."""
    state_offset, state = newest_state(log.segments, log.files.snapshots, log.end_offset)
    for segment in log.segments:
        for head in segment.headers():
            if head.producer_id >= 0 and head.first_known >= state_offset:
                state.take_batch(segment.batch_at(head))
        segment.close()
    return state


def _add_segment(folder: Path, base_offset: int, producers: ProducerState) -> None:
    """Create the empty segment that a broker would roll, with the state of the producers there."""
    replace_file(folder / file_name(base_offset, "snapshot"), producers.snapshot().to_bytes())
    SegmentWriter(folder, base_offset, overwrite=True).close()
