"""Kaitai expressions as Python text."""

from __future__ import annotations

from collections.abc import Callable

from kodec.generator import expr as ex
from kodec.generator.model import Model

__all__ = ["emit", "negate"]

Resolve = Callable[[str], str]
_PYTHON = {"/": "//"}
_ATTRS = {"to_i": "int({})", "size": "len({})", "length": "len({})"}


def emit(expr: ex.Expr, resolve: Resolve, model: Model, outer: bool = True) -> str:
    """Python text that gives the expression's value; `resolve` turns a first name into Python."""

    def sub(part: ex.Expr) -> str:
        return emit(part, resolve, model, outer=False)

    match expr:
        case ex.Literal(value):
            return repr(value)
        case ex.Items(items):
            return f"({', '.join(map(sub, items))},)" if items else "()"
        case ex.Name(name):
            return resolve(name)
        case ex.EnumValue(enum, value):
            return str(next(item.value for item in model.enum(enum).items if item.id == value))
        case ex.Attr(of, name):
            return _ATTRS[name].format(sub(of)) if name in _ATTRS else f"{sub(of)}.{name}"
        case ex.Index(of, at):
            return f"{sub(of)}[{emit(at, resolve, model)}]"
        case ex.Cast(of, _):
            return sub(of)
        case ex.Unary(op, of):
            text = f"not {sub(of)}" if op == "not" else f"{op}{sub(of)}"
        case ex.Binary(op, left, right):
            text = f"{sub(left)} {_PYTHON.get(op, op)} {sub(right)}"
        case ex.Ternary(test, yes, no):
            text = f"{sub(yes)} if {sub(test)} else {sub(no)}"
        case _:
            raise TypeError(expr)
    return text if outer else f"({text})"


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def negate(expr: ex.Expr) -> ex.Expr:
    """The opposite of a condition, kept readable: `a >= b` becomes `a < b`."""
    match expr:
        case ex.Binary(op, left, right) if op in _OPPOSITE:
            return ex.Binary(_OPPOSITE[op], left, right)
        case ex.Unary("not", of):
            return of
    return ex.Unary("not", expr)
