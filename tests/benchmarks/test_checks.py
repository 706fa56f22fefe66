"""The benchmark of broken directories runs, and its directories are broken."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from kodec.cli.main import main


def test_it_prints_a_table_for_each_size(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks, directory = map(importlib.import_module, ("benchmarks.checks", "benchmarks.directory"))
    monkeypatch.setattr(directory, "_ROWS", 200)
    given = ["--base", "20", "--copies", "1", "2", "--rounds", "1", "--only", "recover, the plan"]
    assert checks.main(given) == 0
    out = capsys.readouterr().out
    assert "20 topic-partitions" in out and "40 topic-partitions" in out
    assert out.count("| recover, the plan |") == 2


def test_its_directories_are_broken(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checks, directory = map(importlib.import_module, ("benchmarks.checks", "benchmarks.directory"))
    monkeypatch.setattr(directory, "_ROWS", 200)
    directory.build(tmp_path / "base", 20, 20)
    checks.make(tmp_path / "logs", tmp_path / "base", 1)
    assert main(["verify", str(tmp_path / "logs")]) == 1
    assert main(["recover", str(tmp_path / "logs")]) == 3
    assert "byte" in capsys.readouterr().out
