"""kodec restore: writes Parquet or Arrow IPC as a log directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kodec.cli import output
from kodec.cli.compressions import BATCHES
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.outcome import Outcome
from kodec.cli.parser import Argument, Exit, Option
from kodec.cli.selection import TOPICS
from kodec.log.omissions import Omissions

if TYPE_CHECKING:
    from kodec.pipeline.jobs.restore import RestoredPartition

__all__ = ["restore"]


def restore(
    parquet: Annotated[
        Path, Argument(metavar="DIR", exists=True, file_okay=False, help="Output of `kodec export`.")
    ],
    to: Annotated[Path, Option("--to", help="The new log directory.", file_okay=False)],
    dry_run: Annotated[bool, Option("--dry-run", help="Only check columns and offsets.")] = False,
    topic: Annotated[list[str] | None, TOPICS] = None,
    compression: Annotated[str, BATCHES] = "none",
    segment_bytes: Annotated[
        int, Option(help="The maximum size of a segment (segment.bytes).", min=1, max=2**31 - 1)
    ] = 1 << 30,
    engine: Annotated[Engine, ENGINE] = Engine.local,
    master: Annotated[str | None, MASTER] = None,
) -> None:
    """Write Parquet or Arrow IPC, in folders topic=T/partition=N, as a log directory.

    Offsets and timestamps stay.

    example:  kodec restore out --to restored

    exit:     0 done, or checked   1 offsets not ascending, or the target is not empty   2 bad usage
    """
    master = require_spark(engine, master)
    if dry_run:
        with job():
            from kodec.pipeline.jobs.restore import check_restore

            omissions = Omissions()
            for comparison in check_restore(parquet, to, topics=topic or None, omissions=omissions):
                output.show(_line(comparison))
        raise Exit(Outcome(omissions).end())
    with job():
        from kodec.pipeline.jobs.restore import restore as run_restore

        summary = run_restore(
            parquet,
            to,
            topics=topic or None,
            compression=compression,
            segment_bytes=segment_bytes,
            engine=engine.value,
            master=master,
            progress=output.say,
        )
    for row in summary.partitions:
        segments = output.count(row.segments, "segment")
        output.show(f"{_line(row)}, {segments}, {output.size_of(row.bytes)}")
    output.show(f"{output.count(summary.records, 'record')} to {summary.out} in {summary.seconds:.1f} s")
    raise Exit(Outcome(summary.omissions).end())


def _line(row: RestoredPartition) -> str:
    span = "none" if row.first_offset is None else f"offsets {row.first_offset} to {row.last_offset}"
    return f"{row.topic_partition}: {output.count(row.records, 'record')}, {span}"
