"""Cost of exporting a log to Parquet: with this process, Spark, and a script of kafka-python and pyarrow.

They run in turn, on the same number of cores, with snappy inside as is Spark's default. First all outputs
are compared: they must have the same rows. Seconds of the clock and of CPU of all processes; on a busy
machine only the latter are reliable. Rows of 16 bytes of key and 100 of value, in four topic-partitions.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from kafka.record import MemoryRecords

from benchmarks.spark import build, cpu, folder_of
from kodec.pipeline import ExportOptions, export, session
from kodec.pipeline.spark import QUIET
from kodec.repair import plan_reindex

_COLUMNS = ["topic", "partition", "offset", "timestamp", "key", "value"]
_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)
_ROWS = 65_536


def by_script(logs: Path, out: Path) -> None:
    """A script as users of these two libraries write it: a row group for each number of records."""
    for folder in sorted(logs.glob("*-*")):
        topic, _, partition = folder.name.rpartition("-")
        out.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(out / f"{folder.name}.parquet", _SCHEMA, compression="snappy") as writer:
            rows: list[tuple[Any, ...]] = []

            def write(rows: list[tuple[Any, ...]], writer: pq.ParquetWriter = writer) -> None:
                columns = zip(*rows, strict=True)
                arrays = [pa.array(each, field.type) for each, field in zip(columns, _SCHEMA, strict=True)]
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA))

            for path in sorted(folder.glob("*.log")):
                records = MemoryRecords(path.read_bytes())
                while (batch := records.next_batch()) is not None:
                    for record in batch:
                        rows.append(
                            (
                                record.key,
                                record.value,
                                topic,
                                int(partition),
                                record.offset,
                                record.timestamp * 1000,
                                record.timestamp_type,
                            )
                        )
                    if len(rows) >= _ROWS:
                        write(rows)
                        rows = []
            if rows:
                write(rows)


def rows_of(out: Path) -> pa.Table:
    """The rows that were written, in one order."""
    files = [pq.ParquetFile(path).read(_COLUMNS) for path in sorted(out.rglob("*.parquet"))]
    table = pa.concat_tables(files).sort_by([("partition", "ascending"), ("offset", "ascending")])
    # Spark writes times in a type of 96 bits, without a zone
    at = table.schema.names.index("timestamp")
    table = table.set_column(at, "timestamp", table["timestamp"].cast(pa.timestamp("us")))
    return table.cast(pa.schema([pa.field(each.name, each.type) for each in table.schema]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.export", description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="of the log (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("--cores", type=int, default=2, help="for each (%(default)s)")
    parser.add_argument("--codec", default="lz4", help="of the log (%(default)s)")
    given = parser.parse_args()
    with folder_of("kodec-export-") as folder:
        measure(folder, given.rows, given.rounds, given.cores, given.codec)


def measure(folder: Path, rows: int, rounds: int, cores: int, codec: str) -> None:
    logs = folder / "logs"
    build(logs, rows, codec)
    for log in logs.iterdir():
        # a broker's logs have them
        plan_reindex(log).apply()
    spark = session(f"local[{cores}]", config=QUIET)

    def written(source: str) -> Callable[[Path], None]:
        frame = spark.read.format(source).load(str(logs))
        return lambda out: frame.write.option("compression", "snappy").parquet(str(out))

    runs: dict[str, Callable[[Path], Any]] = {
        "kodec export": lambda out: export(
            logs,
            out,
            ExportOptions(threads=cores, compression="snappy", include_headers=False),
            engine="local",
        ),
        "kodec export --engine spark": lambda out: export(
            logs, out, ExportOptions(compression="snappy", include_headers=False)
        ),
        "write.parquet, source for the JVM": written("kafka-log"),
        "write.parquet, source in Python": written("kafka-log-python"),
        "kafka-python and pyarrow": lambda out: by_script(logs, out),
    }
    out = folder / "out"
    wanted: pa.Table | None = None
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, run in list(runs.items())[:: -1 if turn % 2 else 1]:
            start, before = time.monotonic(), cpu()
            run(out)
            spent = time.monotonic() - start, cpu() - before
            if turn == 0:  # which also warms up
                have = rows_of(out)
                assert wanted is None or have.equals(wanted), f"{name}: other rows"
                wanted = have
            else:
                found[name].append(spent)
            shutil.rmtree(out)
    spark.stop()
    load = os.getloadavg()[0]
    print(f"{rows} rows, {codec} in the log, {cores} cores, median of {rounds}; load at the end {load:.1f}")
    medians = {
        name: [statistics.median(each) for each in zip(*spent, strict=True)] for name, spent in found.items()
    }
    ours = medians["kodec export"]
    print(f"{'':36} {'s':>8} {'s CPU':>8} {'times ours':>11} {'of CPU':>8}")
    for name, (wall, busy) in medians.items():
        print(f"{name:36} {wall:8.2f} {busy:8.2f} {wall / ours[0]:10.1f}x {busy / ours[1]:7.1f}x")


if __name__ == "__main__":
    main()
