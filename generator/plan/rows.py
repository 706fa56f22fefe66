"""Rows of a type: their columns, and the steps that fill them, in which the types inside are unrolled.

Fields are named by their path from the type that holds the rows: `attributes.compression`, and what its
content repeats `records.body.key`. A reader of rows gives up where something is wrong: the reader of the type
shows what.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kodec.generator.plan.bind import Binder, Types
from kodec.generator.plan.layouts import Layouts
from kodec.generator.plan.steps import (
    Chars,
    CheckLength,
    Checksum,
    Derived,
    Fixed,
    FixedNumber,
    Many,
    Mark,
    Nested,
    Octets,
    One,
    Packed,
    Program,
    Require,
    Rule,
    Size,
    Slot,
    Step,
    Stored,
    Tagged,
    Unit,
    Varint,
    When,
    values_of,
)
from kodec.generator.plan.values import (
    FLAG,
    Binary,
    Choose,
    Constant,
    EnumOf,
    FieldOf,
    Item,
    Maybe,
    MemberOf,
    ObjectOf,
    Peeked,
    Real,
    Type,
    Value,
    Whole,
    names_in,
    rebuilt,
    text_of,
    values_in,
)
from kodec.generator.problems import Place
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Column, Field, Model, Ref, Schema, Struct
from kodec.generator.schema.type_roles import RowContent, listed_rows, row_content
from kodec.generator.wire import WIRE

__all__ = [
    "Bound",
    "Elements",
    "NoRows",
    "Part",
    "RowColumn",
    "RowField",
    "RowNumber",
    "RowPlan",
    "RowStep",
    "Span",
    "planned_rows",
    "rows_of",
    "solved",
    "steps_within",
    "variables",
]


@dataclass(frozen=True, slots=True)
class RowNumber:
    """One number. Where a condition leaves it out, it is `absent`."""

    name: str
    type: Type
    element: FixedNumber | Varint
    absent: Constant | None
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes that stay where they are; without a size, up to the end. `nullable` ones may be left out.

    `natural` says that what was read before shows that the size is not negative. Text has an `encoding`, a
    name of `wire.ENCODINGS`.
    """

    name: str
    size: Value | None
    natural: bool
    nullable: bool
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A type inside, which takes all of its `size` bytes; without one, all that is left where it `fills`."""

    name: str
    size: Value | None
    natural: bool
    fills: bool
    steps: tuple[RowStep, ...]


@dataclass(frozen=True, slots=True)
class Elements:
    """A list: this many elements of at least `least` bytes, with the columns of an element."""

    name: str
    count: Value
    natural: bool
    least: int
    steps: tuple[RowStep, ...]
    columns: tuple[RowColumn, ...]


RowStep = Fixed | RowNumber | Span | Part | Elements | When | Mark | CheckLength | Checksum


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column. `source` is a value, or the Span or the Elements that it is: these have no `type`.

    Attributes:
        arrow: the type that the schema asks for, empty if it asks for none.
        computed: whether it is not a field of the row.
        told: whether it receives all rows of a unit, and is no part of a row.
    """

    name: str
    type: Type | None
    source: Value | Span | Elements
    arrow: str = ""
    computed: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """Bounds of a column in the head of a unit: none is below `first`, none above `last`."""

    column: str
    first: Value | None
    last: Value | None


