"""Helpers of generated readers and writers: options, lists, numbers, and errors that name the field."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import lru_cache
from mmap import mmap
from operator import index
from typing import Any, ClassVar, TypeVar

from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import EncodeError, FormatError, LimitExceeded, Malformed, Truncated, Unsupported
from kodec.runtime.floats import FloatStruct
from kodec.runtime.varint import read_uvarint32, write_uvarint32

__all__ = [
    "DEFAULT_READ",
    "DEFAULT_WRITE",
    "MIB",
    "REQUIRED",
    "AnyBuffer",
    "ReadOptions",
    "WriteOptions",
    "bit_field",
    "bounded_count",
    "encode_text",
    "ends_exactly",
    "ends_whole",
    "exact_size",
    "find_terminator",
    "fixed_run",
    "given",
    "lacking",
    "member_of",
    "not_allowed",
    "read_list",
    "read_numbers",
    "read_tags",
    "span",
    "too_many",
    "trimmed",
    "unfit",
    "unknown_version",
    "whole_bytes",
    "within",
    "write_list",
    "write_numbers",
    "write_tags",
]

MIB = 1 << 20
REQUIRED: Any = None
"""The default of an attribute that has to be given before it is written."""
AnyBuffer = bytes | bytearray | memoryview | mmap
"""What is read: bytes, also of a file that is mapped into memory."""
E = TypeVar("E", bound=IntEnum)
T = TypeVar("T")
_CODE = re.compile(r"\d*[a-zA-Z?]")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How strict a generated reader is, and how much it may allocate.

    Attributes:
        check_crc: verify checksum fields.
        verify: verify the other derived fields (last, max) against what they derive from.
        decompressed_bytes: the most bytes that all compressed fields of one input may decompress to.
        elements: the most elements that one list may have. A few bytes of input can become an object of
            a hundred, so a limit on bytes alone does not bound memory. Rows count together with their lists.
        depth: the most levels that objects read from streams may nest; an instance counts as a level.
        compressed: true inside decompressed bytes, where a second compression is refused.
        left: the bytes that may still be decompressed, if several fields share the limit (`counted`).
    """

    check_crc: bool = True
    verify: bool = True
    decompressed_bytes: int = 256 * MIB
    elements: int = 4_000_000
    depth: int = 100
    compressed: bool = False
    left: list[int] | None = field(default=None, repr=False, compare=False)

    def counted(self) -> ReadOptions:
        """The options for an input of several compressed fields, which share the limit."""
        return self if self.left is not None else replace(self, left=[self.decompressed_bytes])

    def most_decompressed(self) -> int:
        """The most bytes that the next compressed field may decompress to."""
        return self.decompressed_bytes if self.left is None else self.left[0]

    def take_decompressed(self, size: int) -> None:
        """Count `size` decompressed bytes."""
        if self.left is not None:
            self.left[0] -= size

    def inside(self, path: str, codec: str, at: int) -> ReadOptions:
        """The options for data that `codec` decompressed. Raises Malformed if compression would nest."""
        if self.compressed:
            raise Malformed(path, f"{codec} data inside compressed data", at=at)
        return replace(self, compressed=True)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a generated writer compresses: `level` is the codec's own scale; None is its default."""

    settling: ClassVar[bool] = False
    """Whether what does not fit is computed: `kodec.runtime.settling`."""

    level: int | None = None


DEFAULT_READ = ReadOptions()
DEFAULT_WRITE = WriteOptions()


class _Named(struct.Struct):
    """Adjacent fields of fixed width, with their names; `fixed_run` makes one."""

    names: tuple[str, ...]

    def _codes(self) -> list[str]:
        return _CODE.findall(self.format)

    def truncated(self, pos: int, end: int) -> Truncated:
        """The error for the first field from `pos` that does not end by `end`."""
        for name, code in zip(self.names, self._codes(), strict=True):
            size = struct.calcsize(">" + code)
            if pos + size > end:
                return Truncated(name, at=pos, need=size, have=max(0, end - pos))
            pos += size
        raise AssertionError("the run fits")

    def packed(self, *values: Any) -> bytes:
        """The bytes of these values. Raises EncodeError for the first that does not fit its field."""
        try:
            return self.pack(*values)
        except (struct.error, OverflowError):
            raise self._refused(values) from None

    def put(self, out: bytearray, at: int, value: int) -> None:
        """Overwrite a number in existing bytes. Raises EncodeError."""
        try:
            self.pack_into(out, at, value)
        except struct.error:
            raise self._refused((value,)) from None

    def _refused(self, values: Sequence[object]) -> EncodeError:
        for name, code, value in zip(self.names, self._codes(), values, strict=True):
            try:
                struct.pack(">" + code, value)
            except (struct.error, OverflowError):
                return unfit(name, code, value)
        raise AssertionError("every value fits")


class _NamedFloats(_Named, FloatStruct):
    pass


