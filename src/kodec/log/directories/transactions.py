"""The aborted transactions of a partition, and the offset up to which all are decided."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from kodec.log.directories.producer_state import (
    Marker,
    OpenTransactions,
    ProducerState,
    marker_of,
    read_snapshot,
)
from kodec.log.directories.segment import BatchHeader, Segment
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError

__all__ = ["AbortedTransaction", "Transactions", "find_transactions", "follow", "read_snapshot"]


class AbortedTransaction(NamedTuple):
    """The transactional records of the producer from `first_offset` to `last_offset`, the abort marker.

    Attributes:
        producer_id: of the transaction's producer.
        first_offset: of its first record.
        last_offset: of its abort marker.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/transactions-0")
        >>> aborted = log.transactions().aborted[0]
        >>> aborted.first_offset, aborted.last_offset
        (3, 9)
    """

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class Transactions:
    """The facts that `read_committed` needs.

    Attributes:
        aborted: in the order of their markers.
        last_stable_offset: the first offset of the oldest transaction that is still open, else the end of the
            log. Records at or above it are undecided.

    Example:
        >>> import kodec
        >>> found = kodec.PartitionLog("/data/kafka-logs/transactions-0").transactions()
        >>> found.last_stable_offset, len(found.aborted)
        (82, 14)
    """

    aborted: list[AbortedTransaction]
    last_stable_offset: int
    _by_producer: dict[int, list[tuple[int, int]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for each in sorted(self.aborted, key=lambda each: each.first_offset):
            self._by_producer.setdefault(each.producer_id, []).append((each.first_offset, each.last_offset))

    def drops(self, producer_id: int, offset: int) -> bool:
        """Whether a transactional record of this producer at this offset was aborted.

        Args:
            producer_id: of the record's batch.
            offset: of the record.
        """
        spans = self._by_producer.get(producer_id)
        if not spans:
            return False
        at = bisect_right(spans, (offset, 2**63)) - 1
        return at >= 0 and spans[at][0] <= offset <= spans[at][1]


def follow(
    segment: Segment,
    heads: Iterable[BatchHeader],
    going: OpenTransactions,
    aborted: list[AbortedTransaction],
) -> None:
    """Update `going` and `aborted` with these batches."""
    for head in heads:
        if head.producer_id < 0 or not (head.is_control or head.is_transactional):
            continue
        ended = going.take(head, _marker(segment, head) if head.is_control else None)
        if ended is not None and ended.aborted:
            aborted.append(AbortedTransaction(ended.producer_id, ended.first_offset, ended.last_offset))


def _marker(segment: Segment, head: BatchHeader) -> Marker | None:
    if not head.count:
        return None
    try:
        return marker_of(segment.batch_at(head))
    except FormatError as error:
        raise error.in_source(str(segment.path)) from None


def _open_in(path: Path) -> OpenTransactions | None:
    """The open transactions in a producer snapshot; None if it is unusable."""
    try:
        return ProducerState(read_snapshot(path)).transactions
    except (FileNotFoundError, FormatError):
        return None


def find_transactions(
    segments: list[Segment],
    snapshots: dict[int, Path],
    start: int,
    end_offset: int,
    *,
    use_index: bool = True,
    until: int | None = None,
) -> Transactions:
    """Find the transactions that a reader from `segments[start]` on needs.

    A segment's aborted transactions come from its transaction index. If it has none, or a damaged one, the
    headers of the segment are read for control batches, with the transactions open at its start from
    the producer snapshot there, or else from the segments before. Open transactions at the end come from the
    newest snapshot and the headers after it. With `use_index=False` all headers are read instead.

    With `until`, only transactions of records below that offset are searched: no segment is read after one at
    whose end no transaction from below it is open. The last stable offset is then `end_offset`.

    Raises FormatError for a damaged batch.
    """
    if not segments:
        return Transactions([], end_offset)
    aborted: list[AbortedTransaction] = []
    # A segment, and the transactions open at its start: nothing before it is read again.
    reached: tuple[int, dict[int, int]] = 0, {}
    going: OpenTransactions | None = None if use_index else OpenTransactions()
    if not use_index:
        start = 0
    for number in range(start, len(segments)):
        segment = segments[number]
        entries = segment.aborted() if use_index else None
        if entries is not None:
            aborted += [
                AbortedTransaction(each.producer_id, each.first_offset, each.last_offset) for each in entries
            ]
            going = None
        else:
            if going is None:
                going = _open_at(segments, number, snapshots, reached)
            follow(segment, segment.headers(), going, aborted)
            # Not copied: callers that continue from there make a copy.
            reached = number + 1, going.first
        if until is not None and number + 1 < len(segments) and segments[number + 1].base_offset >= until:
            if going is None:
                going = _open_at(segments, number + 1, snapshots, reached)
                reached = number + 1, going.first
            if all(first >= until for first in going.first.values()):
                break
    if until is not None:
        return Transactions(aborted, end_offset)
    if going is None:
        going = _open_at_end(segments, snapshots, reached)
    return Transactions(aborted, going.stable_offset(end_offset))


def _open_at(
    segments: list[Segment], number: int, snapshots: dict[int, Path], reached: tuple[int, dict[int, int]]
) -> OpenTransactions:
    """The transactions that are open where `segments[number]` starts."""
    first, going = number, OpenTransactions(dict(reached[1]))
    while first > reached[0]:
        path = snapshots.get(segments[first].base_offset)
        known = None if path is None else _open_in(path)
        if known is not None:
            going = known
            break
        first -= 1
    for segment in segments[first:number]:
        follow(segment, segment.headers(), going, [])
    return going


def _open_at_end(
    segments: list[Segment], snapshots: dict[int, Path], reached: tuple[int, dict[int, int]]
) -> OpenTransactions:
    """The transactions that are open after the last segment."""
    last = segments[-1]
    for offset in sorted((each for each in snapshots if each > last.base_offset), reverse=True):
        if offset > last.next_offset:
            continue
        known = _open_in(snapshots[offset])
        if known is None:
            continue
        if offset == last.next_offset:
            return known
        place = last.find(offset)
        if place is not None and place.offset >= offset:
            follow(last, last.headers(place.position), known, [])
            return known
    going = _open_at(segments, len(segments) - 1, snapshots, reached)
    follow(last, last.headers(), going, [])
    return going
