"""The partitions of a column of keys, natively."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kodec.log.backends.arrow import pyarrow
from kodec.log.batches.partitioner import POSITIVE, SEED
from kodec.runtime.native import bindings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["partitions_of"]


def partitions_of(keys: pa.Array, partitions: int) -> pa.Array:
    """Like the pure one."""
    arrow = pyarrow()
    import pyarrow.compute as pc

    if not len(keys):
        return arrow.array([], arrow.int32())
    _, offsets, data = keys.buffers()
    hash_bytes = bindings.murmur2(b"" if data is None else data, offsets, keys.offset, len(keys), SEED)
    hashes = arrow.Array.from_buffers(arrow.uint32(), len(keys), [None, arrow.py_buffer(hash_bytes)])
    positive = pc.bit_wise_and(hashes, arrow.scalar(POSITIVE, arrow.uint32())).cast(arrow.int32())
    count = arrow.scalar(partitions, arrow.int32())
    of_key = pc.subtract(positive, pc.multiply(pc.divide(positive, count), count))
    return pc.if_else(pc.is_valid(keys), of_key, arrow.scalar(None, arrow.int32()))
