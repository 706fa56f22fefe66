"""Several replicas as one log: for each offset the good batch that counts, and what no replica has."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

from kodec.log.files.names import OMITTED_OFFSETS
from kodec.log.omissions import Cause
from kodec.log.recovery.good_batches import MissingRange
from kodec.log.recovery.lineage import Lineage, epoch_at, lineage_of
from kodec.log.recovery.replica import NO_END, Hole, Replica
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError

__all__ = ["Dropped", "Merged", "compare_batches", "require_one_topic"]

_TAILS = {"behind", "diverged"}


@dataclass(frozen=True, slots=True)
class Dropped:
    """Batches of a replica whose lineage does not count: no record of them is kept.

    Attributes:
        path: the replica's folder. first_offset, last_offset, batches: of them.
        reason: why they do not count.

    Example: see `plan_salvage`.
    """

    path: Path
    first_offset: int
    last_offset: int
    batches: int
    reason: str


class Merged:
    """The batches that count, of several replicas.

    Attributes:
        replicas, lineage: what was merged.
        replica, number: of each batch, in the order of offsets.
        missing: offsets that no replica has, with the reason for each replica.
        dropped: batches of other lineages.
        conflicts: why it cannot be known which of two batches is right; nothing is written then.
        high_watermark: the highest of the replicas that are on the lineage to their end; 0: unknown.
        end_offset: after the last batch; start_offset: the log start offset, 0 if no checkpoint has one.
    """

    def __init__(self, replicas: Sequence[Replica], selected: int | None = None) -> None:
        self.replicas = replicas
        self.lineage: Lineage = lineage_of(replicas, selected)
        self._is_selected = selected is not None
        self.order = [
            self.lineage.winner,
            *(number for number in range(len(replicas)) if number != self.lineage.winner),
        ]
        self.replica, self.number = array("B"), array("I")
        self.missing: list[MissingRange] = []
        self.conflicts: list[str] = []
        self._erased: list[Dropped] = []
        self._choose()
        self.end_offset = self._last(len(self) - 1) + 1 if len(self) else 0
        self.high_watermark = max(
            (
                replica.high_watermark or 0
                for replica, end in zip(replicas, self.lineage.ends, strict=True)
                if end == NO_END
            ),
            default=0,
        )
        self.start_offset = max(
            (replica.known_start for replica in replicas if replica.known_start <= self.end_offset), default=0
        )
        self._find_missing()
        self.dropped = [dropped for number in range(len(replicas)) for dropped in self._dropped(number)]
        if self.dropped and self.lineage.unsure:
            self.conflicts.append(f"{self.lineage.unsure}, and it decides what is dropped")
        if self.lineage.empty and not self._is_selected:
            self.conflicts += self._perhaps_committed()
        self.dropped += self._erased

    def __len__(self) -> int:
        return len(self.replica)

    def _last(self, index: int) -> int:
        return self.replicas[self.replica[index]].last[self.number[index]]

    def at(self, offset: int) -> tuple[int, int] | None:
        """The replica and number of the chosen batch that has an offset."""
        index = bisect_left(range(len(self)), offset, key=self._last)
        return (
            (self.replica[index], self.number[index])
            if index < len(self) and self._first(index) <= offset
            else None
        )

    def next_at(self, offset: int) -> int | None:
        """The first offset of a chosen batch from `offset` on."""
        index = bisect_left(range(len(self)), offset, key=self._last)
        return max(self._first(index), offset) if index < len(self) else None

    def _first(self, index: int) -> int:
        return self.replicas[self.replica[index]].first[self.number[index]]

    # -- the choice -------------------------------------------------------------------------------

    def _choose(self) -> None:
        replicas = self.replicas
        positions = [0] * len(replicas)
        ends = [
            bisect_left(replica.last, min(end, NO_END - 1))
            for replica, end in zip(replicas, self.lineage.ends, strict=True)
        ]
        while True:
            heads = [number for number in self.order if positions[number] < ends[number]]
            if not heads:
                return
            low = min(replicas[number].first[positions[number]] for number in heads)
            reached = max(
                replicas[number].last[positions[number]]
                for number in heads
                if replicas[number].first[positions[number]] == low
            )
            overlapping: dict[int, list[int]] = {}
            grown = True
            while grown:
                grown = False
                for number in heads:
                    replica = replicas[number]
                    while positions[number] < ends[number] and replica.first[positions[number]] <= reached:
                        overlapping.setdefault(number, []).append(positions[number])
                        reached = max(reached, replica.last[positions[number]])
                        positions[number] += 1
                        grown = True
            places = {number: overlapping[number] for number in self.order if number in overlapping}
            places = self._without_erased(places)
            if not places:
                continue
            if len(places) == 1:
                (number,) = places
                for each_number in places[number]:
                    self._take(number, each_number)
            elif self._are_alike(places, low, reached):
                self._take(*self._best([(number, numbers[0]) for number, numbers in places.items()]))
            else:
                self._take_overlapping(places)

    def _without_erased(self, places: dict[int, list[int]]) -> dict[int, list[int]]:
        """The batches but for those with records that another replica lists as left out on purpose.

        One with other records too is a conflict, if no replica has these alone.
        """
        if all(replica.omitted is None for replica in self.replicas):
            return places
        remaining: dict[int, list[int]] = {}
        doubtful: list[tuple[int, int, str]] = []
        for number, numbers in places.items():
            for index in numbers:
                erased, of, whole = self._erased_in(number, index)
                if not erased:
                    remaining.setdefault(number, []).append(index)
                    continue
                replica = self.replicas[number]
                reason = f"{of.path} lists offsets {erased[0]} to {erased[-1]} in {OMITTED_OFFSETS}"
                self._erased.append(
                    Dropped(replica.path, replica.first[index], replica.last[index], 1, reason)
                )
                if not whole:
                    doubtful.append((number, index, reason))
        for number, index, reason in doubtful:
            replica = self.replicas[number]
            has_other = any(
                self.replicas[other].first[other_index] <= replica.first[index]
                and replica.last[index] <= self.replicas[other].last[other_index]
                for other, numbers in remaining.items()
                for other_index in numbers
            )
            if not has_other:
                text = f"{replica.place(index)}: it holds other records too, which are on no other replica"
                self.conflicts.append(f"{reason}; {text}: redact it first")
        return remaining

    def _erased_in(self, number: int, index: int) -> tuple[list[int], Replica, bool]:
        """The offsets of a batch's records that another replica omits, which one, and if they are all."""
        replica = self.replicas[number]
        first, last = replica.first[index], replica.last[index]
        for other in self.replicas:
            ranges = other.omits(first, last) if other is not replica else []
            if ranges:
                try:
                    offsets = [record.offset for record in replica.batch(index).records(control=True)]
                except FormatError:
                    continue
                erased = [offset for offset in offsets if any(low <= offset <= high for low, high in ranges)]
                if erased:
                    return erased, other, len(erased) == len(offsets)
        return [], replica, False

    def _take(self, replica: int, number: int) -> None:
        self.replica.append(replica)
        self.number.append(number)

    def _are_alike(self, places: dict[int, list[int]], first: int, last: int) -> bool:
        """Whether each replica has one batch, with the same offsets."""
        return all(
            len(numbers) == 1
            and self.replicas[number].first[numbers[0]] == first
            and self.replicas[number].last[numbers[0]] == last
            for number, numbers in places.items()
        )

    def _best(self, places: list[tuple[int, int]]) -> tuple[int, int]:
        """Of batches with the same offsets the one with the most records; the winner's, if all are equal."""
        contents: dict[int, list[tuple[int, int]]] = {}
        for location in places:
            contents.setdefault(self.replicas[location[0]].identity[location[1]], []).append(location)
        if len(contents) == 1:
            return self._with_right_epoch(places)
        most = max(self.replicas[number].count[index] for number, index in places)
        fullest = [same for same in contents.values() if self.replicas[same[0][0]].count[same[0][1]] == most]
        votes = max(map(len, fullest))
        best = [same for same in fullest if len(same) == votes]
        selected = best[0][0]
        for same in contents.values():
            other = same[0]
            if other == selected or same is best[0]:
                continue
            relation = compare_batches(self.replicas, selected, other)
            if relation in ("recompressed", "compacted"):
                continue
            outvoted = len(same) < len(best[0])
            if not outvoted and not (self._is_selected and selected[0] == self.lineage.winner):
                both = (self.replicas[number].place(index) for number, index in (selected, other))
                self.conflicts.append(f"{' and '.join(both)}: {relation}, and no leader epoch decides")
        return self._with_right_epoch(best[0])

    def _with_right_epoch(self, same: list[tuple[int, int]]) -> tuple[int, int]:
        """Of equal batches the first whose header has the epoch of the lineage."""
        number, index = same[0]
        epoch = epoch_at(self.lineage.epochs, self.replicas[number].first[index])
        for location in same:
            if self.replicas[location[0]].epoch[location[1]] == epoch:
                return location
        return same[0]

    def _take_overlapping(self, places: dict[int, list[int]]) -> None:
        """Batches with different boundaries: those of the replica with the most records, then what fits."""

        def records(number: int) -> int:
            return sum(self.replicas[number].count[index] for index in places[number])

        accepted: list[tuple[int, int, int, int]] = []
        for number in sorted(places, key=records, reverse=True):
            replica = self.replicas[number]
            for index in places[number]:
                first, last = replica.first[index], replica.last[index]
                if all(last < low or high < first for low, high, _, _ in accepted):
                    accepted.append((first, last, number, index))
                elif not any(low <= first and last <= high for low, high, _, _ in accepted):
                    reason = f"offsets {first} to {last} overlap batches of another replica"
                    reasons = (f"{replica.place(index)}: {reason}",)
                    self.missing.append(MissingRange(replica.path, 0, 0, first, last, reasons))
        for _, _, number, index in sorted(accepted):
            self._take(number, index)

    # -- missing and dropped ------------------------------------------------------------------------

    def holes(self, number: int) -> Iterator[Hole]:
        """The offsets that a replica does not have on the lineage."""
        end = self.lineage.ends[number]
        for hole in self.replicas[number].holes:
            if hole.first >= end:
                break
            yield hole._replace(last=min(hole.last, end - 1))
        if end < NO_END:
            yield Hole(end, NO_END - 1, "diverged", f"another lineage of leader epochs from offset {end} on")

    def _find_missing(self) -> None:
        common: list[_Common] = [(0, NO_END - 1, ())]
        for number in self.order:
            common = list(_common(common, list(self.holes(number)), number))
        for first, last, holes in common:
            kinds = {hole.kind for _, hole in holes}
            if "compacted" in kinds or kinds == {"start"} or last < self.start_offset:
                continue
            is_tail = last == NO_END - 1
            # a replica whose damaged bytes are all on another one shows nothing that none has
            remaining_bytes = (
                {number: self._unaccounted_bytes(number, hole) for number, hole in holes} if is_tail else {}
            )
            if is_tail and not any(remaining_bytes.values()):
                if first < self.high_watermark:
                    reasons = (f"below the high watermark {self.high_watermark}", *self._reasons(holes))
                    self._add_missing(first, self.high_watermark - 1, reasons)
                continue
            more = [
                f"{self.replicas[number].path}: {size} bytes after what others have"
                for number, size in remaining_bytes.items()
                if size
            ]
            self._add_missing(first, None if is_tail else last, (*self._reasons(holes), *more))
        self.missing.sort(key=lambda gap: gap.first_offset or 0)

    def _unaccounted_bytes(self, number: int, hole: Hole) -> int:
        """The damaged bytes at the end of a replica that the chosen batches do not account for."""
        if hole.kind in _TAILS:
            return 0
        start = bisect_left(range(len(self)), hole.first, key=self._last)
        chosen_bytes = sum(
            self.replicas[self.replica[index]].size[self.number[index]] for index in range(start, len(self))
        )
        return max(self.replicas[number].bytes_after - chosen_bytes, 0)

    def _reasons(self, holes: Sequence[tuple[int, Hole]]) -> tuple[str, ...]:
        return tuple(f"{self.replicas[number].path}: {hole.reason}" for number, hole in holes)

    def _add_missing(self, first: int, last: int | None, reasons: tuple[str, ...]) -> None:
        path = self.replicas[self.lineage.winner].path
        self.missing.append(MissingRange(path, 0, 0, first, last, reasons, Cause.MISSING))

    def numbers_dropped(self, number: int) -> Iterator[int]:
        """The batches of a replica that do not count, by their numbers."""
        replica, end = self.replicas[number], self.lineage.ends[number]
        for index in range(bisect_left(replica.last, min(end, NO_END - 1)), len(replica)):
            selected = self.at(replica.first[index])
            if selected is None or not self._is_same(selected, (number, index)):
                yield index

    def _dropped(self, number: int) -> Iterator[Dropped]:
        replica, end = self.replicas[number], self.lineage.ends[number]
        begin = bisect_left(replica.last, min(end, NO_END - 1))
        numbers = list(self.numbers_dropped(number))
        if not numbers:
            return
        first, last, batches = replica.first[numbers[0]], replica.last[numbers[-1]], len(numbers)
        epoch = epoch_at(self.lineage.epochs, first)
        have = replica.epoch[begin]
        reason = f"leader epoch {have}, where {epoch} of {self.replicas[self.lineage.winner].path} counts"
        if replica.high_watermark is not None:
            below = max(min(replica.high_watermark, last + 1) - first, 0)
            reason += (
                f"; offsets up to {first + below - 1} are below its high watermark: "
                f"an unclean election has lost committed records"
                if below
                else "; above its high watermark, which brokers write every few seconds"
            )
        yield Dropped(replica.path, first, last, batches, reason)

    def _perhaps_committed(self) -> Iterator[str]:
        """Why batches that an epoch without any would drop may be committed ones, which nothing replaces."""
        for dropped in self.dropped:
            (replica,) = (candidate for candidate in self.replicas if candidate.path == dropped.path)
            watermark = replica.high_watermark
            if watermark is None or dropped.first_offset < watermark:
                have = "no high watermark" if watermark is None else f"the high watermark {watermark}"
                yield (
                    f"{self.lineage.empty}, but {dropped.path} has offsets {dropped.first_offset} to "
                    f"{dropped.last_offset} and {have}: they may be committed"
                )

    def _is_same(self, batch: tuple[int, int], other: tuple[int, int]) -> bool:
        a, b = self.replicas[batch[0]], self.replicas[other[0]]
        return (a.first[batch[1]], a.last[batch[1]], a.identity[batch[1]]) == (
            b.first[other[1]],
            b.last[other[1]],
            b.identity[other[1]],
        )


