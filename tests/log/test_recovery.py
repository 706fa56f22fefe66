"""Recovery finds what a broker finds, cuts what is not valid and nothing else, and can be cut short itself."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kodec
from kodec.generated.log import record_batch
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.checkpoints import LeaderEpoch, read_offsets, write_leader_epochs, write_offsets
from kodec.log.layout import TopicPartition
from kodec.log.partition import PartitionLog
from kodec.log.recovery import Cut, RecoveryPlan, plan_recovery, plan_reindex, plan_root
from kodec.log.repair import apply_plan, default_side
from kodec.log.segment_writer import file_name
from kodec.log.sizes import BATCH_HEAD, OFFSET_AT, OFFSET_SIZE
from kodec.log.verify import verify_partition
from kodec.log.writer import LogConfig, LogWriter

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
    return [str(each) for each in verify_partition(PartitionLog(folder))]


def rows(folder: Path) -> Rows:
    return [(each.offset, each.value) for each in PartitionLog(folder).records()]


def recover(folder: Path, *, from_start: bool = False, interval: int = 4096) -> RecoveryPlan:
    """Recover, and see that the log is right then and a second time changes nothing."""
    before = files_of(folder)
    plan = plan_recovery(folder, from_start=from_start, index_interval_bytes=interval)
    assert files_of(folder) == before, "a plan only reads"
    assert not plan.refused
    apply_plan(plan)
    assert problems(folder) == []
    again = plan_recovery(folder, from_start=from_start, index_interval_bytes=interval)
    assert again.steps == [] and again.end_offset == plan.end_offset
    log = PartitionLog(folder)
    assert (log.start_offset, log.end_offset) == (plan.start_offset, plan.end_offset)
    return plan


def kept(folder: Path) -> dict[str, bytes]:
    place = default_side(folder.parent) / folder.name
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
    config = LogConfig(segment_bytes=400, index_interval_bytes=100)
    marker = kodec.Record(key=b"\0\0\0\0", value=b"\0\0\0\0\0\7", timestamp=50)
    with LogWriter(folder, config=config, leader_epoch=2) as writer:
        for number in range(8):
            given = [
                kodec.Record(value=b"%d.%d" % (number, each), timestamp=100 + number) for each in range(2)
            ]
            options = {"producer_id": number % 2, "producer_epoch": 0, "base_sequence": number}
            writer.append(given, transactional=number != 3, **options)
            if number in (2, 5):
                # An abort marker.
                writer.append([marker], control=True, transactional=True, producer_id=0, producer_epoch=0)
            if number == 4:
                writer.leader_epoch = 5


# -- what brokers have left ---------------------------------------------------------------------------


@pytest.mark.parametrize("folder", CRASHED, ids=lambda folder: folder.relative_to(DATA).as_posix())
def test_what_a_killed_broker_left_is_recovered_as_by_the_broker(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "logs" / folder.name
    shutil.copytree(folder, copy)
    plan = recover(copy, interval=512 if folder.name == "segments-0" else 4096)
    assert plan.cut_bytes == 0
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
        assert plan.cut_bytes == 0 and not plan.refused
        apply_plan(plan)
        assert problems(plan.path) == []
    assert not (root / ".kafka_cleanshutdown").exists() or not any(plan_root(root, from_start=True))
    for log in kodec.LogDirectory(root):
        assert [(each.offset, each.value) for each in log.records()] == before[log.topic_partition]
    assert all(plan.steps == [] for plan in plan_root(root, from_start=True))
    assert not default_side(root).exists()


# -- damage -------------------------------------------------------------------------------------------


def test_every_truncation_of_a_segment(made: Path) -> None:
    before, all_rows = files_of(made), rows(made)
    logs = [name for name in before if name.endswith(".log")]
    assert len(logs) == 3
    name = logs[1]
    segment = PartitionLog(made).segments[1]
    ends = [(head.position + head.size, head.next_offset) for head in segment.heads()]
    data = before[name]
    for size in range(len(data)):
        restore(made, before)
        (made / name).write_bytes(data[:size])
        whole = max((end for end in ends if end[0] <= size), default=(0, segment.base_offset))
        plan = recover(made, from_start=True, interval=100)
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


def restore(folder: Path, before: dict[str, bytes]) -> None:
    shutil.rmtree(default_side(folder.parent), ignore_errors=True)
    for each in folder.iterdir():
        if each.name not in before:
            each.unlink()
    for name, data in before.items():
        (folder / name).write_bytes(data)


def test_a_bit_flip_in_every_byte_of_a_segment(made: Path) -> None:
    before, all_rows = files_of(made), rows(made)
    logs = [name for name in before if name.endswith(".log")]
    chance = random.Random(20261121)
    every = [list(segment.heads()) for segment in PartitionLog(made).segments]
    for number, name in ((1, logs[1]), (2, logs[2])):
        heads = every[number]
        for position in range(len(before[name])):
            restore(made, before)
            damaged = bytearray(before[name])
            damaged[position] ^= 1 << chance.randrange(8)
            (made / name).write_bytes(damaged)
            recover(made, from_start=True, interval=100)
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
