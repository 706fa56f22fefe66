"""Constructs that are read from streams: bytes to values, and back; what is wrong is refused with its place."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import copy
import pickle
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaError, SchemaProblem
from kodec.generator.schema import expr as ex
from kodec.runtime import streams
from kodec.runtime.errors import EncodeError, FormatError, LimitExceeded, Malformed, Truncated, Unsupported
from kodec.runtime.fields import ReadOptions, WriteOptions
from kodec.runtime.native import native_module
from kodec.runtime.process import register
from tests.data import TESTS
from tests.golden import Golden

Codec = Callable[..., ModuleType]
Find = Callable[..., list[SchemaProblem]]


@pytest.fixture(autouse=True, params=["native", "pure"])
def _reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test reads natively, and in pure Python."""
    if request.param == "pure":
        monkeypatch.setattr(streams, "native_module", lambda _: None)
    elif native_module("streams") is None:
        pytest.skip("the native reader was not built here, or KODEC_PURE=1")


def schema_of(group: str, case: str) -> dict[str, str]:
    """The schema of a case, in a file of its own that other tools for Kaitai read too."""
    name = re.sub(r"[^a-z0-9]+", "_", case.lower()).strip("_")
    return {"x.ksy": (TESTS / "generator/streams" / group / f"{name}.ksy").read_text("utf-8")}


@dataclass(frozen=True)
class Row:
    """Bytes that a schema describes, and what expressions on the object `x` give."""

    data: bytes
    values: dict[str, Any]
    back: bytes | None = None
    schema: str = ""


ROWS: dict[str, Row] = {
    "process": Row(
        b"\x07" + bytes(v ^ 7 for v in b"abc") + b"\x20\x40" + b"\x00\x05\x01" + zlib.compress(b"text"),
        {"a": b"abc", "b": b"\x01\x02", "c.q": 0x0107, "d": b"text"},
    ),
    "terminator, consume, include, eos-error": Row(
        b"ab\x00c|d;" + b"x\x00y\x00\x00\x00" + b"end",
        {"a": b"ab", "b": b"c|", "c": b"d", "d": 0x3B, "e": b"x\x00y\x00", "f": b"end"},
    ),
    "strz": Row(
        "ä".encode() + b"\x00" + b"abc\x00\x00\x00" + "Ā0".encode("utf-16-le") + b"\x00\x00",
        {"a": "ä", "b": "abc", "c": "Ā0"},
    ),
    "pad-right": Row(
        b"ab   " + b"cd\x00\x00" + b"e@..",
        {"a": b"ab", "b": "cd", "c": b"e"},
    ),
    "io": Row(
        b"\x01\x02\x03\x04\x05",
        {"a.q": 1, "b": 5, "c": 0x0203},
    ),
    "parent": Row(
        b"\x02xy",
        {"a.b.c": b"xy"},
    ),
    "little-endian bits": Row(
        b"\x21\x43\x01\x09",
        {"a": 1, "b": 0x432, "c": True, "d": 9},
    ),
    "_parent, _root": Row(
        b"\x01\x02abc",
        {"a.b.c": b"a", "a.b.d": b"bc"},
    ),
    "_index": Row(
        b"abbccc\x07\x08",
        {"a": [b"a", b"bb", b"ccc"], "b[1].i": 1, "b[1].c": 8},
    ),
    "_io in expressions": Row(
        b"abc\x01\x02",
        {"a": b"abc", "b": 1, "c": 2, "d": None},
    ),
    "instances with other pos": Row(
        b"\x04\x02\xaa\xbb\x00\x01\x00\x02\xcc",
        {"a": [1, 2], "b.q": 0xBB},
    ),
    "instances with if, enum": Row(
        b"\x01",
        {"a": None, "b.name": "ONE", "c": None},
    ),
    "method calls": Row(
        b"ab10\xc3\xa4",
        {"c": "1b!", "d": 16, "e": 1, "f": "16/ab10", "g": "164"},
    ),
    "array literals and indexes in expressions": Row(
        b"\x01\x02\x03xy",
        {"b": b"xy", "c": 2000, "d": 7, "e": True},
    ),
    "recursive types": Row(
        b"\x02\x01\x00",
        {"a.q.q.n": 0, "a.q.q.q": None},
    ),
    "conditional or repeated bits": Row(
        b"\x1b\xa0\x07",
        {"n": 1, "a": 2, "b": [True, True, True, False, True], "c": 7},
    ),
    "conditional or repeated contents": Row(
        b"\x00xx",
        {"a": None, "b": [b"x", b"x"]},
    ),
    "repeated switch without size": Row(
        b"\x01\x05\x02\x00\x06\x03",
        {"a[0].b": 5, "a[1].b": 6, "a[2].b": None},
    ),
    "valid on bytes and types": Row(
        b"\x01\x02\x03\x01",
        {"a": b"\x01\x02", "b.q": 3, "c": 1},
    ),
    "parameters of other types": Row(
        b"\x01hi\x00abc",
        {"a.b": b"abc", "a.t": "hi", "a.f": True},
    ),
    "lists of elements that may be empty, in elements": Row(
        b"\x02abcd\x00\x01e",
        {"a[0].b": [b"ab", b"cd"], "a[1].b": [], "a[2].b": [b"e"]},
    ),
    "two bool parameters": Row(
        b"\x02\x09",
        {"a.s": 9},
    ),
}  # fmt: skip


def of(x: Any, path: str) -> Any:
    return eval(f"x.{path}", {"x": x})  # the paths are those above


# no constructs of their own, which the page would list
Case = Row
RUNS: dict[str, Row] = {
    "a run of numbers, bytes and bits": Case(
        b"\x01\x02xy" + b"\xd1\x23" + b"\xff" + b"\x25" + struct.pack(">f", 0.5) + b"z\x00",
        {"a": 258, "b": b"xy", "c": True, "d.name": "FIVE", "e": 0x123, "f": -1, "g": 5, "h": 2, "i": 0.5},
    ),
    "elements of which the last reads to the end": Case(
        b"\x02\x01\x00ab",
        {"a[0].b": None, "a[1].b": b"ab"},
    ),
    "bits that go on in another type": Case(
        b"\x21\x68\x60z\xa0\x00",
        {"a.q": 2, "b": 1, "c": 3, "d.q": 4, "e": None, "f": 3, "g": b"z", "h": 5},
    ),
}
# the first case that is equal is taken, whatever else reads the same type
_SWITCH = """seq:
- {id: p, type: u1}
- {id: q, type: u1}
- {id: r, type: u1}
- {id: tag, type: u1}
- {id: body, type: {switch-on: tag, cases: {%s}}}
instances: {i: {pos: 0, type: u1}}
types: {one: {seq: [{id: x, type: u1}]}, two: {seq: [{id: y, type: u1}]}}
"""
FIRST_CASES: dict[str, Row] = {
    f"the first case of {name}": Row(data, {f"body.{member}": 9}, schema=_SWITCH % cases)
    for name, cases, data, member in (
        ("fields of one type", "p: one, q: two, r: one", b"\1\2\2\2\x09", "y"),
        ("fields, the last alone equal", "p: one, q: two, r: one", b"\1\3\2\2\x09", "x"),
        ("fields around a constant", "p: one, 2: two, r: one, _: two", b"\1\0\2\2\x09", "y"),
        ("computed constants", "1: one, 2: two, 1 + 1: one", b"\0\0\0\2\x09", "y"),
        ("a constant that stands twice", "1: one, 2: two, '0x2': one", b"\0\0\0\2\x09", "y"),
        ("a field and the default", "p: one, q: two, _: one", b"\1\2\0\2\x09", "y"),
        ("a sum and a choice", "p + 1: one, 'q == 2 ? 2 : 3': two, r: one", b"\1\2\2\2\x09", "x"),
    )
}
# as stock ksc counts: whatever a condition says
MAY_BE_ABSENT = "the size of what may be absent"
SIZES = {
    MAY_BE_ABSENT: Row(
        b"\0\0",
        {"a": None, "own": 4, "inner": 8, "of_type": 8},
        schema="seq:\n- {id: f, type: u1}\n- {id: a, type: u4, if: f == 1}\n- {id: b, type: t, if: f == 1}\n"
        "- {id: z, terminator: 0}\ninstances:\n  own: {value: a._sizeof}\n  inner: {value: b._sizeof}\n"
        "  of_type: {value: sizeof<t>}\n"
        "types: {t: {seq: [{id: v, type: u4}, {id: w, type: u4, if: v == 1}]}}\n",
    )
}
ALL = {**ROWS, **RUNS, **FIRST_CASES, **SIZES}


