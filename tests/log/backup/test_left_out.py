"""What a backup cannot read, or what is lost, is named: by the backup, in the point, and by what reads it."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import OffsetsMissing
from kodec.log.backup import capture
from kodec.log.files.checkpoints import write_offsets
from kodec.log.omissions import Cause
from kodec.log.remote.opening import open_location
from kodec.log.remote.point import Point, parse_point, point_bytes
from kodec.operations import check_backup, list_points, plan_backup, plan_prune
from kodec.stores.storage import Location
from tests.golden import Golden
from tests.log.unreadable import unlisted, unreadable

OF_KAFKA = Path("tests/data/kafka-4.3.1/logs")
FIRST, MIDDLE, ACTIVE = (f"{base:020}.log" for base in (0, 10, 20))

pytestmark = pytest.mark.usefixtures("patient")


def _is_in_point(path: Path) -> bool:
    return isinstance(path, Location) and isinstance(path.files, Point)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "WAIT", 0)


@pytest.fixture
def two_topics(tmp_path: Path) -> Path:
    """A log directory with two topic-partitions; that of `orders` has three segments of ten records."""
    root = tmp_path / "logs"
    root.mkdir()
    for topic in ("orders-0", "sound-0"):
        with kodec.LogWriter(root / topic) as writer:
            for start in range(0, 30, 10):
                if start:
                    writer.roll()
                values = [b"%d " % number + bytes(1000) for number in range(start, start + 10)]
                writer.append([kodec.Record(value=value, timestamp=1) for value in values])
    (root / "meta.properties").write_text("version=1\ncluster.id=a\nnode.id=1\n")
    return root


Obstacle = Callable[[Path, pytest.MonkeyPatch], object]


def folder_as(make: Callable[[Path], None]) -> Obstacle:
    def put(two_topics: Path, _: pytest.MonkeyPatch) -> None:
        shutil.rmtree(two_topics / "orders-0")
        make(two_topics / "orders-0")

    return put


def beside(name: str, make: Callable[[Path], object]) -> Obstacle:
    return file_as(f"../{name}", make)


def file_as(name: str, make: Callable[[Path], object]) -> Obstacle:
    def put(two_topics: Path, _: pytest.MonkeyPatch) -> None:
        path = two_topics / "orders-0" / name
        path.unlink(missing_ok=True)
        make(path)

    return put


def refused(name: str) -> Obstacle:
    def put(two_topics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        unreadable(monkeypatch, {two_topics / "orders-0" / name: error})

    return put


def gone(two_topics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder, as soon as its first file is copied."""
    copy = capture._Taker.copy

    def copies(self: capture._Taker, path: Path, *arguments: object) -> object:
        if path.parent.name == "orders-0":
            shutil.rmtree(path.parent, ignore_errors=True)
        return copy(self, path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(capture._Taker, "copy", copies)


def below_checkpoint(two_topics: Path, _: pytest.MonkeyPatch) -> None:
    write_offsets(two_topics / "recovery-point-offset-checkpoint", {kodec.TopicPartition("orders", 0): 413})


def flipped(two_topics: Path, _: pytest.MonkeyPatch) -> None:
    path = two_topics / "orders-0" / MIDDLE
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)


def torn(two_topics: Path, _: pytest.MonkeyPatch) -> None:
    os.truncate(two_topics / "orders-0" / MIDDLE, 500)


LINK, LOOP, FIFO = (lambda path: path.symlink_to("nowhere")), (lambda path: path.symlink_to(path)), os.mkfifo

