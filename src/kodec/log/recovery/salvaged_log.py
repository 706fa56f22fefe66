"""The log that a salvage writes: segments, producer snapshots, leader epochs, and the files beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, takewhile
from pathlib import Path
from typing import Self

from kodec.log.batches.batch import Batch
from kodec.log.batches.sizes import HEADS
from kodec.log.directories.epochs import EpochRun, EpochRuns, up_to
from kodec.log.directories.gaps import joined_ranges, read_omitted
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import EndedTransaction, ProducerState
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, leader_epochs_bytes, offset_ranges_bytes
from kodec.log.files.descriptors import read_regular
from kodec.log.files.durable import replace_file, write_all
from kodec.log.files.names import LEADER_EPOCHS, OMITTED_OFFSETS, PARTITION_METADATA, file_name
from kodec.log.recovery.good_batches import MissingRange
from kodec.log.recovery.salvage_report import KeptSegment, LogBefore, SalvageReport
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.dataclass import replace
from kodec.runtime.errors import FormatError

__all__ = ["NewSegments", "SalvagedLog", "cut_note"]


class NewSegments:
    """Segments that are written one after another; without a folder nothing is written.

    Each gets the time of the segment that its last batch comes from. Leaving the context completes the last
    one, or after an error abandons it.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._writer: SegmentWriter | None = None
        self._source: Segment | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            if self._writer is not None:
                self._writer.abandon()

    def begin(self, base_offset: int, source: Segment) -> None:
        """Complete the segment before, and begin one."""
        self.close()
        self._source = source
        if self.folder is not None:
            self._writer = SegmentWriter(self.folder, base_offset)

    def fits(self, last_offset: int, size: int) -> bool:
        """Whether a batch fits the segment; where nothing is written, each does."""
        return self._writer is None or self._writer.fits(last_offset, size)

    def append(self, batch: Batch, source: Segment, ended: EndedTransaction | None = None) -> None:
        """Write a batch, and the transaction that it ends into the transaction index."""
        self._source = source
        if self._writer is None:
            return
        self._writer.append(batch.data, batch)
        if ended is not None and ended.aborted:
            self._writer.add_aborted(ended.index_entry())

    def close(self) -> None:
        """Complete the segment."""
        if self._writer is None:
            return
        paths = self._writer.paths
        self._writer.close()
        self._writer = None
        assert self._source is not None
        # one that cannot be read, as a link to nothing, may have no time
        with suppress(OSError):
            status = self._source.path.stat()
            for path in paths:
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


