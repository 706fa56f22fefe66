"""Checks of a model, one concern a file; each adds to the problems, none stops at the first."""

from __future__ import annotations

from kodec.generator.model import Model
from kodec.generator.problems import Problems

__all__ = ["run_passes"]


def run_passes(model: Model) -> None:
    """Run every check. Raises SchemaError with all problems found."""
    problems = Problems()
    problems.raise_if_any()
