"""A search finds the same records as reading every record, whatever it skips."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import kodec
from kodec.log.directories import column_search
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.search import find_records
from kodec.log.directories.search_report import SearchReport
from kodec.log.omissions import Omissions
from kodec.runtime.errors import ArgumentError, NoSuchPartition, OffsetsMissing
from tests.data import DATA, LOGS
from tests.log import wire

pytestmark = pytest.mark.usefixtures("backend")

FOLDERS = [
    folder
    for release in sorted(DATA.glob("kafka-*"))
    for folder in sorted((release / "logs").glob("*-[0-9]*"))
]


def drawn(rng: random.Random, records: list[kodec.Record], producers: list[int]) -> dict[str, object]:
    """Conditions that some of the records fulfil."""
    given: dict[str, object] = {}
    one = rng.choice(records)
    for name in rng.sample(["offsets", "times", "key", "value", "headers", "producers"], rng.randint(0, 3)):
        match name:
            case "offsets":
                low, high = sorted(rng.choice(records).offset for _ in range(2))
                given["offsets"] = rng.choice([(low, high), range(low, high + 1)])
            case "times":
                low, high = sorted(max(0, rng.choice(records).timestamp) for _ in range(2))
                given["timestamps"] = low, high - rng.randint(0, 1)
            case "key":
                given["keys"] = rng.choice([one.key, None if one.key is None else [one.key, b"another"]])
            case "value" if one.value:
                at = rng.randrange(len(one.value))
                given["value_contains"] = one.value[at : at + rng.randint(1, 9)]
            case "headers":
                given["headers"] = one.headers[: rng.randint(0, 2)]
            case "producers" if producers:
                given["producer_ids"] = frozenset(rng.sample(producers, 1))
    return given | {
        "control": rng.random() < 0.3,
        "isolation": rng.choice(["read_uncommitted", "read_committed"]),
    }


def plainly(log: kodec.PartitionLog, wanted: RecordFilter) -> Iterator[kodec.Record]:
    """Every record looked at, by the rules as their names say them."""
    written = {}
    for batch in log.batches() if wanted.producer_ids is not None else ():
        for record in batch.records(control=True):
            written[record.offset] = batch.producer_id
    for record in log.records(isolation=wanted.isolation, control=wanted.control):
        at = record.timestamp
        if wanted.first_offset is not None and not record.offset >= wanted.first_offset:
            continue
        if wanted.last_offset is not None and not record.offset <= wanted.last_offset:
            continue
        if wanted.since is not None and not at >= wanted.since:
            continue
        if wanted.until is not None and not -1 < at < wanted.until:
            continue
        if wanted.keys is not None and record.key not in wanted.keys:  # type: ignore[comparison-overlap,operator]
            continue
        if wanted.value_contains is not None and wanted.value_contains not in (record.value or b""):
            continue
        if not set(wanted.headers) <= set(record.headers):
            continue
        if wanted.producer_ids is not None and written[record.offset] not in wanted.producer_ids:
            continue
        yield record


@pytest.fixture(params=["batches", "columns"])
def looked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How batches are checked: one by one, or by the columns of some of them at once, if ever so small."""
    if request.param == "columns":
        pytest.importorskip("pyarrow.compute")
        for name, number in (("LEAST", 0), ("FIRST_HEADS", 2), ("MOST_HEADS", 5)):
            monkeypatch.setattr(column_search, name, number)
    else:
        monkeypatch.setattr(column_search, "LEAST", 1 << 62)
    return str(request.param)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(DATA).as_posix())
def test_what_is_found_is_what_there_is(folder: Path, looked_at: str) -> None:
    rng = random.Random(folder.as_posix().removeprefix(DATA.as_posix()))
    with kodec.PartitionLog(folder) as log:
        records = list(log.records(control=True))
        producers = sorted({head.producer_id for _, head in log.headers()})
        for _ in range(12 if records else 0):
            wanted = RecordFilter(**drawn(rng, records, producers))  # type: ignore[arg-type]
            expected = list(plainly(log, wanted))
            report = SearchReport()
            assert list(log.find_records(wanted, report=report)) == expected
            assert report.found == len(expected)
            assert list(log.find_records(wanted, newest_first=True)) == expected[::-1]
            assert log.count_records(wanted) == len(expected)


def shuffled(rng: random.Random, folder: Path) -> None:
    """A log whose timestamps do not ascend, of batches of all kinds, in two segments."""
    folder.mkdir(parents=True)
    offset, own = 0, {"producer_epoch": 0, "base_sequence": 0}
    for base in (0, 1000):
        offset, parts = base, []
        for number in range(60):
            size = rng.randint(1, 9)
            records = [
                kodec.Record(
                    offset=offset + each,
                    timestamp=rng.randint(0, 100),
                    key=rng.choice([None, b"", b"a", b"b"]),
                    value=rng.choice([None, b"", b"some value"]),
                )
                for each in range(size)
            ]
            appended = rng.random() < 0.3
            kind = kodec.TimestampType.LOG_APPEND_TIME if appended else kodec.TimestampType.CREATE_TIME
            if appended:
                records = [dataclasses.replace(each, timestamp=number) for each in records]
            parts.append(
                kodec.encode(
                    records,
                    timestamp_type=kind,
                    compression=rng.choice(["none", "gzip", "snappy", "lz4", "zstd"]),
                    **rng.choice([{}, {"producer_id": 7, **own}, {"producer_id": 8, **own}]),
                )
            )
            offset += size + rng.choice([0, 0, 0, 3])
        (folder / f"{base:020d}.log").write_bytes(b"".join(parts))


