"""The records of a batch with large content, read in parts, from its source or while decompressing.

The content is read once to check its limit and find its records, and once more to read them. So what the
limits refuse is never held in memory, and each allowed byte is held once.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import NamedTuple, SupportsIndex, overload

from kodec.generated.log.record import RecordBody, read_record
from kodec.runtime.compression import AT_ONCE, decompress, may_be_large, pieces
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, LimitExceeded, Malformed, Truncated
from kodec.runtime.fields import ReadOptions, too_many
from kodec.runtime.varint import read_zigzag32

__all__ = [
    "Compressed",
    "Content",
    "InStored",
    "Part",
    "Parts",
    "Pieces",
    "Stored",
    "Stream",
    "explained",
    "moved",
]

PART = 4 << 20
"""Records are read together up to this many bytes; a larger one on its own."""
_HEAD = 4 << 10
_PIECE = 1 << 20
_LOOK = 16  # bytes: the length of a record, and all of a record that is too short
_LEAST_BODY = len(RecordBody().to_bytes())
_INDEXED = re.compile(r"\[(\d+)\]")

Pieces = Callable[[], Iterator[bytes]]


@dataclass(frozen=True)
class Stored:
    """A large batch that is left in its source.

    Attributes:
        head: its first bytes.
        size: in bytes.
        pieces: its bytes from a position on, a piece at a time.
    """

    head: bytes
    size: int
    pieces: Callable[[int], Iterator[bytes]]

    @classmethod
    def of(cls, read: Callable[[int, int], bytes], position: int, size: int) -> Stored:
        """The batch at `position`, from which `read` returns that many bytes, fewer at the end."""

        def pieces(start: int) -> Iterator[bytes]:
            offset, end = position + start, position + size
            while piece := read(offset, min(_PIECE, end - offset)):
                yield piece
                offset += len(piece)

        return cls(read(position, _HEAD), size, pieces)

    def checksum(
        self, head: tuple[int, int], start: int, function: Callable[[bytes, int], int]
    ) -> tuple[int, int]:
        """`head`, the position of the checksum, and the checksum up to `start`, continued to the end."""
        crc_position, crc = head
        for piece in self.pieces(start):
            crc = function(piece, crc)
        return crc_position, crc


class InStored(Exception):
    """Carries an error in the stored bytes: its position is there, not in the decompressed content."""

    def __init__(self, error: FormatError) -> None:
        super().__init__(error)
        self.error = error


class Compressed(NamedTuple):
    """The compressed content of a batch, and its size limit. Methods raise InStored."""

    codec: str
    stored: bytes | memoryview
    limit: int

    def small(self) -> bytes | None:
        """The content; None if it is large, or over the limit."""
        try:
            return decompress(self.codec, self.stored, limit=min(self.limit, AT_ONCE))
        except LimitExceeded as error:
            if self.limit <= AT_ONCE:
                raise InStored(error) from None
            return None
        except FormatError as error:
            raise InStored(error) from None

    def pieces(self) -> Iterator[bytes]:
        """The content, a piece at a time."""
        try:
            yield from pieces(self.codec, self.stored, limit=self.limit)
        except FormatError as error:
            raise InStored(error) from None

    def may_be_large(self) -> bool:
        """Whether the content may be large, or over the limit, by sizes and headers alone."""
        try:
            return may_be_large(self.codec, self.stored, limit=self.limit)
        except FormatError as error:
            raise InStored(error) from None


class Part(NamedTuple):
    """Consecutive whole records: their number, from `first` on, in `size` bytes from `start`."""

    first: int
    records: int
    start: int
    size: int


def moved(error: FormatError, part: Part) -> FormatError:
    """`error`, found in a part, with its place in the whole content."""
    error.path = _INDEXED.sub(lambda matched: f"[{part.first + int(matched[1])}]", error.path, count=1)
    error.at += part.start
    return error


@dataclass(frozen=True)
class Parts:
    """A large content and where its parts are."""

    pieces: Pieces
    parts: list[Part]

    @classmethod
    def of(cls, pieces: Pieces, count: int, options: ReadOptions) -> Parts:
        """Find the parts of `count` records. Raises FormatError, as for the content as a whole."""
        return cls(pieces, _parts_of(pieces(), count, options))

    def __iter__(self) -> Iterator[tuple[Part, bytes | Content]]:
        """Each part with its bytes; those of a record larger than `PART` are read on demand."""
        stream = Stream(self.pieces())
        for part in self.parts:
            if part.size <= PART:
                yield part, stream.take(part.size)
            else:
                content = Content(stream, part, self.pieces)
                yield part, content
                stream.skip_to(part.start + part.size)


class Stream:
    """Consecutive pieces, and how far they were read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.position = 0
        self.window = b""

    def more(self) -> bool:
        """Append the next piece to the rest of the window; false if there is none."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self.window = self.window + piece if self.window else piece
        return True

    def fill(self, size: int) -> bool:
        """Fill the window to this many bytes, or with all that remain; false if there are none."""
        while len(self.window) < size and self.more():
            pass
        return bool(self.window)

    def drop(self, size: int) -> None:
        """Skip the first bytes of the window."""
        self.window = self.window[size:]
        self.position += size

    def skip_to(self, position: int) -> bool:
        """Skip everything up to a position; false if the pieces end before it."""
        while position - self.position > len(self.window):
            self.position += len(self.window)
            self.window = b""
            if not self.more():
                return False
        self.drop(max(0, position - self.position))
        return True

    def take(self, size: int) -> bytes:
        """The next bytes, in memory once; fewer only at the end."""
        if size <= len(self.window):
            data = self.window[:size]
            self.drop(size)
            return data
        out = BytesIO()
        while size and (self.window or self.more()):
            step = min(size, len(self.window))
            out.write(memoryview(self.window)[:step])
            self.drop(step)
            size -= step
        return out.getvalue()


class Content(bytes):
    """The bytes of one large record for a generated row reader, which asks for single bytes and for slices in
    ascending order. Slices come from the stream unchanged. Any other access raises struct.error.
    """

    _stream: Stream
    _part: Part
    _restart: Pieces

    def __new__(cls, stream: Stream, part: Part, restart: Pieces) -> Content:
        self = super().__new__(cls)
        self._stream, self._part, self._restart = stream, part, restart
        return self

    def __len__(self) -> int:
        return self._part.size

    def first(self, size: int) -> bytes:
        """The first bytes, which may be read again. Call it before any other method."""
        self._stream.fill(size)
        return self._stream.window[: min(size, len(self))]

    def whole(self) -> bytes:
        """All of them in memory: for the careful reader, which raises the errors of a record."""
        stream = Stream(self._restart())
        stream.skip_to(self._part.start)
        return stream.take(self._part.size)

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> bytes: ...
    def __getitem__(self, key: SupportsIndex | slice) -> int | bytes:
        if isinstance(key, slice):
            start, stop, _ = key.indices(len(self))
            if stop - start > _LOOK:
                self._look(start, 0)
                return self._stream.take(stop - start)
            return self._look(start, max(0, stop - start))
        index = key.__index__()
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._look(index, 1)[0]

    def _look(self, index: int, size: int) -> bytes:
        """A few bytes, which may be read again, as those of a varint are; for 0, only move there."""
        stream, position = self._stream, self._part.start + index
        stream.skip_to(max(stream.position, position - _LOOK if size else position))
        if position < stream.position:
            raise struct.error("the bytes are no longer held")
        start = position - stream.position
        stream.fill(start + size)
        return stream.window[start : start + size]


def _parts_of(pieces: Iterator[bytes], count: int, options: ReadOptions) -> list[Part]:
    """The places of the parts. Errors of the whole, its size or its compression, are raised first."""
    stream = Stream(pieces)
    try:
        return _split(stream, count, options)
    except FormatError as error:
        raise explained(error, stream) from None


def explained(error: FormatError, stream: Stream) -> FormatError:
    """`error`, found in a stream, after reading the rest: raises an error of the whole, if there is one."""
    stream.skip_to(sys.maxsize)
    if isinstance(error, Truncated) and error.have is None:
        error.have = stream.position - error.at
    return error


def _split(stream: Stream, count: int, options: ReadOptions) -> list[Part]:
    parts: list[Part] = []
    index = first = start = position = 0
    while True:
        window, pos = stream.window, position - stream.position
        if len(window) - pos < _LOOK:
            stream.drop(min(pos, len(window)))
            if stream.more():
                continue
            window, pos = stream.window, position - stream.position
            if pos == len(window):
                break
        if index >= options.elements:
            raise too_many("records", position, options)
        try:
            size, after = read_zigzag32(window, pos, len(window), "len_body")
            if size < _LEAST_BODY:
                read_record(window, pos, len(window), options)
        except FormatError as error:
            raise error.within("records", index, shift=stream.position) from None
        body, position = stream.position + after, stream.position + after + size
        if position - start > PART and index > first:
            before = stream.position + pos
            parts.append(Part(first, index - first, start, before - start))
            first, start = index, before
        index += 1
        if position - stream.position > len(stream.window) and not stream.skip_to(position):
            raise Truncated(f"records[{index - 1}].body", at=body, need=size, have=None)
    if index != count:
        raise Malformed("num_records", "not the number of records", at=position, need=index, have=count)
    parts.append(Part(first, index - first, start, position - start))
    return parts
