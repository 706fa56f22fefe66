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
    at = bisect_right(epochs, offset, key=lambda each: each.start_offset)
    return epochs[at - 1].epoch if at else -1


def lineage_of(replicas: Sequence[Replica], chosen: int | None = None) -> Lineage:
    """The lineage of the newest epoch that a batch or a checkpoint has, or that of the replica `chosen`."""
    refuted: set[int] = set()
    while True:
        runs = [
            [run for run in each.epochs.believed(each.checkpoint or ()) if id(run) not in refuted]
            for each in replicas
        ]
        own = [_own(each, found) for each, found in zip(replicas, runs, strict=True)]
        counted = range(len(replicas)) if chosen is None else [chosen]
        newest = max((run.epoch for number in counted for run in runs[number]), default=-1)
        holders = [number for number in counted if any(run.epoch == newest for run in runs[number])]
        unproven = _unproven(replicas, runs, newest)
        if unproven is None or not _is_refuted(replicas, *unproven):
            break
        refuted.add(id(unproven[1]))
    # A leader has its epoch in the checkpoint before it has a batch: followers truncate to its first offset.
    begun = max((each.epoch for number in counted for each in own[number]), default=-1)
    if begun > newest:
        holders = [number for number in counted if any(each.epoch == begun for each in own[number])]
    winner = max(holders or counted, key=lambda number: (replicas[number].end_offset, -number))
    epochs = {each.epoch: each.start_offset for each in own[winner]}
    _unite(epochs, own)
    line = _ascending(epochs)
    found = Lineage(
        line, winner, [_end_on(line, each, mine) for each, mine in zip(replicas, own, strict=True)]
    )
    if chosen is None and unproven is not None:
        number, run = unproven
        place = replicas[number].place(_number(replicas[number], run))
        only = f"leader epoch {run.epoch} is only in the header of one batch, {place}"
        found.unsure = f"{only}, and in no {LEADER_EPOCHS}: no checksum covers it"
    if begun > newest and any(end != NO_END for end in found.ends):
        last = found.epochs[-1]
        found.empty = (
            f"{replicas[winner].path}: leader epoch {last.epoch} began at offset {last.start_offset}, and no "
            "batch of it is left"
        )
        found.notes.append(
            f"{found.empty}: from there on older ones do not count, and a broker truncates them"
        )
    for each, mine in zip(replicas, own, strict=True):
        if line and mine and not _common(line, mine) and each.start_offset < line[0].start_offset:
            found.notes.append(
                f"{each.path}: no leader epoch in common with {replicas[winner].path}: nothing shows "
                f"whether its records below offset {line[0].start_offset} are of the same lineage"
            )
    return found


def _own(replica: Replica, runs: Sequence[EpochRun]) -> list[LeaderEpoch]:
    """The epochs of a replica: those of its batches, and of its checkpoint where batches do not refute it."""
    starts = {each.epoch: each.start_offset for each in replica.epochs.sound(replica.checkpoint or ())}
    lasts: dict[int, int] = {}
    for run in runs:
        starts[run.epoch] = min(starts.get(run.epoch, run.first_offset), run.first_offset)
        lasts[run.epoch] = run.last_offset
    found: list[LeaderEpoch] = []
    last = -1
    for epoch, start in sorted(starts.items()):
        start = max(start, last + 1)
        if found and start <= found[-1].start_offset:
            if epoch not in lasts:
                continue
            found.pop()
        found.append(LeaderEpoch(epoch, start))
        last = max(last, lasts.get(epoch, -1))
    return found


def _unproven(
    replicas: Sequence[Replica],
    runs: Sequence[Sequence[EpochRun]],
    epoch: int,
) -> tuple[int, EpochRun] | None:
    """The only batch that has the newest epoch, if no checkpoint has it either; None if it is proven."""
    found = [(number, run) for number, mine in enumerate(runs) for run in mine if run.epoch == epoch]
    if len(found) != 1 or found[0][1].batches > 1 or len(replicas) == 1:
        return None
    named = any(entry.epoch == epoch for each in replicas for entry in each.checkpoint or ())
    return None if named else found[0]


def _number(replica: Replica, run: EpochRun) -> int:
    number = replica.at(run.first_offset)
    assert number is not None
    return number


def _is_refuted(replicas: Sequence[Replica], holder: int, run: EpochRun) -> bool:
    """Whether another replica has the same batch with another epoch: then a bit of the header is wrong."""
    mine = replicas[holder]
    number = _number(mine, run)
    for other, each in enumerate(replicas):
        at = None if other == holder else each.at(run.first_offset)
        if at is not None and (each.first[at], each.identity[at]) == (
            mine.first[number],
            mine.identity[number],
        ):
            return True
    return False


def _unite(epochs: dict[int, int], own: Sequence[Sequence[LeaderEpoch]]) -> None:
    """Add the epochs that other replicas have below an epoch in common: there they are the same log."""
    changed = True
    while changed:
        changed = False
        for mine in own:
            common = max((each.epoch for each in mine if each.epoch in epochs), default=-1)
            for each in mine:
                if each.epoch <= common and each.start_offset < epochs.get(each.epoch, NO_END):
                    epochs[each.epoch] = each.start_offset
                    changed = True


def _ascending(epochs: dict[int, int]) -> list[LeaderEpoch]:
    found: list[LeaderEpoch] = []
    for epoch, start in sorted(epochs.items()):
        while found and found[-1].start_offset >= start:
            found.pop()
        found.append(LeaderEpoch(epoch, start))
    return found


def _common(line: Sequence[LeaderEpoch], mine: Sequence[LeaderEpoch]) -> set[int]:
    return {each.epoch for each in line} & {each.epoch for each in mine}


def _end_on(line: Sequence[LeaderEpoch], replica: Replica, own: Sequence[LeaderEpoch]) -> int:
    """The offset up to which a replica is on the lineage."""
    mine = [each for each in own if each.start_offset < replica.end_offset]
    if not line or not mine:
        return NO_END
    common = max(_common(line, mine), default=None)
    end = line[0].start_offset if common is None else min(_end_of(line, common), _end_of(mine, common))
    return end if end < replica.end_offset else NO_END


def _end_of(epochs: Sequence[LeaderEpoch], epoch: int) -> int:
    return next((each.start_offset for each in epochs if each.epoch > epoch), NO_END)