_Common = tuple[int, int, tuple[tuple[int, Hole], ...]]


def _common(ranges: Sequence[_Common], holes: Sequence[Hole], number: int) -> Iterator[_Common]:
    """The parts of ranges that are in holes of one more replica; both ascend."""
    begin = 0
    for first, last, before in ranges:
        while begin < len(holes) and holes[begin].last < first:
            begin += 1
        index = begin
        while index < len(holes) and holes[index].first <= last:
            hole = holes[index]
            yield max(first, hole.first), min(last, hole.last), (*before, (number, hole))
            index += 1


def compare_batches(replicas: Sequence[Replica], batch: tuple[int, int], other: tuple[int, int]) -> str:
    """How two batches with the same offsets and different bytes differ.

    Returns: `recompressed` for equal records; `compacted` if offsets of one or both were
    removed and the rest agrees; `different
    records`; `unreadable records`.
    """
    try:
        rows = [
            {
                record.offset: (record.timestamp, record.key, record.value, tuple(record.headers))
                for record in replicas[number].batch(index).records(control=True)
            }
            for number, index in (batch, other)
        ]
    except FormatError:
        return "unreadable records"
    if rows[0] == rows[1]:
        return "recompressed"
    both = rows[0].keys() & rows[1].keys()
    span = replicas[batch[0]].last[batch[1]] - replicas[batch[0]].first[batch[1]] + 1
    # Neither needs to have all of the other: a later pass may have removed more of one, and other tombstones.
    agree = all(rows[0][offset] == rows[1][offset] for offset in both)
    return "compacted" if agree and min(map(len, rows)) < span else "different records"


def require_one_topic(replicas: Sequence[Replica]) -> None:
    """Raises ValueError if `partition.metadata` shows that they are of different topics of one name."""
    ids: dict[UUID, Path] = {}
    for replica in replicas:
        try:
            metadata = replica.log.metadata()
        except (OSError, FormatError):
            continue
        if metadata is not None:
            ids.setdefault(metadata.topic_id, replica.path)
    if len(ids) > 1:
        listed = "; ".join(f"{path}: {identity}" for identity, path in ids.items())
        raise ValueError(f"topics of the same name, but not the same topic, by partition.metadata: {listed}")
