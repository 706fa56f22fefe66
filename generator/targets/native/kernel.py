"""From the model to the plan of a kernel: the units of a log, their rows, and how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kodec.generator.layout import Layouts, solve
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Model, Prim, Ref, Schema, Str, Struct
from kodec.generator.schema.roles import RowContent, listed_rows, row_content
from kodec.generator.targets.native.columns import head_columns, row_columns
from kodec.generator.targets.native.expressions import NotColumnar, literal, standing_at
from kodec.generator.targets.native.names import c_name
from kodec.generator.targets.native.objects import gives_objects
from kodec.generator.targets.native.plan import Member, Names, Parser, Scope
from kodec.generator.targets.native.steps import (
    BoundPlan,
    CodecPlan,
    CodecValue,
    ColumnPlan,
    DerivedPlan,
    KernelPlan,
    PutPlan,
    RowsInside,
    WritingPlan,
)
from kodec.generator.targets.native.steps import Bytes as BytesColumn
from kodec.generator.targets.native.steps import Flag as FlagColumn
from kodec.generator.targets.native.steps import Lists as ListColumn
from kodec.generator.targets.native.writing import WritePlan, Writer, total

__all__ = ["Kernel", "PlannedKernel", "kernel_of", "planned"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """What one kernel is made from.

    Attributes:
        schema: whose log of units it reads.
        unit: the type of which one follows another.
        row: the type of one row, the unit itself where `content` is None.
        content: the rows inside a unit, where it is a container.
    """

    schema: Schema
    unit: Struct
    content: RowContent | None
    row: Struct

    @property
    def name(self) -> str:
        return self.schema.id

    @property
    def kind(self) -> str:
        """Whether a unit holds rows (`container`) or is one (`listed`): the template of what differs."""
        return "listed" if self.content is None else "container"

    @property
    def element(self) -> Struct | None:
        """What the content of a unit repeats."""
        return None if self.content is None else self.content.element


@dataclass(frozen=True, slots=True)
class PlannedKernel:
    kernel: Kernel
    plan: KernelPlan


def kernel_of(model: Model, schema: Schema) -> PlannedKernel | None:
    """The kernel of a schema whose outermost type is a container of rows, or a list of them; else None."""
    try:
        return planned(model, schema)
    except NotColumnar:
        return None


def planned(model: Model, schema: Schema) -> PlannedKernel:
    """As `kernel_of`. Raises NotColumnar, which says why there is none."""
    found = _container(model, schema.root, schema) or _plain_list(model, schema.root, schema)
    if found is None:
        raise NotColumnar("its outermost type is neither a container of rows nor a list of them")
    return PlannedKernel(found, _Builder(model, Layouts(model), found).build())


def _container(model: Model, struct: Struct, schema: Schema) -> Kernel | None:
    """A type with a compressible field that holds rows."""
    content = row_content(model, struct)
    return None if content is None else Kernel(schema, struct, content, content.row)


def _plain_list(model: Model, struct: Struct, schema: Schema) -> Kernel | None:
    """A type that is rows to its end, one after another."""
    unit = listed_rows(model, struct)
    return None if unit is None else Kernel(schema, unit, None, unit)


class _Builder:
    def __init__(self, model: Model, layouts: Layouts, kernel: Kernel) -> None:
        self.model = model
        self.layouts = layouts
        self.kernel = kernel
        self.names = Names()

    def build(self) -> KernelPlan:
        kernel = self.kernel
        parser = Parser(self.model, self.layouts, self.names)
        parser.checksums = 1
        unit = Scope("u->", kernel.unit, [])
        unit_steps = parser.parse(unit, "")
        if parser.lists:
            raise NotColumnar("a list in the head of a container", kernel.unit.place)
        codec = self._codec(unit)
        inside: RowsInside | None = None
        if kernel.content is None:
            element = row = Scope("u->", kernel.row, unit.members)
            with standing_at(kernel.row.place):
                columns = row_columns(kernel.row, row, self._compute)
        else:
            element, row, columns, inside = self._rows_inside(kernel.content, unit)
        if not columns:
            raise NotColumnar("its rows have no columns", kernel.row.place)
        if not unit_steps or (inside is not None and not inside.steps):
            raise NotColumnar("its rows have no bytes", kernel.row.place)
        with standing_at(kernel.row.place):
            unless = None if kernel.row.row_unless is None else self._condition(kernel.row.row_unless, row)
            bounds = self._bounds(row, columns)
        object_columns = columns[: len(columns) - len(kernel.row.row_head)]
        heads = head_columns(unit, bounds, self._compute)
        try:
            write = self._write(unit, element, row, object_columns)
        except NotColumnar:
            write = None
        return KernelPlan(
            unit_steps=unit_steps,
            unit_members=tuple(unit.members),
            unit_least=self.layouts.layout(kernel.unit, {}).min_size,
            inside=inside,
            codec=codec,
            columns=columns,
            object_columns=object_columns,
            heads=heads,
            unless=unless,
            bounds=bounds,
            write=write,
            objects=gives_objects(object_columns),
            names=tuple(self.names.all.items()),
        )

    def _rows_inside(
        self, content: RowContent, unit: Scope
    ) -> tuple[Scope, Scope, tuple[ColumnPlan, ...], RowsInside]:
        """The scopes of an element and of the row in it, the row's columns, and how elements are read."""
        holder = content.holder
        parser = Parser(self.model, self.layouts, self.names)
        element = Scope("row.", content.element, [], unit)
        steps = parser.parse(element, f"{holder.id}[]")
        row = element
        if content.row is not content.element:
            member = next(each for each in element.members if each.spec.type == Ref(content.row.name))
            row = Scope(f"row.{member.name}.", content.row, member.members, unit)
        with standing_at(content.row.place):
            columns = row_columns(content.row, row, self._compute)
        inside = RowsInside(
            steps=steps,
            members=tuple(element.members),
            lists=tuple(parser.lists),
            least=max(1, self.layouts.layout(content.element, {}).min_size),
            count=f"u->{c_name(content.count.id)}",
            count_field=self.names(content.count.id),
            payload=f"u->{c_name(holder.id)}",
            optional=holder.condition is not None,
        )
        return element, row, columns, inside

    def _bounds(self, scope: Scope, columns: tuple[ColumnPlan, ...]) -> tuple[BoundPlan, ...]:
        """What the container says of a column."""
        found = []
        for bound in self.kernel.row.row_bounds:
            column = next((each for each in columns if each.name == bound.column), None)
            if column is not None:
                first = None if bound.first is None else self._compute(bound.first, scope)
                last = None if bound.last is None else self._compute(bound.last, scope)
                found.append(BoundPlan(column.constant, column.name, first, last))
        return tuple(found)

    def _compute(self, expr: ex.Expr, scope: Scope) -> str:
        return Parser(self.model, self.layouts, self.names).number(self._known(expr), scope)

    def _condition(self, expr: ex.Expr, scope: Scope) -> str:
        return Parser(self.model, self.layouts, self.names).condition(self._known(expr), scope)

    def _known(self, expr: ex.Expr) -> ex.Expr:
        """Enums of the container's schema with their full names."""

        def swap(part: ex.Expr) -> ex.Expr | None:
            if isinstance(part, ex.EnumValue) and "::" not in part.enum:
                return ex.EnumValue(f"{self.kernel.schema.id}::{part.enum}", part.value)
            return None

        return ex.replace(self.layouts.inline(self.kernel.row, expr), swap)

    # -- compressed content -----------------------------------------------------------------------

    def _codec(self, unit: Scope) -> CodecPlan | None:
        """The compressible field, wherever in the unit it is."""
        found = _find_codec(unit.members, "u->")
        if found is None:
            return None
        text, member, siblings = found
        codec = member.spec.codec
        assert codec is not None
        scope = Scope(text.rpartition(member.name)[0], member.owner, siblings)
        parser = Parser(self.model, self.layouts, self.names)
        by = scope.find(codec.by)
        if by is None or by[1].spec.enum is None:
            raise NotColumnar("a codec that no enum says", member.spec.at("-codec"))
        enum = self.model.enum(by[1].spec.enum)
        swapped = dict(codec.replace)
        when = None if codec.when is None else parser.condition(codec.when, scope)
        return CodecPlan(
            by=by[0],
            field=self.names(by[1].path),
            content=text,
            values=tuple(
                CodecValue(item.value, item.id, swapped.get(item.id, item.id)) for item in enum.items
            ),
            none=next((item.value for item in enum.items if item.id == "none"), 0),
            when=when,
        )

    # -- writing ----------------------------------------------------------------------------------

    def _write(self, unit: Scope, element: Scope, row: Scope, columns: tuple[ColumnPlan, ...]) -> WritingPlan:
        """The plans for writing rows and, around them, units."""
        kernel = self.kernel
        root = element.root
        fed: dict[str, str] = {}
        limits: dict[str, str] = {}
        inputs = tuple(column for column in columns if self._feed(column, row, root, fed, limits))

        def row_source(key: str, spec: Field) -> Any:
            if key.startswith("limit:"):
                return limits[key[6:]]
            if key in fed:
                return _pair(fed[key]) if spec.repeat is not None else fed[key]
            if kernel.content is None and not isinstance(spec.type, (Bytes, Str)):
                return "u->" + ".".join(map(c_name, key.split(".")))
            if isinstance(spec.type, (Prim, Bits, Ref)) and spec.repeat is None and spec.valid is None:
                value = spec.default.value if isinstance(spec.default, ex.Literal) else 0
                return literal(int(value))
            raise NotColumnar(f"no column says what `{spec.id}` is")

        writer = Writer(self.model, self.layouts, row_source, self.names)
        if kernel.content is None:
            plan = writer.plan(element.struct, element.members, "", "", element)
            return WritingPlan(inputs, _put(plan), None, ())
        holder = kernel.content.holder.id
        plan = writer.plan(element.struct, element.members, "", f"{holder}[]", element)
        head = Writer(self.model, self.layouts, self._unit_source(holder), self.names)
        around = head.plan(kernel.unit, unit.members, "", "", unit)
        derived = tuple(
            self._derived(spec, holder, unit, row, root, writer)
            for spec in kernel.unit.fields
            if spec.derive is not None and spec.derive.kind in ("last", "max")
        )
        before = _constant_before(around.size, f"{head.spans[holder]}.size")
        return WritingPlan(inputs, _put(plan), _put(around), derived, before)

    def _feed(
        self, column: ColumnPlan, row: Scope, root: str, fed: dict[str, str], limits: dict[str, str]
    ) -> bool:
        """Note which field the column gives when it is written; false where it gives none."""
        name = f"in->{column.c_name}"
        if isinstance(column, ListColumn):
            member = next((each for each in _lists(row.members) if each.list_index == column.list), None)
            if member is None:
                raise NotColumnar(f"the list `{column.name}` is not written")
            path = row.root.removeprefix(root) + member.spec.id
            fed[path] = name
            for child in column.children:
                if isinstance(child, FlagColumn) or child.member is None:
                    raise NotColumnar(f"`{child.name}` in the list `{column.name}` is not written")
                key = f"{path}.{child.member.spec.id}"
                if isinstance(child, BytesColumn):
                    fed[key] = f"kd_text_at(&{name}.{child.c_name}, item)"
                    limits[key] = f"{name}.{child.c_name}.end"
                else:
                    fed[key] = f"{name}.{child.c_name}[item]"
            return True
        if isinstance(column, FlagColumn):
            raise NotColumnar(f"the flag `{column.name}` is not written from a column")
        if isinstance(column, BytesColumn):
            fed[column.member.path] = f"kd_text_at(&{name}, row)"
            limits[column.member.path] = f"{name}.end"
            return True
        if column.expression is None:
            assert column.member is not None
            fed[column.member.path] = f"{name}[row]"
            return True
        expression = self._known(column.expression)
        parser = Parser(self.model, self.layouts, self.names)
        for ident in sorted(ex.names(expression) - {"_batch"}):
            base = solve(expression, ident)
            if base is None or ex.names(base) - {"_batch"}:
                continue
            path = row.root.removeprefix(root) + ident
            fed[path] = f"kd_sub({name}[row], {parser.number(base, row)}, &wrong)"
            return True
        return False

    def _unit_source(self, holder: str) -> Any:
        def source(key: str, spec: Field) -> str:
            if key == holder:
                return "written"
            if key == f"limit:{holder}":
                return "(written.data + written.size)"
            text = "u->" + ".".join(map(c_name, key.removeprefix("limit:").split(".")))
            return f"({text}.data + {text}.size)" if key.startswith("limit:") else text

        return source

    def _derived(
        self, spec: Field, holder: str, unit: Scope, row: Scope, root: str, writer: Writer
    ) -> DerivedPlan:
        """What a head says of its rows: the last, or the largest, of one of their fields."""
        derive = spec.derive
        assert derive is not None
        key = f"{row.root.removeprefix(root)}{derive.member}"
        if derive.first != holder or key not in writer.values:
            raise NotColumnar(f"`{spec.id}` is derived from what is not in the rows")
        parser = Parser(self.model, self.layouts, self.names)
        result = f"derived_{spec.id}"
        if derive.plus is not None:
            result = f"kd_add({result}, {parser.number(derive.plus, unit)}, &wrong)"
        when = None if derive.when is None else self._condition(derive.when, unit)
        return DerivedPlan(spec.id, c_name(spec.id), derive.kind, writer.values[key], result, when)


def _find_codec(members: list[Member], root: str) -> tuple[str, Member, list[Member]] | None:
    for member in members:
        if member.spec.codec is not None:
            return f"{root}{member.name}", member, members
        if member.kind == "struct":
            found = _find_codec(member.members, f"{root}{member.name}.")
            if found is not None:
                return found
    return None


def _lists(members: list[Member]) -> list[Member]:
    return [member for member in members if member.kind == "list"]


def _pair(text: str) -> tuple[str, str]:
    """Where a row's list starts and stops in its children."""
    return f"{text}.starts[row]", f"{text}.starts[row + 1]"


def _constant_before(sizes: list[str], of_content: str) -> int | None:
    """How many bytes of a unit are before its content; None where that is not always the same."""
    before = 0
    for size in sizes:
        if of_content in size:
            return before
        if not size.isdigit():
            return None
        before += int(size)
    return None


def _put(plan: WritePlan) -> PutPlan:
    return PutPlan(tuple(plan.lines), total(plan.size), tuple(plan.steps))
