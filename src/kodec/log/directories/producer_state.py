"""Producer state from the batches of a log: epochs, sequences, open and ended transactions, snapshots.

Followed: `ProducerStateManager`, `ProducerAppendInfo` and `ProducerStateEntry` of
`org.apache.kafka.storage.internals.log`, as used when a log is recovered: nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import NamedTuple, Protocol

from kodec.generated.control.end_txn_marker import EndTxnMarker
from kodec.generated.log import producer_snapshot, transaction_index
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import ControlRecord, ControlRecordType
from kodec.log.files.descriptors import read_regular
from kodec.runtime.dataclass import replace
from kodec.runtime.errors import FormatError

__all__ = [
    "EndedTransaction",
    "Marker",
    "OpenTransactions",
    "ProducerHead",
    "ProducerState",
    "differences",
    "marker_of",
    "read_snapshot",
]

_ENDS = (ControlRecordType.ABORT, ControlRecordType.COMMIT)
# The fields of a snapshot's entry that follow from batches.
_BATCH_FIELDS = (
    "producer_epoch",
    "last_sequence",
    "last_offset",
    "offset_delta",
    "timestamp",
    "coordinator_epoch",
)


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


class ProducerState:
    """The producers and their open transactions after the batches so far.

    Producers do not expire, as a broker's do after `producer.id.expiration.ms`: the broker expires them
    again when it loads a snapshot.

    Attributes:
        known: by producer id, the state as in a snapshot, but for the open transaction; unknown fields are -1
            (`offset_delta` 0). `last_offset`, `offset_delta` and `last_sequence` are those of its last batch
            with its current epoch, `timestamp` (ms since epoch) is the largest of its last batch or the
            marker's after it.
        markers: by producer id, the offset of its last marker, which is in no snapshot; Kafka 0.11 has it as
            the last offset.
    """

    def __init__(self, snapshot: ProducerSnapshot | None = None) -> None:
        self.known: dict[int, producer_snapshot.Entry] = {}
        self.markers: dict[int, int] = {}
        self.transactions = OpenTransactions()
        self._loaded = ProducerSnapshot() if snapshot is None else snapshot
        for entry in self._loaded.entries:
            self.known[entry.producer_id] = known = replace(entry)
            if entry.last_offset < 0:
                # Data after a missing batch is not read, as in Kafka.
                known.last_offset, known.offset_delta, known.last_sequence = -1, 0, -1
            if entry.current_txn_first_offset >= 0:
                self.transactions.begin(entry.producer_id, entry.current_txn_first_offset)

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
            self.known.setdefault(head.producer_id, producer_snapshot.Entry(producer_epoch=-1))
            return None
        state = self.known.get(head.producer_id)
        if state is None:
            state = self.known[head.producer_id] = producer_snapshot.Entry(producer_epoch=head.producer_epoch)
        elif state.producer_epoch != head.producer_epoch:
            # The state of an older epoch is dropped, even by a marker of a newer one (KIP-890).
            state.producer_epoch = head.producer_epoch
            state.last_offset, state.offset_delta, state.last_sequence = -1, 0, -1
        if marker is not None and head.is_control:
            state.timestamp, state.coordinator_epoch = marker.timestamp, marker.coordinator_epoch
            self.markers[head.producer_id] = head.last_offset
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

    def keep(self, snapshot: ProducerSnapshot) -> None:
        """Take over from a snapshot what batches do not have: its version and further fields."""
        self._loaded = snapshot
        for entry in snapshot.entries:
            state = self.known.get(entry.producer_id)
            if state is not None:
                self.known[entry.producer_id] = replace(
                    entry, **{name: getattr(state, name) for name in _BATCH_FIELDS}
                )

    def snapshot(self) -> ProducerSnapshot:
        """The contents of a `.snapshot` file.

        Its version is the schema's default, or that of the last snapshot that was read, if it is newer.
        """
        return replace(
            self._loaded,
            version=max(self._loaded.version, ProducerSnapshot().version),
            crc=None,
            entries=[
                replace(state, producer_id=producer, current_txn_first_offset=self.open.get(producer, -1))
                for producer, state in _in_broker_order(self.known)
            ],
        )


def differences(
    entry: producer_snapshot.Entry, state: ProducerState, first_offset: int | None, cleaned: int
) -> Iterator[tuple[str, object, object]]:
    """(what, value in the log, value in the snapshot) where an entry of a snapshot contradicts the log.

    `state` is that of the batches from `first_offset` on, and `cleaned` the offset below which compaction may
    have removed some. What was before both is not known.
    """
    known = state.known.get(entry.producer_id)
    epoch = -1 if known is None else known.producer_epoch
    if known is not None and entry.producer_epoch < epoch:
        yield "epoch", epoch, entry.producer_epoch
    elif known is not None and 0 <= entry.last_offset == state.markers.get(entry.producer_id, -1):
        pass
    elif (
        first_offset is not None
        and entry.last_offset >= max(first_offset, cleaned)
        and (known is None or entry.producer_epoch > epoch or entry.last_offset > known.last_offset)
    ):
        yield "last offset", "that of a batch", entry.last_offset
    elif known is not None and entry.producer_epoch == epoch and entry.last_offset <= known.last_offset:
        if entry.timestamp < known.timestamp:
            yield "timestamp", known.timestamp, entry.timestamp
        for name, need, have in (
            ("last offset", known.last_offset, entry.last_offset),
            ("offset delta", known.offset_delta, entry.offset_delta),
            ("last sequence", known.last_sequence, entry.last_sequence),
        ):
            if need != have:
                yield name, need, have
    began, stated = state.open.get(entry.producer_id, -1), entry.current_txn_first_offset
    gone = first_offset is None or 0 <= stated < first_offset
    # The cleaner removes aborted records, markers after them, and superseded records at the start of a
    # transaction; an earlier snapshot still has them.
    gone = gone or (0 <= stated < cleaned and (began == -1 or stated < began))
    if stated != began and not gone:
        yield "first offset of its transaction", began, stated


def _in_broker_order(
    known: dict[int, producer_snapshot.Entry],
) -> Iterable[tuple[int, producer_snapshot.Entry]]:
    """The order of a java.util.HashMap with these keys, so that a file can be compared byte by byte."""
    buckets = 16
    while len(known) > buckets * 3 // 4:
        buckets *= 2

    def bucket(item: tuple[int, producer_snapshot.Entry]) -> int:
        bits = (item[0] ^ item[0] >> 32) & 0xFFFFFFFF
        return (bits ^ bits >> 16) & (buckets - 1)

    return sorted(known.items(), key=bucket)
