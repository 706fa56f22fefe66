"""The options of a scan for a table: columns, ranges and the size of its Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kodec.log.batches.batch import Batch
from kodec.runtime.dataclass import dataclass

__all__ = ["BATCH_BYTES", "BATCH_ROWS", "EVERY", "HEADER_BYTES", "Range", "Scan"]

BATCH_ROWS = 32_768
BATCH_BYTES = 4 << 20
HEADER_BYTES = 16
"""The size that a header counts besides its bytes: even an empty one takes memory."""


class Range(NamedTuple):
    """The numbers from `first` to `last`, both included; each fits 64 bits. None if last < first."""

    first: int
    last: int


EVERY = Range(-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows and columns of a log that become a table, and the size of its batches.

    Attributes:
        schema: the columns, a `pyarrow.Schema`.
        offsets, timestamps: only rows in both ranges; timestamps in ms since 1970-01-01 UTC, -1: none.
        topic: of the records, for columns that decode them.
        exact_keys: keys of headers that are not UTF-8 keep their bytes, as `header_keys.exact` writes them;
            otherwise these are replaced.
        batch_rows, batch_bytes: an Arrow batch is complete once it has this many rows, or this many bytes in
            its columns `key`, `value` and `headers`, where each header counts for 16 more. It ends where a
            batch of the log ends, unless it would be more than twice as large.
    """

    schema: Any
    offsets: Range = EVERY
    timestamps: Range = EVERY
    batch_rows: int = BATCH_ROWS
    batch_bytes: int = BATCH_BYTES
    topic: str = ""
    exact_keys: bool = False

    @property
    def filtered(self) -> bool:
        """Whether some rows are excluded."""
        return self.offsets != EVERY or self.timestamps != EVERY

    def full(self, rows: int, size: int) -> bool:
        """Whether this many rows and bytes are enough for an Arrow batch."""
        return rows >= self.batch_rows or size >= self.batch_bytes

    def too_large(self, rows: int, size: int) -> bool:
        """Whether they are too many for one."""
        return rows > 2 * self.batch_rows or size > 2 * self.batch_bytes

    def cuts(self, weights: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Where to cut rows of these bytes each, so that every batch is full."""
        start = size = 0
        for row, weight in enumerate(weights, 1):
            size += weight
            if self.full(row - start, size) or row == len(weights):
                yield start, row
                start, size = row, 0

    def may_hold(self, batch: Batch) -> bool:
        """Whether a batch may have rows in the ranges, by its header; true for all messages of v0 and v1.

        Other batches are skipped: not checksummed, not decompressed, not decoded.
        """
        return not batch.is_list or (
            batch.base_offset <= self.offsets.last
            and (batch.last_offset >= self.offsets.first or not batch.is_dense)
            and batch.max_timestamp >= self.timestamps.first
        )
