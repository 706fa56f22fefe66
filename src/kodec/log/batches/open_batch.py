"""Creates the batch object for bytes, by their magic."""

from __future__ import annotations

from kodec.log.batches.batch import Batch
from kodec.log.batches.default_batch import DefaultBatch, RowReader, read_rows
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import FRAME_SIZE, LEGACY, MAGIC_AT, Frame
from kodec.log.batches.large import Stored
from kodec.log.batches.legacy_batch import LegacyBatch
from kodec.log.batches.records import Limits
from kodec.runtime.errors import CrcMismatch, FormatError, Truncated, Unsupported

__all__ = ["open_batch", "wrong_checksum"]


def open_batch(
    data: bytes | Stored,
    position: int,
    limits: Limits,
    rows: RowReader = read_rows,
    frame: Frame | None = None,
) -> Batch:
    """The batch whose bytes are `data`, found at `position` of its source; its checksum is not yet verified.

    `rows` reads its records, if it is of magic 2; `frame` is its frame, if already read. Raises
    FormatError with positions in the source.
    """
    first = data.head if isinstance(data, Stored) else data
    frame = frame or Frame.peek(first)
    if frame is None:
        raise Truncated("batch", at=position, need=FRAME_SIZE, have=len(first))
    base_offset, _, magic = frame
    try:
        if magic == DefaultBatch.magic:
            return DefaultBatch(data, position, limits, rows)
        if magic in LEGACY:
            return LegacyBatch(data, position, limits, frame)
    except FormatError as error:
        raise error.within(
            f"{'RecordBatch' if magic == 2 else 'Message'}({base_offset=})", shift=position
        ) from None
    at = position + MAGIC_AT
    raise Unsupported("magic", "unknown message format", at=at, need="0, 1 or 2", have=magic)


def wrong_checksum(data: bytes, start: int, stop: int, origin: int) -> CrcMismatch:
    """The error that `verify_crc` of the batch in `data[start:stop]` raises, in a third of the time.

    `origin` is where `data` starts in its source.
    """
    kind = KAFKA.kind(KAFKA.magic.get(data, start))
    at, stored, computed = kind.checksum(data, start, stop)
    path = f"{kind.place(KAFKA.offset.get(data, start))}.crc"
    return CrcMismatch(path, at=origin + at, need=stored, have=computed)
