"""Batches whose lengths lead from one to the next, from their frames alone."""

from __future__ import annotations

from bisect import bisect_left

from kodec.generated.log.message_set import Compression, Message, MessageAttributes
from kodec.generated.log.message_set import Entry as MessageEntry
from kodec.log.batches.frame import FRAME_SIZE, LEGACY, Frame
from kodec.log.batches.sizes import MAX_RELATIVE, OFFSET
from kodec.log.reading.source import CHUNK, ByteSource

__all__ = ["FAR", "Chain", "is_wrapper"]

FAR = 16 * CHUNK
"""After this many bytes, lengths need not be followed further."""
_ATTRIBUTES_AT = MessageEntry.PLACES["message"][0] + Message.PLACES["attributes"][0]
_WITH_ATTRIBUTES = max(FRAME_SIZE, _ATTRIBUTES_AT + MessageAttributes.SIZE)


class Chain:
    """The batches from a position on, each at the end of the one before, with ascending offsets.

    Attributes:
        positions: where each starts.
        offsets: the offset of each, from its frame.
        end: the byte after the last one.
        lists: whether each of them is a list of records.
        largest: the size of the largest one.
        leads_out: whether the chain continues to the end of the source (its last byte, a torn batch, zeros),
            or for `FAR` bytes; else there is damage at `end`.
    """

    def __init__(self, source: ByteSource, pos: int, frame: Frame, most: int) -> None:
        """Follow the lengths from the batch at `pos`; none of more than `most` bytes is followed."""
        self.positions: list[int] = []
        self.offsets: list[int] = []
        self._source = source
        self.lists = True
        alone: list[bool] = []
        current: Frame | None = frame
        self.end = pos
        self.leads_out = False
        while current is not None:
            self.positions.append(self.end)
            self.offsets.append(current.offset)
            self.lists = self.lists and current.is_list
            # the offset of such a message would count from the start of a wrapper that held it
            alone.append(current.magic == 1 and not is_wrapper(source, self.end))
            self.end += current.size
            current = self._following(current, most)
        self._steps = _largest_steps(self.offsets, alone)
        self.largest = max(
            stop - start for start, stop in zip(self.positions, [*self.positions[1:], self.end], strict=True)
        )

    def __contains__(self, pos: int) -> bool:
        index = bisect_left(self.positions, pos)
        return index < len(self.positions) and self.positions[index] == pos

    def index(self, pos: int) -> int:
        """The number of batches before `pos`."""
        return bisect_left(self.positions, pos)

    def count(self, pos: int) -> int:
        """The number of batches from `pos` on."""
        return len(self.positions) - bisect_left(self.positions, pos)

    def ends_after(self, pos: int, most: int) -> set[int]:
        """Where the batches from `pos` on end, limited to a number."""
        first = bisect_left(self.positions, pos) + 1
        return {*self.positions[first : first + most], self.end} - {pos}

    def largest_step(self, pos: int) -> int:
        """How far apart offsets are, at most, over the single messages of magic 1 from
        `pos`.
        """
        return self._steps[bisect_left(self.positions, pos)]

    def _following(self, last: Frame, most: int) -> Frame | None:
        """The frame of the batch at `end`; None if it is incomplete or invalid, or if that is far
        enough.
        """
        source, end = self._source, self.end
        head = source.read(end, FRAME_SIZE)
        frame = Frame.peek(head)
        if not head or end - self.positions[0] >= FAR:
            self.leads_out = True
        elif frame is None:
            self.leads_out = self._can_start(head, last)
        elif frame.known and frame.fits(most) and 0 < frame.offset - last.offset <= MAX_RELATIVE:
            if source.remaining(end, frame.size) >= frame.size:
                return frame
            # a single batch before a possible start of the next is too little evidence
            self.leads_out = len(self.positions) > 1
        elif not any(head):
            self.leads_out = self._zeros(end)
        return None

    def _can_start(self, tail: bytes, last: Frame) -> bool:
        """Whether the few bytes at the end can be the start of the next batch's offset, and not a
        record's rest.
        """
        if len(self.positions) == 1:
            return False
        lowest, highest = OFFSET.bounds(tail[: OFFSET.size])
        return lowest <= last.offset + MAX_RELATIVE and highest > last.offset

    def _zeros(self, pos: int) -> bool:
        """Whether only zeros follow."""
        position = pos
        while position - pos < FAR and (block := self._source.read(position, CHUNK)):
            if block.count(0) != len(block):
                return False
            position += len(block)
        return True


def is_wrapper(source: ByteSource, pos: int) -> bool:
    """Whether the frame at `pos`, and the byte after it, are those of a compressed message."""
    head = source.read(pos, _WITH_ATTRIBUTES)
    frame = Frame.peek(head)
    if frame is None or frame.magic not in LEGACY or len(head) < _WITH_ATTRIBUTES:
        return False
    attributes = MessageAttributes.from_bytes(head[_ATTRIBUTES_AT:][: MessageAttributes.SIZE])
    return attributes.compression != Compression.NONE


def _largest_steps(offsets: list[int], alone: list[bool]) -> list[int]:
    steps = [0] * len(offsets)
    for index in range(len(offsets) - 2, -1, -1):
        if alone[index]:
            steps[index] = max(steps[index + 1], offsets[index + 1] - offsets[index])
    return steps
