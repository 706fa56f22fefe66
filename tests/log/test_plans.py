"""Plans: `apply` does nothing if anything has changed since that the plan was made from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.errors import StalePlan
from kodec.log.cleaning.compaction import plan_compaction
from kodec.log.cleaning.redaction import plan_redaction
from kodec.log.cleaning.retention import plan_trim
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.partition import plan_conversion
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.lock import locked
from kodec.log.recovery.planning import plan_recoveries, plan_recovery, plan_reindex
from kodec.log.recovery.salvage import plan_salvage
from kodec.log.recovery.steps import Step
from kodec.log.writing.new_folder import new_folder, working_name
from tests.golden import Golden

from . import made
from .faults import Faults
from .made import batch

TOPIC = kodec.TopicPartition("topic", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four segments of keys that repeat, an index missing and a torn tail after the last batch."""
    keys = [(b"k%d" % (n % 3), b"v") for n in range(10)]
    path = made.make(tmp_path / "logs" / "topic-0", [(at * 10, [batch(at * 10, keys)]) for at in range(4)])
    (path / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (path.parent / "recovery-point-offset-checkpoint").write_text("0\n2\ntopic 0 10\nother 0 5\n")
    return path


def append(path: Path, data: bytes) -> None:
    path.write_bytes(path.read_bytes() + data)


def _recovery(folder: Path) -> Any:
    append(folder / f"{30:020d}.log", b"torn")
    return plan_recovery(folder)


def _reindex(folder: Path) -> Any:
    (folder / f"{10:020d}.index").write_bytes(b"\0" * 8)
    return plan_reindex(folder)


def _trim(folder: Path) -> Any:
    return plan_trim(folder, before_offset=25)


def _compaction(folder: Path) -> Any:
    return plan_compaction(folder)


def _redaction(folder: Path) -> Any:
    return plan_redaction(folder, kodec.RecordFilter(keys=b"k1"))


def _conversion(folder: Path) -> Any:
    return plan_conversion(folder, folder.parents[1] / "out" / "topic-0", ConvertOptions(compression="gzip"))


def _salvage(folder: Path) -> Any:
    return plan_salvage(folder, folder.parents[1] / "out" / "topic-0")


PLANS = [_recovery, _reindex, _trim, _compaction, _redaction, _conversion, _salvage]


def _takes_records(folder: Path) -> None:
    append(folder / f"{30:020d}.log", batch(40, [(b"k", b"new")]))


def _rolls(folder: Path) -> None:
    (folder / f"{40:020d}.log").write_bytes(batch(40, [(b"k", b"new")]))


def _deletes_a_segment(folder: Path) -> None:
    (folder / f"{0:020d}.log").unlink()


def _exchanges_a_byte(folder: Path) -> None:
    """As a copy in place that keeps size and time."""
    path = folder / f"{10:020d}.log"
    status, data = path.stat(), bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _restores_another_file(folder: Path) -> None:
    path = folder / f"{10:020d}.log"
    shutil.copy2(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


def _moves_the_recovery_point(folder: Path) -> None:
    (folder.parent / "recovery-point-offset-checkpoint").write_text("0\n1\ntopic 0 40\n")


def _deletes_records(folder: Path) -> None:
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\ntopic 0 15\n")


def _replicates(folder: Path) -> None:
    (folder.parent / "replication-offset-checkpoint").write_text("0\n1\ntopic 0 20\n")


def _compacts(folder: Path) -> None:
    (folder.parent / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 0 20\n")


def _learns_an_epoch(folder: Path) -> None:
    (folder / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 40\n")


CHANGES = [
    _takes_records,
    _rolls,
    _deletes_a_segment,
    _exchanges_a_byte,
    _restores_another_file,
    _moves_the_recovery_point,
    _deletes_records,
    _replicates,
    _compacts,
    _learns_an_epoch,
]


def everything(folder: Path) -> dict[str, bytes]:
    root = folder.parents[1]
    found = (path for path in root.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", PLANS)
def test_a_stale_plan_changes_nothing(
    folder: Path, make: Callable[[Path], Any], change: Callable[[Path], None]
) -> None:
    plan = make(folder)
    assert getattr(plan, "has_changes", True)  # a conversion always has
    change(folder)
    before = everything(folder)
    with pytest.raises(kodec.errors.StalePlan, match="since the plan was made: plan again"):
        plan.apply()
    assert everything(folder) == before


@pytest.mark.parametrize("make", PLANS)
def test_a_plan_is_applied_once(folder: Path, make: Callable[[Path], Any]) -> None:
    plan = make(folder)
    plan.apply()
    after = everything(folder)
    # The lock's file stays where a broker works, and not where a new folder was made.
    assert (folder.parent / ".lock").exists() == (make not in (_conversion, _salvage))
    assert not (folder.parents[1] / "out" / ".lock").exists()
    with pytest.raises((kodec.errors.StalePlan, FileExistsError)):
        plan.apply()
    assert everything(folder) == after


@pytest.mark.parametrize("make", PLANS)
def test_a_plan_is_not_applied_while_another_one_is(folder: Path, make: Callable[[Path], Any]) -> None:
    plan = make(folder)
    before = everything(folder)
    held = folder
    if make in (_conversion, _salvage):
        held = folder.parents[1] / "out" / working_name("topic-0")
        held.mkdir(parents=True)
    with locked(held.parent) as lock, lock.claim(held), pytest.raises(BlockingIOError, match="in use"):
        plan.apply()
    assert everything(folder) == before
    plan.apply()


def test_what_changes_for_others_makes_no_plan_stale(folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "other-0")
    (folder / f"{30:020d}.index").unlink(missing_ok=True)
    append(folder / f"{30:020d}.log", b"torn")
    append(folder.parent / "other-0" / f"{30:020d}.log", b"torn")
    (folder.parent / "recovery-point-offset-checkpoint").write_text("0\n2\ntopic 0 90\nother 0 95\n")
    # Each lowers its own recovery point, in the same file.
    plans = list(plan_recoveries(folder.parent))
    assert [plan.has_changes for plan in plans] == [True, True]
    for plan in plans:
        plan.apply()
    assert [plan.has_changes for plan in plan_recoveries(folder.parent)] == [False, False]


def test_a_source_that_changes_while_it_is_copied(folder: Path) -> None:
    def takes(size: int) -> None:
        _takes_records(folder)

    big = [(b"k", os.urandom(1 << 20))] * 5
    append(folder / f"{30:020d}.log", batch(40, big))
    target = folder.parents[1] / "out" / "topic-0"
    for plan in (
        plan_salvage(folder, target, progress=takes),
        plan_conversion(folder, target, ConvertOptions(compression="gzip"), progress=takes),
    ):
        with pytest.raises(kodec.errors.StalePlan):
            plan.apply()
        assert list(target.parent.iterdir()) == []


def test_a_fingerprint_names_what_has_changed(folder: Path) -> None:
    found = Fingerprint.of(folder)
    found.require()
    assert found.topic_partition == TOPIC
    (folder / "new").touch()
    with pytest.raises(kodec.errors.StalePlan, match="topic-0/new: was made since"):
        found.require()
    (folder / "new").unlink()
    (folder.parent / "replication-offset-checkpoint").write_text("0\n1\ntopic 0 20\n")
    with pytest.raises(kodec.errors.StalePlan, match="offset of topic-0 has changed from None to 20"):
        found.require()
    shutil.rmtree(folder)
    with pytest.raises(kodec.errors.StalePlan, match="topic-0: was deleted since"):
        found.require()


def test_an_error_in_the_middle_says_how_far_it_came(folder: Path, golden: Golden) -> None:
    plan = _recovery(folder)
    assert len(plan.steps) > 2
    for number in range(len(plan.steps)):
        shutil.rmtree(folder.parents[1] / "logs.quarantine", ignore_errors=True)
        copy = folder.parents[1] / f"copy{number}" / "topic-0"
        shutil.copytree(folder, copy)
        done: list[Step] = []
        plan = plan_recovery(copy)
        with (
            Faults(number, calls=("replace", "rename")),
            pytest.raises(OSError, match="Input/output") as error,
        ):
            plan.apply(on_step=done.append)
        (note,) = error.value.__notes__
        golden(note)
        # and it can be gone on with
        plan_recovery(copy).apply()
        assert not plan_recovery(copy).has_changes


@pytest.mark.parametrize("number", [0, 1])
def test_a_new_folder_is_not_made_of_sources_that_change_meanwhile(
    folder: Path, tmp_path: Path, number: int
) -> None:
    """They are compared at the end too: what was read first may have changed since."""
    sources = [folder, shutil.copytree(folder, tmp_path / "other" / "topic-0")]
    target = tmp_path / "new" / "topic-0"
    prints = [Fingerprint.of(each) for each in sources]
    with kodec.PartitionLog(folder) as log:
        with pytest.raises(StalePlan), new_folder(log, target, *prints) as made_there:
            (made_there / "file").write_bytes(b"")
            with (sources[number] / f"{0:020d}.log").open("ab") as file:
                file.write(b"\0")
        assert not target.exists() and list(target.parent.glob("topic-0*")) == []
        with new_folder(log, target, *map(Fingerprint.of, sources)):
            pass
    assert target.is_dir()
