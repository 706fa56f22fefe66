"""Reads tables of a lake with DuckDB's own extensions; for `lake_lab.py`.

Usage: duckdb_lake.py METADATA FOLDER      METADATA is that of an Iceberg table, FOLDER a Delta table.
Prints the rows of each as JSON.
"""

import json
import sys
from pathlib import Path

import duckdb
import duckdb_ext

COLUMNS = (
    'topic, "partition", "offset", epoch_us("timestamp"), hex(key), hex(value), '
    "list_transform(headers, lambda each: {'key': each.key, 'value': hex(each.value)})"
)

metadata, folder = sys.argv[1:]
session = duckdb.connect()
for name in ("avro", "iceberg", "delta"):
    (extension,) = Path(duckdb_ext.__path__[0]).rglob(f"{name}.duckdb_extension")
    session.load_extension(str(extension))
found = {
    format: session.execute(f"select {COLUMNS} from {scan}(?)", [path]).fetchall()
    for format, scan, path in (("iceberg", "iceberg_scan", metadata), ("delta", "delta_scan", folder))
}
print(json.dumps(found))
