"""Why a segment stays: time, size, the high watermark, compaction, tiering; leader epochs of a partition."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.cleaning.retention import plan_trim
from kodec.log.files.checkpoints import LeaderEpoch, write_leader_epochs, write_meta_properties, write_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Omissions
from kodec.log.remote.metadata import read_remote_offsets
from kodec.log.views.epochs import LeaderEpochs, read_epochs
from kodec.log.views.metadata import ClusterMetadata, read_metadata_snapshot
from kodec.log.views.replicas import Replicas
from kodec.log.views.retention import KeptSegment, Retention, explain_retention
from tests.data import DATA, LOGS
from tests.log.made import START, batch, make

pytestmark = pytest.mark.quick

HOUR = 3_600_000
NOW = START + 10 * HOUR
REAL = LOGS


def folder(root: Path, *ages: int) -> Path:
    """A log with a segment for each age of its only record, in hours before NOW; each has 72 bytes or so."""
    segments = [(at, [batch(at, [(b"k", b"v")], time=NOW - age * HOUR)]) for at, age in enumerate(ages)]
    return make(root / "t-0", segments)


def explained(
    path: Path, metadata: ClusterMetadata | None = None, now: int = NOW, **options: str
) -> Retention:
    given = {name.replace("_", "."): value for name, value in options.items()}
    with kodec.PartitionLog(path) as log:
        return explain_retention(log, metadata, options=given, now=now)


def kept(found: Retention) -> KeptSegment:
    assert found.next is not None
    return found.next


def cluster(**configs: dict[str, str]) -> ClusterMetadata:
    """Configs of `topic_t`, `broker_1` and `broker_` (the default of all)."""
    found = read_metadata_snapshot(REAL / "bootstrap.checkpoint")
    named = {tuple(name.split("_")): values for name, values in configs.items()}
    return replace(found, configs=named)  # type: ignore[arg-type]


def test_by_time_the_first_that_is_young_enough_stays(tmp_path: Path) -> None:
    found = explained(folder(tmp_path, 9, 8, 3, 7, 1), retention_ms=str(5 * HOUR))
    assert [each.base_offset for each in found.deletable] == [0, 1]
    one = kept(found)
    assert (one.base_offset, one.end_offset, one.active, one.by_file) == (2, 3, False, False)
    assert one.due == NOW + 2 * HOUR + 1 and one.largest_timestamp == NOW - 3 * HOUR
    # Behind it is one that is older.
    assert one.behind == 1 and one.missing_bytes is None
    at_due = explained(tmp_path / "t-0", now=one.due, retention_ms=str(5 * HOUR))
    assert [each.base_offset for each in at_due.deletable] == [0, 1, 2, 3]
    before = explained(tmp_path / "t-0", now=one.due - 1, retention_ms=str(5 * HOUR))
    assert [each.base_offset for each in before.deletable] == [0, 1]


def test_by_size_as_many_go_as_leave_enough(tmp_path: Path) -> None:
    path = folder(tmp_path, 4, 3, 2, 1)
    size = sum(each.stat().st_size for each in path.glob("*.log")) // 4
    found = explained(path, retention_bytes=str(2 * size + 10), retention_ms="-1")
    assert [each.base_offset for each in found.deletable] == [0]
    assert (kept(found).missing_bytes, kept(found).due) == (10, None)
    assert "no time limit" in kept(found).reasons
    assert explained(path, retention_bytes=str(2 * size)).deletable[-1].base_offset == 1


def test_nothing_goes_above_the_high_watermark(tmp_path: Path) -> None:
    path = folder(tmp_path, 9, 8, 7)
    write_offsets(tmp_path / "replication-offset-checkpoint", {TopicPartition("t", 0): 1})
    found = explained(path, retention_ms="0")
    assert [each.base_offset for each in found.deletable] == [0]
    assert found.high_watermark == 1
    assert any("above the high watermark 1" in each for each in kept(found).reasons)


def test_a_compacted_topic_and_one_that_is_both(tmp_path: Path) -> None:
    path = folder(tmp_path, 9, 8)
    found = explained(path, cleanup_policy="compact", retention_ms="0")
    assert found.deletable == () and "no delete" in kept(found).reasons[0] and kept(found).due is None
    assert len(explained(path, cleanup_policy="compact,delete", retention_ms=str(HOUR)).deletable) == 2


TIERED = {"remote.storage.enable": "true", "local.retention.ms": "1"}


@pytest.mark.parametrize(("copied", "gone"), [(None, []), (-1, []), (0, [0]), (1, [0, 1])])
def test_of_a_tiered_topic_goes_what_was_copied(tmp_path: Path, copied: int | None, gone: list[int]) -> None:
    path = folder(tmp_path, 9, 8, 7)
    with kodec.PartitionLog(path) as log:
        found = explain_retention(log, options=TIERED, remote_offset=copied, now=NOW)
    assert [each.base_offset for each in found.deletable] == gone
    assert any("remote storage" in each for each in kept(found).reasons)
    assert kept(found).due == kept(found).largest_timestamp + 2


def test_a_real_broker_has_deleted_what_it_had_copied() -> None:
    logs = DATA / "tiered-4.3.1/logs"
    account = Omissions()
    copied = read_remote_offsets(Replicas(logs), account)
    with kodec.PartitionLog(logs / "tiered-0") as log:
        assert copied == {log.topic_partition: log.segments[0].base_offset - 1}
        found = explain_retention(log, options=TIERED, remote_offset=copied[log.topic_partition], now=NOW)
    assert found.deletable == () and found.next is not None
    assert account.is_whole
    assert read_remote_offsets(Replicas(REAL), account) == {}


def test_records_without_a_time_have_that_of_the_file(tmp_path: Path) -> None:
    path = make(tmp_path / "t-0", [(0, [batch(0, [(b"k", b"v")], magic=0)]), (1, [])])
    os.utime(path / f"{0:020d}.log", (START / 1000, START / 1000))
    found = explained(path, now=START + HOUR, retention_ms=str(2 * HOUR))
    assert kept(found).by_file and kept(found).due == START + 2 * HOUR + 1
    assert any("its file was written" in each for each in kept(found).reasons)


def test_a_time_to_come_keeps_a_segment(tmp_path: Path) -> None:
    found = explained(folder(tmp_path, -5, 9), retention_ms=str(HOUR))
    assert found.deletable == () and any("in the future" in each for each in kept(found).reasons)


def test_an_empty_log_has_nothing_to_delete(tmp_path: Path) -> None:
    found = explained(make(tmp_path / "t-0", [(0, [])]), retention_ms="0")
    assert (kept(found).reasons, kept(found).due) == (["the active segment is empty"], None)


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ({}, ("604800000", "default")),
        ({"broker_": {"log.retention.ms": "3"}}, ("3", "cluster")),
        ({"broker_": {"log.retention.ms": "3"}, "broker_1": {"log.retention.ms": "2"}}, ("2", "broker")),
        ({"topic_t": {"retention.ms": "1"}, "broker_1": {"log.retention.ms": "2"}}, ("1", "topic")),
        ({"topic_u": {"retention.ms": "1"}, "broker_7": {"log.retention.ms": "2"}}, ("604800000", "default")),
    ],
)
def test_who_says_a_setting(
    tmp_path: Path, configs: dict[str, dict[str, str]], expected: tuple[str, str]
) -> None:
    path = folder(tmp_path, 1)
    write_meta_properties(tmp_path / "meta.properties", cluster_id="c", node_id=1)
    metadata = cluster(**configs)
    assert explained(path, metadata).settings["retention.ms"] == expected
    assert explained(path, metadata, retention_ms="9").settings["retention.ms"] == ("9", "option")


def test_a_setting_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"retention\.ms=soon: not a number"):
        explained(folder(tmp_path, 1), retention_ms="soon")


# -- leader epochs ----------------------------------------------------------------------------------


def epochs(root: Path, *stored: int, checkpoint: list[tuple[int, int]] | None = None) -> LeaderEpochs:
    """A log of batches of a record with these epochs, and a checkpoint."""
    entries = [
        kodec.encode(
            [kodec.Record(value=b"v", timestamp=START)], base_offset=at, partition_leader_epoch=epoch
        )
        for at, epoch in enumerate(stored)
    ]
    path = make(root / "t-0", [(0, entries)])
    if checkpoint is not None:
        write_leader_epochs(path / "leader-epoch-checkpoint", [LeaderEpoch(*each) for each in checkpoint])
    with kodec.PartitionLog(path) as log:
        return read_epochs(log)


def shown(found: LeaderEpochs) -> list[tuple[int | None, ...]]:
    return [
        (each.epoch, each.start_offset, each.first_offset, each.end_offset, each.batches)
        for each in found.epochs
    ]


def test_checkpoint_and_batches_agree(tmp_path: Path) -> None:
    found = epochs(tmp_path, 0, 0, 3, 3, 3, checkpoint=[(0, 0), (3, 2), (4, 5)])
    assert shown(found) == [(0, 0, 0, 2, 2), (3, 2, 2, 5, 3), (4, 5, None, 5, 0)]
    assert found.omissions.is_whole


def test_an_epoch_that_compaction_has_emptied_is_no_contradiction(tmp_path: Path) -> None:
    entries = [
        kodec.encode([kodec.Record(value=b"v")], base_offset=at, partition_leader_epoch=epoch)
        for at, epoch in ((0, 0), (4, 2))
    ]
    path = make(tmp_path / "t-0", [(0, entries)])
    told = [LeaderEpoch(0, 0), LeaderEpoch(1, 1), LeaderEpoch(2, 4)]
    write_leader_epochs(path / "leader-epoch-checkpoint", told)
    with kodec.PartitionLog(path) as log:
        found = read_epochs(log)
    assert shown(found)[1] == (1, 1, None, 4, 0)
    assert found.omissions.is_whole


@pytest.mark.parametrize(
    ("stored", "checkpoint", "told"),
    [
        ([0, 0, 3], [(0, 0)], "need 0 as in leader-epoch-checkpoint, have 3 in 1 batch, offsets 2 to 2"),
        (
            [0, 0, 3],
            [(0, 1), (3, 2)],
            "need an entry in leader-epoch-checkpoint, which begins at offset 1, have 0 in 2 batches, "
            "offsets 0 to 1",
        ),
        (
            [0, 3, 1, 3],
            [(0, 0), (3, 1)],
            "need 3 as in the batches around, have 1 in 1 batch, offsets 2 to 2",
        ),
    ],
)
def test_contradictions_are_told(
    tmp_path: Path, stored: list[int], checkpoint: list[tuple[int, int]], told: str
) -> None:
    found = epochs(tmp_path, *stored, checkpoint=checkpoint)
    (problem,) = found.contradictions
    assert str(problem).endswith(told) and found.omissions.is_whole


def test_without_a_checkpoint_the_batches_say_it(tmp_path: Path) -> None:
    found = epochs(tmp_path, 1, 1, 2)
    assert shown(found) == [(1, None, 0, 2, 2), (2, None, 2, 3, 1)] and found.omissions.is_whole
    (tmp_path / "t-0/leader-epoch-checkpoint").write_text("0\n1\nx y\n")
    with kodec.PartitionLog(tmp_path / "t-0") as log:
        found = read_epochs(log)
    assert len(found.omissions.losses) == 1 and len(found.epochs) == 2


def test_a_log_without_epochs_has_none(tmp_path: Path) -> None:
    assert shown(epochs(tmp_path)) == []


def test_epochs_of_a_real_log_agree() -> None:
    with kodec.LogDirectory(REAL) as directory:
        for log in directory:
            found = read_epochs(log)
            assert found.omissions.is_whole and not found.contradictions, found


def test_what_a_broker_is_cleaning_does_not_hide_the_answer(tmp_path: Path) -> None:
    """The output of a compaction that goes on is not part of the log, nor does it count by size."""
    path = folder(tmp_path, 9, 8, 7)
    wanted = explained(path, retention_ms=str(HOUR))
    assert len(wanted.deletable) == 3
    for kind in ("log", "index", "timeindex"):
        (path / f"{0:020d}.{kind}.cleaned").write_bytes(bytes(500))
    assert explained(path, retention_ms=str(HOUR)) == wanted
    deleted = path.rename(tmp_path / f"t-0.{'0' * 32}-delete")
    with (
        kodec.PartitionLog(deleted) as log,
        pytest.raises(ValueError, match="a delete replica is not changed"),
    ):
        explain_retention(log)


def _entry(time: int, offset: int = 0) -> bytes:
    return struct.pack(">qi", time, offset)


@pytest.mark.parametrize(
    ("index", "timestamp", "source"),
    [
        (_entry(NOW - HOUR), NOW - HOUR, "records"),
        (_entry(NOW - HOUR) + bytes(120), 0, "index"),
        (bytes(12), 0, "index"),
        (_entry(NOW - HOUR) + bytes(11), NOW - HOUR, "records"),
        (b"", NOW - 5 * HOUR, "file"),
        (bytes(11), NOW - 5 * HOUR, "file"),
        (None, NOW - 5 * HOUR, "file"),
        (_entry(-1), NOW - 5 * HOUR, "file"),
        (b"\xa5" * 24, NOW - 5 * HOUR, "file"),
        (_entry(NOW + HOUR, 7), NOW + HOUR, "index"),
        (_entry(NOW - 9 * HOUR), NOW - 9 * HOUR, "index"),
    ],
    ids=[
        "right",
        "padded",
        "zeros",
        "torn",
        "empty",
        "torn in its first entry",
        "missing",
        "without a time",
        "noise",
        "newer than the records",
        "older than the records",
    ],
)
def test_a_broker_looks_at_the_time_index_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], index: bytes | None, timestamp: int, source: str
) -> None:
    """Of a closed segment with a record that is an hour old, and a file that is five hours old."""
    path = folder(tmp_path, 1, 0)
    log, times = path / f"{0:020}.log", path / f"{0:020}.timeindex"
    times.unlink()
    if index is not None:
        times.write_bytes(index)
    os.utime(log, ((NOW - 5 * HOUR) / 1000,) * 2)
    for hours in (0.5, 2, 7, 12):
        found = explained(path, retention_ms=str(int(hours * HOUR)))
        expires = NOW - timestamp > hours * HOUR
        assert [each.base_offset for each in found.deletable] == ([0] if expires else [])
        wanted = [] if source == "records" else [(0, timestamp, source, NOW - HOUR)]
        assert list(found.wrong_times) == wanted
    if kept(explained(path, retention_ms=str(2 * HOUR))).base_offset == 0:
        assert kept(explained(path, retention_ms=str(2 * HOUR))).by_file is (source == "file")
    assert main(["retention", str(tmp_path), "--topic", "t", "--now", str(NOW)]) == 0
    assert ("kodec reindex" in capsys.readouterr().out) is bool(wanted)


def test_of_the_active_segment_and_without_an_offset_index_a_broker_reads_the_records(tmp_path: Path) -> None:
    path = folder(tmp_path, 1, 2)
    for number in (0, 1):
        (path / f"{number:020}.timeindex").write_bytes(bytes(120))
    (path / f"{0:020}.index").unlink()
    found = explained(path, retention_ms=str(3 * HOUR))
    assert (found.deletable, found.wrong_times) == ((), ())


def test_a_trim_goes_by_the_records(tmp_path: Path) -> None:
    path = folder(tmp_path, 1, 0)
    (path / f"{0:020}.timeindex").write_bytes(bytes(120))
    assert not plan_trim(path, retention_ms=2 * HOUR, now=NOW).deleted
