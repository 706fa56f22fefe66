"""Topics of MirrorMaker, Connect, Streams and Cruise Control: kodec's values are those of their classes.

topics_lab.py has recorded both the topics and the answers.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import kodec
from kodec.generated.mirror.offset_sync_key import OffsetSyncKey
from kodec.generated.mirror.offset_sync_value import OffsetSyncValue
from kodec.log.messages.decoding import decode, decode_record
from kodec.log.messages.streams import FrameName, read_frame
from kodec.log.views.translation import _Store, _Sync
from tests.other_topics import OTHER, answered

pytestmark = pytest.mark.quick

FRAMES: dict[str, FrameName] = {
    "windowed_key": "windowed",
    "window_store_key": "window-store",
    "session_key": "session",
    "change": "change",
    "suppressed_value": "suppressed",
    "subscription": "subscription",
    "subscription_response": "subscription-response",
    "subscription_key": "subscription-store",
    "join_key": "join",
    "join_values": "join-values",
}
CONNECT = {
    "connect-configs": {"SessionKey", "ConnectorConfig", "TaskConfig", "TasksCommit", "TargetState"},
    "connect-offsets": {"ConnectorOffset"},
    "connect-status": {"ConnectorStatus", "TaskStatus", "TopicStatus"},
}


def as_java(value: Any) -> str:
    """A value as Java prints it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case bytes():
            return f"x{value.hex()}"
        case list():
            return "[" + ", ".join(map(as_java, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{name}={as_java(value[name])}" for name in sorted(value)) + "}"
    return str(value)


def snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def of_judge(parts: dict[str, Any]) -> dict[str, Any]:
    """The parts as the judge names them."""
    found = {snake(name): value for name, value in parts.items()}
    if found.get("hash") is not None:
        found["hash"] = f"x{found['hash']}"
    if "side" in found:
        found["is_left"] = found.pop("side") == "left"
    if "values" in found:
        found["values"] = [f"{each['side']} {as_java(each['value'])}" for each in found["values"]]
    if "time" in found:
        del found["version"]
        context = found.pop("context", None)
        if context is not None:
            headers = [f"{each['key']}={as_java(each['value'])}" for each in context["headers"]]
            found |= context | {"headers": headers}
    return found


def test_frames_of_streams_have_the_same_parts() -> None:
    lines = answered("frames.tsv")
    seen = set()
    for asked, answer in lines:
        name, data, *version = asked.split(" ")
        headers = [] if version in ([], ["0"]) else [("v", bytes([int(version[0])]))]
        parts = read_frame(FRAMES[name], bytes.fromhex(data), headers)
        assert as_java(of_judge(parts)) == answer, asked
        seen.add((name, *version))
    assert {name for name, *_ in seen} == FRAMES.keys()
    assert {version for name, *rest in seen if name == "suppressed_value" for version in rest} == {*"0123"}


def test_recognized_topics_of_streams_are_decoded() -> None:
    framed = {
        "app-KTABLE-SUPPRESS-STATE-STORE-0000000003-changelog": (None, "suppressed"),
        "app-owner-subscription-registration-topic": (None, "subscription"),
        "app-owner-subscription-response-topic": (None, "subscription-response"),
        "app-owner-subscription-store-changelog": ("subscription-store", "subscription"),
        "app-pairs-outer-this-join-store-changelog": ("window-store", None),
        "app-pairs-outer-other-join-store-changelog": ("window-store", None),
        "app-pairs-outer-shared-join-store-changelog": ("join", "join-values"),
        # only a header shows it
        "app-mine-changelog": (None, "suppressed"),
        # the user chose the names of these, or there is no frame
        "app-counts-changelog": (None, None),
        "app-prices-store-changelog": (None, None),
        "app-totals-changelog": (None, None),
        "app-by-customer-repartition": (None, None),
    }
    for topic, wanted in framed.items():
        read = "app-KTABLE-SUPPRESS-STATE-STORE-0000000003-changelog" if "mine" in topic else topic
        records = list(kodec.read_records(OTHER / "A", topics=[read]))
        assert records
        for record in records:
            found = decode(topic, record)
            expected = wanted[0], None if record.value is None else wanted[1]
            assert tuple(each and each.name for each in found) == expected, topic


def test_records_of_connect_are_decoded() -> None:
    for topic, names in CONNECT.items():
        decoded = [decode(topic, record) for record in kodec.read_records(OTHER / "A", topics=[topic])]
        assert {key.name for key, _ in decoded if key is not None} >= names
        assert all(key is not None for key, _ in decoded)
        assert any(value is None for _, value in decoded) == (topic != "connect-offsets")
    workers = [
        *kodec.read_records(OTHER / "B", topics=["mm2-configs.A.internal"]),
        *kodec.read_records(OTHER / "A", topics=["mm2-configs.B.internal"]),
    ]
    assert all(decode("mm2-configs.A.internal", record)[0] is not None for record in workers)


def test_records_of_cruise_control_have_the_same_values() -> None:
    lines = answered("cruise-control.tsv")
    assert len(lines) > 60
    for topic, data, answer in lines:
        key, value = decode_record(topic, None, bytes.fromhex(data))
        assert key is None and value is not None, topic
        found = value.plain()
        assert value.version is not None
        wanted = json.loads(answer)
        if wanted.get("topic", "") is None:
            # of a broker
            wanted["topic"] = ""
        assert found == wanted


def test_offsets_are_translated_as_by_mirrormaker() -> None:
    store = _Store()
    counts = {"translate": 0, "show": 0}
    names = {"sync": "OffsetSync", "checkpoint": "Checkpoint", "heartbeat": "Heartbeat"}
    topics = {
        "sync": "mm2-offset-syncs.B.internal",
        "checkpoint": "A.checkpoints.internal",
        "heartbeat": "heartbeats",
    }
    for asked, answer in answered("translations.tsv"):
        word, *parts = asked.split(" ")
        match word:
            case "fresh":
                store = _Store()
            case "sync":
                key = OffsetSyncKey.from_bytes(bytes.fromhex(parts[0]))
                value = OffsetSyncValue.from_bytes(bytes.fromhex(parts[1]))
                store.add((key.topic, key.partition), _Sync(value.upstream_offset, value.offset))
            case "translate":
                topic, partition, offset = parts
                sync = store.sync_for((topic, int(partition)), int(offset))
                if sync is None:
                    found = "none"
                elif sync.upstream > int(offset):
                    found = "-1"
                else:
                    found = str(sync.downstream + (sync.upstream != int(offset)))
                assert found == answer, asked
                counts[word] += 1
            case "show":
                kind = parts[0]
                decoded = decode_record(topics[kind], *map(bytes.fromhex, parts[1:]))
                facts: dict[str, Any] = {}
                for each in decoded:
                    assert each is not None
                    facts |= each.plain() or {}
                assert answer.startswith(names[kind])
                wanted = dict(each.split("=", 1) for each in answer.partition("{")[2].rstrip("}").split(", "))
                assert {
                    value for name, value in wanted.items() if name not in ("topicPartition", "metadata")
                } <= {str(each) for each in facts.values()}
                counts[word] += 1
    assert counts["translate"] > 1000 and counts["show"] > 20


def test_the_real_groups_have_the_offsets_of_remote_cluster_utils() -> None:
    answers = {}
    for line in (OTHER / "remote-cluster-utils.txt").read_text().splitlines():
        group, partition, offset = line.split(" ")
        answers[group, partition] = int(offset)
    assert len(answers) > 6
    there = kodec.operations.translate_offsets(OTHER / "B", source="A", target="B")
    found = {
        (each.group, f"{each.target_topic}-{each.partition}"): each.target_offset for each in there.offsets
    }
    assert found == answers and there.omissions.is_whole
    here = kodec.operations.translate_offsets(
        OTHER / "A", source="A", target="B", target_logs=OTHER / "B", topics=["orders"]
    )
    assert {
        (each.group, f"{each.target_topic}-{each.partition}"): each.target_offset
        for each in here.offsets
        if not each.reason
    } == answers
    for each in here.offsets:
        assert each.reason or (each.checkpoint_offset, each.checkpoint_target_offset) == (
            each.offset,
            each.target_offset,
        )
    assert any(each.reason for each in here.offsets) and not here.omissions.is_whole
