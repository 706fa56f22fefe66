"""kodec restore: writes Parquet or Arrow IPC as a log directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.compressions import BATCHES
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.parser import Argument, Option

__all__ = ["restore"]


def restore(
    parquet: Annotated[
        Path, Argument(metavar="DIR", exists=True, file_okay=False, help="Output of `kodec export`.")
    ],
    to: Annotated[Path, Option("--to", help="The new log directory.", file_okay=False)],
    topic: Annotated[list[str] | None, Option(help="Only this topic; may be given several times.")] = None,
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

    exit:     0 done   1 offsets not ascending, or the target is not empty   2 bad usage
    """
    master = require_spark(engine, master)
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
        span = "none" if row.first_offset is None else f"offsets {row.first_offset} to {row.last_offset}"
        records, segments = output.count(row.records, "record"), output.count(row.segments, "segment")
        output.show(f"{row.topic_partition}: {records}, {span}, {segments}, {output.size_of(row.bytes)}")
    output.show(f"{output.count(summary.records, 'record')} to {summary.out} in {summary.seconds:.1f} s")
