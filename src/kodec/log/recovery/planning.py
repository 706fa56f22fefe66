"""Plans the recovery of a log after an unclean shutdown, as a starting broker does; reads only.

Followed: `LogLoader`, `LogSegment.recover`, `ProducerStateManager` and `LeaderEpochFileCache` of Kafka 4.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from kodec.log.batches.records import Limits
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.gaps import find_gaps
from kodec.log.directories.losses import checkpointed_end, note_missing
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState
from kodec.log.files.checkpoints import read_offsets
from kodec.log.files.indexes import INDEX_INTERVAL, MAX_INDEX
from kodec.log.files.listing import ReplicaKind, TopicPartition
from kodec.log.files.names import CLEAN_SHUTDOWN, LOG_START_OFFSETS, RECOVERY_POINTS
from kodec.log.files.paths import partition_path
from kodec.log.omissions import Omissions
from kodec.log.recovery.checkpoints import lower_recovery_point, write_leader_epochs
from kodec.log.recovery.good_batches import LogScan
from kodec.log.recovery.plan import GoodAfterCut, RecoveryPlan
from kodec.log.recovery.planned_folder import PlannedFolder, Settings
from kodec.log.recovery.replacement import finish_replacement
from kodec.log.recovery.segments import scan_one, scan_segments, write_indexes
from kodec.log.recovery.snapshots import drop_snapshots, write_snapshot
from kodec.log.selection import Selection, Topics
from kodec.log.writing.segment_scan import producers_at
from kodec.runtime.dataclass import replace
from kodec.runtime.errors import ArgumentError, FormatError, NoSuchPartition, ReadFailed, Unsupported

__all__ = ["plan_recoveries", "plan_recovery", "plan_reindex", "unreadable_plan"]

Progress = Callable[[int], None] | None


def plan_recoveries(
    root: str | os.PathLike[str],
    *,
    topics: Topics = None,
    from_start: bool = False,
    index_interval_bytes: int = INDEX_INTERVAL,
    max_index_bytes: int = MAX_INDEX,
    allow_empty: bool = False,
    quarantine: Path | None = None,
    limits: Limits = Limits(),
    progress: Progress = None,
) -> Iterator[RecoveryPlan]:
    """A plan for each topic-partition of an entry of `log.dirs`, live or moving in; see `plan_recovery`.

    Deleted and stray replicas are left alone. Each plan is made on demand, so that
    the previous one may have been applied. An unreadable one is refused (`RecoveryPlan.problems`). Raises
    OSError where the log directory cannot be listed.

    Args:
        root: an entry of `log.dirs`.
        topics: only the logs of these.
        others: as in `plan_recovery`.

    Returns: an iterator of plans.
    Raises: OSError where the log directory cannot be listed; NoSuchPartition for a missing topic.

    Example:
        >>> import shutil
        >>> import kodec
        >>> _ = shutil.copytree("/data/crashed", "logs")
        >>> for plan in kodec.repair.plan_recoveries("logs"):
        ...     _ = plan.apply()
        >>> any(plan.has_changes for plan in kodec.repair.plan_recoveries("logs"))
        False
    """
    folder, selection = Path(root).resolve(), Selection.of(topics)
    replicas = LogRoot(folder).replicas
    for topic in sorted(selection.topics or ()):
        if not any(replica.topic_partition.topic == topic for replica in replicas):
            raise NoSuchPartition(f"{root}: no topic {topic}")
    for replica in replicas:
        if selection.has(replica.topic_partition) and replica.kind in (ReplicaKind.LIVE, ReplicaKind.FUTURE):
            try:
                # Files next to the folder are read each time: the previous plan may have changed them.
                settings = _settings(
                    folder, from_start, index_interval_bytes, max_index_bytes, limits, progress, allow_empty
                )
                yield _recovery(replica.path, replica.topic_partition, settings, quarantine)
            except OSError as error:
                # A dying disk, or a broker that deletes: the other topic-partitions are still planned.
                yield unreadable_plan(replica.path, error)


def unreadable_plan(folder: Path, error: OSError) -> RecoveryPlan:
    """The plan for a topic-partition's folder that cannot be read: it is refused."""
    problem = str(error) if isinstance(error, ReadFailed) else f"cannot be read: {error}"
    return RecoveryPlan(folder, partition_path(folder).topic_partition, problems=[problem])


