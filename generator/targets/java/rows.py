"""Rows of the plan as data for their template: members of the class, and variables of its loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kodec.generator.plan.places import Places
from kodec.generator.plan.rows import (
    Elements,
    RowColumn,
    RowNumber,
    RowPlan,
    RowStep,
    Span,
    steps_within,
    variables,
)
from kodec.generator.plan.steps import Fixed, FixedNumber, Program, Slot, Varint, When
from kodec.generator.plan.values import (
    FLAG,
    FieldOf,
    Real,
    Type,
    Value,
    Whole,
    scalar,
)
from kodec.generator.reserved import Taken
from kodec.generator.targets.java.expressions import Expressions, is_int, literal, plain_type
from kodec.generator.targets.java.names import Locals, Names, camel, column_name, lower

__all__ = ["MOST_COLUMNS", "RowsPrinter"]

MOST_COLUMNS = 64
_NARROW = {"byte": Whole(-128, 127), "short": Whole(-(1 << 15), (1 << 15) - 1)}


@dataclass(frozen=True, slots=True)
class _Array:
    """An array of a column; `wanted` is the constant that requests it, `local` its name in the loop."""

    name: str
    type: str
    doc: str
    wanted: str
    local: str = ""
    more: str = ""


class RowsPrinter:
    """The data for the template of rows."""

    def __init__(self, names: Names, program: Program, plan: RowPlan, docs: dict[str, str]) -> None:
        self.plan = plan
        self.holder = program.units[plan.unit]
        self._places = Places(program)
        self.docs = docs
        self.unit = plan.unit.rpartition("::")[2]
        self.inside = False
        self._locals = Locals.of_rows()
        members = Taken(["count", "capacity", "unitEnd"])
        constants = Taken(["ALL", "EXTRA"])
        self._names: dict[str, str] = {}
        self._made: dict[str, str] = {}
        head = list(variables(plan.head))
        for path, _ in head:
            name = members.claim("head" + "".join(map(camel, path.split("."))), ("", "Start", "Length"))
            self._names[path] = name
            self._locals.claim(name)
        self.columns: dict[str, str] = {}
        for each in plan.columns:
            self._column(each, members)
        self.constants = {
            each.name: constants.claim(_constant(self.columns[each.name])) for each in plan.columns
        }
        self._lists = {
            path.name: path for path in steps_within(plan.element or ()) if isinstance(path, Elements)
        }
        for path, _ in variables(plan.element or ()):
            parts = path.split(".")
            within = next((each for each in self._lists if path.startswith(f"{each}.")), "")
            stem = f"{within.rpartition('.')[2]}_{parts[-1]}" if within else parts[-1]
            self._names[path] = self._locals.claim(lower(stem), ("", "Start", "Length"))
        self.used = plan.used()
        self.text = Expressions(field=self._names.__getitem__)

    def _column(self, column: RowColumn, members: Taken) -> None:
        suffixes = ("", "Start", "Length", "Count")
        self.columns[column.name] = members.claim(column_name(column.name), suffixes)
        if isinstance(column.source, Elements):
            for each in column.source.columns:
                name = members.claim(
                    f"{self.columns[column.name]}{camel(each.name)}", ("", "Start", "Length")
                )
                self.columns[f"{column.name}.{each.name}"] = name

    def enter(self) -> str:
        """From the head to the rows."""
        self.inside = True
        return ""

    # -- names ------------------------------------------------------------------------------------

    def name(self, path: str) -> str:
        return self._names[path]

    def made(self, kind: str, path: str) -> str:
        """A variable derived from a field: its start or its end."""
        key = kind.format(path)
        if key not in self._made:
            self._made[key] = self._locals.claim(lower(kind.format(path.rpartition(".")[2])))
        return self._made[key]

    def declared(self, kind: Type) -> str:
        """The type before a variable of the loop; those of a head are fields of the class."""
        return f"{plain_type(kind)} " if self.inside else ""

    # -- the head ---------------------------------------------------------------------------------

    def head_members(self) -> Iterator[tuple[str, str, str]]:
        """(type, name, doc) of the fields of a head."""
        for path, each in variables(self.plan.head):
            name = self._names[path]
            if isinstance(each, Span) or (isinstance(each, Slot) and each.wire is None and each.bits is None):
                yield "int", f"{name}Start", f"Where {path} starts."
                yield "int", f"{name}Length", "Its bytes; -1 where it is null."
            else:
                yield plain_type(each.type), name, self.docs.get(path, "")

    def extras(self) -> Iterator[tuple[str, str, list[int], str]]:
        """(name, type, forms that have it, Java of its value) of the numbers and flags that have no role.

        Those of bit fields come last.
        """
        known = {path for _, path in self.holder.roles}
        for path, each in sorted(variables(self.plan.head), key=lambda each: "." in each[0]):
            if path in known or isinstance(each, Span):
                continue
            if each.type != FLAG and not isinstance(scalar(each.type), Whole):
                continue
            forms = [
                form
                for form in self.holder.forms
                if any(
                    one.path == path for one in self._places.of(self.holder.steps, {self.holder.form: form})
                )
            ]
            kind, value = plain_type(each.type), f"rows.{self._names[path]}"
            name = lower(path.rpartition(".")[2])
            yield name, kind, forms, f"{value} ? 1 : 0" if kind == "boolean" else value

    def is_span(self, slot: Slot) -> bool:
        return slot.wire is None and slot.bits is None

    def groups(self, step: Fixed) -> list[list[Slot]]:
        """The slots of a run by their place: bit fields share one. In rows, those that are needed."""
        found: dict[int, list[Slot]] = {}
        for slot in step.slots:
            if not self.inside or ".".join(slot.path) in self.used or self._shown(slot):
                found.setdefault(slot.offset, []).append(slot)
        return list(found.values())

    def _shown(self, slot: Slot) -> bool:
        path = ".".join(slot.path)
        listed = [column for each in self._lists.values() for column in each.columns]
        return any(
            isinstance(each.source, Span) and each.source.name == path
            for each in (*self.plan.columns, *listed)
        )

    def column_fields(self) -> set[str]:
        """The fields that are columns as they are."""
        listed = [column for each in self._lists.values() for column in each.columns]
        return {each.source.name for each in listed if isinstance(each.source, FieldOf)}

    def all_columns(self) -> str:
        return f"{(1 << len(self.plan.columns)) - 1:#x}L"

    def starts_in(self, steps: tuple[RowStep, ...]) -> set[str]:
        """The marks that a length or a checksum needs."""
        return {each.first for each in steps_within(steps) if hasattr(each, "first")}

    def rules(self, step: Fixed | RowNumber) -> Iterator[str]:
        """The conditions under which the unit is invalid."""
        parts = [(".".join(each.path), each.rules) for each in step.slots] if isinstance(step, Fixed) else []
        if isinstance(step, RowNumber):
            parts = [(step.name, step.rules)]
        for path, rules in parts:
            for rule in rules:
                yield self.text.of(self._names[path]).opposite(rule.test)

    def absent(self, number: RowNumber) -> str:
        assert number.absent is not None and isinstance(number.element, (FixedNumber, Varint))
        return literal(number.absent.value, number.type)

    def conditional(self, step: When) -> list[RowNumber | Span]:
        steps: tuple[object, ...] = step.steps
        return [each for each in steps if isinstance(each, (RowNumber, Span))]

    def size(self, size: Value, room: str, natural: bool) -> tuple[str, str]:
        """(a test that a size is too large or negative, the size as an int)."""
        text = self.text(size, self.text.binds["+"])
        test = f"{text} > {room}"
        if not natural:
            test = f"{text} < 0 || {test}"
        kind = scalar(size.type)
        wide = not isinstance(kind, Whole) or not is_int(kind)
        return test, f"(int) {self.text(size, self.text.binds.sign)}" if wide else self.text(size)

    # -- columns ----------------------------------------------------------------------------------

    def arrays(self) -> Iterator[_Array]:
        """Those of all columns."""
        for each in self.plan.columns:
            name, wanted = self.columns[each.name], self.constants[each.name]
            if isinstance(each.source, Elements):
                about = f"Where the elements of {each.name} start, for each row and behind the last one."
                yield _Array(f"{name}Start", "int", about, wanted, more=" + 1")
            elif isinstance(each.source, Span):
                about = f"Where {each.name} starts; null where not asked for."
                yield _Array(f"{name}Start", "int", about, wanted, self.column_local(f"{name}Start"))
                about = "Its bytes; -1 where it is null."
                yield _Array(f"{name}Length", "int", about, wanted, self.column_local(f"{name}Length"))
            else:
                about = f"{each.name}; null where not asked for."
                yield _Array(name, self.array_type(each), about, wanted, self.column_local(name))

    def column_local(self, name: str) -> str:
        if name not in self._made:
            self._made[name] = self._locals.claim(f"{name}Column")
        return self._made[name]

    def element_arrays(self, column: RowColumn) -> list[tuple[str, str, str, str]]:
        """(array, its type, Java of an element's value, doc) of the columns of a list's elements."""
        assert isinstance(column.source, Elements)
        found = []
        for each in column.source.columns:
            name = self.columns[f"{column.name}.{each.name}"]
            if isinstance(each.source, Span):
                value = self._names[each.source.name]
                found.append((f"{name}Start", "int", f"{value}Start", f"{each.name} of each element."))
                about = f"{each.name} of each element (-1 where it is null)."
                found.append((f"{name}Length", "int", f"{value}Length", about))
            elif not isinstance(each.source, Elements):
                kind = plain_type(each.source.type)
                found.append((name, kind, self.text(each.source), f"{each.name} of each element."))
        return found

    def lists(self) -> list[RowColumn]:
        return [each for each in self.plan.columns if isinstance(each.source, Elements)]

    def list_of(self, step: Elements) -> RowColumn:
        return next(each for each in self.plan.columns if each.source == step)

    def array_type(self, column: RowColumn) -> str:
        kind = column.type
        assert kind is not None
        if isinstance(kind, Whole):
            for name, range_ in _NARROW.items():
                if range_.low <= kind.low and kind.high <= range_.high:
                    return name
        return plain_type(kind)

    def value(self, column: RowColumn) -> str:
        """A row's value of a column, as its array takes it."""
        assert not isinstance(column.source, (Span, Elements)) and column.type is not None
        source, wanted = column.source, self.array_type(column)
        text = self.text(source)
        if wanted in _NARROW:
            return f"({wanted}) {self.text(source, self.text.binds.sign)}"
        kind = scalar(source.type)
        if wanted == "int" and isinstance(kind, Whole) and not is_int(kind):
            return f"Math.toIntExact({text})"
        if isinstance(kind, Whole) or wanted in ("boolean", "float", "double"):
            return text
        return f"{self.text(source, self.text.binds['or'])} ? 1 : 0"

    def fits(self) -> bool:
        """Whether each column is one that an array can be."""
        for each in self.plan.columns:
            if isinstance(each.source, (Span, Elements)):
                continue
            kind = scalar(each.source.type)
            if isinstance(each.type, Real) != isinstance(kind, Real):
                return False
            if not isinstance(each.type, (Whole, Real)) and isinstance(kind, Whole):
                return False
        return len(self.columns) > 0 and len(self.plan.columns) <= MOST_COLUMNS

    # -- what the head reports about the rows -------------------------------------------------------------

    def bounds(self) -> Iterator[tuple[str, str, str, str]]:
        """(method, column, word, value)."""
        for bound in self.plan.bounds:
            for end, word, value in (("First", "below", bound.first), ("Last", "above", bound.last)):
                if value is not None:
                    yield f"{lower(bound.column)}{end}", bound.column, word, self.text(value)

    def hidden(self) -> str:
        return "" if self.plan.hidden is None else self.text.condition(self.plan.hidden)


def _constant(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).upper().rstrip("_")
