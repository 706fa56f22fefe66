"""Stock ksc's readers, made from our schemas, agree with kafka-dump-log about a broker's files."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crc32c
import pytest

from tests.data import DATA

# The release whose tools print every kind of file; older ones print less, and otherwise.
BROKERS = sorted(DATA.glob("kafka-4.*"))
PAIR = re.compile(r"(\w+): (\S+)")
# The word that kafka-dump-log has for a control record's value, and our schema for the value.
CONTROL = {
    "LeaderChange": "leader_change_message",
    "SnapshotHeader": "snapshot_header_record",
    "SnapshotFooter": "snapshot_footer_record",
    "KRaftVersion": "kraft_version_record",
    "KRaftVoters": "voters_record",
}
TYPES = {
    "LeaderChange": "leader_change",
    "SnapshotHeader": "snapshot_header",
    "SnapshotFooter": "snapshot_footer",
    "KRaftVersion": "kraft_version",
    "KRaftVoters": "kraft_voters",
}


@pytest.fixture(scope="module", params=BROKERS, ids=lambda path: path.name)
def broker(request: pytest.FixtureRequest) -> Path:
    """A folder with `logs` that a broker closed and, under `dump`, kafka-dump-log on each file."""
    assert isinstance(request.param, Path)
    return request.param


def dumped(broker: Path, suffix: str) -> Iterator[tuple[Path, list[str]]]:
    """Each file of that suffix with the lines of its dump."""
    found = sorted((broker / "dump" / "logs").rglob(f"*{suffix}.txt"))
    assert found
    for told in found:
        path = broker / told.relative_to(broker / "dump").with_suffix("")
        yield path, told.read_text(encoding="utf-8").splitlines()


def base_offset(path: Path) -> int:
    return int(path.name.partition(".")[0])


def numbers(line: str) -> dict[str, int]:
    return {key: int(value) for key, value in PAIR.findall(line) if value.lstrip("-").isdecimal()}


def test_there_is_a_broker() -> None:
    assert BROKERS


def test_batch_headers(broker: Path, ksc: Any) -> None:
    batches = 0
    for path, lines in [*dumped(broker, ".log"), *dumped(broker, "-*.checkpoint")]:
        told = [line for line in lines if line.startswith("baseOffset:")]
        data = path.read_bytes()
        entries = ksc("log_segment").from_bytes(data).entries
        assert len(entries) == len(told), path.name
        position = 0
        for entry, line in zip(entries, told, strict=True):
            batch = entry.body
            stamped = "LogAppendTime" if batch.attributes.timestamp_type.value else "CreateTime"
            horizon = batch.base_timestamp if batch.attributes.has_delete_horizon else None
            found = {
                "baseOffset": batch.base_offset,
                "lastOffset": batch.base_offset + batch.last_offset_delta,
                "count": batch.num_records,
                "baseSequence": batch.base_sequence,
                "producerId": batch.producer_id,
                "producerEpoch": batch.producer_epoch,
                "partitionLeaderEpoch": batch.partition_leader_epoch,
                "isTransactional": str(batch.attributes.is_transactional).lower(),
                "isControl": str(batch.attributes.is_control).lower(),
                "deleteHorizonMs": "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
                "position": position,
                stamped: batch.max_timestamp,
                "size": entry.len_entry,
                "magic": entry.magic,
                "compresscodec": batch.attributes.compression.name,
                "crc": batch.crc,
            }
            said = dict(PAIR.findall(line))
            assert {key: str(value) for key, value in found.items()} == {key: said[key] for key in found}, (
                path
            )
            assert batch.crc == crc32c.crc32c(data[position + 21 : position + entry.len_entry])
            position += entry.len_entry
            batches += 1
        assert position == len(data), path
    assert batches > 100


def test_derived_fields_are_what_kafka_wrote(broker: Path, ksc: Any) -> None:
    """What a writer computes by `-derive` is what Kafka computed: the last offset, the largest timestamp."""
    checked = 0
    for path in sorted((broker / "logs").rglob("*.log")):
        for entry in ksc("log_segment").from_bytes(path.read_bytes()).entries:
            batch = entry.body
            if batch.num_records == 0 or batch.attributes.compression.value != 0:
                continue
            bodies = [record.body for record in batch.records.entries]
            assert len(bodies) == batch.num_records
            assert bodies[-1].offset_delta.value <= batch.last_offset_delta
            if batch.attributes.timestamp_type.value == 0:
                largest = max(body.timestamp_delta.value for body in bodies) + batch.base_timestamp
                assert largest == batch.max_timestamp, path
                checked += 1
    assert checked > 100


def records(broker: Path, ksc: Any, suffix: str) -> Iterator[tuple[str, Any]]:
    """Each record of the uncompressed batches, with its line of the dump."""
    for path, lines in dumped(broker, suffix):
        told = {int(PAIR.findall(line)[0][1]): line for line in lines if line.startswith("| offset:")}
        for entry in ksc("log_segment").from_bytes(path.read_bytes()).entries:
            batch = entry.body
            if batch.num_records and batch.attributes.compression.value == 0:
                for record in batch.records.entries:
                    yield told[batch.base_offset + record.body.offset_delta.value], record.body


def plain(value: Any, inside: bool = False) -> Any:
    """A ksc object as kafka-dump-log's JSON shows it: names in camel case, no counts, no tagged fields."""
    if isinstance(value, list):
        return [plain(each, True) for each in value]
    if not hasattr(value, "_io"):
        return value
    fields = {key: each for key, each in vars(value).items() if not key.startswith("_")}
    if "value" in fields:
        text = fields["value"]
        return text if isinstance(text, str) else base64.urlsafe_b64encode(text).decode().rstrip("=")
    shown = {}
    for key, each in fields.items():
        # Inside a message, ksc keeps the version as a parameter; on the wire it stands once.
        if not key.startswith("num_") and key != "tagged_fields" and (key != "version" or not inside):
            words = key.replace("kraft", "k_raft").split("_")
            shown[words[0] + "".join(word.capitalize() for word in words[1:])] = plain(each, True)
    return shown


