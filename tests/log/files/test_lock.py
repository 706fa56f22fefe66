"""One writer of a log: in a process, over a fork, beside other processes and next to a broker."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.errors import LogFailed
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.lock import claimed, is_locked, locked
from kodec.log.verification.verify import verify_partition
from kodec.log.writing.config import LogConfig
from kodec.log.writing.writer import LogWriter

# As a broker: FileLock of Kafka calls FileChannel.tryLock, which takes a POSIX lock of the whole file.
POSIX = """
import fcntl, sys
file = open(sys.argv[1], "r+")
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("taken", flush=True)
except OSError:
    print("held", flush=True)
sys.stdin.read()
"""
JAVA = """
import java.io.File;
import java.nio.channels.*;
import java.nio.file.*;

public class Lock {
    public static void main(String[] arguments) throws Exception {
        FileChannel channel = FileChannel.open(new File(arguments[0]).toPath(),
            StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        System.out.println(channel.tryLock() == null ? "held" : "taken");
        System.in.read();
    }
}
"""
RECORD = [kodec.Record(value=b"v", timestamp=1)]


@contextmanager
def broker(root: Path, command: list[str] | None = None) -> Iterator[str]:
    """Another process that takes the lock as a broker does: "taken", or "held" where somebody has it."""
    given = [sys.executable, "-c", POSIX] if command is None else command
    with subprocess.Popen(
        [*given, str(root / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        yield child.stdout.readline().strip()
        child.stdin.close()


def seen(root: Path) -> str:
    with broker(root) as answer:
        return answer


def in_a_fork(work: Callable[[], None]) -> int:
    """Do it in a child that ends there; its exit code, 1 for an exception."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def offsets(folder: Path) -> list[int]:
    assert list(verify_partition(PartitionLog(folder))) == []
    return [each.offset for each in PartitionLog(folder).records()]


def test_a_second_writer_of_a_log_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    with LogWriter(root / "t-0") as writer:
        writer.append(RECORD)
        for same in (root / "t-0", tmp_path / "link" / "t-0", root / "t-0" / ".." / "t-0"):
            with pytest.raises(BlockingIOError, match="this process writes it"):
                LogWriter(same)
        with pytest.raises(BlockingIOError), kodec.LogDirectoryWriter(tmp_path / "link") as other:
            other.partition("t", 0)
        with LogWriter(root / "t-1") as beside:
            beside.append(RECORD)
        writer.append(RECORD)
    with LogWriter(root / "t-0") as writer:
        writer.append(RECORD)
    assert offsets(root / "t-0") == [0, 1, 2]


def test_a_second_writer_of_a_directory_is_refused(tmp_path: Path) -> None:
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        log = directory.partition("t", 0)
        with pytest.raises(BlockingIOError, match="this process writes it"):
            kodec.LogDirectoryWriter(tmp_path)
        with pytest.raises(BlockingIOError):
            LogWriter(tmp_path / "t-0")
        assert directory.partition("t", 0) is log
        log.append(RECORD)
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        assert directory.partition("t", 0).next_offset == 1


def test_what_rewrites_a_log_claims_it(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=200)
    for name in ("t-0", "t-1"):
        with LogWriter(tmp_path / name, config=config) as writer:
            for key in (b"a", b"a", b"b", b"a"):
                writer.append([kodec.Record(key=key, value=bytes(50), timestamp=1)])

    def rewrites(folder: Path) -> list[Callable[[], object]]:
        return [
            lambda: kodec.operations.plan_compaction(folder).apply(),
            lambda: kodec.operations.plan_trim(folder, before_offset=1).apply(),
            lambda: kodec.repair.plan_reindex(folder).apply(),
        ]

    with LogWriter(tmp_path / "t-0", config=config) as writer:
        for rewrite in rewrites(tmp_path / "t-0"):
            with pytest.raises(BlockingIOError, match="this process writes it"):
                rewrite()
        for rewrite in rewrites(tmp_path / "t-1"):
            rewrite()
        writer.append(RECORD)
    assert offsets(tmp_path / "t-0") == [0, 1, 2, 3, 4]


def test_closing_another_descriptor_keeps_the_lock(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "t-0"):
        (tmp_path / ".lock").read_bytes()
        with (tmp_path / ".lock").open("r+"):
            pass
        assert seen(tmp_path) == "held"
    assert seen(tmp_path) == "taken"


def test_a_running_broker_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    with broker(tmp_path) as answer:
        assert answer == "taken"
        with pytest.raises(BlockingIOError, match="a broker"):
            LogWriter(tmp_path / "t-0")
        with pytest.raises(BlockingIOError, match="a broker"):
            kodec.LogDirectoryWriter(tmp_path)
        assert not (tmp_path / "t-0").exists()
    with LogWriter(tmp_path / "t-0") as writer:
        writer.append(RECORD)


@pytest.mark.skipif(shutil.which("javac") is None, reason="a JDK compiles the other side")
def test_java_and_this_keep_each_other_out(tmp_path: Path) -> None:
    source = tmp_path / "Lock.java"
    source.write_text(JAVA)
    java = shutil.which("java")
    assert java is not None
    root = tmp_path / "logs"
    root.mkdir()
    with LogWriter(root / "t-0"):
        (root / ".lock").read_bytes()
        with broker(root, [java, str(source)]) as answer:
            assert answer == "held"
    with broker(root, [java, str(source)]) as answer:
        assert answer == "taken"
        with pytest.raises(BlockingIOError, match="a broker"):
            LogWriter(root / "t-0")


def test_a_child_does_not_write_with_its_parents_writer(tmp_path: Path) -> None:
    directory = kodec.LogDirectoryWriter(tmp_path)
    writer = directory.partition("t", 0)
    writer.append(RECORD)

