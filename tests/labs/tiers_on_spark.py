#!/usr/bin/env python3
"""A real Spark cluster reads what a real broker has left, with Aiven's plugin: the rows of the Java consumer.

For each transformation of the plugin a broker copies segments and deletes them locally (see `plugin_lab.py`).
Then a master and two workers, which have no key in their environment, read the broker's disk and remote
storage as one log, remote storage alone, and both as a stream. Executors have the key by `tierKey`, or by a
command.

Usage: tiers_on_spark.py [--source REPOSITORY] [--generation NAME] [--transform NAME]
Exit code: 0 where all is as it must be, 1 where not, 2 where something cannot be run.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from kafka_lab import CACHE, GENERATIONS, Toolbox, Unusable, kafka_version, say, step, stop_on_signal
from kill_lab import cluster
from plugin_lab import (
    SOURCE,
    TOPIC,
    TRANSFORMS,
    Stored,
    Transform,
    Wrong,
    build,
    key_pair,
    require,
    rows_read,
    same,
    settings,
    store,
)
from pyspark.sql import DataFrame, SparkSession

from kodec.pipeline import served_by, session
from kodec.pipeline.spark import QUIET

Rows = list[tuple[int, int, bytes | None, bytes | None]]
COLUMNS = ("offset", "unix_millis(timestamp)", "key", "value")


def rows_of(frame: DataFrame) -> Rows:
    """The rows of the topic, by offset."""
    found = frame.where(f"topic = '{TOPIC}'").selectExpr(*COLUMNS).orderBy("offset").toArrow().to_pylist()
    return [tuple(row.values()) for row in found]  # type: ignore[misc]


def streamed(spark: SparkSession, options: dict[str, str], logs: Path, folder: Path) -> Rows:
    """The rows of a stream in several micro-batches, by offset."""
    more = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "60"}
    source = spark.readStream.format("kafka-log").options(**options, **more).load(str(logs))
    query = (
        source.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "state"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()
    batches = sum(each["numInputRows"] > 0 for each in query.recentProgress)
    require(batches > 1, f"the stream had {batches} micro-batches")
    return rows_of(spark.read.parquet(str(folder / "out")))


def compare(spark: SparkSession, stored: Stored, transform: Transform, key: Path, folder: Path) -> str:
    """Compare the cluster's rows with the consumer's; what was read, in words. Raises Wrong."""
    tier = stored.tier / "backup"
    keys: dict[str, str] = {}
    if transform.encrypted:
        keys = {"tierKey": str(key)}
        command = {"tierKeyCommand": shlex.join(["cat", str(key)])}
    joined = {"tier": str(tier), "subscribe": TOPIC, "maxPartitionBytes": "1", **keys}

    def read(path: Path, **options: str) -> DataFrame:
        return spark.read.format("kafka-log").options(**options).load(str(path))

    for isolation, rows in stored.consumed.items():
        frame = read(stored.logs, **joined, **{"kafka.isolation.level": isolation})
        require(served_by(frame) == "python", "tier is not read by the source in Python")
        same(rows_of(frame), rows_read(rows), f"{isolation}, one log")
    expected = rows_read(stored.consumed["read_uncommitted"])
    tasks = read(stored.logs, **joined).rdd.getNumPartitions()
    require(tasks > 2, f"{tasks} tasks")
    local = min(int(path.stem) for path in (stored.logs / f"{TOPIC}-0").glob("*.log"))
    remote = [each for each in expected if each[0] < local]
    alone = read(tier, **keys, maxPartitionBytes="1")
    by = served_by(alone)
    require(by == ("python" if transform.compressed or transform.encrypted else "jvm"), f"{by} serves it")
    same(rows_of(alone), remote, "remote storage alone")
    if transform.encrypted:
        same(rows_of(read(tier, **command)), remote, "remote storage alone, with a command")
        try:
            rows_of(read(tier))
        except Exception as error:
            require("give the private key" in str(error), f"without a key: {error}")
        else:
            raise Wrong("rows without a key")
    same(streamed(spark, joined, stored.logs, folder), expected, "a stream")
    return f"{len(expected)} rows, {len(remote)} of them remote, {tasks} tasks"


def run(repository: Path, source: str, names: list[str], generation: Any) -> list[str]:
    """A line for each transformation. Raises Unusable, Wrong."""
    folder = CACHE / "work" / f"plugin-{generation.name}"
    shutil.rmtree(folder / "runs", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    tools = Toolbox(folder, repository, generation)
    tools.prepare()
    jars = build(CACHE / "work" / "plugin", tools, source)
    keys = key_pair(folder)
    lines = []
    with tempfile.TemporaryDirectory(prefix="kodec-tiers-") as text, cluster(Path(text)) as (url, _):
        spark = session(
            url, config={**QUIET, "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2"}
        )
        try:
            for name in names:
                say(f"==== Kafka {kafka_version(generation)}, {name}")
                stored = store(
                    tools, settings(jars, folder / "runs" / name / "tier", TRANSFORMS[name], keys),
                    folder / "runs" / name / "tier",
                )  # fmt: skip
                with step("Reading with a Spark cluster"):
                    facts = compare(spark, stored, TRANSFORMS[name], keys[1], Path(text) / name)
                lines.append(f"Kafka {kafka_version(generation)}, Spark {spark.version}, {name}: {facts}")
        finally:
            spark.stop()
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default=os.environ.get("KODEC_PLUGIN_SOURCE", SOURCE))
    parser.add_argument("--generation", default="4.3", choices=["3.9", "4.3"])
    parser.add_argument("--transform", action="append", choices=TRANSFORMS)
    parser.add_argument("--maven-repository", type=Path, default=CACHE / "maven-repository")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop_on_signal)
    for name in ("KODEC_TIER_KEY", "KODEC_TIER_KEY_COMMAND"):
        os.environ.pop(name, None)
    os.environ["KODEC_ALLOW"] = "tierKeyCommand"
    try:
        names = options.transform or list(TRANSFORMS)
        lines = run(options.maven_repository, options.source, names, GENERATIONS[options.generation])
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except Wrong as problem:
        print(f"the cluster and the consumer differ: {problem}", file=sys.stderr)
        return 1
    say("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
