"""Generating again: the same bytes every time, only what a change asks for, a diff for whoever forgot."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tomllib
from pathlib import Path
from uuid import UUID

import pytest

from kodec.generated.messages.offset_commit_value import OffsetCommitValue
from kodec.generator.driver import MARK, generate
from kodec.generator.target import DEFAULT
from tests.data import TESTS
from tests.golden import Golden

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMAS = ROOT / "schemas"
FORMATS = TESTS / "generator/formats"


def contents(folder: Path) -> dict[str, bytes]:
    """What was generated, without what Python and the build of a kernel leave next to it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and not _is_built(path)
    }


def _is_built(path: Path) -> bool:
    return path.suffix in (".so", ".pyd")


def command(folder: Path, *arguments: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    """Run `kodec generate` as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "kodec", "generate", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


def test_same_bytes_whatever_the_folder_and_the_hash_seed(tmp_path: Path) -> None:
    made = []
    for seed, place in (("1", "one"), ("77", "another/place")):
        folder = tmp_path / place
        shutil.copytree(FORMATS, folder / "formats")
        done = command(folder, "--schemas", "formats", "--to", "made", seed=seed)
        assert done.returncode == 0, done.stderr
        made.append(contents(folder / "made"))
    assert made[0] == made[1]
    assert {"sensor_log.py", "sensor_message.py", "model.json", "MANIFEST.json", "__init__.py"} == set(
        made[0]
    )


def test_the_committed_code_is_what_the_schemas_give(tmp_path: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["kodec"]["generate"]
    kernels = settings["kernels"].split(", ")
    targets, package = (*DEFAULT, "java"), settings["java_package"]
    made = {"kernels": kernels, "targets": targets, "options": {"java.package": package}}
    generate(SCHEMAS, tmp_path / "out", **made)
    assert contents(tmp_path / "out") == contents(ROOT / "generated")


def test_no_time_and_no_path_of_the_machine(tmp_path: Path) -> None:
    generate(FORMATS, tmp_path / "out", tests=tmp_path / "tests", package="made")
    text = b"".join([*contents(tmp_path / "out").values(), *contents(tmp_path / "tests").values()]).decode()
    assert str(tmp_path) not in text and str(ROOT) not in text
    assert re.search(r"20\d\d-\d\d-\d\d", text) is None


def test_second_run_writes_nothing(tmp_path: Path) -> None:
    assert generate(FORMATS, tmp_path / "out") != []
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert generate(FORMATS, tmp_path / "out") == []
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


def test_check_says_what_differs_and_changes_nothing(tmp_path: Path, golden: Golden) -> None:
    arguments = ("--schemas", str(FORMATS), "--to", "made")
    assert command(tmp_path, *arguments).returncode == 0
    assert command(tmp_path, *arguments, "--check").returncode == 0
    module = tmp_path / "made" / "sensor_log.py"
    module.write_text(module.read_text().replace("CRC-32 of all", "CRC-16 of all"))
    edited = contents(tmp_path / "made")
    done = command(tmp_path, *arguments, "--check")
    assert done.returncode == 1
    golden(done.stdout + done.stderr)
    assert contents(tmp_path / "made") == edited


def test_problems_give_exit_code_1_and_nothing_is_written(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "x.ksy").write_text("meta: {id: x}\nseq:\n- {id: a, type: nope}\n")
    done = command(tmp_path, "--schemas", "schemas", "--to", "made")
    assert done.returncode == 1
    golden(done.stderr)
    assert not (tmp_path / "made").exists()


def test_what_editors_leave_beside_files_is_no_schema(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "x.ksy").write_text("meta: {id: x}\nseq:\n- {id: a, type: u1}\n")
    # a lock of Emacs, and what macOS stores on other file systems
    (tmp_path / "schemas" / ".#x.ksy").symlink_to("me@host.123")
    (tmp_path / "schemas" / "._x.ksy").write_bytes(b"\0\5\x16\7")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / ".#x.py").symlink_to("me@host.123")
    done = command(tmp_path, "--schemas", "schemas", "--to", "made")
    assert (done.returncode, done.stderr) == (0, "")
    assert command(tmp_path, "--schemas", "schemas", "--to", "made", "--check").returncode == 0


def test_stale_files_go_and_foreign_files_stay(tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(FORMATS, out, tests=tmp_path / "tests", package="made")
    for folder in (out, tmp_path / "tests"):
        (folder / "old.py").write_text(f"{MARK} 0.0.1 from old.ksy\n")
        (folder / "mine.py").write_text("# by hand\n")
        (folder / "notes.txt").write_text(MARK)
    found = generate(FORMATS, out, tests=tmp_path / "tests", package="made")
    assert [(change.path.name, change.kind) for change in found] == [("old.py", "stale")] * 2
    for folder in (out, tmp_path / "tests"):
        assert not (folder / "old.py").exists()
        assert (folder / "mine.py").exists() and (folder / "notes.txt").exists()


NEWEST = OffsetCommitValue.VERSIONS[-1]
NEW = NEWEST + 1
NEW_FIELD = f"""\
  - id: epoch_by_test
    type: s4
    if: version >= {NEW}
    -ignorable: true
    -default: -1
    doc: Epoch of the member that committed.
  - {{id: tagged_fields, type: message_tags,"""


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The project's schemas with one more version of OffsetCommitValue: another field, and another tag."""
    folder = tmp_path_factory.mktemp("evolved")
    shutil.copytree(SCHEMAS, folder / "schemas", ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    places = {"tests": folder / "tests", "package": "evolved"}
    generate(folder / "schemas", folder / "evolved", **places)
    path = folder / "schemas" / "messages" / "offset_commit_value.ksy"
    text = path.read_text()
    for old, new in (
        (f"valid: {{min: 0, max: {NEWEST}}}", f"valid: {{min: 0, max: {NEW}}}"),
        ("  - {id: tagged_fields, type: message_tags,", NEW_FIELD),
        ("            0: uuid\n", "            0: uuid\n            99: str\n"),
        ("  endian: be\n", "  endian: be\n  encoding: UTF-8\n"),
        ("        -tags:\n", "        -tags:\n          99: named_by_test\n"),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
    found = generate(folder / "schemas", folder / "evolved", **places)
    return folder, {change.path.relative_to(folder).as_posix(): change.diff for change in found}


def test_a_new_version_changes_only_what_it_should(evolved: tuple[Path, dict[str, str]]) -> None:
    assert set(evolved[1]) == {
        "evolved/messages/offset_commit_value.py",
        "tests/test_messages_offset_commit_value.py",
        "evolved/MANIFEST.json",
        "evolved/model.json",
    }
    manifest = [line for line in evolved[1]["evolved/MANIFEST.json"].splitlines() if line[0] == "+"]
    assert len(manifest) == 3  # the file's name, the hash of the one schema, the hash of the model


def test_a_new_version_reads_old_and_new_bytes(evolved: tuple[Path, dict[str, str]]) -> None:
    sys.path.insert(0, str(evolved[0]))
    try:
        new = importlib.import_module("evolved.messages.offset_commit_value").OffsetCommitValue
    finally:
        sys.path.remove(str(evolved[0]))
    old = OffsetCommitValue
    topic = UUID(int=7)
    facts = {"committed_offset": 42, "leader_epoch": 5, "metadata": "hi", "commit_timestamp": 99}
    version_3 = struct.pack(">hqi", 3, 42, 5) + b"\x00\x02hi" + struct.pack(">q", 99)
    version_4 = (
        struct.pack(">hqi", 4, 42, 5) + b"\x03hi" + struct.pack(">q", 99) + b"\x01\x00\x10" + topic.bytes
    )
    assert old(version=3, **facts).to_bytes() == version_3
    assert old(version=4, topic_id=topic, **facts).to_bytes() == version_4
    newest = old(version=NEWEST, topic_id=topic, **facts).to_bytes()
    for data in (version_3, version_4, newest):
        before, after = old.from_bytes(data), new.from_bytes(data)
        for name in old.__slots__:
            assert getattr(before, name) == getattr(after, name)
        assert (after.epoch_by_test, after.named_by_test) == (-1, "")
        assert before.to_bytes() == after.to_bytes() == data
    tags, tag = b"\x01\x00\x10" + topic.bytes, b"\x63\x02me"
    fields = newest.removesuffix(tags)[2:]
    both = b"\x02" + tags[1:] + tag
    version_new = struct.pack(">h", NEW) + fields + struct.pack(">i", 8) + both
    found = new.from_bytes(version_new)
    assert (found.version, found.topic_id, found.epoch_by_test, found.named_by_test) == (NEW, topic, 8, "me")
    assert found.to_bytes() == version_new
    # what a reader of the version before does not know, it keeps
    tagged = struct.pack(">h", NEWEST) + fields + both
    kept = old.from_bytes(tagged)
    assert kept.tagged_fields == [(99, b"me")] and kept.to_bytes() == tagged
    assert new.from_bytes(tagged).named_by_test == "me"
