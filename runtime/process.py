"""Processes: transform stored bytes before they are parsed, and back (`process` in a schema).

`xor`, `rol`, `ror` and `zlib` are Kaitai's own. Register others by the name that schemas use:

    register("my_cipher", decode=lambda data, key: ..., encode=lambda data, key: ...)
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import EncodeError, LimitExceeded, Malformed, Unsupported

__all__ = ["Process", "decode", "encode", "keeps_size", "register"]

_SAME_SIZE = ("rol", "ror", "xor")


@dataclass(frozen=True, slots=True)
class Process:
    """Both directions of a process; `encode` is None if it cannot be undone."""

    decode: Callable[..., bytes]
    encode: Callable[..., bytes] | None


_KNOWN: dict[str, Process] = {}


def register(name: str, *, decode: Callable[..., bytes], encode: Callable[..., bytes] | None = None) -> None:
    """Register a process for all generated modules; both functions take the bytes and the arguments."""
    _KNOWN[name] = Process(decode, encode)


def keeps_size(process: str) -> bool:
    """Whether it makes as many bytes as it is given: these count for no limit of all together."""
    return process in _SAME_SIZE


def decode(process: str, data: bytes, args: tuple[Any, ...], *, limit: int, name: str, at: int) -> bytes:
    """The result of a process for stored bytes, at most `limit` bytes.

    Raises: Malformed, LimitExceeded; Unsupported for a process that is not registered.
    """
    if process == "zlib":
        return _inflate(data, limit, name, at)
    found = _KNOWN.get(process)
    if found is None:
        raise Unsupported(name, f"process `{process}` is not registered", at=at)
    try:
        made = bytes(found.decode(data, *args))
    except (ValueError, TypeError) as error:
        raise Malformed(name, f"{process}: {error}", at=at) from error
    if len(made) > limit:
        raise _over(process, limit, name, at)
    return made


def encode(process: str, data: bytes, args: tuple[Any, ...], *, name: str, level: int | None = None) -> bytes:
    """The bytes to store, from which the process makes `data`; `level` is zlib's. Raises: EncodeError."""
    if not isinstance(data, (bytes, bytearray)):
        raise EncodeError(name, "not given" if data is None else "not bytes", have=data)
    if process == "zlib":
        try:
            return zlib.compress(data, -1 if level is None else level)
        except zlib.error as error:
            raise EncodeError(name, f"zlib: {error}", have=level) from None
    found = _KNOWN.get(process)
    if found is None or found.encode is None:
        raise EncodeError(name, f"process `{process}` cannot be undone: nobody registered how")
    try:
        return bytes(found.encode(data, *args))
    except (ValueError, TypeError) as error:
        raise EncodeError(name, f"{process}: {error}") from error


def _over(process: str, limit: int, name: str, at: int) -> LimitExceeded:
    return LimitExceeded(name, process, at=at, need=limit + 1, have=limit, limit="decompressed_bytes")


def _inflate(data: bytes, limit: int, name: str, at: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        made = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise Malformed(name, f"zlib: {error}", at=at) from None
    if len(made) > limit:
        raise _over("zlib", limit, name, at)
    if not stream.eof:
        raise Malformed(name, "zlib: the data have no end", at=at)
    return made


def _xor(data: bytes, key: int | bytes) -> bytes:
    """XOR each byte with that of the key, which repeats."""
    if isinstance(key, int):
        if not 0 <= key <= 255:
            raise ValueError(f"the key {key} is no byte")
        return data.translate(bytes(byte ^ key for byte in range(256)))
    if not key:
        raise ValueError("the key is empty")
    long = (key * (len(data) // len(key) + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(long, "big")).to_bytes(len(data), "big")


def _rotate_left(data: bytes, bits: int) -> bytes:
    bits %= 8
    return data.translate(bytes((byte << bits | byte >> (8 - bits)) & 255 for byte in range(256)))


def _rotate_right(data: bytes, bits: int) -> bytes:
    return _rotate_left(data, -bits)


register("xor", decode=_xor, encode=_xor)
register("rol", decode=_rotate_left, encode=_rotate_right)
register("ror", decode=_rotate_right, encode=_rotate_left)
