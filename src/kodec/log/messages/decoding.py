"""Finds the message in a record of one of Kafka's own topics, by topic, key and version; and in those of
MirrorMaker, Connect, Kafka Streams and Cruise Control.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde, MetadataRecordSerde and
RemoteLogMetadataSerde (AbstractApiMessageSerde); of control records
org.apache.kafka.common.record.ControlRecordType.
"""

from __future__ import annotations

import base64
import importlib
import json
import re
import struct
from functools import cache, lru_cache
from typing import Any, cast

from kodec.generated.control.control_record_key import ControlRecordKey
from kodec.generated.control.end_txn_marker import EndTxnMarker
from kodec.generated.index import MESSAGES
from kodec.log.batches.records import ControlRecord, ControlRecordType, Record
from kodec.log.messages.as_json import Parts, plain
from kodec.log.messages.connect import connect_topic, read_connect
from kodec.log.messages.streams import (
    FrameName,
    Headers,
    frames_of,
    is_changelog,
    read_frame,
    suppressed_version,
)
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import FormatError
from kodec.runtime.varint import read_uvarint32, write_uvarint32

__all__ = [
    "COORDINATORS",
    "TOPICS",
    "Decoded",
    "decode",
    "decode_control",
    "decode_record",
    "framed",
    "has_messages",
    "of_consumer",
]

COORDINATORS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""The topics of brokers' coordinators."""
_FRAMED = ("__cluster_metadata", "__remote_log_metadata")
TOPICS = (*COORDINATORS, *_FRAMED)
"""Kafka's own topics with supported records."""
_MIRROR = {
    "mm2-offset-syncs.*.internal": re.compile(r"mm2-offset-syncs\..+\.internal\Z"),
    "*.checkpoints.internal": re.compile(r".+\.checkpoints\.internal\Z"),
    "heartbeats": re.compile(r"(.+\.)?heartbeats\Z"),
}
"""The topics of MirrorMaker 2, by their names in schemas."""
_CRUISE_CONTROL = (
    "__CruiseControlMetrics",
    "__KafkaCruiseControlPartitionMetricSamples",
    "__KafkaCruiseControlModelTrainingSamples",
)
MOST_BYTES = 16 << 20
"""No message is nearly as large: Kafka writes up to 1 MiB to these topics, and 8 MiB to the metadata log."""
_FRAME_VERSION = 1
_INT16 = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A key or a value.

    Attributes:
        name: Kafka's name of the message; None if unknown.
        number: that of the record's type; None if unreadable.
        version: that of the message; None for a key, and if unreadable.
        message: an object of a generated class; None if the bytes could not be decoded.
        data: the bytes.
        reason: why there is no message; empty if there is one.
    """

    name: str | None
    number: int | None
    version: int | None
    message: object | None
    data: bytes
    reason: str = ""

    def plain(self) -> dict[str, Any] | None:
        """Kafka's names and values, as JSON types; None if there is no message.

        The consumers' part of a classic group's metadata is decoded too, if possible.
        """
        match self.message:
            case None:
                return None
            case ControlRecordKey():
                return {"type": ControlRecordType(self.message.control_type).name}
            case EndTxnMarker():
                return {"coordinatorEpoch": self.message.coordinator_epoch}
        content = plain(self.message, self.version or 0)
        members = content.get("members", ()) if self.name == "GroupMetadataValue" else ()
        if members and content["protocolType"] == "consumer":
            for member, shown in zip(cast(Any, self.message).members, members, strict=True):
                shown |= _of_consumer(member)
        return content

    def document(self) -> dict[str, Any]:
        """All of it as JSON types: `name`, `type`, `version`, and `data`, or without a message the
        `reason` and the `bytes`, in base64.
        """
        facts: dict[str, Any] = {"name": self.name, "type": self.number, "version": self.version}
        data = self.plain()
        if data is not None:
            return facts | {"data": data}
        return facts | {"reason": self.reason, "bytes": base64.b64encode(self.data).decode("ascii")}

    def text(self) -> str:
        """`document` as JSON, in UTF-8."""
        return json.dumps(self.document(), ensure_ascii=False, allow_nan=False)


def _of_consumer(member: Any) -> dict[str, Any]:
    """A member's subscription and assignment, each if readable."""
    # imported late: few records have them
    from kodec.generated.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
    from kodec.generated.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

    parts: dict[str, Any] = {}
    kinds: tuple[tuple[str, Any], ...] = (
        ("subscription", ConsumerProtocolSubscription),
        ("assignment", ConsumerProtocolAssignment),
    )
    for name, kind in kinds:
        try:
            if (message := of_consumer(kind, getattr(member, name))) is not None:
                parts[name] = plain(message)
        except FormatError:
            continue
    return parts


