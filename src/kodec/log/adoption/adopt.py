"""Hands logs that were written without a broker to one, under the topic ids of its cluster.

A broker in KRaft mode serves a folder only if its `partition.metadata` has the id that the cluster's metadata
has for the topic; any other is renamed to `-stray`, and the topic is served empty. So the cluster first
creates the topic; then its empty folder is exchanged here.

Followed: `LogManager.loadLog` and `isStrayReplica`, `UnifiedLog.deleteOldSegments`, Kafka 4.3.
"""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID, uuid4

from kodec.log.arguments import chosen_names
from kodec.log.cleaning.retention import plan_trim
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.offline import require_whole
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import (
    MetaProperties,
    read_offsets,
    write_offsets,
    write_partition_metadata,
)
from kodec.log.files.descriptors import keep_owner, open_file, require_owner
from kodec.log.files.durable import exchange, sync_folder
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.in_use import require_unused
from kodec.log.files.listing import TopicPartition, find_partitions, left_out_of
from kodec.log.files.lock import locked
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    INDEXES,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    OMITTED_OFFSETS,
    PARTITION_METADATA,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import partition_path, require_apart, require_no_link
from kodec.log.files.quarantine import copy_from, move_away, quarantine_of
from kodec.log.messages.as_json import uuid_text
from kodec.log.omissions import Cause, Omissions
from kodec.log.remote.resolve import LogDirectoryPath, NotALog, resolve
from kodec.log.selection import Topics
from kodec.log.verification.verify import verify
from kodec.log.views.contents import damage_in
from kodec.log.views.metadata import ClusterMetadata, PartitionAssignment, Topic, read_metadata
from kodec.log.writing.add_segments import is_unfinished
from kodec.log.writing.new_folder import working_name
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import StalePlan
from kodec.runtime.near import meant
from kodec.runtime.plan import OnStep, Plan, StepReport, ignore, refuse

__all__ = ["RETENTION_MS", "Adoption", "AdoptionPlan", "plan_adoption"]

RETENTION_MS = 7 * 86_400_000
"""Kafka's default of `log.retention.hours`, for topics without a `retention.ms` ."""

# Reserved ids: no directory, or an unknown one.
_RESERVED = 100
_OF_BATCHES = (".log", *(f".{kind}" for kind in INDEXES))
_KINDS = (*_OF_BATCHES, ".snapshot")


