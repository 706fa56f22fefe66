"""Makes a broker with groups, transactions and metadata, and keeps what Kafka's tools reported about them."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from kafka_lab import (
    GENERATIONS,
    NODE_ID,
    Broker,
    Clients,
    Toolbox,
    Unusable,
    kafka_version,
    step,
    wait_for,
)
from make_logs import copy_partition, publish, write_with_files
from raw_produce import RawProducer

import kodec
from kodec.log.views.groups import read_groups
from kodec.log.views.metadata import read_metadata
from kodec.log.views.transactions import read_transactions

SIZE_LIMIT = 400 * 1024
# Several partitions of the coordinators' topics; transactions that the coordinator has not been notified of.
SETTINGS = """\
offsets.topic.num.partitions=3
transaction.state.log.num.partitions=2
share.coordinator.state.topic.num.partitions=2
transaction.partition.verification.enable=false
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
group.share.record.lock.duration.ms=60000
log.retention.check.interval.ms=3600000
metadata.log.max.record.bytes.between.snapshots=1000
"""
# Of these the broker deletes segments when it starts again: by size, and by time.
DELETED = ("payments", "aged")
NOBODY = 777_777
PRODUCE = 7


def hang(broker: Broker, clients: Clients) -> None:
    """Write into transactions past the coordinator: of a producer that nobody knows, and of one it knows."""
    producer, epoch = map(int, clients.do("producer", "undecided").split())
    now = time.time_ns() // 1_000_000
    with RawProducer("127.0.0.1", broker.port) as raw:
        for topic, who, generation in (("kept", producer, epoch), ("orders", NOBODY, 0)):
            batch = kodec.encode(
                [kodec.Record(key=b"hangs", value=b"nobody will end it", timestamp=now)],
                base_offset=0,
                producer_id=who,
                producer_epoch=generation,
                base_sequence=0,
                transactional=True,
            )
            raw.produce(PRODUCE, topic, batch, "past-the-coordinator")


def make(work: Path, out: Path, repository: Path | None) -> None:
    """Make out/views-<version>. Raises: Unusable."""
    work.mkdir(parents=True, exist_ok=True)
    tools = Toolbox(work, repository, GENERATIONS["4.3"])
    tools.prepare()
    result = work / f"views-{kafka_version()}"
    for old in (result, work / "logs"):
        shutil.rmtree(old, ignore_errors=True)
    for name in ("broker.out", "clients.err"):
        (work / name).unlink(missing_ok=True)
    broker = Broker(tools, SETTINGS)
    said = result / "kafka-tools"
    try:
        with step("Starting a broker"):
            broker.format()
            broker.start()
        with Clients(tools, "Views") as clients:
            clients.do("connect", broker.address)
            with step("Making topics, transactions, groups and metadata"):
                clients.do("setup")
                hang(broker, clients)
            with step("Asking Kafka's tools"):
                offset = int(clients.do("ask", str(said), NODE_ID))
                asked = time.time_ns() // 1_000_000
            with step("Asking kodec, while the broker is at work"):
                alive(broker.logs)
        with step("Shutting down in order"):
            broker.stop()
        with step("Copying the log directory"):
            keep(broker.logs, result / "logs")
        with step("Starting again, to see what retention deletes"):
            broker.start()
            kept = retained(broker)
    finally:
        broker.kill()
    shell(tools, result)
    manifest: dict[str, Any] = {
        "made_by": "tests/labs/make_views.py",
        "kafka": kafka_version(),
        "java": tools.major,
        "metadata_offset": offset,
        "asked": asked,
        "retained": kept,
    }
    write_with_files(result, manifest)
    publish(result, out, SIZE_LIMIT)


def alive(logs: Path) -> None:
    """See that the views read the directory of a broker at work. Raises: Unusable."""
    groups, transactions = read_groups(logs), read_transactions(logs)
    for view in (groups, transactions, read_metadata(logs)):
        if view.omissions:
            raise Unusable(f"{view.omissions}")
    if not groups.offsets or not transactions.open:
        raise Unusable("the views of a broker at work are empty")


def retained(broker: Broker) -> dict[str, list[int]]:
    """The base offsets of the segments that are left, where retention has been at work."""
    wait_for("retention", lambda: all(bases(broker.logs / f"{topic}-0")[0] > 0 for topic in DELETED), 60)
    return {path.name: bases(path) for path in sorted(broker.logs.iterdir()) if bases(path)}


def bases(partition: Path) -> list[int]:
    return sorted(int(path.stem) for path in partition.glob("*.log"))


def keep(logs: Path, target: Path) -> None:
    """Keep the whole root after a clean shutdown, without what is on its way out."""
    target.mkdir(parents=True)
    for path in sorted(logs.iterdir()):
        if path.is_dir() and not path.name.endswith(("-delete", "-future", "-stray")):
            copy_partition(path, target / path.name)
        elif path.is_file() and path.name not in (".lock", ".kafka_cleanshutdown") and path.suffix != ".tmp":
            shutil.copyfile(path, target / path.name)


def shell(tools: Toolbox, result: Path) -> None:
    """Keep what kafka-metadata-shell shows of the newest snapshot."""
    snapshot = max((result / "logs" / "__cluster_metadata-0").glob("*.checkpoint"))
    with step(f"Asking kafka-metadata-shell about {snapshot.name}"):
        command = tools.command(
            "org.apache.kafka.shell.MetadataShell", "--snapshot", str(snapshot), "tree", "/image"
        )
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unusable(f"kafka-metadata-shell failed:\n{done.stderr[-2000:]}")
        (result / "kafka-tools" / f"{snapshot.name}.txt").write_text(done.stdout, encoding="utf-8")
