"""Logs as a pyarrow dataset for DuckDB and others; filters and columns are pushed down to the log."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from kodec.log.backends.scan import BATCH_ROWS
from kodec.log.batches.records import Limits
from kodec.log.files.listing import TopicPartition
from kodec.log.tables.chosen import LogSource, LogsSource, chosen_list
from kodec.log.tables.count import count_rows
from kodec.log.tables.stream import placed_schema
from kodec.log.tables.table import Bounds, scan_table

__all__ = ["LogDataset"]

_MOST = 2**63 - 1
# Also for times, in ms: outside of it there is no bound; fits Arrow's microseconds.
_MOST_TIME = 2**53


class LogDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types here
    """Logs as a `pyarrow.dataset.Dataset`; see `log_dataset`. Each query reads their current state.

    Filters on topic, partition, offset and timestamp exclude logs, segments and batches from being
    read; only the query's columns are built. The methods of `Dataset` that need fragments or
    return another dataset, raise NotImplementedError.
    """

    def __init__(
        self,
        source: LogsSource,
        topics: Collection[str] | str | None = None,
        partitions: Collection[int] | int | None = None,
        **reading: Any,
    ) -> None:
        # not that of Dataset, which cannot be called: it wraps datasets of C++
        self._source = source
        self._choice = topics, partitions
        self._reading = reading
        self._chosen()

    def __repr__(self) -> str:
        return f"<LogDataset {self._source!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self._source, self._choice, self._reading)

    @property
    def schema(self) -> pa.Schema:
        """topic, partition and the columns of `row_schema`."""
        return placed_schema()

    def _chosen(self) -> list[tuple[TopicPartition | None, LogSource]]:
        return chosen_list(self._source, *self._choice, self._reading.get("limits", Limits()))

    def scanner(
        self, columns: Any = None, filter: Any = None, batch_size: int | None = None, **_: Any
    ) -> ds.Scanner:
        """A scanner, as from `Dataset.scanner`; its other arguments apply to files and have no effect."""
        schema = self.schema
        asked = list(columns.values()) if isinstance(columns, dict) else []
        conditions = [each for each in (filter, *asked) if each is not None]
        names = [
            name
            for name in schema.names
            if columns is None
            or (not isinstance(columns, dict) and name in columns)
            or any(_needs(each, schema, name) for each in conditions)
        ]
        logs = [
            log for owner, log in self._chosen() if filter is None or _may_hold(schema, filter, _of(owner))
        ]
        rows = scan_table(
            logs,
            names,
            offsets=_bounds(schema, filter, "offset", 0, _MOST),
            timestamps=_bounds(schema, filter, "timestamp", -_MOST_TIME, _MOST_TIME),
            **self._reading,
            batch_rows=batch_size or BATCH_ROWS,
        )
        # the readers' own names for columns and filters, over batches that have what these need
        reader = pa.RecordBatchReader.from_batches(rows.schema, rows)
        return ds.Scanner.from_batches(reader, columns=columns, filter=filter)

    def count_rows(self, filter: Any = None, **given: Any) -> int:
        """The number of rows; without a filter from batch headers, see `kodec.count_rows`."""
        if filter is not None:
            return int(self.scanner([], filter, **given).count_rows())
        known = ("control", "on_error", "limits", "threads")
        reading = {name: value for name, value in self._reading.items() if name in known}
        return count_rows([log for _, log in self._chosen()], **reading)

    def _unsupported(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("a LogDataset is read-only: use to_table, to_batches or scanner")

    # they would ask a dataset of C++, which there is none
    get_fragments = filter = replace_schema = sort_by = join = join_asof = _unsupported
    partition_expression = property(_unsupported)


def _made(source: LogsSource, choice: tuple[Any, Any], reading: dict[str, Any]) -> LogDataset:
    return LogDataset(source, *choice, **reading)


def _of(owner: TopicPartition | None) -> Any:
    """The facts common to all rows of a topic-partition."""
    topic, partition = pc.field("topic"), pc.field("partition")
    if owner is None:
        return topic.is_null() & partition.is_null()
    return (topic == owner.topic) & (partition == pa.scalar(owner.partition, pa.int32()))


def _may_hold(schema: pa.Schema, filter: Any, known: Any) -> bool:
    """Whether rows for which `known` holds may pass a filter.

    Arrow decides: a fragment with this guarantee, whose file is never opened, is among the dataset's
    fragments for the filter, or is not.
    """
    fragment = _FILES.make_fragment("rows", _SYSTEM, partition_expression=known)
    dataset = ds.FileSystemDataset([fragment], schema, _FILES, _SYSTEM)
    return any(True for _ in dataset.get_fragments(filter=filter))


_FILES, _SYSTEM = ds.IpcFileFormat(), LocalFileSystem()


def _needs(expression: Any, schema: pa.Schema, name: str) -> bool:
    """Whether an expression needs a column."""
    others = pa.schema([field for field in schema if field.name != name])
    try:
        ds.InMemoryDataset(others.empty_table()).scanner(filter=expression.is_valid())
    except pa.ArrowInvalid:
        return True
    return False


def _bounds(schema: pa.Schema, filter: Any, name: str, least: int, most: int) -> Bounds | None:
    """The values of a column that may pass a filter: (first, last), None: unbounded."""
    if filter is None or not _needs(filter, schema, name):
        return None
    column, kind = pc.field(name), schema.field(name).type

    def below(value: int) -> bool:
        return _may_hold(schema, filter, column <= pa.scalar(value, kind))

    def above(value: int) -> bool:
        return _may_hold(schema, filter, column >= pa.scalar(value, kind))

    if not below(most) or not above(least):
        return None
    return (
        None if below(least) else _smallest(below, least, most),
        None if above(most) else -_smallest(lambda value: above(-value), -most, -least),
    )


def _smallest(holds: Callable[[int], bool], least: int, most: int) -> int:
    """The smallest number for which something holds, that does not for `least`, does for `most`, and from one
    number on."""
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if holds(middle) else (middle, most)
    return most