def whole_bytes(data: AnyBuffer) -> bytes:
    """All bytes of a buffer. Raises TypeError for what is none, such as the path of a file."""
    if isinstance(data, bytes):
        return data
    try:
        return bytes(memoryview(data))
    except TypeError:
        have = type(data).__name__
        raise TypeError(f"expected bytes, not {have}; of a file: pathlib.Path(...).read_bytes()") from None


def unfit(name: str, code: str, value: object) -> EncodeError:
    """The error for a value that a code of `struct` cannot store."""
    kind = code[-1]
    if value is None:
        return EncodeError(name, "not given")
    if kind == "s":
        return EncodeError(name, "not bytes", have=value)
    real = kind in "efd"
    if not hasattr(value, "__float__" if real else "__index__"):
        return EncodeError(name, "not a number" if real else "not a whole number", have=value)
    if real:
        return EncodeError(name, f"too large for {8 * struct.calcsize(kind)} bits", have=value)
    values = 1 << 8 * struct.calcsize(f"<{kind}")
    low = -values // 2 if kind.islower() else 0
    return EncodeError(name, "out of range", need=f"{low}..{low + values - 1}", have=value)


def fixed_run(form: str, *names: str) -> _Named:
    """Adjacent fields of fixed width: `form` is a format of `struct`, with a name for each of its codes."""
    run = (_NamedFloats if "f" in form else _Named)(form)
    run.names = names
    return run


def span(name: str, size: int, pos: int, end: int) -> int:
    """Where `size` bytes from `pos` end. Raises Malformed (negative size) or Truncated (past `end`)."""
    if size < 0:
        raise Malformed(name, "negative size", at=pos, need="at least 0", have=size)
    if size > end - pos:
        raise Truncated(name, at=pos, need=size, have=end - pos)
    return pos + size


def not_allowed(name: str, value: object, need: str, at: int) -> Malformed:
    """The error for a value that its schema does not allow."""
    return Malformed(name, "value not allowed", at=at, need=need, have=value)


def ends_exactly(name: str, pos: int, stop: int) -> int:
    """`stop`, when the content of a sized field ends there. Raises Malformed if bytes are left."""
    if pos != stop:
        raise Malformed(
            name, "bytes are left over after the field's content", at=pos, need=0, have=stop - pos
        )
    return stop


def ends_whole(pos: int, stop: int) -> None:
    """Raise Malformed if bytes follow the outermost object."""
    if pos < stop:
        raise Malformed(
            "", "bytes follow the object (`exact=False` allows them)", at=pos, need=0, have=stop - pos
        )


def bounded_count(name: str, count: int, least: int, pos: int, end: int, opt: ReadOptions) -> int:
    """Return `count` if the bytes left can hold this number of elements of at least `least` bytes.

    Raises Malformed (negative), Truncated or LimitExceeded: no list is allocated for a count that the bytes
    cannot hold. An element that may be empty counts as one byte, so a large count needs large input.
    """
    if count < 0:
        raise Malformed(name, "negative count", at=pos, need="at least 0", have=count)
    if count * max(least, 1) > end - pos:
        if least == 0:
            raise LimitExceeded(
                name, "more elements than bytes", at=pos, need=count, have=end - pos, limit="bytes present"
            )
        raise Truncated(name, at=pos, need=count * least, have=end - pos)
    if count > opt.elements:
        raise too_many(name, pos, opt)
    return count


def within(name: str, call: Callable[..., T], *args: Any) -> T:
    """Return `call(*args)`; prepend `name` to the path of its errors."""
    try:
        return call(*args)
    except (FormatError, EncodeError) as error:
        error.within(name)
        raise


def read_list(
    name: str,
    count: int,
    least: int,
    read: Callable[..., tuple[T, int]],
    buf: bytes,
    pos: int,
    end: int,
    opt: ReadOptions,
    *args: object,
) -> tuple[list[T], int]:
    """Read `count` elements of at least `least` bytes. Raises the errors of `bounded_count` and `read`."""
    bounded_count(name, count, least, pos, end, opt)
    found: list[T] = []
    try:
        while len(found) < count:
            item, pos = read(buf, pos, end, opt, *args)
            found.append(item)
    except FormatError as error:
        error.within(name, len(found))
        raise
    return found, pos


def write_list(
    out: bytearray,
    name: str,
    values: Sequence[T],
    write: Callable[..., None],
    opt: WriteOptions,
    *args: object,
) -> None:
    """Append each of `values` with `write`. Raises EncodeError."""
    done = 0
    try:
        for value in values:
            write(out, value, opt, *args)
            done += 1
    except EncodeError as error:
        error.within(name, done)
        raise


@lru_cache(maxsize=512)
def _several(code: str, count: int) -> struct.Struct:
    return struct.Struct(f"{code[0]}{count}{code[1]}")


def read_numbers(
    buf: bytes, pos: int, end: int, name: str, count: int, code: str, width: int, opt: ReadOptions
) -> tuple[list[int], int]:
    """Read `count` whole numbers; `code` is a format of `struct`, with the byte order.

    Raises the errors of `bounded_count`.
    """
    if not 0 <= count <= opt.elements or count * width > end - pos:
        bounded_count(name, count, width, pos, end, opt)
    return (list(_several(code, count).unpack_from(buf, pos)) if count else []), pos + count * width


