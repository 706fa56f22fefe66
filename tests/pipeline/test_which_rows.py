"""Which rows a load gives, and when it says that some are missing: no folder and no file misleads."""

from __future__ import annotations

import json
import pickle
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.errors import KodecError, Malformed
from kodec.pipeline import KafkaLogDataSource
from kodec.pipeline.options import OptionError
from kodec.pipeline.plan import DataLoss
from tests.data import DATA, LOGS
from tests.fixtures import write_segment
from tests.stored_tiers import STORED

LAYOUT = {"t-0": [range(10), range(10, 20), range(20, 30)]}

Rows = list[tuple[str, int]]


def load(path: Path | str | list[str], **options: str) -> list[dict[str, Any]]:
    """The rows of all tasks, after the way of reader and tasks to a worker."""
    given = {"paths": json.dumps(path)} if isinstance(path, list) else {"path": str(path)}
    one = KafkaLogDataSource({**given, **options})
    reader = one.reader(one.schema())
    tasks = reader.partitions()
    there = pickle.loads(pickle.dumps(reader))
    return [row for task in tasks for batch in there.read(task) for row in batch.to_pylist()]


def rows(path: Path | str | list[str], **options: str) -> Rows:
    return [(f"{row['topic']}-{row['partition']}", row["offset"]) for row in load(path, **options)]


def of(name: str, *offsets: int) -> Rows:
    return [(name, offset) for offset in offsets]


# -- what is at a path ----------------------------------------------------------------------------


def test_an_empty_partition_folder_has_no_rows(logs: Path) -> None:
    (logs / "t-1").mkdir()
    assert rows(logs) == of("t-0", *range(30))
    assert rows(logs / "t-1") == []


def test_a_parent_of_log_directories_is_read_as_all_of_them(tmp_path: Path) -> None:
    for number in (1, 2):
        write_segment(tmp_path / f"broker-{number}" / f"t-{number}", 0, 4)
    write_segment(tmp_path / "other" / "u-0", 0, 2)
    wanted = of("t-1", *range(4)) + of("t-2", *range(4)) + of("u-0", 0, 1)
    assert rows(tmp_path) == wanted
    for number in (1, 2):
        (tmp_path / f"broker-{number}").rename(tmp_path / f"disk{number}")
    assert rows(tmp_path) == wanted


def test_a_folder_without_logs_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"neither a log directory.*; it holds nothing"):
        rows(tmp_path)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(OptionError, match=r"it holds empty, notes\.txt"):
        rows(tmp_path)
    assert rows(tmp_path, allowEmpty="true") == []


def test_a_log_directory_without_what_was_asked_for_says_what_there_is(logs: Path) -> None:
    (logs / "__consumer_offsets-0").mkdir()
    shutil.rmtree(logs / "t-0")
    with pytest.raises(
        OptionError, match=r"not internal there are __consumer_offsets-0; set allowEmpty=true"
    ):
        rows(logs)
    with pytest.raises(OptionError, match="subscribe: not in the log directory: t; there are __consumer"):
        rows(logs, subscribe="t")
    assert rows(logs, subscribe="t", allowEmpty="true") == []


def test_globs(logs: Path) -> None:
    shutil.copytree(logs / "t-0", logs / "u-0")
    shutil.copytree(logs / "t-0", logs / "a[b]-0")
    assert {name for name, _ in rows(f"{logs}/[tu]-*")} == {"t-0", "u-0"}
    assert {name for name, _ in rows(f"{logs}/{{t,u}}-0/*.log")} == {"t-0", "u-0"}
    with pytest.raises(OptionError, match="nothing is called so"):
        rows(f"{logs}/x*")


# -- damage and bounds --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [
        {"endingOffsets": '{"t":{"0":11}}'},
        {"maxRecordsPerPartition": "4"},
        {"kafka.isolation.level": "read_committed"},
    ],
)
@pytest.mark.parametrize("wrong", [7, 1 << 40])
def test_a_wrong_offset_does_not_end_the_rows_where_another_one_is_meant(
    bounds: dict[str, str], wrong: int, tmp_path: Path
) -> None:
    log = tmp_path / "t-0" / f"{0:020d}.log"
    log.parent.mkdir()
    batches = [kodec.encode([kodec.Record(offset=3 * n + k) for k in range(3)]) for n in range(4)]
    batches[1] = wrong.to_bytes(8, "big") + batches[1][8:]
    log.write_bytes(b"".join(batches))
    left = [n for n in range(12) if n not in (3, 4, 5)]
    wanted = [n for n in left if n < 11 or "endingOffsets" not in bounds]
    assert rows(tmp_path, mode="permissive", **bounds) == of("t-0", *wanted)


def test_one_segment_has_its_own_rows_also_where_transactions_are_looked_at(logs: Path) -> None:
    segment = logs / "t-0" / f"{10:020d}.log"
    assert rows(segment, **{"kafka.isolation.level": "read_committed"}) == of("t-0", *range(10, 20))


# -- what is deleted stays deleted ----------------------------------------------------------------


