"""Finds what is to be done to a log that was not closed in order, as a broker does when it starts.

A plan is made by reading only; `kodec.log.recovery.apply` carries it out. Followed: `LogLoader`,
`LogSegment.recover`, `ProducerStateManager` and `LeaderEpochFileCache` of Kafka 4.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kodec.log.directories.directory import LogRoot
from kodec.log.directories.epochs import assigned, from_start, up_to
from kodec.log.directories.producer_state import ProducerState, read_snapshot
from kodec.log.directories.segment import Segment
from kodec.log.entries.records import Limits
from kodec.log.files.checkpoints import (
    LeaderEpoch,
    leader_epochs_bytes,
    read_leader_epochs,
    read_offsets,
)
from kodec.log.files.indexes import INDEX_INTERVAL, MAX_INDEX
from kodec.log.files.listing import (
    LeftoverKind,
    ReplicaKind,
    SegmentFiles,
    TopicPartition,
    parse_folder_name,
)
from kodec.log.files.names import CLEAN_SHUTDOWN, LEADER_EPOCHS, LOG_START_OFFSETS, RECOVERY_POINTS
from kodec.log.files.paths import partition_path, require_no_link
from kodec.log.writing.segment_scan import SegmentScan, producers_at, scan_segment
from kodec.log.writing.segment_writer import file_name
from kodec.runtime.errors import FormatError, Unsupported

__all__ = [
    "Aside",
    "Cut",
    "Lower",
    "RecoveryPlan",
    "Rename",
    "Step",
    "Write",
    "plan_recovery",
    "plan_reindex",
    "plan_root",
]

_FILE = re.compile(r"([0-9]{20})\.(log|index|timeindex|txnindex|snapshot)")
_OFFSET = re.compile(r"([0-9]{1,20})\.")
# What KRaft deletes by itself.
_KRAFT = ".checkpoint."
INDEXES = ("index", "timeindex", "txnindex")
_MAX_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Aside:
    """A file of `size` bytes that is not part of the log: it is moved to the side folder."""

    path: Path
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rename:
    """A replacement that is complete: it gets the name `target`."""

    path: Path
    target: Path


@dataclass(frozen=True, slots=True)
class Cut:
    """A log of `size` bytes that are not valid from `position` on: they are cut off.

    What is cut off is saved to the side folder first, if it is not only zeros.
    """

    path: Path
    position: int
    size: int
    reason: str
    zeros: bool


@dataclass(frozen=True, slots=True)
class Write:
    """A file that tells what the log tells already: it gets these contents."""

    path: Path
    data: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Lower:
    """A recovery point in a root's checkpoint that lies behind the end of the log: it gets to that end."""

    path: Path
    topic_partition: TopicPartition
    old: int
    new: int


Step = Aside | Rename | Cut | Write | Lower


@dataclass(slots=True)
class RecoveryPlan:
    """What recovering a topic-partition's folder would do.

    Attributes:
        path: the folder, whose name says which `topic_partition` it holds; the log directory is around it.
        steps: what would change, in the order in which it is done; [] where nothing would.
        refused: why nothing is planned though something is not as it should be; "" where that is not so.
        start_offset, end_offset: of the log afterwards.
        segments: how many there are afterwards.
        scanned: the logs that were read to see whether they are valid, and their bytes.
        seen: size and time of modification (ns) of the logs that were read.
    """

    path: Path
    topic_partition: TopicPartition
    steps: list[Step] = field(default_factory=list)
    refused: str = ""
    start_offset: int = 0
    end_offset: int = 0
    segments: int = 0
    scanned: list[Path] = field(default_factory=list)
    bytes_scanned: int = 0
    seen: dict[Path, tuple[int, int]] = field(default_factory=dict, repr=False)

    @property
    def cut_bytes(self) -> int:
        """Bytes that were part of a log and are not afterwards; zeros and leftovers do not count."""
        cuts = sum(
            step.size - step.position for step in self.steps if isinstance(step, Cut) and not step.zeros
        )
        return cuts + sum(
            step.size for step in self.steps if isinstance(step, Aside) and step.path.suffix == ".log"
        )


