"""The page of platforms has rows of one commit, and is written when it has all of them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.data import ROOT

ROWS = [
    {"name": "Linux x86-64, glibc", "version": "3.12", "tag": "manylinux_2_17_x86_64", "include": []},
    {"name": "Windows x86-64", "version": "3.13", "tag": "win_amd64", "include": [], "note": "A note."},
]


@pytest.fixture
def platforms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("platforms", ROOT / "release" / "platforms.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # a clone of two commits, where nothing is built
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def results(platforms: ModuleType, rows: list[dict[str, object]], commit: str, out: Path) -> None:
    out.mkdir(exist_ok=True)
    found = {
        platforms.key_of(one): {**one, "size": 2_000_000, "day": "2030-01-31", "tests": "9 passed"}
        for one in rows
    }
    (out / f"{commit}.json").write_text(json.dumps(found))


def run(platforms: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    page, listed = tmp_path / "page.md", tmp_path / "list.json"
    listed.write_text(json.dumps(ROWS))
    words = [
        "platforms.py",
        str(listed),
        "--to",
        str(tmp_path / "out"),
        "--table",
        str(page),
        "--only",
        "none",
    ]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(platforms, "prepared", lambda work, commit: (work, work))
    platforms.main()
    return page


def test_the_page_has_the_rows_of_this_commit(
    platforms: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results(platforms, ROWS, platforms.short("HEAD"), tmp_path / "out")
    text = run(platforms, tmp_path, monkeypatch).read_text("utf-8")
    assert f"of commit {platforms.short('HEAD')} (2030-01-31)" in text
    assert text.index("| Linux x86-64, glibc | 3.12 |") < text.index(
        "| Windows x86-64 | 3.13 | `win_amd64` | 2000 |"
    )
    assert text.endswith("Windows x86-64, 3.13: A note.\n")


def test_rows_of_another_commit_or_too_few_rows_make_no_page(
    platforms: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results(platforms, ROWS, "12345678", tmp_path / "out")
    results(platforms, ROWS[:1], platforms.short("HEAD"), tmp_path / "out")
    assert not run(platforms, tmp_path, monkeypatch).exists()
    assert f"commit {platforms.short('HEAD')} has no result of Windows x86-64 3.13" in capsys.readouterr().out
