"""What is at a path is decided once: the finder, and the planner of Spark's source over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kodec.log.files.listing import list_partition
from kodec.log.files.paths import PartitionPath
from kodec.log.remote.resolve import (
    LogDirectoryPath,
    LogPath,
    NotALog,
    RemoteStoragePath,
    find_logs,
    resolve,
)
from kodec.log.remote.tier import list_tiered, remote_of
from tests.log_paths import CASES, Case

pytestmark = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def segments(what: LogPath) -> list[Path]:
    if isinstance(what, LogDirectoryPath):
        return [each.log for folder in what.partitions for each in list_partition(folder.path).segments]
    if isinstance(what, RemoteStoragePath):
        return [each.log for folder in what.folders for each in list_tiered(folder)]
    if isinstance(what, PartitionPath):
        return [each.log for each in list_partition(what.path).segments]
    return [what.path]


def test_what_is_at_a_path(case: Case, tmp_path: Path) -> None:
    path = case.make(tmp_path)
    if case.segments is None:
        with pytest.raises(NotALog, match=str(path)):
            find_logs(path)
    else:
        found = [each for what in find_logs(path) for each in segments(what)]
        assert sorted(found) == sorted(tmp_path / each for each in case.segments)


def test_commands_take_one_thing(case: Case, tmp_path: Path) -> None:
    path = case.make(tmp_path)
    if case.segments is None or not case.resolves:
        with pytest.raises(NotALog, match=str(path)):
            resolve(path)
    elif isinstance(found := find_logs(path)[0], RemoteStoragePath):
        # under the names of a log directory
        view = resolve(path)
        assert isinstance(view, LogDirectoryPath)
        assert remote_of(view.path) is not None
        assert [each.topic_partition for each in view.partitions] == [
            each.topic_partition for each in found.folders
        ]
    else:
        assert resolve(path) == found


def test_a_relative_path_is_the_same_thing(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = case.make(tmp_path)
    folder, name = (path, ".") if path.is_dir() else (path.parent, path.name)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PWD", raising=False)
    if case.segments is None or not case.resolves:
        with pytest.raises(NotALog):
            resolve(name)
    else:
        assert type(resolve(name)) is type(resolve(path))
