"""A decoder that processes a window with the kernel of each batch's format."""

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
"""Larger content is not decompressed natively, because that needs one buffer of up to twice the size."""

T_co = TypeVar("T_co", covariant=True)


class KernelDecoder(Decoder[T_co]):
    """Has a kernel for each kind of batch, and switches when the kind changes."""

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
        """Run the kernel in use on `buf[start:end]`; move the cursor to where it stops."""

    def _ready(self) -> Iterable[T_co]:
        """The items that are ready."""
        return ()


def content_of(kernel: Any, buf: Buffer, limit: int) -> bytes | None:
    """The content of the compressed unit in `buf` at which the kernel stopped; None if it is for pure Python.

    If it has more than `limit` bytes, it is read in parts by pure Python.
    """
    codec, start, size = kernel.content
    stored = memoryview(buf)[start : start + size]
    content = bindings.decompress(codec, stored, min(limit, MOST_NATIVE))
    if content is None:
        try:
            content = compression.decompress(codec, stored, limit=min(limit, compression.AT_ONCE))
        except FormatError:
            return None
    return content
