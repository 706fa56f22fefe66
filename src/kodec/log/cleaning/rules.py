"""Which records and batches a compaction keeps: Kafka's rules, one batch at a time.

Followed: `Cleaner`, `CleanedTransactionMetadata` of `org.apache.kafka.storage.internals.log` and
`MemoryRecords.filterTo`, Kafka 4.3.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop
from typing import NamedTuple

from kodec.generated.log import transaction_index
from kodec.log.batches.batch import Batch
from kodec.log.batches.like import empty_batch
from kodec.log.batches.records import ControlRecordType, Record
from kodec.log.cleaning.offset_map import OffsetMap
from kodec.log.writing.rebuild import same_format, with_records
from kodec.runtime.dataclass import dataclass

__all__ = ["BatchCleaner", "CleanedTransactions", "Counts", "LastRecord", "tells_of_producer"]


class LastRecord(NamedTuple):
    """What must stay of an active producer: its last data offset (-1: none), and its epoch."""

    last_offset: int
    epoch: int


class CleanedTransactions:
    """The transactions open at the current position of the cleaning.

    Attributes: `kept` are the aborted transactions whose marker was passed and some of whose batches were
    met: those belong in the new transaction index, whose writer removes them.
    """

    def __init__(self, aborted: Iterable[transaction_index.Entry]) -> None:
        self.kept: list[transaction_index.Entry] = []
        # (first offset, a number that orders equal ones, the transaction)
        self._ahead = [
            (transaction.first_offset, number, transaction) for number, transaction in enumerate(aborted)
        ]
        heapify(self._ahead)
        self._committed: set[int] = set()
        # By producer: the transaction, and whether a batch of it was met.
        self._aborted: dict[int, tuple[transaction_index.Entry, bool]] = {}

    def _advance(self, offset: int) -> None:
        while self._ahead and self._ahead[0][0] <= offset:
            entry = heappop(self._ahead)[2]
            self._aborted.setdefault(entry.producer_id, (entry, False))

    def drops(self, batch: Batch) -> bool:
        """Process a batch of data; return whether it belongs to an aborted transaction."""
        self._advance(batch.last_offset)
        if not batch.is_transactional:
            return False
        transaction = self._aborted.get(batch.producer_id)
        if transaction is None:
            self._committed.add(batch.producer_id)
            return False
        self._aborted[batch.producer_id] = transaction[0], True
        return True

    def is_over(self, batch: Batch) -> bool:
        """Process a control batch; return whether nothing is left of its transaction. Raises FormatError."""
        self._advance(batch.last_offset)
        if not batch.count:
            return True
        kind = batch.control_type
        if kind is ControlRecordType.ABORT:
            transaction = self._aborted.pop(batch.producer_id, None)
            if transaction is None or not transaction[1]:
                return True
            self.kept.append(transaction[0])
            return False
        if kind is ControlRecordType.COMMIT:
            if batch.producer_id not in self._committed:
                return True
            self._committed.remove(batch.producer_id)
        return False


@dataclass(slots=True)
class Counts:
    """The counts of a compaction so far.

    Attributes:
        batches, records: how many were read; control records count.
        bytes: of the batches that were read.
        copied, rewritten, emptied, removed: batches that stayed unchanged, lost some of their records (or
            got a delete horizon, or a newer format), were kept without records, were removed.
        superseded, tombstones, aborted, without_key, markers: removed records by reason: a newer record
            has the key; a tombstone whose time is over; of an aborted transaction; no key, in the range that
            was compacted; a transaction's marker whose time is over.
        horizons: batches that got a delete horizon.
        bytes_kept: of the batches that were written.
    """

    batches: int = 0
    records: int = 0
    bytes: int = 0
    copied: int = 0
    rewritten: int = 0
    emptied: int = 0
    removed: int = 0
    superseded: int = 0
    tombstones: int = 0
    aborted: int = 0
    without_key: int = 0
    markers: int = 0
    horizons: int = 0
    bytes_kept: int = 0

    @property
    def records_removed(self) -> int:
        """All removed records."""
        return self.superseded + self.tombstones + self.aborted + self.without_key + self.markers


class _Fate(enum.Enum):
    GONE = 0
    EMPTY = 1


def tells_of_producer(batch: Batch, producers: Mapping[int, LastRecord]) -> bool:
    """Whether a batch is the last one of its producer, from which a broker reads its epoch and sequence."""
    last = producers.get(batch.producer_id) if batch.producer_id >= 0 else None
    if last is None:
        return False
    if last.last_offset >= 0:
        return batch.last_offset == last.last_offset
    return batch.is_control and batch.producer_epoch == last.epoch


class BatchCleaner:
    """Decides about each batch of a log, from its start.

    Args:
        newest: the offsets of the newest records of keys; those above its `latest` stay.
        transactions: in the state at the first batch.
        producers: what must stay of active producers.
        end: the end of the range that is compacted; the batch that ends there stays, possibly empty.
        now: ms since epoch: tombstones and markers whose delete horizon is not above it are removed.
        delete_retention_ms: how far from now the horizon of a batch is set that has a tombstone, or the
            marker of a transaction of which nothing is left.
        keep_format: messages of magic 0 and 1 keep their format, as up to Kafka 3.9; otherwise they become
            batches of magic 2.
    """

    def __init__(
        self,
        newest: OffsetMap,
        transactions: CleanedTransactions,
        producers: Mapping[int, LastRecord],
        *,
        end: int,
        now: int,
        delete_retention_ms: int,
        keep_format: bool = False,
    ) -> None:
        self.counts = Counts()
        self._newest = newest
        self._transactions = transactions
        self._producers = producers
        self._end = end
        self._now = now
        self._horizon = now + delete_retention_ms
        self._keep_format = keep_format

    def clean(self, batch: Batch, *, keep_old_tombstones: bool) -> bytes:
        """The bytes to write for `batch`: its own, others, or b"" for nothing.

        `keep_old_tombstones`: whether tombstones in magic 0 and 1, which have no delete horizon, stay.
        Raises FormatError, EncodeError.
        """
        counts = self.counts
        counts.batches += 1
        counts.bytes += batch.size
        out = self._marker(batch) if batch.is_control else self._data(batch, keep_old_tombstones)
        if isinstance(out, _Fate):
            if out is _Fate.GONE and not self._must_stay(batch):
                counts.removed += 1
                return b""
            was_empty = batch.is_list and not batch.count
            out = batch.data if was_empty else empty_batch(batch)
            counts.emptied += not was_empty
            counts.copied += was_empty
        elif out is batch.data:
            counts.copied += 1
        else:
            counts.rewritten += 1
        counts.bytes_kept += len(out)
        return out

    def _must_stay(self, batch: Batch) -> bool:
        """Whether a batch must stay even without records."""
        return batch.next_offset == self._end or tells_of_producer(batch, self._producers)

    def _marker(self, batch: Batch) -> bytes | _Fate:
        over = self._transactions.is_over(batch)
        count = batch.count
        self.counts.records += count
        if not count:
            return _Fate.GONE
        horizon = batch.delete_horizon
        if not over or (horizon is not None and horizon > self._now):
            return batch.data
        if horizon is not None:
            self.counts.markers += count
            return _Fate.GONE
        self.counts.horizons += 1
        return with_records(batch, batch.records(control=True), delete_horizon=self._horizon)

    def _data(self, batch: Batch, keep_old_tombstones: bool) -> bytes | _Fate:
        counts = self.counts
        modern = batch.is_list
        if self._transactions.drops(batch):
            counts.records += batch.count
            counts.aborted += batch.count
            return _Fate.GONE
        if modern:
            # Known without the records, in most batches of what is compacted for the first time.
            staying = self._newest.staying(batch.base_offset, batch.last_offset, batch.count)
            if staying is not None:
                counts.records += batch.count
                counts.superseded += batch.count - staying
                return batch.data if staying else _Fate.GONE
        records = batch.records()
        counts.records += len(records)
        if modern:
            keep_tombstones = batch.delete_horizon is None or self._now < batch.delete_horizon
        else:
            keep_tombstones = keep_old_tombstones
        remaining = self._records_to_keep(records, keep_tombstones)
        if not remaining:
            return _Fate.GONE
        same = len(remaining) == len(records)
        if not modern and self._keep_format:
            return batch.data if same else same_format(batch, remaining)
        if batch.delete_horizon is None and any(record.value is None for record in remaining):
            counts.horizons += 1
            return with_records(batch, remaining, delete_horizon=self._horizon)
        return batch.data if same and modern else with_records(batch, remaining)

    def _records_to_keep(self, records: list[Record], keep_tombstones: bool) -> list[Record]:
        counts, newest = self.counts, self._newest
        latest, is_newest = newest.latest, newest.is_newest
        remaining: list[Record] = []
        for record in records:
            if record.offset <= latest:
                key = record.key
                if key is None:
                    counts.without_key += 1
                    continue
                if not is_newest(key, record.offset):
                    counts.superseded += 1
                    continue
                if record.value is None and not keep_tombstones:
                    counts.tombstones += 1
                    continue
            remaining.append(record)
        return remaining
