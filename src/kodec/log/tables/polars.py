"""Logs as a lazy frame of Polars, with conditions pushed down to the log."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from kodec.log.backends.arrow import row_schema
from kodec.log.backends.scan import BATCH_ROWS, EVERY, Scan
from kodec.log.batches.options import LogReadOptions
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Omissions
from kodec.log.reading.ahead import cores
from kodec.log.selection import Selection, offset_range, time_range
from kodec.log.tables.chosen import LogsSource, chosen_list, chosen_logs
from kodec.log.tables.stream import PLACE
from kodec.log.tables.table import scan_selected
from kodec.runtime.dataclass import replace

__all__ = ["lazy_frame"]

# Each with its equivalent for swapped operands.
_COMPARED = {
    operator.ge: operator.le,
    operator.gt: operator.lt,
    operator.le: operator.ge,
    operator.lt: operator.gt,
    operator.eq: operator.eq,
}
_CLOSED = ("both", "left", "right", "none")


def lazy_frame(
    source: LogsSource, selection: Selection, omissions: Omissions | None, threads: int | None, **reading: Any
) -> pl.LazyFrame:
    """See `kodec.scan_polars`."""
    options = LogReadOptions(**reading)
    logs, scan, at_once = chosen_logs(source, selection, options), Scan(row_schema()), threads or cores()
    with scan_selected(logs, None, selection, scan, options, at_once) as everything:
        schema = pl.DataFrame(everything.schema.empty_table()).schema
    account = Omissions() if omissions is None else omissions
    frames = partial(_frames, source, selection, options, at_once, list(schema), account)
    return register_io_source(frames, schema=schema)


def _frames(
    source: LogsSource,
    selection: Selection,
    options: LogReadOptions,
    threads: int,
    known: list[str],
    omissions: Omissions,
    columns: list[str] | None,
    predicate: pl.Expr | None,
    rows: int | None,
    size: int | None,
) -> Iterator[pl.DataFrame]:
    """The interface of a Polars IO source: these columns, rows that pass, at most this many."""
    terms = [] if predicate is None else _terms(predicate)
    needed = dict.fromkeys(known if columns is None else columns)
    if predicate is not None:
        needed |= dict.fromkeys(predicate.meta.root_names())
    logs = [
        log
        for owner, log in chosen_list(source, selection, options, omissions)
        if owner is None or _may_hold(terms, owner)
    ]
    offsets, times = _bounds(terms, "offset", int), _bounds(terms, "timestamp", datetime)
    # a record without a time is at -1 ms
    time_bounds = time_range((EVERY.first if times[0] is None else times[0], times[1]))
    narrowed = replace(selection.narrowed(offset_range(offsets), time_bounds), topics=None, partitions=None)
    selected, scan = chosen_logs(logs, narrowed, options), Scan(row_schema(), batch_rows=size or BATCH_ROWS)
    reader = scan_selected(selected, list(needed), narrowed, scan, options, threads)
    remaining = rows
    with reader, ExitStack() as ended:
        ended.callback(lambda: omissions.extend(reader.omissions))
        for batch in reader:
            frame: Any = pl.from_arrow(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            frame = frame.select(known if columns is None else columns)
            if remaining is not None:
                frame = frame.head(remaining)
                remaining -= frame.height
            yield frame
            if remaining == 0:
                return


def _terms(predicate: pl.Expr) -> list[pl.Expr]:
    """The conditions that must all hold."""
    operands = predicate.meta.pop()
    if len(operands) == 2:
        right, left = operands
        if predicate.meta.eq(left & right) or predicate.meta.eq(left.and_(right)):
            return [*_terms(left), *_terms(right)]
    return [predicate]


def _may_hold(terms: list[pl.Expr], owner: TopicPartition) -> bool:
    """Whether rows of a topic-partition may pass: only conditions on topic and partition are evaluated."""
    row = pl.DataFrame({"topic": [owner.topic], "partition": [owner.partition]}).cast({"partition": pl.Int32})
    known = [term for term in terms if set(term.meta.root_names()) <= set(PLACE)]
    return row.filter(*known).height > 0 if known else True


def _bounds(terms: list[pl.Expr], name: str, kind: type) -> tuple[Any, Any]:
    """The first and the last value of a column that may pass; None: unbounded."""
    firsts: list[Any] = []
    lasts: list[Any] = []
    for term in terms:
        first, last = _bounds_of(term, pl.col(name), kind)
        firsts += [] if first is None else [first]
        lasts += [] if last is None else [last]
    return max(firsts, default=None), min(lasts, default=None)


def _bounds_of(term: pl.Expr, column: pl.Expr, kind: type) -> tuple[Any, Any]:
    """The range that a comparison with constants allows for a column; possibly too wide."""
    operands = term.meta.pop()[::-1]
    if not any(operand.meta.eq(column) for operand in operands):
        return None, None
    values = [None if operand.meta.root_names() else pl.select(operand).item() for operand in operands]
    if len(operands) == 2:
        index = 0 if operands[0].meta.eq(column) else 1
        value = values[1 - index]
        for compare, mirrored in _COMPARED.items():
            if isinstance(value, kind) and term.meta.eq(compare(*operands)):
                operation = compare if index == 0 else mirrored
                first = value if operation in (operator.ge, operator.gt, operator.eq) else None
                return first, value if operation in (operator.le, operator.lt, operator.eq) else None
    elif len(operands) == 3 and all(isinstance(value, kind) for value in values[1:]):
        for closed in _CLOSED:
            if term.meta.eq(column.is_between(operands[1], operands[2], closed=closed)):
                return values[1], values[2]
    return None, None
