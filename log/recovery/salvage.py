"""Copies every good batch of a damaged log into a new folder, and reports exactly what is missing.

A broker's recovery truncates a log at its first bad batch and deletes all that follows. What follows is
mostly good: here it is kept, with its offsets.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.directories.epochs import assign, up_to
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState, marker_of
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, leader_epochs_bytes
from kodec.log.files.durable import replace_file
from kodec.log.files.listing import LeftoverKind, TopicPartition
from kodec.log.files.names import LEADER_EPOCHS, PARTITION_METADATA, file_name
from kodec.log.files.paths import partition_path
from kodec.log.reading.reader import read_batches
from kodec.log.writing.new_folder import new_folder, require_new
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.errors import FormatError

__all__ = ["MissingRange", "SalvagePlan", "SalvageReport", "plan_salvage"]

_ENOUGH = 4 << 20


@dataclass(frozen=True, slots=True)
class MissingRange:
    """Bytes of a segment that are not in the new log, and the offsets that may have been there.

    Attributes:
        path: of the segment. start, end: the bytes, `end` not included.
        first_offset, last_offset: between the good batches around; `last_offset` is None where nothing bounds
            it, at the end of the log. Both are None where the batches around leave no offset between them.
        reasons: why, in the order of the bytes.
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
    """What a salvage kept and what it did not.

    Attributes:
        source, target: the folders; `target` is None where nothing was written.
        segments: how many were read. batches, records, bytes: of what was kept; control records count.
        missing: what was not kept, in the order of the log.
        unread: files that hold records and are no part of the log as it is, left by an interrupted swap.
        open_transactions: the producers whose transaction has no end in what was kept; a consumer that reads
            committed records stops at the first of them.
        end_offset: the offset after the last one that was kept.
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
    end_offset: int = 0

    @property
    def bytes_missing(self) -> int:
        """Bytes of the source's segments that were not kept."""
        return sum(each.end - each.start for each in self.missing)


