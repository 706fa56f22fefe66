"""Views for the generated tests: for each type, hypothesis strategies of its fields' whole ranges."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf, isfinite

from kodec.generator.plan.steps import (
    Chars,
    CheckLength,
    Checksum,
    Choice,
    Element,
    FieldPlan,
    Fixed,
    FixedNumber,
    Many,
    Nested,
    Octets,
    One,
    Rule,
    Size,
    Slot,
    Step,
    Stored,
    Tagged,
    Unit,
    When,
    steps_in,
)
from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    Binary,
    Constant,
    EnumOf,
    FieldOf,
    Item,
    ListOf,
    Maybe,
    MemberOf,
    ObjectOf,
    OneOf,
    Peeked,
    Real,
    Type,
    Value,
    Whole,
    names_in,
    values_in,
)
from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute

__all__ = ["Case", "ContractTests", "Strategy", "StrategyField", "contract_tests"]

_DERIVED_FROM = "st.integers(-(2**40), 2**40)"
# what a module of tests calls its own
_TAKEN = frozenset(
    """
    annotations Any EncodeError FEW HealthCheck MANY assume check_flips check_round_trip check_truncation
    covered_by data fields given list pytest range settings sorted st stored value version written
    """.split()  # noqa: SIM905  # words, not lines
)


@dataclass(frozen=True, slots=True)
class StrategyField:
    """A keyword of a class, a strategy of its values, and the versions that do not have it."""

    name: str
    text: str
    absent: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A function that gives a strategy of a class's objects."""

    name: str
    made: str
    fields: tuple[StrategyField, ...]
    versioned: bool
    version_field: str | None


@dataclass(frozen=True, slots=True)
class Case:
    """The tests of one class; a change of bytes from `covered` on is noticed by a checksum."""

    name: str
    made: str
    strategy: str
    versions: tuple[int, ...]
    covered: int | None
    canonical: bool


@dataclass(slots=True)
class ContractTests:
    """A module of tests."""

    schema: Schema
    package: str
    imports: dict[str, set[str]] = field(default_factory=dict)
    strategies: list[Strategy] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)


class _NoStrategy(Exception):
    """The type needs values that agree with each other in ways that this does not generate."""


_Read = Slot | One | Many | Tagged | Stored
"""How a field is read."""


def contract_tests(back: ModelIndex, schema: Schema, package: str) -> ContractTests | None:
    """The tests of a schema's types; None if it defines none."""
    view = ContractTests(schema, package)
    maker = _Maker(back, view)
    for unit in back.units(schema):
        if unit.stands_for is not None or any(each.type == FLAG for each in unit.parameters):
            continue
        try:
            maker.strategy(unit)
        except _NoStrategy:
            continue
        # a part of a message is tested with the message
        part = schema.root.message is not None and unit.name != schema.root.name
        if not unit.parameters and not part:
            view.cases.append(maker.case(unit))
    return view if view.cases else None


