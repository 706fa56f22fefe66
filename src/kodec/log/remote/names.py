"""The names of segments in remote storage (KIP-405): by Kafka's own local tier, and by Aiven's plugin.

Followed: `org.apache.kafka.server.log.remote.storage.RemoteLogSegmentFileset`, with folders
`<topic>-<partition>-<topic id>` of files `<first offset>-<segment id>.log`; and
`io.aiven.kafka.tieredstorage.ObjectKeyFactory`, with `<topic>-<topic id>/<partition>` of such files, each
with its indexes in one object, `.indexes`, and a manifest, `.rsm-manifest`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kodec.log.files.listing import TopicPartition, parse_partition_dir
from kodec.log.files.names import INDEXES, OFFSET
from kodec.stores.storage import Entry, Status, entries, entry_path

__all__ = [
    "REMOTE_TOPIC",
    "TieredFolder",
    "TieredSegment",
    "holds_metadata",
    "list_objects",
    "tiered_folder",
    "tiered_folders",
]

REMOTE_TOPIC = "__remote_log_metadata"
"""The topic in which brokers keep which segments are in remote storage."""

_ID = r"[A-Za-z0-9_-]{22}"
_WITH_ID = re.compile(rf"(.+)-({_ID})")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_FILE = re.compile(
    rf"(({OFFSET})-({_ID}))\.(log|{'|'.join(INDEXES)}|snapshot|leader_epoch_checkpoint|indexes|rsm-manifest)"
)
_MAX_INT64 = 2**63 - 1


class TieredFolder(NamedTuple):
    """The folder that holds the remote segments of a topic-partition.

    Attributes:
        manifests: whether each segment has one, without which its upload is incomplete.
        topic_id: of the topic.
    """

    topic_partition: TopicPartition
    path: Path
    manifests: bool
    topic_id: str = ""


def tiered_folders(path: Path) -> list[TieredFolder]:
    """The folders of topic-partitions in remote storage, by topic and partition; [] if there are none.

    The path is that of the storage's root, a topic's folder, or a topic-partition's. Raises OSError.
    """
    folders = _at(path)
    for folder in [] if folders else _folders(path):
        folders += _at(folder)
    return sorted(folders)


def tiered_folder(path: Path) -> TieredFolder | None:
    """The folder as that of one topic-partition in remote storage; None if it is not one. Raises OSError."""
    return next((folder for folder in _at(path) if folder.path == path), None)


def _at(folder: Path) -> list[TieredFolder]:
    """The kind of a folder, from its name and contents."""
    name = _WITH_ID.fullmatch(folder.name)
    if name is not None:
        owner = parse_partition_dir(name[1])
        if owner is not None and _has_segments(folder):
            return [TieredFolder(owner, folder, False, name[2])]
        return [
            TieredFolder(owner, subfolder, True, name[2])
            for subfolder in _folders(folder)
            if (owner := _of_topic(name[1], subfolder.name)) is not None and _has_segments(subfolder)
        ]
    around = _WITH_ID.fullmatch(folder.parent.name)
    owner = None if around is None else _of_topic(around[1], folder.name)
    if around is None or owner is None or not _has_segments(folder):
        return []
    return [TieredFolder(owner, folder, True, around[2])]


def _of_topic(topic: str, number: str) -> TopicPartition | None:
    return parse_partition_dir(f"{topic}-{number}") if _NUMBER.fullmatch(number) else None


def _folders(path: Path) -> list[Path]:
    with entries(path) as listing:
        return sorted(entry_path(entry, path) for entry in listing if _is_folder(entry))


def _is_folder(entry: Entry) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        # a loop of links leads to no folder
        return False


def _has_segments(folder: Path) -> bool:
    with entries(folder) as listing:
        return any(_FILE.fullmatch(entry.name) is not None for entry in listing)


class TieredSegment(NamedTuple):
    """The objects of a segment.

    Attributes: `segment_id` is that of the copy; `log` and `status` are those of its log, as it is stored;
    `objects` has the others, by the ends of their names.
    """

    base_offset: int
    segment_id: str
    log: Path
    status: Status
    objects: Mapping[str, Path]


def list_objects(folder: TieredFolder, unfinished: list[Path] | None = None) -> list[TieredSegment]:
    """The segments of a topic-partition, by ascending base offset; all copies, also of the same segment.

    Logs that lack their manifest are added to `unfinished`. Raises OSError.
    """
    logs: dict[str, tuple[int, str, Path, Status]] = {}
    beside: dict[str, dict[str, Path]] = {}
    with entries(folder.path) as listing:
        for entry in listing:
            match = _FILE.fullmatch(entry.name)
            if match is None or int(match[2]) > _MAX_INT64 or not entry.is_file():
                continue
            name, base_offset, segment_id, kind = match.groups()
            path = entry_path(entry)
            if kind == "log":
                status = entry.stat()
                logs[name] = int(base_offset), segment_id, path, Status(status.st_size, status.st_mtime_ns)
            else:
                beside.setdefault(name, {})[kind] = path
    segments = [TieredSegment(*log, beside.get(name, {})) for name, log in logs.items()]
    segments.sort(key=lambda segment: (segment.base_offset, segment.status.size, segment.log))
    if not folder.manifests:
        return segments
    if unfinished is not None:
        unfinished += [segment.log for segment in segments if "rsm-manifest" not in segment.objects]
    return [segment for segment in segments if "rsm-manifest" in segment.objects]


def holds_metadata(path: Path) -> bool:
    """Whether a folder is a log directory with a partition of `__remote_log_metadata`."""
    try:
        with entries(path) as listing:
            owners = [parse_partition_dir(entry.name) for entry in listing]
    except OSError:
        return False
    return any(owner is not None and owner.topic == REMOTE_TOPIC for owner in owners)
