"""Logs that were written without a broker, given to one: what is written, and what is refused."""

import errno
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
from kodec.log.adoption import adopt
from kodec.log.adoption.adopt import plan_adoption
from kodec.log.directories.directory import LogRoot
from kodec.log.files.lock import locked
from kodec.log.views.metadata import read_metadata
from kodec.log.writing.add_segments import staging_folder
from tests.data import LOGS
from tests.golden import Golden
from tests.log.faults import Faults

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
    (root / ".lock").unlink()
    return root


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder, but the lock."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


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
    assert list(kodec.repair.verify(broker / "orders-0")) == []
    assert not (broker / ".kafka_cleanshutdown").exists()
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        assert (broker / name).read_text() == "0\n1\nother 0 7\n"
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(path.name for path in broker.iterdir() if path.is_dir()) == [
        "__cluster_metadata-0", "empty-0", "orders-0", "orders-1",
    ]  # fmt: skip


def test_what_retention_would_delete_is_said_before(
    broker: Path, written: Path, capsys: pytest.CaptureFixture[str], golden: Golden
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
    assert "1 of 1 segment" in out and "retention.ms=-1" in out
    golden(out)
    assert main([*words, "--apply"]) == 1
    assert "change it first" in capsys.readouterr().err
    assert len(list((broker / "orders-0").glob("*.index"))) == 0
    assert main([*words, "--apply", "--allow-expired", "--json"]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert row["expiredSegments"] == 1 and len(row["topicId"]) == 22
    assert len(records(broker)) == 30


def test_what_a_broker_would_not_serve_is_refused(
    broker: Path, written: Path, capsys: pytest.CaptureFixture[str], golden: Golden
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
        "empty-0: its newest leader epoch is 99, but the cluster's",
        "orders-0: its id is",
    ):
        assert wanted in text
    assert main(["adopt", str(written), "--into", str(broker), "--apply"]) == 1
    assert "nowhere-0" in capsys.readouterr().err
    properties = (broker / "meta.properties").read_text()
    (broker / "meta.properties").write_text(properties.replace("node.id=1", "node.id=2"))
    text = "\n".join(plan_adoption(written, broker, topics=["orders"], now=NOW).problems)
    golden(text)


def test_ids_can_be_given_where_there_is_no_metadata(
    broker: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(broker / "__cluster_metadata-0")
    words = ["adopt", str(written), "--into", str(broker), "--retention-ms", "-1"]
    assert main(words) == 1
    assert "has no known id" in capsys.readouterr().err
    shown = (LOGS / "orders-0/partition.metadata").read_text().rpartition(" ")[2]
    assert main([*words, "--topic-id", f"orders={shown}", "--apply"]) == 0
    assert (broker / "orders-0" / "partition.metadata").read_text().endswith(shown)
    assert main([*words, "--topic-id", "orders=short"]) == 2
    assert main([*words, "--topic", "lost"]) == 2
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
    for path in (broker / "orders-1").iterdir():
        assert path.read_bytes() != b"of root alone"


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
    with pytest.raises(ValueError, match="not yet in place: finish that first"):
        plan_adoption(written, broker, now=NOW)
    command = ["adopt", str(written), "--into", str(broker), "--allow-expired"]
    assert main(command) == 1
    assert "not yet in place" in capsys.readouterr().err
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
            assert "named like orders-0" in said.err and said.out == ""
    # What is refused is said once.
    (broker / "orders-0" / f"{0:020d}.log").write_bytes(kodec.encode([kodec.Record(value=b"v", timestamp=1)]))
    assert main(["adopt", str(written), "--into", str(broker), "--allow-expired", "--apply"]) == 1
    said = capsys.readouterr()
    assert said.err.count("is not empty") == 1
    assert not {"done", "nothing is written without --apply"} & set(said.out.splitlines())


# -- plans that are stale -----------------------------------------------------------------------------


def one_batch() -> bytes:
    return kodec.encode([kodec.Record(value=b"of the broker", timestamp=1)])


def empty_log(root: Path) -> Path:
    return root / "orders-0" / f"{0:020d}.log"


def _appends(broker: Path, written: Path) -> None:
    empty_log(broker).write_bytes(one_batch())


def _takes_the_folder_away(broker: Path, written: Path) -> None:
    shutil.rmtree(broker / "orders-0")


def _adds_a_segment(broker: Path, written: Path) -> None:
    (written / "orders-0" / f"{900:020d}.log").touch()


def _changes_a_byte(broker: Path, written: Path) -> None:
    # of the same size and time, as a copy that keeps both
    path = next((written / "orders-0").glob("*.log"))
    status, data = path.stat(), bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _deletes_records(broker: Path, written: Path) -> None:
    (written / "log-start-offset-checkpoint").write_text("0\n1\norders 0 130\n")


def _creates_the_topic_again(broker: Path, written: Path) -> None:
    (broker / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABQ")


def _formats_for_another_cluster(broker: Path, written: Path) -> None:
    properties = broker / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=", "cluster.id=x"))


def _loses_the_metadata(broker: Path, written: Path) -> None:
    shutil.rmtree(broker / "__cluster_metadata-0")


@pytest.mark.parametrize(
    "change",
    [
        _appends,
        _takes_the_folder_away,
        _adds_a_segment,
        _changes_a_byte,
        _deletes_records,
        _creates_the_topic_again,
        _formats_for_another_cluster,
        _loses_the_metadata,
    ],
)
def test_a_plan_is_refused_where_anything_that_it_was_made_from_has_changed(
    broker: Path, written: Path, change: Callable[[Path, Path], None]
) -> None:
    plan = plan_adoption(written, broker, now=NOW)
    change(broker, written)
    before = files(broker), files(written)
    with pytest.raises(kodec.errors.StalePlan, match="since the plan was made: plan again"):
        plan.apply()
    assert (files(broker), files(written)) == before
    assert not [path for path in broker.iterdir() if "unfinished" in path.name]
    assert not (written / ".lock").exists()


def test_what_changes_while_logs_are_copied_is_found(broker: Path, written: Path) -> None:
    def takes_records(size: int) -> None:
        empty_log(broker).write_bytes(one_batch())

    plan = plan_adoption(written, broker, now=NOW)
    during = plan_adoption(written, broker, now=NOW, progress=takes_records)
    with pytest.raises(kodec.errors.StalePlan):
        during.apply()
    assert empty_log(broker).read_bytes() == one_batch()
    with pytest.raises(kodec.errors.StalePlan):
        plan.apply()


def test_two_adoptions_at_once_and_one_after_the_other(broker: Path, written: Path) -> None:
    refused = []

    def again(size: int) -> None:
        with pytest.raises(BlockingIOError, match="in use"):
            other.apply()
        refused.append(size)

    other = plan_adoption(written, broker, now=NOW)
    plan = plan_adoption(written, broker, now=NOW)
    object.__setattr__(plan, "progress", again)
    plan.apply()
    assert refused
    wanted = records(broker)
    for each in (plan, other):
        with pytest.raises(kodec.errors.StalePlan):
            each.apply()
    assert records(broker) == wanted and len(wanted) == 30


# -- what is refused ----------------------------------------------------------------------------------


def test_a_source_or_metadata_of_another_cluster_is_refused(
    broker: Path, written: Path, tmp_path: Path
) -> None:
    own = (broker / "meta.properties").read_text()
    other = own.replace("cluster.id=", "cluster.id=x")
    (written / "meta.properties").write_text(other)
    with pytest.raises(ValueError, match="belongs to cluster x"):
        plan_adoption(written, broker, now=NOW)
    (written / "meta.properties").write_text(own)
    assert plan_adoption(written, broker, now=NOW).problems == []
    (broker / "meta.properties").write_text(other)
    with pytest.raises(ValueError, match=r"belongs to cluster .*, but .*broker of x"):
        plan_adoption(written, broker, now=NOW)
    (written / "meta.properties").unlink()
    shutil.copytree(broker / "__cluster_metadata-0", tmp_path / "controller" / "__cluster_metadata-0")
    (tmp_path / "controller" / "meta.properties").write_text(own)
    with pytest.raises(ValueError, match="belongs to cluster"):
        plan_adoption(written, broker, metadata=tmp_path / "controller", now=NOW)


def test_a_log_directory_that_the_metadata_does_not_know_is_refused(broker: Path, written: Path) -> None:
    properties = broker / "meta.properties"
    directory = LogRoot(broker).meta_properties()
    assert directory is not None and directory.directory_id is not None
    properties.write_text(properties.read_text().replace(directory.directory_id, "AAAAAAAAAAAAAAAAAAAAgA"))
    with pytest.raises(ValueError, match="has no log directory AAAAAAAAAAAAAAAAAAAAgA of broker 1"):
        plan_adoption(written, broker, now=NOW)


@pytest.mark.parametrize("where", [30, -1], ids=["a header", "a record"])
def test_a_source_that_fails_verification_is_refused(broker: Path, written: Path, where: int) -> None:
    path = next((written / "orders-0").glob("*.log"))
    data = bytearray(path.read_bytes())
    data[where] ^= 4
    # Damage at the end would be a torn tail.
    path.write_bytes(bytes(data) + with_offset(150))
    before = files(broker)
    plan = plan_adoption(written, broker, now=NOW)
    assert "orders-0: verify reports a problem" in plan.problems[0] and "CrcMismatch" in plan.problems[0]
    with pytest.raises(ValueError, match="CrcMismatch"):
        plan.apply()
    assert files(broker) == before


def with_offset(offset: int) -> bytes:
    return kodec.encode([kodec.Record(value=b"later", timestamp=NOW)], base_offset=offset)


# -- the disk -----------------------------------------------------------------------------------------


def test_where_the_broker_has_no_folder_one_appears(broker: Path, written: Path) -> None:
    shutil.rmtree(broker / "orders-1")
    kept = plan_adoption(written, broker, now=NOW).apply().kept
    assert [place.name for place in kept] == ["orders-0"]
    log = f"{100:020d}.log"
    assert (broker / "orders-1" / log).read_bytes() == (written / "orders-1" / log).read_bytes()
    assert not list(broker.glob("*-delete"))


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_source_on_a_file_system_that_nobody_can_write_needs_no_lock(
    broker: Path, written: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(root: Path, *, stays: bool = True) -> Any:
        if root == written:
            raise OSError(number, os.strerror(number), str(root))
        return locked(root, stays=stays)

    monkeypatch.setattr(adopt, "locked", refused)
    plan = plan_adoption(written, broker, now=NOW)
    if number == errno.EROFS:
        plan.apply()
        assert len(records(broker)) == 30
    else:
        with pytest.raises(PermissionError):
            plan.apply()
        assert (broker / ".kafka_cleanshutdown").exists()


def test_what_the_broker_had_is_in_quarantine(broker: Path, written: Path, tmp_path: Path) -> None:
    had = files(broker / "orders-0")
    plan = plan_adoption(written, broker, now=NOW)
    with pytest.raises(ValueError, match="outside log directories"):
        plan_adoption(written, broker, now=NOW, quarantine=broker / "q").apply()
    kept = plan.apply().kept
    assert kept == [tmp_path / "broker.quarantine" / name for name in ("orders-0", "orders-1")]
    assert files(kept[0]) == had
    assert not [path for path in broker.iterdir() if path.name.endswith("-delete")]


def test_where_names_cannot_be_exchanged_the_folder_is_moved_away_first(
    broker: Path, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kodec.log.files.durable._swap", lambda one, other: errno.ENOSYS)
    had = files(broker / "orders-0")
    (place, _) = plan_adoption(written, broker, now=NOW).apply().kept
    assert files(place) == had and len(records(broker)) == 30
    assert not [path for path in broker.iterdir() if path.name.endswith("-delete")]


def test_what_was_adopted_is_on_the_disk(broker: Path, written: Path) -> None:
    wanted = records(written)
    # One takes the place of a folder, and one has none to take.
    shutil.rmtree(broker / "orders-1")
    plan = plan_adoption(written, broker, now=NOW)
    with Faults(root=broker) as faults:
        plan.apply()
        faults.lose()
    # The model ignores owners: what gives a file to one is followed by an fsync of the file.
    last = {(call.name, call.file): number for number, call in enumerate(faults.made)}
    for name in (f"{100:020d}.log", f"{100:020d}.index", "partition.metadata", "leader-epoch-checkpoint"):
        assert last["fchmod", name] < last["fsync", name]
    assert records(broker) == wanted
    assert len(list(kodec.LogDirectory(broker).partition("orders", 1).records())) == 50
    assert (
        list(kodec.repair.verify(broker / "orders-0")) == [] == list(kodec.repair.verify(broker / "orders-1"))
    )
    assert not (broker / ".kafka_cleanshutdown").exists()
    assert (broker / "recovery-point-offset-checkpoint").read_text() == "0\n1\nother 0 7\n"


def test_whatever_fails_a_log_is_the_old_one_or_the_new_one_and_the_broker_checks_it(
    broker: Path, written: Path, tmp_path: Path
) -> None:
    shutil.rmtree(broker / "__cluster_metadata-0")
    shutil.rmtree(written / "orders-0")
    found = kodec.PartitionLog(broker / "orders-1").metadata()
    assert found is not None
    ids = {"orders": found.topic_id}
    source, copy, number = files(written), tmp_path / "first", 0
    shutil.copytree(broker, copy)
    new = {path.name: path.read_bytes() for path in (written / "orders-1").glob("*.log")}
    while True:
        shutil.rmtree(broker)
        shutil.copytree(copy, broker)
        shutil.rmtree(tmp_path / "broker.quarantine", ignore_errors=True)
        plan = plan_adoption(written, broker, topic_ids=ids, now=NOW)
        failed: OSError | None = None
        calls = ("pwrite", "fsync", "rename", "replace", "exchange", "unlink", "mkdir")
        faults = Faults(number, errno.ENOSPC, calls=calls, root=broker)
        with faults:
            try:
                plan.apply()
            except OSError as error:
                failed = error
            faults.lose()
        assert files(written) == source
        there = {path.name: path.read_bytes() for path in (broker / "orders-1").glob("*.log")}
        assert there in ({f"{0:020d}.log": b""}, new), (number, faults.failed)
        assert there == new or failed is not None
        assert there != new or not (broker / ".kafka_cleanshutdown").exists()
        if faults.failed is None:
            assert failed is None
            return
        number += 1


def test_a_full_disk_leaves_no_half_copy(broker: Path, written: Path) -> None:
    before = files(broker)
    writes = 0
    while True:
        plan = plan_adoption(written, broker, now=NOW)
        faults = Faults(writes, errno.ENOSPC, calls=("pwrite",), forever=True)
        try:
            with faults:
                plan.apply()
        except OSError as error:
            assert error.errno == errno.ENOSPC
        if faults.failed is None:
            break
        left = {name: data for name, data in files(broker).items() if name.startswith("orders")}
        assert left == {name: data for name, data in before.items() if name.startswith("orders")}
        writes += 1
    assert writes > 6 and len(records(broker)) == 30


# -- several log directories --------------------------------------------------------------------------


def second(broker: Path) -> Path:
    """Another log directory of the same broker."""
    root = broker.with_name("second")
    root.mkdir()
    properties = LogRoot(broker).meta_properties()
    assert properties is not None and properties.directory_id is not None
    text = (broker / "meta.properties").read_text()
    (root / "meta.properties").write_text(text.replace(properties.directory_id, "AAAAAAAAAAAAAAAAAAAAgA"))
    return root


def test_each_partition_goes_where_the_broker_has_it(broker: Path, written: Path) -> None:
    other = second(broker)
    shutil.rmtree(broker / "__cluster_metadata-0")
    found = kodec.PartitionLog(broker / "orders-0").metadata()
    assert found is not None
    ids = {"orders": found.topic_id}
    (broker / "orders-1").rename(other / "orders-1")
    shutil.copytree(written / "orders-1", written / "orders-2")
    plan = plan_adoption(written, [broker, other], topic_ids=ids, now=NOW)
    # The broker has the third nowhere: into the one with fewer.
    assert [each.target.parent.name for each in plan.partitions] == ["broker", "second", "second"]
    plan.apply()
    assert len(records(broker)) == 30
    both = kodec.LogDirectory(broker, other)
    assert [len(list(both.partition("orders", number).records())) for number in (1, 2)] == [50, 50]
    shutil.copytree(broker / "orders-0", other / "orders-0")
    assert "it is in both" in plan_adoption(written, [broker, other], topic_ids=ids, now=NOW).problems[0]


def test_each_partition_goes_where_the_metadata_has_it(broker: Path, written: Path, tmp_path: Path) -> None:
    # The metadata has all of them in the one, and does not know the other.
    other = second(broker)
    with pytest.raises(ValueError, match="has no log directory"):
        plan_adoption(written, [other, broker], now=NOW)
    (other / "meta.properties").write_text(
        (other / "meta.properties").read_text().replace("node.id=1", "node.id=2")
    )
    with pytest.raises(ValueError, match="different brokers"):
        plan_adoption(written, [broker, other], now=NOW)
    with pytest.raises(ValueError, match="in place"):
        plan_adoption(broker, [broker, other], now=NOW)


# -- what is said -------------------------------------------------------------------------------------


def test_nothing_is_said_to_be_adopted_before_it_is(
    broker: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["adopt", str(written), "--into", str(broker), "--allow-expired", "--apply"]
    with locked(broker) as lock, lock.claim(broker):
        assert main([*command, "--json"]) == 1
        said = capsys.readouterr()
        assert said.out == "" and "in use" in said.err
    assert main([*command, "--json"]) == 0
    assert [json.loads(line)["applied"] for line in capsys.readouterr().out.splitlines()] == [True, True]


def test_an_error_in_the_middle_says_what_was_done(
    broker: Path, written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    # Of the second, what the broker had cannot be put away.
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "orders-1").write_bytes(b"in the way")
    command = ["adopt", str(written), "--into", str(broker), "--allow-expired", "--apply"]
    assert main([*command, "--quarantine", str(tmp_path / "kept")]) == 1
    said = capsys.readouterr()
    assert [line.partition(":")[0] for line in said.out.splitlines()] == ["orders-0"]
    assert "done" not in said.out
    golden(said.err)


def test_an_error_before_the_exchange_counts_what_was_adopted(
    broker: Path, written: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    def fails(made: Path, target: Path) -> Path | None:
        if target.name == "orders-1":
            raise OSError("no")
        return place(made, target)

    place = adopt._put_in_place
    monkeypatch.setattr(adopt, "_put_in_place", fails)
    with pytest.raises(OSError, match="no") as caught:
        plan_adoption(written, broker, now=NOW).apply()
    golden(caught.value.__notes__)
    assert not list(broker.glob("*-delete"))


@pytest.mark.parametrize(
    ("name", "call", "there"), [("_put_in_place", 2, 1), ("move_away", 1, 1), ("move_away", 3, 2)]
)
def test_an_adoption_that_was_killed_is_finished_by_the_next_one(
    broker: Path, written: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: int, there: int
) -> None:
    had = [path.read_bytes() for path in broker.glob("orders-*/partition.metadata")]
    real, calls = getattr(adopt, name), []

    def killed(*args: Path) -> object:
        calls.append(args)
        if len(calls) == call:
            os._exit(9)
        return real(*args)

    child = os.fork()
    if not child:
        monkeypatch.setattr(adopt, name, killed)
        plan_adoption(written, broker, now=NOW).apply()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    plan = plan_adoption(written, broker, now=NOW)
    assert plan.problems == [] and [each.is_adopted for each in plan.partitions] == [True, there == 2]
    assert plan.has_changes is (there == 1)
    plan.apply()
    plan = plan_adoption(written, broker, now=NOW)
    assert [each.is_adopted for each in plan.partitions] == [True, True]
    assert len(records(broker)) == 30 and not list(broker.glob("*-delete"))
    for number in (0, 1):
        log = written / f"orders-{number}" / f"{100:020d}.log"
        assert (broker / f"orders-{number}" / log.name).read_bytes() == log.read_bytes()
    kept = [path.read_bytes() for path in broker.with_name("broker.quarantine").rglob("partition.metadata")]
    assert kept == had


def test_a_copy_made_by_hand_without_what_is_deleted_is_not_adopted(broker: Path, written: Path) -> None:
    (written / "log-start-offset-checkpoint").write_text("0\n1\norders 0 105\n")
    plan_adoption(written, broker, now=NOW).apply()
    plan = plan_adoption(written, broker, now=NOW)
    assert [each.is_adopted for each in plan.partitions] == [True, True]
    (broker / "log-start-offset-checkpoint").unlink()
    plan = plan_adoption(written, broker, now=NOW)
    assert [each.is_adopted for each in plan.partitions] == [False, True]
    assert any("is not empty" in each for each in plan.problems)


def test_a_log_that_the_broker_went_on_with_is_not_adopted_again(
    broker: Path, written: Path, golden: Golden
) -> None:
    plan_adoption(written, broker, now=NOW).apply()
    with kodec.PartitionLog(broker / "orders-0") as log:
        path = log.segments[-1].path
    path.write_bytes(path.read_bytes() + kodec.encode([kodec.Record(value=b"new")], base_offset=150))
    plan = plan_adoption(written, broker, now=NOW)
    assert [each.is_adopted for each in plan.partitions] == [False, True]
    golden(plan.problems)


@pytest.mark.parametrize("above", [0, 1])
def test_a_leader_epoch_up_to_the_clusters_is_taken(tmp_path: Path, broker: Path, above: int) -> None:
    """The cluster's next leader has a higher one; a log that is ahead would be taken for diverged."""
    topic = read_metadata(broker).topic("orders")
    assert topic is not None
    epoch = topic.partitions[0].leader_epoch + above
    with kodec.LogDirectoryWriter(tmp_path / "made") as directory:
        directory.partition("orders", 0, leader_epoch=epoch).append([kodec.Record(value=b"v", timestamp=NOW)])
    problems = plan_adoption(tmp_path / "made", broker, now=NOW).problems
    wanted = (
        f"its newest leader epoch is {epoch}, but the cluster's is {epoch - 1}: delete the topic in the "
        "cluster, and kodec rebuild makes it with the epochs of this log"
    )
    assert [wanted in each for each in problems] == [True] * above


# -- what would not be copied, or copied torn -------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("a segment is a link to nothing", "00000000000000000000.log"),
        ("a replacement has not finished", "recover it first: 00000000000000000000.log.swap"),
        ("the snapshot of producers is torn", ".snapshot: "),
        ("leader epochs are torn", "leader-epoch-checkpoint"),
    ],
)
def test_what_an_adoption_would_copy_torn_or_not_at_all_is_refused(
    cause: str, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, broker = tmp_path / "source", tmp_path / "broker"
    folder = source / "orders-0"
    folder.parent.mkdir()
    with kodec.LogWriter(folder) as writer:
        for value in (b"first", b"second"):
            writer.append([kodec.Record(value=value, timestamp=1)])
            writer.roll()
        writer.append([kodec.Record(value=b"third", timestamp=1)])
    with kodec.LogDirectoryWriter(broker, cluster_id="a29kZWMtcmVhbC1sb2dzMQ", node_id=1):
        pass
    log = folder / f"{0:020}.log"
    if cause.startswith("a segment"):
        log.unlink()
        log.symlink_to("nowhere")
    elif cause.startswith("a replacement"):
        log.rename(log.with_name(f"{log.name}.swap"))
    elif cause.startswith("the snapshot"):
        sorted(folder.glob("*.snapshot"))[-1].write_bytes(b"\0\1\0")
    else:
        (folder / "leader-epoch-checkpoint").write_bytes(b"0\n9\n")
    words = ["adopt", str(source), "--into", str(broker), "--topic-id", "orders=AAAAAAAAAAAAAAAAAAAABw"]
    for apply in ([], ["--apply"]):
        assert main([*words, "--retention-ms", "-1", *apply]) == 1
        assert text in "".join(capfd.readouterr())
        assert not (broker / "orders-0").exists()


def test_what_is_in_the_source_and_is_not_adopted_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    source, broker = tmp_path / "source", tmp_path / "broker"
    source.mkdir()
    for name in ("orders-0", "__consumer_offsets-0"):
        with kodec.LogWriter(source / name) as writer:
            writer.append([kodec.Record(value=b"first", timestamp=1)])
    (source / "orders-0" / "kodec-omitted-offsets").write_text("0\n1\n5 9\n")
    with kodec.LogDirectoryWriter(broker, cluster_id="a29kZWMtcmVhbC1sb2dzMQ", node_id=1):
        pass
    words = ["adopt", str(source), "--into", str(broker), "--topic-id", "orders=AAAAAAAAAAAAAAAAAAAABw"]
    words += ["--retention-ms", "-1"]
    assert main(words) == 3
    golden(capfd.readouterr().err)
    # segments in a folder of a strange name are a loss
    shutil.copytree(source / "orders-0", source / "orders-00")
    assert main([*words, "--apply"]) == 1
    golden(capfd.readouterr().err)
    # which of its offsets were left out goes with a log
    assert (broker / "orders-0" / "kodec-omitted-offsets").read_text() == "0\n1\n5 9\n"
