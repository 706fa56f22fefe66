"""The partition of a record by its key, as Kafka's producers choose it.

Followed: `org.apache.kafka.clients.producer.internals.BuiltInPartitioner.partitionForKey` and
`org.apache.kafka.common.utils.Utils.murmur2`, Kafka 4.3; librdkafka calls it `murmur2_random`.
"""

from __future__ import annotations

from kodec.log.arguments import require_integer
from kodec.runtime.errors import ArgumentError

__all__ = ["POSITIVE", "SEED", "partition_of"]

SEED = 0x9747B28C
POSITIVE = 0x7FFFFFFF
"""The used bits of a hash: Kafka's is signed, and its sign is dropped."""
_M = 0x5BD1E995
_WORD = 0xFFFFFFFF


def partition_of(key: bytes, partition_count: int) -> int:
    """The partition to which Kafka's producers send records with a key.

    It does not apply to records without a key, or to producers with their own partitioner.

    Args:
        key: as stored, that is, serialized.
        partition_count: the topic's number of partitions.

    Returns: a number from 0 to `partition_count` - 1.
    Raises: ArgumentError if there are no partitions, and for a key that is not bytes.

    Example:
        >>> import kodec
        >>> kodec.partition_of(b"customer-17", 12)
        4
    """
    if not isinstance(key, (bytes, bytearray, memoryview)):
        raise ArgumentError(f"a key is bytes, not {type(key).__name__}")
    require_integer("partition_count", partition_count, 1)
    return (_murmur2(bytes(key)) & POSITIVE) % partition_count


def _murmur2(data: bytes) -> int:
    value = SEED ^ len(data)
    whole = len(data) & ~3
    for index in range(0, whole, 4):
        word = int.from_bytes(data[index : index + 4], "little") * _M & _WORD
        word = (word ^ word >> 24) * _M & _WORD
        value = value * _M & _WORD ^ word
    if tail := data[whole:]:
        value = (value ^ int.from_bytes(tail, "little")) * _M & _WORD
    value = (value ^ value >> 13) * _M & _WORD
    return value ^ value >> 15
