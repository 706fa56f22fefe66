"""Open and hanging transactions, and the coordinator's state of them.

Followed: `TransactionStateManager.loadTransactionMetadata`, and `FindHangingTransactionsCommand` of
`org.apache.kafka.tools.TransactionsCommand`, Kafka 4.3.
"""

from __future__ import annotations

import os
import time

from kodec.generated.messages.transaction_log_key import TransactionLogKey
from kodec.generated.messages.transaction_log_value import TransactionLogValue
from kodec.log.arguments import chosen_names
from kodec.log.batches.records import Limits
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import TopicPartition
from kodec.log.messages.decoding import decode
from kodec.log.omissions import Omissions
from kodec.log.selection import Topics
from kodec.log.views.metadata import METADATA_TOPIC, partition_count
from kodec.log.views.producers import ActiveProducer, Producers, read_producers
from kodec.log.views.reading import batches_of, decoded, records_in
from kodec.log.views.replicas import Replicas
from kodec.runtime.dataclass import dataclass

__all__ = ["OpenTransaction", "TransactionStates", "TransactionalId", "producers_of", "read_transactions"]

TRANSACTIONS_TOPIC = "__transaction_state"
_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
_ENDING = ("PrepareCommit", "PrepareAbort")


@dataclass(frozen=True, slots=True)
class TransactionalId:
    """The coordinator's state of a transactional id: its producer, and its last or current transaction.

    Attributes:
        state: as Kafka names it: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort,
            Dead or PrepareEpochFence.
        timeout_ms: after which the coordinator aborts a transaction.
        start_timestamp: of the last or current transaction; None if there was none. Both are in ms since
            1970-01-01 UTC.
        partitions: in the transaction and without a marker yet.
        source: the partition of `__transaction_state`; `record_offset`: the record's offset there.
        transactional_id, producer_id, producer_epoch: who it is.
        last_update_timestamp: of the last change of its state.

    Example: see `read_transactions`.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_timestamp: int | None
    last_update_timestamp: int
    partitions: list[TopicPartition]
    source: TopicPartition
    record_offset: int


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction with records in a partition, but no marker.

    Attributes:
        first_offset: the offset at which `read_committed` waits for it.
        first_timestamp, last_timestamp: of its first batch, and of the producer's last one; None: unknown.
        transactional_id: None if no available partition of the coordinator's topic has the producer.
        status: `open`: the coordinator will end it. `ending`: it has decided, and is writing the markers.
            `overdue`: it is older than its timeout, and the coordinator aborts it once it runs.
            `hanging`: the coordinator does not know it, so nothing will end it. `unknown`: the
            coordinator's records of it are not in these directories.
        reason: what reports it.
        topic_partition: where it is open.
        producer_id, producer_epoch, coordinator_epoch: of the producer, and of its coordinator.

    Example: see `read_transactions`.
    """

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None
    first_offset: int
    first_timestamp: int | None
    last_timestamp: int | None
    transactional_id: str | None
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class TransactionStates:
    """The state of transactions.

    Attributes:
        ids: by transactional id.
        open: by topic-partition and first offset.
        partitions: of each topic-partition, its producers and its last stable offset.
        omissions: what could not be read.

    Example: see `read_transactions`.
    """

    ids: list[TransactionalId]
    open: list[OpenTransaction]
    partitions: list[Producers]
    omissions: Omissions


def read_transactions(
    *logs: str | os.PathLike[str],
    topics: Topics = None,
    now: int | None = None,
    limits: Limits = Limits(),
) -> TransactionStates:
    """Read the coordinator's transactions, and compare the open ones in the logs with them.

    Memory use depends on the transactional ids and producers, not on the logs.

    Args:
        logs: one or several log directories, of one broker or of many.
        topics: only partitions of these; None for all.
        now: in ms since 1970-01-01 UTC, to find what is overdue; the clock's time where it is not given.
        limits: how much may be allocated for one batch.

    Returns: the transactional ids, open transactions, and what is missing in them.
    Raises: NotALog where `__transaction_state`, or a requested topic, is in none of them; OSError
    if a folder cannot be read, and Malformed for its `log-start-offset-checkpoint`. Other damage does not
    raise an error but is in `omissions`.

    Example:
        >>> import kodec
        >>> found = kodec.operations.read_transactions("/data/kafka-logs")
        >>> [(each.transactional_id, each.state) for each in found.ids][:2]
        [('compact-first', 'CompleteCommit'), ('compact-second', 'CompleteCommit')]
        >>> [(str(each.topic_partition), each.first_offset, each.status) for each in found.open]
        [('transactions-0', 82, 'overdue')]
    """
    topics = chosen_names("topics", topics)
    replicas = Replicas(*logs, limits=limits)
    for topic in topics or ():
        replicas.of_topic(topic)
    omissions = replicas.omissions
    moment = time.time_ns() // 1_000_000 if now is None else now
    ids = _Ids(replicas, omissions)
    partitions = []
    for log in replicas:
        topic = log.topic_partition.topic
        if topic != METADATA_TOPIC and (topics is None or topic in topics):
            try:
                partitions.append(read_producers(log, omissions))
            except OSError as error:
                omissions.failed(log.path, error)
    open_transactions = [
        ids.judged(partition, producer, producer.transaction_offset, moment)
        for partition in partitions
        for producer in partition.producers
        if producer.transaction_offset is not None
    ]
    open_transactions.sort(key=lambda transaction: (transaction.topic_partition, transaction.first_offset))
    return TransactionStates(
        [ids.known[name] for name in sorted(ids.known)], open_transactions, partitions, omissions
    )


