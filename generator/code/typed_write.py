"""The pass from code to typed code: how streamed units are written, for languages that are printed.

It goes through the statements of `lower_stream_write.py`. A size that can be settled comes with its `ways`: a
function of the size that is wanted, which gives the fields that have to change, and what each becomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kodec.generator.code import ir
from kodec.generator.code.ir import Local, Op
from kodec.generator.code.lower_stream_write import instance_writer_of, stream_writer_of
from kodec.generator.code.passes import tidy
from kodec.generator.code.typed import (
    LONG,
    ULONG,
    Code,
    Do,
    If,
    Items,
    Lacking,
    Let,
    Statement,
    UnitCode,
    codes_in,
    stored,
)
from kodec.generator.code.typed_derived import DerivedValues, marks_of
from kodec.generator.code.typed_read import PROCESSES, type_of_wire
from kodec.generator.code.typed_values import call, constant
from kodec.generator.plan import values as plan
from kodec.generator.plan.follows import blank_of
from kodec.generator.plan.steps import Bounds, Calculated, InstancePlan, Program, Solution, Unit
from kodec.generator.plan.streams import asks_stream
from kodec.generator.plan.values import (
    ANY,
    FLAG,
    OBJECT,
    OCTETS,
    STREAM,
    TEXT,
    EnumOf,
    Grouped,
    ListOf,
    Maybe,
    OneOf,
    Type,
    Value,
    Whole,
    bare,
)

__all__ = ["Followed", "PlacedCode", "SolverCode", "WriterCode", "writers_of"]

_NULL = Code("const", (None,), ANY)
_MOST_BITS = 64


@dataclass(frozen=True, slots=True)
class Followed:
    """A field that is computed where nobody gave it; `blank` stands in it until then."""

    name: str
    blank: Code
    is_optional: bool


@dataclass(frozen=True, slots=True)
class SolverCode:
    """How what a value instance is computed of follows from it: the parameter `wanted` is of `type`."""

    name: str
    type: Type
    ways: Code


@dataclass(frozen=True, slots=True)
class PlacedCode:
    """An instance at a position: `write` writes it to the local `io`.

    Attributes:
        stream: the stream it is in, if that is not the one of the object.
        is_kept: whether its position depends on where the stream stood when it was read.
        ways: how its position can change; `of` are the fields that it is computed of where it cannot.
        align: a position that is chosen is a multiple of it, with `fill` in front of it; 0 is any.
    """

    name: str
    position: Code
    stream: Code | None
    is_kept: bool
    ways: Code
    of: str
    align: int
    fill: int
    write: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class WriterCode:
    """How objects of a unit are written."""

    body: tuple[Statement, ...]
    followed: tuple[Followed, ...]
    solvers: tuple[SolverCode, ...]
    placed: tuple[PlacedCode, ...]
    derived: tuple[Statement, ...]


def writers_of(
    program: Program, codes: dict[str, UnitCode], asked: dict[str, tuple[str, ...]]
) -> tuple[dict[str, WriterCode], dict[str, tuple[str, str]]]:
    """The writer of each unit that has one, and of others the member that is the reason, and why."""
    found: dict[str, WriterCode] = {}
    lacking: dict[str, tuple[str, str]] = {}
    for name in codes:
        typing = _Typing(program, program.units[name], asked)
        try:
            found[name] = typing.writer_code()
        except Lacking as lack:
            lacking[name] = typing.about, str(lack)
    # what holds an object that is not written is not written either
    todo = list(lacking)
    while todo:
        inner = todo.pop()
        for name in list(found):
            if inner in program.units[name].holds:
                del found[name]
                lacking[name] = "", f"it holds `{inner}`, which is not written"
                todo.append(name)
    return found, lacking


class _Typing(DerivedValues):
    """The typed code that writes one unit; `about` is the field or the instance that it is about."""

    def __init__(self, program: Program, unit: Unit, asked: dict[str, tuple[str, ...]]) -> None:
        super().__init__(program, unit, asked)
        self.about = ""
        self._locals = 0
        self.io = Code("var", ("io",), STREAM)

    def writer_code(self) -> WriterCode:
        unit = self.unit
        assert unit.streamed is not None
        for parameter in unit.parameters:
            self.about = parameter.name
            if any(part == STREAM for part in _types_in(parameter.type)):
                raise Lacking("a stream is a parameter")
        self.about = ""
        body = tidy(self._block(stream_writer_of(unit)))
        followed = tuple(map(self._followed, unit.follows))
        solvers, placed = [], []
        for instance in unit.streamed.instances:
            self.about = instance.name
            if instance.value is not None and instance.solved:
                kind = _wanted(instance.type)
                solvers.append(SolverCode(instance.name, kind, self._ways(instance.solved, kind)))
            if instance.position is not None:
                placed.append(self._placed(instance))
        self.io = Code("var", ("io",), STREAM)
        derived = tuple(part for each in unit.streamed.calculated for part in self._derived(each))
        return WriterCode(body, followed, tuple(solvers), tuple(placed), derived)

    def _derived(self, each: Calculated) -> tuple[Statement, ...]:
        """Set a field to what it is derived of, once all bytes are there."""
        self.about = each.name
        around, self._made = self._made, []
        have = self.member(self.this, self.unit, each.name)
        tests = [] if each.when is None else [self.flag(each.when)]
        owner, name = self.this, each.name
        if each.into:
            if isinstance(have.type, Maybe):
                tests.insert(0, Code("is", (have,), FLAG))
            owner, name = self._there(have), each.into
            have = self._of(owner, name)
        value = self.as_(self.code(each.value), _wanted(have.type))
        facts = self.as_(owner, OBJECT), Code("member", (name,), TEXT), self.as_(have, ANY), value
        self._act("derive", each.name, *facts, constant(bool(each.into)))
        made, self._made = tuple(self._made), around
        for test in reversed(tests):
            made = (If(test, made),)
        return made

    def _followed(self, name: str) -> Followed:
        self.about = name
        spec = self.unit.field(name)
        return Followed(name, self._blank(name), isinstance(spec.type, Maybe))

    def _blank(self, name: str) -> Code:
        spec = self.unit.field(name)
        blank = blank_of(self.unit, spec)
        if isinstance(blank, Grouped):
            raise Lacking("it is a list of groups of the bits of a number")
        kind = stored(bare(spec.type))
        if blank == []:
            return Code("list", (), kind)
        return Code("const", (blank,), kind)

    def _placed(self, instance: InstancePlan) -> PlacedCode:
        assert instance.step is not None and instance.position is not None
        here, self.io = self.io, Code("stream", (self.this,), STREAM)
        position = self.amount(instance.position)
        stream = None if instance.stream is None else self.as_(self.code(instance.stream), STREAM)
        _, ways, of = self._size(ir.sized(instance.position, instance.solved))
        self.io = here
        is_kept = instance.stream is None and asks_stream(instance.position, self.unit)
        write = tidy(self._block(instance_writer_of(self.unit, instance.step)))
        if instance.name in marks_of(self.unit):
            write = self.mark(instance.name, end=False), *write, self.mark(instance.name, end=True)
        facts = stream, is_kept, ways, of, instance.align, instance.fill
        return PlacedCode(instance.name, position, *facts, write)

    # -- statements -------------------------------------------------------------------------------

    def _block(self, code: Sequence[ir.Statement]) -> tuple[Statement, ...]:
        around, self._made = self._made, []
        try:
            for statement in code:
                self._statement(statement)
            return tuple(self._made)
        finally:
            self._made = around

    def _statement(self, statement: ir.Statement) -> None:
        match statement:
            case ir.Let("item", value):
                self.item = self._expression(value)
            case ir.Let(name, value):
                self.known[name] = self._local(name.rstrip("0123456789"), self._expression(value))
            case ir.Do(op):
                self._do(op)
            case ir.If(cases, other):
                made = self._block(other)
                for test, then in reversed(cases):
                    flag = self.known[test.name] if isinstance(test, Local) else self.flag(test)
                    made = (If(flag, self._block(then), made),)
                self._made += made
            case ir.Each():
                self._each(statement)
            case _:
                raise TypeError(statement)

    def _each(self, each: ir.Each) -> None:
        self.about = each.field
        target = self.member(self.this, self.unit, each.field)
        kind = bare(target.type)
        assert isinstance(kind, ListOf)
        around = self.item, self.index, self.known.get("item")
        self.item = self.known["item"] = Code("var", ("item",), kind.item)
        self.index = Code("index", (), LONG)
        body = self._block(each.body)
        self.item, self.index = around[:2]
        items = self._on("items", ANY, each.name, target)
        is_indexed = any(part.op == "index" for part in codes_in(body))
        self._made.append(Items(items, kind.item, body, is_indexed))

    def _local(self, name: str, value: Code) -> Code:
        if value.op == "var" or (value.op in ("this", "const")):
            return value
        self._locals += 1
        local = Code("var", (f"{name}{self._locals}",), value.type)
        self._made.append(Let(local.args[0], value))
        return local

    # -- operations -------------------------------------------------------------------------------

    def _on(self, name: str, kind: Type, *args: object) -> Code:
        return Code("on", (name, self.io, *args), kind)

    def _act(self, name: str, *args: object) -> None:
        self._made.append(Do(self._on(name, ANY, *args)))

    def _expression(self, value: Any) -> Code:
        """An expression; of an operation its result."""
        if not isinstance(value, Op):
            return self.code(value)
        match value:
            case Op("encoded", (text, encoding, name)):
                return Code("on", ("encoded", self.io, name, self.code(text), encoding), OCTETS)
            case Op("processed", (data, process, arguments, name)):
                self.about = name
                given = [self.code(each) for each in arguments]
                given = [each if each.type == OCTETS else self.long_of(each) for each in given]
                if process not in PROCESSES:
                    raise Lacking(f"its process `{process}` is not one of {', '.join(PROCESSES)}")
                if process == "xor" and given[0].type == OCTETS:
                    process = "xor_all"
                stored = self.known[data.name]
                if stored.type != OCTETS:
                    stored = self._on("octets", OCTETS, name, stored)
                return self._on(process, OCTETS, name, stored, *given)
            case Op("part", (held, size, name)):
                limit = Code("no_size", (), LONG) if size is None else self.amount(size)
                return self._on("part", STREAM, name, self.known[held.name], limit)
            case Op("whole", (part, held, name)):
                return self._on("whole", OCTETS, name, self.known[part.name], self.known[held.name])
            case Op("is_written", (name, test)):
                self.about = name
                holds = self.flag(test)
                member = Code("member", (name,), TEXT)
                return self._on("follows", FLAG, self.this, member, holds, self._blank(name))
            case Op("wanted", (held, name, test, solved, sizes, lacking)):
                self.about = name
                ways = self._ways(solved, FLAG), self._ways(sizes, LONG)
                lazy = Code("lazy", (self.flag(test),), FLAG)
                return self._on("wanted", FLAG, name, self.code(held), lazy, *ways, constant(lacking))
        raise TypeError(value)

    def _do(self, op: Op) -> None:
        match op:
            case Op("align"):
                self._act("align")
            case Op("order", (little,)):
                number = constant(0 if little is None else 1 if little else 2)
                self._made.append(Do(call("order", ANY, number)))
            case Op("span", (name, end, _)):
                if name in marks_of(self.unit):
                    self._made.append(self.mark(name, end=end))
            case Op("put", (wire, order, value, name)):
                self.about = name
                number = self.as_(self._there(self.code(value)), stored(type_of_wire(wire)))
                self._made.append(Do(Code("put_number", (self.io, wire, order, number, name), ANY)))
            case Op("put_next_bits", (width, order, value, name)):
                self.about = name
                if width > _MOST_BITS:
                    raise Lacking(f"it is wider than {_MOST_BITS} bits")
                number = self.as_(self._there(self.code(value)), ULONG)
                self._act("put_bits", name, number, constant(width), constant(order == "le"))
            case Op("put_fixed", (value, contents, name)):
                self._act("put_fixed", name, self.code(value), constant(contents))
            case Op("put_ended", (data, Bounds() as bounds, name)):
                flags = map(constant, (bounds.include, bounds.consume, bounds.needed))
                end = constant(bounds.terminator or b"")
                self._act("put_ended", name, self.known[data.name], end, *flags)
            case Op("put_bytes", (data, size, name)):
                self._act("put_bytes", name, self.known[data.name], *self._size(size))
            case Op("put_filled", (data, bounds, size, _, name)):
                pad = constant(-1 if bounds.pad is None else bounds.pad)
                end = Code("const", (bounds.terminator,), OCTETS)
                fills = pad, end, constant(bounds.include)
                self._act("put_filled", name, self.known[data.name], *fills, *self._size(size)[:2])
            case Op("put_part", (part, held, size, name)):
                self._act("put_part", name, self.known[part.name], self.known[held.name], *self._size(size))
            case Op("write_object"):
                self._write_object(*op.args)
            case Op("late_argument", (held, unit, index, argument, name)):
                parameter = self.units[unit].parameters[index]
                given = self.as_(self.code(argument), stored(parameter.type))
                member = Code("member", (parameter.name,), TEXT)
                self._act("late", name, self.known[held.name], member, given)
            case Op("instance", (instance, _)):
                self._act("instance", self.this, Code("member", (instance.name,), TEXT))
            case Op("counted", (value, size, name)):
                self.about = name
                listed = self.code(value)
                self._act("counted", name, listed, self._place(listed), *self._size(size))
            case Op("not_empty", (value, name)):
                self._act("not_empty", name, self.code(value))
            case Op("last", (value, until, name)):
                assert self.index is not None and self.item is not None
                self._act("last", name, self.code(value), self.flag(until), self.index, self.item)
            case Op("ends", (name,)):
                self._act("ends", name)
            case Op("choose", (name, held, on, cases, solved)):
                self._choose(name, held, on, cases, solved)
            case Op("refuse_value", (name, reason, need, value)):
                have = self.as_(self.code(value), ANY)
                self._act("refuse", name, Code("const", (reason,), TEXT), self._need(need), have)
            case _:
                raise TypeError(op)

    def _need(self, need: Any) -> Code:
        if need is None:
            return _NULL
        if isinstance(need, str):
            return Code("const", (need,), TEXT)
        if isinstance(need, tuple):
            return Code("const", (f"one of {', '.join(map(plan.text_of, need))}",), TEXT)
        return self.as_(self.code(need), ANY)

    def _write_object(
        self,
        part: Local | None,
        unit: str,
        held: Local,
        arguments: Sequence[Local | None],
        solved: Sequence[tuple[Solution, ...]],
        parent: Local | None,
        rooted: bool,
        name: str,
        indexed: bool,
    ) -> None:
        self.about = name
        parameters = self.units[unit].parameters
        given = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            if argument is not None:
                value = self.as_(self.known[argument.name], stored(parameter.type))
                given.append((parameter.name, value))
        ways = [
            (parameter.name, self._ways(each, _wanted(parameter.type)))
            for parameter, each in zip(parameters, solved, strict=False)
            if each
        ]
        none = Code("const", (None,), OBJECT)
        around = none if parent is None else self.as_(self.known[parent.name], OBJECT)
        root = Code("root", (self.this,), OBJECT) if rooted else none
        sink = self.io if part is None else self.known[part.name]
        index = self.index if indexed else None
        about = sink, unit, self.known[held.name], name, index, around, root
        self._made.append(Do(Code("put_object", (*about, tuple(given), tuple(ways)), ANY)))

    @staticmethod
    def _place(listed: Code) -> Code:
        """The field that has a list, whose object a language may need."""
        return Code("place", listed.args if listed.op == "field" else (), ANY)

    def _choose(
        self,
        name: str,
        held: Local,
        on: Local,
        cases: Iterable[tuple[str, Value]],
        solved: tuple[Solution, ...],
    ) -> None:
        self.about = name
        chosen = self.known[on.name]
        kind = bare(chosen.type)
        wanted: Type = TEXT if kind == TEXT else FLAG if kind == FLAG else LONG
        pairs = tuple((unit, self.as_(self.code(value), wanted)) for unit, value in cases)
        value = self.as_(chosen, ANY) if isinstance(chosen.type, Maybe) else self.as_(chosen, wanted)
        about = self.io, name, self.known[held.name], value, pairs
        self._made.append(Do(Code("choice", (*about, self._ways(solved, wanted)), ANY)))

    # -- what follows from what is written --------------------------------------------------------

    def _size(self, size: tuple[Value | None, tuple[Solution, ...], str]) -> tuple[Code, Code, str]:
        """A size, or null for any; how it can change; the fields it is computed of where it cannot."""
        value, solved, names = size
        amount = Code("no_size", (), LONG) if value is None else self.amount(value)
        return amount, self._ways(solved, LONG), names

    def _ways(self, solved: Iterable[Solution], wanted: Type) -> Code:
        """The function of what is wanted, or null."""
        # a byte of bytes does not change by itself
        fields = (each for each in solved if not _is_byte(each.target))
        ways = tuple(self._way(each, wanted) for each in fields)
        return Code("ways", (wanted, ways), ANY) if ways else _NULL

    def _way(self, part: Solution, wanted: Type) -> Code:
        target, at = part.target, None
        if isinstance(target, plan.ElementOf):
            at, target = self.long(target.at), target.of
            while isinstance(target, (plan.Required, plan.Cast)):
                target = target.of
        if isinstance(target, plan.StreamAsked):
            owner, is_field = self.code(target.of), False
            kind: Type = LONG
        else:
            assert isinstance(target, (plan.FieldOf, plan.MemberOf))
            member, is_field = self.code(target), True
            if member.op not in ("field", "instance"):
                raise Lacking(f"`{target.name}` of an object of one of several types")
            owner, kind = member.args[0], bare(member.type)
            if at is not None:
                assert isinstance(kind, ListOf)
                kind = kind.item
        tests = tuple(self.flag(each) for each in part.tests)
        around, self.item = self.item, Code("var", ("wanted",), wanted)
        # what does not fit is refused where it is set
        value = self.as_(self._there(self.code(part.value)), _wanted(kind))
        self.item = around
        also = tuple(self._way(each, wanted) for each in part.also)
        return Code("way", (tests, owner, target.name, is_field, value, at, also), ANY)

    # -- values -----------------------------------------------------------------------------------

    def code(self, value: Value | Local) -> Code:
        match value:
            case Local("item"):
                assert self.item is not None
                return self.item
            case plan.Digits(of, base, like):
                return call("digits", TEXT, self.long(of), constant(base), self.as_(self.code(like), TEXT))
            case plan.Grouped():
                raise Lacking("it is a list of groups of the bits of a number")
        return super().code(value)


def _wanted(kind: Type) -> Type:
    """The type in which what a member has to be is computed."""
    kind = stored(bare(kind))
    return LONG if isinstance(kind, (Whole, EnumOf)) else kind


def _is_byte(target: Value) -> bool:
    return isinstance(target, plan.ElementOf) and bare(target.of.type) == OCTETS


def _types_in(kind: Type) -> Iterator[Type]:
    kind = bare(kind)
    if isinstance(kind, ListOf):
        yield from _types_in(kind.item)
    elif isinstance(kind, OneOf):
        for each in kind.types:
            yield from _types_in(each)
    else:
        yield kind
