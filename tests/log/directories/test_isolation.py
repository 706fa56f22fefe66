"""read_committed gives what Kafka's consumer got, by transaction indexes and by control batches alike."""

from __future__ import annotations

import base64
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.generated.log.producer_snapshot import Entry, ProducerSnapshot
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.transactions import Transactions
from kodec.log.omissions import Omissions
from tests.data import DATA
from tests.golden import Golden
from tests.log import wire

pytestmark = pytest.mark.usefixtures("backend")

PARTITIONS = [
    folder
    for release in sorted(DATA.glob("kafka-*"))
    for folder in sorted((release / "logs").glob("*-[0-9]*"))
    if list((release / "consumed").glob(f"{folder.name.rpartition('-')[0]}.*.jsonl"))
]
TRANSACTIONAL = [folder for folder in PARTITIONS if list(folder.glob("*.txnindex"))]
TRANSACTIONAL += [each for each in (DATA / "kafka-4.3.1/crashed").iterdir() if list(each.glob("*.txnindex"))]
NEWEST = DATA / "kafka-4.3.1"


def label(folder: Path) -> str:
    return folder.relative_to(DATA).as_posix()


def consumed(folder: Path, isolation: str) -> list[tuple[int, bytes | None, bytes | None]]:
    topic, _, number = folder.name.rpartition("-")
    file = folder.parents[1] / "consumed" / f"{topic}.{isolation}.jsonl"
    if not file.is_file():
        file = file.with_name(f"{topic}.read_uncommitted.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    def plain(text: str | None) -> bytes | None:
        return None if text is None else base64.b64decode(text)

    mine = [row for row in rows if row["partition"] == int(number)]
    return [(row["offset"], plain(row["key"]), plain(row["value"])) for row in mine]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("folder", PARTITIONS, ids=label)
def test_rows_are_those_of_the_consumer(folder: Path, isolation: kodec.Isolation) -> None:
    wanted = consumed(folder, isolation)
    with PartitionLog(folder) as log:
        for use_index in (True, False):
            found = log.records(isolation=isolation, use_index=use_index)
            assert [(record.offset, record.key, record.value) for record in found] == wanted


def test_the_levels_differ_where_it_matters() -> None:
    for topic in ("transactions-0", "segments-0", "__consumer_offsets-0"):
        folder = NEWEST / "logs" / topic
        assert len(consumed(folder, "read_committed")) < len(consumed(folder, "read_uncommitted"))


@pytest.mark.parametrize("folder", TRANSACTIONAL, ids=label)
def test_from_every_offset_by_index_and_by_control_batches(folder: Path) -> None:
    with PartitionLog(folder) as log:
        everything = list(log.records(isolation="read_committed", use_index=False))
        for offset in range(log.start_offset, log.end_offset + 1, 3):
            wanted = [record for record in everything if record.offset >= offset]
            assert list(log.records(offset, isolation="read_committed")) == wanted


@pytest.mark.parametrize("folder", TRANSACTIONAL, ids=label)
def test_the_index_and_the_control_batches_tell_the_same(folder: Path) -> None:
    with PartitionLog(folder) as log:
        by_index, by_markers = log.transactions(), log.transactions(use_index=False)
        assert by_index.aborted
        # Kafka 0.11 indexed the abort of a producer that had sent nothing.
        with_data = [each for each in by_index.aborted if each.first_offset < each.last_offset]
        assert with_data == by_markers.aborted
        assert by_index.last_stable_offset == by_markers.last_stable_offset
        assert log.last_stable_offset == by_markers.last_stable_offset


@pytest.mark.parametrize(
    ("lost", "damage"),
    [
        ("*.txnindex", None),
        ("*.txnindex", lambda data: b"\xa5" * len(data)),
        ("*.txnindex", lambda data: data + data),
        ("*.txnindex", lambda data: data + data[:20]),
        ("*.snapshot", None),
        ("*.snapshot", lambda data: b"\xa5" * len(data)),
        ("*.snapshot", lambda data: data[:-1]),
        ("*.index", None),
        ("*.index", lambda data: data[: len(data) // 2 + 1]),
        ("*[0-9].[tis]*", None),
    ],
)
def test_without_the_files_beside_the_log(
    tmp_path: Path, lost: str, damage: Callable[[bytes], bytes] | None
) -> None:
    for name in ("segments-0", "transactions-0"):
        folder = tmp_path / name
        shutil.copytree(NEWEST / "logs" / name, folder)
        hit = list(folder.glob(lost))
        assert hit
        for file in hit:
            if damage is None:
                file.unlink()
            else:
                file.write_bytes(damage(file.read_bytes()))
        wanted = [offset for offset, _, _ in consumed(NEWEST / "logs" / name, "read_committed")]
        with PartitionLog(folder) as log:
            for start in (0, log.end_offset // 3, log.end_offset - 5):
                found = [record.offset for record in log.records(start, isolation="read_committed")]
                assert found == [offset for offset in wanted if offset >= start]


def data(base: int, producer: int, count: int = 1, *, transactional: bool = True) -> bytes:
    rows = [wire.record(number) for number in range(count)]
    return wire.batch(rows, base=base, attributes=16 * transactional, producer=(producer, 0, 0))


def marker(base: int, producer: int, kind: int) -> bytes:
    row = wire.record(0, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    return wire.batch([row], base=base, attributes=48, producer=(producer, 0, -1))


ABORT, COMMIT = 0, 1


def made(folder: Path, *segments: tuple[int, list[bytes]]) -> PartitionLog:
    folder.mkdir(exist_ok=True)
    for base, entries in segments:
        (folder / f"{base:020}.log").write_bytes(b"".join(entries))
    return PartitionLog(folder)


def committed(log: PartitionLog, offset: int | None = None) -> list[int]:
    by_index = [record.offset for record in log.records(offset, isolation="read_committed")]
    by_markers = [
        record.offset for record in log.records(offset, isolation="read_committed", use_index=False)
    ]
    assert by_index == by_markers
    return by_index


def test_a_transaction_over_several_segments(tmp_path: Path) -> None:
    log = made(
        tmp_path / "t-0",
        (0, [data(0, 7), data(1, 8)]),
        (2, [data(2, 7), data(3, 9, transactional=False)]),
        (4, [marker(4, 7, ABORT), marker(5, 8, COMMIT), data(6, 7)]),
        (7, [marker(7, 7, COMMIT)]),
    )
    assert committed(log) == [1, 3, 6]
    assert committed(log, 2) == [3, 6]
    assert log.transactions(2).aborted == [(7, 0, 4)]
    assert log.last_stable_offset == 8
    omissions = Omissions()
    list(log.records(isolation="read_committed", omissions=omissions))
    assert list(omissions) == [] and log.transactions().undecided_by is None


def test_an_open_transaction_ends_the_reading(tmp_path: Path, golden: Golden) -> None:
    entries = [data(0, 7), marker(1, 7, COMMIT), data(2, 9, transactional=False), data(3, 7), data(4, 8, 2)]
    log = made(
        tmp_path / "t-0", (0, [*entries, marker(6, 8, COMMIT), wire.log_of(2, "gzip", [b"x"], base=7)])
    )
    assert log.last_stable_offset == 3
    assert committed(log) == [0, 2]
    assert committed(log, 4) == []
    for offset in (None, 4):
        omissions = Omissions()
        list(log.records(offset, isolation="read_committed", omissions=omissions))
        (why,) = omissions
        assert omissions.is_whole and (why.path, why.first_offset) == (log.path, 3)
        golden(why.reason)
    assert log.transactions().undecided_by == 7
    assert [record.offset for record in log.records(4)] == [4, 5, 7]


def test_markers_without_data_and_emptied_ones(tmp_path: Path) -> None:
    emptied = wire.batch((), base=4, attributes=48, producer=(7, 0, -1), last_delta=0)
    log = made(
        tmp_path / "t-0",
        (
            0,
            [marker(0, 7, ABORT), data(1, 7), marker(2, 7, COMMIT), emptied, data(5, 7), marker(6, 7, ABORT)],
        ),
    )
    assert committed(log) == [1]
    assert log.last_stable_offset == 7


def test_control_records_only_when_asked_for(tmp_path: Path) -> None:
    log = made(tmp_path / "t-0", (0, [data(0, 7), marker(1, 7, ABORT), data(2, 8), marker(3, 8, COMMIT)]))
    found = list(log.records(isolation="read_committed", control=True))
    assert [record.offset for record in found] == [1, 2, 3]
    assert isinstance(found[0], kodec.ControlRecord)


def test_old_formats_are_committed(tmp_path: Path) -> None:
    old = wire.log_of(1, "gzip", [b"a", b"b"], base=0) + wire.log_of(0, "none", [b"c"], base=2)
    log = made(tmp_path / "t-0", (0, [old, data(3, 7), marker(4, 7, ABORT), data(5, 7)]))
    assert committed(log) == [0, 1, 2]


def test_a_snapshot_saves_reading_what_is_before_it(tmp_path: Path) -> None:
    log = made(
        tmp_path / "t-0",
        (0, [data(0, 7), data(1, 8)]),
        (2, [data(2, 9, transactional=False)]),
        (3, [data(3, 9, transactional=False)]),
        (4, [marker(4, 7, ABORT)]),
    )
    path = tmp_path / "t-0" / f"{4:020}.snapshot"
    wanted = Transactions([kodec.results.AbortedTransaction(7, 0, 4)], 1, 8)

    def transactions(*began: tuple[int, int]) -> tuple[Transactions, list[int]]:
        """With a snapshot in which these transactions are open; and the segments all of which was read."""
        entries = [Entry(producer, current_txn_first_offset=first) for producer, first in began]
        path.write_bytes(ProducerSnapshot(entries=entries).to_bytes())
        with PartitionLog(log.path) as again:
            found = again.transactions(4)
            return found, [each.base_offset for each in again.segments if "transactions" in vars(each)]

    assert transactions((7, 0), (8, 1)) == (wanted, [3, 4])
    # one of another log, in which other transactions are open, or which has others besides
    assert transactions((7, 1), (8, 0)) == (wanted, [0, 2, 3, 4])
    assert transactions((7, 0), (8, 1), (9, 2)) == (wanted, [0, 2, 3, 4])
    assert transactions((7, 3), (8, 1)) == (wanted, [0, 2, 3, 4])
    path.write_bytes(path.read_bytes()[:-1])
    assert log.transactions(4) == wanted


SNAPSHOTS = {
    "nothing is open": [],
    "one that is open is missing": [(8, 1)],
    "one has another beginning": [(7, 1), (8, 1)],
    "one that has ended is open": [(7, 2), (8, 1), (9, 0)],
    "of another log": [(11, 0)],
}


@pytest.mark.parametrize("began", SNAPSHOTS.values(), ids=SNAPSHOTS)
def test_a_snapshot_that_contradicts_the_segment_before_it(
    tmp_path: Path, began: list[tuple[int, int]]
) -> None:
    first = [data(0, 9), data(1, 8), data(2, 7), marker(3, 9, COMMIT)]
    log = made(tmp_path / "t-0", (0, first), (4, [data(4, 7), data(5, 12), marker(6, 7, ABORT)]))
    entries = [Entry(producer, current_txn_first_offset=first) for producer, first in began]
    snapshot = ProducerSnapshot(entries=entries).to_bytes()
    (tmp_path / "t-0" / f"{4:020}.snapshot").write_bytes(snapshot)
    assert log.last_stable_offset == 1
    assert log.transactions(4) == Transactions([kodec.results.AbortedTransaction(7, 2, 6)], 1, 8)
    assert committed(log) == [0]
    assert committed(log, 4) == []


def test_the_level_is_checked(tmp_path: Path) -> None:
    log = made(tmp_path / "t-0", (0, [data(0, 7)]))
    with pytest.raises(ValueError, match="read_committed"):
        list(log.records(isolation="serializable"))


def test_a_damaged_marker_names_its_place(tmp_path: Path) -> None:
    wrong = wire.batch([wire.record(0, b"\0")], base=1, attributes=48, producer=(7, 0, -1))
    first = data(0, 7)
    log = made(tmp_path / "t-0", (0, [first, wrong]))
    with pytest.raises(kodec.errors.FormatError) as caught:
        list(log.records(isolation="read_committed"))
    assert caught.value.at >= len(first)
    assert caught.value.source == str(tmp_path / "t-0" / f"{0:020}.log")
