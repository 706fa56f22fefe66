"""Keys that contradict each other or the bytes, and keys without effect, are problems at their place."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kodec.generator.problems import SchemaProblem

Find = Callable[..., list[SchemaProblem]]

X = "types: {x: {seq: [{id: v, type: u1}]}, y: {seq: [{id: v, type: u2}]}}\n"
CODEC = "seq:\n- {id: k, type: u1, enum: e}\n- {id: n, type: u1%s}\n- {id: b, size: n, type: {switch-on: k, cases: {%s}}, -codec: k, -inner: x}\nenums: {e: {0: none, 1: gzip}}\n"
VERSIONS = "-versions: 0-2\nseq:\n- {id: version, type: s2, valid: {min: 0, max: 2}%s}\n"

# The text of `x.ksy` starts in line 4; line and column, then a part of the message.
CASES = {
    "compressed content whose size nobody computes": (CODEC.replace("size: n", "size: n * 2") % ("", "'e::none': x") + X, "7:17 `n` is the size of compressed content"),
    "another type for what is not compressed": (CODEC % (", -derive: length_of(b)", "'e::none': y") + X, "7:84 `-inner: x` is not the type of the case `none`"),
    "no type for what is not compressed": (CODEC % (", -derive: length_of(b)", "'e::gzip': x") + X, "7:73 `-codec` needs a `switch-on` of the codec"),
    "a varint over a fixed number": ("seq: [{id: a, type: v}]\ntypes: {v: {-wire: uvarint32, seq: [{id: x, type: u4}], instances: {value: {value: x}}}}\n", "5:13 `-wire: uvarint32`: other compilers read another number"),
    "a uuid of 4 bytes": ("seq: [{id: a, type: v}]\ntypes: {v: {-wire: uuid, seq: [{id: value, size: 4}]}}\n", "5:13 `-wire: uuid` has 16 bytes"),
    "a bool of 2 bytes": ("seq: [{id: a, type: v}]\ntypes: {v: {-wire: bool8, seq: [{id: value, type: u2}]}}\n", "5:13 `-wire: bool8` has 1 bytes"),
    "two fields with one name": ("-versions: 0\nseq: [{id: version, type: u1, valid: 0}, {id: a, type: u1, -orig-id: X}, {id: b, type: u1, -orig-id: X}]\n", "5:102 the `-orig-id` is that of `a`, too"),
    "a default against `valid`": ("seq: [{id: a, type: u1, valid: {max: 5}, -default: 9}]\n", "4:52 `-default: 9` is not a value that `valid` allows"),
    "an enum's default against `valid`": ("seq: [{id: a, type: u1, enum: e, valid: 'e::p', -default: q}]\nenums: {e: {0: p, 1: q}}\n", "4:59 `-default: q` is not a value that `valid` allows"),
    "a default that is too long": ("seq: [{id: a, type: str, encoding: ASCII, size: 2, -default: '\"abc\"'}]\n", "4:62 `-default: abc` has 3 bytes, the field 2"),
    "a default that is no version": (VERSIONS % ", -default: 3", "6:62 `-default: 3` is not a value that `valid` allows"),
    "an empty number": ("seq: [{id: a, type: u1, -default: empty}]\n", "4:35 `-default: empty`: a number is never empty"),
    "flexible in no version": ("-flexible: 7+\n" + VERSIONS % "", "4:1 `-flexible: 7+` is none of `-versions: 0-2`"),
    "ignorable in no version": (VERSIONS % "" + "- {id: a, type: u1, -ignorable: true}\n", "7:33 `-ignorable` has no effect"),
    "a column of no row": ("seq: [{id: a, type: u1, -column: {type: int32}}]\n", "4:34 `-column` has no effect"),
    "tags of no section": ("seq: [{id: k, type: u1}, {id: b, size: 2, type: {switch-on: k, cases: {0: y}}, -tags: {0: foo}}]\n" + X, "4:87 `-tags` has no effect"),
    "a row hidden by no container": ("seq: [{id: a, type: row, repeat: eos}]\ntypes: {row: {-row: {unless: _batch.k}, seq: [{id: v, type: u1, -column: {type: int32}}]}}\n", "5:15 `_batch` is the container of the rows"),
    "at least a checksum": ("seq:\n- {id: a, type: u4}\n- {id: crc, type: u4, -derive: {value: crc32(a..a), verify: at_least}}\n", "6:32 `verify: at_least` has no effect on a checksum"),
    "a byte for a field that is outside": ("seq:\n- {id: a, type: strz, encoding: ASCII}\n- {id: crc, type: u4, -derive: {value: crc32(a..a), own: 0}}\n", "6:32 `own` has no effect"),
    "a digest that is too long": ("seq:\n- {id: a, size: 5, -derive: md5(s)}\n- {id: s, type: strz, encoding: ASCII}\n", "5:29 `md5` gives 16 bytes"),
    "checksums of each other": ("seq:\n- {id: a, type: u4, -derive: crc32(b..s)}\n- {id: b, type: u4, -derive: crc32(a..a)}\n- {id: s, type: strz, encoding: ASCII}\n", "5:30 `a` and `b` are derived from each other"),
    "a checksum of itself": ("seq:\n- {id: s, type: strz, encoding: ASCII}\n- {id: a, type: u4, -derive: crc32(s..a)}\n", "6:30 a field cannot be derived from bytes that hold it"),
    "a count of what may be absent": ("seq:\n- {id: f, type: u1}\n- {id: n, type: u1, -derive: count_of(xs)}\n- {id: xs, type: u2, repeat: expr, repeat-expr: n, if: f == 1}\n", "6:30 `xs` may be absent, and its count would not be kept"),
    "a count in more versions than its list": (VERSIONS % "" + "- {id: n, type: u1, -derive: count_of(xs)}\n- {id: xs, type: u2, repeat: expr, repeat-expr: n, if: version >= 1, -since: 1}\n", "7:30 `xs` may be absent, and its count would not be kept"),
    "a count in later versions than its list": (VERSIONS % "" + "- {id: n, type: u1, if: version >= 1, -since: 1, -derive: count_of(xs)}\n- {id: xs, type: u2, repeat: expr, repeat-expr: n, if: version >= 2, -since: 2}\n", "7:59 `xs` may be absent, and its count would not be kept"),
    "a condition of a checksum in a layout": ("-topic: t\nseq:\n- {id: f, type: u1}\n- {id: a, type: u4}\n- {id: crc, type: u4, -derive: {value: crc32(a..a), when: f == 1}}\n", "8:32 this `-derive` is not supported"),
    "a condition of a length in a layout": ("-topic: t\nseq:\n- {id: n, type: u1, -derive: {value: length_of(a), when: n == 1}}\n- {id: a, size: n}\n", "6:30 `when` has no effect on `length_of`"),
    "at least a count that is read": ("-topic: t\nseq:\n- {id: n, type: u1, -derive: {value: count_of(a), verify: at_least}}\n- {id: a, type: u1, repeat: expr, repeat-expr: n}\n", "6:30 `verify` has no effect on `count_of`"),
    "the largest element in what may be absent": ("-topic: t\nseq:\n- {id: f, type: u1}\n- {id: m, type: u1, if: f == 1, -derive: max(a.v)}\n- {id: a, type: x, repeat: eos}\n" + X, "7:42 a field with `max` must always exist"),
    "two columns with one name": ("-row: true\nseq: [{id: a, type: u1, -column: {name: n}}, {id: b, type: c}]\ntypes: {c: {seq: [{id: d, type: u1, -column: {name: n}}]}}\n", "6:46 two columns are called `n`"),
    "undescribed bytes of a layout": ("-topic: t\n-tail: moves\nseq: [{id: a, type: u1}]\n", "5:1 `-tail` is not supported"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_contradiction_is_a_problem(case: str, problems: Find) -> None:
    schema, wanted = CASES[case]
    found = [f"{each.place.line}:{each.place.column} {each.text}" for each in problems(schema)]
    assert any(each.startswith(wanted) for each in found), found


AGREE = {
    "compressed content": CODEC % (", -derive: length_of(b)", "'e::none': x") + X,
    "a default that `valid` allows": "seq: [{id: a, type: u1, valid: {max: 5}, -default: 5}]\n",
    "a text of the size": "seq: [{id: a, type: str, encoding: ASCII, size: 2, -default: '\"ab\"'}]\n",
    "ignorable since a version": VERSIONS % ""
    + "- {id: a, type: u1, if: version >= 1, -since: 1, -ignorable: true}\n",
    "a column of a row": "-row: true\nseq: [{id: a, type: u1, -column: {type: int32}}]\n",
    "a checksum of itself as zero": "seq:\n- {id: s, type: strz, encoding: ASCII}\n- {id: a, type: u4, -derive: {value: crc32(s..a), own: 0}}\n",
    "a count of each of two ranges of versions": VERSIONS % ""
    + "- {id: n, type: u1, if: version == 1, -since: 1, -until: 1, -derive: count_of(xs)}\n- {id: m, type: u2, if: version >= 2, -since: 2, -derive: count_of(xs)}\n- {id: xs, type: u2, repeat: expr, repeat-expr: 'version >= 2 ? m : n', if: version >= 1, -since: 1}\n",
    "one name for two versions": VERSIONS % ""
    + "- {id: a, type: u1, if: version < 1, -until: 0, -orig-id: X}\n- {id: b, type: u2, if: version >= 1, -since: 1, -orig-id: X}\n",
}


@pytest.mark.parametrize("case", AGREE)
def test_what_agrees_is_accepted(case: str, codec: Callable[..., Any]) -> None:
    codec(AGREE[case])
