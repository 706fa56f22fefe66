"""How many bytes things of fixed size take, and where they stand, as their schemas say."""

from __future__ import annotations

from kodec.generated.log import offset_index, time_index, transaction_index
from kodec.generated.log.producer_snapshot import Entry as SnapshotEntry
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.generated.log.record_batch import RecordBatch

__all__ = [
    "BATCH_HEAD",
    "COUNT_AT",
    "DELTA_AT",
    "DELTA_SIZE",
    "EPOCH_AT",
    "EPOCH_SIZE",
    "MAX_RELATIVE",
    "MAX_SEGMENT",
    "OFFSET_AT",
    "OFFSET_ENTRY",
    "OFFSET_SIZE",
    "SNAPSHOT_ENTRY",
    "SNAPSHOT_HEAD",
    "TIME_ENTRY",
    "TXN_ENTRY",
]

BATCH_HEAD = RecordBatch.OFFSETS["records"]
"""A record batch of magic 2 before its records."""
DELTA_AT, DELTA_SIZE = RecordBatch.OFFSETS["last_offset_delta"], RecordBatch.SIZES["last_offset_delta"]
COUNT_AT = RecordBatch.OFFSETS["num_records"]
"""Where a record batch of magic 2 has its last offset, relative to its first, and how many records it has."""
OFFSET_ENTRY = offset_index.Entry.SIZE
TIME_ENTRY = time_index.Entry.SIZE
TXN_ENTRY = transaction_index.Entry.SIZE
SNAPSHOT_HEAD = ProducerSnapshot.OFFSETS["entries"]
SNAPSHOT_ENTRY = SnapshotEntry.SIZE
OFFSET_AT, OFFSET_SIZE = RecordBatch.OFFSETS["base_offset"], RecordBatch.SIZES["base_offset"]
"""Where a batch of any magic has the offset in its header, which a broker sets in place."""
EPOCH_AT = RecordBatch.OFFSETS["partition_leader_epoch"]
EPOCH_SIZE = RecordBatch.SIZES["partition_leader_epoch"]
"""Where a record batch of magic 2 has its leader's epoch, which a broker sets in place."""
MAX_RELATIVE = (1 << 8 * offset_index.Entry.SIZES["relative_offset"] - 1) - 1
"""The largest offset relative to its segment's base offset."""
MAX_SEGMENT = MAX_RELATIVE
"""The most bytes of a segment: a position in the offset index is as wide as a relative offset."""
