"""How streamed units are read, as statements and typed operations that a language only has to spell.

The steps of the plan describe what stands where; this describes what a program does: when a size is computed,
which stream is read, where the bits of a byte are dropped, which numbers are converted, and what can fail. A
target prints `Code` and statements (`code_printing.py`), and has a runtime with the functions of `call`.

Whole numbers are computed in 64 bits: signed ones fail where they do not fit. Numbers are stored in the type
of their field, so `convert` stands wherever one becomes the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from kodec.generator.parts import fields_of
from kodec.generator.plan.steps import (
    Align,
    Bits,
    Bounds,
    ByteOrder,
    Case,
    Chars,
    Choice,
    Element,
    Fixed,
    FixedNumber,
    InstancePlan,
    Many,
    Mark,
    Nested,
    Octets,
    One,
    Program,
    Rule,
    Slot,
    Step,
    Unit,
    When,
    values_of,
)
from kodec.generator.plan.streams import asks_stream
from kodec.generator.plan.values import (
    ANY,
    COMPARISONS,
    FLAG,
    OBJECT,
    OCTETS,
    STREAM,
    TEXT,
    Around,
    Binary,
    Cast,
    Choose,
    Constant,
    Counter,
    Decoded,
    EdgeOf,
    ElementOf,
    Enumerated,
    EnumOf,
    FieldOf,
    IsNull,
    Item,
    Listed,
    ListOf,
    Maybe,
    MemberOf,
    Number,
    ObjectOf,
    OneOf,
    Real,
    Required,
    Reversed,
    Shown,
    SizeOf,
    StreamAsked,
    StreamOf,
    Substring,
    This,
    Type,
    Unary,
    Value,
    Whole,
    bare,
)
from kodec.generator.wire import WIRE

__all__ = [
    "LONG",
    "REAL",
    "ULONG",
    "Code",
    "Declare",
    "Do",
    "Each",
    "If",
    "InstanceCode",
    "Lacking",
    "Let",
    "Seen",
    "Set",
    "Statement",
    "UnitCode",
    "code_of",
    "codes_in",
    "is_scalar",
    "stored",
]

LONG, ULONG, REAL = Whole(-(1 << 63), (1 << 63) - 1), Whole(0, (1 << 64) - 1), Real(64)
PROCESSES = ("xor", "rol", "ror", "zlib")
_MOST_ASKED = 64


class Lacking(Exception):
    """A construct that no statement is made of; its text names it."""


@dataclass(frozen=True, slots=True)
class Code:
    """An operation that gives a value of `type`; `args` are operations, names and constants.

    | op | args |
    |---|---|
    | const | the value; None is null |
    | var | the name of a local: `io`, `part`, `item`, `walk`, ... |
    | index | that of the list's element that is read |
    | this | |
    | field, instance | the object, its unit, the name |
    | parent, root, stream | the object |
    | pos, size, eof | the stream |
    | convert | a value of another type that stands for the same |
    | required | a value that may be null, the name for the error, its text |
    | asked | as `field`, then a name and a text: an error unless the field was read already |
    | as | an object of the type, or null for any other |
    | not, is | a flag; a value, which is there or null |
    | op | one of `== != < <= > >= and or`, and two values of one type |
    | choose | a flag, and two values of which one is computed |
    | list | the elements |
    | read | the unit, the stream, name, index or None, parent, root or None, arguments |
    | number | the stream, wire type, order (`by` is the one that bytes said), name |
    | load | the local of a run, wire type, order, offset |
    | slice | the local of a run, offset, size |
    | bits | the local of a group, shift, width |
    | walk | the stream, name, kind (`count`, `until`, `eos`), least bytes of an element, count or None,
      whether elements without bytes are counted |
    | call | the name of a function of the runtime, and what it is given after the object |
    | on | the same of a function of a stream, which is the first argument |
    """

    op: str
    args: tuple[Any, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Let:
    """A new local."""

    name: str
    value: Code


@dataclass(frozen=True, slots=True)
class Declare:
    """A new local without a value."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Set:
    """A field of the object, or a local, takes a value of its type."""

    target: Code
    value: Code


@dataclass(frozen=True, slots=True)
class Do:
    """A call for what it does."""

    value: Code


@dataclass(frozen=True, slots=True)
class Seen:
    """Note that a field was read: the number of its bit."""

    bit: int


@dataclass(frozen=True, slots=True)
class If:
    """Either of two lists of statements."""

    test: Code
    then: tuple[Statement, ...]
    other: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """Elements into the list `target` while `walk` goes on: `body` sets `item`, `until` ends it."""

    target: Code
    item: Type
    walk: Code
    body: tuple[Statement, ...]
    until: Code | None


Statement = Let | Declare | Set | Do | Seen | If | Each


