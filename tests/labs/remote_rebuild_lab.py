#!/usr/bin/env python3
"""Records that stay in remote storage: new clusters read them where they are, under their offsets.

A broker copies segments to remote storage, deletes them locally, has a restart and retention, and is killed.
`kodec rebuild --keep-remote` makes clusters of remote storage alone, of it and the disk, and adds the
topics to a cluster with remote storage of its own. In each, a consumer must get the rows that the old broker
had, groups go on where they stopped, and new segments are copied and served after the old ones.

Usage: remote_rebuild_lab.py [--storage local|plain|zstd-aes|plain-3.9] ...
Exit code: 0 where all is as it must be, 2 where not, or where something cannot be run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lab_records
import make_tiered
import plugin_lab
from kafka_lab import CACHE, GENERATIONS, Broker, Clients, Cluster, Toolbox, Unusable, say, step, wait_for
from make_generation import Writer
from make_tiered import TIERED, TOPIC
from rebuild_lab import brokers, rebuild, require, rows, started, tool

STEADY = "steady"
GROUP = "readers"
READ = 40
# Another number than the old cluster's: the new one computes where each topic-partition is.
PARTITIONS = 7
# Kafka's own, and Aiven's plugin with one of its transforms, in a line of Kafka.
STORAGES = {"local": "4.3", "plain": "4.3", "zstd-aes": "4.3", "plain-3.9": "3.9"}
Rows = list[tuple[Any, ...]]


class Storage(NamedTuple):
    """A kind of remote storage: the broker's settings for a folder, and where kodec finds it there."""

    tools: Toolbox
    settings: Callable[[Path], str]
    root: str


class Old(NamedTuple):
    """What the broker has left, and the rows that it served, by topic and isolation."""

    logs: Path
    tier: Path
    rows: dict[tuple[str, str], Rows]


def storage_of(name: str, repository: Path | None) -> Storage:
    generation = GENERATIONS[STORAGES[name]]
    if name == "local":
        work = CACHE / "work" / "tiered"
        work.mkdir(parents=True, exist_ok=True)
        tools: Toolbox = make_tiered.TieredToolbox(work, repository, generation)
        tools.prepare()
        return Storage(tools, lambda tier: TIERED.format(tier=tier.as_posix()), "")
    folder = CACHE / "work" / f"plugin-{generation.name}"
    folder.mkdir(parents=True, exist_ok=True)
    tools = Toolbox(folder, repository, generation)
    tools.prepare()
    jars = plugin_lab.build(
        CACHE / "work" / "plugin", tools, os.environ.get("KODEC_PLUGIN_SOURCE", plugin_lab.SOURCE)
    )
    keys = plugin_lab.key_pair(folder)
    os.environ["KODEC_TIER_KEY"] = str(keys[1])
    transform = plugin_lab.TRANSFORMS[name.removesuffix("-3.9")]
    return Storage(tools, lambda tier: plugin_lab.settings(jars, tier, transform, keys), "backup")


def segments(tools: Toolbox) -> dict[str, str]:
    """The settings of topics whose segments are small, in remote storage, and deleted locally."""
    return {
        "remote_storage_enable": "true",
        "segment_bytes" if tools.generation.kafka else "internal_segment_bytes": "2048",
        "index_interval_bytes": "256",
        "local_retention_bytes": "1",
    }


# -- the old cluster --------------------------------------------------------------------------------


def settled(broker: Broker, topic: str) -> None:
    """Wait until only the active segment is local, and has records."""
    folder = broker.logs / f"{topic}-0"

    def is_settled() -> bool:
        names = [path.name for path in folder.iterdir()]
        logs = [name for name in names if name.endswith(".log")]
        return len(logs) == 1 and int(logs[0][:20]) > 0 and not any(".deleted" in name for name in names)

    wait_for(f"the segments of {topic} to leave the broker", is_settled, 120)


