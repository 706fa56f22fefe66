"""The offsets of leader epochs, from the checkpoint and from the batches.

Followed: `org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache`, Kafka 4.3.
"""

from __future__ import annotations

from collections import Counter

from kodec.log.arguments import require
from kodec.log.directories.epochs import EpochContradiction, EpochRuns
from kodec.log.directories.losses import note_missing
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Cause, Omissions
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError

__all__ = ["EpochRange", "LeaderEpochs", "read_epochs"]


@dataclass(frozen=True, slots=True)
class EpochRange:
    """The offsets written in a leader epoch.

    Attributes:
        start_offset: from `leader-epoch-checkpoint`; None if the epoch is not in it.
        first_offset: the first offset of a batch with it; None if there is none: nothing was written, or
            it was compacted or deleted.
        end_offset: where the next epoch starts, or the log ends.
        batches: the number of its batches.

    Example: see `read_epochs`.
    """

    epoch: int
    start_offset: int | None
    first_offset: int | None
    end_offset: int
    batches: int


@dataclass(frozen=True, slots=True)
class LeaderEpochs:
    """The leader epochs of a topic-partition, ascending.

    Attributes:
        topic_partition: which one.
        epochs: ascending.
        omissions: what could not be read.
        contradictions: batches whose epochs the checkpoint or the batches around them refute.

    Example: see `read_epochs`.
    """

    topic_partition: TopicPartition
    epochs: list[EpochRange]
    omissions: Omissions
    contradictions: list[EpochContradiction]


def read_epochs(log: PartitionLog, omissions: Omissions | None = None) -> LeaderEpochs:
    """Compare the leader epochs of a partition's checkpoint with those in its batches' headers.

    Damage does not raise an error but is in `omissions`. Raises OSError where the folder cannot be read. No
    checksum covers the epoch in a batch.

    Args:
        log: of a topic-partition.
        omissions: where to note what is damaged; None: a new one, in the result.

    Returns: the epochs, ascending.
    Raises: OSError where the folder cannot be read.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> found = kodec.operations.read_epochs(log)
        >>> [(each.epoch, each.start_offset, each.end_offset) for each in found.epochs]
        [(0, 0, 322), (2, 322, 421)]
    """
    require("log", log, PartitionLog, "a kodec.PartitionLog is needed, as PartitionLog(path)")
    omissions = Omissions() if omissions is None else omissions
    runs, end = _stored(log, omissions)
    note_missing(log, omissions)
    log.close()
    # After the batches: a broker writes an epoch there before it appends a batch that has it.
    stored: list[LeaderEpoch] = []
    try:
        stored = log.leader_epochs()
    except (FormatError, OSError) as error:
        omissions.failed(log.path, error)
    starts = {entry.epoch: entry.start_offset for entry in stored}
    firsts: dict[int, int] = {}
    counts: Counter[int] = Counter()
    for run in runs.believed(stored):
        # A batch may begin below the log's start offset: that of the epoch is then there.
        firsts.setdefault(run.epoch, max(run.first_offset, log.start_offset))
        counts[run.epoch] += run.batches
    epochs = sorted({*starts, *firsts})
    begins = [starts.get(epoch, firsts.get(epoch, end)) for epoch in epochs]
    ranges = [
        EpochRange(epoch, starts.get(epoch), firsts.get(epoch), following, counts[epoch])
        for epoch, following in zip(epochs, [*begins[1:], end], strict=False)
    ]
    if runs.omitted:
        text = f"more than {runs.MOST} changes of the leader epoch: the rest is left out"
        omissions.lose(log.path, text, Cause.UNKNOWN)
    contradictions = runs.contradictions(stored, log.start_offset)
    return LeaderEpochs(log.topic_partition, ranges, omissions, contradictions)


def _stored(log: PartitionLog, omissions: Omissions) -> tuple[EpochRuns, int]:
    """The epochs of the batches, and the log's end."""
    runs = EpochRuns()
    end = log.start_offset
    for segment in log.segments:
        end = max(end, segment.base_offset)
        try:
            for head in segment.headers():
                end = max(end, head.next_offset)
                runs.take(segment.path, head)
        except FileNotFoundError:
            # Deleted since it was listed.
            continue
        except (FormatError, OSError) as error:
            omissions.failed(segment.path, error)
        segment.close()
    return runs, end
