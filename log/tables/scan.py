"""What a scan for a table is asked for, and the reader that gives Arrow batches whoever fills them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple, Protocol

from kodec.log.entries.batch import Batch
from kodec.log.entries.records import Limits
from kodec.log.reading.reader import OnError, _Reader
from kodec.log.reading.source import Source

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "EVERY",
    "HEADER_BYTES",
    "Range",
    "Rows",
    "Scan",
    "TableReader",
    "Tables",
]

BATCH_ROWS = 32_768
BATCH_BYTES = 4 << 20
HEADER_BYTES = 16
"""What a header counts for beside its bytes: even an empty one takes memory."""


class Range(NamedTuple):
    """The numbers from `first` to `last`, both included; each fits 64 bits. None where last < first."""

    first: int
    last: int

    @classmethod
    def of(cls, name: str, bounds: tuple[int | None, int | None] | None) -> Range:
        """A range as it is asked for, where None is no bound. Raises ValueError where it is none."""
        if bounds is None:
            return EVERY
        try:
            first, last = bounds
            first = EVERY.first if first is None else max(index(first), EVERY.first)
            last = EVERY.last if last is None else min(index(last), EVERY.last)
        except (TypeError, ValueError):
            raise ValueError(f"{name}={bounds!r}: expected (first, last), numbers or None") from None
        return cls(first, last) if first <= EVERY.last and last >= EVERY.first else cls(0, -1)


EVERY = Range(-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Scan:
    """Which rows and columns of a log become a table, and how large its batches are.

    Attributes:
        schema: the columns, a `pyarrow.Schema`.
        offsets, timestamps: only rows in both ranges; timestamps in ms since 1970-01-01 UTC, -1 is none.
        check_crc: verify every checksum of what is read.
        control: control records too.
        batch_rows, batch_bytes: an Arrow batch is given as soon as it has so many rows, or so many bytes in
            its columns `key`, `value` and `headers`, where each header counts for 16 more. It ends where an
            entry ends, unless it would be more than twice as large.
    """

    schema: Any
    offsets: Range = EVERY
    timestamps: Range = EVERY
    check_crc: bool = True
    control: bool = False
    batch_rows: int = BATCH_ROWS
    batch_bytes: int = BATCH_BYTES

    def may_hold(self, batch: Batch) -> bool:
        """Whether a batch has rows in the ranges, as its header has it; true for all messages of v0 and v1.

        What cannot is passed over: not checksummed, not decompressed, not decoded.
        """
        return batch.magic < 2 or (
            batch.base_offset <= self.offsets.last
            and batch.last_offset >= self.offsets.first
            and batch.max_timestamp >= self.timestamps.first
        )


class Rows(Protocol):
    """Where the rows of entries gather until they are an Arrow batch."""

    schema: Any

    @property
    def full(self) -> bool:
        """Whether it is time to take."""

    def add(self, batch: Batch) -> None:
        """Gather the rows of an entry: all of them, or none with a FormatError."""

    def take(self) -> Iterator[Any]:
        """All that was gathered, as Arrow batches; nothing where there is no row."""


class TableReader(_Reader[Any]):
    """An iterator of `pyarrow.RecordBatch`; see `scan_table`.

    Attributes:
        schema: that of every batch.
        position: the byte after the last entry that was read.
        torn_tail: why reading ended before the source did; None where it did not.
        skipped: the ranges passed over with `on_error="skip"`, in order.
    """

    def __init__(self, source: Source, rows: Rows, on_error: OnError, limits: Limits) -> None:
        self.schema = rows.schema
        self._rows = rows
        # which checksums are looked at is for `rows` to say
        super().__init__(source, False, on_error, limits)

    def _iterate(self) -> Iterator[Any]:
        rows = self._rows
        try:
            for _ in self._entries(rows.add):
                if rows.full:
                    yield from rows.take()
        except Exception:
            # what is before the damage comes first, as it does from `read_records`
            yield from rows.take()
            raise
        yield from rows.take()

    def read_all(self) -> Any:
        """All that is left to read, as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self), schema=self.schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The batches for any library that takes Arrow streams."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self).__arrow_c_stream__(requested_schema)


class Tables(Protocol):
    """What a backend provides: a module with these functions."""

    def scan_rows(self, source: Source, scan: Scan, on_error: OnError, limits: Limits) -> TableReader:
        """The records of a log as Arrow batches."""

    def scan_heads(self, source: Source, scan: Scan, on_error: OnError, limits: Limits) -> TableReader:
        """The headers of a log's entries as Arrow batches; a scan's ranges are not for them."""

    def encode_rows(self, batches: Sequence[Any], options: dict[str, Any]) -> bytes:
        """What `encode` writes of the rows in batches that `plain_batches` gave, with its arguments."""
