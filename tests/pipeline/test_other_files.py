"""Files and folders of other names in and beside a log: one rule for all that reads logs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.log.omissions import Omissions
from kodec.log.remote.resolve import NotALog
from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.plan import found_logs, list_segments
from tests.data import LOGS

SEGMENT = "00000000000000000000.log"
# In the folder of a topic-partition: no broker takes them for a part of its log.
IN_A_LOG = (
    f"{SEGMENT}.bak", f"{SEGMENT}~", f".{SEGMENT}", f".{SEGMENT}.crc", f"{SEGMENT}.deleted",
    f"copy-of-{SEGMENT}",
    "0.log", f".snapshots/{SEGMENT}", f"sub/{SEGMENT}", "leader-epoch-checkpoint.bak",
)  # fmt: skip
# Beside them: a folder that holds segments is named.
BESIDE = ("orders-0.bak", ".hidden", "orders-0~", "orders-")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "logs"
    shutil.copytree(LOGS / "orders-0", root / "orders-0")
    shutil.copy(LOGS / "meta.properties", root)
    return root


def source(path: object) -> int:
    """Of the sources of Spark: what a query and each batch of a stream list."""
    return len(list_segments(Options(paths=(path,)), Omissions()))


def table(path: object) -> int:
    return len(kodec.read_table(str(path), columns=["offset"]))


DOORS: dict[str, Callable[[object], int]] = {
    "table": table,
    "records": lambda path: sum(1 for _ in kodec.PartitionLog(str(path)).records()),
    "source": source,
}


@pytest.mark.parametrize("name", IN_A_LOG)
@pytest.mark.parametrize("door", DOORS)
def test_a_file_of_another_name_is_no_part_of_a_log(root: Path, name: str, door: str) -> None:
    folder = root / "orders-0"
    expected = DOORS[door](folder)
    (folder / name).parent.mkdir(exist_ok=True)
    shutil.copy(folder / SEGMENT, folder / name)
    assert DOORS[door](folder) == expected
    problems = [each for each in kodec.repair.verify(folder) if not each.note]
    assert problems == []


@pytest.mark.parametrize("name", [name for name in IN_A_LOG if not name.startswith(".") and "/" not in name])
@pytest.mark.parametrize("door", ["table", "source"])
def test_a_glob_that_names_one_is_refused(root: Path, name: str, door: str) -> None:
    folder = root / "orders-0"
    expected = DOORS[door](folder / "*.log")
    shutil.copy(folder / SEGMENT, folder / name)
    with pytest.raises((NotALog, OptionError), match="not a segment"):
        DOORS[door](folder / f"*{name[-6:]}*")
    if not name.endswith(".log"):
        assert DOORS[door](folder / "*.log") == expected


@pytest.mark.parametrize("name", [name for name in IN_A_LOG if name.startswith(".") and "/" not in name])
@pytest.mark.parametrize("door", ["table", "source"])
def test_no_glob_names_a_hidden_one(root: Path, name: str, door: str) -> None:
    folder = root / "orders-0"
    expected = DOORS[door](folder / "*.log")
    shutil.copy(folder / SEGMENT, folder / name)
    assert DOORS[door](folder / "*.log") == expected


@pytest.mark.parametrize("name", BESIDE)
def test_a_folder_of_another_name_is_named_if_it_holds_segments(root: Path, name: str) -> None:
    expected = source(root)
    shutil.copytree(root / "orders-0", root / name)
    omissions = Omissions()
    found = found_logs(Options(paths=(root,)), omissions)
    assert [str(each) for each in found] == ["orders-0"] and source(root) == expected
    assert [each.path.name for each in omissions] == [name]
    assert [each.path.name for each in kodec.repair.verify(root) if not each.note] == [name]
