"""Gives plans to a real broker that goes on working: a stale one must never cost a record."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_lab import CACHE, GENERATIONS, Cluster, Toolbox, Unusable, say, step, work_of
from kafka_reads_ours import java_rows
from raw_produce import RawProducer
from sink_lab import metadata_of

import kodec
from kodec.log.adoption.adopt import plan_adoption
from kodec.log.cleaning.compaction import plan_compaction
from kodec.log.cleaning.retention import plan_trim
from kodec.log.recovery.planning import plan_recovery

SPREAD = "spread"
PARTITIONS = 4
STALE = "stale"
WRITTEN, TAKEN = 50, 30


def make(repository: Path | None) -> None:
    """Plan, let the broker take records, apply; then adopt for its two log directories. Raises: Unusable."""
    tools = Toolbox(work_of(GENERATIONS["4.3"]), repository, GENERATIONS["4.3"])
    tools.prepare()
    folder = CACHE / "work" / "adoption"
    shutil.rmtree(folder, ignore_errors=True)
    written, second = folder / "logs", tools.work / "second"
    shutil.rmtree(second, ignore_errors=True)
    write(written)
    logs = f"log.dirs={(tools.work / 'logs').as_posix()},{second.as_posix()}\n"
    with Cluster(tools, logs) as cluster:
        roots = [cluster.broker.logs, second]
        cluster.clients.do("topic", STALE, 1, "retention.ms=-1")
        cluster.clients.do("topic", SPREAD, PARTITIONS, "retention.ms=-1")
        cluster.broker.stop()
        plans = stale_plans(cluster, written, roots)
        cluster.start()
        with step("Applying plans beside a running broker, and after it took records"):
            produce(cluster)
            for plan in plans:
                expect(BlockingIOError, plan.apply)
            cluster.broker.stop()
            for plan in plans:
                expect(kodec.errors.StalePlan, plan.apply)
        cluster.start()
        count(cluster, STALE, TAKEN, folder)
        cluster.broker.stop()
        plan = plan_adoption(
            written, roots, metadata=metadata_of(cluster), topics=[SPREAD], allow_expired=True
        )
        if plan.problems:
            raise Unusable("\n".join(plan.problems))
        used = {each.target.parent for each in plan.partitions}
        if used != set(roots):
            raise Unusable(f"the broker has all partitions in {used}")
        plan.apply()
        cluster.start()
        with step("Reading what was adopted into two log directories"):
            count(cluster, SPREAD, PARTITIONS * WRITTEN, folder)
            count(cluster, STALE, TAKEN, folder)
        cluster.broker.stop()
    say(f"{len(plans)} stale plans refused, {PARTITIONS} partitions adopted into 2 log directories")


def write(root: Path) -> None:
    owners = [(STALE, 0), *((SPREAD, number) for number in range(PARTITIONS))]
    with kodec.LogDirectoryWriter(root) as directory:
        for owner in owners:
            directory.partition(*owner).append(
                [kodec.Record(value=b"%d" % n, timestamp=1) for n in range(WRITTEN)]
            )


def stale_plans(cluster: Cluster, written: Path, roots: list[Path]) -> list[Any]:
    """A plan of each kind for the broker's log as it is, which is empty."""
    (own,) = [root / f"{STALE}-0" for root in roots if (root / f"{STALE}-0").exists()]
    adoption = plan_adoption(written, roots, metadata=metadata_of(cluster), topics=[STALE], retention_ms=-1)
    if adoption.problems:
        raise Unusable("\n".join(adoption.problems))
    return [
        adoption,
        plan_recovery(own, from_start=True),
        plan_trim(own, retention_bytes=0),
        plan_compaction(own, from_start=True),
    ]


def produce(cluster: Cluster) -> None:
    with RawProducer("127.0.0.1", cluster.broker.port) as producer:
        for number in range(TAKEN):
            data = kodec.encode([kodec.Record(key=b"k", value=b"%d" % number, timestamp=2)])
            if producer.produce(cluster.tools.generation.produce[2], STALE, data) != number:
                raise Unusable(f"the broker's log {STALE} was not empty")


def expect(error: type[Exception], call: Callable[[], object]) -> None:
    try:
        call()
    except error:
        return
    raise Unusable(f"{call} did not raise {error.__name__}")


def count(cluster: Cluster, topic: str, wanted: int, folder: Path) -> None:
    found = len(java_rows(cluster, topic, folder / "consumed.jsonl"))
    if found != wanted:
        raise Unusable(f"{topic}: the broker serves {found} records, not {wanted}")


if __name__ == "__main__":
    make(None)
