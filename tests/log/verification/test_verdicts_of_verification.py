"""Each possible problem of a log's files, with the report of `verify`; and false alarms.

The log is that of the tests of recovery: three segments, 0 to 4, 5 to 9 and 10 to 11, of two producers. In
the middle one producer 0 aborts at 7 what it began at 5, and producer 1 has been in a transaction since 3.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import kodec
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.files.checkpoints import write_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import file_name
from kodec.log.verification.verify import verify_partition
from tests.log import made as logs
from tests.log import wire
from tests.log.made import START, batch, marker
from tests.log.recovery.recovered import make
from tests.log.unreadable import unreadable

Verdict = tuple[str, int, str, str, str]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    folder = tmp_path / "logs" / "t-0"
    folder.parent.mkdir()
    make(folder)
    assert list(kodec.repair.verify(folder.parent)) == []
    return folder


def verdicts(path: Path) -> list[Verdict]:
    """The problems, as (file, byte, what, need, have), without the notes."""
    return [
        (each.path.name, each.at, each.what, str(each.need), str(each.have))
        for each in kodec.repair.verify(path)
        if not each.note
    ]


def packed(layout: str, entries: Iterable[tuple[int, ...]]) -> bytes:
    return b"".join(struct.pack(layout, *each) for each in entries)


def drop_the_last_segment(folder: Path) -> None:
    for base in (10, 12):
        for path in folder.glob(f"{base:020d}.*"):
            path.unlink()
    (folder / "leader-epoch-checkpoint").unlink()


# -- the offset index: (offset from the segment's base, position of a batch) ---------------------------

ZERO = (0, 0)
# name: the entries beside batches 5-6 at 0, 7 at 81, 8-9 at 159; and (byte, what, need, have) of each problem
OFFSETS: dict[str, tuple[list[tuple[int, int]], list[tuple[int, str, str, str]]]] = {
    "as it was": ([(2, 81), (4, 159)], []),
    "none": ([], []),
    "the first offset of a batch, as 0.10 and 0.11 wrote it": ([(2, 81), (3, 159)], []),
    "the first batch, by its first offset": ([ZERO, (4, 159)], []),
    "the last offset of a batch after it, as brokers before 3.8 wrote it": ([(4, 81)], []),
    "an offset below the batch": ([(1, 81)], [(0, "the last offset of the batch", "7", "6")]),
    "an offset amid the batch after it": (
        [(3, 81), (4, 159)],
        [(0, "the last offset of a batch", "9", "8")],
    ),
    "an offset amid the second batch after it": (
        [(3, 0)],
        [(0, "the last offset of a batch", "9", "8")],
    ),
    "an offset above the log": ([(5, 159)], [(0, "the last offset of a batch", "the end of the log", "10")]),
    "a position before a batch": (
        [(2, 80)],
        [(0, "position", "the start of a batch, such as 81", "80")],
    ),
    "a position amid the last batch": ([(2, 81), (4, 160)], [(8, "position", "less than 240", "160")]),
    "a position behind the log": ([(2, 81), (4, 240)], [(8, "position", "less than 240", "240")]),
    "an offset again": (
        [(4, 81), (4, 159)],
        [(8, "offset and position ascend", "more than 4 and 81", "4 and 159")],
    ),
    "an offset again, and what follows": (
        [(2, 81), (2, 159), (4, 159)],
        [(8, "offset and position ascend", "more than 2 and 81", "2 and 159")],
    ),
    "a position again": (
        [(2, 81), (4, 81)],
        [(8, "offset and position ascend", "more than 2 and 81", "4 and 81")],
    ),
    "zeros amid entries": (
        [(2, 81), ZERO, (4, 159)],
        [(8, "an entry of zeros before others", "an entry", "0")],
    ),
    "zeros at the end": ([(2, 81), (4, 159), ZERO], [(16, "zeros at the end", "a size of 16", "24")]),
    "zeros alone": ([ZERO, ZERO], [(0, "zeros at the end", "a size of 0", "16")]),
    "an offset below the segment": ([(-1, 81)], [(0, "the last offset of the batch", "7", "4")]),
}


@pytest.mark.parametrize("kind", OFFSETS)
def test_of_the_offset_index_of_a_closed_segment(made: Path, kind: str) -> None:
    entries, wanted = OFFSETS[kind]
    name = file_name(5, "index")
    (made / name).write_bytes(packed(">ii", entries))
    assert verdicts(made) == [(name, *each) for each in wanted]


@pytest.mark.parametrize(("kind", "size"), [("index", 8), ("timeindex", 12)])
def test_an_index_that_is_no_multiple_of_its_entries(made: Path, kind: str, size: int) -> None:
    path = made / file_name(5, kind)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\1")
    what = "file size", f"a multiple of {size}", str(2 * size + 1)
    assert verdicts(made) == [(path.name, 2 * size, *what)]


@pytest.mark.parametrize(("kind", "size"), [("index", 8), ("timeindex", 12)])
def test_a_preallocated_index_of_the_active_segment(made: Path, kind: str, size: int) -> None:
    """Brokers make them of 10 MiB and cut them when the segment is closed, or the log in order."""
    drop_the_last_segment(made)
    path = made / file_name(5, kind)
    path.write_bytes(path.read_bytes() + bytes(10 * size))
    assert verdicts(made) == []
    path.write_bytes(bytes(10 * size))
    assert verdicts(made) == []


# -- the time index: (timestamp, offset from the segment's base) ---------------------------------------

ASCEND, LARGEST = "timestamp and offset ascend", "largest timestamp of the segment"
TIMES: dict[str, tuple[list[tuple[int, int]], list[tuple[int, str, str, str]]]] = {
    "as it was": ([(102, 1), (103, 4)], []),
    "fewer": ([(103, 4)], []),
    "a timestamp too low": ([(101, 1), (103, 4)], [(0, "largest timestamp up to offset 6", "102", "101")]),
    "a timestamp too high": ([(102, 1), (104, 4)], [(12, "largest timestamp up to offset 9", "103", "104")]),
    "another batch than that of the timestamp": (
        [(102, 2), (103, 4)],
        [(0, "largest timestamp up to offset 7", "a batch with 102", "50")],
    ),
    "a timestamp again": (
        [(102, 1), (102, 4)],
        [(12, ASCEND, "more than 102 and at least 1", "102 and 4"), (12, LARGEST, "103", "102")],
    ),
    "an offset that descends": (
        [(102, 1), (103, 0)],
        [(12, ASCEND, "more than 102 and at least 1", "103 and 0"), (12, LARGEST, "103", "102")],
    ),
    "an offset above the log": ([(102, 1), (103, 9)], [(12, "offset", "one of the log", "14")]),
    "without the last": ([(102, 1)], [(12, LARGEST, "103", "102")]),
    "none": ([], [(0, LARGEST, "103", "-1")]),
    "zeros amid entries": (
        [(102, 1), ZERO, (103, 4)],
        [
            (12, "an entry of zeros before others", "an entry", "0"),
            (12, LARGEST, "103", "102"),
        ],
    ),
    "zeros at the end": ([(102, 1), (103, 4), ZERO], [(24, "zeros at the end", "a size of 24", "36")]),
}


@pytest.mark.parametrize("kind", TIMES)
def test_of_the_time_index_of_a_closed_segment(made: Path, kind: str) -> None:
    entries, wanted = TIMES[kind]
    name = file_name(5, "timeindex")
    (made / name).write_bytes(packed(">qi", entries))
    assert verdicts(made) == [(name, *each) for each in wanted]


def test_of_the_active_segment_the_largest_timestamp_may_not_be_indexed_yet(made: Path) -> None:
    (made / file_name(10, "timeindex")).write_bytes(b"")
    assert verdicts(made) == []


# -- the transaction index: (version, producer, first and last offset, last stable offset) -------------

MISSING = "transaction of producer 0, aborted at offset 7", "an entry in the transaction index", "none"
ABORTED: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, str, str, str]]]] = {
    "as it was": ([(0, 0, 5, 7, 3)], []),
    "one that began before the log knows it": ([(0, 0, 2, 7, 3)], []),
    "none": ([], [(0, *MISSING)]),
    "another producer": (
        [(0, 1, 5, 7, 3)],
        [(0, "offset 7", "the abort marker of producer 1", "one of producer 0")],
    ),
    "an offset without a marker": (
        [(0, 0, 5, 6, 3)],
        [(0, "offset 6", "the abort marker of producer 0", "none"), (34, *MISSING)],
    ),
    "a marker, but not that of an abort": (
        [(0, 0, 5, 7, 3), (0, 1, 3, 9, 3)],
        [(34, "offset 9", "the abort marker of producer 1", "none")],
    ),
    "a start above that of the transaction": ([(0, 0, 6, 7, 3)], [(0, "first offset", "at most 5", "6")]),
    "a start above its end": (
        [(0, 0, 8, 7, 3)],
        [(0, "first offset", "0 to 7", "8"), (0, "first offset", "at most 5", "8")],
    ),
    "a start below 0": ([(0, 0, -1, 7, 3)], [(0, "first offset", "0 to 7", "-1")]),
    "the same again": ([(0, 0, 5, 7, 3)] * 2, [(34, "last offset", "more than 7", "7")]),
    "one of the segment before": (
        [(0, 0, 0, 4, 3), (0, 0, 5, 7, 3)],
        [(0, "last offset", "more than 4", "4"), (0, "offset 4", "the abort marker of producer 0", "none")],
    ),
}


@pytest.mark.parametrize("kind", ABORTED)
def test_of_the_transaction_index(made: Path, kind: str) -> None:
    entries, wanted = ABORTED[kind]
    name = file_name(5, "txnindex")
    (made / name).write_bytes(packed(">hqqqq", entries))
    assert verdicts(made) == [(name, *each) for each in wanted]


def test_a_transaction_index_that_is_not_there_or_not_whole(made: Path) -> None:
    path = made / file_name(5, "txnindex")
    whole = path.read_bytes()
    for data in (whole[:-1], b"\0\1" + whole[2:], whole + b"\0"):
        path.write_bytes(data)
        ((name, at, *_),) = verdicts(made)
        assert (name, at >= len(data) // 34 * 34) == (path.name, data[:2] == b"\0\0"), data
    path.unlink()
    assert verdicts(made) == [(file_name(5, "log"), 0, *MISSING)]


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex"])
def test_of_an_index_that_cannot_be_read_nothing_else_is_said(
    made: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = made / file_name(5, kind)
    unreadable(monkeypatch, {path: OSError(5, "Input/output error")})
    assert verdicts(made) == [(path.name, 0, "cannot be read", "a readable file", "Input/output error")]


# -- producer snapshots --------------------------------------------------------------------------------

SNAPSHOT = file_name(10, "snapshot")
HEAD, ENTRY = 10, 46


def at_fault(slot: int, what: str, need: object, have: object) -> list[Verdict]:
    return [(SNAPSHOT, HEAD + ENTRY * slot, f"producer {slot}: {what}", str(need), str(have))]


def changed(slot: int, **facts: int) -> Callable[[ProducerSnapshot], None]:
    def change(snapshot: ProducerSnapshot) -> None:
        for name, value in facts.items():
            setattr(snapshot.entries[slot], name, value)

    return change


def without(slot: int) -> Callable[[ProducerSnapshot], None]:
    return lambda snapshot: snapshot.entries.pop(slot) and None


def unknown(snapshot: ProducerSnapshot) -> None:
    snapshot.entries.append(snapshot.entries[0].__class__(producer_id=9, producer_epoch=0, last_offset=4))


BEGAN = "first offset of its transaction"
# of producers 0 and 1: epoch 0, sequences 3 and 4, last offsets 6 and 9, timestamps 50, 103; 1 open since 3
SNAPSHOTS: dict[str, tuple[Callable[[ProducerSnapshot], None], list[Verdict]]] = {
    "a last offset at that of the snapshot": (
        changed(1, last_offset=10), at_fault(1, "last offset", "less than 10", 10)),
    "a last offset too low": (changed(0, last_offset=5), at_fault(0, "last offset", 6, 5)),
    "a batch that there is not": (
        changed(0, last_offset=8), at_fault(0, "last offset", "that of a batch", 8)),
    "a sequence": (changed(0, last_sequence=9), at_fault(0, "last sequence", 3, 9)),
    "how many": (changed(0, offset_delta=0), at_fault(0, "offset delta", 1, 0)),
    "a timestamp too low": (changed(0, timestamp=49), at_fault(0, "timestamp", 50, 49)),
    "a timestamp above, as of a batch that compaction removed": (changed(0, timestamp=51), []),
    "an epoch too low": (changed(0, producer_epoch=-1), at_fault(0, "epoch", 0, -1)),
    "an epoch above, as of a marker alone": (
        changed(0, producer_epoch=1, last_sequence=-1, last_offset=-1), []),
    "an epoch above": (changed(0, producer_epoch=1), at_fault(0, "last offset", "that of a batch", 6)),
    "a transaction that is closed": (
        changed(0, current_txn_first_offset=5), at_fault(0, BEGAN, -1, 5)),
    "a transaction that began before": (
        changed(1, current_txn_first_offset=2), at_fault(1, BEGAN, 3, 2)),
    "a transaction that began where the log does": (
        changed(1, current_txn_first_offset=0), at_fault(1, BEGAN, 3, 0)),
    "a transaction that began later": (
        changed(1, current_txn_first_offset=4), at_fault(1, BEGAN, 3, 4)),
    "no transaction though one is open": (
        changed(1, current_txn_first_offset=-1), at_fault(1, BEGAN, 3, -1)),
    "without one that has a transaction": (
        without(1), [(SNAPSHOT, HEAD, "producer 1, open since 3", "an entry", "none")]),
    "without one that has none: it expired": (without(0), []),
    "with one of which the log has nothing": (
        unknown, [(SNAPSHOT, HEAD + 2 * ENTRY, "producer 9: last offset", "that of a batch", "4")]),
}  # fmt: skip


@pytest.mark.parametrize("kind", SNAPSHOTS)
@pytest.mark.parametrize("place", ["at the next segment", "at the end"])
def test_of_a_producer_snapshot(made: Path, kind: str, place: str) -> None:
    change, wanted = SNAPSHOTS[kind]
    if place == "at the end":
        data = (made / SNAPSHOT).read_bytes()
        drop_the_last_segment(made)
        (made / SNAPSHOT).write_bytes(data)
    snapshot = ProducerSnapshot.from_bytes((made / SNAPSHOT).read_bytes())
    change(snapshot)
    (made / SNAPSHOT).write_bytes(snapshot.to_bytes())
    assert verdicts(made) == wanted


@pytest.mark.parametrize(
    "kind",
    [kind for kind in SNAPSHOTS if "transaction" in kind or "there is not" in kind or "nothing" in kind],
)
def test_of_a_snapshot_from_before_a_compaction(made: Path, kind: str) -> None:
    """The cleaner removes the start of a transaction, and all of one that was aborted."""
    change, wanted = SNAPSHOTS[kind]
    write_offsets(made.parent / "cleaner-offset-checkpoint", {TopicPartition("t", 0): 10})
    snapshot = ProducerSnapshot.from_bytes((made / SNAPSHOT).read_bytes())
    change(snapshot)
    (made / SNAPSHOT).write_bytes(snapshot.to_bytes())
    excused = kind in (
        "a transaction that is closed", "a batch that there is not", "with one of which the log has nothing"
    ) or kind.startswith(("a transaction that began before", "a transaction that began where"))  # fmt: skip
    assert verdicts(made) == ([] if excused else wanted)


def test_of_a_snapshot_above_the_end(made: Path) -> None:
    """A torn tail was cut since."""
    end = kodec.PartitionLog(made).end_offset
    (made / file_name(end + 1, "snapshot")).write_bytes((made / SNAPSHOT).read_bytes())
    (found,) = kodec.repair.verify(made)
    assert found.note and f"need an offset up to {end}, have {end + 1}" in str(found)


def test_a_snapshot_of_what_began_before_the_log_does(made: Path) -> None:
    for path in made.glob(f"{0:020d}.*"):
        path.unlink()
    # of the marker before, and of a transaction since 3, the log has nothing
    (made / file_name(5, "snapshot")).unlink()
    for began, wanted in ((0, []), (3, []), (4, []), (5, at_fault(1, BEGAN, -1, 5))):
        snapshot = ProducerSnapshot.from_bytes((made / SNAPSHOT).read_bytes())
        changed(1, current_txn_first_offset=began)(snapshot)
        (made / SNAPSHOT).write_bytes(snapshot.to_bytes())
        assert verdicts(made) == wanted


def test_a_snapshot_that_is_damaged(made: Path) -> None:
    data = bytearray((made / SNAPSHOT).read_bytes())
    data[20] ^= 1
    (made / SNAPSHOT).write_bytes(data)
    ((name, _, what, _, _),) = verdicts(made)
    assert name == SNAPSHOT and "Crc" in what


# -- what a damaged batch takes with it ----------------------------------------------------------------


@pytest.mark.parametrize("position", [70, 150, 230], ids=["the first", "amid others", "the last"])
def test_after_a_damaged_batch_nothing_is_compared_that_it_may_have_said(made: Path, position: int) -> None:
    """Its marker, its producer, its timestamp: only that it is damaged is known."""
    log = made / file_name(5, "log")
    data = bytearray(log.read_bytes())
    data[position] ^= 1
    log.write_bytes(data)
    # what the segment behind would say of them
    ((name, _, what, _, _),) = verdicts(made)
    assert name == log.name and what.startswith("CrcMismatch")


def test_entries_of_batches_behind_the_damage_are_compared(made: Path) -> None:
    """One that names the last offset of a damaged batch is not; those of good batches are."""
    log, index = made / file_name(5, "log"), made / file_name(5, "index")
    whole = log.read_bytes()

    def found(damaged: int, *entries: tuple[int, int]) -> list[tuple[str, int]]:
        log.write_bytes(whole[:damaged] + bytes([whole[damaged] ^ 1]) + whole[damaged + 1 :])
        index.write_bytes(packed(">ii", entries))
        return [(name, at) for name, at, *_ in verdicts(made)]

    assert found(70, (1, 81), (4, 159)) == [(log.name, 17), (index.name, 0)]
    assert found(150, (2, 81), (2, 159)) == [(log.name, 81 + 17), (index.name, 8)]
    # what it waits for is damaged
    assert found(230, (4, 81)) == [(log.name, 159 + 17)]


def test_a_damaged_marker_at_the_end_of_a_segment_does_not_make_the_snapshot_wrong(tmp_path: Path) -> None:
    folder = logs.make(
        tmp_path / "t-0",
        [
            (
                0,
                [batch(0, [(b"k", b"v")], producer=(7, 0, 0), transactional=True), marker(1, 7, commit=True)],
            ),
            (2, [batch(2, [(b"k", b"v")])]),
        ],
    )
    kodec.repair.plan_reindex(folder).apply()
    assert (folder / file_name(2, "snapshot")).is_file() and verdicts(folder) == []
    log = folder / file_name(0, "log")
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    assert [name for name, *_ in verdicts(folder)] == [log.name]


# -- offsets -------------------------------------------------------------------------------------------


def row(offset: int, count: int) -> bytes:
    return batch(offset, [(b"k", b"v")] * count, time=START)


SEGMENTS: dict[str, tuple[dict[int, list[tuple[int, int]]], list[str]]] = {
    "each where the one before ends": ({0: [(0, 5), (5, 5)], 10: [(10, 5)]}, []),
    "a batch from the last offset of the one before": (
        {0: [(0, 5), (4, 6)], 10: [(10, 5)]}, ["offsets ascend: need more than 4, have 4"]),
    "a batch below its segment": ({5: [(4, 3)]}, ["offsets ascend: need more than 4, have 4"]),
    "a batch that ends where the next segment begins": (
        {0: [(0, 11)], 10: [(11, 5)]},
        ["last offset: need less than 10, the next segment's, have 10"]),
    "one offset between two segments": (
        {0: [(0, 10)], 11: [(11, 5)]},
        ["offsets: need no gap between segments, have 10 to 10 in no segment, and not for compaction"]),
    "one offset between two segments, twice": (
        {0: [(0, 10)], 11: [(11, 5)], 17: [(17, 1)]},
        ["offsets: need no gap between segments, have 10 to 10 in no segment, and not for compaction",
         "offsets: need no gap between segments, have 16 to 16 in no segment, and not for compaction"]),
    "the last offset that an index can say": ({7: [(2**31 + 6, 1)]}, []),
    "one above": ({7: [(2**31 + 7, 1)]}, ["last offset: need at most 2147483654, have 2147483655"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", SEGMENTS)
def test_of_offsets(tmp_path: Path, kind: str) -> None:
    segments, wanted = SEGMENTS[kind]
    folder = tmp_path / "t-0"
    folder.mkdir()
    for base, batches in segments.items():
        (folder / file_name(base, "log")).write_bytes(b"".join(row(*each) for each in batches))
    found = [f"{what}: need {need}, have {have}" for _, _, what, need, have in verdicts(folder)]
    assert found == wanted


def test_a_batch_that_ends_before_it_begins(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    data = wire.batch([wire.record()], base=5, last_delta=-2)
    (folder / file_name(0, "log")).write_bytes(row(0, 5) + data + row(6, 1))
    assert "last offset" in [what for _, _, what, _, _ in verdicts(folder)]


def test_a_segment_alone_says_nothing_of_what_began_before_it(made: Path) -> None:
    (made / file_name(5, "txnindex")).unlink()
    assert verdicts(made / file_name(5, "log")) == []
    (made / file_name(5, "index")).write_bytes(packed(">ii", [(1, 81)]))
    assert [name for name, *_ in verdicts(made / file_name(5, "log"))] == [file_name(5, "index")]


def test_of_a_live_log_only_the_active_segment_is_preallocated(made: Path) -> None:
    with kodec.PartitionLog(made) as log:
        for base, wanted in ((5, ["torn tail"]), (10, [])):
            path = made / file_name(base, "log")
            whole = path.read_bytes()
            path.write_bytes(whole + bytes(70))
            found = list(verify_partition(log, live=True))
            assert [each.what.partition(":")[0] for each in found] == wanted
            path.write_bytes(whole)


def test_a_segment_of_a_live_log_is_looked_at_again_where_an_index_was_renamed(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a cleaner does; the segment is there, and its damage is found."""
    (made / file_name(5, "timeindex")).write_bytes(b"")
    gone = [made / file_name(5, "index")]
    read = Path.read_bytes

    def reads(path: Path) -> bytes:
        if path in gone:
            gone.remove(path)
            raise FileNotFoundError(2, "No such file", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", reads)
    with kodec.PartitionLog(made) as log:
        assert [each.what for each in verify_partition(log, live=True)] == [LARGEST]


# -- the files around ----------------------------------------------------------------------------------

WRONG = {
    "meta.properties": b"version=2\n",
    ".kafka_cleanshutdown": b'{"version":1}',
    "recovery-point-offset-checkpoint": b"0\n2\nt 0 1\n",
    "log-start-offset-checkpoint": b"0\n1\nt 0 -1\n",
    "replication-offset-checkpoint": b"1\n0\n",
    "cleaner-offset-checkpoint": b"0\n2\nt 0 1\nt 0 2\n",
    "t-0/leader-epoch-checkpoint": b"0\n2\n5 0\n2 10\n",
    "t-0/partition.metadata": b"version: 0\n",
}


@pytest.mark.parametrize("name", WRONG)
def test_of_the_small_files(made: Path, name: str) -> None:
    (made.parent / name).write_bytes(WRONG[name])
    ((found, _, what, _, _),) = verdicts(made.parent)
    assert found == name.rpartition("/")[2] and what.startswith("Malformed: line ")


@pytest.mark.parametrize("name", ["replication-offset-checkpoint", "recovery-point-offset-checkpoint"])
def test_of_a_log_that_ends_below_a_checkpoint(made: Path, name: str) -> None:
    for offset, wanted in ((0, []), (12, []), (13, ["end of the log"])):
        write_offsets(made.parent / name, {TopicPartition("t", 0): offset, TopicPartition("u", 0): 99})
        assert [what for _, _, what, _, _ in verdicts(made)] == wanted
    # deleted by a person up to there
    write_offsets(made.parent / "log-start-offset-checkpoint", {TopicPartition("t", 0): 13})
    assert verdicts(made) == []


def test_of_files_that_belong_to_nothing(made: Path) -> None:
    (made / file_name(7, "timeindex")).write_bytes(b"")
    (made / f"{file_name(5, 'log')}.swap").write_bytes(b"")
    (made / f"{file_name(5, 'log')}.cleaned").write_bytes(b"")
    (made / f"{file_name(3, 'log')}.deleted").write_bytes(b"")
    assert sorted(verdicts(made)) == [
        (f"{file_name(5, 'log')}.cleaned", 0, "an interrupted swap of segments", "recovery", "none yet"),
        (f"{file_name(5, 'log')}.swap", 0, "an interrupted swap of segments", "recovery", "none yet"),
        (file_name(7, "timeindex"), 0, "an index without its log", file_name(7, "log"), "no such file"),
    ]


def test_of_an_offset_index_that_one_segment_lacks(made: Path) -> None:
    (made / file_name(5, "index")).unlink()
    wanted = "no offset index of the log", file_name(5, "index"), "no such file"
    assert verdicts(made) == [(file_name(5, "log"), 0, *wanted)]
