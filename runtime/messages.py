"""Methods of generated messages, in Python and natively, with the same values, bytes and errors.

A module of messages ends in a call of `use_native_methods` with a generated table: each class with its
fields in wire order, a `Wire` for each. Native code then replaces the methods `from_bytes`, `read_from`
and `to_bytes`, unless `KODEC_PURE=1` is in the environment. Where native code does not support the data,
or finds an error in it, the methods in Python start again: only they raise errors of the format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from kodec.runtime.dataclass import MISSING, fields
from kodec.runtime.fields import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions, ends_whole, given
from kodec.runtime.native import native_module

__all__ = ["Counted", "Message", "Only", "VersionedMessage", "Wire", "in_python", "use_native_methods"]


class Only(NamedTuple):
    """A number of a wire type with a single allowed value."""

    wire: str
    value: int


class Counted(NamedTuple):
    """A value with a length in front.

    Attributes:
        what: `text` or `bytes`, where the length counts bytes; `list`, where it counts elements; or `object`,
            where it shows whether the object exists.
        length: the wire type of the length.
        element: the kind of a list's elements, or the class of an object.
        plus: the number added to the length when it is stored.
        null: whether the value may be null; its stored length is then one less than that of an empty value.
    """

    what: str
    length: str
    element: Kind | None = None
    plus: int = 0
    null: bool = False


Kind = str | type | Only | Counted
"""The name of a wire type, `tags` for a section of tagged fields, or a class of the table."""


class Wire(NamedTuple):
    """A field on the wire.

    Attributes:
        name: its attribute. A field whose type depends on the version has a row for each type.
        first, last: the versions with this row; -1 if all have it, or the message has no versions.
        ignorable: whether a value is dropped in versions without the field.
        tag: its number in the section of tagged fields; -1 if it is outside.
        is_version: whether the value is the version.
    """

    name: str
    kind: Kind
    first: int = -1
    last: int = -1
    ignorable: bool = False
    tag: int = -1
    is_version: bool = False


class _Functions:
    """The functions of a module that read and write objects of a class."""

    __slots__ = ()
    _functions: ClassVar[tuple[Callable[..., tuple[Any, int]], Callable[..., None]]]


class Message(_Functions):
    """A message without versions, or whose bytes contain its version; or a part of one."""

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
            ends_whole(pos, len(buf))
        return value

    def to_bytes(self, opt: WriteOptions = DEFAULT_WRITE) -> bytes:
        """The bytes of this value; derived fields are computed. Raises EncodeError."""
        out = bytearray()
        self._functions[1](out, self, opt)
        return bytes(out)


class VersionedMessage(_Functions):
    """A message, or a part of one, whose version the caller passes: its bytes do not contain it.

    Objects keep the version with which they were read, which is that of `to_bytes` if no other is passed.
    """

    __slots__ = ()
    version: int | None

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
            ends_whole(pos, len(buf))
        return value

    def to_bytes(self, opt: WriteOptions = DEFAULT_WRITE, *, version: int | None = None) -> bytes:
        """The bytes of this value; derived fields are computed. Raises EncodeError."""
        version = given("version", self.version if version is None else version)
        out = bytearray()
        self._functions[1](out, self, opt, version)
        return bytes(out)


def use_native_methods(table: Mapping[type, tuple[Wire, ...]]) -> None:
    """Replace methods of the classes of a module, whose table this is, by native ones."""
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
    """The Python method that a native one replaces; any other method unchanged."""
    native = native_module("messages")
    if native is not None and isinstance(method, native.Function | native.Method):
        return method.__wrapped__
    return method


def _defaults(cls: type, rows: tuple[Wire, ...]) -> tuple[tuple[object, bool], ...]:
    """For each row the default of its attribute, and whether that is a function to call."""
    found = {each.name: each for each in fields(cls)}
    defaults = [found[row.name] for row in rows]
    return tuple(
        (each.default_factory, True) if each.default is MISSING else (each.default, False)
        for each in defaults
    )
