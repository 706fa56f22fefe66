"""Every construct that is not supported, and every mistake that is searched for, is a named problem with its place."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kodec.generator.driver import generate, load, render_all
from kodec.generator.problems import SchemaError, SchemaProblem
from kodec.generator.schema.keys import KEYS
from tests.golden import Golden

Codec = Callable[..., Any]
Find = Callable[..., list[SchemaProblem]]

# Rows of docs/schema-language.md that are not supported. The text of `x.ksy` starts at line 4;
# place is line:column, then part of the message and of the hint.
UNSUPPORTED: dict[str, tuple[str, str, str, str]] = {
    "process": ("seq:\n- {id: a, size: 4, process: zlib}\n", "5:29", "`process` is not supported", "-codec"),
    "terminator, consume, include, eos-error": ("seq:\n- {id: a, size-eos: true, terminator: 0}\n", "5:39", "`terminator` is not supported", "length field"),
    "strz": ("seq:\n- {id: a, type: strz, encoding: UTF-8}\n", "5:17", "`strz` is not supported", "length field"),
    "pad-right": ("seq:\n- {id: a, size: 4, pad-right: 0}\n", "5:31", "`pad-right` is not supported", "field of its own"),
    "io": ("seq: []\ninstances:\n  a: {pos: 0, size: 4, io: _root._io}\n", "6:28", "`io` is not supported", "stream at hand"),
    "parent": ("seq:\n- {id: a, size: 4, parent: false}\n", "5:28", "`parent` is not supported", "parent"),
    "little-endian bits": ("seq:\n- {id: a, type: b4le}\n- {id: b, type: b4}\n", "5:17", "little-endian bit fields are not supported", "bit-endian: be"),
    "endian by switch": ("seq:\n- {id: a, type: p}\ntypes:\n  p: {meta: {endian: {switch-on: 1, cases: {1: le, _: be}}}, seq: [{id: b, type: u2}]}\n", "7:6", "a byte order determined by bytes is not supported", "parameter"),
    "_parent, _root": ("seq:\n- {id: a, size: _parent.n}\n", "5:17", "`_parent` is not supported", "parameter"),
    "_index": ("seq:\n- {id: a, type: u1, repeat: until, repeat-until: _index == 3}\n", "5:50", "`_index` is not supported", "targets disagree"),
    "_io in expressions": ("seq:\n- {id: a, size: _io.size}\n", "5:17", "`_io` is not supported", "_io.pos + n"),
    "instances with other pos": ("seq: []\ninstances:\n  a: {pos: 16, type: u1}\n", "6:12", "a parse instance at this `pos` is not supported", "_io.pos + n"),
    "instances with if, enum": ("seq:\n- {id: n, type: u1}\ninstances:\n  a: {value: n, if: n > 1}\n", "7:21", "`if` on an instance is not supported", "in the expression"),
    "method calls": ("seq:\n- {id: a, type: str, size: 1, encoding: ASCII, if: 'substring(0, 1)'}\n", "5:52", "`substring(...)` is not supported", ""),
    "array literals and indexes in expressions": ("seq:\n- {id: a, size: 4}\n- {id: b, size: 'a[0]'}\n", "6:17", "an index is not supported", "field of its own"),
    "other encodings": ("seq:\n- {id: a, type: str, size: 1, encoding: EBCDIC}\n", "5:17", "encoding `EBCDIC` is not supported", ""),
    "recursive types": ("seq:\n- {id: a, type: p}\ntypes:\n  p:\n    seq:\n    - {id: q, type: p}\n", "8:5", "the type holds itself", "recursive types"),
    "lists of elements that may be empty, in elements": ("seq:\n- {id: a, type: p, repeat: eos}\ntypes:\n  p: {seq: [{id: n, type: u4}, {id: b, type: q, repeat: expr, repeat-expr: n}]}\n  q: {seq: []}\n", "7:57", "elements that may be without bytes", "always there"),
    "conditional or repeated bits": ("seq:\n- {id: n, type: b7}\n- {id: a, type: b1, repeat: expr, repeat-expr: 1}\n", "6:3", "cannot be repeated or conditional", ""),
    "conditional or repeated contents": ("seq:\n- {id: n, type: u1}\n- {id: a, contents: [1], if: n > 0}\n", "6:21", "neither conditional nor repeated", ""),
    "repeated switch without size": ("seq:\n- {id: n, type: u1}\n- {id: a, type: {switch-on: n, cases: {1: u1}}, repeat: eos}\n", "6:17", "a repeated switch is not supported", "type of its own"),
    "valid on bytes and types": ("seq:\n- {id: a, size: 1, valid: {eq: '\"a\"'}}\n", "5:27", "`valid` of bytes is not supported", "number or a text"),
    "parameters of other types": ("params:\n- {id: p, type: str}\nseq: []\n", "5:3", "a parameter of type `str` is not supported", "bool, or an integer"),
    "two bool parameters": (
        "seq:\n- {id: n, type: u1}\n- {id: a, type: 'p(n > 1, n > 2)'}\ntypes:\n  p:\n    params:\n    - {id: q, type: bool}\n    - {id: r, type: bool}\n    seq:\n    - {id: s, type: u1, if: q and r}\n",
        "6:17", "2 bool parameters", "one is supported"),
    "-codec in a type with versions or parameters": (
        "params:\n- {id: p, type: u1}\nseq:\n- {id: c, type: u1, enum: e}\n- {id: a, size-eos: true, -codec: c, -inner: q}\ntypes:\n  q:\n    seq:\n    - {id: r, type: u1}\nenums:\n  e: {0: none, 1: gzip}\n",
        "8:3", "cannot have versions, parameters", ""),
}  # fmt: skip

# An extension key, with which a schema needs layouts; without one, what layouts cannot say is read from streams.
LAYOUTS = "-topic: t\n"
OF_LAYOUTS = (
    "argument of another kind",
    "division by 0",
    "unbounded shift",
    "array literal",
    "negative size",
    "negative constant",
    "negative under its condition",
    "negative count",
    "unbounded until",
    "after the end",
    "elements after the end",
    "count that is not what is left",
    "condition by a late length",
    "count by a late length",
    "size by a late length",
    "case by a late length",
    "argument by a late length",
    "rule by a late length",
    "size that is not what is left",
    "size that tests another field",
    "size by what a checksum is",
    "after an end that may be there",
    "after an object that may read to the end",
    "bits not on a byte",
    "bits at the end not on a byte",
    "conditional field used",
    "peeks overlap",
    "peeks of two byte orders",
    "case that is no value",
    "name that ends in _",
    "instances in instances",
    "valid by a peek",
    "valid by what may be absent",
)

# Mistakes that are searched for: schema, line:column, path, message, hint
WRONG: dict[str, tuple[str, str, str, str, str]] = {
    "unknown - key": ("seq:\n- {id: a, type: u1, -derived: x}\n", "5:21", "x.a", "unknown extension key `-derived`", "did you mean `-derive`?"),
    "unknown - key of a type": ("-version: 0-4\nseq: []\n", "4:1", "x", "unknown extension key `-version`", "did you mean `-versions`?"),
    "unknown plain key": ("seq:\n- {id: a, tpye: u1}\n", "5:11", "x.a", "unknown key `tpye`", "did you mean `type`?"),
    "unknown type of another language": ("seq:\n- {id: a, type: double}\n", "5:17", "x.a", "unknown type `double`", "f8"),
    "unknown type": ("seq:\n- {id: a, type: iner}\ntypes:\n  inner: {seq: []}\n", "5:17", "x.a", "unknown type `iner`", "did you mean `inner`?"),
    "unknown enum": ("seq:\n- {id: a, type: u1, enum: kid}\nenums:\n  kind: {0: none}\n", "5:27", "x.a", "unknown enum `kid`", "did you mean `kind`?"),
    "unknown enum value": ("seq:\n- {id: a, type: u1}\n- {id: b, type: u1, if: a == kind::nine}\nenums:\n  kind: {0: none}\n", "6:25", "x.b", "enum `kind` has no `nine`", "none"),
    "unknown name": ("seq:\n- {id: size_a, type: u1}\n- {id: a, size: sise_a}\n", "6:17", "x.a", "unknown name `sise_a`", "did you mean `size_a`?"),
    "later name": ("seq:\n- {id: a, size: n}\n- {id: n, type: u1}\n", "5:17", "x.a", "`size` refers to `n`, which is read later", "read before"),
    "later name through an instance": ("seq:\n- {id: a, size: m}\n- {id: n, type: u1}\ninstances:\n  m: {value: n + 1}\n", "5:17", "x.a", "refers to `n`, which is read later", ""),
    "not an expression": ("seq:\n- {id: a, size: 1 +}\n", "5:17", "x.a", "a value expected, found `the end`", ""),
    "id twice": ("seq:\n- {id: a, type: u1}\n- {id: a, type: u1}\n", "6:3", "x.a", "the name is used twice", "the first is in line 5"),
    "type that is no name": ("types:\n  true: {seq: []}\n", "5:3", "x.true", "`true` is not a name", "lower_snake_case"),
    "number with a _ at its end": ("seq:\n- {id: a, size: 1_}\n", "5:17", "x.a", "`1_` is not a number", ""),
    "any-of is no list": ("seq:\n- {id: a, type: u1, valid: {any-of: 3}}\n", "5:37", "x.a", "`any-of` must be a list", ""),
    "instances in instances": ("seq: [{id: n, type: u1}]\ninstances:\n  a0: {value: n + n + n + n + n + n + n + n + n + n}\n  a1: {value: a0 + a0 + a0 + a0 + a0 + a0 + a0 + a0 + a0 + a0}\n  a2: {value: a1 + a1 + a1 + a1 + a1 + a1 + a1 + a1}\n", "8:15", "x.a2", "too long with the instances that it uses", "fewer"),
    "valid by a peek": ("seq:\n- {id: a, type: u1, valid: {expr: _ == n}}\ninstances:\n  n: {pos: _io.pos, type: u1}\n", "5:28", "x.a", "`valid` by a peeked number is not supported", "`size` and `switch-on`"),
    "valid by what may be absent": ("seq:\n- {id: n, type: u1}\n- {id: m, type: u1, if: n > 1}\n- {id: a, type: u1, valid: {min: m}}\n", "7:28", "x.a", "`valid` needs `m`, which is not always there", "if: (n > 1)"),
    "not a name": ("seq:\n- {id: Big, type: u1}\n", "5:3", "x", "`Big` is not a name", "lower_snake_case"),
    "name that ends in _": ("seq:\n- {id: a_, type: u1}\n", "5:3", "x.a_", "`a_` is not a name", "lower_snake_case"),
    "no type and no size": ("seq:\n- {id: a}\n", "5:3", "x.a", "neither a type nor a size", ""),
    "no byte order": ({"x.ksy": "meta: {id: x}\nseq:\n- {id: a, type: u2}\n"}, "3:17", "x.a", "`u2` has no byte order", "meta/endian"),
    "seq is no list": ("seq: {a: u1}\n", "4:6", "x", "`seq` must be a list", ""),
    "types is no mapping": ("types: [p]\n", "4:8", "x", "`types` must be a mapping", ""),
    "enum value twice": ("enums:\n  e: {0: a, 1: a}\n", "5:16", "x.e", "`a` stands twice", ""),
    "arguments missing": ("seq:\n- {id: a, type: p}\ntypes:\n  p:\n    params:\n    - {id: n, type: u1}\n    seq: []\n", "5:17", "x.a", "takes 1 arguments, 0 given", ""),
    "argument of another kind": ("seq:\n- {id: a, type: p(true)}\ntypes:\n  p:\n    params:\n    - {id: n, type: u1}\n    seq: []\n", "5:17", "x.a", "`type` must be an integer, this is a boolean", ""),
    "size is no number": ("seq:\n- {id: a, type: str, size: 1, encoding: ASCII}\n- {id: b, size: a}\n", "6:17", "x.b", "`size` must be an integer, this is text", ""),
    "if is no condition": ("seq:\n- {id: a, type: u1}\n- {id: b, size: 1, if: a}\n", "6:24", "x.b", "`if` must be a boolean, this is an integer", ""),
    "division by 0": ("seq:\n- {id: a, type: u1}\n- {id: b, size: 9 / a}\n", "6:17", "x.b", "`/` by what may be 0: a", "plain number"),
    "unbounded shift": ("seq:\n- {id: a, type: u1}\n- {id: b, size: 1 << a}\n", "6:17", "x.b", "`<<` by a is not bounded", "0 to 63"),
    "compares different kinds": ("seq:\n- {id: a, type: u1}\n- {id: b, size: 1, if: 'a == \"x\"'}\n", "6:24", "x.b", "cannot compare an integer with text", ""),
    "array literal": ("seq:\n- {id: a, size: 1}\n- {id: b, size: 1, if: 'a == [1]'}\n", "6:24", "x.b", "`[1]` is not supported", ""),
    "role of no field": ("-roles: {length: len_x}\nseq:\n- {id: len_a, type: u1}\n", "4:18", "x", "role `length`: there is no field `len_x`", "did you mean `len_a`?"),
    "role of no field in a field": ("-roles: {control: f.b}\nseq:\n- {id: f, type: t}\ntypes: {t: {seq: [{id: a, type: u1}]}}\n", "4:19", "x", "role `control`: there is no field `f.b`", ""),
    "form whose values are not listed": ("-roles: {form: a}\nseq:\n- {id: a, type: u1}\n", "4:16", "x", "role `form`: the values of `a` are not listed", "of at most 16 values"),
    "form of too many values": ("-roles: {form: a}\nseq:\n- {id: a, type: u1, valid: {min: 0, max: 16}}\n", "4:16", "x", "role `form`: the values of `a` are not listed", "of at most 16 values"),
    "form that is no number": ("-roles: {form: a}\nseq:\n- {id: a, size: 2}\n", "4:16", "x", "role `form`: a number of the type itself", ""),
    "negative size": ("seq:\n- {id: n, type: u1}\n- {id: a, size: n - 256}\n", "6:17", "x.a", "`size` is always negative: (n - 256)", ""),
    "negative constant": ("seq:\n- {id: a, size: -1}\n", "5:17", "x.a", "`size` is always negative: -1", ""),
    "negative under its condition": ("seq:\n- {id: n, type: s1}\n- {id: a, size: n, if: n < 0}\n", "6:17", "x.a", "`size` is always negative: n", ""),
    "negative count": ("seq:\n- {id: n, type: u1}\n- {id: a, type: u1, repeat: expr, repeat-expr: -1 - n}\n", "6:48", "x.a", "`repeat-expr` is always negative", ""),
    "unbounded until": ("seq:\n- {id: a, type: u1, repeat: until, repeat-until: _ == 0}\n", "5:50", "x.a", "`repeat: until` has no bound", "a.size == 100"),
    "condition by a late length": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: len - 1, if: len > 3}\n", "8:30", "x.b", "`if` needs `len`, which a writer knows when", ""),
    "count by a late length": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: len - 1}\n- {id: c, type: u1, repeat: expr, repeat-expr: len}\n", "9:48", "x.c", "`repeat-expr` needs `len`", ""),
    "size by a late length": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: len - 1}\n- {id: c, size: len}\n", "9:17", "x.c", "`size` needs `len`", ""),
    "case by a late length": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: len - 1}\n- {id: c, size: 1, type: {switch-on: len, cases: {9: p}}}\ntypes: {p: {seq: [{id: v, type: u1}]}}\n", "9:38", "x.c", "`switch-on` needs `len`", ""),
    "argument by a late length": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: len - 1}\n- {id: c, type: p(len)}\ntypes: {p: {params: [{id: n, type: u2}], seq: [{id: v, size: n}]}}\n", "9:17", "x.c", "`type` needs `len`", ""),
    "rule by a late length": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: len - 1}\n- {id: c, type: u2, valid: {max: len}}\n", "9:28", "x.c", "`valid` needs `len`", ""),
    "size that is not what is left": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: len - 2}\n", "8:17", "x.b", "`size` reads", ""),
    "count that is not what is left": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, type: u2, repeat: expr, repeat-expr: len / 3}\n", "8:48", "x.b", "`repeat-expr` reads", ""),
    "size that tests another field": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: 'len - (k >= 2 ? 9 : 3)'}\n", "8:17", "x.b", "`size` reads", ""),
    "size by what a checksum is": ("seq:\n- {id: k, type: u1}\n- {id: len, type: u2, valid: {min: 9}, -derive: length_of(a..b)}\n- {id: a, type: u1}\n- {id: b, size: len - 1}\n- {id: sum, type: u4, -derive: crc32(a..b)}\n- {id: c, size: sum}\n", "10:17", "x.c", "`size` needs `sum`", ""),
    "unknown codec": ("seq:\n- {id: k, type: u1, enum: e}\n- {id: b, size-eos: true, -codec: k, -inner: p}\nenums: {e: {0: none, 1: gzp}}\ntypes:\n  p: {seq: [{id: a, type: u1}]}\n", "6:35", "x.b", "unknown codec: gzp", "gzip"),
    "negative size in a stream": ("seq:\n- {id: a, size: -1}\n- {id: b, terminator: 0}\n", "5:17", "x.a", "`size` is negative: -1", ""),
    "negative count in a stream": ("seq:\n- {id: a, type: u1, repeat: expr, repeat-expr: 2 - 3}\n- {id: b, terminator: 0}\n", "5:48", "x.a", "`repeat-expr` is negative: -1", ""),
    "elements after the end": ("seq:\n- {id: n, type: u1}\n- {id: a, type: p, repeat: expr, repeat-expr: n}\ntypes:\n  p: {seq: [{id: h, type: u1}, {id: r, size-eos: true}]}\n", "6:28", "x.a", "nothing is left for a second element", "give its elements a size"),
    "after an end that may be there": ("seq:\n- {id: n, type: u1}\n- {id: a, size-eos: true, if: n > 0}\n- {id: b, type: u1, if: n > 1}\n", "7:8", "x.b", "nothing is left for it: `a` reads to the end", "give `a` a size"),
    "after an object that may read to the end": ("seq:\n- {id: a, type: p}\n- {id: b, type: u1}\ntypes:\n  p: {seq: [{id: n, type: u1}, {id: r, size-eos: true, if: n > 0}]}\n", "6:8", "x.b", "nothing is left for it: `a` reads to the end", "give `a` a size"),
    "after the end": ("seq:\n- {id: a, size-eos: true}\n- {id: b, type: u1}\n", "6:8", "x.b", "nothing is left for it: `a` reads to the end", "give `a` a size"),
    "bits not on a byte": ("seq:\n- {id: a, type: b3}\n- {id: b, type: u1}\n", "5:3", "x.a", "bit fields end 3 bits into a byte", "reserved"),
    "bits at the end not on a byte": ("seq:\n- {id: a, type: u1}\n- {id: b, type: b9}\n", "6:3", "x.b", "bit fields end 1 bits into a byte", "reserved"),
    "conditional field used": ("seq:\n- {id: n, type: u1}\n- {id: m, type: u1, if: n > 1}\n- {id: a, size: m}\n", "7:17", "x.a", "`size` needs `m`, which is not always there", "if: (n > 1)"),
    "nullable field used": ("seq:\n- {id: n, type: s1, -derive: length_of(a)}\n- {id: a, size: n, if: n >= 0, -nullable: n == -1}\n- {id: b, size: a.size}\n", "7:17", "x.b", "`a` may be null", "length"),
    "derive: unreadable": ("seq:\n- {id: n, type: u1, -derive: len(a)}\n- {id: a, size: n}\n", "5:30", "x.n", "`-derive` cannot be read", "length_of(x)"),
    "derive: unknown field": ("seq:\n- {id: n, type: u1, -derive: length_of(bdoy)}\n- {id: body, size: n}\n", "5:30", "x.n", "unknown field `bdoy`", "did you mean `body`?"),
    "derive: backwards": ("seq:\n- {id: c, type: u4, -derive: crc32(b..a)}\n- {id: a, type: u1}\n- {id: b, type: u1}\n", "5:30", "x.c", "the range b..a runs backwards", ""),
    "derive: with a default": ("seq:\n- {id: n, type: u1, -derive: length_of(a), -default: 0}\n- {id: a, size: n}\n", "5:30", "x.n", "a derived field has no default", "leave `-default` out"),
    "derive: of itself": ("seq:\n- {id: n, type: u1, -derive: length_of(n..a)}\n- {id: a, size: 2}\n", "5:30", "x.n", "cannot be derived from bytes that hold it", ""),
    "derive: mutual": ("seq:\n- {id: a, type: u4, -derive: crc32(b..b)}\n- {id: b, type: u4, -derive: crc32(a..a)}\n", "5:30", "x.a", "`a` and `b` are derived from each other", ""),
    "derive: contradicts size": ("seq:\n- {id: n, type: u1, -derive: length_of(a) + 1}\n- {id: a, size: n}\n", "5:30", "x.n", "`-derive` writes 1 for 0, and `size` reads 1", "inverse"),
    "derive: is an argument of what it sizes": ("seq:\n- {id: n, type: u1, -derive: length_of(a)}\n- {id: a, size: n, type: p(n)}\ntypes:\n  p: {params: [{id: m, type: u1}], seq: [{id: d, size: m}]}\n", "5:30", "x.n", "`a` gets it as an argument", "leave `-derive` out"),
    "derive: does not size": ("seq:\n- {id: n, type: u1, -derive: length_of(a)}\n- {id: a, size: 3}\n", "5:30", "x.n", "`a` is not sized by it", "length_of(a..a)"),
    "derive: crc is no u4": ("seq:\n- {id: c, type: s4, -derive: crc32(a..a)}\n- {id: a, type: u1}\n", "5:30", "x.c", "unsigned 32-bit", "type: u4"),
    "derive: no list": ("seq:\n- {id: c, type: u1, -derive: count_of(a)}\n- {id: a, type: u1}\n", "5:30", "x.c", "`a` is not repeated", ""),
    "derive: no such member": ("seq:\n- {id: c, type: u1, -derive: max(a.ku)}\n- {id: a, type: p, repeat: eos}\ntypes:\n  p:\n    seq:\n    - {id: ko, type: u1}\n", "5:30", "x.c", "`a` has no `ku`", "ko"),
    "derive: starts at a bit": ("seq:\n- {id: c, type: u4, -derive: crc32(a..b)}\n- {id: a, type: b4}\n- {id: b, type: b4}\n", "5:30", "x.c", "cannot start at a bit field", "bits in a type"),
    "nullable without if": ("seq:\n- {id: n, type: s1, valid: {min: 0}, -derive: length_of(a)}\n- {id: a, size: n, -nullable: n == -1}\n", "6:31", "x.a", "the field has no `if`", "if:"),
    "nullable disagrees with if": ("seq:\n- {id: n, type: s1, -derive: length_of(a)}\n- {id: a, size: n, if: n > 0, -nullable: n == -1}\n", "6:42", "x.a", "only n = -1 is null", ""),
    "nullable versions without versions": ("seq:\n- {id: n, type: s1, -derive: length_of(a)}\n- {id: a, size: n, if: n >= 0, -nullable: n == -1, -nullable-versions: 1+}\n", "6:72", "x.a", "`-nullable-versions` needs `-versions`", ""),
    "nullable versions of what is never null": ("-versions: 0-1\nseq:\n- {id: version, type: u1}\n- {id: a, type: u1, -nullable-versions: 1+}\n", "7:41", "x.a", "on a field that is never null", ""),
    "presence of what is never null": ("seq:\n- {id: h, type: s1, -derive: presence_of(a)}\n- {id: a, type: u1}\n", "5:30", "x.h", "`a` is never null", "-nullable: h == -1"),
    "message without a number": ("-message: {kind: request}\nseq: []\n", "4:11", "x", "`-message` needs `kind` and `number`", "number: 3"),
    "nullable never true": ("seq:\n- {id: n, type: s1, -derive: length_of(a)}\n- {id: a, size: n, if: n >= 0, -nullable: n == 77}\n", "6:43", "x.a", "no value of `n` makes it true", ""),
    "since without versions": ("seq:\n- {id: a, type: u1, -since: 2}\n", "5:29", "x.a", "need `-versions` on the type", ""),
    "since without if": ("-versions: 0-3\nseq:\n- {id: version, type: u1}\n- {id: a, type: u1, -since: 2}\n", "7:29", "x.a", "without `if`", "if: version >= 2"),
    "since disagrees with if": ("-versions: 0-3\nseq:\n- {id: version, type: u1}\n- {id: a, type: u1, if: version >= 1, -since: 2}\n", "7:47", "x.a", "`if` reads the field in versions 1, 2, 3", "",),
    "until disagrees with if": ("-versions: 0-3\nseq:\n- {id: version, type: u1}\n- {id: a, type: u1, if: version <= 1, -until: 0}\n", "7:47", "x.a", "-since and -until state 0 to 0", ""),
    "since outside versions": ("-versions: 0-3\nseq:\n- {id: version, type: u1}\n- {id: a, type: u1, if: version > 8, -since: 9}\n", "7:46", "x.a", "`-since: 9` is not in -versions 0-3", ""),
    "versions backwards": ("-versions: 3-1\nseq: []\n", "4:12", "x", "runs backwards", "0-4"),
    "versions without a field": ("-versions: 0-1\nseq: []\n", "1:1", "x", "needs a field or parameter `version`", ""),
    "version not at a fixed place": ("-versions: 0-1\nseq:\n- {id: n, type: u1}\n- {id: a, size: n}\n- {id: version, type: u1}\n", "8:3", "x.version", "must have a fixed position", ""),
    "default too large": ("seq:\n- {id: a, type: u1, -default: 256}\n", "5:31", "x.a", "`-default: 256` is not in 0 to 255", ""),
    "default of another kind": ("seq:\n- {id: a, type: u1, -default: true}\n", "5:31", "x.a", "`-default` is a boolean, the field an integer", ""),
    "default null": ("seq:\n- {id: a, size: 1, -default: null}\n", "5:20", "x.a", "", "") ,
    "default is no value of the enum": ("seq:\n- {id: a, type: u1, enum: e, -default: non}\nenums:\n  e: {0: none}\n", "5:40", "x.a", "unknown value `non`", "none"),
    "enum on a float": ("seq:\n- {id: a, type: f4, enum: e}\nenums:\n  e: {0: none}\n", "5:27", "x.a", "an enum needs an integer or bit field", ""),
    "size of a number": ("seq:\n- {id: a, type: u2, size: 2}\n", "5:27", "x.a", "a number has its size already", "leave `size` out"),
    "codec is no enum": ("seq:\n- {id: c, type: u1}\n- {id: a, size-eos: true, -codec: c, -inner: q}\ntypes:\n  q: {seq: []}\n", "6:35", "x.a", "`-codec` must name an enum field", "attributes.compression"),
    "codec without none": ("seq:\n- {id: c, type: u1, enum: e}\n- {id: a, size-eos: true, -codec: c, -inner: q}\ntypes:\n  q: {seq: []}\nenums:\n  e: {1: gzip}\n", "6:35", "x.a", "needs a value `none`", ""),
    "codec not last": ("seq:\n- {id: c, type: u1, enum: e}\n- {id: a, size: 3, -codec: c, -inner: q}\n- {id: b, type: u1}\ntypes:\n  q: {seq: []}\nenums:\n  e: {0: none}\n", "6:3", "x.a", "must be the last of its type", ""),
    "codec without inner": ("seq:\n- {id: c, type: u1, enum: e}\n- {id: a, size-eos: true, -codec: c}\nenums:\n  e: {0: none}\n", "6:35", "x.a", "`-codec` needs the type of the content", "switch-on"),
    "unknown column": ("-row: {columns: [a, bee]}\nseq:\n- {id: a, type: u1}\n- {id: be, type: u1}\n", "4:1", "x", "unknown column `bee`", "be"),
    "peeks overlap": ("seq: []\ninstances:\n  a: {pos: _io.pos, type: u2}\n  b: {pos: _io.pos + 1, type: u2}\n", "7:6", "x.b", "peeked numbers overlap", "once"),
    "peeks of two byte orders": ("seq: []\ninstances:\n  a: {pos: _io.pos, type: u2}\n  b: {pos: _io.pos + 2, type: u2le}\n", "6:6", "x.a", "one byte order", ""),
    "case of another kind": ("seq:\n- {id: n, type: u1}\n- {id: a, type: {switch-on: n, cases: {'\"x\"': u1}}}\n", "6:40", "x.a", "case \"x\" is text, `switch-on` is an integer", ""),
    "case that is no value": ("seq:\n- {id: n, type: u1}\n- {id: a, type: {switch-on: n, cases: {n: u1}}}\n", "6:40", "x.a", "case `n` is neither a number nor an enum value", ""),
    "wire without its member": ("-wire: string\nseq:\n- {id: a, type: str, size-eos: true, encoding: ASCII}\n", "1:1", "x", "needs a field `value`", ""),
    "unknown wire": ("-wire: zigzag\nseq: []\n", "4:8", "x", "`-wire: zigzag` is not supported", "zigzag32"),
    "Python: class of an import": ("types:\n  struct: {seq: [{id: a, type: u1}]}\n", "5:11", "x", "type `struct` would be `Struct`", "another name"),
    "Python: one name for two": ("seq:\n- {id: k, type: u1, enum: e}\n- {id: h, type: x_head}\n- {id: b, size-eos: true, -codec: k, -inner: x_head}\nenums: {e: {0: none}}\ntypes:\n  x_head: {seq: [{id: a, type: u1}]}\n", "10:11", "x", "would both be `read_x_head`", "rename"),
    "Python: part of a type": ("seq:\n- {id: a, type: p}\n- {id: a_b, type: u1}\ntypes:\n  p: {seq: [{id: b, type: u1}]}\n", "5:3", "x", "`a_b` is also what reading calls a part of `a`", "rename"),
    "versions that valid does not allow": ("-versions: 0-5\nseq:\n- {id: version, type: u1, valid: {max: 4}}\n", "6:34", "x.version", "`-versions 0-5` has what `valid` does not allow: 5", "agree"),
    "versions that any-of does not allow": ("-versions: 0-3\nseq:\n- {id: version, type: u1, valid: {any-of: [1, 2]}}\n", "6:34", "x.version", "`valid` does not allow: 0, 3", "agree"),
    "versions that expr does not allow": ("-versions: 0-3\nseq:\n- {id: version, type: u1, valid: {expr: _ < 3}}\n", "6:34", "x.version", "`valid` does not allow: 3", "agree"),
    "versions beyond the type": ("-versions: 250-256\nseq:\n- {id: version, type: u1}\n", "6:23", "x.version", "`type` does not allow: 256", "agree"),
    "versions beyond the parameter": ("-versions: 0-200\nparams:\n- {id: version, type: s1}\nseq: []\n", "6:3", "x.version", "beyond what a `s1` can be", "-128 to 127"),
    "too many versions of another field": ("-versions: {field: magic, range: 0-30000}\nseq:\n- {id: magic, type: u4}\n", "4:12", "x", "at most 256 versions", ""),
    "half a surrogate pair in an expression": ("seq:\n- {id: a, type: u1, if: \"'\\ud800' == 'a'\"}\n", "5:25", "x.a", "half a surrogate pair", "the character"),
    "half a surrogate pair as an escape": ("seq:\n- {id: a, type: str, size: 2, encoding: UTF-8, valid: '\"\\ud800\"'}\n", "5:55", "x.a", "half a surrogate pair", "the character"),
    "half a surrogate pair in a document": ("doc: \"\\ud800\"\nseq: []\n", "4:6", "doc", "`doc` holds U+D800", "leave it out"),
    "list as a type": ("seq:\n- {id: a, type: [u1, {b: 2}]}\n", "5:17", "x.a", "type `[u1, {b: 2}]`", ""),
    "mapping as an enum value": ("seq: []\nenums:\n  e: {0: [a, null]}\n", "6:10", "x.e", "`[a, null]` is not a name", "lower_snake_case"),
    "parse instance": ("seq: []\ninstances:\n  a: {type: strz, encoding: ASCII}\n-topic: t\n", "6:6", "x.a", "a parse instance is not supported", "peeked"),
    "duplicate key": ("seq:\n- id: a\n  type: u1\n  type: u2\n", "7:3", "", "key `type` stands twice", ""),
    "alias": ("seq:\n- &f {id: a, type: u1}\n- *f\n", "5:3", "", "an alias is not supported", "write the value out"),
    "not YAML": ("seq:\n- {id: a\n", "6:1", "", "not YAML", ""),
    "deep nesting": ("-x: " + "[" * 80 + "]" * 80 + "\n", "4:69", "", "nesting deeper than 64", ""),
}  # fmt: skip
WRONG["default null"] = (
    "seq:\n- {id: a, size: 1, -default: 'null'}\n", "5:30", "x.a", "`-default: null` on a field that is never null", "",
)  # fmt: skip


def at(problem: SchemaProblem) -> str:
    return f"{problem.place.line}:{problem.place.column}"


def expect(found: list[SchemaProblem], place: str, text: str, hint: str, path: str = "") -> None:
    wanted = [p for p in found if text in p.text and hint in p.hint and (not path or p.path == path)]
    assert wanted, "\n".join(map(str, found))
    assert place in {at(p) for p in wanted}, "\n".join(map(str, wanted))
    assert all(p.place.file == "schemas/x.ksy" for p in wanted)


@pytest.mark.parametrize("row", UNSUPPORTED)
def test_unsupported_is_named(row: str, problems: Find) -> None:
    schema, place, text, hint = UNSUPPORTED[row]
    expect(problems(schema + LAYOUTS), place, text, hint)


@pytest.mark.parametrize("mistake", WRONG)
def test_mistake_is_named(mistake: str, problems: Find) -> None:
    schema, place, path, text, hint = WRONG[mistake]
    expect(problems(schema if mistake not in OF_LAYOUTS else f"{schema}{LAYOUTS}"), place, text, hint, path)


@pytest.mark.parametrize(
    "one, other",
    [
        ("n > 0", "n <= 0"),
        ("n == 1", "n == 2"),
        ("n == 1", "n != 1"),
        ("f and n == 1", "n == 2 and f"),
        ("f", "not f"),
    ],
)
def test_two_fields_that_exclude_each_other_may_read_to_the_end(one: str, other: str, codec: Codec) -> None:
    x = codec(
        f"-topic: t\nseq:\n- {{id: n, type: u1}}\n- {{id: f, type: b1}}\n- {{id: g, type: b7}}\n- {{id: a, size-eos: true, if: {one}}}\n"
        f"- {{id: b, size-eos: true, if: {other}}}\n"
    )
    for number, flag in ((0, 0), (1, 0), (1, 128), (2, 128)):
        data = bytes([number, flag]) + b"text"
        written = x.X.from_bytes(data, exact=False).to_bytes()
        assert written == data[: len(written)] and len(written) in (2, 6)


def test_a_name_of_a_file_that_cannot_be_read_is_not_unknown(tmp_path: Path) -> None:
    """Types, enums, casts and content of it: the file is the problem."""
    (tmp_path / "part.ksy").write_text("meta: {id: part}\nseq:\n- {id: x, type: u1\n")
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be, imports: [part]}\nseq:\n- {id: a, type: part}\n- {id: b, type: part::q}\n"
        "- {id: k, type: u1, enum: 'part::e'}\n- {id: c, size: 1, type: {switch-on: k, cases: {'part::e::v': part}}}\n"
        "instances: {d: {value: a.as<part::q>.x}}\n"
    )
    with pytest.raises(SchemaError) as caught:
        load(tmp_path)
    first, *others = (each.text for each in caught.value.problems)
    assert first.startswith("not YAML")
    assert len(others) == 6 and all("is in a file with problems, which are named" in each for each in others)


# What people write who know other languages, or Kaitai's from memory: line:column, message, hint.
ENUM = "enums:\n  kind: {0: ping, 1: pong}\n"
TWO = "seq:\n- {id: a, type: u1, enum: kind}\n- id: b\n  type: u1\n  if: "
TEXTS = "seq:\n- {id: a, type: str, size: 3, encoding: ASCII}\n- id: b\n  type: u1\n  if: "
BY_KIND = (
    "seq:\n- {id: a, type: u1, enum: kind}\n- id: b\n  type:\n    switch-on: a\n    cases:\n      ping: u1\n"
)
USUAL: dict[str, tuple[str | dict[str, str], str, str, str]] = {
    "&&": (TWO + "a > 1 && a < 3\n", "8:7", "there is no `&&`", "did you mean `and`?"),
    "||": (TWO + "a > 1 || a < 3\n", "8:7", "there is no `||`", "did you mean `or`?"),
    "!": (TWO + "'!(a == 1)'\n", "8:7", "there is no `!`", "did you mean `not`?"),
    "! without quotes": (TWO + "!a\n", "8:7", "`!a` begins a tag of YAML", "`not`"),
    "===": (TWO + "a === 1\n", "8:7", "there is no `===`", "did you mean `==`?"),
    "=": (TWO + "a = 1\n", "8:7", "there is no `=`", "did you mean `==`?"),
    "<>": (TWO + "a <> 1\n", "8:7", "there is no `<>`", "did you mean `!=`?"),
    "**": ("seq:\n- {id: a, size: 2 ** 3}\n", "5:17", "there is no `**`", "1 << n"),
    "AND": (TWO + "a > 1 AND a < 3\n", "8:7", "`AND` was not expected here", "did you mean `and`?"),
    "NOT": (TWO + "NOT a\n", "8:7", "`a` was not expected here", "did you mean `not`?"),
    "True": (TWO + "a == True\n" + ENUM, "8:7", "unknown name `True`", "did you mean `true`?"),
    "null": (TWO + "a != null\n" + ENUM, "8:7", "unknown name `null`", "there is no null"),
    "enum value alone": (TWO + "a == ping\n" + ENUM, "8:7", "unknown name `ping`", "did you mean `kind::ping`?"),
    "enum value with a dot": (TWO + "a == kind.ping\n" + ENUM, "8:7", "unknown name `kind`", "`kind::ping`"),
    "enum value alone as a case": (BY_KIND + ENUM, "10:7", "unknown name `ping`", "did you mean `kind::ping`?"),
    "enum value alone as a case, in layouts": ("-topic: t\n" + BY_KIND + ENUM, "11:7", "case `ping` is neither a number nor an enum value", "did you mean `kind::ping`?"),
    "text without quotes": (TEXTS + "a == abc\n", "8:7", "unknown name `abc`", "quotes inside the expression: '\"abc\"'"),
    "text without its own quotes": (TEXTS + '"a == abc"\n', "8:7", "unknown name `abc`", "quotes inside the expression"),
    "text without quotes in valid": ("seq:\n- {id: a, type: str, size: 4, encoding: ASCII, valid: IHDR}\n", "5:55", "unknown name `IHDR`", "'\"IHDR\"'"),
    "expression that begins with a quote": (TEXTS + '"abc" == a\n', "8:13", "not YAML", "quotes around all of it"),
    "quote that does not end": (TEXTS + 'a == "abc\n', "8:7", 'cannot read `"abc`', "closing quote"),
    "colon without quotes": ("seq:\n- id: a\n  size: 1 == 1 ? 2 : 3\n", "6:20", "not YAML", "quotes around all of it"),
    "tab": ("seq:\n\t- id: a\n", "5:1", "not YAML", "indent with spaces"),
    "missing encoding": ("seq:\n- {id: a, type: str, size: 3}\n", "5:17", "the text has no encoding", "meta/encoding"),
    "utf-32": ("seq:\n- {id: a, type: str, size: 4, encoding: utf-32}\n", "5:17", "encoding `utf-32`", "UTF-32LE or UTF-32BE"),
    "a key that needs layouts": ("seq:\n- {id: a, type: u1, -default: 3}\n- {id: b, type: strz, encoding: UTF-8}\n", "6:17", "`strz` is not supported", "`-default` in line 5 is only for layouts"),
    "versions of null": ("seq:\n- {id: a, type: u1, -versions: 2+}\n", "5:21", "unknown extension key `-versions`", "`-nullable: 2+` for those in which it may be null"),
    "misspelled encoding": ("seq:\n- {id: a, type: str, size: 4, encoding: UFT-8}\n", "5:17", "encoding `UFT-8`", "`UTF-8`"),
    "ks-version of the future": ({"x.ksy": "meta: {id: x, ks-version: 99}\n"}, "1:27", "needs a newer Kaitai Struct", "0.11"),
    "ks-version that is none": ({"x.ksy": "meta: {id: x, ks-version: 0.7f}\n"}, "1:27", "`ks-version: 0.7f` is not a version", "0.11"),
    "size: eos": ("seq:\n- {id: a, size: eos}\n", "5:17", "unknown name `eos`", "`size-eos: true`"),
    "repeat: 5": ("seq:\n- {id: a, type: u1, repeat: 5}\n", "5:29", "`repeat: 5` is not supported", "`repeat-expr: 5`"),
    "repeat-expr alone": ("seq:\n- {id: a, type: u1, repeat-expr: 5}\n", "5:3", "go together", "add `repeat: expr`"),
    "string": ("seq:\n- {id: a, type: string}\n", "5:17", "unknown type `string`", "str, with `size` and `encoding`"),
    "int": ("seq:\n- {id: a, type: int}\n", "5:17", "unknown type `int`", "s4"),
    "uint8": ("seq:\n- {id: a, type: uint8}\n", "5:17", "unknown type `uint8`", "u1"),
    "u24": ("seq:\n- {id: a, type: u24}\n", "5:17", "unknown type `u24`", "b24"),
    "u1[4]": ("seq:\n- {id: a, type: 'u1[]'}\n", "5:17", "type `u1[]`", "`repeat: expr`"),
    "big": ({"x.ksy": "meta: {id: x, endian: big}\n"}, "1:23", "`endian: big` is not supported", "did you mean `be`?"),
    "camel case": ("seq:\n- {id: fooBar, type: u1}\n", "5:3", "`fooBar` is not a name", "lower_snake_case: foo_bar"),
    "key of meta misspelled": ({"x.ksy": "meta: {id: x, endain: le}\n"}, "1:15", "unknown key `endain`", "did you mean `endian`?"),
    "key of meta of another case": ({"x.ksy": "meta: {id: x, Endian: le}\n"}, "1:15", "unknown key `Endian`", "did you mean `endian`?"),
    "key of meta with _": ({"x.ksy": "meta: {id: x, file_extension: le}\n"}, "1:15", "unknown key", "did you mean `file-extension`?"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", USUAL)
def test_usual_mistakes_have_a_hint(mistake: str, problems: Find) -> None:
    schema, place, text, hint = USUAL[mistake]
    expect(problems(schema), place, text, hint)


OTHERS = """meta:
  id: x
  imhex: {pattern: x.hexpat}
  author: somebody
  -webide-layout: wide
  -tool: 3
