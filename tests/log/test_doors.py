"""Logs in an object store give the rows of those on a disk by every function; lookups take few requests."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kodec
from kodec.errors import ReadFailed
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.files.listing import segment_offsets
from kodec.log.omissions import Omissions
from kodec.stores import objects
from kodec.stores.storage import path_of
from tests.data import DATA, LOGS
from tests.log.stores import Server

URL = "s3://logs/some/logs"
SEGMENT = "orders-0/00000000000000000000.log"


DOORS: dict[str, Callable[[str], object]] = {
    "read_records": lambda at: list(kodec.read_records(f"{at}/{SEGMENT}", control=True)),
    "read_records of a log": lambda at: list(kodec.read_records(f"{at}/transactions-0", control=True)),
    "read_batches": lambda at: [each.base_offset for each in kodec.read_batches(f"{at}/{SEGMENT}")],
    "read_table": lambda at: kodec.read_table(at, topics=["orders", "segments"]),
    "read_table of a segment": lambda at: kodec.read_table(f"{at}/{SEGMENT}"),
    "read_table of a glob": lambda at: kodec.read_table(
        f"{at}/{{orders,codec}}-*/*.log", ["offset", "value"]
    ),
    "scan_table": lambda at: list(kodec.scan_table(at, columns=["offset", "key"], threads=2)),
    "read_batch_table": lambda at: kodec.read_batch_table(f"{at}/orders-1/{0:020d}.log"),
    "count_rows": lambda at: kodec.count_rows(at),
    "LogDirectory": lambda at: [
        (log.topic_partition, log.start_offset, log.end_offset, log.size, list(log.leader_epochs()))
        for log in kodec.LogDirectory(at)
    ],
    "PartitionLog": lambda at: [record.value for record in kodec.PartitionLog(f"{at}/compacted-0").records()],
    "find_records": lambda at: [
        (found.topic_partition, found.offset)
        for found in kodec.LogDirectory(at).find_records(RecordFilter(), topics=["orders"], last=7)
    ],
    "transactions": lambda at: kodec.PartitionLog(f"{at}/transactions-0").transactions(),
    "checkpoints": lambda at: kodec.LogDirectory(at).roots[0].recovery_points(),
}


@pytest.fixture(autouse=True)
def objects_of_the_store(server: Server) -> None:
    server.upload(LOGS, "some/logs")
    # one store for all tests: what another began, and how slow it found the store, is not this one's
    storage = objects.object_storage("s3", "logs", None)
    while storage._begun:
        storage._begun.popitem()[1].close()
    storage.most_ahead = objects._LEAST_AHEAD
    server.asked()


@pytest.mark.parametrize("door", DOORS)
def test_a_store_gives_what_a_disk_gives(door: str, server: Server) -> None:
    assert DOORS[door](URL) == DOORS[door](str(LOGS))


@pytest.mark.parametrize(
    "corpus", sorted(path.name for path in DATA.glob("kafka-*") if (path / "logs").is_dir())
)
def test_every_corpus(corpus: str, server: Server) -> None:
    server.objects.clear()
    server.upload(DATA / corpus / "logs", "some/logs")
    here = {log.topic_partition: log for log in kodec.LogDirectory(DATA / corpus / "logs")}
    there = {log.topic_partition: log for log in kodec.LogDirectory(URL)}
    assert there.keys() == here.keys()
    for key, log in there.items():
        assert list(log.records(control=True)) == list(here[key].records(control=True))


def test_one_segment_of_a_web_server(server: Server) -> None:
    found = kodec.read_table(f"{server.web}/some/logs/{SEGMENT}")
    assert found == kodec.read_table(LOGS / SEGMENT) == kodec.read_table((LOGS / SEGMENT).as_uri())


# -- requests ---------------------------------------------------------------------------------------


def test_a_lookup_takes_four_requests(server: Server) -> None:
    for offset in (75, 116, 207, 343, 400):
        log = kodec.PartitionLog(f"{URL}/segments-0")
        segment, place = log.find(offset) or pytest.fail("not found")
        assert segment.batch_at(place).next_offset > offset
        assert len(server.asked()) <= 4, offset
    for name in ("orders-0", "segments-0"):
        local = kodec.PartitionLog(LOGS / name)
        time = next(iter(local.records())).timestamp
        assert kodec.PartitionLog(f"{URL}/{name}").find_timestamp(time) == local.find_timestamp(time)
        assert len(server.asked()) <= 4, name
    assert next(kodec.LogDirectory(URL).partition("orders", 0).records(100)).offset == 100
    assert len(server.asked()) <= 5


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with segments of some MiB, whose indexes save much."""
    folder = tmp_path_factory.mktemp("large") / "large-0"
    content = random.Random(0)
    with kodec.LogWriter(folder, config=kodec.LogConfig(segment_bytes=2 << 20)) as writer:
        for number in range(0, 20_000, 10):
            times = range(1_700_000_000_000 + number, 1_700_000_000_010 + number)
            writer.append([kodec.Record(value=content.randbytes(900), timestamp=time) for time in times])
    return folder


