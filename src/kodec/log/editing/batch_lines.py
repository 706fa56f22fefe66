"""A batch as a line that a script can change, and the bytes of such a line.

Facts that follow from the records are in a line only if the batch differs. The bytes of its records are
included if rewriting them may produce others (compressed, or written by another program),
and are used while the records are unchanged.
"""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Sequence
from typing import Any

from kodec.generated.log import record_batch as v2
from kodec.log import kernel
from kodec.log.batches.batch import Batch
from kodec.log.batches.encode import codec_number, encode
from kodec.log.batches.frame import LISTS, MAGICS, shown_magics
from kodec.log.batches.header import EXTRA, MOST_RESERVED, ExtraField, changed, put
from kodec.log.batches.records import Limits, Record, TimestampType
from kodec.log.batches.sizes import HEADS
from kodec.log.editing.fields import Fields, bytes_in, bytes_out
from kodec.log.reading.reader import read_batches
from kodec.runtime.compression import compress
from kodec.runtime.crc import crc32c
from kodec.runtime.errors import EncodeError, FormatError

__all__ = ["batch_bytes", "batch_line"]

_INT64 = 2**63 - 1
_INT32 = 2**31 - 1
_INT16 = 2**15 - 1
_KINDS = {str(kind): kind for kind in TimestampType}


def batch_line(batch: Batch, limits: Limits = Limits()) -> dict[str, Any]:
    """A batch as a JSON object. Raises FormatError for an unreadable one."""
    line: dict[str, Any] = {"magic": batch.magic, "codec": batch.codec}
    records = batch.records(control=True)
    if batch.is_list:
        line |= {
            "baseOffset": batch.base_offset,
            "lastOffset": batch.last_offset,
            "leaderEpoch": batch.partition_leader_epoch,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "baseSequence": batch.base_sequence,
            "isTransactional": batch.is_transactional,
            "isControl": batch.is_control,
            "timestampType": str(batch.timestamp_type),
        }
        stated = {
            "baseTimestamp": (batch.base_timestamp, _base_time(records, batch.delete_horizon)),
            "maxTimestamp": (batch.max_timestamp, _max_time(records)),
            "deleteHorizon": (batch.delete_horizon, None),
            "reservedAttributes": (batch.reserved, 0),
        }
        line |= {name: value for name, (value, follows) in stated.items() if value != follows}
        line |= {
            field.label: value if field.code else bytes_out(value)
            for field in EXTRA
            if (value := batch.extra[field.name]) not in (None, field.default)
        }
    else:
        line |= {"lastOffset": batch.last_offset, "timestampType": str(batch.timestamp_type)}
    line["records"] = [_record_line(record, batch.is_list) for record in records]
    if batch.codec != "none" or batch_bytes(Fields(line), limits)[0] != batch.data:
        content = batch.data[HEADS[batch.magic].size :] if batch.is_list else batch.data
        line["stored"] = {
            "codec": batch.codec,
            "count": batch.count,
            "crc32c": crc32c(content),
            "base64": base64.b64encode(content).decode("ascii"),
        }
    return {"type": "batch", **line}


def _record_line(record: Record, has_headers: bool) -> dict[str, Any]:
    line: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": bytes_out(record.key),
        "value": bytes_out(record.value),
    }
    if has_headers:
        line["headers"] = [[key, bytes_out(value)] for key, value in record.headers]
    return line


def _base_time(records: Sequence[Record], horizon: int | None) -> int:
    return horizon if horizon is not None else records[0].timestamp if records else -1


def _max_time(records: Sequence[Record]) -> int:
    return max((record.timestamp for record in records), default=-1)


def batch_bytes(fields: Fields, limits: Limits = Limits()) -> tuple[bytes, int, bool]:
    """The contents of a line, apart from its type.

    The bytes of whole batches, the number of records in them, and whether these are unchanged.
    No bytes for a message of magic 0 or 1 that has lost all its records. Raises EncodeError, whose path
    names the field.
    """
    magic = fields.integer("magic", min(MAGICS), max(MAGICS))
    if magic not in MAGICS:
        raise EncodeError(fields.at("magic"), "unknown message format", need=shown_magics(), have=magic)
    codec = fields.text("codec")
    return (_modern if magic in LISTS else _legacy)(fields, magic, codec, limits)


def _kind(fields: Fields, magic: int) -> TimestampType:
    name = fields.text("timestampType")
    kind = _KINDS.get(name)
    if kind is None or (kind is TimestampType.NO_TIMESTAMP_TYPE) != (magic == 0):
        need = "NoTimestampType" if magic == 0 else "CreateTime or LogAppendTime"
        raise EncodeError(fields.at("timestampType"), f"not a type of magic {magic}", need=need, have=name)
    return kind


def _records(fields: Fields, magic: int, kind: TimestampType, low: int, high: int) -> list[Record]:
    """The records, whose offsets ascend from `low` to `high`."""
    records: list[Record] = []
    offset = low
    for value, path in fields.items("records"):
        row = Fields(value, path)
        record = Record(
            offset=row.integer("offset", offset, high),
            timestamp=row.integer("timestamp", -1 - _INT64 if magic in LISTS else -1, _INT64),
            timestamp_type=kind,
            key=row.data("key"),
            value=row.data("value"),
            headers=tuple(_header(header, where) for header, where in row.items("headers", [])),
        )
        row.end()
        offset = record.offset + 1
        records.append(record)
        if kind is TimestampType.LOG_APPEND_TIME and record.timestamp != records[0].timestamp:
            need = records[0].timestamp
            raise EncodeError(f"{path}.timestamp", "LogAppendTime is one for all of a batch", need=need)
    return records


