"""Recovery finds what a broker finds, cuts what is not valid and nothing else, and can be cut short."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.generated.log import record_batch
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.batches.sizes import BATCH_HEAD, OFFSET_AT, OFFSET_SIZE
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import LeaderEpoch, read_offsets, write_leader_epochs, write_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import file_name
from kodec.log.recovery.apply import default_quarantine
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recovery, plan_reindex, plan_root
from kodec.log.recovery.steps import Truncate
from kodec.log.verification.verify import verify_partition
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.log.writing.writer import LogConfig, LogWriter

DATA = Path(__file__).parents[1] / "data"
NEWEST = DATA / "kafka-4.3.1"
CRASHED = [
    folder
    for release in sorted(DATA.glob("kafka-*"))
    if (release / "crashed").is_dir()
    for folder in sorted((release / "crashed").glob("*-[0-9]"))
]
POINTS = "recovery-point-offset-checkpoint"
STARTS = "log-start-offset-checkpoint"
Rows = list[tuple[int, bytes | None]]


def files_of(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in sorted(folder.iterdir()) if each.is_file()}


def problems(folder: Path) -> list[str]:
    return [str(each) for each in verify_partition(PartitionLog(folder)) if not each.note]


def rows(folder: Path) -> Rows:
    return [(each.offset, each.value) for each in PartitionLog(folder).records()]


def recover(folder: Path, *, from_start: bool = False, interval: int = 4096) -> RecoveryPlan:
    """Recover, and see that the log is right then and a second time changes nothing."""
    before = files_of(folder)
    plan = plan_recovery(folder, from_start=from_start, index_interval_bytes=interval)
    assert files_of(folder) == before, "a plan only reads"
    assert not plan.refused
    plan.apply()
    assert problems(folder) == []
    again = plan_recovery(folder, from_start=from_start, index_interval_bytes=interval)
    assert again.steps == [] and again.end_offset == plan.end_offset
    log = PartitionLog(folder)
    assert (log.start_offset, log.end_offset) == (plan.start_offset, plan.end_offset)
    return plan


def kept(folder: Path) -> dict[str, bytes]:
    place = default_quarantine(folder.parent) / folder.name
    return files_of(place) if place.is_dir() else {}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here nothing depends on the disk; the kill harness and the tests of the writer look at fsync."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A log of three segments with transactions of two producers, closed in order; the folder."""
    folder = tmp_path / "logs" / "t-0"
    folder.parent.mkdir()
    make(folder)
    return folder


def make(folder: Path) -> None:
    config = LogConfig(segment_bytes=250, index_interval_bytes=50)
    marker = kodec.Record(key=b"\0\0\0\0", value=b"\0\0\0\0\0\7", timestamp=50)
    with LogWriter(folder, config=config, leader_epoch=2) as writer:
        for number in range(5):
            given = [
                kodec.Record(value=b"%d.%d" % (number, each), timestamp=100 + number) for each in range(2)
            ]
            options = {"producer_id": number % 2, "producer_epoch": 0, "base_sequence": number}
            writer.append(given, transactional=number != 3, **options)
            if number in (0, 2):
                # An abort marker.
                writer.append([marker], control=True, transactional=True, producer_id=0, producer_epoch=0)
            if number == 3:
                writer.leader_epoch = 5


# -- what brokers have left ---------------------------------------------------------------------------


