"""A batch with a list of records after one header: a record batch."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from kodec.generated.log import record_batch as v2
from kodec.log.batches.batch import HEAD, Batch, last_sequence
from kodec.log.batches.control import control_record, control_type
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import Frame
from kodec.log.batches.header import EXTRA, FLAGS, bits_of, changed, flags_of, name_of, numbers_of
from kodec.log.batches.large import Compressed, Content, InStored, Parts, Pieces, Stored, moved
from kodec.log.batches.records import (
    TIMESTAMP_TYPES,
    ControlRecordType,
    Limits,
    Owner,
    Record,
    belonging,
)
from kodec.log.batches.sizes import HEADS, MOST_HEAD
from kodec.runtime.compression.codec import joined
from kodec.runtime.crc import crc32c
from kodec.runtime.dataclass import replace
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions, too_many

__all__ = ["DefaultBatch", "RowReader", "read_rows"]

RowReader = Callable[[v2.RecordBatch, bytes, bytes, Limits, Owner], list[Record]]
"""Reads the records of a batch of a topic-partition from its header, its bytes and its decompressed content.

Raises FormatError, which counts bytes in the content.
"""
_TYPE, _RESERVED, _BASE_TIMESTAMP = map(name_of, ("timestamp_type", "reserved", "base_timestamp"))


def read_rows(
    head: v2.RecordBatch, data: bytes, content: bytes, limits: Limits, topic_partition: Owner
) -> list[Record]:
    """The records of a batch in pure Python, a `RowReader`."""
    options = ReadOptions(elements=limits.elements)
    return belonging(v2.read_record_batch_rows(head, content, Record, options), topic_partition)


class DefaultBatch(Batch):
    """A record batch. Source: org.apache.kafka.common.record.DefaultRecordBatch."""

    is_list = True

    def __init__(
        self, data: bytes | Stored, position: int, limits: Limits, rows: RowReader = read_rows
    ) -> None:
        self.position = position
        self._data = data
        self.size = size = data.size if isinstance(data, Stored) else len(data)
        # without the content, which is in `_data`
        start = (data.head if isinstance(data, Stored) else data)[:MOST_HEAD]
        self._limits = limits
        self._read_rows = rows
        self._first: int
        self._count: int
        head, _ = v2.read_record_batch_head(start, 0, size, HEAD)
        self.codec = v2.codec_of_record_batch(head)
        (
            self.magic,
            self.crc,
            self._first,
            delta,
            base,
            self.max_timestamp,
            self.partition_leader_epoch,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self._count,
        ) = numbers_of(head)
        flags = getattr(head, FLAGS)
        _, kind, self.is_transactional, self.is_control, horizon, _ = bits_of(flags)
        # one enum for every format; the values are the same
        self.timestamp_type = kind = TIMESTAMP_TYPES[kind]
        setattr(flags, _TYPE, kind)
        self.head = head
        self.last_offset = self._first + delta
        self.delete_horizon = base if horizon else None
        self._crc_ok: bool | None = None

    @property
    def _head_size(self) -> int:
        return HEADS[self.magic].size

    def _name(self) -> str:
        return KAFKA.kinds[0].place(self._first)

    @property
    def frame_offset(self) -> int:
        return self._first

    @property
    def attributes(self) -> int:
        return flags_of(self.head)

    @property
    def reserved(self) -> int:
        return int(getattr(getattr(self.head, FLAGS), _RESERVED))

    @property
    def extra(self) -> Mapping[str, Any]:
        return {field.name: field.get(self.head) for field in EXTRA}

    @property
    def base_offset(self) -> int:
        return self._first

    @property
    def base_timestamp(self) -> int:
        return int(getattr(self.head, _BASE_TIMESTAMP))

    @property
    def count(self) -> int:
        return self._count

    @property
    def last_sequence(self) -> int:
        return last_sequence(self.base_sequence, self.last_offset - self._first)

    @property
    def crc_ok(self) -> bool:
        if self._crc_ok is None:
            self._crc_ok = self._crc_place()[1] == self.crc
        return self._crc_ok

    def _crc_place(self) -> tuple[int, int]:
        data = self._data
        if isinstance(data, Stored):
            head = v2.checksum_of_record_batch(data.head, 0, self._head_size)
            return data.checksum(head, self._head_size, crc32c)
        return v2.checksum_of_record_batch(data, 0, self.size)

    def records(self, *, control: bool = False, check_crc: bool = True) -> list[Record]:
        large, parts = self.record_parts(control=control, check_crc=check_crc)
        return list(chain.from_iterable(parts)) if large else next(parts)

    def record_parts(
        self, *, control: bool = False, check_crc: bool = True
    ) -> tuple[bool, Iterator[list[Record]]]:
        if not self._count or (self.is_control and not control):
            return False, iter(([],))
        large, parts = self._rows()
        return large, self._control_records(parts) if self.is_control else parts

    def content(self, limit: int) -> bytes:
        """The records' bytes, decompressed. A large content is held only if it is that of `count` records.

        Raises FormatError, also for more than `limit` bytes.
        """
        return joined(self.content_pieces(limit))

    def content_pieces(self, limit: int) -> Iterator[bytes]:
        """The same, in pieces if it is large. Raises FormatError before the first one."""
        self._require_count()
        with self._placing():
            compressed = self._compressed()._replace(limit=limit)
            if (content := self._small(compressed)) is None:
                Parts.of(compressed.pieces, self.count, ReadOptions(elements=self._limits.elements))
                yield from compressed.pieces()
            else:
                yield content

    def require_within_limits(self) -> None:
        self._require_count()
        if self.codec != "none" and self.count:
            with self._placing():
                compressed = self._compressed()
                if compressed.may_be_large():
                    Parts.of(compressed.pieces, self.count, ReadOptions(elements=self._limits.elements))

    def _compressed(self) -> Compressed:
        data = self._data
        stored: bytes | memoryview
        if isinstance(data, Stored):
            stored = joined(data.pieces(self._head_size))
        else:
            stored = memoryview(data)[self._head_size :] if self.codec != "none" else data[self._head_size :]
        return Compressed(self.codec, stored, self._limits.decompressed_bytes)

    def _small(self, compressed: Compressed) -> bytes | None:
        return bytes(compressed.stored) if self.codec == "none" else compressed.small()

    def _require_count(self) -> None:
        """Refuse a number of records beyond the limits, before decompressing anything."""
        most = self._limits.elements
        if self.count > most and self.codec != "none":
            with self._placing():
                raise too_many("num_records", 0, ReadOptions(elements=most))

    def _rows(self) -> tuple[bool, Iterator[list[Record]]]:
        """Whether the content is large, and the records in it, in parts."""
        self._require_count()
        data = self._data
        if self.codec == "none" and isinstance(data, Stored):
            return True, self._large_rows(lambda: data.pieces(self._head_size))
        with self._placing():
            compressed = self._compressed()
            content = self._small(compressed)
            if content is not None:
                whole = self._holding(self.count) if isinstance(data, Stored) else data
                read = self._reader(content)
                return False, iter((read(self.head, whole, content, self._limits, self.topic_partition),))
        return True, self._large_rows(compressed.pieces)

    def _large_rows(self, pieces: Pieces) -> Iterator[list[Record]]:
        count, limits = self.count, self._limits
        room = limits.elements
        with self._placing():
            for part, data in Parts.of(pieces, count, ReadOptions(elements=room)):
                head = changed(self.head, count=part.records)
                part_limits = replace(limits, elements=room - count + part.records)
                read, stored = self._reader(data), self._holding(part.records)
                try:
                    try:
                        rows = read(head, stored, data, part_limits, self.topic_partition)
                    except struct.error:
                        assert isinstance(data, Content)
                        rows = read(head, stored, data.whole(), part_limits, self.topic_partition)
                except FormatError as error:
                    raise moved(error, part) from None
                room -= sum(len(row.headers) for row in rows)
                yield rows

    def _reader(self, content: bytes) -> RowReader:
        # Kafka's own control records are rare: the backend's reader does not support them
        return read_rows if self.is_control or isinstance(content, Content) else self._read_rows

    def _holding(self, count: int) -> bytes:
        """A batch with this one's header and `count` records, without content."""
        held = self._data.head if isinstance(self._data, Stored) else self._data
        data = bytearray(Frame.framed(held[: self._head_size + 1], self.magic))
        HEADS[self.magic].count.put(data, count)
        return bytes(data)

    def _control_records(self, parts: Iterator[list[Record]]) -> Iterator[list[Record]]:
        index = 0
        for rows in parts:
            records: list[Record] = []
            for row in rows:
                with self._placing():
                    try:
                        records.append(control_record(row))
                    except FormatError as error:
                        raise error.within("records", index) from None
                index += 1
            yield records

    @contextmanager
    def _placing(self) -> Iterator[None]:
        """Locate errors, in the content and in the stored bytes."""
        try:
            yield
        except InStored as wrapped:
            raise self.located(wrapped.error.within("records"), shift=self._head_size) from None
        except FormatError as error:
            if self.codec == "none":
                raise self.located(error, shift=self._head_size) from None
            raise self.located(error.within_codec(self.codec, self._head_size)) from None

    @property
    def control_type(self) -> ControlRecordType | None:
        if not self.is_control or not self.count:
            return None
        rows = next(self._rows()[1])
        with self._placing():
            return control_type(rows[0].key)
