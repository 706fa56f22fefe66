"""Checks that the offsets of a segment's batches ascend and stay within it: no checksum covers them.

The rule is that of `verify`, and of recovery (`org.apache.kafka.storage.internals.log.LogSegment.recover`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kodec.log import kernel
from kodec.log.backends.contract import Buffer
from kodec.log.batches.frame import Frame
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.files.listing import parse_segment_name, segment_offsets
from kodec.runtime.errors import FormatError, Malformed

__all__ = ["Order"]


class Placed(Protocol):
    """The facts of a batch or header used here: its offsets, and how to locate an error."""

    @property
    def frame_offset(self) -> int: ...

    @property
    def last_offset(self) -> int: ...

    def located(self, error: FormatError, /) -> FormatError: ...


class Order:
    """The offsets of a segment's batches read so far.

    A batch is wrong if it starts at or below the last offset before it, or below the segment's base offset;
    if it ends at or above the next segment's base offset; or if it leaves a gap that the batch
    after it contradicts by continuing in the gap or in the middle of it.

    Args:
        stop: the next segment's base offset, if known.

    Attributes:
        last: the last offset so far; one below the segment's base offset if there is none.
    """

    def __init__(self, base_offset: int, path: Path | None, stop: int | None = None) -> None:
        self.last = base_offset - 1
        # The limit of indexes; the offset after it must fit too.
        self._limit = min(base_offset + MAX_RELATIVE, 2**63 - 2)
        if stop is not None:
            self._limit = min(self._limit, stop - 1)
        self._path = path
        self._in_order = kernel.in_order()
        # Only after a gap can offsets exceed the next segment's: until then the folder need not be listed.
        self._most: int | None = None
        self._skipped = False

    @classmethod
    def of(cls, path: Path | None) -> Order | None:
        """That of the segment with this path; None if its name is not a segment's."""
        base_offset = None if path is None else parse_segment_name(path.name)
        return None if base_offset is None else cls(base_offset, path)

    @property
    def most(self) -> int:
        """The largest offset that a batch here can have."""
        if self._most is None:
            self._most = self._limit
            if self._path is not None and parse_segment_name(self._path.name) is not None:
                self._most = min(self._most, segment_offsets(self._path).stop - 1)
        return self._most

    def up_to(self, buf: Buffer, start: int, end: int) -> tuple[int, int]:
        """The start of the first batch in `buf[start:end]` that must be checked on its own or is incomplete.

        Also the last offset before it, for `passed`.
        """
        most = self._limit if self._most is None else self._most
        gaps = self._most is not None and not self._skipped
        return self._in_order(buf, start, end, self.last, most, gaps)[:2]

    def passed(self, last: int) -> None:
        """Record the last offset read."""
        self._skipped &= last == self.last
        self.last = last

    def skipped(self) -> None:
        """Record that a batch was skipped, or all before the first one read: that gap is no evidence."""
        self._skipped = True

    def check(self, batch: Placed, following: Frame | None) -> int:
        """The argument of `passed` for a batch before one with this frame, if any.

        Raises Malformed if its offset is wrong.
        """
        last = batch.last_offset
        first = batch.frame_offset
        if first <= self.last:
            raise _wrong(batch, "offsets ascend", f"more than {self.last}", first)
        if last < first:
            raise _wrong(batch, "last offset below the first", f"at least {first}", last)
        if last > self._limit:
            raise _wrong(batch, "outside of its segment", f"at most {self._limit}", last)
        if first > self.last + 1:
            if last > self.most:
                raise _wrong(batch, "outside of its segment", f"at most {self.most}", last)
            if following is not None and self.last < following.offset <= last:
                need = f"below {following.offset}, where the next batch starts"
                raise _wrong(batch, "offsets ascend", need, f"{first} to {last}")
        return last


def _wrong(batch: Placed, reason: str, need: object, have: object) -> FormatError:
    return batch.located(Malformed("base_offset", reason, at=0, need=need, have=have))
