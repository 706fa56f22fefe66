"""Read, write and size the three variable-length integers of Kafka's formats.

The rules are those of `org.apache.kafka.common.utils.ByteUtils`. An integer is written in groups
of 7 bits, least significant group first; the high bit of a byte says that another follows. A
longer form than needed is accepted (``80 00`` is 0) if it ends within 5 bytes (32-bit) or 10
(64-bit). The bits of the last byte that do not fit are dropped. Writers use the shortest form.

Readers take ``(buf, pos, end, name)``: `pos` is where the integer starts, `end` (at most
``len(buf)``) is where its container ends, both in bytes; `name` is the field, for the error's
`path`. They return ``(value, position after it)`` and raise `Truncated` if `end` comes first,
`Malformed` if the last allowed byte announces another.
"""

from __future__ import annotations

from struct import unpack
from typing import NoReturn

from kodec.runtime.errors import EncodeError, Malformed, Truncated

__all__ = [
    "UNZIGZAG_1",
    "UNZIGZAG_2",
    "ZIGZAG_SMALL",
    "ZIGZAG_VALUES",
    "read_uvarint32",
    "read_zigzag32",
    "read_zigzag64",
    "size_uvarint32",
    "size_zigzag32",
    "size_zigzag64",
    "write_uvarint32",
    "write_zigzag32",
    "write_zigzag64",
]

_BYTES_32, _BYTES_64 = 5, 10
_MASK_32, _MASK_64 = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF


def _read_long(buf: bytes | memoryview, pos: int, end: int, name: str, most: int) -> tuple[int, int]:
    """Read an unsigned integer of at most `most` bytes; bits past the type's width are kept."""
    raw = shift = 0
    for byte in buf[pos : min(end, pos + most)]:
        raw |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return raw, pos + shift // 7
    if end - pos < most:
        have = max(end - pos, 0)
        raise Truncated(name, "varint", at=pos, need=have + 1, have=have)
    raise Malformed(name, f"varint does not end within {most} bytes", at=pos)


def read_uvarint32(buf: bytes | memoryview, pos: int, end: int, name: str = "") -> tuple[int, int]:
    """Read an unsigned varint: a value in 0..2**32-1.

    Source: ``ByteUtils.readUnsignedVarint``; Java holds 2**31 and above as negative numbers.
    """
    # Nearly all have one, two or three bytes: these skip the loop.
    if end - pos > 2:
        if (first := buf[pos]) < 0x80:
            return first, pos + 1
        if (second := buf[pos + 1]) < 0x80:
            return first - 0x80 + (second << 7), pos + 2
        if (third := buf[pos + 2]) < 0x80:
            return first - 0x4080 + (second << 7) + (third << 14), pos + 3
    raw, pos = _read_long(buf, pos, end, name, _BYTES_32)
    return raw & _MASK_32, pos


def read_zigzag32(buf: bytes | memoryview, pos: int, end: int, name: str = "") -> tuple[int, int]:
    """Read a varint: a zigzag value in -2**31..2**31-1. Source: ``ByteUtils.readVarint``."""
    if end - pos > 2:
        if (first := buf[pos]) < 0x80:
            return first >> 1 ^ -(first & 1), pos + 1
        if (second := buf[pos + 1]) < 0x80:
            return first - 0x80 + (second << 7) >> 1 ^ -(first & 1), pos + 2
        if (third := buf[pos + 2]) < 0x80:
            return first - 0x4080 + (second << 7) + (third << 14) >> 1 ^ -(first & 1), pos + 3
    raw, pos = _read_long(buf, pos, end, name, _BYTES_32)
    return (raw & _MASK_32) >> 1 ^ -(raw & 1), pos


def read_zigzag64(buf: bytes | memoryview, pos: int, end: int, name: str = "") -> tuple[int, int]:
    """Read a varlong: a zigzag value in -2**63..2**63-1. Source: ``ByteUtils.readVarlong``."""
    if end - pos > 2:
        if (first := buf[pos]) < 0x80:
            return first >> 1 ^ -(first & 1), pos + 1
        if (second := buf[pos + 1]) < 0x80:
            return first - 0x80 + (second << 7) >> 1 ^ -(first & 1), pos + 2
        if (third := buf[pos + 2]) < 0x80:
            return first - 0x4080 + (second << 7) + (third << 14) >> 1 ^ -(first & 1), pos + 3
    raw, pos = _read_long(buf, pos, end, name, _BYTES_64)
    return (raw & _MASK_64) >> 1 ^ -(raw & 1), pos


