"""The producers of a partition and their open transactions: its newest right snapshot and the log after it.

Followed: `ProducerStateManager.loadFromSnapshot` and `activeProducers` of
`org.apache.kafka.storage.internals.log`, and `ReplicaManager.activeProducerState`, Kafka 4.3.
"""

from __future__ import annotations

from kodec.log.arguments import require
from kodec.log.directories.offline import high_watermark
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState
from kodec.log.directories.snapshots import newest_state
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Omissions
from kodec.log.views.reading import batches_of, marker_in
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, KodecError

__all__ = ["ActiveProducer", "Producers", "read_producers"]


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """A producer with an id, as seen by a broker that loads the log; None: unknown.

    Attributes:
        producer_id, epoch: its id and epoch.
        coordinator_epoch: of the coordinator that wrote its last marker.
        last_sequence, last_offset: of its last batch of this epoch.
        last_timestamp: the largest of its last batch, or its last marker's; ms since 1970-01-01 UTC.
        transaction_offset: the first offset of its open transaction; None for none.
        transaction_timestamp: that of the first batch of it.

    Example: see `read_producers`.
    """

    producer_id: int
    epoch: int
    coordinator_epoch: int | None
    last_sequence: int | None
    last_offset: int | None
    last_timestamp: int | None
    transaction_offset: int | None
    transaction_timestamp: int | None


@dataclass(frozen=True, slots=True)
class Producers:
    """The producers of a topic-partition, and the offset up to which its transactions are decided.

    Attributes:
        producers: by id, including those that have since expired on a broker (`producer.id.expiration.ms`).
        start_offset, end_offset: of the log.
        last_stable_offset: the first offset of the oldest open transaction, else the end.
        high_watermark: what `replication-offset-checkpoint` says; None where it says nothing.
        topic_partition: which one.
        omissions: what could not be read.

    Example: see `read_producers`.
    """

    topic_partition: TopicPartition
    producers: list[ActiveProducer]
    start_offset: int
    end_offset: int
    last_stable_offset: int
    high_watermark: int | None
    omissions: Omissions


def read_producers(log: PartitionLog, omissions: Omissions | None = None) -> Producers:
    """The state of a partition's producers, from its newest producer snapshot, and the batches after it.

    A snapshot that the batches before it contradict does not count, and is in `omissions`. Damage does not
    raise an error but is in `omissions`. Raises OSError where the folder cannot be read.

    Args:
        log: of a topic-partition.
        omissions: where to note what is damaged; None: a new one, in the result.

    Returns: the producers by id, and the last stable offset.
    Raises: OSError where the folder cannot be read.

    Example:
        >>> import kodec
        >>> found = kodec.operations.read_producers(kodec.PartitionLog("/data/kafka-logs/transactions-0"))
        >>> found.last_stable_offset, found.end_offset
        (82, 88)
        >>> len(found.producers)
        5
    """
    require("log", log, PartitionLog, "a kodec.PartitionLog is needed, as PartitionLog(path)")
    omissions = Omissions() if omissions is None else omissions
    offset, state = _loaded(log, omissions)
    end = max(offset, log.start_offset)
    # After a snapshot at the end of the log nothing is read.
    for batch in batches_of(log, omissions, offset):
        end = max(end, batch.next_offset)
        if batch.producer_id >= 0 and batch.last_offset >= offset:
            state.take(batch, marker_in(log, batch, omissions))
    if not offset:
        end = max([end, *(segment.base_offset for segment in log.segments[-1:])])
    try:
        watermark = high_watermark(log)
    except (FormatError, OSError) as error:
        omissions.failed(log.root, error)
        watermark = None
    producers = [
        ActiveProducer(
            producer,
            known.producer_epoch,
            _none_if_negative(known.coordinator_epoch),
            _none_if_negative(known.last_sequence),
            _none_if_negative(known.last_offset),
            _none_if_negative(known.timestamp),
            state.open.get(producer),
            _written(log, state.open.get(producer)),
        )
        for producer, known in sorted(state.known.items())
    ]
    stable = state.last_stable_offset(end)
    log.close()
    return Producers(log.topic_partition, producers, log.start_offset, end, stable, watermark, omissions)


def _none_if_negative(value: int) -> int | None:
    return None if value < 0 else value


def _loaded(log: PartitionLog, omissions: Omissions) -> tuple[int, ProducerState]:
    """The newest producer snapshot not beyond the end of the log that agrees with it."""
    try:
        end = log.end_offset
    except FormatError:
        # Whoever reads the batches reports the error; a snapshot from after it may not be of this log.
        end = log.segments[-1].base_offset
    return newest_state(log.segments, log.files.snapshots, end, doubt=omissions.failed, expired=False)


def _written(log: PartitionLog, offset: int | None) -> int | None:
    """When the batch with an offset was written, by the timestamp of its first record; None: unknown."""
    if offset is None or not log.start_offset <= offset:
        return None
    try:
        lookup = log.find(offset)
        if lookup is None:
            return None
        head = next(lookup[0].headers(lookup[1].position))
        return _none_if_negative(head.base_timestamp if head.delete_horizon is None else head.max_timestamp)
    except (KodecError, OSError):
        return None
