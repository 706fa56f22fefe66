"""A decoder that goes through a window by the kernel of each batch's format."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from kodec.log.backends.contract import Buffer, Cursor, Decoder
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import Frame
from kodec.runtime import compression
from kodec.runtime.errors import FormatError
from kodec.runtime.native import bindings

__all__ = ["MOST_NATIVE", "KernelDecoder", "content_of"]

MOST_NATIVE = 4 << 20
"""Content of more bytes is not decompressed natively, as that is into one buffer, at most twice as large."""

T_co = TypeVar("T_co", covariant=True)


class KernelDecoder(Decoder[T_co]):
    """Has a kernel for each kind of batch, and turns from one to the other where the kind changes."""

    runs = True
    magics: tuple[tuple[int, ...], ...] = tuple(kind.magics for kind in KAFKA.kinds)
    """For each kernel, the formats that it reads."""
    _turn = 0
    """Which of the kernels is in use."""

    def run(self, cursor: Cursor, buf: Buffer, start: int, end: int) -> Iterator[T_co]:
        origin = cursor.position - start
        while True:
            yield from self._gather(cursor, buf, cursor.position - origin, end)
            frame = Frame.peek(buf, cursor.position - origin, end)
            if frame is None or frame.magic in self.magics[self._turn]:
                return
            other = next((turn for turn, magics in enumerate(self.magics) if frame.magic in magics), None)
            if other is None:
                return
            yield from self._ready()
            self._turn = other

    @abstractmethod
    def _gather(self, cursor: Cursor, buf: Buffer, start: int, end: int) -> Iterator[T_co]:
        """What the kernel in use makes of `buf[start:end]`; moves the cursor on to where it stops."""

    def _ready(self) -> Iterable[T_co]:
        """What of it is ready to be given."""
        return ()


def content_of(kernel: Any, buf: Buffer, limit: int) -> bytes | None:
    """The content of the compressed unit in `buf` at which the kernel stopped; None if it is for pure Python.

    That is so where it has more than `limit` bytes, and then it is read in parts.
    """
    codec, start, size = kernel.content
    stored = memoryview(buf)[start : start + size]
    found = bindings.decompress(codec, stored, min(limit, MOST_NATIVE))
    if found is None:
        try:
            found = compression.decompress(codec, stored, limit=min(limit, compression.AT_ONCE))
        except FormatError:
            return None
    return found
