"""A KRaft cluster's metadata at an offset: the newest snapshot below it, and the log after that.

Followed: `MetadataDelta` and the deltas and images next to it in `org.apache.kafka.image`,
`PartitionRegistration.merge` and `BrokerRegistration` of `org.apache.kafka.metadata`, Kafka 4.3.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from kodec.generated.control.kraft_version_record import KraftVersionRecord
from kodec.generated.control.leader_change_message import LeaderChangeMessage
from kodec.generated.control.voters_record import VotersRecord
from kodec.generated.metadata.abort_transaction_record import AbortTransactionRecord
from kodec.generated.metadata.access_control_entry_record import AccessControlEntryRecord
from kodec.generated.metadata.begin_transaction_record import BeginTransactionRecord
from kodec.generated.metadata.broker_registration_change_record import BrokerRegistrationChangeRecord
from kodec.generated.metadata.clear_elr_record import ClearElrRecord
from kodec.generated.metadata.client_quota_record import ClientQuotaRecord
from kodec.generated.metadata.config_record import ConfigRecord
from kodec.generated.metadata.delegation_token_record import DelegationTokenRecord
from kodec.generated.metadata.end_transaction_record import EndTransactionRecord
from kodec.generated.metadata.feature_level_record import FeatureLevelRecord
from kodec.generated.metadata.fence_broker_record import FenceBrokerRecord
from kodec.generated.metadata.partition_change_record import PartitionChangeRecord
from kodec.generated.metadata.partition_record import PartitionRecord
from kodec.generated.metadata.producer_ids_record import ProducerIdsRecord
from kodec.generated.metadata.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from kodec.generated.metadata.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from kodec.generated.metadata.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from kodec.generated.metadata.remove_delegation_token_record import RemoveDelegationTokenRecord
from kodec.generated.metadata.remove_topic_record import RemoveTopicRecord
from kodec.generated.metadata.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from kodec.generated.metadata.topic_record import TopicRecord
from kodec.generated.metadata.unfence_broker_record import UnfenceBrokerRecord
from kodec.generated.metadata.unregister_broker_record import UnregisterBrokerRecord
from kodec.generated.metadata.unregister_controller_record import UnregisterControllerRecord
from kodec.generated.metadata.user_scram_credential_record import UserScramCredentialRecord
from kodec.log.arguments import require_integer
from kodec.log.batches.records import ControlRecord, ControlRecordType, Limits, Record
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import read_quorum_state
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import QUORUM_STATE
from kodec.log.omissions import Omissions
from kodec.log.reading.reader import read_batches
from kodec.log.remote.opening import open_location
from kodec.log.views.reading import batches_of, decoded, records_in
from kodec.log.views.replicas import Replicas
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import FormatError, OffsetOutOfRange
from kodec.stores.storage import if_there

__all__ = [
    "Acl",
    "Broker",
    "ClusterMetadata",
    "PartitionAssignment",
    "Token",
    "Topic",
    "partition_count",
    "read_metadata",
    "read_metadata_snapshot",
    "records_to_carry",
]

_Item = TypeVar("_Item")
METADATA_TOPIC = "__cluster_metadata"
_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_NO_CHANGE = -2
_RESOURCES = {2: "topic", 4: "broker", 8: "broker-logger", 16: "client-metrics", 32: "group"}
_SECURITY = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# By the codes of org.apache.kafka.common.resource and org.apache.kafka.common.acl.
_ACL_RESOURCES = (
    "UNKNOWN",
    "ANY",
    "TOPIC",
    "GROUP",
    "CLUSTER",
    "TRANSACTIONAL_ID",
    "DELEGATION_TOKEN",
    "USER",
)
_PATTERNS = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")
_PERMISSIONS = ("UNKNOWN", "ANY", "DENY", "ALLOW")
_OPERATIONS = (
    "UNKNOWN",
    "ANY",
    "ALL",
    "READ",
    "WRITE",
    "CREATE",
    "DELETE",
    "ALTER",
    "DESCRIBE",
    "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS",
    "IDEMPOTENT_WRITE",
    "CREATE_TOKENS",
    "DESCRIBE_TOKENS",
    "TWO_PHASE_COMMIT",
)
_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


@dataclass(frozen=True, slots=True)
class PartitionAssignment:
    """The replicas and the leader of a partition.

    Attributes:
        leader: None: none. leader_epoch, partition_epoch: how often the leader, or the partition, changed.
        replicas, isr: brokers, the first one preferred; those in sync.
        adding, removing: of a reassignment in progress.
        elr, last_known_elr: eligible leader replicas (KIP-966).
        directories: the log directory of each replica; [] if not in the records.
        recovering: whether the leader was elected uncleanly and has not recovered.

    Example: see `read_metadata`.
    """

    partition: int
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    replicas: list[int]
    isr: list[int]
    adding: list[int]
    removing: list[int]
    elr: list[int]
    last_known_elr: list[int]
    directories: list[UUID]
    recovering: bool


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, its own configs (not those of brokers or defaults), and its partitions by number.

    Attributes:
        name, topic_id: which one.
        configs: its own settings.
        partitions: by number.

    Example: see `read_metadata`.
    """

    name: str
    topic_id: UUID
    configs: dict[str, str]
    partitions: list[PartitionAssignment]


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker's registration, or a controller's (without an epoch, fencing and log directories).

    `endpoints` are (name, host, port, security protocol), `features` (lowest, highest) version by name.

    Attributes:
        id, epoch, incarnation_id, rack: as registered.
        endpoints, features: see above.
        fenced, in_controlled_shutdown: whether it may not lead, or is stopping.
        log_dirs, cordoned_log_dirs: ids of its log directories, and of those that get no new replicas.

    Example: see `read_metadata`.
    """

    id: int
    epoch: int | None
    incarnation_id: UUID
    endpoints: list[tuple[str, str, int, str]]
    features: dict[str, tuple[int, int]]
    rack: str | None = None
    fenced: bool | None = None
    in_controlled_shutdown: bool | None = None
    log_dirs: list[UUID] = field(default_factory=list)
    cordoned_log_dirs: list[UUID] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Acl:
    """An access control entry, with Kafka's names in capitals."""

    acl_id: UUID
    permission: str
    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    pattern_type: str


