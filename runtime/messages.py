"""What generated messages stand on: their methods, in Python and natively: the same values, bytes and errors.

A module of messages ends in a call of `natively` with a table, which the generator wrote: each class
with its fields, a line for each, as they stand on the wire. The native code then takes the place of the
methods `from_bytes`, `read_from` and `to_bytes`, unless `KODEC_PURE=1` is in the environment. What it
does not do, or finds wrong, the methods in Python do again from the start: they alone say what an error
is.

    FetchTopic                                  a class; its fields follow
      topic text:s2 4-11 ignorable              attribute, kind, versions; none: all those of the class
      topic text:uvarint32+1 12-12 ignorable    ignorable: a value is dropped by versions that lack it
      topic_id uuid 13-18 ignorable
      partitions list:s4:FetchPartition 4-11
      partitions list:uvarint32+1:FetchPartition 12-18
      cluster_id ?text:uvarint32+1 12-18 #0     #0: a tagged field, and its number
      tagged_fields tags 12-18                  the section of tagged fields, with those that are not known

A kind is
- a wire type: `u1` to `s8`, `f8`, `bool8`, `uuid`, `uvarint32`; `s2=3` where only 3 is allowed;
- `text:` or `bytes:` and the wire type of the length in front; `+1`: the length plus one is stored;
- `list:`, the wire type of the count, and the kind of the elements;
- a class of the table, in the same version;
- `?object:`, the wire type of what says whether it is there, and a class.
A `?` in front says that it may be null, which is stored as a length of -1. `version` behind a field
says that its value is the version.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache
from types import ModuleType
from typing import Any, ClassVar, Self

from kodec.runtime.fields import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions, ends_exactly

__all__ = ["Message", "VersionedMessage", "in_python", "natively"]

_NATIVE = "kodec.runtime.native.messages"


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


@cache
def _native() -> ModuleType | None:
    """The native code; None where pure Python was chosen, or nothing was built.

    Raises ImportError where it was built and cannot be imported.
    """
    if os.environ.get("KODEC_PURE") == "1" or importlib.util.find_spec(_NATIVE) is None:
        return None
    return importlib.import_module(_NATIVE)


def natively(module: dict[str, Any], table: str) -> None:
    """Put native methods in place of those of the classes of `module` that are in `table`."""
    native = _native()
    if native is None:
        return
    messages: dict[str, Any] = {}
    for part in table.strip().split("\n\n"):
        name, _, lines = part.partition("\n")
        cls = module[name]
        message = messages[name] = native.Message(cls, lines, messages, _parsed)
        cls.from_bytes = native.Function(message, "from_bytes", cls.from_bytes)
        cls.read_from = native.Function(message, "read_from", cls.read_from)
        cls.to_bytes = native.Method(message, "to_bytes", cls.to_bytes)


def in_python(method: Any) -> Any:
    """The method in Python that a native one stands in place of; any other method as it is."""
    native = _native()
    if native is not None and isinstance(method, native.Function | native.Method):
        return method.__wrapped__
    return method


def _parsed(cls: type, lines: str) -> tuple[tuple[object, ...], ...]:
    """The lines of a class, when it is first used.

    Each is (attribute, kind, first version, last version, ignorable, tag, default, whether that is called,
    whether it is the version); -1 where all versions have it, and where it is no tag.
    """
    defaults = {each.name: each for each in fields(cls)}
    found = []
    for line in lines.splitlines():
        name, kind, *rest = line.split()
        default = defaults[name]
        called = default.default is MISSING
        first, last, tag = -1, -1, -1
        for word in rest:
            if word[0] == "#":
                tag = int(word[1:])
            elif "-" in word:
                first, last = map(int, word.split("-"))
        found.append(
            (
                sys.intern(name),
                kind,
                first,
                last,
                "ignorable" in rest,
                tag,
                default.default_factory if called else default.default,
                called,
                "version" in rest,
            )
        )
    return tuple(found)
