"""Typed code as text: what languages with blocks and calls have in common.

A target derives from `CodePrinter` and defines how each statement and each operation is spelled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from kodec.generator.code.typed import (
    LONG,
    Code,
    Do,
    Each,
    If,
    InstanceCode,
    Items,
    Let,
    Set,
    Statement,
    UnitCode,
    codes_in,
)
from kodec.generator.code.typed_read import asked_in, typed_of
from kodec.generator.code.typed_write import WriterCode, writers_of
from kodec.generator.plan.steps import Chars, Nested, Program, Unit, values_of
from kodec.generator.plan.streams import streams_of
from kodec.generator.plan.values import COMPARISONS, FLAG, Decoded, Type, whole_of
from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model
from kodec.generator.wire import ENCODINGS

__all__ = [
    "CodePrinter",
    "StreamPackage",
    "WriterPrinter",
    "Writers",
    "camel",
    "is_table",
    "may_be_negative",
    "upper_half",
]


class Writers(NamedTuple):
    """The writer of each unit, and why a unit has none: its field or instance, and the reason."""

    codes: dict[str, WriterCode]
    lacking: dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class StreamPackage:
    """What the streamed schemas of a model are printed from."""

    model: Model
    program: Program
    codes: dict[str, UnitCode]
    lacking: list[tuple[str, str, str]]

    @classmethod
    def of(cls, model: Model) -> StreamPackage:
        if not any(schema.streamed for schema in model.schemas):
            return cls(model, Program(), {}, [])
        program = streams_of(model, Kinds(model))
        return cls(model, program, *typed_of(program))

    def writers(self) -> Writers:
        """How objects are written, and the units without."""
        return Writers(*writers_of(self.program, self.codes, asked_in(self.program)))

    def problems(
        self, language: str, *, tables_only: bool = True, digests: bool = True
    ) -> Iterator[SchemaProblem]:
        """The constructs that a language does not have, with their places.

        Args:
            tables_only: it has only encodings with a byte for each character, and Unicode's.
            digests: it has md5 and its like.
        """
        for schema in self.model.schemas:
            for enum in schema.enums:
                if any(not LONG.low <= each.value <= LONG.high for each in enum.items):
                    text = f"it has a number beyond what a signed number of 64 bits holds in {language}"
                    yield SchemaProblem(schema.root.place, enum.name.replace("::", "."), text)
        for name, member, why in self.lacking:
            yield self._problem(name, member, why, language)
        for name, code in self.codes.items() if not digests else ():
            for each in codes_in(code.checks):
                if each.op == "call" and each.args[0] == "digest":
                    why = f"it is derived by `{each.args[1]}`"
                    yield self._problem(name, _checked_in(code, each), why, language)
        for unit in self.program.units.values() if tables_only else ():
            for member, encoding in _encodings(unit):
                if ENCODINGS[encoding].form == "sequences":
                    yield self._problem(unit.name, member, f"its text is in {encoding}", language)

    def unwritten(self, language: str) -> Iterator[SchemaProblem]:
        """Notes of the types that cannot be written: the first of each schema that is the reason itself."""
        noted = set[str]()
        for name, (member, why) in self.writers().lacking.items():
            schema = name.partition("::")[0]
            if schema not in noted:
                noted.add(schema)
                found = self._problem(name, member, why, language, "written to")
                yield replace(found, severity="note")

    @property
    def held(self) -> set[str]:
        """The units that others read."""
        parts = (values_of((unit.steps, unit.streamed)) for unit in self.program.units.values())
        return {each.unit for several in parts for each in several if isinstance(each, Nested)}

    def seeks(self, name: str) -> bool:
        """Whether a unit, or one that it reads, has instances that are read: bytes after it may be theirs."""
        todo, seen = [name], set[str]()
        while todo:
            unit = self.program.units[todo.pop()]
            assert unit.streamed is not None
            if any(each.step is not None for each in unit.streamed.instances):
                return True
            seen.add(unit.name)
            todo += [each for each in unit.holds if each not in seen]
        return False

    def _problem(
        self, name: str, member: str, why: str, language: str, done: str = "read from"
    ) -> SchemaProblem:
        struct = self.model.struct(name)
        spec = struct.field(member) or struct.instance(member)
        path = name.replace("::", ".")
        text = f"it cannot be {done} streams in {language}: {why}"
        if spec is None:
            return SchemaProblem(struct.place, path, text)
        return SchemaProblem(spec.place, f"{path}.{member}", text)


def _checked_in(code: UnitCode, part: Code) -> str:
    """The field whose comparison has an operation."""
    parts = next([*codes_in(check)] for check in code.checks if part in codes_in(check))
    return next(str(each.args[1]) for each in parts if each.op == "call" and each.args[0] == "differs")


def _encodings(unit: Unit) -> Iterator[tuple[str, str]]:
    """The encodings of a unit, each with the field or the instance that has it."""
    assert unit.streamed is not None
    parts = [(getattr(each, "name", ""), each) for each in (*unit.steps, *unit.streamed.instances)]
    for name, part in parts:
        for each in values_of(part):
            if isinstance(each, (Chars, Decoded)):
                yield name, each.encoding


def is_table(encoding: str) -> bool:
    """Whether each character of an encoding is one byte, by a table."""
    return ENCODINGS[encoding].form == "table"


def upper_half(encoding: str) -> str:
    """The characters of the bytes from 0x80 on; U+FFFD for one that is none."""
    return bytes(range(0x80, 0x100)).decode(ENCODINGS[encoding].python, "replace")


def may_be_negative(kind: Type) -> bool:
    whole = whole_of(kind)
    return whole is None or whole.low < 0


def camel(name: str) -> str:
    """`size_of` as `sizeOf`."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class CodePrinter(ABC):
    """The code of one unit in one language.

    Attributes:
        code: what is printed.
        comments: that of the unit, by "", of its fields, and of its instances, by their names and `()`.
        indent: what a block is indented by.
        end: what ends a statement.
        nil: what a value is compared with that may be null.
        words: how operators are spelled where not as in the plan.
    """

    code: UnitCode
    comments: Mapping[str, str]
    indent: ClassVar[str]
    end: ClassVar[str] = ""
    nil: ClassVar[str] = "null"
    words: ClassVar[Mapping[str, str]] = {"and": "&&", "or": "||"}

    # -- for templates ----------------------------------------------------------------------------

    @property
    def is_part(self) -> bool:
        """Whether it is read as a part of what holds it."""
        assert self.code.unit.streamed is not None
        return self.code.unit.streamed.part

    @property
    def parameters(self) -> str:
        """The parameters of a function, after others."""
        parts = self.code.parameters
        return "".join(f", {self.declared(kind, self.parameter(name))}" for name, kind in parts)

    @property
    def passed(self) -> str:
        """The parameters of the unit, after other arguments of a call."""
        return "".join(f", {self.parameter(name)}" for name, _ in self.code.parameters)

    def lines(self, deep: int = 1) -> str:
        """The statements that read it."""
        return "\n".join(self.block(self.code.body, deep))

    def checks(self, deep: int = 1) -> str:
        """The statements that compare what follows from bytes with what was read."""
        return "\n".join(self.block(self.code.checks, deep))

    def body(self, instance: InstanceCode, deep: int = 1) -> str:
        """The statements that read an instance."""
        return "\n".join(self.block(instance.body, deep))

    def text(self, code: Code) -> str:
        return self(code)

    def comment(self, name: str = "") -> str:
        return self.comments.get(name, "")

    @abstractmethod
    def declared(self, kind: Type, name: str) -> str:
        """A name with its type, as a parameter has it."""

    @abstractmethod
    def parameter(self, name: str) -> str:
        """The local that is a parameter of the unit, which no other name is."""

    # -- statements -------------------------------------------------------------------------------

    def block(self, statements: Iterable[Statement], deep: int = 1) -> Iterator[str]:
        """The lines of statements; an operation may have several."""
        space = self.indent * deep
        for each in statements:
            for line in self._statement(each):
                yield space + line.replace("\n", f"\n{space}")

    def _statement(self, each: Statement) -> Iterator[str]:
        match each:
            case Let(name, value):
                yield self.let(name, value)
            case Set(target, value):
                yield self.set(target, value)
            case Do(value):
                yield self.do(value)
            case If():
                yield from self._if(each)
            case Each():
                yield from self.each(each)
            case Items():
                assert isinstance(self, WriterPrinter)
                yield from self.items(each)

    def _if(self, each: If) -> Iterator[str]:
        yield f"{self.test(each.test)} {{"
        yield from self.block(each.then)
        while len(each.other) == 1 and isinstance(each.other[0], If):
            each = each.other[0]
            yield f"}} else {self.test(each.test)} {{"
            yield from self.block(each.then)
        if each.other:
            yield "} else {"
            yield from self.block(each.other)
        yield "}"

    def do(self, value: Code) -> str:
        return f"{self(value)}{self.end}"

    def set(self, target: Code, value: Code) -> str:
        return f"{self(target)} = {self(value)}{self.end}"

    @abstractmethod
    def test(self, test: Code) -> str:
        """The head of a condition."""

    @abstractmethod
    def let(self, name: str, value: Code) -> str: ...

    @abstractmethod
    def declare(self, name: str, kind: Type) -> str:
        """A local without a value, or with that of nothing."""

    @abstractmethod
    def each(self, each: Each) -> Iterator[str]: ...

    # -- operations -------------------------------------------------------------------------------

    def __call__(self, code: Code, *, tight: bool = False) -> str:
        """The text of an operation; `tight`: one that stands beside an operator."""
        text: str = getattr(self, f"of_{code.op}")(code, *code.args)
        return f"({text})" if tight and self.is_loose(code) else text

    def is_loose(self, code: Code) -> bool:
        """Whether an operation needs parentheses beside an operator."""
        if code.op == "convert":
            return code.type == FLAG
        is_test = code.op == "is" or (code.op == "not" and code.args[0].op == "is")
        return is_test or code.op == "choose" or (code.op == "op" and not self.is_called(code))

    def is_called(self, code: Code) -> bool:
        """Whether the language has a call for an operator of these values."""
        return False

    def given(self, parts: Iterable[Any]) -> str:
        """The arguments of a call."""
        return ", ".join(self(each) if isinstance(each, Code) else self.literal(each) for each in parts)

    def of_const(self, code: Code, value: Any) -> str:
        return self.constant(value, code.type)

    def of_var(self, code: Code, name: str) -> str:
        return name

    def of_this(self, code: Code) -> str:
        return "this"

    def of_pos(self, code: Code, stream: Code) -> str:
        return f"{self(stream, tight=True)}.pos()"

    def of_size(self, code: Code, stream: Code) -> str:
        return f"{self(stream, tight=True)}.size()"

    def of_eof(self, code: Code, stream: Code) -> str:
        return f"{self(stream, tight=True)}.eof()"

    def of_choose(self, code: Code, test: Code, yes: Code, no: Code) -> str:
        return f"{self(test, tight=True)} ? {self(yes, tight=True)} : {self(no, tight=True)}"

    def of_walk(self, code: Code, io: Code, name: str, kind: str, *limits: Any) -> str:
        least, count, watched = limits
        if count is not None:
            return f"{self(io)}.counted({self.given((name, count, least, watched))})"
        return f"{self(io)}.{'repeated' if kind == 'until' else 'toEnd'}({self.literal(name)})"

    def encoding(self, name: str) -> str:
        """An encoding, and where that is a table the upper half of its characters."""
        return self.given((name, upper_half(name) if is_table(name) else ""))

    def of_op(self, code: Code, op: str, left: Code, right: Code) -> str:
        if op in COMPARISONS and self.is_called(code):
            return self.comparison(op, left, right)
        # what holds of both or of either needs no parentheses among its like
        texts = [
            self(each, tight=not (each.op == "op" and each.args[0] in ((op,) if op in ("and", "or") else ())))
            for each in (left, right)
        ]
        return f"{texts[0]} {self.words.get(op, op)} {texts[1]}"

    @abstractmethod
    def of_seen(self, code: Code, bit: int) -> str: ...

    def of_not(self, code: Code, of: Code) -> str:
        if of.op == "is":
            return self._compared_with_null("==", of)
        is_ordered = self.is_called(of) and of.args[0] not in ("==", "!=")
        return f"!({self(of)})" if is_ordered else f"!{self(of, tight=True)}"

    def of_is(self, code: Code, of: Code) -> str:
        return self._compared_with_null("!=", code)

    def _compared_with_null(self, op: str, test: Code) -> str:
        return f"{self(test.args[0], tight=True)} {self.words.get(op, op)} {self.nil}"

    @abstractmethod
    def comparison(self, op: str, left: Code, right: Code) -> str:
        """A comparison that is a call."""

    @abstractmethod
    def literal(self, value: Any) -> str: ...

    @abstractmethod
    def constant(self, value: Any, kind: Type) -> str: ...


class WriterPrinter(CodePrinter):
    """The code of one unit in a language that also writes it: what `typed_write.py` adds."""

    @abstractmethod
    def items(self, each: Items) -> Iterator[str]: ...

    @abstractmethod
    def of_member(self, code: Code, name: str) -> str: ...

    @abstractmethod
    def of_place(self, code: Code, *args: Any) -> str: ...

    @abstractmethod
    def of_no_size(self, code: Code) -> str: ...

    @abstractmethod
    def of_put_number(self, code: Code, io: Code, wire: str, order: str, value: Code, name: str) -> str: ...

    @abstractmethod
    def of_put_object(self, code: Code, *args: Any) -> str: ...

    @abstractmethod
    def of_choice(self, code: Code, *args: Any) -> str: ...

    @abstractmethod
    def of_lazy(self, code: Code, of: Code) -> str: ...

    @abstractmethod
    def of_ways(self, code: Code, wanted: Type, ways: tuple[Code, ...]) -> str: ...

    @abstractmethod
    def of_way(self, code: Code, *args: Any) -> str: ...
