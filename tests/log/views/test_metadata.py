"""A cluster's metadata at an offset: records replayed, snapshots, metadata transactions, damage."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kodec
from kodec.generated.metadata.abort_transaction_record import AbortTransactionRecord
from kodec.generated.metadata.access_control_entry_record import AccessControlEntryRecord
from kodec.generated.metadata.begin_transaction_record import BeginTransactionRecord
from kodec.generated.metadata.broker_registration_change_record import BrokerRegistrationChangeRecord
from kodec.generated.metadata.clear_elr_record import ClearElrRecord
from kodec.generated.metadata.client_quota_record import ClientQuotaRecord, EntityData
from kodec.generated.metadata.config_record import ConfigRecord
from kodec.generated.metadata.delegation_token_record import DelegationTokenRecord
from kodec.generated.metadata.end_transaction_record import EndTransactionRecord
from kodec.generated.metadata.feature_level_record import FeatureLevelRecord
from kodec.generated.metadata.fence_broker_record import FenceBrokerRecord
from kodec.generated.metadata.partition_change_record import PartitionChangeRecord
from kodec.generated.metadata.partition_record import PartitionRecord
from kodec.generated.metadata.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from kodec.generated.metadata.register_controller_record import RegisterControllerRecord
from kodec.generated.metadata.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from kodec.generated.metadata.remove_delegation_token_record import RemoveDelegationTokenRecord
from kodec.generated.metadata.remove_topic_record import RemoveTopicRecord
from kodec.generated.metadata.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from kodec.generated.metadata.topic_record import TopicRecord
from kodec.generated.metadata.unfence_broker_record import UnfenceBrokerRecord
from kodec.generated.metadata.unregister_broker_record import UnregisterBrokerRecord
from kodec.generated.metadata.unregister_controller_record import UnregisterControllerRecord
from kodec.generated.metadata.user_scram_credential_record import UserScramCredentialRecord
from kodec.log.remote.resolve import NotALog
from kodec.log.views.metadata import (
    ClusterMetadata,
    PartitionAssignment,
    read_metadata,
    read_metadata_snapshot,
)
from kodec.runtime.errors import OffsetOutOfRange
from tests.data import DATA, LOGS
from tests.log.made import batch, framed, make

pytestmark = pytest.mark.quick

REAL = LOGS
A, B = UUID(int=1), UUID(int=2)


def replayed(root: Path, *messages: Any, versions: dict[type, int] | None = None) -> ClusterMetadata:
    values = [framed(each, (versions or {}).get(type(each), 0)) for each in messages]
    make(root / "__cluster_metadata-0", [(0, [batch(0, [(None, each) for each in values])])])
    return read_metadata(root)


def topic(*messages: Any) -> list[Any]:
    first = PartitionRecord(topic_id=A, partition_id=0, replicas=[1, 2], isr=[1, 2], leader=1, leader_epoch=4)
    return [TopicRecord(name="t", topic_id=A), replace(first, partition_epoch=7), *messages]


def only(found: ClusterMetadata) -> PartitionAssignment:
    assert found.omissions.is_whole
    (one,) = found.topics
    (partition,) = one.partitions
    return partition


def change(**more: Any) -> PartitionChangeRecord:
    return PartitionChangeRecord(topic_id=A, partition_id=0, **more)


def test_a_change_of_a_partition_leaves_what_it_does_not_name(tmp_path: Path) -> None:
    found = only(replayed(tmp_path, *topic(change(isr=[2]), change(leader=2), change(replicas=[2, 3]))))
    assert (found.leader, found.leader_epoch, found.partition_epoch) == (2, 5, 10)
    assert (found.replicas, found.isr, found.recovering) == ([2, 3], [2], False)


def test_a_partition_loses_its_leader_and_recovers(tmp_path: Path) -> None:
    messages = topic(change(leader=-1, isr=[]), change(leader=2, leader_recovery_state=1))
    found = only(replayed(tmp_path, *messages))
    assert (found.leader, found.leader_epoch, found.isr, found.recovering) == (2, 6, [], True)


def test_eligible_leader_replicas_are_cleared(tmp_path: Path) -> None:
    elr = change(eligible_leader_replicas=[2], last_known_elr=[1], directories=[A, B])
    versions = {PartitionChangeRecord: 2}
    found = only(replayed(tmp_path / "a", *topic(elr), versions=versions))
    assert (found.elr, found.last_known_elr, found.directories) == ([2], [1], [A, B])
    for number, name in enumerate(("t", "")):
        root = tmp_path / str(number)
        found = only(replayed(root, *topic(elr, ClearElrRecord(topic_name=name)), versions=versions))
        assert (found.elr, found.last_known_elr, found.partition_epoch) == ([], [], 9)
    found = only(replayed(tmp_path / "c", *topic(elr, ClearElrRecord(topic_name="u")), versions=versions))
    assert found.elr == [2]


def test_topics_and_their_configs_go_together(tmp_path: Path) -> None:
    def config(value: str | None, name: str = "t", key: str = "retention.ms", kind: int = 2) -> ConfigRecord:
        return ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)

    found = replayed(
        tmp_path,
        *topic(),
        config("5"),
        config("6"),
        config("x", key="gone"),
        config(None, key="gone"),
        TopicRecord(name="u", topic_id=B),
        config("1", name="u"),
        config("9", name="", key="log.retention.ms", kind=4),
        RemoveTopicRecord(topic_id=B),
    )
    assert [each.name for each in found.topics] == ["t"]
    assert found.configs == {("topic", "t"): {"retention.ms": "6"}, ("broker", ""): {"log.retention.ms": "9"}}
    assert found.topic("t") is not None and found.topic("u") is None


def test_brokers_and_controllers(tmp_path: Path) -> None:
    endpoint = BrokerEndpoint(name="EXTERNAL", host="h", port=9092, security_protocol=3)
    found = replayed(
        tmp_path,
        RegisterBrokerRecord(broker_id=1, broker_epoch=5, end_points=[endpoint], rack="r"),
        RegisterBrokerRecord(broker_id=2),
        RegisterBrokerRecord(broker_id=3),
        UnfenceBrokerRecord(id=1, epoch=5),
        UnfenceBrokerRecord(id=2),
        FenceBrokerRecord(id=2),
        BrokerRegistrationChangeRecord(broker_id=3, fenced=-1),
        BrokerRegistrationChangeRecord(broker_id=3, in_controlled_shutdown=1),
        RegisterControllerRecord(controller_id=8),
        RegisterControllerRecord(controller_id=9),
        UnregisterControllerRecord(controller_id=8),
        RegisterBrokerRecord(broker_id=4),
        UnregisterBrokerRecord(broker_id=4),
        versions={RegisterBrokerRecord: 1, BrokerRegistrationChangeRecord: 1},
    )
    assert [(each.id, each.fenced, each.in_controlled_shutdown) for each in found.brokers] == [
        (1, False, False),
        (2, True, False),
        (3, False, True),
    ]
    assert found.brokers[0].endpoints == [("EXTERNAL", "h", 9092, "SASL_SSL")]
    assert (found.brokers[0].epoch, found.brokers[0].rack) == (5, "r")
    assert [each.id for each in found.controllers] == [9]


def test_quotas_acls_users_tokens_and_features(tmp_path: Path) -> None:
    who = [EntityData(entity_type="user", entity_name=None)]
    acl = AccessControlEntryRecord(
        id=A, resource_type=2, resource_name="t", pattern_type=3, principal="User:x", host="*", operation=3,
        permission_type=2,
    )  # fmt: skip
    user = UserScramCredentialRecord(name="u", mechanism=2, salt=b"s", iterations=4096)
    found = replayed(
        tmp_path,
        ClientQuotaRecord(entity=who, key="a", value=1.5),
        ClientQuotaRecord(entity=who, key="b", value=2.0),
        ClientQuotaRecord(entity=who, key="b", remove=True),
        acl,
        replace(acl, id=B),
        RemoveAccessControlEntryRecord(id=B),
        user,
        replace(user, name="gone"),
        RemoveUserScramCredentialRecord(name="gone", mechanism=2),
        DelegationTokenRecord(token_id="a", owner="User:o"),
        DelegationTokenRecord(token_id="b"),
        RemoveDelegationTokenRecord(token_id="b"),
        FeatureLevelRecord(name="f", feature_level=3),
        FeatureLevelRecord(name="g", feature_level=3),
        FeatureLevelRecord(name="g", feature_level=0),
    )
    assert found.quotas == [((("user", None),), {"a": 1.5})]
    (one,) = found.acls
    assert (one.permission, one.operation, one.resource_type, one.pattern_type) == (
        "DENY",
        "READ",
        "TOPIC",
        "LITERAL",
    )
    assert found.users == [("u", "SCRAM-SHA-512", 4096)]
    assert [(each.token_id, each.owner) for each in found.tokens] == [("a", "User:o")]
    assert found.features == {"f": 3}


@pytest.mark.parametrize(
    ("end", "expected", "waiting"),
    [
        (EndTransactionRecord(), ["t", "u"], None),
        (AbortTransactionRecord(), ["t"], None),
        (None, ["t"], "big"),
    ],
)
def test_records_of_a_metadata_transaction_count_when_it_ends(
    tmp_path: Path, end: Any, expected: list[str], waiting: str | None
) -> None:
    messages = [*topic(), BeginTransactionRecord(name="big"), TopicRecord(name="u", topic_id=B)]
    found = replayed(tmp_path, *messages, *([] if end is None else [end]))
    assert [each.name for each in found.topics] == expected
    assert found.open_transaction == waiting


def test_what_is_not_known_is_told(tmp_path: Path) -> None:
    values = [framed(each) for each in topic()] + [b"\x01\x50\x00", b"\x07", framed(change()) + b"!"]
    make(tmp_path / "__cluster_metadata-0", [(0, [batch(0, [(None, each) for each in values])])])
    found = read_metadata(tmp_path)
    assert len(found.topics) == 1 and sum(each.records or 0 for each in found.omissions) == 3


def test_records_that_name_what_is_not_there_are_told(tmp_path: Path) -> None:
    messages = [
        change(leader=1),
        RemoveTopicRecord(topic_id=B),
        FenceBrokerRecord(id=1),
        PartitionRecord(topic_id=B),
    ]
    found = replayed(tmp_path, *messages, BrokerRegistrationChangeRecord(broker_id=5))
    assert len(found.omissions.losses) == 5


# -- snapshots, with a real cluster's files ---------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path) -> Path:
    shutil.copytree(REAL / "__cluster_metadata-0", tmp_path / "__cluster_metadata-0")
    return tmp_path


SNAPSHOTS = ("00000000000000000057-0000000001", "00000000000000000203-0000000002")


def facts(found: ClusterMetadata) -> tuple[object, ...]:
    names = "topics brokers controllers configs features quotas acls users tokens voters next_producer_id"
    return tuple(getattr(found, name) for name in names.split())


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_says_what_the_log_says_at_its_offset(real: Path, name: str) -> None:
    folder = real / "__cluster_metadata-0"
    expected = read_metadata_snapshot(folder / f"{name}.checkpoint")
    assert expected.omissions.is_whole and expected.topics
    for each in SNAPSHOTS:
        (folder / f"{each}.checkpoint").unlink()
    found = read_metadata(real, end_offset=expected.end_offset)
    assert found.snapshot is not None and found.snapshot.name.startswith("0" * 20)
    assert facts(found) == facts(expected)
    assert found.omissions.is_whole


def test_the_newest_snapshot_below_the_offset_is_taken(real: Path) -> None:
    for end_offset, name in ((None, SNAPSHOTS[1]), (203, SNAPSHOTS[1]), (202, SNAPSHOTS[0])):
        found = read_metadata(real, end_offset=end_offset)
        assert found.snapshot is not None and found.snapshot.name == f"{name}.checkpoint"
        assert found.end_offset == (end_offset or 234)


def test_a_damaged_snapshot_is_told_and_not_used(real: Path) -> None:
    whole = read_metadata(real)
    path = real / "__cluster_metadata-0" / f"{SNAPSHOTS[1]}.checkpoint"
    data = path.read_bytes()
    for broken in (data[:-20], data[:1000] + b"\xff" + data[1001:], b"", data[: data.rindex(b"\0\0\0\2\2")]):
        path.write_bytes(broken)
        found = read_metadata(real)
        assert found.snapshot is not None and found.snapshot.name == f"{SNAPSHOTS[0]}.checkpoint"
        assert facts(found) == facts(whole)
        assert any(path == each.path for each in found.omissions.losses)


def test_an_offset_that_the_log_does_not_have(real: Path) -> None:
    with pytest.raises(OffsetOutOfRange):
        read_metadata(real, end_offset=235)
    assert read_metadata(real, end_offset=0).topics == []


def test_missing_offsets_are_told(real: Path) -> None:
    folder = real / "__cluster_metadata-0"
    for each in folder.glob("*.checkpoint"):
        each.unlink()
    log = folder / "00000000000000000000.log"
    batches = list(kodec.read_batches(log))
    cut = next(each for each in batches if each.base_offset > 100)
    log.rename(folder / f"{cut.base_offset:020d}.log")
    log = folder / f"{cut.base_offset:020d}.log"
    log.write_bytes(log.read_bytes()[cut.position :])
    for index in ("index", "timeindex"):
        (folder / f"{0:020d}.{index}").unlink()
    found = read_metadata(real)
    assert f"offsets 0 to {cut.base_offset - 1} are missing" in found.omissions.losses[0].reason
    with pytest.raises(OffsetOutOfRange):
        read_metadata(real, end_offset=50)


def test_the_bootstrap_file_and_a_folder_without_metadata(tmp_path: Path) -> None:
    found = read_metadata_snapshot(REAL / "bootstrap.checkpoint")
    assert found.features["metadata.version"] > 0 and found.end_offset == -1
    assert found.omissions.is_whole
    make(tmp_path / "t-0", [(0, [batch(0, [(b"k", b"v")])])])
    with pytest.raises(NotALog, match="no topic __cluster_metadata"):
        read_metadata(tmp_path)


def test_the_leader_whose_epoch_began_before_the_snapshot(tmp_path: Path) -> None:
    """Kafka's own log: a snapshot does not say who led."""
    folder = tmp_path / "__cluster_metadata-0"
    shutil.copytree(DATA / "views-4.3.1/logs/__cluster_metadata-0", folder)
    found = read_metadata(tmp_path)
    assert found.snapshot is not None and (found.epoch, found.leader) == (1, 1)
    assert read_metadata_snapshot(found.snapshot).leader is None
    # the log begins after it: the broker's own note has the newest one
    (folder / f"{0:020d}.log").rename(tmp_path / "gone")
    for path in folder.glob("*.*index"):
        path.unlink()
    (folder / f"{103:020d}.log").write_bytes(b"")
    assert read_metadata(tmp_path).leader == 1
    state = folder / "quorum-state"
    newest = state.read_text()
    state.write_text(newest.replace('"leaderEpoch":1', '"leaderEpoch":2'))
    assert read_metadata(tmp_path).leader is None
    state.write_text(newest.replace('"leaderId":1', '"leaderId":-1'))
    assert read_metadata(tmp_path).leader is None
    state.write_text("{")
    assert read_metadata(tmp_path).leader is None
