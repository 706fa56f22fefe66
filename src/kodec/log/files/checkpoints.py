"""The small text files of a log directory: checkpoints, leader epochs, ids, the clean-shutdown marker.

Each is read strictly, and written so that a crash leaves the old file or the new one.

Followed: `org.apache.kafka.server.common.CheckpointFile`, `PartitionMetadataFile`, `MetaProperties`,
`CleanShutdownFileHandler`, `org.apache.kafka.raft.FileQuorumStateStore`.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kodec.log.files.descriptors import read_regular
from kodec.log.files.durable import replace_file
from kodec.log.files.listing import TopicPartition
from kodec.runtime.errors import EncodeError, LimitExceeded, Malformed

if TYPE_CHECKING:
    from uuid import UUID

__all__ = [
    "CleanShutdown",
    "LeaderEpoch",
    "MetaProperties",
    "PartitionMetadata",
    "QuorumState",
    "known_offsets",
    "leader_epochs_bytes",
    "offset_ranges_bytes",
    "offsets_bytes",
    "read_clean_shutdown",
    "read_leader_epochs",
    "read_meta_properties",
    "read_offset_ranges",
    "read_offsets",
    "read_partition_metadata",
    "read_quorum_state",
    "write_clean_shutdown",
    "write_leader_epochs",
    "write_meta_properties",
    "write_offsets",
    "write_partition_metadata",
]

# A line for each of a million partitions takes 64 MiB.
MOST_BYTES = 64 << 20
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_UUID_TEXT = re.compile(r"[A-Za-z0-9_-]{22}")


class LeaderEpoch(NamedTuple):
    """The leader of `epoch` wrote the offsets from `start_offset` on."""

    epoch: int
    start_offset: int


class PartitionMetadata(NamedTuple):
    """The contents of `partition.metadata`: the version of the file, and the topic's id."""

    version: int
    topic_id: UUID


class MetaProperties(NamedTuple):
    """The contents of `meta.properties`.

    Attributes: `version` 0 (ZooKeeper) or 1 (KRaft); `cluster_id`, `node_id` (`broker.id` in version 0) and
    `directory_id` are None if absent; `properties` are all of them as text.
    """

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    properties: Mapping[str, str]


class CleanShutdown(NamedTuple):
    """The clean-shutdown marker of a broker; its epoch is -1 if it was not written (before 3.7)."""

    broker_epoch: int


class QuorumState(NamedTuple):
    """The contents of `quorum-state`: the last election in which a node of a KRaft quorum took part.

    Attributes: `leader_id` is None if no leader was known; `properties` are all fields with JSON types.
    """

    version: int
    leader_id: int | None
    leader_epoch: int
    properties: Mapping[str, object]


class _Line(NamedTuple):
    number: int
    at: int
    text: str


class _Text:
    """The lines of a file, and errors that name file, line and byte."""

    def __init__(self, path: str | os.PathLike[str], data: bytes | None = None) -> None:
        self.source = str(path)
        data = read_regular(path, MOST_BYTES + 1) if data is None else data
        if len(data) > MOST_BYTES:
            error = LimitExceeded(
                "", "text file too large", at=0, need="more", have=MOST_BYTES, limit="64 MiB of text"
            )
            raise error.in_source(self.source)
        self.size = len(data)
        self.lines: list[_Line] = []
        position = 0
        for number, raw in enumerate(data.split(b"\n"), 1):
            try:
                self.lines.append(_Line(number, position, raw.decode("utf-8").removesuffix("\r")))
            except UnicodeDecodeError as error:
                line = _Line(number, position + error.start, "")
                raise self.wrong(line, "not UTF-8", "UTF-8", raw[error.start : error.end]) from None
            position += len(raw) + 1
        if self.lines[-1].text == "":
            self.lines.pop()

    def wrong(self, line: _Line, reason: str, need: object, have: object) -> Malformed:
        error = Malformed(f"line {line.number}", reason, at=line.at, need=need, have=repr(have)[:80])
        return error.in_source(self.source)

    def missing(self, need: str) -> Malformed:
        last = self.lines[-1].number if self.lines else 0
        return self.wrong(_Line(last + 1, self.size, ""), "the file ends", need, "")

    def number(self, line: _Line, text: str, name: str, least: int, bits: int) -> int:
        most = 2 ** (bits - 1) - 1
        if _NUMBER.fullmatch(text) is None or not least <= int(text) <= most:
            raise self.wrong(line, name, f"a number from {least} to {most}", text)
        return int(text)


def _checkpoint(
    path: str | os.PathLike[str], fields: int, data: bytes | None = None
) -> tuple[_Text, list[tuple[_Line, list[str]]]]:
    """The entries of a checkpoint file: version, count, then that many lines of `fields` words."""
    text = _Text(path, data)
    if not text.lines:
        return text, []
    version, *lines = text.lines
    if version.text.strip() != "0":
        raise text.wrong(version, "version", "0", version.text)
    if not lines:
        raise text.missing("the number of entries")
    stated = text.number(lines[0], lines[0].text.strip(), "number of entries", 0, 32)
    entries = [(line, line.text.split()) for line in lines[1:]]
    for line, words in entries[:stated]:
        if len(words) != fields:
            raise text.wrong(line, "fields", fields, line.text)
    if len(entries) < stated:
        raise text.missing(f"{stated} entries")
    if len(entries) > stated:
        raise text.wrong(entries[stated][0], "a line too many", f"{stated} entries", entries[stated][0].text)
    return text, entries


