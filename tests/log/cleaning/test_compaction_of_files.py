"""The files that compaction makes and takes away, and what it leaves where it is cut short."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.cleaning.compaction import plan_compaction
from kodec.log.cleaning.redaction import plan_redaction
from kodec.log.cleaning.swap import replace_segments
from kodec.log.omissions import Omissions
from kodec.log.verification.verify import verify_partition
from kodec.runtime.errors import Malformed, OffsetsMissing
from tests.log import kill_compaction, made
from tests.log.cleaning.compacting import COMPACTED, DATA, NOW, compacted, transactions
from tests.log.cleaning.stopping import STARTS, Stopped, stopping
from tests.log.made import START, batch

# -- files --------------------------------------------------------------------------------------------------


def test_segments_are_merged_and_their_snapshots_go(tmp_path: Path) -> None:
    segments = [(at, [batch(at, [(b"%d" % (at % 3), b"v" * 50)])]) for at in range(12)]
    folder = made.make(tmp_path / "topic-0", [*segments, (12, [])])
    for at in range(13):
        (folder / f"{at:020d}.snapshot").write_bytes(ProducerSnapshot().to_bytes())
    size = len(segments[0][1][0])
    compacted(folder, segment_bytes=3 * size)
    assert sorted(int(path.stem) for path in folder.glob("*.log")) == [0, 3, 6, 9, 12]
    assert sorted(int(path.stem) for path in folder.glob("*.snapshot")) == [0, 3, 6, 9, 12]
    assert not list(folder.glob("*.deleted"))
    # The time of the last one that went in, by which old tombstones are kept.
    assert {path.stat().st_mtime_ns for path in folder.glob("*9.log")} == {START * 1_000_000}


def test_a_range_too_wide_for_one_segment_is_not_merged(tmp_path: Path) -> None:
    far = 2**31
    segments = [(0, [batch(0, [(b"a", b"1")])]), (far, [batch(far, [(b"b", b"1")])]), (far + 1, [])]
    folder = made.make(tmp_path / "topic-0", segments)
    (folder / "kodec-omitted-offsets").write_text(f"0\n1\n1 {far - 1}\n")
    compacted(folder)
    assert sorted(int(path.stem) for path in folder.glob("*.log")) == [0, far, far + 1]


def lossy(folder: Path) -> Path:
    """Segments of three records with the keys a, b, a; that of offsets 3 to 5 is lost, the last is active."""
    segments = [
        (at, [batch(at, [(b"a", b"%d" % at), (b"b", b"%d" % at), (b"a", b"x")])]) for at in (0, 6, 9, 12)
    ]
    return made.make(folder, segments)


def problems(folder: Path) -> list[str]:
    return [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note]


def test_lost_offsets_are_refused_and_stay_recorded(tmp_path: Path) -> None:
    folder = lossy(tmp_path / "topic-0")
    (before,) = problems(folder)
    files = made.files(folder)
    for write in (False, True):
        plan = plan_compaction(folder, now=NOW)
        with pytest.raises(OffsetsMissing) as caught:
            plan.apply() if write else plan.preview()
        assert (caught.value.first, caught.value.last) == (3, 5)
    assert made.files(folder) == files
    report = plan_compaction(folder, now=NOW, over_gaps=True).apply()
    assert [each.first_offset for each in report.omissions.losses] == [3]
    with kodec.PartitionLog(folder) as log:
        omissions = Omissions()
        assert [each.offset for each in log.records(omissions=omissions)] == [10, 11, 12, 13, 14]
        assert [(each.first_offset, each.last_offset) for each in omissions] == [(3, 5)]
    assert "3 to 5" in before
    assert [each for each in problems(folder) if "3 to 5" in each]
    # again, and with what is removed behind the lost ones
    made.make(folder, [(15, [batch(15, [(b"a", b"1"), (b"b", b"1")])]), (17, [])])
    plan_compaction(folder, now=NOW, over_gaps=True).apply()
    assert [each for each in problems(folder) if "3 to 5" in each]
    assert len(problems(folder)) == 1


def test_a_log_with_omitted_offsets_keeps_them_listed(tmp_path: Path) -> None:
    """Without the checkpoint of its log directory, too: what compaction removes is listed."""
    segments = [(at, [batch(at, [(b"a", b"1")] * 3)]) for at in (0, 3, 6, 9)]
    folder = made.make(tmp_path / "topic-0", segments)
    plan_redaction(folder, kodec.RecordFilter(offsets=(1, 1))).apply()
    assert (folder / "kodec-omitted-offsets").read_text() == "0\n1\n1 1\n"
    plan_compaction(folder, now=NOW, segment_bytes=1).apply()
    (tmp_path / "cleaner-offset-checkpoint").unlink()
    assert problems(folder) == []


def test_a_wrong_length_is_not_said_to_be_a_torn_tail(tmp_path: Path) -> None:
    data = bytearray(batch(0, [(b"a", b"1")]))
    data[8:12] = (1 << 20).to_bytes(4, "big")
    folder = made.make(tmp_path / "topic-0", [(0, []), (1, [batch(1, [(b"b", b"1")])])])
    (folder / f"{0:020d}.log").write_bytes(data)
    with pytest.raises(Malformed, match="damaged: `kodec salvage` keeps what follows"):
        plan_compaction(folder, now=NOW)


def test_what_grows_too_large_becomes_several_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Old messages grow when they become batches, each with a header of its own.
    entries = [batch(at, [(b"%d" % at, b"v")], magic=0) for at in range(40)]
    folder = made.make(tmp_path / "topic-0", [(0, entries), (40, [])])
    wanted = made.rows(folder)
    monkeypatch.setattr("kodec.log.cleaning.segments.MAX_SEGMENT", 1000)
    report = compacted(folder)
    assert report.segments_after > 3
    assert made.rows(folder) == wanted
    assert max(path.stat().st_size for path in folder.glob("*.log")) <= 1000


def test_without_a_transaction_index_the_markers_tell(tmp_path: Path) -> None:
    folder = transactions(tmp_path / "topic-0")
    (index,) = folder.glob("*.txnindex")
    whole = index.read_bytes()
    index.unlink()
    assert plan_compaction(folder, now=NOW, producer_expiration_ms=0).apply().counts.aborted == 2
    assert (folder / "00000000000000000000.txnindex").read_bytes() == whole


def test_an_open_reader_goes_on(tmp_path: Path) -> None:
    segments = [(at * 10, [batch(at * 10, [(b"k", b"%d" % at)] * 10)]) for at in range(4)]
    folder = made.make(tmp_path / "topic-0", segments)
    with kodec.PartitionLog(folder) as log:
        reading = log.records()
        assert next(reading).offset == 0
        for segment in log.segments:
            next(iter(segment.headers()))
        plan_compaction(folder, now=NOW).apply()
        assert [record.offset for record in reading] == list(range(1, 40))


def test_interrupted_by_the_caller(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [(0, [batch(0, [(b"a", b"x" * 3_000_000)]), batch(1, [(b"a", b"y" * 3_000_000)])]), (2, [])],
    )
    before = made.files(folder)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_compaction(folder, progress=stop).apply()
    assert made.files(folder) == before
    seen: list[int] = []
    plan_compaction(folder, progress=seen.append).apply()
    assert sum(seen) > 6_000_000


@pytest.mark.thorough
@STARTS
@pytest.mark.parametrize("apart", [False, True])
def test_stopped_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: bool, start: Callable[[Path], None]
) -> None:
    source = transactions(tmp_path / "source" / "topic-0")
    made.make(source, [(9, [batch(9, [(b"a", b"9")])]), (10, [])])
    old = made.rows(source)
    size = 1 if apart else 1 << 30
    whole = tmp_path / "whole" / "topic-0"
    shutil.copytree(source, whole)
    plan_compaction(whole, now=NOW, segment_bytes=size).apply()
    new = made.rows(whole)
    assert len(new) < len(old)
    latest = {record.key: record for record in old if record.value != b"no"}
    steps, seen = 0, set()
    while True:
        folder = tmp_path / f"{steps}" / "topic-0"
        shutil.copytree(source, folder)
        with monkeypatch.context() as patch:
            done = stopping(patch, steps)
            try:
                plan_compaction(folder, now=NOW, segment_bytes=size).apply()
                finished = True
            except Stopped:
                finished = False
        start(folder)
        found = made.rows(folder)
        seen.add(len(found))
        assert not kodec.PartitionLog(folder).leftovers
        # Each record is one that was there, and the newest of each key is.
        assert [each for each in old if each in found] == found
        assert {each.key: each for each in found if each.value != b"no"} == latest
        assert [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note] == []
        plan_compaction(folder, now=NOW, segment_bytes=size).apply()
        assert made.rows(folder) == new
        if finished:
            break
        assert len(done) == steps
        steps += 1
    assert steps > 20
    assert {len(old), len(new)} <= seen


@STARTS
def test_several_new_segments_are_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[Path], None]
) -> None:
    source = made.make(tmp_path / "source" / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 9)]), (9, [])])
    old = made.rows(source)
    steps = 0
    outcomes = set()
    while True:
        folder = tmp_path / f"{steps}" / "topic-0"
        shutil.copytree(source, folder)
        made.make(
            tmp_path / "new-0", [(0, [batch(0, [(b"a", b"1")] * 4)]), (4, [batch(4, [(b"a", b"1")] * 5)])]
        )
        for path in (tmp_path / "new-0").iterdir():
            path.rename(folder / f"{path.name}.cleaned")
        with monkeypatch.context() as patch:
            stopping(patch, steps)
            try:
                replace_segments(folder, [0, 4], [0])
                finished = True
            except Stopped:
                finished = False
        start(folder)
        assert made.rows(folder) == old
        assert [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note] == []
        outcomes.add(tuple(sorted(path.name for path in folder.glob("*.log"))))
        if finished:
            break
        steps += 1
    assert len(outcomes) == 2


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process that was forked")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    assert kill_compaction.run(20, 3, tmp_path).total() == 20


@pytest.mark.parametrize("folder", COMPACTED, ids=lambda each: each.relative_to(DATA).as_posix())
def test_what_a_broker_has_compacted_stays(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(folder.parent, root)
    mine = root / folder.name
    before = made.rows(mine)
    assert compacted(mine).rounds == 0
    compacted(mine, from_start=True)
    assert made.rows(mine) == before
