"""Schemas as people write them for stock Kaitai: names of files, imports, encodings, keys and YAML."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kodec.errors import FormatError
from kodec.formats import load_schema
from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaError, SchemaProblem
from kodec.generator.wire import ENCODINGS, encoding_named

Modules = Callable[..., Any]
_number = itertools.count()
LANGUAGES = ("c", "go", "java", "rust", "typescript")


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modules:
    """The generated module of the first of some files."""

    def find(files: Mapping[str, str], notes: list[SchemaProblem] | None = None) -> Any:
        package = tmp_path / f"wild_{next(_number)}"
        schemas = tmp_path / f"schemas_{package.name}"
        for name, text in files.items():
            (schemas / name).parent.mkdir(parents=True, exist_ok=True)
            (schemas / name).write_text(text, "utf-8")
        output = render_all(schemas, targets=("python", *LANGUAGES), formatted=False, notes=notes)
        for name, text in output.modules.items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(text, "utf-8")
        first = next(iter(files)).removesuffix(".ksy").replace("-", "_")
        monkeypatch.syspath_prepend(str(tmp_path))
        found = import_module(f"{package.name}.{first}")
        for name in [each for each in sys.modules if each.startswith(package.name)]:
            monkeypatch.delitem(sys.modules, name)
        return found

    return find


def test_the_id_need_not_be_the_name_of_the_file(modules: Modules) -> None:
    files = {
        "user.ksy": "meta: {id: user, imports: [W3-doo, far/x]}\nseq:\n- {id: a, type: w3_doo}\n- {id: b, type: 'other::part'}\n",
        "W3-doo.ksy": "meta: {id: w3_doo}\nseq: [{id: v, type: u1}]\n",
        "far/x.ksy": "meta: {id: other}\nseq: []\ntypes:\n  part: {seq: [{id: v, type: u1}]}\n",
    }
    found = modules(files).User.from_bytes(b"\1\2")
    assert (found.a.v, found.b.v) == (1, 2)


def test_files_of_one_module_are_a_problem(modules: Modules) -> None:
    with pytest.raises(SchemaError, match="would be one module"):
        modules({"a_b.ksy": "meta: {id: a}\nseq: []\n", "a-b.ksy": "meta: {id: b}\nseq: []\n"})


def test_one_import_needs_no_list(modules: Modules) -> None:
    files = {
        "a.ksy": "meta: {id: a, imports: b}\nseq: [{id: x, type: b}]\n",
        "b.ksy": "meta: {id: b}\nseq: [{id: v, type: u1}]\n",
    }
    assert modules(files).A.from_bytes(b"\7").x.v == 7


def test_what_an_import_imports_is_known_too(modules: Modules) -> None:
    """As in ksc, which reads all of them together; also that which only the importer of a file imports."""
    files = {
        "a.ksy": "meta: {id: a, imports: [b, d]}\nseq: [{id: x, type: b}, {id: y, type: c}]\n",
        "b.ksy": "meta: {id: b, imports: [c]}\nseq: [{id: y, type: c}, {id: z, type: d}]\n",
        "c.ksy": "meta: {id: c}\nseq: [{id: v, type: u1}]\n",
        "d.ksy": "meta: {id: d}\nseq: [{id: v, type: u1}]\n",
    }
    found = modules(files).A.from_bytes(b"\1\2\3")
    assert (found.x.y.v, found.x.z.v, found.y.v) == (1, 2, 3)


ALONE = {
    "a.ksy": "meta: {id: a, imports: [b]}\nseq: [{id: x, type: 'b::inner'}]\n",
    "b.ksy": """
meta: {id: b}
seq: [{id: n, type: inner}, {id: m, type: u1}]
types:
  inner:
    seq: [{id: v, type: u1}, {id: deep, type: deep}]
    instances: {first: {io: _root._io, pos: 0, type: u1}, after: {value: _parent.m}}
  deep:
    seq: [{id: w, type: u1}]
    instances: {above: {value: _parent.v}, top: {value: _root.m}}
