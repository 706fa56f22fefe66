"""kodec ls: shows a log directory at a glance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from kodec.cli import output
from kodec.cli.outcome import FAILED, Outcome, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.progress import progress
from kodec.cli.selection import READ_DIRECTORIES, TOPICS, logs_at
from kodec.cli.tables import COLUMNS, WIDE, Layout, print_table
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import LeftoverKind, left_out_of, parse_folder_name
from kodec.log.files.lock import is_locked
from kodec.log.files.paths import PartitionPath
from kodec.log.omissions import Cause
from kodec.log.remote.resolve import require_topics, resolve
from kodec.log.verification.survey import PartitionOverview, survey
from kodec.runtime.dataclass import replace
from kodec.stores.storage import Entry, entries

__all__ = ["list_logs"]


def list_logs(
    paths: Annotated[list[Path], READ_DIRECTORIES],
    topic: Annotated[list[str] | None, TOPICS] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
    crc: Annotated[bool, Option("--crc", help="Read everything and verify checksums.")] = False,
    sort: Annotated[
        str | None,
        Option("--sort", metavar="NAME", help="Sort by a column: names ascending, numbers descending."),
    ] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show a log directory at a glance: offsets, times, bytes, codecs and health of each topic-partition.

    Without --crc it reads only headers. Health is clean, torn (ends in a partial batch, or in zeros), corrupt
    or unreadable; problems are reported on stderr, and so is the space of files that are not part of a
    log: deleted files and replicas, moves in progress, strays, folders with other names that hold segments.

    example:  kodec ls /data/kafka-logs --sort bytes

    exit:     0 listed   1 something is corrupt, or cannot be read   2 bad usage
    """
    with errors_reported():
        code = _list(paths, topic or None, None if json else Layout(columns, wide), sort=sort, check_crc=crc)
    raise Exit(code)


_MEANING = {
    LeftoverKind.DELETED: "not part of the log",
    LeftoverKind.CLEANED: "left by an interrupted compaction, not part of the log",
    LeftoverKind.SWAP: "left by an interrupted swap of segments: recovery completes it",
}


_AT_WORK = {
    LeftoverKind.CLEANED: "of a compaction, perhaps by a running broker: not yet part of the log",
    LeftoverKind.SWAP: "of a swap of segments, perhaps by a running broker",
}


def _list(
    paths: list[Path], topics: list[str] | None, layout: Layout | None, *, sort: str | None, check_crc: bool
) -> int:
    """Print a row for each topic-partition, or JSON without a layout; 1 if one is corrupt, else 0."""
    if sort is not None and sort not in _COLUMNS:
        raise BadParameter(f"--sort: no column {sort!r}; the columns are {', '.join(_COLUMNS)}")
    require_topics(topics, *paths)
    directories: list[LogDirectory] = []
    logs: list[PartitionLog] = []
    for path in paths:
        if isinstance(resolve(path), PartitionPath):
            logs.append(PartitionLog(path))
        else:
            directories.append(LogDirectory(path))
    rows: list[tuple[PartitionLog, PartitionOverview]] = []
    outcome = Outcome()
    for directory in directories:
        directory.require_starts(outcome.omissions)
        logs += directory
    logs = [log for log in logs if topics is None or log.topic_partition.topic in topics]
    with progress("ls", lambda: sum(logs_at(path, topics)[1] for path in paths), beside_output=False) as step:
        for log in logs:
            with outcome.each(log.path):
                rows.append((log, survey(log, check_crc=check_crc, progress=step)))
                log.close()
                if remote := log.remote_offsets:
                    text = f"offsets {remote.start} to {remote.stop - 1} are in remote storage: give --tier"
                    outcome.omissions.lose(log.path, text, Cause.ABSENT)
    if sort is not None:
        rows.sort(key=lambda row: _rank(_COLUMNS[sort](*row)))
    _print_tables(rows, layout)
    roots = (root for directory in directories for root in directory.roots)
    for left_out in (omission for root in roots for omission in left_out_of(root.path, topics)):
        used = _bytes_in(left_out.path)
        name = parse_folder_name(left_out.path.name)
        what = left_out.reason if name is None else f"{name.kind.value} replica, not listed"
        outcome.omissions.add(replace(left_out, reason=f"{what}, {output.size_of(used)}", size=used))
    for log, _ in rows:
        meaning = _MEANING | (_AT_WORK if log.leftovers and is_locked(log.root) else {})
        for leftover in log.leftovers:
            size = output.size_of(_size(leftover.path))
            output.warn(f"{leftover.path}: {leftover.kind.value} file, {meaning[leftover.kind]}, {size}")
    code = outcome.end(json=layout is None)
    return FAILED if any(overview.health in ("corrupt", "unreadable") for _, overview in rows) else code


