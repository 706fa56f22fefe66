"""A leader epoch that no checksum covers: what shows that one is wrong, and what every reader then says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.cli.main import main
from kodec.log.batches.sizes import HEADS
from kodec.log.directories.epochs import EpochRun, EpochRuns
from kodec.log.files.checkpoints import LeaderEpoch, read_leader_epochs, write_leader_epochs, write_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.views.epochs import read_epochs
from tests.golden import Golden
from tests.log.made import START, batch, make

EPOCH = HEADS[2].epoch
WRONG = 268435456
NAME = TopicPartition("orders", 0)


def log_of(
    root: Path, *segments: Sequence[int], checkpoint: Sequence[tuple[int, int]] | None = ((0, 0),)
) -> Path:
    """Segments of batches of two records, each with its leader epoch, and the checkpoint."""
    at = 0
    parts = []
    for epochs in segments:
        entries, base = [], at
        for epoch in epochs:
            data = bytearray(batch(at, [(b"k", b"v")] * 2, time=START))
            EPOCH.put(data, epoch)
            entries.append(bytes(data))
            at += 2
        parts.append((base, entries))
    folder = make(root / str(NAME), parts)
    if checkpoint is not None:
        entries_of = [LeaderEpoch(*each) for each in checkpoint]
        write_leader_epochs(folder / "leader-epoch-checkpoint", entries_of)
    return folder


def problems(folder: Path) -> list[str]:
    """What `verify` reports about leader epochs; it says nothing else."""
    found = [each for each in kodec.repair.verify(folder) if not each.note]
    assert all(each.what == "leader epoch" for each in found)
    return [f"{each.path.name[18:20]}@{each.at}: {each.need} / {each.have}" for each in found]


SIZE = len(batch(0, [(b"k", b"v")] * 2, time=START))


@pytest.mark.parametrize(
    ("segments", "checkpoint", "expected"),
    [
        (
            [[0, WRONG, 0]],
            [(0, 0)],
            [f"00@{SIZE}: 0 as in the batches around / {WRONG} in 1 batch, offsets 2 to 3"],
        ),
        # the first and the last one have a neighbour on one side only
        (
            [[WRONG, 0, 0]],
            [(0, 0)],
            ["00@0: 0 as in the batches around / 268435456 in 1 batch, offsets 0 to 1"],
        ),
        (
            [[0, 0, WRONG]],
            [(0, 0)],
            [f"00@{2 * SIZE}: 0 as in leader-epoch-checkpoint / {WRONG} in 1 batch, offsets 4 to 5"],
        ),
        # two lines at most: one for each range
        (
            [[0] * 5, [7, 7, 7, *[0] * 100], [0] * 3],
            [(0, 0)],
            ["10@0: 0 as in the batches around / 7 in 3 batches, offsets 10 to 15"],
        ),
        # one that the checkpoint knows, at another offset
        (
            [[0, 0, 1, 1]],
            [(0, 0), (1, 6)],
            [f"00@{2 * SIZE}: 0 to 1 as in leader-epoch-checkpoint / 1 in 2 batches, offsets 4 to 7"],
        ),
        (
            [[0, 0, 1]],
            [(0, 0), (1, 2)],
            ["00@0: 0 to 1 as in leader-epoch-checkpoint / 0 in 2 batches, offsets 0 to 3"],
        ),
        # lower than those before, at the end
        (
            [[4, 4, 0]],
            [(4, 0)],
            [f"00@{2 * SIZE}: at least 4 as in the batches around / 0 in 1 batch, offsets 4 to 5"],
        ),
        # the sign bit
        (
            [[0, -(2**31), 0]],
            None,
            [f"00@{SIZE}: 0 as in the batches around / -2147483648 in 1 batch, offsets 2 to 3"],
        ),
        # the damage was recovered before: the checkpoint has it
        (
            [[0, WRONG, 0, 0]],
            [(0, 0), (WRONG, 2)],
            [
                f"00@{SIZE}: 0 as in the batches around, though leader-epoch-checkpoint has it / "
                f"{WRONG} in 1 batch, offsets 2 to 3"
            ],
        ),
        # the first of two batches: as many say the one as the other, and the checkpoint decides
        (
            [[5, 1]],
            [(5, 0)],
            [f"00@{SIZE}: at least 5 as in the batches around / 1 in 1 batch, offsets 2 to 3"],
        ),
        (
            [[WRONG, 1]],
            None,
            ["00@0: 0 to 1 as in the batches around / 268435456 in 1 batch, offsets 0 to 1"],
        ),
    ],
)
def test_an_epoch_that_is_wrong(
    tmp_path: Path,
    segments: list[list[int]],
    checkpoint: list[tuple[int, int]] | None,
    expected: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = log_of(tmp_path, *segments, checkpoint=checkpoint)
    assert problems(folder) == expected
    with kodec.PartitionLog(folder) as log:
        assert len(read_epochs(log).contradictions) == len(expected)
        found = kodec.repair.survey(log)
    assert found.health == "corrupt" and len(found.problems) == len(expected)
    report = kodec.repair.plan_salvage(folder, tmp_path / "out" / str(NAME)).preview()
    assert len(report.wrong_epochs) == len(expected) and report.bytes_missing == 0
    # as a person sees it
    assert main(["verify", str(folder)]) == 1
    assert "leader epoch: need" in capsys.readouterr().out
    assert main(["ls", "--crc", str(folder)]) == 1
    assert "leader epoch: need" in capsys.readouterr().err
    assert main(["epochs", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("leader epoch: need") == len(expected)
    assert main(["salvage", str(folder), "--to", str(tmp_path / "out")]) == 3
    lines = [line for line in capsys.readouterr().out.splitlines() if "leader epoch: need" in line]
    assert [line.rpartition(": ")[2].split(" ")[0] for line in lines] == [
        "written" if "in the batches around" in each else "kept" for each in expected
    ]


@pytest.mark.parametrize(
    ("segments", "checkpoint"),
    [
        ([[0, 0, 3, 3, 8]], [(0, 0), (3, 4), (8, 8)]),
        # a leader that wrote nothing, before others and at the end; 0.11 kept several at one offset
        ([[0, 0], [3]], [(0, 0), (1, 4), (3, 4), (9, 6)]),
        # records from before message format v2, or from a tool
        ([[-1, -1, 4]], [(4, 4)]),
        ([[-1, 0, -1]], [(0, 2)]),
        # copies of the logs alone
        ([[0, 0, 3, 900]], None),
        ([[0, 0, 3, 900]], []),
        # a follower removes an epoch above its end after it has truncated the log
        ([[0, 0]], [(0, 0), (1, 4), (7, 90)]),
    ],
)
def test_epochs_that_a_broker_leaves(
    tmp_path: Path, segments: list[list[int]], checkpoint: list[tuple[int, int]] | None
) -> None:
    folder = log_of(tmp_path, *segments, checkpoint=checkpoint)
    assert problems(folder) == []
    with kodec.PartitionLog(folder) as log:
        assert not read_epochs(log).contradictions
        assert kodec.repair.survey(log).health == "clean"
    assert kodec.repair.plan_salvage(folder, tmp_path / "out" / str(NAME)).preview().wrong_epochs == []
    assert kodec.repair.plan_recovery(folder, from_start=True).remarks == []


def test_without_a_checkpoint_a_note_says_what_is_compared(tmp_path: Path, golden: Golden) -> None:
    folder = log_of(tmp_path, [0, 0], checkpoint=None)
    (note,) = kodec.repair.verify(folder)
    assert note.note
    golden(str(note))


def test_the_checkpoint_is_ahead_of_the_log_start_offset(tmp_path: Path, golden: Golden) -> None:
    """A broker writes the log start offset down some time after it has raised it."""
    folder = log_of(tmp_path, [2, 2, 2, 3], checkpoint=[(2, 4), (3, 6)])
    (note,) = kodec.repair.verify(folder)
    assert note.note and "which begins at offset 4" in str(note)
    write_offsets(tmp_path / "log-start-offset-checkpoint", {NAME: 4})
    assert list(kodec.repair.verify(folder)) == []
    # what truncated it kept the epoch of the offset where it begins: no later one was before it
    write_leader_epochs(folder / "leader-epoch-checkpoint", [LeaderEpoch(1, 4), LeaderEpoch(3, 6)])
    (problem,) = problems(folder)
    golden(problem)
    write_offsets(tmp_path / "log-start-offset-checkpoint", {NAME: 0})
    write_leader_epochs(folder / "leader-epoch-checkpoint", [LeaderEpoch(1, 6), LeaderEpoch(3, 8)])
    assert len(problems(folder)) == 2


def test_an_epoch_that_goes_on_over_the_next_ones_start(tmp_path: Path) -> None:
    """The checkpoint begins above the log's start, which explains what is below it, and no more."""
    folder = log_of(tmp_path, [2, 2, 2, 3], checkpoint=[(2, 2), (3, 4)])
    (problem,) = problems(folder)
    assert problem.startswith("00@0: 3 as in leader-epoch-checkpoint / 2 in 3 batches, offsets 0 to 5")


