"""Sizes by each operator: where the bytes end is `pos` and the size, whatever binds less tightly than `+`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType

import pytest

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