@pytest.mark.parametrize("row", ALL)
def test_reads_and_writes(row: str, codec: Codec) -> None:
    case = ALL[row]
    module = codec(case.schema or schema_of("reads", row))
    read = module.X.from_bytes(case.data)
    assert {path: of(read, path) for path in case.values} == case.values
    assert read.to_bytes() == (case.data if case.back is None else case.back)
    again = module.X.from_bytes(read.to_bytes())
    assert again == read


@pytest.mark.parametrize("row", ALL)
def test_cut_anywhere_it_is_refused_or_reads_less(row: str, codec: Codec) -> None:
    case = ALL[row]
    module = codec(case.schema or schema_of("reads", row))
    for cut in range(len(case.data)):
        try:
            read = module.X.from_bytes(case.data[:cut])
        except FormatError as error:
            assert error.at <= len(case.data)
            continue
        for path in case.values:
            try:
                of(read, path)
            except (FormatError, AttributeError, IndexError):
                continue


def test_sizes_and_counts_are_checked_when_they_are_read(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: n, type: s1}\n- {id: a, size: n - 1}\n- {id: b, type: u1, repeat: expr, repeat-expr: n - 2}\n"
    )
    assert x.X.from_bytes(b"\x03xy\x01").b == [1]
    with pytest.raises(Malformed, match="a: negative size: need at least 0, have -1"):
        x.X.from_bytes(b"\x00")
    with pytest.raises(Malformed, match="b: negative count"):
        x.X.from_bytes(b"\x01")


