"""What a row costs in Spark: nanoseconds of CPU of all processes, run by run by turns.

The sources for the JVM and in Python, and what each costs with columns that are filled once;
`spark.read.parquet` of the same rows; jobs in the workers; what reading, checksums and decompression cost
alone. Then what a segment's size and its splits change, and how much of a large one is read for a row. Rows
of 16 bytes of key and 100 of value.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

import kodec
from kodec.generated.log.record_batch import RecordBatch
from kodec.log.batches.frame import Frame
from kodec.log.batches.sizes import OFFSET
from kodec.pipeline import ExportOptions, export, inventory, session, verify
from kodec.pipeline import schema as columns
from kodec.pipeline.rows import BATCH_ROWS
from kodec.pipeline.spark import JAR, QUIET
from kodec.runtime.compression import decompress

CODECS = ("none", "zstd", "lz4", "snappy", "gzip")
_HERE = Path(__file__).resolve().parent
_TICKS = os.sysconf("SC_CLK_TCK")

QUERIES: dict[str, Callable[[DataFrame], Any]] = {
    "7 columns into nowhere": lambda frame: frame.write.format("noop").mode("overwrite").save(),
    "sum(length(value))": lambda frame: frame.select(f.sum(f.length("value"))).collect(),
    "count": lambda frame: frame.count(),
}
Figures = dict[str, list[float]]


class Filled(DataSource):
    """The batches of the source in Python, filled once and returned repeatedly. Options rows, tasks."""

    @classmethod
    def name(cls) -> str:
        return "filled"

    def schema(self) -> StructType:
        return columns()

    def reader(self, schema: StructType) -> FilledReader:
        return FilledReader(schema, int(self.options["rows"]), int(self.options["tasks"]))


class FilledReader(DataSourceReader):
    def __init__(self, schema: StructType, rows: int, tasks: int) -> None:
        self.schema = schema
        self.rows = rows
        self.tasks = tasks

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(each) for each in range(self.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        size = BATCH_ROWS  # as in a batch of the source
        offsets = pa.array(range(size), pa.int64())
        parts = {
            "key": pa.array([b"%016d" % each for each in range(size)], pa.binary()),
            "value": pa.array([b"x" * 100] * size, pa.binary()),
            "topic": pa.array(["orders"] * size),
            "partition": pa.array([0] * size, pa.int32()),
            "offset": offsets,
            "timestamp": offsets.cast(pa.timestamp("us", "UTC")),
            "timestampType": pa.array([0] * size, pa.int32()),
        }
        batch = pa.RecordBatch.from_pydict({name: parts[name] for name in self.schema.names})
        for left in range(self.rows // self.tasks, 0, -size):
            yield batch.slice(0, min(left, size))


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


class Process(NamedTuple):
    """A process as /proc has it; its ticks are those of children too that ended and were waited for."""

    pid: int
    parent: int
    ticks: int
    start: int


def processes() -> Iterator[Process]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield Process(int(folder.name), int(words[1]), sum(map(int, words[11:15])), int(words[19]))


def waits(pid: int) -> bool:
    """Whether the CPU of children is added to a process at their end: not if it ignores SIGCHLD."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    return not int(status.split("SigIgn:")[1].split()[0], 16) >> (signal.SIGCHLD - 1) & 1


_unwaited: dict[tuple[int, int], int] = {}


def cpu() -> float:
    """Seconds of CPU of this process and all under it, Spark's Python workers too that it has ended since.

    They end when they were idle for a minute, and their daemon ignores it.
    """
    found = {each.pid: each for each in processes()}
    ours = {os.getpid()}
    while more := {each.pid for each in found.values() if each.parent in ours} - ours:
        ours |= more
    living = [found[pid] for pid in ours if pid in found]
    _unwaited.update({(each.pid, each.start): each.ticks for each in living if not waits(each.parent)})
    there = {(each.pid, each.start) for each in living}
    gone = sum(ticks for key, ticks in _unwaited.items() if key not in there)
    return (sum(each.ticks for each in living) + gone) / _TICKS


