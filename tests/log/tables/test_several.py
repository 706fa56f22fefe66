"""Many logs as one table or one stream of records: the rows of each, in order, whatever happens meanwhile."""

import shutil
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kodec
from kodec.errors import ArgumentError, CrcMismatch, NoSuchPartition, Truncated
from kodec.log.backends.scan import Scan
from kodec.log.batches.options import LogReadOptions
from kodec.log.reading.ahead import Ahead
from kodec.log.remote.resolve import NotALog
from kodec.log.tables import count, several
from kodec.log.tables.reader import file_headers
from tests.data import LOGS

PLAIN = ["offset", "timestamp", "timestamp_type", "key", "value", "headers"]


def wanted(logs: Any, *, control: bool = False) -> list[tuple[str, int, int, bytes | None, bytes | None]]:
    """What the logs' own reader of records gives."""
    return [
        (*log.topic_partition, record.offset, record.key, record.value)
        for log in logs
        for record in log.records(control=control)
    ]


def rows(table: Any) -> list[tuple[str, int, int, bytes | None, bytes | None]]:
    names = ("topic", "partition", "offset", "key", "value")
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def of_topics(*topics: str) -> list[kodec.PartitionLog]:
    return [log for log in kodec.LogDirectory(LOGS) if log.topic_partition.topic in topics]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_directory_is_one_table(threads: int) -> None:
    table = kodec.read_table(LOGS, threads=threads)
    assert table.schema.names == ["topic", "partition", *PLAIN]
    expected = [log for log in kodec.LogDirectory(LOGS) if not log.topic_partition.is_internal]
    assert rows(table) == wanted(expected)
    assert [(each.offset, each.key) for each in kodec.read_records(str(LOGS))] == [
        (row[2], row[3]) for row in wanted(expected)
    ]


@pytest.mark.parametrize(
    "form", ["path", "patterns", "braces", "list", "generator", "logs", "segments", "directory"]
)
def test_what_names_the_same_logs_is_the_same(form: str) -> None:
    logs = of_topics("orders", "segments")
    source: Any = {
        "path": LOGS,
        "patterns": [f"{LOGS}/orders-[0-9]", LOGS / "segments-?"],
        "braces": f"{LOGS}/{{orders-*,segments-0}}",
        "list": [log.path for log in logs[::-1]],
        "generator": (log.path for log in logs),
        "logs": logs,
        "segments": [segment for log in logs for segment in log.segments],
        "directory": kodec.LogDirectory(LOGS),
    }[form]
    chosen: Any = {"topics": ["orders", "segments"]} if form in ("path", "directory") else {}
    found = kodec.scan_table(source, ["topic", "partition", "offset", "key", "value"], **chosen)
    assert rows(found.read_all()) == wanted(logs)
    assert len(found.ends) == sum(len(log.segments) for log in logs)
    assert found.position == sum(segment.size for log in logs for segment in log.segments)


def test_one_topic_partition_has_the_columns_of_a_file_unless_asked() -> None:
    (log,) = of_topics("segments")
    for source in (log, log.path, str(log.path)):
        table = kodec.read_table(source)
        assert table.schema.names == PLAIN
        assert table["offset"].to_pylist() == [record.offset for record in log.records()]
    segment = log.segments[1]
    assert kodec.read_table(segment).equals(kodec.read_table(segment.path))
    assert list(kodec.read_records(segment)) == list(kodec.read_records(segment.path))
    for one in (log, segment, segment.path):
        first = kodec.read_table(one, ["partition", "offset", "topic"]).slice(0, 1).to_pylist()[0]
        assert (first["topic"], first["partition"]) == ("segments", 0)
    assert kodec.read_table(f"{LOGS}/segments-*").schema.names == ["topic", "partition", *PLAIN]


def test_no_columns_are_rows_all_the_same() -> None:
    assert kodec.read_table(LOGS, []).num_rows == kodec.count_rows(LOGS) == 2899


def test_records_below_the_log_start_offset_are_deleted() -> None:
    log = kodec.LogDirectory(LOGS).partition("records-deleted", 0)
    assert log.start_offset > 0
    assert kodec.read_table(log.path)["offset"].to_pylist() == [each.offset for each in log.records()]
    assert next(iter(kodec.read_records(log))).offset == log.start_offset


