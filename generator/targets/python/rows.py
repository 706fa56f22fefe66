"""Fast readers and writers: rows of a container, and units that are rows, each in one straight loop.

A reader of rows reads no field twice and omits checks of bounds that a later check covers: each part must end
as its length states, the last one with the data, and access past the end raises. On any error it gives up,
and the full reader of the type reports the error and its place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kodec.generator.plan.rows import (
    Elements,
    NoRows,
    Part,
    RowColumn,
    RowNumber,
    RowPlan,
    RowStep,
    Span,
    solved,
    steps_within,
)
from kodec.generator.plan.steps import (
    Checksum,
    Fixed,
    FixedNumber,
    Mark,
    Nested,
    Slot,
    Varint,
    When,
)
from kodec.generator.plan.values import (
    FLAG,
    Binary,
    Constant,
    FieldOf,
    Number,
    Real,
    Type,
    Value,
    names_in,
    rebuilt,
)
from kodec.generator.reserved import Taken
from kodec.generator.targets.python.context import BIT_CODES
from kodec.generator.targets.python.expressions import BINDS, Expressions
from kodec.generator.targets.python.names import attribute, column_local
from kodec.generator.targets.python.printer import Printer
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["RowsPrinter", "rows_printer"]


def rows_printer(printer: Printer, plan: RowPlan) -> RowsPrinter | None:
    """The data for the templates about the rows of a unit; None if only the full reader supports them."""
    if plan.element is None and printer.module.back.places.size(printer.unit) is not None:
        return None  # the full reader reads types of fixed size just as fast
    try:
        return RowsPrinter(printer, plan)
    except NoRows:
        return None


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a row: attribute, type, and the value that it gets while reading."""

    name: str
    type: str
    value: str


