"""Runs the plans of a verb: previews or applies each, and prints what the verb shows of them.

This imports no generated code: `import-kafka` works without any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, NamedTuple, TypeVar

from kodec.cli import lines
from kodec.runtime.plan import Plan

__all__ = ["LEFT_TO_DO", "Show", "Shown", "run_plans"]

# Not 1: a script that tests whether something could be done must distinguish this from a failure.
LEFT_TO_DO = 3

P = TypeVar("P", bound=Plan[Any])
R = TypeVar("R")


class Shown(NamedTuple):
    """Something that a verb prints: with --json as one object, else as lines."""

    facts: Mapping[str, object] | None
    text: Sequence[str] = ()


class Show(Generic[P, R]):
    """What a verb shows of its plans; a subclass neither applies nor prints."""

    def each(self, plan: P) -> AbstractContextManager[None]:
        """Reports an error of one plan, so that the next follows; by default an error ends the verb."""
        return nullcontext()

    def before(self, plan: P) -> None:
        """Warns of what is to be known before the plan is applied."""

    def refused(self, plan: P, apply: bool) -> Iterable[Shown]:
        """A plan with problems."""
        lines.warn(*plan.problems)
        return ()

    def step(self, plan: P, step: Any, applied: bool) -> Shown:
        """A step of the plan; those before an error are shown too."""
        return Shown(None)

    def facts(self, plan: P, report: R) -> Mapping[str, object] | None:
        """The result as JSON has it."""
        return None

    def text(self, plan: P, report: R) -> Sequence[str]:
        """The result for people."""
        return ()

    def report(self, plan: P, report: R) -> Iterable[Shown]:
        """The result, where it is not shown as one thing."""
        yield Shown(self.facts(plan, report), self.text(plan, report))

    def end(self, apply: bool) -> Iterable[Shown]:
        """What all plans have together."""
        return ()

    def code(self, left_to_do: int, json: bool) -> int:
        """The exit code of the verb, where a dry run has found a number of plans with changes."""
        return LEFT_TO_DO if left_to_do else 0


def run_plans(plans: Iterable[P], *, apply: bool, json: bool, show: Show[P, Any]) -> int:
    """Preview each plan, or apply it before the next one is made; return the exit code."""
    left_to_do = 0
    for plan in plans:
        with show.each(plan):
            show.before(plan)
            if plan.problems:
                _print_shown(show.refused(plan, apply), json)
                continue
            steps: list[Any] = []
            try:
                report = plan.apply(on_step=steps.append) if apply else plan.preview()
            except BaseException:
                _print_shown((show.step(plan, step, True) for step in steps), json)
                raise
            left_to_do += not apply and plan.has_changes
            _print_shown(show.report(plan, report), json)
    _print_shown(show.end(apply), json)
    return show.code(left_to_do, json)


def _print_shown(shown: Iterable[Shown], json: bool) -> None:
    for facts, text in shown:
        if not json:
            lines.show(*text)
        elif facts is not None:
            lines.show(lines.as_json(facts))
