"""Values of the plan as C: 64-bit arithmetic that notes an overflow in `wrong`, and conditions."""

from __future__ import annotations

from collections.abc import Callable

from kodec.generator.plan.rows import NoRows
from kodec.generator.plan.steps import Rule
from kodec.generator.plan.values import (
    FLAG,
    Binary,
    Choose,
    Constant,
    EnumOf,
    FieldOf,
    Item,
    Number,
    Type,
    Unary,
    Value,
    Whole,
    text_of,
)

__all__ = ["Expressions", "bare", "literal"]

_CHECKED = {
    "+": "kd_add",
    "-": "kd_sub",
    "*": "kd_mul",
    "/": "kd_div",
    "%": "kd_mod",
    "<<": "kd_shift_left",
    ">>": "kd_shift_right",
}
_PLAIN = ("+", "-", "*")
_BITWISE = ("&", "|", "^")
_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
_LEAST = -(2**63)


class Expressions:
    """Writes values as C. Raises NoRows for other values than numbers.

    Args:
        place: the C text of a field, by its path.
        bounded: whether each field is within its type, so that operations that cannot overflow need no check.
    """

    def __init__(self, place: Callable[[str], str], *, bounded: bool = True) -> None:
        self._place = place
        self._bounded = bounded
        self._item = ""

    def rules(self, rules: tuple[Rule, ...], item: str) -> str:
        """C text of whether all rules hold of `item`."""
        self._item = item
        return bare(" && ".join(self._condition(each.test) for each in rules))

    def test(self, value: Value) -> str:
        """C text that is true or false."""
        return bare(self._condition(value))

    def number(self, value: Value) -> str:
        """C text of type int64_t."""
        match value:
            case Constant(bool() | int() as found):
                return literal(int(found))
            case FieldOf(name, kind) if (whole := _whole(kind)) is not None:
                return f"kd_signed({self._place(name)}, &wrong)" if whole.wide else self._place(name)
            case Item():
                return self._item
            case Number(of):
                return self.number(of)
            case Unary("-", of, kind):
                return self._checked("-", "0", self.number(of), kind)
            case Unary("~", of):
                return f"(~{self.number(of)})"
            case Binary(op, left, right, kind) if op in _CHECKED:
                return self._checked(op, self.number(left), self.number(right), kind)
            case Binary(op, left, right) if op in _BITWISE:
                return f"({self.number(left)} {op} {self.number(right)})"
            case Choose(test, yes, no):
                return f"({self._condition(test)} ? {self.number(yes)} : {self.number(no)})"
            case Binary() | Unary("not"):
                return f"(int64_t)({self._condition(value)})"
        raise NoRows(f"`{text_of(value)}` in an expression")

    def _checked(self, op: str, left: str, right: str, kind: Type) -> str:
        if op in _PLAIN and self._bounded and isinstance(kind, Whole) and not kind.wide:
            return f"({left} {op} {right})"
        return f"{_CHECKED[op]}({left}, {right}, &wrong)"

    def _condition(self, value: Value) -> str:
        match value:
            case Constant(bool(found)):
                return str(int(found))
            case Unary("not", of):
                return f"!({self.test(of)})"
            case Binary("and" | "or" as op, left, right):
                sign = "&&" if op == "and" else "||"
                return f"({self._condition(left)} {sign} {self._condition(right)})"
            case Binary(op, left, right) if op in _COMPARE:
                return f"({self.number(left)} {op} {self.number(right)})"
            case Choose(test, yes, no, kind) if kind == FLAG:
                return f"({self._condition(test)} ? {self._condition(yes)} : {self._condition(no)})"
        return f"({self.number(value)} != 0)"


def _whole(kind: Type) -> Whole | None:
    """The range of a number in C."""
    if isinstance(kind, EnumOf):
        return kind.number
    if kind == FLAG:
        return Whole(0, 1)
    return kind if isinstance(kind, Whole) else None


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
        raise NoRows(f"the number {value} is wider than 64 bits")
    if value == _LEAST:
        return "INT64_MIN"
    return str(value) if -(2**31) < value < 2**31 else f"INT64_C({value})"
