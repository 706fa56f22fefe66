"""kodec get: records of a topic-partition from an offset or a time on."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from kodec.cli import output
from kodec.cli.outcome import Missing, errors_reported
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import Isolation
from kodec.log.files.resolve import resolve

__all__ = ["get", "parse_time"]


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
    if (offset is None) == (timestamp is None):
        raise typer.BadParameter("give --offset or --timestamp")
    try:
        time = None if timestamp is None else parse_time(timestamp)
    except ValueError as error:
        raise typer.BadParameter(f"--timestamp: {error}") from None
    with errors_reported():
        _get(
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


def parse_time(text: str) -> int:
    """A timestamp in ms since 1970-01-01 UTC from such a number or ISO 8601 (without a zone: UTC).

    Raises ValueError.
    """
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    found = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    if found < 0:
        raise ValueError(f"{text}: before 1970")
    return found


def _get(
    path: Path,
    topic: str,
    partition: int,
    *,
    offset: int | None,
    timestamp: int | None,
    count: int,
    isolation: Isolation,
    control: bool,
    json: bool,
) -> None:
    """Print up to `count` records from an offset or a time on. Raises Missing, KodecError, OSError."""
    resolve(path)
    with LogDirectory(path) as directory:
        try:
            log = directory.partition(topic, partition)
        except KeyError:
            raise Missing(f"{path} has no {topic}-{partition}") from None
        if timestamp is not None:
            found = log.find_timestamp(timestamp)
            if found is None:
                raise Missing(f"{log.topic_partition} has no record from {output.time_of(timestamp)} on")
            offset = found.offset
        printer = output.JsonLines() if json else output.Text()
        for record in islice(log.records(offset, isolation=isolation, control=control), count):
            printer.record(record)
