"""Partitions of coordinators' topics, and whether a broker loads them.

`tests/labs/coordinators_lab.py` starts real brokers with them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from kodec.generated.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from kodec.generated.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from kodec.generated.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from kodec.generated.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from kodec.generated.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from kodec.generated.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from kodec.generated.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from kodec.generated.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from kodec.generated.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from kodec.generated.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from kodec.generated.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kodec.generated.messages.group_metadata_key import GroupMetadataKey
from kodec.generated.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from kodec.generated.messages.offset_commit_key import OffsetCommitKey
from kodec.generated.messages.offset_commit_value import OffsetCommitValue
from kodec.generated.messages.share_group_metadata_key import ShareGroupMetadataKey
from kodec.generated.messages.share_group_metadata_value import ShareGroupMetadataValue
from kodec.generated.messages.share_snapshot_key import ShareSnapshotKey
from kodec.generated.messages.share_snapshot_value import ShareSnapshotValue
from kodec.generated.messages.share_update_key import ShareUpdateKey
from kodec.generated.messages.share_update_value import ShareUpdateValue
from kodec.generated.messages.streams_group_member_metadata_key import StreamsGroupMemberMetadataKey
from kodec.generated.messages.streams_group_member_metadata_value import (
    KeyValue,
    StreamsGroupMemberMetadataValue,
)
from kodec.generated.messages.transaction_log_key import TransactionLogKey
from kodec.generated.messages.transaction_log_value import TransactionLogValue

GROUPS, TRANSACTIONS, SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
Pair = tuple[bytes | None, bytes | None]


class Loading(NamedTuple):
    """What the partition has, one batch for each record; the offsets at which 3.9, and 4.3 and 4.4 end.

    None: the version loads it all. `lenient`: 4.4 does. `stuck`: 3.9 never ends. `skipped`: the record that
    4.3 and 4.4 skip.
    """

    topic: str
    pairs: list[Pair]
    old: int | None = None
    new: int | None = None
    lenient: bool = False
    stuck: bool = False
    skipped: int | None = None


def pair(key: Any, value: Any = None) -> Pair:
    return key.to_bytes(), None if value is None else value.to_bytes()


def classic(*members: MemberMetadata, name: str = "g", protocol: str = "consumer") -> Pair:
    value = GroupMetadataValue(
        protocol_type=protocol, generation=1, protocol="range", leader="m", members=list(members)
    )
    return pair(GroupMetadataKey(group=name), value)


def subscribed(data: bytes | None = None, member: str = "m", instance: str | None = None) -> MemberMetadata:
    good = ConsumerProtocolSubscription(version=1, topics=["orders"]).to_bytes()
    return MemberMetadata(
        member_id=member,
        group_instance_id=instance,
        client_id="c",
        client_host="/h",
        subscription=good if data is None else data,
        version=4,
    )


COMMIT = pair(OffsetCommitKey(group="g", topic="t", partition=0), OffsetCommitValue(committed_offset=1))
EPOCH = pair(ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=1))
NO_EPOCH = pair(ConsumerGroupMetadataKey(group_id="g"))
NO_MEMBER = pair(ConsumerGroupMemberMetadataKey(group_id="g", member_id="m"))
NO_CURRENT = pair(ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m"))
TARGET = pair(
    ConsumerGroupTargetAssignmentMetadataKey(group_id="g"),
    ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=1),
)
NO_TARGET = pair(ConsumerGroupTargetAssignmentMetadataKey(group_id="g"))
NO_TARGET_MEMBER = pair(ConsumerGroupTargetAssignmentMemberKey(group_id="g", member_id="m"))


def member(name: str = "m") -> Pair:
    return pair(
        ConsumerGroupMemberMetadataKey(group_id="g", member_id=name),
        ConsumerGroupMemberMetadataValue(client_id="c", client_host="/h"),
    )


def target_member(*topics: int) -> Pair:
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[TopicPartition(topic_id=UUID(int=each), partitions=[0]) for each in topics]
    )
    return pair(ConsumerGroupTargetAssignmentMemberKey(group_id="g", member_id="m"), value)


def current(name: str = "m", epoch: int = 1) -> Pair:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=epoch,
        previous_member_epoch=epoch - 1,
        assigned_partitions=[TopicPartitions(topic_id=UUID(int=7), partitions=[0, 1])],
    )
    return pair(ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id=name), value)


def transaction(name: str, **more: Any) -> Pair:
    return pair(TransactionLogKey(transactional_id=name), TransactionLogValue(producer_id=1, **more))


def later(of: Pair, version: int) -> Pair:
    assert of[1] is not None
    return of[0], struct.pack(">h", version) + of[1][2:]


def consumers() -> Iterable[Pair]:
    """A consumer group that comes and goes."""
    yield from (EPOCH, member(), TARGET, target_member(1, 2), current(), current(epoch=2))
    yield from (NO_CURRENT, NO_TARGET_MEMBER, NO_MEMBER, NO_TARGET, NO_EPOCH)


SHARE: dict[str, Any] = {"group_id": "s", "topic_id": UUID(int=7), "partition": 0}
SNAPSHOT = pair(ShareSnapshotKey(**SHARE), ShareSnapshotValue(start_offset=0))
UPDATE = pair(ShareUpdateKey(**SHARE), ShareUpdateValue(start_offset=3))
TAGS = [KeyValue(key="zone", value=each) for each in "ab"]
UNKNOWN: Pair = struct.pack(">h", 99), b"\0\0"

LOADINGS = {
    "groups of all kinds": Loading(GROUPS, [COMMIT, classic(subscribed(), name="c"), *consumers(), COMMIT]),
    "tombstones alone": Loading(GROUPS, [NO_CURRENT, NO_MEMBER, NO_TARGET, NO_EPOCH]),
    "a commit, then a consumer group": Loading(GROUPS, [COMMIT, *consumers()]),
    # KAFKA-21117
    "a classic group, then a member of a consumer group": Loading(GROUPS, [classic(), member()], new=1),
    "a classic group, then a tombstone of a consumer group": Loading(GROUPS, [classic(), NO_MEMBER], new=1),
    "a consumer group, then a classic group": Loading(GROUPS, [EPOCH, member(), classic(subscribed())]),
    "a member's tombstone alone": Loading(GROUPS, [EPOCH, member(), current(), NO_MEMBER], new=3),
    "a target assignment's tombstone with members": Loading(
        GROUPS, [EPOCH, TARGET, target_member(1), NO_TARGET], new=3
    ),
    "a group's tombstone with members": Loading(GROUPS, [EPOCH, member(), NO_EPOCH], new=2),
    "a group's tombstone with an assignment epoch": Loading(GROUPS, [EPOCH, TARGET, NO_EPOCH], new=2),
    "a partition with two owners": Loading(GROUPS, [current(), current("n")], new=1),
    "a partition with a newer owner": Loading(GROUPS, [current(), current("n", 2)]),
    "a metadata record of a member with a newer owner": Loading(
        GROUPS, [current(), current("n", 2), member()], new=2
    ),
    "a topic twice in an assignment": Loading(GROUPS, [target_member(1, 1)], new=0),
    "a commit of a later version": Loading(GROUPS, [COMMIT, later(COMMIT, 9)], 1, 1),
    "a commit that is cut off": Loading(GROUPS, [(COMMIT[0], b"\0\3\0")], 0, 0),
    "records of an unknown type": Loading(GROUPS, [COMMIT, UNKNOWN, UNKNOWN, COMMIT]),
    "a record without a key": Loading(GROUPS, [COMMIT, (None, b"\0\0")], 1, 1),
    "a subscription with fewer topics than it says": Loading(
        GROUPS, [classic(subscribed(b"\0\1\0\0\1\0"))], 0, 0, lenient=True
    ),
    "a subscription with a topic that is cut off": Loading(
        GROUPS, [classic(subscribed(b"\0\1\0\0\0\1\0\5ab"))], 0, 0, lenient=True
    ),
    "a subscription that ends in a number": Loading(
        GROUPS, [classic(subscribed(b"\0\1\0\0")), classic(subscribed(b"\0\1\0\0\0\1\0"), name="h")]
    ),
    "an empty subscription": Loading(
        GROUPS, [classic(subscribed(b"")), classic(subscribed(b"\0\x09\0\0\0\0"))]
    ),
    "another protocol's subscription": Loading(
        GROUPS, [classic(subscribed(b"\xff" * 9), protocol="connect")]
    ),
    "a static member twice": Loading(
        GROUPS, [classic(subscribed(instance="i"), subscribed(member="n", instance="i"))], 0, 0
    ),
    "a share group with commits": Loading(
        GROUPS, [COMMIT, pair(ShareGroupMetadataKey(group_id="g"), ShareGroupMetadataValue(epoch=1))], new=1
    ),
    "a tag twice in a streams member": Loading(
        GROUPS,
        [
            pair(
                StreamsGroupMemberMetadataKey(group_id="g", member_id="m"),
                StreamsGroupMemberMetadataValue(client_tags=TAGS),
            )
        ],
        new=0,
    ),
    "transactions": Loading(TRANSACTIONS, [transaction("a"), transaction("b"), (transaction("a")[0], None)]),
    "a transaction of a later version": Loading(
        TRANSACTIONS, [transaction("a"), later(transaction("b"), 9), transaction("c")], old=1, skipped=1
    ),
    "an unknown state": Loading(
        TRANSACTIONS, [transaction("a"), transaction("b", transaction_status=9)], 1, 1
    ),
    "a later transaction version": Loading(
        TRANSACTIONS, [transaction("a", client_transaction_version=7)], new=0
    ),
    "an unknown type at the end": Loading(TRANSACTIONS, [transaction("a"), UNKNOWN], stuck=True),
    "an unknown type in between": Loading(TRANSACTIONS, [UNKNOWN, transaction("a")]),
    "share groups": Loading(SHARES, [SNAPSHOT, UPDATE, (SNAPSHOT[0], None)]),
    "a tombstone of an update": Loading(SHARES, [SNAPSHOT, (UPDATE[0], None)], new=1),
}
"""Cases by name."""
