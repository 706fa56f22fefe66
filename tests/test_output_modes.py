"""Whoever may not read a source may not read what is made of it, with each command that writes."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kodec.cli.main import main
from kodec.operations import plan_rebuild
from kodec.pipeline import append_to_lake, iceberg_table
from kodec.stores.modes import readable_as
from tests.data import LOGS
from tests.log.rebuild.test_rebuild import formatted

SCHEMA = (
    "{meta: {id: x}, seq: [{id: rows, type: row, repeat: eos}], types: {row: {seq: [{id: a, type: u1}]}}}"
)

# command, with SOURCE, OUT and FILE (a source that is one file)
WRITERS = {
    "backup": "backup SOURCE --to OUT",
    "export": "export SOURCE --to OUT --engine local",
    "compact-view": "compact-view SOURCE --to OUT --engine local --topic compacted",
    "export to Delta Lake": "export SOURCE --to OUT --format delta --topic codec-none",
    "new": "new FILE --to OUT/x.ksy",
    "convert": "convert SOURCE/codec-none-0 --to OUT --compression gzip --apply",
    "salvage": "salvage SOURCE/codec-none-0 --to OUT --apply",
    "load": "load DUMP --to OUT --apply",
    "report": "report SOURCE --to OUT/page.html",
    "explain": "explain SOURCE/codec-none-0/00000000000000000000.log --limit 1 --html OUT/page.html",
    "scan": "scan FILE --schema SCHEMA --to OUT/rows.csv",
    "restore": "restore EXPORTED --to OUT --engine local",
}


@pytest.fixture(autouse=True)
def mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022


def protect(folder: Path, files: int, folders: int) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(folders if path.is_dir() else files)


def modes(folder: Path) -> dict[str, int]:
    found = (folder, *folder.rglob("*")) if folder.is_dir() else (folder,)
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in found}


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Path]:
    logs = shutil.copytree(LOGS, tmp_path / "logs")
    exported = tmp_path / "exported"
    assert (
        main(["export", str(logs), "--to", str(exported), "--engine", "local", "--topic", "codec-none"]) == 0
    )
    capsys.readouterr()
    assert main(["dump", "--edit-format", str(logs / "codec-none-0")]) == 0
    (tmp_path / "dump").write_text(capsys.readouterr().out)
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "x.ksy").write_text(SCHEMA)
    return {
        "SOURCE": logs,
        "EXPORTED": tmp_path / "exported",
        "DUMP": tmp_path / "dump",
        "FILE": tmp_path / "file",
        "SCHEMA": tmp_path / "x.ksy",
        "OUT": tmp_path / "out",
    }


def run(command: str, made: dict[str, Path]) -> Path:
    """The output of a command."""
    out = made["OUT"]
    words = []
    for word in command.split():
        name, slash, rest = word.partition("/")
        words.append(f"{made[name]}{slash}{rest}" if name in made else word)
    if "OUT/" in command:
        out.mkdir()
        out.chmod(0o755)
    code = main(words)
    assert code in (0, 1), (code, words)
    named = next((word for word in words if word.startswith(f"{out}/")), str(out))
    return Path(named)


@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize(("files", "folders", "allowed"), [(0o600, 0o700, 0o700), (0o640, 0o750, 0o750)])
def test_an_output_is_for_those_who_may_read_the_source(
    command: str, files: int, folders: int, allowed: int, made: dict[str, Path]
) -> None:
    for name in ("SOURCE", "EXPORTED"):
        protect(made[name], files, folders)
    for name in ("DUMP", "FILE"):
        made[name].chmod(files)
    out = run(command, made)
    assert {path: oct(mode) for path, mode in modes(out).items() if mode & ~allowed} == {}


@pytest.mark.parametrize(("files", "folders", "allowed"), [(0o600, 0o700, 0o700), (0o644, 0o755, 0o755)])
def test_a_table_of_iceberg_is_for_those_who_may_read_the_source(
    files: int, folders: int, allowed: int, made: dict[str, Path]
) -> None:
    """The catalog's database is the user's: it has names of tables, and no rows."""
    protect(made["SOURCE"], files, folders)
    out = made["OUT"]
    out.mkdir(mode=0o755)
    settings = {"type": "sql", "uri": f"sqlite:///{out.parent}/catalog.db", "warehouse": out.as_uri()}
    table = iceberg_table("lake.records", properties=settings)
    assert append_to_lake(made["SOURCE"], table, topics=["codec-none"]).records > 0
    found = {path: mode for path, mode in modes(out).items() if path != "."}
    assert any(path.endswith(".parquet") for path in found)
    assert any(path.endswith(".metadata.json") for path in found)
    assert {path: oct(mode) for path, mode in found.items() if mode & ~allowed} == {}
    # the test can fail: an open source makes an open table
    assert any(mode & 0o044 == 0o044 for mode in found.values()) == bool(files & 0o044)


def test_a_rebuild_has_the_modes_of_the_log_directory_at_each_step(
    made: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker reads it, so the modes of the source count for nothing; what stands behind the fence, also
    after a kill, is as private as the log directory."""
    protect(made["SOURCE"], 0o600, 0o700)
    broker = formatted(made["OUT"])
    broker.chmod(0o750)
    steps: list[dict[str, int]] = []
    rename = Path.rename

    def watched(self: Path, target: Path) -> Path:
        steps.append(modes(broker))
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", watched)
        plan_rebuild(made["SOURCE"], [broker], topics=["codec-none"], hold_retention=True).apply()
    assert any("kodec-rebuild-unfinished/" in path for each in steps for path in each)
    steps.append(modes(broker))
    # as kafka-storage.sh made them
    own = ("meta.properties", "bootstrap.checkpoint", ".lock", "__cluster_metadata-0")
    wide = {
        path: oct(mode)
        for each in steps
        for path, mode in each.items()
        # in a folder that others may not enter they read nothing
        if mode & ~0o750
        and all(each[str(above)] & 0o001 for above in list(Path(path).parents)[:-1])
        and not path.startswith(own)
    }
    assert wide == {}
    assert steps[-1]["codec-none-0"] == 0o750
    assert steps[-1]["codec-none-0/00000000000000000000.log"] == 0o640


