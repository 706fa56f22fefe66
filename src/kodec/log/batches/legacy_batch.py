"""A batch of magic 0 or 1: a single message, or a wrapper of compressed ones."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice

from kodec.generated.log import message_set as legacy
from kodec.log.batches import large
from kodec.log.batches.batch import HEAD, Batch
from kodec.log.batches.frame import BEFORE_BODY, FRAME_SIZE, LEAST_BODY, LENGTH_AT, Frame
from kodec.log.batches.large import (
    Compressed,
    Content,
    InStored,
    Part,
    Parts,
    Stored,
    Stream,
    explained,
    moved,
)
from kodec.log.batches.records import (
    TIMESTAMP_TYPES,
    Limits,
    Record,
    TimestampType,
    belonging,
    make_record,
)
from kodec.log.batches.wrapper import Wrapper
from kodec.runtime.compression.codec import joined
from kodec.runtime.crc import crc32
from kodec.runtime.errors import FormatError, Malformed, Truncated
from kodec.runtime.fields import ReadOptions, too_many

__all__ = ["LegacyBatch"]

# The codec without the variant for old messages. A look-up: there is one for each message.
_PLAIN_CODECS = {codec.value: codec.name.lower() for codec in legacy.Compression}
_HEAD = 4096  # bytes: all of a message but its value, unless its key is large


class LegacyBatch(Batch):
    """A message of magic 0 or 1, single or a wrapper of compressed ones.

    Source: org.apache.kafka.common.record.AbstractLegacyRecordBatch.
    """

    def __init__(self, data: bytes | Stored, position: int, limits: Limits, frame: Frame) -> None:
        self.position = position
        self._data = data
        self.size = size = data.size if isinstance(data, Stored) else len(data)
        self._limits = limits
        self._start = size - frame.len_body
        try:
            if isinstance(data, Stored):
                message, stop = self._read_head(data)
            else:
                message, stop = legacy.read_message_head(data, self._start, size, HEAD)
            if stop != size:
                raise Malformed(
                    "value", "bytes are left over after the message", at=stop, need=0, have=size - stop
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
        self.last_offset = frame.offset
        self.max_timestamp = message.timestamp
        self.timestamp_type = (
            TIMESTAMP_TYPES[message.attributes.timestamp_type]
            if message.magic
            else TimestampType.NO_TIMESTAMP_TYPE
        )
        self._crc_ok: bool | None = None
        self._records: list[Record] | None = None

    def _read_head(self, data: Stored) -> tuple[legacy.Message, int]:
        """The message, with only the held part of its value. One with a large key is held whole."""
        try:
            return legacy.read_message_head(data.head, self._start, data.size, HEAD)
        except struct.error:
            self._data = whole = self.data
            return legacy.read_message_head(whole, self._start, data.size, HEAD)

    @property
    def _value_at(self) -> int:
        """Where its value starts; its end if it is null."""
        return self.size - max(0, self.message.len_value or 0)

    def _name(self) -> str:
        return f"Message(offset={self.last_offset})"

    @property
    def attributes(self) -> int:
        return self.message.attributes.to_bytes()[0]

    @property
    def reserved(self) -> int:
        return self.message.attributes.reserved

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
        data = self._data
        if isinstance(data, Stored):
            head = legacy.checksum_of_message(data.head[: self._value_at], self._start, self._value_at)
            return data.checksum(head, self._value_at, crc32)
        return legacy.checksum_of_message(data, self._start, self.size)

    def records(self, *, control: bool = False, check_crc: bool = True) -> list[Record]:
        return list(self._read(check_crc))

    def record_parts(
        self, *, control: bool = False, check_crc: bool = True
    ) -> tuple[bool, Iterator[list[Record]]]:
        if self.codec != "none":
            return self._unwrap(check_crc)
        message = self.message
        record = make_record(
            self.last_offset, message.timestamp, self.timestamp_type, message.key, self._value()
        )
        return isinstance(self._data, Stored), iter((belonging([record], self.topic_partition),))

    def _read(self, check_crc: bool) -> list[Record]:
        if self._records is None or check_crc:
            is_large, parts = self.record_parts(check_crc=check_crc)
            records = list(chain.from_iterable(parts))
            if is_large:
                return records
            self._records = records
        return self._records

    def _value(self) -> bytes | None:
        data, value = self._data, self.message.value
        assert not isinstance(value, legacy.MessageSet)
        return joined(data.pieces(self._value_at)) if isinstance(data, Stored) else value

    def content(self, limit: int) -> bytes:
        """The messages inside the wrapper, decompressed. If the content is large, their sizes are read first.

        Raises FormatError, also for more than `limit` bytes.
        """
        compressed = self._compressed()._replace(limit=limit)
        with self._placing():
            content = compressed.small()
            if content is None:
                self._require_frames(compressed)
                content = joined(compressed.pieces())
            return content

    def require_within_limits(self) -> None:
        if self.codec != "none":
            with self._placing():
                compressed = self._compressed()
                if compressed.may_be_large():
                    self._require_frames(compressed)

    def _require_frames(self, compressed: Compressed) -> None:
        _parts_of(Stream(compressed.pieces()), ReadOptions(elements=self._limits.elements))

    def _compressed(self) -> Compressed:
        value = self._value()
        if value is None:
            raise self.located(Malformed("message.value", "a compressed message needs a value", at=self.size))
        return Compressed(self._codec, value, self._limits.decompressed_bytes)

    @contextmanager
    def _placing(self) -> Iterator[None]:
        """Locate errors, in the content and in the stored bytes."""
        try:
            yield
        except InStored as wrapped:
            position = self._value_at
            raise self.located(wrapped.error.within("message.value"), shift=position) from None
        except FormatError as error:
            position = self._value_at
            raise self.located(error.within("message.value").within_codec(self.codec, position)) from None

    def _unwrap(self, check_crc: bool) -> tuple[bool, Iterator[list[Record]]]:
        """Whether the content is large, and the records in it, in parts."""
        options = ReadOptions(check_crc=check_crc, elements=self._limits.elements)
        compressed = self._compressed()
        with self._placing():
            inner = compressed.small()
            if inner is not None:
                records = _inner_rows(inner, options) or _inner_records(inner, options)
                last = records[-1].offset
                if not self._wrapper.place(records):
                    raise self._beyond_wrapper(len(records), last)
                return False, iter((belonging(records, self.topic_partition),))
        return True, self._large_records(compressed, options)

    def _large_records(self, compressed: Compressed, options: ReadOptions) -> Iterator[list[Record]]:
        with self._placing():
            parts, last = _parts_of(Stream(compressed.pieces()), options)
            for part, data in Parts(compressed.pieces, parts):
                try:
                    records = _large_message(data, options) if isinstance(data, Content) else None
                    if records is None:
                        data = data.whole() if isinstance(data, Content) else data
                        records = _inner_rows(data, options) or _inner_records(data, options)
                except FormatError as error:
                    raise moved(error, part) from None
                if self._wrapper.place(records, last):
                    yield belonging(records, self.topic_partition)
            if self._wrapper.base(last) < 0:
                raise self._beyond_wrapper(part.first + part.records, last)

    @property
    def _wrapper(self) -> Wrapper:
        return Wrapper(self.magic, self.last_offset, self.max_timestamp, self.timestamp_type)

    def _beyond_wrapper(self, count: int, last: int) -> FormatError:
        path, need = f"[{count - 1}].offset", f"at most {self.last_offset}"
        return Malformed(path, "relative offset beyond the wrapper's", at=0, need=need, have=last)


def _large_message(content: Content, options: ReadOptions) -> list[Record] | None:
    """A single message as stored, its value read once; None if anything in it is invalid."""
    head = content.first(_HEAD)
    size = len(content)
    try:
        # of the value, which is the last field, only the present part
        message, stop = legacy.read_message_head(head, BEFORE_BODY, size, HEAD)
    except (FormatError, struct.error):
        return None
    value_start = size - max(0, message.len_value or 0)
    if stop != size or value_start > len(head) or message.attributes.compression:
        return None
    value = content[value_start:]
    crc = legacy.checksum_of_message(head[:value_start], BEFORE_BODY, value_start)[1]
    if options.check_crc and crc32(value, crc) != message.crc:
        return None
    kind = (
        TIMESTAMP_TYPES[message.attributes.timestamp_type]
        if message.magic
        else TimestampType.NO_TIMESTAMP_TYPE
    )
    frame = _inner_frame(head, 0, "", 0)
    return [make_record(frame.offset, message.timestamp, kind, message.key, value)]


def _inner_rows(data: bytes, options: ReadOptions) -> list[Record] | None:
    """The messages in a wrapper as they are stored; None if anything in them is invalid."""
    rows = legacy.read_entry_rows(data, 0, len(data), Record, options)
    entries = list(islice(rows, options.elements))
    if not entries or entries[-1][1] != len(data):
        return None
    records = [record for record, _ in entries]
    for record in records:
        record.headers = ()
    return records


def _inner_frame(data: bytes, pos: int, path: str, position: int) -> Frame:
    """The frame at `pos`, which is byte `position` of all. Raises FormatError."""
    frame = Frame.peek(data, pos)
    if frame is None:
        raise Truncated(path, at=position, need=FRAME_SIZE, have=len(data) - pos)
    if frame.len_body < LEAST_BODY:
        need, position = f"at least {LEAST_BODY}", position + LENGTH_AT
        raise Malformed(
            f"{path}.len_message", "value not allowed", at=position, need=need, have=frame.len_body
        )
    return frame


def _parts_of(stream: Stream, options: ReadOptions) -> tuple[list[Part], int]:
    """Where the parts of a large content are, and the offset of its last message, before it is held."""
    parts: list[Part] = []
    index = first = start = last = 0
    try:
        while stream.fill(FRAME_SIZE):
            path, position = f"[{index}]", stream.position
            last, size, _ = _inner_frame(stream.window, 0, path, position)
            if index == options.elements:
                raise too_many("", position, options)
            if position + size - start > large.PART and index > first:
                parts.append(Part(first, index - first, start, position - start))
                first, start = index, position
            if not stream.skip_to(position + size):
                raise Truncated(path, at=position, need=size, have=None)
            index += 1
    except FormatError as error:
        raise explained(error, stream) from None
    parts.append(Part(first, index - first, start, stream.position - start))
    return parts, last


def _inner_records(data: bytes, options: ReadOptions) -> list[Record]:
    """The same, message by message; a part of one at the end is damage. Raises FormatError."""
    records: list[Record] = []
    pos, end = 0, len(data)
    while pos < end:
        path = f"[{len(records)}]"
        frame = _inner_frame(data, pos, path, pos)
        offset, size, _ = frame
        if size > end - pos:
            raise Truncated(path, at=pos, need=size, have=end - pos)
        try:
            message, stop = legacy.read_message_head(data, pos + size - frame.len_body, pos + size, options)
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
        if len(records) == options.elements:
            raise too_many("", pos, options)
        kind = (
            TIMESTAMP_TYPES[message.attributes.timestamp_type]
            if message.magic
            else TimestampType.NO_TIMESTAMP_TYPE
        )
        assert not isinstance(message.value, legacy.MessageSet)
        records.append(make_record(offset, message.timestamp, kind, message.key, message.value))
        pos += size
    if not records:
        raise Malformed("", "a compressed message holds no message", at=0)
    return records
