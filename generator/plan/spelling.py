"""Values as text of a programming language: what all languages with infix operators have in common.

A target derives from `Spelling`, and defines operator precedence and the spelling of parts of values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from kodec.generator.plan.values import (
    COMPARISONS,
    FLAG,
    Binary,
    Choose,
    Constant,
    FieldOf,
    IsNull,
    Item,
    MemberOf,
    Number,
    Peeked,
    SizeOf,
    Unary,
    Value,
    bare,
    opposite_of,
)

__all__ = ["Computed", "Precedence", "Spelling"]


class Computed(str):
    """Text of a place that holds a signed number of 64 bits already."""

    __slots__ = ()


class Precedence(dict[str, int]):
    """How tightly each operator binds.

    Args: levels are the operators that bind alike, with a space between, loosest first.
    Attributes: compared is how tightly a comparison binds, sign an operator of one value, atom all that never
        needs parentheses.
    """

    def __init__(self, *levels: str) -> None:
        super().__init__({op: own for own, ops in enumerate(levels, 1) for op in ops.split()})
        self.compared = max(self[op] for op in COMPARISONS)
        self.sign = len(levels) + 1
        self.atom = len(levels) + 2


@dataclass(frozen=True, kw_only=True)
class Spelling(ABC):
    """How values are spelled in one place.

    What spells a part of a value gives its text, and how tightly that binds.

    Attributes:
        field: how a field of the unit is spelled.
        item: what the element of a list is called, or the value that a rule speaks of.
    """

    field: Callable[[str], str]
    item: str = "item"

    binds: ClassVar[Precedence]
    words: ClassVar[Mapping[str, str]] = {"or": "||", "and": "&&", "not": "!"}
    """Operators that are spelled otherwise than in a plan."""
    calls: ClassVar[Mapping[str, str]] = {}
    """Operators that are functions of two values."""
    apart: ClassVar[Set[str]] = frozenset()
    """Operators in parentheses beside any other, as nobody knows by heart which binds tighter."""

    def __call__(self, value: Value, binds: int = 0) -> str:
        """A value, in parentheses where it binds less than `binds`."""
        own, text = self.spelled(value)
        return text if own >= binds else f"({text})"

    def of(self, item: str) -> Self:
        """The same for another element."""
        return replace(self, item=item)

    def opposite(self, test: Value) -> str:
        """That a test does not hold."""
        found = opposite_of(test)
        return f"{self.words['not']}{self(test, self.binds.sign)}" if found is None else self(found)

    def spelled(self, value: Value) -> tuple[int, str]:
        match value:
            case Constant(found):
                negative = isinstance(found, (int, float)) and found < 0
                return (self.binds.sign if negative else self.binds.atom), self.constant(value)
            case FieldOf() | Peeked() | Item() | MemberOf():
                return self.kept(value)
            case SizeOf(of):
                return self.size(of)
            case Number(of) if bare(of.type) == FLAG:
                return self.of_flag(of)
            case Number(of):
                return self.spelled(of)
            case IsNull(of):
                return self.is_null(of)
            case Unary():
                return self.unary(value)
            case Binary(op, left, right) if op in self.calls:
                sides = self.argument(left, value), self.argument(right, value)
                return self.binds.atom, f"{self.calls[op]}({', '.join(sides)})"
            case Binary():
                return self.binary(value)
            case Choose():
                return self.choice(value)
        raise TypeError(value)

    def place(self, value: Value) -> str:
        """A value as it is kept."""
        match value:
            case FieldOf(name) | Peeked(name=name):
                return self.field(name)
            case Item():
                return self.item
            case MemberOf(of, name):
                return f"{self.place(of)}{self.member(of, name)}"
        return self(value, self.binds.atom)

    def kept(self, value: FieldOf | Peeked | Item | MemberOf) -> tuple[int, str]:
        """What is kept, as expressions compute with it."""
        return self.binds.atom, self.place(value)

    def unary(self, value: Unary) -> tuple[int, str]:
        return self.binds.sign, f"{self.words.get(value.op, value.op)}{self(value.of, self.binds.atom)}"

    def binary(self, value: Binary) -> tuple[int, str]:
        own = self.binds[value.op]
        sides = self.side(value.left, value, own), self.side(value.right, value, own + 1)
        return own, self.operator(value).join(sides)

    def operator(self, of: Binary) -> str:
        """An operator with the space around it."""
        return f" {self.words.get(of.op, of.op)} "

    def side(self, part: Value, of: Binary, binds: int) -> str:
        """One side of an operation."""
        return self(part, self.beside(part, of, binds))

    def beside(self, part: Value, of: Binary, binds: int) -> int:
        """How tightly a side has to bind to stand without parentheses."""
        if isinstance(part, Binary) and part.op in self.apart - {of.op}:
            return self.binds.atom
        # in some languages comparisons chain, in others there is no comparing them
        return self.binds.compared + 1 if of.op in COMPARISONS else binds

    def argument(self, part: Value, of: Binary) -> str:
        """A part of a value that is spelled as a call."""
        return self(part)

    @abstractmethod
    def constant(self, value: Constant) -> str: ...

    @abstractmethod
    def member(self, of: Value, name: str) -> str:
        """What stands after an object to name its field."""

    @abstractmethod
    def size(self, of: Value) -> tuple[int, str]:
        """The number of elements, bytes or characters."""

    @abstractmethod
    def of_flag(self, of: Value) -> tuple[int, str]:
        """A flag as a number."""

    @abstractmethod
    def is_null(self, of: Value) -> tuple[int, str]:
        """The test that there is no value."""

    @abstractmethod
    def choice(self, value: Choose) -> tuple[int, str]: ...
