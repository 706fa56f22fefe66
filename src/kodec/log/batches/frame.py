"""The frame of a batch: its offset, size and format, in its first bytes, before the rest is read."""

from __future__ import annotations

from typing import NamedTuple

from kodec.log.batches.format import KAFKA

__all__ = [
    "BEFORE_BODY",
    "FRAME_SIZE",
    "LEAST_BODY",
    "LEAST_SIZE",
    "LEGACY",
    "LENGTH_AT",
    "LISTS",
    "MAGICS",
    "MAGIC_AT",
    "PLAUSIBLE",
    "Frame",
    "shown_magics",
]

MAGICS = KAFKA.magics
"""The supported message formats."""
LISTS = frozenset(KAFKA.heads)
"""The formats in which a batch is a header and a list of records."""
LEGACY = tuple(magic for magic in MAGICS if magic not in LISTS)
"""The formats in which each message, alone or a wrapper, is a batch."""
FRAME_SIZE = KAFKA.peeked
"""The bytes that hold offset, length and magic, the same in each format."""
LENGTH_AT, MAGIC_AT = KAFKA.length.at, KAFKA.magic.at
BEFORE_BODY = KAFKA.before_body
"""The offset and the length, which the length does not count."""
LEAST_BODY = KAFKA.least_body
"""The minimum length of a batch: that of an empty message of magic 0."""
LEAST_SIZE = BEFORE_BODY + LEAST_BODY
"""The minimum size of a whole batch."""
PLAUSIBLE = KAFKA.plausible()
"""Matches, without consuming bytes, where a frame may be: a plausible length, a known magic."""
# looked up for each batch
_peek, _whole = KAFKA.peek, KAFKA.whole
_new = tuple.__new__  # a third of the time


def shown_magics() -> str:
    """The supported magics, for an error: `0, 1 or 2`."""
    *first, last = map(str, MAGICS)
    return f"{', '.join(first)} or {last}"


class Frame(NamedTuple):
    """The contents of the first bytes of a batch; nothing is checked.

    Attributes:
        offset: the base offset of a list of records; the offset of a message, the last one of a wrapper.
        size: of the whole batch, in bytes; may be any number, even negative.
        magic: the message format, which determines the kind of batch.
    """

    offset: int
    size: int
    magic: int

    @classmethod
    def peek(cls, data: bytes | bytearray | memoryview, pos: int = 0, end: int | None = None) -> Frame | None:
        """The frame at `pos`; None if there are fewer than `FRAME_SIZE` bytes up to `end`."""
        if (len(data) if end is None else end) - pos < FRAME_SIZE:
            return None
        offset, len_body, magic = _peek(data, pos)
        return _new(cls, (offset, _whole(offset, len_body, magic), magic))

    @property
    def len_body(self) -> int:
        """The length as it is stored."""
        return self.size - BEFORE_BODY

    @property
    def known(self) -> bool:
        """Whether the format is supported."""
        return self.magic in MAGICS

    @property
    def is_list(self) -> bool:
        """Whether a list of records follows its header; otherwise it is a message, or a wrapper of such."""
        return self.magic in LISTS

    @staticmethod
    def framed(data: bytes, magic: int) -> bytes:
        """The batch in `data`, with the magic and a length that covers all of it."""
        batch = bytearray(data)
        KAFKA.length.put(batch, len(data) - BEFORE_BODY)
        KAFKA.magic.put(batch, magic)
        return bytes(batch)

    def fits(self, most: int) -> bool:
        """Whether the size can be that of a batch, and is at most `most`."""
        return LEAST_SIZE <= self.size <= most