def read_offsets(path: str | os.PathLike[str], data: bytes | None = None) -> dict[TopicPartition, int]:
    """Read a checkpoint of a log directory, or its bytes `data`: an offset for each topic-partition.

    An empty file has no entries. Raises: OSError; Malformed, whose path is the line, for anything not
    in the format, and for a topic-partition that occurs twice.
    """
    text, entries = _checkpoint(path, 3, data)
    offsets: dict[TopicPartition, int] = {}
    for line, (topic, partition, offset) in entries:
        key = TopicPartition(topic, text.number(line, partition, "partition", 0, 32))
        if key in offsets:
            raise text.wrong(line, "twice the same topic-partition", "one line for each", str(key))
        offsets[key] = text.number(line, offset, "offset", 0, 64)
    return offsets


def known_offsets(path: Path) -> Mapping[TopicPartition, int]:
    """As `read_offsets`; the file, with a line for each log, is not read again while it has not changed."""
    status = path.stat()
    return _offsets_of(path, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=16)
def _offsets_of(path: Path, _: tuple[int, int, int]) -> Mapping[TopicPartition, int]:
    return MappingProxyType(read_offsets(path))


def read_leader_epochs(path: str | os.PathLike[str], data: bytes | None = None) -> list[LeaderEpoch]:
    """Read a `leader-epoch-checkpoint`, or `data` from one.

    Raises: OSError; Malformed, also if epochs or offsets descend.
    """
    text, entries = _checkpoint(path, 2, data)
    epochs: list[LeaderEpoch] = []
    for line, (epoch, offset) in entries:
        item = LeaderEpoch(
            text.number(line, epoch, "epoch", 0, 32), text.number(line, offset, "start offset", 0, 64)
        )
        if epochs and item.epoch <= epochs[-1].epoch:
            raise text.wrong(line, "epochs ascend", f"more than {epochs[-1].epoch}", item.epoch)
        if epochs and item.start_offset < epochs[-1].start_offset:
            raise text.wrong(
                line, "start offsets do not descend", f"at least {epochs[-1].start_offset}", item.start_offset
            )
        epochs.append(item)
    return epochs


def read_offset_ranges(path: str | os.PathLike[str]) -> list[tuple[int, int]]:
    """Read a checkpoint of ours: the first and the last offset of ranges. Raises: OSError; Malformed."""
    text, entries = _checkpoint(path, 2)
    return [
        (text.number(line, first, "first offset", 0, 64), text.number(line, last, "last offset", 0, 64))
        for line, (first, last) in entries
    ]


def _uuid(text: _Text, line: _Line, value: str) -> UUID:
    if _UUID_TEXT.fullmatch(value) is None:
        raise text.wrong(line, "id", "22 characters of URL-safe base64", value)
    from uuid import UUID

    return UUID(bytes=base64.urlsafe_b64decode(value + "=="))


def read_partition_metadata(path: str | os.PathLike[str]) -> PartitionMetadata:
    """Read `partition.metadata`. Raises: OSError; Malformed, also for the id that means none."""
    text = _Text(path)
    values: list[tuple[_Line, str]] = []
    for name, line in zip(("version", "topic_id"), text.lines, strict=False):
        key, colon, value = line.text.partition(":")
        if key != name or not colon or not value.strip():
            raise text.wrong(line, "field", f"{name}: and a value", line.text)
        values.append((line, value.strip()))
    if len(values) < 2:
        raise text.missing("version and topic_id")
    version = text.number(*values[0], "version", 0, 32)
    topic_id = _uuid(text, *values[1])
    if topic_id.int == 0:
        raise text.wrong(values[1][0], "topic_id", "an id", "the id that means none")
    return PartitionMetadata(version, topic_id)


_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)")


