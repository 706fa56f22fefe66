"""Prints the first rows of each topic of an export, as a table; the last step of `make demo`.

Usage: show_export.py DIRECTORY [ROWS]
"""

from __future__ import annotations

import sys
from datetime import datetime

import pyarrow as pa
import pyarrow.dataset as ds
from rich import box
from rich.console import Console
from rich.table import Table

NUMBERS = ["partition", "offset"]
WIDEST = 28
COLUMNS = ["topic", "partition", "offset", "timestamp", "key", "value"]


def text(value: object) -> str:
    """A cell for people: bytes as text with escapes, null different from empty, long ones cut."""
    if value is None:
        return "null"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    shown = str(value)
    shown = shown if shown.isprintable() else repr(shown)[1:-1]
    return shown if len(shown) <= WIDEST else f"{shown[: WIDEST - 1]}…"


def main(directory: str, rows: int = 2) -> None:
    folders = pa.schema([("topic", pa.string()), ("partition", pa.int32())])
    data = ds.dataset(directory, format="parquet", partitioning=ds.partitioning(folders, flavor="hive"))
    title = f"{directory}: {data.count_rows()} rows, the first {rows} of each topic"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, no_wrap=True, justify="right" if name in NUMBERS else "left")
    topics = sorted(
        {str(ds.get_partition_keys(part.partition_expression)["topic"]) for part in data.get_fragments()}
    )
    for topic in topics:
        head = data.filter(ds.field("topic") == topic).head(rows, columns=COLUMNS)
        for row in head.to_pylist():
            table.add_row(*(text(row[name]) for name in COLUMNS))
    # Output that is not a terminal has no width limit.
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
