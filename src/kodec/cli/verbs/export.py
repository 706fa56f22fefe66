"""kodec export: writes records to Parquet, Arrow IPC, CSV, JSON Lines, or a lakehouse table."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kodec.cli import output
from kodec.cli.compressions import FILES, GUARD_FORMULAS
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.lake_export import append_to_table, properties_of
from kodec.cli.outcome import Outcome
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.selection import ISOLATION, ON_ERROR, PARTITION, TOPICS, IsolationChoice, OnErrorChoice
from kodec.cli.tables import Layout, print_table
from kodec.cli.wanted import (
    FRAMING,
    KEY,
    KEY_FORMAT,
    OFFSET,
    REGISTRY,
    SINCE,
    UNTIL,
    VALUE_FORMAT,
    Format,
    FramingChoice,
    offset_bounds,
    time_bounds,
    written_keys,
)
from kodec.stores.storage import StorePath, readable

if TYPE_CHECKING:
    from kodec.pipeline.jobs.export import PartitionSummary

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
    topic: Annotated[list[str] | None, TOPICS] = None,
    partition: Annotated[list[int] | None, PARTITION] = None,
    offset: Annotated[str | None, OFFSET] = None,
    since: Annotated[str | None, SINCE] = None,
    until: Annotated[str | None, UNTIL] = None,
    key: Annotated[list[str] | None, KEY] = None,
    isolation: Annotated[IsolationChoice, ISOLATION] = IsolationChoice.read_uncommitted,
    format: Annotated[
        FileFormatChoice,
        Option("--format", help="Of the files (arrow: Arrow IPC, jsonl: JSON Lines) or table."),
    ] = FileFormatChoice.parquet,
    compression: Annotated[str | None, FILES] = None,
    key_format: Annotated[Format, KEY_FORMAT] = Format.auto,
    value_format: Annotated[Format, VALUE_FORMAT] = Format.auto,
    registry: Annotated[str | None, REGISTRY] = None,
    framing: Annotated[FramingChoice, FRAMING] = FramingChoice.auto,
    reader_schema: Annotated[
        Path | None,
        Option(
            "--reader-schema", exists=True, help="Convert values to this schema, an .avsc or .proto file."
        ),
    ] = None,
    guard_formulas: Annotated[bool, GUARD_FORMULAS] = False,
    internal: Annotated[
        bool, Option("--internal", help="Also export internal topics (__consumer_offsets ...).")
    ] = False,
    no_headers: Annotated[bool, Option("--no-headers", help="Leave out headers.")] = False,
    decode: Annotated[
        bool, Option("--decode", help="Decode messages of Kafka's own topics, as JSON in two columns.")
    ] = False,
    on_error: Annotated[OnErrorChoice, ON_ERROR] = OnErrorChoice.stop,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing files.")] = False,
    resume: Annotated[
        bool,
        Option("--resume", help="Continue a stopped or killed run with --resume."),
    ] = False,
    threads: Annotated[
        int | None,
        Option(
            "--threads", help="Number of threads, with --engine local.  [default: one for each core]", min=1
        ),
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
    add_columns: Annotated[
        bool,
        Option("--add-columns", help="Add missing columns to a table that no export has appended to."),
    ] = False,
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

    exit:     0 done   1 bad bytes, or the target is not empty, or something was left out   2 bad usage
    """
    of_files = {
        "--offset": offset,
        "--since": since,
        "--until": until,
        "--key": key,
        "--compression": compression,
        "--key-format": key_format is not Format.auto,
        "--value-format": value_format is not Format.auto,
        "--registry": registry,
        "--framing": framing is not FramingChoice.auto,
        "--reader-schema": reader_schema,
        "--guard-formulas": guard_formulas,
        "--overwrite": overwrite,
        "--resume": resume,
        "--engine spark": engine is Engine.spark,
    }
    of_tables = {"--property": property, "--follow": follow, "--add-columns": add_columns}
    is_table = format in (FileFormatChoice.iceberg, FileFormatChoice.delta)
    for name, value in (of_files if is_table else of_tables).items():
        if value:
            raise BadParameter(f"{name} is not supported with --format {format.value}")
    if catalog is not None and format is not FileFormatChoice.iceberg:
        raise BadParameter("--catalog needs --format iceberg")
    if interval is not None and not follow:
        raise BadParameter("--interval needs --follow")
    master = require_spark(engine, master)
    if is_table:
        appended, outcome = append_to_table(
            log_dir,
            to,
            delta=format is FileFormatChoice.delta,
            catalog=catalog or "default",
            properties=properties_of(property or []),
            interval=(10 if interval is None else interval) if follow else None,
            topics=topic or None,
            partitions=partition or None,
            isolation=isolation.value,
            include_internal=internal,
            include_headers=not no_headers,
            include_decoded=decode,
            on_error=on_error.value,
            add_columns=add_columns,
            threads=threads,
            progress=output.say,
        )
        title = _title(appended.records, appended.table, appended.seconds)
        _print_partitions(appended.partitions, title)
        raise Exit(outcome.end())
    try:
        target = readable(to)
    except ValueError as error:
        raise BadParameter(f"--to: {error}") from None
    if not isinstance(target, StorePath) and target.is_file():
        raise BadParameter(f"--to: {to} is a file")
    with job():
        from kodec.pipeline.jobs.export import ExportOptions
        from kodec.pipeline.jobs.export import export as run_export

        options = ExportOptions(
            format=format.value,
            compression=compression,
            key_format=key_format.value,
            value_format=value_format.value,
            registry=registry,
            framing=framing.value,
            reader_schema=reader_schema,
            guard_formulas=guard_formulas,
            topics=topic or None,
            partitions=partition or None,
            offsets=offset_bounds(offset),
            timestamps=time_bounds(since, until),
            isolation=isolation.value,
            keys=written_keys(key, key_format.value),
            include_internal=internal,
            include_headers=not no_headers,
            include_decoded=decode,
            on_error=on_error.value,
            overwrite=overwrite,
            resume=resume,
            threads=threads,
        )
        summary = run_export(
            log_dir, target, options, engine=engine.value, master=master, progress=output.say
        )
    _print_partitions(summary.partitions, _title(summary.records, str(summary.out), summary.seconds))
    raise Exit(Outcome(summary.omissions).end())


def _title(records: int, to: str, seconds: float) -> str:
    return f"{records:,} records to {to} in {seconds:.1f} s"


def _print_partitions(partitions: list[PartitionSummary], title: str) -> None:
    """A table with a row for each topic-partition."""
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
        left_aligned="topic",
        least="first timestamp, last timestamp, segments, read, written",
        layout=Layout(None, False),
    )
