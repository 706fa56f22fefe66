"""Files beside a log that are there and cannot be read: none of them counts as missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kodec
from kodec.errors import FormatError, ReadFailed
from kodec.log.directories.remote import first_remote_offset
from kodec.stores.context import DEFAULT
from tests.data import DATA
from tests.log.unreadable import unreadable

LAYOUT = "orders-0", "records-deleted-0", "__cluster_metadata-0"

LOGS, TIERED = DATA / "kafka-4.3.1/logs", DATA / "tiered-4.3.1"
CHECKPOINTS = (
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "meta.properties",
)


def spoil(path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "torn":
        path.write_bytes(b"0\n9\nrecords-")
    else:
        unreadable(monkeypatch, {path: OSError(5, "Input/output error")})


HOW = ["torn", "unreadable"]


@pytest.mark.parametrize("name", CHECKPOINTS[:-1])
@pytest.mark.parametrize("how", HOW)
def test_verify_of_one_topic_partition_names_the_checkpoints(
    logs: Path, name: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They say where its log begins and ends."""
    spoil(logs / name, how, monkeypatch)
    for path in (logs / "orders-0", logs):
        found = [each.path.name for each in kodec.repair.verify(path) if not each.note]
        assert found == [name]


@pytest.mark.parametrize("how", HOW)
def test_the_leader_of_the_metadata_log(logs: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = logs / "__cluster_metadata-0"
    assert kodec.operations.read_metadata(logs).omissions.is_whole
    # without the record that reports the leader, `quorum-state` alone knows it
    newest = max(folder.glob("*.checkpoint"))
    log = folder / f"{0:020d}.log"
    data = log.read_bytes()
    kept = next(each for each in kodec.read_batches(data) if each.next_offset >= int(newest.name[:20]))
    log.unlink()
    (folder / f"{kept.base_offset:020d}.log").write_bytes(data[kept.position :])
    assert kodec.operations.read_metadata(logs).omissions.is_whole
    spoil(folder / "quorum-state", how, monkeypatch)
    found = kodec.operations.read_metadata(logs).omissions
    assert [each.path.name for each in found.losses] == ["quorum-state"]


@pytest.mark.parametrize("name", ["log-start-offset-checkpoint", "replication-offset-checkpoint"])
@pytest.mark.parametrize("how", HOW)
def test_salvage_of_replicas_names_the_checkpoints(
    logs: Path, tmp_path: Path, name: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shutil.copytree(logs, tmp_path / "other")
    spoil(other / name, how, monkeypatch)
    report = kodec.repair.plan_salvage(
        logs / "records-deleted-0", tmp_path / "new" / "records-deleted-0", other / "records-deleted-0"
    ).preview()
    assert [each.path for each in report.omissions.losses] == [other / name]


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("how", HOW)
def test_salvage_names_leader_epochs(
    logs: Path, tmp_path: Path, replicas: int, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = logs / "records-deleted-0"
    others = [shutil.copytree(logs, tmp_path / "other") / folder.name][: replicas - 1]
    spoil(folder / "leader-epoch-checkpoint", how, monkeypatch)
    report = kodec.repair.plan_salvage(folder, tmp_path / "new" / folder.name, *others).preview()
    assert [each.path.name for each in report.omissions.losses] == ["leader-epoch-checkpoint"]


@pytest.fixture
def tiered(tmp_path: Path) -> Path:
    """Without entries of log start offsets: the metadata of remote segments alone knows what is remote."""
    root = shutil.copytree(TIERED / "logs", tmp_path / "tiered")
    (root / "log-start-offset-checkpoint").unlink(missing_ok=True)
    return root


def remote(root: Path) -> int | None:
    with kodec.PartitionLog(root / "tiered-0") as log:
        return first_remote_offset(log)


def test_metadata_of_remote_segments_that_is_damaged_hides_nothing_else(tiered: Path) -> None:
    expected = remote(tiered)
    assert expected is not None
    for path in tiered.glob("__remote_log_metadata-*/*.log"):
        data = path.read_bytes()
        if len(data):
            # a record of something else before the others
            path.write_bytes(kodec.encode([kodec.Record(value=b"?")])[:-1] + b"\0" + data)
    shutil.move(tiered, tiered.parent / "moved")
    assert remote(tiered.parent / "moved") == expected


def test_metadata_of_remote_segments_that_cannot_be_read_is_an_error(
    tiered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [path for path in tiered.glob("__remote_log_metadata-*/*.log") if path.stat().st_size]
    unreadable(monkeypatch, dict.fromkeys(paths, OSError(5, "Input/output error")))
    with pytest.raises(OSError, match="Input/output"), kodec.PartitionLog(tiered / "tiered-0") as log:
        assert log.remote_offsets
    with pytest.raises(OSError, match="Input/output"):
        kodec.read_table(tiered / "tiered-0")
    assert any("cannot be read" in each.what for each in kodec.repair.verify(tiered / "tiered-0"))


@pytest.mark.parametrize("how", HOW)
def test_the_topic_id_chooses_what_is_read_in_remote_storage(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(TIERED / "logs", tmp_path / "tiered")
    spoil(root / "tiered-0" / "partition.metadata", how, monkeypatch)
    with pytest.raises((FormatError, ReadFailed, OSError)):
        kodec.read_table(kodec.with_remote_storage(root, tier=TIERED / "tier")[0], topics=["tiered"])


@pytest.mark.parametrize("how", HOW)
def test_leader_epochs_that_choose_among_remote_segments(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of remote storage take their place, which is said."""
    root = shutil.copytree(TIERED / "logs", tmp_path / "tiered")

    def read() -> int:
        (both,) = kodec.with_remote_storage(root, tier=TIERED / "tier")
        return len(kodec.read_table(both, topics=["tiered"], columns=["offset"]))

    DEFAULT.notes.take()
    expected = read()
    assert not any("leader-epoch-checkpoint" in each for each in DEFAULT.notes.take())
    spoil(root / "tiered-0" / "leader-epoch-checkpoint", how, monkeypatch)
    assert read() == expected
    assert any("leader-epoch-checkpoint" in each for each in DEFAULT.notes.take())
