"""What several checks need: walking fields with their paths, and the expressions of a field."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Field, Model, Ref, Struct, Switch, TypeRef

__all__ = ["expressions", "path_of", "refs", "structs", "walk_fields"]


def structs(model: Model) -> Iterator[Struct]:
    for schema in model.schemas:
        yield from schema.structs


def walk_fields(model: Model) -> Iterator[tuple[Struct, int, Field]]:
    """Every field with its type and its place in the sequence."""
    for struct in structs(model):
        for index, field in enumerate(struct.fields):
            yield struct, index, field


def path_of(struct: Struct, name: str = "") -> str:
    path = struct.name.replace("::", ".")
    return f"{path}.{name}" if name else path


def refs(kind: TypeRef) -> Iterator[Ref]:
    """The types that a type refers to."""
    if isinstance(kind, Ref):
        yield kind
    elif isinstance(kind, Switch):
        for _, each in kind.cases:
            yield from refs(each)
        if kind.default is not None:
            yield from refs(kind.default)


def expressions(field: Field) -> Iterator[tuple[str, ex.Expr]]:
    """Each expression that is evaluated before or while the field is read, with the key it stands under."""
    for key, expr in (
        ("size", field.size),
        ("if", field.condition),
        ("repeat-expr", field.repeat_expr),
    ):
        if expr is not None:
            yield key, expr
    if isinstance(field.type, Switch):
        yield "switch-on", field.type.on
    for ref in refs(field.type):
        for arg in ref.args:
            yield "type", arg
