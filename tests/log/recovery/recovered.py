"""A log to recover, what can happen to it, and what has to hold when it was recovered."""

from __future__ import annotations

from pathlib import Path

import kodec
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.quarantine import default_quarantine
from kodec.log.omissions import Omissions
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recovery
from kodec.log.verification.verify import verify_partition
from kodec.log.writing.config import LogConfig
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.log.writing.writer import LogWriter
from tests.data import DATA

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
    # Offsets that no segment holds are what a recovery that sets segments aside leaves; a wrong leader epoch,
    # which no checksum covers, stays as it is.
    found = verify_partition(PartitionLog(folder))
    return [
        str(each) for each in found if not each.note and not each.what.startswith(("offsets", "leader epoch"))
    ]


def rows(folder: Path) -> Rows:
    return [(each.offset, each.value) for each in PartitionLog(folder).records(omissions=Omissions())]


def recover(folder: Path, *, from_start: bool = False, interval: int = 4096) -> RecoveryPlan:
    """Recover, and see that the log is right then and a second time changes nothing."""
    before = files_of(folder)
    plan = plan_recovery(folder, from_start=from_start, index_interval_bytes=interval)
    assert files_of(folder) == before, "a plan only reads"
    assert not plan.problems
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


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def last_log(folder: Path) -> Path:
    return max(folder.glob("*.log"))


def batch(offset: int) -> bytes:
    return kodec.encode([kodec.Record(offset=offset, value=b"v", timestamp=1)])


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 4
    path.write_bytes(data)


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


def swapped(folder: Path) -> None:
    for name, data in compacted(folder).items():
        (folder / f"{name}.swap").write_bytes(data)
