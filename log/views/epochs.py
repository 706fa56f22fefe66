"""Which leader epochs wrote which offsets: what the checkpoint says, and what the batches say.

Followed: `org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache`, Kafka 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from kodec.log.directories.epochs import assign
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import LEADER_EPOCHS
from kodec.log.views.reading import Account
from kodec.runtime.errors import FormatError

__all__ = ["EpochRange", "LeaderEpochs", "read_epochs"]


@dataclass(frozen=True, slots=True)
class EpochRange:
    """The offsets that were written while a leader had an epoch.

    Attributes:
        start_offset: what `leader-epoch-checkpoint` says; None where the epoch is not in it.
        first_offset: the first offset of a batch with it; None where there is none: nothing was written, or
            it was compacted or deleted.
        end_offset: where the next epoch starts, or the log ends.
        batches: how many there are with it.
    """

    epoch: int
    start_offset: int | None
    first_offset: int | None
    end_offset: int
    batches: int


@dataclass(frozen=True, slots=True)
class LeaderEpochs:
    """The leader epochs of a topic-partition, ascending; `account` also has where the two contradict."""

    topic_partition: TopicPartition
    epochs: list[EpochRange]
    account: Account


def read_epochs(log: PartitionLog, account: Account | None = None) -> LeaderEpochs:
    """Hold the leader epochs of a partition's checkpoint against those in its batches' headers.

    Damage does not raise: `account` has it. Raises OSError where the folder cannot be read. No checksum
    covers the epoch in a batch.
    """
    account = Account() if account is None else account
    told: list[LeaderEpoch] = []
    try:
        told = log.leader_epochs()
    except (FormatError, OSError) as error:
        account.failed(log.path, error)
    stored, counts, end = _stored(log, account)
    log.close()
    starts = {each.epoch: each.start_offset for each in told}
    firsts = {each.epoch: each.start_offset for each in stored}
    epochs = sorted({*starts, *firsts})
    begins = [starts.get(each, firsts.get(each, end)) for each in epochs]
    found = [
        EpochRange(epoch, starts.get(epoch), firsts.get(epoch), following, counts.get(epoch, 0))
        for epoch, following in zip(epochs, [*begins[1:], end], strict=False)
    ]
    _compare(log, found, bool(told), account)
    return LeaderEpochs(log.topic_partition, found, account)


def _stored(log: PartitionLog, account: Account) -> tuple[list[LeaderEpoch], dict[int, int], int]:
    """The epochs of batches of magic 2 and where each begins, how many batches have it, the log's end."""
    stored: list[LeaderEpoch] = []
    counts: dict[int, int] = {}
    end = log.start_offset
    for segment in log.segments:
        end = max(end, segment.base_offset)
        try:
            for head in segment.headers():
                end = max(end, head.next_offset)
                epoch = head.partition_leader_epoch
                if epoch < 0:
                    continue
                if stored and epoch < stored[-1].epoch:
                    before = stored[-1].epoch
                    account.problem(
                        f"{segment.path}: epoch {epoch} at offset {head.first_known}, after {before}"
                    )
                    continue
                # A batch may begin below the log's start offset: that of the epoch is then there.
                assign(stored, LeaderEpoch(epoch, max(head.first_known, log.start_offset)))
                counts[epoch] = counts.get(epoch, 0) + 1
        except FileNotFoundError:
            # Deleted since it was listed.
            continue
        except (FormatError, OSError) as error:
            account.failed(segment.path, error)
        segment.close()
    return stored, counts, end


def _compare(log: PartitionLog, epochs: list[EpochRange], told: bool, account: Account) -> None:
    if not told:
        # A broker makes a new checkpoint of the batches' epochs only when it recovers the log.
        return
    for each in epochs:
        what = f"{log.path}: epoch {each.epoch}"
        if each.start_offset is None:
            account.problem(
                f"{what} is in batches from offset {each.first_offset} on, not in {LEADER_EPOCHS}"
            )
        elif each.first_offset is not None and each.first_offset < each.start_offset:
            account.problem(
                f"{what} starts at {each.start_offset} in {LEADER_EPOCHS}, in batches at {each.first_offset}"
            )
