"""How many bytes things of fixed size take, as their schemas give them."""

from __future__ import annotations

from kodec.generated.log import offset_index, producer_snapshot, record_batch, time_index, transaction_index
from kodec.generated.log.log_segment import peek_entry_len_entry
from kodec.generated.log.message_set import Message

__all__ = [
    "BATCH_HEAD",
    "BEFORE_BODY",
    "LEAST_BODY",
    "OFFSET_ENTRY",
    "SNAPSHOT_ENTRY",
    "SNAPSHOT_HEAD",
    "TIME_ENTRY",
    "TXN_ENTRY",
]

BEFORE_BODY = peek_entry_len_entry(0, 0, 0)
"""The offset and the length in front of an entry's body."""
LEAST_BODY = len(Message(magic=0).to_bytes())
"""The fewest bytes after an entry's length, of any magic: those of an empty message of magic 0."""
BATCH_HEAD = len(record_batch.RecordBatch(last_offset_delta=0, max_timestamp=-1).to_bytes())
"""A record batch of magic 2 before its records."""
OFFSET_ENTRY = len(offset_index.Entry().to_bytes())
TIME_ENTRY = len(time_index.Entry().to_bytes())
TXN_ENTRY = len(transaction_index.Entry().to_bytes())
SNAPSHOT_HEAD = len(producer_snapshot.ProducerSnapshot().to_bytes())
SNAPSHOT_ENTRY = len(producer_snapshot.Entry().to_bytes())
