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

    def __init__(self, replicas: Sequence[Replica], chosen: int | None = None) -> None:
        self.replicas = replicas
        self.lineage: Lineage = lineage_of(replicas, chosen)
        self._is_chosen = chosen is not None
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
                each.high_watermark or 0
                for each, end in zip(replicas, self.lineage.ends, strict=True)
                if end == NO_END
            ),
            default=0,
        )
        self.start_offset = max(
            (each.given_start for each in replicas if each.given_start <= self.end_offset), default=0
        )
        self._find_missing()
        self.dropped = [each for number in range(len(replicas)) for each in self._dropped(number)]
        if self.dropped and self.lineage.unsure:
            self.conflicts.append(f"{self.lineage.unsure}, and it decides what is dropped")
        if self.lineage.empty and not self._is_chosen:
            self.conflicts += self._perhaps_committed()
        self.dropped += self._erased

    def __len__(self) -> int:
        return len(self.replica)

    def _last(self, at: int) -> int:
        return self.replicas[self.replica[at]].last[self.number[at]]

    def at(self, offset: int) -> tuple[int, int] | None:
        """The replica and number of the chosen batch that has an offset."""
        at = bisect_left(range(len(self)), offset, key=self._last)
        return (self.replica[at], self.number[at]) if at < len(self) and self._first(at) <= offset else None

    def next_at(self, offset: int) -> int | None:
        """The first offset of a chosen batch from `offset` on."""
        at = bisect_left(range(len(self)), offset, key=self._last)
        return max(self._first(at), offset) if at < len(self) else None

    def _first(self, at: int) -> int:
        return self.replicas[self.replica[at]].first[self.number[at]]

    # -- the choice -------------------------------------------------------------------------------

    def _choose(self) -> None:
        replicas = self.replicas
        at = [0] * len(replicas)
        ends = [
            bisect_left(each.last, min(end, NO_END - 1))
            for each, end in zip(replicas, self.lineage.ends, strict=True)
        ]
        while True:
            heads = [number for number in self.order if at[number] < ends[number]]
            if not heads:
                return
            low = min(replicas[number].first[at[number]] for number in heads)
            reached = max(
                replicas[number].last[at[number]]
                for number in heads
                if replicas[number].first[at[number]] == low
            )
            found: dict[int, list[int]] = {}
            grown = True
            while grown:
                grown = False
                for number in heads:
                    each = replicas[number]
                    while at[number] < ends[number] and each.first[at[number]] <= reached:
                        found.setdefault(number, []).append(at[number])
                        reached = max(reached, each.last[at[number]])
                        at[number] += 1
                        grown = True
            places = {number: found[number] for number in self.order if number in found}
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
        if all(each.omitted is None for each in self.replicas):
            return places
        kept: dict[int, list[int]] = {}
        doubtful: list[tuple[int, int, str]] = []
        for number, numbers in places.items():
            for at in numbers:
                erased, of, whole = self._erased_in(number, at)
                if not erased:
                    kept.setdefault(number, []).append(at)
                    continue
                each = self.replicas[number]
                why = f"{of.path} lists offsets {erased[0]} to {erased[-1]} in {OMITTED_OFFSETS}"
                self._erased.append(Dropped(each.path, each.first[at], each.last[at], 1, why))
                if not whole:
                    doubtful.append((number, at, why))
        for number, at, why in doubtful:
            each = self.replicas[number]
            has_other = any(
                self.replicas[other].first[one] <= each.first[at]
                and each.last[at] <= self.replicas[other].last[one]
                for other, numbers in kept.items()
                for one in numbers
            )
            if not has_other:
                text = f"{each.place(at)}: it holds other records too, which are on no other replica"
                self.conflicts.append(f"{why}; {text}: redact it first")
        return kept

    def _erased_in(self, number: int, at: int) -> tuple[list[int], Replica, bool]:
        """The offsets of a batch's records that another replica omits, which one, and if they are all."""
        replica = self.replicas[number]
        first, last = replica.first[at], replica.last[at]
        for other in self.replicas:
            ranges = other.omits(first, last) if other is not replica else []
            if ranges:
                try:
                    offsets = [each.offset for each in replica.batch(at).records(control=True)]
                except FormatError:
                    continue
                erased = [each for each in offsets if any(low <= each <= high for low, high in ranges)]
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
        for place in places:
            contents.setdefault(self.replicas[place[0]].identity[place[1]], []).append(place)
        if len(contents) == 1:
            return self._with_right_epoch(places)
        most = max(self.replicas[number].count[at] for number, at in places)
        fullest = [same for same in contents.values() if self.replicas[same[0][0]].count[same[0][1]] == most]
        votes = max(map(len, fullest))
        best = [same for same in fullest if len(same) == votes]
        chosen = best[0][0]
        for same in contents.values():
            other = same[0]
            if other == chosen or same is best[0]:
                continue
            relation = compare_batches(self.replicas, chosen, other)
            if relation in ("recompressed", "compacted"):
                continue
            outvoted = len(same) < len(best[0])
            if not outvoted and not (self._is_chosen and chosen[0] == self.lineage.winner):
                both = (self.replicas[number].place(at) for number, at in (chosen, other))
                self.conflicts.append(f"{' and '.join(both)}: {relation}, and no leader epoch decides")
        return self._with_right_epoch(best[0])

    def _with_right_epoch(self, same: list[tuple[int, int]]) -> tuple[int, int]:
        """Of equal batches the first whose header has the epoch of the lineage."""
        number, at = same[0]
        epoch = epoch_at(self.lineage.epochs, self.replicas[number].first[at])
        for place in same:
            if self.replicas[place[0]].epoch[place[1]] == epoch:
                return place
        return same[0]

    def _take_overlapping(self, places: dict[int, list[int]]) -> None:
        """Batches with different boundaries: those of the replica with the most records, then what fits."""

        def records(number: int) -> int:
            return sum(self.replicas[number].count[at] for at in places[number])

        taken: list[tuple[int, int, int, int]] = []
        for number in sorted(places, key=records, reverse=True):
            each = self.replicas[number]
            for at in places[number]:
                first, last = each.first[at], each.last[at]
                if all(last < low or high < first for low, high, _, _ in taken):
                    taken.append((first, last, number, at))
                elif not any(low <= first and last <= high for low, high, _, _ in taken):
                    why = (f"{each.place(at)}: offsets {first} to {last} overlap batches of another replica",)
                    self.missing.append(MissingRange(each.path, 0, 0, first, last, why))
        for _, _, number, at in sorted(taken):
            self._take(number, at)

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
            left = {number: self._bytes_left(number, hole) for number, hole in holes} if is_tail else {}
            if is_tail and not any(left.values()):
                if first < self.high_watermark:
                    why = (f"below the high watermark {self.high_watermark}", *self._reasons(holes))
                    self._miss(first, self.high_watermark - 1, why)
                continue
            more = [
                f"{self.replicas[number].path}: {size} bytes after what others have"
                for number, size in left.items()
                if size
            ]
            self._miss(first, None if is_tail else last, (*self._reasons(holes), *more))
        self.missing.sort(key=lambda each: each.first_offset or 0)

    def _bytes_left(self, number: int, hole: Hole) -> int:
        """The damaged bytes at the end of a replica that the chosen batches do not account for."""
        if hole.kind in _TAILS:
            return 0
        at = bisect_left(range(len(self)), hole.first, key=self._last)
        there = sum(
            self.replicas[self.replica[each]].size[self.number[each]] for each in range(at, len(self))
        )
        return max(self.replicas[number].bytes_after - there, 0)

    def _reasons(self, holes: Sequence[tuple[int, Hole]]) -> tuple[str, ...]:
        return tuple(f"{self.replicas[number].path}: {hole.reason}" for number, hole in holes)

    def _miss(self, first: int, last: int | None, why: tuple[str, ...]) -> None:
        path = self.replicas[self.lineage.winner].path
        self.missing.append(MissingRange(path, 0, 0, first, last, why, Cause.MISSING))

    def numbers_dropped(self, number: int) -> Iterator[int]:
        """The batches of a replica that do not count, by their numbers."""
        each, end = self.replicas[number], self.lineage.ends[number]
        for at in range(bisect_left(each.last, min(end, NO_END - 1)), len(each)):
            chosen = self.at(each.first[at])
            if chosen is None or not self._is_same(chosen, (number, at)):
                yield at

    def _dropped(self, number: int) -> Iterator[Dropped]:
        each, end = self.replicas[number], self.lineage.ends[number]
        begin = bisect_left(each.last, min(end, NO_END - 1))
        numbers = list(self.numbers_dropped(number))
        if not numbers:
            return
        first, last, batches = each.first[numbers[0]], each.last[numbers[-1]], len(numbers)
        epoch = epoch_at(self.lineage.epochs, first)
        have = each.epoch[begin]
        reason = f"leader epoch {have}, where {epoch} of {self.replicas[self.lineage.winner].path} counts"
        if each.high_watermark is not None:
            below = max(min(each.high_watermark, last + 1) - first, 0)
            reason += (
                f"; offsets up to {first + below - 1} are below its high watermark: "
                f"an unclean election has lost committed records"
                if below
                else "; above its high watermark, which brokers write every few seconds"
            )
        yield Dropped(each.path, first, last, batches, reason)

    def _perhaps_committed(self) -> Iterator[str]:
        """Why batches that an epoch without any would drop may be committed ones, which nothing replaces."""
        for each in self.dropped:
            (replica,) = (one for one in self.replicas if one.path == each.path)
            watermark = replica.high_watermark
            if watermark is None or each.first_offset < watermark:
                have = "no high watermark" if watermark is None else f"the high watermark {watermark}"
                yield (
                    f"{self.lineage.empty}, but {each.path} has offsets {each.first_offset} to "
                    f"{each.last_offset} and {have}: they may be committed"
                )

    def _is_same(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        a, b = self.replicas[one[0]], self.replicas[other[0]]
        return (a.first[one[1]], a.last[one[1]], a.identity[one[1]]) == (
            b.first[other[1]],
            b.last[other[1]],
            b.identity[other[1]],
        )


_Common = tuple[int, int, tuple[tuple[int, Hole], ...]]


def _common(found: Sequence[_Common], holes: Sequence[Hole], number: int) -> Iterator[_Common]:
    """The parts of ranges that are in holes of one more replica; both ascend."""
    begin = 0
    for first, last, before in found:
        while begin < len(holes) and holes[begin].last < first:
            begin += 1
        at = begin
        while at < len(holes) and holes[at].first <= last:
            hole = holes[at]
            yield max(first, hole.first), min(last, hole.last), (*before, (number, hole))
            at += 1


def compare_batches(replicas: Sequence[Replica], one: tuple[int, int], other: tuple[int, int]) -> str:
    """How two batches with the same offsets and different bytes differ.

    Returns: `recompressed` for equal records; `compacted` if offsets of one or both were
    removed and the rest agrees; `different
    records`; `unreadable records`.
    """
    try:
        rows = [
            {
                record.offset: (record.timestamp, record.key, record.value, tuple(record.headers))
                for record in replicas[number].batch(at).records(control=True)
            }
            for number, at in (one, other)
        ]
    except FormatError:
        return "unreadable records"
    if rows[0] == rows[1]:
        return "recompressed"
    both = rows[0].keys() & rows[1].keys()
    span = replicas[one[0]].last[one[1]] - replicas[one[0]].first[one[1]] + 1
    # Neither needs to have all of the other: a later pass may have removed more of one, and other tombstones.
    agree = all(rows[0][offset] == rows[1][offset] for offset in both)
    return "compacted" if agree and min(map(len, rows)) < span else "different records"


def require_one_topic(replicas: Sequence[Replica]) -> None:
    """Raises ValueError if `partition.metadata` shows that they are of different topics of one name."""
    ids: dict[UUID, Path] = {}
    for each in replicas:
        try:
            metadata = each.log.metadata()
        except (OSError, FormatError):
            continue
        if metadata is not None:
            ids.setdefault(metadata.topic_id, each.path)
    if len(ids) > 1:
        listed = "; ".join(f"{path}: {identity}" for identity, path in ids.items())
        raise ValueError(f"topics of the same name, but not the same topic, by partition.metadata: {listed}")
