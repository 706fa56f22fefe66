"""Which segments in remote storage count at which offsets, as in a broker's fetch.

A fetch knows the leader epoch of an offset, and reads the segment with that epoch that begins last at or
before the offset. A segment that another one replaced, whose copy did not finish, or whose deletion began,
is not read.

Followed: `RemoteLogMetadataCache`, `RemoteLogLeaderEpochState` and `RemoteLogSegmentState` of Kafka 4.3.
"""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kodec.log.files.checkpoints import LeaderEpoch

__all__ = ["CopiedSegment", "CopyState", "Part", "RemoteSegments", "are_in_order"]

_NO_END = 1 << 63


class CopyState(enum.IntEnum):
    """The state of a segment's copy, by the number that `__remote_log_metadata` has for it."""

    COPY_STARTED = 0
    COPY_FINISHED = 1
    DELETE_STARTED = 2
    DELETE_FINISHED = 3


# Each state may follow itself. The first is COPY_STARTED.
_FOLLOWING = {
    CopyState.COPY_STARTED: {CopyState.COPY_FINISHED, CopyState.DELETE_STARTED},
    CopyState.COPY_FINISHED: {CopyState.DELETE_STARTED},
    CopyState.DELETE_STARTED: {CopyState.DELETE_FINISHED},
    CopyState.DELETE_FINISHED: set[CopyState](),
}


class CopiedSegment(NamedTuple):
    """A segment that was copied, or is being copied.

    Attributes:
        segment_id: of the copy, 22 characters.
        start_offset, end_offset: both inclusive.
        epochs: the leader epochs in it and their first offsets there, ascending.
        size: of the log, in bytes; None if unknown.
        max_timestamp: the largest of its records, in ms since 1970; None if unknown.
        custom: what a plugin has noted for itself; None for nothing.
        without_aborted: whether it is known that it has no transaction index.
    """

    segment_id: str
    start_offset: int
    end_offset: int
    epochs: tuple[LeaderEpoch, ...]
    size: int | None = None
    max_timestamp: int | None = None
    custom: bytes | None = None
    without_aborted: bool = False

    def end_of(self, epoch: int) -> int:
        """The last offset in it of an epoch."""
        index = bisect_right(self.epochs, epoch, key=lambda entry: entry.epoch)
        return self.epochs[index].start_offset - 1 if index < len(self.epochs) else self.end_offset


class Part(NamedTuple):
    """The offsets of a segment that count, both inclusive."""

    segment: CopiedSegment
    first: int
    last: int


