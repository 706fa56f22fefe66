"""Methods of generated messages, in Python and natively, with the same values, bytes and errors.

A module of messages ends in a call of `use_native_methods` with a generated table: each class with its
fields in wire order, a `Wire` for each. Native code then replaces the methods `from_bytes`, `read_from`
and `to_bytes`, unless `KODEC_PURE=1` is in the environment. Where native code does not support the data,
or finds an error in it, the methods in Python start again: only they raise errors of the format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from kodec.runtime.dataclass import MISSING, fields, is_dataclass
from kodec.runtime.errors import EncodeError
from kodec.runtime.fields import (
    DEFAULT_READ,
    DEFAULT_WRITE,
    AnyBuffer,
    ReadOptions,
    WriteOptions,
    ends_whole,
    given,
    whole_bytes,
)
from kodec.runtime.native import native_module
from kodec.runtime.settling import settled

__all__ = [
    "Counted",
    "Message",
    "Only",
    "Parametrized",
    "Peeking",
    "SettledMessage",
    "VersionedMessage",
    "Wire",
    "alike",
    "in_python",
    "use_native_methods",
]


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


def alike(first: Any, second: object, computed: tuple[str, ...]) -> bool:
    """Whether two objects are of one class and have the same fields.

    What a writer computes equals None, and the 0 of a new object.
    """
    of_one_class = second.__class__ is first.__class__
    if not of_one_class:
        return False
    blanks = getattr(first, "_follows", {})
    for each in fields(first):
        one, two = getattr(first, each.name), getattr(second, each.name)
        is_blank = each.name in computed and {None, blanks.get(each.name)} & {one, two}
        if each.compare and not is_blank and one != two:
            return False
    return True


class Parametrized:
    """What the methods of generated classes do, with the functions of their module and with parameters."""

    __slots__ = ()
    _functions: ClassVar[tuple[Callable[..., tuple[Any, int]], Callable[..., None]]]
    # the parameters that objects keep, in their order; those of the functions
    _parameters: ClassVar[tuple[str, ...]] = ()
    # fields that are computed whatever they are
    _computed: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _read_from(
        cls, buf: AnyBuffer, pos: int, end: int | None, opt: ReadOptions, arguments: tuple[Any, ...]
    ) -> tuple[Self, int]:
        data = whole_bytes(buf)
        return cls._functions[0](data, pos, len(data) if end is None else end, opt, *arguments)

    @classmethod
    def _from_bytes(
        cls, data: AnyBuffer, arguments: tuple[Any, ...], opt: ReadOptions, exact: bool | None
    ) -> Self:
        buf = whole_bytes(data)
        value: Self
        value, pos = cls._functions[0](buf, 0, len(buf), opt, *arguments)
        if exact is not False:
            ends_whole(pos, len(buf))
        return value

    @classmethod
    def _each_of(
        cls, data: AnyBuffer, name: str, arguments: tuple[Any, ...], opt: ReadOptions, exact: bool | None
    ) -> Iterator[Any]:
        found: Any = cls._from_bytes(data, arguments, opt, exact)
        for step in name.split("."):
            found = None if found is None else getattr(found, step)
        yield from found or ()

    def _to_bytes(self, opt: WriteOptions, arguments: tuple[Any, ...]) -> bytes:
        out = bytearray()
        try:
            self._functions[1](out, self, opt, *self._given(arguments))
        except EncodeError:
            raise
        except (TypeError, AttributeError, ValueError) as error:
            raise _unwritable(self, error) from error
        return bytes(out)

    def _settled(self, opt: WriteOptions, arguments: tuple[Any, ...]) -> bytes:
        """As `_to_bytes`; numbers that do not fit what is written are computed."""
        try:
            return settled(self, self._functions[1], opt, *self._given(arguments))
        except EncodeError:
            raise
        except (TypeError, AttributeError, ValueError) as error:
            raise _unwritable(self, error) from error

    def _given(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Parameters: what was read with the object, where no other is passed. Raises EncodeError."""
        names = zip(self._parameters, arguments, strict=True)
        return tuple(given(name, getattr(self, name) if each is None else each) for name, each in names)


class Peeking(Parametrized):
    """Objects with the numbers that were peeked to read them."""

    __slots__ = ("_peeked",)
    _peeked: dict[str, int]

    def _with_peeked(self, numbers: dict[str, int]) -> Self:
        self._peeked = numbers
        return self

    def _peeked_number(self, name: str) -> int | None:
        """A number that was peeked; None in a new object."""
        numbers = getattr(self, "_peeked", None)
        return None if numbers is None else numbers[name]


class Message(Parametrized):
    """A message without versions, or whose bytes contain its version; or a part of one."""

    __slots__ = ()

    @classmethod
    def read_from(
        cls, buf: AnyBuffer, pos: int = 0, end: int | None = None, opt: ReadOptions = DEFAULT_READ
    ) -> tuple[Self, int]:
        """Read one from `buf[pos:end]`; give it and the position after it. Raises FormatError."""
        data = whole_bytes(buf)
        return cls._functions[0](data, pos, len(data) if end is None else end, opt)

    @classmethod
    def from_bytes(
        cls, data: AnyBuffer, *, opt: ReadOptions = DEFAULT_READ, exact: bool | None = None
    ) -> Self:
        """Read one from all of `data`; bytes after it are an error unless `exact` is false.

        Raises FormatError.
        """
        buf = whole_bytes(data)
        value: Self
        value, pos = cls._functions[0](buf, 0, len(buf), opt)
        if exact is not False:
            ends_whole(pos, len(buf))
        return value

    @classmethod
    def each_of(
        cls, data: AnyBuffer, name: str, *, opt: ReadOptions = DEFAULT_READ, exact: bool | None = None
    ) -> Iterator[Any]:
        """The elements of the list `name`, or of one in an object that it holds: `body.rows`.

        The object is read as by `from_bytes` first. Raises FormatError.
        """
        return cls._each_of(data, name, (), opt, exact)

    def to_bytes(self, opt: WriteOptions = DEFAULT_WRITE) -> bytes:
        """The bytes of this value; derived fields are computed. Raises EncodeError."""
        out = bytearray()
        try:
            self._functions[1](out, self, opt)
        except EncodeError:
            raise
        except (TypeError, AttributeError, ValueError) as error:
            raise _unwritable(self, error) from error
        return bytes(out)


