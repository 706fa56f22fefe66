"""Encodes changed records as the batch that they came from: `encode(..., like=batch)`.

Records that are as they were keep their stored bytes, and so does a batch of which all are. The header is
copied: only what follows from the records is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from kodec.generated.log import message_set as legacy
from kodec.generated.log import record_batch as v2
from kodec.generated.log.record import Header, RecordBody, read_record, write_record
from kodec.generated.log.record import Record as StoredRecord
from kodec.log.batches.batch import Batch
from kodec.log.batches.control import control_record
from kodec.log.batches.default_batch import DefaultBatch
from kodec.log.batches.header import changed, put
from kodec.log.batches.legacy_batch import LegacyBatch
from kodec.log.batches.records import ControlRecord, Record, TimestampType
from kodec.runtime.compression import compress
from kodec.runtime.dataclass import replace
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import ReadOptions, WriteOptions

__all__ = ["empty_batch", "encode_like"]

_NO_TIME = -1
_NONE, _APPENDED = TimestampType.NO_TIMESTAMP_TYPE, TimestampType.LOG_APPEND_TIME
_Stored = TypeVar("_Stored")


class _Pair(NamedTuple):
    """A record to write: its new offset, and the number of the record that it was, if it was there before."""

    record: Record
    offset: int
    old: int | None


def encode_like(records: Iterable[Record], like: Batch, base_offset: int | None, level: int | None) -> bytes:
    """`encode` with `like`. Each record of `records` has passed the checks of types."""
    like.verify_crc()
    old = like.records(control=True)
    new = list(records)
    if base_offset is None and not like.is_control and new == old:
        return like.data
    pairs = _paired(new, old, like, base_offset)
    for index, pair in enumerate(pairs):
        _require_kept(pair, None if pair.old is None else old[pair.old], like, f"records[{index}]")
    ends = base_offset is None or not like.is_list or (pairs and pairs[-1].offset == like.last_offset)
    if ends and [(pair.offset, _fields_of(pair.record)) for pair in pairs] == [
        (record.offset, _fields_of(record)) for record in old
    ]:
        return like.data
    if not pairs and base_offset is not None:
        return b""
    if isinstance(like, DefaultBatch):
        return _list(like, old, pairs, base_offset, level)
    assert isinstance(like, LegacyBatch)
    return _message(like, old, pairs, base_offset, level)


def empty_batch(batch: Batch) -> bytes:
    """The batch without records, which still has its offsets, its largest timestamp and its producer.

    Not compressed, without a delete horizon; every other field and flag of its header stays. A message of
    magic 0 or 1 becomes an empty list, and keeps its last offset.
    """
    first = batch.frame_offset
    head = changed(
        batch.head if isinstance(batch, DefaultBatch) else v2.RecordBatch(),
        offset=first,
        last_offset_delta=batch.last_offset - first,
        timestamp_type=TimestampType(max(batch.timestamp_type, TimestampType.CREATE_TIME)),
        codec=v2.Compression.NONE,
        delete_horizon=False,
        base_timestamp=_NO_TIME,
        max_timestamp=batch.max_timestamp,
        count=0,
        records=b"",
    )
    return head.to_bytes()


def _fields_of(record: Record) -> tuple[Any, ...]:
    """What is stored of a record, apart from its offset."""
    headers = tuple(map(tuple, record.headers))
    return record.timestamp, record.timestamp_type, record.key, record.value, headers


def _paired(
    records: Sequence[Record], old: Sequence[Record], like: Batch, base_offset: int | None
) -> list[_Pair]:
    """The records with their offsets, each with the one that it was: the next one of the same offset."""
    pairs: list[_Pair] = []
    next_old, expected, last = 0, like.base_offset, like.last_offset
    if base_offset is not None and not 0 <= base_offset < 2**63 - len(records):
        raise EncodeError("base_offset", "not an offset", need="at least 0", have=base_offset)
    for index, record in enumerate(records):
        offset = record.offset
        old_index = next((n for n in range(next_old, len(old)) if old[n].offset >= offset), len(old))
        is_old = old_index < len(old) and old[old_index].offset == offset != -1
        next_old = old_index + is_old
        if base_offset is not None:
            offset = base_offset + index
        elif not is_old:
            offset = expected if offset == -1 else offset
            if not expected <= offset <= last:
                reason = (
                    "no room in the batch" if record.offset == -1 else "outside the batch, or not ascending"
                )
                need = f"{expected} to {last}, or a `base_offset`"
                raise EncodeError(f"records[{index}].offset", reason, need=need, have=offset)
        pairs.append(_Pair(record, offset, old_index if is_old else None))
        expected = offset + 1
    return pairs


def _require_kept(pair: _Pair, old: Record | None, like: Batch, path: str) -> None:
    """Refuse what the batch cannot store of a record. Raises EncodeError."""
    record = pair.record
    kind = like.timestamp_type if old is None else old.timestamp_type
    if record.timestamp_type != kind and not (kind is _NONE and record.timestamp == _NO_TIME):
        have = str(TimestampType(record.timestamp_type))
        raise EncodeError(f"{path}.timestamp_type", "that of the batch stays", need=str(kind), have=have)
    if not like.is_list and record.headers:
        raise EncodeError(f"{path}.headers", f"magic {like.magic} has no headers")
    if kind is _NONE and record.timestamp != _NO_TIME:
        raise EncodeError(f"{path}.timestamp", "magic 0 has no timestamps", need=-1, have=record.timestamp)
    if record.timestamp < _NO_TIME and (old is None or record.timestamp != old.timestamp):
        raise EncodeError(
            f"{path}.timestamp", "negative timestamp", need="at least -1", have=record.timestamp
        )
    if not like.is_control:
        if isinstance(record, ControlRecord):
            raise EncodeError(
                path, "a control record in a batch of data", need="Record", have="ControlRecord"
            )
        return
    try:
        control = control_record(record)
    except FormatError as error:
        raise EncodeError(path, f"not a control record: {error}") from None
    if isinstance(record, ControlRecord) and (control.type, control.data) != (record.type, record.data):
        reason = "changed, but it is read from `key` and `value`: change these"
        raise EncodeError(f"{path}.{'data' if control.type == record.type else 'type'}", reason)


def _timestamps(like: Batch, old: Sequence[Record], pairs: Sequence[_Pair]) -> int:
    """The largest timestamp of the batch: its own where that of the records is as before."""
    new = max(pair.record.timestamp for pair in pairs)
    if like.timestamp_type is _APPENDED:
        for index, pair in enumerate(pairs):
            if pair.record.timestamp != new:
                reason = "LogAppendTime is one for all of a batch"
                raise EncodeError(f"records[{index}].timestamp", reason, need=new, have=pair.record.timestamp)
    return new if new != max((record.timestamp for record in old), default=new - 1) else like.max_timestamp


def _stored(
    content: bytes, read: Callable[[bytes, int, int, ReadOptions], tuple[_Stored, int]], options: ReadOptions
) -> list[tuple[_Stored, bytes]]:
    """Each stored record, with its bytes."""
    items, pos = [], 0
    while pos < len(content):
        item, stop = read(content, pos, len(content), options)
        items.append((item, content[pos:stop]))
        pos = stop
    return items


def _list(
    like: DefaultBatch,
    old: Sequence[Record],
    pairs: Sequence[_Pair],
    base_offset: int | None,
    level: int | None,
) -> bytes:
    if not pairs:
        return empty_batch(like)
    first = like.base_offset if base_offset is None else base_offset
    delta = (like.last_offset if base_offset is None else pairs[-1].offset) - first
    if like.base_sequence >= 0 and delta != like.last_offset - like.base_offset:
        need = like.last_offset - like.base_offset + 1
        reason = "the producer's next batch would be out of sequence"
        raise EncodeError("records", reason, need=f"{need} records", have=len(pairs))
    head = changed(
        like.head,
        offset=first,
        last_offset_delta=delta,
        max_timestamp=_timestamps(like, old, pairs),
        count=len(pairs),
    )
    base = like.base_timestamp
    options = ReadOptions(elements=like._limits.elements)
    stored = _stored(like.content(like._limits.decompressed_bytes), read_record, options) if old else []
    out = bytearray()
    for index, pair in enumerate(pairs):
        record, offset, number = pair
        item, data = (StoredRecord(RecordBody()), b"") if number is None else stored[number]
        body, before = item.body, None if number is None else old[number]
        delta = offset - first
        if before is not None and body.offset_delta == delta and _fields_of(before) == _fields_of(record):
            out += data
            continue
        body.offset_delta = delta
        # in a batch of LogAppendTime it is what the producer wrote, and has no effect
        if like.timestamp_type is not _APPENDED and (before is None or before.timestamp != record.timestamp):
            body.timestamp_delta = record.timestamp - base
        body.key, body.value = record.key, record.value
        body.headers = [Header(key, value) for key, value in record.headers]
        try:
            write_record(out, item)
        except EncodeError as error:
            raise _renamed(error).within("records", index) from None
    content = bytes(out)
    put(head, "records", content if like.codec == "none" else compress(like.codec, content, level=level))
    return head.to_bytes(WriteOptions(level))


def _renamed(error: EncodeError) -> EncodeError:
    """The error with the name that callers know: `timestamp_delta` is computed from `timestamp`."""
    error.path = error.path.removeprefix("body.").replace("_delta", "")
    return error


def _message(
    like: LegacyBatch,
    old: Sequence[Record],
    pairs: Sequence[_Pair],
    base_offset: int | None,
    level: int | None,
) -> bytes:
    if not pairs:
        raise EncodeError("records", f"a message of magic {like.magic} has at least one record", have=0)
    write = WriteOptions(level)
    if like.codec == "none":
        if len(pairs) > 1:
            reason = f"a message of magic {like.magic} that is not compressed has one record"
            raise EncodeError("records", reason, need=1, have=len(pairs))
        message = _changed(like.message, pairs[0].record, pairs[0].record.timestamp)
        return legacy.Entry(offset=pairs[0].offset, message=message).to_bytes(write)
    options = ReadOptions(elements=like._limits.elements)
    stored = _stored(like.content(like._limits.decompressed_bytes), legacy.read_entry, options)
    # the offsets inside count from here: from 0 in magic 0 and where the wrapper has no offset of its own
    start, end = old[-1].offset - stored[-1][0].offset, pairs[-1].offset
    if like.magic and base_offset is not None:
        start = base_offset
    elif like.magic and not like.last_offset:
        end = 0
    newest = _timestamps(like, old, pairs)
    inner = bytearray()
    for index, (record, offset, number) in enumerate(pairs):
        item, data = stored[number or 0]
        before = None if number is None else old[number]
        if before is not None and item.offset == offset - start and _fields_of(before) == _fields_of(record):
            inner += data
            continue
        same_time = before is not None and before.timestamp == record.timestamp
        message = _changed(item.message, record, item.message.timestamp if same_time else record.timestamp)
        try:
            inner += legacy.Entry(offset=offset - start, message=message).to_bytes()
        except EncodeError as error:
            raise error.within("records", index) from None
    wrapper = replace(like.message, crc=None, len_value=None, timestamp=newest)
    wrapper.value = compress(legacy.codec_of_message(like.message), bytes(inner), level=level)
    return legacy.Entry(offset=end, message=wrapper).to_bytes(write)


def _changed(message: legacy.Message, record: Record, timestamp: int) -> legacy.Message:
    """A message with the key, value and timestamp of a record; its flags stay."""
    key, value = (None if part is None else bytes(part) for part in (record.key, record.value))
    return replace(message, crc=None, len_key=None, len_value=None, key=key, value=value, timestamp=timestamp)