FAILS: dict[str, tuple[bytes, type[FormatError], str]] = {
    "division by 0": (b"\0", Malformed, "divides by 0"),
    "modulo 0": (b"\0", Malformed, "divides by 0"),
    "shift": (b"\xff", Malformed, "shifts by too many"),
    "index": (b"\xff", Malformed, "element 4 of 1"),
    "no number": (b"z", Malformed, "needs a number"),
    "infinite": (b"\x7f\x80\0\0", Malformed, "whole number"),
    "absent": (b"\0\1\1", Malformed, "m: an expression needs it"),
    "absent element": (b"\3\1\1", Malformed, "an expression needs it"),
    "last absent element": (b"\3\1\1", Malformed, "an expression needs it"),
    "cast": (b"\2\1\1", Malformed, "needs a P"),
    "no terminator": (b"abc", Truncated, "a"),
    "position": (b"\xff", Malformed, "negative position"),
    "past the end": (b"\x09", Truncated, "b"),
    "recursion": (b"\1" * 5000, LimitExceeded, "nested too deep"),
    "instance of itself": (b"\1" * 9, Malformed, "needs itself"),
    "endless until": (b"\1" * 9, LimitExceeded, "more elements without bytes"),
    "many lists": (b"\0\0\x07\xd0" * 5, LimitExceeded, "a[2].b: more elements without bytes"),
    "too many": (bytes(20_000), LimitExceeded, "too many elements"),
    "endless eos": (b"\1" * 9, Malformed, "repeat forever"),
    "count": (b"\xff" * 9, LimitExceeded, "more elements than bytes"),
    "bomb": (zlib.compress(bytes(1 << 21)), LimitExceeded, "decompressed_bytes"),
    "broken zlib": (b"abc", Malformed, "zlib"),
    "unknown process": (b"abc", Unsupported, "not registered"),
    "not text": (b"\x81\x00", Malformed, "not shift_jis"),
    "not in the enum": (b"\2", Malformed, "c: value not allowed"),
    "wrong contents": (b"\1\2", Malformed, "c: wrong fixed bytes"),
    "no parent behind a cast": (b"\1\2", Malformed, "_parent"),
    "no parent": (b"\1\2", Malformed, "_parent"),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("case", FAILS)
def test_hostile_bytes_are_refused(case: str, codec: Codec) -> None:
    data, error, text = FAILS[case]
    with pytest.raises(error) as caught:
        codec(schema_of("fails", case)).X.from_bytes(
            data, opt=ReadOptions(decompressed_bytes=1 << 20, elements=10_000)
        )
    assert text in str(caught.value)


UNWRITABLE: dict[str, tuple[str, str]] = {
    "not given": ("x.X(b=b'')", "a: not given"),
    "too large": ("x.X(a=256, b=b'')", "a: "),
    "holds its terminator": ("x.X(b=b'a\\0b')", "b: holds its terminator"),
    "too long": ("x.X(b=b'abc')", "b: wrong size"),
    "ends with its padding": ("x.X(b=b'a\\0')", "could not be told"),
    "condition": ("x.X(n=0, b=1)", "b: given, but its condition"),
    "no case": ("x.X(n=0, b=1)", "b: no case"),
    "another type": ("x.X(b=3, c=b'')", "b: not a P"),
    "number of elements": ("x.X(n=2, b=[b''])", "wrong number of elements"),
    "until": ("x.X(b=[1, 0, 1])", "the condition that ends it"),
    "instance over a field": ("with_c(x.X(b=2), 3)", "differs from what is written"),
    "far behind": ("with_c(x.X(b=1 << 60), 3)", "too far behind"),
    "inner type alone": ("x.P(n=b'')", "as a part of what holds it"),
    "unknown way back": ("x.X(a=b'')", "cannot be undone"),
    "size of the stream": ("x.X(n=b'ab', m=4)", "m: value not allowed (need 3, have 4)"),
}  # fmt: skip


def with_c(value: Any, c: Any) -> Any:
    value.c = c
    return value


@pytest.mark.parametrize("case", UNWRITABLE)
def test_what_could_not_be_read_back_is_not_written(case: str, codec: Codec) -> None:
    value, text = UNWRITABLE[case]
    made = eval(value, {"x": codec(schema_of("unwritable", case)), "with_c": with_c})  # the values above
    with pytest.raises(EncodeError) as caught:
        made.to_bytes()
    assert text in str(caught.value)


_OPEN_TYPES = (
    "types: {e: {seq: [{id: h, type: u1}, %s]}, v: {seq: [{id: w, type: u1}]}}\nenums: {k: {1: a}}\n"
)
_REST = "{id: r, size-eos: true}"
# what is read to the end of its stream, and the path of the error where more follows
OPEN: dict[str, tuple[str, str, str, str]] = {
    "bytes, in elements": ("- {id: n, type: u1}\n- {id: a, type: e, repeat: expr, repeat-expr: n}\n", _REST, "x.X(n=2, a=[x.E(h=1, r=b'b'), x.E(h=2, r=b'')])", "a[0].r"),
    "bytes, in elements up to the end": ("- {id: a, type: e, repeat: eos}\n", _REST, "x.X(a=[x.E(h=1, r=b''), x.E(h=2, r=b'')])", "a[0].r"),
    "a list of numbers": ("- {id: a, type: e, repeat: eos}\n", "{id: r, type: u1, repeat: eos}", "x.X(a=[x.E(h=1, r=[2]), x.E(h=2, r=[])])", "a[0].r"),
    "a list until the end": ("- {id: a, type: e}\n- {id: b, size: 1}\n", "{id: r, type: u1, repeat: until, repeat-until: _io.eof}", "x.X(a=x.E(h=1, r=[2]), b=b'c')", "a.r"),
    "text": ("- {id: a, type: e}\n- {id: b, type: u1}\n", "{id: r, type: str, size-eos: true, encoding: ASCII}", "x.X(a=x.E(h=1, r='b'), b=3)", "a.r"),
    "an object": ("- {id: a, type: e}\n- {id: b, type: u1}\n", "{id: r, type: v, size-eos: true}", "x.X(a=x.E(h=1, r=x.V(w=1)), b=3)", "a.r"),
    "what a process made": ("- {id: a, type: e}\n- {id: b, type: u1}\n", "{id: r, size-eos: true, process: xor(7)}", "x.X(a=x.E(h=1, r=b'b'), b=3)", "a.r"),
    "padded bytes": ("- {id: a, type: e}\n- {id: b, type: u1}\n", "{id: r, size-eos: true, pad-right: 0}", "x.X(a=x.E(h=1, r=b'b'), b=3)", "a.r"),
    "a case": ("- {id: a, type: e}\n- {id: b, type: u1}\n", "{id: r, size-eos: true, type: {switch-on: h, cases: {1: v}}}", "x.X(a=x.E(h=1, r=x.V(w=1)), b=3)", "a.r"),
    "bytes under a condition": ("- {id: k, type: u1}\n- {id: a, size-eos: true, if: k == 1}\n- {id: b, type: u1, if: k < 3}\n", _REST, "x.X(k=1, a=b'2', b=3)", "a"),
    "bytes before an instance": ("- {id: k, type: u1}\n- {id: a, size-eos: true}\ninstances: {b: {pos: k, type: u1}}\n", _REST, "with_b(x.X(k=9, a=b'2'), 3)", "a"),
    "bytes in a part": ("- {id: k, type: u1}\n- {id: p, type: f, size: k}\n", _REST + "]}, f: {seq: [{id: c, type: e}, {id: d, type: u1}", "x.X(k=3, p=x.F(c=x.E(h=1, r=b'2'), d=4))", "p.c.r"),
}  # fmt: skip


def with_b(value: Any, b: Any) -> Any:
    value.b = b
    return value


@pytest.mark.parametrize("case", OPEN)
def test_nothing_is_written_after_what_is_read_to_the_end(case: str, codec: Codec, golden: Golden) -> None:
    schema, end, value, path = OPEN[case]
    x = codec(f"seq:\n{schema}{_OPEN_TYPES % end}")
    made = eval(value, {"x": x, "with_b": with_b})  # the values above
    with pytest.raises(EncodeError) as caught:
        made.to_bytes()
    assert caught.value.path == path
    golden(str(caught.value))


@pytest.mark.parametrize(
    "schema, value",
    [
        (OPEN["bytes, in elements"], "x.X(n=1, a=[x.E(h=1, r=b'b')])"),
        (OPEN["bytes, in elements"], "x.X(n=0, a=[])"),
        (OPEN["a list until the end"], "x.X(a=x.E(h=1, r=[2]), b=None)"),
        (OPEN["bytes under a condition"], "x.X(k=4, a=None, b=None)"),
        (OPEN["bytes under a condition"], "x.X(k=2, a=None, b=1)"),
        (OPEN["bytes before an instance"], "with_b(x.X(k=1, a=b'23'), 50)"),
        (OPEN["bytes in a part"], "x.X(k=1, p=x.F(c=x.E(h=1, r=b''), d=None))"),
    ],
)
def test_what_is_read_to_the_end_may_be_last(
    schema: tuple[str, str, str, str], value: str, codec: Codec
) -> None:
    fields, end, _, _ = schema
    # what would follow is not there at the end
    text = re.sub(r"(id: [bd], (size|type): \w+)(?=}|$)", r"\1, if: not _io.eof", fields)
    types = _OPEN_TYPES % end.replace("id: d, type: u1", "id: d, type: u1, if: not _io.eof")
    x = codec(f"seq:\n{text}{types}")
    made = eval(value, {"x": x, "with_b": with_b})  # the values above
    assert x.X.from_bytes(made.to_bytes()) == made


_MANY = ", ".join(map(str, range(300)))


@pytest.mark.parametrize(
    "fields, enums",
    [
        (f"- {{id: a, type: u2, valid: {{any-of: [{_MANY}]}}}}\n", ""),
        (
            "- {id: a, type: u2, enum: e, valid: {in-enum: true}}\n",
            "".join(f"    {n}: v{n}\n" for n in range(300)),
        ),
        (f"- {{id: a, type: u2, valid: {{expr: '{' or '.join(f'_ == {n}' for n in range(300))}'}}}}\n", ""),
        (
            f"- {{id: a, type: u2, valid: {{expr: '{' and '.join(f'_ != {n}' for n in range(300, 600))}'}}}}\n",
            "",
        ),
        (
            f"- {{id: a, type: u2, valid: {{expr: '_ < ({' | '.join(f'{n}' for n in range(300))}) - 211'}}}}\n",
            "",
        ),
    ],
    ids=["any-of", "in-enum", "or", "and", "|"],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["layout", "stream"])
def test_many_alternatives_nest_in_halves(fields: str, enums: str, streamed: bool, codec: Codec) -> None:
    instances = "instances: {i: {pos: 0, type: u1}}\n" if streamed else ""
    x = codec(f"seq:\n{fields}{instances}" + (f"enums:\n  e:\n{enums}" if enums else ""))
    for number, right in ((0, True), (299, True), (300, False)):
        data = number.to_bytes(2, "big")
        if right:
            assert x.X.from_bytes(data).to_bytes() == data
        else:
            with pytest.raises(Malformed):
                x.X.from_bytes(data)


FUSED = "seq:\n- {id: a, type: u2}\n- {id: b, type: b4}\n- {id: c, type: b12}\n- {id: d, size: 3}\n- {id: e, type: u1, valid: 1}\n- {id: f, terminator: 0}\n"


@pytest.mark.parametrize(
    ("size", "path", "at", "need", "have"),
    [(1, "a", 0, 2, 1), (2, "b", 2, 1, 0), (3, "c", 3, 1, 0), (6, "d", 4, 3, 2), (7, "e", 7, 1, 0)],
)
def test_the_first_field_of_a_run_that_is_cut_is_named(
    size: int, path: str, at: int, need: int, have: int, codec: Codec
) -> None:
    with pytest.raises(Truncated) as caught:
        codec(FUSED).X.from_bytes(bytes(size))
    found = caught.value
    assert (found.path, found.at, found.need, found.have) == (path, at, need, have)


def test_a_rule_in_a_run_says_where_its_field_starts(codec: Codec) -> None:
    with pytest.raises(Malformed, match="e: value not allowed: need 1, have 2, at byte 7"):
        codec(FUSED).X.from_bytes(bytes(7) + b"\x02\x00")


def test_what_was_read_before_is_asked_for_without_a_guard(tmp_path: Path) -> None:
    early = "- {id: a, type: p}\n"
    late = "- {id: n, type: h}\n- {id: k, type: u1}\n- {id: b, type: p}\n- {id: z, terminator: 0}\n"
    types = "types:\n  h: {seq: [{id: m, type: u1}]}\n  p: {seq: [{id: c, size: _root.n.m}, {id: d, size: _parent.k}]}\n"
    for first, guards in (("", 0), (early, 3)):
        (tmp_path / "x.ksy").write_text(f"meta: {{id: x, endian: be}}\nseq:\n{first}{late}{types}")
        text = render_all(tmp_path).modules["x.py"]
        read = text[text.index("class P(") :].partition("def _write")[0]
        assert read.count("self._given(") == guards
    # an instance of the root may be read before its fields
    (tmp_path / "x.ksy").write_text(
        f"meta: {{id: x, endian: be}}\nseq:\n{late}instances:\n  i: {{pos: 0, type: p}}\n{types}"
    )
    assert "self._given(" in render_all(tmp_path).modules["x.py"]


def test_a_run_is_one_call(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "x.ksy").write_text("meta: {id: x, endian: be}\n" + FUSED)
    (text,) = (text for name, text in render_all(tmp_path).modules.items() if name == "x.py")
    assert text.count("io.unpack(") == 1
    golden(text)


@pytest.mark.parametrize("include", [False, True])
def test_a_terminator_that_is_left_for_the_next_field(include: bool, codec: Codec) -> None:
    x = codec(
        f"seq:\n- {{id: a, terminator: 0, consume: false, include: {str(include).lower()}}}\n- {{id: b, size: 2}}\n"
    )
    data = b"ab\x00c"
    read = x.X.from_bytes(data)
    assert (read.a, read.b) == (b"ab\x00"[: 2 + include], b"\x00c")
    assert read.to_bytes() == data
    read.b = b"cd"
    with pytest.raises(EncodeError, match="a: its terminator does not follow"):
        read.to_bytes()


def test_what_fills_a_size_that_depends_on_the_position(codec: Codec) -> None:
    x = codec("seq:\n- {id: n, type: u1}\n- {id: a, size: _io.pos + 3, terminator: 0}\n- {id: b, size: 4}\n")
    data = b"\x01ab\x00\x00wxyz"
    assert x.X.from_bytes(data).a == b"ab"
    assert x.X.from_bytes(data).to_bytes() == data


def test_an_argument_that_is_absent_is_refused(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: 1, if: n > 0}\n- {id: b, type: p(a)}\n"
        "types:\n  p:\n    params: [{id: q, type: bytes}]\n    seq: [{id: c, size: q.length}]\n"
    )
    assert x.X.from_bytes(b"\x01xy").b.c == b"y"
    with pytest.raises(Malformed, match="a: an argument is not there"):
        x.X.from_bytes(b"\x00xy")


