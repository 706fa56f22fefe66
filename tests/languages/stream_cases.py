"""Bytes of streamed types, and what the plan's reader makes of them: what languages are compared with."""

from __future__ import annotations

import json
import random
import re
import struct
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
from kodec.generator.wire import CHECKSUMS, SUMS
from kodec.runtime import crc
from kodec.runtime.checksums import CHECKSUMS as VALUES
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
# sums and tests that would nest deeper than any compiler takes
LONG = f"""
meta: {{id: long, endian: be}}
seq:
- {{id: a, type: u4}}
- {{id: b, type: s1}}
- {{id: t, type: strz, encoding: ASCII}}
- {{id: c, size: 1, repeat: eos}}
instances:
  sum: {{value: "{" + ".join(["a", "b", "a % 7"] * 100)}"}}
  text: {{value: "{" + ".join(["t", "b.to_s"] * 100)}"}}
  any: {{value: "{" or ".join(f"b == {number}" for number in range(-128, 128, 2))}"}}
  wrong: {{value: "{" + ".join(["b"] * 100)} + c[b].length + {" + ".join(["b / b"] * 100)}"}}
"""
_TEXT = b"\5\2a\0\1\0\4" + struct.pack(">H", 5 + 2 + 97 + 1 + 4 + 64)
_SUMS = [name for name, bits in CHECKSUMS.items() if bits and name not in SUMS]
_ALL = b"12345678901"
_PACKED = {
    form: (found := zlib.compressobj(wbits=bits)).compress(_ALL) + found.flush()
    for form, bits in (("deflate", -15), ("zlib", 15), ("gzip", 31))
}
# what is derived, and bytes in which it is right
DERIVED = {
    "lengths": (
        "seq:\n- {id: l, type: u1, -derive: length_of(a..b) + 1}\n- {id: n, type: u1, -derive: count_of(b)}\n"
        "- {id: a, terminator: 0}\n- {id: b, type: u1, repeat: until, repeat-until: _ == 0}\n"
        "- {id: p, type: u1, -derive: position_of(b)}\n"
        "- {id: s, type: u2, -derive: {value: sum(l..s) & 0xffff, own: 0x20}}\n",
        _TEXT,
    ),
    "conditions": (
        "seq:\n- {id: f, type: u1}\n"
        "- {id: c, type: u4, if: f < 3, -derive: {value: crc32(a..a), when: f >= 1}}\n"
        "- {id: m, type: s2, -derive: {value: length_of(a), verify: at_least}}\n"
        "- {id: o, type: u1, -derive: {value: length_of(a), verify: no}}\n"
        "- {id: d, type: str, size: 2, encoding: ASCII, -derive: length_of(a).to_s}\n- {id: a, size: 12}\n",
        b"\1" + struct.pack(">IHB2s", zlib.crc32(_ALL + b"2"), 14, 9, b"12") + _ALL + b"2",
    ),
    "around": (
        "seq:\n- {id: h, type: h}\n- {id: l, type: p, repeat: expr, repeat-expr: 2}\n"
        "- {id: a, terminator: 0}\n"
        "types:\n  h:\n    seq:\n    - {id: c, type: u2, -derive: {value: crc32(_parent.a) & 0xffff}}\n"
        "    - {id: k, type: u1, -derive: count_of(_parent.l)}\n"
        "  p:\n    seq:\n    - {id: q, type: u1}\n"
        "    - {id: s, type: u1, -derive: {value: xor(q..s), own: 1}}\n"
        "    - {id: t, type: u1, -derive: length_of(_root.a)}\n",
        struct.pack(">H", zlib.crc32(b"ab\0") & 0xFFFF) + b"\2\7\6\3\0\1\3ab\0",
    ),
    "positions": (
        "seq:\n- {id: o, type: u1, -derive: position_of(b)}\n- {id: n, type: u1, -derive: length_of(b)}\n"
        "- {id: c, type: u4, -derive: crc32c(b)}\ninstances:\n  b: {pos: o, size: n, if: o != 9}\n",
        b"\7\3" + struct.pack(">I", crc.crc32c(b"abc")) + b"-abc",
    ),
    "parts": (
        "seq:\n- {id: n, type: v, -derive: {value: length_of(a) + 2, into: value}}\n- {id: z, type: u1}\n"
        "- {id: a, size: z, type: p}\n"
        "types:\n  v: {seq: [{id: g, type: b7}, {id: m, type: b1}], instances: {value: {value: g * 2}}}\n"
        "  p:\n    seq:\n    - {id: x, type: u1}\n    - {id: c, size: 1}\n"
        "    - {id: y, type: u2le, -derive: sum(x..c) % 7, if: x > 9}\n",
        b"\6\4\na\2\0",
    ),
    "checksums": (
        "seq:\n- {id: a, size: 11}\n"
        + "".join(f"- {{id: d_{name}, type: u4, -derive: {name}(a)}}\n" for name in _SUMS)
        + "".join(f"- {{id: d_{name}, type: u8, -derive: {name}(a)}}\n" for name in SUMS),
        _ALL
        + b"".join(struct.pack(">I", VALUES[name](_ALL)) for name in _SUMS)
        + b"".join(struct.pack(">Q", VALUES[name](_ALL)) for name in SUMS),
    ),
    "digests": (
        "seq:\n- {id: a, size: 11}\n- {id: m, size: 16, -derive: md5(a)}\n"
        "- {id: s, size: 20, -derive: sha1(a)}\n"
        "- {id: t, size: 32, -derive: sha256(a)}\n- {id: u, size: 64, -derive: sha512(a)}\n",
        _ALL + b"".join(VALUES[name](_ALL) for name in ("md5", "sha1", "sha256", "sha512")),
    ),
} | {
    form: (
        f"seq:\n- {{id: c, type: u4, -derive: {{value: crc32(a), unpack: {form}}}}}\n"
        "- {id: a, size-eos: true}\n",
        struct.pack(">I", zlib.crc32(_ALL)) + data,
    )
    for form, data in _PACKED.items()
}


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
    add("long", LONG, list(near(b"\x80\1\2\3\1ab\0xy", random.Random(0), 30)))
    for name, (schema, right) in DERIVED.items():
        text = f"meta: {{id: d_{name}, endian: be}}\n{schema}"
        add(f"d_{name}", text, list(near(right, random.Random(name), 30)))
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