@dataclass(frozen=True, slots=True)
class _Given:
    """What is known of a folder from the files around it, and what was asked for."""

    clean: bool
    recovery_points: dict[TopicPartition, int]
    log_starts: dict[TopicPartition, int]
    from_start: bool
    index_interval_bytes: int
    max_index_bytes: int
    limits: Limits
    progress: Callable[[int], None] | None


def _given(
    root: Path,
    from_start: bool,
    index_interval_bytes: int,
    max_index_bytes: int,
    limits: Limits,
    progress: Callable[[int], None] | None,
) -> _Given:
    return _Given(
        (root / CLEAN_SHUTDOWN).exists(),
        _offsets(root / RECOVERY_POINTS),
        _offsets(root / LOG_START_OFFSETS),
        from_start,
        index_interval_bytes,
        max_index_bytes,
        limits,
        progress,
    )


def _offsets(path: Path) -> dict[TopicPartition, int]:
    """A checkpoint of the root; one that cannot be read says nothing, as when a broker starts."""
    try:
        return read_offsets(path)
    except (FileNotFoundError, FormatError):
        return {}


def plan_root(
    root: Path,
    *,
    from_start: bool = False,
    index_interval_bytes: int = INDEX_INTERVAL,
    max_index_bytes: int = MAX_INDEX,
    limits: Limits = Limits(),  # noqa: B008
    progress: Callable[[int], None] | None = None,
) -> Iterator[RecoveryPlan]:
    """A plan for each topic-partition of an entry of `log.dirs`, live or moving in; see `plan_recovery`.

    Replicas that are deleted or stray are left as they are. Each plan is made when it is asked for, so that
    the one before can have been applied. Raises OSError.
    """
    given = _given(root, from_start, index_interval_bytes, max_index_bytes, limits, progress)
    for replica in LogRoot(root).replicas:
        if replica.kind in (ReplicaKind.LIVE, ReplicaKind.FUTURE):
            yield _Planner(replica.path, replica.topic_partition, given).run()


def plan_recovery(
    path: Path,
    *,
    from_start: bool = False,
    index_interval_bytes: int = INDEX_INTERVAL,
    max_index_bytes: int = MAX_INDEX,
    limits: Limits = Limits(),  # noqa: B008
    progress: Callable[[int], None] | None = None,
) -> RecoveryPlan:
    """Find what a broker that starts would do to a topic-partition's folder; reads only.

    1. What a compaction or a split has left half done is taken back (`.cleaned`), or completed (`.swap`), and
       files that wait for their deletion go (`.deleted`).
    2. Indexes without a log go. A segment without an index, or with a wrong transaction index, is read.
    3. All segments from the recovery point of `recovery-point-offset-checkpoint` on are read, unless the
       broker has left `.kafka_cleanshutdown`; with `from_start` all are, in any case. The log ends with the
       last entry before the first that is not valid (see `scan_segment`); the segments behind it go.
    4. The indexes of what was read become what the log tells, byte by byte, with the intervals given here.
       So do the producer snapshots; one that tells more, of producers whose entries are gone, stays.
    5. Leaders' epochs, and the recovery point, that lie behind the end of the log go.
    6. A log that ends before its `log-start-offset-checkpoint` begins anew there.

    What goes is kept aside when the plan is carried out. Where an entry is right by its checksum and cannot
    be read by this version, and where the folder or a file in it is a symbolic link, nothing is planned
    (`RecoveryPlan.refused`).

    Args:
        path: the folder. What the files in the folder around it say of it counts.
        index_interval_bytes, max_index_bytes: the topic's `index.interval.bytes` and `segment.index.bytes`.
        limits: how much may be allocated for one entry.
        progress: is told how many bytes of logs were read since it was told last.

    Raises: OSError; ValueError for a folder that is not a topic-partition's.
    """
    folder = partition_path(path)
    if folder.kind not in (ReplicaKind.LIVE, ReplicaKind.FUTURE):
        raise ValueError(f"{path}: a {folder.kind.value} replica is left as it is")
    given = _given(folder.root, from_start, index_interval_bytes, max_index_bytes, limits, progress)
    return _Planner(folder.path, folder.topic_partition, given).run()


