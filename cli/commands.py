"""The commands and their arguments."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from kodec import __version__
from kodec.cli import output
from kodec.runtime.errors import KodecError, MissingDependency

__all__ = ["app", "run"]

app = typer.Typer(
    name="kodec",
    help="Codecs for Apache Kafka's record formats, generated from Kaitai schemas.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(arguments: list[str] | None) -> int:
    """Parse and run; the exit code. Bad usage is told on stderr."""
    try:
        app(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kodec {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Codecs for Apache Kafka's record formats, generated from Kaitai schemas."""


@app.command()
def generate(
    schemas: Annotated[Path | None, typer.Option(help="Folder of .ksy files.", file_okay=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the modules.", file_okay=False)] = None,
    tests: Annotated[
        Path | None, typer.Option(help="Folder for generated tests; none where not given.")
    ] = None,
    package: Annotated[str | None, typer.Option(help="What the tests import the modules as.")] = None,
    kernels: Annotated[
        str | None, typer.Option(help="Schemas, by comma, that get a native kernel in OUT/kernels.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="What to make: documents, vectors, ...; may be repeated. See docs/targets.md."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; show what would change.")] = False,
) -> None:
    """Make reader and writer modules, or something else, from schemas.

    Without options, the folders are those under [tool.kodec.generate] in ./pyproject.toml; with --target,
    only that of the schemas.

    example:  kodec generate --schemas formats --out src/app/formats
              kodec generate --schemas formats --target documents --out docs/formats

    exit:     0 done   1 a problem in a schema, or --check found a difference   2 bad usage
    """
    try:
        from kodec.generator.driver import generate as make
        from kodec.generator.target import DEFAULT
    except ImportError as error:
        raise MissingDependency(f"generating needs `{error.name}`: pip install 'kodec[generator]'") from error

    settings = _settings()
    given: dict[str, Any] = {
        "schemas": schemas,
        "out": out,
        "tests": tests,
        "package": package,
        "kernels": kernels,
    }
    if target:
        given["schemas"] = schemas or settings.get("schemas")
    elif schemas is None and out is None:
        given = {name: settings.get(name) if value is None else value for name, value in given.items()}
    missing = [f"--{name}" for name in ("schemas", "out") if given[name] is None]
    if missing:
        raise typer.BadParameter(
            f"{' and '.join(missing)} missing, and not under [tool.kodec.generate] in ./pyproject.toml"
        )
    if not Path(given["schemas"]).is_dir():
        raise typer.BadParameter(f"no such folder: {given['schemas']}")
    if given["tests"] is not None and not given["package"]:
        raise typer.BadParameter("--tests needs --package")
    try:
        changes = make(
            Path(given["schemas"]),
            Path(given["out"]),
            tests=None if given["tests"] is None else Path(given["tests"]),
            package=given["package"] or "",
            kernels=[name.strip() for name in (given["kernels"] or "").split(",") if name.strip()],
            targets=target or DEFAULT,
            check=check,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    raise typer.Exit(output.changes(changes, check))


def _settings() -> dict[str, str]:
    path = Path("pyproject.toml")
    if not path.is_file():
        return {}
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise typer.BadParameter(f"pyproject.toml: {error}") from None
    found = document.get("tool", {}).get("kodec", {}).get("generate", {})
    return {str(key): str(value) for key, value in found.items()}


@app.command()
def dump(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            exists=True,
            readable=True,
            help="Segments (.log, .checkpoint), .index, .timeindex, .txnindex, .snapshot files, or folders.",
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each record.")] = False,
    control: Annotated[bool, typer.Option("--control", help="Control records too.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Pass over what is corrupt, and say so.")] = False,
    no_crc: Annotated[bool, typer.Option("--no-crc", help="Do not stop at a wrong checksum.")] = False,
    batches: Annotated[bool, typer.Option("--batches", help="Batches only, not their records.")] = False,
) -> None:
    """Print the batches and records of log files.

    With --json each record is a line {"offset", "timestamp", "timestampType", "key", "value", "headers"},
    bytes in base64, null where there is none; with --batches --json a line for each batch.

    example:  kodec dump --json logs/orders-0/00000000000000000000.log

    exit:     0 done   1 bad bytes (told on stderr)   2 bad usage
    """
    from kodec.cli.dumping import dump_paths

    printer = output.JsonLines() if json else output.Text()
    code = dump_paths(
        paths,
        printer,
        control=control,
        on_error="skip" if skip else "raise",
        check_crc=not no_crc,
        batches_only=batches,
    )
    raise typer.Exit(code)


@app.command("ls")
def list_logs(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            exists=True,
            file_okay=False,
            help="log.dirs folders, or topic-partitions' folders.",
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each topic-partition.")] = False,
    crc: Annotated[bool, typer.Option("--crc", help="Read everything and verify checksums.")] = False,
) -> None:
    """Show a log directory at a glance: offsets, times, bytes, codecs and health of each topic-partition.

    Reads headers only, without --crc. Health is clean, torn (ends in a part of an entry, or in zeros) or
    corrupt; what is wrong is told on stderr.

    example:  kodec ls /data/kafka-logs

    exit:     0 listed   1 something is corrupt, or cannot be read   2 bad usage
    """
    from kodec.cli.inspecting import list_logs as run_list

    with _told():
        code = run_list(paths, json=json, check_crc=crc)
    raise typer.Exit(code)


@app.command()
def verify(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            exists=True,
            readable=True,
            help="log.dirs folders, topic-partitions' folders, or segments (.log).",
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each problem.")] = False,
) -> None:
    """Check checksums, offsets, indexes, producer snapshots, transaction indexes and checkpoints; read only.

    Prints a line for each problem (file, byte, what was needed, what is there) and a summary.

    example:  kodec verify /data/kafka-logs

    exit:     0 no problem   1 problems, or a file that cannot be read   2 bad usage
    """
    from kodec.cli.inspecting import is_segment, verify_paths

    for path in paths:
        if not path.is_dir() and not is_segment(path):
            raise typer.BadParameter(f"{path}: a segment is named like 00000000000000000000.log")
    with _told():
        code = verify_paths(paths, json=json)
    raise typer.Exit(code)


@app.command()
def get(
    log_dir: Annotated[
        Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="A log.dirs folder.")
    ],
    topic: Annotated[str, typer.Option("--topic", help="The topic.")],
    partition: Annotated[int, typer.Option("--partition", help="The partition.", min=0)],
    offset: Annotated[int | None, typer.Option("--offset", help="First offset to print.")] = None,
    timestamp: Annotated[
        str | None,
        typer.Option("--timestamp", help="Print from the first record that is not older: ms, or ISO 8601."),
    ] = None,
    count: Annotated[int, typer.Option("--count", help="How many records.", min=1)] = 1,
    committed: Annotated[
        bool, typer.Option("--committed", help="Only what is committed, as with read_committed.")
    ] = False,
    control: Annotated[bool, typer.Option("--control", help="Control records too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each record, as dump.")] = False,
) -> None:
    """Print records of a topic-partition from an offset or a time on, found by the indexes.

    example:  kodec get /data/kafka-logs --topic orders --partition 0 --offset 200 --count 3

    exit:     0 done   1 no such topic-partition, offset or time, or bad bytes   2 bad usage
    """
    from kodec.cli.inspecting import get_records, parse_time

    if (offset is None) == (timestamp is None):
        raise typer.BadParameter("give --offset or --timestamp")
    try:
        time = None if timestamp is None else parse_time(timestamp)
    except ValueError as error:
        raise typer.BadParameter(f"--timestamp: {error}") from None
    with _told():
        get_records(
            log_dir,
            topic,
            partition,
            offset=offset,
            timestamp=time,
            count=count,
            isolation="read_committed" if committed else "read_uncommitted",
            control=control,
            json=json,
        )


@app.command()
def recover(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            exists=True,
            file_okay=False,
            help="log.dirs folders, or topic-partitions' folders.",
        ),
    ],
    apply: Annotated[bool, typer.Option("--apply", help="Do it; otherwise only tell.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each change.")] = False,
    side: Annotated[
        Path | None,
        typer.Option(
            "--side",
            help="Folder for what is cut. [default: DIR.cut beside the log directory]",
            file_okay=False,
        ),
    ] = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Read all segments, whatever the checkpoints say.")
    ] = False,
    index_interval_bytes: Annotated[
        int, typer.Option(help="The topic's index.interval.bytes.", min=0)
    ] = 4096,
) -> None:
    """Repair logs that were not closed in order, as a broker does when it starts; only tells without --apply.

    Completes or takes back what compaction left half done, reads the segments from the recovery point on,
    cuts a log behind its last valid entry, and rebuilds indexes, producer snapshots and leaders' epochs.
    Nothing is thrown away: what is cut is moved to the side folder.

    example:  kodec recover /data/kafka-logs

    exit:     0 nothing to do, or done   1 changes to do, or refused, or cannot be read   2 bad usage
    """
    from kodec.cli.repairing import recover_paths

    with _told():
        code = recover_paths(
            paths,
            apply=apply,
            json=json,
            side=side,
            from_start=from_start,
            index_interval_bytes=index_interval_bytes,
        )
    raise typer.Exit(code)


