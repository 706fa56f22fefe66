"""No secret of the options is in a plan, or in the log of events, of which many people may read both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kodec
from kodec.pipeline.spark import JAR

SCRIPT = """
import sys
from pathlib import Path
from kodec.pipeline import session

work, jvm = Path(sys.argv[1]), sys.argv[2] == "jvm"
events = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (work / "events").as_uri()}
more = {"spark.eventLog.compress": "false", "spark.sql.warehouse.dir": str(work / "tables")}
spark = session("local[1]", config=events | more, jvm=jvm)
secrets = {
    "fs.s3a.access.key": "hush-1", "fs.s3a.secret.key": "hush-2", "fs.s3a.session.token": "hush-3",
    "kafka.ssl.keystore.password": "hush-4",
}
listed = ", ".join(f"'{name}' '{value}'" for name, value in secrets.items())
spark.sql(f"CREATE TABLE t USING `kafka-log` OPTIONS (path '{work}/logs', {listed})")

def shown(frame):
    frame.explain(True)
    frame.explain("formatted")
    print(frame._jdf.queryExecution())
    print(frame._jdf.queryExecution().logical(), frame._jdf.queryExecution().analyzed())

for mode in ("failfast", "permissive"):
    options = {**secrets, "mode": mode}
    frame = spark.read.format("kafka-log").options(**options).load(f"{work}/logs")
    shown(frame)
    assert frame.count() == 10
    stream = spark.readStream.format("kafka-log").options(**options, startingOffsets="earliest")
    stream = stream.load(f"{work}/logs")
    shown(stream)
    query = stream.writeStream.format("noop").option("checkpointLocation", f"{work}/{mode}")
    query = query.trigger(availableNow=True).start()
    assert query.awaitTermination(100)
    query.explain(True)
    print(query.lastProgress)
if jvm:
    # Spark gives a source in Python no path of a table
    shown(spark.table("t"))
    assert spark.table("t").count() == 10
spark.stop()
"""


@pytest.mark.parametrize("source", ["jvm", "python"])
def test_plans_and_events(source: str, tmp_path: Path) -> None:
    if source == "jvm" and not JAR.is_file():
        pytest.skip("no JDK: the source for the JVM was not built")
    folder = tmp_path / "logs" / "t-0"
    folder.mkdir(parents=True)
    records = [kodec.Record(offset=n, value=b"value") for n in range(10)]
    (folder / f"{0:020d}.log").write_bytes(kodec.encode(records))
    (tmp_path / "events").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path, source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    events = [each.read_text() for each in (tmp_path / "events").rglob("*") if each.is_file()]
    assert any("kafka-log" in text for text in events)
    assert "kafka-log" in done.stdout
    for text in (done.stdout, done.stderr, *events):
        assert "hush-" not in text, next(line for line in text.splitlines() if "hush-" in line)[:2000]
