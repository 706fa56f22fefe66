"""Lines on a terminal. `generate` prints with nothing else: it imports nothing that was generated."""

from __future__ import annotations

import sys

__all__ = ["lines_of", "printable", "say", "show", "unescaped", "warn"]


def printable(text: str) -> str:
    """Text in one line, without what a terminal would act on: names of files, and what a log holds, are from
    outside.

    Bytes of a name that are not UTF-8 are shown as `\\xff`, an end of a line as `\\n`.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in unescaped(text))


def unescaped(text: str) -> str:
    """A name as UTF-8 has it: bytes that are none, which Python keeps as surrogates, as `\\xff`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def lines_of(error: BaseException, start: str = "kodec: ") -> list[str]:
    """The lines that say what went wrong: one, or those that the error has, and its notes."""
    first, *others = getattr(error, "lines", [str(error)])
    return [start + first, *others, *getattr(error, "__notes__", ())]


def show(*lines: str) -> None:
    """Lines on stdout; an end of a line inside of one is escaped."""
    for line in lines:
        print(printable(line))


def say(*lines: str) -> None:
    """Lines of progress, on stderr."""
    for line in lines:
        print(printable(line), file=sys.stderr, flush=True)


def warn(*lines: str) -> None:
    """Lines that something is wrong, on stderr."""
    sys.stdout.flush()
    say(*lines)
