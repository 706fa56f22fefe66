"""Records of Kafka Connect's topics: configs, offsets and status, whose keys are text and values JSON.

Source: KafkaConfigBackingStore, KafkaOffsetBackingStore with OffsetUtils, KafkaStatusBackingStore of
`org.apache.kafka.connect.storage`, and JsonConverter, Kafka 4.3. Workers of MirrorMaker have the same topics.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

__all__ = ["Part", "connect_topic", "read_connect"]

# The names that worker.properties of Kafka, Confluent and Strimzi, and MirrorMaker choose.
_NAMES = re.compile(
    r"(?:.*connect.*[-._](configs?|offsets?|status(?:es)?)|mm2-(configs|offsets|status)\..+\.internal)\Z"
)
_MOST_BYTES = 16 << 20


class Part(NamedTuple):
    """A key or a value: what it is, and its content as JSON types."""

    name: str
    data: dict[str, Any]


@lru_cache(1024)
def connect_topic(topic: str) -> str | None:
    """`configs`, `offsets` or `status` for a topic that is named as one of Connect's; else None."""
    match = _NAMES.match(topic)
    if match is None:
        return None
    kind = match[1] or match[2]
    return "configs" if kind.startswith("config") else "offsets" if kind.startswith("offset") else "status"


def read_connect(kind: str, key: bytes | None, value: bytes | None) -> tuple[Part, Part | None] | None:
    """The key and the value of a record of such a topic, None for a tombstone; None if it is another record.

    A value in the envelope of JsonConverter with schemas is its payload.
    """
    try:
        if key is None or len(key) > _MOST_BYTES or (value is not None and len(value) > _MOST_BYTES):
            return None
        first = _offset_key(key) if kind == "offsets" else _text_key(kind, key.decode("utf-8"))
        if first is None:
            return None
        if value is None:
            return first, None
        content = _payload(_json(value))
    except (ValueError, RecursionError):
        # UnicodeError is a ValueError
        return None
    if content is not None and not isinstance(content, dict):
        return None
    return first, None if content is None else Part(first.name, content)


_CONFIGS = {
    "target-state-": "TargetState",
    "connector-": "ConnectorConfig",
    "task-": "TaskConfig",
    "commit-": "TasksCommit",
    "tasks-fencing-": "TaskCount",
    "restart-connector-": "ConnectorRestart",
}
_LOGGER = "logger-cluster-"
_SESSION_KEY = "session-key"
_STATUS = {"status-connector-": "ConnectorStatus", "status-task-": "TaskStatus"}
_TOPIC_STATUS = "status-topic-"


def _text_key(kind: str, text: str) -> Part | None:
    if kind == "configs":
        if text == _SESSION_KEY:
            return Part("SessionKey", {})
        if text.startswith(_LOGGER):
            return Part("LoggerLevel", {"namespace": text.removeprefix(_LOGGER)})
    elif text.startswith(_TOPIC_STATUS):
        topic, colon, connector = text.removeprefix(_TOPIC_STATUS).partition(":connector-")
        return Part("TopicStatus", {"topic": topic, "connector": connector}) if colon else None
    for prefix, name in (_CONFIGS if kind == "configs" else _STATUS).items():
        if text.startswith(prefix):
            suffix = text.removeprefix(prefix)
            if not name.startswith("Task") or name.startswith(("Tasks", "TaskCount")):
                return Part(name, {"connector": suffix})
            connector, dash, task = suffix.rpartition("-")
            if not dash or not task.isascii() or not task.isdecimal() or len(task) > 10:
                return None
            return Part(name, {"connector": connector, "task": int(task)})
    return None


def _offset_key(key: bytes) -> Part | None:
    match _payload(_json(key)):
        case [str() as connector, dict() | None as partition]:
            return Part("ConnectorOffset", {"connector": connector, "partition": partition})
    return None


def _payload(document: Any) -> Any:
    return (
        document["payload"]
        if isinstance(document, dict) and document.keys() == {"schema", "payload"}
        else document
    )


def _json(data: bytes) -> Any:
    """JSON that can be printed again. Raises ValueError, RecursionError."""
    document = json.loads(data.decode("utf-8"), parse_constant=_refused, parse_float=_finite)
    # names of escapes that are not text, such as "\ud800", raise an error here
    json.dumps(document, ensure_ascii=False).encode("utf-8")
    return document


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number
