"""Where to resume after a damaged batch: the one place that defines evidence for the next one.

The value of a record may hold whole batches, and compressed content may hold uncompressed messages: a right
checksum alone is no evidence. If the damaged batch's own length leads to a batch, reading continues there.
Else a candidate is accepted only if nothing suggests that it is part of the damaged batch:

- It is whole, and its checksum is right.
- Its offset is above the last good batch's, and possible in the segment, by its name and the next
  one's.
- Lengths lead from it over ascending offsets to the end of the source, or far enough.
  Where they lead to more damage instead, there are more batches or bytes than a value is likely to hold, and
  their offsets are below those of the batches accepted after them.
- It is not in the bytes that the damaged batch claims by its own length; unless lengths lead across the end
  that it claims, or more follows than a value is likely to hold.
- The length of a value, just before it, does not say that it is one. A single message of magic 1 has no
  offset that can count from the start of a wrapper.
- In a log of magic 0 or 1, where a message ends where its value does and lengths lead out of it, enough
  batches follow without a gap in their offsets; or compressed ones lead to the last byte and the last offset
  of the segment; or it is too far away, or lengths led to it over too many, to be in the damaged one.

Rejected candidates are skipped and reported. Only the offset is checked if the damaged batch has a right
checksum when it ends exactly here, or if a message of magic 0 or 1 ends here by the lengths of its key and
value: then only the bytes before them were damaged.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from kodec.generated.log.message_set import Message, read_message_head
from kodec.log import kernel
from kodec.log.batches.batch import HEAD, Batch
from kodec.log.batches.frame import (
    BEFORE_BODY,
    FRAME_SIZE,
    LEAST_SIZE,
    LEGACY,
    LISTS,
    MAGICS,
    PLAUSIBLE,
    Frame,
)
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.reading.chain import FAR, Chain, is_wrapper
from kodec.log.reading.source import CHUNK, ByteSource
from kodec.runtime.errors import FormatError, Truncated
from kodec.runtime.varint import read_zigzag32

__all__ = ["PrecedingLog", "Resumption"]

_FIRST_BLOCK = 4096
# The largest candidate for the extent of the damaged batch: it is held in memory twice.
_MOST_TRIED = 4 * CHUNK
_NOWHERE = 1 << 63
# More than a value is likely to hold: this many batches, or this multiple of the largest one nearby.
_MANY, _WEIGHT, _LEAST_WEIGHT = 8, 16, 64 << 10
# The default upper bound of offsets: a million records a second for nine years.
_PLAUSIBLE = 1 << 48
# How far the search continues after finding something that lengths do not lead out of.
_HORIZON = 4 * FAR
# The cost of one test for a batch: about that of searching this many bytes, or checksumming 64 times as many.
_GLANCE, _TRIAL = 64, 1024
# For how many consecutive batches a value that ends with one of them is searched.
_FEW = 8
_LENGTH = Struct(Message.PLACES["len_value"][1])
_VARINT = 5  # bytes


class PrecedingLog(NamedTuple):
    """The state of the log before damage.

    Attributes:
        low: the lowest offset that can follow; 0 also means unknown.
        largest: the size of the largest of the last good batches, 0 if there is none.
        magic: that of the last good batch; None if there is none.
    """

    low: int = 0
    largest: int = 0
    magic: int | None = None


class _Candidate(NamedTuple):
    """Batches that may be the next good ones: from `start` to `end`, with the offsets `first` to `last`.

    Attributes:
        last_at: where the last one starts.
        largest: the size of the largest one.
        leads_out: whether lengths lead on to the end of the source.
        proven: whether the damaged batch before them was shown to end where they start.
    """

    start: int
    last_at: int
    end: int
    batches: int
    magic: int
    first: int
    last: int
    largest: int
    leads_out: bool
    proven: bool


class Resumption:
    """Finds the way past damage in one source, with bounded cost.

    Attributes:
        exhausted: whether a search was abandoned before the end of the source.
    """

    def __init__(self, source: ByteSource, limits: Limits, offsets: range) -> None:
        """`offsets` are those that the source can have."""
        self._source = source
        self._limits = limits
        self._offsets = offsets
        self.exhausted = False
        self._spent = 0
        # from where to where lengths were followed over damaged batches, see `_leads_on`
        self._chained_from = self._chained = -1
        self._chain: Chain | None = None
        self._candidates: list[_Candidate] = []
        self._searched = 0
        self._doubted = _NOWHERE
        self._cut_short = -1, -1

    def after(self, pos: int, before: PrecedingLog) -> int:
        """Where to resume after a bad batch at `pos`; `before` is the state there.

        Where its own length points, if that can be right. Else at the next accepted batch, and
        without one at the end.
        """
        if pos == self._cut_short[0]:
            return self._cut_short[1]
        stated_end = self._stated_end(pos)
        if stated_end is not None and (self._is_batch(pos) or self._leads_on(stated_end)):
            while (
                self._has_wrong_offset(stated_end, before)
                and (end := self._stated_end(stated_end)) is not None
            ):
                stated_end = end
            return stated_end
        following = self._next(pos, before)
        if following is not None:
            return following
        return pos + self._source.remaining(pos, 1 << 62) if stated_end is None else stated_end

    def is_damage(self, pos: int, before: PrecedingLog) -> bool:
        """Whether the batch at `pos`, which is incomplete, was damaged: a batch is accepted after it.

        Else it is a torn tail.
        """
        following = self._next(pos, before)
        end = pos + self._source.remaining(pos, 1 << 62) if following is None else following
        self._cut_short = pos, end
        return following is not None or self.exhausted

    # -- the search -------------------------------------------------------------------------------

    def _next(self, pos: int, before: PrecedingLog) -> int | None:
        """The start of the next accepted batch; None if there is none."""
        if pos < self._doubted < self._searched:
            # candidates rejected after other damage may be accepted after this
            self._searched = self._doubted
            self._candidates = [
                candidate for candidate in self._candidates if candidate.start < self._searched
            ]
            self._doubted = _NOWHERE
        self._candidates = [candidate for candidate in self._candidates if candidate.start > pos]
        if not self._candidates or not self._candidates[-1].leads_out:
            self._search(pos, before)
        return self._believed(pos, before)

    def _search(self, pos: int, before: PrecedingLog) -> None:
        """Collect candidates after `pos`, up to one whose lengths lead on to the end."""
        claimed = self._claimed_end(pos, before)
        position = start = max(pos + 1, self._searched)
        while (match := self._plausible(position)) is not None:
            position, frame = match
            if not self._afford(_GLANCE, position):
                self.exhausted = True
                break
            if position - start > _HORIZON:
                if self._candidates:
                    break
                start = position
            candidate = self._candidate(pos, before, claimed, position, frame)
            if candidate is None:
                position += 1
            elif isinstance(candidate, int):
                self._doubted = min(self._doubted, position)
                position = candidate
            else:
                self._candidates.append(candidate)
                if candidate.leads_out:
                    break
                # the length of the last one may be what is damaged
                position = candidate.end if self._is_batch(candidate.last_at) else candidate.last_at + 1
        else:
            position = pos + self._source.remaining(pos, 1 << 62)
        self._searched = position

    def _plausible(self, pos: int) -> tuple[int, Frame] | None:
        """The next position from `pos` on where a batch may start, with its frame."""
        width = _FIRST_BLOCK
        while block := self._source.read(pos, width + FRAME_SIZE):
            if (match := PLAUSIBLE.search(block)) is not None:
                frame = Frame.peek(block, match.start())
                assert frame is not None
                return pos + match.start(), frame
            if len(block) < width + FRAME_SIZE:
                return None
            pos += width
            width = min(2 * width, CHUNK)
        return None

    def _candidate(
        self, pos: int, before: PrecedingLog, claimed: int, position: int, frame: Frame
    ) -> _Candidate | int | None:
        """The candidate that starts at `position`, after damage at `pos`.

        None if it is not a batch; if it may be part of the damaged one, the byte after it.
        """
        size = frame.size
        if (
            not frame.fits(self._limits.batch_bytes)
            or self._source.remaining(position, size) < size
            or not self._goes_on(frame, before)
            or (batch := self._opens(position, position + size)) is None
            or not batch.crc_ok
        ):
            return None
        chain = self._chain
        if chain is None or position not in chain:
            chain = self._chain = Chain(self._source, position, frame, self._limits.batch_bytes)
            self._afford(_GLANCE * len(chain.positions), position)
        doubtful = (
            (
                position < claimed
                and not self._leads_over(chain, claimed)
                and not self._is_much(pos, chain, position, before)
            )
            or self._is_value(pos, position, chain)
            or (frame.magic in LEGACY and frame.offset <= before.low)
            or chain.largest_step(position) > max(before.low, 1)
            or not self._is_followed(pos, batch, before, chain)
        )
        proven = (doubtful or not chain.leads_out) and (
            self._ends_at(pos, position) or self._value_ends_at(pos, position, before)
        )
        if doubtful and not proven:
            return position + size
        first, last = frame.offset, chain.offsets[-1]
        return _Candidate(
            position,
            chain.positions[-1],
            chain.end,
            chain.count(position),
            frame.magic,
            first,
            last,
            chain.largest,
            chain.leads_out,
            proven,
        )

    # -- evidence ---------------------------------------------------------------------------------

    def _believed(self, pos: int, before: PrecedingLog) -> int | None:
        """The first candidate that can be accepted with the present knowledge."""
        anchor = self._candidates[-1] if self._candidates and self._candidates[-1].leads_out else None
        stop = self._offsets.stop if anchor is None else anchor.first
        weight = self._weight(before, 0 if anchor is None else anchor.largest)
        for candidate in self._candidates:
            # of magic 0 and 1 the damaged one has the lowest offset itself
            if candidate.first < before.low + (candidate.magic in LEGACY):
                continue
            many = candidate.proven or candidate.batches >= _MANY or candidate.end - candidate.start >= weight
            if candidate.leads_out or (many and candidate.last < stop):
                return candidate.start
        return None

    def _is_followed(self, pos: int, batch: Batch, before: PrecedingLog, chain: Chain) -> bool:
        """Whether the place that its length leads to can follow `batch`.

        A message of magic 0 or 1 ends where its value does: lengths lead on from the batches in it, too.
        If the damaged one can be such, many must follow without a gap between their offsets, or it is
        too far away.
        """
        end = batch.position + batch.size
        frame = self._linked(chain, end)
        if frame is not None and frame.offset <= batch.last_offset:
            return False
        if before.magic in LISTS or (before.magic is None and chain.lists):
            return True
        # without a good batch before, no batch size is known
        weight = self._weight(before, chain.largest) if before.largest else self._limits.batch_bytes
        if batch.position - pos >= weight or chain.index(batch.position) >= _MANY:
            return True
        if self._leads_to_the_next_segment(chain, batch.position):
            return True
        count, start, following = 1, batch.position, batch
        while count < _MANY and end - start < weight:
            frame = self._linked(chain, end)
            expected = following.next_offset
            if frame is None or (opened := self._opens(end, end + frame.size)) is None:
                return False
            following = opened
            if not following.crc_ok or self._first(following) != expected:
                return False
            count += 1
            end += frame.size
        return True

    def _leads_to_the_next_segment(self, chain: Chain, start: int) -> bool:
        """Whether good compressed batches lead from `start` to the last offset of the segment, at its end.

        In a wrapper messages are not compressed again, so these are not messages of one.
        """
        return (
            chain.offsets[-1] + 1 == self._offsets.stop
            and not self._source.remaining(chain.end, 1)
            and all(
                is_wrapper(self._source, position) and self._is_batch(position)
                for position in chain.positions[chain.index(start) :]
            )
        )

    def _linked(self, chain: Chain, pos: int) -> Frame | None:
        """The frame of the whole batch at `pos`, if the chain leads to one."""
        return Frame.peek(self._source.read(pos, FRAME_SIZE)) if pos in chain else None

    def _is_much(self, pos: int, chain: Chain, start: int, before: PrecedingLog) -> bool:
        """Whether more leads on from `start` than the batch at `pos` is likely to hold.

        A wrapper holds many messages, but a value not many batches.
        """
        if chain.end - start >= self._weight(before, chain.largest):
            return True
        return chain.count(start) >= _MANY and not is_wrapper(self._source, pos)

    def _weight(self, before: PrecedingLog, largest: int) -> int:
        """More bytes than a batch is likely to have, by those before damage and the largest one after it."""
        return max(_WEIGHT * max(before.largest, largest), _LEAST_WEIGHT)

    def _first(self, batch: Batch) -> int | None:
        """The first offset of a batch; None if its content cannot be read."""
        try:
            return batch.base_offset
        except FormatError:
            return None

    def _goes_on(self, frame: Frame, before: PrecedingLog) -> bool:
        """Whether a batch with this frame can follow here."""
        ahead = frame.offset - before.low
        return frame.offset in self._offsets and 0 <= ahead <= (MAX_RELATIVE if before.low else _PLAUSIBLE)

    def _has_wrong_offset(self, pos: int, before: PrecedingLog) -> bool:
        """Whether a good batch is at `pos` whose offset, which no checksum covers, was damaged.

        It does not fit between what is before and what is after it, which fit.
        """
        frame = Frame.peek(self._source.read(pos, FRAME_SIZE))
        if frame is None or not frame.known or not self._is_batch(pos):
            return False
        end = pos + frame.size
        following = Frame.peek(self._source.read(end, FRAME_SIZE)) if self._is_batch(end) else None
        if self._goes_on(frame, before):
            return following is not None and before.low <= following.offset <= frame.offset
        # where the next one goes on from this one, both may be of another log that was put after the first
        return following is None or self._goes_on(following, before) or following.offset <= frame.offset

    def _claimed_end(self, pos: int, before: PrecedingLog) -> int:
        """Where the bad batch at `pos` ends by its length, if its frame is plausible; maybe after the
        source's end.
        """
        frame = Frame.peek(self._source.read(pos, FRAME_SIZE))
        if frame is None or not frame.known or frame.size < LEAST_SIZE or not self._goes_on(frame, before):
            return pos
        if frame.magic in LEGACY and not self._lengths_agree(pos, frame):
            return pos
        return pos + frame.size

    def _lengths_agree(self, pos: int, frame: Frame) -> bool:
        """Whether the message at `pos` ends where its value does, as far as it is present."""
        data = self._source.read(pos, min(frame.size, CHUNK))
        try:
            end = read_message_head(data, frame.size - frame.len_body, len(data), HEAD)[1]
        except Truncated as error:
            if error.path != "value" or not isinstance(error.need, int):
                return True
            end = error.at + error.need
        except FormatError:
            return False
        return end == frame.size

    def _leads_over(self, chain: Chain, end: int) -> bool:
        """Whether lengths lead over the place where a bad batch claims to end: it ends elsewhere."""
        return chain.end > end and end not in chain

    def _ends_at(self, pos: int, end: int) -> bool:
        """Whether the batch at `pos` has a right checksum if it ends here: then just its frame was hit."""
        if not LEAST_SIZE <= end - pos <= _MOST_TRIED or not self._afford(_TRIAL + (end - pos) // 64, end):
            return False
        data = self._source.read(pos, end - pos)
        frame = Frame.peek(data)
        for magic in MAGICS if frame is None or not frame.known else (frame.magic,):
            try:
                if kernel.open_batch(Frame.framed(data, magic), pos, self._limits).crc_ok:
                    return True
            except FormatError:
                continue
        return False

    def _value_ends_at(self, pos: int, end: int, before: PrecedingLog) -> bool:
        """Whether the message of magic 0 or 1 at `pos` has a value that ends here, by its own lengths.

        Not if the length is null or 0: overwritten bytes often look like that.
        """
        if before.magic in LISTS or end - pos > _MOST_TRIED:
            return False
        data = self._source.read(pos, end - pos)
        if len(data) < LEAST_SIZE:
            return False
        frame = Frame.peek(data)
        magics = {before.magic, None if frame is None else frame.magic}
        for magic in [candidate for candidate in LEGACY if candidate in magics]:
            try:
                head, stop = read_message_head(Frame.framed(data, magic), BEFORE_BODY, len(data), HEAD)
            except FormatError:
                continue
            if stop == len(data) and head.value:
                return True
        return False

    def _is_value(self, pos: int, position: int, chain: Chain) -> bool:
        """Whether the length of a value is just before `position`, and the value ends where a batch does."""
        start = max(pos, position - _VARINT)
        before = self._source.read(start, position - start)
        ends = chain.ends_after(position, _FEW)
        if len(before) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(before, len(before) - _LENGTH.size)
            if position + length in ends:
                return True
        for index in range(len(before)):
            try:
                length, stop = read_zigzag32(before, index, len(before))
            except FormatError:
                continue
            if stop == len(before) and stop - index > 1 and position + length in ends:
                return True
        return False

    def _is_batch(self, pos: int) -> bool:
        """Whether a whole batch with a right checksum starts at `pos`."""
        end = self._stated_end(pos)
        return end is not None and (batch := self._opens(pos, end)) is not None and batch.crc_ok

    def _leads_on(self, pos: int) -> bool:
        """Whether lengths lead from `pos` to a valid batch or just to the end, over damaged ones in between.

        Searching inside the damaged ones instead would find batches that are the value of a record.
        """
        position = pos
        width = _FIRST_BLOCK
        find = kernel.wrong_checksums()
        while position > self._chained and self._source.remaining(position, 1):
            block = self._source.read(position, width)
            size, count = find(block, 0, len(block), self._limits.batch_bytes)
            if count:
                if not self._afford(_GLANCE * count + size // 64, position + size):
                    return False
                position += size
                width = min(2 * width, CHUNK)
                continue
            if self._is_batch(position):
                break
            end = self._stated_end(position)
            if end is None or not self._opens(position, end):
                return False
            position = end
        if position > self._chained:
            self._chained_from, self._chained = pos, position
        return True

    def wrong_up_to(self, pos: int) -> int:
        """Up to where batches from `pos` on are known to be whole, with wrong checksums; `pos` for none."""
        return self._chained if self._chained_from <= pos <= self._chained else pos

    def _stated_end(self, pos: int) -> int | None:
        """Where the batch at `pos` ends by its own length; None if that is outside the source."""
        frame = Frame.peek(self._source.read(pos, FRAME_SIZE))
        if frame is None or not FRAME_SIZE < frame.size <= self._limits.batch_bytes:
            return None
        return pos + frame.size if self._source.remaining(pos, frame.size) >= frame.size else None

    def _opens(self, pos: int, end: int) -> Batch | None:
        """The batch in these bytes, without verifying its checksum; None if invalid or over the budget."""
        if not self._afford(_TRIAL + (end - pos) // 64, end):
            return None
        try:
            return kernel.open_batch(self._source.read(pos, end - pos), pos, self._limits)
        except FormatError:
            return None

    def _afford(self, cost: int, reached: int) -> bool:
        """Whether `cost` more may be spent on tests that reached `reached`.

        This bounds the cost of a source full of false starts.
        """
        self._spent += cost
        return self._spent <= 64 * CHUNK + 16 * reached
