"""Objects of layouts and objects in streams have one API: members, computed sizes, bytes after the object."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generated.log.record import Record, RecordBody
from kodec.generated.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from kodec.generated.metadata.topic_record import TopicRecord
from kodec.generator.code.objects import Object
from kodec.generator.code.writer import Writer
from kodec.generator.driver import generate, load, render_all
from kodec.generator.plan.build import program_of
from kodec.runtime.dataclass import fields
from kodec.runtime.errors import EncodeError, FormatError, Malformed, Truncated
from kodec.runtime.fields import WriteOptions
from kodec.runtime.messages import in_python
from tests.data import ROOT

from .conftest import package, write

pytestmark = pytest.mark.quick

Codec = Callable[..., ModuleType]

MEMBERS = """\
seq:
- {id: magic, contents: [K, 0], doc: The first bytes.}
- {id: n, type: u1}
- {id: kind, type: u1, enum: kind}
- {id: part, type: 'part(n, true)'}
instances:
  twice: {value: n * 2, doc: Twice the number.}
  more: {value: twice + 1}
  is_even: {value: n % 2 == 0}
  is_first: {value: 'kind == kind::first'}
  text: {value: '"a text"'}
  other: {value: 'n > 1 ? kind::second : kind::first'}
enums:
  kind: {1: first, 2: second}
types:
  part:
    params:
    - {id: width, type: u1, doc: The size of the data.}
    - {id: marked, type: bool}
    seq:
    - {id: data, size: width}
    instances:
      wider: {value: width + 1}
"""
DATA = b"K\x00\x02\x01ab"


def module(schema: str, folder: Path, *, streams: bool) -> Any:
    schemas = write(folder / "schemas", schema)
    assert load(schemas, streams=streams).schemas[0].streamed is streams
    generate(schemas, folder / "out", streams=streams)
    return __import__(f"{package(folder / 'out')}.x", fromlist=["X"])


@pytest.mark.parametrize("streams", [False, True], ids=["layout", "streamed"])
def test_both_have_the_same_members(streams: bool, tmp_path: Path) -> None:
    made = module(MEMBERS, tmp_path, streams=streams)
    value = made.X.from_bytes(DATA)
    assert (value.magic, value.text) == (b"K\x00", "a text")
    assert (value.twice, value.more, value.is_even, value.is_first) == (4, 5, True, True)
    assert (value.other, value.other.name.lower()) == (2, "second")
    assert (value.part.width, value.part.marked, value.part.wider) == (2, True, 3)
    value.n, value.part.data = 3, b"abc"
    assert (value.twice, value.is_even) == (6, False)
    assert value.to_bytes() == b"K\x00\x03\x01abc"


def test_instances_of_layouts_follow_the_fields(codec: Codec) -> None:
    made = codec(MEMBERS)
    assert "Twice the number." in made.X.twice.__doc__
    value = made.X(n=7, part=made.Part(data=b"seven..", width=7))
    assert (value.twice, value.part.wider) == (14, 8)
    with pytest.raises(AttributeError):
        value.twice = 1
    with pytest.raises(EncodeError, match="width: not given"):
        _ = made.Part(data=b"").wider


def test_an_object_is_written_with_the_parameters_that_it_was_read_with(codec: Codec) -> None:
    made = codec(MEMBERS)
    part = made.Part.from_bytes(b"abc", width=3, marked=False)
    assert part.to_bytes() == b"abc"
    assert made.Part(data=b"x").to_bytes(width=1, marked=True) == b"x"
    with pytest.raises(EncodeError, match="width: not given"):
        made.Part(data=b"x").to_bytes()
    assert part == made.Part(data=b"abc")


def test_peeked_numbers_are_kept(codec: Codec) -> None:
    made = codec(
        "seq:\n- id: a\n  type: {switch-on: kind, cases: {1: p, 2: q}}\n  size: len\n"
        "instances:\n  kind: {pos: _io.pos + 1, type: u1}\n  len: {pos: _io.pos, type: u1}\n"
        "  both: {value: kind + len}\n"
        "types:\n  p: {seq: [{id: rest, size-eos: true}]}\n  q: {seq: [{id: rest, size-eos: true}]}\n"
    )
    value = made.X.from_bytes(b"\x03\x02x")
    assert (value.kind, value.len, value.both) == (2, 3, 5)
    assert value == made.X(a=made.Q(rest=b"\x03\x02x"))
    assert value.to_bytes() == b"\x03\x02x"


@pytest.mark.parametrize(
    "schema",
    [
        "seq:\n- {id: a, contents: [1], repeat: expr, repeat-expr: 2}\n",
        "seq:\n- {id: n, type: u1, -derive: length_of(a)}\n- {id: a, size: n}\n"
        "instances:\n  more: {value: n + 1}\n",
        "seq:\n- {id: a, type: u1}\ninstances:\n  next: {pos: _io.pos, type: u1}\n",
    ],
    ids=["list of fixed bytes", "instance of a derived length", "number that no field needs"],
)
def test_what_layouts_would_not_keep_is_streamed(schema: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "schemas", schema)
    assert load(folder).schemas[0].streamed
    # a key that only layouts have is stronger
    keyed = write(tmp_path / "keyed", schema.replace("seq:", "-topic: t\nseq:", 1))
    if "repeat" not in schema:
        assert not load(keyed).schemas[0].streamed


SIZES = """\
seq:
- {id: len_a, type: u1, valid: {min: 2}}
- {id: a, size: len_a - 2}
- {id: num_b, type: u2}
- {id: b, type: u2, repeat: expr, repeat-expr: num_b}
- {id: len_c, type: u1}
- {id: c, type: str, encoding: UTF-8, size: more}
- {id: len_p, type: u1}
- {id: p, type: part, size: len_p}
- {id: f, type: b4}
- {id: len_g, type: b12}
- {id: g, size: len_g}
instances:
  more: {value: len_c + 1}
