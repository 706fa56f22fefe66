"""Reads tables of a lake in Spark, then rewrites and expires them; for `lake_lab.py`.

Usage: spark_lake.py FOLDER JARS                    Prints the rows of each as JSON.
       spark_lake.py FOLDER JARS FORMAT=PATH...     Of these tables, and changes none.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)
COLUMNS = (
    'topic, "partition", "offset", unix_micros("timestamp"), hex(key), hex(value), '
    "transform(headers, each -> named_struct('key', each.key, 'value', hex(each.value)))"
).replace('"', "`")

folder, jars, *others = sys.argv[1:]
settings = {
    "spark.jars": ",".join(map(str, Path(jars).glob("*.jar"))),
    "spark.sql.extensions": ",".join(EXTENSIONS),
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "jdbc",
    "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{folder}/catalog.db",
    "spark.sql.catalog.lake.jdbc.schema-version": "V1",
    "spark.sql.catalog.lake.warehouse": f"file://{folder}",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
if others:
    # an iceberg table by its metadata, a delta table by its folder
    read = [
        spark.read.format(format).load(path) for format, _, path in (each.partition("=") for each in others)
    ]
    rows = [table.select("topic", "partition", "offset") for table in read]
    print(json.dumps([sorted(map(list, each.collect())) for each in rows]))
    sys.exit()
delta = f"delta.`{folder}/delta`"
found = {
    format: [json.loads(row) for row in spark.sql(f"select {COLUMNS} from {table}").toJSON().collect()]
    for format, table in (("iceberg", "lake.kafka.records"), ("delta", delta))
}
records = "table => 'kafka.records'"
spark.sql(f"CALL lake.system.rewrite_data_files({records}, options => map('rewrite-all', 'true'))")
later = "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"
spark.sql(f"CALL lake.system.expire_snapshots({records}, {later})")
spark.sql(f"OPTIMIZE {delta}")
spark.sql(f"VACUUM {delta} RETAIN 0 HOURS")
print(json.dumps({format: [list(row.values()) for row in rows] for format, rows in found.items()}))