@pytest.mark.parametrize("path", [".", "t-0", "t-0/00000000000000000010.log"])
def test_records_below_the_log_start_offset_are_deleted(path: str, logs: Path) -> None:
    (logs / "log-start-offset-checkpoint").write_text("0\n1\nt 0 13\n")
    assert rows(logs / path) == of("t-0", *range(13, 20 if path.endswith(".log") else 30))


def test_a_damaged_checkpoint_of_log_start_offsets_is_an_error(logs: Path) -> None:
    (logs / "log-start-offset-checkpoint").write_text("0\n1\nt 0 x\n")
    for mode in ("failfast", "permissive"):
        with pytest.raises(Malformed, match="log-start-offset-checkpoint"):
            rows(logs, mode=mode)


def test_the_real_broker_deleted_records(tmp_path: Path) -> None:
    found = rows(LOGS / "records-deleted-0")
    assert found[0] == ("records-deleted-0", 13)


# -- what is missing ------------------------------------------------------------------------------


def cut(path: Path) -> None:
    """Cut off the second of two batches, exactly."""
    first = next(iter(kodec.read_batches(path)))
    path.write_bytes(path.read_bytes()[: first.size])


def test_offsets_that_are_not_asked_for_are_not_missing(logs: Path) -> None:
    edges = {"startingOffsets": '{"t": {"0": 3}}', "endingOffsets": '{"t": {"0": 23}}'}
    one = KafkaLogDataSource({"path": str(logs), "maxRecordsPerPartition": "4", **edges})
    reader = one.reader(one.schema())
    found = [
        offset
        for task in reader.partitions()
        for each in reader.read(task)
        for offset in each["offset"].to_pylist()
    ]
    assert sorted(found) == list(range(3, 23))