@pytest.mark.parametrize("ends", ["repeat: expr, repeat-expr: n", "repeat: until, repeat-until: _"])
def test_a_list_of_bits_may_have_eight_elements_a_byte(ends: str, codec: Codec) -> None:
    x = codec(f"seq:\n- {{id: n, type: b24}}\n- {{id: a, type: b1, {ends}}}\n")
    read = x.X.from_bytes(b"\x01\x00\x00" + bytes(8191) + b"\x01")
    assert (len(read.a), sum(read.a)) == (65536, 1)


def test_the_elements_of_a_list_one_by_one(codec: Codec) -> None:
    schema = "seq:\n- {id: n, type: u1}\n- {id: all, type: p, repeat: eos}\ntypes:\n  p: {seq: [{id: k, type: u1}, {id: a, size: k, pad-right: 0}]}\n"
    x = codec(schema)
    data = b"\x07\x01a\x02bc\x03d"
    found = x.X.each_of(data, "all")
    assert [next(found).a, next(found).a] == [b"a", b"bc"]
    with pytest.raises(Truncated) as caught:
        next(found)
    assert (caught.value.path, caught.value.at) == ("all[2].a", 7)
    with pytest.raises(Truncated, match=r"all\[2\]\.a: need 3 bytes, have 1, at byte 7"):
        x.X.from_bytes(data)
    # `elements` is about lists in memory
    few = ReadOptions(elements=2)
    assert [each.k for each in x.X.each_of(b"\x07" + bytes(9), "all", opt=few)] == [0] * 9
    with pytest.raises(LimitExceeded):
        x.X.from_bytes(b"\x07" + bytes(9), opt=few)
    # a list that an expression asks for is kept
    kept = codec(schema.replace("size: k", "size: _root.all.size")).X
    assert (kept._each, x.X._each) == ((), ("all",))
    assert [each.a for each in kept.each_of(b"\x07\x01\x02b", "all")] == [b"", b"b"]


NESTED = "seq:\n- {id: n, type: u1}\n- {id: body, type: body, size: n, if: n > 0}\n- {id: end, type: strz, encoding: ASCII}\ntypes:\n  body: {seq: [{id: all, type: all}, {id: m, type: u1}]}\n  all: {seq: [{id: count, type: u1}, {id: class, type: p, repeat: expr, repeat-expr: count}]}\n  p: {seq: [{id: k, type: u1}, {id: a, size: k}]}\n"


def test_the_elements_of_an_inner_list_one_by_one(codec: Codec) -> None:
    x = codec(NESTED)
    data = b"\x07\x02\x01a\x02bc\x09end\0"
    found = x.X.each_of(data, "body.all.class_")
    first = next(found)
    assert (first.a, first._parent.count, first._root.n, first._root.body) == (b"a", 2, 7, None)
    assert [each.a for each in found] == [b"bc"]
    assert (first._root.body.m, first._root.end, first._parent.class_) == (9, "end", [])
    assert list(x.X.each_of(b"\0end\0", "body.all.class_")) == []
    # `elements` is about lists in memory
    few, many = ReadOptions(elements=2), b"\x0c\x0a" + bytes(11) + b"\0"
    assert len(list(x.X.each_of(many, "body.all.class_", opt=few))) == 10
    with pytest.raises(LimitExceeded, match=r"body\.all\.class: too many elements.*elements"):
        x.X.from_bytes(many, opt=few)
    for wrong, path, at in (
        (data[:5], "body", 1),
        (b"\x07\x02\x01a\x05bc\x09end\0", "body.all.class[1].a", 5),
        (data[:-1], "end", 8),
    ):
        for read in (
            lambda wrong=wrong: list(x.X.each_of(wrong, "body.all.class_")),
            lambda wrong=wrong: x.X.from_bytes(wrong),
        ):
            with pytest.raises(Truncated) as caught:
                read()
            assert (caught.value.path, caught.value.at) == (path, at)


def test_an_inner_list_that_is_asked_for_is_kept(codec: Codec) -> None:
    kept = codec(NESTED.replace("size: k", "size: _parent.class.size")).X
    assert kept._each == ()
    found = list(kept.each_of(b"\x06\x02\x00\x01b\x09\x09end\0", "body.all.class_"))
    assert [each.a for each in found] == [b"", b"b"] and found[0]._parent.class_ == found


