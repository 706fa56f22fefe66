"""Units of the plan as statements: how they are read, layouts and streams alike."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kodec.generator.code.ir import (
    Do,
    Each,
    EachTag,
    Expression,
    If,
    Let,
    Local,
    Op,
    Part,
    Set,
    Statement,
    UnitCode,
    Within,
)
from kodec.generator.plan import steps as plan
from kodec.generator.plan.follows import is_local
from kodec.generator.plan.steps import Bounds, Element, Rule, Slot, Step, Unit, fields_in
from kodec.generator.plan.values import (
    FLAG,
    OBJECT,
    UNBOUNDED,
    Binary,
    Constant,
    FieldOf,
    ListOf,
    Type,
    Unary,
    Value,
    bare,
    replaced,
)
from kodec.generator.wire import WIRE

__all__ = ["reader_of"]

_NULL = Constant(None, FLAG)

Block = tuple[Statement, ...]
Statements = Iterator[Statement]


def reader_of(unit: Unit, units: dict[str, Unit]) -> UnitCode:
    """How a unit of a program and its instances are read."""
    instances = unit.streamed.instances if unit.streamed is not None else ()
    read = {
        each.name: tuple(_Lowering(unit, units, instance=True).step(each.step))
        for each in instances
        if each.step is not None
    }
    return UnitCode(unit, tuple(_Lowering(unit, units).unit_code()), read)


def _do(name: str, *args: object) -> Do:
    return Do(Op(name, args))


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a value goes: into a field, or an element of the list that the field is.

    Attributes:
        name: what errors call it; `shown` is the field in paths.
        ruled: whether rules speak of it afterwards.
        absent: whether the field is null where there is no value; else it stays unset.
    """

    name: str
    shown: str
    field: str
    type: Type
    element: bool = False
    ruled: bool = False
    absent: bool = True

    def put(self, value: Expression, what: Element | None = None) -> Block:
        part = None if what is None else Part((self.shown,) if self.shown else (), what, indexed=self.element)
        if self.element:
            return (Let("item", value, part),)
        if self.ruled:
            return Let("item", value, part), Set(self.field, Local("item", self.type))
        return (Set(self.field, value, part),)

    def put_nothing(self) -> Block:
        if self.element or self.absent:
            return self.put(_NULL)
        return (Let("item", _NULL),) if self.ruled else ()


