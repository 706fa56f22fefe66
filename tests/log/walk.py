"""Reads a log of uncompressed batches of magic 2 with `struct` alone: what is in there, whoever wrote it."""

from __future__ import annotations

import struct
from pathlib import Path


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value >> 1 ^ -(value & 1), at


def walk(folder: Path) -> list[tuple[int, bytes | None]]:
    """Offset and value of all records, in the order they are in; AssertionError for a torn end."""
    found: list[tuple[int, bytes | None]] = []
    for path in sorted(folder.glob("*.log")):
        data = path.read_bytes()
        at = 0
        while at < len(data):
            base, length = struct.unpack_from(">qi", data, at)
            end = at + 12 + length
            assert end <= len(data), f"{path.name}: torn at {at}"
            magic, attributes = data[at + 16], struct.unpack_from(">h", data, at + 21)[0]
            assert (magic, attributes & 7) == (2, 0)
            (count,) = struct.unpack_from(">i", data, at + 57)
            place = at + 61
            for _ in range(count):
                size, place = _varint(data, place)
                after = place + size
                _, place = _varint(data, place + 1)
                delta, place = _varint(data, place)
                key, place = _varint(data, place)
                place += max(key, 0)
                width, place = _varint(data, place)
                found.append((base + delta, None if width < 0 else data[place : place + width]))
                place = after
            assert place == end
            at = end
    return found
