"""From the bytes of an entry to the batch that they are."""

from __future__ import annotations

from kodec.generated.log.log_segment import PEEK_ENTRY_AT, PEEK_ENTRY_SIZE, peek_entry
from kodec.log.entries.batch import Batch
from kodec.log.entries.message import MessageEntry
from kodec.log.entries.record_batch import RecordBatchEntry
from kodec.log.entries.records import Limits
from kodec.runtime.errors import FormatError, Truncated, Unsupported

__all__ = ["LEGACY", "MAGICS", "open_batch"]

LEGACY = (0, 1)
"""The formats in which each message is an entry."""
MAGICS = (*LEGACY, RecordBatchEntry.magic)


def open_batch(data: bytes, position: int, limits: Limits) -> Batch:
    """The batch whose bytes are `data`, found at `position` of its source; its checksum is not yet verified.

    Raises FormatError with places counted in the source.
    """
    if len(data) < PEEK_ENTRY_SIZE:
        raise Truncated("entry", at=position, need=PEEK_ENTRY_SIZE, have=len(data))
    base_offset, _, magic = peek_entry(data)
    try:
        if magic == RecordBatchEntry.magic:
            return RecordBatchEntry(data, position, limits)
        if magic in MAGICS:
            return MessageEntry(data, position, limits)
    except FormatError as error:
        raise error.within(
            f"{'RecordBatch' if magic == 2 else 'Message'}({base_offset=})", shift=position
        ) from None
    at = position + PEEK_ENTRY_AT["magic"]
    raise Unsupported("magic", "unknown message format", at=at, need="0, 1 or 2", have=magic)
