"""Copies every good batch of a damaged log into a new folder, and reports exactly what is missing.

A broker's recovery truncates a log at its first bad batch and deletes all data after it. That data is
mostly good: salvage keeps it, with its offsets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.directories.epochs import EpochRuns, up_to
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, leader_epochs_bytes
from kodec.log.files.descriptors import read_regular
from kodec.log.files.durable import replace_file
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import LEADER_EPOCHS, OMITTED_OFFSETS, PARTITION_METADATA, file_name
from kodec.log.files.paths import resolved
from kodec.log.reading.reader import read_batches
from kodec.log.recovery.good_batches import Found, LogScan, MissingRange
from kodec.log.recovery.merge import Dropped, Merged, require_one_topic
from kodec.log.recovery.replica import Replica
from kodec.log.writing.new_folder import new_folder, require_new
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import FormatError
from kodec.stores.storage import on_this_machine, path_of

__all__ = ["Dropped", "MissingRange", "SalvagePlan", "SalvageReport", "plan_salvage"]


@dataclass(slots=True)
class SalvageReport:
    """The result of a salvage.

    Attributes:
        source, target: the folders; `target` is None if nothing was written.
        segments: how many were read. batches, records, bytes: kept ones; control records count.
        missing: ranges that were not kept, in the order of the log.
        unread: files with records that are not part of the log, left by an interrupted swap, and
            other things than files with the name of a segment.
        open_transactions: the producers whose transaction has no end in the kept log; a consumer that reads
            committed records stops at the first of them.
        wrong_epochs: batches that were kept although others, or `leader-epoch-checkpoint`, contradict their
            leader epoch: no checksum covers it. The new checkpoint has no epoch that the batches around it
            refute.
        end_offset: the offset after the last one that was kept.
        replicas: the folders of several replicas, and how many batches were taken from each; empty for one.
        dropped: batches of replicas whose lineage of leader epochs does not count.
        leader_epochs: of the new log, as its checkpoint has them.
        notes: what nothing proves, and what a broker would do with it.
        conflicts: why it cannot be known which replica is right; then `apply` refuses, unless the plan has a
            `lineage`.

    Example: see `plan_salvage`.
    """

    source: Path
    target: Path | None = None
    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    missing: list[MissingRange] = field(default_factory=list)
    unread: list[Path] = field(default_factory=list)
    open_transactions: list[int] = field(default_factory=list)
    wrong_epochs: list[str] = field(default_factory=list)
    end_offset: int = 0
    replicas: dict[Path, int] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    leader_epochs: list[LeaderEpoch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)

    @property
    def bytes_missing(self) -> int:
        """Bytes of the source's segments that were not kept."""
        return sum(each.end - each.start for each in self.missing)


class LogBefore(NamedTuple):
    """The part of a log that is kept elsewhere, as in remote storage: a new log begins after it.

    Attributes: `end_offset` is that after its last record; `producers` is the snapshot of them there.
    """

    end_offset: int
    producers: ProducerSnapshot


