"""The check of docs/languages.md: another count is given, another version of a compiler is not."""

from __future__ import annotations

import pytest

from .run import LANGUAGES, TABLE, Language, _is_written


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each.is_ours], ids=lambda each: each.name)
def test_a_row_of_other_counts_is_not_in_the_table(
    language: Language, capsys: pytest.CaptureFixture[str]
) -> None:
    (line, _) = (each for each in TABLE.read_text().splitlines() if each.startswith(f"| {language.shown} |"))
    cells = line.strip("| ").split(" | ")
    assert _is_written("languages", [cells[0], "another", "another", *cells[3:]])
    assert not _is_written("languages", [*cells[:-1], "1"])
    assert "have another row" in capsys.readouterr().err


def test_languages_that_only_read_streams_have_none_encoded() -> None:
    streams = TABLE.read_text().partition("<!-- the streams")[2].partition("<!-- the end of streams")[0]
    rows = [line.strip("| ").split(" | ") for line in streams.splitlines() if line.startswith("| ")]
    encoded = {row[0]: row[rows[0].index("encoded")] for row in rows[1:]}
    assert encoded.keys() == {each.shown for each in LANGUAGES if each.is_ours}
    assert {name for name, count in encoded.items() if count == "-"} == {"Java", "Rust", "C"}
