"""What a row costs in Spark: nanoseconds of CPU of all processes, run by run by turns.

The source for the JVM, the one in Python, `spark.read.parquet` of the same rows, and vectors of the JVM's
source that are filled once: what Spark itself costs. Rows of 16 bytes of key and 100 of value.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import kodec
from kodec.pipeline import session
from kodec.pipeline.spark import JAR, QUIET

CODECS = ("none", "zstd", "lz4", "snappy", "gzip")
_HERE = Path(__file__).resolve().parent
_TICKS = os.sysconf("SC_CLK_TCK")

QUERIES: dict[str, Callable[[DataFrame], Any]] = {
    "7 columns into nowhere": lambda frame: frame.write.format("noop").mode("overwrite").save(),
    "sum(length(value))": lambda frame: frame.select(f.sum(f.length("value"))).collect(),
    "count": lambda frame: frame.count(),
}


def build(folder: Path, rows: int, codec: str) -> None:
    """A log directory of four partitions in segments of 64 MiB or less."""
    shuffled = random.Random(1)
    pool = [shuffled.randbytes(42) + b"x" * 42 for _ in range(1000)]
    for partition in range(4):
        log = folder / f"orders-{partition}"
        log.mkdir(parents=True)
        offset = 0
        while offset < rows // 4:
            count = min(400_000, rows // 4 - offset)
            offsets = range(offset, offset + count)
            table = pa.table(
                {
                    "offset": pa.array(offsets, pa.int64()),
                    "timestamp": pa.array([1_700_000_000_000 + each for each in offsets], pa.int64()),
                    "key": pa.array([b"%016d" % each for each in offsets], pa.binary()),
                    "value": pa.array([pool[each % 1000] + b"%016d" % each for each in offsets], pa.binary()),
                }
            )
            data = kodec.encode_table(table, compression=codec, batch_bytes=64_000)
            (log / f"{offset:020d}.log").write_bytes(data)
            offset += count


def processes() -> Iterator[tuple[int, int, int]]:
    """(process, parent, ticks of CPU with those of children that have ended) of all processes."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield int(folder.name), int(words[1]), sum(map(int, words[11:15]))


def cpu() -> float:
    """Seconds of CPU of this process and all under it."""
    found = list(processes())
    ours = {os.getpid()}
    while more := {pid for pid, parent, _ in found if parent in ours} - ours:
        ours |= more
    return sum(ticks for pid, _, ticks in found if pid in ours) / _TICKS


def prebuilt(folder: Path) -> Path:
    """The jar of the vectors that are filled once."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    jars = Path(spec.origin).parent / "jars" / "*"
    source = _HERE / "java" / "org" / "kodec" / "spark" / "Prebuilt.java"
    classes = folder / "classes"
    javac = [
        "javac",
        "--release",
        "17",
        "-proc:none",
        "-nowarn",
        "-cp",
        f"{jars}:{JAR}",
        "-d",
        classes,
        source,
    ]
    subprocess.run(javac, check=True)
    subprocess.run(["jar", "--create", "--file", folder / "prebuilt.jar", "-C", classes, "."], check=True)
    return folder / "prebuilt.jar"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="of each log (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("--codecs", default=",".join(CODECS), help="which of %(default)s")
    parser.add_argument("--lookup", type=int, default=1024, help="MiB of the segment of the last part")
    given = parser.parse_args()
    codecs = given.codecs.split(",")
    folder = Path(tempfile.mkdtemp(prefix="kodec-spark-"))
    try:
        measure(folder, given.rows, given.rounds, codecs)
        look_up(folder / "looked-up", given.lookup << 20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, rows: int, rounds: int, codecs: list[str]) -> None:
    for codec in codecs:
        build(folder / codec, rows, codec)
    jar = prebuilt(folder)
    spark = session("local[2]", config={**QUIET, "spark.jars": str(jar)})
    frames: dict[str, DataFrame] = {}
    for codec in codecs:
        frames[f"jvm, {codec}"] = spark.read.format("kafka-log").load(str(folder / codec))
        frames[f"python, {codec}"] = spark.read.format("kafka-log-python").load(str(folder / codec))
    first = frames[f"jvm, {codecs[0]}"]
    first.write.parquet(str(folder / "parquet"))
    frames["parquet"] = spark.read.parquet(str(folder / "parquet"))
    of_prebuilt = spark.read.format("org.kodec.spark.Prebuilt").option("rows", rows).option("tasks", 4)
    frames["prebuilt vectors"] = of_prebuilt.load()
    found: dict[str, dict[str, list[float]]] = {name: {what: [] for what in QUERIES} for name in frames}
    for turn in range(rounds + 1):
        for what, query in QUERIES.items():
            for name, frame in frames.items():
                before = cpu()
                query(frame)
                # the first one warms up
                if turn:
                    found[name][what].append((cpu() - before) / rows * 1e9)
    show(spark, found, rows)
    spark.stop()


def large(folder: Path, size: int) -> int:
    """A log directory with one segment of so many bytes, and its indexes; the offset after the last one."""
    path = folder / "orders-0" / f"{0:020d}.log"
    path.parent.mkdir(parents=True)
    value = random.Random(2).randbytes(1000)
    offset = 0
    with path.open("wb") as log:
        while log.tell() < size:
            records = [
                kodec.Record(offset=each, timestamp=1_700_000_000_000 + each, value=value)
                for each in range(offset, offset + 60)
            ]
            log.write(kodec.encode(records))
            offset += 60
    command = [shutil.which("kodec") or "kodec", "reindex", str(path.parent), "--apply"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return offset


def look_up(folder: Path, size: int) -> None:
    """How many bytes of a large segment the JVM reads for one row, by offset and by time."""
    end = large(folder, size)
    spark = session("local[2]", config=QUIET)
    assert spark._jvm is not None
    io = Path(f"/proc/{spark._jvm.java.lang.ProcessHandle.current().pid()}/io")

    def row(of: int) -> tuple[DataFrame, DataFrame]:
        frame = spark.read.format("kafka-log").load(str(folder))
        later = spark.read.format("kafka-log").option("startingTimestamp", 1_700_000_000_000 + of)
        return frame.where(f.col("offset") == of), later.load(str(folder)).limit(1)

    for each in row(7):
        # classes are loaded
        each.collect()
    for name, each in zip(("offset", "time"), row(end // 3 * 2), strict=True):
        before = int(io.read_text().split()[1])
        assert [found.offset for found in each.collect()] == [end // 3 * 2]
        read = int(io.read_text().split()[1]) - before
        print(f"one row by {name} out of {size >> 20} MiB: {read / 2**20:.1f} MiB read")
    spark.stop()


def show(spark: SparkSession, found: dict[str, dict[str, list[float]]], rows: int) -> None:
    print(f"{rows} rows, pyspark {spark.version}, ns of CPU a row, all processes, median")
    print(f"{'':22}" + "".join(f"{what:>26}" for what in QUERIES))
    medians = {
        name: {what: statistics.median(runs) for what, runs in of.items()} for name, of in found.items()
    }
    for name, of in medians.items():
        print(f"{name:22}" + "".join(f"{of[what]:26.0f}" for what in QUERIES))
    print(json.dumps(medians))


if __name__ == "__main__":
    main()
