"""Which records a caller selects: the arguments of every reader, search and job, read in one place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from operator import index
from typing import Literal, TypeAlias, get_args

from kodec.log.arguments import chosen_names
from kodec.log.backends.scan import EVERY, Range
from kodec.log.batches.records import Record
from kodec.log.files.listing import TopicPartition
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import ArgumentError
from kodec.runtime.near import meant

__all__ = [
    "Bounds",
    "Isolation",
    "Keys",
    "Partitions",
    "Selection",
    "TimeBounds",
    "Topics",
    "chosen_keys",
    "chosen_partitions",
    "offset_range",
    "require_isolation",
    "time_range",
]

Topics: TypeAlias = Collection[str] | str | None
"""Names of topics; one text is one name; None: all."""
Partitions: TypeAlias = Collection[int] | int | None
"""Numbers of partitions; None: all."""
Bounds: TypeAlias = tuple[int | None, int | None] | range | int | None
"""The first and the last offset, both included, None: unbounded; or a `range`, whose end is not included, as
in Python; or one offset; None: all. A first one that is after the last is an error."""
Time: TypeAlias = datetime | int | None
TimeBounds: TypeAlias = tuple[Time, Time] | None
"""The first and the last time, both included: datetimes with a zone or ms since 1970; None: unbounded."""
Keys: TypeAlias = Collection[bytes | str] | bytes | str | None
"""Whole keys; a text stands for its UTF-8; None: records with any key, and without one."""
Isolation = Literal["read_uncommitted", "read_committed"]
"""Whether the records of open and aborted transactions count, as for Kafka's consumers."""

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Selection:
    """The records that a caller asks for. An empty collection selects none; None selects all.

    Attributes:
        topics, partitions: only those of these; None: all.
        offsets, timestamps: only those in these ranges, in ms since 1970-01-01 UTC. A range of time has no
            record without a timestamp, unless it begins below 0.
        isolation: `read_committed` leaves out aborted and undecided records.
        keys: only those with one of these keys; None: all.
    """

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    offsets: Range = EVERY
    timestamps: Range = EVERY
    isolation: Isolation = "read_uncommitted"
    keys: frozenset[bytes] | None = None

    @classmethod
    def of(
        cls,
        topics: Topics = None,
        partitions: Partitions = None,
        offsets: Bounds = None,
        timestamps: TimeBounds = None,
        isolation: Isolation = "read_uncommitted",
        keys: Keys = None,
    ) -> Selection:
        """The selection that arguments mean. Raises ArgumentError for one that means none."""
        names = chosen_names("topics", topics)
        return cls(
            None if names is None else frozenset(names),
            chosen_partitions(partitions),
            offset_range(offsets),
            time_range(timestamps),
            require_isolation(isolation),
            chosen_keys(keys),
        )

    @property
    def committed(self) -> bool:
        """Whether only decided and committed records are selected."""
        return self.isolation == "read_committed"

    def has(self, owner: TopicPartition) -> bool:
        """Whether a topic-partition is selected."""
        is_of_topic = self.topics is None or owner.topic in self.topics
        return is_of_topic and (self.partitions is None or owner.partition in self.partitions)

    @property
    def is_none(self) -> bool:
        """Whether an empty collection selects no topic-partition, or no key."""
        return frozenset() in (self.topics, self.partitions, self.keys)

    @property
    def is_all(self) -> bool:
        """Whether all records are selected, of internal topics only those that are read by name."""
        return self == Selection()

    @property
    def test(self) -> Callable[[Record], bool] | None:
        """Whether a record is within the ranges and has one of the keys; None if this is so of all."""
        (first, last), (begin, end), keys = self.offsets, self.timestamps, self.keys
        if keys is None and self.offsets == self.timestamps == EVERY:
            return None

        def test(record: Record) -> bool:
            return (
                first <= record.offset <= last
                and begin <= record.timestamp <= end
                and (keys is None or record.key in keys)
            )

        return test

    def narrowed(self, offsets: Range, timestamps: Range) -> Selection:
        """The part of it in these ranges too."""
        return replace(
            self, offsets=_both(self.offsets, offsets), timestamps=_both(self.timestamps, timestamps)
        )


def _both(bounds: Range, other: Range) -> Range:
    return Range(max(bounds.first, other.first), min(bounds.last, other.last))


