"""JSON of others is bounded before it is built."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from kodec.runtime.foreign_json import read_json, whole_number


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, 2.5, "x\\"],[\\\\", null, true, {}]}', "[]", "7", '"[[[[,,,,"', "1e308", "9" * 400],
)
def test_json_is_what_it_is(text: str) -> None:
    assert read_json(text.encode(), most_values=10) == json.loads(text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[" + b"[]," * 10 + b"[]]", "more than 10 values"),
        (b"[" + b"1," * 10 + b"1]", "more than 10 values"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "nested deeper"),
        (b"[" * 1_000_000, "more than|nested deeper"),
        (b"]" * 21 + b"[" * 5, "values|Expecting"),
        (b"1e999", "too large for a number"),
        (b"-1e999", "too large for a number"),
        (b"NaN", "not a number of JSON"),
        (b"[-Infinity]", "not a number of JSON"),
        (b"9" * 401, "401 digits"),
        (b'"\xff"', "utf-8"),
        ("[[],[]]".encode("utf-16"), "utf-8"),
        (b'"' + b"\\" * 1_000_001, "Unterminated|escape"),
        (b'"a" "b', "Extra data"),
        (b"", "Expecting value"),
    ],
)
def test_what_is_refused(data: bytes, reason: str) -> None:
    most = 1_000 if b"{" in data else 10
    with pytest.raises(ValueError, match=reason):
        read_json(data, most_values=most)


def test_nothing_is_built_of_what_is_refused() -> None:
    data = b"[" + b"[]," * 1_000_000 + b"[]]"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than"):
            read_json(data, most_values=1_000)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [], -(1 << 63) - 1, 1 << 64])
def test_a_whole_number(value: object) -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        whole_number(value)
    assert whole_number((1 << 64) - 1) == (1 << 64) - 1
