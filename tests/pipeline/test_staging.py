"""How what a job has made becomes visible: whole, or not at all."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kodec.log.files import durable
from kodec.pipeline.staging import staged


def tree(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))]


def test_only_what_is_taken_is_published(tmp_path: Path) -> None:
    with staged(tmp_path / "new" / "out", [tmp_path]) as staging:
        won, lost = staging.attempt(), staging.attempt()
        for attempt in (won, lost):
            (attempt / "a").touch()
        staging.take(won / "a", "topic/a")
        staging.publish(tmp_path / "new" / "out")
        # An attempt that Spark gave up on goes on, and harms nobody.
        (lost / "b").touch()
    assert tree(tmp_path) == ["new", "new/out", "new/out/topic", "new/out/topic/a"]
    with pytest.raises(FileNotFoundError):
        staging.attempt()


def test_what_was_made_elsewhere_or_twice_is_refused(tmp_path: Path) -> None:
    with staged(tmp_path / "out", [tmp_path]) as staging:
        with pytest.raises(FileNotFoundError, match="share the file system"):
            staging.take(staging.attempt() / "a", "a")
        for wanted in (True, False):
            attempt = staging.attempt()
            (attempt / "a").touch()
            if wanted:
                staging.take(attempt / "a", "a")
                continue
            with pytest.raises(FileExistsError, match="a was made by two tasks"):
                staging.take(attempt / "a", "a")
    assert tree(tmp_path) == []


def test_publishing_replaces_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    with staged(tmp_path / "out", [tmp_path]) as staging:
        (staging.result / "new").touch()
        staging.publish(tmp_path / "out")
    assert tree(tmp_path) == ["out", "out/new"]


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="cannot exchange names")
def test_there_is_always_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is killed while it publishes leaves the old one or the new one: one step exchanges them."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()

    def swapped(one: bytes, other: bytes) -> int:
        assert tree(tmp_path / "out") == ["old"]
        error = swap(one, other)
        assert tree(tmp_path / "out") == ["new"]
        return error

    def moved(self: Path, target: Any) -> Path:
        raise AssertionError(f"{self} was renamed")

    swap = durable._swap
    with staged(tmp_path / "out", [tmp_path]) as staging:
        (staging.result / "new").touch()
        monkeypatch.setattr(durable, "_swap", swapped)
        monkeypatch.setattr(Path, "rename", moved)
        staging.publish(tmp_path / "out")
    assert tree(tmp_path) == ["out", "out/new"]


def test_where_names_cannot_be_exchanged_the_target_is_moved_away_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "_swap", lambda one, other: errno.ENOSYS)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    with staged(tmp_path / "out", [tmp_path]) as staging:
        (staging.result / "new").touch()
        staging.publish(tmp_path / "out")
    assert tree(tmp_path) == ["out", "out/new"]


def test_an_error_of_the_exchange_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "_swap", lambda one, other: errno.EACCES)
    (tmp_path / "out").mkdir()
    with pytest.raises(PermissionError), staged(tmp_path / "out", [tmp_path]) as staging:
        staging.publish(tmp_path / "out")
    assert tree(tmp_path) == ["out"]


def test_publishing_that_fails_puts_back_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    rename = Path.rename

    def fails(self: Path, target: Any) -> Path:
        if self.name == "result":
            raise OSError("disk full")
        return rename(self, target)

    monkeypatch.setattr("kodec.log.files.durable._swap", lambda one, other: errno.EINVAL)
    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="disk full"), staged(tmp_path / "out", [tmp_path]) as staging:
        staging.publish(tmp_path / "out")
    assert tree(tmp_path) == ["out", "out/old"]


def test_what_a_killed_job_left_is_removed_and_what_it_moved_is_put_back(tmp_path: Path) -> None:
    dead = tmp_path / f".out.kodec-{'0' * 32}"
    (dead / "replaced").mkdir(parents=True)
    (dead / "replaced" / "precious").touch()
    other = tmp_path / f".outer.kodec-{'0' * 32}"
    other.mkdir()
    with staged(tmp_path / "out", [tmp_path]) as running:
        with staged(tmp_path / "out", [tmp_path]):
            assert running.path.exists()
        assert not dead.exists()
    assert tree(tmp_path) == [other.name, "out", "out/precious"]


@pytest.mark.parametrize("how", ["a link", "of another user"])
def test_what_others_have_put_there_is_no_part_of_the_output(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / f".out.kodec-{'0' * 32}"
    place = tmp_path / "elsewhere" if how == "a link" else planted
    for name in ("replaced", "finished/key"):
        (place / name).mkdir(parents=True)
        (place / name / "forged").touch()
    if how == "a link":
        planted.symlink_to(place)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: planted.stat().st_uid + 1)
    before = tree(place)
    with staged(tmp_path / "out", [tmp_path], resume=True) as staging:
        assert not staging.finished("key").exists()
    assert tree(place) == before and not (tmp_path / "out").exists()


def test_a_name_with_wildcards_is_a_name(tmp_path: Path) -> None:
    other = tmp_path / f".out1.kodec-{'0' * 32}"
    dead = tmp_path / f".out[1].kodec-{'0' * 32}"
    for each in (other, dead):
        each.mkdir()
    with staged(tmp_path / "out[1]", [tmp_path]):
        pass
    assert tree(tmp_path) == [other.name]
