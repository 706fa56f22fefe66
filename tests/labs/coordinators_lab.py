#!/usr/bin/env python3
# ruff: noqa: E402  (what is imported is found only after the path is set)
"""Starts real brokers with partitions of coordinators' topics: do they load what `verify` says?

    python tests/labs/coordinators_lab.py [3.9 4.3 4.4]

A broker makes the topics, with a partition for each of the cases in tests/log/verification/loadings.py, and
stops. The partitions get the cases' records, and what a broker prints when it loads them is compared with the
problems that `verify` has.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kafka_lab import CACHE, Broker, Clients, Toolbox, Unusable, generation_of, say, step, work_of

import kodec
from tests.log import made
from tests.log.verification.loadings import LOADINGS, SHARES

LINES = ("3.9", "4.3", "4.4")
LOADERS = (
    "kafka.coordinator.group.GroupMetadataManager",
    "kafka.coordinator.transaction.TransactionStateManager",
    "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime",
)
FAILED = re.compile(
    r"(?:Failed to load metadata from|Error loading offsets from"
    r"|Error loading transactions from transaction log) (__\w+-\d+)"
)
LOADED = re.compile(
    r"(?:Finished loading of metadata from|Finished loading offsets and group metadata from"
    r"|Completed loading transaction metadata from"
    r"|Finished loading \d+ transaction metadata from) (__\w+-\d+)"
)


def places(line: str) -> dict[str, str]:
    """The partition of each case that this line has."""
    numbers: defaultdict[str, int] = defaultdict(int)
    found = {}
    for name, case in LOADINGS.items():
        if line == "3.9" and case.topic == SHARES:
            continue
        found[name] = f"{case.topic}-{numbers[case.topic]}"
        numbers[case.topic] += 1
    return found


def make(line: str, repository: Path | None = None) -> list[str]:
    """One line of Kafka; returns what differs. Raises: Unusable."""
    generation = generation_of(line)
    tools = Toolbox(work_of(generation), repository, generation)
    tools.prepare()
    work = CACHE / "work" / f"coordinators-{line}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    partitions = places(line)
    topics = {place.rpartition("-")[0]: 0 for place in partitions.values()}
    for place in partitions.values():
        topics[place.rpartition("-")[0]] += 1
    broker = Broker(tools, folder=work, verbose=LOADERS)
    try:
        broker.format()
        broker.start()
        with Clients(tools) as clients:
            clients.do("connect", broker.address, "-")
            for topic, count in topics.items():
                clients.do("topic", topic, count)
        broker.stop()
        stuck = {place for name, place in partitions.items() if line == "3.9" and LOADINGS[name].stuck}
        expected, found = {}, {}
        # one that is never loaded keeps the others from it
        for chosen in (set(partitions.values()) - stuck, stuck):
            for name, place in partitions.items():
                if place in chosen:
                    expected[place] = write(broker.logs / place, name, line)
            if chosen:
                begun = broker.output.stat().st_size
                broker.start()
                found |= watch(broker, begun, chosen, 60 if chosen != stuck else 15)
                broker.kill()
    finally:
        broker.kill()
    names = {place: name for name, place in partitions.items()}
    differ = []
    for place, wanted in sorted(expected.items()):
        have = found.get(place, "never ends")
        say(f"    {have}: {names[place]}")
        if have != wanted:
            differ.append(f"{names[place]} ({place}): verify says {wanted}, the broker {have}")
    return differ


def write(folder: Path, name: str, line: str) -> str:
    """Give a partition the records of a case; returns what `verify` says about this line."""
    for path in folder.glob("0*"):
        path.unlink()
    entries = [made.batch(offset, [each]) for offset, each in enumerate(LOADINGS[name].pairs)]
    made.make(folder, [(0, entries)])
    problems = [each.what for each in kodec.repair.verify(folder) if not each.note and line in each.what]
    if any("never loaded" in each for each in problems):
        return "never ends"
    effect = r"no group .* is loaded|the partition is not loaded|reading ends"
    ends = any(re.search(rf"Kafka [^:]*{line}[^:]*: ({effect})", each) for each in problems)
    return "fails" if ends else "loads"


def watch(broker: Broker, begun: int, places: set[str], seconds: float) -> dict[str, str]:
    """What the broker has printed about these partitions, until all are named or the time is over."""
    end = time.monotonic() + seconds
    while True:
        text = broker.output.read_bytes()[begun:].decode(errors="replace")
        found = dict.fromkeys(LOADED.findall(text), "loads") | dict.fromkeys(FAILED.findall(text), "fails")
        if places <= set(found) or time.monotonic() > end:
            return {place: what for place, what in found.items() if place in places}
        time.sleep(1)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    try:
        differ = []
        for line in sys.argv[1:] or LINES:
            with step(f"Coordinators of Kafka {line}"):
                differ += [f"{line}: {each}" for each in make(line)]
        say("\n".join(differ) or "all as verify says")
        sys.exit(bool(differ))
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
