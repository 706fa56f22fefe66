"""Sizes by each operator: where the bytes end is `pos` and the size, whatever binds less tightly than `+`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaProblem
from kodec.runtime.errors import EncodeError, Malformed

SIZES: dict[str, Callable[[int], int]] = {
    "n": lambda n: n,
    "n + 1": lambda n: n + 1,
    "n * 2 + 1": lambda n: n * 2 + 1,
    "n & 3": lambda n: n & 3,
    "n | 4": lambda n: n | 4,
    "n ^ 1": lambda n: n ^ 1,
    "n << 1": lambda n: n << 1,
    "n >> 1": lambda n: n >> 1,
    "n > 4 ? 2 : 1": lambda n: 2 if n > 4 else 1,
    "(n & 1) + (n >> 2)": lambda n: (n & 1) + (n >> 2),
}
SCHEMA = """
seq:
  - {id: first, type: u4}
  - {id: n, type: u1}
  - {id: blob, size: "SIZE"}
  - {id: text, type: str, size: "SIZE", encoding: ASCII}
  - {id: part, type: part, size: "SIZE"}
  - {id: numbers, type: u1, repeat: expr, repeat-expr: "SIZE"}
  - {id: last, type: u1}
types:
  part:
    seq:
      - {id: rest, size-eos: true}
"""
ROWS = """
seq:
  - {id: rows, type: row, repeat: eos}
types:
  row:
    -row:
      columns: [first, n, blob, text, last]
    seq:
      - {id: first, type: u4}
      - {id: n, type: u1}
      - {id: blob, size: "SIZE"}
      - {id: text, type: str, size: "SIZE", encoding: ASCII}
      - {id: last, type: u1}
"""


@pytest.mark.parametrize("size", SIZES)
def test_a_size_ends_where_it_says(size: str, codec: Callable[..., ModuleType]) -> None:
    module = codec(SCHEMA.replace("SIZE", size))
    for n in range(10):
        count = SIZES[size](n)
        data = bytes([0, 0, 0, 9, n]) + b"b" * count + b"t" * count + b"p" * count + b"n" * count + b"\x07"
        found = module.X.from_bytes(data)
        assert (found.blob, found.text, found.part.rest) == (b"b" * count, "t" * count, b"p" * count)
        assert found.numbers == [ord("n")] * count
        assert (found.n, found.last, found.to_bytes()) == (n, 7, data)


@pytest.mark.parametrize("size", SIZES)
def test_a_size_in_rows_ends_where_it_says(size: str, codec: Callable[..., ModuleType]) -> None:
    module = codec(ROWS.replace("SIZE", size))
    counts = [SIZES[size](n) for n in range(10)]
    data = b"".join(
        bytes([0, 0, 0, 9, n]) + b"b" * count + b"t" * count + b"\x07" for n, count in enumerate(counts)
    )
    found = module.X.from_bytes(data).rows
    assert [(each.n, len(each.blob), len(each.text), each.last) for each in found] == [
        (n, count, count, 7) for n, count in enumerate(counts)
    ]
    assert module.X.from_bytes(data).to_bytes() == data


STREAMED = """
seq:
  - {id: n, type: u1}
  - {id: part, type: part, size: n & 3}
  - {id: numbers, type: u1, repeat: expr, repeat-expr: n & 3}
  - {id: few, type: u1, repeat: until, repeat-until: _ == 0, valid: {max: n | 1}}
  - {id: last, terminator: 0}
instances:
  there: {pos: n & 3, type: u1, if: n > 1}
types:
  part:
    seq:
      - {id: rest, size-eos: true}
"""


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        (
            SCHEMA.replace("SIZE", "n & 3"),
            [
                "stop = pos + (n & 3)",
                'span("blob", n & 3, pos, end)',
                'stop = span("part", n & 3, pos, end)',
                "if opt.settling or len(v.blob) != v.n & 3:",
                "if opt.settling or len(v.numbers) != v.n & 3:",
            ],
        ),
        (
            STREAMED,
            [
                "if item > self.n | 1:",
                'part = io.part(self.n & 3, self.part, "part")',
                "if (item == 0) != (i + 1 == len(self.few)):",
                "if not (self.n > 1):",
                'io = self._seek(self._io, self.n & 3, "there")',
            ],
        ),
    ],
)
def test_parentheses_stand_where_python_needs_them(
    schema: str, lines: list[str], codec: Callable[..., ModuleType]
) -> None:
    text = inspect.getsource(codec(schema))
    assert [line for line in lines if line not in text] == []


NEGATIVE = """
seq:
  - {id: n, type: s1}
  - {id: few, size: n - 3, if: n != 0, -default: empty}
  - {id: last, type: u1}
types:
  counted:
    seq:
      - {id: n, type: u1}
      - {id: numbers, type: u2, repeat: expr, repeat-expr: n - 3}
  held:
    seq:
      - {id: n, type: u1}
      - {id: part, type: part, size: n - 3}
  part: {seq: [{id: rest, size-eos: true}]}
