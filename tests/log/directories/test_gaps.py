"""Offsets that no segment holds are lost, unless something shows that they were left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kodec
from kodec.log.omissions import Omissions
from kodec.log.verification.verify import plan_readings, verify_partition
from kodec.log.views.reading import batches_of
from kodec.log.writing.config import LogConfig
from kodec.runtime.errors import OffsetsMissing
from tests.golden import Golden
from tests.log import made as other
from tests.log.gaps import (
    CAUSES,
    OWNER,
    Cause,
    batch,
    checkpoint,
    cleaned,
    delete,
    empty,
    flip,
    log,
    made,
    replace,
    segment,
)

every = pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)


def lost_in(text: str) -> tuple[int, int]:
    first, last = re.findall(r"(\d+) to (\d+)", text)[0]
    return int(first), int(last)


@every
def test_verify_reports_what_is_lost(cause: Cause, tmp_path: Path) -> None:
    cause.make(tmp_path / OWNER)
    problems = [each for each in kodec.repair.verify(tmp_path / OWNER) if not each.note]
    found = [lost_in(str(each.have)) for each in problems if each.what == "offsets"]
    assert tuple(found) == cause.lost
    # What is explained is said too, and nothing else: both together are the gaps.
    told = [each for each in kodec.repair.verify(tmp_path / OWNER) if each.what == "offsets" and each.note]
    with kodec.PartitionLog(tmp_path / OWNER) as opened:
        begun, end = opened.segments[0].base_offset, opened.segments[-1].next_offset
        stored = {offset for each in opened.segments for offset in range(each.base_offset, each.next_offset)}
    parts = [*found, *(lost_in(str(each.have)) for each in told)]
    missing = [offset for first, last in parts for offset in range(first, last + 1)]
    assert cause.damaged or sorted([*stored, *missing]) == [*range(begun, end)]
    # a file beside the log that cannot be read is a problem of its own
    others = [each for each in problems if each.path.parent != tmp_path / OWNER]
    assert cause.damaged or len(found) + len(others) == len(problems), problems
    problems = [each for each in problems if each not in others]
    with kodec.PartitionLog(tmp_path / OWNER) as opened:
        readings = [each.read() for each in plan_readings(opened)]
        assert [each for each in verify_partition(opened, readings=readings) if not each.note] == problems


@pytest.mark.parametrize("cause", [each for each in CAUSES if not each.damaged], ids=lambda cause: cause.name)
def test_recovery_remarks_what_is_lost(cause: Cause, tmp_path: Path) -> None:
    """A broker that recovers such a log says nothing of it."""
    cause.make(tmp_path / OWNER)
    plan = kodec.repair.plan_recovery(tmp_path / OWNER)
    assert tuple((each.first_offset, each.last_offset) for each in plan.omissions) == cause.lost


@pytest.mark.parametrize("cause", [each for each in CAUSES if not each.damaged], ids=lambda cause: cause.name)
def test_a_reader_of_records_reports_what_is_lost(cause: Cause, tmp_path: Path) -> None:
    cause.make(tmp_path / OWNER)
    account = Omissions()
    with kodec.PartitionLog(tmp_path / OWNER) as opened:
        read = list(opened.records(omissions=account))
        assert tuple((each.first_offset, each.last_offset) for each in account) == cause.lost
        if cause.lost:
            # the records before the first gap are given
            before = [each for each in read if each.offset < cause.lost[0][0]]
            records = opened.records()
            assert [next(records) for _ in before] == before
            with pytest.raises(OffsetsMissing, match=f"offsets {cause.lost[0][0]} to"):
                next(records)


@pytest.mark.parametrize("cause", [each for each in CAUSES if not each.damaged], ids=lambda cause: cause.name)
def test_an_overview_is_not_clean_where_something_is_lost(cause: Cause, tmp_path: Path) -> None:
    cause.make(tmp_path / OWNER)
    with kodec.PartitionLog(tmp_path / OWNER) as opened:
        found = kodec.repair.survey(opened)
    told = [each.partition(": offsets")[2] for each in found.problems if "in no segment" in each]
    assert tuple(lost_in(each) for each in told) == cause.lost
    assert found.health == ("corrupt" if cause.lost else "clean"), found.problems


@pytest.mark.parametrize("cause", [each for each in CAUSES if not each.damaged], ids=lambda cause: cause.name)
def test_a_view_is_not_whole_where_something_is_lost(cause: Cause, tmp_path: Path) -> None:
    cause.make(tmp_path / OWNER)
    account = Omissions()
    with kodec.PartitionLog(tmp_path / OWNER) as opened:
        for _ in batches_of(opened, account):
            pass
    assert tuple((each.first_offset, each.last_offset) for each in account) == cause.lost
    assert account.is_whole == (not cause.lost)


def test_a_reader_that_begins_in_a_gap_reports_it(tmp_path: Path) -> None:
    made(delete(20))(tmp_path / OWNER)
    account = Omissions()
    with kodec.PartitionLog(tmp_path / OWNER) as opened:
        assert [each.offset for each in opened.records(23, omissions=account)] == [*range(30, 50)]
    assert [(each.first_offset, each.last_offset) for each in account] == [(23, 29)]


def test_a_reader_that_begins_behind_all_records_reports_it(tmp_path: Path) -> None:
    made(delete(30), empty(40))(tmp_path / OWNER)
    account = Omissions()
    with kodec.PartitionLog(tmp_path / OWNER) as opened:
        assert list(opened.records(30, omissions=account)) == []
    assert [(each.first_offset, each.last_offset) for each in account] == [(30, 39)]


def test_a_segment_that_goes_while_it_is_read_is_reported(tmp_path: Path) -> None:
    """A broker deletes from the start of a log, or compacts it; somebody else deletes anything."""
    made()(tmp_path / OWNER)
    account = Omissions()
    with kodec.PartitionLog(tmp_path / OWNER) as opened:
        records = opened.records(omissions=account)
        assert [next(records).offset for _ in range(15)] == [*range(15)]
        delete(20)(tmp_path / OWNER)
        assert [each.offset for each in records] == [*range(15, 20), *range(30, 50)]
    assert [(each.first_offset, each.last_offset) for each in account] == [(20, 29)]


def test_a_last_offset_that_is_the_next_base_offset_is_a_problem(tmp_path: Path) -> None:
    made(replace(10, batch(range(10, 21))))(tmp_path / OWNER)
    (problem,) = [each for each in kodec.repair.verify(tmp_path / OWNER) if each.what == "last offset"]
    assert (problem.need, problem.have) == ("less than 20, the next segment's", 20)


@pytest.mark.parametrize(
    "cause",
    [
        each
        for each in CAUSES
        if not each.damaged and (not each.lost or "up to" in each.name or "last offset" in each.name)
    ],
    ids=lambda cause: cause.name,
)
def test_salvage_and_convert_keep_what_is_lost_lost(cause: Cause, tmp_path: Path) -> None:
    """What the new folder has is what a verification reports about it as of the old one."""
    cause.make(tmp_path / "in" / OWNER)
    report = kodec.repair.plan_salvage(tmp_path / "in" / OWNER, tmp_path / "salvaged" / OWNER).apply()
    assert tuple((each.first_offset, each.last_offset) for each in report.missing) == cause.lost
    for magic in (1, 2):
        converted = tmp_path / f"v{magic}" / OWNER
        done = kodec.operations.plan_conversion(
            tmp_path / "in" / OWNER, converted, kodec.operations.ConvertOptions(magic=magic)
        ).apply()
        assert tuple(done.lost_offsets) == cause.lost
    # What waits for its deletion does not go along, and the conversion to magic 1 shows what it has left out.
    for target in ("v1",) if any((tmp_path / "in" / OWNER).glob("*.deleted")) else ("salvaged", "v1", "v2"):
        found = [each for each in kodec.repair.verify(tmp_path / target / OWNER) if not each.note]
        assert tuple(lost_in(str(each.have)) for each in found) == cause.lost, target


def test_a_conversion_says_what_it_has_left_out(tmp_path: Path, golden: Golden) -> None:
    """Control batches at the ends of segments have no place in magic 1; a lost segment stays lost."""
    folder = tmp_path / "in" / OWNER
    for base in range(0, 50, 10):
        end = other.marker(base + 9, 7, commit=True)
        data = other.batch(base, [(b"k", b"v")] * 9, producer=(7, 0, base), transactional=True)
        segment(folder, base, data, end)
    log(folder, 20).unlink()
    target = tmp_path / "out" / OWNER
    report = kodec.operations.plan_conversion(
        folder, target, kodec.operations.ConvertOptions(magic=1)
    ).apply()
    assert (report.lost_offsets, report.end_segment) == ([(20, 29)], 50)
    golden((target / "kodec-omitted-offsets").read_text())
    found = [each for each in kodec.repair.verify(target) if each.what == "offsets"]
    assert [lost_in(str(each.have)) for each in found if not each.note] == [(20, 29)]
    assert [lost_in(str(each.have)) for each in found if each.note] == [(9, 9), (19, 19), (39, 39), (49, 49)]
    # what was left out once stays so
    again = tmp_path / "again" / OWNER
    kodec.operations.plan_conversion(
        target, again, kodec.operations.ConvertOptions(magic=2, compression="gzip")
    ).apply()
    kodec.repair.plan_salvage(again, tmp_path / "salvaged" / OWNER).apply()
    for each in (again, tmp_path / "salvaged" / OWNER):
        assert [lost_in(str(one.have)) for one in kodec.repair.verify(each) if not one.note] == [(20, 29)]


def test_a_new_folder_has_no_checkpoint_of_a_log_that_was_there_before(tmp_path: Path) -> None:
    made(delete(20))(tmp_path / "in" / OWNER)
    target = tmp_path / "out" / OWNER
    target.parent.mkdir()
    checkpoint(target, "cleaner-offset-checkpoint", ("other 3", 7), ("topic 0", 50))
    kodec.repair.plan_salvage(tmp_path / "in" / OWNER, target).apply()
    assert (target.parent / "cleaner-offset-checkpoint").read_text() == "0\n1\nother 3 7\n"


def test_a_replica_that_is_not_live_has_no_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / f"{OWNER}.{'0' * 32}-delete"
    made(delete(20), cleaned(50))(folder)
    found = [each for each in kodec.repair.verify(folder) if not each.note]
    assert [lost_in(str(each.have)) for each in found] == [(20, 29)]


@pytest.mark.parametrize("last", [15, 19])
def test_salvage_reports_damage_and_what_follows_it_once(last: int, tmp_path: Path) -> None:
    """Offsets that a damaged end may hold are those up to the next segment."""
    folder = tmp_path / "in" / OWNER
    made(replace(10, batch(range(10, last)), batch(range(last, 20))))(folder)
    flip(10, -1, 0x01)(folder)
    report = kodec.repair.plan_salvage(folder, tmp_path / "out" / OWNER).preview()
    assert [(each.first_offset, each.last_offset) for each in report.missing] == [(last, 19)]
    delete(30)(folder)
    report = kodec.repair.plan_salvage(folder, tmp_path / "out" / OWNER).preview()
    found = [(each.first_offset, each.last_offset) for each in report.missing]
    assert found == [(last, 19), (30, 39)]


def test_what_follows_a_loss_is_not_compared_with_snapshots(tmp_path: Path) -> None:
    """A transaction that began in what is lost is no second problem; one in what is there is."""
    folder = tmp_path / OWNER
    with kodec.LogWriter(folder, config=LogConfig(segment_bytes=200)) as writer:
        for at in range(12):
            data = other.batch(at, [(b"k", b"v")], producer=(at // 3, 0, at), transactional=True)
            writer.append(data, keep_offsets=True)
    with kodec.PartitionLog(folder) as opened:
        middle = opened.segments[2]
        after = opened.segments[3].base_offset
    assert [each for each in kodec.repair.verify(folder) if not each.note] == []
    for path in folder.glob(f"{middle.base_offset:020d}.*"):
        path.unlink()
    (problem,) = [each for each in kodec.repair.verify(folder) if not each.note]
    assert lost_in(str(problem.have)) == (middle.base_offset, after - 1)


def test_a_compaction_does_not_hide_what_is_lost(tmp_path: Path) -> None:
    """Its checkpoint would explain what lies below: it refuses, or leaves the gap unexplained."""
    made(delete(20))(tmp_path / OWNER)
    with pytest.raises(OffsetsMissing) as caught:
        kodec.operations.plan_compaction(tmp_path / OWNER).apply()
    assert (caught.value.first, caught.value.last) == (20, 29)
    kodec.operations.plan_compaction(tmp_path / OWNER, over_gaps=True).apply()
    assert [
        lost_in(each.have)
        for each in kodec.repair.verify(tmp_path / OWNER)
        if each.what == "offsets" and not each.note
    ] == [(20, 29)]
