"""snappy as snappy-java ("xerial") frames it, or one raw block; never the official framing format."""

from __future__ import annotations

import struct

import snappy  # type: ignore[import-untyped]  # publishes no types

from kodec.runtime.compression.codec import Codec, over_limit
from kodec.runtime.errors import FormatError, Malformed, Truncated, Unsupported
from kodec.runtime.varint import read_uvarint32

__all__ = ["CODECS", "compress", "decompress"]

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + struct.pack(">ii", 1, 1)  # version, lowest compatible version
_HEAD_WORD = _MAGIC[:4]
_OFFICIAL = b"\xff\x06\x00\x00sNaPpY"
_BLOCK = 32 << 10

_int32 = struct.Struct(">i")


def _promised(view: memoryview, pos: int, end: int) -> int:
    """Read the size in front of a block: what the library allocates before it looks further."""
    try:
        return read_uvarint32(view, pos, end)[0]
    except FormatError as error:
        raise Malformed("", f"snappy: no size in front of the block ({error.reason})", at=pos) from None


def _block(view: memoryview, pos: int, end: int) -> bytes:
    try:
        block: bytes = snappy.uncompress(view[pos:end])
    except snappy.UncompressError as error:
        raise Malformed("", f"snappy: {error.__cause__ or error}", at=pos) from error
    return block


def decompress(data: bytes | memoryview, limit: int) -> bytes:
    """Decompress xerial chunks of any size, through repeated headers; else one raw block.

    Source: ``org.xerial.snappy.SnappyInputStream`` 1.1.10. As there, the versions in the first
    header are not looked at, and 1 to 3 bytes after the last chunk are ignored.
    """
    view = memoryview(data)
    size = len(view)
    if size < len(_HEADER) or view[: len(_MAGIC)] != _MAGIC:
        if view[: len(_OFFICIAL)] == _OFFICIAL:
            raise Unsupported("", "snappy: the official framing format, which Kafka does not read", at=0)
        promised = _promised(view, 0, size)
        if promised > limit:
            raise over_limit("snappy", need=promised, limit=limit)
        return _block(view, 0, size)

    pieces: list[bytes] = []
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
        total += _promised(view, start, pos)
        if total > limit:
            raise over_limit("snappy", need=total, limit=limit, at=start)
        pieces.append(_block(view, start, pos))
    return b"".join(pieces)


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
    view = memoryview(data)
    out = [_HEADER]
    for pos in range(0, len(view), _BLOCK):
        block: bytes = snappy.compress(view[pos : pos + _BLOCK])
        out += (_int32.pack(len(block)), block)
    return b"".join(out)


CODECS = (Codec("snappy", decompress, lambda data, _: compress(data)),)
