"""Values of the plan as functions of where they are asked for."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from kodec.generator.code.ir import Local
from kodec.generator.code.objects import Node, Stream
from kodec.generator.plan import values as plan
from kodec.generator.plan.steps import Case, Unit
from kodec.generator.plan.values import OCTETS, TEXT, ListOf, ObjectOf, Type, Value, Whole, bare
from kodec.generator.wire import ENCODINGS
from kodec.runtime.checksums import CHECKSUMS, unpacked
from kodec.runtime.errors import Malformed

__all__ = ["EDGES", "Evaluator", "Fields", "Function", "Values"]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
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
_UNARY: dict[str, Callable[[Any], Any]] = {"not": operator.not_, "-": operator.neg, "~": operator.invert}
EDGES: dict[str, Callable[[Any], Any]] = {"last": operator.itemgetter(-1), "min": min, "max": max}
_OF_ONE: dict[type, Callable[[Any], Any]] = {
    plan.IsNull: lambda of: of is None,
    plan.Reversed: lambda of: of[::-1],
    plan.Shown: str,
    plan.SizeOf: len,
}
_MOST_SHIFT = 128


@dataclass
class Fields:
    """The fields of a layout's object, of which values are asked without a machine."""

    unit: Unit
    values: dict[str, Any]
    item: Any = None


Function = Callable[[Any], Any]


class Values:
    """The functions of a unit's values.

    Args:
        checked: that a whole number is in the range of its type is asserted.
    """

    def __init__(self, unit: Unit, *, checked: bool = True) -> None:
        self.unit = unit
        self.checked = checked
        self.instances = {each.name: each for each in unit.streamed.instances} if unit.streamed else {}
        self._made: dict[int, tuple[Value | Local, Function]] = {}

    def of(self, value: Value | Local) -> Function:
        """The function of a value; it takes a frame."""
        if id(value) not in self._made:
            self._made[id(value)] = value, self._checked(value)
        return self._made[id(value)][1]

    def _checked(self, value: Value | Local) -> Function:
        function, kind = self._function(value), bare(value.type)
        plain = isinstance(value, (plan.Constant, plan.Counter, plan.FieldOf, plan.Item, Local, plan.Peeked))
        if plain or not self.checked or not isinstance(kind, Whole):
            return function
        low, high = kind.low, kind.high

        def checked(f: Any) -> Any:
            result = function(f)
            assert type(result) is not int or low <= result <= high, (value, result)
            return result

        return checked

    def _function(self, value: Value | Local) -> Function:
        inner: Value | None = getattr(value, "of", None)
        of = _node if inner is None else self.of(inner)
        match value:
            case plan.Constant(constant):
                return lambda f: constant
            case Local("item") | plan.Item():
                return lambda f: f.item
            case Local(name):
                return lambda f: f.local[name]
            case plan.FieldOf(name) if name in self.instances:
                return lambda f: f.machine.member(f.node, name)
            case plan.FieldOf(name) if self.unit.streamed is not None:
                return lambda f: f.values.get(name)
            case plan.FieldOf(name) | plan.Peeked(name):
                return lambda f: f.values[name]
            case plan.Counter():
                return lambda f: f.index
            case plan.This():
                return _node
            case plan.Around(_, "root"):
                return lambda f: of(f).root
            case plan.Around():
                return lambda f: of(f).parent
            case plan.StreamOf(None, True):
                return lambda f: f.io
            case plan.StreamOf():
                return lambda f: of(f).stream
            case plan.StreamAsked(_, "eof"):
                return lambda f: of(f).current.ended
            case plan.StreamAsked(_, "pos"):
                return lambda f: (stream := of(f)).current.at - stream.base
            case plan.StreamAsked():
                return lambda f: (stream := of(f)).end - stream.base
            case plan.Required(_, name):
                reason = value.reason
                return lambda f: result if (result := of(f)) is not None else _wrong(f, name, reason)
            case plan.MemberOf(_, name) if self.unit.streamed is not None:
                return lambda f: f.machine.member(of(f), name)
            case plan.MemberOf(_, name):
                return lambda f: of(f)[name]
            case plan.Enumerated():
                return of
            case plan.Number(_, _, None):
                return _tried("an expression needs a number", int, of)
            case plan.Number(_, _, base) if base is not None:
                return _tried("an expression needs a number", _digits, of, self.of(base))
            case plan.Decoded(_, encoding):
                form = ENCODINGS[encoding]
                decode = operator.methodcaller("decode", form.python, form.errors)
                return _tried("an expression needs text", decode, of)
            case plan.Computed():
                return self._computed(value, of)
            case plan.Substring(_, start, stop):
                first, last = self.of(start), self.of(stop)
                return lambda f: of(f)[first(f) : last(f)]
            case plan.Listed(items, kind):
                parts, kind_of = [self.of(each) for each in items], bytes if kind == OCTETS else list
                return lambda f: kind_of([each(f) for each in parts])
            case plan.ElementOf(_, at):
                return _tried("an expression needs an element", _element, of, self.of(at))
            case plan.EdgeOf(_, name):
                return _tried("an expression needs an element of an empty list", EDGES[name], of)
            case plan.Cast(before, _, kind) if kind == OCTETS and isinstance(before.type, ListOf):
                return _tried("an expression needs bytes", _octets, of)
            case plan.Cast(_, name, kind):
                return lambda f: (
                    result
                    if _fits(result := of(f), kind)
                    else _wrong(f, name, "an expression needs another type")
                )
            case plan.Unary(op):
                does = _UNARY[op]
                return lambda f: does(of(f))
            case plan.Binary():
                return self._binary(value)
            case plan.Choose(test, yes, no):
                holds, one, two = self.of(test), self.of(yes), self.of(no)
                return lambda f: one(f) if holds(f) else two(f)
        of_one = _OF_ONE[type(value)]
        return lambda f: of_one(of(f))

    def _binary(self, value: plan.Binary) -> Function:
        left, right, op = self.of(value.left), self.of(value.right), value.op
        if op == "and":
            return lambda f: left(f) and right(f)
        if op == "or":
            return lambda f: left(f) or right(f)
        does = _OPERATIONS[op]
        if op == "/" and self.unit.streamed is not None and not isinstance(value.type, Whole):
            does = operator.truediv
        if not value.fails or self.unit.streamed is None:
            return lambda f: does(left(f), right(f))
        if op in ("/", "%"):
            return _tried("an expression divides by 0", does, left, right)
        return _tried("an expression shifts by too many bits", _left if op == "<<" else _right, left, right)

    def _computed(self, value: plan.Computed, of: Function) -> Function:
        where = None if value.where is None else self.of(value.where)

        def function(f: Any) -> Any:
            owner, member = of(f), f.machine.member
            if value.function == "count_of" and where is None:
                if (items := member(owner, value.first)) is None:
                    _wrong(f, value.first, "an expression needs it, and it is not there")
                return len(items)
            if where is None:
                (io, start, _), (_, _, stop) = _range(f, owner, value.first), _range(f, owner, value.last)
            else:
                items = []
                for item in member(owner, value.first) or []:
                    f.item = item
                    items += [item] if where(f) else []
                if value.function == "count_of" or not items:
                    return len(items)
                (io, start, _), (_, _, stop) = _range(f, items[0], ""), _range(f, items[-1], "")
            if value.function == "position_of":
                return start - io.base
            data = io.buf[start:stop]
            if value.byte is not None and value.own in f.node.spans:
                _, low, high = f.node.spans[value.own]
                low, high = max(low, start), min(high, stop)
                if low < high:
                    data = data[: low - start] + bytes([value.byte]) * (high - low) + data[high - start :]
            if value.unpack:
                content = unpacked(value.unpack, data, f.machine.opt.decompressed_bytes)
                if content is None:
                    _wrong(f, value.first, f"it is no whole {value.unpack} stream")
                data = content
            return len(data) if value.function == "length_of" else CHECKSUMS[value.function](data)

        return function


