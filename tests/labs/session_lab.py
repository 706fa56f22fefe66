#!/usr/bin/env python3
"""Sessions that somebody else starts: the jar by --jars and --packages, kodec by --py-files, Spark Connect.

Each is a process of its own, of a Python that has pyspark and no kodec, but for the client of Spark Connect.
What that needs beside comes from PyPI, into the clone's `.cache`.

Usage: session_lab.py [--only submit|connect]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from kafka_lab import CACHE, HERE, Unusable, free_ports, run, say, step, stop_on_signal, wait_for

from kodec.pipeline.java import java_home
from kodec.pipeline.spark import JAR

ROOT = HERE.parent.parent
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
NATIVE = (".so", ".pyc", ".c", ".java", ".jar", ".pyx", ".html")
# What pyspark[connect] asks for beside pyarrow, which kodec has.
CONNECT = ("grpcio==1.76.0", "grpcio-status==1.76.0", "googleapis-common-protos==1.71.0", "pandas==2.3.3")

READS = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder
for each in sys.argv[2:]:
    builder = builder.config(*each.split("=", 1))
spark = builder.getOrCreate()
try:
    import kodec
except ImportError:
    kodec = None
{more}
frame = spark.read.format("kafka-log").option("subscribe", "segments").load(sys.argv[1])
try:
    spark.read.format("kafka-log").option("subscibe", "segments").load(sys.argv[1])
except Exception as error:
    said = str(error)
print(json.dumps({{"kodec": kodec is not None, "rows": frame.count(), "said": said,
    "sums": frame.selectExpr("sum(offset)", "sum(length(value))").collect()[0].asDict()}}))
spark.stop()
"""

REGISTERED = """
from kodec.pipeline import register, served_by
register(spark)
"""

CLIENT = """
import json, sys
from pyspark.sql import SparkSession
from kodec.pipeline import ExportOptions, compact_view, export, inventory, register, served_by, verify

spark = register(SparkSession.builder.remote(sys.argv[2]).getOrCreate())
assert type(spark).__module__.startswith("pyspark.sql.connect")
logs, out = sys.argv[1], sys.argv[3]
frame = spark.read.format("kafka-log").option("subscribe", "segments").load(logs)
assert served_by(frame) == "jvm", frame.explain()
rows = frame.select("offset").collect()
assert spark.sql(f"SELECT count(*) FROM `kafka-log`.`{logs}`").collect()[0][0] > len(rows) == frame.count()
python = spark.read.format("kafka-log-python").option("subscribe", "segments").load(logs)
assert served_by(python) == "python" and python.count() == len(rows)
assert python.exceptAll(frame).count() == frame.exceptAll(python).count() == 0
decoded = spark.read.format("kafka-log").options(includeDecoded="true", subscribe="__consumer_offsets")
decoded = decoded.load(logs)
assert served_by(decoded) == "python" and decoded.count() > 0
stream = spark.readStream.format("kafka-log").options(subscribe="segments", startingOffsets="earliest")
query = stream.load(logs).writeStream.format("parquet").option("checkpointLocation", out + "/state")
assert query.trigger(availableNow=True).start(out + "/rows").awaitTermination(100)
assert spark.read.parquet(out + "/rows").count() == len(rows)
frame.drop("offset").write.format("kafka-log").mode("append").save(out + "/sink")
assert spark.read.format("kafka-log").load(out + "/sink").count() == len(rows)
try:
    spark.read.format("kafka-log").option("subscibe", "x").load(logs).count()
except Exception as error:
    assert "did you mean subscribe" in str(error), error
else:
    raise AssertionError
summary = verify(logs)
assert summary.ok and summary.segments > 0
listed = inventory(logs)
exported = export(logs, out + "/parquet", ExportOptions(topics=["segments"]))
assert exported.records == len(rows)
assert compact_view(logs, out + "/view", topics=["compacted"]).records > 0
print(json.dumps({"rows": len(rows), "segments": summary.segments}))
"""


def bare(folder: Path) -> dict[str, str]:
    """The environment of a Python that has pyspark and no kodec."""
    site = folder / "site"
    site.mkdir()
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    installed = Path(spec.origin).parent.parent
    # With what kodec needs, and without kodec.
    for name in ("pyspark", "py4j", "pyarrow", "numpy", "crc32c", "cramjam", "snappy", "lz4", "zstandard"):
        for there in installed.glob(f"{name}*"):
            (site / there.name).symlink_to(there)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    return {
        **kept,
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(site),
        "PYSPARK_PYTHON": getattr(sys, "_base_executable", sys.executable),
    }