def steady(clients: Clients, turn: str, count: int = 40) -> None:
    """Batches of one record, without transactions."""
    clients.do("open", turn, "lz4", "idempotent")
    for number in range(count):
        clients.do("send", turn, STEADY, 0, "-", b"%d" % number, f"{turn} {number}".encode() * 12)
        clients.do("flush", turn)
    clients.do("close", turn)


def consumed(clients: Clients, work: Path, topic: str, isolation: str) -> Rows:
    clients.do("consume", topic, isolation, str(work / "rows.jsonl"))
    return rows(work / "rows.jsonl")


def everything(clients: Clients, work: Path) -> dict[tuple[str, str], Rows]:
    return {
        (topic, isolation): consumed(clients, work, topic, isolation)
        for topic in (TOPIC, STEADY)
        for isolation in ("read_uncommitted", "read_committed")
    }


def old_cluster(storage: Storage, work: Path) -> Old:
    tier = work / "tier"
    tier.mkdir(parents=True)
    with Cluster(storage.tools, storage.settings(tier)) as cluster:
        writer = Writer(cluster)
        for topic in (TOPIC, STEADY):
            writer.topic(topic, "segments of 2 KiB", **segments(storage.tools))
        with step("Writing until a restart, and more"):
            make_tiered.write(writer, "first")
            steady(cluster.clients, "first", READ)
            cluster.clients.do("group", GROUP, STEADY, READ, "stopped here")
            cluster.broker.stop()
            cluster.start()
            make_tiered.write(writer, "second")
            steady(cluster.clients, "second")
            for topic in (TOPIC, STEADY):
                settled(cluster.broker, topic)
        with step("Having retention delete the oldest segments in remote storage"):
            before = len(list(tier.rglob("*.log")))
            cluster.clients.do("alter", TOPIC, "retention.bytes=4000")
            wait_for("retention", lambda: len(list(tier.rglob("*.log"))) < before, 60)
            cluster.clients.do("alter", TOPIC, "retention.bytes=-1")
            writer.write(TOPIC, "lz4", lab_records.numbered("local", 6), lab_records.numbered("last", 1))
            for topic in (TOPIC, STEADY):
                settled(cluster.broker, topic)
        with step("Reading everything"):
            found = everything(cluster.clients, work)
        cluster.broker.kill()
    require("a start after retention", found[TOPIC, "read_uncommitted"][0][1] > 0, True)
    logs = work / "old"
    shutil.copytree(storage.tools.work / "logs", logs)
    return Old(logs, tier, found)


# -- the new ones -----------------------------------------------------------------------------------


def new_settings(storage: Storage, tier: Path) -> str:
    own = "rlmm.config.remote.log.metadata.topic.num.partitions="
    text = storage.settings(tier)
    assert f"{own}1\n" in text
    return text.replace(f"{own}1\n", f"{own}{PARTITIONS}\n")


def serves(clients: Clients, work: Path, expected: dict[tuple[str, str], Rows], what: str) -> int:
    """Whether a consumer gets these rows; returns how many."""
    for (topic, isolation), wanted in expected.items():
        found = consumed(clients, work, topic, isolation)
        require(f"{what}: {topic} {isolation}: rows", len(found), len(wanted))
        require(f"{what}: {topic} {isolation}: the same", found == wanted, True)
    return sum(map(len, expected.values()))


def starts(address: str) -> dict[str, int]:
    """The earliest offsets, as Kafka's tool shows them."""
    found = tool("offsets", address, "--time", "earliest")
    return {words[0].split(":")[0]: int(words[0].rsplit(":", 1)[1]) for words in found}


def goes_on(made: Sequence[Broker], clients: Clients, work: Path, tier: Path, turn: str) -> None:
    """New records are copied to remote storage too, deleted locally, and served after the old ones."""
    before = consumed(clients, work, STEADY, "read_committed")
    stored = len(list(tier.rglob("*.log")))
    steady(clients, turn)
    for each in made:
        settled(each, STEADY)
    wait_for("more segments in remote storage", lambda: len(list(tier.rglob("*.log"))) > stored, 60)
    after = consumed(clients, work, STEADY, "read_committed")
    require("rows go on", after[: len(before)] == before and len(after) == len(before) + 40, True)
    offsets = [each[1] for each in after]
    require("offsets go on", offsets, list(range(offsets[0], offsets[0] + len(offsets))))


