"""Compress and decompress record data as Kafka's Java code does, with a ceiling on the output.

One file per codec, registered by its presence: docs/changes-by-example.md adds one. Names are those of the
schemas, and ``lz4_legacy``: the LZ4 frames inside messages of magic 0, whose header checksum is wrong
(KIP-57). A file has the codec of its name, and variants whose names go on with `_`. It is imported when it is
first used. `register_codec` adds one from outside.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from kodec.runtime.compression.codec import Codec, joined, over_limit
from kodec.runtime.errors import ArgumentError, EncodeError, LimitExceeded, Truncated, Unsupported

__all__ = [
    "AT_ONCE",
    "CODECS",
    "Codec",
    "compress",
    "decompress",
    "may_be_large",
    "pieces",
    "register_codec",
    "registered_codecs",
]


if TYPE_CHECKING:
    CODECS: Mapping[str, Codec]
    """Every codec by name, with its levels: those of KIP-390 (Kafka 3.8); registered ones come to it."""

_registered: dict[str, Codec] = {}


@cache
def _files() -> frozenset[str]:
    from pkgutil import iter_modules

    return frozenset(file.name for file in iter_modules(__path__))


def _listed(file: str) -> tuple[Codec, ...]:
    """What a file of this folder lists in its `CODECS`; nothing else names a codec."""
    return getattr(import_module(f"{__name__}.{file}"), "CODECS", ())


def _codec(name: str) -> Codec | None:
    """The codec of this name; None if there is none."""
    return _own(name) or _registered.get(name)


@cache
def _own(name: str) -> Codec | None:
    file = name.partition("_")[0]
    listed = _listed(file) if file in _files() else ()
    return next((codec for codec in listed if codec.name == name), None)


def __getattr__(name: str) -> object:
    if name != "CODECS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _every()


@cache
def _every() -> Mapping[str, Codec]:
    own = {codec.name: codec for file in sorted(_files()) for codec in _listed(file)}
    return MappingProxyType(ChainMap(_registered, own))


def register_codec(codec: Codec) -> None:
    """Let schemas name a codec of one's own: as a value of the enum to which `-codec` refers.

    The schema has its number, as of every codec. Compiling, reading, writing and Spark's source of files use
    it then, within the limits of all codecs. Code in other languages, and native kernels, refuse it or leave
    it to Python. It cannot come to Kafka's own formats, whose schemas have numbers for Kafka's codecs only.

    Args:
        codec: whose name no codec of kodec's has; another one of that name is replaced. Spark's workers
            receive it pickled.

    Raises: ArgumentError for a name that a schema cannot have, or that kodec's own codecs have.

    Example:
        >>> import bz2, kodec
        >>> def decompress(data, limit): return bz2.BZ2Decompressor().decompress(bytes(data), limit + 1)
        >>> def compress(data, level): return bz2.compress(data, level)
        >>> codec = kodec.Codec("bzip2", decompress, compress, levels=(range(1, 10),), default_level=9)
        >>> kodec.register_codec(codec)
        >>> from kodec.runtime.compression import compress, decompress
        >>> decompress("bzip2", compress("bzip2", b"abc"), limit=3)
        b'abc'
    """
    name = codec.name
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or _own(name) is not None:
        raise ArgumentError(f"{name!r} is a codec of kodec itself, or no name of a value in a schema")
    _registered[name] = codec


def registered_codecs() -> tuple[Codec, ...]:
    """The codecs that are registered in this process, for another one."""
    return tuple(_registered.values())


AT_ONCE = 16 << 20
"""Output of more bytes than these is measured before it is held."""


def decompress(codec: str, data: bytes | memoryview, *, limit: int) -> bytes:
    """Decompress `data`, the whole compressed part of one batch or wrapper message.

    Args: `codec` is a name in `CODECS`; `limit` is the largest output to give, in bytes.
    Returns: at most `limit` bytes. What follows the part that Kafka's reader reads is ignored as
    there: junk after a gzip member, 1 to 3 bytes after snappy chunks, all after the LZ4 end mark.
    Memory: the output, and a few MiB. What is over the limit is refused before more than `AT_ONCE` is held
    (plus a zstd window, at most 128 MiB and touched only as far as output was made; one raw block of
    snappy, whose size is known before, is always decompressed at once).
    Raises: `LimitExceeded` (option ``decompressed_bytes``); `Truncated`, `Malformed` or
    `Unsupported` for bytes that Kafka's reader refuses too, among them an empty payload, and for
    an unknown codec. Their `path` is empty, `at` counts in `data`.
    Threads: safe to call from several at once.
    Source: the classes in ``org.apache.kafka.common.compress``; each file here names its own.
    """
    entry = _found(codec, data)
    if limit <= AT_ONCE or entry.pieces is None:
        content = entry.decompress(data, limit)
        if len(content) > limit:
            raise over_limit(codec, limit=limit)
        return content
    try:
        return entry.decompress(data, AT_ONCE)
    except LimitExceeded:
        # Measured first, holding a piece at a time.
        for _ in entry.pieces(data, limit):
            pass
    return joined(entry.pieces(data, limit))


def pieces(codec: str, data: bytes | memoryview, *, limit: int) -> Iterator[bytes]:
    """What `decompress` returns, in pieces of a few MiB where the codec has such; raises as it does."""
    entry = _found(codec, data)
    if entry.pieces is None:
        return iter((decompress(codec, data, limit=limit),))
    return entry.pieces(data, limit)


def may_be_large(codec: str, data: bytes | memoryview, *, limit: int) -> bool:
    """Whether the output may have more than `AT_ONCE` bytes, or pass the limit, by headers and sizes alone.

    Where the headers say no sizes (gzip), only the limit is asked for.

    Decompresses nothing. Raises: as `decompress`, for headers that are wrong.
    """
    entry = _found(codec, data)
    if entry.most is not None:
        return entry.most(data) > min(limit, AT_ONCE)
    return entry.expansion is None or len(data) * entry.expansion > limit


def _found(codec: str, data: bytes | memoryview) -> Codec:
    entry = _codec(codec)
    if entry is None:
        raise Unsupported("", "unknown codec", at=0, need=" or ".join(_every()), have=repr(codec))
    if not len(data) and codec != "none":
        raise Truncated("", f"{codec}: the payload is empty", at=0, need=1, have=0)
    return entry


def compress(codec: str, data: bytes | memoryview, *, level: int | None = None) -> bytes:
    """Compress `data` in the form that Kafka's Java producer writes.

    Args: `codec` is a name in `CODECS`; `level` is one of its levels, None for Kafka's default.
    Raises: `EncodeError` for an unknown codec (path ``compression``), for a level outside the
    codec's ranges or given to a codec that has none (path ``level``).
    Threads: safe to call from several at once.
    """
    entry = _codec(codec)
    if entry is None:
        raise EncodeError("compression", "unknown codec", need=" or ".join(_every()), have=codec)
    if level is None:
        level = entry.default_level or 0
    elif not entry.levels:
        raise EncodeError("level", f"{codec} has no levels", need=None, have=level)
    elif not any(level in levels for levels in entry.levels):
        ranges = " or ".join(f"{r[0]}..{r[-1]}" if len(r) > 1 else str(r[0]) for r in entry.levels)
        raise EncodeError("level", f"out of range for {codec}", need=ranges, have=level)
    return entry.compress(data, level)
