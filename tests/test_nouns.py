"""The check of names that `pyproject.toml` limits, see `tools/nouns.py`."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

_SPEC = importlib.util.spec_from_file_location("nouns", Path(__file__).parent.parent / "tools" / "nouns.py")
assert _SPEC is not None and _SPEC.loader is not None
nouns = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(nouns)

# of five names two are listed words; a use of a name is none
TEXT = """
def first(found):
    for each in found:
        try:
            size = each.size
        except OSError as error:
            raise error
    match size:
        case batch:
            return batch
"""


def test_every_kind_of_binding_counts() -> None:
    assert sorted(nouns.bindings(TEXT)) == ["batch", "each", "error", "found", "size"]


def test_a_share_above_the_limit_names_the_files_with_most_words() -> None:
    texts = {"few.py": "found = 1\n", "none.py": "size = 1\n", "many.py": TEXT}
    assert nouns.check(texts, {"found", "each"}, 3 / 7) == []
    summary, *files = nouns.check(texts, {"found", "each"}, 0.42)
    assert summary.startswith("3 of 7 names (42.86%)")
    assert files == ["many.py: each 1, found 1", "few.py: found 1"]
