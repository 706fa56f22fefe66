"""Deletes the oldest segments of a log by offset, size and time, as a broker's retention does, offline.

Followed: `UnifiedLog.deleteOldSegments` and `maybeIncrementLogStartOffset` of
`org.apache.kafka.storage.internals.log`, Kafka 4.3.
"""

from __future__ import annotations

import enum
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from kodec.log.cleaning.swap import delete_files, segment_files
from kodec.log.directories.epochs import from_start
from kodec.log.directories.offline import high_watermark, newest_snapshot, newest_time, require_in_order
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.entries.records import Limits
from kodec.log.files.checkpoints import read_offsets, write_leader_epochs, write_offsets
from kodec.log.files.durable import replace_file
from kodec.log.files.exclusive import changing
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import LEADER_EPOCHS, LOG_START_OFFSETS, file_name
from kodec.log.files.paths import partition_path
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.errors import OffsetOutOfRange

__all__ = ["DoomedSegment", "Reason", "TrimReport", "trim"]


class Reason(enum.Enum):
    """Why a segment goes: the value is what `kodec trim` says."""

    START_OFFSET = "below the start offset"
    SIZE = "over the size"
    TIME = "too old"


@dataclass(frozen=True, slots=True)
class DoomedSegment:
    """A segment that goes: its base offset, the next one's, its bytes (of the log alone), and why."""

    base_offset: int
    end_offset: int
    bytes: int
    reason: Reason


@dataclass(slots=True)
class TrimReport:
    """What a trim did, or would do.

    Attributes:
        applied: whether anything was written.
        start_offset, end_offset: of the log before; new_start_offset: the first that can be read afterwards.
        segments, bytes: of the log before.
        deleted: the segments that go, oldest first.
        new_segment: the base offset of the empty segment that is made where all go; None where one stays.
    """

    topic_partition: TopicPartition
    path: Path
    applied: bool
    start_offset: int
    end_offset: int
    new_start_offset: int
    segments: int
    bytes: int
    deleted: list[DoomedSegment] = field(default_factory=list)
    new_segment: int | None = None

    @property
    def bytes_deleted(self) -> int:
        """Bytes of the logs of the segments that go."""
        return sum(each.bytes for each in self.deleted)


