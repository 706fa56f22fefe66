"""Starts a real broker with states of a log directory: does it do what docs/verify.md says?

    python tests/labs/states_lab.py [3.9 4.3 4.4]

A broker makes topics, a snapshot of its metadata and records, and stops. For each state a copy of its log
directory is changed: `verify` must have a problem with it, and a broker must do what is expected.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kafka_lab import CACHE, Broker, Clients, Toolbox, Unusable, generation_of, say, step, wait_for, work_of

import kodec

LINES = ("3.9", "4.3", "4.4")
TOPIC = "orders"


def metadata(logs: Path) -> Path:
    return logs / "__cluster_metadata-0"


def newest_snapshot(logs: Path) -> Path:
    return max(metadata(logs).glob("*.checkpoint"))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def empty_partition(logs: Path) -> None:
    for path in (logs / f"{TOPIC}-0").glob("0*"):
        path.unlink()


def begins_later(logs: Path, *, with_snapshot: bool) -> None:
    """Take the start of the metadata log away, as it is deleted once a snapshot has it."""
    folder = metadata(logs)
    snapshots = sorted(folder.glob("*.checkpoint"))
    end = int(snapshots[-1].name[:20])
    log = folder / f"{0:020d}.log"
    data = log.read_bytes()
    batch = next(each for each in kodec.read_batches(data) if each.next_offset >= end)
    (folder / f"{batch.base_offset:020d}.log").write_bytes(data[batch.position :])
    for path in [*folder.glob(f"{0:020d}.*"), *(snapshots[:-1] if with_snapshot else snapshots)]:
        path.unlink(missing_ok=True)


STARTS = {
    "as it was": (lambda logs: None, "serves 3 records"),
    "a folder of no topic-partition": (
        lambda logs: shutil.copytree(logs / f"{TOPIC}-0", logs / "orders-"),
        "does not serve",
    ),
    "meta.properties without properties": (
        lambda logs: (logs / "meta.properties").write_text(""),
        "does not serve",
    ),
    "no partition.metadata": (lambda logs: (logs / f"{TOPIC}-0" / "partition.metadata").unlink(), "stray"),
    "a damaged snapshot": (lambda logs: flip(newest_snapshot(logs)), "does not serve"),
    "an empty snapshot": (lambda logs: newest_snapshot(logs).write_bytes(b""), "does not serve"),
    "a torn snapshot": (lambda logs: os.truncate(newest_snapshot(logs), 100), "does not serve"),
    "a metadata log that begins later": (
        lambda logs: begins_later(logs, with_snapshot=False),
        "does not serve",
    ),
    "a metadata log that begins later, with its snapshot": (
        lambda logs: begins_later(logs, with_snapshot=True),
        "serves 3 records",
    ),
    "an empty partition": (empty_partition, "serves 0 records"),
}


def make(line: str, repository: Path | None = None) -> list[str]:
    """One line of Kafka; returns what differs. Raises: Unusable."""
    generation = generation_of(line)
    tools = Toolbox(work_of(generation), repository, generation)
    tools.prepare()
    work = CACHE / "work" / f"states-{line}"
    shutil.rmtree(work, ignore_errors=True)
    (work / "first").mkdir(parents=True)
    broker = Broker(tools, folder=work / "first")
    with Clients(tools) as clients:
        try:
            broker.format()
            broker.start()
            clients.do("connect", broker.address, "-")
            clients.do("topic", TOPIC, 1)
            for number in range(20):
                clients.do("topic", f"other-{number}", 3)
            clients.do("open", "sender", "none", "plain")
            for number in range(3):
                clients.do("send", "sender", TOPIC, 0, "-", b"k", b"%d" % number)
            clients.do("flush", "sender")
            wait_for("a snapshot of the metadata", lambda: newest_snapshot(broker.logs).name[19] != "0", 60)
            broker.stop()
        finally:
            broker.kill()
        differ = []
        for number, (name, (change, wanted)) in enumerate(STARTS.items()):
            found, problems = state(tools, work / str(number), broker.logs, change)
            if bool(problems) != (wanted != "serves 3 records"):
                differ.append(f"{name}: verify has {problems}")
            if found != wanted:
                differ.append(f"{name}: need {wanted}, have {found}")
            say(f"    {name}: {found}")
    return differ


def state(
    tools: Toolbox, folder: Path, logs: Path, change: Callable[[Path], object]
) -> tuple[str, list[str]]:
    """What a broker does with a changed copy of a log directory, and the problems of `verify`."""
    folder.mkdir()
    broker = Broker(tools, folder=folder)
    shutil.copytree(logs, broker.logs)
    change(broker.logs)
    problems = [str(each) for each in kodec.repair.verify(broker.logs) if not each.note]
    broker.configure("", [broker])
    try:
        broker.start()
        time.sleep(5)
        if broker.process is None or broker.process.poll() is not None:
            return "does not serve", problems
        if any(broker.logs.glob(f"{TOPIC}-0.*-stray")):
            return "stray", problems
        broker.stop()
        return f"serves {kodec.PartitionLog(broker.logs / f'{TOPIC}-0').end_offset} records", problems
    except Unusable as error:
        say("    " + broker.explained(str(error))[-200:].replace("\n", " "))
        return "does not serve", problems
    finally:
        broker.kill()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    try:
        differ = []
        for line in sys.argv[1:] or LINES:
            with step(f"States of a log directory, Kafka {line}"):
                differ += [f"{line}: {each}" for each in make(line)]
        say("\n".join(differ) or "all as docs/verify.md says")
        sys.exit(bool(differ))
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
