"""Places of names in schemas, and new names: members of the same name are kept apart, or keep their name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kodec.generator.driver import load
from kodec.generator.occurrences import Unsure, occurrences, renamed
from kodec.generator.problems import SchemaError
from kodec.generator.schema.model import to_json
from tests.data import TESTS
from tests.golden import Golden

FORMATS = TESTS / "generator/formats"
TEXT = """\
meta: {id: mixed, endian: le, encoding: UTF-8}
-webide-representation: '{len:dec} of {head.len}'
doc: The len of all, in `len`.
params:
  - {id: factor, type: u1}
seq:
  - {id: head, type: "head(factor, kind::some)"}
  - {id: len, type: u2, enum: kind, valid: {any-of: ['kind::some', 'kind::other']}}
  - id: body
    size: head.len * len.to_i + _root.head.len
    if: head.len > 0 and "len" != "x"
  - id: item
    type:
      switch-on: len
      cases:
        'kind::some': part(len.to_i)
        'head::kind::some': "part(head.len)"
        _: part(factor)
instances:
  twice: {value: 'item.as<part>.len + sizeof<head>'}
types:
  head:
    params: [{id: by, type: u1}, {id: what, type: u2, enum: kind}]
    seq: [{id: len, type: u1}]
    enums: {kind: {1: some}}
  part:
    params:
      - {id: len, type: u4}
    seq:
      - {id: data, size: len, if: _parent.len == kind::other}
enums:
  kind:
    1: some
    2: {id: other, doc: not some}