@pytest.mark.parametrize("offsets", [(None, 5), (17, None), (150, 260), (400, 10_000), (9, 8)])
def test_offsets_choose_rows_and_leave_segments_closed(offsets: Any) -> None:
    found = kodec.scan_table(LOGS, ["topic", "partition", "offset", "key", "value"], offsets=offsets)
    first, last = (
        default if each is None else each for each, default in zip(offsets, (0, 10**9), strict=True)
    )
    logs = [log for log in kodec.LogDirectory(LOGS) if not log.topic_partition.is_internal]
    expected = [row for row in wanted(logs) if first <= row[2] <= last]
    assert rows(found.read_all()) == expected
    assert kodec.count_rows(LOGS, offsets=offsets) == len(expected)
    assert len(found.ends) <= sum(len(log.segments) for log in logs)


def test_times_are_datetimes_with_a_zone_or_milliseconds() -> None:
    start = datetime(2023, 11, 14, 22, 20, tzinfo=UTC)
    first = int(start.timestamp() * 1000)
    (log, *_) = of_topics("orders")
    every = kodec.read_table(log)["timestamp"].to_pylist()
    for bounds in (
        (start, None),
        (None, start),
        (start, start + timedelta(minutes=10)),
        (first, start + timedelta(minutes=10)),
        (start + timedelta(microseconds=1), start + timedelta(minutes=10, microseconds=-1)),
    ):
        low, high = (each if isinstance(each, datetime) or each is None else start for each in bounds)
        expected = [each for each in every if (low is None or each >= low) and (high is None or each <= high)]
        assert kodec.read_table(log, ["timestamp"], timestamps=bounds)["timestamp"].to_pylist() == expected
        assert kodec.count_rows(log, timestamps=bounds) == len(expected)
        assert 0 < len(expected) < len(every)
    with pytest.raises(ArgumentError, match=r"2023-11-14 22:20:00 has no zone.*timezone\.utc"):
        kodec.read_table(log, timestamps=(start.replace(tzinfo=None), None))
    with pytest.raises(ValueError, match="expected"):
        kodec.read_table(log, timestamps=(start,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"control": True, "topics": ["transactions", "orders"]},
        {"topics": "codec-gzip", "offsets": (3, 9)},
        {"timestamps": (1_700_000_005_000, 1_700_000_100_000)},
        {"offsets": (5, 77), "timestamps": (1_700_000_005_000, None), "partitions": 0},
    ],
)
def test_counts_are_those_of_the_rows(given: dict[str, Any]) -> None:
    assert kodec.count_rows(LOGS, **given) == kodec.read_table(LOGS, ["offset"], **given).num_rows


@pytest.mark.parametrize("size", [1, 2000, 10**9])
def test_large_segments_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(count, "PART", size)
    for given in ({}, {"offsets": (7, 250)}, {"timestamps": (1_700_000_005_000, 1_700_000_900_000)}):
        assert kodec.count_rows(LOGS, threads=5, **given) == kodec.read_table(LOGS, [], **given).num_rows


@pytest.mark.parametrize("cut", [0, 40, 61, 10_000])
def test_counts_of_files_that_end_anywhere(tmp_path: Path, cut: int) -> None:
    log = copied(tmp_path, "orders-0") / "orders-0"
    last = sorted(log.glob("*.log"))[-1]
    last.write_bytes(last.read_bytes()[:cut])
    assert kodec.count_rows(log) == kodec.read_table(log, ["offset"]).num_rows


def test_headers_of_a_file_are_those_of_its_batches() -> None:
    for path in LOGS.glob("*/*.log"):
        rows = kodec.read_batch_table(path, check_crc=False)
        scan = Scan(rows.schema, batch_rows=7)
        for first in range(min(2, len(rows))):
            start, stop = rows["position"][first].as_py(), rows["position"][-1].as_py()
            for end, last in ((None, len(rows)), (stop, len(rows) - 1)):
                found = file_headers(path, scan, LogReadOptions(), start, end)
                wanted = rows.slice(first, last - first).to_pylist()
                assert [row for batch in found for row in batch.to_pylist()] == wanted


