"""Tries `register` over Spark Connect: a server on this machine, which gets the jar from the client.

Usage: connect.py LOGS   (with the Python it is installed for, which has pyspark[connect])
"""

import os
import sys

from pyspark.sql import SparkSession

from kodec.pipeline import register, served_by
from kodec.pipeline.java import java_home

os.environ["JAVA_HOME"] = str(java_home())
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
register(spark)
frame = spark.read.format("kafka-log").option("subscribe", "segments").load(sys.argv[1])
assert served_by(frame) == "jvm"
rows = frame.where("offset >= 100").select("offset").collect()
assert 0 < len(rows) < frame.count()
assert spark.sql(f"SELECT count(*) FROM `kafka-log`.`{sys.argv[1]}`").collect()[0][0] > frame.count()
decoded = spark.read.format("kafka-log").options(includeDecoded="true", subscribe="__consumer_offsets")
assert served_by(decoded.load(sys.argv[1])) == "python"
print(f"Spark Connect {spark.version}: {frame.count()} rows by the jar that the client sent")
spark.stop()