class _Planner:
    """Makes the plan of one folder, as if each step had been done: `names` says what it then holds."""

    def __init__(self, path: Path, topic_partition: TopicPartition, given: _Given) -> None:
        self.plan = RecoveryPlan(path, topic_partition)
        self.given = given
        self.names: dict[str, Path] = {each.name: each for each in sorted(path.iterdir()) if each.is_file()}
        self.log_start = given.log_starts.get(topic_partition, 0)
        # Later steps of the plan, in the order in which they are done.
        self.doomed: list[Step] = []
        self.cuts: list[Step] = []
        self.writes: list[Step] = []
        # Names that are there only when the plan has been carried out.
        self.made: set[str] = set()
        self.anew = False
        self.first = 0
        # The leaders' epochs in the valid entries of each segment that was read, by its base offset.
        self.read: dict[int, list[LeaderEpoch]] = {}

    def run(self) -> RecoveryPlan:
        plan = self.plan
        if self._refuse_links():
            return plan
        try:
            self._unfinished()
            self._orphans()
            end = self._segments()
            self._snapshots(end)
            self._leader_epochs(end)
            self._recovery_point(end)
        except Unsupported as error:
            plan.refused = str(error)
            plan.steps.clear()
            return plan
        plan.steps += [*self.doomed, *self.cuts, *self.writes]
        plan.end_offset = end
        logs = self._logs()
        plan.segments = len(logs)
        plan.start_offset = max(self.log_start, min(logs, default=end))
        return plan

    # -- files ------------------------------------------------------------------------------------

    def _refuse_links(self) -> bool:
        """Refuse symbolic links: what a step would cut or replace lies outside of the log directory."""
        for path in (self.plan.path, *self.names.values()):
            try:
                require_no_link(path)
            except ValueError as error:
                self.plan.refused = str(error)
                return True
        return False

    def _aside(self, name: str, reason: str, steps: list[Step]) -> None:
        size = self.names.pop(name).stat().st_size
        steps.append(Aside(self.plan.path / name, size, reason))

    def _write(self, name: str, data: bytes | bytearray, reason: str) -> None:
        """Plan the contents of a file, if it has not got them."""
        path = self.names.get(name)
        there = path if name not in self.made else None
        if there is not None and there.stat().st_size == len(data) and there.read_bytes() == data:
            return
        target = self.plan.path / name
        if path is None:
            self.names[name] = target
            self.made.add(name)
        self.writes.append(Write(target, bytes(data), reason))

    def _logs(self) -> dict[int, Path]:
        found = {}
        for name, path in self.names.items():
            match = _FILE.fullmatch(name)
            if match is not None and match[2] == "log" and int(match[1]) <= _MAX_INT64:
                found[int(match[1])] = path
        return dict(sorted(found.items()))

    def _files(self) -> list[SegmentFiles]:
        return [
            SegmentFiles(
                base,
                path,
                path.stat().st_size,
                *(self.names.get(file_name(base, kind)) for kind in INDEXES),
            )
            for base, path in self._logs().items()
        ]

    def _unfinished(self) -> None:
        """Take back, or complete, what the replacement of segments has left behind."""
        steps = self.plan.steps
        kinds: dict[LeftoverKind, list[str]] = {kind: [] for kind in LeftoverKind}
        for name in self.names:
            for kind in LeftoverKind:
                if name.endswith(f".{kind.value}") and _KRAFT not in name:
                    kinds[kind].append(name)
        for name in kinds[LeftoverKind.DELETED]:
            self._aside(name, "waits for its deletion", steps)
        cleaned = kinds[LeftoverKind.CLEANED]
        least = min((_offset(name) for name in cleaned), default=_MAX_INT64)
        # Before the .cleaned files, which tell that these are not complete.
        for name in kinds[LeftoverKind.SWAP]:
            if _offset(name) >= least:
                self._aside(name, "part of a replacement that is not complete", steps)
        for name in cleaned:
            self._aside(name, "made by a replacement that was not finished", steps)
        swaps = [name for name in kinds[LeftoverKind.SWAP] if name in self.names]
        self._replaced(swaps)
        # Logs first: an index in its place without its log would go.
        for name in sorted(swaps, key=lambda name: (".log." not in name, name)):
            final = name.removesuffix(f".{LeftoverKind.SWAP.value}")
            if final in self.names:
                self._aside(final, "replaced", steps)
            path = self.names.pop(name)
            self.names[final] = path
            steps.append(Rename(path, self.plan.path / final))

    def _replaced(self, swaps: list[str]) -> None:
        """Plan that what the complete replacement replaces goes."""
        first, end = _MAX_INT64, -1
        for name in swaps:
            base = _offset(name)
            if name.endswith(f".log.{LeftoverKind.SWAP.value}") and base <= _MAX_INT64:
                scan = scan_segment(self.names[name], base, limits=self.given.limits)
                first, end = min(first, base), max(end, scan.next_offset)
        for name in list(self.names):
            if name not in swaps and first <= _offset(name) < end:
                self._aside(name, "replaced", self.plan.steps)

    def _orphans(self) -> None:
        logs = self._logs()
        for name in list(self.names):
            match = _FILE.fullmatch(name)
            if match is not None and match[2] in INDEXES and int(match[1]) not in logs:
                self._aside(name, "an index without its log", self.plan.steps)

    # -- segments ---------------------------------------------------------------------------------

    def _segments(self) -> int:
        """Read the segments that are to be read; where the log ends then."""
        files, given = self._files(), self.given
        self.first = files[0].base_offset if files else 0
        unflushed = self._first_unflushed(files)
        state: ProducerState | None = None
        end = self.log_start
        for number, each in enumerate(files):
            last = number + 1 == len(files)
            if number < unflushed and _has_indexes(each):
                found = _end(each, given.limits) if last else end
                if found is not None:
                    state, end = None, found
                    continue
            before = None if last else files[number + 1].base_offset
            if state is None:
                state = producers_at(files, self._snapshot_files(), number, limits=given.limits)
                state = self._snapshot(each.base_offset, state)
            scan = self._scan(each, state, before)
            self._indexes(each.base_offset, scan)
            end = scan.next_offset
            if scan.fault:
                self._cut(each, scan)
                if number >= unflushed or last:
                    for later in reversed(files[number + 1 :]):
                        self._drop(later.base_offset, "behind the end of the log")
                    before = None
            state = self._snapshot(end if before is None else before, state)
            if scan.fault and before is None:
                break
        if files and end < self.log_start:
            self._begin_anew(files)
        if not self._logs():
            self.anew = True
            end = self.log_start
            for kind in ("log", "index", "timeindex"):
                self._write(file_name(end, kind), b"", "an empty segment where the log starts")
        return end

    def _begin_anew(self, files: list[SegmentFiles]) -> None:
        """Plan that all segments go: what is left of the log ends before it starts."""
        self.cuts.clear()
        self.writes.clear()
        for name in self.made:
            del self.names[name]
        for each in reversed(files):
            self._drop(each.base_offset, f"the log starts at {self.log_start}")

    def _first_unflushed(self, files: list[SegmentFiles]) -> int:
        """From which segment on entries may be damaged."""
        if self.given.from_start:
            return 0
        if self.given.clean:
            return len(files)
        point = self.given.recovery_points.get(self.plan.topic_partition, 0)
        return max(sum(each.base_offset <= point for each in files) - 1, 0)

    def _scan(self, files: SegmentFiles, state: ProducerState, before: int | None) -> SegmentScan:
        plan, given = self.plan, self.given
        status = files.log.stat()
        plan.seen[files.log] = status.st_size, status.st_mtime_ns
        scan = scan_segment(
            files.log,
            files.base_offset,
            producers=state,
            before=before,
            index_interval_bytes=given.index_interval_bytes,
            max_index_bytes=given.max_index_bytes,
            limits=given.limits,
            progress=given.progress,
        )
        plan.scanned.append(plan.path / file_name(files.base_offset, "log"))
        plan.bytes_scanned += scan.size
        self.read[files.base_offset] = scan.epochs
        return scan

    def _indexes(self, base: int, scan: SegmentScan) -> None:
        indexes = scan.indexes
        indexes.end()
        for kind, data in zip(INDEXES, (indexes.offsets, indexes.times, indexes.aborted), strict=True):
            name = file_name(base, kind)
            if data or kind != "txnindex" or name in self.names:
                self._write(name, data, "what the log tells")

    def _cut(self, files: SegmentFiles, scan: SegmentScan) -> None:
        log = self.plan.path / file_name(files.base_offset, "log")
        zeros = scan.fault == "zeros"
        self.cuts.append(Cut(log, scan.valid_bytes, scan.size, scan.fault, zeros))

    def _drop(self, base: int, reason: str) -> None:
        for kind in ("log", *INDEXES, "snapshot"):
            if file_name(base, kind) in self.names:
                self._aside(file_name(base, kind), reason, self.doomed)

    # -- beside the segments ----------------------------------------------------------------------

    def _snapshot_files(self) -> dict[int, Path]:
        found = {}
        for name, path in self.names.items():
            match = _FILE.fullmatch(name)
            if match is not None and match[2] == "snapshot" and int(match[1]) <= _MAX_INT64:
                found[int(match[1])] = path
        return dict(sorted(found.items()))

    def _snapshot(self, offset: int, state: ProducerState) -> ProducerState:
        """Plan the producer snapshot at `offset`; the state to go on with, which may know more."""
        name = file_name(offset, "snapshot")
        path = self.names.get(name)
        if path is not None and name not in self.made:
            try:
                there = read_snapshot(path)
            except FormatError:
                pass
            else:
                told = {each.producer_id: each for each in there.entries}
                if all(told.get(each.producer_id) == each for each in state.snapshot().entries):
                    return ProducerState(there)
        if offset > self.log_start and offset > self.first:
            self._write(name, state.snapshot().to_bytes(), "what the log tells")
        return state

    def _snapshots(self, end: int) -> None:
        """Plan that snapshots behind the end go, unreadable ones, and those amid what was read.

        A broker keeps those at the start of a segment, and the newest.
        """
        written = {step.path for step in self.writes if isinstance(step, Write)}
        bases = list(self._logs())
        for offset, path in self._snapshot_files().items():
            name = file_name(offset, "snapshot")
            if self.plan.path / name in written:
                continue
            if offset > end or self.anew:
                self._aside(name, "behind the end of the log", self.doomed)
                continue
            at = bisect_right(bases, offset) - 1
            if at >= 0 and bases[at] in self.read and offset not in (bases[at], end):
                self._aside(name, "neither at the start of a segment nor at the end", self.doomed)
                continue
            try:
                read_snapshot(path)
            except FormatError as error:
                self._aside(name, f"not readable: {type(error).__name__}", self.doomed)

    def _leader_epochs(self, end: int) -> None:
        path = self.names.get(LEADER_EPOCHS)
        there: list[LeaderEpoch] | None = None
        epochs: list[LeaderEpoch] = []
        found = [each for epochs_of_one in self.read.values() for each in epochs_of_one]
        if path is not None:
            try:
                there = read_leader_epochs(path)
                epochs = up_to(there, end)
            except FormatError:
                found = self._epochs_of_all()
        for each in found:
            if not epochs or each.epoch > epochs[-1].epoch:
                epochs = assigned(epochs, each)
        epochs = from_start(epochs, self.log_start)
        if epochs != there and (epochs or path is not None):
            self._write(LEADER_EPOCHS, leader_epochs_bytes(epochs), "what the log tells")

    def _epochs_of_all(self) -> list[LeaderEpoch]:
        """The leaders' epochs that the entries of all segments tell, by their headers where not read yet."""
        found: list[LeaderEpoch] = []
        for files in self._files():
            if files.base_offset in self.read:
                found += self.read[files.base_offset]
                continue
            segment = Segment(files, self.given.limits)
            try:
                for head in segment.heads():
                    if head.partition_leader_epoch > (found[-1].epoch if found else -1):
                        found.append(LeaderEpoch(head.partition_leader_epoch, head.base_offset or 0))
            except FormatError:
                # A segment that nobody has asked to check: what it tells up to there has to do.
                continue
            finally:
                segment.close()
        return found

    def _recovery_point(self, end: int) -> None:
        key = self.plan.topic_partition
        name = parse_folder_name(self.plan.path.name)
        point = self.given.recovery_points.get(key, 0)
        if name is not None and name.kind is ReplicaKind.LIVE and point > end:
            self.writes.append(Lower(self.plan.path.parent / RECOVERY_POINTS, key, point, end))

    # -- indexes only -----------------------------------------------------------------------------

    def reindex(self, segments: Collection[int] | None) -> RecoveryPlan:
        """The plan of `plan_reindex`."""
        plan = self.plan
        if self._refuse_links():
            return plan
        files = self._files()
        plan.segments = len(files)
        plan.start_offset = max(self.log_start, files[0].base_offset if files else 0)
        self.first = files[0].base_offset if files else 0
        state: ProducerState | None = None
        for number, each in enumerate(files):
            if segments is not None and each.base_offset not in segments:
                state = None
                continue
            before = files[number + 1].base_offset if number + 1 < len(files) else None
            if state is None:
                state = producers_at(files, self._snapshot_files(), number, limits=self.given.limits)
            try:
                scan = self._scan(each, state, before)
            except Unsupported as error:
                plan.refused = str(error)
                return plan
            if scan.fault:
                plan.refused = f"{each.log}: byte {scan.valid_bytes}: recover it first: {scan.fault}"
                return plan
            self._indexes(each.base_offset, scan)
            plan.end_offset = scan.next_offset
            state = self._snapshot(scan.next_offset if before is None else before, state)
        plan.steps += self.writes
        return plan


