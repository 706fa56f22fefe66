"""How a verb ends: what could not be done, what is left to do, and the exit code that says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kodec.cli import output
from kodec.cli.parser import Exit
from kodec.log.files.resolve import NotALog
from kodec.runtime.errors import KodecError

__all__ = ["BAD_USAGE", "FAILED", "LEFT_TO_DO", "Missing", "Outcome", "errors_reported"]

FAILED = 1
BAD_USAGE = 2
# Not 1: a script that asks whether something could be done has to distinguish it from what failed.
LEFT_TO_DO = 3


class Missing(Exception):
    """What was asked for is not there."""


class Outcome:
    """Goes on with the next topic-partition where one cannot be done, and counts."""

    def __init__(self) -> None:
        self.failed = 0
        self.left_to_do = 0

    @contextmanager
    def each(self, path: Path) -> Iterator[None]:
        """Report what goes wrong with one topic-partition, the folder `path`, in a line that names it."""
        try:
            yield
        except BrokenPipeError:
            raise
        except (KodecError, OSError, ValueError) as error:
            name = type(error).__name__ if isinstance(error, KodecError) else "kodec"
            place = "" if str(path) in str(error) else f"{path}: "
            self.fail(*output.lines_of(error, f"{name}: {place}"))

    def fail(self, *lines: str) -> None:
        """Report something that could not be done."""
        self.failed += 1
        output.warn(*lines)

    @property
    def code(self) -> int:
        """The exit code: 1 where something failed, 3 where a dry run has shown changes, else 0."""
        return FAILED if self.failed else LEFT_TO_DO if self.left_to_do else 0


@contextmanager
def errors_reported() -> Iterator[None]:
    """Report in a line a path at which there is no log (exit code 2), and what cannot be read (1)."""
    try:
        yield
    except NotALog as error:
        output.warn(*output.lines_of(error))
        raise Exit(BAD_USAGE) from None
    except (Missing, OSError, ValueError) as error:
        # ValueError: a topic-partition that is in two directories
        if isinstance(error, (KodecError, BrokenPipeError)):
            raise
        output.warn(*output.lines_of(error))
        raise Exit(FAILED) from None
