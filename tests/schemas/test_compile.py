"""Stock ksc compiles every schema to each of its languages, whose own compilers accept the result."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ksc"))

import compilers

# Two of them here, all with `make languages`.
TARGETS = [
    name if name in ("javascript", "python") else pytest.param(name, marks=pytest.mark.languages)
    for name in compilers.LANGUAGES
]


@pytest.mark.parametrize("target", TARGETS)
def test_each_schema_is_compiled(target: str, oracle: ModuleType, tmp_path: Path) -> None:
    try:
        failures = oracle.compile_schemas(tmp_path, (target,))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert failures == []
    made = {path.stem.replace("_", "").lower() for path in (tmp_path / target).rglob("*.*")}
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


@pytest.mark.thorough
@pytest.mark.parametrize("target", TARGETS)
def test_the_language_takes_every_reader(target: str, oracle: ModuleType) -> None:
    try:
        found = compilers.check(target, oracle.CACHE / "ksc-runtimes")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    if found.missing:
        pytest.skip(f"not here: {found.missing}")
    assert found.sources >= len(oracle.schemas())
    assert found.refused == ()
