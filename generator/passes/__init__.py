"""Checks of a model, one concern a file; each adds to the problems, none stops at the first."""

from __future__ import annotations

from kodec.generator.passes.conditions import check_conditions
from kodec.generator.passes.derivations import check_derivations
from kodec.generator.passes.expressions import check_expressions
from kodec.generator.passes.names import check_names
from kodec.generator.passes.names_only import check_names_only
from kodec.generator.passes.order import check_order
from kodec.generator.passes.rows import check_rows
from kodec.generator.passes.shapes import check_shapes
from kodec.generator.passes.sizes import check_sizes
from kodec.generator.problems import Problems
from kodec.generator.schema.model import Model

__all__ = ["run_passes"]


def run_passes(model: Model) -> None:
    """Run every check. Raises SchemaError with all problems found."""
    problems = Problems()
    # what follows, and every target, takes what is no Text for a name
    check_names_only(model, problems)
    problems.raise_if_any()
    check_shapes(model, problems)
    check_names(model, problems)
    check_rows(model, problems)
    # what follows reads types and expressions, which must be sound first
    problems.raise_if_any()
    check_expressions(model, problems)
    # what follows evaluates expressions, which must make sense first
    problems.raise_if_any()
    check_order(model, problems)
    check_conditions(model, problems)
    check_derivations(model, problems)
    check_sizes(model, problems)
    problems.raise_if_any()