class _Maker:
    def __init__(self, back: ModelIndex, view: ContractTests) -> None:
        self.back = back
        self.model = back.model
        self.units = back.program.units
        self.view = view
        self._made: dict[str, str] = {}
        # of the whole ranges of fields that are added to each other, the sum would overflow its field
        self._near = {
            name
            for unit in self.units.values()
            for each in unit.derived
            if each.member and each.plus is not None
            for name in (each.member[-1], *names_in(each.plus))
        }
        # enums that say how bytes are compressed which are not parsed when they are plain, with who has them
        self._codecs = {
            (owner, name)
            for unit in self.units.values()
            if unit.packed is not None and self.units[unit.packed.unit].stands_for is None
            for owner, name in _member(unit.packed.by)
        }

    def imported(self, owner: str, name: str) -> str:
        path = self.model.schema_of(owner).module.replace("/", ".")
        module = f"{self.view.package}.{path}"
        plain = path.rpartition(".")[2]
        alias = f"{plain}_" if plain in _TAKEN else plain
        self.view.imports.setdefault(module, set()).add(alias if alias == plain else f"{plain} as {alias}")
        return f"{alias}.{name}"

    def strategy(self, unit: Unit) -> str:
        """The name of the strategy function of a type, made when it is first asked for."""
        if unit.name in self._made:
            return self._made[unit.name]
        name = self._free(f"{unit.name.replace('::', '_')}s")
        self._made[unit.name] = name
        try:
            self._build(unit, name)
        except _NoStrategy:
            del self._made[unit.name]
            raise
        return name

    def _free(self, name: str) -> str:
        """An unused name in the module: no name of a schema ends in `_`."""
        aliases = {schema.id for schema in self.model.schemas}
        taken = _TAKEN | aliases | set(self._made.values())
        while name in taken or keyword.iskeyword(name):
            name += "_"
        return name

    def _build(self, unit: Unit, name: str) -> None:
        reads = dict(_reads(unit.steps))
        there = {
            version: {each.path for each in self.back.places.of(unit.steps, {unit.version_name: version})}
            for version in unit.versions or ()
        }
        fields = []
        for spec in unit.fields:
            absent = tuple(version for version, names in there.items() if spec.name not in names)
            for key, text in self._values(unit, spec, *reads.get(spec.name, (None, ()))):
                fields.append(StrategyField(key, text, absent))
        self.view.strategies.append(
            Strategy(
                name,
                self.imported(unit.name, self.back.classes[unit.name]),
                tuple(fields),
                unit.versions is not None,
                None if unit.version is None else unit.version_name,
            )
        )

    def _values(
        self, unit: Unit, spec: FieldPlan, read: _Read | None, guards: tuple[Value, ...]
    ) -> list[tuple[str, str]]:
        """(attribute, strategy) of a field; nothing for derived or fixed fields."""
        if read is None or not spec.kept or _is_derived(unit, spec.name) or spec.name == unit.version_name:
            return []
        name = attribute(spec.name)
        signed = any(each.of == spec.name and each.null is not None for each in unit.derived)
        match read:
            case Tagged():
                return self._tagged(unit, read)
            case Stored():
                inner = self.units[unit.packed.unit if unit.packed is not None else ""]
                if inner.stands_for is None:
                    text = "st.binary(max_size=40)"
                    return [(name, f"st.none() | {text}" if signed else text)]
                element = inner.step_of(inner.stands_for)
                text = self._single(inner, element.name, _item(element.type), element.element, element.rules)
                return [(name, f"st.lists({text}, min_size=1, max_size=3)")]
        if guards and unit.versions is None and not signed:
            # there or not, as other fields say: where its default says neither, both are tried
            if all(map(unit.is_of_version, guards)) and not isinstance(read, Slot):
                self._by_chance(unit, read.element, read.count if isinstance(read, Many) else None)
            if spec.absent is None or isinstance(spec.type, Maybe):
                return []
            if spec.absent.value is not None:
                return [(name, f"st.just({spec.absent.value!r}) | {self._value(unit, read)}")]
            return [(name, f"st.none() | {self._value(unit, read)}")]
        text = self._value(unit, read)
        return [(name, f"st.none() | {text}" if signed else text)]

    def _tagged(self, unit: Unit, section: Tagged) -> list[tuple[str, str]]:
        # a tag that another version has is unknown if missing
        found = [
            (attribute(tag.name), self._single(unit, tag.name, tag.type, tag.element, ()))
            for tag in section.tags
            if tag.versions is None and not tag.rules
        ]
        most = max((tag.number for tag in section.tags), default=-1)
        pairs = f"st.tuples(st.integers({most + 1}, 2**31 - 1), st.binary(max_size=9))"
        lists = f"st.lists({pairs}, max_size=3, unique_by=lambda tag: tag[0]).map(sorted)"
        return [*found, (attribute(section.name), lists)]

    def _value(self, unit: Unit, read: Slot | One | Many) -> str:
        if isinstance(read, Slot):
            element: Element = Octets(Size(Constant(read.size, Whole(read.size, read.size)), implied=True))
            if read.wire is not None:
                element = FixedNumber(read.wire, read.order)
            return self._single(unit, read.path[-1], read.type, element, read.rules)
        if isinstance(read, One):
            return self._single(unit, read.name, read.type, read.element, read.rules)
        count = None if read.count is None else read.count.value
        if isinstance(count, Constant):
            bounds = f"min_size={count.value!r}, max_size={count.value!r}"
        elif read.until is not None or (count is not None and not _names_derived(unit, count)):
            raise _NoStrategy
        else:
            bounds = "max_size=3"
        text = self._single(unit, read.name, _item(read.type), read.element, read.rules)
        return f"st.lists({text}, {bounds})"

    def _single(self, unit: Unit, name: str, kind: Type, element: Element, rules: tuple[Rule, ...]) -> str:
        if isinstance(element, Nested):
            return self._nested(unit, element)
        kind = kind.of if isinstance(kind, Maybe) else kind
        if isinstance(kind, EnumOf):
            enum = self.imported(kind.enum, self.back.enum_class(kind.enum))
            return (
                f"st.just({enum}.NONE)"
                if (unit.name, name) in self._codecs
                else f"st.sampled_from(list({enum}))"
            )
        if name in self._near:
            return _DERIVED_FROM
        match kind:
            case Real(bits):
                low, high = _interval(rules, -inf, inf)
                if not rules:
                    return f"st.floats(width={bits})"
                if not (isfinite(low) and isfinite(high)) or any(each.need == "holds" for each in rules):
                    raise _NoStrategy
                return f"st.floats({low}, {high}, width={bits})"
            case Whole(low, high):
                return _integers(rules, low, high)
        if kind == FLAG:
            return "st.booleans()"
        if kind == IDENTITY:
            return "st.uuids()"
        match element:
            case Octets(size) | Chars(size):
                fixed = size.value if size is not None and isinstance(size.value, Constant) else None
                if size is not None and fixed is None and not _names_derived(unit, size.value):
                    raise _NoStrategy
                if isinstance(element, Octets):
                    return (
                        "st.binary(max_size=40)"
                        if fixed is None
                        else f"st.binary(min_size={fixed.value!r}, max_size={fixed.value!r})"
                    )
                if fixed is not None:
                    raise _NoStrategy
                if element.encoding.startswith("UTF"):
                    return "st.text(max_size=20)"
                return "st.text(st.characters(max_codepoint=127), max_size=20)"
            case Choice():
                self._by_chance(unit, element)
                if not unit.peeks:
                    raise _NoStrategy
                cases = (self._single(unit, name, each.type, each.element, ()) for each in element.cases)
                return " | ".join(dict.fromkeys(cases))
        raise _NoStrategy

    def _nested(self, unit: Unit, element: Nested) -> str:
        self._by_chance(unit, element)
        target = self.units[element.unit]
        if target.stands_for is None:
            name = self.strategy(target)
            return f"{name}(version)" if target.versions and target.parameters else f"{name}()"
        read, _ = dict(_reads(target.steps))[target.stands_for]
        assert isinstance(read, (Slot, One, Many))
        if isinstance(read, Many):
            text = self._single(target, read.name, _item(read.type), read.element, read.rules)
            text = f"st.lists({text}, max_size=3)"
        else:
            text = self._value(target, read)
        nullable = isinstance(target.field(target.stands_for).type, Maybe)
        return f"st.none() | {text}" if nullable else text

    def _by_chance(self, unit: Unit, element: Element, count: Size | None = None) -> None:
        """Raise _NoStrategy for a size or a count that only a few values have, which nothing derives."""
        counted = None if count is None or isinstance(count.value, Constant) else count.value
        if counted is not None and not _names_derived(unit, counted):
            raise _NoStrategy
        size: Size | None = getattr(element, "size", None)
        if size is None or _names_derived(unit, size.value):
            return
        if _names_peeked(size.value):
            return  # what is written says it
        fixed = self.back.places.size(self.units[element.unit]) if isinstance(element, Nested) else None
        constant = size.value.value if isinstance(size.value, Constant) else None
        if constant is None or not (isinstance(element, Octets) or constant == fixed):
            raise _NoStrategy

    def case(self, unit: Unit) -> Case:
        checksum = self.back.checksum(unit)
        name = unit.name.replace("::", "_")
        # `a::b_c` and `a_b::c` are two types
        while name in {each.name for each in self.view.cases}:
            name += "_"
        return Case(
            name,
            self.imported(unit.name, self.back.classes[unit.name]),
            self._made[unit.name],
            tuple(unit.versions or ()),
            None if checksum is None else max(start for _, start in checksum[1].values()),
            not self._compresses(unit, set()),
        )

    def _compresses(self, unit: Unit, seen: set[str]) -> bool:
        """Whether something inside can be compressed, so that its bytes are the library's affair."""
        if unit.name in seen:
            return False
        seen.add(unit.name)
        if unit.packed is not None and self.units[unit.packed.unit].stands_for is not None:
            return True
        return any(self._compresses(self.units[name], seen) for name in unit.holds)


