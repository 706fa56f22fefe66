"""Log directories are listed and told apart as Kafka means it; nothing is opened before it is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from uuid import UUID

import pytest

import kodec
from kodec.log.directories.directory import LogDirectory, LogRoot
from kodec.log.directories.partition import PartitionLog
from kodec.log.files import checkpoints
from kodec.log.files.listing import (
    LeftoverKind,
    ReplicaKind,
    TopicPartition,
    list_partition,
    parse_folder_name,
)
from tests.data import DATA, LOGS
from tests.log import wire

HEX = "0123456789abcdef0123456789abcdef"

_opened: list[str] = []
_listening = False


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if _listening and event == "open":
        _opened.append(str(arguments[0]))


sys.addaudithook(_listen)


@pytest.fixture
def opened() -> list[str]:
    """The paths that were opened, once `listen` is called; an audit hook cannot be removed."""
    _opened.clear()
    return _opened


def listen(on: bool) -> None:
    global _listening
    _listening = on


@pytest.mark.parametrize(
    ("name", "topic", "partition", "kind"),
    [
        ("orders-0", "orders", 0, ReplicaKind.LIVE),
        ("x-delete-0", "x-delete", 0, ReplicaKind.LIVE),
        (f"orders-0.{HEX}-delete", "orders", 0, ReplicaKind.DELETED),
        (f"orders-0.{HEX}-future", "orders", 0, ReplicaKind.FUTURE),
        (f"orders-0.{HEX}-stray", "orders", 0, ReplicaKind.STRAY),
        (f"a-b.c_d-7.{HEX}-stray", "a-b.c_d", 7, ReplicaKind.STRAY),
        (f"x-delete-1.{HEX}-delete", "x-delete", 1, ReplicaKind.DELETED),
    ],
)
def test_folder_names(name: str, topic: str, partition: int, kind: ReplicaKind) -> None:
    found = parse_folder_name(name)
    assert found is not None
    assert found.topic_partition == TopicPartition(topic, partition)
    assert found.kind is kind
    assert found.id == ("" if kind is ReplicaKind.LIVE else HEX)


@pytest.mark.parametrize(
    "name", ["lost+found", "remote-log-index-cache", "orders-delete", f"orders.{HEX}-delete"]
)
def test_other_folders(name: str) -> None:
    assert parse_folder_name(name) is None


def test_files_of_a_partition_are_told_apart(tmp_path: Path) -> None:
    for name in (
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.txnindex",
        "00000000000000000007.log",
        "00000000000000000007.timeindex",
        "00000000000000000007.snapshot",
        "00000000000000000009.index",
        "00000000000000000003.log.deleted",
        "00000000000000000004.index.cleaned",
        "00000000000000000005.timeindex.swap",
        "00000000000000000006-0000000001.checkpoint.deleted",
        "leader-epoch-checkpoint",
        "notes.deleted",
    ):
        (tmp_path / name).write_bytes(b"x")
    found = list_partition(tmp_path)
    assert [(each.base_offset, each.size) for each in found.segments] == [(0, 1), (7, 1)]
    first, second = found.segments
    assert first.index == tmp_path / "00000000000000000000.index"
    assert first.timeindex is None
    assert first.txnindex == tmp_path / "00000000000000000000.txnindex"
    assert second.index is None
    assert second.timeindex == tmp_path / "00000000000000000007.timeindex"
    assert found.snapshots == [(7, tmp_path / "00000000000000000007.snapshot")]
    assert found.orphans == [tmp_path / "00000000000000000009.index"]
    assert [(each.path.name, each.kind, each.base_offset) for each in found.leftovers] == [
        ("00000000000000000003.log.deleted", LeftoverKind.DELETED, 3),
        ("00000000000000000004.index.cleaned", LeftoverKind.CLEANED, 4),
        ("00000000000000000005.timeindex.swap", LeftoverKind.SWAP, 5),
        ("00000000000000000006-0000000001.checkpoint.deleted", LeftoverKind.DELETED, 6),
        ("notes.deleted", LeftoverKind.DELETED, None),
    ]


def test_a_real_directory() -> None:
    with kodec.LogDirectory(LOGS) as directory:
        (root,) = directory.roots
        assert len(directory) == 28
        assert TopicPartition("names-with.dots_and-dashes", 1) in directory
        properties = root.meta_properties()
        assert properties is not None
        assert (properties.version, properties.node_id) == (1, 1)
        assert properties.cluster_id == "a29kZWMtcmVhbC1sb2dzMQ"
        shutdown = root.clean_shutdown()
        assert shutdown is not None and shutdown.broker_epoch == 146
        assert root.log_start_offsets == {TopicPartition("records-deleted", 0): 13}
        assert root.cleaner_offsets()[TopicPartition("compacted-often", 0)] == 132
        ends = {
            log.topic_partition: log.end_offset
            for log in directory
            if log.topic_partition.topic[:9] != "__cluster"
        }
        assert ends == root.recovery_points() == root.high_watermarks()
        orders = directory.partition("orders", 0)
        assert orders.leader_epochs() == [(0, 0), (2, 322)]
        metadata = orders.metadata()
        assert metadata is not None and metadata.topic_id == UUID("80c021bc-10ac-4ec9-b603-30d9bbb2d8af")
        assert [offset for offset, _ in orders.producer_snapshots()] == [199, 322, 421]
        assert directory.partition("records-deleted", 0).start_offset == 13
        with pytest.raises(KeyError):
            directory.partition("orders", 3)


def test_an_old_directory_and_a_crashed_one() -> None:
    old = LogRoot(DATA / "kafka-0.9.0.1/logs")
    properties = old.meta_properties()
    assert properties is not None and properties.version == 0
    crashed = LogRoot(DATA / "kafka-4.3.1/crashed")
    assert crashed.clean_shutdown() is None


def test_a_partition_alone_finds_its_start(tmp_path: Path) -> None:
    assert PartitionLog(LOGS / "records-deleted-0").start_offset == 13
    assert PartitionLog(LOGS / "records-deleted-0", log_start_offset=20).start_offset == 20
    folder = tmp_path / f"orders-0.{HEX}-stray"
    folder.mkdir()
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 5\n")
    stray = PartitionLog(folder)
    assert stray.kind is ReplicaKind.STRAY
    assert stray.start_offset == stray.end_offset == 0
    with pytest.raises(ValueError, match="named like orders-0"):
        PartitionLog(tmp_path)


def test_several_roots(tmp_path: Path) -> None:
    for name in ("a/t-0", "b/t-1", f"b/t-2.{HEX}-future", "b/remote-log-index-cache"):
        (tmp_path / name).mkdir(parents=True)
    directory = LogDirectory(tmp_path / "a", tmp_path / "b")
    assert directory.topic_partitions == [("t", 0), ("t", 1)]
    assert [(each.topic_partition, each.kind) for each in directory.not_live] == [
        (("t", 2), ReplicaKind.FUTURE)
    ]
    (tmp_path / "b/t-0").mkdir()
    with pytest.raises(ValueError, match="t-0 is in both"):
        LogDirectory(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ValueError, match="give a log directory"):
        LogDirectory()


def test_thousands_of_segments_are_listed_without_opening_one(tmp_path: Path, opened: list[str]) -> None:
    folder = tmp_path / "many-0"
    folder.mkdir()
    data = wire.batch([wire.record()])
    for number in range(20_000):
        (folder / f"{number:020}.log").write_bytes(
            wire.batch([wire.record()], base=number) if number > 19_990 else data
        )
    listen(True)
    try:
        log = LogDirectory(tmp_path).partition("many", 0)
        assert len(log.segments) == 20_000
        assert log.size == 20_000 * len(data)
        assert opened == []
        assert log.end_offset == 20_000
        assert list(log.records(19_999)) != []
    finally:
        listen(False)
    read = {path for path in map(Path, opened) if path.is_relative_to(folder)}
    assert {path.name for path in read} == {f"{19_999:020}.log"}
    log.close()


def test_few_segments_are_open_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "many-0"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number:020}.log").write_bytes(wire.batch([wire.record()], base=number))
    log = PartitionLog(folder)
    found = [log.find(number) for number in range(200)]
    assert [place and place[1].offset for place in found] == list(range(200))
    assert sum(segment.is_open for segment in log.segments) == 64
    log.close()
    assert not any(segment.is_open for segment in log.segments)
    assert [record.offset for record in log.records()] == list(range(200))


ENTRY = TopicPartition("a-b", 3)


def test_offsets_are_read(tmp_path: Path) -> None:
    file = tmp_path / "recovery-point-offset-checkpoint"
    file.write_bytes(b"0\r\n2\r\na-b 3   42\r\n__x 0 9223372036854775807\r\n")
    assert checkpoints.read_offsets(file) == {ENTRY: 42, TopicPartition("__x", 0): 2**63 - 1}
    file.write_bytes(b"")
    assert checkpoints.read_offsets(file) == {}
    file.write_bytes(b"0\n0\n")
    assert checkpoints.read_offsets(file) == {}


@pytest.mark.parametrize(
    ("text", "line", "at", "need"),
    [
        (b"1\n0\n", 1, 0, "0"),
        (b"0\n", 2, 2, "the number of entries"),
        (b"0\nx\n", 2, 2, "a number from 0 to 2147483647"),
        (b"0\n-1\n", 2, 2, "a number from 0 to 2147483647"),
        (b"0\n1\na 0\n", 3, 4, 3),
        (b"0\n1\na b c d\n", 3, 4, 3),
        (b"0\n1\na x 0\n", 3, 4, "a number from 0 to 2147483647"),
        (b"0\n1\na 2147483648 0\n", 3, 4, "a number from 0 to 2147483647"),
        (b"0\n1\na 0 9223372036854775808\n", 3, 4, "a number from 0 to 9223372036854775807"),
        (b"0\n1\na 0 \xd9\xa3\n", 3, 4, "a number from 0 to 9223372036854775807"),
        (b"0\n2\na 0 1\n", 4, 10, "2 entries"),
        (b"0\n1\na 0 1\nb 0 1\n", 4, 10, "1 entries"),
        (b"0\n2\na 0 1\na 0 2\n", 4, 10, "one line for each"),
        (b"0\n1\na\xff 0 1\n", 3, 5, "UTF-8"),
    ],
)
def test_a_wrong_checkpoint_is_told_by_line(
    tmp_path: Path, text: bytes, line: int, at: int, need: object
) -> None:
    file = tmp_path / "checkpoint"
    file.write_bytes(text)
    with pytest.raises(kodec.errors.Malformed) as caught:
        checkpoints.read_offsets(file)
    error = caught.value
    assert (error.path, error.at, error.need, error.source) == (f"line {line}", at, need, str(file))


@pytest.mark.parametrize(
    ("text", "line"),
    [("0\n2\n3 5\n3 6\n", 4), ("0\n2\n3 5\n4 4\n", 4), ("0\n1\n1 2 3\n", 3), ("0\n1\n-1 0\n", 3)],
)
def test_wrong_leader_epochs(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "leader-epoch-checkpoint"
    file.write_text(text)
    with pytest.raises(kodec.errors.Malformed, match=f"line {line}"):
        checkpoints.read_leader_epochs(file)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("version: 0\n", 2),
        ("version: x\ntopic_id: gMAhvBCsTsm2AzDZu7LYrw", 1),
        ("topic_id: gMAhvBCsTsm2AzDZu7LYrw\nversion: 0", 1),
        ("version: 0\ntopic_id: gMAhvBCsTsm2AzDZu7LYr", 2),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", 2),
    ],
)
def test_wrong_partition_metadata(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "partition.metadata"
    file.write_text(text)
    with pytest.raises(kodec.errors.Malformed, match=f"line {line}"):
        checkpoints.read_partition_metadata(file)


def test_meta_properties(tmp_path: Path) -> None:
    file = tmp_path / "meta.properties"
    file.write_text("#\n#a date\n\nversion=0\nbroker.id=7\ncluster.id=a\\:b\\u00e9\\\\\n")
    found = checkpoints.read_meta_properties(file)
    assert (found.version, found.node_id, found.cluster_id, found.directory_id) == (0, 7, "a:bé\\", None)
    file.write_text("#\nbroker.id=7\n")
    assert checkpoints.read_meta_properties(file).version == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("version=2\n", 1),
        ("version=1\nnode.id=1\n", 3),
        ("version=1\ncluster.id=x\n", 3),
        ("version=1\ncluster.id=x\nnode.id=one\n", 3),
        ("version=0\nbroker.id=1\nbroker.id=2\n", 3),
        ("#\nversion\n", 2),
    ],
)
def test_wrong_meta_properties(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "meta.properties"
    file.write_text(text)
    with pytest.raises(kodec.errors.Malformed, match=f"line {line}"):
        checkpoints.read_meta_properties(file)


def test_the_note_of_a_clean_shutdown(tmp_path: Path) -> None:
    file = tmp_path / ".kafka_cleanshutdown"
    file.write_text("")
    assert checkpoints.read_clean_shutdown(file).broker_epoch == -1
    for text in ("{", "[]", '{"version":1}', '{"version":0,"brokerEpoch":"x"}', "[" * 100_000):
        file.write_text(text)
        with pytest.raises(kodec.errors.Malformed, match="line 1"):
            checkpoints.read_clean_shutdown(file)


def test_a_text_file_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 10)
    file = tmp_path / "checkpoint"
    file.write_bytes(b"0\n2\na 0 1\nb 0 1\n")
    with pytest.raises(kodec.errors.LimitExceeded):
        checkpoints.read_offsets(file)