@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_an_output_of_an_open_source_has_the_usual_modes(command: str, made: dict[str, Path]) -> None:
    """The test above can fail: the mask alone would let everybody read."""
    out = run(command, made)
    assert any(mode & 0o044 == 0o044 for mode in modes(out).values())


def test_one_private_file_of_a_source_counts(made: dict[str, Path]) -> None:
    (made["SOURCE"] / "codec-none-0" / "00000000000000000000.log").chmod(0o600)
    out = run(WRITERS["export"], made)
    assert not any(mode & 0o077 for mode in modes(out).values())


def test_a_point_of_a_backup_is_as_private_as_the_backup(made: dict[str, Path], tmp_path: Path) -> None:
    made["SOURCE"].chmod(0o700)
    backup = run(WRITERS["backup"], made)
    (point,) = (backup / "points").iterdir()
    view = tmp_path / "view"
    assert (
        main(
            [
                "export",
                f"{backup}/points/{point.name.removesuffix('.json.gz')}",
                "--to",
                str(view),
                "--engine",
                "local",
            ]
        )
        == 0
    )
    assert not any(mode & 0o077 for mode in modes(view).values())


def test_a_page_that_is_overwritten_becomes_private(made: dict[str, Path]) -> None:
    for name in ("report", "explain"):
        shutil.rmtree(made["OUT"], ignore_errors=True)
        page = run(f"{WRITERS[name]}", made)
        assert stat.S_IMODE(page.stat().st_mode) == 0o644
    protect(made["SOURCE"], 0o600, 0o700)
    for name in ("report", "explain"):
        page.write_text("old")
        page.chmod(0o644)
        words = WRITERS[name].replace("SOURCE", str(made["SOURCE"])).replace("OUT", str(made["OUT"]))
        assert main([*words.split(), "--overwrite"]) in (0, 1)
        assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_contexts_overlap(tmp_path: Path) -> None:
    """Jobs of several threads: the mask is the narrowest of those that run, and comes back at the end."""
    for name, mode in (("a", 0o600), ("b", 0o640), ("c", 0o644)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)

    def now() -> int:
        found = os.umask(0)
        os.umask(found)
        return found

    a, b, c = (readable_as(tmp_path / name) for name in "abc")
    with a:
        assert now() == 0o077
        b.__enter__()
        thread = threading.Thread(target=c.__enter__)
        thread.start()
        thread.join()
        assert now() == 0o077
    assert now() == 0o027
    b.__exit__(None, None, None)
    assert now() == 0o022
    c.__exit__(None, None, None)


def test_a_source_without_modes_restricts_nothing(tmp_path: Path) -> None:
    with readable_as("s3://bucket/logs", tmp_path / "missing"):
        (tmp_path / "file").touch()
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


def test_what_comes_through_a_pipe_is_for_the_owner(tmp_path: Path) -> None:
    read, write = os.pipe()
    with readable_as(os.fstat(read)):
        (tmp_path / "file").touch()
    os.close(read)
    os.close(write)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
