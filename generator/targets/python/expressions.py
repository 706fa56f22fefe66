"""Kaitai expressions as Python text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Model
from kodec.generator.targets.python.names import attribute

__all__ = ["BINDS", "COMPARED", "PRODUCT", "SUM", "TERNARY", "TIGHT", "Operand", "emit", "negate", "operand"]

Resolve = Callable[[str], str]
_PYTHON = {"/": "//"}
_METHODS = {"to_i": "int({})", "size": "len({})", "length": "len({})"}
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


@dataclass(frozen=True, slots=True)
class Operand:
    """Python text of an expression: as it is, and as it stands `beside` an operator."""

    alone: str
    beside: str


def emit(expr: ex.Expr, resolve: Resolve, model: Model, binds: int = _TERNARY) -> str:
    """Python text that gives the expression's value; `resolve` turns a first name into Python.

    Parentheses are put where Python needs them: around what binds less tightly than `binds`.
    """
    own, text = _text(expr, resolve, model)
    return text if own >= binds else f"({text})"


def operand(expr: ex.Expr, resolve: Resolve, model: Model) -> str:
    """The same, ready to be put beside `+`, `and` and a comparison."""
    return emit(expr, resolve, model, _PRODUCT)


def _text(expr: ex.Expr, resolve: Resolve, model: Model) -> tuple[int, str]:
    def sub(part: ex.Expr, binds: int) -> str:
        return emit(part, resolve, model, binds)

    match expr:
        case ex.Literal(value):
            negative = isinstance(value, (int, float)) and value < 0
            return (_SIGN if negative else _ATOM), repr(value)
        case ex.Name(name):
            return _ATOM, resolve(name)
        case ex.EnumValue(enum, value):
            return _ATOM, str(next(item.value for item in model.enum(enum).items if item.id == value))
        case ex.Attr(of, name):
            return _ATOM, _METHODS[name].format(
                sub(of, _TERNARY)
            ) if name in _METHODS else f"{sub(of, _ATOM)}.{attribute(name)}"
        case ex.Cast(of, _):
            return _text(of, resolve, model)
        case ex.Unary("not", of):
            return _NOT, f"not {sub(of, _NOT)}"
        case ex.Unary(op, of):
            return _SIGN, f"{op}{sub(of, _SIGN)}"
        case ex.Binary(op, left, right):
            own = BINDS[op]
            # a comparison of a comparison would chain in Python
            return own, f"{sub(left, own + (own == _COMPARE))} {_PYTHON.get(op, op)} {sub(right, own + 1)}"
        case ex.Ternary(test, yes, no):
            return _TERNARY, f"{sub(yes, _OR)} if {sub(test, _OR)} else {sub(no, _TERNARY)}"
    raise TypeError(expr)


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def negate(expr: ex.Expr) -> ex.Expr:
    """The opposite of a condition, kept readable: `a >= b` becomes `a < b`."""
    match expr:
        case ex.Binary(op, left, right) if op in _OPPOSITE:
            return ex.Binary(_OPPOSITE[op], left, right)
        case ex.Unary("not", of):
            return of
    return ex.Unary("not", expr)