def of_tier_alone(old: Old) -> dict[tuple[str, str], Rows]:
    """The rows below the first local offset."""
    local = {
        topic: min(int(path.stem) for path in (old.logs / f"{topic}-0").glob("*.log"))
        for topic in (TOPIC, STEADY)
    }
    return {key: [each for each in found if each[1] < local[key[0]]] for key, found in old.rows.items()}


def alone(storage: Storage, old: Old, work: Path) -> str:
    """Three brokers of remote storage alone; one of them is killed."""
    tier = shutil.copytree(old.tier, work / "tier-alone")
    expected = of_tier_alone(old)
    with brokers(storage.tools, work / "alone", 3, new_settings(storage, tier)) as made:
        with step("Rebuilding three brokers of remote storage alone"):
            words = (
                "--keep-remote",
                "--remote-partitions",
                str(PARTITIONS),
                "--topic",
                TOPIC,
                "--topic",
                STEADY,
            )
            killed = rebuild([str(tier / storage.root)], made, *words, kills=2)
        started(made)
        with (
            Clients(storage.tools) as clients,
            step("Comparing with a consumer, before and after a broker dies"),
        ):
            clients.do("connect", ",".join(each.address for each in made), "-")
            count = serves(clients, work, expected, "remote storage alone")
            found = starts(made[0].address)
            require("start", found[TOPIC], expected[TOPIC, "read_uncommitted"][0][1])
            leader = int(clients.do("leader", STEADY, 0).split()[0])
            made[leader - 1].kill()
            wait_for(
                "another leader",
                lambda: int(clients.do("leader", STEADY, 0).split()[0]) not in (-1, leader),
                60,
            )
            serves(clients, work, expected, "after a broker died")
        for each in made:
            each.kill()
    return f"remote storage alone, three brokers: {count} rows, {killed} kills of the rebuild"


def with_disk(storage: Storage, old: Old, work: Path) -> str:
    """A broker of remote storage and the disk of the old one."""
    tier = shutil.copytree(old.tier, work / "tier-disk")
    with brokers(storage.tools, work / "disk", 1, new_settings(storage, tier)) as made:
        (broker,) = made
        with step("Rebuilding a broker of remote storage and a disk"):
            words = ("--keep-remote", "--remote-partitions", str(PARTITIONS))
            killed = rebuild([str(old.logs), str(tier / storage.root)], made, *words, kills=2)
        started(made)
        with Clients(storage.tools) as clients, step("Comparing with a consumer and Kafka's tools"):
            clients.do("connect", broker.address, "-")
            count = serves(clients, work, old.rows, "remote storage and a disk")
            found = starts(broker.address)
            for topic in (TOPIC, STEADY):
                require(f"start of {topic}", found[topic], old.rows[topic, "read_uncommitted"][0][1])
            went_on(clients, broker, len(old.rows[STEADY, "read_committed"]))
            goes_on(made, clients, work, tier, "third")
        with step("Again after a restart"):
            broker.stop()
            broker.start()
            with Clients(storage.tools) as clients:
                clients.do("connect", broker.address, "-")
                only = {key: each for key, each in old.rows.items() if key[0] == TOPIC}
                serves(clients, work, only, "after a restart")
        broker.stop()
    return f"with the broker's disk: {count} rows, {killed} kills of the rebuild"


def went_on(clients: Clients, broker: Broker, count: int) -> None:
    """The group stopped in remote storage, and reads the rest from there."""

    def committed() -> tuple[int, int]:
        words = next(each for each in tool("groups", broker.address) if each[:2] == [GROUP, STEADY])
        return int(words[3]), int(words[5])

    require("the group's offset and lag", committed(), (READ, count - READ))
    clients.do("group", GROUP, STEADY, count - READ, "went on")
    require("the group's offset and lag, after it has read the rest", committed(), (count, 0))