types:
  part: {seq: [{id: n, type: u1}, {id: rest, size-eos: true}]}
"""


@pytest.mark.parametrize("streams", [False, True], ids=["layout", "streamed"])
def test_plain_sizes_and_counts_are_computed(streams: bool, tmp_path: Path) -> None:
    made = module(SIZES, tmp_path, streams=streams)
    value = made.X(a=b"abc", b=[1, 2], c="h\u00e9", p=made.Part(n=3, rest=b"xx"), f=3, g=b"zz")
    data = b"\5abc\0\2\0\1\0\2\2h\xc3\xa9\3\3xx\x30\2zz"
    assert value.to_bytes() == data
    read = made.X.from_bytes(data)
    assert (read.len_a, read.num_b, read.len_c, read.len_p, read.len_g) == (5, 2, 2, 3, 2)
    read.a, read.p.rest, read.num_b, read.g = b"longer", b"", None, b"z" * 300
    read.b.append(9)
    again = made.X.from_bytes(read.to_bytes())
    assert (again.len_a, again.num_b, again.len_p, again.len_g, again.b) == (8, 3, 1, 300, [1, 2, 9])
    read.g = b"z" * 5000
    with pytest.raises(EncodeError, match="len_g"):
        read.to_bytes()


OTHER_SIZES = """\
seq:
- {id: n, type: u1}
- {id: a, size: n * 2}
- {id: hdr, type: hdr}
- {id: b, type: u2, repeat: expr, repeat-expr: hdr.len}
- {id: w, type: u1}
- {id: p, type: part(w)}
- {id: flags, type: u1}
- {id: c, size: flags & 15}
- {id: lo, type: u1}
- {id: hi, type: u1}
- {id: d, size: lo + (hi << 8)}
- {id: tag, type: u1}
- {id: e, type: {switch-on: tag, cases: {1: hdr, 2: part(0)}}, size: len_e}
instances:
  len_e: {value: 'tag == 1 ? 2 : 1'}
types:
  hdr: {seq: [{id: len, type: u1}, {id: other, type: u1}]}
  part:
    params: [{id: width, type: u1}]
    seq: [{id: data, size: width + 1}]