def test_objects_made_by_hand(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: ofs, type: u1}\n- {id: num, type: u1}\n- {id: name, type: strz, encoding: ASCII}\ninstances:\n  rows: {pos: ofs, type: row, repeat: expr, repeat-expr: num}\n"
        "types:\n  row: {seq: [{id: a, type: u1}, {id: b, size: _root.num}]}\n"
    )
    made = x.X(ofs=8, num=2, name="hi")
    made.rows = [x.Row(a=1, b=b"ab"), x.Row(a=2, b=b"cd")]
    data = made.to_bytes()
    assert data == b"\x08\x02hi\x00\x00\x00\x00\x01ab\x02cd"
    assert x.X.from_bytes(data) == made
    assert x.X.from_bytes(data).rows == made.rows


def test_bytes_that_nothing_describes_are_written_as_they_were(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: a, size: 4, type: p}\n- {id: b, type: u1}\ninstances:\n  c: {pos: 8, type: u1}\ntypes:\n  p: {seq: [{id: q, type: u1}], instances: {r: {pos: 2, type: u1}}}\n"
    )
    data = b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a"
    read = x.X.from_bytes(data)
    assert read.to_bytes() == data
    read.b, read.a.r, read.c = 50, 30, 90
    assert read.to_bytes() == b"\x01\x02\x1e\x04\x32\x06\x07\x08\x5a\x0a"


BITS = {
    "the last ones": "seq:\n- {id: z, type: u1}\n- {id: a, type: b3}\n",
    "before another order": "seq:\n- {id: a, type: b3}\n- {id: b, type: b5le}\n",
    "before an empty type": "seq:\n- {id: z, type: u1}\n- {id: a, type: b3}\n- {id: t, type: p(_io.pos)}\ntypes:\n  p: {params: [{id: at, type: u1}], seq: []}\n",
    "in a part": "seq:\n- {id: t, type: p, size: 3}\n- {id: u, size-eos: true}\ntypes:\n  p: {seq: [{id: a, type: b3le}]}\n",
    "in an instance": "seq: [{id: z, size: 1}]\ninstances:\n  a: {pos: 1, type: b3}\n",
}


@pytest.mark.parametrize("case", BITS)
def test_bits_that_no_field_names_are_written_as_they_were(case: str, codec: Codec) -> None:
    x = codec(BITS[case])
    for data in (b"\xff\xff\xff\xff", b"\x5a\xa5\x5a\xa5", b"\xa5\x5a\xa5\x5a"):
        read = x.X.from_bytes(data, exact=False)
        assert case != "before an empty type" or read.t.at == 2
        assert case != "in an instance" or read.a is not None
        assert read.to_bytes() == data
        assert read == x.X.from_bytes(data, exact=False)
    assert case == "in a part" or x.X.from_bytes(b"\xff\xff\xff", exact=False).to_bytes() == b"\xff\xff\xff"


BEHIND = {
    "a field": "seq:\n- {id: a, size: 5, terminator: 0}\n- {id: b, type: strz, size: 4, encoding: ASCII, pad-right: 0x20}\n",
    "an instance": "seq: []\ninstances:\n  a: {pos: 0, size: 5, terminator: 0}\n  b: {pos: 5, type: strz, size: 4, encoding: ASCII, pad-right: 0x20}\n",
    "a type": "seq:\n- {id: p, type: p, size: 9}\ntypes:\n  p: {seq: [{id: a, size: 5, terminator: 0}, {id: b, type: strz, size: 4, encoding: ASCII, pad-right: 0x20}]}\n",
}


@pytest.mark.parametrize("case", BEHIND)
def test_bytes_behind_a_terminator_are_written_as_they_were(case: str, codec: Codec) -> None:
    x = codec(BEHIND[case])
    data = b"ab\0cdq\0x "
    read = x.X.from_bytes(data)
    at = read.p if case == "a type" else read
    assert (at.a, at.b) == (b"ab", "q")
    assert read.to_bytes() == data
    at.a, at.b = b"", "rst"
    assert read.to_bytes() == b"\0" + data[1:5] + b"rst\0"
    made = x.X() if case == "an instance" else None
    if made is not None:
        made.a, made.b = b"ab", "q"
        assert made.to_bytes() == b"ab\0\0\0q\0  "


def test_bits_that_no_field_names_are_zeros_in_what_is_new(codec: Codec) -> None:
    x = codec("seq:\n- {id: n, type: u1}\n- {id: a, size: n}\n- {id: b, type: b3}\n")
    assert x.X(n=1, a=b"a", b=7).to_bytes() == b"\x01a\xe0"
    read = x.X.from_bytes(b"\x01a\xff")
    read.n, read.a = 2, b"ab"
    assert read.to_bytes() == b"\x02ab\xe0"


def test_alternatives_of_whole_and_real_numbers_are_real(codec: Codec) -> None:
    x = codec(
        "seq: [{id: n, type: u1}, {id: d, type: u1}]\ninstances:\n"
        "  q: {value: 'n / (d == 0 ? 100.0 : d)'}\n  w: {value: 'd == 0 ? 1.5 : d'}\n"
        "  l: {value: '[n, 1.5, d]'}\n  e: {value: '[n, 1.5][0] / 2'}\n"
    )
    found = x.X.from_bytes(b"\5\x0a")
    assert (found.q, found.w, found.l, found.e) == (0.5, 10.0, [5.0, 1.5, 10.0], 2.5)
    assert {type(each) for each in (found.q, found.w, *found.l)} == {float}
    assert x.X.from_bytes(b"\5\0").q == 0.05


def test_a_registered_process(codec: Codec) -> None:
    register(
        "test.swap",
        decode=lambda data, n: data[n:] + data[:n],
        encode=lambda data, n: data[-n:] + data[:-n],
    )
    x = codec("seq:\n- {id: a, size-eos: true, process: test.swap(1)}\n")
    assert x.X.from_bytes(b"abc").a == b"bca"
    assert x.X.from_bytes(b"abc").to_bytes() == b"abc"


PARTS = """
seq:
- {id: n, type: u1}
- {id: parts, type: part, repeat: expr, repeat-expr: n}
- {id: text, size: 20, process: zlib}
types:
  part: {seq: [{id: size, type: u1}, {id: body, type: body, size: size, process: zlib}]}
  body: {seq: [{id: q, type: u2}]}
"""


def test_what_a_process_made_is_written_as_it_was(codec: Codec) -> None:
    """However it was compressed, also where bytes follow the compressed ones; what has changed is made again."""
    x = codec(PARTS)
    bodies = [zlib.compress(b"\0\1", level) + more for level, more in ((0, b""), (9, b"behind"), (1, b""))]
    text = zlib.compress(b"text")
    data = b"\3" + b"".join(bytes([len(each)]) + each for each in bodies) + text + b"." * (20 - len(text))
    read = x.X.from_bytes(data)
    assert read.to_bytes() == data
    assert read.to_bytes() == data
    read.parts[1].body.q = 2
    changed = x.X.from_bytes(read.to_bytes())
    assert [each.body.q for each in changed.parts] == [1, 2, 1]
    assert changed.parts[1].size == len(zlib.compress(b"\0\2")) == 10
    assert changed.text == b"text"
    assert read.to_bytes().endswith(data[-20:])
    # a level that is asked for is used
    assert read.parts[2].to_bytes() == bytes([len(bodies[2])]) + bodies[2]
    # what stood behind the compressed bytes comes into no other part with the same content
    other = x.X.from_bytes(data)
    other.parts[0].body.q, other.parts[0].body.q = 7, 1
    other.parts[2] = x.Part(body=x.Body(q=1))
    assert other.to_bytes().count(b"behind") == 1
    assert other.parts[2].to_bytes() == bytes([10]) + zlib.compress(b"\0\1")
    assert read.parts[2].to_bytes(WriteOptions(level=0))[1:] == zlib.compress(b"\0\1", 0)
    for part in x.X.each_of(data, "parts"):
        assert part.body.q == 1


