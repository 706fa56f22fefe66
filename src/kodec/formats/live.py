"""Objects of a schema from a pipe or a socket, each as soon as its bytes are there, in bounded memory.

A `LiveSource` waits for the bytes that a reader asks for. Bytes of elements that are complete are dropped;
the objects that were read from them keep those that they need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NoReturn

from kodec.runtime.errors import (
    FormatError,
    LimitExceeded,
    ReadFailed,
    Truncated,
    Unsupported,
)
from kodec.runtime.fields import ReadOptions, too_many
from kodec.runtime.streams import ByteSource, ReadingState, StreamFields, StreamNode

__all__ = ["MOST_BYTES", "Readable", "each_live"]

MOST_BYTES = 64 << 20
"""The most bytes of one element."""
# few, so that objects do not outlive the collector's young generations
_PIECE, _DROPPED = 1 << 14, 1 << 12
if TYPE_CHECKING:
    import socket

    Readable = IO[bytes] | socket.socket
else:
    Readable = IO[bytes]


class _Feed:
    """Bytes that arrive: `buf` has those from position `dropped` on that are still needed."""

    def __init__(self, source: Readable, most: int) -> None:
        self.buf = b""
        self.dropped = 0
        self.done = False
        self.most = most
        self.read = _reader(source)

    def fill(self, stop: int, name: str) -> int:
        """Wait until `buf` has `stop` bytes or the input ends; how many arrived. Raises: LimitExceeded."""
        parts, size = [self.buf], len(self.buf)
        while size < stop and not self.done:
            if size >= self.most:
                reason = "the element is larger than what is held in memory"
                raise LimitExceeded(name, reason, at=0, need=stop, have=self.most, limit="most_bytes")
            try:
                part = self.read(_PIECE)
            except OSError as error:
                raise ReadFailed.of(error) from error
            self.done = not part
            parts.append(part)
            size += len(part)
        arrived = size - len(self.buf)
        if arrived:
            self.buf = b"".join(parts)
        return arrived


def _reader(source: Readable) -> Callable[[int], bytes]:
    """What returns the next bytes, as soon as there are some; none at the end."""
    import socket

    if isinstance(source, socket.socket):
        return source.recv
    read: Callable[[int], bytes] = getattr(source, "read1", source.read)
    return read


class _Held(ByteSource):
    """A stream whose bytes before some position are gone, so that `base` is below 0."""

    __slots__ = ()

    def seek(self, pos: int, name: str) -> ByteSource:
        self._is_held(pos, name)
        return super().seek(pos, name)

    def between(self, start: int, stop: int) -> bytes:
        self._is_held(start, "")
        return super().between(start, stop)

    def instance(self, node: StreamNode, name: str) -> Any:
        return None

    def _is_held(self, pos: int, name: str) -> None:
        if 0 <= pos < -self.base:
            reason = "bytes before the element are not kept when a stream is read"
            raise Unsupported(name, reason, at=self.at, need=pos, have=-self.base)


class LiveSource(_Held):
    """The outermost stream: what it lacks, it waits for.

    Attributes:
        nodes: the objects that were read from it since bytes were dropped.
        whole: the object whose elements they are, which is read as long as the stream.
    """

    __slots__ = ("feed", "nodes", "whole")

    def __init__(
        self, feed: _Feed, state: ReadingState, base: int = 0, nodes: list[StreamNode] | None = None
    ) -> None:
        super().__init__(feed.buf, 0, len(feed.buf), state)
        self.base = base
        self.feed = feed
        self.nodes: list[StreamNode] = [] if nodes is None else nodes
        self.whole: StreamNode | None = None

    def need(self, size: int, name: str) -> None:
        """Wait for `size` bytes."""
        if size > self.end - self.at:
            self.state.room += self.feed.fill(self.at + size, name)
            self.buf, self.end = self.feed.buf, len(self.feed.buf)

    def drop(self) -> None:
        """Drop the bytes before the next one. The objects that were read keep theirs."""
        if self.at < _DROPPED:
            return
        held = _Held(self.buf, 0, self.end, self.state)
        held.base = self.base
        for node in self.nodes:
            if node is not self.whole:
                node._io = held
        self.nodes.clear()
        feed = self.feed
        feed.buf = feed.buf[self.at :]
        feed.dropped += self.at
        self.base -= self.at
        self.buf, self.at, self.end = feed.buf, 0, len(feed.buf)

    # -- what asks how many bytes there are, asks for them first ------------------------------------

    @property
    def eof(self) -> bool:
        source = self.current
        if isinstance(source, LiveSource):
            source.need(1, "")
        return source.at >= source.end and source._left <= 0

    @property
    def size(self) -> int:
        self.no_size("")

    def no_size(self, name: str) -> NoReturn:
        raise Unsupported(name, "the size of a stream is unknown until it ends", at=self.at)

    def unpack(self, fields: StreamFields) -> tuple[Any, ...]:
        self.need(fields.size, "")
        return super().unpack(fields)

    def skip(self, size: int, name: str) -> int:
        self.need(size, name)
        return super().skip(size, name)

    def raw(self, size: int, name: str) -> bytes:
        self.need(size, name)
        return super().raw(size, name)

    def part(self, size: int, name: str) -> ByteSource:
        self.need(size, name)
        return super().part(size, name)

    def rest(self) -> bytes:
        self.need(self.feed.most + 1, "")
        return super().rest()

    def remaining(self) -> ByteSource:
        self.need(self.feed.most + 1, "")
        return super().remaining()

    def until(
        self, terminator: bytes, name: str, *, include: bool = False, consume: bool = True, need: bool = True
    ) -> bytes:
        while self.buf.find(terminator, self.at, self.end) < 0 and not self.feed.done:
            self.need(self.end - self.at + 1, name)
        start = self.at
        while not self.feed.done:
            # of a wide character, half of which may be found between two others
            try:
                return super().until(terminator, name, include=include, consume=consume)
            except Truncated:
                self.at = start
                self.need(self.end - self.at + 1, name)
        return super().until(terminator, name, include=include, consume=consume, need=need)

    def seek(self, pos: int, name: str) -> ByteSource:
        before = super().seek(pos, name)
        source = LiveSource(self.feed, self.state, self.base, self.nodes)
        source.at, source._stand, source._main = before.at, before._stand, before._main
        assert source._stand is not None
        source._stand[0] = source
        return source

    def count(self, count: int, least: int, name: str, *, held: bool = True) -> Iterator[int]:
        if count < 0:
            super().count(count, least, name, held=held)
        if held and count > self.state.opt.elements:
            raise too_many(name, self.at, self.state.opt)
        yield from range(count) if least else self._watched(range(count), name)

    def each(self, name: str, *, held: bool = True) -> Iterator[int]:
        self.need(1, name)
        for index in super().each(name, held=held):
            yield index
            self.need(1, name)

    def _enter(self, node: StreamNode, *others: Any) -> ReadingState:
        self.nodes.append(node)
        return super()._enter(node, *others)


def _number(name: str, size: int) -> Callable[[LiveSource, str], Any]:
    read = getattr(ByteSource, name)

    def call(self: LiveSource, field: str) -> Any:
        self.need(size, field)
        return read(self, field)

    return call


for _width, _kinds in ((1, "us"), (2, "us"), (4, "usf"), (8, "usf")):
    for _kind in _kinds:
        for _order in ("",) if _width == 1 else ("le", "be"):
            setattr(LiveSource, f"{_kind}{_width}{_order}", _number(f"{_kind}{_width}{_order}", _width))


def each_live(
    kind: type[StreamNode],
    path: tuple[str, ...],
    source: Readable,
    options: ReadOptions,
    most: int,
    arguments: tuple[Any, ...] = (),
) -> Iterator[Any]:
    """The elements of a list of a type, or with no path one object of the type after another; `arguments` are
    its parameters.

    Derived fields that need bytes outside of their object are not checked. Raises: FormatError, whose places
    count from the start of the stream; ReadFailed.
    """
    feed = _Feed(source, most)
    state = ReadingState(options, 0)
    state.native = False
    io = LiveSource(feed, state)
    io.whole = kind._made(arguments)
    try:
        for element in io.each_in(io.whole, None, "", path) if path else _again(io, kind, arguments):
            state.unchecked.clear()
            yield element
            io.drop()
        io.need(1, "")
        if io.at < io.end:
            raise Truncated("", "bytes after the end of the format", at=io.at, need=0, have=io.end - io.at)
    except FormatError as error:
        error.at += feed.dropped
        raise


def _again(io: LiveSource, kind: type[StreamNode], arguments: tuple[Any, ...]) -> Iterator[StreamNode]:
    """Objects up to the end of the stream."""
    index = 0
    while not io.eof:
        before = io.at + io.feed.dropped
        try:
            yield io.read(kind._made(arguments), None, "")
        except FormatError as error:
            raise error.within("", index) from error.__cause__
        if io.at + io.feed.dropped == before:
            raise Truncated("", "an object without bytes would repeat forever", at=io.at, need=1, have=0)
        index += 1
