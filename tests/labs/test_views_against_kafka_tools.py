"""What the views say of a real broker's files, compared with what Kafka's tools said while it ran."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import real_logs

import kodec
from kodec.log.messages.as_json import uuid_text
from kodec.log.views.epochs import read_epochs
from kodec.log.views.groups import Groups, read_groups
from kodec.log.views.metadata import ClusterMetadata, read_metadata, read_metadata_snapshot
from kodec.log.views.producers import read_producers
from kodec.log.views.retention import explain_retention
from kodec.log.views.transactions import TransactionStates, read_transactions

(RELEASE,) = sorted(real_logs.DATA.glob("views-*"))
LOGS, SAID = RELEASE / "logs", RELEASE / "kafka-tools"
MANIFEST = real_logs.manifest(RELEASE)


def table(name: str) -> list[dict[str, str]]:
    """The rows of a table as the tools print them; each line that begins with a title begins another one."""
    found: list[dict[str, str]] = []
    columns: list[str] = []
    for line in (SAID / name).read_text(encoding="utf-8").splitlines():
        # Two words are one title, or one cell, where one blank is between them.
        cells = re.split(r"\t|  +|(?<=\S) (?=\S)", line.strip())
        cells = [cell.strip() for cell in cells if cell.strip()]
        if not cells:
            continue
        if cells[0] in ("GROUP", "TransactionalId", "CoordinatorId", "Topic"):
            columns = cells
        else:
            found.append(dict(zip(columns, cells, strict=False)))
    return found


def said(name: str) -> Any:
    return json.loads((SAID / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def groups() -> Groups:
    return read_groups(LOGS)


@pytest.fixture(scope="module")
def transactions() -> TransactionStates:
    return read_transactions(LOGS, now=MANIFEST["asked"])


@pytest.fixture(scope="module")
def metadata() -> ClusterMetadata:
    """As it was when the tools were asked: the broker's shutdown changes it."""
    return read_metadata(LOGS, end_offset=MANIFEST["metadata_offset"])


def test_everything_was_read(
    groups: Groups, transactions: TransactionStates, metadata: ClusterMetadata
) -> None:
    for view in (groups, transactions, metadata):
        account = view.omissions
        assert not list(account)


def test_committed_offsets_and_lag(groups: Groups) -> None:
    expected = {
        (row["GROUP"], row["TOPIC"], int(row["PARTITION"])): tuple(
            int(row[name]) for name in ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")
        )
        for row in table("groups-offsets.txt")
    }
    assert len(expected) == 10
    assert (
        expected
        == {
            (each.group, each.topic, each.partition): (each.offset, each.log_end_offset, each.lag)
            for each in groups.offsets
            if not each.pending
        }
        | {}
    )


def test_what_is_pending_is_that_of_the_open_transaction(
    groups: Groups, transactions: TransactionStates
) -> None:
    pending = {
        (each.group, each.topic): (each.offset, each.producer_id) for each in groups.offsets if each.pending
    }
    (undecided,) = (each for each in transactions.ids if each.transactional_id == "undecided")
    assert pending == {
        ("in-transactions", "orders"): (11, undecided.producer_id),
        ("in-transactions", "payments"): (2, undecided.producer_id),
    }


def test_states_and_members_of_groups(groups: Groups) -> None:
    states = {row["GROUP"]: row for row in table("groups-state.txt")}
    found = {each.group: each for each in groups.groups if each.type in ("classic", "consumer")}
    assert {name: each.state for name, each in found.items()} == {
        name: _cells(row)[-2] for name, row in states.items()
    }
    assert {name: len(each.members) for name, each in found.items()} == {
        name: int(_cells(row)[-1]) for name, row in states.items()
    }
    lines = [
        re.split(r"\s+", line.strip())
        for line in (SAID / "groups-members.txt").read_text("utf-8").splitlines()
        if line and not line.startswith("GROUP")
    ]
    assert sorted(line[1] for line in lines) == sorted(
        member.member_id for each in found.values() for member in each.members
    )
    for line in lines:
        (member,) = (one for one in found[line[0]].members if one.member_id == line[1])
        assigned = ",".join(
            f"{one.topic}:{','.join(map(str, one.partitions))}" for one in member.assignment or ()
        )
        epoch = "-" if member.epoch is None else str(member.epoch)
        instance = [] if member.instance_id is None else [member.instance_id]
        expected = [line[0], member.member_id, *instance, member.client_host, member.client_id]
        assert line[: len(expected)] == expected
        assert line[len(expected) + 1 : len(expected) + 3] == [epoch, assigned]