@pytest.mark.parametrize("seed", range(4))
def test_timestamps_that_do_not_ascend(seed: int, tmp_path: Path, looked_at: str) -> None:
    rng = random.Random(seed)
    shuffled(rng, tmp_path / "topic-0")
    with kodec.PartitionLog(tmp_path / "topic-0") as log:
        records = list(log.records())
        for _ in range(30):
            wanted = RecordFilter(**drawn(rng, records, [7, 8, 9]))  # type: ignore[arg-type]
            expected = list(plainly(log, wanted))
            report = SearchReport()
            assert list(log.find_records(wanted, report=report)) == expected
            assert report.found == len(expected)
            assert list(log.find_records(wanted, newest_first=True)) == expected[::-1]
            report = SearchReport()
            assert log.count_records(wanted, report=report) == len(expected)
            assert report.found == len(expected)


def outcome(log: kodec.PartitionLog, wanted: RecordFilter) -> tuple[list[int], str, object]:
    """What is found in a log that may be damaged, why no more, and how many are counted or why not."""
    found: list[int] = []
    why, number = "", None
    try:
        for record in log.find_records(wanted):
            found.append(record.offset)
    except kodec.errors.KodecError as error:
        why = str(error)
    try:
        number = log.count_records(wanted)
    except kodec.errors.KodecError as error:
        return found, why, str(error)
    return found, why, number


def test_damage_has_one_outcome_however_batches_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow.compute")
    rng = random.Random(5)
    shuffled(rng, tmp_path / "topic-0")
    path = tmp_path / "topic-0" / f"{0:020d}.log"
    whole = path.read_bytes()
    monkeypatch.setattr(column_search, "FIRST_HEADS", 3)
    filters = [
        RecordFilter(keys=b"a"),
        RecordFilter(timestamps=(20, 59)),
        RecordFilter(value_contains=b"some", timestamps=(1, None)),
        RecordFilter(producer_ids=frozenset([7]), timestamps=(None, 49)),
    ]
    for _ in range(40):
        data = bytearray(whole)
        match rng.randrange(3):
            case 0:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 1:
                del data[rng.randrange(len(data)) :]
            case _:
                at = rng.randrange(len(data))
                data[at : at + 8] = bytes(8)
        path.write_bytes(data)
        for wanted in filters:
            outcomes = []
            for least in (0, 1 << 62):
                monkeypatch.setattr(column_search, "LEAST", least)
                with kodec.PartitionLog(path.parent) as log:
                    outcomes.append(outcome(log, wanted))
            assert outcomes[0] == outcomes[1]


def test_a_condition_of_the_callers_own() -> None:
    with kodec.PartitionLog(LOGS / "orders-0") as log:
        wanted = RecordFilter(where=lambda record: record.offset % 100 == 0)
        assert [each.offset for each in log.find_records(wanted)] == [0, 100, 200, 300, 400]


def test_nothing_is_read_that_cannot_match() -> None:
    with kodec.PartitionLog(LOGS / "orders-0") as log:
        batches = sum(1 for _ in log.batches())
        report = SearchReport()
        assert log.count_records(RecordFilter(), report=report) == 421
        assert (report.batches_read, report.batches_skipped) == (0, 0)
        report = SearchReport()
        assert not list(log.find_records(RecordFilter(keys=b"nobody has it"), report=report))
        assert (report.batches_without, report.batches_read) == (batches, 0)
        report = SearchReport()
        last = list(log.find_records(RecordFilter(timestamps=(1700001795500, None)), report=report))
        assert [each.offset for each in last] == [420]
        assert report.batches_read <= 2
        report = SearchReport()
        assert next(log.find_records(RecordFilter(), newest_first=True, report=report)).offset == 420
        assert report.batches_read == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_several_logs(threads: int) -> None:
    with kodec.LogDirectory(LOGS) as directory:
        everything = [each for log in directory for each in log.records()]
        report = SearchReport()
        found = list(directory.find_records(RecordFilter(), threads=threads, report=report))
        assert found == everything
        assert (report.partitions, report.found) == (28, len(everything))
        orders = [each for each in everything if each.topic == "orders"]
        assert list(directory.find_records(RecordFilter(), topics=["orders"])) == orders
        assert directory.count_records(RecordFilter(), threads=threads) == len(everything)
        assert directory.count_records(RecordFilter(keys=b"customer-9"), topics=["orders"]) == sum(
            each.key == b"customer-9" for each in orders
        )
        for number in (1, 10, 5000):
            newest = list(directory.find_records(RecordFilter(), topics=["orders"], last=number))
            oldest = list(directory.find_records(RecordFilter(), topics=["orders"], first=number))
            times = sorted(each.timestamp for each in orders)
            assert [each.timestamp for each in newest] == times[-number:]
            assert [each.timestamp for each in oldest] == times[:number]
        with pytest.raises(NoSuchPartition, match="did you mean orders"):
            next(directory.find_records(RecordFilter(), topics=["order"]))