def into_another(storage: Storage, old: Old, work: Path) -> str:
    """Into a cluster that has topics in the same remote storage, and its own `__remote_log_metadata`."""
    tier = shutil.copytree(old.tier, work / "tier-other")
    with brokers(storage.tools, work / "other", 1, new_settings(storage, tier)) as made:
        (broker,) = made
        with step("A cluster with a topic of its own in remote storage"):
            started(made)
            with Clients(storage.tools) as clients:
                clients.do("connect", broker.address, "-")
                settings = [
                    f"{key.replace('_', '.')}={value}" for key, value in segments(storage.tools).items()
                ]
                clients.do("topic", "own", 1, *settings)
                clients.do("open", "own", "none", "plain")
                for number in range(60):
                    clients.do("send", "own", "own", 0, "-", b"k", b"%d" % number * 90)
                    clients.do("flush", "own")
                settled(broker, "own")
                own = consumed(clients, work, "own", "read_committed")
                clients.do("group", "owners", "own", 60, "own group")
            broker.stop()
        with step("Rebuilding into it"):
            words = ("--keep-remote", "--topic", TOPIC, "--topic", STEADY)
            rebuild([str(old.logs), str(tier / storage.root)], made, *words)
        started(made)
        with Clients(storage.tools) as clients, step("Comparing with a consumer and Kafka's tools"):
            clients.do("connect", broker.address, "-")
            count = serves(clients, work, old.rows, "into a cluster")
            require("its own topic", consumed(clients, work, "own", "read_committed") == own, True)
            went_on(clients, broker, len(old.rows[STEADY, "read_committed"]))
            groups = {each[0]: each[3] for each in tool("groups", broker.address) if each[0] == "owners"}
            require("its own group", groups, {"owners": "60"})
            goes_on(made, clients, work, tier, "third")
        broker.stop()
    return f"into a cluster with remote storage: {count} rows"


def back(storage: Storage, old: Old, work: Path) -> str:
    """All records return as local segments, of both sources together."""
    with brokers(storage.tools, work / "back", 1) as made:
        with step("Rebuilding a broker with all records on its disk"):
            rebuild([str(old.logs), str(old.tier / storage.root)], made)
        started(made)
        with Clients(storage.tools) as clients, step("Comparing with a consumer"):
            clients.do("connect", made[0].address, "-")
            count = serves(clients, work, old.rows, "back on a disk")
            went_on(clients, made[0], len(old.rows[STEADY, "read_committed"]))
        made[0].stop()
    return f"back on a disk: {count} rows"


def refused(storage: Storage, old: Old, work: Path) -> None:
    """A missing object is reported, not passed over."""
    tier = shutil.copytree(old.tier, work / "tier-damaged")
    logs = sorted(path for path in tier.rglob("*.log") if STEADY in str(path))
    logs[1].unlink()
    with brokers(storage.tools, work / "refused", 1, new_settings(storage, tier)) as made:
        try:
            rebuild([str(old.logs), str(tier / storage.root)], made, "--keep-remote")
        except Unusable as problem:
            require("what is missing", "its objects are missing" in str(problem), True)
        else:
            raise Unusable("a rebuild passed over a missing object")
    shutil.rmtree(tier)


def make(name: str, repository: Path | None) -> str:
    """One kind of remote storage; returns the figures. Raises Unusable."""
    storage = storage_of(name, repository)
    work = CACHE / "work" / f"remote-rebuild-{name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        old = old_cluster(storage, work)
        figures = [part(storage, old, work) for part in (back, with_disk, alone, into_another)]
        refused(storage, old, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.environ.pop("KODEC_TIER_KEY", None)
    return f"{name}: {'; '.join(figures)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storage", action="append", choices=[*STORAGES])
    parser.add_argument("--maven-repository", type=Path, default=CACHE / "maven-repository")
    options = parser.parse_args()
    try:
        for name in options.storage or STORAGES:
            say(make(name, options.maven_repository))
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
