"""Open and hanging transactions, and the producers of partitions, by their records, snapshots and logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.generated.log.producer_snapshot import Entry, ProducerSnapshot
from kodec.generated.messages.transaction_log_key import TransactionLogKey
from kodec.generated.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from kodec.generated.metadata.partition_record import PartitionRecord
from kodec.generated.metadata.topic_record import TopicRecord
from kodec.log.remote.resolve import NotALog
from kodec.log.views.producers import read_producers
from kodec.log.views.transactions import TransactionStates, read_transactions
from tests.log.made import START, batch, framed, make, marker

pytestmark = pytest.mark.quick

NOW = START + 1_000_000
ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT = 1, 2, 4


def state(name: str, producer: int, status: int, *partitions: str, **more: Any) -> tuple[bytes, bytes | None]:
    given = {"transaction_timeout_ms": 60_000, "transaction_start_timestamp_ms": NOW - 1000} | more
    value = TransactionLogValue(
        producer_id=producer,
        transaction_status=status,
        transaction_partitions=[PartitionsSchema(topic=each, partition_ids=[0]) for each in partitions],
        **given,
    )
    return TransactionLogKey(transactional_id=name).to_bytes(), value.to_bytes()


def coordinator(root: Path, *records: tuple[bytes, bytes | None], partition: int = 0) -> None:
    make(root / f"__transaction_state-{partition}", [(0, [batch(0, records)])])


def metadata(root: Path, partitions: int) -> None:
    """A metadata log that knows how many partitions the coordinator's topic has."""
    values = [framed(TopicRecord(name="__transaction_state"))]
    values += [framed(PartitionRecord(partition_id=each)) for each in range(partitions)]
    make(root / "__cluster_metadata-0", [(0, [batch(0, [(None, value) for value in values])])])


def data(root: Path, topic: str, *producers: int, ended: int | None = None) -> None:
    entries = [
        batch(at, [(b"k", b"v")], producer=(producer, 0, 0), transactional=True)
        for at, producer in enumerate(producers)
    ]
    if ended is not None:
        entries.append(marker(len(producers), ended, commit=True))
    make(root / f"{topic}-0", [(0, entries)])


def statuses(found: TransactionStates) -> dict[tuple[str, int], str]:
    return {(each.topic_partition.topic, each.producer_id): each.status for each in found.open}


def test_what_the_coordinator_knows_decides(tmp_path: Path) -> None:
    coordinator(
        tmp_path,
        state("open", 1, ONGOING, "a"),
        state("old", 2, ONGOING, "a", transaction_start_timestamp_ms=NOW - 60_001),
        state("ending", 3, PREPARE_COMMIT, "a"),
        state("done", 4, COMPLETE_COMMIT),
        state("elsewhere", 5, ONGOING, "b"),
    )
    metadata(tmp_path, 1)
    data(tmp_path, "a", 1, 2, 3, 4, 5, 6, 7, ended=7)
    found = read_transactions(tmp_path, now=NOW)
    assert statuses(found) == {
        ("a", 1): "open",
        ("a", 2): "overdue",
        ("a", 3): "ending",
        ("a", 4): "hanging",
        ("a", 5): "hanging",
        ("a", 6): "hanging",
    }
    by_producer = {each.producer_id: each for each in found.open}
    assert by_producer[4].transactional_id == "done" and by_producer[6].transactional_id is None
    assert by_producer[2].first_offset == 1 and by_producer[2].first_timestamp == START + 1
    (partition,) = [each for each in found.partitions if each.topic_partition.topic == "a"]
    assert (partition.last_stable_offset, partition.end_offset, partition.high_watermark) == (0, 8, None)
    assert [each.state for each in found.ids] == [
        "CompleteCommit", "Ongoing", "PrepareCommit", "Ongoing", "Ongoing",
    ]  # fmt: skip
    assert found.omissions.is_whole


@pytest.mark.parametrize(("partitions", "expected"), [(None, "unknown"), (2, "unknown"), (1, "hanging")])
def test_nobody_is_said_to_hang_where_the_coordinator_is_not_all_here(
    tmp_path: Path, partitions: int | None, expected: str
) -> None:
    coordinator(tmp_path, state("open", 1, ONGOING, "a"))
    if partitions is not None:
        metadata(tmp_path, partitions)
    data(tmp_path, "a", 1, 9)
    assert statuses(read_transactions(tmp_path, now=NOW)) == {("a", 1): "open", ("a", 9): expected}


def test_the_newest_record_of_an_id_counts_and_tombstones_remove(tmp_path: Path) -> None:
    gone = TransactionLogKey(transactional_id="gone").to_bytes()
    coordinator(tmp_path, state("x", 1, ONGOING, "a"), state("gone", 2, ONGOING), (gone, None))
    coordinator(tmp_path, state("y", 3, 99), partition=1)
    data(tmp_path, "a", 1, ended=1)
    found = read_transactions(tmp_path, now=NOW)
    assert [(each.transactional_id, each.state, str(each.source)) for each in found.ids] == [
        ("x", "Ongoing", "__transaction_state-0"),
        ("y", "unknown (99)", "__transaction_state-1"),
    ]
    assert found.open == []


