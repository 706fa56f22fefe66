"""The root of remote storage: its path, or that of a folder that holds nothing else, for every command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.remote.resolve import NotALog
from tests.golden import Golden

TIER = Path("tests/data/tiered-4.3.1/tier")


@pytest.fixture
def configured(tmp_path: Path) -> Path:
    """The folder that a broker is configured with: Kafka's local tier makes another one in it."""
    shutil.copytree(TIER, tmp_path / "dir" / "kafka-tiered-storage")
    return tmp_path / "dir"


@pytest.mark.parametrize(
    ("verb", "code"),
    [
        (["ls"], 0),
        (["verify"], 0),
        (["find", "--count"], 0),
        (["epochs"], 0),
        (["producers"], 0),
        (["retention"], 0),
        (["dump"], 0),
        (["inventory"], 0),
    ],
)
def test_a_folder_with_nothing_else_is_read_as_the_root(
    verb: list[str], code: int, configured: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([verb[0], str(configured / "kafka-tiered-storage"), *verb[1:]]) == code
    wanted = capfd.readouterr().out
    assert main([verb[0], str(configured), *verb[1:]]) == code
    assert capfd.readouterr().out == wanted and wanted


def test_of_several_one_must_be_named(
    configured: Path, capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    shutil.copytree(TIER, configured / "other")
    for verb in (["ls"], ["find", "--count"], ["verify"]):
        assert main([verb[0], str(configured), *verb[1:]]) == 2
        golden(capfd.readouterr().err)
    with pytest.raises(NotALog):
        kodec.LogDirectory(configured)


def test_a_folder_of_log_directories_is_no_empty_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (tmp_path / "kafka-logs").mkdir()
    with kodec.LogWriter(tmp_path / "kafka-logs" / "orders-0") as log:
        log.append([kodec.Record(value=b"v")])
    assert main(["ls", str(tmp_path)]) == 2
    golden(capfd.readouterr().err)
