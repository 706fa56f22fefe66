"""The comparison with stock ksc finds what differs: members, moments, and what no case lists."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import enum
import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kodec.generator.driver import load, render_all
from kodec.generator.targets.vectors import streams
from kodec.runtime.streams import ByteSource, StreamNode
from tests.foreign import compare, run
from tests.foreign.compare import (
    ASKS_REFUSED,
    BITS_OF_BOTH_ORDERS,
    Note,
    Reader,
    Twin,
    judge,
    mixes_bits,
    work,
)
from tests.ksc import oracle

Readers = Callable[[str], Reader]


class Ours(enum.IntEnum):
    ONE = 1
    TWO = 2


class Theirs(enum.IntEnum):
    one = 1
    two = 2


STREAM = """
seq:
- {id: n, type: u1}
- {id: name, type: strz, encoding: ASCII}
instances:
  twice: {value: n * 2}
  behind: {pos: n, type: u1}
  here: {value: _io.pos}
"""


@pytest.fixture
def readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Readers:
    """Both readers of a schema with the id `compared`."""

    def make(text: str) -> Reader:
        schema = f"meta: {{id: compared, endian: be}}\n{text}"
        (tmp_path / "compared.ksy").write_text(schema)
        tree = yaml.load(schema, Loader=oracle.CoreLoader)
        assert oracle.compile_each([(tmp_path / "ksc", {"compared": tree})]) == [[]]
        package = Path(tempfile.mkdtemp(dir=tmp_path)) / "ours"
        package.mkdir()
        made = render_all(tmp_path, package="ours", targets=("python",), formatted=False)
        for path, module in made.modules.items():
            (package / path).write_text(module)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("ours", "compared")]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "path", list(sys.path))
        compare.mended(tmp_path / "ksc" / "python")
        found = Reader.load(package, "compared", "Compared", tmp_path / "ksc" / "python", "compared")
        found.mixes_bits = mixes_bits(load(tmp_path))
        return found

    return make


def test_every_member_of_ksc_is_compared(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = readers(STREAM)
    assert reader.judge(b"\x01ab\0").verdict == "agree"
    for name, found in (
        ("twice", property(lambda self: 3)),
        ("behind", property(lambda self: None)),
        ("here", property(lambda self: self._io.pos - 1)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(reader.ours, name, found)
            finding = reader.judge(b"\x01ab\0")
            assert finding.verdict == "wrong" and finding.reason.startswith(f".{name}: ")
    # one that ours does not have at all, and one that is not a number
    for name in ("twice", "behind"):
        with monkeypatch.context() as patch:
            patch.delattr(reader.ours, name)
            assert reader.judge(b"\x01ab\0").reason == f".{name}: ksc has it, ours has not"
    with monkeypatch.context() as patch:
        patch.setattr(reader.ours, "twice", property(lambda self: True))
        assert reader.judge(b"\x01ab\0").verdict == "wrong"


def test_what_ours_has_and_ksc_has_not_is_found(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = readers("seq:\n- {id: n, type: u1}\n- {id: a, terminator: 0, if: n > 1}\n")
    assert reader.judge(b"\x01a\0").verdict == "agree"
    read = reader.ours._read  # type: ignore[attr-defined]  # generated

    def with_more(self: Any, io: ByteSource) -> None:
        read(self, io)
        self.a = b"x"

    monkeypatch.setattr(reader.ours, "_native", None)
    monkeypatch.setattr(reader.ours, "_read", with_more)
    assert reader.judge(b"\x01a\0").reason == ".a: b'x', ksc has none"


def test_an_instance_that_ksc_could_not_read_leaves_its_stream_where_it_was(readers: Readers) -> None:
    reader = readers(
        "seq: [{id: n, type: u1}]\ninstances:\n  a: {pos: 0, size: 9}\n  b: {value: _io.pos}\n  z: {type: strz, pos: 2, encoding: ASCII}\n"
    )
    assert reader.judge(b"\x01ab").verdict == "agree"


TEXT = "seq:\n- {id: a, size: 2, type: p}\n- {id: z, terminator: 0}\ntypes:\n  p: {seq: [{id: t, type: str, size: 1, encoding: ASCII}]}\n"


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (1, 1.0), (1.0, 2), (True, 1), (0, False), (0.0, -0.0), (b"a", "a"), ("a", b"a"), (b"", None), ([], None),
        ([], b""), ([97], b"a"), (None, []), (Ours.ONE, 1), (1, Theirs.one), (Ours.TWO, Theirs.one),
        (Ours.ONE, Theirs.two), (2**64, 2.0**64),
    ],
)  # fmt: skip
def test_values_that_only_look_alike_differ(mine: Any, theirs: Any) -> None:
    with pytest.raises(compare._Differs):
        compare._Comparison().same(mine, theirs, "x")


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [(1, 1), (True, True), (-0.0, -0.0), (float("nan"), float("nan")), (b"a", b"a"), ("é", "é"),
     (Ours.ONE, Theirs.one), (2**70, 2**70), ([[1], []], [[1], []]), (None, None)],
)  # fmt: skip
def test_the_same_values_are_the_same(mine: Any, theirs: Any) -> None:
    compare._Comparison().same(mine, theirs, "x")


def test_a_whole_number_in_the_place_of_a_float_is_a_case() -> None:
    comparison = compare._Comparison()
    comparison.same(24000.0, 24000, ".rows[3].seconds")
    assert comparison.notes == {Note("laxer", "rows.seconds", compare.WHOLE)}


PLACED = """
seq: [{id: n, type: u1}, {id: a, type: p, size: 2}, {id: b, type: q, size: 2}]
types:
  p: {seq: [{id: x, type: u1}]}
  q: {seq: [{id: x, type: u1}], instances: {y: {pos: 0, type: p}}}
