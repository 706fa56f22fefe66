"""Recovery finds what a broker finds, cuts what is not valid and nothing else, and can be cut short."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.generated.log import record_batch
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.batches.sizes import OFFSET
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import LeaderEpoch, read_offsets, write_leader_epochs, write_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import CLEAN_SHUTDOWN, file_name
from kodec.log.files.quarantine import default_quarantine
from kodec.log.recovery.planning import plan_recoveries, plan_recovery
from kodec.log.recovery.steps import Truncate
from kodec.log.writing.writer import LogWriter
from tests.log.recovery.recovered import (
    CRASHED,
    DATA,
    NEWEST,
    POINTS,
    STARTS,
    append,
    batch,
    files_of,
    kept,
    last_log,
    problems,
    recover,
    rows,
)

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
    plans = list(plan_recoveries(root))
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
    for plan in plan_recoveries(root, from_start=True):
        assert plan.truncated_bytes == 0 and not plan.problems
        plan.apply()
        assert problems(plan.path) == []
    assert not (root / ".kafka_cleanshutdown").exists() or not any(plan_recoveries(root, from_start=True))
    for log in kodec.LogDirectory(root):
        assert [(each.offset, each.value) for each in log.records()] == before[log.topic_partition]
    assert all(plan.steps == [] for plan in plan_recoveries(root, from_start=True))
    # Snapshots from amid a segment, as a broker leaves one where it was started again.
    aside = [each for each in default_quarantine(root).rglob("*") if each.is_file()]
    assert {each.suffix for each in aside} <= {".snapshot"}


# -- damage -------------------------------------------------------------------------------------------


@pytest.mark.thorough
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
            # Whole entries in order: nothing tells that some are missing, and the next segment is accepted.
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


@pytest.mark.thorough
def test_a_bit_flip_in_every_byte_of_a_segment(made: Path) -> None:
    before, all_rows = files_of(made), rows(made)
    logs = [name for name in before if name.endswith(".log")]
    chance = random.Random(20261121)
    every = [list(segment.headers()) for segment in PartitionLog(made).segments]
    for number, name in ((1, logs[1]), (2, logs[2])):
        heads = every[number]
        # Of the last segment the last entry: no other has nothing after it.
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
                OFFSET.at <= at < OFFSET.at + OFFSET.size
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


@pytest.mark.parametrize("clean", [True, False])
def test_batches_without_a_leader_epoch_add_none(tmp_path: Path, clean: bool) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    if clean:
        (tmp_path / CLEAN_SHUTDOWN).write_text('{"version":0}')
    records = [kodec.Record(value=b"v", timestamp=1)]
    batches = [kodec.encode(records, base_offset=n, partition_leader_epoch=(-1, 3)[n]) for n in range(2)]
    (folder / file_name(0, "log")).write_bytes(b"".join(batches))
    (folder / "leader-epoch-checkpoint").write_bytes(b"nonsense")
    recover(folder)
    assert PartitionLog(folder).leader_epochs() == [LeaderEpoch(3, 1)]


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
    more = snapshot.entries[0].__class__(producer_id=77, producer_epoch=1)
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
    assert "compression" in plan.problems[0] and plan.steps == []
    with pytest.raises(ValueError, match="compression"):
        plan.apply()


def test_overflowed_offsets_are_refused(made: Path) -> None:
    append(last_log(made), batch(2**33) + batch(2**33 + 1))
    assert "overflow" in plan_recovery(made).problems[0]