@pytest.mark.parametrize("folder", CRASHED, ids=lambda folder: folder.relative_to(DATA).as_posix())
def test_what_a_killed_broker_left_is_recovered_as_by_the_broker(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "logs" / folder.name
    shutil.copytree(folder, copy)
    plan = recover(copy, interval=512 if folder.name == "segments-0" else 4096)
    assert plan.truncated_bytes == 0
    # The broker was started again, recovered, and wrote more.
    later = folder.parents[1] / "logs" / folder.name
    theirs, ours = files_of(later), files_of(copy)
    for name, data in ours.items():
        if name.endswith(".log"):
            assert theirs[name].startswith(data)
    assert rows(copy) == rows(later)[: len(rows(copy))]
    end = file_name(plan.end_offset, "snapshot")
    if end in theirs and folder.parents[1] == NEWEST:
        assert ours[end] == theirs[end]
    logs = sorted(name for name in theirs if name.endswith(".log"))
    for log in logs[:-1] if folder.parents[1] == NEWEST else []:
        for kind in (".index", ".timeindex", ".txnindex"):
            name = log.replace(".log", kind)
            assert ours.get(name) == theirs.get(name)


@pytest.mark.parametrize("release", sorted(DATA.glob("kafka-*")), ids=lambda release: release.name)
def test_a_directory_that_was_closed_in_order_is_left_as_it_is(release: Path, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(release / "logs", root)
    (root / ".kafka_cleanshutdown").touch()
    plans = list(plan_root(root))
    assert [plan.path.name for plan in plans] == [each.path.name for each in kodec.LogDirectory(root)]
    for plan in plans:
        if release.name == "kafka-0.9.0.1":
            # It had no time indexes, so a later broker reads the segments.
            assert {step.path.suffix for step in plan.steps} <= {".index", ".timeindex", ".snapshot"}
        else:
            assert plan.steps == [] and plan.scanned == []


@pytest.mark.parametrize("release", sorted(DATA.glob("kafka-*")), ids=lambda release: release.name)
def test_reading_all_of_a_directory_cuts_nothing(release: Path, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(release / "logs", root)
    before = {
        log.topic_partition: [(r.offset, r.value) for r in log.records()] for log in kodec.LogDirectory(root)
    }
    for plan in plan_root(root, from_start=True):
        assert plan.truncated_bytes == 0 and not plan.refused
        plan.apply()
        assert problems(plan.path) == []
    assert not (root / ".kafka_cleanshutdown").exists() or not any(plan_root(root, from_start=True))
    for log in kodec.LogDirectory(root):
        assert [(each.offset, each.value) for each in log.records()] == before[log.topic_partition]
    assert all(plan.steps == [] for plan in plan_root(root, from_start=True))
    # Snapshots from amid a segment, as a broker leaves one where it was started again.
    aside = [each for each in default_quarantine(root).rglob("*") if each.is_file()]
    assert {each.suffix for each in aside} <= {".snapshot"}


# -- damage -------------------------------------------------------------------------------------------


def test_every_truncation_of_a_segment(made: Path) -> None:
    before, all_rows = files_of(made), rows(made)
    logs = [name for name in before if name.endswith(".log")]
    assert len(logs) == 3
    name = logs[1]
    segment = PartitionLog(made).segments[1]
    ends = [(head.position + head.size, head.next_offset) for head in segment.headers()]
    data = before[name]
    for size in range(len(data)):
        restore(made, before)
        (made / name).write_bytes(data[:size])
        whole = max((end for end in ends if end[0] <= size), default=(0, segment.base_offset))
        plan = recover(made, from_start=True, interval=50)
        if size in (0, *(end for end, _ in ends)):
            # Whole entries in order: nothing tells that some are missing, and the next segment is believed.
            following = PartitionLog(made).segments[2].base_offset
            assert rows(made) == [row for row in all_rows if not whole[1] <= row[0] < following]
            assert kept(made) == {}
            continue
        assert plan.end_offset == whole[1]
        assert rows(made) == [row for row in all_rows if row[0] < whole[1]]
        cut = data[whole[0] : size]
        # Zeros are not worth keeping.
        assert kept(made).get(f"{name}.cut-{whole[0]}") == (cut if any(cut) else None)
        assert kept(made)[logs[2]] == before[logs[2]]


_written: dict[Path, tuple[int, int]] = {}


def restore(folder: Path, before: dict[str, bytes]) -> None:
    """Bring a folder back; what nobody has changed since is not written again."""
    shutil.rmtree(default_quarantine(folder.parent), ignore_errors=True)
    for each in folder.iterdir():
        if each.name not in before:
            each.unlink()
    for name, data in before.items():
        path = folder / name
        status = path.stat() if path.exists() else None
        if status is None or _written.get(path) != (status.st_ino, status.st_mtime_ns):
            path.write_bytes(data)
            status = path.stat()
            _written[path] = status.st_ino, status.st_mtime_ns


def test_a_bit_flip_in_every_byte_of_a_segment(made: Path) -> None:
    before, all_rows = files_of(made), rows(made)
    logs = [name for name in before if name.endswith(".log")]
    chance = random.Random(20261121)
    every = [list(segment.headers()) for segment in PartitionLog(made).segments]
    for number, name in ((1, logs[1]), (2, logs[2])):
        heads = every[number]
        # Of the last segment the last entry: no other has nothing behind it.
        first = 0 if number == 1 else heads[-1].position
        for position in range(first, len(before[name])):
            restore(made, before)
            damaged = bytearray(before[name])
            damaged[position] ^= 1 << chance.randrange(8)
            (made / name).write_bytes(damaged)
            recover(made, from_start=True, interval=50)
            found = rows(made)
            (hit,) = [head for head in heads if head.position <= position < head.position + head.size]
            at = position - hit.position
            last = hit is heads[-1]
            if (
                OFFSET_AT <= at < OFFSET_AT + OFFSET_SIZE
                and last
                and number == 2
                and len(found) == len(all_rows)
            ):
                # No checksum covers an offset, and nothing follows that would contradict it.
                assert [value for _, value in found] == [value for _, value in all_rows]
                assert found[: -hit.count or None] == all_rows[: -hit.count or None]
                continue
            if found == all_rows:
                # The leader's epoch has no checksum either.
                assert position - hit.position in range(12, 16)
                continue
            assert found == [row for row in all_rows if row[0] < hit.base_offset]
            assert kept(made)[f"{name}.cut-{hit.position}"] == damaged[hit.position :]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def last_log(folder: Path) -> Path:
    return max(folder.glob("*.log"))


NONSENSE: dict[str, Callable[[Path], bytes]] = {
    "zeros": lambda folder: bytes(5000),
    "random": lambda folder: random.Random(1).randbytes(5000),
    "a part of an entry": lambda folder: batch(1000)[:-1],
    "zeros with an entry behind": lambda folder: bytes(100) + batch(1000),
    "an older entry again": lambda folder: PartitionLog(folder).read(0).data[:81],
    "an entry before the segment": lambda folder: batch(3),
    "an entry far behind": lambda folder: batch(2**33),
    "an unknown magic": lambda folder: batch(1000)[:16] + b"\3" + batch(1000)[17:],
    "text": lambda folder: b"lost+found " * 100,
}


def batch(offset: int) -> bytes:
    return kodec.encode([kodec.Record(offset=offset, value=b"v", timestamp=1)])


@pytest.mark.parametrize("kind", NONSENSE)
def test_nonsense_at_the_end_is_cut_off_and_kept(kind: str, made: Path) -> None:
    before, all_rows = files_of(made), rows(made)
    log = last_log(made)
    size, data = log.stat().st_size, NONSENSE[kind](made)
    append(log, data)
    plan = recover(made, interval=50)
    (cut,) = [step for step in plan.steps if isinstance(step, Truncate)]
    assert (cut.position, cut.size) == (size, size + len(data))
    assert rows(made) == all_rows and files_of(made) == before
    assert kept(made) == ({} if kind == "zeros" else {f"{log.name}.cut-{size}": data})


@pytest.mark.parametrize("kind", ["zeroed", "missing", "zeros inside"])
def test_lost_blocks(kind: str, made: Path) -> None:
    """What was not on the disk when the machine went down: blocks of zeros, or a shorter file."""
    before, all_rows = files_of(made), rows(made)
    name = [each for each in before if each.endswith(".log")][1]
    data = bytearray(before[name])
    if kind == "zeroed":
        data[100:] = bytes(len(data) - 100)
    elif kind == "missing":
        del data[100:]
    else:
        data[100:140] = bytes(40)
    (made / name).write_bytes(data)
    plan = recover(made, interval=50)
    assert plan.segments == 2 and plan.end_offset == 7
    assert rows(made) == [row for row in all_rows if row[0] < 7]
    assert kept(made)[f"{name}.cut-81"] == data[81:]


def test_segments_below_the_recovery_point_are_believed(made: Path) -> None:
    before = files_of(made)
    write_offsets(made.parent / POINTS, {TopicPartition("t", 0): 6})
    names = [each for each in before if each.endswith(".log")]
    damaged = bytearray(before[names[0]])
    damaged[70] ^= 1
    (made / names[0]).write_bytes(damaged)
    plan = plan_recovery(made, index_interval_bytes=50)
    assert plan.steps == [] and [each.name for each in plan.scanned] == names[1:]
    # Unless it has no index: then it is cut, and those behind, which are on the disk, stay.
    (made / names[0].replace(".log", ".index")).unlink()
    plan = recover(made, interval=50)
    assert plan.segments == 3 and plan.end_offset == 12
    assert [offset for offset, _ in rows(made)] == [5, 6, 8, 9, 10, 11]


def test_the_recovery_point_and_epochs_follow_the_end(made: Path) -> None:
    root = made.parent
    other = TopicPartition("other", 3)
    write_offsets(root / POINTS, {TopicPartition("t", 0): 12, other: 99})
    write_leader_epochs(
        made / "leader-epoch-checkpoint", [LeaderEpoch(2, 0), LeaderEpoch(5, 10), LeaderEpoch(6, 40)]
    )
    log = last_log(made)
    log.write_bytes(log.read_bytes()[:-1])
    plan = recover(made, interval=50)
    assert plan.end_offset == 10
    assert read_offsets(root / POINTS) == {TopicPartition("t", 0): 10, other: 99}
    assert PartitionLog(made).leader_epochs() == [LeaderEpoch(2, 0), LeaderEpoch(5, 10)]


def test_a_list_of_epochs_that_cannot_be_read_is_made_anew(made: Path) -> None:
    before = files_of(made)
    (made / "leader-epoch-checkpoint").write_bytes(b"nonsense")
    recover(made, interval=50)
    assert files_of(made) == before


def test_a_log_that_ends_before_its_start_begins_anew(made: Path) -> None:
    before = files_of(made)
    write_offsets(made.parent / STARTS, {TopicPartition("t", 0): 500})
    plan = recover(made, interval=50)
    assert (plan.start_offset, plan.end_offset, plan.segments) == (500, 500, 1)
    assert sorted(files_of(made)) == [
        file_name(500, "index"),
        file_name(500, "log"),
        file_name(500, "timeindex"),
        "leader-epoch-checkpoint",
    ]
    assert {name: data for name, data in kept(made).items() if name.endswith(".log")} == {
        name: data for name, data in before.items() if name.endswith(".log")
    }
    with LogWriter(made) as writer:
        assert writer.append([kodec.Record(value=b"new")]).first_offset == 500


def test_an_empty_folder_gets_a_segment(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "t-0"
    folder.mkdir(parents=True)
    assert recover(folder).segments == 1
    assert sorted(files_of(folder)) == [file_name(0, kind) for kind in ("index", "log", "timeindex")]


def test_snapshots_that_cannot_be_read_are_made_anew(made: Path) -> None:
    before = files_of(made)
    for name in before:
        if name.endswith(".snapshot"):
            (made / name).write_bytes(b"nonsense")
    recover(made, from_start=True, interval=50)
    assert files_of(made) == before


def test_a_snapshot_that_knows_more_is_kept(made: Path) -> None:
    name = file_name(5, "snapshot")
    snapshot = ProducerSnapshot.from_bytes((made / name).read_bytes())
    more = snapshot.entries[0].__class__(producer_id=77, producer_epoch=1, last_offset=0, last_sequence=4)
    snapshot.entries.append(more)
    (made / name).write_bytes(snapshot.to_bytes())
    recover(made, from_start=True, interval=50)
    ends = file_name(12, "snapshot")
    for each in (name, ends):
        entries = ProducerSnapshot.from_bytes((made / each).read_bytes()).entries
        assert more in entries


def test_what_is_right_and_not_known_is_refused(made: Path) -> None:
    unknown = record_batch.RecordBatch.from_bytes(batch(1000))
    unknown.attributes.compression = 6
    unknown.records = b"anything"
    append(last_log(made), unknown.to_bytes())
    plan = plan_recovery(made)
    assert "compression" in plan.refused and plan.steps == []
    with pytest.raises(ValueError, match="compression"):
        plan.apply()


def test_overflowed_offsets_are_refused(made: Path) -> None:
    append(last_log(made), batch(2**33) + batch(2**33 + 1))
    assert "overflow" in plan_recovery(made).refused


# -- leftovers ----------------------------------------------------------------------------------------


def test_leftovers_go_and_orphans_too(made: Path) -> None:
    before = files_of(made)
    for name in ("00000000000000000000.log.deleted", "00000000000000000005.index.cleaned"):
        (made / name).write_bytes(b"left")
    (made / file_name(300, "timeindex")).write_bytes(b"")
    (made / "00000000000000000005-0000000001-x.checkpoint.deleted").write_bytes(b"KRaft's own")
    plan = recover(made)
    assert set(kept(made)) >= {
        "00000000000000000000.log.deleted",
        "00000000000000000005.index.cleaned",
        file_name(300, "timeindex"),
    }
    assert {name for name in files_of(made) if not name.endswith(".deleted")} == set(before)
    assert plan.truncated_bytes == 0


def compacted(folder: Path) -> dict[str, bytes]:
    """The first two segments of the log as one, without the entry at offset 8."""
    log = PartitionLog(folder)
    new = folder.parent.parent / "new"
    new.mkdir()
    with SegmentWriter(new, 0, index_interval_bytes=50) as writer:
        for segment in log.segments[:2]:
            for each in segment.batches():
                if each.base_offset != 8:
                    writer.append(each.data, each)
            for entry in segment.aborted() or []:
                writer.add_aborted(entry)
    return files_of(new)


@pytest.mark.parametrize("step", ["cleaned", "swap", "half deleted", "half named"])
def test_a_replacement_is_taken_back_or_completed(step: str, made: Path) -> None:
    all_rows = rows(made)
    new = compacted(made)
    suffix = ".cleaned" if step == "cleaned" else ".swap"
    for name, data in new.items():
        (made / (name + suffix)).write_bytes(data)
    if step in ("half deleted", "half named"):
        for path in made.glob("00000000000000000000.*"):
            if not path.name.endswith(suffix):
                path.rename(path.with_name(path.name + ".deleted"))
    if step == "half named":
        for path in made.glob("*005.*"):
            path.rename(path.with_name(path.name + ".deleted"))
        (made / "00000000000000000000.index.swap").rename(made / "00000000000000000000.index")
    recover(made, interval=50)
    if step == "cleaned":
        assert rows(made) == all_rows
    else:
        assert [offset for offset, _ in rows(made)] == [0, 1, 3, 4, 5, 6, 10, 11]
        assert {name: (made / name).read_bytes() for name in new} == new


def test_a_split_that_is_not_complete_is_taken_back(made: Path) -> None:
    before, all_rows = files_of(made), rows(made)
    data = before[file_name(5, "log")]
    (made / (file_name(8, "log") + ".swap")).write_bytes(data[159:])
    (made / (file_name(5, "log") + ".cleaned")).write_bytes(data[:159])
    recover(made, interval=50)
    assert rows(made) == all_rows and files_of(made) == before


# -- cut short itself ---------------------------------------------------------------------------------


class Crash(BaseException):
    """The machine goes down."""


SCENES: dict[str, Callable[[Path], None]] = {
    "damage": lambda folder: flip(folder / file_name(0, "log"), 200),
    "a swap": lambda folder: swapped(folder),
    "a new start": lambda folder: write_offsets(folder.parent / STARTS, {TopicPartition("t", 0): 500}),
    "bad beside": lambda folder: (
        [each.write_bytes(b"x") for each in folder.iterdir() if each.suffix != ".log" and each.is_file()]
        and None
    ),
}


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 4
    path.write_bytes(data)


def swapped(folder: Path) -> None:
    for name, data in compacted(folder).items():
        (folder / f"{name}.swap").write_bytes(data)


@pytest.mark.parametrize("scene", SCENES)
def test_recovery_can_be_cut_short_anywhere(
    scene: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SCENES[scene](made)
    write_offsets(made.parent / POINTS, {TopicPartition("t", 0): 0})
    damaged = {each: each.read_bytes() for each in made.parent.rglob("*") if each.is_file()}
    recover(made, from_start=True, interval=50)
    right = files_of(made)
    for number in range(10_000):
        shutil.rmtree(made.parent)
        shutil.rmtree(default_quarantine(made.parent), ignore_errors=True)
        made.mkdir(parents=True)
        for path, data in damaged.items():
            path.write_bytes(data)
        crashed = crash_at(number, made, monkeypatch)
        recover(made, from_start=True, interval=50)
        assert files_of(made) == right
        whole = b"".join(kept(made).values())
        for path, data in damaged.items():
            # No log is lost: what is not in its place is aside.
            if path.suffix == ".log" and path.parent == made and right.get(path.name) != data:
                rest = (
                    data[len(right.get(path.name, b"")) :]
                    if data.startswith(right.get(path.name, b"x"))
                    else data
                )
                assert rest in whole or data in whole
        if not crashed:
            assert number > 5
            return


def crash_at(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Recover, and go down before change `number` of the disk; whether there were so many."""
    left = number

    def guarded(real: Callable[..., object]) -> Callable[..., object]:
        def change(*args: object, **options: object) -> object:
            nonlocal left
            if left == 0:
                raise Crash
            left -= 1
            return real(*args, **options)

        return change

    with monkeypatch.context() as patch:
        for owner, name in (
            (os, "write"),
            (os, "truncate"),
            (Path, "rename"),
            (Path, "replace"),
            (Path, "unlink"),
            (Path, "mkdir"),
        ):
            patch.setattr(owner, name, guarded(getattr(owner, name)))
        try:
            plan_recovery(folder, from_start=True, index_interval_bytes=50).apply()
        except Crash:
            return True
    return False


# -- indexes only -------------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["missing", "empty", "nonsense", "of another"])
def test_reindex_rebuilds_what_is_beside_the_logs(harm: str, made: Path) -> None:
    before = files_of(made)
    beside = [name for name in before if not name.endswith((".log", "checkpoint"))]
    for name in beside:
        if harm == "missing":
            (made / name).unlink()
        else:
            other = before[beside[beside.index(name) - 1]]
            (made / name).write_bytes({"empty": b"", "nonsense": b"nonsense" * 9, "of another": other}[harm])
    plan = plan_reindex(made, index_interval_bytes=50)
    assert all(step.path.suffix != ".log" for step in plan.steps)
    plan.apply()
    assert files_of(made) == before
    assert plan_reindex(made, index_interval_bytes=50).steps == []


def test_reindex_of_one_segment(made: Path) -> None:
    before = files_of(made)
    for name in before:
        if name.endswith(".index"):
            (made / name).unlink()
    plan_reindex(made, segments=[5], index_interval_bytes=50).apply()
    assert [each.name for each in made.glob("*.index")] == [file_name(5, "index")]
    assert (made / file_name(5, "index")).read_bytes() == before[file_name(5, "index")]


def test_reindex_refuses_a_damaged_log(made: Path) -> None:
    flip(made / file_name(5, "log"), BATCH_HEAD + 10)
    plan = plan_reindex(made)
    assert "byte 0: recover it first" in plan.refused and plan.steps == []


# -- applying -----------------------------------------------------------------------------------------


def test_a_plan_of_yesterday_is_refused(made: Path) -> None:
    append(last_log(made), b"torn")
    plan = plan_recovery(made)
    append(last_log(made), b" and torn more")
    with pytest.raises(kodec.errors.Malformed, match="has changed"):
        plan.apply()


def test_the_side_folder_is_outside_and_names_are_not_taken_twice(made: Path, tmp_path: Path) -> None:
    side = tmp_path / "somewhere" / "else"
    log = last_log(made)
    size = log.stat().st_size
    for tail in (b"first", b"second"):
        append(log, tail)
        (path,) = plan_recovery(made, index_interval_bytes=50).apply(side)
        assert path.read_bytes() == tail
    assert sorted(each.name for each in (side / "t-0").iterdir()) == [
        f"{log.name}.cut-{size}",
        f"{log.name}.cut-{size}.1",
    ]
    append(log, b"third")
    with pytest.raises(ValueError, match="outside"):
        plan_recovery(made).apply(made.parent / "side")
    with pytest.raises(ValueError, match="named like orders-0"):
        plan_recovery(made.parent)


def test_a_moving_replica_is_recovered_and_a_deleted_one_left(made: Path) -> None:
    append(last_log(made), b"torn")
    root = made.parent
    made.rename(root / f"t-0.{'a' * 32}-future")
    shutil.copytree(root / f"t-0.{'a' * 32}-future", root / f"t-1.{'b' * 32}-delete")
    (plan,) = plan_root(root)
    assert plan.path.name.endswith("-future") and any(isinstance(step, Truncate) for step in plan.steps)


HARM = st.lists(
    st.tuples(
        st.sampled_from(["flip", "truncate", "delete", "append", "zero", "rename"]),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(HARM, st.booleans())
def test_any_harm_is_recovered_once(
    tmp_path_factory: pytest.TempPathFactory, harms: list[tuple[str, int, int]], from_start: bool
) -> None:
    root = tmp_path_factory.mktemp("harm")
    folder = root / "logs" / "t-0"
    folder.parent.mkdir()
    make(folder)
    served = {value for _, value in rows(folder)}
    for harm, which, where in harms:
        files = sorted(each for each in folder.iterdir() if each.is_file())
        path = files[which % len(files)] if files else folder / file_name(0, "log")
        data = bytearray(path.read_bytes() if path.exists() else b"")
        at = where % (len(data) + 1)
        if harm == "flip" and at < len(data):
            data[at] ^= 1 << where % 8
        elif harm == "truncate":
            del data[at:]
        elif harm == "append":
            data += random.Random(where).randbytes(where % 300)
        elif harm == "zero":
            data[at:] = bytes(len(data) - at)
        path.write_bytes(data)
        if harm == "delete":
            path.unlink()
        elif harm == "rename" and path.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            path.rename(path.with_name(path.name + [".swap", ".cleaned", ".deleted"][where % 3]))
    plan = plan_recovery(folder, from_start=from_start, index_interval_bytes=50)
    assert not plan.refused
    plan.apply()
    assert plan_recovery(folder, from_start=from_start, index_interval_bytes=50).steps == []
    log = PartitionLog(folder)
    assert log.end_offset == plan.end_offset
    if from_start:
        found = list(log.records())
        assert {each.value for each in found} <= served
        offsets = [each.offset for each in found]
        assert offsets == sorted(set(offsets))
    with LogWriter(folder) as writer:
        assert writer.next_offset == plan.end_offset
    shutil.rmtree(root)
