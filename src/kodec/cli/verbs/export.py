"""kodec export: writes records to Parquet, Arrow IPC, CSV, JSON Lines, or a lakehouse table."""

from __future__ import annotations

import enum
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kodec.cli import output
from kodec.cli.compressions import FILES
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.parser import Argument, BadParameter, Option
from kodec.cli.selection import ISOLATION, ON_ERROR, IsolationChoice, OnErrorChoice
from kodec.cli.tables import Layout, print_table
from kodec.cli.wanted import FRAMING, SCHEMAS, Format, FramingChoice
from kodec.stores.storage import StorePath, readable

if TYPE_CHECKING:
    from kodec.pipeline.jobs.export import PartitionSummary
    from kodec.pipeline.jobs.lake import AppendSummary

__all__ = ["export"]


class FileFormatChoice(enum.Enum):
    """`kodec.pipeline.files.RowFormat`, and tables of a lake, for the command line."""

    parquet = "parquet"
    arrow = "arrow"
    csv = "csv"
    jsonl = "jsonl"
    iceberg = "iceberg"
    delta = "delta"


def export(
    log_dir: Annotated[
        Path,
        Argument(exists=True, urls=True, help="A log.dirs folder, a partition's folder, or a segment."),
    ],
    to: Annotated[
        str,
        Option(
            "--to",
            help="Folder for the files; Delta: the table's folder or URL; Iceberg: namespace.table.",
        ),
    ],
    topic: Annotated[list[str] | None, Option(help="Only this topic; may be given several times.")] = None,
    format: Annotated[
        FileFormatChoice,
        Option("--format", help="Of the files (arrow: Arrow IPC, jsonl: JSON Lines) or table."),
    ] = FileFormatChoice.parquet,
    compression: Annotated[str | None, FILES] = None,
    key_format: Annotated[
        Format, Option("--key-format", help="Like --value-format, for keys.")
    ] = Format.auto,
    value_format: Annotated[
        Format,
        Option(
            "--value-format",
            help="How CSV and JSON Lines show values; else typed columns: avro, protobuf, json-schema.",
        ),
    ] = Format.auto,
    schemas: Annotated[str | None, SCHEMAS] = None,
    framing: Annotated[FramingChoice, FRAMING] = FramingChoice.auto,
    reader_schema: Annotated[
        Path | None,
        Option("--reader-schema", help="Convert values to this schema, an .avsc or .proto file."),
    ] = None,
    internal: Annotated[
        bool, Option("--internal", help="Also export internal topics (__consumer_offsets ...).")
    ] = False,
    no_headers: Annotated[bool, Option("--no-headers", help="Leave out headers.")] = False,
    decode: Annotated[
        bool, Option("--decode", help="Decode messages of Kafka's own topics, as JSON in two columns.")
    ] = False,
    isolation: Annotated[IsolationChoice, ISOLATION] = IsolationChoice.read_uncommitted,
    on_error: Annotated[OnErrorChoice, ON_ERROR] = OnErrorChoice.stop,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing files.")] = False,
    resume: Annotated[
        bool,
        Option("--resume", help="Continue a stopped or killed run with --resume."),
    ] = False,
    threads: Annotated[
        int | None, Option("--threads", help="For --engine local.  [default: one for each core]", min=1)
    ] = None,
    engine: Annotated[Engine, ENGINE] = Engine.local,
    master: Annotated[str | None, MASTER] = None,
    catalog: Annotated[
        str | None,
        Option("--catalog", help="Iceberg catalog, named in pyiceberg's settings.  [default: default]"),
    ] = None,
    property: Annotated[
        list[str] | None,
        Option("--property", metavar="NAME=VALUE", help="Property of the Iceberg catalog or Delta storage."),
    ] = None,
    follow: Annotated[
        bool, Option("--follow", help="Append new records to a table until interrupted.")
    ] = False,
    interval: Annotated[
        float | None,
        Option("--interval", help="Seconds between two runs of --follow.  [default: 10]", min=0),
    ] = None,
) -> None:
    """Write the records of a log directory to files, in folders topic=T/partition=N, or append to a table.

    Files appear whole or not at all. CSV and JSON Lines have the fields of find.
    An Iceberg or Delta table receives only missing offsets, each once.

    example:  kodec export /data/kafka-logs --to out

              kodec export /data/kafka-logs --to lake --format delta --follow

    exit:     0 done   1 bad bytes, or the target is not empty   2 bad usage
    """
    of_files = {
        "--compression": compression,
        "--key-format": key_format is not Format.auto,
        "--value-format": value_format is not Format.auto,
        "--schemas": schemas,
        "--framing": framing is not FramingChoice.auto,
        "--reader-schema": reader_schema,
        "--overwrite": overwrite,
        "--resume": resume,
        "--engine spark": engine is Engine.spark,
    }
    of_tables = {"--property": property, "--follow": follow}
    is_table = format in (FileFormatChoice.iceberg, FileFormatChoice.delta)
    for name, given in (of_files if is_table else of_tables).items():
        if given:
            raise BadParameter(f"{name} is not supported with --format {format.value}")
    if catalog is not None and format is not FileFormatChoice.iceberg:
        raise BadParameter("--catalog needs --format iceberg")
    if interval is not None and not follow:
        raise BadParameter("--interval needs --follow")
    master = require_spark(engine, master)
    if is_table:
        properties = _properties(property or [])
        with job():
            from kodec.pipeline import append_to_lake, delta_table, iceberg_table

            table = (
                delta_table(to, properties)
                if format is FileFormatChoice.delta
                else iceberg_table(to, catalog or "default", properties)
            )

            def append() -> AppendSummary:
                return append_to_lake(
                    log_dir,
                    table,
                    topics=topic or None,
                    include_internal=internal,
                    include_headers=not no_headers,
                    include_decoded=decode,
                    isolation=isolation.value,
                    on_error=on_error.value,
                    threads=threads,
                    progress=output.say,
                )

            appended = append()
            while follow:
                time.sleep(10 if interval is None else interval)
                append()
        _print(appended.partitions, _title(appended.records, appended.table, appended.seconds))
        return
    try:
        target = readable(to)
    except ValueError as error:
        raise BadParameter(f"--to: {error}") from None
    if not isinstance(target, StorePath) and target.is_file():
        raise BadParameter(f"--to: {to} is a file")
    with job():
        from kodec.pipeline.jobs.export import export as run_export

        summary = run_export(
            log_dir,
            target,
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
            isolation=isolation.value,
            on_error=on_error.value,
            overwrite=overwrite,
            resume=resume,
            threads=threads,
            progress=output.say,
        )
    _print(summary.partitions, _title(summary.records, str(summary.out), summary.seconds))


def _properties(given: list[str]) -> dict[str, str]:
    found = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not (name and sign):
            raise BadParameter(f"--property {each}: write NAME=VALUE")
        found[name] = value
    return found


def _title(records: int, to: str, seconds: float) -> str:
    return f"{records:,} records to {to} in {seconds:.1f} s"


def _print(partitions: list[PartitionSummary], title: str) -> None:
    """A table with a row for each topic-partition, then what was omitted."""
    names = "topic, partition, records, first, last, first timestamp, last timestamp, segments, read, written"
    print_table(
        title,
        names.split(", "),
        [
            [
                row.topic,
                row.partition,
                row.records,
                row.first_offset,
                row.last_offset,
                output.time_of(row.min_timestamp).partition(".")[0],
                output.time_of(row.max_timestamp).partition(".")[0],
                row.segments,
                output.size_of(row.bytes),
                output.size_of(row.written),
            ]
            for row in partitions
        ],
        left="topic",
        least="first timestamp, last timestamp, segments, read, written",
        layout=Layout(None, False),
    )
    for row in partitions:
        for what, lines in (("skipped", row.skipped), ("torn tail", row.torn_tails)):
            for line in lines:
                output.warn(f"{row.topic}-{row.partition}: {what}: {line}")
