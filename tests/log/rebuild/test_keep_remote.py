"""Rebuilt clusters whose records stay in remote storage: the old objects, listed anew, under the old offsets.

That real brokers serve them shows `tests/labs/remote_rebuild_lab.py`.
"""

from __future__ import annotations

import json
import shutil
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import StalePlan
from kodec.log.files.checkpoints import LeaderEpoch, read_offsets, write_clean_shutdown, write_offsets
from kodec.log.rebuild import plan as plans
from kodec.log.rebuild import records
from kodec.log.remote.keys import TIER_KEY
from kodec.log.remote.remote_log import metadata_partition
from tests.golden import Golden
from tests.log.rebuild.test_rebuild import Killed, formatted, planned, stopped
from tests.log.stores import serving
from tests.stored_tiers import STORED

TIERED = Path("tests/data/tiered-4.3.1")
TOPIC_ID = UUID(bytes=urlsafe_b64decode("KoHRq9CjSHWw7wlyoa3HPw=="))
OWNER = kodec.TopicPartition("tiered", 0)


def kept(source: Any, *brokers: Any, **options: Any) -> Any:
    return planned(source, *brokers, **{"keep_remote": True, "remote_partitions": 7} | options)


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    return formatted(tmp_path / "broker")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The log directory and the remote storage of a broker."""
    return shutil.copytree(TIERED, tmp_path / "old")


def rows(path: Path | str) -> list[kodec.Record]:
    with kodec.LogDirectory(path).partition("tiered", 0) as log:
        return list(log.records(control=True))


def read_with(broker: Path, tier: Path) -> kodec.PartitionLog:
    """The log as the broker reads it: its local segments, and the remote ones that it knows."""
    (view,) = kodec.with_remote_storage(broker, tier=tier)
    log = kodec.LogDirectory(view).partition("tiered", 0)
    assert log.remote_segments == "metadata"
    return log


# -- what stays -------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("with_disk", [False, True], ids=["alone", "with the disk"])
def test_the_new_cluster_reads_the_old_objects(broker: Path, old: Path, with_disk: bool) -> None:
    sources = [old / "tier", *([old / "logs"] if with_disk else [])]
    plan = kept(sources, broker)
    assert plan.problems == []
    (partition,) = [each for each in plan.partitions if each.topic_partition == OWNER]
    end = 175 if with_disk else 168
    assert (partition.start_offset, partition.end_offset, partition.missing) == (0, end, [])
    assert len(partition.remote.segments) == 4 and partition.remote.next_offset == 168
    assert any("offset 168 on" in note for note in plan.notes) != with_disk
    plan.apply()
    log = read_with(broker, old / "tier")
    (whole,) = kodec.with_remote_storage(old / "logs", tier=old / "tier")
    assert list(log.records(control=True)) == [each for each in rows(whole) if each.offset < end]
    assert [each for each in kodec.repair.verify(broker) if not each.note] == []
    local = kodec.PartitionLog(broker / "tiered-0")
    # a broker takes the log start offset from the checkpoint, and the lineage from here, for remote fetches
    assert read_offsets(broker / "log-start-offset-checkpoint") == {OWNER: 0}
    assert local.leader_epochs() == [LeaderEpoch(0, 0), LeaderEpoch(2, 84)]
    assert [each.base_offset for each in local.segments] == [168] and local.end_offset == end
    stored = next((old / "tier").glob("*/*136-*.snapshot")).read_bytes()
    assert (broker / "tiered-0" / f"{168:020}.snapshot").read_bytes() == stored
    metadata = kodec.operations.read_metadata(broker)
    topic, remote = metadata.topic("tiered"), metadata.topic("__remote_log_metadata")
    assert topic is not None and topic.topic_id == TOPIC_ID
    assert topic.configs["remote.storage.enable"] == "true"
    assert remote is not None and len(remote.partitions) == 7
    assert (broker / "__remote_log_metadata-2").is_dir()


@pytest.mark.parametrize("name", ["plain", "zstd", "aes", "zstd-aes"])
def test_the_layout_of_aivens_plugin(
    name: str, broker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    tier = shutil.copytree(STORED / name, tmp_path / "tier")
    root = tier / "backup" if (tier / "backup").is_dir() else tier
    is_encrypted = "aes" in name
    if is_encrypted:
        (problem,) = kept(root, broker).problems
        assert "key" in problem
        golden(problem)
        monkeypatch.setenv(TIER_KEY, str(STORED / "key1.pem"))
    plan = kept(root, broker)
    assert plan.problems == []
    plan.apply()
    assert list(read_with(broker, root).records(control=True)) == rows(root)
    shown = [json.loads(path.read_bytes()) for path in sorted(root.rglob("*.rsm-manifest"))]
    (partition,) = [each for each in plan.partitions if each.remote is not None]
    assert [(each.copied.max_timestamp, each.copied.end_offset) for each in partition.remote.segments] == [
        (one["remoteLogSegmentMetadata"]["maxTimestampMs"], one["remoteLogSegmentMetadata"]["endOffset"])
        for one in shown
    ]


def test_remote_storage_in_a_bucket(broker: Path, golden: Golden) -> None:
    """Of the logs only names and sizes are asked for."""
    with serving() as server:
        url = server.upload(STORED / "plain", "tier")
        plan = kept(url, broker)
        assert plan.problems == []
        logs = [each for each in server.requests if each.method == "GET" and each.key.endswith(".log")]
        assert logs == []
        plan.apply()
        assert list(read_with(broker, Path(STORED / "plain")).records()) == [
            each for each in rows(STORED / "plain") if not isinstance(each, kodec.ControlRecord)
        ]
        key = next(key for key in server.objects if "52-" in key and key.endswith(".log"))
        del server.objects[key]
        again = kept(url, formatted(broker.parent / "other"))
        golden(again.problems[0])


def test_what_a_plugin_has_noted_for_itself_stays(broker: Path, old: Path) -> None:
    """Aiven's plugin can note the key of an object there."""
    from kodec.log.messages.decoding import decode_record, framed

    log = kodec.PartitionLog(old / "logs" / "__remote_log_metadata-0")
    values = []
    for record in log.records():
        _, value = decode_record("__remote_log_metadata", None, record.value)
        assert value is not None and value.message is not None
        message: Any = value.message
        if hasattr(message, "start_offset"):
            message.custom_metadata = None
        elif message.remote_log_segment_state == 1:
            message.custom_metadata = b"noted"
        values.append(framed(message, 0))
    shutil.rmtree(old / "logs" / "__remote_log_metadata-0")
    with kodec.LogWriter(old / "logs" / "__remote_log_metadata-0") as writer:
        writer.append([kodec.Record(value=each, timestamp=1) for each in values])
    kept([old / "tier", old / "logs"], broker).apply()
    with kodec.LogDirectory(broker).partition("__remote_log_metadata", 2) as found:
        shown = [decode_record("__remote_log_metadata", None, each.value)[1] for each in found.records()]
    messages: list[Any] = [each.message for each in shown if each is not None]
    assert [each.custom_metadata for each in messages] == [None, b"noted"] * 4


