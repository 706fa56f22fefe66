"""What a compaction or a split has left half done, and a recovery that is itself cut short."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kodec.log.files.checkpoints import write_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import file_name
from kodec.log.files.quarantine import default_quarantine
from kodec.log.recovery.planning import plan_recovery
from tests.log.recovery.recovered import (
    POINTS,
    STARTS,
    compacted,
    files_of,
    flip,
    kept,
    recover,
    rows,
    swapped,
)

# -- leftovers ----------------------------------------------------------------------------------------


def test_leftovers_go_and_orphans_too(made: Path) -> None:
    before = files_of(made)
    for name in ("00000000000000000000.log.deleted", "00000000000000000005.index.cleaned"):
        (made / name).write_bytes(b"left")
    (made / file_name(300, "timeindex")).write_bytes(b"")
    (made / "00000000000000000005-0000000001-x.checkpoint.deleted").write_bytes(b"KRaft's own")
    plan = recover(made)
    assert set(kept(made)) >= {
        "00000000000000000000.log.deleted",
        "00000000000000000005.index.cleaned",
        file_name(300, "timeindex"),
    }
    assert {name for name in files_of(made) if not name.endswith(".deleted")} == set(before)
    assert plan.truncated_bytes == 0


@pytest.mark.parametrize("step", ["cleaned", "swap", "half deleted", "half named"])
def test_a_replacement_is_taken_back_or_completed(step: str, made: Path) -> None:
    all_rows = rows(made)
    new = compacted(made)
    suffix = ".cleaned" if step == "cleaned" else ".swap"
    for name, data in new.items():
        (made / (name + suffix)).write_bytes(data)
    if step in ("half deleted", "half named"):
        for path in made.glob("00000000000000000000.*"):
            if not path.name.endswith(suffix):
                path.rename(path.with_name(path.name + ".deleted"))
    if step == "half named":
        for path in made.glob("*005.*"):
            path.rename(path.with_name(path.name + ".deleted"))
        (made / "00000000000000000000.index.swap").rename(made / "00000000000000000000.index")
    recover(made, interval=50)
    if step == "cleaned":
        assert rows(made) == all_rows
    else:
        assert [offset for offset, _ in rows(made)] == [0, 1, 3, 4, 5, 6, 10, 11]
        assert {name: (made / name).read_bytes() for name in new} == new


def test_a_split_that_is_not_complete_is_taken_back(made: Path) -> None:
    before, all_rows = files_of(made), rows(made)
    data = before[file_name(5, "log")]
    (made / (file_name(8, "log") + ".swap")).write_bytes(data[159:])
    (made / (file_name(5, "log") + ".cleaned")).write_bytes(data[:159])
    recover(made, interval=50)
    assert rows(made) == all_rows and files_of(made) == before


def test_what_an_empty_replacement_takes_the_place_of_is_kept(made: Path) -> None:
    before = (made / file_name(10, "log")).read_bytes()
    (made / (file_name(10, "log") + ".swap")).write_bytes(b"")
    recover(made, interval=50)
    assert kept(made)[file_name(10, "log")] == before


# -- cut short itself ---------------------------------------------------------------------------------


class Crash(BaseException):
    """The machine goes down."""


SCENES: dict[str, Callable[[Path], None]] = {
    "damage": lambda folder: flip(folder / file_name(0, "log"), 200),
    "a swap": lambda folder: swapped(folder),
    "a new start": lambda folder: write_offsets(folder.parent / STARTS, {TopicPartition("t", 0): 500}),
    "bad beside": lambda folder: (
        [each.write_bytes(b"x") for each in folder.iterdir() if each.suffix != ".log" and each.is_file()]
        and None
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("scene", SCENES)
def test_recovery_can_be_cut_short_anywhere(
    scene: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SCENES[scene](made)
    write_offsets(made.parent / POINTS, {TopicPartition("t", 0): 0})
    damaged = {each: each.read_bytes() for each in made.parent.rglob("*") if each.is_file()}
    recover(made, from_start=True, interval=50)
    right = files_of(made)
    for number in range(10_000):
        shutil.rmtree(made.parent)
        shutil.rmtree(default_quarantine(made.parent), ignore_errors=True)
        made.mkdir(parents=True)
        for path, data in damaged.items():
            path.write_bytes(data)
        crashed = crash_at(number, made, monkeypatch)
        recover(made, from_start=True, interval=50)
        assert files_of(made) == right
        whole = b"".join(kept(made).values())
        for path, data in damaged.items():
            # No log is lost: what is not in its place is aside.
            if path.suffix == ".log" and path.parent == made and right.get(path.name) != data:
                rest = (
                    data[len(right.get(path.name, b"")) :]
                    if data.startswith(right.get(path.name, b"x"))
                    else data
                )
                assert rest in whole or data in whole
        if not crashed:
            assert number > 5
            return


def crash_at(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Recover, and go down before change `number` of the disk; whether there were so many."""
    left = number

    def guarded(real: Callable[..., object]) -> Callable[..., object]:
        def change(*args: object, **options: object) -> object:
            nonlocal left
            if left == 0:
                raise Crash
            left -= 1
            return real(*args, **options)

        return change

    with monkeypatch.context() as patch:
        for owner, name in (
            (os, "write"),
            (os, "truncate"),
            (Path, "rename"),
            (Path, "replace"),
            (Path, "unlink"),
            (Path, "mkdir"),
        ):
            patch.setattr(owner, name, guarded(getattr(owner, name)))
        try:
            plan_recovery(folder, from_start=True, index_interval_bytes=50).apply()
        except Crash:
            return True
    return False
