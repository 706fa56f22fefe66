"""32-bit floats that keep every bit: CPython makes a signalling NaN quiet when it converts between widths."""

from __future__ import annotations

import re
from struct import Struct
from typing import Any

__all__ = ["FloatStruct"]

_TOKEN = re.compile(r"(\d*)([A-Za-z?])")


class FloatStruct(Struct):
    """A `Struct` whose `f` writes the bits that were read, also those of a NaN.

    A 32-bit NaN is read as the 64-bit NaN with the same sign, quiet bit and payload. Writing cuts the payload
    to its width; if this leaves no payload, the result is still a NaN.
    """

    def __init__(self, form: str) -> None:
        super().__init__(form)
        self._bits = Struct(form.replace("f", "I"))
        at: list[int] = []
        index = 0
        for times, code in _TOKEN.findall(form):
            count = 0 if code == "x" else 1 if code == "s" or not times else int(times)
            at += range(index, index + count) if code == "f" else ()
            index += count
        self._floats = tuple(at)

    def unpack_from(self, buffer: Any, offset: int = 0) -> tuple[Any, ...]:
        values = super().unpack_from(buffer, offset)
        nans = [at for at in self._floats if values[at] != values[at]]
        if not nans:
            return values
        exact, stored = list(values), self._bits.unpack_from(buffer, offset)
        for at in nans:
            exact[at] = _WIDE.unpack(_WIDE_BITS.pack(_widened(stored[at])))[0]
        return tuple(exact)

    def pack(self, *values: Any) -> bytes:
        stored = super().pack(*values)
        nans = [at for at in self._floats if values[at] != values[at]]
        if not nans:
            return stored
        exact = list(self._bits.unpack(stored))
        for at in nans:
            exact[at] = _narrowed(_WIDE_BITS.unpack(_WIDE.pack(values[at]))[0])
        return self._bits.pack(*exact)


_WIDE, _WIDE_BITS = Struct("<d"), Struct("<Q")


def _widened(bits: int) -> int:
    return (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29


def _narrowed(bits: int) -> int:
    payload = bits >> 29 & 0x7FFFFF
    return (bits >> 63) << 31 | 0xFF << 23 | (payload or 1 << 22)
