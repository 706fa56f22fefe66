#!/usr/bin/env python3
"""Runs the source for the JVM, one jar, in several versions of Spark; its rows against the Python one's.

Each Spark comes from its wheel of pyspark, into an environment of its own in the clone's `.cache`.

Usage: spark_versions.py [VERSION...]
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import spark_rows as queries

from kodec.pipeline import KafkaLogDataSource
from kodec.pipeline.java import java_home
from kodec.pipeline.spark import JAR

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache" / "spark"
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
SCRIPT = Path(__file__).resolve().parent / "spark_rows.py"
VERSIONS = ("3.5.7", "4.0.4", "4.1.1", "4.2.1", "4.3.0")


def environment(version: str) -> Path:
    """The Python of an environment that has this pyspark: that of this clone, or one made for it."""
    if importlib.metadata.version("pyspark") == version:
        return Path(sys.executable)
    return made_environment(CACHE / version, f"pyspark=={version}")


def made_environment(folder: Path, *packages: str) -> Path:
    """The Python of an environment with these packages, made if missing."""
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.is_file() or done.read_text() not in ("", " ".join(packages)):
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        done.write_text(" ".join(packages))
    return python


def wanted(options: dict[str, str]) -> list[dict[str, Any]]:
    """The rows that the source in Python gives."""
    one = KafkaLogDataSource({"path": str(LOGS), **options})
    reader = one.reader(one.schema())
    found = []
    for task in reader.partitions():
        for batch in reader.read(task):
            found += [plain(row) for row in batch.to_pylist()]
    return found


def plain(row: dict[str, Any]) -> dict[str, Any]:
    made = dict(row, timestamp=round(row["timestamp"].timestamp() * 1000))
    for name in ("key", "value"):
        made[name] = None if row[name] is None else row[name].hex().upper()
    if row.get("headers") is not None:
        made["headers"] = [
            {"key": each["key"], "value": None if each["value"] is None else each["value"].hex().upper()}
            for each in row["headers"]
        ]
    return made


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def judge(found: dict[str, Any]) -> list[str]:
    """What of the answers is not as it must be."""
    failed = []
    for name, options in queries.QUERIES.items():
        if in_order(found[name]) != in_order(wanted(options)):
            failed.append(name)
    every = wanted({})
    segments = sum(row["topic"] == "segments" for row in every)
    for name, value in {
        "count": len(every),
        "sql": len(every),
        "view": segments,
        "quarantine": True,
        "error": True,
    }.items():
        if found[name] != value:
            failed.append(f"{name}: {found[name]} is not {value}")
    some = in_order([row for row in every if row["topic"] == "compacted" and row["offset"] > 5])
    if len(found["filtered"]) != 4 or not set(in_order(found["filtered"])) <= set(some):
        failed.append("filtered")
    if in_order(found["stream"]) != in_order(every):
        failed.append("stream")
    return failed


def main(versions: tuple[str, ...]) -> int:
    bad = 0
    for version in versions:
        python = environment(version)
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as work:
            settings = {**os.environ, "JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
            done = subprocess.run(
                [python, SCRIPT, JAR, LOGS, work],
                capture_output=True,
                text=True,
                check=False,
                env=settings,
                cwd=work,
            )
        if done.returncode:
            print(f"Spark {version}: {done.stdout[-2000:]}{done.stderr[-6000:]}")
            bad += 1
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        failed = judge(found)
        bad += bool(failed)
        said = "; ".join(failed) or f"{len(found['all'])} rows and {len(queries.QUERIES) + 8} queries, equal"
        print(f"Spark {found['spark']}: {said}, {time.monotonic() - begun:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or VERSIONS))
