"""The part of a log that may be compacted, and its transactions and producers.

Followed: `LogCleanerManager.cleanableOffsets` and `calculateCleanableBytes`, and
`UnifiedLog.lastRecordsOfActiveProducers`, of `org.apache.kafka.storage.internals.log`, Kafka 4.3.
"""

from __future__ import annotations

from kodec.generated.log import transaction_index
from kodec.log.cleaning.rules import LastRecord
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.offline import high_watermark, newest_time, require_whole
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import OpenTransactions, marker_of
from kodec.log.directories.snapshots import newest_state
from kodec.log.files.checkpoints import write_offsets
from kodec.log.files.names import CLEANER_OFFSETS
from kodec.runtime.dataclass import dataclass

__all__ = ["Known", "first_dirty", "first_uncleanable", "note_cleaned"]


@dataclass(slots=True)
class Known:
    """State of the whole log: its aborted transactions, the start of undecided data, its active producers."""

    aborted: list[transaction_index.Entry]
    stable_offset: int
    producers: dict[int, LastRecord]

    @classmethod
    def of(cls, log: PartitionLog, *, now: int, producer_expiration_ms: int) -> Known:
        """From the headers of all batches: transaction indexes may be incomplete, and then aborted records
        would replace committed ones. An entry that agrees with the log is kept as it is: the first record of
        its transaction may be gone. Of producers whose batches are gone only the newest snapshot is left
        that agrees with the log.
        """
        state_offset, state = newest_state(log.segments, log.files.snapshots, log.end_offset)
        going = OpenTransactions()
        aborted: list[transaction_index.Entry] = []
        # by producer, the offset of its last marker
        passed: dict[int, int] = {}
        for segment in log.segments:
            indexed = {(entry.producer_id, entry.last_offset): entry for entry in segment.aborted() or ()}
            for head in segment.headers():
                if head.producer_id < 0:
                    continue
                marker = marker_of(segment.batch_at(head)) if head.is_control and head.count else None
                ended = going.take(head, marker)
                if ended is not None and ended.aborted:
                    entry = ended.index_entry()
                    indexed_entry = indexed.get((ended.producer_id, ended.last_offset), entry)
                    agrees = (
                        passed.get(ended.producer_id, -1) < indexed_entry.first_offset <= entry.first_offset
                    )
                    aborted.append(indexed_entry if agrees else entry)
                if marker is not None:
                    passed[head.producer_id] = head.last_offset
                if head.first_known >= state_offset:
                    state.take_batch(segment.batch_at(head))
            if segment is not log.segments[-1]:
                require_whole(segment)
            segment.close()
        stable = going.stable_offset(log.end_offset)
        if (decided := high_watermark(log)) is not None:
            stable = min(stable, decided)
        oldest = now - producer_expiration_ms
        active = {
            producer: LastRecord(entry.last_offset, entry.producer_epoch)
            for producer, entry in state.known.items()
            if producer in state.open or entry.timestamp > oldest
        }
        return cls(aborted, stable, active)


def first_dirty(log: PartitionLog) -> int:
    """Where the range that was not yet compacted begins; by default the start of the log.

    Raises OSError, Malformed.
    """
    offset = LogRoot(log.root).cleaner_offsets().get(log.topic_partition)
    if offset is None or not log.start_offset <= offset <= log.end_offset:
        return log.start_offset
    return offset


def first_uncleanable(
    log: PartitionLog, known: Known, dirty: int, *, now: int, min_compaction_lag_ms: int
) -> int:
    """The base offset of the first segment that may not be compacted, or `dirty` if none may."""
    if not log.segments:
        return dirty
    *closed, active = log.segments
    limit = min(known.stable_offset, active.base_offset)
    for number, segment in enumerate(closed if min_compaction_lag_ms > 0 else ()):
        after = log.segments[number + 1].base_offset
        if after > dirty and newest_time(segment) > now - min_compaction_lag_ms:
            limit = min(limit, segment.base_offset)
            break
    bases = [segment.base_offset for segment in log.segments if segment.base_offset <= max(limit, dirty)]
    return max(bases[-1] if bases else dirty, dirty)


def note_cleaned(log: PartitionLog, offset: int) -> None:
    """Write the offset up to which the log is compacted to `cleaner-offset-checkpoint`. Raises OSError."""
    root = LogRoot(log.root)
    write_offsets(root.path / CLEANER_OFFSETS, root.cleaner_offsets() | {log.topic_partition: offset})
