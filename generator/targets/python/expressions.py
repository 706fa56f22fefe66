"""Values of a plan as Python text."""

from __future__ import annotations

from collections.abc import Callable

from kodec.generator.plan import values as plan
from kodec.generator.plan.values import Value
from kodec.generator.targets.python.names import attribute

__all__ = ["BINDS", "COMPARED", "PRODUCT", "SUM", "TERNARY", "TIGHT", "common_text", "value_text"]

# how tightly each binds in Python, loosest first
_TERNARY, _OR, _AND, _NOT, _COMPARE, _BAR, _XOR, _AMP, _SHIFT, _SUM, _PRODUCT, _SIGN, _ATOM = range(13)
BINDS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _COMPARE),
    "or": _OR,
    "and": _AND,
    "|": _BAR,
    "^": _XOR,
    "&": _AMP,
    "<<": _SHIFT,
    ">>": _SHIFT,
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "%": _PRODUCT,
}

TERNARY, COMPARED, SUM, PRODUCT, TIGHT = _TERNARY, _BAR, _SUM, _PRODUCT, _ATOM


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def value_text(value: Value, field: Callable[[str], str], item: str = "item", binds: int = _TERNARY) -> str:
    """A value as Python; `field` says how a field of the unit is spelled, `item` what an element is."""
    own, text = _value(value, field, item)
    return text if own >= binds else f"({text})"


def _value(value: Value, field: Callable[[str], str], item: str) -> tuple[int, str]:
    def sub(part: Value, binds: int) -> str:
        return value_text(part, field, item, binds)

    match value:
        case plan.FieldOf(name) | plan.Peeked(name=name):
            return _ATOM, field(name)
        case plan.Item():
            return _ATOM, item
        case plan.Number(of):
            return _ATOM, f"int({sub(of, _TERNARY)})"
        case plan.IsNull(of):
            return _COMPARE, f"{sub(of, _BAR)} is None"
        case plan.Unary("not", of):
            return _opposite(of, field, item)
        case plan.Binary("and", plan.Binary(">=", of, low), plan.Binary("<=", same, high)) if of == same:
            return _COMPARE, f"{sub(low, _BAR)} <= {sub(of, _BAR)} <= {sub(high, _BAR)}"
    return common_text(value, sub)


def common_text(value: Value, sub: Callable[[Value, int], str]) -> tuple[int, str]:
    """What is spelled the same in all modules, and how tightly it binds; `sub` spells its parts."""
    match value:
        case plan.Constant(found):
            negative = isinstance(found, (int, float)) and found < 0
            return (_SIGN if negative else _ATOM), repr(found)
        case plan.MemberOf(of, name):
            return _ATOM, f"{sub(of, _ATOM)}.{attribute(name)}"
        case plan.SizeOf(of):
            return _ATOM, f"len({sub(of, _TERNARY)})"
        case plan.Unary("not", of):
            return _NOT, f"not {sub(of, _NOT)}"
        case plan.Unary(op, of):
            return _SIGN, f"{op}{sub(of, _SIGN)}"
        case plan.Binary(op, left, right, kind):
            own = BINDS[op]
            spelled = "//" if op == "/" and isinstance(kind, plan.Whole) else op
            # a comparison of a comparison would chain in Python
            return own, f"{sub(left, own + (own == _COMPARE))} {spelled} {sub(right, own + 1)}"
        case plan.Choose(test, yes, no):
            return _TERNARY, f"{sub(yes, _OR)} if {sub(test, _OR)} else {sub(no, _TERNARY)}"
    raise TypeError(value)


def _opposite(value: Value, field: Callable[[str], str], item: str) -> tuple[int, str]:
    """What holds where a value does not, kept readable: `a >= b` becomes `a < b`."""
    match value:
        case plan.Unary("not", of):
            return _value(of, field, item)
        case plan.IsNull(of):
            return _COMPARE, f"{value_text(of, field, item, _BAR)} is not None"
        case plan.Binary("or", left, right):
            test = plan.Binary(
                "and", plan.Unary("not", left, plan.FLAG), plan.Unary("not", right, plan.FLAG), plan.FLAG
            )
            return _value(test, field, item)
        case plan.Binary(op, left, right) if op in _OPPOSITE and not any(
            # NaN is neither at least nor at most anything
            isinstance(each.type, plan.Real)
            for each in (left, right)
        ):
            return _value(plan.Binary(_OPPOSITE[op], left, right, plan.FLAG), field, item)
    return _NOT, f"not {value_text(value, field, item, _NOT)}"