def test_a_message_of_v1_makes_a_broker_forget_the_epochs_before(tmp_path: Path) -> None:
    entries = [batch(0, [(b"k", b"v")]), batch(1, [(b"k", b"v")], magic=1), batch(2, [(b"k", b"v")])]
    folder = make(tmp_path / str(NAME), [(0, entries)])
    write_leader_epochs(folder / "leader-epoch-checkpoint", [LeaderEpoch(0, 2)])
    assert list(kodec.repair.verify(folder)) == []


def test_recovery_says_what_it_makes_of_epochs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    """A broker that recovers this log writes the damaged epoch into its checkpoint."""
    folder = log_of(tmp_path, [0, WRONG, 0, 0], checkpoint=[(0, 0)])
    plan = kodec.repair.plan_recovery(folder)
    (remark,) = plan.remarks
    golden(remark)
    assert main(["recover", str(folder), "--apply"]) == 0
    assert remark in capsys.readouterr().err
    assert read_leader_epochs(folder / "leader-epoch-checkpoint") == [(0, 0)]
    # what an earlier recovery took is taken out again
    write_leader_epochs(folder / "leader-epoch-checkpoint", [LeaderEpoch(0, 0), LeaderEpoch(WRONG, 2)])
    kodec.repair.plan_recovery(folder).apply()
    assert read_leader_epochs(folder / "leader-epoch-checkpoint") == [(0, 0)]
    # without a checkpoint too
    (folder / "leader-epoch-checkpoint").unlink()
    kodec.repair.plan_recovery(folder).apply()
    assert read_leader_epochs(folder / "leader-epoch-checkpoint") == [(0, 0)]


