"""Pipes, sockets, devices and folders where files are to be: refused at once, never waited for."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.files.lock import is_locked, locked
from kodec.log.omissions import Cause, Omissions
from kodec.log.remote.resolve import LogDirectoryPath, find_logs
from tests.log import made
from tests.log.made import batch

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")

BESIDE = (
    ".lock",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "meta.properties",
    ".kafka_cleanshutdown",
)
INSIDE = (
    f"{10:020d}.log",
    f"{10:020d}.index",
    f"{10:020d}.timeindex",
    f"{10:020d}.txnindex",
    f"{10:020d}.snapshot",
    "leader-epoch-checkpoint",
    "partition.metadata",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    segments = [(at, [batch(at, [(b"k", b"v")] * 10)]) for at in (0, 10)]
    return made.make(tmp_path / "logs" / "topic-0", segments).parent


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made_there:
        # The name of a socket has to be short.
        link = Path("/proc/self/fd") / str(folder := os.open(path.parent, os.O_RDONLY))
        try:
            made_there.bind(str(link / path.name))
        finally:
            os.close(folder)


def _folder(path: Path) -> None:
    path.mkdir()


KINDS = [_pipe, _folder, *([_socket] if Path("/proc/self/fd").is_dir() else [])]


def put(root: Path, name: str, make: Callable[[Path], None]) -> Path:
    path = root / name if name in BESIDE else root / "topic-0" / name
    path.unlink(missing_ok=True)
    make(path)
    return path


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("name", [*BESIDE, *INSIDE])
def test_no_verb_waits_for_it(
    root: Path, name: str, make: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(root, name, make)
    assert main(["verify", str(root)]) == 1
    said = capsys.readouterr()
    assert f"{path}: byte 0: " in said.out and "no problem" not in said.out
    code = main(["recover", "--apply", str(root)])
    said = capsys.readouterr()
    # What a recovery does not need, it passes over, and reports it.
    assert str(path) in said.err and ("not a regular file" in said.err)
    assert code == (0 if ": ignored" in said.err and name in BESIDE[3:] else 1)
    if path.is_dir():
        return
    assert main(["dump", str(path)]) == 1
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("make", KINDS)
def test_a_lock_that_is_no_file(root: Path, make: Callable[[Path], None]) -> None:
    put(root, ".lock", make)
    with pytest.raises(OSError, match="not a regular file"), locked(root):
        pass
    with pytest.raises(OSError, match="not a regular file"):
        is_locked(root)


def test_what_has_the_name_of_a_segment_is_not_passed_over(root: Path) -> None:
    path = put(root, f"{10:020d}.log", _pipe)
    problems = [str(each) for each in kodec.repair.verify(root / "topic-0") if each.path == path]
    assert any("regular file" in each for each in problems)
    with pytest.raises(OSError, match="pipe, not a regular file"):
        next(iter(kodec.read_records(path)))


def test_a_pipe_of_another_name_is_read(tmp_path: Path, root: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = (root / "topic-0" / f"{0:020d}.log").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    assert len(list(kodec.read_records(pipe))) == 10
    writer.join()


def test_a_plan_for_a_source_with_a_pipe_copies_nothing(root: Path, tmp_path: Path) -> None:
    put(root, f"{10:020d}.snapshot", _pipe)
    with pytest.raises(ValueError, match="not a regular file"):
        kodec.operations.plan_conversion(
            root / "topic-0",
            tmp_path / "out" / "topic-0",
            kodec.operations.ConvertOptions(compression="gzip"),
        ).apply()
    assert list((tmp_path / "out").iterdir()) == []
    put(root, f"{10:020d}.log", _pipe)
    report = kodec.repair.plan_salvage(root / "topic-0", tmp_path / "out" / "topic-0").apply()
    assert [each.path for each in report.omissions.losses] == [root / "topic-0" / f"{10:020d}.log"]


@pytest.mark.parametrize("to", ["/nowhere", "broker-1"], ids=["link to nothing", "loop"])
def test_a_lost_disk_with_the_name_of_a_topic_partition(
    to: str, root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    disks = tmp_path / "disks"
    disks.mkdir()
    root.rename(disks / "broker-0")
    (disks / "broker-0" / "meta.properties").write_text("version=1\n")
    lost = disks / "broker-1"
    lost.symlink_to(to)
    with pytest.raises(kodec.errors.ReadFailed, match=str(lost)):
        find_logs(disks)
    omissions = Omissions()
    (found,) = find_logs(disks, omissions)
    assert found.path == disks / "broker-0"
    assert [(each.path, each.cause) for each in omissions] == [(lost, Cause.UNREACHABLE)]
    assert main(["export", str(disks), "--to", str(tmp_path / "out")]) == 1
    assert str(lost) in capfd.readouterr().err
    # in a log directory it is a log, and the error of its reader
    (disks / "broker-0" / "topic-0").rename(disks / "topic-0")
    own, *_ = find_logs(disks)
    assert isinstance(own, LogDirectoryPath)
    assert {"broker-1", "topic-0"} <= {each.path.name for each in own.replicas}
