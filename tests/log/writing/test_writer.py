"""What is written is what a broker writes, byte by byte, and what was said to be on the disk is there."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState
from kodec.log.files.checkpoints import LeaderEpoch, read_leader_epochs, read_offsets, write_offsets
from kodec.log.files.indexes import IndexBuilder
from kodec.log.files.listing import TopicPartition, find_partitions
from kodec.log.files.lock import locked
from kodec.log.verification.verify import verify_partition, verify_root
from kodec.log.writing import prepare
from kodec.log.writing.config import LogConfig
from kodec.log.writing.segment_scan import SegmentScan
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.log.writing.writer import LogWriter
from kodec.runtime.errors import EncodeError, FormatError, LogFailed, Malformed
from tests.data import LOGS
from tests.log.faults import Faults

BROKER_LOGS = [each.path for each in find_partitions(LOGS)]
# The cleaner has removed entries that snapshots were made of, and joined segments.
NOT_CLEANED = [each for each in BROKER_LOGS if not each.name.startswith("compacted")]
FOREVER = 2**62
# As the topics were made by tests/labs.
SETTINGS = {
    "orders": LogConfig(segment_bytes=16384, index_interval_bytes=1024, segment_ms=FOREVER),
    "segments": LogConfig(segment_bytes=8192, index_interval_bytes=512, segment_ms=FOREVER),
    "segments-by-time": LogConfig(segment_ms=60_000),
}
# The timestamps of many records are years before.
BROKER_STARTED = 1_795_227_838_000


def settings(folder: Path) -> LogConfig:
    topic = folder.name.rpartition("-")[0]
    return SETTINGS.get(topic, LogConfig(segment_ms=FOREVER))


def restarts(folder: Path) -> list[int]:
    """Where the log ended when its broker was started again: with each leader's epoch but the first."""
    epochs = read_leader_epochs(folder / "leader-epoch-checkpoint")
    return [] if folder.name.startswith("__cluster") else [each.start_offset for each in epochs[1:]]


def restarted(builder: IndexBuilder) -> None:
    """A broker that stops adds the largest timestamp, and counts the interval from zero when it starts."""
    builder.end()
    builder._indexed_at = builder.position


def without_expired(state: ProducerState) -> ProducerState:
    """What a broker that starts takes from a snapshot: producers that were idle for a day are forgotten."""
    kept = state.snapshot()
    day_before = BROKER_STARTED - 24 * 3600 * 1000
    kept.entries = [
        each for each in kept.entries if each.timestamp > day_before or each.current_txn_first_offset >= 0
    ]
    return ProducerState(kept)


@pytest.mark.parametrize("folder", BROKER_LOGS, ids=lambda folder: folder.name)
def test_indexes_of_every_segment_are_the_brokers(folder: Path) -> None:
    state = ProducerState()
    for segment in PartitionLog(folder).segments:
        builder = IndexBuilder(segment.base_offset, interval=settings(folder).index_interval_bytes)
        ends = restarts(folder)
        for batch in segment.batches():
            if ends and batch.base_offset >= ends[0] and builder.position:
                ends.pop(0)
                restarted(builder)
            builder.take(batch)
            ended = state.take_batch(batch)
            if ended is not None and ended.aborted:
                builder.abort(ended.index_entry())
        builder.end()
        assert segment.index is not None and segment.timeindex is not None
        assert builder.offsets == segment.index.read_bytes()
        assert builder.times == segment.timeindex.read_bytes()
        assert builder.aborted == (segment.txnindex.read_bytes() if segment.txnindex else b"")


@pytest.mark.parametrize("folder", NOT_CLEANED, ids=lambda folder: folder.name)
def test_snapshots_are_the_brokers(folder: Path) -> None:
    log = PartitionLog(folder)
    snapshots = dict(log.files.snapshots)
    ends = restarts(folder)
    state = ProducerState()
    for segment in log.segments:
        # The broker was killed and recovers: it reads the segment again, from the snapshot where it starts.
        again = without_expired(state)
        for batch in segment.batches():
            state.take_batch(batch)
            again.take_batch(batch)
            killed = batch.next_offset in ends
            path = snapshots.pop(batch.next_offset, None)
            if path is not None:
                assert path.read_bytes() == (again if killed else state).snapshot().to_bytes()
            if killed:
                state = without_expired(again)
    # The log of the metadata quorum has them where KRaft took snapshots of its own.
    assert not snapshots or folder.name.startswith("__cluster")