def test_a_log_without_its_checkpoint_goes_on_after_remote_storage(broker: Path, old: Path) -> None:
    (old / "logs" / "tiered-0" / "leader-epoch-checkpoint").unlink()
    plan = kept([old / "tier", old / "logs"], broker)
    assert plan.problems == []
    plan.apply()
    assert kodec.PartitionLog(broker / "tiered-0").leader_epochs() == [LeaderEpoch(0, 0), LeaderEpoch(2, 84)]
    assert read_with(broker, old / "tier").end_offset == 175


def test_local_segments_below_the_end_of_remote_storage_are_not_needed(
    broker: Path, old: Path, tmp_path: Path
) -> None:
    """A follower has rolled elsewhere, and its disk is damaged where remote storage has the records."""
    (whole,) = kodec.with_remote_storage(old / "logs", tier=old / "tier")
    disks = [tmp_path / "one", tmp_path / "two"]
    for disk in disks:
        folder = disk / "tiered-0"
        disk.mkdir()
        with (
            kodec.LogWriter(folder, topic_id=TOPIC_ID, leader_epoch=2) as writer,
            kodec.LogDirectory(whole).partition("tiered", 0) as log,
        ):
            for batch in log.batches(100):
                writer.append(batch.data, keep_offsets=True)
        shutil.copy(old / "logs" / "tiered-0" / "leader-epoch-checkpoint", folder)
        segment = min(folder.glob("*.log"))
        data = bytearray(segment.read_bytes())
        data[200] ^= 1
        segment.write_bytes(data)
    for number, sources in enumerate(([disks[0]], disks)):
        target = formatted(tmp_path / f"target-{number}")
        plan = kept([old / "tier", *sources], target)
        assert plan.problems == []
        plan.apply()
        log = read_with(target, old / "tier")
        assert list(log.records(control=True)) == rows(whole)
        assert [each.base_offset for each in kodec.PartitionLog(target / "tiered-0").segments] == [168]
        assert [each for each in kodec.repair.verify(target) if not each.note] == []


