"""Queries put to the source for the JVM in any Spark, which needs no kodec: prints what each answers as JSON.

Usage: spark_rows.py JAR LOGS DIRECTORY, which may be written to.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

HEADERS = "transform(headers, each -> struct(each.key, hex(each.value) AS value)) AS headers"
COLUMNS = ("hex(key) AS key", "hex(value) AS value", "topic", "partition", "offset", "timestampType")
MILLIS = "unix_millis(timestamp) AS timestamp"
QUERIES: dict[str, dict[str, str]] = {
    "all": {"includeInternal": "true", "includeHeaders": "true"},
    "tasks": {"maxPartitionBytes": "2k"},
    "read_committed": {"kafka.isolation.level": "read_committed", "includeControlRecords": "true"},
    "offsets": {"subscribe": "segments", "startingOffsets": '{"segments":{"0":105}}'},
    "times": {"subscribePattern": "codec-.*", "startingTimestamp": "1700000000007"},
    "parts": {"subscribe": "codec-zstd", "maxRecordsPerPartition": "3"},
}


def rows(frame: DataFrame, *more: str) -> list[Any]:
    return [row.asDict(recursive=True) for row in frame.selectExpr(*COLUMNS, MILLIS, *more).collect()]


def answers(spark: SparkSession, logs: Path, work: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, options in QUERIES.items():
        frame = spark.read.format("kafka-log").options(**options).load(str(logs))
        found[name] = rows(frame, *([HEADERS] if "includeHeaders" in options else []))
    frame = spark.read.format("kafka-log").load(str(logs))
    found["count"] = frame.groupBy().count().collect()[0][0]
    found["filtered"] = rows(frame.where("topic = 'compacted' AND offset > 5").limit(4))
    try:
        spark.read.format("kafka-log").option("mode", "quarantine").load(str(logs)).count()
    except Exception as error:
        # which needs kodec
        found["quarantine"] = "this also needs the source in Python" in str(error) or str(error)
    found["sql"] = spark.sql(f"SELECT count(*) FROM `kafka-log`.`{logs}`").collect()[0][0]
    spark.sql(f"CREATE TEMPORARY VIEW logged USING `kafka-log` OPTIONS (path '{logs}', subscribe 'segments')")
    found["view"] = spark.sql("SELECT count(*) FROM logged").collect()[0][0]
    try:
        frame.where("offset = 'x'").count()
        spark.read.format("kafka-log").option("subscribe", "nowhere").load(str(logs)).count()
    except Exception as error:
        found["error"] = "nowhere" in str(error) or str(error)
    stream = spark.readStream.format("kafka-log").options(
        startingOffsets="earliest", maxOffsetsPerTrigger="900"
    )
    query = (
        stream.load(str(logs))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(work / "state"))
        .trigger(availableNow=True)
        .start(str(work / "out"))
    )
    query.awaitTermination()
    found["stream"] = rows(spark.read.parquet(str(work / "out")))
    return found


def main(jar: str, logs: Path, work: Path) -> None:
    config = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.jars": jar,
        "spark.sql.catalog.kafka-log": "org.kodec.spark.LogCatalog",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in config.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    print(json.dumps({"spark": spark.version, **answers(spark, logs, work)}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