def files_of(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def problems(folder: Path) -> list[str]:
    # A follower's log may have gaps anywhere.
    found = verify_partition(PartitionLog(folder))
    return [str(each) for each in found if not each.note and each.what != "offsets"]


def values(folder: Path) -> list[tuple[int, bytes | None]]:
    return [(each.offset, each.value) for each in PartitionLog(folder).records()]


def records(count: int, *, size: int = 20, timestamp: int = 1_700_000_000_000) -> list[kodec.Record]:
    return [
        kodec.Record(timestamp=timestamp + each, key=b"%d" % each, value=b"v" * size) for each in range(count)
    ]


@pytest.mark.parametrize("folder", NOT_CLEANED, ids=lambda folder: folder.name)
def test_appending_what_a_broker_has_gives_what_it_wrote(folder: Path, tmp_path: Path) -> None:
    source = PartitionLog(folder)
    metadata = source.metadata()
    assert metadata is not None
    copy = tmp_path / folder.name
    with LogWriter(copy, config=settings(folder), topic_id=metadata.topic_id) as writer:
        for segment in source.segments:
            for batch in segment.batches():
                writer.append(batch, keep_offsets=True)
    assert problems(copy) == []
    theirs, ours = files_of(folder), files_of(copy)
    same = [name for name in theirs if name.endswith(".log")] + ["partition.metadata"]
    if not any(offset < source.end_offset for offset in restarts(folder)):
        # Of what a restart changes, the test of the indexes knows.
        same = [name for name in theirs if "checkpoint" not in name and name != "quorum-state"]
    if folder.name.startswith("__cluster"):
        same = [name for name in same if not name.endswith(".snapshot")]
    assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}
    assert {name for name in ours if name.endswith(".log")} <= set(theirs)


def test_offsets_and_epochs_are_assigned_in_place(tmp_path: Path) -> None:
    produced = kodec.encode(records(3), compression="zstd", base_offset=0)
    with LogWriter(tmp_path / "t-0", leader_epoch=7, start_offset=100) as writer:
        first = writer.append(produced)
        second = writer.append(kodec.read_batches(produced).__next__())
        assert (first.first_offset, first.last_offset, first.bytes) == (100, 102, len(produced))
        assert (second.first_offset, second.last_offset) == (103, 105)
        assert not second.durable and second.recovery_point == 100
        assert writer.flush() == 106
    stored = list(PartitionLog(tmp_path / "t-0").batches())
    assert [(each.base_offset, each.last_offset) for each in stored] == [(100, 102), (103, 105)]
    assert {each.partition_leader_epoch for each in stored} == {7}
    assert {each.crc for each in stored} == {next(kodec.read_batches(produced)).crc}
    assert PartitionLog(tmp_path / "t-0").leader_epochs() == [LeaderEpoch(7, 100)]
    assert problems(tmp_path / "t-0") == []


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("start", [0, 1000])
def test_older_formats_are_renumbered(magic: int, compression: str, start: int, tmp_path: Path) -> None:
    timestamp = 5 if magic else -1
    kind = kodec.TimestampType.CREATE_TIME
    given = [kodec.Record(value=b"%d" % each, timestamp=timestamp, timestamp_type=kind) for each in range(4)]
    data = kodec.encode(given, magic=magic, compression=compression, base_offset=50)
    with LogWriter(tmp_path / "t-0", start_offset=start) as writer:
        writer.append(data)
        result = writer.append(data)
        assert (result.first_offset, result.last_offset) == (start + 4, start + 7)
    expected = [(start + each, b"%d" % (each % 4)) for each in range(8)]
    assert values(tmp_path / "t-0") == expected
    assert {each.magic for each in PartitionLog(tmp_path / "t-0").batches()} == {magic}
    assert problems(tmp_path / "t-0") == []


