"""Record filters, and what a batch's header or bytes exclude before any record is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kodec.log.backends.scan import EVERY, Range
from kodec.log.batches.records import Record, TimestampType
from kodec.log.selection import (
    Bounds,
    Isolation,
    Keys,
    TimeBounds,
    chosen_keys,
    offset_range,
    require_isolation,
    time_range,
)
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import ArgumentError

if TYPE_CHECKING:
    from kodec.log.batches.batch import Batch
    from kodec.log.directories.segment import BatchHeader

__all__ = ["Isolation", "RecordFilter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """A selection of records of a log; conditions that are not given exclude nothing.

    Attributes:
        offsets: of each topic-partition: (first, last), both included, a `range`, or one offset.
        timestamps: (first, last), both included: datetimes with a zone, or ms since 1970-01-01 UTC. With one
            of them, a record without a timestamp (magic 0) is no match.
        keys: whole keys, of which the record has one; bytes, or a text as UTF-8.
        value_contains: bytes that occur in the value.
        headers: (key, value) pairs, all of which the record must have; a value may be None.
        producer_ids: the idempotent or transactional producers that wrote it.
        control: include control records; the other conditions apply to them as well.
        isolation: `read_committed` leaves out aborted and undecided records: all from the last
            stable offset on.
        where: the caller's own condition, tested on records that match all others.

    Raises: ArgumentError for an invalid value.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> wanted = kodec.RecordFilter(offsets=(10, 19))
        >>> len(list(log.find_records(wanted)))
        10
    """

    offsets: Bounds = None
    timestamps: TimeBounds = None
    keys: Keys = None
    value_contains: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    producer_ids: frozenset[int] | None = None
    control: bool = False
    isolation: Isolation = "read_uncommitted"
    where: Callable[[Record], bool] | None = None

    def __post_init__(self) -> None:
        # as they are given, or read already
        for name, read in _READ.items():
            object.__setattr__(self, name, read(getattr(self, name)))
        value = self.value_contains
        if not isinstance(value, (bytes, type(None))):
            raise ArgumentError(f"value_contains: expected bytes, not {type(value).__name__}")
        require_isolation(self.isolation)

    @property
    def first_offset(self) -> int | None:
        """The first of the offsets; None if they begin anywhere."""
        first = self._offsets.first
        return None if first == EVERY.first else first

    @property
    def last_offset(self) -> int | None:
        """The last of the offsets; None if they have no end."""
        last = self._offsets.last
        return None if last == EVERY.last else last

    @property
    def since(self) -> int | None:
        """The first of the times, in ms; None if they begin anywhere."""
        first = self._times.first
        return None if first == EVERY.first else first

    @property
    def until(self) -> int | None:
        """The ms after the last of the times; None if they have no end."""
        last = self._times.last
        return None if last == EVERY.last else last + 1

    @property
    def _offsets(self) -> Range:
        assert isinstance(self.offsets, Range)
        return self.offsets

    @property
    def _times(self) -> Range:
        assert isinstance(self.timestamps, Range)
        return self.timestamps

    @property
    def _keys(self) -> frozenset[bytes] | None:
        assert self.keys is None or isinstance(self.keys, frozenset)
        return self.keys

    @property
    def takes_all(self) -> bool:
        """Whether every record not excluded by a header matches, apart from offsets."""
        return not self.asks_for_time and self._takes_all_in_time

    @property
    def asks_for_time(self) -> bool:
        """Whether records without a time cannot match."""
        return self.timestamps != EVERY

    @property
    def _takes_all_in_time(self) -> bool:
        conditions = self.keys, self.value_contains, self.where
        return not self.headers and all(condition is None for condition in conditions)

    def takes_all_of(self, head: BatchHeader) -> bool:
        """The same of the records of one batch that its header does not exclude.

        Args:
            head: the batch's header.
        """
        return self.takes_all or (self._takes_all_in_time and _has_one_time(head))

    @property
    def needles(self) -> list[bytes]:
        """Bytes that every matching batch contains, decompressed; the longest, so the rarest, first."""
        keys = self._keys or ()
        words = [*(keys if len(keys) == 1 else ()), self.value_contains]
        for key, value in self.headers:
            words += [key.encode("utf-8", "surrogateescape"), value]
        return sorted({word for word in words if word}, key=len, reverse=True)

    def excludes(self, head: BatchHeader | Batch) -> bool:
        """Whether the header of a batch says that no record of it matches; but for its transaction.

        Args:
            head: the batch's header.
        """
        most = head.max_timestamp
        return (
            (head.is_control and not self.control)
            or (self.first_offset is not None and head.last_offset < self.first_offset and head.is_dense)
            or (self.last_offset is not None and _above(head, self.last_offset))
            or (self.since is not None and most < self.since)
            or (self.until is not None and _has_one_time(head) and most >= self.until)
            or (self.producer_ids is not None and head.producer_id not in self.producer_ids)
        )

    def ends_before(self, head: BatchHeader) -> bool:
        """Whether neither this batch nor one behind it is within the offsets.

        Args:
            head: the batch's header.
        """
        return self.last_offset is not None and _above(head, self.last_offset)

    def of_topic(self, topic: str) -> RecordFilter:
        """The filter for the records of a topic, applied to `where` if it has an `of_topic`."""
        of_topic = getattr(self.where, "of_topic", None)
        return self if of_topic is None else replace(self, where=of_topic(topic))

    def matches(self, record: Record) -> bool:
        """Whether a record of a batch that is not excluded matches."""
        value = record.value
        # both are ranges by now; this runs for each record
        offsets: Any = self.offsets
        times: Any = self.timestamps
        return (
            offsets[0] <= record.offset <= offsets[1]
            and times[0] <= record.timestamp <= times[1]
            and (self.keys is None or record.key in self.keys)
            and (self.value_contains is None or (value is not None and self.value_contains in value))
            and all(header in record.headers for header in self.headers)
            and (self.where is None or self.where(record))
        )


_READ: Mapping[str, Callable[[Any], object]] = {
    "offsets": offset_range,
    "timestamps": time_range,
    "keys": chosen_keys,
}


def _above(head: BatchHeader | Batch, offset: int) -> bool:
    """Whether a batch begins above an offset; for a wrapper this is unknown before it is decompressed."""
    return head.base_offset is not None and head.base_offset > offset


def _has_one_time(head: BatchHeader | Batch) -> bool:
    """Whether the time that a header has is each record's."""
    return head.timestamp_type is TimestampType.LOG_APPEND_TIME or head.count == 1
