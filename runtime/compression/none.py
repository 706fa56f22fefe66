"""Data that is not compressed, under the same ceiling as data that is."""

from __future__ import annotations

from kodec.runtime.compression.codec import Codec, over_limit

__all__ = ["CODECS", "compress", "decompress"]


def decompress(data: bytes | memoryview, limit: int) -> bytes:
    """A copy of `data`. Raises: LimitExceeded."""
    if len(data) > limit:
        raise over_limit("none", need=len(data), limit=limit)
    return bytes(data)


def compress(data: bytes | memoryview, level: int = 0) -> bytes:
    """A copy of `data`; there are no levels."""
    return bytes(data)


CODECS = (Codec("none", decompress, compress, most=len),)
