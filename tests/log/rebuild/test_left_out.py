"""What the sources lack, what of them cannot be read, and what brokers would delete: refused, or said."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import ReadFailed
from kodec.log.files.checkpoints import write_offsets
from kodec.log.rebuild.records import config
from kodec.operations import plan_backup, plan_rebuild
from tests.golden import Golden

OF_KAFKA = Path("tests/data/kafka-4.3.1/logs")
OF_4_4 = Path("tests/data/formatted-4.4.0")
VOTERS = Path("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint")
MIDDLE = f"{10:020}.log"
WEEK, NOW = 7 * 86_400_000, 1_800_000_000_000


def formatted(root: Path) -> Path:
    """A log directory as `kafka-storage.sh format` of Kafka 4.3 makes it."""
    (root / VOTERS.parent).mkdir(parents=True)
    for name in ("meta.properties", "bootstrap.checkpoint", str(VOTERS)):
        shutil.copy(OF_KAFKA / name, root / name)
    return root


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    return formatted(tmp_path / "broker")


def made(folder: Path, *starts: int, end: int = 30, timestamp: int = NOW, count: int = 10) -> None:
    """A log of segments that begin at `starts`, each of ten records."""
    folder.parent.mkdir(exist_ok=True)
    with kodec.LogWriter(folder) as writer:
        for start in starts or range(0, end, 10):
            if start:
                writer.roll()
            values = [b"%d " % number + bytes(100) for number in range(start, start + count)]
            writer.append([kodec.Record(value=value, timestamp=timestamp) for value in values])


@pytest.fixture
def two_topics(tmp_path: Path) -> Path:
    made(tmp_path / "logs" / "orders-0")
    made(tmp_path / "logs" / "sound-0")
    return tmp_path / "logs"


def planned(source: Any, broker: Path, **options: Any) -> Any:
    return plan_rebuild(source, [broker], **{"now": NOW} | options)


# -- Kafka 4.4 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quorum", ["dynamic", "static"])
def test_a_cluster_that_kafka_4_4_has_formatted(quorum: str, tmp_path: Path, two_topics: Path) -> None:
    """Its first records are in the first snapshot of the metadata log, and in no file of their own."""
    root = shutil.copytree(OF_4_4 / quorum, tmp_path / "broker")
    if quorum == "static":
        with pytest.raises(ValueError, match=r"name the metadata log directory of each \(--controller\)"):
            planned(two_topics, root)
    controllers = [root] if quorum == "static" else []
    plan = planned(two_topics, root, controllers=controllers)
    assert plan.problems == []
    plan.apply()
    there = kodec.operations.read_metadata(root)
    assert there.features["metadata.version"] == 33 and there.features["transaction.version"] == 2
    assert [each.name for each in there.topics] == ["orders", "sound"] and there.omissions.is_whole
    assert len(list(kodec.PartitionLog(root / "orders-0").records())) == 30
    (root / VOTERS).unlink()
    (root / VOTERS).parent.rename(root / "elsewhere")
    with pytest.raises(
        ValueError, match=r"has neither bootstrap\.checkpoint nor|which nodes are controllers"
    ):
        planned(two_topics, root)


# -- retention --------------------------------------------------------------------------------------------


def with_config(two_topics: Path, *settings: tuple[str, str]) -> None:
    """Metadata with dynamic settings of all brokers."""
    from kodec.log.rebuild.records import NewPartition, NewTopic, topic_records

    values: list[bytes] = []
    topics = [
        NewTopic(name, UUID(int=number), {}, [NewPartition(0, 0, [1], [None])])
        for number, name in enumerate(("orders", "sound"), 7)
    ]
    values += [config(4, "", name, value) for name, value in settings]
    values += topic_records(topics, 30)
    with kodec.LogWriter(two_topics / "__cluster_metadata-0") as log:
        log.append([kodec.Record(value=value, timestamp=NOW) for value in values])


@pytest.mark.parametrize(
    ("settings", "options", "age", "expired"),
    [
        ([], {}, WEEK + 1, 3),
        ([], {}, WEEK, 0),
        ([], {"retention_ms": WEEK - 1}, WEEK, 3),
        ([], {"retention_ms": -1}, WEEK + 1, 0),
        # the new cluster gets the old one's dynamic settings, whatever the file of its brokers says
        ([("log.retention.ms", "1000")], {}, 1001, 3),
        ([("log.retention.ms", "1000")], {"retention_ms": -1}, 1001, 3),
        ([("log.retention.ms", "-1")], {}, WEEK + 1, 0),
        ([("log.retention.bytes", "1500")], {}, 0, 1),
        ([("log.retention.bytes", "999999")], {}, 0, 0),
        ([("log.retention.ms", "many")], {}, WEEK + 1, 3),
    ],
)
def test_retention_is_that_of_the_new_cluster(
    settings: list[tuple[str, str]],
    options: dict[str, int],
    age: int,
    expired: int,
    broker: Path,
    tmp_path: Path,
) -> None:
    logs = tmp_path / "logs"
    for topic in ("orders", "sound"):
        made(logs / f"{topic}-0", timestamp=NOW - age)
    if settings:
        with_config(logs, *settings)
    plan = planned(logs, broker, **options)
    assert [each.expired for each in plan.partitions] == [expired, expired]
    assert any("retention" in each for each in plan.problems) == bool(expired)


def test_retention_is_judged_of_the_merged_log(broker: Path, tmp_path: Path) -> None:
    """Each source alone has nothing that retention deletes."""
    made(tmp_path / "one" / "orders-0", end=30, timestamp=NOW - 5 * WEEK)
    made(tmp_path / "two" / "orders-0", end=30, timestamp=NOW - 5 * WEEK)
    # the first source is new, and the second has the old records
    newer = tmp_path / "one" / "orders-0"
    shutil.rmtree(newer)
    made(newer, 30, end=40, timestamp=NOW, count=10)
    (newer / f"{0:020}.log").unlink(missing_ok=True)
    plan = planned([tmp_path / "one", tmp_path / "two"], broker, retention_ms=WEEK, allow_missing=True)
    assert [each.expired for each in plan.partitions] == [3]
    limited = planned([tmp_path / "two"], broker, retention_ms=-1)
    assert [each.expired for each in limited.partitions] == [0]


# -- what cannot be read ----------------------------------------------------------------------------------

Obstacle = Callable[[Path], object]


def link(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to("nowhere")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


OBSTACLES: dict[str, tuple[Obstacle, str]] = {
    "a folder is a link to nothing": (
        lambda two_topics: link(two_topics / "orders-0"),
        "orders-0 cannot be read",
    ),
    "a segment is a link to nothing": (
        lambda two_topics: link(two_topics / "orders-0" / MIDDLE),
        "offsets 10 to 19",
    ),
    "a segment is a pipe": (lambda two_topics: pipe(two_topics / "orders-0" / MIDDLE), "offsets 10 to 19"),
    "a segment is missing": (
        lambda two_topics: (two_topics / "orders-0" / MIDDLE).unlink(),
        "offsets 10 to 19",
    ),
    "a segment is empty": (
        lambda two_topics: (two_topics / "orders-0" / MIDDLE).write_bytes(b""),
        "offsets 10 to 19",
    ),
    "a segment is torn": (
        lambda two_topics: os.truncate(two_topics / "orders-0" / MIDDLE, 500),
        "offsets 10 to 19",
    ),
    "the end is below a checkpoint": (
        lambda two_topics: write_offsets(
            two_topics / "replication-offset-checkpoint", {kodec.TopicPartition("orders", 0): 99}
        ),
        "offsets 30 to 98: the sources end before, and a checkpoint of theirs has them",
    ),
    "a checkpoint is torn": (
        lambda two_topics: (two_topics / "log-start-offset-checkpoint").write_bytes(b"0\n4\n"),
        "log-start-offset-checkpoint",
    ),
    "a folder of a strange name": (
        lambda two_topics: shutil.copytree(two_topics / "orders-0", two_topics / "orders-x"),
        "orders-x: not read: it holds 3 segments",
    ),
    "the topic id is torn": (
        lambda two_topics: (two_topics / "orders-0" / "partition.metadata").write_bytes(b"version: 0\n"),
        "orders-0/partition.metadata",
    ),
}
SAID_ONLY = ("a folder of a strange name", "the topic id is torn")


@pytest.mark.parametrize("source", ["disk", "point"])
@pytest.mark.parametrize("cause", OBSTACLES)
def test_a_rebuild_refuses_or_says_what_it_cannot_read(
    cause: str, source: str, two_topics: Path, broker: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    put, text = OBSTACLES[cause]
    put(two_topics)
    path = str(two_topics)
    if source == "point":
        path = f"{tmp_path}/backup/points/{plan_backup(two_topics, tmp_path / 'backup').apply().point.name}"
    words = ["rebuild", "--from", path, "--to", str(broker), "--retention-ms", "-1"]
    assert main(words) == 1
    said = "".join(capfd.readouterr())
    assert text in said
    if cause == "a checkpoint is torn":
        # without it deleted records would come back: the copy must be recovered first
        assert main([*words, "--allow-missing", "--apply"]) == 1 and not (broker / "sound-0").exists()
        return
    if cause not in SAID_ONLY:
        assert "--allow-missing" in said
        assert main([*words, "--apply"]) == 1
        assert not (broker / "sound-0").exists()
        capfd.readouterr()
    # what is lost is said again, and the exit code is 1
    assert main([*words, "--allow-missing", "--apply", "--json"]) == 1
    out, err = capfd.readouterr()
    assert text in out + err and "Traceback" not in err
    assert len(list(kodec.PartitionLog(broker / "sound-0").records())) == 30
    assert json.loads(out.splitlines()[0])["topic"] == "orders"


def test_one_source_that_cannot_be_read_is_replaced_by_another(
    two_topics: Path, broker: Path, tmp_path: Path, golden: Golden
) -> None:
    other = shutil.copytree(two_topics, tmp_path / "other")
    link(two_topics / "orders-0")
    golden(planned([two_topics, other], broker).problems[0])
    plan = planned([two_topics, other], broker, allow_missing=True, retention_ms=-1)
    assert plan.problems == [] and not plan.omissions.is_whole
    plan.apply()
    assert len(list(kodec.PartitionLog(broker / "orders-0").records())) == 30


def test_a_disk_of_the_new_cluster_that_is_not_mounted(two_topics: Path, broker: Path) -> None:
    (broker / "orders-0").symlink_to("nowhere")
    assert f"{broker / 'orders-0'} exists already" in planned(two_topics, broker).problems
    shutil.rmtree(broker / "__cluster_metadata-0")
    (broker / "__cluster_metadata-0").symlink_to("nowhere")
    with pytest.raises(ReadFailed, match="which is not there"):
        planned(two_topics, broker)


def test_bytes_of_the_metadata_log_that_are_damaged(
    broker: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logs = shutil.copytree(OF_KAFKA, tmp_path / "logs")
    path = logs / "__cluster_metadata-0" / f"{0:020}.log"
    last = list(kodec.PartitionLog(logs / "__cluster_metadata-0").batches())[-1]
    data = bytearray(path.read_bytes())
    data[last.position + last.size - 1] ^= 1
    path.write_bytes(data)
    words = [
        "rebuild",
        "--from",
        str(logs),
        "--to",
        str(broker),
        "--hold-retention",
        "--topic",
        "orders",
    ]
    assert main(words) == 1
    err = capfd.readouterr().err
    assert (
        "the metadata cannot be read completely: " in err
        and "--metadata-offset takes the records before" in err
    )
    # the records after it are lost, which was accepted
    assert main([*words, "--metadata-offset", str(last.base_offset), "--apply"]) == 1
    out, err = capfd.readouterr()
    assert f"note: of the metadata only the records below offset {last.base_offset} are taken" in err
    # what else is carried over
    assert "2 configs, " in out
    assert len(kodec.operations.read_metadata(broker).topics) > 1


def test_a_bucket_alone_lacks_what_was_only_on_the_brokers(broker: Path) -> None:
    tier = Path("tests/data/tiered-4.3.1/tier")
    plan = planned(tier, broker, allow_missing=True, hold_retention=True)
    assert any("no source has what was only on the brokers' disks" in each for each in plan.notes)


def test_the_keys_of_remote_storage_can_be_given(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rebuild", "--help"]) == 0
    out = capfd.readouterr().out
    assert "--tier-key " in out and "--tier-key-command" in out and "--tier " not in out


# -- records deleted just before the end ---------------------------------------------------------------


@pytest.mark.parametrize("shown_by", ["the checkpoint", "the leader epochs", "another replica", "nothing"])
def test_deleted_records_stay_deleted(broker: Path, tmp_path: Path, shown_by: str) -> None:
    """A broker has deleted the records below 13, in the middle of a batch."""
    sources = [tmp_path / "a", tmp_path / "b"]
    for number, each in enumerate(sources):
        folder = shutil.copytree(OF_KAFKA / "records-deleted-0", each / "records-deleted-0")
        if shown_by in ("the checkpoint", "nothing") or number == (shown_by == "another replica"):
            (folder / "leader-epoch-checkpoint").unlink()
    if shown_by == "the checkpoint":
        shutil.copy(OF_KAFKA / "log-start-offset-checkpoint", sources[1])
    plan = planned(sources, broker, hold_retention=True, allow_missing=True)
    assert any("the records below it were deleted" in each for each in plan.notes) == (
        shown_by in ("the leader epochs", "another replica")
    )
    plan.apply()
    with kodec.PartitionLog(broker / "records-deleted-0") as log:
        assert log.start_offset == (0 if shown_by == "nothing" else 13)