def test_a_streams_group_and_its_tasks(groups: Groups) -> None:
    (group,) = (each for each in groups.groups if each.type == "streams")
    expected = said("streams.json")
    (row,) = table("streams-state.txt")
    assert (group.group, group.state, str(group.epoch)) == ("streams-group", row["STATE"], row["GROUP-EPOCH"])
    assert (group.state, group.epoch) == (expected["state"], expected["epoch"])
    assert (str(group.assignment_epoch), str(len(group.members))) == (
        row["TARGET-ASSIGNMENT-EPOCH"],
        row["#MEMBERS"],
    )
    for member in group.members:
        told = expected["members"].pop(member.member_id)
        assert (member.epoch, member.client_id, member.client_host) == (
            told["epoch"],
            told["clientId"],
            told["clientHost"],
        )
        for role in ("active", "standby", "warmup"):
            tasks = {one.subtopology: one.partitions for one in member.assignment or () if one.role == role}
            assert tasks == told[role]
    assert expected["members"] == {}
    # Its partitions have no committed offset: nothing was processed.
    assert {row["CURRENT-OFFSET"] for row in table("streams-offsets.txt")} == {"-"}
    assert not [each for each in groups.offsets if each.group == "streams-group"]


def _cells(row: dict[str, str]) -> list[str]:
    return [cell for cell in row.values() if cell]


def test_share_groups(groups: Groups) -> None:
    expected = [
        (row["GROUP"], row["TOPIC"], int(row["PARTITION"]), int(row["START-OFFSET"]), int(row["LAG"]))
        for row in table("share-offsets.txt")
    ]
    assert expected == [
        (each.group, each.topic, each.partition, max(each.start_offset, 0), each.lag or 0)
        for each in groups.share_offsets
    ]
    (group,) = (each for each in groups.groups if each.type == "share")
    assert (group.group, group.state, len(group.members)) == ("share-group", "Stable", 1)


def test_transactional_ids(transactions: TransactionStates) -> None:
    assert said("transactions.json") == {
        each.transactional_id: {
            "producerId": each.producer_id,
            "producerEpoch": each.producer_epoch,
            "state": each.state,
            "timeoutMs": each.timeout_ms,
            "startTimestamp": each.start_timestamp,
            "partitions": sorted(map(str, each.partitions)),
        }
        for each in transactions.ids
    }
    assert {row["TransactionalId"]: row["TransactionState"] for row in table("transactions-list.txt")} == {
        each.transactional_id: each.state for each in transactions.ids
    }


@pytest.mark.parametrize("name", ["committed", "aborted", "undecided", "idle"])
def test_a_transactional_id_as_it_is_described(transactions: TransactionStates, name: str) -> None:
    (row,) = table(f"transactions-describe-{name}.txt")
    (found,) = (each for each in transactions.ids if each.transactional_id == name)
    start = "None" if found.start_timestamp is None else str(found.start_timestamp)
    shown = [
        name,
        str(found.producer_id),
        str(found.producer_epoch),
        found.state,
        str(found.timeout_ms),
        start,
    ]
    columns = "TransactionalId ProducerId ProducerEpoch TransactionState TransactionTimeoutMs"
    assert shown == [row[each] for each in [*columns.split(), "CurrentTransactionStartTimeMs"]]
    partitions = set(row.get("TopicPartitions", "").split(",")) - {""}
    assert partitions == set(map(str, found.partitions))


def test_hanging_transactions(transactions: TransactionStates) -> None:
    expected = [
        (row["Topic"], int(row["Partition"]), *(int(row[name]) for name in ("ProducerId", "StartOffset")))
        for row in table("transactions-hanging.txt")
    ]
    assert len(expected) == 2
    assert sorted(expected) == [
        (*each.topic_partition, each.producer_id, each.first_offset)
        for each in transactions.open
        if each.status == "hanging"
    ]
    assert {each.status for each in transactions.open} == {"hanging", "open"}
    later = read_transactions(LOGS, now=MANIFEST["asked"] + 600_001)
    assert {each.status for each in later.open} == {"hanging", "overdue"}