def test_a_lookup_in_a_large_log_reads_little(server: Server, large: Path) -> None:
    server.upload(large, "large-0")
    local = kodec.PartitionLog(large)
    for offset in random.Random(1).sample(range(local.end_offset), 10):
        log = kodec.PartitionLog("s3://logs/large-0")
        found = log.find(offset) or pytest.fail("not found")
        here = local.find(offset) or pytest.fail("not found")
        assert found[1] == here[1]
        asked = server.asked()
        assert len(asked) <= 4 and sum(each.sent for each in asked) < 600 << 10, asked
        segment = kodec.PartitionLog("s3://logs/large-0").segments[-1]
        server.asked()
        time = 1_700_000_000_000 + segment.base_offset + 500
        assert segment.find_timestamp(time) == local.segments[-1].find_timestamp(time)
        # with the listing that has named the segment these are four
        assert len(server.asked()) <= 3


def test_a_lookup_by_time_asks_once_about_each_earlier_segment(server: Server, large: Path) -> None:
    """Timestamps need not ascend, so the largest one of each earlier segment must be known."""
    server.upload(large, "large-0")
    local = kodec.PartitionLog(large)
    for number in (0, 1, 5, len(local.segments) - 1):
        time = 1_700_000_000_000 + local.segments[number].base_offset + 7
        log = kodec.PartitionLog("s3://logs/large-0")
        assert log.find_timestamp(time) == local.find_timestamp(time)
        asked = server.asked()
        indexes = [each.key for each in asked if each.key.endswith(".timeindex")]
        # what is asked about at once may be twice as much
        assert min(number + 1, len(local.segments)) <= len(indexes) <= 2 * number + 1
        assert len(set(indexes)) == len(indexes)
        # the listing, the log start offsets, the index, and a range of the segment
        assert len(asked) - len(indexes) <= 4
        assert log.find_timestamp(time + 1) == local.find_timestamp(time + 1)
        assert len(server.asked()) <= 1
    assert kodec.PartitionLog("s3://logs/large-0").find_timestamp(1_800_000_000_000) is None


def test_several_segments_are_asked_about_at_once(server: Server, large: Path) -> None:
    server.upload(large, "large-0")
    meeting = threading.Barrier(4, timeout=10)
    names = sorted(key for key in server.objects if key.startswith("large-0/") and key.endswith(".timeindex"))
    server.fault = lambda method, key, number: key in names[3:7] and meeting.wait() and None  # type: ignore[assignment,return-value]
    time = 1_700_000_000_000 + kodec.PartitionLog(large).segments[6].base_offset
    found = kodec.PartitionLog("s3://logs/large-0").find_timestamp(time)
    assert found is not None and found.timestamp == time


@pytest.mark.parametrize("damage", ["cut", "zeros", "disorder", "gone", "part"])
def test_a_time_index_that_shows_too_little_is_not_enough(damage: str, server: Server, large: Path) -> None:
    server.upload(large, "large-0")
    local = kodec.PartitionLog(large)
    key = f"large-0/{local.segments[2].base_offset:020}.timeindex"
    data = server.objects[key]
    assert len(data) > 60
    server.objects[key] = {
        "cut": data[:-24],
        "zeros": data + bytes(120),
        "disorder": data[:-24] + data[-12:] + data[-24:-12],
        "part": data[:-5],
        "gone": b"",
    }[damage]
    for at in (10, 1500, 2100):
        time = 1_700_000_000_000 + local.segments[2].base_offset + at
        assert kodec.PartitionLog("s3://logs/large-0").find_timestamp(time) == local.find_timestamp(time)


# -- what changes, and what fails, while it is read -------------------------------------------------


@pytest.fixture
def few_retries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(objects._RETRIES, "max_retries", 1)
    objects.object_storage.cache_clear()
    yield
    objects.object_storage.cache_clear()