@app.command()
def reindex(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            exists=True,
            readable=True,
            help="log.dirs folders, topic-partitions' folders, or segments (.log).",
        ),
    ],
    apply: Annotated[bool, typer.Option("--apply", help="Do it; otherwise only tell.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each change.")] = False,
    index_interval_bytes: Annotated[
        int, typer.Option(help="The topic's index.interval.bytes.", min=0)
    ] = 4096,
) -> None:
    """Rebuild indexes and producer snapshots from logs, which stay as they are; only tells without --apply.

    example:  kodec reindex /data/kafka-logs/orders-0

    exit:     0 nothing to do, or done   1 changes to do, or a log that is damaged   2 bad usage
    """
    from kodec.cli.inspecting import is_segment
    from kodec.cli.repairing import reindex_paths

    for path in paths:
        if not path.is_dir() and not is_segment(path):
            raise typer.BadParameter(f"{path}: a segment is named like 00000000000000000000.log")
    with _told():
        code = reindex_paths(paths, apply=apply, json=json, index_interval_bytes=index_interval_bytes)
    raise typer.Exit(code)


@contextmanager
def _told() -> Iterator[None]:
    """Tell of what is not there or cannot be read in a line, with exit code 1."""
    from kodec.cli.inspecting import Missing

    try:
        yield
    except (Missing, OSError, ValueError) as error:
        # ValueError: a topic-partition that is in two directories
        if isinstance(error, (KodecError, BrokenPipeError)):
            raise
        output.warn(f"kodec: {error}")
        raise typer.Exit(1) from None