def test_files_of_any_kind_are_counted(tmp_path: Path) -> None:
    records = [kodec.Record(offset=at, timestamp=at, key=None, value=b"v" * at) for at in range(1, 40)]
    for magic, codec in ((0, "none"), (1, "gzip"), (2, "lz4")):
        data = kodec.encode(records, magic=magic, compression=codec, batch_records=7, lossy=True)
        path = tmp_path / f"{magic}.bin"
        path.write_bytes(data)
        for source in (data, path, memoryview(data)):
            assert kodec.count_rows(source) == 39
            assert kodec.count_rows(source, offsets=(5, 20)) == 16
        with path.open("rb") as file:
            assert kodec.count_rows(file, offsets=(5, 20)) == 16
    assert kodec.count_rows(tmp_path.glob("*.bin")) == 3 * 39


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for source, error, text in (
        (tmp_path, NotALog, "neither a log directory"),
        (f"{LOGS}/nothing-*", FileNotFoundError, "nothing has this name"),
        (f"{LOGS}/nothing", FileNotFoundError, "nothing"),
        ([LOGS, b"bytes"], ArgumentError, "not bytes"),
        (7, ArgumentError, "int"),
    ):
        with pytest.raises(error, match=text):
            kodec.read_table(source)  # type: ignore[arg-type]
        with pytest.raises(error, match=text):
            list(kodec.read_records(source))  # type: ignore[arg-type]
    with pytest.raises(NoSuchPartition, match="no topic lost; topics: __cluster_metadata, "):
        kodec.read_table(LOGS, topics=["orders", "lost"])
    with pytest.raises(NoSuchPartition, match="no partition 9 of orders; there are 0, 1, 2"):
        kodec.read_table(LOGS, topics="orders", partitions=[0, 9])
    with pytest.raises(ArgumentError, match="this is one file"):
        kodec.read_table(b"", topics="orders")
    with pytest.raises(ArgumentError, match="in a topic-partition's folder"):
        kodec.read_table(b"", ["topic"])


def test_a_topic_partition_in_two_places_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(LOGS / "orders-0", tmp_path / name / "orders-0")
    with pytest.raises(ArgumentError, match=r"orders-0 is in both .*one.* and .*two"):
        kodec.read_table(tmp_path)
    once = kodec.read_table([tmp_path / "one", tmp_path / "one" / "orders-0"])
    assert once.num_rows == kodec.read_table(tmp_path / "one" / "orders-0").num_rows


def copied(tmp_path: Path, *names: str) -> Path:
    for name in names:
        shutil.copytree(LOGS / name, tmp_path / "logs" / name)
    return tmp_path / "logs"


@pytest.mark.parametrize("threads", [1, 3])
def test_damage_stops_or_is_skipped_and_reported(tmp_path: Path, threads: int) -> None:
    logs = copied(tmp_path, "orders-0", "orders-1", "segments-0")
    path = sorted((logs / "orders-1").glob("*.log"))[0]
    data = bytearray(path.read_bytes())
    data[300] ^= 1
    path.write_bytes(data)
    whole = kodec.read_table(LOGS, topics=["orders", "segments"], partitions=[0, 1], threads=threads)
    reader = kodec.scan_table(logs, threads=threads)
    given: list[pa.RecordBatch] = []
    with pytest.raises(CrcMismatch, match="orders-1"):
        given.extend(reader)
    # what comes before is there, all of it
    assert sum(batch.num_rows for batch in given) == kodec.count_rows(logs / "orders-0")
    reader = kodec.scan_table(logs, on_error="skip", threads=threads)
    found = reader.read_all()
    assert 0 < whole.num_rows - found.num_rows < 100
    assert [end.path for end in reader.ends if end.skipped] == [path]
    assert len(reader.skipped) == 1
    records = kodec.read_records(logs, on_error="skip")
    assert sum(1 for _ in records) == found.num_rows and len(records.skipped) == 1