def test_recovery_takes_a_newer_epoch_as_a_broker_does_and_says_so(tmp_path: Path, golden: Golden) -> None:
    folder = log_of(tmp_path, [0, 0], [0, 3], checkpoint=[(0, 0)])
    plan = kodec.repair.plan_recovery(folder)
    (remark,) = plan.remarks
    golden(remark)
    plan.apply()
    assert read_leader_epochs(folder / "leader-epoch-checkpoint") == [(0, 0), (3, 6)]
    assert problems(folder) == []


def test_salvage_writes_no_epoch_that_the_batches_around_refute(tmp_path: Path) -> None:
    folder = log_of(tmp_path, [0, WRONG, 0, 0], checkpoint=[(0, 0), (WRONG, 2)])
    out = tmp_path / "out" / str(NAME)
    report = kodec.repair.plan_salvage(folder, out).apply()
    assert f"byte {SIZE}: " in report.wrong_epochs[0]
    assert read_leader_epochs(out / "leader-epoch-checkpoint") == [(0, 0)]


@pytest.mark.parametrize(
    ("segments", "checkpoint", "right"),
    [
        ([[0, WRONG, 0, 0]], [(0, 0)], [0, 0, 0, 0]),
        ([[0, WRONG, 0, 0]], None, [0, 0, 0, 0]),
        ([[0, WRONG, 0, 0]], [(0, 0), (WRONG, 2)], [0, 0, 0, 0]),
        ([[WRONG, 4, 4]], None, [4, 4, 4]),
        ([[4, 4, 0]], [(4, 0)], [4, 4, 4]),
        # two are possible: the checkpoint decides, else the one before
        ([[2, 2, WRONG, 5, 5]], [(2, 0), (5, 4)], [2, 2, 5, 5, 5]),
        ([[2, 2, WRONG, 5, 5]], [(2, 0), (5, 6)], [2, 2, 2, 5, 5]),
        ([[2, 2, WRONG, 5, 5]], None, [2, 2, 2, 5, 5]),
        ([[0] * 5, [7, 7, 7, *[0] * 9], [0] * 3], [(0, 0)], [0] * 20),
        ([[0, 7], [7, 0, 0], [0]], [(0, 0)], [0] * 6),
        ([[0, -(2**31), 0]], None, [0, 0, 0]),
    ],
)
@pytest.mark.parametrize("replicas", [1, 2])
def test_salvage_writes_the_epoch_that_the_batches_around_prove(
    tmp_path: Path,
    segments: list[list[int]],
    checkpoint: list[tuple[int, int]] | None,
    right: list[int],
    replicas: int,
) -> None:
    """No follower gets past a batch with an epoch that its leader has not reached."""
    folders = [log_of(tmp_path / str(n), *segments, checkpoint=checkpoint) for n in range(replicas)]
    out = tmp_path / "out" / str(NAME)
    report = kodec.repair.plan_salvage(folders[0], out, *folders[1:]).apply()
    assert report.wrong_epochs and all(": written with " in each for each in report.wrong_epochs)
    with kodec.PartitionLog(folders[0]) as before, kodec.PartitionLog(out) as after:
        assert [each.partition_leader_epoch for each in after.batches()] == right
        for old, new in zip(before.batches(), after.batches(), strict=True):
            assert (
                old.data[: EPOCH.at] + old.data[EPOCH.at + 4 :]
                == new.data[: EPOCH.at] + new.data[EPOCH.at + 4 :]
            )
        assert [each.path.stat().st_mtime_ns for each in before.segments] == [
            each.path.stat().st_mtime_ns for each in after.segments
        ]
    assert problems(out) == []


