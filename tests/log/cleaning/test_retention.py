"""Trimming takes the segments that a broker's retention takes, oldest first, and can be cut short."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.cleaning import swap
from kodec.log.cleaning.retention import Reason, TrimPlan, plan_trim
from kodec.log.cleaning.swap import segment_files
from kodec.log.files.durable import sync_folder
from kodec.log.verification.verify import verify_partition
from tests.golden import Golden
from tests.log import made
from tests.log.faults import Faults
from tests.log.made import DAY, START, batch

NOW = START + 100 * DAY
EPOCHS = "0\n3\n0 0\n2 4\n5 30\n"


def ten(root: Path, *, magic: int = 2, snapshots: bool = True) -> Path:
    """Ten segments of ten records, a day apart; the last one is active."""
    segments = [
        (at * 10, [batch(at * 10, [(b"k", b"%d" % at)] * 10, magic=magic, time=START + at * DAY)])
        for at in range(10)
    ]
    folder = made.make(root / "topic-0", segments)
    for at in range(1, 10) if snapshots else ():
        (folder / f"{at * 10:020d}.snapshot").write_bytes(ProducerSnapshot().to_bytes())
    (folder / "leader-epoch-checkpoint").write_text(EPOCHS)
    return folder


def problems(log: kodec.PartitionLog) -> list[str]:
    # the checkpoint of leader epochs here is made up, to see what becomes of it
    found = verify_partition(log)
    return [str(each) for each in found if not each.note and each.what != "leader epoch"]


def trimmed(folder: Path, **options: Any) -> TrimPlan:
    """Trim, after a dry run that has said the same and left all as it was."""
    before = made.files(folder)
    plan = plan_trim(folder, now=NOW, **options)
    assert made.files(folder) == before
    plan.apply()
    with kodec.PartitionLog(folder) as log:
        assert log.leftovers == []
        assert (log.start_offset, log.end_offset) == (plan.new_start_offset, plan.end_offset)
        assert problems(log) == []
    return plan


def bases(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.log"))


def test_by_time(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    # Segment 3's newest record is exactly that old, and stays.
    report = trimmed(folder, retention_ms=NOW - (START + 3 * DAY + 9))
    assert [each.base_offset for each in report.deleted] == [0, 10, 20]
    assert {each.reason for each in report.deleted} == {Reason.TIME}
    assert bases(folder) == [30, 40, 50, 60, 70, 80, 90]
    assert not [path.name for path in folder.iterdir() if path.name[0] == "0" and int(path.name[:20]) < 30]
    # As the broker keeps it: the epoch that holds at the start begins there.
    assert (folder / "leader-epoch-checkpoint").read_text() == "0\n1\n5 30\n"


def test_one_segment_that_is_young_ends_it(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    for path in folder.glob("00000000000000000010.*"):
        path.unlink()
    made.make(folder, [(10, [batch(10, [(b"k", b"v")] * 10, time=NOW + DAY)])])
    assert [each.base_offset for each in trimmed(folder, retention_ms=1).deleted] == [0]


def test_without_timestamps_the_time_of_the_file_counts(tmp_path: Path) -> None:
    folder = ten(tmp_path, magic=0)
    for at in range(10):
        moment = (START + at * DAY) * 1_000_000
        os.utime(folder / f"{at * 10:020d}.log", ns=(moment, moment))
    report = trimmed(folder, retention_ms=NOW - (START + 3 * DAY))
    assert [each.base_offset for each in report.deleted] == [0, 10, 20]


@pytest.mark.parametrize(("extra", "gone"), [(0, 7), (1, 6), (-1, 7)])
def test_by_size(tmp_path: Path, extra: int, gone: int) -> None:
    folder = ten(tmp_path)
    with kodec.PartitionLog(folder) as log:
        sizes = [segment.size for segment in log.segments]
    report = trimmed(folder, retention_bytes=sum(sizes[7:]) + extra)
    assert [each.base_offset for each in report.deleted] == [10 * at for at in range(gone)]
    assert report.bytes_deleted == sum(sizes[:gone])
    assert {each.reason for each in report.deleted} == {Reason.SIZE}


def test_a_log_below_the_size_stays(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    with kodec.PartitionLog(folder) as log:
        size = log.size
    assert trimmed(folder, retention_bytes=size).deleted == ()
    assert trimmed(folder, retention_bytes=size - 1).deleted == ()


@pytest.mark.parametrize(
    ("offset", "first", "checkpoint"),
    [(0, 0, None), (9, 0, 9), (10, 10, None), (25, 20, 25), (90, 90, None), (95, 90, 95), (100, 90, 100)],
)
def test_delete_records(tmp_path: Path, offset: int, first: int, checkpoint: int | None) -> None:
    folder = ten(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nother 1 5\n")
    report = trimmed(folder, before_offset=offset)
    assert bases(folder)[0] == first
    assert {each.reason for each in report.deleted} <= {Reason.START_OFFSET}
    wanted = "0\n1\nother 1 5\n" if checkpoint is None else f"0\n2\nother 1 5\ntopic 0 {checkpoint}\n"
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == wanted
    assert [record.offset for record in made.rows(folder)] == list(range(offset, 100))
    # Going back does nothing.
    assert trimmed(folder, before_offset=0).new_start_offset == offset


def test_a_start_offset_that_was_overtaken_goes_from_the_checkpoint(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    trimmed(folder, before_offset=15)
    report = trimmed(folder, retention_ms=NOW - (START + 3 * DAY))
    assert (report.start_offset, report.new_start_offset) == (15, 30)
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n0\n"


def test_all_go_and_the_offsets_go_on(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    made.make(folder, [(100, [batch(100, [(b"k", b"v")], producer=(7, 2, 3))])])
    report = trimmed(folder, retention_ms=1)
    assert (report.new_segment, report.new_start_offset, len(report.deleted)) == (101, 101, 11)
    assert bases(folder) == [101]
    with kodec.PartitionLog(folder) as log:
        assert (log.start_offset, log.end_offset) == (101, 101)
        ((offset, snapshot),) = log.producer_snapshots()
    (known,) = snapshot.entries
    assert (offset, known.producer_id, known.producer_epoch, known.last_sequence) == (101, 7, 2, 3)
    # The empty segment is not deleted, and not made again.
    assert trimmed(folder, retention_ms=1, retention_bytes=0).deleted == ()


def test_nothing_goes_that_is_not_decided(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\ntopic 0 39\n")
    report = trimmed(folder, retention_ms=1)
    assert [each.base_offset for each in report.deleted] == [0, 10, 20]
    with pytest.raises(kodec.errors.OffsetOutOfRange, match="0 to 39"):
        plan_trim(folder, before_offset=40)
    assert plan_trim(folder, before_offset=39).new_start_offset == 39


def test_bad_arguments(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    for name in ("retention_ms", "retention_bytes"):
        with pytest.raises(ValueError, match=f"{name}=-1: not negative"):
            plan_trim(folder, **{name: -1})
    with pytest.raises(kodec.errors.OffsetOutOfRange):
        plan_trim(folder, before_offset=-2)
    (folder / "00000000000000000000.log.cleaned").touch()
    with pytest.raises(ValueError, match="recover it first"):
        plan_trim(folder, retention_ms=1)


def test_a_broker_that_runs_is_not_disturbed(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    folder = ten(tmp_path)
    script = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    assert fcntl.LOCK_EX
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / ".lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError, match="in use"):
            plan_trim(folder, retention_ms=1).apply()
        assert len(plan_trim(folder, retention_ms=1).deleted) == 10
        other.communicate()
    assert len(bases(folder)) == 10


def test_open_readers_go_on(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    with kodec.PartitionLog(folder) as log:
        first = log.segments[0].records()
        assert next(first).offset == 0
        late = log.records(55)
        assert next(late).offset == 55
        plan_trim(folder, now=NOW, before_offset=60).apply()
        assert bases(folder)[0] == 60
        assert [record.offset for record in first] == list(range(1, 10))
        assert [record.offset for record in late] == list(range(56, 100))


class Stopped(Exception):
    """The process ends here."""


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"before_offset": 25}, {"retention_ms": 1}], ids=["offset", "all"])
def test_stopped_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, int]
) -> None:
    source = ten(tmp_path / "source", snapshots=False)
    old = made.rows(source)
    steps = 0
    while True:
        folder = tmp_path / f"{steps}" / "topic-0"
        shutil.copytree(source, folder)
        left = steps

        def counted(plain: Any) -> Any:
            def call(*args: Any, **named: Any) -> Any:
                nonlocal left
                if left == 0:
                    raise Stopped
                left -= 1
                return plain(*args, **named)

            return call

        with monkeypatch.context() as patch:
            for name in ("replace", "rename", "unlink"):
                patch.setattr(os, name, counted(getattr(os, name)))
            patch.setattr(os, "fsync", lambda _: None)
            try:
                plan_trim(folder, now=NOW, **options).apply()
                finished = True
            except Stopped:
                finished = False
        made.broker_start(folder)
        with kodec.PartitionLog(folder) as log:
            start = log.start_offset
            assert log.end_offset == 100
            assert list(log.records()) == old[start:]
            assert problems(log) == []
        plan_trim(folder, now=NOW, **options).apply()
        assert len(made.rows(folder)) == (75 if "before_offset" in options else 0)
        if finished:
            break
        steps += 1
    assert steps > 10


# -- a full disk --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"before_offset": 30}, [30, 40, 50, 60, 70, 80, 90]),
        ({"before_offset": 35}, [30, 40, 50, 60, 70, 80, 90]),
        ({"retention_bytes": 0}, [100]),
    ],
    ids=["whole segments", "a part of one", "all"],
)
def test_on_a_full_disk(tmp_path: Path, options: dict[str, int], left: list[int]) -> None:
    folder = ten(tmp_path)
    plan = plan_trim(folder, now=NOW, **options)
    with Faults(full=True) as faults:
        plan.apply()
    assert not faults.full and bases(folder) == left
    with kodec.PartitionLog(folder) as log:
        assert log.leftovers == [] and log.end_offset == 100
        assert log.start_offset == plan.new_start_offset
        # the batches here are of no epoch that the checkpoint has
        found = [each for each in verify_partition(log) if not each.note and each.what != "leader epoch"]
        assert [str(each) for each in found] == []


def test_the_only_segment_goes_on_a_full_disk(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"k", b"v")] * 10)])])
    (folder / f"{0:020d}.timeindex").write_bytes(b"\0" * 12)
    with Faults(full=True):
        plan_trim(folder, now=NOW, retention_bytes=0).apply()
    with kodec.PartitionLog(folder) as log:
        assert (log.start_offset, log.end_offset, log.leftovers) == (10, 10, [])


def test_where_nothing_goes_a_full_disk_leaves_all_as_it_was(tmp_path: Path) -> None:
    folder = ten(tmp_path)
    before = made.files(folder)
    plan = plan_trim(folder, now=NOW, before_offset=5)
    with Faults(full=True), pytest.raises(OSError, match="No space left"):
        plan.apply()
    assert made.files(folder) == before


def test_an_error_in_the_middle_says_what_was_deleted(tmp_path: Path, golden: Golden) -> None:
    folder = ten(tmp_path)
    plan = plan_trim(folder, now=NOW, before_offset=35)
    with Faults(4, calls=("rename", "replace")), pytest.raises(OSError, match="Input/output") as error:
        plan.apply()
    # Of the second the log has its new name already.
    golden(error.value.__notes__)
    plan_trim(folder, now=NOW, before_offset=35).apply()
    assert bases(folder)[0] == 30


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_folder_is_durable_before_and_after_files_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """A power loss leaves what the folder was at one of these moments: else a deleted file may come back."""
    states: list[list[str]] = []

    def synced(folder: Path) -> None:
        sync_folder(folder)
        states.append(sorted(path.name[18:] for path in folder.iterdir()))

    monkeypatch.setattr(swap, "sync_folder", synced)
    for name in ("00.log", "00.index"):
        (tmp_path / f"{0:018d}{name}").write_bytes(b"")
    if change == "deleted":
        swap.delete_files(tmp_path, segment_files(tmp_path, 0))
        assert states == [["00.index.deleted", "00.log.deleted"], []]
        return
    (tmp_path / f"{0:020d}.log.cleaned").write_bytes(b"")
    swap.replace_segments(tmp_path, [0], [0])
    assert states == [
        ["00.index", "00.log", "00.log.swap"],
        ["00.index.deleted", "00.log.deleted", "00.log.swap"],
        ["00.index.deleted", "00.log", "00.log.deleted"],
        ["00.log"],
    ]
