"""The one runner of plans: what it prints, in which order, and its exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from kodec.cli.plans import LEFT_TO_DO, Show, Shown, run_plans
from kodec.runtime.plan import OnStep, Plan, StepReport, ignore
from tests.golden import Golden

pytestmark = pytest.mark.quick


class Counting(Plan[StepReport[int]]):
    """Counts to `end`, or fails at `fails`."""

    def __init__(self, end: int, fails: int | None = None, problems: tuple[str, ...] = ()) -> None:
        self._end, self._fails, self._problems = end, fails, problems
        self.applied = False

    @property
    def problems(self) -> tuple[str, ...]:
        return self._problems

    @property
    def has_changes(self) -> bool:
        return self._end > 0

    def require_current(self) -> None:
        pass

    def preview(self) -> StepReport[int]:
        return StepReport(list(range(self._end)))

    def apply(self, *, on_step: OnStep = ignore) -> StepReport[int]:
        self.applied = True
        for number in range(self._end):
            if number == self._fails:
                raise OSError("no more numbers")
            on_step(number)
        return StepReport(list(range(self._end)), applied=True)


class ShowCounting(Show[Counting, StepReport[int]]):
    def step(self, plan: Counting, step: int, applied: bool) -> Shown:
        return Shown({"number": step, "applied": applied}, [f"{step} {'done' if applied else 'to do'}"])

    def report(self, plan: Counting, report: StepReport[int]) -> Iterable[Shown]:
        return (self.step(plan, each, report.applied) for each in report.steps)

    def end(self, apply: bool) -> Iterable[Shown]:
        yield Shown(None, ["all counted"])


def run(*plans: Counting, apply: bool = False, json: bool = False) -> int:
    return run_plans(plans, apply=apply, json=json, show=ShowCounting())


def test_a_dry_run_applies_nothing(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    plans = Counting(2), Counting(0)
    assert run(*plans) == LEFT_TO_DO
    golden(capsys.readouterr().out)
    assert not any(each.applied for each in plans)
    assert run(Counting(0)) == 0


def test_an_applied_plan_leaves_nothing_to_do(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run(Counting(1), Counting(1), apply=True) == 0
    golden(capsys.readouterr().out)


def test_json_has_the_facts_alone(capsys: pytest.CaptureFixture[str]) -> None:
    run(Counting(1), json=True)
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {"number": 0, "applied": False}


@pytest.mark.parametrize("apply", [False, True])
def test_a_refused_plan_is_not_applied(apply: bool, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Counting(1, problems=("it is Sunday",))
    run(plan, apply=apply)
    assert not plan.applied
    assert capsys.readouterr() == ("all counted\n", "it is Sunday\n")


def test_what_was_done_before_an_error_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    later = Counting(1)
    with pytest.raises(OSError, match="no more numbers"):
        run(Counting(3, fails=2), later, apply=True)
    assert capsys.readouterr().out == "0 done\n1 done\n"
    assert not later.applied


def test_a_plan_is_applied_before_the_next_is_made() -> None:
    order: list[Any] = []

    def plans() -> Iterable[Counting]:
        for _ in range(2):
            plan = Counting(1)
            order.append(plan.applied)
            yield plan
            order.append(plan.applied)

    run_plans(plans(), apply=True, json=False, show=ShowCounting())
    assert order == [False, True, False, True]
