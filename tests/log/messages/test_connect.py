"""Records of Connect's topics, and other records in them. test_topics_lab.py has those of a worker."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.log.messages.connect import connect_topic
from kodec.log.messages.decoding import decode, decode_record

pytestmark = pytest.mark.quick


def test_the_names_of_topics() -> None:
    names = {
        "connect-configs": "configs",
        "_connect-offsets": "offsets",
        "my-connect-cluster-status": "status",
        "docker-connect-statuses": "status",
        "mm2-offsets.A.internal": "offsets",
        "configs": None,
        "connect-files": None,
        "mm2-offset-syncs.A.internal": None,
    }
    assert {name: connect_topic(name) for name in names} == names


@pytest.mark.parametrize(
    ("topic", "key", "name", "data"),
    [
        ("connect-configs", "connector-a-b", "ConnectorConfig", {"connector": "a-b"}),
        ("connect-configs", "task-a-b-12", "TaskConfig", {"connector": "a-b", "task": 12}),
        ("connect-configs", "commit-a", "TasksCommit", {"connector": "a"}),
        ("connect-configs", "tasks-fencing-a", "TaskCount", {"connector": "a"}),
        ("connect-configs", "target-state-a", "TargetState", {"connector": "a"}),
        ("connect-configs", "restart-connector-a", "ConnectorRestart", {"connector": "a"}),
        ("connect-configs", "logger-cluster-org.x", "LoggerLevel", {"namespace": "org.x"}),
        ("connect-configs", "session-key", "SessionKey", {}),
        ("connect-status", "status-task-a-0", "TaskStatus", {"connector": "a", "task": 0}),
        ("connect-status", "status-topic-t:connector-a", "TopicStatus", {"topic": "t", "connector": "a"}),
        (
            "connect-offsets",
            '["a",{"f":"x"}]',
            "ConnectorOffset",
            {"connector": "a", "partition": {"f": "x"}},
        ),
        (
            "connect-offsets",
            '{"schema":null,"payload":["a",{"f":1}]}',
            "ConnectorOffset",
            {"connector": "a", "partition": {"f": 1}},
        ),
    ],
)
def test_keys(topic: str, key: str, name: str, data: dict[str, object]) -> None:
    plain, framed = b'{"x":1}', b'{"schema":{"type":"struct"},"payload":{"x":1}}'
    for value in (plain, framed):
        first, second = decode_record(topic, key.encode(), value)
        assert first is not None and (first.name, first.plain()) == (name, data)
        assert second is not None and (second.name, second.plain()) == (name, {"x": 1})
    assert decode_record(topic, key.encode(), None)[1] is None


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        ("connect-configs", b"other", b"{}"),
        ("connect-configs", None, b"{}"),
        ("connect-configs", b"connector-a", b"text"),
        ("connect-configs", b"connector-a", b"[1]"),
        ("connect-configs", b"connector-\xff", b"{}"),
        ("connect-configs", b"connector-a", b'{"x": NaN}'),
        ("connect-configs", b"connector-a", b'{"x": 1e999}'),
        ("connect-configs", b"connector-a", b'{"x": "\\ud800"}'),
        ("connect-configs", b"connector-a", b'{"x": ' + b"9" * 5000 + b"}"),
        ("connect-configs", b"connector-a", b'{"a":' * 100_000),
        ("connect-configs", b"task-a", b"{}"),
        ("connect-configs", b"task-a-x", b"{}"),
        ("connect-offsets", b'["a"]', b"{}"),
        ("connect-offsets", b"[1, {}]", b"{}"),
        ("connect-status", b"status-topic-t", b"{}"),
    ],
)
def test_other_records_are_left_as_they_are(topic: str, key: bytes | None, value: bytes) -> None:
    assert decode_record(topic, key, value) == (None, None)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes(key: bytes, value: bytes) -> None:
    for topic in ("connect-configs", "connect-offsets", "connect-status"):
        for part in decode(topic, kodec.Record(key=key, value=value)):
            assert part is None or json.loads(part.text())
