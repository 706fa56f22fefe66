"""The topics of MirrorMaker 2, packed as `OffsetSync`, `Checkpoint` and `Heartbeat` of Kafka 4.1 do it."""

from __future__ import annotations

import struct

import pytest

import kodec
from kodec.log.messages.decoding import decode, has_messages
from kodec.log.values.formats import readable_record

pytestmark = pytest.mark.quick


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


SYNC = text("orders") + struct.pack(">i", 3), struct.pack(">qq", 100, 90)
CHECKPOINT = (
    text("g1") + text("A.orders") + struct.pack(">i", 3),
    struct.pack(">hqq", 0, 150, 140) + text("m\u00e9"),
)
HEARTBEAT = text("A") + text("B"), struct.pack(">hq", 0, 1_790_000_000_000)
CASES = {
    "mm2-offset-syncs.B.internal": (
        SYNC,
        {"topic": "orders", "partition": 3},
        {"upstreamOffset": 100, "offset": 90},
    ),
    "A.checkpoints.internal": (
        CHECKPOINT,
        {"group": "g1", "topic": "A.orders", "partition": 3},
        {"upstreamOffset": 150, "offset": 140, "metadata": "m\u00e9"},
    ),
    "A.heartbeats": (
        HEARTBEAT,
        {"sourceClusterAlias": "A", "targetClusterAlias": "B"},
        {"timestamp": 1_790_000_000_000},
    ),
}


@pytest.mark.parametrize("topic", CASES)
def test_a_topic_is_decoded(topic: str) -> None:
    (key, value), in_key, in_value = CASES[topic]
    found = decode(topic, kodec.Record(key=key, value=value))
    assert [None if each is None else each.plain() for each in found] == [in_key, in_value]
    shown = readable_record(topic, kodec.Record(key=key, value=value))
    assert [each is not None and each.format for each in (shown.key, shown.value)] == ["kafka", "kafka"]
    # a tombstone
    assert decode(topic, kodec.Record(key=key))[1] is None


def test_the_names_of_topics() -> None:
    assert has_messages("heartbeats") and has_messages("a.b.heartbeats")
    assert not any(map(has_messages, ("myheartbeats", "checkpoints.internal", "mm2-offset-syncs", "orders")))


@pytest.mark.parametrize("topic", CASES)
def test_other_records_of_such_a_name_are_shown_as_any(topic: str) -> None:
    (key, value), _, _ = CASES[topic]
    for other in (
        kodec.Record(key=b"k", value=b"{}"),
        kodec.Record(key=key, value=value + b"!"),
        kodec.Record(key=key[:-1], value=value),
    ):
        assert decode(topic, other) == (None, None)
    shown = readable_record(topic, kodec.Record(key=b"k", value=b"{}")).value
    assert shown is not None and shown.format == "json"
