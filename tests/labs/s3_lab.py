#!/usr/bin/env python3
"""Reads log directories with Spark from a real server of the S3 API on loopback: rows, bytes, mistakes.

The server is Versity's gateway, which Go builds here; what Hadoop needs for s3a: comes by Maven. Both are
pinned by hash. Between Spark and the server a proxy counts requests and bytes.

Usage: s3_lab.py [--megabytes N] [--delay MS]
Exit code: 0 if all is as it must be, 1 where not, 2 where the server cannot be run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_lab import (
    CACHE,
    HERE,
    JAVA_SOURCES,
    Unusable,
    find_program,
    require_pinned,
    run,
    say,
    step,
    stop_on_signal,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from store_servers import KEY, SECRET, Meter, Wrong, fetch_gateway, large_log, require, server

import kodec
from kodec.pipeline import served_by, session
from kodec.pipeline.java import java_home
from kodec.pipeline.spark import QUIET

ROOT = HERE.parent.parent
DATA = ROOT / "tests" / "data"
BUCKET = "logs"
# The same objects.
AHEAD = "logs-ahead"
MOST_FOR_A_ROW = 16 << 20
# Where credentials may come from without asking the network for them.
PROVIDERS = ",".join(
    (
        "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider",
    )
)

QUERIES: tuple[dict[str, str], ...] = (
    {},
    {"includeInternal": "true", "includeHeaders": "true", "includeControlRecords": "true"},
    {"maxPartitionBytes": "2k"},
    {"kafka.isolation.level": "read_committed"},
    {"subscribe": "segments", "startingOffsets": '{"segments":{"0":105}}'},
    {"subscribePattern": "codec-.*", "startingTimestamp": "1700000000007"},
    {"subscribe": "codec-zstd", "maxRecordsPerPartition": "3"},
    {"assign": '{"compacted":[0]}', "minPartitions": "3"},
    {"mode": "permissive", "failOnDataLoss": "false"},
    {"mode": "quarantine"},
)


# -- what is run ----------------------------------------------------------------------------------


def fetch(work: Path) -> tuple[Path, list[Path]]:
    """The server's program, and the jars that s3a: needs. Raises Unusable."""
    program, jars = fetch_gateway(work), work / "jars"
    pom = JAVA_SOURCES / "s3" / "pom.xml"
    known = work / "pom.xml"
    if not (known.is_file() and known.read_bytes() == pom.read_bytes()):
        shutil.rmtree(jars, ignore_errors=True)
        mvn = find_program("mvn", "Apache Maven fetches what Hadoop needs for s3a:")
        with step("Getting hadoop-aws and modules of the AWS SDK through Maven"):
            run(
                [
                    mvn, "-B", "-q", "-f", str(pom), f"-Dmaven.repo.local={CACHE / 'maven-repository'}",
                    "dependency:copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime",
                ],
                "Maven could not fetch them",
            )  # fmt: skip
            require_pinned(jars)
        shutil.copy(pom, known)
    return program, sorted(jars.glob("*.jar"))


# -- the session ----------------------------------------------------------------------------------


class Lab:
    """A session that reads s3a: through the meter."""

    def __init__(self, jars: list[Path], meter: Meter, work: Path) -> None:
        self.meter = meter
        self.work = work
        self.settings = {
            "fs.s3a.endpoint": f"http://127.0.0.1:{meter.port}",
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.aws.credentials.provider": PROVIDERS,
            "fs.s3a.access.key": KEY,
            "fs.s3a.secret.key": SECRET,
            # Hadoop's default from 3.5 on, which reads ahead, and which the source does not take by itself.
            f"fs.s3a.bucket.{AHEAD}.input.stream.type": "analytics",
            "fs.s3a.attempts.maximum": "2",
            "fs.s3a.retry.limit": "2",
        }
        config = {f"spark.hadoop.{name}": value for name, value in self.settings.items()}
        config |= {**QUIET, "spark.jars": ",".join(map(str, jars)), "spark.sql.shuffle.partitions": "2"}
        self.spark = session("local[2]", config=config)

    def url(self, name: str) -> str:
        return f"s3a://{BUCKET}/{name}"

    def upload(self, path: Path, name: str) -> None:
        """A file or a folder, by the API."""
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                key = f"{name}/{file.relative_to(path)}" if path.is_dir() else name
                there = self._path(self.url(key))
                self._system(there).copyFromLocalFile(False, True, self._path(str(file)), there)

    def delete(self, name: str) -> None:
        there = self._path(self.url(name))
        require(f"{name} deleted", self._system(there).delete(there, True), True)

    def _path(self, text: str) -> Any:
        jvm: Any = self.spark._jvm
        return jvm.org.apache.hadoop.fs.Path(text)

    def _system(self, path: Any) -> Any:
        return path.getFileSystem(self.spark._jsc.hadoopConfiguration())

    def frame(self, *paths: str, **options: str) -> DataFrame:
        reader = self.spark.read.format("kafka-log").options(**options)
        return reader.load(paths[0] if len(paths) == 1 else list(paths))


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


