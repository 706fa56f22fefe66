# ruff: noqa: E501  (a schema on one line is easier to compare)
"""Pages for people: everything of a schema is on its page, every link leads somewhere, no text of it is HTML."""

from __future__ import annotations

import json
import posixpath
import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kodec.generator.driver import load, render_all
from kodec.generator.plan.build import program_of
from kodec.generator.plan.places import Places
from kodec.generator.text import Text, cell, code, markdown
from tests.data import TESTS
from tests.golden import Golden

SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = {"schemas": ROOT / "schemas", "formats": TESTS / "generator/formats"}


@cache
def made(folder: str) -> dict[str, str]:
    return render_all(FOLDERS[folder], targets=["documents"]).modules


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_type_field_and_enum_is_on_its_page(folder: str) -> None:
    pages, model = made(folder), load(FOLDERS[folder])
    texts = {path for path in pages if path.endswith(".md")}
    assert texts == {schema.path.replace(".ksy", ".md") for schema in model.schemas} | {"index.md"}
    for schema in model.schemas:
        page = pages[schema.path.replace(".ksy", ".md")]
        assert f"[{schema.path}]({schema.path.replace('.ksy', '.md')})" in pages["index.md"]
        for struct in schema.structs:
            assert f'<a id="{struct.name.replace("::", "-")}"></a>' in page
            assert all(f"| `{field.id}` |" in page for field in struct.fields)
            assert all(f"`{each.id}`" in page for each in struct.instances if each.peek_at is not None)
        for enum in schema.enums:
            assert all(f"| {item.value} | `{item.id}` |" in page for item in enum.items)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_link_leads_somewhere(folder: str) -> None:
    pages = made(folder)
    anchors = {(path, name) for path, text in pages.items() for name in re.findall(r'<a id="([^"]*)">', text)}
    count = 0
    for path, text in pages.items():
        for target in re.findall(r"\]\(([^)]*)\)", text):
            page, _, anchor = target.partition("#")
            whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), page)) if page else path
            assert (whole, anchor) in anchors if anchor else whole in pages, (path, target)
            count += 1
    assert count > 3


def test_a_page_by_hand() -> None:
    page = made("formats")["sensor_log.md"]
    assert "| 0 | 5 | `magic` | the bytes `53 45 4e 53 1a` | Identifies the file format. |" in page
    assert (
        "| 4 | 4 | `crc` | uint32, little-endian | CRC-32 of all that follows. Computed: `crc32(flags..readings)`. |"
        in page
    )
    assert "| 8 | 1 | `flags.season` | bits 2 to 3 | 0 to 3. |" in page
    assert "| 24 | `len_block - 20` | `readings` | [`reading_list`](#sensor_log-reading_list) |" in page
    assert "| 12 | 1 | `len_name` | uint8 |" in page
    assert "[`varint`](varint.md#varint)" in page
    page = made("formats")["sensor_message.md"]
    assert "**Version 2**" in page and "Until version 1." in page


@pytest.mark.parametrize("folder", FOLDERS)
def test_places_are_those_of_the_layout(folder: str) -> None:
    model = load(FOLDERS[folder])
    program = program_of(model)
    places = Places(program)
    for unit in program.units.values():
        order = [field.id for field in model.struct(unit.name).fields]
        for _, _, fields in places.layouts(unit):
            found = [each for each in fields if "." not in each.path]
            assert sorted((each.path for each in found), key=order.index) == [each.path for each in found]
            at = 0
            for each in found:
                if each.offset is None:
                    break
                assert each.offset in (at, at - (each.size or 0))
                at = each.offset + (each.size or 0)


HOSTILE = [
    "https://x.y/\\`<svg onload=alert(1)>`",
    "https://x.y/'\"onmouseover=alert(1)//. And http://x.y/<b>",
    "<script>alert(1)</script>",
    "[a](javascript:x) <javascript:alert(1)> [a]: javascript:x",
    "![a](x) [^1] a\\",
    "| a |\n|---|\n| b |",
    "a\n:--\n===\n---",
    "# a\n## b\n- c\n+ d\n1. e\n2) f\n> g\n    h\n\th",
    "&lt; &#60; ~~x~~ *x* __x__ $x$ a  \nb",
    "`a` <b> `` ` `c|d`",
    "```\n<b>\n```\n~~~\n<b>",
    "<!-- a",
]
_SIGNS = "`\\<>[]()|*_#-+=:!&~$^'\"/.1)\n a"


