"""Objects that are read from a stream and written to one: positions, parents, instances, bits.

Modules of streamed schemas stand on this file. A ByteSource is bytes that are read, a ByteSink those that are
written, a StreamNode what every class of such a module is. Positions in a schema count from the start of its
stream; `at` of an error counts from the start of the bytes.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from mmap import mmap
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeVar, cast
from weakref import ref

from kodec.runtime.checksums import CHECKSUMS, unpacked
from kodec.runtime.dataclass import fields
from kodec.runtime.errors import (
    CrcMismatch,
    EncodeError,
    FormatError,
    LimitExceeded,
    Malformed,
    Truncated,
    Unsupported,
)
from kodec.runtime.fields import (
    DEFAULT_READ,
    DEFAULT_WRITE,
    AnyBuffer,
    ReadOptions,
    WriteOptions,
    bit_field,
    encode_text,
    ends_whole,
    find_terminator,
    given,
    too_many,
    trimmed,
    unfit,
    whole_bytes,
)
from kodec.runtime.floats import FloatStruct
from kodec.runtime.native import native_module
from kodec.runtime.process import decode, encode, keeps_size
from kodec.runtime.settling import Key, Settling, Solve

__all__ = [
    "ByteSink",
    "ByteSource",
    "ReadingState",
    "StreamFields",
    "StreamNode",
    "use_native_reading",
]

_CODES = re.compile(r"\d*[a-zA-Z]")
_SPARE = 4096
_MOST_SHIFT = 128
_MOST_ZEROS = 256 << 20
_TOO_DEEP = "nested too deep for Python"
_NO_PLACE = "bytes after it that the schema does not describe have no place any more"

T = TypeVar("T")
N = TypeVar("N", bound="StreamNode")


class StreamFields:
    """Neighbours of fixed width, read and written by one call: `StreamFields("<HI", "tag", "size")`.

    A number of bits has the names and widths of its fields: `StreamFields(">BH", "kind:3 flags:5", "size")`.
    """

    __slots__ = ("names", "pack", "size", "unpack_from")

    def __init__(self, form: str, *names: str) -> None:
        packed = FloatStruct(form) if "f" in form else Struct(form)
        self.size, self.pack, self.unpack_from = packed.size, packed.pack, packed.unpack_from
        codes = _CODES.findall(form)
        self.names = tuple((name, form[0] + code) for name, code in zip(names, codes, strict=True))

    def short(self, io: ByteSource) -> NoReturn:
        """Raise Truncated for the first of them that is not whole."""
        for name, code in self.names:
            if ":" not in name:
                io.skip(Struct(code).size, name)
                continue
            end = 0
            for part in name.split():
                field, _, width = part.partition(":")
                start, end = end, end + int(width)
                io.skip((end + 7) // 8 - (start + 7) // 8, field)
        raise AssertionError("they are all there")


# By the name of a process and what it made: its arguments, the bytes that it was given, and what it made.
_Stored = dict[tuple[str, bytes], list[tuple[tuple[Any, ...], bytes, bytes]]]

# In the place of how many bits of a byte are left.
_FORGOTTEN = -1


class ReadingState:
    """What all streams of one reading have in common.

    Attributes:
        room: how many elements without bytes there may be in all lists: as many as there are bytes, about.
        empty: how many there were.
        inflated: how many bytes were decompressed, of all that may be.
        sought: the sources by which instances are being read, and what was read of their streams before.
        native: whether objects are read natively: not inside of what the native reader gave up.
        stored: what processes made bytes of, by what they made; None where objects are not kept.
        unchecked: objects with derived fields that need what is around them.
    """

    __slots__ = ("depth", "empty", "inflated", "native", "opt", "room", "sought", "stored", "unchecked")

    def __init__(self, opt: ReadOptions, size: int) -> None:
        self.opt = opt
        self.native = True
        self.depth = 0
        self.room = size + _SPARE
        self.empty = 0
        self.inflated = 0
        self.sought: list[tuple[ByteSource, ByteSource]] = []
        self.stored: _Stored | None = {}
        self.unchecked: list[StreamNode] = []

    def check(self) -> None:
        """Compare the derived fields of objects whose surroundings are read. Raises: FormatError."""
        while self.unchecked:
            self.unchecked.pop()._check()

    def go_back(self, count: int) -> None:
        """Have streams stand where they did when `count` instances were being read."""
        while len(self.sought) > count:
            found, before = self.sought.pop()
            found.leave(before)


def _number(code: str) -> Callable[[ByteSource, str], Any]:
    packed = FloatStruct(code) if "f" in code else Struct(code)
    size, unpack_from = packed.size, packed.unpack_from

    def read(self: ByteSource, name: str) -> Any:
        at = self.at
        if self.end - at < size:
            raise Truncated(name, at=at, need=size, have=max(0, self.end - at))
        self.at = at + size
        return unpack_from(self.buf, at)[0]

    return read


class ByteSource:
    """Bytes that are read: `buf[base:end]`, of which `at` is the next.

    An instance is read at its position by a source of its own (`seek`). The sources of one stream know which
    of them is read at the moment: expressions ask that one where the stream stands.

    Every method that reads names the field for its error. Raises: FormatError.
    """

    __slots__ = ("_bits", "_left", "_main", "_stand", "at", "base", "buf", "end", "state")

    def __init__(self, buf: bytes, base: int, end: int, state: ReadingState) -> None:
        self.buf = buf
        self.base = self.at = base
        self.end = end
        self.state = state
        self._bits = self._left = 0
        # Made by the first `seek`, which most streams never see: what is read at the moment, None for the
        # source that the stream began with, which the others know. So no source holds itself.
        self._stand: list[ByteSource | None] | None = None
        self._main: ByteSource | None = None

    @classmethod
    def of(cls, buf: bytes, opt: ReadOptions = DEFAULT_READ) -> ByteSource:
        """A stream of its own."""
        return cls(buf, 0, len(buf), ReadingState(opt, len(buf)))

    @property
    def current(self) -> ByteSource:
        """The source of this stream that is read at the moment."""
        found = None if self._stand is None else self._stand[0]
        return self._first if found is None else found

    @property
    def _first(self) -> ByteSource:
        """The source that the stream began with."""
        return self if self._main is None else self._main

    def is_stream_of(self, other: ByteSource) -> bool:
        """Whether both read one stream, at their own positions."""
        return self is other or (self._stand is not None and self._stand is other._stand)

    @property
    def pos(self) -> int:
        return self.current.at - self.base

    @property
    def size(self) -> int:
        return self.end - self.base

    @property
    def eof(self) -> bool:
        found = self.current
        return found.at >= self.end and found._left <= 0

    u1, s1 = _number("B"), _number("b")
    u2le, s2le, u4le, s4le = _number("<H"), _number("<h"), _number("<I"), _number("<i")
    u2be, s2be, u4be, s4be = _number(">H"), _number(">h"), _number(">I"), _number(">i")
    u8le, s8le, u8be, s8be = _number("<Q"), _number("<q"), _number(">Q"), _number(">q")
    f4le, f8le, f4be, f8be = _number("<f"), _number("<d"), _number(">f"), _number(">d")

    def unpack(self, fields: StreamFields) -> tuple[Any, ...]:
        """The values of neighbours of fixed width."""
        at = self.at
        stop = at + fields.size
        if stop > self.end:
            fields.short(self)
        self.at = stop
        return fields.unpack_from(self.buf, at)

    def between(self, start: int, stop: int) -> bytes:
        """Bytes by their positions."""
        return self.buf[self.base + start : self.base + stop]

    @property
    def place(self) -> int:
        """The position of what this very source reads next."""
        return self.at - self.base

    def skip(self, size: int, name: str) -> int:
        """Pass over `size` bytes; where they start."""
        at = self.at
        if size < 0:
            raise Malformed(name, "negative size", at=at, need="at least 0", have=size)
        if size > self.end - at and size:
            raise Truncated(name, at=at, need=size, have=max(0, self.end - at))
        self.at = at + size
        return at

    def raw(self, size: int, name: str) -> bytes:
        at = self.at
        stop = at + size
        if size < 0 or stop > self.end:
            stop = self.skip(size, name)
        self.at = stop
        return self.buf[at:stop]

    def rest(self) -> bytes:
        at, self.at = self.at, max(self.at, self.end)
        return self.buf[at : self.end]

    def until(
        self, terminator: bytes, name: str, *, include: bool = False, consume: bool = True, need: bool = True
    ) -> bytes:
        """Bytes to a terminator, which starts at a whole number of its own size.

        With `need` false, bytes without one reach to the end of the stream.
        """
        at, unit = self.at, len(terminator)
        stop = self.buf.find(terminator, at, self.end)
        while unit > 1 and stop >= 0 and (stop - at) % unit:
            stop = self.buf.find(terminator, stop + 1, self.end)
        if stop < 0:
            if need:
                raise Truncated(name, "no terminator", at=at, need=unit, have=0)
            return self.rest()
        self.at = stop + unit if consume else stop
        return self.buf[at : stop + unit * include]

    def part(self, size: int, name: str) -> ByteSource:
        """The next `size` bytes as a stream of their own."""
        at = self.at
        stop = at + size
        if size < 0 or stop > self.end:
            stop = self.skip(size, name)
        self.at = stop
        return ByteSource(self.buf, at, stop, self.state)

    def remaining(self) -> ByteSource:
        """All bytes that are left as a stream of their own."""
        at, self.at = self.at, max(self.at, self.end)
        return ByteSource(self.buf, at, self.at, self.state)

    def inside(self, data: bytes) -> ByteSource:
        """A stream of bytes that were made from those of this one."""
        self.state.room += len(data)
        return ByteSource(data, 0, len(data), self.state)

    def seek(self, pos: int, name: str) -> ByteSource:
        """The same stream, read from `pos` on; who calls it has the stream stand where it did again."""
        stand = self._stand
        if stand is None:
            stand = self._stand = [None]
        before = self.current
        if before._left:
            # Stock Kaitai forgets bits that are left: whoever goes on with them is given.
            before._bits, before._left = 0, _FORGOTTEN
        if pos < 0:
            raise Malformed(name, "negative position", at=self.base, need="at least 0", have=pos)
        found = ByteSource(self.buf, self.base, self.end, self.state)
        # no stream is longer, and objects keep where they start as a machine's integer
        found.at = min(self.base + pos, sys.maxsize)
        found._stand, found._main = stand, self._first
        stand[0] = found
        return found

    def leave(self, before: ByteSource) -> None:
        """End what `seek` began: the stream stands where `before` does."""
        if self._stand is not None:
            self._stand[0] = None if before._main is None else before

    def bits_be(self, width: int, name: str) -> int:
        """The next `width` bits, the most significant of a byte first."""
        size = (width - self._left + 7) // 8
        if size > 0:
            if self._left == _FORGOTTEN:
                self._refuse(name)
            at = self.skip(size, name)
            self._bits = self._bits << size * 8 | int.from_bytes(self.buf[at : self.at], "big")
            self._left += size * 8
        self._left -= width
        value = self._bits >> self._left
        self._bits &= (1 << self._left) - 1
        return value

    def bits_le(self, width: int, name: str) -> int:
        """The next `width` bits, the least significant of a byte first."""
        size = (width - self._left + 7) // 8
        if size > 0:
            if self._left == _FORGOTTEN:
                self._refuse(name)
            at = self.skip(size, name)
            self._bits |= int.from_bytes(self.buf[at : self.at], "little") << self._left
            self._left += size * 8
        self._left -= width
        value = self._bits & ((1 << width) - 1)
        self._bits >>= width
        return value

    def align(self) -> None:
        """Go on with a whole byte."""
        self._bits = self._left = 0

    def _refuse(self, name: str) -> NoReturn:
        raise Unsupported(name, "bits of the byte before were left when an instance was read", at=self.at)

    def fixed(self, contents: bytes, name: str) -> bytes:
        """Bytes that are always these."""
        found = self.raw(len(contents), name)
        if found != contents:
            raise Malformed(name, "wrong fixed bytes", at=self.at - len(found), need=contents, have=found)
        return found

    def text(self, data: bytes, encoding: str, errors: str, name: str) -> str:
        """Text that is stored as `data`, which were read last."""
        try:
            return data.decode(encoding, errors)
        except UnicodeDecodeError as error:
            raise Malformed(name, f"not {encoding}: {error.reason}", at=self.at) from None

    def processed(self, process: str, data: bytes, name: str, *args: Any) -> bytes:
        """What `process` makes of stored bytes, which were read last."""
        at, state = self.at - len(data), self.state
        limit = state.opt.decompressed_bytes
        if keeps_size(process):
            return decode(process, data, args, limit=limit, name=name, at=at)
        found = decode(process, data, args, limit=limit - state.inflated, name=name, at=at)
        state.inflated += len(found)
        if state.stored is not None:
            state.stored.setdefault((process, found), []).append((args, data, found))
        return found

    def refuse(self, name: str, reason: str, need: object, have: object, back: int = 0) -> NoReturn:
        """Raise Malformed for a value that a rule does not allow, which began `back` bytes ago."""
        raise Malformed(name, reason, at=self.at - back, need=need, have=have)

    def count(self, count: int, least: int, name: str, *, held: bool = True) -> Iterable[int]:
        """The indexes of `count` elements of at least `least` bytes, where the bytes can hold them.

        Elements without bytes are as many as there are bytes at all, at most, in all lists together. Here and
        below, lists that are not `held` in memory may have any number of elements.
        """
        # 8 elements may be the bits of a byte
        left = max(0, self.end - self.at) if least else 8 * self.state.room
        if count < 0:
            raise Malformed(name, "negative count", at=self.at, need="at least 0", have=count)
        if count * max(least, 1) > left:
            if least:
                raise Truncated(name, at=self.at, need=count * least, have=left)
            raise LimitExceeded(
                name, "more elements than bytes", at=self.at, need=count, have=left, limit="bytes present"
            )
        if held and count > self.state.opt.elements:
            raise too_many(name, self.at, self.state.opt)
        return range(count) if least else self._watched(range(count), name)

    def _watched(self, indexes: Iterable[int], name: str) -> Iterator[int]:
        """Indexes of a list of which an element may be without bytes; such are counted."""
        state = self.state
        for index in indexes:
            before, bits = self.at, self._left
            yield index
            if self.at == before and self._left == bits:
                state.empty += 1
                if state.empty > state.room:
                    reason = "more elements without bytes than there are bytes"
                    raise LimitExceeded(
                        name, reason, at=before, need=state.empty, have=state.room, limit="bytes present"
                    )

    def each(self, name: str, *, held: bool = True) -> Iterator[int]:
        """The indexes of a list that reaches to the end of the stream."""
        index, before = 0, (-1, 0)
        while self.at < self.end or self._left > 0:
            if before == (self.at, self._left):
                raise Malformed(name, "an element without bytes would repeat forever", at=self.at)
            if held and index >= self.state.opt.elements:
                raise too_many(name, self.at, self.state.opt)
            before = self.at, self._left
            yield index
            index += 1

    def again(self, name: str, *, held: bool = True) -> Iterator[int]:
        """The indexes of a list that a condition ends; elements without bytes are bounded as in `count`."""
        for index in self._watched(itertools.count(), name):
            if held and index >= self.state.opt.elements:
                raise too_many(name, self.at, self.state.opt)
            yield index

    def read(
        self,
        node: N,
        parent: StreamNode | None,
        name: str,
        index: int | None = None,
        root: StreamNode | None = None,
    ) -> N:
        """Read an object that stands next in this stream; `root` is that of an object without a parent."""
        state = self._enter(node, parent, name, root, index)
        native = node._native
        natively, inflated = state.native, state.inflated
        try:
            if native is None or not native.read(node, self):
                state.inflated = inflated
                node._read(self)
            if node._calculated is not None:
                node._stop = self.at
                if node._calculated:
                    node._check()
                else:
                    state.unchecked.append(node)
        except FormatError as error:
            raise error.within(name, index) from error.__cause__
        except RecursionError:
            raise _beyond_python("", self.at).within(name, index) from None
        finally:
            state.depth -= 1
            state.native = natively
        node._stop = self.at
        return node

    def instance(self, node: StreamNode, name: str) -> Any:
        """What an instance reads here, natively; None where Python has to."""
        native, inflated = node._native, self.state.inflated
        found = None if native is None else native.instance(node, name, self)
        if found is None:
            self.state.inflated = inflated
        return found

    def each_in(
        self,
        node: StreamNode,
        parent: StreamNode | None,
        name: str,
        path: tuple[str, ...],
        root: StreamNode | None = None,
    ) -> Iterator[Any]:
        """As `read`, but each element of the list at `path` in the object is given instead of kept.

        Where the object has no such list itself, or an expression asks for the list, it is kept.
        """
        if path[0] not in node._each:
            found: Any = self.read(node, parent, name, root=root)
            for step in path:
                found = None if found is None else getattr(found, step)
            yield from found or ()
            return
        state = self._enter(node, parent, name, root)
        node._keep()
        state.stored = None
        try:
            for each in node._read_each(self, path[0], path[1:]):
                if isinstance(each, StreamNode):
                    # nothing else holds what is around it
                    each._keep()
                yield each
            if node._calculated is not None:
                state.unchecked.append(node)
        except FormatError as error:
            raise (error.within(name) if name else error) from error.__cause__
        except RecursionError:
            raise _beyond_python(name, self.at) from None
        finally:
            state.depth -= 1
        node._stop = self.at

    def _enter(
        self,
        node: StreamNode,
        parent: StreamNode | None,
        name: str,
        root: StreamNode | None,
        index: int | None = None,
    ) -> ReadingState:
        """Begin an object; who calls it ends the object by `depth`."""
        state = self.state
        if state.depth >= state.opt.depth:
            error = _too_deep(name if index is None else "", self.at, state.depth, state.opt)
            raise error if index is None else error.within(name, index)
        node._io = self
        node._start = self.at
        node._depth = state.depth = state.depth + 1
        if parent is not None:
            link = node._around = _weakly(parent)
            node._outer = link if parent._outer is None else parent._outer
            node._is_le = parent._is_le
        if root is not None:
            node._outer = _weakly(root)
        return state


def _too_deep(name: str, at: int, depth: int, opt: ReadOptions) -> LimitExceeded:
    return LimitExceeded(name, "nested too deep", at=at, need=depth + 1, have=opt.depth, limit="depth")


def _beyond_python(name: str, at: int) -> LimitExceeded:
    """What a RecursionError becomes: `depth` may allow more than Python has room for."""
    most = sys.getrecursionlimit()
    return LimitExceeded(name, _TOO_DEEP, at=at, need=most + 1, have=most, limit="sys.setrecursionlimit")


def _packed(code: str) -> Callable[[ByteSink, Any, str], None]:
    pack = (FloatStruct(code) if "f" in code else Struct(code)).pack

    def write(self: ByteSink, value: Any, name: str) -> None:
        try:
            self.out += pack(value)
        except (StructError, OverflowError):
            raise unfit(name, code, value) from None

    return write


class _Searching(ByteSource):
    """Reads an object again, to find the bytes of one of its fields."""

    __slots__ = ("found", "name")

    def __init__(self, source: ByteSource, at: int, name: str) -> None:
        super().__init__(source.buf, source.base, source.end, ReadingState(source.state.opt, source.size))
        self.state.native = False
        self.at = at
        self.name = name
        self.found: bytes | None = None

    def raw(self, size: int, name: str) -> bytes:
        data = super().raw(size, name)
        if name == self.name and self.state.depth == 1:
            self.found = data
            raise Malformed(name, "it is found", at=self.at)
        return data


class _Writing(Settling):
    """What all streams of one writing have in common.

    Attributes:
        sizes: what streams whose size is asked for will have, by what is written to them.
        nodes: the objects that are being written.
        starts: where objects stand that were written, by their identity.
        known: the objects that were read, by stream and position, as they are in sequence.
        moved: by stream, the positions that objects had before, and those that they have now.
        calculated: the objects with fields to compute of the bytes.
        shrunk: the texts, by object and field, that no longer shrink the size that they had.
        stored: the bytes that were read of what processes make.
        written: all objects that were written, by their identity.
    """

    __slots__ = (
        "active",
        "calculated",
        "guesses",
        "inserted",
        "known",
        "later",
        "moved",
        "nodes",
        "opt",
        "origins",
        "own",
        "placed",
        "shrunk",
        "sizes",
        "starts",
        "stored",
        "touched",
        "unread",
        "written",
    )

    def __init__(self, opt: WriteOptions, stored: _Stored | None = None) -> None:
        self.opt = opt
        self.stored = stored
        self.active = True
        self.sizes: dict[int, int] = {}
        self.starts: dict[int, tuple[ByteSink, int]] = {}
        self.known: dict[tuple[int, int, int, type], StreamNode] = {}
        self.origins: dict[Key, int | None] = {}
        self.own: set[int] = set()
        self.inserted: dict[int, dict[Key, _Placed]] = {}
        self.touched: set[int] = set()
        self.shrunk: set[Key] = set()
        self.written: dict[int, StreamNode] = {}
        super().__init__()

    def begin(self) -> None:
        """Begin a pass."""
        super().begin()
        self.guesses = 0
        self.nodes: set[int] = set()
        self.later: list[Callable[[], None]] = []
        self.moved: dict[tuple[int, int], dict[int, int]] = {}
        self.calculated: list[StreamNode] = []
        self.placed: list[StreamNode] = []
        self.unread: list[StreamNode] = []

    def end(self) -> None:
        """End the writing: nothing of it is left in the objects, which would hold each other."""
        self.active = False
        for node in self.written.values():
            node._out = node._taught = None
            node._spans = node._read_spans()
        for each in (
            self.written, self.starts, self.known, self.inserted, self.later, self.calculated, self.placed,
            self.unread, self.journal, self.taught, self.changes,
        ):  # fmt: skip
            each.clear()

    def resumes(self) -> bool:
        """Whether instances were not read yet that have to move: then all that were read are written."""
        for each in self.unread:
            each._touch()
            self.touched.add(id(each))
        return bool(self.unread)

    def way_of(self, node: Any, name: str) -> Solve | None:
        if not isinstance(node, StreamNode):
            return None
        solver = type(node)._solvers.get(name)
        if solver is not None:
            return partial(solver, node)
        return None if node._taught is None else node._taught.get(name)

    def may_change(self, node: Any, name: str) -> bool:
        if not isinstance(node, StreamNode):
            return False
        # an instance that is read can be set, one that is computed cannot
        return name in node._follows or getattr(getattr(type(node), name, None), "fset", None) is not None

    def resize(
        self,
        name: str,
        wanted: int,
        stated: int,
        solve: Solve | None,
        reason: str,
        unit: str = "",
        of: str = "",
    ) -> None:
        """As `settle`, but a size that follows from that of a stream must be right once that is known."""
        if solve is None or not self._by_stream(solve(wanted)):
            self.settle(name, wanted, stated, solve, reason, unit, of)
        elif self.strict:
            self.settle(name, wanted, stated, None, reason, unit)
        else:
            self.doubtful = True

    def satisfied(self, need: object, solve: Solve | None) -> None:
        if self.blank and solve is not None and not self._by_stream(solve(need)):
            super().satisfied(need, solve)

    def _by_stream(self, found: Iterable[Any]) -> bool:
        """Whether the size of a stream is among what has to change."""
        for each in found:
            if isinstance(each, list):
                if self._by_stream(each):
                    return True
            elif each is not None:
                if isinstance(each[0], ByteSink):
                    return True
                solver = self.way_of(each[0], each[1])
                if solver is not None and self._by_stream(solver(each[2])):
                    return True
        return False

    def calculate(self) -> None:
        """Compute what follows from bytes that are there now."""
        for node in self.calculated:
            for field, value in node._unkept(lambda: [(each[0], each[1]()) for each in node._calculate()]):  # noqa: B023  # called here
                name, _, member = field.partition(".")
                # what is absent stays so
                if member and (inner := getattr(node, name)) is not None:
                    if getattr(inner, member) != value:
                        self.settle(field, value, getattr(inner, member), _way(inner, member), "-derive")
                elif getattr(node, name) is not None:
                    self.change(node, field, value, None, f"-derive of {field}")

    def relocate(self) -> None:
        """Have positions follow what has moved."""
        for node in self.placed:
            for name, (position, stream, solve, _) in type(node)._positions.items():
                source = stream(node) if node._io is not None else None
                moved = None if source is None else self.moved.get((id(source.buf), source.base))
                key = (id(node), name)
                if not moved or key not in self.origins:
                    continue
                before = self.origins[key]
                now = position(node)
                if before is None or before not in moved or now == moved[before]:
                    continue
                self.settle(name, moved[before], now, partial(solve, node), "moved")


def _way(node: Any, member: str) -> Solve:
    """The way to have an instance of an object be a value."""
    return lambda value: ((node, member, value),)


class ByteSink:
    """Bytes that are written: one after another to `out`, and those of instances at their positions.

    Attributes:
        out: what was written in sequence.
        base: the position of its first byte.
        limit: how many bytes the stream will have, if that is known.
        after: the terminator of a text that stands after it, at its position.
    """

    __slots__ = (
        "_bits",
        "_left",
        "_little",
        "_open",
        "_owner",
        "_unnamed",
        "_used",
        "after",
        "base",
        "done",
        "due",
        "limit",
        "out",
        "placed",
        "state",
        "value",
    )

    def __init__(
        self, state: _Writing, limit: int | None = None, owner: ByteSink | None = None, base: int = 0
    ) -> None:
        self.state = state
        self.done: bytes | None = None
        self.value: object = None
        self.out = bytearray()
        self.base = base
        self.limit = limit
        self._owner = owner
        self.placed: list[_Placed] = []
        self.due: list[tuple[int, bytes, bool, str]] = []
        self._used = False
        self._bits = self._left = 0
        self._little = False
        self._unnamed: list[_Unnamed] = []
        # where something ends that is read to the end of the stream
        self._open: list[tuple[int, EncodeError]] = []
        self.after = b""

    @property
    def owner(self) -> ByteSink:
        """What the whole stream is written to."""
        return self if self._owner is None else self._owner

    @property
    def pos(self) -> int:
        """The position of the next whole byte: one that was begun is read as a whole."""
        return self.base + len(self.out) + (self._left > 0)

    @property
    def place(self) -> int:
        """The position of what is written next."""
        return self.pos

    def between(self, start: int, stop: int) -> bytes | None:
        """Bytes by their positions, once all are there."""
        done = self.owner.done
        return None if done is None else done[start:stop]

    @property
    def size(self) -> int:
        """The size of the stream; until it is known, what it was in the pass before, or nothing."""
        owner = self.owner
        if owner.done is not None:
            return len(owner.done)
        owner._used = True
        if owner.limit is None:
            self.state.guesses += 1
            owner.limit = 0
        return owner.limit

    @property
    def eof(self) -> bool:
        return self.pos >= self.size and not self._left

    @property
    def full(self) -> bool:
        """Whether the stream is known to end here."""
        return self.owner.limit is not None and self.pos >= self.owner.limit

    u1, s1 = _packed("B"), _packed("b")
    u2le, s2le, u4le, s4le = _packed("<H"), _packed("<h"), _packed("<I"), _packed("<i")
    u2be, s2be, u4be, s4be = _packed(">H"), _packed(">h"), _packed(">I"), _packed(">i")
    u8le, s8le, u8be, s8be = _packed("<Q"), _packed("<q"), _packed(">Q"), _packed(">q")
    f4le, f8le, f4be, f8be = _packed("<f"), _packed("<d"), _packed(">f"), _packed(">d")

    def pack(self, fields: StreamFields, *values: Any) -> None:
        try:
            self.out += fields.pack(*values)
        except (StructError, OverflowError):
            for (name, code), value in zip(fields.names, values, strict=True):
                try:
                    Struct(code).pack(value)
                except (StructError, OverflowError):
                    raise unfit(name, code, value) from None

    def raw(
        self,
        value: bytes | None,
        size: int | None,
        name: str,
        solve: Solve | None = None,
        of: str = "",
    ) -> None:
        """Bytes, which must be `size` where that is said."""
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise EncodeError(name, "not given" if value is None else "not bytes", have=value)
        if size is not None:
            self.sized(len(value), size, name, solve, of)
        self.out += value

    def sized(self, have: int, size: int, name: str, solve: Solve | None, of: str) -> None:
        """Bytes are as many as the schema says, or that follows from a field, which is changed.

        `of` are the fields that it is computed of, where it is not known how to change them.
        """
        if have != size:
            self.state.resize(name, have, size, solve, "wrong size", " bytes", of)
        else:
            self.state.satisfied(have, solve)

    def counted(self, value: Any, count: int, name: str, solve: Solve | None = None, of: str = "") -> None:
        """Elements are as many as the schema says, likewise."""
        have = len(self.items(value, name))
        if have < count and id(value) in self.state.lists:
            # a list of numbers that are not known yet
            value += [0] * (count - have)
        elif have != count and id(value) not in self.state.lists:
            self.state.resize(name, have, count, solve, "wrong number of elements", of=of)
        else:
            self.state.satisfied(have, solve)

    def follows(self, node: StreamNode, name: str, there: bool, blank: object) -> bool:
        """Whether a field that follows from others is written: then something stands in it."""
        if there and getattr(node, name) is None:
            self.state.fill(node, name, blank)
        elif not there and getattr(node, name) is not None:
            self.state.journal.setdefault((id(node), name), (node, getattr(node, name)))
            setattr(node, name, None)
        return there

    def wanted(
        self,
        value: object,
        name: str,
        test: Callable[[], bool],
        solve: Solve | None = None,
        sizes: Solve | None = None,
        may_lack: bool = False,
    ) -> bool:
        """Whether a field is written: its condition holds, or is made to hold as there is a value.

        Without a value it is made not to hold, by its flag, or by its size; but not if what is there
        `may_lack` a value, as that of a switch without a case. Raises: EncodeError.
        """
        there, given = test(), value is not None
        if there == given or (there and may_lack):
            if solve is not None:
                self.state.satisfied(there, solve)
            return there
        if solve is not None:
            reason = "given, but its condition does not hold" if given else "not given"
            self.state.settle(name, given, there, solve, reason)
        elif sizes is not None and not given:
            with contextlib.suppress(EncodeError):
                self.state.settle(name, 0, None, sizes, "not given")
        there = test()
        if given and not there:
            if self.state.strict or sizes is None:
                raise EncodeError(name, "given, but its condition does not hold", have=value)
            # its size may make it hold
            self.state.doubtful = True
            return True
        return there

    def bits_be(self, value: Any, width: int, name: str) -> None:
        self._bits = self._bits << width | fitting(value, width, name)
        self._left += width
        self._little = False
        if self._left >= 8:
            size, self._left = divmod(self._left, 8)
            self.out += (self._bits >> self._left).to_bytes(size, "big")
            self._bits &= (1 << self._left) - 1

    def bits_le(self, value: Any, width: int, name: str) -> None:
        self._bits |= fitting(value, width, name) << self._left
        self._left += width
        self._little = True
        if self._left >= 8:
            size, self._left = divmod(self._left, 8)
            self.out += (self._bits & ((1 << size * 8) - 1)).to_bytes(size, "little")
            self._bits >>= size * 8

    def align(self) -> None:
        """End a byte that was begun; its other bits are zeros, or get what was there when it was read."""
        if self._left:
            others = (0xFF << self._left) & 0xFF if self._little else 0xFF >> self._left
            at = self.base + len(self.out)
            self._unnamed.append((at, at + 1, others))
            self.out.append(self._bits if self._little else self._bits << (8 - self._left))
            self._bits = self._left = 0

    def part(self, size: int | None, value: object, name: str) -> ByteSink:
        """A stream of `size` bytes within this one, to be given to `put`; None if that is unknown."""
        if size is not None and size < 0:
            # it may still change
            size = None
        limit = self.state.sizes.get(id(value), size)
        known = own_bytes(value) if limit is None else None
        return ByteSink(self.state, limit if known is None else len(known))

    def put(
        self,
        part: ByteSink,
        size: int | None,
        value: object,
        name: str,
        solve: Solve | None = None,
        of: str = "",
    ) -> None:
        """Append a part, which must be `size` bytes where that is said."""
        self.out += self.whole(part, size, value, name, solve, of)

    def whole(
        self,
        part: ByteSink,
        size: int | None,
        value: object,
        name: str,
        solve: Solve | None = None,
        of: str = "",
    ) -> bytes:
        """The bytes of a part, which must be `size` where that is said."""
        try:
            data = part.finish(value, size, grows=solve is not None)
        except EncodeError as error:
            raise error.within(name) from error.__cause__
        part.closed(len(data))
        if size is not None:
            self.sized(len(data), size, name, solve, of)
        if isinstance(value, StreamNode) and value._io is not None and value._io.buf == data:
            # the same object as was read: `processed` knows it
            return value._io.buf
        return data

    def seek(self, pos: int, name: str) -> ByteSink:
        """Where an instance is written; `place` puts it into the stream."""
        if pos < 0:
            raise EncodeError(name, "negative position", have=pos)
        return ByteSink(self.state, owner=self.owner, base=pos)

    def put_at(
        self,
        name: str,
        node: StreamNode,
        solve: Solve | None = None,
        of: str = "",
        *,
        align: int = 0,
        fill: int = 0,
    ) -> None:
        """Put an instance, written to what `seek` gave, at its position.

        `of` are the fields that this is computed of, where it is not known how to change them. Where `align`
        is not 0, one that is chosen is a multiple of it, and `fill` is in front of it.
        """
        self.align()
        owner = self.owner
        stop = self.base + len(self.out)
        self.closed(stop)
        node._span(name, self, self.base, stop)
        self.out += self.after
        stop += len(self.after)
        read = None if node._places is None else node._places.get(name)
        placed = _Placed(self.base, self.out, self._unnamed, name, solve, read, of, len(self.after))
        placed.align, placed.fill = align, fill
        if read is not None and placed.blank(self.state):
            if read[0] != self.base:
                # where it was read is as good as any other place
                self.state.settle(name, read[0], self.base, solve, "its position")
                return
            self.state.satisfied(self.base, solve)
        if owner.done is None:
            owner.placed.append(placed)
            return
        _fill(self.out, self.base, self._unnamed, owner.done)
        if owner.done[self.base : stop] != self.out or placed.shrunk(len(owner.done)):
            # that stream is whole already: it is written again with this in it
            others = self.state.inserted.setdefault(id(owner.value), {})
            before = others.get((id(node), name))
            if owner.value is None or (before is not None and before.data == self.out):
                raise EncodeError(name, "differs from what is written at its position", have=self.base)
            others[id(node), name] = placed
            self.state.changes.append(((id(node), name), None, bytes(self.out), name))
            return
        owner._settle(owner.done)

    def write(
        self,
        node: Any,
        kind: type[StreamNode],
        parent: StreamNode | None,
        name: str,
        index: int | None = None,
        root: StreamNode | None = None,
        params: dict[str, Any] | None = None,
        solve: dict[str, Solve] | None = None,
    ) -> None:
        """Write an object of a class next in this stream.

        `params` are what its parameters must be, `solve` has what these follow from.
        """
        if not isinstance(node, kind):
            reason = "not given" if node is None else f"not a {kind.__name__}"
            raise EncodeError("", reason, have=node).within(name, index)
        if id(node) in self.state.nodes:
            raise EncodeError("", "an object holds itself").within(name, index)
        if params is not None:
            for key, value in params.items():
                before = getattr(node, key)
                if before is not value:
                    self.state.journal.setdefault((id(node), key), (node, before))
                    setattr(node, key, value)
        node._link(parent, root)
        node._out = self
        node._taught = solve
        state = self.state
        state.written[id(node)] = node
        state.nodes.add(id(node))
        for field in node._blank_fields():
            state.fill(node, field, node._follows[field])
        self._stands(node)
        marks, node._marks = node._marks, None
        before = len(self._open)
        try:
            node._write(self)
            for _, error in self._open[before:]:
                error.within(name, index)
            node._span("", self, state.starts[id(node)][1], self.pos)
            if node._calculated is not None:
                state.calculated.append(node)
        except EncodeError as error:
            raise error.within(name, index) from error.__cause__
        except RecursionError:
            raise EncodeError("", _TOO_DEEP).within(name, index) from None
        finally:
            node._marks = marks
            self.state.nodes.discard(id(node))

    def _stands(self, node: StreamNode) -> None:
        """Remember where an object is written, and where it was read."""
        state, pos = self.state, self.pos
        state.starts[id(node)] = self.owner, pos
        source = node._io
        if source is None:
            return
        before = node._start - source.base
        if self is self.owner:
            state.known.setdefault((id(source.buf), source.base, before, type(node)), node)
        # what is in an instance moves with it, or within it
        if before != pos and self is self.owner:
            state.moved.setdefault((id(source.buf), source.base), {}).setdefault(before, pos)
        if node._positions:
            state.placed.append(node)
            node._origins(state)

    def told(self, node: Any, param: str, value: object, name: str) -> None:
        """See that a parameter of what was written is what its field says now. Raises: EncodeError."""
        have = getattr(node, param)
        if have != value:
            raise EncodeError(name, f"`{param}` depends on where the stream stands", need=value, have=have)

    def items(self, value: Any, name: str) -> Any:
        """A list, as it is. Raises: EncodeError if it is none."""
        if not isinstance(value, (list, tuple)):
            raise EncodeError(name, "not given" if value is None else "not a list", have=value)
        return value

    def text(self, value: Any, encoding: str, errors: str, name: str) -> bytes:
        """The bytes of a text."""
        if not isinstance(value, str):
            raise EncodeError(name, "not given" if value is None else "not text", have=value)
        return encode_text(name, value, encoding, errors)

    def ended(
        self, value: Any, terminator: bytes, name: str, *, include: bool, consume: bool, need: bool
    ) -> None:
        """Bytes up to a terminator, which they do not hold but at their end."""
        unit = len(terminator)
        if not isinstance(value, (bytes, bytearray)):
            raise EncodeError(name, "not given" if value is None else "not bytes", have=value)
        found = find_terminator(value, terminator)
        whole = include and found >= 0 and found == len(value) - unit
        if found >= 0 and not whole:
            raise EncodeError(name, "holds its terminator", need=terminator, have=value)
        if include and need and not whole:
            raise EncodeError(name, "does not end with its terminator", need=terminator, have=value)
        self.out += value[:-unit] if whole and not consume else value
        if whole and consume:
            return
        if not include and consume and (need or not self.full):
            self.out += terminator
        elif whole or not consume:
            # what follows must begin with it
            self.owner.due.append((self.pos, terminator, need or whole, name))
        else:
            self.owner.due.append((self.pos, b"", False, name))

    def ends(self, name: str) -> None:
        """What was written last is read to the end of its stream: nothing can follow."""
        self._open.append((self.pos, EncodeError(name, "is read to the end of its stream")))

    def closed(self, stop: int) -> None:
        """See that nothing follows what is read to the end, `stop`. Raises: EncodeError."""
        for pos, error in self._open:
            if pos != stop:
                error.reason += f", and {stop - pos} bytes follow it"
                raise error

    def _settle(self, out: bytes | bytearray) -> None:
        """See that what must follow does, where the stream does not end there. Raises: EncodeError."""
        for pos, wanted, need, name in self.due:
            at_end = pos >= len(out) and not need
            if not at_end and (not wanted or out[pos : pos + len(wanted)] != wanted):
                reason = "its terminator does not follow" if wanted else "without terminator before the end"
                raise EncodeError(name, reason, need=wanted or None)
        self.due.clear()

    def filled(
        self,
        value: Any,
        size: int | None,
        pad: int | None,
        terminator: bytes | None,
        include: bool,
        name: str,
        solve: Solve | None = None,
        of: str = "",
        node: StreamNode | None = None,
    ) -> bytes:
        """Bytes with what fills them up to `size`; it changes where they need more.

        A text of `node` that was read without its terminator is written without.
        """
        if not isinstance(value, (bytes, bytearray)):
            raise EncodeError(name, "not given" if value is None else "not bytes", have=value)
        data = bytes(value)
        state = self.state
        least = len(data) if terminator is None or include else len(data) + len(terminator)
        if size is None and self.owner is self and self.limit is not None:
            # it reaches to the end of a stream whose size is known
            size = self.limit - self.pos if self.limit - self.pos >= len(data) else None
        size = least if size is None else size
        shrinks = False
        if node is not None and terminator is not None and self._bare(node, name, data, size, terminator):
            least = len(data)
            # once: others may need the size
            shrinks = size > least and (id(node), name) not in state.shrunk
            state.shrunk.add((id(node), name))
        if size < len(data) or shrinks:
            if solve is None:
                raise EncodeError(name, "wrong size", need=f"at most {size} bytes", have=f"{len(data)} bytes")
            state.resize(name, least, size, solve, "wrong size", " bytes")
            size = least
        else:
            state.satisfied(size, solve)
        room = size - len(data)
        if terminator is not None and not include and room >= len(terminator):
            data += terminator
        fill = 0 if pad is None else pad
        if terminator is not None and find_terminator(data, terminator) >= 0:
            # after its terminator anything may stand
            self._unnamed.append((self.pos + len(data), self.pos + size, 0xFF))
        full = data + bytes([fill]) * (size - len(data))
        if trimmed(full, pad, terminator, include) != value:
            raise EncodeError(
                name, "could not be told from what fills it up", need=f"{size} bytes", have=value
            )
        return full

    def _bare(self, node: StreamNode, name: str, data: bytes, size: int, terminator: bytes) -> bool:
        """Whether a text was read without its terminator; one that stands after it stays there."""
        known = node._places is not None and name in node._places
        if not known:
            if size == len(data) or node._io is None:
                return False
            at = node._start + self.pos - self.state.starts[id(node)][1]
            if node._io.buf[at : at + size].startswith(data + terminator):
                # it is as it was read
                return False
        stored = node._stored(name)
        if stored is None or find_terminator(stored, terminator) >= 0:
            return False
        if known:
            assert node._places is not None
            source = node._places[name][1]
            stop = min(source.at + len(terminator), source.end)
            if data != stored and source.buf[source.at : stop] == terminator:
                self.after = terminator
        return True

    def processed(self, process: str, data: bytes, name: str, *args: Any) -> bytes:
        """The bytes to store, of which `process` makes `data`: those that were read, if it was."""
        state = self.state
        if state.opt.level is None and state.stored is not None:
            # Only of the content that was read, not of an equal one: bytes after the end of compressed ones
            # would come into fields that never had them. Python has one object for all empty contents.
            for given, stored, found in state.stored.get((process, data), ()):
                if found is data and given == args and len(data) > 1:
                    return stored
        return encode(process, data, args, name=name, level=state.opt.level)

    def refuse(self, name: str, reason: str, need: object, have: object) -> None:
        """Raise EncodeError for a value that a rule does not allow, once all that rules ask for is known."""
        if (self.state.guesses or self.state.blank) and not self.state.strict and have is not None:
            self.state.doubtful = True
            return
        raise EncodeError(name, "not given" if have is None else reason, need=need, have=have)

    def finish(
        self, value: object, size: int | None = None, *, grows: bool = False, part: bool = False
    ) -> bytes:
        """All bytes of this stream: what was written, instances at their positions, and in between what stood
        there when `value` was read, unless that is `part` of a stream. `grows`: whether it may become larger
        than `size`.

        Raises: EncodeError if an instance contradicts what stands at its position.
        """
        self.align()
        self.value = value
        out = self.out
        written = len(out)
        known = None if part else own_bytes(value)
        self.placed += self.state.inserted.get(id(value), {}).values()
        if known is not None and isinstance(value, StreamNode) and value._io is not None:
            before = value._stop - value._io.base
            if before == written:
                if size is None or len(known) == size or grows:
                    _fill(out, 0, self._unnamed, known)
                    out += known[written:]
            elif len(known) > before and value._tail_moves and not self.placed:
                out += known[before:]
            elif len(known) > before and id(value) not in self.state.touched:
                # what stands there has to be read before it can move
                self.state.unread.append(value)
                raise EncodeError("", _NO_PLACE, need=before, have=written)
            elif len(known) > before and not self._described(before, known, value):
                if written > before or not any(each.read_stop > before for each in self.placed):
                    raise EncodeError("", _NO_PLACE, need=before, have=written)
                # what stands at positions stays there, and so does what is between
                out += bytes(before - written) + known[before:]
        if self.placed:
            self._put_instances(out, written, known, value, None if grows else size)
        if self._used and self.limit is not None and len(out) != self.limit:
            if self.state.sizes.get(id(value)) == len(out):
                reason = "the size of the stream, with which the schema computes, has changed"
                raise EncodeError("", reason, need=self.limit, have=len(out))
            self.state.sizes[id(value)] = len(out)
            self.state.changes.append(((id(value), ""), None, repr(len(out)), "its size"))
        self._settle(out)
        self.done = bytes(out)
        return self.done

    def _described(self, start: int, known: bytes, value: StreamNode) -> bool:
        """Whether bytes after what was read in sequence are those of instances, or fill the room between."""
        placed = [(each.read[0], each.read_stop) for each in self.placed if each.read is not None]
        fills = bytes({0, *(each.fill for each in self.placed)})
        return any(_covered(start, known, each, fills) for each in (placed, value._ranges(known)))

    def _clear(self, out: bytearray, written: int, value: object) -> None:
        """Leave nothing of what was read where an instance has moved from, or has become smaller."""
        for each in self.placed:
            if each.read is None or each.blank(self.state):
                continue
            start = each.stop if each.stays else each.read[0]
            if not each.stays and isinstance(value, StreamNode) and id(value) not in self.state.touched:
                # others may stand there
                self.state.unread.append(value)
                raise EncodeError("", _NO_PLACE, need=each.read[0], have=each.pos)
            start, stop = max(start, written), min(each.read_stop, len(out))
            if start < stop:
                out[start:stop] = bytes([each.fill]) * (stop - start)

    def _put_instances(
        self, out: bytearray, written: int, known: bytes | None, value: object, size: int | None
    ) -> None:
        """Put instances at their positions; at the end where they have no room there any more."""
        state = self.state
        sequence = written
        if known is not None and isinstance(value, StreamNode) and value._io is not None:
            sequence = value._stop - value._io.base
        for each in self.placed:
            each.compare(known, out)
        if known is not None:
            self._clear(out, written, value)
        end = max([len(out), *(each.stop for each in self.placed if not each.blank(state))])
        done = [(0, written)]
        for each in sorted(self.placed, key=lambda each: (each.same, 0 if each.align else -len(each.data))):
            pos, data, blank = each.pos, each.data, each.blank(state)
            if not data and not blank:
                continue
            over = each.differs(out, done[:1])
            clash = over or each.differs(out, done[1:])
            if clash and each.same and each.read is not None and not (over and each.read[0] >= sequence):
                # it is a view, which nobody changed, of what is written here otherwise
                continue
            if each.solve is not None and (clash or blank or each.grown(len(out))):
                if each.moved(state):
                    # another one with the same position is
                    continue
                to = end + -end % (each.align or _alignment(4 if each.read is None else pos))
                state.settle(each.name, to, pos, each.solve, "has no room at its position")
                end = to + len(data)
                continue
            if clash:
                raise EncodeError(
                    each.name, each.fixed("differs from what is written at its position"), have=pos
                )
            if each.grown(len(out)):
                reason = each.fixed("larger than what was read at its position, which is fixed")
                raise EncodeError(each.name, reason, need=each.read_stop - pos, have=len(data))
            state.satisfied(pos, each.solve)
            if each.stop - len(out) > _MOST_ZEROS:
                raise EncodeError(
                    each.name, "too far behind what is written", need=len(out) + _MOST_ZEROS, have=pos
                )
            if len(out) < each.stop:
                if size is not None and each.stop > size:
                    raise EncodeError(each.name, "past the end of its stream", need=size, have=each.stop)
                out += bytes([each.fill]) * max(0, pos - len(out))
                out += bytes(each.stop - len(out))
            out[pos : each.stop] = data
            done.append((pos, each.stop))
        if known is not None and any(each.shrunk(len(known)) for each in self.placed):
            del out[max([written, *(each.stop for each in self.placed)]) :]


def _covered(start: int, known: bytes, ranges: list[tuple[int, int]], fills: bytes) -> bool:
    """Whether ranges cover all bytes from `start` on but those of `fills`."""
    behind = [each for each in sorted(ranges) if each[1] > start]
    for first, stop in behind:
        if known[start:first].translate(None, fills):
            return False
        start = max(start, stop)
    return bool(behind) and not known[start:].translate(None, fills)


class _Placed:
    """An instance with its position, and that at which it was read, with the source that read it."""

    __slots__ = ("after", "align", "data", "fill", "name", "of", "pos", "read", "same", "solve", "unnamed")

    def __init__(
        self,
        pos: int,
        data: bytearray,
        unnamed: list[_Unnamed],
        name: str,
        solve: Solve | None,
        read: tuple[int, ByteSource] | None,
        of: str,
        after: int,
    ) -> None:
        self.pos, self.data, self.unnamed, self.name, self.solve, self.read, self.of, self.after = (
            pos, data, unnamed, name, solve, read, of, after,
        )  # fmt: skip
        self.same = False
        self.align = self.fill = 0

    def fixed(self, reason: str) -> str:
        """The reason of an error about its position, with the fields to set."""
        return f"{reason}: set {self.of}" if self.of else reason

    @property
    def stop(self) -> int:
        return self.pos + len(self.data)

    def compare(self, known: bytes | None, out: bytearray) -> None:
        """Fill what no field names, and see whether it is `same` as what was read."""
        was = None if known is None or self.read is None else known[self.read[0] : self.read_stop]
        if was is not None and len(was) == len(self.data):
            moved = [(start - self.pos, stop - self.pos, others) for start, stop, others in self.unnamed]
            _fill(self.data, 0, moved, was)
        else:
            _fill(self.data, self.pos, self.unnamed, out)
        self.same = bytes(self.data) == was

    def differs(self, out: bytearray, ranges: list[tuple[int, int]]) -> bool:
        """Whether other bytes are written in its place already."""
        for start, end in ranges:
            low, high = max(start, self.pos), min(end, self.stop)
            if low < high and out[low:high] != self.data[low - self.pos : high - self.pos]:
                return True
        return False

    @property
    def stays(self) -> bool:
        """Whether it is where it was read."""
        return self.read is not None and self.read[0] == self.pos

    def shrunk(self, size: int) -> bool:
        """Whether it reached to the end of its stream, of `size` bytes, and does not any more."""
        return self.read is not None and self.read[0] == self.pos and self.stop < self.read_stop == size

    def grown(self, size: int) -> bool:
        """Whether it is longer than what was read at its position, with something behind it."""
        return (
            self.read is not None
            and self.read[0] == self.pos
            and self.read_stop < self.stop
            and self.read_stop < size
        )

    @property
    def read_stop(self) -> int:
        """The end of what was read, and of the terminator after it."""
        return 0 if self.read is None else self.read[1].at - self.read[1].base + self.after

    def moved(self, state: _Writing) -> bool:
        """Whether its position was changed in this pass."""
        changed = {key for key, *_ in state.changes}
        ways = [] if self.solve is None else state.ways(self.solve(self.pos))
        return any((id(node), field) in changed for way in ways for node, field, _, _ in way)

    def blank(self, state: _Writing) -> bool:
        """Whether nobody said where it is."""
        if not state.blank or self.solve is None:
            return False
        ways = state.ways(self.solve(self.pos))
        return any((id(node), field) in state.blank for way in ways for node, field, _, _ in way)


def _alignment(pos: int) -> int:
    """The largest power of two, up to 16, that a position is a multiple of."""
    return min(pos & -pos, 16) or 16


_Unnamed = tuple[int, int, int]
"""Bytes that no field names, or some bits of a byte: from where, to where, and which bits of them."""


def _fill(data: bytearray, base: int, unnamed: list[_Unnamed], there: bytes | bytearray) -> None:
    """What no field names is what it is `there`, in the bytes that `data` is for from `base` on."""
    for start, stop, others in unnamed:
        if stop > len(there):
            continue
        if others == 0xFF:
            data[start - base : stop - base] = there[start:stop]
        else:
            data[start - base] |= there[start] & others


def _whole(data: AnyBuffer) -> Any:
    """Bytes that do not change while they are read."""
    return data if isinstance(data, mmap) else whole_bytes(data)


def own_bytes(value: object) -> bytes | None:
    """The bytes of the stream that an object was read from, where it stands at its start."""
    if not isinstance(value, StreamNode) or value._io is None or value._start != value._io.base:
        return None
    return value._io.buf[value._io.base : value._io.end]


def fitting(value: Any, width: int, name: str) -> int:
    """A number of this many bits. Raises: EncodeError."""
    return value if type(value) is int and 0 <= value < 1 << width else bit_field(name, value, width)


_READING = object()


def _weakly(node: StreamNode | None) -> Any:
    return node if node is None or not _WEAK else ref(node)


def _target(link: Any) -> Any:
    """The object that a link leads to; None if it was freed."""
    return link() if link.__class__ is ref else link


def _strong(link: Any) -> Any:
    found = _target(link)
    return link if found is None else found


def _inside(node: StreamNode) -> list[Any]:
    """What an object holds, and what the lists in it do."""
    found = [getattr(node, each.name, None) for each in fields(node)]
    found += (node._values or {}).values()
    for each in found:
        if each.__class__ is list:
            # the lists in it come after
            found += each
    return found


def _is_unshared(top: StreamNode) -> bool:
    """Whether nobody has any part of an object. Then its parts need not look again when they are freed."""
    todo, done = [top], list[StreamNode]()
    while todo:
        node = todo.pop()
        parts = _inside(node)
        for part in parts:
            inner = isinstance(part, StreamNode)
            if (inner or part.__class__ is list) and getrefcount(part) > _UNSHARED:
                for each in done:
                    each._freed = False
                return False
            if inner and _target(part._around) is node:
                part._freed = True
                todo.append(part)
                done.append(part)
    return True


getrefcount: Callable[[object], int] = getattr(sys, "getrefcount", lambda _: 0)


def _count_unshared() -> int:
    """How many references are counted to what one list has alone, in a loop as that of `_is_unshared`."""
    owner = [object()]
    parts = [owner[0]]
    for part in parts:
        return getrefcount(part)
    raise AssertionError


def _is_free(entry: list[Any]) -> bool:
    """Whether an entry of those that stay alone has its object, and nobody any part of that."""
    return getrefcount(entry[0]) <= _ENTRY and _is_unshared(entry[0])


_entry: list[object] = [object()]
_UNSHARED, _ENTRY = _count_unshared(), getrefcount(_entry[0])
# without counts of references an object holds what is around it
_WEAK = _UNSHARED > 0


# Objects that stay because somebody has a part of them, each with how often that was looked at.
_staying: list[list[Any]] = []
_MOST_LOOKS = 3


def _stay(node: StreamNode) -> None:
    _staying.append([node, 0])
    if _collected not in gc.callbacks:
        gc.callbacks.append(_collected)


def _collected(phase: str, _: dict[str, int]) -> None:
    if phase == "start" and _staying:
        _release()


def _release() -> None:
    """Free the objects of which nobody has a part any more.

    Of one that somebody still has after some looks, the parts hold it: the collector of cycles frees them.
    """
    native = native_module("streams")
    is_free = _is_free if native is None else native.is_free
    entries: list[list[Any]] = []
    # whoever looks meanwhile, in another thread or in a collection, looks at others
    with contextlib.suppress(IndexError):
        while True:
            entries.append(_staying.pop())
    for entry in entries:
        if is_free(entry):
            entry.clear()
            continue
        entry[1] += 1
        if entry[1] < _MOST_LOOKS:
            _staying.append(entry)
        else:
            entry[0]._hold()


class _Rare:
    """What few objects have.

    Attributes:
        marks: values that depend on where the stream stood at their first use.
        out: the stream that the object is written to.
        places: where instances were read.
        spans: where the bytes of fields are.
        taught: how its parameters are changed.
        values: its instances.
    """

    __slots__ = ("marks", "out", "places", "spans", "taught", "values")

    def __init__(self) -> None:
        self.marks: dict[str, Any] | None = None
        self.out: ByteSink | None = None
        self.places: dict[str, tuple[int, ByteSource]] | None = None
        self.spans: dict[str, tuple[Any, int, int]] | None = None
        self.taught: dict[str, Solve] | None = None
        self.values: dict[str, Any] | None = None


class _Rarely(Generic[T]):
    """An attribute of `_Rare`; None in objects that have none."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, node: Any, owner: type) -> T:
        rare = None if node is None else node._rare
        found: Any = None if rare is None else getattr(rare, self.name)
        return cast("T", found)

    def __set__(self, node: Any, value: T) -> None:
        if node._rare is None:
            if value is None:
                return
            node._rare = _Rare()
        setattr(node._rare, self.name, value)