def prebuilt(folder: Path) -> Path:
    """The jar of the vectors that are filled once."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    jars = Path(spec.origin).parent / "jars" / "*"
    sources = sorted((_HERE / "java" / "org" / "kodec" / "spark").glob("*.java"))
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
        *sources,
    ]
    subprocess.run(javac, check=True)
    subprocess.run(["jar", "--create", "--file", folder / "prebuilt.jar", "-C", classes, "."], check=True)
    return folder / "prebuilt.jar"


PARTS = ("sources", "codecs", "jobs", "sizes", "splits", "memory", "lookup")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="of each log (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("--codecs", default=",".join(CODECS), help="which of %(default)s")
    parser.add_argument("--parts", default=",".join(PARTS), help="which of %(default)s")
    parser.add_argument("--lookup", type=int, default=1024, help="MiB of the segment of the last part")
    parser.add_argument(
        "--sizes", default="10,100,1024,4096", help="MiB of logs and of segments (%(default)s)"
    )
    given = parser.parse_args()
    sizes = [int(each) << 20 for each in given.sizes.split(",")]
    codecs, parts = given.codecs.split(","), given.parts.split(",")
    # so that folders of gigabytes are deleted then too
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(f"stopped by signal {number}"))
    with folder_of("kodec-spark-") as folder:
        if {"sources", "codecs", "jobs"} & set(parts):
            measure(folder, given.rows, given.rounds, codecs, parts)
        if "sizes" in parts:
            by_size(sizes, given.rounds)
        if "splits" in parts:
            by_splits(given.rounds)
        if "memory" in parts:
            by_memory([each for each in sizes if each >= 100 << 20])
        if "lookup" in parts:
            look_up(folder / "looked-up", given.lookup << 20)


@contextmanager
def folder_of(prefix: str) -> Iterator[Path]:
    """A folder that is deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def by_turns(
    runs: dict[str, Callable[[], Any]], rows: int, rounds: int, warming: int = 1
) -> dict[str, float]:
    """ns of CPU a row of each, the median of the rounds, without the slower first ones.

    Every other round goes backwards: where the JVM still becomes faster, nobody always goes first.
    """
    found: Figures = {name: [] for name in runs}
    for turn in range(warming + rounds):
        for name, run in list(runs.items())[:: -1 if turn % 2 else 1]:
            before = cpu()
            run()
            if turn >= warming:
                found[name].append((cpu() - before) / rows * 1e9)
    return {name: statistics.median(each) for name, each in found.items()}


def measure(folder: Path, rows: int, rounds: int, codecs: list[str], parts: list[str]) -> None:
    for codec in codecs:
        build(folder / codec, rows, codec)
    jar = prebuilt(folder)
    spark = session("local[2]", config={**QUIET, "spark.jars": str(jar)})
    spark.dataSource.register(Filled)

    def logs(source: str, codec: str) -> DataFrame:
        return spark.read.format(source).load(str(folder / codec))

    def alone(codec: str, *what: bool) -> Callable[[], int]:
        jvm: Any = spark._jvm
        return lambda: int(jvm.org.kodec.spark.Alone.read(str(folder / codec), *what))

    print(f"{rows} rows, pyspark {spark.version}, ns of CPU a row, all processes, median of {rounds}")
    if "sources" in parts:
        logs("kafka-log", codecs[0]).write.parquet(str(folder / "parquet"))
        frames = {
            "jvm": logs("kafka-log", codecs[0]),
            "jvm, filled once": spark.read.format("org.kodec.spark.Prebuilt")
            .options(rows=str(rows), tasks="4")
            .load(),
            "python": logs("kafka-log-python", codecs[0]),
            "python, filled once": spark.read.format("filled").options(rows=str(rows), tasks="4").load(),
            "parquet": spark.read.parquet(str(folder / "parquet")),
        }
        runs = {
            f"{what}: {name}": functools.partial(query, frame)
            for what, query in QUERIES.items()
            for name, frame in frames.items()
        }
        # it takes several queries until the JVM has compiled all of Spark that they use
        show(by_turns(runs, rows, rounds, warming=4))
    if "codecs" in parts:
        every = QUERIES["7 columns into nowhere"]
        runs = {}
        for codec in codecs:
            runs[f"jvm, {codec}"] = functools.partial(every, logs("kafka-log", codec))
            runs[f"read and checksums alone, {codec}"] = alone(codec, True, False)
            runs[f"decompression too, {codec}"] = alone(codec, True, True)
        medians = by_turns(runs, rows, rounds)
        show(medians)
        plain = medians["jvm, none"] - medians["read and checksums alone, none"] if "none" in codecs else 0.0
        for codec in codecs:
            own = medians[f"jvm, {codec}"] - plain
            print(f"  {codec}: without what rows cost, of decompression alone: "
                  f"{own / medians[f'decompression too, {codec}']:.2f}")  # fmt: skip
    if "jobs" in parts:
        jobs(spark, folder, rows, rounds, codecs)
    spark.stop()


