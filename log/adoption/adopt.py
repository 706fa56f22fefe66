"""Hands logs that were written without a broker to one, under the topic ids of its cluster.

A broker in KRaft mode serves a folder only where `partition.metadata` has the id that the cluster's metadata
has for the topic; any other is renamed to `-stray`, and the topic is served empty. So the topic is created
first, by the cluster, and its empty folder exchanged here.

Followed: `LogManager.loadLog` and `isStrayReplica`, `UnifiedLog.deleteOldSegments`, Kafka 4.3.
"""

from __future__ import annotations

import os
import shutil
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

from kodec.log.cleaning.retention import plan_trim
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.offline import require_whole
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import read_offsets, write_offsets, write_partition_metadata
from kodec.log.files.descriptors import keep_owner, open_file
from kodec.log.files.durable import sync_file, sync_folder
from kodec.log.files.listing import PartitionFolder, TopicPartition, find_partitions
from kodec.log.files.lock import is_locked, locked
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
from kodec.log.files.paths import require_apart, require_no_link
from kodec.log.files.resolve import NotALog
from kodec.log.views.metadata import ClusterMetadata, Topic, read_metadata
from kodec.log.writing.addition import is_unfinished
from kodec.log.writing.new_folder import working_name

__all__ = ["RETENTION_MS", "Adoption", "AdoptionPlan", "plan_adoption"]

RETENTION_MS = 7 * 86_400_000
"""Kafka's default of `log.retention.hours`, for topics without a `retention.ms` of their own."""

# Ids that stand for none, or for a directory that is not known.
_RESERVED = 100
_KINDS = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


