"""Committed offsets and members of groups, from `__consumer_offsets` and `__share_group_state`.

Followed: `OffsetMetadataManager.replay` and `replayEndTransactionMarker`, `GroupMetadataManager.replay`, and
the `state()` of `ClassicGroup`, `ConsumerGroup`, `ShareGroup` and `StreamsGroup` of
`org.apache.kafka.coordinator.group`; `ShareCoordinatorShard.replay` of `...coordinator.share`, Kafka 4.3.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

from kodec.generated.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from kodec.generated.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from kodec.generated.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from kodec.generated.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from kodec.generated.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from kodec.generated.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from kodec.generated.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from kodec.generated.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from kodec.generated.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kodec.generated.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kodec.generated.messages.group_metadata_key import GroupMetadataKey
from kodec.generated.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from kodec.generated.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from kodec.generated.messages.legacy_offset_commit_value import LegacyOffsetCommitValue
from kodec.generated.messages.offset_commit_key import OffsetCommitKey
from kodec.generated.messages.offset_commit_value import OffsetCommitValue
from kodec.generated.messages.share_group_current_member_assignment_key import (
    ShareGroupCurrentMemberAssignmentKey,
)
from kodec.generated.messages.share_group_current_member_assignment_value import (
    ShareGroupCurrentMemberAssignmentValue,
)
from kodec.generated.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from kodec.generated.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from kodec.generated.messages.share_group_metadata_key import ShareGroupMetadataKey
from kodec.generated.messages.share_group_metadata_value import ShareGroupMetadataValue
from kodec.generated.messages.share_group_state_partition_metadata_value import (
    ShareGroupStatePartitionMetadataValue,
)
from kodec.generated.messages.share_group_target_assignment_metadata_key import (
    ShareGroupTargetAssignmentMetadataKey,
)
from kodec.generated.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)
from kodec.generated.messages.share_snapshot_key import ShareSnapshotKey
from kodec.generated.messages.share_snapshot_value import ShareSnapshotValue
from kodec.generated.messages.share_update_key import ShareUpdateKey
from kodec.generated.messages.share_update_value import ShareUpdateValue
from kodec.generated.messages.streams_group_current_member_assignment_key import (
    StreamsGroupCurrentMemberAssignmentKey,
)
from kodec.generated.messages.streams_group_current_member_assignment_value import (
    StreamsGroupCurrentMemberAssignmentValue,
)
from kodec.generated.messages.streams_group_member_metadata_key import StreamsGroupMemberMetadataKey
from kodec.generated.messages.streams_group_member_metadata_value import StreamsGroupMemberMetadataValue
from kodec.generated.messages.streams_group_metadata_key import StreamsGroupMetadataKey
from kodec.generated.messages.streams_group_metadata_value import StreamsGroupMetadataValue
from kodec.generated.messages.streams_group_target_assignment_metadata_key import (
    StreamsGroupTargetAssignmentMetadataKey,
)
from kodec.generated.messages.streams_group_target_assignment_metadata_value import (
    StreamsGroupTargetAssignmentMetadataValue,
)
from kodec.generated.messages.streams_group_topology_key import StreamsGroupTopologyKey
from kodec.generated.messages.streams_group_topology_value import StreamsGroupTopologyValue
from kodec.log.arguments import chosen_names
from kodec.log.batches.records import ControlRecordType, Limits
from kodec.log.directories.losses import require_end
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import TopicPartition
from kodec.log.messages.decoding import of_consumer
from kodec.log.omissions import Omission, Omissions, cause_of
from kodec.log.selection import Topics
from kodec.log.views.reading import batches_of, decoded, marker_in, records_in
from kodec.log.views.replicas import Replicas, topic_id
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError

__all__ = ["Assigned", "CommittedOffset", "Group", "GroupMember", "Groups", "ShareOffset", "read_groups"]

OFFSETS_TOPIC = "__consumer_offsets"
SHARE_TOPIC = "__share_group_state"
_NO_ID = UUID(int=0)
_MEMBER_STATES = {0: "Stable", 1: "UnrevokedPartitions", 2: "UnreleasedPartitions"}
_STREAMS_STATES = {1: "Stable", 2: "UnrevokedTasks", 3: "UnreleasedTasks"}


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """An offset that a group has committed, or, where `pending`, would commit with an open transaction.

    Attributes:
        group, topic, partition: of the commit.
        offset: the next one that the group reads.
        leader_epoch: that of the last record read; None if the client did not send it.
        metadata: the client's metadata of the commit.
        commit_timestamp: in ms since 1970-01-01 UTC.
        expire_timestamp: likewise; None if, as usual, the broker's settings decide.
        topic_id: that of the topic at the commit; None if the client did not send it.
        pending: whether the transaction of `producer_id` with `producer_epoch` has not ended.
        producer_id, producer_epoch: of the transaction of the commit; None: none.
        log_start_offset, log_end_offset: of the partition's log in the directories; None if the log is
            missing, unreadable, or that of another topic of this name.
        source: the partition of `__consumer_offsets`; `record_offset`: the record's offset there.

    Example: see `read_groups`.
    """

    group: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None
    topic_id: UUID | None
    pending: bool
    producer_id: int | None
    producer_epoch: int | None
    log_start_offset: int | None
    log_end_offset: int | None
    source: TopicPartition
    record_offset: int

    @property
    def lag(self) -> int | None:
        """Offsets between the commit and the log end; None: end unknown; below 0: the log lost some."""
        return None if self.log_end_offset is None else self.log_end_offset - self.offset


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """The offset from which a share group still has records to deliver.

    Attributes:
        topic: the name; None if unknown in these directories.
        start_offset: -1 if the group has not begun.
        state_epoch, leader_epoch: those of the state.
        delivery_complete_count: records above `start_offset` that need no more delivery; None: unknown.
        log_end_offset: None where the log is not there.
        topic_id, partition: which one of the topic.
        write_timestamp: when the state was written, in ms since 1970-01-01 UTC; None where not known.

    Example: see `read_groups`.
    """

    group: str
    topic_id: UUID
    topic: str | None
    partition: int
    start_offset: int
    state_epoch: int
    leader_epoch: int
    delivery_complete_count: int | None
    write_timestamp: int
    log_end_offset: int | None

    @property
    def lag(self) -> int | None:
        """How many records are to be delivered (KIP-1226); None if that is unknown."""
        if self.log_end_offset is None or self.delivery_complete_count is None or self.start_offset < 0:
            return None
        return self.log_end_offset - self.start_offset - self.delivery_complete_count


class Assigned(NamedTuple):
    """Partitions of a topic, by its name or, where only that is known, its id.

    In streams groups, `subtopology` has them, and `role` is active, standby or warmup.
    """

    topic: str | None
    topic_id: UUID | None
    partitions: list[int]
    subtopology: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group; fields that its protocol lacks, or that cannot be decoded, are None.

    `state` is Stable, or what it still has to revoke or receive. `topics` are those subscribed to.

    Attributes:
        member_id, instance_id, client_id, client_host, rack: as the client gave them.
        epoch: of the member, in groups that have one.
        topic_regex: the pattern that it subscribes to.
        assignment: the partitions that it owns, by topic.

    Example: see `read_groups`.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rack: str | None
    epoch: int | None
    state: str | None
    topics: list[str] | None
    topic_regex: str | None
    assignment: list[Assigned] | None


@dataclass(frozen=True, slots=True)
class Group:
    """A group, as a coordinator that loads the topic sees it.

    Attributes:
        type: classic, consumer, share or streams.
        state: Empty, Stable, Assigning or Reconciling, as Kafka names them. Rebalances of classic groups are
            not stored, nor whether the internal topics of a streams group exist (NotReady).
        protocol_type, protocol, leader, generation: of a classic group, else None.
        epoch, assignment_epoch: of the others, else None.
        members: by id.

    Example: see `read_groups`.
    """

    group: str
    type: str
    state: str
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    generation: int | None
    epoch: int | None
    assignment_epoch: int | None
    members: list[GroupMember]


@dataclass(frozen=True, slots=True)
class Groups:
    """The state of groups.

    Attributes:
        groups: by name.
        offsets: by group, topic and partition; pending after committed.
        share_offsets: the same of share groups.
        omissions: what could not be read.

    Example: see `read_groups`.
    """

    groups: list[Group]
    offsets: list[CommittedOffset]
    share_offsets: list[ShareOffset]
    omissions: Omissions


def read_groups(
    *logs: str | os.PathLike[str],
    groups: Collection[str] | str | None = None,
    topics: Topics = None,
    limits: Limits = Limits(),
) -> Groups:
    """The committed offsets of groups and the members of groups, from the topics that coordinators load.

    A commit in a transaction counts once the transaction has committed; until then it is `pending`. Memory
    use depends on the groups, not on the log.

    Args:
        logs: one or several log directories, of one broker or of many.
        groups, topics: only these; None for all. `topics` limits offsets only.
        limits: how much may be allocated for one batch.

    Returns: groups, offsets and what is missing in them.
    Raises: NotALog where `__consumer_offsets` is in none of them; OSError where a folder cannot be read, and
    Malformed for its `log-start-offset-checkpoint`. Other damage does not raise an error but is in
    `omissions`.

    Example:
        >>> import kodec
        >>> groups = kodec.operations.read_groups("/data/kafka-logs")
        >>> [(group.group, group.state) for group in groups.groups][:2]
        [('by-pattern', 'Empty'), ('manual-group', 'Empty')]
        >>> found = groups.offsets[0]
        >>> found.group, found.topic, found.partition, found.offset, found.log_end_offset
        ('by-pattern', 'codec-gzip', 0, 100, 160)
        >>> groups.omissions.is_whole
        True
    """
    topics = chosen_names("topics", topics)
    state = _State(chosen_names("groups", groups))
    replicas = Replicas(*logs, limits=limits)
    omissions = replicas.omissions
    for log in replicas.of_topic(OFFSETS_TOPIC):
        state.load(log, omissions)
        log.close()
    if any(topic_partition.topic == SHARE_TOPIC for topic_partition in replicas.topic_partitions):
        for log in replicas.of_topic(SHARE_TOPIC):
            state.load(log, omissions)
            log.close()
    names = state.names | (replicas.names() if state.has_ids else {})
    ends = _Ends(replicas, omissions)
    return Groups(
        sorted(state.all_groups(names, omissions), key=lambda group: group.group),
        state.all_offsets(ends, topics),
        list(state.all_share(ends, names, topics)),
        omissions,
    )


class _Key(NamedTuple):
    group: str
    topic: str
    partition: int


class _Transaction(NamedTuple):
    """Of a producer, in a partition of `__consumer_offsets`: each has a marker of its own."""

    source: TopicPartition
    producer_id: int


class _Commit(NamedTuple):
    value: OffsetCommitValue | LegacyOffsetCommitValue
    source: TopicPartition
    record_offset: int
    producer: tuple[int, int] | None


_Epoch = ConsumerGroupMetadataValue | ShareGroupMetadataValue | StreamsGroupMetadataValue
_Target = (
    ConsumerGroupTargetAssignmentMetadataValue
    | ShareGroupTargetAssignmentMetadataValue
    | StreamsGroupTargetAssignmentMetadataValue
)
_Member = ConsumerGroupMemberMetadataValue | ShareGroupMemberMetadataValue | StreamsGroupMemberMetadataValue
_Current = (
    ConsumerGroupCurrentMemberAssignmentValue
    | ShareGroupCurrentMemberAssignmentValue
    | StreamsGroupCurrentMemberAssignmentValue
)
_T = TypeVar("_T")


_TYPE_OF_KEY: dict[type[object], str] = {
    GroupMetadataKey: "classic",
    ConsumerGroupMetadataKey: "consumer",
    ConsumerGroupTargetAssignmentMetadataKey: "consumer",
    ConsumerGroupMemberMetadataKey: "consumer",
    ConsumerGroupCurrentMemberAssignmentKey: "consumer",
    ShareGroupMetadataKey: "share",
    ShareGroupTargetAssignmentMetadataKey: "share",
    ShareGroupMemberMetadataKey: "share",
    ShareGroupCurrentMemberAssignmentKey: "share",
    StreamsGroupMetadataKey: "streams",
    StreamsGroupTargetAssignmentMetadataKey: "streams",
    StreamsGroupMemberMetadataKey: "streams",
    StreamsGroupCurrentMemberAssignmentKey: "streams",
    StreamsGroupTopologyKey: "streams",
}


@dataclass(slots=True)
class _Stored:
    """The messages of one group, the newest of each key; of members by their ids."""

    classic: GroupMetadataValue | None = None
    # Where it is: the partition, and the offset of its record.
    classic_at: tuple[Path, int] = field(default=(Path(), -1), compare=False)
    epoch: _Epoch | None = None
    target: _Target | None = None
    members: dict[str, _Member] = field(default_factory=dict)
    current: dict[str, _Current] = field(default_factory=dict)
    topology: StreamsGroupTopologyValue | None = None
    # The type of group, by the last message; "" for none.
    kind: str = field(default="", compare=False)

    def replay(self, key: object, value: object) -> None:
        """Take a message; None removes what its key had.

        A group has one type, that of its last message: what is left of another type goes, as compaction may
        have removed its tombstones. A tombstone of another type says nothing, but that of a classic group
        removes any.

        Source: org.apache.kafka.coordinator.group.GroupMetadataManager.replay.
        """
        kind = _TYPE_OF_KEY.get(type(key))
        if kind is None or (value is None and kind not in (self.kind, "classic")):
            return
        if kind != self.kind or (value is None and kind == "classic"):
            self.classic = self.epoch = self.target = self.topology = None
            self.members.clear()
            self.current.clear()
            self.kind = "" if value is None else kind
        match key, value:
            case GroupMetadataKey(), GroupMetadataValue() | None as classic:
                self.classic = classic
            case (
                ConsumerGroupMetadataKey() | ShareGroupMetadataKey() | StreamsGroupMetadataKey(),
                ConsumerGroupMetadataValue()
                | ShareGroupMetadataValue()
                | StreamsGroupMetadataValue()
                | None as epoch,
            ):
                self.epoch = epoch
            case (
                ConsumerGroupTargetAssignmentMetadataKey()
                | ShareGroupTargetAssignmentMetadataKey()
                | StreamsGroupTargetAssignmentMetadataKey(),
                ConsumerGroupTargetAssignmentMetadataValue()
                | ShareGroupTargetAssignmentMetadataValue()
                | StreamsGroupTargetAssignmentMetadataValue()
                | None as target,
            ):
                self.target = target
            case (
                ConsumerGroupMemberMetadataKey(member_id=name)
                | ShareGroupMemberMetadataKey(member_id=name)
                | StreamsGroupMemberMetadataKey(member_id=name),
                ConsumerGroupMemberMetadataValue()
                | ShareGroupMemberMetadataValue()
                | StreamsGroupMemberMetadataValue()
                | None as member,
            ):
                _set_or_remove(self.members, name, member)
            case (
                ConsumerGroupCurrentMemberAssignmentKey(member_id=name)
                | ShareGroupCurrentMemberAssignmentKey(member_id=name)
                | StreamsGroupCurrentMemberAssignmentKey(member_id=name),
                ConsumerGroupCurrentMemberAssignmentValue()
                | ShareGroupCurrentMemberAssignmentValue()
                | StreamsGroupCurrentMemberAssignmentValue()
                | None as current,
            ):
                _set_or_remove(self.current, name, current)
            case StreamsGroupTopologyKey(), StreamsGroupTopologyValue() | None as topology:
                self.topology = topology


def _set_or_remove(held: dict[str, _T], name: str, value: _T | None) -> None:
    if value is None:
        held.pop(name, None)
    else:
        held[name] = value


class _State:
    """The state of the coordinator after the records so far."""

    def __init__(self, group_names: Collection[str] | None) -> None:
        self._group_names = group_names
        # A key without these bytes belongs to none of the groups: most need not be decoded.
        self._names = (
            [] if group_names is None else [name.encode("utf-8", "surrogateescape") for name in group_names]
        )
        self._offsets: dict[_Key, _Commit] = {}
        # Of each open transaction, which a marker in the same partition ends; and in which of them a key is,
        # so that a tombstone finds it there.
        self._pending: dict[_Transaction, dict[_Key, _Commit]] = {}
        self._waiting: dict[_Key, set[_Transaction]] = {}
        self._groups: dict[str, _Stored] = {}
        self._share: dict[tuple[str, UUID, int], ShareOffset] = {}
        self.names: dict[UUID, str] = {}

    @property
    def has_ids(self) -> bool:
        """Whether something is known by a topic's id alone, so that the files of all topics are searched."""
        return bool(self._share) or any(stored.current for stored in self._groups.values())

    def _wants(self, group: str) -> bool:
        return self._group_names is None or group in self._group_names

    def load(self, log: PartitionLog, omissions: Omissions) -> None:
        """Process a partition of a coordinator's topic."""
        source = log.topic_partition
        for batch in batches_of(log, omissions):
            if batch.is_control:
                marker = marker_in(log, batch, omissions)
                if marker is not None:
                    self._ended(_Transaction(source, batch.producer_id), marker.kind)
                continue
            producer = (batch.producer_id, batch.producer_epoch) if batch.producer_id >= 0 else None
            for record in records_in(log, batch, omissions):
                if (
                    self._names
                    and record.key is not None
                    and not any(name in record.key for name in self._names)
                ):
                    continue
                messages = decoded(source.topic, record, omissions)
                if messages is None:
                    continue
                key, value = messages
                message = None if value is None else value.message
                match key.message, message:
                    case (
                        (OffsetCommitKey() | LegacyOffsetCommitKey()) as commit_key,
                        OffsetCommitValue() | LegacyOffsetCommitValue() as stored,
                    ):
                        self._commit(commit_key, _Commit(stored, source, record.offset, producer))
                    case OffsetCommitKey() | LegacyOffsetCommitKey() as commit_key, None:
                        self._remove(commit_key)
                    case (
                        (ShareSnapshotKey() | ShareUpdateKey()) as share,
                        ShareSnapshotValue() | ShareUpdateValue() | None as state,
                    ):
                        self._share_state(share, state)
                    case GroupMetadataKey(group=name), _:
                        self._group(name, key.message, message)
                        if name in self._groups:
                            self._groups[name].classic_at = log.path, record.offset
                    case _:
                        self._group(getattr(key.message, "group_id", None), key.message, message)

    # -- offsets ----------------------------------------------------------------------------------

    def _commit(self, key: OffsetCommitKey | LegacyOffsetCommitKey, commit: _Commit) -> None:
        commit_key = _Key(key.group, key.topic, key.partition)
        if not self._wants(commit_key.group):
            return
        if commit.producer is None:
            self._offsets[commit_key] = commit
        else:
            transaction = _Transaction(commit.source, commit.producer[0])
            self._pending.setdefault(transaction, {})[commit_key] = commit
            self._waiting.setdefault(commit_key, set()).add(transaction)

    def _remove(self, key: OffsetCommitKey | LegacyOffsetCommitKey) -> None:
        commit_key = _Key(key.group, key.topic, key.partition)
        self._offsets.pop(commit_key, None)
        for transaction in self._waiting.pop(commit_key, ()):
            del self._pending[transaction][commit_key]

    def _ended(self, transaction: _Transaction, kind: ControlRecordType) -> None:
        if kind not in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
            return
        for key, commit in self._pending.pop(transaction, {}).items():
            self._waiting[key].discard(transaction)
            if not self._waiting[key]:
                del self._waiting[key]
            known = self._offsets.get(key)
            # One that was committed meanwhile without a transaction stays.
            newer = (
                known is None or known.source != commit.source or commit.record_offset > known.record_offset
            )
            if kind is ControlRecordType.COMMIT and newer:
                self._offsets[key] = commit

    def all_offsets(self, ends: _Ends, topics: Collection[str] | None) -> list[CommittedOffset]:
        pending = [(*item, True) for commits in self._pending.values() for item in commits.items()]
        rows = [*((key, commit, False) for key, commit in self._offsets.items()), *pending]
        rows.sort(key=lambda row: (row[0], row[2], row[1].record_offset))
        return [
            _committed(key, commit, waits, ends)
            for key, commit, waits in rows
            if topics is None or key.topic in topics
        ]

    # -- share groups -----------------------------------------------------------------------------

    def _share_state(
        self, key: ShareSnapshotKey | ShareUpdateKey, value: ShareSnapshotValue | ShareUpdateValue | None
    ) -> None:
        share_key = key.group_id, key.topic_id, key.partition
        if not self._wants(key.group_id):
            return
        if value is None:
            self._share.pop(share_key, None)
            return
        before = self._share.get(share_key)
        start, complete = value.start_offset, value.delivery_complete_count
        # An update has -1 for unchanged fields.
        if start < 0 and before is not None:
            start = before.start_offset
        if isinstance(value, ShareSnapshotValue):
            state_epoch, write_timestamp = value.state_epoch, value.write_timestamp
        elif before is None:
            state_epoch = write_timestamp = -1
        else:
            state_epoch, write_timestamp = before.state_epoch, before.write_timestamp
            if complete < 0 and before.delivery_complete_count is not None:
                complete = before.delivery_complete_count
        self._share[share_key] = ShareOffset(
            key.group_id,
            key.topic_id,
            None,
            key.partition,
            start,
            state_epoch,
            value.leader_epoch,
            None if complete < 0 else complete,
            write_timestamp,
            None,
        )

    def all_share(
        self, ends: _Ends, names: dict[UUID, str], topics: Collection[str] | None
    ) -> Iterable[ShareOffset]:
        for share in sorted(
            self._share.values(), key=lambda share: (share.group, share.topic_id, share.partition)
        ):
            topic = names.get(share.topic_id)
            if topics is not None and topic not in topics:
                continue
            end = None if topic is None else ends.of(topic, share.partition, share.topic_id)[1]
            yield ShareOffset(
                share.group,
                share.topic_id,
                topic,
                share.partition,
                share.start_offset,
                share.state_epoch,
                share.leader_epoch,
                share.delivery_complete_count,
                share.write_timestamp,
                end,
            )

    # -- groups -----------------------------------------------------------------------------------

    def _group(self, name: str | None, key: object, value: object) -> None:
        if name is None or not self._wants(name):
            return
        if isinstance(value, ShareGroupStatePartitionMetadataValue):
            topics = (value.initializing_topics, value.initialized_topics, value.deleting_topics)
            self.names |= {topic.topic_id: topic.topic_name for listed in topics for topic in listed}
            return
        stored = self._groups.setdefault(name, _Stored())
        stored.replay(key, value)
        if stored == _Stored():
            del self._groups[name]

    def all_groups(self, names: dict[UUID, str], omissions: Omissions) -> Iterable[Group]:
        # A commit without membership also creates a group.
        simple = {key.group for keys in (self._offsets, self._waiting) for key in keys}
        for group, stored in self._groups.items():
            if stored.epoch is not None:
                yield _group_of(group, stored, stored.epoch, names)
            elif stored.classic is not None:
                yield _classic(group, stored.classic, stored.classic_at, omissions)
            else:
                continue
            simple.discard(group)
        for group in simple:
            yield Group(group, "classic", "Empty", "", None, None, 0, None, None, [])


