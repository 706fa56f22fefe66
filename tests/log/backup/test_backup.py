"""Backups: what a point has is what was there, also beside a broker, after a kill, and in a store."""

from __future__ import annotations

import errno
import gzip
import json
import os
import pickle
import random
import re
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import ArgumentError, KodecError, LimitExceeded, Malformed, ReadFailed, StalePlan
from kodec.log.backup import capture
from kodec.log.backup.repository import PRUNING, RUNNING, Repository
from kodec.log.files.checkpoints import write_offsets
from kodec.log.remote.opening import open_location
from kodec.log.remote.point import Point, parse_point, point_bytes
from kodec.operations import check_backup, list_points, plan_backup, plan_prune
from kodec.stores.storage import Local, Location
from tests.golden import Golden
from tests.log.stores import KEY, SECRET, Server

LOGS = Path("tests/data/kafka-4.3.1/logs")


def _is_in_point(path: Path) -> bool:
    return isinstance(path, Location) and isinstance(path.files, Point)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "WAIT", 0)


def point_of(target: object, name: str) -> str:
    return f"{target}/points/{name}"


def same(point: str, logs: Path) -> None:
    """Whether a point has the records, groups and metadata of a log directory, and no problem of its own."""
    here, there = kodec.LogDirectory(logs), kodec.LogDirectory(point)
    assert there.topic_partitions == here.topic_partitions
    for log in here:
        found = there.partition(*log.topic_partition)
        assert list(found.records(control=True)) == list(log.records(control=True))
        assert (found.start_offset, found.end_offset) == (log.start_offset, log.end_offset)
    problems = [each.what for each in kodec.repair.verify(point) if not each.note]
    assert problems == [each.what for each in kodec.repair.verify(logs) if not each.note]
    assert kodec.operations.read_metadata(point).topics == kodec.operations.read_metadata(logs).topics


def write(folder: Path, *values: bytes) -> None:
    with kodec.LogWriter(folder) as writer:
        for value in values:
            writer.append([kodec.Record(value=value, timestamp=1)])


