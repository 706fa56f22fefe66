"""zstd as zstd-jni's streams read and write it: frames without a content size (KIP-110, RFC 8878)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import zstandard

from kodec.runtime.compression.codec import Codec, joined, over_limit
from kodec.runtime.errors import Malformed, Truncated, Unsupported

__all__ = ["CODECS", "compress", "decompress"]

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_TAIL = b"\x2a\x4d\x18"  # after one byte 50 to 5f
_MOST_HEADER = 18  # bytes
_MOST_BLOCK = 128 << 10
_USUAL = _MAGIC + b"\0"  # of a frame that states no size and has no checksum, as Kafka writes it
_RAW, _RLE, _RESERVED = 0, 1, 3
_MOST_WINDOW = 1 << 27  # the library's default, which Kafka does not raise
# A decompressor keeps the pages of its window buffer that it has touched: a large one is thrown
# away after use. Up to level 19 no window is larger than this.
_KEPT_WINDOW = 8 << 20
_PIECE = 1 << 20


class _PerThread(threading.local):
    """The library's contexts: costly to make (20 % of a small batch), and for one thread at a time."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
        self.compressor: zstandard.ZstdCompressor | None = None
        self.level = 0


_per_thread = _PerThread()


def _truncated(what: str, at: int, need: int, have: int) -> Truncated:
    return Truncated("", f"zstd: {what}", at=at, need=need, have=have)


def _skippable_end(view: memoryview, pos: int) -> int | None:
    """Return where the skippable frame at `pos` ends; None if it is not one."""
    head = view[pos : pos + 8]
    if head[0] >> 4 != 5 or not _SKIPPABLE_TAIL.startswith(bytes(head[1:4])):
        return None
    if len(head) < 8:
        raise _truncated("skippable frame", pos, 8, len(head))
    need = 8 + int.from_bytes(head[4:], "little")
    if len(view) - pos < need:
        raise _truncated("skippable frame", pos, need, len(view) - pos)
    return pos + need


def _window(descriptor: int) -> int:
    return (1 << 10 + (descriptor >> 3)) // 8 * (8 + (descriptor & 7))


def _read_header(view: memoryview, pos: int) -> tuple[int, int | None, bool, int]:
    """Return (window size, content size if stated, whether a checksum follows, first block)."""
    head = bytes(view[pos : pos + _MOST_HEADER])
    if not head.startswith(_MAGIC[: len(head)]):
        raise Malformed("", "zstd: not a frame", at=pos, need=_MAGIC.hex(" "), have=head[:4].hex(" "))
    if len(head) < 5:
        raise _truncated("frame header", pos, 5, len(head))
    flags = head[4]
    single_segment = flags >> 5 & 1
    dictionary_at = 6 - single_segment
    content_at = dictionary_at + (0, 1, 2, 4)[flags & 3]
    end = content_at + (single_segment, 2, 4, 8)[flags >> 6]
    if len(head) < end:
        raise _truncated("frame header", pos, end, len(head))
    dictionary = int.from_bytes(head[dictionary_at:content_at], "little")
    if dictionary:
        raise Unsupported("", "zstd: a dictionary, which Kafka does not use", at=pos, have=dictionary)
    content = int.from_bytes(head[content_at:end], "little") if end > content_at else None
    if content is not None and end - content_at == 2:
        content += 256
    window = content if content is not None and single_segment else _window(head[5])
    if window > _MOST_WINDOW:
        raise Unsupported("", "zstd: window size", at=pos, need=f"at most {_MOST_WINDOW}", have=window)
    return window, content, bool(flags & 4), pos + end


def _walk_blocks(view: memoryview, pos: int, window: int, *, checksum: bool) -> tuple[int, int, int]:
    """Return (where the frame ends, the least and the most bytes it can give), by its block headers alone."""
    size = len(view)
    most_block = min(window, _MOST_BLOCK)
    least = most = last = 0
    while not last:
        if size - pos < 3:
            raise _truncated("block header", pos, 3, size - pos)
        word = view[pos] | view[pos + 1] << 8 | view[pos + 2] << 16
        last, kind, length = word & 1, word >> 1 & 3, word >> 3
        if kind == _RESERVED:
            raise Malformed("", "zstd: reserved block type", at=pos)
        if kind in (_RAW, _RLE):
            least += length
            most += length
        else:
            most += most_block
        stored = 1 if kind == _RLE else length
        if size - pos - 3 < stored:
            raise _truncated("block", pos + 3, stored, size - pos - 3)
        pos += 3 + stored
    if checksum:
        if size - pos < 4:
            raise _truncated("frame checksum", pos, 4, size - pos)
        pos += 4
    return pos, least, most


