"""Checks the consistency of logs: checksums, offsets, indexes, producer snapshots; reads only."""

from __future__ import annotations

import copy
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from kodec.log.batches.records import Limits
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.gaps import cleaned_up_to, explain_gap
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, MetaProperties, read_quorum_state
from kodec.log.files.listing import LeftoverKind, ReplicaKind, left_out_of, parse_segment_name
from kodec.log.files.lock import is_locked
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOCK,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    PARTITION_METADATA,
    QUORUM_STATE,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import PartitionPath
from kodec.log.messages.decoding import COORDINATORS
from kodec.log.reading.unlike import unlike_a_log
from kodec.log.remote.opening import open_location
from kodec.log.remote.resolve import LogDirectoryPath, SegmentPath, is_of_topics, require_topics, resolve
from kodec.log.remote.view import may_have_indexes
from kodec.log.selection import Selection, Topics
from kodec.log.verification.findings import SegmentFindings, concluded
from kodec.log.verification.problems import Problem, from_error, of_epochs, unreadable
from kodec.log.verification.producers import Producers
from kodec.log.verification.quorum import METADATA_TOPIC, verify_quorum, verify_snapshot
from kodec.log.verification.segments import SegmentCheck
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError
from kodec.stores.storage import StorePath, if_there

# A broker has renamed the files of a segment, or created an index, long before.
MOMENT = 0.1
_MOST_LOOKS = 10
_BOOTSTRAP = "bootstrap.checkpoint"
# The version of meta.properties in KRaft, where topics are known by their ids.
_KRAFT = 1
# The files that a broker has next to each log; before 0.10 there was no time index.
_ALWAYS = {"index": "offset index", "timeindex": "time index"}

__all__ = [
    "Check",
    "Problem",
    "SegmentPiece",
    "plan_checks",
    "plan_readings",
    "verify",
    "verify_partition",
    "verify_root",
    "verify_segment",
]