def test_damage_in_the_coordinators_topic_is_told(tmp_path: Path) -> None:
    coordinator(tmp_path, state("x", 1, ONGOING, "a"))
    data(tmp_path, "a", 1)
    path = tmp_path / "__transaction_state-0/00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    found = read_transactions(tmp_path, now=NOW)
    assert found.ids == [] and len(found.omissions.losses) == 1
    with pytest.raises(NotALog, match="no topic __transaction_state"):
        data(tmp_path / "other", "a", 1)
        read_transactions(tmp_path / "other")


# -- producers --------------------------------------------------------------------------------------


def snapshot(folder: Path, offset: int, *entries: Entry) -> Path:
    path = folder / f"{offset:020d}.snapshot"
    path.write_bytes(ProducerSnapshot(entries=list(entries)).to_bytes())
    return path


def entry(producer: int, *, last: int, first: int = -1) -> Entry:
    return Entry(
        producer_id=producer,
        producer_epoch=3,
        last_sequence=8,
        last_offset=last,
        offset_delta=0,
        timestamp=START,
        coordinator_epoch=-1,
        current_txn_first_offset=first,
    )


def folder_with(tmp_path: Path) -> Path:
    """Ten batches of a record, from producers 0 to 9; producer 0 has a transaction open."""
    entries = [
        batch(at, [(b"k", b"v")], producer=(at, 0, at), transactional=at == 0, time=START + at)
        for at in range(10)
    ]
    return make(tmp_path / "t-0", [(0, entries)])


def known(at: int) -> Entry:
    """What a broker knows of the producer of `folder_with` that has this number."""
    first = 0 if at == 0 else -1
    return Entry(at, 0, at, at, 0, START + at, -1, first)


def test_producers_are_those_of_the_snapshot_and_of_what_follows(tmp_path: Path) -> None:
    entries = [batch(at, [(b"k", b"v")], producer=(at, 0, at), time=START + at) for at in range(10, 20)]
    folder = make(tmp_path / "t-0", [(10, entries)])
    # of two of them the batches are gone
    snapshot(folder, 18, entry(77, last=5, first=2), entry(1, last=1), *map(known, range(10, 18)))
    with kodec.PartitionLog(folder) as log:
        found = read_producers(log)
    assert [each.producer_id for each in found.producers] == [1, *range(10, 20), 77]
    one, last = found.producers[0], found.producers[10]
    assert (one.epoch, one.last_sequence, one.last_offset, one.last_timestamp) == (3, 8, 1, START)
    assert (last.epoch, last.last_sequence, last.last_offset, last.last_timestamp) == (0, 19, 19, START + 19)
    assert (last.coordinator_epoch, last.transaction_offset) == (None, None)
    assert (found.last_stable_offset, found.end_offset) == (2, 20)
    assert found.producers[-1].transaction_timestamp is None


def test_a_snapshot_that_cannot_be_read_is_told_and_an_older_one_is_used(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    snapshot(folder, 6, entry(77, last=-1), *map(known, range(6)))
    bad = snapshot(folder, 9, entry(78, last=5))
    bad.write_bytes(bad.read_bytes()[:-1])
    # Of what the log has lost since.
    snapshot(folder, 99, entry(79, last=98))
    with kodec.PartitionLog(folder) as log:
        found = read_producers(log)
    assert [each.producer_id for each in found.producers] == [*range(10), 77]
    assert len(found.omissions.losses) == 1 and bad == found.omissions.losses[0].path


def test_a_transaction_from_behind_the_end_of_the_log(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    wrong = snapshot(folder, 10, entry(77, last=-1, first=50), *map(known, range(10)))
    with kodec.PartitionLog(folder) as log:
        found = read_producers(log)
    assert [each.producer_id for each in found.producers] == [*range(10)]
    assert [each.path for each in found.omissions.losses] == [wrong]


def test_damage_among_the_batches_is_told(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    path = folder / "00000000000000000000.log"
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 10 * 4 - 1] ^= 1
    path.write_bytes(whole)
    with kodec.PartitionLog(folder) as log:
        found = read_producers(log)
    assert [each.producer_id for each in found.producers] == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert len(found.omissions.losses) == 1
    assert (found.last_stable_offset, found.end_offset) == (0, 10)


def test_an_empty_log_has_no_producers(tmp_path: Path) -> None:
    folder = make(tmp_path / "t-0", [(5, [])])
    with kodec.PartitionLog(folder) as log:
        found = read_producers(log)
    assert (found.producers, found.start_offset, found.end_offset, found.last_stable_offset) == ([], 5, 5, 5)
