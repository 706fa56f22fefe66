"""kodec convert: rewrites logs in another message format or codec."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.compressions import BATCHES
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.progress import progress
from kodec.cli.selection import ISOLATION, READ_PARTITIONS, TOPICS, IsolationChoice, folders, size_of_logs
from kodec.log.batches.frame import MAGICS, shown_magics
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.report import ConversionReport

__all__ = ["convert"]


class Negative(enum.Enum):
    """`NegativeTimestamps` for the command line."""

    refuse = "refuse"
    none = "none"


def convert(
    paths: Annotated[list[Path], READ_PARTITIONS],
    to: Annotated[Path, Option("--to", urls=True, help="Folder for the new topic-partitions' folders.")],
    topic: Annotated[list[str] | None, TOPICS] = None,
    magic: Annotated[
        int | None,
        Option("--magic", help=f"Message format {shown_magics()}.", min=min(MAGICS), max=max(MAGICS)),
    ] = None,
    compression: Annotated[str | None, BATCHES] = None,
    level: Annotated[int | None, Option("--level", help="On the codec's own scale.")] = None,
    batch_bytes: Annotated[
        int, Option(help="Collect single messages v0 and v1 in batches of this size.", min=1)
    ] = 16_384,
    isolation: Annotated[IsolationChoice, ISOLATION] = IsolationChoice.read_uncommitted,
    negative_timestamps: Annotated[
        Negative, Option("--negative-timestamps", help="How to convert timestamps below -1.")
    ] = Negative.refuse,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
    engine: Annotated[Engine, ENGINE] = Engine.local,
    master: Annotated[str | None, MASTER] = None,
) -> None:
    """Rewrite a log in another message format or codec, and report losses; offsets stay.

    The source is only read. Without --apply it is a dry run, which names every
    topic-partition that cannot be converted. The folder of --to must be new or
    empty; it appears whole or not at all.

    example:  kodec convert /data/kafka-logs --topic orders --to converted --magic 1 --compression gzip

    exit:     0 done   1 refused, cannot be read, or offsets are lost   2 bad usage
              3 changes found; run again with --apply
    """
    if magic is None and compression is None and level is None:
        raise BadParameter("give --magic, --compression or --level")
    master = require_spark(engine, master)
    local = engine is Engine.local
    options = ConvertOptions(
        magic=magic,
        compression=compression,
        level=level,
        batch_bytes=batch_bytes,
        committed=isolation is IsolationChoice.read_committed,
        negative_timestamps=negative_timestamps.value,
    )
    outcome = Outcome()

    def refused(folder: Path, error: Exception) -> None:
        with outcome.each(folder):
            raise error

    with errors_reported(), job():
        from kodec.pipeline.jobs.convert import convert as run_convert

        selected = folders(paths, topic or [])
        outcome.note_listing(paths)
        with progress("convert", sum(map(size_of_logs, selected)) if local else 0) as step:
            reports = run_convert(
                selected,
                to,
                options,
                apply=apply,
                engine=engine.value,
                master=master,
                progress=None if local else output.say,
                step=step,
                refused=refused,
            )
    for report in reports:
        assert report.source is not None
        for first, last in report.lost_offsets:
            outcome.omissions.gap(report.source, first, last)
        output.show(*([output.as_json(_facts(report))] if json else _text(report)))
    outcome.left_to_do += not apply
    raise Exit(outcome.end(json=json))


def _facts(report: ConversionReport) -> dict[str, object]:
    plain = ("segments", "batches", "records", "bytes")
    facts: dict[str, object] = {
        "source": str(report.source),
        "target": None if report.target is None else str(report.target),
        "applied": report.target is not None,
    }
    for name in (*plain, *(f"{name}_written" for name in plain), "batches_copied", "end_segment"):
        facts[output.camel(name)] = getattr(report, name)
    facts["lostOffsets"] = [{"first": first, "last": last} for first, last in report.lost_offsets]
    facts["losses"] = {
        output.camel(what.name.lower()): {
            "count": losses.count,
            "first": [{"segment": segment, "offset": offset} for segment, offset in losses.first],
        }
        for what, losses in report.losses.items()
    }
    return facts


def _text(report: ConversionReport) -> list[str]:
    assert report.source is not None
    name = report.source.name
    before, after = output.size_of(report.bytes), output.size_of(report.bytes_written)
    lines = [
        f"{name}: {report.batches} batches become {report.batches_written}, {report.batches_copied} "
        f"copied unchanged; {report.records} records become {report.records_written}; {before} become {after}"
    ]
    for what, losses in report.losses.items():
        segment, offset = losses.first[0]
        lines.append(f"{name}: {losses.count} {what.value}, first in {segment} at offset {offset}")
    if report.end_segment is not None:
        lines.append(f"{name}: an empty segment {report.end_segment} keeps the end of the log")
    where = "" if report.target is None else f" in {report.target}"
    lines.append(f"{name}: {output.ending(report.target is not None)}{where}")
    return lines
