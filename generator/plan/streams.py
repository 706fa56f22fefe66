"""From a checked model to the units of streamed schemas, and what a writer has to know of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kodec.generator.plan.follows import derived_of, followed, marked_in
from kodec.generator.plan.solve import choices, presence, solutions
from kodec.generator.plan.steps import (
    Align,
    Bits,
    Bounds,
    ByteOrder,
    Calculated,
    Case,
    Chars,
    Choice,
    Element,
    FieldPlan,
    Fixed,
    FixedNumber,
    InstancePlan,
    Many,
    Mark,
    Nested,
    Octets,
    One,
    Parameter,
    Process,
    Program,
    Rule,
    Size,
    Slot,
    Solution,
    Step,
    Streamed,
    Unit,
    When,
    reachable,
)
from kodec.generator.plan.stream_runs import (
    MOST_JOINED,
    Group,
    asks_for,
    ending,
    groups_of,
    loose,
    timely,
)
from kodec.generator.plan.stream_values import Here, StreamBinder, StreamTypes, number_of
from kodec.generator.plan.values import (
    FLAG,
    OCTETS,
    Binary,
    Constant,
    Counter,
    Enumerated,
    EnumOf,
    FieldOf,
    Grouped,
    Item,
    ListOf,
    Maybe,
    MemberOf,
    ObjectOf,
    Required,
    SizeOf,
    StreamAsked,
    StreamOf,
    This,
    Value,
    Whole,
    any_of,
    arithmetic,
    replaced,
    values_in,
)
from kodec.generator.schema import expr as ex
from kodec.generator.schema.expression_types import Kinds, Scope, without_case
from kodec.generator.schema.model import Bits as BitsType
from kodec.generator.schema.model import (
    Bytes,
    Field,
    Instance,
    Model,
    Prim,
    Ref,
    Schema,
    Str,
    Struct,
    Switch,
    TypeRef,
)
from kodec.generator.schema.widths import least_bytes
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["asks_stream", "known_size", "streams_of", "written"]


def streams_of(model: Model, kinds: Kinds) -> Program:
    """The units of all streamed schemas."""
    builder = _Builder(model, kinds)
    return followed(
        Program(
            {unit.name: unit for schema in model.schemas if schema.streamed for unit in builder.units(schema)}
        )
    )


class _Builder:
    """The types of a model."""

    def __init__(self, model: Model, kinds: Kinds) -> None:
        self.model = model
        self.kinds = kinds
        self.types = StreamTypes(kinds)
        self.bind = StreamBinder(self.types)
        self.loose = loose(model)
        self.timely = timely(model)
        self.ending = ending(model)
        self.marked = marked_in(model, kinds)

    def units(self, schema: Schema) -> Iterator[Unit]:
        each = self._one_by_one(schema.root)
        for struct in schema.structs:
            yield Unit(
                name=struct.name,
                parameters=tuple(Parameter(param.id, self.types.parameter(param)) for param in struct.params),
                fields=tuple(map(self._field_plan, struct.fields)),
                steps=tuple(_aligned(self._steps(struct), loose=self.loose)),
                least=least_bytes(
                    self.model, Ref(struct.name), Field(struct.id, Ref(struct.name), struct.place)
                ),
                streamed=Streamed(
                    instances=tuple(self._instance(struct, instance) for instance in struct.instances),
                    part=self.kinds.needs_others(struct),
                    loose=self.loose,
                    each=each.get(struct.name, ()),
                    calculated=tuple(self._calculated(struct)),
                    tail_moves=struct.tail == "moves",
                    marked=tuple(sorted(self.marked.get(struct.name, ()))),
                ),
            )

    def _field_plan(self, spec: Field) -> FieldPlan:
        kind = self.types.field(spec)
        default = None
        if isinstance(kind, Maybe):
            default = Constant(None, kind)
        elif spec.contents is not None and spec.repeat is None:
            default = Constant(spec.contents, kind)
        return FieldPlan(spec.id, kind, default if isinstance(kind, Maybe) else None, default, kept=True)

    # -- lists that can be read without being kept ------------------------------------------------

    def _one_by_one(self, root: Struct) -> dict[str, tuple[str, ...]]:
        """By the name of a type: its lists that can be read without being kept, as no expression asks for
        them, and its objects that hold such. It is the outermost type, or held outside of lists and switches.
        """
        reached = {root.name}
        for struct in (todo := [root]):
            for spec in struct.fields:
                if (inner := self._held(struct, spec)) is not None and inner.name not in reached:
                    reached.add(inner.name)
                    todo.append(inner)
        lists = {struct.name for struct in todo if any(map(self._is_lone_list, struct.fields))}
        # a type that holds one that has any; types may hold each other
        before = -1
        while before < len(lists):
            before = len(lists)
            for struct in reversed(todo):
                if any(self._leads_to(struct, spec, lists) for spec in struct.fields):
                    lists.add(struct.name)
        return {
            struct.name: tuple(
                spec.id
                for spec in struct.fields
                if self._is_lone_list(spec) or self._leads_to(struct, spec, lists)
            )
            for struct in todo
        }

    def _is_lone_list(self, spec: Field) -> bool:
        """Whether a field is a list of objects that no expression asks for."""
        objects = spec.repeat is not None and isinstance(spec.type, (Ref, Switch))
        return objects and not self.kinds.asked(spec.id)

    def _leads_to(self, struct: Struct, spec: Field, lists: set[str]) -> bool:
        inner = self._held(struct, spec)
        return inner is not None and inner.name in lists

    def _held(self, struct: Struct, spec: Field) -> Struct | None:
        """The type of the same schema of which a field always holds one object, where it holds any."""
        if spec.repeat is not None or not isinstance(spec.type, Ref):
            return None
        return self.model.struct(spec.type.target) if self.kinds.near(struct, spec.type) else None

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self, struct: Struct) -> Iterator[Step]:
        here = Here(Scope(struct), at_hand=True)
        if struct.endian is not None:
            cases = struct.endian.cases
            yield ByteOrder(
                on=self.bind.value(struct.endian.on, here),
                cases=tuple(
                    (self.bind.value(case, here), order == "le") for case, order in cases if case is not None
                ),
                other=next((order == "le" for case, order in cases if case is None), None),
            )
        marked = self.marked.get(struct.name, frozenset())
        for found in groups_of(struct, self.timely, marked, loose=self.loose):
            if isinstance(found, list):
                yield self._run(found, here)
                continue
            step: Step = self._read(struct, found, here)
            if found.condition is not None:
                test = self.bind.value(found.condition, here)
                step = When(test, (step,), presence(test))
            if found.id in marked:
                yield Mark(found.id)
                yield step
                yield Mark(found.id, end=True)
            else:
                yield step

    def _run(self, groups: list[Group], here: Here) -> Fixed:
        slots: list[Slot] = []
        at = 0
        for group in groups:
            if isinstance(group.fields[0].type, BitsType):
                for spec, shift, width in group.shifts():
                    bits = shift, width
                    order = spec.type.endian if isinstance(spec.type, BitsType) else ""
                    slots.append(
                        Slot(
                            (spec.id,), self.types.element(spec), at, group.size, None, order, bits,
                            rules=self._rules(spec, here),
                        )
                    )  # fmt: skip
            else:
                (spec,) = group.fields
                wire = spec.type.name if isinstance(spec.type, Prim) else None
                rules = self._rules(spec, here)
                slots.append(
                    Slot((spec.id,), self.types.element(spec), at, group.size, wire, group.order, rules=rules)
                )
            at += group.size
        return Fixed(tuple(slots), at)

    def _read(self, struct: Struct, spec: Field, here: Here) -> One | Many:
        """All values of a field."""
        kind = self.types.element(spec)
        inner = here if spec.repeat is None else here.with_item(self.kinds.element(spec), kind)
        element = self._element(struct, spec.type, spec, inner)
        rules = self._rules(spec, inner)
        if spec.repeat is None:
            return One(spec.id, kind, element, rules)
        count = None
        if spec.repeat_expr is not None:
            number = self.bind.value(spec.repeat_expr, here)
            count = Size(number, implied=False, solved=solutions(number))
        until = None
        if spec.repeat_until is not None:
            until = _so_far(spec.id, self.bind.value(spec.repeat_until, inner))
        least = 0
        if spec.process is None and not isinstance(spec.type, Switch):
            least = least_bytes(self.model, spec.type, spec)
        return Many(spec.id, ListOf(kind), element, least, count, until, rules)

    def _element(self, struct: Struct, kind: TypeRef, spec: Field, here: Here) -> Element:
        """One value of a field."""
        match kind:
            case Prim(name, width):
                return FixedNumber(name, kind.endian if width > 1 else "")
            case BitsType(width, endian):
                return Bits(width, endian)
            case Bytes():
                return Octets(None, self._bounds(kind, spec, here))
            case Str(encoding):
                return Chars(None, encoding, self._bounds(kind, spec, here))
            case Ref(target, args):
                sized = spec.size is not None or spec.size_eos or spec.terminator is not None
                parent, rooted = self._parent(struct, kind, here)
                given = tuple(self.bind.argument(each, here) for each in args)
                return Nested(
                    unit=target,
                    arguments=given,
                    told=tuple(presence(each) if each.type == FLAG else solutions(each) for each in given),
                    bounds=self._bounds(kind, spec, here) if sized else None,
                    parent=parent,
                    rooted=rooted,
                )
            case Switch():
                return self._choice(struct, kind, spec, here)
        raise TypeError(kind)

    def _parent(self, struct: Struct, kind: Ref, here: Here) -> tuple[Value | None, bool]:
        """What an object of a type has as its parent, and whether it has the same root."""
        if not self.kinds.near(struct, kind):
            return None, False
        if kind.parent is None:
            return This(ObjectOf(struct.name)), True
        if kind.parent is False:
            return None, True
        assert isinstance(kind.parent, ex.Expr)
        return self.bind.bind(kind.parent, here), True

    def _choice(self, struct: Struct, switch: Switch, spec: Field, here: Here) -> Choice:
        kinds = [kind for _, kind in switch.cases] + [switch.default or Bytes()]
        bounds = None
        # what the cases are is asked before their bytes are read
        settled = not any(asks_for(case, self.timely) for case, _ in switch.cases)
        own = self._bounds(Bytes(), spec, here) if spec.size is not None and settled else None
        if own is not None and own.plain and all(isinstance(kind, (Ref, Bytes)) for kind in kinds):
            bounds, spec = own, replace(spec, size=None, size_eos=True)
        other = None
        if switch.default is not None:
            other = self._case(None, struct, switch.default, spec, here)
        elif (plain := without_case(spec)) is not None:
            bytes_of = replace(self._bounds(Bytes(), plain, here), early=False)
            other = Case(None, OCTETS, Octets(None, bytes_of))
        on = self.bind.bind(switch.on, here)
        made = Choice(
            on=on,
            cases=reachable(
                self._case(self.bind.value(case, here), struct, kind, spec, here)
                for case, kind in switch.cases
            ),
            other=other,
            size=None,
            fills=False,
            may_lack=other is None,
            peeked=False,
            bounds=bounds,
        )
        return replace(made, solved=choices(on)) if made.only else made

    def _case(self, value: Value | None, struct: Struct, kind: TypeRef, spec: Field, here: Here) -> Case:
        single = self.types.of(kind)
        if spec.enum is not None and isinstance(single, Whole):
            single = EnumOf(spec.enum, single)
        return Case(value, single, self._element(struct, kind, spec, here))

    def _bounds(self, kind: TypeRef, spec: Field, here: Here) -> Bounds:
        end = spec.terminator
        if end is None and isinstance(kind, Str) and kind.zero:
            end = bytes(ENCODINGS[kind.encoding].unit)
        process = None
        if spec.process is not None:
            given = tuple(self.bind.value(each, here) for each in spec.process.args)
            process = Process(spec.process.name, given)
        size = None if spec.size is None else self.bind.value(spec.size, here)
        return Bounds(
            contents=spec.contents,
            size=size,
            solved=solutions(size),
            rest=spec.size_eos,
            early=self.loose and asks_for(spec.size, self.ending),
            terminator=end,
            include=spec.include,
            consume=spec.consume,
            needed=spec.eos_error,
            pad=spec.pad_right,
            process=process,
        )

    def _rules(self, spec: Field, here: Here) -> tuple[Rule, ...]:
        """The `valid` rules of a value."""
        valid = spec.valid
        if valid is None:
            return ()
        kind = self.types.element(spec)
        item: Value = Item(kind)
        inner = here.with_item(self.kinds.element(spec), kind)
        found = []
        for op, need, wanted in (
            ("==", "equal", valid.eq),
            (">=", "least", valid.min),
            ("<=", "most", valid.max),
        ):
            if wanted is not None:
                value = self.bind.value(wanted, inner)
                found.append(Rule(Binary(op, item, value, FLAG), need, (value,)))
        if valid.any_of is not None:
            values = tuple(self.bind.value(each, inner) for each in valid.any_of)
            found.append(Rule(any_of([Binary("==", item, each, FLAG) for each in values]), "one of", values))
        if valid.expr is not None:
            text = Constant(ex.text_of(valid.expr), FLAG)
            found.append(Rule(self.bind.value(valid.expr, inner), "holds", (text,)))
        if valid.in_enum and spec.enum is not None:
            items = [
                Constant(each.value, Whole(each.value, each.value))
                for each in self.model.enum(spec.enum).items
            ]
            found.append(Rule(any_of([Binary("==", item, each, FLAG) for each in items]), "a member"))
        return tuple(found)

    # -- instances --------------------------------------------------------------------------------

    def _instance(self, struct: Struct, instance: Instance) -> InstancePlan:
        unread = instance.id in self.kinds.asked_from_inside(struct.name.partition("::")[0])
        before = Here(Scope(struct), unread=unread)

        def given(expr: ex.Expr | None) -> Value | None:
            return None if expr is None else self.bind.value(expr, before)

        kind = self.types.instance(struct, instance)
        spec = instance.reads
        test = given(instance.condition)
        if spec is None:
            assert instance.value is not None
            value = self.bind.bind(instance.value, before)
            if instance.enum is not None:
                value = self.bind.value(instance.value, before)
                value = Enumerated(value, EnumOf(instance.enum, number_of(value.type)))
            solved = presence(value) if kind == FLAG else solutions(value)
            groups = self._groups(struct)
            if groups is not None and any(isinstance(part, MemberOf) for part in values_in(value)):
                target = FieldOf(groups.list, groups.type)
                solved = (Solution(target, replace(groups, member=instance.id)),)
            return InstancePlan(instance.id, kind, test, value=value, solved=solved)
        stream = None if instance.io == ex.Name("_io") else instance.io
        here = Here(Scope(struct), at_hand=stream is None, unread=unread)
        position = given(instance.position)
        return InstancePlan(
            name=instance.id,
            type=kind,
            test=test,
            step=self._read(struct, spec, here),
            position=position,
            stream=given(stream),
            solved=() if asks_stream(position) else solutions(position),
            align=0 if instance.align is None else instance.align.to,
            fill=0 if instance.align is None else instance.align.fill,
        )

    def _groups(self, struct: Struct) -> Grouped | None:
        """How a number is made of the one field of a type, where that is a list of groups of its bits."""
        if len(struct.fields) != 1 or not isinstance(struct.fields[0].type, Ref):
            return None
        spec = struct.fields[0]
        assert isinstance(spec.type, Ref)
        match spec.repeat_until:
            case ex.Unary("not", ex.Attr(ex.Name("_"), flag)):
                pass
            case _:
                return None
        held = self.model.struct(spec.type.target).fields
        bits = {each.id: each.type.width for each in held if isinstance(each.type, BitsType)}
        if len(held) != 2 or len(bits) != 2 or bits.get(flag) != 1 or sum(bits.values()) != 8:
            return None
        number = next(name for name in bits if name != flag)
        item = Item(Whole(0, (1 << 64) - 1))
        return Grouped(
            item, spec.type.target, flag, number, bits[number], spec.id, "", self.types.field(spec)
        )

    def _calculated(self, struct: Struct) -> Iterator[Calculated]:
        """The derivations of the fields of a type."""
        for spec in struct.fields:
            for derive in spec.derive.each if spec.derive is not None else ():
                yield derived_of(self.bind, struct, spec, derive)


def _so_far(name: str, until: Value) -> Value:
    """The condition that ends a list, in which its size is that up to the element that was read."""

    def swap(part: Value) -> Value | None:
        if not isinstance(part, SizeOf):
            return None
        of = part.of.of if isinstance(part.of, Required) else part.of
        if not isinstance(of, FieldOf) or of.name != name:
            return None
        one = Constant(1, Whole(1, 1))
        return Binary("+", Counter(), one, arithmetic("+", Counter().type, Whole(1, 1)))

    return replaced(until, swap)


def _bit_order(step: Step) -> str | None:
    """The order of the bits that a step reads; None of other steps."""
    if isinstance(step, When):
        (step,) = step.steps
    found = step.element if isinstance(step, (One, Many)) else None
    return found.order if isinstance(found, Bits) else None


def _aligned(steps: Iterable[Step], *, loose: bool) -> Iterator[Step]:
    """The steps, with an `Align` behind bits: what follows begins with a whole byte, also bits the other way.

    In a `loose` program what is read in bytes does that itself, as objects may begin within a byte; in others
    every type ends with a whole byte.
    """
    bits: str | None = None
    for step in steps:
        order = _bit_order(step)
        if bits is not None and order != bits and (order is not None or not loose):
            yield Align()
        bits = order
        yield step


# -- what a writer knows ------------------------------------------------------------------------------


def written(unit: Unit) -> Iterator[Step]:
    """The steps as a writer takes them: runs are of numbers without rules, all else is by itself."""
    assert unit.streamed is not None
    whole = [step for step in unit.steps if not isinstance(step, Align)]
    singles = (each for step in whole for each in _singles(step))
    return _aligned(_numbers_joined(singles), loose=unit.streamed.loose)


def _singles(step: Step) -> Iterator[Step]:
    """The values of a run by themselves."""
    if not isinstance(step, Fixed):
        yield step
        return
    for slot in step.slots:
        element: Element = FixedNumber(slot.wire or "", slot.order)
        if slot.bits is not None:
            element = Bits(slot.bits[1], slot.order)
        elif slot.wire is None:
            element = Octets(None, Bounds(size=Constant(slot.size, Whole(slot.size, slot.size))))
        yield One(slot.path[0], slot.type, element, slot.rules)


def _numbers_joined(steps: Iterable[Step]) -> Iterator[Step]:
    pending: list[One] = []
    order = ""

    def flush() -> Iterator[Step]:
        if len(pending) < 2:
            yield from pending
        else:
            slots, at = [], 0
            for each in pending:
                assert isinstance(each.element, FixedNumber)
                size = WIRE[each.element.wire].least
                slots.append(Slot((each.name,), each.type, at, size, each.element.wire, each.element.order))
                at += size
            yield Fixed(tuple(slots), at)
        pending.clear()

    for step in steps:
        number = step.element if isinstance(step, One) and not step.rules else None
        if not isinstance(step, One) or not isinstance(number, FixedNumber) or number.order == "by":
            yield from flush()
            order = ""
            yield step
            continue
        if (order and number.order and number.order != order) or len(pending) == MOST_JOINED:
            yield from flush()
            order = ""
        order = order or number.order
        pending.append(step)
    yield from flush()


def asks_stream(value: Value | None, unit: Unit | None = None) -> bool:
    """Whether a value depends on where a stream stands or how long it is, also by instances of `unit`."""
    if value is None:
        return False
    for part in values_in(value):
        if isinstance(part, StreamOf):
            return True
        if isinstance(part, FieldOf) and unit is not None and unit.streamed is not None:
            instances = unit.streamed.instances
            found = next((each for each in instances if each.name == part.name), None)
            if found is not None and asks_stream(found.value):
                return True
    return False


def known_size(value: Value, unit: Unit) -> bool:
    """Whether a size is known while it is written: of the stream it asks where that stands, at most."""
    if not asks_stream(value, unit):
        return True
    places = [part.of for part in values_in(value) if isinstance(part, StreamAsked) and part.name == "pos"]
    streams = [part for part in values_in(value) if isinstance(part, StreamOf)]
    if any(not each.at_hand or each.of is not None for each in streams) or len(places) != len(streams):
        return False
    # none of it by an instance
    return not asks_stream(replaced(value, _without_place), unit)


def _without_place(part: Value) -> Value | None:
    return Constant(0, Whole(0, 0)) if isinstance(part, StreamAsked) else None
