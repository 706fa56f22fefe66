"""Frames that Kafka Streams puts around keys and values in its changelogs and repartition topics.

The bytes do not show which frame they have, and most names of topics do not either: a store's name is the
user's. `frame_of` names the frame where a name that Streams chose itself, or a header, shows it; else the
user names it. Values in changelogs of key-value, window, session and versioned stores have no frame: their
timestamp is that of the record.

Source: the classes that the schemas in schemas/streams name;
InMemoryTimeOrderedKeyValueChangeBuffer.restoreBatch for versions of suppressed values; names in
`org.apache.kafka.streams.kstream.internals`, Kafka 4.3.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple, get_args

from kodec.runtime.errors import ArgumentError, FormatError

__all__ = ["FRAMES", "FrameName", "Frames", "frames_of", "is_changelog", "read_frame", "suppressed_version"]

FrameName = Literal[
    "windowed",
    "window-store",
    "session",
    "change",
    "suppressed",
    "subscription",
    "subscription-response",
    "subscription-store",
    "join",
    "join-values",
]
FRAMES: tuple[FrameName, ...] = get_args(FrameName)
Headers = Sequence[tuple[str, bytes | None]]


class Frames(NamedTuple):
    """The frames of a topic's keys and values; None if they have none."""

    key: FrameName | None
    value: FrameName | None


# Names that Streams chooses, or ends, itself.
_NAMES: tuple[tuple[re.Pattern[str], Frames], ...] = (
    (
        re.compile(
            r".+-(?:KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-\d+-topic|.+-subscription-registration-topic)\Z"
        ),
        Frames(None, "subscription"),
    ),
    (
        re.compile(r".+-(?:KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-\d+-topic|.+-subscription-response-topic)\Z"),
        Frames(None, "subscription-response"),
    ),
    (
        re.compile(r".+-(?:KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-\d+|.+-subscription-store)-changelog\Z"),
        Frames("subscription-store", "subscription"),
    ),
    (
        re.compile(r".+-(?:KSTREAM-OUTERSHARED-\d+-store|.+-(?:left|outer)-shared-join-store)-changelog\Z"),
        Frames("join", "join-values"),
    ),
    (
        re.compile(
            r".+-(?:KSTREAM-(?:JOINTHIS|JOINOTHER|OUTERTHIS|OUTEROTHER)-\d+-store"
            r"|.+-(?:this|other|left-this|right-other|outer-this|outer-other)-join-store)-changelog\Z"
        ),
        Frames("window-store", None),
    ),
    (re.compile(r".+-KTABLE-SUPPRESS-STATE-STORE-\d+-changelog\Z"), Frames(None, "suppressed")),
    (
        re.compile(r".+-KTABLE-(?:AGGREGATE|REDUCE)-STATE-STORE-\d+-repartition\Z"),
        Frames(None, "change"),
    ),
)


@lru_cache(1024)
def frames_of(topic: str) -> Frames | None:
    """The frames of a topic, by its name; None if the name does not show them."""
    return next((frames for pattern, frames in _NAMES if pattern.match(topic)), None)


def is_changelog(topic: str) -> bool:
    """Whether the name is that of a changelog: a header of its records may show that they are suppressed."""
    return topic.endswith("-changelog")


def suppressed_version(headers: Headers) -> int | None:
    """The version in the header of a suppressed value; None if it has none."""
    values = [value for name, value in headers if name == "v"]
    data = values[-1] if values else None
    return data[0] if data is not None and len(data) == 1 and 1 <= data[0] <= 3 else None


def read_frame(name: FrameName, data: bytes, headers: Headers | None = None) -> dict[str, Any]:
    """The parts of a framed key or value, by Kafka's names.

    The bytes of inner keys and values are `bytes`, or None; all others are JSON's types.

    Args:
        name: the frame: `windowed` is a key of `TimeWindowedSerializer`, `window-store` a key in the
            changelog of a
            window store, `session` a session's key in both; `suppressed` a value in the changelog of
            `suppress`; `change` a value in the repartition topic of a grouped table; `subscription`,
            `subscription-response` and `subscription-store` (a key) belong to foreign-key joins, `join` (a
            key) and `join-values` to the store of outer joins of streams.
        data: the key or value.
        headers: of the record, for the version of a suppressed value; None: not known, each version is tried.

    Returns: the parts.
    Raises: FormatError for bytes without this frame; ArgumentError for another name.

    Example:
        >>> from kodec.values import read_frame
        >>> read_frame("windowed", b"user-1" + (60_000).to_bytes(8, "big"))
        {'key': b'user-1', 'start': 60000}
    """
    if name not in FRAMES:
        raise ArgumentError(f"{name!r}: expected one of {', '.join(FRAMES)}")
    if name == "suppressed":
        return _suppressed(data, headers)
    return _READERS[name](_class_of(*_CLASSES[name]).from_bytes(data))