class SalvagedLog:
    """Good batches on their way into a new log; without a folder they are only counted.

    Attributes:
        start: what begins below is kept elsewhere, and not copied.
        reached: the offset after the last one that was kept, or could have been.
        epochs: the leader epochs of the batches.
    """

    def __init__(
        self, log: PartitionLog, report: SalvageReport, after: LogBefore | None, folder: Path | None
    ) -> None:
        self.start = 0 if after is None else after.end_offset
        self.reached = 0
        self.epochs = EpochRuns()
        self.segments = NewSegments(folder)
        self._folder = folder
        self._log = log
        self._report = report
        self._producers = ProducerState(None if after is None else after.producers)
        self._base_offset = 0
        self._source: Segment | None = None
        self._modified = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *details: object) -> None:
        self.segments.__exit__(kind, *details)

    def is_before(self, segment: Path, first: int, last: int) -> bool:
        """Whether a batch is kept elsewhere."""
        if first < self.start <= last:
            reason = (
                f"offsets {first} to {last} of one batch, and what is kept elsewhere ends at {self.start}"
            )
            self._report.problems.append(f"{segment}: {reason}")
        return first < self.start

    def missing(self, ranges: Iterable[MissingRange]) -> list[MissingRange]:
        """The part of what is missing that the new log lacks."""
        gaps = []
        for gap in ranges:
            if gap.last_offset is not None and gap.last_offset < self.start:
                continue
            if gap.first_offset is not None and gap.first_offset < self.start:
                gap = replace(gap, first_offset=self.start)
            gaps.append(gap)
        return gaps

    def begin(self, base_offset: int, source: Segment, *, is_first: bool) -> None:
        """Begin a segment, with the producer state at its start."""
        self._snapshot(base_offset, is_first=is_first)
        self.segments.begin(base_offset, source)
        self._base_offset = base_offset

    def take(self, batch: Batch, source: Segment) -> None:
        """Append a batch of a segment of the source."""
        if source is not self._source:
            self._source = source
            self._modified = source.path.stat().st_mtime_ns // 1_000_000
        report = self._report
        kept = report.kept.setdefault(self._base_offset, KeptSegment())
        kept.bytes += batch.size
        kept.newest = max(kept.newest, batch.max_timestamp)
        kept.modified = self._modified
        report.batches += 1
        report.records += batch.count
        report.bytes += batch.size
        self.reached = batch.next_offset
        self.epochs.take(source.path, batch)
        self.segments.append(batch, source, self._producers.take_batch(batch))

    def finish(
        self,
        logs: Sequence[PartitionLog],
        known_epochs: Callable[[], list[LeaderEpoch]],
        *,
        is_empty: bool,
    ) -> None:
        """Complete the report and the new log; other files come from the first of the logs that has them."""
        self.segments.close()
        self._report.end_offset = self.reached
        self._report.open_transactions = sorted(self._producers.open)
        self._snapshot(self.reached, is_first=is_empty)
        epochs = self._leader_epochs(known_epochs)
        if self._folder is not None:
            self._write_other_files(self._folder, logs, epochs)

    def _snapshot(self, offset: int, *, is_first: bool) -> None:
        """The producer state at the start of a segment; there is none at the start of the log."""
        if self._folder is not None and (self.start or not is_first):
            replace_file(
                self._folder / file_name(offset, "snapshot"),
                self._producers.snapshot().to_bytes(),
                folder=False,
            )

    def _leader_epochs(self, known_epochs: Callable[[], list[LeaderEpoch]]) -> list[LeaderEpoch]:
        """The new checkpoint; contradicting batches are reported, and refuted ones corrected."""
        log, report = self._log, self._report
        try:
            known = up_to(known_epochs(), self.reached)
        except (FormatError, OSError) as error:
            known = []
            report.omissions.failed(log.path / LEADER_EPOCHS, error)
        contradictions = self.epochs.contradictions(known, log.start_offset)
        report.wrong_epochs = [
            f"{contradiction}: "
            + (f"written with {contradiction.proven}" if contradiction.refuted else "kept unchanged")
            for contradiction in contradictions
            if not contradiction.note
        ]
        for contradiction in contradictions:
            if self._folder is not None and contradiction.proven is not None:
                _set_epoch(self._folder, contradiction.run, contradiction.proven)
        report.leader_epochs = self.epochs.corrected(known, contradictions)
        return report.leader_epochs

    def _write_other_files(
        self, folder: Path, logs: Sequence[PartitionLog], epochs: list[LeaderEpoch]
    ) -> None:
        for log in logs:
            if (log.path / PARTITION_METADATA).is_file():
                data = read_regular(log.path / PARTITION_METADATA)
                replace_file(folder / PARTITION_METADATA, data, folder=False)
                break
        listed = [ranges for log in logs if (ranges := read_omitted(log.path)) is not None]
        if listed:
            omitted = joined_ranges(chain.from_iterable(listed))
            replace_file(folder / OMITTED_OFFSETS, offset_ranges_bytes(omitted), folder=False)
        if epochs:
            replace_file(folder / LEADER_EPOCHS, leader_epochs_bytes(epochs), folder=False)
        if self.start and not (folder / file_name(self.start, "log")).exists():
            # a broker looks for offsets below the first segment elsewhere
            SegmentWriter(folder, self.start).close()
        if not any(folder.glob("*.log")):
            SegmentWriter(folder, max(self._log.start_offset, self.start)).close()


def cut_note(path: Path, start: int) -> str:
    """What to say where only the leader epochs show the log start offset."""
    return (
        f"{path / LEADER_EPOCHS} begins at offset {start}: the records below it were deleted, and stay so; "
        "without this file they return"
    )


def _set_epoch(folder: Path, run: EpochRun, epoch: int) -> None:
    """Write another leader epoch into the batches of a run in a new log. Raises OSError."""
    for path in sorted(folder.glob("*.log")):
        base = int(path.stem)
        with Segment.of(path, base) as segment:
            location = None if base > run.last_offset else segment.find(run.first_offset, use_index=False)
            if location is None:
                continue
            heads = takewhile(
                lambda head: head.first_known <= run.last_offset, segment.headers(location.position)
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
