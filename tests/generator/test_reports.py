"""Problems in the forms that editors, CI and programs read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kodec.generator.problems import Place, SchemaProblem
from kodec.generator.reports import FORMS, Remark, remarks, stale
from kodec.generator.watch import changes_of
from tests.golden import Golden

PROBLEMS = [
    SchemaProblem(Place("formats/a.ksy", 3, 17), "a.size", "unknown type `uint32`", "u4"),
    SchemaProblem(Place("formats/in ner/b.ksy", 1, 1), "", "100%: \x1b[31m,\nno more"),
]
FOUND = remarks(PROBLEMS, Path("src/app/formats"))


def test_a_place_is_a_path_that_can_be_opened(golden: Golden) -> None:
    golden([each.file for each in FOUND])
    for folder, shown in (
        ("formats", "formats/a.ksy"),
        ("./formats", "formats/a.ksy"),
        ("/x/formats", "/x/formats/a.ksy"),
    ):
        assert remarks(PROBLEMS[:1], Path(folder))[0].file == shown


def test_text_is_a_line_for_each(golden: Golden) -> None:
    """As the problem matchers of editors expect it: VS Code's `$gcc`, vim's default `errorformat`."""
    first, second = FORMS["text"](FOUND).splitlines()
    golden(first)
    assert second.startswith("src/app/formats/in ner/b.ksy:1:1: error: 100%: \\x1b[31m,")
    matched = re.fullmatch(r"(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error):\s+(.*)", first)
    assert matched is not None
    golden(matched.groups())


def test_a_note_is_none_of_the_errors(golden: Golden) -> None:
    note = SchemaProblem(Place("formats/a.ksy", 3, 17), "a.b", "encoding `utf8`", "UTF-8", "note")
    found = remarks([note], Path("formats"))
    golden(FORMS["text"](found))
    assert json.loads(FORMS["json"](found))["problems"][0]["severity"] == "note"
    assert FORMS["github"](found).startswith("::notice file=formats/a.ksy,line=3,col=17::")
    assert json.loads(FORMS["sarif"](found))["runs"][0]["results"][0]["level"] == "note"


def test_json() -> None:
    (line,) = FORMS["json"](FOUND).splitlines()
    first = json.loads(line)["problems"][0]
    assert first == {
        "file": "src/app/formats/a.ksy",
        "line": 3,
        "column": 17,
        "severity": "error",
        "rule": "schema",
        "path": "a.size",
        "text": "unknown type `uint32`",
        "hint": "u4",
    }
    assert json.loads(FORMS["json"]([])) == {"problems": []}


def test_github_escapes_what_commands_are_made_of(golden: Golden) -> None:
    first, second = FORMS["github"](FOUND).splitlines()
    golden(first)
    golden(second)
    odd = Remark("a:b,c.ksy", 1, 2, "error", "schema", "", "t", "")
    golden(FORMS["github"]([odd]))


def test_paths_are_those_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inside = remarks(PROBLEMS[:1], tmp_path / "formats")
    assert "file=formats/a.ksy," in FORMS["github"](inside)
    assert '"uri": "formats/a.ksy"' in FORMS["sarif"](inside)


def test_sarif() -> None:
    """The properties that SARIF 2.1.0 requires, and those that code scanning reads."""
    document = json.loads(FORMS["sarif"](FOUND))
    assert document["version"] == "2.1.0" and "sarif-schema-2.1.0.json" in document["$schema"]
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "kodec"
    rules = [rule["id"] for rule in driver["rules"]]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert len(run["results"]) == len(FOUND)
    for result in run["results"]:
        assert result["ruleId"] in rules and result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        physical = result["locations"][0]["physicalLocation"]
        assert re.fullmatch(r"[A-Za-z0-9_./%~-]+", physical["artifactLocation"]["uri"])
        assert physical["region"]["startLine"] >= 1 and physical["region"]["startColumn"] >= 1
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith(
        "in%20ner/b.ksy"
    )


def test_stale_files(golden: Golden) -> None:
    found = stale([(Path("out/a.py"), "changed"), (Path("out/b.py"), "stale")])
    golden(FORMS["text"](found).splitlines())


def test_changes_are_seen_once_each(tmp_path: Path) -> None:
    """Written, added below, renamed over, removed; what is still being written is waited for."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.ksy").write_text("1")
    todo = [
        lambda: (tmp_path / "a.ksy").write_text("12"),
        lambda: (tmp_path / "a.ksy").write_text("123"),
        None,
        lambda: (tmp_path / "inner/b.ksy").write_text("1"),
        None,
        lambda: (tmp_path / "other.txt").write_text("1"),
        lambda: (tmp_path / "inner/b.ksy").replace(tmp_path / "a.ksy"),
        None,
        lambda: (tmp_path / "a.ksy").unlink(),
        None,
    ]
    seen = []

    def wait(seconds: float) -> None:
        if todo and (action := todo.pop(0)) is not None:
            action()

    for _ in changes_of(tmp_path, wait=wait):
        seen.append(sorted(path.name for path in tmp_path.rglob("*.ksy")))
        if not todo:
            break
    assert seen == [["a.ksy"], ["a.ksy"], ["a.ksy", "b.ksy"], ["a.ksy"], []]