def submitted(
    folder: Path, environment: dict[str, str], options: list[str], more: str = ""
) -> dict[str, object]:
    """What the job prints. Raises Unusable."""
    script = folder / "job.py"
    script.write_text(READS.format(more=more))
    submit = folder / "site" / "pyspark" / "bin" / "spark-submit"
    done = subprocess.run(
        [submit, "--master", "local[2]", "--conf", "spark.ui.enabled=false", *options, script, LOGS],
        capture_output=True, text=True, check=False, env=environment, cwd=folder,
    )  # fmt: skip
    if done.returncode:
        raise Unusable(f"{options}: {done.stdout[-1000:]}{done.stderr[-4000:]}")
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def repository(folder: Path) -> Path:
    """A Maven repository on disk that has the jar."""
    place = folder / "repository" / "org" / "kodec" / "kodec-spark" / "1.0"
    place.mkdir(parents=True)
    shutil.copy(JAR, place / "kodec-spark-1.0.jar")
    (place / "kodec-spark-1.0.pom").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>org.kodec</groupId><artifactId>kodec-spark</artifactId><version>1.0</version></project>\n"
    )
    return folder / "repository"


def archive(folder: Path) -> Path:
    """kodec in pure Python as a zip, as --py-files takes it."""
    made = folder / "kodec.zip"
    source = ROOT / "src"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out:
        for path, _, names in os.walk(source / "kodec", followlinks=True):
            for name in names:
                if not name.endswith(NATIVE):
                    out.write(Path(path, name), Path(path, name).relative_to(source))
    return made


@contextmanager
def connect_server(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """The URL of a server of Spark Connect."""
    (port,) = free_ports(1)
    submit = folder / "site" / "pyspark" / "bin" / "spark-submit"
    log = folder / "connect.out"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                submit, "--master", "local[2]", "--conf", "spark.ui.enabled=false",
                "--conf", f"spark.connect.grpc.binding.port={port}",
                "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
                "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
            ],
            env=environment, stdout=out, stderr=subprocess.STDOUT, cwd=folder,
        )  # fmt: skip
    try:
        wait_for("Spark Connect", lambda: b"Spark Connect server started at" in log.read_bytes(), 90)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def connect_client() -> Path:
    """The folder with what a client of Spark Connect needs beside pyspark and pyarrow."""
    folder = CACHE / "connect"
    stamp = folder / "installed"
    if not (stamp.is_file() and stamp.read_text() == repr(CONNECT)):
        shutil.rmtree(folder, ignore_errors=True)
        with step("Getting what a client of Spark Connect needs"):
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--only-binary",
                ":all:",
                "--target",
                str(folder),
            ]
            run([*pip, *CONNECT], "pip could not install it")
        stamp.write_text(repr(CONNECT))
    return folder


def submit_all(folder: Path, environment: dict[str, str]) -> None:
    """Raises: Unusable."""
    sums: list[object] = []

    def job(what: str, options: list[str], *, kodec: bool = False, more: str = "") -> None:
        begun = time.monotonic()
        found = submitted(folder, environment, options, more)
        sums.append(found["sums"])
        word = "did you mean subscribe" if kodec else "kodec.pipeline.register"
        if found["kodec"] is not kodec or sums[-1] != sums[0] or word not in str(found["said"]):
            raise Unusable(f"{what}: {found}")
        say(f"spark-submit {what}: {time.monotonic() - begun:.0f} s")

    job("--jars, no kodec in Python", ["--jars", str(JAR)])
    ivy = ["--conf", f"spark.jars.ivy={folder / 'ivy'}", "--repositories", repository(folder).as_uri()]
    job("--packages, no kodec in Python", ["--packages", "org.kodec:kodec-spark:1.0", *ivy])
    archived = ["--py-files", str(archive(folder)), "--jars", str(JAR)]
    job("--py-files, kodec in pure Python", archived, kodec=True, more=REGISTERED)


def connect(folder: Path, environment: dict[str, str]) -> None:
    """Raises: Unusable."""
    client = connect_client()
    # The server's workers have kodec; its settings know nothing of it.
    with connect_server(folder, {**environment, "PYSPARK_PYTHON": sys.executable}) as url:
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, str(LOGS), url, str(folder)],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(client)},
        )
        if done.returncode:
            raise Unusable(f"Spark Connect: {done.stdout[-1000:]}{done.stderr[-5000:]}")
        say(f"Spark Connect: reads, SQL, a stream, the sink, jobs: {time.monotonic() - begun:.0f} s")


KINDS = {"submit": submit_all, "connect": connect}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=KINDS, help="one kind of session")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, stop_on_signal)
    if not JAR.is_file():
        raise Unusable("there is no jar: `make jar` builds it, with a JDK")
    for name, kind in KINDS.items():
        if given.only in (None, name):
            folder = CACHE / "work" / "sessions"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                kind(folder, bare(folder))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    say(f"pyspark {version('pyspark')}: all sessions read the same")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
