"""Units of streams as statements: how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kodec.generator.code.ir import Each, If, Let, Local, Op, Statement, do, equal, present, sized
from kodec.generator.plan import steps as plan
from kodec.generator.plan.solve import advised
from kodec.generator.plan.steps import Bounds, Element, Rule, Solution, Step, Unit
from kodec.generator.plan.streams import asks_stream, known_size, written
from kodec.generator.plan.values import (
    FLAG,
    OCTETS,
    UNBOUNDED,
    Constant,
    EnumOf,
    FieldOf,
    This,
    Type,
    Unary,
    Value,
    values_in,
)

__all__ = ["instance_writer_of", "stream_writer_of"]

_EMPTY = Constant(b"", OCTETS)

Block = tuple[Statement, ...]
Statements = Iterator[Statement]
Sized = tuple[Value | None, tuple[Solution, ...], str]


def stream_writer_of(unit: Unit) -> Block:
    """How an object of a unit is written."""
    assert unit.streamed is not None
    placed = (each for each in unit.streamed.instances if each.position is not None)
    placed_at = (do("instance", each, sized(each.position, each.solved)) for each in placed)
    return (*_Lowering(unit).steps(written(unit)), *placed_at)


def instance_writer_of(unit: Unit, step: plan.One | plan.Many) -> Block:
    """How an instance is written, at its position."""
    return tuple(_Lowering(unit).step(step))


class _Lowering:
    def __init__(self, unit: Unit) -> None:
        assert unit.streamed is not None
        self.unit = unit
        self.locals = 0
        # what is written in bytes begins with a whole one by itself, where types may end within a byte
        self.whole: Block = (do("align"),) if unit.streamed.loose else ()

    def local(self, name: str, kind: Type = UNBOUNDED) -> Local:
        self.locals += 1
        return Local(f"{name}{self.locals}", kind)

    def late(self, value: Value | None) -> bool:
        """Whether a value depends on where the stream stands, which is known once all bytes are there."""
        return value is not None and asks_stream(value, self.unit)

    # -- steps ------------------------------------------------------------------------------------

    def steps(self, steps: Iterable[Step]) -> Statements:
        for step in steps:
            yield from self.step(step)

    def step(self, step: Step) -> Statements:
        match step:
            case plan.Align():
                yield do("align")
            case plan.ByteOrder(on, cases, other):
                chosen = self.local("on", on.type)
                yield Let(chosen.name, on)
                orders = ((equal(case, chosen), (do("order", little),)) for case, little in cases)
                yield If(tuple(orders), (do("order", other),))
            case plan.Mark(name, offset, end):
                yield do("span", name, end, offset)
            case plan.When():
                yield from self.when(step)
            case plan.Fixed(slots):
                yield from self.whole
                for slot in slots:
                    name = slot.path[0]
                    yield do("put", slot.wire, slot.order, FieldOf(name, slot.type), name)
            case plan.One(name, kind, element, rules):
                value = self.local("value", kind)
                yield Let(value.name, FieldOf(name, kind))
                yield from self.element(element, name, value)
                yield from self.rules(rules, name, value)
            case plan.Many():
                yield from self.many(step)

    def when(self, step: plan.When) -> Statements:
        """A field is written where its condition holds, or where that is made to hold as there is a value."""
        (inner,) = step.steps
        assert isinstance(inner, (plan.One, plan.Many))
        name, then, holds = inner.name, tuple(self.step(inner)), self.local("written", FLAG)
        value = FieldOf(name, inner.type)
        size = inner.count if isinstance(inner, plan.Many) else getattr(inner.element, "bounds", None)
        sizes = () if size is None else size.solved
        if self.late(step.test):
            yield If(((present(value), then),))
            return
        if name in self.unit.follows:
            yield Let(holds.name, Op("is_written", (name, step.test)))
        elif step.solved or sizes:
            lacking = plan.lacks_case(step.steps)
            yield Let(holds.name, Op("wanted", (value, name, step.test, step.solved, sizes, lacking)))
        else:
            reason = advised("given, but its condition does not hold", step.test)
            refuse = If(((present(value), (do("refuse_value", name, reason, None, value),)),))
            yield If(((step.test, then),), (refuse,))
            return
        yield If(((holds, then),))  # type: ignore[arg-type]

    def many(self, step: plan.Many) -> Statements:
        name, value, item = step.name, FieldOf(step.name, step.type), Local("item", FLAG)
        count, solved = (None, ()) if step.count is None else (step.count.value, step.count.solved)
        if count is not None and (solved or not self.late(count)):
            yield do("counted", value, sized(count, solved), name)
        until = None if self.late(step.until) else step.until
        if until is not None:
            yield do("not_empty", value, name)
        body = [*self.element(step.element, name, item, indexed=True), *self.rules(step.rules, name, item)]
        if until is not None:
            body.append(do("last", value, until, name))
        same = {"shared": True, "indexed": False}
        yield Each(name, name, tuple(body), step.least, count, step.until, **same)
        if step.to_end:
            yield do("ends", name)

    def rules(self, rules: tuple[Rule, ...], name: str, value: Local) -> Statements:
        if rules and value.name != "item":
            yield Let("item", value)
        for rule in rules:
            broken = Unary("not", rule.test, FLAG)
            yield If(((broken, (do("refuse_value", name, "value not allowed", _need(rule), value),)),))

    def known(self, bounds: Bounds) -> Sized:
        """A size that is known while it is written, and what it follows from."""
        size = bounds.size
        known = size is not None and (bool(bounds.solved) or known_size(size, self.unit))
        return sized(size, bounds.solved) if known else (None, (), "")

    # -- elements: `shared` are the bounds of a switch; `indexed` says that it is of a list -----------

    def element(
        self,
        element: Element,
        name: str,
        value: Local,
        *,
        indexed: bool = False,
        shared: Bounds | None = None,
    ) -> Statements:
        match element:
            case plan.FixedNumber(wire, order):
                yield from self.whole
                yield do("put", wire, order, value, name)
            case plan.Bits(width, order):
                yield do("put_next_bits", width, order, value, name)
            case plan.Octets(_, bounds):
                yield from self.stored(shared or bounds, name, value, own=not indexed)
            case plan.Chars(_, encoding, bounds):
                text = Op("encoded", (value, encoding, name))
                yield from self.stored(shared or bounds, name, text, own=not indexed)
            case plan.Nested():
                yield from self.nested(element, name, value, shared or element.bounds, indexed=indexed)
            case plan.Choice():
                yield from self.choice(element, name, value, indexed=indexed)

    def stored(self, bounds: Bounds | None, name: str, value: Local | Op, *, own: bool) -> Statements:
        """Bytes, after their process, with padding; `own` says that they are the value of a field."""
        assert bounds is not None
        yield from self.whole
        process, data = bounds.process, self.local("data", OCTETS)
        if bounds.contents is not None:
            yield do("put_fixed", value, bounds.contents, name)
            return
        if process is not None and any(map(self.late, process.arguments)):
            reason = "its process depends on the position in the stream"
            yield do("refuse_value", name, reason, None, _EMPTY)
            return
        yield Let(data.name, value)
        if process is not None:
            yield Let(data.name, Op("processed", (data, process.name, process.arguments, name)))
        if bounds.size is None and not bounds.rest:
            yield do("put_ended", data, bounds, name)
        elif bounds.plain or (bounds.pad is None and bounds.terminator is None):
            yield do("put_bytes", data, self.known(bounds), name)
        else:
            ends = bounds.terminator is not None and not bounds.include and process is None
            own = own and ends and bool(bounds.solved)
            yield do("put_filled", data, bounds, sized(bounds.size, bounds.solved), own, name)
        if bounds.rest:
            yield do("ends", name)

    def nested(
        self, element: plan.Nested, name: str, value: Local, bounds: Bounds | None, *, indexed: bool
    ) -> Statements:
        parent = None if element.parent is None else self.local("parent")
        if parent is not None and element.parent is not None:
            yield Let(parent.name, element.parent)
        early = [bounds is None or not self.late(each) for each in element.arguments]
        arguments: list[Local | None] = []
        for each, known in zip(element.arguments, early, strict=True):
            arguments.append(self.local("argument", each.type) if known else None)
            if (argument := arguments[-1]) is not None:
                yield Let(argument.name, each)
        rooted = element.rooted and not isinstance(element.parent, This)
        around = parent, rooted, name, indexed
        part = None if bounds is None else self.local("part")
        if bounds is not None and part is not None:
            if bounds.plain:
                yield from self.whole
            size = self.known(bounds)[0] if bounds.plain else None
            yield Let(part.name, Op("part", (value, size, name)))
        yield do("write_object", part, element.unit, value, tuple(arguments), element.told, *around)
        if bounds is not None and part is not None:
            if bounds.plain:
                yield do("put_part", part, value, self.known(bounds), name)
                yield from (do("ends", name),) if bounds.rest else ()
            else:
                yield from self.stored(bounds, name, Op("whole", (part, value, name)), own=False)
        for index, (each, known) in enumerate(zip(element.arguments, early, strict=True)):
            if not known:
                yield do("late_argument", value, element.unit, index, each, name)

    def choice(self, choice: plan.Choice, name: str, value: Local, *, indexed: bool) -> Statements:
        def chosen(case: plan.Case) -> Block:
            return tuple(self.element(case.element, name, value, indexed=indexed, shared=choice.bounds))

        on = self.local("on", choice.on.type)
        yield Let(on.name, choice.on)
        if choice.solved:
            yield do("choose", name, value, on, tuple(choice.only), choice.solved)
        cases = ((equal(each.value, on), chosen(each)) for each in choice.cases if each.value is not None)
        reason = advised("no case for this value, so that nothing is written", choice.on)
        nothing = If(((present(value), (do("refuse_value", name, reason, on, value),)),))
        yield If(tuple(cases), (nothing,) if choice.other is None else chosen(choice.other))


def _need(rule: Rule) -> object:
    """What an error says is needed: text, or values of the object."""
    if rule.need == "a member":
        enums = (each.type.enum for each in values_in(rule.test) if isinstance(each.type, EnumOf))
        return f"a value of {class_name(next(enums))}"
    if all(isinstance(each, Constant) for each in rule.wanted):
        return rule.needed
    return rule.wanted if rule.need == "one of" else rule.wanted[0]


def class_name(name: str) -> str:
    """The name of a class, as errors have it."""
    return "".join(part[:1].upper() + part[1:] for part in name.rpartition("::")[2].split("_"))