@dataclass(frozen=True, slots=True)
class RowField:
    """What a writer of rows has to know of a field.

    Attributes:
        place: where the schema has it.
        default: what it is where nobody says it.
        derived: how it follows from other fields; all names in it are paths.
        ruled: whether the schema restricts its values.
        signed_null: whether another field says that it is null.
    """

    place: Place
    default: Constant | None
    derived: Derived | None
    ruled: bool
    signed_null: bool


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The rows of a unit.

    Attributes:
        unit: the type that holds rows, or is one.
        head: its steps; the content is not looked into.
        element: the steps of a row in the content; None if the unit is a row itself.
        count: how many rows there are in the content.
        least: the fewest bytes of one.
        packed: the codecs of the content, wherever in the unit that is.
        content: the field that the content is; empty if the unit is a row itself.
        packed_at: the field that may be compressed.
        hidden: where it holds, the rows are not for users.
        fields: the numbers, spans and lists, by their paths.
        unit_least: the fewest bytes of a unit.
        compared: whether a writer has sizes to compare, as not all are computed of what it writes.
    """

    unit: str
    head: tuple[RowStep, ...]
    element: tuple[RowStep, ...] | None
    count: Value | None
    least: int
    columns: tuple[RowColumn, ...]
    packed: Packed | None
    content: str
    hidden: Value | None
    bounds: tuple[Bound, ...]
    packed_at: str
    fields: Mapping[str, RowField]
    unit_least: int
    compared: bool

    def used(self) -> set[str]:
        """The paths that a column, a condition, a size or a rule names."""
        found = {each.name for part in (self.head, self.element, self.columns) for each in _named(part or ())}
        return found | {each.name for each in _named((self.count, self.packed, self.hidden, self.bounds))}


def rows_of(model: Model, program: Program, schema: Schema, holder: Struct | None = None) -> RowPlan | None:
    """The rows of a schema's outermost type, or of another one; None if it has none as plain as that."""
    try:
        return planned_rows(model, program, schema, holder)
    except NoRows:
        return None


def planned_rows(model: Model, program: Program, schema: Schema, holder: Struct | None = None) -> RowPlan:
    """As `rows_of`. Raises NoRows, which says why there are none."""
    holder = holder or schema.root
    content = row_content(model, holder)
    struct = holder if content is not None else listed_rows(model, holder)
    if struct is None:
        text = "its outermost type is neither a container of rows nor a list of them"
        raise NoRows(text, holder.place)
    try:
        return _Builder(model, program, schema, struct, content).build()
    except NoRows as error:
        error.place = error.place or struct.place
        raise


def steps_within(steps: Iterable[RowStep]) -> Iterator[RowStep]:
    """All steps, also those of parts, of elements and under conditions."""
    for step in steps:
        yield step
        if isinstance(step, (Part, Elements, When)):
            yield from steps_within(step.steps)  # type: ignore[arg-type]  # a When of rows holds steps of rows


def variables(steps: Iterable[RowStep]) -> Iterator[tuple[str, Slot | RowNumber | Span]]:
    """What the steps fill, by its path."""
    for step in steps_within(steps):
        if isinstance(step, Fixed):
            for slot in step.slots:
                yield ".".join(slot.path), slot
        elif isinstance(step, (RowNumber, Span)):
            yield step.name, step


class NoRows(Exception):
    """A type has something that the steps of rows do not have; `place` is where the schema has it."""

    def __init__(self, text: str, place: Place | None = None) -> None:
        super().__init__(text)
        self.place = place


_WIDTHS = re.compile(r"u?int(?:8|16|32|64)")


