"""The names of segments in remote storage (KIP-405): by Kafka's own local tier, and by Aiven's plugin.

Followed: `org.apache.kafka.server.log.remote.storage.RemoteLogSegmentFileset`, with folders
`<topic>-<partition>-<topic id>` of files `<first offset>-<segment id>.log`; and
`io.aiven.kafka.tieredstorage.ObjectKeyFactory`, with `<topic>-<topic id>/<partition>` of such files, each
with a manifest, `.rsm-manifest`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from kodec.log.files.listing import SegmentFiles, TopicPartition, parse_partition_dir
from kodec.log.files.names import INDEXES, OFFSET
from kodec.log.files.storage import entries, path_of
from kodec.runtime.errors import Malformed, Unsupported

__all__ = ["TieredFolder", "list_tiered", "tiered_folder", "tiered_folders"]

_ID = r"[A-Za-z0-9_-]{22}"
_WITH_ID = re.compile(rf"(.+)-{_ID}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_FILE = re.compile(rf"(({OFFSET})-{_ID})\.(log|{'|'.join(INDEXES)}|rsm-manifest)")
_MOST_OF_A_MANIFEST = 16 << 20
_MAX_INT64 = 2**63 - 1


class TieredFolder(NamedTuple):
    """The folder that holds the remote segments of a topic-partition.

    Attributes: manifests: whether each segment has one, without which its upload is incomplete.
    """

    topic_partition: TopicPartition
    path: Path
    manifests: bool


def tiered_folders(path: Path) -> list[TieredFolder]:
    """The folders of topic-partitions in remote storage, by topic and partition; [] if there are none.

    The path is that of the storage's root, a topic's folder, or a topic-partition's. Raises OSError.
    """
    found = _at(path)
    for folder in [] if found else _folders(path):
        found += _at(folder)
    return sorted(found)


def tiered_folder(path: Path) -> TieredFolder | None:
    """The folder as that of one topic-partition in remote storage; None if it is not one. Raises OSError."""
    return next((each for each in _at(path) if each.path == path), None)


def _at(folder: Path) -> list[TieredFolder]:
    """The kind of a folder, from its name and contents."""
    name = _WITH_ID.fullmatch(folder.name)
    if name is not None:
        owner = parse_partition_dir(name[1])
        if owner is not None and _has_segments(folder):
            return [TieredFolder(owner, folder, False)]
        return [
            TieredFolder(owner, each, True)
            for each in _folders(folder)
            if (owner := _of_topic(name[1], each.name)) is not None and _has_segments(each)
        ]
    around = _WITH_ID.fullmatch(folder.parent.name)
    owner = None if around is None else _of_topic(around[1], folder.name)
    return [] if owner is None or not _has_segments(folder) else [TieredFolder(owner, folder, True)]


def _of_topic(topic: str, number: str) -> TopicPartition | None:
    return parse_partition_dir(f"{topic}-{number}") if _NUMBER.fullmatch(number) else None


def _folders(path: Path) -> list[Path]:
    with entries(path) as found:
        return sorted(path_of(entry.path) for entry in found if entry.is_dir())


def _has_segments(folder: Path) -> bool:
    with entries(folder) as found:
        return any(_FILE.fullmatch(entry.name) is not None for entry in found)


def list_tiered(folder: TieredFolder) -> list[SegmentFiles]:
    """The segments of a topic-partition, by ascending base offset; of those with the same, the largest.

    Raises OSError; Unsupported for a segment that the plugin has compressed or encrypted, Malformed for a
    unreadable manifest.
    """
    logs: dict[str, SegmentFiles] = {}
    beside: list[tuple[str, str, Path]] = []
    with entries(folder.path) as there:
        for entry in there:
            match = _FILE.fullmatch(entry.name)
            if match is None or int(match[2]) > _MAX_INT64 or not entry.is_file():
                continue
            if match[3] == "log":
                logs[match[1]] = SegmentFiles(int(match[2]), path_of(entry.path), entry.stat().st_size)
            else:
                beside.append((match[1], match[3], path_of(entry.path)))
    whole = set()
    for name, kind, path in sorted(beside):
        if name in logs and kind == "rsm-manifest":
            _require_plain(path)
            whole.add(name)
        elif name in logs:
            setattr(logs[name], kind, path)
    found: dict[int, SegmentFiles] = {}
    for name, files in logs.items():
        if folder.manifests and name not in whole:
            continue
        other = found.get(files.base_offset)
        if other is None or (other.size, other.log) < (files.size, files.log):
            found[files.base_offset] = files
    return [found[offset] for offset in sorted(found)]


def _require_plain(manifest: Path) -> None:
    """Refuse a segment whose bytes are not those of the log."""
    with manifest.open("rb") as file:
        data = file.read(_MOST_OF_A_MANIFEST)
    try:
        says = json.loads(data)
        compressed, encrypted = says["compression"], says.get("encryption")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        error = Malformed(
            "manifest", "not a manifest of a remote segment", at=0, need="JSON with compression"
        )
        raise error.in_source(str(manifest)) from None
    for name, value in (("compression", compressed), ("encryption", encrypted)):
        if value not in (False, None):
            refused = Unsupported(
                name,
                "the tiered-storage plugin has transformed the segment in chunks, which kodec does not read",
                at=0,
                need="a segment stored as it is",
                have=name,
            )
            raise refused.in_source(str(manifest))
