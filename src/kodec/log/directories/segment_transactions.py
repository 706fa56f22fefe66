"""The transactions of one segment, by the headers and markers of its batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kodec.log.batches.records import ControlRecordType

__all__ = ["AbortedTransaction", "SegmentTransactions", "Step"]

Step = tuple[int, int, ControlRecordType | None]
"""An offset, a producer, and how its transaction ends there; None: a batch of it is there."""


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


class SegmentTransactions(NamedTuple):
    """The transactions of one segment, by its headers and markers.

    Attributes:
        ended: the producer, the first offset in the segment (None: there is none), that of the marker, and
            whether that is an abort. Committed transactions that begin here are left out.
        open: the first offsets of transactions that begin here and have no marker here, by producer.
    """

    ended: list[tuple[int, int | None, int, bool]]
    open: dict[int, int]

    @classmethod
    def of(cls, course: Iterable[Step]) -> SegmentTransactions:
        """Follow them from the start of a segment to its end."""
        ended: list[tuple[int, int | None, int, bool]] = []
        first: dict[int, int] = {}
        passed: set[int] = set()
        for offset, producer, ends in course:
            if ends is None:
                first.setdefault(producer, offset)
                continue
            began, aborted = first.pop(producer, None), ends is ControlRecordType.ABORT
            if producer not in passed or (aborted and began is not None):
                ended.append((producer, began, offset, aborted))
            passed.add(producer)
        return cls(ended, first)

    def follow(self, going: dict[int, int], aborted: list[AbortedTransaction]) -> None:
        """Bring the open transactions before the segment, and the aborted ones, to its end."""
        for producer, began, last, is_abort in self.ended:
            first = going.pop(producer, began)
            if is_abort and first is not None:
                aborted.append(AbortedTransaction(producer, first, last))
        for producer, first in self.open.items():
            going.setdefault(producer, first)

    def agree(self, base_offset: int, going: dict[int, int]) -> bool:
        """Whether these transactions, said to be open at the end of the segment, can be.

        Args:
            base_offset: of the segment.
            going: first offsets by producer.
        """
        passed = {producer for producer, *_ in self.ended}
        for producer in {*going, *self.open, *passed}:
            said = going.get(producer)
            began_before = said is not None and said < base_offset and producer not in passed
            if said != self.open.get(producer) and not began_before:
                return False
        return True
