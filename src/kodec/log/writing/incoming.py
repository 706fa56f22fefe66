"""A writer's input, as batches with their offsets. Followed: `LogValidator`, Kafka 4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from kodec.log import kernel
from kodec.log.batches.batch import Batch
from kodec.log.batches.encode import encode
from kodec.log.batches.format import KAFKA
from kodec.log.batches.records import Limits, Record, TimestampType
from kodec.log.batches.sizes import HEADS, OFFSET
from kodec.log.directories.producer_state import marker_of
from kodec.log.reading.reader import read_batches
from kodec.runtime.errors import EncodeError, FormatError, Truncated

__all__ = ["Encoding", "Incoming", "batches_of", "refuse_unfit", "with_offsets"]

_BATCH_BYTES = 1_000_000

Incoming = bytes | bytearray | memoryview | Batch | Iterable[Record]


class Encoding(TypedDict, total=False):
    """How records become batches: the arguments of `encode` of these names."""

    magic: int
    compression: str
    level: int | None
    timestamp_type: TimestampType | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    extra: Mapping[str, Any]
    batch_records: int | None
    batch_bytes: int
    lossy: bool


def batches_of(
    data: Incoming,
    *,
    next_offset: int | None,
    leader_epoch: int,
    segment_bytes: int,
    limits: Limits,
    encoding: Encoding,
) -> list[Batch]:
    """The given batches, or those that records become.

    Args:
        next_offset: of the first record; None: as in the records.
        leader_epoch: of the batches that records become, if their format has one.

    Raises: as `append` for records, and for bytes that are not whole batches.
    """
    if isinstance(data, Batch):
        data = data.data
    elif not isinstance(data, (bytes, bytearray, memoryview)):
        most = min(_BATCH_BYTES, segment_bytes // 2)
        options: Encoding = {"batch_bytes": most, **encoding}
        epoch = leader_epoch if options.get("magic", KAFKA.written) in HEADS else -1
        data = encode(data, base_offset=next_offset, partition_leader_epoch=epoch, **options)
    elif encoding:
        raise TypeError(f"{', '.join(encoding)}: for records, not for encoded data")
    reader = read_batches(data, limits=limits)
    batches = list(reader)
    if (tail := reader.torn_tail) is not None:
        raise Truncated("batch", tail.reason, at=tail.position, need="a whole batch", have=tail.size)
    return batches


def refuse_unfit(batches: list[Batch], segment_bytes: int, keeps_from: int | None) -> None:
    """Raise EncodeError for a batch larger than a segment, and for offsets that do not ascend.

    Args:
        keeps_from: if offsets are kept, the minimum of the first; else None.
    """
    expected = keeps_from
    for batch in batches:
        marker_of(batch)
        if batch.size > segment_bytes:
            raise EncodeError("batch", "larger than a segment", need=segment_bytes, have=batch.size)
        if expected is not None:
            offset = batch.frame_offset
            if offset < expected or batch.last_offset < offset:
                raise EncodeError("offset", "offsets must ascend", need=f"at least {expected}", have=offset)
            expected = batch.next_offset


def with_offsets(batch: Batch, start: int, leader_epoch: int, limits: Limits) -> list[Batch]:
    """The batch with offsets from `start` on; several if it had to be rewritten."""
    data = bytearray(batch.data)
    if batch.is_list:
        HEADS[batch.magic].epoch.put(data, leader_epoch)
        OFFSET.put(data, start)
        return [kernel.open_batch(bytes(data), 0, limits)]
    records = batch.records()
    OFFSET.put(data, start + len(records) - 1)
    placed = kernel.open_batch(bytes(data), 0, limits)
    offsets = range(start, start + len(records))
    try:
        if [record.offset for record in placed.records()] == list(offsets):
            return [placed]
    except FormatError:
        pass
    rewritten = encode(records, magic=batch.magic, compression=batch.codec, base_offset=start)
    return list(read_batches(rewritten, limits=limits))
