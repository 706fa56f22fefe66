"""What `kodec ls`, `kodec verify` and `kodec get` do with a log directory; they read only."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from kodec.cli import output
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import Isolation, PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.directories.survey import Overview, survey
from kodec.log.directories.verify import Problem, verify_partition, verify_root, verify_segment
from kodec.log.files.listing import parse_folder_name, parse_segment_name
from kodec.log.files.paths import resolved

__all__ = ["Missing", "get_records", "list_logs", "parse_time", "progress", "verify_paths"]

_LARGE = 16 << 20


class Missing(Exception):
    """What was asked for is not there."""


def _open(path: Path) -> LogDirectory | PartitionLog:
    """What a folder is: a topic-partition's, by its name and its files, or a log directory."""
    if parse_folder_name(resolved(path).name) is not None:
        log = PartitionLog(path)
        if log.segments:
            return log
    return LogDirectory(path)


def _logs(opened: LogDirectory | PartitionLog) -> list[PartitionLog]:
    return [opened] if isinstance(opened, PartitionLog) else list(opened)


@contextmanager
def progress(name: str, size: int, *, beside_output: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, where there is a person to see it and enough to do; lines on stdout would tear it."""
    if size < _LARGE or not sys.stderr.isatty() or (beside_output and sys.stdout.isatty()):
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=size)
        yield lambda step: bar.advance(task, step)


def list_logs(paths: list[Path], *, json: bool, check_crc: bool) -> int:
    """Print a row for each topic-partition; 1 where one is corrupt, else 0."""
    opened = [_open(path) for path in paths]
    logs = [log for each in opened for log in _logs(each)]
    rows: list[tuple[PartitionLog, Overview]] = []
    with progress("ls", sum(log.size for log in logs), beside_output=False) as step:
        for log in logs:
            rows.append((log, survey(log, check_crc=check_crc, progress=step)))
            log.close()
    output.overviews(rows, json)
    for each in opened:
        if isinstance(each, LogDirectory):
            for replica in each.not_live:
                output.warn(f"{replica.path}: {replica.kind.value} replica, not listed")
    for log in logs:
        for leftover in log.leftovers:
            output.warn(f"{leftover.path}: {leftover.kind.value} file, not part of the log")
    return int(any(overview.health == "corrupt" for _, overview in rows))


def verify_paths(paths: list[Path], *, json: bool) -> int:
    """Print a line for each problem and a summary; 1 where there is a problem, else 0."""
    problems = segments = size = 0
    # What the reader passes over it also logs; here each has its line already.
    logging.getLogger("kodec").addHandler(logging.NullHandler())

    def told(found: Iterator[Problem]) -> None:
        nonlocal problems
        for problem in found:
            problems += 1
            output.problem(problem, json)

    for path in paths:
        if path.is_dir():
            opened = _open(path)
            logs = _logs(opened)
            total = sum(log.size for log in logs)
            with progress(path.name, total, beside_output=True) as step:
                for root in opened.roots if isinstance(opened, LogDirectory) else []:
                    told(verify_root(root))
                for log in logs:
                    told(verify_partition(log, progress=step))
                    segments += len(log.segments)
                    log.close()
            size += total
        else:
            segment = _segment(path)
            with progress(path.name, segment.size, beside_output=True) as step:
                told(verify_segment(segment, progress=step))
            segments += 1
            size += segment.size
    output.verified(segments, size, problems, json)
    return int(problems > 0)


def is_segment(path: Path) -> bool:
    """Whether a file's name is that of a segment."""
    return parse_segment_name(path.name) is not None


def _segment(path: Path) -> Segment:
    base_offset = parse_segment_name(path.name)
    assert base_offset is not None
    return Segment.of(path, base_offset, beside=True)


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


def get_records(
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