    def in_child() -> None:
        for call in (
            lambda: writer.append(RECORD),
            writer.flush,
            writer.roll,
            directory.flush,
            lambda: directory.partition("t", 1),
            writer.close,
            directory.close,
        ):
            try:
                call()
            except LogFailed as error:
                assert "fork" in str(error)
            else:
                raise AssertionError(call)
        writer.__exit__(RuntimeError, None, None)
        for again in (lambda: LogWriter(tmp_path / "t-0"), lambda: kodec.LogDirectoryWriter(tmp_path)):
            try:
                again()
            except BlockingIOError as error:
                assert "a broker" in str(error)
            else:
                raise AssertionError("a second writer")

    assert in_a_fork(in_child) == 0
    assert seen(tmp_path) == "held"
    writer.append(RECORD)
    directory.close()
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    assert offsets(tmp_path / "t-0") == [0, 1]
    assert seen(tmp_path) == "taken"


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_child_that_lives_longer_does_not_keep_the_lock(end: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        writer = LogWriter(tmp_path / "t-0")
        begun, begins = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(begins, b"x")
            signal.pause()
        # until it has run it has a copy of the descriptor, which it closes first of all
        os.read(begun, 1)
        os.write(writing, b"%d\n" % child)
        if end == "closed":
            writer.close()
            os.write(writing, b"closed\n")
        signal.pause()
    os.close(writing)
    with open(reading) as told:  # noqa: PTH123  # a descriptor
        child = int(told.readline())
        try:
            if end == "closed":
                assert told.readline() == "closed\n"
            else:
                os.kill(parent, signal.SIGKILL)
                os.waitpid(parent, 0)
            assert seen(tmp_path) == "taken"
        finally:
            os.kill(child, signal.SIGKILL)
            if end == "closed":
                os.kill(parent, signal.SIGKILL)
                os.waitpid(parent, 0)


def test_a_lock_file_that_is_gone_is_noticed(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "t-0")
    writer.append(RECORD)
    (tmp_path / ".lock").unlink()
    with pytest.raises(BlockingIOError, match="removed or replaced"):
        writer.flush()
    assert writer.recovery_point == 0
    with pytest.raises(LogFailed, match="a flush was not completed"):
        writer.append(RECORD)
    with pytest.raises(LogFailed):
        writer.close()


class TestWithPosixLocksOnly:
    """As on a system that has no locks of open file descriptions."""

    @pytest.fixture(autouse=True)
    def only_posix(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(fcntl, "F_OFD_SETLK", raising=False)

    def test_others_are_kept_out(self, tmp_path: Path) -> None:
        with LogWriter(tmp_path / "t-0"):
            assert seen(tmp_path) == "held"
            with pytest.raises(BlockingIOError):
                LogWriter(tmp_path / "t-0")
        with broker(tmp_path), pytest.raises(BlockingIOError, match="a broker"):
            LogWriter(tmp_path / "t-0")

    def test_a_lost_lock_is_taken_again(self, tmp_path: Path) -> None:
        with LogWriter(tmp_path / "t-0") as writer:
            (tmp_path / ".lock").read_bytes()
            assert writer.append(RECORD).last_offset == 0
            assert writer.flush() == 1
            assert seen(tmp_path) == "held"

    def test_a_lock_that_another_has_taken_ends_the_writer(self, tmp_path: Path) -> None:
        writer = LogWriter(tmp_path / "t-0")
        writer.append(RECORD)
        (tmp_path / ".lock").read_bytes()
        with broker(tmp_path) as answer:
            assert answer == "taken"
            with pytest.raises(BlockingIOError):
                writer.flush()
        assert writer.recovery_point == 0
        with pytest.raises(LogFailed):
            writer.close()

    def test_a_child_holds_nothing(self, tmp_path: Path) -> None:
        with LogWriter(tmp_path / "t-0") as writer:
            assert in_a_fork(lambda: writer.__exit__(RuntimeError, None, None)) == 0
            assert seen(tmp_path) == "held"


def test_no_lock_file_in_the_folder_of_a_topic_partition(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "t-0") as writer:
        writer.append(RECORD)
    with pytest.raises(ValueError, match="not a log directory"), locked(tmp_path / "t-0"):
        pass
    assert not (tmp_path / "t-0" / ".lock").exists()
    # A broker leaves it, and so does this.
    assert (tmp_path / ".lock").exists()


def test_a_link_is_no_lock_file(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"), locked(tmp_path / "logs"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_directory_that_was_made_anew_is_another(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    root.mkdir()
    with locked(root), claimed(tmp_path):
        shutil.rmtree(root)
        root.mkdir()
        with LogWriter(root / "t-0"):
            assert seen(root) == "held"


def note(root: Path) -> bool:
    return (root / ".kafka_cleanshutdown").exists()


def test_no_note_of_a_clean_shutdown_where_another_writes_too(tmp_path: Path) -> None:
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        directory.partition("t", 0).append(RECORD)
    assert note(tmp_path)
    alone: LogWriter
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        directory.partition("t", 0).append(RECORD)
        alone = LogWriter(tmp_path / "t-1")
        alone.append(RECORD)
    # It is open still, and may be killed.
    assert not note(tmp_path)
    alone.close()


def test_no_note_of_a_clean_shutdown_after_a_log_was_left_by_an_error(tmp_path: Path) -> None:
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        with pytest.raises(RuntimeError), directory.partition("t", 0) as log:
            log.append(RECORD)
            raise RuntimeError
        directory.partition("t", 1).append(RECORD)
        directory.flush()
    assert not note(tmp_path)


def test_what_is_closed_stays_closed(tmp_path: Path) -> None:
    directory = kodec.LogDirectoryWriter(tmp_path)
    writer = directory.partition("t", 0)
    writer.append(RECORD)
    directory.close()
    before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    directory.close()
    writer.close()
    for call in (writer.flush, writer.roll, directory.flush, lambda: directory.partition("t", 1)):
        with pytest.raises(ValueError, match="is closed"):
            call()
    assert {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()} == before


@pytest.mark.parametrize("topic", ["../evil", "..", "a/b", "", "a\0b", "/evil"])
def test_a_name_that_leads_elsewhere_is_refused(topic: str, tmp_path: Path) -> None:
    with (
        kodec.LogDirectoryWriter(tmp_path / "logs") as directory,
        pytest.raises(ValueError, match="not the name"),
    ):
        directory.partition(topic, 0)
    assert [each.name for each in tmp_path.iterdir()] == ["logs"]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of this process's descriptors")
def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    def write_and_read() -> None:
        with kodec.LogDirectoryWriter(tmp_path) as directory:
            log = directory.partition("t", 0)
            log.append(RECORD)
            log.roll()
        folder = tmp_path / "t-0"
        with pytest.raises(BlockingIOError), locked(tmp_path), claimed(folder), claimed(folder):
            pytest.fail("claimed twice")
        kodec.repair.plan_recovery(tmp_path / "t-0", from_start=True).apply()
        kodec.operations.plan_compaction(tmp_path / "t-0").apply()
        kodec.operations.plan_trim(tmp_path / "t-0", before_offset=1).apply()
        with kodec.PartitionLog(tmp_path / "t-0") as log_read:
            list(log_read.batches())
            verify_partition(log_read)

    write_and_read()
    # what other tests have left is none of it
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    write_and_read()
    # connections of other tests may end meanwhile
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of this process's descriptors")
@pytest.mark.parametrize("read", [kodec.read_records, kodec.read_batches])
def test_a_reader_that_is_closed_has_its_file_no_more(read: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path.resolve() / "log"
    file.write_bytes(kodec.encode(RECORD * 3))

    def held() -> int:
        """How many descriptors are this file. Others, which other tests have left, may end meanwhile."""
        return sum(Path(os.path.realpath(link)) == file for link in Path("/proc/self/fd").iterdir())

    with read(file) as reader:
        next(reader)
        assert held() == 1
    assert held() == 0


def test_a_writer_that_is_open_when_the_interpreter_ends_says_nothing(tmp_path: Path) -> None:
    program = f"""
import kodec
writer = kodec.LogWriter({str(tmp_path / "one" / "topic-0")!r})
directory = kodec.LogDirectoryWriter({str(tmp_path / "logs")!r})
directory.partition("topic", 0).append([kodec.Record(value=b"v", timestamp=1)])
writer.append([kodec.Record(value=b"v", timestamp=1)])
"""
    (tmp_path / "one").mkdir()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    for root in (tmp_path / "one", tmp_path / "logs"):
        assert not is_locked(root)
        assert len(list(kodec.LogDirectory(root).partition("topic", 0).records())) == 1


def test_the_file_of_a_lock_that_is_not_to_stay(tmp_path: Path) -> None:
    with locked(tmp_path, stays=False):
        assert (tmp_path / ".lock").exists()
    assert not (tmp_path / ".lock").exists()
    # Others in this process want it to stay; it was there before.
    with locked(tmp_path, stays=False), locked(tmp_path):
        pass
    assert (tmp_path / ".lock").exists()
    with locked(tmp_path, stays=False):
        pass
    assert (tmp_path / ".lock").exists()
