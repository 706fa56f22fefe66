"""Checks of a model, one concern a file; each adds to the problems, none stops at the first."""

from __future__ import annotations

from dataclasses import replace

from kodec.generator.passes.conditions import check_conditions
from kodec.generator.passes.derivations import check_derivations
from kodec.generator.passes.expressions import check_expressions
from kodec.generator.passes.names import check_names
from kodec.generator.passes.names_only import check_names_only
from kodec.generator.passes.order import check_order
from kodec.generator.passes.plain import check_plain, own_key, prefers_streams
from kodec.generator.passes.rows import check_rows
from kodec.generator.passes.shapes import check_shapes
from kodec.generator.passes.sizes import check_sizes
from kodec.generator.passes.streamed import check_streamed
from kodec.generator.problems import Problem, Problems
from kodec.generator.schema.model import Model, Schema

__all__ = ["run_passes", "why_streamed"]


def run_passes(model: Model) -> Model:
    """Run every check. Gives the model, in which each schema says whether it is streamed.

    Schemas that import each other are of one sort. Layouts are the first choice; where they cannot say what a
    schema says, it is streamed, unless it has extension keys, which need layouts.

    Raises SchemaError with all problems found.
    """
    problems = Problems()
    # what follows, and every target, takes what is no Text for a name
    check_names_only(model, problems)
    problems.raise_if_any()
    streamed: set[str] = set()
    for schemas in _components(model):
        part = Model(schemas)
        found = _layouts(part)
        key = own_key(schemas)
        if not found and (key is not None or not prefers_streams(schemas)):
            continue
        if key is not None:
            problems.found += found
            continue
        check_streamed(part, schemas, problems)
        streamed |= {schema.id for schema in schemas}
    problems.raise_if_any()
    return Model(
        tuple(replace(each, streamed=True) if each.id in streamed else each for each in model.schemas)
    )


def why_streamed(model: Model, schema: Schema) -> Problem | None:
    """The first reason for which a schema, or one that it is imported with, is streamed."""
    group = next(each for each in _components(model) if schema in each)
    found = sorted(_layouts(Model(group)))
    own = [each for each in found if each.place.file == schema.root.place.file]
    return next(iter(own or found), None)


def _layouts(model: Model) -> list[Problem]:
    """Why schemas cannot be read by layouts; nothing where they can."""
    problems = Problems()
    check_plain(model.schemas, problems)
    check_shapes(model, problems)
    check_names(model, problems)
    check_rows(model, problems)
    # what follows reads types and expressions, which must be sound first
    if problems.found:
        return problems.found
    check_expressions(model, problems)
    # what follows evaluates expressions, which must make sense first
    if problems.found:
        return problems.found
    check_order(model, problems)
    check_conditions(model, problems)
    check_derivations(model, problems)
    check_sizes(model, problems)
    return problems.found


def _components(model: Model) -> list[tuple[Schema, ...]]:
    """The schemas in groups that import each other."""
    groups: list[set[str]] = []
    for schema in model.schemas:
        own = {schema.id, *schema.imports}
        for group in [each for each in groups if each & own]:
            own |= group
            groups.remove(group)
        groups.append(own)
    return [tuple(each for each in model.schemas if each.id in group) for group in groups]
