"""Batches one after another whose checksums are wrong, in pure Python."""

from __future__ import annotations

from kodec.generated.log import message_set as legacy
from kodec.generated.log import record_batch as v2
from kodec.log.backends.contract import Buffer
from kodec.log.batches.batch import HEAD
from kodec.log.batches.frame import BEFORE_BODY, LEGACY, Frame
from kodec.runtime.errors import FormatError

__all__ = ["wrong_checksums"]


def wrong_checksums(data: Buffer, start: int, end: int, most: int) -> tuple[int, int]:
    """How far the batches in `data[start:end]` are whole, and wrong in their checksums alone.

    Args: most: the largest batch, in bytes.

    Returns: (where the first batch is that is not so, how many are before it).
    """
    whole = data if isinstance(data, bytes) else bytes(data)
    count = 0
    while (frame := Frame.peek(whole, start, end)) is not None and frame.fits(most):
        stop = start + frame.size
        if stop > end:
            break
        try:
            if not (_is_wrong_message if frame.magic in LEGACY else _is_wrong_batch)(whole, start, stop):
                break
        except FormatError:
            break
        start = stop
        count += 1
    return start, count


def _is_wrong_message(data: bytes, start: int, stop: int) -> bool:
    start += BEFORE_BODY
    message, end = legacy.read_message_head(data, start, stop, HEAD)
    legacy.codec_of_message(message)
    return end == stop and legacy.checksum_of_message(data, start, stop)[1] != message.crc


def _is_wrong_batch(data: bytes, start: int, stop: int) -> bool:
    batch, _ = v2.read_record_batch_head(data, start, stop, HEAD)
    v2.codec_of_record_batch(batch)
    return v2.checksum_of_record_batch(data, start, stop)[1] != batch.crc
