"""The columns of a type with `-row`, as its kernel has them, in pure Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kodec.formats.shapes import Column
from kodec.generator.plan.rows import RowPlan
from kodec.generator.plan.values import Binary, Choose, Constant, FieldOf, Unary, Value, text_of
from kodec.generator.plan.values import Number as NumberOf
from kodec.generator.targets.native.kernel import PlannedKernel
from kodec.generator.targets.native.kernel_plan import Bytes, ColumnPlan, Flag, Lists, Number
from kodec.generator.targets.python.names import attribute
from kodec.generator.wire import ENCODINGS

__all__ = ["NotPure", "columns_of_kernel", "hidden_by"]

_FORMATS = {
    "c": pa.int8(),
    "s": pa.int16(),
    "i": pa.int32(),
    "l": pa.int64(),
    "C": pa.uint8(),
    "S": pa.uint16(),
    "I": pa.uint32(),
    "L": pa.uint64(),
    "f": pa.float32(),
    "g": pa.float64(),
    "u": pa.string(),
    "z": pa.binary(),
}
_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "~": operator.invert,
    "not": operator.not_,
}


class NotPure(Exception):
    """Why objects of the Python module lack the data of a column."""


Get = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Values:
    """A column, and the function that returns its value for an object."""

    name: str
    type: pa.DataType
    get: Get

    def array(self, rows: list[Any]) -> pa.Array:
        return pa.array([self.get(row) for row in rows], self.type)


def columns_of_kernel(kernel: PlannedKernel) -> list[Column]:
    """A column for each of the kernel's. Raises NotPure."""
    mapped = [_column(kernel.plan, column) for column in kernel.kernel.columns]
    return [Column(column.name, column.type, column.array) for column in mapped]


def hidden_by(kernel: PlannedKernel) -> Get:
    """Whether `unless` of the `-row` hides an object. Raises NotPure."""
    hidden = kernel.plan.hidden
    return (lambda value: False) if hidden is None else _computed(kernel.plan, hidden)


def _column(plan: RowPlan, column: ColumnPlan, inside: str = "") -> _Values:
    match column:
        case Number(expression=None):
            get = _path(column.path, inside)
            return _Values(column.name, _type(column.format), get if column.format in "fg" else _whole(get))
        case Number(expression=expression) if expression is not None:
            return _Values(column.name, _type(column.format), _whole(_computed(plan, expression)))
        case Flag():
            return _Values(column.name, pa.bool_(), _path(column.path, inside))
        case Bytes():
            get = _path(column.path, inside)
            return _Values(column.name, _type(column.format), _stored(column, get))
        case Lists():
            children = [_column(plan, child, f"{column.path}.") for child in column.children]
            kind = pa.list_(pa.struct([pa.field(child.name, child.type) for child in children]))
            items = _path(column.path, inside)
            parts = [(child.name, child.get) for child in children]
            return _Values(
                column.name,
                kind,
                lambda value: [{name: get(item) for name, get in parts} for item in items(value)],
            )
    raise NotPure(f"column `{column.name}`")


def _type(text: str) -> pa.DataType:
    if text.startswith("ts"):
        unit, _, zone = text[2:].partition(":")
        return pa.timestamp(_UNITS[unit], zone or None)
    return _FORMATS[text]


def _path(path: str, inside: str = "") -> Get:
    """A field of an object, by its path in the row, or in the list that the object is `inside`."""
    path = path.removeprefix(inside)
    return operator.attrgetter(".".join(attribute(name) for name in path.split(".")))


def _whole(get: Get) -> Get:
    return lambda value: int(get(value))


def _stored(plan: Bytes, get: Get) -> Get:
    if not plan.encoding:
        return get
    encoding = ENCODINGS[plan.encoding]

    def stored(value: Any) -> Any:
        text = get(value)
        if text is None:
            return None
        if plan.text:
            if text.isascii():
                return text
            return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return text.encode(encoding.python, encoding.errors)

    return stored


def _computed(plan: RowPlan, value: Value) -> Get:
    """A value computed as in the schema. Raises NotPure for data that objects lack."""
    match value:
        case Constant(known):
            return lambda _: known
        case FieldOf(name):
            derived = plan.fields[name].derived
            if derived is not None and derived.kind in ("length", "count", "presence"):
                raise NotPure(f"`{name}` is not an attribute of its objects")
            return _path(name)
        case NumberOf(of):
            return _computed(plan, of)
        case Unary(op, of) if op in _UNARY:
            only, operand = _UNARY[op], _computed(plan, of)
            return lambda value: only(operand(value))
        case Binary("and", left, right):
            first, second = _computed(plan, left), _computed(plan, right)
            return lambda value: first(value) and second(value)
        case Binary("or", left, right):
            first, second = _computed(plan, left), _computed(plan, right)
            return lambda value: first(value) or second(value)
        case Binary(op, left, right) if op in _BINARY:
            both, first, second = _BINARY[op], _computed(plan, left), _computed(plan, right)
            return lambda value: both(first(value), second(value))
        case Choose(test, yes, no):
            condition, then, other = (_computed(plan, expression) for expression in (test, yes, no))
            return lambda value: then(value) if condition(value) else other(value)
    raise NotPure(f"`{text_of(value)}`")
