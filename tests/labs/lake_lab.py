#!/usr/bin/env python3
"""Appends logs to tables of Iceberg and Delta; DuckDB reads them, Spark reads, compacts and expires them.

Spark's catalog is that of pyiceberg, in a file of SQLite. Spark, its jars of both formats, and DuckDB with
its extensions are fetched into `.cache`. Spark is the newest one that both formats have a jar for;
DuckDB is the one whose extensions are on PyPI.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from kafka_lab import find_program
from spark_versions import CACHE, LOGS, environment, made_environment

from kodec import LogDirectory, LogDirectoryWriter, Record, read_records
from kodec.pipeline import append_to_lake, delta_table, iceberg_table
from kodec.pipeline.java import java_home
from kodec.pipeline.lake.iceberg import IcebergTable
from kodec.pipeline.lake.table import LakeTable

SPARK = "4.1.1"
ARTIFACTS = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)
_EXTENSIONS = "1.4.4.20260205"
DUCKDB = ("duckdb==1.4.4", *(f"duckdb-ext-{name}=={_EXTENSIONS}" for name in ("avro", "iceberg", "delta")))
SCRIPT = Path(__file__).resolve().parent / "spark_lake.py"
DUCKDB_SCRIPT = SCRIPT.with_name("duckdb_lake.py")
KILLER = SCRIPT.parents[1] / "pipeline" / "kill_lake.py"
ROUNDS = (("orders", "codec-zstd"), ("orders", "codec-zstd", "transactions", "headers"), ())


def tables(folder: Path) -> list[LakeTable]:
    sqlite = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder.as_uri()}
    # the catalog's name is in each of its rows: Spark calls it so
    return [iceberg_table("kafka.records", "lake", sqlite), delta_table(str(folder / "delta"))]


def jars() -> Path:
    """The folder with what Spark needs, fetched if missing."""
    folder = CACHE.parent / "lake-jars"
    mvn = find_program("mvn", "Apache Maven fetches what Spark needs for both formats")
    for artifact in ARTIFACTS:
        _, name, version = artifact.split(":")
        if not (folder / f"{name}-{version}.jar").is_file():
            copy = ["dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
            subprocess.run(
                [mvn, "-B", "-q", f"-Dmaven.repo.local={CACHE.parent / 'maven-repository'}", *copy],
                check=True,
            )
    return folder


def answer(*command: str | Path) -> str:
    settings = {**os.environ, "JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-6000:])
    return done.stdout


def in_spark(folder: Path, *others: str) -> Any:
    """The rows of the tables in the folder, which Spark then compacts and expires; or those of others."""
    script = [environment(SPARK), SCRIPT, folder, jars()]
    return json.loads(answer(*script, *others).splitlines()[-1])


def in_duckdb(*places: str) -> list[list[Any]]:
    """The rows of each table."""
    script = [made_environment(CACHE.parent / "duckdb", *DUCKDB), DUCKDB_SCRIPT]
    return [json.loads(line) for line in answer(*script, *places).splitlines()]


def by_format(folder: Path) -> dict[str, list[Any]]:
    return dict(zip(("iceberg", "delta"), in_duckdb(*map(place, tables(folder))), strict=True))


def place(table: LakeTable) -> str:
    """Where others find a table: a folder or the metadata that the catalog names."""
    if isinstance(table, IcebergTable):
        catalog: Any = table._catalog
        metadata = catalog.load_table(table.name).metadata_location
        return f"iceberg={metadata.removeprefix('file://')}"
    return f"delta={table.path}"


def killed(work: Path) -> int:
    """Kill appends at every step, go on, and have others read each table; how many are wrong."""
    with LogDirectoryWriter(work / "logs") as logs:
        for number in range(4):
            logs.partition("orders", number % 2).append([Record(value=b"%d" % each) for each in range(5)])
    expected = sorted(
        [*log.topic_partition, record.offset]
        for log in LogDirectory(work / "logs")
        for record in log.records()
    )
    bad, table_of = 0, runpy.run_path(str(KILLER))["table"]
    for format in ("iceberg", "delta"):
        folder = work / format
        folder.mkdir()
        times = answer(sys.executable, KILLER, work / "logs", folder, format, "steps").strip()
        places = [place(table_of(each, format)) for each in sorted(folder.iterdir()) if each.is_dir()]
        for reader, rows in (
            ("DuckDB", [sorted(row[:3] for row in each) for each in in_duckdb(*places)]),
            (f"Spark {SPARK}", in_spark(folder, *places)),
        ):
            wrong = sum(each != expected for each in rows)
            print(f"{reader}, {format}: killed {times} times, {len(rows)} tables, {wrong} wrong")
            bad += wrong or len(rows) != len(places)
    return bad


def wanted(topics: set[str]) -> list[Any]:
    """The records as our reader has them, which other labs compare with Kafka's own."""

    def shown(data: bytes | None) -> str | None:
        return None if data is None else data.hex().upper()

    return [
        [
            *log.topic_partition,
            record.offset,
            record.timestamp * 1000,
            shown(record.key),
            shown(record.value),
            [{"key": key, "value": shown(value)} for key, value in record.headers] or None,
        ]
        for log in LogDirectory(LOGS)
        if log.topic_partition.topic in topics
        for segment in log.segments
        for record in read_records(segment.path)
        if record.offset >= log.start_offset
    ]


def plain(rows: list[Any]) -> list[str]:
    return sorted(map(json.dumps, rows))


def main() -> int:
    every = {log.topic_partition.topic for log in LogDirectory(LOGS)}
    every = {topic for topic in every if not topic.startswith("__")}
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work).resolve()
        for topics in ROUNDS:
            chosen = [topic for topic in topics if topic in every] or None
            for table in tables(folder):
                append_to_lake(LOGS, table, topics=chosen)
                again = append_to_lake(LOGS, table, topics=chosen)
                if again.commits:
                    print(f"{table.name}: appended twice: {again}")
                    bad += 1
            expected = plain(wanted(set(chosen or every)))
            # Spark compacts and expires the tables when it has read them
            duck, spark = partial(by_format, folder), partial(in_spark, folder)
            for reader, read in (("DuckDB", duck), (f"Spark {SPARK}", spark), ("DuckDB", duck)):
                for format, rows in read().items():
                    same = plain(rows) == expected
                    print(f"{reader}, {format}: {len(rows):,} rows, {'equal' if same else 'NOT equal'}")
                    bad += not same
        shutil.rmtree(folder / "metastore_db", ignore_errors=True)
        (folder / "killed").mkdir()
        bad += killed(folder / "killed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
