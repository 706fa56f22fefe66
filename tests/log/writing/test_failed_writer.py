"""A writer that was interrupted, or that the disk has failed, is consistent or refuses.

Each call to the system and each line of the writer is the place of one failure. The one who writes is
stubborn: all steps are tried with the same writer. Nothing that was acknowledged may be lost then.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import kodec
from kodec.errors import LogFailed
from kodec.log.directories.partition import PartitionLog
from kodec.log.files import in_use
from kodec.log.files.checkpoints import read_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.files.lock import claimed
from kodec.log.verification.verify import verify_partition
from kodec.log.writing.config import LogConfig
from kodec.log.writing.guard import ChangeGuard
from kodec.log.writing.writer import LogWriter
from tests.log.faults import Faults
from tests.log.walk import walk

pytestmark = pytest.mark.thorough

CONFIG = LogConfig(segment_bytes=420, index_interval_bytes=0)
KEY = TopicPartition("t", 0)
MARKER = kodec.Record(key=bytes(4), value=bytes(6), timestamp=1)


def produced(number: int, *, epoch: int = 0) -> bytes:
    """A batch of two records; the offsets and the epoch are to be assigned."""
    given = [kodec.Record(value=b"%d.%d" % (number, each), timestamp=1 + number) for each in range(2)]
    return kodec.encode(given, partition_leader_epoch=epoch)


def aborted() -> tuple[bytes, bytes]:
    """A batch of a transaction, and the marker that aborts it."""
    options = {"transactional": True, "producer_id": 5, "producer_epoch": 0}
    begun = kodec.encode([kodec.Record(value=b"open", timestamp=1)], base_sequence=0, **options)
    return begun, kodec.encode([MARKER], control=True, **options)


DATA = [produced(number) for number in range(4)]
BEGUN, ABORT = aborted()
Step = Callable[[LogWriter], object]


def _change_epoch(writer: LogWriter) -> None:
    writer.leader_epoch = 3


STEPS: list[Step] = [
    lambda log: log.append(DATA[0]),
    lambda log: log.append(BEGUN),
    lambda log: log.append(ABORT),
    lambda log: log.flush(),
    lambda log: log.append(DATA[1] + DATA[2]),
    _change_epoch,
    lambda log: log.append(DATA[3]),
    lambda log: log.roll(),
    lambda log: log.append(DATA[0]),
    lambda log: log.append(DATA[1]),
    lambda log: log.flush(),
    lambda log: log.append(DATA[2]),
]


class Acknowledged:
    """What a writer has said: what is at which offset, and how far it is on the disk."""

    def __init__(self) -> None:
        self.values: dict[int, bytes | None] = {}
        self.recovery_point = 0

    def hear(self, data: bytes, result: kodec.results.AppendResult) -> None:
        values = [each.value for each in kodec.read_records(data, control=True)]
        for offset, value in enumerate(values, result.first_offset):
            assert offset not in self.values, f"offset {offset} was given twice"
            self.values[offset] = value
        assert result.last_offset == result.first_offset + len(values) - 1

    def listen(self, writer: LogWriter) -> None:
        """Hear what each append of a writer returns."""
        real = writer.append

        def append(data: bytes) -> kodec.results.AppendResult:
            result = real(data)
            self.hear(data, result)
            return result

        writer.append = append

    def check(self, folder: Path, *, below: int | None = None) -> None:
        found = walk(folder)
        offsets = [offset for offset, _ in found]
        assert offsets == list(range(len(offsets))), "offsets are to be unique, and to ascend by one"
        there = dict(found)
        for offset, value in self.values.items():
            if below is None or offset < below:
                assert there[offset] == value


def recovered(root: Path) -> None:
    aside = root.with_name(root.name + ".side")
    interval = CONFIG.index_interval_bytes
    for plan in kodec.repair.plan_recoveries(root, index_interval_bytes=interval, quarantine=aside):
        assert not plan.problems
        plan.apply()


def problems(folder: Path) -> list[str]:
    found = verify_partition(PartitionLog(folder))
    # the folders of these tests belong to no cluster
    return [str(each) for each in found if not each.note and each.path.name != "partition.metadata"]


def stubborn(
    writer: LogWriter,
    said: Acknowledged,
    error: type[BaseException],
    during: AbstractContextManager[object] = nullcontext(),
) -> bool:
    """Take all steps, `during` something, whatever they raise; whether the writer has refused one."""
    refused = False
    for step in STEPS:
        before = writer.recovery_point
        try:
            with during:
                step(writer)
        except LogFailed:
            assert writer.failed
            refused = True
        except error:
            pass
        else:
            assert not writer.failed or step is _change_epoch
        if refused:
            assert writer.failed and writer.recovery_point == before
        said.recovery_point = writer.recovery_point
    return refused


# -- interrupted --------------------------------------------------------------------------------------


class Interrupted(BaseException):
    """What a handler of a signal raises, at any moment."""


class Late(TimeoutError):
    """The same, by a handler whose exception is an OSError."""


class Interrupt:
    """Raises once, at the nth line or instruction of the code that writes."""

    CODE = ("/log/writing/", "/log/files/durable.py", "/log/files/checkpoints.py")

    def __init__(self, at: int, kind: type[BaseException], *, opcodes: bool) -> None:
        self.count = 0
        self._at = at
        self._kind = kind
        self._opcodes = opcodes

    def __enter__(self) -> Interrupt:
        if not self._at or self.count < self._at:
            sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not any(part in name for part in self.CODE):
            return None
        frame.f_trace_opcodes = self._opcodes
        return self._trace

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == ("opcode" if self._opcodes else "line"):
            self.count += 1
            if self.count == self._at:
                sys.settrace(None)
                raise self._kind
        return self._trace


def interrupted(root: Path, at: int, kind: type[BaseException], *, opcodes: bool) -> int:
    """Write with an interrupt at a place, go on, open again, and check; how many places there are."""
    root.mkdir()
    folder = root / "t-0"
    said = Acknowledged()
    writer = LogWriter(folder, config=CONFIG)
    said.listen(writer)
    interrupt = Interrupt(at, kind, opcodes=opcodes)
    stubborn(writer, said, kind, interrupt)
    try:
        with interrupt:
            writer.close()
    except (kind, LogFailed):
        pass
    else:
        assert writer.is_complete
    # Where it was the closing that was interrupted, this has something to do.
    writer.__exit__(kind, None, None)
    said.check(folder)
    with LogWriter(folder, config=CONFIG) as again:
        assert again.next_offset > max(said.values, default=-1)
        said.listen(again)
        again.append(DATA[0])
    said.check(folder)
    assert problems(folder) == []
    shutil.rmtree(root)
    return interrupt.count


@pytest.fixture(autouse=True)
def no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else writes here: all processes need not be looked through each time a writer opens."""
    monkeypatch.setattr(in_use, "writing_processes", lambda folder: [])


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


