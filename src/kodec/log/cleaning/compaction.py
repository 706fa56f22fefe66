"""Compacts a log: keeps the last value of each key, as a broker's cleaner does, offline.

Followed: `Cleaner.doClean` of `org.apache.kafka.storage.internals.log`, Kafka 4.3. The compactable range is
in `cleanable.py`, the rules for records are in `rules.py`, and the exchange of files is in
`swap.py`.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.cleaning.cleanable import Known, first_dirty, first_uncleanable, note_cleaned
from kodec.log.cleaning.offset_map import OffsetMap
from kodec.log.cleaning.rules import BatchCleaner, CleanedTransactions, Counts
from kodec.log.cleaning.segments import CleanedSegments
from kodec.log.cleaning.swap import replace_segments
from kodec.log.directories.gaps import (
    Gap,
    cleaned_up_to,
    joined_ranges,
    lost_gaps,
    omitted_offsets,
    require_no_gaps,
)
from kodec.log.directories.losses import note_missing
from kodec.log.directories.offline import modified, require_in_order, require_whole
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import offset_ranges_bytes
from kodec.log.files.durable import replace_file
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.indexes import MAX_INDEX
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import OMITTED_OFFSETS
from kodec.log.kernel import backend
from kodec.log.omissions import Omissions
from kodec.log.tables.table import scan_table
from kodec.log.writing.exclusive import changing
from kodec.runtime.dataclass import dataclass, field, fields
from kodec.runtime.errors import FormatError
from kodec.runtime.plan import OnStep, Plan, ignore

__all__ = ["CompactionOptions", "CompactionPlan", "CompactionReport", "has_columns", "plan_compaction"]

_DAY = 86_400_000
_METADATA = "__cluster_metadata"
_ENOUGH = 4 << 20


@dataclass(slots=True)
class CompactionReport:
    """The result of a compaction, or of its preview.

    Attributes:
        applied: whether anything was written.
        first_dirty_offset: the start of the range whose keys were read: the part before was compacted
            before.
        first_uncleanable_offset: the limit of that range: the start of the segment that holds the last
            stable offset, of one that is too young, or of the active segment.
        end_offset: where it ended. It is lower if the keys did not fit the buffer and `applied` is false:
            the report then covers only the first round.
        rounds: passes through the log; more than one if the keys do not fit the buffer.
        keys: the largest number of keys in the buffer.
        segments_before, segments_after, bytes_before, bytes_after: of the whole log.
        counts: of all rounds together.
        omissions: what the log itself lacks: offsets that are lost.
        topic_partition, path: of the log.

    Example: see `plan_compaction`.
    """

    topic_partition: TopicPartition
    path: Path
    applied: bool = field(compare=False)
    first_dirty_offset: int
    first_uncleanable_offset: int
    end_offset: int
    segments_before: int
    bytes_before: int
    segments_after: int = 0
    bytes_after: int = 0
    rounds: int = 0
    keys: int = 0
    counts: Counts = field(default_factory=Counts)
    omissions: Omissions = field(default_factory=Omissions)

    @property
    def complete(self) -> bool:
        """Whether the whole compactable range was processed."""
        return self.end_offset >= self.first_uncleanable_offset


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """How a log is compacted; see `plan_compaction`. `now` is in ms since epoch."""

    delete_retention_ms: int
    min_compaction_lag_ms: int
    segment_bytes: int
    max_index_bytes: int
    buffer_bytes: int
    load_factor: float
    producer_expiration_ms: int
    from_start: bool
    keep_format: bool
    now: int
    limits: Limits
    progress: Callable[[int], None] | None = None
    over_gaps: bool = False


@dataclass(frozen=True, slots=True)
class CompactionPlan(Plan[CompactionReport]):
    """A planned compaction of a log; `preview` returns the result without writing, `apply` compacts.

    Attributes:
        path: the folder, whose name is its `topic_partition`.
        first_dirty_offset, first_uncleanable_offset: the range whose keys are read, as in
            `CompactionReport`.
        options: as given. fingerprint: of the files when the plan was made.

    Example: see `plan_compaction`.
    """

    path: Path
    topic_partition: TopicPartition
    first_dirty_offset: int
    first_uncleanable_offset: int
    options: CompactionOptions
    fingerprint: Fingerprint = field(repr=False)

    @property
    def has_changes(self) -> bool:
        """Whether there is a range to compact."""
        return self.first_dirty_offset < self.first_uncleanable_offset

    def require_current(self) -> None:
        self.fingerprint.require()

    def preview(self) -> CompactionReport:
        """Read the log and return what the first round would do; write nothing. Errors as in `apply`."""
        return _compact(self.path, self.options, None)

    def apply(self, *, on_step: OnStep = ignore) -> CompactionReport:
        """Compact the log. No broker may run on the log directory.

        The log is exchanged some segments at a time; if it is killed at any moment, a starting broker, or
        `recover`, finds the old segments or the new ones. An exception from `progress` ends the compaction,
        with the log as it was or with some of its segments compacted. `on_step` is called with the base
        offsets of segments that were exchanged.

        Raises: StalePlan if the log, or its entries in checkpoints, have changed since the plan was
        made; OSError (BlockingIOError if a broker holds the directory's lock or has the log open);
        FormatError for a damaged batch and for a segment with a torn tail, which must be recovered
        first; OffsetsMissing for a log that has lost offsets, without `over_gaps`; ValueError for a
        symbolic link. A note of the error states what was compacted before.
        """
        with changing(self.path) as folder:
            self.require_current()
            return _compact(folder.path, self.options, on_step)


def plan_compaction(
    path: str | os.PathLike[str],
    *,
    delete_retention_ms: int = _DAY,
    min_compaction_lag_ms: int = 0,
    segment_bytes: int = 1 << 30,
    max_index_bytes: int = MAX_INDEX,
    buffer_bytes: int = 128 << 20,
    load_factor: float = 0.9,
    producer_expiration_ms: int = _DAY,
    from_start: bool = False,
    keep_format: bool = False,
    over_gaps: bool = False,
    now: int | None = None,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> CompactionPlan:
    """Find the compactable part of a topic-partition's log; reads headers only.

    A record stays if no newer one in the compacted range has its key; offsets and timestamps do not
    change. Records without a key are removed, as by a broker. The active segment is not touched, nor data
    above the last stable offset or the high watermark of `replication-offset-checkpoint`.

    Args:
        path: the topic-partition's folder.
        delete_retention_ms: how long a tombstone stays after it was first compacted (`delete.retention.ms`).
        min_compaction_lag_ms: segments with a record younger than that are not compacted.
        segment_bytes, max_index_bytes: neighbouring segments are merged up to these.
        buffer_bytes, load_factor: memory for the keys, 24 bytes for each; if they do not fit, the log is
            read several times.
        producer_expiration_ms: a producer's last batch stays for this long after its timestamp.
        from_start: read all keys again, including those compacted according to `cleaner-offset-checkpoint`.
            This also removes expired tombstones from a log that has nothing new.
        keep_format: messages of magic 0 and 1 keep their format, for brokers before 4.0, which did the same.
            Otherwise they become batches of magic 2, as with brokers since.
        over_gaps: go on where offsets have been lost. They stay recorded as lost: `kodec-omitted-offsets`
            then lists what compaction may have removed, and `cleaner-offset-checkpoint` ends before them.
        now: ms since epoch; the current time by default.
        progress: called regularly, by `preview` and `apply`, with the bytes read since the last call.
        limits: how much may be allocated for one batch.

    Returns: a plan; `apply` writes.
    Raises: OSError; FormatError for a batch that is damaged and for a segment with a torn tail, which must
    be recovered first; ValueError for a folder that is not that of a live topic-partition, for one with files
    of an interrupted replacement, or for the log of the metadata quorum.

    Example:
        >>> import shutil
        >>> import kodec
        >>> _ = shutil.copytree("/data/kafka-logs", "logs")
        >>> plan = kodec.operations.plan_compaction("logs/compacted-0", from_start=True)
        >>> plan.preview().applied
        False
        >>> report = plan.apply()
        >>> report.bytes_after <= report.bytes_before
        True
    """
    options = CompactionOptions(
        delete_retention_ms,
        min_compaction_lag_ms,
        segment_bytes,
        max_index_bytes,
        buffer_bytes,
        load_factor,
        producer_expiration_ms,
        from_start,
        keep_format,
        time.time_ns() // 1_000_000 if now is None else now,
        limits,
        progress,
        over_gaps,
    )
    fingerprint = Fingerprint.of(path)
    with PartitionLog(fingerprint.folder, limits=limits) as log:
        _, dirty, end = _dirty_range(log, options, None)
        return CompactionPlan(log.path, log.topic_partition, dirty, end, options, fingerprint)


def _dirty_range(
    log: PartitionLog, options: CompactionOptions, reached: int | None
) -> tuple[Known, int, int]:
    """The state of the whole log and the range to compact; after the first round it begins at `reached`."""
    _require_compactable(log)
    known = Known.of(log, now=options.now, producer_expiration_ms=options.producer_expiration_ms)
    dirty = reached
    if dirty is None:
        dirty = log.start_offset if options.from_start else first_dirty(log)
    lag = options.min_compaction_lag_ms
    return known, dirty, first_uncleanable(log, known, dirty, now=options.now, min_compaction_lag_ms=lag)


def _compact(path: Path, options: CompactionOptions, on_step: OnStep | None) -> CompactionReport:
    """Compact a log; with None only find out what that would do."""
    apply = on_step is not None
    report: CompactionReport | None = None
    gaps: list[Gap] = []
    while True:
        with PartitionLog(path, limits=options.limits) as log:
            known, dirty, end = _dirty_range(log, options, None if report is None else report.end_offset)
            if report is None:
                gaps = lost_gaps(log)
                size = sum(segment.path.stat().st_size for segment in log.segments)
                report = CompactionReport(
                    log.topic_partition, log.path, apply, dirty, end, dirty, len(log.segments), size
                )
                note_missing(log, report.omissions)
            if dirty < end:
                hidden = [gap for gap in gaps if gap.lost < end]
                require_no_gaps(log, () if options.over_gaps else hidden, "over_gaps (--over-gaps)")
                work = _Round(log, known, options, dirty, end, hidden)
                work.run(on_step)
                _add(report, work)
                if apply and not report.complete:
                    continue
            if apply or not report.rounds:
                report.segments_after, report.bytes_after = _stored(path, options.limits)
            return report


def _stored(path: Path, limits: Limits) -> tuple[int, int]:
    with PartitionLog(path, limits=limits) as log:
        return len(log.segments), log.size


def _add(report: CompactionReport, work: _Round) -> None:
    report.rounds += 1
    report.end_offset = work.reached
    report.keys = max(report.keys, work.newest.size)
    counts = work.cleaner.counts
    for counter in fields(Counts):
        setattr(
            report.counts, counter.name, getattr(report.counts, counter.name) + getattr(counts, counter.name)
        )
    report.segments_after = report.segments_before - work.segments + work.new_segments
    report.bytes_after = report.bytes_before - counts.bytes + counts.bytes_kept


def _require_compactable(log: PartitionLog) -> None:
    require_in_order(log)
    if log.topic_partition.topic == _METADATA:
        raise ValueError(f"{log.path}: the log of the metadata quorum has snapshots and is not compacted")


# -- one time through the log -------------------------------------------------------------------------


def has_columns() -> bool:
    """Whether the native kernel can read the columns of a log."""
    return backend() == "native" and importlib.util.find_spec("pyarrow") is not None


class _Round:
    """One pass: the keys of the dirty range, then all segments up to its end.

    Attributes: `reached` is the offset up to which the log is then compacted; `segments` and `new_segments`
    are the numbers of segments read and written.
    """

    def __init__(
        self,
        log: PartitionLog,
        known: Known,
        settings: CompactionOptions,
        dirty: int,
        end: int,
        lost: Sequence[Gap],
    ) -> None:
        self.log = log
        self._lost = lost
        self.settings = settings
        self.segments = self.new_segments = 0
        self._dirty = dirty
        self._end = end
        self._known = known
        self._progress = settings.progress
        self._unreported = 0
        self.newest = OffsetMap(settings.buffer_bytes, dirty, end, load_factor=settings.load_factor)
        self.transactions = CleanedTransactions(known.aborted)
        self.cleaner = BatchCleaner(
            self.newest,
            self.transactions,
            known.producers,
            end=end,
            now=settings.now,
            delete_retention_ms=settings.delete_retention_ms,
            keep_format=settings.keep_format,
        )
        self.reached = dirty

    def run(self, on_step: OnStep | None) -> None:
        self._map_keys()
        self.reached = self.newest.latest + 1
        segments = [segment for segment in self.log.segments if segment.base_offset < self.reached]
        clean = [segment for segment in segments if segment.base_offset < self._dirty]
        oldest = modified(clean[-1]) - self.settings.delete_retention_ms if clean else 0
        self.segments = len(segments)
        behind = {gap.last + 1 for gap in self._lost}
        for group in _groups(self.log, segments, self._end, self.settings, behind):
            try:
                output = self._clean(group, oldest, on_step is not None)
                new = output.base_offsets
                if on_step is not None:
                    self._note_omitted(output, group[-1])
                    old = [segment.base_offset for segment in group]
                    replace_segments(self.log.path, new, old, decided=partial(self._note, group[-1]))
                    on_step(old)
            except BaseException as error:
                if self.new_segments and on_step is not None:
                    base = group[0].base_offset
                    error.add_note(f"{self.log.path}: the segments below {base} were compacted before")
                raise
            self.new_segments += len(new)

    def _note(self, last: Segment) -> None:
        """Record that the log is compacted up to the end of a segment: nothing else explains a gap there.

        That is true even if the round ends here: the replaced segments have no key of the round twice.
        """
        ends = (
            segment.base_offset for segment in self.log.segments if segment.base_offset > last.base_offset
        )
        offset = min(next(ends, self.reached), self.reached, *(gap.lost for gap in self._lost))
        if offset > cleaned_up_to(self.log):
            note_cleaned(self.log, offset)

    def _note_omitted(self, output: CleanedSegments, last: Segment) -> None:
        """List what the new segments lack, before they replace others, and not what was lost before.

        Only where `cleaner-offset-checkpoint` and what the batches show do not explain it: beside lost
        offsets, which they would hide, and in a log that has such a list, where batches show nothing.
        """
        path = self.log.path / OMITTED_OFFSETS
        if not self._lost and not path.exists():
            return
        following = (
            segment.base_offset for segment in self.log.segments if segment.base_offset > last.base_offset
        )
        lost = (gap.lost for gap in self._lost if gap.lost >= output.end)
        after = min(*following, *lost, self.log.end_offset)
        tail = [(output.end, after - 1)] if output.end < after else []
        omitted = joined_ranges([*omitted_offsets(self.log), *output.gaps, *tail])
        replace_file(path, offset_ranges_bytes(omitted))

    def _report_progress(self, size: int) -> None:
        self._unreported += size
        if self._progress is not None and self._unreported >= _ENOUGH:
            unreported, self._unreported = self._unreported, 0
            self._progress(unreported)

    def _batches(self, segment: Segment, position: int = 0) -> Generator[Batch, None, None]:
        for batch in segment.batches(position):
            yield batch
            self._report_progress(batch.size)
        require_whole(segment)
        segment.close()

    def _map_keys(self) -> None:
        """Fill the map from the dirty range, while there is room."""
        # Columns do not show which batches were aborted.
        columns = not self._known.aborted and has_columns()
        transactions = CleanedTransactions(self._known.aborted)
        segments = self.log.segments
        for number, segment in enumerate(segments):
            after = segments[number + 1].base_offset if number + 1 < len(segments) else self._end
            if after <= self._dirty or segment.base_offset >= self._end:
                continue
            fits = self._map_columns(segment) if columns else self._map_batches(segment, transactions)
            if not fits:
                return
            self.newest.latest = after - 1

    def _map_batches(self, segment: Segment, transactions: CleanedTransactions) -> bool:
        """Fill the map from a segment; return whether there was room."""
        newest, dirty = self.newest, self._dirty
        location = segment.find(dirty) if segment.base_offset < dirty else None
        with closing(self._batches(segment, location.position if location else 0)) as batches:
            for batch in batches:
                if batch.is_control:
                    transactions.is_over(batch)
                elif not transactions.drops(batch):
                    rows = [record for record in segment.records_of(batch) if record.offset >= dirty]
                    if not newest.add((row.key, row.offset, row.value is None) for row in rows):
                        return False
                newest.latest = max(newest.latest, batch.last_offset)
        return True

    def _map_columns(self, segment: Segment) -> bool:
        """The same with the native kernel."""
        columns, dirty_range = ("key", "offset", "value"), (self._dirty, None)
        position = 0
        with scan_table(segment.path, columns, offsets=dirty_range, limits=self.log.limits) as reader:
            for part in reader:
                keys, offsets, values = part.columns
                rows = zip(keys.to_pylist(), offsets.to_pylist(), values.is_null().to_pylist(), strict=True)
                if not self.newest.add(rows):
                    return False
                self._report_progress(reader.position - position)
                position = reader.position
        return True

    def _clean(self, group: Sequence[Segment], oldest: int, apply: bool) -> CleanedSegments:
        """Write the remaining data of some segments."""
        output = CleanedSegments(
            self.log, group[0].base_offset, max_index_bytes=self.settings.max_index_bytes, write=apply
        )
        try:
            for segment in group:
                keep_old = modified(segment) > oldest
                for batch in self._batches(segment):
                    data = self._cleaned(segment, batch, keep_old)
                    if data:
                        output.append(data, batch)
                    for entry in self.transactions.kept:
                        output.add_aborted(entry)
                    self.transactions.kept.clear()
            output.close(group[-1])
        except BaseException:
            output.abandon()
            raise
        return output

    def _cleaned(self, segment: Segment, batch: Batch, keep_old: bool) -> bytes:
        try:
            return self.cleaner.clean(batch, keep_old_tombstones=keep_old)
        except FormatError as error:
            raise error.in_source(str(segment.path)) from None


def _groups(
    log: PartitionLog,
    segments: Sequence[Segment],
    end: int,
    settings: CompactionOptions,
    apart: Collection[int],
) -> Iterator[list[Segment]]:
    """Neighbouring segments that one segment can replace, by their present sizes.

    Those whose base offsets are in `apart` are not merged with the one before.
    """
    bases = [segment.base_offset for segment in log.segments]
    group: list[Segment] = []
    sizes = [0, 0, 0]
    limits = (settings.segment_bytes, settings.max_index_bytes, settings.max_index_bytes)
    for number, segment in enumerate(segments):
        segment_sizes = [segment.size, _size(segment.index), _size(segment.timeindex)]
        last = (bases[number + 1] if number + 1 < len(segments) else end) - 1
        total = [size + other for size, other in zip(sizes, segment_sizes, strict=True)]
        fits = all(have <= most for have, most in zip(total, limits, strict=True))
        fits &= segment.base_offset not in apart
        if group and not (fits and (not segment.size or last - group[0].base_offset <= MAX_RELATIVE)):
            yield group
            group, total = [], segment_sizes
        group.append(segment)
        sizes = total
    if group:
        yield group


def _size(path: Path | None) -> int:
    return path.stat().st_size if path is not None else 0
