"""Which leader wrote which offsets: how the list of `leader-epoch-checkpoint` is kept.

Followed: `org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from kodec.log.files.checkpoints import LeaderEpoch

__all__ = ["assign", "from_start", "up_to"]


def assign(epochs: list[LeaderEpoch], new: LeaderEpoch) -> None:
    """Update the list when a batch of the log has the epoch `new`; what contradicts it at the end goes."""
    if epochs and epochs[-1].epoch == new.epoch and epochs[-1].start_offset <= new.start_offset:
        return
    while epochs and (epochs[-1].epoch >= new.epoch or epochs[-1].start_offset >= new.start_offset):
        epochs.pop()
    epochs.append(new)


def up_to(epochs: Iterable[LeaderEpoch], end_offset: int) -> list[LeaderEpoch]:
    """The list when the log ends at `end_offset`: an epoch that starts above it goes.

    One that starts there has not written yet. A broker drops it when it starts and adds it when it leads.
    """
    return [each for each in epochs if each.start_offset <= end_offset]


def from_start(epochs: Iterable[LeaderEpoch], start_offset: int) -> list[LeaderEpoch]:
    """The list when the log starts at `start_offset`: the epoch that holds there starts there."""
    found = list(epochs)
    before = bisect_right(found, start_offset, key=lambda each: each.start_offset)
    return found if not before else [LeaderEpoch(found[before - 1].epoch, start_offset), *found[before:]]
