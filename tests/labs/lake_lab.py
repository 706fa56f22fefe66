#!/usr/bin/env python3
"""Appends logs to tables of Iceberg and Delta; DuckDB reads them, Spark reads, compacts and expires them.

Spark's catalog is that of pyiceberg, in a file of SQLite. Spark, its jars of both formats, and DuckDB with
its extensions are fetched into `.cache`. Spark is the newest one that both formats have a jar for;
DuckDB is the one whose extensions are on PyPI.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from kafka_lab import find_program
from spark_versions import CACHE, LOGS, environment, made_environment

from kodec import LogDirectory, read_records
from kodec.pipeline import append_to_lake, delta_table, iceberg_table
from kodec.pipeline.java import java_home
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
ROUNDS = (("orders", "codec-zstd"), ("orders", "codec-zstd", "transactions", "headers"), ())


def tables(folder: Path) -> list[LakeTable]:
    sqlite = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder.as_uri()}
    # the catalog's name is in each of its rows: Spark calls it so
    return [iceberg_table("kafka.records", "lake", sqlite), delta_table(str(folder / "delta"))]


def jars() -> Path:
    """The folder with what Spark needs, fetched where it is not there."""
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


def in_spark(folder: Path) -> dict[str, list[Any]]:
    settings = {**os.environ, "JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [environment(SPARK), SCRIPT, folder, jars()],
        capture_output=True,
        text=True,
        check=False,
        env=settings,
        cwd=folder,
    )
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-6000:])
    found: dict[str, list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def in_duckdb(folder: Path) -> dict[str, list[Any]]:
    # each commit has a file of its own, with a number that goes up
    metadata = max((folder / "kafka" / "records" / "metadata").glob("*.metadata.json"))
    done = subprocess.run(
        [made_environment(CACHE.parent / "duckdb", *DUCKDB), DUCKDB_SCRIPT, metadata, folder / "delta"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr[-6000:])
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def wanted(topics: set[str]) -> list[Any]:
    """The records as our reader has them, which other labs hold against Kafka's own."""

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
            for reader, read in (("DuckDB", in_duckdb), (f"Spark {SPARK}", in_spark), ("DuckDB", in_duckdb)):
                for format, rows in read(folder).items():
                    same = plain(rows) == expected
                    print(f"{reader}, {format}: {len(rows):,} rows, {'equal' if same else 'NOT equal'}")
                    bad += not same
        shutil.rmtree(folder / "metastore_db", ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