@st.composite
def texts(draw: st.DrawFn) -> str:
    signs = st.characters(exclude_categories=("Cc", "Cs"))  # which no text of a schema has
    parts = st.one_of(st.sampled_from(HOSTILE), st.text(_SIGNS, max_size=12), st.text(signs, max_size=5))
    return "".join(draw(st.lists(parts, max_size=5)))


def rendered(page: str) -> tuple[set[str], list[str], str]:
    """The kinds of tokens of a page, the targets of its links, and its text."""
    kinds: set[str] = set()
    links: list[str] = []
    words: list[str] = []
    for block in MarkdownIt("commonmark").enable("table").parse(page):
        for token in [block, *(block.children or ())]:
            kinds.add(token.type)
            if token.type == "link_open":
                links.append(str(token.attrs["href"]))
            if token.type in ("text", "code_inline", "softbreak"):
                words.append(token.content or " ")
    return kinds, links, "".join(words)


_PLAIN = {
    "paragraph_open",
    "paragraph_close",
    "inline",
    "text",
    "softbreak",
    "code_inline",
    "link_open",
    "link_close",
}
_ROW = {
    f"{part}_{end}" for part in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")
}


@pytest.mark.parametrize("raw", HOSTILE)
def test_text_of_a_schema_is_text_on_the_page(raw: str) -> None:
    is_text_on_the_page(raw)


@given(texts())
def test_any_text_of_a_schema_is_text_on_the_page(raw: str) -> None:
    is_text_on_the_page(raw)


def is_text_on_the_page(raw: str) -> None:
    """In a paragraph, a heading, an item of a list and a cell: no element but code and links that it has."""
    paragraph, one = markdown(Text(raw)), cell(Text(raw))
    urls = set(re.findall(r"https?://", raw))
    for page, more in (
        (paragraph, set()),
        (f"# {one}", {"heading_open", "heading_close"}),
        (f"- {one}", {f"{part}_{end}" for part in ("bullet_list", "list_item") for end in ("open", "close")}),
        (f"| a | b |\n|---|---|\n| {one} | end |", _ROW),
    ):
        kinds, links, words = rendered(page)
        assert kinds <= _PLAIN | more
        assert all(link.startswith(tuple(urls)) for link in links) if links else True
        if not urls and "`" not in raw:
            shown = words.removeprefix("ab").removesuffix("end") if more is _ROW else words
            assert "".join(shown.split()) == "".join(raw.split())
        if more is _ROW:
            assert words.startswith("ab") and words.endswith("end")


def test_no_text_of_a_schema_is_markup_on_its_page(tmp_path: Path) -> None:
    bad = "https://x.y/\\`<svg onload=alert(1)>` [a](javascript:b) | <b> \\"
    quoted = json.dumps(bad)
    schema = f"""\
meta: {{id: x, title: {quoted}, endian: be}}
doc: {quoted}
doc-ref: [{quoted}, {quoted}]
-orig-id: {quoted}
seq:
- {{id: a, type: u1, enum: e, doc: {quoted}, doc-ref: {quoted}, -orig-id: {quoted}}}
- {{id: b, type: str, size: 9, encoding: ASCII, valid: {json.dumps(json.dumps(bad.replace(chr(92), "")))}}}
- {{id: c, type: t(a.to_i), if: a.to_i == 1}}
types:
  t:
    doc: {quoted}
    params: [{{id: p, type: u1, doc: {quoted}}}]
    seq: [{{id: d, contents: {quoted}}}]
    instances: {{i: {{value: p + 1, doc: {quoted}}}}}
enums:
  e: {{0: {{id: zero, doc: {quoted}}}, 1: one}}
"""
    (tmp_path / "x.ksy").write_text(schema)
    pages = render_all(tmp_path, targets=["documents"]).modules
    heads = {f"heading_{end}" for end in ("open", "close")}
    lists = {f"{part}_{end}" for part in ("bullet_list", "list_item") for end in ("open", "close")}
    for page in (text for path, text in pages.items() if path.endswith(".md")):
        kinds, links, _ = rendered(page)
        assert kinds <= _PLAIN | _ROW | heads | lists | {"html_block", "html_inline", "image"}
        for html in re.findall(r"<(?![h/]).*?>", re.sub(r"`[^`]*`|\\\\|\\<", "", page)):
            assert re.fullmatch(r'<!-- @generated [^<>]* -->|<a id="[\w-]*">', html), html
        assert {link for link in links if re.fullmatch(r"(x\.md)?(#[\w-]+)?", link) is None} == {
            "https://x.y/"
        }


