"""Tests of the parser of kafka-dump-log's text, on the committed text and on lines that must be refused."""

from __future__ import annotations

import base64
from collections import Counter
from pathlib import Path

import dump_log
import pytest
import real_logs

LOGS = real_logs.dumped(".log", ".checkpoint")
OFFSET_INDEXES = real_logs.dumped(".index")
TIME_INDEXES = real_logs.dumped(".timeindex")
ABORTED = real_logs.dumped(".txnindex")
PRODUCERS = real_logs.dumped(".snapshot")
KINDS = {
    ".log": LOGS,
    ".index": OFFSET_INDEXES,
    ".timeindex": TIME_INDEXES,
    ".txnindex": ABORTED,
    ".snapshot": PRODUCERS,
}


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_text_to_parse(kind: str) -> None:
    assert len(KINDS[kind]) >= 10


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_batches_lie_end_to_end_and_fill_the_file(file: Path, text: Path) -> None:
    dump = dump_log.parse_log(text.read_text(encoding="utf-8"))
    position = 0
    for batch in dump.batches:
        assert batch.position == position
        assert batch.is_valid
        assert len(batch.records) == batch.count
        position += batch.size
    if dump.exception is None:
        assert position + dump.invalid_bytes == file.stat().st_size
    else:
        assert file.read_bytes()[position:].strip(b"\0") == b""


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_records_lie_within_their_batch(file: Path, text: Path) -> None:
    for batch in dump_log.parse_log(text.read_text(encoding="utf-8")).batches:
        offsets = [record.offset for record in batch.records]
        assert offsets == sorted(set(offsets))
        assert all(batch.base_offset <= offset <= batch.last_offset for offset in offsets)
        assert all((record.control_type is not None) == batch.is_control for record in batch.records)
        assert all(record.timestamp_type == batch.timestamp_type for record in batch.records)
        if batch.records:
            assert max(record.timestamp for record in batch.records) == batch.timestamp


@pytest.mark.parametrize("release", real_logs.NEWEST, ids=real_logs.label)
def test_printed_keys_and_payloads_are_those_of_the_consumer(release: Path) -> None:
    compared = 0
    for topic, facts in real_logs.manifest(release)["topics"].items():
        if not facts["text"]:
            continue
        printed: dict[tuple[int, int], dump_log.DumpedRecord] = {}
        for text in sorted((release / "dump" / "logs").glob(f"{topic}-[0-9]*/*.log.txt")):
            partition = int(text.parent.name.rpartition("-")[2])
            for batch in dump_log.parse_log(text.read_text(encoding="utf-8")).batches:
                printed |= {(partition, record.offset): record for record in batch.records}
        for row in real_logs.rows(release / "consumed" / f"{topic}.read_uncommitted.jsonl"):
            record = printed[row["partition"], row["offset"]]
            key, value = (
                None if row[name] is None else base64.b64decode(row[name]) for name in ("key", "value")
            )
            assert record.key == (None if key is None else key.decode())
            assert record.payload == (None if value is None else value.decode())
            assert record.key_size == (-1 if key is None else len(key))
            assert record.value_size == (-1 if value is None else len(value))
            assert record.header_keys == ",".join(header[0] for header in row["headers"])
            assert (record.timestamp_type, record.timestamp) == (row["timestampType"], row["timestamp"])
            compared += 1
    assert compared > 1000