def _committed(key: _Key, commit: _Commit, pending: bool, ends: _Ends) -> CommittedOffset:
    value = commit.value
    epoch = expiry = -1
    identity = None
    match value:
        case OffsetCommitValue():
            offset, epoch, expiry = value.committed_offset, value.leader_epoch, value.expire_timestamp
            identity = None if value.topic_id == _NO_ID else value.topic_id
        case LegacyOffsetCommitValue():
            offset = value.offset
    start, end = ends.of(key.topic, key.partition, identity)
    producer, producer_epoch = commit.producer or (None, None)
    return CommittedOffset(
        *key,
        offset,
        None if epoch < 0 else epoch,
        value.metadata,
        value.commit_timestamp,
        None if expiry < 0 else expiry,
        identity,
        pending,
        producer,
        producer_epoch,
        start,
        end,
        commit.source,
        commit.record_offset,
    )


class _Ends:
    """Where the logs of partitions start and end, each looked up once."""

    def __init__(self, replicas: Replicas, omissions: Omissions) -> None:
        self._replicas = replicas
        self._omissions = omissions
        self._known: dict[TopicPartition, tuple[int, int, UUID | None] | None] = {}

    def of(self, topic: str, partition: int, identity: UUID | None) -> tuple[int | None, int | None]:
        key = TopicPartition(topic, partition)
        if key not in self._known:
            self._known[key] = self._read(key)
        ends = self._known[key]
        if ends is None or (identity is not None and ends[2] is not None and identity != ends[2]):
            return None, None
        return ends[0], ends[1]

    def _read(self, key: TopicPartition) -> tuple[int, int, UUID | None] | None:
        log = self._replicas.log(key)
        if log is None:
            return None
        try:
            require_end(log, self._omissions)
            return log.start_offset, log.end_offset, topic_id(log, self._omissions)
        except (FormatError, OSError) as error:
            self._omissions.failed(log.path, error)
            return None
        finally:
            log.close()


