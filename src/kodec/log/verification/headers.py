"""The headers of a segment's batches as Arrow batches, if all is in order, and their totals."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kodec.log import kernel
from kodec.log.batches.frame import LISTS
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import TimestampType
from kodec.log.directories.epochs import EpochRun, EpochRuns
from kodec.log.directories.segment import BatchHeader, Segment
from kodec.runtime.errors import FormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["HeaderTables", "distinct", "header_tables", "sum_of", "table_of", "take_epochs", "times_of"]

HeaderTables: TypeAlias = "list[pa.RecordBatch]"
_COLUMNS = (
    "position",
    "size",
    "magic",
    "codec",
    "base_offset",
    "last_offset",
    "count",
    "base_timestamp",
    "max_timestamp",
    "timestamp_type",
    "partition_leader_epoch",
    "producer_id",
    "is_transactional",
    "is_control",
    "delete_horizon",
)
_MOST_ROWS = 1 << 20


def header_tables(segment: Segment) -> HeaderTables | None:
    """The headers of all batches; None if they must be checked one by one.

    That is the case if anything is wrong, for a batch of magic 0 or 1, without the native kernel or
    pyarrow, and if there are too many to hold in memory.
    """
    if kernel.backend() != "native" or importlib.util.find_spec("pyarrow") is None:
        return None
    from kodec.log.backends.arrow import batch_schema, columns_of
    from kodec.log.backends.scan import Scan
    from kodec.log.tables.reader import file_headers

    scan = Scan(columns_of(batch_schema(), _COLUMNS))
    tables: HeaderTables = []
    rows, last, end = 0, segment.base_offset - 1, 0
    with suppress(FormatError, OSError):
        for table in file_headers(segment.path, scan, LogReadOptions(limits=segment.limits)):
            rows += len(table)
            if rows > _MOST_ROWS or not _in_order(table, last):
                return None
            last = table["last_offset"][-1].as_py()
            end = table["position"][-1].as_py() + table["size"][-1].as_py()
            tables.append(table)
        return tables if end == segment.path.stat().st_size else None
    return None


def _in_order(table: pa.RecordBatch, last: int) -> bool:
    """Whether all are lists of records, and their offsets ascend from above `last` on."""
    import pyarrow.compute as pc

    first, final = table["base_offset"], table["last_offset"]
    return (
        LISTS.issuperset(distinct(table, "magic"))
        and first[0].as_py() > last
        and pc.all(pc.less_equal(first, final)).as_py()
        and pc.all(pc.greater(first[1:], final[:-1]), min_count=0).as_py()
    )


def table_of(heads: Sequence[BatchHeader]) -> pa.RecordBatch:
    """Headers that were checked one by one."""
    import pyarrow as pa

    from kodec.log.backends.arrow import batch_schema, columns_of

    schema = columns_of(batch_schema(), _COLUMNS)
    rows = [
        {name: getattr(head, name) for name in _COLUMNS} | {"timestamp_type": head.timestamp_type.value}
        for head in heads
    ]
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def sum_of(table: pa.RecordBatch, name: str) -> int:
    """The sum of a column; nulls count as 0."""
    import pyarrow.compute as pc

    total: int = pc.sum(table[name], min_count=0).as_py()
    return total


def distinct(table: pa.RecordBatch, name: str) -> list[Any]:
    """The values of a column, each once."""
    values: list[Any] = table[name].unique().to_pylist()
    return values


def times_of(table: pa.RecordBatch) -> Iterator[int]:
    """The oldest and newest times that headers of magic 2 have for records, in ms; nothing for none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    newest, base = (table[name].cast(pa.int64()) for name in ("max_timestamp", "base_timestamp"))
    created = pc.equal(table["timestamp_type"], TimestampType.CREATE_TIME.value)
    # as in the check one by one: a base that is a delete horizon, or of another clock, is none
    base = base.filter(pc.and_(created, pc.is_null(table["delete_horizon"])))
    for times in (newest, base):
        ends = pc.min_max(times.filter(pc.greater_equal(times, 0))).as_py()
        yield from (end for end in ends.values() if end is not None)


def take_epochs(runs: EpochRuns, path: Path, table: pa.RecordBatch) -> None:
    """The leader epochs of headers of magic 2."""
    import pyarrow.compute as pc

    encoded = pc.run_end_encode(table["partition_leader_epoch"])
    start = 0
    for epoch, end in zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True):
        if epoch != -1:
            position, first = (table[name][start].as_py() for name in ("position", "base_offset"))
            last = table["last_offset"][end - 1].as_py()
            runs.take_run(EpochRun(path, position, epoch, first, last, end - start))
        start = end
