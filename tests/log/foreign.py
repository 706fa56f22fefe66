"""Files of other systems, put together byte by byte from the layouts that their sources say."""

from __future__ import annotations

import gzip
import struct

from . import wire

AUTOMQ_END = bytes.fromhex("88e241b785f4cff7")


def redpanda(offset: int = 0, *, records: int = 3) -> bytes:
    """A batch as a segment of Redpanda has it: little-endian, the checksum of the header first."""
    body = b"".join(wire.record(at, b"k%d" % at, b"v") for at in range(records))
    header = struct.pack(
        "<iqbIhiqqqhii", 61 + len(body), offset, 1, 0, 0, records - 1, 1000, 1000, -1, -1, -1, records
    )
    return struct.pack("<I", wire.crc32c(header)) + header + body


def automq(payload: bytes | None = None) -> bytes:
    """An object of AutoMQ: a block of one record, which holds a batch of Kafka's, the index, the footer."""
    if payload is None:
        payload = wire.batch([wire.record()] * 3)
    record = struct.pack(">BqqqiI", 0x22, 7, 1, 0, 3, len(payload)) + payload
    block = struct.pack(">BBii", 0x5A, 2, 1, len(record)) + record
    index = struct.pack(">qqiiqi", 7, 0, 3, 1, 0, len(block))
    return block + index + struct.pack(">qi28x", len(block), len(index)) + AUTOMQ_END


FOREIGN = {
    "redpanda": (redpanda() + redpanda(3), "a segment of Redpanda"),
    # its offset, read as a length, is longer than the file: a torn tail, were it Kafka's
    "redpanda-39": (redpanda(39), "a segment of Redpanda"),
    # a batch of magic 1 that is whole, were it Kafka's
    "redpanda-magic-1": (redpanda(100 << 24, records=30), "a segment of Redpanda"),
    "automq": (automq(), "an object of AutoMQ"),
    "automq-composite": (bytes(3) + b"\1" * 100 + AUTOMQ_END, "an object of AutoMQ"),
    "automq-wal": (
        bytes.fromhex("12345678") + bytes(36) + wire.batch([wire.record()]),
        "a write-ahead log of AutoMQ",
    ),
    "gzip": (gzip.compress(wire.batch([wire.record()])), "a gzip file"),
}
