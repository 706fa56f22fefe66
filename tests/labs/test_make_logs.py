"""Tests of the committed Kafka directories and of the command line that makes them, without a broker."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import real_logs

SCRIPT = Path(__file__).with_name("make_logs.py")


def run(*arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path}
    environment.pop("JAVA_HOME", None)
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def test_help_names_the_options_and_the_exit_codes() -> None:
    done = run("--help", path="")
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("--out", "--work", "--maven-repository", "Exit code"))


@pytest.mark.parametrize("missing", ["java", "javac", "mvn"])
def test_a_missing_program_is_named_and_nothing_is_written(missing: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in {"java", "javac", "mvn"} - {missing}:
        program = programs / name
        program.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
        program.chmod(0o755)
    out = tmp_path / "out"
    done = run("--out", str(out), path=str(programs))
    assert done.returncode == 2
    assert f"error: `{missing}` was not found" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_an_old_java_is_refused(tmp_path: Path) -> None:
    for name in ("java", "javac", "mvn"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
        program.chmod(0o755)
    done = run("--out", str(tmp_path / "out"), path=str(tmp_path))
    assert done.returncode == 2
    assert "Java 17 or newer, this is 11" in done.stderr


def test_a_release_is_committed() -> None:
    assert real_logs.RELEASES


@pytest.mark.parametrize("release", real_logs.RELEASES, ids=real_logs.label)
def test_the_committed_files_are_those_of_the_manifest(release: Path) -> None:
    listed = {
        entry["path"]: (entry["size"], entry["sha256"]) for entry in real_logs.manifest(release)["files"]
    }
    found = {}
    for path in release.rglob("*"):
        if path.is_file() and path.name != "MANIFEST.json":
            data = path.read_bytes()
            found[path.relative_to(release).as_posix()] = (len(data), hashlib.sha256(data).hexdigest())
    assert found == listed


@pytest.mark.parametrize("release", real_logs.RELEASES, ids=real_logs.label)
def test_the_committed_result_is_small(release: Path) -> None:
    assert sum(path.stat().st_size for path in release.rglob("*") if path.is_file()) < 5 * 1024 * 1024


@pytest.mark.parametrize("release", real_logs.RELEASES, ids=real_logs.label)
def test_the_number_of_consumed_rows_is_that_of_the_manifest(release: Path) -> None:
    counted: dict[str, dict[str, int]] = {}
    for path in (release / "consumed").glob("*.jsonl"):
        for row in real_logs.rows(path):
            of_partition = counted.setdefault(f"{row['topic']}-{row['partition']}", {})
            isolation = path.name.split(".")[-2]
            of_partition[isolation] = of_partition.get(isolation, 0) + 1
    assert counted == real_logs.manifest(release)["consumed_rows"]


@pytest.mark.parametrize("release", real_logs.RELEASES, ids=real_logs.label)
def test_no_broker_left_its_lock_behind(release: Path) -> None:
    assert (release / "logs" / ".kafka_cleanshutdown").is_file()
    assert not (release / "crashed" / ".kafka_cleanshutdown").exists()
    assert list(release.rglob(".lock")) == []
