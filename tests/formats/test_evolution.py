"""`kodec check-evolution`: every change that breaks an older version is named, and nothing else."""

# ruff: noqa: E501  (a schema on one line is easier to compare with another)

from __future__ import annotations

from pathlib import Path

import pytest

from kodec.cli.main import main
from kodec.formats.evolution import violations
from tests.data import ROOT
from tests.golden import Golden

SCHEMA = """\
meta: {id: x, endian: be, imports: [number]}
-versions: 0-2
-flexible: 1+
-topic: t
-message: {kind: value, number: 4}
seq:
- {id: version, type: s2}
- {id: a, type: s4, -default: 3}
- {id: b, type: item(version), if: version >= 1, -since: 1}
- {id: n, type: s1, -derive: length_of(c)}
- {id: c, size: n, if: n >= 0, -nullable: n == -1, -nullable-versions: 1+}
- {id: tags, type: tags, if: version >= 1, -since: 1}
types:
  item:
    -versions: 0-2
    params: [{id: version, type: s2}]
    seq:
    - {id: q, type: u1, enum: e}
    - {id: r, type: u1, if: version >= 2, -since: 2}
    enums:
      e: {1: one, 2: two}
  tags:
    -wire: tags
    seq:
    - {id: num, type: number, -derive: count_of(fields)}
    - {id: fields, type: tag, repeat: expr, repeat-expr: num.value}
  tag:
    seq:
    - {id: tag, type: number}
    - {id: len_body, type: number, -derive: length_of(body)}
    - id: body
      size: len_body.value
      type: {switch-on: tag.value, cases: {0: u1, 1: s4}}
      -tags: {0: {id: s, -default: 5}, 1: {id: t, -since: 1}}
"""
NUMBER = (ROOT / "schemas/primitives/unsigned_varint.ksy").read_text()

BREAKING = {
    "a field removed": ("- {id: a, type: s4, -default: 3}\n", "", "x.a: the field is gone in versions 0, 1, 2"),
    "a type changed": ("{id: a, type: s4", "{id: a, type: s8", "x.a: the type was `s4be`, and is `s8be` in versions 0, 1, 2"),
    "a default changed": ("s4, -default: 3", "s4, -default: 4", "x.a: the default was `3`, and is `4`"),
    "a field added to a version that is there": ("- {id: b,", "- {id: z, type: u1}\n- {id: b,", "x.z: the field is new"),
    "fields in another order": ("    - {id: q, type: u1, enum: e}\n    - {id: r, type: u1, if: version >= 2, -since: 2}\n", "    - {id: r, type: u1, if: version >= 2, -since: 2}\n    - {id: q, type: u1, enum: e}\n", "x.item.r: it stands where `q` stood in version 2"),
    "a field in fewer versions": ("type: u1, if: version >= 2, -since: 2", "type: u1, if: version >= 1, -since: 1", "x.item.r: the field is new, and only a tagged field may be added to an existing version: in version 1"),
    "a version removed": ("-versions: 0-2\n-flexible", "-versions: 0-1\n-flexible", "x: versions 0-2 were valid, now 0-1 are"),
    "flexible versions shrunk": ("-flexible: 1+", "-flexible: 2+", "x: flexible versions were 1+, now they are 2+"),
    "nullable versions shrunk": ("-nullable-versions: 1+", "-nullable-versions: 2+", "x.c: it could be null, but no longer can in version 1"),
    "another number": ("number: 4", "number: 5", "x: its number was 4"),
    "another topic": ("-topic: t", "-topic: u", "x: its topic was `t`"),
    "an enum value removed": ("{1: one, 2: two}", "{1: one}", "x.e.two: value 2 is gone"),
    "an enum value renamed": ("2: two", "2: deux", "x.e.two: value 2 is now `deux`"),
    "a tag removed": ("cases: {0: u1, 1: s4}}\n      -tags: {0: {id: s, -default: 5}, 1: {id: t, -since: 1}}", "cases: {1: s4}}\n      -tags: {1: {id: t, -since: 1}}", "x.s: tag 0 is gone"),
    "a tag used again": ("0: {id: s,", "0: {id: other,", "x.other: tag 0 was `s`: the number of a tag is not used again"),
    "the type of a tag": ("cases: {0: u1", "cases: {0: s1", "x.s: the type was `u1`, now it is `s1`"),
    "the default of a tag": ("-default: 5", "-default: 6", "x.s: the default was `5`, now it is `6`"),
    "a tag in fewer versions": ("{id: t, -since: 1}", "{id: t, -since: 2}", "x.t: versions were 1+, now they are 2+"),
}  # fmt: skip

COMPATIBLE = {
    "nothing": ("", ""),
    "a new version with a new field": ("- {id: n, type: s1", "- {id: z, type: u1, if: version >= 3, -since: 3}\n- {id: n, type: s1"),
    "a new tag": ("1: s4}}\n      -tags: {", "1: s4, 2: u1}}\n      -tags: {2: {id: u}, "),
    "null in more versions": ("-nullable-versions: 1+", "-nullable-versions: 0+"),
    "a field with another name in its place": ("{id: a,", "{id: z, -orig-id: zed,"),
    "another text": ("seq:\n- {id: version", "doc: Another text.\nseq:\n- {id: version"),
    "another value of an enum": ("2: two}", "2: two, 3: three}"),
}  # fmt: skip