# What is copied and pickled of an object besides its fields.
_KEPT = ("_depth", "_io", "_is_le", "_marks", "_places", "_start", "_stop", "_values")


class _Node:
    """What every object has besides its fields; natively a structure in C."""

    __slots__ = (
        "__weakref__",
        "_around",
        "_depth",
        "_freed",
        "_io",
        "_is_le",
        "_outer",
        "_rare",
        "_start",
        "_stop",
    )

    # what is around it, and the outermost object: the objects, or weak references to them
    _around: Any
    _outer: Any
    _io: ByteSource | None
    _is_le: bool | None
    _rare: _Rare | None

    def __post_init__(self) -> None:
        self._around = self._outer = self._io = self._rare = self._is_le = None
        self._start = self._stop = self._depth = 0
        # whether nobody has it, nor a part of it, and it is being freed with what it is in
        self._freed = False

    def __del__(self) -> None:
        """Stay while somebody has a part of this object."""
        _end(self)


def _end(node: Any) -> None:
    """As `ks_finalize`. Of what the collector of cycles frees it has cleared the weak references."""
    if node.__weakref__ is not None and not getattr(node, "_freed", True) and not _is_unshared(node):
        _stay(node)


_streams = native_module("streams")
if TYPE_CHECKING or _streams is None:  # noqa: SIM108 - type checkers see one base
    _Base = _Node
