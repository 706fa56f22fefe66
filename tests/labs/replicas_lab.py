#!/usr/bin/env python3
"""Three brokers, elections, three damaged disks: `kodec salvage`, and a new cluster that serves the result.

Each round starts three brokers and a controller, and writes to four topics while brokers are killed and
restarted: `safe` (acks=all, two in sync), `forced` (the same, with unclean elections), `fast` (acks=1), and
`unclean` (acks=1, unclean elections).
Then all are killed, and each disk is damaged differently: flipped bits, a lost end, a lost segment. Which
acknowledged records are still valid on a disk follows from the bytes that were hit. Those on the lineage must
survive; a consumer of a new cluster is the judge.

Usage: replicas_lab.py [--rounds N] [--seed N]
Exit code: 0 where all is as it must be, 1 where not, 2 where something cannot be run.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kafka_lab import (
    CACHE,
    CLUSTER_ID,
    GENERATIONS,
    Broker,
    Clients,
    Cluster,
    Toolbox,
    Unusable,
    run,
    say,
    step,
    stop_on_signal,
    wait_for,
    work_of,
)
from kafka_reads_ours import Row, java_rows
from sink_lab import metadata_of

import kodec
from kodec.log.adoption.adopt import plan_adoption
from kodec.log.recovery.salvage import SalvageReport, plan_salvage

SAFE, FORCED, FAST, UNCLEAN = TOPICS = ("safe", "forced", "fast", "unclean")
ACKS = {SAFE: "all", FORCED: "all", FAST: "1", UNCLEAN: "1"}
CONFIG = {
    SAFE: ["min.insync.replicas=2", "unclean.leader.election.enable=false"],
    FORCED: ["min.insync.replicas=2", "unclean.leader.election.enable=true"],
    FAST: ["min.insync.replicas=1", "unclean.leader.election.enable=false"],
    UNCLEAN: ["min.insync.replicas=1", "unclean.leader.election.enable=true"],
}
SEGMENTS = "internal.segment.bytes=200000"
CONTROLLER = 9
MOST_RESTARTS = 20
SETTINGS = """\
process.roles=broker
listeners=PLAINTEXT://{address}
advertised.listeners=PLAINTEXT://{address}
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=6000
replica.lag.time.max.ms=3000
replica.fetch.wait.max.ms=100
replica.high.watermark.checkpoint.interval.ms=1000
"""
QUORUM = """\
process.roles=controller
listeners=CONTROLLER://127.0.0.1:{controller}
broker.session.timeout.ms=6000
"""


class Wrong(Exception):
    """The result is not as it must be."""


class Member(Broker):
    """A broker, or the controller, of a cluster whose only controller is a node of its own."""

    def __init__(self, tools: Toolbox, folder: Path, node: int, controller: Member | None = None) -> None:
        super().__init__(tools, folder=folder, node=node)
        self.controller = controller
        folder.mkdir(parents=True)

    def prepare(self) -> None:
        """Write the configuration, and format the storage."""
        if self.controller is None:
            self.settings = QUORUM.format(controller=self.controller_port)
            self.format()
            return
        self.settings = SETTINGS.format(address=self.address, controller=self.controller.controller_port)
        self.configure("", [self.controller])
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(self.config), "--no-initial-controllers"]
        run(self.tools.command("kafka.tools.StorageTool", *arguments), "kafka-storage format failed")

    def configure(self, zookeeper: str, quorum: Sequence[Broker]) -> None:
        super().configure(zookeeper, quorum)
        if self.controller is None:
            lines = self.config.read_text().splitlines(keepends=True)
            of_brokers = ("advertised.", "inter.broker.")
            self.config.write_text("".join(line for line in lines if not line.startswith(of_brokers)))

    def await_listening(self) -> None:
        wait_for("the broker to listen", self.listening, 240)

    def listening(self) -> bool:
        if self.controller is not None:
            return super().listening()
        if self.process is None or self.process.poll() is not None:
            raise Unusable(f"the controller ended:\n{self.output.read_text(errors='replace')[-6000:]}")
        return True


class Three:
    """Three brokers, a controller and the Java clients; nothing outlives it."""

    def __init__(self, tools: Toolbox, folder: Path) -> None:
        self.tools = tools
        self.controller = Member(tools, folder / "controller", CONTROLLER)
        self.brokers = {
            node: Member(tools, folder / f"broker-{node}", node, self.controller) for node in (1, 2, 3)
        }
        self.clients: Clients

    @property
    def members(self) -> list[Member]:
        return [self.controller, *self.brokers.values()]

    @contextmanager
    def running(self) -> Iterator[None]:
        for each in self.members:
            each.prepare()
        self.clients = Clients(self.tools)
        try:
            for each in self.members:
                each.begin()
            for each in self.members:
                each.await_listening()
            self.clients.do("connect", ",".join(each.address for each in self.brokers.values()), "-")
            yield
        finally:
            for each in self.members:
                each.kill()
            self.clients.__exit__(None, None, None)

    def leader(self, topic: str) -> tuple[int, set[int]]:
        """The leader, -1 for none, and the replicas in sync."""
        leader, *in_sync = map(int, self.clients.do("leader", topic, 0).split())
        return leader, set(in_sync)

    def await_in_sync(self, nodes: set[int]) -> None:
        for topic in TOPICS:
            wait_for(f"{nodes} to be in sync", lambda topic=topic: self.leader(topic)[1] == nodes, 120)

    def await_out_of_sync(self, topic: str, node: int) -> None:
        wait_for(f"broker {node} to be out of sync", lambda: node not in self.leader(topic)[1], 60)

    def await_leader(self, topic: str, *others: int) -> int:
        wait_for(f"a leader of {topic}", lambda: self.leader(topic)[0] not in (-1, *others), 120)
        return self.leader(topic)[0]


class Written:
    """What was sent, and acknowledged: keys by topic."""

    def __init__(self, three: Three, chance: random.Random) -> None:
        self._three, self._chance = three, chance
        self.acknowledged: dict[str, set[bytes]] = {topic: set() for topic in TOPICS}
        self._count = 0

    def send(self, *topics: str, batches: int = 4) -> None:
        """Batches to topics; returns when all are acknowledged."""
        clients = self._three.clients
        for topic in topics:
            self._count += 1
            name = f"sender-{self._count}"
            codec = self._chance.choice(["none", "lz4", "zstd", "gzip"])
            clients.do("open", name, codec, "plain", ACKS[topic])
            for batch in range(batches):
                keys = [b"%d-%d-%d" % (self._count, batch, number) for number in range(8)]
                for key in keys:
                    value = self._chance.randbytes(self._chance.randrange(2_000, 6_000))
                    clients.do("send", name, topic, 0, int(time.time() * 1000), key, value)
                clients.do("flush", name)
                self.acknowledged[topic] |= set(keys)
            clients.do("close", name)


def write(three: Three, chance: random.Random) -> Written:
    """Write while brokers are killed and come back; the last election of `unclean` is an unclean one."""
    written = Written(three, chance)
    for topic in TOPICS:
        three.clients.do("topic", topic, 1, "replication.factor=3", SEGMENTS, *CONFIG[topic])
    three.await_in_sync({1, 2, 3})
    written.send(*TOPICS, batches=10)
    for _ in range(2):
        node = chance.choice([1, 2, 3])
        with step(f"Killing broker {node}, writing, starting it again"):
            three.brokers[node].kill()
            written.send(*TOPICS)
            three.brokers[node].start()
            three.await_in_sync({1, 2, 3})
            written.send(*TOPICS)
    with step("An unclean election"):
        last = chance.choice([1, 2, 3])
        others = [node for node in (1, 2, 3) if node != last]
        chance.shuffle(others)
        for node in others:
            three.brokers[node].kill()
            for topic in (UNCLEAN, FORCED):
                three.await_out_of_sync(topic, node)
            if node == others[0]:
                # two in sync acknowledge what the third does not get
                written.send(FORCED)
        wait_for("one in sync", lambda: three.leader(UNCLEAN) == (last, {last}), 60)
        written.send(FAST, UNCLEAN, batches=3)
        time.sleep(2)
        three.brokers[last].kill()
        for node in others:
            three.brokers[node].begin()
        for node in others:
            three.brokers[node].await_listening()
        for topic in (UNCLEAN, FORCED):
            three.await_leader(topic, last)
        wait_for("two in sync", lambda: three.leader(FORCED)[1] == set(others), 60)
        written.send(UNCLEAN, FORCED, batches=5)
    # the last of `fast` is leaderless: nobody else was in sync
    for each in three.members:
        each.kill()
    return written


# -- damage -----------------------------------------------------------------------------------------


class Good(NamedTuple):
    """A batch that the damage has left on a disk."""

    node: int
    first: int
    last: int
    epoch: int
    keys: frozenset[bytes]


def damage(folder: Path, node: int, how: str, chance: random.Random) -> list[Good]:
    """Damage the segments of a topic-partition; the batches that are still good."""
    good: list[Good] = []
    logs = sorted(folder.glob("*.log"))
    lost_segment = chance.choice(logs[1:-1] or [None]) if how == "segment" else None  # type: ignore[list-item]
    for log in logs:
        data = bytearray(log.read_bytes())
        batches = list(kodec.read_batches(bytes(data)))
        hit: list[tuple[int, int]] = []
        if log == lost_segment:
            log.unlink()
            continue
        if how == "bits":
            for _ in range(max(1, len(batches) // 8)):
                at = chance.randrange(len(data)) if data else 0
                if data:
                    data[at] ^= 1 << chance.randrange(8)
                    hit.append((at, at + 1))
        elif how == "end" and log == logs[-1] and data:
            cut = chance.randrange(len(data))
            hit.append((cut, len(data)))
            del data[cut:]
        elif how == "segment" and data:
            begin = chance.randrange(len(data))
            end = min(begin + 5_000, len(data))
            data[begin:end] = bytes(end - begin)
            hit.append((begin, end))
        log.write_bytes(data)
        for batch in batches:
            begin, end = batch.position, batch.position + batch.size
            if any(low < end and begin < high for low, high in hit):
                continue
            keys = frozenset(each.key for each in batch.records() if each.key is not None)
            good.append(Good(node, batch.base_offset, batch.last_offset, batch.partition_leader_epoch, keys))
    return good


# -- the result -------------------------------------------------------------------------------------


def keys_in(aside: Path) -> set[bytes]:
    """The keys of the records that were set aside, of all replicas."""
    return {
        record.key
        for root in (aside.iterdir() if aside.is_dir() else ())
        for log in kodec.LogDirectory(root)
        for record in log.records()
        if record.key is not None
    }


def judge(
    topic: str,
    written: Written,
    good: list[Good],
    report: SalvageReport,
    rows: list[Row],
    dropped: set[bytes],
) -> dict[str, int]:
    """Compare what a consumer reads with what was acknowledged and is good. Raises Wrong."""
    acknowledged = written.acknowledged[topic]
    keys = [row.key for row in rows]
    valid = {key for each in good for key in each.keys} & acknowledged
    served = set(keys)
    if missing := valid - served - dropped:
        some = sorted(missing)[:3]
        raise Wrong(f"{topic}: {len(missing)} acknowledged records are good on a disk and lost: {some}")
    if topic == SAFE and report.dropped:
        raise Wrong(f"{topic}: dropped {report.dropped}, with acks=all and clean elections")
    if topic == UNCLEAN and not report.dropped:
        raise Wrong(f"{topic}: nothing was dropped after an unclean election")
    places = {(each.first, each.last, key) for each in good for key in each.keys}
    known = {key: (first, last) for first, last, key in places}
    for row in rows:
        if row.key not in known or not known[row.key][0] <= row.offset <= known[row.key][1]:
            raise Wrong(f"{topic}: offset {row.offset} has {row.key!r}, which no disk has there")
    offsets = [row.offset for row in rows]
    if offsets != sorted(set(offsets)):
        raise Wrong(f"{topic}: offsets are not in order")
    named = [(each.first_offset or 0, each.last_offset) for each in report.missing]
    for offset in set(range(offsets[0], offsets[-1])) - set(offsets):
        if not any(first <= offset and (last is None or offset <= last) for first, last in named):
            raise Wrong(f"{topic}: offset {offset} is missing, and the report does not name it")
    return {
        "acknowledged": len(acknowledged),
        "valid on a disk": len(valid),
        "served": len(served & acknowledged),
        "left out": len((dropped & acknowledged) - served),
        "ranges missing": len(named),
    }


def serve(tools: Toolbox, salvaged: Path, folder: Path) -> dict[str, list[Row]]:
    """The rows of a consumer of a new cluster that has adopted the logs. Raises Unusable."""
    found: dict[str, list[Row]] = {}
    with Cluster(tools) as cluster:
        for topic in TOPICS:
            cluster.clients.do("topic", topic, 1, "retention.ms=-1")
        for _ in range(MOST_RESTARTS):
            cluster.broker.stop()
            plan = plan_adoption(
                salvaged, [cluster.broker.logs], metadata=metadata_of(cluster), topics=TOPICS
            )
            if not any("newest leader epoch" in each for each in plan.problems):
                break
            # each start gives the partitions of the new cluster later epochs
            cluster.start()
        if plan.problems:
            raise Wrong("\n".join(plan.problems))
        plan.apply()
        cluster.start()
        for topic in TOPICS:
            found[topic] = java_rows(cluster, topic, folder / f"{topic}.jsonl")
        cluster.broker.stop()
    return found


def play(tools: Toolbox, folder: Path, seed: int) -> list[str]:
    """One round. Returns a line for each topic. Raises Unusable, Wrong."""
    chance = random.Random(seed)
    three = Three(tools, folder)
    with step("Starting three brokers and a controller"):
        manager = three.running()
        manager.__enter__()
    try:
        written = write(three, chance)
    finally:
        manager.__exit__(None, None, None)
    hows = ["bits", "end", "segment"]
    chance.shuffle(hows)
    good: dict[str, list[Good]] = {topic: [] for topic in TOPICS}
    for node, how in zip(three.brokers, hows, strict=True):
        for topic in TOPICS:
            path = three.brokers[node].logs / f"{topic}-0"
            good[topic] += damage(path, node, how, chance)
    reports: dict[str, SalvageReport] = {}
    kept_aside: dict[str, set[bytes]] = {}
    salvaged = folder / "salvaged"
    with step(f"Salvaging what is left after {', '.join(hows)}"):
        for topic in TOPICS:
            first, *others = (each.logs / f"{topic}-0" for each in three.brokers.values())
            aside = folder / "aside" / topic
            plan = plan_salvage(first, salvaged / f"{topic}-0", *others, dropped=aside)
            preview = plan.preview()
            if preview.problems:
                # an epoch of which the damage has left nothing: a person decides, as a broker would
                if not all("no batch of it is left" in each for each in preview.problems):
                    raise Wrong(f"{topic}: {preview.problems}")
                newest = Path(preview.problems[0].partition(": leader epoch")[0])
                plan = plan_salvage(first, salvaged / f"{topic}-0", *others, lineage=newest, dropped=aside)
            reports[topic] = report = plan.apply()
            kept_aside[topic] = keys_in(aside)
            for each in report.missing:
                say(f"    {topic}: {each.offsets} missing: {'; '.join(each.reasons)}")
    with step("Serving it from a new cluster"):
        rows = serve(tools, salvaged, folder)
    lines = []
    for topic in TOPICS:
        facts = judge(topic, written, good[topic], reports[topic], rows[topic], kept_aside[topic])
        lines.append(f"{topic}: " + ", ".join(f"{count} {what}" for what, count in facts.items()))
        say(f"    {lines[-1]}")
    return lines


def make(repository: Path | None, rounds: int, seed: int) -> list[str]:
    """Rounds with these seeds. Raises Unusable, Wrong."""
    tools = Toolbox(work_of(GENERATIONS["4.3"]), repository, GENERATIONS["4.3"])
    tools.prepare()
    lines = []
    for number in range(rounds):
        folder = CACHE / "work" / "replicas"
        shutil.rmtree(folder, ignore_errors=True)
        say(f"==== round {number + 1} of {rounds}, seed {seed + number}")
        lines += play(tools, folder, seed + number)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 20))
    parser.add_argument("--maven-repository", type=Path, default=CACHE / "maven-repository")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop_on_signal)
    try:
        make(options.maven_repository, options.rounds, options.seed)
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the brokers are stopped", file=sys.stderr)
        return 1
    except Wrong as problem:
        print(f"wrong: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
