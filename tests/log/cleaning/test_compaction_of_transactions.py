"""What compaction does to transactions, their markers, and what producers are known by."""

from __future__ import annotations

from pathlib import Path

import pytest

import kodec
from kodec.log.batches.like import empty_batch
from kodec.log.cleaning.cleanable import Known
from kodec.log.directories.producer_state import ProducerState
from tests.log import made, wire
from tests.log.cleaning.compacting import NOW, compacted, offsets, shape, transactions
from tests.log.made import DAY, START, batch, marker

# -- producers and transactions ----------------------------------------------------------------------------


def test_what_was_aborted_goes_and_its_marker_follows(tmp_path: Path) -> None:
    folder = transactions(tmp_path / "topic-0")
    with kodec.PartitionLog(folder) as log:
        committed = list(log.records(isolation="read_committed"))
    report = compacted(folder, producer_expiration_ms=0)
    assert report.counts.aborted == 2
    assert [record.offset for record in committed] == [0, 1, 2, 3, 8]
    assert offsets(folder) == [1, 2, 3, 8]
    # Data of the transaction was still met: the marker stays, without a horizon, and is in the index.
    assert shape(folder) == [
        (0, 1, 1, False),
        (2, 3, 2, False),
        (5, 5, 1, False),
        (7, 7, 1, False),
        (8, 8, 1, False),
    ]
    with kodec.PartitionLog(folder) as log:
        assert [(each.producer_id, each.last_offset) for each in log.segments[0].aborted() or []] == [(1, 7)]
    compacted(folder, producer_expiration_ms=0, from_start=True)
    assert shape(folder)[3] == (7, 7, 1, True)
    assert not list(folder.glob("*.txnindex"))
    report = compacted(folder, producer_expiration_ms=0, from_start=True, now=NOW + DAY)
    assert report.counts.markers == 1
    # The end of the range has to be known even so: the batch stays without its record.
    assert shape(folder)[2:] == [(5, 5, 1, False), (7, 7, 0, False), (8, 8, 1, False)]


def test_a_commit_marker_goes_after_the_data_of_its_transaction(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [
            (
                0,
                [batch(0, [(b"a", b"1")], producer=(2, 0, 0), transactional=True), marker(1, 2, commit=True)],
            ),
            (2, [batch(2, [(b"a", b"2")])]),
            (3, []),
        ],
    )
    compacted(folder, producer_expiration_ms=0)
    assert shape(folder) == [(1, 1, 1, False), (2, 2, 1, False)]
    compacted(folder, producer_expiration_ms=0, from_start=True)
    assert shape(folder) == [(1, 1, 1, True), (2, 2, 1, False)]
    compacted(folder, producer_expiration_ms=0, from_start=True, now=NOW + DAY)
    assert shape(folder) == [(2, 2, 1, False)]


@pytest.mark.parametrize("producer", [0, 3])  # a cluster's first producer has the id 0
def test_the_last_batch_of_an_active_producer_stays_without_records(producer: int, tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [
            (0, [batch(0, [(b"a", b"1"), (b"b", b"1")], codec="lz4", producer=(producer, 1, 0))]),
            (
                2,
                [batch(2, [(b"a", b"2")], producer=(producer, 1, 2)), batch(3, [(b"a", b"3"), (b"b", b"2")])],
            ),
            (5, []),
        ],
    )
    compacted(folder, producer_expiration_ms=100 * DAY)
    with kodec.PartitionLog(folder) as log:
        first, _ = log.batches()
        assert (first.base_offset, first.last_offset, first.count, first.codec) == (2, 2, 0, "none")
        assert (first.producer_id, first.producer_epoch, first.base_sequence, first.last_sequence) == (
            producer,
            1,
            2,
            2,
        )
        assert (first.base_timestamp, first.max_timestamp, first.partition_leader_epoch) == (-1, START + 2, 0)
    # Its time is over: the batch has no more to say.
    compacted(folder, producer_expiration_ms=DAY, from_start=True)
    assert shape(folder) == [(3, 4, 2, False)]


