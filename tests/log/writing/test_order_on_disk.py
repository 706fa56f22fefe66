"""What has to be on the disk before what: each call fails once, then the machine goes down."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kodec
from kodec.log.files.durable import make_root, replace_file
from kodec.log.files.names import file_name
from kodec.log.files.quarantine import default_quarantine
from kodec.log.recovery.planning import plan_recovery
from kodec.log.writing.config import LogConfig
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.log.writing.writer import LogWriter
from tests.log import made
from tests.log.disk import Disk
from tests.log.faults import Faults

RECORDS = [kodec.Record(key=b"k", value=b"v" * 40, timestamp=1)]


def each_call(base: Path, source: Path, work: Callable[[], object]) -> Iterator[Faults]:
    """Do `work` in a copy of `source` as often as it makes calls, and one more time; each time one fails."""
    number = 0
    while True:
        shutil.rmtree(base, ignore_errors=True)
        shutil.copytree(source, base)
        faults = Faults(number, root=base)
        try:
            with faults:
                work()
        except OSError as error:
            assert error.errno == errno.EIO
        yield faults
        if faults.failed is None:
            return
        number += 1


# -- the model ----------------------------------------------------------------------------------------


def test_the_disk_loses_what_was_not_fsynced_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    with Faults(root=tmp_path) as faults:
        replace_file(tmp_path / "durable", b"durable")
        replace_file(tmp_path / "name lost", b"1", folder=False)
        (tmp_path / "old").rename(tmp_path / "new")
        (tmp_path / "folder").mkdir()
        faults.lose()
    assert made.files(tmp_path) == {"durable": b"durable", "old": b"old"}


@pytest.mark.parametrize("seed", range(40))
def test_what_was_fsynced_stays_whatever_else_is_left(seed: int, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with Faults(root=tmp_path) as faults:
        replace_file(tmp_path / "a" / "kept", b"kept")
        (tmp_path / "a" / "kept").rename(tmp_path / "b" / "kept")
        faults.lose(random.Random(seed))
    found = [each.parent.name for each in tmp_path.rglob("kept")]
    assert found and set(found) <= {"a", "b"}
    assert {each.read_bytes() for each in tmp_path.rglob("kept")} == {b"kept"}


def test_an_fsync_that_failed_is_not_made_good_by_a_later_one(tmp_path: Path) -> None:
    left = set()
    for seed in range(30):
        base = tmp_path / str(seed)
        base.mkdir()
        with Faults(0, calls=("fsync",), root=base) as faults, SegmentWriter(base, 0) as writer:
            data = kodec.encode(RECORDS)
            writer.append_all(data, list(kodec.read_batches(data)))
            with pytest.raises(OSError, match="Input/output"):
                writer.flush()
            writer.abandon()
            disk = faults.disk
            assert isinstance(disk, Disk)
            status = writer.path.stat()
            disk.synced((status.st_dev, status.st_ino))
            around = base.stat()
            disk.synced((around.st_dev, around.st_ino))
            faults.lose(random.Random(seed))
        left.add(writer.path.stat().st_size)
    assert {0, len(data)} <= left


def test_a_file_that_is_written_past_the_layer_fails_the_test(tmp_path: Path) -> None:
    with Faults(), pytest.raises(AssertionError, match="past the layer"):
        (tmp_path / "file").write_bytes(b"")


# -- files --------------------------------------------------------------------------------------------


def test_a_file_that_was_replaced_is_there_when_the_machine_goes_down(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with Faults(root=tmp_path) as faults:
        replace_file(tmp_path / "file", b"new")
        faults.lose()
    assert made.files(tmp_path) == {"file": b"new"}


def test_a_folder_that_was_made_is_there_when_the_machine_goes_down(tmp_path: Path) -> None:
    with Faults(root=tmp_path) as faults:
        make_root(tmp_path / "a" / "b")
        faults.lose()
    assert (tmp_path / "a" / "b").is_dir()


def test_a_log_directory_is_there_though_the_first_to_make_it_failed(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    with Faults(0, calls=("fsync",), root=tmp_path) as faults:
        with pytest.raises(OSError, match="Input/output"):
            kodec.LogDirectoryWriter(root)
        with kodec.LogDirectoryWriter(root) as directory:
            directory.partition("t", 0).append(RECORDS)
        faults.lose()
    assert len(made.rows(root / "t-0")) == 1


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_failed_append_leaves_nothing_behind(error: int, tmp_path: Path) -> None:
    data = kodec.encode(RECORDS)
    head = list(kodec.read_batches(data))
    with SegmentWriter(tmp_path, 0) as writer:
        writer.append_all(data, head)
        longer = kodec.encode([kodec.Record(value=bytes(1000), timestamp=1)], base_offset=1)
        with Faults(0, error, calls=("pwrite",)), pytest.raises(OSError, match=r"No space|Input/output"):
            writer.append_all(longer, list(kodec.read_batches(longer)))
        assert writer.path.read_bytes() == data
        assert not writer.failed


def test_a_segment_that_was_left_in_order_is_on_the_disk_with_its_indexes(tmp_path: Path) -> None:
    data = kodec.encode(RECORDS)
    with Faults(root=tmp_path) as faults:
        with SegmentWriter(tmp_path, 0) as writer:
            writer.append_all(data, list(kodec.read_batches(data)))
        faults.lose()
    sizes = {each.suffix: each.stat().st_size for each in tmp_path.iterdir()}
    assert sizes == {".log": len(data), ".index": 0, ".timeindex": 12}


# -- recovery -----------------------------------------------------------------------------------------


def torn(root: Path) -> tuple[Path, list[bytes]]:
    """A log of four segments, the first of which is torn in its second batch; the logs' bytes."""
    with LogWriter(root / "t-0", config=LogConfig(segment_bytes=250)) as writer:
        for _ in range(8):
            writer.append(RECORDS)
    logs = sorted((root / "t-0").glob("*.log"))
    assert len(logs) == 4
    whole = logs[0].read_bytes()
    logs[0].write_bytes(whole[:-10])
    return root / "t-0", [each.read_bytes() for each in logs]


