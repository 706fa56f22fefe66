"""Whatever a path looks like, changes look for the lock and the checkpoints where the broker has them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.cleaning.compaction import plan_compaction
from kodec.log.cleaning.retention import plan_trim
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.partition import plan_conversion
from kodec.log.files.checkpoints import read_offsets, write_offsets
from kodec.log.files.in_use import writing_processes
from kodec.log.files.listing import TopicPartition, find_partitions
from kodec.log.files.paths import partition_path, require_apart, resolved
from kodec.log.recovery.planning import plan_recoveries, plan_recovery, plan_reindex
from kodec.log.remote.opening import require_outside_logs
from tests.log import made
from tests.log.made import START, batch

pytestmark = pytest.mark.quick

TOPIC_0 = TopicPartition("topic", 0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A log directory with a topic-partition of three segments, the first of which can be deleted."""
    segments = [(at * 10, [batch(at * 10, [(b"k", b"v")] * 10, time=START)]) for at in range(3)]
    made.make(tmp_path / "logs" / "topic-0", segments)
    write_offsets(tmp_path / "logs" / "replication-offset-checkpoint", {TOPIC_0: 15})
    return tmp_path / "logs"


@contextmanager
def another_process(code: str, *arguments: object) -> Iterator[int]:
    """Another process that runs `code`, says that it is ready, and ends when it is not needed any more."""
    script = f"import fcntl, os, sys\n{code}\nprint('ready', flush=True)\nsys.stdin.read()\n"
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid


# Java, and so a broker, takes a lock of this kind.
BROKER = "fd = os.open(sys.argv[1] + '/.lock', os.O_RDWR | os.O_CREAT); fcntl.lockf(fd, fcntl.LOCK_EX)"
CHANGES: dict[str, Callable[[str], Any]] = {
    "trim": lambda path: plan_trim(path, before_offset=10).apply(),
    "compact": lambda path: plan_compaction(path, from_start=True).apply(),
}


