"""`make release` publishes only what is committed, pushed and described."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "release" / "publish.sh"
PROJECT = '[project]\nversion = "1.2.3"\n[project.urls]\nRepository = "https://example.invalid/kodec"\n'
CHANGES = "# Changelog\n\n## 1.2.3 (2030-01-31)\n"


def git(where: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    return subprocess.run(
        ["git", *who, *words], cwd=where, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote")
    git(tmp_path, "clone", "-q", "remote", "clone")
    made = tmp_path / "clone"
    (made / "release").mkdir()
    shutil.copy(SCRIPT, made / "release")
    (made / "pyproject.toml").write_text(PROJECT)
    (made / "CHANGELOG.md").write_text(CHANGES)
    git(made, "checkout", "-q", "-b", "main")
    git(made, "config", "user.name", "a")
    git(made, "config", "user.email", "a@example.invalid")
    git(made, "add", ".")
    git(made, "commit", "-q", "-m", "All")
    git(made, "push", "-q", "origin", "main")
    return made


def publish(clone: Path, version: str = "1.2.3") -> subprocess.CompletedProcess[str]:
    command = ["sh", str(clone / "release" / "publish.sh"), version]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_version_is_tagged_and_pushed(clone: Path) -> None:
    done = publish(clone)
    assert done.returncode == 0, done.stderr
    assert git(clone, "ls-remote", "--tags", "origin", "v1.2.3")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("pyproject.toml", PROJECT.replace("1.2.3", "1.2.4"), "another version than 1.2.3"),
        ("pyproject.toml", PROJECT.replace("Repository", "Home"), "Repository is missing"),
        ("CHANGELOG.md", "## 1.2.3 (unreleased)\n", "no section '## 1.2.3 (YYYY-MM-DD)'"),
        ("new", "not committed", "changes that are not committed"),
    ],
)
def test_what_is_not_ready_is_refused(clone: Path, file: str, text: str, said: str) -> None:
    (clone / file).write_text(text)
    refused(clone, said)


def test_commits_that_are_not_pushed_are_refused(clone: Path) -> None:
    git(clone, "commit", "-q", "--allow-empty", "-m", "Local")
    refused(clone, "HEAD is not main of origin")


def refused(clone: Path, said: str) -> None:
    done = publish(clone)
    assert done.returncode == 1
    assert done.stderr.startswith("not published: ")
    assert said in done.stderr
    assert not git(clone, "ls-remote", "--tags", "origin")


# What cibuildwheel would find on each kind of the forge's machines.
MACHINES = {
    "ubuntu-24.04": ("linux", "x86_64"),
    "ubuntu-24.04-arm": ("linux", "aarch64"),
    "macos-15": ("macos", "arm64"),
    "macos-15-intel": ("macos", "x86_64"),
    "windows-2025": ("windows", "AMD64"),
}


def test_the_forge_builds_the_wheels_that_the_page_promises() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    first, last = re.search(r"Each release has wheels for CPython 3\.(\d+) to 3\.(\d+) on", page).groups()
    rows = re.findall(r"^\| .* \(`(\w+)`\) \| (.*) \|$", page, re.MULTILINE)
    promised = {
        f"cp3{minor}-{system}_{machine}"
        for minor in range(int(first), int(last) + 1)
        for system, machines in rows
        for machine in re.findall(r"`(\w+)`", machines)
    }
    assert len(promised) == 28
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8"))
    built: list[str] = []
    for machine in workflow["jobs"]["wheels"]["strategy"]["matrix"]["os"]:
        platform, arch = MACHINES[machine]
        command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers"]
        command += ["--platform", platform, "--archs", arch, str(ROOT)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CIBW_")}
        built += subprocess.run(command, check=True, capture_output=True, text=True, env=clean).stdout.split()
    assert sorted(built) == sorted(promised)