def test_rolls_by_size_time_index_and_offset(tmp_path: Path) -> None:
    def bases(name: str, config: LogConfig, batches: list[bytes]) -> list[int]:
        with LogWriter(tmp_path / name, config=config) as writer:
            for each in batches:
                writer.append(each, keep_offsets=True)
        assert problems(tmp_path / name) == []
        return [each.base_offset for each in PartitionLog(tmp_path / name).segments]

    def batch(offset: int, timestamp: int = 1) -> bytes:
        return kodec.encode([kodec.Record(offset=offset, value=b"v", timestamp=timestamp)])

    size = len(batch(0))
    ten = [batch(each) for each in range(10)]
    assert bases("size-0", LogConfig(segment_bytes=3 * size), ten) == [0, 3, 6, 9]
    assert bases("size-1", LogConfig(segment_bytes=4 * size - 1), ten) == [0, 3, 6, 9]
    times = [batch(each, timestamp=1 + 1000 * each) for each in range(10)]
    assert bases("time-0", LogConfig(segment_ms=2999), times) == [0, 3, 6, 9]
    assert bases("time-1", LogConfig(segment_ms=3000), times) == [0, 4, 8]
    # Room for four entries of the offset index, and for three of the time index, one of them for the end.
    index = LogConfig(index_interval_bytes=0, segment_index_bytes=36)
    assert bases("index-0", index, ten) == [0, 5]
    assert bases("index-1", index, times) == [0, 3, 6, 9]
    far = [batch(0), batch(2**31 - 1), batch(2**31), batch(2**40)]
    assert bases("offset-0", LogConfig(), far) == [0, 2**31, 2**40]
    # A gap where it rolls is not left between segments, where it would tell of one that is missing.
    gaps = [batch(each) for each in (0, 1, 10, 11, 30)]
    assert bases("gaps-0", LogConfig(segment_bytes=2 * size), gaps) == [0, 2, 12]


def test_flushes_after_messages_and_milliseconds(tmp_path: Path) -> None:
    now = [0.0]
    config = LogConfig(flush_messages=5, flush_ms=1000)
    with LogWriter(tmp_path / "t-0", config=config, clock=lambda: now[0]) as writer:
        assert writer.append(records(4)).recovery_point == 0
        result = writer.append(records(1))
        assert result.recovery_point == 5 and result.durable
        assert writer.append(records(1)).recovery_point == 5
        now[0] = 1.0
        assert writer.append(records(1)).recovery_point == 7
        now[0] = 2.0
        assert writer.append(records(1)).recovery_point == 8
        assert writer.append([]).last_offset == 7


def test_a_log_without_times_rolls_by_the_clock(tmp_path: Path) -> None:
    now = [0.0]
    message = kodec.encode([kodec.Record(value=b"v")], magic=0)
    with LogWriter(tmp_path / "t-0", config=LogConfig(segment_ms=5000), clock=lambda: now[0]) as writer:
        writer.append(message)
        now[0] = 5.0
        writer.append(message)
        now[0] = 5.001
        writer.append(message)
    assert [each.base_offset for each in PartitionLog(tmp_path / "t-0").segments] == [0, 2]


def test_the_time_of_a_segment_counts_from_its_first_batch_whoever_wrote_that(tmp_path: Path) -> None:
    config = LogConfig(segment_ms=5000)
    for timestamp in (1_000, 6_000, 6_001):
        with LogWriter(tmp_path / "t-0", config=config, clock=lambda: 0.0) as writer:
            writer.append([kodec.Record(value=b"v", timestamp=timestamp)])
    assert [each.base_offset for each in PartitionLog(tmp_path / "t-0").segments] == [0, 2]