def _offset(name: str) -> int:
    """The offset that a name starts with; one that is below and above none where it does not."""
    match = _OFFSET.match(name)
    return int(match[1]) if match is not None else _MAX_INT64 + 1


def _has_indexes(files: SegmentFiles) -> bool:
    """Whether the indexes are there, and the transaction index is one of this segment."""
    if files.index is None or files.timeindex is None:
        return False
    if files.txnindex is None:
        return True
    return Segment(files).aborted() is not None


def _end(files: SegmentFiles, limits: Limits) -> int | None:
    """The offset after the last one, by headers; None where they do not lead to the end of the log."""
    segment = Segment(files, limits)
    try:
        offset = segment.next_offset
        return offset if segment.torn_tail is None else None
    except FormatError:
        return None
    finally:
        segment.close()


def plan_reindex(
    path: Path,
    *,
    segments: Collection[int] | None = None,
    index_interval_bytes: int = INDEX_INTERVAL,
    max_index_bytes: int = MAX_INDEX,
    limits: Limits = Limits(),  # noqa: B008
    progress: Callable[[int], None] | None = None,
) -> RecoveryPlan:
    """Find which indexes and producer snapshots are not what the log tells; no log is to change.

    Args:
        path: the folder of a topic-partition.
        segments: the base offsets of the segments to read; None: all.
        index_interval_bytes, max_index_bytes, limits, progress: as in `plan_recovery`.

    Where a segment is damaged, nothing is planned (`RecoveryPlan.refused`): it is to be recovered. Nor where
    the folder or a file in it is a symbolic link.
    Raises: OSError; ValueError for a folder that is not a topic-partition's.
    """
    folder = partition_path(path)
    given = _given(folder.root, True, index_interval_bytes, max_index_bytes, limits, progress)
    planner = _Planner(folder.path, folder.topic_partition, given)
    return planner.reindex(segments)
