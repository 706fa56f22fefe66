"""The judge of the live lab sees each kind of wrong reading; no broker is needed."""

from __future__ import annotations

import live_lab
import pytest
from live_lab import Judge, Row, Sent, Wrong


def rows(name: str, sender: str, numbers: range, *, fate: str = "commit", first: int = 0) -> list[Row]:
    return [
        (first + at, live_lab.value_of(Sent(name, sender, fate, number))) for at, number in enumerate(numbers)
    ]


def before(sender: str, count: int, fate: str = "commit") -> tuple[live_lab.Numbers, live_lab.Numbers]:
    return {(sender, fate): count}, {(sender, fate): count}


def test_what_was_sent_is_right_also_where_its_start_is_deleted() -> None:
    judge = Judge()
    judge.judge("live-size", rows("live-size", "size", range(100)), before("size", 100))
    judge.judge("live-size", rows("live-size", "size", range(40, 100), first=40), before("size", 90))
    assert judge.rows == 160


def test_compaction_may_leave_out_what_is_superseded_only() -> None:
    everything = rows("live-compact", "compact", range(100))
    kept = [row for row in everything if row[0] >= 75 or row[0] % 3]
    Judge().judge("live-compact", kept, before("compact", 100))
    with pytest.raises(Wrong, match="record 80 of compact, or a newer one of its key, is missing"):
        Judge().judge("live-compact", [row for row in kept if row[0] != 80], before("compact", 100))


def test_a_key_that_was_sent_again_while_the_log_was_read_may_be_missing() -> None:
    kept = [
        row for row in rows("live-compact", "compact", range(75, 100), first=75) if row[0] not in (75, 80)
    ]
    judge = Judge(lambda topic: {("compact", "commit"): 101})
    with pytest.raises(Wrong, match="record 88"):
        judge.judge("live-compact", [row for row in kept if row[0] != 88], before("compact", 100))
    judge.judge("live-compact", kept, before("compact", 100))


def test_what_retention_has_deleted_while_it_was_read_may_be_missing() -> None:
    good = rows("live-size", "size", range(30))
    for start, fine in ((10, False), (19, False), (20, True), (25, True)):
        judge = Judge(there=lambda topic, start=start: good[start:])
        if fine:
            judge.judge("live-size", [*good[:5], *good[20:]], before("size", 30))
        else:
            with pytest.raises(Wrong, match="5 was to follow"):
                judge.judge("live-size", [*good[:5], *good[20:]], before("size", 30))
    Judge(there=lambda topic: good[10:]).judge("live-size", good[:3], before("size", 10))
    with pytest.raises(Wrong, match="11 records"):
        Judge(there=lambda topic: good[10:]).judge("live-size", good[:3], before("size", 11))


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda good: [*good[:5], *good[4:]], "offset 4 behind 4"),
        (lambda good: [*good[:5], *good[6:]], "5 was to follow"),
        (lambda good: good[:-1], "10 records of size .* were acknowledged, the last one given is 8"),
        (lambda good: [], "the last one given is None"),
        (lambda good: [(0, None), *good[1:]], "a value that was not sent"),
        (lambda good: [(0, good[0][1][:-1] + b"!"), *good[1:]], "a value that was not sent"),
        (lambda good: rows("live-time", "time", range(10)), "a record of"),
        (lambda good: rows("live-size", "size", range(10), fate="abort"), "is given as committed"),
    ],
)
def test_what_is_wrong_is_seen(wrong: object, match: str) -> None:
    good = rows("live-size", "size", range(10))
    assert callable(wrong)
    with pytest.raises(Wrong, match=match):
        Judge().judge("live-size", wrong(good), before("size", 10), committed=True)


def test_another_record_at_an_offset_that_was_read_before_is_seen() -> None:
    judge = Judge()
    judge.judge("live-size", rows("live-size", "size", range(5)), None)
    with pytest.raises(Wrong, match="and another record before"):
        judge.judge("live-size", rows("live-size", "size", range(1, 6)), None)