def test_byte_order_by_what_is_read(codec: Codec) -> None:
    x = codec({"x.ksy": "meta: {id: x}\nseq:\n- {id: docs, type: doc, repeat: eos}\ntypes:\n  doc:\n    seq:\n    - {id: mark, size: 2}\n    - {id: body, type: body}\n    types:\n      body:\n        meta: {endian: {switch-on: _parent.mark, cases: {'[0x49, 0x49]': le, _: be}}}\n        seq:\n        - {id: n, type: u2}\n        - {id: inner, type: inner}\n      inner:\n        seq: [{id: m, type: u2be}]\n"})  # fmt: skip
    data = b"II\x01\x00\x00\x02" + b"MM\x00\x01\x00\x02"
    read = x.X.from_bytes(data)
    assert [each.body.n for each in read.docs] == [1, 1]
    assert read.to_bytes() == data


def test_modules_that_need_each_other(codec: Codec) -> None:
    files = {
        "x.ksy": "meta: {id: x, imports: [y]}\nseq:\n- {id: n, type: u1}\n- {id: a, type: y, if: n > 0}\n",
        "y.ksy": "meta: {id: y, imports: [x]}\nseq:\n- {id: m, type: u1}\n- {id: b, type: x, if: m > 0}\n",
    }
    assert codec(files).X.from_bytes(b"\1\1\0").a.b.n == 0