class _Lowering:
    def __init__(self, unit: Unit, units: dict[str, Unit], *, instance: bool = False) -> None:
        self.unit = unit
        self.units = units
        self.streamed = unit.streamed is not None
        # fields of streams that have no value stay unset
        self.absent = instance or not self.streamed
        self.locals = 0
        # what is read in bytes begins with a whole one by itself, where types may end within a byte
        self.whole: Block = (_do("align"),) if unit.streamed is not None and unit.streamed.loose else ()

    def local(self, name: str, kind: Type = UNBOUNDED) -> Local:
        self.locals += 1
        return Local(f"{name}{self.locals}", kind)

    def shown(self, name: str) -> str:
        return "" if self.unit.stands_for == name else name

    def unit_code(self) -> Statements:
        unit = self.unit
        if unit.peeks:
            peeks = sorted(unit.peeks, key=lambda each: each.offset)
            size = max(each.offset + WIRE[each.wire].least for each in peeks)
            numbers = tuple((each.name, each.offset, each.wire, each.order) for each in peeks)
            yield _do("peek", numbers, size, ", ".join(each.name for each in peeks))
        if unit.versions is not None:
            run = next((each for each in unit.steps if isinstance(each, plan.Fixed)), plan.Fixed((), 0))
            slots = [each for each in run.slots if unit.version and each.offset <= unit.version.offset]
            yield _do("version", unit, tuple((each.shown, each.offset, each.size) for each in slots))
        yield from self.steps(unit.steps)
        if (packed := unit.packed) is not None:
            yield Set(packed.name, Op("unpack", (packed, packed.by, packed.place, packed.when)))
            yield from self.steps(packed.checks)
        if unit.streamed is not None and unit.streamed.calculated:
            yield _do("derived", is_local(unit))

    # -- steps ------------------------------------------------------------------------------------

    def steps(self, steps: Iterable[Step]) -> Statements:
        for step in steps:
            yield from self.step(step)

    def step(self, step: Step) -> Statements:
        match step:
            case plan.Align():
                yield _do("align")
            case plan.ByteOrder(on, cases, other):
                chosen = self.local("on", on.type)
                yield Let(chosen.name, on)
                orders = ((case, (_do("order", little),)) for case, little in cases)
                yield _choose(chosen, orders, (_do("order", other),))
            case plan.When(test, inner):
                names = () if self.streamed else tuple(fields_in(inner))
                lacks = (_do("lacks", names, self.unit.is_of_version(test)),) if names else ()
                yield If(((test, tuple(self.steps(inner))),), lacks)
            case plan.Fixed():
                yield from self.fixed(step)
            case plan.One(name, kind, element, rules):
                shown = self.shown(name)
                target = _Target(shown, shown, name, kind, ruled=bool(rules), absent=self.absent)
                at = yield from self.place(element, rules)
                yield from self.element(element, target)
                yield from self.rules(rules, name, at)
            case plan.Many():
                yield from self.many(step)
            case plan.Mark(name, offset, end):
                yield _do("span", name, end, offset)
            case plan.Tagged(_, tags):
                yield EachTag(step, tuple((each, tuple(self.tag(each))) for each in tags))
            case plan.Stored(name, size):
                data = Op("bytes", (None if size is None else size.value, name))
                yield Set(name, data, Part((name,), step))
            case plan.SetNull(name):
                yield Set(name, _NULL)
            case plan.Require(name, rule):
                yield Let("item", FieldOf(name, FLAG))
                yield from self.rules((rule,), name, Op("pos", (0,)))
            case plan.CheckLength(plus=plus):
                yield _do("covers", step, plus)
            case plan.Checksum(name):
                yield _do("checksum", step, WIRE[self.unit.wire_of(name)[0]].least)
            case plan.CheckCount() | plan.CheckLast() | plan.CheckMost():
                yield _do("follows", step, step.plus, step.when)

    def tag(self, tag: plan.TagPlan) -> Statements:
        target = _Target(tag.name, tag.name, tag.name, tag.type, ruled=bool(tag.rules))
        yield from self.element(tag.element, target)
        yield _do("ended", tag.name)
        yield from self.rules(tag.rules, tag.name, Op("pos", (0,)))

    def fixed(self, step: plan.Fixed) -> Statements:
        yield from self.whole
        run, units = self.local("run"), dict(step.objects)
        places = [each for group in step.groups for each in self.places(group)]
        yield Let(run.name, Op("run", (step.size, tuple(fields for _, _, fields in places))))
        members: dict[tuple[str, ...], dict[str, Local]] = {path: {} for path in units}
        for slot, bits, _ in places:
            part = Part(slot.path, slot, unit=units.get(slot.path[:-1], ""), run=run, bits=bits)
            yield self.member(slot.path, members, _value_of(slot, run), part)
        for path, unit in step.objects:
            names = [each.name for each in self.units[unit].fields if each.kept]
            values = tuple((name, local) for name, local in members[path].items() if name in names)
            yield self.member(path, members, Op("new", (values,)))
        for slot in step.slots:
            if slot.contents is not None:
                yield _do("contents", run, slot.offset, slot.contents, slot.shown)
            if slot.rules:
                own = members.get(slot.path[:-1], {})
                yield Let("item", own.get(slot.path[-1]) or FieldOf(slot.path[0], slot.type))
                yield from self.rules(slot.rules, slot.shown, Op("pos", (slot.offset - step.size,)), own)

    def places(self, group: list[Slot]) -> Iterator[tuple[Slot, tuple[int, int], tuple[str, int, int]]]:
        """Slots that share bytes, or one: its bits in the run, and the bytes that it needs, as of `run`.

        Bits need in layouts all bytes of their group, else those that they begin.
        """
        after = 8 * group[0].offset
        for slot in group:
            first, after = after, after + (8 * slot.size if slot.bits is None else slot.bits[1])
            start, stop = (first + 7) // 8, (after + 7) // 8
            if not self.streamed:
                start, stop = slot.offset, slot.offset + slot.size
            bits = (first, after) if self.streamed else (8 * start, 8 * stop)
            yield slot, bits, (slot.shown, start, stop - start)

    @staticmethod
    def member(
        path: tuple[str, ...], members: dict[tuple[str, ...], dict[str, Local]], value: Op, part: Any = None
    ) -> Statement:
        """A value of a run into its field, or into a local for the object that has it."""
        if len(path) == 1:
            return Set(path[0], value, part)
        kind = OBJECT if part is None else part.what.type
        local = members[path[:-1]][path[-1]] = Local(".".join(path), kind)
        return Let(local.name, value, part)

    def many(self, step: plan.Many) -> Statements:
        shown, kind = self.shown(step.name), bare(step.type)
        # errors of elements have their index in layouts; in streams those of objects alone
        name = shown if self.streamed else ""
        item = kind.item if isinstance(kind, ListOf) else kind

        def element() -> Statements:
            at = yield from self.place(step.element, step.rules)
            yield from self.element(step.element, _Target(name, shown, step.name, item, element=True))
            yield from self.rules(step.rules, name, at)

        count = None if step.count is None else step.count.value
        same = {"shared": self.streamed, "indexed": not self.streamed}
        yield Each(step.name, shown, tuple(element()), step.least, count, step.until, **same)

    def place(self, element: Element, rules: tuple[Rule, ...]) -> Generator[Statement, None, Local | Op]:
        """Where a value begins of which rules speak; bits have no place but where they end."""
        if not rules or isinstance(element, plan.Bits):
            return Op("pos", (0,))
        if isinstance(element, plan.FixedNumber):
            return Op("pos", (-WIRE[element.wire].least,))
        at = self.local("before")
        yield Let(at.name, Op("pos", (0,)))
        return at

    def rules(
        self, rules: Iterable[Rule], name: str, at: Local | Op, members: dict[str, Local] | None = None
    ) -> Statements:
        """Errors if `item` breaks a rule; `members` are the fields of its object, if that is in a run."""

        def member(value: Value) -> Any:
            return members.get(value.name) if members and isinstance(value, FieldOf) else None

        for rule in rules:
            need: object = rule.needed
            if self.streamed and not all(isinstance(each, Constant) for each in rule.wanted):
                need = rule.wanted if rule.need == "one of" else rule.wanted[0]
            null = rule.need == "a value"
            reason = "null in a version that does not allow it" if null else "value not allowed"
            broken = Unary("not", replaced(rule.test, member), FLAG)
            yield If(((broken, (_do("refuse", name, reason, at, need),)),))

    # -- elements: `inside` says that the source is what a switch has entered ----------------------

    def element(self, element: Element, target: _Target, inside: bool = False) -> Statements:
        name = target.name
        match element:
            case plan.FixedNumber(wire, order):
                if order == "by":
                    yield _do("ordered")
                yield from self.whole
                yield from target.put(Op("number", (wire, order, name)), element)
            case plan.Varint(wire):
                yield from target.put(Op("varint", (wire, name)), element)
            case plan.Bits(width, order):
                bits = Op("next_bits", (width, order, name))
                yield from target.put(Op("flag", (bits,)) if target.type == FLAG else bits, element)
            case plan.Octets():
                yield from target.put((yield from self.stored(element, name)), element)
            case plan.Chars(_, encoding):
                data = yield from self.stored(element, name)
                yield from target.put(Op("text", (data, encoding, name, self.streamed)), element)
            case plan.Nested():
                yield from self.nested(element, target, inside)
            case plan.Choice():
                yield from self.choice(element, target)

    def stored(self, element: plan.Octets | plan.Chars, name: str) -> Generator[Statement, None, Op]:
        if element.bounds is None:
            return Op("bytes", (None if element.size is None else element.size.value, name))
        return (yield from self.bounded(element.bounds, name))

    def size(self, bounds: Bounds) -> Generator[Statement, None, Expression | None]:
        """What is done before bytes are taken; the size may be computed before bits are dropped."""
        size: Expression | None = bounds.size
        if bounds.early and bounds.size is not None:
            size = self.local("size", bounds.size.type)
            yield Let(size.name, bounds.size)
        yield from self.whole
        return size

    def bounded(self, bounds: Bounds, name: str) -> Generator[Statement, None, Op]:
        """The bytes of a value, after what is done before they are taken."""
        size = yield from self.size(bounds)
        if bounds.contents is not None:
            return Op("fixed", (bounds.contents, name))
        data = Op("until", (bounds, name))
        if size is not None or bounds.rest:
            data = Op("bytes", (size, name))
            if bounds.pad is not None or bounds.terminator is not None:
                data = Op("trim", (data, bounds))
        if (process := bounds.process) is not None:
            data = Op("process", (data, process.name, process.arguments, name))
        return data

    def enter(self, element: plan.Nested | plan.Choice, name: str) -> Statements:
        if (bounds := element.bounds) is None:
            yield from () if element.size is None else (_do("enter", element.size.value, name),)
        elif bounds.plain:
            yield _do("enter", (yield from self.size(bounds)), name)
        else:
            yield _do("inside", (yield from self.bounded(bounds, name)))

    def leave(self, element: plan.Nested | plan.Choice, name: str) -> Statements:
        if element.bounds is not None or element.size is not None:
            yield _do("leave", name, not self.streamed)
        elif element.fills:
            yield _do("ended", name)

    def nested(self, element: plan.Nested, target: _Target, inside: bool) -> Statements:
        name, element = target.name, replace(element, bounds=None) if inside else element
        yield from self.enter(element, name)
        # arguments are computed once the bytes are taken, and their errors are not of the field
        arguments = []
        for value in (*element.arguments, *([] if element.parent is None else [element.parent])):
            arguments.append(self.local("argument", value.type))
            yield Let(arguments[-1].name, value)
        parent = None if element.parent is None else arguments.pop()
        path = element.rooted, target.shown, target.element
        read = target.put(Op("object", (element.unit, tuple(arguments), parent, *path)))
        indexed = target.element and self.streamed
        body = (_do("deeper"), *read) if self.streamed else read
        yield from (Within(name, body, indexed),) if name else body
        yield from self.leave(element, name)

    def choice(self, choice: plan.Choice, target: _Target) -> Statements:
        name, on, inside = target.name, self.local("on", choice.on.type), choice.bounds is not None

        def read(case: plan.Case) -> Block:
            return tuple(self.element(case.element, replace(target, type=case.type), inside))

        cases = [(each.value, read(each)) for each in choice.cases if each.value is not None]
        if choice.other is not None:
            other = read(choice.other)
        elif choice.size is not None or choice.fills:
            other = target.put(Op("bytes", (None, name)))
        else:
            other = target.put_nothing() if choice.may_lack else (_do("no_case", name, on),)
        bounds = None if choice.bounds is None else replace(choice.bounds, early=False)
        enter, let = [*self.enter(replace(choice, bounds=bounds), name)], Let(on.name, choice.on)
        # layouts look at the size first, streams at what chooses
        yield from (let, *enter) if self.streamed else (*enter, let)
        yield _choose(on, cases, other)
        yield from self.leave(choice, name)


def _choose(on: Local, cases: Iterable[tuple[Value, Block]], other: Block) -> If:
    """The statements of the first case that equals a local."""
    return If(tuple((Binary("==", on, value, FLAG), then) for value, then in cases), other)  # type: ignore[arg-type]


def _value_of(slot: Slot, run: Local) -> Op:
    if slot.bits is not None:
        bits = Op("bits", (run, slot.offset, slot.size, *slot.bits, slot.order))
        return Op("flag", (bits,)) if slot.type == FLAG else bits
    if slot.wire is None:
        return Op("slice", (run, slot.offset, slot.size))
    return Op("load", (run, slot.wire, slot.order, slot.offset))