def test_producers() -> None:
    expected = said("producers.json")
    assert sum(map(len, expected.values())) > 10
    with kodec.LogDirectory(LOGS) as directory:
        found = {str(log.topic_partition): read_producers(log) for log in directory}
    found.pop("__cluster_metadata-0")
    for name, view in found.items():
        assert [
            {
                "producerId": each.producer_id,
                "producerEpoch": each.epoch,
                "coordinatorEpoch": each.coordinator_epoch,
                "lastSequence": -1 if each.last_sequence is None else each.last_sequence,
                "lastTimestamp": each.last_timestamp,
                "transactionOffset": each.transaction_offset,
            }
            for each in view.producers
        ] == expected[name], name
        assert view.last_stable_offset == min(
            [each["transactionOffset"] for each in expected[name] if each["transactionOffset"] is not None],
            default=view.end_offset,
        )
    assert found.keys() == expected.keys()


def test_producers_without_their_snapshots(tmp_path: Path) -> None:
    """The log alone says the same, where none of it was deleted."""
    for name in ("stuck-0", "payments-0", "__consumer_offsets-2"):
        folder = tmp_path / name
        folder.mkdir()
        for path in (LOGS / name).glob("*.log"):
            (folder / path.name).write_bytes(path.read_bytes())
        with kodec.PartitionLog(folder) as ours, kodec.PartitionLog(LOGS / name) as whole:
            found, expected = read_producers(ours), read_producers(whole)
        assert found.producers == expected.producers and found.producers
        assert (found.end_offset, found.last_stable_offset) == (
            expected.end_offset,
            expected.last_stable_offset,
        )


def test_topics_and_their_partitions(metadata: ClusterMetadata) -> None:
    assert said("metadata.json")["topics"] == {
        topic.name: {
            "topicId": uuid_text(topic.topic_id),
            "partitions": [
                {
                    "partition": each.partition,
                    "leader": each.leader,
                    "replicas": each.replicas,
                    "isr": each.isr,
                    "elr": each.elr,
                }
                for each in topic.partitions
            ],
        }
        for topic in metadata.topics
    }


def test_configs_features_brokers_and_voters(metadata: ClusterMetadata) -> None:
    expected = said("metadata.json")
    configs = {f"{kind}:{name}": values for (kind, name), values in metadata.configs.items()}
    assert {name: values for name, values in expected["configs"].items() if values} == configs
    assert expected["features"] == metadata.features
    assert expected["brokers"] == [
        {"id": each.id, "host": each.endpoints[0][1], "port": each.endpoints[0][2], "rack": each.rack}
        for each in metadata.brokers
        if not each.fenced
    ]
    assert expected["voters"] == [[each, uuid_text(directory)] for each, directory in metadata.voters]


def test_quotas_acls_and_users(metadata: ClusterMetadata) -> None:
    expected = said("metadata.json")
    assert expected["quotas"] == {
        json.dumps(dict(entity), separators=(",", ":")): values for entity, values in metadata.quotas
    }
    assert [tuple(each) for each in expected["acls"]] == [
        tuple(value for name, value in asdict(each).items() if name != "acl_id") for each in metadata.acls
    ]
    assert expected["users"] == {f"{name} {mechanism}": times for name, mechanism, times in metadata.users}


def test_a_snapshot_says_what_the_log_below_it_says(tmp_path: Path) -> None:
    (newest,) = SAID.glob("*.checkpoint.txt")
    name = newest.name.removesuffix(".txt")
    snapshot = read_metadata_snapshot(LOGS / "__cluster_metadata-0" / name)
    alone = tmp_path / "__cluster_metadata-0"
    alone.mkdir()
    (tmp_path / "meta.properties").touch()
    for path in (LOGS / "__cluster_metadata-0").iterdir():
        if path.suffix != ".checkpoint" or path.name.startswith("0" * 20):
            (alone / path.name).write_bytes(path.read_bytes())
    replayed = read_metadata(tmp_path, end_offset=snapshot.end_offset)
    assert replayed.snapshot is not None and replayed.snapshot.name != name
    for field in (
        "topics",
        "brokers",
        "controllers",
        "configs",
        "features",
        "quotas",
        "acls",
        "users",
        "voters",
    ):
        assert getattr(replayed, field) == getattr(snapshot, field), field
    assert replayed.next_producer_id == snapshot.next_producer_id