"""


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("_parent", None, "._parent: "),
        ("_io", ByteSource.of(b"ab"), "._io: "),
    ],
)
def test_objects_are_in_the_same_place(readers: Readers, name: str, value: Any, found: str) -> None:
    reader = readers(PLACED)
    assert reader.judge(b"\1ab12").verdict == "agree"
    read = type(reader.read_ours(b"\1ab12").b)._read

    def moved(self: Any, io: ByteSource) -> None:
        read(self, io)
        setattr(self, name, value)

    kind = type(reader.read_ours(b"\1ab12").b)
    reader.ours._native = kind._native = None  # type: ignore[attr-defined]  # generated
    kind._read = moved
    assert reader.judge(b"\1ab12").reason.startswith(f".b{found}")


def test_a_type_of_ours_is_one_of_ksc_s(readers: Readers) -> None:
    reader = readers(PLACED)
    kinds = sys.modules[reader.ours.__module__]
    read = reader.ours._read  # type: ignore[attr-defined]  # generated
    reader.ours._native = None  # type: ignore[attr-defined]  # generated

    def with_another(self: Any, io: ByteSource) -> None:
        read(self, io)
        other = kinds.P(self.b.x)
        other._io, other._parent = self.b._io, self
        self.b = other

    reader.ours._read = with_another  # type: ignore[attr-defined]  # generated
    assert reader.judge(b"\1ab12").reason == ".b: P != Compared.Q"


def test_text_that_ksc_refuses_hides_nothing(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = readers(TEXT + "instances: {i: {value: z.size}}\n")
    found = reader.judge(b"\xffa\0")
    # everything else is the same: there is nothing to explain
    assert (found.verdict, found.notes) == ("laxer", ()) and "Compared.z" in found.members
    monkeypatch.setattr(reader.ours, "i", property(lambda self: 7))
    found = reader.judge(b"\xffa\0")
    assert found.verdict == "wrong" and found.reason.startswith(".i: 7")


def test_names_that_python_reserves_are_read(readers: Readers) -> None:
    reader = readers(
        "doc: 'a \\N path'\nseq: [{id: class, type: u1, enum: e}]\ninstances: {ok: {value: class == e::not}}\n"
        "enums: {e: {6: not, 7: global}}\n"
    )
    found = reader.judge(b"\6")
    assert found.verdict == "agree" and found.members == {"Compared.class_", "Compared.ok"}, found.reason


def test_objects_are_arguments(readers: Readers) -> None:
    reader = readers(
        "params: [{id: given, type: p}, {id: all, type: 'p[]'}]\nseq: [{id: n, size: given.x}]\n"
        "types: {p: {seq: [{id: x, type: u1}]}}\n"
    )
    kinds = sys.modules[reader.ours.__module__]
    inner = Reader(kinds.P, reader.theirs.P)
    twin = Twin(inner.read_ours(b"\2"), inner.read_theirs(b"\2"))
    reader.arguments = {"given": twin, "all": [twin, twin]}
    found = reader.judge(b"abc")
    assert found.verdict == "agree" and {"Compared.given", "Compared.all", "Compared.P.x"} <= found.members


def test_a_member_that_a_rule_explains_is_named(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = readers(TEXT)
    monkeypatch.setattr(reader, "_kept", lambda data, nodes: None)  # as in modules that are not `mended`
    finding = reader.judge(b"\xffa\0")
    why = "text that is not of its encoding"
    assert (finding.verdict, finding.notes) == ("laxer", (Note("laxer", "Compared.P.t", why),))
    assert reader.judge(b"aa\0").notes == ()
    # ksc's refusal alone explains nothing
    reader.ours.from_bytes = classmethod(  # type: ignore[attr-defined]  # generated
        lambda cls, data, **named: StreamNode.from_bytes.__func__(cls, b"ab\0")  # type: ignore[attr-defined]
    )
    assert reader.judge(b"\xffa\0").verdict == "wrong"


def test_what_no_case_lists_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "listed.ksy").write_text(f"meta: {{id: listed, endian: be}}\n{TEXT}")
    (tmp_path / "sample").write_bytes(b"\xffa\0")
    oracle.compile_schemas(tmp_path / "ksc", ("python",), schemas)
    corpus = run.Corpus(
        "tests", oracle.schemas(schemas), tmp_path / "ksc" / "python", {}, {"listed": tmp_path / "sample"}
    )
    empty = tmp_path / "exceptions.yaml"
    empty.write_text("[]")
    monkeypatch.setattr(run, "EXCEPTIONS", empty)
    found = run.alone(corpus, "listed", quick=True)
    assert found.verdict == "wrong"
    assert found.reasons == ["not listed: laxer: Listed.P.t: text that is not of its encoding"]
    empty.write_text(run.as_exceptions([found]))
    assert run.alone(corpus, "listed", quick=True).verdict == "taken"


def test_a_sample_that_both_refuse_is_a_case_too(readers: Readers) -> None:
    reader = readers(TEXT)
    assert judge(reader, b"a", "seed", 0).notes == {Note("both", "a / Compared.a", "both refuse the sample")}


def test_an_endless_instance_is_refused_after_as_many_steps(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "PATIENCE", 0)  # 0: the timer never fires
    reader = readers(
        """
