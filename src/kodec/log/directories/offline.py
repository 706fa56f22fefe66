"""Checks before a log is changed offline: is it whole, and up to which offset is it decided."""

from __future__ import annotations

from kodec.log.directories.directory import LogRoot
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState, read_snapshot
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import LeftoverKind, ReplicaKind
from kodec.runtime.errors import FormatError, Malformed

__all__ = [
    "high_watermark",
    "modified",
    "newest_snapshot",
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


def newest_snapshot(log: PartitionLog) -> tuple[int, ProducerState]:
    """The newest readable producer snapshot: its offset and contents; 0 and nothing if there is none.

    Like a starting broker, callers continue with the batches after it. Raises OSError.
    """
    for offset, path in reversed(log.files.snapshots):
        if offset <= log.end_offset:
            try:
                return offset, ProducerState(read_snapshot(path))
            except (FileNotFoundError, FormatError):
                continue
    return 0, ProducerState()


def require_in_order(log: PartitionLog) -> None:
    """Refuse a replica that is not live, and one with files of an interrupted replacement.

    Also one with something else in the place of a file. Raises ValueError.
    """
    require_files(log)
    require_live(log)
    unfinished = [each.path.name for each in log.leftovers if each.kind is not LeftoverKind.DELETED]
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

    Raises Malformed.
    """
    tail = segment.torn_tail
    if tail is not None:
        error = Malformed("", f"torn tail, recover it first: {tail.reason}", at=tail.position)
        raise error.in_source(str(segment.path))


def modified(segment: Segment) -> int:
    """When the log was last written, in ms since epoch. Raises OSError."""
    return segment.path.stat().st_mtime_ns // 1_000_000


def newest_time(segment: Segment) -> int:
    """The largest timestamp in a segment, in ms since epoch; if no record has one, the time it was written.

    Raises OSError, FormatError. Source: org.apache.kafka.storage.internals.log.LogSegment.largestTimestamp.
    """
    found = segment.largest_timestamp()
    segment.close()
    return modified(segment) if found is None else found[0]
