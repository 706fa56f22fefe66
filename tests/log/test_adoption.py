"""Logs that were written without a broker, given to one: what is written, and what is refused."""

import json
import os
import shutil
from pathlib import Path
from uuid import UUID

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.adoption import adopt
from kodec.log.adoption.adopt import plan_adoption
from kodec.log.views.metadata import read_metadata
from kodec.log.writing.addition import staging_folder

LOGS = Path(__file__).parents[1] / "data" / "kafka-4.3.1" / "logs"
NOW = 1_700_000_000_000


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    """A stopped broker with the metadata of a real one, and its topics `orders` and `empty`, empty."""
    root = tmp_path / "broker"
    shutil.copytree(LOGS / "__cluster_metadata-0", root / "__cluster_metadata-0")
    shutil.copy(LOGS / "meta.properties", root)
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    for name in ("orders-0", "orders-1", "empty-0"):
        (root / name).mkdir()
        shutil.copy(LOGS / name / "partition.metadata", root / name)
        (root / name / f"{0:020d}.log").touch()
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (root / name).write_text("0\n2\norders 0 0\nother 0 7\n")
    return root


@pytest.fixture
def written(tmp_path: Path) -> Path:
    root = tmp_path / "written"
    with kodec.LogDirectoryWriter(root) as directory:
        for number in (0, 1):
            log = directory.partition("orders", number, start_offset=100, topic_id=UUID(int=9))
            log.append([kodec.Record(value=b"%d" % n, timestamp=NOW + n) for n in range(50)])
    (root / "log-start-offset-checkpoint").write_text("0\n1\norders 0 120\n")
    return root


def records(root: Path) -> list[kodec.Record]:
    return list(kodec.LogDirectory(root).partition("orders", 0).records())


def test_a_log_gets_the_id_of_the_cluster_and_takes_the_place_of_the_empty_one(
    broker: Path, written: Path
) -> None:
    wanted = records(written)
    before = {path: path.read_bytes() for path in written.rglob("*") if path.is_file()}
    plan = plan_adoption(written, broker, now=NOW)
    assert plan.problems == [] and [each.expired for each in plan.partitions] == [0, 0]
    plan.apply()
    topic = read_metadata(LOGS).topic("orders")
    assert topic is not None
    for number in (0, 1):
        found = kodec.PartitionLog(broker / f"orders-{number}").metadata()
        assert found is not None and found.topic_id == topic.topic_id
    assert records(broker) == wanted and wanted[0].offset == 120
    assert list(kodec.verify(broker / "orders-0")) == []
    assert not (broker / ".kafka_cleanshutdown").exists()
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        assert (broker / name).read_text() == "0\n1\nother 0 7\n"
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(path.name for path in broker.iterdir() if path.is_dir()) == [
        "__cluster_metadata-0", "empty-0", "orders-0", "orders-1",
    ]  # fmt: skip


