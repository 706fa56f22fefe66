"""A message gains a field in a new version: one schema is edited, and every language reads and writes it."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kodec.conformance.run import run
from kodec.conformance.suite import Suite, from_schemas
from kodec.generator.driver import render_all

from .compilers import is_here

pytestmark = [pytest.mark.languages, pytest.mark.xdist_group("new version")]
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# what a testee is built with; without it the language is left out here, and its own tests report it
COMPILERS = {"c": "cc", "go": "go", "java": "javac", "rust": "cargo", "typescript": "node"}
MESSAGE = "messages/offset_commit_value.ksy"
NEW = "offset_commit_value"


def _contributing() -> ModuleType:
    """tests/test_contributing.py, which makes the edit that the page shows."""
    spec = importlib.util.spec_from_file_location("kodec_contributing", HERE.parent / "test_contributing.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _python(schemas: Path, folder: Path) -> list[str]:
    return [sys.executable, "-m", "kodec.conformance.testee", str(schemas)]


def _builders() -> dict[str, Callable[[Path, Path], list[str]]]:
    """What builds each language's testee, found by its name."""
    found = {"python": _python}
    for name in COMPILERS:  # stock ksc's testee only reads
        path = HERE / f"{name}_testee.py"
        spec = importlib.util.spec_from_file_location(f"kodec_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[name] = module.build
    return found


BUILDERS = _builders()


def _copy(folder: Path) -> Path:
    """The schema of one message and what it imports."""
    schemas = folder / "schemas"
    shutil.copytree(ROOT / "schemas" / "primitives", schemas / "primitives")
    (schemas / "messages").mkdir()
    shutil.copy(ROOT / "schemas" / MESSAGE, schemas / MESSAGE)
    return schemas


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return from_schemas(_copy(tmp_path_factory.mktemp("before")))


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The schemas after the edit of docs/changes-by-example.md."""
    folder = tmp_path_factory.mktemp("edited")
    schemas = _copy(folder)
    page = _contributing()
    (diff,) = page.blocks(page.section(page.FIELD), "diff")
    assert page.edit(folder, diff) == f"schemas/{MESSAGE}"
    return schemas


@pytest.fixture(scope="module")
def after(edited: Path) -> Suite:
    return from_schemas(edited)


def test_vectors_and_pages_follow(before: Suite, after: Suite, edited: Path) -> None:
    def versions(suite: Suite) -> set[int]:
        return {each.value["version"] for each in suite.vectors if each.type == NEW and each.value}

    assert versions(after) - versions(before) == {5}
    assert any(each.value and each.value.get("member") for each in after.vectors if each.type == NEW)
    page = render_all(edited, targets=["documents"]).modules["messages/offset_commit_value.md"]
    assert "Who committed it." in page


@pytest.mark.parametrize("language", BUILDERS)
def test_the_language_has_the_field(language: str, edited: Path, after: Suite, tmp_path: Path) -> None:
    if not is_here(program := COMPILERS.get(language, sys.executable)):
        pytest.skip(f"no {program} here")
    report = run(after, BUILDERS[language](edited, tmp_path))
    assert [(each.vector.id, each.text) for each in report.failures] == [] and report.gave_up is None
    assert report.count("decode", "passed") > 0 and report.count("round_trip", "passed") > 0


@pytest.mark.parametrize("language", BUILDERS)
def test_a_changed_field_fails_with_the_old_vectors(language: str, before: Suite, tmp_path: Path) -> None:
    if not is_here(program := COMPILERS.get(language, sys.executable)):
        pytest.skip(f"no {program} here")
    schemas = _copy(tmp_path)
    path = schemas / MESSAGE
    text = path.read_text()
    old = "-orig-id: offset\n    type: s8"
    assert text.count(old) == 1
    path.write_text(text.replace(old, "-orig-id: offset\n    type: s4"))
    report = run(before, BUILDERS[language](schemas, tmp_path / "out"))
    assert not report.is_right and any(each.vector.type == NEW for each in report.failures)
