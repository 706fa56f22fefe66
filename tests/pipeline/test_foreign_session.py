"""A session that somebody else has started, in a process of its own, to which the sources are added."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kodec
from kodec.pipeline.java import java_home
from kodec.pipeline.spark import JAR
from tests.data import LOGS

pytestmark = pytest.mark.thorough


SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
from kodec.pipeline import register, served_by

spark = SparkSession.builder.getOrCreate()
assert register(spark) is spark and register(spark) is spark
logs, out = sys.argv[1:]
reader = spark.read.format("kafka-log").option("subscribe", "segments")
frame = reader.load(logs)
decoded = spark.read.format("kafka-log").options(includeDecoded="true", subscribe="__consumer_offsets")
decoded = decoded.load(logs)
stream = spark.readStream.format("kafka-log").options(subscribe="segments", startingOffsets="earliest")
query = stream.load(logs).writeStream.format("parquet").option("checkpointLocation", out + "/state")
assert query.trigger(availableNow=True).start(out + "/rows").awaitTermination(100)
jvm = served_by(frame) == "jvm"
def said(of):
    try:
        return str(spark.read.format("kafka-log").option("subscribe", of).load(out + "/broken").collect())
    except Exception as error:
        return str(error)

sql = f"SELECT count(*) FROM `kafka-log`.`{logs}`"
print(json.dumps({
    "served": served_by(frame),
    "rows": frame.count(),
    "filtered": frame.where("offset >= 100").count(),
    "decoded": decoded.where("keyDecoded IS NOT NULL").count() > 0,
    "damaged": "crc: stored" in said("damaged"),
    "missing": "failOnDataLoss=false reads on" in said("missing"),
    "streamed": spark.read.parquet(out + "/rows").count(),
    "sql": spark.sql(sql).collect()[0][0] if jvm else 0,
}))
"""


def broken(folder: Path) -> None:
    """damaged-0, whose checksum is wrong, and missing-0, which has no offset 1."""
    batch = kodec.encode([kodec.Record(offset=0, value=b"value")])
    for name, data in (("damaged-0", batch[:-1] + b"!"), ("missing-0", batch)):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{0:020d}.log").write_bytes(data)
    (folder / "missing-0" / f"{2:020d}.log").touch()


def test_a_plain_session(tmp_path: Path) -> None:
    broken(tmp_path / "broken")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    # What Spark calls `python3` has kodec, and that is all that it receives.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**kept, "JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1", "PATH": path}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, LOGS, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    if not JAR.is_file():
        pytest.skip("no JDK is here: only the source in Python was added")
    assert found.pop("sql") > found["rows"] > found.pop("filtered") > 0
    # what a task throws is given, though the driver's own loader does not know the jar
    assert found.pop("damaged") and found.pop("missing")
    assert found == {"served": "jvm", "rows": found["rows"], "decoded": True, "streamed": found["rows"]}
