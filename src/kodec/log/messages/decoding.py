"""Finds the message in a record of one of Kafka's own topics, by topic, key and version.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde, MetadataRecordSerde and
RemoteLogMetadataSerde (AbstractApiMessageSerde); of control records
org.apache.kafka.common.record.ControlRecordType.
"""

from __future__ import annotations

import base64
import importlib
import json
import struct
from functools import cache
from typing import Any, cast

from kodec.generated.control.control_record_key import ControlRecordKey
from kodec.generated.control.end_txn_marker import EndTxnMarker
from kodec.generated.index import MESSAGES
from kodec.log.batches.records import ControlRecord, ControlRecordType, Record
from kodec.log.messages.as_json import plain
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError
from kodec.runtime.varint import read_uvarint32, write_uvarint32

__all__ = ["TOPICS", "Decoded", "decode", "decode_control", "decode_record", "framed"]

_COORDINATORS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_FRAMED = ("__cluster_metadata", "__remote_log_metadata")
TOPICS = (*_COORDINATORS, *_FRAMED)
"""The topics with supported records."""
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
        found = plain(self.message, self.version or 0)
        members = found.get("members", ()) if self.name == "GroupMetadataValue" else ()
        if members and found["protocolType"] == "consumer":
            for member, shown in zip(cast(Any, self.message).members, members, strict=True):
                shown |= _of_consumer(member)
        return found

    def document(self) -> dict[str, Any]:
        """All of it as JSON types: `name`, `type`, `version`, and `data`, or without a message the
        `reason` and the `bytes`, in base64.
        """
        found: dict[str, Any] = {"name": self.name, "type": self.number, "version": self.version}
        data = self.plain()
        if data is not None:
            return found | {"data": data}
        return found | {"reason": self.reason, "bytes": base64.b64encode(self.data).decode("ascii")}

    def text(self) -> str:
        """`document` as JSON, in UTF-8."""
        return json.dumps(self.document(), ensure_ascii=False, allow_nan=False)


def _of_consumer(member: Any) -> dict[str, Any]:
    """A member's subscription and assignment, each if readable."""
    # imported late: few records have them
    from kodec.generated.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
    from kodec.generated.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

    found: dict[str, Any] = {}
    kinds: tuple[tuple[str, Any], ...] = (
        ("subscription", ConsumerProtocolSubscription),
        ("assignment", ConsumerProtocolAssignment),
    )
    for name, kind in kinds:
        try:
            found[name] = plain(kind.from_bytes(getattr(member, name), exact=False))
        except FormatError:
            continue
    return found


@cache
def _class_of(topic: str, kind: str, number: int) -> Any:
    found = MESSAGES.get((topic, kind, number))
    if found is None:
        return None
    return getattr(importlib.import_module(f"kodec.generated.{found[0]}"), found[1])


def decode_record(
    topic: str, key: bytes | None, value: bytes | None
) -> tuple[Decoded | None, Decoded | None]:
    """The message in a record's key, and that in its value; None if there are not bytes.

    Unknown or undecodable contents are returned with their bytes and the reason; no error is raised for what
    a record holds. Bytes after the message are ignored in topics of coordinators, as by Kafka.
    """
    if topic in _COORDINATORS:
        return _coordinator(topic, key, value)
    if topic in _FRAMED:
        plain_key = None if key is None else Decoded(None, None, None, None, key, "the topic has no keys")
        return plain_key, None if value is None else _framed(topic, value)
    reason = f"`{topic}` is not a topic of Kafka's own"
    unknown = (
        None if each is None else Decoded(None, None, None, None, each, reason) for each in (key, value)
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
            None if each is None else Decoded(None, number, None, None, each, reason) for each in (key, value)
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
    return decode_record(topic, record.key, record.value) if topic in TOPICS else (None, None)


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
        frame, at = read_uvarint32(value, 0, len(value), "frame_version")
        if frame != _FRAME_VERSION:
            return Decoded(None, None, None, None, value, f"frame version {frame}")
        number, at = read_uvarint32(value, at, len(value), "number")
        version, at = read_uvarint32(value, at, len(value), "version")
    except FormatError as error:
        return Decoded(None, number, version, None, value, str(error))
    return _decoded(topic, "metadata", number, version, value, {"version": version}, at)


def _decoded(
    topic: str,
    kind: str,
    number: int,
    version: int | None,
    data: bytes,
    given: dict[str, int],
    at: int = 0,
) -> Decoded:
    if len(data) > MOST_BYTES:
        return Decoded(None, number, version, None, data, f"more than {MOST_BYTES >> 20} MiB")
    found = _class_of(topic, kind, number)
    if found is None:
        return Decoded(None, number, version, None, data, f"unknown type {number}")
    try:
        message, end = found.read_from(data, at, **given)
    except FormatError as error:
        return Decoded(found.__name__, number, version, None, data, str(error))
    if given and end != len(data):
        return Decoded(found.__name__, number, version, None, data, f"{len(data) - end} bytes are left over")
    return Decoded(found.__name__, number, version, message, data)
