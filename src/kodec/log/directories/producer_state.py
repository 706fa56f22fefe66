"""Producer state from the batches of a log: epochs, sequences, open and ended transactions, snapshots.

Followed: `ProducerStateManager`, `ProducerAppendInfo` and `ProducerStateEntry` of
`org.apache.kafka.storage.internals.log`, as used when a log is recovered: nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import NamedTuple, Protocol

from kodec.generated.control.end_txn_marker import EndTxnMarker
from kodec.generated.log import producer_snapshot, transaction_index
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import ControlRecord, ControlRecordType
from kodec.log.files.descriptors import read_regular
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError

__all__ = [
    "EndedTransaction",
    "Marker",
    "OpenTransactions",
    "Producer",
    "ProducerHead",
    "ProducerState",
    "marker_of",
    "read_snapshot",
]

_ENDS = (ControlRecordType.ABORT, ControlRecordType.COMMIT)


class TransactionHead(Protocol):
    """The facts of a batch used here; `Batch` and `BatchHeader` have them."""

    @property
    def base_offset(self) -> int | None: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def is_transactional(self) -> bool: ...
    @property
    def is_control(self) -> bool: ...


class ProducerHead(TransactionHead, Protocol):
    """The facts of a batch used here; `Batch` has them."""

    @property
    def max_timestamp(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def last_sequence(self) -> int: ...


class Marker(NamedTuple):
    """The first record of a control batch: its type, the coordinator's epoch (-1: none) and its timestamp."""

    kind: ControlRecordType
    coordinator_epoch: int
    timestamp: int


class EndedTransaction(NamedTuple):
    """A transaction with records, from its first offset to that of its marker.

    `last_stable_offset` is that at the marker: the first offset of the oldest transaction that was
    then still open, else the one after the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    aborted: bool

    def index_entry(self) -> transaction_index.Entry:
        """The entry of the transaction index of an aborted one."""
        return transaction_index.Entry(
            producer_id=self.producer_id,
            first_offset=self.first_offset,
            last_offset=self.last_offset,
            last_stable_offset=self.last_stable_offset,
        )


def marker_of(batch: Batch) -> Marker | None:
    """The marker in a control batch; None for other batches, and for an emptied control batch.

    Raises FormatError.
    """
    if not batch.is_control or not batch.count:
        return None
    record = batch.records(control=True, check_crc=False)[0]
    assert isinstance(record, ControlRecord)
    epoch = record.data.coordinator_epoch if isinstance(record.data, EndTxnMarker) else -1
    return Marker(record.type, epoch, record.timestamp)


def read_snapshot(path: Path) -> ProducerSnapshot:
    """Read a producer snapshot. Raises: OSError; FormatError that names the file."""
    try:
        return ProducerSnapshot.from_bytes(read_regular(path))
    except FormatError as error:
        raise error.in_source(str(path)) from None


class OpenTransactions:
    """The open transactions after the batches so far: `first` has each producer's first offset."""

    __slots__ = ("_oldest", "first")

    def __init__(self, first: dict[int, int] | None = None) -> None:
        self.first: dict[int, int] = {} if first is None else first
        # (first offset, producer) of open transactions and of some ended ones, removed when they are
        # the oldest. So the end of a transaction does not require a pass over all others.
        self._oldest = [(offset, producer) for producer, offset in self.first.items()]
        heapify(self._oldest)

    def begin(self, producer: int, offset: int) -> None:
        """A producer's transaction begins at an offset, unless one is already open."""
        if producer not in self.first:
            self.first[producer] = offset
            heappush(self._oldest, (offset, producer))

    def stable_offset(self, end_offset: int) -> int:
        """The first offset of the oldest open transaction, else `end_offset`."""
        while self._oldest:
            offset, producer = self._oldest[0]
            if self.first.get(producer) == offset:
                return offset
            heappop(self._oldest)
        return end_offset

    def take(self, head: TransactionHead, marker: Marker | None) -> EndedTransaction | None:
        """Process the next batch; return the transaction that it ends, or None.

        `marker` is that of a control batch (see `marker_of`).
        """
        producer = head.producer_id
        if head.is_control:
            if marker is None or marker.kind not in _ENDS:
                return None
            first = self.first.pop(producer, None)
            if first is None:
                return None
            stable = self.stable_offset(head.last_offset + 1)
            aborted = marker.kind is ControlRecordType.ABORT
            return EndedTransaction(producer, first, head.last_offset, stable, aborted)
        if head.is_transactional and producer >= 0:
            offset = head.last_offset if head.base_offset is None else head.base_offset
            self.begin(producer, offset)
        return None