def jobs(spark: SparkSession, folder: Path, rows: int, rounds: int, codecs: list[str]) -> None:
    """Work inside the workers, beside what the sources and their writers cost."""
    out = str(folder / "out")
    for codec in codecs:
        there = folder / codec

        def written(source: str, there: Path = there) -> None:
            frame = spark.read.format(source).load(str(there))
            frame.write.mode("overwrite").option("compression", "snappy").parquet(out)

        def exported(there: Path = there) -> None:
            shutil.rmtree(out, ignore_errors=True)
            export(there, out, ExportOptions(compression="snappy", include_headers=False))

        runs: dict[str, Callable[[], Any]] = {
            f"export, {codec}": exported,
            f"write.parquet, jvm, {codec}": functools.partial(written, "kafka-log"),
            f"write.parquet, python, {codec}": functools.partial(written, "kafka-log-python"),
            f"verify, {codec}": functools.partial(verify, there),
            f"inventory --crc, {codec}": functools.partial(inventory, there, check_crc=True),
            f"checksums and decompression alone, in Python, {codec}": functools.partial(
                alone_in_python, there
            ),
        }
        show(by_turns(runs, rows, rounds))


def alone_in_python(folder: Path) -> int:
    """The bytes of a log read, verified and decompressed, by the native kernels."""
    found = 0
    for log in sorted(folder.rglob("*.log")):
        for batch in kodec.read_batches(log):
            found += len(batch.data) if batch.codec == "none" else len(decompressed(batch))
    return found


def decompressed(batch: Any) -> bytes:
    start = RecordBatch.PLACES["records"][0]
    return decompress(batch.codec, bytes(batch.data[start:]), limit=1 << 30)


# -- sizes and splits -----------------------------------------------------------------------------


def block(rows: int) -> bytes:
    """Batches with this many records, from offset 0 on."""
    with folder_of("kodec-block-") as folder:
        build(folder, 4 * rows, "none")
        (log,) = (folder / "orders-0").glob("*.log")
        return log.read_bytes()