# Between `os.scandir` and its `with` an interrupt leaves the iterator to the collector: no fault of the log.
@pytest.mark.filterwarnings("ignore:unclosed scandir iterator:ResourceWarning")
@pytest.mark.parametrize(
    ("kind", "opcodes", "every"),
    [(Interrupted, False, 4), (Late, False, 9), (Interrupted, True, 69)],
    ids=["lines", "lines, by an OSError", "instructions"],
)
def test_interrupted_anywhere(
    kind: type[BaseException], opcodes: bool, every: int, tmp_path: Path, no_fsync: None
) -> None:
    """At a part of the places, other ones where KODEC_PLACE reports it; at each where it says `all`."""
    places = interrupted(tmp_path / "a", 0, kind, opcodes=opcodes)
    assert places > 500
    chosen = os.environ.get("KODEC_PLACE", "1")
    every, first = (1, 1) if chosen == "all" else (every, 1 + int(chosen) % every)
    for at in range(first, places + 1, every):
        interrupted(tmp_path / "a", at, kind, opcodes=opcodes)


def test_without_the_guard_the_harness_finds_it(
    tmp_path: Path, no_fsync: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChangeGuard, "require", lambda self: None)
    monkeypatch.setattr(ChangeGuard, "failed", False)
    with pytest.raises((AssertionError, kodec.errors.FormatError)):
        for at in range(1, 2000):
            interrupted(tmp_path / str(at), at, Interrupted, opcodes=False)


# -- failed by the disk -------------------------------------------------------------------------------


def failing(base: Path, faults: Faults) -> bool:
    """Write through a directory while a call fails, and check what is left; whether the writer refused."""
    root, said = base / "logs", Acknowledged()
    writer: LogWriter | None = None
    refused = closed = False
    errors: list[BaseException] = []
    with faults:
        try:
            directory = kodec.LogDirectoryWriter(root, config=CONFIG, cluster_id="c", node_id=1)
            writer = directory.partition("t", 0)
        except OSError as error:
            errors.append(error)
        else:
            said.listen(writer)
            refused = stubborn(writer, said, OSError)
            try:
                directory.flush()
            except (OSError, LogFailed) as error:
                errors.append(error)
            said.recovery_point = writer.recovery_point
            try:
                directory.close()
                closed = True
            except (OSError, LogFailed) as error:
                errors.append(error)
    # Nothing is held, whatever has failed.
    if (root / "t-0").is_dir():
        with claimed(root / "t-0"):
            pass
    failed = writer is not None and writer.failed
    clean = (root / ".kafka_cleanshutdown").exists()
    assert closed or not clean
    assert not (failed and (closed or clean))
    assert list(base.rglob("*.tmp")) == [] or faults.failed is None or faults.failed.name == "unlink"
    points = root / "recovery-point-offset-checkpoint"
    if points.is_file() and writer is not None:
        assert read_offsets(points).get(KEY, 0) <= writer.recovery_point
    if writer is None:
        return False
    # As the system has it.
    shutil.copytree(root, base / "copy" / "logs")
    recovered(base / "copy" / "logs")
    said.check(base / "copy" / "logs" / "t-0")
    assert problems(base / "copy" / "logs" / "t-0") == []
    # As the disk has it.
    faults.lose()
    if clean:
        assert problems(root / "t-0") == []
    recovered(root)
    said.check(root / "t-0", below=max(said.recovery_point, writer.recovery_point))
    assert problems(root / "t-0") == []
    return refused


@pytest.mark.parametrize(
    "how",
    [
        {"error": errno.EIO},
        {"error": errno.ENOSPC, "forever": True},
        {"short": True},
    ],
    ids=["EIO", "ENOSPC from there on", "short writes"],
)
def test_each_call_to_the_system_fails_once(how: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    faults = Faults(root=tmp_path / "none")
    assert failing(tmp_path / "none", faults) is False
    made = faults.made
    assert {each.name for each in made} >= {"open", "pwrite", "fsync", "replace", "unlink", "mkdir"}
    refused = 0
    for at in range(len(made)):
        if how.get("short") and made[at].name != "pwrite":
            continue
        base = tmp_path / "each"
        base.mkdir()
        refused += failing(base, Faults(at, root=base, **how))
        shutil.rmtree(base)
    assert (refused == 0) is bool(how.get("short"))
