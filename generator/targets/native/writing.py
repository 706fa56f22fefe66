"""How a kernel writes: from columns to the bytes of rows, and from a head's numbers to a unit.

For each row the values of all its fields are known first, then the sizes from the innermost part outwards,
then the bytes are written from front to back; checksums and lengths of ranges are put in at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from kodec.generator.plan.rows import Elements, NoRows, Part, RowNumber, RowStep, Span, steps_within
from kodec.generator.plan.steps import (
    CheckLength,
    Checksum,
    Derived,
    Fixed,
    FixedNumber,
    Mark,
    Rule,
    Slot,
    When,
)
from kodec.generator.plan.values import Constant
from kodec.generator.reserved import Taken
from kodec.generator.targets.native.expressions import Expressions, literal
from kodec.generator.targets.native.places import kind_of
from kodec.generator.targets.native.steps import (
    Line,
    Loop,
    Patch,
    PutBytes,
    PutChoice,
    PutMark,
    PutPlan,
    PutStep,
    PutVarint,
    Store,
)
from kodec.generator.wire import WIRE

if TYPE_CHECKING:
    from kodec.generator.targets.native.kernel import PlannedKernel

__all__ = ["Writer"]

Source = Callable[[str], str]
"""From the path of a field that is not derived to the C text of its number or span."""
_C_VALUES = {"uint": "uint64_t", "float": "double", "double": "double"}


@dataclass(slots=True)
class _Made:
    """Lines that declare what is known of a value, the terms that sum up to its size, steps that write it."""

    lines: list[str] = field(default_factory=list)
    size: list[str] = field(default_factory=list)
    steps: list[PutStep] = field(default_factory=list)


class Writer:
    """Plans the writing of a row, or of a unit. Raises NoRows where a kernel cannot.

    Args:
        source: what is written.
        limit: up to where the bytes are that a span is in.
        pair: where the elements of a list start and stop.
    """

    def __init__(
        self, kernel: PlannedKernel, source: Source, limit: Source, pair: Callable[[str], tuple[str, str]]
    ) -> None:
        self._kernel = kernel
        self._source = source
        self._limit = limit
        self._pair = pair
        self._text = Expressions(self._value, bounded=False)
        self._names = Taken()
        self._places: dict[tuple[str, bool], str] = {}
        self.values: dict[str, str] = {}
        self.spans: dict[str, str] = {}
        self._sizes: dict[str, str] = {}
        self._counts: dict[str, str] = {}
        self._ranged: set[str] = set()

    def plan(self, steps: Iterable[RowStep]) -> tuple[PutPlan, list[str]]:
        """How the steps are written, and the terms of the size."""
        steps = tuple(steps)
        self._ranged = {
            each.name for each in steps_within(steps) if isinstance(each, (CheckLength, Checksum))
        }
        made = self._made(steps)
        return PutPlan(tuple(made.lines), total(made.size), tuple(made.steps)), made.size

    def _made(self, steps: tuple[RowStep, ...]) -> _Made:
        made = _Made()
        parts = [each for each in _flat(steps) if isinstance(each, (Part, Elements))]
        inner = {each.name: self._known(each, made) for each in parts}
        for each in _flat(steps):
            if not isinstance(each, (Part, Elements)):
                self._declare(each, made)
        for path, slot in _numbers(steps):
            if self._kernel.plan.fields[path].derived is not None and path not in self.values:
                self._derive(path, slot, made)
        for each in _ordered(steps):
            self._write(each, inner, made)
        return made

    # -- values -----------------------------------------------------------------------------------

    def _value(self, path: str) -> str:
        if path not in self.values:
            raise NoRows(f"`{path}` in an expression, which is not written")
        return self.values[path]

    def _local(self, kind: str, path: str) -> str:
        return self._names.claim(f"{kind}_{self._kernel.places.within(path).replace('.', '_')}")

    def _is_own_length(self, path: str) -> bool:
        derived = self._kernel.plan.fields[path].derived
        return derived is not None and derived.kind in ("length", "count", "presence")

    def _declare(self, step: RowStep, made: _Made) -> None:
        """Declare the values that follow from nothing else."""
        if isinstance(step, Span):
            self._span(step.name, step.nullable, made)
        for path, slot in _numbers((step,)):
            if kind_of(slot) == "blob":
                self._span(path, False, made)
            elif path in self._ranged:
                self.values[path] = "0"
            elif not self._is_own_length(path):
                self._declared(path, _C_VALUES.get(kind_of(slot), "int64_t"), self._source(path), made)

    def _declared(self, path: str, kind: str, value: str, made: _Made) -> None:
        name = self._local("value", path)
        made.lines.append(f"const {kind} {name} = {value};")
        self.values[path] = name

    def _span(self, path: str, nullable: bool, made: _Made) -> None:
        if nullable and not self._kernel.plan.fields[path].signed_null:
            raise NoRows(f"`{path}` is not written, as it may be absent")
        name = self._local("span", path)
        made.lines.append(f"const kd_span {name} = {self._source(path)};")
        if not nullable:
            made.lines += _check(f"{name}.data == NULL", "KD_NULL", self._kernel.field(path)).text.split("\n")
        self.spans[path] = name

    def _derive(self, path: str, slot: Slot | RowNumber, made: _Made) -> None:
        """Declare a length or a count that follows from the field that it is of."""
        derived = self._kernel.plan.fields[path].derived
        assert derived is not None
        value = self._follows(path, derived)
        if derived.plus is not None:
            value = f"kd_add({value}, {self._text.number(derived.plus)}, &wrong)"
        self._declared(path, "int64_t", value, made)

    def _follows(self, path: str, derived: Derived) -> str:
        of = derived.of
        if derived.kind == "count":
            # of content that is bytes already, whoever made it says how many
            return self._counts[of] if of in self._counts else self._source(path)
        if derived.kind != "length" or of not in {*self.spans, *self._sizes}:
            raise NoRows(f"`{path}` is of what is not there")
        if of in self._sizes:
            return f"(int64_t){self._sizes[of]}"
        value = f"(int64_t){self.spans[of]}.size"
        if not self._kernel.plan.fields[of].signed_null:
            return value
        if derived.null is None:
            raise NoRows(f"`{path}` does not say null")
        return f"({self.spans[of]}.data == NULL ? {derived.null} : {value})"

    def _known(self, step: Part | Elements, made: _Made) -> _Made:
        """Declare what is inside, and its size."""
        inside = self._made(step.steps)
        if isinstance(step, Part):
            size = self._local("size", step.name)
            made.lines += inside.lines
            made.lines += f"const size_t {size} KD_UNUSED = {total(inside.size)};".split("\n")
            self._sizes[step.name] = size
            return inside
        first, stop = self._pair(step.name)
        count, size = self._local("count", step.name), self._local("size", step.name)
        made.lines += [
            f"const int64_t {count} = (int64_t){stop} - {first};",
            f"size_t {size} = 0;",
            f"for (int32_t item = {first}; item < {stop}; item++) {{",
            *(f"  {line}" for line in inside.lines),
            *f"  {size} += {total(inside.size)};".split("\n"),
            "}",
        ]
        self._counts[step.name], self._sizes[step.name] = count, size
        return _Made([], [], [Loop(first, stop, tuple(inside.lines), tuple(inside.steps))])

    # -- bytes ------------------------------------------------------------------------------------

    def _write(self, step: RowStep, inner: dict[str, _Made], made: _Made) -> None:
        match step:
            case Fixed(size=size):
                for group in step.groups:
                    made.steps += self._group(group)
                made.size.append(str(size))
            case RowNumber():
                self._number(step, made)
            case Span(name):
                made.steps.append(PutBytes(self.spans[name], self._limit(name)))
                made.size.append(f"{self.spans[name]}.size")
            case Part(name) | Elements(name):
                made.steps += inner[name].steps
                made.size.append(self._sizes[name])
            case When(test, steps):
                inside = _Made()
                for each in steps:
                    self._write(each, inner, inside)  # type: ignore[arg-type]  # steps of rows
                if all(isinstance(each, Mark) or getattr(each, "nullable", False) for each in steps):
                    # null is written as nothing
                    made.steps += inside.steps
                    made.size += inside.size
                else:
                    text = self._text.test(test)
                    made.steps += [each for each in inside.steps if isinstance(each, PutMark)]
                    there = tuple(each for each in inside.steps if not isinstance(each, PutMark))
                    made.steps.append(PutChoice(text, there))
                    made.size.append(f"({text} ? {total(inside.size)} : 0)")
            case Mark(name, offset, end):
                made.steps.append(PutMark(self._place(name, end), offset))
            case CheckLength(name, first, last, plus):
                extra = literal(0) if plus is None else self._text.number(plus)
                made.steps.append(self._patch(name, first, last, None, extra))
            case Checksum(name, function, first, last):
                made.steps.append(self._patch(name, first, last, f"kd_{function}", ""))

    def _place(self, path: str, end: bool) -> str:
        key = path, end
        if key not in self._places:
            self._places[key] = self._local("end_of" if end else "start_of", path)
        return self._places[key]

    def _group(self, slots: list[Slot]) -> Iterator[PutStep]:
        first = slots[0]
        path = ".".join(first.path)
        if first.bits is not None:
            parts = []
            for slot in slots:
                assert slot.bits is not None
                path = ".".join(slot.path)
                value, (shift, width) = self._value(path), slot.bits
                yield _check(f"(uint64_t){value} >> {width}", "KD_OVERFLOW", self._kernel.field(path))
                yield from self._rules(slot.rules, path)
                parts.append(f"(uint64_t){value}" + (f" << {shift}" if shift else ""))
            yield Store(first.size, "be", "\n    | ".join(parts), "", None, "FIELD_NONE")
        elif first.wire is None:
            span = self.spans[path]
            yield _check(f"{span}.size != {first.size}", "KD_LENGTH", self._kernel.field(path))
            yield PutBytes(span, self._limit(path))
        else:
            yield from self._rules(first.rules, path)
            yield self._store(first.wire, first.order, path)

    def _number(self, step: RowNumber, made: _Made) -> None:
        made.steps += self._rules(step.rules, step.name)
        if isinstance(step.element, FixedNumber):
            made.steps.append(self._store(step.element.wire, step.element.order, step.name))
            made.size.append(str(WIRE[step.element.wire].least))
            return
        form, value = WIRE[step.element.wire], self._value(step.name)
        raw = f"kd_zigzag({value})" if form.zigzag else f"(uint64_t)(uint32_t){value}"
        fits = None if form.c is None else form.c.fits
        made.steps.append(PutVarint(raw, value, fits, self._kernel.field(step.name)))
        made.size.append(f"kd_size_uvarint({raw})")

    def _rules(self, rules: tuple[Rule, ...], path: str) -> list[PutStep]:
        """The steps that refuse a value which the schema does not allow."""
        if not rules or path in self._ranged:
            return []
        test = self._text.rules(rules, self._value(path))
        return [_check(f"!({test}) || wrong", "KD_VALUE", self._kernel.field(path))]

    def _store(self, wire: str, order: str, path: str) -> Store:
        form, value = WIRE[wire].c, self._value(path)
        if form is None:
            raise NoRows(f"`{path}` is of a type that is not written")
        real = form.kind in ("float", "double")
        raw = f"kd_bits_of_{form.kind}(({form.kind}){value})" if real else f"(uint64_t){value}"
        fits = None if path in self._ranged else form.fits
        return Store(WIRE[wire].least, order or "be", raw, value, fits, self._kernel.field(path))

    def _patch(self, path: str, first: str, last: str | None, checksum: str | None, plus: str) -> Patch:
        wire, order = self._kernel.fixed(path)
        size = WIRE[wire].least
        low, _ = WIRE[wire].range or (0, 0)
        return Patch(
            place=self._place(path, end=False),
            start=self._place(first, end=False),
            end="p" if last is None else self._place(last, end=True),
            size=size,
            order=order or "be",
            checksum=checksum,
            most=f"{'' if low < 0 or size == 8 else 'U'}INT{8 * size}_MAX",
            plus=plus,
            field=self._kernel.field(path),
        )


def _flat(steps: Iterable[RowStep]) -> Iterator[RowStep]:
    """The steps with those under conditions, but not those of parts."""
    for step in steps:
        if isinstance(step, When):
            yield from _flat(step.steps)  # type: ignore[arg-type]  # steps of rows
        else:
            yield step


def _numbers(steps: Iterable[RowStep]) -> Iterator[tuple[str, Slot | RowNumber]]:
    for step in _flat(steps):
        if isinstance(step, Fixed):
            for slot in step.slots:
                yield ".".join(slot.path), slot
        elif isinstance(step, RowNumber):
            yield step.name, step


def _ordered(steps: Iterable[RowStep]) -> Iterator[RowStep]:
    """Where ranges end at one place: lengths before checksums, which may cover them."""

    def is_end(step: RowStep) -> bool:
        return isinstance(step, (CheckLength, Checksum)) or (isinstance(step, Mark) and step.end)

    for ends, group in groupby(steps, is_end):
        found = list(group)
        yield from sorted(found, key=lambda each: isinstance(each, Checksum)) if ends else found


def _check(wrong: str, status: str, index: str) -> Line:
    return Line(f"if (KD_UNLIKELY({wrong}))\n  STOP_WRITE({status}, {index});")


def total(terms: list[str]) -> str:
    """C text of a sum, its constants put together."""
    constant = sum(int(term) for term in terms if term.isdigit())
    rest = [term for term in terms if not term.isdigit()]
    terms = ([str(constant)] if constant or not rest else []) + rest
    return ("\n    + " if sum(map(len, terms)) > 80 else " + ").join(terms)


def default_of(default: Constant | None) -> str | None:
    """C text of what a number is that nobody says; None where there is none."""
    value = None if default is None else default.value
    return literal(int(value)) if isinstance(value, int | float) else None
