"""Schemas made at random, read by stock ksc's Python and by ours: the same values, or both refuse.

Where ksc is known to take what we refuse (docs/kaitai-differences.md lists it), the test reports it by the
reason of our error.
"""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import enum
import importlib
import random
import struct
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kaitaistruct
import pytest
import yaml

from kodec.generator.driver import generate
from kodec.runtime.errors import FormatError
from tests.data import TESTS

FORMATS = TESTS / "generator/formats"
SCHEMAS = 40
INPUTS = 50
# what ksc reads and we do not: bytes after the content of a sized field, and counts beyond the bytes there are
LAXER = ("bytes are left over", "more elements than bytes")


class Maker:
    """One random schema within the supported subset, as the mapping that YAML writes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.types: dict[str, Any] = {}
        self.counter = 0

    def name(self) -> str:
        self.counter += 1
        return f"n{self.counter}"

    def schema(self, ident: str) -> dict[str, Any]:
        endian = self.random.choice(["be", "le"])
        root = self.type(3, last=True)
        meta = {"id": ident, "endian": endian, "encoding": "ASCII"}
        return {
            "meta": meta,
            **root,
            # what only layouts have: streams are compared by tests/foreign
            "-topic": "t",
            "types": self.types,
            "enums": {"kind": {0: "none", 1: "some", 7: "seven"}},
        }

    def type(self, depth: int, last: bool = False, params: tuple[str, ...] = ()) -> dict[str, Any]:
        known = list(params)
        seq: list[dict[str, Any]] = [{"id": self.name(), "type": "u1"}]
        known.append(seq[0]["id"])
        instances: dict[str, Any] = {}
        for _ in range(self.random.randint(1, 5)):
            for field in self.field(depth, known):
                if self.random.random() < 0.25 and not str(field.get("type", "")).startswith("b"):
                    field["if"] = self.condition(known)
                elif field.get("type") in ("u1", "u2", "u4le") and not {"repeat", "enum"} & field.keys():
                    known.append(field["id"])
                seq.append(field)
            if self.random.random() < 0.3:
                ident = self.name()
                instances[ident] = {"value": self.number(known)}
                known.append(ident)
        if last:
            seq.append(self.tail(depth))
        made: dict[str, Any] = {"seq": seq}
        if instances:
            made["instances"] = instances
        return made

    def number(self, known: list[str]) -> str:
        one, two = self.random.choice(known), self.random.choice(known)
        return self.random.choice(
            [f"{one} + {two}", f"{one} * 3 + 1", f"({one} & 0x0f) | {two}", f"{one} / 2 ^ 5", f"{one} > 20 ? {two} : 7",
             f"{one} >> 1", f"~(~{one})", f"{one} % 5 + {two} % 3"]
        )  # fmt: skip

    def condition(self, known: list[str]) -> str:
        one, two = self.random.choice(known), self.random.choice(known)
        return self.random.choice(
            [
                f"{one} > 40",
                f"{one} % 2 == 0",
                f"{one} < {two} or {one} == 7",
                f"not ({one} >= 3 and {two} != 1)",
            ]
        )

    def size(self, known: list[str]) -> int | str:
        if self.random.random() < 0.5:
            return self.random.randint(0, 6)
        return f"{self.random.choice(known)} % {self.random.randint(2, 9)}"

    def integer(self) -> str:
        text = self.random.choice("us") + self.random.choice("1248")
        return text if text[1] == "1" else text + self.random.choice(["", "le", "be"])

    def field(self, depth: int, known: list[str]) -> list[dict[str, Any]]:
        kinds = [
            "integer",
            "bits",
            "bytes",
            "str",
            "enum",
            "float",
            "valid",
            "repeat",
            "until",
            "switch",
            "u1",
        ]
        kinds += ["type", "sized", "param"] * (depth > 0)
        kind = self.random.choice(kinds)
        field: dict[str, Any] = {"id": self.name()}
        if kind == "bits":
            return self.bits()
        if kind in ("integer", "u1"):
            field["type"] = self.integer() if kind == "integer" else self.random.choice(["u1", "u2", "u4le"])
        elif kind == "bytes":
            field["size"] = self.size(known)
        elif kind == "str":
            field |= {"type": "str", "size": self.size(known)}
        elif kind == "enum":
            field |= {"type": self.random.choice(["u1", "s2le"]), "enum": "kind"}
        elif kind == "float":
            field["type"] = self.random.choice(["f8le", "f8be"])
        elif kind == "valid":
            rule = self.random.choice(
                [{"max": 250}, {"min": 1}, {"expr": "_ != 9"}, {"any-of": list(range(200))}]
            )
            field |= {"type": "u1", "valid": rule}
        elif kind == "repeat":
            field |= {
                "repeat": "expr",
                "repeat-expr": f"{self.random.choice(known)} % 4",
            } | self.random.choice(
                [
                    {"type": self.integer()},
                    {"size": 2},
                    {"type": "str", "size": self.size(known)},
                    {"type": "u1", "enum": "kind"},
                ]
            )
        elif kind == "until":
            field |= {"type": "u1", "repeat": "until", "repeat-until": f"_ < 30 or {field['id']}.size == 3"}
        elif kind == "switch":
            cases: dict[Any, str] = {0: self.integer(), 1: self.integer()}
            if depth > 0:
                cases[2] = self.new_type(depth - 1)
            if depth > 0 and self.random.random() < 0.5:
                # not of numbers: ksc reads them as if the field had no size
                cases = {0: cases[2], 1: self.new_type(depth - 1)}
                field |= {
                    "type": {"switch-on": f"{self.random.choice(known)} % 4", "cases": cases},
                    "size": self.size(known),
                }
            else:
                field["type"] = {
                    "switch-on": f"{self.random.choice(known)} % 4",
                    "cases": {**cases, "_": "u1"},
                }
        elif kind == "param":
            made, param = self.name(), self.name()
            self.types[made] = {
                "params": [{"id": param, "type": "u1"}],
                **self.type(depth - 1, params=(param,)),
            }
            field["type"] = f"{made}({self.random.choice(known)} % 9)"
        else:
            field["type"] = self.new_type(depth - 1)
            if kind == "sized":
                field["size"] = self.size(known)
            elif self.random.random() < 0.3:
                field |= {"repeat": "expr", "repeat-expr": f"{self.random.choice(known)} % 3"}
        return [field]

    def new_type(self, depth: int) -> str:
        name = self.name()
        self.types[name] = self.type(depth)
        return name

    def bits(self) -> list[dict[str, Any]]:
        left = self.random.choice([8, 16, 24, 40, 64, 72])
        fields = []
        while left:
            width = min(left, self.random.choice([1, 1, 2, 3, 5, 8, 13, 31, 64]))
            fields.append({"id": self.name(), "type": f"b{width}"})
            left -= width
        return fields

    def tail(self, depth: int) -> dict[str, Any]:
        field: dict[str, Any] = {"id": self.name()}
        choice = self.random.choice(["bytes", "ints", "types", "str"])
        if choice == "bytes":
            return field | {"size-eos": True}
        if choice == "str":
            return field | {"type": "str", "size-eos": True}
        return field | {
            "type": self.integer() if choice == "ints" else self.new_type(depth - 1),
            "repeat": "eos",
        }


def data_of(chance: random.Random) -> bytes:
    """Bytes in which small numbers are common, as sizes and counts are read from them."""
    return bytes(
        chance.choice([chance.randrange(256), chance.randrange(64), chance.randrange(4)])
        for _ in range(chance.randrange(160))
    )


def same(ours: Any, stock: Any, path: str) -> None:
    """Every value of ours is the value that ksc read; what ksc does not have, was not there."""
    if isinstance(stock, enum.Enum):
        stock = stock.value
    if isinstance(ours, list):
        if not isinstance(stock, list):
            (stock,) = [
                value for key, value in vars(stock).items() if key[0] != "_" and isinstance(value, list)
            ]
        assert len(ours) == len(stock), path
        for index, (one, other) in enumerate(zip(ours, stock, strict=True)):
            same(one, other, f"{path}[{index}]")
    elif hasattr(ours, "__slots__") and hasattr(ours, "to_bytes") and not isinstance(ours, int):
        for name in ours.__slots__:
            if hasattr(stock, name):
                same(getattr(ours, name), getattr(stock, name), f"{path}.{name}")
    elif isinstance(ours, float):
        assert struct.pack("d", ours) == struct.pack("d", stock), path
    else:
        stock = getattr(stock, "value", stock)
        assert ours == stock and isinstance(ours, bool) == isinstance(stock, bool), path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All random schemas, with what we make of them."""
    folder = tmp_path_factory.mktemp("random")
    (folder / "schemas").mkdir()
    for seed in range(SCHEMAS):
        spec = Maker(seed).schema(f"random_{seed}")
        (folder / "schemas" / f"random_{seed}.ksy").write_text(yaml.safe_dump(spec, sort_keys=False))
    generate(folder / "schemas", folder / "ours_random")
    return folder


