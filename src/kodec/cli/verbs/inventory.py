"""kodec inventory: lists the segments of logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kodec.cli import output
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.outcome import FAILED, Outcome, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.selection import READ_LOGS, TOPICS
from kodec.cli.tables import COLUMNS, WIDE, Layout, print_table

if TYPE_CHECKING:
    from kodec.pipeline.jobs.inventory import InventoryRow

__all__ = ["inventory"]


def inventory(
    paths: Annotated[list[Path], READ_LOGS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each segment.")] = False,
    crc: Annotated[bool, Option("--crc", help="Read everything and verify checksums.")] = False,
    engine: Annotated[Engine, ENGINE] = Engine.local,
    master: Annotated[str | None, MASTER] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """List all segments: offsets, counts, times, bytes, codecs, gaps and health; read only.

    Without --crc it reads only headers. Whatever is not clean is reported on stderr.

    example:  kodec inventory /data/kafka-logs

    exit:     0 listed   1 something is corrupt, or cannot be read   2 bad usage
    """
    master = require_spark(engine, master)
    with errors_reported(), job():
        from kodec.pipeline.jobs.inventory import inventory as run_inventory

        say = output.say if engine is Engine.spark else None
        summary = run_inventory(
            *paths, topics=topic or None, check_crc=crc, engine=engine.value, master=master, progress=say
        )
    if json:
        for row in summary.rows:
            print(output.as_json(_facts(row)))
    else:
        _print_tables(summary.rows, Layout(columns, wide))
    for row in summary.rows:
        if row.facts.problem:
            output.warn(row.facts.problem)
    code = Outcome(summary.omissions).end(json=json)
    raise Exit(code if summary.ok else FAILED)


def _facts(row: InventoryRow) -> dict[str, object]:
    facts, owner = row.facts, row.topic_partition
    return {
        "topic": None if owner is None else owner.topic,
        "partition": None if owner is None else owner.partition,
        "baseOffset": facts.base_offset,
        "firstOffset": facts.first_offset,
        "lastOffset": facts.last_offset,
        "batches": facts.batches,
        "records": facts.records,
        "missing": facts.missing,
        "gap": row.gap,
        "firstTimestamp": facts.first_timestamp,
        "lastTimestamp": facts.last_timestamp,
        "bytes": facts.bytes,
        "codecs": facts.codecs,
        "magics": facts.magics,
        "health": facts.health,
        "crcOk": facts.crc_ok,
        "problem": facts.problem or None,
        "path": str(facts.path),
    }


def _print_tables(rows: list[InventoryRow], layout: Layout) -> None:
    names = "topic, partition, base, last, records, missing, gap, first timestamp, last timestamp, bytes"
    print_table(
        output.count(len(rows), "segment"),
        [*names.split(", "), "codecs", "health"],
        [
            [
                *((None, None) if row.topic_partition is None else row.topic_partition),
                row.facts.base_offset,
                row.facts.last_offset,
                row.facts.records,
                row.facts.missing,
                row.gap,
                output.time_of(row.facts.first_timestamp).partition(".")[0],
                output.time_of(row.facts.last_timestamp).partition(".")[0],
                output.size_of(row.facts.bytes),
                " ".join(row.facts.codecs),
                row.facts.health,
            ]
            for row in rows
        ],
        left_aligned="topic, codecs, health",
        least="first timestamp, last timestamp, gap, codecs, missing",
        layout=layout,
    )
