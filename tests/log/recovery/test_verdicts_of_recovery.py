"""Where a recovery ends a log, what it reads, and what becomes of each file beside: case by case.

The log of the fixture has segments 0 to 4, 5 to 9 and 10 to 11, each with a snapshot at its end. Producer 0
aborts at 2 and 7; producer 1 has a transaction open since 3.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import kodec
from kodec.errors import Unsupported
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import read_snapshot
from kodec.log.files.checkpoints import LeaderEpoch, read_offsets, write_leader_epochs, write_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import CLEAN_SHUTDOWN, LEADER_EPOCHS, file_name
from kodec.log.recovery.planning import plan_recovery, plan_reindex
from kodec.log.recovery.steps import LowerRecoveryPoint, Quarantine, Rename, Truncate, Write
from kodec.log.writing.segment_scan import producers_at, scan_segment
from tests.log import made as logs
from tests.log import wire
from tests.log.recovery.recovered import POINTS, STARTS, append, compacted, flip

OWNER = TopicPartition("t", 0)


def rows(offset: int, count: int, **options: int) -> bytes:
    records = [kodec.Record(value=b"v", timestamp=offset + 1)] * count
    return kodec.encode(records, base_offset=offset, **options)  # type: ignore[arg-type]


# -- the offsets of a segment's batches: (first, count) ------------------------------------------------

ABOVE = "its offset {} is not above {}".format
BELOW = "its offset {} is not below the next one, {}".format
# name: base offset, batches, base offset of the next segment; how many batches count, the end, the fault
OFFSETS: dict[str, tuple[int, list[tuple[int, int]], int | None, int, int, str]] = {
    "none": (5, [], None, 0, 5, ""),
    "each after the one before": (0, [(0, 5), (5, 5)], None, 2, 10, ""),
    "with gaps, as compaction leaves them": (0, [(2, 3), (6, 1), (9, 1)], 10, 3, 10, ""),
    "one that begins at the last offset": (0, [(0, 5), (4, 6)], None, 1, 5, ABOVE(4, 4)),
    "one below the segment": (5, [(4, 3)], None, 0, 5, ABOVE(4, 4)),
    "a gap where the next one goes on": (0, [(0, 5), (7, 5), (5, 5)], None, 1, 5, BELOW(11, 5)),
    "a gap, and one that goes on in it": (0, [(0, 5), (7, 5), (6, 1)], None, 1, 5, BELOW(11, 6)),
    "the first leaves a gap where the next one goes on": (0, [(3, 5), (0, 3)], None, 0, 0, BELOW(7, 0)),
    "one without a gap, and one in the middle of it": (0, [(0, 5), (5, 5), (7, 5)], None, 2, 10, ABOVE(7, 9)),
    "one behind a gap, and one before the gap": (0, [(0, 5), (6, 5), (4, 1)], None, 2, 11, ABOVE(4, 10)),
    "up to the next segment": (0, [(0, 5), (5, 5)], 10, 2, 10, ""),
    "into the next segment": (
        0, [(0, 5), (5, 6)], 10, 1, 5, "its offset 10 is not below the next segment's, 10"),
    "the largest offset of a segment": (7, [(2**31 + 6, 1)], None, 1, 2**31 + 7, ""),
    "one above it": (7, [(2**31 + 7, 1)], None, 0, 7, "its offset 2147483655 does not fit the segment of 7"),
}  # fmt: skip


@pytest.mark.parametrize("kind", OFFSETS)
def test_which_batches_are_part_of_a_segment(tmp_path: Path, kind: str) -> None:
    base, batches, before, count, end, fault = OFFSETS[kind]
    path = tmp_path / file_name(base, "log")
    path.write_bytes(b"".join(rows(*each) for each in batches))
    found = scan_segment(path, base, before=before)
    assert (found.batches, found.next_offset, found.fault) == (count, end, fault)
    assert found.valid_bytes == sum(len(rows(*each)) for each in batches[:count])
    assert found.size == path.stat().st_size


def test_a_marker_that_cannot_be_read_ends_the_log(tmp_path: Path) -> None:
    path = tmp_path / file_name(0, "log")
    marker = wire.batch(
        [wire.record(key=b"\0")], base=5, attributes=logs.CONTROL | logs.TRANSACTIONAL, producer=(7, 0, -1)
    )
    for rest in (b"", rows(6, 1)):
        path.write_bytes(rows(0, 5) + marker + rest)
        found = scan_segment(path, 0)
        assert (found.batches, found.next_offset, found.valid_bytes) == (1, 5, len(rows(0, 5)))
        assert found.fault


def test_a_torn_tail_is_seen_after_a_clean_shutdown_too(made: Path) -> None:
    (made.parent / CLEAN_SHUTDOWN).touch()
    append(made / file_name(10, "log"), b"torn")
    (step,) = plan_recovery(made, index_interval_bytes=50).steps
    assert isinstance(step, Truncate) and (step.position, step.size) == (81, 85)


def test_a_segment_whose_offsets_overflow_amid_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / file_name(0, "log")
    path.write_bytes(rows(2**31, 1) + rows(2**31 + 1, 1))
    with pytest.raises(Unsupported, match="splits it when it starts"):
        scan_segment(path, 0)


def test_a_batch_that_ends_before_it_begins_ends_the_log(tmp_path: Path) -> None:
    path = tmp_path / file_name(0, "log")
    path.write_bytes(rows(0, 5) + wire.batch([wire.record()], base=5, last_delta=-2) + rows(6, 1))
    found = scan_segment(path, 0)
    assert (found.batches, found.next_offset, bool(found.fault)) == (1, 5, True)


def test_what_a_segment_says_besides(tmp_path: Path) -> None:
    path = tmp_path / file_name(0, "log")
    given = [(0, 3), (5, 3), (10, 5), (15, 4), (20, 5), (25, 6)]
    path.write_bytes(b"".join(rows(at, 5, partition_leader_epoch=epoch) for at, epoch in given))
    told: list[int] = []
    found = scan_segment(path, 0, progress=told.append)
    runs = [(run.epoch, run.first_offset) for run in found.epochs.runs]
    assert runs == [(3, 0), (5, 10), (4, 15), (5, 20), (6, 25)]
    assert found.first_timestamp == 1 and sum(told) == found.size == found.valid_bytes


# -- what is known of producers where a segment starts -------------------------------------------------


def entries(path: Path) -> list[object]:
    return list(read_snapshot(path).entries)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("there", ["all", "none", "those of another segment", "damaged", "within a segment"])
def test_producers_where_a_segment_starts(made: Path, number: int, there: str) -> None:
    base = (0, 5, 10)[number]
    wanted = entries(made / file_name(base, "snapshot")) if number else []
    log = PartitionLog(made)
    files, snapshots = log.files.segments, dict(log.files.snapshots)
    if there == "none":
        snapshots = {}
    elif there == "those of another segment":
        del snapshots[10 if number == 2 else 5]
    elif there == "damaged":
        for path in snapshots.values():
            path.write_bytes(b"nonsense")
    elif there == "within a segment":
        # of what lies before 8; from there on the batches say it
        state = producers_at(files, snapshots, 1)
        for batch in list(log.segments[1].batches())[:2]:
            state.take_batch(batch)
        snapshots = {8: made / file_name(8, "snapshot")}
        snapshots[8].write_bytes(state.snapshot().to_bytes())
    assert producers_at(files, snapshots, number).snapshot().entries == wanted


def test_the_newest_snapshot_that_is_not_above_a_segment_is_believed(made: Path) -> None:
    """As a broker does: it may know of batches that retention has deleted."""
    for at in (5, 10, 12):
        path = made / file_name(at, "snapshot")
        snapshot = read_snapshot(path)
        snapshot.entries.append(snapshot.entries[0].__class__(producer_id=1000 + at, producer_epoch=1))
        path.write_bytes(snapshot.to_bytes())
    log = PartitionLog(made)
    for number, known in ((0, set()), (1, {1005}), (2, {1010})):
        state = producers_at(log.files.segments, dict(log.files.snapshots), number)
        assert {each.producer_id for each in state.snapshot().entries} - {0, 1} == known


@pytest.mark.parametrize("is_right", [True, False])
def test_a_snapshot_that_the_log_contradicts_is_written_anew(made: Path, is_right: bool) -> None:
    path = made / file_name(5, "snapshot")
    right = path.read_bytes()
    if not is_right:
        snapshot = read_snapshot(path)
        for each in snapshot.entries:
            each.last_sequence += 1
        path.write_bytes(snapshot.to_bytes())
    steps = plan_recovery(made, from_start=True, index_interval_bytes=50).steps
    assert (path in [step.path for step in steps]) is not is_right
    plan_recovery(made, from_start=True, index_interval_bytes=50).apply()
    assert path.read_bytes() == right


# -- which segments are read ---------------------------------------------------------------------------

ALL = [0, 5, 10]


@pytest.mark.parametrize(
    ("point", "scanned"),
    [
        (None, ALL),
        (0, ALL),
        (4, ALL),
        (5, [5, 10]),
        (9, [5, 10]),
        (10, [10]),
        (11, [10]),
        (12, [10]),
        (99, [10]),
    ],
)
def test_segments_from_the_recovery_point_on_are_read(
    made: Path, point: int | None, scanned: list[int]
) -> None:
    if point is not None:
        write_offsets(made.parent / POINTS, {OWNER: point, TopicPartition("u", 0): 5})
    plan = plan_recovery(made, index_interval_bytes=50)
    assert [int(path.stem) for path in plan.scanned] == scanned
    assert plan.bytes_scanned == sum(path.stat().st_size for path in plan.scanned)
    lowered = [LowerRecoveryPoint(made.parent / POINTS, OWNER, 99, 12)] if point == 99 else []
    assert plan.steps == lowered
    (made.parent / CLEAN_SHUTDOWN).touch()
    assert point == 99 or plan_recovery(made, index_interval_bytes=50).scanned == []
    again = plan_recovery(made, index_interval_bytes=50, from_start=True)
    assert [int(path.stem) for path in again.scanned] == ALL


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex"])
def test_a_segment_without_an_index_is_read_though_the_log_was_closed_in_order(made: Path, kind: str) -> None:
    (made.parent / CLEAN_SHUTDOWN).touch()
    path = made / file_name(5, kind)
    data = path.read_bytes()
    if kind == "txnindex":
        # brokers make none where nothing was aborted; but one of another segment is wrong
        path.write_bytes((made / file_name(0, kind)).read_bytes())
    else:
        path.unlink()
    (step,) = (each for each in plan_recovery(made, index_interval_bytes=50).steps if each.path == path)
    assert isinstance(step, Write) and step.data == data
    assert step.reason == ("differs from the log" if kind == "txnindex" else "missing")


def test_damage_at_the_start_of_a_log_without_a_recovery_point_may_be_of_a_crash(made: Path) -> None:
    flip(made / file_name(0, "log"), 70)
    plan = plan_recovery(made, index_interval_bytes=50)
    assert (plan.end_offset, plan.damage_below_recovery_point) == (0, False)


@pytest.mark.parametrize("point", [0, 6, 9, 10, 12])
def test_damage_below_the_recovery_point_is_not_what_a_crash_leaves(made: Path, point: int) -> None:
    write_offsets(made.parent / POINTS, {OWNER: point})
    flip(made / file_name(5, "log"), 230)
    plan = plan_recovery(made, index_interval_bytes=50, from_start=True)
    # the last batch of the middle segment, 8 to 9, is damaged
    assert (plan.end_offset, plan.damage_below_recovery_point) == (8, point > 8)


def test_only_zeros_are_cut_without_a_copy(made: Path) -> None:
    log = made / file_name(10, "log")
    for tail, zeros in ((bytes(100), True), (bytes(100) + b"\1", False), (b"\1", False)):
        log.write_bytes(log.read_bytes()[:81])
        append(log, tail)
        plan = plan_recovery(made, index_interval_bytes=50)
        (step,) = plan.steps
        assert isinstance(step, Truncate) and (step.position, step.size) == (81, 81 + len(tail))
        assert step.zeros is zeros and plan.truncated_bytes == (0 if zeros else len(tail))


def test_of_a_log_that_is_refused_nothing_is_planned(made: Path) -> None:
    """Not even what would go before it is read."""
    (made / f"{file_name(3, 'log')}.deleted").write_bytes(b"left")
    append(made / file_name(10, "log"), rows(2**33, 1) + rows(2**33 + 1, 1))
    plan = plan_recovery(made, index_interval_bytes=50)
    assert "overflow" in plan.problems[0] and plan.steps == [] and not plan.has_changes
    plan = plan_reindex(made, index_interval_bytes=50)
    assert "overflow" in plan.problems[0] and plan.steps == []
    (made / file_name(9, "snapshot")).symlink_to(made / file_name(10, "snapshot"))
    assert "symbolic link" in plan_recovery(made, index_interval_bytes=50).problems[0]
    assert "symbolic link" in plan_reindex(made, index_interval_bytes=50).problems[0]


# -- producer snapshots --------------------------------------------------------------------------------

UNUSED = "neither at the start of a segment nor at the end"
ABOVE_END = "above the end of the log"
# offset of a snapshot that is a copy of another; the report of it where all is read, and where nothing is
SNAPSHOTS = {
    1: (UNUSED, None), 6: (UNUSED, None), 9: (UNUSED, None), 11: (UNUSED, None), 13: (ABOVE_END, ABOVE_END),
}  # fmt: skip


@pytest.mark.parametrize("offset", SNAPSHOTS)
@pytest.mark.parametrize("read", [True, False])
def test_of_a_snapshot_that_belongs_to_nothing(made: Path, offset: int, read: bool) -> None:
    path = made / file_name(offset, "snapshot")
    path.write_bytes((made / file_name(5, "snapshot")).read_bytes())
    if not read:
        (made.parent / CLEAN_SHUTDOWN).touch()
    plan = plan_recovery(made, index_interval_bytes=50, from_start=read)
    # where one step is to be done, the marker goes, and the last segment is read
    reason = SNAPSHOTS[offset][0 if read else 1]
    size = path.stat().st_size
    assert plan.steps == ([] if reason is None else [Quarantine(path, size, reason)])


@pytest.mark.parametrize("offset", [5, 10, 12])
def test_of_a_snapshot_that_is_damaged_where_nothing_is_read(made: Path, offset: int) -> None:
    (made.parent / CLEAN_SHUTDOWN).touch()
    path = made / file_name(offset, "snapshot")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    steps = plan_recovery(made, index_interval_bytes=50).steps
    # the marker goes with the step, and then all is read and known again
    assert [(type(step), step.path) for step in steps] == [(Write, path)]
    plan_recovery(made, index_interval_bytes=50).apply()
    assert path.read_bytes() == whole


def test_of_a_snapshot_without_a_producer_of_the_log(made: Path) -> None:
    path = made / file_name(10, "snapshot")
    whole = path.read_bytes()
    for wrong in (lambda all_of: all_of[1:], lambda all_of: []):
        snapshot = ProducerSnapshot.from_bytes(whole)
        snapshot.entries[:] = wrong(snapshot.entries)
        path.write_bytes(snapshot.to_bytes())
        plan_recovery(made, index_interval_bytes=50, from_start=True).apply()
        assert path.read_bytes() == whole


# -- leader epochs -------------------------------------------------------------------------------------

# the list in the checkpoint, where the log starts; the list that a recovery makes of it (None: it stays)
EPOCHS: dict[str, tuple[list[tuple[int, int]], int, list[tuple[int, int]] | None]] = {
    "as the batches say": ([(2, 0), (5, 10)], 0, None),
    "more at the end, not written yet": ([(2, 0), (5, 10), (7, 12)], 0, None),
    "more above the end": ([(2, 0), (5, 10), (7, 13)], 0, [(2, 0), (5, 10)]),
    "without the last": ([(2, 0)], 0, [(2, 0), (5, 10)]),
    "none": ([], 0, [(2, 0), (5, 10)]),
    "before the log start offset": ([(1, 0), (2, 3), (5, 10)], 6, [(2, 6), (5, 10)]),
    "up to the log start offset": ([(1, 0), (2, 6), (5, 10)], 6, [(2, 6), (5, 10)]),
}


@pytest.mark.parametrize("kind", EPOCHS)
def test_of_leader_epochs(made: Path, kind: str) -> None:
    given, start, wanted = EPOCHS[kind]
    path = made / LEADER_EPOCHS
    write_leader_epochs(path, [LeaderEpoch(*each) for each in given])
    before = path.read_bytes()
    if start:
        write_offsets(made.parent / STARTS, {OWNER: start})
    plan = plan_recovery(made, index_interval_bytes=50, from_start=True)
    assert plan.has_changes == (wanted is not None)
    plan.apply()
    if wanted is None:
        assert path.read_bytes() == before
    assert PartitionLog(made).leader_epochs() == [LeaderEpoch(*each) for each in wanted or given]


def test_epochs_of_segments_that_need_not_be_read_are_those_of_their_headers(tmp_path: Path) -> None:
    """After a clean shutdown a list that cannot be read is made again; -1 stands for none."""
    given = [(0, -1), (1, 3), (2, 3), (3, 5), (4, 5)]
    batches = [rows(at, 1, partition_leader_epoch=epoch) for at, epoch in given]
    folder = logs.make(tmp_path / "t-0", [(0, batches[:2]), (2, batches[2:])])
    (tmp_path / CLEAN_SHUTDOWN).touch()
    write_offsets(tmp_path / POINTS, {OWNER: 5})
    (folder / file_name(5, "snapshot")).write_bytes(ProducerSnapshot().to_bytes())
    (folder / LEADER_EPOCHS).write_bytes(b"nonsense")
    plan_recovery(folder).apply()
    assert PartitionLog(folder).leader_epochs() == [LeaderEpoch(3, 1), LeaderEpoch(5, 3)]


# -- where a log starts --------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "again"), [(0, False), (5, False), (11, False), (12, False), (13, True)])
def test_a_log_that_ends_before_its_start(made: Path, start: int, again: bool) -> None:
    write_offsets(made.parent / STARTS, {OWNER: start})
    (made / LEADER_EPOCHS).unlink()
    plan = plan_recovery(made, index_interval_bytes=50)
    assert (plan.start_offset, plan.end_offset, plan.segments) == (start, max(start, 12), 1 if again else 3)
    gone = {int(step.path.stem) for step in plan.steps if isinstance(step, Quarantine)}
    assert gone == ({0, 5, 10, 12} if again else set())


def test_of_a_log_that_starts_again_nothing_is_cut_or_rebuilt_before_it_goes(made: Path) -> None:
    write_offsets(made.parent / STARTS, {OWNER: 13})
    (made / file_name(5, "index")).write_bytes(b"wrong")
    append(made / file_name(10, "log"), b"torn")
    steps = plan_recovery(made, index_interval_bytes=50).steps
    assert not [step for step in steps if isinstance(step, Truncate)]
    written = {step.path.name for step in steps if isinstance(step, Write)}
    assert written == {LEADER_EPOCHS, *(file_name(13, kind) for kind in ("log", "index", "timeindex"))}


def test_a_log_whose_first_segments_are_deleted_gets_no_snapshot_where_it_starts(made: Path) -> None:
    for path in (*made.glob(f"{0:020d}.*"), made / file_name(5, "snapshot")):
        path.unlink()
    for from_start in (False, True):
        plan = plan_recovery(made, index_interval_bytes=50, from_start=from_start)
        assert (plan.start_offset, plan.end_offset) == (5, 12)
        assert file_name(5, "snapshot") not in {step.path.name for step in plan.steps}


@pytest.mark.parametrize("start", [4, 5])
def test_a_log_whose_start_offset_is_that_of_a_segment_gets_no_snapshot_there(made: Path, start: int) -> None:
    write_offsets(made.parent / STARTS, {OWNER: start})
    (made / file_name(5, "snapshot")).unlink()
    steps = plan_recovery(made, index_interval_bytes=50, from_start=True).steps
    written = [step.path.name for step in steps if step.path.suffix == ".snapshot"]
    assert written == ([file_name(5, "snapshot")] if start < 5 else [])


def test_a_replica_that_is_deleted_or_stray_is_not_recovered(made: Path) -> None:
    for kind in ("delete", "stray"):
        made = made.rename(made.parent / f"t-0.{'a' * 32}-{kind}")
        with pytest.raises(ValueError, match="is not changed"):
            plan_recovery(made)


def test_of_a_replacement_all_that_it_replaces_goes(made: Path) -> None:
    """Also what it has no counterpart of: here the transaction indexes, and the snapshot between."""
    for name, data in compacted(made).items():
        if name.endswith((".log", ".index", ".timeindex")):
            (made / f"{name}.swap").write_bytes(data)
    before = {path.name for path in made.glob("0*") if path.suffix != ".swap"}
    steps = plan_recovery(made, index_interval_bytes=50).steps
    gone = {step.path.name for step in steps if isinstance(step, Quarantine) and step.reason == "replaced"}
    assert gone == {name for name in before if int(name[:20]) < 10}
    renamed = [step.target.name for step in steps if isinstance(step, Rename)]
    # the log first: an index without one goes
    assert renamed == [file_name(0, kind) for kind in ("log", "index", "timeindex")]


@pytest.mark.parametrize("kind", ["live", "moving in"])
def test_a_recovery_point_is_lowered_for_the_replica_that_it_is_of(made: Path, kind: str) -> None:
    root = made.parent
    write_offsets(root / POINTS, {OWNER: 40})
    if kind == "moving in":
        made = made.rename(root / f"t-0.{'a' * 32}-future")
    plan_recovery(made, index_interval_bytes=50).apply()
    assert read_offsets(root / POINTS) == {OWNER: 12 if kind == "live" else 40}


# -- indexes alone -------------------------------------------------------------------------------------


def test_reindex_of_some_segments_knows_the_producers_before_them(made: Path) -> None:
    for base in ALL:
        for path in made.glob(f"{base:020d}.txnindex"):
            path.unlink()
    wanted = {}
    for path in (*made.glob("*.snapshot"),):
        wanted[path] = path.read_bytes()
        path.unlink()
    plan_reindex(made, segments=[10], index_interval_bytes=50).apply()
    assert {path.name for path in made.glob("*.snapshot")} == {file_name(12, "snapshot")}
    plan_reindex(made, segments=[0, 10], index_interval_bytes=50).apply()
    assert {path.name for path in made.glob("*.snapshot")} == {file_name(at, "snapshot") for at in (5, 12)}
    assert {path.name for path in made.glob("*.txnindex")} == {file_name(0, "txnindex")}
    plan = plan_reindex(made, index_interval_bytes=50)
    assert (plan.start_offset, plan.end_offset, plan.segments) == (0, 12, 3)
    plan.apply()
    assert {path: path.read_bytes() for path in wanted} == wanted
