"""A message of magic 0 or 1 as an entry of a log: alone, or a wrapper of compressed ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kodec.generated.log import message_set as legacy
from kodec.generated.log.log_segment import PEEK_ENTRY_AT, PEEK_ENTRY_SIZE, peek_entry
from kodec.log.entries.batch import HEAD, Batch
from kodec.log.entries.records import Limits, Record, TimestampType
from kodec.log.entries.sizes import BEFORE_BODY, LEAST_BODY
from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError, Malformed
from kodec.runtime.fields import ReadOptions, too_many

__all__ = ["MessageEntry", "plain_messages"]

# The codec without the variant that old messages have of it. A look-up: there is one for each message.
_PLAIN_CODECS = {codec.value: codec.name.lower() for codec in legacy.Compression}
_KINDS = (TimestampType.CreateTime, TimestampType.LogAppendTime)
_TYPES = {int(kind): kind for kind in TimestampType}


def plain_messages(data: bytes, check_crc: bool) -> Iterator[tuple[Record, int]]:
    """The records of `data`, whose messages follow one another, each with where its message ends.

    It ends before the first message that is compressed, not whole, or has anything wrong with it.
    """
    for record, stop in legacy.read_entry_rows(data, 0, len(data), Record, ReadOptions(check_crc=check_crc)):
        record.timestamp_type = _TYPES[record.timestamp_type]
        record.headers = ()
        yield record, stop


class MessageEntry(Batch):
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
            message, stop = legacy.read_message_head(data, self._start, len(data), HEAD)
            if stop != len(data):
                raise Malformed(
                    "value", "bytes are left over after the message", at=stop, need=0, have=len(data) - stop
                )
        except FormatError as error:
            raise error.within("message") from None
        self.message = message
        self.magic = message.magic
        try:
            self._codec = legacy.codec_of_message(message)
        except FormatError as error:
            raise error.within("message", shift=self._start) from None
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
            options = ReadOptions(check_crc=check_crc, elements=self._limits.elements)
            return self._absolute(_inner_rows(inner, options) or _inner_records(inner, options))
        except FormatError as error:
            raise self.located(error.within("message.value").within_codec(self.codec, at)) from None

    def _absolute(self, records: list[Record]) -> list[Record]:
        """Kafka's rules for offsets and timestamps in a wrapper, by the wrapper's magic (KIP-31, KIP-32)."""
        base = 0
        if self.magic:
            last = records[-1].offset
            # a wrapper that says 0 holds absolute offsets: some producers wrote it so
            if self.last_offset:
                base = self.last_offset - last
                if base < 0:
                    raise Malformed(
                        f"[{len(records) - 1}].offset",
                        "relative offset beyond the wrapper's",
                        at=0,
                        need=f"at most {self.last_offset}",
                        have=last,
                    )
        kind = self.timestamp_type
        for record in records:
            record.offset += base
            # a message of magic 0 has no timestamp, whatever the wrapper says
            record.timestamp_type = kind if record.timestamp_type >= 0 else TimestampType.NoTimestampType
            record.headers = ()
        if kind is TimestampType.LogAppendTime:
            for record in records:
                if record.timestamp_type is kind:
                    record.timestamp = self.max_timestamp
        return records


def _inner_rows(data: bytes, options: ReadOptions) -> list[Record] | None:
    """The messages in a wrapper as they are stored; None where not all is well with all of them."""
    rows = legacy.read_entry_rows(data, 0, len(data), Record, options)
    found = list(islice(rows, options.elements))
    return [record for record, _ in found] if found and found[-1][1] == len(data) else None


def _inner_records(data: bytes, options: ReadOptions) -> list[Record]:
    """The same of each whole entry; a part of one at the end is dropped. Raises FormatError."""
    found: list[Record] = []
    pos, end = 0, len(data)
    # Kafka looks at a length as soon as offset and length are there, so a part of an entry needs a right one
    while end - pos >= BEFORE_BODY:
        at = pos + PEEK_ENTRY_AT["len_body"]
        _, len_body, _ = peek_entry(data[pos : pos + PEEK_ENTRY_SIZE].ljust(PEEK_ENTRY_SIZE, b"\0"))
        size = BEFORE_BODY + len_body
        path = f"[{len(found)}]"
        if len_body < LEAST_BODY:
            need = f"at least {LEAST_BODY}"
            raise Malformed(f"{path}.len_message", "value not allowed", at=at, need=need, have=len_body)
        if size > end - pos:
            break
        offset, _, _ = peek_entry(data, pos)
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
        if len(found) == options.elements:
            raise too_many("", pos, options)
        kind = _KINDS[message.attributes.timestamp_type] if message.magic else TimestampType.NoTimestampType
        assert not isinstance(message.value, legacy.MessageSet)
        found.append(Record(offset, message.timestamp, kind, message.key, message.value))
        pos += size
    if not found:
        raise Malformed("", "a compressed message holds no message", at=0)
    return found
