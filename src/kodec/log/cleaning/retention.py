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
from kodec.log.directories.offline import high_watermark, newest_snapshot, newest_time, require_in_order
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import read_offsets, write_leader_epochs, write_offsets
from kodec.log.files.durable import NO_SPACE, replace_file
from kodec.log.files.exclusive import changing
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition, list_partition
from kodec.log.files.names import LEADER_EPOCHS, LOG_START_OFFSETS, file_name
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import OffsetOutOfRange

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
        options: what was asked for. fingerprint: what was there when the plan was made.

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

        Where all segments go, an empty one is made, so that the offsets go on: first, or on a full disk
        before the last one goes. A program that has a segment open can read on in it. After a crash at any
        step, the next trim, or the broker, completes it.

        Raises: StalePlan where the log, or what the checkpoints say of it, has changed since the plan was
        made; OSError (BlockingIOError where a broker holds the directory's lock or has the log open), with a
        note of what was deleted before; ValueError for a symbolic link.
        """
        with changing(self.path) as folder, PartitionLog(folder.path, limits=self.options.limits) as log:
            self.fingerprint.require()
            # Also where nothing goes: a trim that was interrupted is completed.
            _Trim(log, self).run()


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
    return trim_of(log, options, fingerprint)


def trim_of(log: PartitionLog, options: TrimOptions, fingerprint: Fingerprint) -> TrimPlan:
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
        fingerprint,
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


class _Trim:
    """Carries a plan out. Segments go before anything is written: a full disk has room again then."""

    def __init__(self, log: PartitionLog, plan: TrimPlan) -> None:
        self._log = log
        self._plan = plan
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
        """Delete the oldest segment: what is left is a log that starts later."""
        folder, base = self._plan.path, self._doomed[0].base_offset
        snapshot = folder / file_name(base, "snapshot")
        delete_files(folder, [*segment_files(folder, base), *([snapshot] if snapshot.is_file() else [])])
        self._doomed.popleft()

    def _add_segment(self, base_offset: int) -> None:
        producers = _producers_at_end(self._log)
        try:
            _add_segment(self._log.path, base_offset, producers)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            # The last one stays until the new one is there: the end of the log must not be lost. A broker
            # makes its indexes anew.
            while len(self._doomed) > 1:
                self._delete_first()
            last = segment_files(self._log.path, self._doomed[0].base_offset)
            delete_files(self._log.path, [each for each in last if each.suffix in (".index", ".timeindex")])
            _add_segment(self._log.path, base_offset, producers)

    def _note_start(self) -> None:
        log, plan = self._log, self._plan
        checkpoint, key = log.root / LOG_START_OFFSETS, log.topic_partition
        starts = read_offsets(checkpoint) if checkpoint.exists() else {}
        left = list_partition(log.path).segments
        start = max(plan.new_start_offset, starts.get(key, 0))
        wanted = {owner: offset for owner, offset in starts.items() if owner != key}
        # As a broker writes it: only where it says more than the name of the first segment.
        if left and start > left[0].base_offset:
            wanted[key] = start
        if wanted != starts:
            write_offsets(checkpoint, wanted)
        epochs = log.leader_epochs()
        kept = from_start(epochs, plan.new_start_offset)
        if kept != epochs:
            write_leader_epochs(log.path / LEADER_EPOCHS, kept)


def _producers_at_end(log: PartitionLog) -> ProducerState:
    """What is known of the producers where the log ends."""
    told_from, state = newest_snapshot(log)
    for segment in log.segments:
        for head in segment.headers():
            if head.producer_id >= 0 and head.first_known >= told_from:
                state.take_batch(segment.batch_at(head))
        segment.close()
    return state


def _add_segment(folder: Path, base_offset: int, producers: ProducerState) -> None:
    """Make the empty segment that a broker would roll to, with what is known of the producers there."""
    replace_file(folder / file_name(base_offset, "snapshot"), producers.snapshot().to_bytes())
    SegmentWriter(folder, base_offset, overwrite=True).close()
