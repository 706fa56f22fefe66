"""The checksums that streamed schemas derive fields from, by the name that `-derive` calls them by."""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Callable
from functools import cache
from sys import byteorder

from kodec.runtime.crc import crc32, crc32c

__all__ = ["CHECKSUMS", "unpacked"]

_FORMS = {"deflate": -15, "zlib": 15, "gzip": 31}


@cache
def _table(width: int, poly: int, *, reflected: bool) -> tuple[int, ...]:
    """The remainder of each byte; `poly` has its lowest bit first where `reflected`."""
    top, found = 1 << (width - 1), []
    for byte in range(256):
        rest = byte if reflected else byte << (width - 8)
        for _ in range(8):
            if reflected:
                rest = rest >> 1 ^ (poly if rest & 1 else 0)
            else:
                rest = (rest << 1 ^ (poly if rest & top else 0)) & ((1 << width) - 1)
        found.append(rest)
    return tuple(found)


def _upwards(width: int, poly: int, start: int, final: int = 0) -> Callable[[bytes], int]:
    """A CRC with the most significant bit of each byte first."""

    def checksum(data: bytes) -> int:
        table, mask, shift, found = _table(width, poly, reflected=False), (1 << width) - 1, width - 8, start
        for byte in data:
            found = (found << 8 & mask) ^ table[found >> shift ^ byte]
        return found ^ final

    return checksum


def _crc16_arc(data: bytes) -> int:
    table, found = _table(16, 0xA001, reflected=True), 0
    for byte in data:
        found = found >> 8 ^ table[(found ^ byte) & 0xFF]
    return found


def _sum_of(code: str, order: str) -> Callable[[bytes], int]:
    """The sum of numbers; a partial number at the end is filled with zeros."""
    size = array(code).itemsize

    def checksum(data: bytes) -> int:
        numbers = array(code, data + bytes(-len(data) % size))
        if order != byteorder:
            numbers.byteswap()
        return sum(numbers)

    return checksum


def _internet_checksum(data: bytes) -> int:
    """That of IP, ICMP, UDP and TCP (RFC 1071)."""
    found = _sum_of("H", "big")(data)
    while found >> 16:
        found = (found & 0xFFFF) + (found >> 16)
    return found ^ 0xFFFF


def _xor(data: bytes) -> int:
    found = 0
    for byte in data:
        found ^= byte
    return found


CHECKSUMS: dict[str, Callable[[bytes], int | bytes]] = {
    "crc32": crc32,
    "crc32c": crc32c,
    "crc32_mpeg2": _upwards(32, 0x04C11DB7, 0xFFFFFFFF),
    "crc32_bzip2": _upwards(32, 0x04C11DB7, 0xFFFFFFFF, 0xFFFFFFFF),
    "crc32_ogg": _upwards(32, 0x04C11DB7, 0),
    "crc16_arc": _crc16_arc,
    "crc16_ccitt": _upwards(16, 0x1021, 0xFFFF),
    "crc16_xmodem": _upwards(16, 0x1021, 0),
    "internet_checksum": _internet_checksum,
    "adler32": zlib.adler32,
    "sum": sum,
    "sum16le": _sum_of("H", "little"),
    "sum16be": _sum_of("H", "big"),
    "sum32le": _sum_of("I", "little"),
    "sum32be": _sum_of("I", "big"),
    "xor": _xor,
    "md5": lambda data: hashlib.md5(data, usedforsecurity=False).digest(),
    "sha1": lambda data: hashlib.sha1(data, usedforsecurity=False).digest(),
    "sha256": lambda data: hashlib.sha256(data).digest(),
    "sha512": lambda data: hashlib.sha512(data).digest(),
}


def unpacked(form: str, data: bytes, limit: int) -> bytes | None:
    """Decompressed bytes; None where they are no whole stream, or become more than `limit`."""
    stream = zlib.decompressobj(_FORMS[form])
    try:
        made = stream.decompress(data, limit)
    except zlib.error:
        return None
    return made if stream.eof else None
