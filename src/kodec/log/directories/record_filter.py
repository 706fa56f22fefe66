"""Record filters, and what a batch's header or bytes exclude before any record is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from kodec.log.arguments import require_integer
from kodec.log.batches.records import Record, TimestampType
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import ArgumentError

if TYPE_CHECKING:
    from kodec.log.batches.batch import Batch
    from kodec.log.directories.segment import BatchHeader

__all__ = ["Isolation", "RecordFilter"]

Isolation = Literal["read_uncommitted", "read_committed"]
"""Whether the records of open and aborted transactions count, as for Kafka's consumers."""
_ISOLATIONS = ("read_uncommitted", "read_committed")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """A selection of records of a log; conditions that are not given exclude nothing.

    Attributes:
        first_offset, last_offset: of each topic-partition, both included.
        since, until: milliseconds since 1970-01-01 UTC; `until` itself is excluded. With one of them, a
            record without a timestamp (magic 0) is no match.
        key: the whole key.
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
        >>> wanted = kodec.RecordFilter(first_offset=10, last_offset=19)
        >>> len(list(log.find_records(wanted)))
        10
    """

    first_offset: int | None = None
    last_offset: int | None = None
    since: int | None = None
    until: int | None = None
    key: bytes | None = None
    value_contains: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    producer_ids: frozenset[int] | None = None
    control: bool = False
    isolation: Isolation = "read_uncommitted"
    where: Callable[[Record], bool] | None = None

    def __post_init__(self) -> None:
        for name in ("first_offset", "last_offset", "since", "until"):
            if (value := getattr(self, name)) is not None:
                require_integer(name, value, 0)
        for name in ("key", "value_contains"):
            if not isinstance(value := getattr(self, name), (bytes, type(None))):
                raise ArgumentError(f"{name}: expected bytes, not {type(value).__name__}")
        if self.isolation not in _ISOLATIONS:
            raise ArgumentError(
                f"isolation={self.isolation!r}: expected {' or '.join(map(repr, _ISOLATIONS))}"
            )

    @property
    def takes_all(self) -> bool:
        """Whether every record not excluded by a header matches, apart from offsets."""
        return self.since is None and self.until is None and self._takes_all_in_time

    @property
    def _takes_all_in_time(self) -> bool:
        asked = self.key, self.value_contains, self.where
        return not self.headers and all(each is None for each in asked)

    def takes_all_of(self, head: BatchHeader) -> bool:
        """The same of the records of one batch that its header does not exclude.

        Args:
            head: the batch's header.
        """
        return self.takes_all or (self._takes_all_in_time and _of_each(head))

    @property
    def needles(self) -> list[bytes]:
        """Bytes that every matching batch contains, decompressed; the longest, so the rarest, first."""
        words = [self.key, self.value_contains]
        for key, value in self.headers:
            words += [key.encode("utf-8", "surrogateescape"), value]
        return sorted({each for each in words if each}, key=len, reverse=True)

    def excludes(self, head: BatchHeader | Batch) -> bool:
        """Whether the header of a batch says that no record of it matches; but for its transaction.

        Args:
            head: the batch's header.
        """
        most = head.max_timestamp
        return (
            (head.is_control and not self.control)
            or (self.first_offset is not None and head.last_offset < self.first_offset)
            or (self.last_offset is not None and _above(head, self.last_offset))
            or (self.since is not None and most < self.since)
            or (self.until is not None and (most < 0 or (_of_each(head) and most >= self.until)))
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
        at, value = record.timestamp, record.value
        return (
            (self.first_offset is None or record.offset >= self.first_offset)
            and (self.last_offset is None or record.offset <= self.last_offset)
            and (self.since is None or at >= self.since)
            and (self.until is None or 0 <= at < self.until)
            and (self.key is None or record.key == self.key)
            and (self.value_contains is None or (value is not None and self.value_contains in value))
            and all(each in record.headers for each in self.headers)
            and (self.where is None or self.where(record))
        )


def _above(head: BatchHeader | Batch, offset: int) -> bool:
    """Whether a batch begins above an offset; for a wrapper this is unknown before it is decompressed."""
    return head.base_offset is not None and head.base_offset > offset


def _of_each(head: BatchHeader | Batch) -> bool:
    """Whether the time that a header has is each record's."""
    return head.timestamp_type is TimestampType.LOG_APPEND_TIME or head.count == 1
