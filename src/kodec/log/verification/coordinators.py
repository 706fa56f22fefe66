"""Whether a coordinator loads a partition of its topic: the records replayed as brokers do.

Followed, of Kafka 3.9.1, 4.3.1 and 4.4.0: `CoordinatorLoaderImpl`, `CoordinatorRecordSerde`,
`GroupMetadataManager.replay` and `ClassicGroup.add` of `org.apache.kafka.coordinator.group`,
`ShareCoordinatorShard.replay`; `TransactionStateManager.loadTransactionMetadata` and `TransactionLog.read`;
of 3.9 `kafka.coordinator.group.GroupMetadataManager.doLoadGroupsAndOffsets`, its default coordinator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from kodec.generated.messages.group_metadata_value import GroupMetadataValue
from kodec.generated.messages.transaction_log_value import TransactionLogValue
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import ControlRecord
from kodec.log.directories.batch_walk import batches_from
from kodec.log.directories.partition import PartitionLog
from kodec.log.messages.decoding import Decoded, decode_record
from kodec.log.omissions import Omissions
from kodec.log.verification.problems import Problem
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError, OffsetOutOfRange

__all__ = ["verify_coordinator"]

_GROUPS, _TRANSACTIONS, _SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
_OLD, _STRICT, _NEW = "3.9", "4.3", "4.4"
"""4.4 reads any subscription; the rest is the same in 4.3."""


class _Refused(Exception):
    """A record that ends the loading, or that is skipped: what the broker needs, and what is there."""

    def __init__(self, need: str, have: str, skipped: bool = False) -> None:
        super().__init__(need, have)
        self.need, self.have, self.skipped = need, have, skipped


class _Replay(Protocol):
    """How a version of Kafka loads a partition."""

    version: str

    def take(self, key: Decoded | None, value: Decoded | None) -> None:
        """Take a record whose type is known, or that has none. Raises _Refused."""

    def effect(self) -> str:
        """What it does at a refused record."""


def verify_coordinator(log: PartitionLog) -> Iterator[Problem]:
    """Replay a partition of a coordinator's topic; a problem names the first record that ends its loading.

    Records of types that no version of Kafka knows are a note. After damage nothing is replayed. Memory use
    depends on the keys of the log. Raises OSError.
    """
    topic = log.topic_partition.topic
    of_topics: dict[str, list[_Replay]] = {
        _GROUPS: [_OldGroups(), _Groups(_STRICT), _Groups(_NEW)],
        _TRANSACTIONS: [_Transactions(version) for version in (_OLD, _STRICT, _NEW)],
        _SHARES: [_Shares(_STRICT), _Shares(_NEW)],
    }
    replays = of_topics[topic]
    ignored: Counter[int] = Counter()
    tail: tuple[Path, Batch] | None = None
    offset = -1
    try:
        for path, batch in _batches(log):
            tail = tail or (path, batch)
            for record in batch.records(control=True, check_crc=False):
                offset = record.offset
                if topic != _TRANSACTIONS and isinstance(record, ControlRecord):
                    continue
                key, value = decode_record(topic, record.key, record.value)
                if key is not None and key.name is None and key.number is not None:
                    ignored[key.number] += 1
                    continue
                tail = None
                refused: dict[tuple[str, str], dict[str, list[str]]] = {}
                for replay in list(replays):
                    try:
                        replay.take(key, value)
                    except _Refused as error:
                        effect = "the record is skipped, and the state before it stays"
                        if not error.skipped:
                            effect = replay.effect()
                            replays.remove(replay)
                        effects = refused.setdefault((error.need, error.have), {})
                        effects.setdefault(effect, []).append(replay.version)
                for (need, have), effects in refused.items():
                    outcomes = [
                        f"Kafka {', '.join(versions)}: {effect}" for effect, versions in effects.items()
                    ]
                    what = f"{'; '.join(outcomes)}: offset {offset}{_named(key)}"
                    yield Problem(path, batch.position, what, need, have)
    except FormatError:
        have = "damage" if offset < 0 else f"damage after offset {offset}"
        what = "whether its coordinator loads all of the partition"
        yield Problem(log.path, 0, what, "a log without damage", have, note=True)
    else:
        if tail is not None and topic == _TRANSACTIONS and any(replay.version == _OLD for replay in replays):
            what = f"Kafka {_OLD}: the end is read again and again, and the partition is never loaded"
            yield Problem(tail[0], tail[1].position, what, "a record of a known type", "none")
    for number, count in sorted(ignored.items()):
        have = f"{count} of type {number}, which brokers skip"
        yield Problem(log.path, 0, "records", "a type that Kafka 4.4 knows", have, note=True)


def _batches(log: PartitionLog) -> Iterator[tuple[Path, Batch]]:
    """The batches of a log with their segments. Raises FormatError, OSError."""

    def listed(now: PartitionLog, start: int | None) -> Iterator[tuple[int, tuple[Path, Batch]]]:
        start = now.start_offset if start is None else start
        for segment, batch in batches_from(now, start, None, omissions=Omissions()):
            assert isinstance(batch, Batch)
            yield batch.next_offset, (segment.path, batch)

    with suppress(OffsetOutOfRange):
        yield from log.relisted(listed, None)


def _named(key: Decoded | None) -> str:
    """The message in a record and the group or transaction that its key names, as far as it is known."""
    if key is None or key.name is None:
        return ""
    names = ("group", "group_id", "transactional_id")
    identifier = next((getattr(key.message, name) for name in names if hasattr(key.message, name)), None)
    return f", {key.name}" + ("" if identifier is None else f" of `{identifier}`")


def _key_of(key: Decoded | None) -> tuple[int, Any]:
    """The type and the message of a key. Raises _Refused."""
    if key is None:
        raise _Refused("a key", "none")
    if key.number is None or key.message is None:
        raise _Refused("a key that can be read", key.reason)
    return key.number, key.message


def _value_of(value: Decoded | None) -> Any:
    """The message in a value, None for a tombstone. Raises _Refused."""
    if value is not None and value.message is None:
        raise _Refused("a value that can be read", value.reason)
    return None if value is None else value.message


class _OldGroups:
    """Kafka 3.9: it skips all but commits and classic groups."""

    version = _OLD

    def take(self, key: Decoded | None, value: Decoded | None) -> None:
        """As `_Replay`."""
        number, _ = _key_of(key)
        if number > 2:
            return
        if number == 0 and key is not None and value is not None:
            # read like the later type, whose fields are the same
            value = decode_record(_GROUPS, b"\0\1" + key.data[2:], value.data)[1]
        message = _value_of(value)
        if isinstance(message, GroupMetadataValue):
            _require_members(message)
            _require_subscriptions(message)

    def effect(self) -> str:
        """As `_Replay`."""
        return "no group of the partition is loaded"


def _require_members(value: GroupMetadataValue) -> None:
    """Raises _Refused for members that cannot be in one group."""
    ids: set[str] = set()
    instances: set[str] = set()
    for added, member in enumerate(value.members):
        if (name := member.group_instance_id) is not None:
            if name in instances:
                raise _Refused("a static member once", f"`{name}` twice")
            instances.add(name)
        if added != len(ids):
            raise _Refused("members with different ids", f"`{member.member_id}` after a repeated one")
        ids.add(member.member_id)


def _require_subscriptions(value: GroupMetadataValue) -> None:
    """Raises _Refused for a subscription that ends the loading."""
    if value.protocol_type != "consumer" or value.protocol is None:
        return
    for member in value.members:
        if (reason := _subscription_error(member.subscription)) is None:
            continue
        if not reason:
            # Kafka reports it, and reads no further subscription
            return
        raise _Refused("a subscription that can be read", f"of `{member.member_id}` {reason}")


def _subscription_error(data: bytes) -> str | None:
    """Why the first version's fields cannot be read; empty for an error that Kafka catches; None: they can.

    Source: `deserializeConsumerProtocolSubscription` of 4.3's `ConsumerProtocol`, which catches that a number
    is cut off, and `ByteBufferAccessor`, whose other errors end the loading.
    """

    def number(position: int, size: int) -> int | None:
        return (
            None
            if position + size > len(data)
            else int.from_bytes(data[position : position + size], "big", signed=True)
        )

    position = 6
    if (count := number(2, 4)) is None:
        return ""
    if not 0 <= count <= len(data) - position:
        return f"has {count} topics in {len(data) - position} bytes"
    for _ in range(count):
        if (size := number(position, 2)) is None:
            return ""
        position += 2
        if not 0 <= size <= len(data) - position:
            return f"has a topic of {size} bytes in {len(data) - position}"
        position += size
    if (size := number(position, 4)) is None:
        return ""
    return (
        f"has user data of {size} bytes in {len(data) - position - 4}"
        if size > len(data) - position - 4
        else None
    )


@dataclass(slots=True)
class _Member:
    """A member of a group: `epoch` is -1 once its assignment is removed; None: uninitialized."""

    epoch: int | None = 0
    assigned: set[Hashable] = field(default_factory=set)
    revoking: set[Hashable] = field(default_factory=set)


@dataclass(slots=True)
class _Group:
    """A group of one kind. A `simple` one has commits alone; a consumer or streams group replaces it."""

    kind: str
    members: dict[str, _Member] = field(default_factory=dict)
    targets: set[str] = field(default_factory=set)
    target_epoch: int = -1
    owned: dict[Hashable, int] = field(default_factory=dict)

    def put(self, name: str, member: _Member) -> None:
        """Take a member's new state. Raises _Refused for a partition that another member owns."""
        self.release(name)
        self.members[name] = member
        for part in (*member.assigned, *member.revoking):
            owned, epoch = self.owned.get(part), member.epoch or 0
            if owned is not None and owned >= epoch:
                raise _Refused(f"an epoch above {owned}, at which {part} is owned", str(epoch))
            self.owned[part] = epoch

    def release(self, name: str) -> None:
        """A member no longer owns its partitions."""
        if (old := self.members.get(name)) is not None:
            for part in (*old.assigned, *old.revoking):
                if self.owned.get(part) == old.epoch:
                    del self.owned[part]