class SettledMessage(Message):
    """A message whose numbers are computed if they do not fit what is written."""

    __slots__ = ()

    def to_bytes(self, opt: WriteOptions = DEFAULT_WRITE) -> bytes:
        """The bytes of this value; derived fields are computed. Raises EncodeError."""
        try:
            return settled(self, self._functions[1], opt)
        except EncodeError:
            raise
        except (TypeError, AttributeError, ValueError) as error:
            raise _unwritable(self, error) from error


class VersionedMessage(Parametrized):
    """A message, or a part of one, whose version the caller passes: its bytes do not contain it.

    Objects keep the version with which they were read, which is that of `to_bytes` if no other is passed.
    """

    __slots__ = ()
    _parameters: ClassVar[tuple[str, ...]] = ("version",)
    version: int | None

    @classmethod
    def read_from(
        cls,
        buf: AnyBuffer,
        pos: int = 0,
        end: int | None = None,
        opt: ReadOptions = DEFAULT_READ,
        *,
        version: int,
    ) -> tuple[Self, int]:
        """Read one from `buf[pos:end]`; give it and the position after it. Raises FormatError."""
        data = whole_bytes(buf)
        return cls._functions[0](data, pos, len(data) if end is None else end, opt, version)

    @classmethod
    def from_bytes(
        cls, data: AnyBuffer, version: int, *, opt: ReadOptions = DEFAULT_READ, exact: bool | None = None
    ) -> Self:
        """Read one from all of `data`; bytes after it are an error unless `exact` is false.

        Raises FormatError.
        """
        buf = whole_bytes(data)
        value: Self
        value, pos = cls._functions[0](buf, 0, len(buf), opt, version)
        if exact is not False:
            ends_whole(pos, len(buf))
        return value

    @classmethod
    def each_of(
        cls,
        data: AnyBuffer,
        name: str,
        version: int,
        *,
        opt: ReadOptions = DEFAULT_READ,
        exact: bool | None = None,
    ) -> Iterator[Any]:
        """The elements of the list `name`, or of one in an object that it holds: `body.rows`.

        The object is read as by `from_bytes` first. Raises FormatError.
        """
        return cls._each_of(data, name, (version,), opt, exact)

    def to_bytes(self, opt: WriteOptions = DEFAULT_WRITE, *, version: int | None = None) -> bytes:
        """The bytes of this value; derived fields are computed. Raises EncodeError."""
        version = given("version", self.version if version is None else version)
        out = bytearray()
        try:
            self._functions[1](out, self, opt, version)
        except EncodeError:
            raise
        except (TypeError, AttributeError, ValueError) as error:
            raise _unwritable(self, error) from error
        return bytes(out)


def _unwritable(value: object, error: Exception) -> Exception:
    """The error for the first field whose value has another type than the schema's; otherwise `error`."""
    found = _wrong_in(value)
    return error if found is None else found


_REASONS = {"bytes": "not bytes", "str": "not text"}


def _wrong_in(value: Any) -> EncodeError | None:
    kind: Any = type(value)
    computed = {*getattr(kind, "_follows", ()), *kind._computed, *kind._parameters}
    for each in fields(value):
        if each.name in computed:
            continue
        hint = next(
            base.__annotations__[each.name] for base in kind.__mro__ if each.name in base.__annotations__
        )
        # a `_` at its end is that of a reserved word
        found = _wrong(getattr(value, each.name), hint, each.name.rstrip("_"))
        if found is not None:
            return found
    return None


def _wrong(value: Any, hint: str, name: str, index: int | None = None) -> EncodeError | None:
    """What is wrong with a value of the type that an annotation names; None if nothing is."""
    # not inside of brackets
    kinds = re.split(r" \| (?![^\[]*\])", hint)
    listed = next((each for each in kinds if each.startswith("list[")), "")
    if listed and isinstance(value, (list, tuple)):
        item = listed[len("list[") : -1]
        found = (_wrong(each, item, name, at) for at, each in enumerate(value))
        return next((each for each in found if each is not None), None)
    if {base.__name__ for base in type(value).__mro__}.intersection(kinds) or kinds[0].startswith("tuple["):
        inner = _wrong_in(value) if is_dataclass(value) else None
        return None if inner is None else inner.within(name, index)
    if value is None:
        reason = "" if "None" in kinds else "not given"
    elif isinstance(value, (bytearray, memoryview)) and "bytes" in kinds:
        reason = ""
    else:
        number = {"int", "float", "bool"}.intersection(kinds)
        reason = _REASONS.get(kinds[0], "not a list" if listed else f"not a {kinds[0]}")
        reason = ("" if isinstance(value, (int, float)) else "not a number") if number else reason
    return EncodeError("", reason, have=value).within(name, index) if reason else None


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
