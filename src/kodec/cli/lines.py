"""Lines on a terminal. `generate` prints only through this module: it imports no generated code."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping

__all__ = ["as_json", "lines_of", "name_or_quoted", "printable", "quoted", "say", "show", "unescaped", "warn"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/+-]*")

# The flags that errors of functions name, and that are options of each verb that calls those.
_FLAG = re.compile(r"\boverwrite=True\b")


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


def quoted(text: str) -> str:
    """Text between quotes, single ones around text that has double ones; the same quotes in it are escaped.

    A byte that is not UTF-8 is shown as `\\xff`.
    """
    mark = "'" if '"' in text and "'" not in text else '"'
    return mark + printable(text.replace("\\", "\\\\").replace(mark, "\\" + mark)) + mark


def name_or_quoted(text: str) -> str:
    """A text without spaces and signs as it is, another between quotes."""
    return text if _NAME.fullmatch(text) else quoted(text)


def as_json(facts: object) -> str:
    """One JSON object on a line; names in it are UTF-8, because JSON has no other encoding."""
    return json.dumps(_in_utf8(facts))


def _in_utf8(value: object) -> object:
    if isinstance(value, str):
        return value if value.isascii() else unescaped(value)
    if isinstance(value, Mapping):
        return {key: _in_utf8(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_in_utf8(item) for item in value]
    return value if isinstance(value, (int, float, type(None))) else unescaped(str(value))


def lines_of(error: BaseException, start: str = "kodec: ") -> list[str]:
    """The lines that describe an error: one, or those that the error has, and its notes.

    A parameter of Python that the error names, as `overwrite=True`, becomes the option. Errors of the
    system have no number.
    """
    first, *others = getattr(error, "lines", None) or [_system_message(error) or str(error)]
    return [start + _FLAG.sub("--overwrite", first), *others, *getattr(error, "__notes__", ())]


def _system_message(error: BaseException) -> str:
    """The file and the reason of an error that the system raised; "" for another."""
    if not isinstance(error, OSError) or type(error).__str__ is not OSError.__str__ or not error.strerror:
        return ""
    names = [
        os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, (str, bytes))
    ]
    return ": ".join([" -> ".join(names)] * bool(names) + [error.strerror])


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