class _Frame(NamedTuple):
    """A whole frame: its bytes, by their place in the data, and what its headers say."""

    start: int
    end: int
    window: int
    content: int | None
    least: int
    most: int


def _frames(view: memoryview) -> Iterator[_Frame]:
    """Every frame in turn; skippable frames are passed over."""
    pos = 0
    while pos < len(view):
        skipped = _skippable_end(view, pos)
        if skipped is not None:
            pos = skipped
            continue
        window, content, checksum, blocks = _read_header(view, pos)
        end, least, most = _walk_blocks(view, blocks, window, checksum=checksum)
        yield _Frame(pos, end, window, content, least, most)
        pos = end


def _require_room(frame: _Frame, total: int, limit: int) -> None:
    """Refuse a frame that is too large by its headers, or states a size that it cannot have.

    The library allocates what a frame states.
    """
    content, most = frame.content, frame.most
    if frame.least > limit - total:
        raise over_limit("zstd", need=total + frame.least, limit=limit, at=frame.start)
    if content is None:
        return
    if content > limit - total:
        raise over_limit("zstd", need=total + content, limit=limit, at=frame.start)
    if content > most:
        raise Malformed("", "zstd: content size", at=frame.start, need=f"at most {most}", have=content)


def _read_frame(view: memoryview, frame: _Frame, most: int) -> bytes:
    """Decompress one whole frame into at most `most` bytes, or raise the library's error."""
    decompressor = _per_thread.decompressor
    if min(frame.window, most) > _KEPT_WINDOW:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    # To the library, 0 would mean "no bound known".
    return decompressor.decompress(view[frame.start : frame.end], max_output_size=max(1, most))


def _decompressed_at_once(view: memoryview, limit: int) -> bytes | None:
    """The content of one usual frame, with as little work as that takes; None for all else."""
    if len(view) < 6 or view[:5] != _USUAL:
        return None
    window = _window(view[5])
    if window > _KEPT_WINDOW:
        return None
    end, _, most = _walk_blocks(view, 6, window, checksum=False)
    if end < len(view) or most > limit:
        return None
    with suppress(zstandard.ZstdError):
        return _per_thread.decompressor.decompress(view, max_output_size=max(1, most))
    return None


def decompress(data: bytes | memoryview, limit: int) -> bytes:
    """Read every frame in turn, with or without a content size; skippable frames give nothing.

    Source: ``com.github.luben.zstd.ZstdInputStreamNoFinalizer``.
    """
    view = memoryview(data)
    if (content := _decompressed_at_once(view, limit)) is not None:
        return content
    parts: list[bytes] = []
    total = 0
    for frame in _frames(view):
        _require_room(frame, total, limit)
        room = limit - total
        try:
            part = _read_frame(view, frame, min(frame.most, room + 1))
        except zstandard.ZstdError as error:
            # The frame is whole, so it is only unfinished if the output had no room for it.
            if frame.most > room and "did not decompress full frame" in str(error):
                raise over_limit("zstd", limit=limit, at=frame.start) from error
            raise Malformed("", f"zstd: {error}", at=frame.start) from error
        total += len(part)
        if total > limit:
            raise over_limit("zstd", limit=limit, at=frame.start)
        parts.append(part)
    return parts[0] if len(parts) == 1 else joined(parts)


def pieces(data: bytes | memoryview, limit: int) -> Iterator[bytes]:
    """The same, 1 MiB at a time. The library keeps the frame's window next to it, as far as it fills."""
    view = memoryview(data)
    total = 0
    for frame in _frames(view):
        _require_room(frame, total, limit)
        try:
            # Not the reader of this thread: a large window stays with it.
            reader = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).stream_reader(
                view[frame.start : frame.end]
            )
            while piece := reader.read(_PIECE):
                total += len(piece)
                if total > limit:
                    raise over_limit("zstd", limit=limit, at=frame.start)
                yield piece
        except zstandard.ZstdError as error:
            raise Malformed("", f"zstd: {error}", at=frame.start) from error


def _most(data: bytes | memoryview) -> int:
    return sum(frame.most for frame in _frames(memoryview(data)))


def compress(data: bytes | memoryview, level: int) -> bytes:
    """Write one frame without content size, checksum or dictionary; `level` is -131072 to 22."""
    mine = _per_thread
    if mine.compressor is None or mine.level != level:
        mine.compressor = zstandard.ZstdCompressor(
            level=level, write_content_size=False, write_checksum=False
        )
        mine.level = level
    return mine.compressor.compress(data)


CODECS = (
    Codec(
        "zstd",
        decompress,
        compress,
        levels=(range(-131072, 23),),
        default_level=3,
        pieces=pieces,
        most=_most,
    ),
)
