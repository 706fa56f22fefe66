"""The native reader of streamed schemas against the one in Python: the same objects, positions and errors."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import gc
import random
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.formats import load_schema
from kodec.runtime.errors import CrcMismatch, FormatError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.native import native_module
from kodec.runtime.streams import ByteSource, ReadingState, StreamNode
from tests.generator.test_streams import ALL, schema_of

pytestmark = pytest.mark.skipif(
    native_module("streams") is None, reason="no native reader here, or KODEC_PURE=1"
)

Codec = Callable[..., ModuleType]

STREAMED = "instances:\n  i: {pos: 0, type: u1}\n"  # layouts have no instances

# More than `ALL` has of what the native reader computes itself.
SCHEMAS: dict[str, tuple[str, bytes]] = {
    "arithmetic": (
        "seq:\n- {id: a, type: s1}\n- {id: b, type: u8}\n- {id: c, type: u1, repeat: expr, repeat-expr: '(a % 5) + (b / 3 % 4)'}\n"
        "- {id: d, type: u1, if: '(a << 2 > 4 or -a >= 3) and not (a ^ 1 == 0)'}\n"
        "- {id: e, size: 'a * 2 < 6 ? c.size : 1'}\n- {id: f, type: u1, repeat: until, repeat-until: '_ == a | 1 or _index >= 3'}\n",
        b"\x03" + (7).to_bytes(8, "big") + bytes(range(1, 20)),
    ),
    "numbers beyond 64 bits": (
        "seq:\n- {id: a, type: u8}\n- {id: b, type: u8}\n- {id: c, type: u1, if: a + b > 0xffffffffffffffff}\n- {id: d, type: u1, if: a * b >> 70 == 1}\n",
        b"\xff" * 16 + b"\1\2",
    ),
    "floats": (
        "seq:\n- {id: a, type: f4}\n- {id: b, type: f8le}\n- {id: c, type: u1, if: a / 2 > b}\n- {id: d, type: f4, valid: {min: -1}}\n",
        b"\x41\x20\x00\x00" + bytes(8) + b"\x01" + b"\x3f\x80\x00\x00",
    ),
    "signalling NaN": ("seq:\n- {id: a, type: f4}\n- {id: b, type: f8}\n" + STREAMED, b"\x7f\x80\x00\x01\x7f\xf0\x00\x00\x00\x00\x00\x01"),
    "enums, flags and choices": (
        "seq:\n- {id: k, type: u1, enum: kind}\n- {id: x, type: b1}\n- {id: y, type: b3, enum: kind}\n- {id: z, type: b4}\n"
        "- id: body\n  size: 4\n  type:\n    switch-on: k\n    cases:\n      kind::one: p\n      kind::two: q(z)\n      kind::three: u2\n      kind::four: u4le\n      kind::five: p\n      _: rest\n"
        "- id: t\n  type: str\n  size: 2\n  encoding: ASCII\n- id: n\n  type:\n    switch-on: t\n    cases:\n      '\"ab\"': u1\n      '\"cd\"': u2\n"
        "types:\n  p: {seq: [{id: v, type: u2}]}\n  q:\n    params: [{id: m, type: u1}]\n    seq: [{id: v, size: m}]\n    instances: {w: {value: v.size + m}, g: {pos: 1, type: u1, if: m > 1}}\n  rest: {seq: [{id: v, size-eos: true}]}\n"
        "enums:\n  kind: {1: one, 2: two, 3: three, 4: four, 5: five}\n",
        b"\x02\xa3wxyzab\x09",
    ),
    "instances, parents and streams": (
        "seq:\n- {id: n, type: u1}\n- {id: rows, type: row(_io.pos), repeat: expr, repeat-expr: n}\n- {id: z, size: 3, type: tail}\n- {id: rest, type: u1, repeat: eos}\n"
        "types:\n  row:\n    params: [{id: at, type: u4}]\n    seq:\n    - {id: size, type: u1}\n    - {id: text, type: str, size: size, encoding: UTF-8}\n    - {id: up, type: u1, if: _parent.n == at or _root.first == 2}\n"
        "  tail:\n    seq:\n    - {id: a, type: u1}\n    - {id: b, size: _io.size - _io.pos}\n    - {id: c, type: u1, if: not _io.eof}\n    - {id: d, type: u1, if: not _parent._io.eof and _root._io.size < 5}\n"
        "instances:\n  first: {pos: 0, type: u1}\n  all: {pos: 1, type: row(2), repeat: expr, repeat-expr: n}\n  twice: {value: n * 2}\n  four: {value: twice + all.size, if: n > 1}\n  part: {pos: 1, size: 2, type: tail}\n",
        b"\x02\x01a\x00\x02bc\x05xyz" + bytes(range(4)),
    ),
    "byte order that bytes say": (
        "meta2: 0\nseq:\n- {id: o, type: u1}\n- {id: body, type: p}\ntypes:\n  p:\n    meta:\n      endian:\n        switch-on: _root.o\n        cases: {1: le, 2: be}\n    seq: [{id: a, type: u4}, {id: b, type: f4}, {id: c, type: q}]\n  q: {seq: [{id: d, type: s2}]}\n".replace("meta2: 0\n", ""),
        b"\x01\x01\x02\x03\x04\x00\x00\x80\x3f\x05\x06",
    ),
    "text, terminators and padding": (
        "seq:\n- {id: a, type: strz, encoding: UTF-8}\n- {id: b, type: str, size: 6, pad-right: 0x20, terminator: 0, encoding: Shift_JIS}\n- {id: c, terminator: [1, 2], include: true}\n- {id: d, type: p, terminator: 9, consume: false}\n- {id: e, size-eos: true, pad-right: 0}\ntypes:\n  p: {seq: [{id: x, type: u1}]}\n",
        "é".encode() + b"\0" + b"ab\0   " + b"xy\1\2" + b"zw\x09" + b"end\0\0",
    ),
    "lists in lists, and elements without bytes": (
        "seq:\n- {id: a, type: p, repeat: until, repeat-until: _.n == 0}\n- {id: b, type: e, repeat: expr, repeat-expr: 3}\n- {id: c, type: u2, repeat: eos}\ntypes:\n  p: {seq: [{id: n, type: u1}, {id: q, type: u1, repeat: expr, repeat-expr: n}]}\n  e: {seq: [{id: x, type: u1, if: _io.eof}]}\n",
        b"\x02\x01\x02\x01\x07\x00\x00\x01\x00\x02",
    ),
}  # fmt: skip


def _plain(value: object, known: dict[int, str], path: str) -> Any:
    """Everything about a value that a program can ask, also how its objects are connected."""
    if isinstance(value, ByteSource):
        return "stream", value.base, value.end, value.pos, value.eof
    if isinstance(value, list):
        return [_plain(each, known, f"{path}[{index}]") for index, each in enumerate(value)]
    if not isinstance(value, StreamNode):
        return type(value), repr(value)
    if id(value) in known:
        return "is", known[id(value)]
    known[id(value)] = path
    io = value._io
    assert io is not None
    found: dict[str, Any] = {
        "place": (value._start, value._stop, value._depth, value._is_le, io.base, io.at, io.end, io._left),
        "parent": None if value._parent is None else known.get(id(value._parent)),
        "root": known.get(id(value._root)),
    }
    names = [spec.name for spec in fields(value)]
    names += [name for name, each in vars(type(value)).items() if isinstance(each, property)]
    for name in names:
        try:
            found[name] = _plain(getattr(value, name), known, f"{path}.{name}")
        except FormatError as error:
            found[name] = type(error), str(error)
    return found


def read_plain(kind: type[StreamNode], data: bytes, *, natively: bool, opt: ReadOptions | None = None) -> Any:
    """Everything about the object that bytes are, or the error."""
    io = ByteSource.of(data, opt or ReadOptions())
    io.state.native = natively
    try:
        return _plain(io.read(kind(), None, ""), {}, "x")
    except FormatError as error:
        return type(error), str(error)


def _read(module: ModuleType, data: bytes, *, natively: bool, opt: ReadOptions | None = None) -> Any:
    return read_plain(module.X, data, natively=natively, opt=opt)


def _inputs(data: bytes, seed: int) -> Iterator[bytes]:
    yield data
    yield from (data[:cut] for cut in range(len(data)))
    rng = random.Random(seed)
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        yield bytes(changed)


CASES = {
    **{name: (row.schema or schema_of("reads", name), row.data) for name, row in ALL.items()},
    **SCHEMAS,
}


@pytest.mark.parametrize("name", CASES)
def test_objects_and_errors_equal_those_of_python(name: str, codec: Codec) -> None:
    schema, data = CASES[name]
    module = codec(schema)
    for changed in _inputs(data, seed=len(name)):
        assert _read(module, changed, natively=True) == _read(module, changed, natively=False), changed
        small = ReadOptions(depth=2, elements=3)
        assert _read(module, changed, natively=True, opt=small) == _read(
            module, changed, natively=False, opt=small
        )


@pytest.mark.parametrize("name", SCHEMAS)
def test_valid_bytes_are_read_without_python(
    name: str, codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, data = SCHEMAS[name]
    module = codec(schema)
    for cls in vars(module).values():
        if isinstance(cls, type) and issubclass(cls, StreamNode) and cls is not StreamNode:
            monkeypatch.setattr(cls, "_read", None)
    module.X.from_bytes(data, exact=False)


def test_a_class_of_a_program_that_extends_a_generated_one_is_read_in_python(codec: Codec) -> None:
    x = codec("seq:\n- {id: a, type: u1}\n" + STREAMED)

    class Own(x.X):  # type: ignore[misc, name-defined]
        def _read(self, io: ByteSource) -> None:
            super()._read(io)
            self.a += 1

    assert Own.from_bytes(b"\x01").a == 2


def test_an_interruption_in_an_expression_is_raised(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    x = codec("seq:\n- {id: n, type: u1}\n- {id: a, type: u1, if: 'n.to_s == \"1\"'}\n")

    def interrupted(_: object) -> str:
        raise KeyboardInterrupt

    assert x.X.from_bytes(b"\x01\x02").a == 2
    monkeypatch.setattr(x, "str", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        x.X.from_bytes(b"\x01\x02")


def test_objects_hold_references_of_their_own(codec: Codec) -> None:
    schema, data = SCHEMAS["instances, parents and streams"]
    module = codec(schema)

    def many() -> None:
        for cut in (len(data), len(data), 9, 4, 0):
            for _ in range(50):
                _read(module, data[:cut], natively=True)

    def counted() -> tuple[int, ...]:
        gc.collect()
        return len(gc.get_objects()), sys.getrefcount(None), sys.getrefcount(0)

    many()
    # what other tests have left may go meanwhile, once
    changes = []
    for _ in range(3):
        before = counted()
        many()
        changes.append([abs(one - two) for one, two in zip(before, counted(), strict=True)])
    assert min(map(max, changes)) < 200, changes


def test_a_state_that_is_not_native_is_left_alone(codec: Codec) -> None:
    x = codec("seq:\n- {id: a, type: u1}\n" + STREAMED)
    io = ByteSource(b"\x05", 0, 1, ReadingState(ReadOptions(), 1))
    io.state.native = False
    assert x.X._native.read(x.X(), io) is False
    assert io.at == 0


DERIVED = """seq:
- {id: head, type: head}
- {id: items, type: item, repeat: expr, repeat-expr: head.n}
- {id: end, terminator: 0}
types:
  head: {seq: [{id: n, type: u1}, {id: c, type: u4, -derive: crc32(_parent.items.._parent.end)}]}
  item: {seq: [{id: len, type: u1}, {id: a, size: len}, {id: c, type: u4, -derive: crc32(len..a)}]}
