"""What a restore does not read is refused or said: no folder is left out without a word."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.pipeline import ExportOptions, export
from tests.log.unreadable import unlisted

LOGS = Path("tests/data/kafka-4.3.1/logs")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    export(LOGS, tmp_path / "rows", ExportOptions(topics=["codec-none", "codec-gzip"]), engine="local")
    return tmp_path / "rows"


def replaced(path: Path, make: Callable[[Path], object]) -> None:
    shutil.rmtree(path)
    make(path)


OBSTACLES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a topic is a link to nothing": (
        lambda rows: replaced(rows / "topic=codec-gzip", lambda path: path.symlink_to("nowhere")),
        "topic=codec-gzip",
    ),
    "a topic is a loop": (
        lambda rows: replaced(rows / "topic=codec-gzip", lambda path: path.symlink_to(path)),
        "topic=codec-gzip",
    ),
    "a topic is a file": (
        lambda rows: replaced(rows / "topic=codec-gzip", Path.touch),
        "topic=codec-gzip",
    ),
    "a partition is a link to nothing": (
        lambda rows: replaced(rows / "topic=codec-gzip/partition=0", lambda path: path.symlink_to("nowhere")),
        "partition=0",
    ),
    "a file is a link to nothing": (
        lambda rows: (rows / "topic=codec-gzip/partition=0" / f"{1:020}.parquet").symlink_to("nowhere"),
        "00000000000000000001.parquet: not a file",
    ),
    "a folder of another name has rows": (
        lambda rows: (rows / "topic=codec-gzip").rename(rows / "codec-gzip"),
        "not in a folder named like topic=orders/partition=0",
    ),
    "a folder of another name in a topic has rows": (
        lambda rows: (rows / "topic=codec-gzip/partition=0").rename(rows / "topic=codec-gzip/p0"),
        "not in a folder named like topic=orders/partition=0",
    ),
}


@pytest.mark.parametrize("cause", OBSTACLES)
def test_what_cannot_be_read_is_refused_by_name(
    cause: str, rows: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    put, text = OBSTACLES[cause]
    put(rows)
    capfd.readouterr()
    assert main(["restore", str(rows), "--to", str(tmp_path / "logs")]) == 1
    err = capfd.readouterr().err
    assert text in err and "Traceback" not in err
    assert not (tmp_path / "logs").exists()


def test_a_folder_that_cannot_be_listed_is_refused(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        unlisted(patch, rows / "topic=codec-gzip", error)
        assert main(["restore", str(rows), "--to", str(tmp_path / "logs")]) == 1
    err = capfd.readouterr().err
    assert "topic=codec-gzip" in err and "Permission denied" in err
    assert not (tmp_path / "logs").exists()


def test_what_has_no_rows_is_said(rows: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (rows / "notes.txt").touch()
    (rows / "topic=codec-gzip" / "old").mkdir()
    assert main(["restore", str(rows), "--to", str(tmp_path / "logs")]) == 0
    err = capfd.readouterr().err
    assert "notes.txt: not read: it is not named like topic=..." in err
    assert "old: not read: it is not named like partition=..." in err
    assert len(kodec.LogDirectory(tmp_path / "logs").topic_partitions) == 2
