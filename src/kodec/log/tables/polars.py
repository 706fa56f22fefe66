"""Logs as a lazy frame of Polars, with conditions pushed down to the log."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from kodec.log.backends.scan import BATCH_ROWS
from kodec.log.batches.records import Limits
from kodec.log.files.listing import TopicPartition
from kodec.log.tables.chosen import LogsSource, chosen_list
from kodec.log.tables.stream import PLACE
from kodec.log.tables.table import scan_table

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
    source: LogsSource,
    topics: Collection[str] | str | None,
    partitions: Collection[int] | int | None,
    **reading: Any,
) -> pl.LazyFrame:
    """See `kodec.scan_polars`."""
    with scan_table(source, topics=topics, partitions=partitions, **reading) as everything:
        schema = pl.DataFrame(everything.schema.empty_table()).schema
    found = partial(_frames, source, topics, partitions, reading, list(schema))
    return register_io_source(found, schema=schema)


def _frames(
    source: LogsSource,
    topics: Collection[str] | str | None,
    partitions: Collection[int] | int | None,
    reading: dict[str, Any],
    known: list[str],
    columns: list[str] | None,
    predicate: pl.Expr | None,
    rows: int | None,
    size: int | None,
) -> Iterator[pl.DataFrame]:
    """The interface of a Polars IO source: these columns, rows that pass, at most this many."""
    terms = [] if predicate is None else _terms(predicate)
    wanted = dict.fromkeys(known if columns is None else columns)
    if predicate is not None:
        wanted |= dict.fromkeys(predicate.meta.root_names())
    limits = reading.get("limits", Limits())
    logs = [
        log
        for owner, log in chosen_list(source, topics, partitions, limits)
        if owner is None or _may_hold(terms, owner)
    ]
    found = scan_table(
        logs,
        list(wanted),
        offsets=_bounds(terms, "offset", int),
        timestamps=_bounds(terms, "timestamp", datetime),
        **reading,
        batch_rows=size or BATCH_ROWS,
    )
    left = rows
    with found:
        for batch in found:
            frame: Any = pl.from_arrow(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            frame = frame.select(known if columns is None else columns)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame
            if left == 0:
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


def _bounds(terms: list[pl.Expr], name: str, kind: type) -> tuple[Any, Any] | None:
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
    if not any(each.meta.eq(column) for each in operands):
        return None, None
    values = [None if each.meta.root_names() else pl.select(each).item() for each in operands]
    if len(operands) == 2:
        at = 0 if operands[0].meta.eq(column) else 1
        value = values[1 - at]
        for compare, mirrored in _COMPARED.items():
            if isinstance(value, kind) and term.meta.eq(compare(*operands)):
                operation = compare if at == 0 else mirrored
                first = value if operation in (operator.ge, operator.gt, operator.eq) else None
                return first, value if operation in (operator.le, operator.lt, operator.eq) else None
    elif len(operands) == 3 and all(isinstance(each, kind) for each in values[1:]):
        for closed in _CLOSED:
            if term.meta.eq(column.is_between(operands[1], operands[2], closed=closed)):
                return values[1], values[2]
    return None, None