@pytest.mark.thorough
def test_random_schemas(made: Path, ksc: Callable[..., Any]) -> None:
    stock = ksc(made / "schemas")
    sys.path.insert(0, str(made))
    seen: Counter[str] = Counter()
    try:
        for seed in range(SCHEMAS):
            ours = getattr(importlib.import_module(f"ours_random.random_{seed}"), f"Random{seed}")
            chance = random.Random(seed)
            for _ in range(INPUTS):
                seen[compare(ours, stock(f"random_{seed}"), data_of(chance), f"random_{seed}")] += 1
    finally:
        sys.path.remove(str(made))
    assert seen["same"] > SCHEMAS * INPUTS // 5, seen
    assert seen["both refuse"] > SCHEMAS * INPUTS // 20, seen


def compare(ours: Any, stock: Any, data: bytes, name: str) -> str:
    """Read the same bytes with both."""
    theirs: Any = None
    try:
        theirs = stock.from_bytes(data)
    except (EOFError, kaitaistruct.ValidationFailedError, UnicodeDecodeError) as error:
        refused: Exception | None = error
    else:
        refused = None
    try:
        value, end = ours.read_from(data)
    except FormatError as error:
        if refused is None and error.reason.startswith(LAXER):
            return "laxer"
        # an error message that only an unreadable schema would give is a defect
        assert refused is not None, f"{name}: only we refuse {data.hex()}: {error}"
        return "both refuse"
    if isinstance(refused, UnicodeDecodeError):
        # we keep bytes that are not text, as surrogates
        assert value.to_bytes() == data[:end]
        return "bytes that are no text"
    assert refused is None, f"{name}: only ksc refuses {data.hex()}: {refused!r}"
    same(value, theirs, name)
    assert value.to_bytes() == data[:end], f"{name}: not written back: {data.hex()}"
    return "same"


