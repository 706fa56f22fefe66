"""One entry of a log as it is stored: a record batch (v2), or a message (v0, v1), and the records in it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kodec.generated.log import message_set as legacy
from kodec.generated.log import record_batch as v2
from kodec.generated.log.log_segment import PEEK_ENTRY_AT, PEEK_ENTRY_SIZE, peek_entry, peek_entry_len_entry
from kodec.log.control import control_record, control_type
from kodec.log.records import ControlRecordType, Limits, Record, TimestampType
from kodec.runtime.compression import decompress
from kodec.runtime.errors import CrcMismatch, FormatError, Malformed, Truncated, Unsupported
from kodec.runtime.fields import ReadOptions

__all__ = ["Batch", "open_batch"]

_MAX_SEQUENCE = 2**31 - 1
_HEAD = ReadOptions(check_crc=False)
# The codec without the variant that old messages have of it. A look-up: there is one for each message.
_PLAIN_CODECS = {codec.value: codec.name.lower() for codec in legacy.Compression}
_KINDS = (TimestampType.CreateTime, TimestampType.LogAppendTime)


class Batch(ABC):
    """One entry of a log, its header read and its records not yet.

    Attributes:
        position: where the entry starts in its source, in bytes.
        size: its whole size, in bytes.
        magic: the message format, 0, 1 or 2.
        data: the bytes of the entry.
        codec: `none`, `gzip`, `snappy`, `lz4` or `zstd`.
        crc: the checksum as stored, unsigned.
        last_offset: the offset of the last record that the entry was made with.
        max_timestamp: ms since epoch, -1 is none; what the header says.
        timestamp_type: NoTimestampType for v0.
        partition_leader_epoch, producer_id, producer_epoch, base_sequence: -1 where there is none, as in v0
            and v1.
        is_transactional, is_control: false in v0 and v1.
        delete_horizon: ms since epoch from which tombstones may go (KIP-534); None where not set.
    """

    position: int
    size: int
    magic: int
    data: bytes
    codec: str
    crc: int
    last_offset: int
    max_timestamp: int
    timestamp_type: TimestampType
    partition_leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon: int | None = None

    @property
    @abstractmethod
    def attributes(self) -> int:
        """The attribute bits as stored."""

    @property
    @abstractmethod
    def base_offset(self) -> int:
        """The first offset: the header's (v2), or the first record's (v0, v1: decompresses a wrapper)."""

    @property
    @abstractmethod
    def base_timestamp(self) -> int:
        """The header's base (v2: see `delete_horizon`), or the message's own timestamp (v1); -1 is none."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many records there are: by the header (v2), or counted (v0, v1: decompresses a wrapper)."""

    @property
    @abstractmethod
    def crc_ok(self) -> bool:
        """Whether the stored checksum is that of the bytes; computed once."""

    @abstractmethod
    def records(self, *, control: bool = False, check_crc: bool = True) -> list[Record]:
        """The logical records, in the order they are stored.

        A control batch gives none, or ControlRecords with `control`. With `check_crc`, checksums inside
        a wrapper of v0 or v1 are verified too. Raises FormatError with places counted in the source.
        """

    @property
    def next_offset(self) -> int:
        """The offset after the last one of this entry."""
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; after 2147483647 comes 0; -1 is none."""
        return -1

    @property
    def control_type(self) -> ControlRecordType | None:
        """What the first control record says; None for other batches, and for an emptied control batch."""
        return None

    def verify_crc(self) -> None:
        """Raise CrcMismatch where the stored checksum is not that of the bytes."""
        if not self.crc_ok:
            at, computed = self._crc_place()
            error = CrcMismatch("crc", at=at, need=self.crc, have=computed)
            raise self.located(error)

    @abstractmethod
    def _crc_place(self) -> tuple[int, int]:
        """Where the checksum stands in the entry, and what it should be."""

    @abstractmethod
    def _name(self) -> str: ...

    def located(self, error: FormatError, *, shift: int = 0) -> FormatError:
        """`error`, whose byte counts from `shift` into the entry, placed in the source."""
        return error.within(self._name(), shift=self.position + shift)

    def __repr__(self) -> str:
        return (
            f"<{self._name()} at byte {self.position}, {self.size} bytes, magic {self.magic}, {self.codec}>"
        )


class _RecordBatch(Batch):
    """A record batch of magic 2. Source: org.apache.kafka.common.record.DefaultRecordBatch."""

    magic = 2

    def __init__(self, data: bytes, position: int, limits: Limits) -> None:
        self.position = position
        self.size = len(data)
        self.data = data
        self._limits = limits
        head, _ = v2.read_record_batch_head(data, 0, len(data), _HEAD)
        flags = head.attributes
        # one enum for every format; the values are the same
        kind = TimestampType(flags.timestamp_type)
        flags.timestamp_type = kind
        self.head = head
        self.codec = v2.codec_of_record_batch(head)
        assert head.crc is not None and head.last_offset_delta is not None and head.max_timestamp is not None
        self.crc = head.crc
        self.last_offset = head.base_offset + head.last_offset_delta
        self.max_timestamp = head.max_timestamp
        self.timestamp_type = kind
        self.partition_leader_epoch = head.partition_leader_epoch
        self.producer_id = head.producer_id
        self.producer_epoch = head.producer_epoch
        self.base_sequence = head.base_sequence
        self.is_transactional = flags.is_transactional
        self.is_control = flags.is_control
        self.delete_horizon = head.base_timestamp if flags.has_delete_horizon else None
        self._crc_ok: bool | None = None

    def _name(self) -> str:
        return f"RecordBatch(base_offset={self.head.base_offset})"

    @property
    def attributes(self) -> int:
        return int.from_bytes(self.head.attributes.to_bytes(), "big")

    @property
    def base_offset(self) -> int:
        return self.head.base_offset

    @property
    def base_timestamp(self) -> int:
        return self.head.base_timestamp

    @property
    def count(self) -> int:
        return self.head.num_records or 0

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return -1
        delta = self.head.last_offset_delta or 0
        last = self.base_sequence + delta
        return last if last <= _MAX_SEQUENCE else last - _MAX_SEQUENCE - 1

    @property
    def crc_ok(self) -> bool:
        if self._crc_ok is None:
            self._crc_ok = self._crc_place()[1] == self.crc
        return self._crc_ok

    def _crc_place(self) -> tuple[int, int]:
        return v2.checksum_of_record_batch(self.data, 0, self.size)

    def _payload(self) -> tuple[bytes, int]:
        """The records' bytes, decompressed, and where in the entry the stored ones start."""
        stored = self.head.records
        assert isinstance(stored, bytes)
        at = self.size - len(stored)
        if self.codec == "none":
            return stored, at
        try:
            return decompress(self.codec, stored, limit=self._limits.decompressed_bytes), at
        except FormatError as error:
            raise self.located(error.within("records"), shift=at) from None

    def records(self, *, control: bool = False, check_crc: bool = True) -> list[Record]:
        head = self.head
        if not head.num_records or (head.attributes.is_control and not control):
            return []
        data, at = self._payload()
        try:
            rows: list[Record] = v2.read_record_batch_rows(head, data, Record)
        except FormatError as error:
            raise self._placed(error, at) from None
        if not head.attributes.is_control:
            return rows
        found: list[Record] = []
        for index, row in enumerate(rows):
            try:
                found.append(control_record(row))
            except FormatError as error:
                raise self._placed(error.within("records", index), at) from None
        return found

    def _placed(self, error: FormatError, at: int) -> FormatError:
        if self.codec != "none":
            return self.located(error.within_codec(self.codec, at))
        return self.located(error, shift=at)

    @property
    def control_type(self) -> ControlRecordType | None:
        if not self.is_control or not self.count:
            return None
        data, at = self._payload()
        try:
            return control_type(v2.read_record_batch_rows(self.head, data, Record)[0].key)
        except FormatError as error:
            raise self._placed(error, at) from None