def pair(tmp_path: Path, old: str, new: str) -> tuple[Path, Path]:
    changed = SCHEMA.replace(old, new, 1) if old else SCHEMA
    assert changed != SCHEMA or not old
    if "version >= 3" in changed:
        changed = changed.replace("-versions: 0-2", "-versions: 0-3")
    for name, text in (("old", SCHEMA), ("new", changed)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.ksy").write_text(text)
        (tmp_path / name / "number.ksy").write_text(NUMBER.replace("id: unsigned_varint", "id: number"))
    return tmp_path / "old", tmp_path / "new"


@pytest.mark.parametrize("change", BREAKING)
def test_what_breaks_is_named(change: str, tmp_path: Path) -> None:
    old, new, wanted = BREAKING[change]
    before, after = pair(tmp_path, old, new)
    for one, other in ((before, after), (before / "x.ksy", after / "x.ksy")):
        found = [str(each) for each in violations(one, other)]
        assert any(f"{wanted}" in each for each in found), "\n".join(found)
        assert all(each.startswith("new/x.ksy:") for each in found)


@pytest.mark.parametrize("change", COMPATIBLE)
def test_what_is_compatible_is(change: str, tmp_path: Path) -> None:
    before, after = pair(tmp_path, *COMPATIBLE[change])
    assert violations(before, after) == []
    assert violations(before / "x.ksy", after / "x.ksy") == []


def test_a_schema_that_is_gone(tmp_path: Path, golden: Golden) -> None:
    before, after = pair(tmp_path, "", "")
    (before / "y.ksy").write_text("meta: {id: y}\nseq:\n- {id: a, type: u1}\n")
    golden([str(each) for each in violations(before, after)])
    assert violations(after, before) == []


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = pair(tmp_path, "{id: a, type: s4", "{id: a, type: s8")
    assert main(["check-evolution", str(before), str(before)]) == 0
    assert capsys.readouterr().out == "compatible\n"
    assert main(["check-evolution", str(before), str(after)]) == 1
    assert "1 violation\n" in capsys.readouterr().out
    assert main(["check-evolution", str(before), str(after / "x.ksy")]) == 2
    (after / "x.ksy").write_text("seq: [")
    assert main(["check-evolution", str(before), str(after)]) == 1
    assert "not YAML" in capsys.readouterr().err


KEY = "meta: {{id: {name}, endian: be}}\n{versions}seq:\n- {{id: {front}, type: {type}, valid: {valid}}}\n- {{id: group, type: s4}}\n"


def key(name: str, valid: str, versions: str = "", front: str = "record_type", type: str = "s2") -> str:
    return KEY.format(
        name=name,
        valid=valid,
        versions=f"-versions: {versions}\n" if versions else "",
        front=front,
        type=type,
    )


BEFORE = {
    "one": key("one", "{min: 8, max: 8}", "8", "version"),
    "two": key("two", "{min: 0, max: 1}", "0-1", "version"),
}
AFTER = {"one": key("one", "{eq: 8}"), "two": key("two", "{eq: 1}"), "two_old": key("two_old", "{eq: 0}")}


def folder(path: Path, schemas: dict[str, str]) -> Path:
    path.mkdir()
    for name, text in schemas.items():
        (path / f"{name}.ksy").write_text(text)
    return path


def test_a_version_that_became_the_number_in_front_is_the_same_bytes(tmp_path: Path, golden: Golden) -> None:
    """As the keys of coordinators, whose definitions Kafka 4.1 wrote anew."""
    before, after = folder(tmp_path / "old", BEFORE), folder(tmp_path / "new", AFTER)
    assert violations(before, after) == []
    golden([str(each) for each in violations(after, before)])


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"one": key("one", "{eq: 9}")}, "one: versions 8 were valid, now 9 are"),
        ({"one": key("one", "{eq: 8}", type="s4")}, "one.record_type: the type was `s2be`, and is `s4be` in version 8"),
        ({"one": key("one", "{min: 8}")}, "one: versions 8 were valid, now none are"),
        ({"one": AFTER["one"].replace("group, type: s4", "group, type: s8")}, "one.group: the type was `s4be`"),
        ({"two_old": AFTER["two_old"].replace("group, type: s4", "group, type: s8")}, "two: versions 0-1 were valid, now 1 are"),
        ({"two_old": key("two_old", "{eq: 2}")}, "two: versions 0-1 were valid, now 1 are"),
    ],
)  # fmt: skip
def test_a_number_in_front_that_is_another(changed: dict[str, str], wanted: str, tmp_path: Path) -> None:
    before, after = folder(tmp_path / "old", BEFORE), folder(tmp_path / "new", AFTER | changed)
    found = [str(each) for each in violations(before, after)]
    assert any(wanted in each for each in found), found


def test_a_type_for_a_value_may_move_to_a_schema_of_its_own(tmp_path: Path) -> None:
    inside = "seq: [{id: a, type: number}]\ntypes: {number: {-unwrap: value, seq: [{id: value, type: %s}]}}\n"
    alone = "meta: {id: number, endian: be}\n-unwrap: value\nseq: [{id: value, type: s4}]\n"
    for kind, wanted in (("s4", []), ("s8", ["number.value: the type was `s8be`, and is `s4be`"])):
        before, after = tmp_path / f"{kind}-old", tmp_path / f"{kind}-new"
        for folder in (before, after):
            folder.mkdir()
        (before / "x.ksy").write_text("meta: {id: x, endian: be}\n" + inside % kind)
        (after / "x.ksy").write_text("meta: {id: x, imports: [number]}\nseq: [{id: a, type: number}]\n")
        (after / "number.ksy").write_text(alone)
        assert [f"{each.path}: {each.text}" for each in violations(before, after)] == wanted