def write_numbers(out: bytearray, name: str, values: Sequence[int], code: str) -> None:
    """Append whole numbers; `code` is a format of `struct`, with the byte order. Raises EncodeError."""
    try:
        out += _several(code, len(values)).pack(*values)
    except struct.error:
        for index, value in enumerate(values):
            try:
                struct.pack(code, value)
            except struct.error:
                raise unfit("", code, value).within(name, index) from None
        raise


def too_many(name: str, at: int, opt: ReadOptions) -> LimitExceeded:
    """The error for a list that has more elements than the options allow."""
    return LimitExceeded(
        name, "too many elements", at=at, need=opt.elements + 1, have=opt.elements, limit="elements"
    )


def unknown_version(name: str, version: object, known: str, at: int) -> Unsupported:
    """The error for a message version that the schema does not have."""
    return Unsupported(name, "unknown version", at=at, need=known, have=version)


def read_tags(buf: bytes, pos: int, end: int, name: str) -> tuple[list[tuple[int, int, int]], int]:
    """Read the frame of a tagged-field section: (tag, start, stop) for each field, and the end.

    Source: org.apache.kafka.common.protocol.types.TaggedFields (KIP-482).
    """
    count, pos = read_uvarint32(buf, pos, end, name)
    bounded_count(name, count, 2, pos, end, DEFAULT_READ)
    found = []
    for _ in range(count):
        tag, pos = read_uvarint32(buf, pos, end, name)
        size, pos = read_uvarint32(buf, pos, end, name)
        stop = span(name, size, pos, end)
        found.append((tag, pos, stop))
        pos = stop
    return found, pos


def write_tags(out: bytearray, tags: Sequence[tuple[int, bytes]], name: str) -> None:
    """Write a tagged-field section in ascending order of tags.

    Raises EncodeError for a repeated tag.
    """
    if not tags:
        out.append(0)
        return
    out += write_uvarint32(len(tags))
    last = -1
    for tag, data in sorted(tags, key=lambda item: item[0]):
        if tag == last:
            raise EncodeError(name, "the tag occurs twice", have=tag)
        last = tag
        out += write_uvarint32(tag)
        out += write_uvarint32(len(data))
        out += data


def bit_field(name: str, value: int, width: int) -> int:
    """Return `value` if it fits `width` bits. Raises EncodeError."""
    if isinstance(value, int) and 0 <= value < 1 << width:
        return value
    try:
        number = index(value)
    except TypeError:
        reason = "not given" if value is None else "not a number"
        raise EncodeError(name, reason, have=value) from None
    if not 0 <= number < 1 << width:
        raise EncodeError(name, f"does not fit {width} bits", have=value)
    return number


def encode_text(name: str, text: str, encoding: str, errors: str) -> bytes:
    """The bytes of `text`. Raises EncodeError for a character that the encoding does not have."""
    try:
        # Python would put a mark before the text
        return text.encode("utf-16-le" if encoding == "utf-16" else encoding, errors)
    except UnicodeEncodeError as error:
        raise EncodeError(name, f"not {encoding}: {error.reason}", have=text) from None


def exact_size(name: str, value: bytes, size: int) -> bytes:
    """Return `value` if it has `size` bytes. Raises EncodeError."""
    if len(value) != size:
        raise EncodeError(name, "wrong size", need=f"{size} bytes", have=f"{len(value)} bytes")
    return value


def given(name: str, value: T | None) -> T:
    """The value of a field that is needed here. Raises EncodeError if it is absent."""
    if value is None:
        raise EncodeError(name, "not given")
    return value


def lacking(value: object, error: Exception, name: str, *names: str) -> EncodeError:
    """The error of a value instance that is computed from `names`, one of which is None."""
    absent = next((each for each in names if getattr(value, each) is None), None)
    return (
        EncodeError(name, f"cannot be computed: {error}")
        if absent is None
        else EncodeError(absent, "not given")
    )


def member_of(kind: type[E], value: int) -> E | int:
    """The enum member with this value, or the plain value where the enum has none."""
    found: E | int = kind._value2member_map_.get(value, value)  # type: ignore[assignment]  # of any Enum
    return found


def trimmed(data: bytes, pad: int | None, terminator: bytes | None, include: bool) -> bytes:
    """What is left of bytes of a fixed size without what fills them up."""
    if pad is not None and (terminator is None or terminator[-1] != pad):
        data = data.rstrip(bytes([pad]))
    if terminator is not None:
        found = find_terminator(data, terminator)
        if found >= 0:
            data = data[: found + len(terminator) * include]
    return data


def find_terminator(data: bytes | bytearray, terminator: bytes) -> int:
    """Where a terminator stands in bytes, at a multiple of its own size; -1 where it does not."""
    found = data.find(terminator)
    while found >= 0 and found % len(terminator):
        found = data.find(terminator, found + 1)
    return found
