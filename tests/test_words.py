"""The check of phrases that `tools/words.tsv` lists, see `tools/words.py`."""

import importlib.util
from pathlib import Path

import pytest

from tests.golden import Golden

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parent.parent
_SPEC = importlib.util.spec_from_file_location("words", ROOT / "tools" / "words.py")
assert _SPEC is not None and _SPEC.loader is not None
words = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(words)

PHRASES = words.pairs("a bad word, bad Words\ta good one\n")


def found(text: str) -> list[tuple[int, str]]:
    return [(line, phrase) for line, phrase, _ in words.found_in(text, PHRASES, words.pattern(PHRASES))]


def test_the_table_has_pairs() -> None:
    pairs = words.pairs((ROOT / "tools" / "words.tsv").read_text("utf-8"))
    assert len(pairs) > 30 and all(pairs.values())


def test_a_phrase_is_found_over_the_end_of_a_line_but_not_in_code() -> None:
    text = "Here is a bad\nword.\n\n    a bad word\n\n```\na bad word\n```\n`bad words`\n"
    assert found(words.prose(text)) == [(1, "a bad word")]


def test_docstrings_comments_and_texts_are_read_but_not_names() -> None:
    text = (
        '"""It has bad words."""\n\na_bad_word = bad = 1  # a bad\n# word here\n'
        'raise ValueError(f"{bad}: bad words")\n'
    )
    assert found(words.python_prose(text)) == [(1, "bad words"), (3, "a bad word"), (5, "bad words")]


def test_a_comment_of_another_language_goes_on_in_the_next_line() -> None:
    assert found("/* This is a bad\n * word. */\nint bad; // bad\n// words\n") == [
        (1, "a bad word"),
        (3, "bad words"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ksy", "doc: |\n  It has a bad\n  word.\n"),
        ("a.py.j2", "{# It has a bad\n   word. #}\n"),
        ("A.java", "/** It has a bad\n * word. */\n"),
        ("a.c", "/* It has a bad\n   word. */\n"),
        ("a.h", "int a; /* a bad word */\n"),
        ("a.pyx", '"""It has a bad\n    word."""\n'),
        ("a.pxi", "# It has a bad\n# word.\n"),
        ("a.go", "// It has a bad\n// word.\n"),
        ("a.rs", "//! It has a bad\n//! word.\n"),
        ("a.ts", "/* It has a bad\n * word. */\n"),
        ("a.mjs", "// It has a bad\n// word.\n"),
        ("a.sh", "# It has a bad\n# word.\n"),
        ("a.toml", "# It has a bad\n# word.\n"),
    ],
)
def test_all_kinds_of_files_are_read(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert any(path.suffix == Path(name).suffix for path in words.files())
    monkeypatch.setattr(words, "pairs", lambda _: PHRASES)
    (tmp_path / name).write_text(text)
    assert words.main([str(tmp_path / name)]) == 1
    assert ": a bad word: a good one" in capsys.readouterr().out


def test_the_command_names_place_and_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    page = tmp_path / "page.md"
    page.write_text("This is fine.\n")
    assert words.main([str(page)]) == 0 and capsys.readouterr().out == ""
    monkeypatch.setattr(words, "pairs", lambda _: PHRASES)
    page.write_text("This is not:\na bad word.\n")
    assert words.main([str(page)]) == 1
    golden(capsys.readouterr().out)
