"""What kodec reads from real Kafka logs, compared with kafka-dump-log and with Kafka's Java consumer."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dump_log
import pytest
import real_logs

import kodec

LOGS = real_logs.dumped(".log", ".checkpoint")
PARTITIONS = [
    partition
    for release in real_logs.RELEASES
    for partition in sorted((release / "logs").glob("*-[0-9]*"))
    if partition.name != "__cluster_metadata-0"
]


def segments(partition: Path) -> list[Path]:
    return sorted(partition.glob("*.log"))


def log_start(partition: Path) -> int:
    """Where the partition begins for a consumer; records below it may still be in the files."""
    starts: dict[str, int] = real_logs.manifest(partition.parent.parent)["log_start_offsets"]
    return starts.get(partition.name, 0)


def consumed(partition: Path, isolation: str) -> list[dict[str, Any]]:
    """What the Java consumer read of the partition."""
    topic, _, number = partition.name.rpartition("-")
    release = partition.parent.parent
    differs = topic in real_logs.manifest(release)["read_committed_differs"]
    stored = isolation if differs else "read_uncommitted"
    rows = real_logs.rows(release / "consumed" / f"{topic}.{stored}.jsonl")
    return [row for row in rows if row["partition"] == int(number)]


def as_row(partition: Path, record: kodec.Record) -> dict[str, Any]:
    """A record of ours in the form of the consumer's rows."""

    def text(data: bytes | None) -> str | None:
        return None if data is None else base64.b64encode(data).decode()

    topic, _, number = partition.name.rpartition("-")
    return {
        "topic": topic,
        "partition": int(number),
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": str(record.timestamp_type),
        "key": text(record.key),
        "value": text(record.value),
        "headers": [[key, text(value)] for key, value in record.headers],
    }


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_batches_agree(file: Path, text: Path) -> None:
    printed = dump_log.parse_log(text.read_text(encoding="utf-8")).batches
    for line, batch in zip(printed, kodec.read_batches(file), strict=True):
        assert batch.position == line.position
        assert batch.size == line.size
        assert batch.magic == line.magic
        assert batch.codec == line.compresscodec
        assert batch.base_offset == line.base_offset
        assert batch.last_offset == line.last_offset
        assert batch.next_offset == line.last_offset + 1
        assert batch.count == line.count
        assert batch.max_timestamp == line.timestamp
        assert str(batch.timestamp_type) == line.timestamp_type
        assert batch.partition_leader_epoch == line.partition_leader_epoch
        assert batch.producer_id == line.producer_id
        assert batch.producer_epoch == line.producer_epoch
        assert batch.base_sequence == line.base_sequence
        assert batch.last_sequence == line.last_sequence
        assert batch.is_transactional == line.is_transactional
        assert batch.is_control == line.is_control
        assert batch.delete_horizon == line.delete_horizon_ms
        assert batch.crc == line.crc
        assert batch.crc_ok == line.is_valid


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_records_agree(file: Path, text: Path) -> None:
    printed = dump_log.parse_log(text.read_text(encoding="utf-8"))
    lines = [line for batch in printed.batches for line in batch.records]
    for line, record in zip(lines, kodec.read_records(file, control=True), strict=True):
        assert record.offset == line.offset
        assert str(record.timestamp_type) == line.timestamp_type
        assert record.timestamp == line.timestamp
        assert (-1 if record.key is None else len(record.key)) == line.key_size
        assert (-1 if record.value is None else len(record.value)) == line.value_size
        assert ",".join(key for key, _ in record.headers) == line.header_keys
        kind = record.type.name if isinstance(record, kodec.ControlRecord) else None
        assert kind == line.control_type


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_control_records_are_given_only_when_asked_for(file: Path, text: Path) -> None:
    printed = dump_log.parse_log(text.read_text(encoding="utf-8"))
    data = [line.offset for batch in printed.batches for line in batch.records if not batch.is_control]
    assert [record.offset for record in kodec.read_records(file)] == data


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_the_end_of_the_data_agrees(file: Path, text: Path) -> None:
    printed = dump_log.parse_log(text.read_text(encoding="utf-8"))
    end = sum(batch.size for batch in printed.batches)
    reader = kodec.read_batches(file)
    for _ in reader:
        pass
    if printed.exception is None:
        assert reader.torn_tail is None
        assert end == file.stat().st_size
    else:
        assert reader.torn_tail is not None
        assert reader.torn_tail.position == end
        assert reader.torn_tail.size == file.stat().st_size - end


def test_a_log_with_a_tail_of_zeros_is_among_them() -> None:
    ends = [dump_log.parse_log(text.read_text(encoding="utf-8")).exception for _, text in LOGS]
    assert sum(end is not None for end in ends) >= 1


def test_every_partition_is_compared() -> None:
    for release in real_logs.RELEASES:
        names = {partition.name for partition in PARTITIONS if partition.parent.parent == release}
        assert names - {"empty-0"} == set(real_logs.manifest(release)["consumed_rows"])


@pytest.mark.parametrize("partition", PARTITIONS, ids=real_logs.label)
def test_rows_are_those_of_the_java_consumer(partition: Path) -> None:
    start = log_start(partition)
    records = (record for segment in segments(partition) for record in kodec.read_records(segment))
    ours = [as_row(partition, record) for record in records if record.offset >= start]
    assert ours == consumed(partition, "read_uncommitted")


@pytest.mark.parametrize("partition", PARTITIONS, ids=real_logs.label)
def test_committed_rows_are_those_of_the_java_consumer(partition: Path) -> None:
    start = log_start(partition)
    ours = [as_row(partition, record) for record in committed(partition) if record.offset >= start]
    assert ours == consumed(partition, "read_committed")


def committed(partition: Path) -> Iterator[kodec.Record]:
    """Records of decided and committed transactions and of none, up to the first one that is still open."""
    # For each producer in a transaction: its batches so far. A batch is (base offset, its records).
    open_batches: dict[int, list[tuple[int, list[kodec.Record]]]] = {}
    kept: list[kodec.Record] = []
    for segment in segments(partition):
        for batch in kodec.read_batches(segment):
            if batch.is_control:
                batches = open_batches.pop(batch.producer_id, [])
                markers = [
                    record
                    for record in batch.records(control=True)
                    if isinstance(record, kodec.ControlRecord)
                ]
                if markers and markers[0].type is kodec.ControlRecordType.COMMIT:
                    kept += [record for _, records in batches for record in records]
            elif batch.is_transactional:
                open_batches.setdefault(batch.producer_id, []).append((batch.base_offset, batch.records()))
            else:
                kept += batch.records()
    undecided = min((batches[0][0] for batches in open_batches.values()), default=None)
    for record in sorted(kept, key=lambda record: record.offset):
        if undecided is None or record.offset < undecided:
            yield record