class Evaluator:
    """Computes values of layouts without a machine: for samples."""

    def __init__(self) -> None:
        self._units: dict[str, Values] = {}

    def value(self, value: Value, fields: Fields, item: Any = None) -> Any:
        unit = fields.unit
        if unit.name not in self._units:
            self._units[unit.name] = Values(unit)
        fields.item = item
        return self._units[unit.name].of(value)(fields)

    def is_case(self, case: Case, on: Any, fields: Fields) -> bool:
        """Whether `on` is the value of a case."""
        return case.value is not None and self.value(case.value, fields) == on


def _node(f: Any) -> Any:
    return f.node


def _wrong(f: Any, name: str, reason: str) -> NoReturn:
    raise Malformed(name, reason, at=f.node.stream.at)


def _tried(reason: str, does: Callable[..., Any], *parts: Function) -> Function:
    """A function of other values, for some of which it fails."""

    def tried(f: Any) -> Any:
        values = [each(f) for each in parts]
        try:
            return does(*values)
        except (ArithmeticError, LookupError, ValueError):
            _wrong(f, "", reason)

    return tried


def _digits(item: Any, base: int) -> int:
    return int(item, base) if isinstance(item, str) else int(item)


def _element(items: Any, index: int) -> Any:
    if index < 0:
        raise IndexError(index)
    return items[index]


def _octets(items: list[Any]) -> bytes:
    try:
        return bytes(items)
    except TypeError as error:
        raise ValueError(items) from error


def _left(number: int, by: int) -> int:
    if abs(by) > _MOST_SHIFT:
        raise OverflowError(by)
    return number << by if by >= 0 else number >> -by


def _right(number: int, by: int) -> int:
    return _left(number, -by)


def _fits(item: Any, kind: Type) -> bool:
    if isinstance(kind, ObjectOf):
        return isinstance(item, Node) and item.unit.name == kind.unit
    whole, of_list = isinstance(kind, Whole), isinstance(kind, ListOf)
    return isinstance(item, int if whole else list if of_list else str if kind == TEXT else bytes)


def _range(f: Any, node: Node, name: str) -> tuple[Stream, int, int]:
    """The bytes of a field or an instance; of the object, if `name` is empty."""
    if not name:
        return node.stream, node.start, node.stop
    if name not in node.spans and f.machine.member(node, name) is None:
        raise Malformed(name, "its bytes are needed, and it is not there", at=node.stream.at)
    return node.spans[name]
