"""Logs as a pyarrow dataset for DuckDB and others; filters and columns are pushed down to the log."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from kodec.log.backends.arrow import row_schema
from kodec.log.backends.scan import BATCH_ROWS, EVERY, Range, Scan
from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Omissions
from kodec.log.reading.ahead import cores
from kodec.log.selection import Selection
from kodec.log.tables.chosen import LogSource, LogsSource, chosen_list, chosen_logs
from kodec.log.tables.count import count_rows
from kodec.log.tables.reader import TableReader
from kodec.log.tables.stream import placed_schema
from kodec.log.tables.table import scan_selected
from kodec.runtime.dataclass import replace

__all__ = ["LogDataset"]

_EVERYTHING = Selection()
_MOST = 2**63 - 1
# Also for times, in ms: outside of it there is no bound; fits Arrow's microseconds.
_MOST_TIME = 2**53


class LogDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types here
    """Logs as a `pyarrow.dataset.Dataset`; see `log_dataset`. Each query reads their current state.

    Filters on topic, partition, offset and timestamp exclude logs, segments and batches from being
    read; only the query's columns are built. The methods of `Dataset` that need fragments or
    return another dataset, raise NotImplementedError.

    Attributes:
        omissions: what the queries so far did not return.
    """

    def __init__(
        self,
        source: LogsSource,
        selection: Selection = _EVERYTHING,
        *,
        check_crc: bool = True,
        control: bool = False,
        on_error: OnError = "raise",
        limits: Limits = Limits(),
        threads: int | None = None,
    ) -> None:
        self.omissions = Omissions()
        # not that of Dataset, which cannot be called: it wraps datasets of C++
        self._source = source
        self._selection = selection
        self._options = LogReadOptions(check_crc=check_crc, control=control, on_error=on_error, limits=limits)
        self._threads = threads or cores()
        self._selected_logs()

    def __repr__(self) -> str:
        return f"<LogDataset {self._source!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _dataset, (self._source, self._selection, self._options, self._threads)

    @property
    def schema(self) -> pa.Schema:
        """topic, partition and the columns of `row_schema`."""
        return placed_schema()

    def _selected_logs(self) -> list[tuple[TopicPartition | None, LogSource]]:
        return chosen_list(self._source, self._selection, self._options, self.omissions)

    def scanner(
        self, columns: Any = None, filter: Any = None, batch_size: int | None = None, **_: Any
    ) -> ds.Scanner:
        """A scanner, as from `Dataset.scanner`; its other arguments apply to files and have no effect."""
        schema = self.schema
        expressions = list(columns.values()) if isinstance(columns, dict) else []
        conditions = [condition for condition in (filter, *expressions) if condition is not None]
        names = [
            name
            for name in schema.names
            if columns is None
            or (not isinstance(columns, dict) and name in columns)
            or any(_needs(condition, schema, name) for condition in conditions)
        ]
        logs = [
            log
            for owner, log in self._selected_logs()
            if filter is None or _may_hold(schema, filter, _common_facts(owner))
        ]
        rows = self._rows(
            logs,
            names,
            _bounds(schema, filter, "offset", 0, _MOST),
            _bounds(schema, filter, "timestamp", -_MOST_TIME, _MOST_TIME),
            batch_size or BATCH_ROWS,
        )
        return _Scanner(rows.schema, self._with_omissions(rows), columns, filter)

    def _rows(
        self, logs: list[LogSource], names: list[str], offsets: Range, times: Range, batch_rows: int
    ) -> TableReader:
        selection = replace(self._selection.narrowed(offsets, times), topics=None, partitions=None)
        selected = chosen_logs(logs, selection, self._options)
        scan = Scan(row_schema(), batch_rows=batch_rows)
        return scan_selected(selected, names, selection, scan, self._options, self._threads)

    def _with_omissions(self, rows: TableReader) -> Generator[pa.RecordBatch, None, None]:
        try:
            yield from rows
        finally:
            self.omissions.extend(rows.omissions)

    def count_rows(self, filter: Any = None, **scan_options: Any) -> int:
        """The number of rows; without a filter from batch headers, see `kodec.count_rows`."""
        if filter is not None:
            return int(self.scanner([], filter, **scan_options).count_rows())
        options, selection = self._options, self._selection
        return count_rows(
            [log for _, log in self._selected_logs()],
            offsets=selection.offsets,
            timestamps=selection.timestamps,
            isolation=selection.isolation,
            keys=selection.keys,
            control=options.control,
            on_error=options.on_error,
            limits=options.limits,
            threads=self._threads,
            omissions=self.omissions,
        )

    def _unsupported(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("a LogDataset is read-only: use to_table, to_batches or scanner")

    # they would ask a dataset of C++, which there is none
    get_fragments = filter = replace_schema = sort_by = join = join_asof = _unsupported
    partition_expression = property(_unsupported)


class _Scanner(ds.Scanner):  # type: ignore[misc]  # pyarrow has no types here
    """Batches that whoever asks for them reads, and no thread of Arrow's.

    Arrow's own scanner takes batches ahead of the query. Where a query takes some rows only, its threads
    would still do so when Python ends, which aborts the process, or hangs. Here Arrow filters and projects
    each batch.
    """

    def __init__(
        self, schema: pa.Schema, batches: Generator[pa.RecordBatch, None, None], columns: Any, filter: Any
    ) -> None:
        self._schema = schema
        self._batches = batches
        self._wanted = {"columns": columns, "filter": filter}

    def _scan(self, batches: list[pa.RecordBatch]) -> ds.Scanner:
        # the readers' own names for columns and filters, over batches that have what these need
        return ds.Scanner.from_batches(batches, schema=self._schema, use_threads=False, **self._wanted)

    @property
    def dataset_schema(self) -> pa.Schema:
        return self._schema

    @property
    def projected_schema(self) -> pa.Schema:
        return self._scan([]).projected_schema

    def to_batches(self) -> Generator[pa.RecordBatch, None, None]:
        with closing(self._batches) as batches:
            for batch in batches:
                yield from self._scan([batch]).to_batches()

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_table(self) -> pa.Table:
        return pa.Table.from_batches(self.to_batches(), self.projected_schema)

    def head(self, num_rows: int) -> pa.Table:
        parts, remaining_rows = [], num_rows
        with closing(self.to_batches()) as batches:
            while remaining_rows > 0 and (batch := next(batches, None)) is not None:
                parts.append(batch.slice(0, remaining_rows))
                remaining_rows -= parts[-1].num_rows
        return pa.Table.from_batches(parts, self.projected_schema)

    def count_rows(self) -> int:
        return sum(batch.num_rows for batch in self.to_batches())

    def take(self, indices: Any) -> pa.Table:
        return self.to_table().take(indices)

    def scan_batches(self) -> NoReturn:
        raise NotImplementedError("batches of a LogDataset have no fragments: use to_batches")


def _dataset(source: LogsSource, selection: Selection, options: LogReadOptions, threads: int) -> LogDataset:
    return LogDataset(
        source,
        selection,
        check_crc=options.check_crc,
        control=options.control,
        on_error=options.on_error,
        limits=options.limits,
        threads=threads,
    )


def _common_facts(owner: TopicPartition | None) -> Any:
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


def _bounds(schema: pa.Schema, filter: Any, name: str, least: int, most: int) -> Range:
    """The values of a column that may pass a filter."""
    if filter is None or not _needs(filter, schema, name):
        return EVERY
    column, kind = pc.field(name), schema.field(name).type

    def below(value: int) -> bool:
        return _may_hold(schema, filter, column <= pa.scalar(value, kind))

    def above(value: int) -> bool:
        return _may_hold(schema, filter, column >= pa.scalar(value, kind))

    if not below(most) or not above(least):
        return EVERY
    return Range(
        EVERY.first if below(least) else _smallest(below, least, most),
        EVERY.last if above(most) else -_smallest(lambda value: above(-value), -most, -least),
    )


def _smallest(holds: Callable[[int], bool], least: int, most: int) -> int:
    """The smallest number for which something holds, that does not for `least`, does for `most`, and from one
    number on."""
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if holds(middle) else (middle, most)
    return most
