"""Backs up brokers that work, kills them and the backup, and has new clusters serve what the points have.

A broker takes records, transactions and commits, rolls, deletes and compacts, while backups run and are
killed. Points become clusters, in which Kafka's tools and clients must find topics, ids, settings, offsets,
groups and records as the point has them: one broker, brokers with several log directories and controllers of
their own, and quorums of `controller.quorum.voters`. Then three brokers, killed and damaged, become three
others, and these get a topic and a group of another cluster. Rebuilds are killed too.
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_lab import (
    CACHE,
    Broker,
    Clients,
    Cluster,
    Toolbox,
    Unusable,
    generation_of,
    run,
    say,
    step,
    wait_for,
    work_of,
)

import kodec
from kodec.log.rebuild.target import FENCE

LINES = ("4.3", "3.9", "4.4")
# Small segments, a log that is deleted and one that is compacted all the time.
SETTINGS = """\
log.segment.delete.delay.ms=100
log.retention.check.interval.ms=300
transaction.max.timeout.ms=900000
offsets.topic.num.partitions=3
"""
TOPICS = {
    "orders": (3, ("segment.bytes=1048576", "retention.ms=-1")),
    "gone": (2, ("segment.bytes=1048576", "retention.bytes=1500000", "retention.ms=-1")),
    "latest": (
        1,
        (
            "segment.bytes=1048576", "cleanup.policy=compact", "min.cleanable.dirty.ratio=0.01",
            "segment.ms=2000", "delete.retention.ms=100",
        ),
    ),
    "paid": (2, ("retention.ms=-1", "segment.bytes=1048576")),
}  # fmt: skip
GROUPS = ("shop", "bank")
NEW_CLUSTER = "cmVidWlsdC1jbHVzdGVyMQ"


def make(line: str, repository: Path | None, rounds: int = 8) -> str:
    """One line of Kafka; returns the figures. Raises: Unusable."""
    generation = generation_of(line)
    tools = Toolbox(work_of(generation), repository, generation)
    tools.prepare()
    work = CACHE / "work" / f"rebuild-{line}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    figures = []
    try:
        first, between, last = live(tools, work, rounds)
        for name in (first, last):
            figures.append(restored(tools, work, name))
        for is_static in (False, True):
            figures.append(shaped(tools, work, between, is_static=is_static))
        figures.append(wrecked(tools, work))
        figures.append(deleted(tools, work))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return f"Kafka {tools.generation.kafka or line}: " + "; ".join(figures)


# -- a broker that works --------------------------------------------------------------------------


class Traffic:
    """Clients that write without end, in a thread."""

    def __init__(self, tools: Toolbox, address: str) -> None:
        self.clients = Clients(tools)
        self.clients.do("connect", address, "-")
        self.sent = 0
        self.error: BaseException | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            chance = random.Random(1)
            do = self.clients.do
            do("open", "plain", "zstd", "idempotent")
            do("open", "tx", "lz4", "payments")
            turn = 0
            while not self._ended.is_set():
                turn += 1
                for number in range(60):
                    value = chance.randbytes(2000)
                    do("send", "plain", "orders", number % 3, "-", b"%d" % number, value)
                    do("send", "plain", "gone", number % 2, "-", None, value)
                    do("send", "plain", "latest", 0, "-", b"%d" % (number % 20), value)
                    self.sent += 3
                do("flush", "plain")
                do("begin", "tx")
                for number in range(10):
                    do("send", "tx", "paid", number % 2, "-", b"k", b"%d" % turn)
                do("end", "tx", "abort" if turn % 4 == 0 else "commit")
                self.sent += 10
                do("group", GROUPS[turn % 2], "orders", 5, f"turn {turn}")
        except BaseException as error:
            self.error = error

    def __enter__(self) -> Traffic:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(120)
        self.clients.__exit__(None, None, None)
        if self.error is not None:
            raise Unusable(f"the traffic ended: {self.error}")


def kodec_process(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kodec", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def live(tools: Toolbox, work: Path, rounds: int) -> list[str]:
    """The points of a backup of a working broker. Some backups are killed."""
    target = work / "backup"
    with Cluster(tools, SETTINGS) as cluster:
        for topic, (partitions, settings) in TOPICS.items():
            cluster.clients.do("topic", topic, partitions, *settings)
        logs = str(cluster.broker.logs)
        killed = again = 0
        chance = random.Random(2)
        with (
            step("Backing up a broker that works, with kills"),
            Traffic(tools, cluster.broker.address) as traffic,
        ):
            wait_for("records", lambda: traffic.sent > 500, 60)
            points = 0
            while points < rounds:
                process = kodec_process("backup", logs, "--to", str(target), "--json")
                if points and killed < 2 * rounds and chance.random() < 0.6:
                    time.sleep(chance.uniform(0.2, 2.0))
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    killed += 1
                    continue
                out, err = process.communicate()
                if process.returncode:
                    raise Unusable(f"backup ended with {process.returncode}: {err}")
                found = json.loads(out)
                again += sum(
                    one["attempts"] > 1 for each in found["directories"] for one in each["partitions"]
                )
                points += 1
                time.sleep(chance.uniform(0, 1.5))
        cluster.broker.kill()
        say(f"    {traffic.sent} records sent, {killed} backups killed, {again} partitions read again")
    checked("backup", "--to", str(target), "--check")
    names = [each.name for each in kodec.operations.list_points(target)]
    require("points", len(names) >= rounds, True)
    for name in names:
        found = [each for each in kodec.repair.verify(f"{target}/points/{name}") if not each.note]
        require(f"problems of {name}", [str(each) for each in found], [])
    # the first was made with the least, the last with the most
    return [names[0], names[len(names) // 2], names[-1]]


def checked(*words: str) -> str:
    process = kodec_process(*words)
    out, err = process.communicate()
    if process.returncode:
        raise Unusable(f"kodec {' '.join(words)} ended with {process.returncode}: {out}{err}")
    return out


def require(what: str, have: object, need: object) -> None:
    if have != need:
        raise Unusable(f"{what}: {have!r}, and not {need!r}")


# -- points as clusters ---------------------------------------------------------------------------


@contextmanager
def brokers(tools: Toolbox, folder: Path, count: int, settings: str = SETTINGS) -> Iterator[list[Broker]]:
    """Formatted brokers of a new cluster; killed at the end."""
    shutil.rmtree(folder, ignore_errors=True)
    made = []
    settings += "".join(
        f"{name}={min(count, 3)}\n"
        for name in ("offsets.topic.replication.factor", "transaction.state.log.replication.factor")
    )
    for node in range(1, count + 1):
        (folder / str(node)).mkdir(parents=True)
        made.append(Broker(tools, settings, folder=folder / str(node), node=node))
    try:
        for each in made:
            each.format(quorum=made, cluster_id=NEW_CLUSTER)
        yield made
    finally:
        for each in made:
            each.kill()


def started(made: list[Broker]) -> None:
    for each in made:
        each.begin()
    for each in made:
        each.await_listening()


def rebuild(sources: list[str], made: list[Broker], *words: str, kills: int = 0) -> int:
    """Rebuild, after some attempts that are killed; returns how many were."""
    given = [word for each in sources for word in ("--from", each)]
    given += [word for each in made for word in ("--to", ",".join(map(str, each.roots)))]
    command = ["rebuild", *given, "--hold-retention", "--apply", "--json", *words]
    roots = [root for each in made for root in each.roots]
    chance = random.Random(3)
    killed = 0
    for _ in range(kills):
        process = kodec_process(*command)
        # The fence shows that it has begun to write.
        while process.poll() is None and not any((each / FENCE).is_dir() for each in roots):
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.4))
        if process.poll() is not None:
            process.communicate()
            break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += any((each / FENCE).is_dir() for each in roots)
    if not kills or any((each / FENCE).is_dir() for each in roots):
        checked(*command)
    require("marks", [each for each in roots if (each / FENCE).exists()], [])
    return killed


def restored(tools: Toolbox, work: Path, name: str) -> str:
    """A cluster of a point, and of a kill in the middle of it."""
    point = f"{work}/backup/points/{name}"
    with brokers(tools, work / "restored", 1) as made:
        with step(f"Rebuilding {name} with one broker"):
            refused_while_unfinished(made[0])
            killed = rebuild([point], made, kills=3)
        started(made)
        with step("Comparing with Kafka's tools and clients"):
            records = same(tools, work, made[0], point)
        made[0].stop()
    return f"point {name}: {records} records, {killed} kills of the rebuild"


def refused_while_unfinished(broker: Broker) -> None:
    """No broker starts where a rebuild has not finished."""
    (broker.logs / FENCE).mkdir()
    broker.begin()
    try:
        broker.await_listening()
    except Unusable:
        pass
    else:
        raise Unusable("a broker started where a rebuild has not finished")
    finally:
        broker.kill()
        (broker.logs / FENCE).rmdir()
    # what it has written is not that of a formatted broker any more
    shutil.rmtree(broker.logs)
    broker.format(quorum=[broker], cluster_id=NEW_CLUSTER)


TOOLS = {
    "topics": ("org.apache.kafka.tools.TopicCommand", "--describe"),
    "groups": ("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--describe", "--all-groups"),
    "offsets": ("org.apache.kafka.tools.GetOffsetShell",),
    "delete": ("org.apache.kafka.tools.DeleteRecordsCommand", "--offset-json-file"),
    "configs": ("kafka.admin.ConfigCommand", "--describe", "--entity-type", "topics"),
}


def tool(name: str, address: str, *more: str) -> list[list[str]]:
    """The words of each line that a tool of the newest Kafka prints; it works with old brokers too."""
    newest = generation_of("4.3")
    tools = Toolbox(work_of(newest), None, newest)
    main, *words = TOOLS[name]
    command = tools.command(main, "--bootstrap-server", address, *words, *more)
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Unusable(f"{main}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [line.replace("\t", " ").split() for line in done.stdout.splitlines() if line.strip()]


def settings_of(address: str) -> dict[str, dict[str, str]]:
    """The settings of each topic that are its own, by kafka-configs."""
    found: dict[str, dict[str, str]] = {}
    topic = ""
    for words in tool("configs", address):
        if words[:4] == ["Dynamic", "configs", "for", "topic"]:
            topic = words[4]
            found[topic] = {}
        elif "=" in words[0]:
            key, _, value = words[0].partition("=")
            found[topic][key] = value
    return found


def rows(path: Path) -> list[tuple[Any, ...]]:
    def plain(text: str | None) -> bytes | None:
        return None if text is None else base64.b64decode(text)

    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [(one["partition"], one["offset"], plain(one["key"]), plain(one["value"])) for one in found]


def same(tools: Toolbox, work: Path, broker: Broker, *sources: str) -> int:
    """Compare a running cluster with log directories; returns the number of records. Raises Unusable."""
    logs = {}
    for source in sources:
        for log in kodec.LogDirectory(source):
            if log.topic_partition.topic in TOPICS:
                logs[log.topic_partition] = log
    metadata = kodec.operations.read_metadata(*sources)
    groups = kodec.operations.read_groups(*sources)
    count = 0
    with Clients(tools) as clients:
        clients.do("connect", broker.address, "-")
        for topic in TOPICS:
            for isolation in ("read_uncommitted", "read_committed"):
                clients.do("consume", topic, isolation, str(work / "rows.jsonl"))
                expected = [
                    (owner.partition, record.offset, record.key, record.value)
                    for owner, log in sorted(logs.items())
                    if owner.topic == topic
                    for record in log.records(isolation=isolation)
                ]
                found = rows(work / "rows.jsonl")
                if topic == "latest":
                    # compaction goes on
                    require(f"{topic} {isolation}", set(found) <= set(expected), True)
                    require(f"{topic}: keys", {one[2] for one in found}, {one[2] for one in expected})
                elif topic == "paid" and isolation == "read_committed":
                    # what the coordinator had decided to commit, it commits now
                    require(f"{topic} {isolation}", set(expected) <= set(found), True)
                    turns = Counter(one[3] for one in found)
                    require("records of each transaction", set(turns.values()), {10})
                else:
                    require(f"{topic} {isolation}: records", len(found), len(expected))
                    require(f"{topic} {isolation}", found == expected, True)
                count += len(found)
    ids = {}
    for words in tool("topics", broker.address):
        if words[0] == "Topic:" and "TopicId:" in words:
            ids[words[1]] = words[words.index("TopicId:") + 1]
    settings = settings_of(broker.address)
    for known in metadata.topics:
        shown = base64.urlsafe_b64encode(known.topic_id.bytes).decode().rstrip("=")
        require(f"id of {known.name}", ids.get(known.name), shown)
        # those of retention may be held
        have, need = (
            {key: value for key, value in each.items() if not key.startswith("retention.")}
            for each in (settings[known.name], known.configs)
        )
        require(f"settings of {known.name}", have, need)
    ends = {}
    for words in tool("offsets", broker.address):
        topic, partition, offset = words[0].rsplit(":", 2)
        ends[topic, int(partition)] = int(offset)
    for owner, log in logs.items():
        found_end = ends.get((owner.topic, owner.partition), 0)
        # with a marker of a transaction that was open
        most = log.end_offset + (owner.topic == "paid")
        require(f"end of {owner}: {found_end}", log.end_offset <= found_end <= most, True)
    committed = {}
    for words in tool("groups", broker.address):
        if words[0] in GROUPS and words[3].isdigit():
            committed[words[0], words[1], int(words[2])] = int(words[3])
    expected_commits = {
        (one.group, one.topic, one.partition): one.offset for one in groups.offsets if not one.pending
    }
    require("offsets of groups", committed, expected_commits)
    resumed(tools, broker, groups)
    return count


def resumed(tools: Toolbox, broker: Broker, groups: kodec.operations.Groups) -> None:
    """A consumer of a group goes on where the group stopped."""
    behind = {one.group for one in groups.offsets if one.topic == "orders" and one.lag}
    with Clients(tools) as clients:
        clients.do("connect", broker.address, "-")
        for group in sorted(behind):
            read = sum(one.lag or 0 for one in groups.offsets if one.group == group and one.topic == "orders")
            # all partitions that the group has not committed are read from their start
            first = {one.partition for one in groups.offsets if one.group == group and one.topic == "orders"}
            if len(first) < TOPICS["orders"][0]:
                continue
            clients.do("group", group, "orders", read, "resumed")
    after = {
        (words[0], words[1], words[2]): (int(words[3]), int(words[5]))
        for words in tool("groups", broker.address)
        if words[0] in behind and words[1] == "orders" and words[3].isdigit()
    }
    for key, (_, lag) in after.items():
        require(f"lag of {key}", lag, 0)


# -- three brokers --------------------------------------------------------------------------------


def wrecked(tools: Toolbox, work: Path) -> str:
    """Three brokers are killed, each disk is damaged, and three new ones serve what is good on any."""
    with brokers(tools, work / "old", 3) as old:
        with step("Three brokers take records, and are killed"):
            started(old)
            with Clients(tools) as clients:
                clients.do("connect", ",".join(each.address for each in old), "-")
                for topic, (partitions, settings) in TOPICS.items():
                    clients.do("topic", topic, partitions, "replication.factor=3", *settings)
            with Traffic(tools, ",".join(each.address for each in old)) as traffic:
                wait_for("records", lambda: traffic.sent > 3000, 120)
            for each in old:
                each.kill()
        sources = [str(each.logs) for each in old]
        complete = work / "complete"
        words = [word for each in sources for word in ("--from", each)]
        damaged = damage([each.logs for each in old])
        merged(words, sources, complete)
        with brokers(tools, work / "new", 3) as new:
            with step("Rebuilding three brokers of three damaged disks"):
                killed = rebuild(sources, new, kills=2)
            started(new)
            with step("Comparing with Kafka's tools and clients"):
                records = same(tools, work, new[1], str(complete))
                replicas_in_sync(new[0])
            for each in new:
                each.kill()
            said = more_topics(tools, work, new)
    return f"three brokers: {records} records, {damaged} damaged segments, {killed} kills; {said}"


def damage(roots: list[Path]) -> int:
    """Flip bits in another segment on each disk; each batch stays good on two of three."""
    count = 0
    for number, root in enumerate(roots):
        for folder in sorted(root.glob("orders-*")):
            logs = sorted(folder.glob("*.log"))
            log = logs[number % max(len(logs) - 1, 1)] if len(logs) > 3 else logs[0]
            data = bytearray(log.read_bytes())
            if len(data) < 5000 or (len(logs) <= 3 and number):
                continue
            data[2000 + number * 500] ^= 0xFF
            log.write_bytes(data)
            count += 1
    require("damage", count > 0, True)
    return count


def merged(words: list[str], sources: list[str], complete: Path) -> None:
    """What `salvage` makes of the disks, to compare with."""
    del words
    checked("salvage", *sources, "--to", str(complete), "--apply")
    # its metadata has the ids and settings
    for name in ("meta.properties",):
        shutil.copy(Path(sources[0]) / name, complete)


def replicas_in_sync(broker: Broker) -> None:
    def all_there() -> bool:
        found = [
            words for words in tool("topics", broker.address) if words[0] == "Topic:" and "Isr:" in words
        ]
        return bool(found) and all(len(each[each.index("Isr:") + 1].split(",")) == 3 for each in found)

    wait_for("three replicas in sync", all_there, 60)


ADDED = ("retention.ms=-1", "segment.bytes=1048576", "max.message.bytes=123456", "cleanup.policy=delete")
STOPPED = 120


def another(tools: Toolbox, work: Path) -> Path:
    """The disk of another cluster, with a topic and a group that stopped in it, and one that others have."""
    with brokers(tools, work / "another", 1) as made, step("Another cluster with a topic and groups"):
        started(made)
        with Clients(tools) as clients:
            clients.do("connect", made[0].address, "-")
            clients.do("topic", "added", 2, *ADDED)
            clients.do("open", "adder", "zstd", "idempotent")
            for number in range(500):
                if number == STOPPED:
                    clients.do("flush", "adder")
                    clients.do("group", "auditors", "added", STOPPED, "stopped here")
                    clients.do("group", GROUPS[0], "added", 10, "a group that the other cluster has too")
                clients.do("send", "adder", "added", number % 2, "-", b"k", b"%d" % number)
            clients.do("flush", "adder")
        made[0].kill()
        # kept, for the brokers' folder goes when others are made there
        shutil.copytree(made[0].logs, work / "source")
    return work / "source"


def offsets_of(address: str) -> dict[str, dict[tuple[str, int], tuple[int, int]]]:
    """The offset and the lag of each group and topic-partition, by kafka-consumer-groups."""
    found: dict[str, dict[tuple[str, int], tuple[int, int]]] = {}
    for words in tool("groups", address):
        if len(words) > 5 and words[3].isdigit():
            found.setdefault(words[0], {})[words[1], int(words[2])] = (int(words[3]), int(words[5]))
    return found


def more_topics(tools: Toolbox, work: Path, new: list[Broker]) -> str:
    """A topic and a group of another cluster in the one that has others."""
    source = another(tools, work)
    started(new)
    with Clients(tools) as clients:
        clients.do("connect", new[0].address, "-")
        replicas_in_sync(new[0])
        before, settings = offsets_of(new[0].address), settings_of(new[0].address)
    with step("Stopping the cluster"):
        for each in new:
            assert each.process is not None
            each.process.terminate()
        for each in new:
            each.stop()
    rebuild([str(source)], new, "--topic", "added")
    started(new)
    with Clients(tools) as clients, step("Comparing with Kafka's tools and clients"):
        clients.do("connect", new[2].address, "-")
        require(
            "records of the added topic",
            clients.do("consume", "added", "read_uncommitted", str(work / "rows.jsonl")),
            "500",
        )
        own = dict(each.split("=", 1) for each in ADDED)
        now = settings_of(new[0].address)
        require("settings of the added topic", now.pop("added"), own)
        require("settings of the others", now, settings)
        groups = offsets_of(new[0].address)
        added = groups.pop("auditors")
        require("offsets of the added group", sum(each[0] for each in added.values()), STOPPED)
        require("lag of the added group", sum(each[1] for each in added.values()), 500 - STOPPED)
        # the group of the same name is the cluster's
        require("the cluster's groups", groups, before)
        clients.do("group", "auditors", "added", 500 - STOPPED, "went on")
        after = offsets_of(new[0].address)["auditors"]
        require("lag after the rest", sum(each[1] for each in after.values()), 0)
        require("offsets after the rest", sum(each[0] for each in after.values()), 500)
        for each in new:
            each.kill()
    return f"500 records and a group at offset {STOPPED} in a topic that was added to a cluster"


# -- records that were deleted just before the end ------------------------------------------------

DELETED = 37


def deleted(tools: Toolbox, work: Path) -> str:
    """A broker deletes records and is killed before it has written its log start offsets."""
    given = work / "delete.json"
    one = {"topic": "short", "partition": 0, "offset": DELETED}
    given.write_text(json.dumps({"partitions": [one], "version": 1}))
    with brokers(tools, work / "old", 1) as (old,), step("A broker deletes records, and is killed"):
        started([old])
        with Clients(tools) as clients:
            clients.do("connect", old.address, "-")
            clients.do("topic", "short", 1, "retention.ms=-1")
            clients.do("open", "sender", "none", "plain")
            for number in range(100):
                clients.do("send", "sender", "short", 0, "-", b"k", b"%d" % number)
                clients.do("flush", "sender")
        tool("delete", old.address, str(given))
        time.sleep(2)
        old.kill()
        starts = (old.logs / "log-start-offset-checkpoint").read_text().split("\n", 2)[2:]
        require("log start offset in the checkpoint", [each for each in starts if "short" in each], [])
        source = shutil.copytree(old.logs, work / "deleted")
    with brokers(tools, work / "new", 1) as (new,):
        rebuild([str(source)], [new])
        started([new])
        with Clients(tools) as clients, step("Comparing with clients"):
            clients.do("connect", new.address, "-")
            clients.do("consume", "short", "read_uncommitted", str(work / "rows.jsonl"))
            found = [one[1] for one in rows(work / "rows.jsonl")]
            require("offsets after a deletion", found, list(range(DELETED, 100)))
    return f"{DELETED} records that were deleted 2 s before a kill stay deleted"


# -- other shapes ---------------------------------------------------------------------------------


class Node(Broker):
    """A broker with several log directories, or a controller; each is one of these alone."""

    def __init__(
        self, tools: Toolbox, folder: Path, node: int, controllers: Sequence[Broker], *, is_static: bool
    ) -> None:
        folder.mkdir(parents=True)
        super().__init__(tools, folder=folder, node=node)
        self.controllers = controllers
        self.is_static = is_static
        self.is_controller = not controllers
        self.roots = [self.logs] if self.is_controller else [folder / "disk-a", folder / "disk-b"]

    def prepare(self, controllers: Sequence[Broker]) -> None:
        """Write the configuration, and format the log directories."""
        self.settings = SETTINGS if self.is_controller else SETTINGS + OF_TWO
        self.configure("", controllers)
        voters = ",".join(f"{each.node}@127.0.0.1:{each.controller_port}" for each in controllers)
        lines = self.config.read_text().splitlines()
        dropped = ["process.roles=", "log.dirs=", "listeners=", "advertised.listeners="]
        dropped += ["controller.quorum."] if self.is_static else []
        if self.is_controller:
            dropped += ["advertised.", "inter.broker."]
            lines += ["process.roles=controller", f"listeners=CONTROLLER://127.0.0.1:{self.controller_port}"]
        else:
            lines += ["process.roles=broker", f"listeners=PLAINTEXT://{self.address}"]
        kept = [line for line in lines if not line.startswith(tuple(dropped)) or line in lines[-2:]]
        kept.append(f"log.dirs={','.join(each.as_posix() for each in self.roots)}")
        if self.is_static:
            kept.append(f"controller.quorum.voters={voters}")
        self.config.write_text("\n".join(kept) + "\n")
        words = ["format", "-t", NEW_CLUSTER, "-c", str(self.config)]
        if not self.is_static:
            initial = ["--initial-controllers", ",".join(each.voter for each in controllers)]
            words += initial if self.is_controller else ["--no-initial-controllers"]
        run(self.tools.command("kafka.tools.StorageTool", *words), "kafka-storage format failed")

    def await_listening(self) -> None:
        if not self.is_controller:
            wait_for("the broker to listen", self.listening, 120)


OF_TWO = "offsets.topic.replication.factor=2\ntransaction.state.log.replication.factor=2\n"


def shaped(tools: Toolbox, work: Path, name: str, *, is_static: bool) -> str:
    """A point as two brokers with two log directories each, and three controllers of their own."""
    point = f"{work}/backup/points/{name}"
    what = "static quorum" if is_static else "dynamic quorum"
    folder = work / f"shaped-{is_static}"
    controllers = [
        Node(tools, folder / f"controller-{node}", node, (), is_static=is_static) for node in (7, 8, 9)
    ]
    made = [Node(tools, folder / f"broker-{node}", node, controllers, is_static=is_static) for node in (1, 2)]
    nodes: list[Broker] = [*controllers, *made]
    try:
        for each in (*controllers, *made):
            each.prepare(controllers)
        words = [word for each in controllers for word in ("--controller", str(each.logs))]
        with step(f"Rebuilding {name}: two brokers with two log directories, three controllers, {what}"):
            killed = rebuild([point], list(made), *words, kills=2)
        started(nodes)
        with step("Comparing with Kafka's tools and clients"):
            records = same(tools, work, made[1], point)
        used = [root for each in made for root in each.roots if any(root.glob("*-[0-9]"))]
        require("log directories in use", len(used), 4)
    finally:
        for each in nodes:
            each.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return f"{what}, two log directories each: {records} records, {killed} kills"


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    try:
        for each in sys.argv[1:] or LINES:
            say(make(each, None))
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