# -- what a point has -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pytest.param("files", marks=pytest.mark.quick), "objects"])
def test_a_point_is_read_as_the_log_directory(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    target: Any = tmp_path / "backup"
    if kind == "objects":
        request.getfixturevalue("server").objects.clear()
        target = "s3://logs/backup"
    report = plan_backup(LOGS, target).apply()
    assert report.omissions.is_whole and report.new > 0 and report.point.is_whole
    same(point_of(target, report.point.name), LOGS)
    assert list(check_backup(target)) == []
    again = plan_backup(LOGS, target).apply()
    assert (again.new, again.new_bytes) == (0, 0) and again.point.name > report.point.name
    same(point_of(target, again.point.name), LOGS)
    assert [each.name for each in list_points(target)] == [report.point.name, again.point.name]
    plan = plan_prune(target, keep=1)
    assert plan.points == [report.point.name] and plan.objects == {}
    plan.apply()
    assert [each.name for each in list_points(target)] == [again.point.name]
    same(point_of(target, again.point.name), LOGS)


def test_only_what_has_changed_is_read_and_stored(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "RACY_NS", -(10**18))
    target = tmp_path / "backup"
    plan_backup(logs, target).apply()
    read: list[str] = []
    copy = capture._Taker.copy

    def noted(self: Any, path: Path, *arguments: Any) -> Any:
        read.append(f"{path.parent.name}/{path.name}")
        return copy(self, path, *arguments)

    monkeypatch.setattr(capture._Taker, "copy", noted)
    plan_backup(logs, target).apply()
    assert [each for each in read if each.endswith(".log") and "cluster" not in each] == []
    read.clear()
    write(logs / "orders-0", b"more")
    report = plan_backup(logs, target).apply()
    name = sorted(path.name for path in (logs / "orders-0").glob("*.log"))[-1]
    assert [each for each in read if each.endswith(".log")] == [f"orders-0/{name}"]
    same(point_of(target, report.point.name), logs)


def test_a_file_that_was_just_written_is_read_again(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next change may leave the same times."""
    # however long ago that is on a slow machine
    monkeypatch.setattr(capture, "RACY_NS", 10**18)
    target = tmp_path / "backup"
    plan_backup(logs, target).apply()
    (point,) = list_points(target)
    for partition in point.directories[0].partitions:
        assert all(file.seen is None for file in partition.files.values())


def test_several_log_directories_are_folders_of_the_point(logs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.move(logs / "orders-1", other / "orders-1")
    report = plan_backup([logs, other], tmp_path / "backup").apply()
    names = [each.name for each in report.point.directories]
    assert names == ["node1", "dir1"]
    point = point_of(tmp_path / "backup", report.point.name)
    found = kodec.LogDirectory(f"{point}/node1", f"{point}/dir1")
    assert found.topic_partitions == kodec.LogDirectory(LOGS).topic_partitions
    assert len(kodec.operations.read_groups(f"{point}/node1", f"{point}/dir1").offsets) == 16


def test_topics_are_chosen_and_kafkas_own_come_with_them(tmp_path: Path) -> None:
    report = plan_backup(LOGS, tmp_path / "backup", topics=["empty"]).apply()
    folders = [each.folder for each in report.point.directories[0].partitions]
    own = ["__transaction_state-0", "__consumer_offsets-0", "__share_group_state-0", "__cluster_metadata-0"]
    assert folders == [*own, "empty-0"]
    with pytest.raises(KeyError, match="no topic nobody"):
        plan_backup(LOGS, tmp_path / "backup", topics=["nobody"])


def test_folders_are_listed_until_no_transaction_ends_meanwhile(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a transaction may have ended in one partition only."""
    of = capture.Listing.of
    seen: list[str] = []
    busy = 3

    def ends(folder: Path) -> capture.Listing:
        found = of(folder)
        seen.append(folder.name)
        if seen.count("orders-0") <= busy and folder.name == "transactions-1":
            with (logs / "__transaction_state-0" / f"{0:020}.log").open("ab") as file:
                file.write(b"\0")
        return found

    monkeypatch.setattr(capture.Listing, "of", ends)
    assert plan_backup(logs, tmp_path / "backup").notes == []
    assert seen.count("orders-0") == 4 and seen[0] == "__transaction_state-0"
    busy = 1000
    (note,) = plan_backup(logs, tmp_path / "backup").notes
    assert note.startswith("__transaction_state-0: transactions ended while the folders were listed")


# -- beside a broker ------------------------------------------------------------------------------


def during(monkeypatch: pytest.MonkeyPatch, folder: str, change: Callable[[int], None]) -> list[int]:
    """Have something happen each time that the first file of a folder is copied; the times that it was."""
    seen: list[int] = []
    copy = capture._Taker.copy
    first: dict[str, str] = {}

    def changed(self: Any, path: Path, *arguments: Any) -> Any:
        if path.parent.name == folder and first.setdefault(folder, path.name) == path.name:
            seen.append(len(seen))
            change(len(seen) - 1)
        return copy(self, path, *arguments)

    monkeypatch.setattr(capture._Taker, "copy", changed)
    return seen


def test_records_that_come_after_the_listing_are_not_in_the_point(logs: Path, tmp_path: Path) -> None:
    plan = plan_backup(logs, tmp_path / "backup")
    write(logs / "orders-0", b"later")
    report = plan.apply()
    assert report.omissions.is_whole
    log = kodec.PartitionLog(point_of(tmp_path / "backup", report.point.name) + "/orders-0")
    assert log.end_offset == 421
    assert [each for each in kodec.repair.verify(log.path) if not each.note] == []
    (partition,) = [each for each in report.point.directories[0].partitions if each.folder == "orders-0"]
    assert partition.end_offset == 421 and partition.attempts == 1


def test_checkpoints_are_not_newer_than_the_listing(logs: Path, tmp_path: Path) -> None:
    """Else a high watermark could be above the end of a log."""
    owner = kodec.TopicPartition("orders", 0)
    write_offsets(logs / "replication-offset-checkpoint", {owner: 421})
    plan = plan_backup(logs, tmp_path / "backup")
    write(logs / "orders-0", b"later")
    write_offsets(logs / "replication-offset-checkpoint", {owner: 422})
    point = plan.apply().point
    found = kodec.LogDirectory(point_of(tmp_path / "backup", point.name))
    assert found.partition("orders", 0).end_offset == 421
    assert found.roots[0].high_watermarks() == {owner: 421}
    (shown,) = [each for each in point.directories[0].partitions if each.folder == "orders-0"]
    assert shown.high_watermark == 421


def test_segments_that_retention_deletes_meanwhile_are_a_later_start(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete(time: int) -> None:
        if not time:
            for path in (logs / "segments-0").glob(f"{0:020}.*"):
                path.unlink()

    during(monkeypatch, "segments-0", delete)
    report = plan_backup(logs, tmp_path / "backup").apply()
    assert report.omissions.is_whole
    (partition,) = [each for each in report.point.directories[0].partitions if each.folder == "segments-0"]
    assert partition.attempts == 2
    point = point_of(tmp_path / "backup", report.point.name)
    assert list(kodec.PartitionLog(f"{point}/segments-0").records()) == list(
        kodec.PartitionLog(logs / "segments-0").records()
    )


@pytest.mark.parametrize("size", ["the same", "another"])
@pytest.mark.parametrize("when", ["before it is copied", "after it is copied"])
def test_a_closed_segment_that_is_written_to_meanwhile_is_read_again(
    when: str, size: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, as a broker never does, but a repair or a restored copy may."""
    folder = logs / "segments-0"
    closed = folder / f"{0:020}.log"
    second = sorted(folder.glob("*.log"))[1]
    data = closed.read_bytes()
    batches = list(kodec.read_batches(data))
    written = data[: batches[-1].position] if size == "another" else data
    copy = capture._Taker.copy
    times: list[Path] = []

    def changed(self: Any, path: Path, *arguments: Any) -> Any:
        if path == (closed if when == "before it is copied" else second) and not times:
            times.append(path)
            with closed.open("r+b") as file:
                file.write(written)
                file.truncate()
            # a moment may be as long as the clock of a file system
            os.utime(closed, ns=(1, 1))
        return copy(self, path, *arguments)

    monkeypatch.setattr(capture._Taker, "copy", changed)
    report = plan_backup(logs, tmp_path / "backup").apply()
    (partition,) = [each for each in report.point.directories[0].partitions if each.folder == "segments-0"]
    assert times and partition.attempts == 2
    point = Path(point_of(tmp_path / "backup", report.point.name))
    with open_location(f"{point}/segments-0/{closed.name}").open("rb") as file:
        assert file.read() == written


@pytest.mark.parametrize("swap", [False, True], ids=["replaced", "in the middle of it"])
def test_a_segment_that_is_compacted_meanwhile_is_read_again(
    swap: bool, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = logs / "segments-0"
    bases = sorted(int(path.stem) for path in folder.glob("*.log"))

    def compact(time: int) -> None:
        # the first two become one
        if time:
            return
        one, two = (folder / f"{base:020}.log" for base in bases[:2])
        made = folder / f"{bases[0]:020}.log.swap"
        made.write_bytes(one.read_bytes() + two.read_bytes())
        for path in folder.glob(f"{bases[1]:020}.*"):
            if path.suffix != ".snapshot":
                path.unlink()
        made.rename(one)
        one.with_suffix(".index").write_bytes(b"")
        if swap:
            (folder / f"{bases[0]:020}.log.swap").write_bytes(b"")

    during(monkeypatch, "segments-0", compact)
    if swap:
        looks = iter([True, False])
        monkeypatch.setattr("kodec.log.backup.backup.is_locked", lambda root: next(looks, False))
    report = plan_backup(logs, tmp_path / "backup").apply()
    assert report.omissions.is_whole
    point = point_of(tmp_path / "backup", report.point.name)
    log = kodec.PartitionLog(f"{point}/segments-0")
    assert len(log.segments) == len(bases) - 1
    assert list(log.records()) == list(kodec.PartitionLog(LOGS / "segments-0").records())


def test_a_partition_that_never_stands_still_is_named_and_the_others_are_there(
    logs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = logs / "segments-0" / f"{0:020}.log"

    def replace(time: int) -> None:
        data = name.read_bytes()
        name.unlink()
        (logs / f"keep-{time}").mkdir()
        name.write_bytes(data)

    times = during(monkeypatch, "segments-0", replace)
    assert main(["backup", str(logs), "--to", str(tmp_path / "backup")]) == 1
    assert len(times) == capture.ATTEMPTS
    assert "segments-0: not in the point: changed each time it was read, 5 times" in capsys.readouterr().err
    (point,) = list_points(tmp_path / "backup")
    assert not point.is_whole and [each.path.name for each in point.omissions] == ["segments-0"]
    # it is listed in the point, and not read as an empty one
    there = kodec.LogDirectory(point_of(tmp_path / "backup", point.name))
    assert len(there.topic_partitions) == 28 and len(point.directories[0].partitions) == 27
    with pytest.raises(OSError, match=r"not in the point: .*changed each time"):
        there.partition("segments", 0).end_offset  # noqa: B018


def test_a_topic_that_is_deleted_meanwhile_is_named(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    during(monkeypatch, "orders-2", lambda time: shutil.rmtree(logs / "orders-2"))
    report = plan_backup(logs, tmp_path / "backup").apply()
    (gone,) = report.omissions
    golden(str(gone))
    assert not report.point.is_whole


def test_the_active_segment_ends_at_its_last_whole_batch(logs: Path, tmp_path: Path) -> None:
    last = sorted((logs / "orders-0").glob("*.log"))[-1]
    data = last.read_bytes()
    # which say that more was there
    (logs / "recovery-point-offset-checkpoint").unlink()
    (logs / "replication-offset-checkpoint").unlink()
    for cut in (1, 30, 100):
        last.write_bytes(data[:-cut])
        report = plan_backup(logs, tmp_path / "backup").apply()
        assert report.omissions.is_whole
        log = kodec.PartitionLog(point_of(tmp_path / "backup", report.point.name) + "/orders-0")
        assert log.segments[-1].torn_tail is None and log.end_offset < 421
        assert [
            each
            for each in kodec.repair.verify(log.path)
            if not each.note and "end of the log" not in each.what
        ] == []


def test_damage_is_stored_as_it_is_and_named(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = logs / "orders-0" / f"{0:020}.log"
    data = bytearray(broken.read_bytes())
    data[1000] ^= 1
    broken.write_bytes(data)
    for _ in range(2):
        assert main(["backup", str(logs), "--to", str(tmp_path / "backup")]) == 1
        out, err = capsys.readouterr()
        assert "skipped bytes 0 to 1295: CrcMismatch: " in err and f"at byte 17 of {broken}\n" in err
        assert "not whole" in out and "read back" not in out
    name = list_points(tmp_path / "backup")[-1].name
    with open_location(point_of(tmp_path / "backup", name) + f"/orders-0/{broken.name}").open("rb") as file:
        assert file.read() == data
    # what a point lacks gives the same exit code wherever it is shown
    assert main(["backup", "--to", str(tmp_path / "backup"), "--list"]) == 1
    out = capsys.readouterr().out
    assert "not whole" in out and "CrcMismatch" in out


# -- kills ----------------------------------------------------------------------------------------


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_each_file_leaves_whole_points_and_the_next_backup_goes_on(
    after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "logs"
    for name in ("orders-0", "compacted-0", "__consumer_offsets-0"):
        shutil.copytree(LOGS / name, source / name)
    shutil.copy(LOGS / "meta.properties", source)
    create, remove = Local.create, Local.remove
    left = [0]

    def counted(call: Callable[..., None]) -> Callable[..., None]:
        def dies(self: Local, *words: Any) -> None:
            left[0] -= 1
            if left[0] == 0 and after:
                call(self, *words)
            if left[0] <= 0:
                # nothing is cleaned up either
                raise Killed
            call(self, *words)

        return dies

    number = 0
    while True:
        number += 1
        target = tmp_path / f"backup-{number}"
        left[0] = number
        with monkeypatch.context() as patch:
            patch.setattr(Local, "create", counted(create))
            patch.setattr(Local, "remove", counted(remove))
            try:
                plan_backup(source, target, threads=1).apply()
            except Killed:
                pass
            else:
                break
        repository = Repository(target)
        points = repository.names() if repository.exists() else []
        assert len(points) <= 1
        if points:
            assert list(check_backup(target)) == []
        # the marks of this process, which lives, are those of another backup
        if any(target.glob("running/*")):
            with (
                pytest.raises(BlockingIOError, match="if it was killed, delete this mark"),
                repository.marked(PRUNING),
            ):
                pass
        for path in target.glob("running/*"):
            path.unlink()
        report = plan_backup(source, target).apply()
        assert report.omissions.is_whole and list(check_backup(target)) == []
        assert len(repository.names()) == len(points) + 1
        plan_prune(target, keep=1).apply()
        assert set(repository.all_objects()) == set(list_points(target)[0].objects())
    assert number > 8


def test_an_object_of_a_killed_process_is_read_before_it_is_used(logs: Path, tmp_path: Path) -> None:
    plan_backup(logs, tmp_path / "backup").apply()
    victim = next((tmp_path / "backup" / "objects" / "orders-0").glob("*.log.*"))
    data = victim.read_bytes()
    victim.write_bytes(data[:-1] + b"x")
    (problem,) = check_backup(tmp_path / "backup")
    assert problem.path == victim and problem.what.startswith("its SHA-256 is")
    # Times are too new to be believed: all is read again, and what is stored is compared.
    report = plan_backup(logs, tmp_path / "backup").apply()
    assert report.new == 1 and victim.read_bytes() == data
    assert list(check_backup(tmp_path / "backup")) == []


def test_a_missing_object_is_stored_again(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "RACY_NS", -(10**18))
    plan_backup(logs, tmp_path / "backup").apply()
    victim = next((tmp_path / "backup" / "objects" / "orders-0").glob("*.log.*"))
    victim.unlink()
    (point,) = list_points(tmp_path / "backup")
    (problem,) = check_backup(tmp_path / "backup")
    assert (problem.what, problem.points) == ("missing", [point.name])
    with pytest.raises(ReadFailed, match="the point needs this object, and it is missing"):
        list(kodec.PartitionLog(point_of(tmp_path / "backup", point.name) + "/orders-0").records())
    assert plan_backup(logs, tmp_path / "backup").apply().new == 1
    assert list(check_backup(tmp_path / "backup")) == []


def test_a_store_that_holds_something_else_fails_the_backup(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.objects.clear()
    create = Repository._create

    def flips(self: Repository, path: Path, data: Any) -> None:
        create(self, path, data)
        key = path.key  # type: ignore[attr-defined]
        if "/objects/orders-1" in key:
            server.objects[key] = server.objects[key][:-1] + b"?"

    monkeypatch.setattr(Repository, "_create", flips)
    with pytest.raises(ReadFailed, match="were stored, not"):
        plan_backup(LOGS, "s3://logs/flipped").apply()
    assert Repository("s3://logs/flipped").names() == []


# -- checks, lists, deletion ----------------------------------------------------------------------


def test_points_are_deleted_with_what_only_they_need(logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    names = []
    for number in range(3):
        write(logs / "orders-0", b"%d" % number * 1000)
        names.append(plan_backup(logs, target).apply().point.name)
    with pytest.raises(ValueError, match=r"no point of .* would be left"):
        plan_prune(target, points=names)
    with pytest.raises(ValueError, match="at least 1"):
        plan_prune(target)
    with pytest.raises(KeyError, match="no point 1"):
        plan_prune(target, points=["1"])
    stale = plan_prune(target, keep=1)
    plan = plan_prune(target, points=names[1:2])
    assert plan.kept == [names[0], names[2]] and len(plan.objects) == 1
    plan.apply()
    with pytest.raises(StalePlan):
        stale.apply()
    assert list(check_backup(target)) == []
    plan_prune(target, keep=1).apply()
    assert [each.name for each in list_points(target)] == names[2:]
    same(point_of(target, names[2]), logs)


def test_nothing_is_deleted_while_a_backup_runs_and_the_other_way_round(logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    for _ in range(2):
        plan_backup(logs, target).apply()
    repository = Repository(target)
    plan = plan_prune(target, keep=1)
    with repository.marked(RUNNING), pytest.raises(BlockingIOError, match="writes to this backup"):
        plan.apply()
    with repository.marked(PRUNING), pytest.raises(BlockingIOError, match="deletes from this backup"):
        plan_backup(logs, target).apply()
    with repository.marked(RUNNING):
        plan_backup(logs, target).apply()


def test_the_mark_of_a_process_of_this_host_that_has_ended_is_no_obstacle(logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    plan_backup(logs, target).apply()
    child = os.fork()
    if not child:
        with Repository(target).marked(RUNNING):
            os._exit(0)
    os.waitpid(child, 0)
    (mark,) = (target / RUNNING).iterdir()
    plan_prune(target, keep=1).apply()
    assert not mark.exists()
    other = {"host": "another", "pid": child}
    mark.write_text(json.dumps(other))
    with pytest.raises(BlockingIOError):
        plan_prune(target, keep=1).apply()
    mark.write_text("{")
    with pytest.raises(BlockingIOError):
        plan_prune(target, keep=1).apply()


def test_a_damaged_manifest_is_reported_and_nothing_is_deleted(logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    first, second = (plan_backup(logs, target).apply().point.name for _ in range(2))
    path = target / "points" / f"{second}.json.gz"
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    (problem,) = check_backup(target)
    assert problem.points == [second] and "cannot be read" in problem.what
    with pytest.raises(kodec.errors.Malformed, match="not the manifest of a backup"):
        plan_prune(target, points=[first])
    plan_prune(target, points=[second]).apply()
    assert list(check_backup(target)) == []


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([], 2, "give log directories, or one of --list, --check and --prune"),
        (["--list", "--check"], 2, "give log directories"),
        (["--prune"], 2, "--prune needs --keep or --point"),
        (["--list", "--keep", "1"], 2, "--keep and --apply go with --prune"),
        (["--list", "--point", "x"], 2, "--point goes with"),
        (["--list", "--topic", "x"], 2, "--topic goes with log directories"),
        (["--list"], 2, "no backup is there"),
        (["--check", "--point", "x"], 2, "no backup is there"),
    ],
)
def test_wrong_usage(
    words: list[str], code: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backup", "--to", str(tmp_path / "none"), *words]) == code
    assert text in capsys.readouterr().err


def test_the_verb(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "backup")
    assert main(["backup", str(logs), "--to", target, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["whole"] and first["newObjects"] > 0
    assert main(["backup", str(logs), "--to", target]) == 0
    assert "0 new objects, 0 B, read back" in capsys.readouterr().out
    assert main(["ls", first["path"]]) == 0
    assert main(["backup", "--to", target, "--check"]) == 0
    assert "2 points: no problem" in capsys.readouterr().out
    assert main(["backup", "--to", target, "--prune", "--keep", "1"]) == 3
    assert main(["backup", "--to", target, "--prune", "--keep", "1", "--apply"]) == 0
    capsys.readouterr()
    assert main(["backup", "--to", target, "--list", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert main(["backup", "--to", target, "--check", "--point", "x"]) == 2
    assert "has no point x" in capsys.readouterr().err


def test_refused_targets(logs: Path, tmp_path: Path) -> None:
    for target in (logs, logs / "backup", logs.parent):
        with pytest.raises((ValueError, FileExistsError)):
            plan_backup(logs, target)
    with pytest.raises(FileExistsError, match="is not a backup: name a new folder"):
        plan_backup(logs / "", Path("tests"))
    with pytest.raises(ArgumentError, match="a backup is a folder, or a URL"):
        plan_backup(logs, "http://127.0.0.1/backup")
    with pytest.raises(ValueError, match="given twice"):
        plan_backup([logs, logs], tmp_path / "backup")
    with pytest.raises(kodec.log.remote.resolve.NotALog):  # type: ignore[attr-defined]
        plan_backup(logs / "orders-0", tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


# -- manifests and paths --------------------------------------------------------------------------


def test_a_manifest_cut_or_changed_anywhere_is_refused_or_the_same(tmp_path: Path) -> None:
    report = plan_backup(LOGS, tmp_path / "backup", topics=["empty"]).apply()
    data = point_bytes(report.point)
    assert parse_point(data, "x") == report.point
    for cut in range(len(data)):
        with pytest.raises(KodecError):
            parse_point(data[:cut], "x")
    chance = random.Random(0)
    text = gzip.decompress(data)
    for _ in range(300):
        changed = bytearray(text)
        changed[chance.randrange(len(text))] = chance.randrange(256)
        try:
            parse_point(gzip.compress(bytes(changed)), "x")
        except KodecError as error:
            assert "not the manifest of a backup" in str(error)
    for name in ("../orders-0", "/etc", "..", "a/b", "a\x00b", ""):
        hostile = text.replace(b'"empty-0"', json.dumps(name).encode())
        with pytest.raises(KodecError):
            parse_point(gzip.compress(hostile), "x")


NESTED = b"[" + b"[]," * 1_000_000 + b"[]]"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"begun":', b'"x":' + NESTED + b',"begun":', "more than"),
        (b'"begun":', b'"x":1,"begun":', "'x' is unknown"),
        (b'"folder":', b'"x":1,"folder":', "'x' is unknown"),
        (b'"host":', b'"x":1,"host":', "'x' is unknown"),
        (b'"sha256":', b'"x":1,"sha256":', "'x' is unknown"),
        (b'"listed":', b'"listed":1e999,"y":', "too large"),
        (b'"modified":', b'"modified":NaN,"y":', "is not a number of JSON"),
        (b'"size":', b'"size":1.5,"y":', "y"),
        (b'"attempts":', b'"attempts":' + b"9" * 5_000 + b',"y":', "a number of 5000 digits"),
        (b'"begun":', b'"begun":' + b"[" * 200 + b"]" * 200 + b',"y":', "nested deeper than 100"),
        (b'"format":', b" " * 100_000_000 + b'"format":', "manifest too large"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_a_hostile_manifest_is_refused_before_it_is_built(
    old: bytes, new: bytes, reason: str, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """16 kB of nested lists took 466 MB; a number that no float holds was a traceback in every command."""
    target = tmp_path / "backup"
    first = plan_backup(logs, target).apply().point.name
    bad = target / "points" / "20200101T000000Z.json.gz"
    text = gzip.decompress((target / "points" / f"{first}.json.gz").read_bytes())
    text = text.replace(first.encode(), b"20200101T000000Z").replace(old, new, 1)
    stored = gzip.compress(text, 9)
    tracemalloc.start()
    try:
        with pytest.raises((Malformed, LimitExceeded), match=re.escape(reason)):
            parse_point(stored, "x")
        # beside the text itself, which 100 times the stored bytes and 4 MiB bound
        assert tracemalloc.get_traced_memory()[1] < 3 * (4 << 20) + 400 * len(stored)
    finally:
        tracemalloc.stop()
    bad.write_bytes(stored)
    assert main(["backup", "--to", str(target), "--check"]) == 1
    said = capsys.readouterr()
    assert "the manifest of 20200101T000000Z cannot be read" in said.out + said.err
    assert main(["backup", "--to", str(target), "--list"]) == 1
    assert first in capsys.readouterr().out
    # the good one is read as before
    assert main(["find", point_of(target, first), "--count"]) == 0


def test_the_path_of_a_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = plan_backup(LOGS, tmp_path / "backup").apply().point.name
    path = open_location(tmp_path / "backup" / "points" / name)
    assert _is_in_point(path) and str(path) == f"{tmp_path}/backup/points/{name}"
    segment = open_location(f"{path}/orders-0/{0:020}.log")
    assert pickle.loads(pickle.dumps(segment)) == segment
    assert segment.read_bytes() == (LOGS / "orders-0" / f"{0:020}.log").read_bytes()
    assert not open_location(f"{path}/nothing-0").exists() and open_location(f"{path}/orders-0").is_dir()
    monkeypatch.chdir(tmp_path / "backup")
    assert open_location(f"points/{name}") == path
    rows = kodec.read_table(f"{path}/orders-*", ["topic", "partition", "offset"])
    assert rows.num_rows == sum(
        1 for log in kodec.LogDirectory(path) if log.topic_partition.topic == "orders" for _ in log.records()
    )
    for verb in (["recover"], ["trim", "--bytes", "0"], ["reindex"]):
        assert main([*verb, f"{path}/orders-0"]) == 2
    with pytest.raises(FileNotFoundError):
        kodec.LogDirectory(f"{tmp_path}/backup/points/20000101T000000Z").partition("orders", 0)
    # only such names are points
    assert not _is_in_point(open_location(tmp_path / "points" / "x"))
    assert not _is_in_point(open_location(tmp_path / "points" / f"{name}.json.gz"))


def test_a_disk_that_is_full_leaves_no_point(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Local.create

    def full(self: Local, path: Path, data: Any) -> None:
        if path.parent.name == "orders-1":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        create(self, path, data)

    monkeypatch.setattr(Local, "create", full)
    assert main(["backup", str(logs), "--to", str(tmp_path / "backup")]) == 1
    assert list_points(tmp_path / "backup") == []
    assert not any((tmp_path / "backup" / RUNNING).iterdir())


@pytest.fixture(autouse=True)
def credentials(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "server" in request.fixturenames or "kind" in request.fixturenames:
        found: Server = request.getfixturevalue("server")
        for key, value in {
            "AWS_ENDPOINT_URL": found.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(key, value)
        kodec.stores.objects.object_storage.cache_clear()  # type: ignore[attr-defined]


# -- a segment that grows -------------------------------------------------------------------------


def grown(folder: Path, turn: int, records: int = 20) -> None:
    values = [
        kodec.Record(value=random.Random(turn * 100 + each).randbytes(200), timestamp=1)
        for each in range(records)
    ]
    with kodec.LogWriter(folder) as writer:
        writer.append(values)


def stored_of(point: Any, name: str) -> list[int]:
    """The sizes of the objects of a file of the first topic-partition."""
    return [each.size for each in point.directories[0].partitions[0].files[name].objects]


@pytest.mark.parametrize("kind", ["files", "objects"])
def test_only_the_new_bytes_of_a_segment_are_stored(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    target: Any = tmp_path / "backup"
    if kind == "objects":
        request.getfixturevalue("server").objects.clear()
        target = "s3://logs/parts"
    folder = tmp_path / "logs" / "grows-0"
    folder.parent.mkdir()
    log = f"{0:020}.log"
    expected, points, new = [], [], 0
    for turn in range(24):
        grown(folder, turn)
        report = plan_backup(folder.parent, target).apply()
        assert report.omissions.is_whole
        points.append(report.point)
        expected.append(list(kodec.PartitionLog(folder).records()))
        new += report.new_bytes
        sizes = stored_of(report.point, log)
        assert sum(sizes) == (folder / log).stat().st_size
        # each is larger than all after it
        assert all(each > sum(sizes[at + 1 :]) for at, each in enumerate(sizes))
    assert max(len(stored_of(each, log)) for each in points) == 4
    size = (folder / log).stat().st_size
    assert new < 4 * size
    for point, rows in zip(points, expected, strict=True):
        path = point_of(target, point.name)
        found = kodec.LogDirectory(path).partition("grows", 0)
        assert list(found.records()) == rows
        assert list(found.records(7)) == rows[7:]
        assert [each for each in kodec.repair.verify(path) if not each.note] == []
    assert list(check_backup(target)) == []
    # a closed one goes on with the parts
    with kodec.LogWriter(folder) as writer:
        writer.append([kodec.Record(value=b"last", timestamp=1)])
        writer.roll()
        writer.append([kodec.Record(value=b"of the next", timestamp=1)])
    report = plan_backup(folder.parent, target).apply()
    assert report.new_bytes < size / 2 and len(stored_of(report.point, log)) > 1
    again = plan_backup(folder.parent, target).apply()
    assert again.new == 0
    plan_prune(target, keep=1).apply()
    assert list(check_backup(target)) == []
    last = kodec.LogDirectory(point_of(target, again.point.name)).partition("grows", 0)
    assert list(last.records()) == list(kodec.PartitionLog(folder).records())


def test_a_segment_that_was_replaced_is_stored_whole(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "grows-0"
    folder.parent.mkdir()
    log = f"{0:020}.log"
    for turn in (0, 1):
        grown(folder, turn, 40 - 20 * turn)
        point = plan_backup(folder.parent, tmp_path / "backup").apply().point
    assert len(stored_of(point, log)) == 2
    data = bytearray((folder / log).read_bytes())
    shutil.rmtree(folder)
    for turn in (5, 6, 7):
        grown(folder, turn, 20 * turn)
    point = plan_backup(folder.parent, tmp_path / "backup").apply().point
    assert stored_of(point, log) == [(folder / log).stat().st_size] and len(data) < stored_of(point, log)[0]


def test_a_damaged_part_is_found_and_stored_again(tmp_path: Path) -> None:
    folder, target = tmp_path / "logs" / "grows-0", tmp_path / "backup"
    folder.parent.mkdir()
    for turn in (0, 1):
        grown(folder, turn, 40 - 20 * turn)
        point = plan_backup(folder.parent, target).apply().point
    found = point.directories[0].partitions[0].files[f"{0:020}.log"].objects[1]
    (part,) = [each for each, one in point.objects().items() if one == found]
    path = target / "objects" / part
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert [each.path for each in check_backup(target)] == [path]
    with pytest.raises(ReadFailed, match="in the point"):
        list(kodec.LogDirectory(point_of(target, point.name)).partition("grows", 0).records())
    grown(folder, 2)
    again = plan_backup(folder.parent, target).apply()
    rows = list(kodec.LogDirectory(point_of(target, again.point.name)).partition("grows", 0).records())
    assert len(rows) == 80


def test_parts_that_are_not_the_file_are_refused(tmp_path: Path) -> None:
    folder, target = tmp_path / "logs" / "grows-0", tmp_path / "backup"
    folder.parent.mkdir()
    for turn in (0, 1):
        grown(folder, turn, 40 - 20 * turn)
        point = plan_backup(folder.parent, target).apply().point
    text = json.loads(gzip.decompress(point_bytes(point)))
    for wrong in ([[1, "0" * 64]], [[0, "0" * 64]], [[-1, "0" * 64], [2, "0" * 64]], [[8, "short"]], 5):
        text["directories"][0]["partitions"][0]["files"][f"{0:020}.log"]["parts"] = wrong
        with pytest.raises(KodecError):
            parse_point(gzip.compress(json.dumps(text).encode()), "x")
