"""The intermediate code: its operations, and how it is executed."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kodec.generator.code import stream_writer, typed, writer
from kodec.generator.code.ir import OPS, Do, Let, Op, Set
from kodec.generator.code.lower_read import reader_of
from kodec.generator.code.lower_stream_write import stream_writer_of
from kodec.generator.code.lower_write import writer_of
from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.operations import Frame
from kodec.generator.code.typed_read import typed_of
from kodec.generator.code.writer import Writer
from kodec.generator.driver import load, render_all
from kodec.generator.json_values import JsonValues
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import values_of
from kodec.generator.plan.streams import streams_of
from kodec.generator.schema.expression_types import Kinds
from kodec.runtime.errors import EncodeError, LimitExceeded, Malformed
from tests.data import ROOT, TESTS

SCHEMAS = ROOT / "schemas"


def machine_of(model: Any, data: bytes) -> Machine:
    return Machine(Code(streams_of(model, Kinds(model))), data)


def test_the_machine_has_every_operation_and_no_other() -> None:
    methods = {*vars(Frame), *vars(writer.Frame), *vars(stream_writer.Frame)}
    assert {name for name in methods if name.startswith("op_")} == {f"op_{name}" for name in OPS}


@pytest.mark.parametrize("args", [(), ("le", "u4", 1), ("u4", "le", "a", "b")])
def test_an_operation_with_other_arguments_is_refused(args: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="number takes"):
        Op("number", args)


def test_results_are_used_and_only_results() -> None:
    model = load(SCHEMAS)
    layouts, streams = program_of(model), streams_of(model, Kinds(model))
    units = [*layouts.units.values(), *streams.units.values()]
    code = [reader_of(each, layouts.units if each.streamed is None else streams.units) for each in units]
    written = [(writer_of if each.streamed is None else stream_writer_of)(each) for each in units]
    seen = set()
    for node in values_of(([each.read for each in code], written)):
        if isinstance(node, Do):
            assert not OPS[node.op.name].gives, node.op
        elif isinstance(node, (Let, Set)) and isinstance(node.value, Op):
            assert OPS[node.value.name].gives, node.value
            seen.add(node.value.name)
    assert seen >= {"run", "load", "object", "text", "unpack", "encoded", "as_bits", "follow", "part"}


def test_what_is_written_of_any_value_is_read_and_written_the_same() -> None:
    """Values that differ from right ones at one place, also in their type, are written so or refused."""
    folder, draw, count = (
        TESTS / "languages" / "formats",
        random.Random(7),
        Counter[str](),
    )
    program = program_of(load(folder))
    of, code, values = Writer(program), Code(program), JsonValues(program)
    for text in render_all(folder, targets=("vectors",)).modules.values():
        for each in json.loads(text)["vectors"] if "vectors" in text else ():
            if "value" not in each:
                continue
            name, by_name = each["type"], each.get("arguments", {})
            arguments = tuple(
                by_name.get(p.name, each.get("version")) for p in program.units[name].parameters
            )
            for value in changed(values.of(name, each["value"]), draw):
                before = copy.deepcopy(value)
                try:
                    data = of.write(name, value, arguments)
                except EncodeError as error:
                    count["not given" if "not given" in error.reason else "refused"] += 1
                else:
                    count["written"] += 1
                    assert of.write(name, Machine(code, data).read(name, arguments), arguments) == data
                # what was computed is taken back
                assert value == before
    assert min(count.values()) > 50 and len(count) == 3, count


def changed(value: Any, draw: random.Random) -> Iterator[Any]:
    for _ in range(4):
        result = at = copy.deepcopy(value)
        while keys := [*at] if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ():
            key = draw.choice(keys)
            if not isinstance(at[key], (dict, list)) or draw.random() < 0.3:
                at[key] = draw.choice((None, 0, 7, -1, 1 << 70, "x", b"xy", [], True, {}, 0.5))
                break
            at = at[key]
        yield result


def test_bits_after_others_are_recorded_where_they_are(model: Callable[..., Any]) -> None:
    schema = "seq: [{id: a, type: u1}, {id: b, type: b3}, {id: c, type: b5}, {id: z, terminator: 0}]"
    machine = machine_of(model(schema), b"\x01\xa1\x00")
    machine.read("x")
    assert [(each.path, each.bits) for each in machine.reads][:3] == [
        (("a",), (0, 8)),
        (("b",), (8, 11)),
        (("c",), (11, 16)),
    ]


def test_an_error_shows_an_object_that_holds_what_holds_it(model: Callable[..., Any]) -> None:
    schema = (
        "seq: [{id: a, type: t(_root), valid: {expr: _.q > 2}}]\n"
        "types: {t: {params: [{id: r, type: struct}], seq: [{id: q, type: u1}, {id: z, terminator: 0}]}}"
    )
    with pytest.raises(Malformed, match=r"have t\(q=1, z=b''\)"):
        machine_of(model(schema), b"\x01\x00").read("x")


def test_objects_nest_as_deep_as_the_options_allow(model: Callable[..., Any]) -> None:
    schema = (
        "seq:\n- {id: n, type: u1}\n"
        "- {id: a, if: n == 1, repeat: expr, repeat-expr: 1, type: {switch-on: n, cases: {1: x, 2: u1}}}\n"
        "- {id: z, terminator: 0, if: n == 0}\n"
    )
    with pytest.raises(LimitExceeded, match="nested too deep: need 101, limit 100"):
        machine_of(model(schema), b"\x01" * 200).read("x")


def test_every_field_without_typed_code_is_named(model: Callable[..., Any]) -> None:
    """However deep its statements are, and whatever comes before and after it."""
    schema = """
seq:
- {id: n, type: u1}
- {id: a, size: 1, process: my.codec(n)}
- {id: b, type: u1, repeat: expr, repeat-expr: n}
- {id: c, size: 1, process: my.codec(n), repeat: expr, repeat-expr: 2}
- {id: d, type: u1, if: n > 1, valid: 3}
- {id: e, size: 1, process: my.codec(n), if: n > 1}
- {id: f, size: 2, type: {switch-on: n, cases: {1: t}}, process: my.codec(n)}
- {id: g, type: t}
instances:
  h: {pos: 0, size: 1, process: my.codec(n)}
types:
  t: {seq: [{id: z, type: u1}]}
"""
    checked = model(schema)
    codes, lacking = typed_of(streams_of(checked, Kinds(checked)))
    assert {name for unit, name, _ in lacking if unit == "x"} == set("acefh")
    assert all(why.startswith("its process `") for _, _, why in lacking)
    assert len(lacking) == 5
    assert [each.target.args[-1] for each in codes["x::t"].body if isinstance(each, typed.Set)] == ["z"]
