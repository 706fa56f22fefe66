"""What kodec reads from a log whose older segments lie in tiered storage (KIP-405), compared with Kafka."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dump_log
import pytest
import real_logs
from make_tiered import CACHE, KINDS, METADATA, SIZE_LIMIT, TOPIC

import kodec
from kodec.generated.log.offset_index import OffsetIndex
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.generated.log.time_index import TimeIndex
from kodec.generated.log.transaction_index import TransactionIndex
from kodec.log.files.checkpoints import LeaderEpoch, read_leader_epochs

(RELEASE,) = sorted(real_logs.DATA.glob("tiered-*"))
LOCAL = RELEASE / "logs" / f"{TOPIC}-0"
# Names of objects begin with the first offset in 20 digits.
TIERED = sorted((RELEASE / "tier").glob(f"{TOPIC}-0-*/*.log"))
SEGMENT = re.compile(
    r"RemoteLogSegmentMetadata\{.*, id=(?P<id>[\w-]{22})\}, startOffset=(?P<start>\d+),"
    r" endOffset=(?P<end>\d+), .*, segmentSizeInBytes=(?P<size>\d+), .*, state=(?P<state>\w+),"
    r" txnIdxEmpty=(?P<no_txnindex>\w+)\}"
)
UPDATE = re.compile(r"RemoteLogSegmentMetadataUpdate\{.*, id=(?P<id>[\w-]{22})\}, .*state=(?P<state>\w+),")


def as_row(topic: str, record: kodec.Record) -> dict[str, Any]:
    """A record of ours in the form of the consumer's rows."""

    def text(data: bytes | None) -> str | None:
        return None if data is None else base64.b64encode(data).decode()

    return {
        "topic": topic,
        "partition": 0,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": str(record.timestamp_type),
        "key": text(record.key),
        "value": text(record.value),
        "headers": [[key, text(value)] for key, value in record.headers],
    }


def rows(topic: str, segments: Iterable[Path]) -> list[dict[str, Any]]:
    return [as_row(topic, record) for segment in segments for record in kodec.read_records(segment)]


def consumed(topic: str, isolation: str) -> list[dict[str, Any]]:
    return list(real_logs.rows(RELEASE / "consumed" / f"{topic}.{isolation}.jsonl"))


def base_offset(path: Path) -> int:
    return int(path.name[:20])


def said(path: Path) -> str:
    """The text of kafka-dump-log about a file."""
    return (RELEASE / "dump" / f"{path.relative_to(RELEASE)}.txt").read_text(encoding="utf-8")


def of_tier(suffix: str) -> list[Path]:
    return sorted((RELEASE / "tier").glob(f"*/*{suffix}"))