# what is put in the way; a part of the line that names it; whether the point has the folder
OBSTACLES: dict[str, tuple[Obstacle, str, bool]] = {
    "the folder is a link to nothing": (folder_as(LINK), "orders-0 cannot be read", False),
    "the folder is a loop": (folder_as(LOOP), "orders-0 cannot be read", False),
    "the folder is a file": (folder_as(lambda path: path.write_bytes(b"")), "orders-0 cannot be read", False),
    "the folder cannot be listed": (
        lambda two_topics, patch: unlisted(
            patch, two_topics / "orders-0", PermissionError(errno.EACCES, "closed")
        ),
        "orders-0 cannot be read at byte 0: closed",
        False,
    ),
    "the folder is gone": (
        lambda two_topics, patch: unlisted(patch, two_topics / "orders-0", None),
        "orders-0: it was deleted while the backup ran",
        False,
    ),
    "the folder goes": (gone, "orders-0: it was deleted while the backup ran", False),
    "a segment is a link to nothing": (file_as(MIDDLE, LINK), f"{MIDDLE} cannot be read", True),
    "a segment is a loop": (file_as(MIDDLE, LOOP), f"{MIDDLE} cannot be read", True),
    "a segment is a folder": (file_as(MIDDLE, Path.mkdir), f"{MIDDLE} cannot be read", True),
    "a segment is a pipe": (file_as(MIDDLE, FIFO), f"{MIDDLE} cannot be read", True),
    "the active segment is a pipe": (file_as(ACTIVE, FIFO), f"{ACTIVE} cannot be read", True),
    "the active segment is a link to nothing": (file_as(ACTIVE, LINK), f"{ACTIVE} cannot be read", True),
    "a segment is refused": (refused(MIDDLE), f"{MIDDLE} cannot be read at byte 0: Permission denied", True),
    "the active segment is refused": (refused(ACTIVE), f"{ACTIVE} cannot be read", True),
    "an index is refused": (refused("00000000000000000010.index"), "10.index cannot be read", True),
    "a block cannot be read": (
        lambda two_topics, patch: unreadable(patch, {two_topics / "orders-0" / MIDDLE: (4096, 8192)}),
        f"{MIDDLE}: bytes 4096 to 8192 cannot be read: Input/output error; the copy has zeros there",
        True,
    ),
    "a block of the active segment cannot be read": (
        lambda two_topics, patch: unreadable(patch, {two_topics / "orders-0" / ACTIVE: (4096, 8192)}),
        f"{ACTIVE}: bytes 4096 to 8192 cannot be read",
        True,
    ),
    "a segment is missing": (file_as(MIDDLE, lambda path: None), "offsets 10 to 19 are missing", True),
    "a segment is empty": (file_as(MIDDLE, Path.touch), "offsets 10 to 19 are missing", True),
    "a segment is torn": (torn, f"{MIDDLE}: ends at byte 0, 500 bytes before the end of the file", True),
    "a segment is damaged": (flipped, "CrcMismatch: ", True),
    "the end is below a checkpoint": (
        below_checkpoint,
        "offsets 30 to 412 are missing: the log ends before 413, which recovery-point-offset-checkpoint has",
        True,
    ),
    "a folder of a strange name has segments": (
        lambda two_topics, _: shutil.copytree(two_topics / "orders-0", two_topics / "orders-00"),
        "orders-00: not read: it holds 3 segments",
        True,
    ),
    "leader epochs are torn": (
        file_as("leader-epoch-checkpoint", lambda path: path.write_bytes(b"0\n2\n0 0\n")),
        "leader-epoch-checkpoint: Malformed: the file ends",
        True,
    ),
    "the topic id is empty": (
        file_as("partition.metadata", lambda path: path.write_bytes(b"")),
        "partition.metadata: Malformed: the file ends",
        True,
    ),
    "meta.properties is empty": (
        beside("meta.properties", lambda path: path.write_bytes(b"")),
        "meta.properties: it is empty",
        True,
    ),
    "meta.properties is a pipe": (
        beside("meta.properties", FIFO),
        "meta.properties cannot be read",
        True,
    ),
    "a checkpoint is torn": (
        beside("recovery-point-offset-checkpoint", lambda path: path.write_bytes(b"0\n9\n")),
        "recovery-point-offset-checkpoint: Malformed: the file ends",
        True,
    ),
}