def test_code_ends_nowhere_else(golden: Golden) -> None:
    assert code("a`b|c\nd") == "`a'b\\|c\\u000ad`"
    golden(markdown(Text("see `a_b` and c_d at https://x.org/a_b#c_d")))


STREAMED = """\
meta: {id: x, title: All of it, endian: le, bit-endian: le, encoding: UTF-8, imports: [y]}
seq:
- {id: kind, type: u1, enum: kinds, doc: What it is}
- {id: low, type: b5}
- {id: high, type: b11, valid: {max: 9}}
- {id: name, type: strz}
- {id: key, size: 4, if: 'kind == kinds::one'}
- {id: word, terminator: 10, include: true, consume: false, eos-error: false}
- {id: label, type: str, size: 8, pad-right: 32, terminator: 0}
- {id: packed, size: _io.size - _io.pos, type: part(kind.to_i), process: xor(key)}
- {id: more, type: {switch-on: kind, cases: {'kinds::one': u2, 'kinds::two': part(1)}}, repeat: eos}
types:
  part:
    meta: {endian: {switch-on: n, cases: {1: le, _: be}}}
    params: [{id: n, type: u1, enum: kinds}]
    seq:
    - {id: a, type: u4}
    - id: body
      type:
        switch-on: a
        cases: {0: u1, 1: u2, 2: u4, 3: y, 4: part(a), _: str}
      size: 3
instances:
  twice: {value: low * 2, enum: kinds, if: low > 1, doc: Two of it}
  index: {pos: high * 4, size: low, type: part(2), io: _root._io, doc: Where all is, if: high > 0}
  mark: {pos: _io.pos + 2, type: u2}
enums:
  kinds: {1: one, 2: {id: two, doc: The other}}
"""


