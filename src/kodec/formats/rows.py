"""The columns of a type with `-row`, as its kernel has them, in pure Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kodec.formats.shapes import Column
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Model, Str, Struct
from kodec.generator.targets.native.steps import Bytes, ColumnPlan, Flag, KernelPlan, Lists, Number
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
    """Why objects of the Python module do not have what a column needs."""


Get = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Values:
    """A column, and what gives its value of one object."""

    name: str
    type: pa.DataType
    get: Get

    def array(self, rows: list[Any]) -> pa.Array:
        return pa.array([self.get(row) for row in rows], self.type)


def columns_of_kernel(model: Model, row: Struct, plan: KernelPlan) -> list[Column]:
    """A column for each of the kernel's. Raises NotPure."""
    found = [_column(model, row, each) for each in plan.columns]
    return [Column(each.name, each.type, each.array) for each in found]


def hidden_by(model: Model, row: Struct) -> Get:
    """Whether `unless` of the `-row` hides an object. Raises NotPure."""
    return (lambda value: False) if row.row_unless is None else _computed(model, row, row.row_unless)


def _column(model: Model, row: Struct, plan: ColumnPlan) -> _Values:
    match plan:
        case Number(expression=ex.Expr() as expression):
            return _Values(plan.name, _type(plan.format), _whole(_computed(model, row, expression)))
        case Number(member=member) if member is not None:
            get = _path(member.path)
            return _Values(plan.name, _type(plan.format), get if plan.format in "fg" else _whole(get))
        case Flag():
            return _Values(plan.name, pa.bool_(), _path(plan.member.path))
        case Bytes():
            get = _path(plan.member.path)
            return _Values(plan.name, _type(plan.format), _stored(plan, get))
        case Lists():
            children = [_column(model, row, each) for each in plan.children]
            kind = pa.list_(pa.struct([pa.field(each.name, each.type) for each in children]))
            items = _path(plan.member.path)
            parts = [(each.name, each.get) for each in children]
            return _Values(
                plan.name,
                kind,
                lambda value: [{name: get(item) for name, get in parts} for item in items(value)],
            )
    raise NotPure(f"column `{plan.name}`")


def _type(text: str) -> pa.DataType:
    if text.startswith("ts"):
        unit, _, zone = text[2:].partition(":")
        return pa.timestamp(_UNITS[unit], zone or None)
    return _FORMATS[text]


def _path(path: str) -> Get:
    return operator.attrgetter(".".join(attribute(name) for name in path.split(".")))


def _whole(get: Get) -> Get:
    return lambda value: int(get(value))


def _stored(plan: Bytes, get: Get) -> Get:
    kind = plan.member.spec.type
    if not isinstance(kind, Str):
        return get
    encoding = ENCODINGS[kind.encoding]

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


def _computed(model: Model, row: Struct, expr: ex.Expr) -> Get:
    """A value computed as the schema says. Raises NotPure for what objects do not have."""
    match expr:
        case ex.Literal(value):
            return lambda _: value
        case ex.EnumValue(enum, name):
            number = next(item.value for item in model.enum(enum).items if item.id == name)
            return lambda _: number
        case ex.Name(name):
            spec = row.field(name)
            if spec is None or (spec.derive is not None and spec.derive.is_length):
                raise NotPure(f"`{name}` is no attribute of its objects")
            return operator.attrgetter(attribute(name))
        case ex.Attr(of, "value" | "to_i"):
            return _computed(model, row, of)
        case ex.Attr(of, name):
            holder = _computed(model, row, of)
            attr = attribute(name)
            return lambda value: getattr(holder(value), attr)
        case ex.Unary(op, of) if op in _UNARY:
            only, one = _UNARY[op], _computed(model, row, of)
            return lambda value: only(one(value))
        case ex.Binary("and", left, right):
            first, second = _computed(model, row, left), _computed(model, row, right)
            return lambda value: first(value) and second(value)
        case ex.Binary("or", left, right):
            first, second = _computed(model, row, left), _computed(model, row, right)
            return lambda value: first(value) or second(value)
        case ex.Binary(op, left, right) if op in _BINARY:
            both, first, second = _BINARY[op], _computed(model, row, left), _computed(model, row, right)
            return lambda value: both(first(value), second(value))
        case ex.Ternary(test, yes, no):
            asked, then, other = (_computed(model, row, each) for each in (test, yes, no))
            return lambda value: then(value) if asked(value) else other(value)
    raise NotPure(f"`{ex.text_of(expr)}`")