@dataclass(frozen=True, slots=True)
class Token:
    """A delegation token, without its secret; times are in ms since 1970-01-01 UTC."""

    token_id: str
    owner: str
    requester: str
    renewers: list[str]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """The metadata after all records below `end_offset`.

    Attributes:
        end_offset: as in a snapshot's name; -1 for a snapshot file of another name.
        epoch: the leader epoch of the last batch. leader: the controller that led it, according to the log
            (also before the snapshot), or by `quorum-state`; None: unknown, as for a snapshot alone.
        timestamp: of the last batch, in ms since 1970-01-01 UTC; None for none.
        snapshot: the file from which reading began; None if it was the start of the log.
        features: the level of each finalized feature, `kraft.version` too.
        topics, brokers, controllers: by name, and by id.
        configs: of every resource that has some: (kind, name) to its configs. "" is the default of brokers.
        quotas: (entity, its quotas); an entity is (type, name) pairs, with None for the default.
        acls, tokens: access control entries, and delegation tokens.
        users: (name, mechanism, iterations) of SCRAM credentials.
        voters: id and directory id of the voters, if the records have them.
        next_producer_id: the first producer id that is not assigned to a broker; None if none is.
        open_transaction: the name of a metadata transaction that has not ended, whose records do not count;
            None for none.
        omissions: what could not be read. Where it has problems, or unknown records, the state may be wrong.

    Example: see `read_metadata`.
    """

    end_offset: int
    epoch: int
    leader: int | None
    timestamp: int | None
    snapshot: Path | None
    features: dict[str, int]
    topics: list[Topic]
    brokers: list[Broker]
    controllers: list[Broker]
    configs: dict[tuple[str, str], dict[str, str]]
    quotas: list[tuple[tuple[tuple[str, str | None], ...], dict[str, float]]]
    acls: list[Acl]
    users: list[tuple[str, str, int]]
    tokens: list[Token]
    voters: list[tuple[int, UUID]]
    next_producer_id: int | None
    open_transaction: str | None
    omissions: Omissions

    def topic(self, name: str) -> Topic | None:
        """The topic of a name; None if there is none."""
        return next((topic for topic in self.topics if topic.name == name), None)


