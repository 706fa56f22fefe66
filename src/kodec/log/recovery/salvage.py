"""Copies every good batch of a damaged log into a new folder, and reports exactly what is missing.

A broker's recovery truncates a log at its first bad batch and deletes all data after it. That data is
mostly good: salvage keeps it, with its offsets.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Limits, SkippedRanges
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.directories.epochs import EpochRuns, up_to
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState, marker_of
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, leader_epochs_bytes
from kodec.log.files.descriptors import read_regular
from kodec.log.files.durable import replace_file
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import LeftoverKind, TopicPartition
from kodec.log.files.names import LEADER_EPOCHS, OMITTED_OFFSETS, PARTITION_METADATA, file_name
from kodec.log.files.storage import on_this_machine, path_of
from kodec.log.reading.foreign import is_foreign
from kodec.log.reading.reader import read_batches
from kodec.log.writing.new_folder import new_folder, require_new
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError, ReadFailed

__all__ = ["MissingRange", "SalvagePlan", "SalvageReport", "plan_salvage"]

_ENOUGH = 4 << 20
# How many different reasons a missing range may have.
_MOST_REASONS = 10


@dataclass(frozen=True, slots=True)
class MissingRange:
    """Bytes of a segment that are not in the new log, and the offsets that may have been there.

    Attributes:
        path: of the segment. start, end: the bytes, `end` not included; empty for offsets that no segment
            before this one holds.
        first_offset, last_offset: between the good batches around; `last_offset` is None where nothing bounds
            it, at the end of the log. Both are None where the batches around leave no offset between them.
        reasons: why, in the order of the bytes; of many different ones the first.

    Example: see `plan_salvage`.
    """

    path: Path
    start: int
    end: int
    first_offset: int | None
    last_offset: int | None
    reasons: tuple[str, ...]

    @property
    def offsets(self) -> str:
        """The offsets for people."""
        if self.first_offset is None:
            return "no offsets"
        if self.last_offset is None:
            return f"offsets from {self.first_offset} on"
        return f"offsets {self.first_offset} to {self.last_offset}"


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

    @property
    def bytes_missing(self) -> int:
        """Bytes of the source's segments that were not kept."""
        return sum(each.end - each.start for each in self.missing)


@dataclass(frozen=True, slots=True)
class SalvagePlan:
    """A planned copy of the good batches of a log; `preview` returns only the result, `apply` copies.

    Attributes:
        path: the folder that is read, whose name shows which `topic_partition` it holds.
        target: the folder that is made.
        fingerprint: what was there when the plan was made.
        limits: how much may be allocated for one batch.
        progress: called with the bytes of the source read since the last call.

    Example: see `plan_salvage`.
    """

    path: Path
    topic_partition: TopicPartition
    target: Path
    limits: Limits
    fingerprint: Fingerprint = field(repr=False)
    progress: Callable[[int], None] | None = None

    def preview(self) -> SalvageReport:
        """Read the log and return what would be kept; write nothing.

        Raises: OSError; Unsupported if another system has written the log.
        """
        with PartitionLog(self.path, limits=self.limits) as log:
            return _Salvage(log, self.progress).run(None)

    def apply(self) -> SalvageReport:
        """Write the target; the source is only read. After a crash the folder is whole or absent.

        A broker that starts there reads the whole log once, as after any crash, and serves it.

        Raises: FileExistsError; StalePlan if the source has changed since the plan was made;
        OSError (BlockingIOError if a broker or another program writes into the target's log directory).
        """
        with PartitionLog(self.path, limits=self.limits) as log:
            with new_folder(log, self.target, self.fingerprint) as folder:
                report = _Salvage(log, self.progress).run(folder)
            report.target = self.target
            return report