def repeated(folder: Path, size: int, segment: int) -> int:
    """A log of about `size` bytes in segments of at most `segment`: the same records again; how many."""
    rows = min(400_000, size // 600)
    data = bytearray(block(rows))
    starts = []
    at = 0
    while at < len(data):
        starts.append((at, OFFSET.get(data, at)))
        frame = Frame.peek(data, at)
        assert frame is not None
        at += frame.size
    place = folder / "orders-0"
    place.mkdir(parents=True)
    offset = written = 0
    log = None
    while written < size:
        if log is None or log.tell() + len(data) > segment:
            if log is not None:
                log.close()
            log = (place / f"{offset:020d}.log").open("wb")
        for at, base in starts:
            # no checksum covers it
            data[at + OFFSET.at : at + OFFSET.at + OFFSET.size] = OFFSET.stored(offset + base)
        log.write(data)
        offset += rows
        written += len(data)
    assert log is not None
    log.close()
    return offset


def by_size(sizes: list[int], rounds: int) -> None:
    """The cost of a record in logs of these sizes, with that of a query that reads nothing."""
    spark = session("local[2]", config=QUIET)
    every = QUERIES["7 columns into nowhere"]
    for size in sizes:
        with folder_of("kodec-sizes-") as folder:
            rows = repeated(folder, size, 1 << 30)
            frames = {name: spark.read.format(name) for name in ("kafka-log", "kafka-log-python")}
            runs: dict[str, Callable[[], Any]] = {}
            for name, reader in frames.items():
                whole = reader.load(str(folder))
                reader.option("startingOffsets", '{"orders":{"0":7}}')
                a_row = reader.option("endingOffsets", '{"orders":{"0":8}}').load(str(folder))
                runs[f"{name}, {size >> 20} MiB"] = functools.partial(every, whole)
                runs[f"{name}, {size >> 20} MiB, a row"] = functools.partial(every, a_row)
            found = by_turns(runs, rows, rounds)
            for name in frames:
                cost = found[f"{name}, {size >> 20} MiB"]
                fixed = found[f"{name}, {size >> 20} MiB, a row"]
                print(f"  {name}, {size >> 20} MiB, {rows} rows: {cost:.0f} ns a row, "
                      f"{cost - fixed:.0f} without a query that reads one row")  # fmt: skip
    spark.stop()


def by_splits(rounds: int) -> None:
    """The same rows of a segment in 1, 2 and 7 tasks."""
    spark = session("local[2]", config=QUIET)
    with folder_of("kodec-splits-") as folder:
        rows = repeated(folder, 512 << 20, 1 << 30)
        size = next(folder.rglob("*.log")).stat().st_size
        sums = ["count(1)", "sum(offset)", "sum(crc32(key))", "sum(crc32(value))", "max(timestamp)"]
        runs: dict[str, Callable[[], Any]] = {}
        seen = {}
        for parts in (1, 2, 7):
            frame = (
                spark.read.format("kafka-log")
                .option("maxPartitionBytes", str(size // parts))
                .load(str(folder))
            )
            assert frame.rdd.getNumPartitions() == parts
            seen[parts] = tuple(frame.selectExpr(*sums).collect()[0])
            runs[f"jvm, {parts} tasks"] = functools.partial(QUERIES["7 columns into nowhere"], frame)
        assert len(set(seen.values())) == 1 and seen[1][0] == rows, seen
        print(f"{rows} rows of {size >> 20} MiB in one segment, the same in 1, 2 and 7 tasks")
        show(by_turns(runs, rows, rounds))
    spark.stop()


class Peak:
    """The peak memory of the child processes, by their program, while a block runs."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.found: dict[str, int] = {}

    def _run(self) -> None:
        while not self.over.wait(0.05):
            parents = {each.pid: each.parent for each in processes()}
            for pid in parents:
                above = pid
                while above in parents and above != os.getpid():
                    above = parents[above]
                if above == os.getpid() != pid:
                    self._look(Path(f"/proc/{pid}"))

    def _look(self, process: Path) -> None:
        try:
            kind = (process / "cmdline").read_text().split("\0")[0].rpartition("/")[2]
            status = (process / "status").read_text()
        except OSError:
            return
        if "VmRSS:" in status:
            self.found[kind] = max(self.found.get(kind, 0), int(status.split("VmRSS:")[1].split()[0]))

    def during(self, work: Callable[[], Any]) -> dict[str, int]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            work()
        finally:
            self.over.set()
            thread.join()
        return self.found


def memory_of(source: str, folder: str) -> None:
    """Prints the largest resident memory while one task reads a log: of the JVM and of a Python worker."""
    spark = session("local[1]", config={**QUIET, "spark.driver.memory": "512m"})
    frame = spark.read.format(source).option("maxPartitionBytes", "1024g").load(folder)
    found = Peak().during(functools.partial(QUERIES["7 columns into nowhere"], frame))
    print(", ".join(f"{kind} {most >> 10} MiB" for kind, most in sorted(found.items())), flush=True)
    spark.stop()


def by_memory(sizes: list[int]) -> None:
    """The largest resident memory of one task, by a segment's size; the heap of the JVM is 512 MiB."""
    for size in sizes:
        with folder_of("kodec-memory-") as folder:
            rows = repeated(folder, size, 1 << 40)
            for source in ("kafka-log", "kafka-log-python"):
                # A process of its own, as a JVM keeps what it has.
                code = f"from benchmarks.spark import memory_of; memory_of({source!r}, {str(folder)!r})"
                done = subprocess.run(
                    [sys.executable, "-c", code], check=True, capture_output=True, text=True
                )
                line = done.stdout.splitlines()[-1]
                print(
                    f"  {source}, one segment of {size >> 20} MiB, {rows} rows, one task: {line}", flush=True
                )


# -- one row --------------------------------------------------------------------------------------


def large(folder: Path, size: int) -> int:
    """A log directory with one segment of this many bytes, and its indexes; the offset after the last one."""
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
    command = [sys.executable, "-m", "kodec", "reindex", str(path.parent), "--apply"]
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


def show(medians: dict[str, float]) -> None:
    for name, each in medians.items():
        print(f"  {name:60}{each:8.0f}", flush=True)
    print(json.dumps(medians))


if __name__ == "__main__":
    main()
