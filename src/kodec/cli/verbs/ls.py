"""kodec ls: a log directory at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kodec.cli import output
from kodec.cli.outcome import FAILED, Outcome, errors_reported
from kodec.cli.progress import progress
from kodec.cli.selection import DIRECTORIES, logs_at
from kodec.cli.tables import print_table
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import LeftoverKind
from kodec.log.files.lock import is_locked
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import resolve
from kodec.log.verification.survey import PartitionOverview, survey

__all__ = ["list_logs"]


def list_logs(
    paths: Annotated[list[Path], DIRECTORIES],
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each topic-partition.")] = False,
    crc: Annotated[bool, typer.Option("--crc", help="Read everything and verify checksums.")] = False,
) -> None:
    """Show a log directory at a glance: offsets, times, bytes, codecs and health of each topic-partition.

    Reads headers only, without --crc. Health is clean, torn (ends in a partial batch, or in zeros),
    corrupt or unreadable; what is wrong is reported on stderr.

    example:  kodec ls /data/kafka-logs

    exit:     0 listed   1 something is corrupt, or cannot be read   2 bad usage
    """
    with errors_reported():
        code = _list(paths, json=json, check_crc=crc)
    raise typer.Exit(code)


_MEANING = {
    LeftoverKind.DELETED: "not part of the log",
    LeftoverKind.CLEANED: "left by an interrupted compaction, not part of the log",
    LeftoverKind.SWAP: "of an interrupted swap of segments: recovery completes it",
}


_AT_WORK = {
    LeftoverKind.CLEANED: "of a compaction, perhaps of the broker that is at work: not part of the log yet",
    LeftoverKind.SWAP: "of a swap of segments, perhaps of the broker that is at work",
}


def _list(paths: list[Path], *, json: bool, check_crc: bool) -> int:
    """Print a row for each topic-partition; 1 where one is corrupt, else 0."""
    directories: list[LogDirectory] = []
    logs: list[PartitionLog] = []
    for path in paths:
        if isinstance(resolve(path), PartitionPath):
            logs.append(PartitionLog(path))
        else:
            directories.append(LogDirectory(path))
            logs += directories[-1]
    rows: list[tuple[PartitionLog, PartitionOverview]] = []
    outcome = Outcome()
    with progress("ls", sum(logs_at(path)[1] for path in paths), beside_output=False) as step:
        for log in logs:
            with outcome.each(log.path):
                rows.append((log, survey(log, check_crc=check_crc, progress=step)))
                log.close()
    _print(rows, json)
    for replica in (each for directory in directories for each in directory.not_live):
        output.warn(f"{replica.path}: {replica.kind.value} replica, not listed")
    for log, _ in rows:
        meaning = _MEANING | (_AT_WORK if log.leftovers and is_locked(log.root) else {})
        for leftover in log.leftovers:
            output.warn(f"{leftover.path}: {leftover.kind.value} file, {meaning[leftover.kind]}")
    bad = any(overview.health in ("corrupt", "unreadable") for _, overview in rows)
    return FAILED if bad else outcome.code


def _print(rows: Sequence[tuple[PartitionLog, PartitionOverview]], as_json: bool) -> None:
    """A row, or a JSON object, for each topic-partition; what is not clean is reported on stderr."""
    if as_json:
        for log, found in rows:
            print(
                output.as_json(
                    {
                        "topic": log.topic_partition.topic,
                        "partition": log.topic_partition.partition,
                        "path": str(log.path),
                        "segments": found.segments,
                        "startOffset": found.start_offset,
                        "endOffset": found.end_offset,
                        "firstTimestamp": found.first_timestamp,
                        "lastTimestamp": found.last_timestamp,
                        "bytes": found.bytes,
                        "batches": found.batches,
                        "codecs": found.codecs,
                        "magics": found.magics,
                        "health": found.health,
                        "problems": found.problems,
                    }
                )
            )
    else:
        columns = (
            "topic, partition, segments, start, end, first timestamp, last timestamp, bytes, codecs, health"
        )
        print_table(
            output.count(len(rows), "topic-partition"),
            columns.split(", "),
            [
                [
                    log.topic_partition.topic,
                    log.topic_partition.partition,
                    found.segments,
                    found.start_offset,
                    found.end_offset,
                    _second(found.first_timestamp),
                    _second(found.last_timestamp),
                    output.size_of(found.bytes),
                    " ".join(found.codecs),
                    found.health,
                ]
                for log, found in rows
            ],
            left="topic, codecs, health",
        )
    for _, found in rows:
        for line in found.problems:
            output.warn(line)


def _second(timestamp: int | None) -> str:
    """A time without its milliseconds."""
    return output.time_of(timestamp).partition(".")[0]
