"""Counts the records of each topic of a log directory with Spark SQL; shows which source read it.

Usage: query.py DIRECTORY
"""

from __future__ import annotations

import sys

from kodec.pipeline import served_by
from kodec.pipeline.spark import quiet_session


def main(directory: str) -> None:
    spark = quiet_session("local[*]", app_name="kodec demo")
    frame = spark.read.format("kafka-log").load(directory)
    source = {"jvm": "the JVM", "python": "Python"}[served_by(frame)]
    print(f"{directory}: {frame.count()} records, read by the source in {source}")
    frame.groupBy("topic").count().orderBy("topic").show(5, truncate=False)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