def _print_tables(rows: Sequence[tuple[PartitionLog, PartitionOverview]], layout: Layout | None) -> None:
    """A row, or a JSON object, for each topic-partition; problems are reported on stderr."""
    if layout is None:
        for log, overview in rows:
            print(output.as_json(_facts(log, overview)))
    else:
        topics = {log.topic_partition.topic for log, _ in rows}
        segments, size = (
            sum(getattr(overview, name) for _, overview in rows) for name in ("segments", "bytes")
        )
        title = (
            f"{output.count(len(rows), 'topic-partition')} of {output.count(len(topics), 'topic')}, "
            f"{output.count(segments, 'segment')}, {output.size_of(size)}"
        )
        cells = [
            [_SHOWN.get(name, _same)(value_of(*row)) for name, value_of in _COLUMNS.items()] for row in rows
        ]
        print_table(
            title, list(_COLUMNS), cells, left_aligned="topic, codecs, health", least=_LEAST, layout=layout
        )
    for _, overview in rows:
        for line in overview.problems:
            output.warn(line)


def _facts(log: PartitionLog, overview: PartitionOverview) -> dict[str, object]:
    return {
        "topic": log.topic_partition.topic,
        "partition": log.topic_partition.partition,
        "path": str(log.path),
        "segments": overview.segments,
        "startOffset": overview.start_offset,
        "endOffset": overview.end_offset,
        "firstTimestamp": overview.first_timestamp,
        "lastTimestamp": overview.last_timestamp,
        "bytes": overview.bytes,
        "batches": overview.batches,
        "codecs": overview.codecs,
        "magics": overview.magics,
        "health": overview.health,
        "remoteSegments": log.remote_segments,
        "problems": overview.problems,
        "leftovers": [
            {"path": str(leftover.path), "kind": leftover.kind.value, "bytes": _size(leftover.path)}
            for leftover in log.leftovers
        ],
    }


def _second(timestamp: int | None) -> str:
    """A time without its milliseconds."""
    return output.time_of(timestamp).partition(".")[0]


def _same(value: object) -> object:
    return value


_COLUMNS: Mapping[str, Callable[[PartitionLog, PartitionOverview], Any]] = {
    "topic": lambda log, _: log.topic_partition.topic,
    "partition": lambda log, _: log.topic_partition.partition,
    "segments": lambda _, overview: overview.segments,
    "start": lambda _, overview: overview.start_offset,
    "end": lambda _, overview: overview.end_offset,
    "first timestamp": lambda _, overview: overview.first_timestamp,
    "last timestamp": lambda _, overview: overview.last_timestamp,
    "bytes": lambda _, overview: overview.bytes,
    "codecs": lambda _, overview: " ".join(overview.codecs),
    "health": lambda _, overview: overview.health,
}
_SHOWN: Mapping[str, Callable[[Any], object]] = {
    "first timestamp": _second,
    "last timestamp": _second,
    "bytes": output.size_of,
}
# The columns that a narrow terminal leaves out, in this order.
_LEAST = "segments, first timestamp, codecs, start, last timestamp"


def _rank(value: object) -> tuple[bool, object]:
    """Names ascending, numbers descending; unknown values come last."""
    return value is None, -value if isinstance(value, int) else value or ""


def _size(entry: Entry | Path) -> int:
    """Bytes of a file; 0 if it is gone by now."""
    try:
        return entry.stat().st_size
    except FileNotFoundError:
        return 0


def _bytes_in(folder: Path) -> int:
    """Bytes of the files in a replica's folder; 0 if it is gone by now, or cannot be listed."""
    try:
        with entries(folder) as listing:
            return sum(_size(entry) for entry in listing if entry.is_file())
    except OSError:
        return 0
