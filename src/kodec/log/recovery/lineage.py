"""The lineage of leader epochs that counts among replicas, and how far each of them is on it.

An epoch has one leader, which gives each offset once. So two replicas that both have an epoch agree below its
end, and where they disagree, the records of the newest epoch count: a broker truncates the others there.

Followed: KIP-101, KIP-279, `LeaderEpochFileCache.endOffsetFor` and
`AbstractFetcherThread.truncateToHighWatermark` of Kafka 4.3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from kodec.log.directories.epochs import EpochRun
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.files.names import LEADER_EPOCHS
from kodec.log.recovery.replica import NO_END, Replica
from kodec.runtime.dataclass import dataclass, field

__all__ = ["Lineage", "epoch_at", "lineage_of"]


@dataclass(slots=True)
class Lineage:
    """The lineage that counts.

    Attributes:
        epochs: ascending.
        winner: the number of the replica with its newest epoch, and of these the longest.
        ends: for each replica the offset up to which it is on the lineage; `NO_END` if it has no other.
        unsure: why the newest epoch is not proven; "" if it is. No checksum covers an epoch.
        empty: why an epoch without a batch counts; "" if the newest epoch has one.
        notes: what a reader should know.
    """

    epochs: list[LeaderEpoch]
    winner: int
    ends: list[int]
    unsure: str = ""
    empty: str = ""
    notes: list[str] = field(default_factory=list)


def epoch_at(epochs: Sequence[LeaderEpoch], offset: int) -> int:
    """The epoch of an offset; -1 below the first."""
    index = bisect_right(epochs, offset, key=lambda epoch: epoch.start_offset)
    return epochs[index - 1].epoch if index else -1


def lineage_of(replicas: Sequence[Replica], selected: int | None = None) -> Lineage:
    """The lineage of the newest epoch that a batch or a checkpoint has, or that of the replica `selected`."""
    refuted: set[int] = set()
    while True:
        runs = [
            [run for run in replica.epochs.believed(replica.checkpoint or ()) if id(run) not in refuted]
            for replica in replicas
        ]
        histories = [
            _epochs_of(replica, replica_runs) for replica, replica_runs in zip(replicas, runs, strict=True)
        ]
        counted = range(len(replicas)) if selected is None else [selected]
        newest = max((run.epoch for number in counted for run in runs[number]), default=-1)
        holders = [number for number in counted if any(run.epoch == newest for run in runs[number])]
        unproven = _unproven(replicas, runs, newest)
        if unproven is None or not _is_refuted(replicas, *unproven):
            break
        refuted.add(id(unproven[1]))
    # A leader has its epoch in the checkpoint before it has a batch: followers truncate to its first offset.
    newest_started = max((epoch.epoch for number in counted for epoch in histories[number]), default=-1)
    if newest_started > newest:
        holders = [
            number for number in counted if any(epoch.epoch == newest_started for epoch in histories[number])
        ]
    winner = max(holders or counted, key=lambda number: (replicas[number].end_offset, -number))
    epochs = {epoch.epoch: epoch.start_offset for epoch in histories[winner]}
    _unite(epochs, histories)
    line = _ascending(epochs)
    lineage = Lineage(
        line,
        winner,
        [_end_on(line, replica, history) for replica, history in zip(replicas, histories, strict=True)],
    )
    if selected is None and unproven is not None:
        number, run = unproven
        location = replicas[number].place(_number(replicas[number], run))
        only = f"leader epoch {run.epoch} is only in the header of one batch, {location}"
        lineage.unsure = f"{only}, and in no {LEADER_EPOCHS}: no checksum covers it"
    if newest_started > newest and any(end != NO_END for end in lineage.ends):
        last = lineage.epochs[-1]
        lineage.empty = (
            f"{replicas[winner].path}: leader epoch {last.epoch} began at offset {last.start_offset}, and no "
            "batch of it is left"
        )
        lineage.notes.append(
            f"{lineage.empty}: from there on older ones do not count, and a broker truncates them"
        )
    for replica, history in zip(replicas, histories, strict=True):
        if line and history and not _common(line, history) and replica.start_offset < line[0].start_offset:
            lineage.notes.append(
                f"{replica.path}: no leader epoch in common with {replicas[winner].path}: nothing shows "
                f"whether its records below offset {line[0].start_offset} are of the same lineage"
            )
    return lineage


def _epochs_of(replica: Replica, runs: Sequence[EpochRun]) -> list[LeaderEpoch]:
    """The epochs of a replica: those of its batches, and of its checkpoint where batches do not refute it."""
    starts = {epoch.epoch: epoch.start_offset for epoch in replica.epochs.sound(replica.checkpoint or ())}
    lasts: dict[int, int] = {}
    for run in runs:
        starts[run.epoch] = min(starts.get(run.epoch, run.first_offset), run.first_offset)
        lasts[run.epoch] = run.last_offset
    epochs: list[LeaderEpoch] = []
    last = -1
    for epoch, start in sorted(starts.items()):
        start = max(start, last + 1)
        if epochs and start <= epochs[-1].start_offset:
            if epoch not in lasts:
                continue
            epochs.pop()
        epochs.append(LeaderEpoch(epoch, start))
        last = max(last, lasts.get(epoch, -1))
    return epochs


def _unproven(
    replicas: Sequence[Replica],
    runs: Sequence[Sequence[EpochRun]],
    epoch: int,
) -> tuple[int, EpochRun] | None:
    """The only batch that has the newest epoch, if no checkpoint has it either; None if it is proven."""
    holders = [
        (number, run)
        for number, replica_runs in enumerate(runs)
        for run in replica_runs
        if run.epoch == epoch
    ]
    if len(holders) != 1 or holders[0][1].batches > 1 or len(replicas) == 1:
        return None
    named = any(entry.epoch == epoch for replica in replicas for entry in replica.checkpoint or ())
    return None if named else holders[0]


def _number(replica: Replica, run: EpochRun) -> int:
    number = replica.at(run.first_offset)
    assert number is not None
    return number


def _is_refuted(replicas: Sequence[Replica], holder: int, run: EpochRun) -> bool:
    """Whether another replica has the same batch with another epoch: then a bit of the header is wrong."""
    replica = replicas[holder]
    number = _number(replica, run)
    for other, other_replica in enumerate(replicas):
        index = None if other == holder else other_replica.at(run.first_offset)
        if index is not None and (other_replica.first[index], other_replica.identity[index]) == (
            replica.first[number],
            replica.identity[number],
        ):
            return True
    return False


def _unite(epochs: dict[int, int], histories: Sequence[Sequence[LeaderEpoch]]) -> None:
    """Add the epochs that other replicas have below an epoch in common: there they are the same log."""
    changed = True
    while changed:
        changed = False
        for history in histories:
            common = max((epoch.epoch for epoch in history if epoch.epoch in epochs), default=-1)
            for epoch in history:
                if epoch.epoch <= common and epoch.start_offset < epochs.get(epoch.epoch, NO_END):
                    epochs[epoch.epoch] = epoch.start_offset
                    changed = True


def _ascending(epochs: dict[int, int]) -> list[LeaderEpoch]:
    ordered: list[LeaderEpoch] = []
    for epoch, start in sorted(epochs.items()):
        while ordered and ordered[-1].start_offset >= start:
            ordered.pop()
        ordered.append(LeaderEpoch(epoch, start))
    return ordered


def _common(line: Sequence[LeaderEpoch], history: Sequence[LeaderEpoch]) -> set[int]:
    return {epoch.epoch for epoch in line} & {epoch.epoch for epoch in history}


def _end_on(line: Sequence[LeaderEpoch], replica: Replica, history: Sequence[LeaderEpoch]) -> int:
    """The offset up to which a replica is on the lineage."""
    epochs = [epoch for epoch in history if epoch.start_offset < replica.end_offset]
    if not line or not epochs:
        return NO_END
    common = max(_common(line, epochs), default=None)
    end = line[0].start_offset if common is None else min(_end_of(line, common), _end_of(epochs, common))
    return end if end < replica.end_offset else NO_END


def _end_of(epochs: Sequence[LeaderEpoch], epoch: int) -> int:
    return next((entry.start_offset for entry in epochs if entry.epoch > epoch), NO_END)