def test_control_records(broker: Path, ksc: Any) -> None:
    seen: Counter[str] = Counter()
    for suffix in (".log", "-*.checkpoint"):
        for line, body in records(broker, ksc, suffix):
            if marker := re.search(r"endTxnMarker: (\w+) coordinatorEpoch: (-?\d+)", line):
                key = ksc("control_record_key").from_bytes(body.key)
                value = ksc("end_txn_marker").from_bytes(body.value)
                assert (key.control_type.name, value.coordinator_epoch) == (marker[1].lower(), int(marker[2]))
                assert (key.version, value.version) == (0, 0)
                seen[marker[1]] += 1
            elif control := re.search(rf"headerKeys: \[\] ({'|'.join(CONTROL)}):? (\{{.*)", line):
                key = ksc("control_record_key").from_bytes(body.key)
                value = ksc(CONTROL[control[1]]).from_bytes(body.value)
                assert key.control_type.name == TYPES[control[1]]
                assert plain(value) == json.loads(control[2])
                assert value.tagged_fields.num_fields.value == 0 and value._io.is_eof()
                seen[control[1]] += 1
    assert set(seen) == {"COMMIT", "ABORT", *CONTROL}


def test_offset_commits(broker: Path, ksc: Any) -> None:
    seen: Counter[int] = Counter()
    for line, body in records(broker, ksc, "__consumer_offsets-0/*.log"):
        told = re.search(r'key: (\{"type":"1".*?\}\}) payload: (.*)', line)
        if told is None:
            continue
        key = ksc("offset_commit_key").from_bytes(body.key)
        assert json.loads(told[1]) == {
            "type": str(key.record_type),
            "data": {"group": key.group.value, "topic": key.topic.value, "partition": key.partition},
        }
        if told[2] == "<DELETE>":
            assert not hasattr(body, "value")
            continue
        value = ksc("offset_commit_value").from_bytes(body.value)
        said = json.loads(told[2])
        found: dict[str, Any] = {
            "offset": value.committed_offset,
            "metadata": value.metadata.value,
            "commitTimestamp": value.commit_timestamp,
        }
        if value.version >= 3:
            found["leaderEpoch"] = value.leader_epoch
        if value.version >= 4:
            for field in value.tagged_fields.fields:
                assert field.tag.value == 0
                found["topicId"] = plain(field.body)
        assert (str(value.version), found) == (said["version"], said["data"])
        assert value._io.is_eof()
        seen[value.version] += 1
    assert seen[4] > 0


def test_offset_indexes(broker: Path, ksc: Any) -> None:
    entries = 0
    for path, lines in dumped(broker, ".index"):
        told = [numbers(line) for line in lines if line.startswith("offset:")]
        found = [
            {"offset": base_offset(path) + entry.relative_offset, "position": entry.ofs_batch}
            for entry in ksc("offset_index").from_bytes(path.read_bytes()).entries
        ]
        assert found == told, path
        entries += len(found)
    assert entries > 0


def test_time_indexes(broker: Path, ksc: Any) -> None:
    entries = 0
    for path, lines in dumped(broker, ".timeindex"):
        told = [numbers(line) for line in lines if line.startswith("timestamp:")]
        found = [
            {"timestamp": entry.timestamp, "offset": base_offset(path) + entry.relative_offset}
            for entry in ksc("time_index").from_bytes(path.read_bytes()).entries
        ]
        assert found == told, path
        entries += len(found)
    assert entries > 0


def test_transaction_indexes(broker: Path, ksc: Any) -> None:
    entries = 0
    for path, lines in dumped(broker, ".txnindex"):
        told = [numbers(line) for line in lines if line.startswith("version:")]
        found = [
            {
                "version": entry.version,
                "producerId": entry.producer_id,
                "firstOffset": entry.first_offset,
                "lastOffset": entry.last_offset,
                "lastStableOffset": entry.last_stable_offset,
            }
            for entry in ksc("transaction_index").from_bytes(path.read_bytes()).entries
        ]
        assert found == told, path
        entries += len(found)
    assert entries > 0


def test_producer_snapshots(broker: Path, ksc: Any) -> None:
    entries = 0
    for path, lines in dumped(broker, ".snapshot"):
        data = path.read_bytes()
        snapshot = ksc("producer_snapshot").from_bytes(data)
        assert snapshot._io.is_eof() and snapshot.crc == crc32c.crc32c(data[6:])
        found = []
        for entry in snapshot.entries:
            first = entry.current_txn_first_offset
            shown = {
                "producerId": entry.producer_id,
                "producerEpoch": entry.producer_epoch,
                "coordinatorEpoch": entry.coordinator_epoch,
                "currentTxnFirstOffset": "OptionalLong.empty" if first == -1 else f"OptionalLong[{first}]",
                "lastTimestamp": entry.timestamp,
            }
            if entry.last_offset >= 0:
                shown["firstSequence"] = entry.last_sequence - entry.offset_delta
                shown["lastSequence"] = entry.last_sequence
                shown["lastOffset"] = entry.last_offset
                shown["offsetDelta"] = entry.offset_delta
                shown["timestamp"] = entry.timestamp
            found.append({key: str(value) for key, value in shown.items()})
        assert found == [dict(PAIR.findall(line)) for line in lines if line.startswith("producerId:")], path
        entries += len(found)
    assert entries > 0
