"""Counts the rows that a table would have, from batch headers where possible."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from kodec.log.arguments import require_integer
from kodec.log.backends.arrow import batch_schema, columns_of, row_schema
from kodec.log.backends.scan import EVERY, Range, Scan
from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits, TimestampType
from kodec.log.directories.segment import Segment
from kodec.log.reading.ahead import cores
from kodec.log.reading.source import Source
from kodec.log.tables.chosen import ChosenLogs, LogsSource, Piece, chosen_logs, one_file
from kodec.log.tables.reader import file_headers, scan_headers, scan_rows
from kodec.log.tables.table import Bounds, scan_table
from kodec.log.tables.times import TimeBounds, time_bounds
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError
from kodec.stores.storage import path_of

__all__ = ["count_rows"]

# A separate thread is worth it for this many bytes of log.
_PART = 128 << 20
_COLUMNS = (
    "position",
    "size",
    "base_offset",
    "last_offset",
    "count",
    "max_timestamp",
    "timestamp_type",
    "is_control",
)


def count_rows(
    source: LogsSource,
    *,
    offsets: Bounds | None = None,
    timestamps: TimeBounds | None = None,
    topics: Collection[str] | str | None = None,
    partitions: Collection[int] | int | None = None,
    control: bool = False,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
    threads: int | None = None,
) -> int:
    """Count the rows of `read_table` with the same arguments.

    Batch headers have the numbers, so little is read. Only compressed batches of v0 and v1 are decoded,
    and those partly within a range; for a time range, each that may have records in it and was stamped by
    producers. Only their checksums are verified. Raises as `scan_table`.

    Args:
        all: as in `scan_table`.

    Returns: the number of rows.
    Raises: as `scan_table`.

    Example:
        >>> import kodec
        >>> kodec.count_rows("/data/kafka-logs/orders-0", offsets=(10, 19))
        10
    """
    if threads is not None:
        require_integer("threads", threads, 1)
    chosen = chosen_logs(source, topics, partitions, limits)
    if not isinstance(chosen, (ChosenLogs, str, Path, bytes, bytearray, memoryview)):
        rows = scan_table(
            chosen,
            ["offset"],
            offsets=offsets,
            timestamps=timestamps,
            control=control,
            on_error=on_error,
            limits=limits,
        )
        return sum(batch.num_rows for batch in rows)
    options = LogReadOptions(control=control, on_error=on_error, limits=limits)
    count = _Count(Range.of("offsets", offsets), Range.of("timestamps", time_bounds(timestamps)), options)
    if isinstance(chosen, (str, Path)) and path_of(chosen).is_file():
        chosen = one_file(chosen, limits)
    if not isinstance(chosen, ChosenLogs):
        return count.of(chosen)
    at_once = threads or cores()
    parts = [
        (piece, start, stop)
        for piece in chosen.pieces(count.offsets)
        for start, stop in _parts(piece, at_once, limits)
    ]
    with ThreadPoolExecutor(at_once, "kodec-count") as pool:
        return sum(pool.map(lambda part: count.part(*part), parts))


def _parts(piece: Piece, most: int, limits: Limits) -> Iterator[tuple[int, int | None]]:
    """A large segment in parts, from one batch up to another one, if its index locates them."""
    files, start = piece.files, 0
    if files.index is not None and files.size >= 2 * _PART:
        number = min(most, files.size // _PART)
        with suppress(FormatError), Segment(files, limits) as segment:
            step = (segment.next_offset - files.base_offset) // number
            for each in range(1, number):
                place = segment.find(files.base_offset + each * step)
                if place is not None and place.position > start:
                    yield start, place.position
                    start = place.position
    yield start, None


@dataclass(frozen=True, slots=True)
class _Count:
    offsets: Range
    timestamps: Range
    options: LogReadOptions

    def part(self, piece: Piece, start: int, stop: int | None) -> int:
        """Count the rows of these bytes of a segment."""
        heads = file_headers(piece.files.log, self._scan, self.options, start, stop)
        return self._rows(piece.files.log, heads, piece.first)

    def of(self, source: Source) -> int:
        """Count the rows of one log."""
        return self._rows(source, scan_headers(source, self._scan, self.options), 0)

    @property
    def _scan(self) -> Scan:
        return Scan(columns_of(batch_schema(), _COLUMNS))

    def _rows(self, source: Source, heads: Iterable[Any], first: int) -> int:
        """The rows of a source from the offset `first` on, given its headers."""
        import pyarrow.compute as pc

        wanted = Range(max(self.offsets.first, first), self.offsets.last)
        partly: list[tuple[int, int]] = []
        number = 0
        for batch in heads:
            whole = self._whole(batch, wanted)
            number += pc.sum(batch["count"].filter(whole)).as_py() or 0
            rest = pc.and_(pc.invert(whole), self._possible(batch, wanted))
            positions, sizes = (batch[name].filter(rest).to_pylist() for name in ("position", "size"))
            for start, size in zip(positions, sizes, strict=True):
                if partly and partly[-1][1] == start:
                    partly[-1] = partly[-1][0], start + size
                else:
                    partly.append((start, start + size))
        scan = Scan(columns_of(row_schema(), ["offset"]), wanted, self.timestamps)
        for start, stop in partly:
            rows = scan_rows(source, scan, self.options, order=None, start=start, stop=stop)
            number += sum(batch.num_rows for batch in rows)
        return number

    def _possible(self, batch: Any, wanted: Range) -> Any:
        """The batches that may have rows."""
        import pyarrow.compute as pc

        found = pc.and_(
            pc.greater_equal(batch["last_offset"], wanted.first),
            # of a wrapper the first offset is unknown
            pc.fill_null(pc.less_equal(batch["base_offset"], wanted.last), True),
        )
        if not self.options.control:
            found = pc.and_(found, pc.invert(batch["is_control"]))
        if self.timestamps == EVERY:
            return found
        return pc.and_(found, pc.greater_equal(self._newest(batch), self.timestamps.first))

    def _whole(self, batch: Any, wanted: Range) -> Any:
        """The batches that match as a whole."""
        import pyarrow.compute as pc

        found = pc.and_(
            pc.fill_null(pc.greater_equal(batch["base_offset"], wanted.first), False),
            pc.less_equal(batch["last_offset"], wanted.last),
        )
        found = pc.and_(found, pc.is_valid(batch["count"]))
        if not self.options.control:
            found = pc.and_(found, pc.invert(batch["is_control"]))
        if self.timestamps == EVERY:
            return found
        stamped = pc.equal(batch["timestamp_type"], TimestampType.LOG_APPEND_TIME.value)
        alike = pc.fill_null(pc.or_(stamped, pc.equal(batch["count"], 1)), False)
        newest = self._newest(batch)
        within = pc.and_(
            pc.greater_equal(newest, self.timestamps.first), pc.less_equal(newest, self.timestamps.last)
        )
        return pc.and_(found, pc.and_(alike, within))

    @staticmethod
    def _newest(batch: Any) -> Any:
        import pyarrow as pa

        return batch["max_timestamp"].cast(pa.int64())