# -- what a group's messages say ------------------------------------------------------------------


def _classic(
    group: str, value: GroupMetadataValue, location: tuple[Path, int], omissions: Omissions
) -> Group:
    members = []
    for metadata in value.members:
        member, errors = _classic_member(metadata, value)
        members.append(member)
        path, offset = location
        for what, error in errors:
            text = f"offset {offset}: {what} of member `{metadata.member_id}` of group `{group}`: {error}"
            omissions.add(Omission(cause_of(error), path, text, first_offset=offset, last_offset=offset))
    members.sort(key=lambda member: member.member_id)
    return Group(
        group,
        "classic",
        "Stable" if members else "Empty",
        value.protocol_type,
        value.protocol,
        value.leader,
        value.generation,
        None,
        None,
        members,
    )


def _classic_member(
    member: MemberMetadata, value: GroupMetadataValue
) -> tuple[GroupMember, list[tuple[str, FormatError]]]:
    """A member, and what of it cannot be decoded: clients write it."""
    errors = []
    subscription: ConsumerProtocolSubscription | None = None
    assignment: ConsumerProtocolAssignment | None = None
    if value.protocol_type == "consumer":
        try:
            subscription = of_consumer(ConsumerProtocolSubscription, member.subscription)
        except FormatError as error:
            errors.append(("the subscription", error))
        try:
            assignment = of_consumer(ConsumerProtocolAssignment, member.assignment)
        except FormatError as error:
            errors.append(("the assignment", error))
    assigned = None
    if assignment is not None:
        assigned = [Assigned(topic.topic, None, topic.partitions) for topic in assignment.assigned_partitions]
    group_member = GroupMember(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        None if subscription is None else subscription.rack_id,
        None,
        None,
        None if subscription is None else subscription.topics,
        None,
        assigned,
    )
    return group_member, errors


