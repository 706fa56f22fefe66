"""Counts the rows that a table would have, from batch headers where possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from kodec.log.arguments import require_integer
from kodec.log.backends.arrow import batch_schema, columns_of, is_dense, row_schema
from kodec.log.backends.scan import EVERY, Range, Scan
from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits, SkippedRanges, TimestampType, TornTail
from kodec.log.directories.segment import Segment
from kodec.log.omissions import Omissions
from kodec.log.reading.ahead import cores
from kodec.log.reading.source import Source
from kodec.log.remote.opening import open_location
from kodec.log.selection import Bounds, Isolation, Keys, Partitions, Selection, TimeBounds, Topics
from kodec.log.tables.chosen import ChosenLogs, LogsSource, Piece, chosen_logs, one_file
from kodec.log.tables.reader import file_headers, scan_headers, scan_rows
from kodec.log.tables.several import FileEnd, report_end
from kodec.log.tables.table import scan_selected
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError

__all__ = ["count_rows"]

# A separate thread is worth it for this many bytes of log.
PART = 128 << 20
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
    topics: Topics = None,
    partitions: Partitions = None,
    offsets: Bounds = None,
    timestamps: TimeBounds = None,
    isolation: Isolation = "read_uncommitted",
    keys: Keys = None,
    control: bool = False,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
    threads: int | None = None,
    omissions: Omissions | None = None,
) -> int:
    """Count the rows of `read_table` with the same arguments.

    Batch headers have the numbers, so little is read. Only compressed batches of v0 and v1 are decoded,
    and those partly within a range; for a time range, each that may have records in it and was stamped by
    producers; with `keys`, and for committed records, all are read. Only their checksums are verified: other
    batches are counted as their headers say, even if their content is damaged. Gaps, torn tails and the end
    of each log are judged as by `scan_table`.

    Args:
        omissions: takes what was not counted.
        others: as in `scan_table`.

    Returns: the number of rows.
    Raises: as `scan_table`.

    Example:
        >>> import kodec
        >>> kodec.count_rows("/data/kafka-logs/orders-0", offsets=(10, 19))
        10
    """
    if threads is not None:
        require_integer("threads", threads, 1)
    account = Omissions() if omissions is None else omissions
    options = LogReadOptions(control=control, on_error=on_error, limits=limits)
    selection = Selection.of(topics, partitions, offsets, timestamps, isolation, keys)
    logs = chosen_logs(source, selection, options)
    is_counted = isinstance(logs, (ChosenLogs, str, Path, bytes, bytearray, memoryview))
    if not is_counted or selection.committed or selection.keys is not None:
        scan = Scan(row_schema())
        rows = scan_selected(logs, ["offset"], selection, scan, options, threads or cores())
        number: int = sum(batch.num_rows for batch in rows)
        account.extend(rows.omissions)
        return number
    assert isinstance(logs, (ChosenLogs, str, Path, bytes, bytearray, memoryview))
    count = _Count(selection.offsets, selection.timestamps, options)
    if isinstance(logs, (str, Path)) and open_location(logs).is_file():
        logs = one_file(logs, options)
    if not isinstance(logs, ChosenLogs):
        return count.of(logs, account)
    account.extend(logs.omissions)
    at_once = threads or cores()
    parts = [
        (piece, start, stop)
        for piece in logs.pieces(count.offsets, options, account)
        for start, stop in _parts(piece, at_once, limits)
    ]
    with ThreadPoolExecutor(at_once, "kodec-count") as pool:
        counted = pool.map(lambda part: count.part(*part), parts)
        return sum(count.reported(counted, account))


def _parts(piece: Piece, most: int, limits: Limits) -> Iterator[tuple[int, int | None]]:
    """A large segment in parts, from one batch up to another one, if its index locates them."""
    files, start = piece.files, 0
    if files.index is not None and files.size >= 2 * PART:
        number = min(most, files.size // PART)
        with suppress(FormatError), Segment(files, limits) as segment:
            step = (segment.next_offset - files.base_offset) // number
            for index in range(1, number):
                location = segment.find(files.base_offset + index * step)
                if location is not None and location.position > start:
                    yield start, location.position
                    start = location.position
    yield start, None


@dataclass(slots=True)
class _Counted:
    """What a part of a segment has: its rows, its last offset, and how far it was read."""

    piece: Piece | None
    is_last: bool = True
    rows: int = 0
    last: int | None = None
    end: FileEnd | None = None
    omissions: Omissions = field(default_factory=Omissions)


@dataclass(frozen=True, slots=True)
class _Count:
    offsets: Range
    timestamps: Range
    options: LogReadOptions

    def part(self, piece: Piece, start: int, stop: int | None) -> _Counted:
        """Count the rows of these bytes of a segment."""
        path = piece.files.log
        counted = _Counted(piece, is_last=stop is None)

        def ended(position: int, tail: TornTail | None, skipped: SkippedRanges) -> None:
            counted.end = FileEnd(path, position, tail, skipped)

        try:
            heads = file_headers(path, self._scan, self.options, start, stop, ended)
            self._rows(path, heads, piece.first, counted)
        except OSError as error:
            if not self.options.skips_unreachable:
                raise
            counted.omissions.failed(path, error)
        return counted

    def of(self, source: Source, omissions: Omissions) -> int:
        """Count the rows of one log."""
        counted = _Counted(None)
        heads = scan_headers(source, self._scan, self.options)
        self._rows(source, heads, 0, counted)
        omissions.extend(heads.omissions)
        omissions.extend(counted.omissions)
        return counted.rows

    def reported(self, counted: Iterable[_Counted], omissions: Omissions) -> Iterator[int]:
        """The rows of each part, once what is missing after a segment was reported, as by `SeveralLogs`."""
        last = -1
        for part in counted:
            omissions.extend(part.omissions)
            piece, end = part.piece, part.end
            if piece is not None and end is not None:
                last = max(last, piece.files.base_offset - 1, -1 if part.last is None else part.last)
                if part.is_last:
                    report_end(piece, end, last, self.offsets, self.options, omissions)
                else:
                    omissions.end(end.path, end.skipped, None, is_last=False)
            last = -1 if part.is_last else last
            yield part.rows

    @property
    def _scan(self) -> Scan:
        return Scan(columns_of(batch_schema(), _COLUMNS))

    def _rows(self, source: Source, heads: Iterable[Any], first: int, counted: _Counted) -> None:
        """Count the rows of a source from the offset `first` on, given its headers."""
        import pyarrow.compute as pc

        offsets = Range(max(self.offsets.first, first), self.offsets.last)
        partly: list[tuple[int, int]] = []
        for batch in heads:
            if batch.num_rows:
                counted.last = max(
                    -1 if counted.last is None else counted.last, pc.max(batch["last_offset"]).as_py()
                )
            whole = self._whole(batch, offsets)
            counted.rows += pc.sum(batch["count"].filter(whole)).as_py() or 0
            remaining = pc.and_(pc.invert(whole), self._possible(batch, offsets))
            positions, sizes = (batch[name].filter(remaining).to_pylist() for name in ("position", "size"))
            for start, size in zip(positions, sizes, strict=True):
                if partly and partly[-1][1] == start:
                    partly[-1] = partly[-1][0], start + size
                else:
                    partly.append((start, start + size))
        scan = Scan(columns_of(row_schema(), ["offset"]), offsets, self.timestamps)
        for start, stop in partly:
            rows = scan_rows(source, scan, self.options, order=None, start=start, stop=stop)
            counted.rows += sum(batch.num_rows for batch in rows)
            counted.omissions.extend(rows.omissions)

    def _possible(self, batch: Any, offsets: Range) -> Any:
        """The batches that may have rows."""
        import pyarrow.compute as pc

        possible = pc.and_(
            pc.or_(pc.greater_equal(batch["last_offset"], offsets.first), pc.invert(is_dense(batch))),
            # of a wrapper the first offset is unknown
            pc.fill_null(pc.less_equal(batch["base_offset"], offsets.last), True),
        )
        if not self.options.control:
            possible = pc.and_(possible, pc.invert(batch["is_control"]))
        if self.timestamps == EVERY:
            return possible
        return pc.and_(possible, pc.greater_equal(self._newest(batch), self.timestamps.first))

    def _whole(self, batch: Any, offsets: Range) -> Any:
        """The batches that match as a whole."""
        import pyarrow.compute as pc

        whole = pc.and_(
            pc.fill_null(pc.greater_equal(batch["base_offset"], offsets.first), False),
            pc.less_equal(batch["last_offset"], offsets.last),
        )
        if offsets.last < EVERY.last:
            whole = pc.and_(whole, is_dense(batch))
        whole = pc.and_(whole, pc.is_valid(batch["count"]))
        if not self.options.control:
            whole = pc.and_(whole, pc.invert(batch["is_control"]))
        if self.timestamps == EVERY:
            return whole
        stamped = pc.equal(batch["timestamp_type"], TimestampType.LOG_APPEND_TIME.value)
        alike = pc.fill_null(pc.or_(stamped, pc.equal(batch["count"], 1)), False)
        newest = self._newest(batch)
        within = pc.and_(
            pc.greater_equal(newest, self.timestamps.first), pc.less_equal(newest, self.timestamps.last)
        )
        return pc.and_(whole, pc.and_(alike, within))

    @staticmethod
    def _newest(batch: Any) -> Any:
        import pyarrow as pa

        return batch["max_timestamp"].cast(pa.int64())
