"""Conditions on records that a person writes: `value.amount > 100 and key == "a"`."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

from kodec.log.batches.records import Record
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.values.framing import Part
from kodec.log.values.plain import NestedTooDeep, exact_json, exact_number
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import ArgumentError

__all__ = ["FIELDS", "Condition", "Decode", "Undecoded", "condition", "parsed_part"]

_Facts = dict[str, Any]
_Value = Callable[[_Facts], Any]

FIELDS: dict[str, Callable[[Record], Any]] = {
    "offset": lambda record: record.offset,
    "timestamp": lambda record: record.timestamp,
    "key": lambda record: _parsed(record.key),
    "value": lambda record: _parsed(record.value),
    "headers": lambda record: {name: _parsed(data) for name, data in record.headers},
}
"""The parts of a record that a condition can use. Bytes that are JSON are its value, others are text."""

_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


_PARTS: dict[str, Part] = {"key": "key", "value": "value"}
Decode = Callable[[str, Record, Part], Any]
"""Decodes a key or a value for a condition; the topic is empty if it is unknown. Raises Undecoded."""


class Undecoded(Exception):
    """A key or a value that does not fit its schema, or nests too deep: no condition on it is true, nor is
    its opposite."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a record.

    Attributes:
        omissions: records that were not chosen because a part of them is not decoded.
    """

    test: _Value
    names: tuple[str, ...]
    decode: Decode
    topic: str = ""
    omissions: Omissions = field(default_factory=Omissions)

    def of_topic(self, topic: str) -> Condition:
        """The condition for the records of a topic."""
        return replace(self, topic=topic)

    def __call__(self, record: Record) -> bool:
        try:
            facts = {name: self._fact(name, record) for name in self.names}
        except Undecoded as error:
            reason = f"--where cannot be decided: {error}"
            self.omissions.add(Omission(Cause.UNKNOWN, Path(self.topic), reason, records=1))
            return False
        return bool(self.test(facts))

    def _fact(self, name: str, record: Record) -> Any:
        part = _PARTS.get(name)
        return FIELDS[name](record) if part is None else self.decode(self.topic, record, part)


def parsed_part(topic: str, record: Record, part: Part) -> Any:
    """The value of a part of a record: JSON, else text; None for null."""
    return _parsed(record.key if part == "key" else record.value)


def condition(text: str, decode: Decode = parsed_part) -> Condition:
    """A condition in the syntax of Python: `and`, `or`, `not`, comparisons, `in`, fields, items, constants.

    `value.a.b` and `value["a"]["b"]` are fields of JSON objects, `value.items[0]` an item of a list. What is
    missing or null is None, which equals only None. Values of two kinds, as 1 and "1", and None are neither
    smaller nor larger than each other. Numbers are compared exactly as they are written, a float as it is
    printed: the decimal 0.10, the double 0.1 and `0.1` are equal.
    `decode` decodes key and value. Raises ArgumentError, which quotes the
    unsupported part.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        test = _value(tree, text)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        reason = error.msg if isinstance(error, SyntaxError) else "it is nested too deep"
        with suppress(SyntaxError, ValueError):
            if (meant := _with_two_signs(text)) != text and ast.parse(meant.strip(), mode="eval"):
                reason = f"`==` compares, `=` does not: {meant}"
        raise ArgumentError(f"{text!r}: {reason}") from None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return Condition(test, tuple(name for name in FIELDS if name in names), decode)


# A text in quotes, which stays as it is, or a sign `=` alone.
_EQUALS = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<![=!<>:])=(?!=)""")


def _with_two_signs(text: str) -> str:
    """A condition with `==` for `=`."""
    return _EQUALS.sub(lambda matched: matched[1] or "==", text)


def _parsed(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return exact_json(data)
    except NestedTooDeep as error:
        raise Undecoded(f"JSON {error}") from None
    except ValueError:
        return data.decode("utf-8", "surrogateescape")


def _value(node: ast.expr, text: str) -> _Value:
    """What a part of a condition computes."""
    match node:
        case ast.Constant(value=float()):
            # the number that is written, which a float may not hold
            exact = Decimal((ast.get_source_segment(text.strip(), node) or "").replace("_", ""))
            return lambda _: exact
        case ast.Constant(value=str() | int() | None as constant):
            return lambda _: constant
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float()) as operand):
            number = _value(operand, text)(_NO_FACTS)
            # `-` would round a Decimal
            exact_negative = number.copy_negate() if isinstance(number, Decimal) else -number
            return lambda _: exact_negative
        case ast.Name(id=name) if name in FIELDS:
            return operator.itemgetter(name)
        case ast.Name(id="true" | "false" | "null" as word):
            constant = {"true": True, "false": False, "null": None}[word]
            return lambda _: constant
        case ast.Attribute(value=inner, attr=name):
            return _item(_value(inner, text), lambda _: name)
        case ast.Subscript(value=inner, slice=index):
            return _item(_value(inner, text), _value(index, text))
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            parts = [_value(element, text) for element in elements]
            return lambda facts: [part(facts) for part in parts]
        case ast.BoolOp(op=op, values=values):
            tests = [_value(value, text) for value in values]
            if isinstance(op, ast.And):
                return lambda facts: all(test(facts) for test in tests)
            return lambda facts: any(test(facts) for test in tests)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            test = _value(inner, text)
            return lambda facts: not test(facts)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_value(side, text) for side in (left, *others)]
            pairs = [_compared(op, *sides[index : index + 2]) for index, op in enumerate(ops)]
            return lambda facts: all(pair(facts) for pair in pairs)
    where = ast.get_source_segment(text.strip(), node) or text
    names = ", ".join(FIELDS)
    raise ArgumentError(
        f"{where!r} in {text!r}: a condition has and, or, not, ==, !=, <, <=, >, >=, in, constants, "
        f"and fields of {names}"
    )


_NO_FACTS: _Facts = {}


def _item(holder: _Value, index: _Value) -> _Value:
    def item(facts: _Facts) -> Any:
        thing, key = holder(facts), index(facts)
        if isinstance(thing, dict):
            return thing.get(key) if isinstance(key, str) else None
        if isinstance(thing, list) and isinstance(key, int) and -len(thing) <= key < len(thing):
            return thing[key]
        return None

    return item


def _compared(op: ast.cmpop, left: _Value, right: _Value) -> _Value:
    if isinstance(op, (ast.Eq, ast.Is)):
        return lambda facts: bool(exact_number(left(facts)) == exact_number(right(facts)))
    if isinstance(op, (ast.NotEq, ast.IsNot)):
        return lambda facts: bool(exact_number(left(facts)) != exact_number(right(facts)))
    if isinstance(op, (ast.In, ast.NotIn)):
        inside = isinstance(op, ast.In)

        def member(facts: _Facts) -> bool:
            try:
                return (exact_number(left(facts)) in exact_number(right(facts))) is inside
            except TypeError:
                return not inside

        return member
    ordered = _COMPARED[type(op)]

    def compare(facts: _Facts) -> bool:
        try:
            return bool(ordered(exact_number(left(facts)), exact_number(right(facts))))
        except (TypeError, ArithmeticError):
            # two kinds of values, or no number
            return False

    return compare