def chosen_partitions(partitions: Partitions) -> frozenset[int] | None:
    """The numbers that a caller chooses; None: all. Raises ArgumentError."""
    if partitions is None:
        return None
    several = (
        partitions
        if isinstance(partitions, Iterable) and not isinstance(partitions, (str, bytes))
        else [partitions]
    )
    try:
        return frozenset(_whole(number) for number in several)
    except TypeError:
        have = f"partitions={partitions!r}"
        raise ArgumentError(f"{have}: expected a number, a list of numbers, or None") from None


def _whole(number: object) -> int:
    """Raises TypeError for anything but a whole number."""
    if isinstance(number, bool):
        raise TypeError
    return index(number)  # type: ignore[arg-type]  # which is refused


def offset_range(bounds: Bounds, name: str = "offsets") -> Range:
    """The offsets that a caller selects. Raises ArgumentError."""
    if bounds is None:
        return EVERY
    try:
        if isinstance(bounds, range):
            if bounds.step != 1:
                raise TypeError
            first: int | None = bounds.start
            last: int | None = bounds.stop - 1
        elif isinstance(bounds, tuple):
            first, last = bounds
        else:
            first = last = _whole(bounds)
        low = EVERY.first if first is None else max(_whole(first), EVERY.first)
        high = EVERY.last if last is None else min(_whole(last), EVERY.last)
    except (TypeError, ValueError):
        need = "(first, last), both included, where None is unbounded, or a range, or one number"
        raise ArgumentError(f"{name}={bounds!r}: expected {need}") from None
    if None not in (first, last) and low > high + 1 and not isinstance(bounds, range):
        raise ArgumentError(f"{name}={bounds!r}: the first is after the last")
    return Range(low, high) if low <= high else Range(0, -1)


def time_range(bounds: TimeBounds, name: str = "timestamps") -> Range:
    """The times that a caller selects, in whole ms since 1970-01-01 UTC. Raises ArgumentError."""
    if bounds is None:
        return EVERY
    need = "(first, last), both included: datetimes with a zone, ms since 1970, or None"
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise ArgumentError(f"{name}={bounds!r}: expected {need}")
    if bounds == (None, None):
        return EVERY
    first, last = bounds
    # a record has whole milliseconds: the first one after a time, the last one before
    if isinstance(first, datetime):
        first = -(-_since_start(first, name) // _MILLISECOND)
    if isinstance(last, datetime):
        last = _since_start(last, name) // _MILLISECOND
    if first is None:
        # a record needs a time, which is not below 0
        first, last = 0, max(last, -1) if isinstance(last, int) else last
    try:
        return offset_range((first, last), name)
    except ArgumentError:
        is_reversed = isinstance(first, int) and isinstance(last, int) and first > last
        reason = "the first is after the last" if is_reversed else f"expected {need}"
        raise ArgumentError(f"{name}={bounds!r}: {reason}") from None


def _since_start(time: datetime, name: str) -> timedelta:
    if time.utcoffset() is None:
        raise ArgumentError(
            f"{name}: {time.isoformat(' ')} has no zone, so it is ambiguous: give one, as in "
            "datetime(2024, 1, 31, tzinfo=timezone.utc)"
        )
    return time - _START


def require_isolation(isolation: Isolation) -> Isolation:
    """The value, if it is one. Raises ArgumentError."""
    if isolation not in get_args(Isolation):
        expected = " or ".join(map(repr, get_args(Isolation)))
        raise ArgumentError(
            f"isolation={isolation!r}: expected {expected}{meant(isolation, get_args(Isolation))}"
        )
    return isolation


def chosen_keys(keys: Keys) -> frozenset[bytes] | None:
    """The keys that a caller chooses; None: all. Raises ArgumentError."""
    if keys is None:
        return None
    several = [keys] if isinstance(keys, (bytes, str)) else keys
    if not isinstance(several, Iterable):
        raise ArgumentError(f"keys: expected a key or a list of keys, not {type(keys).__name__}")
    encoded = []
    for key in several:
        if not isinstance(key, (bytes, str)):
            raise ArgumentError(f"keys: expected bytes or texts, not {type(key).__name__}")
        encoded.append(key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key)
    return frozenset(encoded)