def test_a_writer_does_not_go_on_with_a_damaged_epoch(tmp_path: Path) -> None:
    folder = log_of(tmp_path, [0, WRONG, 0], checkpoint=[(0, 0)])
    with kodec.LogWriter(folder) as writer:
        assert writer.leader_epoch == 0
        writer.append([kodec.Record(value=b"v")])
    assert read_leader_epochs(folder / "leader-epoch-checkpoint") == [(0, 0)]


@given(
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=6),
    bit=st.integers(0, 31),
    data=st.data(),
)
def test_every_flip_of_a_bit_is_seen_with_a_checkpoint(
    steps: list[tuple[int, int]], bit: int, data: st.DataObject
) -> None:
    """Leaders with ascending epochs, some of whom write nothing; then one bit of one batch's epoch."""
    epochs: list[int] = []
    checkpoint: list[LeaderEpoch] = []
    for epoch, (count, rise) in zip(itertools.accumulate(rise for _, rise in steps), steps, strict=True):
        while checkpoint and checkpoint[-1].start_offset == len(epochs):
            checkpoint.pop()
        checkpoint.append(LeaderEpoch(epoch, len(epochs)))
        epochs += [epoch] * count
        del rise
    if not epochs:
        return
    assert runs_of(epochs).contradictions(checkpoint) == []
    at = data.draw(st.integers(0, len(epochs) - 1))
    flipped = epochs[at] ^ (1 << bit)
    epochs[at] = flipped if bit < 31 else flipped - 2**32
    found = [each for each in runs_of(epochs).contradictions(checkpoint) if not each.note]
    assert any(each.run.first_offset <= at <= each.run.last_offset for each in found)


def runs_of(epochs: Sequence[int]) -> EpochRuns:
    found = EpochRuns()
    for at, epoch in enumerate(epochs):
        run = found.runs[-1] if found.runs else None
        if run is not None and run.epoch == epoch:
            run.last_offset, run.batches = at, run.batches + 1
        else:
            found.runs.append(EpochRun(Path("log"), at, epoch, at, at))
    return found