class _Builder:
    def __init__(
        self, model: Model, program: Program, schema: Schema, struct: Struct, content: RowContent | None
    ) -> None:
        self.model = model
        self.program = program
        self.schema = schema
        self.struct = struct
        self.content = content
        self.row = struct if content is None else content.row
        self.layouts = Layouts(model)
        self.types = Types(model)
        self.found: dict[str, RowStep | Slot] = {}
        self.specs: dict[str, Field] = {}
        self.fields: dict[str, RowField] = {}
        self.natural: set[str] = set()
        self.packed: Packed | None = None
        self.holder = ""
        self.compared = False

    def build(self) -> RowPlan:
        unit = self.program.units[self.struct.name]
        head = self._steps(unit, ())
        content = self.content
        element, count, least = None, None, unit.least
        self.at: tuple[str, ...] = ()
        if content is not None:
            self.at = (content.holder.id,)
            inner = self.program.units[content.element.name]
            element = self._steps(inner, self.at)
            least = max(1, inner.least)
            count = FieldOf(content.count.id, self.types.field(self.struct, content.count))
            if any(isinstance(each, (CheckLength, Checksum, Mark)) for each in steps_within(element)):
                raise NoRows("a length or a checksum of a range in a row", content.element.place)
            if content.row is not content.element:
                part = next(each for each in content.element.fields if each.type == Ref(content.row.name))
                self.at = (*self.at, part.id)
        row = self.row
        return RowPlan(
            unit=self.struct.name,
            head=head,
            element=element,
            count=count,
            least=least,
            columns=tuple(self._columns()),
            packed=self.packed,
            content=self.holder if content is not None else "",
            hidden=None if row.row_unless is None else self._bound(row.row_unless),
            bounds=tuple(
                Bound(each.column, *(None if v is None else self._bound(v) for v in (each.first, each.last)))
                for each in row.row_bounds
            ),
            packed_at=self.holder,
            fields=self.fields,
            unit_least=unit.least,
            compared=self.compared,
        )

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self, unit: Unit, at: tuple[str, ...]) -> tuple[RowStep, ...]:
        if unit.parameters or unit.versions is not None or unit.peeks or unit.stands_for is not None:
            text = "has parameters, versions or values that are checked before"
            raise NoRows(f"`{unit.name}` {text}", self.model.struct(unit.name).place)
        if unit.packed is not None:
            self.holder = ".".join((*at, unit.packed.name))
            packed = unit.packed
            when = None if packed.when is None else _scoped(packed.when, at)
            self.packed = dataclasses.replace(packed, by=_scoped(packed.by, at), when=when)
        sizes = (each for each in values_of(unit.steps) if isinstance(each, Size))
        self.compared |= bool(unit.late_sizes) or not all(each.implied for each in sizes)
        struct = self.model.struct(unit.name)
        return tuple(each for step in unit.steps for each in self._step(step, unit, struct, at))

    def _step(self, step: Step, unit: Unit, struct: Struct, at: tuple[str, ...]) -> Iterator[RowStep]:
        def path(name: str) -> str:
            return ".".join((*at, name))

        match step:
            case Fixed(slots, size):
                yield Fixed(tuple(self._slot(each, struct, at) for each in slots), size)
            case One(name, kind, FixedNumber() | Varint() as element, rules):
                # a condition leaves out what is null there, which a number is not
                made = RowNumber(
                    path(name), kind, element, unit.field(name).absent, self._rules(rules, path(name), at)
                )
                if isinstance(element, FixedNumber) and WIRE[element.wire].kind not in ("integer", "float"):
                    raise _without_column(struct, name)
                yield self._new(path(name), made, struct, name)
            case One(name, kind, Octets(size) | Chars(size) as element, ()):
                encoding = element.encoding if isinstance(element, Chars) else ""
                yield self._span(name, kind, _value_of(size), struct, at, encoding)
            case Stored(name, size):
                yield self._span(name, unit.field(name).type, _value_of(size), struct, at)
            case One(name, _, Nested(inner, (), size, fills), ()):
                value = None if size is None else _scoped(size.value, at)
                natural = self._is_natural(value)
                yield Part(
                    path(name), value, natural, fills, self._steps(self.program.units[inner], (*at, name))
                )
            case Many(name, _, Nested(inner, (), None, False), least, size, None, ()) if size is not None:
                count = _scoped(size.value, at)
                natural = self._is_natural(count)
                before = set(self.found)
                steps = self._steps(self.program.units[inner], (*at, name))
                columns = [
                    self._column_of(each) for each in self.found if each not in before and self._shown(each)
                ]
                made_list = Elements(path(name), count, natural, max(1, least), steps, tuple(columns))
                if not columns:
                    raise _without_column(struct, name)
                yield self._new(path(name), made_list, struct, name)
            case When(test, steps):
                condition = _scoped(test, at)
                known = set(self.natural)
                self.natural |= _not_negative(condition)
                inside = tuple(each for one in _apart(steps) for each in self._step(one, unit, struct, at))
                self.natural = known
                for each in inside:
                    absent = each.absent if isinstance(each, RowNumber) else None
                    if isinstance(each, (Part, Elements, When, Fixed)) or (
                        isinstance(each, RowNumber) and (absent is None or absent.value is None)
                    ):
                        name = _first_of(steps)
                        raise NoRows(
                            f"`{name}` may be absent, and has no `-default`", _spec_of(struct, name).at("if")
                        )
                yield When(condition, inside)  # type: ignore[arg-type]  # steps of rows
            case Mark(name, offset, end):
                yield Mark(path(name), offset, end)
            case CheckLength(name, first, last, plus):
                plus = None if plus is None else _scoped(plus, at)
                yield CheckLength(path(name), path(first), None if last is None else path(last), plus)
            case Checksum(name, function, first, last):
                yield Checksum(path(name), function, path(first), None if last is None else path(last))
            case Many(name):
                text = "repeats in a way, or a type, without a column"
                raise NoRows(f"`{name}` {text}", _spec_of(struct, name).place)
            case One(name) | Require(name) | Tagged(name):
                raise _without_column(struct, name)
            case _:
                raise NoRows("a value is derived of what is not in a row", struct.place)

    def _new(self, path: str, made: RowStep, struct: Struct, name: str) -> RowStep:
        self._note(path, made, struct, _spec_of(struct, name))
        return made

    def _note(self, path: str, made: RowStep | Slot, struct: Struct, spec: Field) -> None:
        unit = self.program.units[struct.name]
        at = tuple(path.split(".")[:-1])
        derived = unit.derivation(spec.id)
        if derived is not None:
            derived = dataclasses.replace(
                derived,
                of=".".join((*at, derived.of)),
                plus=None if derived.plus is None else _scoped(derived.plus, at),
                when=None if derived.when is None else _scoped(derived.when, at),
            )
        default = unit.field(spec.id).default
        self.found[path], self.specs[path] = made, spec
        self.fields[path] = RowField(
            spec.place, default, derived, spec.valid is not None, spec.nullable is not None
        )

    def _span(
        self,
        name: str,
        kind: Type,
        size: Value | None,
        struct: Struct,
        at: tuple[str, ...],
        encoding: str = "",
    ) -> RowStep:
        spec = _spec_of(struct, name)
        if (
            spec.condition is not None
            and spec.nullable is None
            and spec.default not in (None, ex.Literal(""))
        ):
            raise NoRows(f"`{name}` is not empty where it is absent", spec.place)
        value = None if size is None else _scoped(size, at)
        path = ".".join((*at, name))
        absent = self.program.units[struct.name].field(name).absent
        is_null = isinstance(kind, Maybe) or (absent is not None and absent.value is None)
        nullable = (is_null and spec.codec is None) or spec.nullable is not None
        return self._new(path, Span(path, value, self._is_natural(value), nullable, encoding), struct, name)

    def _slot(self, slot: Slot, struct: Struct, at: tuple[str, ...]) -> Slot:
        wire = slot.wire
        owner = struct
        for name in slot.path[:-1]:
            spec = _spec_of(owner, name)
            assert isinstance(spec.type, Ref)
            owner = self.model.struct(spec.type.target)
        spec = _spec_of(owner, slot.path[-1])
        if slot.contents is not None or (wire is not None and WIRE[wire].kind in ("UUID", "boolean")):
            raise NoRows(f"`{spec.id}` is fixed content or a type without a column", spec.place)
        if slot.bits is not None and (slot.size > 8 or slot.bits[1] > 63):
            raise NoRows(f"`{spec.id}` has more than 63 bits, or is among more than 64 bits", spec.place)
        path = ".".join((*at, *slot.path))
        made = dataclasses.replace(
            slot, path=(*at, *slot.path), rules=self._rules(slot.rules, path, (*at, *slot.path[:-1]))
        )
        self._note(path, made, owner, spec)
        return made

    def _rules(self, rules: Iterable[Rule], path: str, at: tuple[str, ...]) -> tuple[Rule, ...]:
        made = tuple(
            Rule(_scoped(each.test, at), each.need, tuple(_scoped(value, at) for value in each.wanted))
            for each in rules
        )
        for rule in made:
            if Item in {type(each) for each in values_in(rule.test)} and _not_negative(rule.test):
                self.natural.add(path)
        return made

    def _is_natural(self, size: Value | None) -> bool:
        match size:
            case None | Constant():
                return True
            case FieldOf(name, kind):
                return name in self.natural or (isinstance(kind, Whole) and kind.low >= 0)
        return False

    # -- columns ----------------------------------------------------------------------------------

    def _shown(self, path: str) -> bool:
        """Whether the field is a column, where the row lists none."""
        spec = self.specs[path]
        hidden = spec.column is not None and spec.column.hidden
        return not hidden and (spec.derive is None or not spec.derive.is_length)

    def _columns(self) -> Iterator[RowColumn]:
        found: dict[str, RowColumn] = {}
        lists = [path for path, each in self.found.items() if isinstance(each, Elements)]
        for path in self._paths(self.row, self.at):
            if path not in self.found or not self._shown(path):
                continue
            if any(path.startswith(f"{each}.") for each in lists):
                continue
            made = self._column_of(path)
            if made.name in found:
                raise NoRows(f"two columns are called `{made.name}`", self.specs[path].place)
            found[made.name] = made
        if self.row.columns:
            for item in self.row.columns:
                if isinstance(item, Column):
                    yield self._computed(item)
                elif item in found:
                    yield found[item]
                else:
                    raise NoRows(f"no column `{item}`", self.row.place)
        else:
            yield from found.values()
        for item in self.row.row_head:
            yield dataclasses.replace(self._computed(item), told=True)

    def _paths(self, struct: Struct, at: tuple[str, ...]) -> Iterator[str]:
        """The fields of a type, and of the types in it, in their order."""
        for spec in struct.fields:
            here = (*at, spec.id)
            inner = self.model.struct(spec.type.target) if isinstance(spec.type, Ref) else None
            if inner is None or inner.wire or spec.repeat is not None or spec.codec is not None:
                yield ".".join(here)
            elif spec.column is None or not spec.column.hidden:
                yield from self._paths(inner, here)

    def _column_of(self, path: str) -> RowColumn:
        column = self.specs[path].column or Column(self.specs[path].id)
        if column.value is not None:
            return self._computed(column)
        match self.found[path]:
            case Span() | Elements() as source:
                return RowColumn(column.name, None, source, column.type or "")
            case RowNumber(type=kind) | Slot(type=kind) as source:
                if isinstance(source, Slot) and source.bits is None and source.wire is None:
                    # bytes of a fixed number stay where they are, too
                    size = Constant(source.size, Whole(source.size, source.size))
                    return RowColumn(column.name, None, Span(path, size, True, False), column.type or "")
                kind = kind.of if isinstance(kind, Maybe) else kind
                bare = kind.number if isinstance(kind, EnumOf) else kind
                made = self._kind(column.type, self.specs[path].place) or bare
                return RowColumn(column.name, made, FieldOf(path, bare), column.type or "")
        raise _without_column_at(self.specs[path])

    def _computed(self, column: Column) -> RowColumn:
        assert column.value is not None
        arrow = column.type or "int64"
        kind = self._kind(arrow, self.row.place)
        return RowColumn(column.name, kind, self._bound(column.value), arrow, computed=True)

    @staticmethod
    def _kind(arrow: str | None, place: Place) -> Type | None:
        """The type of a column's values."""
        if arrow is None:
            return None
        if arrow.startswith("timestamp["):
            arrow = "int64"
        if _WIDTHS.fullmatch(arrow):
            bits = int(arrow.lstrip("uint"))
            most = 1 << bits - (arrow[0] == "i")
            return Whole(-most if arrow[0] == "i" else 0, most - 1)
        kinds: dict[str, Type] = {"float": Real(32), "double": Real(64), "bool": FLAG}
        if arrow not in kinds:
            raise NoRows(f"a number cannot be a column of type `{arrow}`", place)
        return kinds[arrow]

    def _bound(self, expr: ex.Expr) -> Value:
        """An expression of the row, in which `_batch` is the type that holds the rows."""

        def swap(part: ex.Expr) -> ex.Expr | None:
            if isinstance(part, ex.EnumValue) and "::" not in part.enum:
                return ex.EnumValue(f"{self.schema.id}::{part.enum}", part.value)
            return None

        full = ex.replace(self.layouts.inline(self.row, expr), swap)
        value = _scoped(_RowBinder(self.types, self.row, self.struct)(full), ())
        made = _relocated(value, self.at)
        for each in values_in(made):
            if isinstance(each, FieldOf) and not isinstance(self.found.get(each.name), (RowNumber, Slot)):
                raise NoRows(f"`{text_of(each)}` in an expression", self.row.place)
        return made


