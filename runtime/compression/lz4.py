"""LZ4 frames as Kafka's own reader and writer have them: a part of the format, with one old mistake.

Source: ``org.apache.kafka.common.compress.Lz4BlockInputStream`` and ``Lz4BlockOutputStream``, and
KIP-57 for the mistake: in messages of magic 0 the header checksum covers the magic number too.
The library's frame reader is not used, as it goes on to a second frame, accepts dependent blocks,
verifies the content checksum and trusts the content size; its block reader does the work.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import cramjam

from kodec.runtime.compression.codec import Codec, joined, over_limit
from kodec.runtime.errors import Malformed, Truncated, Unsupported

__all__ = ["CODECS", "compress", "compress_legacy", "decompress", "decompress_legacy"]

_MAGIC = b"\x04\x22\x4d\x18"
_MOST_HEADER = 15
_KAFKA_HEADER = _MAGIC + b"\x60\x40\x82"  # independent blocks of at most 64 KiB
_END_MARK = b"\x00\x00\x00\x00"
_INDEPENDENT, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM, _RESERVED, _DICTIONARY = 32, 16, 8, 4, 2, 1
_STORED = 0x8000_0000
_MAX_BLOCK = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}
_MOST_EXPANSION = 255  # a byte of an LZ4 block adds at most 255 to a length
_FAST, _LOWEST_HC, _HIGHEST_HC = 0, 3, 12  # the library's levels
_KAFKA_FAST = 9

_uint32 = struct.Struct("<I")


@lru_cache(maxsize=256)
def _header_checksum(descriptor: bytes) -> int:
    """Return the second byte of the xxHash32 (seed 0) of at most 15 bytes."""
    mask = 0xFFFF_FFFF
    prime1, prime2, prime3, prime4, prime5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
    value = prime5 + len(descriptor)
    whole = len(descriptor) // 4 * 4
    for (lane,) in _uint32.iter_unpack(descriptor[:whole]):
        value = value + lane * prime3 & mask
        value = (value << 17 | value >> 15) * prime4 & mask
    for byte in descriptor[whole:]:
        value = value + byte * prime5 & mask
        value = (value << 11 | value >> 21) * prime1 & mask
    value = (value ^ value >> 15) * prime2 & mask
    value = (value ^ value >> 13) * prime3 & mask
    return (value ^ value >> 16) >> 8 & 0xFF


def _read_header(view: memoryview, *, check: bool) -> tuple[int, int, int]:
    """Return (flags, block descriptor, position of the first block)."""
    head = bytes(view[:_MOST_HEADER])
    if not head.startswith(_MAGIC[: len(head)]):
        raise Malformed("", "lz4: not an LZ4 frame", at=0, need=_MAGIC.hex(" "), have=head[:4].hex(" "))
    if len(head) < 6:
        raise Truncated("", "lz4: frame header", at=0, need=6, have=len(head))
    flags, block_descriptor = head[4], head[5]
    if flags >> 6 != 1:
        raise Unsupported("", "lz4: frame version", at=4, need=1, have=flags >> 6)
    if not flags & _INDEPENDENT:
        raise Unsupported("", "lz4: blocks that depend on each other, which Kafka does not read", at=4)
    if flags & _DICTIONARY:
        raise Unsupported("", "lz4: a dictionary, which Kafka does not read", at=4)
    if flags & _RESERVED or block_descriptor & 0x8F:
        raise Malformed("", "lz4: reserved bits are set in the frame header", at=4)
    if block_descriptor >> 4 not in _MAX_BLOCK:
        raise Malformed("", "lz4: block size code", at=5, need="4 to 7", have=block_descriptor >> 4)
    end = 14 if flags & _CONTENT_SIZE else 6
    if len(head) <= end:
        raise Truncated("", "lz4: frame header", at=0, need=end + 1, have=len(head))
    if check:
        right = _header_checksum(head[4:end])
        if head[end] != right:
            raise Malformed(
                "", "lz4: frame header checksum", at=end, need=f"{right:#04x}", have=f"{head[end]:#04x}"
            )
    return flags, block_descriptor, end + 1


class _Block(NamedTuple):
    """A block: where its size stands, where its bytes start and end, and what its frame reports about it."""

    at: int
    start: int
    end: int
    stored: bool
    checksum: int
    descriptor: int

    @property
    def most(self) -> int:
        """The most bytes that it can become."""
        length = self.end - self.start
        return length if self.stored else min(_MAX_BLOCK[self.descriptor >> 4], length * _MOST_EXPANSION)


def _blocks(view: memoryview, *, check_header: bool) -> Iterator[_Block]:
    """The blocks of the first frame, all of which is there; none is decompressed."""
    size = len(view)
    flags, descriptor, pos = _read_header(view, check=check_header)
    max_block = _MAX_BLOCK[descriptor >> 4]
    checksum = 4 if flags & _BLOCK_CHECKSUM else 0
    while True:
        if size - pos < 4:
            raise Truncated("", "lz4: no end mark", at=pos, need=4, have=size - pos)
        (word,) = _uint32.unpack_from(view, pos)
        length = word & ~_STORED
        start = pos + 4
        if not length:
            break
        if length > max_block:
            raise Malformed("", "lz4: block size", at=pos, need=f"at most {max_block}", have=length)
        if size - start < length + checksum:
            raise Truncated("", "lz4: block", at=start, need=length + checksum, have=size - start)
        yield _Block(pos, start, start + length, word >= _STORED, checksum, descriptor)
        pos = start + length + checksum
    if flags & _CONTENT_CHECKSUM and size - start < 4:
        raise Truncated("", "lz4: content checksum", at=start, need=4, have=size - start)


class Library(NamedTuple):
    """What does the work: the block reader, the writer of frames that Kafka reads, what both raise."""

    read_block: Callable[[memoryview, int], bytes]
    write_frame: Callable[[bytes | memoryview, int], bytes]
    error: type[Exception]


def with_cramjam() -> Library:
    """cramjam, which python-snappy needs anyway, and which has wheels for musl."""

    def read_block(block: memoryview, most: int) -> bytes:
        out = bytearray(most)
        size = cramjam.lz4.decompress_block_into(block, out, output_len=most)
        return bytes(memoryview(out)[:size])

    def write_frame(data: bytes | memoryview, level: int) -> bytes:
        compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
        compressor.compress(bytes(data))  # takes no view
        frame = memoryview(compressor.finish())
        # It adds a checksum to each block, which Kafka does not.
        blocks = (frame[block.at : block.end] for block in _blocks(frame, check_header=False))
        return b"".join((_KAFKA_HEADER, *blocks, _END_MARK))

    return Library(read_block, write_frame, cramjam.DecompressionError)


def with_lz4() -> Library:
    """The `lz4` package, which is optional: the same bytes, with less work for a small batch.

    Raises ImportError where it is not installed.
    """
    # By name, so that type checkers do not ask for a package that may be absent.
    block, frame = importlib.import_module("lz4.block"), importlib.import_module("lz4.frame")

    def read_block(data: memoryview, most: int) -> bytes:
        found: bytes = block.decompress(data, uncompressed_size=most)
        return found

    def write_frame(data: bytes | memoryview, level: int) -> bytes:
        made: bytes = frame.compress(
            data,
            compression_level=level,
            block_size=frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            store_size=False,
        )
        return made

    return Library(read_block, write_frame, block.LZ4BlockError)


def fastest() -> Library:
    """The `lz4` package where it is installed, else cramjam."""
    try:
        return with_lz4()
    except ImportError:
        return with_cramjam()


library = fastest()


def _read_block(view: memoryview, block: _Block) -> bytes:
    if block.checksum:
        return _read_checked_block(view, block)
    if block.stored:
        return bytes(view[block.start : block.end])
    try:
        return library.read_block(view[block.start : block.end], block.most)
    except library.error as error:
        raise Malformed("", f"lz4: {error}", at=block.start) from error


def _read_checked_block(view: memoryview, block: _Block) -> bytes:
    # A frame of one block: so the library's xxHash32, and not Python, goes over up to 4 MiB.
    descriptor = bytes((0x40 | _INDEPENDENT | _BLOCK_CHECKSUM, block.descriptor))
    head = _MAGIC + descriptor + bytes((_header_checksum(descriptor),))
    try:
        whole = b"".join((head, view[block.at : block.end + block.checksum], _END_MARK))
        return bytes(cramjam.lz4.decompress(whole))
    except cramjam.DecompressionError as error:
        raise Malformed("", f"lz4: {error}", at=block.at) from error


def _pieces(data: bytes | memoryview, limit: int, *, check_header: bool) -> Iterator[bytes]:
    view = memoryview(data)
    total = 0
    for block in _blocks(view, check_header=check_header):
        piece = _read_block(view, block)
        total += len(piece)
        if total > limit:
            raise over_limit("lz4", limit=limit, at=block.at)
        yield piece
        del piece  # may be 4 MiB


def pieces(data: bytes | memoryview, limit: int) -> Iterator[bytes]:
    """The blocks of the first frame, each at most 4 MiB."""
    return _pieces(data, limit, check_header=True)


def pieces_legacy(data: bytes | memoryview, limit: int) -> Iterator[bytes]:
    """The same, with any header checksum."""
    return _pieces(data, limit, check_header=False)


def decompress(data: bytes | memoryview, limit: int) -> bytes:
    """Read the first frame and ignore what follows it.

    The header checksum and block checksums are verified; the content size and the content
    checksum may be there and are not.
    """
    return joined(pieces(data, limit))


def decompress_legacy(data: bytes | memoryview, limit: int) -> bytes:
    """Read like `decompress`, with any header checksum: both the right and the wrong one occur."""
    return joined(pieces_legacy(data, limit))


def compress(data: bytes | memoryview, level: int) -> bytes:
    """Write independent blocks of 64 KiB without sizes or checksums.

    `level` 9, Kafka's default, is the fast compressor; the others are the high-compression one,
    whose levels here are 3 to 12: lower and higher ones give the nearest of these.
    """
    own = _FAST if level == _KAFKA_FAST else min(max(level, _LOWEST_HC), _HIGHEST_HC)
    return library.write_frame(data, own)


def compress_legacy(data: bytes | memoryview, level: int) -> bytes:
    """Write like `compress`, with the header checksum that Kafka wrote into messages of magic 0."""
    frame = bytearray(compress(data, level))
    frame[6] = _header_checksum(bytes(frame[:6]))
    return bytes(frame)


def _most(data: bytes | memoryview) -> int:
    return sum(block.most for block in _blocks(memoryview(data), check_header=False))


_LEVELS = (range(1, 18),)
CODECS = (
    Codec("lz4", decompress, compress, _LEVELS, default_level=9, pieces=pieces, most=_most),
    Codec(
        "lz4_legacy",
        decompress_legacy,
        compress_legacy,
        _LEVELS,
        default_level=9,
        pieces=pieces_legacy,
        most=_most,
    ),
)