@dataclass(frozen=True, slots=True)
class SalvagePlan:
    """A planned copy of the good batches of a log; `preview` returns only the result, `apply` copies.

    Attributes:
        path: the folder that is read, whose name shows which `topic_partition` it holds.
        target: the folder that is made.
        fingerprint: what was there when the plan was made.
        limits: how much may be allocated for one batch.
        progress: called with the bytes of the source read since the last call.
        others: further replicas of the topic-partition; lineage: the one whose lineage counts, None: by
        epoch.
        after: what comes before the new log, and is kept elsewhere; None: nothing.
        dropped: a folder for the batches that do not count, as a log for each replica that has such; None:
            they are only reported.

    Example: see `plan_salvage`.
    """

    path: Path
    topic_partition: TopicPartition
    target: Path
    limits: Limits
    fingerprint: Fingerprint = field(repr=False)
    progress: Callable[[int], None] | None = None
    others: tuple[Fingerprint, ...] = ()
    lineage: Path | None = None
    after: LogBefore | None = None
    dropped: Path | None = None

    def preview(self) -> SalvageReport:
        """Read the log and return what would be kept; write nothing.

        Raises: OSError; Unsupported if another system has written the log.
        """
        if self.others:
            with self._merge() as merge:
                return merge.run(None)
        with PartitionLog(self.path, limits=self.limits) as log:
            return _Salvage(log, self.progress, self.after).run(None)

    def apply(self) -> SalvageReport:
        """Write the target; the source is only read. After a crash the folder is whole or absent.

        A broker that starts there reads the whole log once, as after any crash, and serves it.

        Raises: FileExistsError; StalePlan if the source has changed since the plan was made;
        OSError (BlockingIOError if a broker or another program writes into the target's log directory);
        ValueError if the report has conflicts.
        """
        if self.others:
            with self._merge() as merge, PartitionLog(self.path, limits=self.limits) as log:
                sources = self.fingerprint, *self.others
                if self.dropped is not None:
                    merge.set_aside(self.dropped, sources)
                with new_folder(log, self.target, *sources, offsets=merge.offsets) as folder:
                    report = merge.run(folder)
                report.target = self.target
                return report
        with PartitionLog(self.path, limits=self.limits) as log:
            with new_folder(log, self.target, self.fingerprint) as folder:
                report = _Salvage(log, self.progress, self.after).run(folder)
            report.target = self.target
            return report

    def _merge(self) -> _Merge:
        folders = [self.path, *(each.folder for each in self.others)]
        chosen = None if self.lineage is None else _number_of(self.lineage, folders)
        return _Merge(folders, chosen, self.limits, self.progress, self.after)


