"""The verbs of `kodec`, each imported when it is asked for, and how a command line is run."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from kodec.cli.commands import VERBS
from kodec.cli.lines import printable, warn
from kodec.cli.parser import Command, Exit, HelpWanted, UsageError
from kodec.runtime.near import meant

__all__ = ["EARLIER", "SYNONYMS", "command", "run"]

# As in `main`.
_BAD_USAGE = 2

# Names that options had before each had one meaning (docs/options.md): scripts still have them.
EARLIER: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("find", "--format"): ("--template",),
    ("find", "--schemas"): ("--registry",),
    ("redact", "--schemas"): ("--registry",),
    ("export", "--schemas"): ("--registry",),
    ("compact-view", "--committed"): ("--isolation", "read_committed"),
    ("convert", "--committed"): ("--isolation", "read_committed"),
    ("explain", "--count"): ("--limit",),
    ("explain", "--version"): ("--message-version",),
    ("metadata", "--offset"): ("--before-offset",),
    ("generate", "--format"): ("--report-format",),
    ("conform", "--format"): ("--report-format",),
    ("handoff", "--version"): ("--kit-version",),
    ("generate", "--out"): ("--to",),
    ("conform", "--out"): ("--to",),
    ("handoff", "--out"): ("--to",),
    ("report", "--out"): ("--to",),
}

# What other tools call it, or what people type first.
SYNONYMS: Mapping[str, str] = {
    "cat": "dump",
    "check": "verify",
    "clean": "compact",
    "consume": "find",
    "consumer-groups": "offsets",
    "count": "ls",
    "csv": "export",
    "decode": "dump",
    "delete-records": "trim",
    "describe": "ls",
    "edit": "load",
    "erase": "redact",
    "fix": "recover",
    "fsck": "verify",
    "grep": "find",
    "head": "find",
    "hex": "explain",
    "import": "restore",
    "info": "report",
    "lag": "offsets",
    "list": "ls",
    "merge": "salvage",
    "parquet": "export",
    "print": "dump",
    "query": "find",
    "read": "find",
    "rebalance": "groups",
    "repair": "recover",
    "search": "find",
    "segments": "inventory",
    "show": "dump",
    "snapshot": "metadata",
    "stat": "report",
    "stats": "report",
    "tail": "find",
    "topics": "ls",
    "transcode": "convert",
    "truncate": "trim",
    "validate": "verify",
    "view": "explain",
}

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
    verb, *arguments = words
    if verb not in VERBS:
        what = "option" if verb.startswith("-") else "verb"
        near = f"; did you mean {SYNONYMS[verb]}?" if verb in SYNONYMS else meant(verb, VERBS)
        return _misused(None, UsageError(f"No such {what}: {verb}{near}"))
    called = command(verb)
    try:
        called.run(list(_with_present_names(verb, arguments)))
    except HelpWanted:
        from kodec.cli.help import help_lines

        print("\n".join(help_lines(called)))
    except UsageError as error:
        return _misused(called, error)
    except Exit as end:
        return end.code
    return 0


def _with_present_names(verb: str, words: Sequence[str]) -> Iterator[str]:
    """The words, with the present names of options; what follows `--` is no option."""
    for index, word in enumerate(words):
        if word == "--":
            yield from words[index:]
            return
        name, equals, value = word.partition("=")
        present = EARLIER.get((verb, name))
        if present is None:
            yield word
        elif equals:
            yield from (*present[:-1], f"{present[-1]}={value}")
        else:
            yield from present


def _misused(called: Command | None, error: UsageError) -> int:
    from kodec.cli.help import usage_lines

    warn(*(printable(line) for line in usage_lines(called, error)))
    return _BAD_USAGE
