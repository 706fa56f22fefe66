"""A part of what `make fuzz` does for longer: each language on hostile bytes, with hostile names."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from . import hostile_languages


def test_c_does_with_hostile_bytes_as_python(tmp_path: Path) -> None:
    if "c" not in hostile_languages.here():
        pytest.skip("no C compiler here")
    count, wrong = hostile_languages.run(
        ["c"], lambda count: count >= 500, random.Random("quick"), tmp_path, names=()
    )
    assert count == 500 and wrong == []


@pytest.mark.languages
@pytest.mark.parametrize(
    "language",
    [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in hostile_languages.LANGUAGES],
)
def test_a_language_does_with_hostile_bytes_as_python(language: str, tmp_path: Path) -> None:
    if language not in hostile_languages.here():
        pytest.skip(f"no compiler of {language} here")
    count, wrong = hostile_languages.run(
        [language], lambda count: count >= 1_000, random.Random(language), tmp_path
    )
    assert count == 1_000 and wrong == []


def test_what_ends_hangs_or_swells_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzzing itself is tried."""
    monkeypatch.setattr(hostile_languages, "_MEMORY", 60 << 20)
    for program, why, seconds in (
        ("import sys; sys.stdin.readline()", "it ended", 20),
        ("import time; time.sleep(60)", "no answer in 0.2 s", 0.2),
        ("held = b'x' * (80 << 20); import time; time.sleep(60)", "it takes", 20),
    ):
        monkeypatch.setattr(hostile_languages, "_SECONDS", seconds)
        command = [sys.executable, "-c", program]
        with hostile_languages.Watched(command) as testee, pytest.raises(AssertionError, match=why):
            testee.ask_all([{"do": "hello"}])
