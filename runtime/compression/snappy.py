"""snappy as snappy-java ("xerial") frames it, or one raw block; never the official framing format."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator

import snappy  # type: ignore[import-untyped]  # publishes no types

from kodec.runtime.compression.codec import Codec, joined, over_limit
from kodec.runtime.errors import FormatError, Malformed, Truncated, Unsupported
from kodec.runtime.varint import read_uvarint32

__all__ = ["CODECS", "compress", "decompress"]

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + struct.pack(">ii", 1, 1)  # version, lowest compatible version
_HEAD_WORD = _MAGIC[:4]
_OFFICIAL = b"\xff\x06\x00\x00sNaPpY"
_BLOCK = 32 << 10
_MOST_EXPANSION = 22  # three bytes give at most 64

_int32 = struct.Struct(">i")


def _promised(view: memoryview, pos: int, end: int) -> int:
    """Read the size in front of a block: what the library allocates before it looks further."""
    try:
        size, _ = read_uvarint32(view, pos, end)
    except FormatError as error:
        raise Malformed("", f"snappy: no size in front of the block ({error.reason})", at=pos) from None
    return size


def _require_possible(promised: int, at: int, length: int) -> None:
    if promised > length * _MOST_EXPANSION:
        need = f"at most {length * _MOST_EXPANSION}"
        raise Malformed("", "snappy: size in front of the block", at=at, need=need, have=promised)


def _block(view: memoryview, pos: int, end: int) -> bytes:
    try:
        block: bytes = snappy.uncompress(view[pos:end])
    except snappy.UncompressError as error:
        raise Malformed("", f"snappy: {error.__cause__ or error}", at=pos) from error
    return block


def _chunks(view: memoryview, limit: int) -> list[tuple[int, int]]:
    """Where each block starts and ends; together they promise at most `limit` bytes.

    The size of all is known before any of them is decompressed.
    """
    size = len(view)
    if size < len(_HEADER) or view[: len(_MAGIC)] != _MAGIC:
        if view[: len(_OFFICIAL)] == _OFFICIAL:
            raise Unsupported("", "snappy: the official framing format, which Kafka does not read", at=0)
        promised = _promised(view, 0, size)
        if promised > limit:
            raise over_limit("snappy", need=promised, limit=limit)
        _require_possible(promised, 0, size)
        return [(0, size)]

    chunks: list[tuple[int, int]] = []
    total, pos = 0, len(_HEADER)
    while size - pos >= 4:
        start = pos + 4
        if view[pos:start] == _HEAD_WORD:
            _check_next_header(view, pos)
            pos += len(_HEADER)
            continue
        (length,) = _int32.unpack_from(view, pos)
        if length < 0:
            raise Malformed("", "snappy: negative chunk length", at=pos, need="0 or more", have=length)
        if size - start < length:
            raise Truncated("", "snappy: chunk", at=start, need=length, have=size - start)
        pos = start + length
        promised = _promised(view, start, pos)
        total += promised
        if total > limit:
            raise over_limit("snappy", need=total, limit=limit, at=start)
        _require_possible(promised, start, length)
        chunks.append((start, pos))
    return chunks


def _most(data: bytes | memoryview) -> int:
    view = memoryview(data)
    return sum(_promised(view, *chunk) for chunk in _chunks(view, sys.maxsize))


def pieces(data: bytes | memoryview, limit: int) -> Iterator[bytes]:
    """Decompress xerial chunks of any size, through repeated headers; else one raw block, which is one piece.

    Source: ``org.xerial.snappy.SnappyInputStream`` 1.1.10. As there, the versions in the first
    header are not looked at, and 1 to 3 bytes after the last chunk are ignored.
    """
    view = memoryview(data)
    for start, end in _chunks(view, limit):
        yield _block(view, start, end)


def decompress(data: bytes | memoryview, limit: int) -> bytes:
    """All `pieces` in one."""
    view = memoryview(data)
    chunks = _chunks(view, limit)
    return _block(view, *chunks[0]) if len(chunks) == 1 else joined(_block(view, *each) for each in chunks)


def _check_next_header(view: memoryview, pos: int) -> None:
    header = view[pos : pos + len(_HEADER)]
    if len(header) < len(_HEADER):
        raise Truncated("", "snappy: repeated header", at=pos, need=len(_HEADER), have=len(header))
    if header[: len(_MAGIC)] != _MAGIC:
        raise Malformed("", "snappy: repeated header with a wrong magic", at=pos)
    (version,) = _int32.unpack_from(header, len(_MAGIC))
    if version < 1:
        raise Unsupported("", "snappy: version of a repeated header", at=pos, need="1 or more", have=version)


def compress(data: bytes | memoryview) -> bytes:
    """Write a xerial header and chunks of 32 KiB, as ``SnappyOutputStream`` does by default."""
    return joined(_written(memoryview(data)))


def _written(view: memoryview) -> Iterator[bytes]:
    yield _HEADER
    for pos in range(0, len(view), _BLOCK):
        block: bytes = snappy.compress(view[pos : pos + _BLOCK])
        yield _int32.pack(len(block))
        yield block


CODECS = (
    Codec(
        "snappy",
        decompress,
        lambda data, _: compress(data),
        pieces=pieces,
        most=_most,
    ),
)