MISTAKES: dict[str, tuple[str, str, str]] = {
    "unknown name": ("seq:\n- {id: a, terminator: 0, if: bb > 1}\n- {id: b, type: u1}\n", "5:30", "unknown name `bb`"),
    "unknown member": ("seq:\n- {id: b, type: p}\n- {id: a, terminator: 0, if: b.d > 1}\ntypes:\n  p: {seq: [{id: c, type: u1}]}\n", "6:30", "`p` has no `d`"),
    "later": ("seq:\n- {id: a, terminator: 0, if: b > 1}\n- {id: b, type: u1}\n", "5:30", "`if` refers to `b`, which is read later"),
    "size is text": ("seq:\n- {id: b, type: strz, encoding: ASCII}\n- {id: a, size: b}\n", "6:17", "`size` must be an integer, this is text"),
    "holds itself": ("seq:\n- {id: b, type: p}\ntypes:\n  p: {seq: [{id: c, type: p}]}\n", "7:6", "always contains itself"),
    "value and pos": ("seq: []\ninstances:\n  a: {value: 1, pos: 3}\n", "6:17", "`value` and `pos` exclude each other"),
    "no end": ("seq:\n- {id: a, process: zlib, terminator: 0}\n- {id: b, type: {switch-on: a.length, cases: {1: str}}, encoding: ASCII}\n", "6:50", "a str needs `size`"),
    "an argument of another kind": ("seq:\n- {id: a, type: u1, repeat: expr, repeat-expr: 2}\n- {id: b, type: p(a)}\n- {id: z, terminator: 0}\ntypes:\n  p:\n    params: [{id: q, type: u1}]\n    seq: [{id: c, size: q}]\n", "6:17", "parameter `q` is an integer, this is a list"),
    "several at once, 1": ("seq:\n- {id: a, terminator: 0, if: bb > 1}\n- {id: b, size: cc}\n", "5:30", "unknown name `bb`"),
    "several at once, 2": ("seq:\n- {id: a, terminator: 0, if: bb > 1}\n- {id: b, size: cc}\n", "6:17", "unknown name `cc`"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_has_its_place(case: str, problems: Find) -> None:
    schema, place, text = MISTAKES[case]
    found = problems(schema)
    assert any(f"{p.place.line}:{p.place.column}" == place and text in p.text for p in found), "\n".join(
        map(str, found)
    )


@pytest.mark.parametrize(
    ("case", "text"),
    [("qux", "unknown name `qux`"), ("'\"a\"'", 'case "a" is text, `switch-on` is an integer')],
)
def test_a_wrong_case_of_the_byte_order_is_a_problem(case: str, text: str, problems: Find) -> None:
    head = f"meta: {{id: x, endian: {{switch-on: 42, cases: {{{case}: be, _: le}}}}}}"
    (found,) = problems({"x.ksy": f"{head}\nseq: [{{id: a, type: u2}}]\n"})
    assert text in found.text


def test_a_kernel_is_refused_where_a_schema_is_streamed(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text("meta: {id: x}\nseq:\n- {id: n, type: u1}\n- {id: a, terminator: 0}\n")
    with pytest.raises(SchemaError, match=r"x\.ksy:4:23: x: it cannot have a native kernel.*`terminator`"):
        render_all(tmp_path, kernels=("x",))


@pytest.mark.parametrize("row", ROWS)
def test_every_construct_has_a_page(row: str, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(schema_of("reads", row)["x.ksy"])
    pages = render_all(tmp_path, targets=("documents",)).modules
    assert "`x`" in pages["x.md"]


def test_a_peek_alone_is_a_number(codec: Codec) -> None:
    x = codec("-topic: t\nseq:\n- {id: a, size: n}\ninstances:\n  n: {pos: _io.pos, type: u1}\n")
    assert x.X.from_bytes(b"\x02b").a == b"\x02b"
    assert x.peek_x(b"\x07") == (7,)


def test_a_peek_behind_other_fields_stands_where_it_is_used(codec: Codec) -> None:
    x = codec("seq:\n- {id: a, type: u1}\n- {id: b, size: n}\ninstances:\n  n: {pos: _io.pos, type: u1}\n")
    assert x.X.from_bytes(b"\x09\x02b").b == b"\x02b"


def test_an_unsized_switch_takes_no_bytes_for_a_case(codec: Codec) -> None:
    x = codec(
        "-topic: t\nseq:\n- {id: n, type: u1}\n- {id: a, type: {switch-on: n, cases: {1: p}}}\ntypes:\n  p: {seq: [{id: q, type: u1}]}\n"
    )
    for n in (1, 2):
        with pytest.raises(EncodeError):
            x.X(n=n, a=b"zz").to_bytes()


ESCAPES = {r"\a\b\e\f\v": "\a\b\x1b\f\v", r"\101\u0042\n\"": 'AB\n"'}


@pytest.mark.parametrize("text", ESCAPES)
def test_escapes_of_texts(text: str) -> None:
    assert ex.parse(f'"{text}"') == ex.Literal(ESCAPES[text])


@pytest.mark.parametrize("text", ["1_", "0x_", "1e999", "9" * 5000, r'"\q"', " - ".join(["1"] * 3000)])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ex.ExprError):
        ex.parse(text)


def test_comparisons_of_floats_are_as_they_are_written(codec: Codec) -> None:
    x = codec("-topic: t\nseq:\n- {id: f, type: f8}\n- {id: a, type: u1, if: f + 1 > 1, -default: 0}\n")
    assert x.X.from_bytes(struct.pack(">d", 1e-20), exact=False).a == 0


NAMES = {
    "class None": ("types:\n  none: {seq: [{id: true_, type: u1}]}\nseq:\n- {id: a, type: none}\n- {id: b, terminator: 0}\n", ""),
    "a built-in error": ("seq:\n- {id: a, type: unicode_decode_error}\ntypes:\n  unicode_decode_error: {seq: [{id: b, type: u1}]}\n", "would be `UnicodeDecodeError`"),
    "a number of an unknown type": ("seq:\n- {id: a, type: uint32}\n", "unknown type `uint32`"),
    "no list": ("seq:\n- {id: a, type: u1, valid: {any-of: 3}}\n", "`any-of` must be a list"),
    "an empty list": ("seq:\n- {id: a, type: u1, valid: {any-of: []}}\n", "`any-of` must list values"),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMES)
def test_names_and_values_that_broke_modules(case: str, codec: Codec, problems: Find) -> None:
    schema, text = NAMES[case]
    if text:
        found = problems(schema)
        assert any(text in each.text for each in found), "\n".join(map(str, found))
        assert case != "a number of an unknown type" or found[0].hint == "u4"
    else:
        assert codec(schema).X.from_bytes(b"\x07\x00").a.true_ == 7


def test_an_id_that_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text("meta: {id: 'x::y'}\nseq: []\n")
    with pytest.raises(SchemaError, match="`x::y` is not a name"):
        render_all(tmp_path)


def test_parameters_in_order_or_by_name(codec: Codec) -> None:
    x = codec(
        "params: [{id: k, type: u1}, {id: b, type: bool}]\nseq: [{id: n, size: k, if: b}, {id: z, terminator: 0}]\n"
    )
    read = x.X.from_bytes(b"ab\0", 2, True)
    assert read == x.X.from_bytes(b"ab\0", k=2, b=True) == x.X.from_bytes(b"ab\0", 2, b=True)
    with pytest.raises(TypeError):
        x.X.from_bytes(b"ab\0", k=2)


def test_bits_behind_an_instance_in_the_middle_of_a_byte_are_refused(codec: Codec) -> None:
    # Stock Kaitai's targets forget the bits that are left when they seek.
    fields = "seq:\n- {id: a, type: %s}\n- {id: b, type: %s, if: i > 0}\n- {id: c, type: %s}\n"
    instances = "instances:\n  i: {pos: 2, type: u1}\n"
    for first, then in (("b2", "b6"), ("b2le", "b6le")):
        x = codec(fields % (first, then, then) + instances)
        with pytest.raises(Unsupported, match="b: bits of the byte before were left when an instance"):
            x.X.from_bytes(b"\xc1\x02\x03")
        with pytest.raises(Unsupported, match="c: bits of the byte before"):
            x.X.from_bytes(b"\xc1\x02\x00")
    # A whole byte comes next, or nothing.
    x = codec(fields % ("b2", "u1", "u1") + instances)
    assert (read := x.X.from_bytes(b"\xc1\x02\x03")).b == 2 and read.c == 3
    x = codec("seq:\n- {id: a, type: b2}\n- {id: b, type: b2}\ninstances:\n  j: {pos: 0, type: u1}\n")
    assert x.X.from_bytes(b"\xc1").j == 0xC1


def test_a_part_of_no_bytes(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: p}\n- {id: b, terminator: 0}\ntypes:\n  p: {seq: []}\n"
    )
    for data in (b"\x00c\x00", b"\x00\x00"):
        assert x.X.from_bytes(data).to_bytes() == data
    assert x.X(n=0, a=x.P(), b=b"c").to_bytes() == b"\x00c\x00"


def test_elements_without_bytes_behind_bits_that_are_forgotten_end(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: a, type: b2}\n- {id: b, type: e, repeat: eos}\n"
        "types:\n  e: {seq: [{id: c, size: 1, if: _root.i > 9}]}\ninstances:\n  i: {pos: 1, type: u1}\n"
    )
    with pytest.raises(Malformed, match="b: an element without bytes would repeat forever"):
        x.X.from_bytes(b"\xc1\x02\x03", opt=ReadOptions(elements=1000))


# what an expression asks of the stream it asks when stock ksc does: here by instances at `_io.pos`
MOMENTS: dict[str, Row] = {
    "a sized switch looks before its bytes are read": Case(
        b"\x09\x07\x02\x08\x09\x01\x01",
        {"n": 2, "y.b": 0x0702},
    ),
    "and so do its cases": Case(
        b"\x01\x07\x02\x08\x09",
        {"y.a": 7},
    ),
    "a repeated switch": Case(
        b"\x01\x02\x03\x04\x05\x06",
        {"y[0].a": 1, "y[1]": b"\x03\x04", "y[2].a": 5},
    ),
    "a size, a count, an argument, the key of a process": Case(
        b"\x02\x09\x05\x06\x06\x04",
        {"n": 2, "y[0].b": b"\x02\x09", "y[0].a": 2, "y[1].b": b"\x05\x06", "y[1].a": 4},
    ),
    "a rule among neighbours of fixed width": Case(
        b"\x05\x05\x01",
        {"m": 5},
    ),
    "a rule that asks its parent": Case(
        b"\x05\x06\x01",
        {"m": 6},
    ),
    "a value that is there once keeps": Case(
        b"\x05\x06\x01",
        {"m": 6, "c.x": 1},
    ),
    "an instance that was absent may be there later": Case(
        b"\x05\x06\x01",
        {"m": 6, "c.x": 1},
    ),
    "the stream of the root within an instance": Case(
        b"\x09\x07\x05\x06\x08",
        {"i.x": 7, "i.y": b"\x05\x06", "i.z": 8},
    ),
    "an instance that is asked for when all is read": Case(
        b"\x09\x07\x05\x06\x08",
        {"i.x": 7, "i.l": 5, "i.k": 8},
    ),
    "a size before the byte of bits ends": Case(
        b"\x10\x61\x62",
        {"b": b"a", "c.x": 0x62},
    ),
    "no case: the bytes are not trimmed": Case(
        b"\x02\x07\x00\x01\x08\x00\x00\x09",
        {"y": b"\x07\x00\x01", "z": b"\x08\x00\x00", "w": None, "v": 9},
    ),
    "bits to the end of the stream": Case(
        b"\x12\x34\x56", {"a": [1, 2, 3, 4, 5, 6]}
    ),
    "little-endian bits to the end of the stream": Case(
        b"\x21\x43\x65", {"a": [1, 2, 3, 4, 5, 6]}
    ),
    "objects of bits to the end of the stream": Case(
        b"\x24\x92\x49",
        {"a[7].x": False, "a[7].y": 1, "a.__len__()": 8},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MOMENTS)
def test_an_expression_is_evaluated_when_stock_ksc_does(case: str, codec: Codec) -> None:
    row = MOMENTS[case]
    x = codec(schema_of("moments", case)).X
    read = x.from_bytes(row.data, exact=False)
    assert {path: of(read, path) for path in row.values} == row.values
    assert read.to_bytes() == row.data
    assert x.from_bytes(read.to_bytes(), exact=False) == read


def test_an_argument_that_depends_on_the_position_behind_an_object(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: p(_io.pos)}\ntypes:\n  p: {params: [{id: at, type: u4}], seq: [{id: b, size: at - 1}]}\n"
    )
    read = x.X.from_bytes(b"\x02ab")
    assert read.a.at == 3 and read.to_bytes() == b"\x02ab"
    read.n, read.a.b = 1, b"ab"
    assert read.to_bytes() == b"\x02ab"
    assert x.X(n=2, a=x.P(at=3, b=b"cd")).to_bytes() == b"\x02cd"
    wrong = x.X(n=3, a=x.P(at=9, b=b"cd"))
    with pytest.raises(EncodeError, match=r"a\.b: "):
        wrong.to_bytes()


LINKED = "seq:\n- {id: q, type: p}\ntypes:\n  p:\n    seq: [{id: n, type: u1}]\n    instances: {next: {pos: n, type: p, if: n > 0}}\n"
NEST = "seq:\n- {id: q, type: p}\ntypes:\n  p: {seq: [{id: n, type: u1}, {id: next, type: p, if: n > 0}]}\n"
DEEPER = ReadOptions(depth=100_000)


def down(value: Any, steps: int) -> Any:
    for _ in range(steps):
        value = value.next
    return value


def test_instances_that_are_read_later_count_as_deep_as_they_are(codec: Codec) -> None:
    x = codec(LINKED).X
    data = bytes(range(1, 200)) + b"\x00"
    # each instance and each object in it is a level
    read = x.from_bytes(data)
    assert down(read.q, 49).n == 50
    with pytest.raises(LimitExceeded, match="next: nested too deep: need 101, limit 100"):
        down(read.q, 50)
    with pytest.raises(LimitExceeded, match="nested too deep"):
        down(x.from_bytes(data, opt=ReadOptions(depth=9)).q, 4)
    assert down(x.from_bytes(data, opt=ReadOptions(depth=9)).q, 3).n == 4
    assert down(x.from_bytes(data, opt=DEEPER).q, 199).n == 0
    # a failure leaves no level behind
    for _ in range(3):
        with pytest.raises(LimitExceeded):
            down(read.q, 50)
    assert read.to_bytes() == data


@pytest.mark.parametrize("schema", [LINKED, NEST], ids=["instances", "fields"])
def test_what_walks_through_objects_is_bounded(schema: str, codec: Codec) -> None:
    x = codec(schema).X
    instances = schema == LINKED
    full = bytes([*range(1, 50), 0]) if instances else b"\1" * 98 + b"\0"
    read = x.from_bytes(full)
    assert down(read.q, 49 if instances else 98).n == 0
    # as deep as the default allows, everything works
    for made in (copy.deepcopy(read), pickle.loads(pickle.dumps(read))):
        assert made == read and made.to_bytes() == full and repr(made) == repr(read)
        assert down(made.q, 49 if instances else 98).n == 0
    assert pickle.loads(pickle.dumps(down(read.q, 40))).n == down(read.q, 40).n


def nested(x: Any, depth: int) -> Any:
    made = x.P(n=0)
    for _ in range(depth):
        made = x.P(n=1, next=made)
    return x.X(q=made)


def test_what_is_deeper_than_python_goes_is_an_error_of_ours(codec: Codec, golden: Golden) -> None:
    x = codec(NEST)
    with pytest.raises(
        LimitExceeded, match=r"^q\.next\.next\.next.*nested too deep for Python.*setrecursionlimit"
    ):
        x.X.from_bytes(b"\1" * 5000, opt=DEEPER)
    deep, other = nested(x, 5000), nested(x, 5000)
    with pytest.raises(EncodeError, match=r"^q\.next\.next\.next.*nested too deep for Python"):
        deep.to_bytes()
    # these walk without Python's stack
    assert deep == other and repr(deep) == repr(other)
    golden(repr(nested(x, 2)))
    down(other.q, 5000).n = 7
    assert deep != other and other != deep
    linked = codec(LINKED).X.from_bytes(bytes([*range(1, 250), 0]), opt=DEEPER)
    for _ in range(2):
        down(linked.q, 249)
        for walk in (copy.deepcopy, pickle.dumps):
            with pytest.raises(LimitExceeded, match="P: nested too deep to be pickled or copied"):
                walk(linked)


def test_instances_four_hundred_levels_deep(codec: Codec) -> None:
    x = codec(LINKED.replace("type: u1", "type: u2")).X
    data = struct.pack(">402H", *range(2, 804, 2), 0)
    with pytest.raises(LimitExceeded, match="nested too deep"):
        down(x.from_bytes(data).q, 400)
    read = x.from_bytes(data, opt=DEEPER)
    assert down(read.q, 400).n == 802
    with pytest.raises(EncodeError, match=r"^q\.next\.next\.next.*nested too deep for Python"):
        read.to_bytes()


def test_objects_are_compared_and_shown_by_their_fields(codec: Codec, golden: Golden) -> None:
    x = codec(
        "seq:\n- {id: n, type: f4}\n- {id: a, type: p, repeat: eos}\ntypes:\n  p: {seq: [{id: b, terminator: 0}]}\n"
    )
    made = x.X(n=1.0, a=[x.P(b=b"q"), x.P(b=b"r")])
    assert made == x.X(n=1, a=[x.P(b=b"q"), x.P(b=b"r")]) and made != x.X(n=1.0, a=[x.P(b=b"q")])
    assert made != x.X(n=1.0, a=[x.P(b=b"q"), x.P(b=b"s")]) and made != x.P(b=b"q") and made != 3
    assert (made == None) is False  # noqa: E711  # what `==` gives
    golden(repr(made))
    made.a.append(made)
    other = copy.deepcopy(made)
    assert made == other
    golden(repr(made))
    with pytest.raises(TypeError):
        hash(made)


def test_decompressed_bytes_have_one_limit_for_all_parts(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: a, type: p, repeat: eos}\ntypes:\n  p: {seq: [{id: n, type: u1}, {id: b, size: n, process: zlib}]}\n"
    )
    part = zlib.compress(bytes(1000))
    data = 3 * (bytes([len(part)]) + part)
    assert len(x.X.from_bytes(data, opt=ReadOptions(decompressed_bytes=3000)).a) == 3
    with pytest.raises(LimitExceeded, match=r"^a\[2\]\.b: zlib: "):
        x.X.from_bytes(data, opt=ReadOptions(decompressed_bytes=2999))