def verify(
    path: str | os.PathLike[str],
    *,
    topics: Topics = None,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> Iterator[Problem]:
    """Check a log directory, a topic-partition's folder, or a segment with its indexes; reads only.

    Yields a `Problem` for each problem, and notes (`Problem.note`), which are harmless. A
    file that cannot be read is a problem, and the rest is still checked. If a broker holds the lock of the
    log directory, that is noted, and a torn tail of an active segment is not a problem. `progress` is called
    regularly with the bytes of logs read since the last call.

    Args:
        path: of a log directory, a topic-partition's folder or a segment.
        topics: only the logs of these; then folders of a log directory with other names are not reported.
        limits: how much may be allocated for one batch.
        progress: called with the bytes read since the last call.

    Returns: an iterator of problems and notes.
    Raises: ValueError for a path without a log; OSError where it cannot be listed; NoSuchPartition for a
        missing topic.

    Example:
        >>> import kodec
        >>> problems = kodec.repair.verify("/data/kafka-logs/orders-0")
        >>> [(problem.path.name, problem.what) for problem in problems]
        []
    """
    selected = Selection.of(topics).topics
    require_topics(selected, path)
    notes, checks = plan_checks(path, selected)
    yield from notes
    for check in checks:
        yield from check.run(limits=limits, progress=progress)


@dataclass(frozen=True, slots=True)
class Check:
    """A part of a verification that needs no other part.

    Attributes:
        path: a segment, a topic-partition's folder, or a log directory, for the files next to its
            topic-partitions' folders.
        kind: which of the three it was.
        live: whether a broker is running.
    """

    path: Path
    kind: Literal["segment", "partition", "directory"]
    live: bool = False

    def run(
        self, *, limits: Limits = Limits(), progress: Callable[[int], None] | None = None
    ) -> Iterator[Problem]:
        """Check it; see `verify`."""
        if self.kind == "segment":
            base_offset = parse_segment_name(self.path.name)
            assert base_offset is not None
            segment = Segment.of(self.path, base_offset, beside=True)
            yield from verify_segment(segment, limits=limits, progress=progress)
        elif self.kind == "partition":
            with PartitionLog(self.path, limits=limits) as log:
                yield from verify_partition(log, progress=progress, live=self.live)
        else:
            yield from verify_root(LogRoot(self.path))


def plan_checks(
    path: str | os.PathLike[str], topics: Collection[str] | None = None
) -> tuple[list[Problem], list[Check]]:
    """The first findings of a verification, and its parts, in order; opens no log. Raises as `verify`."""
    what = resolve(path)
    if not isinstance(what, LogDirectoryPath) and not is_of_topics(what, topics):
        return [], []
    if isinstance(what, SegmentPath):
        return [], [Check(what.path, "segment")]
    around = what.root if isinstance(what, PartitionPath) else what.path
    live, notes = False, []
    try:
        live = is_locked(around)
    except OSError as error:
        notes.append(unreadable(error, around / LOCK))
    if live:
        text = "in use: the log changes while it is read"
        notes.append(Problem(around, 0, text, "no lock", "a lock", note=True))
    if isinstance(what, PartitionPath):
        notes += _check_other_files(LogRoot(around))
        return notes, [Check(_named(path, what.path), "partition", live)]
    folders = [
        Check(partition.path, "partition", live)
        for partition in what.partitions
        if topics is None or partition.topic_partition.topic in topics
    ]
    if topics is not None:
        return [*notes, *_check_other_files(LogRoot(what.path))], folders
    return notes, [Check(_named(path, what.path), "directory"), *folders]


def _named(path: str | os.PathLike[str], resolved_path: Path) -> Path:
    """The path as given; remote storage as it is read."""
    return resolved_path if isinstance(resolved_path, StorePath) else open_location(path)


def verify_root(root: LogRoot) -> Iterator[Problem]:
    """Check the files next to the topic-partitions' folders, and folders that are none. Raises OSError."""
    for omission in left_out_of(root.path):
        if omission.cause.is_loss:
            yield Problem(omission.path, 0, omission.reason, "a name like orders-0", omission.path.name)
        else:
            what, _, reason = omission.reason.partition(": ")
            need = (
                "nothing: a broker removes or moves it" if may_have_indexes(root.path) else "a log of Kafka's"
            )
            yield Problem(omission.path, 0, what, need, reason, note=True)
    bootstrap = root.path / _BOOTSTRAP
    if not isinstance(bootstrap, StorePath) and bootstrap.exists():
        yield from verify_snapshot(bootstrap, Limits(), is_framed=False)
    yield from _check_other_files(root)


def _check_other_files(root: LogRoot) -> Iterator[Problem]:
    """Check the files that hold facts of all topic-partitions: without them, less of each can be checked."""
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
        except OSError as error:
            yield unreadable(error, root.path / name)
    if (meta := _meta_properties(root)) is not None and not meta.properties:
        need = "the ids of node and cluster, without which a broker does not start"
        yield Problem(root.path / META_PROPERTIES, 0, "empty", need, "none")


def _meta_properties(root: LogRoot) -> MetaProperties | None:
    """Those of a log directory; None if there are none, or if the check of the directory reports them."""
    with suppress(FormatError, OSError):
        return root.meta_properties()
    return None


def verify_partition(
    log: PartitionLog,
    *,
    progress: Callable[[int], None] | None = None,
    live: bool = False,
    readings: Iterable[SegmentFindings] | None = None,
) -> Iterator[Problem]:
    """Check all segments of a topic-partition and the files next to them.

    An index or a snapshot is compared with the batches. After a damaged batch, transactions,
    producers and the time index are no longer compared: a relevant batch may be missing. Offsets that no
    segment holds are a note if they can be explained (`explain_gap`), else a problem.
    A segment that is deleted meanwhile is left out; another one that cannot be read is a problem. With `live`
    a broker is running: a segment with findings is checked again, because the broker may be
    replacing it. `readings` are the results of `SegmentPiece` for each segment, if available; the logs
    are then not read again.
    """
    try:
        files = log.files
    except OSError as error:
        yield unreadable(error, log.path)
        return
    quorum_state = log.path / QUORUM_STATE
    for read, name in (
        (log.metadata, PARTITION_METADATA),
        (lambda: if_there(read_quorum_state, quorum_state, None), QUORUM_STATE),
    ):
        try:
            read()
        except FormatError as error:
            yield from_error(error, log.path / name)
        except OSError as error:
            yield unreadable(error, log.path / name)
    if log.topic_partition.topic == METADATA_TOPIC:
        yield from verify_quorum(log, _start(log))
    elif log.kind is ReplicaKind.LIVE and not isinstance(log.path, StorePath):
        meta = _meta_properties(LogRoot(log.root))
        path = log.path / PARTITION_METADATA
        if meta is not None and meta.version >= _KRAFT and not os.path.lexists(path):
            need = (
                "the topic's id, without which a broker renames the folder to -stray and serves an empty one"
            )
            yield Problem(path, 0, f"no {PARTITION_METADATA}", need, "no such file")
    remote = range(0)
    try:
        remote = log.remote_offsets
    except OSError as error:
        yield unreadable(error, log.root)
    if remote:
        what = f"offsets {remote.start} to {remote.stop - 1} are in remote storage"
        yield Problem(log.path, 0, what, "--tier, to check them", "none", note=True)
    segments = {segment.log for segment in files.segments}
    for path in files.irregular:
        if path in segments:
            # reading it reports that
            continue
        yield Problem(path, 0, "something else has the name of a file", "a regular file", "something else")
    orphans = files.orphans
    if live and orphans:
        # a broker deletes a segment file by file
        time.sleep(MOMENT)
        orphans = [
            orphan for orphan in orphans if orphan.exists() and not orphan.with_suffix(".log").exists()
        ]
    for path in orphans:
        yield Problem(path, 0, "an index without its log", path.with_suffix(".log").name, "no such file")
    for leftover in files.leftovers:
        if leftover.kind in (LeftoverKind.SWAP, LeftoverKind.CLEANED):
            what = "an interrupted swap of segments"
            yield Problem(leftover.path, 0, what, "recovery", "none yet", note=live)
    # Before the log: batches that a broker appends meanwhile are in the log when it is read.
    known = _known_ends(log)
    state = Producers(files.snapshots, cleaned=_cleaned(log))
    snapshots = [offset for offset, _ in files.snapshots]
    if (chosen_by := log.remote_segments) not in (None, "metadata"):
        what = f"which segments in remote storage count follows the {chosen_by} there"
        yield Problem(log.path, 0, what, "__remote_log_metadata", "none", note=True)
    # Copies of the logs alone have no indexes at all.
    indexed = [
        kind for kind in _ALWAYS if any(getattr(segment, kind) is not None for segment in log.segments)
    ]
    if log.segments and not indexed and may_have_indexes(log.path):
        what = "no log has an index: nothing to compare, and every lookup reads from the start"
        yield Problem(log.path, 0, what, "indexes", "none", note=True)
    findings = iter(readings or ())
    for number, segment in enumerate(log.segments):
        expected = state.expected
        if expected is not None and segment.base_offset > expected:
            yield from _gap(segment, expected, state, log.limits, live)
        try:
            if live:
                state, problems = _recheck(log, number, state, snapshots, indexed, progress)
                yield from problems
            else:
                yield from _without_index(segment, indexed)
                after = log.segments[number + 1].base_offset if number + 1 < len(log.segments) else None
                check = SegmentCheck(segment, after, snapshots, log.limits, progress)
                yield from concluded(check.run() if readings is None else next(findings), state)
        except OSError as error:
            state.lost()
            if isinstance(error, FileNotFoundError):
                # whether a broker removed it: as for any other gap, the next segment shows it
                state.expected = expected
            else:
                yield unreadable(error, segment.path)
            continue
    with suppress(OSError):
        if unlike := unlike_a_log(
            [(segment.path, segment.base_offset) for segment in log.segments], log.limits
        ):
            yield from_error(unlike, log.path)
    start_offset = _start(log)
    if state.expected is not None or not log.segments:
        yield from _ends_too_early(log, max(state.expected or 0, start_offset), known, live)
    if state.gap is not None and not _shows_compaction(log):
        position, first, last = state.gap
        have = f"{first} to {last} before the last batch, whose offset no checksum covers"
        need = "no gap in a log that is not compacted"
        yield Problem(log.segments[-1].path, position, "offsets before the last batch", need, have, note=True)
    yield from state.compare_rest()
    yield from _leader_epochs(log, state.epochs, start_offset)
    if log.topic_partition.topic in COORDINATORS:
        # imported late: it imports messages, which other logs do not have
        from kodec.log.verification.coordinators import verify_coordinator

        try:
            yield from verify_coordinator(log)
        except FileNotFoundError:
            pass  # deleted meanwhile
        except OSError as error:
            yield unreadable(error, log.path)


def _shows_compaction(log: PartitionLog) -> bool:
    """Whether anything but a gap before its last batch shows that records of the log were removed."""
    if _cleaned(log) > 0:
        return True
    gaps = []
    try:
        for segment in log.segments:
            last = segment.base_offset - 1
            for head in segment.headers():
                if not head.is_list or (head.count or 0) <= head.last_offset - head.first_known:
                    return True
                gaps += [head.first_known] * (head.first_known > last + 1)
                last = head.last_offset
            segment.close()
    except (FormatError, FileNotFoundError):
        return True
    return len(gaps) > 1


def _leader_epochs(log: PartitionLog, runs: EpochRuns, start_offset: int) -> Iterator[Problem]:
    """Compare the leader epochs of all batches with the checkpoint and each other.

    The checkpoint is read last: a broker writes an epoch there before it appends a batch that has it.
    """
    checkpoint: list[LeaderEpoch] = []
    try:
        checkpoint = log.leader_epochs()
    except FormatError as error:
        yield from_error(error, log.path / LEADER_EPOCHS)
    except OSError as error:
        yield unreadable(error, log.path / LEADER_EPOCHS)
    else:
        if runs.runs and not checkpoint and may_have_indexes(log.path):
            what = "leader epochs in batches are compared with each other only"
            yield Problem(log.path / LEADER_EPOCHS, 0, what, "their start offsets", "none", note=True)
    yield from of_epochs(runs, checkpoint, start_offset)


@dataclass(frozen=True, slots=True)
class SegmentPiece:
    """A segment of a topic-partition to be read without the others; see `plan_readings`."""

    path: Path
    base_offset: int
    after: int | None
    snapshots: tuple[int, ...]

    def read(self, *, limits: Limits = Limits()) -> SegmentFindings:
        """Its findings, for `verify_partition`."""
        try:
            segment = Segment.of(self.path, self.base_offset, beside=True)
        except OSError as error:
            return SegmentFindings(error=error)
        return SegmentFindings.of(SegmentCheck(segment, self.after, self.snapshots, limits, None).run())


def plan_readings(log: PartitionLog) -> list[SegmentPiece]:
    """The segments of a log that no broker changes, each to be read separately. Raises OSError."""
    snapshots = [offset for offset, _ in log.files.snapshots]
    bases = [segment.base_offset for segment in log.segments]
    pieces = []
    for segment, after in zip_longest(log.segments, bases[1:]):
        begin = max(bisect_right(snapshots, segment.base_offset) - 1, 0)
        end = len(snapshots) if after is None else bisect_right(snapshots, after)
        pieces.append(SegmentPiece(segment.path, segment.base_offset, after, tuple(snapshots[begin:end])))
    return pieces


def _gap(segment: Segment, expected: int, state: Producers, limits: Limits, live: bool) -> Iterator[Problem]:
    """The offsets before a segment that no segment holds: a note if explained, else a problem."""
    need = "no gap between segments"
    # Segments may have been replaced since the log was listed.
    with PartitionLog(segment.path.parent, limits=limits) as now:
        if any(_holds(current, expected) for current in now.segments):
            return
        gap = explain_gap(now, expected, segment.base_offset - 1)
        cleaning = live and any(leftover.kind is not LeftoverKind.DELETED for leftover in now.leftovers)
    if gap.lost > gap.first:
        have = f"{gap.first} to {gap.lost - 1} in no segment: {gap.why}"
        yield Problem(segment.path, 0, "offsets", need, have, note=True)
        state.cleaned = max(state.cleaned, gap.lost)
    if not gap.is_explained:
        have = f"{gap.lost} to {gap.last} in no segment, and not for compaction"
        if cleaning:
            have = f"{gap.lost} to {gap.last} in no segment; the cleaner is running: verify again later"
        yield Problem(segment.path, 0, "offsets", need, have, note=cleaning)
        state.reliable = False


def _holds(segment: Segment, offset: int) -> bool:
    """Whether a segment reaches over an offset; one that cannot be read does not."""
    with suppress(FormatError, OSError):
        return segment.base_offset <= offset < segment.next_offset
    return False


def _known_ends(log: PartitionLog) -> list[tuple[int, str]]:
    """Offsets that the log had, according to the log directory's checkpoints, with the checkpoint.

    Checkpoints that cannot be read are the log directory's problem.
    """
    root, ends = LogRoot(log.root), []
    for read, what in (
        (root.high_watermarks, f"the high watermark in {HIGH_WATERMARKS}"),
        (root.recovery_points, f"the recovery point in {RECOVERY_POINTS}"),
    ):
        with suppress(OSError, FormatError):
            if (offset := read().get(log.topic_partition)) is not None:
                ends.append((offset, what))
    return ends


def _cleaned(log: PartitionLog) -> int:
    """How far the log is compacted; a checkpoint that cannot be read is reported, and shows nothing."""
    with suppress(OSError):
        return cleaned_up_to(log)
    return 0


def _start(log: PartitionLog) -> int:
    with suppress(OSError, FormatError):
        return log.start_offset
    return 0


def _ends_too_early(
    log: PartitionLog, end: int, known: list[tuple[int, str]], live: bool
) -> Iterator[Problem]:
    """Records at the end of the log are gone: a broker would silently continue.

    A running follower may have truncated its log since the checkpoint was written.
    """
    for offset, what in known:
        if offset > end:
            path = log.segments[-1].path if log.segments else log.path
            yield Problem(path, 0, "end of the log", f"offset {offset}, {what}", end, note=live)


def _without_index(segment: Segment, indexed: Collection[str]) -> Iterator[Problem]:
    """The indexes that are missing, if other segments have them."""
    if segment.path.suffix != ".log":
        # of a swap that was interrupted: its indexes have other names too
        return
    for kind in indexed:
        if getattr(segment, kind) is None and not (kind == "timeindex" and _is_timeless(segment)):
            name = segment.path.with_suffix(f".{kind}").name
            yield Problem(segment.path, 0, f"no {_ALWAYS[kind]} of the log", name, "no such file")


def _is_timeless(segment: Segment) -> bool:
    """Whether no record has a timestamp, as from before 0.10, when there were no time indexes either."""
    try:
        return segment.largest_timestamp(use_index=False) is None
    except FormatError:
        return False
    finally:
        segment.close()


def _recheck(
    log: PartitionLog,
    number: int,
    state: Producers,
    snapshots: list[int],
    indexed: Collection[str],
    progress: Callable[[int], None] | None,
) -> tuple[Producers, list[Problem]]:
    """Check a segment that a broker may replace meanwhile, with its other files.

    A broker renames the files of a cleaned segment one after the other, and makes the index of a new one
    after its log. So findings count only if they are found again, for the same files.
    Raises: FileNotFoundError if the segment is deleted; OSError.
    """
    listed = log.segments[number]
    previous: tuple[object, list[Problem]] | None = None
    for last in (*(False,) * (_MOST_LOOKS - 1), True):
        files = _identities(listed.path)
        segment = Segment.of(listed.path, listed.base_offset, beside=True, limits=log.limits)
        # One that was merged into this one is deleted after it.
        following = (later.base_offset for later in log.segments[number + 1 :] if later.path.exists())
        trial = copy.deepcopy(state)
        after = next(following, None)
        check = SegmentCheck(segment, after, snapshots, log.limits, progress, live=True)
        try:
            problems = [*_without_index(segment, indexed), *concluded(check.run(), trial)]
        except FileNotFoundError:
            if last or not listed.path.exists():
                raise
        else:
            if last and previous is not None:
                # a log that grows all the time ends elsewhere at each check
                problems = [problem for problem in problems if problem.note or problem in previous[1]]
            if last or all(problem.note for problem in problems) or previous == (files, problems):
                return trial, problems
            previous = files, problems
        time.sleep(MOMENT)
    raise AssertionError("the last look returns or raises")


def _identities(path: Path) -> list[tuple[str, int]]:
    """The current files of a segment."""
    identities = []
    for file in sorted(path.parent.glob(f"{path.stem}.*")):
        with suppress(FileNotFoundError):
            identities.append((file.name, file.stat().st_ino))
    return identities


def verify_segment(
    segment: Segment,
    *,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> Iterator[Problem]:
    """Check one segment and the indexes next to it; transactions may have begun before it. Raises OSError."""
    state = Producers()
    state.reliable = False
    yield from concluded(SegmentCheck(segment, None, [], limits, progress).run(), state)
    yield from of_epochs(state.epochs)