def read_metadata(
    *logs: str | os.PathLike[str], end_offset: int | None = None, limits: Limits = Limits()
) -> ClusterMetadata:
    """The cluster's metadata at an offset, from the newest whole snapshot that is not after it and the log.

    The log may end in records that were not committed yet: a quorum's high watermark is not stored.

    Args:
        logs: one or several log directories, of one node or of many (the newest log is read).
        end_offset: only records below it; None: all.
        limits: how much may be allocated for one batch.

    Returns: the state after all records below the end offset.
    Raises: NotALog where `__cluster_metadata` is in none of them; OffsetOutOfRange where the log no longer
    reaches back to the offset, or does not reach up to it; OSError; Malformed for a directory's
    `log-start-offset-checkpoint`. Other damage does not raise an error but is in `omissions`.

    Example:
        >>> import kodec
        >>> metadata = kodec.operations.read_metadata("/data/kafka-logs")
        >>> topic = next(each for each in metadata.topics if each.name == "orders")
        >>> topic.partitions[0].replicas, topic.partitions[0].leader
        ([1], None)
        >>> [(broker.id, broker.fenced) for broker in metadata.brokers]
        [(1, True)]
    """
    if end_offset is not None:
        require_integer("end_offset", end_offset, 0)
    replicas = Replicas(*logs, limits=limits)
    (log,) = replicas.of_topic(METADATA_TOPIC)[:1]
    return _replayed(log, end_offset, replicas.omissions)


def read_metadata_snapshot(path: str | os.PathLike[str], *, limits: Limits = Limits()) -> ClusterMetadata:
    """The metadata in a snapshot (`.checkpoint`), including `bootstrap.checkpoint`. Raises OSError.

    Args:
        path: of a `.checkpoint` file.
        limits: how much may be allocated for one batch.

    Returns: the state that the snapshot holds.
    Raises: OSError where the file cannot be read. Damage does not raise: `omissions` has it.

    Example:
        >>> import kodec
        >>> metadata = kodec.operations.read_metadata_snapshot("/data/kafka-logs/bootstrap.checkpoint")
        >>> metadata.features["metadata.version"]
        30
    """
    state = _State(Omissions())
    file = open_location(path)
    named = _SNAPSHOT.fullmatch(file.name)
    whole = _load(state, file, limits)
    # The snapshot that formats a new cluster has no header and no footer.
    if not whole and named is not None:
        state.omissions.lose(file, "no footer: the snapshot is incomplete")
    return state.result(int(named[1]) if named else -1, file)


def partition_count(replicas: Replicas, topic: str, omissions: Omissions) -> int | None:
    """The number of partitions of a topic, from the metadata log; None if unknown."""
    log = replicas.log(TopicPartition(METADATA_TOPIC, 0))
    if log is None:
        return None
    known_topic = _replayed(log, None, omissions).topic(topic)
    return None if known_topic is None else len(known_topic.partitions)


def records_to_carry(
    *logs: str | os.PathLike[str], end_offset: int | None = None, limits: Limits = Limits()
) -> list[object]:
    """The newest record of each ACL, quota, SCRAM user and delegation token, with its secrets.

    Raises as `read_metadata`.
    """
    (log,) = Replicas(*logs, limits=limits).of_topic(METADATA_TOPIC)[:1]
    state, _, _ = _replayed_state(log, end_offset, Omissions())
    return list(state.current_records.values())


def _replayed(log: PartitionLog, end_offset: int | None, omissions: Omissions) -> ClusterMetadata:
    state, offset, snapshot = _replayed_state(log, end_offset, omissions)
    return state.result(offset, snapshot)