def spent(meter: Meter, work: Callable[[], Any]) -> tuple[Any, str]:
    meter.reset()
    begun = time.monotonic()
    found = work()
    seconds = time.monotonic() - begun
    widths = meter.widths()
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(meter.requests.items()))
    return found, (
        f"{meter.bytes / 2**20:.2f} MiB in {seconds:.1f} s; {kinds}; "
        f"the widest range {max(widths, default=0):,} bytes"
    )


# -- what is asked --------------------------------------------------------------------------------


def same_rows(lab: Lab) -> None:
    for generation in sorted(DATA.glob("kafka-*")):
        lab.upload(generation / "logs", f"{generation.name}/logs")
    lab.upload(DATA / "tiered-4.3.1" / "tier", "tiered/tier")
    lab.upload(DATA / "tiered-4.3.1" / "logs", "tiered/logs")
    newest = DATA / "kafka-4.3.1" / "logs"
    there = lab.url("kafka-4.3.1/logs")
    count = 0
    for options in QUERIES:
        one = lab.frame(there, **options)
        require(f"{options}: who serves", served_by(one), "python" if "mode" in options else "jvm")
        require(f"{options}: rows", rows(one), rows(lab.frame(str(newest), **options)))
        count += 1
    local, remote = str(DATA), lab.url("").rstrip("/")
    for names in (
        *([f"kafka-{release}/logs"] for release in ("0.9.0.1", "0.10.2.2", "0.11.0.3", "2.8.2", "3.9.1")),
        ["kafka-4.3.1/logs/codec-*"],
        ["kafka-4.3.1/logs/{segments,compacted}-[0-9]"],
        ["kafka-4.3.1/logs/segments-0"],
        ["kafka-4.3.1/logs/segments-0/00000000000000000000.log"],
        ["kafka-4.3.1"],
        ["kafka-4.3.1/logs", "kafka-3.9.1/logs", "kafka-4.3.1"],
        ["tiered/tier"],
        ["tiered/logs", "tiered/tier"],
        ["tiered"],
    ):
        mine = [
            f"{local}/{name.replace('tiered', 'tiered-4.3.1', 1) if name.startswith('tiered') else name}"
            for name in names
        ]
        require(str(names), rows(lab.frame(*(f"{remote}/{name}" for name in names))), rows(lab.frame(*mine)))
        count += 1
    counted = lab.spark.sql(f"SELECT count(*) FROM `kafka-log`.`{there}`").collect()[0][0]
    require("count by SQL", counted, lab.frame(str(newest)).count())
    say(f"{count + 1} queries: rows as of local files")


def stream(lab: Lab) -> None:
    state, out = lab.work / "state", lab.work / "out"
    local = lab.work / "growing"
    with kodec.LogDirectoryWriter(local, config=kodec.LogConfig(segment_bytes=1 << 20)) as directory:
        log = directory.partition("grown", 0)
        sent = 0
        for turn in range(3):
            for _ in range(4):
                log.append([kodec.Record(value=b"%d" % each) for each in range(sent, sent + 500)])
                sent += 500
            log.flush()
            lab.upload(local, "growing")
            query = (
                lab.spark.readStream.format("kafka-log")
                .options(startingOffsets="earliest", maxOffsetsPerTrigger="700")
                .load(lab.url("growing"))
                .writeStream.format("parquet")
                .option("checkpointLocation", str(state))
                .trigger(availableNow=True)
                .start(str(out))
            )
            require("the stream ends", query.awaitTermination(120), True)
            found = [int(row.value) for row in lab.spark.read.parquet(str(out)).select("value").collect()]
            require(f"rows of the stream, turn {turn}", sorted(found), list(range(sent)))
    say(f"a stream that was started {turn + 1} times: {sent} rows, each once")


