"""One batch of a log, independent of its format: a header that was read, and records that can be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from kodec.generated.log.record_batch import Compression
from kodec.log.batches.format import HEAD
from kodec.log.batches.header import NO_EXTRA
from kodec.log.batches.large import Compressed, InStored, Stored
from kodec.log.batches.records import ControlRecordType, Owner, Record, TimestampType
from kodec.runtime.compression.codec import joined
from kodec.runtime.errors import CrcMismatch, FormatError

__all__ = ["CODECS", "HEAD", "Batch", "last_sequence"]

_MAX_SEQUENCE = 2**31 - 1

CODECS = tuple(codec.name.lower() for codec in sorted(Compression))
"""The codecs by their number; those of magic 0 and 1 are the first of them."""


def last_sequence(base: int, delta: int) -> int:
    """The sequence of a batch's last record; 2147483647 is followed by 0. -1 where it has none."""
    last = base + delta
    return -1 if base < 0 else last if last <= _MAX_SEQUENCE else last - _MAX_SEQUENCE - 1


class Batch(ABC):
    """One batch of a log. Its header has been read, its records have not.

    Attributes:
        position: where the batch starts in its source, in bytes.
        size: its whole size, in bytes.
        magic: the message format, such as 2.
        is_list: whether its records are a list after one header (magic 2); otherwise it is one message, or a
            wrapper of such (magic 0 and 1).
        codec: one of `CODECS`: `none`, `gzip` and so on.
        crc: the checksum as stored, unsigned.
        last_offset: the offset of the last record that the batch was created with.
        max_timestamp: ms since epoch, -1: none; as in the header.
        timestamp_type: NO_TIMESTAMP_TYPE for v0.
        partition_leader_epoch, producer_id, producer_epoch, base_sequence: -1 if absent, as in v0
            and v1.
        is_transactional, is_control: false in v0 and v1.
        delete_horizon: ms since epoch from which tombstones may be removed (KIP-534); None if not set.
        topic_partition: the topic-partition of its records; None if unknown.

    Example:
        >>> import kodec
        >>> segment = "/data/kafka-logs/orders-0/00000000000000000000.log"
        >>> batch = next(iter(kodec.read_batches(segment)))
        >>> batch.base_offset, batch.last_offset, batch.count, batch.codec, batch.crc_ok
        (0, 9, 10, 'none', True)
        >>> batch.records()[0].key
        b'customer-0'
    """

    position: int
    size: int
    magic: int
    is_list: bool = False
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
    topic_partition: Owner = None
    _data: bytes | Stored

    @property
    def data(self) -> bytes:
        """The bytes of the batch."""
        held = self._data
        return joined(held.pieces(0)) if isinstance(held, Stored) else held

    @property
    def frame_offset(self) -> int:
        """The offset in its frame: the base offset, or a message's; for a wrapper, its last."""
        return self.last_offset

    @property
    @abstractmethod
    def attributes(self) -> int:
        """The attribute bits as stored."""

    @property
    @abstractmethod
    def reserved(self) -> int:
        """The attribute bits without a meaning in its format; Kafka and its clients set none."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """Fields and flags of its header that kodec gives no meaning, by name; None where its magic has none.

        A newer format has some: what rewrites a batch keeps them.
        """
        return NO_EXTRA

    @property
    @abstractmethod
    def base_offset(self) -> int:
        """The first offset: the header's (v2), or the first record's (v0, v1: decompresses a wrapper)."""

    @property
    @abstractmethod
    def base_timestamp(self) -> int:
        """The header's base (v2: see `delete_horizon`), or the message's own timestamp (v1); -1: none."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of records: from the header (v2), or counted (v0, v1: decompresses a wrapper)."""

    @property
    @abstractmethod
    def crc_ok(self) -> bool:
        """Whether the stored checksum matches the bytes; computed once."""

    @abstractmethod
    def records(self, *, control: bool = False, check_crc: bool = True) -> list[Record]:
        """The logical records, in the order they are stored.

        A control batch yields none, or ControlRecords with `control`. With `check_crc`, checksums inside a
        wrapper of v0 or v1 are verified too. Raises FormatError with positions in the source.
        """

    def record_parts(
        self, *, control: bool = False, check_crc: bool = True
    ) -> tuple[bool, Iterator[list[Record]]]:
        """Whether its content is large, and the records, then in parts: the same as `records`.

        A part can be used before the next one is read, and is of no use where that raises FormatError.

        Args:
            control, check_crc: as in `records`.
        """
        return False, iter((self.records(control=control, check_crc=check_crc),))

    def may_hold(self, needle: bytes) -> bool:
        """Whether its decompressed content may contain these bytes; true also if it is large or damaged.

        Keys, values and headers stand in the content as they are.

        Args:
            needle: the bytes.
        """
        held = self._data
        if isinstance(held, Stored):
            return True
        if self.codec == "none":
            return needle in held
        try:
            content = self._compressed().small()
        except (FormatError, InStored):
            # reading the records raises the error
            return True
        return content is None or needle in content

    @abstractmethod
    def _compressed(self) -> Compressed:
        """The content as it is stored, with its codec and limit. Raises FormatError."""

    @abstractmethod
    def require_within_limits(self) -> None:
        """Raise FormatError if the content is larger than the limits allow or does not match the header.

        Holds little of it, and decompresses nothing if sizes and headers show that it is not large.
        """

    @property
    def next_offset(self) -> int:
        """The offset after the last one of this batch."""
        return self.last_offset + 1

    @property
    def is_dense(self) -> bool:
        """Whether the last offset is sure, as the header has as many records as offsets.

        Compaction has removed records of another one, or its writer has set a wrong last offset, under a
        right checksum: only its records show which.
        """
        return not self.is_list or self.count == self.next_offset - self.base_offset

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; 2147483647 is followed by 0; -1: none."""
        return -1

    @property
    def control_type(self) -> ControlRecordType | None:
        """The first control record; None for other batches, and for an emptied control batch."""
        return None

    def verify_crc(self) -> None:
        """Raise CrcMismatch if the stored checksum does not match the bytes."""
        if not self.crc_ok:
            position, computed = self._crc_place()
            error = CrcMismatch("crc", at=position, need=self.crc, have=computed)
            raise self.located(error)

    @abstractmethod
    def _crc_place(self) -> tuple[int, int]:
        """The place of the checksum in the batch, and the right value."""

    @abstractmethod
    def _name(self) -> str: ...

    def located(self, error: FormatError, *, shift: int = 0) -> FormatError:
        """`error`, whose byte counts from `shift` into the batch, with its position in the source."""
        return error.within(self._name(), shift=self.position + shift)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same bytes at the same place."""
        if not isinstance(other, Batch):
            return NotImplemented
        identity, other_identity = ((batch.position, batch.size, batch.crc) for batch in (self, other))
        return identity == other_identity and self.data == other.data

    def __hash__(self) -> int:
        return hash((self.position, self.size, self.crc))

    def __repr__(self) -> str:
        return (
            f"<{self._name()} at byte {self.position}, {self.size} bytes, magic {self.magic}, {self.codec}>"
        )
