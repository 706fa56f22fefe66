"""Values for a type's fields: small, ordinary and extreme ones, always the same.

A sample is made along the steps of the plan, in their order: a size or a case that follows from earlier
values is computed, and values that a writer derives are left to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice, product
from math import inf, nan
from typing import Any
from uuid import UUID

from kodec.generator.code.objects import Defaults, Object
from kodec.generator.code.values import Evaluator, Fields
from kodec.generator.plan.steps import (
    Chars,
    Choice,
    Element,
    Fixed,
    Many,
    Nested,
    Octets,
    One,
    Parameter,
    Program,
    Require,
    Rule,
    SetNull,
    Size,
    Slot,
    Step,
    Stored,
    Tagged,
    Unit,
    When,
    steps_in,
    values_of,
)
from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OCTETS,
    TEXT,
    Constant,
    EnumOf,
    FieldOf,
    ListOf,
    Maybe,
    MemberOf,
    Peeked,
    Real,
    Type,
    Value,
    Whole,
    scalar,
    text_of,
    values_in,
)
from kodec.generator.schema.model import Model
from kodec.generator.wire import ENCODINGS

__all__ = ["NAMES", "NoSample", "Samples", "arguments_of"]

NAMES = ("smallest values", "small values", "ordinary values", "large values")
"""What is tried of each type, in this order."""
MOST = 1 << 14
"""Values of one sample and their bytes, in all: types whose values need more have no vectors."""
_OCTETS = (b"", b"\x00", b"value", bytes(range(200)))
_TEXTS = ("", "a", "kodec", 'key with "quotes" and \\')
_WIDE_TEXTS = ("", "a", "caf\u00e9 \u2014 \u65e5\u672c", "\U0001f600")
_FLOATS = (0.0, 1.5, -2.25, 65536.125)
_UUIDS = (UUID(int=0), UUID(int=0x0123456789ABCDEF0123456789ABCDEF), UUID(int=1), UUID(int=(1 << 128) - 1))
_MOST_ARGUMENTS = 6
_MOST_CHOICES = 16
_LONG = 130
"""Elements, bytes and letters whose number takes two bytes of a varint."""


class NoSample(Exception):
    """The values of the type depend on each other in an unsupported way, which the text describes."""


class Samples:
    """Values as returned by `Machine` and accepted by `Writer`."""

    def __init__(self, model: Model, program: Program) -> None:
        self._model = model
        self._program = program
        self._values = Evaluator()
        self._left = MOST

    def sample(
        self,
        unit: Unit,
        number: int,
        version: int | None,
        told: tuple[Any, ...],
        given: dict[str, Any] | None = None,
        codec: str = "none",
    ) -> Any:
        """Sample `number` of `NAMES` of a unit with these values of its parameters, with the values of
        the fields in `given`. Raises NoSample.
        """
        self._left = MOST
        return _Maker(self, unit, number, told, version, given or {}, codec).make()

    def edges(self, unit: Unit, version: int | None, told: tuple[Any, ...]) -> Iterator[tuple[str, str, Any]]:
        """(field, kind of edge, value) of the values at the edges of each field of the unit."""
        maker = _Maker(self, unit, 1, told, version, {}, "none")
        derived = {each.name for each in (*unit.derived, *unit.ranges)}
        for name, kind, rules, element in _fields_of(maker.present()):
            if name in derived or name == unit.version_name:
                continue
            for what, value in self._edges(kind, element):
                if maker.allows(rules, value):
                    yield name, what, value
        for step in maker.present():
            if isinstance(step, Many) and (step.count is None or step.count.implied) and step.until is None:
                yield step.name, f"{_LONG} elements", [maker.item(step, 1)] * _LONG

    def choices(
        self, unit: Unit, version: int | None, told: tuple[Any, ...]
    ) -> Iterator[tuple[str, str, Any]]:
        """(field, value, sample) for every value of each field that decides which others there are.

        In a sample each field of the unit that is there holds something other than its default, if it can.
        """
        maker = _Maker(self, unit, 1, told, version, {}, "none")
        derived = {each.name for each in (*unit.derived, *unit.ranges)} | {unit.version_name}
        asked = {
            text_of(part)
            for step in steps_in(unit.steps)
            if isinstance(step, When) and not unit.is_of_version(step.test)
            for part in values_in(step.test)
            if isinstance(part, (FieldOf, MemberOf))
        }
        for path, kind, rules in maker.numbers():
            if path not in asked or path in derived:
                continue
            for value in self._values_of(maker, kind, rules, unit):
                try:
                    yield path, str(value).lower(), self._set(unit, version, told, {path: value})
                except NoSample:
                    continue

    def _set(self, unit: Unit, version: int | None, told: tuple[Any, ...], given: dict[str, Any]) -> Any:
        """A sample in which each field holds something other than its default, if it can."""
        self._left = MOST
        maker = _Maker(self, unit, 1, told, version, given, "none")
        maker.make()
        for name, kind, rules, element in _fields_of(unit.steps):
            spec = unit.field(name)
            if name in given or name in maker.derived or spec.default is None:
                continue
            if maker.frame.values[name] != spec.default.value:
                continue
            values = (value for _, value in self._edges(kind, element) if value != spec.default.value)
            other = next((value for value in values if maker.allows(rules, value)), None)
            if other is not None:
                given = {**given, name: other}
        return self.sample(unit, 1, version, told, given)

    def _values_of(self, maker: _Maker, kind: Type, rules: tuple[Rule, ...], unit: Unit) -> Iterator[Any]:
        """The values of a number that decides something: all that it may be, or those near what is asked."""
        tried: Iterable[Any] = ()
        match scalar(kind):
            case EnumOf(enum):
                tried = [each.value for each in self._model.enum(enum).items]
            case Whole(low, high):
                ruled = _wanted(rules)
                tests = [step.test for step in steps_in(unit.steps) if isinstance(step, When)]
                named = [each.value for each in values_of(tests) if isinstance(each, Constant)]
                first = min(ruled, default=low)
                tried = range(first, first + _MOST_CHOICES) if ruled else ()
                near = [each + by for each in named if type(each) is int for by in (-1, 0, 1)]
                tried = sorted({each for each in (*tried, *near) if low <= each <= high})
            case found if found == FLAG:
                tried = (False, True)
        yield from islice((each for each in tried if maker.allows(rules, each)), _MOST_CHOICES)

    def _edges(self, kind: Type, element: Element | None) -> Iterator[tuple[str, Any]]:
        size = getattr(element, "size", None)
        free = not isinstance(size, Size) or size.implied
        match kind:
            case Maybe(of):
                yield "null", None
                yield from self._edges(of, element)
            case EnumOf(enum):
                for each in self._model.enum(enum).items:
                    yield each.id, each.value
            case Whole(low, high):
                yield "least", low
                yield "largest", high
            case Real():
                yield from (("infinite", inf), ("below all numbers", -inf), ("not a number", nan))
                yield "negative zero", -0.0
            case ListOf():
                yield "empty", []
            case _ if kind == FLAG:
                yield from (("false", False), ("true", True))
            case _ if kind == TEXT and free:
                yield "empty", ""
                yield f"{_LONG} letters", "x" * _LONG
                if not isinstance(element, Chars) or ENCODINGS[element.encoding].name.startswith("UTF"):
                    yield "letters of 2, 3 and 4 bytes", _WIDE_TEXTS[2] + _WIDE_TEXTS[3]
            case _ if kind == OCTETS and free:
                yield "empty", b""
                yield f"{_LONG} bytes", bytes(_LONG)
            case _ if kind == IDENTITY:
                yield "all bits", _UUIDS[3]

    def spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise NoSample(f"a value takes more than {MOST} bytes")

    def inner(self, unit: Unit, number: int, told: tuple[Any, ...]) -> Any:
        """A sample of a unit inside another one."""
        version = None
        if unit.versions and unit.version is not None:
            version = unit.versions.last
        return _Maker(self, unit, number, told, version, {}, "none").make()


def arguments_of(parameters: Iterable[Parameter]) -> Iterator[dict[str, Any]]:
    """Arguments for parameters, by name: a few; none if one is for an object, a list or a stream."""
    choices = {each.name: _arguments(each.type) for each in parameters}
    for values in islice(product(*choices.values()), _MOST_ARGUMENTS):
        yield dict(zip(choices, values, strict=True))


def _arguments(kind: Type) -> tuple[Any, ...]:
    match scalar(kind):
        case Whole(low, high):
            return tuple(each for each in (1, 2, 0, 4) if low <= each <= high)
        case Real():
            return (1.0, 0.5)
        case found if found == FLAG:
            return (True, False)
        case found if found == TEXT:
            return ("a", "")
        case found if found == OCTETS:
            return (b"\1", b"")
    return ()


class _Maker:
    """One unit of a sample."""

    def __init__(
        self,
        samples: Samples,
        unit: Unit,
        number: int,
        told: tuple[Any, ...],
        version: int | None,
        given: dict[str, Any],
        codec: str,
    ) -> None:
        self._samples = samples
        self._program = samples._program
        self._values = samples._values
        self.unit = unit
        self.number = number
        self.given = given
        self.codec = codec
        self.derived = {each.name: each for each in unit.derived}
        values = dict(zip((each.name for each in unit.parameters), told, strict=True))
        if version is not None and unit.version is not None:
            values[unit.version_name] = version
        self.frame = Fields(unit, Defaults(self._program, unit, values))

    # -- what there is ----------------------------------------------------------------------------

    def value(self, value: Value, item: Any = None) -> Any:
        """The value of an expression of the existing fields. Raises NoSample."""
        try:
            return self._values.value(value, self.frame, item)
        except (KeyError, TypeError, AssertionError, ValueError, ZeroDivisionError):
            raise NoSample(f"`{self.unit.name}` has values that follow from others") from None

    def allows(self, rules: Iterable[Rule], value: Any) -> bool:
        """Whether all rules hold for a value, as far as known."""
        for rule in rules:
            try:
                if not self.value(rule.test, value):
                    return False
            except NoSample:
                continue
        return True

    def present(self) -> Iterator[Step]:
        """The steps that the version has."""
        return self._present(self.unit.steps)

    def _present(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            if not isinstance(step, When):
                yield step
            elif not self.unit.is_of_version(step.test) or self.value(step.test):
                yield from self._present(step.steps)

    # -- making -----------------------------------------------------------------------------------

    def numbers(self) -> Iterator[tuple[str, Type, tuple[Rule, ...]]]:
        """(path, type, rules) of each field that the unit has by itself, or in a part of fixed width."""
        for step in steps_in(self.unit.steps):
            if isinstance(step, Fixed):
                yield from ((slot.shown, slot.type, slot.rules) for slot in step.slots)
            elif isinstance(step, One):
                yield step.name, step.type, step.rules

    def make(self) -> Any:
        unit, values = self.unit, self.frame.values
        if unit.least > MOST:  # not only after all that fits was made
            self._samples.spend(unit.least)
        self._samples.spend(1)
        self._never_null = {
            each.name for each in self.present() if isinstance(each, Require) and each.rule.need == "a value"
        }
        if unit.peeks:
            parts = [each for each in values_of(unit.steps) if isinstance(each, (Chars, Many, Octets))]
            sizes = [each.count if isinstance(each, Many) else each.size for each in parts]
            if any(isinstance(each, Peeked) for each in values_of(sizes)):
                raise NoSample("a size follows from the bytes that it is the size of")
            # which case it is says the number, and the value itself what was peeked
            values |= {each.name: 0 for each in unit.peeks}
        self._steps(unit.steps)
        for name, derived in self.derived.items():
            # an implied one is computed, whatever the object has
            zero = unit.field(name).default
            values[name] = None if zero is None else zero.value
            if derived.given and derived.when is not None and not self.value(derived.when):
                spec = unit.field(name)
                kind = spec.type.of if isinstance(spec.type, Maybe) else spec.type
                assert isinstance(kind, Whole)
                values[name] = self._whole(kind, (), self.number)
        if unit.stands_for is not None:
            return values[unit.stands_for]
        return Object((each.name, values[each.name]) for each in unit.fields if each.kept)

    def _is_null(self, name: str) -> bool:
        if name in self.given:
            return self.given[name] is None
        spec = self.unit.field(name)
        may = isinstance(spec.type, Maybe) and name not in self._never_null
        return may and self.number == 0

    def _derive(self, name: str) -> int:
        """A number that selects a branch: that of null if it represents null, otherwise any."""
        derived = self.derived[name]
        if derived.null is not None and self._is_null(derived.of):
            return derived.null
        return 1 if derived.null != 1 else 2

    def _steps(self, steps: tuple[Step, ...]) -> None:
        values = self.frame.values
        for step in steps:
            match step:
                case When(test, inner):
                    if self._holds(test):
                        self._steps(inner)
                case SetNull(name):
                    values[name] = None
                case Fixed():
                    self._fixed(step)
                case One(name) if name in self.derived:
                    values[name] = self._derive(name)
                case One(name) | Many(name) if name in self.given:
                    values[name] = self.given[name]
                case One(name, kind, element, rules):
                    values[name] = self._ruled(element, kind, rules, self.number)
                case Many():
                    values[step.name] = self._many(step)
                case Tagged():
                    self._tagged(step)
                case Stored(name):
                    values[name] = self._stored(name)

    def _holds(self, test: Value) -> bool:
        try:
            return bool(self.value(test))
        except NoSample:
            return False

    def _fixed(self, step: Fixed) -> None:
        members: defaultdict[tuple[str, ...], dict[str, Any]] = defaultdict(dict)
        for slot in step.slots:
            members[slot.path[:-1]][slot.path[-1]] = self._slot(slot)
        for path, unit in step.objects:
            kept = {each.name for each in self._program.units[unit].fields if each.kept}
            made = Object((name, value) for name, value in members[path].items() if name in kept)
            members[path[:-1]][path[-1]] = made
        self.frame.values |= members[()]

    def _slot(self, slot: Slot) -> Any:
        name = slot.path[-1]
        packed = self.unit.packed
        if packed is not None and ".".join(slot.path) == packed.by_path:
            return next((number for number, codec in packed.codecs if codec == self.codec), 0)
        if len(slot.path) == 1:
            if name in self.derived:
                return self._derive(name)
            if name == self.unit.version_name:
                return self.frame.values[name]
        if slot.shown in self.given:
            return self.given[slot.shown]
        if slot.contents is not None:
            return slot.contents
        if slot.type == OCTETS:
            return self._pattern(slot.size, self.number)
        return self._simple(slot.type, slot.rules, self.number)

    def _many(self, step: Many) -> list[Any]:
        if step.until is not None:
            return self._until(step, step.until)
        count = self.number
        if step.count is not None and not step.count.implied:
            count = self.value(step.count.value)
        if not count >= 0:
            raise NoSample(f"`{step.name}` would have {count} elements")
        self._samples.spend(count)
        return [self.item(step, self.number + index) for index in range(count)]

    def item(self, step: Many, number: int) -> Any:
        item = step.type.of if isinstance(step.type, Maybe) else step.type
        assert isinstance(item, ListOf)
        return self._ruled(step.element, item.item, step.rules, number % len(NAMES))

    def _until(self, step: Many, until: Value) -> list[Any]:
        """Elements up to the first one that ends the list."""
        found: list[Any] = []
        self.frame.values[step.name] = found
        for index in range(2 * len(NAMES)):
            found.append(self.item(step, self.number + index))
            if self.value(until, found[-1]):
                return found
        raise NoSample(f"`{step.name}` ends at a value of its own")

    def _tagged(self, step: Tagged) -> None:
        values = self.frame.values
        version: Any = values.get(self.unit.version_name)
        for tag in step.tags:
            if tag.versions is not None and version not in tag.versions:
                continue
            if tag.name in self.given:
                values[tag.name] = self.given[tag.name]
            elif self.number:
                values[tag.name] = self._ruled(tag.element, tag.type, tag.rules, self.number)
        most = max((tag.number for tag in step.tags), default=-1)
        values[step.name] = [(most + 1, b"more")] if self.number == 2 else []

    def _stored(self, name: str) -> Any:
        packed = self.unit.packed
        assert packed is not None
        if packed.parsed or self.codec != "none":
            # of none, there is no last and no largest one
            return self._samples.inner(self._program.units[packed.unit], max(self.number, 1), ())
        return None if self._is_null(name) else self._octets(None, self.number)

    # -- elements ---------------------------------------------------------------------------------

    def _ruled(self, element: Element, kind: Type, rules: tuple[Rule, ...], number: int) -> Any:
        """A value of which all rules hold: that of the number, or of another one."""
        for each in dict.fromkeys((number, *range(1, len(NAMES)), 0)):
            found = self._element(element, kind, rules, each)
            if self.allows(rules, found):
                return found
        raise NoSample("no value is found of which all rules hold")

    def _element(self, element: Element, kind: Type, rules: tuple[Rule, ...], number: int) -> Any:
        match element:
            case Octets(size):
                return self._octets(size, number)
            case Chars(size, encoding):
                return self._text(size, encoding, number)
            case Nested(unit, arguments):
                told = tuple(self.value(each) for each in arguments)
                return self._samples.inner(self._program.units[unit], number, told)
            case Choice():
                return self._chosen(element, rules, number)
        return self._simple(kind, rules, number)

    def _chosen(self, choice: Choice, rules: tuple[Rule, ...], number: int) -> Any:
        cases = [each for each in (*choice.cases, choice.other) if each is not None]
        if choice.peeked:
            case = cases[number % len(cases)]
        else:
            on = self.value(choice.on)
            found = [each for each in choice.cases if self._values.is_case(each, on, self.frame)]
            if not found and choice.other is None:
                return self._octets(choice.size, number) if choice.size or choice.fills else None
            case = found[0] if found else cases[-1]
        return self._element(case.element, case.type, rules, number)

    def _octets(self, size: Size | None, number: int) -> bytes:
        if size is None or size.implied:
            return _OCTETS[number]
        return self._pattern(self.value(size.value), number)

    def _pattern(self, size: int, number: int) -> bytes:
        if size < 0:
            raise NoSample(f"`{self.unit.name}` has sizes that are negative")
        self._samples.spend(size)
        return bytes((number * 50 + index) % 256 for index in range(size))

    def _text(self, size: Size | None, encoding: str, number: int) -> str:
        form = ENCODINGS[encoding]
        if size is None or size.implied:
            return (_WIDE_TEXTS if form.name.startswith("UTF") else _TEXTS)[number]
        count = self.value(size.value)
        self._samples.spend(max(count, 0))
        return "x" * int(count // form.unit)

    def _simple(self, kind: Type, rules: tuple[Rule, ...], number: int) -> Any:
        match kind:
            case Maybe(of):
                return None if number == 0 else self._simple(of, rules, number)
            case EnumOf(enum):
                known = [each.value for each in self._samples._model.enum(enum).items]
                return self._first(rules, (*known[number % len(known) :], *known))
            case Whole():
                return self._whole(kind, rules, number)
            case Real():
                return self._first(rules, (_FLOATS[number], *_wanted(rules), *_FLOATS))
        if kind == FLAG:
            return self._first(rules, (number % 2 == 1, number % 2 == 0))
        return _UUIDS[number]

    def _whole(self, kind: Whole, rules: tuple[Rule, ...], number: int) -> int:
        # not the very largest: sums of such would not fit their fields
        chosen = (kind.low if kind.low >= 0 else max(kind.low, -1), 1, 1000, kind.high // 2)[number]
        near = [each + more for each in _wanted(rules) for more in (0, 1, -1)]
        wanted = near[number % len(near) :] if near else []
        tried = (chosen, *wanted, *near, 0, kind.high, kind.low)
        return int(self._first(rules, [each for each in tried if kind.low <= each <= kind.high]))

    def _first(self, rules: tuple[Rule, ...], tried: Iterable[Any]) -> Any:
        found = next((each for each in tried if self.allows(rules, each)), None)
        if found is None:
            raise NoSample("no value is found of which all rules hold")
        return found


def _wanted(rules: tuple[Rule, ...]) -> list[Any]:
    """The numbers that rules speak of."""
    found = (each.value for rule in rules for each in values_of(rule.test) if isinstance(each, Constant))
    return [each for each in found if isinstance(each, (int, float)) and not isinstance(each, bool)]


def _fields_of(steps: Iterable[Step]) -> Iterator[tuple[str, Type, tuple[Rule, ...], Element | None]]:
    """(name, type, rules, element) of the fields that steps read."""
    for step in steps_in(steps):
        match step:
            case Fixed(slots):
                for slot in slots:
                    if len(slot.path) == 1 and slot.contents is None and slot.type != OCTETS:
                        yield slot.path[0], slot.type, slot.rules, None
            case One(name, kind, element, rules):
                yield name, kind, rules, element
            case Many(name, kind):
                if step.until is None and (step.count is None or step.count.implied):
                    yield name, kind, (), step.element
            case Tagged(tags=tags):
                for tag in tags:
                    yield tag.name, tag.type, tag.rules, tag.element
