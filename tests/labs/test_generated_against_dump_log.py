"""The generated readers' results for real Kafka files, compared with those of kafka-dump-log."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from uuid import UUID

import dump_log
import pytest
import real_logs

from kodec.generated.control.control_record_key import ControlRecordKey, ControlRecordType
from kodec.generated.control.end_txn_marker import EndTxnMarker
from kodec.generated.control.kraft_version_record import KraftVersionRecord
from kodec.generated.control.leader_change_message import LeaderChangeMessage
from kodec.generated.control.snapshot_footer_record import SnapshotFooterRecord
from kodec.generated.control.snapshot_header_record import SnapshotHeaderRecord
from kodec.generated.control.voters_record import VotersRecord
from kodec.generated.log.offset_index import OffsetIndex
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.generated.log.record import RecordBody
from kodec.generated.log.record_batch import RecordBatch
from kodec.generated.log.time_index import TimeIndex
from kodec.generated.log.transaction_index import TransactionIndex
from kodec.generated.messages.offset_commit_key import OffsetCommitKey
from kodec.generated.messages.offset_commit_value import OffsetCommitValue

LOGS = real_logs.dumped(".log", ".checkpoint")


def used(relative_offsets: list[int]) -> int:
    """How many slots of an index are used: zeros after the first one end it, as in kafka-dump-log."""
    return next((i for i, offset in enumerate(relative_offsets) if i and offset == 0), len(relative_offsets))


def as_uuid(text: str) -> UUID:
    return UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def batches(file: Path, text: Path) -> list[tuple[dump_log.DumpedBatch, RecordBatch]]:
    """Each batch that Kafka printed, with ours that was read at the same place."""
    data = file.read_bytes()
    printed = dump_log.parse_log(text.read_text(encoding="utf-8")).batches
    return [(line, RecordBatch.from_bytes(data[line.position :][: line.size])) for line in printed]


def records(batch: RecordBatch) -> list[RecordBody]:
    assert isinstance(batch.records, list)
    return [record.body for record in batch.records]


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_batch_headers_agree(file: Path, text: Path) -> None:
    for printed, ours in batches(file, text):
        assert ours.last_offset_delta is not None
        assert ours.len_batch is not None
        attributes = ours.attributes
        horizon = ours.base_timestamp if attributes.has_delete_horizon else None
        sequence = ours.base_sequence
        assert ours.base_offset == printed.base_offset
        assert ours.base_offset + ours.last_offset_delta == printed.last_offset
        assert ours.num_records == printed.count
        assert sequence == printed.base_sequence
        assert (-1 if sequence < 0 else sequence + ours.last_offset_delta) == printed.last_sequence
        assert ours.producer_id == printed.producer_id
        assert ours.producer_epoch == printed.producer_epoch
        assert ours.partition_leader_epoch == printed.partition_leader_epoch
        assert attributes.is_transactional == printed.is_transactional
        assert attributes.is_control == printed.is_control
        assert horizon == printed.delete_horizon_ms
        assert (int(attributes.timestamp_type) == 1) == (printed.timestamp_type == "LogAppendTime")
        assert ours.max_timestamp == printed.timestamp
        assert ours.len_batch + 12 == printed.size
        assert ours.magic == printed.magic
        assert real_logs.CODECS[int(attributes.compression)] == printed.compresscodec
        assert ours.crc == printed.crc


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_records_agree(file: Path, text: Path) -> None:
    for printed, ours in batches(file, text):
        append_time = ours.max_timestamp if printed.timestamp_type == "LogAppendTime" else None
        assert len(records(ours)) == len(printed.records)
        for line, record in zip(printed.records, records(ours), strict=True):
            assert ours.base_offset + record.offset_delta == line.offset
            created = ours.base_timestamp + record.timestamp_delta
            assert (created if append_time is None else append_time) == line.timestamp
            assert (-1 if record.key is None else len(record.key)) == line.key_size
            assert (-1 if record.value is None else len(record.value)) == line.value_size
            sequence = -1 if ours.base_sequence < 0 else ours.base_sequence + record.offset_delta
            assert sequence == line.sequence
            assert ",".join(header.key for header in record.headers) == line.header_keys


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_a_written_batch_is_the_one_kafka_wrote(file: Path, text: Path) -> None:
    data = file.read_bytes()
    for printed, ours in batches(file, text):
        written = ours.to_bytes()
        if printed.compresscodec == "none":
            assert written == data[printed.position :][: printed.size]
        else:
            # The same records; compressed bytes depend on the library and its level.
            assert records(RecordBatch.from_bytes(written)) == records(ours)


def test_control_records_agree() -> None:
    seen = set()
    for file, text in LOGS:
        for printed, ours in batches(file, text):
            if not printed.is_control:
                continue
            for line, record in zip(printed.records, records(ours), strict=True):
                assert record.key is not None
                assert record.value is not None
                kind = ControlRecordKey.from_bytes(record.key).control_type
                assert ControlRecordType(kind).name == line.control_type
                check_control_value(line, record.value)
                seen.add(line.control_type)
    assert len(seen) == 7


def check_control_value(line: dump_log.DumpedRecord, value: bytes) -> None:
    data = line.control_data or {}
    match line.control_type:
        case "ABORT" | "COMMIT":
            assert EndTxnMarker.from_bytes(value).coordinator_epoch == line.coordinator_epoch
        case "LEADER_CHANGE":
            change = LeaderChangeMessage.from_bytes(value)
            assert change.leader_id == data["leaderId"]
            assert [voter.voter_id for voter in change.voters] == [
                voter["voterId"] for voter in data["voters"]
            ]
            granting = [voter["voterId"] for voter in data["grantingVoters"]]
            assert [voter.voter_id for voter in change.granting_voters] == granting
        case "SNAPSHOT_HEADER":
            header = SnapshotHeaderRecord.from_bytes(value)
            assert header.last_contained_log_timestamp == data["lastContainedLogTimestamp"]
        case "SNAPSHOT_FOOTER":
            assert SnapshotFooterRecord.from_bytes(value).version == data["version"]
        case "KRAFT_VERSION":
            assert KraftVersionRecord.from_bytes(value).kraft_version == data["kRaftVersion"]
        case "KRAFT_VOTERS":
            for ours, theirs in zip(VotersRecord.from_bytes(value).voters, data["voters"], strict=True):
                feature = theirs["kRaftVersionFeature"]
                assert ours.voter_id == theirs["voterId"]
                assert ours.voter_directory_id == as_uuid(theirs["voterDirectoryId"])
                endpoints = [{"name": end.name, "host": end.host, "port": end.port} for end in ours.endpoints]
                assert endpoints == theirs["endpoints"]
                assert ours.kraft_version_feature.min_supported_version == feature["minSupportedVersion"]
                assert ours.kraft_version_feature.max_supported_version == feature["maxSupportedVersion"]
        case other:
            raise AssertionError(f"no comparison for {other}")


def test_committed_offsets_agree() -> None:
    compared = tombstones = 0
    for file, text in LOGS:
        if not file.parent.name.startswith("__consumer_offsets-"):
            continue
        for printed, ours in batches(file, text):
            for line, record in zip(printed.records, records(ours), strict=True):
                if line.key is None or (key := json.loads(line.key))["type"] != "1":
                    continue
                assert record.key is not None
                decoded = OffsetCommitKey.from_bytes(record.key)
                assert {"type": str(decoded.record_type), "data": key["data"]} == key
                of_key = {"group": decoded.group, "topic": decoded.topic, "partition": decoded.partition}
                assert of_key == key["data"]
                if record.value is None:
                    assert line.payload in (None, "<DELETE>")
                    tombstones += 1
                else:
                    assert line.payload is not None
                    check_committed_offset(
                        json.loads(line.payload), OffsetCommitValue.from_bytes(record.value)
                    )
                    compared += 1
    assert compared > 10
    assert tombstones > 0


def check_committed_offset(theirs: dict[str, object], ours: OffsetCommitValue) -> None:
    data = theirs["data"]
    assert isinstance(data, dict)
    assert str(ours.version) == theirs["version"]
    assert ours.committed_offset == data["offset"]
    assert ours.leader_epoch == data["leaderEpoch"]
    assert ours.metadata == data["metadata"]
    assert ours.commit_timestamp == data["commitTimestamp"]
    # Printed only where it is not the default.
    assert ours.topic_id == (as_uuid(data["topicId"]) if "topicId" in data else UUID(int=0))


@pytest.mark.parametrize(
    ("file", "text"), real_logs.dumped(".index", releases=real_logs.RELEASES), ids=real_logs.label
)
def test_offset_indexes_agree(file: Path, text: Path) -> None:
    index = OffsetIndex.from_bytes(file.read_bytes())
    count = used([entry.relative_offset for entry in index.entries])
    ours = [(int(file.stem) + entry.relative_offset, entry.ofs_batch) for entry in index.entries[:count]]
    assert ours == dump_log.parse_index(text.read_text(encoding="utf-8")).entries
    assert not any(file.read_bytes()[8 * count :])
    assert index.to_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("file", "text"), real_logs.dumped(".timeindex", releases=real_logs.RELEASES), ids=real_logs.label
)
def test_time_indexes_agree(file: Path, text: Path) -> None:
    index = TimeIndex.from_bytes(file.read_bytes())
    dump = dump_log.parse_index(text.read_text(encoding="utf-8"))
    times = [entry for entry in index.entries if entry.timestamp > 0]
    ours = [(entry.timestamp, int(file.stem) + entry.relative_offset) for entry in times]
    # Of an index that is all zeros Kafka prints the first slot as an entry.
    assert ours == [entry for entry in dump.entries if entry[0] > 0]
    assert not any(file.read_bytes()[12 * len(ours) :])
    assert index.to_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("file", "text"), real_logs.dumped(".txnindex", releases=real_logs.RELEASES), ids=real_logs.label
)
def test_transaction_indexes_agree(file: Path, text: Path) -> None:
    index = TransactionIndex.from_bytes(file.read_bytes())
    ours = [
        dump_log.AbortedTransaction(
            version=entry.version,
            producer_id=entry.producer_id,
            first_offset=entry.first_offset,
            last_offset=entry.last_offset,
            last_stable_offset=entry.last_stable_offset,
        )
        for entry in index.entries
    ]
    assert ours == dump_log.parse_txnindex(text.read_text(encoding="utf-8"))
    assert index.to_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("file", "text"), real_logs.dumped(".snapshot", releases=real_logs.RELEASES), ids=real_logs.label
)
def test_producer_snapshots_agree(file: Path, text: Path) -> None:
    snapshot = ProducerSnapshot.from_bytes(file.read_bytes())
    printed = dump_log.parse_producers(text.read_text(encoding="utf-8"))
    for line, entry in zip(printed, snapshot.entries, strict=True):
        assert entry.producer_id == line.producer_id
        assert entry.producer_epoch == line.producer_epoch
        assert entry.coordinator_epoch == line.coordinator_epoch
        open_since = line.current_txn_first_offset
        assert entry.current_txn_first_offset == (-1 if open_since is None else open_since)
        if line.last_timestamp is not None:
            assert entry.timestamp == line.last_timestamp
        if line.last_offset is None:
            assert entry.last_offset == -1
        else:
            assert entry.last_offset == line.last_offset
            assert entry.last_sequence == line.last_sequence
            assert entry.last_sequence - entry.offset_delta == line.first_sequence
            assert entry.offset_delta == line.offset_delta
            assert entry.timestamp == line.timestamp
    assert snapshot.to_bytes() == file.read_bytes()