def plan_recovery(
    path: str | os.PathLike[str],
    *,
    from_start: bool = False,
    index_interval_bytes: int = INDEX_INTERVAL,
    max_index_bytes: int = MAX_INDEX,
    allow_empty: bool = False,
    quarantine: Path | None = None,
    limits: Limits = Limits(),
    progress: Progress = None,
) -> RecoveryPlan:
    """Plan what a starting broker would do to a topic-partition's folder; reads only.

    1. An interrupted compaction or split is rolled back (`.cleaned`) or completed (`.swap`), and
       files marked for deletion (`.deleted`) are removed.
    2. Indexes without a log are removed. A segment without an index, or with a wrong transaction index, is
       read.
    3. All segments from the recovery point of `recovery-point-offset-checkpoint` on are read, unless the
       broker has left its clean-shutdown marker (`.kafka_cleanshutdown`); with `from_start` all are, in any
       case. The log ends with the last batch before the first that is not valid (see `scan_segment`); the
       segments after it are removed.
    4. The indexes of those segments are rebuilt from the log, byte for byte like a broker's, with the
       intervals given here. So are the producer snapshots; one that has more producers, whose batches are
       gone, stays.
    5. Leader epochs above the end of the log are removed; a recovery point above it is lowered to it.
    6. A log that ends before its `log-start-offset-checkpoint` restarts there, empty.

    Removed data is kept in quarantine when the plan is applied. If a batch has a right checksum but
    cannot be read by this version, or if the folder or a file in it is a symbolic link, nothing is
    planned (`RecoveryPlan.problems`).

    Args:
        path: the folder. The files of its log directory apply.
        index_interval_bytes, max_index_bytes: the topic's `index.interval.bytes` and `segment.index.bytes`.
        limits: how much may be allocated for one batch.
        progress: called now and then with the bytes of logs read since the last call.
        from_start: read all segments, whatever the checkpoints are.
        allow_empty: also cut to nothing a log in which no batch is right and that does not begin like one, as
            an encrypted file; else it is refused.
        quarantine: see `RecoveryPlan`.

    Returns: a plan; `apply` changes the folder.
    Raises: OSError; ValueError for a folder that is not a topic-partition's.

    Example:
        >>> import shutil
        >>> import kodec
        >>> _ = shutil.copytree("/data/crashed", "logs")
        >>> folder = next(each.path for each in kodec.repair.plan_recoveries("logs") if each.has_changes)
        >>> plan = kodec.repair.plan_recovery(folder)
        >>> kept = plan.apply().kept  # what was truncated is in the quarantine
        >>> kodec.repair.plan_recovery(folder).has_changes
        False
    """
    folder = partition_path(path)
    if folder.kind not in (ReplicaKind.LIVE, ReplicaKind.FUTURE):
        raise ValueError(f"{path}: a {folder.kind.value} replica is not changed")
    settings = _settings(
        folder.root, from_start, index_interval_bytes, max_index_bytes, limits, progress, allow_empty
    )
    return _recovery(folder.path, folder.topic_partition, settings, quarantine)


def plan_reindex(
    path: str | os.PathLike[str],
    *,
    segments: Collection[int] | None = None,
    index_interval_bytes: int = INDEX_INTERVAL,
    max_index_bytes: int = MAX_INDEX,
    limits: Limits = Limits(),
    progress: Progress = None,
) -> RecoveryPlan:
    """Find indexes and producer snapshots that differ from the log; plans no change of a log.

    Args:
        path: the folder of a topic-partition.
        segments: the base offsets of the segments to read; None: all.
        index_interval_bytes, max_index_bytes, limits, progress: as in `plan_recovery`.

    If a segment is damaged, nothing is planned (`RecoveryPlan.problems`): recover it first. The same applies
    if the folder or a file in it is a symbolic link.

    Returns: a plan; `apply` writes indexes and snapshots.
    Raises: OSError; ValueError for a folder that is not a topic-partition's, and a segment that it lacks.

    Example:
        >>> import shutil
        >>> import kodec
        >>> _ = shutil.copytree("/data/kafka-logs", "logs")
        >>> from pathlib import Path
        >>> Path("logs/orders-0/00000000000000000000.index").unlink()
        >>> plan = kodec.repair.plan_reindex("logs/orders-0")
        >>> plan.has_changes
        True
        >>> _ = plan.apply()
        >>> Path("logs/orders-0/00000000000000000000.index").exists()
        True
    """
    folder = partition_path(path)
    if segments is not None and not isinstance(segments, Collection):
        raise ArgumentError(f"segments: expected a list of base offsets, not {type(segments).__name__}")
    settings = _settings(folder.root, True, index_interval_bytes, max_index_bytes, limits, progress)
    return _reindex(PlannedFolder(folder.path, folder.topic_partition, settings), segments)


def _settings(root: Path, *options: Any) -> Settings:
    """The state of a log directory, and the options."""
    points, starts = _offsets(root / RECOVERY_POINTS), _offsets(root / LOG_START_OFFSETS)
    return Settings((root / CLEAN_SHUTDOWN).exists(), points, starts, *options)


