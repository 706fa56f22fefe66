"""What `kodec trim`, `kodec compact` and `kodec convert` do: show what would change, or do it."""

from __future__ import annotations

import dataclasses
import json as jsons
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from kodec.cli import output
from kodec.cli.inspecting import Missing, progress
from kodec.log.cleaning.compaction import CompactionReport, compact
from kodec.log.cleaning.retention import TrimReport, trim
from kodec.log.conversion.batches import BATCH_BYTES, ConversionReport
from kodec.log.conversion.partition import convert_partition
from kodec.log.directories.directory import LogRoot
from kodec.log.files.listing import ReplicaKind, list_partition, parse_folder_name
from kodec.log.files.paths import resolved
from kodec.runtime.errors import KodecError

__all__ = ["BATCH_BYTES", "compact_paths", "convert_paths", "trim_paths"]


def _folders(paths: list[Path], topics: list[str]) -> list[Path]:
    """Folders of topic-partitions as they are; of log directories those of the topics.

    Raises Missing, and BadParameter where no topic is given.
    """
    found = []
    for path in paths:
        replicas = LogRoot(path).replicas
        if parse_folder_name(resolved(path).name) is not None and not replicas:
            found.append(path)
            continue
        live = [each for each in replicas if each.kind is ReplicaKind.LIVE]
        wanted = [each for each in live if each.topic_partition.topic in topics]
        for topic in topics:
            if not any(each.topic_partition.topic == topic for each in wanted):
                raise Missing(f"{path} has no topic {topic}")
        if not topics:
            raise typer.BadParameter(f"{path} is a log directory: say with --topic which of its topics")
        found += [each.path for each in wanted]
    return found


def _size(folder: Path) -> int:
    return sum(segment.size for segment in list_partition(folder).segments)