_CLASSES = {
    "windowed": ("windowed_key", "WindowedKey"),
    "window-store": ("window_store_key", "WindowStoreKey"),
    "session": ("session_key", "SessionKey"),
    "change": ("change", "Change"),
    "subscription": ("subscription", "Subscription"),
    "subscription-response": ("subscription_response", "SubscriptionResponse"),
    "subscription-store": ("subscription_key", "SubscriptionKey"),
    "join": ("join_key", "JoinKey"),
    "join-values": ("join_values", "JoinValues"),
}


@cache
def _class_of(module: str, name: str) -> Any:
    # imported late: few records have them
    return getattr(importlib.import_module(f"kodec.generated.streams.{module}"), name)


def _change(read: Any) -> dict[str, Any]:
    latest = read.is_latest_flag
    return {"newValue": read.new_value, "oldValue": read.old_value, "isLatest": latest is None or latest == 1}


def _subscription(read: Any) -> dict[str, Any]:
    return {
        "version": read.version,
        "instruction": read.instruction.name,
        "hash": None if read.hash is None else read.hash.hex(),
        "primaryKey": read.primary_key,
        "primaryPartition": read.primary_partition,
    }


def _response(read: Any) -> dict[str, Any]:
    return {
        "version": read.version,
        "hash": None if read.hash is None else read.hash.hex(),
        "foreignValue": read.foreign_value or None,
    }


def _join_values(read: Any) -> dict[str, Any]:
    values = [value.value for value in read.values]
    return {"values": [{"side": _side(value.is_left), "value": value.value} for value in values]}


def _side(is_left: int) -> str:
    return "left" if is_left else "right"


_READERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "windowed": lambda read: {"key": read.key, "start": read.start},
    "window-store": lambda read: {"key": read.key, "start": read.start, "sequence": read.sequence},
    "session": lambda read: {"key": read.key, "start": read.start, "end": read.end},
    "change": _change,
    "subscription": _subscription,
    "subscription-response": _response,
    "subscription-store": lambda read: {"foreignKey": read.foreign_key, "primaryKey": read.primary_key},
    "join": lambda read: {"key": read.key, "timestamp": read.timestamp, "side": _side(read.is_left)},
    "join-values": _join_values,
}


def _suppressed(data: bytes, headers: Headers | None) -> dict[str, Any]:
    version = 0 if headers is None else suppressed_version(headers) or 0
    # Kafka 2.4.0 to 2.5.0 wrote version 3 and named it 2
    tried = (3, 2, 1, 0) if headers is None else (2, 3) if version == 2 else (version,)
    kind = _class_of("suppressed_value", "SuppressedValue")
    first: FormatError | None = None
    for version in tried:
        try:
            return _of_suppressed(kind.from_bytes(data, version), version)
        except FormatError as error:
            first = first or error
    assert first is not None
    raise first


def _of_suppressed(read: Any, version: int) -> dict[str, Any]:
    parts: dict[str, Any] = {"version": version, "time": read.time}
    if version < 3:
        change = read.sized_change.change if version else read.change
        parts |= {"oldValue": change.old_value.value, "newValue": change.new_value.value}
    if version >= 2:
        parts["priorValue"] = read.prior_value.value
    if version == 3:
        is_prior = read.old_value.len_value == -2
        parts |= {
            "oldValue": read.prior_value.value if is_prior else read.old_value.value,
            "newValue": read.new_value.value,
        }
    if version >= 1:
        context = read.context
        parts["context"] = {
            "timestamp": context.timestamp,
            "offset": context.offset,
            "topic": context.topic,
            "partition": context.partition,
            "headers": [{"key": header.key, "value": header.value.value} for header in context.headers or ()],
        }
    return parts
