"""The partitions of a column of keys, in pure Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kodec.log.backends.arrow import pyarrow
from kodec.log.batches.partitioner import partition_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["partitions_of"]


def partitions_of(keys: pa.Array, partitions: int) -> pa.Array:
    """The partition of each key, int32; null if the key is null. Keys are of the Arrow type binary."""
    arrow = pyarrow()
    numbers = [None if key is None else partition_of(key, partitions) for key in keys.to_pylist()]
    return arrow.array(numbers, arrow.int32())