def _spec_of(struct: Struct, name: str) -> Field:
    spec = struct.field(name)
    assert spec is not None
    return spec


def _without_column(struct: Struct, name: str) -> NoRows:
    return _without_column_at(_spec_of(struct, name))


def _without_column_at(spec: Field) -> NoRows:
    return NoRows(f"`{spec.id}` is of a type without a column", spec.place)


def _value_of(size: Size | None) -> Value | None:
    return None if size is None else size.value


def _first_of(steps: Iterable[Step]) -> str:
    """The first field that steps under a condition set."""
    for step in _apart(steps):
        match step:
            case Fixed((first, *_)):
                return first.path[0]
            case One(name) | Many(name) | Stored(name) | Tagged(name):
                return name
            case When(_, inner):
                return _first_of(inner)
    raise TypeError(steps)


def _apart(steps: Iterable[Step]) -> Iterator[Step]:
    """Numbers that are next to each other by themselves."""
    for step in steps:
        if isinstance(step, Fixed) and all(
            each.wire is not None and len(each.path) == 1 for each in step.slots
        ):
            for slot in step.slots:
                assert slot.wire is not None
                yield One(slot.path[0], slot.type, FixedNumber(slot.wire, slot.order), slot.rules)
        else:
            yield step


class _RowBinder(Binder):
    """Expressions of a row; `_batch` is an object with no name, the row's own fields begin with a dot."""

    def __init__(self, types: Types, row: Struct, container: Struct) -> None:
        super().__init__(types, row, {})
        self._container = container

    def _named(self, name: str) -> Value:
        if name == "_batch":
            return FieldOf("", ObjectOf(self._container.name))
        found = super()._named(name)
        assert isinstance(found, (FieldOf, Peeked))
        return FieldOf(f".{name}", found.type)


