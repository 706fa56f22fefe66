"""gzip as Java's GZIPInputStream reads it and GZIPOutputStream writes it (RFC 1952)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from kodec.runtime.compression.codec import Codec, joined, over_limit
from kodec.runtime.crc import crc32
from kodec.runtime.errors import Malformed, Truncated
from kodec.runtime.zlibs import fastest_zlib

__all__ = ["CODECS", "compress", "decompress", "pieces"]

_inflate = fastest_zlib()

_GZIP = 31  # zlib's `wbits` for a 32 KiB window in a gzip wrapper
_HEADER = b"\x1f\x8b\x08"
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT, _RESERVED = 2, 4, 8, 16, 0xE0

# zlib hands back a copy of the input it did not use, so input goes in by pieces: small at first
# for members after the first, or a run of tiny members would copy the rest once per member.
_FIRST_INPUT, _MOST_INPUT = 4 << 10, 64 << 10
_MOST_OUTPUT = 1 << 20
_MOST_EXPANSION = 1032  # two bits of deflate give at most 258 bytes


def _starts_member(data: bytes, pos: int) -> bool:
    """Report whether a whole, valid member header is at `pos`; if not, Java takes the rest for junk."""
    if len(data) - pos < 10 or not data.startswith(_HEADER, pos):
        return False
    flags, at = data[pos + 3], pos + 10
    if flags & _FEXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for text in (_FNAME, _FCOMMENT):
        if flags & text:
            at = data.find(0, at) + 1
            if not at:
                return False
    if flags & _FHCRC:
        stored = int.from_bytes(data[at : at + 2], "little")
        if stored != crc32(data[pos:at]) & 0xFFFF:
            return False
        at += 2
    return at <= len(data)


def _without_reserved_flags(view: memoryview, pos: int) -> bytes:
    """The first bytes of a member whose reserved flags are set, without them; nothing for any other.

    Java does not look at those flags, zlib refuses them. A header with a checksum is left as it is.
    """
    if len(view) - pos < 4 or not view[pos + 3] & _RESERVED or view[pos + 3] & _FHCRC:
        return b""
    return bytes(view[pos : pos + 3]) + bytes([view[pos + 3] & ~_RESERVED & 0xFF])


def pieces(data: bytes | memoryview, limit: int) -> Iterator[bytes]:
    """Inflate every member in turn; stop without error at what is not a member header.

    Source: ``java.util.zip.GZIPInputStream``, whose CRC-32 and size checks are made here too.
    """
    view = memoryview(data)
    size = len(view)
    total = pos = 0
    feed = _MOST_INPUT
    while True:
        start = pos
        member = _inflate.decompressobj(_GZIP)
        while not member.eof:
            source = member.unconsumed_tail
            if not source and pos == start and (first := _without_reserved_flags(view, pos)):
                source = first
                pos += len(first)
            elif not source:
                source = view[pos : pos + feed]
                pos += len(source)
                feed = min(2 * feed, _MOST_INPUT)
            try:
                piece = member.decompress(source, min(limit - total + 1, _MOST_OUTPUT))
            except _inflate.error as error:
                raise Malformed("", f"gzip: {error}", at=start) from error
            if piece:
                total += len(piece)
                if total > limit:
                    raise over_limit("gzip", limit=limit, at=start)
                yield piece
            elif not source and not member.eof:
                have = size - start
                raise Truncated(
                    "", "gzip: the stream ends inside a member", at=start, need=have + 1, have=have
                )
        pos -= len(member.unused_data)
        if pos == size:
            break
        data = bytes(data)
        if not _starts_member(data, pos):
            break
        feed = _FIRST_INPUT


def decompress(data: bytes | memoryview, limit: int) -> bytes:
    """All `pieces` in one."""
    if len(data) <= _MOST_OUTPUT:
        # nearly always it is one member, and this is all of it
        member = _inflate.decompressobj(_GZIP)
        try:
            content: bytes = member.decompress(data, min(limit, _MOST_OUTPUT) + 1)
        except _inflate.error:
            content = b""
        if member.eof and not member.unused_data and len(content) <= limit:
            return content
    return joined(pieces(data, limit))


def compress(data: bytes | memoryview, level: int) -> bytes:
    """Deflate into one member without name or time; `level` is -1 (zlib's 6) or 1 to 9."""
    # zlib and not isal: the levels are zlib's, as in Java.
    return zlib.compress(data, level, _GZIP)


CODECS = (
    Codec(
        "gzip",
        decompress,
        compress,
        levels=(range(-1, 0), range(1, 10)),
        default_level=-1,
        pieces=pieces,
        expansion=_MOST_EXPANSION,
    ),
)