@dataclass(frozen=True, slots=True)
class Adoption:
    """One topic-partition.

    Attributes:
        source, target: its folders; topic_id: None if unknown.
        segments, bytes, start_offset, end_offset: of its log.
        retention_ms, retention_bytes: the broker's limits; None if unlimited.
        own_retention: whether the topic has a `retention.ms` of its own, as far as is known.
        expired, expired_bytes: the segments, oldest first, that the broker would delete within minutes.
        problems: why it cannot be adopted; empty if it can.
        is_adopted: whether its log is already in place, byte for byte and with the same start offset, as
            after an adoption that was killed.
        topic_partition: which one.

    Example: see `plan_adoption`.
    """

    topic_partition: TopicPartition
    source: Path
    target: Path
    topic_id: UUID | None
    segments: int
    bytes: int
    start_offset: int
    end_offset: int
    retention_ms: int | None
    retention_bytes: int | None
    own_retention: bool
    expired: int
    expired_bytes: int
    problems: list[str] = field(default_factory=list)
    is_adopted: bool = False

    @property
    def is_in_place(self) -> bool:
        """Whether the log is in the broker's log directory already."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class AdoptionPlan(Plan[StepReport[Adoption]]):
    """The plan of an adoption; `apply` carries it out.

    Attributes:
        source, into: the log directory that is read, and those of the broker.
        partitions: by topic and partition.
        omissions: what is in the source and is not adopted.
        planner: made this plan. fingerprints: of the folders that it read.
        progress: called with the bytes of logs copied since the last call.
        allow_expired: adopt even if retention would delete segments at once.
        quarantine: the folder for the broker's old files; None: `<log directory>.quarantine`, beside each.

    Example: see `plan_adoption`.
    """

    source: Path
    into: tuple[Path, ...]
    partitions: list[Adoption]
    omissions: Omissions
    planner: _Planner = field(repr=False)
    fingerprints: tuple[Fingerprint, ...] = field(repr=False)
    progress: Callable[[int], None] = field(default=lambda _: None, repr=False)
    allow_expired: bool = False
    quarantine: Path | None = None

    @property
    def problems(self) -> list[str]:
        """Why nothing can be adopted, one reason per line; empty if all can be."""
        problems = [
            f"{partition.topic_partition}: {text}"
            for partition in self.partitions
            for text in partition.problems
        ]
        expired = ", ".join(
            str(partition.topic_partition) for partition in self.partitions if partition.expired
        )
        if expired and not problems and not self.allow_expired:
            problems.append(f"retention would delete segments of {expired} at once: change it first")
        return problems

    @property
    def has_changes(self) -> bool:
        """Whether there is something to adopt."""
        return not all(partition.is_adopted for partition in self.partitions)

    def preview(self) -> StepReport[Adoption]:
        return StepReport(list(self.partitions))

    def apply(self, *, on_step: OnStep = ignore) -> StepReport[Adoption]:
        """Copy the logs into the broker's log directories; the source is only read. No broker may run.

        The locks of all directories are held. First everything is copied into folders that a broker deletes
        when it starts: an error so far, such as a full disk, leaves everything unchanged. Then the old
        entries and the clean-shutdown marker are removed from the checkpoints, so that the broker checks
        the new logs when it starts. Finally each folder is exchanged for the empty one of the broker, which
        goes to the quarantine folder. Folders and files get the owner, group and permissions of the broker's.
        A killed adoption leaves what is already in place: a new plan completes the rest.

        Args:
            on_step: called with each topic-partition once it is durably in place.

        Returns: the topic-partitions; `kept` has the folders in quarantine with the broker's old files.
        Raises: ValueError for a plan with problems; StalePlan if anything that the plan was made from has
        changed, for example if the broker has appended records since; BlockingIOError if a broker runs or
        another program writes to the source; PermissionError if this user cannot give files to the broker's
        owner; OSError. If some were adopted before the error, its note states how many.
        """
        refuse(self.problems)
        for root in self.into:
            require_owner(root)
        places = [quarantine_of(partition.target, self.quarantine) for partition in self.partitions]
        with ExitStack() as stack:
            self._hold(stack)
            self.require_current()
            with ExitStack() as copies:
                working = [self._copied(partition, copies) for partition in self.partitions]
                # Copying may have taken hours.
                self.require_current()
                for root in self.into:
                    self._forget(root)
                copies.pop_all()
            return self._exchange(working, places, on_step)

    def _hold(self, stack: ExitStack) -> None:
        """Exclude all other writers in these folders, in any process."""
        locks = {root: stack.enter_context(locked(root)) for root in self.into}
        if self.source not in locks:
            try:
                locks[self.source] = stack.enter_context(locked(self.source, stays=False))
            except OSError as error:
                # Nobody can write there.
                if error.errno != errno.EROFS:
                    raise
        for root, lock in locks.items():
            stack.enter_context(lock.claim(root))
        for folder in {partition.source for partition in self.partitions} | {
            partition.target for partition in self.partitions
        }:
            if folder.exists():
                if folder.parent in locks:
                    stack.enter_context(locks[folder.parent].claim(folder))
                require_unused(folder)

    def require_current(self) -> None:
        """Raises StalePlan if the plan would be different now; OSError."""
        for fingerprint in self.fingerprints:
            fingerprint.require()
        try:
            planner = self.planner.again()
            now = planner.partitions([partition.source for partition in self.partitions], check=lambda _: [])
        except (ValueError, KeyError) as error:
            raise StalePlan(str(self.source), f"cannot be adopted any more ({error})") from error
        if planner.properties != self.planner.properties:
            raise StalePlan(str(self.into[0] / META_PROPERTIES), "has changed")
        for before, after in zip(self.partitions, now, strict=True):
            if before != after:
                text = "; ".join(after.problems) or "its metadata in the cluster has changed"
                raise StalePlan(str(before.target), f"has changed ({text})")

    def _copied(self, adoption: Adoption, copies: ExitStack) -> Path:
        """The folder to adopt, ready and durable; `made` removes a copy again."""
        source, root = adoption.source, adoption.target.parent
        if adoption.is_in_place:
            return source
        folder = root / working_name(adoption.target.name)
        require_no_link(folder)
        if adoption.is_adopted:
            # it may hold the broker's old files
            return folder
        if folder.exists():
            # left by a killed adoption
            shutil.rmtree(folder)
        copies.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.mkdir()
        for path in _files_of(source):
            # Its creator may lack read access to the target of a link that the broker's user can read.
            require_no_link(path)
            copy_from(path, 0, folder / path.name, self.progress if path.suffix == ".log" else None)
        _furnish(folder, adoption)
        return folder

    def _forget(self, root: Path) -> None:
        """Remove the broker's entries for the empty logs; keep the entries for deleted records."""
        adopted = {
            partition.topic_partition
            for partition in self.partitions
            if partition.target.parent == root and not partition.is_adopted
        }
        starts = LogRoot(self.source).log_start_offsets
        deleted = {owner: offset for owner, offset in starts.items() if owner in adopted}
        if not adopted:
            return
        # First: however this ends, the broker checks what it finds, and deleted records stay deleted.
        (root / CLEAN_SHUTDOWN).unlink(missing_ok=True)
        sync_folder(root)
        for name in (RECOVERY_POINTS, HIGH_WATERMARKS, CLEANER_OFFSETS, LOG_START_OFFSETS):
            path = root / name
            before = read_offsets(path) if path.exists() else {}
            after = {owner: offset for owner, offset in before.items() if owner not in adopted}
            if name == LOG_START_OFFSETS:
                after |= deleted
            if after != before:
                write_offsets(path, after)

    def _exchange(
        self, working: Sequence[Path], places: Sequence[Path], on_step: OnStep
    ) -> StepReport[Adoption]:
        """Exchange each folder with the broker's empty one."""
        report = StepReport[Adoption]([], applied=True)
        count = 0
        for partition, copy, quarantine in zip(self.partitions, working, places, strict=True):
            try:
                empty = None
                if partition.is_in_place:
                    _furnish(copy, partition)
                elif partition.is_adopted:
                    empty = copy if copy.exists() else None
                else:
                    empty = _put_in_place(copy, partition.target)
                count += 1
                sync_folder(partition.target.parent)
                if empty is not None:
                    report.kept.append(quarantine)
                    for path in sorted(empty.iterdir()):
                        move_away(path, quarantine)
                    empty.rmdir()
                    sync_folder(partition.target.parent)
            except BaseException as error:
                for other, leftover in zip(self.partitions[count:], working[count:], strict=True):
                    if not (other.is_in_place or other.is_adopted):
                        shutil.rmtree(leftover, ignore_errors=True)
                error.add_note(f"{count} of {len(self.partitions)} topic-partitions were adopted")
                raise
            report.steps.append(partition)
            on_step(partition)
        return report


