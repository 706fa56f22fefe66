"""Messages of Kafka's own topics: what real brokers wrote is given as kafka-dump-log tells it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kodec.cli.main import main
from kodec.generated.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from kodec.log.messages.decoding import TOPICS, decode_record
from kodec.log.tables.records import read_records
from tests.data import DATA, LOGS

pytestmark = pytest.mark.quick

LINE = re.compile(r"^\| offset: (\d+) .*?headerKeys: \[\](?: key: (\{.*\}))? payload: (\{.*\}|<DELETE>)$")
DUMPS = sorted((DATA / "kafka-4.3.1/dump/logs").glob("__*-0/*.log.txt"))


def printed(path: Path) -> dict[int, tuple[object, object]]:
    """Keys and values by offset, of the lines that kafka-dump-log's decoders made."""
    found: dict[int, tuple[object, object]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        match = LINE.match(line)
        if match is not None:
            key = None if match[2] is None else json.loads(match[2])
            found[int(match[1])] = key, None if match[3] == "<DELETE>" else json.loads(match[3])
    return found


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: f"{path.parts[-5]}/{path.parts[-2]}")
def test_real_records_are_told_as_by_kafka(dump: Path) -> None:
    topic = dump.parent.name.rpartition("-")[0]
    log = dump.parents[3] / "logs" / dump.parent.name / dump.name.removesuffix(".txt")
    told = printed(dump)
    compared = 0
    for record in read_records(log):
        if record.offset not in told:
            continue
        ours = decode_record(topic, record.key, record.value)
        for one, other in zip(ours, told[record.offset], strict=True):
            if one is None or not isinstance(other, dict) or "data" not in other:
                continue
            assert one.plain() == other["data"], f"{record.offset}: {one.reason}"
            assert str(other.get("version", one.version)) == str(one.version)
            compared += 1
    assert compared >= 2


def test_there_is_something_to_compare() -> None:
    assert {path.parent.name.rpartition("-")[0] for path in DUMPS} == set(TOPICS) - {"__remote_log_metadata"}


def test_every_record_of_every_broker_is_known() -> None:
    count = 0
    for folder in sorted(DATA.glob("kafka-*/logs/__*-0")):
        topic = folder.name.rpartition("-")[0]
        for log in sorted(folder.glob("*.log")):
            for record in read_records(log):
                for each in decode_record(topic, record.key, record.value):
                    assert each is None or each.message is not None, f"{log}: {record.offset}: {each.reason}"
                    count += each is not None
    assert count > 100


@pytest.mark.parametrize(
    ("topic", "key", "value", "reasons"),
    [
        ("__consumer_offsets", b"\x00\x63x", b"\x00\x00y", ("unknown type 99", "unknown type 99")),
        ("__consumer_offsets", None, b"x", (None, "no key that shows what it is")),
        ("__consumer_offsets", b"\x00", None, ("no key that shows what it is", None)),
        ("__consumer_offsets", b"\x00\x02\x00\x01g", b"\x00\x09", ("", "unknown version")),
        ("__consumer_offsets", b"\x00\x02\x00\x01g", b"\x00", ("", "no version")),
        ("__consumer_offsets", b"\x00\x02\x00\x09g", None, ("Truncated", None)),
        ("__cluster_metadata", b"k", b"\x00\x03\x00", ("no keys", "frame version 0")),
        ("__cluster_metadata", None, b"\x01\x14\x00\x00", (None, "")),
        ("__cluster_metadata", None, b"\x01\x14\x00\x00\x00", (None, "1 bytes are left over")),
        ("__cluster_metadata", None, b"\x01", (None, "need")),
        ("orders", b"a", b"b", ("not a topic of Kafka's own", "not a topic of Kafka's own")),
    ],
)
def test_what_is_not_known_keeps_its_bytes(
    topic: str, key: bytes | None, value: bytes | None, reasons: tuple[str | None, str | None]
) -> None:
    for given, reason, found in zip((key, value), reasons, decode_record(topic, key, value), strict=True):
        if reason is None:
            assert found is None and given is None
            continue
        assert found is not None and found.data == given
        assert (found.message is not None) is (reason == "")
        assert reason in found.reason or (reason == "Truncated" and found.reason)


def test_bytes_behind_a_value_are_ignored_as_a_coordinator_does() -> None:
    key = b"\x00\x02\x00\x01g"
    members = [MemberMetadata(member_id="m", subscription=b"\x00\xff", assignment=b"")]
    value = GroupMetadataValue(version=3, protocol_type="c", members=members).to_bytes()
    _, found = decode_record("__consumer_offsets", key, value + b"later")
    assert found is not None and found.message is not None and found.data == value + b"later"
    json.dumps(shown := found.plain())
    assert shown["members"][0]["subscription"] == "AP8="


def test_dump_decodes(capsys: pytest.CaptureFixture[str]) -> None:
    folder = LOGS / "__consumer_offsets-0"
    assert main(["dump", "--decode", str(folder)]) == 0
    assert 'OffsetCommitKey {"group": "payments-group"' in capsys.readouterr().out
    assert main(["dump", "--decode", "--json", str(folder)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[0]["decodedKey"]["name"] == "OffsetCommitKey" and rows[0]["key"]
    assert rows[0]["decodedValue"]["version"] == 4
    # what is no topic of Kafka's own is shown as without --decode
    orders = LOGS / "orders-0"
    main(["dump", "--json", str(orders)])
    plain = capsys.readouterr().out
    main(["dump", "--json", "--decode", str(orders)])
    assert capsys.readouterr().out == plain
