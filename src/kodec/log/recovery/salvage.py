"""Copies every good batch of a damaged log into a new folder, and reports exactly what is missing.

A broker's recovery truncates a log at its first bad batch and deletes all data after it. That data is
mostly good: salvage keeps it, with its offsets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, takewhile
from pathlib import Path
from typing import NamedTuple, Self

from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import HEADS, MAX_RELATIVE
from kodec.log.directories.epochs import EpochRun, EpochRuns, deleted_up_to, up_to
from kodec.log.directories.gaps import cleaned_up_to, joined_ranges, read_omitted
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, leader_epochs_bytes, offset_ranges_bytes
from kodec.log.files.descriptors import read_regular
from kodec.log.files.durable import replace_file, write_all
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import LEADER_EPOCHS, OMITTED_OFFSETS, PARTITION_METADATA, file_name
from kodec.log.files.paths import resolved
from kodec.log.omissions import Omissions
from kodec.log.reading.reader import read_batches
from kodec.log.recovery.good_batches import Found, LogScan, MissingRange
from kodec.log.recovery.merge import Dropped, Merged, require_one_topic
from kodec.log.recovery.replica import Replica
from kodec.log.remote.opening import open_location
from kodec.log.writing.new_folder import new_folder, require_new
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import FormatError
from kodec.runtime.plan import OnStep, Plan, ignore, refuse
from kodec.stores.storage import on_this_machine

__all__ = ["Dropped", "MissingRange", "SalvagePlan", "SalvageReport", "plan_salvage"]


@dataclass(slots=True)
class KeptSegment:
    """A segment of the new log.

    Attributes: its `bytes`; the `newest` timestamp of its records, -1 for none; when that file of the source
    was `modified` whose batch is the last, in ms since 1970.
    """

    bytes: int = 0
    newest: int = -1
    modified: int = 0


@dataclass(slots=True)
class SalvageReport:
    """The result of a salvage.

    Attributes:
        source, target: the folders; `target` is None if nothing was written.
        segments: how many were read. batches, records, bytes: kept ones; control records count.
        missing: ranges that were not kept, in the order of the log.
        omissions: what the new log lacks: the same as `missing`; files that are not part of the log, left by
            an interrupted swap; and batches that were kept though this version cannot read their records.
        open_transactions: the producers whose transaction has no end in the kept log; a consumer that reads
            committed records stops at the first of them.
        wrong_epochs: batches whose leader epoch others, or `leader-epoch-checkpoint`, contradict: no checksum
            covers it. Where the batches around them refute it, they are written with the epoch that these
            prove, as a follower would never get past them; else they are kept as they are.
        start_offset: the log start offset: below it, records of the first segment were deleted. 0: none were.
        end_offset: the offset after the last one that was kept.
        replicas: the folders of several replicas, and how many batches were taken from each; empty for one.
        dropped: batches of replicas whose lineage of leader epochs does not count.
        leader_epochs: of the new log, as its checkpoint has them.
        kept: the segments of the new log that have batches, by base offset.
        notes: what nothing proves, and what a broker would do with it.
        problems: those of the plan: why it cannot be known which replica is right, unless it has a `lineage`.

    Example: see `plan_salvage`.
    """

    source: Path
    target: Path | None = field(default=None, compare=False)
    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    missing: list[MissingRange] = field(default_factory=list)
    omissions: Omissions = field(default_factory=Omissions)
    open_transactions: list[int] = field(default_factory=list)
    wrong_epochs: list[str] = field(default_factory=list)
    start_offset: int = 0
    end_offset: int = 0
    replicas: dict[Path, int] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    leader_epochs: list[LeaderEpoch] = field(default_factory=list)
    kept: dict[int, KeptSegment] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

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
class SalvagePlan(Plan[SalvageReport]):
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
    _previews: list[SalvageReport] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def problems(self) -> list[str]:
        """Why `apply` refuses, as `preview` finds; a log without other replicas has no problems."""
        return self.preview().problems if self.others or self.after is not None else []

    def require_current(self) -> None:
        for each in (self.fingerprint, *self.others):
            each.require()

    def preview(self) -> SalvageReport:
        """Read the log, once, and return what would be kept; write nothing.

        Raises: OSError; Unsupported if another system has written the log.
        """
        if not self._previews:
            with self._work() as work:
                self._previews.append(work.run(None))
        return self._previews[0]

    def apply(self, *, on_step: OnStep = ignore) -> SalvageReport:
        """Write the target, and call `on_step` with it; the source is only read.

        After a crash the folder is whole or absent.

        A broker that starts there reads the whole log once, as after any crash, and serves it.

        Raises: FileExistsError; StalePlan if the source has changed since the plan was made;
        OSError (BlockingIOError if a broker or another program writes into the target's log directory);
        ValueError for a plan with problems.
        """
        sources = self.fingerprint, *self.others
        with self._work() as work, PartitionLog(self.path, limits=self.limits) as log:
            refuse(work.report.problems)
            if self.dropped is not None and isinstance(work, _Merge):
                work.set_aside(self.dropped, sources)
            with new_folder(log, self.target, *sources, offsets=work.offsets) as folder:
                report = work.run(folder)
                refuse(report.problems)
        on_step(self.target)
        report.target = self.target
        return report

    @contextmanager
    def _work(self) -> Iterator[_Salvage | _Merge]:
        if self.others:
            folders = [self.path, *(each.folder for each in self.others)]
            chosen = None if self.lineage is None else _number_of(self.lineage, folders)
            with _Merge(folders, chosen, self.limits, self.progress, self.after) as merge:
                yield merge
        else:
            with PartitionLog(self.path, limits=self.limits) as log:
                yield _Salvage(log, self.progress, self.after)


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

    A batch is good if it is complete, its checksum is right, its records can be read, and its offsets fit
    between those of the good batches around it and into its segment. Because no
    checksum covers offsets, the fewest contradicting batches are left out. Batches stay as
    they are, byte for byte, in segments of the same base offsets and times; indexes, transaction indexes,
    producer snapshots and leader epochs are rebuilt from what is kept. `partition.metadata` is copied, the
    log start offset is kept.

    Of several replicas every batch is kept that is good on one of them and on the lineage of leader epochs
    that counts: that of the newest epoch. Batches of another lineage are reported, not mixed in.
    Offsets
    are missing only where no replica has them. What one replica lists in `kodec-omitted-offsets`, as after a
    redaction, is not taken from another. If replicas have different records in the same epoch, or
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
    chosen = None if lineage is None else open_location(lineage)
    if chosen is not None:
        _number_of(chosen, [open_location(source), *(each.folder for each in more)])
    return SalvagePlan(
        open_location(source),
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

    def _take(self, batch: Batch, writer: SegmentWriter | None, base: int, modified: int) -> None:
        report = self.report
        kept = report.kept.setdefault(base, KeptSegment())
        kept.bytes += batch.size
        kept.newest = max(kept.newest, batch.max_timestamp)
        kept.modified = modified
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
            self.report.problems.append(f"{segment}: {why}")
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

    def _leader_epochs(self, folder: Path | None) -> list[LeaderEpoch]:
        """The new checkpoint; contradicting batches are reported, and refuted ones corrected."""
        log = self._log
        try:
            known = up_to(self._known_epochs(), self._reached)
        except (FormatError, OSError) as error:
            known = []
            self.report.omissions.failed(log.path / LEADER_EPOCHS, error)
        wrong = self._epochs.contradictions(known, log.start_offset)
        self.report.wrong_epochs = [
            f"{each}: " + (f"written with {each.proven}" if each.refuted else "kept unchanged")
            for each in wrong
            if not each.note
        ]
        for each in wrong:
            if folder is not None and each.proven is not None:
                _set_epoch(folder, each.run, each.proven)
        self.report.leader_epochs = self._epochs.corrected(known, wrong)
        return self.report.leader_epochs

    def _note_cut(self, path: Path, start: int) -> None:
        """Tell that only the leader epochs show the log start offset."""
        self.report.notes.append(
            f"{path / LEADER_EPOCHS} begins at offset {start}: the records below it were deleted, and stay "
            "so; without this file they return"
        )

    def _beside(self, folder: Path, epochs: list[LeaderEpoch]) -> None:
        for log in self._logs():
            if (log.path / PARTITION_METADATA).is_file():
                data = read_regular(log.path / PARTITION_METADATA)
                replace_file(folder / PARTITION_METADATA, data, folder=False)
                break
        listed = [each for log in self._logs() if (each := read_omitted(log.path)) is not None]
        if listed:
            omitted = joined_ranges(chain.from_iterable(listed))
            replace_file(folder / OMITTED_OFFSETS, offset_ranges_bytes(omitted), folder=False)
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

    def offsets(self) -> tuple[int, int]:
        """The log start offset, and the offset below which the log is compacted."""
        return self.report.start_offset, cleaned_up_to(self._log)

    def _note_start(self) -> None:
        log, report = self._log, self.report
        bases = [each.base_offset for each in log.segments]
        if bases and log.start_offset > bases[0]:
            report.start_offset = log.start_offset
        with suppress(FormatError, OSError):
            cut = deleted_up_to(log.leader_epochs(), self._epochs, bases)
            if report.start_offset < cut <= self._reached:
                report.start_offset = cut
                self._note_cut(log.path, cut)

    def __init__(
        self, log: PartitionLog, progress: Callable[[int], None] | None, after: LogBefore | None
    ) -> None:
        super().__init__(log, after)
        self._progress = progress

    def run(self, folder: Path | None) -> SalvageReport:
        log, report = self._log, self.report
        scan = LogScan(log, self._progress)
        following = [*(each.base_offset for each in log.segments[1:]), None]
        for number, (segment, found, kept) in enumerate(scan):
            before = following[number]
            to = None if before is not None and before <= self._first else folder
            base = max(segment.base_offset, self._first)
            if found.unreachable:
                # not even its time can be known
                continue
            self._snapshot(to, base, number)
            self._write(to, segment, base, found, kept)
        scan.report_end()
        report.missing = self._told_missing(scan.missing)
        report.omissions.extend(scan.omissions)
        report.omissions.extend(each.omission for each in report.missing)
        report.segments, self._reached = scan.segments, scan.reached
        if scan.foreign is not None and not report.batches:
            raise scan.foreign
        report.end_offset = self._reached
        self._note_start()
        report.open_transactions = sorted(self._state.open)
        self._snapshot(folder, self._reached, len(log.segments))
        epochs = self._leader_epochs(folder)
        if folder is not None:
            self._beside(folder, epochs)
        return report

    def _write(
        self, folder: Path | None, segment: Segment, base: int, found: Found, kept: Sequence[int]
    ) -> None:
        writer = None if folder is None else SegmentWriter(folder, base)
        modified = _modified(segment) if kept else 0
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
                self._take(batch, writer, base, modified)
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
        self.report.problems = self._merged.conflicts

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
        report.segments = sum(len(each.segments) for each in merged.replicas)
        report.missing = self._told_missing(merged.missing)
        report.dropped = merged.dropped
        report.notes = merged.lineage.notes
        report.start_offset = merged.start_offset
        for each in merged.replicas:
            if 0 < merged.start_offset == each.cut > each.told_start:
                self._note_cut(each.path, each.cut)
        for each in merged.replicas:
            report.omissions.extend(each.omissions)
        report.omissions.extend(each.omission for each in report.missing)
        report.replicas = dict.fromkeys((each.path for each in merged.replicas), 0)
        writer: SegmentWriter | None = None
        source: Segment | None = None
        base, begun, modified = -1, False, 0
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
                fits = writer.fits(last, batch.size) if writer is not None else folder is None
                if segment.base_offset > base or not fits:
                    if writer is not None and source is not None:
                        _close(writer, source)
                    base = max(segment.base_offset, self._reached if begun else self._first)
                    if last - base > MAX_RELATIVE:
                        base = first
                    if folder is not None:
                        self._snapshot(folder, base, int(begun))
                        writer = SegmentWriter(folder, base)
                begun = True
                self._epochs.take(segment.path, batch)
                if segment is not source:
                    modified = _modified(segment)
                self._take(batch, writer, base, modified)
                source = segment
            if writer is not None and source is not None:
                _close(writer, source)
        finally:
            if writer is not None:
                writer.abandon()
        report.end_offset = self._reached
        report.open_transactions = sorted(self._state.open)
        self._snapshot(folder, self._reached, len(merged))
        epochs = self._leader_epochs(folder)
        if folder is not None:
            self._beside(folder, epochs)
        return report

    def set_aside(self, dropped: Path, sources: Sequence[Fingerprint]) -> None:
        """Write the batches that do not count, those of each replica as a log of its own."""
        merged = self._merged
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


def _set_epoch(folder: Path, run: EpochRun, epoch: int) -> None:
    """Write another leader epoch into the batches of a run in a new log. Raises OSError."""
    for path in sorted(folder.glob("*.log")):
        base = int(path.stem)
        with Segment.of(path, base) as segment:
            place = None if base > run.last_offset else segment.find(run.first_offset, use_index=False)
            if place is None:
                continue
            heads = takewhile(
                lambda head: head.first_known <= run.last_offset, segment.headers(place.position)
            )
            wrong = [
                (head.position, HEADS[head.magic].epoch)
                for head in heads
                if head.is_list and head.partition_leader_epoch == run.epoch
            ]
        status = path.stat()
        with path.open("r+b", buffering=0) as file:
            for position, field in wrong:
                write_all(file.fileno(), field.stored(epoch), position + field.at)
            os.fsync(file.fileno())
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _modified(segment: Segment) -> int:
    """When a segment's log was last written to, in ms since 1970; where it is new, it gets that time too."""
    return segment.path.stat().st_mtime_ns // 1_000_000


def _close(writer: SegmentWriter, source: Segment) -> None:
    """Close a new segment, and give its files the time of its source."""
    paths = writer.paths
    writer.close()
    # one that cannot be read, as a link to nothing, may have no time
    with suppress(OSError):
        status = source.path.stat()
        for path in paths:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
