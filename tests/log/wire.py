"""Log entries put together byte by byte with `struct` alone, so that nothing here trusts what is tested."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable, Sequence

import cramjam
import snappy
import zstandard

CODES = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
CODECS = {0: ("none", "gzip", "snappy", "lz4"), 1: ("none", "gzip", "snappy", "lz4"), 2: tuple(CODES)}
PAIRS = [(magic, codec) for magic, codecs in CODECS.items() for codec in codecs]
XERIAL = bytes.fromhex("82534e415050590000000001 00000001")
LZ4_HEAD = bytes.fromhex("04224d18604082")
LZ4_HEAD_MAGIC_0 = bytes.fromhex("04224d1860401a")


def _castagnoli() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _castagnoli()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    """Zigzag, of any width."""
    return uvarint(value << 1 if value >= 0 else -2 * value - 1)


def blob(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def record(
    delta: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"v",
    headers: Sequence[tuple[bytes, bytes | None]] = (),
    *,
    time: int = 0,
    attributes: int = 0,
) -> bytes:
    """A record of magic 2; `delta` is that of its offset, `time` that of its timestamp."""
    body = struct.pack(">B", attributes) + varint(time) + varint(delta) + blob(key) + blob(value)
    body += varint(len(headers)) + b"".join(blob(name) + blob(content) for name, content in headers)
    return sized(body)


def sized(body: bytes) -> bytes:
    return varint(len(body)) + body


def batch(
    records: Iterable[bytes] | bytes = (),
    *,
    base: int = 0,
    count: int | None = None,
    attributes: int = 0,
    last_delta: int | None = None,
    base_time: int = 1000,
    max_time: int = 1000,
    producer: tuple[int, int, int] = (-1, -1, -1),
    epoch: int = -1,
    magic: int = 2,
    length: int | None = None,
    crc: int | None = None,
) -> bytes:
    """A batch of magic 2, of records or of their bytes as they are stored; numbers not given are right."""
    if not isinstance(records, bytes):
        records = list(records)
        count = len(records) if count is None else count
        records = b"".join(records)
    assert count is not None
    delta = max(count - 1, 0) if last_delta is None else last_delta
    covered = struct.pack(">HiqqqhiI", attributes, delta, base_time, max_time, *producer, count & 0xFFFFFFFF)
    covered += records
    stored = crc32c(covered) if crc is None else crc
    size = len(covered) + 9 if length is None else length
    return struct.pack(">qiibI", base, size, epoch, magic, stored) + covered


def message(
    offset: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"v",
    *,
    magic: int = 1,
    attributes: int = 0,
    time: int = 1000,
    crc: int | None = None,
    size: int | None = None,
) -> bytes:
    """A message of magic 0 or 1 with its offset and size."""
    covered = struct.pack(">bB", magic, attributes) + (struct.pack(">q", time) if magic == 1 else b"")
    for part in (key, value):
        covered += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return entry(offset, covered, crc=crc, size=size)


def entry(offset: int, covered: bytes, *, crc: int | None = None, size: int | None = None) -> bytes:
    """What a CRC-32 covers, with that, an offset and a size in front."""
    stored = zlib.crc32(covered) if crc is None else crc
    return struct.pack(">qiI", offset, len(covered) + 4 if size is None else size, stored) + covered


def wrapper(
    offset: int, inner: bytes, codec: str = "gzip", *, magic: int = 1, attributes: int = 0, time: int = 1000
) -> bytes:
    """A compressed message around the bytes of others."""
    value = squeeze(codec, inner, magic)
    return message(offset, None, value, magic=magic, attributes=attributes | CODES[codec], time=time)


def lz4_block(data: bytes) -> bytes:
    packed = bytes(cramjam.lz4.compress_block(data, store_size=False))
    if len(packed) < len(data):
        return struct.pack("<I", len(packed)) + packed
    return struct.pack("<I", len(data) | 1 << 31) + data


def squeeze(codec: str, data: bytes, magic: int = 2) -> bytes:
    """Compress as the format wants it."""
    if codec == "gzip":
        return gzip.compress(data, mtime=0)
    if codec == "snappy":
        chunks = [snappy.compress(data[at : at + 32768]) for at in range(0, len(data), 32768)]
        return XERIAL + b"".join(struct.pack(">i", len(chunk)) + chunk for chunk in chunks)
    if codec == "lz4":
        blocks = b"".join(lz4_block(data[at : at + 65536]) for at in range(0, len(data), 65536))
        return (LZ4_HEAD if magic else LZ4_HEAD_MAGIC_0) + blocks + bytes(4)
    if codec == "zstd":
        return zstandard.ZstdCompressor(write_content_size=False).compress(data)
    return data


def log_of(magic: int, codec: str, values: Sequence[bytes], *, base: int = 0) -> bytes:
    """One entry (several for uncompressed messages) that holds `values`, with keys k0, k1 and so on."""
    keys = [b"k%d" % index for index in range(len(values))]
    if magic == 2:
        rows = b"".join(record(i, keys[i], values[i], [(b"h", keys[i])]) for i in range(len(values)))
        return batch(squeeze(codec, rows), base=base, count=len(values), attributes=CODES[codec])
    first = base if codec == "none" or magic == 0 else 0
    inner = b"".join(message(first + i, keys[i], values[i], magic=magic) for i in range(len(values)))
    return inner if codec == "none" else wrapper(base + len(values) - 1, inner, codec, magic=magic)