"""


@pytest.mark.parametrize("streams", [False, True], ids=["layout", "streamed"])
def test_other_expressions_are_inverted(streams: bool, tmp_path: Path) -> None:
    made = module(OTHER_SIZES, tmp_path, streams=streams)
    part = made.Part(width=0, data=b"xyz")
    value = made.X(n=0, a=b"abcd", hdr=made.Hdr(0, 7), b=[1, 2], w=0, p=part, flags=0x30, c=b"ccccc")
    value.lo, value.hi, value.d, value.tag, value.e = 0, 0, b"d" * 300, 0, made.Part(width=0, data=b"e")
    data = b"\2abcd\2\7\0\1\0\2\2xyz\x35ccccc\x2c\1" + b"d" * 300 + b"\2e"
    assert value.to_bytes() == data
    assert (value.n, value.hdr.len, value.w, value.flags, value.tag) == (0, 0, 0, 0x30, 0)
    read = made.X.from_bytes(data)
    read.a, read.hdr.len, read.tag, read.e = b"ab", None, None, made.Hdr(3, 4)
    read.b.append(9)
    again = made.X.from_bytes(read.to_bytes())
    assert (again.n, again.hdr.len, again.hdr.other, again.tag, again.e.other) == (1, 3, 7, 1, 4)
    read.a = b"abc"
    with pytest.raises(EncodeError, match=r"^a: wrong size"):
        read.to_bytes()
    read.a, read.p.data = b"", b"x" * 300
    with pytest.raises(EncodeError, match=r"^w: "):
        read.to_bytes()


SEVERAL = """\
seq:
- {id: n, type: u1, valid: {max: 9}}
- {id: m, type: u1, valid: {min: 20}}
- {id: a, size: m - n}
- {id: k, type: u1}
- {id: b, size: k * n}
"""


@pytest.mark.parametrize("streams", [False, True], ids=["layout", "streamed"])
def test_what_cannot_be_computed_names_the_fields_to_set(streams: bool, tmp_path: Path) -> None:
    x = module(SEVERAL, tmp_path, streams=streams).X
    assert x(n=1, m=21, a=b"a" * 20, k=3, b=b"bbb").to_bytes() == b"\1\x15" + b"a" * 20 + b"\3bbb"
    with pytest.raises(EncodeError, match="it follows from `m` and `n`: set one of them to None"):
        x(n=1, m=21, a=b"a" * 22, k=0, b=b"").to_bytes()
    assert x(n=1, m=None, a=b"a" * 22, k=0, b=b"").to_bytes()[:2] == b"\1\x17"
    with pytest.raises(EncodeError, match=r"^b: wrong size, and it cannot be computed: set `k`, `n`"):
        x(n=1, m=21, a=b"a" * 20, k=1, b=b"bb").to_bytes()


CONDITIONS = """\
seq:
- {id: n, type: u1}
- {id: a, type: u1, if: n > 4}
- {id: b, type: {switch-on: n * 2, cases: {2: p, 4: q}}, size: 1}
types:
  p: {seq: [{id: x, type: u1}]}
  q: {seq: [{id: y, type: u1}]}
"""


@pytest.mark.parametrize("key", ["", "-topic: t\n"], ids=["streamed", "layout"])
def test_conditions_and_cases_name_the_fields_to_set(key: str, codec: Codec) -> None:
    made = codec(key + CONDITIONS)
    with pytest.raises(EncodeError, match=r"^a: given, but its condition does not hold: set `n`"):
        made.X(n=1, a=3, b=made.P(1)).to_bytes()


FLAGS = """\
-topic: t
seq:
- {id: has_a, type: b1}
- {id: has_b, type: b1}
- {id: kind, type: b6}
- {id: a, type: u2, if: has_a}
- {id: b, type: u1, if: has_b, -default: 7}
- {id: c, type: p, if: kind & 4 != 0}
types:
  p: {seq: [{id: x, type: u1}]}
