"""Checks that the columns and bounds of `-row` refer to existing fields."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.passes.common import path_of, structs
from kodec.generator.problems import Problems, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Column, Field, Model, Ref, Struct
from kodec.generator.schema.type_roles import row_content

__all__ = ["check_rows"]


def check_rows(model: Model, problems: Problems) -> None:
    """Report unknown names in the expressions of rows: of the row, and of each container that holds it."""
    for struct in structs(model):
        if struct.row:
            _unlike(model, struct, problems)
        for key, expr in _expressions(struct):
            known = {field.id for field in struct.fields} | {each.id for each in struct.instances}
            for name in sorted(ex.names(expr) - known - {"_batch"}):
                text = f"`-row`: `{key}`: unknown name `{name}`"
                problems.add(struct.at("-row"), path_of(struct), text, nearest(name, known))
        content = row_content(model, struct)
        if content is not None:
            for key, expr in _expressions(content.row):
                _container(model, struct, content.row, key, expr, problems)


def _names(model: Model, struct: Struct) -> Iterator[tuple[str, Struct, Field | None]]:
    """The columns that keys of a row name, each with the type and the field that has it."""
    for column in (*struct.columns, *struct.row_head):
        yield column.name if isinstance(column, Column) else column, struct, None
    todo, seen = [] if struct.columns else [struct], set[str]()
    while todo:
        held = todo.pop()
        seen.add(held.name)
        for field in held.fields:
            if field.column is not None and not field.column.hidden:
                yield field.column.name, held, field
            elif isinstance(field.type, Ref) and field.repeat is None and field.type.target not in seen:
                todo.append(model.struct(field.type.target))


def _unlike(model: Model, struct: Struct, problems: Problems) -> None:
    found = set[str]()
    for name, held, field in _names(model, struct):
        if name in found:
            place = held.at("-row") if field is None else field.at("-column")
            path = path_of(held, "" if field is None else field.id)
            problems.add(place, path, f"two columns are called `{name}`", "a name of its own")
        found.add(name)


def _expressions(struct: Struct) -> Iterator[tuple[str, ex.Expr]]:
    """Each expression of a row, with its key."""
    for column in (*struct.columns, *struct.row_head):
        if isinstance(column, Column) and column.value is not None:
            yield column.name, column.value
    for field in struct.fields:
        if field.column is not None and field.column.value is not None:
            yield field.column.name, field.column.value
    if struct.row_unless is not None:
        yield "unless", struct.row_unless
    for bound in struct.row_bounds:
        for expr in (bound.first, bound.last):
            if expr is not None:
                yield bound.column, expr


def _container(
    model: Model, container: Struct, row: Struct, key: str, expr: ex.Expr, problems: Problems
) -> None:
    """`_batch` in an expression refers to fields of the container, and enums to the container's."""

    def bad(text: str, hint: str = "") -> None:
        problems.add(row.at("-row"), path_of(row), f"`-row`: `{key}`: {text}", hint)

    owner = model.schema_of(container.name)
    for part in ex.walk(expr):
        if isinstance(part, ex.EnumValue):
            name = part.enum if "::" in part.enum else f"{owner.id}::{part.enum}"
            enum = next((e for schema in model.schemas for e in schema.enums if e.name == name), None)
            if enum is None:
                bad(f"`{container.id}` has no enum `{part.enum}`")
            elif part.value not in [item.id for item in enum.items]:
                bad(
                    f"enum `{part.enum}` has no `{part.value}`",
                    nearest(part.value, [i.id for i in enum.items]),
                )
        chain = _chain(part)
        if chain is None:
            continue
        at: Struct | None = container
        for name in chain:
            field = None if at is None else at.field(name)
            if field is not None and field.is_unread:
                break
            if field is None:
                if name not in ("to_i", "value") or name == chain[0]:
                    bad(
                        f"`_batch` has no `{'.'.join(chain)}`",
                        nearest(name, [f.id for f in container.fields]),
                    )
                break
            at = model.struct(field.type.target) if isinstance(field.type, Ref) else None


def _chain(part: ex.Expr) -> list[str] | None:
    """The names after `_batch`, if the part is such a chain."""
    names: list[str] = []
    while isinstance(part, ex.Attr):
        names.insert(0, part.name)
        part = part.of
    return names if names and part == ex.Name("_batch") else None
