"""Logs that are none: an encrypted file, another program's, a folder that has a topic-partition's name.

A crash tears the end of a log, and damage changes some of its bytes. Where the files begin with no frame of a
batch that belongs there, and no batch in any of them is right, neither has happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kodec.log.batches.frame import FRAME_SIZE, LEAST_BODY, Frame
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.reading.resume import PrecedingLog, Resumption
from kodec.log.reading.source import open_source
from kodec.runtime.errors import Unsupported

__all__ = ["unlike_a_log"]


def unlike_a_log(segments: Iterable[tuple[Path, int]], limits: Limits) -> Unsupported | None:
    """The error for a log in which no batch is right anywhere; None if it may be one, or is empty.

    Of a log that begins with a frame, that is all that is read.

    Args:
        segments: their files and base offsets.
        limits: how much may be allocated for one batch.

    Raises: OSError.
    """
    files = list(segments)
    heads = [head for path, base in files if (head := _unlike_a_frame(path, base)) != b""]
    if not heads or any(head is None for head in heads):
        return None
    if any(_holds_a_batch(path, limits) for path, _ in files):
        return None
    path, first = files[0][0], heads[0] or b""
    shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in first)
    error = Unsupported(
        "",
        "no batch is right anywhere in this log",
        at=0,
        need="a log of Kafka",
        have=f"files that begin with {first.hex(' ')}, {shown!r}",
    )
    error.in_source(str(path))
    return error


def _unlike_a_frame(path: Path, base: int) -> bytes | None:
    """The first bytes of a file that does not begin with a frame; None if it does, b"" if it has none yet."""
    source = open_source(path)
    try:
        head = bytes(source.read(0, FRAME_SIZE))
        frame = Frame.peek(head)
        if frame is None or not any(head):
            return b""
        # no checksum covers the offset, and a batch that is cut short has less than its length
        belongs = 0 <= frame.offset - base <= MAX_RELATIVE
        is_whole = frame.size <= source.remaining(0, frame.size)
        is_frame = frame.known and frame.len_body >= LEAST_BODY and (belongs or is_whole)
        return None if is_frame else head[:8]
    finally:
        source.close()


def _holds_a_batch(path: Path, limits: Limits) -> bool:
    source = open_source(path)
    try:
        search = Resumption(source, limits, range(1 << 63))
        return search.is_damage(0, PrecedingLog()) and not search.exhausted
    finally:
        source.close()
