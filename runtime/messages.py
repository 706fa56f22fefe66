"""What generated messages stand on: their methods, in Python and natively: the same values, bytes and errors.

A module of messages ends in a call of `use_native_methods` with a table, which the generator wrote: each
class with its fields as they stand on the wire, a `Wire` for each. The native code then takes the place of
the methods `from_bytes`, `read_from` and `to_bytes`, unless `KODEC_PURE=1` is in the environment. What it
does not do, or finds wrong, the methods in Python do again from the start: they alone say what an error
is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from kodec.runtime.dataclass import MISSING, fields
from kodec.runtime.fields import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions, ends_exactly
from kodec.runtime.native import native_module

__all__ = ["Counted", "Message", "Only", "VersionedMessage", "Wire", "in_python", "use_native_methods"]


class Only(NamedTuple):
    """A number of a wire type, of which only one value is allowed."""

    wire: str
    value: int


class Counted(NamedTuple):
    """What has a number in front that shows how long it is.

    Attributes:
        what: `text` or `bytes`, whose bytes the number counts; `list`, whose elements it counts; or `object`,
            of which it shows whether it exists.
        length: the wire type of that number.
        element: the kind of a list's elements, or the class of an object.
        plus: what is added to the number when it is stored.
        null: whether it may be null, which is stored as a number one below what nothing is stored as.
    """

    what: str
    length: str
    element: Kind | None = None
    plus: int = 0
    null: bool = False


Kind = str | type | Only | Counted
"""The name of a wire type, `tags` for a section of tagged fields, or a class of the table."""


class Wire(NamedTuple):
    """A field as it stands on the wire.

    Attributes:
        name: its attribute. A field that is something else in other versions has a row for each.
        first, last: the versions that have it so; -1 where all have, or there are none.
        ignorable: whether a value is dropped by versions that lack it.
        tag: its number in the section of tagged fields; -1 where it is outside.
        says_version: whether the value is the version.
    """

    name: str
    kind: Kind
    first: int = -1
    last: int = -1
    ignorable: bool = False
    tag: int = -1
    says_version: bool = False


class _Functions:
    """What reads and what writes objects of a class: the functions of its module."""

    __slots__ = ()
    _functions: ClassVar[tuple[Callable[..., tuple[Any, int]], Callable[..., None]]]


class Message(_Functions):
    """A message whose bytes say its version, or that has none; or a part of one."""

    __slots__ = ()

    @classmethod
    def read_from(
        cls, buf: bytes, pos: int = 0, end: int | None = None, opt: ReadOptions = DEFAULT_READ
    ) -> tuple[Self, int]:
        """Read one from `buf[pos:end]`; give it and the position after it. Raises FormatError."""
        return cls._functions[0](buf, pos, len(buf) if end is None else end, opt)

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, opt: ReadOptions = DEFAULT_READ, *, exact: bool = True
    ) -> Self:
        """Read one from all of `data`; bytes after it are an error unless `exact` is false.

        Raises FormatError.
        """
        buf = bytes(data)
        value: Self
        value, pos = cls._functions[0](buf, 0, len(buf), opt)
        if exact:
            ends_exactly("", pos, len(buf))
        return value

    def to_bytes(self, opt: WriteOptions = DEFAULT_WRITE) -> bytes:
        """The bytes of this value; derived fields are computed. Raises EncodeError."""
        out = bytearray()
        self._functions[1](out, self, opt)
        return bytes(out)


class VersionedMessage(_Functions):
    """A message, or a part of one, whose version is given: its bytes do not say it."""

    __slots__ = ()

    @classmethod
    def read_from(
        cls,
        buf: bytes,
        pos: int = 0,
        end: int | None = None,
        opt: ReadOptions = DEFAULT_READ,
        *,
        version: int,
    ) -> tuple[Self, int]:
        """Read one from `buf[pos:end]`; give it and the position after it. Raises FormatError."""
        return cls._functions[0](buf, pos, len(buf) if end is None else end, opt, version)

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        opt: ReadOptions = DEFAULT_READ,
        *,
        exact: bool = True,
        version: int,
    ) -> Self:
        """Read one from all of `data`; bytes after it are an error unless `exact` is false.

        Raises FormatError.
        """
        buf = bytes(data)
        value: Self
        value, pos = cls._functions[0](buf, 0, len(buf), opt, version)
        if exact:
            ends_exactly("", pos, len(buf))
        return value

    def to_bytes(self, opt: WriteOptions = DEFAULT_WRITE, *, version: int) -> bytes:
        """The bytes of this value; derived fields are computed. Raises EncodeError."""
        out = bytearray()
        self._functions[1](out, self, opt, version)
        return bytes(out)


def use_native_methods(table: Mapping[type, tuple[Wire, ...]]) -> None:
    """Put native methods in place of those of the classes of a module, whose table this is."""
    native = native_module("messages")
    if native is None:
        return
    messages: dict[type, Any] = {}
    for cls, rows in table.items():
        message = messages[cls] = native.Message(cls, rows, messages, _defaults)
        methods: Any = cls
        methods.from_bytes = native.Function(message, "from_bytes", methods.from_bytes)
        methods.read_from = native.Function(message, "read_from", methods.read_from)
        methods.to_bytes = native.Method(message, "to_bytes", methods.to_bytes)


def in_python(method: Any) -> Any:
    """The method in Python that a native one stands in place of; any other method as it is."""
    native = native_module("messages")
    if native is not None and isinstance(method, native.Function | native.Method):
        return method.__wrapped__
    return method


def _defaults(cls: type, rows: tuple[Wire, ...]) -> tuple[tuple[object, bool], ...]:
    """What the attribute of each row is in a new object, and whether that is called."""
    found = {each.name: each for each in fields(cls)}
    defaults = [found[row.name] for row in rows]
    return tuple(
        (each.default_factory, True) if each.default is MISSING else (each.default, False)
        for each in defaults
    )
