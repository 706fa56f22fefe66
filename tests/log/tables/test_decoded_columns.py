"""The columns `key_decoded` and `value_decoded` of tables: messages by name, as `decode_record` has them."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.generated.messages.group_metadata_key import GroupMetadataKey
from kodec.generated.metadata.client_quota_record import ClientQuotaRecord
from kodec.log.messages import decoding
from kodec.log.messages.decoding import decode
from kodec.log.remote.topics import topic_of
from tests.data import DATA, LOGS

pytestmark = pytest.mark.quick

OFFSETS = LOGS / "__consumer_offsets-0" / "00000000000000000000.log"
NAMES = ["offset", "key_decoded", "value_decoded"]
INTERNAL = sorted(
    path
    for folder in DATA.glob("kafka-*/logs/__*-0")
    for path in folder.iterdir()
    if path.suffix in (".log", ".checkpoint")
)


def texts(source: Any, **options: Any) -> list[tuple[Any, Any]]:
    rows = kodec.read_table(source, NAMES[1:], **options).to_pylist()
    return [tuple(None if each is None else json.loads(each) for each in row.values()) for row in rows]


@pytest.mark.parametrize("path", INTERNAL, ids=lambda path: f"{path.parts[-4]}/{path.parts[-2]}/{path.name}")
def test_every_record_of_kafkas_own_topics_is_told(path: Path) -> None:
    topic = path.parent.name.rpartition("-")[0]
    wanted = [
        tuple(None if each is None else each.document() for each in decode(topic, record))
        for record in kodec.read_records(path, control=True)
    ]
    found = texts(path, control=True)
    assert found == wanted and all(each is None or "data" in each for row in found for each in row)


def test_control_records_say_what_they_are_in_any_topic() -> None:
    path = LOGS / "transactions-0" / "00000000000000000000.log"
    rows = kodec.read_table(path, ["value_decoded", "key_decoded", "offset"], control=True).to_pylist()
    told = [row for row in rows if row["key_decoded"] is not None]
    ends = [record for record in kodec.read_records(path, control=True) if hasattr(record, "data")]
    assert [row["offset"] for row in told] == [record.offset for record in ends] != []
    for row, record in zip(told, ends, strict=True):
        key, value = json.loads(row["key_decoded"]), json.loads(row["value_decoded"])
        assert (key["name"], key["data"]) == ("ControlRecordType", {"type": record.type.name})
        assert (value["name"], value["type"]) == ("EndTxnMarker", record.type.value)
        assert value["data"] == {"coordinatorEpoch": record.data.coordinator_epoch}
    # what users wrote is not Kafka's to name
    assert len(told) < len(rows) and all(row["value_decoded"] is None for row in rows if row not in told)


def test_what_is_not_known_has_its_bytes_and_the_reason() -> None:
    records = [
        kodec.Record(key=b"\x00\x63x", value=b"\x00\x00y"),
        kodec.Record(key=GroupMetadataKey(group="g").to_bytes(), value=b"\x00\x09"),
        kodec.Record(key=None, value=b"\xff"),
        kodec.Record(key=b"\x00\x01\x00\x05g", value=None),
    ]
    found = texts(kodec.encode(records), source_topic="__consumer_offsets")
    assert [None if each is None else each.get("reason", "") != "" for row in found for each in row] == [
        *(True, True, False, True, None, True, True, None)
    ]
    for row, record in zip(found, records, strict=True):
        for told, data in zip(row, (record.key, record.value), strict=True):
            if told is not None and "data" not in told:
                assert base64.b64decode(told["bytes"]) == data
    control = kodec.Record(key=b"\x00\x00\x00\x4d", value=b"\x00\x00")
    later = kodec.Record(key=b"\x00\x00\x00\x02", value=b"\x00\x63")
    rows = texts(kodec.encode([control, later], control=True), source_topic="orders", control=True)
    assert [each["reason"] for each in rows[0]] == ["unknown type 77"] * 2
    assert "data" in rows[1][0] and rows[1][1]["reason"] == "unknown version 99"
    assert base64.b64decode(rows[1][1]["bytes"]) == b"\x00\x63"


def test_it_is_json_whatever_the_message_holds() -> None:
    quota = ClientQuotaRecord(key="k", value=float("nan"))
    framed = b"\x01" + bytes([ClientQuotaRecord.NUMBER, 0]) + quota.to_bytes(version=0)
    name = GroupMetadataKey(group="\udcff\u2713").to_bytes()
    (row,) = texts(kodec.encode([kodec.Record(value=framed)]), source_topic="__cluster_metadata")
    assert row[1]["data"]["value"] == "NaN"
    (row,) = texts(kodec.encode([kodec.Record(key=name)]), source_topic="__consumer_offsets")
    assert row[0]["data"] == {"group": "\ufffd\u2713"}


def test_a_message_that_is_too_large_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MOST_BYTES", 20)
    keys = [GroupMetadataKey(group="g" * size).to_bytes() for size in (16, 17)]
    found = texts(kodec.encode([kodec.Record(key=key) for key in keys]), source_topic="__consumer_offsets")
    assert "data" in found[0][0] and "more than" in found[1][0]["reason"]


def test_the_topic_is_that_of_the_folder_or_is_given(tmp_path: Path) -> None:
    wanted = texts(OFFSETS)
    assert wanted[0][0]["name"] == "OffsetCommitKey"
    data = OFFSETS.read_bytes()
    assert texts(data, source_topic="__consumer_offsets") == wanted
    with OFFSETS.open("rb") as file:
        assert texts(file, source_topic="__consumer_offsets") == wanted
    replica = tmp_path / f"__consumer_offsets-0.{'0' * 32}-stray"
    remote = tmp_path / f"__consumer_offsets-0-{'A' * 22}"
    for folder, name in ((replica, OFFSETS.name), (remote, f"{'0' * 20}-{'B' * 22}.log")):
        folder.mkdir()
        shutil.copy(OFFSETS, folder / name)
        assert texts(folder / name) == wanted and topic_of(folder / name) == "__consumer_offsets"
    assert topic_of(LOGS / "bootstrap.checkpoint") == "__cluster_metadata"
    lone = tmp_path / OFFSETS.name
    shutil.copy(OFFSETS, lone)
    assert topic_of(lone) is None
    for source in (data, lone):
        with pytest.raises(ValueError, match="give source_topic="):
            kodec.read_table(source, ["value_decoded"])
        assert kodec.read_table(source, ["value"]).num_rows
    assert texts(lone, source_topic="__consumer_offsets") == wanted
    assert {each for row in texts(lone, source_topic="orders") for each in row} == {None}


def test_batches_are_as_large_as_asked_for() -> None:
    whole = kodec.read_table(OFFSETS, NAMES)
    parts = list(kodec.scan_table(OFFSETS, NAMES, batch_rows=2, batch_bytes=100))
    assert len(parts) > 2 and sum(part.num_rows for part in parts) == whole.num_rows
    assert [row for part in parts for row in part.to_pylist()] == whole.to_pylist()
    first, last = whole["offset"][1].as_py(), whole["offset"][2].as_py()
    assert kodec.read_table(OFFSETS, NAMES, offsets=(first, last)).equals(whole.slice(1, 2))
