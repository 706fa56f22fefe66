"""Random histories of a log, its disk failing and its machine going down, against what was acknowledged.

`python -m tests.log.histories --histories 10000` prints what was done; `--only 17` repeats one. In each
history, one process after another works on a log directory: they append, flush, roll, close, compact, trim,
convert and recover. Each is a child made by fork, and most of them meet something: a call to the system fails
(EIO, ENOSPC, a short write, an fsync that fails or lies), or the process ends at a call, in the middle of a
write too, or another process comes in between two calls: it reads the log, in which all is that was
acknowledged, and tries to write, compact, trim or recover it, which is refused or changes nothing. Then,
sometimes, the machine goes down: `disk` shows what may be left. After each recovery:

- each record that was acknowledged as durable is there, or, where the machine stayed up, each whose append
  has returned; but for those that a compaction had a newer one for, and those that a trim was to delete;
- each record that is there was appended, at its offset; none of what was trimmed is;
- a second recovery has nothing to do, `verify` nothing to say, and a log that was closed in order needs none;
- a converted log is whole or not there, and is there where it was said to be.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import pickle
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import kodec
from kodec.errors import FormatError, KodecError, LogFailed
from kodec.log.cleaning import compaction
from kodec.log.files.listing import TopicPartition
from kodec.log.files.lock import is_locked
from kodec.log.omissions import Omissions
from kodec.log.verification.verify import verify_partition
from kodec.log.writing import exclusive
from kodec.log.writing import writer as writing
from kodec.log.writing.config import LogConfig

from .disk import Disk
from .faults import Faults

TOPIC = TopicPartition("t", 0)
NOW = 1_700_000_000_000
INTERVAL = 150
MARKERS = [kodec.Record(key=bytes((0, 0, 0, kind)), value=bytes(6), timestamp=NOW) for kind in (0, 1)]
Tell = Callable[..., None]
Give = Callable[[object], NoReturn]
# Not the one that `Faults` counts.
_write = os.write


class Row(NamedTuple):
    """A record, as it was appended or is served.

    `kind` is "data", "transaction" for data of one, whose end may not be what it was given, or "marker".
    """

    key: bytes | None
    value: bytes | None
    kind: str


# -- what processes do --------------------------------------------------------------------------------


def write(folder: Path, chance: random.Random, tell: Tell) -> None:
    """Append, flush and roll; whatever fails, go on for a while. Close, or not."""
    config = LogConfig(
        segment_bytes=chance.choice([350, 1200, 4000]),
        index_interval_bytes=INTERVAL,
        segment_index_bytes=chance.choice([24, 200]),
        flush_messages=chance.choice([1, 5, 2**62]),
    )
    directory = kodec.LogDirectoryWriter(folder.parent, config=config) if chance.random() < 0.5 else None
    log = kodec.LogWriter(folder, config=config) if directory is None else directory.partition("t", 0)
    tell("open", log.next_offset)
    for _ in range(chance.randrange(1, 9)):
        try:
            _step(log, chance, tell)
        except (OSError, LogFailed):
            if chance.random() < 0.3:
                raise
        tell("point", log.recovery_point)
    if chance.random() < 0.7:
        (log if directory is None else directory).close()
        tell("closed", log.recovery_point, directory is not None)


def _step(log: kodec.LogWriter, chance: random.Random, tell: Tell) -> None:
    what = chance.random()
    if what < 0.12:
        log.flush()
    elif what < 0.2:
        log.roll()
    elif what < 0.26:
        log.leader_epoch += 1
    else:
        _append(log, chance, tell)


def _append(log: kodec.LogWriter, chance: random.Random, tell: Tell) -> None:
    producer = chance.choice([-1, -1, 0, 1])
    options: dict[str, Any] = {}
    if producer >= 0:
        options = {"producer_id": producer, "producer_epoch": 0}
    if producer == 1:
        options["transactional"] = True
    first = log.next_offset
    if producer == 1 and chance.random() < 0.5:
        records = [MARKERS[chance.randrange(2)]]
        options["control"] = True
        kind = "marker"
    else:
        if producer >= 0:
            options["base_sequence"] = first
        kind = "transaction" if producer == 1 else "data"
        records = [
            kodec.Record(
                key=b"%d" % chance.randrange(5),
                value=chance.randbytes(8).hex().encode() * chance.randrange(1, 5),
                timestamp=NOW + chance.randrange(1000),
            )
            for _ in range(chance.randrange(1, 5))
        ]
        options["batch_records"] = chance.choice([None, 1, 2])
        options["compression"] = chance.choice(["none", "none", "gzip"])
    tell("try", first, [Row(each.key, each.value, kind) for each in records])
    done = log.append(records, **options)
    tell("appended", done.first_offset, len(records), done.recovery_point)


def compact(folder: Path, chance: random.Random, tell: Tell) -> None:
    tell("compacting")
    kodec.operations.plan_compaction(
        folder,
        now=NOW + 10**10,
        segment_bytes=chance.choice([800, 1 << 30]),
        buffer_bytes=chance.choice([24 * 8, 1 << 16]),
        from_start=chance.random() < 0.3,
    ).apply()


def trim(folder: Path, chance: random.Random, tell: Tell) -> None:
    with kodec.PartitionLog(folder) as log:
        start, end = log.start_offset, log.end_offset
    if chance.random() < 0.6:
        plan = kodec.operations.plan_trim(folder, before_offset=chance.randrange(start, end + 1), now=NOW)
    else:
        plan = kodec.operations.plan_trim(folder, retention_bytes=chance.choice([0, 1000, 3000]), now=NOW)
    tell("trimming", plan.new_start_offset)
    plan.apply()
    tell("trimmed", plan.new_start_offset)


def convert(folder: Path, chance: random.Random, tell: Tell) -> None:
    target = folder.parent.parent / "other" / "t-0"
    kodec.operations.plan_conversion(
        folder, target, kodec.operations.ConvertOptions(compression=chance.choice(["none", "gzip"]))
    ).apply()
    tell("converted")


def recover(folder: Path, chance: random.Random, tell: Tell) -> None:
    _recover(folder, tell, from_start=chance.random() < 0.2)


def rescue(folder: Path, chance: random.Random, tell: Tell) -> None:
    """Recover a log of which any part may be lost."""
    _recover(folder, tell, from_start=True)


def _recover(folder: Path, tell: Tell, *, from_start: bool) -> None:
    for plan in kodec.repair.plan_recoveries(
        folder.parent, from_start=from_start, index_interval_bytes=INTERVAL, allow_empty=True
    ):
        if plan.problems:
            raise OSError(f"nothing is planned: {plan.problems}")
        tell("recovering", plan.truncated_bytes, [str(each) for each in plan.steps])
        plan.apply()


WORK: dict[str, Callable[[Path, random.Random, Tell], None]] = {
    each.__name__: each for each in (write, compact, trim, convert, recover, rescue)
}


def second(work: str, folder: Path, chance: random.Random, tell: Tell) -> None:
    """A process that comes while another is at work on the log, between two of its calls."""
    told = _forked(lambda give: give(_come_in(work, folder, chance)))
    if told is None:
        raise AssertionError("the second process ended by itself")
    for each in told:
        tell(*each)


def _come_in(first: str, folder: Path, chance: random.Random) -> list[tuple[Any, ...]]:
    layer = Faults._current
    assert layer is not None
    layer.__exit__(None, None, None)
    if not folder.is_dir():
        return []
    told: list[tuple[Any, ...]] = []
    try:
        told.append(("seen", rows(folder)[0]))
    except (KodecError, OSError, ValueError) as error:
        told.append(("unseen", f"{type(error).__name__}: {error}"))
    if not is_locked(folder.parent):
        return [*told, ("unlocked", first, layer.made[-1].name)]
    before, work, refused = (
        _content(folder.parent),
        chance.choice(["write", "compact", "trim", "recover"]),
        "",
    )
    try:
        WORK[work](folder, chance, lambda *_: None)
    except (KodecError, OSError, ValueError) as error:
        refused = f"{type(error).__name__}: {error}"
    return [*told, ("second", work, refused, _content(folder.parent) == before)]


def _content(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@dataclass
class Ended:
    """What a process leaves to the one that started it."""

    disk: Disk
    told: list[tuple[Any, ...]]
    calls: int
    failed: str
    error: str


def process(work: str, folder: Path, disk: Disk, seed: str, how: dict[str, Any]) -> Ended:
    """Let a child do `work`; `how` has arguments of `Faults`; with `dies` it ends there."""
    ended: Ended | None = _forked(lambda give: _child(work, folder, disk, seed, how, give))
    if ended is None:
        raise Broken(f"the process that was to {work} ended by itself")
    return ended


def _forked(work: Callable[[Give], None]) -> Any:
    """What a child gives back, which ends with it as if it were killed; None if it ends otherwise."""
    reading, writing_end = os.pipe()

    def give(result: object) -> NoReturn:
        data = memoryview(pickle.dumps(result))
        while data:
            data = data[_write(writing_end, data) :]
        os._exit(0)

    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            gc.disable()
            work(give)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing_end)
    data = bytearray()
    while more := os.read(reading, 1 << 20):
        data += more
    os.close(reading)
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def _child(work: str, folder: Path, disk: Disk, seed: str, how: dict[str, Any], give: Give) -> NoReturn:
    told: list[tuple[Any, ...]] = []

    def finish(error: str = "") -> NoReturn:
        made = len(faults.made)
        failed = f"{made - 1}: {' '.join(faults.failed)}" if faults.failed else ""
        give(Ended(disk, told, made, failed, error))

    def tell(*what: Any) -> None:
        told.append(what)

    given = {key: value for key, value in how.items() if key not in ("dies", "lying", "second")}
    lying = random.Random(seed + " lies")
    faults = Faults(
        **given,
        disk=disk,
        dies=finish if how.get("dies") else None,
        meets=(lambda: second(work, folder, random.Random(seed + " second"), tell))
        if how.get("second")
        else None,
        lies=(lambda: lying.random() < 0.3) if how.get("lying") else lambda: False,
        chance=random.Random(seed + " system"),
    )
    # Other processes are not looked for, and columns not asked for: both cost more than all else here.
    for module in (writing, exclusive):
        setattr(module, "require_unused", lambda folder: None)  # noqa: B010  # not a name they export
    compaction.has_columns = lambda: False
    error = ""
    with faults:
        try:
            WORK[work](folder, random.Random(seed), tell)
        except (OSError, KodecError, ValueError) as caught:
            error = f"{type(caught).__name__}: {caught}"
            if isinstance(caught, ValueError) and not isinstance(caught, KodecError):
                error = traceback.format_exc()
    # As a process ends that was killed: nothing that was open is closed in order.
    finish(error)


# -- what must hold -----------------------------------------------------------------------------------


class Broken(AssertionError):
    """What must hold does not."""


def require(holds: object, what: str) -> None:
    if not holds:
        raise Broken(what)


@dataclass
class Model:
    """What was reported about a log.

    Attributes:
        due: the records that must be there, by offset: acknowledged, and not lost with the machine since.
        allowed: those that may be there.
        durable: what is below it does not go with the machine.
        compacted: whether a compaction has begun, ever.
        start, told_start: below it records may be gone; must be gone.
        lied: whether an fsync has lied, so that nothing is due after the machine went down.
        damaged: whether the machine went down since: a recovery may cut the log anywhere.
        holes: whether one ever has: segments may be gone from the middle.
        closed: whether the log was closed in order and nobody has touched it since.
        readable: whether the log can be read, as it need not be before it is recovered or opened.
        unsure: whether an fsync has failed since, so that what was read may be gone when it is read again.
    """

    due: dict[int, Row] = field(default_factory=dict)
    allowed: dict[int, Row] = field(default_factory=dict)
    durable: int = 0
    compacted: bool = False
    start: int = 0
    told_start: int = 0
    lied: bool = False
    damaged: bool = False
    holes: bool = False
    closed: bool = False
    readable: bool = False
    unsure: bool = False
    converted: bool = False

    def hear(self, work: str, told: list[tuple[Any, ...]]) -> None:
        self.closed = False
        for what, *given in told:
            getattr(self, f"_{what}")(*given)

    def _end(self) -> int:
        # Not `start`: a trim that failed has moved nothing.
        return max([self.told_start, *(offset + 1 for offset in self.due)])

    def _open(self, offset: int) -> None:
        self.readable = True
        self.unsure = False
        require(offset >= self._end(), f"opened at {offset}, {self._end()} was acknowledged")
        self.allowed = {at: row for at, row in self.allowed.items() if at < offset}

    def _try(self, first: int, rows: list[Row]) -> None:
        require(first >= self._end(), f"offset {first} is given again, {self._end()} was acknowledged")
        # The writer says that nothing is there from this offset on.
        self.allowed = {at: row for at, row in self.allowed.items() if at < first}
        self.allowed.update(enumerate(rows, first))

    def _appended(self, first: int, count: int, point: int) -> None:
        for offset in range(first, first + count) if not self.damaged else ():
            self.due[offset] = self.allowed[offset]
        self._point(point)

    def _point(self, point: int) -> None:
        self.durable = max(self.durable, point)

    def _closed(self, point: int, directory: bool) -> None:
        self._point(point)
        require(all(offset < point for offset in self.due), "closed, with records that are not durable")
        self.closed = directory

    def _compacting(self) -> None:
        self.compacted = True

    def _trimming(self, start: int) -> None:
        self.start = max(self.start, start)

    def _trimmed(self, start: int) -> None:
        self.told_start = max(self.told_start, start)

    def _converted(self) -> None:
        self.converted = True

    def _recovering(self, truncated: int, steps: list[str]) -> None:
        pass

    def _seen(self, served: dict[int, Row]) -> None:
        self.check(served)

    def _unseen(self, why: str) -> None:
        require(not self.readable, f"a second process cannot read: {why}")

    def _unlocked(self, work: str, call: str) -> None:
        # A conversion reads here, and writes elsewhere.
        new = ("open", "mkdir", "fsync", "fchown", "fchmod")
        require(work == "convert" or call in new, f"{call} without the lock")

    def _second(self, work: str, refused: str, unchanged: bool) -> None:
        require(unchanged, f"a second process was to {work} meanwhile, and changed something: {refused}")
        require(
            work != "write" or refused.startswith("BlockingIOError"),
            f"a second writer: {refused or 'let in'}",
        )

    def lose(self) -> None:
        """What is not on the disk may be lost."""
        if self.lied:
            self.damaged = True
            self.due, self.start, self.told_start = {}, 0, 0
        self.due = {offset: row for offset, row in self.due.items() if offset < self.durable}

    def check(self, served: dict[int, Row]) -> None:
        """What is served has to be."""
        for offset, row in served.items():
            require(self.allowed.get(offset) == row, f"offset {offset}: {row} was not appended there")
            require(offset >= self.told_start, f"offset {offset} was deleted")
        newest: dict[bytes | None, int] = {}
        for offset, row in served.items():
            newest[row.key] = max(offset, newest.get(row.key, -1))
        for offset, row in self.due.items():
            if served.get(offset) == row or offset < self.start:
                continue
            superseded = self.compacted and (row.kind != "data" or newest.get(row.key, -1) > offset)
            require(superseded, f"offset {offset} was acknowledged: {row}")

    def settle(self, served: dict[int, Row], end: int) -> None:
        """From here on the log is what a recovery has left."""
        self.due, self.allowed = dict(served), dict(served)
        self.durable = end
        self.unsure = self.damaged = False
        self.start = max(self.told_start, min(self.start, end))


def rows(folder: Path) -> tuple[dict[int, Row], int, int]:
    """What a log holds, where it starts, and where it ends; the model knows which offsets may be missing."""
    found: dict[int, Row] = {}
    with kodec.PartitionLog(folder) as log:
        for batch in log.batches(omissions=Omissions()):
            kind = "marker" if batch.is_control else "transaction" if batch.is_transactional else "data"
            for record in batch.records(control=True):
                if record.offset >= log.start_offset:
                    require(record.offset not in found, f"offset {record.offset} is served twice")
                    found[record.offset] = Row(record.key, record.value, kind)
        return found, log.start_offset, log.end_offset


# -- a history ----------------------------------------------------------------------------------------


class History:
    """One history, in a folder of its own.

    Attributes:
        story: what has happened, for people.
        done: how often what was done.
    """

    def __init__(self, base: Path, seed: str) -> None:
        self.base = base
        self.seed = seed
        self.chance = random.Random(seed)
        self.root = base / "logs"
        self.folder = self.root / str(TOPIC)
        self.model = Model()
        self.story: list[str] = []
        self.done: Counter[str] = Counter()
        base.mkdir()
        if self.chance.random() < 0.7:
            self.root.mkdir()
        self.disk = Disk(base)

    def run(self) -> None:
        for number in range(self.chance.randrange(2, 6)):
            work = "write"
            if self.folder.is_dir():
                work = self.chance.choice(["write"] * 5 + ["compact"] * 2 + ["trim", "convert", "recover"])
            self.process(work, number)
            if self.chance.random() < 0.35:
                self.crash()
            if self.chance.random() < 0.5:
                self.recovered()
        self.recovered()

    def process(self, work: str, number: int, how: dict[str, Any] | None = None) -> Ended:
        how = self.plan() if how is None else how
        before = self.served() if work == "convert" or how.get("second") else None
        self.model.readable = before is not None and not self.model.unsure
        if how.get("lying"):
            self.model.lied = self.model.holes = True
        ended = process(work, self.folder, self.disk, f"{self.seed} {number} {work}", how)
        self.disk = ended.disk
        self.done[work] += 1
        self.done["calls"] += ended.calls
        if ended.failed:
            name = (
                "second process"
                if how.get("second")
                else "end at a call"
                if how.get("dies")
                else errno.errorcode.get(how.get("error", 0), "short write")
            )
            self.done[name] += 1
        told = [
            tuple(
                f"{len(part)} records" if isinstance(part, (dict, list)) and each[0] != "recovering" else part
                for part in each
            )
            for each in ended.told
        ]
        self.story.append(
            f"{work} {how}: {ended.calls} calls, {ended.failed or 'none failed'}; {told}; {ended.error}"
        )
        self.model.hear(work, ended.told)
        if ended.failed.partition(" ")[2].startswith("fsync") and not (how.get("dies") or how.get("second")):
            # What it was for may be gone already: the disk is read next.
            self.model.lose()
            self.model.unsure = True
        require("Traceback" not in ended.error or not self.model.due or work != "recover", ended.error)
        if work == "convert":
            self.conversion(before)
        return ended

    def plan(self) -> dict[str, Any]:
        """What a process meets."""
        what, chance = self.chance.random(), self.chance
        at = chance.randrange(chance.choice([8, 30, 120]))
        of_one_kind = chance.randrange(8)
        if what < 0.25:
            return {}
        if what < 0.35:
            return {"at": at, "second": True}
        if what < 0.6:
            return {"at": at, "dies": True}
        if what < 0.75:
            return {"at": at, "error": errno.EIO}
        if what < 0.85:
            return {
                "at": of_one_kind,
                "error": errno.EIO,
                "calls": ("fsync",),
                "forever": chance.random() < 0.3,
            }
        if what < 0.92:
            return {
                "at": of_one_kind,
                "error": errno.ENOSPC,
                "forever": True,
                "calls": ("open", "pwrite", "mkdir"),
            }
        if what < 0.97:
            return {"at": of_one_kind, "calls": ("pwrite", "write"), "short": True}
        return {"lying": True}

    def crash(self) -> None:
        """The machine goes down; what is left has to do where the log was closed in order."""
        self.disk.crash(self.chance)
        self.done["machine down"] += 1
        self.story.append("machine down")
        closed = self.model.closed
        self.model.lose()
        if closed and not self.model.lied:
            served = self.served()
            require(served is not None, "a log that was closed cannot be read")
            assert served is not None
            self.model.check(served)
            plans = list(kodec.repair.plan_recoveries(self.root, index_interval_bytes=INTERVAL))
            require([each.steps for each in plans] == [[]], f"closed, and to be recovered: {plans}")

    def recovered(self) -> None:
        """Recover, sometimes cut short before, and see that all is as it must be."""
        if not self.folder.is_dir():
            require(not self.model.due, "the log is gone")
            self.model = Model()
            return
        for number in range(self.chance.choice([0, 0, 1, 3])):
            self.process("recover", 100 + number)
            if self.chance.random() < 0.3:
                self.crash()
        if not self.folder.is_dir():
            require(not self.model.due, "the log is gone")
            self.model = Model()
            return
        lied = self.model.lied
        ended = self.process("rescue" if lied else "recover", 200, {})
        require(not ended.error, ended.error)
        if lied:
            self.remove_spoilt()
        found, _, end = rows(self.folder)
        self.done["records checked"] += len(found)
        self.model.check(found)
        require(end >= self.model.told_start, f"the log ends at {end}, before {self.model.told_start}")
        with kodec.PartitionLog(self.folder) as log:
            problems = [str(each) for each in verify_partition(log) if not each.note]
        if self.model.holes or self.model.compacted:
            # A compaction that ended with its process before its checkpoint: nothing there reports it.
            problems = [each for each in problems if "no gap between segments" not in each]
        if self.model.holes:
            # A snapshot that was on the disk knows the transaction whose first batch was not.
            problems = [each for each in problems if "first offset of its transaction" not in each]
        require(problems == [] or lied, f"verify: {problems}")
        for plan in kodec.repair.plan_recoveries(self.root, index_interval_bytes=INTERVAL):
            require(plan.steps == [], f"a second recovery: {plan.steps}")
        for plan in kodec.repair.plan_recoveries(self.root, from_start=True, index_interval_bytes=INTERVAL):
            require(
                lied or (plan.truncated_bytes == 0 and not plan.problems), f"from the start: {plan.steps}"
            )
        self.model.settle(found, end)
        if lied:
            # What the disk has not got is unknown: it may show at the next end of the machine only.
            self.disk = Disk(self.base)
            self.model.lied = False

    def remove_spoilt(self) -> None:
        """Do what a person has to where the disk has lied about a checkpoint, which readers refuse."""
        try:
            rows(self.folder)
        except FormatError as error:
            path = Path(error.source or "")
            require(path.parent == self.root and path.name.endswith("-checkpoint"), str(error))
            path.unlink()

    def served(self) -> dict[int, Row] | None:
        """What the log holds as it is; None if it is to be recovered."""
        try:
            return rows(self.folder)[0]
        except (KodecError, OSError, ValueError):
            return None

    def conversion(self, source: dict[int, Row] | None) -> None:
        """A log that was converted is whole or not there, also when the machine goes down at once."""
        target = self.base / "other"
        told, self.model.converted = self.model.converted, False
        if self.chance.random() < 0.5:
            self.crash()
        if self.model.lied:
            pass
        elif (target / str(TOPIC)).is_dir():
            found = rows(target / str(TOPIC))[0]
            require(found == source, f"converted: {found} of {source}")
            self.done["conversions checked"] += 1
        else:
            require(not told, "what was converted is gone")
        shutil.rmtree(target, ignore_errors=True)
        # What the disk has of the rest is as it was.
        self.disk.forget(target.name)


def one(seed: str, base: Path) -> Counter[str]:
    """A history; raises Broken with all that has happened in it."""
    history = History(base / seed.replace(" ", "-"), seed)
    try:
        history.run()
    except BaseException as error:
        story = "\n".join(f"  {number}. {each}" for number, each in enumerate(history.story, 1))
        raise Broken(f"history {seed!r}: {type(error).__name__}: {error}\n{story}") from error
    shutil.rmtree(history.base)
    history.done["histories"] += 1
    return history.done


def run(numbers: range, seed: int, base: Path, told: Callable[[str], None] = lambda _: None) -> Counter[str]:
    """Histories of these numbers. Raises Broken at the first in which something does not hold."""
    total: Counter[str] = Counter()
    for number in numbers:
        total += one(f"{seed} {number}", base)
        if (number + 1) % 500 == 0:
            told(f"{number + 1} histories")
    return total


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.log.histories", description=__doc__)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--only", type=int, help="the number of the only one")
    parser.add_argument("--keep-going", action="store_true", help="count those that break")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.histories)
    if given.only is not None:
        numbers = range(given.only, given.only + 1)
    began = time.monotonic()
    gc.freeze()
    broken = 0
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kodec-histories-") as base:
        for number in numbers:
            try:
                total += run(
                    range(number, number + 1), given.seed, Path(base), lambda text: print(text, flush=True)
                )
            except Broken as error:
                broken += 1
                print(error, flush=True)
                if not given.keep_going:
                    return 1
    for what, count in sorted(total.items()):
        print(f"{count:9} {what}")
    print(f"{time.monotonic() - began:9.0f} seconds; {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
