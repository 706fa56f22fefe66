"""Stock ksc's readers, made from our schemas, give the expected rows of the sample logs."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crc32c
import pytest

from tests.data import SAMPLES

pytestmark = pytest.mark.quick

CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}


def expected(sample: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sample.with_suffix(".expected.jsonl").read_text().splitlines()]


def facts(sample: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((sample.parent / "batches.json").read_text())[sample.stem]
    return found


def text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def rows_of_batch(batch: Any) -> Iterator[dict[str, Any]]:
    on_append = batch.attributes.timestamp_type.name == "log_append_time"
    for record in batch.records.entries:
        body = record.body
        delta = body.timestamp_delta.value
        headers = [[header.key, text(getattr(header, "value", None))] for header in body.headers]
        yield {
            "offset": batch.base_offset + body.offset_delta.value,
            "timestamp": batch.max_timestamp if on_append else batch.base_timestamp + delta,
            "timestampType": "LogAppendTime" if on_append else "CreateTime",
            "key": text(getattr(body, "key", None)),
            "value": text(getattr(body, "value", None)),
            "headers": headers,
        }


def row_of_message(entry: Any) -> dict[str, Any]:
    message = entry.message
    kind = "CreateTime" if message.attributes.timestamp_type.value == 0 else "LogAppendTime"
    return {
        "offset": entry.offset,
        "timestamp": message.timestamp if message.magic else -1,
        "timestampType": kind if message.magic else "NoTimestampType",
        "key": text(getattr(message, "key", None)),
        "value": text(getattr(message, "value", None)),
        "headers": [],
    }


def test_entries_are_those_of_batches_json(sample: Path, ksc: Any) -> None:
    data = sample.read_bytes()
    entries = ksc("log_segment").from_bytes(data).entries
    known = facts(sample)
    assert len(entries) == len(known)
    position = 0
    for entry, fact in zip(entries, known, strict=True):
        size = entry.len_entry
        body = entry.body
        assert (position, size, entry.magic) == (fact["position"], fact["size"], fact["magic"])
        assert entry.len_body == size - 12
        if fact["magic"] == 2:
            found = {
                "baseOffset": body.base_offset,
                "leaderEpoch": body.partition_leader_epoch,
                "codec": CODECS[body.attributes.compression.value],
                "lastOffsetDelta": body.last_offset_delta,
                "baseTimestamp": body.base_timestamp,
                "maxTimestamp": body.max_timestamp,
                "producerId": body.producer_id,
                "producerEpoch": body.producer_epoch,
                "baseSequence": body.base_sequence,
                "count": body.num_records,
            }
            assert found == {key: fact[key] for key in found}
            assert body.attributes.is_transactional == bool(fact["attributes"] & 16)
            assert body.crc == crc32c.crc32c(data[position + 21 : position + size])
        else:
            assert body.offset == fact.get("lastOffset", fact.get("offset"))
            assert CODECS[body.message.attributes.compression.value] == fact["codec"]
            assert body.message.crc == zlib.crc32(data[position + 16 : position + size])
        position += size
    assert position == len(data)


def test_uncompressed_rows_are_the_expected_ones(sample: Path, ksc: Any) -> None:
    rows = {row["offset"]: row for row in expected(sample)}
    for entry in ksc("log_segment").from_bytes(sample.read_bytes()).entries:
        body = entry.body
        if entry.magic == 2:
            covered = range(body.base_offset, body.base_offset + body.last_offset_delta + 1)
            if body.attributes.compression.value == 0:
                found = list(rows_of_batch(body))
                assert found == [rows.pop(offset) for offset in covered if offset in rows]
            else:
                assert isinstance(body.records, bytes)
                for offset in covered:
                    rows.pop(offset, None)
        elif body.message.attributes.compression.value == 0:
            assert row_of_message(body) == rows.pop(body.offset)
        else:
            assert not hasattr(body.message, "key")
            rows = {offset: row for offset, row in rows.items() if offset > body.offset}
    assert rows == {}


def test_gzip_wrappers_hold_the_expected_rows(ksc: Any) -> None:
    """One codec is in the standard library, which is enough to see that `-inner` tells the truth."""
    samples = SAMPLES
    for name, relative in (("kafka-python-v1-gzip", True), ("kafka-0.8.2.2-broker-v0-gzip", False)):
        rows = []
        for entry in ksc("log_segment").from_bytes((samples / f"{name}.log").read_bytes()).entries:
            inner = ksc("message_set").from_bytes(zlib.decompress(entry.body.message.value, 31)).entries
            base = entry.body.offset - inner[-1].offset if relative else 0
            for each in inner:
                rows.append({**row_of_message(each), "offset": base + each.offset})
        assert rows == expected(samples / f"{name}.log")


def test_a_gzip_batch_holds_the_expected_rows(ksc: Any) -> None:
    sample = SAMPLES / "librdkafka-v2-mixed-gzip.log"
    rows: list[dict[str, Any]] = []
    for entry in ksc("log_segment").from_bytes(sample.read_bytes()).entries:
        batch = entry.body
        if batch.attributes.compression.value == 1:
            records = ksc("record_batch").RecordList
            data = zlib.decompress(batch.records, 31)
            batch.records = records.from_bytes(data)
        rows.extend(rows_of_batch(batch))
    assert rows == expected(sample)
