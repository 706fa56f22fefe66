"""Compaction keeps what Kafka's cleaner keeps, and loses nothing when it is cut short."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.cleaning.compaction import CompactionReport, has_columns, plan_compaction
from kodec.log.cleaning.offset_map import OffsetMap
from kodec.log.cleaning.swap import replace_segments
from kodec.log.recovery.planning import plan_recovery
from kodec.log.verification.verify import verify_partition

from . import kill_compaction, made, wire
from .made import DAY, START, batch, marker

DATA = Path(__file__).parents[1] / "data"
NOW = START + 10 * DAY
COMPACTED = [
    folder
    for release in sorted(DATA.glob("kafka-*"))
    for folder in sorted((release / "logs").glob("compacted*"))
]
Pairs = list[tuple[bytes | None, bytes | None]]


def compacted(folder: Path, **options: Any) -> CompactionReport:
    """Compact, after a dry run that has said the same; what is left is a log without a problem."""
    options = {"now": NOW, **options}
    told = plan_compaction(folder, **options).preview()
    before = made.files(folder)
    assert made.files(folder) == before
    done = plan_compaction(folder, **options).apply()
    if told.complete:
        told.applied = True
        assert done == told
    problems = [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note]
    assert problems == []
    return done


def stored(folder: Path) -> bytes:
    """The bytes of all logs, one after another."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def offsets(folder: Path) -> list[int]:
    return [record.offset for record in made.rows(folder)]


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """No machine stops here, so nothing has to be on the disk, which takes half the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


# -- the last value of each key ------------------------------------------------------------------------

pairs = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from([b"a", b"b", b"c", b"d", b"e", b""])),
        st.one_of(st.none(), st.binary(max_size=5)),
    ),
    min_size=1,
    max_size=6,
)
entries = st.lists(st.tuples(pairs, st.sampled_from(wire.PAIRS), st.integers(0, 3)), min_size=1, max_size=5)
logs = st.lists(entries, min_size=2, max_size=5)


def build(folder: Path, wanted: list[Any]) -> int:
    """Segments of entries with gaps between them; the base offset of the active one."""
    segments, offset = [], 0
    for part in wanted:
        base, data = offset, []
        for rows, (magic, codec), gap in part:
            offset += gap
            data.append(batch(offset, rows, codec=codec, magic=magic))
            offset += len(rows)
        segments.append((base, data))
    made.make(folder, segments)
    return segments[-1][0]


def expected(records: list[kodec.Record], end: int) -> list[kodec.Record]:
    """By the definition: below `end` the newest record of each key; the rest as it is."""
    newest = {record.key: record.offset for record in records if record.offset < end}
    return [
        record
        for record in records
        if record.offset >= end or (record.key is not None and newest[record.key] == record.offset)
    ]


COLUMNS = [True, False] if has_columns() else [False]


@given(
    logs,
    st.sampled_from([1 << 16, 200]),
    st.sampled_from([1 << 30, 1, 400]),
    st.booleans(),
    st.sampled_from(COLUMNS),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_the_last_value_of_each_key_stays(
    wanted: list[Any], buffer: int, segment_bytes: int, keep_format: bool, columns: bool
) -> None:
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kodec.log.cleaning.compaction.has_columns", lambda: columns)
        folder = Path(root) / "topic-0"
        end = build(folder, wanted)
        before = made.rows(folder)
        active = (folder / f"{end:020d}.log").read_bytes()
        options: dict[str, Any] = {
            "buffer_bytes": buffer,
            "segment_bytes": segment_bytes,
            "keep_format": keep_format,
        }
        report = compacted(folder, **options)
        assert report.complete
        assert made.rows(folder) == expected(before, end)
        assert (folder / f"{end:020d}.log").read_bytes() == active
        assert report.counts.records_removed == len(before) - len(made.rows(folder))
        with kodec.PartitionLog(folder) as log:
            assert log.end_offset >= end
        # Again, from the start: nothing more to do, the same entries.
        kept = stored(folder)
        again = compacted(folder, from_start=True, **(options | {"buffer_bytes": 1 << 16}))
        assert again.counts.records_removed == 0
        assert stored(folder) == kept
        assert compacted(folder, **options).rounds == 0


def test_a_later_compaction_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [(0, [batch(0, [(b"a", b"1"), (b"b", b"1")])]), (2, [batch(2, [(b"a", b"2")])]), (3, [])],
    )
    assert compacted(folder).end_offset == 3
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n1\ntopic 0 3\n"
    made.make(folder, [(4, [batch(4, [(b"b", b"3")])]), (5, [])])
    report = compacted(folder)
    assert (report.first_dirty_offset, report.end_offset, report.keys) == (3, 5, 1)
    assert offsets(folder) == [2, 4]


def test_other_topics_stay_in_the_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n2\nother 3 44\ntopic 0 1\n")
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 3)]), (3, [])])
    compacted(folder)
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n2\nother 3 44\ntopic 0 3\n"
    # Offset 0 lies below the first dirty offset, and its key was seen.
    assert offsets(folder) == [2]


@pytest.mark.parametrize("told", [99, -1])
def test_a_checkpoint_that_is_not_of_this_log_counts_as_none(tmp_path: Path, told: int) -> None:
    if told >= 0:
        (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\ntopic 0 {told}\n")
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 3)]), (3, [])])
    assert compacted(folder).first_dirty_offset == 0


# -- what is not touched -------------------------------------------------------------------------------


def test_what_may_be_taken_back_is_not_compacted(tmp_path: Path) -> None:
    segments = [(at, [batch(at, [(b"a", b"%d" % at)])]) for at in range(4)]
    folder = made.make(tmp_path / "topic-0", segments)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\ntopic 0 2\n")
    assert compacted(folder).end_offset == 2
    assert offsets(folder) == [1, 2, 3]


def test_an_open_transaction_ends_the_range(tmp_path: Path) -> None:
    open_ = batch(2, [(b"a", b"3")], producer=(9, 0, 0), transactional=True)
    segments = [
        (0, [batch(0, [(b"a", b"1"), (b"a", b"2")])]),
        (2, [open_]),
        (3, [batch(3, [(b"a", b"4")])]),
        (4, []),
    ]
    folder = made.make(tmp_path / "topic-0", segments)
    assert compacted(folder).end_offset == 2
    assert offsets(folder) == [1, 2, 3]


def test_young_segments_wait(tmp_path: Path) -> None:
    segments = [(at, [batch(at, [(b"a", b"%d" % at)], time=START + at * DAY)]) for at in range(5)]
    folder = made.make(tmp_path / "topic-0", segments)
    report = compacted(folder, min_compaction_lag_ms=7 * DAY + 1)
    assert report.end_offset == 3
    assert offsets(folder) == [2, 3, 4]


def test_refusals(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 2)]), (2, [])])
    (folder / "00000000000000000000.log.swap").touch()
    with pytest.raises(ValueError, match=r"recover it first: 00000000000000000000\.log\.swap"):
        plan_compaction(folder).apply()
    (folder / "00000000000000000000.log.swap").unlink()
    log = folder / "00000000000000000000.log"
    log.write_bytes(log.read_bytes() + b"\1" * 30)
    with pytest.raises(kodec.errors.FormatError):
        plan_compaction(folder).apply()
    log.write_bytes(log.read_bytes()[:-30] + bytes(30))
    with pytest.raises(kodec.errors.FormatError, match="torn tail, recover it first"):
        plan_compaction(folder).apply()
    log.write_bytes(log.read_bytes()[:-31] + b"\xff")
    with pytest.raises(kodec.errors.CrcMismatch):
        plan_compaction(folder).apply()
    assert not list(folder.glob("*.cleaned"))
    deleted = made.make(tmp_path / ("topic-0." + "a" * 32 + "-delete"), [(0, [])])
    with pytest.raises(ValueError, match="delete replica"):
        plan_compaction(deleted).preview()
    quorum = made.make(tmp_path / "__cluster_metadata-0", [(0, [])])
    with pytest.raises(ValueError, match="snapshots"):
        plan_compaction(quorum).preview()


# -- tombstones ------------------------------------------------------------------------------------------


def horizons(folder: Path) -> list[int | None]:
    with kodec.PartitionLog(folder) as log:
        return [each.delete_horizon for each in log.batches()]


def test_a_tombstone_goes_when_its_time_is_over(tmp_path: Path) -> None:
    rows: Pairs = [(b"a", b"1"), (b"b", b"1"), (b"a", None)]
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, rows, codec="zstd")]), (3, [])])
    wanted = made.rows(folder)[1:]
    report = compacted(folder, delete_retention_ms=1000)
    assert report.counts.horizons == 1
    assert made.rows(folder) == wanted
    assert horizons(folder) == [NOW + 1000]
    # The horizon stays what it was; one millisecond before it the tombstone is still there.
    compacted(folder, delete_retention_ms=1, from_start=True, now=NOW + 999)
    assert (made.rows(folder), horizons(folder)) == (wanted, [NOW + 1000])
    report = compacted(folder, from_start=True, now=NOW + 1000)
    assert report.counts.tombstones == 1
    # The last batch of the range keeps its offsets, and, as in Kafka, its horizon.
    assert (made.rows(folder), horizons(folder)) == (wanted[:1], [NOW + 1000])
    with kodec.PartitionLog(folder) as log:
        (only,) = log.batches()
    assert (only.base_offset, only.last_offset, only.codec, only.max_timestamp) == (0, 2, "zstd", START + 1)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_tombstones_go_by_the_time_of_their_file(tmp_path: Path, magic: int) -> None:
    old = [(0, [batch(0, [(b"a", b"1"), (b"a", None), (b"b", b"1")], magic=magic)])]
    folder = made.make(tmp_path / "topic-0", old, modified=START)
    made.make(folder, [(3, [batch(3, [(b"c", b"1")], magic=magic)])], modified=START + DAY)
    made.make(folder, [(4, [batch(4, [(b"c", b"2")], magic=magic)]), (5, [])], modified=START + 3 * DAY)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 0 4\n")
    shutil.copytree(tmp_path, tmp_path / "later")
    # The last clean segment was written on day 1: segments not younger than one day less lose tombstones.
    report = compacted(folder, keep_format=True, delete_retention_ms=DAY)
    assert report.counts.tombstones == 1
    assert offsets(folder) == [0, 2, 4]
    other = tmp_path / "later" / "topic-0"
    assert compacted(other, keep_format=True, delete_retention_ms=DAY + 1).counts.tombstones == 0
    assert offsets(other) == [0, 1, 2, 4]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_become_batches_or_stay(tmp_path: Path, magic: int, codec: str) -> None:
    rows: Pairs = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", None)]
    for keep in (False, True):
        folder = made.make(
            tmp_path / f"{keep}" / "topic-0", [(5, [batch(5, rows, codec=codec, magic=magic)]), (9, [])]
        )
        wanted = made.rows(folder)[1:]
        compacted(folder, keep_format=keep)
        assert made.rows(folder) == wanted
        with kodec.PartitionLog(folder) as log:
            assert {each.magic for each in log.batches()} == {magic if keep else 2}
            assert {each.codec for each in log.batches()} == {codec}


# -- producers and transactions ----------------------------------------------------------------------------


def transactions(folder: Path) -> Path:
    """Producer 1 aborts, 2 commits, 3 is only idempotent; all write the keys a and b."""
    return made.make(
        folder,
        [
            (
                0,
                [
                    batch(0, [(b"a", b"1"), (b"b", b"1")], producer=(3, 0, 0)),
                    batch(2, [(b"a", b"2"), (b"x", b"2")], producer=(2, 0, 0), transactional=True),
                    batch(4, [(b"a", b"no")], producer=(1, 0, 0), transactional=True),
                    marker(5, 2, commit=True),
                ],
            ),
            (
                6,
                [
                    batch(6, [(b"b", b"no")], producer=(1, 0, 1), transactional=True),
                    marker(7, 1, commit=False),
                ],
            ),
            (8, [batch(8, [(b"z", b"3")])]),
        ],
        aborted=[(1, 4, 7)],
    )


def shape(folder: Path) -> list[tuple[int, int, int, bool]]:
    """(first offset, last offset, records, whether it has a delete horizon) of each batch."""
    with kodec.PartitionLog(folder) as log:
        return [
            (each.base_offset, each.last_offset, each.count, each.delete_horizon is not None)
            for each in log.batches()
        ]


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


def test_the_last_batch_of_an_active_producer_stays_without_records(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [
            (0, [batch(0, [(b"a", b"1"), (b"b", b"1")], codec="lz4", producer=(3, 1, 0))]),
            (2, [batch(2, [(b"a", b"2")], producer=(3, 1, 2)), batch(3, [(b"a", b"3"), (b"b", b"2")])]),
            (5, []),
        ],
    )
    compacted(folder, producer_expiration_ms=100 * DAY)
    with kodec.PartitionLog(folder) as log:
        first, _ = log.batches()
        assert (first.base_offset, first.last_offset, first.count, first.codec) == (2, 2, 0, "none")
        assert (first.producer_id, first.producer_epoch, first.base_sequence, first.last_sequence) == (
            3,
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


# -- files --------------------------------------------------------------------------------------------------


def test_segments_are_merged_and_their_snapshots_go(tmp_path: Path) -> None:
    segments = [(at, [batch(at, [(b"%d" % (at % 3), b"v" * 50)])]) for at in range(12)]
    folder = made.make(tmp_path / "topic-0", [*segments, (12, [])])
    for at in range(13):
        (folder / f"{at:020d}.snapshot").write_bytes(ProducerSnapshot().to_bytes())
    size = len(segments[0][1][0])
    compacted(folder, segment_bytes=3 * size)
    assert sorted(int(path.stem) for path in folder.glob("*.log")) == [0, 3, 6, 9, 12]
    assert sorted(int(path.stem) for path in folder.glob("*.snapshot")) == [0, 3, 6, 9, 12]
    assert not list(folder.glob("*.deleted"))
    # The time of the last one that went in, by which old tombstones are kept.
    assert {path.stat().st_mtime_ns for path in folder.glob("*9.log")} == {START * 1_000_000}


def test_a_range_too_wide_for_one_segment_is_not_merged(tmp_path: Path) -> None:
    far = 2**31
    segments = [(0, [batch(0, [(b"a", b"1")])]), (far, [batch(far, [(b"b", b"1")])]), (far + 1, [])]
    folder = made.make(tmp_path / "topic-0", segments)
    compacted(folder)
    assert sorted(int(path.stem) for path in folder.glob("*.log")) == [0, far, far + 1]


def test_what_grows_too_large_becomes_several_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Old messages grow when they become batches, each with a header of its own.
    entries = [batch(at, [(b"%d" % at, b"v")], magic=0) for at in range(40)]
    folder = made.make(tmp_path / "topic-0", [(0, entries), (40, [])])
    wanted = made.rows(folder)
    monkeypatch.setattr("kodec.log.cleaning.compaction.MAX_SEGMENT", 1000)
    report = compacted(folder)
    assert report.segments_after > 3
    assert made.rows(folder) == wanted
    assert max(path.stat().st_size for path in folder.glob("*.log")) <= 1000


def test_without_a_transaction_index_the_markers_tell(tmp_path: Path) -> None:
    folder = transactions(tmp_path / "topic-0")
    (index,) = folder.glob("*.txnindex")
    whole = index.read_bytes()
    index.unlink()
    assert plan_compaction(folder, now=NOW, producer_expiration_ms=0).apply().counts.aborted == 2
    assert (folder / "00000000000000000000.txnindex").read_bytes() == whole


def test_an_open_reader_goes_on(tmp_path: Path) -> None:
    segments = [(at * 10, [batch(at * 10, [(b"k", b"%d" % at)] * 10)]) for at in range(4)]
    folder = made.make(tmp_path / "topic-0", segments)
    with kodec.PartitionLog(folder) as log:
        reading = log.records()
        assert next(reading).offset == 0
        for segment in log.segments:
            next(iter(segment.headers()))
        plan_compaction(folder, now=NOW).apply()
        assert [record.offset for record in reading] == list(range(1, 40))


def test_interrupted_by_the_caller(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [(0, [batch(0, [(b"a", b"x" * 3_000_000)]), batch(1, [(b"a", b"y" * 3_000_000)])]), (2, [])],
    )
    before = made.files(folder)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_compaction(folder, progress=stop).apply()
    assert made.files(folder) == before
    seen: list[int] = []
    plan_compaction(folder, progress=seen.append).apply()
    assert sum(seen) > 6_000_000


class Stopped(Exception):
    """The process ends here."""


def stopping(monkeypatch: pytest.MonkeyPatch, after: int) -> list[str]:
    """Let so many changes of files happen, then none; gives the list of those that did."""
    done: list[str] = []

    def wrap(owner: Any, name: str) -> None:
        plain = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            if len(done) >= after:
                raise Stopped
            done.append(name)
            return plain(*args, **options)

        monkeypatch.setattr(owner, name, call)

    for name in ("replace", "rename", "unlink", "fsync", "ftruncate"):
        wrap(os, name)
    return done


def recovered(folder: Path) -> None:
    """What `kodec recover` does."""
    plan_recovery(folder).apply()


STARTS = pytest.mark.parametrize("start", [made.broker_start, recovered], ids=["broker", "recover"])


@STARTS
@pytest.mark.parametrize("apart", [False, True])
def test_stopped_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: bool, start: Callable[[Path], None]
) -> None:
    source = transactions(tmp_path / "source" / "topic-0")
    made.make(source, [(9, [batch(9, [(b"a", b"9")])]), (10, [])])
    old = made.rows(source)
    size = 1 if apart else 1 << 30
    whole = tmp_path / "whole" / "topic-0"
    shutil.copytree(source, whole)
    plan_compaction(whole, now=NOW, segment_bytes=size).apply()
    new = made.rows(whole)
    assert len(new) < len(old)
    latest = {record.key: record for record in old if record.value != b"no"}
    steps, seen = 0, set()
    while True:
        folder = tmp_path / f"{steps}" / "topic-0"
        shutil.copytree(source, folder)
        with monkeypatch.context() as patch:
            done = stopping(patch, steps)
            try:
                plan_compaction(folder, now=NOW, segment_bytes=size).apply()
                finished = True
            except Stopped:
                finished = False
        start(folder)
        found = made.rows(folder)
        seen.add(len(found))
        assert not kodec.PartitionLog(folder).leftovers
        # Each record is one that was there, and the newest of each key is.
        assert [each for each in old if each in found] == found
        assert {each.key: each for each in found if each.value != b"no"} == latest
        assert [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note] == []
        plan_compaction(folder, now=NOW, segment_bytes=size).apply()
        assert made.rows(folder) == new
        if finished:
            break
        assert len(done) == steps
        steps += 1
    assert steps > 20
    assert {len(old), len(new)} <= seen


@STARTS
def test_several_new_segments_are_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[Path], None]
) -> None:
    source = made.make(tmp_path / "source" / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 9)]), (9, [])])
    old = made.rows(source)
    steps = 0
    outcomes = set()
    while True:
        folder = tmp_path / f"{steps}" / "topic-0"
        shutil.copytree(source, folder)
        made.make(
            tmp_path / "new-0", [(0, [batch(0, [(b"a", b"1")] * 4)]), (4, [batch(4, [(b"a", b"1")] * 5)])]
        )
        for path in (tmp_path / "new-0").iterdir():
            path.rename(folder / f"{path.name}.cleaned")
        with monkeypatch.context() as patch:
            stopping(patch, steps)
            try:
                replace_segments(folder, [0, 4], [0])
                finished = True
            except Stopped:
                finished = False
        start(folder)
        assert made.rows(folder) == old
        assert [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note] == []
        outcomes.add(tuple(sorted(path.name for path in folder.glob("*.log"))))
        if finished:
            break
        steps += 1
    assert len(outcomes) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process that was forked")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    assert kill_compaction.run(20, 3, tmp_path).total() == 20


@pytest.mark.parametrize("folder", COMPACTED, ids=lambda each: each.relative_to(DATA).as_posix())
def test_what_a_broker_has_compacted_stays(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(folder.parent, root)
    mine = root / folder.name
    before = made.rows(mine)
    assert compacted(mine).rounds == 0
    compacted(mine, from_start=True)
    assert made.rows(mine) == before


# -- the map ------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.binary(max_size=2), st.booleans()), max_size=60),
    st.integers(400, 3000),
    st.integers(0, 5),
)
def test_the_map_is_a_dict_that_fills_up(keys: list[tuple[bytes, bool]], memory: int, start: int) -> None:
    found = OffsetMap(memory, start, start + len(keys))
    assert 24 * found.slots + 2 * ((len(keys) + 7) // 8) <= memory
    model: dict[bytes, int] = {}
    records = [
        kodec.Record(offset=start + number, key=key, value=b"" if value else None)
        for number, (key, value) in enumerate(keys)
    ]
    end = len(records)
    for number, record in enumerate(records):
        if not found.add([(record.key, record.offset, record.value is None)]):
            assert record.key not in model
            assert len(model) == found.capacity
            end = number
            break
        assert record.key is not None
        model[record.key] = record.offset
    assert found.size == len(model)
    for key in {key for key, _ in keys} | {b"never"}:
        assert found.get(key) == model.get(key, -1)
    for record in records[:end]:
        assert record.key is not None
        assert found.is_newest(record.key, record.offset) == (model[record.key] == record.offset)
    for first, record in enumerate(records[:end]):
        for last in range(first, end):
            span = records[first : last + 1]
            newest = [each for each in span if model[each.key or b""] == each.offset]
            told = found.staying(record.offset, records[last].offset, len(span))
            assert told is None or told == len(newest) == len(span) or (told, newest) == (0, [])
            if told:
                assert None not in [each.value for each in span]


def test_the_map_has_bounds() -> None:
    with pytest.raises(ValueError, match="no room"):
        OffsetMap(40)
    with pytest.raises(ValueError, match="load_factor"):
        OffsetMap(1000, load_factor=1.5)
    assert OffsetMap(1 << 20, 0, 1 << 40).slots >= (1 << 20) * 3 // 4 // 24 - 100
    assert OffsetMap(1 << 30, 5, 500).slots < 1200
