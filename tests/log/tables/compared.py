"""What tables hold and what readers give, in one shape that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

import kodec
from kodec.errors import FormatError
from tests.data import DATA

ROOT = DATA
LOGS = sorted([*ROOT.rglob("*.log"), *ROOT.glob("differential/*.bin")])

NAMES = ["offset", "timestamp", "timestamp_type", "key", "value", "headers"]
Row = tuple[Any, ...]


def shown(key: str) -> str:
    """A header's key as a string column holds it."""
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def row_of(record: kodec.Record) -> Row:
    headers = [(shown(key), value) for key, value in record.headers]
    kind = record.timestamp_type.value
    return (record.offset, record.timestamp, kind, record.key, record.value, headers)


def rows_of(table: pa.Table | pa.RecordBatch) -> list[Row]:
    """The rows of a table, whose timestamps may be beyond what Python's own type can hold."""
    columns = {name: table.column(name) for name in table.schema.names}
    if "timestamp" in columns:
        columns["timestamp"] = columns["timestamp"].cast(pa.int64())
    lists = {name: column.to_pylist() for name, column in columns.items()}
    if "headers" in lists:
        lists["headers"] = [[(one["key"], one["value"]) for one in headers] for headers in lists["headers"]]
    return list(zip(*lists.values(), strict=True)) if lists else [()] * table.num_rows


def facts(error: FormatError | None) -> Row | None:
    """All that an error says."""
    return None if error is None else (type(error), str(error), *sorted(vars(error).items()))


def outcome(reader: Any, rows: Callable[[Any], Iterable[Row]]) -> dict[str, Any]:
    """What came out of a reader before it ended or failed, and all its reports about that."""
    found: list[Row] = []
    failed = None
    try:
        for item in reader:
            found.extend(rows(item))
    except FormatError as error:
        failed = error
    return {
        "rows": found,
        "error": facts(failed),
        "position": reader.position,
        "torn": reader.torn_tail,
        "skipped": [(one.start, one.end, facts(one.error)) for one in reader.skipped],
    }


def by_records(source: Any, **options: Any) -> dict[str, Any]:
    return outcome(kodec.read_records(source, **options), lambda record: [row_of(record)])


def by_table(source: Any, **options: Any) -> dict[str, Any]:
    return outcome(kodec.scan_table(source, **options), checked)


def checked(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch that Arrow finds nothing wrong with."""
    batch.validate(full=True)
    return rows_of(batch)
