"""Types and values of the plan as Go; whole numbers are computed as int64."""

from __future__ import annotations

import json
from collections.abc import Callable

from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    TEXT,
    Binary,
    Choose,
    Constant,
    EnumOf,
    FieldOf,
    IsNull,
    Item,
    ListOf,
    Maybe,
    MemberOf,
    Number,
    ObjectOf,
    OneOf,
    Peeked,
    Real,
    SizeOf,
    Type,
    Unary,
    Value,
    Whole,
    values_in,
)
from kodec.generator.targets.go.names import Names, exported, local

__all__ = ["Computed", "Types", "beyond", "expression", "literal"]

_PLAIN = {FLAG: "bool", TEXT: "string", OCTETS: "[]byte", IDENTITY: "UUID", SECTION: "[]RawTag"}
_BINDS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3),
    **dict.fromkeys(("+", "-", "|", "^"), 4),
    **dict.fromkeys(("*", "&", "<<", ">>"), 5),
}
_WORDS = {"or": "||", "and": "&&"}
_ATOM, _SIGN, _COMPARED = 7, 6, 3


class Computed(str):
    """Text of a place that holds an int64 already."""

    __slots__ = ()


class Types:
    """The Go types of values."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, kind: Type) -> str:
        if isinstance(kind, Maybe):
            text = self.of(kind.of)
            return text if text.startswith("[]") or text == "any" else f"*{text}"
        match kind:
            case Whole():
                return whole(kind)
            case Real(bits):
                return f"float{bits}"
            case EnumOf(enum):
                return self.names.type(enum)
            case ObjectOf(unit):
                return self.names.type(unit)
            case ListOf(item):
                return f"[]{self.of(item)}"
            case OneOf():
                return "any"
        return _PLAIN[kind]


def whole(kind: Whole) -> str:
    """The narrowest type that holds a range."""
    sign = "u" if kind.low >= 0 else ""
    for bits in (8, 16, 32, 64):
        low, high = (0, (1 << bits) - 1) if sign else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if low <= kind.low and kind.high <= high:
            return f"{sign}int{bits}"
    return "int64"


def beyond(value: Value) -> bool:
    """Whether something in a value can be beyond what int64 holds."""
    return any(isinstance(each.type, Whole) and each.type.wide for each in values_in(value))


def literal(value: object) -> str:
    """A constant."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bytes):
        return "[]byte{" + ", ".join(f"0x{each:02x}" for each in value) + "}"
    if value is None:
        return "nil"
    return repr(value)


def expression(
    value: Value, field: Callable[[str], str], item: str = "item", binds: int = 0, *, tight: bool = False
) -> str:
    """A value: of a whole number an int64. `field` says how a field of the unit is spelled.

    With `tight`, operators that bind tighter than a comparison have no space: so gofmt prints arguments.
    """
    own, text = _text(value, field, item, tight)
    return text if own >= binds else f"({text})"


def _text(value: Value, field: Callable[[str], str], item: str, tight: bool) -> tuple[int, str]:
    def sub(part: Value, binds: int = 0, tight: bool = tight) -> str:
        return expression(part, field, item, binds, tight=tight)

    match value:
        case Constant(found):
            return (_SIGN if isinstance(found, (int, float)) and found < 0 else _ATOM), literal(found)
        case FieldOf(name) | Peeked(name=name):
            return _ATOM, _number(field(name), value.type)
        case Item():
            return _ATOM, _number(item, value.type)
        case MemberOf(of, name):
            return _ATOM, _number(f"{_object(of, field, item)}.{exported(name)}", value.type)
        case SizeOf(of):
            return _ATOM, f"int64(len({_object(of, field, item)}))"
        case Number(of):
            if of.type == FLAG:
                return _ATOM, f"pick[int64]({sub(of)}, 1, 0)"
            return _text(of, field, item, tight)
        case IsNull(of):
            return 3, f"{_object(of, field, item)} == nil"
        case Unary("not", of):
            return _SIGN, f"!{sub(of, _SIGN)}"
        case Unary(op, of):
            return _SIGN, f"{'^' if op == '~' else op}{sub(of, _ATOM)}"
        case Binary("/" | "%" as op, left, right):
            name = "floorDiv" if op == "/" else "floorMod"
            return _ATOM, f"{name}({sub(left, tight=True)}, {sub(right, tight=True)})"
        case Binary(op, left, right):
            own = _BINDS[op]
            # gofmt leaves no space around what binds tightest where operators are mixed
            close = own > _COMPARED and (tight or _mixed(own, left) or _mixed(own, right))
            space = "" if close else " "
            return own, f"{sub(left, own)}{space}{_WORDS.get(op, op)}{space}{sub(right, own + 1)}"
        case Choose(test, yes, no):
            kind = "[int64]" if isinstance(value.type, Whole) else ""
            return (
                _ATOM,
                f"pick{kind}({sub(test, tight=True)}, {sub(yes, tight=True)}, {sub(no, tight=True)})",
            )
    raise TypeError(value)


def _mixed(binds: int, side: Value) -> bool:
    return isinstance(side, Binary) and _COMPARED < _BINDS.get(side.op, 0) < binds


def _object(value: Value, field: Callable[[str], str], item: str) -> str:
    """A value as it is kept, which is no number."""
    match value:
        case FieldOf(name):
            return field(name)
        case Item():
            return item
        case MemberOf(of, name):
            return f"{_object(of, field, item)}.{exported(name)}"
    raise TypeError(value)


def _number(text: str, kind: Type) -> str:
    """What is kept as a narrower number, as int64."""
    if isinstance(kind, Maybe):
        return _number(f"*{text}", kind.of) if isinstance(kind.of, (Whole, EnumOf)) else text
    if isinstance(text, Computed) or not isinstance(kind, (Whole, EnumOf)):
        return text
    return f"int64({text})"


__all__ += ["local", "whole"]
