"""Logical records, which readers return and writers accept, independent of their stored format."""

from __future__ import annotations

import enum

from kodec.generated.control.control_record_key import ControlRecordType as _StoredControlType
from kodec.log.arguments import require_integer
from kodec.runtime.dataclass import dataclass, field, fields
from kodec.runtime.errors import FormatError, ReadFailed
from kodec.runtime.fields import MIB

__all__ = [
    "TIMESTAMP_TYPES",
    "ControlRecord",
    "ControlRecordType",
    "Limits",
    "Owner",
    "Record",
    "SkippedRange",
    "SkippedRanges",
    "TimestampType",
    "TornTail",
    "belonging",
    "make_record",
]

Owner = tuple[str, int] | None
"""The topic-partition that records are of; None: unknown."""


class TimestampType(enum.IntEnum):
    """Who set a record's timestamp; the names are those of org.apache.kafka.common.record.TimestampType.

    As text they are as Kafka prints them: NoTimestampType, CreateTime, LogAppendTime.

    Example:
        >>> import kodec
        >>> kodec.TimestampType(1).name, str(kodec.TimestampType.CREATE_TIME)
        ('LOG_APPEND_TIME', 'CreateTime')
    """

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1

    def __str__(self) -> str:
        return self.name.title().replace("_", "")


TIMESTAMP_TYPES = (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)
"""Those that a batch can have, by the number in its header."""


class ControlRecordType(enum.IntEnum):
    """The type of a control record; UNKNOWN is any type that this version of kodec does not support.

    Example: see `ControlRecord`.
    """

    UNKNOWN = -1
    ABORT = _StoredControlType.ABORT
    COMMIT = _StoredControlType.COMMIT
    LEADER_CHANGE = _StoredControlType.LEADER_CHANGE
    SNAPSHOT_HEADER = _StoredControlType.SNAPSHOT_HEADER
    SNAPSHOT_FOOTER = _StoredControlType.SNAPSHOT_FOOTER
    KRAFT_VERSION = _StoredControlType.KRAFT_VERSION
    KRAFT_VOTERS = _StoredControlType.KRAFT_VOTERS


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Record:
    """One logical record; its fields are keyword arguments.

    Equal records have the same hash; do not change one that is in a set or a key of a dict. Where a record
    was read is no part of what is stored: `encode` ignores it, and a record equals its copy in another topic.

    Attributes:
        offset: absolute offset in its partition; -1: not yet assigned (for `encode`).
        timestamp: milliseconds since 1970-01-01 UTC; -1: none.
        timestamp_type: who set it; NO_TIMESTAMP_TYPE in message format v0.
        key: None is no key; b"" is an empty one.
        value: None is a tombstone in a compacted topic; b"" is an empty value.
        headers: (key, value) pairs in order; keys may repeat, a value may be None. Bytes of a key that are
            not UTF-8 are kept as surrogate escapes, so that they are written back unchanged.
        topic_partition: of the log that it was read from, also as `topic` and `partition`; None if the source
            does not show it, as bytes do not.

    Example:
        >>> import kodec
        >>> record = kodec.Record(key=b"k", value=None, timestamp=1700000000000, headers=(("trace", b"1"),))
        >>> record.offset, record.value, record.headers
        (-1, None, (('trace', b'1'),))
    """

    offset: int = -1
    timestamp: int = -1
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    topic_partition: Owner = field(default=None, compare=False)

    @property
    def topic(self) -> str | None:
        """The topic of the log that it was read from; None if the source does not show it."""
        return None if self.topic_partition is None else self.topic_partition[0]

    @property
    def partition(self) -> int | None:
        """The partition of the log that it was read from; None if the source does not show it."""
        return None if self.topic_partition is None else self.topic_partition[1]

    def __repr__(self) -> str:
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        known = (item for item in values if item != ("topic_partition", None))
        shown = (f"{name}={value!r}" for name, value in known)
        return f"{type(self).__qualname__}({', '.join(shown)})"


@dataclass(slots=True, kw_only=True, unsafe_hash=True, repr=False)
class ControlRecord(Record):
    """A control record, written by Kafka itself: a transaction marker, or one of KRaft's.

    Attributes:
        type: its type.
        data: the decoded value (an `EndTxnMarker`, a `LeaderChangeMessage`, ...); None if the type
            is UNKNOWN, or the value of a version that kodec does not know.
        offset, timestamp, timestamp_type, key, value, headers, topic_partition: as in `Record`.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/transactions-0")
        >>> marker = next(r for r in log.records(control=True) if isinstance(r, kodec.ControlRecord))
        >>> marker.offset, marker.type.name, marker.data.coordinator_epoch
        (8, 'COMMIT', 0)
    """

    type: ControlRecordType = ControlRecordType.UNKNOWN
    data: object = field(default=None, hash=False)