def test_a_page_of_a_streamed_schema(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(STREAMED)
    (tmp_path / "y.ksy").write_text("meta: {id: y}\nseq: [{id: b, type: u1}]\n")
    page = render_all(tmp_path, targets=["documents"]).modules["x.md"]
    for line in (
        "| 0 | 1 | `kind` | uint8, [`kinds`](#x-kinds) | What it is. |",
        "| 1 |  | `low` | 5 bits, least significant first |  |",
        "| 1 |  | `high` | 11 bits, least significant first | Must be at most `9`. |",
        "| 3 | to its end | `name` | text, UTF-8 | Ends at `00`, which is not part of the value. |",
        "|  | 4 | `key` | bytes | Only if `kind == kinds::one`. |",
        "|  | to its end | `word` | bytes | Ends at `0a`, which is part of the value, and stays in the stream; it may be missing at the end of the stream. |",
        "|  | 8 | `label` | text, UTF-8 | Ends at `00`, which is not part of the value. Padded with `20`. |",
        "|  | `_io.size - _io.pos` | `packed` | [`part`](#x-part) with `kind.to_i` | Encoded with `xor(key)`. |",
        "|  |  | `more` | by `kind`: `kinds::one`: uint16, little-endian; `kinds::two`: [`part`](#x-part) with `1`; else nothing, repeated to the end |  |",
        "- `twice` is `low * 2`, [`kinds`](#x-kinds), if `low > 1`. Two of it",
        "| `high * 4` of `_root._io` | `low` | `index` | [`part`](#x-part) with `2` | Where all is. Only if `high > 0`. |",
        "| `_io.pos + 2` | 2 | `mark` | uint16, little-endian |  |",
        "- Byte order by `n`: little-endian if it is `1`, else big-endian.",
        "- Parameter `n`, u1, [`kinds`](#x-kinds).",
        "| 4 | 3 | `body` | by `a`: [see below](#x-part-body) |  |",
        '<a id="x-part-body"></a>',
        "| `3` | [`y`](y.md#y) |",
        "| else | text, UTF-8 |",
        "| 2 | `two` | The other |",
    ):
        assert line in page.splitlines(), line


def test_types_that_hold_each_other_twice(tmp_path: Path) -> None:
    levels = "".join(
        f"  p{n}: {{seq: [{{id: l, type: p{n + 1}}}, {{id: r, type: p{n + 1}}}]}}\n" for n in range(40)
    )
    text = f"meta: {{id: x}}\nseq: [{{id: a, type: p0}}, {{id: t, terminator: 0}}]\ntypes:\n{levels}  p40: {{seq: [{{id: v, type: u1}}]}}\n"
    (tmp_path / "x.ksy").write_text(text)
    page = render_all(tmp_path, targets=["documents"]).modules["x.md"]
    assert f"| 0 | {2**40} | `a` | [`p0`](#x-p0) |  |" in page


def drawn(text: str) -> list[tuple[str, str]]:
    """The texts of a diagram with their classes, in order."""
    root = ElementTree.fromstring(text)
    return [(each.get("class", ""), each.text or "") for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_type_and_field_is_in_the_diagram(folder: str) -> None:
    pages, model = made(folder), load(FOLDERS[folder])
    for path in (path for path in pages if path.endswith(".svg")):
        root = ElementTree.fromstring(pages[path])
        schema = next(each for each in model.schemas if each.path == path.replace(".svg", ".ksy"))
        titles = " ".join(each.text or "" for each in root.iter(f"{SVG}title"))
        shown = [text for kind, text in drawn(pages[path]) if kind == "type"]
        assert [*dict.fromkeys(shown)] == [each.id for each in schema.structs if each.id in shown]
        for struct in schema.structs:
            assert not struct.fields or struct.id in shown
            missing = [each.id for each in struct.fields if not re.search(rf"\b{each.id}\b", titles)]
            assert not missing, (struct.name, missing)
        assert f"({posixpath.basename(path)})" in pages[path.replace(".svg", ".md")]


def test_a_diagram_of_a_streamed_schema(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(STREAMED)
    (tmp_path / "y.ksy").write_text("meta: {id: y}\nseq: [{id: b, type: u1}]\n")
    text = render_all(tmp_path, targets=["documents"]).modules["x.svg"]
    found = drawn(text)
    assert found[0] == ("type", "x")
    assert ("name", "low:5 high:11") in found
    assert ("at", "at high * …") in found
    assert ("name", "index: part with 2 (low)") in found
    root = ElementTree.fromstring(text)
    boxes = {each.findtext(f"{SVG}title"): each.get("class") for each in root.iter(f"{SVG}rect")}
    assert boxes["kind: uint8, kinds (1 bytes)"] is None
    assert boxes["key: bytes (4 bytes)"] == "optional"
    assert boxes["index: part with 2 (low)"] == "elsewhere optional"
    assert boxes["packed: part with kind.to_i (_io.size - _io.pos)"] == "varies"


def test_no_text_of_a_schema_is_markup_in_its_diagram(tmp_path: Path) -> None:
    bad = '</title><script>alert(1)</script>" onload=x [`a`](b) &lt; ]]>'
    quoted = json.dumps(json.dumps(bad))
    (tmp_path / "x.ksy").write_text(
        f"meta: {{id: x, endian: le, encoding: ASCII, title: {quoted}}}\ndoc: {quoted}\n"
        f"seq: [{{id: a, type: {{switch-on: b, cases: {{{json.dumps(json.dumps(bad))}: u1}}}}, doc: {quoted}}}]\n"
        f"instances: {{b: {{value: {quoted}}}, c: {{pos: '({bad.count('a')})', size: {quoted[:-1]}.length\"}}}}\n"
    )
    text = render_all(tmp_path, targets=["documents"], streams=True).modules["x.svg"]
    root = ElementTree.fromstring(text)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {"svg", "title", "style", "rect", "text"}
    assert all(
        set(each.keys()) <= {"x", "y", "width", "height", "class", "style"}
        for each in root.iter(f"{SVG}rect")
    )
    assert "script" in "".join(each.text or "" for each in root.iter(f"{SVG}title"))