"""


def test_flags_of_layouts_follow_what_is_given(codec: Codec) -> None:
    made = codec(FLAGS)
    value = made.X(has_a=False, a=5, kind=1, c=made.P(3))
    assert (value.to_bytes(), value.has_a, value.kind) == (b"\x85\0\5\3", False, 1)
    assert made.X(has_a=True, a=None, has_b=True, kind=5, c=None).to_bytes() == b"\x41\7"
    assert made.X(has_a=True, a=2, has_b=False, b=8).to_bytes() == b"\xc0\0\2\x08"


def test_positions_name_the_fields_to_set(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: a, type: u1}\n- {id: b, type: u1}\n- {id: rest, size: 6}\n"
        "instances: {p: {pos: a * b, size: 3}}\n"
    ).X
    value = x.from_bytes(b"\2\1abcdef")
    assert value.p == b"abc"
    value.p = b"abC"
    with pytest.raises(EncodeError, match=r"^p: differs from what is written at its position: set `a`, `b`"):
        value.to_bytes()


@pytest.mark.parametrize("streams", [False, True], ids=["layout", "streamed"])
def test_a_number_may_be_a_size_and_choose_a_type(streams: bool, tmp_path: Path) -> None:
    schema = CONDITIONS.replace(", if: n > 4", "").replace("size: 1", "size: n").replace("n * 2", "n")
    made = module(schema.replace("2: p, 4: q", "1: p, 2: q"), tmp_path, streams=streams)
    assert made.X(n=0, a=3, b=made.P(1)).to_bytes() == b"\1\3\1"
    with pytest.raises(EncodeError, match=r"X.n: no value of it is right for b|^b: "):
        made.X(n=0, a=3, b=made.Q(1)).to_bytes()


def _plainly(value: Any) -> Any:
    """An object as the plan has it."""
    if hasattr(value, "__dataclass_fields__"):
        return Object(
            (each.name, _plainly(getattr(value, each.name))) for each in fields(value) if each.compare
        )
    return [_plainly(each) for each in value] if isinstance(value, list) else value


def test_the_plan_computes_the_same_of_layouts(codec: Codec, tmp_path: Path) -> None:
    made = codec(OTHER_SIZES)
    part = made.Part(data=b"xyz")
    sizes = made.X(a=b"abcd", hdr=made.Hdr(0, 7), b=[1, 2], p=part, flags=0x30, c=b"ccccc", d=b"d" * 300)
    sizes.e = made.Part(data=b"e")
    longer = copy.deepcopy(sizes)
    longer.a, longer.n, longer.hdr.len, longer.tag = b"ab", None, None, None
    odd = copy.deepcopy(sizes)
    odd.a = b"abc"
    flags = codec(FLAGS)
    several = codec(SEVERAL).X
    cases: dict[str, list[Any]] = {
        OTHER_SIZES: [sizes, longer, odd],
        FLAGS: [
            flags.X(a=5, kind=1, c=flags.P(3)),
            flags.X(has_a=True, a=None, has_b=True, kind=5),
            flags.X(b=8),
        ],
        SEVERAL: [
            several(n=1, m=21, a=b"a" * 20, k=3, b=b"bbb"),
            several(n=1, m=21, a=b"a" * 22),
            several(n=1, m=None, a=b"a" * 22),
            several(n=1, m=21, a=b"a" * 20, k=1, b=b"bb"),
        ],
    }
    for number, (schema, values) in enumerate(cases.items()):
        writer = Writer(program_of(load(write(tmp_path / f"plan{number}", schema))))
        for value in values:
            given = _plainly(value)
            before = copy.deepcopy(given)
            found = [_written(lambda: writer.write("x", given)), _written(value.to_bytes)]  # noqa: B023  # called here
            assert found[0] == found[1], value
            assert given == before


@pytest.mark.parametrize("target", ["go", "rust", "c", "typescript", "java"])
def test_other_languages_compare_what_they_do_not_compute(target: str, tmp_path: Path) -> None:
    for number, schema in enumerate((OTHER_SIZES, SEVERAL, VERSIONED)):
        assert render_all(write(tmp_path / str(number), schema), targets=(target,)).modules
    assert render_all(ROOT / "schemas/tier", targets=(target,)).modules


def _written(write_it: Callable[[], bytes]) -> object:
    try:
        return write_it()
    except EncodeError as error:
        return error.path, error.reason


VERSIONED = """\
-versions: 0-1
params: [{id: version, type: s2}]
seq:
- {id: len_a, type: u1}
- {id: a, size: len_a}
- {id: num, type: u1}
- {id: b, type: u2, repeat: expr, repeat-expr: num * 2, if: version >= 1, -since: 1}
- {id: h, type: hdr}
- {id: c, size: h.len}
types:
  hdr: {seq: [{id: len, type: u1}]}
