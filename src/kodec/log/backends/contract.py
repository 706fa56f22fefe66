"""What a decoder is, pure or native: it makes items of batches, and knows neither sources nor damage."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from kodec.log.batches.batch import Batch

__all__ = ["Buffer", "Cursor", "Decoder"]

Buffer = bytes | bytearray | memoryview
T_co = TypeVar("T_co", covariant=True)


class Cursor(Protocol):
    """Where a walk is: the position in its source, in bytes, before which all is decoded."""

    position: int


class Decoder(Protocol[T_co]):
    """Makes items (records, Arrow batches, batches) of the batches that a walk comes to.

    One by one, and where it can run: many at once from a window of the source, while nothing is wrong there.
    Whatever `run` does not do, or finds wrong, is left to `decode`: there is one set of errors.

    Attributes:
        runs: whether `run` may get on at the next batch.
        keeps: whether items hold the bytes of their batch, which `decode` then needs in memory.
    """

    runs: bool
    keeps: bool = False

    @abstractmethod
    def decode(self, batch: Batch) -> Iterable[T_co]:
        """The items that are ready after this batch; it may keep some back until there are enough.

        The batch goes in whole, or not at all with a FormatError for what is wrong in it.
        """

    def run(self, cursor: Cursor, buf: Buffer, start: int, end: int) -> Iterator[T_co]:
        """Decode the batches in `buf[start:end]`, the first of which is at `cursor.position`.

        Moves the cursor on to the batch where it stops: what is left there is a part of one, or is for
        `decode`. `buf` is the source's own; nothing may be kept of it.
        """
        return iter(())

    @abstractmethod
    def rest(self) -> Iterable[T_co]:
        """The items that were kept back, after the last batch."""

    def ahead(self, left: int) -> int:
        """How many bytes the batches take of which the last `left` records of the item given last are."""
        return 0

    def close(self) -> None:
        """Release the bytes of the source, where it keeps some."""
        return
