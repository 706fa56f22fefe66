"""Where batches are in a segment, and their headers, read without the records after them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kodec.log.batches.batch import Batch, last_sequence
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import LISTS
from kodec.log.batches.header import NO_EXTRA
from kodec.log.batches.records import TimestampType
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError

__all__ = [
    "BatchHeader",
    "BatchLookup",
    "BatchRange",
    "Position",
    "TimestampOffset",
    "TransactionBatch",
    "header_of",
]


class Position(NamedTuple):
    """The place of a batch: the offset in its header (the first of a batch of magic 2, the last of an older
    wrapper), its position in the segment and its size, in bytes."""

    offset: int
    position: int
    size: int


class BatchLookup(NamedTuple):
    """The result of a lookup: the batch or None; the last offset of the batch before it, None
    if that was not read; whether its end is known, which it is not if its checksum is wrong and
    only its place suggests that it has the offset."""

    location: Position | None
    before: int | None
    known: bool = True


class TimestampOffset(NamedTuple):
    """A record's timestamp (ms since 1970-01-01 UTC) and offset, and its leader epoch (-1: none).

    Attributes:
        timestamp: of the record, in ms since 1970-01-01 UTC.
        offset: of the record.
        leader_epoch: of its batch; -1 for none.

    Example: see `PartitionLog`.
    """

    timestamp: int
    offset: int
    leader_epoch: int


class BatchRange(NamedTuple):
    """Whole batches in a part of a segment: their bytes, their number, and the offset after the last.

    `next_offset` is None if there is no batch.
    """

    valid_bytes: int
    batches: int
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """A batch's header, read without the records after it.

    The names are those of `Batch`; -1: none. `base_offset` and `count` are None for a wrapper of
    magic 0 or 1, because only the compressed content has them.
    """

    position: int
    size: int
    magic: int
    codec: str
    base_offset: int | None
    last_offset: int
    count: int | None
    base_timestamp: int
    max_timestamp: int
    timestamp_type: TimestampType
    partition_leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon: int | None = None

    extra: Mapping[str, Any] = NO_EXTRA

    @property
    def is_list(self) -> bool:
        """As `Batch.is_list`."""
        return self.magic in LISTS

    @property
    def next_offset(self) -> int:
        """The offset after the last one of this batch."""
        return self.last_offset + 1

    @property
    def first_known(self) -> int:
        """The first offset, or, if only the compressed content has it, the last one."""
        return self.last_offset if self.base_offset is None else self.base_offset

    @property
    def last_sequence(self) -> int:
        """As `Batch.last_sequence`."""
        return last_sequence(self.base_sequence, self.last_offset - self.first_known)

    @property
    def is_dense(self) -> bool:
        """As `Batch.is_dense`."""
        return not self.is_list or self.count == self.next_offset - self.first_known

    @property
    def frame_offset(self) -> int:
        """The offset in its frame: as `Batch.frame_offset`."""
        return self.first_known if self.is_list else self.last_offset

    def located(self, error: FormatError) -> FormatError:
        """`error`, whose byte counts in the batch, with its position in the source: as `Batch.located`."""
        return error.within(KAFKA.kind(self.magic).place(self.frame_offset), shift=self.position)


TransactionBatch = tuple[int, int, int, int, bool]
"""A batch of a transaction: its offset, position and size, as in `Position`; its producer; whether it is a
control batch. Not an object, as there are many."""


def header_of(batch: Batch) -> BatchHeader:
    """The header of a whole message of magic 0 or 1, which consists of more than a key and a value."""
    alone = batch.codec == "none"
    return BatchHeader(
        batch.position,
        batch.size,
        batch.magic,
        batch.codec,
        batch.last_offset if alone else None,
        batch.last_offset,
        1 if alone else None,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.timestamp_type,
    )