@pytest.mark.parametrize("cause", OBSTACLES)
def test_an_obstacle_is_named_and_all_else_is_stored(
    cause: str,
    two_topics: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    put, text, has_folder = OBSTACLES[cause]
    target = str(tmp_path / "backup")
    with monkeypatch.context() as patch:
        put(two_topics, patch)
        # the second one finds the objects, and reads again what is wrong; a folder that is gone stays so
        times = 1 if put is gone else 2
        for _ in range(times):
            assert main(["backup", str(two_topics), "--to", target]) == 1
            out, err = capfd.readouterr()
            assert text in err and "left out" in err.splitlines()[-1]
            assert "not whole" in out and "read back" not in out and "Traceback" not in err
    point = list_points(target)[-1]
    assert not point.is_whole and text in "\n".join(map(str, point.omissions))
    assert parse_point(point_bytes(point), "x") == point
    folders = [each.folder for each in point.directories[0].partitions]
    assert folders == (["orders-0", "sound-0"] if has_folder else ["sound-0"])
    path = f"{target}/points/{point.name}"
    assert len(list(kodec.PartitionLog(f"{path}/sound-0").records())) == 30
    # the point says it to all who read it
    assert main(["backup", "--to", target, "--list"]) == 1
    out, err = capfd.readouterr()
    assert text in out and out.count("not whole") == times and ", whole" not in out
    assert main(["backup", "--to", target, "--check"]) == 1
    out, err = capfd.readouterr()
    assert text in err and "not whole since taken" in out
    assert main(["backup", "--to", target, "--list", "--json"]) == 1
    facts = json.loads(capfd.readouterr().out.splitlines()[-1])
    reasons = [f"{each['path']}: {each['reason']}" for each in facts["directories"][0]["leftOut"]]
    assert facts["whole"] is False and text in "\n".join(reasons)


@pytest.mark.parametrize(
    "cause",
    [each for each in OBSTACLES if "segment" in each or each.startswith("the folder") or "block" in each],
)
def test_a_reader_of_the_point_notices_what_is_not_in_it(
    cause: str,
    two_topics: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patch:
        OBSTACLES[cause][0](two_topics, patch)
        name = plan_backup(two_topics, tmp_path / "backup").apply().point.name
    path = f"{tmp_path}/backup/points/{name}"
    if "strange name" in cause:
        (left,) = kodec.LogDirectory(path).left_out
        assert (
            str(left)
            == f"{path}/orders-00: not read: it holds 3 segments, and has not the name of a topic-partition"
        )
        return
    with pytest.raises((OSError, OffsetsMissing, kodec.errors.FormatError)) as raised:
        list(kodec.PartitionLog(f"{path}/orders-0").records())
    if isinstance(raised.value, OSError):
        assert "not in the point" in str(raised.value) and str(two_topics) in str(raised.value)
    # `ls` and `find --count` read no checksums
    by_headers = isinstance(raised.value, (OSError, OffsetsMissing))
    for verb in (*((["ls"], ["find", "--count"]) if by_headers else ()), ["verify"]):
        assert main([verb[0], path, *verb[1:]]) == 1, verb
        assert "orders-0" in "".join(capfd.readouterr())


def test_what_is_rightly_left_out_is_said_and_the_point_is_whole(
    two_topics: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A replica that is being deleted, a folder in a partition's, a name that no broker gives."""
    name = f"old-0.{'0' * 32}-delete"
    shutil.copytree(two_topics / "orders-0", two_topics / name)
    (two_topics / "orders-0" / "notes").mkdir()
    (two_topics / "orders-0" / "a\nb").touch()
    (two_topics / "orders-0" / "\udcff").touch()
    target = str(tmp_path / "backup")
    assert main(["backup", str(two_topics), "--to", target]) == 0
    out, err = capfd.readouterr()
    assert "read back" in out and "left out" not in err and len(err.splitlines()) >= 4
    (point,) = list_points(target)
    assert {each.cause for each in point.omissions} == {Cause.ABSENT} and point.is_whole
    left = kodec.LogDirectory(f"{target}/points/{point.name}").left_out
    assert name in [each.path.name for each in left]


@pytest.mark.parametrize("name", [MIDDLE, ACTIVE])
def test_a_segment_that_is_a_link_is_stored_as_a_broker_reads_it(
    name: str, two_topics: Path, tmp_path: Path
) -> None:
    path = two_topics / "orders-0" / name
    path.rename(tmp_path / "moved.log")
    path.symlink_to(tmp_path / "moved.log")
    report = plan_backup(two_topics, tmp_path / "backup").apply()
    assert report.point.is_whole
    there = kodec.PartitionLog(f"{tmp_path}/backup/points/{report.point.name}/orders-0")
    assert len(list(there.records())) == 30


def test_a_disk_that_is_gone_does_not_prevent_the_others_from_being_stored(
    two_topics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shutil.copytree(two_topics, tmp_path / "other")
    with monkeypatch.context() as patch:
        unlisted(patch, other, OSError(errno.EIO, "Input/output error"))
        report = plan_backup([two_topics, other], tmp_path / "backup").apply()
        with pytest.raises(OSError, match="Input/output error"):
            plan_backup([other], tmp_path / "backup")
    assert [each.path for each in report.omissions.losses] == [other]
    point = f"{tmp_path}/backup/points/{report.point.name}"
    assert len(kodec.LogDirectory(f"{point}/node1").topic_partitions) == 2
    with pytest.raises(OSError, match="not in the point"):
        kodec.LogDirectory(f"{point}/dir1")
    assert main(["ls", point]) == 1


def test_a_disk_that_gives_back_nothing_is_left_after_some_blocks(
    two_topics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr(capture, "MOST_BAD_BLOCKS", 1)
    with monkeypatch.context() as patch:
        unreadable(patch, {two_topics / "orders-0" / MIDDLE: (0, 1 << 30)})
        report = plan_backup(two_topics, tmp_path / "backup").apply()
    (loss,) = report.omissions.losses
    assert loss.cause is Cause.UNREACHABLE
    golden(loss.reason)


def test_a_replacement_that_a_killed_broker_has_begun_is_in_the_point(
    two_topics: Path, tmp_path: Path
) -> None:
    """No broker finishes it, and the new segment alone has the records."""
    path = two_topics / "orders-0" / MIDDLE
    path.rename(path.with_name(f"{MIDDLE}.swap"))
    assert len(list(kodec.PartitionLog(two_topics / "orders-0").records())) == 30
    report = plan_backup(two_topics, tmp_path / "backup").apply()
    there = kodec.PartitionLog(f"{tmp_path}/backup/points/{report.point.name}/orders-0")
    assert report.point.is_whole and len(list(there.records())) == 30


@pytest.mark.parametrize("change", ["flipped", "torn", "missing"])
def test_metadata_snapshots_are_looked_at(change: str, tmp_path: Path) -> None:
    logs = shutil.copytree(OF_KAFKA, tmp_path / "logs")
    folder = logs / "__cluster_metadata-0"
    snapshot = sorted(folder.glob("*.checkpoint"))[-1]
    if change == "flipped":
        data = bytearray(snapshot.read_bytes())
        data[len(data) // 2] ^= 1
        snapshot.write_bytes(data)
    elif change == "torn":
        os.truncate(snapshot, snapshot.stat().st_size - 80)
    else:
        # a log that begins later, without a snapshot of what was before
        log = folder / f"{0:020}.log"
        log.rename(folder / f"{1:020}.log")
        for each in folder.glob("*.checkpoint"):
            each.unlink()
    report = plan_backup(logs, tmp_path / "backup").apply()
    losses = [str(each) for each in report.omissions.losses]
    wanted = "no snapshot" if change == "missing" else snapshot.name
    assert any(wanted in each for each in losses), losses


# -- the store ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["missing", "shorter", "other bytes"])
def test_an_object_that_is_lost_is_seen_and_a_backup_stores_it_again(
    change: str,
    two_topics: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(capture, "RACY_NS", -(10**18))
    target = tmp_path / "backup"
    plan_backup(two_topics, target).apply()
    (path,) = (target / "objects" / "orders-0").glob(f"{MIDDLE}.*")
    data = path.read_bytes()
    if change == "missing":
        path.unlink()
    else:
        path.write_bytes(data[:-1] if change == "shorter" else data[:-1] + b"?")
    # a listing shows names and sizes
    assert main(["backup", "--to", str(target), "--list"]) == int(change != "other bytes")
    out = capfd.readouterr().out
    assert (str(path) in out and "not whole" in out) == (change != "other bytes")
    assert main(["backup", "--to", str(target), "--check"]) == 1
    assert str(path) in capfd.readouterr().out
    assert main(["backup", str(two_topics), "--to", str(target), "--check"]) == 0
    assert "1 new object" in capfd.readouterr().out and path.read_bytes() == data
    assert list(check_backup(target)) == []
    assert main(["backup", "--to", str(target), "--list"]) == 0


def test_one_damaged_manifest_hides_no_other_point(
    two_topics: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "backup"
    first, second = (plan_backup(two_topics, target).apply().point.name for _ in range(2))
    manifest = target / "points" / f"{first}.json.gz"
    manifest.write_bytes(manifest.read_bytes()[:-9])
    assert main(["backup", "--to", str(target), "--list"]) == 1
    out, err = capfd.readouterr()
    assert second in out and str(manifest) in err


def test_the_newest_point_is_the_last_one_taken_whatever_a_clock_says(
    two_topics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "backup"
    names = []
    for at in (1.8e9, 4e9, 1.9e9, 2e9, 1e8):
        monkeypatch.setattr("kodec.log.backup.backup.time.time", lambda at=at: at)
        names.append(plan_backup(two_topics, target).apply().point.name)
    assert [each.name for each in list_points(target)] == names
    assert plan_prune(target, keep=1).points == names[:-1]
    assert plan_prune(target, keep=3).points == names[:2]


def test_the_newest_whole_point_is_kept(two_topics: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    names = [plan_backup(two_topics, target).apply().point.name for _ in range(2)]
    (two_topics / "orders-0" / MIDDLE).unlink()
    names += [plan_backup(two_topics, target).apply().point.name for _ in range(2)]
    assert plan_prune(target, keep=1).points == [names[0], names[2]]


# -- kills ----------------------------------------------------------------------------------------------


def test_what_killed_backups_have_left_is_no_obstacle(
    two_topics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container each process has the same number."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    target = tmp_path / "backup"

    def killed(at: str) -> None:
        child = os.fork()
        if not child:
            link = os.link

            def linked(source: Path, path: Path) -> None:
                if at in str(path):
                    os._exit(0)
                link(source, path)

            os.link = linked  # type: ignore[assignment]
            plan_backup(two_topics, target).apply()
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0

    killed("kodec-backup.json")
    killed("/objects/")
    assert list((tmp_path / "temporary").iterdir())
    (mark,) = (target / "running").iterdir()
    # of this process, if its number were all that counts
    facts = json.loads(mark.read_bytes())
    mark.write_text(json.dumps({**facts, "pid": os.getpid()}))
    report = plan_backup(two_topics, target).apply()
    assert report.point.is_whole and list(check_backup(target)) == []
    assert list((tmp_path / "temporary").iterdir()) == []
    plan_backup(two_topics, target).apply()
    plan_prune(target, keep=1).apply()
    assert [path for path in target.rglob("*.part") if "objects" in path.parts] == []


# -- names ----------------------------------------------------------------------------------------------


def test_a_folder_named_like_a_point_is_one_only_with_its_manifest(two_topics: Path, tmp_path: Path) -> None:
    folder = tmp_path / "points" / "20261126T010500Z"
    shutil.copytree(two_topics, folder)
    assert not _is_in_point(open_location(folder))
    assert kodec.LogDirectory(folder).partition("orders", 0).end_offset == 30
    assert main(["ls", str(folder)]) == 0
    name = plan_backup(two_topics, tmp_path / "backup").apply().point.name
    assert _is_in_point(open_location(tmp_path / "backup" / "points" / name))
