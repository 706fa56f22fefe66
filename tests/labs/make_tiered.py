"""Makes a golden tiered log (KIP-405): segments in LocalTieredStorage, the local rest, the metadata."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import lab_records
from kafka_lab import (
    GENERATIONS,
    JAVA_SOURCES,
    Broker,
    Cluster,
    Toolbox,
    Unusable,
    kafka_version,
    require_pinned,
    run,
    say,
    step,
    wait_for,
)
from make_generation import Writer
from make_logs import consumed_counts, copy_partition, keep_consumed, publish, write_with_files

TOPIC = "tiered"
METADATA = "__remote_log_metadata"
# Where the broker keeps the indexes that it fetched from the tier.
CACHE = "remote-log-index-cache"
SIZE_LIMIT = 150 * 1024
# What LocalTieredStorage keeps for each segment; the transaction index is there only if one was written.
KINDS = (".log", ".index", ".timeindex", ".snapshot", ".leader_epoch_checkpoint")
DUMPED = {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}
TIERED = """\
remote.log.storage.system.enable=true
remote.log.storage.manager.class.name=org.apache.kafka.server.log.remote.storage.LocalTieredStorage
remote.log.metadata.manager.listener.name=PLAINTEXT
remote.log.manager.task.interval.ms=500
rsm.config.dir={tier}
rsm.config.delete.on.close=false
rlmm.config.remote.log.metadata.topic.num.partitions=1
rlmm.config.remote.log.metadata.topic.replication.factor=1
rlmm.config.remote.log.metadata.topic.min.isr=1
log.retention.check.interval.ms=500
"""


class TieredToolbox(Toolbox):
    """Kafka's jars, and next to them the one of its tests that holds LocalTieredStorage."""

    def fetch(self) -> None:
        super().fetch()
        run(
            [
                self.mvn, "-B", "-q", "-f", str(JAVA_SOURCES / "tiered" / "pom.xml"),
                f"-Dmaven.repo.local={self.repository}", f"-Djava.io.tmpdir={self.temporary}",
                f"-Dkafka.version={kafka_version(self.generation)}", "dependency:copy-dependencies",
                f"-DoutputDirectory={self.jars}", "-DincludeScope=runtime",
            ],
            "Maven could not fetch LocalTieredStorage",
        )  # fmt: skip
        require_pinned(self.jars)


class TieredBroker(Broker):
    """A broker that copies closed segments to a folder next to its logs."""

    def format(self, zookeeper: str = "") -> None:
        super().format(zookeeper)
        with self.config.open("a", encoding="utf-8") as config:
            config.write(TIERED.format(tier=(self.tools.work / "tier").as_posix()))


class TieredCluster(Cluster):
    """The broker with the tier, and the Java clients."""

    def __init__(self, tools: Toolbox) -> None:
        super().__init__(tools)
        self.broker = TieredBroker(tools)


def write(writer: Writer, turn: str) -> None:
    """About a segment and a half: each codec, edge cases, a committed and an aborted transaction."""
    for codec in writer.generation.codecs(2):
        writer.write(TOPIC, codec, lab_records.numbered(f"{turn} {codec}", 8), kind="idempotent")
    writer.write(TOPIC, "none", *lab_records.edge_cases(headers=True)[1:4])
    sender = writer.open("none", "payments")
    for end in ("commit", "abort"):
        writer.transaction(sender, TOPIC, lab_records.numbered(f"{turn} {end}", 5), end)
    writer.cluster.clients.do("close", sender)


def segments(tier: Path) -> list[Path]:
    """The tier's .log objects of the topic, by their first offset, which their names begin with."""
    return sorted(tier.glob(f"*/{TOPIC}-0-*/*.log"))


def wait_for_tier(broker: Broker) -> None:
    """Wait until the active segment is the only local one and the files of the others are gone."""
    partition = broker.logs / f"{TOPIC}-0"

    def settled() -> bool:
        names = [path.name for path in partition.iterdir()]
        logs = [name for name in names if name.endswith(".log")]
        return len(logs) == 1 and int(logs[0][:20]) > 0 and not any(".deleted" in name for name in names)

    wait_for("the segments to leave the broker", settled, 90)


def keep_tier(tier: Path, target: Path) -> None:
    """Keep the objects of our topic under the names that LocalTieredStorage gave them."""
    for log in segments(tier):
        folder = target / log.parent.name
        if not folder.exists():
            copy_partition(log.parent, folder)