@dataclass(slots=True)
class Producer:
    """The state of a producer; unknown fields are -1 (`offset_delta` 0).

    `last_offset`, `offset_delta` and `last_sequence` are those of its last batch with its current epoch,
    `timestamp` (ms since epoch) is the largest of its last batch or the marker's after it.
    """

    epoch: int
    timestamp: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    last_sequence: int = -1
    coordinator_epoch: int = -1


class ProducerState:
    """The producers and their open transactions after the batches so far.

    Producers do not expire, as a broker's do after `producer.id.expiration.ms`: the broker expires them
    again when it loads a snapshot.
    """

    def __init__(self, snapshot: ProducerSnapshot | None = None) -> None:
        self.known: dict[int, Producer] = {}
        self.transactions = OpenTransactions()
        for each in snapshot.entries if snapshot is not None else ():
            # Data after a missing batch is not read, as in Kafka.
            batch = each.last_offset >= 0
            self.known[each.producer_id] = Producer(
                each.producer_epoch,
                each.timestamp,
                each.last_offset if batch else -1,
                each.offset_delta if batch else 0,
                each.last_sequence if batch else -1,
                each.coordinator_epoch,
            )
            if each.current_txn_first_offset >= 0:
                self.transactions.begin(each.producer_id, each.current_txn_first_offset)

    @property
    def open(self) -> dict[int, int]:
        """The first offset of each producer's open transaction."""
        return self.transactions.first

    def last_stable_offset(self, end_offset: int) -> int:
        """The first offset of the oldest open transaction, else `end_offset`."""
        return self.transactions.stable_offset(end_offset)

    def take(self, head: ProducerHead, marker: Marker | None = None) -> EndedTransaction | None:
        """Process the next batch; return the transaction with records that it ends, or None.

        `marker` is that of a control batch (see `marker_of`); one without is ignored: compaction has
        emptied it, and its transaction is gone. Batches of magic 0 and 1 have no producer.
        """
        if head.producer_id < 0:
            return None
        if head.is_control and marker is None:
            # A broker creates an entry for an unknown producer, and so do we.
            self.known.setdefault(head.producer_id, Producer(-1))
            return None
        state = self.known.get(head.producer_id)
        if state is None:
            state = self.known[head.producer_id] = Producer(head.producer_epoch)
        elif state.epoch != head.producer_epoch:
            # The state of an older epoch is dropped, even by a marker of a newer one (KIP-890).
            state.epoch = head.producer_epoch
            state.last_offset, state.offset_delta, state.last_sequence = -1, 0, -1
        if marker is not None and head.is_control:
            state.timestamp, state.coordinator_epoch = marker.timestamp, marker.coordinator_epoch
        else:
            first = head.last_offset if head.base_offset is None else head.base_offset
            state.timestamp = head.max_timestamp
            state.last_offset, state.offset_delta = head.last_offset, head.last_offset - first
            state.last_sequence = head.last_sequence
        return self.transactions.take(head, marker)

    def take_batch(self, batch: Batch) -> EndedTransaction | None:
        """`take` for a batch whose records can be read. Raises FormatError for a damaged marker."""
        if batch.producer_id < 0:
            return None
        return self.take(batch, marker_of(batch))

    def snapshot(self) -> ProducerSnapshot:
        """The contents of a `.snapshot` file."""
        return ProducerSnapshot(
            entries=[
                producer_snapshot.Entry(
                    producer_id=producer,
                    producer_epoch=state.epoch,
                    last_sequence=state.last_sequence,
                    last_offset=state.last_offset,
                    offset_delta=state.offset_delta,
                    timestamp=state.timestamp,
                    coordinator_epoch=state.coordinator_epoch,
                    current_txn_first_offset=self.open.get(producer, -1),
                )
                for producer, state in _in_broker_order(self.known)
            ]
        )


def _in_broker_order(known: dict[int, Producer]) -> Iterable[tuple[int, Producer]]:
    """The order of a java.util.HashMap with these keys, so that a file can be compared byte by byte."""
    buckets = 16
    while len(known) > buckets * 3 // 4:
        buckets *= 2

    def bucket(item: tuple[int, Producer]) -> int:
        bits = (item[0] ^ item[0] >> 32) & 0xFFFFFFFF
        return (bits ^ bits >> 16) & (buckets - 1)

    return sorted(known.items(), key=bucket)
