"""Reading a log from end to end: batches and records of any format, torn tails and corrupt stretches."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar

from kodec.generated.log.log_segment import PEEK_ENTRY_AT, PEEK_ENTRY_SIZE, peek_entry, peek_entry_len_entry
from kodec.log import kernel
from kodec.log.entries.batch import Batch
from kodec.log.entries.entry import LEGACY, MAGICS, open_batch
from kodec.log.entries.message import plain_messages
from kodec.log.entries.records import Limits, Record, SkippedRange, TornTail
from kodec.log.entries.sizes import LEAST_BODY
from kodec.log.reading.source import CHUNK, Source, open_source
from kodec.runtime.errors import FormatError, LimitExceeded, Malformed, Truncated, Unsupported

__all__ = ["BatchReader", "OnError", "RecordReader", "read_batches", "read_records"]

OnError = Literal["raise", "skip"]
T = TypeVar("T")
_log = logging.getLogger("kodec")
_FIRST_BLOCK = 4096
_BLOCK = 1 << 16
# What a question after an entry costs: about as much as so many bytes searched, or 64 times as many summed.
_GLANCE, _TRIAL = 64, 1024


class _Reader(Generic[T]):
    """An iterator over a source that says afterwards where it ended and what it passed over.

    Attributes:
        position: the byte after the last entry that was given.
        torn_tail: why reading ended before the source did; None where it did not.
        skipped: the ranges passed over with `on_error="skip"`, in order.
    """

    def __init__(self, source: Source, check_crc: bool, on_error: OnError, limits: Limits) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}: expected 'raise' or 'skip'")
        self._source = open_source(source)
        self._check_crc = check_crc
        self._skip = on_error == "skip"
        self._limits = limits
        self.position = 0
        self.torn_tail: TornTail | None = None
        self.skipped: list[SkippedRange] = []
        self._spent = 0
        self._barren: float = math.inf
        self._chained = -1
        self._items = self._iterate()

    def _iterate(self) -> Iterator[T]:
        raise NotImplementedError

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
        """Let go of the file."""
        self._source.close()

    # -- one entry after another ------------------------------------------------------------------

    def _entries(self, use: Callable[[Batch], T]) -> Iterator[T]:
        """What `use` makes of each batch; an error in a batch, or in `use`, is raised or passed over."""
        try:
            while True:
                start = self.position
                end, found = self._next(start, use)
                if end == start:
                    return
                yield from found
                yield from self._more()
                self._source.forget(start)
        finally:
            self.close()

    def _more(self) -> Iterator[T]:
        """What follows the entry that was read last and can be read faster than by `_next`."""
        return iter(())

    def _next(self, pos: int, use: Callable[[Batch], T]) -> tuple[int, tuple[T, ...]]:
        """The end of the entry at `pos`, or of what was passed over there, and what `use` made of it.

        Where reading ends, that is `pos`. Raises FormatError for damage that is not to be passed over.
        """
        source = self._source
        try:
            size = self._frame(pos)
            if size == 0:
                return pos, ()
            batch = open_batch(source.read(pos, size), pos, self._limits)
            if self._check_crc:
                batch.verify_crc()
            item = use(batch)
        except FormatError as error:
            error.in_source(source.name)
            if not self._skip:
                raise
            end = self._after_damage(pos)
            self.skipped.append(SkippedRange(pos, end, _bare(error)))
            _log.warning("skipped bytes %d to %d: %s", pos, end, error)
            self.position = end
            return end, ()
        self.position = pos + size
        return pos + size, (item,)

    def _frame(self, pos: int) -> int:
        """The size of the entry at `pos`; 0 where reading ends. Raises FormatError for a corrupt frame."""
        source = self._source
        head = source.read(pos, PEEK_ENTRY_SIZE)
        if len(head) < PEEK_ENTRY_SIZE:
            if head:
                self._tear(
                    pos, len(head), "zeros" if not any(head) else "fewer bytes than the start of an entry"
                )
            return 0
        base_offset, len_body, magic = peek_entry(head)
        size = peek_entry_len_entry(base_offset, len_body, magic)
        if len_body == 0 and not any(head) and self._zeros_to_the_end(pos):
            return 0
        if len_body < LEAST_BODY:
            at = pos + PEEK_ENTRY_AT["len_body"]
            need = f"at least {LEAST_BODY}"
            raise Malformed("len_body", "too small for any entry", at=at, need=need, have=len_body)
        if magic not in MAGICS:
            at = pos + PEEK_ENTRY_AT["magic"]
            raise Unsupported("magic", "unknown message format", at=at, need="0, 1 or 2", have=magic)
        limit = self._limits.batch_bytes
        have = source.remaining(pos, min(size, limit))
        # of a stream no more is kept than is allowed, to see whether the entry is cut short
        if size > limit and have >= (size if source.sized else limit):
            raise LimitExceeded(
                "len_body",
                "entry larger than allowed",
                at=pos + PEEK_ENTRY_AT["len_body"],
                need=size,
                have=limit,
                limit="batch_bytes",
            )
        if have < size:
            # Cut off by a crash, or a length that was hit: an entry further on tells the two apart.
            if self._find_entry(pos + 1) is not None or self._gave_up():
                raise Truncated("entry", at=pos, need=size, have=have)
            self._tear(pos, have, f"the entry has {size} bytes, {have} are there")
            return 0
        return size

    def _tear(self, pos: int, size: int, reason: str) -> None:
        self.torn_tail = TornTail(pos, size, reason)

    def _zeros_to_the_end(self, pos: int) -> bool:
        """Whether only zeros follow, as in a file that was allocated ahead; they are then the torn tail."""
        at, width = pos, _FIRST_BLOCK
        while block := self._source.read(at, width):
            if any(block) if len(block) <= _FIRST_BLOCK else block.count(0) != len(block):
                return False
            at += len(block)
            width = min(2 * width, CHUNK)
        self._tear(pos, at - pos, "zeros")
        return True

    # -- past damage ------------------------------------------------------------------------------

    def _after_damage(self, pos: int) -> int:
        """Where to go on after a bad entry at `pos`: where its own length leads, if that can be right."""
        own = self._stated_end(pos)
        if own is not None and (self._is_entry(pos) or self._leads_on(own)):
            return own
        found = self._find_entry(pos + 1)
        if found is not None:
            return found
        return pos + self._source.remaining(pos, 1 << 62) if own is None else own

    def _stated_end(self, pos: int) -> int | None:
        """Where the entry at `pos` ends by its own length; None where that is no place in the source."""
        head = self._source.read(pos, PEEK_ENTRY_SIZE)
        if len(head) < PEEK_ENTRY_SIZE:
            return None
        size = peek_entry_len_entry(*peek_entry(head))
        if not PEEK_ENTRY_SIZE < size <= self._limits.batch_bytes:
            return None
        return pos + size if self._source.remaining(pos, size) >= size else None

    def _leads_on(self, pos: int) -> bool:
        """Whether lengths lead from `pos` to a right entry or just to the end, over damaged ones in between.

        Looking into the damaged ones instead would find entries that are the value of a record.
        """
        at = pos
        while at > self._chained and self._source.remaining(at, 1) and not self._is_entry(at):
            end = self._stated_end(at)
            if end is None or not self._opens(at, end):
                return False
            at = end
        self._chained = max(self._chained, at)
        return True

    def _find_entry(self, pos: int) -> int | None:
        """The next position from which a whole entry with a right checksum can be read."""
        if pos >= self._barren:
            return None
        source, limit = self._source, self._limits.batch_bytes
        start, width = pos, _FIRST_BLOCK
        while block := source.read(pos, width + PEEK_ENTRY_SIZE):
            for match in _PLAUSIBLE.finditer(block):
                at = pos + match.start()
                if not self._afford(_GLANCE, at):
                    self._barren = -1
                    return None
                size = peek_entry_len_entry(*peek_entry(block, match.start()))
                if size <= limit and source.remaining(at, size) >= size and self._is_entry(at):
                    return at
            if len(block) < width + PEEK_ENTRY_SIZE:
                break
            pos += width
            width = min(2 * width, CHUNK)
        self._barren = min(self._barren, start)
        return None

    def _gave_up(self) -> bool:
        return self._barren < 0

    def _afford(self, cost: int, reached: int) -> bool:
        """Whether `cost` more may be spent on questions that got as far as `reached`.

        A source made of false starts so ends the search and not the reader's patience.
        """
        self._spent += cost
        return self._spent <= 64 * CHUNK + 16 * reached

    def _is_entry(self, pos: int) -> bool:
        """Whether a whole entry with a right checksum starts at `pos`."""
        end = self._stated_end(pos)
        return end is not None and (batch := self._opens(pos, end)) is not None and batch.crc_ok

    def _opens(self, pos: int, end: int) -> Batch | None:
        """The entry in these bytes, its checksum not looked at; None where it is none or enough was tried."""
        if not self._afford(_TRIAL + (end - pos) // 64, end):
            return None
        try:
            return open_batch(self._source.read(pos, end - pos), pos, self._limits)
        except FormatError:
            return None


def _bare(error: FormatError) -> FormatError:
    """`error` without the stack it came through, whose frames would keep the bytes of the batch."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _plausible() -> re.Pattern[bytes]:
    """What an entry's start can look like: a length that is neither negative nor tiny, a known magic."""
    length, magic = PEEK_ENTRY_AT["len_body"], PEEK_ENTRY_AT["magic"]
    magics = b"".join(b"\\x%02x" % value for value in MAGICS)
    between = magic - length - 1
    tiny = b"\\x00\\x00\\x00[\\x00-\\x%02x]" % (LEAST_BODY - 1)
    return re.compile(b"(?s)(?=.{%d}(?!%s)[\x00-\x7f].{%d}[%s])" % (length, tiny, between, magics))


