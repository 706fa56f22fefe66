"""Reads tables of a lake with DuckDB's own extensions; for `lake_lab.py`.

Usage: duckdb_lake.py FORMAT=PATH...     An iceberg table by its metadata, a delta table by its folder.
Prints the rows of each as a line of JSON.
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

session = duckdb.connect()
for name in ("avro", "iceberg", "delta"):
    (extension,) = Path(duckdb_ext.__path__[0]).rglob(f"{name}.duckdb_extension")
    session.load_extension(str(extension))
for argument in sys.argv[1:]:
    format, _, path = argument.partition("=")
    print(json.dumps(session.execute(f"select {COLUMNS} from {format}_scan(?)", [path]).fetchall()))