"""


def test_types_with_versions_compute_too(codec: Codec) -> None:
    made = codec(VERSIONED)
    value = made.X(a=b"abc", b=[1, 2, 3, 4], c=b"cc")
    assert value.to_bytes(version=1) == b"\3abc\2\0\1\0\2\0\3\0\4\2cc"
    assert made.X(a=b"abc", num=7, c=b"cc").to_bytes(version=0) == b"\3abc\7\2cc"


@pytest.mark.parametrize("streams", [False, True], ids=["layout", "streamed"])
def test_bytes_after_the_object_are_an_error_by_default(streams: bool, tmp_path: Path) -> None:
    x = module("seq:\n- {id: a, type: u2}\n", tmp_path, streams=streams).X
    for given in ({}, {"exact": True}):
        with pytest.raises(Malformed) as caught:
            x.from_bytes(b"\0\1xyz", **given)
        assert (caught.value.path, caught.value.at, caught.value.need, caught.value.have) == ("", 2, 0, 3)
    assert x.from_bytes(b"\0\1xyz", exact=False).a == 1
    assert x.read_from(b"..\0\1xyz", 2) == (x(a=1), 4)
    with pytest.raises(Truncated) as short:
        x.read_from(b"..\0\1xyz", 2, 3)
    assert (short.value.path, short.value.at, short.value.need, short.value.have) == ("a", 2, 2, 1)


def test_bytes_after_the_object_may_be_those_of_instances(codec: Codec) -> None:
    made = codec(
        "seq:\n- {id: a, type: u1}\n- {id: p, type: part}\n"
        "types:\n  part:\n    seq: [{id: b, type: strz, encoding: ASCII}]\n"
        "    instances: {c: {pos: a, type: u1}, a: {value: 3}}\n"
        "  alone: {seq: [{id: rest, type: item, repeat: eos}]}\n  item: {seq: [{id: d, type: u2}]}\n"
    )
    value = made.X.from_bytes(b"\1b\0\x07")
    assert value.p.c == 7
    assert made.X.from_bytes(b"\1b\0\x07", exact=True) == value
    with pytest.raises(Malformed, match="does not describe"):
        made.X.from_bytes(b"\1b\0\x07more", exact=True)
    assert [each.d for each in made.Alone.each_of(b"\0\1\0\2", "rest")] == [1, 2]


def test_elements_one_by_one_are_followed_by_nothing_else(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: n, type: u1}\n- {id: items, type: item, repeat: expr, repeat-expr: n, if: n > 0}\n"
        "types:\n  item: {seq: [{id: d, type: u1}]}\n"
    ).X
    found = x.each_of(b"\1\5rest", "items")
    assert next(found).d == 5
    with pytest.raises(Malformed, match="exact=False"):
        list(found)
    assert [each.d for each in x.each_of(b"\1\5rest", "items", exact=False)] == [5]


ERRORS = """\
seq:
- {id: magic, contents: [K, 0]}
- {id: n, type: u1, valid: {max: 9}}
- {id: a, size: n}
- {id: kind, type: u2, enum: kind}
- {id: num, type: u4}
- {id: items, type: item, repeat: expr, repeat-expr: num}
- {id: len_p, type: s4, valid: {min: 0}}
- {id: p, type: part, size: len_p}
- {id: t, type: str, size: 3, encoding: ASCII, valid: {any-of: ['"abc"', '"xyz"']}}
- {id: q, type: item, repeat: eos}
types:
  item: {seq: [{id: x, type: u1}, {id: y, type: u2le, valid: {min: 1}}]}
  part: {seq: [{id: z, type: u2}, {id: rest, size-eos: true}]}
enums: {kind: {1: one}}
"""


def test_both_report_the_same_errors(tmp_path: Path) -> None:
    layout = module(ERRORS, tmp_path / "layout", streams=False)
    streamed = module(ERRORS, tmp_path / "streamed", streams=True)
    value = layout.X(a=b"ab", kind=1, items=[layout.Item(1, 2), layout.Item(3, 4)], t="abc")
    value.p, value.q = layout.Part(z=5, rest=b"r"), [layout.Item(5, 6)]
    data = value.to_bytes()
    changed = [data, data + b"z", *(data[:size] for size in range(len(data)))]
    for at in range(len(data)):
        changed += [data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :] for mask in (1, 0x80, 0xFF)]

    def outcome(made: Any, data: bytes) -> object:
        try:
            return made.X.from_bytes(data).to_bytes()
        except FormatError as error:
            return type(error), error.path, error.at, error.need, error.have, error.reason

    found = [outcome(layout, each) for each in changed]
    assert found == [outcome(streamed, each) for each in changed]
    assert 50 < sum(isinstance(each, tuple) for each in found) < len(found)


def test_messages_keep_the_version_that_they_were_read_with() -> None:
    member = MemberMetadata(member_id="m")
    value = GroupMetadataValue(version=3, members=[member])
    data = value.to_bytes()
    for read in (GroupMetadataValue.from_bytes, in_python(GroupMetadataValue.from_bytes)):
        found = read(data)
        (inner,) = found.members
        assert (inner.version, member.version) == (3, None)
        assert inner == member
        assert inner.to_bytes() == member.to_bytes(version=3) != inner.to_bytes(version=0)
    topic = TopicRecord.from_bytes(TopicRecord(name="t").to_bytes(version=0), version=0)
    assert (topic.version, topic.to_bytes()) == (0, topic.to_bytes(version=0))
    with pytest.raises(EncodeError, match="version: not given"):
        member.to_bytes()
    with pytest.raises(EncodeError, match="version: not given"):
        in_python(MemberMetadata.to_bytes)(member)


LENGTHS = """\
-topic: t
seq:
- {id: len_a, type: u1, valid: {min: 2}, -derive: length_of(a) + 2}
- {id: a, size: len_a - 2}
- {id: len_t, type: u2, -derive: length_of(t)}
- {id: t, type: str, size: len_t, encoding: UTF-8}
- {id: num_b, type: u1, -derive: count_of(b)}
- {id: b, type: item, repeat: expr, repeat-expr: num_b}
- {id: len_p, type: u1, -derive: length_of(p)}
- {id: p, type: item, size: len_p}
- {id: len_r, type: u1, -derive: length_of(r..s)}
- {id: r, type: u1}
- {id: s, type: u2}
- {id: has_c, type: u1}
- {id: num_c, type: u1, -derive: count_of(c), if: has_c != 0}
- {id: c, type: u1, repeat: expr, repeat-expr: num_c, if: has_c != 0}
instances:
  more: {value: len_a + num_b}