_TOPICS = typer.Option("--topic", help="Of a log directory, this topic; may be given several times.")
_LOGS = typer.Argument(
    metavar="PATH...",
    exists=True,
    file_okay=False,
    help="Topic-partitions' folders, or log.dirs folders with --topic.",
)


@app.command("trim")
def trim_logs(
    paths: Annotated[list[Path], _LOGS],
    topic: Annotated[list[str] | None, _TOPICS] = None,
    before_offset: Annotated[
        int | None, typer.Option("--before-offset", help="Delete records below it, as DeleteRecords.", min=0)
    ] = None,
    retention_bytes: Annotated[
        int | None, typer.Option("--retention-bytes", help="Keep so many bytes of log.", min=0)
    ] = None,
    retention_ms: Annotated[
        int | None, typer.Option("--retention-ms", help="Keep what is not older, in ms.", min=0)
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; otherwise only show.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Delete the oldest segments by offset, size or time, as a broker's retention does; no broker may run.

    Whole segments, oldest first. Nothing is written without --apply.

    example:  kodec trim /data/kafka-logs --topic orders --retention-ms 86400000

    exit:     0 done, or shown   1 a topic-partition that cannot be trimmed, or is not there   2 bad usage
    """
    from kodec.cli.rewriting import trim_paths

    if before_offset is None and retention_bytes is None and retention_ms is None:
        raise typer.BadParameter("give --before-offset, --retention-bytes or --retention-ms")
    with _told():
        code = trim_paths(
            paths,
            topic or [],
            apply=apply,
            json=json,
            before_offset=before_offset,
            retention_bytes=retention_bytes,
            retention_ms=retention_ms,
        )
    raise typer.Exit(code)


@app.command("compact")
def compact_logs(
    paths: Annotated[list[Path], _LOGS],
    topic: Annotated[list[str] | None, _TOPICS] = None,
    delete_retention_ms: Annotated[
        int, typer.Option(help="How long tombstones stay (delete.retention.ms).", min=0)
    ] = 86_400_000,
    min_compaction_lag_ms: Annotated[
        int, typer.Option(help="Leave segments with younger records (min.compaction.lag.ms).", min=0)
    ] = 0,
    segment_bytes: Annotated[
        int, typer.Option(help="Merge segments up to this size (segment.bytes).", min=1)
    ] = 1 << 30,
    buffer_bytes: Annotated[int, typer.Option(help="Memory for the keys, 24 bytes for each.", min=256)] = 128
    << 20,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Look at all keys again, also at what is compacted.")
    ] = False,
    keep_format: Annotated[
        bool, typer.Option("--keep-format", help="Leave messages v0 and v1 in their format, as before 4.0.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; otherwise only show.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Keep the last value of each key, as a broker's log cleaner does; no broker may run.

    Records without a key go. The last segment stays as it is. Nothing is written without --apply.

    example:  kodec compact /data/kafka-logs --topic compacted --from-start

    exit:     0 done, or shown   1 a topic-partition that cannot be compacted, or is not there   2 bad usage
    """
    from kodec.cli.rewriting import compact_paths

    with _told():
        code = compact_paths(
            paths,
            topic or [],
            apply=apply,
            json=json,
            delete_retention_ms=delete_retention_ms,
            min_compaction_lag_ms=min_compaction_lag_ms,
            segment_bytes=segment_bytes,
            buffer_bytes=buffer_bytes,
            from_start=from_start,
            keep_format=keep_format,
        )
    raise typer.Exit(code)


@app.command("convert")
def convert_logs(
    paths: Annotated[list[Path], _LOGS],
    to: Annotated[Path, typer.Option("--to", help="Folder for the new topic-partitions' folders.")],
    topic: Annotated[list[str] | None, _TOPICS] = None,
    magic: Annotated[
        int | None, typer.Option("--magic", help="Message format 0, 1 or 2.", min=0, max=2)
    ] = None,
    compression: Annotated[
        str | None, typer.Option("--compression", help="none, gzip, snappy, lz4 or zstd.")
    ] = None,
    level: Annotated[int | None, typer.Option("--level", help="On the codec's own scale.")] = None,
    batch_bytes: Annotated[
        int, typer.Option(help="Gather single messages v0 and v1 to batches of this size.", min=1)
    ] = 16_384,
    committed: Annotated[
        bool, typer.Option("--committed", help="To v0 or v1: leave out what was aborted or is undecided.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; otherwise only show.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Write a log anew in another message format or codec, and say what is lost; offsets stay.

    The source is only read. Nothing is written without --apply.

    example:  kodec convert /data/kafka-logs --topic orders --to converted --magic 1 --compression gzip

    exit:     0 done, or shown   1 a topic-partition that cannot be converted, or is not there   2 bad usage
    """
    from kodec.cli.rewriting import convert_paths

    if magic is None and compression is None and level is None:
        raise typer.BadParameter("give --magic, --compression or --level")
    with _told():
        code = convert_paths(
            paths,
            topic or [],
            to=to,
            apply=apply,
            json=json,
            magic=magic,
            compression=compression,
            level=level,
            batch_bytes=batch_bytes,
            committed=committed,
        )
    raise typer.Exit(code)


@app.command()
def export(
    log_dir: Annotated[
        Path, typer.Argument(exists=True, help="A Kafka log.dirs folder, a partition's, or a segment.")
    ],
    to: Annotated[Path, typer.Option("--to", help="Folder for the Parquet files.", file_okay=False)],
    master: Annotated[str, typer.Option(help="Spark master.")] = "local[*]",
    topic: Annotated[
        list[str] | None, typer.Option(help="Only this topic; may be given several times.")
    ] = None,
    compression: Annotated[str, typer.Option(help="Parquet compression.")] = "zstd",
    internal: Annotated[
        bool, typer.Option("--internal", help="Internal topics too (__consumer_offsets ...).")
    ] = False,
    no_headers: Annotated[bool, typer.Option("--no-headers", help="Leave the headers out.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Pass over what is corrupt, and say so.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
) -> None:
    """Write the records of a log directory to Parquet, by Spark.

    example:  kodec export /data/kafka-logs --to out

    exit:     0 done   1 bad bytes, or the target is not empty   2 bad usage
    """
    try:
        from kodec.pipeline.jobs.export import export as run_export
    except ImportError as error:
        raise MissingDependency(f"exporting needs `{error.name}`: pip install 'kodec[spark]'") from error
    try:
        summary = run_export(
            log_dir,
            to,
            master=master,
            compression=compression,
            topics=topic or None,
            include_internal=internal,
            include_headers=not no_headers,
            permissive=skip,
            overwrite=overwrite,
            progress=output.say,
        )
    except (OSError, ValueError) as error:
        # a target that is not empty, a topic that is not there, an option out of range
        output.warn(f"kodec: {error}")
        raise typer.Exit(1) from None
    output.export_summary(summary)