def test_who_stops_early_leaves_no_thread() -> None:
    import threading

    with kodec.LogDirectory(LOGS) as directory:
        found = directory.find_records(RecordFilter(), threads=2)
        next(found)
        found.close()  # type: ignore[attr-defined]
    assert not [each for each in threading.enumerate() if each.name.startswith("kodec-find")]


@pytest.fixture
def damaged(tmp_path: Path) -> kodec.LogDirectory:
    """Two logs, one with a flipped bit in its second batch."""
    for partition in (0, 1):
        folder = tmp_path / f"topic-{partition}"
        folder.mkdir()
        batches = [wire.batch([wire.record(value=b"v%d" % each)], base=each) for each in range(3)]
        if partition == 0:
            spoiled = bytearray(batches[1])
            spoiled[-3] ^= 1
            batches[1] = bytes(spoiled)
        (folder / f"{0:020d}.log").write_bytes(b"".join(batches))
    return kodec.LogDirectory(tmp_path)


def test_damage_in_one_log_leaves_the_others(damaged: kodec.LogDirectory) -> None:
    failures: list[tuple[int, str]] = []

    def failed(log: kodec.PartitionLog, error: Exception) -> None:
        failures.append((log.topic_partition.partition, type(error).__name__))

    found = list(find_records(list(damaged), RecordFilter(), failed=failed))
    assert [(each.partition, each.offset) for each in found] == [
        (0, 0),
        (1, 0),
        (1, 1),
        (1, 2),
    ]
    newest = list(find_records(list(damaged), RecordFilter(), last=10, failed=failed))
    assert sorted((each.partition, each.offset) for each in newest) == [
        (0, 2),
        (1, 0),
        (1, 1),
        (1, 2),
    ]
    assert failures == [(0, "CrcMismatch")] * 2
    with pytest.raises(kodec.errors.CrcMismatch, match="topic-0"):
        list(damaged.find_records(RecordFilter()))


def test_a_gap_that_was_skipped_is_no_gap(tmp_path: Path) -> None:
    folder = tmp_path / "topic-0"
    folder.mkdir()
    for base in (0, 2, 4):
        records = [kodec.Record(offset=base + each, timestamp=1000 * (base + each)) for each in (0, 1)]
        data = kodec.encode(records, batch_records=1)
        (folder / f"{base:020d}.log").write_bytes(data)
    with kodec.PartitionLog(folder) as log:
        assert [each.offset for each in log.find_records(RecordFilter(offsets=(None, 0)))] == [0]
        assert [each.offset for each in log.find_records(RecordFilter(timestamps=(5000, None)))] == [5]
        assert [each.offset for each in log.find_records(RecordFilter(producer_ids=frozenset({-1})))] == [
            *range(6)
        ]
        assert log.count_records(RecordFilter()) == 6
        (folder / f"{2:020d}.log").unlink()
    with kodec.PartitionLog(folder) as log:
        account = Omissions()
        assert log.count_records(RecordFilter(), omissions=account) == 4
        assert [(each.first_offset, each.last_offset) for each in account] == [(2, 3)]
        with pytest.raises(OffsetsMissing, match="offsets 2 to 3 are missing"):
            log.count_records(RecordFilter())
        # a time says nothing about what is lost, and neither does the order
        for wanted, newest_first in ((RecordFilter(timestamps=(5000, None)), False), (RecordFilter(), True)):
            with pytest.raises(OffsetsMissing):
                list(log.find_records(wanted, newest_first=newest_first))
        assert [each.offset for each in log.find_records(RecordFilter(offsets=(4, None)))] == [4, 5]


@pytest.mark.parametrize(
    "given",
    [
        {"offsets": "5"},
        {"offsets": range(0, 9, 2)},
        {"timestamps": ("now", None)},
        {"timestamps": (None, 1.5)},
        {"keys": 5},
        {"isolation": "committed"},
    ],
    ids=str,
)
def test_what_cannot_be_meant(given: dict[str, object]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(given))):
        RecordFilter(**given)  # type: ignore[arg-type]


def test_headers_from_the_last() -> None:
    for folder in FOLDERS:
        with kodec.PartitionLog(folder) as log:
            for segment in log.segments:
                assert list(segment.headers_back()) == list(segment.headers())[::-1]