""",
}


def test_an_inner_type_of_an_import_has_neither_root_nor_parent(modules: Modules) -> None:
    """It is read as in ksc; only what needs them is an error."""
    found = modules(ALONE).A.from_bytes(b"\7\x08")
    assert (found.x.v, found.x.deep.w, found.x.deep.above) == (7, 8, 7)
    for owner, name in ((found.x, "first"), (found.x, "after"), (found.x.deep, "top")):
        with pytest.raises(FormatError, match="an expression needs"):
            getattr(owner, name)
    assert found.to_bytes() == b"\7\x08"


def test_in_its_own_schema_such_a_type_has_both(modules: Modules) -> None:
    found = modules({"b.ksy": ALONE["b.ksy"], "a.ksy": ALONE["a.ksy"]}).B.from_bytes(b"\7\x08\x09")
    assert (found.n.first, found.n.after, found.n.deep.top) == (7, 9, 9)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("utf-16-le", "UTF-16LE"),
        ("utf_16_be", "UTF-16BE"),
        ("iso8859-1", "ISO-8859-1"),
        ("latin1", "ISO-8859-1"),
        ("csISOLatin1", "ISO-8859-1"),
        ("cp1252", "WINDOWS-1252"),
        ("windows-31j", None),
        ("SJIS", "SHIFT_JIS"),
        ("UTF16", "UTF-16"),
        ("hex", None),
        ("", None),
    ],
)
def test_an_encoding_has_all_its_names(name: str, encoding: str | None) -> None:
    assert encoding_named(name) == encoding


def test_every_encoding_has_its_own_name() -> None:
    assert [encoding_named(each) for each in ENCODINGS] == [*ENCODINGS]


TEXT = "meta: {id: text}\nseq: [{id: n, type: u1}, {id: a, type: str, size: 4, encoding: utf-16}]\ninstances: {z: {pos: 0, type: u1}}\n"


@pytest.mark.parametrize(
    ("stored", "text"), [(b"a\0b\0", "ab"), (b"\xff\xfeb\0", "b"), (b"\xfe\xff\0b", "b")]
)
def test_utf_16_is_in_the_order_of_its_mark(stored: bytes, text: str, modules: Modules) -> None:
    assert modules({"text.ksy": TEXT}).Text.from_bytes(b"\0" + stored).a == text


def test_utf_16_is_written_without_a_mark(modules: Modules) -> None:
    assert modules({"text.ksy": TEXT}).Text(n=1, a="ab").to_bytes() == b"\1a\0b\0"


def test_tabs_that_indent_nothing(modules: Modules) -> None:
    text = "meta:\t# a comment\n  id: text\t\n\t\nseq:\n  - id:\ta\t# c\n    type: u1\n    doc: one\ttwo\n\t# end\n"
    assert modules({"text.ksy": text}).Text.from_bytes(b"\5").a == 5


def test_a_tab_that_indents_is_a_problem(modules: Modules) -> None:
    with pytest.raises(SchemaError, match="not YAML"):
        modules({"text.ksy": "meta: {id: text}\nseq:\n\t- {id: a, type: u1}\n"})


def test_keys_of_other_tools_are_passed_over_with_a_note(modules: Modules) -> None:
    notes: list[SchemaProblem] = []
    text = "meta: {id: text}\n-author: me\nseq:\n- {id: a, type: u1, -orig: b, -orig-type: uint8_t}\n"
    modules({"text.ksy": text}, notes)
    assert [each.text for each in notes] == [
        f"`{key}` is a key of another tool, and ignored" for key in ("-author", "-orig", "-orig-type")
    ]


@pytest.mark.parametrize("key", ["-orig-idd: b", "-derived: length_of(a)", "-row: true", "-nulable: 'true'"])
def test_keys_of_ours_with_a_mistake_are_problems(key: str, modules: Modules) -> None:
    with pytest.raises(SchemaError, match="unknown extension key"):
        modules({"text.ksy": f"meta: {{id: text}}\nseq:\n- {{id: a, type: u1, {key}}}\n"})


def test_numbers_of_an_enum_may_have_quotes(modules: Modules) -> None:
    text = "meta: {id: text}\nseq: [{id: a, type: s1, enum: e}]\nenums: {e: {'-1': x, '0x10': y, 2: z}}\n"
    assert modules({"text.ksy": text}).Text.from_bytes(b"\xff").a.name == "X"


def test_numbers_of_more_than_128_bits(tmp_path: Path) -> None:
    (tmp_path / "text.ksy").write_text(
        f"meta: {{id: text}}\nseq: [{{id: a, terminator: 0}}]\ninstances: {{b: {{value: '{1 << 200} + a.length'}}}}\n"
    )
    assert load_schema(tmp_path / "text.ksy").read(b"ab\0").b == (1 << 200) + 2


def test_go_has_a_plain_u8(modules: Modules) -> None:
    modules({"text.ksy": "meta: {id: text, endian: le}\nseq: [{id: a, type: u8}]\n"})


def test_a_position_beyond_every_stream_is_no_crash(modules: Modules) -> None:
    """An object without bytes is read there, as behind any end; one with bytes is cut short."""
    instances = "instances:\n  a: {pos: p, type: empty}\n  b: {pos: p, type: one}\n"
    types = "types:\n  empty: {seq: []}\n  one: {seq: [{id: x, type: u1}]}\n"
    files = {"far.ksy": f"meta: {{id: far, endian: le}}\nseq: [{{id: p, type: u8}}]\n{instances}{types}"}
    value = modules(files).Far.from_bytes(b"\xff" * 8)
    assert value.a == type(value.a)()
    with pytest.raises(FormatError):
        value.b  # noqa: B018  (it is read)
