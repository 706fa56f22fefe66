"""Folder and file names of a log directory mean what Kafka means by them."""

from pathlib import Path

import pytest

from kodec.log.files.listing import (
    PartitionFolder,
    SegmentFiles,
    TopicPartition,
    find_partitions,
    list_partition,
    parse_partition_dir,
    parse_segment_name,
)

pytestmark = pytest.mark.quick

UUID = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "topic", "partition"),
    [
        ("orders-0", "orders", 0),
        ("orders-12", "orders", 12),
        ("a-b.c_d-7", "a-b.c_d", 7),
        ("x-delete-0", "x-delete", 0),
        ("x-future-3", "x-future", 3),
        ("-0", None, None),
        ("--0", "-", 0),
        ("__consumer_offsets-49", "__consumer_offsets", 49),
        ("t-2147483647", "t", 2147483647),
        (f"{'t' * 249}-0", "t" * 249, 0),
    ],
)
def test_live_folders(name: str, topic: str | None, partition: int | None) -> None:
    expected = None if topic is None or partition is None else TopicPartition(topic, partition)
    assert parse_partition_dir(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        f"orders-0.{UUID}-delete",
        f"orders-0.{UUID}-future",
        f"orders-0.{UUID}-stray",
        "orders-delete",
        "lost+found",
        "remote-log-index-cache",
        "orders",
        "orders-",
        "orders-x",
        "orders--1x",
        "orders-00",
        "orders-+1",
        "orders-2147483648",
        "orders-99999999999999999999",
        "orders-٣",
        "or ders-0",
        ".-0",
        "..-0",
        f"{'t' * 250}-0",
        "",
    ],
)
def test_other_folders(name: str) -> None:
    assert parse_partition_dir(name) is None


def test_a_topic_partition_prints_as_its_folder_and_knows_internal_topics() -> None:
    assert str(TopicPartition("orders", 3)) == "orders-3"
    assert TopicPartition("__consumer_offsets", 0).is_internal
    assert not TopicPartition("_schemas", 0).is_internal


@pytest.mark.parametrize(
    ("name", "base_offset"),
    [
        ("00000000000000000000.log", 0),
        ("00000000000000004711.log", 4711),
        ("09223372036854775807.log", 2**63 - 1),
        ("09223372036854775808.log", None),
        ("0000000000000000000.log", None),
        ("000000000000000000000.log", None),
        ("00000000000000000000.index", None),
        ("00000000000000000000.log.deleted", None),
        ("00000000000000000000.log.cleaned", None),
        ("00000000000000000000.log.swap", None),
        ("0000000000000000000٣.log", None),
        ("00000000000000000000.log\n", None),
    ],
)
def test_segment_names(name: str, base_offset: int | None) -> None:
    assert parse_segment_name(name) == base_offset


def test_segments_are_listed_by_offset_with_sizes(tmp_path: Path) -> None:
    for name, size in [
        ("00000000000000000010.log", 3),
        ("00000000000000000002.log", 5),
        ("00000000000000000002.index", 8),
        ("00000000000000000020.log.swap", 1),
        ("leader-epoch-checkpoint", 4),
    ]:
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "00000000000000000030.log").mkdir()
    (tmp_path / "00000000000000000040.log").symlink_to(tmp_path / "gone")
    assert list_partition(tmp_path).segments == [
        SegmentFiles(2, tmp_path / "00000000000000000002.log", 5, tmp_path / "00000000000000000002.index"),
        SegmentFiles(10, tmp_path / "00000000000000000010.log", 3),
    ]


def test_partitions_are_found_by_topic_and_number(tmp_path: Path) -> None:
    for name in ["b-0", "a-10", "a-2", f"a-3.{UUID}-delete", "lost+found"]:
        (tmp_path / name).mkdir()
    (tmp_path / "a-7").touch()
    assert find_partitions(tmp_path) == [
        PartitionFolder(TopicPartition("a", 2), tmp_path / "a-2"),
        # a file: listing it raises the error
        PartitionFolder(TopicPartition("a", 7), tmp_path / "a-7"),
        PartitionFolder(TopicPartition("a", 10), tmp_path / "a-10"),
        PartitionFolder(TopicPartition("b", 0), tmp_path / "b-0"),
    ]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_partition(tmp_path / "orders-0")
    with pytest.raises(FileNotFoundError):
        find_partitions(tmp_path / "logs")
