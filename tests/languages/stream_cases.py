"""Bytes of streamed types, and what the plan's reader makes of them: what languages are compared with."""

from __future__ import annotations

import json
import random
import re
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kodec.conformance.same import difference
from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.objects import Node
from kodec.generator.code.objects import Stream as PlanStream
from kodec.generator.driver import load, render_all
from kodec.generator.json_values import to_json
from kodec.generator.plan.streams import streams_of
from kodec.generator.problems import SchemaError
from kodec.generator.schema.expression_types import Kinds
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions
from tests.fuzz import grammar
from tests.generator.test_streams import ALL

from .cases import CODES
from .test_streams_plan import near

MADE = 40
# Names that languages could take for one, and a number that only unsigned ones of 64 bits hold.
NAMES = """
meta: {id: names, endian: be}
seq:
  - {id: body, type: tag_part}
  - {id: kind, type: u1, enum: tag}
  - {id: other, type: u1, enum: tag_part}
  - {id: text, type: strz, encoding: ASCII}
  - {id: same, type: "sized(other.to_i == 255 ? 0x8000_0000_0000_0000 : kind.to_i * 128)"}
  - {id: own, type: names}
types:
  names: {seq: [{id: y, type: u1}]}
  tag_part: {seq: [{id: x, type: u1}]}
  sized: {params: [{id: most, type: u8}], instances: {twice: {value: most + most}}}
enums:
  tag: {1: part, 2: c_1, 3: c1}
  tag_part: {1: x}
"""
OPTIONS = ReadOptions(elements=1000, depth=40, decompressed_bytes=1 << 16)
_DEEPEST = 4


# the limit of decompressed bytes is one for all of an input
INFLATED = """
meta: {id: inflated, endian: be}
seq: [{id: parts, type: part, repeat: eos}]
types:
  part: {seq: [{id: size, type: u1}, {id: data, size: size, process: zlib}]}
"""
# a rule of bits asks for those behind them
AHEAD = """
meta: {id: ahead, endian: be}
seq: [{id: a, type: b4, valid: {expr: b == 1}}, {id: b, type: b4}, {id: z, terminator: 0}]
"""


@dataclass(frozen=True)
class StreamCase:
    """Bytes of a type: the value with all instances, as JSON has it, or {"error": ...}."""

    type: str
    data: bytes
    found: Any


def write_schemas(folder: Path, target: str) -> dict[str, list[bytes]]:
    """Write a schema for each construct, and made-up ones, that a target supports. Returns bytes for each."""
    inputs: dict[str, list[bytes]] = {}

    def add(name: str, text: str, data: list[bytes]) -> None:
        alone = folder.parent / f"{folder.name}_{name}"
        alone.mkdir(parents=True)
        (alone / f"{name}.ksy").write_text(text)
        try:
            if not load(alone).schema(name).streamed:
                return
            render_all(alone, targets=(target,))
        except SchemaError:
            return
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.ksy").write_text(text)
        inputs[name] = data

    add("names", NAMES, [bytes([1, kind, other, 65, 0, 7]) for kind in range(4) for other in range(3)])
    part = zlib.compress(bytes(OPTIONS.decompressed_bytes // 2))
    add("inflated", INFLATED, [(bytes([len(part)]) + part) * count for count in (1, 2, 3)])
    add("ahead", AHEAD, [b"\x11\0", b"\x12\0", b"\x21\0"])
    for number, (row, about) in enumerate(ALL.items()):
        name = f"x{number}"
        schema = re.sub(r"\bx::", f"{name}::", about.schema)
        text = f"meta: {{id: {name}, endian: be}}\n{schema}"
        add(name, text, list(near(about.data, random.Random(row), 30)))
    for seed in range(MADE):
        drawn = random.Random(seed)
        name = f"y{seed}"
        text = yaml.safe_dump(grammar.made(drawn, name), sort_keys=False)
        data = [
            drawn.choice((drawn.randbytes(64), bytes(64), bytes(drawn.choices((0, 1, 2, 3), k=64))))
            for _ in range(10)
        ]
        add(name, text, data)
    return inputs


def stream_cases(folder: Path, inputs: dict[str, list[bytes]]) -> Iterator[StreamCase]:
    """What the plan's reader makes of bytes of each outermost type."""
    model = load(folder)
    code = Code(streams_of(model, Kinds(model)))
    for name, several in inputs.items():
        for data in several:
            reader = Machine(code, data, OPTIONS)
            try:
                found = planned(reader, reader.read(name))
            except FormatError as error:
                found = _failed(error)
            yield StreamCase(name, data, found)


def _failed(error: FormatError) -> dict[str, Any]:
    return {"error": {"code": CODES[type(error).__name__], "path": error.path, "at": error.at}}


def planned(reader: Machine, value: Any, deep: int = 0) -> Any:
    """A value of the plan's reader for JSON, with instances in up to four instances."""
    if isinstance(value, Node):
        assert value.unit.streamed is not None
        found = {each.name: planned(reader, value.values.get(each.name), deep) for each in value.unit.fields}
        for each in value.unit.streamed.instances if deep < _DEEPEST else ():
            try:
                found[each.name] = planned(reader, reader.member(value, each.name), deep + 1)
            except FormatError as error:
                found[each.name] = _failed(error)
        return found
    if isinstance(value, list):
        return [planned(reader, each, deep) for each in value]
    return "stream" if isinstance(value, PlanStream) else to_json(value)


def without_facts(value: Any) -> Any:
    """A value, and of its errors what all languages give."""
    if isinstance(value, list):
        return [without_facts(each) for each in value]
    if isinstance(value, dict):
        kept = ("code", "path", "at") if "code" in value and "path" in value else value
        return {name: without_facts(value[name]) for name in kept if name in value}
    return value


def refused(cases: list[StreamCase]) -> int:
    """How many are an error."""
    return sum(isinstance(each.found, dict) and "error" in each.found for each in cases)


def differences(command: list[str], cases: list[StreamCase]) -> Iterator[str]:
    """Where a testee reads something else."""
    limits = {"limit": OPTIONS.decompressed_bytes, "elements": OPTIONS.elements, "depth": OPTIONS.depth}
    requests = [
        {
            "id": number,
            "do": "decode",
            "type": each.type,
            "bytes": each.data.hex(),
            "instances": True,
            **limits,
        }
        for number, each in enumerate(cases)
    ]
    text = "".join(json.dumps(each) + "\n" for each in requests)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    answers = done.stdout.split("\n")[:-1]
    for case, line in zip(cases, answers, strict=False):
        answer = json.loads(line)
        value = without_facts(answer.get("value", {"error": answer.get("error", answer)}))
        wrong = difference(case.found, value)
        if wrong is not None:
            yield f"{case.type} {case.data.hex()}: {wrong}; {json.dumps(case.found)[:300]}"
    if done.returncode or len(answers) < len(cases):
        yield f"{cases[len(answers)].type} {cases[len(answers)].data.hex()}: {done.stderr[-1500:]}"
