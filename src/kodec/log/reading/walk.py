"""A walk through a log, batch by batch: its position, torn tail and skipped ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

from kodec.log import kernel
from kodec.log.backends.contract import Buffer, Decoder
from kodec.log.batches.batch import Batch
from kodec.log.batches.frame import (
    BEFORE_BODY,
    FRAME_SIZE,
    LEAST_BODY,
    LEAST_SIZE,
    LENGTH_AT,
    MAGIC_AT,
    MAGICS,
    Frame,
    shown_magics,
)
from kodec.log.batches.large import Stored
from kodec.log.batches.open_batch import open_batch, wrong_checksum
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import SkippedRange, SkippedRanges, TornTail
from kodec.log.batches.sizes import LENGTH
from kodec.log.files.listing import segment_offsets
from kodec.log.omissions import Omissions
from kodec.log.reading.foreign import foreign_error
from kodec.log.reading.order import Order
from kodec.log.reading.resume import PrecedingLog, Resumption
from kodec.log.reading.source import CHUNK, Source, open_source
from kodec.runtime.compression import AT_ONCE
from kodec.runtime.errors import (
    CrcMismatch,
    FormatError,
    LimitExceeded,
    Malformed,
    ReadFailed,
    Truncated,
    Unsupported,
)
from kodec.runtime.logger import logger

__all__ = ["Walk"]

T = TypeVar("T")
_FIRST_BLOCK = 4096


class Walk:
    """Walks through a source while a decoder makes items of the batches, one by one or a window at a time.

    Attributes:
        position: the byte after the last batch that was decoded.
        torn_tail: why the walk ended before the source; None if it did not.
        skipped: the ranges skipped with `on_error="skip"`.

    Args:
        order: compare offsets with the segment: True by its name, if it has a segment's, or the order to
            compare them with. None: they are not checked.
        start, stop: the part of the source, in bytes: from one batch up to another.
        last: the offset that `stop` stands for; if a damaged batch has led there, reading continues up to it.

    Raises: as `open_source`.
    """

    def __init__(
        self,
        source: Source,
        options: LogReadOptions,
        *,
        order: Order | Literal[True] | None = None,
        start: int = 0,
        stop: int | None = None,
        last: int | None = None,
    ) -> None:
        self._skip = options.skips
        self._source = open_source(source, skip=self._skip)
        self._limits = options.limits
        self._check_crc = options.check_crc
        self._rows = kernel.row_reader()
        self._topic_partition = options.topic_partition
        self._resumption: Resumption | None = None
        self._order = Order.of(self._source.path) if order is True else order
        self._stop = stop
        self._last = last
        self._is_sure = True
        self.position = start
        self.torn_tail: TornTail | None = None
        self.skipped = SkippedRanges()
        # the position from which all is good, and the state of the log before that
        self._good = start, PrecedingLog()
        # the starts of the previous window or batch and of this one: the bytes from there are kept
        self._before = self._now = start
        if start and self._order is not None:
            self._order.skipped()

    @property
    def name(self) -> str | None:
        """The file that is read; None for bytes."""
        return self._source.name

    @property
    def order(self) -> Order | None:
        """The offsets so far; None if they are not checked."""
        return self._order

    @property
    def omissions(self) -> Omissions:
        """What was left out so far; a torn tail counts as that of the newest segment."""
        omissions = Omissions()
        omissions.end(Path(self.name or ""), self.skipped, self.torn_tail, is_last=True)
        return omissions

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def items(self, decoder: Decoder[T]) -> Iterator[T]:
        """The decoder's items for the batches from `position` to the end; closes the source.

        Raises FormatError at damage that must not be skipped, and ReadFailed, after the items before it.
        """
        try:
            yield from self._decoded(decoder)
        except Exception:
            yield from decoder.rest()
            raise
        finally:
            decoder.close()
            self.close()
        yield from decoder.rest()

    # -- window by window, or one batch after another ---------------------------------------------

    def _decoded(self, decoder: Decoder[T]) -> Iterator[T]:
        source = self._source
        need = 0
        while True:
            pos = self.position
            behind = self._stop is not None and pos >= self._stop
            if behind and self._is_reached():
                return
            if pos != self._now:
                self._before, self._now = self._now, pos
            source.forget(self._before)
            if decoder.runs and not behind:
                buf, start, end = source.window(pos, need)
                if self._stop is not None:
                    end = min(end, start + self._stop - pos)
                yield from self._run(decoder, buf, start, end)
                position = start + self.position - pos
                if position == end and start < end:
                    need = 0
                    continue
                larger = self._larger(Frame.peek(buf, position, end), end - position)
                if larger > max(need if position == start else 0, end - position):
                    need = larger
                    continue
            before = self.position
            yield from self._step(decoder)
            if self.position == before:
                return
            need = 0

    def _is_reached(self) -> bool:
        """Whether a good batch has the offset for which the walk stops; one whose end is sure."""
        if self._last is None or self._order is None:
            return True
        return self._order.last >= self._last and self._is_sure

    def _run(self, decoder: Decoder[T], buf: Buffer, start: int, end: int) -> Iterator[T]:
        """The decoder's items for a window, up to a batch whose offset must be checked."""
        order, pos = self._order, self.position
        if order is None:
            yield from decoder.run(self, buf, start, end)
            return
        stop, last = order.up_to(buf, start, end)
        yield from decoder.run(self, buf, start, stop)
        position = start + self.position - pos
        if position != stop:
            _, last = order.up_to(buf, start, position)
        order.passed(last)

    def _larger(self, frame: Frame | None, have: int) -> int:
        """The size of the batch at `position` if it may be complete in a larger window; else 0."""
        size = FRAME_SIZE if frame is None else frame.size
        if size <= have or size > min(self._limits.batch_bytes, AT_ONCE):
            return 0
        return size if self._source.remaining(self.position, size) >= size else 0

    def _step(self, decoder: Decoder[T]) -> Iterable[T]:
        """Decode the batch at `position`, or skip damage there; moves on, unless reading ends.

        Raises FormatError for damage that must not be skipped; ReadFailed.
        """
        pos, source = self.position, self._source
        try:
            frame = self._frame(pos)
            if frame is None:
                self._require_read(pos)
                if self.torn_tail is None or (foreign := self._foreign(pos)) is None:
                    return ()
                self.torn_tail = None
                raise foreign
            end = pos + frame.size
            data = self._bytes(pos, frame.size, decoder.keeps)
            batch = open_batch(data, pos, self._limits, self._rows, frame, self._topic_partition)
            items = self._decode(decoder, batch, end)
        except (FormatError, ReadFailed) as wrong:
            foreign = self._foreign(pos) if isinstance(wrong, FormatError) else None
            error = foreign or wrong
            error.in_source(source.name)
            if not self._skip or (isinstance(error, ReadFailed) and not source.loses):
                if foreign is not None:
                    raise foreign from None
                raise
            before = self._known(pos)
            # Another system's file may well contain batches, of several logs.
            remaining = 0 if foreign is None else source.remaining(pos, 1 << 62)
            end = pos + remaining if remaining else self._resume().after(pos, before)
            self._good = end, before
            self._before = self._now = end
            self._skipped(pos, end, error)
            if isinstance(error, CrcMismatch):
                end = self._skip_alike(end)
                self._good = end, before
                self._before = self._now = end
            if self._order is not None:
                self._order.skipped()
            items = ()
        self.position = end
        return items

    def _foreign(self, pos: int) -> FormatError | None:
        """The error for a source that is not a Kafka log, if the batch at its start cannot be read."""
        return None if pos else foreign_error(self._source)

    def _skipped(self, start: int, end: int, error: FormatError | ReadFailed) -> None:
        cause = self._source.failed(start, end) or error
        self.skipped.add(SkippedRange(start, end, _bare(cause)))
        logger().warning("skipped bytes %d to %d: %s", start, end, cause)

    def _skip_alike(self, start: int) -> int:
        """Skip the batches from `start` on that also have wrong checksums; return where the last one starts.

        That one precedes good data or the end, and is checked with it.
        """
        pos, stop = start, self._resume().wrong_up_to(start)
        skipped = self.skipped
        while pos < stop:
            block = self._source.read(pos, min(CHUNK, stop - pos))
            have = min(len(block), stop - pos - 1)
            offset = 0
            while (
                have - offset >= FRAME_SIZE
                and (end := offset + BEFORE_BODY + LENGTH.get(block, offset)) <= have
            ):
                if len(skipped) < skipped.MOST:
                    error = wrong_checksum(block, offset, end, pos).in_source(self._source.name)
                    cause = self._source.failed(pos + offset, pos + end) or error
                    skipped.append(SkippedRange(pos + offset, pos + end, cause))
                else:
                    skipped.omit(end - offset)
                offset = end
            if not offset:
                break
            pos += offset
        if pos > start:
            logger().warning("skipped bytes %d to %d: the checksum of each batch is wrong", start, pos)
        return pos

    def _decode(self, decoder: Decoder[T], batch: Batch, end: int) -> Iterable[T]:
        """The decoder's items for a batch, after checking its offset. Raises FormatError."""
        if self._order is None:
            return decoder.decode(batch)
        try:
            last = self._order.check(batch, self._whole_frame(end))
        except FormatError:
            # A wrong checksum is more informative.
            if self._check_crc:
                batch.verify_crc()
            raise
        items = decoder.decode(batch)
        self._order.passed(last)
        self._is_sure = batch.is_dense
        return items

    def _bytes(self, pos: int, size: int, held: bool) -> bytes | Stored:
        """The batch at `pos`; a large one stays in the source, unless it must be held. Raises ReadFailed."""
        if size <= AT_ONCE or held:
            data = self._source.read(pos, size)
            self._require_read(pos, pos + size)
            return data

        def read(position: int, most: int) -> bytes:
            data = self._source.read(position, most)
            self._require_read(position, position + len(data))
            return data

        return Stored.of(read, pos, size)

    def _require_read(self, start: int, end: int | None = None) -> None:
        """Raise the read error of a batch or torn tail, if some of its bytes are substitutes."""
        if end is None:
            end = start if self.torn_tail is None else start + self.torn_tail.size
        error = self._source.failed(start, end)
        if error is not None:
            self.torn_tail = None
            raise error

    # -- where a batch ends, and the log ----------------------------------------------------------

    def _frame(self, pos: int) -> Frame | None:
        """The frame of the whole batch at `pos`; None if reading ends. Raises FormatError."""
        source = self._source
        head = source.read(pos, FRAME_SIZE)
        frame = Frame.peek(head)
        if frame is not None:
            _, size, magic = frame
            if LEAST_SIZE <= size <= self._limits.batch_bytes and magic in MAGICS:
                have = source.remaining(pos, size)
                if have >= size:
                    return frame
                self._cut_short(pos, size, have)
                return None
        if not any(head):
            if head and self._zeros_to_the_end(pos):
                return None
        elif frame is None:
            self.torn_tail = TornTail(pos, len(head), "fewer bytes than the start of a batch")
            return None
        if frame is None:
            return None
        self._refuse(pos, frame)
        return None

    def _whole_frame(self, pos: int) -> Frame | None:
        """The frame at `pos` if there may be a whole batch."""
        frame = Frame.peek(self._source.read(pos, FRAME_SIZE))
        if frame is None or not frame.known or not frame.fits(self._limits.batch_bytes):
            return None
        return frame if self._source.remaining(pos, frame.size) >= frame.size else None

    def _refuse(self, pos: int, frame: Frame) -> None:
        """Raise the error of a frame; a batch larger than allowed may just be cut short."""
        position = pos + LENGTH_AT
        if frame.len_body < LEAST_BODY:
            need = f"at least {LEAST_BODY}"
            raise Malformed(
                "len_body", "too small for any batch", at=position, need=need, have=frame.len_body
            )
        if not frame.known:
            position = pos + MAGIC_AT
            raise Unsupported(
                "magic", "unknown message format", at=position, need=shown_magics(), have=frame.magic
            )
        size, limit = frame.size, self._limits.batch_bytes
        have = self._source.remaining(pos, limit)
        # of a stream, only the allowed size is kept to see whether the batch is cut short
        if have >= (size if self._source.sized else limit):
            raise LimitExceeded(
                "len_body",
                "batch larger than allowed",
                at=position,
                need=size,
                have=limit,
                limit="batch_bytes",
            )
        self._cut_short(pos, size, have)

    def _cut_short(self, pos: int, size: int, have: int) -> None:
        """Truncated by a crash, or a damaged length: a later batch decides which."""
        if self._resume().is_damage(pos, self._known(pos)):
            raise Truncated("batch", at=pos, need=size, have=have)
        self.torn_tail = TornTail(pos, have, f"the batch has {size} bytes, {have} are there")

    # -- state at damage ---------------------------------------------------------------------------

    def _resume(self) -> Resumption:
        if self._resumption is None:
            offsets = segment_offsets(self._source.path)
            self._good = self._good[0], PrecedingLog(offsets.start)
            self._resumption = Resumption(self._source, self._limits, offsets)
        return self._resumption

    def _known(self, pos: int) -> PrecedingLog:
        """The constraints from the good batches before damage at `pos`."""
        self._resume()
        good, before = self._good
        position, last = max(good, self._now if pos > self._now else self._before), None
        largest = 0
        while position < pos and (frame := Frame.peek(self._source.read(position, FRAME_SIZE))) is not None:
            last = position, frame.size
            largest = max(largest, frame.size)
            position += frame.size
        if last is not None:
            start, size = last
            batch = open_batch(self._source.read(start, size), start, self._limits, self._rows)
            before = PrecedingLog(batch.next_offset, max(largest, before.largest), batch.magic)
            self._good = pos, before
        return before

    def _zeros_to_the_end(self, pos: int) -> bool:
        """Whether only zeros follow, as in a preallocated file; they are then the torn tail."""
        position, width = pos, _FIRST_BLOCK - pos % _FIRST_BLOCK
        while block := self._source.read(position, width):
            if any(block) if len(block) <= _FIRST_BLOCK else block.count(0) != len(block):
                return False
            position += len(block)
            if self._source.is_hole(position):
                position += self._source.remaining(position, 1)
                break
            width = min(2 * width, CHUNK)
        self.torn_tail = TornTail(pos, position - pos, "zeros")
        return True


def _bare(error: FormatError | ReadFailed) -> FormatError | ReadFailed:
    """`error` without its traceback, whose frames would keep the bytes of the batch."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