def of_consumer(kind: Any, data: bytes) -> Any:
    """A subscription or an assignment of a client; a later version as the latest known; None for no bytes.

    Raises FormatError. Source: `ConsumerProtocol.deserializeSubscription`, `.deserializeAssignment`: later
    versions only append fields.
    """
    latest = kind.VERSIONS[-1]
    if len(data) >= 2 and _INT16.unpack_from(data)[0] > latest:
        data = _INT16.pack(latest) + data[2:]
    return kind.from_bytes(data, exact=False) if data else None


@cache
def _class_of(topic: str, kind: str, number: int) -> Any:
    entry = MESSAGES.get((topic, kind, number))
    if entry is None:
        return None
    return getattr(importlib.import_module(f"kodec.generated.{entry[0]}"), entry[1])


def decode_record(
    topic: str, key: bytes | None, value: bytes | None, headers: Headers = ()
) -> tuple[Decoded | None, Decoded | None]:
    """The message in a record's key, and that in its value; None if there are not bytes.

    Unknown or undecodable contents are returned with their bytes and the reason; no error is raised for what
    a record holds. Bytes after the message are ignored in topics of coordinators, as by Kafka.

    Any program may have a topic with a name like those of MirrorMaker, Connect, Streams or Cruise Control:
    there, both are None for a record with other contents, and a key or value without a frame is None.
    """
    if (mirror := _mirror_topic(topic)) is not None:
        return _mirrored(mirror, key, value)
    if topic in _CRUISE_CONTROL:
        return _measured(topic, value)
    if (kind := connect_topic(topic)) is not None:
        return _connected(kind, key, value)
    if topic.endswith(_OF_STREAMS):
        return _streamed(topic, key, value, headers)
    if topic in COORDINATORS:
        return _coordinator(topic, key, value)
    if topic in _FRAMED:
        plain_key = None if key is None else Decoded(None, None, None, None, key, "the topic has no keys")
        return plain_key, None if value is None else _framed(topic, value)
    reason = f"`{topic}` is not a topic of Kafka's own"
    unknown = (
        None if data is None else Decoded(None, None, None, None, data, reason) for data in (key, value)
    )
    first, second = unknown
    return first, second


def decode_control(record: ControlRecord) -> tuple[Decoded | None, Decoded | None]:
    """The key and the value of a control record, like `decode_record`.

    The key is a `ControlRecordType` with its name: ABORT, COMMIT, LEADER_CHANGE, ...
    """
    key, value = record.key, record.value
    number = None if key is None or len(key) < 4 else _INT16.unpack_from(key, 2)[0]
    if key is None or record.type is ControlRecordType.UNKNOWN:
        reason = f"unknown type {number}"
        unknown = [
            None if data is None else Decoded(None, number, None, None, data, reason) for data in (key, value)
        ]
        return unknown[0], unknown[1]
    head = ControlRecordKey.from_bytes(key, exact=False)
    first = Decoded("ControlRecordType", number, head.version, head, key)
    if value is None:
        return first, None
    version = _INT16.unpack_from(value)[0] if len(value) >= 2 else None
    if record.data is None:
        return first, Decoded(None, number, version, None, value, f"unknown version {version}")
    return first, Decoded(type(record.data).__name__, number, version, record.data, value)


def decode(topic: str, record: Record) -> tuple[Decoded | None, Decoded | None]:
    """The message in a record's key and that in its value: of control records in any topic, and of others
    in topics of Kafka's own. None if there are not bytes, and for records of other topics.
    """
    if isinstance(record, ControlRecord):
        return decode_control(record)
    if not has_messages(topic):
        return None, None
    return decode_record(topic, record.key, record.value, record.headers)


def has_messages(topic: str) -> bool:
    """Whether records of a topic may be messages that are decoded by name, as far as its name shows."""
    return (
        topic in TOPICS
        or topic in _CRUISE_CONTROL
        or _mirror_topic(topic) is not None
        or connect_topic(topic) is not None
        or frames_of(topic) is not None
        or is_changelog(topic)
    )


@lru_cache(1024)
def _mirror_topic(topic: str) -> str | None:
    return next((name for name, pattern in _MIRROR.items() if pattern.match(topic)), None)


def _mirrored(topic: str, key: bytes | None, value: bytes | None) -> tuple[Decoded | None, Decoded | None]:
    """As `decode_record`, in a topic of MirrorMaker 2.

    None if not all of the key and the value are such: anybody may have given a topic that name.
    """
    decoded: list[Decoded | None] = []
    for kind, data in (("mirror-key", key), ("mirror-value", value)):
        part = None if data is None else _decoded(topic, kind, 0, None, data, {}, whole=True)
        if part is not None and part.message is None:
            return None, None
        if part is not None:
            part = replace(part, number=None, version=getattr(part.message, "version", None))
        decoded.append(part)
    return decoded[0], decoded[1]


