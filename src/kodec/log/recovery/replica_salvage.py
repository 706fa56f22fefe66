"""The salvage of several replicas of a topic-partition: the good batches of the lineage that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.directories.segment import Segment
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.recovery.merge import Merged, require_one_topic
from kodec.log.recovery.replica import Replica
from kodec.log.recovery.salvage_report import LogBefore, SalvageReport
from kodec.log.recovery.salvaged_log import NewSegments, SalvagedLog, cut_note
from kodec.log.writing.new_folder import new_folder

__all__ = ["ReplicaSalvage", "place_aside"]


def place_aside(dropped: Path, number: int, source: Fingerprint) -> Path:
    """The folder for the batches of a replica that do not count."""
    return dropped / str(number + 1) / str(source.topic_partition)


class ReplicaSalvage:
    """A salvage of several replicas."""

    def __init__(
        self,
        folders: Sequence[Path],
        selected: int | None,
        limits: Limits,
        progress: Callable[[int], None] | None,
        after: LogBefore | None,
    ) -> None:
        replicas = [Replica(folder, limits, progress) for folder in folders]
        require_one_topic(replicas)
        self._merged = Merged(replicas, selected)
        self._log = replicas[self._merged.lineage.winner].log
        self._after = after
        self.report = SalvageReport(self._log.path)
        self.report.problems = self._merged.conflicts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for replica in self._merged.replicas:
            replica.log.close()

    def offsets(self) -> tuple[int, int]:
        """The log start offset, and the offset below which each replica is compacted."""
        merged = self._merged
        return merged.start_offset, min(replica.cleaned for replica in merged.replicas)

    def run(self, folder: Path | None) -> SalvageReport:
        """Copy into a folder; None: only report."""
        merged, report = self._merged, self.report
        with SalvagedLog(self._log, report, self._after, folder) as salvaged:
            report.missing = salvaged.missing(merged.missing)
            self._describe()
            self._begin_empty(salvaged)
            self._copy(salvaged)
            logs = [merged.replicas[number].log for number in merged.order]
            salvaged.finish(logs, lambda: merged.lineage.epochs, is_empty=not merged)
        return report

    def _describe(self) -> None:
        """The part of the report that is known before anything is copied."""
        merged, report = self._merged, self.report
        report.segments = sum(len(replica.segments) for replica in merged.replicas)
        report.dropped = merged.dropped
        report.notes = merged.lineage.notes
        report.start_offset = merged.start_offset
        for replica in merged.replicas:
            if 0 < merged.start_offset == replica.cut > replica.checkpoint_start:
                report.notes.append(cut_note(replica.path, replica.cut))
        for replica in merged.replicas:
            report.omissions.extend(replica.omissions)
        report.omissions.extend(gap.omission for gap in report.missing)
        report.replicas = dict.fromkeys((replica.path for replica in merged.replicas), 0)

    def _batches(self) -> Iterator[tuple[Replica, Segment, int]]:
        """The batches that count: the replica, the segment, and the batch's number in the replica."""
        merged = self._merged
        for replica_number, number in zip(merged.replica, merged.number, strict=True):
            replica = merged.replicas[replica_number]
            yield replica, replica.segments[replica.segment[number]], number

    def _begin_empty(self, salvaged: SalvagedLog) -> None:
        """Make the first segment, if no batch of it is kept: the log begins there."""
        segments = [replica.segments[0] for replica in self._merged.replicas if replica.segments]
        first = min(segments, key=lambda segment: segment.base_offset, default=None)
        _, first_used, _ = next(self._batches(), (None, None, None))
        if (
            first is not None
            and first_used is not None
            and salvaged.start <= first.base_offset < first_used.base_offset
        ):
            salvaged.segments.begin(first.base_offset, first)

    def _copy(self, salvaged: SalvagedLog) -> None:
        base, is_first = -1, True
        for replica, segment, number in self._batches():
            first, last = replica.first[number], replica.last[number]
            if salvaged.is_before(segment.path, first, last):
                continue
            batch = replica.batch(number)
            self.report.replicas[replica.path] += 1
            if segment.base_offset > base or not salvaged.segments.fits(last, batch.size):
                base = max(segment.base_offset, salvaged.start if is_first else salvaged.reached)
                if last - base > MAX_RELATIVE:
                    base = first
                salvaged.begin(base, segment, is_first=is_first)
            is_first = False
            salvaged.take(batch, segment)

    def set_aside(self, dropped: Path, sources: Sequence[Fingerprint]) -> None:
        """Write the batches that do not count, those of each replica as a log of its own."""
        for number, replica in enumerate(self._merged.replicas):
            numbers = list(self._merged.numbers_dropped(number))
            if not numbers:
                continue
            target = place_aside(dropped, number, sources[number])
            with (
                new_folder(replica.log, target, sources[number], offsets=lambda: (0, 0)) as folder,
                NewSegments(folder) as segments,
            ):
                _copy_dropped(replica, numbers, segments)


def _copy_dropped(replica: Replica, numbers: Sequence[int], segments: NewSegments) -> None:
    before = -1
    for number in numbers:
        segment = replica.segments[replica.segment[number]]
        if replica.segment[number] != before or not segments.fits(replica.last[number], replica.size[number]):
            before = replica.segment[number]
            segments.begin(replica.first[number], segment)
        segments.append(replica.batch(number), segment)
