"""The readers of logs that programs use: of batches and of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from kodec.log import kernel
from kodec.log.backends.scan import EVERY, Range
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits, Record, SkippedRanges, TornTail
from kodec.log.omissions import Omissions
from kodec.log.reading.order import Order
from kodec.log.reading.source import Source
from kodec.log.reading.walk import Walk

__all__ = ["BatchReader", "OnError", "Reader", "RecordReader", "batch_reader", "read_batches"]

T = TypeVar("T")


class Progress(Protocol):
    """The progress of a reader through its source or sources, as `Walk` reports it."""

    @property
    def name(self) -> str | None: ...

    @property
    def position(self) -> int: ...

    @property
    def torn_tail(self) -> TornTail | None: ...

    @property
    def order(self) -> Order | None: ...

    @property
    def skipped(self) -> SkippedRanges: ...

    @property
    def omissions(self) -> Omissions: ...

    def close(self) -> None: ...


class Reader(Generic[T]):
    """An iterator over a source that then reports where it ended and what it skipped."""

    def __init__(self, walk: Progress, items: Iterator[T]) -> None:
        self._walk = walk
        self._items = items

    @property
    def position(self) -> int:
        """The byte after the last batch returned."""
        return self._walk.position

    @property
    def torn_tail(self) -> TornTail | None:
        """Why reading ended before the source; None if it did not."""
        return self._walk.torn_tail

    @property
    def order(self) -> Order | None:
        """The offsets so far; None if they are not checked."""
        return self._walk.order

    @property
    def skipped(self) -> SkippedRanges:
        """The ranges skipped with `on_error="skip"`, in order; limited in number, see `SkippedRanges`."""
        return self._walk.skipped

    @property
    def omissions(self) -> Omissions:
        """What was left out so far: skipped ranges, the torn tail, and of several logs what is missing."""
        return self._walk.omissions

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._walk.name or 'bytes'}, at byte {self.position}>"

    def __iter__(self) -> Iterator[T]:
        return self._items

    def __next__(self) -> T:
        return next(self._items)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._walk.close()


class BatchReader(Reader[Batch]):
    """An iterator of batches; see `read_batches`.

    Attributes:
        position: the byte at which the next batch starts.
        torn_tail: where and why reading ended before the source did; else None.
        skipped: the ranges that were skipped, with `on_error="skip"`.

    Example: see `read_batches`.
    """


class RecordReader(Reader[Record]):
    """An iterator of records; see `read_records`.

    Attributes:
        position: the byte at which the next batch starts.
        torn_tail: where and why reading ended before the source did; else None.
        skipped: the ranges that were skipped, with `on_error="skip"`.

    Example: see `read_records`.
    """

    def __init__(
        self,
        walk: Walk,
        options: LogReadOptions,
        test: Callable[[Record], bool] | None = None,
        drops: Callable[[Batch], bool] | None = None,
    ) -> None:
        """Of the records that pass a test, without those of the batches that `drops` names."""
        self._decoder = kernel.record_decoder(options, drops)
        self._test = test
        self._lists = walk.items(self._decoder)
        items, self._remaining = kernel.flattened(self._lists)
        super().__init__(walk, items if test is None else filter(test, items))

    @property
    def position(self) -> int:
        """The byte at which the next batch starts, as far as its records were read."""
        # messages of formats 0 and 1 are batches of their own, and many are decoded at once
        return self._walk.position - self._decoder.ahead(self._remaining())

    def lists(self, within: Range) -> Iterator[tuple[int, list[Record]]]:
        """The records within a range of offsets in lists, as they are decoded, each with its last offset.

        Instead of iterating: passing records on, one by one, through the readers of a directory costs as much
        as reading them.
        """
        (first, last), test = within, self._test
        for decoded in self._lists:
            # those of a large batch are an iterator, which is not decoded ahead
            for records in (decoded,) if isinstance(decoded, list) else ([record] for record in decoded):
                if within != EVERY:
                    records = [record for record in records if first <= record.offset <= last]
                if test is not None:
                    records = list(filter(test, records))
                if records:
                    yield records[-1].offset, records


def read_batches(
    source: Source,
    *,
    check_crc: bool = True,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
) -> BatchReader:
    """Read the stored batches of a log: a Batch for each record batch, message or wrapper.

    Arguments, torn tails and errors as in `read_records`; records are decoded only by `Batch.records()`.
    With `check_crc=False` a batch with a wrong checksum is yielded with `crc_ok` false.

    Args:
        source: a path, the URL of an object, bytes-like, or a file opened for reading in binary: one file
            with batches.
        check_crc: raise for a wrong checksum; without it such a batch is yielded, and its `crc_ok` is
            false.
        others: as in `read_records`.

    Returns: an iterator of `Batch`.
    Raises: as `read_records`.

    Example:
        >>> import kodec
        >>> segment = "/data/kafka-logs/orders-0/00000000000000000000.log"
        >>> reader = kodec.read_batches(segment)
        >>> next(reader).base_offset
        0
        >>> reader.torn_tail
    """
    return batch_reader(source, LogReadOptions(check_crc=check_crc, on_error=on_error, limits=limits))


def batch_reader(
    source: Source, options: LogReadOptions, *, keeps: bool = True, start: int = 0
) -> BatchReader:
    """Like `read_batches`, from a byte on.

    Without `keeps`, a large batch stays in its source, valid until the next one.
    """
    walk = Walk(source, options, start=start)
    return BatchReader(walk, walk.items(kernel.batch_decoder(options, keeps=keeps)))
