"""The files with texts: each text is of a test, is compared, and comes back as it was written."""

from pathlib import Path

import pytest

from tests import golden
from tests.data import ROOT

pytestmark = pytest.mark.quick

TEXTS = {"test_a 1": "one\n== two\n\\== three", "test_a 2": "", "test_b[x y] 1": "\r\n\n", "test_a 10": "ten"}


def test_every_text_is_of_a_test() -> None:
    assert [*golden.stale(sorted((ROOT / "tests").rglob("test_*.py")))] == []


def test_texts_come_back(tmp_path: Path) -> None:
    golden.write(tmp_path / "x" / "a.txt", TEXTS)
    assert golden.read(tmp_path / "x" / "a.txt") == TEXTS
    golden.write(tmp_path / "x" / "a.txt", {})
    assert golden.read(tmp_path / "x" / "a.txt") == {} and not (tmp_path / "x" / "a.txt").exists()


def test_a_changed_text_fails(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    texts = golden.Golden(request)
    texts.rewrites = False
    texts.texts = {f"{texts.name} 1": "$TMP/a: ValueError", f"{texts.name} 2": "ValueError: b"}
    texts(f"{tmp_path}/a: ValueError\n")
    with pytest.raises(AssertionError):
        texts("ValueError: b ")
    with pytest.raises(AssertionError, match="run pytest --golden"):
        texts("a third one")