# The kind of group of each type of record, and the record's part in it.
_PARTS = {
    3: ("consumer", "group"),
    4: ("consumer", "other"),
    5: ("consumer", "member"),
    6: ("consumer", "target"),
    7: ("consumer", "target member"),
    8: ("consumer", "current"),
    10: ("share", "member"),
    11: ("share", "group"),
    12: ("share", "target"),
    13: ("share", "target member"),
    14: ("share", "current"),
    15: ("share", "other"),
    16: ("consumer", "other"),
    17: ("streams", "group"),
    19: ("streams", "member"),
    20: ("streams", "target"),
    21: ("streams", "target member"),
    22: ("streams", "current"),
    23: ("streams", "other"),
}
# Lists that become maps, with the name of the key: a repeated one ends the loading.
_UNIQUE = {
    7: (("topic_partitions", "topic_id"),),
    13: (("topic_partitions", "topic_id"),),
    14: (("assigned_partitions", "topic_id"),),
    15: (("initializing_topics", "topic_id"), ("initialized_topics", "topic_id")),
    17: (("last_assignment_configs", "key"),),
    19: (("client_tags", "key"),),
    21: tuple((f"{role}_tasks", "subtopology_id") for role in ("active", "standby", "warmup")),
    23: (("subtopologies", "subtopology_id"),),
}


