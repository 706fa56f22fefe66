"""The index of the cache: what is opened without loading its schema, and what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kodec
from kodec.formats import cache, collect, index

MAIN = "meta: {id: x, imports: [y]}\nseq: [{id: a, type: u1}, {id: b, type: y}]\n"
PART = "meta: {id: y}\nseq: [{id: c, type: %s}]\n"
DATA = b"\1\2\3"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache for each test; its modules are forgotten."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KODEC_CACHE", str(folder))
    yield folder
    for name in [name for name in sys.modules if name.startswith("kodec_cached_")]:
        del sys.modules[name]


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """A schema with an import, in folders of their own."""
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    (tmp_path / "outer" / "y.ksy").write_text(PART % "u1")
    (found := tmp_path / "outer" / "inner" / "x.ksy").write_text(MAIN.replace("[y]", "[/y]"))
    return found


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The schemas that were loaded, each time that one was."""
    found = list[Path]()
    collected = collect.collect

    def counted(schema: Path, *others: object) -> object:
        found.append(schema)
        return collected(schema, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(collect, "collect", counted)
    return found


def entry_of(own_cache: Path) -> Path:
    (found,) = [each for each in (own_cache / "index").iterdir() if not each.name.startswith("code-")]
    return found


def test_a_new_process_reads_without_the_generator(schema: Path) -> None:
    (file := schema.parent / "file").write_bytes(DATA[:2])
    code = f"import sys, kodec; x = kodec.formats.load_schema({str(schema)!r}).read({str(file)!r})\n"
    code += "print(x.b.c, [each for each in ('kodec.generator', 'yaml', 'pickle') if each in sys.modules])"
    said = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(2)]
    assert said[0].stdout.startswith(b"2 ['kodec.generator'")
    assert said[1].stdout == b"2 []\n"


def test_what_is_opened_by_the_index_is_the_same(schema: Path, loads: list[Path]) -> None:
    first = kodec.formats.load_schema(schema)
    second = kodec.formats.load_schema(schema)
    assert len(loads) == 1
    assert (second.id, repr(second), second._name) == (first.id, repr(first), first._name)
    assert second.read(DATA[:2]) == first.read(DATA[:2])
    with pytest.raises(ValueError, match="has no parameter"):
        second.read(DATA[:2], {"n": 1})


CHANGES: dict[str, tuple[Callable[[Path], object], int | None]] = {
    "nothing": (lambda _: None, None),
    "the times of files": (lambda schema: os.utime(schema, (1, 1)), None),
    "the schema": (lambda schema: schema.write_text(schema.read_text() + "doc: other\n"), 2),
    "an import": (lambda schema: (schema.parents[1] / "y.ksy").write_text(PART % "u2be"), 515),
    "an import that is nearer now": (lambda schema: (schema.parent / "y.ksy").write_text(PART % "u2be"), 515),
    "an overlay that is new": (
        lambda schema: (schema.parent / "x.overlay.yaml").write_text("schema: x\nkeys: {a: {-valid: 1}}\n"),
        2,
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_is_noticed(change: str, schema: Path, loads: list[Path]) -> None:
    kodec.formats.load_schema(schema)
    act, want = CHANGES[change]
    act(schema)
    again = kodec.formats.load_schema(schema)
    assert len(loads) == (1 if want is None else 2)
    assert again.read(DATA, exact=False).b.c == (want or 2)
    kodec.formats.load_schema(schema)
    assert len(loads) == (1 if want is None else 2)


def test_overlays_and_import_paths_have_entries_of_their_own(schema: Path, loads: list[Path]) -> None:
    (other := schema.parents[2] / "other").mkdir()
    (overlay := other / "x.overlay.yaml").write_text("schema: x\nkeys: {a: {-default: 7}}\n")
    for _ in range(2):
        kodec.formats.load_schema(schema)
        kodec.formats.load_schema(schema, [str(overlay)])
        kodec.formats.load_schema(schema, import_path=[other])
    assert len(loads) == 3
    overlay.write_text("schema: x\nkeys: {a: {-default: 8}}\n")
    kodec.formats.load_schema(schema, [str(overlay)])
    assert len(loads) == 4


def test_an_entry_that_is_damaged_is_written_again(schema: Path, own_cache: Path, loads: list[Path]) -> None:
    kodec.formats.load_schema(schema)
    entry = entry_of(own_cache)
    whole = entry.read_bytes()
    body = json.dumps({"name": "x.ksy", "files": [], "others": 3}).encode()
    other = index._digest(body).encode() + b"\n" + body
    damaged = [b"", whole[:30], whole[:-1], whole + b" ", whole.replace(b"u1", b"u2"), b"\xff" * 99, other]
    damaged += [bytes([whole[0] ^ 1]) + whole[1:]]
    for number, data in enumerate(each for each in damaged if each != whole):
        entry.write_bytes(data)
        assert kodec.formats.load_schema(schema).read(DATA[:2]).b.c == 2
        assert len(loads) == number + 2
        assert entry.read_bytes() == whole


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files here")
def test_an_entry_that_others_can_write_to_is_not_used(
    schema: Path, own_cache: Path, loads: list[Path]
) -> None:
    kodec.formats.load_schema(schema)
    entry = entry_of(own_cache)
    for place, mode, want in ((entry, 0o620, 2), (entry.parent, 0o770, 3), (entry.parent, 0o700, 3)):
        place.chmod(mode)
        kodec.formats.load_schema(schema)
        assert len(loads) == want
    assert entry.stat().st_mode & 0o777 == 0o600


def test_an_index_that_cannot_be_written_is_done_without(
    schema: Path, own_cache: Path, loads: list[Path]
) -> None:
    own_cache.mkdir(mode=0o700)
    (own_cache / "index").write_bytes(b"")
    for number in (1, 2):
        assert kodec.formats.load_schema(schema).read(DATA[:2]).b.c == 2
        assert len(loads) == number


def test_a_folder_of_modules_that_is_gone_is_made_again(
    schema: Path, own_cache: Path, loads: list[Path]
) -> None:
    kodec.formats.load_schema(schema)
    (folder,) = [each for each in own_cache.iterdir() if each.name != "index"]
    (folder / "about.json").write_text("{}")
    assert kodec.formats.load_schema(schema).id == "x"
    assert len(loads) == 2


def test_processes_that_write_an_entry_at_once_are_all_right(schema: Path, own_cache: Path) -> None:
    code = f"import kodec; print(kodec.formats.load_schema({str(schema)!r}).read({DATA[:2]!r}).b.c)"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(3)]
    assert {process.communicate(timeout=300)[0] for process in running} == {b"2\n"}
    assert index.read_entry(entry_of(own_cache))["name"] == "inner/x.ksy"
    assert not [each for each in (own_cache / "index").iterdir() if each.name.startswith(".")]


def test_other_code_is_another_version(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file that is changed, added or removed; not of one that was only touched."""
    own_cache.mkdir(mode=0o700)
    for name in ("generator", "runtime"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("a")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    made_by = cache.made_by.__wrapped__
    found = [made_by(), made_by()]
    os.utime(tmp_path / "generator" / "a.py", (5, 5))
    found.append(made_by())
    assert len(set(found)) == 1
    (tmp_path / "runtime" / "a.py").write_text("b")
    found.append(made_by())
    (tmp_path / "runtime" / "b.h").write_text("")
    found.append(made_by())
    (tmp_path / "generator" / "a.py").unlink()
    found.append(made_by())
    assert len(set(found)) == 4
    (known,) = (own_cache / "index").iterdir()
    known.write_bytes(b"cut")
    assert made_by() == found[-1]
