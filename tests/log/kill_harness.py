"""Kills writers and recoveries at random moments and sees that nothing acknowledged is lost.

`python tests/log/kill_harness.py --kills 1000` prints what was done. Each round forks a child that writes to
two logs of a directory, kills it (SIGKILL) after a random time, sometimes lets what was not fsynced be lost
as when the machine goes down, sometimes adds nonsense, kills recoveries too, and then recovers and checks:

- every record of an append that has returned is there, or, where the machine went down, every record below
  the recovery point that the child was given;
- every record that is served is one that was appended, at its offset, and none is missing between;
- `verify` has nothing to say, and a second recovery has nothing to do.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import select
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import kodec
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import TopicPartition
from kodec.log.files.quarantine import default_quarantine
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recoveries
from kodec.log.verification.verify import verify_partition
from kodec.log.writing.config import LogConfig
from kodec.log.writing.directory_writer import LogDirectoryWriter

CONFIG = LogConfig(segment_bytes=3000, index_interval_bytes=150, segment_index_bytes=400)
PARTITIONS = (0, 1)
ROUNDS_OF_A_DIRECTORY = 15
MARKER = {kind: kodec.Record(key=bytes((0, 0, 0, kind)), value=bytes(6), timestamp=1) for kind in (0, 1)}


def value(partition: int, offset: int) -> bytes:
    """What the record at an offset holds: some 32 to 63 bytes that nobody else would write."""
    digest = hashlib.sha256(b"%d %d" % (partition, offset)).digest()
    return digest + digest[: digest[0] % 32]


@dataclass
class Told:
    """What a child has said before it was killed.

    Attributes:
        appended, durable: for each partition the offset below which appends have returned, and its recovery
            point.
        sizes: of each file (inode) at its last fsync.
        names: of each folder (inode) at its last fsync.
    """

    appended: dict[int, int] = field(default_factory=dict)
    durable: dict[int, int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    names: dict[int, set[str]] = field(default_factory=dict)

    def settle(self, folder: Path) -> None:
        """What is in a folder now has had the time to reach the disk."""
        self.names[folder.stat().st_ino] = {each.name for each in folder.iterdir()}
        for each in folder.iterdir():
            self.sizes[each.stat().st_ino] = each.stat().st_size

    def hear(self, line: str) -> None:
        kind, *words = line.split(" ")
        if kind == "append":
            self.appended[int(words[0])] = int(words[1])
            self.durable[int(words[0])] = max(self.durable.get(int(words[0]), 0), int(words[2]))
        elif kind == "file":
            self.sizes[int(words[0])] = int(words[1])
        else:
            self.names[int(words[0])] = set(words[1:])


@dataclass
class Report:
    """What was done in all."""

    kills: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    losses: int = 0
    nonsense: int = 0
    cuts: int = 0
    records: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        kills = ", ".join(f"{number} in {name}" for name, number in sorted(self.kills.items()))
        return (
            f"{sum(self.kills.values())} kills ({kills}) in {self.rounds} rounds and {self.seconds:.0f} s, "
            f"{self.losses} with a loss of what was not fsynced, {self.nonsense} with nonsense appended; "
            f"{self.cuts} logs cut; {self.records} records checked; nothing acknowledged lost"
        )


# -- what a child does --------------------------------------------------------------------------------


def _write(root: Path, seed: int, tell: Callable[[str], None]) -> None:
    """Append, roll, flush, close and open for ever."""
    chance = random.Random(seed)
    while True:
        with LogDirectoryWriter(root, config=CONFIG) as directory:
            for _ in range(chance.randrange(1, 60)):
                partition = chance.choice(PARTITIONS)
                log = directory.partition("t", partition)
                what = chance.random()
                if what < 0.8:
                    _append(log, partition, chance)
                elif what < 0.85:
                    log.roll()
                elif what < 0.95:
                    log.flush()
                else:
                    directory.flush()
                tell(f"append {partition} {log.next_offset} {log.recovery_point}")


def _append(log: kodec.LogWriter, partition: int, chance: random.Random) -> None:
    producer = chance.randrange(3)
    idempotent = {"producer_id": producer, "producer_epoch": 0}
    if chance.random() < 0.15:
        log.append([MARKER[chance.randrange(2)]], control=True, transactional=True, **idempotent)
        return
    start = log.next_offset
    records = [
        kodec.Record(
            value=value(partition, start + each), timestamp=1_700_000_000_000 + chance.randrange(10**6)
        )
        for each in range(chance.randrange(1, 12))
    ]
    log.append(
        records,
        compression=chance.choice(["none", "none", "lz4"]),
        transactional=producer == 1,
        base_sequence=start,
        batch_records=chance.choice([None, 2]),
        **idempotent,
    )


def _recoveries(root: Path) -> Iterator[RecoveryPlan]:
    """The plans of who knows that a log without a right batch may be cut; what was due is checked."""
    return plan_recoveries(root, index_interval_bytes=CONFIG.index_interval_bytes, allow_empty=True)


def _recover(root: Path, seed: int, tell: Callable[[str], None]) -> None:
    """Recover, and again, for ever."""
    while True:
        for plan in _recoveries(root):
            plan.apply()


WORK: dict[str, Callable[[Path, int, Callable[[str], None]], None]] = {"write": _write, "recover": _recover}
"""What a child can be doing when it is killed: with a directory, a seed, and whom to tell."""


def _child(work: str, root: Path, seed: int, pipe: int) -> None:
    """Do it, and tell the parent of each fsync."""

    def tell(line: str) -> None:
        os.write(pipe, line.encode() + b"\n")

    real = os.fsync

    def fsync(fd: int) -> None:
        status = os.fstat(fd)
        # What exists before the call is on the disk after it.
        names = sorted(os.listdir(fd)) if stat.S_ISDIR(status.st_mode) else []
        real(fd)
        if stat.S_ISDIR(status.st_mode):
            tell(" ".join(["folder", str(status.st_ino), *names]))
        else:
            tell(f"file {status.st_ino} {status.st_size}")

    os.fsync = fsync
    WORK[work](root, seed, tell)


def killed(work: str, root: Path, seed: int, milliseconds: float, told: Told) -> None:
    """Fork a child that does `work`, kill it after a time, and hear all that it has told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            _child(work, root, seed, writing)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    heard = bytearray()
    end = time.monotonic() + milliseconds / 1000
    alive = True
    while alive and (left := end - time.monotonic()) > 0:
        # A full pipe would stop the child, and the moment would be the parent's.
        if select.select([reading], [], [], left)[0]:
            more = os.read(reading, 1 << 16)
            heard += more
            alive = bool(more)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while more := os.read(reading, 1 << 16):
        heard += more
    os.close(reading)
    if not os.WIFSIGNALED(status):
        raise AssertionError(f"the child that was to {work} ended by itself")
    for line in heard.decode().split("\n")[:-1]:
        told.hear(line)