def test_every_control_type_occurs() -> None:
    seen: Counter[str | None] = Counter()
    for _, text in LOGS:
        for batch in dump_log.parse_log(text.read_text(encoding="utf-8")).batches:
            for record in batch.records:
                seen[record.control_type] += 1
                if record.control_type in ("ABORT", "COMMIT"):
                    assert record.coordinator_epoch is not None
                elif record.control_type is not None:
                    assert record.control_data is not None
                    assert record.control_data["version"] == 0
    kraft = {"LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}
    assert set(seen) == {None, "ABORT", "COMMIT"} | kraft


@pytest.mark.parametrize(("file", "text"), OFFSET_INDEXES, ids=real_logs.label)
def test_index_entries_point_at_the_batch_that_ends_with_the_offset(file: Path, text: Path) -> None:
    dump = dump_log.parse_index(text.read_text(encoding="utf-8"))
    assert dump.is_empty == (file.stat().st_size == 0)
    log = dump_log.parse_log(text.with_name(f"{file.stem}.log.txt").read_text(encoding="utf-8"))
    ends = {batch.position: batch.last_offset for batch in log.batches}
    # Kafka prints the first slot even of an index that is nothing but zeros, and calls it a mismatch.
    all_zero = file.stat().st_size > 0 and not any(file.read_bytes())
    for offset, position in dump.entries:
        assert all_zero or ends[position] == offset
    assert bool(dump.mismatches) == all_zero


@pytest.mark.parametrize(("file", "text"), TIME_INDEXES, ids=real_logs.label)
def test_time_index_entries_name_a_batch_with_that_time(file: Path, text: Path) -> None:
    dump = dump_log.parse_index(text.read_text(encoding="utf-8"))
    log = dump_log.parse_log(text.with_name(f"{file.stem}.log.txt").read_text(encoding="utf-8"))
    records = {(batch.timestamp, batch.last_offset): batch.count for batch in log.batches}
    assert set(dump.entries) <= set(records)
    # Kafka looks for the time among the records, and finds none in a batch that compaction has emptied.
    assert dump.mismatches == [(entry[0], -1) for entry in dump.entries if records[entry] == 0]


@pytest.mark.parametrize(("file", "text"), ABORTED, ids=real_logs.label)
def test_aborted_transactions_end_at_an_abort_marker(file: Path, text: Path) -> None:
    aborted = dump_log.parse_txnindex(text.read_text(encoding="utf-8"))
    assert len(aborted) == file.stat().st_size // 34
    log = dump_log.parse_log(text.with_name(f"{file.stem}.log.txt").read_text(encoding="utf-8"))
    markers = {
        (batch.producer_id, record.offset)
        for batch in log.batches
        for record in batch.records
        if record.control_type == "ABORT"
    }
    for entry in aborted:
        assert (entry.producer_id, entry.last_offset) in markers
        assert entry.first_offset < entry.last_offset
        assert entry.version == 0


@pytest.mark.parametrize(("file", "text"), PRODUCERS, ids=real_logs.label)
def test_producer_snapshots_list_each_entry(file: Path, text: Path) -> None:
    producers = dump_log.parse_producers(text.read_text(encoding="utf-8"))
    assert len(producers) == (file.stat().st_size - 10) // 46
    assert len({producer.producer_id for producer in producers}) == len(producers)


def test_a_producer_in_the_middle_of_a_transaction_is_seen() -> None:
    producers = [
        p for _, text in PRODUCERS for p in dump_log.parse_producers(text.read_text(encoding="utf-8"))
    ]
    assert any(producer.current_txn_first_offset is not None for producer in producers)
    assert any(producer.last_offset is None for producer in producers)


BATCH_LINE = (
    "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
    "partitionLeaderEpoch: 0 isTransactional: false isControl: {control} deleteHorizonMs: OptionalLong.empty "
    "position: 0 CreateTime: -1 size: 70 magic: 2 compresscodec: none crc: 1 isvalid: false"
)
RECORD_LINE = "| offset: 0 CreateTime: -1 keySize: -1 valueSize: 1 sequence: -1 headerKeys: []"


def test_what_kafka_says_of_bad_bytes_is_kept() -> None:
    batch = BATCH_LINE.format(control="false")
    dump = dump_log.parse_log(
        f"Dumping a.log\n{batch}\n{RECORD_LINE} payload: x\nFound 7 invalid bytes at the end of a.log\n"
    )
    assert dump.invalid_bytes == 7
    assert not dump.batches[0].is_valid
    assert dump.batches[0].records[0].payload == "x"
    assert dump.batches[0].records[0].key is None


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("offset: 0 position: 0 size: 70 magic: 1", id="old-message"),
        pytest.param(RECORD_LINE, id="record-without-batch"),
        pytest.param(f"{BATCH_LINE.format(control='true')}\n{RECORD_LINE}", id="control-record-without-kind"),
        pytest.param(
            f"{BATCH_LINE.format(control='true')}\n{RECORD_LINE} NewKind {{}}",
            id="control-kind-of-the-future",
        ),
        pytest.param(
            f"{BATCH_LINE.format(control='false')}\n{RECORD_LINE} payload: x\nrest of x",
            id="value-with-line-break",
        ),
    ],
)
def test_a_line_that_is_not_understood_is_an_error(lines: str) -> None:
    with pytest.raises(ValueError, match=r"a\.log: line \d of the dump is not understood"):
        dump_log.parse_log(f"Dumping a.log\n{lines}\n")


@pytest.mark.parametrize("parse", [dump_log.parse_index, dump_log.parse_txnindex, dump_log.parse_producers])
def test_the_other_parsers_refuse_unknown_lines_too(parse: object) -> None:
    assert callable(parse)
    with pytest.raises(ValueError, match="line 2 of the dump is not understood"):
        parse("Dumping a\nsomething else\n")
    with pytest.raises(ValueError, match="not a dump of one file"):
        parse("something else\n")