def one_row(lab: Lab, megabytes: int, delay: float) -> None:
    folder, count = lab.work / "large", megabytes * 1000
    folder.mkdir()
    large_log(folder, megabytes, (1 << 31) - 1)
    with step(f"Uploading a segment of {megabytes} MiB"):
        lab.upload(folder, "large")
    shutil.rmtree(folder)
    lab.meter.delay = delay
    of = count // 3 * 2
    size = megabytes << 20
    least = {"startingTimestamp": str(1_700_000_000_000 + of)}
    for bucket in (BUCKET, AHEAD):
        there = f"s3a://{bucket}/large"
        for what, ask in (
            ("one row by offset", lambda path: lab.frame(path).where(f.col("offset") == of)),
            ("one row by time", lambda path: lab.frame(path, **least).limit(1)),
        ):
            found, text = spent(lab.meter, lambda: ask(there).collect())  # noqa: B023 - called at once
            require(what, [row.offset for row in found], [of])
            say(f"{what} out of {megabytes} MiB, {bucket}: {text}")
            require("bytes", lab.meter.bytes <= MOST_FOR_A_ROW, True)
        if bucket == AHEAD:
            # What is read ahead of is kept, and larger tasks fill the heap.
            continue
        for what, options in (("tasks of 128m", {}), ("one task", {"maxPartitionBytes": "64g"})):
            frame = lab.frame(there, **options).agg(f.sum(f.length("value")))
            total, text = spent(lab.meter, frame.collect)
            require(what, total[0][0], count * 1000)
            say(f"all rows, {what}, {bucket}: {text}")
            require("bytes beyond the segment's", lab.meter.bytes < 1.01 * size + (4 << 20), True)
    lab.meter.delay = 0.0


def mistakes(lab: Lab) -> None:
    there = lab.url("kafka-4.3.1/logs")
    wrong_key = {"fs.s3a.secret.key": "wrong", "fs.s3a.impl.disable.cache": "true"}
    none = {"fs.s3a.access.key": "", "fs.s3a.secret.key": "", "fs.s3a.impl.disable.cache": "true"}
    for what, words, path, options in (
        ("a wrong key", "cannot be read.*credentials are spark.hadoop.fs.s3a.access.key", there, wrong_key),
        ("no credentials", "cannot be read.*[Cc]redentials.*spark.hadoop.fs.s3a.access.key", there, none),
        ("no bucket", "s3a://nowhere/logs.*bucket does not exist", "s3a://nowhere/logs", {}),
        ("no path", "there is no s3a://logs/nothing", lab.url("nothing"), {}),
        ("no glob", "s3a://logs/noth\\*: nothing is called so", lab.url("noth*"), {}),
        ("no topic", "not in the log directory: x; there are .*codec-gzip-0", there, {"subscribe": "x"}),
        ("an option", "did you mean subscribe", there, {"subscibe": "x"}),
        ("a value", "expected true or false; not 'yes'", there, {"includeHeaders": "yes"}),
        ("what is not to be had", "includeDecoded=true: this takes the source in Python, .*not hdfs:",
         "hdfs://nowhere/logs", {"includeDecoded": "true"}),
        ("no file system", "no file system is known for s3x:", "s3x://logs/x", {}),
    ):  # fmt: skip
        try:
            lab.frame(path, **options).count()
        except Exception as error:
            text = " ".join(str(error).split())[:3000]
            require(f"{what} is said, {text[:600]}", bool(re.search(words, text, re.IGNORECASE)), True)
        else:
            raise Wrong(f"{what}: no error")
    say("10 mistakes are given at load")


def vanished(lab: Lab) -> None:
    """Objects that are deleted after the query was made."""
    folder = lab.work / "vanishing"
    with kodec.LogDirectoryWriter(folder, config=kodec.LogConfig(segment_bytes=20_000)) as directory:
        log = directory.partition("gone", 0)
        for first in range(0, 600, 50):
            log.append([kodec.Record(value=b"x" * 300) for _ in range(first, first + 50)])
    segments = sorted(path.name for path in folder.glob("gone-0/*.log"))
    lab.upload(folder, "vanishing")
    frame = lab.frame(lab.url("vanishing"))
    require("rows", frame.count(), 600)
    planned = frame.select("offset")
    jvm_plan = planned._jdf.queryExecution().executedPlan()
    # The tasks are made, and then retention deletes the first segment.
    jvm_plan.execute().getNumPartitions()
    lab.delete(f"vanishing/gone-0/{segments[0]}")
    try:
        planned.collect()
    except Exception as error:
        require("what is gone is given", "were deleted meanwhile" in str(error), True)
    else:
        raise Wrong("a segment that a planned query lacks is not told")
    lenient = lab.frame(lab.url("vanishing"), failOnDataLoss="false").select("offset")
    lenient._jdf.queryExecution().executedPlan().execute().getNumPartitions()
    lab.delete(f"vanishing/gone-0/{segments[1]}")
    rest = [row.offset for row in lenient.collect()]
    require("rows after retention", rest, list(range(int(segments[2][:20]), 600)))
    lab.delete(f"vanishing/gone-0/{segments[3]}")
    try:
        lab.frame(lab.url("vanishing")).count()
        lab.frame(lab.url("vanishing")).collect()
    except Exception as error:
        require("a hole is given", "in no segment, and not for compaction" in str(error), True)
    else:
        raise Wrong("a hole in the log is not told")
    say("segments that vanish: an error, and without failOnDataLoss the rest; a hole is an error")