def test_an_older_disk_than_remote_storage(broker: Path, old: Path) -> None:
    folder = old / "logs" / "tiered-0"
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    plan = kept([old / "tier", old / "logs"], broker)
    assert any("later leader epochs than the log directories" in note for note in plan.notes)
    plan.apply()
    assert read_with(broker, old / "tier").end_offset == 168


def test_deleted_records_do_not_return(broker: Path, old: Path) -> None:
    write_offsets(old / "logs" / "log-start-offset-checkpoint", {OWNER: 60})
    plan = kept([old / "tier", old / "logs"], broker)
    plan.apply()
    assert read_offsets(broker / "log-start-offset-checkpoint") == {OWNER: 60}
    log = read_with(broker, old / "tier")
    assert log.start_offset == 60 and next(iter(log.records(60))).offset == 60
    (partition,) = [each for each in plan.partitions if each.remote is not None]
    assert len(partition.remote.segments) == 3


# -- what is missing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("*52-*.log", "its objects are missing"),
        ("*52-*.index", "its object .index is missing"),
        ("*52-*.snapshot", "its object .snapshot is missing"),
    ],
)
def test_a_missing_object_is_reported(
    pattern: str, what: str, broker: Path, old: Path, golden: Golden
) -> None:
    (path,) = (old / "tier").glob(f"*/{pattern}")
    path.unlink()
    (problem,) = kept([old / "tier", old / "logs"], broker).problems
    golden(problem)
    # a broker would stop there
    assert kept([old / "tier", old / "logs"], broker, allow_missing=True).problems == [problem]


def test_objects_of_other_sizes_are_reported(broker: Path, old: Path, tmp_path: Path, golden: Golden) -> None:
    (path,) = (old / "tier").glob("*/*52-*.log")
    path.write_bytes(path.read_bytes()[:-1])
    (problem,) = kept([old / "tier", old / "logs"], broker).problems
    golden(problem)
    # without metadata the log itself is read
    (problem,) = kept(old / "tier", broker).problems
    golden(problem)
    tier = shutil.copytree(STORED / "plain", tmp_path / "plain")
    (indexes,) = tier.rglob("*52-*.indexes")
    indexes.write_bytes(indexes.read_bytes()[:100])
    (log,) = tier.rglob("*84-*.log")
    log.write_bytes(log.read_bytes() + b"x")
    (problem,) = kept(tier, broker).problems
    golden(problem)
    for suffix in ("log", "indexes", "rsm-manifest"):
        next(tier.rglob(f"*52-*.{suffix}")).unlink()
    problem = kept(tier, broker).problems[0]
    golden(problem)


