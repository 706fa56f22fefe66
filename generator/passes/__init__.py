"""Checks of a model, one concern per file; each collects problems, none stops at the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from kodec.generator.passes.common import path_of
from kodec.generator.passes.conditions import check_conditions
from kodec.generator.passes.contradictions import check_contradictions
from kodec.generator.passes.derivations import check_derivations
from kodec.generator.passes.expressions import check_expressions
from kodec.generator.passes.identifiers import check_identifiers
from kodec.generator.passes.names import check_names
from kodec.generator.passes.nesting import check_nesting
from kodec.generator.passes.order import check_order
from kodec.generator.passes.prune_invalid import prune_invalid
from kodec.generator.passes.record_subset import (
    check_record_subset,
    derives,
    extension_key,
    loses_members,
    only_derives,
    prefers_streams,
)
from kodec.generator.passes.roles import check_roles
from kodec.generator.passes.rows import check_rows
from kodec.generator.passes.shapes import check_columns, check_shapes
from kodec.generator.passes.sizes import check_sizes
from kodec.generator.passes.streamed import check_streamed
from kodec.generator.plan.layouts import Layouts
from kodec.generator.problems import Place, Problems, SchemaProblem
from kodec.generator.schema.keys import newer
from kodec.generator.schema.model import Model, Schema, Struct

__all__ = ["check", "layouts_needed", "read_from_streams", "run_passes"]


# each stage relies on its input having no problem of the stages before it
_STAGES: tuple[tuple[Callable[[Model, Problems], None], ...], ...] = (
    (check_record_subset, check_shapes, check_names),
    # reads types and names
    (check_expressions, check_roles),
)
# the last one evaluates expressions
_OF_LAYOUTS = (check_order, check_conditions, check_derivations, check_sizes)


def run_passes(model: Model, found: Problems | None = None, *, streams: bool = False) -> Model:
    """As `check`. Raises SchemaError with all problems, also those in `found`."""
    problems = Problems() if found is None else found
    model = check(model, problems, streams=streams)
    problems.raise_if_any()
    return model


def check(model: Model, problems: Problems, *, streams: bool = False) -> Model:
    """Run every check. Returns the model without invalid parts; each schema shows whether it is streamed.

    Schemas that import each other are of the same sort. Record layouts are the first choice; a schema that
    needs more, or of which layouts would not keep all members, is streamed, unless it has extension keys
    other than `-derive`, which need layouts. With `streams`, all others are streamed.
    """
    nesting = Problems()
    check_nesting(model, nesting)
    if nesting.found:
        problems.found += nesting.found
        model = Model(tuple(replace(each, structs=_emptied(each)) for each in model.schemas))
    rows = Problems()
    whole = _with_whole_rows(model, problems.found)
    check_rows(whole, rows)
    check_columns(whole, rows)
    check_contradictions(whole, rows)
    sound = prune_invalid(model, problems.found)
    # the following checks, and every target, treat all other text than Text as a name
    wrong = Problems()
    check_identifiers(sound, wrong)
    problems.found += wrong.found
    sound = prune_invalid(sound, wrong.found)
    streamed: set[str] = set()
    for schemas in _components(sound):
        part = Model(schemas)
        key = extension_key([model.schema(each.id) for each in schemas])
        # if all others are streamed, it does not matter what layouts do not support
        notes: list[SchemaProblem] = []
        lacking = [] if streams and key is None else _layouts(part, notes)
        kept = key is not None or (derives(schemas) and not streams and not loses_members(schemas))
        if not lacking and (kept or not (streams or prefers_streams(schemas) or loses_members(schemas))):
            problems.notes += notes
            continue
        if key is not None or (lacking and only_derives(schemas, lacking) and not streams):
            # what is wrong with a derivation is so in streams too
            problems.found += lacking if key is None else [_decided_by(key, each) for each in lacking]
            continue
        check_streamed(part, schemas, problems)
        streamed |= {schema.id for schema in schemas}
    left = prune_invalid(model, problems.found)
    problems.found += rows.found
    problems.found = [
        replace(each, text=newer(each.text, problems.older.get(each.place.file, ())))
        for each in problems.found
    ]
    return Model(
        tuple(replace(each, streamed=True) if each.id in streamed else each for each in left.schemas)
    )


def _decided_by(key: tuple[Place, str], problem: SchemaProblem) -> SchemaProblem:
    """The problem; if streams would not have it, with the key that decides that they are not used."""
    place, name = key
    if "not supported" not in problem.text:
        return problem
    line = f"line {place.line}" if place.file == problem.place.file else f"{place.file}:{place.line}"
    why = f"`{name}` in {line} is only for layouts"
    return replace(problem, hint=f"{problem.hint}; {why}" if problem.hint else why)


def _emptied(schema: Schema) -> tuple[Struct, ...]:
    return tuple(Struct(struct.name, struct.place) for struct in schema.structs)


def _with_whole_rows(model: Model, problems: Iterable[SchemaProblem]) -> Model:
    """The model without rows that cannot be read, which are reported already."""
    wrong = {problem.path for problem in problems}

    def kept(struct: Struct) -> Struct:
        if path_of(struct) not in wrong:
            return struct
        return replace(struct, row=False, columns=(), row_unless=None, row_bounds=(), row_head=())

    return Model(tuple(replace(each, structs=tuple(map(kept, each.structs))) for each in model.schemas))


def layouts_needed(model: Model) -> frozenset[str]:
    """The ids of schemas with an extension key that only layouts have, and of those that these share imports
    with.
    """
    groups = _components(model)
    return frozenset(each.id for group in groups if extension_key(group) is not None for each in group)


def read_from_streams(
    model: Model, schemas: Iterable[Schema], what: str, *, severity: str = "error"
) -> Iterator[SchemaProblem]:
    """Report that streamed ones of `schemas` cannot have `what`, with the construct that is the reason."""
    for schema in schemas:
        if schema.streamed:
            group = next(each for each in _components(model) if schema in each)
            found = sorted(_layouts(Model(group)))
            own = [each for each in found if each.place.file == schema.root.place.file]
            first = next(iter(own or found), None)
            place = schema.root.place if first is None else first.place
            why = "its fields may be absent" if first is None else f"{first.path}: {first.text}"
            text = f"it cannot have {what}, as it is read from streams: {why}"
            yield SchemaProblem(place, schema.id, text, severity=severity)


def _layouts(model: Model, notes: list[SchemaProblem] | None = None) -> list[SchemaProblem]:
    """The constructs that record layouts do not support; none if layouts suffice. Adds to `notes`."""
    problems = Problems(notes=[] if notes is None else notes)
    for stage in _STAGES:
        wrong = Problems()
        for check in stage:
            check(model, wrong)
        problems.found += wrong.found
        model = prune_invalid(model, wrong.found)
    layouts = Layouts(model)
    for last in _OF_LAYOUTS:
        last(model, problems, layouts)
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
