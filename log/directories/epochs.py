"""Which leader wrote which offsets: how the list of `leader-epoch-checkpoint` is kept.

Followed: `org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kodec.log.files.checkpoints import LeaderEpoch

__all__ = ["assigned", "from_start", "up_to"]


def assigned(epochs: Iterable[LeaderEpoch], new: LeaderEpoch) -> list[LeaderEpoch]:
    """The list when a batch of the log has the epoch `new`; what contradicts it at the end goes."""
    found = list(epochs)
    if found and found[-1].epoch == new.epoch and found[-1].start_offset <= new.start_offset:
        return found
    while found and (found[-1].epoch >= new.epoch or found[-1].start_offset >= new.start_offset):
        found.pop()
    return [*found, new]


def up_to(epochs: Iterable[LeaderEpoch], end_offset: int) -> list[LeaderEpoch]:
    """The list when the log ends at `end_offset`: an epoch that starts above it goes.

    One that starts there has not written yet. A broker drops it when it starts and adds it when it leads.
    """
    return [each for each in epochs if each.start_offset <= end_offset]


def from_start(epochs: Iterable[LeaderEpoch], start_offset: int) -> list[LeaderEpoch]:
    """The list when the log starts at `start_offset`: the epoch that holds there starts there."""
    found = list(epochs)
    first = None
    while found and found[0].start_offset <= start_offset:
        first = found.pop(0)
    return found if first is None else [LeaderEpoch(first.epoch, start_offset), *found]
