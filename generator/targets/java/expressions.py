"""Kaitai expressions as Java: whole numbers in 64 bits, where what does not fit is an ArithmeticException."""

from __future__ import annotations

from collections.abc import Callable

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Model
from kodec.generator.targets.java.types import BOOL, INT, LONG, JType
from kodec.generator.text import java_literal

__all__ = ["Beyond", "Java", "condition", "number", "plain"]

Resolve = Callable[[ex.Expr], "tuple[str, JType] | None"]
"""From a name, or a chain of attributes, to Java and its type; None where it is none."""

_CALLS = {
    "+": "Math.addExact",
    "-": "Math.subtractExact",
    "*": "Math.multiplyExact",
    "/": "Math.floorDiv",
    "%": "Math.floorMod",
    "<<": "Values.shiftLeft",
    ">>": "Values.shiftRight",
}
_BITWISE = ("&", "|", "^")
_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
_TEXT = JType("String", "text", "String")


class Beyond(Exception):
    """An expression that is not in Java."""


class Java:
    """Turns expressions into Java text, by what names mean in one place."""

    def __init__(self, resolve: Resolve, model: Model) -> None:
        self.resolve = resolve
        self.model = model

    def value(self, expr: ex.Expr) -> tuple[str, JType]:
        """Java text, in parentheses where something may stand before or after it, and its type."""
        known = self.resolve(expr)
        if known is not None:
            return known
        match expr:
            case ex.Literal(bool(value)):
                return str(value).lower(), BOOL
            case ex.Literal(int(value)):
                return _literal(value)
            case ex.Literal(str(value)):
                return java_literal(value), _TEXT
            case ex.Literal(float(value)):
                return repr(value), JType("double", "float", "Double")
            case ex.EnumValue(enum, value):
                return _literal(next(item.value for item in self.model.enum(enum).items if item.id == value))
            case ex.Cast(of, _):
                return self.value(of)
            case ex.Attr(of, "to_i"):
                return self.number(of), LONG
            case ex.Attr(of, "size" | "length"):
                return self._size(of)
            case ex.Unary("not", of):
                return f"!{self._tight(self.condition(of))}", BOOL
            case ex.Unary("-", of):
                return f"Math.negateExact({self._wide(of)})", LONG
            case ex.Unary("~", of):
                return f"(~{self.number(of)})", LONG
            case ex.Binary(op, left, right) if op in _CALLS:
                return f"{_CALLS[op]}({self._wide(left)}, {self.number(right)})", LONG
            case ex.Binary(op, left, right) if op in _BITWISE:
                return f"({self.number(left)} {op} {self.number(right)})", LONG
            case ex.Binary("and" | "or" as op, left, right):
                sign = "&&" if op == "and" else "||"
                return f"({self.condition(left)} {sign} {self.condition(right)})", BOOL
            case ex.Binary(op, left, right) if op in _COMPARE:
                return self._compared(op, left, right), BOOL
            case ex.Ternary(test, yes, no):
                return self._chosen(test, yes, no)
        raise Beyond(ex.text_of(expr))

    def _size(self, of: ex.Expr) -> tuple[str, JType]:
        text, kind = self.value(of)
        match kind.kind:
            case "text":
                return f"{text}.codePointCount(0, {text}.length())", INT
            case "bytes":
                return f"{text}.length", INT
            case "list":
                return f"{text}.size()", INT
        raise Beyond(ex.text_of(of))

    def _chosen(self, test: ex.Expr, yes: ex.Expr, no: ex.Expr) -> tuple[str, JType]:
        (one, kind), (other, second) = self.value(yes), self.value(no)
        if kind.kind in ("int", "long", "bool") and second.kind != kind.kind:
            one, other, kind = self.number(yes), self.number(no), LONG
        return f"({self.condition(test)} ? {one} : {other})", kind

    def _compared(self, op: str, left: ex.Expr, right: ex.Expr) -> str:
        (one, kind), (other, second) = self.value(left), self.value(right)
        if "text" in (kind.kind, second.kind):
            if op not in ("==", "!="):
                return f"({one}.compareTo({other}) {op} 0)"
            return f"{'!' if op == '!=' else ''}{one}.equals({other})"
        if kind.kind == second.kind == "bool" or "float" in (kind.kind, second.kind):
            return f"({one} {op} {other})"
        return f"({self.number(left)} {op} {self.number(right)})"

    @staticmethod
    def _tight(text: str) -> str:
        return (
            text if text.startswith("(") or text.replace(".", "").replace("()", "").isalnum() else f"({text})"
        )

    def number(self, expr: ex.Expr) -> str:
        """Java text of a whole number."""
        text, kind = self.value(expr)
        if kind.kind == "bool":
            return f"({text} ? 1 : 0)"
        if kind.kind not in ("int", "long"):
            raise Beyond(ex.text_of(expr))
        return text

    def _wide(self, expr: ex.Expr) -> str:
        """The same, of 64 bits, so that Java computes in as many."""
        text, kind = self.value(expr)
        if kind.kind == "int" and text.lstrip("-").isdigit():
            return f"{text}L"
        return text if kind.kind == "long" else f"(long) {self.number(expr)}"

    def condition(self, expr: ex.Expr) -> str:
        """Java text that is true or false."""
        text, kind = self.value(expr)
        return text if kind.kind == "bool" else f"({self.number(expr)} != 0)"


def number(java: Java, expr: ex.Expr) -> str:
    """A number, without parentheses around all of it."""
    return plain(java.number(expr))


def condition(java: Java, expr: ex.Expr) -> str:
    """A condition, without parentheses around all of it."""
    return plain(java.condition(expr))


def plain(text: str) -> str:
    """Java text without parentheses around all of it."""
    depth = 0
    for index, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return plain(text[1:-1]) if index and index == len(text) - 1 else text
    return text


def _literal(value: int) -> tuple[str, JType]:
    if not -(2**63) <= value < 2**63:
        raise Beyond(str(value))
    return (str(value), INT) if -(2**31) <= value < 2**31 else (f"{value}L", LONG)
