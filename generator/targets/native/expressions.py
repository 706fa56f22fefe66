"""Kaitai expressions as C: 64-bit arithmetic that notes an overflow in `wrong`, and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kodec.generator.problems import Place
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Model

__all__ = ["NotColumnar", "bare", "condition", "number", "standing_at"]

Resolve = Callable[[ex.Expr], str | None]
"""From a name, or a chain of attributes, to a C value of type int64_t; None where it is none."""

_CHECKED = {
    "+": "kd_add",
    "-": "kd_sub",
    "*": "kd_mul",
    "/": "kd_div",
    "%": "kd_mod",
    "<<": "kd_shift_left",
    ">>": "kd_shift_right",
}
_BITWISE = ("&", "|", "^")
_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
_LEAST = -(2**63)


class NotColumnar(Exception):
    """The type holds what a kernel does not do, and the Python reader does: `place` says where it stands."""

    def __init__(self, text: str, place: Place | None = None) -> None:
        super().__init__(text)
        self.place = place


@contextmanager
def standing_at(place: Place) -> Iterator[None]:
    """Whatever of a schema is refused inside stands at `place`, if nothing inside knows better."""
    try:
        yield
    except NotColumnar as error:
        error.place = error.place or place
        raise


def number(expr: ex.Expr, resolve: Resolve, model: Model) -> str:
    """C text of type int64_t. Raises NotColumnar."""
    known = resolve(expr)
    if known is not None:
        return known

    def sub(part: ex.Expr) -> str:
        return number(part, resolve, model)

    match expr:
        case ex.Literal(bool(value)):
            return str(int(value))
        case ex.Literal(int(value)):
            return literal(value)
        case ex.EnumValue(enum, value):
            return str(next(item.value for item in model.enum(enum).items if item.id == value))
        case ex.Cast(of, _) | ex.Attr(of, "to_i"):
            return sub(of)
        case ex.Unary("-", of):
            return f"kd_sub(0, {sub(of)}, &wrong)"
        case ex.Unary("~", of):
            return f"(~{sub(of)})"
        case ex.Binary(op, left, right) if op in _CHECKED:
            return f"{_CHECKED[op]}({sub(left)}, {sub(right)}, &wrong)"
        case ex.Binary(op, left, right) if op in _BITWISE:
            return f"({sub(left)} {op} {sub(right)})"
        case ex.Ternary(test, yes, no):
            return f"({condition(test, resolve, model)} ? {sub(yes)} : {sub(no)})"
        case ex.Binary() | ex.Unary("not", _):
            return f"(int64_t)({condition(expr, resolve, model)})"
    raise NotColumnar(f"`{ex.text_of(expr)}` in an expression")


def condition(expr: ex.Expr, resolve: Resolve, model: Model) -> str:
    """C text that is true or false. Raises NotColumnar."""
    match expr:
        case ex.Literal(bool(value)):
            return str(int(value))
        case ex.Unary("not", of):
            return f"!({condition(of, resolve, model)})"
        case ex.Binary("and" | "or" as op, left, right):
            sign = "&&" if op == "and" else "||"
            return f"({condition(left, resolve, model)} {sign} {condition(right, resolve, model)})"
        case ex.Binary(op, left, right) if op in _COMPARE:
            return f"({number(left, resolve, model)} {op} {number(right, resolve, model)})"
        case ex.Ternary(test, yes, no):
            parts = [condition(each, resolve, model) for each in (test, yes, no)]
            return f"({parts[0]} ? {parts[1]} : {parts[2]})"
    return f"({number(expr, resolve, model)} != 0)"


def bare(text: str) -> str:
    """C text without parentheses around all of it, about which a compiler may complain in `if ((a == b))`."""
    depth = 0
    for index, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return bare(text[1:-1]) if index and index == len(text) - 1 else text
    return text


def literal(value: int) -> str:
    """A C constant of type int64_t."""
    if not _LEAST <= value < 2**63:
        raise NotColumnar(f"the number {value} is wider than 64 bits")
    if value == _LEAST:
        return "INT64_MIN"
    return str(value) if -(2**31) < value < 2**31 else f"INT64_C({value})"
