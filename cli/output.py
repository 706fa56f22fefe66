"""How things are printed: text for people and JSON Lines for programs, two classes with the same methods."""

from __future__ import annotations

import base64
import dataclasses
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.survey import Overview
from kodec.log.directories.verify import Problem
from kodec.log.entries.batch import Batch
from kodec.log.entries.records import ControlRecord, Record

if TYPE_CHECKING:
    from kodec.generator.driver import Change
    from kodec.pipeline.jobs.export import ExportSummary

__all__ = [
    "JsonLines",
    "Printer",
    "Text",
    "changes",
    "export_summary",
    "overviews",
    "problem",
    "row_of",
    "say",
    "verified",
    "warn",
]

_WIDE = 120


class Printer(Protocol):
    """What a dump is told to."""

    def file(self, name: str) -> None: ...

    def batch(self, batch: Batch) -> None: ...

    def record(self, record: Record) -> None: ...

    def item(self, kind: str, item: object) -> None: ...


def say(text: str) -> None:
    """A line of progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """A line that something is wrong, on stderr."""
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def row_of(record: Record) -> dict[str, object]:
    """The record as one JSON object: bytes in base64, null where there is none."""
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": record.timestamp_type.name,
        "key": _base64(record.key),
        "value": _base64(record.value),
        "headers": [[key, _base64(value)] for key, value in record.headers],
    }


def _facts(batch: Batch) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "position": batch.position,
        "size": batch.size,
        "magic": batch.magic,
        "codec": batch.codec,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.count,
        "timestampType": batch.timestamp_type.name,
        "maxTimestamp": batch.max_timestamp,
    }
    if batch.magic == 2:
        facts |= {
            "leaderEpoch": batch.partition_leader_epoch,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "baseSequence": batch.base_sequence,
            "lastSequence": batch.last_sequence,
            "isTransactional": batch.is_transactional,
            "isControl": batch.is_control,
            "deleteHorizon": batch.delete_horizon,
        }
    return facts | {"crc": batch.crc, "crcOk": batch.crc_ok}


class JsonLines:
    """One JSON object a line."""

    batches = False

    def file(self, name: str) -> None:
        pass

    def batch(self, batch: Batch) -> None:
        if self.batches:
            print(json.dumps(_facts(batch)))

    def record(self, record: Record) -> None:
        print(json.dumps(row_of(record)))

    def item(self, kind: str, item: object) -> None:
        facts = dataclasses.asdict(item)  # type: ignore[call-overload]
        print(json.dumps({"kind": kind, **facts}))


def _shown(data: bytes | None) -> str:
    """Bytes for people: text where they are text, escapes elsewhere, cut where long."""
    if data is None:
        return "null"
    text = data.decode("utf-8", "backslashreplace")
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return f'"{text}"' if len(text) <= _WIDE else f'"{text[:_WIDE]}…" ({len(data)} bytes)'


def time_of(timestamp: int | None) -> str:
    """Milliseconds since 1970 for people, in UTC; the number itself where no calendar has it."""
    if timestamp is None or timestamp == -1:
        return "none"
    try:
        moment = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(timestamp)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{timestamp % 1000:03d}"


class Text:
    """Lines for people."""

    batches = False

    def file(self, name: str) -> None:
        print(f"== {name}")

    def batch(self, batch: Batch) -> None:
        offsets = f"{batch.base_offset}..{batch.last_offset}"
        parts = [
            f"batch {offsets}",
            f"at {batch.position}",
            f"{batch.size} bytes",
            f"magic {batch.magic}",
            batch.codec,
            f"{batch.count} record{'s' * (batch.count != 1)}",
        ]
        if batch.timestamp_type.value >= 0:
            parts.append(f"{batch.timestamp_type.name} {time_of(batch.max_timestamp)}")
        if batch.partition_leader_epoch >= 0:
            parts.append(f"epoch {batch.partition_leader_epoch}")
        if batch.producer_id >= 0:
            sequence = (
                f" sequence {batch.base_sequence}..{batch.last_sequence}" if batch.base_sequence >= 0 else ""
            )
            parts.append(f"producer {batch.producer_id}/{batch.producer_epoch}{sequence}")
        parts += ["transactional"] * batch.is_transactional + ["control"] * batch.is_control
        if batch.delete_horizon is not None:
            parts.append(f"delete horizon {time_of(batch.delete_horizon)}")
        parts.append(f"crc {batch.crc:08x}" + ("" if batch.crc_ok else " WRONG"))
        print(", ".join(parts))

    def record(self, record: Record) -> None:
        if isinstance(record, ControlRecord):
            said = f"{record.type.name} {record.data or ''}".rstrip()
            print(f"  {record.offset}  {time_of(record.timestamp)}  {said}")
            return
        line = (
            f"  {record.offset}  {time_of(record.timestamp)}  {_shown(record.key)} = {_shown(record.value)}"
        )
        if record.headers:
            line += (
                "  {"
                + ", ".join(
                    f"{_shown(k.encode('utf-8', 'surrogateescape'))}: {_shown(v)}" for k, v in record.headers
                )
                + "}"
            )
        print(line)

    def item(self, kind: str, item: object) -> None:
        facts = dataclasses.asdict(item)  # type: ignore[call-overload]
        print("  " + ", ".join(f"{name} {value}" for name, value in facts.items()))


def changes(found: Sequence[Change], check: bool) -> int:
    """Say what `generate` did, or (with `check`) what it would do; the exit code."""
    if check:
        for change in found:
            sys.stdout.write(change.diff)
        if found:
            files = f"{len(found)} file{'s' * (len(found) != 1)}"
            warn(f"{files} differ from what the schemas give: run `kodec generate`")
            return 1
        say("generated code is up to date")
        return 0
    for change in found:
        print(f"{change.kind:8} {change.path}")
    print(f"{len(found)} file{'s' * (len(found) != 1)} written" if found else "nothing has changed")
    return 0


def export_summary(summary: ExportSummary) -> None:
    """A table with a row for each topic-partition, then what was left out."""
    table = Table(
        title=f"{summary.records:,} records to {escape(str(summary.out))} in {summary.seconds:.1f} s"
    )
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
            time_of(row.min_timestamp),
            time_of(row.max_timestamp),
            str(row.segments),
            size_of(row.bytes),
            size_of(row.written),
        )
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(table)
    for row in summary.partitions:
        for what, lines in (("skipped", row.skipped), ("torn tail", row.torn_tails)):
            for line in lines:
                warn(f"{row.topic}-{row.partition}: {what}: {line}")


def overviews(rows: Sequence[tuple[PartitionLog, Overview]], as_json: bool) -> None:
    """A row, or a JSON object, for each topic-partition; what is not clean is told on stderr."""
    if as_json:
        for log, found in rows:
            print(
                json.dumps(
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
                        "entries": found.entries,
                        "codecs": found.codecs,
                        "magics": found.magics,
                        "health": found.health,
                        "problems": found.problems,
                    }
                )
            )
    else:
        table = Table(title=f"{len(rows)} topic-partition{'s' * (len(rows) != 1)}")
        for name in (
            "topic",
            "partition",
            "segments",
            "start",
            "end",
            "first timestamp",
            "last timestamp",
            "bytes",
            "codecs",
            "health",
        ):
            left = name in ("topic", "codecs", "health")
            table.add_column(name, justify="left" if left else "right", overflow="fold")
        for log, found in rows:
            table.add_row(
                escape(log.topic_partition.topic),
                str(log.topic_partition.partition),
                str(found.segments),
                str(found.start_offset),
                str(found.end_offset),
                _second(found.first_timestamp),
                _second(found.last_timestamp),
                size_of(found.bytes),
                " ".join(found.codecs),
                found.health,
            )
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    for _, found in rows:
        for line in found.problems:
            warn(line)


def _second(timestamp: int | None) -> str:
    """A time without its milliseconds."""
    return time_of(timestamp).partition(".")[0]


def problem(found: Problem, as_json: bool) -> None:
    """A line for one thing that is wrong."""
    if not as_json:
        print(found)
        return
    facts = {"file": str(found.path), "byte": found.at, "what": found.what}
    print(json.dumps(facts | {"need": found.need, "have": found.have}, default=str))


def verified(segments: int, size: int, problems: int, as_json: bool) -> None:
    """What was checked, and how it came out."""
    if as_json:
        print(json.dumps({"segments": segments, "bytes": size, "problems": problems}))
        return
    ending = f"{problems} problem{'s' * (problems != 1)}" if problems else "no problem"
    print(f"{segments} segment{'s' * (segments != 1)}, {size_of(size)}: {ending}")


def size_of(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