def _refuse(kind: str, low: int, high: int, value: int, name: str) -> NoReturn:
    raise EncodeError(name, f"out of range for a {kind}", need=f"{low}..{high}", have=value)


def _unsigned_32(value: int, name: str = "") -> int:
    if not 0 <= value <= _MASK_32:
        _refuse("32-bit unsigned varint", 0, _MASK_32, value, name)
    return value


def _zigzag_32(value: int, name: str = "") -> int:
    if not -0x8000_0000 <= value <= 0x7FFF_FFFF:
        _refuse("32-bit varint", -0x8000_0000, 0x7FFF_FFFF, value, name)
    return value << 1 ^ value >> 31


def _zigzag_64(value: int, name: str = "") -> int:
    if not -(1 << 63) <= value < 1 << 63:
        _refuse("64-bit varint", -(1 << 63), (1 << 63) - 1, value, name)
    return value << 1 ^ value >> 63


def _small() -> tuple[bytes, ...]:
    pairs = bytearray(2 * (0x4000 - 0x80))
    pairs[::2] = bytes(range(0x80, 0x100)) * 0x7F
    pairs[1::2] = b"".join(bytes((high,)) * 0x80 for high in range(1, 0x80))
    return unpack("s" * 0x80 + "2s" * (0x4000 - 0x80), bytes(range(0x80)) + pairs)


# Both tables are made by loops in C: loops in Python would add 10 ms to every import.
ZIGZAG_SMALL: tuple[bytes, ...] = _small()
"""The bytes of each raw unsigned value below 16384: all the 1- and 2-byte forms.

Generated writers index it with the value already in zigzag form, and call ``write_*`` above it.
"""

ZIGZAG_VALUES: tuple[bytes, ...] = ZIGZAG_SMALL[::2]
"""The bytes of each value from 0 to 8191 as a varint. Generated writers index it with a length or a delta."""

UNZIGZAG_1: tuple[int, ...] = tuple(raw >> 1 ^ -(raw & 1) for raw in range(1 << 7))
"""The value of each one-byte form. Generated readers index it with the byte."""

UNZIGZAG_2: tuple[tuple[int, ...], ...] = ((),) * 0x80 + tuple(
    tuple(range(value, value + (0x2000 if value >= 0 else -0x2000), 0x40 if value >= 0 else -0x40))
    for value in UNZIGZAG_1
)
"""The value of each two-byte form, by the first byte (128 and above) and the second (below 128)."""


def _groups(raw: int) -> bytes:
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def _encode(raw: int) -> bytes:
    if raw < 0x4000:
        return ZIGZAG_SMALL[raw]
    if raw < 0x20_0000:
        return bytes((raw & 0x7F | 0x80, raw >> 7 & 0x7F | 0x80, raw >> 14))
    return _groups(raw)


def write_uvarint32(value: int, name: str = "") -> bytes:
    """Write `value`, 0..2**32-1, as an unsigned varint of 1 to 5 bytes; else raise `EncodeError`."""
    return ZIGZAG_SMALL[value] if 0 <= value < 0x4000 else _encode(_unsigned_32(value, name))


def write_zigzag32(value: int, name: str = "") -> bytes:
    """Write `value`, -2**31..2**31-1, as a varint of 1 to 5 bytes; else raise `EncodeError`."""
    return ZIGZAG_VALUES[value] if 0 <= value < 0x2000 else _encode(_zigzag_32(value, name))


def write_zigzag64(value: int, name: str = "") -> bytes:
    """Write `value`, -2**63..2**63-1, as a varlong of 1 to 10 bytes; else raise `EncodeError`."""
    return ZIGZAG_VALUES[value] if 0 <= value < 0x2000 else _encode(_zigzag_64(value, name))


def _size(raw: int) -> int:
    # `| 1`: zero takes a byte too.
    return ((raw | 1).bit_length() + 6) // 7


def size_uvarint32(value: int) -> int:
    """Return the number of bytes that `write_uvarint32` appends, with the same errors."""
    return _size(_unsigned_32(value))


def size_zigzag32(value: int) -> int:
    """Return the number of bytes that `write_zigzag32` appends, with the same errors."""
    return _size(_zigzag_32(value))


def size_zigzag64(value: int) -> int:
    """Return the number of bytes that `write_zigzag64` appends, with the same errors."""
    return _size(_zigzag_64(value))
