"""Plans a rebuild: which topics, where each replica goes, what the sources lack, and what to know before."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from kodec.generated.messages.offset_commit_key import OffsetCommitKey
from kodec.generated.messages.offset_commit_value import OffsetCommitValue
from kodec.log.adoption.adopt import RETENTION_MS
from kodec.log.arguments import chosen_names
from kodec.log.batches.records import Limits, Record
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import LeaderEpoch, read_offsets
from kodec.log.files.listing import TopicPartition, left_out_of, list_partition, parse_partition_dir
from kodec.log.files.names import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    PARTITION_METADATA,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import PartitionPath, require_apart
from kodec.log.messages.as_json import uuid_text
from kodec.log.messages.decoding import framed
from kodec.log.omissions import Cause, Omissions
from kodec.log.rebuild.plan import RebuildPlan, RebuiltPartition
from kodec.log.rebuild.records import (
    NewPartition,
    NewTopic,
    config,
    producer_ids,
    register,
    topic_records,
)
from kodec.log.rebuild.target import FENCE, Node, Target, follows, newest_epoch, read_target
from kodec.log.recovery.salvage import plan_salvage
from kodec.log.recovery.salvage_report import KeptSegment, LogBefore
from kodec.log.remote.metadata import read_remote_segments
from kodec.log.remote.names import REMOTE_TOPIC, holds_metadata
from kodec.log.remote.one_log import tiers_beside_logs
from kodec.log.remote.opening import open_location
from kodec.log.remote.remote_log import metadata_partition, metadata_values, read_remote_log
from kodec.log.remote.resolve import (
    LogDirectoryPath,
    LogPath,
    NotALog,
    RemoteStoragePath,
    find_logs,
    resolve,
)
from kodec.log.remote.tier import remote_of
from kodec.log.selection import Topics
from kodec.log.views.contents import damage_in
from kodec.log.views.groups import OFFSETS_TOPIC, CommittedOffset, read_groups
from kodec.log.views.metadata import (
    METADATA_TOPIC,
    ClusterMetadata,
    PartitionAssignment,
    read_metadata,
    records_to_carry,
)
from kodec.log.views.producers import read_producers
from kodec.log.views.replicas import Replicas
from kodec.log.views.transactions import read_transactions
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import FormatError
from kodec.stores.storage import StorePath, on_this_machine

__all__ = ["group_partition", "plan_rebuild"]

# Of the cluster that is left: what is in remote storage the new one learns anew.
_NOT_TAKEN = (METADATA_TOPIC, REMOTE_TOPIC)
# Checkpoints that the plan reads.
_BESIDE = (LOG_START_OFFSETS, HIGH_WATERMARKS, RECOVERY_POINTS, CLEANER_OFFSETS)
_LOCAL_ONLY = "no source has what was only on the brokers' disks"
REMOTE_PARTITIONS = 50
"""The partitions of `__remote_log_metadata` that brokers make without a setting."""
_OF_REMOTE_TOPIC = {"cleanup.policy": "delete", "retention.ms": "-1", "remote.storage.enable": "false"}
_OF_A_TIER = ("remote.storage.enable", "local.retention.ms", "local.retention.bytes", "remote.log.")
_BROKER = 4
# Resources that no node has: their codes in the metadata.
_SHARED = {"client-metrics": 16, "group": 32}
# Kafka assigns producer ids in blocks of so many.
_ID_BLOCK = 1000
_COMPACTED = {
    "__consumer_offsets": {"cleanup.policy": "compact", "compression.type": "producer"},
    "__transaction_state": {"cleanup.policy": "compact", "compression.type": "uncompressed"},
    "__share_group_state": {"cleanup.policy": "delete", "retention.ms": "-1"},
}


def plan_rebuild(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    brokers: Iterable[str | os.PathLike[str] | Iterable[str | os.PathLike[str]]],
    *,
    controllers: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    topics: Topics = None,
    lineage: str | os.PathLike[str] | None = None,
    allow_missing: bool = False,
    allow_expired: bool = False,
    hold_retention: bool = False,
    retention_ms: int = RETENTION_MS,
    keep_remote: bool = False,
    remote_partitions: int = REMOTE_PARTITIONS,
    metadata_offset: int | None = None,
    now: int | None = None,
    limits: Limits = Limits(),
    progress: Callable[[int], None] = lambda _: None,
) -> RebuildPlan:
    """Plan to make a cluster of backup points, log directories and remote storage. Nothing is written.

    The logs are read from start to end. If several sources have a topic-partition, they are merged as
    replicas, as `plan_salvage` does. Topics, their ids and configs, ACLs, quotas, users and the next
    producer id come from `__cluster_metadata` of the sources; without it, topics and ids from the folders.

    Records of remote storage return as local segments. With `keep_remote` they stay there: the local logs
    begin after them, and a fresh `__remote_log_metadata` lists the segments, of which only the sizes are
    compared, unless neither manifests nor the old `__remote_log_metadata` show what is in them.

    Args:
        sources: points of a backup, log directories, topic-partitions' folders, remote storage; paths or
        URLs.
        brokers: for each broker its entries of `log.dirs`, formatted for a new cluster, or those of a
        stopped one.
        controllers: the metadata log directories of controllers that are not brokers.
        topics: only these; None: all, and Kafka's own.
        lineage: the source whose leader epochs count, where it cannot be known.
        allow_missing: make logs with gaps, and empty partitions, of what the sources lack or what of them
            cannot be read; the account of the plan has it.
        allow_expired: also if retention would delete segments at once.
        hold_retention: give topics whose segments retention would delete at once `retention.ms=-1` and
            `retention.bytes=-1`.
        retention_ms: for topics without their own setting: the brokers' `log.retention.ms`, unless the
            metadata has a dynamic one, which the new cluster gets.
        keep_remote: leave in remote storage what is there; the brokers must be configured for the same one.
        remote_partitions: how many partitions `__remote_log_metadata` gets in a cluster without it: the
            brokers' `rlmm.config.remote.log.metadata.topic.num.partitions`.
        metadata_offset: only the records of the sources' metadata below this offset, where later ones are
            damaged; None: all.
        now: ms since epoch; the current time by default.
        limits: how much may be allocated for one batch.
        progress: called with the bytes read since the last call, and by `apply` with those copied.

    Returns: a plan; `apply` writes.
    Raises: NotALog for a source without logs; ValueError for log directories that are not formatted, are of
    several clusters, or of one whose controllers are not all given; KeyError for a topic that no source
    has; OSError; FormatError.

    Example:
        >>> import shutil
        >>> from pathlib import Path
        >>> import kodec
        >>> voters = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
        >>> (Path("formatted") / voters).parent.mkdir(parents=True)
        >>> for name in ("meta.properties", "bootstrap.checkpoint", voters):
        ...     _ = shutil.copy(Path("/data/kafka-logs") / name, Path("formatted") / name)
        >>> plan = kodec.operations.plan_rebuild("/data/kafka-logs", ["formatted"], hold_retention=True)
        >>> plan.problems
        []
        >>> _ = plan.apply()
        >>> kodec.LogDirectory("formatted").partition("orders", 0).end_offset
        421
    """
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    nodes = [
        [
            on_this_machine(root).resolve()
            for root in ([roots] if isinstance(roots, (str, os.PathLike)) else roots)
        ]
        for roots in brokers
    ]
    alone = [controllers] if isinstance(controllers, (str, os.PathLike)) else controllers
    others = [on_this_machine(controller).resolve() for controller in alone]
    target = read_target(nodes, others)
    directories, replicas = _logs_in(paths)
    if keep_remote and not any(
        remote_of(folder) is not None for folders in replicas.values() for folder in folders
    ):
        raise ValueError("no source is remote storage: nothing can stay there")
    for folders in replicas.values():
        for folder in folders:
            for root in target.roots:
                require_apart(folder, root)
    planner = _Planner(
        target,
        directories,
        replicas,
        chosen_names("topics", topics),
        None if lineage is None else open_location(lineage),
        allow_missing,
        allow_expired,
        hold_retention,
        retention_ms,
        keep_remote,
        remote_partitions,
        metadata_offset,
        time.time_ns() // 1_000_000 if now is None else now,
        limits,
        progress,
    )
    return planner.plan((nodes, others))


def _logs_in(
    sources: Sequence[str | os.PathLike[str]],
) -> tuple[list[Path], dict[TopicPartition, list[Path]]]:
    """The log directories, and the folders of each topic-partition. Raises NotALog, OSError."""
    directories: list[Path] = []
    replicas: dict[TopicPartition, list[Path]] = {}
    logs = [(source, log) for source in sources for log in find_logs(source)]
    holders = [log.path for _, log in logs if holds_metadata(log.path)]
    for source, log in logs:
        what: LogPath = log
        if isinstance(log, RemoteStoragePath):
            # where a source has `__remote_log_metadata`, that shows which segments count
            what = resolve(tiers_beside_logs([log.path, *holders])[0])
        if isinstance(what, PartitionPath):
            replicas.setdefault(what.topic_partition, []).append(what.path)
        elif isinstance(what, LogDirectoryPath):
            directories.append(what.path)
            for folder in what.partitions:
                replicas.setdefault(folder.topic_partition, []).append(folder.path)
        else:
            raise NotALog(f"{source}: a segment: give its folder, or its log directory")
    return directories, dict(sorted(replicas.items()))


@dataclass(slots=True)
class _Planner:
    """The inputs of a plan."""

    target: Target
    directories: list[Path]
    replicas: dict[TopicPartition, list[Path]]
    topic_names: Collection[str] | None
    lineage: Path | None
    allow_missing: bool
    allow_expired: bool
    hold_retention: bool
    retention_ms: int
    keep_remote: bool
    remote_partitions: int
    metadata_offset: int | None
    now: int
    limits: Limits
    progress: Callable[[int], None]
    remote_topics: set[str] = field(default_factory=set)
    placed: dict[int, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    omissions: Omissions = field(default_factory=Omissions)

    def plan(self, arguments: tuple[Sequence[Sequence[Path]], Sequence[Path]]) -> RebuildPlan:
        self._look_at_sources()
        with_metadata = self._with(METADATA_TOPIC)
        metadata = self._read_metadata(with_metadata) if with_metadata else None
        if metadata is None:
            self.notes.append(
                "no source has the cluster's metadata: configs, ACLs, quotas and users are unknown, and "
                "topics have Kafka's defaults"
            )
        self._require_clean_shutdowns()
        topics = self._topics(metadata)
        partitions = []
        for topic in topics:
            partitions += [self._partition(topic, partition) for partition in topic.partitions]
        for topic in topics:
            topic_partitions = [
                partition for partition in partitions if partition.topic_partition.topic == topic.name
            ]
            self._retention(topic, topic_partitions, metadata)
        self._unsettled([partition.topic_partition.topic for partition in partitions])
        commits, groups = self._commits(topics, partitions)
        appended = {
            f"{OFFSETS_TOPIC}-{number}": (self.target.offsets[number], records)
            for number, records in commits.items()
        }
        appended |= self._remote_metadata(topics, partitions)
        records = self._records(metadata, topics, with_metadata, partitions)
        plan = RebuildPlan(
            self.target.cluster_id,
            self.target.metadata is None,
            topics,
            partitions,
            groups,
            self.problems,
            self.notes,
            self.omissions,
            _carried(metadata) if self.target.metadata is None and metadata is not None else {},
            self.target,
            records,
            appended,
            arguments,
            self.progress,
        )
        if self.target.unfinished is not None and self.target.unfinished != plan.digest():
            self.problems.append(
                "another rebuild has not finished here: run that one again, or format the log directories "
                f"again ({FENCE} in them is its mark)"
            )
        elif self.target.unfinished is None:
            for partition in partitions:
                self.problems += [
                    f"{path} exists already" for path in partition.targets if os.path.lexists(path)
                ]
        return plan

    def _look_at_sources(self) -> None:
        """Note what is in the log directories and is not read, and files beside the logs that are torn."""
        for root in self.directories:
            self.omissions.extend(left_out_of(root))
            for name in _BESIDE:
                path = root / name
                try:
                    if (damage := damage_in(path)) is not None:
                        self.omissions.lose(path, damage)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    self.omissions.failed(path, error)

    def _read_metadata(self, roots: Sequence[Path]) -> ClusterMetadata:
        metadata = read_metadata(*roots, end_offset=self.metadata_offset, limits=self.limits)
        unread = metadata.omissions.unread
        if unread and self.metadata_offset is None:
            self.problems.append(
                f"the metadata cannot be read completely: {unread[0]}: --metadata-offset takes the records "
                "before it, and kodec metadata --before-offset shows them"
            )
        elif self.metadata_offset is not None:
            self.omissions.extend(unread)
            self.notes.append(
                f"of the metadata only the records below offset {self.metadata_offset} are taken"
            )
        return metadata

    def _require_clean_shutdowns(self) -> None:
        """With eligible leader replicas, a broker that did not shut down cleanly leaves all ISRs."""
        known = self.target.metadata
        if known is None or self.target.unfinished is not None:
            return
        if not known.features.get("eligible.leader.replicas.version"):
            return
        epochs = {broker.id: broker.epoch for broker in known.brokers}
        for broker in self.target.brokers:
            for root in broker.roots:
                marker = LogRoot(root).clean_shutdown()
                if marker is None or marker.broker_epoch != epochs.get(broker.node):
                    self.problems.append(
                        f"{root}: the broker was not shut down cleanly, and would lead none of the new "
                        "partitions: start it, and stop it"
                    )

    # -- topics -----------------------------------------------------------------------------------

    def _topics(self, metadata: ClusterMetadata | None) -> list[NewTopic]:
        """The topics to be made, with their partitions assigned."""
        known = {owner.topic: set[int]() for owner in self.replicas}
        for owner in self.replicas:
            known[owner.topic].add(owner.partition)
        if metadata is not None:
            for name in sorted(known.keys() - {topic.name for topic in metadata.topics} - {*_NOT_TAKEN}):
                self.notes.append(f"{name}: left out: the cluster's metadata has no such topic")
            old_topics: list[tuple[str, UUID, Mapping[str, str], dict[int, PartitionAssignment]]] = [
                (
                    topic.name,
                    topic.topic_id,
                    topic.configs,
                    {partition.partition: partition for partition in topic.partitions},
                )
                for topic in metadata.topics
            ]
        else:
            old_topics = [(name, self._id_of(name), _COMPACTED.get(name, {}), {}) for name in sorted(known)]
        names = {name for name, *_ in old_topics}
        if self.topic_names is not None and (missing := set(self.topic_names) - names):
            raise KeyError(f"no source has the topic {', '.join(sorted(missing))}")
        topics: list[NewTopic] = []
        for name, topic_id, configs, assigned in old_topics:
            if name in _NOT_TAKEN or (
                self.topic_names is not None and name not in {*self.topic_names, *_INTERNAL}
            ):
                continue
            if not self._is_free(name, topic_id):
                continue
            if name not in known and not assigned:
                continue
            numbers = sorted(assigned) or list(range(max(known[name]) + 1))
            factor = max((len(assignment.replicas) for assignment in assigned.values()), default=3)
            topic = NewTopic(name, topic_id, self._configs(name, configs))
            for number in numbers:
                replicas = self._replicas(len(topics) + number, factor)
                epoch = assigned[number].leader_epoch if number in assigned else 0
                topic.partitions.append(
                    NewPartition(
                        number,
                        epoch,
                        [node.node for node, _ in replicas],
                        [directory for _, directory in replicas],
                    )
                )
            least = int(configs.get("min.insync.replicas", 1))
            if least > len(topic.partitions[0].replicas):
                have = len(topic.partitions[0].replicas)
                self.notes.append(f"{name}: min.insync.replicas is {least}, and it gets {have} replicas")
            topics.append(topic)
        return topics

    def _id_of(self, topic: str) -> UUID:
        """The id in the folders of a topic; a new one if they have none."""
        ids = {
            topic_id
            for owner, folders in self.replicas.items()
            if owner.topic == topic
            for folder in folders
            if (topic_id := _topic_id(folder)) is not None
        }
        if len(ids) > 1:
            self.problems.append(
                f"{topic}: the sources have it with several ids: {', '.join(map(uuid_text, ids))}"
            )
        if not ids:
            # the same each time, so that an unfinished rebuild is recognized
            digest = hashlib.sha256(f"{self.target.cluster_id} {topic}".encode()).digest()
            return UUID(bytes=digest[:16], version=4)
        return min(ids)

    def _is_free(self, name: str, topic_id: UUID) -> bool:
        """Whether the cluster has no such topic, or has it from this rebuild before a kill."""
        topic = None if self.target.metadata is None else self.target.metadata.topic(name)
        if topic is None:
            return True
        if self.target.unfinished is not None and topic.topic_id == topic_id:
            return True
        if name == OFFSETS_TOPIC:
            return False
        if name in _INTERNAL:
            self.notes.append(f"{name}: left out: the cluster has its own")
        elif topic.topic_id == topic_id:
            self.problems.append(f"{name}: the cluster has this topic already")
        else:
            self.problems.append(f"{name}: the cluster has another topic of this name")
        return False

    def _configs(self, name: str, configs: Mapping[str, str]) -> dict[str, str]:
        if configs.get("remote.storage.enable") == "true" or self._is_remote(name):
            self.remote_topics.add(name)
        if self.keep_remote:
            return {**configs, "remote.storage.enable": "true"} if name in self.remote_topics else {**configs}
        local_configs = {key: value for key, value in configs.items() if not key.startswith(_OF_A_TIER)}
        if configs.get("remote.storage.enable") == "true":
            self.notes.append(
                f"{name}: all records return to the brokers; remote storage is off, enable it again"
            )
        return local_configs

    def _is_remote(self, name: str) -> bool:
        """Whether remote storage has segments of a topic."""
        return any(
            remote_of(folder) is not None
            for owner, folders in self.replicas.items()
            if owner.topic == name
            for folder in folders
        )

    def _replicas(self, start: int, factor: int) -> list[tuple[Node, UUID | None]]:
        """The brokers of a partition, and the log directory of each, in turn."""
        brokers = self.target.brokers
        nodes = [brokers[(start + step) % len(brokers)] for step in range(min(factor, len(brokers)))]
        replicas = []
        for node in nodes:
            count = self.placed[node.node] = self.placed.get(node.node, -1) + 1
            replicas.append((node, node.directories[count % len(node.roots)]))
        return replicas

    # -- partitions -------------------------------------------------------------------------------

    def _partition(self, topic: NewTopic, new: NewPartition) -> RebuiltPartition:
        owner = TopicPartition(topic.name, new.partition)
        sources = []
        for folder in self.replicas.get(owner, []):
            try:
                identity = _read_topic_id(folder)
            except FormatError as error:
                self.omissions.failed(folder / PARTITION_METADATA, error)
                identity = None
            except OSError as error:
                self.omissions.failed(folder, error)
                if not self.allow_missing:
                    self.problems.append(f"{folder} cannot be read: --allow-missing goes on without it")
                continue
            if identity is not None and identity != topic.topic_id:
                self.notes.append(
                    f"{folder}: left out: its topic id is {uuid_text(identity)}, of another topic"
                )
                continue
            sources.append(folder)
        partition = RebuiltPartition(owner, sources)
        partition._is_remote = topic.configs.get("remote.storage.enable") == "true"
        has_tier = any(remote_of(source) is not None for source in sources)
        partition._needs_tier = topic.name in self.remote_topics and not has_tier
        starts = [start for source in sources if (start := _log_start(source)) is not None]
        partition.log_start = max(starts, default=None)
        nodes = {broker.node: broker for broker in self.target.brokers}
        for node, directory in zip(new.replicas, new.directories, strict=True):
            roots = nodes[node].roots
            index = nodes[node].directories.index(directory) if directory is not None else 0
            partition.targets.append(roots[index] / str(owner))
        if not sources:
            if not self.allow_missing:
                self.problems.append(f"{owner}: no source has it: --allow-missing makes it empty")
            return partition
        before = None
        if self.keep_remote:
            count = len(self.problems)
            sources, before = self._local_sources(partition)
            if len(self.problems) > count:
                return partition
        elif all(remote_of(source) is not None for source in sources):
            self.notes.append(f"{owner}: {_LOCAL_ONLY}")
        if sources:
            self._merge(partition, sources, before)
        if partition.missing and not self.allow_missing:
            more = f", and {len(partition.missing) - 1} more" if len(partition.missing) > 1 else ""
            self.problems.append(
                f"{owner}: missing {partition.missing[0]}{more}: --allow-missing goes on without"
            )
        new.leader_epoch = max(new.leader_epoch, partition.leader_epoch)
        return partition

    def _local_sources(self, partition: RebuiltPartition) -> tuple[list[Path], LogBefore | None]:
        """Find what stays in remote storage; returns the local logs that go on after it, and after what."""
        owner = partition.topic_partition
        local = [source for source in partition.sources if remote_of(source) is None]
        tiers = [
            source
            for source in partition.sources
            if isinstance(source, StorePath) and remote_of(source) is not None
        ]
        if len(tiers) > 1:
            self.problems.append(f"{owner}: several remote storages have it: {', '.join(map(str, tiers))}")
        if not tiers:
            return local, None
        epochs: list[LeaderEpoch] = []
        for folder in local:
            epochs = max(epochs, _epochs(folder), key=lambda history: history[-1].epoch if history else -1)
        try:
            partition.remote = read_remote_log(
                tiers[0], epochs, partition.log_start or 0, self.limits, self.progress
            )
        except (FormatError, OSError) as error:
            self.problems.append(f"{owner}: remote storage cannot be read: {error}")
            return [], None
        if partition.remote is None:
            return local, None
        partition.leader_epoch = partition.remote.epochs[-1].epoch if partition.remote.epochs else 0
        if gap := next(partition.remote.missing, None):
            self.problems.append(
                f"{owner}: {gap}: brokers do not read past a gap in remote storage; without --keep-remote "
                "the other records return to them"
            )
        if partition.remote.unused:
            self.notes.append(
                f"{owner}: {partition.remote.unused} segments in remote storage do not count; they stay there"
            )
        if local and not partition.remote.extends:
            self.notes.append(
                f"{owner}: remote storage has later leader epochs than the log directories, "
                "and nothing of these is taken"
            )
            local = []
        elif not local:
            self.notes.append(f"{owner}: {_LOCAL_ONLY}, from offset {partition.remote.next_offset} on")
        return local, LogBefore(partition.remote.next_offset, partition.remote.producers)

    def _merge(self, partition: RebuiltPartition, sources: Sequence[Path], before: LogBefore | None) -> None:
        """Plan the new local log."""
        owner = partition.topic_partition
        first, *others = sources
        target = _new_folder(partition.targets[0].parent / FENCE, str(owner))
        lineage = self.lineage if others else None
        salvage = plan_salvage(
            first, target, *others, lineage=lineage, limits=self.limits, progress=self.progress
        )
        salvage = replace(salvage, after=before)
        report = salvage.preview()
        starts = []
        for folder in sources:
            with suppress(FormatError, OSError), PartitionLog(folder, limits=self.limits) as log:
                starts.append(log.start_offset if before is None else log.segments[0].base_offset)
                partition.leader_epoch = max(partition.leader_epoch, newest_epoch(log))
        if before is not None and report.end_offset <= before.end_offset:
            # all of it is in remote storage
            return
        partition._salvage, partition.report = salvage, report
        # damaged and missing ranges have their own list, `missing`
        listed = (Cause.DAMAGED, Cause.MISSING)
        self.omissions.extend(omission for omission in report.omissions if omission.cause not in listed)
        self._require_end(partition, sources)
        partition.local_start = max(min(starts, default=0), report.start_offset)
        self.problems += [
            f"{owner}: {problem}: --lineage with one of the sources decides" for problem in report.problems
        ]
        self.notes += [f"{owner}: {note}" for note in (*report.notes, *report.wrong_epochs)]

    def _require_end(self, partition: RebuiltPartition, sources: Sequence[Path]) -> None:
        """Note offsets after the end of all sources that a checkpoint of one of them shows."""
        assert partition.report is not None
        for folder in sources:
            for name in (RECOVERY_POINTS, HIGH_WATERMARKS):
                # a torn one is in the account
                with suppress(FormatError, OSError):
                    known = read_offsets(folder.parent / name).get(partition.topic_partition, 0)
                    if known > max(partition.end_offset, partition.log_start or 0, partition.known_end):
                        partition.known_end = known

    def _broker_limits(self, metadata: ClusterMetadata | None) -> tuple[int, int]:
        """The brokers' `log.retention.ms` and `.bytes`, as the cluster will have them: the tightest ones.

        Dynamic settings of all brokers come from the old cluster; a cluster that has topics keeps its own.
        """
        known = metadata if self.target.metadata is None else self.target.metadata
        configs = {} if known is None else known.configs
        broker_settings = [configs.get(("broker", str(broker.node)), {}) for broker in self.target.brokers]
        if self.target.metadata is None:
            # settings of one broker are left out
            broker_settings = [{}]
        every = configs.get(("broker", ""), {})
        return (
            _tightest(
                _number({**every, **settings}, "log.retention.ms", self.retention_ms)
                for settings in broker_settings
            ),
            _tightest(
                _number({**every, **settings}, "log.retention.bytes", -1) for settings in broker_settings
            ),
        )

    def _retention(
        self, topic: NewTopic, partitions: Sequence[RebuiltPartition], metadata: ClusterMetadata | None
    ) -> None:
        """Refuse what retention would delete minutes after the start, or hold it.

        The new logs are judged, by the settings that the new cluster will have.
        """
        if "delete" not in topic.configs.get("cleanup.policy", "delete"):
            return
        default_ms, default_bytes = self._broker_limits(metadata)
        most_ms = _number(topic.configs, "retention.ms", default_ms)
        most_bytes = _number(topic.configs, "retention.bytes", default_bytes)
        for partition in partitions:
            if partition.remote is not None:
                partition.expired = partition.remote.expired(most_ms, most_bytes, self.now)
            elif partition.report is not None:
                partition.expired = _expired(partition.report.kept, most_ms, most_bytes, self.now)
        expired = sum(partition.expired for partition in partitions)
        if not expired:
            return
        limits = f"{most_ms} ms, {most_bytes} bytes"
        what = f"{topic.name}: retention ({limits}) would delete {expired} segments at once"
        if self.hold_retention:
            topic.configs = {**topic.configs, "retention.ms": "-1", "retention.bytes": "-1"}
            self.notes.append(f"{what}: it gets retention.ms=-1 and retention.bytes=-1; set them again later")
        elif self.allow_expired:
            self.notes.append(what)
        else:
            self.problems.append(f"{what}: --hold-retention keeps them, --allow-expired does not")

    # -- what refers to records -------------------------------------------------------------------

    def _with(self, topic: str) -> list[Path]:
        """The log directories that have a topic."""
        parents = {
            folder.parent
            for owner, folders in self.replicas.items()
            if owner.topic == topic
            for folder in folders
        }
        return [directory for directory in self.directories if directory in parents]

    def _unsettled(self, topics: Collection[str]) -> None:
        """Note transactions that nothing will end."""
        if not self._with("__transaction_state"):
            return
        for transaction in read_transactions(*self.directories, now=self.now, limits=self.limits).open:
            if transaction.topic_partition.topic in topics and transaction.status in ("hanging", "unknown"):
                self.notes.append(
                    f"{transaction.topic_partition}: the transaction of producer {transaction.producer_id} "
                    f"from offset {transaction.first_offset} is {transaction.status}: end it with "
                    "kafka-transactions.sh --abort"
                )

    def _commits(
        self, topics: Sequence[NewTopic], partitions: Sequence[RebuiltPartition]
    ) -> tuple[dict[int, list[Record]], dict[int, list[tuple[str, str, int, int]]]]:
        """The offsets to commit in a cluster that has `__consumer_offsets`; notes those past the end of a
        log."""
        roots = self._with(OFFSETS_TOPIC)
        if not roots:
            self.notes.append(f"no source has {OFFSETS_TOPIC}: no group has committed offsets")
            return {}, {}
        ends = {partition.topic_partition: partition.end_offset for partition in partitions}
        groups = read_groups(*roots, limits=self.limits)
        self.notes += [f"groups may be incomplete: {loss}" for loss in groups.omissions.losses[:1]]
        # one that this rebuild has made before a kill has all groups
        counts = {} if any(topic.name == OFFSETS_TOPIC for topic in topics) else self.target.offsets
        self._old_commits(groups.offsets)
        cluster_groups: set[str] = set()
        if counts:
            cluster_roots = [root for broker in self.target.brokers for root in broker.roots]
            cluster_roots = [
                root
                for root in cluster_roots
                if any((root / f"{OFFSETS_TOPIC}-{number}").is_dir() for number in counts)
            ]
            known = read_groups(*cluster_roots, limits=self.limits) if cluster_roots else None
            if known is not None:
                cluster_groups = {group.group for group in known.groups} | {
                    commit.group for commit in known.offsets
                }
        commits: dict[int, list[Record]] = {}
        shown: dict[int, list[tuple[str, str, int, int]]] = {}
        omitted_groups = set()
        for commit in groups.offsets:
            owner = TopicPartition(commit.topic, commit.partition)
            if owner not in ends or commit.pending:
                continue
            if commit.offset > ends[owner]:
                self.notes.append(
                    f"{commit.group}: its offset {commit.offset} of {owner} is past the end of the log, "
                    f"{ends[owner]}"
                )
            if not counts:
                continue
            if commit.group in cluster_groups:
                omitted_groups.add(commit.group)
                continue
            number = group_partition(commit.group, len(counts))
            shown.setdefault(number, []).append((commit.group, commit.topic, commit.partition, commit.offset))
            commits.setdefault(number, []).append(_commit(commit, self.now))
        self.notes += [
            f"group {group}: left out: the cluster has such a group" for group in sorted(omitted_groups)
        ]
        if counts:
            self.notes.append("members of groups and transactional ids are left out: the cluster has its own")
        for number in commits:
            self._require_replicas(f"{OFFSETS_TOPIC}-{number}", self.target.offsets[number])
        return commits, shown

    def _old_commits(self, offsets: Sequence[CommittedOffset]) -> None:
        """Note groups whose offsets brokers would delete soon."""
        newest: dict[str, int] = {}
        for commit in offsets:
            newest[commit.group] = max(newest.get(commit.group, 0), commit.commit_timestamp)
        old = [group for group, timestamp in newest.items() if timestamp < self.now - RETENTION_MS]
        if old:
            self.notes.append(
                f"{len(old)} groups have committed nothing for 7 days, as {old[0]}: brokers delete their "
                "offsets minutes after the start, unless offsets.retention.minutes is longer than its default"
            )

    def _require_replicas(self, name: str, places: Sequence[Path]) -> None:
        """All replicas of a partition of Kafka's own topics are needed, and the same log."""
        owner = parse_partition_dir(name)
        metadata = self.target.metadata
        topic = None if metadata is None or owner is None else metadata.topic(owner.topic)
        assert topic is not None and owner is not None
        assigned = next(partition for partition in topic.partitions if partition.partition == owner.partition)
        if len(places) < len(assigned.replicas):
            self.problems.append(f"{name}: not all of its replicas are given")
            return
        for root in places[1:]:
            if not follows(places[0] / name, root / name):
                self.problems.append(f"{root / name} is not a part of {places[0] / name}")

    # -- remote storage ---------------------------------------------------------------------------

    def _remote_metadata(
        self, topics: list[NewTopic], partitions: list[RebuiltPartition]
    ) -> dict[str, tuple[list[Path], list[Record]]]:
        """List what stays in remote storage: in a new `__remote_log_metadata`, or in that of the cluster."""
        tiered_partitions = [partition for partition in partitions if partition.remote is not None]
        if not tiered_partitions:
            return {}
        metadata = self.target.metadata
        known = None if metadata is None else metadata.topic(REMOTE_TOPIC)
        is_new = known is None or (
            self.target.unfinished is not None and known.topic_id == self._id_of(REMOTE_TOPIC)
        )
        count = self.remote_partitions if is_new or known is None else len(known.partitions)
        records: dict[int, list[Record]] = {}
        listed_ids = {} if is_new else self._listed_remote_segments()
        ids = {topic.name: topic.topic_id for topic in topics}
        for partition in tiered_partitions:
            owner, remote = partition.topic_partition, partition.remote
            assert remote is not None
            topic_id = ids[owner.topic]
            new = [segment for segment in remote.segments if segment.copied.segment_id not in listed_ids]
            values = metadata_values(
                replace(remote, segments=new),
                owner.topic,
                topic_id,
                owner.partition,
                self._broker(partition),
                self.now,
            )
            number = metadata_partition(topic_id, owner.partition, count)
            records.setdefault(number, []).extend(Record(value=value, timestamp=self.now) for value in values)
        self.notes.append(
            f"{len(tiered_partitions)} topic-partitions stay in remote storage: the brokers need "
            "remote.log.storage.system.enable=true, and the settings of the same remote storage, with its "
            f"prefix and keys; {REMOTE_TOPIC} has {count} partitions, as their "
            "rlmm.config.remote.log.metadata.topic.num.partitions must state. No other cluster may use it: "
            "each deletes what the other needs"
        )
        if not is_new:
            appended = {
                f"{REMOTE_TOPIC}-{number}": (self.target.remote[number], new_records)
                for number, new_records in records.items()
                if new_records
            }
            for name, (places, _) in appended.items():
                self._require_replicas(name, places)
            return appended
        topic = NewTopic(REMOTE_TOPIC, self._id_of(REMOTE_TOPIC), _OF_REMOTE_TOPIC)
        for number in range(count):
            replicas = self._replicas(len(topics) + number, 3)
            new_partition = NewPartition(
                number, 0, [node.node for node, _ in replicas], [directory for _, directory in replicas]
            )
            topic.partitions.append(new_partition)
            if number in records:
                partition = RebuiltPartition(TopicPartition(REMOTE_TOPIC, number), [])
                partition._records = records[number]
                for node, directory in replicas:
                    index = node.directories.index(directory) if directory is not None else 0
                    partition.targets.append(node.roots[index] / str(partition.topic_partition))
                partitions.append(partition)
        topics.append(topic)
        return {}

    def _broker(self, partition: RebuiltPartition) -> int:
        """The preferred leader."""
        root = partition.targets[0].parent
        return next(broker.node for broker in self.target.brokers if root in broker.roots)

    def _listed_remote_segments(self) -> set[str]:
        """The ids of the segments that the cluster knows, as after a kill."""
        roots = [root for root in self.target.roots if holds_metadata(root)]
        listings = read_remote_segments(Replicas(*roots, limits=self.limits), Omissions()) if roots else None
        return {segment for listing in (listings or {}).values() for segment in listing.segments}

    # -- the metadata -----------------------------------------------------------------------------

    def _records(
        self,
        metadata: ClusterMetadata | None,
        topics: Sequence[NewTopic],
        roots: Sequence[Path],
        partitions: Sequence[RebuiltPartition],
    ) -> list[bytes]:
        """The records to append to the metadata log."""
        target = self.target
        topic_values = list(topic_records(topics, target.level))
        if target.metadata is not None:
            if metadata is not None and (metadata.acls or metadata.quotas or metadata.users):
                self.notes.append("ACLs, quotas and users are left out: the cluster has its own")
            return topic_values
        begin = list(target.boot)
        for broker in target.brokers:
            known = [directory for directory in broker.directories if directory is not None]
            begin.append(register(broker.node, len(begin), known, target.level))
        for (kind, name), settings in () if metadata is None else metadata.configs.items():
            if kind == "broker" and name == "":
                begin += [config(_BROKER, "", key, value) for key, value in settings.items()]
            elif kind in _SHARED:
                begin += [config(_SHARED[kind], name, key, value) for key, value in settings.items()]
            elif kind != "topic":
                self.notes.append(f"the configs of {kind} {name} are left out")
        if metadata is not None:
            carried = records_to_carry(*roots, end_offset=self.metadata_offset, limits=self.limits)
            begin += [framed(record, 0) for record in carried]
        begin.append(producer_ids(self._next_producer_id(metadata, partitions)))
        return begin + topic_values

    def _next_producer_id(
        self, metadata: ClusterMetadata | None, partitions: Sequence[RebuiltPartition]
    ) -> int:
        """Above all ids that the logs have, so that no new producer has the sequences of an old one."""
        most = -1
        for partition in partitions:
            if partition.remote is not None:
                most = max([most, *(entry.producer_id for entry in partition.remote.producers.entries)])
            for folder in partition.sources:
                if partition.remote is not None and remote_of(folder) is not None:
                    continue
                try:
                    with PartitionLog(folder, limits=self.limits) as log:
                        most = max(
                            [most, *(producer.producer_id for producer in read_producers(log).producers)]
                        )
                except (FormatError, OSError) as error:
                    if metadata is None:
                        text = f"{folder}: its producers cannot be read, so that new ones may get their ids"
                        self.notes.append(f"{text}: {error}")
        known = 0 if metadata is None else metadata.next_producer_id or 0
        return max(known, (most // _ID_BLOCK + 1) * _ID_BLOCK, _ID_BLOCK)


_INTERNAL = (OFFSETS_TOPIC, "__transaction_state", "__share_group_state")


def _log_start(folder: Path) -> int | None:
    """The log start offset in the checkpoint next to a folder; None if it has none."""
    with suppress(FormatError, OSError):
        owner = parse_partition_dir(folder.name)
        return None if owner is None else read_offsets(folder.parent / LOG_START_OFFSETS).get(owner)
    return None


def _epochs(folder: Path) -> list[LeaderEpoch]:
    """The leader epochs of a log: of its checkpoint, else of its batches as far as they can be read."""
    with suppress(FormatError, OSError), PartitionLog(folder) as log:
        known: list[LeaderEpoch] = []
        with suppress(FormatError, OSError):
            known = log.leader_epochs()
        if known:
            return known
        runs = EpochRuns()
        with suppress(FormatError, OSError):
            for segment, header in log.headers():
                runs.take(segment.path, header)
        return runs.brought_up([])
    return []


def _topic_id(folder: Path) -> UUID | None:
    with suppress(FormatError, OSError):
        return _read_topic_id(folder)
    return None


def _read_topic_id(folder: Path) -> UUID | None:
    """The topic's id in a replica's folder. Raises OSError where that cannot be listed; FormatError."""
    list_partition(folder)
    with PartitionLog(folder) as log:
        metadata = log.metadata()
        return None if metadata is None else metadata.topic_id


def _number(configs: Mapping[str, str], name: str, default: int) -> int:
    """A limit among settings; the default for none, or for one that is no number."""
    text = configs.get(name, "")
    return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else default


def _tightest(limits: Iterable[int]) -> int:
    """The smallest limit; a negative one is none."""
    return min((limit for limit in limits if limit >= 0), default=-1)


def _expired(segments: Mapping[int, KeptSegment], most_ms: int, most_bytes: int, now: int) -> int:
    """How many segments of a new log a broker would delete at once: the oldest, up to the first that stays.

    Where no record has a timestamp, the time of the file counts. Source: `UnifiedLog.deleteOldSegments`.
    """
    remaining_bytes, count = sum(segment.bytes for segment in segments.values()), 0
    for _, segment in sorted(segments.items()):
        newest = segment.newest if segment.newest >= 0 else segment.modified
        is_old = 0 <= most_ms < now - newest
        if not is_old and not 0 <= most_bytes <= remaining_bytes - segment.bytes:
            break
        remaining_bytes, count = remaining_bytes - segment.bytes, count + 1
    return count


def _carried(metadata: ClusterMetadata) -> dict[str, int]:
    """How many things a new cluster takes over besides topics."""
    configs = {
        kind: settings
        for (kind, name), settings in metadata.configs.items()
        if kind in _SHARED or (kind, name) == ("broker", "")
    }
    return {
        "ACL": len(metadata.acls),
        "quota": len(metadata.quotas),
        "user": len(metadata.users),
        "delegation token": len(metadata.tokens),
        "config": sum(len(settings) for settings in configs.values()),
        "topic config": sum(len(topic.configs) for topic in metadata.topics),
    }


def group_partition(group: str, count: int) -> int:
    """The partition of `__consumer_offsets` that has a group: Java's `String.hashCode`, without its sign."""
    hash_code = 0
    data = group.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(data), 2):
        hash_code = (hash_code * 31 + int.from_bytes(data[position : position + 2], "big")) & 0xFFFF_FFFF
    signed = hash_code - (1 << 32) if hash_code >= 1 << 31 else hash_code
    return 0 if signed == -(1 << 31) else abs(signed) % count


def _commit(commit: CommittedOffset, now: int) -> Record:
    """A commit as clients make it, at this moment: brokers delete old ones."""
    key = OffsetCommitKey(group=commit.group, topic=commit.topic, partition=commit.partition)
    value = OffsetCommitValue(
        version=3,
        committed_offset=commit.offset,
        leader_epoch=-1 if commit.leader_epoch is None else commit.leader_epoch,
        metadata=commit.metadata,
        commit_timestamp=now,
    )
    return Record(key=key.to_bytes(), value=value.to_bytes(), timestamp=now)


def _new_folder(fence: Path, name: str) -> Path:
    """Where to make a folder: what a killed rebuild has left is deleted when the plan is carried out."""
    folder, number = fence / name, 1
    while folder.exists():
        number += 1
        folder = fence / str(number) / name
    return folder
