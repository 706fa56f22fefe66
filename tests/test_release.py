"""`make release` publishes only what is committed, pushed and described."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.data import ROOT

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


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    """A tag of an action can be moved to other code, which then has the tokens of the job."""
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    for each in used:
        assert re.fullmatch(r"\./[\w./-]+|[\w-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each
    # the same action is the same code everywhere
    pins = dict(each.split("@") for each in used if "@" in each)
    assert all(f"{name}@{pin}" in text for name, pin in pins.items())


@pytest.mark.parametrize(
    "path", [*WORKFLOWS, *sorted((ROOT / "release").glob("*.sh"))], ids=lambda path: path.name
)
def test_tools_of_a_release_are_locked(path: Path) -> None:
    """Whatever an index has of a name today must not build what is released."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    assert not re.search(r"pipx|npm install\b|curl |wget |go install", text)
    for line in re.findall(r".*pip\"? install.*", text):
        assert "--require-hashes" in line or re.search(
            r" -c \"?(\$work/versions|requirements/dev)\.txt", line
        ), line


def test_nobody_is_told_to_install_a_name_that_is_not_ours_yet() -> None:
    """Whoever registers a name on an index first is installed by all who follow a page that has it."""
    tracked = git(ROOT, "ls-files", "-z").split("\0")
    pages = [
        ROOT / each
        for each in tracked
        if each.endswith((".md", ".j2", ".py", ".txt", ".yml")) and not each.startswith("tests/")
    ]
    found = [
        (str(path.relative_to(ROOT)), line)
        for path in pages
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if re.search(
            r"(pip|pipx|uv) (install|run|add|tool install)\b[^`\n]*\s['\"]?kodec(\[|['\"]?(\s|`|$))", line
        )
    ]
    assert found == []


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


def test_what_builds_a_wheel_is_installed_by_hashes() -> None:
    """Of `build-system.requires` an isolated build takes whatever is newest."""
    given = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheels = given["tool"]["cibuildwheel"]
    assert wheels["build-frontend"]["args"] == ["--no-build-isolation"]
    assert (
        "--require-hashes --only-binary :all: -r {project}/requirements/build.txt" in wheels["before-build"]
    )
    locked = (ROOT / "requirements/build.txt").read_text("utf-8")
    for each in given["build-system"]["requires"]:
        assert re.search(rf"(?m)^{each.partition('>=')[0]}==", locked)


def test_what_tests_a_wheel_is_installed_by_hashes() -> None:
    """After that no index is asked, also not for what the wheel needs."""
    given = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheels = given["tool"]["cibuildwheel"]
    assert "test-requires" not in wheels
    assert wheels["test-environment"] == {"PIP_NO_INDEX": "1"}
    # `--isolated` is what ignores that variable
    options = "--isolated install --require-hashes --only-binary :all: -r {project}/requirements/wheel.txt"
    assert options in wheels["before-test"]
    locked = (ROOT / "requirements/wheel.txt").read_text("utf-8")
    extras = [
        each for name in wheels["test-extras"] for each in given["project"]["optional-dependencies"][name]
    ]
    for each in [*given["project"]["dependencies"], *extras, *given["dependency-groups"]["wheel"]]:
        name = re.match(r"[\w.-]+", each)
        assert name is not None and re.search(rf"(?m)^{name[0]}==", locked), each
    assert len(re.findall(r"(?m)^[\w.-]+==", locked)) <= locked.count("--hash=sha256:")
    # nothing that has to be built
    assert "lz4==" not in locked