_PLAUSIBLE = _plausible()


class BatchReader(_Reader[Batch]):
    """An iterator of batches; see `read_batches`."""

    def _iterate(self) -> Iterator[Batch]:
        return self._entries(lambda batch: batch)


class RecordReader(_Reader[Record]):
    """An iterator of records; see `read_records`."""

    def __init__(
        self, source: Source, check_crc: bool, on_error: OnError, limits: Limits, control: bool
    ) -> None:
        self._control = control
        self._message = False
        super().__init__(source, check_crc, on_error, limits)

    def _iterate(self) -> Iterator[Record]:
        # not a chain: where two threads share the reader, the one that is refused would end it for both
        batches: _Reader[list[Record]] = self  # type: ignore[assignment]
        return (record for found in batches._entries(self._records) for record in found)

    def _records(self, batch: Batch) -> list[Record]:
        self._message = batch.magic in LEGACY and batch.codec == "none"
        return batch.records(control=self._control, check_crc=self._check_crc)

    def _more(self) -> Iterator[Any]:
        """The messages behind one that is not compressed, as far as they are so and all is well with them."""
        going = self._message
        while going:
            start, last, going = self.position, 0, False
            block = self._source.read(start, min(_BLOCK, self._source.remaining(start, 1)))
            for record, stop in plain_messages(block, self._check_crc):
                if stop - last > self._limits.batch_bytes:
                    return
                self.position, last, going = start + stop, stop, True
                yield (record,)
            self._source.forget(self.position)


