"""kodec export: records to Parquet, Arrow IPC, CSV or JSON Lines."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kodec.cli import output
from kodec.cli.compressions import FILES
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.selection import ON_ERROR, OnErrorChoice
from kodec.cli.wanted import FRAMING, SCHEMAS, Format, FramingChoice

if TYPE_CHECKING:
    from kodec.pipeline.jobs.export import ExportSummary

__all__ = ["export"]


class FileFormatChoice(enum.Enum):
    """`kodec.pipeline.files.RowFormat` for typer."""

    parquet = "parquet"
    arrow = "arrow"
    csv = "csv"
    jsonl = "jsonl"


def export(
    log_dir: Annotated[
        Path, typer.Argument(exists=True, help="A Kafka log.dirs folder, a partition's, or a segment.")
    ],
    to: Annotated[Path, typer.Option("--to", help="Folder for the files.", file_okay=False)],
    topic: Annotated[
        list[str] | None, typer.Option(help="Only this topic; may be given several times.")
    ] = None,
    format: Annotated[
        FileFormatChoice, typer.Option("--format", help="Of the files: arrow is Arrow IPC, jsonl JSON Lines.")
    ] = FileFormatChoice.parquet,
    compression: Annotated[str | None, FILES] = None,
    key_format: Annotated[
        Format, typer.Option("--key-format", help="As --value-format, of keys.")
    ] = Format.auto,
    value_format: Annotated[
        Format,
        typer.Option(
            "--value-format",
            help="How CSV and JSON Lines show values; avro, protobuf, json-schema: typed columns elsewhere.",
        ),
    ] = Format.auto,
    schemas: Annotated[str | None, SCHEMAS] = None,
    framing: Annotated[FramingChoice, FRAMING] = FramingChoice.auto,
    reader_schema: Annotated[
        Path | None,
        typer.Option("--reader-schema", help="Give values as this schema has them: an .avsc or .proto file."),
    ] = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Internal topics too (__consumer_offsets ...).")
    ] = False,
    no_headers: Annotated[bool, typer.Option("--no-headers", help="Leave the headers out.")] = False,
    decode: Annotated[
        bool, typer.Option("--decode", help="Messages of Kafka's own topics by name, as JSON in two columns.")
    ] = False,
    on_error: Annotated[OnErrorChoice, ON_ERROR] = OnErrorChoice.stop,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on where a run with --resume was stopped, or killed; keep what is finished."
        ),
    ] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", help="For --engine local.  [default: one for each core]", min=1)
    ] = None,
    engine: Annotated[Engine, ENGINE] = Engine.local,
    master: Annotated[str | None, MASTER] = None,
) -> None:
    """Write the records of a log directory to files, in folders topic=T/partition=N.

    The target appears whole, or not at all. CSV and JSON Lines have the fields of find.

    example:  kodec export /data/kafka-logs --to out

    exit:     0 done   1 bad bytes, or the target is not empty   2 bad usage
    """
    master = require_spark(engine, master)
    with job():
        from kodec.pipeline.jobs.export import export as run_export

        summary = run_export(
            log_dir,
            to,
            engine=engine.value,
            master=master,
            format=format.value,
            compression=compression,
            key_format=key_format.value,
            value_format=value_format.value,
            schemas=schemas,
            framing=framing.value,
            reader_schema=reader_schema,
            topics=topic or None,
            include_internal=internal,
            include_headers=not no_headers,
            include_decoded=decode,
            on_error=on_error.value,
            overwrite=overwrite,
            resume=resume,
            threads=threads,
            progress=output.say,
        )
    _print(summary)


def _print(summary: ExportSummary) -> None:
    """A table with a row for each topic-partition, then what was left out."""
    out = escape(output.printable(str(summary.out)))
    table = Table(title=f"{summary.records:,} records to {out} in {summary.seconds:.1f} s")
    for name in (
        "topic",
        "partition",
        "records",
        "offsets",
        "first timestamp",
        "last timestamp",
        "segments",
        "read",
        "written",
    ):
        table.add_column(name, justify="left" if name == "topic" else "right")
    for row in summary.partitions:
        span = "" if row.first_offset is None else f"{row.first_offset}..{row.last_offset}"
        table.add_row(
            escape(row.topic),
            str(row.partition),
            f"{row.records:,}",
            span,
            output.time_of(row.min_timestamp),
            output.time_of(row.max_timestamp),
            str(row.segments),
            output.size_of(row.bytes),
            output.size_of(row.written),
        )
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(table)
    for row in summary.partitions:
        for what, lines in (("skipped", row.skipped), ("torn tail", row.torn_tails)):
            for line in lines:
                output.warn(f"{row.topic}-{row.partition}: {what}: {line}")
