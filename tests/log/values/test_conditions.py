"""Conditions that a person writes hold where they report it, and can do nothing else."""

from __future__ import annotations

import pytest

import kodec
from kodec.log.values.conditions import condition
from kodec.runtime.errors import ArgumentError

RECORD = kodec.Record(
    offset=7,
    timestamp=1000,
    key=b"customer-1",
    value=b'{"amount": 150, "tags": ["x", "y"], "who": {"name": "Ada"}, "none": null, '
    b'"big": 9007199254740993}',
    headers=(("trace", b"12"), ("empty", None)),
)


@pytest.mark.parametrize(
    "text",
    [
        "offset == 7",
        "value.amount > 100 and key == 'customer-1'",
        'value["who"]["name"] == "Ada"',
        "value.tags[0] == 'x' and value.tags[-1] == \"y\"",
        "'y' in value.tags",
        "'tom' in key",
        "value.who.name in ['Ada', 'Grace']",
        "not value.amount < 100",
        "100 < value.amount <= 150",
        "value.none == null and value.nothing == None",
        "value.nothing.further[3] is None",
        "value.amount != '150'",
        "not value.amount > '1' and not value.amount < '1'",
        "value.big == 9007199254740993",
        "headers.trace == 12 and headers.empty == null",
        "timestamp >= 1000 or value.boom",
        "value.amount > -1.5",
        "'a' not in value.amount",
        " value",
    ],
)
def test_it_holds(text: str) -> None:
    assert condition(text)(RECORD) is True
    assert condition(f"not ({text})")(RECORD) is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        "value.amount >",
        "value.amount + 1 > 2",
        "key.upper() == 'A'",
        "__import__('os')",
        "[each for each in value]",
        "lambda: 1",
        "nothing == 1",
        "f'{value}'",
        "value[1:2]",
        "value if key else key",
        "(value := 3)",
        "b'x' == key",
        "value.a = 3",
        "(" * 3000 + "1" + ")" * 3000,
        "not " * 100_000 + "1",
        "\0",
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ArgumentError):
        condition(text)


def test_values_that_are_no_json() -> None:
    assert condition("value == 'plain text'")(kodec.Record(value=b"plain text"))
    assert condition("value == null")(kodec.Record(value=None))
    assert not condition("value.a == 1")(kodec.Record(value=b"\xff"))
    assert not condition("value.a == 1")(kodec.Record(value=b"[" * 100_000))
