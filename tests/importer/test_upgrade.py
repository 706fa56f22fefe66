"""`kodec upgrade-schemas`: older keys are rewritten; all else in a file, and what it means, stays."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kodec.cli.main import main
from kodec.generator.driver import render_all
from kodec.generator.problems import Problems
from kodec.generator.schema.build import build
from kodec.importer.upgrade import plan_upgrade
from tests.data import ROOT

pytestmark = pytest.mark.quick

OLDER = """\
meta: {id: shift, endian: be, encoding: UTF-8}
-orig-id: Shift  # as the documents call it
-versions: 0-2
-flexible: 2+
-topic: shifts
-message: {kind: request, number: 99}
seq:
  - id: version
    type: s2
    valid: {min: 0, max: 2}
  # the name
  - id: name
    -orig-id: Name   # of a person
    type: text
  - {id: deadline, -orig-id: Deadline, type: s8, if: version >= 1, -since: 1, -ignorable: true, -default: -1}
  - id: early
    -orig-id: Early
    type: s4
    if: >-
      version
      <= 1
    -until: 1
    # a comment between two keys
    -default: 7
  - {id: len_note, type: s2, -derive: length_of(note)}
  - id: note
    -orig-id: Note
    size: len_note
    if: len_note >= 0
    -nullable: |
      len_note == -1
    -nullable-versions: 1+
    doc: Any.
  - {id: section, if: version >= 2, -since: 2, type: tags}
types:
  text:
    -wire: string
    seq:
      - {id: len, type: u2, -derive: length_of(value)}
      - {id: value, type: str, size: len}
  varint:
    -wire: uvarint32
    seq: [{id: groups, type: u1, repeat: until, repeat-until: _ < 0x80 or groups.size == 5}]
    instances: {value: {value: 'groups[0]'}}
  tags:
    -wire: tags
    seq:
      - {id: num, type: varint, -derive: count_of(fields)}
      - {id: fields, type: field, repeat: expr, repeat-expr: num.value}
  field:
    seq:
      - {id: tag, type: varint}
      - {id: len_body, type: varint, -derive: length_of(body)}
      - id: body
        size: len_body.value
        type: {switch-on: tag.value.as<s4>, cases: {0: text, 1: text}}
        -tags:
          0: {id: rack, -orig-id: Rack}
          1:
            id: cause
            -orig-id: Cause
            -since: 2
            -ignorable: true
enums:
  kinds:
    0: {id: none, -since: 1, -until: 2}
"""
NEWER = """\
meta: {id: shift, endian: be, encoding: UTF-8}
-names: PascalCase
-message: {kind: request, number: 99, topic: shifts, flexible: 2+}
seq:
  - id: version
    type: s2
    valid: {min: 0, max: 2}
  # the name
  - id: name
    type: text
  - {id: deadline, type: s8, if: version >= 1, -ignorable: true, -default: -1}
  - id: early
    type: s4
    if: >-
      version
      <= 1
    # a comment between two keys
    -default: 7
  - {id: len_note, type: s2}
  - id: note
    size: len_note
    if: len_note >= 0
    -nullable: 1+
    doc: Any.
  - {id: section, if: version >= 2, type: tags}
types:
  text:
    -unwrap: value
    seq:
      - {id: len, type: u2}
      - {id: value, type: str, size: len}
  varint:
    -primitive: uvarint32
    seq: [{id: groups, type: u1, repeat: until, repeat-until: _ < 0x80 or groups.size == 5}]
    instances: {value: {value: 'groups[0]'}}
  tags:
    seq:
      - {id: num, type: varint}
      - {id: fields, type: field, repeat: expr, repeat-expr: num.value}
  field:
    seq:
      - {id: tag, type: varint}
      - {id: len_body, type: varint}
      - id: body
        size: len_body.value
        type: {switch-on: tag.value.as<s4>, cases: {0: text, 1: text}}
        -tags:
          0: {id: rack}
          1:
            id: cause
            -versions: 2+
            -ignorable: true
enums:
  kinds:
    0: {id: none, -versions: 1-2}