class RowsPrinter:
    """Raises NoRows if the rows are too complex for a straight loop."""

    def __init__(self, printer: Printer, plan: RowPlan) -> None:
        if plan.element is None and plan.hidden is not None:
            raise NoRows("units that are not for users")
        self.printer = printer
        self.plan = plan
        self.function = printer.name
        self.is_inside = plan.element is not None
        self.steps = plan.head if plan.element is None else plan.element
        self._taken = Taken()
        self._locals: dict[str, str] = {}
        self._relative: dict[str, str] = {}
        self._stops: dict[str, str] = {}
        self._name(self.steps, f"{plan.content}." if self.is_inside else "")
        self._used = plan.used()
        self.hoisted: dict[str, str] = {}
        """Values that depend on the container alone, which are computed before the loop."""
        found = [each for each in plan.columns if not each.told]
        self.columns = [_Column(attribute(c.name), self._type(c), self._value(c)) for c in found]
        self.sources = list(self._sources(found)) if self.is_inside else []
        self._check(self.steps)
        self.inside = list(steps_within(self.steps))

    # -- names ------------------------------------------------------------------------------------

    def _name(self, steps: Iterable[RowStep], prefix: str) -> None:
        """A local for each field, by its name in its part."""
        for step in steps:
            match step:
                case Part(name):
                    self._stops[name] = f"stop_{len(self._stops) + 1}" if self._stops else "stop"
                    self._name(step.steps, f"{name}.")
                case Fixed(slots):
                    for slot in slots:
                        self._claim(".".join(slot.path), prefix)
                case RowNumber(name) | Span(name):
                    self._claim(name, prefix)
                case Elements(name):
                    self._claim(name, prefix)
                    self._name(step.steps, prefix)
                case When():
                    self._name(step.steps, prefix)  # type: ignore[arg-type]  # steps of rows

    def _claim(self, path: str, prefix: str) -> None:
        self._relative[path] = path.removeprefix(prefix)
        name = column_local(self._relative[path].replace(".", "_"))
        self._locals[path] = self._taken.claim(name, ("", "_bits"))

    def var(self, path: str) -> str:
        return self._locals[path]

    @property
    def row(self) -> str:
        """The class of a row."""
        unit = self.printer.unit
        if unit.packed is not None and self.is_inside:
            listed = self.printer.module.program.units[unit.packed.unit]
            element = listed.step_of(listed.stands_for or "").element
            assert isinstance(element, Nested)
            return f"{self.printer.module.back.classes[element.unit]}Row"
        return f"{self.printer.module.back.classes[unit.name]}Row"

    @property
    def exports(self) -> list[str]:
        name = self.function
        reader = f"read_{name}_rows"
        return [reader, f"write_{name}_rows", f"HEAD_OF_{name.upper()}_ROWS"] if self.is_inside else [reader]

    @staticmethod
    def kind(step: RowStep) -> str:
        return type(step).__name__

    @property
    def count(self) -> str:
        assert isinstance(self.plan.count, FieldOf)
        return attribute(self.plan.count.name)

    def stop(self, part: Part) -> str:
        return self._stops[part.name]

    # -- expressions ------------------------------------------------------------------------------

    def text(self, value: Value, binds: int = 0) -> str:
        """A value as Python; values that depend on the container alone are computed before the loop."""
        return Expressions(field=lambda name: self._locals.get(name, name))(self._swapped(value), binds)

    def size(self, value: Value) -> str:
        """A size beside `pos +`."""
        return self.text(value, BINDS["+"])

    def _swapped(self, value: Value) -> Value:
        names = names_in(value)
        if isinstance(value, Number) and isinstance(value.of, FieldOf) and names <= self._locals.keys():
            return value.of  # a field that was read is a number
        if not self.is_inside or not names or names & self._locals.keys():
            return rebuilt(value, self._swapped)
        text = self.of_container(value)
        known = {made: name for name, made in self.hoisted.items()}
        if text not in known:
            name = value.name.replace(".", "_") if isinstance(value, FieldOf) else ""
            if not name or name != column_local(name) or name in self._locals.values():
                name = f"known_{len(self.hoisted) + 1}"
            self.hoisted[known.setdefault(text, name)] = text
        return FieldOf(known[text], value.type)

    @staticmethod
    def of_container(value: Value) -> str:
        """A value that depends on the container alone, as an expression of `batch`."""
        return Expressions(field=lambda name: ".".join(["batch", *map(attribute, name.split("."))]))(value)

    def _value(self, column: RowColumn) -> str:
        source = column.source
        return self.var(source.name) if isinstance(source, (Span, Elements)) else self.text(source)

    def _type(self, column: RowColumn) -> str:
        match column.source:
            case Span(nullable=nullable, encoding=encoding):
                return ("str" if encoding else "bytes") + (" | None" if nullable else "")
            case Elements() as listed:
                return self.type_of(listed)
        return _number(column.type)

    def type_of(self, listed: Elements) -> str:
        return f"tuple[tuple[{', '.join(map(self._type, listed.columns))}], ...]"

    @property
    def head(self) -> list[tuple[str, str, str]]:
        """Columns of tables that have one value for all rows of a container: names, types, and values."""
        return [
            (each.name, each.arrow or "int64", self.of_container(each.source))
            for each in self.plan.columns
            if each.told and not isinstance(each.source, (Span, Elements))
        ]

    # -- rows of a container ----------------------------------------------------------------------

    def fills(self, steps: Iterable[RowStep]) -> list[RowStep]:
        """The steps without lengths (which are read with their fields) and without conditions for null."""
        length = ""
        found: list[RowStep] = []
        for step in steps:
            match step:
                case RowNumber(name) if self._measures(step):
                    length = name
                    continue
                case When(Binary(">=", FieldOf(name), Constant(0)), (Span(nullable=True),)):
                    if name != length or self._derived(length) != -1:
                        raise NoRows(f"`{name}` does not say null")
                    step = step.steps[0]  # type: ignore[assignment]  # a step of rows
                case Span(nullable=True) | When():
                    raise NoRows("a condition in a row")
            of = step.count if isinstance(step, Elements) else getattr(step, "size", None)
            if isinstance(step, (Span, Part, Elements)) and (not length or names_in(of) != {length}):
                raise NoRows(f"`{step.name}` has no length of its own in front")
            length = ""
            found.append(step)
        return found

    def _measures(self, number: RowNumber) -> bool:
        """Whether a number is only the length of a field, and so derived when it is written."""
        form, derived = WIRE[number.element.wire], self.plan.fields[number.name].derived
        if derived is None or derived.kind not in ("length", "count") or derived.plus is not None:
            return False
        if not form.zigzag or form.bits != 32:
            return False
        return all(each.need == "least" and each.wanted[0].value == 0 for each in number.rules)  # type: ignore[union-attr]

    def _derived(self, length: str) -> int | None:
        derived = self.plan.fields[length].derived
        return None if derived is None else derived.null

    def _check(self, steps: Iterable[RowStep]) -> None:
        for step in self.fills(steps) if self.is_inside else steps:
            match step:
                case Part() | Elements() if self.is_inside or isinstance(step, Part):
                    self._check(step.steps)
                case When() if not self.is_inside:
                    self._check(step.steps)  # type: ignore[arg-type]  # steps of rows
                case Fixed(slots) if self.is_inside:
                    if any(each.rules or self._is_kept(each) for each in slots):
                        raise NoRows("a number of fixed width in a row")
                case Fixed(slots):
                    if any(each.bits is not None and each.size not in BIT_CODES for each in slots):
                        raise NoRows("bit fields that are no number")
                case RowNumber(element=Varint(), rules=()) if self.is_inside:
                    pass
                case RowNumber(element=FixedNumber(), rules=()) if not self.is_inside:
                    pass
                case Span() | Mark():
                    pass
                case Checksum() if not self.is_inside:
                    pass
                case _:
                    raise NoRows("a row has what is not read in a straight loop")

    def _is_kept(self, slot: Slot) -> bool:
        """Whether a number of a run is needed, or not written as it is by default."""
        return slot.wire is None or isinstance(slot.type, Real) or ".".join(slot.path) in self._used

    def names(self, run: Fixed) -> str:
        return ", ".join(each.path[-1] for each in run.slots)

    def default(self, run: Fixed) -> str:
        """The bytes of a run without columns, as Python."""
        found = b""
        for slot in run.slots:
            known = self.plan.fields[".".join(slot.path)].default
            value = 0 if known is None or not isinstance(known.value, int) else known.value
            order: Literal["little", "big"] = "little" if slot.order == "le" else "big"
            found += value.to_bytes(slot.size, order, signed=WIRE[slot.wire or ""].signed)
        return repr(found)

    def is_zigzag(self, number: RowNumber) -> bool:
        return WIRE[number.element.wire].zigzag

    def coding(self, span: Span) -> str:
        """The arguments with which text is encoded and decoded; empty of bytes."""
        form = ENCODINGS[span.encoding] if span.encoding else None
        return "" if form is None else f'"{form.python}", "{form.errors}"'

    def texts(self, steps: Iterable[RowStep]) -> list[Span]:
        return [each for each in steps if isinstance(each, Span) and each.encoding]

    @property
    def lists(self) -> list[Elements]:
        return [each for each in self.inside if isinstance(each, Elements)]

    @property
    def texts_in_lists(self) -> list[Span]:
        """Texts that are decoded once, as they repeat."""
        found = (each for listed in self.lists for each in self.texts(listed.steps))
        return [each for each in found if not each.nullable]

    def items(self, listed: Elements) -> str:
        """The columns of an element as locals."""
        return ", ".join(map(self._value, listed.columns))

    def _sources(self, columns: list[RowColumn]) -> Iterator[tuple[str, str]]:
        """How a stored field follows from its column: `offset_delta = offset - base_offset`."""
        made: set[str] = set()
        for column in columns:
            source = f"row.{attribute(column.name)}"
            if isinstance(column.source, (Span, Elements)):
                made.add(column.source.name)
                yield self.var(column.source.name), source
                continue
            for path in sorted(names_in(column.source) & self._locals.keys()):
                base = solved(column.source, path)
                if base is not None and path not in made:
                    made.add(path)
                    plain = isinstance(base, Constant) and base.value == 0
                    yield self.var(path), source if plain else f"{source} - {self.text(base, BINDS['*'])}"
        for listed in (each for each in steps_within(self.steps) if isinstance(each, Elements)):
            made |= {name for each in listed.columns for name in _named(each)}
        for step in steps_within(self.steps):
            measures = isinstance(step, RowNumber) and self._measures(step)
            if isinstance(step, (RowNumber, Span)) and step.name not in made and not measures:
                raise NoRows(f"no column shows what `{step.name}` is")

    # -- units that are rows ----------------------------------------------------------------------

    @property
    def runs(self) -> list[int]:
        found = [self.run(each) for each in self.inside if isinstance(each, (Fixed, RowNumber))]
        return list(dict.fromkeys(found))

    def run(self, step: Fixed | RowNumber) -> int:
        """The number of the `Run` of these fields."""
        if isinstance(step, RowNumber):
            assert isinstance(step.element, FixedNumber)
            return self.printer.run_of_one(step.element, self._relative[step.name])
        slots = (
            dataclasses.replace(each, path=tuple(self._relative[".".join(each.path)].split(".")))
            for each in step.slots
        )
        return self.printer.run(dataclasses.replace(step, slots=tuple(slots)))

    def width(self, number: RowNumber) -> int:
        return WIRE[number.element.wire].least

    def targets(self, run: Fixed) -> str:
        names = [self._target(group[0]) for group in run.groups]
        return ", ".join(names) + ("" if names[1:] else ",")

    def _target(self, slot: Slot) -> str:
        name = self.var(".".join(slot.path))
        return name if slot.bits is None else f"{name}_bits"

    def made(self, run: Fixed) -> Iterator[tuple[str, str]]:
        """The used ones of the numbers that several bit fields share."""
        for group in run.groups:
            for slot in group:
                path = ".".join(slot.path)
                if slot.bits is not None and path in self._used:
                    shift, width = slot.bits
                    raw = self._target(group[0])
                    text = (f"{raw} >> {shift}" if shift else raw) + f" & {hex((1 << width) - 1)}"
                    yield self.var(path), f"{text} != 0" if slot.type == FLAG else text

    def refused(self, run: Fixed) -> Iterator[str]:
        """The tests that a number is not allowed by the schema."""
        for slot in run.slots:
            for rule in slot.rules:
                yield self.printer.refusal(rule, self.var(".".join(slot.path)), self._locals.__getitem__).bad

    def absent(self, step: RowNumber | Span) -> str:
        """The value of a field whose condition does not hold."""
        if isinstance(step, Span):
            return "None" if step.nullable else '""' if step.encoding else 'b""'
        assert step.absent is not None
        return repr(step.absent.value)

    def is_used(self, mark: Mark) -> bool:
        """Whether a checksum's range starts, or ends, there."""
        checks = (each for each in self.inside if isinstance(each, Checksum))
        return any(mark.name == (each.last if mark.end else each.first) for each in checks)

    def place(self, path: str) -> str:
        return self._relative.get(path, path).replace(".", "_")

    @property
    def plain(self) -> str:
        """The test that a unit is compressed; empty if none is."""
        packed = self.plan.packed
        if packed is None:
            return ""
        return f"{self.text(packed.by)} != {next(value for value, name in packed.codecs if name == 'none')}"


def _number(kind: Type | None) -> str:
    if kind == FLAG:
        return "bool"
    return "float" if isinstance(kind, Real) else "int"


def _named(column: RowColumn) -> set[str]:
    source = column.source
    return {source.name} if isinstance(source, (Span, Elements)) else names_in(source)