def _relocated(value: Value, at: tuple[str, ...]) -> Value:
    """The row's own fields by their path."""
    match value:
        case FieldOf(name, kind) if name.startswith("."):
            return FieldOf(".".join((*at, name[1:])), kind)
    return rebuilt(value, lambda part: _relocated(part, at))


def _scoped(value: Value, at: tuple[str, ...]) -> Value:
    """Fields by their path from the outermost type."""
    match value:
        case FieldOf(name, kind):
            return FieldOf(".".join((*at, name)), kind)
        case MemberOf(of, name, kind):
            inner = _scoped(of, at)
            if not isinstance(inner, FieldOf):
                raise NoRows(f"`{text_of(value)}` in an expression")
            return FieldOf(f"{inner.name}.{name}" if inner.name else name, kind)
        case Peeked():
            raise NoRows(f"`{text_of(value)}` in an expression")
    return rebuilt(value, lambda part: _scoped(part, at))


def solved(value: Value, path: str) -> Value | None:
    """For a sum of a base and the field, or a choice with such a branch: the base."""
    match value:
        case FieldOf(name) if name == path:
            return Constant(0, Whole(0, 0))
        case Binary("+", left, FieldOf(name)) if name == path and path not in names_in(left):
            return left
        case Binary("+", FieldOf(name), right) if name == path and path not in names_in(right):
            return right
        case Choose(_, yes, no):
            return solved(no, path) if path in names_in(no) else solved(yes, path)
    return None


def _not_negative(test: Value) -> set[str]:
    """What a condition says is not negative; a value that a rule speaks of has no name."""
    match test:
        case Binary(">=", FieldOf(name), Constant(int(least))) if least >= 0:
            return {name}
        case Binary(">=", Item(), Constant(int(least))) if least >= 0:
            return {""}
    return set()


def _named(part: object) -> Iterator[FieldOf]:
    """Every field that is named in steps and values."""
    if isinstance(part, (tuple, list)):
        for each in part:
            yield from _named(each)
    elif isinstance(part, FieldOf):
        yield part
    elif isinstance(part, (Checksum, CheckLength)):
        yield FieldOf(part.name, FLAG)
        yield from _named(part.plus if isinstance(part, CheckLength) else None)
    elif isinstance(part, Slot):
        if part.rules:
            yield FieldOf(".".join(part.path), part.type)
        yield from _named(part.rules)
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        if isinstance(part, RowNumber) and part.rules:
            yield FieldOf(part.name, part.type)
        for each in dataclasses.fields(part):
            yield from _named(getattr(part, each.name))