"""


def modules(folder: Path, text: str) -> dict[str, str]:
    """All that is generated, without the hash of the schema."""
    folder.mkdir()
    (folder / "shift.ksy").write_text(text)
    made = render_all(folder, package="shifts", targets=("python", "go", "java", "documents"))
    first = {path: module.partition("\n")[2] for path, module in (made.modules | made.tests).items()}
    return {path: module for path, module in first.items() if not path.endswith(".json")}


def test_older_keys_and_newer_ones_give_the_same_modules(tmp_path: Path) -> None:
    assert modules(tmp_path / "old", OLDER) == modules(tmp_path / "new", NEWER)


def test_only_lines_with_older_keys_change(tmp_path: Path) -> None:
    path = tmp_path / "shift.ksy"
    path.write_text(OLDER)
    plan = plan_upgrade(tmp_path)
    assert [change.after for change in plan.changes] == [NEWER] and plan.skipped == ()
    plan.apply()
    assert plan_upgrade(tmp_path).changes == () and path.read_text() == NEWER


def test_the_verb_shows_a_diff_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shift.ksy"
    path.write_text(OLDER)
    call = ["upgrade-schemas", "--schemas", str(tmp_path)]
    assert main(call) == 3 and path.read_text() == OLDER
    assert "-    -wire: string\n+    -unwrap: value\n" in capsys.readouterr().out
    assert main([*call, "--apply"]) == 0 and path.read_text() == NEWER
    assert main(call) == 0 and "nothing to do" in capsys.readouterr().out
    path.write_text("meta: {id: shift}\nseq: [{id: a, type: nothing}]\n")
    assert main(call) == 1 and "unknown type" in capsys.readouterr().err
    assert main(["upgrade-schemas", "--schemas", str(tmp_path / "none")]) == 2


def test_a_rewritten_schema_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "shift.ksy"
    path.write_text(OLDER)
    path.chmod(0o640)
    plan_upgrade(tmp_path).apply()
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o640, NEWER)


def test_what_cannot_be_rewritten_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "shift.ksy").write_bytes(OLDER.replace("\n", "\r\n").encode())
    plan = plan_upgrade(tmp_path)
    assert plan.changes == () and [path for path, _ in plan.skipped] == ["shift.ksy"]


def test_an_older_key_is_noted_once_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "shift.ksy").write_text(OLDER)
    problems = Problems()
    build(tmp_path, problems)
    (note,) = [each for each in problems.notes if "older key" in each.text]
    assert (note.place.line, note.text) == (4, "`-flexible` is an older key")
    assert "kodec upgrade-schemas" in note.hint


def test_our_own_schemas_have_no_older_key() -> None:
    problems = Problems()
    build(ROOT / "schemas", problems)
    assert [each for each in problems.notes if "older key" in each.text] == []


HEAD = "meta: {id: x, endian: be, encoding: UTF-8}\n"
CONTRADICTIONS = {
    "two spellings": (
        "-message: {kind: a, number: 1, topic: a}\n-topic: b\nseq: [{id: a, type: u1}]\n",
        "3:9",
        "`-topic: b` contradicts `-message`",
    ),
    "a style": ("-names: kebab\nseq: [{id: a, type: u1}]\n", "2:9", "`-names: kebab` is not a style"),
    "a member": ("-unwrap: b\nseq: [{id: value, type: u1}]\n", "2:10", "there is no field `b`"),
    "another member": ("-unwrap: b\nseq: [{id: b, type: u1}]\n", "2:10", "must be called `value`"),
    "never null": ("seq: [{id: a, size: 2, -nullable: true}]\n", "2:35", "no `if` shows when"),
    "a version": ("enums: {e: {0: {id: a, -versions: x}}}\n", "2:35", "is not a version range"),
    "versions twice": (
        "enums: {e: {0: {id: a, -versions: 2+, -since: 2}}}\n",
        "2:47",
        "`-since` and `-versions` mean the same",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_contradiction_is_a_problem(case: str, tmp_path: Path) -> None:
    text, place, message = CONTRADICTIONS[case]
    (tmp_path / "x.ksy").write_text(HEAD + text)
    problems = Problems()
    build(tmp_path, problems)
    found = [(f"{each.place.line}:{each.place.column}", each.text) for each in problems.found]
    assert [one for one in found if one[0] == place and message in one[1]], found


COUNT = """\
meta: {id: count, endian: le}
-unwrap: value
params: [{id: wide, type: bool}]
seq:
  - {id: short, type: u1, if: not wide}
  - {id: long, type: u4, if: wide}
instances:
  value: {value: 'wide ? long : short'}
"""


def test_a_number_in_two_forms_is_one_field(tmp_path: Path) -> None:
    """As two fields with conditions and a choice between them; a constant leaves one form."""
    (tmp_path / "count.ksy").write_text(COUNT)
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, imports: [count], endian: be}\n-versions: 0-2\nseq:\n- {id: version, type: u1}\n"
        "- {id: num, type: count(version >= 2)}\n"
        "- {id: items, type: u2, repeat: expr, repeat-expr: num.value}\n"
        "- {id: few, type: count(false)}\n- {id: others, type: u2, repeat: expr, repeat-expr: few.value}\n"
    )
    (tmp_path / "y.ksy").write_text(
        "meta: {id: y, endian: be}\n-versions: 0-2\nseq:\n- {id: version, type: u1}\n"
        "- {id: num, type: u1, if: version <= 1, -derive: count_of(items)}\n"
        "- {id: num_long, type: u4le, if: version >= 2, -derive: count_of(items)}\n"
        "- {id: items, type: u2, repeat: expr, repeat-expr: 'version >= 2 ? num_long : num'}\n"
        "- {id: few, type: u1, -derive: count_of(others)}\n"
        "- {id: others, type: u2, repeat: expr, repeat-expr: few}\n"
    )
    problems = Problems()
    model = build(tmp_path, problems)
    assert problems.found == [] and [each.id for each in model.schemas] == ["x", "y"]
    one, other = (
        [dataclasses.replace(spec, place=schema.root.place) for spec in schema.root.fields]
        for schema in model.schemas
    )
    assert one == other