seq:
- {id: a, type: str, size: 1, encoding: utf8, -webide-parse-mode: eager, -imhex-color: red, -vendor-key: 1}
- {id: b, type: str, size: 1, encoding: utf-8}
"""


def test_keys_of_other_tools_are_noted_and_ignored(tmp_path: Path) -> None:
    """A schema with them generates what it generates without them."""
    notes: list[SchemaProblem] = []
    (tmp_path / "x.ksy").write_text(OTHERS)
    with_them = render_all(tmp_path, targets=["python"], notes=notes).modules["x.py"]
    assert [(at(each), each.severity, each.text) for each in sorted(notes)] == [
        ("3:3", "note", "`imhex` is a key of another tool, and ignored"),
        ("4:3", "note", "`author` is a key of another tool, and ignored"),
        ("6:3", "note", "`-tool` is a key of another tool, and ignored"),
        ("8:17", "note", "encoding `utf8` is read as UTF-8; other tools may refuse it"),
    ]
    assert sorted(notes)[-1].hint == "did you mean `UTF-8`?"
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x}\nseq:\n- {id: a, type: str, size: 1, encoding: UTF-8}\n"
        "- {id: b, type: str, size: 1, encoding: UTF-8}\n"
    )
    without = render_all(tmp_path, targets=["python"]).modules["x.py"]
    assert with_them.splitlines()[1:] == without.splitlines()[1:]


def test_what_takes_writers_from_languages_is_noted(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq: [{id: a, type: u2}]\ninstances:\n  b: {pos: 0, type: u1}\n"
    )
    (tmp_path / "y.ksy").write_text("meta: {id: y, endian: be}\nseq: [{id: a, type: u2}]\n")
    notes: list[SchemaProblem] = []
    render_all(tmp_path, targets=["python", "java", "rust"], notes=notes)
    assert [(at(each), each.severity, each.path, each.text) for each in notes] == [
        (
            "4:12",
            "note",
            "x",
            "it cannot have a writer in Java or Rust, as it is read from streams: "
            "x.b: a parse instance at this `pos` is not supported",
        )
    ]
    notes.clear()
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq: [{id: a, type: u2}, {id: c, type: c(_io)}]\n"
        "types: {c: {params: [{id: i, type: io}], seq: [{id: d, type: u1, if: i.size > 2}]}}\n"
    )
    render_all(tmp_path, targets=["python", "go", "typescript"], notes=notes)
    found = [(each.severity, each.path, each.text) for each in notes]
    assert found == [
        ("note", "x.c", f"it cannot be written to streams in {language}: a stream is a parameter")
        for language in ("Go", "TypeScript")
    ]
    notes.clear()
    render_all(tmp_path, targets=["python"], notes=notes)
    assert not notes


def test_all_problems_of_all_files_are_reported_together(problems: Find, golden: Golden) -> None:
    found = problems(
        {
            "a.ksy": "meta: {id: a}\nseq:\n- {id: p, type: nope}\n- {id: q, type: u2}\n",
            "inner/b.ksy": "meta: {id: b}\nseq:\n- {id: p, type: u1, -derived: x}\n",
        }
    )
    assert [(p.place.file, p.place.line, p.path) for p in found] == [
        ("schemas/a.ksy", 3, "a.p"),
        ("schemas/a.ksy", 4, "a.q"),
        ("schemas/inner/b.ksy", 3, "b.p"),
    ]
    text = str(SchemaError(found))
    golden(text)
    assert text.endswith("3 problems in 2 files; nothing was written")


FILES: dict[str, tuple[dict[str, str], str]] = {
    "two files with one id": ({"x.ksy": "meta: {id: x}\n", "y/x.ksy": "meta: {id: x}\n"}, "two files have the id"),
    "imports that are a mapping": ({"x.ksy": "meta: {id: x, imports: {y: 1}}\n"}, "`imports` must be a list"),
    "no id": ({"x.ksy": "seq: []\n"}, "the schema has no id"),
    "empty file": ({"x.ksy": ""}, "the file is empty"),
    "missing import": ({"x.ksy": "meta: {id: x, imports: [y]}\n"}, "there is no y.ksy"),
    "import outside the folder": ({"x.ksy": "meta: {id: x, imports: [../y]}\n", "../y.ksy": "meta: {id: y}\n"}, "there is no ../y.ksy in the schema folder"),
    "type that is not imported": ({"x.ksy": "meta: {id: x}\nseq:\n- {id: a, type: y}\n", "y.ksy": "meta: {id: y}\n"}, "unknown type `y`"),
    "circle of imports": (
        {"x.ksy": "meta: {id: x, imports: [y]}\ntypes:\n  a: {seq: [{id: b, type: 'y::b'}]}\n  c: {seq: [{id: d, type: u1}]}\n",
         "y.ksy": "meta: {id: y, imports: [x]}\ntypes:\n  b: {seq: [{id: c, type: 'x::c'}]}\n"},
        "would import each other"),
    "folder and file of one name": ({"x.ksy": "meta: {id: x}\nseq: [{id: a, type: u1}]\n", "x/y.ksy": "meta: {id: y}\nseq: [{id: a, type: u1}]\n"}, "there is a folder beside x.ksy"),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_wrong_files_are_named(case: str, problems: Find) -> None:
    schemas, text = FILES[case]
    assert any(text in problem.text for problem in problems(schemas))


def test_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    with pytest.raises(SchemaError, match=r"no \.ksy file in this folder"):
        generate(tmp_path / "schemas", tmp_path / "out")


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_bytes(b"meta: {id: x}\ndoc: \xff\n")
    with pytest.raises(SchemaError, match=r"x\.ksy:1:1: not UTF-8: byte 19"):
        generate(tmp_path, tmp_path / "out")


VALUES = ("[1, {a: b}]", "{a: [1, null]}", "3", "true", "null", "1.5", "word", '""')


@pytest.mark.parametrize("value", VALUES)
def test_a_message_shows_what_the_schema_says(value: str, tmp_path: Path) -> None:
    """Each key with each value, in one schema for each kind of mapping: no problem speaks of the generator."""
    said = ""
    for kind, keys in KEYS.items():
        for key in sorted(keys.plain | keys.own):
            here = f"{{{key}: {value}}}"
            schema = {
                "meta": f"meta: {{id: x, endian: be, {key}: {value}}}\nseq: []\n",
                "schema": f"meta: {{id: x}}\n{key}: {value}\n",
                "type": f"meta: {{id: x}}\ntypes: {{t: {here}}}\n",
                "field": f"meta: {{id: x}}\nseq: [{here}]\n",
                "parameter": f"meta: {{id: x}}\nparams: [{here}]\n",
                "instance": f"meta: {{id: x}}\ninstances: {{i: {here}}}\n",
                "enum value": f"meta: {{id: x}}\nenums: {{e: {{0: {here}}}}}\n",
                "switch": f"meta: {{id: x}}\nseq: [{{id: a, type: {here}}}]\n",
                "column of a -row": f"meta: {{id: x}}\n-row: {{columns: [{here}]}}\n",
                "bound of a -row": f"meta: {{id: x}}\n-row: {{bounds: {{a: {here}}}}}\n",
                "tag": f"meta: {{id: x}}\nseq: [{{id: a, type: u1, -tags: {{0: {here}}}}}]\n",
                "-row": f"meta: {{id: x}}\n-row: {here}\n",
                "-versions": f"meta: {{id: x}}\n-versions: {here}\n",
            }.get(kind, f"meta: {{id: x}}\nseq: [{{id: a, type: u1, {kind}: {here}}}]\n")
            (tmp_path / "x.ksy").write_text(schema)
            try:
                generate(tmp_path, tmp_path / "out", check=True)
            except SchemaError as error:
                said += str(error)
    assert "x.ksy" in said
    for ours in ("Node(", "Place(", "Literal(", "Name(", "Text(", "object at"):
        assert ours not in said


@pytest.mark.parametrize(
    "deep",
    [
        "[" * 9000 + "]" * 9000,
        "{a: " * 9000 + "1" + "}" * 9000,
        "\n" + "- " * 9000 + "1",
        *(each * (400_000 // len(each)) for each in ("[", "{", "[\n", "[ ?", "[? ", "{a: ")),
    ],
    ids=lambda deep: f"{deep[:5]!r} {len(deep)}",
)
def test_yaml_of_any_depth(deep: str, tmp_path: Path) -> None:
    """100 kB of brackets took minutes: the depth was checked after all was composed, and a search for question
    marks went from each bracket to the end."""
    (tmp_path / "x.ksy").write_text(f"meta: {{id: x}}\ndoc: {deep}\n")
    with pytest.raises(SchemaError, match="nesting deeper than 64"):
        generate(tmp_path, tmp_path / "out")


def test_dynamic_tagged_section(problems: Find) -> None:
    found = problems(
        "seq:\n- {id: n, type: u1}\n- {id: tags, type: section, if: n > 0}\ntypes:\n"
        "  section:\n    -wire: tags\n    seq:\n    - {id: num, type: u1}\n    - {id: fields, type: entry, repeat: expr, repeat-expr: num}\n"
        "  entry:\n    seq:\n    - {id: tag, type: u1}\n    - {id: len_body, type: u1}\n    - {id: body, size: len_body}\n"
    )
    expect(found, "6:33", "a tagged section cannot depend on what was read", "")


STAGES = """-topic: t
-flexible: none
seq:
- {id: a, type: nope}
- {id: a2, type: u1, if: a == 1}
- {id: b, size: sise}
- {id: c, type: u1, if: 1}
- {id: n, type: s1}
- {id: d, size: n - 200}
- {id: e, type: u1, -derived: x}
- {id: f, type: strz, encoding: ASCII}
- {id: g, type: f4, enum: kind}
- {id: h, type: u1, -derive: length_of(zz)}
- {id: i, type: u1, repeat: until, repeat-until: _ == 0}
- {id: j, size: -1}
types:
  t:
    -versions: 0-2
    seq:
    - {id: version, type: u1, valid: {max: 1}}
    - {id: k, type: u1, -since: 2}
  u:
    seq:
    - {id: m, type: u1, -default: 256}
    - {id: o, size: m - 1}
