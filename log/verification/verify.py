"""Checks logs against themselves: checksums, offsets, indexes, producer snapshots; reads only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.directories.directory import LogDirectory, LogRoot
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import LeftoverKind
from kodec.log.files.lock import is_locked
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import SegmentPath, resolve
from kodec.log.verification.problems import Problem, from_error, unreadable
from kodec.log.verification.producers import Producers
from kodec.log.verification.segments import SegmentCheck
from kodec.runtime.errors import FormatError

__all__ = ["Problem", "verify", "verify_partition", "verify_root", "verify_segment"]


def verify(
    path: str | os.PathLike[str],
    *,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> Iterator[Problem]:
    """Check a log directory, a topic-partition's folder, or a segment with the indexes beside it; reads only.

    Yields a `Problem` for each thing that is wrong, and notes (`Problem.note`), which are no problems. A
    file that cannot be read is a problem, and the rest goes on. Where a broker holds the lock of the log
    directory, that is noted, and a torn tail of an active segment is none. `progress` is called now and then
    with the bytes of logs read since the last call.

    Raises: ValueError for a path at which there is no log; OSError where it cannot be listed.
    """
    what = resolve(path)
    if isinstance(what, SegmentPath):
        segment = Segment.of(what.path, what.base_offset, beside=True)
        yield from verify_segment(segment, limits=limits, progress=progress)
        return
    partition = isinstance(what, PartitionPath)
    around = what.root if isinstance(what, PartitionPath) else what.path
    live = is_locked(around)
    if live:
        yield Problem(around, 0, "in use: the log changes while it is read", "no lock", "a lock", note=True)
    if partition:
        with PartitionLog(path, limits=limits) as log:
            yield from verify_partition(log, progress=progress, live=live)
        return
    directory = LogDirectory(path, limits=limits)
    for root in directory.roots:
        yield from verify_root(root)
    for log in directory:
        yield from verify_partition(log, progress=progress, live=live)
        log.close()


def verify_root(root: LogRoot) -> Iterator[Problem]:
    """Check the files beside the topic-partitions' folders. Raises OSError."""
    for read, name in (
        (root.meta_properties, META_PROPERTIES),
        (root.clean_shutdown, CLEAN_SHUTDOWN),
        (root.recovery_points, RECOVERY_POINTS),
        (lambda: root.log_start_offsets, LOG_START_OFFSETS),
        (root.high_watermarks, HIGH_WATERMARKS),
        (root.cleaner_offsets, CLEANER_OFFSETS),
    ):
        try:
            read()
        except FormatError as error:
            yield from_error(error, root.path / name)


def verify_partition(
    log: PartitionLog, *, progress: Callable[[int], None] | None = None, live: bool = False
) -> Iterator[Problem]:
    """Check all segments of a topic-partition and the files beside them.

    An index or a snapshot is compared with what the batches say. After a damaged batch, transactions,
    producers and the time index are no longer compared: a batch that counts may be missing. Offsets that no
    segment holds are a note where compaction explains them, and a problem where it does not. A segment that
    is deleted meanwhile is left out; another one that cannot be read is a problem.
    """
    try:
        files = log.files
    except OSError as error:
        yield unreadable(error, log.path)
        return
    for read, name in ((log.leader_epochs, LEADER_EPOCHS), (log.metadata, PARTITION_METADATA)):
        try:
            read()
        except FormatError as error:
            yield from_error(error, log.path / name)
        except OSError as error:
            yield unreadable(error, log.path / name)
    for path in files.orphans:
        yield Problem(path, 0, "an index without its log", path.with_suffix(".log").name, "no such file")
    for leftover in files.leftovers:
        if leftover.kind in (LeftoverKind.SWAP, LeftoverKind.CLEANED):
            what = "an interrupted swap of segments"
            yield Problem(leftover.path, 0, what, "recovery", "none yet", note=live)
    state = Producers()
    state.compacted = _is_compacted(log)
    snapshots: list[tuple[int, Path]] = list(files.snapshots)
    # Copies of the logs alone have no indexes at all.
    indexed = any(segment.index or segment.timeindex for segment in log.segments)
    gaps: list[tuple[Path, int, int]] = []
    expected: int | None = None
    for number, segment in enumerate(log.segments):
        after = log.segments[number + 1].base_offset if number + 1 < len(log.segments) else None
        if segment.index is None and indexed:
            name = segment.path.with_suffix(".index").name
            yield Problem(segment.path, 0, "no offset index beside the log", name, "no such file")
        check = SegmentCheck(segment, after, state, snapshots, log.limits, progress, live=live)
        try:
            yield from check.run()
        except OSError as error:
            state.reliable = False
            expected = None
            if not isinstance(error, FileNotFoundError):
                yield unreadable(error, segment.path)
            continue
        state.compacted |= check.sparse
        if expected is not None and segment.base_offset > expected:
            gaps.append((segment.path, expected, segment.base_offset - 1))
        expected = None if check.damaged else check.last + 1
    for path, first, last in gaps:
        have = f"{first} to {last} in no segment"
        yield Problem(path, 0, "offsets", "no gap between segments", have, note=state.compacted)
    for offset, path in snapshots:
        yield from state.compare(offset, path)


def _is_compacted(log: PartitionLog) -> bool:
    """Whether the log was compacted, by the log directory's checkpoint."""
    try:
        return LogRoot(log.root).cleaner_offsets().get(log.topic_partition, 0) > 0
    except (OSError, FormatError):
        return False


def verify_segment(
    segment: Segment,
    *,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> Iterator[Problem]:
    """Check one segment and the indexes beside it; transactions may have begun before it. Raises OSError."""
    state = Producers()
    state.reliable = False
    yield from SegmentCheck(segment, None, state, [], limits, progress).run()
