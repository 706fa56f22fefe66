"""Which segment counts at which offset: recorded answers of Kafka's own cache."""

from __future__ import annotations

import gzip

import pytest

from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.remote.lineage import CopiedSegment, CopyState, Part, RemoteSegments, are_in_order
from tests.data import DATA

RECORDED = DATA / "remote-segments.txt.gz"


def segment(name: str, first: int, last: int, *epochs: tuple[int, int]) -> CopiedSegment:
    return CopiedSegment(name, first, last, tuple(LeaderEpoch(*each) for each in epochs))


@pytest.mark.quick
def test_histories_give_what_kafka_returned() -> None:
    lines, _, answers = gzip.decompress(RECORDED.read_bytes()).decode().partition("\n\n")
    expected = iter(answers.split())
    known = RemoteSegments()
    asked = found = 0
    for line in lines.split("\n"):
        event, *words = line.split(" ")
        if event == "new":
            known = RemoteSegments()
        elif event == "begin":
            pairs = [each.split(":") for each in words[3].split(",")]
            known.begin(
                segment(
                    words[0], int(words[1]), int(words[2]), *((int(one), int(other)) for one, other in pairs)
                )
            )
        elif event == "change":
            known.change(words[0], CopyState(int(words[1])))
        else:
            at = known.at(int(words[0]), int(words[1]))
            assert ("-" if at is None else at.segment_id) == next(expected), line
            asked, found = asked + 1, found + (at is not None)
    assert next(expected, None) is None
    assert asked > 10_000
    assert found > 2_000


def test_parts_are_what_is_returned_offset_by_offset() -> None:
    """Each part has the offsets for which `at` returns its segment, and no other."""
    lines, _, _ = gzip.decompress(RECORDED.read_bytes()).decode().partition("\n\n")
    known = RemoteSegments()
    checked = 0
    for line in [*lines.split("\n"), "new"]:
        event, *words = line.split(" ")
        if event == "begin":
            pairs = [each.split(":") for each in words[3].split(",")]
            known.begin(
                segment(
                    words[0], int(words[1]), int(words[2]), *((int(one), int(other)) for one, other in pairs)
                )
            )
        elif event == "change":
            known.change(words[0], CopyState(int(words[1])))
        elif event == "new":
            lineage = known.lineage()
            ends = [*(each.start_offset for each in lineage[1:]), 1 << 63]
            stop = max((each.end_offset for each in known.finished()), default=0) + 2
            by_offset = {}
            for (epoch, start), end in zip(lineage, ends, strict=False):
                for offset in range(start, min(end, stop)):
                    if (at := known.at(epoch, offset)) is not None:
                        by_offset[offset] = at.segment_id
            parts = known.parts(lineage)
            assert {
                offset: each.segment.segment_id
                for each in parts
                for offset in range(each.first, each.last + 1)
            } == by_offset
            assert sorted(parts, key=lambda each: each.first) == parts
            checked += len(parts)
            known = RemoteSegments()
    assert checked > 100


def test_a_later_leader_copies_the_same_again() -> None:
    one, other = segment("one", 0, 99, (0, 0)), segment("other", 50, 150, (0, 50), (1, 100))
    known = RemoteSegments.copied([one, other])
    line = [LeaderEpoch(0, 0), LeaderEpoch(1, 100)]
    assert known.parts(line) == [Part(one, 0, 49), Part(other, 50, 150)]
    assert known.parts(line, 20, 120) == [Part(one, 20, 49), Part(other, 50, 119)]
    assert not are_in_order(known.finished())
    known.change("other", CopyState.DELETE_STARTED)
    assert known.parts(line) == [Part(one, 0, 99)]
    assert known.newest() == one


def test_what_an_election_has_lost_does_not_count() -> None:
    old, lost, new = (
        segment("old", 0, 9, (0, 0)),
        segment("lost", 10, 29, (0, 10)),
        segment("new", 15, 40, (2, 15)),
    )
    known = RemoteSegments.copied([old, lost, new])
    assert known.lineage() == [LeaderEpoch(0, 0), LeaderEpoch(2, 15)]
    assert known.parts(known.lineage()) == [Part(old, 0, 9), Part(lost, 10, 14), Part(new, 15, 40)]


def test_segments_in_order_all_count() -> None:
    found = [
        segment("a", 0, 9, (0, 0)),
        segment("b", 10, 19, (0, 10), (3, 12)),
        segment("c", 25, 30, (3, 25)),
    ]
    assert are_in_order(found)
    assert not are_in_order([*found, segment("d", 31, 40, (1, 31))])
