"""Creates the batch object for bytes, by their magic."""

from __future__ import annotations

from kodec.log.batches.batch import Batch
from kodec.log.batches.default_batch import DefaultBatch, RowReader, read_rows
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import FRAME_SIZE, LEGACY, LISTS, MAGIC_AT, Frame, shown_magics
from kodec.log.batches.large import Stored
from kodec.log.batches.legacy_batch import LegacyBatch
from kodec.log.batches.records import Limits, Owner
from kodec.runtime.errors import CrcMismatch, FormatError, Truncated, Unsupported

__all__ = ["open_batch", "wrong_checksum"]


def open_batch(
    data: bytes | Stored,
    position: int,
    limits: Limits,
    rows: RowReader = read_rows,
    frame: Frame | None = None,
    topic_partition: Owner = None,
) -> Batch:
    """The batch whose bytes are `data`, found at `position` of its source; its checksum is not yet verified.

    `rows` reads its records, if they are a list; `frame` is its frame, if already read; `topic_partition` the
    topic-partition, if known. Raises FormatError with positions in the source.
    """
    first = data.head if isinstance(data, Stored) else data
    frame = frame or Frame.peek(first)
    if frame is None:
        raise Truncated("batch", at=position, need=FRAME_SIZE, have=len(first))
    base_offset, _, magic = frame
    try:
        batch: Batch | None = None
        if magic in LISTS:
            batch = DefaultBatch(data, position, limits, rows)
        elif magic in LEGACY:
            batch = LegacyBatch(data, position, limits, frame)
        if batch is not None:
            batch.topic_partition = topic_partition
            return batch
    except FormatError as error:
        raise error.within(KAFKA.kind(magic).place(base_offset), shift=position) from None
    magic_position = position + MAGIC_AT
    raise Unsupported("magic", "unknown message format", at=magic_position, need=shown_magics(), have=magic)


def wrong_checksum(data: bytes, start: int, stop: int, origin: int) -> CrcMismatch:
    """The error that `verify_crc` of the batch in `data[start:stop]` raises, in a third of the time.

    `origin` is where `data` starts in its source.
    """
    kind = KAFKA.kind(KAFKA.magic.get(data, start))
    crc_position, stored, computed = kind.checksum(data, start, stop)
    path = f"{kind.place(KAFKA.offset.get(data, start))}.crc"
    return CrcMismatch(path, at=origin + crc_position, need=stored, have=computed)
