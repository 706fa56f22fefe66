"""The kodec command: parse arguments, call one function, print."""

from __future__ import annotations

import io
import os
import sys

from kodec import __version__
from kodec.cli.commands import help_page

__all__ = ["main"]

# Not from `outcome`, which needs all that verbs need.
BAD_BYTES = 1
BAD_USAGE = 2
_COMPLETION = ("--install-completion", "--show-completion")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code, as in docs/commands.md."""
    words = sys.argv[1:] if arguments is None else arguments
    # None where a program has closed them before it started this one.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        # Names and values of any alphabet on a terminal with another encoding.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone, as in `kodec dump ... | head`.
        _say_no_more()
        return 0
    except OSError as error:
        # a disk that is full, where stdout goes to a file
        from kodec.cli.lines import lines_of, say

        _say_no_more()
        say(*lines_of(error))
        return BAD_BYTES
    return code


def _run(words: list[str]) -> int:
    if "_KODEC_COMPLETE" in os.environ:
        from kodec.cli.completion import complete

        return complete(os.environ["_KODEC_COMPLETE"], words)
    if not words or words[0] in ("-h", "--help"):
        print(help_page())
        return 0 if words else BAD_USAGE
    if words[0] == "--version":
        print(f"kodec {__version__}")
        return 0
    if words[0] in _COMPLETION:
        from kodec.cli.completion import set_up

        return set_up(words[1:], install=words[0] == _COMPLETION[0])
    from kodec.cli.app import run
    from kodec.cli.lines import lines_of, warn
    from kodec.runtime.errors import ArgumentError, KodecError, NoSuchPartition, OffsetOutOfRange

    try:
        return run(words)
    except KodecError as error:
        warn(*lines_of(error, f"{type(error).__name__}: "))
        names_nothing = isinstance(error, (ArgumentError, NoSuchPartition, OffsetOutOfRange))
        return BAD_USAGE if names_nothing else BAD_BYTES
    except KeyboardInterrupt as error:
        warn("kodec: interrupted", *lines_of(error)[1:])
        return 130


def _say_no_more() -> None:
    """Nothing is to report it again when Python flushes stdout at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