class _Epoch:
    """The segments of a leader epoch, by their first offset in it."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.ids: dict[int, str] = {}
        self.highest: int | None = None

    def copied(self, start: int, segment_id: str, end: int) -> None:
        # A later leader has copied more, from an earlier offset on: that replaces those within it.
        while self.offsets and self.offsets[-1] >= start and (self.highest or 0) <= end:
            del self.ids[self.offsets.pop()]
        if start not in self.ids:
            self.offsets.insert(bisect_left(self.offsets, start), start)
        self.ids[start] = segment_id
        self.highest = end if self.highest is None else max(self.highest, end)

    def deleted(self, start: int, segment_id: str) -> None:
        if self.ids.get(start) == segment_id:
            del self.ids[start]
            self.offsets.remove(start)

    def floor(self, offset: int) -> str | None:
        index = bisect_right(self.offsets, offset)
        return self.ids[self.offsets[index - 1]] if index else None

    def after(self, offset: int) -> int:
        """The first offset of a segment above `offset`."""
        index = bisect_right(self.offsets, offset)
        return self.offsets[index] if index < len(self.offsets) else _NO_END


class RemoteSegments:
    """The segments of a topic-partition, after a number of events.

    Attributes:
        segments: by id; those that were deleted are not in it. states: of each.
    """

    def __init__(self) -> None:
        self.segments: dict[str, CopiedSegment] = {}
        self.states: dict[str, CopyState] = {}
        self._epochs: dict[int, _Epoch] = {}

    @classmethod
    def copied(cls, segments: Iterable[CopiedSegment]) -> RemoteSegments:
        """Those that were copied, in this order."""
        remote = cls()
        for segment in segments:
            remote.begin(segment)
            remote.change(segment.segment_id, CopyState.COPY_FINISHED)
        return remote

    def begin(self, segment: CopiedSegment) -> None:
        """The copy of a segment has begun. Ignored, as by a broker, if it has gone further already."""
        if self.states.get(segment.segment_id, CopyState.COPY_STARTED) is CopyState.COPY_STARTED:
            self.segments[segment.segment_id] = segment
            self.states[segment.segment_id] = CopyState.COPY_STARTED

    def change(self, segment_id: str, state: CopyState, custom: bytes | None = None) -> None:
        """A segment has another state. Ignored, as by a broker, if that cannot follow, or without a copy.

        `custom`: what a plugin notes for itself.
        """
        segment = self.segments.get(segment_id)
        if segment is None:
            return
        before = self.states[segment_id]
        if state is CopyState.COPY_STARTED or (state is not before and state not in _FOLLOWING[before]):
            return
        for epoch, start in segment.epochs:
            of_epoch = self._epochs.setdefault(epoch, _Epoch())
            if state is CopyState.COPY_FINISHED:
                of_epoch.copied(start, segment_id, segment.end_of(epoch))
            elif state is CopyState.DELETE_STARTED:
                of_epoch.deleted(start, segment_id)
        if state is CopyState.DELETE_FINISHED:
            del self.segments[segment_id], self.states[segment_id]
        else:
            self.states[segment_id] = state
            if custom is not None:
                self.segments[segment_id] = segment._replace(custom=custom)

    def finished(self) -> list[CopiedSegment]:
        """Those whose copy finished and whose deletion has not begun, by first offset."""
        segments = (
            segment for key, segment in self.segments.items() if self.states[key] is CopyState.COPY_FINISHED
        )
        return sorted(segments, key=lambda segment: (segment.start_offset, segment.end_offset))

    def at(self, epoch: int, offset: int) -> CopiedSegment | None:
        """The segment that a broker reads for an offset of a leader epoch; None if there is none."""
        of_epoch = self._epochs.get(epoch)
        key = None if of_epoch is None else of_epoch.floor(offset)
        segment = None if key is None else self.segments.get(key)
        return None if segment is None or offset > segment.end_of(epoch) else segment

    def parts(self, lineage: Sequence[LeaderEpoch], start: int = 0, stop: int = _NO_END) -> list[Part]:
        """What counts from offset `start` on and below `stop`, ascending.

        Args:
            lineage: the leader epochs of the log, ascending.
        """
        parts_of_copies: list[Part] = []
        for part in self._parts(lineage, start, stop):
            if (
                parts_of_copies
                and parts_of_copies[-1].segment is part.segment
                and parts_of_copies[-1].last + 1 == part.first
            ):
                parts_of_copies[-1] = parts_of_copies[-1]._replace(last=part.last)
            else:
                parts_of_copies.append(part)
        return parts_of_copies

    def _parts(self, lineage: Sequence[LeaderEpoch], start: int, stop: int) -> Iterator[Part]:
        ends = [*(epoch.start_offset for epoch in lineage[1:]), _NO_END]
        for (epoch, begin), end in zip(lineage, ends, strict=False):
            position, limit = max(begin, start), min(end, stop)
            of_epoch = self._epochs.get(epoch)
            while of_epoch is not None and position < limit:
                segment, following = self.at(epoch, position), of_epoch.after(position)
                if segment is None:
                    position = following
                    continue
                last = min(segment.end_of(epoch), following - 1, limit - 1)
                yield Part(segment, position, last)
                position = last + 1

    def lineage(self) -> list[LeaderEpoch]:
        """The leader epochs of the segments, each from the first offset that one has for it.

        An epoch that begins at or after a later one has lost an election, and is not in it.
        """
        starts: dict[int, int] = {}
        for segment in self.finished():
            for epoch, start in segment.epochs:
                starts[epoch] = min(start, starts.get(epoch, _NO_END))
        epochs: list[LeaderEpoch] = []
        for epoch, start in sorted(starts.items()):
            while epochs and epochs[-1].start_offset >= start:
                epochs.pop()
            epochs.append(LeaderEpoch(epoch, start))
        return epochs

    def newest(self) -> CopiedSegment | None:
        """The segment with the latest leader epoch, and of these the longest; its epochs are the lineage."""
        return max(
            self.finished(),
            key=lambda segment: (segment.epochs[-1].epoch if segment.epochs else -1, segment.end_offset),
            default=None,
        )


def are_in_order(segments: Sequence[CopiedSegment]) -> bool:
    """Whether segments, by first offset, overlap neither in offsets nor in epochs: then all of them count."""
    return all(
        segment.end_offset < other.start_offset
        and (not segment.epochs or not other.epochs or segment.epochs[-1].epoch <= other.epochs[0].epoch)
        for segment, other in pairwise(segments)
    )
