"""The way through a log, batch after batch: its position, its torn tail, what was skipped."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TypeVar

from kodec.log import kernel
from kodec.log.backends.contract import Decoder
from kodec.log.batches.frame import FRAME_SIZE, LEAST_BODY, LENGTH_AT, MAGIC_AT, Frame
from kodec.log.batches.options import ReadOptions
from kodec.log.batches.records import SkippedRange, TornTail
from kodec.log.reading.resume import Resumption
from kodec.log.reading.source import CHUNK, Source, open_source
from kodec.runtime.errors import FormatError, LimitExceeded, Malformed, Truncated, Unsupported

__all__ = ["Walk"]

T = TypeVar("T")
_log = logging.getLogger("kodec")
_FIRST_BLOCK = 4096


class Walk:
    """Goes through a source and has a decoder make items of the batches, one by one or a window at a time.

    Attributes:
        position: the byte after the last batch that was decoded.
        torn_tail: why the walk ended before the source did; None where it did not.
        skipped: the ranges passed over with `on_error="skip"`, in order.

    Raises: what `open_source` does.
    """

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = open_source(source)
        self._limits = options.limits
        self._skip = options.on_error == "skip"
        self._resumption = Resumption(self._source, options.limits)
        self.position = 0
        self.torn_tail: TornTail | None = None
        self.skipped: list[SkippedRange] = []

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()

    def items(self, decoder: Decoder[T]) -> Iterator[T]:
        """What the decoder makes of the batches from `position` to the end; closes the source.

        Raises FormatError at damage that is not to be skipped, after the items of what is before it.
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
            source.forget(pos)
            if decoder.runs:
                buf, start, end = source.window(pos, need)
                yield from decoder.run(self, buf, start, end)
                at = start + self.position - pos
                if at == end and start < end:
                    need = 0
                    continue
                larger = self._larger(Frame.peek(buf, at, end), end - at)
                if larger > max(need if at == start else 0, end - at):
                    need = larger
                    continue
            before = self.position
            yield from self._step(decoder)
            if self.position == before:
                return
            need = 0

    def _larger(self, frame: Frame | None, have: int) -> int:
        """How many bytes the batch at `position` needs, where it may be whole in a larger window; else 0."""
        size = FRAME_SIZE if frame is None else frame.size
        if size <= have or size > self._limits.batch_bytes:
            return 0
        return size if self._source.remaining(self.position, size) >= size else 0

    def _step(self, decoder: Decoder[T]) -> Iterable[T]:
        """Decode the batch at `position`, or skip what is damaged there; moves on, except where reading ends.

        Raises FormatError for damage that is not to be skipped.
        """
        pos, source = self.position, self._source
        try:
            size = self._size(pos)
            if not size:
                return ()
            items = decoder.decode(kernel.open_batch(source.read(pos, size), pos, self._limits))
        except FormatError as error:
            error.in_source(source.name)
            if not self._skip:
                raise
            end = self._resumption.after(pos)
            self.skipped.append(SkippedRange(pos, end, _bare(error)))
            _log.warning("skipped bytes %d to %d: %s", pos, end, error)
            self.position = end
            return ()
        self.position = pos + size
        return items

    # -- where a batch ends, and the log ----------------------------------------------------------

    def _size(self, pos: int) -> int:
        """The size of the batch at `pos`; 0 where reading ends. Raises FormatError for a corrupt frame."""
        source = self._source
        head = source.read(pos, FRAME_SIZE)
        frame = Frame.peek(head)
        if frame is None:
            if head:
                why = "fewer bytes than the start of a batch" if any(head) else "zeros"
                self.torn_tail = TornTail(pos, len(head), why)
            return 0
        if not any(head) and self._zeros_to_the_end(pos):
            return 0
        if frame.len_body < LEAST_BODY:
            need = f"at least {LEAST_BODY}"
            at = pos + LENGTH_AT
            raise Malformed("len_body", "too small for any batch", at=at, need=need, have=frame.len_body)
        if not frame.known:
            at = pos + MAGIC_AT
            raise Unsupported("magic", "unknown message format", at=at, need="0, 1 or 2", have=frame.magic)
        size, limit = frame.size, self._limits.batch_bytes
        have = source.remaining(pos, min(size, limit))
        # of a stream no more is kept than is allowed, to see whether the batch is cut short
        if size > limit and have >= (size if source.sized else limit):
            at = pos + LENGTH_AT
            raise LimitExceeded(
                "len_body", "batch larger than allowed", at=at, need=size, have=limit, limit="batch_bytes"
            )
        if have < size:
            # Cut off by a crash, or a length that was hit: a batch further on tells the two apart.
            if self._resumption.next_batch(pos + 1) is not None or self._resumption.exhausted:
                raise Truncated("batch", at=pos, need=size, have=have)
            self.torn_tail = TornTail(pos, have, f"the batch has {size} bytes, {have} are there")
            return 0
        return size

    def _zeros_to_the_end(self, pos: int) -> bool:
        """Whether only zeros follow, as in a file that was allocated ahead; they are then the torn tail."""
        at, width = pos, _FIRST_BLOCK
        while block := self._source.read(at, width):
            if any(block) if len(block) <= _FIRST_BLOCK else block.count(0) != len(block):
                return False
            at += len(block)
            width = min(2 * width, CHUNK)
        self.torn_tail = TornTail(pos, at - pos, "zeros")
        return True


def _bare(error: FormatError) -> FormatError:
    """`error` without the stack it came through, whose frames would keep the bytes of the batch."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
