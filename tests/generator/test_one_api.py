"""One API for every schema: each one here is generated as a layout and as streamed.

Members, signatures, defaults, documentation; values, errors and where they are; what is written or refused.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import pickle
import re
import tempfile
from collections.abc import Callable, Iterator
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generator.driver import generate, load
from kodec.runtime.dataclass import MISSING, fields, replace
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import ReadOptions, WriteOptions

from .conftest import package, write

pytestmark = pytest.mark.quick

BASIC = """\
seq:
- {id: magic, contents: [K, 0], doc: The first bytes.}
- {id: n, type: u1, doc: A number.}
- {id: kind, type: u1, enum: kind}
- {id: part, type: 'part(n, true)'}
- {id: items, type: u2, repeat: expr, repeat-expr: n}
- {id: s, type: str, encoding: UTF-8, size: n}
- {id: f, type: f4}
- {id: b, type: b3}
- {id: c, type: b1}
- {id: d, type: b4}
- {id: fixed, size: 4}
- {id: sub, type: sub, size: 2}
- {id: subs, type: sub, repeat: expr, repeat-expr: 2}
- {id: w, type: {switch-on: n, cases: {1: sub1, 2: sub2}}, size: n}
- {id: v, type: u1, valid: {min: 1}}
- {id: rest, type: u1, repeat: eos}
instances:
  twice: {value: n * 2, doc: Twice the number.}
  is_even: {value: n % 2 == 0}
  other: {value: 'n > 1 ? kind::second : kind::first'}
enums:
  kind: {1: first, 2: second}
types:
  sub: {seq: [{id: p, type: u1}, {id: q, type: u1}]}
  sub1: {seq: [{id: r, type: u1}]}
  sub2: {seq: [{id: r, type: u2}]}
  part:
    doc: Bytes.
    params:
    - {id: width, type: u1, doc: The size of the data.}
    - {id: marked, type: bool}
    seq:
    - {id: data, size: width}
    instances:
      wider: {value: width + 1}
"""
BASIC_DATA = [
    bytes.fromhex("4b00 02 01 6162 0003 0004 6869 3f800000 b5 01020304 0708 0102 0304 0005 09 aabb"),
    bytes.fromhex("4b00 00 07 3f800000 b5 01020304 0708 0102 0304 09"),
]


@dataclasses.dataclass(frozen=True)
class Case:
    """A schema, bytes of its outermost type, and the parameters with which these are read."""

    schema: str
    data: tuple[bytes, ...]
    arguments: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()


NUMBERS = """\
seq:
- {id: a, type: s1}
- {id: b, type: s2le}
- {id: c, type: u4, valid: {any-of: [1, 2, 0x01020304]}}
- {id: d, type: s8}
- {id: e, type: f8le}
- {id: f, type: f4, valid: {min: -5}}
- {id: g, type: b12}
- {id: h, type: b4, enum: color}
- {id: i, type: u2le, enum: color, valid: {expr: '_.to_i < 900'}}
- {id: j, type: u1, valid: 7}
- {id: k, type: b1, repeat: expr, repeat-expr: 1}
instances:
  sum: {value: a + b}
  bright: {value: 'h == color::red or d > 3'}
  neg: {value: -a}
enums:
  color: {0: black, 3: {id: red, doc: Like fire.}, 255: white}
""".replace("- {id: k, type: b1, repeat: expr, repeat-expr: 1}\n", "")
TEXTS = """\
seq:
- {id: a, type: str, encoding: ASCII, size: 2}
- {id: n, type: u1}
- {id: b, type: str, encoding: UTF-16LE, size: n * 2}
- {id: names, type: str, encoding: UTF-8, size: 3, repeat: expr, repeat-expr: 2}
- {id: parts, size: 1, repeat: expr, repeat-expr: 2}
- {id: c, type: str, encoding: ISO-8859-1, size-eos: true}
instances:
  greeting: {value: '"hello"'}
  size_of_b: {value: b.length}
