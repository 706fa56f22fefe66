"""Stock ksc compiles every schema to each of its languages, whose own compilers accept the result."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ksc"))

import compilers

TARGETS = tuple(compilers.LANGUAGES)


@pytest.fixture(scope="module")
def compiled(oracle: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    out = tmp_path_factory.mktemp("ksc")
    try:
        failures = oracle.compile_schemas(out, TARGETS)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return out, [f"{each.target}: {each.schema}: {each.error}" for each in failures]


def test_no_schema_is_refused(compiled: tuple[Path, list[str]]) -> None:
    assert compiled[1] == []


@pytest.mark.parametrize("target", TARGETS)
def test_each_schema_gives_a_file(compiled: tuple[Path, list[str]], oracle: ModuleType, target: str) -> None:
    made = {path.stem.replace("_", "").lower() for path in (compiled[0] / target).rglob("*.*")}
    assert made == {name.rpartition("/")[2].replace("_", "") for name in oracle.schemas()}


def test_a_broken_schema_is_named(oracle: ModuleType, tmp_path: Path) -> None:
    good = "meta:\n  id: good\n  endian: be\nseq:\n  - id: one\n    type: u2\n"
    (tmp_path / "good.ksy").write_text(good)
    (tmp_path / "bad.ksy").write_text(good.replace("good", "bad").replace("u2", "no_such_type"))
    try:
        failures = oracle.compile_schemas(tmp_path / "out", ("python",), tmp_path)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert [(each.target, each.schema) for each in failures] == [("python", "bad")]
    assert "no_such_type" in failures[0].error


@pytest.mark.parametrize("target", TARGETS)
def test_the_language_takes_every_reader(target: str, oracle: ModuleType) -> None:
    try:
        found = compilers.check(target, oracle.CACHE / "ksc-runtimes")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    if found.missing:
        pytest.skip(f"no {found.missing}; `python tests/ksc/compilers.py --get {target}` clones runtimes")
    assert found.refused == ()
