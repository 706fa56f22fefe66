"""How a verb ends: failures, pending changes and the exit code."""

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
# Not 1: a script that tests whether something could be done must distinguish this from a failure.
LEFT_TO_DO = 3


class Missing(Exception):
    """A requested thing does not exist."""


class Outcome:
    """Continues with the next topic-partition after a failure, and counts failures."""

    def __init__(self) -> None:
        self.failed = 0
        self.left_to_do = 0

    @contextmanager
    def each(self, path: Path) -> Iterator[None]:
        """Report an error of one topic-partition, the folder `path`, on a line that names it."""
        try:
            yield
        except BrokenPipeError:
            raise
        except (KodecError, OSError, ValueError) as error:
            name = type(error).__name__ if isinstance(error, KodecError) else "kodec"
            place = "" if str(path) in str(error) else f"{path}: "
            self.fail(*output.lines_of(error, f"{name}: {place}"))

    def fail(self, *lines: str) -> None:
        """Report a failure."""
        self.failed += 1
        output.warn(*lines)

    @property
    def code(self) -> int:
        """The exit code: 1 if something failed, 3 if a dry run has shown changes, else 0."""
        return FAILED if self.failed else LEFT_TO_DO if self.left_to_do else 0


@contextmanager
def errors_reported() -> Iterator[None]:
    """Report a path without a log (exit code 2) or an unreadable one (1) on one line."""
    try:
        yield
    except NotALog as error:
        output.warn(*output.lines_of(error))
        raise Exit(BAD_USAGE) from None
    except (Missing, OSError, ValueError) as error:
        # ValueError: a topic-partition in two directories
        if isinstance(error, (KodecError, BrokenPipeError)):
            raise
        output.warn(*output.lines_of(error))
        raise Exit(FAILED) from None