def test_a_disk_that_begins_later_than_remote_storage_ends(broker: Path, old: Path, golden: Golden) -> None:
    for path in (old / "tier").glob("*/*136-*"):
        path.unlink()
    shutil.rmtree(old / "logs" / "__remote_log_metadata-0")
    (problem,) = kept([old / "tier", old / "logs"], broker).problems
    golden(problem)
    plan = kept([old / "tier", old / "logs"], broker, allow_missing=True)
    assert plan.problems == []
    plan.apply()
    # a broker reads from the first local segment what is not in remote storage, and there passes over a gap
    assert [each.base_offset for each in kodec.PartitionLog(broker / "tiered-0").segments] == [136, 168]


def test_a_disk_without_its_remote_storage_is_not_whole(broker: Path, old: Path, golden: Golden) -> None:
    """The log start offset shows that there is more, and the topic's settings where."""
    write_offsets(old / "logs" / "log-start-offset-checkpoint", {OWNER: 0})
    topic = records.NewTopic(
        "tiered", TOPIC_ID, {"remote.storage.enable": "true"}, [records.NewPartition(0, 2, [1], [None])]
    )
    with kodec.LogWriter(old / "logs" / "__cluster_metadata-0") as writer:
        writer.append([kodec.Record(value=each, timestamp=1) for each in records.topic_records([topic], 30)])
    (problem,) = planned(old / "logs", broker).problems
    golden(problem)
    # retention may have deleted more in remote storage than the checkpoint knows
    write_offsets(old / "logs" / "log-start-offset-checkpoint", {OWNER: 0})
    for path in (old / "tier").glob(f"*/{0:020}-*"):
        path.unlink()
    shutil.rmtree(old / "logs" / "__remote_log_metadata-0")
    plan = planned([old / "logs", old / "tier"], broker)
    assert plan.problems == [] and any("all records return" in note for note in plan.notes)
    plan.apply()
    (whole,) = kodec.with_remote_storage(TIERED / "logs", tier=TIERED / "tier")
    assert rows(broker) == [each for each in rows(whole) if each.offset >= 52]


def test_the_metadata_topic_selects_segments_of_records_that_return(broker: Path, old: Path) -> None:
    """An upload that did not finish, of a larger copy, does not count."""
    (path,) = (old / "tier").glob("*/*52-*.log")
    other = path.with_name(path.name.replace("kg_ugkTuRYa57W81KlGqUA", "AAAAAAAAAAAAAAAAAAAAAA"))
    other.write_bytes(path.read_bytes() + b"\0" * 100)
    plan = planned([old / "logs", old / "tier"], broker)
    assert plan.problems == []
    plan.apply()
    (whole,) = kodec.with_remote_storage(TIERED / "logs", tier=TIERED / "tier")
    assert rows(broker) == rows(whole)


# -- refusals, kills --------------------------------------------------------------------------------


