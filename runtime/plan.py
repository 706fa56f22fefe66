"""What all planned changes have in common: they are previewed, compared with what is there, and applied."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from kodec.runtime.dataclass import dataclass, field

__all__ = ["OnStep", "Plan", "StepReport", "ignore", "refuse"]

R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
OnStep = Callable[[Any], None]


def ignore(step: object) -> None:
    """The `on_step` of a plan whose steps nobody counts."""


def refuse(problems: Sequence[str]) -> None:
    """Raises ValueError if there are problems."""
    if problems:
        raise ValueError("; ".join(problems))


class Plan(Protocol[R_co]):
    """A change that is planned; making the plan has changed nothing.

    `preview` and `apply` return equal reports: fields that only `apply` can know are not compared.
    """

    __slots__ = ()

    @property
    def problems(self) -> Sequence[str]:
        """Why `apply` refuses; empty if it does not."""
        return ()

    @property
    def has_changes(self) -> bool:
        """Whether `apply` would change anything."""
        return True

    @abstractmethod
    def require_current(self) -> None:
        """Raises StalePlan if what the plan was made from has changed; `apply` does so under the lock."""

    @abstractmethod
    def preview(self) -> R_co:
        """Return what `apply` would; change nothing."""

    @abstractmethod
    def apply(self, *, on_step: OnStep = ignore) -> R_co:
        """Make the change; call `on_step` with each step that is durably done.

        Raises: ValueError for a plan with problems; StalePlan; OSError.
        """


@dataclass(slots=True)
class StepReport(Generic[S]):
    """The steps of a plan, or those that were done.

    Attributes:
        steps: in order; the plan has their type.
        applied: whether they were done.
        kept: the files with what was removed or replaced, in quarantine.

    Example: see `plan_trim`.
    """

    steps: list[S]
    applied: bool = field(default=False, compare=False)
    kept: list[Path] = field(default_factory=list, compare=False)
