"""The salvage of one log: its good batches, segment by segment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from kodec.log.directories.epochs import deleted_up_to
from kodec.log.directories.gaps import cleaned_up_to
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.reading.reader import read_batches
from kodec.log.recovery.good_batches import GoodBatches, LogScan
from kodec.log.recovery.salvage_report import LogBefore, SalvageReport
from kodec.log.recovery.salvaged_log import SalvagedLog, cut_note
from kodec.runtime.errors import FormatError

__all__ = ["LogSalvage"]


class LogSalvage:
    """A salvage of one log."""

    def __init__(
        self, log: PartitionLog, progress: Callable[[int], None] | None, after: LogBefore | None
    ) -> None:
        self.report = SalvageReport(log.path)
        self._log = log
        self._progress = progress
        self._after = after

    def offsets(self) -> tuple[int, int]:
        """The log start offset, and the offset below which the log is compacted."""
        return self.report.start_offset, cleaned_up_to(self._log)

    def set_aside(self, dropped: Path, sources: Sequence[Fingerprint]) -> None:
        """One log has no batches of another lineage."""

    def run(self, folder: Path | None) -> SalvageReport:
        """Copy into a folder; None: only report."""
        log, report = self._log, self.report
        scan = LogScan(log, self._progress)
        following = [*(segment.base_offset for segment in log.segments[1:]), None]
        with SalvagedLog(log, report, self._after, folder) as salvaged:
            for number, (segment, batches, numbers) in enumerate(scan):
                if batches.unreachable:
                    # not even its time can be known
                    continue
                end = following[number]
                if end is None or end > salvaged.start:
                    base = max(segment.base_offset, salvaged.start)
                    salvaged.begin(base, segment, is_first=not number)
                try:
                    self._copy(segment, batches, numbers, salvaged)
                finally:
                    segment.close()
            scan.report_end()
            report.missing = salvaged.missing(scan.missing)
            report.omissions.extend(scan.omissions)
            report.omissions.extend(gap.omission for gap in report.missing)
            report.segments, salvaged.reached = scan.segments, scan.reached
            if scan.foreign is not None and not report.batches:
                raise scan.foreign
            self._note_start(salvaged)
            salvaged.finish([log], log.leader_epochs, is_empty=not log.segments)
        return report

    def _copy(
        self, segment: Segment, batches: GoodBatches, numbers: Sequence[int], salvaged: SalvagedLog
    ) -> None:
        for number in numbers:
            if salvaged.is_before(segment.path, batches.first(number), batches.last(number)):
                continue
            data = segment.read_bytes(batches.positions[number], batches.sizes[number])
            if not salvaged.segments.fits(batches.last(number), len(data)):
                # No broker starts with a segment of more than 2 GiB: it is split.
                salvaged.begin(batches.first(number), segment, is_first=False)
            batch = next(read_batches(data, limits=self._log.limits))
            batch.position = batches.positions[number]
            salvaged.take(batch, segment)

    def _note_start(self, salvaged: SalvagedLog) -> None:
        log, report = self._log, self.report
        bases = [segment.base_offset for segment in log.segments]
        if bases and log.start_offset > bases[0]:
            report.start_offset = log.start_offset
        with suppress(FormatError, OSError):
            cut = deleted_up_to(log.leader_epochs(), salvaged.epochs, bases)
            if report.start_offset < cut <= salvaged.reached:
                report.start_offset = cut
                report.notes.append(cut_note(log.path, cut))