_OF_STREAMS = ("-changelog", "-repartition", "-topic")


def _measured(topic: str, value: bytes | None) -> tuple[None, Decoded | None]:
    """As `decode_record`, in a topic of Cruise Control, whose keys are text or null."""
    # a sample of version 4 may end in what version 5 has, as Cruise Control writes it
    whole = topic != "__KafkaCruiseControlModelTrainingSamples"
    decoded = None if value is None else _decoded(topic, "cruise-control", 0, None, value, {}, whole=whole)
    if decoded is None or decoded.message is None:
        return None, None
    return None, replace(decoded, number=None, version=getattr(decoded.message, "version", None))


def _connected(kind: str, key: bytes | None, value: bytes | None) -> tuple[Decoded | None, Decoded | None]:
    """As `decode_record`, in a topic of Connect."""
    parts = read_connect(kind, key, value)
    if parts is None:
        return None, None
    first, second = (
        None if part is None or data is None else Decoded(part.name, None, None, Parts(part.data), data)
        for part, data in zip(parts, (key, value), strict=True)
    )
    return first, second


def _streamed(
    topic: str, key: bytes | None, value: bytes | None, headers: Headers
) -> tuple[Decoded | None, Decoded | None]:
    """As `decode_record`, in a topic of Kafka Streams."""
    frames = frames_of(topic)
    if frames is None:
        # a suppression with a name of its own: only the header shows it
        if not is_changelog(topic) or value is None or suppressed_version(headers) is None:
            return None, None
        return None, _framed_part("suppressed", value, headers)
    first = None if frames.key is None or key is None else _framed_part(frames.key, key, headers)
    second = None if frames.value is None or value is None else _framed_part(frames.value, value, headers)
    if (first is None and frames.key and key is not None) or (
        second is None and frames.value and value is not None
    ):
        return None, None
    return first, second


def _framed_part(frame: FrameName, data: bytes, headers: Headers) -> Decoded | None:
    try:
        parts = {} if len(data) > MOST_BYTES else read_frame(frame, data, headers)
    except FormatError:
        return None
    return Decoded(frame, None, None, Parts(parts), data) if parts else None


def _coordinator(topic: str, key: bytes | None, value: bytes | None) -> tuple[Decoded | None, Decoded | None]:
    if key is None or len(key) < 2:
        reason = "no key that shows what it is"
        return (
            None if key is None else Decoded(None, None, None, None, key, reason),
            None if value is None else Decoded(None, None, None, None, value, reason),
        )
    (number,) = _INT16.unpack_from(key)
    first = _decoded(topic, "coordinator-key", number, None, key, {})
    if value is None:
        return first, None
    if len(value) < 2:
        return first, Decoded(None, number, None, None, value, "no version")
    (version,) = _INT16.unpack_from(value)
    return first, _decoded(topic, "coordinator-value", number, version, value, {})


def framed(message: Any, version: int) -> bytes:
    """The value of a record in `__cluster_metadata` or `__remote_log_metadata` with this message.

    Raises EncodeError.
    """
    head = b"".join(map(write_uvarint32, (_FRAME_VERSION, message.NUMBER, version)))
    return head + cast(bytes, message.to_bytes(version=version))


def _framed(topic: str, value: bytes) -> Decoded:
    number: int | None = None
    version: int | None = None
    try:
        frame, position = read_uvarint32(value, 0, len(value), "frame_version")
        if frame != _FRAME_VERSION:
            return Decoded(None, None, None, None, value, f"frame version {frame}")
        number, position = read_uvarint32(value, position, len(value), "number")
        version, position = read_uvarint32(value, position, len(value), "version")
    except FormatError as error:
        return Decoded(None, number, version, None, value, str(error))
    return _decoded(topic, "metadata", number, version, value, {"version": version}, position)


def _decoded(
    topic: str,
    kind: str,
    number: int,
    version: int | None,
    data: bytes,
    arguments: dict[str, int],
    start: int = 0,
    whole: bool = False,
) -> Decoded:
    if len(data) > MOST_BYTES:
        return Decoded(None, number, version, None, data, f"more than {MOST_BYTES >> 20} MiB")
    message_class = _class_of(topic, kind, number)
    if message_class is None:
        return Decoded(None, number, version, None, data, f"unknown type {number}")
    try:
        message, end = message_class.read_from(data, start, **arguments)
    except FormatError as error:
        return Decoded(message_class.__name__, number, version, None, data, str(error))
    if (arguments or whole) and end != len(data):
        return Decoded(
            message_class.__name__, number, version, None, data, f"{len(data) - end} bytes are left over"
        )
    return Decoded(message_class.__name__, number, version, message, data)
