"""Erases chosen records from the closed segments of a log: everything else stays, offsets in particular.

Batches are rewritten as the log cleaner rewrites them (`rules.py`, `log/writing/rebuild.py`), files are
exchanged the same way (`swap.py`); `remains.py` finds copies of erased data.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from kodec.generated.log import transaction_index
from kodec.log.arguments import require
from kodec.log.batches.batch import Batch
from kodec.log.batches.like import empty_batch
from kodec.log.batches.records import Limits
from kodec.log.cleaning.cleanable import Known
from kodec.log.cleaning.remains import Holder, Place, find_holders, matching
from kodec.log.cleaning.rules import tells_of_producer
from kodec.log.cleaning.segments import CleanedSegments
from kodec.log.cleaning.swap import Unfinished, replace_segments
from kodec.log.directories.gaps import (
    joined_ranges,
    lost_gaps,
    omitted_offsets,
    require_no_gaps,
)
from kodec.log.directories.losses import note_missing
from kodec.log.directories.offline import require_files, require_live, require_whole
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import offset_ranges_bytes
from kodec.log.files.durable import replace_file
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.indexes import MAX_INDEX
from kodec.log.files.listing import LeftoverKind, TopicPartition, list_partition
from kodec.log.files.names import OMITTED_OFFSETS
from kodec.log.omissions import Omissions
from kodec.log.writing.exclusive import changing
from kodec.log.writing.rebuild import same_format, with_records
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import ArgumentError, FormatError
from kodec.runtime.plan import OnStep, Plan, ignore

__all__ = ["METADATA", "RedactionPlan", "RedactionReport", "plan_redaction"]

METADATA = "__cluster_metadata"


@dataclass(slots=True)
class RedactionReport:
    """The result of a redaction, or of its preview.

    Attributes:
        applied: whether anything was written.
        records, segments: the removed records; the closed segments that hold them.
        rewritten, emptied, removed: batches that lost some of their records, were kept without records, or
            are gone; counted when they are written.
        bytes_before, bytes_after: of these segments.
        deleted_files: files marked for deletion, or left by an interrupted replacement of segments, which
            were deleted (or would be).
        holders: the files that hold matches: before, or, once applied, after. Files whose bytes
            hold the key or the value only in other records are included; see `Holder`.
        rolls: whether the active segment holds matches and is rolled first.
        finishes: whether a replacement of segments that was interrupted is completed first.
        omissions: what the log itself lacks: offsets that are lost.
        topic_partition, path: of the log.

    Example: see `plan_redaction`.
    """

    topic_partition: TopicPartition
    path: Path
    applied: bool = field(compare=False)
    records: int = 0
    segments: int = 0
    rewritten: int = field(default=0, compare=False)
    emptied: int = field(default=0, compare=False)
    removed: int = field(default=0, compare=False)
    bytes_before: int = 0
    bytes_after: int = field(default=0, compare=False)
    deleted_files: list[Path] = field(default_factory=list)
    holders: list[Holder] = field(default_factory=list, compare=False)
    rolls: bool = False
    finishes: bool = False
    omissions: Omissions = field(default_factory=Omissions)

    @property
    def has_changes(self) -> bool:
        """Whether there is something to remove."""
        return bool(self.records or self.deleted_files or self.finishes)

    @property
    def left(self) -> list[Holder]:
        """Files with matching records, or possibly with some, that are not, or would not be, changed."""
        matching = [holder for holder in self.holders if holder.matches]
        if self.applied:
            return matching
        changed = {Place.CLOSED, *([Place.ACTIVE] if self.rolls else [])}
        return [
            holder
            for holder in matching
            if holder.place is not Place.DELETED and (holder.place not in changed or holder.problem)
        ]


@dataclass(frozen=True, slots=True)
class RedactionPlan(Plan[RedactionReport]):
    """A redaction of a topic-partition's log; `preview` returns what would be removed, `apply` erases it.

    Attributes:
        path: the folder, whose name shows which `topic_partition` it holds.
        wanted: the records to remove. fingerprint: of the files when the plan was made.
        progress: called with the bytes looked at since the last call.
        limits: how much may be allocated for one batch.
        roll: whether the active segment is rolled first, so that it is redacted too.
        over_gaps: whether to go on where the log has lost offsets.

    Example: see `plan_redaction`.
    """

    path: Path
    topic_partition: TopicPartition
    wanted: RecordFilter
    limits: Limits
    fingerprint: Fingerprint = field(repr=False)
    progress: Callable[[int], None] | None = None
    roll: bool = False
    over_gaps: bool = False
    _previews: list[RedactionReport] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def has_changes(self) -> bool:
        """Whether there is something to remove, as `preview` finds."""
        return self.preview().has_changes

    def require_current(self) -> None:
        self.fingerprint.require()

    def preview(self) -> RedactionReport:
        """Read all of the log, once, and return what would be removed. Errors as in `apply`."""
        if not self._previews:
            self._previews.append(self._survey()[0])
        return self._previews[0]

    def apply(self, *, on_step: OnStep = ignore) -> RedactionReport:
        """Erase the records, then search for them again in all files. No broker may run on the log directory.

        Segments are exchanged one by one, each in the steps of `replace_segments`: if this is killed at any
        moment, a starting broker, or `recover`, finds the old segment or the new one, and a further redaction
        completes it. Old files are deleted before it returns. What is erased is listed in
        `kodec-omitted-offsets` first, so that it is not taken for compaction, nor brought back by a salvage.
        `on_step` is called with the path of each segment that was exchanged.

        Raises: StalePlan if anything has changed since the plan was made; OSError (BlockingIOError if a
        broker holds the directory's lock or has the log open); FormatError for a damaged batch and
        for a segment with a torn tail, which must be recovered first; OffsetsMissing for a log that has lost
        offsets, without `over_gaps`; ValueError for a symbolic link.
        """
        with changing(self.path) as folder:
            self.require_current()
            report, affected = self._survey()
            if report.has_changes:
                self._unfinished().end(folder.path)
                # a replacement that is now complete has other names
                affected = {_final(path) for path in affected}
                if report.rolls:
                    with PartitionLog(folder.path, limits=self.limits) as log:
                        SegmentWriter(folder.path, log.end_offset).close()
            report.applied = True
            with PartitionLog(folder.path, limits=self.limits) as log:
                known = _known(log) if affected else None
                for segment in log.segments[:-1]:
                    if segment.path in affected:
                        assert known is not None
                        _Redaction(log, segment, self.wanted, known, report).run()
                        on_step(segment.path)
            with PartitionLog(folder.path, limits=self.limits) as log:
                report.holders = list(find_holders(log, self.wanted, self.progress))
                sizes = {segment.path: segment.size for segment in log.segments}
                report.bytes_after = sum(sizes.get(path, 0) for path in affected)
            return report

    def _unfinished(self) -> Unfinished:
        return Unfinished.of(list_partition(self.path), self.limits)

    def _survey(self) -> tuple[RedactionReport, set[Path]]:
        """The plan and the affected segments."""
        with PartitionLog(self.path, limits=self.limits) as log:
            _require_redactable(log)
            report = RedactionReport(self.topic_partition, log.path, False)
            report.holders = list(find_holders(log, self.wanted, self.progress))
            active = [holder for holder in report.holders if holder.place is Place.ACTIVE and holder.records]
            report.rolls = self.roll and bool(active)
            erased = [holder for holder in report.holders if holder.place is Place.CLOSED and holder.records]
            erased += active if report.rolls else []
            affected = {holder.path for holder in erased}
            unfinished = self._unfinished()
            report.finishes = bool(unfinished.renamed)
            # also before any other replacement, of which it would look like a part
            matches = any(holder.place is Place.DELETED and holder.matches for holder in report.holders)
            if affected or matches or report.finishes:
                report.deleted_files = unfinished.deleted
            gaps = lost_gaps(log)
            if affected:
                require_no_gaps(log, () if self.over_gaps else gaps, "over_gaps (--over-gaps)")
                _known(log)
            note_missing(log, report.omissions)
            for segment in log.segments:
                if segment.path in affected:
                    _require_sound(segment)
            report.records = sum(holder.records for holder in erased)
            report.segments = len(affected)
            report.bytes_before = sum(segment.size for segment in log.segments if segment.path in affected)
            return report, affected


def _final(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(f".{LeftoverKind.SWAP.value}"))


def plan_redaction(
    path: str | os.PathLike[str],
    wanted: RecordFilter,
    *,
    roll: bool = False,
    over_gaps: bool = False,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> RedactionPlan:
    """Plan to erase the records that a search with `wanted` finds; reads nothing yet.

    They are removed from all segments but the active one, even if aborted or below the log start
    offset. Batches keep their offsets, producers, sequences, epochs and flags; the other records in them
    keep offsets and timestamps. A batch that loses all its records stays without records if a broker's
    cleaner keeps it (the last one of its producer), if it is the last of its segment, and if its
    transaction is undecided; else it is removed. Control records stay. Indexes are rebuilt; an emptied
    message of magic 0 or 1 that ends a segment becomes an empty batch of magic 2.

    Args:
        path: the topic-partition's folder.
        wanted: which records go.
        roll: roll the active segment first if it holds matches: it is closed then, and redacted too.
        over_gaps: go on where offsets have been lost; they stay recorded as lost.
        limits: how much may be allocated for one batch.
        progress: called with the bytes read since the last call.

    Returns: a plan; `apply` erases.
    Raises: ArgumentError for a filter that selects every record, control records or
    `read_committed`; OSError; ValueError for a folder that is not that of a topic-partition.

    Example:
        >>> import shutil
        >>> import kodec
        >>> _ = shutil.copytree("/data/kafka-logs", "logs")
        >>> wanted = kodec.RecordFilter(where=lambda record: record.offset % 50 == 3)
        >>> plan = kodec.operations.plan_redaction("logs/segments-0", wanted)
        >>> plan.preview().records
        7
        >>> plan.apply().records
        7
    """
    require("wanted", wanted, RecordFilter, "kodec.RecordFilter(...) is needed")
    if wanted.control or wanted.isolation != "read_uncommitted":
        raise ArgumentError("control records are not erased, and aborted records are erased as others are")
    if wanted == RecordFilter():
        raise ArgumentError("choose the records to erase: without a condition it would be all")
    fingerprint = Fingerprint.of(path)
    of_topic = wanted.of_topic(fingerprint.topic_partition.topic)
    return RedactionPlan(
        fingerprint.folder,
        fingerprint.topic_partition,
        of_topic,
        limits,
        fingerprint,
        progress,
        roll,
        over_gaps,
    )


def _require_redactable(log: PartitionLog) -> None:
    # what an interrupted replacement has left is finished first
    require_files(log)
    require_live(log)
    if log.topic_partition.topic == METADATA:
        raise ValueError(f"{log.path}: the log of the metadata quorum is not edited")


def _known(log: PartitionLog) -> Known:
    """The state of the whole log; producers of any age are kept. Raises OSError, FormatError."""
    return Known.of(log, now=0, producer_expiration_ms=2**63)


def _require_sound(segment: Segment) -> None:
    """Refuse a segment that cannot be rewritten. Raises FormatError."""
    for _ in segment.batches(keeps=False):
        pass
    require_whole(segment)
    segment.close()


class _Redaction:
    """One closed segment, rewritten."""

    def __init__(
        self,
        log: PartitionLog,
        segment: Segment,
        criteria: RecordFilter,
        known: Known,
        report: RedactionReport,
    ) -> None:
        self._log = log
        self._segment = segment
        self._criteria = criteria
        self._known = known
        self._report = report
        self._next = segment.next_offset
        self._erased: list[tuple[int, int]] = []

    def run(self) -> None:
        segment = self._segment
        output = CleanedSegments(self._log, segment.base_offset, max_index_bytes=MAX_INDEX, write=True)
        try:
            for batch in segment.batches():
                for data in self._redacted(batch):
                    output.append(data, batch)
                for entry in self._ended_by(batch):
                    output.add_aborted(entry)
            require_whole(segment)
            output.close(segment)
            # before the records go: without it their absence would be taken for compaction
            omitted = joined_ranges([*omitted_offsets(self._log), *self._erased])
            replace_file(self._log.path / OMITTED_OFFSETS, offset_ranges_bytes(omitted))
        except BaseException:
            output.abandon()
            raise
        finally:
            segment.close()
        replace_segments(self._log.path, output.base_offsets, [segment.base_offset])

    def _ended_by(self, batch: Batch) -> list[transaction_index.Entry]:
        if not batch.is_control:
            return []
        return [entry for entry in self._known.aborted if entry.last_offset == batch.last_offset]

    def _redacted(self, batch: Batch) -> list[bytes]:
        """The batches to write for one: none, one, or a message and an empty batch."""
        try:
            matches = matching(batch, self._criteria)
            if not matches:
                return [batch.data]
            remaining = [record for record in batch.records() if not self._criteria.matches(record)]
        except FormatError as error:
            raise error.in_source(str(self._segment.path)) from None
        # two records of a batch may have one offset
        gone = {record.offset for record in matches} - {record.offset for record in remaining}
        self._erased += joined_ranges((offset, offset) for offset in gone)
        if remaining:
            self._report.rewritten += 1
            if batch.is_list:
                return [with_records(batch, remaining)]
            # A wrapper ends with a record, and the segment with its last offset.
            is_end = batch.next_offset >= self._next and remaining[-1].offset < batch.last_offset
            return [same_format(batch, remaining), *([empty_batch(batch)] if is_end else [])]
        if self._must_stay(batch):
            self._report.emptied += 1
            return [empty_batch(batch)]
        self._erased.append((batch.base_offset, batch.last_offset))
        self._report.removed += 1
        return []

    def _must_stay(self, batch: Batch) -> bool:
        """Whether a batch must stay even without records."""
        return (
            batch.next_offset >= self._next
            or batch.next_offset > self._known.stable_offset
            or tells_of_producer(batch, self._known.producers)
        )
