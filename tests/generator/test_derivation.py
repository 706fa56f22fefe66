"""What a writer of a streamed schema computes: lengths, counts, positions, flags, checksums; or refuses by name."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import hashlib
import struct
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.writer import Writer
from kodec.generator.driver import load, render_all
from kodec.generator.plan.build import program_of
from kodec.generator.plan.streams import streams_of
from kodec.generator.problems import SchemaError, SchemaProblem
from kodec.generator.schema.expression_types import Kinds
from kodec.runtime.checksums import CHECKSUMS
from kodec.runtime.errors import CrcMismatch, EncodeError, FormatError, Malformed
from kodec.runtime.fields import ReadOptions

Codec = Callable[..., ModuleType]
Find = Callable[..., list[SchemaProblem]]

# a construct that only streams have
Z = "- {id: z, terminator: 0}\n"


@dataclass(frozen=True)
class Case:
    """A schema, a new object, an edit of it as it is read back, and the bytes of both."""

    schema: str
    new: str
    data: bytes
    edit: str
    edited: bytes


CASES: dict[str, Case] = {
    "a tag, by the type of the object": Case(
        "seq:\n- {id: tag, type: u1}\n- {id: body, type: {switch-on: tag & 0x7f, cases: {1: p, 2: q, 3: p_of_more, _: bytes_}}}\n" + Z + "types:\n  p: {seq: [{id: b, type: u2}]}\n  q: {seq: [{id: c, type: u1}]}\n  p_of_more: {seq: [{id: b, type: u4}]}\n  bytes_: {seq: [{id: d, type: u1}]}\n",
        "x.X(tag=0x80, body=x.Q(c=5), z=b'')", b"\x82\5\0",
        "r.body = x.P(b=7)", b"\x81\0\7\0",
    ),
    "tags that are texts and enums, in a list": Case(
        "seq:\n- {id: l, type: item, repeat: expr, repeat-expr: 2}\n- {id: kind, type: u1, enum: e}\n- {id: m, type: {switch-on: kind, cases: {'e::one': p, 'e::two': q}}}\n" + Z + "types:\n  item: {seq: [{id: tag, type: str, size: 2, encoding: ASCII}, {id: n, type: u1}, {id: body, size: n, type: {switch-on: tag, cases: {'\"pp\"': p, '\"qq\"': q}}}]}\n  p: {seq: [{id: b, type: u2}]}\n  q: {seq: [{id: c, type: u1}]}\nenums: {e: {1: one, 2: two}}\n",
        "x.X(l=[x.Item(body=x.P(b=1)), x.Item(body=x.Q(c=2))], m=x.Q(c=9), z=b'')", b"pp\2\0\1qq\1\2\2\x09\0",
        "r.l.reverse(); r.l[0].body, r.m = x.P(b=3), x.P(b=4)", b"pp\2\0\3pp\2\0\1\1\0\4\0",
    ),
    "a length": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n}\n" + Z,
        "x.X(a=b'abc', z=b'')", b"\x03abc\0",
        "r.a = b'longer'", b"\x06longer\0",
    ),
    "arithmetic with one unknown": Case(
        "seq:\n- {id: n, type: u1}\n- {id: m, type: u1}\n- {id: k, type: u1}\n- {id: a, size: n - 6}\n- {id: b, size: m * 4}\n- {id: c, size: 1 << 1 + (k >> 2)}\n".replace("1 << 1 + (k >> 2)", "(k >> 2) + 1") + Z,
        "x.X(a=b'abc', b=b'abcd', c=b'xy', z=b'')", b"\x09\x01\x04abcabcdxy\0",
        "r.a, r.b, r.c, r.k = b'', b'', b'xyz', 7", b"\x06\x00\x0bxyz\0",
    ),
    "bits of a number keep the others": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: (n & 15) * 2}\n" + Z,
        "x.X(n=0x50, a=b'abcd', z=b'')", b"\x52abcd\0",
        "r.a = b'ab'", b"\x51ab\0",
    ),
    "a number in two parts": Case(
        "seq:\n- {id: h, type: u1}\n- {id: l, type: u1}\n- {id: a, size: l + (h << 8)}\n" + Z,
        "x.X(a=b'a', z=b'')", b"\0\1a\0",
        "r.a = bytes(258)", b"\1\2" + bytes(258) + b"\0",
    ),
    "a count": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, type: u1, repeat: expr, repeat-expr: n - 1}\n" + Z,
        "x.X(a=[7], z=b'')", b"\x02\x07\0",
        "r.a += [8, 9]", b"\x04\x07\x08\x09\0",
    ),
    "a count in an object that stands behind": Case(
        "seq:\n- {id: a, type: u1, repeat: expr, repeat-expr: h.n}\n" + Z + "instances:\n  h: {pos: 4, type: h}\ntypes:\n  h: {seq: [{id: n, type: u1}]}\n",
        "given(x.X(a=[1, 2], z=b''), h=x.H())", b"\1\2\0\0\2",
        "r.h.n, r.a = None, [7]", b"\7\0\0\0\1",
    ),
    "nested sizes, computed from the inside": Case(
        "seq:\n- {id: n, type: u2}\n- {id: a, size: n, type: p}\n" + Z + "types:\n  p: {seq: [{id: k, type: u1}, {id: b, size: k, type: q}]}\n  q: {seq: [{id: c, type: u1}, {id: d, type: u1, repeat: expr, repeat-expr: c}]}\n",
        "x.X(a=x.P(b=x.Q(d=[5])), z=b'')", b"\0\3\2\1\5\0",
        "r.a.b.d.append(6)", b"\0\4\3\2\5\6\0",
    ),
    "a length of the parent, and of the grandparent": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, type: p}\n" + Z + "types:\n  p: {seq: [{id: m, type: u1}, {id: b, type: q}]}\n  q: {seq: [{id: c, size: _parent.m}, {id: d, size: _parent._parent.n}, {id: e, size: _root.n}]}\n",
        "x.X(a=x.P(b=x.Q(c=b'ab', d=b'x', e=b'y')), z=b'')", b"\1\2abxy\0",
        "r.a.b.c, r.a.b.d, r.a.b.e = b'', b'xx', b'yy'", b"\2\0xxyy\0",
    ),
    "a length that is a parameter": Case(
        "seq:\n- {id: h, type: h}\n- {id: a, type: p(h.n - 1)}\n" + Z + "types:\n  h: {seq: [{id: n, type: u1}]}\n  p: {params: [{id: k, type: u1}], seq: [{id: b, size: k * 2}]}\n",
        "x.X(h=x.H(), a=x.P(k=0, b=b'abcd'), z=b'')", b"\3abcd\0",
        "r.a.b = b'ab'", b"\2ab\0",
    ),
    "a length that is computed by an instance": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: len}\n" + Z + "instances:\n  len: {value: words * 2}\n  words: {value: n - 1}\n",
        "x.X(a=b'abcd', z=b'')", b"\3abcd\0",
        "r.a = b'ab'", b"\2ab\0",
    ),
    "lengths in a list": Case(
        "seq:\n- {id: n, type: u1}\n- {id: s, type: u1, repeat: expr, repeat-expr: n}\n- {id: a, size: 's[_index]', repeat: expr, repeat-expr: n}\n" + Z,
        "x.X(a=[b'a', b'bc'], z=b'')", b"\2\1\2abc\0",
        "r.a[0], r.s = b'xyz', None", b"\2\3\2xyzbc\0",
    ),
    "one that something else determines is not changed": Case(
        "seq:\n- {id: total, type: u1}\n- {id: words, type: u1}\n- {id: o, size: words * 4}\n- {id: a, size: total - words * 4 - 2}\n" + Z,
        "x.X(o=b'1234', a=b'abc', z=b'')", b"\x09\x011234abc\0",
        "r.o, r.a = b'', b'abcd'", b"\x06\x00abcd\0",
    ),
    "a shift": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n << 2}\n- {id: m, type: u1}\n- {id: b, size: -m + 10}\n" + Z,
        "x.X(a=b'abcd', b=b'xyz', z=b'')", b"\1abcd\7xyz\0",
        "r.a, r.b = bytes(8), b''", b"\2" + bytes(8) + b"\x0a\0",
    ),
    "one of two lengths, by a condition": Case(
        "seq:\n- {id: n, type: u1}\n- {id: m, type: u2, if: n == 255}\n- {id: a, size: 'n == 255 ? m : n'}\n" + Z,
        "x.X(a=b'abc', z=b'')", b"\3abc\0",
        "r.n, r.m, r.a = 255, 0, bytes(300)", b"\xff\x01\x2c" + bytes(300) + b"\0",
    ),
    "after compression": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, process: zlib}\n" + Z,
        "x.X(a=b'abc' * 9, z=b'')", bytes([len(zlib.compress(b"abc" * 9))]) + zlib.compress(b"abc" * 9) + b"\0",
        "r.a = b''", bytes([len(zlib.compress(b""))]) + zlib.compress(b"") + b"\0",
    ),
    "with padding": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, pad-right: 0x20}\n" + Z,
        "x.X(n=4, a=b'ab', z=b'')", b"\4ab  \0",
        "r.a = b'abcdef'", b"\6abcdef\0",
    ),
    "after a process": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, process: xor(7)}\n" + Z,
        "x.X(a=b'ab', z=b'')", b"\2fe\0",
        "r.a = b'abc'", b"\3fed\0",
    ),
    "digits": Case(
        "seq:\n- {id: n, type: str, size: 4, encoding: ASCII}\n- {id: m, type: str, size: 3, encoding: ASCII}\n- {id: a, size: n.to_i}\n- {id: b, size: m.to_i(8)}\n" + Z,
        "x.X(n='0000', m='000', a=b'abc', b=b'12345678', z=b'')", b"0003" + b"010" + b"abc12345678\0",
        "r.a = bytes(12)", b"0012010" + bytes(12) + b"12345678\0",
    ),
    "text, with its terminator": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: strz, encoding: UTF-8}\n- {id: m, type: u1}\n- {id: b, size: m, type: str, encoding: UTF-16LE}\n",
        "x.X(a='ab', b='ä')", b"\3ab\0\2\xe4\0",
        "r.a, r.b = 'longer', ''", b"\7longer\0\0",
    ),
    "a flag": Case(
        "seq:\n- {id: f, type: u1}\n- {id: h, type: b1}\n- {id: i, type: b7}\n- {id: a, type: u1, if: h}\n- {id: b, type: u1, if: f & 4 != 0}\n" + Z,
        "x.X(f=0x11, i=3, a=1, z=b'')", b"\x11\x83\1\0",
        "r.a, r.b = None, 2", b"\x15\x03\2\0",
    ),
    "a field that is there where its length is not 0": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, if: n > 0}\n" + Z,
        "x.X(a=b'ab', z=b'')", b"\2ab\0",
        "r.a = None", b"\0\0",
    ),
    "a position": Case(
        "seq:\n- {id: o, type: u1}\n- {id: n, type: u1}\n" + Z + "instances:\n  a: {pos: o, size: n}\n",
        "given(x.X(z=b''), a=b'abc')", b"\4\3\0\0abc",
        "r.a = b'ab'", b"\4\2\0\0ab",
    ),
    "an instance that grows moves to the end": Case(
        "seq:\n- {id: o, type: u1, repeat: expr, repeat-expr: 2}\n- {id: n, type: u1, repeat: expr, repeat-expr: 2}\n" + Z + "instances:\n  a: {pos: 'o[0]', size: 'n[0]'}\n  b: {pos: 'o[1]', size: 'n[1]'}\n",
        "given(x.X(o=[8, 10], n=[2, 2], z=b''), a=b'ab', b=b'xy')", b"\x08\x0a\2\2\0\0\0\0abxy",
        "r.a = b'abcd'", b"\x10\x0a\4\2\0\0\0\0\0\0xy\0\0\0\0abcd",
    ),
    "a position of an object that moves": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n}\n- {id: b, type: p}\n- {id: o, type: u1}\n" + Z + "instances:\n  c: {pos: o, type: p}\ntypes:\n  p: {seq: [{id: q, type: u1}]}\n",
        "given(x.X(a=b'ab', b=x.P(q=9), o=3, z=b''))", b"\2ab\x09\3\0",
        "r.a = b'abcd'", b"\4abcd\x09\5\0",
    ),
    "an element before the others of an instance": Case(
        "seq:\n- {id: o, type: u1}\n- {id: n, type: u1}\n" + Z + "instances:\n  a: {pos: o, type: p, repeat: expr, repeat-expr: n}\ntypes:\n  p: {seq: [{id: q, type: u1}]}\n",
        "given(x.X(z=b''), a=[x.P(q=7)])", b"\4\1\0\0\7",
        "r.a = [x.P(q=8), *r.a]", b"\4\2\0\0\x08\7",
    ),
    "an instance that is an object of the list": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, type: p, repeat: expr, repeat-expr: n}\n- {id: o, type: u1}\n" + Z + "instances:\n  c: {pos: o, type: p}\ntypes:\n  p: {seq: [{id: k, type: u1}, {id: q, size: k}]}\n",
        "with_second(x.X(a=[x.P(q=b'ab'), x.P(q=b'c')], z=b''))", b"\2\2ab\1c\4\0",
        "r.a.pop(); r.c = r.a[0]", b"\1\2ab\1\0",
    ),
    "what stands in another stream": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: s}\n" + Z + "instances:\n  c: {io: a._io, pos: 1, size-eos: true}\ntypes:\n  s: {}\n",
        "x.X.from_bytes(b'\\3abc\\0')", b"\3abc\0",
        "r.c = b'longer'", b"\7alonger\0",
    ),
    "what reaches to the end of another stream, and shrinks": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: s}\n" + Z + "instances:\n  c: {io: a._io, pos: 1, size-eos: true}\ntypes:\n  s: {}\n",
        "x.X.from_bytes(b'\\3abc\\0')", b"\3abc\0",
        "r.c = b''", b"\1a\0",
    ),
    "the size of a stream": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: p}\n" + Z + "types:\n  p: {seq: [{id: b, size: _io.size - 2}, {id: c, type: u2}]}\n",
        "x.X(a=x.P(b=b'abc', c=1), z=b'')", b"\5abc\0\1\0",
        "r.a.b = b''", b"\2\0\1\0",
    ),
    "what is left of the stream before another field": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: _io.size - _io.pos - n}\n- {id: b, size: n}\n",
        "x.X(a=b'abc', b=b'xy')", b"\2abcxy",
        "r.a, r.b = b'longer', b'x'", b"\1longerx",
    ),
    "what is left of it, by an instance, within a size": Case(
        "seq:\n- {id: l, type: u1}\n- {id: p, size: l, type: p}\n" + Z + "types:\n  p: {seq: [{id: n, type: u1}, {id: a, size: left, type: q}, {id: b, size: n}], instances: {left: {value: _io.size - 1 - n}}}\n  q: {seq: [{id: c, size-eos: true}]}\n",
        "x.X(p=x.P(a=x.Q(c=b'abc'), b=b'xy'), z=b'')", b"\6\2abcxy\0",
        "r.p.a.c = b''", b"\3\2xy\0",
    ),
    "a count by the size of the stream": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, type: u2, repeat: expr, repeat-expr: (_io.size - _io.pos - n) / 2}\n- {id: b, size: n}\n",
        "x.X(a=[7], b=b'x')", b"\1\0\7x",
        "r.a += [8, 9]", b"\1\0\7\0\x08\0\x09x",
    ),
    "a text with padding in what is left of the stream": Case(
        "seq:\n- {id: a, size: _io.size - 1, pad-right: 0x20}\n- {id: b, type: u1}\n",
        "x.X(a=b'ab', b=1)", b"ab\1",
        "r.a = b'longer'", b"longer\1",
    ),
    "a text that was read without its terminator": Case(
        "seq:\n- {id: n, type: u1}\n- {id: m, type: u1}\n- {id: a, size: n, type: strz, encoding: UTF-8}\n- {id: b, size: m, type: strz, encoding: UTF-16LE}\n- {id: c, terminator: 0}\n",
        "x.X.from_bytes(b'\\2\\2ab' + 'ä'.encode('utf-16-le') + b'c\\0')", b"\2\2ab\xe4\0c\0",
        "r.a, r.b = 'longer', ''", b"\6\0longerc\0",
    ),
    "two texts without terminators of one size": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: strz, encoding: UTF-8}\n- {id: b, size: n, type: strz, encoding: UTF-8}\n",
        "x.X.from_bytes(b'\\2abcd')", b"\2abcd",
        "r.a = 'x'", b"\2x\0cd",
    ),
    "a text with its terminator behind it, at a position": Case(
        "seq:\n- {id: n, type: u1, repeat: expr, repeat-expr: 2}\n- {id: o, type: u1, repeat: expr, repeat-expr: 2}\ninstances:\n  str: {pos: 'o[0]', size: 'n[0]', type: strz, encoding: UTF-8}\n  next: {pos: 'o[1]', size: 'n[1]', type: strz, encoding: UTF-8}\n",
        "x.X.from_bytes(b'\\2\\2\\4\\7ab\\0xy\\0')", b"\2\2\4\7ab\0xy\0",
        "r.str_ = 'longer'", b"\6\2\x0c\7\0\0\0xy\0\0\0longer\0",
    ),
    "one that becomes shorter": Case(
        "seq:\n- {id: n, type: u1}\n- {id: o, type: u1}\n" + Z + "instances:\n  a: {pos: o, size: n, type: strz, encoding: UTF-8}\n",
        "x.X.from_bytes(b'\\3\\3\\0abc\\0')", b"\3\3\0abc\0",
        "r.a = 'x'", b"\1\3\0x\0",
    ),
    "a list before positions that shrinks": Case(
        "seq:\n- {id: n, type: u1}\n- {id: a, type: p, repeat: expr, repeat-expr: n}\ntypes:\n  p: {seq: [{id: o, type: u1}], instances: {b: {pos: o, size: 2}}}\n",
        "x.X.from_bytes(b'\\2\\4\\7-ab-cd-', exact=False)", b"\2\4\7-ab-cd-",
        "r.a.pop()", b"\1\4\0-ab-cd-",
    ),
    "groups of bits, the most significant first": Case(
        "seq:\n- {id: n, type: v}\n- {id: a, size: n.value}\n" + Z + "types:\n  v:\n    seq: [{id: g, type: g, repeat: until, repeat-until: not _.more}]\n    instances:\n      last: {value: g.size - 1}\n      value: {value: 'g[last].bits + (last >= 1 ? g[last - 1].bits << 7 : 0)'}\n  g: {seq: [{id: more, type: b1}, {id: bits, type: b7}]}\n",
        "x.X(n=x.V(), a=b'ab', z=b'')", b"\2ab\0",
        "r.a = bytes(200)", b"\x81\x48" + bytes(200) + b"\0",
    ),
    "a switch with a size": Case(
        "seq:\n- {id: t, type: u1}\n- {id: n, type: u1}\n- {id: a, size: n, type: {switch-on: t, cases: {1: p, 2: q}}}\n" + Z + "types:\n  p: {seq: [{id: b, terminator: 0}]}\n  q: {seq: [{id: k, type: u1}, {id: c, type: u1, repeat: expr, repeat-expr: k}]}\n",
        "x.X(t=1, a=x.P(b=b'ab'), z=b'')", b"\1\3ab\0\0",
        "r.t, r.a = 2, x.Q(c=[7, 8])", b"\2\3\2\7\x08\0",
    ),
    "-derive, in every form": Case(
        "seq:\n- {id: l, type: u1, -derive: length_of(a..b) + 1}\n- {id: n, type: u1, -derive: count_of(b)}\n- {id: a, terminator: 0}\n- {id: b, type: u1, repeat: until, repeat-until: _ == 0}\n- {id: p, type: u1, -derive: position_of(b)}\n- {id: s, type: u2, -derive: '{value: sum(l..s) & 0xffff, own: 0x20}'}\n".replace("'{value: sum(l..s) & 0xffff, own: 0x20}'", "{value: sum(l..s) & 0xffff, own: 0x20}"),
        "x.X(a=b'a', b=[1, 0])", b"\5\2a\0\1\0\4" + struct.pack(">H", 5 + 2 + 97 + 1 + 4 + 64),
        "r.b.insert(0, 3)", b"\6\3a\0\3\1\0\4" + struct.pack(">H", 6 + 3 + 97 + 4 + 4 + 64),
    ),
    "a checksum of what stands around": Case(
        "seq:\n- {id: h, type: h}\n- {id: a, terminator: 0}\ntypes:\n  h: {seq: [{id: c, type: u4, -derive: crc32(_parent.a)}]}\n",
        "x.X(h=x.H(), a=b'ab')", struct.pack(">I", zlib.crc32(b"ab\0")) + b"ab\0",
        "r.a = b'xyz'", struct.pack(">I", zlib.crc32(b"xyz\0")) + b"xyz\0",
    ),
    "a checksum over another": Case(
        "seq:\n- {id: c, size: 32, -derive: sha256(d..a)}\n- {id: d, type: u4, -derive: adler32(a)}\n- {id: a, terminator: 0}\n",
        "x.X(a=b'ab')", (tail := struct.pack(">I", zlib.adler32(b"ab\0")) + b"ab\0") and hashlib.sha256(tail).digest() + tail,
        "r.a = b''", (empty := struct.pack(">I", zlib.adler32(b"\0")) + b"\0") and hashlib.sha256(empty).digest() + empty,
    ),
}  # fmt: skip


def given(value: Any, **instances: Any) -> Any:
    for name, found in instances.items():
        setattr(value, name, found)
    return value


def with_second(value: Any) -> Any:
    return given(value, c=value.a[1])


NAMES = {"given": given, "with_second": with_second}


@pytest.mark.parametrize("name", CASES)
def test_what_is_missing_or_stale_is_computed(name: str, codec: Codec) -> None:
    case = CASES[name]
    x = codec(case.schema)
    made = eval(case.new, {"x": x, **NAMES})  # the cases above
    shown = repr(made)
    assert made.to_bytes() == case.data
    # nothing in the object changes
    assert repr(made) == shown and made.to_bytes() == case.data
    read = x.X.from_bytes(case.data)
    assert read.to_bytes() == case.data
    exec(case.edit, {"r": read, "x": x})
    assert read.to_bytes() == case.edited
    again = x.X.from_bytes(case.edited)
    assert again.to_bytes() == case.edited


PACK = "seq:\n- {id: n, type: u1}\n- {id: s, type: s, repeat: expr, repeat-expr: n}\ntypes:\n  s: {seq: [{id: o, type: u1, valid: {expr: _ %% 8 == 0}}, {id: l, type: u1}], instances: {b: {pos: o, size: l, -align: %s}}}\n"


def test_sections_stand_in_the_order_of_their_table_at_multiples(codec: Codec) -> None:
    x = codec(PACK % "{to: 8, fill: 0xee}")

    def section(text: str) -> Any:
        return given(x.S(), b=text.encode())

    def table(data: bytes) -> list[tuple[int, bytes]]:
        found = x.X.from_bytes(data).s
        assert x.X.from_bytes(data).to_bytes() == data
        return [(each.o, each.b) for each in found]

    made = x.X(s=[section("a"), section("bbbbbbbbbb"), section("ccc")])
    data = made.to_bytes()
    assert data == bytes([3, 8, 1, 16, 10, 32, 3]) + b"\xeea" + b"\xee" * 7 + b"b" * 10 + b"\xee" * 6 + b"ccc"
    read = x.X.from_bytes(data)
    # what becomes smaller, or moves, leaves nothing behind
    read.s[1].b = b"B"
    assert read.to_bytes() == data[:4] + b"\1" + data[5:16] + b"B" + b"\xee" * 15 + b"ccc"
    read.s[0].b = b"A" * 9
    grown = read.to_bytes()
    assert b"a" not in grown and b"b" not in grown
    assert table(grown) == [(40, b"A" * 9), (16, b"B"), (32, b"ccc")]
    # read again, with one more: the table takes the place of the first section, which is free
    read = x.X.from_bytes(grown)
    read.s.append(section("dd"))
    assert table(read.to_bytes()) == [(40, b"A" * 9), (16, b"B"), (32, b"ccc"), (56, b"dd")]
    read.s.pop(0)
    assert table(read.to_bytes()) == [(16, b"B"), (32, b"ccc"), (56, b"dd")]


@pytest.mark.parametrize(
    "pos, align, text",
    [
        ("16", "8", "`-align` has no effect: no field has its position"),
        ("n", "0", "`-align` is a number of bytes"),
        ("n", "{to: 8, fill: 256}", "`fill` must be a byte"),
        ("n", "{too: 8}", "did you mean `to`"),
    ],
)
def test_what_is_no_alignment_is_a_problem(
    pos: str, align: str, text: str, problems: Callable[..., Any]
) -> None:
    schema = f"seq: [{{id: n, type: u1}}]\ninstances: {{a: {{pos: {pos}, size: 2, -align: {align}}}}}\n"
    assert any(text in f"{each.text} {each.hint}" for each in problems(schema))


REFUSED: dict[str, tuple[str, str, str]] = {
    "a type with two cases": ("seq:\n- {id: t, type: u1}\n- {id: a, type: {switch-on: t, cases: {1: p, 2: p, 3: q}}}\n- {id: z, terminator: 0}\ntypes:\n  p: {seq: [{id: b, type: u1}]}\n  q: {seq: [{id: c, type: u2}]}\n", "x.X(a=x.P(b=1), z=b'')", "X.t"),
    "a type whose tag is fixed": ("seq:\n- {id: t, type: u1, valid: 3}\n- {id: a, type: {switch-on: t, cases: {1: p, 3: q}}}\n- {id: z, terminator: 0}\ntypes:\n  p: {seq: [{id: b, type: u1}]}\n  q: {seq: [{id: c, type: u2}]}\n", "x.X(a=x.P(b=1), z=b'')", "t: value not allowed"),
    "no whole multiple": ("seq:\n- {id: n, type: u1}\n- {id: a, size: n * 4}\n" + Z, "x.X(a=b'abc', z=b'')", "a: wrong size (need 0 bytes, have '3 bytes')"),
    "two unknowns": ("seq:\n- {id: n, type: u1}\n- {id: m, type: u1}\n- {id: a, size: n + m}\n" + Z, "x.X(n=1, m=1, a=b'abc', z=b'')", "a: wrong size, and it follows from `m` and `n`: set one of them to None"),
    "a length used twice": ("seq:\n- {id: n, type: u1}\n- {id: a, size: n}\n- {id: b, size: n}\n" + Z, "x.X(a=b'abc', b=b'ab', z=b'')", "X.n: no value of it is right for a and b"),
    "two lengths of one field": ("seq:\n- {id: n, type: u1}\n- {id: m, type: u1}\n- {id: a, size: 'n == m ? n : 0'}\n" + Z, "x.X(n=1, m=1, a=b'abc', z=b'')", "a: wrong size"),
    "too large for its field": ("seq:\n- {id: n, type: u1}\n- {id: a, size: n}\n" + Z, "x.X(a=bytes(256), z=b'')", "n: "),
    "below its rule": ("seq:\n- {id: n, type: u1, valid: 13}\n- {id: a, size: n}\n" + Z, "x.X(a=b'abc', z=b'')", "n: value not allowed (need 13, have 3)"),
    "not invertible": ("seq:\n- {id: n, type: u1}\n- {id: a, size: n % 16}\n" + Z, "x.X(n=1, a=b'abc', z=b'')", "a: wrong size, and it cannot be computed: set `n` (need 1 bytes, have '3 bytes')"),
    "nothing determines it": ("seq:\n- {id: n, type: u1}\n" + Z + "instances:\n  a: {pos: n, type: u1}\n", "x.X(z=b'')", "X.n: not given, and it does not follow from what is written"),
    "a value that does not fit its case": ("seq:\n- {id: t, type: u1}\n- {id: n, type: u1}\n- {id: a, size: n, type: {switch-on: t, cases: {1: p}}}\n" + Z + "types:\n  p: {seq: [{id: b, type: u1}]}\n", "x.X(t=2, a='text', z=b'')", "a: not bytes"),
    "not what is left of the stream": ("seq:\n- {id: a, size: _io.size - 2}\n- {id: b, type: u1}\n" + Z, "x.X(a=b'abc', b=1, z=b'z')", "a: wrong size (need 4 bytes, have '3 bytes')"),
    "not half of the stream": ("seq:\n- {id: a, type: u1, repeat: expr, repeat-expr: _io.size / 2}\n- {id: b, type: u1}\n", "x.X(a=[1, 2, 3], b=4)", "a: wrong number of elements (need 2, have 3)"),
    "an object that is missing": ("seq:\n- {id: h, type: h}\n" + Z + "instances:\n  d: {pos: h.o, size: 1}\ntypes:\n  h: {seq: [{id: o, type: u1}]}\n", "given(x.X.from_bytes(b'\\1\\0'), h=None)", "h: not given"),
    "a value of another type": ("seq:\n- {id: a, type: u1, repeat: expr, repeat-expr: h.n}\n" + Z + "instances:\n  h: {pos: 4, type: h}\ntypes:\n  h: {seq: [{id: n, type: u1}]}\n", "given(x.X(a=[1], z=b''), h=x.H(n='x'))", "a value is missing, or of another type: '<' not supported"),
    "bytes that nothing describes": ("seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: p}\n" + Z + "types:\n  p: {seq: [{id: k, type: u1}, {id: b, size: k}]}\n", "given(x.X.from_bytes(b'\\4\\1bxy\\0').a, b=b'longer')._parent", "a: bytes after it that the schema does not describe"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_computed_is_refused_and_nothing_changes(name: str, codec: Codec) -> None:
    schema, value, text = REFUSED[name]
    made = eval(value, {"x": codec(schema), **NAMES})  # the cases above
    shown = repr(made)
    with pytest.raises(EncodeError) as caught:
        made.to_bytes()
    assert str(caught.value).startswith(text) or text in str(caught.value)
    assert repr(made) == shown


def test_one_of_two_unknowns_that_is_none_is_the_one(codec: Codec) -> None:
    x = codec(REFUSED["two unknowns"][0])
    assert x.X(n=1, a=b"abc", z=b"").to_bytes() == b"\1\2abc\0"
    assert x.X(m=1, a=b"abc", z=b"").to_bytes() == b"\2\1abc\0"


def test_a_value_with_room_keeps_its_size(codec: Codec) -> None:
    x = codec("seq:\n- {id: n, type: u1}\n- {id: a, size: n, type: strz, encoding: ASCII}\n")
    read = x.X.from_bytes(b"\x06ab\0\0\0\0")
    read.a = "abcd"
    assert read.to_bytes() == b"\x06abcd\0\0"
    read.n = None
    assert read.to_bytes() == b"\x05abcd\0"
    read.a = "longer"
    assert read.to_bytes() == b"\x07longer\0"


DERIVED = "seq:\n- {id: c, type: u4, -derive: crc32(a..b)}\n- {id: n, type: u1, -derive: count_of(b)}\n- {id: a, terminator: 0}\n- {id: b, type: u1, repeat: until, repeat-until: _ == 0}\n"


def test_a_reader_compares_what_is_derived(codec: Codec) -> None:
    x = codec(DERIVED)
    data = x.X(a=b"ab", b=[1, 0]).to_bytes()
    for at in range(5, len(data) - 2):
        changed = bytearray(data)
        changed[at] ^= 0x40
        with pytest.raises(FormatError):
            x.X.from_bytes(bytes(changed))
    wrong = bytes(4) + data[4:]
    with pytest.raises(CrcMismatch, match="c: stored 0x00000000, computed 0x"):
        x.X.from_bytes(wrong)
    assert x.X.from_bytes(wrong, opt=ReadOptions(check_crc=False)).to_bytes() == data
    wrong = data[:4] + b"\7" + data[5:]
    with pytest.raises(Malformed, match="n: not what it is derived from: need 2, have 7"):
        x.X.from_bytes(wrong)
    assert x.X.from_bytes(wrong, opt=ReadOptions(verify=False)).to_bytes() == data


AROUND = "seq:\n- {id: h, type: h}\n- {id: l, type: p, repeat: expr, repeat-expr: h.n}\n- {id: a, terminator: 0}\ntypes:\n  h: {seq: [{id: n, type: u1}, {id: c, type: u2, -derive: '{value: crc32(_parent.a) & 0xffff}'}, {id: k, type: u1, -derive: count_of(_parent.l where _.q > 2)}]}\n  p: {seq: [{id: q, type: u1}, {id: s, type: u1, -derive: {value: xor(q..s), own: 1}}]}\n".replace(
    "'{value: crc32(_parent.a) & 0xffff}'", "{value: crc32(_parent.a) & 0xffff}"
)


@pytest.mark.parametrize("schema", [DERIVED, AROUND], ids=["own bytes", "bytes around"])
def test_the_interpreter_compares_what_the_generated_reader_compares(
    schema: str, codec: Codec, model: Callable[..., Any]
) -> None:
    x = codec(schema)
    if schema == DERIVED:
        data = x.X(a=b"ab", b=[1, 0]).to_bytes()
    else:
        data = x.X(h=x.H(), l=[x.P(q=7), x.P(q=1)], a=b"ab").to_bytes()
    found = model(schema)
    program = streams_of(found, Kinds(found))
    for at in range(len(data)):
        for bit in (0, 3, 6):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            outcomes = []
            for read in (x.X.from_bytes, lambda data: Machine(Code(program), data).read("x")):
                try:
                    read(bytes(changed))
                    outcomes.append("")
                except FormatError as error:
                    outcomes.append(f"{type(error).__name__} {error.path} {error.at}")
            assert outcomes[0] == outcomes[1], changed


def test_exact_reading_wants_every_byte_described(codec: Codec) -> None:
    x = codec(CASES["a position"].schema).X
    data = CASES["a position"].data
    # a zero byte between the fields and the instance
    for wrong, at in ((data, 3), (data + b"z", 3), (b"\3\3\0abcz", 6)):
        with pytest.raises(Malformed, match=f"the schema does not describe.*at byte {at}"):
            x.from_bytes(wrong, exact=True)
    assert x.from_bytes(b"\3\3\0abc", exact=True) == x.from_bytes(b"\3\3\0abcz")


CHECKED = {
    "crc32": 0xCBF43926, "crc32c": 0xE3069283, "crc32_mpeg2": 0x0376E6E7, "crc32_bzip2": 0xFC891918,
    "crc16_arc": 0xBB3D, "crc16_ccitt": 0x29B1, "crc16_xmodem": 0x31C3, "adler32": 0x091E01DE,
    "sum": 477, "xor": 0x31,
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKED)
def test_checksums_give_their_published_check_values(name: str) -> None:
    # of the text 123456789, as catalogues of checksums list them
    assert CHECKSUMS[name](b"123456789") == CHECKED[name]


WRONG = {
    "unknown field": ("{id: c, type: u4, -derive: crc32(a..q)}", "`x` has no field `q`"),
    "backwards": ("{id: c, type: u4, -derive: crc32(z..a)}", "runs backwards"),
    "unknown function": ("{id: c, type: u4, -derive: crc7(a)}", "cannot be read"),
    "of another kind": ("{id: c, type: u4, -derive: sha1(a)}", "gives bytes, the field is an integer"),
    "not repeated": ("{id: c, type: u4, -derive: count_of(a)}", "`a` is not repeated"),
    "only in layouts": ("{id: c, type: u4, -derive: last(a.b)}", "`last` is not supported in a streamed schema"),
    "where of no objects": ("{id: c, type: u4, -derive: count_of(l where _ == 1)}", "are no objects"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_derivations_that_cannot_be(name: str, problems: Find) -> None:
    field, text = WRONG[name]
    found = problems(f"seq:\n- {field}\n- {{id: a, terminator: 1}}\n- {{id: l, type: u1, repeat: eos}}\n{Z}")
    assert any(text in each.text for each in found), "\n".join(map(str, found))


SCHEMA = "meta: {id: x, endian: be}\nseq:\n- {id: n, type: u1}\n- {id: p, type: p}\ntypes:\n  p: {seq: [{id: c, type: u4}, {id: a, terminator: 0}]}\n"
OVERLAY = "schema: x\nkeys:\n  p.c: {-derive: crc32(a)}\n"


def loaded(folder: Path, **options: Any) -> Any:
    text = render_all(folder, targets=("python",), **options).modules["x.py"]
    module = ModuleType("overlaid")
    # a dataclass looks for its module there
    sys.modules["overlaid"] = module
    exec(compile(text, "x.py", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("where", ["beside", "given"])
def test_an_overlay_adds_keys(where: str, tmp_path: Path) -> None:
    schemas, others = tmp_path / "schemas", tmp_path / "others"
    schemas.mkdir()
    others.mkdir()
    (schemas / "x.ksy").write_text(SCHEMA)
    place = (schemas if where == "beside" else others) / "x.overlay.yaml"
    place.write_text(OVERLAY)
    x = loaded(schemas, overlays=[] if where == "beside" else [str(place)])
    made = x.X(n=1, p=x.P(a=b"ab"))
    assert made.to_bytes() == b"\1" + struct.pack(">I", zlib.crc32(b"ab\0")) + b"ab\0"


BAD = {
    "  p.q: {-derive: crc32(a)}": (3, "`p` has no `q`"),
    "  q.c: {-derive: crc32(a)}": (3, "`the schema` has no `q`"),
    "  p.c: {size: 4}": (3, "`size` is no extension key"),
    "  p.c: 4": (3, "must be a mapping"),
    "  p.c: {-derive: crc32(q)}": (3, "`p` has no field `q`"),
    "  p.c: {-nonsense: 1}": (3, "unknown extension key `-nonsense`"),
}


@pytest.mark.parametrize("line", BAD)
def test_problems_of_an_overlay_have_its_place(line: str, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(SCHEMA)
    (tmp_path / "x.overlay.yaml").write_text(f"schema: x\nkeys:\n{line}\n")
    number, text = BAD[line]
    with pytest.raises(SchemaError) as caught:
        render_all(tmp_path, targets=("python",))
    found = caught.value.problems[0]
    assert text in found.text
    assert found.place.file.endswith("x.overlay.yaml") and found.place.line == number


def test_an_overlay_of_another_schema_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(SCHEMA)
    with pytest.raises(SchemaError, match="an overlay of `png`, which is not in"):
        render_all(tmp_path, targets=("python",), overlays=["png"])
    with pytest.raises(ValueError, match="no overlay `nothing`"):
        render_all(tmp_path, targets=("python",), overlays=["nothing"])


_OF_ELEMENTS = (
    "-topic: t\nseq:\n- {id: f, type: u1}\n- {id: top, type: u1, -derive: {value: %s}}\n"
    "- {id: xs, type: p, repeat: eos}\ntypes:\n  p: {seq: [{id: v, type: u1}]}\n"
)


@pytest.mark.parametrize(
    "derive, f, top, right",
    [
        ("last(xs.v)", 0, 4, True),
        ("last(xs.v)", 0, 5, False),
        ("last(xs.v)", 0, 3, False),
        ("'last(xs.v)', verify: at_least", 0, 5, True),
        ("'last(xs.v)', verify: at_least", 0, 3, False),
        ("max(xs.v)", 0, 9, True),
        ("max(xs.v)", 0, 4, False),
        ("max(xs.v) + f", 2, 11, True),
        ("max(xs.v) + f", 2, 9, False),
        ("'max(xs.v)', when: f == 1", 0, 4, True),
        ("'max(xs.v)', when: f == 1", 1, 4, False),
    ],
)
def test_a_value_given_for_what_is_derived_is_compared_with_the_elements(
    derive: str, f: int, top: int, right: bool, codec: Codec, tmp_path: Path
) -> None:
    """As a reader does; all languages have vectors of it."""
    schema = _OF_ELEMENTS % derive
    x = codec(schema)
    value = x.X(f=f, top=top, xs=[x.P(v=9), x.P(v=4)])
    writer = Writer(program_of(load(next(tmp_path.glob("*/schemas")))))
    plain = {"f": f, "top": top, "xs": [{"v": 9}, {"v": 4}]}
    data = bytes([f, top, 9, 4])
    if right:
        assert value.to_bytes() == writer.write("x", plain) == data
        assert x.X.from_bytes(data) == value
        return
    for write in (value.to_bytes, lambda: writer.write("x", plain)):
        with pytest.raises(EncodeError, match=r"^top: differs from (last|max)\(xs\.v\) \(need "):
            write()
    with pytest.raises(Malformed, match=r"^top: differs from"):
        x.X.from_bytes(data)
    value.xs = []
    assert value.to_bytes() == data[:2]