@dataclass(frozen=True, slots=True)
class InstanceCode:
    """An instance: a function that gives its value.

    Attributes:
        test: it is null unless this holds.
        value: what is computed; else `body` reads it into the local `value`, from the local `io`.
        kept: whether a computed value is kept: it depends on where a stream stands.
        stream: the stream that it is read from; at `position`, or where that stands.
        absent: whether it may be null.
    """

    name: str
    type: Type
    test: Code | None
    value: Code | None
    kept: bool
    stream: Code | None
    position: Code | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class UnitCode:
    """A unit: what it is given, what it has, how it is read."""

    unit: Unit
    parameters: tuple[tuple[str, Type], ...]
    fields: tuple[tuple[str, Type], ...]
    body: tuple[Statement, ...]
    instances: tuple[InstanceCode, ...]

    def instance(self, name: str) -> InstanceCode:
        return next(each for each in self.instances if each.name == name)


def stored(kind: Type) -> Type:
    """The type in which a value is kept: numbers that 64 bits cannot hold in 64 bits."""
    match kind:
        case Maybe(of):
            return Maybe(stored(of))
        case ListOf(item):
            return ListOf(stored(item))
        case EnumOf(enum, number):
            found = stored(number)
            return EnumOf(enum, found if isinstance(found, Whole) else number)
        case Whole(low, high) if kind.wide:
            return ULONG if low >= 0 and high <= ULONG.high else LONG
    return kind


def is_scalar(kind: Type) -> bool:
    """Whether a language has to box a value of the type so that it can be null."""
    return isinstance(kind, (Whole, Real, EnumOf)) or kind in (FLAG, TEXT)


def is_reference(kind: Type) -> bool:
    """Whether the values of a type are objects of units, one way or the other."""
    kind = bare(kind)
    if isinstance(kind, OneOf):
        return all(map(is_reference, kind.types))
    return isinstance(kind, ObjectOf) or kind == OBJECT


def codes_in(part: Any) -> Iterator[Code]:
    """The operations of statements, of instances or of an operation, this one first."""
    if isinstance(part, Code):
        yield part
        part = part.args
    if isinstance(part, tuple):
        for each in part:
            yield from codes_in(each)
    elif isinstance(part, (Statement, InstanceCode)):
        for name in fields_of(type(part)) or ():
            yield from codes_in(getattr(part, name))


def code_of(program: Program) -> tuple[dict[str, UnitCode], list[tuple[str, str, str]]]:
    """The code of each unit, and what has none: (unit, field or instance, why)."""
    asked = dict(_asked(program))
    found, lacking = {}, []
    for unit in program.units.values():
        maker = _Maker(program, unit, asked)
        found[unit.name] = maker.made()
        lacking += [(unit.name, name, why) for name, why in maker.lacking]
    return found, lacking


def _asked(program: Program) -> Iterator[tuple[str, tuple[str, ...]]]:
    """By unit: the fields that an expression may ask for before they are read, and that cannot be null."""
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


@dataclass(frozen=True, slots=True)
class _At:
    """Where code stands: what is read, the part of it that a switch has, the element of a list."""

    io: Code
    part: Code | None = None
    item: Code | None = None
    index: Code | None = None


_ZERO = Code("const", (0,), LONG)


