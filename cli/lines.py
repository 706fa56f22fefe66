"""Lines on a terminal. `generate` prints with nothing else: it imports nothing that was generated."""

from __future__ import annotations

import sys

__all__ = ["printable", "say", "show", "warn"]


def printable(text: str) -> str:
    """Text without what a terminal would act on: names of files, and what a log holds, are from outside."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def show(text: str) -> None:
    """A line, or some, on stdout."""
    print(printable(text))


def say(text: str) -> None:
    """A line of progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """A line that something is wrong, on stderr."""
    sys.stdout.flush()
    print(printable(text), file=sys.stderr, flush=True)
