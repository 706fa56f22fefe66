"""A batch of magic 0 or 1: a message alone, or a wrapper of compressed ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from kodec.generated.log import message_set as legacy
from kodec.log.batches.batch import HEAD, Batch
from kodec.log.batches.frame import FRAME_SIZE, LEAST_BODY, LENGTH_AT, Frame
from kodec.log.batches.large import Compressed, InStored, Stream, explained
from kodec.log.batches.records import Limits, Record, TimestampType, make_record
from kodec.log.batches.wrapper import Wrapper
from kodec.runtime.compression.codec import joined
from kodec.runtime.errors import FormatError, Malformed, Truncated
from kodec.runtime.fields import ReadOptions, too_many

__all__ = ["LegacyBatch"]

# The codec without the variant that old messages have of it. A look-up: there is one for each message.
_PLAIN_CODECS = {codec.value: codec.name.lower() for codec in legacy.Compression}
_KINDS = (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)


class LegacyBatch(Batch):
    """A message of magic 0 or 1, alone or a wrapper of compressed ones.

    Source: org.apache.kafka.common.record.AbstractLegacyRecordBatch.
    """

    def __init__(self, data: bytes, position: int, limits: Limits, frame: Frame) -> None:
        self.position = position
        self.size = len(data)
        self.data = data
        self._limits = limits
        self._start = len(data) - frame.len_body
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
        self.last_offset = frame.offset
        self.max_timestamp = message.timestamp
        self.timestamp_type = (
            _KINDS[message.attributes.timestamp_type] if message.magic else TimestampType.NO_TIMESTAMP_TYPE
        )
        self._crc_ok: bool | None = None
        self._records: list[Record] | None = None

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
                    make_record(self.last_offset, message.timestamp, self.timestamp_type, message.key, value)
                ]
            else:
                self._records = self._unwrap(check_crc)
        return self._records

    def content(self, limit: int) -> bytes:
        """The messages inside the wrapper, decompressed. Of a large content their sizes are looked at first.

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
        _require_frames(Stream(compressed.pieces()), ReadOptions(elements=self._limits.elements))

    def _compressed(self) -> Compressed:
        value = self.message.value
        if not isinstance(value, bytes):
            raise self.located(Malformed("message.value", "a compressed message needs a value", at=self.size))
        return Compressed(self._codec, value, self._limits.decompressed_bytes)

    @contextmanager
    def _placing(self) -> Iterator[None]:
        """Give errors their place: those in the content, and those in what is stored."""
        try:
            yield
        except InStored as found:
            at = self.size - len(self._compressed().stored)
            raise self.located(found.error.within("message.value"), shift=at) from None
        except FormatError as error:
            at = self.size - len(self._compressed().stored)
            raise self.located(error.within("message.value").within_codec(self.codec, at)) from None

    def _unwrap(self, check_crc: bool) -> list[Record]:
        inner = self.content(self._limits.decompressed_bytes)
        options = ReadOptions(check_crc=check_crc, elements=self._limits.elements)
        with self._placing():
            return self._placed(_inner_rows(inner, options) or _inner_records(inner, options))

    def _placed(self, records: list[Record]) -> list[Record]:
        wrapper = Wrapper(self.magic, self.last_offset, self.max_timestamp, self.timestamp_type)
        last = records[-1].offset
        if wrapper.place(records):
            return records
        path, need = f"[{len(records) - 1}].offset", f"at most {self.last_offset}"
        raise Malformed(path, "relative offset beyond the wrapper's", at=0, need=need, have=last)


def _inner_rows(data: bytes, options: ReadOptions) -> list[Record] | None:
    """The messages in a wrapper as they are stored; None where not all is well with all of them."""
    rows = legacy.read_entry_rows(data, 0, len(data), Record, options)
    found = list(islice(rows, options.elements))
    if not found or found[-1][1] != len(data):
        return None
    records = [record for record, _ in found]
    for record in records:
        record.headers = ()
    return records


def _inner_frame(data: bytes, pos: int, path: str, at: int) -> Frame:
    """The frame at `pos`, which is byte `at` of all. Raises FormatError."""
    frame = Frame.peek(data, pos)
    if frame is None:
        raise Truncated(path, at=at, need=FRAME_SIZE, have=len(data) - pos)
    if frame.len_body < LEAST_BODY:
        need, at = f"at least {LEAST_BODY}", at + LENGTH_AT
        raise Malformed(f"{path}.len_message", "value not allowed", at=at, need=need, have=frame.len_body)
    return frame


def _require_frames(stream: Stream, options: ReadOptions) -> None:
    """Look at the sizes and the number of the messages in a large content before it is held."""
    index = 0
    try:
        while stream.fill(FRAME_SIZE):
            path, start = f"[{index}]", stream.at
            size = _inner_frame(stream.window, 0, path, start).size
            if index == options.elements:
                raise too_many("", start, options)
            if not stream.skip_to(start + size):
                raise Truncated(path, at=start, need=size, have=None)
            index += 1
    except FormatError as error:
        raise explained(error, stream) from None


def _inner_records(data: bytes, options: ReadOptions) -> list[Record]:
    """The same, message by message; a part of one at the end is damage. Raises FormatError."""
    found: list[Record] = []
    pos, end = 0, len(data)
    while pos < end:
        path = f"[{len(found)}]"
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
        if len(found) == options.elements:
            raise too_many("", pos, options)
        kind = _KINDS[message.attributes.timestamp_type] if message.magic else TimestampType.NO_TIMESTAMP_TYPE
        assert not isinstance(message.value, legacy.MessageSet)
        found.append(make_record(offset, message.timestamp, kind, message.key, message.value))
        pos += size
    if not found:
        raise Malformed("", "a compressed message holds no message", at=0)
    return found