types:
  item: {seq: [{id: len_x, type: u1, -derive: length_of(x)}, {id: x, size: len_x}]}
"""


def test_derived_lengths_of_layouts_are_read_only_members(codec: Codec) -> None:
    made = codec(LENGTHS)
    value = made.X(a=b"abc", t="h\u00e9", b=[made.Item(b"x"), made.Item(b"yy")], p=made.Item(b"zzz"))
    assert (value.len_a, value.len_t, value.num_b, value.len_p, value.len_r) == (5, 3, 2, 4, 3)
    assert (value.num_c, value.b[1].len_x, value.more) == (None, 2, 7)
    value.has_c, value.c = 1, [1, 2]
    assert value.num_c == 2
    data = value.to_bytes()
    read = made.X.from_bytes(data)
    assert (read, read.to_bytes(), read.len_p) == (value, data, 4)
    with pytest.raises(AttributeError):
        read.len_a = 3
    header = RecordBody(key=b"key", headers=[])
    assert (header.len_key, header.len_value, Record(body=header).len_body) == (3, -1, 9)


@pytest.mark.parametrize("schema", [MEMBERS, SIZES, OTHER_SIZES, SEVERAL, ERRORS])
def test_sizes_and_places_are_the_same_in_both(schema: str, tmp_path: Path) -> None:
    layout = module(schema, tmp_path / "layout", streams=False)
    streamed = module(schema, tmp_path / "streamed", streams=True)
    for name in {each for each in layout.__all__ if hasattr(getattr(layout, each), "from_bytes")}:
        one, other = (
            {key: getattr(getattr(made, name), key, None) for key in ("SIZE", "MIN_SIZE", "PLACES")}
            for made in (layout, streamed)
        )
        assert one == other, name


FORMED = """\
-roles: {form: kind, length: len, shown: flags.b}
seq:
- {id: kind, type: u1, valid: {any-of: [4, 2, 3]}}
- {id: more, type: u2, if: kind == 3, -default: 7}
- {id: len, type: u1}
- {id: flags, type: f}
- {id: late, type: s8, if: kind >= 3, -default: 0}
- {id: body, size: len}
types:
  f: {seq: [{id: a, type: b7}, {id: b, type: b1}]}