class _Failures:
    """Goes on with the next topic-partition where one cannot be done."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def told(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except (KodecError, OSError, ValueError) as error:
            output.warn(f"{type(error).__name__ if isinstance(error, KodecError) else 'kodec'}: {error}")
            self.count += 1


def _each(
    name: str, folders: list[Path], times: int, run: Callable[[Path, Callable[[int], None]], None]
) -> int:
    """Run for each folder with a bar over what is read; 1 where one failed, else 0."""
    failures = _Failures()
    with progress(name, times * sum(map(_size, folders)), beside_output=True) as step:
        for folder in folders:
            with failures.told():
                run(folder, step)
    return int(failures.count > 0)


def trim_paths(
    paths: list[Path],
    topics: list[str],
    *,
    apply: bool,
    json: bool,
    before_offset: int | None,
    retention_bytes: int | None,
    retention_ms: int | None,
) -> int:
    """Trim each topic-partition; 1 where one cannot be, else 0. Raises Missing."""

    def run(folder: Path, step: Callable[[int], None]) -> None:
        report = trim(
            folder,
            apply=apply,
            before_offset=before_offset,
            retention_bytes=retention_bytes,
            retention_ms=retention_ms,
        )
        print(jsons.dumps(_trim_facts(report)) if json else _trim_text(report))

    return _each("trim", _folders(paths, topics), 0, run)


def _trim_facts(report: TrimReport) -> dict[str, object]:
    return _named(report) | {
        "startOffset": report.start_offset,
        "endOffset": report.end_offset,
        "newStartOffset": report.new_start_offset,
        "segments": report.segments,
        "bytes": report.bytes,
        "bytesDeleted": report.bytes_deleted,
        "deleted": [
            {
                "baseOffset": each.base_offset,
                "endOffset": each.end_offset,
                "bytes": each.bytes,
                "reason": each.reason.name.lower(),
            }
            for each in report.deleted
        ],
        "newSegment": report.new_segment,
    }


def _trim_text(report: TrimReport) -> str:
    name = report.topic_partition
    lines = [
        f"{name}: segment {each.base_offset}, up to {each.end_offset}, {output.size_of(each.bytes)}: "
        f"{each.reason.value}"
        for each in report.deleted
    ]
    if report.new_segment is not None:
        lines.append(f"{name}: an empty segment {report.new_segment} goes on with the offsets")
    if not report.deleted and report.new_start_offset == report.start_offset:
        return f"{name}: nothing to delete"
    part, whole = output.size_of(report.bytes_deleted), output.size_of(report.bytes)
    lines.append(
        f"{name}: {len(report.deleted)} of {report.segments} segments, {part} of {whole}, starts at "
        f"{report.new_start_offset} instead of {report.start_offset}: {_ending(report.applied)}"
    )
    return "\n".join(lines)


def _ending(applied: bool) -> str:
    return "done" if applied else "nothing is written without --apply"


def _named(report: TrimReport | CompactionReport) -> dict[str, object]:
    return {
        "topic": report.topic_partition.topic,
        "partition": report.topic_partition.partition,
        "path": str(report.path),
        "applied": report.applied,
    }


def compact_paths(
    paths: list[Path],
    topics: list[str],
    *,
    apply: bool,
    json: bool,
    delete_retention_ms: int,
    min_compaction_lag_ms: int,
    segment_bytes: int,
    buffer_bytes: int,
    from_start: bool,
    keep_format: bool,
) -> int:
    """Compact each topic-partition; 1 where one cannot be, else 0. Raises Missing."""

    def run(folder: Path, step: Callable[[int], None]) -> None:
        report = compact(
            folder,
            apply=apply,
            delete_retention_ms=delete_retention_ms,
            min_compaction_lag_ms=min_compaction_lag_ms,
            segment_bytes=segment_bytes,
            buffer_bytes=buffer_bytes,
            from_start=from_start,
            keep_format=keep_format,
            progress=step,
        )
        print(jsons.dumps(_compact_facts(report)) if json else _compact_text(report))

    return _each("compact", _folders(paths, topics), 2, run)


def _compact_facts(report: CompactionReport) -> dict[str, object]:
    counts = {_camel(name): value for name, value in dataclasses.asdict(report.counts).items()}
    return _named(report) | {
        "firstDirtyOffset": report.first_dirty_offset,
        "firstUncleanableOffset": report.first_uncleanable_offset,
        "endOffset": report.end_offset,
        "complete": report.complete,
        "rounds": report.rounds,
        "keys": report.keys,
        "segmentsBefore": report.segments_before,
        "segmentsAfter": report.segments_after,
        "bytesBefore": report.bytes_before,
        "bytesAfter": report.bytes_after,
        "counts": counts,
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _compact_text(report: CompactionReport) -> str:
    name, counts = report.topic_partition, report.counts
    if not report.rounds:
        return f"{name}: nothing to compact: all below {report.first_uncleanable_offset} is compacted"
    removed = [
        f"{number} {what}"
        for number, what in (
            (counts.superseded, "superseded"),
            (counts.tombstones, "tombstones"),
            (counts.aborted, "aborted"),
            (counts.without_key, "without a key"),
            (counts.markers, "transaction markers"),
        )
        if number
    ]
    before, after = output.size_of(report.bytes_before), output.size_of(report.bytes_after)
    lines = [
        f"{name}: keys from {report.first_dirty_offset} to {report.end_offset}, {report.keys} of them, "
        f"{report.rounds} time{'s' * (report.rounds != 1)} through the log",
        f"{name}: {counts.records_removed} records go" + (f": {', '.join(removed)}" if removed else ""),
        f"{name}: batches: {counts.copied} stay, {counts.rewritten} are rewritten, {counts.emptied} emptied, "
        f"{counts.removed} go; {counts.horizons} get a delete horizon",
        f"{name}: {report.segments_before} segments become {report.segments_after}, "
        f"{before} become {after}: {_ending(report.applied)}",
    ]
    if not report.complete:
        lines.append(
            f"{name}: the keys do not fit --buffer-bytes: this is the first time through the log, up to "
            f"{report.end_offset} of {report.first_uncleanable_offset}"
        )
    return "\n".join(lines)


def convert_paths(
    paths: list[Path],
    topics: list[str],
    *,
    to: Path,
    apply: bool,
    json: bool,
    magic: int | None,
    compression: str | None,
    level: int | None,
    batch_bytes: int,
    committed: bool,
) -> int:
    """Convert each topic-partition into a folder of its name in `to`; 1 where one cannot be, else 0.

    Raises Missing.
    """

    def run(folder: Path, step: Callable[[int], None]) -> None:
        report = convert_partition(
            folder,
            to / resolved(folder).name if apply else None,
            magic=magic,
            compression=compression,
            level=level,
            batch_bytes=batch_bytes,
            committed=committed,
            progress=step,
        )
        print(jsons.dumps(_convert_facts(report)) if json else _convert_text(report))

    return _each("convert", _folders(paths, topics), 1, run)


def _convert_facts(report: ConversionReport) -> dict[str, object]:
    plain = ("segments", "entries", "records", "bytes")
    facts: dict[str, object] = {
        "source": str(report.source),
        "target": None if report.target is None else str(report.target),
        "applied": report.target is not None,
    }
    for name in (*plain, *(f"{name}_written" for name in plain), "entries_copied", "end_segment"):
        facts[_camel(name)] = getattr(report, name)
    facts["losses"] = {
        _camel(what.name.lower()): {
            "count": losses.count,
            "first": [{"segment": segment, "offset": offset} for segment, offset in losses.first],
        }
        for what, losses in report.losses.items()
    }
    return facts


def _convert_text(report: ConversionReport) -> str:
    assert report.source is not None
    name = report.source.name
    before, after = output.size_of(report.bytes), output.size_of(report.bytes_written)
    lines = [
        f"{name}: {report.entries} entries become {report.entries_written}, {report.entries_copied} as they "
        f"are; {report.records} records become {report.records_written}; {before} become {after}"
    ]
    for what, losses in report.losses.items():
        segment, offset = losses.first[0]
        lines.append(f"{name}: {losses.count} {what.value}, first in {segment} at offset {offset}")
    if report.end_segment is not None:
        lines.append(f"{name}: an empty segment {report.end_segment} keeps the end of the log")
    where = "" if report.target is None else f" in {report.target}"
    lines.append(f"{name}: {_ending(report.target is not None)}{where}")
    return "\n".join(lines)
