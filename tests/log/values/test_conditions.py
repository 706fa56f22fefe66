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


@pytest.mark.parametrize("depth", [101, 300, 490, 600, 5_000])
@pytest.mark.parametrize("form", ["[{}]", '{{"a": {}}}'])
@pytest.mark.parametrize(
    "text", ["value == 5", "value != null", "value.a == 1", "5 in value", "not value > 5"]
)
def test_a_value_that_nests_too_deep_is_undecided(depth: int, form: str, text: str) -> None:
    """Neither a condition nor its opposite chooses it, and the others are still found."""
    opened, closed = form.format("|").split("|")
    value = f"{opened * depth}1{closed * depth}".encode()
    for header in (False, True):
        part = {"headers": (("a", value),)} if header else {"value": value}
        deep = condition(text.replace("value", "headers.a") if header else text)
        assert deep(kodec.Record(**part)) is False
        assert "nested deeper than 100" in str(deep.omissions.items[0])
        assert len(deep.omissions.items) == 1
    shallow = f"{opened * 100}1{closed * 100}".encode()
    assert condition("value != null")(kodec.Record(value=shallow)) is True


@pytest.mark.parametrize(
    "data", [b"1\x002\x00", b"1\0\0\x002\0\0\0", b"\xff\xfe1\0", b"\xfe\xff\x001", b"\xef\xbb\xbf12"]
)
def test_bytes_are_no_json_in_another_encoding(data: bytes) -> None:
    """Python would guess UTF-16 and UTF-32, and binary data would be numbers."""
    assert condition("value == 12 or value == 1")(kodec.Record(value=data)) is False


@pytest.mark.parametrize("number", ["1.2345678901234567890123456789012345", "1e999999999", "1e-999999"])
def test_a_number_with_a_sign_is_exact(number: str) -> None:
    record = kodec.Record(value=f"-{number}".encode())
    assert condition(f"value == -{number}")(record) is True
    assert condition("value == -1.2345678901234567890123456789")(record) is False


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("value.amount = 4", "value.amount == 4"),
        ("key = 'a=b' and value.a == 1", "key == 'a=b' and value.a == 1"),
        ('value.a >= 1 and key="="', 'value.a >= 1 and key=="="'),
    ],
)
def test_one_equals_sign_is_two(text: str, meant: str) -> None:
    with pytest.raises(kodec.errors.ArgumentError, match=r"`==` compares, `=` does not: (.*)") as raised:
        condition(text)
    assert str(raised.value).endswith(f": {meant}")
    condition(meant)


@pytest.mark.parametrize("text", ["value.a ==", "key == '=", "value.a >= "])
def test_other_mistakes_have_no_such_hint(text: str) -> None:
    with pytest.raises(kodec.errors.ArgumentError) as raised:
        condition(text)
    assert "compares" not in str(raised.value)
