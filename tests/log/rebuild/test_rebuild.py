"""Rebuilt clusters: logs, topics and groups in the log directories of brokers; whole, or marked as not.

That real brokers start there, and serve all of it, shows `tests/labs/rebuild_lab.py`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import StalePlan
from kodec.log.files.checkpoints import (
    read_clean_shutdown,
    read_offsets,
    write_clean_shutdown,
    write_meta_properties,
)
from kodec.log.files.lock import locked
from kodec.log.rebuild import plan as plans
from kodec.log.rebuild.planning import group_partition
from kodec.log.rebuild.target import follows
from kodec.operations import plan_backup, plan_rebuild
from tests.golden import Golden

LOGS = Path("tests/data/kafka-4.3.1/logs")
TIER = Path("tests/data/tiered-4.3.1")
VOTERS = Path("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint")
IDS = ["a29kZWMtZGlyZWN0b3J5MQ", "a29kZWMtZGlyZWN0b3J5Mg", "a29kZWMtZGlyZWN0b3J5Mw"]
CLUSTER = "bmV3LWNsdXN0ZXItMDAwMQ"
NOW = 1795300000000
CARRIED = {"ACL": 0, "quota": 0, "user": 0, "delegation token": 0, "config": 2, "topic config": 36}


def formatted(root: Path, node: int = 1, *, voters: bool = True, cluster: str = CLUSTER) -> Path:
    """A log directory as `kafka-storage.sh format` makes it."""
    root.mkdir(parents=True)
    write_meta_properties(
        root / "meta.properties", cluster_id=cluster, node_id=node, directory_id=IDS[node - 1]
    )
    shutil.copy(LOGS / "bootstrap.checkpoint", root)
    if voters:
        (root / VOTERS.parent).mkdir()
        shutil.copy(LOGS / VOTERS, root / VOTERS)
    return root


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    return formatted(tmp_path / "broker")


def planned(source: Any, *brokers: Any, **options: Any) -> Any:
    return plan_rebuild(source, brokers, **{"now": NOW, "hold_retention": True} | options)


def same(rebuilt: Path, logs: Path = LOGS, *, topics: set[str] | None = None) -> None:
    """Whether a broker's directory has the records and the groups of another."""
    here, there = kodec.LogDirectory(logs), kodec.LogDirectory(rebuilt)
    for log in here:
        topic = log.topic_partition.topic
        if topic == "__cluster_metadata" or (topics is not None and topic not in topics):
            continue
        found = there.partition(*log.topic_partition)
        assert list(found.records(control=True)) == list(log.records(control=True))
        assert (found.start_offset, found.end_offset) == (log.start_offset, log.end_offset)
    assert [each for each in kodec.repair.verify(rebuilt) if not each.note] == []


def test_a_new_cluster_has_all_of_the_old_one(broker: Path, tmp_path: Path) -> None:
    point = plan_backup(LOGS, tmp_path / "backup").apply().point.name
    plan = planned(tmp_path / "backup" / "points" / point, broker)
    assert plan.problems == [] and plan.is_new and plan.groups == {}
    done: list[Any] = []
    assert plan.apply(on_step=done.append).kept == []
    assert done == plan.partitions
    same(broker)
    old, new = kodec.operations.read_metadata(LOGS), kodec.operations.read_metadata(broker)
    assert [(each.name, each.topic_id) for each in new.topics] == [
        (each.name, each.topic_id) for each in old.topics
    ]
    for before, after in zip(old.topics, new.topics, strict=True):
        held = {"retention.ms": "-1", "retention.bytes": "-1"}
        assert {key: value for key, value in after.configs.items() if held.get(key) != value} == {
            key: value for key, value in before.configs.items() if held.get(key) != value
        }
        for one, other in zip(before.partitions, after.partitions, strict=True):
            assert other.replicas == other.isr == [1] and other.leader is None
            assert other.leader_epoch >= one.leader_epoch
            assert other.directories == [UUID("6b6f6465-632d-6469-7265-63746f727931")]
    assert new.configs["group", "orders-shared"] == old.configs["group", "orders-shared"]
    assert new.features["metadata.version"] == 30
    assert new.next_producer_id is not None and old.next_producer_id is not None
    assert new.next_producer_id >= old.next_producer_id
    marker = read_clean_shutdown(broker / ".kafka_cleanshutdown")
    assert [(each.id, each.epoch, each.fenced) for each in new.brokers] == [(1, marker.broker_epoch, True)]
    here, there = kodec.operations.read_groups(LOGS), kodec.operations.read_groups(broker)
    assert [(each.group, each.topic, each.offset, each.metadata) for each in there.offsets] == [
        (each.group, each.topic, each.offset, each.metadata) for each in here.offsets
    ]
    assert read_offsets(broker / "replication-offset-checkpoint")[kodec.TopicPartition("orders", 0)] == 421
    assert sorted(path.name for path in broker.iterdir() if path.name.startswith("kodec")) == []