def test_the_committed_files_are_those_of_the_manifest() -> None:
    listed = {entry["path"]: entry["sha256"] for entry in real_logs.manifest(RELEASE)["files"]}
    found = {
        path.relative_to(RELEASE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in RELEASE.rglob("*")
        if path.is_file() and path.name != "MANIFEST.json"
    }
    assert found == listed


def test_the_committed_result_is_small() -> None:
    assert sum(path.stat().st_size for path in RELEASE.rglob("*") if path.is_file()) <= SIZE_LIMIT


def test_each_tiered_segment_has_all_its_objects() -> None:
    assert len(TIERED) >= 3
    for log in TIERED:
        assert all(log.with_suffix(kind).is_file() for kind in KINDS)
    assert of_tier(".txnindex")


def test_tier_and_local_log_together_are_what_the_java_consumer_read() -> None:
    local = sorted(LOCAL.glob("*.log"))
    tiered = rows(TOPIC, TIERED)
    rest = rows(TOPIC, local)
    assert tiered
    assert rest
    assert tiered[-1]["offset"] < base_offset(local[0]) <= rest[0]["offset"]
    assert tiered + rest == consumed(TOPIC, "read_uncommitted")


def test_without_the_aborted_transactions_of_the_indexes_it_is_what_was_read_committed() -> None:
    aborted = [
        entry
        for file in [*of_tier(".txnindex"), *LOCAL.glob("*.txnindex")]
        for entry in TransactionIndex.from_bytes(file.read_bytes()).entries
    ]
    kept = []
    for log in [*TIERED, *sorted(LOCAL.glob("*.log"))]:
        for batch in kodec.read_batches(log):
            lost = batch.is_transactional and any(
                entry.producer_id == batch.producer_id
                and entry.first_offset <= batch.base_offset <= entry.last_offset
                for entry in aborted
            )
            kept += [] if lost else [as_row(TOPIC, record) for record in batch.records()]
    assert kept == consumed(TOPIC, "read_committed")
    assert kept != consumed(TOPIC, "read_uncommitted")


@pytest.mark.parametrize("log", TIERED, ids=real_logs.label)
def test_batches_agree_with_dump_log(log: Path) -> None:
    printed = dump_log.parse_log(said(log)).batches
    for line, batch in zip(printed, kodec.read_batches(log), strict=True):
        assert batch.crc_ok
        assert (batch.position, batch.size, batch.crc) == (line.position, line.size, line.crc)
        assert (batch.base_offset, batch.last_offset) == (line.base_offset, line.last_offset)
        assert (batch.codec, batch.count) == (line.compresscodec, line.count)
        assert batch.partition_leader_epoch == line.partition_leader_epoch


@pytest.mark.parametrize("file", of_tier(".index"), ids=real_logs.label)
def test_offset_indexes_agree_with_dump_log(file: Path) -> None:
    index = OffsetIndex.from_bytes(file.read_bytes())
    ours = [(base_offset(file) + entry.relative_offset, entry.ofs_batch) for entry in index.entries]
    assert ours
    assert ours == dump_log.parse_index(said(file)).entries
    assert index.to_bytes() == file.read_bytes()
    positions = {batch.last_offset: batch.position for batch in kodec.read_batches(file.with_suffix(".log"))}
    assert ours == [(offset, positions[offset]) for offset, _ in ours]


@pytest.mark.parametrize("file", of_tier(".timeindex"), ids=real_logs.label)
def test_time_indexes_agree_with_dump_log(file: Path) -> None:
    index = TimeIndex.from_bytes(file.read_bytes())
    ours = [(entry.timestamp, base_offset(file) + entry.relative_offset) for entry in index.entries]
    assert ours
    assert ours == dump_log.parse_index(said(file)).entries
    assert index.to_bytes() == file.read_bytes()


@pytest.mark.parametrize("file", of_tier(".txnindex"), ids=real_logs.label)
def test_transaction_indexes_agree_with_dump_log(file: Path) -> None:
    index = TransactionIndex.from_bytes(file.read_bytes())
    for entry, line in zip(index.entries, dump_log.parse_txnindex(said(file)), strict=True):
        assert (entry.version, entry.producer_id) == (line.version, line.producer_id)
        assert (entry.first_offset, entry.last_offset) == (line.first_offset, line.last_offset)
        assert entry.last_stable_offset == line.last_stable_offset
    assert index.entries
    assert index.to_bytes() == file.read_bytes()


@pytest.mark.parametrize("file", of_tier(".snapshot"), ids=real_logs.label)
def test_producer_snapshots_are_those_at_the_end_of_the_segment(file: Path) -> None:
    snapshot = ProducerSnapshot.from_bytes(file.read_bytes())
    printed = dump_log.parse_producers(said(file))
    ours = [(entry.producer_id, entry.producer_epoch) for entry in snapshot.entries]
    assert ours == [(line.producer_id, line.producer_epoch) for line in printed]
    assert snapshot.to_bytes() == file.read_bytes()
    last = [batch.producer_id for batch in kodec.read_batches(file.with_suffix(".log"))][-1]
    assert last == -1 or last in {producer for producer, _ in ours}


@pytest.mark.parametrize("log", TIERED, ids=real_logs.label)
def test_leader_epochs_are_those_up_to_the_end_of_the_segment(log: Path) -> None:
    starts: dict[int, int] = {}
    for each in TIERED[: TIERED.index(log) + 1]:
        for batch in kodec.read_batches(each):
            starts.setdefault(batch.partition_leader_epoch, batch.base_offset)
    expected = [LeaderEpoch(epoch, offset) for epoch, offset in starts.items()]
    assert read_leader_epochs(log.with_suffix(".leader_epoch_checkpoint")) == expected


def test_the_metadata_topic_names_each_tiered_segment() -> None:
    log = RELEASE / "logs" / f"{METADATA}-0" / f"{0:020}.log"
    assert rows(METADATA, [log]) == consumed(METADATA, "read_uncommitted")
    payloads = [
        record.payload or "" for batch in dump_log.parse_log(said(log)).batches for record in batch.records
    ]
    copied = [match for text in payloads if (match := SEGMENT.fullmatch(text))]
    finished = [match for text in payloads if (match := UPDATE.match(text))]
    assert len(copied) + len(finished) == len(payloads)
    assert {match["state"] for match in copied} == {"COPY_SEGMENT_STARTED"}
    assert {match["state"] for match in finished} == {"COPY_SEGMENT_FINISHED"}
    names = [f"{int(match['start']):020}-{match['id']}" for match in copied]
    assert sorted(names) == [log.stem for log in TIERED]
    assert sorted(match["id"] for match in finished) == sorted(match["id"] for match in copied)
    for match, name in zip(copied, names, strict=True):
        (segment,) = [log for log in TIERED if log.stem == name]
        batches = list(kodec.read_batches(segment))
        assert (batches[0].base_offset, batches[-1].last_offset) == (int(match["start"]), int(match["end"]))
        assert segment.stat().st_size == int(match["size"])
        assert segment.with_suffix(".txnindex").exists() == (match["no_txnindex"] == "false")


def test_the_indexes_that_the_broker_fetched_are_those_of_the_tier() -> None:
    fetched = list((RELEASE / "logs" / CACHE).iterdir())
    assert fetched
    for file in fetched:
        offset, _, identity = file.stem.partition("_")
        original = TIERED[0].with_name(f"{int(offset):020}-{identity}{file.suffix}")
        # Where the tier has no transaction index the broker keeps an empty one.
        assert file.read_bytes() == (original.read_bytes() if original.exists() else b"")
        assert original.exists() or file.suffix == ".txnindex"