"""
LISTS = """\
seq:
- {id: num, type: u2}
- {id: rows, type: row, repeat: expr, repeat-expr: num}
- {id: pairs, type: u2, repeat: until, repeat-until: _ == 0 or pairs.size == 4}
- {id: reals, type: f4, repeat: expr, repeat-expr: 1}
- {id: kinds, type: u1, enum: kind, repeat: expr, repeat-expr: 2}
- {id: rest, type: row, repeat: eos}
enums:
  kind: {1: one}
types:
  row:
    seq: [{id: x, type: u2}, {id: y, type: u1, valid: {max: 200}}]
    instances: {both: {value: x * y}}
"""
NESTED = """\
seq:
- {id: head, type: head}
- {id: len, type: u1}
- {id: body, type: body, size: len}
- {id: tail, type: body, size-eos: true}
types:
  head: {doc: The head., seq: [{id: a, type: u2}, {id: b, type: inner}]}
  inner: {seq: [{id: c, type: u1, valid: {min: 3}}]}
  body: {seq: [{id: n, type: u1}, {id: data, size: n}, {id: more, size-eos: true}]}
"""
PARAMETERS = """\
params:
- {id: opt, type: u1, doc: An option.}
- {id: is_long, type: bool}
- {id: data, type: s4}
seq:
- {id: name, size: opt}
- {id: sub, type: 'sub(opt + 1, is_long)'}
- {id: subs, type: 'sub(1, false)', repeat: expr, repeat-expr: 2}
instances:
  twice: {value: opt * 2}
  far: {value: data + 1}
types:
  sub:
    params: [{id: exact, type: u1}, {id: is_long, type: bool}]
    seq: [{id: first, type: u1}, {id: buf, size: exact}]
    instances: {flag: {value: not is_long}}
"""
SWITCHES = """\
seq:
- {id: tag, type: u1, enum: tag}
- {id: len, type: u1}
- {id: a, type: {switch-on: tag, cases: {'tag::x': p, 'tag::y': q}}, size: len}
- {id: b, type: {switch-on: len, cases: {1: p, _: q}}}
- {id: flag, type: b1}
- {id: bits, type: b7}
- {id: c, type: {switch-on: flag, cases: {true: p, _: q}}}
enums:
  tag: {1: x, 2: y}
types:
  p: {seq: [{id: n, type: u1}]}
  q: {seq: [{id: m, type: u2}]}
"""
PEEKED = """\
seq:
- {id: a, type: {switch-on: kind, cases: {1: p, 2: q}}, size: len}
instances:
  kind: {pos: _io.pos + 1, type: u1, doc: The kind.}
  len: {pos: _io.pos, type: u1}
  both: {value: kind + len}
types:
  p: {seq: [{id: rest, size-eos: true}]}
  q: {seq: [{id: rest, size-eos: true}]}
"""
SIZES = """\
seq:
- {id: len_a, type: u1, valid: {min: 2}}
- {id: a, size: len_a - 2}
- {id: hdr, type: hdr}
- {id: b, type: u2, repeat: expr, repeat-expr: hdr.len}
- {id: w, type: u1}
- {id: p, type: part(w)}
- {id: lo, type: u1}
- {id: hi, type: u1}
- {id: d, size: lo + (hi << 8)}
types:
  hdr: {seq: [{id: len, type: u1}, {id: other, type: u1}]}
  part:
    params: [{id: width, type: u1}]
    seq: [{id: data, size: width + 1}]
"""
NAMES = """\
seq:
- {id: data, type: u1}
- {id: size, type: u1}
- {id: class, type: u1}
- {id: self, type: u1}
- {id: from_bytes, type: u1}
- {id: each_of, type: u1}
- {id: list, type: name, repeat: expr, repeat-expr: 2}
- {id: name, type: name}
instances:
  import: {value: self + data}
types:
  name: {seq: [{id: value, type: u1}, {id: opt, type: u1}]}
"""
DERIVED = """\
seq:
- {id: len_a, type: u1, -derive: length_of(a)}
- {id: a, size: len_a}
- {id: crc, type: u4, -derive: crc32(num_b..b)}
- {id: num_b, type: u1, -derive: count_of(b)}
- {id: b, type: item, repeat: expr, repeat-expr: num_b}
types:
  item: {seq: [{id: len_x, type: u1, -derive: length_of(x)}, {id: x, size: len_x}]}
