"""Every construct of docs/schema-language.md that is supported: bytes to values and back."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import dataclasses
import gzip
import math
import re
import struct
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any
from uuid import UUID

import crc32c
import pytest

from kodec.runtime.errors import CrcMismatch, EncodeError, FormatError, Malformed, Truncated, Unsupported
from kodec.runtime.messages import in_python
from tests.data import ROOT, TESTS

pytestmark = pytest.mark.quick

PAGE = ROOT / "docs/schema-language.md"
Codec = Callable[..., ModuleType]

VARINT = (ROOT / "schemas/primitives/varint.ksy").read_text()
UVARINT = VARINT.replace("zigzag32", "uvarint32").replace("id: varint", "id: uvarint")


def plain(value: object) -> Any:
    """A generated object as a dict, for comparison."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return [plain(each) for each in value] if isinstance(value, list) else value


FLAG = "meta: {id: flag}\n-primitive: bool8\nseq:\n- {id: stored, type: u1}\ninstances:\n  value: {value: stored != 0}\n"

# row of the page -> schema, bytes, what is read from them
SUPPORTED: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "u1 u2 u4 u8": (
        "seq:\n- {id: a, type: u1}\n- {id: b, type: u2}\n- {id: c, type: u4}\n- {id: d, type: u8}\n",
        struct.pack(">BHIQ", 255, 65535, 2**32 - 1, 2**64 - 1),
        {"a": 255, "b": 65535, "c": 2**32 - 1, "d": 2**64 - 1},
    ),
    "s1 s2 s4 s8": (
        "seq:\n- {id: a, type: s1}\n- {id: b, type: s2}\n- {id: c, type: s4}\n- {id: d, type: s8}\n",
        struct.pack(">bhiq", -128, -32768, -(2**31), -(2**63)),
        {"a": -128, "b": -32768, "c": -(2**31), "d": -(2**63)},
    ),
    "f4 f8": (
        "seq:\n- {id: a, type: f4}\n- {id: b, type: f8}\n",
        struct.pack(">fd", 0.5, math.pi),
        {"a": 0.5, "b": math.pi},
    ),
    "meta/endian, le and be suffixes": (
        "seq:\n- {id: a, type: u2}\n- {id: b, type: u2le}\n- {id: c, type: u4le}\n- {id: d, type: u2be}\n- {id: e, type: f8le}\n",
        struct.pack(">H", 1) + struct.pack("<HI", 2, 3) + struct.pack(">H", 4) + struct.pack("<d", 5.0),
        {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5.0},
    ),
    "b1 to b64": (
        "seq:\n- {id: a, type: b1}\n- {id: b, type: b3}\n- {id: c, type: b4}\n- {id: d, type: b20}\n- {id: e, type: b4}\n- {id: f, type: b64}\n",
        bytes([0b1_101_0110]) + (0xABCDE << 4 | 5).to_bytes(3, "big") + bytes(range(8)),
        {"a": True, "b": 5, "c": 6, "d": 0xABCDE, "e": 5, "f": 0x0001020304050607},
    ),
    "size": (
        "seq:\n- {id: a, size: 3}\n- {id: n, type: u1}\n- {id: b, size: n * 2}\n",
        b"abc\x02wxyz",
        {"a": b"abc", "n": 2, "b": b"wxyz"},
    ),
    "size-eos": ("seq:\n- {id: a, type: u1}\n- {id: b, size-eos: true}\n", b"\x01rest", {"a": 1, "b": b"rest"}),
    "contents": (
        "seq:\n- {id: magic, contents: [K, 0x00, 255]}\n- {id: a, type: u1}\n",
        b"K\x00\xff\x07",
        {"a": 7},
    ),
    "str": (
        "seq:\n- {id: a, type: str, size: 4, encoding: ASCII}\n- {id: n, type: u1, -derive: length_of(b)}\n"
        "- {id: b, type: str, size: n, encoding: UTF-8}\n- {id: c, type: str, size: 4, encoding: UTF-16LE}\n"
        "- {id: d, type: str, size-eos: true, encoding: ISO-8859-1}\n",
        b"abcd" + b"\x03" + "\u20ac".encode() + "hi".encode("utf-16-le") + "\xe9".encode("latin-1"),
        {"a": "abcd", "b": "\u20ac", "c": "hi", "d": "\xe9"},
    ),
    "types": (
        "seq:\n- {id: a, type: inner}\n- {id: n, type: u1, -derive: length_of(b)}\n- {id: b, type: outer, size: n}\n"
        "types:\n  inner:\n    seq:\n    - {id: p, type: u2}\n  outer:\n    seq:\n    - {id: q, type: inner}\n    - {id: r, size-eos: true}\n",
        b"\x00\x01\x04\x00\x02xy",
        {"a": {"p": 1}, "b": {"q": {"p": 2}, "r": b"xy"}},
    ),
    "params": (
        "seq:\n- {id: n, type: u1}\n- {id: a, type: 'item(n, true)'}\n- {id: b, type: 'item(2, n == 9)'}\n"
        "types:\n  item:\n    params:\n    - {id: width, type: u1}\n    - {id: marked, type: bool}\n"
        "    seq:\n    - {id: mark, type: u1, if: marked, -default: 0}\n    - {id: data, size: width}\n",
        b"\x01\x63xyz",
        {"n": 1, "a": {"mark": 0x63, "data": b"x", "width": 1, "marked": True}, "b": {"mark": 0, "data": b"yz", "width": 2, "marked": False}},
    ),
    "if": (
        "seq:\n- {id: n, type: u1}\n- {id: a, type: u2, if: n > 1}\n- {id: b, type: u2, if: n <= 1, -default: 9}\n",
        b"\x02\x00\x07",
        {"n": 2, "a": 7, "b": 9},
    ),
    "repeat: expr": (
        "seq:\n- {id: n, type: u1, -derive: count_of(a)}\n- {id: a, type: u2, repeat: expr, repeat-expr: n}\n"
        "- {id: b, size: 2, repeat: expr, repeat-expr: 2}\n- {id: c, type: p, size: 3, repeat: expr, repeat-expr: 1}\n"
        "types:\n  p:\n    seq:\n    - {id: q, type: u1}\n    - {id: r, size-eos: true}\n",
        b"\x02\x00\x01\x00\x02wxyz\x05ab",
        {"a": [1, 2], "b": [b"wx", b"yz"], "c": [{"q": 5, "r": b"ab"}]},
    ),
    "repeat: eos": (
        "seq:\n- {id: a, type: p, repeat: eos}\ntypes:\n  p:\n    seq:\n    - {id: q, type: u1}\n    - {id: r, size: q}\n",
        b"\x01a\x00\x02bc",
        {"a": [{"q": 1, "r": b"a"}, {"q": 0, "r": b""}, {"q": 2, "r": b"bc"}]},
    ),
    "repeat: until": (
        "seq:\n- {id: a, type: u1, repeat: until, repeat-until: _ == 0 or a.size == 3}\n- {id: b, type: u1}\n",
        b"\x05\x00\x09",
        {"a": [5, 0], "b": 9},
    ),
    "enum": (
        "seq:\n- {id: a, type: u1, enum: kind}\n- {id: b, type: u1, enum: kind, repeat: expr, repeat-expr: 2}\n- {id: c, type: b1, enum: kind}\n- {id: d, type: b7}\n"
        "enums:\n  kind:\n    0: none\n    1: {id: some, doc: More than none.}\n",
        b"\x01\x00\x07\x83",
        {"a": 1, "b": [0, 7], "c": 1, "d": 3},
    ),
    "valid": (
        "seq:\n- {id: a, type: u1, valid: 5}\n- {id: b, type: s2, valid: {min: -3, max: 3}}\n- {id: c, type: u1, valid: {any-of: [1, 4]}}\n"
        "- {id: d, type: u1, valid: {expr: _ % 2 == 1}}\n- {id: e, type: str, size: 2, encoding: ASCII, valid: {eq: '\"ok\"'}}\n",
        b"\x05\xff\xfe\x04\x07ok",
        {"a": 5, "b": -2, "c": 4, "d": 7, "e": "ok"},
    ),
    "-valid": (
        "seq:\n- {id: a, type: u1, -valid: {min: 5}}\n- {id: b, type: u1, -valid: {expr: _ % 2 == 1}}\n",
        b"\x05\x01",
        {"a": 5, "b": 1},
    ),
    "switch-on": (
        "seq:\n- {id: n, type: u1}\n- {id: a, type: {switch-on: n, cases: {1: u2, 2: p, 3: str}}, size: 2, encoding: ASCII}\n"
        "- {id: b, type: {switch-on: n, cases: {1: u2, _: p}}}\n- id: c\n  type:\n    switch-on: n\n    cases: {7: u1}\n  size-eos: true\n"
        "types:\n  p:\n    seq:\n    - {id: q, type: u2}\n",
        b"\x03hi\x00\x09zz",
        {"n": 3, "a": "hi", "b": {"q": 9}, "c": b"zz"},
    ),
    "instances with value": (
        "seq:\n- {id: n, type: u1}\n- {id: a, size: twice}\ninstances:\n  twice: {value: n * 2}\n",
        b"\x01ab",
        {"n": 1, "a": b"ab"},
    ),
    "instances with pos: _io.pos + n": (
        "seq:\n- id: a\n  type:\n    switch-on: kind\n    cases: {1: p, 2: q}\n  size: len\ninstances:\n  kind: {pos: _io.pos + 2, type: u1}\n"
        "  len: {pos: _io.pos, type: u2}\ntypes:\n  p:\n    seq:\n    - {id: len, type: u2}\n    - {id: kind, contents: [1]}\n    - {id: c, size-eos: true}\n"
        "  q:\n    seq:\n    - {id: len, type: u2}\n    - {id: kind, contents: [2]}\n    - {id: d, type: u1}\n",
        b"\x00\x04\x02\x63",
        {"a": {"len": 4, "d": 0x63}},
    ),
    "doc, doc-ref": (
        "doc: |\n  A \"quoted\" \\ text, and \"\"\"three\"\"\".\n\n  - a list\n  - \"of things\"\nseq:\n- {id: a, type: u1, doc: 'ends in a \"quote\"'}\n- {id: b, type: u1, doc: 'ends in \\'}\n",
        b"\x01\x02",
        {"a": 1, "b": 2},
    ),
    "names that Python uses": (
        "seq:\n- {id: class, type: u1}\n- {id: field, type: u1}\n- {id: list, type: u1, repeat: expr, repeat-expr: 1}\n- {id: bytes, size: span}\n- {id: pos, type: p}\n"
        "- {id: crc, type: u1}\n- {id: crc32, type: u4, -derive: crc32(class..pos)}\n- {id: from_bytes, size: 2}\n"
        "types:\n  p:\n    seq:\n    - {id: span, type: u1}\n    - {id: def, type: u1}\n"
        "instances:\n  span: {value: class + 1}\n",
        (body := b"\x00\x01\x02\x03\x04\x05") + b"\x09" + zlib.crc32(body).to_bytes(4, "big") + b"\x00\x01",
        {"class_": 0, "field_": 1, "list_": [2], "bytes_": b"\x03", "pos": {"span": 4, "def_": 5}, "crc": 9, "crc32": zlib.crc32(body), "from_bytes_": b"\x00\x01"},
    ),
    "-orig-id": ("seq:\n- {id: a, -orig-id: theA, type: u1}\n", b"\x01", {"a": 1}),
    "-default": (
        "seq:\n- {id: n, type: u1}\n- {id: a, type: u8, if: n > 0, -default: 18446744073709551615}\n- {id: b, type: str, size: n, encoding: ASCII, if: n > 0, -default: '\"none\"'}\n"
        "- {id: c, type: f4, if: n > 0, -default: -0.5}\n",
        b"\x00",
        {"n": 0, "a": 2**64 - 1, "b": "none", "c": -0.5},
    ),
    "-derive: length_of(x)": (
        "seq:\n- {id: n, type: u2, -derive: length_of(a)}\n- {id: a, size: n}\n- {id: m, type: u1, valid: {min: 1}, -derive: length_of(b) + 1}\n- {id: b, size: m - 1, type: p}\n"
        "types:\n  p:\n    seq:\n    - {id: q, type: u1}\n    - {id: r, size-eos: true}\n",
        b"\x00\x02hi\x04\x01xy",
        {"a": b"hi", "b": {"q": 1, "r": b"xy"}},
    ),
    "-derive: length_of(a..b)": (
        "seq:\n- {id: n, type: u2, -derive: length_of(a..b) + 4}\n- {id: a, type: u1}\n- {id: b, type: u2}\n- {id: c, type: u1}\n",
        b"\x00\x07\x01\x00\x02\x03",
        {"a": 1, "b": 2, "c": 3},
    ),
    "-derive: count_of(x)": (
        "seq:\n- {id: n, type: u1, -derive: count_of(a)}\n- {id: m, type: u1, -derive: length_of(a)}\n- {id: a, type: l, size: m}\n"
        "types:\n  l:\n    -wire: list\n    seq:\n    - {id: e, type: u2, repeat: eos}\n",
        b"\x02\x04\x00\x01\x00\x02",
        {"a": [1, 2]},
    ),
    "-derive: crc32(a..b), crc32c(a..b)": (
        "seq:\n- {id: outer, type: u4, -derive: crc32(inner..b)}\n- {id: inner, type: u4, -derive: crc32c(a..a)}\n- {id: a, type: u2}\n- {id: b, type: u2}\n- {id: c, type: u1}\n",
        zlib.crc32(body := crc32c.crc32c(b"\x00\x01").to_bytes(4, "big") + b"\x00\x01\x00\x02").to_bytes(4, "big") + body + b"\x03",
        {"a": 1, "b": 2, "c": 3, "inner": crc32c.crc32c(b"\x00\x01"), "outer": zlib.crc32(body)},
    ),
    "-derive: last(x.y), max(x.y)": (
        "seq:\n- {id: n, type: u1, -derive: count_of(a)}\n- {id: end, type: u2, -derive: last(a.q)}\n- id: top\n  type: u2\n  -derive: {value: max(a.q) + base, verify: at_least, when: n > 1}\n"
        "- {id: base, type: u1}\n- {id: a, type: p, repeat: expr, repeat-expr: n}\ntypes:\n  p:\n    seq:\n    - {id: q, type: u1}\n",
        b"\x02\x00\x03\x00\x63\x0a\x07\x03",
        {"end": 3, "top": 99, "base": 10, "a": [{"q": 7}, {"q": 3}]},
    ),
    "-nullable: true": (
        "seq:\n- {id: n, type: s2}\n- {id: a, size: n, if: n >= 0, -nullable: true}\n"
        "- {id: m, type: s1}\n- {id: b, type: p, size: m, if: m >= 0, -nullable: true}\ntypes:\n  p:\n    seq:\n    - {id: q, type: u1}\n",
        b"\xff\xff\xff",
        {"a": None, "b": None},
    ),
    "-derive: presence_of(x)": (
        "seq:\n- {id: has_a, type: s1, -derive: presence_of(a)}\n- {id: a, type: p, if: has_a >= 0, -nullable: has_a == -1}\n- {id: has_b, type: s1, -derive: presence_of(b)}\n- {id: b, type: p, if: has_b >= 0, -nullable: true}\n"
        "types:\n  p:\n    seq:\n    - {id: q, type: u1}\n",
        b"\xff\x01\x09",
        {"a": None, "b": {"q": 9}},
    ),
    "-nullable: 2+": (
        "-versions: 0-1\nseq:\n- {id: version, type: u1}\n- {id: n, type: s1}\n- {id: a, size: n, if: n >= 0, -nullable: 1+, -default: empty}\n",
        b"\x01\xff",
        {"version": 1, "a": None},
    ),
    "-message": (
        "-message: {kind: request, number: 3, topic: x, flexible: none}\nseq:\n- {id: a, -orig-id: theA, type: u1}\n",
        b"\x01",
        {"a": 1},
    ),
    "-versions, -ignorable": (
        "-versions: 0-3\nseq:\n- {id: version, type: s2, -default: 3}\n- {id: a, type: u1, if: version >= 1, -default: 7}\n- {id: b, type: u1, if: version < 2, -ignorable: true}\n",
        b"\x00\x02\x05",
        {"version": 2, "a": 5, "b": 0},
    ),
    "-row: {columns, unless, bounds, head}": (
        "seq:\n- {id: a, type: entry}\n- {id: n, type: u1}\n- {id: b, size: n}\ntypes:\n  entry:\n"
        "    -row:\n      columns: [c, {name: twice, type: int32, value: d * 2}]\n      unless: d == 9\n"
        "      bounds: {c: {first: d, last: d + 1}, twice: {last: 18}}\n"
        "    seq:\n    - {id: d, type: u1, -column: {name: c, type: uint8}}\n",
        b"\x05\x01x",
        {"a": {"d": 5}, "n": 1, "b": b"x"},
    ),
    "-column, -row": (
        "-row: true\nseq:\n- {id: a, type: u1, -column: false}\n- {id: b, type: u1, -column: {name: bee, type: int8}}\n",
        b"\x01\x02",
        {"a": 1, "b": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", SUPPORTED)
def test_reads_and_writes(row: str, codec: Codec) -> None:
    schema, data, expected = SUPPORTED[row]
    kind = codec(schema).X
    value = kind.from_bytes(data)
    assert plain(value) == expected
    assert value.to_bytes() == data
    for size in range(len(data)):
        try:
            cut = kind.from_bytes(data[:size])
        except FormatError:
            continue
        assert cut.to_bytes() == data[:size]


INTRINSIC = {"varint.ksy": VARINT, "uvarint.ksy": UVARINT}
UUID_TYPE = "meta: {id: uuid}\n-primitive: uuid\nseq:\n- {id: value, size: 16}\n"
TAGS = """\
meta: {id: x, endian: be, encoding: UTF-8, imports: [uvarint, uuid]}
seq:
- {id: part, type: holder}
- {id: after, type: u1}
types:
  holder:
    seq:
    - {id: a, type: u1}
    - {id: tags, type: section}
  section:
    seq:
    - {id: num, type: uvarint}
    - {id: fields, type: entry, repeat: expr, repeat-expr: num.value}
  entry:
    seq:
    - {id: tag, type: uvarint}
    - {id: len_body, type: uvarint}
    - id: body
      size: len_body.value
      type:
        switch-on: tag.value.as<s4>
        cases: {0: uuid, 1: pair, 2: str, 3: u2}
      -tags: {0: topic, 1: both, 2: note, 3: {id: number, -default: 5}}
  pair:
    seq:
    - {id: p, type: u1}
    - {id: q, type: u1}
"""
OF_WIRE: dict[str, tuple[dict[str, str], bytes, dict[str, Any]]] = {
    "-primitive: bool8": (
        {"flag.ksy": FLAG, "x.ksy": "meta: {id: x, imports: [flag]}\n-topic: t\nseq:\n- {id: a, type: flag}\n- {id: b, type: flag, -default: true}\n- {id: n, type: u1, -derive: count_of(c)}\n- {id: c, type: flag, repeat: expr, repeat-expr: n}\n- {id: d, type: u1, if: c.size > 1 and a, -default: 4}\n"},
        b"\x01\x00\x02\x00\x01\x07",
        {"a": True, "b": False, "c": [False, True], "d": 7},
    ),
    "-unwrap of anything else": (
        {"x.ksy": "meta: {id: x, endian: be}\nseq:\n- {id: a, type: maybe}\n- {id: b, type: maybe}\n- {id: c, type: number}\n"
        "types:\n  maybe:\n    -unwrap: value\n    seq:\n    - {id: has_value, type: u1}\n    - {id: value, type: p, if: has_value >= 1, -nullable: true}\n"
        "  number:\n    -unwrap: value\n    seq:\n    - {id: value, type: u2}\n  p:\n    seq:\n    - {id: q, type: u1}\n"},
        b"\x01\x05\x00\x01\x02",
        {"a": {"q": 5}, "b": None, "c": 258},
    ),
    "-primitive: zigzag32 zigzag64 uvarint32 uuid": (
        INTRINSIC | {"uuid.ksy": UUID_TYPE, "varlong.ksy": VARINT.replace("zigzag32", "zigzag64").replace("id: varint", "id: varlong"),
        "x.ksy": "meta: {id: x, imports: [varint, varlong, uvarint, uuid]}\nseq:\n- {id: a, type: varint}\n- {id: b, type: varlong}\n- {id: c, type: uvarint}\n- {id: d, type: uuid}\n- {id: e, type: varint, repeat: until, repeat-until: _.value == 0 or e.size == 9}\n"},
        b"\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x01" + bytes(15) + b"\x01" + b"\x02\x00",
        {"a": -1, "b": 2**63 - 1, "c": 128, "d": UUID(int=1), "e": [1, 0]},
    ),
    "-unwrap of text, bytes, lists": (
        INTRINSIC | {"x.ksy": "meta: {id: x, endian: be, imports: [varint]}\nseq:\n- {id: a, type: text}\n- {id: b, type: blob}\n- {id: c, type: list}\n- {id: d, type: text, repeat: expr, repeat-expr: 2}\n"
        "types:\n  text:\n    -unwrap: value\n    seq:\n    - {id: n, type: varint}\n    - {id: value, type: str, encoding: UTF-8, size: n.value, if: n.value >= 0, -nullable: true}\n"
        "  blob:\n    -unwrap: value\n    seq:\n    - {id: n, type: u1}\n    - {id: value, size: n}\n"
        "  list:\n    -unwrap: items\n    seq:\n    - {id: n, type: u2, valid: {min: 1}}\n    - {id: items, type: text, repeat: expr, repeat-expr: n - 1}\n"},
        b"\x04hi" + b"\x01z" + b"\x00\x03\x02a\x01" + b"\x00\x02\xff",
        {"a": "hi", "b": b"z", "c": ["a", None], "d": ["", "\udcff"]},
    ),
    "-tags": (
        INTRINSIC | {"uuid.ksy": UUID_TYPE, "x.ksy": TAGS},
        b"\x09\x05\x00\x10" + bytes(15) + b"\x01" + b"\x01\x02\x03\x04" + b"\x02\x02hi" + b"\x03\x02\x00\x06" + b"\x09\x01z" + b"\x63",
        {"part": {"a": 9, "topic": UUID(int=1), "both": {"p": 3, "q": 4}, "note": "hi", "number": 6, "tags": [(9, b"z")]}, "after": 0x63},
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", OF_WIRE)
def test_reads_and_writes_wire_types(row: str, codec: Codec) -> None:
    schemas, data, expected = OF_WIRE[row]
    kind = codec(schemas).X
    value = kind.from_bytes(data)
    assert plain(value) == expected
    assert value.to_bytes() == data
    for size in range(len(data)):
        with pytest.raises(FormatError):
            kind.from_bytes(data[:size])


CONTAINER = """\
seq:
- {id: head, type: p}
- {id: n, type: u2, -derive: count_of(body)}
- id: body
  type: {switch-on: head.kind, cases: {'kind::none': items}}
  size-eos: true
  -codec: {field: head.kind, replace: {lz4: gzip}, when: head.old}
types:
  p:
    seq:
    - {id: old, type: b1}
    - {id: kind, type: b7, enum: kind}
  items:
    -unwrap: each
    seq:
    - {id: each, type: u2, repeat: eos}
enums:
  kind: {0: none, 1: gzip, 3: lz4}
"""


def compressed(codec: Codec) -> None:
    x = codec(CONTAINER)
    plain_bytes = b"\x00\x00\x02\x00\x07\x00\x09"
    value = x.X.from_bytes(plain_bytes)
    assert (value.n, value.body) == (2, [7, 9]) and value.to_bytes() == plain_bytes
    for head in (b"\x01", b"\x83"):
        stored = head + b"\x00\x02" + gzip.compress(b"\x00\x07\x00\x09")
        assert x.X.from_bytes(stored).body == [7, 9]
        kept, _ = x.read_x_head(stored, 0, len(stored))
        assert (x.codec_of_x(kept), kept.n, kept.to_bytes()) == ("gzip", 2, stored)
        assert x.X.from_bytes(x.X.from_bytes(stored).to_bytes()).body == [7, 9]
    with pytest.raises(Unsupported, match="unknown codec"):
        x.X.from_bytes(b"\x02\x00\x00")
    with pytest.raises(Malformed, match="n: differs from count_of"):
        x.X.from_bytes(b"\x01\x00\x03" + gzip.compress(b"\x00\x07\x00\x09"))
    with pytest.raises(EncodeError, match="n: needed beside content"):
        x.X(body=b"\x00\x07").to_bytes()


OTHERS = {"-codec": compressed}


@pytest.mark.parametrize("row", OTHERS)
def test_works(row: str, codec: Codec) -> None:
    OTHERS[row](codec)


# row -> schema, bytes that are refused, by which error at which path
REFUSED: dict[str, tuple[str, bytes, type[FormatError], str]] = {
    "left over in a sized type": ("seq:\n- {id: a, type: p, size: 2}\ntypes:\n  p: {seq: [{id: b, type: u1}]}\n", b"\x01\x02", Malformed, "a"),
    "left over in the rest": ("seq:\n- {id: a, type: p, size-eos: true}\ntypes:\n  p: {seq: [{id: b, type: u1}]}\n", b"\x01\x02", Malformed, "a"),
    "count beyond the bytes": ("seq:\n- {id: n, type: u4}\n- {id: a, type: u1, repeat: expr, repeat-expr: n}\n", b"\xff\xff\xff\xff\x01", Truncated, "a"),
    "size beyond the bytes": ("seq:\n- {id: n, type: u4}\n- {id: a, size: n}\n", b"\xff\xff\xff\xff\x01", Truncated, "a"),
    "element without bytes": ("seq:\n- {id: n, type: u1}\n- {id: a, size: n, repeat: eos}\n", b"\x00\x01", Malformed, "a"),
    "wrong contents": ("seq:\n- {id: a, contents: [1, 2]}\n", b"\x01\x03", Malformed, "a"),
    "value not allowed": ("seq:\n- {id: a, type: p}\ntypes:\n  p:\n    seq:\n    - {id: b, type: u1}\n    - {id: c, type: b4, valid: {max: 3}}\n    - {id: d, type: b4, valid: {expr: d > b}}\n", b"\x03\x33", Malformed, "a.d"),
    "NaN is not in a range": ("seq:\n- {id: a, type: f8, valid: {min: 0}}\n", struct.pack(">d", math.nan), Malformed, "a"),
    "length of a range": ("seq:\n- {id: a, type: u1}\n- {id: b, type: u2}\n- {id: n, type: u1, -derive: length_of(a..b)}\n", b"\x01\x02\x03\x04", Malformed, "n"),
    "checksum behind": ("seq:\n- {id: a, size-eos: false, size: 2}\n- {id: c, type: u4, -derive: crc32(a..a)}\n- {id: d, type: u1}\n", b"ab\x00\x00\x00\x00\x01", CrcMismatch, "c"),
    "not text": ("seq:\n- {id: a, type: str, size: 2, encoding: UTF-16LE}\n", b"\x00\xd8", Malformed, "a"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case: str, codec: Codec) -> None:
    schema, data, kind, path = REFUSED[case]
    with pytest.raises(kind) as caught:
        codec(schema).X.from_bytes(data)
    assert caught.value.path == path


# row -> schema, attributes that cannot be written, the path that the error names
UNWRITABLE: dict[str, tuple[str, dict[str, Any], str]] = {
    "too large": ("seq:\n- {id: a, type: u1}\n", {"a": 256}, "a"),
    "not a number": ("seq:\n- {id: a, type: u1}\n", {"a": "x"}, "a"),
    "float too large": ("seq:\n- {id: a, type: f4}\n", {"a": 1e300}, "a"),
    "float too large in a list": ("seq:\n- {id: a, type: f4, repeat: eos}\n", {"a": [0.0, 1e300]}, "a[1]"),
    "bits too many": ("seq:\n- {id: a, type: b3}\n- {id: b, type: b5}\n", {"a": 1, "b": 32}, "b"),
    "wrong size": ("seq:\n- {id: a, size: 2}\n", {"a": b"x"}, "a"),
    "wrong size of text": ("seq:\n- {id: a, type: str, size: 2, encoding: UTF-8}\n", {"a": "\u20ac"}, "a"),
    "wrong size of a type": ("seq:\n- {id: a, type: p, size: 2}\ntypes:\n  p: {seq: [{id: b, size-eos: true}]}\n", {}, "a"),
    "not in the encoding": ("seq:\n- {id: a, type: str, size-eos: true, encoding: ISO-8859-1}\n", {"a": "\u20ac"}, "a"),
    "wrong count": ("seq:\n- {id: a, type: u1, repeat: expr, repeat-expr: 2}\n", {"a": [1]}, "a"),
    "until too early": ("seq:\n- {id: a, type: u1, repeat: until, repeat-until: _ == 0 or a.size == 3}\n", {"a": [0, 0]}, "a"),
    "until not reached": ("seq:\n- {id: a, type: u1, repeat: until, repeat-until: _ == 0 or a.size == 3}\n", {"a": [1, 1]}, "a"),
    "until and nothing": ("seq:\n- {id: a, type: u1, repeat: until, repeat-until: _ == 0 or a.size == 3}\n", {"a": []}, "a"),
    "condition does not hold": ("-topic: t\nseq:\n- {id: n, type: u1}\n- {id: a, type: str, size: 1, encoding: ASCII, if: n > 0}\n", {"a": "x"}, "a"),
    "value not allowed": ("seq:\n- {id: a, type: u1, valid: {min: 2}}\n", {"a": 1}, "a"),
    "value not allowed in a list": ("seq:\n- {id: a, type: u1, valid: {min: 2}, repeat: eos}\n", {"a": [2, 1]}, "a[1]"),
    "length too large": ("seq:\n- {id: n, type: u1, -derive: length_of(a)}\n- {id: a, size: n}\n", {"a": bytes(256)}, "n"),
    "length not allowed": ("seq:\n- {id: n, type: u1, valid: {max: 3}, -derive: length_of(a)}\n- {id: a, size: n}\n", {"a": bytes(4)}, "n"),
    "no case": ("-topic: t\nseq:\n- {id: n, type: u1}\n- {id: a, type: {switch-on: n, cases: {1: u1}}}\n", {"a": 1}, "a"),
    "derived from nothing": ("seq:\n- {id: n, type: u1, -derive: last(a.b)}\n- {id: a, type: p, repeat: eos}\ntypes:\n  p: {seq: [{id: b, type: u1}]}\n", {}, "n"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNWRITABLE)
def test_does_not_write(case: str, codec: Codec) -> None:
    schema, values, path = UNWRITABLE[case]
    with pytest.raises(EncodeError) as caught:
        codec(schema).X(**values).to_bytes()
    assert caught.value.path == path


def test_the_page_lists_what_is_tested() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## The supported subset")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(.+?)` \| (yes|no|streams) \|", text, flags=re.M))
    problems = (TESTS / "generator/test_problems.py").read_text(encoding="utf-8")
    table = problems.partition("UNSUPPORTED: ")[2].partition("\n}")[0]
    unsupported = re.findall(r'^    "(.+?)": \(', table, flags=re.M)
    # test_import_path.py has opaque types
    works = {*SUPPORTED, *OF_WIRE, *OTHERS, "opaque types"}
    assert {row for row, answer in rows.items() if answer == "yes"} == works
    assert {row for row, answer in rows.items() if answer in ("no", "streams")} == set(unsupported)
    streams = (TESTS / "generator/test_streams.py").read_text(encoding="utf-8")
    tested = re.findall(r'^    "(.+?)": Row\(', streams, flags=re.M)
    assert {row for row, answer in rows.items() if answer == "streams"} == set(tested)


OPTIONAL = """\
-topic: t
seq:
- {id: n, type: u1}
- {id: a, type: u2, if: n > 1}
- {id: b, size: 2, if: n > 1}
- {id: c, type: str, size: 2, encoding: ASCII, if: n > 1}
- {id: d, type: p, if: n > 1}
- {id: e, type: u1, repeat: expr, repeat-expr: 2, if: n > 1}
- {id: f, type: u1, if: n > 1, -default: 4}
- {id: g, type: u1, enum: k, if: n > 1 and a > 5}
- {id: h, type: u1, repeat: until, repeat-until: _ == 0 or h.size == 3, if: n > 1, valid: {max: 9}}
- {id: i, size: a, if: n > 1}
- {id: j, size: 1, type: {switch-on: n, cases: {2: p, 3: u1}}, if: n > 1}
types:
  p: {seq: [{id: q, type: u1}]}
enums:
  k: {1: one}
"""


def test_a_field_that_is_not_there_is_none_unless_it_has_a_default(codec: Codec) -> None:
    x = codec(OPTIONAL)
    there = b"\2\0\6bbccdeef\1\0iiiiiij"
    read = x.X.from_bytes(there)
    assert (read.a, read.c, read.e, read.g, read.i) == (6, "cc", [101, 101], 1, b"iiiiii")
    assert read.to_bytes() == there
    names = "abcdeghij"
    absent = x.X.from_bytes(b"\1")
    assert [getattr(absent, name) for name in names] == [None] * len(names)
    assert absent.f == x.X().f == 4
    assert absent == x.X(n=1)
    assert absent.to_bytes() == b"\1"
    for name in names:
        with pytest.raises(EncodeError, match=f"{name}: not given"):
            dataclasses.replace(read, **{name: None}).to_bytes()
        with pytest.raises(EncodeError, match=f"{name}: given, but its condition does not hold"):
            dataclasses.replace(absent, **{name: getattr(read, name)}).to_bytes()


def test_a_switch_without_size_and_case_leaves_the_field_out(codec: Codec) -> None:
    x = codec(
        "-topic: t\nseq:\n- {id: n, type: u1}\n- {id: a, type: {switch-on: n, cases: {1: p, 2: u1}}}\n"
        "types:\n  p: {seq: [{id: q, type: u1}]}\n"
    )
    for data, value in ((b"\1\5", x.P(q=5)), (b"\2\5", 5), (b"\3", None)):
        assert x.X.from_bytes(data) == x.X(n=data[0], a=value)
        assert x.X(n=data[0], a=value).to_bytes() == data
    for n, value in ((1, None), (1, 5), (2, None), (3, 5)):
        with pytest.raises(EncodeError):
            x.X(n=n, a=value).to_bytes()


def test_bytes_are_not_written_where_a_case_would_read_something_else(codec: Codec) -> None:
    x = codec(
        "-topic: t\nseq:\n- {id: n, type: u1}\n- {id: a, size: 2, type: {switch-on: n, cases: {1: p, 2: u2}}}\n"
        "types:\n  p: {seq: [{id: q, type: u2, valid: 7}]}\n"
    )
    assert x.X(n=3, a=b"zz").to_bytes() == b"\3zz"
    for n in (1, 2):
        with pytest.raises(EncodeError, match="no case for this value"):
            x.X(n=n, a=b"zz").to_bytes()


def test_sizes_by_unsigned_fields_of_other_types_and_by_enums(codec: Codec) -> None:
    x = codec(
        "-topic: t\nseq:\n- {id: a, type: p}\n- {id: b, size: a.q.n}\n- {id: k, type: u1, enum: e}\n"
        "- {id: c, size: k.to_i}\n- {id: d, size: 'e::two.to_i'}\n- {id: f, size: k.to_i.as<s4>}\n"
        "types:\n  p: {seq: [{id: q, type: r}]}\n  r: {seq: [{id: n, type: u2}]}\nenums:\n  e: {2: two}\n"
    )
    data = b"\0\1b\2ccddff"
    assert x.X.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize("size", [1 << 30, (1 << 30) + 1, 1 << 64])
@pytest.mark.parametrize("head", ["", "-topic: t\n"])
def test_sizes_that_no_bytes_have(head: str, size: int, codec: Codec) -> None:
    schema = f"{head}seq:\n- {{id: a, size: {size}}}\n- {{id: b, type: p}}\ntypes:\n  p: {{seq: [{{id: c, size: {size}}}]}}\n"
    x = codec(schema)
    assert x.X().a == (b"" if head else None)
    with pytest.raises(Truncated):
        x.X.from_bytes(b"abc")


@pytest.mark.parametrize("head", ["", "-topic: t\n", "-row: true\n"])
def test_types_that_hold_each_other_twice(head: str, codec: Codec) -> None:
    """Each level doubles the fields: neither the generator nor its text may grow with them."""
    levels = "".join(
        f"  p{n}: {{seq: [{{id: l, type: p{n + 1}}}, {{id: r, type: p{n + 1}}}]}}\n" for n in range(40)
    )
    x = codec(f"{head}seq: [{{id: a, type: p0}}]\ntypes:\n{levels}  p40: {{seq: [{{id: v, type: u1}}]}}\n")
    with pytest.raises(Truncated):
        x.X.from_bytes(bytes(999))


VERSIONED = """meta: {id: x, endian: be, imports: [uvarint]}
-versions: 0-3
-flexible: 1+
seq:
- {id: version, type: u1}
- {id: num_items, type: s2, if: version < 1, -until: 0, -derive: count_of(items)}
- {id: num_items_plus_one, type: uvarint, if: version >= 1, -since: 1, -derive: count_of(items) + 1}
- id: items
  type: item(version)
  repeat: expr
  repeat-expr: 'version >= 1 ? num_items_plus_one.value - 1 : num_items'
  if: '(version >= 1 ? num_items_plus_one.value - 1 : num_items) >= 0'
  -nullable: '(version >= 1 ? num_items_plus_one.value - 1 : num_items) == -1'
  -nullable-versions: 2+
  -default: empty
- {id: tags, type: tags, if: version >= 1, -since: 1}
types:
  item:
    -versions: 0-3
    params: [{id: version, type: s2}]
    seq:
    - {id: a, type: u1}
    - {id: b, type: u1, if: version >= 2, -since: 2}
  tags:
    -wire: tags
    seq:
    - {id: n, type: uvarint, -derive: count_of(fields)}
    - {id: fields, type: tag, repeat: expr, repeat-expr: n.value}
  tag:
    seq:
    - {id: tag, type: uvarint}
    - {id: len_body, type: uvarint, -derive: length_of(body)}
    - id: body
      size: len_body.value
      type: {switch-on: tag.value, cases: {0: u1, 1: maybe, 2: u1}}
      -tags:
        0: {id: early, -until: 2, -ignorable: true}
        1: {id: late, -since: 2, -nullable-versions: 3+, -default: empty}
        2: {id: always, -default: 7}
  maybe:
    -wire: string
    seq:
    - {id: n, type: uvarint, -derive: length_of(value) + 1}
    - {id: value, type: str, encoding: UTF-8, size: n.value - 1, if: n.value - 1 >= 0, -nullable: n.value - 1 == -1}
"""


@pytest.fixture
def versioned(codec: Codec) -> ModuleType:
    return codec(INTRINSIC | {"x.ksy": VERSIONED})


def test_a_list_with_two_counts(versioned: ModuleType) -> None:
    item = versioned.Item
    for version, data in ((0, b"\0\0\1\5"), (1, b"\1\2\5\0"), (2, b"\2\2\5\6\0")):
        value = versioned.X(version=version, items=[item(a=5, b=6 * (version == 2))])
        assert value.to_bytes() == data
        assert versioned.X.from_bytes(data) == value


def test_null_is_of_some_versions(versioned: ModuleType) -> None:
    assert versioned.X().items == []
    assert versioned.X(version=2, items=None).to_bytes() == b"\2\0\0"
    assert versioned.X.from_bytes(b"\2\0\0").items is None
    for version, data in ((0, b"\0\xff\xff"), (1, b"\1\0\0")):
        with pytest.raises(EncodeError, match="items: null in a version that does not allow it"):
            versioned.X(version=version, items=None).to_bytes()
        with pytest.raises(FormatError, match="items: null in a version that does not allow it"):
            versioned.X.from_bytes(data)


def test_tags_have_versions(versioned: ModuleType) -> None:
    kind = versioned.X
    assert kind.TAGS == {"early": 0, "late": 1, "always": 2}
    assert kind.IN_VERSIONS["early"] == range(1, 3) and kind.IN_VERSIONS["late"] == range(2, 4)
    assert (kind().late, kind().always) == ("", 7)
    # a tag that this version lacks is kept as one that nobody knows
    read = kind.from_bytes(b"\1\1\2\0\1\x09\1\2\2a")
    assert (read.early, read.late, read.tags) == (9, "", [(1, b"\2a")])
    assert read.to_bytes() == b"\1\1\2\0\1\x09\1\2\2a"
    read = kind.from_bytes(b"\3\1\2\0\1\x09\1\1\0")
    assert (read.early, read.late, read.tags) == (0, None, [(0, b"\x09")])
    # an older version drops what may be dropped, and refuses the rest
    assert kind(version=3, early=5).to_bytes() == b"\3\1\0"
    with pytest.raises(EncodeError, match="late: not in version 1"):
        kind(version=1, late="x").to_bytes()
    with pytest.raises(EncodeError, match="late: null in a version"):
        kind(version=2, late=None).to_bytes()
    with pytest.raises(FormatError, match="late: null in a version"):
        kind.from_bytes(b"\2\1\1\1\1\0")


def test_one_function_reads_all_versions_and_one_writes_them(versioned: ModuleType) -> None:
    own = {
        name
        for name, each in vars(versioned).items()
        if getattr(each, "__module__", "") == versioned.__name__
    }
    assert {name for name in own if not name[0].isupper()} == {
        *("read_x", "write_x", "read_item", "write_item", "read_maybe", "write_maybe"),
    }
    for version in versioned.X.VERSIONS:
        value = versioned.X(version=version, items=[versioned.Item(a=1, b=2 * (version >= 2))])
        assert versioned.read_x(value.to_bytes(), 0, len(value.to_bytes())) == (value, len(value.to_bytes()))


def test_null_and_what_a_version_lacks_are_two_things(codec: Codec) -> None:
    x = codec(
        "-versions: 0-1\nseq:\n- {id: version, type: u1}\n"
        "- {id: len_note, type: s1, if: version >= 1, -since: 1, -derive: length_of(note)}\n"
        "- {id: note, type: str, encoding: UTF-8, size: len_note, if: version >= 1 and len_note >= 0, -since: 1,\n"
        "   -nullable: len_note == -1, -default: '\"none\"'}\n"
        "- {id: num_ids, type: s1, if: version >= 1, -since: 1, -derive: count_of(ids)}\n"
        "- {id: ids, type: u1, repeat: expr, repeat-expr: num_ids, if: version >= 1 and num_ids >= 0, -since: 1,\n"
        "   -nullable: num_ids == -1, -default: empty}\n"
    ).X
    for data, value in (
        (b"\0", x(version=0, note="none", ids=[])),
        (b"\1\xff\xff", x(version=1, note=None, ids=None)),
        (b"\1\0\0", x(version=1, note="", ids=[])),
        (b"\1\1a\2\5\6", x(version=1, note="a", ids=[5, 6])),
    ):
        assert x.from_bytes(data) == value and value.to_bytes() == data
        assert in_python(x.from_bytes)(data) == value and in_python(x.to_bytes)(value) == data
    for given in ({"note": None}, {"note": ""}, {"ids": None}, {"ids": [1]}):
        with pytest.raises(EncodeError, match="not in version 0"):
            x(version=0, **given).to_bytes()