def trim(
    path: str | os.PathLike[str],
    *,
    apply: bool = False,
    before_offset: int | None = None,
    retention_bytes: int | None = None,
    retention_ms: int | None = None,
    now: int | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> TrimReport:
    """Delete the oldest segments of a topic-partition, or, without `apply`, say which ones would go.

    No broker may run on the directory. Whole segments go, one at a time, oldest first, and the first that
    stays ends it; nothing at or above the high watermark of `replication-offset-checkpoint` goes. A segment
    goes with its indexes and the producer snapshot of its base offset. Where all go, an empty segment is made
    first, so that the offsets go on. Who has a segment open can read on in it.

    Args:
        path: the topic-partition's folder.
        apply: do it.
        before_offset: records below it are deleted, as by DeleteRecords: it becomes the log start offset,
            written to the root's `log-start-offset-checkpoint` where it lies inside of a segment.
        retention_bytes: segments go as long as the others together have that many bytes.
        retention_ms: segments go whose largest timestamp is older; where no record has one, the time that
            the file was last written counts. A time to come keeps the segment.
        now: ms since epoch; the clock's time where it is not given.

    Raises: OffsetOutOfRange for a `before_offset` above the high watermark; OSError (BlockingIOError where a
    broker holds the directory's lock or has the log open); FormatError for an entry that is damaged;
    ValueError for a folder that is not that of a live topic-partition, for one that something interrupted has
    left files in, with `apply` for a symbolic link, and for a negative size or time.
    """
    for name, value in (("retention_bytes", retention_bytes), ("retention_ms", retention_ms)):
        if value is not None and value < 0:
            raise ValueError(f"{name}={value}: not negative")
    moment = time.time_ns() // 1_000_000 if now is None else now
    with (
        changing(path) if apply else nullcontext(partition_path(path)) as folder,
        PartitionLog(folder.path, limits=limits) as log,
    ):
        require_in_order(log)
        plan = _Plan(log)
        report = TrimReport(
            log.topic_partition,
            log.path,
            apply,
            log.start_offset,
            log.end_offset,
            log.start_offset,
            len(log.segments),
            log.size,
        )
        if before_offset is not None:
            if not 0 <= before_offset <= plan.decided:
                raise OffsetOutOfRange(before_offset, 0, plan.decided, str(log.topic_partition))
            report.new_start_offset = max(log.start_offset, before_offset)
        plan.doom(Reason.START_OFFSET, plan.below(report.new_start_offset))
        if retention_bytes is not None:
            plan.doom(Reason.SIZE, plan.over(retention_bytes))
        if retention_ms is not None:
            plan.doom(Reason.TIME, plan.older_than(moment - retention_ms))
        report.deleted = plan.doomed
        if plan.doomed:
            report.new_start_offset = max(report.new_start_offset, plan.doomed[-1].end_offset)
            if not plan.rest:
                report.new_segment = log.end_offset
        if apply:
            _apply(log, report)
        return report


class _Plan:
    """Which segments go. `rest` are those that stay so far, `decided` the high watermark or the end."""

    def __init__(self, log: PartitionLog) -> None:
        told = high_watermark(log)
        self.decided = log.end_offset if told is None else min(told, log.end_offset)
        self.rest = list(log.segments)
        self.doomed: list[DoomedSegment] = []
        self._end = log.end_offset

    def doom(self, reason: Reason, wanted: Callable[[Segment, int | None], bool]) -> None:
        """Take the oldest segments as long as they are `wanted`, each told with the next one's offset."""
        while self.rest:
            segment = self.rest[0]
            after = self.rest[1].base_offset if len(self.rest) > 1 else None
            end = self._end if after is None else after
            if (after is None and not segment.size) or end > self.decided or not wanted(segment, after):
                return
            self.doomed.append(DoomedSegment(segment.base_offset, end, segment.size, reason))
            del self.rest[0]

    def below(self, offset: int) -> Callable[[Segment, int | None], bool]:
        return lambda _, after: after is not None and after <= offset

    def over(self, most: int) -> Callable[[Segment, int | None], bool]:
        def wanted(segment: Segment, _: int | None) -> bool:
            return sum(each.size for each in self.rest) - segment.size >= most

        return wanted

    def older_than(self, moment: int) -> Callable[[Segment, int | None], bool]:
        return lambda segment, _: newest_time(segment) < moment


def _apply(log: PartitionLog, report: TrimReport) -> None:
    """The start offset first: where it is cut short, the next trim, or the broker, goes on."""
    checkpoint = log.root / LOG_START_OFFSETS
    starts = read_offsets(checkpoint) if checkpoint.is_file() else {}
    key = log.topic_partition
    if report.new_start_offset > starts.get(key, 0) and report.new_start_offset > report.start_offset:
        write_offsets(checkpoint, starts | {key: report.new_start_offset})
    if report.new_segment is not None:
        _add_segment(log, report.new_segment)
    for each in report.deleted:
        snapshot = log.path / file_name(each.base_offset, "snapshot")
        paths = segment_files(log.path, each.base_offset)
        delete_files(log.path, [*paths, snapshot] if snapshot.is_file() else paths)
    first = report.new_segment
    for segment in log.segments[len(report.deleted) :][:1]:
        first = segment.base_offset
    if checkpoint.is_file():
        # As a broker writes it: only where it says more than the name of the first segment.
        starts = read_offsets(checkpoint)
        if key in starts and first is not None and starts[key] <= first:
            del starts[key]
            write_offsets(checkpoint, starts)
    epochs = log.leader_epochs()
    kept = from_start(epochs, report.new_start_offset)
    if kept != epochs:
        write_leader_epochs(log.path / LEADER_EPOCHS, kept)


def _add_segment(log: PartitionLog, base_offset: int) -> None:
    """Make the empty segment that a broker would roll to, with what is known of the producers there."""
    told_from, state = newest_snapshot(log)
    for segment in log.segments:
        for head in segment.heads():
            if head.producer_id >= 0 and head.first_known >= told_from:
                state.take_batch(segment.batch_at(head))
        segment.close()
    replace_file(log.path / file_name(base_offset, "snapshot"), state.snapshot().to_bytes())
    SegmentWriter(log.path, base_offset).close()