def test_a_torn_tail_before_another_segment_is_lost_data(tmp_path: Path) -> None:
    logs = copied(tmp_path, "segments-0")
    first, *_ = sorted((logs / "segments-0").glob("*.log"))
    first.write_bytes(first.read_bytes()[:-5])
    with pytest.raises(Truncated, match=first.name):
        kodec.read_table(logs)
    reader = kodec.scan_table(logs, on_error="skip")
    assert 0 < reader.read_all().num_rows < kodec.read_table(LOGS / "segments-0").num_rows
    assert reader.torn_tail is not None
    assert [end.path for end in reader.ends if end.torn_tail] == [first]


@pytest.mark.parametrize("threads", [1, 2])
def test_segments_that_a_broker_deletes_meanwhile_are_passed(tmp_path: Path, threads: int) -> None:
    logs = copied(tmp_path, "segments-0", "orders-0")
    log = kodec.PartitionLog(logs / "segments-0")
    files = sorted((logs / "segments-0").glob("*.log"))
    reader = kodec.scan_table([log, logs / "orders-0"], ["topic", "offset"], threads=threads, batch_rows=1)
    batches = iter(reader)
    found = []
    while not found or found[-1]["topic"] != "segments":
        found += next(batches).to_pylist()
    # retention deletes from the start: those after the one that is read are opened, or gone
    for path in files[:4]:
        path.unlink()
    found += [row for batch in batches for row in batch.to_pylist()]
    offsets = [row["offset"] for row in found if row["topic"] == "segments"]
    assert offsets == sorted(set(offsets))
    left = kodec.read_table(logs / "segments-0")["offset"].to_pylist()
    assert set(left) <= set(offsets)
    orders = [row["offset"] for row in found if row["topic"] == "orders"]
    assert orders == kodec.read_table(logs / "orders-0")["offset"].to_pylist()


def test_a_segment_that_took_in_the_next_one_gives_each_record_once(tmp_path: Path) -> None:
    logs = copied(tmp_path, "segments-0")
    log = kodec.PartitionLog(logs / "segments-0")
    assert len(log.files.segments) > 3
    one, two = (each.log for each in log.files.segments[:2])
    # as compaction does it
    one.write_bytes(one.read_bytes() + two.read_bytes())
    two.unlink()
    expected = kodec.read_table(LOGS / "segments-0")["offset"].to_pylist()
    for threads in (1, 3):
        listed = kodec.PartitionLog(logs / "segments-0")
        listed.files.segments[:] = log.files.segments
        assert kodec.read_table(listed, ["offset"], threads=threads)["offset"].to_pylist() == expected


def test_memory_is_bounded_by_the_threads() -> None:
    lock = threading.Lock()
    given = taken = most = 0

    def numbers() -> Iterator[int]:
        nonlocal given, most
        for number in range(50):
            with lock:
                given += 1
                most = max(most, given - taken)
            yield number

    ahead = Ahead([numbers] * 20, threads=3, most=2)
    try:
        for source in range(20):
            items = []
            for item in ahead.items(source):
                time.sleep(0.0002)
                with lock:
                    taken += 1
                items.append(item)
            assert items == list(range(50))
    finally:
        ahead.close()
    # each of four sources: two that wait, one in the hand of its thread
    assert most <= 4 * 3 + 1


def test_a_reader_that_is_left_ends_its_threads() -> None:
    before = threading.active_count()
    reader = kodec.scan_table(LOGS, batch_rows=1, threads=4)
    next(reader)
    assert threading.active_count() > before
    reader.close()
    assert threading.active_count() == before
    with kodec.scan_table(LOGS, batch_rows=1, threads=4) as reader:
        next(reader)
    assert threading.active_count() == before


def test_decoded_columns_are_of_each_logs_topic() -> None:
    found = kodec.read_table(
        LOGS, ["topic", "key_decoded"], topics=["__consumer_offsets", "orders"], offsets=(0, 3)
    ).to_pylist()
    kinds = {row["topic"]: row["key_decoded"] is not None for row in found}
    assert kinds == {"__consumer_offsets": True, "orders": False}


def test_parts_of_a_segment_are_found_by_its_index() -> None:
    files = kodec.LogDirectory(LOGS).partition("orders", 0).files.segments[0]
    options = several.LogReadOptions()
    part = several.part_of(files, several.Range(100, 120), options, ends=True)
    assert 0 < part.start < (part.stop or 0) < files.size