else:
    _Base = _streams.Node


class StreamNode(_Base):
    """An object of a schema: its attributes are the fields, its properties the instances.

    An instance is read when it is first asked for, and kept; one that was given is written at its position.

    An object holds what is in it, and knows what is around it by a weak reference, so that nothing is left to
    the collector of cycles. An object that is about to be freed while somebody has a part of it stays
    (`__del__`) until nobody has: the next reading looks, or the collector.
    """

    __slots__ = ()

    __dataclass_fields__: ClassVar[dict[str, Any]]
    _part: ClassVar[bool] = False
    _parameters: ClassVar[tuple[str, ...]] = ()
    _instances: ClassVar[tuple[str, ...]] = ()
    # whether it, or what it holds, reads at positions, so that bytes after it may belong to instances
    _seeks: ClassVar[bool] = False
    _each: ClassVar[tuple[str, ...]] = ()
    _native: ClassVar[Any] = None
    _tail_moves: ClassVar[bool] = False
    _follows: ClassVar[dict[str, Any]] = {}
    _solvers: ClassVar[dict[str, Any]] = {}
    _positions: ClassVar[dict[str, tuple[Any, Any, Any, Any]]] = {}
    # whether fields are derived of bytes: True where these are the object's own
    _calculated: ClassVar[bool | None] = None
    # of few objects, as `_Rare` says
    _marks = _Rarely[dict[str, Any] | None]("marks")
    _out = _Rarely[ByteSink | None]("out")
    _places = _Rarely[dict[str, tuple[int, ByteSource]] | None]("places")
    _spans = _Rarely[dict[str, tuple[Any, int, int]] | None]("spans")
    _taught = _Rarely[dict[str, Solve] | None]("taught")
    _values = _Rarely[dict[str, Any] | None]("values")

    @property
    def _parent(self) -> Any:
        """The object around this one; None if there is none."""
        return self._reached(self._around, "_parent")

    @_parent.setter
    def _parent(self, parent: Any) -> None:
        self._around = parent

    @property
    def _root(self) -> Any:
        """The outermost object."""
        return self if self._outer is None else self._reached(self._outer, "_root")

    @_root.setter
    def _root(self, root: Any) -> None:
        self._outer = None if root is self else root

    def _reached(self, link: Any, name: str) -> Any:
        if link.__class__ is not ref:
            return link
        found = link()
        if found is None:
            raise Malformed(name, "it was freed after this object had been taken out of it", at=self._start)
        return found

    def _keep(self) -> None:
        """Hold what is around this object."""
        self._around, self._outer = _strong(self._around), _strong(self._outer)

    def _hold(self) -> None:
        """Have this object, and all that it holds, hold what is around them."""
        for node in self._nodes():
            node._keep()

    def __eq__(self, other: object) -> bool:
        """Whether both are of one class and have the same fields, however deep these are.

        None equals what a writer computes for it.
        """
        if other.__class__ is not self.__class__:
            return NotImplemented
        todo: list[tuple[Any, Any]] = [(self, other)]
        # objects that hold themselves are given by what is compared already
        seen: set[tuple[int, int]] = set()
        while todo:
            first, second = todo.pop()
            if first is second:
                continue
            if first.__class__ is not second.__class__ or not isinstance(first, (StreamNode, list, tuple)):
                if first != second:
                    return False
            elif isinstance(first, StreamNode):
                if (id(first), id(second)) in seen:
                    continue
                seen.add((id(first), id(second)))
                names = [spec.name for spec in fields(first) if spec.compare]
                for name in reversed(names):
                    pair = getattr(first, name), getattr(second, name)
                    if name not in first._follows or None not in pair:
                        todo.append(pair)
            elif len(first) != len(second):
                return False
            else:
                todo += zip(reversed(first), reversed(second), strict=True)
        return True

    def __repr__(self) -> str:
        """The fields as a call of the class shows them, however deep they are."""
        parts: list[str] = []
        # what is still to be shown: a value, or text, or the end of a value that is being shown
        todo: list[tuple[str, Any]] = [("value", self)]
        inside: set[int] = set()
        while todo:
            what, value = todo.pop()
            if what == "text":
                parts.append(value)
            elif what == "end":
                inside.discard(value)
            elif not isinstance(value, (StreamNode, list)):
                parts.append(repr(value))
            elif id(value) in inside:
                parts.append("...")
            else:
                inside.add(id(value))
                if isinstance(value, StreamNode):
                    begin, end = f"{type(value).__qualname__}(", ")"
                    shown = [
                        (f"{each.name}=", getattr(value, each.name)) for each in fields(value) if each.repr
                    ]
                else:
                    begin, end = "[", "]"
                    shown = [("", item) for item in value]
                todo += [("end", id(value)), ("text", end)]
                for index in range(len(shown) - 1, -1, -1):
                    name, item = shown[index]
                    todo += [("value", item), ("text", f", {name}" if index else name)]
                parts.append(begin)
        return "".join(parts)

    def __getstate__(self) -> Any:
        """Without what is left of writing the object, which cannot be pickled."""
        found: Any = super().__getstate__()
        own, state = found if isinstance(found, tuple) else (found, {})
        for name in _KEPT:
            state[name] = getattr(self, name)
        for name in ("_around", "_outer", "_freed", "_rare", "_out", "_taught"):
            state.pop(name, None)
        state["_spans"] = self._read_spans()
        state["_parent"] = _target(self._around)
        state["_root"] = self if self._outer is None else _target(self._outer)
        return own, state

    def __setstate__(self, state: tuple[dict[str, Any] | None, dict[str, Any]]) -> None:
        own, members = state
        self.__post_init__()
        if own:
            self.__dict__.update(own)
        for name, value in members.items():
            setattr(self, name, value)

    def _read_spans(self) -> dict[str, tuple[Any, int, int]] | None:
        """Where its fields were read, without where they are written."""
        if self._spans is None:
            return None
        return {name: span for name, span in self._spans.items() if not isinstance(span[0], ByteSink)} or None

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle and copy, which go into objects as deep as they are. Raises: LimitExceeded."""
        most = DEFAULT_READ.depth
        if self._depth > most:
            reason = "nested too deep to be pickled or copied"
            path = type(self).__name__
            raise LimitExceeded(path, reason, at=self._start, need=self._depth, have=most, limit="depth")
        return super().__reduce_ex__(protocol)

    def _link(self, parent: StreamNode | None, root: StreamNode | None) -> None:
        outer = root if root is not None or parent is None else parent._root
        if _target(self._around) is not parent:
            self._around = _weakly(parent)
        if outer is self or outer is None:
            self._outer = None
        elif _target(self._outer) is not outer:
            self._outer = _weakly(outer)
        if parent is not None:
            self._is_le = parent._is_le

    def _read(self, io: ByteSource) -> None:
        raise NotImplementedError

    def _read_each(self, io: ByteSource, name: str, path: tuple[str, ...]) -> Iterator[Any]:
        raise NotImplementedError

    def _write(self, io: ByteSink) -> None:
        raise NotImplementedError

    @classmethod
    def _made(cls, arguments: tuple[Any, ...]) -> Self:
        """A new object with its parameters, in their order."""
        return cls(**dict(zip(cls._parameters, arguments, strict=True)))

    @classmethod
    def _from_bytes(
        cls, data: AnyBuffer, arguments: tuple[Any, ...], opt: ReadOptions, exact: bool | None
    ) -> Self:
        if cls._part:
            raise Unsupported("", f"a {cls.__name__} is read as a part of what holds it", at=0)
        if _staying:
            _release()
        native = cls._native
        found = None if native is None or arguments else native.whole(cls, data, opt)
        if found is None:
            io = ByteSource.of(_whole(data), opt)
            found = io.read(cls._made(arguments), None, "")
        else:
            io = found._io
        if io.state.unchecked:
            io.state.check()
        if exact is not False and not (cls._seeks or cls._tail_moves):
            ends_whole(found._stop, io.end)
        if exact:
            found._touch()
            at = found._stop
            for start, stop in [*sorted(found._places_in(io.buf)), (io.end, io.end)]:
                if start > at:
                    raise Malformed(
                        "", "bytes that the schema does not describe", at=at, need=0, have=start - at
                    )
                at = max(at, stop)
        return found

    @classmethod
    def _read_from(
        cls, buf: AnyBuffer, pos: int, end: int | None, opt: ReadOptions, arguments: tuple[Any, ...]
    ) -> tuple[Self, int]:
        if cls._part:
            raise Unsupported("", f"a {cls.__name__} is read as a part of what holds it", at=pos)
        if _staying:
            _release()
        whole = _whole(buf)
        end = len(whole) if end is None else end
        io = ByteSource(whole, pos, end, ReadingState(opt, end - pos))
        found = io.read(cls._made(arguments), None, "")
        io.state.check()
        return found, found._stop

    @classmethod
    def _each_of(
        cls, data: AnyBuffer, name: str, arguments: tuple[Any, ...], opt: ReadOptions, exact: bool | None
    ) -> Iterator[Any]:
        if cls._part:
            raise Unsupported("", f"a {cls.__name__} is read as a part of what holds it", at=0)
        io = ByteSource.of(_whole(data), opt)
        node = cls._made(arguments)
        yield from io.each_in(node, None, "", tuple(name.split(".")))
        io.state.check()
        if exact is not False and not (cls._seeks or cls._tail_moves):
            ends_whole(node._stop, io.end)

    def _to_bytes(self, opt: WriteOptions, arguments: tuple[Any, ...]) -> bytes:
        """The bytes, with the object's own parameters where no others are passed."""
        if self._part and self._around is None and self._outer is None:
            raise EncodeError("", f"a {type(self).__name__} is written as a part of what holds it")
        before = {name: getattr(self, name) for name in self._parameters}
        passed = dict(zip(self._parameters, arguments, strict=True))
        state = _Writing(opt, None if self._io is None else self._io.state.stored)
        try:
            for name, own in before.items():
                setattr(self, name, given(name, own if passed[name] is None else passed[name]))
            return state.run(partial(self._written, state))
        except FormatError as error:
            raise EncodeError(error.path, f"cannot be computed: {error}") from error
        except (AttributeError, TypeError) as error:
            # of an expression
            raise EncodeError("", f"a value is missing, or of another type: {error}") from error
        finally:
            state.restore()
            state.end()
            for name, own in before.items():
                setattr(self, name, own)

    @classmethod
    def from_bytes(
        cls, data: AnyBuffer, *, opt: ReadOptions = DEFAULT_READ, exact: bool | None = None
    ) -> Self:
        """Read one from all of `data`.

        Bytes after it are an error, unless the type has instances with positions, to which they may belong.
        With `exact=True`, every byte must belong to the object or to an instance, all of which are read. With
        `exact=False`, bytes after it are allowed; `to_bytes` keeps them.
        Raises FormatError.
        """
        return cls._from_bytes(data, (), opt, exact)

    @classmethod
    def read_from(
        cls, buf: AnyBuffer, pos: int = 0, end: int | None = None, opt: ReadOptions = DEFAULT_READ
    ) -> tuple[Self, int]:
        """Read one from its stream `buf[pos:end]`; give it and the position after it. Raises FormatError."""
        return cls._read_from(buf, pos, end, opt, ())

    @classmethod
    def each_of(
        cls, data: AnyBuffer, name: str, *, opt: ReadOptions = DEFAULT_READ, exact: bool | None = None
    ) -> Iterator[Any]:
        """The elements of the list `name`, each as soon as it is read: none is kept here.

        It is a list of the object, or of an object that it holds: `body.rows`. There may be any number of
        elements, as `opt.elements` is about lists in memory. What is in a list or chosen by a switch, an
        instance, or a list that an expression asks for, is read whole first.
        Bytes after the object are as in `from_bytes`. Raises, also after the last element: FormatError.
        """
        return cls._each_of(data, name, (), opt, exact)

    def to_bytes(self, opt: WriteOptions = DEFAULT_WRITE) -> bytes:
        """The bytes of this object. Raises EncodeError."""
        return self._to_bytes(opt, ())

    def _written(self, state: _Writing) -> bytes:
        """The bytes, and what changes with them."""
        try:
            data = self._pass(state)
        except TypeError:
            # a number may be None that stands in an object behind
            blank = [(node, name) for node in self._nodes() for name in node._blank_fields()]
            if not blank:
                raise
            for node, name in blank:
                state.fill(node, name, node._follows[name])
            state.begin()
            data = self._pass(state)
        if not state.changes:
            state.relocate()
        if not state.changes:
            state.calculate()
        return data

    def _pass(self, state: _Writing) -> bytes:
        known = own_bytes(self) if self._around is None else None
        limit = state.sizes.get(id(self), None if known is None else len(known))
        out = ByteSink(state, limit)
        out.write(self, type(self), self._parent, "", root=self._root)
        # instances in other streams, which are there now
        for write in state.later:
            write()
        data = out.finish(self, part=self._around is not None and not self._has_stream())
        out.closed(len(data))
        return data

    def _has_stream(self) -> bool:
        """Whether its stream is another than that of the object around it."""
        around = self._parent._io if isinstance(self._parent, StreamNode) else None
        return around is not None and self._io is not None and not around.is_stream_of(self._io)

    def _blank_fields(self) -> list[str]:
        """The fields that are None, and follow from others."""
        return [
            name for name, blank in self._follows.items() if blank is not None and getattr(self, name) is None
        ]

    def _nodes(self) -> Iterator[StreamNode]:
        """This object and all that it holds, also in instances that were read."""
        seen, todo = set[int](), [self]
        while todo:
            at: Any = todo.pop()
            if isinstance(at, (list, tuple)):
                todo += at
            elif isinstance(at, StreamNode) and id(at) not in seen:
                seen.add(id(at))
                yield at
                todo += [getattr(at, each.name) for each in fields(at) if each.compare]
                todo += list((at._values or {}).values())

    def _touch(self) -> None:
        """Read every instance in this object, so that it is written."""
        for node in self._nodes():
            for name in node._instances:
                with contextlib.suppress(FormatError):
                    getattr(node, name)

    def _ranges(self, data: bytes) -> list[tuple[int, int]]:
        """Where instances stand in the bytes that this object was read from, whatever became of it since."""
        assert self._io is not None
        if self._part or self._around is not None:
            return []
        try:
            given_ = tuple(getattr(self, name) for name in self._parameters)
            read = self._from_bytes(data, given_, self._io.state.opt, exact=False)
        except FormatError:
            return []
        read._touch()
        return read._places_in(data)

    def _places_in(self, data: bytes) -> list[tuple[int, int]]:
        """The places of all instances that were read from the outermost stream, with these bytes."""
        found: list[tuple[int, int]] = []
        for node in self._nodes():
            for name, (pos, source) in (node._places or {}).items():
                # what failed to be read is not described
                if node._has(name) and source.buf is data and source.base == 0:
                    found.append((pos, source.at))
        return found

    @property
    def _stream(self) -> Any:
        """The stream that the object is written to, or was read from."""
        found = self._out if self._out is not None and self._out.state.active else self._io
        if found is None:
            raise EncodeError("", "the object was not read, so that it has no stream")
        return found

    def _has(self, name: str) -> bool:
        """Whether an instance was read or given."""
        return self._values is not None and self._values.get(name) is not None

    def _writes(self, name: str, io: ByteSink, solve: Solve | None = None) -> bool:
        """Whether an instance is written at its position: it was read or given, and is not elsewhere."""
        if not self._has(name):
            return False
        assert self._values is not None
        state = io.state
        place = state.starts.get(id(self._values[name]))
        if place is None or id(self._values[name]) in state.own:
            state.own.add(id(self._values[name]))
            return True
        if solve is not None and place[0] is io.owner:
            here = type(self)._positions[name][0](self)
            if here != place[1]:
                state.settle(name, place[1], here, solve, "its position")
            else:
                state.satisfied(here, solve)
        return False

    def _give(self, name: str, value: object, attribute: str = "") -> None:
        """Set an instance. What stood there is read first: its place is known then."""
        if self._io is not None and (self._places is None or name not in self._places):
            with contextlib.suppress(FormatError):
                getattr(self, attribute or name)
        if self._values is None:
            self._values = {}
        self._values[name] = value

    def _reading(self, stream: ByteSource | None, name: str) -> ByteSource:
        """What an instance without a position is read from."""
        if stream is None:
            raise Malformed(name, "its stream was not read", at=self._start)
        return stream.current

    def _stored(self, name: str) -> bytes | None:
        """The bytes that were read for an instance, or a field that is no list; None if that is unknown."""
        if self._places is not None and name in self._places:
            pos, source = self._places[name]
            return source.buf[source.base + pos : source.at]
        if self._io is None:
            return None
        io = _Searching(self._io, self._start, name)
        again = object.__new__(type(self))
        for each in fields(self):
            setattr(again, each.name, getattr(self, each.name))
        again.__post_init__()
        io._enter(again, _target(self._around), "", _target(self._outer))
        with contextlib.suppress(FormatError, EncodeError):
            again._read(io)
        return io.found

    def _sink(self, stream: object) -> ByteSink:
        """The stream that an instance is written to."""
        if not isinstance(stream, ByteSink) or not stream.state.active:
            raise EncodeError("", "the stream of an instance is not being written")
        return stream

    def _seek(self, stream: ByteSource | None, pos: int, name: str) -> ByteSource:
        """Where an instance is read, until `_instance` is done with it."""
        if stream is None or self._io is None:
            raise Malformed(name, "its stream was not read", at=self._start)
        if self._places is None:
            self._places = {}
        before = stream.current
        found = stream.seek(pos, name)
        self._places[name] = pos, found
        self._io.state.sought.append((found, before))
        return found

    def _place(self, name: str) -> int:
        """Where an instance was read that depends on where the stream stood then."""
        if self._places is None or name not in self._places:
            raise EncodeError(name, "its position depends on where the stream stood when it was read")
        return self._places[name][0]

    def _origins(self, state: _Writing) -> None:
        """Remember where instances were before anything is changed."""
        for name, (position, *_) in self._positions.items():
            key = (id(self), name)
            if key not in state.origins:
                state.origins[key] = None
                # an object that is missing is reported when it is written
                with contextlib.suppress(FormatError, EncodeError, AttributeError, TypeError):
                    state.origins[key] = position(self)

    # -- what is computed of bytes ----------------------------------------------------------------

    def _begin(self, name: str, io: ByteSource | ByteSink) -> None:
        """A field whose bytes are asked for begins."""
        self._span(name, io, io.place, io.place)

    def _end(self, name: str, io: ByteSource | ByteSink) -> None:
        assert self._spans is not None
        self._spans[name] = io, self._spans[name][1], io.place

    def _span(self, name: str, io: ByteSource | ByteSink, start: int, stop: int) -> None:
        if self._spans is None:
            self._spans = {}
        self._spans[name] = io, start, stop

    def _bytes_of(self, name: str) -> tuple[Any, int, int]:
        """The stream and the range of a field or an instance; of this object where `name` is empty."""
        writing = self._out is not None and self._out.state.active
        found = None if self._spans is None else self._spans.get(name)
        if found is not None and (not writing or isinstance(found[0], ByteSink)):
            return found
        if not name and self._io is not None:
            return self._io, self._start - self._io.base, self._stop - self._io.base
        if getattr(self, name) is not None and self._places is not None and name in self._places:
            pos, source = self._places[name]
            return source, pos, source.at - source.base
        raise self._wrong(name, "its bytes are needed, and it is not there")

    def _computed(
        self,
        function: str,
        owner: StreamNode,
        first: str,
        last: str,
        *,
        own: str = "",
        byte: int = 0,
        unpack: str = "",
        where: Callable[[Any], bool] | None = None,
    ) -> Any:
        """What a `-derive` computes of bytes, from one field to another. Raises: FormatError."""
        if where is not None:
            spans = [each for each in getattr(owner, first) or () if where(each)]
            if function == "count_of":
                return len(spans)
            if not spans:
                return 0
            start_of, stop_of = spans[0]._bytes_of(""), spans[-1]._bytes_of("")
        elif function == "count_of":
            return len(self._given(getattr(owner, first), first))
        else:
            start_of, stop_of = owner._bytes_of(first), owner._bytes_of(last)
        io, start, _ = start_of
        stop = stop_of[2]
        if function == "position_of":
            return start
        data = io.between(start, stop)
        if data is None:
            raise self._wrong(first, "its bytes are needed before they are written")
        if own and self._spans is not None and own in self._spans:
            _, low, high = self._spans[own]
            low, high = max(low, start), min(high, stop)
            if low < high:
                data = data[: low - start] + bytes([byte]) * (high - low) + data[high - start :]
        if unpack:
            limit = (DEFAULT_READ if self._io is None else self._io.state.opt).decompressed_bytes
            made = unpacked(unpack, data, limit)
            if made is None:
                raise self._wrong(first, f"it is no whole {unpack} stream")
            data = made
        return len(data) if function == "length_of" else CHECKSUMS[function](data)

    def _calculate(self) -> Iterable[tuple[str, Callable[[], Any], bool, str]]:
        return ()

    def _check(self) -> None:
        """Compare what follows from bytes with what was read. Raises: CrcMismatch, Malformed."""
        assert self._io is not None
        opt = self._io.state.opt
        if opt.check_crc or opt.verify:
            self._unkept(lambda: self._compare(opt))

    def _compare(self, opt: ReadOptions) -> None:
        for field, value_of, checksum, verify in self._calculate():
            if verify == "no" or not (opt.check_crc if checksum else opt.verify):
                continue
            have: Any = self
            for part in field.split("."):
                have = None if have is None else getattr(have, part)
            if have is None:
                continue
            value, name = value_of(), field.partition(".")[0]
            if have == value or (verify == "at_least" and have >= value):
                continue
            if checksum and isinstance(value, int):
                raise CrcMismatch(name, at=self._start, need=have, have=value)
            raise Malformed(name, "not what it is derived from", at=self._start, need=value, have=have)

    def _grouped(self, number: int, bits: int, held: str, member: str) -> list[Any]:
        """A number as groups of its bits, in the order in which the instance `member` gives it back."""
        parts: list[int] = []
        rest = number
        while rest > 0 or not parts:
            parts.append(rest & ((1 << bits) - 1))
            rest >>= bits
        more = 1 << bits
        for ordered in (parts, parts[::-1]):
            data = bytes([*(part | more for part in ordered[:-1]), ordered[-1]])
            with contextlib.suppress(FormatError):
                given_ = tuple(getattr(self, each) for each in self._parameters)
                made = self._from_bytes(data, given_, DEFAULT_READ, exact=False)
                if getattr(made, member) == number:
                    groups: list[Any] = getattr(made, held)
                    return groups
        raise self._wrong(member, "no groups of bits are this number", number)

    def _unkept(self, compute: Callable[[], T]) -> T:
        """What is computed, without the instances that were read for it: nobody asked for them."""
        before = dict(self._values or {})
        try:
            return compute()
        finally:
            if self._values is not None and self._values != before:
                self._values = before

    def _digits(self, number: int, base: int, like: Any) -> str:
        """A number as text of as many characters as there were."""
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"
        found, rest = "", max(number, 0)
        while rest or not found:
            rest, digit = divmod(rest, base)
            found = digits[digit] + found
        return found.rjust(len(like) if isinstance(like, str) else 0, "0")

    # -- what can fail in an expression ---------------------------------------------------------

    def _wrong(self, name: str, reason: str, have: object = None) -> Malformed:
        return Malformed(name, reason, at=0 if self._io is None else self._io.at, have=have)

    def _given(self, value: T | None, name: str) -> T:
        """A value that an expression needs. Raises: Malformed if missing; EncodeError in a new object."""
        if value is None:
            if self._io is None:
                raise EncodeError(name, "not given")
            raise self._wrong(name, "an expression needs it, and it is not there")
        return value

    def _argument(self, value: T | None, name: str) -> T:
        """A value that a type is given. Raises: Malformed if missing."""
        if value is None:
            raise self._wrong(name, "an argument is not there")
        return value

    def _as(self, value: Any, kind: type[T], name: str) -> T:
        if not isinstance(value, kind):
            raise self._wrong(name, f"an expression needs a {kind.__name__}", type(value).__name__)
        return value

    def _divide(self, left: Any, right: Any) -> Any:
        if right == 0:
            raise self._wrong("", "an expression divides by 0", left)
        return left / right if isinstance(left, float) or isinstance(right, float) else left // right

    def _modulo(self, left: Any, right: Any) -> Any:
        if right == 0:
            raise self._wrong("", "an expression divides by 0", left)
        return left % right

    def _shifted(self, left: int, by: int) -> int:
        """`left` shifted to the left by `by` bits, to the right where that is negative."""
        if not -_MOST_SHIFT <= by <= _MOST_SHIFT:
            raise self._wrong("", "an expression shifts by too many bits", by)
        return left << by if by >= 0 else left >> -by

    def _item(self, items: Any, index: int) -> Any:
        if not 0 <= index < len(items):
            raise self._wrong("", f"an expression needs element {index} of {len(items)}", index)
        return items[index]

    def _edge(self, function: Callable[[Any], Any], items: Any) -> Any:
        if not items:
            raise self._wrong("", "an expression needs an element of an empty list")
        return function(items)

    def _bytes(self, items: list[int]) -> bytes:
        try:
            return bytes(items)
        except (ValueError, TypeError):
            raise self._wrong("", "an expression needs bytes", items[:8]) from None

    def _number(self, text: str, base: int = 10) -> int:
        try:
            return int(text, base)
        except ValueError:
            raise self._wrong("", "an expression needs a number", text[:20]) from None

    def _whole(self, value: float) -> int:
        try:
            return int(value)
        except (OverflowError, ValueError):
            raise self._wrong("", "an expression needs a whole number", value) from None

    def _text(self, data: bytes, encoding: str, errors: str) -> str:
        try:
            return data.decode(encoding, errors)
        except UnicodeDecodeError:
            raise self._wrong("", f"an expression needs text in {encoding}", data[:20]) from None

    def _endian(self) -> bool:
        if self._is_le is None:
            raise Malformed("", "no byte order is known for this value", at=self._start)
        return self._is_le

    def _instance(self, name: str, read: Callable[[], T]) -> T | None:
        """The value of an instance, read at its first use."""
        values = self._values
        if values is None:
            values = self._values = {}
        if self._out is not None and self._out.state.active and (same := self._same(name)) is not None:
            written: T = same
            return written
        found: Any = values.get(name, self)
        if found is not self:
            if found is _READING:
                raise Malformed(name, "the instance needs itself", at=self._start)
            value: T | None = found
            return value
        if self._io is None:
            return None
        state = self._io.state
        # It may be asked for long after its object was read: it is as deep as that says.
        sought = len(state.sought)
        deep = max(state.depth, self._depth)
        if deep >= state.opt.depth:
            raise _too_deep(name, self._start, deep, state.opt)
        values[name] = _READING
        natively = state.native
        levels = deep + 1 - state.depth
        state.depth += levels
        try:
            value = read()
        except RecursionError:
            raise _beyond_python(name, self._start) from None
        finally:
            state.depth -= levels
            state.native = natively
            state.go_back(sought)
            del values[name]
        if value is not None:
            # what is absent may be there at its next use
            values[name] = value
        return value

    def _same(self, name: str) -> Any:
        """The object that is written in sequence where an instance was read, which is what it shows then."""
        found = self._positions.get(name)
        assert self._out is not None
        pos = self._out.state.origins.get((id(self), name))
        if found is None or pos is None or found[3] is None:
            return None
        source = found[1](self)
        if source is None:
            return None
        return self._out.state.known.get((id(source.buf), source.base, pos, found[3]()))

    def _mark(self, name: str, compute: Callable[[], T]) -> T:
        """A value that depends on where the stream stands: that of its first use."""
        marks = self._marks
        if marks is None:
            marks = self._marks = {}
        if name not in marks:
            marks[name] = compute()
        value: T = marks[name]
        return value

    def _mark_if(self, name: str, when: Callable[[], bool], compute: Callable[[], T]) -> T | None:
        """`_mark` from the first use on at which `when` holds; None before."""
        there = self._marks is not None and name in self._marks
        return self._mark(name, compute) if there or when() else None


def use_native_reading(table: Callable[[], dict[type, dict[str, Any]]], *classes: type[StreamNode]) -> None:
    """Have the classes of a module read natively, by what `table` returns of their steps.

    It is called when the first of them is read.
    """
    native = native_module("streams")
    if native is None:
        return
    once = cache(table)
    for cls in classes:
        cls._native = native.Unit(cls, once)


if _streams is not None:
    _streams.begin(sys.modules[__name__])