_KINDS: dict[type, str] = {
    ConsumerGroupMetadataValue: "consumer",
    ShareGroupMetadataValue: "share",
    StreamsGroupMetadataValue: "streams",
}


def _group_of(group: str, stored: _Stored, epoch: _Epoch, names: dict[UUID, str]) -> Group:
    kind = _KINDS[type(epoch)]
    target = None if stored.target is None else stored.target.assignment_epoch
    stable = 1 if kind == "streams" else 0
    settled = all(
        now is not None and now.state == stable and now.member_epoch == target
        for now in (stored.current.get(member) for member in stored.members)
    )
    if not stored.members:
        state = "Empty"
    elif kind == "share":
        state = "Stable"
    elif kind == "streams" and stored.topology is None:
        state = "NotReady"
    elif target is None or epoch.epoch > target:
        state = "Assigning"
    else:
        state = "Stable" if settled else "Reconciling"
    members = [
        _member(name, member, stored.current.get(name), names)
        for name, member in sorted(stored.members.items())
    ]
    return Group(group, kind, state, None, None, None, None, epoch.epoch, target, members)


def _member(name: str, member: _Member, now: _Current | None, names: dict[UUID, str]) -> GroupMember:
    instance_id = topics = regex = None
    match member:
        case ConsumerGroupMemberMetadataValue():
            instance_id, topics = member.instance_id, member.subscribed_topic_names
            regex = member.subscribed_topic_regex or None
        case ShareGroupMemberMetadataValue():
            topics = member.subscribed_topic_names
        case StreamsGroupMemberMetadataValue():
            instance_id = member.instance_id
    state = None
    if now is not None:
        states = (
            _STREAMS_STATES if isinstance(now, StreamsGroupCurrentMemberAssignmentValue) else _MEMBER_STATES
        )
        state = states.get(now.state, f"unknown ({now.state})")
    return GroupMember(
        name,
        instance_id,
        member.client_id,
        member.client_host,
        member.rack_id,
        None if now is None else now.member_epoch,
        state,
        topics,
        regex,
        None if now is None else _assigned(now, names),
    )


def _assigned(now: _Current, names: dict[UUID, str]) -> list[Assigned]:
    if not isinstance(now, StreamsGroupCurrentMemberAssignmentValue):
        return [
            Assigned(names.get(topic.topic_id), topic.topic_id, topic.partitions)
            for topic in now.assigned_partitions
        ]
    roles = (("active", now.active_tasks), ("standby", now.standby_tasks), ("warmup", now.warmup_tasks))
    return [
        Assigned(None, None, task.partitions, task.subtopology_id, role)
        for role, tasks in roles
        for task in tasks
    ]
