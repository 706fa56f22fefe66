"""Queries put to both sources of one Spark session: prints what each answers as JSON, for test_jvm.py.

Usage: jvm_cases.py DIRECTORY, which may be written to.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kodec.pipeline import served_by, session
from kodec.pipeline.spark import QUIET

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
NAMES = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
SOURCES = {"jvm": "kafka-log", "python": "kafka-log-python"}

Query = Callable[[DataFrame], DataFrame]


def answer(spark: SparkSession, source: str, path: Path, options: dict[str, str], query: Query) -> Any:
    try:
        frame = query(spark.read.format(source).options(**options).load(str(path)))
        return sorted(repr(tuple(row)) for row in frame.collect())
    except Exception as error:
        return {"error": str(error)}


def random_queries(shuffled: random.Random) -> Iterator[tuple[str, dict[str, str], Query]]:
    """Options and queries by chance."""

    def chosen(frame: DataFrame) -> DataFrame:
        return frame.select(*shuffled_columns)

    for _ in range(14):
        options = {}
        if shuffled.random() < 0.4:
            options["includeInternal"] = "true"
        headers = shuffled.random() < 0.5
        if headers:
            options["includeHeaders"] = "true"
        options["maxPartitionBytes"] = shuffled.choice(["300", "5k", "1m"])
        topics = shuffled.choice(
            [
                None,
                {"subscribe": "codec-gzip,compacted"},
                {"subscribePattern": "codec-.*"},
                {"assign": '{"codec-zstd":[0]}'},
            ]
        )
        options |= topics or {}
        names = NAMES + ["headers"] * headers
        shuffled_columns = shuffled.sample(names, shuffled.randint(1, len(names)))
        tests = [
            f.col("offset") > shuffled.randrange(40),
            f.col("offset") <= shuffled.randrange(60),
            f.col("offset") == shuffled.randrange(30),
            f.col("topic") == "compacted",
            f.col("topic").isin("codec-zstd", "transactions"),
            f.col("partition") == 0,
            f.col("key") == b"k%d" % shuffled.randrange(9),
            f.col("timestamp") > f.lit("2023-11-14 22:13:20.005").cast("timestamp"),
            f.col("timestamp") <= f.lit("2023-11-14 22:13:20.012").cast("timestamp"),
        ]
        wanted = shuffled.sample(tests, shuffled.randint(0, 2))

        def query(frame: DataFrame, wanted: Any = wanted, columns: Any = shuffled_columns) -> DataFrame:
            for each in wanted:
                frame = frame.where(each)
            return frame.select(*columns)

        yield f"{options} {wanted} {shuffled_columns}", options, query


def everything(frame: DataFrame) -> DataFrame:
    return frame


def sums(frame: DataFrame) -> DataFrame:
    return frame.agg(f.count("*"), f.min("offset"), f.max("offset"), f.min("timestamp"), f.max("timestamp"))


def counted(frame: DataFrame) -> DataFrame:
    return frame.agg(f.count("*"))


def cases(folder: Path) -> Iterator[tuple[str, Path, dict[str, str], Query]]:
    logs = sorted(DATA.glob("kafka-*/logs"))
    for path in [*logs, *sorted(DATA.glob("kafka-*/crashed"))]:
        every = {"includeInternal": "true", "includeHeaders": "true"}
        yield f"all of {path.parts[-2:]}", path, every, everything
    for path in (logs[0], logs[-1]):
        yield f"sums of {path.parts[-2:]}", path, {"maxPartitionBytes": "2k"}, sums
        yield f"count of {path.parts[-2:]}", path, {}, counted
    shuffled = random.Random(3)
    for what, options, query in random_queries(shuffled):
        yield what, logs[-1], options, query
    partition = logs[-1] / "segments-0"
    yield "a partition", partition, {}, everything
    yield "a segment", sorted(partition.glob("*.log"))[1], {}, everything

    broken = folder / "broken"
    shutil.copytree(logs[-1], broken)
    path = sorted((broken / "codec-gzip-0").glob("*.log"))[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    (broken / "never-0").mkdir()
    for mode in ("failfast", "permissive", "quarantine"):
        yield f"damage, {mode}", broken, {"mode": mode}, everything
    missing = folder / "missing"
    shutil.copytree(logs[-1], missing)
    sorted((missing / "segments-0").glob("*.log"))[1].unlink()
    yield "a missing segment", missing, {"subscribe": "segments"}, everything
    loss = {"subscribe": "segments", "failOnDataLoss": "false"}
    yield "a missing segment, read on", missing, loss, everything
    for options in (
        {"subscibe": "orders"},
        {"subscribe": "nowhere"},
        {"startingOffsets": '{"segments":{"0":5}}', "subscribe": "segments"},
        {"kafka.isolation.level": "read_committed", "subscribe": "transactions"},
        {"includeBatchMetadata": "true", "subscribe": "codec-lz4"},
        {"maxRecordsPerPartition": "7", "subscribe": "codec-lz4"},
        {"includeDecoded": "true", "subscribe": "__consumer_offsets"},
        {"includeDecoded": "false", "subscribe": "codec-lz4"},
    ):
        yield f"handed over: {options}", logs[-1], options, everything


def streamed(spark: SparkSession, source: str, path: Path, checkpoint: Path) -> Any:
    stream = (
        spark.readStream.format(source)
        .option("startingOffsets", "earliest")
        .option("subscribe", "codec-none,compacted")
        .load(str(path))
    )
    name = source.replace("-", "_")
    query = (
        stream.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(repr(tuple(row)) for row in spark.table(name).collect())


def main(folder: Path) -> None:
    spark = session("local[2]", config={**QUIET, "spark.sql.shuffle.partitions": "2"})

    def say(what: str, **found: Any) -> None:
        print(json.dumps({"case": what, **found}), flush=True)

    frame = spark.read.format("kafka-log").load(str(DATA / "kafka-4.3.1" / "logs"))
    say("served", jvm=served_by(frame), python="jvm")
    handed = frame.sparkSession.read.format("kafka-log").option("mode", "permissive")
    say("handed over", jvm=served_by(handed.load(str(DATA / "kafka-4.3.1" / "logs"))), python="python")
    say("few rows", jvm=frame.limit(3).count(), python=3)
    plan = frame.where("offset > 5").groupBy().count()
    say("a count with a filter", jvm=plan.collect()[0][0] > 0, python=True)
    logs = DATA / "kafka-4.3.1" / "logs"
    mounted = {"fs.viewfs.mounttable.here.link./logs": logs.as_uri(), "maxPartitionBytes": "3k"}
    through = spark.read.format("kafka-log").options(**mounted).load("viewfs://here/logs")
    direct = spark.read.format("kafka-log").load(str(logs))
    say("Hadoop", jvm=sorted(map(repr, through.collect())), python=sorted(map(repr, direct.collect())))
    for what, path, options, query in cases(folder):
        found = {name: answer(spark, source, path, options, query) for name, source in SOURCES.items()}
        say(what, **found)
    say("a stream", **{n: streamed(spark, s, logs, folder / n) for n, s in SOURCES.items()})
    say("written", **{n: written(spark, s, logs, folder / f"{n}-out") for n, s in SOURCES.items()})
    spark.stop()


def written(spark: SparkSession, source: str, logs: Path, target: Path) -> Any:
    """The sink is the Python source's: rows to a new log directory, and to one that is there."""
    for topics in ("orders", "codec-lz4"):
        rows = spark.read.format("kafka-log").option("subscribe", topics).load(str(logs))
        rows = rows.drop("timestampType", "offset").coalesce(1)
        rows.write.format(source).mode("append").save(str(target))
    found = spark.read.format("kafka-log").load(str(target))
    return sorted(map(repr, found.collect()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
