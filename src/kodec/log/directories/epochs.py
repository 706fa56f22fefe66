"""The leader epochs of offsets: `leader-epoch-checkpoint`, and the epochs of batches.

No checksum covers the leader epoch of a batch. The checkpoint can show that one is wrong, which a broker
writes before a batch of a new epoch, and so can the batches around it: a later leader has a higher epoch.

Followed: `org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache`, and `UnifiedLog.append` of
`org.apache.kafka.storage.internals.log`, Kafka 4.3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.files.names import LEADER_EPOCHS
from kodec.runtime.dataclass import dataclass

__all__ = ["EpochContradiction", "EpochRun", "EpochRuns", "assign", "deleted_up_to", "from_start", "up_to"]


def assign(epochs: list[LeaderEpoch], new: LeaderEpoch) -> None:
    """Update the list when a batch of the log has the epoch `new`; removes contradicting last entries."""
    if epochs and epochs[-1].epoch == new.epoch and epochs[-1].start_offset <= new.start_offset:
        return
    while epochs and (epochs[-1].epoch >= new.epoch or epochs[-1].start_offset >= new.start_offset):
        epochs.pop()
    epochs.append(new)


def up_to(epochs: Iterable[LeaderEpoch], end_offset: int) -> list[LeaderEpoch]:
    """The list if the log ends at `end_offset`: epochs that start above it are removed.

    One that starts there has no batches yet. A broker drops it when it starts and adds it when it leads.
    """
    return [epoch for epoch in epochs if epoch.start_offset <= end_offset]


def from_start(epochs: Iterable[LeaderEpoch], start_offset: int) -> list[LeaderEpoch]:
    """The list if the log starts at `start_offset`: the epoch of that offset starts there."""
    entries = list(epochs)
    before = bisect_right(entries, start_offset, key=lambda epoch: epoch.start_offset)
    return (
        entries if not before else [LeaderEpoch(entries[before - 1].epoch, start_offset), *entries[before:]]
    )


def deleted_up_to(checkpoint: Sequence[LeaderEpoch], epoch_runs: EpochRuns, bases: Collection[int]) -> int:
    """The log start offset that the beginning of `leader-epoch-checkpoint` shows; 0 if it shows none.

    When records are deleted, a broker cuts this file at the log start offset at once, and writes the offset
    to `log-start-offset-checkpoint` only once a minute. An epoch that begins between two batches of its own
    is such a cut; except at the start of a segment, from where brokers renew a file that was lost.

    Args:
        checkpoint: the entries.
        found: the epochs of the batches.
        bases: the base offsets of the segments.
    """
    if not checkpoint or epoch_runs.has_older_formats or checkpoint[0].start_offset in bases:
        return 0
    epoch, start = checkpoint[0].epoch, checkpoint[0].start_offset
    cut = any(
        run.epoch == epoch and run.first_offset < start <= run.last_offset + 1 for run in epoch_runs.runs
    )
    return start if cut else 0


class EpochHead(Protocol):
    """The facts of a batch or its header used here."""

    @property
    def is_list(self) -> bool: ...

    @property
    def position(self) -> int: ...

    @property
    def base_offset(self) -> int | None: ...

    @property
    def last_offset(self) -> int: ...

    @property
    def partition_leader_epoch(self) -> int: ...


@dataclass(slots=True)
class EpochRun:
    """Consecutive batches of a segment with the same leader epoch.

    Attributes:
        path, position: the segment, and the byte at which the first one starts.
        first_offset, last_offset: of the first and the last one.
    """

    path: Path
    position: int
    epoch: int
    first_offset: int
    last_offset: int
    batches: int = 1


class EpochContradiction(NamedTuple):
    """A run whose epoch contradicts the checkpoint or the batches around it.

    Attributes:
        need: the right value.
        note: whether a healthy log can look like this.
        proven: if the batches around it show that its epoch is wrong, the one that they leave; of several the
            checkpoint's, else that of the batch before, else that of the batch after. None: they do not.
    """

    run: EpochRun
    need: str
    note: bool
    proven: int | None = None

    @property
    def refuted(self) -> bool:
        """Whether the batches around it show that the epoch is wrong."""
        return self.proven is not None

    @property
    def have(self) -> str:
        """The epoch and its batches."""
        run = self.run
        batches = "1 batch" if run.batches == 1 else f"{run.batches} batches"
        return f"{run.epoch} in {batches}, offsets {run.first_offset} to {run.last_offset}"

    def __str__(self) -> str:
        run = self.run
        return f"{run.path}: byte {run.position}: leader epoch: need {self.need}, have {self.have}"


class EpochRuns:
    """The leader epochs of the batches of a log, in the order of the log.

    Attributes:
        runs: at most the first `MOST`; batches without an epoch (-1) are in none.
        omitted: how many further batches are in no run.
    """

    MOST = 1_000_000

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []
        self.omitted = 0
        # A broker that appends a message of v0 or v1 forgets the epochs before it.
        self._forgotten = 0

    @property
    def has_older_formats(self) -> bool:
        """Whether there are messages of v0 or v1, with which a broker forgets the epochs before them."""
        return self._forgotten > 0

    def take(self, path: Path, head: EpochHead) -> None:
        """Add the next batch."""
        if not head.is_list:
            self._forgotten = head.last_offset + 1
            return
        if head.partition_leader_epoch != -1:
            assert head.base_offset is not None
            self.take_run(
                EpochRun(path, head.position, head.partition_leader_epoch, head.base_offset, head.last_offset)
            )

    def take_run(self, new: EpochRun) -> None:
        """Add the next batches, lists of records of one epoch."""
        run = self.runs[-1] if self.runs else None
        if run is not None and run.epoch == new.epoch and run.path == new.path:
            run.last_offset = new.last_offset
            run.batches += new.batches
        elif len(self.runs) < self.MOST:
            self.runs.append(new)
        else:
            self.omitted += new.batches

    def add(self, later: EpochRuns) -> None:
        """Add those of the next segment."""
        self.runs += later.runs[: self.MOST - len(self.runs)]
        self.omitted += later.omitted
        self._forgotten = max(self._forgotten, later._forgotten)

    def believed(self, checkpoint: Sequence[LeaderEpoch] = ()) -> list[EpochRun]:
        """The set of runs with non-descending epochs that has the most batches.

        Ties go to those in the checkpoint, then to lower epochs: most flipped bits raise one.
        """
        runs = [run for run in self.runs if run.epoch >= 0]
        if all(runs[index].epoch <= runs[index + 1].epoch for index in range(len(runs) - 1)):
            return runs
        # Sequences by the epoch in which they end, with ascending weights: a heavier one must end higher.
        ends: list[int] = []
        weights: list[tuple[int, int]] = []
        numbers: list[int] = []
        came_from: list[int] = []
        for number, run in enumerate(runs):
            index = bisect_right(ends, run.epoch)
            came_from.append(numbers[index - 1] if index else -1)
            batches, agreeing = weights[index - 1] if index else (0, 0)
            weight = batches + run.batches, agreeing + _has(checkpoint, run)
            begin = index - 1 if index and ends[index - 1] == run.epoch else index
            while index < len(ends) and weights[index] <= weight:
                index += 1
            ends[begin:index], weights[begin:index], numbers[begin:index] = [run.epoch], [weight], [number]
        chain = []
        number = numbers[-1]
        while number >= 0:
            chain.append(runs[number])
            number = came_from[number]
        return chain[::-1]

    def sound(self, checkpoint: Sequence[LeaderEpoch]) -> list[LeaderEpoch]:
        """The checkpoint without the epochs of runs that are rejected."""
        believed_ids = {id(run) for run in self.believed(checkpoint)}
        doubtful = {run.epoch for run in self.runs if id(run) not in believed_ids and _has(checkpoint, run)}
        return [epoch for epoch in checkpoint if epoch.epoch not in doubtful]

    def brought_up(self, checkpoint: Sequence[LeaderEpoch]) -> list[LeaderEpoch]:
        """The checkpoint after loading a log with these epochs: higher ones are added, as a broker does.

        Unlike a broker, it skips those that the batches around them refute.
        """
        epochs = self.sound(checkpoint)
        for run in self.believed(checkpoint):
            if not epochs or run.epoch > epochs[-1].epoch:
                assign(epochs, LeaderEpoch(run.epoch, run.first_offset))
        return epochs

    def contradictions(
        self, checkpoint: Sequence[LeaderEpoch], start_offset: int = 0
    ) -> list[EpochContradiction]:
        """The runs that contradict the batches around them, or the checkpoint (if it has entries).

        If the checkpoint begins above the log's start, those below are only noted: a broker truncates it
        at once when the log start offset rises, and writes that offset to its own checkpoint later.
        """
        believed = self.believed(checkpoint)
        believed_ids = {id(run) for run in believed}
        sound = self.sound(checkpoint)
        contradictions = []
        passed = 0
        for run in self.runs:
            if id(run) in believed_ids:
                passed += 1
                wrong = self._contradiction(sound, run, start_offset)
                if wrong is not None:
                    contradictions.append(wrong)
                continue
            least = believed[passed - 1].epoch if passed else 0
            most = believed[passed].epoch if passed < len(believed) else None
            need = (
                f"at least {least}" if most is None else str(least) if least == most else f"{least} to {most}"
            )
            need += " as in the batches around"
            if _has(checkpoint, run):
                need += f", though {LEADER_EPOCHS} has it"
            known = _epoch_at(sound, run.first_offset)
            if known is None or known < least or (most is not None and known > most):
                known = least if passed or most is None else most
            contradictions.append(EpochContradiction(run, need, False, known))
        return contradictions

    def corrected(
        self, checkpoint: Sequence[LeaderEpoch], wrong: Iterable[EpochContradiction]
    ) -> list[LeaderEpoch]:
        """As `brought_up`, once refuted runs have the epoch that is proven."""
        sound = self.sound(checkpoint)
        for contradiction in wrong:
            if contradiction.proven is not None:
                contradiction.run.epoch = contradiction.proven
        return self.brought_up(sound)

    def _contradiction(
        self, epochs: Sequence[LeaderEpoch], run: EpochRun, start_offset: int
    ) -> EpochContradiction | None:
        """How the checkpoint contradicts a run."""
        if not epochs or run.first_offset < self._forgotten or run.last_offset < start_offset:
            return None
        first = _epoch_at(epochs, max(run.first_offset, start_offset))
        last = _epoch_at(epochs, run.last_offset)
        if first == last == run.epoch:
            return None
        if first is None and run.epoch <= epochs[0].epoch and last in (None, run.epoch):
            need = f"an entry in {LEADER_EPOCHS}, which begins at offset {epochs[0].start_offset}"
            return EpochContradiction(run, need, True)
        need = f"{first} to {last}" if None not in (first, last) and first != last else f"{last}"
        if last is None:
            need = f"less than {epochs[0].epoch}"
        return EpochContradiction(run, f"{need} as in {LEADER_EPOCHS}", False)


def _epoch_at(epochs: Sequence[LeaderEpoch], offset: int) -> int | None:
    """The epoch of an offset; None below the first."""
    index = bisect_right(epochs, offset, key=lambda epoch: epoch.start_offset)
    return epochs[index - 1].epoch if index else None


def _has(checkpoint: Sequence[LeaderEpoch], run: EpochRun) -> bool:
    return _epoch_at(checkpoint, run.last_offset) == run.epoch
