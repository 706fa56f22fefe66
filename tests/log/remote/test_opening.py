"""What a path brings along goes with it, and a path never changes."""

from __future__ import annotations

import io
import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import ArgumentError, Unsupported
from kodec.stores import storage
from kodec.stores.storage import Entry, Listed, Local, Location, StorePath, context_of, path_of
from tests.log.stores import KEY, SECRET, serving
from tests.stored_tiers import STORED

pytestmark = pytest.mark.quick

DATA = Path(__file__).parents[2] / "data"
TIERED = DATA / "tiered-4.3.1"
LOGS = DATA / "kafka-4.3.1" / "logs"


@pytest.mark.parametrize("path", [Location(Local(), "/data/a.log"), path_of("s3://bucket/data/a.log")])
def test_a_path_never_changes_and_others_of_it_are_in_the_same_place(path: Location) -> None:
    for name in ("files", "listed", "content", "following"):
        with pytest.raises(AttributeError):
            setattr(path, name, None)
    made = [path / "x", path.joinpath("x", "y"), path.parent, path.parents[0], path.with_name("b")]
    made += [path.with_suffix(".index"), path.absolute(), path.with_stem("b"), path.expanduser()]
    assert all(isinstance(each, type(path)) and each.files is path.files for each in made)
    assert path.with_suffix(".index").name == "a.index" and path.with_stem("b").name == "b.log"
    assert pickle.loads(pickle.dumps(path)) == path


def test_a_path_of_this_machine_with_a_context_is_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.log").write_bytes(b"1")
    opened = kodec.open_location(tmp_path, kodec.Context(notes=kodec.Notes()))
    assert isinstance(opened, Location) and not isinstance(opened, StorePath)
    assert opened == tmp_path and hash(opened) == hash(tmp_path) and os.fspath(opened) == str(tmp_path)
    found = [*opened.iterdir(), *opened.glob("*"), *opened.rglob("*.log")]
    assert [each.name for each in found] == ["a", "a", "b.log"]
    assert all(context_of(each) is context_of(opened) for each in found)
    assert (opened / "a" / "b.log").relative_to(opened) == Path("a", "b.log")
    (opened / "c").write_bytes(b"2")
    assert (tmp_path / "c").read_bytes() == b"2"
    assert type(kodec.open_location(tmp_path)) is type(tmp_path)


def test_notes_are_for_who_opened_the_path() -> None:
    mine, others = kodec.Notes(), kodec.Notes()
    # remote storage that is found in a folder brings along what the folder does
    assert list(kodec.read_records(kodec.open_location(TIERED / "tier", kodec.Context(notes=mine))))
    assert len(mine.take()) == 1 and mine.take() == [] == others.take()


def test_a_key_is_for_the_paths_that_bring_it_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KODEC_TIER_KEY", raising=False)
    tier = STORED / "aes" / "backup"
    context = kodec.Context(kodec.TierKeys(STORED / "key1.pem"))
    logs = kodec.open_location(tier, context)
    assert len(list(kodec.read_records(logs))) == len(list(kodec.read_records(TIERED / "tier")))
    with pytest.raises(Unsupported, match="private key"):
        list(kodec.read_records(tier))
    # it is in no environment, and a path that goes to another process has it
    assert context_of(pickle.loads(pickle.dumps(logs))).keys == context.keys


def test_the_environment_has_no_key_while_a_verb_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KODEC_TIER_KEY", raising=False)
    before = dict(os.environ)
    key = str(STORED / "key1.pem")
    assert main(["ls", str(STORED / "aes" / "backup"), "--tier-key", key]) == 0
    assert dict(os.environ) == before and "note:" in capsys.readouterr().err
    assert main(["ls", str(LOGS), "--tier-key", key, "--tier-key-command", "cat"]) == 2


def test_settings_of_a_store_are_for_the_paths_that_bring_them_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(LOGS / "segments-0", tmp_path / "segments-0")
    # where a log goes on after damage, the folder shows: it is listed with the same settings
    damaged = sorted((tmp_path / "segments-0").glob("*.log"))[0]
    data = bytearray(damaged.read_bytes())
    data[70] ^= 1
    damaged.write_bytes(data)
    with serving() as server:
        server.upload(tmp_path, "some")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
            monkeypatch.delenv(name, raising=False)
        found = {
            "access_key_id": KEY,
            "secret_access_key": SECRET,
            "endpoint": server.endpoint,
            "region": "us-east-1",
        }
        logs = kodec.open_location("s3://logs/some/segments-0", kodec.Context(s3=lambda bucket: found))
        offsets = [each.offset for each in kodec.read_records(logs, on_error="skip")]
    assert offsets == [each.offset for each in kodec.read_records(tmp_path / "segments-0", on_error="skip")]


class Shelf(kodec.Files):
    """A store of one's own: a folder by another name."""

    what = "on a shelf"

    def __init__(self, name: str) -> None:
        self.root = ("shelf:", name)

    def _real(self, path: Path) -> Path:
        return LOGS.joinpath(*path.parts[2:])

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        assert isinstance(folder, StorePath)
        found: list[Entry] = []
        for each in self._real(folder).iterdir():
            path = folder / each.name
            status = None if each.is_dir() else self.status(path)
            found.append(Listed(path if status is None else path.seen(status), status))
        return nullcontext(iter(found))

    def is_folder(self, path: Path) -> bool:
        return self._real(path).is_dir()

    def status(self, path: Path) -> kodec.Status:
        if not self._real(path).is_file():
            raise FileNotFoundError(str(path))
        found = self._real(path).stat()
        return kodec.Status(found.st_size, found.st_mtime_ns)

    def open(self, path: Path) -> BinaryIO:
        return io.BytesIO(self._real(path).read_bytes())


def test_a_store_of_ones_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(storage, "_stores", {})
    kodec.register_store("shelf", Shelf)
    found = [(each.offset, each.value) for each in kodec.read_records("shelf://any/orders-0")]
    assert found == [(each.offset, each.value) for each in kodec.read_records(LOGS / "orders-0")]
    assert kodec.LogDirectory("shelf://any").topic_partitions == kodec.LogDirectory(LOGS).topic_partitions
    assert main(["ls", "shelf://any"]) == 0
    assert "orders" in capsys.readouterr().out
    with pytest.raises(PermissionError, match="on a shelf, which is only read"):
        kodec.open_location("shelf://any/a").files.remove(Path("a"))  # type: ignore[attr-defined]
    for scheme in ("s3", "file", "Shelf", "x y"):
        with pytest.raises(ArgumentError):
            kodec.register_store(scheme, Shelf)
