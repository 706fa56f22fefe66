"""Which fields follow from sizes, counts, positions and bytes, and which bytes a writer needs for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kodec.generator.parts import fields_of
from kodec.generator.plan.steps import (
    Bounds,
    Calculated,
    Choice,
    Element,
    FieldPlan,
    InstancePlan,
    Many,
    Nested,
    One,
    Program,
    Size,
    Solution,
    Unit,
    When,
    steps_in,
    values_of,
)
from kodec.generator.plan.stream_values import Here, StreamBinder, either
from kodec.generator.plan.values import (
    FLAG,
    OCTETS,
    TEXT,
    Around,
    Cast,
    Computed,
    Constant,
    ElementOf,
    FieldOf,
    Grouped,
    ListOf,
    MemberOf,
    ObjectOf,
    OneOf,
    Required,
    StreamAsked,
    StreamOf,
    Type,
    Value,
    Whole,
    bare,
    is_number,
    values_in,
)
from kodec.generator.schema import expr as ex
from kodec.generator.schema.expression_types import Kind, KindError, Kinds, Scope
from kodec.generator.schema.model import Derive, DeriveCall, Field, Model, Struct
from kodec.generator.wire import CHECKSUMS

__all__ = [
    "blank_of",
    "call_kinds",
    "derived_of",
    "followed",
    "is_local",
    "marked_in",
    "owners_of",
]

_Key = tuple[str, str]


# -- what `-derive` says --------------------------------------------------------------------------------


def owners_of(kinds: Kinds, struct: Struct, call: DeriveCall) -> list[Struct]:
    """The types whose members a call names. Raises KindError."""
    if call.of is None:
        return [struct]
    found = kinds.of(call.of, Scope(struct))
    if found.name != "type":
        raise KindError(f"`{ex.text_of(call.of)}` is no object")
    return [kinds.struct(found.full)] if found.full else kinds.parents_of(call.of, Scope(struct))


def call_kinds(calls: Iterable[DeriveCall]) -> dict[str, Kind]:
    """The kinds of the names that stand for the calls of a derivation."""
    return {
        f"_d{index}": Kind("integer" if CHECKSUMS.get(call.function, 64) else "bytes")
        for index, call in enumerate(calls)
    }


def marked_in(model: Model, kinds: Kinds) -> dict[str, frozenset[str]]:
    """By type, the fields and instances whose bytes a derivation asks for, and those that are derived."""
    found: dict[str, set[str]] = {}
    for schema in model.schemas:
        for struct in schema.structs if schema.streamed else ():
            for spec in struct.fields:
                each = spec.derive.each if spec.derive is not None else ()
                for call in [call for derive in each for call in derive.parts[0]]:
                    found.setdefault(struct.name, set()).add(spec.id)
                    for owner in owners_of(kinds, struct, call):
                        found.setdefault(owner.name, set()).update((call.first, call.last))
    return {name: frozenset(names) for name, names in found.items()}


def derived_of(bind: StreamBinder, struct: Struct, spec: Field, derive: Derive) -> Calculated:
    """A derivation with its expression bound."""
    calls, value = derive.parts
    assert value is not None
    bound = tuple(_call(bind, struct, spec, derive, call) for call in calls)
    here = Here(Scope(struct, call_kinds(calls)), calls=bound)
    return Calculated(
        name=spec.id,
        value=bind.value(value, here),
        when=None if derive.when is None else bind.value(derive.when, Here(Scope(struct))),
        checksum=any(call.function in CHECKSUMS for call in calls),
        verify=derive.verify,
        into=derive.into or "",
    )


def _call(bind: StreamBinder, struct: Struct, spec: Field, derive: Derive, call: DeriveCall) -> Computed:
    here = Here(Scope(struct))
    bits = CHECKSUMS.get(call.function, 63)
    where = None
    if call.where is not None:
        owners = owners_of(bind.kinds, struct, call)
        lists = [member for owner in owners if (member := owner.field(call.first)) is not None]
        kind = bind.kinds.element(lists[0])
        where = bind.value(
            call.where, here.with_item(kind, either(bind.types.element(each) for each in lists))
        )
    return Computed(
        function=call.function,
        of=None if call.of is None else bind.value(call.of, here),
        first=call.first,
        last=call.last,
        own=spec.id,
        byte=derive.own,
        unpack=derive.unpack or "",
        type=Whole(0, (1 << bits) - 1) if bits else OCTETS,
        where=where,
    )


def is_local(unit: Unit) -> bool:
    """Whether all that is derived of bytes in a unit is of the bytes of its objects themselves."""
    assert unit.streamed is not None
    fields = {each.name for each in unit.fields}
    read = {each.name for each in unit.streamed.instances if each.step is not None}
    return not any(
        isinstance(part, (MemberOf, Around, StreamOf))
        or (isinstance(part, Computed) and (part.of is not None or part.first not in fields))
        or (isinstance(part, FieldOf) and part.name in read)
        for each in unit.streamed.calculated
        for value in (each.value, each.when)
        if value is not None
        for part in values_in(value)
    )


# -- what follows from what -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Follows:
    """The members of all units that a size, a count, a position or a condition can change."""

    program: Program
    found: set[_Key]
    holders: dict[str, list[tuple[Unit, Nested]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for unit in self.program.units.values():
            for part in values_of(unit):
                if isinstance(part, Nested) and part.told:
                    self.holders.setdefault(part.unit, []).append((unit, part))

    def owners(self, unit: Unit, value: Value) -> Iterator[_Key]:
        """The members that a target is, by unit."""
        if isinstance(value, (Required, Cast, ElementOf)):
            yield from self.owners(unit, value.of)
        elif isinstance(value, FieldOf):
            yield unit.name, value.name
        elif isinstance(value, MemberOf):
            for name in _units_of(value.of.type):
                yield name, value.name

    def solutions(self, key: _Key) -> Iterator[tuple[Unit, Solution]]:
        """What a value instance or a parameter is computed of in turn; nothing of a field."""
        name, member = key
        unit = self.program.units.get(name)
        if unit is None:
            return
        for instance in _instances(unit):
            if instance.name == member and instance.value is not None:
                yield from ((unit, each) for each in instance.solved)
        for index, parameter in enumerate(unit.parameters):
            if parameter.name == member:
                for other, part in self.holders.get(name, ()):
                    yield from ((other, each) for each in part.told[index])

    def fields(self, unit: Unit, solution: Solution, seen: frozenset[_Key] = frozenset()) -> set[_Key]:
        """The fields that a solution changes in the end."""
        found: set[_Key] = set()
        for other in solution.also:
            found |= self.fields(unit, other, seen)
        for key in self.owners(unit, solution.target):
            if key in seen:
                continue
            inner = list(self.solutions(key))
            if not inner and self._is_field(key):
                found.add(key)
            for owner, each in inner:
                found |= self.fields(owner, each, seen | {key})
        return found

    def _is_field(self, key: _Key) -> bool:
        unit = self.program.units.get(key[0])
        if unit is None:
            return False
        if unit.streamed is None:
            return key[1] in _plain_numbers(unit)
        read = [each.name for each in _instances(unit) if each.step is not None]
        return key[1] in read or any(each.name == key[1] for each in unit.fields)

    def follow(self, unit: Unit, solution: Solution) -> None:
        """Note the members that a solution goes through."""
        for other in solution.also:
            self.follow(unit, other)
        for key in self.owners(unit, solution.target):
            if key not in self.found:
                self.found.add(key)
                for owner, each in self.solutions(key):
                    self.follow(owner, each)


def _instances(unit: Unit) -> tuple[InstancePlan, ...]:
    return () if unit.streamed is None else unit.streamed.instances


def _determined(unit: Unit) -> Iterator[str]:
    """The fields that a derivation determines."""
    if unit.streamed is not None:
        yield from (each.name for each in unit.streamed.calculated if not each.into)
    yield from (each.name for each in (*unit.derived, *unit.ranges))


def _plain_numbers(unit: Unit) -> Iterator[str]:
    """The numbers of objects of a layout that are always there, and that nothing determines."""
    known = {unit.version_name, *_determined(unit)}
    for each in unit.fields if unit.stands_for is None else ():
        absent = isinstance(each.default, Constant) and each.default.value is None
        number = bare(each.type) == FLAG or is_number(bare(each.type))
        if each.kept and number and not absent and each.name not in known:
            yield each.name


def _units_of(kind: Type) -> list[str]:
    kind = bare(kind)
    types = kind.types if isinstance(kind, OneOf) else (kind,)
    return [each.unit for each in types if isinstance(each, ObjectOf)]


def _asked(unit: Unit) -> Iterator[tuple[Solution, ...]]:
    """The solutions of each size, count, position, condition and choice of a unit."""
    for part in values_of(unit):
        if isinstance(part, (Bounds, Choice, Size, When)) or (
            isinstance(part, InstancePlan) and part.step is not None
        ):
            yield part.solved


def followed(program: Program) -> Program:
    """The program in which each size knows the field that it follows from, and units the fields that follow.

    Where a size could follow from several fields, those that something else determines alone are not among
    them: of `total - 4 * words`, where `words` is the size of something else, it is `total`.
    """
    search = _Follows(program, set())
    calculated = {(unit.name, name) for unit in program.units.values() for name in _determined(unit)}
    alone = set(calculated)
    for unit in program.units.values():
        for solved in _asked(unit):
            fields = [search.fields(unit, each) for each in solved]
            if len(fields) == 1 and len(fields[0]) == len(solved[0].also) + 1:
                alone |= fields[0]

    def chosen(unit: Unit, solved: tuple[Solution, ...]) -> tuple[Solution, ...]:
        streams = [each for each in solved if isinstance(each.target, StreamAsked)]
        kept = [each for each in solved if search.fields(unit, each)]
        free = [each for each in kept if search.fields(unit, each) - alone]
        return (*streams, *(free if free and len(kept) > 1 else kept))

    def shortened(unit: Unit) -> Callable[[Any], Any]:
        def change(part: Any) -> Any:
            sought = isinstance(part, InstancePlan) and part.step is None
            if isinstance(part, (Bounds, Choice, Size, When, InstancePlan)) and part.solved and not sought:
                return replace(part, solved=chosen(unit, part.solved))
            return part

        return change

    units = {name: _changed(unit, shortened(unit)) for name, unit in program.units.items()}
    search = _Follows(Program(units), set())
    for unit in units.values():
        for each in unit.streamed.calculated if unit.streamed is not None else ():
            for name in _units_of(unit.field(each.name).type) if each.into else ():
                target = MemberOf(FieldOf(each.name, unit.field(each.name).type), each.into, ObjectOf(name))
                search.follow(unit, Solution(target, target))
    for unit in units.values():
        for solved in _asked(unit):
            for each in solved:
                search.follow(unit, each)

    def pruned(unit: Unit) -> Callable[[Any], Any]:
        def change(part: Any) -> Any:
            if isinstance(part, InstancePlan) and part.step is None:
                return part if (unit.name, part.name) in search.found else replace(part, solved=())
            if isinstance(part, Nested):
                names = [each.name for each in units[part.unit].parameters] if part.unit in units else []
                told = tuple(
                    each if (part.unit, name) in search.found else ()
                    for name, each in zip(names, part.told, strict=False)
                )
                return replace(part, told=told if any(told) else ())
            return part

        return change

    found = {name: _changed(unit, pruned(unit)) for name, unit in units.items()}
    # a layout computes what is derived before it writes
    late = {key for key in calculated if units[key[0]].streamed is not None}
    return Program({name: _with_follows(unit, search.found | late) for name, unit in found.items()})


def _with_follows(unit: Unit, found: set[_Key]) -> Unit:
    return replace(unit, follows=tuple(each.name for each in unit.fields if (unit.name, each.name) in found))


# -- what is in a field before it is computed -----------------------------------------------------------


def blank_of(unit: Unit, spec: FieldPlan) -> object:
    """What a writer puts into a field that is not computed yet; or how that groups a number."""
    for instance in _instances(unit):
        for value in (each.value for each in instance.solved):
            if isinstance(value, Grouped) and value.list == spec.name:
                return value
    kind = bare(spec.type)
    if isinstance(kind, ListOf):
        return []
    blanks: dict[Type, Any] = {FLAG: False, TEXT: "0", OCTETS: b"\0"}
    blank = blanks.get(kind, 0)
    size = next(filter(None, map(_stored_size, _elements(unit, spec.name))), None)
    return blank if size is None or not isinstance(blank, (str, bytes)) else blank * size


def _elements(unit: Unit, name: str) -> Iterator[Element]:
    """The element of a field that is read by itself."""
    for step in steps_in(unit.steps):
        if isinstance(step, (One, Many)) and step.name == name:
            yield step.element


def _stored_size(element: Element) -> int | None:
    """The number of bytes stored for text or bytes, if it is fixed."""
    bounds = getattr(element, "bounds", None)
    kind = None if bounds is None or bounds.size is None else bounds.size.type
    return kind.low if isinstance(kind, Whole) and kind.low == kind.high else None


def _changed(part: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of a part of the plan in which `change` was made to all that it is made of."""
    if isinstance(part, tuple):
        made = tuple(_changed(each, change) for each in part)
        return part if all(one is two for one, two in zip(part, made, strict=True)) else made
    names = fields_of(type(part))
    if names is None:
        return part
    # values hold no steps
    given = {name: getattr(part, name) for name in names}
    new = {name: _changed(each, change) for name, each in given.items()}
    if any(new[name] is not given[name] for name in given):
        part = replace(part, **new)
    return change(part)
