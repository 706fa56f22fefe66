"""kodec salvage: copies every good batch of damaged logs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.progress import progress
from kodec.cli.selection import READ_PARTITIONS, TOPICS, folders, size_of_logs
from kodec.log.files.paths import resolved
from kodec.log.files.upload import made_here
from kodec.log.recovery.salvage import MissingRange, SalvageReport, plan_salvage

__all__ = ["salvage"]


def salvage(
    paths: Annotated[list[Path], READ_PARTITIONS],
    to: Annotated[Path, Option("--to", urls=True, help="Folder for the new topic-partitions' folders.")],
    topic: Annotated[list[str] | None, TOPICS] = None,
    apply: Annotated[bool, Option("--apply", help="Do it; without this, a dry run.")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Copy every good batch of damaged logs to new ones, offsets unchanged; report exactly what is missing.

    Where `recover`, like a broker, truncates a log at the first bad batch, this keeps the batches after it.
    The source is only read. Without --apply it is a dry run: nothing is written.

    example:  kodec salvage /data/kafka-logs --topic orders --to salvaged

    exit:     0 done   1 refused, or cannot be read   2 bad usage   3 shown, --apply does it
    """
    outcome = Outcome()
    with errors_reported():
        wanted = folders(paths, topic or [])
        with (
            progress("salvage", sum(map(size_of_logs, wanted))) as step,
            made_here(to) if apply else nullcontext(to) as made,
        ):
            for folder in wanted:
                with outcome.each(folder):
                    name = resolved(folder).name
                    plan = plan_salvage(folder, made / name, progress=step)
                    report = plan.apply() if apply else plan.preview()
                    if report.target is not None:
                        report.target = to / name
                    outcome.left_to_do += not apply
                    output.show(*([output.as_json(_facts(report))] if json else _text(report)))
    raise Exit(outcome.code)


def _facts(report: SalvageReport) -> dict[str, object]:
    return {
        "source": str(report.source),
        "target": None if report.target is None else str(report.target),
        "applied": report.target is not None,
        "segments": report.segments,
        "batches": report.batches,
        "records": report.records,
        "bytes": report.bytes,
        "bytesMissing": report.bytes_missing,
        "endOffset": report.end_offset,
        "missing": [_range(each) for each in report.missing],
        "unread": [str(path) for path in report.unread],
        "openTransactions": report.open_transactions,
        "wrongEpochs": report.wrong_epochs,
    }


def _range(missing: MissingRange) -> dict[str, object]:
    return {
        "file": str(missing.path),
        "start": missing.start,
        "end": missing.end,
        "firstOffset": missing.first_offset,
        "lastOffset": missing.last_offset,
        "reasons": list(missing.reasons),
    }


def _text(report: SalvageReport) -> list[str]:
    name = report.source.name
    lines = []
    for each in report.missing:
        what = f"bytes {each.start} to {each.end}, {each.offsets}" if each.start < each.end else each.offsets
        lines.append(f"{each.path}: {what}: {'; '.join(each.reasons)}")
    lines += [
        f"{path}: not read: "
        + ("left by an interrupted swap of segments" if path.is_file() else "not a regular file")
        for path in report.unread
    ]
    lines += [f"{each}: kept unchanged" for each in report.wrong_epochs]
    if report.open_transactions:
        producers = ", ".join(map(str, report.open_transactions))
        lines.append(f"{name}: open transactions of producer {producers}")
    kept = f"{output.count(report.batches, 'batch', 'batches')}, {output.count(report.records, 'record')}"
    lost = output.size_of(report.bytes_missing)
    where = "" if report.target is None else f" in {report.target}"
    lines.append(
        f"{name}: {kept}, {output.size_of(report.bytes)} kept, {lost} missing: "
        f"{output.ending(report.target is not None)}{where}"
    )
    return lines
