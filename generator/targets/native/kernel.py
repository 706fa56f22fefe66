"""The data that a kernel is printed from: the plan of its rows, its spelling in C, and its writer."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.plan.build import program_of
from kodec.generator.plan.rows import (
    Elements,
    NoRows,
    RowNumber,
    RowPlan,
    RowStep,
    Span,
    planned_rows,
    solved,
    steps_within,
    variables,
)
from kodec.generator.plan.steps import CheckLength, Checksum, Fixed, FixedNumber, Mark, Slot, When
from kodec.generator.plan.values import FieldOf, Value, Whole, values_in
from kodec.generator.problems import Place
from kodec.generator.reserved import Taken
from kodec.generator.schema.model import Model, Schema, Struct
from kodec.generator.schema.type_roles import listed_rows, row_content
from kodec.generator.targets.native.columns import Columns
from kodec.generator.targets.native.expressions import Expressions, bare, literal
from kodec.generator.targets.native.kernel_plan import (
    BoundPlan,
    CodecPlan,
    CodecValue,
    ColumnPlan,
    DerivedPlan,
    KernelPlan,
    RowsInside,
    WritingPlan,
)
from kodec.generator.targets.native.kernel_plan import Bytes as BytesColumn
from kodec.generator.targets.native.kernel_plan import Flag as FlagColumn
from kodec.generator.targets.native.kernel_plan import Lists as ListColumn
from kodec.generator.targets.native.names import Constants
from kodec.generator.targets.native.objects import gives_objects
from kodec.generator.targets.native.places import Places, kind_of
from kodec.generator.targets.native.writing import Writer, default_of
from kodec.generator.wire import WIRE

__all__ = ["PlannedKernel", "kernel_of", "planned"]


def kernel_of(model: Model, schema: Schema) -> PlannedKernel | None:
    """The kernel of a schema whose outermost type is a container of rows, or a list of them; else None."""
    try:
        return planned(model, schema)
    except NoRows:
        return None


def planned(model: Model, schema: Schema) -> PlannedKernel:
    """As `kernel_of`. Raises NoRows with the reason if there is none."""
    plan = planned_rows(model, program_of(model), schema)
    content = row_content(model, schema.root)
    unit = schema.root if content is not None else listed_rows(model, schema.root)
    assert unit is not None
    row = unit if content is None else content.row
    try:
        return PlannedKernel(schema, unit, row, None if content is None else content.element, plan)
    except NoRows as error:
        error.place = error.place or row.place
        raise


class PlannedKernel:
    """The data for the templates: the plan of the rows, and its spelling in C. Raises NoRows.

    Attributes:
        unit, row, element: the types of a unit, of a row and of what a unit's content repeats; for comments.
        plan: the rows.
        kernel: what is printed next to them.
        names: the fields that a stop can name; they are there when the code has been printed.
    """

    def __init__(
        self, schema: Schema, unit: Struct, row: Struct, element: Struct | None, plan: RowPlan
    ) -> None:
        self.schema, self.unit, self.row, self.element = schema, unit, row, element
        self.plan = plan
        self.name = schema.id
        self.places = Places(plan)
        self.names = Constants("FIELD", "")
        self.text = Expressions(self.places)
        self._marks: dict[tuple[str, bool], str] = {}
        self._mark_names = Taken()
        self._fields = dict(variables((*plan.head, *(plan.element or ()))))
        self._check()
        self.kernel = self._planned()

    @property
    def kind(self) -> str:
        """Whether a unit holds rows (`container`) or is one (`listed`): the template of what differs."""
        return "listed" if self.plan.element is None else "container"

    # -- limits -----------------------------------------------------------------------------------

    def _check(self) -> None:
        plan = self.plan
        if any(isinstance(each, Elements) for each in steps_within(plan.head)):
            raise NoRows("a list in the head of a container", self.unit.place)
        checksums = [each for each in steps_within(plan.head) if isinstance(each, Checksum)]
        for each in checksums[1:]:
            text = f"`{each.name}` is a checksum beside another one, or in a row"
            raise NoRows(text, plan.fields[each.name].place)
        for path, made in self._fields.items():
            if not isinstance(made, Span) and made.rules and not _is_whole(made):
                raise NoRows(f"`{path}` has a rule that is not about a whole number", plan.fields[path].place)
        for listed in self.places.lists:
            if any(each.members for each in self.places.item_members(listed)):
                raise NoRows(f"`{listed.name}` repeats what is not flat", plan.fields[listed.name].place)
        if not plan.columns:
            raise NoRows("its rows have no columns")
        if not plan.head or (plan.element is not None and not plan.element):
            raise NoRows("its rows have no bytes")
        for step in (*plan.head, *(plan.element or ())):
            self._spelled(step)

    def _spelled(self, step: RowStep) -> None:
        """Print the value that a step computes, which shows whether it is a number."""
        try:
            for each in steps_within((step,)):
                match each:
                    case Fixed():
                        for slot in each.slots:
                            self.text.rules(slot.rules, "")
                    case RowNumber():
                        self.text.rules(each.rules, "")
                    case When(test):
                        self.text.test(test)
                    case Elements(count=size) | CheckLength(plus=size):
                        self.size(size)
                    case _:
                        self.size(getattr(each, "size", None))
        except NoRows as error:
            error.place = error.place or self._place_of(step)
            raise

    def _place_of(self, step: RowStep) -> Place | None:
        found = self.plan.fields.get(self.first(step))
        return None if found is None else found.place

    # -- spelling ---------------------------------------------------------------------------------

    @staticmethod
    def step_kind(step: RowStep) -> str:
        return type(step).__name__

    def field(self, path: str) -> str:
        """The constant by which a stop names a field."""
        return self.names(self.places.named(path))

    def first(self, step: RowStep) -> str:
        """The path of the first field of a step."""
        if isinstance(step, Fixed):
            return ".".join(step.slots[0].path)
        return self.first(step.steps[0]) if isinstance(step, When) else step.name  # type: ignore[arg-type]

    def size(self, size: Value | None) -> str:
        return "" if size is None else bare(self.text.number(size))

    def fixed(self, path: str) -> tuple[str, str]:
        """(wire type, order) of a number of fixed width."""
        made = self._fields[path]
        if isinstance(made, Slot) and made.wire is not None:
            return made.wire, made.order
        if isinstance(made, RowNumber) and isinstance(made.element, FixedNumber):
            return made.element.wire, made.element.order
        raise NoRows(f"`{path}` is no number of fixed width")

    def loads(self, step: Fixed) -> Iterator[str]:
        """A line for each number of a run at `p`."""
        for slot in step.slots:
            target = self.places(".".join(slot.path))
            if slot.bits is not None:
                shift, width = slot.bits
                bits = f"kd_load_bits(p + {slot.offset}, {slot.size})" + (f" >> {shift}" if shift else "")
                yield f"{target} = (int64_t)({bits} & {(1 << width) - 1:#x});"
            elif slot.wire is None:
                yield f"{target} = (kd_span){{p + {slot.offset}, {slot.size}}};"
            else:
                yield f"{target} = {self._load(slot.wire, slot.order, slot.offset)};"

    def load(self, step: RowNumber) -> str:
        assert isinstance(step.element, FixedNumber)
        return f"{self.places(step.name)} = {self._load(step.element.wire, step.element.order, 0)};"

    @staticmethod
    def _load(wire: str, order: str, offset: int) -> str:
        form = WIRE[wire]
        at = f"p + {offset}" if offset else "p"
        raw = f"kd_load_u{form.least}{order if form.least > 1 else ''}({at})"
        if form.kind == "float":
            assert form.c is not None
            return f"kd_{form.c.kind}_of({raw})"
        assert form.range is not None
        return f"(int{8 * form.least}_t){raw}" if form.range[0] < 0 else raw

    def stored(self, step: CheckLength) -> str:
        return self.text.number(FieldOf(step.name, self._whole(step.name)))

    def _whole(self, path: str) -> Whole:
        low, high = WIRE[self.fixed(path)[0]].range or (0, 0)
        return Whole(low, high)

    @staticmethod
    def width(step: RowNumber) -> int:
        return WIRE[step.element.wire].least if isinstance(step.element, FixedNumber) else 0

    def ruled(self, step: Fixed | RowNumber) -> Iterator[tuple[str, str, str]]:
        """The test, the field's constant, and the field's place."""
        if isinstance(step, RowNumber):
            if step.rules:
                yield self.text.rules(step.rules, self.places(step.name)), self.field(step.name), "p"
            return
        for slot in step.slots:
            path = ".".join(slot.path)
            if slot.rules:
                yield self.text.rules(slot.rules, self.places(path)), self.field(path), f"p + {slot.offset}"

    def absent(self, step: RowNumber | Span) -> str:
        """The line for a field that a condition leaves out."""
        target = self.places(step.name)
        if isinstance(step, Span):
            return f"{target} = (kd_span){{{'NULL' if step.nullable else 'p'}, 0}};"
        assert step.absent is not None
        value = step.absent.value
        assert isinstance(value, int | float)
        real = kind_of(step) in ("float", "double")
        return f"{target} = {repr(float(value)) if real else literal(int(value))};"

    def conditional(self, step: When) -> Iterator[RowNumber | Span]:
        for each in step.steps:
            if isinstance(each, RowNumber | Span):
                yield each

    def _is_used(self, mark: Mark) -> bool:
        """Whether a reader needs the place: a writer comes back to lengths and checksums too."""
        checks = (each for each in steps_within(self.plan.head) if isinstance(each, (CheckLength, Checksum)))
        return mark.end or any(each.first == mark.name for each in checks)

    def marks(self, steps: tuple[RowStep, ...]) -> Iterator[tuple[RowStep, list[Mark]]]:
        """The steps, each with the places in it that are remembered."""
        found: list[Mark] = []
        for step in steps:
            if isinstance(step, Mark) and not step.end:
                found.append(step)
                continue
            inside = step.steps if isinstance(step, When) else ()
            found += [each for each in inside if isinstance(each, Mark)]
            yield step, [each for each in found if self._is_used(each)]
            found = []

    def assigned(self, steps: tuple[RowStep, ...]) -> Iterator[RowStep]:
        """Steps under a condition, without places that no reader needs."""
        return (each for each in steps if not isinstance(each, Mark) or self._is_used(each))

    def mark(self, path: str, *, end: bool = False) -> str:
        """The variable with the start or the end of a field."""
        key = path, end
        if key not in self._marks:
            which = "end_of" if end else "start_of"
            self._marks[key] = self._mark_names.claim(f"{which}_{self.places.within(path).replace('.', '_')}")
        return self._marks[key]

    def until(self, step: CheckLength | Checksum) -> str:
        return "p" if step.last is None else self.mark(step.last, end=True)

    # -- the rest ---------------------------------------------------------------------------------

    def _planned(self) -> KernelPlan:
        plan = self.plan
        columns_of = Columns(plan, self.places, self.text)
        columns = columns_of.of_rows()
        bounds = tuple(self._bounds(columns))
        object_columns = tuple(
            each for each, column in zip(columns, plan.columns, strict=True) if not column.told
        )
        try:
            write = self._write(object_columns)
        except NoRows:
            write = None
        return KernelPlan(
            inside=self._inside(),
            codec=self._codec(),
            columns=columns,
            object_columns=object_columns,
            heads=columns_of.of_heads(bounds),
            unless=None if plan.hidden is None else self.text.test(plan.hidden),
            bounds=bounds,
            write=write,
            objects=gives_objects(object_columns),
        )

    def _inside(self) -> RowsInside | None:
        plan = self.plan
        if plan.element is None:
            return None
        assert isinstance(plan.count, FieldOf)
        return RowsInside(
            count=self.places(plan.count.name),
            count_field=self.field(plan.count.name),
            payload=self.places(plan.content),
            optional=any(
                isinstance(each, When) and any(inner.name == plan.content for inner in self.conditional(each))
                for each in steps_within(plan.head)
            ),
        )

    def _bounds(self, columns: tuple[ColumnPlan, ...]) -> Iterator[BoundPlan]:
        """The container's facts about a column."""
        for bound in self.plan.bounds:
            column = next((each for each in columns if each.name == bound.column), None)
            if column is not None:
                first, last = (None if v is None else self.text.number(v) for v in (bound.first, bound.last))
                yield BoundPlan(column.constant, column.name, first, last)

    def _codec(self) -> CodecPlan | None:
        """The compressible field, wherever in the unit it is."""
        packed = self.plan.packed
        if packed is None:
            return None
        if not isinstance(packed.by, FieldOf):
            raise NoRows("a codec that no field says")
        swapped = dict(packed.replaced)
        return CodecPlan(
            by=self.places(packed.by.name),
            field=self.field(packed.by.name),
            content=self.places(self.plan.packed_at),
            values=tuple(CodecValue(value, name, swapped.get(name, name)) for value, name in packed.codecs),
            none=next((value for value, name in packed.codecs if name == "none"), 0),
            when=None if packed.when is None else self.text.test(packed.when),
        )

    # -- writing ----------------------------------------------------------------------------------

    def _write(self, columns: tuple[ColumnPlan, ...]) -> WritingPlan:
        """The plans for writing rows and, around them, units."""
        plan = self.plan
        if plan.compared:
            raise NoRows("a size is not computed of what is written")
        fed: dict[str, str] = {}
        limits: dict[str, str] = {}
        inputs = tuple(column for column in columns if self._feed(column, fed, limits))

        def row_source(path: str) -> str:
            if path in fed:
                return fed[path]
            made, known = self._fields[path], plan.fields[path]
            if plan.element is None and kind_of(made) != "blob":
                return self.places(path)
            value = None if known.ruled or kind_of(made) == "blob" else default_of(known.default)
            if value is None:
                raise NoRows(f"no column shows what `{path}` is")
            return value

        def row_limit(path: str) -> str:
            if path not in limits:
                raise NoRows(f"no column shows what `{path}` is")
            return limits[path]

        def pair(path: str) -> tuple[str, str]:
            return f"{fed[path]}.starts[row]", f"{fed[path]}.starts[row + 1]"

        steps = plan.head if plan.element is None else plan.element
        row = Writer(self, steps, row_source, row_limit, pair)
        if plan.element is None:
            return WritingPlan(inputs, row, None, ())

        def unit_source(path: str) -> str:
            return "written" if path == plan.content else self.places(path)

        unit = Writer(
            self, plan.head, unit_source, lambda path: "({0}.data + {0}.size)".format(unit_source(path)), pair
        )
        before = _constant_before(unit.terms(plan.head), f"{unit.span(plan.content)}.size")
        return WritingPlan(inputs, row, unit, tuple(self._derived(row)), before)

    def _feed(self, column: ColumnPlan, fed: dict[str, str], limits: dict[str, str]) -> bool:
        """Note which field the column provides when it is written; false if none."""
        name = f"in->{column.c_name}"
        match column:
            case ListColumn():
                fed[column.path] = name
                for child in column.children:
                    if isinstance(child, FlagColumn) or not child.path:
                        raise NoRows(f"`{child.name}` in the list `{column.name}` is not written")
                    if isinstance(child, BytesColumn):
                        fed[child.path] = f"kd_text_at(&{name}.{child.c_name}, item)"
                        limits[child.path] = f"{name}.{child.c_name}.end"
                    else:
                        fed[child.path] = f"{name}.{child.c_name}[item]"
                return True
            case FlagColumn():
                raise NoRows(f"the flag `{column.name}` is not written from a column")
            case BytesColumn():
                fed[column.path] = f"kd_text_at(&{name}, row)"
                limits[column.path] = f"{name}.end"
                return True
        if column.expression is None:
            fed[column.path] = f"{name}[row]"
            return True
        text = Expressions(self.places, bounded=False)
        for path in sorted(self._of_row(column.expression)):
            base = solved(column.expression, path)
            if base is not None and not self._of_row(base):
                fed[path] = f"kd_sub({name}[row], {text.number(base)}, &wrong)"
                return True
        return False

    def _of_row(self, value: Value) -> set[str]:
        """The fields of the row itself."""
        paths = {each.name for each in values_in(value) if isinstance(each, FieldOf)}
        return {each for each in paths if self.plan.element is None or self.places.in_content(each)}

    def _derived(self, writer: Writer) -> Iterator[DerivedPlan]:
        """A field of a head that is derived from its rows: the last or the largest of one of their fields."""
        text = Expressions(self.places, bounded=False)
        for path, known in self.plan.fields.items():
            derived = known.derived
            if derived is None or derived.kind not in ("last", "most") or self.places.in_content(path):
                continue
            member = ".".join((derived.of, *derived.member))
            if derived.of != self.plan.content:
                raise NoRows(f"`{path}` is derived from what is not in the rows")
            result = found = f"derived_{path.replace('.', '_')}"
            if derived.plus is not None:
                result = f"kd_add({found}, {text.number(derived.plus)}, &wrong)"
            when = None if derived.when is None else text.test(derived.when)
            yield DerivedPlan(found, self.places(path), derived.kind, writer.value(member), result, when)


def _is_whole(made: Slot | RowNumber) -> bool:
    return kind_of(made) in ("int", "uint")


def _constant_before(sizes: list[str], of_content: str) -> int | None:
    """How many bytes of a unit are before its content; None if that is not always the same."""
    before = 0
    for size in sizes:
        if of_content in size:
            return before
        if not size.isdigit():
            return None
        before += int(size)
    return None