def _reads(
    steps: Iterable[Step], guards: tuple[Value, ...] = ()
) -> Iterator[tuple[str, tuple[_Read, tuple[Value, ...]]]]:
    """How each field is read, by its name, and under which conditions."""
    for step in steps:
        match step:
            case When(test, inner):
                yield from _reads(inner, (*guards, test))
            case Fixed(slots, objects=objects):
                yield from ((each.path[0], (each, guards)) for each in slots if not each.path[1:])
                for path, unit in objects:
                    if not path[1:]:
                        yield path[0], (One(path[0], ObjectOf(unit), Nested(unit, ())), guards)
            case One(name) | Many(name) | Tagged(name) | Stored(name):
                yield name, (step, guards)


def _is_derived(unit: Unit, name: str) -> bool:
    ranges = (each for each in steps_in(unit.steps) if isinstance(each, (CheckLength, Checksum)))
    return unit.derivation(name) is not None or any(each.name == name for each in ranges)


def _names_derived(unit: Unit, value: Value) -> bool:
    return any(_is_derived(unit, name) for name in names_in(value))


def _names_peeked(value: Value) -> bool:
    return any(isinstance(each, Peeked) for each in values_in(value))


def _member(by: Value) -> Iterator[tuple[str, str]]:
    """(unit, field) of a field of another object."""
    match by:
        case MemberOf(FieldOf(_, ObjectOf(unit)), name):
            yield unit, name


