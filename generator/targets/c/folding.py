"""Long lines of C, folded."""

from __future__ import annotations

import re

__all__ = ["folded"]

_MOST = 108
_BREAKS = re.compile(
    r""""(?:\\.|[^"\\])*" | ( ,[ ] | [ ](?=(?:&&|\|\||\?|:|\+)[ ]) | [ ]=[ ] | \)[ ](?=return|kd_|KODEC)
    | _(?:read|write|get|put|default)\( )""",
    re.VERBOSE,
)


def folded(text: str) -> str:
    """The text with no line of code longer than `_MOST`; continuation lines are indented."""
    return "".join(part for line in text.splitlines() for part in _lines(line))


def _lines(line: str) -> list[str]:
    found = []
    indent = len(line) - len(line.lstrip()) + 4
    while len(line) > _MOST and not line.lstrip().startswith(("//", "/*", "*", "#")) and line[-1] != "\\":
        ends = [part.end() for part in _BREAKS.finditer(line) if part[1] and indent < part.end() <= _MOST]
        if not ends:
            break
        found.append(line[: ends[-1]].rstrip() + "\n")
        line = " " * indent + line[ends[-1] :]
    return [*found, line + "\n"]
