"""Sizes and positions of fixed-size fields, from their schemas."""

from __future__ import annotations

from struct import calcsize

from kodec.generated.log import offset_index, time_index, transaction_index
from kodec.log.batches.format import KAFKA

__all__ = [
    "HEADS",
    "LEAST_HEAD",
    "LENGTH",
    "MAGIC",
    "MAX_RELATIVE",
    "MAX_SEGMENT",
    "MOST_HEAD",
    "OFFSET",
    "OFFSET_ENTRY",
    "TIME_ENTRY",
    "TXN_ENTRY",
]


HEADS = KAFKA.heads
"""The headers of batches with a list of records, by magic."""
LEAST_HEAD, MOST_HEAD = (pick(head.size for head in HEADS.values()) for pick in (min, max))
"""The size of the smallest and of the largest of them."""
OFFSET_ENTRY = offset_index.Entry.SIZE
TIME_ENTRY = time_index.Entry.SIZE
TXN_ENTRY = transaction_index.Entry.SIZE
OFFSET = KAFKA.offset
"""The offset in the header of a batch of any magic, which a broker sets in place."""
LENGTH, MAGIC = KAFKA.length, KAFKA.magic
"""The length of the rest of a batch, and the format, of a batch of any magic."""
MAX_RELATIVE = (1 << 8 * calcsize(offset_index.Entry.PLACES["relative_offset"][1]) - 1) - 1
"""The largest offset relative to its segment's base offset."""
MAX_SEGMENT = MAX_RELATIVE
"""The maximum size of a segment: a position in the offset index is as wide as a relative offset."""
