"""Lines on a terminal. `generate` prints with nothing else: it imports nothing that was generated."""

from __future__ import annotations

import sys

__all__ = ["printable", "say", "show", "unescaped", "warn"]


def printable(text: str) -> str:
    """Text without what a terminal would act on: names of files, and what a log holds, are from outside.

    Bytes of a name that are not UTF-8 are shown as `\\xff`.
    """
    if text.isprintable():
        return text
    text = unescaped(text)
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def unescaped(text: str) -> str:
    """A name as UTF-8 has it: bytes that are none, which Python keeps as surrogates, as `\\xff`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


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
