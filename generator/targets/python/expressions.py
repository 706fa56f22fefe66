"""Values of a plan as Python text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kodec.generator.plan.spelling import Precedence, Spelling
from kodec.generator.plan.values import (
    FLAG,
    Binary,
    Choose,
    Constant,
    FieldOf,
    IsNull,
    Number,
    Peeked,
    Unary,
    Value,
    Whole,
    opposite_of,
    values_in,
)
from kodec.generator.targets.python.names import attribute

__all__ = ["BINDS", "Expressions", "PythonSpelling", "needed_of"]

BINDS = Precedence("or", "and", "not", "== != < <= > >=", "|", "^", "&", "<< >>", "+ -", "* / %")


class PythonSpelling(Spelling):
    """The spelling that modules of records and of streams share."""

    binds = BINDS
    words: ClassVar[Mapping[str, str]] = {}

    def constant(self, value: Constant) -> str:
        return repr(value.value)

    def member(self, of: Value, name: str) -> str:
        return f".{attribute(name)}"

    def size(self, of: Value) -> tuple[int, str]:
        return self.binds.atom, f"len({self(of)})"

    def of_flag(self, of: Value) -> tuple[int, str]:
        return self.binds.atom, f"int({self(of)})"

    def is_null(self, of: Value) -> tuple[int, str]:
        return self.binds.compared, f"{self(of, self.binds['|'])} is None"

    def unary(self, value: Unary) -> tuple[int, str]:
        if value.op == "not":
            return self.binds["not"], f"not {self(value.of, self.binds['not'])}"
        return self.binds.sign, f"{value.op}{self(value.of, self.binds.sign)}"

    def operator(self, of: Binary) -> str:
        return " // " if of.op == "/" and isinstance(of.type, Whole) else f" {of.op} "

    def choice(self, value: Choose) -> tuple[int, str]:
        own = self.binds["or"]
        return 0, f"{self(value.yes, own)} if {self(value.test, own)} else {self(value.no)}"


def needed_of(value: Value) -> tuple[str, ...]:
    """The attributes of an object that a value is computed of."""
    found = (each.name for each in values_in(value) if isinstance(each, (FieldOf, Peeked)))
    return tuple(dict.fromkeys(map(attribute, found)))


class Expressions(PythonSpelling):
    """Values of a record's unit."""

    def spelled(self, value: Value) -> tuple[int, str]:
        match value:
            case Number(of):
                return self.of_flag(of)
            case Binary("and", Binary(">=", of, low), Binary("<=", same, high)) if of == same:
                sides = (self(each, self.binds["|"]) for each in (low, of, high))
                return self.binds.compared, " <= ".join(sides)
        return super().spelled(value)

    def unary(self, value: Unary) -> tuple[int, str]:
        """A `not` is kept readable: `not a >= b` becomes `a < b`."""
        if value.op != "not":
            return super().unary(value)
        match value.of:
            case IsNull(of):
                return self.binds.compared, f"{self(of, self.binds['|'])} is not None"
            case Binary("or", left, right):
                neither = Unary("not", left, FLAG), Unary("not", right, FLAG)
                return self.spelled(Binary("and", *neither, FLAG))
        found = opposite_of(value.of)
        return super().unary(value) if found is None else self.spelled(found)