class _Message(Batch):
    """A message of magic 0 or 1, alone or a wrapper of compressed ones.

    Source: org.apache.kafka.common.record.AbstractLegacyRecordBatch.
    """

    def __init__(self, data: bytes, position: int, limits: Limits) -> None:
        self.position = position
        self.size = len(data)
        self.data = data
        self._limits = limits
        offset, len_body, _ = peek_entry(data)
        self._start = len(data) - len_body
        try:
            message, stop = legacy.read_message_head(data, self._start, len(data), _HEAD)
            if stop != len(data):
                raise Malformed(
                    "value", "bytes are left over after the message", at=stop, need=0, have=len(data) - stop
                )
        except FormatError as error:
            raise error.within("message") from None
        self.message = message
        self.magic = message.magic
        self._codec = legacy.codec_of_message(message)
        self.codec = _PLAIN_CODECS[message.attributes.compression]
        assert message.crc is not None
        self.crc = message.crc
        self.last_offset = offset
        self.max_timestamp = message.timestamp
        self.timestamp_type = (
            _KINDS[message.attributes.timestamp_type] if message.magic else TimestampType.NoTimestampType
        )
        self._crc_ok: bool | None = None
        self._records: list[Record] | None = None

    def _name(self) -> str:
        return f"Message(offset={self.last_offset})"

    @property
    def attributes(self) -> int:
        return self.message.attributes.to_bytes()[0]

    @property
    def base_offset(self) -> int:
        return self.last_offset if self.codec == "none" else self._read(False)[0].offset

    @property
    def base_timestamp(self) -> int:
        return self.message.timestamp

    @property
    def count(self) -> int:
        return 1 if self.codec == "none" else len(self._read(False))

    @property
    def crc_ok(self) -> bool:
        if self._crc_ok is None:
            self._crc_ok = self._crc_place()[1] == self.crc
        return self._crc_ok

    def _crc_place(self) -> tuple[int, int]:
        return legacy.checksum_of_message(self.data, self._start, self.size)

    def records(self, *, control: bool = False, check_crc: bool = True) -> list[Record]:
        return list(self._read(check_crc))

    def _read(self, check_crc: bool) -> list[Record]:
        if self._records is None or check_crc:
            message = self.message
            value = message.value
            if self.codec == "none":
                assert not isinstance(value, legacy.MessageSet)
                self._records = [
                    Record(self.last_offset, message.timestamp, self.timestamp_type, message.key, value)
                ]
            else:
                assert not isinstance(value, legacy.MessageSet)
                self._records = self._unwrap(value, check_crc)
        return self._records

    def _unwrap(self, value: bytes | None, check_crc: bool) -> list[Record]:
        if value is None:
            raise self.located(Malformed("message.value", "a compressed message needs a value", at=self.size))
        at = self.size - len(value)
        try:
            inner = decompress(self._codec, value, limit=self._limits.decompressed_bytes)
        except FormatError as error:
            raise self.located(error.within("message.value"), shift=at) from None
        try:
            entries = _inner_entries(inner, check_crc)
            return self._absolute(entries)
        except FormatError as error:
            raise self.located(error.within("message.value").within_codec(self.codec, at)) from None

    def _absolute(self, entries: list[tuple[int, legacy.Message]]) -> list[Record]:
        """Kafka's rules for offsets and timestamps in a wrapper, by the wrapper's magic (KIP-31, KIP-32)."""
        base = 0
        if self.magic:
            last = entries[-1][0]
            # a wrapper that says 0 holds absolute offsets: some producers wrote it so
            if self.last_offset:
                base = self.last_offset - last
                if base < 0:
                    raise Malformed(
                        f"[{len(entries) - 1}].offset",
                        "relative offset beyond the wrapper's",
                        at=0,
                        need=f"at most {self.last_offset}",
                        have=last,
                    )
        appended = self.timestamp_type is TimestampType.LogAppendTime
        found = []
        for offset, message in entries:
            if not message.magic:
                kind, timestamp = TimestampType.NoTimestampType, -1
            elif self.magic:
                kind, timestamp = self.timestamp_type, self.max_timestamp if appended else message.timestamp
            else:
                kind, timestamp = TimestampType(message.attributes.timestamp_type), message.timestamp
            assert not isinstance(message.value, legacy.MessageSet)
            found.append(Record(base + offset, timestamp, kind, message.key, message.value))
        return found


