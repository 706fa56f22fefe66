"""Output as text for people and as JSON Lines for programs: two classes with the same methods."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kodec.cli.lines import as_json, lines_of, name_or_quoted, printable, quoted, say, show, unescaped, warn
from kodec.log.batches.batch import Batch
from kodec.log.batches.header import EXTRA
from kodec.log.batches.records import ControlRecord, Record
from kodec.log.files.listing import TopicPartition
from kodec.runtime.dataclass import fields, is_dataclass

if TYPE_CHECKING:
    from kodec.log.messages.decoding import Decoded

__all__ = [
    "JsonLines",
    "Printer",
    "Text",
    "as_json",
    "camel",
    "count",
    "ending",
    "facts",
    "lines_of",
    "name_or_quoted",
    "named",
    "plain",
    "printable",
    "quoted",
    "row_of",
    "say",
    "show",
    "size_of",
    "time_of",
    "unescaped",
    "warn",
]

_WIDE = 120


class Printer(Protocol):
    """The options of a dump; `batches`: print only the batches of logs."""

    batches: bool

    def file(self, name: str) -> None: ...

    def batch(self, batch: Batch) -> None: ...

    def record(self, record: Record) -> None: ...

    def decoded(self, record: Record, key: Decoded | None, value: Decoded | None) -> None: ...

    def item(self, kind: str, item: Mapping[str, object]) -> None: ...


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def row_of(record: Record) -> dict[str, object]:
    """The record as one JSON object: bytes in base64, null if absent."""
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": str(record.timestamp_type),
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
        "timestampType": str(batch.timestamp_type),
        "maxTimestamp": batch.max_timestamp,
    }
    if batch.is_list:
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
        facts |= {camel(name): plain(value) for name, value in batch.extra.items() if value is not None}
    return facts | {"crc": batch.crc, "crcOk": batch.crc_ok}


class JsonLines:
    """One JSON object per line."""

    batches = False

    def file(self, name: str) -> None:
        pass

    def batch(self, batch: Batch) -> None:
        if self.batches:
            print(json.dumps(_facts(batch)))

    def record(self, record: Record) -> None:
        row = row_of(record)
        if isinstance(record, ControlRecord):
            row |= {"controlType": record.type.name, "controlData": plain(record.data)}
        print(json.dumps(row))

    def decoded(self, record: Record, key: Decoded | None, value: Decoded | None) -> None:
        row = row_of(record)
        for name, part in (("decodedKey", key), ("decodedValue", value)):
            row[name] = None if part is None else part.document()
        print(json.dumps(row))

    def item(self, kind: str, item: Mapping[str, object]) -> None:
        print(as_json({"kind": kind, **{camel(name): value for name, value in item.items()}}))


def plain(data: object) -> object:
    """What an object says, as JSON has it: its fields by name."""
    if is_dataclass(data) and not isinstance(data, type):
        return {camel(field.name): plain(getattr(data, field.name)) for field in fields(data)}
    if isinstance(data, tuple) and hasattr(data, "_asdict"):
        return {camel(name): plain(value) for name, value in data._asdict().items()}
    if isinstance(data, (list, tuple)):
        return [plain(item) for item in data]
    if isinstance(data, bytes):
        return _base64(data)
    return data if isinstance(data, (str, int, float, bool, type(None))) else str(data)


def _shown(data: bytes | None) -> str:
    """Bytes for people, between quotes: text, with escapes of other bytes; long values are cut."""
    if data is None:
        return "null"
    # the most bytes that the shown characters can have, plus one character
    text = data[: 4 * (_WIDE + 1)].decode("utf-8", "surrogateescape")
    return quoted(text) if len(text) <= _WIDE else f"{quoted(text[:_WIDE] + '…')} ({len(data)} bytes)"


def time_of(timestamp: int | None) -> str:
    """Milliseconds since 1970 for people, in UTC; the number itself if it is out of the calendar's range."""
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
        show(f"== {name}")

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
            parts.append(f"{batch.timestamp_type!s} {time_of(batch.max_timestamp)}")
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
        for field in EXTRA:
            value = batch.extra[field.name]
            if value not in (None, field.default):
                parts.append(field.name if value is True else f"{field.name} {plain(value)}")
        parts.append(f"crc {batch.crc:08x}" + ("" if batch.crc_ok else " WRONG"))
        print(", ".join(parts))

    def record(self, record: Record) -> None:
        if isinstance(record, ControlRecord):
            content = f"{record.type.name} {record.data or ''}".rstrip()
            show(f"  {record.offset}  {time_of(record.timestamp)}  {content}")
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

    def decoded(self, record: Record, key: Decoded | None, value: Decoded | None) -> None:
        start = f"  {record.offset}  {time_of(record.timestamp)}"
        show(f"{start}  {_decoded_text(key, record.key)} = {_decoded_text(value, record.value)}")

    def item(self, kind: str, item: Mapping[str, object]) -> None:
        shown = (
            f"{name_or_quoted(name)} {name_or_quoted(value) if isinstance(value, str) else value}"
            for name, value in item.items()
        )
        show("  " + ", ".join(shown))


def _decoded_text(decoded: Decoded | None, data: bytes | None) -> str:
    """A message for people; if it could not be decoded, the reason and the bytes; of none, the bytes."""
    if decoded is None:
        return _shown(data)
    content = decoded.plain()
    if content is None:
        name = "" if decoded.name is None else f"{decoded.name}: "
        return f"{name}{decoded.reason}: {_shown(decoded.data)}"
    version = "" if decoded.version is None else f" v{decoded.version}"
    return f"{decoded.name}{version} {json.dumps(content, ensure_ascii=False)}"


def size_of(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def count(number: int, name: str, several: str = "") -> str:
    """A number of things; `several` is the plural of `name` unless that is `name` and s."""
    return f"{number} {name if number == 1 else several or name + 's'}"


def camel(name: str) -> str:
    """A Python name as a JSON name."""
    first, *words = name.split("_")
    return first + "".join(word.capitalize() for word in words)


def facts(thing: object, *names: str) -> dict[str, object]:
    """Attributes as JSON has them."""
    return {camel(name): getattr(thing, name) for name in names}


def named(topic_partition: TopicPartition, path: Path, applied: bool) -> dict[str, object]:
    """The first lines of each report."""
    return {
        "topic": topic_partition.topic,
        "partition": topic_partition.partition,
        "path": str(path),
        "applied": applied,
    }


def ending(applied: bool) -> str:
    """The last words of a report."""
    return "done" if applied else "nothing is written without --apply"
