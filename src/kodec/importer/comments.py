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
    own_lines: list[tuple[Place, list[str]]] = []
    behind: list[tuple[Place, str]] = []
    waiting: list[str] = []
    for code, comment, position in _lines(before):
        if not code.strip() and comment:
            waiting.append(comment)
        elif code.strip():
            if waiting:
                own_lines.append((position, waiting))
                waiting = []
            if comment:
                behind.append((position, comment))
    after = [(code, position) for code, _, position in _lines(text)]
    counts = Counter(position for _, position in after)
    last = [("", waiting)] if waiting else []
    lost = [line for position, lines in own_lines if counts[position] != 1 for line in lines]
    lost += [comment for position, comment in behind if counts[position] != 1]
    above = {position: lines for position, lines in own_lines if counts[position] == 1}
    beside = {position: comment for position, comment in behind if counts[position] == 1}
    output = []
    for code, position in after:
        indent = code[: len(code) - len(code.lstrip())]
        output += [indent + line for line in above.get(position, [])]
        output.append(f"{code}  {beside[position]}" if position in beside else code)
    output += [line for _, lines in last for line in lines]
    return "".join(f"{line}\n" for line in output), tuple(lost)


def _lines(text: str) -> Iterator[tuple[str, str, Place]]:
    """Each line without its comment, the comment, and its place; blocks of text have no comments."""
    around: list[tuple[int, str]] = []
    block: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if block is not None and (not line.strip() or indent > block):
            yield line, "", (*(text for _, text in around), line.strip())
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
        yield code, comment, tuple(text for _, text in around)


def _parts(line: str) -> tuple[str, str]:
    """A line without its comment, and the comment: from a `#` on that stands first, or after a blank."""
    quote = ""
    for index, sign in enumerate(line):
        before = line[index - 1] if index else " "
        if quote:
            quote = "" if sign == quote and before != "\\" else quote
        elif sign in "'\"" and before in " [{(,":
            quote = sign
        elif sign == "#" and before == " ":
            return line[:index].rstrip(), line[index:]
    return line.rstrip(), ""
