"""Compaction keeps what Kafka's cleaner keeps, and loses nothing when it is cut short."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.log.cleaning.compaction import has_columns, plan_compaction
from tests.golden import Golden
from tests.log import made, wire
from tests.log.cleaning.compacting import NOW, Pairs, compacted, horizons, offsets, stored
from tests.log.made import DAY, START, batch

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


@pytest.mark.thorough
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
        counts = report.counts
        assert counts.records_removed == len(before) - len(made.rows(folder))
        assert counts.superseded + counts.without_key == counts.records_removed
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
    for path in folder.glob(f"{3:020d}.*"):
        path.unlink()
    made.make(folder, [(3, [batch(3, [(b"b", b"3")])]), (4, [])])
    report = compacted(folder)
    assert (report.first_dirty_offset, report.end_offset, report.keys) == (3, 4, 1)
    assert offsets(folder) == [2, 3]


@pytest.mark.parametrize(("last", "segments"), [(2**31 - 1, 2), (2**31, 3)])
def test_segments_are_joined_as_far_as_offsets_reach(tmp_path: Path, last: int, segments: int) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [(0, [batch(0, [(b"a", b"1")])]), (last, [batch(last, [(b"b", b"1")])]), (last + 1, [])],
    )
    # what lies between is not lost
    (folder / "kodec-omitted-offsets").write_text(f"0\n1\n1 {last - 1}\n")
    assert compacted(folder).segments_after == segments
    assert offsets(folder) == [0, last]


def test_other_topics_stay_in_the_checkpoint(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n2\nother 3 44\ntopic 0 1\n")
    folder = made.make(tmp_path / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 3)]), (3, [])])
    compacted(folder)
    golden((tmp_path / "cleaner-offset-checkpoint").read_text())
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
    with pytest.raises(kodec.errors.FormatError, match="damaged: `kodec salvage`"):
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
