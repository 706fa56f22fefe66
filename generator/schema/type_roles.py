"""The role of a type: a number, its only member, a container of compressed content, a list of rows."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.generator.schema.expr import Attr, Expr, Name
from kodec.generator.schema.model import Field, Model, Ref, Struct, Tag

__all__ = [
    "TRANSPARENT",
    "RowContent",
    "codec_enum",
    "codec_field",
    "listed_rows",
    "may_be_null",
    "row_content",
    "tagged_section",
    "transparent",
]

TRANSPARENT = ("string", "bytes", "list", "value")
"""The `-wire` types that stand for their only member."""


@dataclass(frozen=True, slots=True)
class RowContent:
    """The rows inside a container.

    `holder` is the compressible field, `element` what its content repeats, `row` the part of it marked
    `-row`, `count` the field with their number.
    """

    holder: Field
    element: Struct
    row: Struct
    count: Field


def transparent(struct: Struct) -> Field | None:
    """The member whose value the type stands for according to `-wire`."""
    if struct.wire in ("string", "bytes", "value"):
        return struct.field("value")
    if struct.wire == "list":
        return next((spec for spec in struct.fields if spec.repeat is not None), None)
    return None


def tagged_section(model: Model, field: Field) -> tuple[Tag, ...] | None:
    """The known tags of a tagged section, possibly none; None for a field that is not a tagged section."""
    section = model.struct(field.type.target) if isinstance(field.type, Ref) else None
    if section is None or section.wire != "tags":
        return None
    for part in section.fields:
        if part.repeat is not None and isinstance(part.type, Ref):
            for body in model.struct(part.type.target).fields:
                if body.tags:
                    return tuple(body.tags)
    return ()


def may_be_null(model: Model, field: Field) -> bool:
    """Whether the value of a field can be null."""
    if field.nullable is not None:
        return True
    if not isinstance(field.type, Ref) or field.repeat is not None:
        return False
    inner = transparent(model.struct(field.type.target))
    return inner is not None and inner.nullable is not None


def codec_field(struct: Struct) -> Field | None:
    """The field with content that may be compressed, which makes the type a container."""
    return next((spec for spec in struct.fields if spec.codec is not None), None)


def codec_enum(model: Model, struct: Struct, by: Expr) -> str:
    """The enum of the field that `by` names, here or in a part of the type."""
    path: list[str] = []
    while isinstance(by, Attr):
        path.insert(0, by.name)
        by = by.of
    assert isinstance(by, Name)
    found = struct.field(by.name)
    for name in path:
        assert found is not None and isinstance(found.type, Ref)
        found = model.struct(found.type.target).field(name)
    assert found is not None and found.enum is not None
    return found.enum


def row_content(model: Model, struct: Struct) -> RowContent | None:
    """The rows of a container; None for a type without counted rows as its content."""
    holder = codec_field(struct)
    if holder is None or holder.codec is None:
        return None
    inner = model.struct(holder.codec.inner)
    listed = transparent(inner)
    if inner.wire != "list" or listed is None or not isinstance(listed.type, Ref):
        return None
    element = model.struct(listed.type.target)
    row = _row_in(model, element)
    count = next(
        (
            spec
            for spec in struct.fields
            if spec.derive is not None and spec.derive.kind == "count_of" and spec.derive.first == holder.id
        ),
        None,
    )
    return None if row is None or count is None else RowContent(holder, element, row, count)


def listed_rows(model: Model, struct: Struct) -> Struct | None:
    """The rows that a type consists of, one after another to its end; None for any other type."""
    if len(struct.fields) != 1 or struct.fields[0].repeat != "eos" or struct.fields[0].size is not None:
        return None
    kind = struct.fields[0].type
    if not isinstance(kind, Ref) or kind.args:
        return None
    unit = model.struct(kind.target)
    return unit if unit.row else None


def _row_in(model: Model, struct: Struct) -> Struct | None:
    """The type itself, or the part of it, that is marked `-row`."""
    if struct.row:
        return struct
    for spec in struct.fields:
        if isinstance(spec.type, Ref) and spec.repeat is None and model.struct(spec.type.target).row:
            return model.struct(spec.type.target)
    return None