class _Ids:
    """The contents of the coordinator's topic, as far as available."""

    def __init__(self, replicas: Replicas, omissions: Omissions) -> None:
        self.known: dict[str, TransactionalId] = {}
        logs = replicas.of_topic(TRANSACTIONS_TOPIC)
        for log in logs:
            self._load(log, omissions)
            log.close()
        self._by_producer = {entry.producer_id: entry for entry in self.known.values()}
        count = partition_count(replicas, TRANSACTIONS_TOPIC, omissions)
        self._all_here = count is not None and {log.topic_partition.partition for log in logs} >= set(
            range(count)
        )
        self._here = "the metadata log is missing" if count is None else f"{len(logs)} of {count} are here"

    def _load(self, log: PartitionLog, omissions: Omissions) -> None:
        source = log.topic_partition
        for batch in batches_of(log, omissions):
            if batch.is_control:
                continue
            for record in records_in(log, batch, omissions):
                messages = decoded(TRANSACTIONS_TOPIC, record, omissions)
                if messages is None:
                    continue
                match messages[0].message, messages[1] and messages[1].message:
                    case TransactionLogKey(transactional_id=name), None:
                        self.known.pop(name, None)
                    case TransactionLogKey(transactional_id=name), TransactionLogValue() as value:
                        self.known[name] = _transactional_id(name, value, source, record.offset)

    def judged(
        self, log: Producers, producer: ActiveProducer, first_offset: int, now: int
    ) -> OpenTransaction:
        """An open transaction of a partition, and its state in the coordinator."""
        known = self._by_producer.get(producer.producer_id)
        status, reason = self._status(log.topic_partition, known, now)
        return OpenTransaction(
            log.topic_partition,
            producer.producer_id,
            producer.epoch,
            producer.coordinator_epoch,
            first_offset,
            producer.transaction_timestamp,
            producer.last_timestamp,
            None if known is None else known.transactional_id,
            status,
            reason,
        )

    def _status(
        self, topic_partition: TopicPartition, known: TransactionalId | None, now: int
    ) -> tuple[str, str]:
        if known is None:
            if self._all_here:
                return "hanging", "the coordinator does not know this producer"
            return "unknown", f"not all partitions of {TRANSACTIONS_TOPIC} are available: {self._here}"
        if topic_partition not in known.partitions:
            return "hanging", f"{known.state} in the coordinator, without this partition"
        if known.state in _ENDING:
            return "ending", known.state
        started = known.start_timestamp
        if started is not None and now - started > known.timeout_ms:
            return "overdue", f"older than its timeout of {known.timeout_ms} ms"
        return "open", known.state


def _transactional_id(
    name: str, value: TransactionLogValue, source: TopicPartition, offset: int
) -> TransactionalId:
    number = value.transaction_status
    start = value.transaction_start_timestamp_ms
    return TransactionalId(
        name,
        value.producer_id,
        value.producer_epoch,
        _STATES[number] if 0 <= number < len(_STATES) else f"unknown ({number})",
        value.transaction_timeout_ms,
        None if start < 0 else start,
        value.transaction_last_update_timestamp_ms,
        sorted(
            TopicPartition(entry.topic, partition)
            for entry in value.transaction_partitions or ()
            for partition in entry.partition_ids
        ),
        source,
        offset,
    )


def producers_of(*logs: str | os.PathLike[str], transactional_id: str) -> frozenset[int]:
    """The producer ids that `__transaction_state` has for a transactional id, including former ones.

    Compaction has deleted older states; so the ids of long ago may be missing. Raises NotALog if the topic
    is in none of the log directories; OSError; FormatError for damage in it.
    """
    producer_ids: set[int] = set()
    for log in Replicas(*logs).of_topic(TRANSACTIONS_TOPIC):
        for record in log.records():
            key, value = decode(TRANSACTIONS_TOPIC, record)
            contents = (None if part is None else part.message for part in (key, value))
            match tuple(contents):
                case TransactionLogKey(transactional_id=name), TransactionLogValue() as state:
                    if name == transactional_id:
                        producer_ids |= {
                            state.producer_id,
                            state.previous_producer_id,
                            state.next_producer_id,
                        }
    return frozenset(producer_ids - {-1})