"""


def _hex(*texts: str) -> tuple[bytes, ...]:
    return tuple(map(bytes.fromhex, texts))


CASES = {
    "basic": Case(BASIC, tuple(BASIC_DATA)),
    "numbers": Case(
        NUMBERS, _hex("ff 0102 01020304 0000000000000005 000000000000f03f 3f800000 1233 0300 07")
    ),
    "texts": Case(
        TEXTS, _hex("6162 02 61006200 616263 64c3a9 01 02 e9e8", "6162 01 6100 616263 646566 01 02")
    ),
    "lists": Case(
        LISTS,
        _hex("0002 000102 000304 0005 0000 3f800000 0102 000506", "0000 0001000200030004 3f800000 0101"),
    ),
    "nested": Case(NESTED, _hex("0001 03 04 01 aa bbcc 02 0102 0304", "0001 04 01 00 00")),
    "parameters": Case(
        PARAMETERS, _hex("6162 01 aabbcc 02 dd 03 ee"), (2, True, 70000), ("opt_", "is_long", "data_")
    ),
    "switches": Case(
        SWITCHES, _hex("01 01 05 06 83 07", "02 02 0005 0006 03 0007", "09 03 010203 0006 03 0007")
    ),
    "peeked": Case(PEEKED, _hex("03 02 78", "02 01", "02 07")),
    "sizes": Case(SIZES, _hex("05 616263 02 07 0001 0002 02 78797a 02 00 6465", "02 00 00 00 78 00 00")),
    "derived": Case(DERIVED, _hex("02 6162 6d698e5e 02 01 78 00")),
    "names": Case(NAMES, _hex("01 02 03 04 05 06 0708 090a 0b0c")),
}


EXCEPTIONS = {
    "fixed bytes are a slot, which the native reader fills; in a layout a constant of the class": (
        r"X\.magic: .*False, False, False",
        r"asdict: .*magic.*streamed",
        r"x\.magic = itself: 'AttributeError' in the layout|x\.magic = itself: AttributeError in the layout",
    ),
    "-derive: a layout computes lengths and counts of the content, streams keep what they read": (
        r"len_a|len_x|num_b",
        r"X\.(crc|\(\)): .*int \| None",
    ),
    "in streams, a wrong checksum is reported where its object starts": (
        r"'CrcMismatch', 'crc', 3, .*'CrcMismatch', 'crc', 0, ",
    ),
    "a layout reads an object of fixed width with its neighbours: the part that is cut is named": (
        r"'sub\.[pq]', .*'sub', ",
    ),
    "a layout peeks all its numbers by one call": (r"'len, kind', 0, 2",),
    "a peeked number of a layout is read-only, a part of what is written; streams write it at its place": (
        r"(kind|len) = 1: .?AttributeError",
        r"x copies: .*EncodeError', 'len'",
        r"X\(\)\.to_bytes\(\): .*'a'\).*'len'",
        r"^x\.a(\.rest)? = b'",
    ),
    "in streams, numbers in a list have no path of their own": (r"'(\w+)\[\d+\]'.*'\1'",),
    "bytes left over in a size are an error in a layout; streams keep them, as Kaitai does": (
        r"'a', 4, 0, 1.*'c\.m'",
    ),
    "a layout does not look at what a number was that it computes": (
        r"^x.* = .*: b'.*' in the layout, \('EncodeError', '([\w.]*\b)?(n|num|len|tag|lo|crc)'\)",
    ),
    "a layout writes any sequence as a list, also bytes": (
        r"= b'\w*': b'.*' in the layout, \('EncodeError'",
    ),
    "contents that need different values of one number: an error names the content, or the number": (
        r"= .*: \('EncodeError', '(part\.data|s|w)'\) in the layout, \('EncodeError', '(X\.n|items)'\)",
    ),
    "which of several fields is missing first": (r"Hdr\(\)\.to_bytes\(\): .*'len'.*'other'",),
}
"""Differences that stay: the reason, and what they look like."""
KNOWN = [pattern for patterns in EXCEPTIONS.values() for pattern in patterns]


def modules(case: Case, folder: Path) -> tuple[Any, Any]:
    """The modules of a schema: the layout's, and the streamed one."""
    found = []
    for streams in (False, True):
        at = folder / ("streamed" if streams else "layout")
        schemas = write(at / "schemas", case.schema)
        assert load(schemas, streams=streams).schemas[0].streamed is streams
        generate(schemas, at / "out", streams=streams)
        found.append(import_module(f"{package(at / 'out')}.x"))
    return found[0], found[1]


