"""Asks a Spark session of its own what the source in the JVM gives for cases: see test_jvm_losses.py.

Its standard error is the log of the driver, at its usual level. Permissions hold for root here, as for users.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_DROP = 24  # PR_CAPBSET_DROP
_OVERRIDES = 1, 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def _without_overrides() -> None:
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in _OVERRIDES:
            if libc.prctl(_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "prctl")


def answers(cases: list[dict[str, Any]], jar: Path | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """What each case gives: `rows` (their offsets) or `error`, and `metrics`; and the driver's log, by line.

    A case has `path`, `options`, `where`, `meanwhile` (between planning and reading: functions of os, and
    their arguments), and `how`: `rows`, `whole` (rows as JSON, by offset), `count` or `stream`, whose further
    runs `meanwhile` lists. `jar` is another source than the installed one.
    """
    done = subprocess.run(
        [sys.executable, __file__, *([] if jar is None else [str(jar)])],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        preexec_fn=_without_overrides,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stderr.splitlines()


def _changed(calls: list[list[Any]]) -> None:
    for name, *arguments in calls:
        getattr(os, name)(*arguments)


def _rows(spark: Any, case: dict[str, Any]) -> dict[str, Any]:
    frame = spark.read.format("kafka-log").options(**case["options"]).load(case["path"])
    frame = frame.where(case["where"])
    if case["how"] == "whole":
        return {"rows": frame.orderBy("offset").toJSON().collect(), "metrics": {}}
    frame = frame.select("offset")
    if case["how"] == "count":
        frame = frame.selectExpr("count(*)")
    plan = frame._jdf.queryExecution().executedPlan()
    assert "kafka-log (JVM)" in plan.toString() or case["how"] == "count", plan.toString()
    _changed(case["meanwhile"])
    found = sorted(row[0] for row in frame.collect())
    scans = frame._jdf.queryExecution().executedPlan().collectLeaves()
    metrics = scans.apply(0).metrics() if case["how"] == "rows" else None
    names = ("missing", "unfinished")
    return {
        "rows": found,
        "metrics": {name: metrics.apply(name).value() for name in names} if metrics is not None else {},
    }


def _stream(spark: Any, case: dict[str, Any]) -> dict[str, Any]:
    """The offsets and the metrics of a stream's runs."""
    found: dict[str, Any] = {"rows": [], "metrics": []}
    state = case["path"] + "-state"
    for calls in [[], *case["meanwhile"]]:
        _changed(calls)
        frame = spark.readStream.format("kafka-log").options(**case["options"]).load(case["path"])
        frame = frame.select("offset")
        query = frame.writeStream.format("parquet").option("checkpointLocation", state)
        query = query.trigger(availableNow=True).start(case["path"] + "-rows")
        try:
            assert query.awaitTermination(100)
        except Exception as error:
            found["error"] = str(error)
        found["metrics"].append(
            [each["sources"][0]["metrics"]["rangesSkipped"] for each in query.recentProgress]
        )
    if "error" in found and not [*Path(case["path"] + "-rows").glob("*.parquet")]:
        return found
    found["rows"] = sorted(row[0] for row in spark.read.parquet(case["path"] + "-rows").collect())
    return found


def main() -> None:
    import kodec.pipeline.spark
    from kodec.pipeline import session

    if sys.argv[1:]:
        kodec.pipeline.spark.JAR = Path(sys.argv[1])
    spark = session("local[2]")
    found = []
    for case in json.load(sys.stdin):
        case = {"options": {}, "where": "true", "meanwhile": [], "how": "rows"} | case
        try:
            found.append((_stream if case["how"] == "stream" else _rows)(spark, case))
        except Exception as error:
            # of an error of Spark's
            parameters = getattr(error, "getMessageParameters", dict)() or {}
            found.append({"error": str(error), "cause": parameters.get("cause")})
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    # of this folder nothing is to be imported
    sys.path.remove(str(Path(__file__).parent))
    main()
