"""Pages avoid the phrases that docs/contributing.md lists under "Words"."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
_BEFORE, _, _WORDS = (ROOT / "docs" / "contributing.md").read_text("utf-8").partition("\n## Words\n")
_ROWS = re.findall(r"^\| (?!not \|)([^|-].*?) \| .+ \|$", _WORDS.partition("\n## ")[0], re.MULTILINE)
PHRASES = [phrase for row in _ROWS for phrase in row.split(", ")]
_FOUND = re.compile(
    r"\b(?:" + "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in PHRASES) + r")\b",
    re.IGNORECASE,
)
# fenced blocks, indented blocks, code in a line
_CODE = re.compile(r"^```[\s\S]*?^```$|(?<=\n\n)(?: {4}.*\n)+|`[^`\n]+`", re.MULTILINE)


def prose(text: str) -> str:
    """The text without its code; each line stays where it is."""
    return _CODE.sub(lambda code: re.sub(r"[^\n]+", "`", code[0]), text)


def test_the_page_has_pairs() -> None:
    assert len(PHRASES) == len({*PHRASES}) > len(_ROWS) > 20


def test_a_phrase_is_found_over_the_end_of_a_line_but_not_in_code() -> None:
    text = "The reader\nis\ntold so.\n\n    is told\n\n```\nis told\n```\n`is told`\n"
    assert [each[0] for each in _FOUND.finditer(prose(text))] == ["is\ntold"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_avoid_the_phrases_of_the_table(page: Path) -> None:
    text = prose(_BEFORE if page.name == "contributing.md" else page.read_text("utf-8"))
    found = [
        f"{page.name}:{text.count(chr(10), 0, each.start()) + 1}: {each[0]}" for each in _FOUND.finditer(text)
    ]
    assert found == []