"""


@pytest.mark.parametrize(
    ("kind", "data", "reason", "field"),
    [
        ("X", "0207", "negative size", "few"),
        ("X", "8007", "negative size", "few"),
        ("Counted", "02", "negative count", "numbers"),
        ("Held", "00", "negative size", "part"),
    ],
)
def test_a_negative_size_is_refused_where_it_is_read(
    kind: str, data: str, reason: str, field: str, codec: Callable[..., ModuleType]
) -> None:
    module = codec(NEGATIVE)
    with pytest.raises(Malformed) as caught:
        getattr(module, kind).from_bytes(bytes.fromhex(data))
    error = caught.value
    assert (error.path, error.reason, error.at, error.need) == (field, reason, 1, "at least 0")
    read = module.X.from_bytes(bytes.fromhex("05616207"))
    assert (read.few, module.X(n=None, few=b"ab", last=7).to_bytes()) == (b"ab", bytes.fromhex("05616207"))


LEFT = """
seq:
  - {id: len, type: u2, -derive: length_of(kind..data)}
  - {id: kind, type: u1, valid: {any-of: [2, 3]}}
  - {id: more, type: u4, if: kind == 3, -default: 5}
  - {id: data, size: 'len - (kind > 2 ? 5 : 1)'}
types:
  wrong:
    seq:
      - {id: len, type: u2, -derive: length_of(kind..data)}
      - {id: kind, type: u1}
      - {id: more, type: u4, if: kind >= 2, -default: 5}
      - {id: data, size: 'len - (kind >= 2 ? 9 : 1)'}
  unknown:
    seq:
      - {id: len, type: u2, -derive: length_of(part..data)}
      - {id: part, type: part}
      - {id: data, size: len - 3, if: part.n != 0, -default: empty}
  listed:
    seq:
      - {id: len, type: u2, -derive: length_of(part..data)}
      - {id: part, type: part}
      - {id: data, type: u2, repeat: expr, repeat-expr: len / 2 - 1}
  two:
    seq:
      - {id: short, type: u1}
      - {id: len, type: u1, -derive: length_of(data)}
      - {id: data, size: len - short}
  part:
    seq:
      - {id: n, type: u1}
      - {id: value, size: n}
"""


def test_a_size_is_what_the_others_leave(codec: Callable[..., ModuleType]) -> None:
    module = codec(LEFT)
    assert module.X(kind=2, data=b"ab").to_bytes() == bytes.fromhex("0003026162")
    assert module.X(kind=3, more=9, data=b"ab").to_bytes() == bytes.fromhex("000703000000096162")
    assert "held_of" not in inspect.getsource(module.write_x)  # the schema shows it
    assert module.Wrong(kind=1, data=b"ab").to_bytes() == bytes.fromhex("0003016162")
    part = module.Part(n=2, value=b"ab")
    assert module.Unknown(part=part, data=b"xyz").to_bytes() == bytes.fromhex("000602616278797a")
    part = module.Part(n=1, value=b"a")
    assert module.Listed(part=part, data=[7, 8]).to_bytes() == bytes.fromhex("0006016100070008")
    assert module.Two(short=0, data=b"ab").to_bytes() == b"\x00\x02ab"


@pytest.mark.parametrize(
    ("kind", "values", "need", "have", "reason"),
    [
        ("Wrong", {"kind": 2, "more": 9, "data": b"ab"}, -2, 2, "wrong size"),
        ("Unknown", {"part": b"abc", "data": b"xyz"}, 4, 3, "wrong size"),
        ("Unknown", {"part": b"ab", "data": b""}, 0, 0, ""),
        ("Listed", {"part": b"abc", "data": [7, 8]}, 3, 2, "wrong number of elements"),
        ("Two", {"short": 1, "data": b"ab"}, "1 bytes", "2 bytes", "wrong size"),
    ],
)
def test_a_writer_refuses_a_size_that_its_reader_would_not_read(
    kind: str,
    values: dict[str, Any],
    need: object,
    have: object,
    reason: str,
    codec: Callable[..., ModuleType],
) -> None:
    module = codec(LEFT)
    if "part" in values:
        values = {**values, "part": module.Part(n=len(values["part"]), value=values["part"])}
    made = getattr(module, kind)(**values)
    if not reason:
        assert getattr(module, kind).from_bytes(made.to_bytes()) == made
        return
    with pytest.raises(EncodeError) as caught:
        made.to_bytes()
    error = caught.value
    assert (error.path, error.need, error.have) == ("data", need, have)
    assert error.reason.startswith(reason)


def test_a_size_that_fits_some_values_is_noted(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(f"meta: {{id: x, endian: be}}\n{LEFT}")
    notes: list[SchemaProblem] = []
    render_all(tmp_path, targets=["python"], notes=notes)
    assert [(each.path, each.text.partition(",")[0]) for each in notes] == [
        ("x.wrong.data", "`size` reads -4 where a writer writes 0")
    ]
