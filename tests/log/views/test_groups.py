"""What groups have committed and who their members are, by the records of their topics."""

from __future__ import annotations

import dataclasses
import tracemalloc
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kodec.cli.main import main
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
from kodec.generated.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kodec.generated.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kodec.generated.messages.group_metadata_key import GroupMetadataKey
from kodec.generated.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from kodec.generated.messages.offset_commit_key import OffsetCommitKey
from kodec.generated.messages.offset_commit_value import OffsetCommitValue
from kodec.generated.messages.share_snapshot_key import ShareSnapshotKey
from kodec.generated.messages.share_snapshot_value import ShareSnapshotValue
from kodec.generated.messages.share_update_key import ShareUpdateKey
from kodec.generated.messages.share_update_value import ShareUpdateValue
from kodec.generated.messages.streams_group_member_metadata_key import StreamsGroupMemberMetadataKey
from kodec.generated.messages.streams_group_member_metadata_value import StreamsGroupMemberMetadataValue
from kodec.generated.messages.streams_group_metadata_key import StreamsGroupMetadataKey
from kodec.generated.messages.streams_group_metadata_value import StreamsGroupMetadataValue
from kodec.log.files.checkpoints import write_partition_metadata
from kodec.log.messages.decoding import decode_record
from kodec.log.remote.resolve import NotALog
from kodec.log.views.groups import Groups, read_groups
from tests.golden import Golden
from tests.log import wire
from tests.log.made import batch, make, marker

pytestmark = pytest.mark.quick

TOPIC_ID = UUID(int=7)
OTHER_ID = UUID(int=8)
OFFSETS = "__consumer_offsets"


