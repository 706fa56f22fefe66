"""A redaction erases what a search finds, in closed segments, and nothing else."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.log.cleaning.compaction import plan_compaction
from kodec.log.cleaning.redaction import RedactionReport, plan_redaction
from kodec.log.cleaning.remains import Place
from kodec.log.recovery.planning import plan_recovery
from kodec.log.verification.verify import verify_partition
from kodec.runtime.errors import ArgumentError, FormatError, OffsetsMissing, StalePlan
from tests.golden import Golden
from tests.log import made, wire
from tests.log.cleaning.stopping import STARTS, Stopped, stopping
from tests.log.cleaning.test_compaction import build, logs
from tests.log.made import batch, marker

KEY_A = kodec.RecordFilter(keys=b"a")
SECRET = b"the secret value"
SAME = (
    "base_offset",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "is_transactional",
    "is_control",
    "partition_leader_epoch",
)


def redacted(folder: Path, wanted: kodec.RecordFilter) -> RedactionReport:
    """Redact, after a dry run that has said the same; what is left is a log without a problem."""
    before = made.files(folder)
    told = plan_redaction(folder, wanted).preview()
    assert made.files(folder) == before
    done = plan_redaction(folder, wanted).apply()
    assert (done.records, done.segments, done.deleted_files, [each.path for each in done.left]) == (
        told.records,
        told.segments,
        told.deleted_files,
        [each.path for each in told.left],
    )
    assert [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note] == []
    assert not list(folder.glob("*.deleted")) + list(folder.glob("*.swap")) + list(folder.glob("*.cleaned"))
    return done


def transactional(folder: Path) -> Path:
    """Producers 7 (commits, aborts), 8 (idempotent) and 9 (still open), keys a and b, one record of each."""
    two = [(b"a", SECRET), (b"b", b"1")]
    return made.make(
        folder,
        [
            (
                0,
                [
                    batch(0, two, producer=(7, 0, 0), transactional=True, codec="gzip"),
                    marker(2, 7, commit=True),
                ],
            ),
            (
                3,
                [
                    batch(3, [(b"a", SECRET)], producer=(7, 0, 2), transactional=True, codec="zstd"),
                    marker(4, 7, commit=False),
                    batch(5, [(b"a", SECRET)], producer=(8, 0, 0)),
                    batch(6, [(b"a", SECRET)]),
                    batch(7, [(b"b", b"2")]),
                ],
            ),
            (8, [batch(8, [(b"a", SECRET)], producer=(9, 0, 0), transactional=True), batch(9, two)]),
            (11, [batch(11, two)]),
        ],
        aborted=[(7, 3, 4)],
    )


@pytest.mark.thorough
@given(logs, st.sampled_from([b"a", b"b", b""]))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_what_a_search_finds_goes_and_the_rest_stays(wanted: list[object], key: bytes) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "topic-0"
        end = build(folder, wanted)
        before = made.rows(folder)
        report = redacted(folder, kodec.RecordFilter(keys=key))
        gone = [each for each in before if each.key == key and each.offset < end]
        assert made.rows(folder) == [each for each in before if each not in gone]
        assert report.records == len(gone)
        assert sum(each.records for each in report.left) == sum(
            each.key == key and each.offset >= end for each in before
        )


def test_producers_transactions_and_epochs_stay(tmp_path: Path) -> None:
    folder = transactional(tmp_path / "topic-0")
    with kodec.PartitionLog(folder) as log:
        stable, end, heads = log.last_stable_offset, log.end_offset, [head for _, head in log.headers()]
    aborted = (folder / f"{3:020d}.txnindex").read_bytes()
    report = redacted(folder, KEY_A)
    assert (report.records, report.rewritten, report.emptied, report.removed) == (6, 2, 3, 1)
    with kodec.PartitionLog(folder) as log:
        assert (log.last_stable_offset, log.end_offset) == (stable, end)
        after = {head.last_offset: head for _, head in log.headers()}
        # The one without a producer went. Those of 7 and 8 are their last ones, and that of 9 is undecided.
        assert [head.last_offset for head in heads if head.last_offset not in after] == [6]
        for head in heads:
            if (now := after.get(head.last_offset)) is not None:
                for name in SAME:
                    assert getattr(now, name) == getattr(head, name), name
        assert [each.key for each in log.records() if each.offset < 11] == [b"b", b"b", b"b"]
    assert (folder / f"{3:020d}.txnindex").read_bytes() == aborted
    assert [each.place for each in report.left] == [Place.ACTIVE]
    assert SECRET not in b"".join(path.read_bytes() for path in folder.glob(f"{5:020d}*"))


def test_a_batch_without_a_match_keeps_its_bytes(tmp_path: Path) -> None:
    kept = batch(2, [(b"b", b"a"), (b"c", None)], codec="lz4")
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 2), kept]), (4, [])])
    redacted(folder, KEY_A)
    assert (folder / f"{0:020d}.log").read_bytes() == kept


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_other_files_that_hold_it_are_named(tmp_path: Path, codec: str) -> None:
    root = tmp_path / "logs"
    data = batch(0, [(b"a", SECRET), (b"b", b"2")], codec=codec)
    folder = made.make(root / "topic-0", [(0, [data]), (2, [])])
    (folder / f"{0:020d}.log.deleted").write_bytes(data)
    (folder / f"{0:020d}.index.deleted").write_bytes(b"")
    (folder / "notes.txt").write_bytes(b"we saw " + SECRET)
    stray = made.make(root / f"topic-0.{'0' * 32}-stray", [(0, [data])])
    made.make(root / "topic-1", [(0, [data]), (2, [])])
    report = redacted(folder, kodec.RecordFilter(value_contains=SECRET))
    assert report.records == 1 and len(report.deleted_files) == 2
    assert {(each.path, each.records) for each in report.left} == {
        (folder / "notes.txt", 0),
        (stray / f"{0:020d}.log", 1),
    }
    assert [each.value for each in made.rows(folder)] == [b"2"]
    again = plan_redaction(folder, kodec.RecordFilter(value_contains=SECRET)).preview()
    assert not again.has_changes and len(again.left) == 2


def test_bytes_in_other_records_are_no_match(tmp_path: Path) -> None:
    data = [batch(0, [(b"42", b"1")]), batch(1, [(b"x", b"142 and 42")], codec="gzip")]
    folder = made.make(tmp_path / "topic-0", [(0, data), (2, [])])
    report = redacted(folder, kodec.RecordFilter(keys=b"42"))
    assert report.records == 1 and not report.left
    assert [each.others for each in report.holders] == [1]


def test_what_is_damaged_may_hold_it(tmp_path: Path) -> None:
    data = bytearray(batch(2, [(b"a", SECRET)]))
    data[-2] ^= 1
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"b", b"1")])]), (3, [])])
    log = folder / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + data)
    report = plan_redaction(folder, KEY_A).preview()
    assert not report.has_changes
    assert "no sound batch" in report.left[0].problem
    assert "the bytes that are searched for are in it" in report.left[0].problem
    log.write_bytes(batch(0, [(b"a", b"1")]) + data)
    before = made.files(folder)
    with pytest.raises(FormatError):
        plan_redaction(folder, KEY_A).apply()
    assert made.files(folder) == before


def test_below_the_start_offset_too(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"a", SECRET), (b"b", b"1")] * 2)]), (4, [])])
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\ntopic 0 3\n")
    assert redacted(folder, KEY_A).records == 2
    assert SECRET not in (folder / f"{0:020d}.log").read_bytes()


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_that_loses_the_end_of_a_segment(tmp_path: Path, magic: int) -> None:
    data = batch(0, [(b"b", b"1"), (b"a", SECRET)], codec="gzip", magic=magic)
    folder = made.make(tmp_path / "topic-0", [(0, [data]), (2, [])])
    redacted(folder, KEY_A)
    with kodec.PartitionLog(folder) as log:
        found = [(each.magic, each.base_offset, each.last_offset, each.count) for each in log.batches()]
    assert found == [(magic, 0, 0, 1), (2, 1, 1, 0)]


@STARTS
def test_stopped_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[Path], None]
) -> None:
    source = transactional(tmp_path / "source" / "topic-0")
    old = made.rows(source)
    whole = tmp_path / "whole" / "topic-0"
    shutil.copytree(source, whole)
    plan_redaction(whole, KEY_A).apply()
    new = made.rows(whole)
    steps = 0
    while True:
        folder = tmp_path / f"{steps}" / "topic-0"
        shutil.copytree(source, folder)
        with monkeypatch.context() as patch:
            done = stopping(patch, steps)
            try:
                plan_redaction(folder, KEY_A).apply()
                finished = True
            except Stopped:
                finished = False
        start(folder)
        found = made.rows(folder)
        assert [each for each in old if each in found] == found
        assert [each for each in found if each in new] == new
        assert [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note] == []
        plan_redaction(folder, KEY_A).apply()
        assert made.rows(folder) == new
        assert not kodec.PartitionLog(folder).leftovers
        if finished:
            break
        assert len(done) == steps
        steps += 1
    assert steps > 30


def test_refusals(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"a", b"1")])]), (1, [])])
    for wanted in (
        kodec.RecordFilter(),
        kodec.RecordFilter(keys=b"a", control=True),
        kodec.RecordFilter(keys=b"a", isolation="read_committed"),
    ):
        with pytest.raises(ArgumentError):
            plan_redaction(folder, wanted)
    plan = plan_redaction(folder, KEY_A)
    (folder / f"{1:020d}.log").write_bytes(batch(1, [(b"a", b"2")]))
    with pytest.raises(StalePlan):
        plan.apply()
    stray = made.make(tmp_path / f"topic-0.{'0' * 32}-stray", [(0, [])])
    with pytest.raises(ValueError, match="stray replica is not changed"):
        plan_redaction(stray, KEY_A).preview()


# -- what is not erased is named -----------------------------------------------------------------------


def bomb(offset: int) -> bytes:
    """A batch whose records are over the limit of `LIMITS`."""
    return batch(offset, [(b"a", bytes(100_000))], codec="gzip")


LIMITS = kodec.Limits(decompressed_bytes=50_000)
HOLDS = batch(0, [(b"a", SECRET), (b"b", b"2")], codec="gzip")


def _damaged(folder: Path) -> Path:
    log = folder / f"{0:020d}.log"
    data = bytearray(HOLDS)
    data[-3] ^= 1
    log.write_bytes(data + log.read_bytes())
    return log


def _over_a_limit(folder: Path) -> Path:
    log = folder / f"{0:020d}.log"
    log.write_bytes(bomb(0) + log.read_bytes())
    return log


def _copy(folder: Path) -> Path:
    path = folder / f"{0:020d}.log.bak"
    path.write_bytes(HOLDS)
    return path


def _archive(folder: Path) -> Path:
    path = folder / "old.tar.gz"
    path.write_bytes(gzip.compress(HOLDS))
    return path


def _subfolder(folder: Path) -> Path:
    (folder / "old" / "er").mkdir(parents=True)
    path = folder / "old" / "er" / f"{0:020d}.log"
    path.write_bytes(HOLDS)
    return path


def _link(folder: Path) -> Path:
    (folder.parent / "elsewhere").write_bytes(HOLDS)
    (folder / "notes").symlink_to(folder.parent / "elsewhere")
    return folder / "notes"


def _dangling(folder: Path) -> Path:
    (folder / "notes").symlink_to(folder / "nothing")
    return folder / "notes"


def _fifo(folder: Path) -> Path:
    os.mkfifo(folder / "notes")
    return folder / "notes"


def _deleted_replica(folder: Path) -> Path:
    other = made.make(folder.with_name(f"topic-0.{'0' * 32}-delete"), [(0, [])])
    return _damaged(other)


def _deleted_replica_that_cannot_be_listed(folder: Path) -> Path:
    other = folder.with_name(f"topic-0.{'0' * 32}-delete")
    other.symlink_to(other)
    return other


def _quarantine(folder: Path) -> Path:
    place = folder.parent.with_name("logs.quarantine") / "topic-0"
    place.mkdir(parents=True)
    path = place / f"{0:020d}.log.1"
    path.write_bytes(HOLDS)
    return path


def _border(folder: Path) -> Path:
    """A needle across two of the pieces in which a file is read."""
    path = folder / "notes"
    path.write_bytes(b"x" * ((1 << 20) - 3) + SECRET)
    return path


@pytest.mark.parametrize(
    "hide",
    [
        _damaged,
        _over_a_limit,
        _copy,
        _archive,
        _subfolder,
        _link,
        _dangling,
        _fifo,
        _deleted_replica,
        _deleted_replica_that_cannot_be_listed,
        _quarantine,
        _border,
    ],
)
@pytest.mark.parametrize(
    "wanted", [KEY_A, kodec.RecordFilter(where=lambda record: record.key == b"a")], ids=["key", "where"]
)
def test_what_cannot_be_erased_or_searched_is_named(
    tmp_path: Path, hide: Callable[[Path], Path], wanted: kodec.RecordFilter
) -> None:
    folder = made.make(tmp_path / "logs" / "topic-0", [(0, [batch(2, [(b"b", b"1")])]), (3, [])])
    path = hide(folder)
    for write in (False, True):
        plan = plan_redaction(folder, wanted, limits=LIMITS)
        report = plan.apply() if write else plan.preview()
        assert [each.path for each in report.left] == [path]
        assert report.left[0].matches


def test_a_needle_across_the_pieces_of_a_file(tmp_path: Path, golden: Golden) -> None:
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"b", b"1")])]), (1, [])])
    _border(folder)
    report = plan_redaction(folder, kodec.RecordFilter(value_contains=SECRET)).preview()
    golden(report.left[0].problem)


def test_the_end_of_damage_is_the_end_of_the_search(tmp_path: Path) -> None:
    """The bytes in the next batch are no bytes in the damage."""
    data = bytearray(batch(0, [(b"b", b"1")]))
    data[-2] ^= 1
    folder = made.make(tmp_path / "topic-0", [(0, []), (2, [])])
    (folder / f"{0:020d}.log").write_bytes(data + batch(1, [(b"c", SECRET)]))
    report = plan_redaction(folder, kodec.RecordFilter(keys=SECRET)).preview()
    assert f"bytes 0 to {len(data)} are no sound batch" in report.left[0].problem
    assert "searched for are in it" not in report.left[0].problem


# -- the active segment, and an interrupted redaction --------------------------------------------------


def test_the_active_segment_is_rolled_and_redacted(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"a", SECRET), (b"b", b"1"), (b"a", b"2")])])])
    assert [each.place for each in plan_redaction(folder, KEY_A).preview().left] == [Place.ACTIVE]
    plan = plan_redaction(folder, KEY_A, roll=True)
    told = plan.preview()
    assert (told.rolls, told.records, told.left) == (True, 2, [])
    report = plan.apply()
    assert (report.rolls, report.records, report.left) == (True, 2, [])
    assert sorted(path.name for path in folder.glob("*.log")) == [f"{0:020d}.log", f"{3:020d}.log"]
    assert [(each.offset, each.key) for each in made.rows(folder)] == [(1, b"b")]
    assert kodec.PartitionLog(folder).end_offset == 3
    assert [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note] == []
    again = plan_redaction(folder, KEY_A, roll=True).preview()
    assert not again.has_changes and not again.rolls


def test_an_undecided_transaction_keeps_its_start(tmp_path: Path) -> None:
    """An emptied batch that is neither the last of its producer nor of its segment."""
    first = batch(0, [(b"a", SECRET)], producer=(9, 0, 0), transactional=True)
    second = batch(1, [(b"b", b"1")], producer=(9, 0, 1), transactional=True)
    folder = made.make(tmp_path / "topic-0", [(0, [first, second, batch(2, [(b"b", b"2")])]), (3, [])])
    redacted(folder, KEY_A)
    with kodec.PartitionLog(folder) as log:
        assert log.last_stable_offset == 0
        assert [head.last_offset for _, head in log.headers()] == [0, 1, 2]


def test_an_interrupted_redaction_is_continued_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = transactional(tmp_path / "source" / "topic-0")
    old = made.rows(source)
    steps = 0
    while True:
        folder = tmp_path / f"{steps}" / "topic-0"
        shutil.copytree(source, folder)
        with monkeypatch.context() as patch:
            done = stopping(patch, steps)
            try:
                plan_redaction(folder, KEY_A, roll=True).apply()
                finished = True
            except Stopped:
                finished = False
        told = plan_redaction(folder, KEY_A, roll=True).preview()
        report = plan_redaction(folder, KEY_A, roll=True).apply()
        assert [each.path for each in told.left] == [each.path for each in report.left] == []
        assert made.rows(folder) == [each for each in old if each.key != b"a"]
        assert not [each for each in kodec.PartitionLog(folder).leftovers if ".log." in each.path.name]
        assert [each.name for each in folder.iterdir() if SECRET in each.read_bytes()] == []
        assert [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note] == []
        if finished:
            break
        assert len(done) == steps
        steps += 1
    assert steps > 30


def test_what_recover_puts_aside_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = transactional(tmp_path / "logs" / "topic-0")
    with monkeypatch.context() as patch:
        stopping(patch, 24)
        with pytest.raises(Stopped):
            plan_redaction(folder, KEY_A).apply()
    kept = plan_recovery(folder).apply().kept
    report = plan_redaction(folder, KEY_A, roll=True).apply()
    assert {each.path for each in report.left} == {
        path for path in kept if path.name.startswith(f"{0:020d}.log")
    }
    assert report.left


# -- evidence of an earlier loss -----------------------------------------------------------------------


def lossy(folder: Path) -> Path:
    segments = [(at, [batch(at, [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])]) for at in (0, 6, 9, 12)]
    return made.make(folder, segments)


def test_lost_offsets_are_refused_and_stay_lost(tmp_path: Path) -> None:
    folder = lossy(tmp_path / "topic-0")
    before = made.files(folder)
    for write in (False, True):
        plan = plan_redaction(folder, KEY_A)
        with pytest.raises(OffsetsMissing) as caught:
            plan.apply() if write else plan.preview()
        assert (caught.value.first, caught.value.last) == (3, 5)
    assert made.files(folder) == before
    report = plan_redaction(folder, KEY_A, over_gaps=True).apply()
    assert [(each.first_offset, each.last_offset) for each in report.omissions] == [(3, 5)]
    assert (folder / "kodec-omitted-offsets").read_text() == "0\n3\n0 0\n6 6\n9 9\n"
    problems = [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note]
    assert len(problems) == 1 and "3 to 5" in problems[0]


def test_a_segment_that_is_lost_afterwards_is_missed(tmp_path: Path) -> None:
    segments = [(at, [batch(at, [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])]) for at in (0, 3, 6, 9)]
    folder = made.make(tmp_path / "topic-0", segments)
    plan_redaction(folder, KEY_A).apply()
    (folder / f"{3:020d}.log").unlink()
    with kodec.PartitionLog(folder) as log, pytest.raises(OffsetsMissing):
        list(log.records())


def test_what_compaction_has_removed_before_stays_explained(tmp_path: Path) -> None:
    holes = made.make(tmp_path / "made" / "topic-0", [(0, [batch(0, [(b"k", b"%d" % n) for n in range(3)])])])
    made.make(holes, [(3, [batch(3, [(b"a", b"1"), (b"k", b"4"), (b"k", b"5")])])])
    made.make(holes, [(6, [batch(6, [(b"a", b"1"), (b"k", b"6"), (b"k", b"9")])]), (9, [])])
    plan_compaction(holes, segment_bytes=1).apply()
    (holes.parent / "cleaner-offset-checkpoint").unlink()
    gaps = [str(each) for each in verify_partition(kodec.PartitionLog(holes)) if not each.note]
    assert gaps == []
    plan_redaction(holes, KEY_A).apply()
    assert [str(each) for each in verify_partition(kodec.PartitionLog(holes)) if not each.note] == []


@pytest.mark.parametrize("max_time", [-1, 0, 1_500, 9_000], ids=lambda time: f"the header says {time}")
@pytest.mark.parametrize(
    ("since", "until", "gone"),
    [(2_000, None, [1]), (None, 1_500, [0]), (1_000, 2_001, [0, 1]), (3_000, None, [])],
)
def test_times_are_those_of_the_records(
    tmp_path: Path, max_time: int, since: int | None, until: int | None, gone: list[int]
) -> None:
    """Of records of 1,000 and 2,000 ms in a batch whose header has another largest timestamp."""
    records = [wire.record(0, b"a", time=0), wire.record(1, b"b", time=1_000)]
    odd = wire.batch(records, base_time=1_000, max_time=max_time)
    last = batch(2, [(b"c", b"c")], time=500)
    folder = made.make(tmp_path / "t-0", [(0, [odd, last]), (3, [batch(3, [(b"d", b"d")], time=500)])])
    wanted = kodec.RecordFilter(timestamps=(since, None if until is None else until - 1))
    before = [record.offset for record in made.rows(folder)]
    report = plan_redaction(folder, wanted).preview()
    small = [2, 3] if since is None else []
    assert report.records == len(gone) + len(small[:1])
    plan_redaction(folder, wanted).apply()
    left = [record.offset for record in made.rows(folder)]
    # the active segment is left
    assert left == [each for each in before if each not in (*gone, *small[:1])]


@pytest.mark.parametrize(
    ("deltas", "last", "offset", "gone"),
    [
        ([0, 1], 0, 11, ["b"]),
        ([0, 1], 5, 11, ["b"]),
        ([0, 3], 1, 13, ["b"]),
        ([-1, 1], 1, 9, ["a"]),
        ([0, 0], 1, 10, ["a", "b"]),
    ],
    ids=["header too low", "header too high", "above a dense header", "below the header", "one offset twice"],
)
def test_offsets_are_those_of_the_records(
    tmp_path: Path, deltas: list[int], last: int, offset: int, gone: list[str]
) -> None:
    """A right checksum does not show that a header is right about the records."""
    odd = wire.batch(
        [wire.record(at, b"k", b"%c" % (97 + n)) for n, at in enumerate(deltas)], base=10, last_delta=last
    )
    folder = made.make(tmp_path / "t-0", [(9, [odd]), (20, [batch(20, [(b"d", b"d")])])])
    wanted = kodec.RecordFilter(offsets=(offset, offset))
    plan = plan_redaction(folder, wanted, over_gaps=True)
    assert plan.preview().records == len(gone)
    assert plan.apply().left == []
    data = (folder / f"{9:020d}.log").read_bytes()
    left = [record.value for each in kodec.read_batches(data) for record in each.records()]
    assert left == [value for value in (b"a", b"b") if value.decode() not in gone]


def test_one_of_two_records_of_one_offset(tmp_path: Path) -> None:
    """The other one stays, and its offset is not listed as omitted."""
    odd = wire.batch([wire.record(0, b"a", b"1"), wire.record(0, b"b", b"2")], last_delta=0)
    folder = made.make(tmp_path / "t-0", [(0, [odd]), (1, [batch(1, [(b"d", b"d")])])])
    assert plan_redaction(folder, KEY_A).apply().records == 1
    data = (folder / f"{0:020d}.log").read_bytes()
    assert [record.value for each in kodec.read_batches(data) for record in each.records()] == [b"2"]
    assert (folder / "kodec-omitted-offsets").read_text() == "0\n0\n"
