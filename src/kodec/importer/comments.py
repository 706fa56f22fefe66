"""Keeps comments when a schema is rewritten: each returns to its line, or is reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

__all__ = ["with_comments"]

_BLOCK = re.compile(r".*(?:^|[\s:-])[|>][0-9+-]*\s*\Z")

Place = tuple[str, ...]
"""The key of a line: the lines that enclose it, and itself, without indentation."""


def with_comments(text: str, before: str) -> tuple[str, tuple[str, ...]]:
    """`text` with the comments of the previous text, and the comments without a place.

    A comment on lines of its own belongs to the line after it, one after a line to that line. A line is
    identified by its own text and those around it: a comment is lost only if its line is gone
    or not unique.
    """
    own: list[tuple[Place, list[str]]] = []
    behind: list[tuple[Place, str]] = []
    waiting: list[str] = []
    for code, comment, place in _lines(before):
        if not code.strip() and comment:
            waiting.append(comment)
        elif code.strip():
            if waiting:
                own.append((place, waiting))
                waiting = []
            if comment:
                behind.append((place, comment))
    after = [(code, place) for code, _, place in _lines(text)]
    counts = Counter(place for _, place in after)
    last = [("", waiting)] if waiting else []
    lost = [line for place, lines in own if counts[place] != 1 for line in lines]
    lost += [comment for place, comment in behind if counts[place] != 1]
    above = {place: lines for place, lines in own if counts[place] == 1}
    beside = {place: comment for place, comment in behind if counts[place] == 1}
    found = []
    for code, place in after:
        indent = code[: len(code) - len(code.lstrip())]
        found += [indent + line for line in above.get(place, [])]
        found.append(f"{code}  {beside[place]}" if place in beside else code)
    found += [line for _, lines in last for line in lines]
    return "".join(f"{line}\n" for line in found), tuple(lost)


def _lines(text: str) -> Iterator[tuple[str, str, Place]]:
    """Each line without its comment, the comment, and its place; blocks of text have no comments."""
    around: list[tuple[int, str]] = []
    block: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if block is not None and (not line.strip() or indent > block):
            yield line, "", (*(each for _, each in around), line.strip())
            continue
        block = None
        code, comment = _parts(line)
        if not code.strip():
            yield "", comment, ()
            continue
        if _BLOCK.match(code):
            block = indent
        while around and around[-1][0] >= indent:
            around.pop()
        around.append((indent, code.strip()))
        yield code, comment, tuple(each for _, each in around)


def _parts(line: str) -> tuple[str, str]:
    """A line without its comment, and the comment: from a `#` on that stands first, or after a blank."""
    quote = ""
    for at, sign in enumerate(line):
        before = line[at - 1] if at else " "
        if quote:
            quote = "" if sign == quote and before != "\\" else quote
        elif sign in "'\"" and before in " [{(,":
            quote = sign
        elif sign == "#" and before == " ":
            return line[:at].rstrip(), line[at:]
    return line.rstrip(), ""