def test_formats(ksc: Callable[..., Any], tmp_path: Path) -> None:
    """The same for the formats by hand, with values that the generated writer wrote."""
    stock = ksc(FORMATS)
    generate(FORMATS, tmp_path / "ours_formats")
    sys.path.insert(0, str(tmp_path))
    try:
        log = importlib.import_module("ours_formats.sensor_log")
        message = importlib.import_module("ours_formats.sensor_message")
    finally:
        sys.path.remove(str(tmp_path))
    readings = [
        log.Reading(delta=d, sensor=s, value=v, note=n)
        for d, s, v, n in ((0, 1, -5, None), (300, 2, 2**31 - 1, "hi"))
    ]
    blocks = [log.Block(base_time=-1, readings=readings), log.Block(readings=readings[:1])]
    station = log.Station(serial=2**32 - 1, latitude=-0.5, name="gr\u00fcn")
    data = log.SensorLog(station=station, blocks=blocks).to_bytes()
    same(log.SensorLog.from_bytes(data), stock("sensor_log").from_bytes(data), "sensor_log")
    for version in range(3):
        extra = {} if version == 0 else {"unit": 2}
        values = (
            [message.Value(exact=0.25)] if version == 2 else [message.Value(raw=-7), message.Value(raw=9)]
        )
        data = message.SensorMessage(version=version, sensor=9, values=values, **extra).to_bytes()
        same(
            message.SensorMessage.from_bytes(data),
            stock("sensor_message").from_bytes(data),
            f"version {version}",
        )
