"""Helpers of several checks: fields with their paths, and the expressions of a field."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Field, Model, Ref, Struct, Switch, TypeRef

__all__ = ["expressions", "instance_sizes", "path_of", "refs", "structs", "walk_fields"]


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


def instance_sizes(struct: Struct) -> dict[str, tuple[int, int]]:
    """The length and depth of each value instance's expression with those that it uses substituted."""
    values = {each.id: each.value for each in struct.instances if each.value is not None}
    uses = {
        name: [part.name for part in ex.walk(value) if isinstance(part, ex.Name) and part.name in values]
        for name, value in values.items()
    }
    found: dict[str, tuple[int, int]] = {}
    begun: set[str] = set()
    todo = list(values)
    while todo:
        name = todo[-1]
        begun.add(name)
        # an instance that needs itself is reported elsewhere
        if name not in found and (first := [each for each in uses[name] if each not in begun]):
            todo += first
            continue
        inner = [found.get(each, (1, 1)) for each in uses[name]]
        length = sum(1 for _ in ex.walk(values[name])) + sum(length for length, _ in inner)
        found[name] = length, ex.depth_of(values[name]) + max((depth for _, depth in inner), default=0)
        todo.pop()
    return found


def expressions(field: Field) -> Iterator[tuple[str, ex.Expr]]:
    """Each expression that is evaluated before or while the field is read, with its key."""
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