class _Groups:
    """Kafka 4: all types of groups."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._groups: dict[str, _Group] = {}

    def effect(self) -> str:
        """As `_Replay`."""
        return "the partition is not loaded, and its groups get NOT_COORDINATOR"

    def take(self, key: Decoded | None, value: Decoded | None) -> None:
        """As `_Replay`."""
        number, key_message = _key_of(key)
        message = _value_of(value)
        if number > 2:
            self._modern(number, key_message, message)
        elif number == 2:
            self._classic(key_message.group, message)
        elif message is not None:
            self._groups.setdefault(key_message.group, _Group("simple"))

    def _classic(self, name: str, value: GroupMetadataValue | None) -> None:
        if value is None:
            self._groups.pop(name, None)
            return
        _require_members(value)
        if self.version == _STRICT:
            _require_subscriptions(value)
        self._groups[name] = _Group("classic" if value.protocol_type or value.members else "simple")

    def _group(self, name: str, kind: str, create: bool) -> _Group | None:
        """The group of a kind; None if there is none and none is created. Raises _Refused."""
        group = self._groups.get(name)
        if group is None and not create:
            return None
        if group is None or (group.kind == "simple" and kind != "share"):
            group = self._groups[name] = _Group(kind)
        if group.kind != kind:
            have = "a classic group" if group.kind == "simple" else f"a {group.kind} group"
            raise _Refused(f"a {kind} group", have)
        return group

    def _modern(self, number: int, key: Any, value: Any) -> None:
        kind, part = _PARTS[number]
        group = self._group(key.group_id, kind, value is not None)
        if group is None:
            return
        for name, unique in _UNIQUE.get(number, ()) if value is not None else ():
            held = [getattr(item, unique) for item in getattr(value, name) or ()]
            if len(set(held)) < len(held):
                raise _Refused(f"{name} with different {unique}", "the same one twice")
        match part:
            case "group" if value is None:
                self._remove(key.group_id, group)
            case "target" if value is not None:
                group.target_epoch = value.assignment_epoch
            case "target" if group.targets:
                raise _Refused("no members in the target assignment", f"{len(group.targets)}")
            case "target":
                group.target_epoch = -1
            case "target member" if value is not None:
                group.targets.add(key.member_id)
            case "target member":
                group.targets.discard(key.member_id)
            case "member":
                self._member(group, key.member_id, value)
            case "current" if value is not None or key.member_id in group.members:
                group.put(key.member_id, _current(kind, value))

    def _remove(self, name: str, group: _Group) -> None:
        """A tombstone of a group. Raises _Refused."""
        if group.members:
            raise _Refused("no members of a group that is deleted", f"{len(group.members)}")
        if group.targets and group.kind != "streams":
            raise _Refused("no target assignment of a group that is deleted", f"{len(group.targets)} members")
        if group.target_epoch != -1:
            raise _Refused("no assignment epoch of a group that is deleted", f"{group.target_epoch}")
        del self._groups[name]

    @staticmethod
    def _member(group: _Group, name: str, value: Any) -> None:
        member = group.members.get(name)
        if value is not None:
            group.put(name, member or _Member(None if group.kind == "streams" else 0))
            return
        if member is None:
            return
        if member.epoch != -1:
            have = "none in the log before it"
            raise _Refused(f"the tombstone of the current assignment of `{name}`", have)
        if name in group.targets:
            raise _Refused(f"the tombstone of the target assignment of `{name}`", "none in the log before it")
        group.release(name)
        del group.members[name]


def _current(kind: str, value: Any) -> _Member:
    """A member's current assignment, empty for a tombstone. Only consumer groups compare partitions."""
    if value is None:
        return _Member(-1)
    if kind != "consumer":
        return _Member(value.member_epoch)
    return _Member(
        value.member_epoch, _parts(value.assigned_partitions), _parts(value.partitions_pending_revocation)
    )


