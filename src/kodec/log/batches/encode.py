"""Encodes records as the bytes of a log, in any format and codec."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter

from kodec.generated.log import message_set as legacy
from kodec.generated.log import record_batch as v2
from kodec.log.batches.frame import LISTS, MAGICS, shown_magics
from kodec.log.batches.header import EXTRA, FLAGS, changed, name_of
from kodec.log.batches.options import EncodeOptions, LikeOptions
from kodec.log.batches.records import Record, TimestampType, make_record
from kodec.log.keywords import as_keywords
from kodec.runtime.compression import compress
from kodec.runtime.dataclass import replace
from kodec.runtime.errors import EncodeError
from kodec.runtime.fields import WriteOptions
from kodec.runtime.near import meant

__all__ = [
    "MAX_DELTA",
    "OVERHEAD",
    "OVERHEAD_OF_HEADER",
    "SEQUENCES",
    "batch_head",
    "codec_number",
    "encode",
    "encode_with",
]

MAX_DELTA = 2**31 - 1
SEQUENCES = 2**31
_MAX_INT64 = 2**63 - 1
_TYPES = frozenset(map(int, TimestampType))
# the names of fields by their roles: looked up once, as they are set for each batch
_OFFSET, _BASE_TIMESTAMP, _MAX_TIMESTAMP, _LAST_OFFSET, _COUNT, _SEQUENCE, _RECORDS = map(
    name_of,
    (
        *("offset", "base_timestamp", "max_timestamp", "last_offset_delta", "count"),
        *("base_sequence", "records"),
    ),
)
_TYPE = name_of("timestamp_type")
_timestamp = attrgetter("timestamp")
# Approximate size of a record besides key, value and headers, in any format: accurate enough to cut batches.
OVERHEAD = 34
OVERHEAD_OF_HEADER = 10


@as_keywords(LikeOptions, {"like": ("base_offset", "level")})
def encode(records: Iterable[Record], options: LikeOptions) -> bytes:
    """Encode records as stored in a log: one record batch, or message of magic 0 or 1, after another.

    Args:
        records: in ascending order of offset. An offset of -1 means the previous record's plus 1, or 0.
        magic: the message format: 0, 1 or 2, or a newer one that the schema of record batches has.
        compression: a codec of the format, such as `none` or `gzip`; `zstd` needs magic 2.
        level: on the codec's own scale; None is its default.
        base_offset: renumber the records from here, regardless of their offsets. A producer sends 0.
        timestamp_type: None keeps each record's. LOG_APPEND_TIME gives all records of a batch one
            timestamp; a batch is cut where it changes.
        partition_leader_epoch, producer_id, producer_epoch, base_sequence, transactional, control: as in the
            batch header (not in magic 0 and 1); -1: none. Further batches continue the sequence.
        extra: fields and flags of the batch header that kodec gives no meaning, by name, as in `Batch.extra`.
        batch_records, batch_bytes: cut a batch before it holds more records, or more bytes before
            compression; a single larger record still makes one. The default keeps batches below a
            broker's default `message.max.bytes`. A produce request takes one batch for a partition.
        lossy: drop what the format does not support (headers before magic 2, timestamps before magic 1)
            instead of raising EncodeError.
        like: the batch that the records come from, as a proxy changes it. Everything else stays: its header,
            flags, codec, offsets, base timestamp, and the bytes of the records that did not change; with
            none changed, its own bytes are returned. The records keep their offsets, and further ones need
            free offsets, unless `base_offset` renumbers them; a batch without records keeps its offsets, as
            after compaction. Only `base_offset` and `level` go with it.

    Returns: bytes that Kafka reads; empty without records.
    Raises: EncodeError naming the record and the field, also for what `like` cannot hold; FormatError for a
        damaged `like`.

    Example:
        >>> import kodec
        >>> record = kodec.Record(key=b"k", value=b"v", timestamp=1700000000000)
        >>> data = kodec.encode([record], compression="zstd")
        >>> [record.value for record in kodec.read_records(data)]
        [b'v']
    """
    if options.like is None:
        return encode_with(records, options)
    from kodec.log.batches.like import encode_like

    _require_records(records)
    record_list = list(records)
    for index, record in enumerate(record_list):
        _size_of(record, index)
    return encode_like(record_list, options.like, options.base_offset, options.level)


def encode_with(records: Iterable[Record], options: EncodeOptions) -> bytes:
    """`encode` with its arguments as one object."""
    magic = options.magic
    if magic not in MAGICS:
        raise EncodeError("magic", "unknown message format", need=shown_magics(), have=magic)
    cut = _split(records, options)
    if magic in LISTS:
        return b"".join(_batches(cut, batch_head(options), options))
    for name in ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence"):
        value = getattr(options, name)
        if value != -1:
            raise EncodeError(name, "needs magic 2", have=value)
    for name in ("transactional", "control", "extra"):
        if getattr(options, name):
            raise EncodeError(name, "needs magic 2")
    return b"".join(_messages(cut, options))


def _split(records: Iterable[Record], options: EncodeOptions) -> Iterator[list[Record]]:
    """Numbered records grouped by batch: each of one timestamp type and within the limits."""
    base_offset, timestamp_type = options.base_offset, options.timestamp_type
    batch_records, batch_bytes = options.batch_records, options.batch_bytes
    timeless = options.magic == 0 and options.lossy
    _require_records(records)
    batch: list[Record] = []
    full = sys.maxsize if batch_records is None else max(batch_records, 1)
    room = 0
    expected = 0 if base_offset is None else base_offset
    first = Record()
    for index, record in enumerate(records):
        size = _size_of(record, index)
        offset = record.offset
        if base_offset is not None or offset == -1:
            offset = expected
        if offset < expected or offset < 0:
            need = "at least 0" if offset < 0 else f"at least {expected}"
            raise EncodeError(f"records[{index}].offset", "offsets must ascend", need=need, have=offset)
        if offset > _MAX_INT64:
            raise EncodeError(
                f"records[{index}].offset", "too large", need=f"at most {_MAX_INT64}", have=offset
            )
        timestamp = record.timestamp
        if not (-1 <= timestamp <= _MAX_INT64 or timeless):
            problem = (
                ("too large", f"at most {_MAX_INT64}")
                if timestamp > 0
                else ("negative timestamp", "at least -1")
            )
            raise EncodeError(f"records[{index}].timestamp", problem[0], need=problem[1], have=timestamp)
        kind = record.timestamp_type if timestamp_type is None else timestamp_type
        if kind.__class__ is not TimestampType:
            kind = TimestampType(kind)
        if kind is TimestampType.NO_TIMESTAMP_TYPE:
            kind = TimestampType.CREATE_TIME
        if offset != record.offset or kind is not record.timestamp_type:
            record = make_record(offset, timestamp, kind, record.key, record.value, record.headers)
        if batch and (
            size > room
            or len(batch) >= full
            or kind is not first.timestamp_type
            or (kind is TimestampType.LOG_APPEND_TIME and timestamp != first.timestamp)
            or offset - first.offset > MAX_DELTA
        ):
            yield batch
            batch = []
        if not batch:
            first = record
            room = batch_bytes
        batch.append(record)
        room -= size
        expected = offset + 1
    if batch:
        yield batch


def _require_records(records: object) -> None:
    if isinstance(records, (Record, str, bytes)) or not isinstance(records, Iterable):
        have = type(records).__name__
        raise EncodeError("records", "not records", need="a list of kodec.Record", have=have)


def _size_of(record: Record, index: int) -> int:
    """The approximate size of a record. Raises EncodeError for fields of wrong types."""
    try:
        key, value = record.key, record.value
        size = OVERHEAD
        if key is not None:
            size += len(key) if key.__class__ is bytes else _bytes_size(key, "key")
        if value is not None:
            size += len(value) if value.__class__ is bytes else _bytes_size(value, "value")
        if record.headers != ():
            size += _headers_size(record.headers)
        if not (isinstance(record.offset, int) and isinstance(record.timestamp, int)):
            name = "timestamp" if isinstance(record.offset, int) else "offset"
            raise EncodeError(name, "not an integer", need="int", have=type(getattr(record, name)).__name__)
        if record.timestamp_type.__class__ is not TimestampType and record.timestamp_type not in _TYPES:
            have = repr(record.timestamp_type)
            raise EncodeError("timestamp_type", "not a type of timestamps", need="TimestampType", have=have)
    except EncodeError as error:
        raise error.within(f"records[{index}]") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise EncodeError(
            f"records[{index}]", f"not a record: {error}", need="Record", have=type(record).__name__
        ) from None
    return size


def _headers_size(headers: object) -> int:
    size = 0
    try:
        if isinstance(headers, (str, bytes, Mapping)):
            raise TypeError
        for name, content in headers:  # type: ignore[attr-defined]
            if not isinstance(name, str):
                raise EncodeError("headers", "the key is no text", need="str", have=type(name).__name__)
            size += OVERHEAD_OF_HEADER + _name_size(name)
            if content is not None:
                size += len(content) if content.__class__ is bytes else _bytes_size(content, "headers")
    except EncodeError:
        raise
    except (TypeError, ValueError):
        need = "a list of (str, bytes or None) pairs, such as list(headers.items())"
        raise EncodeError("headers", "not pairs", need=need, have=type(headers).__name__) from None
    return size


def _bytes_size(value: object, name: str) -> int:
    """The size of a buffer other than `bytes`, of single bytes: others are refused."""
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, memoryview) and value.itemsize == 1 and value.ndim == 1 and value.contiguous:
        return len(value)
    raise EncodeError(name, "not bytes", need="bytes or None", have=type(value).__name__)


def _plain(value: bytes | None) -> bytes | None:
    """Plain bytes: a message treats other objects as the messages of a wrapper."""
    return value if value is None or value.__class__ is bytes else bytes(value)


def codec_number(codecs: type[v2.Compression] | type[legacy.Compression], name: str, magic: int) -> int:
    """The number of a codec in a format. Raises EncodeError for an unsupported one."""
    try:
        if name.islower():
            return codecs[name.upper()]
        raise KeyError(name)
    except KeyError:
        known = ", ".join(codec.name.lower() for codec in codecs)
        reason = f"not a codec of magic {magic}{meant(name, known.split(', '))}"
        raise EncodeError("compression", reason, need=known, have=name) from None


def _name_size(name: str) -> int:
    if name.isascii():
        return len(name)
    try:
        return len(name.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return len(name)  # it cannot be written: the writer raises the error


def batch_head(options: EncodeOptions) -> v2.RecordBatch:
    """The header that all batches share. Raises EncodeError for numbers that contradict each other."""
    producer_id = options.producer_id
    if producer_id >= 0 and (
        options.producer_epoch < 0 or (options.base_sequence < 0 and not options.control)
    ):
        name = "producer_epoch" if options.producer_epoch < 0 else "base_sequence"
        raise EncodeError(name, "needed beside a producer_id", need="at least 0", have=-1)
    if producer_id < 0 and (
        options.transactional or options.producer_epoch >= 0 or options.base_sequence >= 0
    ):
        raise EncodeError(
            "producer_id", "needed for transactions and sequences", need="at least 0", have=producer_id
        )
    head = changed(
        v2.RecordBatch(),
        form=options.magic,
        leader_epoch=options.partition_leader_epoch,
        codec=codec_number(v2.Compression, options.compression, options.magic),
        transactional=options.transactional,
        control=options.control,
        producer_id=producer_id,
        producer_epoch=options.producer_epoch,
        base_sequence=options.base_sequence,
    )
    known = {field.name: field for field in EXTRA if options.magic in field.magics}
    for name, value in options.extra.items():
        if name not in known:
            need = f"one of {', '.join(known)}" if known else "none"
            reason = f"not a field of magic {options.magic}{meant(name, known)}"
            raise EncodeError("extra", reason, need=need, have=name)
        known[name].put(head, value)
    return head


def _batches(
    batches: Iterable[list[Record]], head: v2.RecordBatch, options: EncodeOptions
) -> Iterator[bytes]:
    compression, level, sequence = options.compression, options.level, options.base_sequence
    flags = getattr(head, FLAGS)
    written = 0
    for records in batches:
        first, last = records[0], records[-1]
        delta = last.offset - first.offset
        setattr(head, _OFFSET, first.offset)
        setattr(head, _BASE_TIMESTAMP, first.timestamp)
        setattr(head, _MAX_TIMESTAMP, max(map(_timestamp, records)))
        setattr(head, _LAST_OFFSET, delta)
        setattr(head, _COUNT, len(records))
        # LogAppendTime is set after writing the rows: their deltas are written either way
        setattr(flags, _TYPE, first.timestamp_type)
        try:
            content = v2.write_record_batch_rows(head, records)
        except EncodeError as error:
            # the only text in a record is that of header keys: name the one at fault
            if isinstance(error.have, str):
                raise _unwritable_key(records, written) from None
            raise _renumbered(error, written) from None
        stored = content if compression == "none" else compress(compression, content, level=level)
        setattr(head, _RECORDS, stored)
        if compression == "none" and level is not None:
            compress(compression, b"", level=level)
        yield head.to_bytes(WriteOptions(level))
        if sequence >= 0:
            sequence = (sequence + delta + 1) % SEQUENCES
            setattr(head, _SEQUENCE, sequence)
        written += len(records)


def _renumbered(error: EncodeError, written: int) -> EncodeError:
    """Make the record number of an error in a later batch count from the first record of all."""
    head, _, suffix = error.path.partition("]")
    if written and head.startswith("records["):
        error.path = f"records[{int(head[8:]) + written}]{suffix}"
    return error


def _unwritable_key(records: list[Record], written: int) -> EncodeError:
    """The error for the first header key with a surrogate that does not represent a byte."""
    for index, record in enumerate(records, written):
        for header_index, (key, _) in enumerate(record.headers):
            try:
                key.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as error:
                return EncodeError(f"records[{index}].headers[{header_index}].key", error.reason, have=key)
    raise AssertionError("every key can be written")


def _messages(batches: Iterable[list[Record]], options: EncodeOptions) -> Iterator[bytes]:
    magic, compression, level, lossy = options.magic, options.compression, options.level, options.lossy
    write = WriteOptions(level)
    code = codec_number(legacy.Compression, compression, magic)
    if compression == "none" and level is not None:
        compress(compression, b"", level=level)
    written = 0
    for records in batches:
        entries = [_entry(record, magic, written + index, lossy) for index, record in enumerate(records)]
        written += len(records)
        if compression == "none":
            for entry in entries:
                yield entry.to_bytes(write)
            continue
        last = entries[-1].offset
        if magic:
            # relative to the first, so that the broker can move all by the wrapper's offset (KIP-31)
            first = entries[0].offset
            for entry in entries:
                entry.offset -= first
        inner = entries[0].message
        attributes = replace(inner.attributes, compression=code)
        timestamp = max(entry.message.timestamp for entry in entries)
        wrapper = legacy.Message(
            magic=magic, attributes=attributes, timestamp=timestamp, value=legacy.MessageSet(entries)
        )
        yield legacy.Entry(offset=last, message=wrapper).to_bytes(write)


def _entry(record: Record, magic: int, index: int, lossy: bool) -> legacy.Entry:
    if not lossy:
        if record.headers:
            raise EncodeError(
                f"records[{index}].headers", f"magic {magic} has no headers: `lossy` drops them"
            )
        if magic == 0 and record.timestamp != -1:
            raise EncodeError(
                f"records[{index}].timestamp",
                "magic 0 has no timestamps: `lossy` drops them",
                have=record.timestamp,
            )
    kind = record.timestamp_type if magic else TimestampType.CREATE_TIME
    message = legacy.Message(
        magic=magic,
        attributes=legacy.MessageAttributes(timestamp_type=kind),
        timestamp=record.timestamp if magic else -1,
        key=_plain(record.key),
        value=_plain(record.value),
    )
    return legacy.Entry(offset=record.offset, message=message)