seq: [{id: kind, type: u1}]
instances: {parts: {pos: 0, type: {switch-on: kind, cases: {1: u1}}, repeat: eos}, twice: {value: kind * 2}}
"""
    )
    assert reader.judge(b"\1ab").refused == ()
    steps = set()
    for _ in range(2):
        before = work.done
        found = reader.judge(b"\0ab")
        assert (found.verdict, found.refused) == (
            "agree", (Note("both", "Compared.parts", "both refuse the instance"),)
        )  # fmt: skip
        assert "Compared.twice" in found.members
        steps.add(work.done - before)
    assert len(steps) == 1 and compare.STEPS < min(steps) < 2 * compare.STEPS
    most = judge(reader, None, "seed", 3 * compare.STEPS, [bytes(9)] * 99, inner=True)
    assert most.verdicts["ended early"] == 1 and most.verdicts["agree"] < 9


def test_a_search_that_ended_early_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.ksy").write_text(
        f"meta: {{id: x, endian: be}}\n{STREAM}types: {{y: {{seq: [{{id: a, type: u1}}]}}}}\n"
    )
    model = load(tmp_path, streams=True)
    found, ended_early = run.searched(model, "x")
    assert set(found) == {"x", "x::y"} and not ended_early
    monkeypatch.setattr(streams, "MOST_STEPS", 20)
    assert run.searched(model, "x")[1]


def test_the_cases_are_in_order() -> None:
    groups = yaml.safe_load(run.EXCEPTIONS.read_text("utf-8"))
    assert [set(group) for group in groups] == [{"side", "why", "cases"}] * len(groups)
    keys = [(group["side"], group["why"]) for group in groups]
    assert keys == sorted(set(keys)) and {side for side, _ in keys} <= {"stricter", "laxer", "both"}
    for group in groups:
        assert list(group["cases"]) == sorted(group["cases"])
        assert all(members == sorted(set(members)) and members for members in group["cases"].values())


@pytest.mark.parametrize(
    ("fields", "mixes"),
    [
        ("{id: a, type: b12}, {id: b, type: b9le}", True),
        ("{id: a, type: b4}, {id: c, type: u1}, {id: b, type: b9le}", False),
        ("{id: a, type: b3}, {id: c, type: b5}, {id: b, type: b9le}", False),
        ("{id: a, type: b3, if: true}, {id: c, type: b5}, {id: b, type: b9le}", True),
        ("{id: a, type: b3, repeat: expr, repeat-expr: 2}, {id: b, type: b9le}", True),
        ("{id: a, type: t}, {id: b, type: b9le}", True),
    ],
)
def test_bits_of_both_orders_in_one_byte_are_undefined(readers: Readers, fields: str, mixes: bool) -> None:
    types = "types: {t: {seq: [{id: x, type: b4}]}}" if "type: t}" in fields else ""
    reader = readers(f"seq: [{fields}]\n{types}\n")
    data = bytes(range(0x81, 0x91))
    assert reader.mixes_bits == mixes
    found = reader.judge(data)
    if mixes:
        # at least no crash, and the rule is the only reason
        assert found.verdict == "agree" or found.notes == (Note("laxer", "", BITS_OF_BOTH_ORDERS),)
    else:
        assert found.verdict == "agree" and not found.notes
    reader.mixes_bits = False
    assert mixes or reader.judge(data).verdict == "agree"


def test_what_asks_for_an_instance_that_ksc_refuses_is_explained(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = readers(
        """
seq:
- {id: n, type: u1}
instances:
  a: {type: str, size: 2, encoding: ASCII, repeat: expr, repeat-expr: 2}
  b: {size: 1}
  c: {value: 'a[0]'}
"""
    )
    found = reader.judge(b"\x01\xffabcdefgh")
    assert (found.verdict, found.notes) == ("agree", ()), found.reason
    monkeypatch.setattr(reader, "_kept", lambda data, nodes: None)
    found = reader.judge(b"\x01\xffabcdefgh")
    assert found.verdict == "agree", found.reason
    assert {(each.member, each.why) for each in found.notes} == {
        ("Compared.a", "text that is not of its encoding"),
        ("Compared.c", ASKS_REFUSED),
    }
    assert not reader.judge(b"\x01xabcdefgh").notes