def test_refusals(broker: Path, old: Path, tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(ValueError, match="no source is remote storage"):
        kept(old / "logs", broker)
    twice = shutil.copytree(old / "tier", tmp_path / "twice")
    golden(kept([old / "tier", twice], broker).problems[0])
    retained = kept(old / "tier", broker, hold_retention=False).problems
    assert any("would delete 1 segments at once" in each for each in retained)
    plan = kept(old / "tier", broker)
    (path,) = (old / "tier").glob("*/*52-*.log")
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(StalePlan):
        plan.apply()


def test_what_the_verb_says(
    broker: Path, old: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    words = ["rebuild", "--from", str(old / "tier"), "--from", str(old / "logs"), "--to", str(broker)]
    assert main([*words, "--keep-remote", "--hold-retention"]) == 3
    said = capsys.readouterr()
    golden(said.out)
    assert "remote.log.storage.system.enable=true" in said.err
    assert main([*words, "--keep-remote", "--hold-retention", "--json"]) == 3
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (shown,) = [each for each in found if each["topic"] == "tiered"]
    assert (shown["remoteSegments"], shown["remoteBytes"], shown["remoteEndOffset"]) == (4, 6651, 168)
    assert main(["rebuild", "--from", str(old / "logs"), "--to", str(broker), "--keep-remote"]) != 0
    golden(capsys.readouterr().err)


@pytest.mark.parametrize("is_new", [True, False], ids=["new cluster", "cluster with its own"])
def test_a_killed_rebuild_lists_each_segment_once(
    is_new: bool, tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 0
    while True:
        number += 5
        root = tmp_path / f"kill-{number}"
        if is_new:
            formatted(root)
        else:
            stopped(root)
            with_remote_topic(root)
        left = [number]

        def dies(call: Any, left: list[int] = left) -> Any:
            def counted(*words: Any, **options: Any) -> Any:
                left[0] -= 1
                if left[0] <= 0:
                    raise Killed
                return call(*words, **options)

            return counted

        ended = False
        with monkeypatch.context() as patch:
            for name in ("_own", "_copy", "sync_folder", "write_offsets", "exchange"):
                patch.setattr(plans, name, dies(getattr(plans, name)))
            try:
                kept([old / "tier", old / "logs"], root, topics=["tiered"]).apply()
            except Killed:
                pass
            else:
                ended = True
        again = kept([old / "tier", old / "logs"], root, topics=["tiered"])
        if not ended and (root / plans.FENCE).is_dir():
            assert again.problems == []
            again.apply()
        log = read_with(root, old / "tier")
        assert log.end_offset == 175 and len(list(log.records())) == 171
        number_of = metadata_partition(TOPIC_ID, 0, 7 if is_new else 3)
        listed = kodec.PartitionLog(root / f"__remote_log_metadata-{number_of}")
        assert len(list(listed.records())) == 8
        shutil.rmtree(root)
        if ended:
            break
    assert number > 10


def with_remote_topic(root: Path) -> None:
    """Give a cluster an empty `__remote_log_metadata` with three partitions."""
    topic = records.NewTopic(
        "__remote_log_metadata",
        UUID(int=99),
        {},
        [records.NewPartition(each, 0, [1], [None]) for each in range(3)],
    )
    with kodec.LogWriter(root / "__cluster_metadata-0") as writer:
        values = records.topic_records([topic], 30)
        writer.append([kodec.Record(value=each, timestamp=1) for each in values])
    for each in range(3):
        with kodec.LogWriter(root / f"__remote_log_metadata-{each}", topic_id=UUID(int=99)):
            pass
    (broker,) = kodec.operations.read_metadata(root).brokers
    assert broker.epoch is not None
    write_clean_shutdown(root / ".kafka_cleanshutdown", broker.epoch)


@pytest.mark.parametrize(
    ("topic_id", "partition", "count", "expected"),
    # as RemoteLogMetadataTopicPartitioner of Kafka 4.3.1
    [
        ("KoHRq9CjSHWw7wlyoa3HPw", 0, 7, 2),
        ("KoHRq9CjSHWw7wlyoa3HPw", 0, 50, 38),
        ("KoHRq9CjSHWw7wlyoa3HPw", 1, 50, 19),
        ("a29kZWMtZGlyZWN0b3J5MQ", 17, 50, 33),
        ("a29kZWMtZGlyZWN0b3J5MQ", 100000, 7, 1),
        ("AAAAAAAAAAAAAAAAAAAATQ", 1, 50, 40),
        ("AAAAAAAAAAAAAAAAAAAATQ", 100000, 50, 2),
        ("_____________________w", 17, 50, 1),
        ("_____________________w", 100000, 7, 6),
    ],
)
def test_the_partition_of_the_metadata(topic_id: str, partition: int, count: int, expected: int) -> None:
    identity = UUID(bytes=urlsafe_b64decode(topic_id + "=="))
    assert metadata_partition(identity, partition, count) == expected
