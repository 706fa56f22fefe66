"""Recognizes files of other systems that are not Kafka logs, by their markers.

Used only for a file whose first batch cannot be read; as a segment of Redpanda that is not in its folder.
Source: AutoMQ's `com.automq.stream.s3.ObjectWriter` and `WALObjectHeader`.
"""

from __future__ import annotations

import struct

from kodec.log.batches.redpanda import HEAD_SIZE, read_header
from kodec.log.reading.source import ByteSource
from kodec.runtime.errors import FormatError, Unsupported

__all__ = ["foreign_error", "is_foreign"]

_REASON = "not Kafka's format"
# a block's magic and flag, how many records and bytes it holds; then the magic of its first record
_AUTOMQ_BLOCK = struct.Struct(">BBiiB")
_AUTOMQ_END = (0x88E241B785F4CFF7).to_bytes(8, "big")
_FIRST_BYTES = {
    (0x12345678).to_bytes(4, "big"): "a write-ahead log of AutoMQ",
    (0x12345679).to_bytes(4, "big"): "a write-ahead log of AutoMQ",
    b"\x1f\x8b\x08": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PAR1": "a Parquet file",
}


def foreign_error(source: ByteSource) -> Unsupported | None:
    """The error for a source recognized as another system's; None for any other. Raises ReadFailed."""
    have = _name(source)
    return None if have is None else Unsupported("", _REASON, at=0, need="a log of Kafka", have=have)


def is_foreign(error: object) -> bool:
    """Whether it is such an error."""
    return isinstance(error, FormatError) and error.reason == _REASON


def _name(source: ByteSource) -> str | None:
    head = source.read(0, HEAD_SIZE)
    if read_header(head) is not None:
        return "a segment of Redpanda"
    if len(head) >= _AUTOMQ_BLOCK.size:
        magic, _, records, size, first = _AUTOMQ_BLOCK.unpack_from(head)
        if magic == 0x5A and first == 0x22 and records > 0 and size > 0:
            return "an object of AutoMQ"
    if source.sized and source.read(max(source.remaining(0, 0) - 8, 0), 8) == _AUTOMQ_END:
        return "an object of AutoMQ"
    return next((name for first, name in _FIRST_BYTES.items() if head.startswith(first)), None)
