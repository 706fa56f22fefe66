"""What Kaitai's own tests expect is understood, and what is not met is found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import pytest

from kodec.runtime.errors import Truncated
from tests.foreign.asserts import actual, checked, expected, same


class Animal(IntEnum):
    CAT = 7


@dataclass
class Inner:
    text: str = "ab"
    data: bytes = b"\1\2"
    numbers: Any = (1,)


@dataclass
class Root:
    inner: Inner
    pet: Any = Animal.CAT
    class_: int = 3
    fails: ClassVar[Any] = None

    @classmethod
    def from_bytes(cls, data: bytes, *, exact: bool) -> Root:
        if not data:
            raise Truncated("inner", at=0, need=1, have=0)
        return cls(Inner(numbers=[5, 6]))

    @property
    def late(self) -> int:
        raise Truncated("late", at=1, need=1, have=0)


ROOT = Root(Inner(numbers=[5, 6]))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("inner.text", '"ab"'), ("inner.as<root::inner>.data", "[1, 0x2]"), ("inner.data.size", "2"),
        ("inner.numbers[1]", "0b110"), ("inner.numbers", "[0 + 5, 6]"), ("inner.numbers.last", "6"),
        ("pet", "root::animal::cat"), ("pet.to_i", "7"), ("class", "1 + 2"), ("inner.text.length", "2"),
        ("_parent", "null"), ("inner.data.max.to_s", '"2"'),
    ],
)  # fmt: skip
def test_expectations_that_are_met(path: str, text: str) -> None:
    assert same(actual(ROOT, path), expected(text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("inner.text", "[0x61, 0x62]"), ("inner.data", '"ab"'), ("pet", "7"), ("pet", "root::animal::dog"),
        ("class", "true"), ("class", "3.0"), ("inner", "null"), ("inner.numbers", "5"),
    ],
)  # fmt: skip
def test_expectations_that_are_not_met(path: str, text: str) -> None:
    assert not same(actual(ROOT, path), expected(text))


def test_what_is_not_met_is_counted() -> None:
    asserts = [
        {"actual": "class", "expected": "3"},
        {"actual": "class", "expected": "4"},
        {"actual": "nothing", "expected": "4"},
        {"actual": "late", "exception": "EndOfStreamError"},
        {"actual": "late", "expected": "4"},
        {"actual": "class", "exception": "EndOfStreamError"},
        {"actual": "a ? b", "expected": "4"},
    ]
    met, unmet = checked(Root, b"x", {"asserts": asserts})
    assert met == 2 and [path for path, _ in unmet] == ["class", "nothing", "late", "class", "a ? b"]
    # all or nothing
    refuse = {"exception": "EndOfStreamError"}
    assert checked(Root, b"", refuse) == (1, [])
    assert checked(Root, b"x", refuse) == (0, [("", "read, and not refused: EndOfStreamError")])
    assert checked(Root, b"", {"asserts": asserts})[1] == [
        ("", "refused: inner: need 1 bytes, have 0, at byte 0")
    ]