"""


def offset(mark: str) -> int:
    """The place of `|` in a piece of the text."""
    piece = mark.replace("|", "")
    assert TEXT.count(piece) == 1, mark
    return TEXT.index(piece) + mark.index("|")


def lines(mark: str, name: str, folder: Path) -> list[str]:
    """The lines that a new name changes, as they are then."""
    found = renamed({"mixed.ksy": TEXT}, folder, "mixed.ksy", offset(mark), name)
    text = TEXT
    for each in sorted(found, reverse=True):
        text = text[: each.start] + name + text[each.end :]
    return [new.strip() for old, new in zip(TEXT.split("\n"), text.split("\n"), strict=True) if old != new]


EXPECTED = {
    "  - {id: |len, type: u2": [
        "-webide-representation: '{new:dec} of {head.len}'",
        "- {id: new, type: u2, enum: kind, valid: {any-of: ['kind::some', 'kind::other']}}",
        "size: head.len * new.to_i + _root.head.len",
        "switch-on: new",
        "'kind::some': part(new.to_i)",
        "- {id: data, size: len, if: _parent.new == kind::other}",
    ],
    "seq: [{id: |len": [
        "-webide-representation: '{len:dec} of {head.new}'",
        "size: head.new * len.to_i + _root.head.new",
        'if: head.new > 0 and "len" != "x"',
        "'head::kind::some': \"part(head.new)\"",
        "seq: [{id: new, type: u1}]",
    ],
    "      - {id: |len, type: u4": [
        "twice: {value: 'item.as<part>.new + sizeof<head>'}",
        "- {id: new, type: u4}",
        "- {id: data, size: new, if: _parent.len == kind::other}",
    ],
    "{id: |factor": [
        "- {id: new, type: u1}",
        '- {id: head, type: "head(new, kind::some)"}',
        "_: part(new)",
    ],
    "  |head:": [
        '- {id: head, type: "new(factor, kind::some)"}',
        "'new::kind::some': \"part(head.len)\"",
        "twice: {value: 'item.as<part>.len + sizeof<new>'}",
        "new:",
    ],
    "    enums: {|kind": [
        "'head::new::some': \"part(head.len)\"",
        "params: [{id: by, type: u1}, {id: what, type: u2, enum: new}]",
        "enums: {new: {1: some}}",
    ],
    "\n  |kind:": [
        '- {id: head, type: "head(factor, new::some)"}',
        "- {id: len, type: u2, enum: new, valid: {any-of: ['new::some', 'new::other']}}",
        "'new::some': part(len.to_i)",
        "- {id: data, size: len, if: _parent.len == new::other}",
        "new:",
    ],
    "    1: |some\n": [
        '- {id: head, type: "head(factor, kind::new)"}',
        "- {id: len, type: u2, enum: kind, valid: {any-of: ['kind::new', 'kind::other']}}",
        "'kind::new': part(len.to_i)",
        "1: new",
    ],
    "{1: |some}": ["'head::kind::new': \"part(head.len)\"", "enums: {kind: {1: new}}"],
}


@pytest.mark.parametrize("mark", EXPECTED)
def test_one_of_several_with_the_same_name(mark: str, tmp_path: Path) -> None:
    assert lines(mark, "new", tmp_path) == EXPECTED[mark]
    # a name that stands for something else elsewhere
    used = "data" if "type: u4" not in mark else "by"
    assert lines(mark, used, tmp_path) == [re.sub(r"\bnew\b", used, line) for line in EXPECTED[mark]]


def test_every_name_of_a_format_can_be_another(tmp_path: Path) -> None:
    text = (FORMATS / "sensor_log.ksy").read_text("utf-8")
    plain = re.sub(r"\bsha256\b.*", "", to_json(load(FORMATS)))
    names = [*re.finditer(r"^ +- id: (\w+)|^  (\w+):$", text.partition("\nseq:")[2], re.MULTILINE)]
    assert len(names) > 20
    refused = {}
    for each in names:
        number = 1 if each[1] else 2
        at = text.index("\nseq:") + 5 + each.start(number)
        made = text
        try:
            places = renamed({"sensor_log.ksy": text}, FORMATS, "sensor_log.ksy", at, "new_name")
        except Unsure as error:
            refused[each[number]] = str(error)
            continue
        for place in sorted(places, reverse=True):
            made = f"{made[: place.start]}new_name{made[place.end :]}"
        assert made.count("new_name") > 0
        for file in FORMATS.glob("*.ksy"):
            (tmp_path / file.name).write_text(made if file.stem == "sensor_log" else file.read_text("utf-8"))
        again = re.sub(r"\bsha256\b.*", "", to_json(load(tmp_path)))
        assert again != plain and re.sub(r"\bnew_name\b", each[number], again) == plain
    assert refused == {}


def test_what_is_refused(tmp_path: Path, golden: Golden) -> None:
    def why(text: str, mark: str, name: str = "new") -> str:
        with pytest.raises(Unsure) as caught:
            renamed({"a.ksy": text}, tmp_path, "a.ksy", text.index(mark), name)
        return str(caught.value)

    head = "meta: {id: a}\n"
    both = "  - {id: x, type: b}\n  - {id: y, type: c}\ntypes:\n"
    both += "  b: {seq: [{id: n, type: u1}, {id: in, type: d}]}\n"
    both += "  c: {seq: [{id: n, type: u1}, {id: in, type: d}]}\n"
    both += "  d: {instances: {v: {value: _parent.n}}}\n"
    golden(why(f"{head}seq:\n{both}", "n, type"))
    shown = head + "seq:\n  - {id: n, size: 1}\n  - {id: y, size: 'f\"{n.length}\".length + n.length'}\n"
    golden(why(shown, "n, size"))
    assert why(f"{head}seq: [{{id: n, type: u1}}]\n", "a}", "b").startswith(
        "the schema `a` is named as its file"
    )
    text = f"{head}seq: [{{id: n, type: u1}}, {{id: m, size: n}}]\n"
    assert "the name is used twice" in why(text, "n, type", "m")
    assert "is not a name" in why(text, "n, type", "N")
    golden(why(text, "u1"))
    # a type that would be that of the language
    assert why(f"{head}seq: [{{id: n, type: t}}]\ntypes: {{t: {{seq: [{{id: o, type: u1}}]}}}}\n", "t}", "u1")
    with pytest.raises(SchemaError):
        occurrences({"a.ksy": f"{head}seq: [{{id: n, type: no}}]\n"}, tmp_path, "a.ksy", 30)


def test_a_name_that_would_mean_something_else(tmp_path: Path) -> None:
    text = """\
meta: {id: a}
seq:
  - {id: x, type: b}
types:
  b:
    seq: [{id: y, type: c}]
    types:
      d: {seq: [{id: z, type: u1}]}
  c: {seq: [{id: z, type: u1}]}
"""
    with pytest.raises(Unsure, match="something else would change its meaning"):
        renamed({"a.ksy": text}, tmp_path, "a.ksy", text.index("  c: {") + 2, "d")
    with pytest.raises(Unsure, match="something else would change its meaning"):
        renamed({"a.ksy": text}, tmp_path, "a.ksy", text.index("d: {"), "c")


def test_a_name_in_the_documents_does_not_follow_in_silence(tmp_path: Path) -> None:
    text = "meta: {id: x}\n-names: camelCase\nseq:\n- {id: first_one, type: u1}\n"
    with pytest.raises(Unsure, match=r"write the `-orig-id` of `first_one` first"):
        renamed({"x.ksy": text}, tmp_path, "x.ksy", text.index("first_one"), "second")
    text = text.replace("type: u1", "-orig-id: firstOne, type: u1")
    (place,) = renamed({"x.ksy": text}, tmp_path, "x.ksy", text.index("first_one"), "second")
    assert text[place.start : place.end] == "first_one"
