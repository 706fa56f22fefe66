"""The way of the native kernels through a source: window by window, and by pure Python where they stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from kodec.generated.log.log_segment import PEEK_ENTRY_SIZE, peek_entry, peek_entry_len_entry
from kodec.log.entries.records import Limits
from kodec.log.reading.source import ByteSource

__all__ = ["Buffer", "Windows"]

Buffer = bytes | bytearray | memoryview


class Windows(ABC):
    """A part of a reader: walks over its entries, each by the kernel of its format.

    A kernel goes on as long as all is well. Whatever it does not do, or finds wrong, is done again by the
    pure reader: it knows torn tails and damage, and its errors are the ones that are raised.
    """

    position: int
    _source: ByteSource
    _limits: Limits
    _turn: int
    """Which of the kernels is in use."""

    @abstractmethod
    def _magics(self) -> tuple[tuple[int, ...], ...]:
        """For each kernel, the formats that it reads."""

    @abstractmethod
    def _gather(self, buf: Buffer, start: int, end: int) -> Iterator[Any]:
        """What the kernel in use finds in `buf[start:end]`; moves `position` on to where it stops."""

    @abstractmethod
    def _turn_to(self, kernel: int) -> Iterator[Any]:
        """Use another kernel; what is ready to be given."""

    @abstractmethod
    def _step(self) -> Iterator[Any]:
        """What pure Python finds in the entry at `position`; moves that on, except where reading ends."""

    def _walk(self) -> Iterator[Any]:
        source = self._source
        need = 0
        while True:
            pos = self.position
            source.forget(pos)
            buf, start, end = source.window(pos, need)
            if start == end:
                return
            origin = pos - start
            while True:
                yield from self._gather(buf, self.position - origin, end)
                at = self.position - origin
                head = bytes(memoryview(buf)[at : min(at + PEEK_ENTRY_SIZE, end)])
                other = self._other(head)
                if other is None:
                    break
                yield from self._turn_to(other)
            if at == end:
                need = 0
                continue
            larger = self._larger(head, self.position, end - at)
            if larger > max(need if at == start else 0, end - at):
                need = larger
                continue
            before = self.position
            yield from self._step()
            if self.position == before:
                return
            need = 0

    def _other(self, head: bytes) -> int | None:
        """The kernel of the entry's format, where that is not the one in use."""
        if len(head) < PEEK_ENTRY_SIZE:
            return None
        magic = peek_entry(head)[2]
        found = (index for index, magics in enumerate(self._magics()) if magic in magics)
        return next((index for index in found if index != self._turn), None)

    def _larger(self, head: bytes, pos: int, have: int) -> int:
        """How many bytes the entry at `pos` needs, where it may be whole in a larger window; else 0."""
        source = self._source
        if len(head) < PEEK_ENTRY_SIZE:
            return PEEK_ENTRY_SIZE if source.remaining(pos, PEEK_ENTRY_SIZE) >= PEEK_ENTRY_SIZE else 0
        size = peek_entry_len_entry(*peek_entry(head))
        if size <= have or size > self._limits.batch_bytes or source.remaining(pos, size) < size:
            return 0
        return size