def _furnish(folder: Path, adoption: Adoption) -> None:
    """Give a folder its topic id, and it and its files the owner of the log directory; durably."""
    assert adoption.topic_id is not None
    like = adoption.target.parent.stat()
    write_partition_metadata(folder / PARTITION_METADATA, adoption.topic_id)
    for path in (*folder.iterdir(), folder):
        with open_file(path, os.O_RDONLY) as fd:
            keep_owner(fd, like, None if path == folder else like.st_mode & 0o666)
            # A broker that may not read its log treats the whole directory as failed.
            os.fsync(fd)


def _put_in_place(copy: Path, target: Path) -> Path | None:
    """Give a folder its final name; return the new place of the folder that had it, or None."""
    if not target.exists():
        copy.rename(target)
        return None
    if not exchange(copy, target):
        # A name that marks a replica for deletion, in case of a crash here.
        aside = copy.with_name(f"{copy.name.partition('.')[0]}.{uuid4().hex}-delete")
        target.rename(aside)
        copy.rename(target)
        copy = aside
    return copy


def plan_adoption(
    source: str | os.PathLike[str],
    into: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    metadata: str | os.PathLike[str] | None = None,
    topics: Topics = None,
    topic_ids: Mapping[str, UUID] = {},
    retention_ms: int = RETENTION_MS,
    allow_expired: bool = False,
    quarantine: Path | None = None,
    now: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> AdoptionPlan:
    """Check whether a broker would serve the logs of `source` in its log directories `into`.

    Nothing is written. The logs are read from start to end, as `verify` does.

    Args:
        source: a log directory that no broker uses, written by `LogDirectoryWriter`, a conversion or Spark.
            It may be `into` itself: then only ids, owners and checkpoints are set.
        into: one or several entries of the `log.dirs` of a stopped broker, with their
            `meta.properties`. Each topic-partition goes where the cluster has it; if nowhere,
            into the one with the fewest.
        metadata: a log directory, of the broker or of a controller, that holds `__cluster_metadata-0`; None:
            `into`. Without one, `topic_ids` are needed, and replicas and retention are
            unknown.
        topics: of `source`; None: all.
        topic_ids: by topic; must agree with the metadata, if that has the topic.
        retention_ms: for topics without their own setting: the broker's `log.retention.ms`.
        allow_expired, quarantine: see `AdoptionPlan`.
        now: ms since epoch; the current time by default.
        progress: called with the bytes read since the last call, and by `apply` with those copied.

    Returns: a plan; `apply` copies and prepares.
    Raises: NotALog where there is nothing to adopt; ValueError where `into` is no broker's log directory, or
    lies in `source`, where `source` or the metadata is of another cluster, and where segments are to be moved
    into `source` still (`kodec.log.writing.add_segments.finish_additions`); KeyError for a topic that is
    not in `source`; OSError; FormatError for a log with a damaged end.

    Example:
        >>> import kodec
        >>> from uuid import UUID
        >>> same = kodec.operations.ConvertOptions()
        >>> _ = kodec.operations.plan_conversion("/data/kafka-logs/orders-0", "made/orders-0", same).apply()
        >>> with kodec.LogDirectoryWriter("broker", cluster_id="a29kZWMtcmVhbC1sb2dzMQ", node_id=1):
        ...     pass
        >>> plan = kodec.operations.plan_adoption("made", "broker", topic_ids={"orders": UUID(int=7)})
        >>> [(str(each.topic_partition), each.end_offset, each.problems) for each in plan.partitions]
        [('orders-0', 421, [])]
    """
    source_path = Path(source).resolve()
    targets = [into] if isinstance(into, (str, os.PathLike)) else into
    roots = tuple(dict.fromkeys(Path(target).resolve() for target in targets))
    if not roots:
        raise ValueError("give a log directory of the broker")
    if source_path not in roots:
        for root in roots:
            require_apart(source_path, root)
    elif len(roots) > 1:
        raise ValueError(f"{source_path} is adopted in place: give no other log directory")
    if is_unfinished(source_path):
        raise ValueError(f"{source_path}: added segments are not yet in place: finish that first")
    what = resolve(source_path)
    live = what.partitions if isinstance(what, LogDirectoryPath) else []
    selected = [partition for partition in live if not partition.topic_partition.is_internal]
    if not selected:
        raise NotALog(f"{source_path} has no folder named like orders-0, or only Kafka's own topics")
    if (topic_names := chosen_names("topics", topics)) is not None:
        names = set(topic_names)
        known = {partition.topic_partition.topic for partition in selected}
        if missing := sorted(names - known):
            raise KeyError(f"{source_path} has no topic {', '.join(missing)}{meant(missing[0], known)}")
        selected = [partition for partition in selected if partition.topic_partition.topic in names]
    moment = time.time_ns() // 1_000_000 if now is None else now
    metadata_path = None if metadata is None else Path(metadata)
    planner = _Planner.read(source_path, roots, metadata_path, topic_ids, retention_ms, moment)
    sources = [partition.path for partition in selected]
    # Before the logs are read.
    folders = {*sources, *(root / path.name for root in roots for path in sources)}
    fingerprints = tuple(Fingerprint.of(folder) for folder in sorted(folders))
    partitions = planner.partitions(sources, check=lambda path: _problems_in(path, progress))
    omissions = Omissions()
    omissions.extend(left_out_of(source_path))
    for partition in live:
        if partition.topic_partition.is_internal:
            text = "not adopted: it is one of Kafka's own topics, and the cluster has its own"
            omissions.lose(partition.path, text, Cause.ABSENT)
    return AdoptionPlan(
        source_path, roots, partitions, omissions, planner, fingerprints, progress, allow_expired, quarantine
    )


def _problems_in(folder: Path, progress: Callable[[int], None]) -> list[str]:
    """The findings of `verify` in a log, on one line; and what an adoption would copy torn."""
    problems: list[object] = [problem for problem in verify(folder, progress=progress) if not problem.note]
    for path in _files_of(folder):
        if path.suffix not in _OF_BATCHES and path.is_file() and (damage := damage_in(path)) is not None:
            problems.append(f"{path}: {damage}")
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return [f"verify reports a problem: {problems[0]}{more}"] if problems else []


@dataclass(frozen=True, slots=True)
class _Planner:
    """The inputs of a plan besides the logs; `again` reads them once more."""

    source: Path
    into: tuple[Path, ...]
    metadata_at: Path | None
    topic_ids: Mapping[str, UUID]
    retention_ms: int
    now: int
    metadata: ClusterMetadata | None
    properties: Mapping[Path, MetaProperties]

    @classmethod
    def read(
        cls,
        source: Path,
        into: tuple[Path, ...],
        metadata_at: Path | None,
        topic_ids: Mapping[str, UUID],
        retention_ms: int,
        now: int,
    ) -> _Planner:
        """Raises ValueError unless all belong to one cluster and one broker; OSError; FormatError."""
        properties = {root: _properties(root) for root in into}
        first = properties[into[0]]
        for root, meta in properties.items():
            if (meta.cluster_id, meta.node_id) != (first.cluster_id, first.node_id):
                raise ValueError(f"{into[0]} and {root} belong to different brokers")
        for path in (source, *([] if metadata_at is None else [metadata_at])):
            stated = LogRoot(path).meta_properties()
            if stated is not None and stated.cluster_id not in (None, first.cluster_id):
                raise ValueError(
                    f"{path} belongs to cluster {stated.cluster_id}, but {into[0]} of {first.cluster_id}"
                )
        metadata = _metadata(
            into if metadata_at is None else (metadata_at,), required=metadata_at is not None
        )
        if metadata is not None:
            if metadata.omissions.unread:
                raise ValueError(f"the metadata cannot be read completely: {metadata.omissions.unread[0]}")
            for broker in metadata.brokers:
                known = {uuid_text(log_dir) for log_dir in broker.log_dirs}
                for root, meta in properties.items():
                    identity = meta.directory_id
                    if broker.id == meta.node_id and known and identity is not None and identity not in known:
                        raise ValueError(
                            f"{root}: the cluster's metadata has no log directory {identity} of broker "
                            f"{broker.id}: it is of another cluster, or the broker was never started there"
                        )
        return cls(source, into, metadata_at, topic_ids, retention_ms, now, metadata, properties)

    @property
    def node(self) -> int | None:
        """The broker's id."""
        return self.properties[self.into[0]].node_id

    def again(self) -> _Planner:
        """The same, read again now."""
        return _Planner.read(
            self.source, self.into, self.metadata_at, self.topic_ids, self.retention_ms, self.now
        )

    def partitions(self, sources: Sequence[Path], check: Callable[[Path], list[str]]) -> list[Adoption]:
        """The plan for each folder; `check` returns the problems of the log in it."""
        held = {root: len(find_partitions(root)) for root in self.into}
        return [self._plan(path, held, check) for path in sources]

    def _root_for(self, name: str, known: UUID | None, held: dict[Path, int]) -> tuple[Path, list[str]]:
        """The target log directory of a partition, and reasons against it."""
        if known is not None:
            of = [root for root, meta in self.properties.items() if meta.directory_id == uuid_text(known)]
            if of:
                return of[0], []
            if all(meta.directory_id is not None for meta in self.properties.values()):
                text = f"the broker has it in another of its log.dirs, {uuid_text(known)}"
                return self.into[0], [f"{text}: also give that with --into"]
        present = [root for root in self.into if (root / name).exists()]
        if len(present) > 1:
            return present[0], [f"it is in both {present[0]} and {present[1]}"]
        root = present[0] if present else min(held, key=lambda candidate: held[candidate])
        held[root] += not present
        return root, []

    def _plan(self, source: Path, held: dict[Path, int], check: Callable[[Path], list[str]]) -> Adoption:
        owner = partition_path(source).topic_partition
        topic = None if self.metadata is None else self.metadata.topic(owner.topic)
        topic_id = self.topic_ids.get(owner.topic) if topic is None else topic.topic_id
        assignment = None if topic is None else _place_of(topic, owner.partition)
        known = (
            []
            if assignment is None
            else [directory for directory in assignment.directories if directory.int >= _RESERVED]
        )
        root, problems = self._root_for(source.name, known[0] if known else None, held)
        target = root / source.name
        links = [path for path in (source, *sorted(source.iterdir())) if path.is_symlink()]
        problems += [f"{link} is a symbolic link: its owner is unknown" for link in links]
        # A copy made by hand has the bytes, but lacks the log start offset.
        starts = [LogRoot(folder.parent).log_start_offsets.get(owner, 0) for folder in (source, target)]
        is_adopted = (
            source != target and not links and starts[0] == starts[1] and _is_copy(source, target, topic_id)
        )
        problems += [] if source == target or is_adopted else _problems_of(target, topic_id)
        configs = {} if topic is None else topic.configs
        is_deleted = "delete" in configs.get("cleanup.policy", "delete")
        most_ms = int(configs.get("retention.ms", self.retention_ms)) if is_deleted else -1
        most_bytes = int(configs.get("retention.bytes", -1)) if is_deleted else -1
        with PartitionLog(source) as log:
            for segment in log.segments[-1:]:
                segment.last_header()
                require_whole(segment)
            epochs = log.leader_epochs()
            problems += self._problems(owner, topic, assignment, topic_id, epochs[-1].epoch if epochs else 0)
            problems += check(source)
            plan = plan_trim(
                source,
                retention_ms=None if most_ms < 0 else most_ms,
                retention_bytes=None if most_bytes < 0 else most_bytes,
                now=self.now,
            )
            return Adoption(
                owner,
                source,
                target,
                topic_id,
                len(log.segments),
                log.size,
                log.start_offset,
                log.end_offset,
                None if most_ms < 0 else most_ms,
                None if most_bytes < 0 else most_bytes,
                "retention.ms" in configs,
                len(plan.deleted),
                sum(segment.bytes for segment in plan.deleted),
                problems,
                is_adopted,
            )

    def _problems(
        self,
        owner: TopicPartition,
        topic: Topic | None,
        assignment: PartitionAssignment | None,
        topic_id: UUID | None,
        epoch: int,
    ) -> list[str]:
        if topic is None:
            if topic_id is not None and self.metadata is None:
                return []
            where = "is not in the cluster's metadata" if self.metadata is not None else "has no known id"
            return [f"the topic {where}: let the cluster create it, then stop the broker"]
        problems = []
        stated_id = self.topic_ids.get(owner.topic)
        if stated_id is not None and stated_id != topic.topic_id:
            problems.append(
                f"its id is {uuid_text(topic.topic_id)} in the cluster's metadata, not {uuid_text(stated_id)}"
            )
        if assignment is None:
            return [*problems, f"the topic has {len(topic.partitions)} partitions in the cluster"]
        if assignment.replicas != [self.node]:
            have = ", ".join(map(str, assignment.replicas))
            problems.append(
                f"its replicas are on {have}, but this broker is {self.node}: the others are empty, and this "
                "one would follow them; assign only this broker, and add replicas later"
            )
        if epoch > assignment.leader_epoch:
            problems.append(
                f"its newest leader epoch is {epoch}, but the cluster's is {assignment.leader_epoch}: "
                "delete the topic in the cluster, and kodec rebuild makes it with the epochs of this log; or "
                "rewrite it from Parquet or by Spark"
            )
        return problems


def _properties(root: Path) -> MetaProperties:
    """The broker of a log directory. Raises ValueError if it has none."""
    meta = LogRoot(root).meta_properties()
    if meta is None or meta.version < 1:
        raise ValueError(f"{root} has no {META_PROPERTIES} of a broker in KRaft mode: start it there once")
    return meta


def _metadata(paths: Sequence[Path], *, required: bool) -> ClusterMetadata | None:
    try:
        return read_metadata(*paths)
    except NotALog:
        if required:
            raise
        return None


def _place_of(topic: Topic, partition: int) -> PartitionAssignment | None:
    return next((assignment for assignment in topic.partitions if assignment.partition == partition), None)


def _is_copy(source: Path, target: Path, topic_id: UUID | None) -> bool:
    """Whether a broker's folder holds the log of `source`, byte for byte, under the id of its topic."""
    if not target.is_dir() or target.is_symlink():
        return False
    names = [{path.name for path in _files_of(folder)} for folder in (source, target)]
    with PartitionLog(target) as log:
        metadata = log.metadata()
    if names[0] != names[1] or metadata is None or metadata.topic_id != topic_id:
        return False
    return all(
        not (target / name).is_symlink() and filecmp.cmp(source / name, target / name, shallow=False)
        for name in names[0]
    )


def _files_of(folder: Path) -> list[Path]:
    """The files of a log to adopt."""
    names = (LEADER_EPOCHS, OMITTED_OFFSETS)
    return sorted(path for path in folder.iterdir() if path.suffix in _KINDS or path.name in names)


def _problems_of(target: Path, topic_id: UUID | None) -> list[str]:
    """The problems of the broker's existing folder."""
    if not target.exists():
        return []
    require_no_link(target)
    problems = []
    with PartitionLog(target) as log:
        if any(segment.size for segment in log.segments):
            end = log.end_offset
            problems.append(f"the broker's log is not empty: it ends at offset {end}")
        metadata = log.metadata()
        if metadata is not None and topic_id is not None and metadata.topic_id != topic_id:
            have = uuid_text(metadata.topic_id)
            problems.append(f"the broker's folder has the id {have}, not {uuid_text(topic_id)}")
    return problems
