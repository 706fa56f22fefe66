"""Lines on a terminal. `generate` prints only through this module: it imports no generated code."""

from __future__ import annotations

import sys

__all__ = ["lines_of", "printable", "say", "show", "unescaped", "warn"]


def printable(text: str) -> str:
    """Text on one line, without terminal control characters: names of files and contents of logs are
    untrusted.

    Bytes of a name that are not UTF-8 are shown as `\\xff`, a line break as `\\n`.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in unescaped(text))


def unescaped(text: str) -> str:
    """A name as valid UTF-8: other bytes, which Python keeps as surrogates, become `\\xff`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def lines_of(error: BaseException, start: str = "kodec: ") -> list[str]:
    """The lines that describe an error: one, or those that the error has, and its notes."""
    first, *others = getattr(error, "lines", [str(error)])
    return [start + first, *others, *getattr(error, "__notes__", ())]


def show(*lines: str) -> None:
    """Print lines on stdout; a line break within a line is escaped."""
    for line in lines:
        print(printable(line))


def say(*lines: str) -> None:
    """Print lines of progress on stderr."""
    for line in lines:
        print(printable(line), file=sys.stderr, flush=True)


def warn(*lines: str) -> None:
    """Print warnings on stderr."""
    sys.stdout.flush()
    say(*lines)