def classes(module: ModuleType) -> dict[str, Any]:
    return {name: each for name in module.__all__ if isinstance(each := getattr(module, name), type)}


# -- members --------------------------------------------------------------------------------------------


def members(kind: Any) -> dict[str, object]:
    """What a class shows: its public members, each as what it is."""
    found: dict[str, object] = {
        "": inspect.getdoc(kind),
        "()": str(inspect.signature(kind)),
        "match": kind.__match_args__,
    }
    specs = {each.name: each for each in fields(kind)}
    for name in dir(kind):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(kind, name)
        if isinstance(member, property):
            found[name] = "property", inspect.getdoc(member), str(inspect.signature(member.fget or len))
        elif name in specs:
            spec = specs[name]
            default = None if spec.default is MISSING else spec.default
            made = None if spec.default_factory is MISSING else spec.default_factory
            found[name] = (
                "field",
                kind.__annotations__[name],
                default,
                made,
                spec.init,
                spec.repr,
                spec.compare,
            )
        elif inspect.isroutine(member) or hasattr(member, "__func__"):
            signature = inspect.signature(getattr(kind, name))
            found[name] = "method", isinstance(member, classmethod), signature_of(signature)
        else:
            found[name] = "constant", type(member).__name__, getattr(kind, name)
    return found


def signature_of(signature: inspect.Signature) -> str:
    return str(signature)


def compared(layout: dict[str, object], streamed: dict[str, object], where: str) -> Iterator[str]:
    for name in sorted(layout.keys() | streamed.keys()):
        have, other = layout.get(name, "nothing"), streamed.get(name, "nothing")
        if have != other:
            yield f"{where}.{name}: {have!r} in the layout, {other!r} in the streamed one"


def member_differences(layout: ModuleType, streamed: ModuleType) -> Iterator[str]:
    first, second = classes(layout), classes(streamed)
    yield from compared(dict.fromkeys(first, 1), dict.fromkeys(second, 1), "module")
    for name in first.keys() & second.keys():
        if issubclass(first[name], IntEnum):
            yield from compared(dict(first[name].__members__), dict(second[name].__members__), name)
        else:
            yield from compared(members(first[name]), members(second[name]), name)


# -- values ---------------------------------------------------------------------------------------------


def outcome(do: Callable[..., Any], *given: Any, **named: Any) -> object:
    """What a call returns or raises, as both modules have it."""
    try:
        found = do(*given, **named)
    except FormatError as error:
        return type(error).__name__, error.path, error.at, error.need, error.have
    except EncodeError as error:
        return type(error).__name__, error.path
    except (TypeError, AttributeError) as error:
        return type(error).__name__
    return tuple(map(repr, found)) if isinstance(found, tuple) else repr(found)


def same(what: str, first: object, second: object) -> Iterator[str]:
    if first != second:
        yield f"{what}: {first} in the layout, {second} in the streamed one"


def changed(data: bytes) -> Iterator[bytes]:
    """Bytes, their beginnings, one byte more, and each byte changed."""
    yield from (data[:size] for size in range(len(data) + 1))
    yield data + b"\0"
    for at, byte in enumerate(data):
        yield from (data[:at] + bytes([byte ^ mask]) + data[at + 1 :] for mask in (1, 0x80, 0xFF))


def read_and_written(kind: Any, data: bytes, *arguments: Any) -> bytes:
    written: bytes = kind.from_bytes(data, *arguments).to_bytes()
    return written


