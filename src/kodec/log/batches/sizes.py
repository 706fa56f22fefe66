"""Sizes and positions of fixed-size fields, from their schemas."""

from __future__ import annotations

from struct import calcsize

from kodec.generated.log import offset_index, time_index, transaction_index
from kodec.generated.log.producer_snapshot import Entry as SnapshotEntry
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.batches.format import KAFKA

__all__ = [
    "BATCH_HEAD",
    "COUNT",
    "DELTA",
    "EPOCH",
    "LENGTH",
    "MAGIC",
    "MAX_RELATIVE",
    "MAX_SEGMENT",
    "OFFSET",
    "OFFSET_ENTRY",
    "SNAPSHOT_ENTRY",
    "SNAPSHOT_HEAD",
    "TIME_ENTRY",
    "TXN_ENTRY",
]


BATCH_HEAD = KAFKA.head
"""A record batch of magic 2 before its records."""
DELTA, COUNT = KAFKA.last_delta, KAFKA.count
"""Of a record batch of magic 2: its last offset, relative to its first, and its number of records."""
OFFSET_ENTRY = offset_index.Entry.SIZE
TIME_ENTRY = time_index.Entry.SIZE
TXN_ENTRY = transaction_index.Entry.SIZE
SNAPSHOT_HEAD = ProducerSnapshot.PLACES["entries"][0]
SNAPSHOT_ENTRY = SnapshotEntry.SIZE
OFFSET = KAFKA.offset
"""The offset in the header of a batch of any magic, which a broker sets in place."""
EPOCH = KAFKA.epoch
"""Of a record batch of magic 2: its leader's epoch, which a broker sets in place."""
LENGTH, MAGIC = KAFKA.length, KAFKA.magic
"""The length of the rest of a batch, and the format, of a batch of any magic."""
MAX_RELATIVE = (1 << 8 * calcsize(offset_index.Entry.PLACES["relative_offset"][1]) - 1) - 1
"""The largest offset relative to its segment's base offset."""
MAX_SEGMENT = MAX_RELATIVE
"""The maximum size of a segment: a position in the offset index is as wide as a relative offset."""