def plan_salvage(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *others: str | os.PathLike[str],
    lineage: str | os.PathLike[str] | None = None,
    dropped: str | os.PathLike[str] | None = None,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> SalvagePlan:
    """Plan to copy every good batch of a topic-partition's log into a new folder; reads nothing yet.

    A batch is good if it is complete, its checksum is right, and its offsets fit between those of the good
    batches around it and into its segment; a wrapper of old messages must also be readable. Because no
    checksum covers offsets, the fewest contradicting batches are left out. Batches stay as
    they are, byte for byte, in segments of the same base offsets and times; indexes, transaction indexes,
    producer snapshots and leader epochs are rebuilt from what is kept. `partition.metadata` is copied, the
    log start offset is kept.

    Of several replicas every batch is kept that is good on one of them and on the lineage of leader epochs
    that counts: that of the newest epoch. Batches of another lineage are reported, not mixed in.
    Offsets
    are missing only where no replica has them. If replicas have different records in the same epoch, or
    if only a header that no checksum covers decides, nothing is written: `lineage` decides then.

    Args:
        others: further replicas of the same topic-partition, of other log directories or brokers.
        lineage: the replica whose lineage counts, one of those given; None: the newest epoch decides.
        dropped: a folder for batches of another lineage, which an unclean election has lost: each replica
            that has such gets a log in `dropped/N`, N from 1 on in the order given, under their offsets.
        target: a new folder, named like that of a topic-partition (`orders-0`), and neither
            in the source nor in the log directory around it.
        limits: how much may be allocated for one batch.
        progress: called now and then with the bytes of the source read since the last call.
        source: the folder of the damaged log; it is only read.

    Returns: a plan; `apply` writes the new folder.
    Raises: FileExistsError; ValueError for another name or place.

    Example:
        >>> import shutil
        >>> import kodec
        >>> _ = shutil.copytree("/data/kafka-logs", "logs")
        >>> from pathlib import Path
        >>> broken = Path("logs/orders-0/00000000000000000000.log")
        >>> data = bytearray(broken.read_bytes())
        >>> data[1000:1100] = bytes(100)
        >>> _ = broken.write_bytes(data)
        >>> report = kodec.repair.plan_salvage("logs/orders-0", "kept/orders-0").apply()
        >>> [(each.first_offset, each.last_offset) for each in report.missing]
        [(0, 9)]
    """
    fingerprint = Fingerprint.of(source)
    more = tuple(Fingerprint.of(other) for other in others)
    aside = None if dropped is None else on_this_machine(dropped)
    for each in (fingerprint, *more):
        require_new(each.folder, target)
        for number in range(0 if aside is None else len(more) + 1):
            assert aside is not None
            require_new(each.folder, _place_aside(aside, number, fingerprint))
        if each.topic_partition != fingerprint.topic_partition:
            raise ValueError(f"{each.folder} is not a replica of {fingerprint.topic_partition}")
    if len({each.folder for each in (fingerprint, *more)}) <= len(more):
        raise ValueError(f"{source}: one of the replicas is given twice")
    chosen = None if lineage is None else path_of(lineage)
    if chosen is not None:
        _number_of(chosen, [path_of(source), *(each.folder for each in more)])
    return SalvagePlan(
        path_of(source),
        fingerprint.topic_partition,
        on_this_machine(target),
        limits,
        fingerprint,
        progress,
        more,
        chosen,
        dropped=aside,
    )


def _place_aside(dropped: Path, number: int, source: Fingerprint) -> Path:
    return dropped / str(number + 1) / str(source.topic_partition)


def _number_of(lineage: Path, folders: Sequence[Path]) -> int:
    for number, folder in enumerate(folders):
        if resolved(lineage) in (resolved(folder), resolved(folder).parent):
            return number
    raise ValueError(f"{lineage}: not one of the replicas, which are {', '.join(map(str, folders))}")


class _Copy:
    """Good batches on their way into a new log."""

    def __init__(self, log: PartitionLog, after: LogBefore | None) -> None:
        self._log = log
        # What begins below is not copied.
        self._first = 0 if after is None else after.end_offset
        self._state = ProducerState(None if after is None else after.producers)
        self._epochs = EpochRuns()
        # The offset after the last one that was kept, or could have been.
        self._reached = 0
        self.report = SalvageReport(log.path)

    def _take(self, batch: Batch, writer: SegmentWriter | None) -> None:
        report = self.report
        report.batches += 1
        report.records += batch.count
        report.bytes += batch.size
        self._reached = batch.next_offset
        ended = self._state.take_batch(batch)
        if writer is None:
            return
        writer.append(batch.data, batch)
        if ended is not None and ended.aborted:
            writer.add_aborted(ended.index_entry())

    def _is_before(self, segment: Path, first: int, last: int) -> bool:
        """Whether a batch is kept elsewhere."""
        if first < self._first <= last:
            why = f"offsets {first} to {last} of one batch, and what is kept elsewhere ends at {self._first}"
            self.report.conflicts.append(f"{segment}: {why}")
        return first < self._first

    def _told_missing(self, missing: Iterable[MissingRange]) -> list[MissingRange]:
        """What is missing of the new log."""
        found = []
        for each in missing:
            if each.last_offset is not None and each.last_offset < self._first:
                continue
            if each.first_offset is not None and each.first_offset < self._first:
                each = replace(each, first_offset=self._first)
            found.append(each)
        return found

    def _snapshot(self, folder: Path | None, offset: int, number: int) -> None:
        """The producer state at the start of a segment; empty at the start of the log."""
        if folder is not None and (number or self._first):
            replace_file(
                folder / file_name(offset, "snapshot"), self._state.snapshot().to_bytes(), folder=False
            )

    def _leader_epochs(self) -> list[LeaderEpoch]:
        """The new checkpoint; contradicting batches are reported."""
        log = self._log
        try:
            known = up_to(self._known_epochs(), self._reached)
        except (FormatError, OSError):
            known = []
        wrong = self._epochs.contradictions(known, log.start_offset)
        self.report.wrong_epochs = [str(each) for each in wrong if not each.note]
        self.report.leader_epochs = self._epochs.brought_up(known)
        return self.report.leader_epochs

    def _beside(self, folder: Path, epochs: list[LeaderEpoch]) -> None:
        for name in (PARTITION_METADATA, OMITTED_OFFSETS):
            for log in self._logs():
                if (log.path / name).is_file():
                    replace_file(folder / name, read_regular(log.path / name), folder=False)
                    break
        if epochs:
            replace_file(folder / LEADER_EPOCHS, leader_epochs_bytes(epochs), folder=False)
        if self._first and not (folder / file_name(self._first, "log")).exists():
            # a broker looks for offsets below the first segment elsewhere
            SegmentWriter(folder, self._first).close()
        if not any(folder.glob("*.log")):
            SegmentWriter(folder, max(self._log.start_offset, self._first)).close()

    def _logs(self) -> list[PartitionLog]:
        """The logs that were read; files beside the segments come from the first that has them."""
        return [self._log]

    def _known_epochs(self) -> list[LeaderEpoch]:
        return self._log.leader_epochs()


class _Salvage(_Copy):
    """A salvage of one log."""

    def __init__(
        self, log: PartitionLog, progress: Callable[[int], None] | None, after: LogBefore | None
    ) -> None:
        super().__init__(log, after)
        self._progress = progress

    def run(self, folder: Path | None) -> SalvageReport:
        log, report = self._log, self.report
        scan = LogScan(log, self._progress)
        report.unread = scan.unread
        following = [*(each.base_offset for each in log.segments[1:]), None]
        for number, (segment, found, kept) in enumerate(scan):
            before = following[number]
            to = None if before is not None and before <= self._first else folder
            base = max(segment.base_offset, self._first)
            self._snapshot(to, base, number)
            self._write(to, segment, base, found, kept)
        report.missing = self._told_missing(scan.missing)
        report.segments, self._reached = scan.segments, scan.reached
        if scan.foreign is not None and not report.batches:
            raise scan.foreign
        report.end_offset = self._reached
        report.open_transactions = sorted(self._state.open)
        self._snapshot(folder, self._reached, len(log.segments))
        epochs = self._leader_epochs()
        if folder is not None:
            self._beside(folder, epochs)
        return report

    def _write(
        self, folder: Path | None, segment: Segment, base: int, found: Found, kept: Sequence[int]
    ) -> None:
        writer = None if folder is None else SegmentWriter(folder, base)
        try:
            for number in kept:
                if self._is_before(segment.path, found.first(number), found.last(number)):
                    continue
                data = segment.read_bytes(found.positions[number], found.sizes[number])
                if writer is not None and not writer.fits(found.last(number), len(data)):
                    # No broker starts with a segment of more than 2 GiB: it is split.
                    _close(writer, segment)
                    self._snapshot(folder, found.first(number), 1)
                    writer = SegmentWriter(writer.path.parent, found.first(number))
                batch = next(read_batches(data, limits=self._log.limits))
                batch.position = found.positions[number]
                self._epochs.take(segment.path, batch)
                self._take(batch, writer)
            if writer is not None:
                _close(writer, segment)
        finally:
            if writer is not None:
                writer.abandon()
            segment.close()


class _Merge(_Copy):
    """A salvage of several replicas."""

    def __init__(
        self,
        folders: Sequence[Path],
        chosen: int | None,
        limits: Limits,
        progress: Callable[[int], None] | None,
        after: LogBefore | None,
    ) -> None:
        replicas = [Replica(folder, limits, progress) for folder in folders]
        require_one_topic(replicas)
        self._merged = Merged(replicas, chosen)
        super().__init__(replicas[self._merged.lineage.winner].log, after)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._merged.replicas:
            each.log.close()

    def offsets(self) -> tuple[int, int]:
        """The log start offset, and the offset below which each replica is compacted."""
        merged = self._merged
        return merged.start_offset, min(each.cleaned for each in merged.replicas)

    def run(self, folder: Path | None) -> SalvageReport:
        merged, report = self._merged, self.report
        report.conflicts = merged.conflicts
        if merged.conflicts and folder is not None:
            raise ValueError(f"refused: {'; '.join(merged.conflicts)}")
        report.segments = sum(len(each.segments) for each in merged.replicas)
        report.missing = self._told_missing(merged.missing)
        report.dropped = merged.dropped
        report.notes = merged.lineage.notes
        report.unread = [path for each in merged.replicas for path in each.unread]
        report.replicas = dict.fromkeys((each.path for each in merged.replicas), 0)
        writer: SegmentWriter | None = None
        source: Segment | None = None
        base, begun = -1, False
        if folder is not None:
            self._empty_first(folder)
        try:
            for replica, number in zip(merged.replica, merged.number, strict=True):
                each = merged.replicas[replica]
                segment = each.segments[each.segment[number]]
                first, last = each.first[number], each.last[number]
                if self._is_before(segment.path, first, last):
                    continue
                batch = each.batch(number)
                report.replicas[each.path] += 1
                if folder is not None:
                    fits = writer is not None and writer.fits(last, batch.size)
                    if segment.base_offset > base or not fits:
                        if writer is not None and source is not None:
                            _close(writer, source)
                        base = max(segment.base_offset, self._reached if begun else self._first)
                        if last - base > MAX_RELATIVE:
                            base = first
                        self._snapshot(folder, base, int(begun))
                        writer = SegmentWriter(folder, base)
                    begun = True
                self._epochs.take(segment.path, batch)
                self._take(batch, writer)
                source = segment
            if writer is not None and source is not None:
                _close(writer, source)
        finally:
            if writer is not None:
                writer.abandon()
        report.end_offset = self._reached
        report.open_transactions = sorted(self._state.open)
        self._snapshot(folder, self._reached, len(merged))
        epochs = self._leader_epochs()
        if folder is not None:
            self._beside(folder, epochs)
        return report

    def set_aside(self, dropped: Path, sources: Sequence[Fingerprint]) -> None:
        """Write the batches that do not count, those of each replica as a log of its own."""
        merged = self._merged
        if merged.conflicts:
            raise ValueError(f"refused: {'; '.join(merged.conflicts)}")
        for number, each in enumerate(merged.replicas):
            numbers = list(merged.numbers_dropped(number))
            if not numbers:
                continue
            place = _place_aside(dropped, number, sources[number])
            with new_folder(each.log, place, sources[number], offsets=lambda: (0, 0)) as folder:
                writer: SegmentWriter | None = None
                segment = -1
                try:
                    for at in numbers:
                        if (
                            writer is None
                            or each.segment[at] != segment
                            or not writer.fits(each.last[at], each.size[at])
                        ):
                            if writer is not None:
                                _close(writer, each.segments[segment])
                            segment = each.segment[at]
                            writer = SegmentWriter(folder, each.first[at])
                        batch = each.batch(at)
                        writer.append(batch.data, batch)
                    if writer is not None:
                        _close(writer, each.segments[segment])
                finally:
                    if writer is not None:
                        writer.abandon()

    def _empty_first(self, folder: Path) -> None:
        """Make the first segment, if no batch of it is kept: the log begins there."""
        merged = self._merged
        firsts = [each.segments[0] for each in merged.replicas if each.segments]
        chosen = zip(merged.replica, merged.number, strict=True)
        begun = next(
            (merged.replicas[one].segments[merged.replicas[one].segment[at]] for one, at in chosen), None
        )
        first = min(firsts, key=lambda each: each.base_offset, default=None)
        if first is not None and begun is not None and self._first <= first.base_offset < begun.base_offset:
            _close(SegmentWriter(folder, first.base_offset), first)

    def _known_epochs(self) -> list[LeaderEpoch]:
        return self._merged.lineage.epochs

    def _logs(self) -> list[PartitionLog]:
        return [self._merged.replicas[number].log for number in self._merged.order]


def _close(writer: SegmentWriter, source: Segment) -> None:
    """Close a new segment, and give its files the time of its source."""
    paths = writer.paths
    writer.close()
    status = source.path.stat()
    for path in paths:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