def read_records(
    source: Source,
    *,
    check_crc: bool = True,
    control: bool = False,
    on_error: OnError = "raise",
    limits: Limits = Limits(),  # noqa: B008
) -> RecordReader:
    """Read the logical records of a log, of formats v0, v1 and v2 in any mix, in the order they are stored.

    Args:
        source: a path, bytes-like, or a file opened for reading in binary (read from where it stands).
        check_crc: verify every checksum.
        control: also give control records, as ControlRecord.
        on_error: `raise` stops at the first corrupt batch; `skip` passes over it whole and goes on at the
            next entry with a right checksum, and keeps the range in `.skipped`.
        limits: how much may be allocated.

    A part of an entry at the end (a crash, a copy cut short) or zeros (a file allocated ahead) end the
    reading quietly: `.torn_tail` says where and why.

    The reader is for one thread at a time, as iterators are; its records may go to any.

    Raises: FormatError (Truncated, Malformed, CrcMismatch, Unsupported, LimitExceeded) with the byte, the
        field, what was needed and what was found; OSError for a path; TypeError for another source.
    """
    if kernel.backend() == "native":
        from kodec.log.reading.native_records import NativeRecordReader

        return NativeRecordReader(source, check_crc, on_error, limits, control)
    return RecordReader(source, check_crc, on_error, limits, control)


def read_batches(
    source: Source,
    *,
    check_crc: bool = True,
    on_error: OnError = "raise",
    limits: Limits = Limits(),  # noqa: B008
) -> BatchReader:
    """Read the entries of a log as they are stored: a Batch for each record batch, message or wrapper.

    Arguments, torn tails and errors as in `read_records`; records are decoded only by `Batch.records()`.
    With `check_crc=False` a batch with a wrong checksum is given, and its `crc_ok` is false.
    """
    return BatchReader(source, check_crc, on_error, limits)
