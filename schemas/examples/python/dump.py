"""Print every record of log segments as a line of JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from python.log.log_segment import Entry
from python.log.message_set import MessageSet, TimestampType
from python.log.record_batch import RecordBatch
from python.log.record_batch import TimestampType as BatchTimestampType

from kodec.runtime.errors import FormatError


def rows(data: bytes) -> Iterator[dict[str, Any]]:
    """The records of all whole entries; exits where one is wrong."""
    pos = 0
    while pos < len(data):
        rest = data[pos:]
        size = 12 + int.from_bytes(rest[8:12], "big")
        if len(rest) < 17 or size > len(rest) or not rest.strip(b"\0"):
            print(f"torn tail: {len(rest)} bytes at byte {pos}", file=sys.stderr)
            return
        try:
            entry = Entry.from_bytes(rest[:size])
        except FormatError as error:
            sys.exit(f"entry at byte {pos}: {error}")
        if isinstance(entry.body, bytes):
            magic = int.from_bytes(rest[16:17], signed=True)
            sys.exit(f"entry at byte {pos}: unknown magic {magic}")
        yield from entry_rows(entry.body)
        pos += size


def entry_rows(body: Any) -> Iterator[dict[str, Any]]:
    if isinstance(body, RecordBatch):
        appended = body.attributes.timestamp_type == BatchTimestampType.LOG_APPEND_TIME
        for record in body.records or ():
            at = body.max_timestamp if appended else body.base_timestamp + record.body.timestamp_delta
            offset = body.base_offset + record.body.offset_delta
            yield row(offset, at, body.attributes.is_control, record.body.key, record.body.value)
        return
    outer = body.message
    if not isinstance(outer.value, MessageSet):
        yield row(body.offset, outer.timestamp if outer.magic else None, False, outer.key, outer.value)
        return
    entries = outer.value.entries
    # in magic 1 the offsets inside count from 0, and the wrapper has that of the last one
    base = body.offset - entries[-1].offset if entries and outer.magic and body.offset else 0
    appended = outer.attributes.timestamp_type == TimestampType.LOG_APPEND_TIME
    for entry in entries:
        inner = entry.message
        at = None if not inner.magic else outer.timestamp if appended else inner.timestamp
        yield row(base + entry.offset, at, False, inner.key, inner.value)


def row(offset: int, at: int | None, control: bool, key: bytes | None, value: bytes | None) -> dict[str, Any]:
    shown = [None if each is None else bytes(each).hex() for each in (key, value)]
    return {"offset": offset, "timestamp": at, "control": control, "key": shown[0], "value": shown[1]}


if __name__ == "__main__":
    for path in sys.argv[1:]:
        for each in rows(Path(path).read_bytes()):
            print(json.dumps(each))
