"""What every generated codec must fulfil: the checks that generated test modules call.

They need only the standard library, so that they run wherever the generated modules do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

from kodec.runtime.errors import FormatError

__all__ = ["check_flips", "check_round_trip", "check_truncation", "covered_by", "same"]


class Codec(Protocol):
    """A generated class."""

    def to_bytes(self) -> bytes: ...


def same(given: object, read: object) -> bool:
    """Whether `read` is what was written: fields left to be derived (None) may have any value."""
    if dataclasses.is_dataclass(given) and type(given) is type(read):
        fields = dataclasses.fields(given)
        return all(
            (getattr(given, f.name) is None and f.default is None)
            or same(getattr(given, f.name), getattr(read, f.name))
            for f in fields
        )
    if isinstance(given, list) and isinstance(read, list):
        return len(given) == len(read) and all(map(same, given, read))
    if isinstance(given, float) and isinstance(read, float):
        return given == read or (given != given and read != read)
    return given == read


def check_round_trip(value: Codec, canonical: bool = True) -> bytes:
    """Write, read, write again: the same value, and (uncompressed) the same bytes. Gives the bytes."""
    read: Callable[[bytes], Codec] = type(value).from_bytes  # type: ignore[attr-defined]  # see Codec
    data = value.to_bytes()
    again = read(data)
    assert same(value, again), f"wrote {value}, read {again}"
    twice = again.to_bytes()
    assert same(read(twice), again) or not canonical
    assert twice == data or not canonical
    return data


def check_truncation(kind: Any, data: bytes) -> None:
    """Each proper prefix gives our error, or a value that is just that prefix; never a wrong value."""
    for size in range(len(data)):
        cut = data[:size]
        try:
            value = kind.from_bytes(cut)
        except FormatError as error:
            assert 0 <= error.at <= size
            continue
        assert value.to_bytes() == cut


def check_flips(kind: Any, data: bytes, covered: range) -> None:
    """A changed byte gives our error or some value, no other exception; under a checksum, the error."""
    for at in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            changed = bytearray(data)
            changed[at] ^= mask
            try:
                kind.from_bytes(bytes(changed))
            except FormatError:
                continue
            assert at not in covered, f"byte {at} was changed and nothing noticed"


def covered_by(start: int, data: bytes) -> range:
    """The bytes from `start` to the end."""
    return range(start, len(data))
