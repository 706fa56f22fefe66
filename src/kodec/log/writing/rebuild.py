"""One batch rebuilt from some of its records; everything else in its header is kept.

Followed: `filterTo`, `buildRetainedRecordsInto` and `MemoryRecordsBuilder` of
`org.apache.kafka.common.record.internal`, Kafka 4.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from io import BytesIO

from kodec.generated.log import message_set as legacy
from kodec.generated.log import record_batch as v2
from kodec.log.batches.batch import Batch
from kodec.log.batches.default_batch import DefaultBatch
from kodec.log.batches.encode import codec_number, encode
from kodec.log.batches.format import KAFKA
from kodec.log.batches.header import changed, put
from kodec.log.batches.legacy_batch import LegacyBatch
from kodec.log.batches.records import Record, TimestampType
from kodec.runtime.compression import compress
from kodec.runtime.dataclass import replace
from kodec.runtime.fields import WriteOptions

__all__ = ["recompressed", "recompressed_wrapper", "same_format", "with_records"]


def with_records(batch: Batch, records: Sequence[Record], *, delete_horizon: int | None = None) -> bytes:
    """The batch with only these records, at least one; messages of magic 0 and 1 become a list of records.

    Every field and flag of the header stays, but for what follows from the records. A list keeps its first
    and last offset, even if the records that had them are gone. The base timestamp is the delete horizon
    (`delete_horizon`, else the batch's own), or that of the first record. Records of magic 0 get no
    timestamp, with the type CreateTime. Raises EncodeError.
    """
    first, last = (
        (batch.base_offset, batch.last_offset) if batch.is_list else (records[0].offset, records[-1].offset)
    )
    horizon = batch.delete_horizon if delete_horizon is None else delete_horizon
    kind = TimestampType(max(batch.timestamp_type, TimestampType.CREATE_TIME))
    head = changed(
        batch.head if isinstance(batch, DefaultBatch) else v2.RecordBatch(),
        offset=first,
        last_offset_delta=last - first,
        timestamp_type=kind,
        codec=v2.Compression[batch.codec.upper()],
        delete_horizon=horizon is not None,
        base_timestamp=records[0].timestamp if horizon is None else horizon,
        max_timestamp=batch.max_timestamp
        if kind is TimestampType.LOG_APPEND_TIME
        else max(record.timestamp for record in records),
        count=len(records),
    )
    content = v2.write_record_batch_rows(head, records)
    put(head, "records", content if batch.codec == "none" else compress(batch.codec, content))
    return head.to_bytes()


def same_format(batch: Batch, records: Sequence[Record]) -> bytes:
    """The message of magic 0 or 1 with only these records, in its own magic. Raises EncodeError.

    As brokers did up to 3.9: a wrapper has the offset of the last remaining record.
    """
    return encode(
        records, magic=batch.magic, compression=batch.codec, batch_bytes=sys.maxsize, lossy=batch.magic == 0
    )


def recompressed(
    batch: DefaultBatch, codec: str, level: int | None, limit: int, magic: int | None = None
) -> bytes:
    """The batch with its records in another codec, perhaps in another magic; all other header fields stay.

    Records are not decoded, so they are the same bytes. The batch has some. `limit` is
    the maximum size of the decompressed records. Raises FormatError, EncodeError.
    """
    form = batch.magic if magic is None else magic
    number = codec_number(v2.Compression, codec, form)
    head = changed(batch.head, form=form, codec=number, records=b"")
    if codec == "none":
        return _around(head, batch.content_pieces(limit))
    return _around(head, (compress(codec, batch.content(limit), level=level),))


def _around(head: v2.RecordBatch, content: Iterable[bytes]) -> bytes:
    """The batch with this header and content, which is held once but for the piece available."""
    out = BytesIO()
    out.write(head.to_bytes())
    out.writelines(content)
    with out.getbuffer() as buffer:
        KAFKA.kinds[0].seal(buffer)
    return out.getvalue()


def recompressed_wrapper(batch: LegacyBatch, codec: str, level: int | None, limit: int) -> bytes:
    """The wrapper of magic 0 or 1 with the messages inside in another codec, not `none`; all else stays.

    The messages are not decoded. `limit` is their maximum decompressed size. Raises
    FormatError, EncodeError.
    """
    message = batch.message
    content = batch.content(limit)
    code = codec_number(legacy.Compression, codec, batch.magic)
    new = replace(message, attributes=replace(message.attributes, compression=code), len_value=None, crc=None)
    new.value = compress(legacy.codec_of_message(new), content, level=level)
    return legacy.Entry(offset=batch.last_offset, message=new).to_bytes(WriteOptions(level))
