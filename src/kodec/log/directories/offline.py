"""Checks before a log is changed offline: is it whole, and up to which offset is it decided."""

from __future__ import annotations

from kodec.log.directories.directory import LogRoot
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import LeftoverKind, ReplicaKind, list_partition
from kodec.runtime.errors import Malformed

__all__ = [
    "high_watermark",
    "modified",
    "newest_time",
    "require_files",
    "require_in_order",
    "require_live",
    "require_whole",
]


def high_watermark(log: PartitionLog) -> int | None:
    """The high watermark in the log directory's `replication-offset-checkpoint`; None if it has none.

    Offsets above it may be truncated if another replica becomes the leader. Raises OSError, Malformed.
    """
    return LogRoot(log.root).high_watermarks().get(log.topic_partition)


def require_in_order(log: PartitionLog) -> None:
    """Refuse a replica that is not live, and one with files of an interrupted replacement.

    Also one with something else in the place of a file. Raises ValueError.
    """
    require_files(log)
    require_live(log)
    unfinished = [
        leftover.path.name for leftover in log.leftovers if leftover.kind is not LeftoverKind.DELETED
    ]
    if unfinished:
        raise ValueError(f"{log.path}: recover it first: {unfinished[0]} is of something interrupted")


def require_files(log: PartitionLog) -> None:
    """Refuse a folder with something else in the place of a file: it would be ignored.

    Raises ValueError.
    """
    for path in log.files.irregular:
        raise ValueError(f"{path} is not a regular file: remove it first")


def require_live(log: PartitionLog) -> None:
    """Refuse a replica that is not live. Raises ValueError."""
    if log.kind is not ReplicaKind.LIVE:
        raise ValueError(f"{log.path}: a {log.kind.value} replica is not changed")


def require_whole(segment: Segment) -> None:
    """Refuse a segment with a torn tail: its bytes would be lost.

    Raises Malformed, whose text recommends no recovery where that would cut off good batches: a wrong length
    looks like a torn tail, and behind a closed segment are others.
    """
    tail = segment.torn_tail
    if tail is None:
        return
    path = segment.path
    advice = "torn tail, recover it first"
    if any(other.base_offset > segment.base_offset for other in list_partition(path.parent).segments):
        advice = "damaged: `kodec salvage` keeps what follows, and a recovery would cut it off"
    raise Malformed("", f"{advice}: {tail.reason}", at=tail.position).in_source(str(path))


def modified(segment: Segment) -> int:
    """When the log was last written, in ms since epoch. Raises OSError."""
    return segment.path.stat().st_mtime_ns // 1_000_000


def newest_time(segment: Segment) -> int:
    """The largest timestamp in a segment, in ms since epoch; if no record has one, the time it was written.

    Raises OSError, FormatError. Source: org.apache.kafka.storage.internals.log.LogSegment.largestTimestamp.
    """
    newest = segment.largest_timestamp()
    segment.close()
    return modified(segment) if newest is None else newest[0]
