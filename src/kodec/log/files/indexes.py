"""Builds the indexes of a segment, by Kafka's rules.

Followed: `LogSegment.append` and `recover`, `OffsetIndex.append`, `TimeIndex.maybeAppend`, `AbstractIndex` of
`org.apache.kafka.storage.internals.log`, Kafka 4.
"""

from __future__ import annotations

from typing import Protocol

from kodec.generated.log import offset_index, time_index, transaction_index
from kodec.log.batches.sizes import MAX_RELATIVE, OFFSET_ENTRY, TIME_ENTRY

__all__ = ["INDEX_INTERVAL", "MAX_INDEX", "IndexBuilder", "Indexed", "base_offset_after"]

INDEX_INTERVAL = 4096
"""Kafka's default of `index.interval.bytes`."""
MAX_INDEX = 10 << 20
"""Kafka's default of `segment.index.bytes`."""


def base_offset_after(end: int, first: int, last: int) -> int:
    """The base offset of a segment with offsets from `first` to `last`, if the log so far ends at `end`.

    It is `end`: a gap then lies in a segment, as compaction leaves gaps, and not between two, where it would
    suggest a missing segment. It is `first` if the indexes' 31 bits do not reach that far.
    """
    return end if last - end <= MAX_RELATIVE else first


class Indexed(Protocol):
    """The facts of a batch that an index needs; `Batch` and `BatchHeader` have them."""

    @property
    def size(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...


class IndexBuilder:
    """The indexes of one segment as its batches are added, in memory.

    A batch of the log gets an entry in the offset index, its last offset and its position, if more than
    `interval` bytes lie between it and the batch of the log that got the last one (at first: the start of the
    log). With it goes an entry of the time index, the largest timestamp so far and the last offset of the
    batch that has it, if that timestamp is larger than the last one there. A segment that is closed gets
    the largest timestamp of all once more (`end`).

    Attributes:
        offsets, times, aborted: the bytes of `.index`, `.timeindex` and `.txnindex`.
        position: the size of the log so far, in bytes.
        largest_timestamp: ms since epoch, of all batches so far; -1: none.
    """

    def __init__(
        self, base_offset: int, *, interval: int = INDEX_INTERVAL, max_bytes: int = MAX_INDEX
    ) -> None:
        self.base_offset = base_offset
        self.position = 0
        self.offsets = bytearray()
        self.times = bytearray()
        self.aborted = bytearray()
        self.largest_timestamp = -1
        self._largest_offset = base_offset
        self._interval = interval
        self._indexed_at = 0
        self._last_time = -1
        self._offsets_most = max_bytes // OFFSET_ENTRY
        self._times_most = max_bytes // TIME_ENTRY

    @property
    def is_full(self) -> bool:
        """Whether an index lacks room for another batch: then the segment must be rolled.

        A place in the time index is kept for the end.
        """
        return (
            len(self.offsets) // OFFSET_ENTRY >= self._offsets_most
            or len(self.times) // TIME_ENTRY >= self._times_most - 1
        )

    def fits(self, last_offset: int) -> bool:
        """Whether an offset can be stored relative to the base offset, in 31 bits."""
        return self.base_offset <= last_offset <= self.base_offset + MAX_RELATIVE

    def take(self, head: Indexed) -> None:
        """Add the next batch of the log, whose last offset fits. A full index takes no more entries."""
        last_offset, timestamp = head.last_offset, head.max_timestamp
        if timestamp > self.largest_timestamp:
            self.largest_timestamp, self._largest_offset = timestamp, last_offset
        if self.position - self._indexed_at > self._interval and not self.is_full:
            entry = offset_index.Entry(
                relative_offset=last_offset - self.base_offset, ofs_batch=self.position
            )
            offset_index.write_entry(self.offsets, entry)
            self._add_time()
            self._indexed_at = self.position
        self.position += head.size

    def _add_time(self) -> None:
        if self.largest_timestamp > self._last_time:
            entry = time_index.Entry(
                timestamp=self.largest_timestamp, relative_offset=self._largest_offset - self.base_offset
            )
            time_index.write_entry(self.times, entry)
            self._last_time = self.largest_timestamp

    def abort(self, entry: transaction_index.Entry) -> None:
        """Add an aborted transaction whose marker is in this segment."""
        transaction_index.write_entry(self.aborted, entry)

    def end(self) -> None:
        """The segment receives no more batches: the last entry of the time index. May be called again."""
        self._add_time()