def _unescape(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(plain, text)


def read_meta_properties(path: str | os.PathLike[str]) -> MetaProperties:
    """Read `meta.properties`: Java properties with one `key=value` on a line, as Kafka writes them.

    Raises: OSError; Malformed for another line, a repeated key, an unknown version, and a missing field
    that the version needs.
    """
    text = _Text(path)
    values: dict[str, str] = {}
    lines: dict[str, _Line] = {}
    for line in text.lines:
        if not line.text.strip() or line.text.lstrip()[0] in "#!":
            continue
        key, equals, value = line.text.partition("=")
        key, value = _unescape(key.strip()), _unescape(value.lstrip())
        if not equals or not key:
            raise text.wrong(line, "property", "key=value", line.text)
        if key in values:
            raise text.wrong(line, "twice the same property", "one line for each", key)
        values[key], lines[key] = value, line
    version = text.number(lines["version"], values["version"], "version", 0, 32) if "version" in values else 0
    if version > 1:
        raise text.wrong(lines["version"], "version", "0 or 1", version)
    id_name = "node.id" if version else "broker.id"
    for name in ("node.id", "cluster.id"):
        if version and name not in values:
            raise text.missing(name)
    node = text.number(lines[id_name], values[id_name], id_name, -1, 32) if id_name in values else None
    return MetaProperties(
        version, values.get("cluster.id"), node, values.get("directory.id"), MappingProxyType(values)
    )


def read_clean_shutdown(path: str | os.PathLike[str]) -> CleanShutdown:
    """Read `.kafka_cleanshutdown`: empty before 3.7, since then JSON. Raises: OSError, Malformed."""
    if not _Text(path).lines:
        return CleanShutdown(-1)
    text, fields = _json(path)
    if fields.get("version") != 0:
        raise text.wrong(text.lines[0], "version", 0, fields.get("version"))
    epoch = fields.get("brokerEpoch", -1)
    if type(epoch) is not int:
        raise text.wrong(text.lines[0], "brokerEpoch", "a number", epoch)
    return CleanShutdown(epoch)


def read_quorum_state(path: str | os.PathLike[str]) -> QuorumState:
    """Read the `quorum-state` of the metadata log, JSON of version 0 or 1. Raises: OSError, Malformed."""
    text, fields = _json(path)
    for name in ("data_version", "leaderId", "leaderEpoch"):
        if type(fields.get(name)) is not int:
            raise text.wrong(text.lines[0], name, "a number", fields.get(name))
    version, leader, epoch = fields["data_version"], fields["leaderId"], fields["leaderEpoch"]
    if version not in (0, 1):
        raise text.wrong(text.lines[0], "data_version", "0 or 1", version)
    return QuorumState(version, None if leader < 0 else leader, epoch, MappingProxyType(fields))


def _json(path: str | os.PathLike[str]) -> tuple[_Text, dict[str, Any]]:
    """A file that holds one JSON object."""
    text = _Text(path)
    if not text.lines:
        raise text.missing("a JSON object")
    whole = "\n".join(line.text for line in text.lines)
    try:
        fields = json.loads(whole)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise text.wrong(text.lines[0], "content", "a JSON object", whole)
    return text, fields


def _checkpoint_bytes(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in ("0", str(len(lines)), *lines)).encode()


def write_offsets(path: str | os.PathLike[str], offsets: Mapping[TopicPartition, int]) -> None:
    """Write a checkpoint of a log directory. Raises OSError."""
    replace_file(path, offsets_bytes(offsets))


def offsets_bytes(offsets: Mapping[TopicPartition, int]) -> bytes:
    """A checkpoint of a log directory."""
    return _checkpoint_bytes(
        [f"{key.topic} {key.partition} {offset}" for key, offset in sorted(offsets.items())]
    )


def leader_epochs_bytes(epochs: Iterable[LeaderEpoch]) -> bytes:
    """The contents of a `leader-epoch-checkpoint`."""
    return _checkpoint_bytes([f"{epoch.epoch} {epoch.start_offset}" for epoch in epochs])


def offset_ranges_bytes(ranges: Iterable[tuple[int, int]]) -> bytes:
    """The format of `read_offset_ranges`."""
    return _checkpoint_bytes([f"{first} {last}" for first, last in ranges])


def write_leader_epochs(path: str | os.PathLike[str], epochs: Iterable[LeaderEpoch]) -> None:
    """Write a `leader-epoch-checkpoint`. Raises OSError."""
    replace_file(path, leader_epochs_bytes(epochs))


def write_partition_metadata(path: str | os.PathLike[str], topic_id: UUID) -> None:
    """Write `partition.metadata`. Raises OSError; EncodeError for the id that means none."""
    if topic_id.int == 0:
        raise EncodeError("topic_id", "the id that means none", have=str(topic_id))
    text = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    replace_file(path, f"version: 0\ntopic_id: {text}".encode())


_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")


def write_meta_properties(
    path: str | os.PathLike[str], *, cluster_id: str, node_id: int, directory_id: str | None = None
) -> None:
    """Write a `meta.properties` of version 1 (KRaft). Raises OSError; EncodeError for an odd id."""
    properties = {"node.id": str(node_id), "version": "1", "cluster.id": cluster_id}
    if directory_id is not None:
        properties["directory.id"] = directory_id
    lines = ["#", f"#{datetime.now(UTC):%a %b %d %H:%M:%S UTC %Y}"]
    for key, value in properties.items():
        if _PLAIN.fullmatch(value) is None:
            raise EncodeError(key, "an id", need="letters, digits and _.-", have=value)
        lines.append(f"{key}={value}")
    replace_file(path, "".join(f"{line}\n" for line in lines).encode())


def write_clean_shutdown(path: str | os.PathLike[str], broker_epoch: int = -1) -> None:
    """Write `.kafka_cleanshutdown` as brokers do since 3.7; an epoch of -1 is unknown. Raises OSError."""
    replace_file(
        path, json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()
    )
