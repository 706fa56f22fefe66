"""Where to resume after a damaged batch: the one place that says what counts as evidence for the next one."""

from __future__ import annotations

import math

from kodec.log import kernel
from kodec.log.batches.batch import Batch
from kodec.log.batches.frame import FRAME_SIZE, PLAUSIBLE, Frame
from kodec.log.batches.records import Limits
from kodec.log.reading.source import CHUNK, ByteSource
from kodec.runtime.errors import FormatError

__all__ = ["Resumption"]

_FIRST_BLOCK = 4096
# What a question after a batch costs: about as much as so many bytes searched, or 64 times as many summed.
_GLANCE, _TRIAL = 64, 1024


class Resumption:
    """Finds the way past damage in one source, and bounds what the search may cost.

    Attributes:
        exhausted: whether a search was given up before the source ended.
    """

    def __init__(self, source: ByteSource, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self.exhausted = False
        self._spent = 0
        self._barren: float = math.inf
        self._chained = -1

    def after(self, pos: int) -> int:
        """Where to resume after a bad batch at `pos`: where its own length points, if that can be right.

        Else at the next batch that can be trusted, and without one at the end.
        """
        own = self._stated_end(pos)
        if own is not None and (self._is_batch(pos) or self._leads_on(own)):
            return own
        found = self.next_batch(pos + 1)
        if found is not None:
            return found
        return pos + self._source.remaining(pos, 1 << 62) if own is None else own

    def next_batch(self, pos: int) -> int | None:
        """The next position from which a whole batch with a right checksum can be read."""
        if self.exhausted or pos >= self._barren:
            return None
        source, limit = self._source, self._limits.batch_bytes
        start, width = pos, _FIRST_BLOCK
        while block := source.read(pos, width + FRAME_SIZE):
            for match in PLAUSIBLE.finditer(block):
                at = pos + match.start()
                if not self._afford(_GLANCE, at):
                    self.exhausted = True
                    return None
                frame = Frame.peek(block, match.start())
                assert frame is not None
                size = frame.size
                if size <= limit and source.remaining(at, size) >= size and self._is_batch(at):
                    return at
            if len(block) < width + FRAME_SIZE:
                break
            pos += width
            width = min(2 * width, CHUNK)
        self._barren = min(self._barren, start)
        return None

    # -- evidence ---------------------------------------------------------------------------------

    def _is_batch(self, pos: int) -> bool:
        """Whether a whole batch with a right checksum starts at `pos`."""
        end = self._stated_end(pos)
        return end is not None and (batch := self._opens(pos, end)) is not None and batch.crc_ok

    def _leads_on(self, pos: int) -> bool:
        """Whether lengths lead from `pos` to a valid batch or just to the end, over damaged ones in between.

        Looking into the damaged ones instead would find batches that are the value of a record.
        """
        at = pos
        while at > self._chained and self._source.remaining(at, 1) and not self._is_batch(at):
            end = self._stated_end(at)
            if end is None or not self._opens(at, end):
                return False
            at = end
        self._chained = max(self._chained, at)
        return True

    def _stated_end(self, pos: int) -> int | None:
        """Where the batch at `pos` ends by its own length; None where that is no place in the source."""
        frame = Frame.peek(self._source.read(pos, FRAME_SIZE))
        if frame is None or not FRAME_SIZE < frame.size <= self._limits.batch_bytes:
            return None
        return pos + frame.size if self._source.remaining(pos, frame.size) >= frame.size else None

    def _opens(self, pos: int, end: int) -> Batch | None:
        """The batch in these bytes, its checksum not looked at; None where it is none or enough was tried."""
        if not self._afford(_TRIAL + (end - pos) // 64, end):
            return None
        try:
            return kernel.open_batch(self._source.read(pos, end - pos), pos, self._limits)
        except FormatError:
            return None

    def _afford(self, cost: int, reached: int) -> bool:
        """Whether `cost` more may be spent on questions that got as far as `reached`.

        So the cost of a source made of false starts is bounded.
        """
        self._spent += cost
        return self._spent <= 64 * CHUNK + 16 * reached
