"""One replica of a topic-partition with all its good batches by offset, to be compared with others."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

from kodec.log.batches.batch import Batch
from kodec.log.batches.frame import BEFORE_BODY, LISTS
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import HEADS
from kodec.log.directories.epochs import EpochRuns, deleted_up_to
from kodec.log.directories.gaps import cleaned_up_to, explain_gap, read_omitted
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import LeaderEpoch, known_offsets
from kodec.log.files.listing import ReplicaKind
from kodec.log.files.names import HIGH_WATERMARKS, LEADER_EPOCHS, LOG_START_OFFSETS
from kodec.log.reading.reader import read_batches
from kodec.log.recovery.good_batches import LogScan, MissingRange
from kodec.runtime.cached import cached_property
from kodec.runtime.errors import FormatError
from kodec.stores.storage import if_there

__all__ = ["NO_END", "Hole", "Replica"]

NO_END = 1 << 63
"""Above each offset."""


class Hole(NamedTuple):
    """Offsets that a replica does not hold, both inclusive, and why.

    Attributes:
        kind: `damaged`, `missing` (no evidence), `compacted`, `start` (below the first segment), `behind`.
    """

    first: int
    last: int
    kind: str
    reason: str


class Replica:
    """The good batches of one replica: 48 bytes of memory for each.

    Attributes:
        log: the replica; `path`: its folder.
        segments: as listed. missing, omissions: as of `LogScan`.
        omitted: the ranges of offsets in its `kodec-omitted-offsets`, ascending; None: it has none.
        segment, position, size, first, last, count, identity, epoch: of each batch, in the order of the log;
            `segment` counts in `segments`, and equal content has an equal `identity`.
        epochs: the runs of leader epochs in the headers.
        checkpoint: the leader epochs of `leader-epoch-checkpoint`; None if missing or unreadable.
        high_watermark: of the log directory's checkpoint; None if it has none.
        checkpoint_start: the log start offset of the log directory's checkpoint; 0 if it has none.
        cut: that which `leader-epoch-checkpoint` shows; 0 if it shows none.
        known_start: the higher of the two.
        cleaned: the offset below which the cleaner may have removed records.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        limits: Limits = Limits(),
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.log = PartitionLog(path, limits=limits)
        self.path = self.log.path
        self.segments = self.log.segments
        self.segment, self.position, self.size = array("I"), array("q"), array("I")
        self.first, self.last = array("q"), array("q")
        self.count, self.identity, self.epoch = array("I"), array("q"), array("i")
        self.epochs = EpochRuns()
        self.omitted = read_omitted(self.path)
        self._read(progress)
        try:
            self.checkpoint: list[LeaderEpoch] | None = self.log.leader_epochs() or None
        except (FormatError, OSError) as error:
            self.checkpoint = None
            self.omissions.failed(self.path / LEADER_EPOCHS, error)
        self.high_watermark = self._in_checkpoint(HIGH_WATERMARKS)
        self.cut = deleted_up_to(
            self.checkpoint or (), self.epochs, [segment.base_offset for segment in self.segments]
        )
        self.checkpoint_start = self._in_checkpoint(LOG_START_OFFSETS) or 0
        self.known_start = max(self.checkpoint_start, self.cut)
        self.cleaned = 0
        with suppress(OSError):
            self.cleaned = cleaned_up_to(self.log)

    def __repr__(self) -> str:
        return f"<Replica {self.path}>"

    def __len__(self) -> int:
        return len(self.first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.log.close()

    def _read(self, progress: Callable[[int], None] | None) -> None:
        counts, identities = array("I"), array("q")
        epochs, magics = array("i"), array("B")

        def note(batch: Batch) -> None:
            counts.append(batch.count)
            identities.append(_identity(batch))
            epochs.append(batch.partition_leader_epoch)
            magics.append(batch.magic)

        scan = LogScan(self.log, progress, note)
        for number, (segment, batches, numbers) in enumerate(scan):
            for batch_number in numbers:
                first, last = batches.first(batch_number), batches.last(batch_number)
                self.segment.append(number)
                self.position.append(batches.positions[batch_number])
                self.size.append(batches.sizes[batch_number])
                self.first.append(first)
                self.last.append(last)
                self.count.append(counts[batch_number])
                self.identity.append(identities[batch_number])
                self.epoch.append(epochs[batch_number])
                self.epochs.take(
                    segment.path,
                    _Head(
                        magics[batch_number] in LISTS,
                        batches.positions[batch_number],
                        first,
                        last,
                        epochs[batch_number],
                    ),
                )
            for facts in (counts, identities, epochs, magics):
                del facts[:]
            segment.close()
        if scan.foreign is not None and not len(self):
            raise scan.foreign
        self.missing, self.omissions = scan.missing, scan.omissions

    def _in_checkpoint(self, name: str) -> int | None:
        if self.log.kind is not ReplicaKind.LIVE:
            return None
        path = self.log.root / name
        try:
            return (if_there(known_offsets, path, None) or {}).get(self.log.topic_partition)
        except (FormatError, OSError) as error:
            self.omissions.failed(path, error)
            return None

    @property
    def bytes_after(self) -> int:
        """Damaged bytes after the last good batch, which nothing bounds the offsets of."""
        return sum(
            gap.end - gap.start
            for gap in self.missing
            if gap.last_offset is None and gap.first_offset is not None
        )

    @property
    def start_offset(self) -> int:
        """The base offset of the first segment; 0 if there is none."""
        return self.segments[0].base_offset if self.segments else 0

    @property
    def end_offset(self) -> int:
        """The offset after the last good batch."""
        return self.last[-1] + 1 if len(self) else self.start_offset

    def at(self, offset: int) -> int | None:
        """The number of the good batch that has an offset."""
        number = bisect_left(self.last, offset)
        return number if number < len(self) and self.first[number] <= offset else None

    def omits(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts of a range of offsets that were left out on purpose."""
        ranges = self.omitted or []
        begin = bisect_left(ranges, first, key=lambda bounds: bounds[1])
        end = bisect_left(ranges, last + 1, key=lambda bounds: bounds[0])
        return [(max(low, first), min(high, last)) for low, high in ranges[begin:end]]

    def data(self, number: int) -> bytes:
        """The bytes of a good batch."""
        segment = self.segments[self.segment[number]]
        return segment.read_bytes(self.position[number], self.size[number])

    def batch(self, number: int) -> Batch:
        """A good batch, read again."""
        batch = next(read_batches(self.data(number), limits=self.log.limits))
        batch.position = self.position[number]
        return batch

    def place(self, number: int) -> str:
        """The place of a batch, for people."""
        path = self.segments[self.segment[number]].path
        return f"{path}: byte {self.position[number]}"

    @cached_property
    def _sparse_up_to(self) -> int:
        """The offset after the last batch that compaction has left with fewer records than offsets."""
        for number in range(len(self) - 1, -1, -1) if self.omitted is None else ():
            if self.count[number] <= self.last[number] - self.first[number]:
                return self.last[number] + 1
        return 0

    @cached_property
    def holes(self) -> list[Hole]:
        """The offsets that it does not hold, ascending, from 0 to `NO_END`, with the reasons."""
        holes: list[Hole] = []
        damage = [gap for gap in self.missing if gap.first_offset is not None]
        begin = self.start_offset
        if begin:
            holes.append(Hole(0, begin - 1, "start", f"below the first segment, {begin}"))
        offset, index = begin, 0
        for number in range(len(self) + 1):
            first = self.first[number] if number < len(self) else NO_END
            if offset < first:
                while index < len(damage) and _end(damage[index]) <= offset:
                    index += 1
                holes += self._hole(offset, first, damage, index)
            if number < len(self):
                offset = self.last[number] + 1
        return holes

    def _hole(self, offset: int, end: int, damage: Sequence[MissingRange], index: int) -> Iterator[Hole]:
        """The offsets from `offset` to `end`, `end` not included, in parts by their reasons."""
        while index < len(damage) and offset < end:
            gap = damage[index]
            assert gap.first_offset is not None
            if gap.first_offset >= end:
                break
            if offset < gap.first_offset:
                yield self._absent(offset, gap.first_offset)
                offset = gap.first_offset
            stop = min(_end(gap), end)
            if offset < stop:
                kind = "damaged" if gap.start < gap.end else "missing"
                yield Hole(offset, stop - 1, kind, f"{gap.path.name}: {'; '.join(gap.reasons)}")
                offset = stop
            index += 1
        if offset < end:
            yield self._absent(offset, end)

    def _absent(self, first: int, end: int) -> Hole:
        """Offsets without damage: behind the end, or between two batches that follow each other."""
        if end == NO_END:
            return Hole(first, end - 1, "behind", f"the log ends at {first}")
        if end <= max(self.cleaned, self._sparse_up_to):
            return Hole(first, end - 1, "compacted", "compacted")
        try:
            gap = explain_gap(self.log, first, end - 1)
        except OSError:
            gap = None
        if gap is not None and gap.is_explained:
            kind = "start" if gap.why.startswith("below") else "compacted"
            return Hole(first, end - 1, kind, gap.why)
        return Hole(first, end - 1, "missing", "in no batch, and nothing shows that compaction removed them")


class _Head(NamedTuple):
    """What `EpochRuns` needs of a batch."""

    is_list: bool
    position: int
    base_offset: int
    last_offset: int
    partition_leader_epoch: int


def _identity(batch: Batch) -> int:
    """Equal for the same content; offset and leader epoch, which a broker sets in place, do not count."""
    begin = HEADS[batch.magic].size if batch.is_list else BEFORE_BODY
    return hash((batch.crc, batch.size, batch.data[begin:]))


def _end(missing: MissingRange) -> int:
    return NO_END if missing.last_offset is None else missing.last_offset + 1