def ways(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The folder by every kind of path; the working directory is changed for the relative ones."""
    monkeypatch.chdir(folder)
    yield "."
    yield "../topic-0"
    yield "../topic-0/."
    monkeypatch.chdir(folder.parent)
    yield "topic-0"
    yield str(folder)
    (folder.parent.parent / "other").symlink_to(folder.parent)
    yield str(folder.parent.parent / "other" / "topic-0")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_running_broker_is_found_by_every_path(
    root: Path, change: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made.files(root / "topic-0")
    with another_process(BROKER, root):
        for path in ways(root / "topic-0", monkeypatch):
            with pytest.raises(BlockingIOError, match="in use"):
                change(path)
            assert made.files(root / "topic-0") == before, path


def test_the_high_watermark_counts_by_every_path(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ways(root / "topic-0", monkeypatch):
        assert kodec.PartitionLog(path).root == root
        assert [each.base_offset for each in plan_trim(path, retention_bytes=0).deleted] == [0], path
        with pytest.raises(kodec.errors.OffsetOutOfRange):
            plan_trim(path, before_offset=16)


def test_the_log_start_offset_counts_by_every_path(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_offsets(root / "log-start-offset-checkpoint", {TOPIC_0: 13})
    for path in ways(root / "topic-0", monkeypatch):
        with kodec.PartitionLog(path) as log:
            assert log.start_offset == 13, path


@pytest.mark.parametrize("name", ["trim", "compact"])
def test_the_commands_leave_nothing_in_the_folder(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root / "topic-0")
    options = {"trim": ["--before-offset", "15"], "compact": ["--from-start"]}[name]
    assert main([name, ".", "--apply", *options]) == 0, capsys.readouterr().err
    suffixes = {path.suffix for path in (root / "topic-0").iterdir()}
    assert suffixes <= {".log", ".index", ".timeindex", ".snapshot"}
    assert (root / ".lock").exists()
    beside = {"trim": "log-start-offset-checkpoint", "compact": "cleaner-offset-checkpoint"}[name]
    assert read_offsets(root / beside) == {TOPIC_0: {"trim": 15, "compact": 10}[name]}


def test_the_shell_knows_by_which_link_it_came(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = root.parent / "elsewhere" / "orders-7"
    link.parent.mkdir()
    link.symlink_to(root / "topic-0")
    monkeypatch.chdir(link)
    monkeypatch.setenv("PWD", str(link))
    assert partition_path(".").path == link
    for other in ("", "relative", str(root), str(root / "gone"), f"{link}/../orders-7"):
        monkeypatch.setenv("PWD", other)
        assert resolved(".") == root / "topic-0"
    (root / "topic-0" / "sub").mkdir()
    monkeypatch.chdir(root / "topic-0" / "sub")
    assert resolved("..") == root / "topic-0"
    assert resolved("../..") == root


def test_nothing_is_written_through_a_linked_folder(root: Path) -> None:
    link = root.parent / "elsewhere" / "topic-0"
    link.parent.mkdir()
    link.symlink_to(root / "topic-0")
    before = made.files(root / "topic-0")
    for change in CHANGES.values():
        with pytest.raises(ValueError, match="symbolic link"):
            change(str(link))
    for plan in (plan_recovery(link), plan_reindex(link), *plan_recoveries(link.parent)):
        assert "symbolic link" in plan.problems[0]
        with pytest.raises(ValueError, match="symbolic link"):
            plan.apply()
    with pytest.raises(ValueError, match="symbolic link"):
        plan_conversion(root / "topic-0", link, ConvertOptions(compression="lz4")).apply()
    assert made.files(root / "topic-0") == before
    assert [path.name for path in link.parent.iterdir()] == ["topic-0"]
    # Reading through it is fine.
    assert len(list(kodec.PartitionLog(link).records())) == 30


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux reports open files")
def test_a_broker_that_knows_the_folder_by_another_path_is_found(root: Path) -> None:
    folder, log = root / "topic-0", root / "topic-0" / f"{20:020d}.log"
    with another_process("fd = os.open(sys.argv[1], os.O_RDWR)", log) as process:
        assert writing_processes(folder) == [process]
        for change in CHANGES.values():
            with pytest.raises(BlockingIOError, match=f"process {process}"):
                change(str(folder))
    with another_process("fd = os.open(sys.argv[1], os.O_RDONLY)", log):
        assert writing_processes(folder) == []
    with log.open("r+b"):
        # Not another process.
        assert writing_processes(folder) == []


@pytest.mark.parametrize("kind", ["log", "index", "timeindex", "snapshot", "log.swap"])
@pytest.mark.parametrize("plan", [plan_recovery, plan_reindex], ids=["recover", "reindex"])
def test_recovery_does_not_follow_links(root: Path, kind: str, plan: Callable[[Path], Any]) -> None:
    victim = root.parent / "victim"
    victim.write_bytes(b"precious")
    path = root / "topic-0" / f"{20:020d}.{kind}"
    path.unlink(missing_ok=True)
    path.symlink_to(victim)
    found = plan(root / "topic-0")
    assert "symbolic link" in found.problems[0]
    with pytest.raises(ValueError, match="symbolic link"):
        found.apply()
    assert main(["recover", str(root), "--apply", "--from-start"]) == 1
    assert victim.read_bytes() == b"precious"


def torn(root: Path) -> Path:
    log = root / "topic-0" / f"{20:020d}.log"
    log.write_bytes(log.read_bytes() + b"torn")
    return log


def test_a_link_that_is_planted_meanwhile_is_not_followed(root: Path) -> None:
    log, victim = torn(root), root.parent / "victim"
    plan = plan_recovery(root / "topic-0", from_start=True)
    victim.write_bytes(log.read_bytes())
    os.utime(victim, ns=(0, log.stat().st_mtime_ns))
    log.unlink()
    log.symlink_to(victim)
    with pytest.raises((kodec.errors.StalePlan, OSError)):
        plan.apply()
    assert victim.read_bytes().endswith(b"torn")


@pytest.mark.parametrize("name", [f"{20:020d}.index", "leader-epoch-checkpoint", f"{30:020d}.snapshot"])
def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(root: Path, name: str) -> None:
    victim = root.parent / "victim"
    victim.write_bytes(b"precious")
    (root / "topic-0" / name).unlink(missing_ok=True)
    (root / "topic-0" / f"{name}.tmp").symlink_to(victim)
    main(["recover", str(root), "--apply", "--from-start"])
    assert victim.read_bytes() == b"precious"


def test_what_is_cut_goes_into_no_log_directory_and_through_no_link(root: Path) -> None:
    torn(root)
    plan = plan_recovery(root / "topic-0", from_start=True)
    other = root.parent / "other"
    other.mkdir()
    write_offsets(other / "recovery-point-offset-checkpoint", {TOPIC_0: 0})
    with pytest.raises(ValueError, match="outside log directories"):
        plan_recovery(root / "topic-0", from_start=True, quarantine=other).apply()
    (root.parent / "side").mkdir()
    (root.parent / "side" / "topic-0").symlink_to(other)
    with pytest.raises(ValueError, match="symbolic link"):
        plan_recovery(root / "topic-0", from_start=True, quarantine=root.parent / "side").apply()
    assert [path.name for path in plan.apply().kept] == [f"{20:020d}.log.cut-{plan.steps[0].position}"]


def test_targets_that_are_not_apart_from_the_source(root: Path) -> None:
    folder = root / "topic-0"
    for target in (folder, folder / "sub", root, root.parent, root / "out", Path("/")):
        with pytest.raises(ValueError, match="the source"):
            require_apart(folder, target)
    with pytest.raises(ValueError, match="the source"):
        require_apart(root, root / "out")
    (root.parent / "link").symlink_to(root)
    with pytest.raises(ValueError, match="the source"):
        require_apart(root, root.parent / "link" / "out")
    require_apart(folder, root.parent / "out")
    require_apart(folder, root.parent / "logs2")
    # Not every folder around a topic-partition's is a log directory.
    made.make(root.parent / "copies" / "topic-0", [(0, [batch(0, [(b"k", b"v")])])])
    require_apart(root.parent / "copies" / "topic-0", root.parent / "copies" / "out")


def test_convert_holds_the_lock_of_the_target(root: Path) -> None:
    out = root.parent / "out"
    out.mkdir()
    with another_process(BROKER, out), pytest.raises(BlockingIOError, match="in use"):
        plan_conversion(root / "topic-0", out / "topic-0", ConvertOptions(compression="lz4")).apply()
    assert find_partitions(out) == []


def test_convert_publishes_the_start_offset_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_offsets(root / "log-start-offset-checkpoint", {TOPIC_0: 13})
    plan_trim(root / "topic-0", before_offset=13).apply()
    out, rename, seen = root.parent / "out", Path.rename, []

    def note(self: Path, target: Any) -> Path:
        if Path(target) == out / "topic-0":
            seen.append(read_offsets(out / "log-start-offset-checkpoint"))
            if len(seen) == 1:
                raise OSError("killed here")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", note)
    with pytest.raises(OSError, match="killed"):
        plan_conversion(root / "topic-0", out / "topic-0", ConvertOptions(compression="lz4")).apply()
    assert find_partitions(out) == []
    plan_conversion(root / "topic-0", out / "topic-0", ConvertOptions(compression="lz4")).apply()
    assert seen == [{TOPIC_0: 13}] * 2
    with kodec.PartitionLog(out / "topic-0") as log:
        assert [record.offset for record in log.records()] == list(range(13, 30))


def test_convert_forgets_the_start_offset_of_one_that_is_gone(root: Path) -> None:
    out = root.parent / "out"
    out.mkdir()
    write_offsets(out / "log-start-offset-checkpoint", {TOPIC_0: 25, TopicPartition("other", 3): 7})
    plan_conversion(root / "topic-0", out / "topic-0", ConvertOptions(compression="lz4")).apply()
    assert read_offsets(out / "log-start-offset-checkpoint") == {TopicPartition("other", 3): 7}
    assert len(list(kodec.PartitionLog(out / "topic-0").records())) == 30


def test_what_is_converted_can_be_read_by_those_who_could_read_the_source(root: Path) -> None:
    folder, out = root / "topic-0", root.parent / "out"
    for path in folder.iterdir():
        path.chmod(0o640)
    folder.chmod(0o750)
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, 1234, 2345)
    plan_conversion(folder, out / "topic-0", ConvertOptions(compression="lz4")).apply()
    want = folder.stat().st_uid, folder.stat().st_gid
    for path in (out / "topic-0").iterdir():
        status = path.stat()
        assert (status.st_mode & 0o777, status.st_uid, status.st_gid) == (0o640, *want), path
    status = (out / "topic-0").stat()
    assert (status.st_mode & 0o777, status.st_uid, status.st_gid) == (0o750, *want)


def test_what_is_cut_can_be_read_by_those_who_could_read_the_log(root: Path) -> None:
    log = torn(root)
    log.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(log, 1234, 2345)
    (kept,) = plan_recovery(root / "topic-0", from_start=True).apply().kept
    want, have = log.stat(), kept.stat()
    assert (have.st_mode, have.st_uid, have.st_gid) == (want.st_mode, want.st_uid, want.st_gid)


def test_a_link_in_the_place_of_the_working_folder_is_not_followed(root: Path) -> None:
    out, precious = root.parent / "out", root.parent / "precious"
    out.mkdir()
    precious.mkdir()
    (precious / "file").write_bytes(b"precious")
    (out / "topic-0.kodec-unfinished-delete").symlink_to(precious)
    with pytest.raises(ValueError, match="symbolic link"):
        plan_conversion(root / "topic-0", out / "topic-0", ConvertOptions(compression="lz4")).apply()
    assert (precious / "file").read_bytes() == b"precious"


def test_a_folder_that_is_only_named_like_a_topic_partition(tmp_path: Path) -> None:
    """It may have logs of another kind; one with segments is refused."""
    folder = tmp_path / "build-12"
    folder.mkdir()
    (folder / "compiler.log").touch()
    require_outside_logs(folder / "out")
    (folder / "00000000000000000000.log").touch()
    with pytest.raises(ValueError, match=r"is inside .*build-12, a topic-partition's folder"):
        require_outside_logs(folder / "out")