READERS: dict[str, Callable[[str], Iterator[object]]] = {
    "records": lambda at: kodec.PartitionLog(at).records(),
    "table": lambda at: iter(kodec.scan_table(at)),
    "table in threads": lambda at: iter(kodec.scan_table(at, threads=2)),
    "skipping": lambda at: iter(kodec.scan_table(at, on_error="skip")),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("change", ["gone", "other", "shorter"])
def test_no_row_is_lost_in_silence(reader: str, change: str, server: Server, large: Path) -> None:
    server.upload(large, "large-0")
    names = sorted(key for key in server.objects if key.startswith("large-0/") and key.endswith(".log"))
    rows = READERS[reader]("s3://logs/large-0")
    next(rows)
    data = server.objects.pop(names[-1])
    if change != "gone":
        server.objects[names[-1]] = data[:-1] + b"x" if change == "other" else data[: len(data) // 2]
    with pytest.raises(ReadFailed, match=r"has changed since|has gone since") as found:
        list(rows)
    assert names[-1] in str(found.value)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("fault", [(503, "SlowDown"), "reset", "short"])
@pytest.mark.usefixtures("few_retries")
def test_a_server_that_fails_is_no_end_of_a_log(
    reader: str, fault: object, server: Server, large: Path
) -> None:
    server.upload(large, "large-0")
    names = sorted(key for key in server.objects if key.startswith("large-0/") and key.endswith(".log"))
    rows = READERS[reader]("s3://logs/large-0")
    next(rows)
    server.fault = lambda method, key, number: fault if key == names[-1] else None  # type: ignore[assignment,return-value]
    with pytest.raises(ReadFailed):
        list(rows)


@pytest.mark.parametrize("reader", READERS)
def test_what_passes_costs_no_row(reader: str, server: Server, large: Path) -> None:
    server.upload(large, "large-0")
    failed: dict[str, int] = {}

    def twice(method: str, key: str, number: int) -> object:
        failed[key] = failed.get(key, 0) + 1
        return None if failed[key] > 2 else [(503, "SlowDown"), "reset", "short"][failed[key] % 3]

    server.fault = twice  # type: ignore[assignment]
    there = list(READERS[reader]("s3://logs/large-0"))
    assert there == list(READERS[reader](str(large))) and sum(failed.values()) > 10


def test_a_listing_that_names_what_has_gone(server: Server) -> None:
    """Stores list what was deleted a moment ago: that is reported, not passed over."""
    log = kodec.PartitionLog(f"{URL}/segments-0")
    assert len(log.segments) == 6
    del server.objects["some/logs/segments-0/00000000000000000141.log"]
    with pytest.raises(ReadFailed, match="has gone since"):
        list(log.records())


def test_a_listing_that_lacks_what_is_there(server: Server) -> None:
    """Some stores list a new object late: offsets that are in no segment are reported."""
    del server.objects["some/logs/segments-0/00000000000000000141.log"]
    account = Omissions()
    log = kodec.PartitionLog(f"{URL}/segments-0")
    found = [record.offset for record in log.records(omissions=account)]
    assert found and not set(found) & set(range(141, 175))
    assert [each.first_offset for each in account] == [141]


def test_names_that_nobody_expects(server: Server) -> None:
    for name in ("orders-0/x" + "y" * 900, "orders-0/%2e%2e", "orders-0/a?b#c", "orders-0/\u2028"):
        server.objects[f"some/logs/{name}"] = b"not a log"
    here, there = (kodec.PartitionLog(f"{at}/orders-0") for at in (LOGS, URL))
    assert list(there.records()) == list(here.records())
    assert segment_offsets(path_of(f"{URL}/segments-0/00000000000000000070.log")) == range(70, 141)


@pytest.mark.parametrize("reader", ["table", "records", "skipping"])
def test_batches_that_lie_in_two_ranges(
    reader: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "AHEAD", 300_000)
    content = random.Random(2)
    with kodec.LogWriter(tmp_path / "one-0") as writer:
        for number in range(400):
            large = 2_000_000 if number == 300 else number * 30
            writer.append([kodec.Record(value=content.randbytes(size)) for size in (large, 9)])
    server.upload(tmp_path / "one-0", "one-0")
    assert list(READERS[reader]("s3://logs/one-0")) == list(READERS[reader](str(tmp_path / "one-0")))
    ranges = [each for each in server.asked() if each.key.endswith(".log")]
    assert (
        len(ranges) > 8
        and sum(each.sent for each in ranges) == (tmp_path / "one-0" / f"{0:020}.log").stat().st_size
    )


@pytest.mark.parametrize("reader", ["records", "table", "table in threads"])
def test_the_next_segment_is_asked_for_before_this_one_ends(
    reader: str, server: Server, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "AHEAD", 600_000)
    # requests of other tests may still be under way
    name = f"{reader.replace(' ', '-')}-0"
    server.upload(large, name)
    assert list(READERS[reader](f"s3://logs/{name}")) == list(READERS[reader](str(large)))
    asked = [each for each in server.asked() if each.key.startswith(name) and each.key.endswith(".log")]
    assert sum(each.sent for each in asked) == sum(path.stat().st_size for path in large.glob("*.log"))
    assert not objects.object_storage("s3", "logs", None)._begun


def test_what_is_begun_for_nobody_is_let_go(
    server: Server, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "AHEAD", 600_000)
    server.upload(large, "large-0")
    log = kodec.PartitionLog("s3://logs/large-0")
    with log.segments[0].path.open("rb", buffering=0) as file:
        file.read(1_500_000)
        begun = objects.object_storage("s3", "logs", None)._begun
        assert list(begun) == [log.segments[1].path.key]  # type: ignore[attr-defined]
    assert not begun