def _offsets(path: Path) -> dict[TopicPartition, int]:
    """A checkpoint of the log directory; an unreadable one is ignored, as when a broker starts."""
    try:
        return read_offsets(path)
    except (FileNotFoundError, FormatError):
        return {}


def _recovery(
    path: Path, topic_partition: TopicPartition, settings: Settings, quarantine: Path | None
) -> RecoveryPlan:
    plan = _recovered(PlannedFolder(path, topic_partition, settings))
    if plan.steps and settings.clean:
        # They take the clean-shutdown marker away, and what is to be done without it belongs to them.
        plan = _recovered(PlannedFolder(path, topic_partition, replace(settings, clean=False)))
    plan.quarantine = quarantine
    return plan


def _recovered(draft: PlannedFolder) -> RecoveryPlan:
    plan = draft.plan
    if draft.refuse_irregular():
        return plan
    try:
        finish_replacement(draft)
        _drop_orphans(draft)
        end = scan_segments(draft)
        drop_snapshots(draft, end)
        write_leader_epochs(draft, end)
        lower_recovery_point(draft, end)
    except Unsupported as error:
        plan.problems.append(str(error))
        plan.steps.clear()
        return plan
    draft.finish()
    logs = draft.logs()
    plan.end_offset = end
    plan.segments = len(logs)
    plan.start_offset = max(draft.log_start, min(logs, default=end))
    _note_missing(plan, draft.settings.limits)
    if draft.cuts:
        plan.good_after_cut = _good_after_cut(draft)
    return plan


def _good_after_cut(draft: PlannedFolder) -> GoodAfterCut | None:
    """The good batches that the plan removes, as a salvage judges them."""
    counts: list[int] = []
    batches = records = size = 0
    first: int | None = None
    last = -1
    with PartitionLog(draft.plan.path, limits=draft.settings.limits) as log:
        scan = LogScan(log, on_batch=lambda batch: counts.append(batch.count), starts=draft.cuts)
        for segment, good_batches, numbers in scan:
            for number in numbers:
                batches, records, size = (
                    batches + 1,
                    records + counts[number],
                    size + good_batches.sizes[number],
                )
                first, last = (
                    good_batches.first(number) if first is None else first,
                    good_batches.last(number),
                )
            counts.clear()
            segment.close()
    return None if first is None else GoodAfterCut(batches, records, size, first, last)


def _note_missing(plan: RecoveryPlan, limits: Limits) -> None:
    """Report offsets lost between segments that stay, and behind the end, which a broker would not notice."""
    with PartitionLog(plan.path, limits=limits) as log:
        for gap in find_gaps(log):
            if not gap.is_explained and gap.last < plan.end_offset:
                plan.omissions.gap(plan.path, gap.lost, gap.last)
        # one that cannot be read is ignored, as when a broker starts
        end, reason = checkpointed_end(log, Omissions())
        if end > plan.end_offset and not plan.truncated_bytes:
            plan.omissions.gap(plan.path, plan.end_offset, end - 1, reason)


def _drop_orphans(draft: PlannedFolder) -> None:
    logs = draft.logs()
    for name, base_offset in draft.index_names():
        if base_offset not in logs:
            draft.quarantine(name, "an index without its log", draft.plan.steps)


def _reindex(draft: PlannedFolder, requested: Collection[int] | None) -> RecoveryPlan:
    plan = draft.plan
    if draft.refuse_irregular():
        return plan
    files = draft.segments()
    bases = [segment.base_offset for segment in files]
    if unknown := [base for base in requested or () if base not in bases]:
        raise ArgumentError(f"segments: {unknown[0]!r} is no base offset of {plan.path}: {bases}"[:500])
    plan.segments = len(files)
    plan.start_offset = max(draft.log_start, draft.first)
    state: ProducerState | None = None
    for number, segment in enumerate(files):
        if requested is not None and segment.base_offset not in requested:
            state = None
            continue
        before = files[number + 1].base_offset if number + 1 < len(files) else None
        if state is None:
            state = producers_at(files, draft.snapshots(), number, limits=draft.settings.limits)
        try:
            scan = scan_one(draft, segment, state, before)
        except Unsupported as error:
            plan.problems.append(str(error))
            return plan
        if scan.fault:
            plan.problems.append(f"{segment.log}: byte {scan.valid_bytes}: recover it first: {scan.fault}")
            return plan
        write_indexes(draft, segment.base_offset, scan)
        plan.end_offset = scan.next_offset
        state = write_snapshot(draft, scan.next_offset if before is None else before, state)
    draft.finish()
    with PartitionLog(plan.path, limits=draft.settings.limits) as log:
        note_missing(log, plan.omissions)
    return plan