# -- what happens to the disk -------------------------------------------------------------------------


def lose(folder: Path, told: Told, chance: random.Random) -> None:
    """Let what was not fsynced be lost: names, and bytes after the size at the last fsync."""
    known = told.names.get(folder.stat().st_ino, set())
    for path in sorted(folder.iterdir()):
        if path.name not in known and chance.random() < 0.5:
            path.unlink()
            continue
        status = path.stat()
        safe = min(told.sizes.get(status.st_ino, 0), status.st_size)
        if safe == status.st_size:
            continue
        keep = chance.randrange(safe, status.st_size + 1)
        lost = status.st_size - keep
        with path.open("r+b") as file:
            file.seek(keep)
            how = chance.randrange(3)
            if how == 0:
                file.truncate(keep)
            else:
                file.write(bytes(lost) if how == 1 else chance.randbytes(lost))


def add_nonsense(folder: Path, chance: random.Random) -> None:
    """Append what is no entry, or an old one, to the last segment."""
    log = max(folder.glob("*.log"))
    data = log.read_bytes()
    choices = [bytes(chance.randrange(1, 5000)), chance.randbytes(chance.randrange(1, 5000)), data[:200]]
    with log.open("ab") as file:
        file.write(chance.choice(choices))


# -- what must hold -----------------------------------------------------------------------------------


