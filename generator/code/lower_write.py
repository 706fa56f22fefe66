"""Units of layouts as statements: how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kodec.generator.code.ir import (
    Each,
    EachTag,
    Expression,
    If,
    Let,
    Local,
    Op,
    Set,
    Statement,
    Within,
    do,
    equal,
    present,
    sized,
)
from kodec.generator.plan import steps as plan
from kodec.generator.plan.steps import Element, Rule, Size, Slot, Step, Unit, steps_in
from kodec.generator.plan.values import (
    FLAG,
    OCTETS,
    UNBOUNDED,
    Binary,
    Constant,
    FieldOf,
    IsNull,
    MemberOf,
    Type,
    Value,
    bare,
    replaced,
)

__all__ = ["writer_of"]

_NULL = Constant(None, FLAG)
_HERE = Op("pos", (0,))

Statements = Iterator[Statement]


def writer_of(unit: Unit) -> tuple[Statement, ...]:
    """How an object of a unit is written."""
    return tuple(_Lowering(unit).unit_code())


class _Lowering:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.ranges = {each.name for each in unit.ranges}
        # the bytes of fields that are written before what stands in front of them, or null
        self.measured: dict[str, Local] = {}
        self.locals = 0

    def local(self, name: str, kind: Type = UNBOUNDED) -> Local:
        self.locals += 1
        return Local(f"{name}{self.locals}", kind)

    def shown(self, name: str) -> str:
        return "" if self.unit.stands_for == name else name

    def field(self, name: str) -> FieldOf:
        return FieldOf(name, next((each.type for each in self.unit.fields if each.name == name), FLAG))

    def unit_code(self) -> Statements:
        unit = self.unit
        if unit.versions is not None:
            yield do("known", unit)
        for late in unit.late_sizes:
            yield Let(_held(late.name).name, _NULL)
        if unit.packed is not None:
            yield from self.packed(unit.packed)
        for derived in unit.derived:
            yield from self.derive(derived)
        yield from self.steps(unit.steps)
        for step in unit.ranges:
            yield from self.range(step)

    # -- before the first byte --------------------------------------------------------------------

    def packed(self, packed: plan.Packed) -> Statements:
        data, content, value = (
            self.local("measured", OCTETS),
            self.local("content", FLAG),
            self.field(packed.name),
        )
        self.measured[packed.name] = data
        yield Let(content.name, Op("is_content", (value,)))
        write = Within(packed.name, (do("write", packed.unit, value, (), ()),))
        pack = Op("pack", (packed, packed.by, packed.when, Op("close")))
        yield If(((content, (do("open"), write, Let(data.name, pack))),), (Let(data.name, _NULL),))  # type: ignore[arg-type]

    def derive(self, derived: plan.Derived) -> Statements:
        """A field that follows from another; a length of what is no bytes is known once that is written."""
        of = self.field(derived.of)
        if derived.kind == "length" and derived.of not in self.measured and bare(of.type) != OCTETS:
            data, step = self.local("measured", OCTETS), tuple(self.step(self.unit.step_of(derived.of)))
            self.measured[derived.of] = data
            test: Value = present(of)
            if derived.given:
                test = Binary("and", test, IsNull(self.field(derived.name)), FLAG)
            parts = do("open"), *step, Let(data.name, Op("close"))
            yield If(((test, parts),), (Let(data.name, _NULL),))
        args = derived, of, self.measured.get(derived.of), derived.plus, derived.when
        yield Set(derived.name, Op("follow", args))

    # -- steps ------------------------------------------------------------------------------------

    def steps(self, steps: Iterable[Step]) -> Statements:
        for step in steps:
            if isinstance(step, (plan.One, plan.Many, plan.Stored)):
                yield from self.held(step)
            else:
                yield from self.step(step)

    def held(self, step: plan.One | plan.Many | plan.Stored) -> Statements:
        """A field, and how many bytes or elements it has, where that is compared at the end."""
        name, late, start = step.name, self.unit.late_size(step.name), self.local("start")
        written = tuple(self.step(step))
        if name in self.measured:
            data = self.measured[name]
            written = (If(((present(data), (do("append", data, name),)),), written),)
        if late is None:
            yield from written
            return
        yield Let(start.name, _HERE)
        yield from written
        size = Op("count_of", (self.field(name), name)) if late.counted else Op("since", (start,))
        yield Let(_held(name).name, size)

    def step(self, step: Step) -> Statements:
        match step:
            case plan.When(test, inner, solved):
                fields = tuple(self.unit.unwritten(step))
                if solved and fields:
                    yield do("want", fields, test, plan.lacks_case(inner), solved)
                nullable = not self.unit.is_of_version(test)
                missing = (do("missing", self.field(each.name), each, nullable) for each in fields)
                yield If(((test, tuple(self.steps(inner))),), tuple(missing))
            case plan.Fixed():
                yield from self.fixed(step)
            case plan.One(name, kind, element, rules):
                value = FieldOf(name, kind)
                yield from self.rules(rules, name, value)
                yield from self.element(element, value, self.shown(name))
            case plan.Many():
                yield from self.many(step)
            case plan.Mark(name, offset, end):
                yield Let(("end_of_" if end else "start_of_") + name, Op("pos", (offset,)))
            case plan.Tagged(_, tags):
                yield EachTag(step, tuple((each, tuple(self.tag(each))) for each in tags))
            case plan.Stored(name):
                yield do("append", self.field(name), name)
            case plan.Require(name, rule):
                yield from self.rules((rule,), name, self.field(name))

    def rules(self, rules: tuple[Rule, ...], name: str, value: Value) -> Statements:
        if rules:
            yield Let("item", value)
            yield from (do("require", each.test, name) for each in rules)

    def fixed(self, step: plan.Fixed) -> Statements:
        for path, unit in reversed(step.objects):
            yield do("is_object", _member(path), unit, ".".join(path))
        for group in step.groups:
            bits: list[Local] = []
            for slot in group:
                if slot.contents is not None:
                    yield do("append", Constant(slot.contents, OCTETS), slot.shown)
                elif slot.path[0] not in self.ranges:
                    yield from self.slot(slot, bits)
                else:
                    # what follows from bytes is put in later; what is given has to fit, but is not used
                    blank = do("append", Constant(bytes(slot.size), OCTETS), slot.shown)
                    stored = self.unit.field(slot.path[0]).kept
                    null, put = IsNull(self.field(slot.path[0])), tuple(self.slot(slot, bits))
                    yield If(((null, (blank,)),), put) if stored else blank
            if bits:
                yield do("put_bits", group[0].size, group[0].order, tuple(bits))

    def slot(self, slot: Slot, bits: list[Local]) -> Statements:
        value = _member(slot.path, slot.type)
        if slot.rules:
            yield Let("item", value)
        for rule in slot.rules:
            # a rule in an object of a run is about that object
            test = replaced(rule.test, lambda part: self.beside(slot, part))
            yield do("require", test, slot.shown)
        if slot.bits is not None:
            bits.append(self.local("bits"))
            yield Let(bits[-1].name, Op("as_bits", (*slot.bits, value, slot.shown)))
        elif slot.wire is not None:
            yield do("put", slot.wire, slot.order, value, slot.shown)
        else:
            yield do("append", Op("sized", (slot.size, value, slot.shown)), slot.shown)

    @staticmethod
    def beside(slot: Slot, part: Value) -> Value | None:
        """A field of the object of a slot, where that is not the unit's own."""
        inner = slot.path[:-1]
        return _member((*inner, part.name), part.type) if inner and isinstance(part, FieldOf) else None

    def many(self, step: plan.Many) -> Statements:
        shown, item = self.shown(step.name), Local("item", FLAG)
        value = FieldOf(step.name, step.type)
        count = Op("count_of", (value, shown))
        yield from self.settle(shown, count, step.count, "wrong number of elements", "")
        rules = (do("require", each.test, "") for each in step.rules)
        body = (*rules, *self.element(step.element, item, ""))
        number = None if step.count is None else step.count.value
        same = {"shared": False, "indexed": True}
        yield Each(step.name, shown, body, step.least, number, step.until, **same)

    def tag(self, tag: plan.TagPlan) -> Statements:
        value = FieldOf(tag.name, tag.type)
        yield from self.rules(tag.rules, tag.name, value)
        yield from self.element(tag.element, value, tag.name)

    # -- elements ---------------------------------------------------------------------------------

    def settle(
        self, name: str, have: Op, size: Size | None, reason: str = "wrong size", unit: str = " bytes"
    ) -> Statements:
        if size is not None and not size.implied:
            yield do("settle", have, sized(size.value, size.solved), name, reason, unit)

    def element(self, element: Element, value: Value | Local, name: str) -> Statements:
        match element:
            case plan.FixedNumber(wire, order):
                yield do("put", wire, order, value, name)
            case plan.Varint(wire):
                yield do("put_varint", wire, value, name)
            case plan.Octets(size) | plan.Chars(size):
                data = self.local("data", OCTETS)
                encoding = element.encoding if isinstance(element, plan.Chars) else ""
                yield Let(data.name, Op("encoded", (value, encoding, name)))
                yield from self.settle(name, Op("length_of", (data,)), size)
                yield do("append", data, name)
            case plan.Nested(unit, arguments, told=told):
                write = do("write", unit, value, arguments, told)
                yield from self.with_size((Within(name, (write,)) if name else write,), element, name)
            case plan.Choice():
                yield from self.with_size(self.choice(element, value, name), element, name)

    def with_size(
        self, written: Iterable[Statement], element: plan.Nested | plan.Choice, name: str
    ) -> Statements:
        start = self.local("start")
        if element.size is not None:
            yield Let(start.name, _HERE)
        yield from written
        yield from self.settle(name, Op("since", (start,)), element.size)

    def choice(self, choice: plan.Choice, value: Value | Local, name: str) -> Statements:
        def written(case: plan.Case) -> tuple[Statement, ...]:
            return tuple(self.element(case.element, value, name))

        if choice.solved:
            yield do("choose", name, value, choice.on, tuple(choice.only), choice.solved)
        stored = choice.size is not None or choice.fills
        nothing = (do("otherwise", value, stored, choice.may_lack, name),)
        if choice.peeked:
            # what was peeked is not there: objects say which case it is
            tests = []
            for case in (*choice.cases, *([] if choice.other is None else [choice.other])):
                if isinstance(case.element, plan.Nested):
                    chosen = self.local("chosen", FLAG)
                    yield Let(chosen.name, Op("is_of", (case.element.unit, value)))
                    tests.append((chosen, written(case)))
            yield If(tuple(tests), nothing)  # type: ignore[arg-type]
            return
        on = self.local("on", choice.on.type)
        yield Let(on.name, choice.on)
        cases = [(equal(each.value, on), written(each)) for each in choice.cases if each.value is not None]
        yield If(tuple(cases), nothing if choice.other is None else written(choice.other))

    # -- what is known afterwards -----------------------------------------------------------------

    def range(self, step: plan.CheckLength | plan.Checksum) -> Statements:
        slots = (
            slot for each in steps_in(self.unit.steps) if isinstance(each, plan.Fixed) for slot in each.slots
        )
        slot = next(each for each in slots if each.path == (step.name,))
        start = Local("start_of_" + step.first, UNBOUNDED)
        end: Expression = _HERE if step.last is None else Local("end_of_" + step.last, UNBOUNDED)
        if isinstance(step, plan.Checksum):
            yield Let("item", Op("checksum_of", (step.function, start, end)))
        else:
            yield Let("item", Op("distance", (start, end, step.plus)))
            for each in self.unit.late_sizes_of(step.name):
                yield do("late", each.name, _held(each.name), each.value, each.counted)
        yield from (do("require", each.test, slot.shown) for each in slot.rules)
        place = Local("start_of_" + step.name, UNBOUNDED)
        yield do("patch", place, slot.wire, slot.order, Local("item", slot.type), step.name)


def _held(name: str) -> Local:
    return Local("held_of_" + name, UNBOUNDED)


def _member(path: tuple[str, ...], kind: Type = FLAG) -> FieldOf | MemberOf:
    """A field of the unit, or of an object in it."""
    if len(path) == 1:
        return FieldOf(path[0], kind)
    return MemberOf(_member(path[:-1]), path[-1], kind)