class Written:
    """A coordinator's topic partition that is being made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[bytes] = []
        self.pairs: list[tuple[bytes | None, bytes | None]] = []
        self.next = 0

    def put(self, *messages: tuple[Any, Any], producer: int = -1, codec: str = "none") -> None:
        pairs = [(key.to_bytes(), None if value is None else value.to_bytes()) for key, value in messages]
        self.raw(*pairs, producer=producer, codec=codec)

    def raw(self, *pairs: tuple[bytes | None, bytes | None], producer: int = -1, codec: str = "none") -> None:
        who = (producer, 0, 0) if producer >= 0 else (-1, -1, -1)
        data = batch(self.next, pairs, producer=who, transactional=producer >= 0, codec=codec)
        self.entries.append(data)
        self.pairs += pairs
        self.next += len(pairs)

    def end(self, producer: int, *, commit: bool) -> None:
        self.entries.append(marker(self.next, producer, commit=commit))
        self.next += 1

    def make(self) -> None:
        make(self.folder, [(0, self.entries)])


def commit(offset: int | None, *, group: str = "g", topic: str = "t", partition: int = 0, **more: Any) -> Any:
    key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    if offset is None:
        return key, None
    return key, OffsetCommitValue(committed_offset=offset, commit_timestamp=1000 + offset, **more)


def committed(found: Groups, *, pending: bool = False) -> dict[tuple[str, str, int], int]:
    return {
        (each.group, each.topic, each.partition): each.offset
        for each in found.offsets
        if each.pending is pending
    }


def test_the_newest_commit_counts_and_tombstones_remove(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put(commit(1), commit(5, partition=1), commit(3, group="h"), codec="zstd")
    log.put(commit(2), commit(None, partition=1))
    log.put(commit(9, version=1, expire_timestamp=77, metadata="seen"))
    log.make()
    found = read_groups(tmp_path)
    assert committed(found) == {("g", "t", 0): 9, ("h", "t", 0): 3}
    assert found.omissions.is_whole
    one = found.offsets[0]
    assert (one.expire_timestamp, one.metadata, one.leader_epoch, one.commit_timestamp) == (
        77,
        "seen",
        None,
        1009,
    )
    assert (str(one.source), one.record_offset, one.topic_id) == (f"{OFFSETS}-0", 5, None)
    # Nothing is known of a log that is missing.
    assert (one.log_start_offset, one.log_end_offset, one.lag) == (None, None, None)
    assert [(each.group, each.type, each.state) for each in found.groups] == [
        ("g", "classic", "Empty"),
        ("h", "classic", "Empty"),
    ]


def test_commits_of_transactions_count_when_these_have_committed(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put(commit(10, partition=0), commit(10, partition=1), commit(10, partition=2))
    log.put(commit(20, partition=0), commit(20, partition=3), producer=1)
    log.put(commit(30, partition=1), producer=2)
    log.put(commit(40, partition=2), commit(40, partition=4), producer=3)
    log.end(1, commit=True)
    log.end(2, commit=False)
    log.make()
    found = read_groups(tmp_path)
    assert committed(found) == {("g", "t", n): offset for n, offset in ((0, 20), (1, 10), (2, 10), (3, 20))}
    assert committed(found, pending=True) == {("g", "t", 2): 40, ("g", "t", 4): 40}
    of_two = [each for each in found.offsets if each.partition == 2]
    assert [(each.pending, each.producer_id) for each in of_two] == [(False, None), (True, 3)]


def test_a_later_commit_without_a_transaction_outlives_its_marker(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put(commit(20), producer=1)
    log.put(commit(15))
    log.end(1, commit=True)
    log.make()
    assert committed(read_groups(tmp_path)) == {("g", "t", 0): 15}


def test_a_tombstone_removes_what_is_pending_too(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put(commit(20), commit(20, partition=1), producer=1)
    log.put(commit(21), producer=2)
    log.put(commit(None))
    log.end(1, commit=True)
    log.end(2, commit=True)
    log.make()
    found = read_groups(tmp_path)
    assert committed(found) == {("g", "t", 1): 20}
    assert committed(found, pending=True) == {}


def test_a_marker_ends_the_transaction_in_its_own_partition_only(tmp_path: Path) -> None:
    first, second = Written(tmp_path / f"{OFFSETS}-0"), Written(tmp_path / f"{OFFSETS}-7")
    first.put(commit(20, group="here"), producer=1)
    first.make()
    second.put(commit(30, group="there"), producer=1)
    second.end(1, commit=True)
    second.make()
    found = read_groups(tmp_path)
    assert committed(found) == {("there", "t", 0): 30}
    assert committed(found, pending=True) == {("here", "t", 0): 20}


def test_lag_is_against_the_end_of_the_log_and_only_of_the_same_topic(tmp_path: Path) -> None:
    brokers = tmp_path / "a", tmp_path / "b"
    log = Written(brokers[0] / f"{OFFSETS}-0")
    identity = {"version": 4, "topic_id": TOPIC_ID}
    log.put(
        commit(4, **identity),
        commit(4, partition=1, **identity),
        commit(4, partition=2, version=4, topic_id=OTHER_ID),
    )
    log.make()
    for broker, number, count in ((0, 0, 6), (1, 0, 9), (1, 1, 3), (1, 2, 9)):
        folder = brokers[broker] / f"t-{number}"
        make(folder, [(0, [batch(0, [(b"k", b"v")] * count)])])
        write_partition_metadata(folder / "partition.metadata", TOPIC_ID)
    found = read_groups(*brokers).offsets
    assert [(each.log_end_offset, each.lag) for each in found] == [(9, 5), (3, -1), (None, None)]
    assert [each.lag for each in read_groups(brokers[0]).offsets] == [2, None, None]


def test_groups_of_the_classic_protocol(tmp_path: Path, golden: Golden) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    member = MemberMetadata(
        member_id="m-1", client_id="c", client_host="/1.2.3.4", subscription=b"\0", assignment=b""
    )
    value = GroupMetadataValue(protocol_type="consumer", generation=3, protocol="range", leader="m-1")
    log.put((GroupMetadataKey(group="stable"), dataclasses.replace(value, members=[member])))
    log.put((GroupMetadataKey(group="empty"), value), (GroupMetadataKey(group="gone"), value))
    log.put((GroupMetadataKey(group="gone"), None))
    log.make()
    found = {each.group: each for each in read_groups(tmp_path).groups}
    assert {name: each.state for name, each in found.items()} == {"stable": "Stable", "empty": "Empty"}
    (one,) = found["stable"].members
    # What a client wrote and nobody can read is unknown, and named.
    assert (one.member_id, one.topics, one.assignment) == ("m-1", None, None)
    assert found["stable"].generation == 3
    (lost,) = read_groups(tmp_path).omissions
    assert (lost.first_offset, lost.cause.is_loss) == (0, True)
    golden(str(lost))
    assert main(["groups", str(tmp_path)]) == 1
    assert read_groups(tmp_path, groups=["empty"]).omissions.is_whole


def test_a_later_consumer_protocol_is_read_as_the_latest_known(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    subscription = ConsumerProtocolSubscription(version=3, topics=["orders"], rack_id="r").to_bytes()
    topic = TopicPartition(topic="orders", partitions=[1, 2])
    assignment = ConsumerProtocolAssignment(version=3, assigned_partitions=[topic]).to_bytes()
    member = MemberMetadata(
        member_id="m",
        subscription=b"\0\x09" + subscription[2:] + b"a later field",
        assignment=b"\0\x09" + assignment[2:] + b"a later field",
    )
    value = GroupMetadataValue(protocol_type="consumer", protocol="range", members=[member])
    log.put((GroupMetadataKey(group="g"), value))
    log.make()
    found = read_groups(tmp_path)
    (one,) = found.groups[0].members
    assert (one.topics, one.rack) == (["orders"], "r")
    assert one.assignment is not None
    assert [(each.topic, each.partitions) for each in one.assignment] == [("orders", [1, 2])]
    assert found.omissions.is_whole
    decoded = decode_record(OFFSETS, *log.pairs[0])[1]
    assert decoded is not None
    (shown,) = (decoded.plain() or {})["members"]
    assert shown["subscription"]["topics"] == ["orders"]
    assert shown["assignment"]["assignedPartitions"] == [{"topic": "orders", "partitions": [1, 2]}]


@pytest.mark.parametrize(
    ("target", "member_epoch", "state", "expected"),
    [(2, 2, 0, "Stable"), (1, 1, 0, "Assigning"), (2, 1, 0, "Reconciling"), (2, 2, 1, "Reconciling")],
)
def test_states_of_a_consumer_group(
    tmp_path: Path, target: int, member_epoch: int, state: int, expected: str
) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    who = {"group_id": "g", "member_id": "m"}
    log.put(
        (
            ConsumerGroupMemberMetadataKey(**who),
            ConsumerGroupMemberMetadataValue(subscribed_topic_names=["t"]),
        ),
        (ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=2)),
        (
            ConsumerGroupTargetAssignmentMetadataKey(group_id="g"),
            ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=target),
        ),
        (
            ConsumerGroupCurrentMemberAssignmentKey(**who),
            ConsumerGroupCurrentMemberAssignmentValue(member_epoch=member_epoch, state=state),
        ),
    )
    log.make()
    (group,) = read_groups(tmp_path).groups
    assert (group.type, group.state, group.epoch, group.assignment_epoch) == ("consumer", expected, 2, target)
    (member,) = group.members
    assert (member.topics, member.epoch) == (["t"], member_epoch)

    left = Written(tmp_path / "left" / f"{OFFSETS}-0")
    left.entries, left.next = log.entries, log.next
    left.put((ConsumerGroupMemberMetadataKey(**who), None))
    left.make()
    assert [each.state for each in read_groups(tmp_path / "left").groups] == ["Empty"]


def test_a_group_that_changes_its_protocol_is_of_the_new_one(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put((GroupMetadataKey(group="g"), GroupMetadataValue(protocol_type="consumer")))
    log.put(
        (GroupMetadataKey(group="g"), None),
        (StreamsGroupMetadataKey(group_id="g"), StreamsGroupMetadataValue(epoch=1)),
        (StreamsGroupMemberMetadataKey(group_id="g", member_id="m"), StreamsGroupMemberMetadataValue()),
    )
    log.make()
    assert [(each.type, each.state) for each in read_groups(tmp_path).groups] == [("streams", "NotReady")]


def test_share_groups_start_where_their_state_says(tmp_path: Path) -> None:
    Written(tmp_path / f"{OFFSETS}-0").make()
    log = Written(tmp_path / "__share_group_state-0")
    at = {"group_id": "s", "topic_id": TOPIC_ID}
    log.put(
        (ShareSnapshotKey(**at, partition=0), ShareSnapshotValue(start_offset=3, state_epoch=2)),
        (ShareSnapshotKey(**at, partition=1), ShareSnapshotValue(start_offset=3)),
    )
    log.put(
        (ShareUpdateKey(**at, partition=0), ShareUpdateValue(start_offset=5, delivery_complete_count=2)),
        (ShareUpdateKey(**at, partition=0), ShareUpdateValue(start_offset=-1, leader_epoch=4)),
        (ShareSnapshotKey(**at, partition=1), None),
    )
    log.make()
    make(tmp_path / "t-0", [(0, [batch(0, [(b"k", b"v")] * 10)])])
    write_partition_metadata(tmp_path / "t-0" / "partition.metadata", TOPIC_ID)
    (one,) = read_groups(tmp_path).share_offsets
    assert (one.topic, one.partition, one.start_offset, one.state_epoch, one.leader_epoch) == (
        "t",
        0,
        5,
        2,
        4,
    )
    assert (one.delivery_complete_count, one.log_end_offset, one.lag) == (2, 10, 3)
    assert read_groups(tmp_path, topics=["u"]).share_offsets == []


def test_what_is_not_known_is_counted_and_changes_nothing(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    key = commit(1)[0].to_bytes()
    log.put(commit(1))
    log.raw((key, b"\x00\x63later"), (key, b"\x00\x63later"), (b"\x03\xe8x", b"\x00\x00"), (b"\x00", b""))
    log.raw((None, b"no key"), (None, None))
    log.make()
    found = read_groups(tmp_path)
    assert committed(found) == {("g", "t", 0): 1}
    assert not found.omissions.is_whole and found.omissions.unread == []
    assert sorted(each.records or 0 for each in found.omissions) == [1, 2, 2]
    assert any(each.reason.startswith("OffsetCommitValue v99") for each in found.omissions)


def test_damage_is_told_and_what_is_behind_it_is_read(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put(commit(1))
    log.put(commit(2))
    log.put(commit(3, partition=1))
    log.make()
    path = log.folder / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[len(log.entries[0]) + len(log.entries[1]) - 1] ^= 1
    path.write_bytes(data)
    found = read_groups(tmp_path)
    assert committed(found) == {("g", "t", 0): 1, ("g", "t", 1): 3}
    (problem,) = found.omissions.losses
    assert "CrcMismatch" in problem.reason and found.omissions.skipped_bytes == len(log.entries[1])


def test_records_that_do_not_decode_are_told(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put(commit(1))
    log.entries.append(wire.batch([b"\x02\xff\xff"], base=1))
    log.make()
    found = read_groups(tmp_path)
    assert committed(found) == {("g", "t", 0): 1} and len(found.omissions.losses) == 1


def test_a_folder_without_the_topic_is_no_empty_answer(tmp_path: Path) -> None:
    make(tmp_path / "t-0", [(0, [batch(0, [(b"k", b"v")])])])
    with pytest.raises(NotALog, match="no topic __consumer_offsets"):
        read_groups(tmp_path)
    with pytest.raises(NotALog, match="the folder of a topic-partition"):
        read_groups(tmp_path / "t-0")
    with pytest.raises(ValueError, match="log directory"):
        read_groups()


def test_of_a_topic_partition_in_two_directories_the_newer_replica_is_read(tmp_path: Path) -> None:
    old, new = Written(tmp_path / "a" / f"{OFFSETS}-0"), Written(tmp_path / "b" / f"{OFFSETS}-0")
    old.put(commit(1))
    new.put(commit(1))
    new.put(commit(2))
    for log in (old, new):
        log.make()
    for roots in (("a", "b"), ("b", "a")):
        assert committed(read_groups(*(tmp_path / each for each in roots))) == {("g", "t", 0): 2}


def test_only_the_groups_and_topics_that_were_asked_for(tmp_path: Path) -> None:
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put(commit(1), commit(2, group="h"), commit(3, group="h", topic="u"))
    log.put((GroupMetadataKey(group="other"), GroupMetadataValue()))
    log.make()
    found = read_groups(tmp_path, groups=["h"], topics=["u"])
    assert committed(found) == {("h", "u", 0): 3}
    assert [each.group for each in found.groups] == ["h"]


def test_memory_is_that_of_the_groups_and_not_of_the_log(tmp_path: Path) -> None:
    def peak(batches: int) -> int:
        log = Written(tmp_path / str(batches) / f"{OFFSETS}-0")
        for number in range(batches):
            log.put(*(commit(number, partition=each, metadata="x" * 2_000) for each in range(10)))
        log.make()
        read_groups(log.folder.parent)
        tracemalloc.start()
        try:
            read_groups(log.folder.parent)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(300) < 1.3 * peak(100)


CLASSIC = (GroupMetadataKey(group="g"), GroupMetadataValue(protocol_type="consumer"))
CLASSIC_GONE = (GroupMetadataKey(group="g"), None)
CONSUMER = [
    (
        ConsumerGroupMemberMetadataKey(group_id="g", member_id="m"),
        ConsumerGroupMemberMetadataValue(subscribed_topic_names=["t"]),
    ),
    (ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=2)),
]
CONSUMER_GONE = [(key, None) for key, _ in CONSUMER]
STREAMS = [
    (StreamsGroupMetadataKey(group_id="g"), StreamsGroupMetadataValue(epoch=1)),
    (StreamsGroupMemberMetadataKey(group_id="g", member_id="s"), StreamsGroupMemberMetadataValue()),
]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([*CONSUMER, CLASSIC], [("classic", [])]),
        ([*CONSUMER, *CONSUMER_GONE, CLASSIC], [("classic", [])]),
        ([*CONSUMER, CLASSIC, *CONSUMER_GONE], [("classic", [])]),
        ([CLASSIC, *CONSUMER], [("consumer", ["m"])]),
        ([CLASSIC, CLASSIC_GONE, *CONSUMER], [("consumer", ["m"])]),
        ([CLASSIC, *CONSUMER, CLASSIC, CLASSIC_GONE], []),
        ([*CONSUMER, CLASSIC, *CONSUMER[1:]], [("consumer", [])]),
        ([*CONSUMER, *STREAMS], [("streams", ["s"])]),
        ([*STREAMS, CLASSIC], [("classic", [])]),
        ([*STREAMS, *CONSUMER, *CONSUMER_GONE], []),
        ([*CONSUMER, CLASSIC_GONE], []),
    ],
)
def test_the_last_message_says_the_type(
    tmp_path: Path, messages: list[Any], expected: list[tuple[str, list[str]]]
) -> None:
    """Where a group changed its protocol, compaction may have removed the tombstones of the old one."""
    log = Written(tmp_path / f"{OFFSETS}-0")
    log.put(*messages)
    log.make()
    found = read_groups(tmp_path).groups
    assert [(each.type, [member.member_id for member in each.members]) for each in found] == expected
