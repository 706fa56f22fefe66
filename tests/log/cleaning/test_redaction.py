"""A redaction erases what a search finds, in closed segments, and nothing else."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.log.cleaning.redaction import RedactionReport, plan_redaction
from kodec.log.cleaning.remains import Place
from kodec.log.verification.verify import verify_partition
from kodec.runtime.errors import ArgumentError, FormatError, StalePlan
from tests.log import made
from tests.log.cleaning.stopping import STARTS, Stopped, stopping
from tests.log.cleaning.test_compaction import build, logs
from tests.log.made import batch, marker

KEY_A = kodec.RecordFilter(key=b"a")
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
        report = redacted(folder, kodec.RecordFilter(key=key))
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
    report = redacted(folder, kodec.RecordFilter(key=b"42"))
    assert report.records == 1 and not report.left
    assert [each.others for each in report.holders] == [1]


def test_what_is_damaged_may_hold_it(tmp_path: Path) -> None:
    data = bytearray(batch(2, [(b"a", SECRET)]))
    data[-2] ^= 1
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"b", b"1")])]), (5, [])])
    log = folder / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + data)
    report = plan_redaction(folder, KEY_A).preview()
    assert not report.has_changes
    assert "no sound batch" in report.left[0].problem
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
        kodec.RecordFilter(key=b"a", control=True),
        kodec.RecordFilter(key=b"a", isolation="read_committed"),
    ):
        with pytest.raises(ArgumentError):
            plan_redaction(folder, wanted)
    plan = plan_redaction(folder, KEY_A)
    (folder / f"{1:020d}.log").write_bytes(batch(1, [(b"a", b"2")]))
    with pytest.raises(StalePlan):
        plan.apply()
    (folder / f"{0:020d}.log.swap").write_bytes(b"")
    with pytest.raises(ValueError, match="recover it first"):
        plan_redaction(folder, KEY_A).preview()