def _replayed_state(
    log: PartitionLog, end_offset: int | None, omissions: Omissions
) -> tuple[_State, int, Path | None]:
    state, offset, snapshot = _from_snapshot(log, end_offset, omissions)
    start = log.start_offset
    if offset < start:
        if end_offset is not None and end_offset < start:
            raise OffsetOutOfRange(end_offset, start, start, str(log.topic_partition))
        omissions.gap(log.path, offset, start - 1, "no snapshot has them")
        offset = start
    for batch in batches_of(log, omissions, offset):
        if batch.last_offset < offset:
            continue
        if end_offset is not None and batch.base_offset >= end_offset:
            break
        if batch.base_offset > offset:
            omissions.gap(log.path, offset, batch.base_offset - 1)
        state.epoch = batch.partition_leader_epoch
        state.timestamp = batch.max_timestamp
        for record in records_in(log, batch, omissions):
            if record.offset >= offset and (end_offset is None or record.offset < end_offset):
                state.take(record)
        offset = batch.next_offset if end_offset is None else min(batch.next_offset, end_offset)
    if end_offset is not None and offset < end_offset:
        raise OffsetOutOfRange(end_offset, start, offset, str(log.topic_partition))
    if state.epoch not in state.leaders:
        _find_leader(log, state)
    log.close()
    return state, offset, snapshot


def _find_leader(log: PartitionLog, state: _State) -> None:
    """The leader of the epoch, if it began before the snapshot, which lacks it.

    A leader begins its epoch with a record that reports it; `quorum-state` knows the newest one.
    """
    # damage in what the snapshot has is not part of the answer
    with suppress(FormatError, OSError):
        for batch in batches_of(log, Omissions()):
            if batch.is_control and batch.partition_leader_epoch == state.epoch:
                for record in batch.records(control=True):
                    if isinstance(record, ControlRecord) and isinstance(record.data, LeaderChangeMessage):
                        state.leaders[state.epoch] = record.data.leader_id
                        return
    path = log.path / QUORUM_STATE
    try:
        quorum = if_there(read_quorum_state, path, None)
    except (FormatError, OSError) as error:
        state.omissions.failed(path, error)
        return
    if quorum is not None and quorum.leader_epoch == state.epoch and quorum.leader_id is not None:
        state.leaders[state.epoch] = quorum.leader_id


def _from_snapshot(
    log: PartitionLog, end_offset: int | None, omissions: Omissions
) -> tuple[_State, int, Path | None]:
    """The state in the newest snapshot that can be used, its end offset, and its file."""
    snapshots = sorted(
        (int(matched[1]), int(matched[2]), path)
        for path in log.path.iterdir()
        if (matched := _SNAPSHOT.fullmatch(path.name)) is not None
    )
    for offset, _, path in reversed(snapshots):
        if end_offset is not None and offset > end_offset:
            continue
        state = _State(omissions)
        before = len(omissions.unread)
        try:
            whole = _load(state, path, log.limits)
        except FileNotFoundError:
            # Deleted since, as brokers do with old ones.
            continue
        except OSError as error:
            omissions.failed(path, error)
            continue
        if whole and len(omissions.unread) == before:
            return state, offset, path
        if not whole:
            omissions.lose(path, "no footer: the snapshot is incomplete")
        omissions.lose(path, "not used, an older one or the log is")
    return _State(omissions), 0, None


def _load(state: _State, path: Path, limits: Limits) -> bool:
    """Apply the records of a snapshot; return whether it ends in its footer."""
    ended = False
    with read_batches(path, on_error="skip", limits=limits) as reader:
        for batch in reader:
            state.epoch = batch.partition_leader_epoch
            try:
                records = batch.records(control=True, check_crc=False)
            except FormatError as error:
                state.omissions.failed(path, error)
                continue
            for record in records:
                if isinstance(record, ControlRecord) and record.type is ControlRecordType.SNAPSHOT_FOOTER:
                    ended = True
                state.take(record)
        state.omissions.end(path, reader.skipped, reader.torn_tail, is_last=False)
    return ended