def reading_differences(case: Case, layout: Any, streamed: Any) -> Iterator[str]:
    for data in (each for sample in case.data for each in changed(sample)):
        for exact in (None, True, False):
            got = [
                outcome(module.X.from_bytes, data, *case.arguments, exact=exact)
                for module in (layout, streamed)
            ]
            yield from same(f"from_bytes({data.hex()}, exact={exact})", *got)
        got = [outcome(read_and_written, module.X, data, *case.arguments) for module in (layout, streamed)]
        yield from same(f"to_bytes of {data.hex()}", *got)


def objects(value: Any, path: str = "x") -> Iterator[tuple[str, Any]]:
    """An object, and all in it."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from objects(each, f"{path}[{index}]")
    elif dataclasses.is_dataclass(value):
        yield path, value
        for spec in fields(value):
            yield from objects(getattr(value, spec.name), f"{path}.{spec.name}")


WRONG: tuple[Any, ...] = (None, -1, 1 << 70, 1, 3, "text", b"by", b"", [], [1, 2, 3], [None], 1.5, True)


def written_with(root: Any, value: Any, name: str, other: object) -> object:
    """What writing gives where a field is another; the object is as it was."""
    before = getattr(value, name)
    setattr(value, name, other)
    found = outcome(root.to_bytes)
    assert getattr(value, name) is other
    setattr(value, name, before)
    return found


def writing_differences(case: Case, layout: Any, streamed: Any) -> Iterator[str]:
    for data in case.data:
        both = [list(objects(module.X.from_bytes(data, *case.arguments))) for module in (layout, streamed)]
        for (path, first), (_, second) in zip(*both, strict=True):
            for name in (spec.name for spec in fields(first)):
                for other in WRONG:
                    got = [
                        written_with(every[0][1], value, name, other)
                        for every, value in zip(both, (first, second), strict=True)
                    ]
                    yield from same(f"{path}.{name} = {other!r}", *got)


def properties(kind: type) -> list[str]:
    names = (name for name in dir(kind) if not name.startswith("_"))
    return [name for name in names if isinstance(inspect.getattr_static(kind, name), property)]


def facts_of_new(kind: Any) -> Iterator[tuple[str, object]]:
    """An object to which nothing was given."""
    yield "()", outcome(kind)
    yield "().to_bytes()", outcome(kind().to_bytes)
    yield "hash", outcome(hash, kind())
    for name in properties(kind):
        yield f"().{name}", outcome(getattr, kind(), name)
        yield f"().{name} = 1", outcome(setattr, kind(), name, 1)


def facts_of_object(value: Any) -> Iterator[tuple[str, object]]:
    """An object that was read: its members, alone, and as a copy."""
    yield "", repr(value)
    for name in properties(type(value)):
        yield f".{name}", outcome(getattr, value, name)
    for name, member in members(type(value)).items():
        if name.isidentifier() and member[0] in ("constant", "field"):  # type: ignore[index]  # of these
            yield f".{name} = itself", outcome(setattr, value, name, getattr(value, name))
    yield " alone", outcome(value.to_bytes)
    made = [copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value)), replace(value)]
    made.append(dataclasses.replace(value))
    yield (
        " copies",
        [(each == value, repr(each) == repr(value), each is value, outcome(each.to_bytes)) for each in made],
    )
    yield " asdict", outcome(dataclasses.asdict, value)


def facts_of_reading(kind: Any, case: Case, data: bytes) -> Iterator[tuple[str, object]]:
    """The ways to read bytes, and to write an object."""
    given, named = case.arguments, dict(zip(case.names, case.arguments, strict=True))
    value, other = kind.from_bytes(data, *given), kind.from_bytes(data, *given)
    yield "same", (value == other, value != other, value == 3)
    yield "by name", outcome(kind.from_bytes, data, **named)
    for name in named:
        yield f"without {name}", outcome(kind.from_bytes, data, **{**named, name: None})
        less = {each: named[each] for each in named if each != name}
        yield f"without {name}", outcome(kind.from_bytes, data, **less)
    for form in (bytes, bytearray, memoryview):
        yield form.__name__, outcome(kind.from_bytes, form(data), *given)
        more = form(b"??" + data + b"!")
        yield f"from {form.__name__}", outcome(kind.read_from, more, 2, 2 + len(data), **named)
    yield "more", outcome(kind.from_bytes, data, *given, 1)
    yield "unknown", outcome(kind.from_bytes, data, *given, wrong=1)
    yield "options", outcome(kind.from_bytes, data, *given, opt=ReadOptions(elements=1))
    yield "options from", outcome(kind.read_from, data, 0, None, ReadOptions(elements=1), **named)
    yield "written", outcome(value.to_bytes, WriteOptions(level=1), **named)
    yield "written", outcome(value.to_bytes, opt=WriteOptions())
    for spec in fields(kind):
        if isinstance(getattr(value, spec.name), list):
            yield f"each {spec.name}", outcome(lambda name: list(kind.each_of(data, name, *given)), spec.name)
    yield "each", outcome(lambda: list(kind.each_of(data, "nothing", *given)))


def object_differences(case: Case, layout: Any, streamed: Any) -> Iterator[str]:
    def facts(module: Any) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, kind in classes(module).items():
            if not issubclass(kind, IntEnum):
                found |= {f"{name}{key}": fact for key, fact in facts_of_new(kind)}
        for number, data in enumerate(case.data):
            for path, value in objects(module.X.from_bytes(data, *case.arguments)):
                found |= {f"{number}: {path}{key}": fact for key, fact in facts_of_object(value)}
            found |= {f"{number}: {key}": fact for key, fact in facts_of_reading(module.X, case, data)}
        return found

    yield from compared(facts(layout), facts(streamed), "")


FINDERS = (object_differences, reading_differences, writing_differences)


@functools.cache
def differences(name: str) -> tuple[str, ...]:
    """What differs between the two modules of a case."""
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        pair = modules(case, Path(folder))
        found = list(member_differences(*pair))
        for find in FINDERS:
            found += find(case, *pair)
    return tuple(found)


@pytest.mark.parametrize("name", CASES)
def test_a_layout_and_a_streamed_schema_have_one_api(name: str) -> None:
    other = [each for each in differences(name) if not any(re.search(known, each) for known in KNOWN)]
    assert not other


KEYED = """\
-versions: 0-2
-topic: t
params: [{id: version, type: s2}, {id: is_long, type: bool}]
seq:
- {id: n, type: u1, doc: A number.}
- {id: name, type: u1}
- {id: since, type: u2, if: version >= 1, -since: 1, -default: 7}
- {id: more, type: u1, if: is_long}
"""
PLAIN = """\
params: [{id: version, type: s2}, {id: is_long, type: bool}]
seq:
- {id: n, type: u1, doc: A number.}
"""


def test_keys_that_only_layouts_have_add_defaults(tmp_path: Path) -> None:
    """Their methods are those of every type with such parameters; new objects have zeros, as in messages."""
    found = []
    for name, schema in (("keyed", KEYED), ("plain", PLAIN)):
        schemas = write(tmp_path / name / "schemas", schema)
        assert load(schemas, streams=True).schemas[0].streamed is (name == "plain")
        generate(schemas, tmp_path / name / "out", streams=True)
        found.append(import_module(f"{package(tmp_path / name / 'out')}.x").X)
    keyed, plain = found
    for method in ("from_bytes", "read_from", "each_of", "to_bytes"):
        assert signature_of(inspect.signature(getattr(keyed, method))) == signature_of(
            inspect.signature(getattr(plain, method))
        )
    assert [each.name for each in fields(keyed)][-2:] == [each.name for each in fields(plain)][-2:]
    assert (plain().n, keyed().n, keyed().since, keyed().version) == (None, 0, 7, None)
    value = keyed.from_bytes(b"\1\2\0\3\4", 1, True)
    assert value == keyed.from_bytes(b"\1\2\0\3\4", is_long=True, version=1) == keyed(1, 2, 3, 4)
    assert value.to_bytes() == b"\1\2\0\3\4"
    value.since, value.more = 7, None
    assert value.to_bytes(version=0, is_long=False) == b"\1\2"


def test_every_exception_is_one() -> None:
    found = [each for name in CASES for each in differences(name)]
    assert [known for known in KNOWN if not any(re.search(known, each) for each in found)] == []