def _item(kind: Type) -> Type:
    kind = kind.of if isinstance(kind, Maybe) else kind
    kind = next(each for each in kind.types if isinstance(each, ListOf)) if isinstance(kind, OneOf) else kind
    assert isinstance(kind, ListOf)
    return kind.item


def _integers(rules: tuple[Rule, ...], low: int, high: int) -> str:
    for rule in rules:
        values = [each.value for each in rule.wanted if isinstance(each, Constant)]
        if rule.need == "equal":
            return f"st.just({values[0]!r})"
        if rule.need == "one of":
            return f"st.sampled_from([{', '.join(map(repr, values))}])"
    least, most = _interval(rules, low, high)
    exact = {(1 << bits) - 1: f"2**{bits} - 1" for bits in (63, 64)}
    return f"st.integers({least}, {exact.get(int(most), most)})"


def _interval(rules: Iterable[Rule], low: float, high: float) -> tuple[float, float]:
    """The least and the greatest value that rules allow."""
    tests = [each.test for each in rules]
    while tests:
        match tests.pop():
            case Binary("and", left, right):
                tests += [left, right]
            case Binary(op, Item(), Constant(int() | float() as value)):
                low = max(low, {">=": value, ">": value + 1, "==": value}.get(op, low))
                high = min(high, {"<=": value, "<": value - 1, "==": value}.get(op, high))
    return low, high