def plan_salvage(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
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

    Args:
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
    require_new(fingerprint.folder, target)
    return SalvagePlan(
        path_of(source), fingerprint.topic_partition, on_this_machine(target), limits, fingerprint, progress
    )


class _Reason(NamedTuple):
    """Why the data at a byte is not kept."""

    position: int
    text: str


class _Found:
    """The good batches of a segment, which may have tens of millions: 20 bytes for each.

    Attributes:
        positions, sizes: in bytes. firsts, lasts: offsets, counted from `base`, the first that fits.
        end: the end of the identified bytes.
        reasons: why others are not good, ascending; limited in number.
    """

    def __init__(self, base: int) -> None:
        self.base = base
        self.positions, self.sizes = array("q"), array("I")
        self.firsts, self.lasts = array("I"), array("I")
        self.end = 0
        self.reasons: list[_Reason] = []

    def __len__(self) -> int:
        return len(self.positions)

    def add(self, batch: Batch, first: int) -> None:
        self.positions.append(batch.position)
        self.sizes.append(batch.size)
        self.firsts.append(first - self.base)
        self.lasts.append(batch.last_offset - self.base)

    def first(self, number: int) -> int:
        """The first offset of a batch; of a wrapper the last, which alone its header has."""
        return self.base + self.firsts[number]

    def last(self, number: int) -> int:
        return self.base + self.lasts[number]

    def explain(self, position: int, text: str) -> None:
        if len(self.reasons) < SkippedRanges.MOST:
            self.reasons.append(_Reason(position, text))


class _Salvage:
    def __init__(self, log: PartitionLog, progress: Callable[[int], None] | None) -> None:
        self._log = log
        self._progress = progress
        self._untold = 0
        self._state = ProducerState()
        self._epochs = EpochRuns()
        # Why a segment is not a Kafka log.
        self._foreign: FormatError | ReadFailed | None = None
        # The offset after the last one that was kept, or could have been.
        self._reached = 0
        self.report = SalvageReport(log.path)

    def run(self, folder: Path | None) -> SalvageReport:
        log, report = self._log, self.report
        read = {segment.path for segment in log.segments}
        report.unread = [
            each.path
            for each in log.leftovers
            if each.kind is not LeftoverKind.DELETED and each.path not in read
        ]
        report.unread += [path for path in log.files.irregular if path.suffix == ".log"]
        self._reached = log.segments[0].base_offset if log.segments else 0
        for number, segment in enumerate(log.segments):
            before = log.segments[number + 1].base_offset if number + 1 < len(log.segments) else None
            report.segments += 1
            self._snapshot(folder, segment.base_offset, number)
            self._report_gap(segment)
            self._reached = max(self._reached, segment.base_offset)
            most = segment.base_offset + MAX_RELATIVE + 1
            found = self._read(segment, most if before is None else min(before, most))
            kept = _in_order(found)
            self._report_missing(segment, found, kept, before)
            self._write(folder, segment, found, kept)
        if self._foreign is not None and not report.batches:
            raise self._foreign
        report.end_offset = self._reached
        report.open_transactions = sorted(self._state.open)
        self._snapshot(folder, self._reached, len(log.segments))
        epochs = self._leader_epochs()
        if folder is not None:
            self._beside(folder, epochs)
        return report

    def _read(self, segment: Segment, most: int) -> _Found:
        """The good batches with offsets from the one reached on, below `most`."""
        found = _Found(self._reached)
        try:
            reader = read_batches(segment.path, on_error="skip", limits=self._log.limits)
        except OSError as error:
            found.explain(0, _said(error))
            found.end = segment.size
            return found
        for batch in reader:
            self._passed(batch.size)
            try:
                marker_of(batch)
                # A wrapper of old messages has only its last offset: it is decompressed.
                first = batch.base_offset
            except FormatError as error:
                found.explain(batch.position, _said(error))
                continue
            if found.base <= first <= batch.last_offset < most:
                found.add(batch, first)
            else:
                found.explain(batch.position, f"offsets {first} to {batch.last_offset} do not fit")
        for skipped in reader.skipped:
            found.explain(skipped.start, _said(skipped.error))
            if is_foreign(skipped.error):
                self._foreign = skipped.error
        found.end = reader.position
        if (tail := reader.torn_tail) is not None:
            found.explain(tail.position, f"torn tail: {tail.reason}")
            found.end += tail.size
        found.reasons.sort()
        return found

    def _report_gap(self, segment: Segment) -> None:
        """Report the offsets before a segment that are missing without an explanation."""
        told = self.report.missing[-1].last_offset if self.report.missing else None
        if self._reached < segment.base_offset and (told is None or told < self._reached):
            gap = explain_gap(self._log, self._reached, segment.base_offset - 1)
            if not gap.is_explained:
                why = ("in no segment, and not for compaction",)
                self.report.missing.append(MissingRange(segment.path, 0, 0, gap.lost, gap.last, why))

    def _report_missing(
        self, segment: Segment, found: _Found, kept: Sequence[int], before: int | None
    ) -> None:
        """Report the bytes between the batches that are kept; `before` is the next segment's base offset."""
        reasons = iter([*found.reasons, _Reason(found.end, "")])
        reason = next(reasons)
        at, expected, number = 0, self._reached, 0
        for each in chain(kept, [None]):
            start = found.end if each is None else found.positions[each]
            why: dict[str, None] = {}
            dropped = number
            number = len(found) if each is None else each + 1
            for other in range(dropped, len(found) if each is None else each):
                _note(why, f"offsets {found.first(other)} to {found.last(other)} do not fit")
            while reason.position < start:
                _note(why, reason.text)
                reason = next(reasons)
            if start > at:
                end_offset = before if each is None else found.first(each)
                none = end_offset is not None and end_offset <= expected
                self.report.missing.append(
                    MissingRange(
                        segment.path,
                        at,
                        start,
                        None if none else expected,
                        None if none or end_offset is None else end_offset - 1,
                        tuple(why) or ("damaged",),
                    )
                )
            if each is not None:
                at, expected = start + found.sizes[each], found.last(each) + 1

    def _write(self, folder: Path | None, segment: Segment, found: _Found, kept: Sequence[int]) -> None:
        writer = None if folder is None else SegmentWriter(folder, segment.base_offset)
        try:
            for number in kept:
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

    def _snapshot(self, folder: Path | None, offset: int, number: int) -> None:
        """The producer state at the start of a segment; empty at the start of the log."""
        if folder is not None and number:
            replace_file(
                folder / file_name(offset, "snapshot"), self._state.snapshot().to_bytes(), folder=False
            )

    def _leader_epochs(self) -> list[LeaderEpoch]:
        """The new checkpoint; contradicting batches are reported."""
        log = self._log
        try:
            known = up_to(log.leader_epochs(), self._reached)
        except (FormatError, OSError):
            known = []
        wrong = self._epochs.contradictions(known, log.start_offset)
        self.report.wrong_epochs = [str(each) for each in wrong if not each.note]
        return self._epochs.brought_up(known)

    def _beside(self, folder: Path, epochs: list[LeaderEpoch]) -> None:
        log = self._log
        for name in (PARTITION_METADATA, OMITTED_OFFSETS):
            if (log.path / name).is_file():
                replace_file(folder / name, read_regular(log.path / name), folder=False)
        if epochs:
            replace_file(folder / LEADER_EPOCHS, leader_epochs_bytes(epochs), folder=False)
        if not log.segments:
            SegmentWriter(folder, log.start_offset).close()

    def _passed(self, size: int) -> None:
        self._untold += size
        if self._progress is not None and self._untold >= _ENOUGH:
            told, self._untold = self._untold, 0
            self._progress(told)


def _close(writer: SegmentWriter, source: Segment) -> None:
    """Close a new segment, and give its files the time of its source."""
    paths = writer.paths
    writer.close()
    status = source.path.stat()
    for path in paths:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _said(error: FormatError | OSError) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return f"{type(error).__name__}: {': '.join(part for part in (error.path, error.reason) if part)}"


def _note(reasons: dict[str, None], text: str) -> None:
    """Add a reason to those of a missing range."""
    if len(reasons) < _MOST_REASONS:
        reasons[text] = None
    elif text not in reasons:
        reasons["and others"] = None


def _in_order(found: _Found) -> Sequence[int]:
    """The largest number of batches, in file order, whose offsets ascend.

    Source: the longest increasing subsequence, by patience sorting.
    """
    if all(last < first for last, first in zip(found.lasts, islice(found.firsts, 1, None), strict=False)):
        return range(len(found))
    # tails[n]: the smallest last offset with which n + 1 batches can end
    tails, at_end, came_from = array("I"), array("q"), array("q")
    for number, first in enumerate(found.firsts):
        last = found.lasts[number]
        length = bisect_left(tails, first)
        came_from.append(at_end[length - 1] if length else -1)
        if length == len(tails):
            tails.append(last)
            at_end.append(number)
        elif last < tails[length]:
            tails[length] = last
            at_end[length] = number
    kept = array("q")
    number = at_end[-1]
    while number >= 0:
        kept.append(number)
        number = came_from[number]
    kept.reverse()
    return kept