@dataclass(frozen=True, slots=True)
class Adoption:
    """One topic-partition.

    Attributes:
        source, target: its folders; topic_id: None where it is not known.
        segments, bytes, start_offset, end_offset: of its log.
        retention_ms, retention_bytes: what the broker goes by; None for no bound.
        own_retention: whether the topic has a `retention.ms` of its own, as far as is known.
        expired, expired_bytes: the segments, oldest first, that the broker would delete within minutes.
        problems: why it cannot be adopted; empty where it can.
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


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """What would be adopted; `apply` does it.

    Attributes: source and into are the log directories; partitions are by topic and partition.
    """

    source: Path
    into: Path
    partitions: list[Adoption]
    progress: Callable[[int], None] | None = None

    @property
    def problems(self) -> list[str]:
        """Why nothing can be adopted, a line each; empty where all can."""
        return [f"{each.topic_partition}: {text}" for each in self.partitions for text in each.problems]

    @property
    def has_changes(self) -> bool:
        """Whether there is something to adopt."""
        return bool(self.partitions)

    def apply(self, *, allow_expired: bool = False) -> None:
        """Copy the logs into the broker's log directory; the source is only read. The broker must not run.

        A folder appears when all of it is durable, and replaces the empty one of the broker. Checkpoints of
        what was there before go, and so does the clean-shutdown marker: the broker checks the new logs when
        it starts. Folders and files get the owner, group and permissions of the broker's.

        Args: allow_expired: also where retention would delete segments at once.
        Raises: ValueError for a plan with problems, and for segments that retention would delete;
        BlockingIOError where a broker runs, or writes into the source; PermissionError where this user cannot
        give files to the broker's owner; OSError.
        """
        if self.problems:
            raise ValueError("; ".join(self.problems))
        if not allow_expired and (gone := [each for each in self.partitions if each.expired]):
            names = ", ".join(str(each.topic_partition) for each in gone)
            raise ValueError(f"retention would delete segments of {names} at once: change it first")
        like = self.into.stat()
        if os.geteuid() not in (0, like.st_uid):
            text = f"is the broker's, of user {like.st_uid}; run this as that user, or as root"
            raise PermissionError(f"{self.into} {text}")
        if self.source != self.into and is_locked(self.source):
            raise BlockingIOError(f"{self.source} is in use by a broker or another program")
        with locked(self.into) as lock:
            # First: whatever ends this, the broker checks what it finds, and deleted records stay deleted.
            self._forget()
            sync_folder(self.into)
            for each in self.partitions:
                with lock.claim(each.source if each.source == each.target else self._folder(each)):
                    self._adopt(each, like)
            sync_folder(self.into)

    def _folder(self, adoption: Adoption) -> Path:
        folder = self.into / working_name(adoption.target.name)
        require_no_link(folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _adopt(self, adoption: Adoption, like: os.stat_result) -> None:
        assert adoption.topic_id is not None
        source, target = adoption.source, adoption.target
        working = source if source == target else self.into / working_name(target.name)
        if working != source:
            for path in sorted(source.iterdir()):
                if path.suffix in _KINDS or path.name == LEADER_EPOCHS:
                    # Whoever made it may not read what it leads to, and the broker's users may.
                    require_no_link(path)
                    shutil.copyfile(path, working / path.name)
                    shutil.copystat(path, working / path.name)
                    sync_file(working / path.name)
                    if self.progress is not None and path.suffix == ".log":
                        self.progress(path.stat().st_size)
        write_partition_metadata(working / PARTITION_METADATA, adoption.topic_id)
        for path in working.iterdir():
            with open_file(path, os.O_RDONLY) as fd:
                keep_owner(fd, like, like.st_mode & 0o666)
        with open_file(working, os.O_RDONLY) as fd:
            keep_owner(fd, like)
        sync_folder(working)
        if working == source:
            return
        if target.exists():
            # What a broker takes for a folder that it was deleting, should this be the end.
            aside = self.into / f"{working_name(target.name).partition('.')[0]}.{uuid4().hex}-delete"
            target.rename(aside)
            working.rename(target)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            working.rename(target)

    def _forget(self) -> None:
        """Take out what the broker has noted of the empty logs; keep which records of these are deleted."""
        adopted = {each.topic_partition for each in self.partitions}
        deleted = {
            owner: offset
            for owner, offset in LogRoot(self.source).log_start_offsets.items()
            if owner in adopted
        }
        (self.into / CLEAN_SHUTDOWN).unlink(missing_ok=True)
        for name in (RECOVERY_POINTS, HIGH_WATERMARKS, CLEANER_OFFSETS, LOG_START_OFFSETS):
            path = self.into / name
            before = read_offsets(path) if path.is_file() else {}
            after = {owner: offset for owner, offset in before.items() if owner not in adopted}
            if name == LOG_START_OFFSETS:
                after |= deleted
            if after != before:
                write_offsets(path, after)


def plan_adoption(
    source: str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    metadata: str | os.PathLike[str] | None = None,
    topics: Iterable[str] | None = None,
    topic_ids: Mapping[str, UUID] = {},
    retention_ms: int = RETENTION_MS,
    now: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> AdoptionPlan:
    """Look whether a broker would serve the logs of `source` in its log directory `into`.

    Nothing is written.

    Args:
        source: a log directory that no broker uses, as `LogDirectoryWriter`, a conversion or Spark wrote it.
            It may be `into` itself: then only ids, owners and checkpoints are set.
        into: an entry of the `log.dirs` of a broker that was stopped, with its `meta.properties`.
        metadata: a log directory, of the broker or of a controller, that holds `__cluster_metadata-0`; None:
            `into`. Where there is none, `topic_ids` are needed, and what replicas and retention are is not
            known.
        topics: of `source`; None for all.
        topic_ids: by topic; where the metadata has the topic, they must agree.
        retention_ms: of topics without a setting of their own: the broker's `log.retention.ms`.
        now: ms since epoch; the clock's time where it is not given.
        progress: called by `apply` with the bytes copied since the last call.

    Raises: NotALog where there is nothing to adopt; ValueError where `into` is no broker's log directory, or
    lies in `source`, and where segments are to be moved into `source` still
    (`kodec.log.writing.addition.finish_additions`); KeyError for a topic that is not in `source`; OSError;
    FormatError for a log that is damaged at its end.
    """
    given, target = Path(source).resolve(), Path(into).resolve()
    if given != target:
        require_apart(given, target)
    root = LogRoot(target)
    properties = root.meta_properties()
    if properties is None or properties.version < 1:
        raise ValueError(f"{target} has no {META_PROPERTIES} of a broker in KRaft mode: start it there once")
    if is_unfinished(given):
        raise ValueError(f"{given}: segments were to be added, and are not in place: finish that first")
    found = [each for each in find_partitions(given) if not each.topic_partition.is_internal]
    if not found:
        raise NotALog(f"{given} has no folder named like orders-0, or of Kafka's own topics alone")
    known = _metadata(target if metadata is None else Path(metadata), required=metadata is not None)
    if topics is not None:
        names = set(topics)
        if missing := names - {each.topic_partition.topic for each in found}:
            raise KeyError(f"{given} has no topic {', '.join(sorted(missing))}")
        found = [each for each in found if each.topic_partition.topic in names]
    now = time.time_ns() // 1_000_000 if now is None else now
    planner = _Planner(
        target, known, properties.node_id, properties.directory_id, topic_ids, retention_ms, now
    )
    return AdoptionPlan(given, target, [planner.plan(folder) for folder in found], progress)


def _metadata(path: Path, *, required: bool) -> ClusterMetadata | None:
    try:
        return read_metadata(path)
    except (OSError, ValueError):
        if required:
            raise
        return None


@dataclass(frozen=True, slots=True)
class _Planner:
    into: Path
    metadata: ClusterMetadata | None
    node: int | None
    directory: str | None
    topic_ids: Mapping[str, UUID]
    retention_ms: int
    now: int

    def plan(self, folder: PartitionFolder) -> Adoption:
        owner, target = folder.topic_partition, self.into / folder.path.name
        topic = None if self.metadata is None else self.metadata.topic(owner.topic)
        topic_id = self.topic_ids.get(owner.topic) if topic is None else topic.topic_id
        links = [each for each in (folder.path, *sorted(folder.path.iterdir())) if each.is_symlink()]
        problems = [f"{each} is a symbolic link: whose file it is cannot be told from here" for each in links]
        problems += [] if folder.path == target else _problems_of(target, topic_id)
        own = {} if topic is None else topic.configs
        is_deleted = "delete" in own.get("cleanup.policy", "delete")
        most_ms = int(own.get("retention.ms", self.retention_ms)) if is_deleted else -1
        most_bytes = int(own.get("retention.bytes", -1)) if is_deleted else -1
        with PartitionLog(folder.path) as log:
            for segment in log.segments[-1:]:
                segment.last_header()
                require_whole(segment)
            epochs = log.leader_epochs()
            problems += self._problems(owner, topic, topic_id, epochs[-1].epoch if epochs else 0)
            plan = plan_trim(
                folder.path,
                retention_ms=None if most_ms < 0 else most_ms,
                retention_bytes=None if most_bytes < 0 else most_bytes,
                now=self.now,
            )
            return Adoption(
                owner,
                folder.path,
                target,
                topic_id,
                len(log.segments),
                log.size,
                log.start_offset,
                log.end_offset,
                None if most_ms < 0 else most_ms,
                None if most_bytes < 0 else most_bytes,
                "retention.ms" in own,
                len(plan.deleted),
                sum(each.bytes for each in plan.deleted),
                problems,
            )

    def _problems(
        self, owner: TopicPartition, topic: Topic | None, topic_id: UUID | None, epoch: int
    ) -> list[str]:
        if topic is None:
            if topic_id is not None and self.metadata is None:
                return []
            where = "is not in the cluster's metadata" if self.metadata is not None else "has no known id"
            return [f"the topic {where}: let the cluster create it, then stop the broker"]
        found = []
        given = self.topic_ids.get(owner.topic)
        if given is not None and given != topic.topic_id:
            found.append(f"its id is {_shown(topic.topic_id)} in the cluster's metadata, not {_shown(given)}")
        place = next((each for each in topic.partitions if each.partition == owner.partition), None)
        if place is None:
            return [*found, f"the topic has {len(topic.partitions)} partitions in the cluster"]
        if place.replicas != [self.node]:
            have = ", ".join(map(str, place.replicas))
            found.append(
                f"its replicas are on {have}, and this broker is {self.node}: the others are empty, and this "
                "one would follow them; let it have this one alone, and add others when it is served"
            )
        known = [each for each in place.directories if each.int >= _RESERVED]
        if self.directory is not None and known and _shown(known[0]) != self.directory:
            found.append(f"the broker has it in another of its log.dirs, {_shown(known[0])}")
        if epoch > place.leader_epoch:
            found.append(
                f"its newest leader epoch is {epoch}, and the cluster's {place.leader_epoch}: write it anew, "
                "from Parquet or by Spark"
            )
        return found


def _shown(topic_id: UUID) -> str:
    """An id as Kafka shows it."""
    return urlsafe_b64encode(topic_id.bytes).decode("ascii").rstrip("=")


def _problems_of(target: Path, topic_id: UUID | None) -> list[str]:
    """What is wrong with the folder that the broker has already."""
    if not target.exists():
        return []
    require_no_link(target)
    found = []
    with PartitionLog(target) as log:
        if any(segment.size for segment in log.segments):
            end = log.end_offset
            found.append(f"the broker's log is not empty: it ends at offset {end}")
        metadata = log.metadata()
        if metadata is not None and topic_id is not None and metadata.topic_id != topic_id:
            have = _shown(metadata.topic_id)
            found.append(f"the broker's folder has the id {have}, not {_shown(topic_id)}")
    return found