MESSAGE = "offset: 3 position: 51 {}isvalid: {} payloadsize: 8 magic: {} compresscodec: {} crc: 7"


def test_a_message_before_0_11_is_entry_and_record() -> None:
    line = MESSAGE.format("", "true", 0, "NoCompressionCodec") + "\n"
    shallow = f"Dumping a\nStarting offset: 3\n{line}"
    (entry,) = dump_log.parse_entries(f"Dumping a\n{line}", shallow).entries
    assert entry.facts == {
        "last_offset": 3, "position": 51, "crc_ok": True, "size": 34, "magic": 0, "codec": "none", "crc": 7
    }  # fmt: skip
    assert entry.records == [{"offset": 3, "is_valid": True, "key_size": -1, "value_size": 8}]


def test_a_message_of_0_10_has_a_timestamp() -> None:
    line = MESSAGE.format("CreateTime: 5 ", "false", 1, "NONE") + " keysize: 2\n"
    (entry,) = dump_log.parse_entries(f"Dumping a\n{line}", f"Dumping a\n{line}").entries
    assert (entry.facts["timestamp_type"], entry.facts["timestamp"]) == ("CreateTime", 5)
    assert (entry.facts["size"], entry.facts["crc_ok"]) == (44, False)
    assert entry.records[0]["key_size"] == 2
    assert entry.records[0]["is_valid"] is False


def test_records_of_0_11_belong_to_the_batch_at_their_position() -> None:
    batch = "baseOffset: {} lastOffset: {} position: {} CreateTime: 1 isvalid: true size: 70 magic: 2"
    record = (
        "offset: {} position: {} CreateTime: 1 isvalid: true keysize: -1 valuesize: 4 magic: 2"
        " compresscodec: GZIP producerId: 9 sequence: 0 isTransactional: true headerKeys: [a b,c]"
    )
    shallow = "\n".join(["Dumping a", batch.format(0, 1, 0), batch.format(2, 2, 70)])
    end = " endTxnMarker: COMMIT coordinatorEpoch: 3"
    deep = "\n".join(["Dumping a", record.format(0, 0), record.format(1, 0), record.format(2, 70) + end, ""])
    first, second = dump_log.parse_entries(deep, shallow + "\n").entries
    assert [line["offset"] for line in first.records] == [0, 1]
    assert first.records[0]["header_keys"] == "a b,c"
    assert [(line["control_type"], line["coordinator_epoch"]) for line in second.records] == [("COMMIT", 3)]


def test_a_record_of_2_8_is_told_from_its_batch() -> None:
    batch = (
        "baseOffset: 0 lastOffset: 4 count: 1 isControl: false position: 0 LogAppendTime: 9 size: 70 magic: 2"
    )
    record = (
        "| offset: 4 isValid: true crc: null keySize: 1 valueSize: 2 LogAppendTime: 9 baseOffset: 0"
        " lastOffset: 4 baseSequence: -1 lastSequence: -1 producerEpoch: -1 partitionLeaderEpoch: 0"
        " batchSize: 70 magic: 2 compressType: NONE position: 0 sequence: -1 headerKeys: []"
    )
    (entry,) = dump_log.parse_entries(f"Dumping a\nStarting offset: 0\n{batch}\n{record}\n").entries
    assert entry.facts["count"] == 1
    assert entry.records == [
        {
            "offset": 4, "is_valid": True, "key_size": 1, "value_size": 2, "timestamp_type": "LogAppendTime",
            "timestamp": 9, "sequence": -1, "header_keys": "",
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("offset: 3 position: 51 newWord: true", id="unknown-word"),
        pytest.param("| offset: 3 position: 51", id="record-without-batch"),
        pytest.param("something else", id="other-text"),
        pytest.param("offset: 3 position:", id="word-without-value"),
    ],
)
def test_what_is_not_understood_in_an_older_text_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="line 2 of the dump is not understood"):
        dump_log.parse_entries(f"Dumping a\n{line}\n")


def test_remarks_and_the_exception_of_an_older_text_are_kept() -> None:
    text = "Dumping a\nNon-secutive offsets in :a\n  3 is followed by 7\nException: java.lang.Oh: no\n"
    dump = dump_log.parse_entries(text)
    assert dump.remarks == ["Non-secutive offsets in :a", "  3 is followed by 7"]
    assert dump.exception == "java.lang.Oh: no"
