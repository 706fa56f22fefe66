"""How a verb ends: failures, pending changes and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from kodec.cli import output
from kodec.cli.parser import Exit
from kodec.cli.plans import LEFT_TO_DO, Show, Shown
from kodec.log.files.listing import FolderName, left_out_of, parse_folder_name
from kodec.log.omissions import Omissions
from kodec.log.remote.resolve import LogDirectoryPath, NotALog, resolve
from kodec.runtime.errors import KodecError
from kodec.runtime.plan import Plan

__all__ = ["BAD_USAGE", "FAILED", "LogShow", "Missing", "Outcome", "errors_reported"]

FAILED = 1
BAD_USAGE = 2


P = TypeVar("P", bound=Plan[Any])
R = TypeVar("R")


class Missing(Exception):
    """A name on the command line that nothing has: a topic, a partition, a group."""


class Outcome:
    """Continues with the next topic-partition after a failure, and keeps the account of what is left out.

    Attributes:
        omissions: what the result lacks.
        failed: the number of failures that are no omissions.
        left_to_do: the number of changes that a dry run has shown.
    """

    def __init__(self, omissions: Omissions | None = None) -> None:
        self.omissions = Omissions() if omissions is None else omissions
        self.failed = 0
        self.left_to_do = 0
        self._printed = 0

    @contextmanager
    def each(self, path: Path) -> Iterator[None]:
        """Report an error of one topic-partition, the folder `path`, on a line that names it."""
        try:
            yield
        except BrokenPipeError:
            raise
        except (KodecError, OSError) as error:
            if isinstance(error, OSError):
                # of what is printed, not of what is read: it fails again, and ends the verb
                sys.stdout.flush()
            self.report()
            if not self.omissions.failed(path, error):
                # as it was before, to a verb that looks again and again
                return
            self._printed = len(self.omissions.items)
            name = type(error).__name__ if isinstance(error, KodecError) else "kodec"
            prefix = "" if str(path) in str(error) else f"{path}: "
            output.warn(*output.lines_of(error, f"{name}: {prefix}"))
        except ValueError as error:
            prefix = "" if str(path) in str(error) else f"{path}: "
            self.fail(*output.lines_of(error, f"kodec: {prefix}"))

    def fail(self, *lines: str) -> None:
        """Report a failure that is no omission."""
        self.failed += 1
        output.warn(*lines)

    def note_listing(
        self,
        paths: Iterable[Path],
        topics: Sequence[str] = (),
        handled: Callable[[FolderName], bool] = lambda _: False,
    ) -> None:
        """Add what the log directories at the paths hold that nobody reads.

        Args:
            paths: of log directories; others hold nothing else.
            topics: only folders whose names begin with one of these; (): all.
            handled: which replicas the verb takes that are not live.

        Raises: NotALog, OSError.
        """
        for path in paths:
            if isinstance(what := resolve(path), LogDirectoryPath):
                for omission in left_out_of(what.path, topics or None):
                    name = parse_folder_name(omission.path.name)
                    if name is None or not handled(name):
                        self.omissions.add(omission)

    def end(self, *, json: bool = False) -> int:
        """Report what the result lacks: on stderr, and with `json` as a last line on stdout.

        Returns: the exit code: 1 if something failed or is lost, 3 if a dry run has shown changes, else 0.
        """
        omissions = self.omissions
        self.report()
        if omissions.more:
            output.warn(f"kodec: {output.count(omissions.more, 'more omission')}")
        if json and len(omissions):
            print(output.as_json(omissions.facts()))
        if not omissions.is_whole:
            skipped = omissions.skipped_bytes
            size = f", {output.count(skipped, 'byte')}" if skipped else ""
            counted = output.count(len(omissions.losses) + omissions.more_losses, "thing")
            output.warn(f"kodec: {counted} left out{size}: the result may be incomplete or out of date")
        return self.code

    def report(self) -> None:
        """Report on stderr what was left out since the last report."""
        output.warn(*map(str, self.omissions.items[self._printed :]))
        self._printed = len(self.omissions.items)

    @property
    def code(self) -> int:
        """The exit code: 1 if something failed or is lost, 3 if a dry run has shown changes, else 0."""
        if self.failed or not self.omissions.is_whole:
            return FAILED
        return LEFT_TO_DO if self.left_to_do else 0


class LogShow(Show[P, R]):
    """What a verb shows of plans for logs, with an account of what is left out."""

    def __init__(self) -> None:
        self.outcome = Outcome()

    def plans(self, folders: Iterable[Path], make: Callable[[Path], P]) -> Iterator[P]:
        """The plan of each folder, made on demand; one that cannot be made is reported."""
        for folder in folders:
            with self.outcome.each(folder):
                yield make(folder)

    def before(self, plan: P) -> None:
        self.outcome.omissions.extend(getattr(plan, "omissions", ()))

    def report(self, plan: P, report: R) -> Iterable[Shown]:
        self.outcome.omissions.extend(getattr(report, "omissions", ()))
        return super().report(plan, report)

    def each(self, plan: P) -> AbstractContextManager[None]:
        """Reports an error of the plan for one folder; an error of another plan ends the verb."""
        path = getattr(plan, "path", None)
        return nullcontext() if path is None else self.outcome.each(path)

    def code(self, left_to_do: int, json: bool) -> int:
        self.outcome.left_to_do += left_to_do
        return self.outcome.end(json=json)


@contextmanager
def errors_reported() -> Iterator[None]:
    """Report a path without a log or a name that nothing has (exit code 2), or an unreadable path (1)."""
    try:
        yield
    except (Missing, NotALog) as error:
        output.warn(*output.lines_of(error))
        raise Exit(BAD_USAGE) from None
    except (OSError, ValueError) as error:
        # ValueError: a topic-partition in two directories
        if isinstance(error, (KodecError, BrokenPipeError)):
            raise
        output.warn(*output.lines_of(error))
        raise Exit(FAILED) from None
