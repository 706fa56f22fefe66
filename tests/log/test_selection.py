"""The arguments that select records: the same records by every reader, search, table and job."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kodec
from kodec.errors import ArgumentError, NoSuchPartition
from kodec.log.backends.scan import EVERY, Range
from kodec.log.selection import Selection
from kodec.pipeline import ExportOptions, export
from tests.data import LOGS
from tests.golden import Golden

Given = dict[str, Any]
Where = list[tuple[str | None, int | None, int]]


def by_records(given: Given) -> Where:
    return [(each.topic, each.partition, each.offset) for each in kodec.read_records(LOGS, **given)]


def by_search(given: Given) -> Where:
    topics, partitions = given.get("topics"), given.get("partitions")
    wanted = {name: value for name, value in given.items() if name not in ("topics", "partitions")}
    with kodec.LogDirectory(LOGS) as logs:
        chosen: Given = {"topics": topics, "partitions": partitions}
        found = list(logs.find_records(kodec.RecordFilter(**wanted), **chosen))
        assert logs.count_records(kodec.RecordFilter(**wanted), **chosen) == len(found)
    return [(each.topic, each.partition, each.offset) for each in found]


def _rows(table: pa.Table) -> Where:
    return list(zip(*(table[name].to_pylist() for name in ("topic", "partition", "offset")), strict=True))


def by_table(given: Given) -> Where:
    table = kodec.read_table(LOGS, **given)
    assert kodec.count_rows(LOGS, **given) == table.num_rows
    assert _rows(kodec.read_table(LOGS, ["topic", "partition", "offset"], **given)) == _rows(table)
    return _rows(table)


def by_dataset(given: Given) -> Where:
    dataset = kodec.log_dataset(LOGS, **given)
    found = _rows(dataset.to_table())
    assert dataset.count_rows() == len(found)
    return found


def by_polars(given: Given) -> Where:
    frame = kodec.scan_polars(LOGS, **given).select("topic", "partition", "offset").collect()
    return list(frame.iter_rows())


DOORS: tuple[Callable[[Given], Where], ...] = (by_search, by_table, by_dataset, by_polars)
MIDDLE = 1_700_000_800_000
SELECTIONS: tuple[Given, ...] = (
    {"topics": "orders"},
    {"topics": ["orders", "transactions"], "partitions": 0},
    {"topics": "orders", "partitions": range(2), "offsets": (0, 5)},
    {"topics": "orders", "offsets": range(5)},
    {"topics": {"orders"}, "offsets": 7},
    {"topics": "orders", "offsets": (400, None)},
    {"topics": "orders", "offsets": (9, 8)},
    {"topics": "orders", "timestamps": (MIDDLE, None)},
    {"topics": "orders", "timestamps": (None, datetime.fromtimestamp(MIDDLE / 1000, UTC))},
    {"topics": "orders", "keys": "customer-9"},
    {"topics": "orders", "keys": [b"customer-9", "customer-1"], "offsets": (None, 200)},
    {"topics": "transactions", "isolation": "read_committed"},
    {"topics": "transactions", "isolation": "read_committed", "offsets": (5, 60), "keys": ["a", "b"]},
    {"topics": "orders", "keys": []},
    {"topics": []},
    {"topics": "orders", "partitions": []},
)


@pytest.mark.parametrize("given", SELECTIONS, ids=str)
def test_each_door_selects_the_same_records(given: Given) -> None:
    found = by_records(given)
    for door in DOORS:
        assert door(given) == found, door.__name__


@pytest.mark.parametrize("given", SELECTIONS, ids=str)
def test_a_selection_has_what_it_names(given: Given) -> None:
    selection, expected = Selection.of(**given), []
    with kodec.LogDirectory(LOGS) as logs:
        for log in logs:
            if selection.has(log.topic_partition):
                isolation = selection.isolation
                rows = log.records(isolation=isolation)
                expected += [each for each in rows if selection.test is None or selection.test(each)]
    assert by_records(given) == [(each.topic, each.partition, each.offset) for each in expected]
    assert bool(expected) != (selection.is_none or given.get("offsets") == (9, 8))


@pytest.mark.parametrize("given", SELECTIONS, ids=str)
def test_an_export_has_the_same_records(tmp_path: Path, given: Given) -> None:
    summary = export(LOGS, tmp_path / "out", ExportOptions(**given), engine="local")
    found = by_records(given)
    expected = {place: len(list(each)) for place, each in groupby(found, lambda row: row[:2])}
    counted = {(row.topic, row.partition): row.records for row in summary.partitions if row.records}
    assert (summary.records, counted) == (len(found), expected)


def test_one_rule_for_ranges() -> None:
    read = [
        Selection.of(offsets=each).offsets for each in ((0, 5), range(6), range(6), 5, None, (None, None))
    ]
    assert read == [Range(0, 5), Range(0, 5), Range(0, 5), Range(5, 5), EVERY, EVERY]
    assert Selection.of(timestamps=(None, 5)).timestamps == Range(0, 5)
    assert Selection.of(timestamps=(-1, 5)).timestamps == Range(-1, 5)
    for wrong in ({"offsets": "5"}, {"offsets": range(0, 9, 2)}, {"offsets": (1, 2, 3)}, {"offsets": True}):
        with pytest.raises(ArgumentError, match="offsets="):
            list(kodec.read_records(LOGS, **wrong))  # type: ignore[arg-type]
    for given, text in (
        ({"topics": 5}, "topics"),
        ({"partitions": "0"}, "partitions"),
        ({"partitions": [True]}, "partitions"),
        ({"timestamps": 5}, "timestamps"),
        ({"timestamps": (datetime(2024, 1, 1), None)}, "zone"),
        ({"keys": [None]}, "keys"),
        ({"isolation": "committed"}, "isolation"),
    ):
        with pytest.raises(ArgumentError, match=text):
            kodec.read_table(LOGS, **given)  # type: ignore[arg-type]


def test_what_is_missing_is_an_error_at_each_door() -> None:
    for given in ({"topics": "nothing"}, {"topics": "orders", "partitions": 9}):
        for door in (by_records, *DOORS):
            with pytest.raises(NoSuchPartition):
                door(given)


def test_one_file_is_selected_from_too(tmp_path: Path) -> None:
    segment = LOGS / "transactions-0/00000000000000000000.log"
    every = list(kodec.read_records(segment))
    with kodec.PartitionLog(segment.parent) as log:
        assert len(log.segments) == 1
        committed = list(log.records(isolation="read_committed"))
    assert 0 < len(committed) < len(every)
    assert list(kodec.read_records(segment, isolation="read_committed")) == committed
    assert kodec.read_table(segment, isolation="read_committed").num_rows == len(committed)
    data = segment.read_bytes()
    keys = {each.key for each in every if each.offset < 9}
    assert {each.key for each in kodec.read_records(data, offsets=range(9))} == keys
    chosen = [each for each in every if each.key == b"a"]
    assert list(kodec.read_records(data, keys="a")) == chosen
    assert kodec.read_table(data, ["offset"], keys="a")["offset"].to_pylist() == [
        each.offset for each in chosen
    ]
    for read in (kodec.read_records, kodec.read_table):
        with pytest.raises(ArgumentError, match="path"):
            read(data, isolation="read_committed")  # type: ignore[operator]


# -- where a record is ----------------------------------------------------------------------------


def test_records_show_where_they_are(tmp_path: Path, golden: Golden) -> None:
    folder = LOGS / "orders-1"
    segment = folder / "00000000000000000000.log"
    for source in (segment, folder, [folder], str(LOGS / "orders-1")):
        first = next(iter(kodec.read_records(source)))
        assert (first.topic, first.partition, first.topic_partition) == ("orders", 1, ("orders", 1))
    with kodec.PartitionLog(folder) as log:
        record = next(log.records())
        marker = next(log.find_records(kodec.RecordFilter(offsets=300)))
        (batch, *_) = log.segments[0].batches()
    for each in (record, marker, batch.records()[0], next(iter(kodec.Segment.of(segment).records()))):
        assert each.topic_partition == ("orders", 1)
    unknown = next(iter(kodec.read_records(segment.read_bytes())))
    assert (unknown.topic, unknown.partition) == (None, None)
    assert unknown == record and hash(unknown) == hash(record)
    assert "topic" not in repr(unknown)
    golden(repr(record))
    for again in (pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)):
        assert again == record and again.topic == "orders"
    assert kodec.encode([record]) == kodec.encode([unknown])
    control = kodec.read_records(LOGS, topics="transactions", control=True)
    places = {each.topic for each in control if isinstance(each, kodec.ControlRecord)}
    assert places == {"transactions"}


def test_records_of_compressed_batches_and_old_messages_do_too(tmp_path: Path) -> None:
    records = [kodec.Record(value=b"v%d" % each, timestamp=each) for each in range(9)]
    for magic, codec in ((0, "none"), (0, "gzip"), (1, "none"), (1, "gzip"), (2, "none"), (2, "gzip")):
        folder = tmp_path / codec / f"t-{magic}"
        folder.mkdir(parents=True, exist_ok=True)
        data = kodec.encode(records, magic=magic, compression=codec, base_offset=0, lossy=True)
        (folder / f"{0:020d}.log").write_bytes(data)
        with kodec.PartitionLog(folder) as log:
            for read in (
                log.records(),
                kodec.read_records(folder),
                kodec.read_records(folder / f"{0:020d}.log"),
            ):
                found = list(read)
                assert [each.topic_partition for each in found] == [("t", magic)] * 9, (magic, codec)
        assert {each.topic for each in kodec.read_records(data)} == {None}


def test_kept_records_do_not_change_their_place() -> None:
    places = [(LOGS / f"orders-{each}") for each in range(3)]
    kept = [each for place in places for each in kodec.read_records(place)]
    assert [each.partition for each in kept] == [0] * 421 + [1] * 415 + [2] * 364