enums:
  kind: {0: none}
"""


def test_problems_of_all_kinds_are_reported_together(problems: Find, golden: Golden) -> None:
    """What needs something wrong is not blamed for it, as `a2` and `o`."""
    found = [f"{at(p)} {p.path}: {p.text}" for p in problems(STAGES)]
    golden(found)


def test_an_unknown_key_of_meta_hides_nothing(problems: Find, golden: Golden) -> None:
    found = problems({"x.ksy": "meta: {id: x, titel: 1}\nseq:\n- {id: a, terminator: 0, if: 1}\n"})
    golden([f"{at(p)} {p.text}" for p in found])


def chain(count: int, last: str = "") -> str:
    """Types that hold each other, the last one what is said."""
    inner = [f"{{id: a, type: t{index + 1}, if: n > 0}}" for index in range(count - 1)] + [last]
    types = [f"  t{index}: {{seq: [{{id: n, type: u1}}, {each}]}}\n" for index, each in enumerate(inner)]
    return "seq: [{id: a, type: t0}]\ntypes:\n" + "".join(types)


def test_types_that_are_in_each_other_too_deep(problems: Find, tmp_path: Path, golden: Golden) -> None:
    circle = "{id: a, type: t0, if: n > 0}"
    for index, text in enumerate((chain(99), chain(200, circle))):
        (tmp_path / str(index)).mkdir()
        (tmp_path / str(index) / "x.ksy").write_text("meta: {id: x}\n" + text)
        assert "class T98(" in render_all(tmp_path / str(index)).modules["x.py"]
    (found,) = problems(chain(150))
    golden(found.text)
    (found,) = problems(chain(1500, circle))
    golden(found.text)


DOUBLED = "".join(f"  i{index + 1}: {{value: i{index} + i{index}}}\n" for index in range(400))
LONGER = "".join(f"  i{index}: {{value: i{index + 1} + 1}}\n" for index in reversed(range(1, 400)))


@pytest.mark.parametrize(
    ("chain", "first"), [(DOUBLED, "x.i12"), (LONGER + "  i400: {value: n}\n", "x.i325")]
)
@pytest.mark.parametrize("key", ["", "-topic: t\n"])
def test_instances_that_use_each_other_too_often(key: str, chain: str, first: str, problems: Find) -> None:
    """Each would be computed for each use, and for each use of what uses it."""
    schema = f"{key}seq:\n- {{id: n, type: u1}}\n- {{id: z, size: i1}}\ninstances:\n  i0: {{value: n}}\n"
    found = problems(schema + chain)
    assert {"too long with the instances that it uses"} == {each.text for each in found}
    assert first in {each.path for each in found}


def test_calls_in_each_other_are_looked_at_once_each(codec: Codec) -> None:
    text = "n"
    for _ in range(20):
        text = f'({text}.to_s + "1").length()'
    x = codec(f"seq:\n- {{id: n, type: u1}}\n- {{id: a, size: '{text}'}}\n")
    assert x.X.from_bytes(b"\1ab").a == b"ab"


@pytest.mark.parametrize("key", ["", "-topic: t\n"])
def test_operations_in_each_other(key: str, problems: Find, codec: Codec, golden: Golden) -> None:
    schema = key + "seq:\n- {id: n, type: u1}\n- {id: a, size: 'N'}\n"
    text = "n" + " - 0" * 109
    assert codec(schema.replace("N", text)).X.from_bytes(b"\2ab").a == b"ab"
    (found,) = problems(schema.replace("N", f"{text} - 0"))
    golden(found.text)


@pytest.mark.parametrize("key", ["", "-topic: t\n"])
def test_a_long_sum_does_not_nest_but_of_real_numbers(key: str, problems: Find, codec: Codec) -> None:
    schema = key + "seq:\n- {id: n, type: u1}\n- {id: r, type: f8}\n- {id: a, size: 'N'}\n"
    text = " + ".join(["n"] * 5000)
    assert codec(schema.replace("N", text)).X.from_bytes(b"\1" + bytes(5008)).a == bytes(5000)
    (found,) = problems(f"{schema.replace('N', 'n')}instances:\n  v: {{value: {text[:1600]}r}}\n")
    assert "a sum of real numbers has at most 110 parts" in found.text and len(found.text) < 300
    (found,) = problems(schema.replace("N", f"{text} + zz"))
    assert "zz" in found.text and len(found.text) < 300


ROWS_BESIDE = """meta: {id: x, endian: be}
seq:
- {id: rows, type: r, repeat: eos}
- {id: a, type: nope}
types:
  r:
    -row: {columns: [b, zz], unless: yy == 1}
    seq:
    - {id: b, type: u1}
    - {id: c, size: ww}