def test_what_the_verb_says_and_does(broker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rebuild", "--from", str(LOGS), "--to", str(broker)]
    assert main(words) == 1
    assert "retention" in (said := capsys.readouterr().err) and "--hold-retention keeps them" in said
    assert main([*words, "--hold-retention"]) == 3
    assert "nothing is written without --apply" in capsys.readouterr().out
    assert not (broker / "orders-0").exists()
    assert main([*words, "--hold-retention", "--topic", "orders", "--json", "--apply"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found.pop() == {"clusterId": CLUSTER, "carried": CARRIED}
    (orders,) = [each for each in found if (each["topic"], each["partition"]) == ("orders", 0)]
    assert (orders["endOffset"], orders["replicas"], orders["applied"]) == (421, [1], True)
    assert main([*words, "--hold-retention"]) == 1
    assert "the cluster has this topic already" in capsys.readouterr().err
    assert main([*words, "--topic", "nobody"]) == 2
    assert "no source has the topic nobody" in capsys.readouterr().err
    assert main(["rebuild", "--from", str(LOGS), "--to", "nowhere"]) == 2
    assert main([*words, "--allow-expired", "--hold-retention"]) == 2


# -- several brokers, several sources -------------------------------------------------------------


def test_three_brokers_get_replicas_in_turn(tmp_path: Path) -> None:
    roots = [formatted(tmp_path / f"broker-{node}", node, voters=False) for node in (1, 2, 3)]
    with pytest.raises(ValueError, match="name the metadata log directory of each"):
        planned(LOGS, *roots)
    plan = planned(LOGS, *roots, controllers=[roots[0]], topics=["orders"])
    assert plan.problems == []
    assert [each.partitions[0].replicas for each in plan.topics if each.name == "orders"] == [[1]]
    plan.apply()
    found = [kodec.LogDirectory(root).topic_partitions for root in roots]
    names = sorted(str(each) for one in found for each in one if each.topic == "orders")
    assert names == ["orders-0", "orders-1", "orders-2"]
    assert [(root / "__cluster_metadata-0").is_dir() for root in roots] == [True, False, False]
    brokers = kodec.operations.read_metadata(roots[0]).brokers
    epochs = [read_clean_shutdown(root / ".kafka_cleanshutdown").broker_epoch for root in roots]
    assert [each.epoch for each in brokers] == epochs


def test_replicas_of_a_topic_are_equal(tmp_path: Path) -> None:
    """Without metadata a topic has as many as there are brokers, up to 3."""
    source = tmp_path / "source"
    shutil.copytree(LOGS / "orders-0", source / "orders-0")
    roots = [formatted(tmp_path / f"broker-{node}", node, voters=False) for node in (1, 2, 3)]
    plan = planned(source, *roots, controllers=[roots[1]])
    assert any("no source has the cluster's metadata" in note for note in plan.notes)
    plan.apply()
    for root in roots:
        assert sorted(path.name for path in (root / "orders-0").iterdir()) == sorted(
            path.name for path in (roots[0] / "orders-0").iterdir()
        )
        assert list(kodec.PartitionLog(root / "orders-0").records()) == list(
            kodec.PartitionLog(LOGS / "orders-0").records()
        )
    topic = kodec.operations.read_metadata(roots[1]).topic("orders")
    assert topic is not None and topic.partitions[0].isr == [1, 2, 3]
    known = kodec.PartitionLog(LOGS / "orders-0").metadata()
    assert known is not None and topic.topic_id == known.topic_id


def test_log_directories_of_one_broker_share_its_partitions(tmp_path: Path) -> None:
    one = formatted(tmp_path / "one")
    two = tmp_path / "two"
    two.mkdir()
    write_meta_properties(two / "meta.properties", cluster_id=CLUSTER, node_id=1, directory_id=IDS[1])
    with pytest.raises(ValueError, match="given as those of several"):
        planned(LOGS, one, two)
    plan = planned(LOGS, [one, two])
    plan.apply()
    for root in (one, two):
        assert (root / "orders-0").exists() != (root / "orders-1").exists()
        assert read_clean_shutdown(root / ".kafka_cleanshutdown").broker_epoch == 6
    topic = kodec.operations.read_metadata(one).topic("orders")
    assert topic is not None
    for each in topic.partitions:
        (directory,) = each.directories
        place = {b"kodec-directory1": one, b"kodec-directory2": two}[directory.bytes]
        assert (place / f"orders-{each.partition}").is_dir()


def test_all_log_directories_of_all_brokers_are_used(tmp_path: Path) -> None:
    brokers = []
    for node in (1, 2):
        roots = [formatted(tmp_path / f"{node}-a", node, voters=False), tmp_path / f"{node}-b"]
        roots[1].mkdir()
        write_meta_properties(
            roots[1] / "meta.properties",
            cluster_id=CLUSTER,
            node_id=node,
            directory_id=f"{IDS[2][:-1]}{'AQ'[node - 1]}",
        )
        brokers.append(roots)
    planned(LOGS, *brokers, controllers=[brokers[0][0]]).apply()
    counts = [len(kodec.LogDirectory(root).topic_partitions) for roots in brokers for root in roots]
    assert max(counts) - min(counts) <= 2 and sum(counts) == len(kodec.LogDirectory(LOGS).topic_partitions)


def test_wrecked_disks_are_merged(broker: Path, tmp_path: Path) -> None:
    disks = [shutil.copytree(LOGS, tmp_path / name) for name in ("one", "two")]
    for disk, at in zip(disks, (1000, 5000), strict=True):
        path = disk / "orders-0" / f"{0:020}.log"
        data = bytearray(path.read_bytes())
        data[at : at + 100] = bytes(100)
        path.write_bytes(data)
    plan = planned(disks, broker)
    assert plan.problems == []
    plan.apply()
    same(broker)
    alone = planned(disks[0], formatted(tmp_path / "other"))
    assert any("orders-0: missing" in each and "--allow-missing" in each for each in alone.problems)
    assert planned(disks[0], tmp_path / "other", allow_missing=True).problems == []


def test_remote_storage_comes_back_as_segments(broker: Path, tmp_path: Path) -> None:
    tiers = [path for path in TIER.rglob("*") if path.is_dir() and kodec_tier(path)]
    assert tiers
    plan = planned(tiers[:1], broker, allow_missing=True)
    assert plan.problems == []
    plan.apply()
    for each in plan.partitions:
        if each.sources:
            assert kodec.PartitionLog(broker / str(each.topic_partition)).end_offset == each.end_offset > 0


def kodec_tier(path: Path) -> bool:
    from kodec.log.remote.names import tiered_folders

    return path.name == "remote" or bool(tiered_folders(path))


# -- a cluster with topics ------------------------------------------------------------------------


def stopped(root: Path) -> Path:
    """The log directory of a broker that was shut down."""
    shutil.copytree(LOGS, root)
    (broker,) = kodec.operations.read_metadata(root).brokers
    assert broker.epoch is not None
    write_clean_shutdown(root / ".kafka_cleanshutdown", broker.epoch)
    return root


def test_a_cluster_that_has_topics_gets_others_and_groups(tmp_path: Path, golden: Golden) -> None:
    broker = stopped(tmp_path / "broker")
    source = shutil.copytree(LOGS, tmp_path / "source")
    # a topic and a group that the cluster does not have
    plan = planned(LOGS, broker)
    assert len(plan.problems) == 20
    golden(plan.problems[0])
    renamed(source, "orders", "wares", UUID(int=77))
    plan = planned(source, broker, topics=["wares"])
    assert plan.problems == [] and not plan.is_new
    assert sum(map(len, plan.groups.values())) == 0
    before = kodec.operations.read_metadata(broker)
    kept = plan.apply().kept
    after = kodec.operations.read_metadata(broker)
    assert after.epoch == before.epoch and after.end_offset == before.end_offset + 1 + 3 + 1
    assert {each.name for each in after.topics} == {each.name for each in before.topics} | {"wares"}
    assert {path.parent.name for path in kept} == {"__cluster_metadata-0"}
    same(broker)
    for partition in range(3):
        assert list(kodec.PartitionLog(broker / f"wares-{partition}").records()) == list(
            kodec.PartitionLog(LOGS / f"orders-{partition}").records()
        )
    assert (broker / ".kafka_cleanshutdown").exists()
    (broker / ".kafka_cleanshutdown").unlink()
    golden(planned(source, broker, topics=["wares"]).problems[0])


def renamed(root: Path, old: str, new: str, topic_id: UUID) -> None:
    """Make a topic another one: its folders, its records in the metadata, and the commits for it."""
    import kodec.log.rebuild.records as records

    for path in sorted(root.glob(f"{old}-[0-9]")):
        made = path.rename(root / path.name.replace(old, new))
        (made / "partition.metadata").unlink()
        with kodec.LogWriter(made, topic_id=topic_id):
            pass
    topic = records.NewTopic(
        new,
        topic_id,
        {"retention.ms": "-1"},
        [records.NewPartition(each, 0, [1], [None]) for each in range(3)],
    )
    values = list(records.topic_records([topic], 30))
    for path in (root / "__cluster_metadata-0").glob("*-0000000001.checkpoint"):
        path.unlink()
    with kodec.LogWriter(root / "__cluster_metadata-0") as log:
        log.append([kodec.Record(value=value, timestamp=1) for value in values])


def test_offsets_are_committed_in_a_cluster_that_has_none_of_the_group(
    tmp_path: Path, golden: Golden
) -> None:
    broker = stopped(tmp_path / "broker")
    source = shutil.copytree(LOGS, tmp_path / "source")
    renamed(source, "orders", "wares", UUID(int=77))
    from kodec.log.rebuild import planning

    found = kodec.operations.read_groups(LOGS).offsets[0]
    commit = kodec.runtime.dataclass.replace(found, group="shop", topic="wares", partition=1, offset=33)  # type: ignore[attr-defined]
    known = kodec.runtime.dataclass.replace(commit, group="orders-classic")  # type: ignore[attr-defined]
    with kodec.LogWriter(source / "__consumer_offsets-0") as log:
        log.append([planning._commit(each, NOW) for each in (commit, known)])
    plan = planned(source, broker, topics=["wares"])
    golden(plan.notes)
    assert plan.groups == {0: [("shop", "wares", 1, 33)]}
    kept = plan.apply().kept
    assert {path.parent.name for path in kept} == {"__cluster_metadata-0", "__consumer_offsets-0"}
    there = kodec.operations.read_groups(broker, groups=["shop"]).offsets
    assert [(each.topic, each.partition, each.offset) for each in there] == [("wares", 1, 33)]
    assert len(kodec.operations.read_groups(broker).offsets) == 17


@pytest.mark.parametrize(
    ("group", "count", "partition"),
    # as org.apache.kafka.common.utils.Utils.abs("...".hashCode()) % count
    [
        ("", 50, 0),
        ("a", 50, 47),
        ("polygenelubricants", 50, 0),
        ("orders-classic", 1, 0),
        ("réglé ✓", 50, None),
    ],
)
def test_the_partition_of_a_group(group: str, count: int, partition: int | None) -> None:
    found = group_partition(group, count)
    assert 0 <= found < count and partition in (None, found)


def test_controllers_whose_logs_differ(tmp_path: Path) -> None:
    """The shorter log gets what it lacks, if it is a beginning of the longer one."""
    one = stopped(tmp_path / "one")
    two = tmp_path / "two"
    shutil.copytree(one / "__cluster_metadata-0", two / "__cluster_metadata-0")
    old = kodec.operations.read_metadata(one)
    write_meta_properties(
        two / "meta.properties", cluster_id="a29kZWMtcmVhbC1sb2dzMQ", node_id=2, directory_id=IDS[1]
    )
    with kodec.LogWriter(one / "__cluster_metadata-0", leader_epoch=5) as log:
        value = next(kodec.PartitionLog(LOGS / "__cluster_metadata-0").records(old.end_offset - 1)).value
        log.append([kodec.Record(value=value, timestamp=1)])
    source = shutil.copytree(LOGS, tmp_path / "source")
    renamed(source, "orders", "wares", UUID(int=77))
    del old
    plan = planned(source, one, controllers=[two], topics=["wares"])
    target = plan._target
    target.controllers[:] = [one, two]
    ends = [kodec.PartitionLog(root / "__cluster_metadata-0").end_offset for root in (one, two)]
    assert ends[0] == ends[1] + 1
    for name in ("one", "two"):
        (tmp_path / name / plans.FENCE).mkdir()
    records = [kodec.Record(value=each, timestamp=1) for each in plan._records]
    plan._extend("__cluster_metadata-0", [one, two], records)
    logs = [kodec.PartitionLog(root / "__cluster_metadata-0") for root in (one, two)]
    assert list(logs[0].records(control=True)) == list(logs[1].records(control=True))
    assert logs[0].leader_epochs() == logs[1].leader_epochs()
    assert logs[0].end_offset == ends[0] + len(records)


# -- refusals -------------------------------------------------------------------------------------


def test_refusals(broker: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no meta\.properties of a KRaft cluster"):
        planned(LOGS, tmp_path)
    other = formatted(tmp_path / "other", 2, voters=False, cluster="b3RoZXItY2x1c3Rlci0wMQ")
    with pytest.raises(ValueError, match="belong to several clusters"):
        planned(LOGS, broker, other)
    second = formatted(tmp_path / "second", 2, voters=False)
    with pytest.raises(ValueError, match="the controllers 1 vote, and their log directories are not given"):
        planned(LOGS, second, controllers=[]) if not _copy_voters(second) else None
    with pytest.raises(ValueError, match="give the log directories of a broker"):
        planned(LOGS)
    with pytest.raises(ValueError, match="contains the source"):
        planned(broker_with_logs(tmp_path), tmp_path / "with logs")
    (broker / "orders-0").mkdir()
    assert planned(LOGS, broker).problems == [f"{broker / 'orders-0'} exists already"]


def _copy_voters(root: Path) -> bool:
    (root / VOTERS.parent).mkdir()
    shutil.copy(LOGS / VOTERS, root / VOTERS)
    return False


def broker_with_logs(tmp_path: Path) -> Path:
    root = formatted(tmp_path / "with logs")
    shutil.copytree(LOGS / "orders-0", root / "orders-0")
    return root


def test_a_running_broker_and_changed_sources(broker: Path, tmp_path: Path) -> None:
    source = shutil.copytree(LOGS, tmp_path / "source")
    plan = planned(source, broker)
    import subprocess
    import sys

    held = (
        "import sys; from kodec.log.files.lock import locked\n"
        "with locked(sys.argv[1]): print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", held, str(broker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(BlockingIOError):
            plan.apply()
        process.communicate(b"\n")
    assert not (broker / plans.FENCE).exists()
    with kodec.LogWriter(source / "orders-0") as log:
        log.append([kodec.Record(value=b"later", timestamp=1)])
    with pytest.raises(StalePlan):
        plan.apply()
    assert not (broker / plans.FENCE).exists() and not (broker / "orders-0").exists()

    def stop(_: object) -> None:
        raise Killed

    with pytest.raises(Killed):
        planned(source, broker).apply(on_step=stop)
    assert (broker / plans.FENCE).is_dir()
    with kodec.LogWriter(source / "orders-0") as log:
        log.append([kodec.Record(value=b"still later", timestamp=1)])
    assert [each for each in planned(source, broker).problems if "another rebuild has not finished" in each]


# -- kills ----------------------------------------------------------------------------------------


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_kill_at_each_step_leaves_a_mark_and_the_same_plan_finishes(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    for name in ("records-deleted-0", "__consumer_offsets-0"):
        shutil.copytree(LOGS / name, source / name)
    for name in ("log-start-offset-checkpoint", "cleaner-offset-checkpoint"):
        shutil.copy(LOGS / name, source)
    expected: set[str] | None = None
    number = 1 - step
    while True:
        number += step
        root = tmp_path / f"kill-{number}"
        roots = [formatted(root / str(node), node, voters=False) for node in (1, 2)]

        def plan(roots: list[Path] = roots) -> Any:
            return planned(source, *roots, controllers=roots, allow_missing=True)

        left = [number]

        def dies(call: Callable[..., Any], left: list[int] = left) -> Callable[..., Any]:
            def counted(*words: Any, **options: Any) -> Any:
                left[0] -= 1
                if left[0] <= 0:
                    raise Killed
                return call(*words, **options)

            return counted

        with monkeypatch.context() as patch:
            for name in ("_own", "_copy", "sync_folder", "write_offsets", "write_clean_shutdown", "exchange"):
                patch.setattr(plans, name, dies(getattr(plans, name)))
            patch.setattr(Path, "rename", dies(Path.rename))
            try:
                plan().apply()
            except Killed:
                pass
            else:
                break
        marks = [(each / plans.FENCE).is_dir() for each in roots]
        # the last step takes them away, one by one
        done = [(each / "__cluster_metadata-0").is_dir() for each in roots]
        assert (
            any(marks)
            or not any(path.name.startswith("records") for each in roots for path in each.iterdir())
            or all(done)
        )
        again = plan()
        if any(marks):
            assert again.problems == []
            again.apply()
        elif not all(done):
            again.apply()
        for each in roots:
            assert not (each / plans.FENCE).exists()
            assert [one for one in kodec.repair.verify(each) if not one.note] == []
            same(each, source)
        metadata = [kodec.operations.read_metadata(each) for each in roots]
        assert metadata[0].topics == metadata[1].topics and len(metadata[0].topics) == 2
        ends = [kodec.PartitionLog(each / "__cluster_metadata-0").end_offset for each in roots]
        assert ends[0] == ends[1]
        files = {
            f"{path.relative_to(roots[0])}"
            for path in roots[0].rglob("*")
            if path.is_file() and "-delete" not in str(path)
        }
        expected = expected or files
        assert files == expected
        shutil.rmtree(root)
    assert number > 40


def test_another_rebuild_is_not_taken_for_the_unfinished_one(
    broker: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(plans.RebuildPlan, "_checkpoints", dies)
        with pytest.raises(Killed):
            planned(LOGS, broker, topics=["orders"]).apply()
    golden(planned(LOGS, broker, topics=["empty"]).problems[-1])
    plan = planned(LOGS, broker, topics=["orders"])
    assert plan.problems == []
    plan.apply()
    same(broker, topics={"orders"})


def test_the_lock_of_a_log_directory_is_free_afterwards(broker: Path) -> None:
    planned(LOGS, broker, topics=["empty"]).apply()
    with locked(broker):
        pass


@pytest.mark.parametrize(("epochs", "expected"), [("0 0\n4 30", True), ("0 0\n4 20", False)])
def test_a_leader_that_wrote_nothing_makes_no_other_log(epochs: str, expected: bool, tmp_path: Path) -> None:
    """Brokers that stop one after another leave such epochs."""
    folders = [tmp_path / name / "topic-0" for name in ("long", "short")]
    for folder in folders:
        folder.parent.mkdir()
        with kodec.LogWriter(folder) as log:
            log.append([kodec.Record(value=b"v", timestamp=1)] * 30)
    (folders[0] / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n5 30\n")
    (folders[1] / "leader-epoch-checkpoint").write_text(f"0\n2\n{epochs}\n")
    assert follows(*folders) is expected