@dataclass(slots=True)
class _Topic:
    name: str
    partitions: dict[int, PartitionAssignment] = field(default_factory=dict)


class _State:
    """The metadata after the records so far."""

    def __init__(self, omissions: Omissions) -> None:
        self.omissions = omissions
        self.epoch = -1
        self.timestamp: int | None = None
        self.leaders: dict[int, int] = {}
        self._features: dict[str, int] = {}
        self._topics: dict[UUID, _Topic] = {}
        self._ids: dict[str, UUID] = {}
        self._brokers: dict[int, Broker] = {}
        self._controllers: dict[int, Broker] = {}
        self._configs: dict[tuple[str, str], dict[str, str]] = {}
        self._quotas: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = {}
        self._acls: dict[UUID, Acl] = {}
        self._users: dict[tuple[str, int], int] = {}
        # The newest record of what another cluster takes over as it is.
        self.current_records: dict[tuple[object, ...], object] = {}
        self._tokens: dict[str, Token] = {}
        self._voters: list[tuple[int, UUID]] = []
        self._next_producer_id: int | None = None
        # The records of a metadata transaction count when it ends.
        self._held: list[object] | None = None
        self._transaction = ""

    def result(self, end_offset: int, snapshot: Path | None) -> ClusterMetadata:
        features = dict(sorted(self._features.items()))
        topics = [
            Topic(
                topic.name,
                identity,
                dict(sorted(self._configs.get(("topic", topic.name), {}).items())),
                [topic.partitions[number] for number in sorted(topic.partitions)],
            )
            for identity, topic in sorted(self._topics.items(), key=lambda item: item[1].name)
        ]
        return ClusterMetadata(
            end_offset,
            self.epoch,
            self.leaders.get(self.epoch),
            self.timestamp,
            snapshot,
            features,
            topics,
            [self._brokers[number] for number in sorted(self._brokers)],
            [self._controllers[number] for number in sorted(self._controllers)],
            {
                key: dict(sorted(settings.items()))
                for key, settings in sorted(self._configs.items())
                if settings
            },
            sorted(
                ((key, dict(sorted(quotas.items()))) for key, quotas in self._quotas.items() if quotas),
                key=lambda item: [(kind, name or "") for kind, name in item[0]],
            ),
            sorted(self._acls.values(), key=lambda acl: (acl.resource_type, acl.resource_name, acl.acl_id)),
            sorted(
                (name, _MECHANISMS.get(kind, f"mechanism {kind}"), times)
                for (name, kind), times in self._users.items()
            ),
            [self._tokens[token] for token in sorted(self._tokens)],
            sorted(self._voters),
            self._next_producer_id,
            self._transaction if self._held is not None else None,
            self.omissions,
        )

    # -- records ----------------------------------------------------------------------------------

    def take(self, record: Record) -> None:
        """Apply the next record."""
        if isinstance(record, ControlRecord):
            self._control(record)
            return
        messages = decoded(METADATA_TOPIC, record, self.omissions)
        if messages is None:
            return
        match messages[0].message:
            case BeginTransactionRecord(name=name):
                self._held, self._transaction = [], name or ""
            case EndTransactionRecord():
                held, self._held = self._held or [], None
                for pending in held:
                    self._apply(pending)
            case AbortTransactionRecord():
                self._held = None
            case message if self._held is None:
                self._apply(message)
            case message:
                self._held.append(message)

    def _control(self, record: ControlRecord) -> None:
        data = record.data
        if isinstance(data, LeaderChangeMessage):
            self.leaders[self.epoch] = data.leader_id
        elif isinstance(data, KraftVersionRecord):
            self._features["kraft.version"] = data.kraft_version
        elif isinstance(data, VotersRecord):
            self._voters = [(voter.voter_id, voter.voter_directory_id) for voter in data.voters]

    def _apply(self, record: object) -> None:
        match record:
            case AccessControlEntryRecord():
                self._acl(record)
            case BrokerRegistrationChangeRecord():
                self._change_broker(record)
            case ClearElrRecord():
                self._clear_elr(record)
            case ClientQuotaRecord():
                self._quota(record)
            case ConfigRecord():
                self._config(record)
            case DelegationTokenRecord():
                self._token(record)
            case FeatureLevelRecord():
                self._feature(record)
            case FenceBrokerRecord():
                self._fence(record.id, True)
            case PartitionChangeRecord():
                self._change_partition(record)
            case PartitionRecord():
                self._partition(record)
            case ProducerIdsRecord():
                self._next_producer_id = record.next_producer_id
            case RegisterBrokerRecord():
                self._register_broker(record)
            case RegisterControllerRecord():
                self._register_controller(record)
            case RemoveAccessControlEntryRecord():
                self._acls.pop(record.id, None)
                self.current_records.pop(("acl", record.id), None)
            case RemoveDelegationTokenRecord():
                self._tokens.pop(record.token_id, None)
                self.current_records.pop(("token", record.token_id), None)
            case RemoveTopicRecord():
                self._remove_topic(record)
            case RemoveUserScramCredentialRecord():
                self._users.pop((record.name, record.mechanism), None)
                self.current_records.pop(("user", record.name, record.mechanism), None)
            case TopicRecord():
                self._topic(record)
            case UnfenceBrokerRecord():
                self._fence(record.id, False)
            case UnregisterBrokerRecord():
                self._brokers.pop(record.broker_id, None)
            case UnregisterControllerRecord():
                self._controllers.pop(record.controller_id, None)
            case UserScramCredentialRecord():
                self._users[record.name, record.mechanism] = record.iterations
                self.current_records["user", record.name, record.mechanism] = record

    def _add_loss(self, text: str) -> None:
        self.omissions.lose(Path(METADATA_TOPIC), text)

    def _topic(self, record: TopicRecord) -> None:
        old = self._ids.get(record.name)
        if old is not None and old != record.topic_id:
            self._topics.pop(old, None)
        self._topics[record.topic_id] = _Topic(record.name)
        self._ids[record.name] = record.topic_id

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self._topics.pop(record.topic_id, None)
        if topic is None:
            self._add_loss(f"topic {record.topic_id} is removed, but unknown")
            return
        self._ids.pop(topic.name, None)
        self._configs.pop(("topic", topic.name), None)

    def _partition(self, record: PartitionRecord) -> None:
        topic = self._topics.get(record.topic_id)
        if topic is None:
            self._add_loss(f"partition {record.partition_id} is of topic {record.topic_id}, which is unknown")
            return
        topic.partitions[record.partition_id] = PartitionAssignment(
            record.partition_id,
            None if record.leader < 0 else record.leader,
            record.leader_epoch,
            record.partition_epoch,
            record.replicas,
            record.isr,
            record.adding_replicas,
            record.removing_replicas,
            record.eligible_leader_replicas or [],
            record.last_known_elr or [],
            record.directories,
            record.leader_recovery_state == 1,
        )

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self._topics.get(record.topic_id)
        before = None if topic is None else topic.partitions.get(record.partition_id)
        if topic is None or before is None:
            self._add_loss(
                f"partition {record.partition_id} of topic {record.topic_id} changes, but is unknown"
            )
            return
        topic.partitions[record.partition_id] = _merged(before, record)

    def _clear_elr(self, record: ClearElrRecord) -> None:
        for topic in self._topics.values():
            if record.topic_name not in ("", topic.name):
                continue
            for number, partition in topic.partitions.items():
                if partition.elr or partition.last_known_elr:
                    epoch = partition.partition_epoch + 1
                    topic.partitions[number] = replace(
                        partition, elr=[], last_known_elr=[], partition_epoch=epoch
                    )

    def _config(self, record: ConfigRecord) -> None:
        kind = _RESOURCES.get(record.resource_type, f"resource {record.resource_type}")
        configs = self._configs.setdefault((kind, record.resource_name), {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value

    def _feature(self, record: FeatureLevelRecord) -> None:
        if record.feature_level:
            self._features[record.name] = record.feature_level
        else:
            self._features.pop(record.name, None)

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self._brokers[record.broker_id] = Broker(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            list(_endpoints(record.end_points)),
            _supported(record.features),
            record.rack,
            record.fenced,
            record.in_controlled_shutdown,
            record.log_dirs,
            record.cordoned_log_dirs or [],
        )

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        self._controllers[record.controller_id] = Broker(
            record.controller_id,
            None,
            record.incarnation_id,
            list(_endpoints(record.end_points)),
            _supported(record.features),
        )

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        before = self._brokers.get(record.broker_id)
        if before is None:
            self._add_loss(f"broker {record.broker_id} changes, but is unknown")
            return
        changes: dict[str, Any] = {}
        if record.fenced:
            changes["fenced"] = record.fenced > 0
        if record.in_controlled_shutdown:
            changes["in_controlled_shutdown"] = record.in_controlled_shutdown > 0
        if record.log_dirs:
            changes["log_dirs"] = record.log_dirs
        if record.cordoned_log_dirs is not None:
            changes["cordoned_log_dirs"] = record.cordoned_log_dirs
        self._brokers[record.broker_id] = replace(before, **changes)

    def _fence(self, broker: int, fenced: bool) -> None:
        before = self._brokers.get(broker)
        if before is None:
            self._add_loss(f"broker {broker} changes, but is unknown")
        else:
            self._brokers[broker] = replace(before, fenced=fenced)

    def _quota(self, record: ClientQuotaRecord) -> None:
        entity = tuple(sorted(((part.entity_type, part.entity_name) for part in record.entity), key=str))
        quotas = self._quotas.setdefault(entity, {})
        if record.remove:
            quotas.pop(record.key, None)
            self.current_records.pop(("quota", entity, record.key), None)
        else:
            quotas[record.key] = record.value
            self.current_records["quota", entity, record.key] = record

    def _acl(self, record: AccessControlEntryRecord) -> None:
        self.current_records["acl", record.id] = record
        self._acls[record.id] = Acl(
            record.id,
            _named(_PERMISSIONS, record.permission_type),
            record.principal,
            record.host,
            _named(_OPERATIONS, record.operation),
            _named(_ACL_RESOURCES, record.resource_type),
            record.resource_name,
            _named(_PATTERNS, record.pattern_type),
        )

    def _token(self, record: DelegationTokenRecord) -> None:
        self.current_records["token", record.token_id] = record
        self._tokens[record.token_id] = Token(
            record.token_id,
            record.owner,
            record.requester,
            record.renewers,
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )


def _merged(before: PartitionAssignment, record: PartitionChangeRecord) -> PartitionAssignment:
    """A partition after a change; fields that the record leaves out stay."""
    led = record.leader != _NO_CHANGE
    recovery = record.leader_recovery_state

    def new(value: list[_Item] | None, old: list[_Item]) -> list[_Item]:
        return old if value is None else value

    return PartitionAssignment(
        before.partition,
        (None if record.leader < 0 else record.leader) if led else before.leader,
        before.leader_epoch + led,
        before.partition_epoch + 1,
        new(record.replicas, before.replicas),
        new(record.isr, before.isr),
        new(record.adding_replicas, before.adding),
        new(record.removing_replicas, before.removing),
        new(record.eligible_leader_replicas, before.elr),
        new(record.last_known_elr, before.last_known_elr),
        new(record.directories, before.directories),
        before.recovering if recovery < 0 else recovery == 1,
    )


def _named(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else f"UNKNOWN ({number})"


def _endpoints(
    endpoints: Iterable[BrokerEndpoint | ControllerEndpoint],
) -> Iterator[tuple[str, str, int, str]]:
    for endpoint in endpoints:
        yield endpoint.name, endpoint.host, endpoint.port, _named(_SECURITY, endpoint.security_protocol)


def _supported(features: Iterable[BrokerFeature | ControllerFeature]) -> dict[str, tuple[int, int]]:
    return {
        feature.name: (feature.min_supported_version, feature.max_supported_version) for feature in features
    }
