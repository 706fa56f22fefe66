"""The verbs of `kodec`, each imported when it is asked for, and how a command line is run."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Sequence
from functools import cache

from kodec.cli.commands import VERBS
from kodec.cli.lines import printable, warn
from kodec.cli.parser import Command, Exit, HelpWanted, UsageError, meant

__all__ = ["command", "run"]

# As in `main`.
_BAD_USAGE = 2

# A verb whose function has another name than its module.
_FUNCTIONS = {"groups": "list_groups", "ls": "list_logs"}


@cache
def command(verb: str) -> Command:
    """A verb. Its module is imported when it is asked for: what others need may be missing, or slow."""
    # What is imported stays: looking for garbage in it, now and at the end, takes a sixth of a small `ls`.
    gc.disable()
    try:
        module = importlib.import_module(f"kodec.cli.verbs.{verb.replace('-', '_')}")
    finally:
        gc.freeze()
        gc.enable()
    return Command(verb, getattr(module, _FUNCTIONS.get(verb, verb.replace("-", "_"))))


def run(words: Sequence[str]) -> int:
    """Parse and run; return the exit code. Bad usage is reported on stderr."""
    verb, *rest = words
    if verb not in VERBS:
        what = "option" if verb.startswith("-") else "verb"
        return _misused(None, UsageError(f"No such {what}: {verb}{meant(verb, list(VERBS))}"))
    called = command(verb)
    try:
        called.run(rest)
    except HelpWanted:
        from kodec.cli.help import help_lines

        print("\n".join(help_lines(called)))
    except UsageError as error:
        return _misused(called, error)
    except Exit as end:
        return end.code
    return 0


def _misused(called: Command | None, error: UsageError) -> int:
    from kodec.cli.help import usage_lines

    warn(*(printable(line) for line in usage_lines(called, error)))
    return _BAD_USAGE