def _parts(topics: Iterable[Any]) -> set[Hashable]:
    # a topic that is listed again replaces the first
    of_topics = {topic.topic_id: topic.partitions for topic in topics}
    return {f"{topic}-{number}" for topic, numbers in of_topics.items() for number in numbers}


class _Transactions:
    """All versions end the loading where they fail, and serve what they have read."""

    _STATES = range(8)
    _FEATURE_LEVELS = range(3)

    def __init__(self, version: str) -> None:
        self.version = version
        self._loaded: set[str] = set()

    def effect(self) -> str:
        """As `_Replay`."""
        return f"reading ends, and only the {len(self._loaded)} transactional ids before it are known"

    def take(self, key: Decoded | None, value: Decoded | None) -> None:
        """As `_Replay`."""
        name: str = _key_of(key)[1].transactional_id
        versions = TransactionLogValue.VERSIONS
        if value is not None and value.version is not None and value.version not in versions:
            need, skipped = f"a version from 0 to {versions.stop - 1}", self.version != _OLD
            raise _Refused(need, f"{value.version}", skipped)
        message = _value_of(value)
        if message is None:
            self._loaded.discard(name)
            return
        if message.transaction_status not in self._STATES:
            raise _Refused("a state from 0 to 7", f"{message.transaction_status}")
        if message.transaction_status and message.transaction_partitions is None:
            raise _Refused("partitions of a transaction that has begun", "null")
        if self.version != _OLD and message.client_transaction_version not in self._FEATURE_LEVELS:
            raise _Refused("a transaction version from 0 to 2", f"{message.client_transaction_version}")
        self._loaded.add(name)


class _Shares:
    """Kafka 4: the state of share groups."""

    def __init__(self, version: str) -> None:
        self.version = version

    def effect(self) -> str:
        """As `_Replay`."""
        return "the partition is not loaded, and its share groups get NOT_COORDINATOR"

    def take(self, key: Decoded | None, value: Decoded | None) -> None:
        """As `_Replay`."""
        number, _ = _key_of(key)
        if _value_of(value) is None and number == 1:
            raise _Refused("a value of an update", "none")