"""


def test_fields_that_are_derived_of_bytes_are_read_natively(
    codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = codec(DERIVED)
    data = x.X(head=x.Head(), items=[x.Item(a=b"ab"), x.Item(a=b"")], end=b"e").to_bytes()
    value = x.X.from_bytes(data)
    assert value.items[0].c == zlib.crc32(b"\2ab") and value.head.c == zlib.crc32(data[5:])
    # where a native reader finds an error, Python reads again and reports it
    wrong = data[:6] + b"z" + data[7:]
    with pytest.raises(CrcMismatch) as caught:
        x.X.from_bytes(wrong)
    assert (caught.value.path, caught.value.at) == ("items[0].c", 5)
    assert x.X.from_bytes(wrong, opt=ReadOptions(check_crc=False)).items[0].a == b"zb"
    late = data[:1] + b"\0\0\0\0" + data[5:]
    with pytest.raises(CrcMismatch) as caught:
        x.X.from_bytes(late)
    assert caught.value.path == "c"
    for cls in (x.X, x.Head, x.Item):
        monkeypatch.setattr(cls, "_read", None)
    read = x.X.from_bytes(data)
    assert read == value
    read.items[1].a = b"longer"
    assert x.X.from_bytes(read.to_bytes()).items[1].c == zlib.crc32(b"\6longer")


def test_columns_of_fields_that_are_derived_of_bytes_are_checked_on_request(
    codec: Codec, tmp_path: Path
) -> None:
    x = codec(DERIVED)
    data = x.X(head=x.Head(), items=[x.Item(a=b"ab"), x.Item(a=b"")], end=b"e").to_bytes()
    (tmp_path / "x.ksy").write_text(f"meta: {{id: x, endian: be}}\n{DERIVED}")
    format = load_schema(tmp_path / "x.ksy")
    assert format.scan(data, rows="items").read_all().column("a").to_pylist() == [b"ab", b""]
    for wrong in (data[:6] + b"z" + data[7:], data[:1] + b"\0\0\0\0" + data[5:]):
        assert len(format.scan(wrong, rows="items").read_all()) == 2
        with pytest.raises(CrcMismatch):
            format.scan(wrong, rows="items", check=True).read_all()
