"""What pages claim about options, keys and extras is what the code has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kodec.cli.main import main
from kodec.generator.schema.keys import KEYS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def rows(page: str, head: str) -> dict[str, list[str]]:
    """A table of a page, by its first column."""
    text = (DOCS / page).read_text("utf-8")
    _, found, rest = text.partition(f"| {head} |")
    assert found, f"{page} has no longer a table of {head}"
    lines = rest.split("\n\n")[0].splitlines()[2:]
    parts = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {first: others for first, *others in parts}


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture
def options(capsys: pytest.CaptureFixture[str]) -> dict[str, set[str]]:
    """The options of each command, as its help has them."""
    found = {}
    for path in (ROOT / "src" / "kodec" / "cli" / "verbs").glob("[a-z]*.py"):
        verb = path.stem.replace("_", "-")
        assert main([verb, "--help"]) == 0
        found[verb] = {*re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)}
    return found


def test_what_commands_write(options: dict[str, set[str]]) -> None:
    table = rows("commands.md", "commands | what they write")
    dry, at_once, pages = (
        next(words(first) for first, (what,) in table.items() if said in what)
        for said in ("nothing without `--apply`: a dry run", "their output at once", "a page")
    )
    assert sorted([*dry, "backup"]) == sorted(verb for verb, own in options.items() if "--apply" in own)
    writes = {"--to", "--html"}
    others = {verb for verb, own in options.items() if own & writes} - {*dry, "backup"}
    assert sorted([*at_once, *pages]) == sorted(others)


def test_every_extension_key_has_a_row_with_its_places() -> None:
    places: dict[str, set[str]] = {}
    for place, keys in KEYS.items():
        for key in keys.own:
            places.setdefault(key, set()).add(place)
    table = rows("extension-keys.md", "key | on | values | adds | languages")
    described = {key: set(where.split(", ")) for first, (where, *_) in table.items() for key in words(first)}
    # what any type may have, the outermost one may, too
    assert described == {key: found - {"schema"} or found for key, found in places.items()}


def test_every_extra_is_on_the_page_of_installation() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {*project["optional-dependencies"]} - {"dev", "test"}
    text = (DOCS / "install.md").read_text("utf-8")
    named = {name for group in re.findall(r"\[([a-z,-]+)\]'", text) for name in group.split(",")}
    assert named == extras