def test_kafka_metadata_shell(tmp_path: Path) -> None:
    (newest,) = SAID.glob("*.checkpoint.txt")
    text = newest.read_text(encoding="utf-8")
    found = read_metadata_snapshot(LOGS / "__cluster_metadata-0" / newest.name.removesuffix(".txt"))
    tree = _tree(text)
    shown = {
        (path[-2], int(path[-1])): value
        for path, value in tree.items()
        if path[:2] == ("topics", "byName") and path[-1].isdigit()
    }
    assert shown == {
        (topic.name, each.partition): _registration(each)
        for topic in found.topics
        for each in topic.partitions
    }
    assert {
        path[-2]: value
        for path, value in tree.items()
        if path[:2] == ("topics", "byName") and path[-1] == "id"
    } == {topic.name: uuid_text(topic.topic_id) for topic in found.topics}
    configs = {(path[1], path[2]): value for path, value in tree.items() if path[0] == "configs"}
    assert configs == {
        (f"{kind.upper()}:{name}" if name else kind.upper(), key): value
        for (kind, name), values in found.configs.items()
        for key, value in values.items()
    }
    levels = {
        path[1].removeprefix("finalized_"): value for path, value in tree.items() if path[0] == "features"
    }
    assert {name: int(level) for name, level in levels.items() if name != "metadataVersion"} == {
        name: level
        for name, level in found.features.items()
        if name not in ("metadata.version", "kraft.version")
    }
    assert tree["producerIds", "nextProducerId"] == str(found.next_producer_id)


def _tree(text: str) -> dict[tuple[str, ...], str]:
    """What `tree` prints: a name on a line, and below it, two blanks further in, what it holds."""
    found: dict[tuple[str, ...], str] = {}
    path: list[str] = []
    for line in text.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        path = path[:depth]
        if line.endswith(":"):
            path.append(line.strip()[:-1])
        else:
            found[tuple(path)] = line.strip()
    return found


def _registration(each: Any) -> str:
    recovery = "RECOVERING" if each.recovering else "RECOVERED"
    directories = ", ".join(map(uuid_text, each.directories))
    return (
        f"PartitionRegistration(replicas={each.replicas}, directories=[{directories}], "
        f"isr={each.isr}, removingReplicas={each.removing}, addingReplicas={each.adding}, elr={each.elr}, "
        f"lastKnownElr={each.last_known_elr}, leader={-1 if each.leader is None else each.leader}, "
        f"leaderRecoveryState={recovery}, leaderEpoch={each.leader_epoch}, "
        f"partitionEpoch={each.partition_epoch})"
    )


def test_retention_deletes_what_it_is_said_to_delete(metadata: ClusterMetadata) -> None:
    """A broker that was started again left these segments."""
    deleted = 0
    with kodec.LogDirectory(LOGS) as directory:
        for log in directory:
            if log.topic_partition.topic == "__cluster_metadata":
                continue
            found = explain_retention(log, metadata, now=MANIFEST["asked"])
            gone = [each.base_offset for each in found.deletable]
            expected = [segment.base_offset for segment in log.segments if segment.base_offset not in gone]
            assert MANIFEST["retained"][log.path.name] == expected, log.path.name
            deleted += len(gone)
    assert deleted > 1


def test_leader_epochs_agree() -> None:
    with kodec.LogDirectory(LOGS) as directory:
        for log in directory:
            assert read_epochs(log).omissions.is_whole


@pytest.mark.parametrize("release", real_logs.GENERATIONS, ids=real_logs.label)
def test_groups_of_older_generations(release: Path) -> None:
    """From 0.9 on: the lab's groups commit the same in each, in other versions of the messages."""
    found = read_groups(release / "logs")
    assert found.omissions.is_whole
    segments, *readers = [(each.group, each.offset, each.lag, each.metadata) for each in found.offsets]
    assert segments == ("others", 30, 20, "")
    assert [(group, lag, text) for group, _, lag, text in readers] == [
        ("readers", 0, "réglé ✓"),
        ("readers", 0, "the first reading"),
    ]
    assert [(each.group, each.type) for each in found.groups] == [
        ("others", "classic"),
        ("readers", "classic"),
    ]
