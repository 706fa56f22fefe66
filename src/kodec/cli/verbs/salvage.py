"""kodec salvage: copies every good batch of damaged logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import LogShow, errors_reported
from kodec.cli.parser import Argument, Exit, Option
from kodec.cli.plans import Shown, run_plans
from kodec.cli.progress import progress
from kodec.cli.selection import TOPICS, replicas_at, size_of_logs
from kodec.log.recovery.merge import Dropped
from kodec.log.recovery.salvage import MissingRange, SalvagePlan, SalvageReport, plan_salvage
from kodec.stores.upload import made_here

__all__ = ["salvage"]


def salvage(
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH...",
            exists=True,
            file_okay=False,
            urls=True,
            replicas=True,
            help="Topic-partitions' folders, or log.dirs folders, of one broker or of several.",
        ),
    ],
    to: Annotated[Path, Option("--to", urls=True, help="Folder for the new topic-partitions' folders.")],
    topic: Annotated[list[str] | None, TOPICS] = None,
    lineage: Annotated[
        Path | None,
        Option(
            "--lineage",
            exists=True,
            urls=True,
            help="The replica whose leader epochs count.",
        ),
    ] = None,
    dropped: Annotated[
        Path | None,
        Option("--dropped", help="Folder for batches that an unclean election has lost, by replica."),
    ] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[
        bool, Option("--json", help="One JSON object for each topic-partition, and their total.")
    ] = False,
) -> None:
    """Copy every good batch of damaged logs to new ones, offsets unchanged; report exactly what is missing.

    Where `recover`, like a broker, truncates a log at the first bad batch, this keeps the batches after it.
    The source is only read. Without --apply it is a dry run: nothing is written.

    Of several replicas of a topic-partition it makes one log, with each batch that is good on any of them.
    Where
    they disagree, the newest leader epoch counts, as for a broker; other batches are reported and left out.
    If nothing proves which is right, it refuses; --lineage decides then.

    example:  kodec salvage /data/kafka-logs --topic orders --to salvaged
    example:  kodec salvage broker-1 broker-2 broker-3 --to salvaged

    exit:     0 done, nothing is missing   1 refused, something is missing, or cannot be read
              2 bad usage   3 changes found; run again with --apply
    """
    show = _Show(to)

    def plans() -> Iterator[SalvagePlan]:
        size = sum(size_of_logs(folder) for replicas in replica_folders.values() for folder in replicas)
        with (
            progress("salvage", size) as step,
            made_here(to) if apply else nullcontext(to) as root,
        ):
            for owner, (folder, *others) in replica_folders.items():
                replica_lineage, aside = (lineage, dropped) if others else (None, None)
                with show.outcome.each(folder):
                    yield plan_salvage(
                        folder,
                        root / str(owner),
                        *others,
                        lineage=replica_lineage,
                        dropped=aside,
                        progress=step,
                    )

    with errors_reported():
        replica_folders = replicas_at(paths, topic or [])
        show.outcome.note_listing(paths)
        raise Exit(run_plans(plans(), apply=apply, json=json, show=show))


class _Show(LogShow[SalvagePlan, SalvageReport]):
    """Salvaged logs, and what they have together."""

    def __init__(self, to: Path) -> None:
        super().__init__()
        self._to = to
        self._total = Counter[str]()

    def refused(self, plan: SalvagePlan, apply: bool) -> Iterable[Shown]:
        owner = plan.topic_partition
        self.outcome.fail(*(f"{owner}: refused: {problem}" for problem in plan.problems))
        output.warn(f"{owner}: --lineage with one of the paths decides")
        return ()

    def report(self, plan: SalvagePlan, report: SalvageReport) -> Iterable[Shown]:
        if report.target is not None:
            report.target = self._to / str(plan.topic_partition)
        self._total.update(
            partitions=1,
            batches=report.batches,
            records=report.records,
            bytes=report.bytes,
            # of replicas, bytes that one lacks another has
            bytesMissing=0 if report.replicas else report.bytes_missing,
            rangesMissing=len(report.missing),
        )
        return super().report(plan, report)

    def end(self, apply: bool) -> Iterable[Shown]:
        if (total := self._total)["partitions"] > 1:
            yield Shown(total, [_total_text(total)])

    def facts(self, plan: SalvagePlan, report: SalvageReport) -> dict[str, object]:
        return {
            "source": str(report.source),
            "target": None if report.target is None else str(report.target),
            "applied": report.target is not None,
            **output.facts(report, "segments", "batches", "records", "bytes", "bytes_missing", "end_offset"),
            "missing": [_range(gap) for gap in report.missing],
            "openTransactions": report.open_transactions,
            "wrongEpochs": report.wrong_epochs,
            "replicas": {str(path): batches for path, batches in report.replicas.items()},
            "dropped": [_dropped(dropped_range) for dropped_range in report.dropped],
            "notes": report.notes,
        }

    def text(self, plan: SalvagePlan, report: SalvageReport) -> list[str]:
        name = report.source.name
        lines = [
            f"{path}: {output.count(batches, 'batch', 'batches')} taken"
            for path, batches in report.replicas.items()
        ]
        lines += [
            f"{dropped.path}: offsets {dropped.first_offset} to {dropped.last_offset} left out: "
            f"{dropped.reason}"
            for dropped in report.dropped
        ]
        lines += [f"note: {note}" for note in report.notes]
        lines += report.wrong_epochs
        if report.open_transactions:
            producers = ", ".join(map(str, report.open_transactions))
            lines.append(f"{name}: open transactions of producer {producers}")
        content = (
            f"{output.count(report.batches, 'batch', 'batches')}, {output.count(report.records, 'record')}"
        )
        ranges = sum(gap.start == gap.end for gap in report.missing)
        lost = (
            []
            if report.replicas or (ranges and not report.bytes_missing)
            else [output.size_of(report.bytes_missing)]
        )
        if report.replicas or ranges:
            lost.append(f"{output.count(ranges, 'range')} of offsets")
        where = "" if report.target is None else f" in {report.target}"
        lines.append(
            f"{name}: {content}, {output.size_of(report.bytes)} kept, {' and '.join(lost)} missing: "
            f"{output.ending(report.target is not None)}{where}"
        )
        return lines


def _total_text(total: Counter[str]) -> str:
    content = (
        f"{output.count(total['batches'], 'batch', 'batches')}, {output.count(total['records'], 'record')}"
    )
    missing = f"{output.size_of(total['bytesMissing'])} in {output.count(total['rangesMissing'], 'range')}"
    parts = output.count(total["partitions"], "topic-partition")
    return f"{parts}: {content}, {output.size_of(total['bytes'])} kept, {missing} missing"


def _dropped(dropped: Dropped) -> dict[str, object]:
    return {
        "path": str(dropped.path),
        **output.facts(dropped, "first_offset", "last_offset", "batches", "reason"),
    }


def _range(missing: MissingRange) -> dict[str, object]:
    return {
        "file": str(missing.path),
        **output.facts(missing, "start", "end", "first_offset", "last_offset"),
        "reasons": list(missing.reasons),
    }
