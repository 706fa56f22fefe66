#!/usr/bin/env python3
"""Kills executors and Python workers of a real Spark cluster in the middle of jobs: all rows, each once.

A master and two workers on loopback, each a process of its own. While a read and a stream of either source,
an export, a verification and a write of the sink run, processes of the cluster that do the work are killed
with SIGKILL. The streams are stopped in the middle too, and started again from their checkpoints.

Usage: kill_lab.py [--kills N] [--megabytes N]
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
from kafka_lab import CACHE, Unusable, free_ports, say, step, stop_on_signal, wait_for
from pyspark.sql import DataFrame, SparkSession

import kodec
from kodec.pipeline import ExportOptions, export, served_by, session, verify
from kodec.pipeline.java import java_home
from kodec.pipeline.spark import QUIET

HOME = Path(pyspark.__file__).parent
PARTITIONS = 8
RECORDS = 2_000


def write_logs(root: Path, megabytes: int) -> int:
    """A log directory of so many MiB; how many records it has."""
    count = 0
    with kodec.LogDirectoryWriter(root, config=kodec.LogConfig(segment_bytes=1 << 20)) as directory:
        for partition in range(PARTITIONS):
            log = directory.partition("orders", partition)
            while log.next_offset * 1_100 < megabytes * 2**20 // PARTITIONS:
                batch = [
                    kodec.Record(key=b"%d" % n, value=os.urandom(1_000), timestamp=1_700_000_000_000 + n)
                    for n in range(RECORDS // 10)
                ]
                count += len(batch)
                log.append(batch)
    return count


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and two workers; the master's URL, and the processes."""
    port, ui, *own = free_ports(6)
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    commands = [
        [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(ui)],
        *(
            [f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--port", str(own[2 * n]), "--webui-port",
             str(own[2 * n + 1]), "--cores", "1", "--memory", "700m", url]
            for n in range(2)
        ),
    ]  # fmt: skip
    processes = []
    try:
        for number, command in enumerate(commands):
            with (folder / f"spark-{number}.out").open("wb") as out:
                program = [HOME / "bin" / "spark-class", *command]
                processes.append(
                    subprocess.Popen(
                        program,
                        env=environment,
                        stdout=out,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
        logs = [folder / f"spark-{number}.out" for number in (1, 2)]
        wait_for(
            "two workers", lambda: all(b"registered with master" in log.read_bytes() for log in logs), 90
        )
        yield url, processes
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def workers_of(processes: list[subprocess.Popen[bytes]]) -> dict[str, list[int]]:
    """The processes of the cluster that do its work: executors, and the Python workers below these."""
    parents: dict[int, tuple[int, str]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                parents[int(path.name)] = int(fields[1]), (path / "cmdline").read_text()
            except OSError:
                continue
    below = {process.pid for process in processes}
    while more := {pid for pid, (parent, _) in parents.items() if parent in below} - below:
        below |= more
    found: dict[str, list[int]] = {"executor": [], "Python worker": []}
    for pid in below:
        _, command = parents.get(pid, (0, ""))
        if "CoarseGrainedExecutorBackend" in command:
            found["executor"].append(pid)
        elif "pyspark.daemon" in command and parents[pid][0] in below:
            mother = parents.get(parents[pid][0], (0, ""))[1]
            if "pyspark.daemon" in mother:
                found["Python worker"].append(pid)
    return found


BOTH = ("Python worker", "Python worker", "executor")


class Killer:
    """Kills one process of each kind by turns, some times, while something runs."""

    def __init__(self, processes: list[subprocess.Popen[bytes]], kills: int, kinds: tuple[str, ...]) -> None:
        self.processes = processes
        self.kinds = kinds
        self.left = kills
        self.killed: list[str] = []
        self.over = threading.Event()
        self.dice = random.Random(7)

    def _run(self) -> None:
        while self.left and not self.over.wait(self.dice.uniform(0.7, 2.5)):
            found = workers_of(self.processes)
            kind = self.kinds[len(self.killed) % len(self.kinds)]
            if found[kind]:
                os.kill(self.dice.choice(found[kind]), signal.SIGKILL)
                self.killed.append(kind)
                self.left -= 1

    def during(self, work: Callable[[], Any]) -> Any:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            return work()
        finally:
            self.over.set()
            thread.join()


# So that it takes long enough.
COPIES, COPIES_TO_VERIFY = 6, 100
SUMS = ("partition", "offset", "crc32(value) AS sum")


def read_rows(spark: SparkSession, source: str, logs: Path) -> tuple[DataFrame, DataFrame]:
    """The log, and what a read of several copies of it at once gives: copy, partition, offset, checksum."""
    one = spark.read.format(source).option("maxPartitionBytes", "1m").load(str(logs))
    copies = [one.selectExpr(f"{copy} AS copy", *SUMS) for copy in range(COPIES)]
    return one, functools.reduce(DataFrame.unionAll, copies)


def stream(spark: SparkSession, source: str, logs: Path, folder: Path) -> int:
    """Reads the log as a stream into Parquet; stopped twice in the middle. How often it was started."""
    rows = spark.readStream.format(source).options(startingOffsets="earliest", maxOffsetsPerTrigger="9000")
    for starts in itertools.count(1):
        query = (
            rows.option("maxPartitionBytes", "1m")
            .load(str(logs))
            .selectExpr(*SUMS)
            .writeStream.format("parquet")
            .option("checkpointLocation", str(folder / "state"))
            .trigger(availableNow=True)
            .start(str(folder / "rows"))
        )
        if starts < 3:
            query.awaitTermination(8)
            query.stop()
        elif query.awaitTermination(600):
            return starts
        else:
            raise Unusable("the stream does not end")
    raise AssertionError


def require(what: str, have: object, need: object) -> None:
    """Raises: Unusable."""
    if have != need:
        raise Unusable(f"{what}: {have}, not {need}")


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=5, help="processes to kill in each job")
    parser.add_argument("--megabytes", type=int, default=96, help="size of the log")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop_on_signal)
    folder = CACHE / "work" / "kills"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    out = folder / "out"
    out.mkdir()
    with step("Writing a log"):
        count = write_logs(folder / "logs", options.megabytes)
    config = {
        **QUIET,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.task.maxFailures": "50",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.interval": "200ms",
        "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
    }
    logs = folder / "logs"
    wanted = {
        (log.topic_partition.partition, record.offset): record.value
        for log in kodec.LogDirectory(logs)
        for record in log.records()
    }
    require("records", len(wanted), count)
    with cluster(folder) as (url, processes):
        spark = session(url, config=config)

        def during(what: str, work: Callable[[], Any], kinds: tuple[str, ...] = BOTH) -> Any:
            killer, begun = Killer(processes, options.kills, kinds), time.monotonic()
            result = killer.during(work)
            say(f"{what}: {len(killer.killed)} killed ({', '.join(killer.killed)}), "
                f"{time.monotonic() - begun:.0f} s")  # fmt: skip
            if not killer.killed:
                raise Unusable(f"{what} was over before anything was killed: take more --megabytes")
            return result

        try:
            sums = {(*place, zlib.crc32(value or b"")) for place, value in wanted.items()}
            for source, what, kinds in (
                ("kafka-log", "jvm", ("executor",)),
                ("kafka-log-python", "python", BOTH),
            ):
                one, several = read_rows(spark, source, logs)
                require("who serves", served_by(one), what)
                rows = [tuple(row) for row in during(f"read, {what}", several.collect, kinds)]
                require(f"rows of the read, {what}", len(rows), COPIES * count)
                copies = {(copy, *row) for copy in range(COPIES) for row in sums}
                require(f"rows of the read, {what}, each once", set(rows) == copies, True)
                folder_of = out / f"stream-{what}"
                starts = during(
                    f"stream, {what}", functools.partial(stream, spark, source, logs, folder_of), kinds
                )
                found = [tuple(row) for row in spark.read.parquet(str(folder_of / "rows")).collect()]
                require(f"rows of the stream, {what}", len(found), count)
                require(f"rows of the stream, {what}, each once", set(found) == sums, True)
                say(f"    started {starts} times")

            summary = during("export", lambda: export(logs, out / "parquet", ExportOptions(task_bytes="2m")))
            require("exported", summary.records, count)
            rows = {}
            for file in (out / "parquet").rglob("*.parquet"):
                partition = int(file.parent.name.partition("=")[2])
                table = pq.ParquetFile(file).read(columns=["offset", "value"])
                for offset, value in zip(
                    *(table[name].to_pylist() for name in table.column_names), strict=True
                ):
                    require(f"row {partition}, {offset} twice", (partition, offset) in rows, False)
                    rows[partition, offset] = value
            require("rows of the export are those of the log", rows == wanted, True)

            found = during("verify", lambda: verify(*[logs] * COPIES_TO_VERIFY))
            require("problems", found.problems, [])
            require("segments", found.segments, COPIES_TO_VERIFY * len(list(logs.glob("*/*.log"))))

            frame = spark.read.format("kafka-log-python").option("maxPartitionBytes", "2m").load(str(logs))
            frame = frame.drop("offset")
            writer = frame.write.format("kafka-log").mode("append")
            during("sink", lambda: writer.save(str(out / "sink")))
            values = sorted(r.value for log in kodec.LogDirectory(out / "sink") for r in log.records())
            require("values of the sink are those of the log", values == sorted(wanted.values()), True)
            require("problems", list(kodec.repair.verify(out / "sink")), [])
            for log in kodec.LogDirectory(out / "sink"):
                offsets = [record.offset for record in log.records()]
                require(f"offsets of {log.topic_partition}", offsets, list(range(len(offsets))))
            require("hidden folders left", hidden(out), [])
        finally:
            spark.stop()
    say(f"{count} records: nothing lost, nothing twice")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