def dump_all(tools: Toolbox, result: Path) -> int:
    """Run kafka-dump-log on each file; it takes objects only under names of local files. Returns how many."""
    staged = tools.work / "staged"
    shutil.rmtree(staged, ignore_errors=True)
    lines = []
    for path in sorted(result.rglob("*")):
        if path.suffix not in DUMPED or path.parent.name == CACHE:
            continue
        name = path.relative_to(result)
        as_local = (staged / name).with_name(path.name[:20] + path.suffix)
        as_local.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, as_local)
        arguments = ["--files", as_local.relative_to(staged).as_posix(), "--deep-iteration"]
        if path.parent.name == f"{METADATA}-0" and path.suffix == ".log":
            arguments.append("--remote-log-metadata-decoder")
        lines.append("\t".join([str(result / "dump" / f"{name.as_posix()}.txt"), *arguments]))
    jobs = tools.work / "dump-jobs.txt"
    jobs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(tools.command("DumpEach", str(jobs)), "kafka-dump-log failed", cwd=staged)
    for text in (result / "dump").rglob("*.txt"):
        # Some messages name the file by its absolute path, which is of no use elsewhere.
        text.write_text(text.read_text(encoding="utf-8").replace(f"{staged}/", ""), encoding="utf-8")
    return len(lines)


def check(result: Path) -> dict[str, int]:
    """See that all is there that must be. Returns the counts. Raises: Unusable."""
    logs = sorted((result / "tier").glob("*/*.log"))
    objects = [log.with_suffix(kind) for log in logs for kind in KINDS]
    missing = [path.name for path in objects if not path.is_file()]
    with (result / "consumed" / f"{TOPIC}.read_uncommitted.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    epochs = max(logs).with_suffix(KINDS[-1]).read_text() if logs else ""
    facts = {
        "tiered segments": len(logs),
        "transaction indexes in the tier": len(list((result / "tier").glob("*/*.txnindex"))),
        "leader epochs of the last tiered segment": max(0, len(epochs.splitlines()) - 2),
        "consumed rows": len(rows),
        "rows in the tier": sum(row["offset"] < local_start(result) for row in rows),
        "rows in the local log": sum(row["offset"] >= local_start(result) for row in rows),
        "indexes that the broker fetched": len(list((result / "logs" / CACHE).iterdir())),
    }
    missing += [name for name, count in facts.items() if not count]
    if missing or facts["tiered segments"] < 3 or facts["leader epochs of the last tiered segment"] < 2:
        raise Unusable(f"the data lacks: {', '.join(missing) or 'segments or leader epochs'}; it has {facts}")
    return facts


def local_start(result: Path) -> int:
    return min(int(log.stem) for log in (result / "logs" / f"{TOPIC}-0").glob("*.log"))


def make(work: Path, out: Path, repository: Path | None) -> None:
    """Make out/tiered-<version>. Raises: Unusable."""
    work.mkdir(parents=True, exist_ok=True)
    tools = TieredToolbox(work, repository, GENERATIONS["4.3"])
    tools.prepare()
    result = work / f"tiered-{kafka_version()}"
    consumed = work / "consumed"
    for old in (result, consumed, work / "tier"):
        shutil.rmtree(old, ignore_errors=True)
    consumed.mkdir()
    with TieredCluster(tools) as cluster:
        broker = cluster.broker
        writer = Writer(cluster)
        writer.topic(
            TOPIC,
            "segments of 2 KiB that are copied to the tier and deleted locally",
            remote_storage_enable="true",
            internal_segment_bytes="2048",
            index_interval_bytes="256",
            local_retention_bytes="1",
        )
        with step("Writing until a restart"):
            write(writer, "first")
            broker.stop()
        cluster.start()
        with step("Writing more, waiting for the tier"):
            write(writer, "second")
            wait_for_tier(broker)
        with step("Writing what stays local"):
            writer.write(TOPIC, "lz4", lab_records.numbered("local", 6), lab_records.numbered("last", 1))
            wait_for_tier(broker)
        with step("Reading everything back with the Java consumer"):
            for topic in (TOPIC, METADATA):
                for isolation in ("read_uncommitted", "read_committed"):
                    rows = consumed / f"{topic}.{isolation}.jsonl"
                    cluster.clients.do("consume", topic, isolation, str(rows))
        with step("Shutting down in order"):
            broker.stop()
    with step("Copying the tier, the partition and the metadata topic"):
        keep_tier(work / "tier", result / "tier")
        for name in (f"{TOPIC}-0", f"{METADATA}-0", CACHE):
            copy_partition(broker.logs / name, result / "logs" / name)
        differ = keep_consumed(consumed, result / "consumed")
    with step("Asking kafka-dump-log about every file"):
        say(f"    {dump_all(tools, result)} texts")
    with step("Checking that everything wanted is there"):
        facts = check(result)
        manifest: dict[str, Any] = {
            "made_by": "tests/labs/make_tiered.py",
            "kafka": kafka_version(),
            "java": tools.major,
            "topics": {name: {"purpose": purpose} for name, purpose in writer.topics.items()},
            "read_committed_differs": differ,
            "consumed_rows": consumed_counts(result / "consumed"),
            "facts": facts,
        }
        write_with_files(result, manifest)
    for name, number in facts.items():
        say(f"    {name}: {number}")
    publish(result, out, SIZE_LIMIT)