_new = object.__new__


def make_record(
    offset: int,
    timestamp: int,
    timestamp_type: TimestampType,
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...] = (),
    topic_partition: Owner = None,
) -> Record:
    """A record from positional arguments, for millions of them: keywords take three times as long."""
    record = _new(Record)
    record.offset = offset
    record.timestamp = timestamp
    record.timestamp_type = timestamp_type
    record.key = key
    record.value = value
    record.headers = headers
    record.topic_partition = topic_partition
    return record


def belonging(records: list[Record], topic_partition: Owner) -> list[Record]:
    """The records, which are given the topic-partition that they are of."""
    for record in records:
        record.topic_partition = topic_partition
    return records


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a reader may allocate for untrusted bytes.

    Attributes:
        batch_bytes: the largest batch (of magic 0 and 1: the largest message or wrapper) as stored.
        decompressed_bytes: the maximum decompressed size of the records of one batch.
        elements: the maximum number of records and headers in one batch. As Python objects even
            empty ones take hundreds of bytes, whatever their size on disk.

    Example:
        >>> import kodec
        >>> segment = "/data/kafka-logs/orders-0/00000000000000000000.log"
        >>> small = kodec.Limits(decompressed_bytes=100)
        >>> try:
        ...     list(kodec.read_records(segment, limits=small))
        ... except kodec.errors.LimitExceeded as error:
        ...     print(error.limit, error.have)
        decompressed_bytes 100
    """

    batch_bytes: int = 1024 * MIB
    decompressed_bytes: int = 256 * MIB
    elements: int = 1_000_000

    def __post_init__(self) -> None:
        for name in ("batch_bytes", "decompressed_bytes", "elements"):
            require_integer(name, getattr(self, name), 0)


@dataclass(frozen=True, slots=True)
class TornTail:
    """Where and why reading ended before the source did: `size` bytes from `position` are not a whole batch.

    Attributes:
        position: the byte at which it starts.
        size: in bytes.
        reason: for people.

    Example:
        >>> import kodec
        >>> data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
        >>> reader = kodec.read_records(bytes(data) + bytes(data[:30]))
        >>> len(list(reader)), reader.torn_tail.position, reader.torn_tail.size
        (1, 69, 30)
    """

    position: int
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """Bytes `start` to `end` (exclusive) that were skipped, and why: they are damaged or cannot be read.

    Attributes:
        start, end: the bytes, `end` not included.
        error: a FormatError or a ReadFailed.

    Example: see `SkippedRanges`.
    """

    start: int
    end: int
    error: FormatError | ReadFailed


class SkippedRanges(list[SkippedRange]):
    """The skipped ranges in order, each with its error: the first 10,000, so that no input fills
    the memory with them. Further ones are only counted.

    Attributes:
        omitted: how many further ranges there are.
        omitted_bytes: how many bytes are in those.
        end: where the last range ends, even if omitted; 0 if there is none.

    Example:
        >>> import kodec
        >>> data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
        >>> damaged = bytes(data[:-1]) + b"!" + bytes(data)
        >>> reader = kodec.read_records(damaged, on_error="skip")
        >>> len(list(reader)), [(each.start, each.end) for each in reader.skipped], reader.skipped.omitted
        (1, [(0, 69)], 0)
    """

    MOST = 10_000

    def __init__(self) -> None:
        super().__init__()
        self.omitted = self.omitted_bytes = self.end = 0

    @property
    def total(self) -> int:
        """The number of skipped ranges, including omitted ones."""
        return len(self) + self.omitted

    def add(self, skipped: SkippedRange) -> None:
        """Keep a further range, or count it.

        Args:
            skipped: the range.
        """
        self.end = skipped.end
        if len(self) < self.MOST:
            self.append(skipped)
        else:
            self.omit(skipped.end - skipped.start)

    def omit(self, size: int) -> None:
        """Count a further range of bytes.

        Args:
            size: in bytes.
        """
        self.omitted += 1
        self.omitted_bytes += size