def test_what_retention_would_delete_is_said_before(
    broker: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = NOW + 8 * 86_400_000
    # The topic has retention.ms=-1 in the cluster.
    (each, _) = plan_adoption(written, broker, now=late).partitions
    assert (each.expired, each.retention_ms, each.own_retention) == (0, None, True)
    assert each.topic_id is not None
    shutil.rmtree(broker / "__cluster_metadata-0")
    ids = {"orders": each.topic_id}
    (each, _) = plan_adoption(written, broker, topic_ids=ids, now=late).partitions
    assert (each.expired, each.expired_bytes, each.retention_ms) == (1, each.bytes, 604_800_000)
    assert plan_adoption(written, broker, topic_ids=ids, now=late, retention_ms=-1).partitions[0].expired == 0
    shown = (broker / "orders-0" / "partition.metadata").read_text().rpartition(" ")[2]
    words = ["adopt", str(written), "--into", str(broker), "--topic-id", f"orders={shown}"]
    assert main(words) == 3
    out = capsys.readouterr().out
    assert "retention.ms is 604800000" in out and "1 of 1 segment" in out and "retention.ms=-1" in out
    assert main([*words, "--apply"]) == 1
    assert "change it first" in capsys.readouterr().err
    assert len(list((broker / "orders-0").glob("*.index"))) == 0
    assert main([*words, "--apply", "--allow-expired", "--json"]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert row["expiredSegments"] == 1 and len(row["topicId"]) == 22
    assert len(records(broker)) == 30


def test_what_a_broker_would_not_serve_is_refused(
    broker: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("nowhere-0", "orders-7", "empty-0"):
        shutil.copytree(written / "orders-0", written / name)
    (written / "empty-0" / "leader-epoch-checkpoint").write_text("0\n1\n99 100\n")
    shutil.copy(LOGS / "orders-1" / f"{0:020d}.log", broker / "orders-1")
    problems = plan_adoption(written, broker, topic_ids={"orders": UUID(int=5)}, now=NOW).problems
    text = "\n".join(problems)
    for wanted in (
        "nowhere-0: the topic is not in the cluster's metadata: let the cluster create it",
        "orders-7: the topic has 3 partitions in the cluster",
        "orders-1: the broker's log is not empty: it ends at offset",
        "empty-0: its newest leader epoch is 99, and the cluster's",
        "orders-0: its id is",
    ):
        assert wanted in text
    assert main(["adopt", str(written), "--into", str(broker), "--apply"]) == 1
    assert "nowhere-0" in capsys.readouterr().err
    properties = (broker / "meta.properties").read_text()
    (broker / "meta.properties").write_text(properties.replace("node.id=1", "node.id=2"))
    text = "\n".join(plan_adoption(written, broker, topics=["orders"], now=NOW).problems)
    assert "orders-0: its replicas are on 1, and this broker is 2" in text


def test_ids_can_be_given_where_there_is_no_metadata(
    broker: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(broker / "__cluster_metadata-0")
    words = ["adopt", str(written), "--into", str(broker), "--retention-ms", "-1"]
    assert main(words) == 1
    assert "has no known id" in capsys.readouterr().err
    shown = (LOGS / "orders-0" / "partition.metadata").read_text().rpartition(" ")[2]
    assert main([*words, "--topic-id", f"orders={shown}", "--apply"]) == 0
    assert (broker / "orders-0" / "partition.metadata").read_text().endswith(shown)
    assert main([*words, "--topic-id", "orders=short"]) == 2
    assert main([*words, "--topic", "lost"]) == 1
    with pytest.raises(ValueError, match=r"no meta\.properties of a broker"):
        plan_adoption(broker, written)


def test_in_place_only_ids_and_checkpoints_are_set(broker: Path, written: Path) -> None:
    shutil.rmtree(broker / "orders-0")
    shutil.copytree(written / "orders-0", broker / "orders-0")
    wanted = (broker / "orders-0" / f"{100:020d}.log").read_bytes()
    shutil.rmtree(broker / "orders-1")
    plan = plan_adoption(broker, broker, topics=["orders"], now=NOW)
    plan.apply()
    metadata = kodec.PartitionLog(broker / "orders-0").metadata()
    assert metadata is not None and metadata.topic_id != UUID(int=9)
    assert (broker / "orders-0" / f"{100:020d}.log").read_bytes() == wanted


def test_files_belong_to_whom_the_brokers_directory_belongs(broker: Path, written: Path) -> None:
    broker.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(broker, 4_000, 4_001)
    like = broker.stat()
    plan_adoption(written, broker, now=NOW).apply()
    for path in (broker / "orders-0", *(broker / "orders-0").iterdir()):
        found = path.stat()
        assert (found.st_uid, found.st_gid) == (like.st_uid, like.st_gid)
        assert found.st_mode & 0o777 == (0o751 if path.is_dir() else 0o640)


def test_links_in_the_source_are_refused(broker: Path, written: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"of root alone")
    (written / "orders-1" / f"{7:020d}.snapshot").symlink_to(secret)
    plan = plan_adoption(written, broker, now=NOW)
    assert [text for text in plan.problems if "orders-1: " in text and "is a symbolic link" in text]
    with pytest.raises(ValueError, match="is a symbolic link"):
        plan.apply()
    # One that comes between the plan and the copy.
    plan.partitions[1].problems.clear()
    with pytest.raises(ValueError, match="is a symbolic link"):
        plan.apply()
    for path in (broker / "orders-1").iterdir():
        assert path.read_bytes() != b"of root alone"


def test_the_broker_looks_at_the_logs_whatever_ends_the_adoption(
    broker: Path, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_adoption(written, broker, now=NOW)
    first = plan.partitions[0].target

    def stopping(path: Path, topic_id: UUID) -> None:
        if first.joinpath(f"{100:020d}.log").exists():
            raise KeyboardInterrupt
        write(path, topic_id)

    write = adopt.write_partition_metadata
    monkeypatch.setattr(adopt, "write_partition_metadata", stopping)
    with pytest.raises(KeyboardInterrupt):
        plan.apply()
    assert len(records(broker)) == 30
    assert not (broker / ".kafka_cleanshutdown").exists()


def test_a_source_in_use_is_refused(broker: Path, written: Path) -> None:
    plan = plan_adoption(written, broker, now=NOW)
    with kodec.LogDirectoryWriter(written) as directory:
        directory.partition("orders", 0)
        with pytest.raises(BlockingIOError, match="in use"):
            plan.apply()
    assert (broker / ".kafka_cleanshutdown").exists()


def test_a_dry_run_leaves_an_interrupted_addition_as_it_is(
    broker: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    staging = staging_folder(written, "q")
    staging.mkdir()
    (written / "orders-1" / f"{100:020d}.log").rename(staging / f"{0:020d}.log")
    move = [f"../{staging.name}/{0:020d}.log", f"orders-1/{100:020d}.log"]
    journal = {"version": 1, "batches": {}, "moves": [move]}
    (written / "kodec-sink.json").write_text(json.dumps(journal))
    with pytest.raises(ValueError, match="not in place: finish that first"):
        plan_adoption(written, broker, now=NOW)
    command = ["adopt", str(written), "--into", str(broker), "--allow-expired"]
    assert main(command) == 1
    assert "not in place" in capsys.readouterr().err
    assert (staging / f"{0:020d}.log").exists()
    assert main([*command, "--apply"]) == 0
    assert len(list(kodec.LogDirectory(broker).partition("orders", 1).records())) == 50


def test_where_there_is_nothing_to_adopt_nothing_is_said_to_be_done(
    broker: Path, written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for source in (tmp_path / "empty", written / "orders-0"):
        for apply in ([], ["--apply"]):
            assert main(["adopt", str(source), "--into", str(broker), *apply]) == 2
            said = capsys.readouterr()
            assert "has no folder named like orders-0" in said.err and said.out == ""
    # What is refused is said once.
    (broker / "orders-0" / f"{0:020d}.log").write_bytes(kodec.encode([kodec.Record(value=b"v", timestamp=1)]))
    assert main(["adopt", str(written), "--into", str(broker), "--allow-expired", "--apply"]) == 1
    said = capsys.readouterr()
    assert said.err.count("is not empty") == 1
    assert not {"done", "nothing is written without --apply"} & set(said.out.splitlines())


@pytest.mark.parametrize("above", [0, 1])
def test_a_leader_epoch_up_to_the_clusters_is_taken(tmp_path: Path, broker: Path, above: int) -> None:
    """The cluster's next leader has a higher one; a log that is ahead would be taken for diverged."""
    topic = read_metadata(broker).topic("orders")
    assert topic is not None
    epoch = topic.partitions[0].leader_epoch + above
    with kodec.LogDirectoryWriter(tmp_path / "made") as directory:
        directory.partition("orders", 0, leader_epoch=epoch).append([kodec.Record(value=b"v", timestamp=NOW)])
    problems = plan_adoption(tmp_path / "made", broker, now=NOW).problems
    wanted = f"its newest leader epoch is {epoch}, and the cluster's {epoch - 1}"
    assert [wanted in each for each in problems] == [True] * above