@given(st.lists(st.tuples(st.integers(-3, 4), st.integers(1, 4)), max_size=9))
def test_the_most_batches_are_believed(parts: list[tuple[int, int]]) -> None:
    runs = runs_of([epoch for epoch, count in parts for _ in range(count)])
    believed = runs.believed()
    assert [run.epoch for run in believed] == sorted(run.epoch for run in believed)
    best = max(
        (
            sum(run.batches for run in chosen)
            for size in range(len(runs.runs) + 1)
            for chosen in itertools.combinations(runs.runs, size)
            if all(run.epoch >= 0 for run in chosen)
            and [run.epoch for run in chosen] == sorted(run.epoch for run in chosen)
        ),
    )
    assert sum(run.batches for run in believed) == best


def test_epochs_that_never_end_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EpochRuns, "MOST", 3)
    folder = log_of(
        tmp_path, [0, 1, 2, 3], [4, 5], checkpoint=[(0, 0), (1, 2), (2, 4), (3, 6), (4, 8), (5, 10)]
    )
    (problem,) = problems(folder)
    assert "at most 3 changes of it" in problem


def test_epochs_prints_a_line_for_a_range(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = log_of(tmp_path, [0, 0, WRONG, *[0] * 200])
    assert main(["epochs", str(tmp_path), "--json"]) == 1
    printed = capsys.readouterr()
    (row,) = map(json.loads, printed.out.splitlines())
    assert (row["epoch"], row["firstOffset"], row["batches"]) == (0, 0, 202)
    assert printed.err.count("leader epoch") == 1 and str(folder) in printed.err


# -- records that were deleted just before the end ---------------------------------------------------

BEGINNINGS: dict[str, tuple[list[list[int]], list[tuple[int, int]] | None, int]] = {
    "inside a segment": ([[2, 2, 2, 3]], [(2, 4), (3, 6)], 4),
    "in the middle of a batch": ([[2, 2, 2, 3]], [(2, 3), (3, 6)], 3),
    "in a later segment": ([[1, 2], [2, 2, 2]], [(2, 6)], 6),
    "at the end of the log": ([[2, 2], [2, 2]], [(2, 8)], 8),
    "at the start of the log": ([[2, 2, 2]], [(2, 0)], 0),
    # a broker that has lost the file renews it from the start of a segment, or with the next leader
    "at the start of a segment": ([[2, 2], [2, 2]], [(2, 4)], 0),
    "where an epoch begins": ([[1, 1, 2, 2]], [(2, 4)], 0),
    "of another log": ([[1, 1, 1, 1]], [(2, 4)], 0),
    "above the end of the log": ([[2, 2]], [(2, 9)], 0),
    "missing": ([[2, 2]], None, 0),
}


@pytest.mark.parametrize("where", BEGINNINGS)
@pytest.mark.parametrize("replicas", [1, 2])
def test_where_the_checkpoint_begins_shows_the_log_start_offset(
    tmp_path: Path, where: str, replicas: int
) -> None:
    """A broker cuts it at once, and writes the offset itself only once a minute."""
    segments, checkpoint, start = BEGINNINGS[where]
    folder = log_of(tmp_path / "a", *segments, checkpoint=checkpoint)
    newest = max(itertools.chain(*segments))
    # a replica that does not know of the deletion
    others = [log_of(tmp_path / "b", *segments, checkpoint=[(newest, 0)])] * (replicas - 1)
    out = tmp_path / "out" / str(NAME)
    report = kodec.repair.plan_salvage(folder, out, *others).apply()
    with kodec.PartitionLog(out) as log:
        assert log.start_offset == report.start_offset == start
    assert [f"begins at offset {start}: the records below it" in each for each in report.notes] == [True] * (
        start > 0
    )


def test_a_checkpoint_of_the_log_start_offset_is_not_lowered(tmp_path: Path) -> None:
    folder = log_of(tmp_path / "a", [2, 2, 2, 3], checkpoint=[(2, 3), (3, 6)])
    write_offsets(tmp_path / "a" / "log-start-offset-checkpoint", {NAME: 5})
    report = kodec.repair.plan_salvage(folder, tmp_path / "out" / str(NAME)).apply()
    assert (report.start_offset, report.notes) == (5, [])
