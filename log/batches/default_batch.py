"""A batch of magic 2: a record batch."""

from __future__ import annotations

from collections.abc import Callable

from kodec.generated.log import record_batch as v2
from kodec.log.batches.batch import HEAD, Batch
from kodec.log.batches.control import control_record, control_type
from kodec.log.batches.records import ControlRecordType, Limits, Record, TimestampType
from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions

__all__ = ["DefaultBatch", "RowReader", "read_rows"]

RowReader = Callable[[v2.RecordBatch, bytes, bytes, Limits], list[Record]]
"""Reads the records of a batch: of its header, its bytes, and its content, which was decompressed.

Raises FormatError, which counts bytes in the content.
"""
_MAX_SEQUENCE = 2**31 - 1


def read_rows(head: v2.RecordBatch, data: bytes, content: bytes, limits: Limits) -> list[Record]:
    """The records of a batch in pure Python, a `RowReader`."""
    return v2.read_record_batch_rows(head, content, Record, ReadOptions(elements=limits.elements))


class DefaultBatch(Batch):
    """A record batch of magic 2. Source: org.apache.kafka.common.record.DefaultRecordBatch."""

    magic = 2

    def __init__(self, data: bytes, position: int, limits: Limits, rows: RowReader = read_rows) -> None:
        self.position = position
        self.size = len(data)
        self.data = data
        self._limits = limits
        self._read_rows = rows
        head, _ = v2.read_record_batch_head(data, 0, len(data), HEAD)
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
    def reserved(self) -> int:
        return self.head.attributes.reserved

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
        """The records' bytes, decompressed, and where in the batch the stored ones start."""
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
        content, at = self._payload()
        # what Kafka wrote for itself is rare: the backend's own reader need not know of it
        read = read_rows if head.attributes.is_control else self._read_rows
        try:
            rows = read(head, self.data, content, self._limits)
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
        content, at = self._payload()
        try:
            return control_type(read_rows(self.head, self.data, content, self._limits)[0].key)
        except FormatError as error:
            raise self._placed(error, at) from None
