"""The offsets of leader epochs, from the checkpoint and from the batches.

Followed: `org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache`, Kafka 4.3.
"""

from __future__ import annotations

from collections import Counter

from kodec.log.arguments import require
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.files.listing import TopicPartition
from kodec.log.views.reading import Completeness
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
    """The leader epochs of a topic-partition, ascending; `account` also has contradictions.

    Attributes:
        topic_partition: which one.
        epochs: ascending.
        account: what could not be read, and contradictions.

    Example: see `read_epochs`.
    """

    topic_partition: TopicPartition
    epochs: list[EpochRange]
    account: Completeness


def read_epochs(log: PartitionLog, account: Completeness | None = None) -> LeaderEpochs:
    """Compare the leader epochs of a partition's checkpoint with those in its batches' headers.

    Damage does not raise an error but is in `account`. Raises OSError where the folder cannot be read. No
    checksum covers the epoch in a batch.

    Args:
        log: of a topic-partition.
        account: where to note what is damaged; None: a new one, in the result.

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
    account = Completeness() if account is None else account
    runs, end = _stored(log, account)
    log.close()
    # After the batches: a broker writes an epoch there before it appends a batch that has it.
    told: list[LeaderEpoch] = []
    try:
        told = log.leader_epochs()
    except (FormatError, OSError) as error:
        account.failed(log.path, error)
    starts = {each.epoch: each.start_offset for each in told}
    firsts: dict[int, int] = {}
    counts: Counter[int] = Counter()
    for run in runs.believed(told):
        # A batch may begin below the log's start offset: that of the epoch is then there.
        firsts.setdefault(run.epoch, max(run.first_offset, log.start_offset))
        counts[run.epoch] += run.batches
    epochs = sorted({*starts, *firsts})
    begins = [starts.get(each, firsts.get(each, end)) for each in epochs]
    found = [
        EpochRange(epoch, starts.get(epoch), firsts.get(epoch), following, counts[epoch])
        for epoch, following in zip(epochs, [*begins[1:], end], strict=False)
    ]
    if runs.omitted:
        account.problem(
            f"{log.path}: more than {runs.MOST} changes of the leader epoch: the rest is left out"
        )
    for each in runs.contradictions(told, log.start_offset):
        account.problem(str(each))
    return LeaderEpochs(log.topic_partition, found, account)


def _stored(log: PartitionLog, account: Completeness) -> tuple[EpochRuns, int]:
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
            account.failed(segment.path, error)
        segment.close()
    return runs, end