def test_a_producer_without_data_keeps_the_marker_with_its_epoch(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [(0, [marker(0, 4, commit=False, epoch=3), batch(1, [(b"a", b"1")])]), (2, [])],
    )
    for now in (NOW, NOW + DAY):
        compacted(folder, producer_expiration_ms=100 * DAY, from_start=True, now=now)
    assert shape(folder) == [(0, 0, 0, False), (1, 1, 1, False)]
    compacted(folder, producer_expiration_ms=0, from_start=True)
    assert shape(folder) == [(1, 1, 1, False)]


def test_the_end_of_the_range_stays_known(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0", [(0, [batch(0, [(b"a", b"1")]), batch(1, [(None, b"no key")] * 2)]), (3, [])]
    )
    report = compacted(folder)
    assert report.counts.without_key == 2
    assert shape(folder) == [(0, 0, 1, False), (1, 2, 0, False)]


def test_log_append_time_stays(tmp_path: Path) -> None:
    rows = wire.record(0, b"a", b"1") + wire.record(1, b"a", b"2") + wire.record(2, b"b", None)
    data = wire.batch(rows, count=3, attributes=8, base_time=START, max_time=START + 77)
    folder = made.make(tmp_path / "topic-0", [(0, [data]), (3, [])])
    wanted = made.rows(folder)[1:]
    compacted(folder)
    assert made.rows(folder) == wanted
    with kodec.PartitionLog(folder) as log:
        (only,) = log.batches()
    assert (only.max_timestamp, only.base_timestamp, str(only.timestamp_type)) == (
        START + 77,
        NOW + DAY,
        "LogAppendTime",
    )


def test_a_producer_is_forgotten_when_its_time_is_over_and_not_before(tmp_path: Path) -> None:
    data = [batch(0, [(b"k", b"v")], producer=(7, 0, 0), time=START)]
    folder = made.make(tmp_path / "topic-0", [(0, data), (1, [batch(1, [(b"l", b"v")])])])
    with kodec.PartitionLog(folder) as log:
        for now, known in ((START + DAY - 1, [7]), (START + DAY, [])):
            found = Known.of(log, now=now, producer_expiration_ms=DAY)
            assert list(found.producers) == known


def test_a_producer_snapshot_from_behind_the_log_says_nothing(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [(0, [batch(0, [(b"a", b"1")], producer=(7, 0, 0))]), (1, [batch(1, [(b"a", b"2")])]), (2, [])],
    )
    state = ProducerState()
    with kodec.PartitionLog(folder) as log:
        (folder / f"{log.end_offset + 1:020d}.snapshot").write_bytes(state.snapshot().to_bytes())
    # The last batch of producer 7 stays, without records: the next one must carry on from its sequence.
    assert compacted(folder, now=START).counts.emptied == 1
    assert shape(folder) == [(0, 0, 0, False), (1, 1, 1, False)]


def emptied(data: bytes) -> bytes:
    """A batch as it is after its records were removed."""
    (found,) = kodec.read_batches(data)
    return empty_batch(found)


def test_an_emptied_batch_of_an_undecided_transaction_keeps_what_follows(tmp_path: Path) -> None:
    """A redaction leaves it; nobody knows yet whether later records of the transaction count."""
    sent = [batch(at, [(b"a", b"%d" % at)], producer=(7, 0, at), transactional=True) for at in range(2)]
    plain = [batch(at, [(b"a", b"%d" % at)]) for at in range(2, 4)]
    folder = made.make(tmp_path / "topic-0", [(0, [emptied(sent[0]), sent[1], *plain]), (4, [])])
    before = shape(folder)
    with kodec.PartitionLog(folder) as log:
        assert log.last_stable_offset == 0
        assert Known.of(log, now=START, producer_expiration_ms=DAY).stable_offset == 0
    compacted(folder, now=START)
    assert shape(folder) == before


def test_the_marker_of_an_emptied_batch_stays(tmp_path: Path) -> None:
    """Else a broker would take the transaction for open, as long as the batch is there."""
    sent = batch(0, [(b"a", b"0")], producer=(7, 0, 0), transactional=True)
    ends = marker(1, 7, commit=True)
    folder = made.make(
        tmp_path / "topic-0", [(0, [emptied(sent), ends]), (2, [batch(2, [(b"b", b"1")])]), (3, [])]
    )
    compacted(folder, now=START)
    (found, *_) = [each for each in kodec.PartitionLog(folder).batches() if each.is_control]
    assert (found.last_offset, found.delete_horizon) == (1, None)
