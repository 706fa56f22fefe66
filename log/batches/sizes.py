"""How many bytes things of fixed size take, as their schemas give them."""

from __future__ import annotations

from kodec.generated.log import offset_index, producer_snapshot, record_batch, time_index, transaction_index

__all__ = [
    "BATCH_HEAD",
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

BATCH_HEAD = len(record_batch.RecordBatch(last_offset_delta=0, max_timestamp=-1).to_bytes())
"""A record batch of magic 2 before its records."""
OFFSET_ENTRY = len(offset_index.Entry().to_bytes())
TIME_ENTRY = len(time_index.Entry().to_bytes())
TXN_ENTRY = len(transaction_index.Entry().to_bytes())
SNAPSHOT_HEAD = len(producer_snapshot.ProducerSnapshot().to_bytes())
SNAPSHOT_ENTRY = len(producer_snapshot.Entry().to_bytes())


def _place(one: bytes, other: bytes) -> tuple[int, int]:
    """Where two values of the same size differ, first byte and number of bytes."""
    different = [at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
    return different[0], different[-1] - different[0] + 1


def _batch(base_offset: int, epoch: int) -> bytes:
    return record_batch.RecordBatch(
        base_offset=base_offset, partition_leader_epoch=epoch, last_offset_delta=0, max_timestamp=-1
    ).to_bytes()


# No checksum covers these two, so that all that changes with them is where they stand.
OFFSET_AT, OFFSET_SIZE = _place(_batch(0, 0), _batch(-1, 0))
"""Where a batch of any magic has the offset in its header, which a broker sets in place."""
EPOCH_AT, EPOCH_SIZE = _place(_batch(0, 0), _batch(0, -1))
"""Where a record batch of magic 2 has its leader's epoch, which a broker sets in place."""
_RELATIVE_SIZE = _place(offset_index.Entry(0).to_bytes(), offset_index.Entry(-1).to_bytes())[1]
MAX_RELATIVE = (1 << 8 * _RELATIVE_SIZE - 1) - 1
"""The largest offset relative to its segment's base offset."""
MAX_SEGMENT = MAX_RELATIVE
"""The most bytes of a segment: a position in the offset index is as wide as a relative offset."""
