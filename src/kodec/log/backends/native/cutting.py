"""Finds where to cut the rows of an Arrow batch into batches of a log, in whole columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kodec.log.batches.encode import MAX_DELTA, OVERHEAD, OVERHEAD_OF_HEADER
from kodec.log.batches.options import EncodeOptions
from kodec.log.batches.records import TimestampType

__all__ = ["Cut", "most_bytes"]

_CREATE, _APPEND = int(TimestampType.CREATE_TIME), int(TimestampType.LOG_APPEND_TIME)
# created once, with their types: Arrow would first infer the type of a plain number, which takes longer
_OVERHEAD, _OVERHEAD_OF_HEADER = pa.scalar(OVERHEAD, pa.int64()), pa.scalar(OVERHEAD_OF_HEADER, pa.int64())


class Cut:
    """Where rows are cut into batches: (first, stop) of each, the last one may be incomplete."""

    def __init__(self, rows: Any, options: EncodeOptions) -> None:
        self.rows = rows
        self.offsets = _numbers(rows["offset"])
        self.timestamps = _numbers(rows["timestamp"])
        self.kinds = _numbers(rows["timestamp_type"])
        self.most_bytes = options.batch_bytes
        # if all rows together fit one batch, the size of each is not needed
        self.sizes = _numbers(pc.cumulative_sum(_sizes(rows))) if most_bytes(rows) > self.most_bytes else None
        self.changes = _changes(rows)
        self.most_rows = options.batch_records

    def __iter__(self) -> Iterator[tuple[int, int]]:
        count = self.rows.num_rows
        first = 0
        while first < count:
            stop = count
            if self.sizes is not None:
                before = self.sizes[first - 1] if first else 0
                stop = bisect_right(self.sizes, before + self.most_bytes, first + 1, count)
            if self.most_rows is not None:
                stop = min(stop, first + max(self.most_rows, 1))
            stop = bisect_right(self.offsets, self.offsets[first] + MAX_DELTA, first + 1, stop)
            change = bisect_right(self.changes, first)
            if change < len(self.changes):
                stop = min(stop, self.changes[change])
            yield first, stop
            first = stop


def _numbers(column: Any) -> memoryview:
    """The numbers of a column without nulls, not copied."""
    width = column.type.bit_width // 8
    start = column.offset * width
    data = memoryview(column.buffers()[1])[start : start + len(column) * width].cast("B")
    return data.cast("q") if width == 8 else data.cast("i")


def most_bytes(rows: Any) -> int:
    """An upper bound of what all rows count for `batch_bytes`, from the sizes of buffers alone."""
    items = rows["headers"].values
    # one by one: of columns that share a buffer it would be counted once
    size = sum(int(column.nbytes) for column in (rows["key"], rows["value"], items.field(0), items.field(1)))
    return size + OVERHEAD * int(rows.num_rows) + OVERHEAD_OF_HEADER * len(items)


def _lengths(column: Any) -> Any:
    return pc.fill_null(pc.binary_length(column), 0).cast(pa.int64())


def _sizes(rows: Any) -> Any:
    """The size of each row towards `batch_bytes`, as in `encode`."""
    sizes = pc.add(pc.add(_lengths(rows["key"]), _lengths(rows["value"])), _OVERHEAD)
    lists = rows["headers"]
    if not len(lists.values):
        return sizes
    items = lists.values
    header_sizes = pc.add(pc.add(_lengths(items.field(0)), _lengths(items.field(1))), _OVERHEAD_OF_HEADER)
    total = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(header_sizes)])
    bounds = pc.take(total, lists.offsets)
    return pc.add(sizes, pc.subtract(bounds.slice(1), bounds.slice(0, len(bounds) - 1)))


def _changes(rows: Any) -> list[int]:
    """The rows at which a batch has to end: where the timestamp type or the append time changes."""
    count = rows.num_rows
    if count < 2:
        return []
    kinds, times = rows["timestamp_type"], rows["timestamp"]
    most = pc.max(kinds).as_py()
    if most == _CREATE:
        return []

    def differs(column: Any) -> Any:
        return pc.not_equal(column.slice(1), column.slice(0, count - 1))

    appended = pc.equal(kinds.slice(1), pa.scalar(_APPEND, kinds.type))
    changes = pc.or_(differs(kinds), pc.and_(appended, differs(times)))
    return [index + 1 for index in pc.indices_nonzero(changes).to_pylist()]