"""


def test_rows_names_and_kernels_are_looked_at_beside_what_is_wrong(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "x.ksy").write_text(ROWS_BESIDE)
    (tmp_path / "y.ksy").write_text("meta: {id: y}\nseq: [{id: a, type: u1}]\n")
    (tmp_path / "z.ksy").write_text("meta: {id: z, imports: [x]}\nseq: [{id: a, type: x}]\n")
    with pytest.raises(SchemaError) as caught:
        generate(tmp_path, tmp_path / "out", kernels=("x", "y", "z"))
    found = [f"{Path(p.place.file).name}:{at(p)} {p.path}: {p.text}" for p in caught.value.problems]
    golden(found)


def test_a_message_shows_the_start_of_a_long_expression(problems: Find, golden: Golden) -> None:
    (found,) = problems(f"seq:\n- {{id: a, size: {'9' * 500}}}\n")
    golden(found.text)


def separate(row: str) -> dict[str, Any]:
    schema = WRONG[row][0] if row in WRONG else UNSUPPORTED[row][0]
    return yaml.safe_load(schema) if isinstance(schema, str) else {}


NOT_JOINED = (
    "number with a _ at its end",
    "duplicate key",
    "alias",
    "not YAML",
    "deep nesting",
    "no byte order",
    "types is no mapping",
)
JOINED = [row for row in WRONG if row not in NOT_JOINED and not row.startswith("Python")]


def said(schema: dict[str, Any], tmp_path: Path) -> set[str]:
    """The problems of a schema, without what is where."""
    (tmp_path / "x.ksy").write_text(yaml.safe_dump(schema, sort_keys=False))
    with pytest.raises(SchemaError) as caught:
        load(tmp_path)
    return {re.sub(r"::other|known: .*|in line .*", "", f"{p.text} {p.hint}") for p in caught.value.problems}


@pytest.mark.parametrize("first", JOINED)
def test_one_mistake_hides_no_other(first: str, tmp_path: Path) -> None:
    """Two mistakes in types of one file: both are reported as each alone is, and nothing else."""
    head = {"meta": {"id": "x", "endian": "be"}, "-topic": "t"}
    chance = random.Random(first)
    for second in chance.sample(JOINED, 3):
        one, other = separate(first), separate(second)
        alone = said(head | one, tmp_path) | said(head | other, tmp_path)
        both = head | one | {"types": {**one.get("types", {}), "other": other}}
        assert said(both, tmp_path) == alone, second


def test_a_count_of_what_is_never_there(problems: Callable[..., list[SchemaProblem]], golden: Golden) -> None:
    schema = (
        "seq:\n- {id: n, type: u1, -derive: count_of(all)}\n"
        "- {id: all, type: u1, repeat: expr, repeat-expr: n, if: 'false'}\n"
    )
    (found,) = problems(schema)
    golden(found.text)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("seq:\n" + "- {id: a, type: u1}\n" * 5000, "more than 4096 in `seq`"),
        ("seq: [{id: a, type: u1}]\ninstances:\n" + "".join(f"  i{n}: {{value: 1}}\n" for n in range(4097)), "more than 4096 in `instances`"),
        ("seq: [{id: a, type: u1}]\n" + "# comment\n" * 104_858, "the file is larger than 1048576 bytes"),
    ],
    ids=["fields", "instances", "bytes"],
)  # fmt: skip
def test_schemas_that_are_too_large(text: str, wanted: str, problems: Find) -> None:
    assert any(wanted in str(each) for each in problems(text))


def test_what_is_no_file(tmp_path: Path) -> None:
    """A FIFO would wait for ever."""
    os.mkfifo(tmp_path / "a.ksy")
    (tmp_path / "b.ksy").mkdir()
    with pytest.raises(SchemaError) as caught:
        load(tmp_path)
    assert [each.text for each in caught.value.problems] == ["not a regular file"] * 2
