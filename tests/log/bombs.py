"""Batches that are small, and whose records would not be: what no reader may hold, and what it may."""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Iterable, Iterator

import snappy  # type: ignore[import-untyped]  # publishes no types
import zstandard

from kodec.runtime.compression import compress
from kodec.runtime.crc import crc32, crc32c
from kodec.runtime.varint import write_zigzag32

from .wire import CODES, XERIAL

MIB = 1 << 20
LIMIT = 256
"""MiB that a reader allows by default."""


def stream(codec: str, parts: Iterable[bytes]) -> bytes:
    """The parts compressed as one stream, made without holding all of them."""
    if codec == "gzip":
        made = zlib.compressobj(9, zlib.DEFLATED, 31)
        return b"".join([*(made.compress(part) for part in parts), made.flush()])
    if codec == "zstd":
        frame = zstandard.ZstdCompressor().compressobj()
        return b"".join([*(frame.compress(part) for part in parts), frame.flush()])
    found = [_chunks(codec, part) for part in parts]
    if codec == "snappy":
        return XERIAL + b"".join(found)
    whole = compress(codec, b"")
    return whole[:7] + b"".join(found) + whole[-4:]


@functools.lru_cache(maxsize=8)
def _chunks(codec: str, part: bytes) -> bytes:
    made = compress(codec, part)
    return made[16:] if codec == "snappy" else made[7:-4]


def zeros(count: int) -> Iterator[bytes]:
    return (bytes(MIB) for _ in range(count))


def large_record(size: int) -> list[bytes]:
    """A record whose value has `size` MiB of zeros, in parts."""
    body = b"\0\0\0\1" + write_zigzag32(size * MIB)
    return [write_zigzag32(len(body) + size * MIB + 1) + body, *zeros(size), b"\0"]


def records(codec: str, content: bytes, count: int) -> bytes:
    """A batch of v2."""
    last = max(count - 1, 0)
    body = struct.pack(">hiqqqhii", CODES[codec], last, 1, 1, -1, -1, -1, count) + content
    return struct.pack(">qiibI", 0, len(body) + 9, 0, 2, crc32c(body)) + body


def wrapper(codec: str, content: bytes, magic: int) -> bytes:
    """A wrapper of v0 or v1."""
    time = struct.pack(">q", 1) if magic else b""
    body = struct.pack(">bb", magic, CODES[codec]) + time + struct.pack(">ii", -1, len(content)) + content
    return struct.pack(">qiI", 0, len(body) + 4, crc32(body)) + body


def message(size: int) -> list[bytes]:
    """A message of v1 whose value has `size` MiB of zeros, in parts."""
    head = struct.pack(">bbqii", 1, 0, 1, -1, size * MIB)
    crc = functools.reduce(lambda crc, part: zlib.crc32(part, crc), [head, *zeros(size)], 0)
    return [struct.pack(">qiI", 0, len(head) + size * MIB + 4, crc) + head, *zeros(size)]


def bombs() -> dict[str, bytes]:
    """What every reader refuses, by name; none of them for its stored size, which is at most 15 MiB."""
    tiny = write_zigzag32(6) + b"\0\0\0\1\1\0"
    many = tiny * (MIB // len(tiny))
    made = {f"v2 {codec}": records(codec, stream(codec, zeros(LIMIT + 1)), 1) for codec in ("gzip", "snappy")}
    made |= {f"v2 {codec}": records(codec, stream(codec, zeros(2 * LIMIT)), 1) for codec in ("lz4", "zstd")}
    made |= {
        f"v1 {codec}": wrapper(codec, stream(codec, zeros(LIMIT + 1)), 1)
        for codec in ("gzip", "snappy", "lz4")
    }
    made["v0 lz4"] = wrapper("lz4", stream("lz4_legacy", zeros(LIMIT + 1)), 0)
    made["a huge value"] = records("zstd", stream("zstd", large_record(2 * LIMIT)), 1)
    made["a count that no batch has"] = records("gzip", stream("gzip", zeros(LIMIT - 1)), 2**31 - 1)
    made["a count that is wrong"] = records("zstd", stream("zstd", large_record(LIMIT - 1)), 2)
    made["many tiny records"] = records("zstd", stream("zstd", [many] * 200), 200 * (MIB // len(tiny)))
    made["many tiny records and a small count"] = records("zstd", stream("zstd", [many] * 200), 1000)
    made["many tiny messages"] = wrapper("lz4", stream("lz4", [message_of_nothing() * 40_000] * 100), 1)
    made["one block of snappy"] = records("snappy", snappy.compress(bytes((LIMIT + 1) * MIB)), 1)
    made["a promise of snappy"] = records("snappy", b"\x80\x80\x80\x7f" + b"\0" * 100, 1)
    window = bytearray(stream("zstd", zeros(2 * LIMIT)))
    window[5] = 0x88
    made["a window of 128 MiB"] = records("zstd", bytes(window), 1)
    nested = wrapper("gzip", stream("gzip", zeros(LIMIT - 1)), 1)
    made["a wrapper in a wrapper"] = wrapper("gzip", stream("gzip", [nested]), 1)
    return made


def message_of_nothing() -> bytes:
    body = struct.pack(">bbqii", 1, 0, 1, -1, -1)
    return struct.pack(">qiI", 0, len(body) + 4, crc32(body)) + body
