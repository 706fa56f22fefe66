"""A salvage of several replicas keeps what is good on any of them, mixes in no other lineage, names each
gap."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.files.checkpoints import (
    LeaderEpoch,
    write_leader_epochs,
    write_offsets,
    write_partition_metadata,
)
from kodec.log.recovery.differences import ReplicaDifferences, compare_replicas
from kodec.log.recovery.salvage import SalvageReport, plan_salvage
from tests.golden import Golden
from tests.log import made
from tests.log.replica_histories import OWNER, Member, Written, damage, history, right, write, written


def batches(folder: Path) -> list[tuple[int, int, bytes]]:
    with kodec.PartitionLog(folder) as log:
        return [(each.base_offset, each.last_offset, each.data) for s in log.segments for each in s.batches()]


def salvaged(folders: list[Path], target: Path, lineage: Path | None = None) -> SalvageReport:
    """Salvage, after a preview that said the same and left all as it was."""
    before = [made.files(folder) for folder in folders]
    plan = plan_salvage(folders[0], target, *folders[1:], lineage=lineage)
    told = plan.preview()
    assert not target.exists()
    assert told.problems == []
    done = plan.apply()
    told.target = target
    assert done == told
    assert [made.files(folder) for folder in folders] == before
    for recovery in kodec.repair.plan_recoveries(target.parent, from_start=True):
        assert recovery.truncated_bytes == 0
        assert not [step for step in recovery.steps if step.path.suffix in (".log", ".index", ".timeindex")]
    return done


@pytest.mark.parametrize("seed", range(60))
def test_any_history(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    members = history(chance)
    folders = [write(member, tmp_path / f"broker-{n}", chance) for n, member in enumerate(members)]
    for member, folder in zip(members, folders, strict=True):
        damage(member, folder, chance)
    line = right(members)
    chosen = None
    for conflict in plan_salvage(folders[0], tmp_path / "out" / "topic-0", *folders[1:]).preview().problems:
        # what a later leader without a batch left would drop may be committed
        assert "no batch of it is left, but" in conflict
        assert "may be committed" in conflict
        chosen = next(folder for folder in folders if conflict.startswith(f"{folder}:"))
    report = salvaged(folders, tmp_path / "out" / "topic-0", lineage=chosen)
    good = {each for member in members for each in member.good}
    kept = batches(tmp_path / "out" / "topic-0")
    assert kept == [(each.first, each.last, each.data) for each in line if each in good]
    offsets = {offset for first, last, _ in kept for offset in range(first, last + 1)}
    named = [
        (each.first_offset, each.last_offset if each.last_offset is not None else 1 << 63)
        for each in report.missing
    ]
    assert not [offset for offset in offsets for first, last in named if first <= offset <= last]
    for each in line:
        if each not in good and each.first < report.end_offset and offsets and each.first > min(offsets):
            assert any(first <= each.first and each.last <= last for first, last in named), (each, named)
    gone = {each for member in members for each in member.good} - set(line)
    dropped = [(each.first_offset, each.last_offset) for each in report.dropped]
    for each in gone:
        assert any(first <= each.first and each.last <= last for first, last in dropped)
    assert sum(each.batches for each in report.dropped) == sum(
        each not in line for member in members for each in member.good
    )


def three(tmp_path: Path, *logs: list[Written], epochs: bool = True) -> list[Path]:
    """Replicas with these batches."""
    folders = []
    for number, log in enumerate(logs):
        member = Member()
        for each in log:
            member.append(each)
        folder = write(member, tmp_path / f"broker-{number}", random.Random(1))
        if not epochs:
            (folder / "leader-epoch-checkpoint").unlink()
        folders.append(folder)
    return folders


def change(folder: Path, at: int, data: bytes) -> None:
    """Write over bytes of the whole log, which is in several segments."""
    for path in sorted(folder.glob("*.log")):
        size = path.stat().st_size
        if at < size:
            content = bytearray(path.read_bytes())
            content[at : at + len(data)] = data
            path.write_bytes(content)
            return
        at -= size
    raise AssertionError("beyond the log")


def kinds(found: ReplicaDifferences) -> list[tuple[str, str, int, int | None]]:
    return [
        (each.path.parent.name[-1], each.kind, each.first_offset, each.last_offset)
        for each in found.differences
    ]


OLD = [written(n * 3, 0, b"old %d" % n) for n in range(5)]


def test_damage_on_each_disk(tmp_path: Path) -> None:
    folders = three(tmp_path, OLD, OLD, OLD)
    for number, folder in enumerate(folders):
        change(folder, len(OLD[0].data) * number + 70, b"\xff\xff")
    found = compare_replicas(*folders)
    assert kinds(found) == [("0", "damaged", 0, 2), ("1", "damaged", 3, 5), ("2", "damaged", 6, 8)]
    assert not found.is_sound and "CrcMismatch" in found.differences[0].reason
    report = salvaged(folders, tmp_path / "out" / "topic-0")
    assert report.missing == [] and report.records == 15
    for folder in folders:
        change(folder, len(OLD[0].data) * 3 + 70, b"\xff\xff")
    again = salvaged(folders, tmp_path / "again" / "topic-0")
    (missing,) = again.missing
    assert (missing.first_offset, missing.last_offset, len(missing.reasons)) == (9, 11, 3)


def test_an_unclean_election(tmp_path: Path) -> None:
    lost = [*OLD[:3], written(9, 1, b"lost"), written(12, 1, b"lost too")]
    new = [*OLD[:2], written(6, 2, b"new"), written(9, 2, b"newer")]
    folders = three(tmp_path, lost, new, OLD[:1])
    found = compare_replicas(*folders)
    assert kinds(found) == [("2", "behind", 3, 11), ("0", "diverged", 6, 14)]
    report = salvaged(folders, tmp_path / "out" / "topic-0")
    (dropped,) = report.dropped
    assert (dropped.path, dropped.first_offset, dropped.last_offset) == (folders[0], 6, 14)
    assert [each[2] for each in batches(tmp_path / "out" / "topic-0")] == [each.data for each in new]
    # what is lost on the newer lineage is not replaced by records of the older one
    change(folders[1], len(OLD[0].data + OLD[1].data) + 70, b"\xff\xff")
    report = salvaged(folders, tmp_path / "again" / "topic-0")
    assert [(each.first_offset, each.last_offset) for each in report.missing] == [(6, 8)]
    assert [each[0] for each in batches(tmp_path / "again" / "topic-0")] == [0, 3, 9]
    # unless somebody knows better
    report = salvaged(folders, tmp_path / "chosen" / "topic-0", lineage=folders[0])
    assert [each[2] for each in batches(tmp_path / "chosen" / "topic-0")] == [each.data for each in lost]


def test_what_an_unclean_election_has_lost_is_set_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = [*OLD[:3], written(9, 1, b"lost"), written(12, 1, b"lost too")]
    new = [*OLD[:2], written(6, 2, b"new"), written(9, 2, b"newer")]
    folders = three(tmp_path, new, lost, OLD[:1])
    words = ["salvage", *map(str, folders), "--to", str(tmp_path / "out")]
    aside = tmp_path / "aside"
    assert main([*words, "--dropped", str(aside)]) == 3
    assert not aside.exists()
    assert main([*words, "--dropped", str(aside), "--apply"]) == 0
    capsys.readouterr()
    assert [each[2] for each in batches(tmp_path / "out" / "topic-0")] == [each.data for each in new]
    assert [path.name for path in aside.iterdir() if not path.name.startswith(".")] == ["2"]
    assert [each[2] for each in batches(aside / "2" / "topic-0")] == [each.data for each in lost[2:]]
    rows = list(kodec.LogDirectory(aside / "2").partition("topic", 0).records())
    assert [each.offset for each in rows] == list(range(6, 15))
    assert [each for each in kodec.repair.verify(aside / "2") if not each.note] == []
    with pytest.raises(FileExistsError):
        plan_salvage(folders[0], tmp_path / "more" / "topic-0", *folders[1:], dropped=aside)
    with pytest.raises(ValueError, match="source"):
        plan_salvage(folders[0], tmp_path / "more" / "topic-0", *folders[1:], dropped=folders[0])


def flip_epoch(folder: Path, batch: Written, to: int) -> None:
    for path in folder.glob("*.log"):
        data = path.read_bytes()
        at = data.find(batch.data)
        if at >= 0:
            path.write_bytes(data[: at + 12] + to.to_bytes(4, "big") + data[at + 16 :])


def begin_epoch(folder: Path, epoch: int, offset: int) -> None:
    """An election after which the leader wrote nothing that is left."""
    with kodec.PartitionLog(folder) as log:
        epochs = log.leader_epochs()
    write_leader_epochs(folder / "leader-epoch-checkpoint", [*epochs, LeaderEpoch(epoch, offset)])


def test_an_epoch_without_a_batch_counts(tmp_path: Path, golden: Golden) -> None:
    """As in a broker, which truncates followers to the end offset of their last epoch in common."""
    folders = three(tmp_path, OLD, OLD[:3], OLD[:2])
    begin_epoch(folders[1], 4, 9)
    for folder in folders:
        write_offsets(folder.parent / "replication-offset-checkpoint", {OWNER: 6})
    assert kinds(compare_replicas(*folders)) == [("2", "behind", 6, 8), ("0", "diverged", 9, 14)]
    report = salvaged(folders, tmp_path / "out" / "topic-0")
    assert [each[0] for each in batches(tmp_path / "out" / "topic-0")] == [0, 3, 6]
    ((note,), (dropped,)) = report.notes, report.dropped
    golden(note)
    assert (dropped.path, dropped.first_offset, dropped.last_offset) == (folders[0], 9, 14)
    golden(dropped.reason)
    with kodec.PartitionLog(tmp_path / "out" / "topic-0") as log:
        assert log.leader_epochs() == [LeaderEpoch(0, 0), LeaderEpoch(4, 9)]
    # unless somebody knows better
    report = salvaged(folders, tmp_path / "kept" / "topic-0", lineage=folders[0])
    assert report.records == 15
    # one that begins where the longest log ends drops nothing
    begin_epoch(folders[0], 5, 15)
    assert salvaged(folders, tmp_path / "whole" / "topic-0").records == 15


@pytest.mark.parametrize("watermark", [None, 12])
def test_an_epoch_without_a_batch_drops_nothing_that_may_be_committed(
    watermark: int | None, tmp_path: Path
) -> None:
    folders = three(tmp_path, OLD, OLD[:3])
    begin_epoch(folders[1], 4, 9)
    (folders[0].parent / "replication-offset-checkpoint").unlink()
    if watermark is not None:
        write_offsets(folders[0].parent / "replication-offset-checkpoint", {OWNER: watermark})
    (conflict,) = plan_salvage(folders[0], tmp_path / "out" / "topic-0", folders[1]).preview().problems
    have = "no high watermark" if watermark is None else "the high watermark 12"
    assert f"has offsets 9 to 14 and {have}: they may be committed" in conflict
    for chosen, records in ((0, 15), (1, 9)):
        target = tmp_path / str(chosen) / "topic-0"
        assert salvaged(folders, target, lineage=folders[chosen]).records == records


def test_a_flipped_bit_in_the_last_epoch_does_not_win(tmp_path: Path) -> None:
    folders = three(tmp_path, OLD[:3], OLD, OLD)
    flip_epoch(folders[0], OLD[2], 1 << 20)
    report = salvaged(folders, tmp_path / "out" / "topic-0")
    assert report.dropped == [] and report.records == 15 and report.wrong_epochs == []
    assert [each[2] for each in batches(tmp_path / "out" / "topic-0")] == [each.data for each in OLD]
    assert kinds(compare_replicas(*folders)) == [("0", "epoch", 6, 8), ("0", "behind", 9, 14)]


def test_an_epoch_that_nothing_proves_decides_nothing(tmp_path: Path, golden: Golden) -> None:
    folders = three(tmp_path, [*OLD[:2], written(6, 0, b"another")], OLD)
    flip_epoch(folders[0], written(6, 0, b"another"), 7)
    plan = plan_salvage(folders[0], tmp_path / "out" / "topic-0", folders[1])
    (conflict,) = plan.preview().problems
    golden(conflict)
    with pytest.raises(ValueError, match=re.escape(conflict)):
        plan.apply()
    assert not (tmp_path / "out" / "topic-0").exists()
    for chosen, records in ((0, 9), (1, 15)):
        target = tmp_path / str(chosen) / "topic-0"
        assert salvaged(folders, target, lineage=folders[chosen].parent).records == records


def test_different_records_in_one_epoch(tmp_path: Path) -> None:
    other = [*OLD[:2], written(6, 0, b"xxx 2"), *OLD[3:]]
    folders = three(tmp_path, OLD, other)
    assert kinds(compare_replicas(*folders)) == [("1", "conflict", 6, 8)]
    (conflict,) = plan_salvage(folders[0], tmp_path / "o" / "topic-0", folders[1]).preview().problems
    assert "different records" in conflict
    # two against one
    (third,) = three(tmp_path / "more", OLD)
    report = salvaged([folders[1], folders[0], third], tmp_path / "out" / "topic-0")
    assert [each[2] for each in batches(tmp_path / "out" / "topic-0")] == [each.data for each in OLD]
    assert report.missing == []


def test_other_compression_and_compaction(tmp_path: Path) -> None:
    packed = [written(n * 3, 0, b"old %d" % n, compression="gzip") for n in range(5)]
    folders = three(tmp_path, OLD, [packed[0], *OLD[1:]])
    assert kinds(compare_replicas(*folders)) == [("1", "recompressed", 0, 2)]
    assert compare_replicas(*folders).is_sound
    made.make(tmp_path / "short" / "topic-0", [(0, [OLD[0].data, *(each.data for each in OLD[2:])])])
    both = [folders[0], tmp_path / "short" / "topic-0"]
    # no checkpoint of the cleaner, no batch with a record left out: a hole of unknown cause
    assert kinds(compare_replicas(*both)) == [("t", "missing", 3, 5)]
    write_offsets(tmp_path / "short" / "cleaner-offset-checkpoint", {OWNER: 9})
    assert kinds(compare_replicas(*both)) == [("t", "compacted", 3, 5)]
    assert salvaged(both, tmp_path / "out" / "topic-0").records == 15


def test_the_high_watermark_shows_what_all_have_lost(tmp_path: Path, golden: Golden) -> None:
    folders = three(tmp_path, OLD[:3], OLD[:4])
    write_offsets(folders[0].parent / "replication-offset-checkpoint", {OWNER: 15})
    report = salvaged(folders, tmp_path / "out" / "topic-0")
    (missing,) = report.missing
    assert (missing.first_offset, missing.last_offset) == (12, 14)
    golden(missing.reasons[0])
    assert ("0", "missing", 9, 11) in kinds(compare_replicas(*folders))


def test_what_is_no_replica(tmp_path: Path) -> None:
    folders = three(tmp_path, OLD, OLD)
    other = made.make(tmp_path / "x" / "other-0", [(0, [OLD[0].data])])
    with pytest.raises(ValueError, match="not a replica of topic-0"):
        plan_salvage(folders[0], tmp_path / "out" / "topic-0", other)
    with pytest.raises(ValueError, match="given twice"):
        plan_salvage(folders[0], tmp_path / "out" / "topic-0", folders[0])
    with pytest.raises(ValueError, match="not one of the replicas"):
        plan_salvage(folders[0], tmp_path / "out" / "topic-0", folders[1], lineage=other)
    for folder, number in zip(folders, (1, 2), strict=True):
        write_partition_metadata(folder / "partition.metadata", UUID(int=number))
    with pytest.raises(ValueError, match="not the same topic"):
        compare_replicas(*folders)


def test_a_replica_that_changes_makes_the_plan_stale(tmp_path: Path) -> None:
    folders = three(tmp_path, OLD, OLD)
    plan = plan_salvage(folders[0], tmp_path / "out" / "topic-0", folders[1])
    plan.preview()
    change(folders[1], 70, b"\xff")
    with pytest.raises(kodec.errors.StalePlan):
        plan.apply()
    assert not (tmp_path / "out" / "topic-0").exists()


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    new = [*OLD[:2], written(6, 2, b"new"), written(9, 2, b"newer")]
    folders = three(tmp_path, OLD, new, OLD[:1])
    roots = [str(folder.parent) for folder in folders]
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["diff", *roots]) == 1
    out = capsys.readouterr().out
    assert "diverged" in out and all(len(line) <= 80 for line in out.splitlines())
    assert main(["diff", *roots, "--json", "--topic", "topic"]) == 1
    assert json.loads(capsys.readouterr().out)["differences"][0]["kind"] == "behind"
    assert main(["diff", str(folders[1]), str(folders[2])]) == 0
    assert "behind" in capsys.readouterr().out
    assert main(["diff", roots[0]]) == 2
    assert main(["diff", *roots, "--topic", "nope"]) == 2
    capsys.readouterr()
    words = ["salvage", *roots, "--to", str(tmp_path / "out")]
    assert main(words) == 3
    assert "offsets 6 to 14 left out" in capsys.readouterr().out
    assert main([*words, "--apply", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dropped"][0]["firstOffset"] == 6
    assert len(batches(tmp_path / "out" / "topic-0")) == 4
    clash = three(tmp_path / "clash", OLD, [written(0, 0, b"xxx 0"), *OLD[1:]])
    assert main(["salvage", *map(str, clash), "--to", str(tmp_path / "not"), "--apply"]) == 1
    assert "--lineage" in capsys.readouterr().err and not (tmp_path / "not").exists()


def ends(tmp_path: Path, *counts: int) -> list[Path]:
    """Replicas with the first batches of one log, in one segment: of offsets 0 to 2, 3 to 5, ..."""
    log = [written(3 * number, 1, b"v" * 40) for number in range(max(counts))]
    folders = []
    for number, count in enumerate(counts):
        folder = tmp_path / f"broker-{number}" / "topic-0"
        folder.parent.mkdir()
        with kodec.LogWriter(folder, leader_epoch=1) as writer:
            for each in log[:count]:
                writer.append(each.data, keep_offsets=True)
        folders.append(folder)
    return folders


def cut(folder: Path, left: int) -> None:
    """Leave the first bytes of the last batch."""
    (segment,) = folder.glob("*.log")
    data = segment.read_bytes()
    segment.write_bytes(data[: list(kodec.read_batches(data))[-1].position + left])


@pytest.mark.parametrize("left", [1, 30, 61, 70])
def test_a_torn_tail_that_another_replica_has_shows_nothing_missing(left: int, tmp_path: Path) -> None:
    folders = ends(tmp_path, 3, 4, 2)
    cut(folders[0], left)
    report = salvaged(folders, tmp_path / "out" / "topic-0")
    assert (report.missing, report.end_offset) == ([], 12)


@pytest.mark.parametrize("others", [0, 1])
def test_the_header_of_a_torn_batch_states_what_is_missing(others: int, tmp_path: Path) -> None:
    folders = ends(tmp_path, 4, *[2] * others)
    cut(folders[0], 61)
    (missing,) = salvaged(folders, tmp_path / "out" / "topic-0").missing
    assert (missing.first_offset, missing.last_offset) == (9, 11)
    assert any("state offsets 9 to 11, and nothing shows later ones" in each for each in missing.reasons)


def test_the_headers_of_batches_with_flipped_bits_state_what_is_missing(tmp_path: Path) -> None:
    """On each disk in another way: nothing after the last of them is known."""
    folders = ends(tmp_path, 4, 4, 2)
    positions = [each.position for each in kodec.read_batches(next(folders[0].glob("*.log")))]
    for folder, numbers in ((folders[0], (2, 3)), (folders[1], (3,))):
        (segment,) = folder.glob("*.log")
        data = bytearray(segment.read_bytes())
        for number in numbers:
            data[positions[number] + 70] ^= 1
        segment.write_bytes(data if folder == folders[0] else data[: positions[3] + 80])
    (missing,) = salvaged(folders, tmp_path / "out" / "topic-0").missing
    assert (missing.first_offset, missing.last_offset) == (9, 11)


def test_a_torn_tail_without_a_header_is_named_with_what_is_left_of_it(
    tmp_path: Path, golden: Golden
) -> None:
    folders = ends(tmp_path, 4, 3)
    cut(folders[0], 30)
    (missing,) = salvaged(folders, tmp_path / "out" / "topic-0").missing
    assert missing.offsets == "offsets from 9 on"
    golden(missing.reasons)


def test_damage_at_the_end_that_is_larger_than_what_others_have(tmp_path: Path, golden: Golden) -> None:
    folders = ends(tmp_path, 6, 5)
    (segment,) = folders[0].glob("*.log")
    data = segment.read_bytes()
    begin = list(kodec.read_batches(data))[3].position
    segment.write_bytes(data[:begin] + bytes(len(data) - begin))
    (missing,) = salvaged(folders, tmp_path / "out" / "topic-0").missing
    size = len(data) // 6
    assert missing.offsets == "offsets from 15 on"
    golden(missing.reasons)
    # as much as the other has: nothing shows more
    segment.write_bytes(data[:begin] + bytes(2 * size))
    assert salvaged(folders, tmp_path / "again" / "topic-0").missing == []


def test_an_empty_first_segment_stays(tmp_path: Path) -> None:
    """As a cleaner may leave it: the log begins there."""
    folders = ends(tmp_path, 3, 3)
    for folder in folders:
        (segment,) = folder.glob("*.log")
        data = segment.read_bytes()
        for path in folder.glob("0*"):
            path.unlink()
        batches_of = list(kodec.read_batches(data))
        segment.write_bytes(b"")
        (folder / f"{3:020}.log").write_bytes(data[batches_of[1].position :])
        write_offsets(folder.parent / "cleaner-offset-checkpoint", {OWNER: 9})
    report = salvaged(folders, tmp_path / "out" / "topic-0")
    assert report.missing == []
    found = kodec.PartitionLog(tmp_path / "out" / "topic-0")
    assert [each.base_offset for each in found.segments] == [0, 3]
    assert (found.start_offset, found.end_offset) == (0, 9)
    assert [each for each in kodec.repair.verify(tmp_path / "out") if not each.note] == []


# -- what one of them lacks ----------------------------------------------------------------------------


def replicas(tmp_path: Path, *firsts: int) -> list[Path]:
    """Replicas with segments of three offsets from these on up to 11."""
    return [
        made.make(
            tmp_path / f"broker-{number}" / "topic-0",
            [
                (at, [made.batch(at, [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])])
                for at in range(first, 12, 3)
            ],
        )
        for number, first in enumerate(firsts)
    ]


def test_damage_below_the_start_of_the_others_is_missing(tmp_path: Path) -> None:
    """That another replica starts later shows nothing about what was in the damaged one."""
    late, early = replicas(tmp_path, 6, 0)
    log = early / f"{3:020d}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    report = plan_salvage(late, tmp_path / "out" / "topic-0", early).preview()
    assert [(each.first_offset, each.last_offset) for each in report.missing] == [(3, 5)]


def erase(folder: Path, first: int, last: int) -> None:
    wanted = kodec.RecordFilter(offsets=(first, last))
    kodec.operations.plan_redaction(folder, wanted).apply()


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("first", "last"), [(4, 4), (3, 5), (4, 7)])
def test_what_was_erased_on_one_does_not_come_back(tmp_path: Path, order: int, first: int, last: int) -> None:
    folders = replicas(tmp_path, 0, 0)
    erase(folders[0], first, last)
    report = salvaged(folders[::order], tmp_path / "out" / "topic-0")
    kept = [each.offset for each in made.rows(tmp_path / "out" / "topic-0")]
    assert kept == [each for each in range(12) if not first <= each <= last]
    assert report.missing == []
    listed = (tmp_path / "out" / "topic-0" / "kodec-omitted-offsets").read_text()
    assert listed == f"0\n1\n{first} {last}\n"


def test_what_only_the_other_has_is_a_conflict(tmp_path: Path, golden: Golden) -> None:
    """The batch without the erased record is damaged, the one with it has two others."""
    redacted, whole = replicas(tmp_path, 0, 0)
    erase(redacted, 4, 4)
    log = redacted / f"{3:020d}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\0")
    report = plan_salvage(redacted, tmp_path / "out" / "topic-0", whole).preview()
    (conflict,) = report.problems
    assert "redact it first" in conflict
    golden(conflict)
    erase(whole, 4, 4)
    report = salvaged([redacted, whole], tmp_path / "out" / "topic-0")
    assert [each.offset for each in made.rows(tmp_path / "out" / "topic-0")] == [0, 1, 2, 3, *range(5, 12)]
