"""The fast path of the Python back end: the rows of a container, read and written in one straight loop.

A row reader looks at no field twice and checks no bound that a later check covers: each record must end
where its length says, the last one where the data ends, and indexing past the end raises. When
anything is wrong, the careful reader of the same layout is run to say what and where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from kodec.generator.layout import Layout, Run, solve
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bytes, Column, Field, Prim, Ref, Str, Struct, Valid
from kodec.generator.schema.roles import row_content
from kodec.generator.targets.python.expressions import emit
from kodec.generator.targets.python.names import attribute, column_local
from kodec.generator.targets.python.types import Types
from kodec.generator.targets.python.views.rows import (
    Assign,
    Blob,
    HeadColumn,
    ListOp,
    Part,
    RowColumn,
    RowOp,
    Rows,
    Skip,
    Varint,
)
from kodec.generator.wire import ENCODINGS, VARINTS, WIRE

__all__ = ["rows_view"]


class _NotFlat(Exception):
    """The row holds something that the fast path does not do; the careful reader still does."""


def rows_view(module: Types, struct: Struct, function: str) -> Rows | None:
    """The view of the row functions of container `struct`, or None where it has no rows."""
    content = row_content(module.model, struct)
    if content is None:
        return None
    holder, element, row, count = content.holder, content.element, content.row, content.count
    try:
        flat = _Flat(module, row)
        ops = flat.ops(element, module.layouts.layout(element, {}))
    except _NotFlat:
        return None
    columns = flat.columns()
    hoist = _Hoist(module, struct, flat.locals)
    computed = [module.layouts.inline(row, column.value) for column, _ in columns if column.value is not None]
    if not {name for expr in computed for name in ex.names(expr)} <= flat.numbers | {"_batch"}:
        return None
    values = [
        hoist.text(module.layouts.inline(row, column.value))
        if column.value is not None
        else column_local(column.name)
        for column, _ in columns
    ]
    inverse = _inverse(module, columns, hoist)
    return Rows(
        reader=f"read_{function}_rows",
        writer=f"write_{function}_rows",
        container=module.back.classes[struct.name],
        name=f"{module.back.classes[element.name]}Row",
        field=attribute(holder.id),
        path=holder.id,
        count=attribute(count.id),
        least=module.layouts.layout(element, {}).min_size,
        columns=tuple(
            RowColumn(attribute(column.name), kind, value)
            for (column, kind), value in zip(columns, values, strict=True)
        ),
        ops=ops,
        hoisted=tuple(hoist.lines),
        inverse=tuple(inverse),
        texts=flat.texts,
        lists=any(op.kind == "list" for op in _inside(ops)),
        texts_in_lists=any(
            isinstance(each, Blob) and each.encoding is not None and not each.nullable
            for op in _inside(ops)
            if isinstance(op, ListOp)
            for each in op.ops
        ),
        head_types=f"HEAD_TYPES_OF_{function.upper()}_ROWS",
        head_values=f"head_of_{function}_rows",
        head=tuple(
            HeadColumn(column.name, column.type or "int64", hoist.of_container(column.value))
            for column in row.row_head
            if column.value is not None
        ),
    )


def _inside(ops: Iterable[RowOp]) -> Iterator[RowOp]:
    """The operations, also those inside a sized part."""
    for op in ops:
        yield op
        if isinstance(op, Part):
            yield from _inside(op.ops)


class _Hoist:
    """Puts whatever depends on the container alone before the loop."""

    def __init__(self, module: Types, container: Struct, taken: set[str]) -> None:
        self.module = module
        self.container = container
        self.taken = taken
        """Locals that the loop has for what it reads."""
        self.lines: list[Assign] = []
        self._known: dict[str, str] = {}

    def text(self, expr: ex.Expr) -> str:
        return emit(ex.replace(expr, self._swap), self._resolve, self.module.model)

    def of_container(self, expr: ex.Expr) -> str:
        """What depends on the container alone, as it is written where the container is `batch`."""
        named = ex.replace(expr, lambda e: self._swap(e) if isinstance(e, ex.EnumValue) else None)
        return emit(named, lambda name: "batch" if name == "_batch" else name, self.module.model)

    def _resolve(self, name: str) -> str:
        return name if name in self._known.values() else column_local(name)

    def _swap(self, part: ex.Expr) -> ex.Expr | None:
        if isinstance(part, ex.EnumValue) and part.enum.partition("::")[0] == part.enum:
            return ex.EnumValue(f"{self.container.name.partition('::')[0]}::{part.enum}", part.value)
        if isinstance(part, (ex.Literal, ex.EnumValue, ex.Name)) or ex.names(part) != {"_batch"}:
            return None
        part = ex.replace(part, lambda e: self._swap(e) if isinstance(e, ex.EnumValue) else None)
        text = emit(part, lambda name: "batch" if name == "_batch" else name, self.module.model)
        if text not in self._known:
            name = (
                text.replace("batch.", "").replace(".", "_")
                if isinstance(part, ex.Attr)
                else f"known_{len(self.lines) + 1}"
            )
            if name in self.taken or name != column_local(name):
                name = f"known_{len(self.lines) + 1}"
            self._known[text] = name
            self.lines.append(Assign(name, text))
        return ex.Name(self._known[text])


def _inverse(module: Types, columns: list[tuple[Column, str]], hoist: _Hoist) -> list[Assign]:
    """How a stored field follows from its column: `offset_delta = offset - base_offset`."""
    found = []
    for column, _ in columns:
        source = f"row.{attribute(column.name)}"
        if column.value is None:
            found.append(Assign(column_local(column.name), source))
            continue
        for name in sorted(ex.names(column.value) - {"_batch"}):
            base = solve(column.value, name)
            if base is not None:
                found.append(Assign(column_local(name), f"{source} - {hoist.text(base)}"))
    return found


def _only_not_negative(spec: Field) -> bool:
    """Whether all that is asked of a length is what its use as a length asks anyway."""
    return spec.derive is not None and spec.derive.is_length and spec.valid == Valid(min=ex.Literal(0))


class _Flat:
    """Flattens a row into operations on one buffer."""

    def __init__(self, module: Types, row: Struct) -> None:
        self.module = module
        self.row = row
        self.numbers: set[str] = set()
        self.locals: set[str] = set()
        self.texts = False
        self._stops = 0

    def columns(self) -> list[tuple[Column, str]]:
        """The row's columns in order, with their Python types."""
        found: dict[str, tuple[Column, str]] = {}
        for spec in self.row.fields:
            if not self.module.stored(self.row, spec) or (spec.column is not None and spec.column.hidden):
                continue
            column = spec.column or Column(spec.id)
            found[column.name] = (column, self._type(spec))
        if not self.row.columns:
            return list(found.values())
        ordered = []
        for item in self.row.columns:
            ordered.append((item, "int") if isinstance(item, Column) else found[item])
        return ordered

    def _type(self, spec: Field) -> str:
        if spec.repeat is None:
            return self.module.annotation(self.row, spec)
        return self._type_in(self.row, spec)

    def _type_in(self, owner: Struct, spec: Field) -> str:
        assert isinstance(spec.type, Ref)
        struct = self.module.model.struct(spec.type.target)
        parts = [self.module.annotation(struct, f) for f in struct.fields if self.module.stored(struct, f)]
        return f"tuple[tuple[{', '.join(parts)}], ...]"

    def ops(self, struct: Struct, layout: Layout, prefix: str = "") -> tuple[RowOp, ...]:
        """`prefix` keeps the names of a list's elements apart from those of the row."""
        found: list[RowOp] = []
        length: Field | None = None
        for step in layout.steps:
            if isinstance(step, Run):
                found.append(self._run(step))
                continue
            spec = step.field
            if spec.enum is not None or (spec.valid is not None and not _only_not_negative(spec)):
                raise _NotFlat
            wire = self.module.layouts.wire_of(struct, spec.id)
            if wire in VARINTS and spec.repeat is None and spec.condition is None:
                if (
                    spec.derive is not None
                    and spec.derive.is_length
                    and spec.derive.last is None
                    and spec.derive.plus is None
                ):
                    if not WIRE[wire].zigzag or WIRE[wire].bits != 32:
                        raise _NotFlat
                    length = spec
                    continue
                self.numbers.add(prefix + spec.id)
                self.locals.add(column_local(prefix + spec.id))
                found.append(Varint(column_local(prefix + spec.id), wire, WIRE[wire].zigzag))
                continue
            if length is None or length.derive is None or length.derive.first != spec.id:
                raise _NotFlat
            found.append(self._measured(struct, spec, prefix))
            length = None
        return tuple(found)

    def _run(self, run: Run) -> Skip:
        default = b""
        for item in run.fields:
            spec = item.field
            if (
                spec is None
                or not isinstance(item.what, Prim)
                or spec.column is None
                or not spec.column.hidden
                or spec.valid is not None
                or spec.enum is not None
                or item.what.floating
            ):
                raise _NotFlat
            value = spec.default.value if isinstance(spec.default, ex.Literal) else 0
            order: Literal["little", "big"] = "little" if item.what.endian == "le" else "big"
            default += int(value).to_bytes(item.size, order, signed=item.what.signed)
        return Skip(run.size, repr(default), ", ".join(item.field.id for item in run.fields if item.field))

    def _measured(self, struct: Struct, spec: Field, prefix: str) -> Blob | ListOp | Part:
        var = column_local(prefix + spec.id)
        self.locals.add(var)
        if spec.repeat == "expr" and isinstance(spec.type, Ref):
            element = self.module.model.struct(spec.type.target)
            inner = self.ops(element, self.module.layouts.layout(element, {}), f"{var}_")
            names = [column_local(f"{var}_{f.id}") for f in element.fields if self.module.stored(element, f)]
            return ListOp(var, inner, tuple(names), self._type_in(struct, spec))
        if isinstance(spec.type, (Bytes, Str)):
            text = ENCODINGS[spec.type.encoding] if isinstance(spec.type, Str) else None
            self.texts = self.texts or text is not None
            python, errors = (None, "") if text is None else (text.python, text.errors)
            return Blob(var, spec.nullable is not None, python, errors)
        if isinstance(spec.type, Ref):
            element = self.module.model.struct(spec.type.target)
            self._stops += 1
            stop = "stop" if self._stops == 1 else f"stop_{self._stops}"
            return Part(self.ops(element, self.module.layouts.layout(element, {}), prefix), stop)
        raise _NotFlat
