"""Consecutive batches with wrong checksums, in pure Python."""

from __future__ import annotations

from kodec.log.backends.contract import Buffer
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import Frame
from kodec.runtime.errors import FormatError

__all__ = ["wrong_checksums"]


def wrong_checksums(data: Buffer, start: int, end: int, most: int) -> tuple[int, int]:
    """How far the batches in `data[start:end]` are valid except for their checksums.

    Args: most: the largest batch, in bytes.

    Returns: (the start of the first other batch, how many batches are before it).
    """
    whole = data if isinstance(data, bytes) else bytes(data)
    count = 0
    while (frame := Frame.peek(whole, start, end)) is not None and frame.fits(most):
        stop = start + frame.size
        if stop > end:
            break
        try:
            if not KAFKA.kind(frame.magic).is_wrong_in_checksum_alone(whole, start, stop):
                break
        except FormatError:
            break
        start = stop
        count += 1
    return start, count
