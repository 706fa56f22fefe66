#!/usr/bin/env python3
"""Spark's own Kafka source on a live broker, and the source for the JVM on its files: rows and cost.

    python tests/labs/spark_connector.py --rows 1000000

CPU is that of the driver and all under it; the broker's, which runs apart, is given beside.
Exit code: 0 if the rows are the same, 1 where not, 2 where Kafka cannot be run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from kafka_lab import (
    CACHE,
    GENERATIONS,
    JAVA_SOURCES,
    Cluster,
    Toolbox,
    Unusable,
    find_program,
    run,
    say,
    step,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kodec.pipeline import session
from kodec.pipeline.spark import QUIET

EXIT_UNUSABLE = 2
TICKS = os.sysconf("SC_CLK_TCK")
TOPIC = "measured"


def processes() -> dict[int, tuple[int, float]]:
    """Of each process its parent, and the seconds of CPU of it and of its children that have ended."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(folder.name)] = int(words[1]), sum(map(int, words[11:15])) / TICKS
    return found


def cpu(apart: int) -> tuple[float, float]:
    """Seconds of CPU of this process and all under it, but for one; and of that one."""
    found = processes()
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in found.items() if parent in ours} - ours - {apart}:
        ours |= more
    return sum(found[pid][1] for pid in ours if pid in found), found[apart][1]


def connector(work: Path, repository: Path) -> str:
    """The jars of the connector, with commas."""
    jars = work / "connector"
    if not jars.is_dir():
        mvn = find_program("mvn", "Apache Maven fetches the connector")
        pom = JAVA_SOURCES / "connector" / "pom.xml"
        run(
            [
                mvn, "-B", "-q", "-f", str(pom), f"-Dmaven.repo.local={repository}",
                "dependency:copy-dependencies", f"-DoutputDirectory={jars}",
            ],
            "Maven could not fetch Spark's Kafka source",
        )  # fmt: skip
    return ",".join(map(str, sorted(jars.glob("*.jar"))))


def send(spark: SparkSession, address: str, rows: int, codec: str) -> None:
    key = f.format_string("%016d", f.col("id"))
    frame = spark.range(0, rows, 1, 2).select(
        key.cast("binary").alias("key"),
        f.concat(f.repeat(f.sha2(key, 256), 1), f.repeat(f.lit("x"), 36)).cast("binary").alias("value"),
        f.array(f.struct(f.lit("h").alias("key"), key.cast("binary").alias("value"))).alias("headers"),
    )
    options = {"kafka.bootstrap.servers": address, "topic": TOPIC, "includeHeaders": "true"}
    options |= {"kafka.compression.type": codec, "kafka.batch.size": "64000", "kafka.linger.ms": "50"}
    frame.write.format("kafka").options(**options).save()


def same(one: DataFrame, other: DataFrame) -> int:
    """How many rows only one of the two has."""
    return one.exceptAll(other).count() + other.exceptAll(one).count()


def measure(frame: DataFrame, rows: int, broker: int) -> tuple[float, float]:
    before = cpu(broker)
    frame.write.format("noop").mode("overwrite").save()
    after = cpu(broker)
    return (after[0] - before[0]) / rows * 1e9, (after[1] - before[1]) / rows * 1e9


def compare(rows: int, rounds: int, codec: str, repository: Path) -> bool:
    """Raises: Unusable."""
    work = CACHE / "work" / "connector"
    work.mkdir(parents=True, exist_ok=True)
    tools = Toolbox(work, repository, GENERATIONS["4.3"])
    tools.prepare()
    jars = connector(work, tools.repository)
    with Cluster(tools) as cluster:
        cluster.clients.do("topic", TOPIC, 4)
        spark = session("local[2]", config={**QUIET, "spark.jars": jars, "spark.sql.shuffle.partitions": "4"})
        with step(f"Sending {rows} records, {codec}"):
            send(spark, cluster.broker.address, rows, codec)
        options = {"includeHeaders": "true", "subscribe": TOPIC}
        live = spark.read.format("kafka").options(**options)
        frames = {
            "Spark's Kafka source": live.option("kafka.bootstrap.servers", cluster.broker.address).load(),
            "the source for the JVM": spark.read.format("kafka-log")
            .options(**options)
            .load(str(cluster.broker.logs)),
        }
        assert cluster.broker.process is not None
        broker = cluster.broker.process.pid
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in frames}
        for turn in range(rounds + 1):
            for name, frame in frames.items():
                each = measure(frame, rows, broker)
                if turn:
                    found[name].append(each)
        different = same(*frames.values())
        spark.stop()
    medians: dict[str, Any] = {}
    for name, figures in found.items():
        own, beside = (statistics.median(each) for each in zip(*figures, strict=True))
        medians[name] = own
        say(f"{name}: {own:.0f} ns of CPU a row, the broker {beside:.0f}")
    first, second = medians.values()
    say(f"{second / first:.2f} of it; {rows} rows, {different} of them different")
    return different == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--codec", default="zstd")
    parser.add_argument("--repository", type=Path, default=Path.home() / ".m2" / "repository")
    given = parser.parse_args()
    try:
        return 0 if compare(given.rows, given.rounds, given.codec, given.repository) else 1
    except Unusable as error:
        say(str(error))
        return EXIT_UNUSABLE


if __name__ == "__main__":
    sys.exit(main())