@pytest.mark.parametrize("size", ["1", "1g"])
@pytest.mark.parametrize("how", ["gone", "cut", "torn"])
def test_a_gap_that_nothing_explains(
    how: str, size: str, logs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    middle = logs / "t-0" / "00000000000000000010.log"
    match how:
        case "gone":
            middle.unlink()
        case "cut":
            cut(middle)
        case "torn":
            middle.write_bytes(middle.read_bytes()[:-5])
    missing = "10 to 19" if how == "gone" else "15 to 19"
    text = rf"offsets {missing} of t-0 are .*failOnDataLoss=false reads on"
    for options in ({}, {"failOnDataLoss": "true"}, {"failOnDataLoss": "true", "mode": "permissive"}):
        with pytest.raises(DataLoss, match=text):
            rows(logs, maxPartitionBytes=size, **options)
    left = of("t-0", *(n for n in range(30) if n // 10 != 1 or (how != "gone" and n < 15)))
    capfd.readouterr()
    assert rows(logs, maxPartitionBytes=size, failOnDataLoss="false") == left
    text = capfd.readouterr().err
    assert f"WARN kafka-log: left out: {middle.parent}" in text
    assert f"offsets {missing} of t-0" in text
    assert rows(logs, maxPartitionBytes=size, mode="permissive") == left


def test_compaction_explains_a_gap_by_checkpoint_and_by_batches(logs: Path, tmp_path: Path) -> None:
    middle = logs / "t-0" / "00000000000000000010.log"
    middle.unlink()
    copy = tmp_path / "copy"
    shutil.copytree(logs, copy)
    (copy / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 20\n")
    left = of("t-0", *range(10), *range(20, 30))
    assert rows(copy) == left
    # Offsets that a later batch leaves out.
    sparse = [kodec.Record(offset=n, value=b"v") for n in (30, 33)]
    (logs / "t-0" / "00000000000000000030.log").write_bytes(kodec.encode(sparse))
    assert rows(logs) == left + of("t-0", 30, 33)


def test_the_compacted_topics_of_real_brokers_have_no_gap() -> None:
    for folder in sorted(DATA.glob("kafka-*/logs/compacted-*")):
        assert rows(folder)


@pytest.mark.parametrize("wrong", [5, 9, 12, 17, 10**9, 2**62])
def test_a_wrong_base_offset_is_damage(wrong: int, logs: Path) -> None:
    path = logs / "t-0" / "00000000000000000010.log"
    data = bytearray(path.read_bytes())
    second = next(iter(kodec.read_batches(path))).size
    data[second : second + 8] = wrong.to_bytes(8, "big")
    path.write_bytes(data)
    with pytest.raises(Malformed, match="base_offset"):
        rows(logs)
    assert rows(logs, mode="permissive") == of("t-0", *range(15), *range(20, 30))


# -- a cleaner's swap -----------------------------------------------------------------------------


def test_a_swap_that_was_left_hides_nothing_but_what_it_replaces(logs: Path) -> None:
    """Two that stand for 0 and for 40: what lies between is in neither."""
    folder = logs / "t-0"
    for first in (30, 40, 50):
        write_segment(folder, first, 10)
    for name in ("00000000000000000000.log", "00000000000000000040.log"):
        (folder / name).rename(folder / f"{name}.swap")
    assert rows(logs) == of("t-0", *range(60))


# -- several replicas -----------------------------------------------------------------------------


def epochs(folder: Path, *entries: tuple[int, int]) -> None:
    lines = [f"{epoch} {offset}" for epoch, offset in entries]
    (folder / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")


def test_each_offset_once_from_the_replica_with_the_highest_epoch(tmp_path: Path) -> None:
    def segment(disk: str, first: int, count: int, value: bytes) -> Path:
        folder = tmp_path / disk / "t-0"
        folder.mkdir(parents=True, exist_ok=True)
        records = [kodec.Record(offset=first + n, value=value) for n in range(count)]
        (folder / f"{first:020d}.log").write_bytes(kodec.encode(records))
        return folder

    # `a` led last and has lost its oldest segment to retention; `b` has an end that is not committed.
    for first in (10, 20):
        a = segment("a", first, 10, b"a")
    for first in (0, 10, 20, 30):
        b = segment("b", first, 10, b"b")
    epochs(a, (0, 0), (2, 15))
    epochs(b, (0, 0), (1, 15))
    wanted = [(n, b"b" if n < 10 else b"a") for n in range(30)]
    paths = [str(tmp_path / disk) for disk in "ab"]
    for given in (paths, paths[::-1]):
        found = load(given)
        assert [(row["offset"], row["value"]) for row in found] == wanted
    # What one of them says is deleted is deleted.
    (tmp_path / "b" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    assert [row["offset"] for row in load(paths)] == list(range(3, 30))
    (tmp_path / "a" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 13\n")
    assert [row["offset"] for row in load(paths)] == list(range(13, 30))


def test_a_folder_by_two_paths_is_one(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(logs)
    assert rows([str(logs), str(logs / "t-0"), str(tmp_path / "link")]) == of("t-0", *range(30))


# -- remote storage -------------------------------------------------------------------------------

TIERED = DATA / "tiered-4.3.1"


def consumed() -> Rows:
    lines = (TIERED / "consumed" / "tiered.read_uncommitted.jsonl").read_text("utf-8").splitlines()
    return [("tiered-0", json.loads(line)["offset"]) for line in lines]


def test_kafkas_own_tier_and_the_local_rest() -> None:
    with pytest.raises(DataLoss, match="remote storage"):
        rows(TIERED / "logs")
    local = rows(TIERED / "logs", startingOffsets=json.dumps({"tiered": {"0": 168}}), subscribe="tiered")
    tier = rows(TIERED / "tier")
    assert rows(next((TIERED / "tier").iterdir())) == tier
    assert tier + local == consumed()
    assert rows([str(TIERED / "logs"), str(TIERED / "tier")]) == consumed()
    assert rows(TIERED) == consumed()


def test_the_plugins_names_and_manifests(tmp_path: Path) -> None:
    root = tmp_path / "prefix"
    shutil.copytree(STORED / "plain", root)
    wanted = rows(TIERED / "tier")
    (topic,) = root.iterdir()
    assert rows(root) == rows(topic) == rows(topic / "0") == wanted
    # Uploaded last: without it the segment is not whole.
    last = max((topic / "0").glob("*.rsm-manifest"))
    last.unlink()
    assert rows(root) == [row for row in wanted if row[1] < int(last.name[:20])]


@pytest.mark.parametrize("folder", ["zstd/backup", "zstd-aes"])
def test_transformed_segments_have_the_same_rows(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KODEC_TIER_KEY", str(STORED / "key1.pem"))
    assert rows(STORED / folder) == rows(TIERED / "tier")


# -- a log that changes ---------------------------------------------------------------------------


def test_segments_that_are_deleted_meanwhile(tmp_path: Path) -> None:
    """A broker appends, rolls and deletes: each load ends, with offsets in order, or names the lost ones."""
    folder = tmp_path / "logs" / "t-0"
    write_segment(folder, 0, 10)
    over = threading.Event()

    def lives() -> None:
        first = 10
        while not over.is_set():
            write_segment(folder, first, 10)
            if first >= 100:
                gone = folder / f"{first - 100:020d}.log"
                gone.rename(gone.with_suffix(".log.deleted"))
                gone.with_suffix(".log.deleted").unlink()
            first += 10
            time.sleep(0.001)

    total = 0
    broker = threading.Thread(target=lives)
    broker.start()
    try:
        for number in range(60):
            size = "1" if number % 2 else "1g"
            options = {"kafka.isolation.level": "read_committed"} if number % 3 == 1 else {}
            if number % 3 == 2:
                options["startingTimestamp"] = "5"
            options["failOnDataLoss"] = str(number % 4 > 1).lower()
            try:
                found = [offset for _, offset in rows(tmp_path / "logs", maxPartitionBytes=size, **options)]
            except DataLoss as error:
                assert number % 4 > 1 and "were deleted meanwhile" in str(error)
                continue
            assert found == sorted(set(found))
            total += len(found)
    finally:
        over.set()
        broker.join()
    assert total


def test_errors_travel() -> None:
    for error in (OptionError("path", "text"), DataLoss("text")):
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), str(back), back.option) == (type(error), str(error), error.option)
        assert isinstance(error, KodecError)
