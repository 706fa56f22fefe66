"""Conditions on records that a person writes: `value.amount > 100 and key == "a"`."""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable
from typing import Any

from kodec.log.batches.records import Record
from kodec.log.values.framing import Part
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import ArgumentError

__all__ = ["FIELDS", "Condition", "Decode", "condition", "parsed_part"]

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
"""Decodes a key or a value for a condition; the topic is empty if it is unknown."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a record."""

    test: _Value
    names: tuple[str, ...]
    decode: Decode
    topic: str = ""

    def of_topic(self, topic: str) -> Condition:
        """The condition for the records of a topic."""
        return replace(self, topic=topic)

    def __call__(self, record: Record) -> bool:
        return bool(self.test({name: self._fact(name, record) for name in self.names}))

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
    smaller nor larger than each other. `decode` decodes key and value. Raises ArgumentError, which quotes the
    unsupported part.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        test = _value(tree, text)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        reason = error.msg if isinstance(error, SyntaxError) else "it is nested too deep"
        raise ArgumentError(f"{text!r}: {reason}") from None
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    return Condition(test, tuple(name for name in FIELDS if name in names), decode)


def _parsed(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "surrogateescape")


def _value(node: ast.expr, text: str) -> _Value:
    """What a part of a condition computes."""
    match node:
        case ast.Constant(value=str() | int() | float() | None as constant):
            return lambda _: constant
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return lambda _: -number
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
            parts = [_value(each, text) for each in elements]
            return lambda facts: [each(facts) for each in parts]
        case ast.BoolOp(op=op, values=values):
            tests = [_value(each, text) for each in values]
            if isinstance(op, ast.And):
                return lambda facts: all(each(facts) for each in tests)
            return lambda facts: any(each(facts) for each in tests)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            test = _value(inner, text)
            return lambda facts: not test(facts)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_value(each, text) for each in (left, *others)]
            pairs = [_compared(op, *sides[at : at + 2]) for at, op in enumerate(ops)]
            return lambda facts: all(each(facts) for each in pairs)
    where = ast.get_source_segment(text.strip(), node) or text
    names = ", ".join(FIELDS)
    raise ArgumentError(
        f"{where!r} in {text!r}: a condition has and, or, not, ==, !=, <, <=, >, >=, in, constants, "
        f"and fields of {names}"
    )


def _item(holder: _Value, index: _Value) -> _Value:
    def found(facts: _Facts) -> Any:
        thing, key = holder(facts), index(facts)
        if isinstance(thing, dict):
            return thing.get(key) if isinstance(key, str) else None
        if isinstance(thing, list) and isinstance(key, int) and -len(thing) <= key < len(thing):
            return thing[key]
        return None

    return found


def _compared(op: ast.cmpop, left: _Value, right: _Value) -> _Value:
    if isinstance(op, (ast.Eq, ast.Is)):
        return lambda facts: left(facts) == right(facts)
    if isinstance(op, (ast.NotEq, ast.IsNot)):
        return lambda facts: left(facts) != right(facts)
    if isinstance(op, (ast.In, ast.NotIn)):
        inside = isinstance(op, ast.In)

        def member(facts: _Facts) -> bool:
            try:
                return (left(facts) in right(facts)) is inside
            except TypeError:
                return not inside

        return member
    ordered = _COMPARED[type(op)]

    def compare(facts: _Facts) -> bool:
        try:
            return bool(ordered(left(facts), right(facts)))
        except TypeError:
            return False

    return compare
