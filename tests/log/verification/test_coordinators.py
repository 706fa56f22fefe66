"""Whether brokers load a partition of a coordinator's topic; `coordinators_lab.py` asks brokers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kodec
from tests.golden import Golden
from tests.log.made import batch, make, marker

from .loadings import COMMIT, GROUPS, LOADINGS, TRANSACTIONS, Loading, transaction

pytestmark = pytest.mark.quick


def written(folder: Path, case: Loading) -> Path:
    entries = [batch(offset, [each]) for offset, each in enumerate(case.pairs)]
    return make(folder / f"{case.topic}-0", [(0, entries)])


def problems(path: Path) -> list[str]:
    return [str(each) for each in kodec.repair.verify(path) if not each.note]


@pytest.mark.parametrize("name", LOADINGS)
def test_the_record_at_which_a_version_ends_is_named(tmp_path: Path, name: str) -> None:
    case = LOADINGS[name]
    found = problems(written(tmp_path, case))
    ends = {case.old, case.new} - {None}
    assert len(found) == len(ends) + case.stuck + (case.skipped not in {None, *ends}), found
    assert all(f"{0:020d}.log: byte " in each for each in found)
    text = "\n".join(found)
    for version, offset, effects in (
        ("3.9", case.old, ("no group of the partition is loaded", "reading ends")),
        ("4.3", case.new, ("the partition is not loaded", "reading ends")),
        ("4.4", None if case.lenient else case.new, ("the partition is not loaded", "reading ends")),
        ("4.4", case.skipped, ("the record is skipped",)),
    ):
        told = re.compile(rf"Kafka [^:]*{re.escape(version)}[^:]*: ({'|'.join(effects)})")
        lines = [each for each in found if told.search(each)]
        assert len(lines) == (offset is not None), text
        assert all(f": offset {offset}" in each for each in lines), text
    assert ("the partition is never loaded" in text) is case.stuck


def test_unknown_types_are_a_note(tmp_path: Path, golden: Golden) -> None:
    found = list(kodec.repair.verify(written(tmp_path, LOADINGS["records of an unknown type"])))
    golden([each.have for each in found if each.what == "records"])


def test_the_group_and_what_is_needed_are_named(tmp_path: Path, golden: Golden) -> None:
    case = LOADINGS["a classic group, then a member of a consumer group"]
    (found,) = problems(written(tmp_path, case))
    golden(found)
    assert "NOT_COORDINATOR" in found


def test_a_transaction_marker_is_no_record_of_a_group(tmp_path: Path) -> None:
    entries = [batch(0, [COMMIT], producer=(5, 0, 0), transactional=True), marker(1, 5, commit=True)]
    assert problems(make(tmp_path / f"{GROUPS}-0", [(0, entries)])) == []


def test_after_damage_nothing_is_replayed(tmp_path: Path) -> None:
    case = LOADINGS["a group's tombstone with members"]
    path = written(tmp_path, case)
    log = path / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    second = list(kodec.read_batches(bytes(data)))[1]
    data[second.position + 70] ^= 1
    log.write_bytes(data)
    found = list(kodec.repair.verify(path))
    assert not any("Kafka " in str(each) for each in found)
    assert [each.have for each in found if "coordinator loads" in each.what] == ["damage after offset 0"]


def test_the_ids_before_a_failure_are_counted(tmp_path: Path, golden: Golden) -> None:
    case = LOADINGS["an unknown state"]
    (found,) = problems(written(tmp_path, case))
    golden(found)
    kept = Loading(TRANSACTIONS, [transaction("a"), transaction("b")])
    assert problems(written(tmp_path / "other", kept)) == []
