"""The frame of a batch: its offset, size and format, in its first bytes, before the rest is read."""

from __future__ import annotations

import re
from typing import NamedTuple

from kodec.generated.log.log_segment import PEEK_ENTRY_AT, PEEK_ENTRY_SIZE, peek_entry, peek_entry_len_entry
from kodec.generated.log.message_set import Message
from kodec.log.batches.sizes import LENGTH, MAGIC

__all__ = [
    "BEFORE_BODY",
    "FRAME_SIZE",
    "LEAST_BODY",
    "LEAST_SIZE",
    "LEGACY",
    "LENGTH_AT",
    "MAGICS",
    "MAGIC_AT",
    "PLAUSIBLE",
    "Frame",
]

LEGACY = (0, 1)
"""The formats in which each message, alone or a wrapper, is a batch."""
MAGICS = (*LEGACY, 2)
"""The message formats that there are."""
FRAME_SIZE = PEEK_ENTRY_SIZE
"""The bytes that hold offset, length and magic, the same in each format."""
LENGTH_AT, MAGIC_AT = PEEK_ENTRY_AT["len_body"], PEEK_ENTRY_AT["magic"]
_new = tuple.__new__  # a third of the time
BEFORE_BODY = peek_entry_len_entry(0, 0, 0)
"""The offset and the length, which the length does not count."""
LEAST_BODY = len(Message(magic=0).to_bytes())
"""The fewest bytes that a batch's length can count: those of an empty message of magic 0."""
LEAST_SIZE = BEFORE_BODY + LEAST_BODY
"""The fewest bytes of a whole batch."""


class Frame(NamedTuple):
    """What the first 17 bytes of a batch say; nothing of it is checked.

    Attributes:
        offset: the base offset of a batch of magic 2; the offset of a message, the last one of a wrapper.
        size: of the whole batch, in bytes; can be anything, also negative.
        magic: the message format, which says what kind of batch it is.
    """

    offset: int
    size: int
    magic: int

    @classmethod
    def peek(cls, data: bytes | bytearray | memoryview, pos: int = 0, end: int | None = None) -> Frame | None:
        """The frame at `pos`; None where fewer than 17 bytes are there, up to `end`."""
        if (len(data) if end is None else end) - pos < FRAME_SIZE:
            return None
        offset, len_body, magic = peek_entry(data, pos)  # type: ignore[arg-type]  # any buffer will do
        return _new(cls, (offset, peek_entry_len_entry(offset, len_body, magic), magic))

    @property
    def len_body(self) -> int:
        """The length as it is stored."""
        return self.size - BEFORE_BODY

    @property
    def known(self) -> bool:
        """Whether the format is one that there is."""
        return self.magic in MAGICS

    @staticmethod
    def framed(data: bytes, magic: int) -> bytes:
        """The batch in `data`, with the magic and a length that says that it is all of them."""
        made = bytearray(data)
        LENGTH.put(made, len(data) - BEFORE_BODY)
        MAGIC.put(made, magic)
        return bytes(made)

    def fits(self, most: int) -> bool:
        """Whether the size can be that of a batch, and is at most `most`."""
        return LEAST_SIZE <= self.size <= most


def _plausible() -> re.Pattern[bytes]:
    between = MAGIC_AT - LENGTH_AT - 1
    magics = b"".join(b"\\x%02x" % value for value in MAGICS)
    tiny = b"\\x00\\x00\\x00[\\x00-\\x%02x]" % (LEAST_BODY - 1)
    return re.compile(b"(?s)(?=.{%d}(?!%s)[\x00-\x7f].{%d}[%s])" % (LENGTH_AT, tiny, between, magics))


PLAUSIBLE = _plausible()
"""Matches, without taking a byte, where a frame may stand: a length not negative nor tiny, a known magic."""
