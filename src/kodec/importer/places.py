"""The folder of a Kafka message and the fields before it, which its definition does not contain."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kodec.importer.definitions import MessageDef

__all__ = ["PROTOCOL", "Place", "place_of"]

PROTOCOL = "protocol"
"""The folder of requests, responses and their headers."""

# where the version or the number is read from, by the fields before it
_VERSIONED = "version"  # an int16: the version (coordinator values, consumer protocol, principals)
_NUMBERED = "number"  # an int16: the record's type (coordinator keys)
_OWN = "own"  # the message's first field is its version (KRaft's control records)
_GIVEN = "given"  # nothing: a header or a frame elsewhere says it

_OWN_VERSION = ("LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord", "KRaftVersionRecord",
                "VotersRecord")  # fmt: skip
_ELSEWHERE = {
    "ControlRecordTypeSchema": "control/control_record_key.ksy says it, with its frame",
    "EndTxnMarker": "control/end_txn_marker.ksy says it, with its frame",
    "ProducerSnapshot": "log/producer_snapshot.ksy says it, with its frame",
    "AbortedTxn": "log/transaction_index.ksy says it, with its frame",
    "QuorumStateData": "it is stored as JSON, not in bytes",
}
_TOPICS = {
    "kafka-group-coordinator": "__consumer_offsets",
    "kafka-transaction-coordinator": "__transaction_state",
    "kafka-share-coordinator": "__share_group_state",
    "kafka-metadata": "__cluster_metadata",
    "kafka-storage": "__remote_log_metadata",
}
_FOLDERS = {"kafka-metadata": "metadata", "kafka-storage": "remote_log"}
_WHAT = {
    "coordinator-key": "key in {topic}",
    "coordinator-value": "value in {topic}",
    "metadata": "record in {topic}",
    "request": "request",
    "response": "response",
    "header": "header of the protocol",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Of one message.

    Attributes:
        folder: of the schemas; empty for a message that is not imported.
        frame: the part before its fields: `version`, `number`, `own` or `given`.
        topic: the topic of such records; empty for others.
        what: a description, as a phrase.
        reason: why it is not imported.
        link: its definition, on the web; empty if the jar does not name its release.
    """

    folder: str
    frame: str = _GIVEN
    topic: str = ""
    what: str = ""
    reason: str = ""
    link: str = ""


def place_of(message: MessageDef) -> Place:
    """Where a message goes, by its kind, its jar and, for a few exceptions, its name."""
    if message.name in _ELSEWHERE:
        return Place("", reason=_ELSEWHERE[message.name])
    topic = _TOPICS.get(message.artifact, "")
    what = _WHAT.get(message.kind, "data").format(topic=topic or "a topic")
    link = _link(message)
    match message.kind:
        case "coordinator-key":
            return Place("messages", _NUMBERED, topic, what, link=link)
        case "coordinator-value":
            return Place("messages", _VERSIONED, topic, what, link=link)
        case "metadata":
            return Place(_FOLDERS.get(message.artifact, "metadata"), _GIVEN, topic, what, link=link)
        case "request" | "response" | "header":
            return Place(PROTOCOL, _GIVEN, "", what, link=link)
        case "data" if message.name in _OWN_VERSION:
            return Place("control", _OWN, "", "value of a control record", link=link)
        case "data":
            return Place("messages", _VERSIONED, "", what, link=link)
    return Place("", reason=f"`{message.kind}` is an unknown kind of message")


def _link(message: MessageDef) -> str:
    if not message.release or not re.match(r"[0-9][0-9.]*\Z", message.release):
        return ""
    module = message.artifact.removeprefix("kafka-")
    return (
        f"https://github.com/apache/kafka/blob/{message.release}/{module}/src/main/resources/"
        f"{message.entry} {message.name}"
    )