def lists(lab: Lab) -> None:
    """How often each folder is listed: by a query, and by a stream in which nothing is new."""
    lab.upload(DATA / "kafka-4.3.1" / "logs", "listed")
    there = lab.url("listed")
    _, text = spent(lab.meter, lambda: lab.frame(there).collect())
    # what is reported about a gap is checked anew
    often = {name for name, count in lab.meter.lists.items() if count != 2 and "/compacted-" not in name}
    require("folders that are not listed twice", often, set())
    say(f"all rows of {len(lab.meter.lists)} folders: {text}")
    query = (
        lab.spark.readStream.format("kafka-log")
        .load(there)
        .writeStream.format("noop")
        .option("checkpointLocation", str(lab.work / "idle"))
        .start()
    )
    query.processAllAvailable()
    _, text = spent(lab.meter, lambda: time.sleep(20))
    query.stop()
    require("an idle stream lists at most once a second", max(lab.meter.lists.values()) <= 21, True)
    say(f"a stream in which nothing is new, 20 s: {text}")


WITHOUT = """
from pyspark.sql import SparkSession
from kodec.pipeline import register
spark = register(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate())
try:
    spark.read.format("kafka-log").load("s3a://logs/x").count()
except Exception as error:
    print("SAID", str(error).splitlines()[0:3])
"""


def without_hadoop_aws() -> None:
    environment = {**os.environ, "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False, env=environment
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("SAID")]
    require(f"without hadoop-aws, {said}, {done.stderr[-500:]}",
            bool(said and "org.apache.hadoop:hadoop-aws:" in said[0]), True)  # fmt: skip
    say("without hadoop-aws: the error names what to add")


def jobs(port: int) -> None:
    """Jobs read and write the store with kodec's own settings, in Spark's workers too."""
    there = f"s3a://{BUCKET}/kafka-4.3.1/logs"
    program = str(Path(sys.executable).with_name("kodec"))
    commands = [
        ["verify", there], ["inventory", there], ["export", there, "--to", "out"],
        ["convert", there, "--topic", "orders", "--to", f"s3://{BUCKET}/new", "--level", "3", "--apply"],
        ["compact-view", there, "--topic", "compacted", "--to", f"s3://{BUCKET}/view"],
    ]  # fmt: skip
    folder = CACHE / "work" / "s3" / "jobs"
    folder.mkdir()
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }
    for command in commands:
        done = subprocess.run([program, *command, "--engine", "spark"], capture_output=True, text=True,
                              check=False, cwd=folder, env={**os.environ, **settings})  # fmt: skip
        require(f"exit code of {command}, {done.stderr}", done.returncode, 0)
    say(f"{len(commands)} jobs on s3a: with --engine spark")


def main() -> int:
    signal.signal(signal.SIGTERM, stop_on_signal)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024, help="of the large segment")
    parser.add_argument(
        "--delay", type=int, default=0, help="ms that each request waits, for the large segment"
    )
    given = parser.parse_args()
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    os.environ["AWS_JAVA_V1_DISABLE_DEPRECATION_ANNOUNCEMENT"] = "true"
    CACHE.joinpath("s3").mkdir(parents=True, exist_ok=True)
    program, jars = fetch(CACHE / "s3")
    work = CACHE / "work" / "s3"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    begun = time.monotonic()
    try:
        with server(program, work / "buckets") as port:
            (work / "buckets" / BUCKET).mkdir()
            (work / "buckets" / AHEAD).symlink_to(BUCKET)
            meter = Meter(port)
            lab = Lab(jars, meter, work)
            try:
                same_rows(lab)
                stream(lab)
                mistakes(lab)
                vanished(lab)
                lists(lab)
                one_row(lab, given.megabytes, given.delay / 1000)
                jobs(meter.port)
            finally:
                lab.spark.stop()
            without_hadoop_aws()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    say(f"all in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as problem:
        print(f"wrong: {problem}", file=sys.stderr)
        sys.exit(1)
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