@dataclass(frozen=True, slots=True)
class SalvagePlan:
    """A copy of what is good in a log; `preview` says what would be kept, `apply` makes it.

    Attributes:
        path: the folder that is read, whose name says which `topic_partition` it holds.
        target: the folder that is made.
    """

    path: Path
    topic_partition: TopicPartition
    target: Path
    limits: Limits
    progress: Callable[[int], None] | None = None

    @property
    def has_changes(self) -> bool:
        """Always: the target is not there yet."""
        return True

    def preview(self) -> SalvageReport:
        """Read the log and say what would be kept; nothing is written. Raises OSError."""
        with PartitionLog(self.path, limits=self.limits) as log:
            return _Salvage(log, self.progress).run(None)

    def apply(self) -> SalvageReport:
        """Write the target; the source is only read. The folder is whole after a crash, or not there.

        A broker that starts there reads the whole log once, as after any crash, and serves it.

        Raises: FileExistsError; OSError (BlockingIOError where a broker or another program writes into the
        target's log directory).
        """
        with PartitionLog(self.path, limits=self.limits) as log:
            with new_folder(log, self.target) as folder:
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

    A batch is good where it is whole, its checksum is right, and its offsets fit between those of the good
    batches around it and into its segment; a wrapper of old messages, where they can be read too. As no
    checksum covers offsets, of batches that contradict each other the fewest are left out. Batches stay as
    they are, byte by byte, in segments of the same base offsets and times; indexes, transaction indexes,
    producer snapshots and leader epochs are rebuilt from what is kept. `partition.metadata` is copied, the
    log start offset goes along.

    Args:
        target: a folder that is not there yet, named like that of a topic-partition (`orders-0`), and neither
            in the source nor in the log directory around it.
        limits: how much may be allocated for one batch.
        progress: called now and then with the bytes of the source read since the last call.

    Raises: FileExistsError; ValueError for another name or place.
    """
    read = partition_path(source)
    require_new(read.path, target)
    return SalvagePlan(Path(source), read.topic_partition, Path(target), limits, progress)


class _Found(NamedTuple):
    """A whole batch with a right checksum."""

    position: int
    size: int
    first: int
    last: int


class _Bad(NamedTuple):
    """Bytes that hold no good batch."""

    start: int
    end: int
    reason: str


class _Salvage:
    def __init__(self, log: PartitionLog, progress: Callable[[int], None] | None) -> None:
        self._log = log
        self._progress = progress
        self._untold = 0
        self._state = ProducerState()
        self._epochs: list[LeaderEpoch] = []
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
        self._reached = log.segments[0].base_offset if log.segments else 0
        for number, segment in enumerate(log.segments):
            before = log.segments[number + 1].base_offset if number + 1 < len(log.segments) else None
            report.segments += 1
            self._snapshot(folder, segment.base_offset, number)
            self._reached = max(self._reached, segment.base_offset)
            found, bad = self._read(segment)
            most = segment.base_offset + MAX_RELATIVE + 1
            kept = _in_order(found, self._reached, most if before is None else min(before, most))
            self._tell(segment, kept, found, bad, before)
            self._write(folder, segment, kept)
        report.end_offset = self._reached
        report.open_transactions = sorted(self._state.open)
        self._snapshot(folder, self._reached, len(log.segments))
        if folder is not None:
            self._beside(folder)
        return report

    def _read(self, segment: Segment) -> tuple[list[_Found], list[_Bad]]:
        """What is in a segment. A file that cannot be read on is bad from there."""
        found: list[_Found] = []
        bad: list[_Bad] = []
        at = 0
        try:
            reader = read_batches(segment.path, on_error="skip", limits=self._log.limits)
            for batch in reader:
                at = batch.position + batch.size
                self._passed(batch.size)
                try:
                    marker_of(batch)
                    # A wrapper of old messages says its last offset only: it is decompressed.
                    first = batch.base_offset
                except FormatError as error:
                    bad.append(_Bad(batch.position, at, _said(error)))
                    continue
                found.append(_Found(batch.position, batch.size, first, batch.last_offset))
            bad += [_Bad(each.start, each.end, _said(each.error)) for each in reader.skipped]
            if (tail := reader.torn_tail) is not None:
                bad.append(_Bad(tail.position, tail.position + tail.size, f"torn tail: {tail.reason}"))
        except OSError as error:
            bad.append(_Bad(at, max(segment.size, at), f"cannot be read: {error.strerror or error}"))
        return found, sorted(bad)

    def _tell(
        self,
        segment: Segment,
        kept: Sequence[_Found],
        found: Sequence[_Found],
        bad: Sequence[_Bad],
        before: int | None,
    ) -> None:
        """Report the bytes between the batches that are kept."""
        wanted = {each.position for each in kept}
        lost = list(bad)
        for each in found:
            if each.position not in wanted:
                reason = f"offsets {each.first} to {each.last} do not fit"
                lost.append(_Bad(each.position, each.position + each.size, reason))
        lost.sort()
        bounds = [*kept, None]
        expected = self._reached
        at = 0
        for following in bounds:
            reasons = []
            start = end = -1
            limit = following.position if following is not None else 1 << 63
            while at < len(lost) and lost[at].start < limit:
                start = lost[at].start if start < 0 else start
                end = max(end, lost[at].end)
                reasons.append(lost[at].reason)
                at += 1
            if reasons:
                end_offset = before if following is None else following.first
                none = end_offset is not None and end_offset <= expected
                self.report.missing.append(
                    MissingRange(
                        segment.path,
                        start,
                        end,
                        None if none else expected,
                        None if none or end_offset is None else end_offset - 1,
                        tuple(dict.fromkeys(reasons)),
                    )
                )
            if following is not None:
                expected = following.last + 1

    def _write(self, folder: Path | None, segment: Segment, kept: Sequence[_Found]) -> None:
        writer = None if folder is None else SegmentWriter(folder, segment.base_offset)
        try:
            for batch in self._again(segment, kept):
                self._take(batch, writer)
            if writer is not None:
                paths = writer.paths
                writer.close()
                status = segment.path.stat()
                for path in paths:
                    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            if writer is not None:
                writer.abandon()
            segment.close()

    def _again(self, segment: Segment, kept: Sequence[_Found]) -> Iterator[Batch]:
        for each in kept:
            batch = next(read_batches(segment.read_bytes(each.position, each.size), limits=self._log.limits))
            yield batch

    def _take(self, batch: Batch, writer: SegmentWriter | None) -> None:
        report = self.report
        report.batches += 1
        report.records += batch.count
        report.bytes += batch.size
        self._reached = batch.next_offset
        ended = self._state.take_batch(batch)
        epoch = batch.partition_leader_epoch
        if epoch > (self._epochs[-1].epoch if self._epochs else -1):
            first = batch.base_offset if batch.magic == 2 else batch.last_offset
            assign(self._epochs, LeaderEpoch(epoch, first))
        if writer is None:
            return
        writer.append(batch.data, batch)
        if ended is not None and ended.aborted:
            writer.add_aborted(ended.index_entry())

    def _snapshot(self, folder: Path | None, offset: int, number: int) -> None:
        """What is known of the producers where a segment starts; at the start of the log nothing is."""
        if folder is not None and number:
            replace_file(
                folder / file_name(offset, "snapshot"), self._state.snapshot().to_bytes(), folder=False
            )

    def _beside(self, folder: Path) -> None:
        log = self._log
        metadata = log.path / PARTITION_METADATA
        if metadata.is_file():
            replace_file(folder / PARTITION_METADATA, metadata.read_bytes(), folder=False)
        try:
            epochs = up_to(log.leader_epochs(), self._reached)
        except (FormatError, OSError):
            epochs = []
        for each in self._epochs:
            if not epochs or each.epoch > epochs[-1].epoch:
                assign(epochs, each)
        if epochs:
            replace_file(folder / LEADER_EPOCHS, leader_epochs_bytes(epochs), folder=False)
        if not log.segments:
            SegmentWriter(folder, log.start_offset).close()

    def _passed(self, size: int) -> None:
        self._untold += size
        if self._progress is not None and self._untold >= _ENOUGH:
            told, self._untold = self._untold, 0
            self._progress(told)


def _said(error: FormatError) -> str:
    return f"{type(error).__name__}: {': '.join(part for part in (error.path, error.reason) if part)}"


def _in_order(found: Sequence[_Found], start: int, end: int) -> list[_Found]:
    """The most batches, in the order of the file, whose offsets ascend from `start` and stay below `end`.

    Source: the longest increasing subsequence, by patience sorting.
    """
    fitting = [each for each in found if start <= each.first <= each.last < end]
    if all(one.last < two.first for one, two in pairwise(fitting)):
        return fitting
    # tails[n]: the smallest last offset with which n + 1 batches can end
    tails: list[int] = []
    at_end: list[int] = []
    came_from: list[int] = []
    for number, each in enumerate(fitting):
        length = bisect_left(tails, each.first)
        came_from.append(at_end[length - 1] if length else -1)
        if length == len(tails):
            tails.append(each.last)
            at_end.append(number)
        elif each.last < tails[length]:
            tails[length] = each.last
            at_end[length] = number
    kept: list[_Found] = []
    number = at_end[-1]
    while number >= 0:
        kept.append(fitting[number])
        number = came_from[number]
    return kept[::-1]