def _inner_entries(data: bytes, check_crc: bool) -> list[tuple[int, legacy.Message]]:
    """(offset, message) of each whole entry in a wrapper; a part of one at the end is dropped."""
    found: list[tuple[int, legacy.Message]] = []
    options = ReadOptions(check_crc=check_crc)
    pos, end = 0, len(data)
    while end - pos >= PEEK_ENTRY_SIZE:
        offset, len_body, magic = peek_entry(data, pos)
        size = peek_entry_len_entry(offset, len_body, magic)
        path = f"[{len(found)}]"
        if size < PEEK_ENTRY_SIZE:
            at = pos + PEEK_ENTRY_AT["len_body"]
            raise Malformed(
                f"{path}.len_message", "value not allowed", at=at, need="a whole message", have=len_body
            )
        if size > end - pos:
            break
        try:
            message, stop = legacy.read_message_head(data, pos + size - len_body, pos + size, options)
            if stop != pos + size:
                raise Malformed(
                    "value", "bytes are left over after the message", at=stop, need=0, have=pos + size - stop
                )
        except FormatError as error:
            raise error.within(f"{path}.message") from None
        if message.attributes.compression:
            raise Malformed(
                f"{path}.message.attributes", "a compressed message inside a compressed message", at=pos
            )
        found.append((offset, message))
        pos += size
    if not found:
        raise Malformed("", "a compressed message holds no message", at=0)
    return found


def open_batch(data: bytes, position: int, limits: Limits) -> Batch:
    """The batch whose bytes are `data`, found at `position` of its source; its checksum is not yet verified.

    Raises FormatError with places counted in the source.
    """
    if len(data) < PEEK_ENTRY_SIZE:
        raise Truncated("entry", at=position, need=PEEK_ENTRY_SIZE, have=len(data))
    base_offset, _, magic = peek_entry(data)
    try:
        if magic == _RecordBatch.magic:
            return _RecordBatch(data, position, limits)
        if magic in (0, 1):
            return _Message(data, position, limits)
    except FormatError as error:
        raise error.within(
            f"{'RecordBatch' if magic == 2 else 'Message'}({base_offset=})", shift=position
        ) from None
    at = position + PEEK_ENTRY_AT["magic"]
    raise Unsupported("magic", "unknown message format", at=at, need="0, 1 or 2", have=magic)