"""


def test_places_by_form(tmp_path: Path) -> None:
    made = module(FORMED, tmp_path, streams=False).X
    assert made.ROLES == {"form": "kind", "length": "len", "shown": "flags.b"}
    assert made.FORMS == {
        2: {"kind": (0, ">B"), "len": (1, ">B"), "flags": (2, ""), "body": (3, "")},
        3: {
            "kind": (0, ">B"),
            "more": (1, ">H"),
            "len": (3, ">B"),
            "flags": (4, ""),
            "late": (5, ">q"),
            "body": (13, ""),
        },
        4: {"kind": (0, ">B"), "len": (1, ">B"), "flags": (2, ""), "late": (3, ">q"), "body": (11, "")},
    }
    for kind, places in made.FORMS.items():
        value = made.from_bytes(bytes([kind]) + bytes(places["body"][0] - 1))
        value.body = b"xy"
        data = value.to_bytes()
        assert (data[places["len"][0]], data[places["body"][0] :]) == (2, b"xy")


def test_the_level_of_zlib_is_an_option_of_writers(codec: Codec) -> None:
    x = codec("seq:\n- {id: n, type: u2}\n- {id: a, size: n, process: zlib}\n").X
    value = x(a=b"some text, some text, " * 20)
    sizes = [len(value.to_bytes(WriteOptions(level))) for level in (0, 9)]
    assert sizes[0] > 440 > sizes[1]
    assert x.from_bytes(value.to_bytes(opt=WriteOptions(0))).a == value.a
    with pytest.raises(EncodeError, match=r"^a: zlib: "):
        value.to_bytes(WriteOptions(99))


TABLED = """\
seq:
- {id: magic, contents: [K]}
- {id: len_a, type: u1, -derive: length_of(a)}
- {id: a, size: len_a}
- {id: n, type: u2}
- {id: p, type: part(n)}
instances:
  twice: {value: n * 2}
types:
  part:
    params: [{id: width, type: u2}]
    seq: [{id: data, size: width}]
"""
PARSED = {
    False: "seq:\n- id: a\n  type: {switch-on: kind, cases: {1: p}}\n  size-eos: true\n"
    "instances: {kind: {pos: _io.pos, type: u1}}\ntypes: {p: {seq: [{id: k, type: u1}]}}\n",
    True: "seq: [{id: a, type: u1}]\ninstances: {kind: {pos: 0, type: u1}}\n",
}


def _members(made: Any, parsed: Any, *, streams: bool) -> dict[str, bool]:
    """Whether what each row of the table says holds."""
    data = b"K\2ab\0\3xyz"
    x = made.X
    value = x.from_bytes(data)

    def refuses(action: Callable[[], object], error: type[Exception]) -> bool:
        with pytest.raises(error):
            action()
        return True

    derived = value.len_a == 2
    if streams:
        value.len_a = 9
    else:
        derived = derived and refuses(lambda: setattr(value, "len_a", 9), AttributeError)
    value.p.width = 3
    new: Any = made.Part(data=b"")
    fixed = (vars(x)["magic"] == b"K") is not streams
    peeked = parsed.X.from_bytes(b"\1").kind == 1
    peeked = peeked and isinstance(vars(parsed.X)["kind"], property)
    return {
        "`T.from_bytes(data)`": refuses(lambda: x.from_bytes(data + b"!"), Malformed),
        "`T.read_from(buf, pos, end)`": x.read_from(b"." + data, 1, len(data) + 1)[1] == len(data) + 1,
        '`T.each_of(data, "rows")`': list(x.each_of(data, "p.data")) == list(b"xyz"),
        "`value.to_bytes(opt)`": value.to_bytes() == value.to_bytes(WriteOptions(9)) == data,
        "`T.SIZE`, or `T.MIN_SIZE`": (x.MIN_SIZE, hasattr(x, "SIZE")) == (4, False),
        "`T.PLACES`": x.PLACES["len_a"] == (1, ">B"),
        "fields": (value.n, value.a) == (3, b"ab"),
        "fields with `contents`": value.magic == b"K" and fixed,
        "lengths and counts with `-derive`": derived,
        "parameters": new.width is None and refuses(lambda: made.Part.from_bytes(b""), TypeError),
        "value instances": value.twice == 6 and refuses(lambda: setattr(value, "twice", 1), AttributeError),
        "parse instances": peeked,
    }  # fmt: skip


@pytest.mark.parametrize("streams", [False, True], ids=["layout", "streamed"])
def test_the_page_lists_the_members(streams: bool, tmp_path: Path) -> None:
    made = module(TABLED, tmp_path / "table", streams=streams)
    parsed = module(PARSED[streams], tmp_path / "parsed", streams=streams)
    page = (ROOT / "docs/generated-modules.md").read_text("utf-8")
    table = page.partition("| member | content |\n|---|---|\n")[2].partition("\n\n")[0]
    found = _members(made, parsed, streams=streams)
    assert [row.split(" | ")[0].removeprefix("| ") for row in table.splitlines()] == list(found)
    assert [name for name, holds in found.items() if not holds] == []