def check(root: Path, needed: dict[int, int], made: dict[int, int]) -> int:
    """See that all records below `needed` are there, and nothing that was not appended; how many."""
    count = 0
    for partition in PARTITIONS:
        folder = root / str(TopicPartition("t", partition))
        if not folder.is_dir():
            assert needed.get(partition, 0) == 0, f"{folder} is gone"
            continue
        log = PartitionLog(folder)
        expected = 0
        for record in log.records(control=True):
            assert record.offset == expected, f"{folder}: {record.offset} where {expected} is due"
            if not isinstance(record, kodec.ControlRecord):
                assert record.value == value(partition, record.offset), f"{folder}: offset {record.offset}"
            expected += 1
        count += expected
        assert expected >= needed.get(partition, 0), (
            f"{folder}: ends at {expected}, {needed[partition]} was acknowledged"
        )
        problems = [str(each) for each in verify_partition(log) if not each.note]
        assert problems == [], problems
        made[partition] = expected
    for plan in plan_recoveries(root, index_interval_bytes=CONFIG.index_interval_bytes):
        assert plan.steps == [], plan.steps
    for plan in plan_recoveries(root, from_start=True, index_interval_bytes=CONFIG.index_interval_bytes):
        assert plan.truncated_bytes == 0 and not plan.problems, plan.steps
    return count


def run(kills: int, seed: int, base: Path, *, progress: Callable[[str], None] = lambda _: None) -> Report:
    """Kill so often, in a folder `base`. Raises AssertionError if something does not hold."""
    chance = random.Random(seed)
    report = Report()
    began = time.monotonic()
    root = base / "logs"
    needed: dict[int, int] = {}
    while sum(report.kills.values()) < kills:
        if report.rounds % ROUNDS_OF_A_DIRECTORY == 0:
            shutil.rmtree(root, ignore_errors=True)
            shutil.rmtree(default_quarantine(root), ignore_errors=True)
            root.mkdir()
            needed = {}
        _round(root, chance, report, needed)
        if report.rounds % 50 == 0:
            progress(f"{sum(report.kills.values())} kills, {time.monotonic() - began:.0f} s")
    report.seconds = time.monotonic() - began
    return report


def _round(root: Path, chance: random.Random, report: Report, needed: dict[int, int]) -> None:
    told = Told(appended=dict(needed), durable=dict(needed))
    for folder in root.iterdir():
        if folder.is_dir():
            told.settle(folder)

    def kill(work: str, most: float) -> None:
        killed(work, root, chance.randrange(2**32), chance.random() * most, told)
        report.kills[work] = report.kills.get(work, 0) + 1

    report.rounds += 1
    # Some are short, to meet the opening of a log.
    kill("write", chance.choice([5.0, 60.0, 200.0]))
    folders = [
        each for each in (root / str(TopicPartition("t", each)) for each in PARTITIONS) if each.is_dir()
    ]
    lost = chance.random() < 0.5
    if lost:
        report.losses += 1
        for folder in folders:
            lose(folder, told, chance)
    elif chance.random() < 0.3:
        report.nonsense += 1
        for folder in folders:
            if any(folder.glob("*.log")):
                add_nonsense(folder, chance)
    for _ in range(chance.choice([0, 0, 1, 3])):
        kill("recover", 15.0)
    for plan in _recoveries(root):
        report.cuts += plan.truncated_bytes > 0
        plan.apply()
    needed.clear()
    report.records += check(root, told.durable if lost else told.appended, needed)


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill writers and recoveries at random moments.")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20261121)
    given = parser.parse_args()
    # It is left as it is where something does not hold.
    base = Path(tempfile.mkdtemp(prefix="kodec-kills-"))
    print(run(given.kills, given.seed, base, progress=lambda text: print(text, flush=True)))
    shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
