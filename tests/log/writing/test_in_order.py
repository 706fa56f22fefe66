"""Whether batches follow one another, by their heads alone: the native walk and the pure one."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import kodec
from kodec.log import kernel
from kodec.log.backends.pure.order import in_order as pure
from kodec.log.batches.format import Number
from kodec.log.batches.sizes import HEADS, LENGTH, MAGIC, OFFSET

InOrder = Callable[[bytes, int, int, int, int, bool], tuple[int, int, bool]]
WALKS: list[InOrder] = [pure]
if kernel.is_built():
    from kodec.log.backends.native.order import in_order as native

    WALKS.append(native)

MOST = 1 << 40


@pytest.fixture(params=WALKS, ids=lambda walk: walk.__module__.split(".")[-2])
def walk(request: pytest.FixtureRequest) -> InOrder:
    found: InOrder = request.param
    return found


def batch(first: int, count: int, magic: int = 2, last: int | None = None) -> bytes:
    """A batch of this many records, up to `last` if that is given; of magic 0 and 1, so many messages."""
    records = [kodec.Record(offset=first + at, timestamp=1 if magic else -1) for at in range(count)]
    if last is not None:
        records[-1].offset = last
    return kodec.encode(records, magic=magic)


def test_batches_one_after_another_are_passed(walk: InOrder) -> None:
    data = batch(5, 10) + batch(15, 1) + batch(16, 3)
    assert walk(data, 0, len(data), 4, MOST, False) == (len(data), 18, False)
    legacy = batch(5, 2, magic=0) + batch(7, 3, magic=1)
    assert walk(legacy, 0, len(legacy), 4, MOST, False) == (len(legacy), 9, True)


def test_offsets_that_no_record_has_are_told(walk: InOrder) -> None:
    data = batch(0, 2, last=9)
    assert walk(data, 0, len(data), -1, MOST, False) == (len(data), 9, True)


def test_it_stops_before_what_is_to_be_looked_at(walk: InOrder) -> None:
    one, two = batch(0, 10), batch(10, 10)
    done = len(one)
    assert walk(one + two, 0, done + len(two) - 1, -1, MOST, False) == (done, 9, False)
    assert walk(one + one, 0, 2 * done, -1, MOST, False) == (done, 9, False)
    assert walk(one + two, 0, done + len(two), -1, 18, False) == (done, 9, False)
    assert walk(one + two, 0, done + len(two), -1, 19, False)[1] == 19
    assert walk(one + two, 0, done + len(two), 0, MOST, False) == (0, 0, False)
    assert walk(one + bytes(99), 0, done + 99, -1, MOST, False) == (done, 9, False)


def test_a_gap_is_passed_where_the_batch_behind_agrees(walk: InOrder) -> None:
    one, far, last = batch(0, 2), batch(10, 2), batch(12, 1)
    data = one + far + last
    assert walk(data, 0, len(data), -1, MOST, False) == (len(one), 1, False)
    assert walk(data, 0, len(data), -1, MOST, True) == (len(data), 12, True)
    # nothing is after it
    assert walk(data, 0, len(one + far), -1, MOST, True) == (len(one), 1, False)
    data = one + far + batch(11, 1)
    assert walk(data, 0, len(data), -1, MOST, True) == (len(one), 1, False)


@pytest.mark.parametrize(
    "field", [OFFSET, LENGTH, MAGIC, HEADS[2].last_delta, HEADS[2].count], ids=lambda each: f"at {each.at}"
)
def test_both_say_the_same_of_any_head(field: Number) -> None:
    if len(WALKS) < 2:
        pytest.skip("the native kernel is not built")
    draw = random.Random(field.at)
    edges = [0, 1, 2, 3, 9, 10, 13, 14, 49, 61, 127, field.most - 12, field.most - 1, field.most]
    for _ in range(400):
        parts, at = [], 0
        for _ in range(draw.randrange(1, 5)):
            count = draw.randrange(1, 4)
            parts.append(bytearray(batch(at, count, draw.choice((0, 1, 2, 2, 2)))))
            at += count + draw.choice((0, 0, 0, 1, 7))
        for part in draw.sample(parts, draw.randrange(len(parts) + 1)):
            if len(part) >= field.at + field.size:
                value = draw.choice(edges) * draw.choice((1, 1, 1, -1))
                field.put(part, min(value, field.most))
        data = b"".join(parts)
        end = draw.choice((len(data), len(data), draw.randrange(len(data) + 1)))
        asked = (data, 0, end, draw.choice((-1, -1, 0, 2)), draw.choice((MOST, 3, 8)), draw.random() < 0.5)
        first, second = (walk(*asked) for walk in WALKS)
        assert first == second, asked