class _Maker:
    """The code of one unit."""

    def __init__(self, program: Program, unit: Unit, asked: dict[str, tuple[str, ...]]) -> None:
        assert unit.streamed is not None
        self.units = program.units
        self.unit = unit
        self.loose = unit.streamed.loose
        self.asked = asked
        self.this = Code("this", (), ObjectOf(unit.name))
        self.own = Code("stream", (self.this,), STREAM)
        self.lacking: list[tuple[str, str]] = []
        self._locals = 0
        # the size that was computed before bits were dropped
        self._early = _ZERO

    def made(self) -> UnitCode:
        assert self.unit.streamed is not None
        for each in self.unit.streamed.calculated:
            self.lacking.append((each.name, "it follows from bytes (`-derive`)"))
        if len(self.asked.get(self.unit.name, ())) > _MOST_ASKED:
            self.lacking.append(("", f"more than {_MOST_ASKED} fields are asked for before they are read"))
        io = Code("var", ("io",), STREAM)
        return UnitCode(
            self.unit,
            tuple((each.name, stored(each.type)) for each in self.unit.parameters),
            tuple((each.name, stored(each.type)) for each in self.unit.fields),
            tuple(self._steps(self.unit.steps, _At(io))),
            tuple(map(self._instance, self.unit.streamed.instances)),
        )

    def _instance(self, plan: InstancePlan) -> InstanceCode:
        before = _At(self.own)
        kind = stored(plan.type)
        kept = asks_stream(plan.value) or (plan.value is not None and asks_stream(plan.test))
        made = InstanceCode(plan.name, kind, None, None, kept, None, None, ())
        try:
            if plan.test is not None:
                made = replace(made, test=self.flag(plan.test, before))
            if plan.value is not None:
                return replace(made, value=self.as_(self.code(plan.value, before), kind))
            stream = self.own if plan.stream is None else self.code(plan.stream, before)
            made = replace(made, stream=self.as_(stream, STREAM))
            if plan.position is not None:
                made = replace(made, position=self.amount(plan.position, before))
            assert plan.step is not None
            target = Code("var", ("value",), kind)
            body = tuple(self._value_step(plan.step, _At(Code("var", ("io",), STREAM)), target))
            return replace(made, body=body)
        except Lacking as lack:
            self.lacking.append((plan.name, str(lack)))
            return made

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self, steps: Iterable[Step], at: _At) -> Iterator[Statement]:
        for step in steps:
            try:
                yield from tuple(self._step(step, at))
            except Lacking as lack:
                self.lacking.append((_name_of(step), str(lack)))

    def _step(self, step: Step, at: _At) -> Iterator[Statement]:
        match step:
            case Align():
                yield Do(_on(at.io, "align"))
            case ByteOrder():
                yield from self._byte_order(step, at)
            case When(test, inner):
                yield If(self.flag(test, at), tuple(self._steps(inner, at)))
            case Fixed():
                yield from self._fixed(step, at)
            case One(name) | Many(name):
                yield from self._value_step(step, at, self._field(name))
            case Mark():
                pass
            case _:
                raise TypeError(step)

    def _field(self, name: str) -> Code:
        kind = stored(self.unit.field(name).type)
        return Code("field", (self.this, self.unit.name, name), kind)

    def _seen(self, target: Code) -> Iterator[Statement]:
        asked = self.asked.get(self.unit.name, ())
        if target.op == "field" and target.args[2] in asked:
            yield Seen(asked.index(target.args[2]))

    def _byte_order(self, step: ByteOrder, at: _At) -> Iterator[Statement]:
        on = Code("var", (self._local("on"),), self.code(step.on, at).type)
        yield Let(on.args[0], self.code(step.on, at))
        made: tuple[Statement, ...] = (Do(_call("order", None, _constant(_order(step.other)))),)
        for case, little in reversed(step.cases):
            test = self._equal(on, self.code(case, at))
            made = (If(test, (Do(_call("order", None, _constant(_order(little)))),), made),)
        yield from made

    def _local(self, name: str) -> str:
        self._locals += 1
        return f"{name}{self._locals}"

    def _whole(self, at: _At) -> Iterator[Statement]:
        if self.loose:
            yield Do(_on(at.io, "align"))

    def _fixed(self, step: Fixed, at: _At) -> Iterator[Statement]:
        yield from self._whole(at)
        sizes: list[tuple[str, int]] = []
        for group in step.groups:
            end = 0
            for slot in group:
                start, end = end, end + (8 * slot.size if slot.bits is None else slot.bits[1])
                sizes.append((slot.path[0], (end + 7) // 8 - (start + 7) // 8))
        run = Code("var", (self._local("run"),), OCTETS)
        yield Let(run.args[0], Code("on", ("fixed", at.io, _constant(step.size), tuple(sizes)), OCTETS))
        for group in step.groups:
            if group[0].bits is None:
                target = self._field(group[0].path[0])
                yield Set(target, self.as_(self._slot(run, group[0]), target.type))
                yield from self._seen(target)
                continue
            local = Code("var", (self._local("bits"),), ULONG)
            wire = f"u{group[0].size}"
            number = Code("load", (run, wire, group[0].order, group[0].offset), _of_wire(wire))
            yield Let(local.args[0], self.as_(number, ULONG))
            for slot in group:
                assert slot.bits is not None
                target = self._field(slot.path[0])
                yield Set(target, self.as_(Code("bits", (local, *slot.bits), ULONG), target.type))
                yield from self._seen(target)
        for slot in step.slots:
            if slot.rules:
                place = Code("on", ("ago", at.io, _constant(step.size - slot.offset)), LONG)
                yield from self._rules(slot.rules, self._field(slot.path[0]), at, slot.path[0], place)

    def _slot(self, run: Code, slot: Slot) -> Code:
        if slot.wire is None:
            return Code("slice", (run, slot.offset, slot.size), OCTETS)
        return Code("load", (run, slot.wire, slot.order, slot.offset), _of_wire(slot.wire))

    def _value_step(self, step: One | Many, at: _At, target: Code) -> Iterator[Statement]:
        if isinstance(step, Many):
            yield from self._list(step, at, target)
            return
        place = yield from self._place_before(step, at)
        yield from self._element(step.element, at, step.name, target)
        yield from self._seen(target)
        yield from self._rules(step.rules, target, at, step.name, place)

    def _place_before(self, step: One | Many, at: _At) -> Any:
        """Where a value begins of which rules speak."""
        if not step.rules:
            return None
        match step.element:
            case Bits():
                return Code("on", ("ago", at.io, _constant(0)), LONG)
            case FixedNumber(wire):
                return Code("on", ("ago", at.io, _constant(WIRE[wire].least)), LONG)
        before = Code("var", (self._local("before"),), LONG)
        yield Let(before.args[0], Code("on", ("ago", at.io, _constant(0)), LONG))
        return before

    def _list(self, step: Many, at: _At, target: Code) -> Iterator[Statement]:
        held = bare(target.type)
        assert isinstance(held, ListOf)
        kind, count = "eos", None
        if step.count is not None:
            kind, count = "count", self.amount(step.count.value, at)
        elif step.until is not None:
            kind = "until"
        watched = step.until is not None or (count is not None and not step.least)
        walk = Code("walk", (at.io, step.name, kind, step.least, count, watched), ANY)
        item = Code("var", ("item",), held.item)
        inner = replace(at, item=item, index=Code("index", (), LONG))
        body: list[Statement] = []
        for each in self._in_list(step, inner, item):
            body.append(each)  # a generator that may fail
        until = None if step.until is None else self.flag(step.until, inner)
        yield Each(target, held.item, walk, tuple(body), until)

    def _in_list(self, step: Many, at: _At, item: Code) -> Iterator[Statement]:
        place = yield from self._place_before(step, at)
        yield from self._element(step.element, at, step.name, item)
        yield from self._rules(step.rules, item, at, step.name, place)

    def _rules(
        self, rules: tuple[Rule, ...], value: Code, at: _At, name: str, place: Code | None
    ) -> Iterator[Statement]:
        here = replace(at, item=value)
        for rule in rules:
            needed: Code = Code("const", (rule.needed,), TEXT)
            if not all(isinstance(each, Constant) for each in rule.wanted) and rule.need != "one of":
                needed = self.code(rule.wanted[0], here)
            assert place is not None
            refused = Do(Code("on", ("refuse", at.io, name, place, _as_any(needed), _as_any(value)), ANY))
            yield If(Code("not", (self.flag(rule.test, here),), FLAG), (refused,))

    # -- elements ---------------------------------------------------------------------------------

    def _element(self, element: Element, at: _At, name: str, target: Code) -> Iterator[Statement]:
        match element:
            case FixedNumber(wire, order):
                if order == "by":
                    yield Do(_call("little", FLAG))
                yield from self._whole(at)
                number = Code("number", (at.io, wire, order, name), _of_wire(wire))
                yield Set(target, self.as_(number, target.type))
            case Bits(width, order):
                if width > ULONG.high.bit_length():
                    raise Lacking("it is wider than 64 bits")
                bits = Code("on", ("bits", at.io, name, _constant(width), _constant(order == "le")), ULONG)
                yield Set(target, self.as_(bits, target.type))
            case Octets(_, bounds) if bounds is not None:
                yield from self._before_bytes(bounds, at)
                yield Set(target, self.as_(self._stored(bounds, at, name), target.type))
            case Chars(_, encoding, bounds) if bounds is not None:
                yield from self._before_bytes(bounds, at)
                data = self._stored(bounds, at, name)
                text = Code("on", ("text", at.io, name, data, encoding), TEXT)
                yield Set(target, self.as_(text, target.type))
            case Nested():
                yield from self._nested(element, at, name, target)
            case Choice():
                yield from self._choice(element, at, name, target)
            case _:
                raise TypeError(element)

    def _before_bytes(self, bounds: Bounds, at: _At) -> Iterator[Statement]:
        """What is done before bytes are read; an early size stands in a local then."""
        if bounds.early and bounds.size is not None:
            self._early = Code("var", (self._local("size"),), LONG)
            yield Let(self._early.args[0], self.amount(bounds.size, at))
        yield from self._whole(at)

    def _size(self, bounds: Bounds, at: _At) -> Code:
        assert bounds.size is not None
        return self._early if bounds.early else self.amount(bounds.size, at)

    def _stored(self, bounds: Bounds, at: _At, name: str) -> Code:
        io = at.part or at.io
        if bounds.contents is not None:
            return Code("on", ("contents", io, name, _constant(bounds.contents)), OCTETS)
        if bounds.size is None and not bounds.rest:
            flags = map(_constant, (bounds.include, bounds.consume, bounds.needed))
            data = Code("on", ("until", io, name, _constant(bounds.terminator or b""), *flags), OCTETS)
        else:
            data = Code("on", ("rest", io), OCTETS)
            if bounds.size is not None:
                data = Code("on", ("take", io, name, self._size(bounds, at)), OCTETS)
            if bounds.pad is not None or bounds.terminator is not None:
                pad = -1 if bounds.pad is None else bounds.pad
                if bounds.terminator is not None and bounds.terminator[-1] == bounds.pad:
                    pad = -1
                end = Code("const", (bounds.terminator,), OCTETS)
                data = _call("trimmed", OCTETS, data, _constant(pad), end, _constant(bounds.include))
        if bounds.process is not None:
            given = []
            for each in bounds.process.arguments:
                value = self.code(each, at)
                given.append(value if value.type == OCTETS else self.long_of(value))
            if bounds.process.name not in PROCESSES:
                raise Lacking(f"its process `{bounds.process.name}` is not one of {', '.join(PROCESSES)}")
            way = bounds.process.name
            if way == "xor" and given[0].type == OCTETS:
                way = "xor_all"
            data = Code("on", (way, at.io, name, data, *given), OCTETS)
        return data

    def _inside(self, bounds: Bounds | None, at: _At, name: str) -> tuple[list[Statement], Code]:
        """The stream that an object is read from, and what is done before."""
        if at.part is not None:
            return [], at.part
        if bounds is None:
            return [], at.io
        before = list(self._before_bytes(bounds, at))
        if not bounds.plain:
            return before, Code("on", ("inside", at.io, self._stored(bounds, at, name)), STREAM)
        if bounds.size is None:
            return before, Code("on", ("remaining", at.io), STREAM)
        return before, Code("on", ("part", at.io, name, self._size(bounds, at)), STREAM)

    def _nested(self, element: Nested, at: _At, name: str, target: Code) -> Iterator[Statement]:
        before, stream = self._inside(element.bounds, at, name)
        yield from before
        kinds = [stored(each.type) for each in self.units[element.unit].parameters]
        if element.arguments and stream.op == "on":
            # arguments are computed after the bytes were taken
            local = Code("var", (self._local("part"),), STREAM)
            yield Let(local.args[0], stream)
            stream = local
        pairs = zip(element.arguments, kinds, strict=True)
        given = tuple(self.as_(self.code(value, at), kind) for value, kind in pairs)
        none = Code("const", (None,), OBJECT)
        parent = none if element.parent is None else self.as_(self.code(element.parent, at), OBJECT)
        root = Code("root", (self.this,), OBJECT) if element.rooted else none
        made = Code(
            "read", (element.unit, stream, name, at.index, parent, root, given), ObjectOf(element.unit)
        )
        yield Set(target, self.as_(made, target.type))

    def _choice(self, choice: Choice, at: _At, name: str, target: Code) -> Iterator[Statement]:
        value = self.code(choice.on, at)
        on = Code("var", (self._local("on"),), value.type)
        inner = at
        before: list[Statement] = [Let(on.args[0], value)] if choice.cases else []
        if choice.bounds is not None:
            more, stream = self._inside(replace(choice.bounds, early=False), at, name)
            part = Code("var", (self._local("part"),), STREAM)
            before += [*more, Let(part.args[0], stream)]
            inner = replace(at, part=part)
        yield from before

        def taken(case: Case) -> tuple[Statement, ...]:
            return tuple(self._element(case.element, inner, name, target))

        null = target.op == "var" and isinstance(target.type, Maybe)
        made: tuple[Statement, ...] = (Set(target, Code("const", (None,), target.type)),) if null else ()
        if choice.other is not None:
            made = taken(choice.other)
        for case in reversed(choice.cases):
            if case.value is not None:
                made = (If(self._equal(on, self.code(case.value, at)), taken(case), made),)
        yield from made

    # -- values -----------------------------------------------------------------------------------

    def flag(self, value: Value, at: _At) -> Code:
        return self.as_(self.code(value, at), FLAG)

    def long(self, value: Value, at: _At) -> Code:
        return self.long_of(self.code(value, at))

    def long_of(self, code: Code) -> Code:
        """A whole number in 64 bits with a sign."""
        return self.as_(self._there(code), LONG)

    def amount(self, value: Value, at: _At) -> Code:
        """A size, a count or a position: one that no signed number holds is more than there can be."""
        code = self._there(self.code(value, at))
        if code.op != "const" and self._whole_of(code).type == ULONG:
            return _call("at_most", LONG, self._whole_of(code))
        return self.as_(code, LONG)

    def _there(self, code: Code) -> Code:
        """A value that is not null."""
        if not isinstance(code.type, Maybe):
            return code
        return Code("required", (code, "", "an expression needs it, and it is not there"), code.type.of)

    def as_(self, code: Code, kind: Type) -> Code:
        """A value as one of another type that has it."""
        have = code.type
        if have == kind:
            return code
        if code.op == "const" and code.args[0] is None:
            return replace(code, type=kind)
        if isinstance(kind, Maybe):
            if isinstance(have, Maybe) and (_is_number(have.of) or not _is_kept(have.of, kind.of)):
                inner = self._there(code)
                yes = self.as_(self.as_(inner, kind.of), kind)
                return Code("choose", (Code("is", (code,), FLAG), yes, Code("const", (None,), kind)), kind)
            if isinstance(have, Maybe):
                return Code("convert", (code,), kind)
            return Code("convert", (self.as_(code, kind.of),), kind)
        if isinstance(have, Maybe) and (kind in (ANY, OBJECT) or isinstance(kind, OneOf)):
            return Code("convert", (code,), kind)
        if isinstance(have, Maybe):
            return self.as_(self._there(code), kind)
        if kind == ANY or (isinstance(kind, OneOf) and not _is_number(kind)):
            return Code("convert", (self._in_one_of(code, kind),), kind)
        if _is_number(kind) and _is_number(have):
            if code.op == "const" and not isinstance(kind, (Real, OneOf)) and kind != FLAG:
                number = int(code.args[0])
                if kind != LONG or number <= LONG.high:
                    return replace(code, args=(number,), type=kind)
            return Code("convert", (code,), kind)
        if is_reference(kind) and is_reference(have):
            return Code("as" if isinstance(kind, ObjectOf) else "convert", (code,), kind)
        if isinstance(kind, ListOf) and isinstance(have, ListOf) and code.op == "list":
            return replace(code, args=tuple(self.as_(each, kind.item) for each in code.args), type=kind)
        raise Lacking(f"an expression has a value of one of several types: {_shown(have)}, {_shown(kind)}")

    def _in_one_of(self, code: Code, kind: Type) -> Code:
        """A number among others takes the type that these have."""
        if isinstance(kind, OneOf) and _is_number(code.type):
            for each in kind.types:
                if isinstance(each, type(code.type)) and each != code.type:
                    return self.as_(code, stored(each))
        return code

    def code(self, value: Value, at: _At) -> Code:
        """A value, null where it may be, in the type in which it is kept."""
        match value:
            case Constant(None):
                return Code("const", (None,), Maybe(ANY))
            case Constant(found, kind):
                if isinstance(found, bytes):
                    return Code("const", (found,), OCTETS)
                if isinstance(kind, (Whole, EnumOf)) and not isinstance(found, bool):
                    assert isinstance(found, int)
                    if not LONG.low <= found <= ULONG.high:
                        raise Lacking("a number is beyond 64 bits")
                    if isinstance(kind, EnumOf):
                        return Code("const", (found,), stored(kind))
                    return Code("const", (found,), LONG if found <= LONG.high else ULONG)
                return Code("const", (found,), kind)
            case FieldOf(name):
                return self._member(self.this, self.unit, name)
            case Item():
                assert at.item is not None
                return at.item
            case Counter():
                return at.index or _ZERO
            case This():
                return self.this
            case Around(of, name, kind):
                owner = self.this if of is None else self.code(of, at)
                return self.as_(Code(name, (owner,), OBJECT), bare(kind))
            case StreamOf(None, at_hand):
                return at.io if at_hand else self.own
            case StreamOf(of) if of is not None:
                return Code("stream", (self._there(self.code(of, at)),), STREAM)
            case StreamAsked(of, name):
                return Code(name, (self._there(self.code(of, at)),), FLAG if name == "eof" else LONG)
            case Required(of, name, _, argument):
                return self._required(of, name, argument, at)
            case MemberOf(of, name):
                return self._of(self.code(of, at), name)
            case SizeOf(of):
                inner = self._there(self.code(of, at))
                if not isinstance(inner.type, ListOf) and inner.type not in (TEXT, OCTETS):
                    raise Lacking(f"the size of {_shown(inner.type)}")
                return _call("size_of_text" if inner.type == TEXT else "size_of", LONG, inner)
            case Number(of, _, base):
                return self._number(self._there(self.code(of, at)), base, at)
            case Enumerated(of, kind):
                return self.as_(self.long(of, at), stored(kind))
            case Shown(of):
                return self._shown(self._there(self.code(of, at)))
            case Decoded(of, encoding):
                data = self.as_(self.code(of, at), OCTETS)
                return Code("call", ("decoded", data, encoding), TEXT)
            case Reversed(of):
                return _call("reversed", TEXT, self.as_(self.code(of, at), TEXT))
            case Substring(of, start, stop):
                inner = self.as_(self.code(of, at), TEXT)
                return _call("substring", TEXT, inner, self.long(start, at), self.long(stop, at))
            case Listed(items, kind):
                return self._listed(items, kind, at)
            case ElementOf(of, index):
                return self._element_of(self._there(self.code(of, at)), self.long(index, at))
            case EdgeOf(of, name):
                return self._edge(self._there(self.code(of, at)), name)
            case Cast(of, name, kind):
                return self._cast(self._there(self.code(of, at)), name, kind)
            case IsNull(of):
                return Code("not", (Code("is", (self.code(of, at),), FLAG),), FLAG)
            case Unary(op, of):
                return self._unary(op, self._there(self.code(of, at)))
            case Binary(op, left, right) if op in ("and", "or"):
                tests = dict.fromkeys(_joined(op, (self.flag(left, at), self.flag(right, at))))
                return reduce(lambda one, two: Code("op", (op, one, two), FLAG), tests)
            case Binary(op, left, right) if op in COMPARISONS:
                return self._compared(op, self._there(self.code(left, at)), self._there(self.code(right, at)))
            case Binary():
                return self._operation(value, at)
            case Choose(test, yes, no, kind):
                parts = [self.code(each, at) for each in (yes, no)]
                wanted = self._wanted(parts, kind)
                return Code(
                    "choose", (self.flag(test, at), *(self.as_(each, wanted) for each in parts)), wanted
                )
        raise Lacking(f"`{type(value).__name__}` in an expression")

    @staticmethod
    def _wanted(parts: list[Code], kind: Type) -> Type:
        """What one of two values is."""
        if parts[0].type == parts[1].type:
            return parts[0].type
        null = any(isinstance(each.type, Maybe) for each in parts)
        inner = stored(bare(kind))
        if isinstance(inner, Whole):
            inner = ULONG if inner == ULONG else LONG
        return Maybe(inner) if null else inner

    def _member(self, owner: Code, unit: Unit, name: str) -> Code:
        assert unit.streamed is not None
        for each in unit.streamed.instances:
            if each.name == name:
                return Code("instance", (owner, unit.name, name), stored(each.type))
        found: Iterable[Any] = (*unit.fields, *unit.parameters)
        kind = next(each.type for each in found if each.name == name)
        return Code("field", (owner, unit.name, name), stored(kind))

    def _of(self, owner: Code, name: str, asked: tuple[str, str] | None = None) -> Code:
        """A member of another object."""
        held = bare(owner.type)
        if isinstance(held, ObjectOf):
            return self._ask(self._member(owner, self.units[held.unit], name), asked)
        raise Lacking(f"`{name}` of an object of one of several types")

    def _ask(self, code: Code, asked: tuple[str, str] | None) -> Code:
        """A member that may not have been read yet."""
        if asked is None:
            return code
        if isinstance(code.type, Maybe) or (code.op == "field" and not is_scalar(code.type)):
            return Code("required", (code, *asked), bare(code.type))
        owner, unit, name = code.args if code.op == "field" else (None, "", "")
        if name in self.asked.get(unit, ()):
            return Code("asked", (owner, unit, name, *asked, self.asked[unit].index(name)), code.type)
        return code

    def _required(self, of: Value, name: str, argument: bool, at: _At) -> Code:
        text = "an argument is not there" if argument else "an expression needs it, and it is not there"
        if isinstance(of, FieldOf):
            return self._ask(self.code(of, at), (name, text))
        if isinstance(of, MemberOf):
            return self._of(self.code(of.of, at), of.name, (name, text))
        found = self.code(of, at)
        nullable = isinstance(found.type, Maybe) or is_reference(found.type)
        return Code("required", (found, name, text), bare(found.type)) if nullable else found

    def _number(self, code: Code, base: Value | None, at: _At) -> Code:
        if code.type == TEXT:
            to = _constant(10) if base is None else self.long(base, at)
            return _call("number_of", LONG, code, to)
        if isinstance(code.type, Real):
            return _call("truncated", LONG, self.as_(code, REAL))
        return self._whole_of(code)

    def _shown(self, code: Code) -> Code:
        if code.type == TEXT:
            return code
        if not isinstance(code.type, (Whole, EnumOf)):
            raise Lacking(f"{_shown(code.type)} as text")
        found = self._whole_of(code)
        return _call("decimal_unsigned" if found.type == ULONG else "decimal", TEXT, found)

    def _whole_of(self, code: Code) -> Code:
        """A whole number in 64 bits, without a sign where it needs all of them."""
        kind = code.type.number if isinstance(code.type, EnumOf) else code.type
        return self.as_(code, ULONG if kind == ULONG else LONG)

    def _listed(self, items: tuple[Value, ...], kind: Type, at: _At) -> Code:
        found = [self.code(each, at) for each in items]
        if kind == OCTETS:
            if all(each.op == "const" and 0 <= each.args[0] <= 255 for each in found):
                return Code("const", (bytes(each.args[0] for each in found),), OCTETS)
            return _call("bytes_of", OCTETS, *map(self.long_of, found))
        wanted = stored(kind)
        assert isinstance(wanted, ListOf)
        return Code("list", tuple(self.as_(each, wanted.item) for each in found), wanted)

    def _element_of(self, of: Code, index: Code) -> Code:
        if of.type == OCTETS:
            return _call("byte_at", LONG, of, index)
        if not isinstance(of.type, ListOf):
            raise Lacking(f"an element of {_shown(of.type)}")
        return _call("element_of", of.type.item, of, index)

    def _edge(self, of: Code, name: str) -> Code:
        if of.type == OCTETS:
            return _call(f"{name}_byte", LONG, of)
        if not isinstance(of.type, ListOf) or not (name == "last" or is_scalar(of.type.item)):
            raise Lacking(f"`{name}` of {_shown(of.type)}")
        return _call(f"{name}_of", of.type.item, of)

    def _cast(self, of: Code, name: str, kind: Type) -> Code:
        if isinstance(kind, ObjectOf) and (is_reference(of.type) or isinstance(of.type, OneOf)):
            found = Code("as", (of,), kind)
        elif kind == OCTETS and isinstance(of.type, ListOf) and isinstance(of.type.item, Whole):
            return _call("bytes_in", OCTETS, of)
        else:
            raise Lacking(f"{_shown(of.type)} as {_shown(kind)}")
        return Code("required", (found, name, "an expression needs another type"), kind)

    def _unary(self, op: str, of: Code) -> Code:
        if op == "not":
            return Code("not", (self.as_(of, FLAG),), FLAG)
        if op == "-" and isinstance(of.type, Real):
            return _call("negated_real", REAL, self.as_(of, REAL))
        return _call("negated" if op == "-" else "inverted", LONG, self.long_of(of))

    def _compared(self, op: str, left: Code, right: Code) -> Code:
        kinds = left.type, right.type
        if all(map(_is_number, kinds)):
            return Code("op", (op, *self._alike(left, right)), FLAG)
        if kinds[0] == kinds[1] and kinds[0] in (TEXT, OCTETS):
            return Code("op", (op, left, right), FLAG)
        if op in ("==", "!=") and all(map(is_reference, kinds)):
            return Code("op", (op, self.as_(left, OBJECT), self.as_(right, OBJECT)), FLAG)
        raise Lacking(f"a comparison of {_shown(kinds[0])} with {_shown(kinds[1])}")

    def _alike(self, left: Code, right: Code) -> tuple[Code, Code]:
        """Two numbers as such of one type."""
        kinds = left.type, right.type
        if kinds == (FLAG, FLAG):
            return left, right
        if any(isinstance(kind, Real) for kind in kinds):
            return self.as_(left, REAL), self.as_(right, REAL)
        found = self._whole_of(left), self._whole_of(right)
        if found[0].type != found[1].type:
            signed, other = (found[0], left) if found[0].type == LONG else (found[1], right)
            low = other.args[0] if signed.op == "const" else _least(other.type)
            kind = ULONG if low >= 0 else LONG
            return self.as_(found[0], kind), self.as_(found[1], kind)
        return found

    def _equal(self, on: Code, case: Code) -> Code:
        """Whether a value that may be null is that of a case."""
        if not isinstance(on.type, Maybe):
            return self._compared("==", on, case)
        there = Code("is", (on,), FLAG)
        return Code("op", ("and", there, self._compared("==", self._there(on), case)), FLAG)

    def _operation(self, value: Binary, at: _At) -> Code:
        left, right = (self._there(self.code(each, at)) for each in (value.left, value.right))
        if value.op == "+" and left.type == TEXT:
            return _call("joined", TEXT, left, self.as_(right, TEXT))
        name = _NAMES[value.op]
        if isinstance(value.type, Real):
            return _call(f"{name}_real", REAL, self.as_(left, REAL), self.as_(right, REAL))
        if not (_is_number(left.type) and _is_number(right.type)):
            raise Lacking(f"`{value.op}` of {_shown(left.type)} and {_shown(right.type)}")
        one, two = self._whole_of(left), self._whole_of(right)
        if (
            ULONG in (one.type, two.type)
            and value.op in ("&", ">>")
            and min(map(_least, (left.type, right.type))) >= 0
        ):
            two = self.as_(two, ULONG if value.op == "&" else LONG)
            found = _call(f"{name}_unsigned", ULONG, self.as_(one, ULONG), two)
            return found if stored(value.type) == ULONG else self.as_(found, LONG)
        return _call(name, LONG, self.as_(one, LONG), self.as_(two, LONG))


_SHOWN: dict[Type, str] = {FLAG: "a flag", TEXT: "text", OCTETS: "bytes", STREAM: "a stream"}
_NAMES = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "divided",
    "%": "modulo",
    "&": "both",
    "|": "either",
    "^": "differing",
    "<<": "shifted_left",
    ">>": "shifted_right",
}


def _joined(op: str, parts: Iterable[Code]) -> Iterator[Code]:
    """The values of which all, or any, hold."""
    for each in parts:
        if each.op == "op" and each.args[0] == op:
            yield from _joined(op, each.args[1:])
        else:
            yield each


def _call(name: str, kind: Type | None, *args: Any) -> Code:
    return Code("call", (name, *args), ANY if kind is None else kind)


def _on(stream: Code, name: str) -> Code:
    return Code("on", (name, stream), ANY)


def _constant(value: int | bool | bytes) -> Code:
    kind = FLAG if isinstance(value, bool) else OCTETS if isinstance(value, bytes) else LONG
    return Code("const", (value,), kind)


def _as_any(code: Code) -> Code:
    return Code("convert", (code,), ANY)


def _of_wire(wire: str) -> Type:
    form = WIRE[wire]
    return Real(8 * form.least) if form.range is None else stored(Whole(*form.range))


def _order(little: bool | None) -> int:
    return 0 if little is None else 1 if little else 2


def _least(kind: Type) -> int:
    kind = bare(kind)
    kind = kind.number if isinstance(kind, EnumOf) else kind
    return kind.low if isinstance(kind, Whole) else 0


def _is_number(kind: Type) -> bool:
    return isinstance(kind, (Whole, Real, EnumOf)) or kind == FLAG


def _is_kept(have: Type, want: Type) -> bool:
    """Whether a value that may be null is one of another type as it is."""
    return have == want or is_reference(have) or want == ANY or isinstance(want, OneOf)


def _name_of(step: Step) -> str:
    match step:
        case One(name) | Many(name):
            return name
        case When(_, steps):
            return _name_of(steps[0])
        case Fixed(slots):
            return slots[0].path[0]
    return ""


def _shown(kind: Type) -> str:
    """A type as a message says it."""
    match bare(kind):
        case Whole():
            return "a number"
        case Real():
            return "a real number"
        case EnumOf():
            return "a member of an enum"
        case ObjectOf(unit):
            return f"an object of `{unit}`"
        case ListOf():
            return "a list"
        case OneOf():
            return "a value of one of several types"
    return _SHOWN.get(bare(kind), "a value")
