"""Tries the Spark source of an installed kodec: the wheel carries that for the JVM, and a session finds it.

Usage: spark.py LOGS   (with the Python it is installed for; the directory does not matter)
"""

import sys

from kodec.pipeline import served_by, session
from kodec.pipeline.spark import JAR

assert JAR.is_file() and "site-packages" in JAR.parts, JAR
spark = session("local[1]")
frame = spark.read.format("kafka-log").option("subscribe", "codec-zstd").load(sys.argv[1])
assert served_by(frame) == "jvm"
assert frame.count() == frame.selectExpr("count(value) + count_if(value IS NULL)").collect()[0][0] > 0
assert spark.sql(f"SELECT count(*) FROM `kafka-log`.`{sys.argv[1]}`").collect()[0][0] > frame.count()
print(f"Spark {spark.version}: {JAR.name}, {JAR.stat().st_size // 1024} KB, {frame.count()} rows")
spark.stop()