@pytest.mark.thorough
def test_recovery_loses_nothing_whatever_fails_and_goes_on_from_there(tmp_path: Path) -> None:
    (tmp_path / "source" / "logs").mkdir(parents=True)
    source, contents = torn(tmp_path / "source" / "logs")
    folder = tmp_path / "base" / "logs" / "t-0"
    names = sorted(each.name for each in source.glob("*.log"))
    place = default_quarantine(folder.parent) / folder.name

    def work() -> None:
        plan_recovery(folder).apply()

    done = 0
    for faults in each_call(tmp_path / "base", tmp_path / "source", work):
        faults.lose()
        there = sorted(each.name for each in folder.glob("*.log"))
        assert there == names[: len(there)], "segments go from the last to the first"
        first = (folder / names[0]).read_bytes()
        if len(first) < len(contents[0]):
            assert there == names[:1], "the log was cut while segments were behind it"
            saved = [each.read_bytes() for each in place.glob(f"{names[0]}.cut-*") if each.suffix != ".part"]
            assert contents[0][len(first) :] in saved, "what was cut off is nowhere"
        for name, content in list(zip(names, contents, strict=True))[len(there) :]:
            assert content in [each.read_bytes() for each in place.glob(f"{name}*")], f"{name} is nowhere"
        plan_recovery(folder).apply()
        assert plan_recovery(folder).steps == []
        assert [each.offset for each in made.rows(folder)] == [0]
        done += 1
    assert done > 40


def test_a_quarantine_on_another_file_system_gets_a_copy(tmp_path: Path) -> None:
    (tmp_path / "base" / "logs").mkdir(parents=True)
    folder, contents = torn(tmp_path / "base" / "logs")
    last = max(folder.glob("*.log")).name
    place = tmp_path / "base" / "elsewhere"
    with Faults(0, errno.EIO, calls=("rename",)), pytest.raises(OSError, match="Input/output"):
        plan_recovery(folder, quarantine=place).apply()
    assert (folder / last).read_bytes() == contents[-1]
    with Faults(0, errno.EXDEV, calls=("rename",), root=tmp_path / "base") as faults:
        plan_recovery(folder, quarantine=place).apply()
        assert faults.failed is not None and faults.failed.file == last
        faults.lose()
    assert (place / folder.name / last).read_bytes() == contents[-1]
    assert not (folder / last).exists()


def test_recovery_reads_what_the_disk_has_where_an_fsync_has_failed(tmp_path: Path) -> None:
    """What memory still has after a failed fsync is not declared to be on the disk."""
    ends = set()
    for seed in range(12):
        base = tmp_path / str(seed)
        folder = base / "t-0"
        base.mkdir()
        with Faults(root=base, chance=random.Random(seed)) as faults:
            writer = LogWriter(folder)
            writer.append(RECORDS)
            writer.flush()
            writer.append(RECORDS)
            with Faults(0, calls=("fsync",), disk=faults.disk), pytest.raises(OSError, match="Input/output"):
                writer.flush()
            writer.__exit__(OSError, None, None)
            plan = plan_recovery(folder)
            plan.apply()
            faults.lose()
        assert len(made.rows(folder)) == plan.end_offset
        assert plan_recovery(folder, from_start=True).truncated_bytes == 0
        ends.add(plan.end_offset)
    assert ends == {1, 2}


def test_a_start_offset_that_a_recovery_goes_by_does_not_come_back(tmp_path: Path) -> None:
    """The trim has failed to make it durable; what recovery has made of it is."""
    root = tmp_path / "logs"
    root.mkdir()
    with LogWriter(root / "t-0") as writer:
        for _ in range(3):
            writer.append(RECORDS)
    with Faults(root=tmp_path) as faults:
        # The first fsync is for the checkpoint's contents.
        with Faults(1, calls=("fsync",), disk=faults.disk), pytest.raises(OSError, match="Input/output"):
            kodec.operations.plan_trim(root / "t-0", before_offset=2).apply()
        plan_recovery(root / "t-0").apply()
        with kodec.PartitionLog(root / "t-0") as log:
            start = log.start_offset
        faults.lose()
    with kodec.PartitionLog(root / "t-0") as log:
        assert log.start_offset == start


def test_a_log_is_there_though_the_one_who_made_its_directory_failed(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    with Faults(root=tmp_path) as faults:
        root.mkdir()
        with LogWriter(root / "t-0") as writer:
            writer.append(RECORDS)
        faults.lose()
    assert len(made.rows(root / "t-0")) == 1


def test_the_names_of_a_log_are_on_the_disk_after_a_flush(tmp_path: Path) -> None:
    with Faults(root=tmp_path) as faults:
        writer = LogWriter(tmp_path / "t-0")
        writer.append(RECORDS)
        assert writer.flush() == 1
        faults.lose()
        writer.__exit__(OSError, None, None)
    assert (tmp_path / "t-0" / file_name(0, "log")).stat().st_size > 0
