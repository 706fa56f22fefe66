"""The pass from code to typed code: how streamed units are read, for languages that are printed.

It goes through the statements of `lower_read.py`. Values become typed operations; the source that is entered
becomes an argument of what reads from it; bits that share bytes are loaded once, into a local.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

from kodec.generator.code import ir
from kodec.generator.code.ir import Local, Op
from kodec.generator.code.lower_read import reader_of
from kodec.generator.code.typed import (
    LONG,
    ULONG,
    Code,
    Do,
    Each,
    If,
    InstanceCode,
    Lacking,
    Let,
    Set,
    Statement,
    UnitCode,
    is_scalar,
    opposite,
    stored,
)
from kodec.generator.code.typed_derived import DerivedValues, marks_of
from kodec.generator.code.typed_values import call, constant
from kodec.generator.plan.follows import is_local
from kodec.generator.plan.steps import Bounds, Calculated, InstancePlan, Program, Unit, values_of
from kodec.generator.plan.streams import asks_stream
from kodec.generator.plan.values import (
    ANY,
    FLAG,
    OBJECT,
    OCTETS,
    STREAM,
    TEXT,
    Binary,
    FieldOf,
    ListOf,
    Maybe,
    MemberOf,
    ObjectOf,
    OneOf,
    Real,
    Required,
    Type,
    Unary,
    Value,
    Whole,
    bare,
    text_of,
)
from kodec.generator.wire import WIRE

__all__ = ["PROCESSES", "asked_in", "type_of_wire", "typed_of"]

PROCESSES = ("xor", "rol", "ror", "zlib")
_MOST_ASKED = 64
_MOST_BITS = 64

_NULL = Code("const", (None,), Maybe(ANY))


def typed_of(program: Program) -> tuple[dict[str, UnitCode], list[tuple[str, str, str]]]:
    """The typed code of each unit, and what has none: (unit, field or instance, why)."""
    asked = asked_in(program)
    found, lacking = {}, []
    for unit in program.units.values():
        typing = _Typing(program, unit, asked)
        found[unit.name] = typing.unit_code()
        lacking += [(unit.name, name, why) for name, why in typing.lacking.items()]
    return found, lacking


def asked_in(program: Program) -> dict[str, tuple[str, ...]]:
    """By unit: the fields that an expression may ask for before they are read, and that cannot be null."""
    return dict(_asked(program))


def _asked(program: Program) -> Iterator[tuple[str, tuple[str, ...]]]:
    names: dict[str, set[str]] = {}
    for unit in program.units.values():
        assert unit.streamed is not None
        for part in values_of((unit.steps, unit.streamed.instances)):
            if not isinstance(part, Required):
                continue
            if isinstance(part.of, FieldOf):
                names.setdefault(unit.name, set()).add(part.of.name)
            elif isinstance(part.of, MemberOf):
                held = bare(part.of.of.type)
                for kind in held.types if isinstance(held, OneOf) else (held,):
                    if isinstance(kind, ObjectOf):
                        names.setdefault(kind.unit, set()).add(part.of.name)
    for name, found in names.items():
        fields = program.units[name].fields
        yield name, tuple(each.name for each in fields if each.name in found and is_scalar(each.type))


class _Typing(DerivedValues):
    """The typed code of one unit.

    Attributes:
        lacking: the fields and instances without, and why.
    """

    def __init__(self, program: Program, unit: Unit, asked: dict[str, tuple[str, ...]]) -> None:
        super().__init__(program, unit, asked)
        self.lacking: dict[str, str] = {}
        # how many locals there are
        self._locals = 0
        # what each local is for: the name of an operation, or `if`
        self._uses: dict[str, str] = {}
        # what is read from
        self._source = self.io
        self._instance = ""

    def unit_code(self) -> UnitCode:
        unit = self.unit
        assert unit.streamed is not None
        if len(self.asked.get(unit.name, ())) > _MOST_ASKED:
            self.lacking[""] = f"more than {_MOST_ASKED} fields are asked for before they are read"
        code = reader_of(unit, self.units)
        return UnitCode(
            unit,
            tuple((each.name, stored(each.type)) for each in unit.parameters),
            tuple((each.name, stored(each.type)) for each in unit.fields),
            self._read(code.read),
            tuple(self._instance_code(each, code) for each in unit.streamed.instances),
            self._checks(unit.streamed.calculated),
            is_local(unit),
        )

    def _checks(self, calculated: tuple[Calculated, ...]) -> tuple[Statement, ...]:
        self.io = self._source = self.own
        self._instance = ""
        self.known.clear()
        checks = []
        for each in calculated:
            if each.verify == "no":
                continue
            try:
                checks.append(self._check(each))
            except Lacking as lack:
                self.lacking.setdefault(each.name, f"its `-derive` needs what it does not have: {lack}")
        return tuple(checks)

    def _check(self, each: Calculated) -> Statement:
        """Compare a field with what it follows from, if both are there and readers compare such fields."""
        around, self._made = self._made, []
        try:
            have = self.member(self.this, self.unit, each.name)
            tests = [call("checks", FLAG, constant(each.checksum))]
            if each.when is not None:
                tests.append(self.flag(each.when))
            is_null = isinstance(have.type, Maybe)
            if is_null:
                tests.append(Code("is", (have,), FLAG))
            if each.into:
                have = self._of(self._there(have), each.into)
            inner = self._there(have)
            if each.into and isinstance(have.type, Maybe):
                tests.append(Code("is", (have,), FLAG))
            need = self._local("need", self.code(each.value))
            op = ">=" if each.verify == "at_least" else "=="
            facts = (Code("convert", (part,), ANY) for part in (need, inner))
            flag = constant(each.checksum and need.type != OCTETS)
            differs = Do(call("differs", ANY, each.name, flag, *facts))
            self._made.append(If(opposite(self._compared(op, inner, need)), (differs,)))
            test = reduce(lambda one, two: Code("op", ("and", one, two), FLAG), tests)
            return If(test, tuple(self._made))
        finally:
            self._made = around

    def _instance_code(self, plan: InstancePlan, code: ir.UnitCode) -> InstanceCode:
        self.io, self._instance, kind = self.own, plan.name, stored(plan.type)
        parts: dict[str, Any] = {}
        try:
            if plan.test is not None:
                parts["absent"] = opposite(self.flag(plan.test))
            if plan.value is not None:
                parts["kept"] = asks_stream(plan.value) or asks_stream(plan.test)
                parts["value"] = self.as_(self.code(plan.value), kind)
            else:
                stream = self.own if plan.stream is None else self.code(plan.stream)
                parts["stream"] = self.as_(stream, STREAM)
                if plan.position is not None:
                    parts["position"] = self.amount(plan.position)
                body = self._read(code.instances[plan.name])
                if plan.name in marks_of(self.unit):
                    body = self.mark(plan.name, end=False), *body, self.mark(plan.name, end=True)
                parts["body"] = body
        except Lacking as lack:
            self.lacking.setdefault(plan.name, str(lack))
        return InstanceCode(plan.name, kind, **parts)

    def _read(self, code: Sequence[ir.Statement]) -> tuple[Statement, ...]:
        self.io = self._source = Code("var", ("io",), STREAM)
        self._uses = dict(_uses(code))
        self.known.clear()
        return self._block(code)

    # -- statements -------------------------------------------------------------------------------

    def _block(self, code: Sequence[ir.Statement]) -> tuple[Statement, ...]:
        around, self._made = self._made, []
        state = self.item, self.index
        try:
            for place, statement in enumerate(code):
                try:
                    self._statement(statement, code[place + 1 :])
                except Lacking as lack:
                    name = self._instance or next(_fields_in(code[place:]), "")
                    if not name and self.index is not None:
                        raise
                    self.item, self.index = state
                    self.lacking.setdefault(name, str(lack))
            return tuple(self._made)
        finally:
            self._made = around

    def _statement(self, statement: ir.Statement, rest: Sequence[ir.Statement]) -> None:
        match statement:
            case ir.Let("item", value) if self.index is None:
                # what its field takes next, whose rules are asked then
                self.known["item"] = self._result(value)
            case ir.Let("item", value):
                assert self.item is not None
                self._set(self.item, self._result(value))
            case ir.Let(name, value):
                self._let(name, value)
            case ir.Set(name, value):
                self._set(self._target(name), self._result(value))
            case ir.Do(op):
                self._do(op, rest)
            case ir.If(((Unary("not", test), (ir.Do(Op("refuse", args)),)),)):
                self._rule(test, *args)
            case ir.If(cases, other):
                made = self._block(other)
                for test, then in reversed(cases):
                    made = (If(self.flag(test), self._block(then), made),)
                self._made += made
            case ir.Within(_, body):
                self._made += self._block(body)
            case ir.Each():
                self._each(statement)
            case _:
                raise TypeError(statement)

    def _target(self, name: str) -> Code:
        member = self.member(self.this, self.unit, name)
        return Code("var", ("value",), member.type) if name == self._instance else member

    def _set(self, target: Code, value: Code) -> None:
        if value == _NULL and not isinstance(target.type, Maybe):
            return
        self._made.append(Set(target, self.as_(value, target.type)))
        asked = self.asked.get(self.unit.name, ())
        if target.op == "field" and target.args[2] in asked:
            self._made.append(Do(Code("seen", (asked.index(target.args[2]),), ANY)))

    def _local(self, name: str, value: Code) -> Code:
        self._locals += 1
        local = Code("var", (f"{name}{self._locals}",), value.type)
        self._made.append(Let(local.args[0], value))
        return local

    def _let(self, name: str, value: ir.Expression) -> None:
        """A local, unless its value stands where it is used, or nothing uses it."""
        use, self.known[name] = self._uses.get(name), _NULL
        if use in ("bytes", "enter"):
            assert not isinstance(value, Op)
            code = self.amount(value)
        else:
            code = self._result(value)
        is_local = use not in (None, "object")
        self.known[name] = self._local(name.rstrip("0123456789"), code) if is_local else code

    def _do(self, op: Op, rest: Sequence[ir.Statement]) -> None:
        match op:
            case Op("align"):
                self._made.append(Do(self._on("align", ANY)))
            case Op("order", (little,)):
                number = constant(0 if little is None else 1 if little else 2)
                self._made.append(Do(call("order", ANY, number)))
            case Op("ordered"):
                self._made.append(Do(call("little", FLAG)))
            case Op("enter", (None, _)):
                self._enter(self._on("remaining", STREAM), rest)
            case Op("enter", (size, name)):
                self._enter(self._on("part", STREAM, name, self.amount(size)), rest)
            case Op("inside", (data,)):
                self._enter(self._on("inside", STREAM, self._result(data)), rest)
            case Op("leave"):
                self._source = self.io
            case Op("span", (name, end, _)):
                self._made.append(self.mark(name, end=end))
            case Op("deeper" | "derived"):
                pass
            case _:
                raise TypeError(op)

    def _enter(self, stream: Code, rest: Sequence[ir.Statement]) -> None:
        """Read from a stream; it is a local where it is not all that is computed before an object is read."""
        following = next(each for each in rest if not isinstance(each, ir.Let))
        is_alone = isinstance(following, ir.Within) and not _object_in(following).args[1]
        self._source = stream if is_alone else self._local("part", stream)

    def _rule(self, test: Value, name: str, _: str, at: Any, need: Any) -> None:
        around = self.item
        if self.index is None:
            self.item = self._target(name)
        assert self.item is not None
        if isinstance(need, tuple):
            need = f"one of {', '.join(map(text_of, need))}"
        needed = Code("const", (need,), TEXT) if isinstance(need, str) else self.code(need)
        facts = (Code("convert", (each,), ANY) for each in (needed, self.item))
        refused = Do(self._on("refuse", ANY, name, self._result(at), *facts))
        self._made.append(If(opposite(self.flag(test)), (refused,)))
        self.item = around

    def _each(self, each: ir.Each) -> None:
        target = self._target(each.field)
        kind = bare(target.type)
        assert isinstance(kind, ListOf)
        way = "count" if each.count is not None else "eos" if each.until is None else "until"
        count = None if each.count is None else self.amount(each.count)
        watched = way == "until" or (way == "count" and not each.least)
        walk = Code("walk", (self._source, each.name, way, each.least, count, watched), ANY)
        self.item, self.index = Code("var", ("item",), kind.item), Code("index", (), LONG)
        body = self._block(each.body)
        until = None if each.until is None else self.flag(each.until)
        self.item = self.index = None
        self._made.append(Each(target, kind.item, walk, body, until))

    # -- operations -------------------------------------------------------------------------------

    def _on(self, name: str, kind: Type, *args: object) -> Code:
        return Code("on", (name, self.io, *args), kind)

    def _result(self, value: Any) -> Code:
        """An expression; of an operation its result."""
        if not isinstance(value, Op):
            return self.code(value)
        source = self._source
        match value:
            case Op("run", (size, fields)):
                sizes = tuple((name, width) for name, _, width in fields)
                return self._on("fixed", OCTETS, constant(size), sizes)
            case Op("load", (run, wire, order, offset)):
                return Code("load", (self.known[run.name], wire, order, offset), type_of_wire(wire))
            case Op("slice", (run, offset, size)):
                return Code("slice", (self.known[run.name], offset, size), OCTETS)
            case Op("bits", (run, offset, size, shift, width, order)):
                group = f"{run.name}.{offset}"
                if group not in self.known:
                    number = self._result(Op("load", (run, f"u{size}", order, offset)))
                    self.known[group] = self._local("bits", self.as_(number, ULONG))
                return Code("bits", (self.known[group], shift, width), ULONG)
            case Op("flag", (bits,)):
                return self._result(bits)
            case Op("number", (wire, order, name)):
                return Code("number", (source, wire, order, name), type_of_wire(wire))
            case Op("next_bits", (width, order, name)):
                if width > _MOST_BITS:
                    raise Lacking(f"it is wider than {_MOST_BITS} bits")
                return self._on("bits", ULONG, name, constant(width), constant(order == "le"))
            case Op("pos", (plus,)):
                return self._on("ago", LONG, constant(-plus))
            case Op("text", (data, encoding, name, _)):
                return self._on("text", TEXT, name, self._result(data), encoding)
            case Op("object", (unit, arguments, parent, rooted, name, indexed)):
                kinds = [stored(each.type) for each in self.units[unit].parameters]
                pairs = zip(arguments, kinds, strict=True)
                given = tuple(self.as_(self.code(each), kind) for each, kind in pairs)
                none = Code("const", (None,), OBJECT)
                around = none if parent is None else self.as_(self.code(parent), OBJECT)
                root = Code("root", (self.this,), OBJECT) if rooted else none
                index = self.index if indexed else None
                return Code("read", (unit, source, name, index, around, root, given), ObjectOf(unit))
        return self._of_bytes(value)

    def _of_bytes(self, op: Op) -> Code:
        match op:
            case Op("bytes", (None, _)):
                return Code("on", ("rest", self._source), OCTETS)
            case Op("bytes", (size, name)):
                return Code("on", ("take", self._source, name, self.amount(size)), OCTETS)
            case Op("fixed", (contents, name)):
                return Code("on", ("contents", self._source, name, constant(contents)), OCTETS)
            case Op("until", (Bounds() as bounds, name)):
                flags = map(constant, (bounds.include, bounds.consume, bounds.needed))
                end = constant(bounds.terminator or b"")
                return Code("on", ("until", self._source, name, end, *flags), OCTETS)
            case Op("trim", (data, Bounds(pad=pad, terminator=end, include=include))):
                if pad is None or (end is not None and end[-1] == pad):
                    pad = -1
                return call(
                    "trimmed",
                    OCTETS,
                    *(self._result(data), constant(pad), Code("const", (end,), OCTETS), constant(include)),
                )
            case Op("process", (data, way, arguments, name)):
                given = [self.code(each) for each in arguments]
                given = [each if each.type == OCTETS else self.long_of(each) for each in given]
                if way not in PROCESSES:
                    raise Lacking(f"its process `{way}` is not one of {', '.join(PROCESSES)}")
                if way == "xor" and given[0].type == OCTETS:
                    way = "xor_all"
                return self._on(way, OCTETS, name, self._result(data), *given)
        raise TypeError(op)


def _fields_in(code: Iterable[ir.Statement]) -> Iterator[str]:
    """The fields that statements set, or whose rules they ask."""
    for each in code:
        match each:
            case ir.Set(name) | ir.Each(name) | ir.Do(Op("refuse", (name, *_))):
                yield str(name)
            case ir.Within(_, body):
                yield from _fields_in(body)
            case ir.If(cases, other):
                for block in (*(then for _, then in cases), other):
                    yield from _fields_in(block)


def _uses(code: Sequence[ir.Statement]) -> Iterator[tuple[str, str]]:
    """(local, what it is for): an operation, or `if`."""
    for part in values_of(code):
        if isinstance(part, Op):
            args = (*part.args, *(each for some in part.args if isinstance(some, tuple) for each in some))
            yield from ((each.name, part.name) for each in args if isinstance(each, Local))
        elif isinstance(part, Binary) and isinstance(part.left, Local):
            yield part.left.name, "if"


def _object_in(statement: ir.Within) -> Op:
    return next(each for each in values_of(statement) if isinstance(each, Op) and each.name == "object")


def type_of_wire(wire: str) -> Type:
    form = WIRE[wire]
    return Real(8 * form.least) if form.range is None else stored(Whole(*form.range))
