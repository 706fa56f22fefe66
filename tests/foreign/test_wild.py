"""What `make wild` counts with: the store of results, the parts that a compiler names, and the edits."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from kodec.formats.cache import modules_of
from kodec.formats.collect import collect
from kodec.generator.driver import render_all
from tests.foreign import wild, wild_languages
from tests.foreign.compare import Reader
from tests.foreign.run import Bounds, Corpus, apart
from tests.foreign.wild import Store


def test_a_run_that_was_ended_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path / "a" / "c0ffee.jsonl")
    store.put("accept", ("a/b", "x"), {"verdict": "taken"})
    with store.path.open("a", encoding="utf-8") as file:
        file.write('["accept", "a/b", "y", {"verd')
    again = Store(store.path)
    again.load()
    assert again.found["accept"] == {("a/b", "x"): {"verdict": "taken"}}


def test_a_sample_is_the_same_each_time_and_in_no_order_of_names() -> None:
    names = [f"{number:03}" for number in range(100)]
    first = wild.spread("a/b", names)
    assert first == wild.spread("a/b", reversed(names)) != names and sorted(first) == names


def test_files_come_from_a_git_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    (work / "deep").mkdir(parents=True)
    (work / "deep" / "a.ksy").write_text("meta: {id: a}\n")
    (work / "b.txt").write_text("b")
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for line in (("init", "-q"), ("add", "."), (*name, "commit", "-qm", "a")):
        subprocess.run(["git", *line], cwd=work, check=True)
    (tmp_path / "git" / "own").mkdir(parents=True)
    (work / ".git").rename(tmp_path / "git" / "own" / "er")
    monkeypatch.setattr(wild, "STORE", tmp_path / "store")
    found = wild.fetched_at("own/er", "HEAD", tmp_path / "git")
    assert [str(each.relative_to(found)) for each in found.rglob("*.*")] == ["deep/a.ksy"]


@pytest.mark.parametrize("names_it", [True, False])
def test_one_that_does_not_compile_takes_no_other_with_it(
    names_it: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(folder: Path, numbers: list[int]) -> str:
        return ("s3/x.go:1: error" if names_it else "it failed") if 3 in numbers else ""

    monkeypatch.setitem(wild_languages.COMPILERS, "go", fails)
    found = dict(wild_languages._problems("go", tmp_path, list(range(6))))
    assert {number for number, why in found.items() if why} == {3} and len(found) == 6


def test_a_compiler_that_takes_too_long_has_less_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(folder: Path, numbers: list[int]) -> str:
        if 1 in numbers:
            raise subprocess.TimeoutExpired("go", 1)
        return ""

    monkeypatch.setitem(wild_languages.COMPILERS, "go", slow)
    found = dict(wild_languages._problems("go", tmp_path, [0, 1, 2]))
    assert found == {0: "", 1: "longer than 240 s", 2: ""}


def _end() -> None:
    raise SystemExit(3)


def test_a_process_that_ends_is_told_from_a_result() -> None:
    assert apart(lambda: 7, Bounds()) == (7, None)
    assert apart(_end, Bounds()) == (None, "its process ended")
    assert apart(lambda: 1 // 0, Bounds()) == (None, "ZeroDivisionError: integer division or modulo by zero")
    assert apart(lambda: bytearray(1 << 40), Bounds()) == (None, "more than 4 GiB")
    assert apart(lambda: [*iter(int, 1)], Bounds(seconds=0.2)) == (None, "longer than 0.2 s")


SCHEMA = """meta: {id: x, endian: be}
seq:
- {id: len, type: u1}
- {id: body, size: len}
- {id: b, type: u2}
"""


def _class(path: Path) -> type:
    name, files = collect(path)
    found: type = modules_of(files).module(name.removesuffix(".ksy")).X
    return found


def test_a_changed_field_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(SCHEMA)
    kind = _class(tmp_path / "x.ksy")
    found = [Reader(kind, kind).edited(b"\2ab\0\1", random.Random(seed)) for seed in range(20)]
    assert {each.verdict for each in found if each is not None} == {"read again equal", "computed"}
    changed = {each.reason.partition(" ")[0] for each in found if each is not None}
    assert changed == {"X.len", "X.body", "X.b"}


def test_a_writer_that_changes_a_value_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.ksy").write_text(SCHEMA)
    kind = _class(tmp_path / "x.ksy")
    monkeypatch.setattr(kind, "to_bytes", lambda self: b"\2ab\0\1")
    found = [Reader(kind, kind).edited(b"\2ab\0\1", random.Random(seed)) for seed in range(20)]
    assert "differs" in {each.verdict for each in found if each is not None}


def test_what_is_generated_has_a_writer(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(SCHEMA)
    found = wild_languages.made_in_all({"x": tmp_path / "x.ksy"}, "x")
    assert {key: state[0] for key, state in found.items()} == dict.fromkeys(wild_languages.LANGUAGES, "made")
    assert found["go"][2] and found["typescript"][2]
    texts = dict(render_all(tmp_path, targets=("go",)).modules)
    assert not wild_languages._writes({"x": texts["go/x.go"].replace(") Append(", ") Add(")}, "go")


def test_the_table_counts_each_stage(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text("meta: {id: x}\nseq: [{id: a, type: nothing}]\n")
    corpus = Corpus("a/b", {"x": tmp_path / "x.ksy"}, tmp_path, {}, {})
    store = Store(tmp_path / "c0ffee.jsonl")
    store.put("accept", ("a/b", "x"), wild.CALLS["accept"](corpus, "x"))
    text = wild.table(store, 4, 1.5)
    assert "at most 4 schemas" in text and "Stages had 1.5 minutes: accept 1, values 0" in text
    assert "| a/b | 1 | 1 | 0 |" in text
    assert "| Python | unknown type `…` | 1 |" in text
    assert json.loads(store.path.read_text())[3]["verdict"] == "refused"