def _header(value: object, path: str) -> tuple[str, bytes | None]:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        raise EncodeError(path, "not a header", need='["key", value]', have=value)
    return value[0], bytes_in(value[1], f"{path}[1]")


def _stored(fields: Fields, codec: str, count: int) -> bytes | None:
    """The original bytes; None if there are none, or if they cannot belong to these records."""
    inner = fields.inner("stored")
    if inner is None:
        return None
    was, number = inner.text("codec"), inner.integer("count", 0, _INT32)
    checksum, text = inner.integer("crc32c", 0, 2**32 - 1), inner.text("base64")
    inner.end()
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EncodeError(inner.at("base64"), f"not base64: {error}") from None
    if crc32c(data) != checksum:
        raise EncodeError(inner.at("crc32c"), "not the checksum", need=crc32c(data), have=checksum)
    return data if (was, number) == (codec, count) else None


def _modern(fields: Fields, magic: int, codec: str, limits: Limits) -> tuple[bytes, int, bool]:
    base = fields.integer("baseOffset", 0, _INT64)
    last = fields.integer("lastOffset", base, min(base + _INT32, _INT64 - 1))
    kind = _kind(fields, magic)
    horizon = fields.integer("deleteHorizon", -1 - _INT64, _INT64, None)
    head = changed(
        v2.RecordBatch(),
        form=magic,
        offset=base,
        leader_epoch=fields.integer("leaderEpoch", -1, _INT32),
        transactional=fields.flag("isTransactional"),
        control=fields.flag("isControl"),
        timestamp_type=kind,
        codec=codec_number(v2.Compression, codec, magic),
        reserved=fields.integer("reservedAttributes", 0, MOST_RESERVED, 0),
        delete_horizon=horizon is not None,
        last_offset_delta=last - base,
        producer_id=fields.integer("producerId", -1, _INT64),
        producer_epoch=fields.integer("producerEpoch", -1, _INT16),
        base_sequence=fields.integer("baseSequence", -1, _INT32),
    )
    for field in EXTRA:
        if magic in field.magics and fields.has(field.label):
            field.put(head, _extra(fields, field))
    low = fields.integer("baseTimestamp", -1 - _INT64, _INT64, None)
    highest = fields.integer("maxTimestamp", -1 - _INT64, _INT64, None)
    records = _records(fields, magic, kind, base, last)
    put(head, "count", len(records))
    put(head, "base_timestamp", _base_time(records, horizon) if low is None else low)
    put(head, "max_timestamp", _max_time(records) if highest is None else highest)
    stored = _stored(fields, codec, len(records))
    fields.end()
    if stored is not None:
        put(head, "records", stored)
        data = head.to_bytes()
        if _holds(data, records, limits):
            return data, len(records), True
    if not records:
        # as left by a cleaner
        put(head, "codec", v2.Compression.NONE)
        put(head, "records", b"")
        return head.to_bytes(), 0, False
    if highest is not None and highest < _max_time(records):
        need = f"at least {_max_time(records)}"
        raise EncodeError(fields.at("maxTimestamp"), "below that of a record", need=need, have=highest)
    content = v2.write_record_batch_rows(head, records)
    put(head, "records", content if codec == "none" else compress(codec, content))
    return head.to_bytes(), len(records), False


def _extra(fields: Fields, field: ExtraField) -> Any:
    if field.code == "?":
        return fields.flag(field.label)
    if field.code and field.code in "fd":
        return fields.real(field.label)
    if field.code:
        return fields.integer(field.label, field.least, field.most)
    return fields.data(field.label)


def _legacy(fields: Fields, magic: int, codec: str, limits: Limits) -> tuple[bytes, int, bool]:
    last = fields.integer("lastOffset", 0, _INT64 - 1)
    kind = _kind(fields, magic)
    records = _records(fields, magic, kind, 0, last)
    stored = _stored(fields, codec, len(records))
    fields.end()
    if stored is not None and _holds(stored, records, limits):
        batch = kernel.open_batch(stored, 0, limits)
        same = batch.magic, batch.codec, batch.last_offset, batch.timestamp_type
        if same == (magic, codec, last, kind):
            return stored, len(records), True
    return encode(records, magic=magic, compression=codec, batch_bytes=sys.maxsize), len(records), False


def _holds(data: bytes, records: Sequence[Record], limits: Limits) -> bool:
    """Whether a batch is valid and has exactly these records."""
    try:
        batches = list(read_batches(data, limits=limits))
        written = batches[0].records(control=True) if len(batches) == 1 else []
    except FormatError:
        return False
    return [_contents(record) for record in written] == [_contents(record) for record in records]


def _contents(record: Record) -> tuple[Any, ...]:
    return record.offset, record.timestamp, record.key, record.value, tuple(record.headers)