def test_bytes_that_keep_their_size_count_for_no_limit(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: a, type: p, repeat: eos}\ntypes:\n  p: {seq: [{id: b, size: 8, process: xor(1)}]}\n"
    )
    assert len(x.X.from_bytes(bytes(80), opt=ReadOptions(decompressed_bytes=8)).a) == 10


def test_a_rule_of_bits_asks_for_those_behind_them(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: a, type: b4, valid: {expr: b == 1}}\n- {id: b, type: b4}\n- {id: z, terminator: 0}\n"
    )
    assert x.X.from_bytes(b"\x11\0").a == 1
    with pytest.raises(Malformed, match="value not allowed"):
        x.X.from_bytes(b"\x12\0")


def test_a_size_follows_from_no_instance_that_is_computed(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: f, type: u2}\n- {id: n, type: u1}\n- {id: a, type: u4, if: g}\n- {id: b, size: s}\n"
        "- {id: z, terminator: 0}\ninstances:\n  g: {value: 'f & 0x8000 != 0'}\n  h: {value: 'g ? 2 : 1'}\n  s: {value: n - h}\n"
    )
    found = x.X.from_bytes(bytes.fromhex("00010461626300"))
    found.b = b"abcd"
    assert found.to_bytes() == bytes.fromhex("0001056162636400")


def test_a_switch_without_a_case_says_nothing_of_its_condition(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: push, type: b1}\n- {id: r, type: b7}\n- {id: k, type: u1}\n"
        "- {id: a, type: {switch-on: k, cases: {1: t}}, if: push}\n- {id: b, type: u1, if: not push}\n"
        "- {id: z, terminator: 0}\ntypes:\n  t: {seq: [{id: q, type: u1}]}\n"
    )
    for data in (b"\x80\2\0", b"\x80\1\7\0", b"\0\2\7\0"):
        assert x.X.from_bytes(data).to_bytes() == data
