"""The statements of a unit as functions of a frame, which executes operations as its methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, get_args

from kodec.generator.code import ir
from kodec.generator.code.ir import Expression, Local, Op, Part, Statement
from kodec.generator.code.values import Function, Values
from kodec.generator.plan.values import Value
from kodec.runtime.errors import EncodeError, FormatError

__all__ = ["VALUES", "Block", "Run", "UnitFunctions"]

VALUES = frozenset(get_args(Value))

Run = Callable[[Any], None]
# executed in place, without a function around it: objects nest deep
Block = tuple[Run, ...]


class UnitFunctions(Values):
    """What reads or writes a unit; `frame` is the class that has its operations."""

    frame: ClassVar[type]

    def block(self, code: Sequence[Statement]) -> Block:
        return tuple(map(self.statement, code))

    def statement(self, statement: Statement) -> Run:
        match statement:
            case ir.Let("item", value, part):
                value_of = self.expression(value, part)
                return lambda f: setattr(f, "item", value_of(f))
            case ir.Let(name, value, part):
                value_of = self.expression(value, part)
                return lambda f: f.local.__setitem__(name, value_of(f))
            case ir.Set(name, value, part):
                value_of = self.expression(value, part)
                return lambda f: f.target.__setitem__(name, value_of(f))
            case ir.Do(op):
                do: Run = self.argument(op)
                return do
            case ir.If(cases, other):
                tests = [(self.of(test), self.block(then)) for test, then in cases]
                return partial(_if, tests, self.block(other))
            case ir.Within(name, body, indexed):
                return partial(_within, name, self.block(body), indexed)
            case ir.Each():
                return self.each(statement)
            case ir.EachTag():
                return self.each_tag(statement)

    def each(self, each: ir.Each) -> Run:
        raise NotImplementedError

    def each_tag(self, each: ir.EachTag) -> Run:
        raise NotImplementedError

    def expression(self, value: Expression, part: Part | None) -> Function:
        """The function of a local's or a field's value."""
        del part
        function: Function = self.argument(value)
        return function

    def argument(self, part: Any) -> Any:
        """An argument of an operation: expressions are functions."""
        match part:
            case Op(name, args):
                operation, parts = getattr(self.frame, f"op_{name}"), tuple(map(self.argument, args))
                return lambda f: operation(f, *parts)
            case tuple():
                return tuple(map(self.argument, part))
        return self.of(part) if type(part) is Local or type(part) in VALUES else part


def _if(tests: list[tuple[Function, Block]], other: Block, f: Any) -> None:
    for each in next((then for test, then in tests if test(f)), other):
        each(f)


def _within(name: str, body: Block, indexed: bool, f: Any) -> None:
    try:
        for each in body:
            each(f)
    except (EncodeError, FormatError) as error:
        raise error.within(name, f.index if indexed else None) from None
