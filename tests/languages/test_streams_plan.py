"""The plan of streamed schemas reads and writes as the generated Python: values, errors, places, bytes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
import yaml

from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.objects import Node
from kodec.generator.driver import load
from kodec.generator.modules import Modules
from kodec.generator.plan.dump import from_json, to_json
from kodec.generator.plan.steps import Program
from kodec.generator.plan.streams import streams_of
from kodec.generator.problems import SchemaError
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.streams import ByteSource, StreamNode
from tests.fuzz import grammar
from tests.generator.test_streams import ALL

from . import plan_writing
from .cases import CODES

OPT = ReadOptions(elements=1000, depth=40, decompressed_bytes=1 << 16)
MADE = 60
_DEEPEST = 4


def outcome(read: Any) -> Any:
    """What a reader gives, or its error."""
    try:
        return read()
    except FormatError as error:
        return "error", CODES[type(error).__name__], error.path, error.at


def planned(reader: Machine, value: Any, deep: int = 0) -> Any:
    """A value that the plan gives, with all instances that are read."""
    if isinstance(value, Node):
        assert value.unit.streamed is not None
        found = {each.name: planned(reader, value.values.get(each.name), deep) for each in value.unit.fields}
        for each in value.unit.streamed.instances:
            if deep < _DEEPEST:
                name = each.name
                found[name] = outcome(lambda: planned(reader, reader.member(value, name), deep + 1))  # noqa: B023  # called here
        return found
    if isinstance(value, list):
        return [planned(reader, each, deep) for each in value]
    return plain(value)


def generated(program: Program, value: Any, names: dict[type, str], deep: int = 0) -> Any:
    """The same of an object of a generated class."""
    if isinstance(value, StreamNode):
        at = program.units[names[type(value)]]
        assert at.streamed is not None
        found = {
            each.name: generated(program, getattr(value, attribute(each.name)), names, deep)
            for each in at.fields
        }
        for each in at.streamed.instances:
            if deep < _DEEPEST:
                name = attribute(each.name)
                found[each.name] = outcome(
                    lambda: generated(program, getattr(value, name), names, deep + 1)  # noqa: B023  # called here
                )
        return found
    if isinstance(value, list):
        return [generated(program, each, names, deep) for each in value]
    return plain(value)


def plain(value: Any) -> Any:
    if isinstance(value, IntEnum):
        value = int(value)
    if isinstance(value, ByteSource) or type(value).__name__ == "Stream":
        return "stream"
    return "nan" if value != value else (type(value).__name__, value)


def near(data: bytes, drawn: random.Random, count: int) -> Iterator[bytes]:
    yield data
    for _ in range(count):
        changed = bytearray(data[: drawn.choice((len(data), drawn.randrange(len(data) + 1)))])
        for _ in range(drawn.randrange(3) if changed else 0):
            changed[drawn.randrange(len(changed))] = drawn.choice((0, 1, 0xFF, drawn.randrange(256)))
        yield bytes(changed)


def compare(model: Model, inputs: list[bytes], name: str = "x") -> tuple[int, int, Counter[str]]:
    """How many inputs both read the same way, how many of these they refuse, and what both write."""
    program = streams_of(model, Kinds(model))
    code = Code(program)
    assert from_json(to_json(program)) == program
    back = ModelIndex(model)
    refused, written = 0, Counter[str]()
    with Modules(model) as modules:
        schema = next(each for each in model.schemas if each.id == name)
        names = {
            getattr(modules.of(each), back.classes[struct.name]): struct.name
            for each in model.schemas
            if each.streamed
            for struct in each.structs
        }
        kind = getattr(modules.of(schema), back.classes[name])
        for index, data in enumerate(inputs):
            reader = Machine(code, data, OPT)
            mine = outcome(lambda: planned(reader, reader.read(name)))  # noqa: B023  # called here
            # the plan's reader stops where the object ends
            other = outcome(
                lambda: generated(program, kind.from_bytes(data, opt=OPT, exact=False), names)  # noqa: B023  # called here
            )
            assert mine == other, data
            if isinstance(mine, tuple):
                refused += 1
            elif index % 4 == 0:
                written += plan_writing.compare(program, kind, name, data, random.Random(index))
    return len(inputs), refused, written


@pytest.mark.parametrize("row", ALL)
def test_a_plan_reads_and_writes_each_construct_as_the_generated_python(row: str, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text("meta: {id: x, endian: be}\n" + ALL[row].schema)
    model = load(tmp_path)
    if model.schema("x").streamed:
        compare(model, list(near(ALL[row].data, random.Random(row), 30)))


def test_a_plan_reads_and_writes_made_up_schemas_as_the_generated_python(tmp_path: Path) -> None:
    count = read = refused = 0
    written = Counter[str]()
    for seed in range(MADE):
        drawn = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "x.ksy").write_text(yaml.safe_dump(grammar.made(drawn, "x"), sort_keys=False))
        try:
            model = load(folder)
        except SchemaError:
            continue
        if not model.schema("x").streamed:
            continue
        inputs = [
            drawn.choice((drawn.randbytes(64), bytes(64), bytes(drawn.choices((0, 1, 2, 3), k=64))))
            for _ in range(10)
        ]
        found = compare(model, inputs)
        count, read, refused = count + 1, read + found[0], refused + found[1]
        written += found[2]
    assert count > MADE // 2 and 0 < refused < read
    assert written["bytes"] > 100 and written["error"] > 20
