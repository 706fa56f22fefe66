"""The contract of a decoder, pure or native: it makes items of batches, whatever their source."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from kodec.log.batches.batch import Batch

__all__ = ["Buffer", "Cursor", "Decoder"]

Buffer = bytes | bytearray | memoryview
T_co = TypeVar("T_co", covariant=True)


class Cursor(Protocol):
    """The state of a walk: the position in its source, in bytes, before which all is decoded."""

    position: int


class Decoder(Protocol[T_co]):
    """Makes items (records, Arrow batches, batches) of the batches of a walk.

    One by one and, where possible, many at once from a window of the source, while the data is valid.
    Whatever `run` does not support or finds wrong is left to `decode`: there is one set of errors.

    Attributes:
        runs: whether `run` may make progress at the next batch.
        keeps: whether items hold the bytes of their batch, which `decode` then needs in memory.
    """

    runs: bool
    keeps: bool = False

    @abstractmethod
    def decode(self, batch: Batch) -> Iterable[T_co]:
        """The items that are ready after this batch; others may be held back until there are enough.

        The batch is decoded whole, or not at all with a FormatError.
        """

    def run(self, cursor: Cursor, buf: Buffer, start: int, end: int) -> Iterator[T_co]:
        """Decode the batches in `buf[start:end]`, the first of which is at `cursor.position`.

        Moves the cursor to the batch where it stops: the rest is part of a batch, or left to
        `decode`. `buf` belongs to the source; keep no reference to it.
        """
        return iter(())

    @abstractmethod
    def rest(self) -> Iterable[T_co]:
        """The items that were held back, after the last batch."""

    def ahead(self, remaining: int) -> int:
        """The size in bytes of the batches that contain the last `remaining` records of the last item."""
        return 0

    def close(self) -> None:
        """Release the bytes of the source, if it keeps any."""
        return
