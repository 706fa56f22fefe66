#!/usr/bin/env python3
"""Appends logs to tables of Iceberg and Delta; Spark reads them, compacts them and lets them expire, by turns.

Spark's catalog is that of pyiceberg, in a file of SQLite. Spark, and its jars of both formats, are fetched into
the clone's `.cache`; it is the newest Spark that both have a jar for.
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

from spark_versions import CACHE, LOGS, environment

from kodec import LogDirectory
from kodec.pipeline import append_to_lake, delta_table, iceberg_table
from kodec.pipeline.java import java_home
from kodec.pipeline.lake.table import LakeTable

SPARK = "4.1.1"
SCRIPT = Path(__file__).resolve().parent / "spark_lake.py"
ROUNDS = (("orders", "codec-zstd"), ("orders", "codec-zstd", "transactions", "headers"), ())


def tables(folder: Path) -> list[LakeTable]:
    sqlite = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder.as_uri()}
    # the catalog's name is in each of its rows: Spark calls it so
    return [iceberg_table("kafka.records", "lake", sqlite), delta_table(str(folder / "delta"))]


def in_spark(folder: Path) -> dict[str, list[Any]]:
    settings = {**os.environ, "JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [environment(SPARK), SCRIPT, folder, CACHE.parent / "ivy"],
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
        for record in log.find_records()
    ]


def plain(rows: list[Any]) -> list[str]:
    # Spark's JSON leaves out what is null
    return sorted(
        json.dumps([each for each in row if each is not None]).replace(', "value": null', "") for row in rows
    )


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
            for format, rows in in_spark(folder).items():
                same = plain(rows) == expected
                print(f"Spark {SPARK}, {format}: {len(rows):,} rows, {'equal' if same else 'NOT equal'}")
                bad += not same
        shutil.rmtree(folder / "metastore_db", ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
