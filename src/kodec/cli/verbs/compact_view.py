"""kodec compact-view: the latest record of each key, as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.compressions import PARQUET
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.outcome import Outcome
from kodec.cli.parser import Argument, Exit, Option
from kodec.cli.selection import ISOLATION, PARTITION, TOPICS, IsolationChoice

__all__ = ["compact_view"]


def compact_view(
    log_dir: Annotated[
        Path,
        Argument(exists=True, urls=True, help="A log.dirs folder, a partition's folder, or a segment."),
    ],
    to: Annotated[Path, Option("--to", urls=True, help="Folder for the Parquet files.", file_okay=False)],
    topic: Annotated[list[str] | None, TOPICS] = None,
    partition: Annotated[list[int] | None, PARTITION] = None,
    isolation: Annotated[IsolationChoice, ISOLATION] = IsolationChoice.read_uncommitted,
    tombstones: Annotated[bool, Option("--tombstones", help="Keep deleted keys.")] = False,
    buffer_bytes: Annotated[
        int, Option(help="Memory for the keys of a task, 24 bytes for each.", min=256)
    ] = 128 << 20,
    compression: Annotated[str, PARQUET] = "zstd",
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing files.")] = False,
    engine: Annotated[Engine, ENGINE] = Engine.local,
    master: Annotated[str | None, MASTER] = None,
) -> None:
    """Write the latest record of each key of each topic-partition to Parquet; the log is only read.

    example:  kodec compact-view /data/kafka-logs --topic compacted --to out

    exit:     0 done   1 bad bytes, too many keys, a target that is not empty, or something left out
              2 bad usage
    """
    master = require_spark(engine, master)
    with job():
        from kodec.pipeline.jobs.compact_view import compact_view as run_view

        summary = run_view(
            log_dir,
            to,
            topics=topic or None,
            partitions=partition or None,
            isolation=isolation.value,
            tombstones=tombstones,
            buffer_bytes=buffer_bytes,
            compression=compression,
            overwrite=overwrite,
            engine=engine.value,
            master=master,
            progress=output.say,
        )
    for row in summary.partitions:
        output.show(f"{row.topic}-{row.partition}: {output.count(row.records, 'key')}")
    output.show(f"{output.count(summary.records, 'key')} to {summary.out} in {summary.seconds:.1f} s")
    raise Exit(Outcome(summary.omissions).end())
