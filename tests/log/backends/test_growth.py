"""Twice the input costs at most 2.3 times the work, counted in comparisons: walks do not grow as a square."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from kodec.log.batches.records import ControlRecordType
from kodec.log.directories.epochs import assign, from_start
from kodec.log.directories.producer_state import Marker, OpenTransactions
from kodec.log.files.checkpoints import LeaderEpoch


class Counted(int):
    """A number that counts how often it is compared."""

    compared: ClassVar[int] = 0

    def _counted(self, compare: Callable[[int, Any], bool], other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, int) and compare(int(self), int(other))

    def __lt__(self, other: object) -> bool:
        return self._counted(int.__lt__, other)

    def __le__(self, other: object) -> bool:
        return self._counted(int.__le__, other)

    def __gt__(self, other: object) -> bool:
        return self._counted(int.__gt__, other)

    def __ge__(self, other: object) -> bool:
        return self._counted(int.__ge__, other)

    def __eq__(self, other: object) -> bool:
        return self._counted(int.__eq__, other)

    def __hash__(self) -> int:
        return hash(int(self))


class Head:
    """What a walk needs to know of a batch."""

    def __init__(self, offset: int, producer: int, *, control: bool) -> None:
        self.base_offset = self.last_offset = Counted(offset)
        self.producer_id = producer
        self.is_transactional = True
        self.is_control = control


def transactions(count: int) -> object:
    """As many transactions, all open at once; then they end, in any order."""
    going = OpenTransactions()
    for at in range(count):
        going.take(Head(at, at, control=False), None)
    ends = list(range(count))
    random.Random(count).shuffle(ends)
    marker = Marker(ControlRecordType.COMMIT, 0, 0)
    for at, producer in enumerate(ends):
        ended = going.take(Head(count + at, producer, control=True), marker)
        assert ended is not None
        going.stable_offset(0)
    return going


def epochs(count: int) -> object:
    """As many leader epochs, ascending."""
    found: list[LeaderEpoch] = []
    for at in range(count):
        assign(found, LeaderEpoch(Counted(at), Counted(at)))
    assert len(found) == count
    return from_start(found, count // 2)


def work(walk: Callable[[int], object], count: int) -> int:
    Counted.compared = 0
    walk(count)
    return Counted.compared


@pytest.mark.parametrize("walk", [transactions, epochs])
def test_twice_the_input_is_about_twice_the_work(walk: Callable[[int], object]) -> None:
    once, twice = work(walk, 4000), work(walk, 8000)
    assert once > 0 and twice <= 2.3 * once