class Synced:
    """What fsync has been told: the size of each file at its last fsync, and the names at a folder's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: dict[int, int] = {}
        self.names: dict[int, set[str]] = {}
        real = os.fsync

        def fsync(fd: int) -> None:
            status = os.fstat(fd)
            if stat.S_ISDIR(status.st_mode):
                self.names[status.st_ino] = set(os.listdir(fd))
            else:
                self.sizes[status.st_ino] = status.st_size
            real(fd)

        monkeypatch.setattr(os, "fsync", fsync)

    def holds(self, path: Path) -> bool:
        status = path.stat()
        folder = path.parent.stat().st_ino
        return self.sizes.get(status.st_ino, -1) >= status.st_size and path.name in self.names.get(folder, ())


def test_what_is_flushed_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = Synced(monkeypatch)
    folder = tmp_path / "t-0"
    config = LogConfig(segment_bytes=4000, index_interval_bytes=0)
    with LogWriter(folder, config=config, leader_epoch=3) as writer:
        for _ in range(40):
            writer.append(records(10))
            if writer.next_offset % 70 == 0:
                writer.flush()
                assert writer.recovery_point == writer.next_offset
                assert all(synced.holds(each) for each in folder.iterdir() if "index" not in each.suffix)
            logs = sorted(folder.glob("*.log"))
            # All but the last are there in any case, with their indexes.
            for log in logs[:-1]:
                for each in (log, log.with_suffix(".index"), log.with_suffix(".timeindex")):
                    assert synced.sizes[each.stat().st_ino] == each.stat().st_size
            base = int(logs[-1].name[:20])
            assert base <= writer.recovery_point <= writer.next_offset
    assert all(synced.holds(each) for each in folder.iterdir())
    assert len(logs) > 3


def test_goes_on_where_it_was_closed(tmp_path: Path) -> None:
    once, often = tmp_path / "a" / "t-0", tmp_path / "b" / "t-0"
    once.parent.mkdir()
    often.parent.mkdir()
    config = LogConfig(segment_bytes=3000, index_interval_bytes=200)
    batches = [records(5, timestamp=1000 * each) for each in range(40)]
    with LogWriter(once, config=config) as writer:
        for each in batches:
            writer.append(each, producer_id=1, producer_epoch=0, base_sequence=0)
    for each in batches:
        with LogWriter(often, config=config) as writer:
            writer.append(each, producer_id=1, producer_epoch=0, base_sequence=0)
            assert writer.recovery_point <= writer.next_offset
    left = files_of(often)
    assert {name: data for name, data in files_of(once).items() if not name.endswith(".snapshot")} == {
        name: data for name, data in left.items() if not name.endswith(".snapshot")
    }
    # As a broker, it leaves the newest snapshot after the last segment, and removes older ones at the start.
    bases = {int(name[:20]) for name in left if name.endswith(".log")}
    strays = {int(name[:20]) for name in left if name.endswith(".snapshot")} - bases
    assert max(strays) == 200 and len(strays) <= 2
    assert problems(often) == []


def test_an_abandoned_log_is_opened_when_it_ends_whole_and_refused_when_not(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    writer = LogWriter(folder, config=LogConfig(index_interval_bytes=0))
    writer.append(records(3))
    writer.append(records(3))
    writer.__exit__(RuntimeError, None, None)
    with LogWriter(folder) as again:
        assert again.next_offset == 6
        again.append(records(1))
    assert problems(folder) == []
    log = folder / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[:-1])
    with pytest.raises(Malformed, match="recover the log first"):
        LogWriter(folder)
    # Nothing is held after the refusal.
    with locked(tmp_path):
        pass


def test_unfinished_replacements_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    with LogWriter(folder) as writer:
        writer.append(records(3))
    (folder / f"{0:020d}.log.swap").write_bytes(b"")
    with pytest.raises(Malformed, match="an interrupted swap of segments"):
        LogWriter(folder)


def test_bad_input_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    good = kodec.encode(records(2), base_offset=0)
    bad = bytearray(good)
    bad[-1] ^= 1
    with LogWriter(folder, config=LogConfig(segment_bytes=1000)) as writer:
        for data, error in [
            (good + good[:-1], FormatError),
            (good + bytes(bad), FormatError),
            (kodec.encode(records(30, size=100), base_offset=0), EncodeError),
        ]:
            with pytest.raises(error):
                writer.append(data)
        with pytest.raises(EncodeError, match="ascend"):
            writer.append(good + good, keep_offsets=True)
        with pytest.raises(TypeError):
            writer.append(good, compression="gzip")
        assert writer.next_offset == 0
        assert writer.append(good, keep_offsets=True).first_offset == 0
        with pytest.raises(EncodeError, match="ascend"):
            writer.append(good, keep_offsets=True)
        assert writer.append(batch_at(7), keep_offsets=True).first_offset == 7
    assert values(folder) == [(0, b"v" * 20), (1, b"v" * 20), (7, b"v")]
    with pytest.raises(ValueError, match="is closed"):
        writer.append(good)
    with pytest.raises(ValueError, match="named like orders-0"):
        LogWriter(tmp_path / "nothing")
    for wrong in ({"segment_bytes": 0}, {"segment_bytes": 2**31}, {"segment_index_bytes": 8}):
        with pytest.raises(ValueError, match="expected"):
            LogConfig(**wrong)


def test_a_failed_write_leaves_whole_entries(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    with LogWriter(folder) as writer:
        writer.append(records(2))
        size = (folder / f"{0:020d}.log").stat().st_size
        with Faults(2, errno.ENOSPC, calls=("pwrite",)), pytest.raises(OSError, match="No space"):
            for _ in range(100):
                writer.append(records(2))
        assert (folder / f"{0:020d}.log").stat().st_size == 3 * size
        assert writer.next_offset == 6 and not writer.failed
        writer.append(records(2))
    assert [offset for offset, _ in values(folder)] == list(range(8))
    assert problems(folder) == []


def test_what_cannot_be_cut_off_again_ends_the_writer(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "t-0")
    writer.append(records(2))
    with (
        Faults(0, calls=("pwrite", "ftruncate"), forever=True),
        Faults(0, calls=("ftruncate",)),
        pytest.raises(OSError, match="Input/output"),
    ):
        writer.append(records(2))
    with pytest.raises(LogFailed, match="an append was not completed") as caught:
        writer.append(records(2))
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(LogFailed):
        writer.close()
    with pytest.raises(Malformed, match="recover the log first"):
        LogWriter(tmp_path / "t-0")


def test_a_failed_fsync_is_not_forgotten(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    directory = kodec.LogDirectoryWriter(root)
    sound, failed = directory.partition("t", 0), directory.partition("t", 1)
    for log in (sound, failed):
        log.append(records(2))
    directory.flush()
    for log in (sound, failed):
        log.append(records(2))
    with Faults(0, calls=("fsync",)), pytest.raises(OSError, match="Input/output"):
        failed.flush()
    # As the system has it, the next fsync of the file succeeds.
    for call in (failed.flush, failed.roll, lambda: failed.append(records(1)), directory.flush):
        with pytest.raises(LogFailed, match=r"a flush was not completed \(OSError: .*Input/output"):
            call()
    assert failed.recovery_point == 2
    with pytest.raises(LogFailed):
        directory.close()
    assert not (root / ".kafka_cleanshutdown").exists()
    points = read_offsets(root / "recovery-point-offset-checkpoint")
    assert points == {sound.topic_partition: 2, failed.topic_partition: 2}
    assert sound.is_complete and not failed.is_complete
    # Opening it asks the disk.
    with Faults(0, calls=("fsync",)), pytest.raises(OSError, match="Input/output"):
        LogWriter(root / "t-1")
    with LogWriter(root / "t-1") as again:
        assert again.next_offset == again.recovery_point == 4


def test_opening_a_log_reads_it_from_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LogWriter(tmp_path / "t-0") as writer:
        writer.append(records(2))
    asked: list[str] = []
    scan = prepare.scan_segment
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, *_: asked.append("dropped"))

    def scanned(path: Path, base_offset: int, **options: Any) -> SegmentScan:
        asked.append("read")
        return scan(path, base_offset, **options)

    monkeypatch.setattr(prepare, "scan_segment", scanned)
    LogWriter(tmp_path / "t-0").close()
    assert asked == ["dropped", "dropped", "dropped", "read"]


def test_a_directory_of_several_partitions(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    names = [("orders", 0), ("orders", 1), ("with.dots-and-dashes", 0)]
    config = LogConfig(segment_bytes=4000)
    ids = {"orders": UUID(int=2**100), "with.dots-and-dashes": UUID(int=2**99)}
    with kodec.LogDirectoryWriter(root, cluster_id="abc", node_id=1, config=config) as writer:
        for topic, number in names:
            log = writer.partition(topic, number, topic_id=ids[topic])
            for _ in range(20):
                log.append(records(number + 10))
        writer.flush()
        assert read_offsets(root / "recovery-point-offset-checkpoint") == {
            log.topic_partition: log.next_offset for log in writer._writers.values()
        }
        assert not (root / ".kafka_cleanshutdown").exists()
    directory = kodec.LogDirectory(root)
    assert [tuple(each) for each in directory.topic_partitions] == names
    assert list(verify_root(directory.roots[0])) == []
    for log in directory:
        assert list(verify_partition(log)) == []
        assert log.metadata().topic_id == ids[log.topic_partition.topic]
        assert directory.roots[0].recovery_points()[log.topic_partition] == log.end_offset
    properties = directory.roots[0].meta_properties()
    assert (properties.cluster_id, properties.node_id, properties.version) == ("abc", 1, 1)
    assert directory.roots[0].clean_shutdown().broker_epoch == -1
    # One log more, of a directory that was closed in order: it stays so.
    with kodec.LogDirectoryWriter(root) as writer:
        assert not (root / ".kafka_cleanshutdown").exists()
        writer.partition("orders", 1).append(records(1))
    assert (root / ".kafka_cleanshutdown").exists()
    # A log alone takes the note away, and who comes later does not put it back for the others.
    with LogWriter(root / "orders-0") as log:
        log.append(records(1))
    with kodec.LogDirectoryWriter(root) as writer:
        writer.partition("orders", 0).append(records(1))
    assert not (root / ".kafka_cleanshutdown").exists()
    with pytest.raises(RuntimeError), kodec.LogDirectoryWriter(root) as writer:
        for topic, number in names:
            writer.partition(topic, number)
        raise RuntimeError
    assert not (root / ".kafka_cleanshutdown").exists()
    with pytest.raises(ValueError, match="topic id"):
        LogWriter(root / "orders-0", topic_id=UUID(int=5))


def test_an_older_epoch_is_refused(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "t-0", leader_epoch=4) as writer:
        writer.append(records(1))
    with pytest.raises(ValueError, match="leader_epoch=3"):
        LogWriter(tmp_path / "t-0", leader_epoch=3)
    with pytest.raises(ValueError, match="at most 2147483647"):
        LogWriter(tmp_path / "t-0", leader_epoch=2**31)
    with LogWriter(tmp_path / "t-0", leader_epoch=9) as writer:
        writer.append(records(1))
    assert PartitionLog(tmp_path / "t-0").leader_epochs() == [LeaderEpoch(4, 0), LeaderEpoch(9, 1)]


def test_the_lock_is_that_of_the_root(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = (
        "import sys\nfrom kodec.log.files.lock import locked\n"
        "try:\n    with locked(sys.argv[1]): print('free')\nexcept BlockingIOError: print('held')\n"
    )

    def asked() -> str:
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    with LogWriter(tmp_path / "a-0"):
        with LogWriter(tmp_path / "b-0"):
            pass
        assert asked() == "held"
    assert asked() == "free"


def test_segment_writer_refuses_what_does_not_fit(tmp_path: Path) -> None:
    batch = next(kodec.read_batches(kodec.encode([kodec.Record(offset=100, value=b"v")])))
    with SegmentWriter(tmp_path, 100, suffix=".cleaned") as writer:
        assert writer.append(batch.data, batch) == 0
        with pytest.raises(EncodeError, match="ascend"):
            writer.append(batch.data, batch)
        far = next(kodec.read_batches(kodec.encode([kodec.Record(offset=2**31 + 100, value=b"v")])))
        assert not writer.fits(far.last_offset) and writer.fits(far.last_offset - 1)
        with pytest.raises(EncodeError, match="does not fit"):
            writer.append(far.data, far)
        with pytest.raises(EncodeError, match="sizes"):
            writer.append(batch.data + b"x", batch_at(101))
        assert writer.size == batch.size and writer.batches == 1
    assert sorted(each.name[20:] for each in tmp_path.iterdir()) == [
        ".index.cleaned",
        ".log.cleaned",
        ".timeindex.cleaned",
    ]
    with pytest.raises(FileExistsError):
        SegmentWriter(tmp_path, 100, suffix=".cleaned")
    SegmentWriter(tmp_path, 100, suffix=".cleaned", overwrite=True).close()
    assert (tmp_path / f"{100:020d}.log.cleaned").stat().st_size == 0


def batch_at(offset: int) -> kodec.Batch:
    return next(kodec.read_batches(kodec.encode([kodec.Record(offset=offset, value=b"v")])))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 8), st.integers(0, 3)),
        st.tuples(st.just("gap"), st.integers(1, 1000), st.just(0)),
        st.tuples(st.sampled_from(["roll", "flush", "reopen", "abandon"]), st.just(0), st.just(0)),
    ),
    max_size=25,
)


@given(STEPS, st.sampled_from([100, 300, 1000]), st.sampled_from([0, 100, 4096]))
def test_any_order_of_steps_gives_a_right_log(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]], size: int, interval: int
) -> None:
    root = tmp_path_factory.mktemp("any")
    folder = root / "t-0"
    config = LogConfig(segment_bytes=size + 300, index_interval_bytes=interval)
    expected: list[tuple[int, bytes | None]] = []
    writer = LogWriter(folder, config=config)
    for step, number, producer in steps:
        if step == "append":
            given = [kodec.Record(value=b"%d" % each, timestamp=1 + each) for each in range(number)]
            options = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0} if producer else {}
            start = writer.append(given, **options).first_offset
            expected += [(start + each, b"%d" % each) for each in range(number)]
        elif step == "gap":
            offset = writer.next_offset + number
            data = kodec.encode([kodec.Record(offset=offset, value=b"gap", timestamp=number)])
            writer.append(data, keep_offsets=True)
            expected.append((offset, b"gap"))
        elif step == "roll":
            writer.roll()
        elif step == "flush":
            assert writer.flush() == writer.next_offset
        else:
            if step == "reopen":
                writer.close()
            else:
                writer.__exit__(RuntimeError, None, None)
            writer = LogWriter(folder, config=config)
    writer.close()
    assert values(folder) == expected
    assert problems(folder) == []
    shutil.rmtree(root)


def test_recovery_points_of_logs_that_are_not_open_stay(tmp_path: Path) -> None:
    for topic, count in (("a", 2), ("b", 3)):
        with kodec.LogDirectoryWriter(tmp_path) as directory:
            directory.partition(topic, 0).append(records(count))
    points = read_offsets(tmp_path / "recovery-point-offset-checkpoint")
    assert {str(key): offset for key, offset in points.items()} == {"a-0": 2, "b-0": 3}


def test_nothing_is_appended_below_the_start_offset(tmp_path: Path) -> None:
    """Found by histories: recovery would delete it, as a log that ends before it starts."""
    with LogWriter(tmp_path / "t-0") as writer:
        writer.append(records(1))
    starts = dict.fromkeys((TopicPartition("t", 0), TopicPartition("new", 0)), 5)
    write_offsets(tmp_path / "log-start-offset-checkpoint", starts)
    with pytest.raises(Malformed, match="recover the log first: it starts at offset 5"):
        LogWriter(tmp_path / "t-0")
    kodec.repair.plan_recovery(tmp_path / "t-0").apply()
    for name in ("t-0", "new-0"):
        with LogWriter(tmp_path / name) as writer:
            assert writer.append(records(1)).first_offset == 5


def test_a_trim_that_was_interrupted_leaves_nothing_to_recover(tmp_path: Path) -> None:
    """Found by histories: the start offset was checkpointed, and the leader epochs began before it."""
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        directory.partition("t", 0).append(records(6))
    write_offsets(tmp_path / "log-start-offset-checkpoint", {TopicPartition("t", 0): 4})
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        directory.partition("t", 0).append(records(2))
    assert (tmp_path / "t-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n0 4\n"
    assert [plan.steps for plan in kodec.repair.plan_recoveries(tmp_path)] == [[]]


@pytest.mark.parametrize("made", [True, False])
def test_what_a_crash_has_left_goes_when_a_log_is_opened(made: bool, tmp_path: Path) -> None:
    """Found by histories: a roll that a crash had interrupted left them, next to a clean shutdown then."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    if made:
        with LogWriter(folder) as writer:
            writer.append(records(1))
    for kind in ("index", "timeindex", "txnindex"):
        (folder / f"00000000000000000001.{kind}").write_bytes(b"")
    (folder / "00000000000000000000.log.deleted").write_bytes(b"")
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        directory.partition("t", 0)
    assert [plan.steps for plan in kodec.repair.plan_recoveries(tmp_path)] == [[]]
    assert not list(folder.glob("*1.*index")) + list(folder.glob("*.deleted"))
