"""The statements of a unit as functions of a frame, which has the operations as its methods."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, get_args

from kodec.generator.code import ir
from kodec.generator.code.ir import Expression, Local, Op, Part, Statement
from kodec.generator.code.values import Function, Values
from kodec.generator.plan import values as plan
from kodec.generator.plan.steps import Solution, Unit
from kodec.generator.plan.values import Value
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.settling import Solve

__all__ = ["VALUES", "Block", "Run", "UnitFunctions", "Way", "WriterFunctions", "solve"]

VALUES = frozenset(get_args(Value))

Run = Callable[[Any], None]
# executed in place, without a function around it: objects nest deep
Block = tuple[Run, ...]

Way = Callable[[Any, Any], Any]
"""A field that a size follows from and what it has to be, of a frame and the size that is wanted."""


class UnitFunctions(Values, ABC):
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

    @abstractmethod
    def each(self, each: ir.Each) -> Run:
        """The function of a list."""

    def each_tag(self, each: ir.EachTag) -> Run:
        """The function of a tagged section, which streams do not have."""
        raise TypeError(f"{type(self).__name__} has no tagged sections")

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


class WriterFunctions(UnitFunctions):
    """What writes a unit: solutions are functions, too."""

    def __init__(self, unit: Unit) -> None:
        # a number that does not fit its field is refused where it is written
        super().__init__(unit, checked=False)

    def argument(self, part: Any) -> Any:
        return self.solution(part) if isinstance(part, Solution) else super().argument(part)

    def attribute(self, name: str) -> str:
        """How objects have a field."""
        return name

    def solution(self, part: Solution) -> Way:
        target, at = part.target, None
        if isinstance(target, plan.ElementOf):
            at, target = self.of(target.at), target.of
            while isinstance(target, (plan.Required, plan.Cast)):
                target = target.of
        assert isinstance(target, (plan.FieldOf, plan.MemberOf, plan.StreamAsked))
        owner_of = None if isinstance(target, plan.FieldOf) else self.of(target.of)
        tests, value_of = [self.of(each) for each in part.tests], self.of(part.value)
        also, name = [self.solution(each) for each in part.also], self.attribute(target.name)

        def way(f: Any, wanted: Any) -> Any:
            if not all(each(f) for each in tests):
                return None
            index = () if at is None else (at(f),)
            owner = f.node if owner_of is None else owner_of(f)
            around, f.item = f.item, wanted
            change = owner, name, value_of(f), *index
            f.item = around
            return [change, *(each(f, wanted) for each in also)] if also else change

        return way


def solve(f: Any, ways: tuple[Way, ...]) -> Solve | None:
    """A function of the wanted size: each field that determines it, and the value that this must have."""
    if not ways:
        return None
    # it may be asked when the frame stands elsewhere
    here = copy.copy(f)
    return lambda wanted: tuple(each(here, wanted) for each in ways)


def _if(tests: list[tuple[Function, Block]], other: Block, f: Any) -> None:
    for each in next((then for test, then in tests if test(f)), other):
        each(f)


def _within(name: str, body: Block, indexed: bool, f: Any) -> None:
    try:
        for each in body:
            each(f)
    except (EncodeError, FormatError) as error:
        raise error.within(name, f.index if indexed else None) from None
