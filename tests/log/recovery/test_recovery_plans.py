"""Indexes alone, plans that are applied late or twice, and any harm at all."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.log.batches.sizes import MOST_HEAD
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.names import CLEAN_SHUTDOWN, file_name
from kodec.log.omissions import Omissions
from kodec.log.recovery.plan import GoodAfterCut
from kodec.log.recovery.planning import plan_recoveries, plan_recovery, plan_reindex
from kodec.log.recovery.salvage import plan_salvage
from kodec.log.recovery.steps import Truncate
from kodec.log.writing.writer import LogWriter
from kodec.runtime.errors import Malformed
from tests.log.recovery.recovered import append, files_of, flip, last_log, make, rows

# -- indexes only -------------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["missing", "empty", "nonsense", "of another"])
def test_reindex_rebuilds_what_is_beside_the_logs(harm: str, made: Path) -> None:
    before = files_of(made)
    beside = [name for name in before if not name.endswith((".log", "checkpoint"))]
    for name in beside:
        if harm == "missing":
            (made / name).unlink()
        else:
            other = before[beside[beside.index(name) - 1]]
            (made / name).write_bytes({"empty": b"", "nonsense": b"nonsense" * 9, "of another": other}[harm])
    plan = plan_reindex(made, index_interval_bytes=50)
    assert all(step.path.suffix != ".log" for step in plan.steps)
    plan.apply()
    assert files_of(made) == before
    assert plan_reindex(made, index_interval_bytes=50).steps == []


def test_reindex_of_one_segment(made: Path) -> None:
    before = files_of(made)
    for name in before:
        if name.endswith(".index"):
            (made / name).unlink()
    plan_reindex(made, segments=[5], index_interval_bytes=50).apply()
    assert [each.name for each in made.glob("*.index")] == [file_name(5, "index")]
    assert (made / file_name(5, "index")).read_bytes() == before[file_name(5, "index")]


def test_reindex_refuses_a_damaged_log(made: Path) -> None:
    flip(made / file_name(5, "log"), MOST_HEAD + 10)
    plan = plan_reindex(made)
    assert "byte 0: recover it first" in plan.problems[0] and plan.steps == []


# -- applying -----------------------------------------------------------------------------------------


def test_a_plan_of_yesterday_is_refused(made: Path) -> None:
    append(last_log(made), b"torn")
    plan = plan_recovery(made)
    append(last_log(made), b" and torn more")
    with pytest.raises(kodec.errors.StalePlan, match="has changed since the plan was made: plan again"):
        plan.apply()


def test_the_side_folder_is_outside_and_names_are_not_taken_twice(made: Path, tmp_path: Path) -> None:
    side = tmp_path / "somewhere" / "else"
    log = last_log(made)
    size = log.stat().st_size
    for tail in (b"first", b"second"):
        append(log, tail)
        (path,) = plan_recovery(made, index_interval_bytes=50, quarantine=side).apply().kept
        assert path.read_bytes() == tail
    assert sorted(each.name for each in (side / "t-0").iterdir()) == [
        f"{log.name}.cut-{size}",
        f"{log.name}.cut-{size}.1",
    ]
    append(log, b"third")
    with pytest.raises(ValueError, match="outside"):
        plan_recovery(made, quarantine=made.parent / "side").apply()
    with pytest.raises(ValueError, match="named like orders-0"):
        plan_recovery(made.parent)


def test_a_moving_replica_is_recovered_and_a_deleted_one_left(made: Path) -> None:
    append(last_log(made), b"torn")
    root = made.parent
    made.rename(root / f"t-0.{'a' * 32}-future")
    shutil.copytree(root / f"t-0.{'a' * 32}-future", root / f"t-1.{'b' * 32}-delete")
    (plan,) = plan_recoveries(root)
    assert plan.path.name.endswith("-future") and any(isinstance(step, Truncate) for step in plan.steps)


def test_a_change_takes_the_marker_away_and_with_it_goes_what_it_stood_for(made: Path) -> None:
    """Found by histories: a snapshot within the last segment was seen by the second recovery only."""
    (made.parent / CLEAN_SHUTDOWN).write_text('{"version":0}')
    snapshot = max(made.glob("*.snapshot"))
    end = PartitionLog(made).end_offset
    assert plan_recovery(made, index_interval_bytes=50).steps == []
    shutil.copy(snapshot, made / file_name(end - 1, "snapshot"))
    assert plan_recovery(made, index_interval_bytes=50).steps == []
    (made / "leader-epoch-checkpoint").write_text(f"0\n2\n2 0\n9 {end + 5}\n")
    plan = plan_recovery(made, index_interval_bytes=50)
    assert {step.path.name for step in plan.steps} == {
        file_name(end - 1, "snapshot"),
        "leader-epoch-checkpoint",
    }
    plan.apply()
    assert plan_recovery(made, index_interval_bytes=50).steps == []


def test_each_plan_of_a_root_sees_what_the_one_before_has_changed(made: Path) -> None:
    shutil.copytree(made, made.with_name("t-1"))
    (made.parent / CLEAN_SHUTDOWN).write_text('{"version":0}')
    end = PartitionLog(made).end_offset
    (made / "leader-epoch-checkpoint").write_text(f"0\n2\n2 0\n9 {end + 5}\n")
    append(last_log(made.with_name("t-1")), b"torn")
    plans = plan_recoveries(made.parent, index_interval_bytes=50)
    next(plans).apply()
    assert [type(step) for step in next(plans).steps] == [Truncate]


def test_an_offset_that_the_segment_cannot_have_is_seen_after_a_clean_shutdown_too(made: Path) -> None:
    (made.parent / CLEAN_SHUTDOWN).write_text('{"version":0}')
    log = last_log(made)
    data = bytearray(log.read_bytes())
    data[0] ^= 1  # the highest byte of the first batch's offset, which no checksum covers
    log.write_bytes(data)
    plan = plan_recovery(made, index_interval_bytes=50)
    assert plan.steps and plan.end_offset == 10
    plan.apply()
    with LogWriter(made) as writer:
        assert writer.next_offset == 10


HARM = st.lists(
    st.tuples(
        st.sampled_from(["flip", "truncate", "delete", "append", "zero", "rename"]),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(HARM, st.booleans(), st.booleans())
def test_any_harm_is_recovered_once(
    tmp_path_factory: pytest.TempPathFactory,
    harms: list[tuple[str, int, int]],
    from_start: bool,
    marked: bool,
) -> None:
    root = tmp_path_factory.mktemp("harm")
    folder = root / "logs" / "t-0"
    folder.parent.mkdir()
    make(folder)
    if marked:
        (folder.parent / CLEAN_SHUTDOWN).write_text('{"version":0}')
    served = {value for _, value in rows(folder)}
    for harm, which, where in harms:
        files = sorted(each for each in folder.iterdir() if each.is_file())
        path = files[which % len(files)] if files else folder / file_name(0, "log")
        data = bytearray(path.read_bytes() if path.exists() else b"")
        at = where % (len(data) + 1)
        if harm == "flip" and at < len(data):
            data[at] ^= 1 << where % 8
        elif harm == "truncate":
            del data[at:]
        elif harm == "append":
            data += random.Random(where).randbytes(where % 300)
        elif harm == "zero":
            data[at:] = bytes(len(data) - at)
        path.write_bytes(data)
        if harm == "delete":
            path.unlink()
        elif harm == "rename" and path.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            path.rename(path.with_name(path.name + [".swap", ".cleaned", ".deleted"][where % 3]))
    plan = plan_recovery(folder, from_start=from_start, index_interval_bytes=50, allow_empty=True)
    assert not plan.problems
    plan.apply()
    assert plan_recovery(folder, from_start=from_start, index_interval_bytes=50).steps == []
    log = PartitionLog(folder)
    assert log.end_offset == plan.end_offset
    if from_start:
        # what was lost before is no part of the question
        found = list(log.records(omissions=Omissions()))
        assert {each.value for each in found} <= served
        offsets = [each.offset for each in found]
        assert offsets == sorted(set(offsets))
    try:
        with LogWriter(folder) as writer:
            assert writer.next_offset == plan.end_offset
    except Malformed:
        # after a clean shutdown nothing is read: a wrong checksum in the last segment is still there
        assert marked and not from_start and not plan.scanned
    shutil.rmtree(root)


# -- what is good after the cut -----------------------------------------------------------------------


@pytest.mark.parametrize("base", [0, 5])
def test_good_batches_after_the_cut_are_those_that_a_salvage_keeps(
    base: int, made: Path, tmp_path: Path
) -> None:
    flip(made / file_name(base, "log"), 70)
    plan = plan_recovery(made, index_interval_bytes=50, from_start=True)
    report = plan_salvage(made, tmp_path / "salvaged" / made.name).apply()
    with PartitionLog(tmp_path / "salvaged" / made.name) as log:
        kept = list(log.batches(omissions=Omissions()))
    before = [each for each in kept if each.base_offset < plan.end_offset]
    after = kept[len(before) :]
    good = plan.good_after_cut
    assert report.batches == len(kept) and bool(before) is (base > 0)
    assert good == GoodAfterCut(
        len(after),
        sum(each.count for each in after),
        sum(each.size for each in after),
        after[0].base_offset,
        after[-1].last_offset,
    )


def test_nothing_good_follows_a_torn_tail_or_zeros(made: Path) -> None:
    for tail in (b"torn", bytes(100)):
        append(last_log(made), tail)
        assert plan_recovery(made, index_interval_bytes=50).good_after_cut is None
