"""Tries the Maven artifact as a user of Spark does: resolved by `--packages`, without kodec in Python.

Usage: packages.py REPOSITORY VERSION LOGS   (a folder that release/maven.sh has deployed to; needs pyspark)
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

repository, version, logs = sys.argv[1:]
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
with tempfile.TemporaryDirectory() as ivy:
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.jars.packages", f"org.kodec:kodec-spark:{version}")
        .config("spark.jars.repositories", Path(repository).absolute().as_uri())
        .config("spark.jars.ivy", ivy)
        .getOrCreate()
    )
    frame = spark.read.format("kafka-log").option("subscribe", "codec-zstd").load(logs)
    count = frame.where("value IS NOT NULL").count()
    assert count > 0
    fetched = sorted(path.name for path in Path(ivy, "jars").iterdir())
    assert fetched == [f"org.kodec_kodec-spark-{version}.jar"], fetched
    print(f"Spark {spark.version}: {fetched[0]}, {count} rows")
    spark.stop()
